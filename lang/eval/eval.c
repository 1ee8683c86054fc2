/* eval.c: statements. exec walks the tree, runs a statement and returns how it ended (Flow). Values
 * live in the slots of the running Frame, on the interpreter's value stack. Errors unwind by
 * returning: every function releases what it owns, and blocks always close the scopes (signal,
 * no_grad) that they opened. Expressions are in expr.c.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/eval.h"
#include "lang/eval/assign.h"
#include "lang/eval/import.h"
#include "lang/eval/object.h"
#include "lang/eval/operate.h"
#include "lang/eval/subscript.h"
#include "lang/syntax/resolve.h"
#include "lang/tensor/autograd.h"
#include "lang/tensor/signal.h"
#include "lang/tensor/tensor.h"
#include "lang/text/effects.h"
#include "lang/text/pieces.h"
#include "lang/text/progress.h"
#include "lang/value/cycles.h"
#include "lang/value/frame.h"
#include "lang/value/mapv.h"
#include "runtime/base/clock.h"
#include <stdio.h>
#include <string.h>

/* Like fail_at, with the carets under the whole expression. */
static bool fail_whole(Interp *in, const Node *n, LangError *e, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static bool fail_whole(Interp *in, const Node *n, LangError *e, const char *format, ...) {
    char text[sizeof e->what];
    FORMAT_INTO(text, format);
    bool plain = n->whole.src && !n->whole.src->is_prelude;
    return error_at(e, plain ? n->whole : node_span(in, n), "%s", text);
}

bool at_node(Interp *in, const Node *n, bool ok, LangError *e) {
    if (!ok) error_locate(e, node_span(in, n));
    return ok;
}

/* ---- truth ---- */

/* Returns 1, 0, or -1 if the truth depends on a tensor's value. */
static int host_truth(Value v) {
    switch (v.kind) {
    case V_NONE: return 0;
    case V_BOOL: return v.b;
    case V_INT: return v.i != 0;
    case V_FLOAT: return v.f != 0;
    case V_STR: return v.str->n > 0;
    case V_LIST: return v.list->n > 0;
    case V_RANGE: return range_count(v.range) > 0;
    case V_SET:
    case V_MAP: return map_count(v.map) > 0;
    case V_TEXT:
    case V_TENSOR: return -1;
    default: return 1;
    }
}

static bool slow_truth(Interp *in, Value v, bool *out, LangError *e) {
    Value item;
    if (v.kind == V_TEXT) {
        TRY(value_look(in, v, &item, e));
        *out = item.str->n > 0;
        value_drop(item);
        return true;
    }
    TRY(tensor_item(in, v.tensor, &item, e));
    *out = host_truth(item) != 0;
    return true;
}

bool value_truth(Interp *in, Value v, bool *out, LangError *e) {
    int t = host_truth(v);
    if (t >= 0) {
        *out = t;
        return true;
    }
    char shape[256];
    if (v.kind == V_TENSOR && type_numel(tensor_type(v.tensor)) != 1) {
        error_set(e, "a truth value needs a single number, but the tensor has shape %s",
                  type_shape_text(tensor_type(v.tensor), shape));
        return error_hint(e, "all(x) or any(x)");
    }
    return slow_truth(in, v, out, e);
}

OUTLINE static bool truth_of_tensor(Interp *in, const Node *n, const char *what, Value v, bool *out,
                                    LangError *e) {
    if (v.kind == V_TENSOR && type_numel(tensor_type(v.tensor)) != 1) {
        char shape[256], quote[80];
        bool two = !strcmp(what, "and") || !strcmp(what, "or");
        fail_whole(in, n, e, "'%s' needs %s, but '%s' has shape %s", what,
                   two ? "single values" : "a single value", node_text(n, quote),
                   type_shape_text(tensor_type(v.tensor), shape));
        return two ? false : error_hint(e, "all(%s) or any(%s)", quote, quote);
    }
    in->at = n;
    return at_node(in, n, slow_truth(in, v, out, e), e);
}

bool truth_at(Interp *in, const Node *n, const char *what, Value v, bool *out, LangError *e) {
    int t = host_truth(v);
    if (t < 0) return truth_of_tensor(in, n, what, v, out, e);
    *out = t;
    return true;
}

static bool condition(Interp *in, Node *n, const char *what, bool *out, LangError *e) {
    Value v;
    TRY(eval(in, n, &v, e));
    if (v.kind == V_BOOL) {
        *out = v.b;
        return true;
    }
    bool ok = truth_at(in, n, what, v, out, e);
    value_drop(v);
    return ok;
}

/* ---- functions ---- */

Fn *fn_new(Interp *in, const AstFn *ast) {
    Fn *f = container_new(in, V_FN, sizeof *f + (size_t)ast->n_captures * sizeof *f->cell);
    const Frame *frame = in->frame;
    f->ast = ast;
    f->globals = frame->globals;
    f->n_cells = ast->n_captures;
    for (int i = 0; i < ast->n_captures; i++) {
        int32_t slot = ast->capture[i].slot;
        f->cell[i] =
            ast->capture[i].from_local ? frame->slot[slot].cell : frame->callee->cell[slot];
        f->cell[i]->c.h.refs++;
    }
    return f;
}

/* ---- loops ---- */

bool eval_safepoint(Interp *in, LangError *e) {
    if (in->n_containers >= in->collect_at) cycles_collect(in);
    return stream_edge(in->stream, e);
}

static Flow back_edge(Interp *in, const Node *n, LangError *e) {
    in->at = n;
    if (eval_safepoint(in, e)) return FLOW_NEXT;
    error_locate(e, node_span(in, n));
    return FLOW_ERROR;
}

OUTLINE static Flow exec_while(Interp *in, Node *n, LangError *e) {
    for (;;) {
        bool go;
        if (!condition(in, n->kid[0], "while", &go, e)) return FLOW_ERROR;
        if (!go) return FLOW_NEXT;
        Flow f = exec(in, n->kid[1], e);
        if (f == FLOW_BREAK) return FLOW_NEXT;
        if (f == FLOW_RETURN || f == FLOW_ERROR) return f;
        if (back_edge(in, n, e) == FLOW_ERROR) return FLOW_ERROR;
    }
}

/* Fails with a specific message if `for i, x in xs` lacks items(), enumerate() or the like. */
static bool check_pairs(Interp *in, Node *n, Value over, LangError *e) {
    if (n->kid[0]->kind != N_LIST) return true;
    char quote[80];
    node_text(n->kid[1], quote);
    if (over.kind == V_MAP) {
        fail_at(in, n->kid[1], e, "a loop over a map gives its keys, one name each");
        return error_hint(e, "for k, v in %s.items()", quote);
    }
    if (over.kind == V_STR) {
        fail_at(in, n->kid[1], e,
                "a loop over a string gives characters, and strings do not unpack");
        return error_hint(e, "for i, c in enumerate(%s)", quote);
    }
    return true;
}

/* True if n calls progress(). */
static bool is_progress(const Node *n) {
    const Node *callee = n->kind == N_CALL ? n->kid[0] : NULL;
    return callee && callee->kind == N_NAME && !strcmp(callee->str, "progress");
}

/* Adds a hint if `for k, v in progress(m)` has not unpacked a key. */
static void hint_items(const Node *n, LangError *e) {
    const Node *call = n->kid[1];
    char quote[80];
    if (n->kid[0]->kind != N_LIST || !is_progress(call) || call->n_kids < 2) return;
    error_hint(e, "if that is a map: for k, v in progress(%s.items())",
               node_text(call->kid[1], quote));
}

OUTLINE static Flow exec_for(Interp *in, Node *n, LangError *e) {
    Value over;
    if (!eval(in, n->kid[1], &over, e)) return FLOW_ERROR;
    Iter it;
    in->at = n->kid[1];
    bool ok = check_pairs(in, n, over, e) && iter_open(in, n->kid[1], over, &it, e);
    value_drop(over);
    if (!ok) return FLOW_ERROR;
    Flow f = FLOW_NEXT;
    for (;;) {
        Value v;
        in->at = n->kid[1];
        int more = iter_next(in, &it, &v, e);
        if (more <= 0) {
            if (more < 0) {
                error_locate(e, node_span(in, n->kid[1]));
                f = FLOW_ERROR;
            }
            break;
        }
        bool is_text = v.kind == V_STR;
        if (!assign(in, n->kid[0], v, false, e)) {
            if (is_text) hint_items(n, e);
            f = FLOW_ERROR;
            break;
        }
        f = exec(in, n->kid[2], e);
        if (f == FLOW_BREAK) {
            f = FLOW_NEXT;
            break;
        }
        if (f == FLOW_RETURN || f == FLOW_ERROR) break;
        if ((f = back_edge(in, n, e)) == FLOW_ERROR) break;
    }
    iter_close(in, &it);
    return f;
}

/* ---- scopes ---- */

/* Evaluates a label, which must be text. Waits for tensors in it. */
static bool eval_label(Interp *in, Node *n, Value *out, LangError *e) {
    Value v;
    TRY(eval(in, n, &v, e));
    in->at = n;
    bool ok = v.kind == V_STR || v.kind == V_TEXT
                  ? value_look(in, v, out, e)
                  : fail_at(in, n, e, "a label must be a string, not %s", value_type_name(v));
    value_drop(v);
    return at_node(in, n, ok, e);
}

OUTLINE static Flow exec_signal(Interp *in, Node *n, LangError *e) {
    Value label = v_none(), backward = v_none();
    int depth = signal_depth(in);
    Flow f = FLOW_ERROR;
    if (eval_label(in, n->kid[0], &label, e) &&
        (!n->kid[1] || eval_label(in, n->kid[1], &backward, e))) {
        in->at = n->kid[0];
        bool has = backward.kind == V_STR;
        if (signal_enter(in, label.str->s, label.str->n, has ? backward.str->s : NULL,
                         has ? backward.str->n : 0, e))
            f = exec(in, n->kid[2], e);
        else
            error_locate(e, node_span(in, n->kid[0]));
    }
    if (f != FLOW_ERROR && signal_depth(in) == depth + 1)
        signal_exit(in, "", 0, e); /* cannot fail for the innermost scope */
    signal_unwind(in, depth);
    value_drop(label);
    value_drop(backward);
    return f;
}

OUTLINE static Flow exec_time(Interp *in, Node *n, LangError *e) {
    Value label = v_none();
    if (n->kid[0] && !eval_label(in, n->kid[0], &label, e)) return FLOW_ERROR;
    in->at = n;
    Flow f = FLOW_ERROR;
    if (stream_sync(in->stream, e)) {
        double start = now_s();
        f = exec(in, n->kid[1], e);
        in->at = n;
        if (f != FLOW_ERROR && stream_sync(in->stream, e)) {
            double s = now_s() - start;
            const char *name = label.kind == V_STR ? label.str->s : "time";
            progress_clear(in);
            if (s >= 1)
                fprintf(stderr, "%s: %.2f s\n", name, s);
            else if (s >= 1e-3)
                fprintf(stderr, "%s: %.2f ms\n", name, s * 1e3);
            else
                fprintf(stderr, "%s: %.1f us\n", name, s * 1e6);
        } else {
            f = FLOW_ERROR;
        }
    }
    if (f == FLOW_ERROR) error_locate(e, node_span(in, n));
    value_drop(label);
    return f;
}

/* ---- other statements ---- */

OUTLINE static Flow exec_if(Interp *in, Node *n, LangError *e) {
    uint32_t i = 0;
    for (; i + 1 < n->n_kids; i += 2) {
        bool yes;
        if (!condition(in, n->kid[i], "if", &yes, e)) return FLOW_ERROR;
        if (!yes) continue;
        Flow f = exec(in, n->kid[i + 1], e);
        in->took_branch = true;
        return f;
    }
    Flow f = i < n->n_kids ? exec(in, n->kid[i], e) : FLOW_NEXT;
    in->took_branch = false;
    return f;
}

OUTLINE static Flow exec_no_grad(Interp *in, Node *n, LangError *e) {
    bool on = true;
    if (n->n_kids > 1 && !condition(in, n->kid[0], "if", &on, e)) return FLOW_ERROR;
    in->no_grad_depth += on;
    Flow f = exec(in, n->kid[n->n_kids - 1], e);
    in->no_grad_depth -= on;
    return f;
}

OUTLINE static Flow exec_backward(Interp *in, Node *n, LangError *e) {
    Value v, seed = v_none();
    if (!eval(in, n->kid[0], &v, e)) return FLOW_ERROR;
    bool ok = true;
    if (n->n_kids > 1 && n->kid[1]) ok = eval(in, n->kid[1], &seed, e);
    in->at = n->kid[0];
    if (ok && v.kind != V_TENSOR) {
        ok = fail_at(in, n->kid[0], e, "backward needs a tensor, not %s", value_type_name(v));
        if (v.kind == V_NONE) hint_none(n->kid[0], e);
    }
    if (ok && seed.kind != V_NONE && seed.kind != V_TENSOR)
        ok = fail_at(in, n->kid[1], e, "backward's seed must be a tensor, not %s",
                     value_type_name(seed));
    ok = ok && grad_backward(in, v.tensor, seed.kind == V_TENSOR ? seed.tensor : NULL, false, e);
    if (!ok) error_locate(e, node_span(in, n->kid[0]));
    value_drop(v);
    value_drop(seed);
    return ok ? FLOW_NEXT : FLOW_ERROR;
}

/* Sets e to the message of a failed assert. Waits for tensors in the message. */
static void assert_failed(Interp *in, Node *n, LangError *e) {
    char quote[80];
    LangError other = {0};
    Bytes b = {0};
    Value m = v_none();
    if (n->n_kids > 1 && n->kid[1]) {
        if (!eval(in, n->kid[1], &m, &other) || !value_str(in, m, &b, &other)) {
            *e = other;
            error_locate(e, node_span(in, n->kid[1]));
        } else {
            bool ours =
                n->at.src && n->at.src->is_prelude; /* an argument check: only its own message */
            fail_whole(in, n->kid[0], e, "%s%s",
                       ours ? "" : "assertion failed: ", b.data ? b.data : "");
            e->kind = ours ? E_RUN : E_ASSERT;
        }
    } else {
        fail_whole(in, n->kid[0], e, "assertion failed: %s", node_text(n->kid[0], quote));
        e->kind = E_ASSERT;
    }
    value_drop(m);
    bytes_fini(&b);
}

/* Puts the assertion itself into the stream: under --emit a tensor has no value, and functions of
 * the prelude do not wait for one. */
static bool assert_emitted(Interp *in, Node *n, Tensor *t, LangError *e) {
    Pieces p = {0};
    char quote[80];
    bool ok = true;
    if (n->n_kids > 1 && n->kid[1]) {
        Value m = v_none();
        ok = eval(in, n->kid[1], &m, e) && pieces_value(in, &p, m, false, e);
        value_drop(m);
    } else {
        node_text(n->kid[0], quote);
        pieces_text(&p, quote, strlen(quote));
    }
    in->at = n->kid[0];
    ok = ok && effect_assert(in, t, &p, e);
    pieces_fini(&p);
    return ok;
}

OUTLINE static Flow exec_assert(Interp *in, Node *n, LangError *e) {
    Value v;
    bool truth = false;
    if (!eval(in, n->kid[0], &v, e)) return FLOW_ERROR;
    bool ok;
    bool ours = n->at.src && n->at.src->is_prelude;
    if (v.kind == V_TENSOR && type_numel(tensor_type(v.tensor)) == 1 &&
        (ours || stream_mode(in->stream) != STREAM_LIVE)) {
        ok = assert_emitted(in, n, v.tensor, e);
        if (!ok) error_locate(e, node_span(in, n->kid[0]));
    } else {
        ok = truth_at(in, n->kid[0], "assert", v, &truth, e);
        if (ok && !truth) {
            assert_failed(in, n, e);
            ok = false;
        }
    }
    value_drop(v);
    return ok ? FLOW_NEXT : FLOW_ERROR;
}

OUTLINE static Flow exec_definition(Interp *in, Node *n, LangError *e) {
    Value v;
    const char *name = n->kind == N_IMPORT ? n->as : n->fn->name;
    if (n->kind == N_FN_STMT) {
        if (n->fn->is_method) return FLOW_NEXT; /* module_new made it already */
        v = (Value){.kind = V_FN, .fn = fn_new(in, n->fn)};
    } else if (n->kind == N_MODULE) {
        v = module_new(in, n);
    } else {
        in->at = n;
        if (!import_statement(in, n, &v, e)) return FLOW_ERROR;
        if (v.kind == V_UNDEF) return FLOW_NEXT; /* import nn, gt, optim: nothing to do */
    }
    return bind_name(in, n, name, v, e) ? FLOW_NEXT : FLOW_ERROR;
}

OUTLINE static Flow exec_return(Interp *in, Node *n, LangError *e) {
    Value v = v_none();
    if (n->n_kids && n->kid[0] && !eval(in, n->kid[0], &v, e)) return FLOW_ERROR;
    value_set(&in->frame->result, v);
    return FLOW_RETURN;
}

/* True if v has the same kind as the variable that the statement was probably meant to change. */
static bool is_same_kind(Interp *in, Node *n, Value v) {
    const Node *name = unused_target(n);
    LangError e = {0};
    Value old;
    if (!name || !eval(in, (Node *)name, &old, &e)) return false;
    bool same = old.kind == v.kind && v.kind != V_MAP && v.kind != V_INT && v.kind != V_FLOAT;
    value_drop(old);
    return same;
}

/* True if v was probably meant as the result of forward(), which lacks a return. */
static bool is_lost_output(const Interp *in, const Node *n, Value v) {
    const AstFn *fn = in->frame->fn;
    return n->kind == N_CALL && n->flag & NODE_LAST && fn->is_method && v.kind == V_TENSOR &&
           !strcmp(fn->name, "forward");
}

bool check_alone(Interp *in, const Node *n, Value v, LangError *e) {
    if (v.kind != V_BUILTIN || n->kind != N_NAME || strcmp(n->str, "backward")) return true;
    fail_at(in, n, e, "backward needs a loss");
    return error_hint(e, "backward loss");
}

OUTLINE void warn_unused(Interp *in, Node *n, Value v) {
    LangError w = {0};
    bool is_function =
        v.kind == V_FN || v.kind == V_BOUND || v.kind == V_BUILTIN || v.kind == V_MODULE;
    bool is_lost = is_lost_output(in, n, v);
    if (n->kind == N_CALL && !(n->flag & NODE_DROPPED) && !is_lost) return;
    if (is_progress(n)) {
        char quote[80];
        fail_whole(in, n, &w, "progress() shows the rounds of a for loop, and there is none");
        error_hint(&w, "for i in %s { ... }", node_text(n, quote));
        interp_warn(in, &w);
    } else if (n->kind == N_CALL) {
        unused_warning(n, is_same_kind(in, n, v), &w);
        interp_warn(in, &w);
    } else if (is_function && (n->kind == N_FIELD || n->kind == N_NAME)) {
        char quote[80];
        fail_whole(in, n, &w, "'%s' is a function, and is not called", node_text(n, quote));
        error_hint(&w, "%s()", quote);
        interp_warn(in, &w);
    }
    n->flag &= (uint8_t) ~(NODE_UNUSED | NODE_DROPPED);
}

OUTLINE bool eval_is_whole(Interp *in, const Node *n, LangError *e) {
    if (file_map_has_all(e)) return true;
    return error_locate(e, node_span(in, n));
}

Flow exec(Interp *in, Node *n, LangError *e) {
    Value v;
    switch (n->kind) {
    case N_BLOCK:
        for (uint32_t i = 0; i < n->n_kids; i++) {
            Flow f = exec(in, n->kid[i], e);
            if (file_map_news && f != FLOW_ERROR && !eval_is_whole(in, n->kid[i], e))
                return FLOW_ERROR;
            if (f != FLOW_NEXT) return f;
            stream_step(in->stream);
        }
        return FLOW_NEXT;
    case N_EXPR_STMT:
        if (!eval(in, n->kid[0], &v, e)) return FLOW_ERROR;
        if (n->kid[0]->flag & NODE_UNUSED) {
            if (!check_alone(in, n->kid[0], v, e)) return FLOW_ERROR;
            warn_unused(in, n->kid[0], v);
        }
        value_drop(v);
        return FLOW_NEXT;
    case N_ASSIGN: return exec_assign(in, n, e) ? FLOW_NEXT : FLOW_ERROR;
    case N_AUGASSIGN: return exec_augassign(in, n, e) ? FLOW_NEXT : FLOW_ERROR;
    case N_IF: return exec_if(in, n, e);
    case N_WHILE: return exec_while(in, n, e);
    case N_FOR: return exec_for(in, n, e);
    case N_FN_STMT:
    case N_MODULE:
    case N_IMPORT: return exec_definition(in, n, e);
    case N_SIGNAL: return exec_signal(in, n, e);
    case N_NO_GRAD: return exec_no_grad(in, n, e);
    case N_TIME: return exec_time(in, n, e);
    case N_BACKWARD: return exec_backward(in, n, e);
    case N_RETURN: return exec_return(in, n, e);
    case N_BREAK: return FLOW_BREAK;
    case N_CONTINUE: return FLOW_CONTINUE;
    case N_DEL: return exec_del(in, n, e) ? FLOW_NEXT : FLOW_ERROR;
    case N_ASSERT: return exec_assert(in, n, e);
    default: panic("not a statement: node kind %d", n->kind);
    }
}
