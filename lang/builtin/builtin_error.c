/* builtin_error.c: attempt() catches an error as a value; error() raises a new one, or raises a
 * caught one again.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/call.h"
#include "lang/eval/trace.h"
#include "lang/text/pieces.h"
#include "lang/tensor/signal.h"
#include "lang/text/error_value.h"

/* Calls finally's function. It runs on exit and after Ctrl-C too, so the interrupt flag is cleared
 * meanwhile. */
static bool run_last(Interp *in, Value f, LangError *e) {
    Value r = v_none();
    int interrupted = interrupt_count;
    interrupt_count = 0;
    bool ok = interp_call(in, f, NULL, 0, &r, e) && stream_sync(in->stream, e);
    value_drop(r);
    if (interrupted) interrupt_count = interrupted;
    return ok;
}

/* Calls f(*args) and waits for its instructions: [true, value] or [false, error]. Restores the
 * scopes if f fails. Waits for earlier instructions first, whose failures are not f's. finally()
 * runs after f in any case; the first failure wins. */
static bool bi_attempt(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(stream_sync(in->stream, e));
    int depth = signal_depth(in), no_grad = in->no_grad_depth;
    LangError inner = {0}, last = {0};
    Value r = v_none();
    bool ok = interp_call(in, arg[0], arg[1].list->v, (int)arg[1].list->n, &r, &inner);
    ok = ok && stream_sync(in->stream, &inner);
    if (!ok) {
        signal_unwind(in, depth);
        in->no_grad_depth = no_grad;
    }
    bool may_go_on = ok || inner.kind == E_RUN || inner.kind == E_ASSERT;
    if (!ok && may_go_on) {
        error_locate(&inner, interp_span(in));
        trace_complete(in, &inner);
        LangError other = {0}; /* further failures up to here belong to the same attempt */
        stream_sync(in->stream, &other);
        while (stream_take_error(in->stream, &other)) continue;
    }
    if (arg[2].kind != V_NONE && !run_last(in, arg[2], &last)) {
        signal_unwind(in, depth);
        in->no_grad_depth = no_grad;
        error_locate(&last, interp_span(in));
        bool leaves = last.kind != E_RUN && last.kind != E_ASSERT;
        if (may_go_on && (ok || leaves)) {
            inner = last;
            if (!leaves) trace_complete(in, &inner);
            ok = false, may_go_on = !leaves;
        }
    }
    if (!may_go_on) {
        value_drop(r);
        *e = inner;
        return false;
    }
    if (!ok) value_set(&r, v_error(&inner));
    *out = v_pair(in, v_bool(ok), r);
    return true;
}

static bool bi_error(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value text, hint;
    if (arg[0].kind == V_ERROR) {
        *e = arg[0].error->e;
        e->is_late = false;
        return false;
    }
    for (int i = 0; i < 2; i++)
        if (arg[i].kind != V_STR && arg[i].kind != V_TEXT && !(i && arg[i].kind == V_NONE)) {
            error_set(e, "error needs a text%s, not %s", i ? " as hint" : " or an error",
                      value_type_name(arg[i]));
            return error_hint(e, "error(f\"{x} is too large\")");
        }
    TRY(value_look(in, arg[0], &text, e));
    if (arg[1].kind != V_NONE) {
        if (!value_look(in, arg[1], &hint, e)) {
            value_drop(text);
            return false;
        }
        error_hint(e, "%s", hint.str->s);
        value_drop(hint);
    }
    error_at(e, interp_span(in), "%s", text.str->s);
    value_drop(text);
    return false;
}

const Builtin builtins_error[] = {
    {"attempt", "f, *args, finally=none", bi_attempt,
     "Calls f and waits: returns [true, value], or [false, error] if something failed. An error "
     "has message, hint, file, line, column, stack and text. finally() runs in any case."},
    {"error", "text, hint=none", bi_error,
     "Raises an error with this text at this line; error(r) raises the error that attempt returned "
     "again."},
    {NULL}};
