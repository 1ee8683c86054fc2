/* call.c: calls. Arguments are evaluated onto the value stack, directly into the slots of the
 * callee's frame: a call with positional arguments copies and allocates nothing.
 *
 * `a.f(x)` looks for f in this order: a field, method or item of an object, or a key of a
 * namespace; a builtin method of a's kind; a key of a map; a visible function, called as f(a, x).
 * If a is a parameter or a buffer, `a.f_(x)` updates it in place with the value of a.f(x).
 * SPDX-License-Identifier: MIT */
#include "lang/eval/call.h"
#include "lang/error/habit.h"
#include "lang/error/keyword.h"
#include "lang/eval/assign.h"
#include "lang/eval/builtin.h"
#include "lang/eval/call_hidden.h"
#include "lang/eval/eval.h"
#include "lang/eval/import.h"
#include "lang/eval/object.h"
#include "lang/eval/operate.h"
#include "lang/eval/setting.h"
#include "lang/eval/subscript.h"
#include "lang/eval/trace.h"
#include "lang/tensor/tensor.h"
#include "lang/text/error_value.h"
#include "lang/value/frame.h"
#include "lang/value/mapv.h"
#include "runtime/base/map.h"
#include "runtime/base/words.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef enum SelfMode {
    SELF_NONE,   /* the receiver is not passed */
    SELF_FIRST,  /* it is the first argument */
    SELF_UPDATE, /* it is the first argument, and is updated in place with the result */
    SELF_METHOD  /* it is `self` */
} SelfMode;

bool stack_room(Interp *in, size_t n, LangError *e) {
    if ((size_t)(in->stack->end - in->stack->top) > n) return true;
    error_set(e, "calls nest too deep: no room for more variables");
    return error_locate(e, interp_span(in));
}

/* ---- messages ---- */

static const char *fn_name(const AstFn *f) { return f->name && *f->name ? f->name : "fn"; }

static bool call_error(Interp *in, const AstFn *f, const Node *at, LangError *e, const char *what) {
    Bytes sig = {0};
    fn_signature(f, &sig);
    fail_at(in, at, e, "%s", what);
    error_signature(e, NULL, sig.data);
    bytes_fini(&sig);
    return false;
}

static bool has_forward(const AstFn *f) {
    for (uint32_t i = 0; f->is_module && i < f->body->n_kids; i++) {
        const Node *n = f->body->kid[i];
        if (n->kind == N_FN_STMT && !strcmp(n->fn->name, "forward")) return true;
    }
    return false;
}

static bool too_many(Interp *in, const AstFn *f, int given, const Node *call, LangError *e) {
    char what[300];
    snprintf(what, sizeof what, "%.100s() takes %d argument%s, but %d %s given", fn_name(f),
             f->n_pos, f->n_pos == 1 ? "" : "s", given, given == 1 ? "was" : "were");
    call_error(in, f, call, e, what);
    if (f->at.src && f->at.src->is_prelude) hint_arrangement(fn_name(f), call, given, e);
    return has_forward(f) && error_hint(e, "make a layer first: %.80s(…)(x)", fn_name(f));
}

const char *call_keyword(Interp *in, const Node *call, int i, const Node **at) {
    *at = call;
    for (uint32_t k = 1; k < call->n_kids; k++) {
        if (call->kid[k]->kind == N_MAPSTAR) *at = call->kid[k];
        if (call->kid[k]->kind != N_KEYWORD || i-- > 0) continue;
        *at = call->kid[k];
        return call->kid[k]->str;
    }
    Value name, v;
    if (!in->spread || !mapv_at(in->spread, (size_t)i, &name, &v))
        panic("a call has fewer keywords than were counted");
    return intern(name.str->s, name.str->n);
}

static bool unknown_keyword(Interp *in, const AstFn *f, const char *name, const Node *at,
                            const Node *call, LangError *e) {
    NameList names = {0};
    for (int i = 0; i < f->n_params; i++) names_add(&names, f->param[i].name);
    const char *near = nearest_name(name, strlen(name), names.name, names.n);
    Bytes sig = {0};
    fn_signature(f, &sig);
    fail_at(in, at, e, "%s() has no argument '%s'", fn_name(f), name);
    bool has_hint = hint_keyword(in, fn_name(f), name, call, e);
    if (!has_hint) error_signature(e, near, sig.data);
    bytes_fini(&sig);
    names_fini(&names);
    return false;
}

/* ---- functions of the language ---- */

/* Returns the index of the parameter with this interned name, or n_params if there is none. */
static int place_of(const AstFn *a, const char *name) {
    int i = 0;
    while (i < a->n_params &&
           (a->param[i].name != name || a->param[i].is_star || a->param[i].is_map))
        i++;
    return i;
}

/* Moves the keyword values in kw[] to their slots, or into **rest. */
static bool bind_keywords(Interp *in, const AstFn *a, Value *slot, Value *kw, int n_kw,
                          const Node *call, LangError *e) {
    int rest = a->n_params && a->param[a->n_params - 1].is_map ? a->n_params - 1 : -1;
    for (int k = 0; k < n_kw; k++) {
        const Node *node;
        const char *name = call_keyword(in, call, k, &node), *ours;
        int i = place_of(a, name);
        if (a->at.src && a->at.src->is_prelude) /* accept PyTorch's names, as builtins do */
            for (int j = 0; i == a->n_params && (ours = keyword_ours(name, j)); j++)
                i = place_of(a, intern(ours, strlen(ours)));
        bool is_new = i < a->n_params;
        if (!is_new && rest < 0) return unknown_keyword(in, a, name, node, call, e);
        if (is_new ? slot[i].kind != V_UNDEF : map_find_name(slot[rest].map, name) != NULL)
            return fail_at(in, node, e, "%s() got '%s' twice", fn_name(a), name);
        if (is_new)
            slot[i] = kw[k];
        else
            mapv_put(slot[rest].map, value_ref(name_str(in, name)), kw[k]);
        kw[k] = v_none();
    }
    return true;
}

/* Makes the values of the parameters *rest, a list of the positional values beyond a->n_pos, and
 * **rest, an empty map. Sets all other slots without a positional value to V_UNDEF. */
static void bind_rest(Interp *in, const AstFn *a, Value *base, int n_pos) {
    Value rest = {.kind = V_UNDEF};
    for (int i = a->n_pos; i < a->n_params; i++) {
        if (a->param[i].is_star) {
            rest = v_list(in, n_pos > a->n_pos ? (size_t)(n_pos - a->n_pos) : 0);
            for (int k = a->n_pos; k < n_pos; k++) list_push(rest.list, base[k]);
        }
    }
    int kept = n_pos < a->n_pos || rest.kind == V_UNDEF ? n_pos : a->n_pos;
    for (int i = kept; i < a->n_slots; i++) base[i] = (Value){.kind = V_UNDEF};
    for (int i = a->n_pos; i < a->n_params; i++) {
        if (a->param[i].is_star) base[i] = rest;
        if (a->param[i].is_map) base[i] = v_map(in);
    }
}

/* Turns the arguments base[0 .. n_pos + n_kw) into the slots of a's frame: first the parameters in
 * order, then the other slots. A slot without a value is V_UNDEF. Drops the values on failure. */
static bool bind(Interp *in, const AstFn *a, Value *base, int n_pos, int n_kw, const Node *call,
                 LangError *e) {
    int n_slots = a->n_slots, n_given = n_pos + n_kw;
    bool has_rest = a->n_pos < a->n_params && a->param[a->n_pos].is_star, ok = true;
    Value *kw = base + (n_given > n_slots ? n_given : n_slots);
    if (!stack_room(in, (size_t)(n_given + n_slots), e)) {
        in->stack->top = base + n_given;
        ok = false;
        n_slots = n_given;
    } else if (!has_rest && n_pos > a->n_pos) {
        ok = too_many(in, a, n_given, call, e);
        n_slots = n_given;
    } else {
        memcpy(kw, base + n_pos, (size_t)n_kw * sizeof *kw);
        bind_rest(in, a, base, n_pos);
        in->stack->top = kw + n_kw;
        if (n_kw) ok = bind_keywords(in, a, base, kw, n_kw, call, e);
        for (int i = 0; i < n_kw; i++) value_drop(kw[i]);
    }
    if (ok) {
        in->stack->top = base + n_slots;
        return true;
    }
    for (int i = 0; i < n_slots; i++) value_drop(base[i]);
    in->stack->top = base;
    return false;
}

static void make_cells(Interp *in, const AstFn *a, Value *slot) {
    if (!a->slot_is_cell) return;
    for (int i = 0; i < a->n_slots; i++)
        if (a->slot_is_cell[i]) {
            Cell *c = container_new(in, V_CELL, sizeof *c);
            c->v = slot[i];
            slot[i] = (Value){.kind = V_CELL, .cell = c};
        }
}

static bool fill_defaults(Interp *in, const AstFn *a, Value *slot, const Node *call, LangError *e) {
    bool is_prelude = a->at.src && a->at.src->is_prelude;
    for (int i = 0; i < a->n_params; i++) {
        Value *v = slot[i].kind == V_CELL ? &slot[i].cell->v : &slot[i];
        if (v->kind != V_UNDEF) {
            if (is_prelude && !setting_check(in, a, i, *v, call, e)) return hint_scatter(call, e);
            continue;
        }
        if (!a->param[i].dflt) {
            char what[300];
            snprintf(what, sizeof what, "%.100s() needs '%.100s'", fn_name(a), a->param[i].name);
            in->frame = in->frame->up; /* report the error in the caller */
            call_error(in, a, call, e, what);
            return is_prelude && hint_scatter(call, e);
        }
        Value d;
        TRY(eval(in, a->param[i].dflt, &d, e));
        *v = d;
    }
    return true;
}

/* Reports nn.Linear(x): a tensor is passed to the constructor of a layer of the prelude, which
 * should be passed to the layer. */
static bool check_settings(Interp *in, const AstFn *a, const Value *slot, const Node *call,
                           LangError *e) {
    char shape[256];
    if (!a->at.src || !a->at.src->is_prelude || !has_forward(a)) return true;
    for (int i = 0; i < a->n_pos; i++) {
        Value v = slot[i].kind == V_CELL ? slot[i].cell->v : slot[i];
        if (v.kind != V_TENSOR || !tensor_type(v.tensor)->rank ||
            strstr(a->param[i].name, "weight"))
            continue;
        in->frame = in->frame->up; /* report the error in the caller */
        fail_at(in, call, e, "%s: '%s' is a setting, not a tensor of shape %s", fn_name(a),
                a->param[i].name, type_shape_text(tensor_type(v.tensor), shape));
        return error_hint(e, "make a layer first: %.80s(…)(x)", fn_name(a));
    }
    return true;
}

static void keep_fields(Interp *in, const AstFn *a, Object *o, const Value *slot) {
    for (int i = 0; i < a->n_params; i++)
        object_keep(in, o, a->param[i].name,
                    value_ref(slot[i].kind == V_CELL ? slot[i].cell->v : slot[i]));
}

static bool check_depth(Interp *in, LangError *e) {
    if (in->call_depth < MAX_CALL_DEPTH && (char *)__builtin_frame_address(0) > in->stack_end)
        return true;
    error_at(e, interp_span(in), "calls nest deeper than %d",
             in->call_depth < MAX_CALL_DEPTH ? in->call_depth : MAX_CALL_DEPTH);
    return error_hint(e, "endless recursion? A loop has no such limit");
}

bool fn_call(Interp *in, Fn *f, Value self, Value *base, int n_pos, int n_kw, const Node *call,
             Value *out, LangError *e) {
    const AstFn *a = f->ast;
    if (call)
        in->at = call;
    else
        call = in->at;
    if (!check_depth(in, e)) {
        for (int i = 0; i < n_pos + n_kw; i++) value_drop(base[i]);
        in->stack->top = base;
        return false;
    }
    TRY(bind(in, a, base, n_pos, n_kw, call, e));
    if (a->self_slot >= 0) base[a->self_slot] = value_ref(self);
    make_cells(in, a, base);
    f->c.h.refs++; /* f may rebind its own name while it runs */
    Frame frame = {
        .up = in->frame, .fn = a, .callee = f, .globals = f->globals, .slot = base, .call = call};
    in->frame = &frame;
    in->call_depth++;
    bool ok = !a->is_module || check_settings(in, a, base, call, e);
    ok = ok && fill_defaults(in, a, base, call, e);
    if (ok && a->is_module) keep_fields(in, a, self.obj, base);
    if (ok && a->is_expr)
        ok = eval(in, a->body, &frame.result, e);
    else if (ok)
        ok = exec(in, a->body, e) != FLOW_ERROR;
    in->call_depth--;
    bool has_begun = in->frame == &frame; /* no argument was missing */
    if (!ok && has_begun) trace_leave(in, a, call, e);
    in->frame = frame.up;
    for (int i = 0; i < a->n_slots; i++) value_drop(base[i]);
    in->stack->top = base;
    in->at = call;
    value_drop((Value){.kind = V_FN, .fn = f});
    if (ok)
        *out = frame.result;
    else
        value_drop(frame.result);
    return ok;
}

/* ---- calling a value ---- */

static void drop_args(Interp *in, Value *base, int n) {
    for (int i = 0; i < n; i++) value_drop(base[i]);
    in->stack->top = base;
}

/* Reports a call of a namespace, such as F(1) in place of f(1). */
static bool space_is_called(Interp *in, Value space, const Node *call, LangError *e) {
    const Node *callee = call && call->n_kids ? call->kid[0] : NULL;
    const char *said = space.map->name, *name;
    fail_at(in, call, e, "'%s' is a namespace, not a function", said);
    Value v;
    for (size_t i = 0; callee && callee->kind == N_NAME && interp_global(in, i, &name, &v); i++)
        if (name != callee->str && !strcasecmp(name, callee->str) && value_is_callable(v))
            return error_label(e, e->at, "did you mean '%s'?", name);
    return error_hint(e, "its functions: %s.name(…)", said);
}

/* True for the parameters of a model: a map of tensors by name. */
static bool is_state(MapV *m) {
    Value k, v;
    size_t n = 0;
    for (; mapv_at(m, n, &k, &v); n++)
        if (k.kind != V_STR || v.kind != V_TENSOR) return false;
    return n > 0;
}

static bool not_callable(Interp *in, Value f, const Node *call, LangError *e) {
    char quote[80] = "";
    if (call && call->n_kids) node_text(call->kid[0], quote);
    if (f.kind == V_OBJECT) {
        fail_at(in, call, e, "'%s' cannot be called: module %s has no forward", quote,
                value_type_name(f));
        NameList names = {0};
        names_of_methods(in, f, &names);
        const char *near = nearest_name("forward", 7, names.name, names.n);
        if (near) error_hint(e, "it has a method '%s': did you mean forward?", near);
        names_fini(&names);
        return false;
    }
    if (f.kind == V_DTYPE) {
        fail_at(in, call, e, "a dtype is not a function");
        return error_hint(e, "x.to(%s), tensor(v, dtype=%s)", dtype_info[f.dtype].name,
                          dtype_info[f.dtype].name);
    }
    if (f.kind == V_MAP && f.map->is_space) return space_is_called(in, f, call, e);
    fail_at(in, call, e, "'%s' is %s%s, not a function", quote,
            f.kind == V_NONE ? "" : "a value of type ", value_type_name(f));
    if (call && call->n_kids && hint_hidden(in, call->kid[0], e)) return false;
    if (f.kind == V_MAP && is_state(f.map)) {
        const char *model = strcmp(quote, "model") ? "model" : "net";
        return error_hint(e, "build %s, then %s.load_state_dict(%s)", model, model, quote);
    }
    if (call && call->at.src && call->at.src->is_prelude) /* opt.step(loss) */
        return error_hint(e, "pass the function itself: f, not f(x)");
    if (f.kind == V_TENSOR || f.kind == V_LIST || f.kind == V_MAP)
        return error_hint(e, "elements: x[i]");
    return false;
}

/* Inserts v before the n arguments at base. Consumes v only on success. */
static bool insert_first(Interp *in, Value *base, int n, Value v, LangError *e) {
    if (!stack_room(in, 1, e)) return false;
    memmove(base + 1, base, (size_t)n * sizeof *base);
    base[0] = v;
    in->stack->top++;
    return true;
}

static bool call_value(Interp *in, Value f, Value *base, int n_pos, int n_kw, const Node *call,
                       Value *out, LangError *e);

static bool bound_call(Interp *in, Bound *b, Value *base, int n_pos, int n_kw, const Node *call,
                       Value *out, LangError *e) {
    Value keep = value_ref((Value){.kind = V_BOUND, .bound = b});
    bool ok;
    if (b->f.kind == V_FN && b->f.fn->ast->self_slot >= 0) {
        ok = fn_call(in, b->f.fn, b->self, base, n_pos, n_kw, call, out, e);
    } else if (insert_first(in, base, n_pos + n_kw, value_ref(b->self), e)) {
        ok = call_value(in, b->f, base, n_pos + 1, n_kw, call, out, e);
    } else {
        drop_args(in, base, n_pos + n_kw);
        ok = false;
    }
    value_drop(keep);
    return ok;
}

static bool object_call(Interp *in, Object *o, Value *base, int n_pos, int n_kw, const Node *call,
                        Value *out, LangError *e) {
    static const char *forward;
    if (!forward) forward = intern("forward", 7);
    Value self = value_ref((Value){.kind = V_OBJECT, .obj = o});
    const Value *field = object_find(o, forward);
    Fn *method = object_method(o, forward);
    bool ok;
    if (field && field->kind != V_OBJECT) {
        Value f = value_ref(*field);
        ok = call_value(in, f, base, n_pos, n_kw, call, out, e);
        value_drop(f);
    } else if (method) {
        ok = fn_call(in, method, self, base, n_pos, n_kw, call, out, e);
    } else {
        drop_args(in, base, n_pos + n_kw);
        ok = not_callable(in, self, call, e);
    }
    if (ok && in->layers) object_called(in, o, *out);
    value_drop(self);
    return ok;
}

/* As fn_call, for any value. */
static bool call_value(Interp *in, Value f, Value *base, int n_pos, int n_kw, const Node *call,
                       Value *out, LangError *e) {
    switch (f.kind) {
    case V_FN: return fn_call(in, f.fn, v_none(), base, n_pos, n_kw, call, out, e);
    case V_BUILTIN: return builtin_call(in, f.builtin, base, n_pos, n_kw, call, out, e);
    case V_BOUND: return bound_call(in, f.bound, base, n_pos, n_kw, call, out, e);
    case V_MODULE: return module_call(in, f.module, base, n_pos, n_kw, call, out, e);
    case V_OBJECT: return object_call(in, f.obj, base, n_pos, n_kw, call, out, e);
    default: drop_args(in, base, n_pos + n_kw); return not_callable(in, f, call, e);
    }
}

bool interp_call(Interp *in, Value f, const Value *arg, int n_args, Value *out, LangError *e) {
    TRY(stack_room(in, (size_t)n_args, e));
    Value *base = in->stack->top;
    for (int i = 0; i < n_args; i++) base[i] = value_ref(arg[i]);
    in->stack->top += n_args;
    const Node *at = in->at;
    bool ok = call_value(in, f, base, n_args, 0, NULL, out, e);
    in->at = at;
    return ok;
}

/* ---- finding methods ---- */

/* Looks up M.f, a method of a module that does not use self. Sets *f to V_UNDEF if M has no f. */
static bool static_method(Interp *in, const Node *field, const Module *m, Value *f, LangError *e) {
    const Value *found = m->method ? map_find(m->method, name_str(in, field->str)) : NULL;
    *f = (Value){.kind = V_UNDEF};
    if (!found) return true;
    if (!found->fn->ast->uses_self) {
        *f = value_ref(*found);
        return true;
    }
    fail_at(in, field, e, "'%s' uses self: it is a method of objects, not of the module",
            field->str);
    if (habit_path(field->whole, builtin_habits(in), e)) return false;
    return error_hint(e, "%s(…).%s(…)", m->name, field->str);
}

/* Looks up a local, global or builtin of this name that can be called. Sets *out to V_UNDEF if
 * there is none. */
static bool visible(Interp *in, const char *name, Value *out, LangError *e) {
    const Frame *f = in->frame;
    *out = (Value){.kind = V_UNDEF};
    for (int i = 0; i < f->fn->n_slots && f->fn->slot_name; i++)
        if (f->fn->slot_name[i] == name) {
            Value v = f->slot[i].kind == V_CELL ? f->slot[i].cell->v : f->slot[i];
            if (value_is_callable(v)) {
                *out = value_ref(v);
                return true;
            }
        }
    const GlobalVar *g = map_get(&f->globals->by_name, (uint64_t)(uintptr_t)name);
    if (g && value_is_callable(g->v)) {
        *out = value_ref(g->v);
        return true;
    }
    TRY(builtin_value(in, name, out, e));
    if (out->kind != V_UNDEF && !value_is_callable(*out)) {
        value_drop(*out);
        *out = (Value){.kind = V_UNDEF};
    }
    return true;
}

static const char *with_article(Value v, char *buf, size_t n) {
    const char *t = value_type_name(v);
    snprintf(buf, n, "%s %s", strchr("aeioAEIO", *t) ? "an" : "a", t);
    return buf;
}

/* Reports a list, number or string that the program passed to a function of the prelude in place of
 * a tensor. Returns false if that is not the mistake. e names the argument; trace.c adds the
 * function. */
static bool report_argument(Interp *in, Node *field, Value base, LangError *e) {
    bool is_plain = base.kind == V_LIST || value_is_number(base) || base.kind == V_STR;
    if (!is_plain || !field->at.src || !field->at.src->is_prelude || field->kid[0]->kind != N_NAME)
        return false;
    const Builtin *b = builtin_find(field->str);
    bool is_method = b && b->kinds >> V_TENSOR & 1;
    if (!is_method &&
        !words_have("ndim shape dtype T requires_grad", field->str, strlen(field->str)))
        return false;
    fail_at(in, field, e, "'%s' must be a tensor, not %s", field->kid[0]->str,
            value_type_name(base));
    error_hint(e, base.kind == V_STR ? "" : "tensor(%s)", field->kid[0]->str);
    return true;
}

/* True if a statement of the block assigns to the variable `name`, or, of_self, to self.name. */
static bool assigns(const Node *block, const char *name, bool of_self) {
    for (uint32_t i = 0; i < block->n_kids; i++) {
        const Node *n = block->kid[i], *to = n->kind == N_ASSIGN ? n->kid[0] : NULL;
        if (to && to->kind == (of_self ? N_FIELD : N_NAME) && to->str == name) return true;
    }
    return false;
}

/* Hints at why an object lacks a member: its constructor assigns a variable of that name, or a
 * method `init`, which nothing called, assigns the field. */
static void hint_member(const Object *o, const char *name, LangError *e) {
    const Node *body = o->module->make->ast->body;
    if (assigns(body, name, false)) {
        error_hint(e, "the constructor sets a variable %s; a field is self.%s = …", name, name);
        return;
    }
    for (uint32_t i = 0; i < body->n_kids; i++) {
        const Node *n = body->kid[i];
        if (n->kind != N_FN_STMT || strcmp(n->fn->name, "init") || n->fn->is_expr) continue;
        if (assigns(n->fn->body, name, true))
            error_hint(e, "making an object does not call init: the module's own block is the "
                          "constructor: module M(n) { self.n = n }");
    }
}

/* Reports x.shape(), the call of a field of a tensor. Returns false if it is no field. */
static bool is_field_called(Interp *in, Node *field, Tensor *t, LangError *e) {
    char quote[80];
    Value v;
    bool found = false;
    if (tensor_field(in, t, field->str, &v, &found, e) && found) {
        value_drop(v);
        fail_at(in, field, e, "'%s' is a field of a tensor, not a method", field->str);
        error_hint(e, "%s.%s", node_text(field->kid[0], quote), field->str);
        return true;
    }
    *e = (LangError){0};
    return false;
}

static bool no_method_of_none(Interp *in, Node *field, LangError *e) {
    char quote[80];
    fail_at(in, field, e, "'%s' is none: it has no method '%s'", node_text(field->kid[0], quote),
            field->str);
    size_t n = strlen(quote);
    if (n > 5 && !strcmp(quote + n - 5, ".grad"))
        return error_hint(
            e, "there is no gradient before the first backward; later %s = none clears it", quote);
    return hint_none(field->kid[0], e);
}

/* Hints at x.relu(…) for PyTorch's x.relu_(). Returns false if x has no method relu. */
static bool hint_in_place(Interp *in, const Node *field, Value recv, LangError *e) {
    char quote[80];
    size_t n = strlen(field->str);
    if (n < 2 || field->str[n - 1] != '_') return false;
    const char *stem = intern(field->str, n - 1);
    Value f;
    if (!builtin_method_value(in, recv, stem, &f, &(LangError){0}) || f.kind == V_UNDEF)
        return false;
    value_drop(f);
    const char *x = node_text(field->kid[0], quote);
    if (field->kid[0]->kind != N_NAME)
        error_hint(e, "%s(…) gives a new value; nothing changes in place", stem);
    else
        error_hint(e, "only parameters and buffers change in place: %s = %s.%s(…)", x, x, stem);
    return true;
}

static bool no_method(Interp *in, Node *field, Value recv, LangError *e) {
    char kind[120], quote[80];
    if (report_argument(in, field, recv, e)) return false;
    if (recv.kind == V_TENSOR && is_field_called(in, field, recv.tensor, e)) return false;
    if (recv.kind == V_NONE) return no_method_of_none(in, field, e);
    fail_at(in, field, e, "%s has no method '%s'", with_article(recv, kind, sizeof kind),
            field->str);
    if (recv.kind == V_BOUND) return hint_uncalled(field->kid[0], e);
    if ((recv.kind == V_INT || recv.kind == V_FLOAT) && hint_hidden(in, field->kid[0], e))
        return false;
    if (hint_hidden_space(in, field, recv.kind, true, e)) return false;
    if (recv.kind == V_ERROR)
        return error_hint(e, "%s.message is a text", node_text(field->kid[0], quote));
    if (recv.kind == V_MODULE && habit_path(field->whole, builtin_habits(in), e)) return false;
    if (recv.kind == V_MODULE && !strcmp(field->str, "apply")) {
        const char *m = recv.module->name;
        return error_hint(e,
                          "%s()(x) makes and calls an object; g + (f - g).detach() has the "
                          "value of f and the gradient of g",
                          m);
    }
    if (habit_member(value_type_name(recv), field->str, e)) return false;
    if (recv.kind == V_TENSOR &&
        habit_name(field->str, node_text(field->kid[0], quote), field->at, builtin_habits(in), e))
        return false;
    const char *habit = recv.kind == V_TENSOR ? habit_hint(field->str, strlen(field->str)) : NULL;
    if (habit) return error_hint(e, "%s", habit);
    if (recv.kind == V_TENSOR && hint_in_place(in, field, recv, e)) return false;
    NameList names = {0};
    names_of_methods(in, recv, &names);
    const char *near = nearest_name(field->str, strlen(field->str), names.name, names.n);
    if (near)
        error_label(e, e->at, "did you mean '%s'?", near);
    else if (recv.kind == V_OBJECT) {
        fail_at(in, field, e, "%s has no field or method '%s'",
                with_article(recv, kind, sizeof kind), field->str);
        hint_member(recv.obj, field->str, e);
    }
    names_fini(&names);
    return false;
}

/* For p.clamp_(0, 1) of a parameter or buffer p: sets *f to clamp, whose result is to be p's value.
 * Sets *f to V_UNDEF if there is none. */
static bool find_update(Interp *in, const char *name, Value recv, Value *f, LangError *e) {
    size_t n = strlen(name);
    *f = (Value){.kind = V_UNDEF};
    if (recv.kind != V_TENSOR || !(recv.tensor->is_param || recv.tensor->is_buffer)) return true;
    if (n < 2 || name[n - 1] != '_' || name[n - 2] == '_') return true;
    return builtin_method_value(in, recv, intern(name, n - 1), f, e);
}

/* Calls f, found by find_update, and updates its first argument in place with the result. */
static bool update_call(Interp *in, Value f, Value *base, int n_pos, int n_kw, const Node *call,
                        Value *out, LangError *e) {
    Value p = value_ref(base[0]);
    char was[256], is[256];
    bool ok = tensor_has_no_path(in, p.tensor, e);
    for (int i = 1; i < n_pos + n_kw && ok; i++) ok = tensor_no_path(in, base[i], e);
    if (!ok) {
        for (int i = 0; i < n_pos + n_kw; i++) value_drop(base[i]);
        in->stack->top = base;
    }
    in->no_grad_depth++;
    ok = ok && call_value(in, f, base, n_pos, n_kw, call, out, e);
    in->no_grad_depth--;
    if (ok && out->kind == V_TENSOR) {
        const TensorType *a = tensor_type(p.tensor), *b = tensor_type(out->tensor);
        ok = type_same_shape(a, b);
        if (!ok)
            fail_at(in, call, e, "'%s' gives shape %s, but the tensor that it updates has shape %s",
                    call->kid[0]->str, type_shape_text(b, is), type_shape_text(a, was));
        ok = ok && tensor_update(in, p.tensor, *out, e);
        value_drop(*out);
    } else if (ok) {
        ok = fail_at(in, call, e, "'%s' gives %s, which cannot update a tensor", call->kid[0]->str,
                     value_type_name(*out));
        value_drop(*out);
    }
    *out = ok ? p : v_none();
    if (!ok) value_drop(p);
    return ok;
}

/* True for a builtin that is a method of tensors, and for a function of the prelude. */
static bool is_of_tensors(Value f, const char *name) {
    if (f.kind == V_BUILTIN) return builtin_method(V_TENSOR, name) != NULL;
    return f.kind == V_FN && f.fn->ast->at.src && f.fn->ast->at.src->is_prelude;
}

static bool find_method(Interp *in, Node *field, Value recv, Value *f, SelfMode *mode,
                        LangError *e) {
    const char *name = field->str;
    in->at = field;
    *mode = SELF_NONE;
    *f = (Value){.kind = V_UNDEF};
    Value *v;
    Fn *method;
    switch (recv.kind) {
    case V_OBJECT:
        if ((v = object_find(recv.obj, name))) {
            *f = value_ref(*v);
            return true;
        }
        if ((method = object_method(recv.obj, name))) {
            *f = value_ref((Value){.kind = V_FN, .fn = method});
            *mode = SELF_METHOD;
            return true;
        }
        if ((v = object_item(recv.obj, name))) {
            *f = value_ref(*v);
            return true;
        }
        break;
    case V_MAP:
        if (recv.map->is_space)
            return space_get(in, recv.map, name, f, e) ||
                   (error_locate(e, node_span(in, field)),
                    habit_path(field->whole, builtin_habits(in), e), false);
        break;
    case V_MODULE:
        TRY(static_method(in, field, recv.module, f, e));
        *mode = SELF_METHOD;
        if (f->kind != V_UNDEF) return true;
        break;
    case V_BUILTIN: /* random.seed(0): random is a module in Python, a function here */
        if (field->kid[0]->kind == N_NAME && habit_path(field->whole, builtin_habits(in), e))
            return fail_at(in, field->kid[0], e, "'%s' is a function, not a module",
                           field->kid[0]->str);
        break;
    default: break;
    }
    *mode = SELF_FIRST;
    TRY(builtin_method_value(in, recv, name, f, e));
    if (f->kind != V_UNDEF) return true;
    if (recv.kind == V_MAP && (v = map_find_name(recv.map, name))) {
        *f = value_ref(*v);
        *mode = SELF_NONE;
        return true;
    }
    if (recv.kind == V_MODULE) return no_method(in, field, recv, e);
    TRY(visible(in, name, f, e));
    if (recv.kind == V_NONE && is_of_tensors(*f, name)) {
        value_set(f, (Value){.kind = V_UNDEF});
        return no_method(in, field, recv, e);
    }
    if (f->kind != V_UNDEF) return true;
    *mode = SELF_UPDATE;
    TRY(find_update(in, name, recv, f, e));
    return f->kind != V_UNDEF || no_method(in, field, recv, e);
}

/* ---- the call expression ---- */

/* Pushes all elements of xs, for *xs. */
static bool push_spread(Interp *in, Node *arg, int *n_pos, LangError *e) {
    Value over;
    Iter it;
    TRY(eval(in, arg->kid[0], &over, e));
    in->at = arg;
    bool ok = iter_open(in, arg, over, &it, e);
    value_drop(over);
    TRY(ok);
    int more = 0;
    while ((ok = stack_room(in, 1, e)) && (more = iter_next(in, &it, in->stack->top, e)) > 0) {
        in->stack->top++;
        ++*n_pos;
    }
    iter_close(in, &it);
    return ok && more == 0;
}

/* Adds the entries of m, given as **m, to *all, the entries of the call's earlier **maps (none: the
 * value none). Consumes m. */
static bool spread_map(Interp *in, Node *arg, Value m, Value *all, LangError *e) {
    Value k, v;
    bool ok = m.kind == V_MAP && !m.map->is_space;
    if (!ok) fail_at(in, arg, e, "** spreads a map, not %s", value_type_name(m));
    if (ok && all->kind == V_NONE) *all = v_map(in);
    for (size_t i = 0; ok && mapv_at(m.map, i, &k, &v); i++) {
        if (k.kind != V_STR)
            ok = fail_at(in, arg, e, "the keys of a map after ** must be strings, not %s",
                         value_type_name(k));
        else if (map_find(all->map, k))
            ok = fail_at(in, arg, e, "argument '%.100s' is given twice", k.str->s);
        else
            mapv_put(all->map, value_ref(k), value_ref(v));
    }
    value_drop(m);
    return ok;
}

/* Pushes the argument values of a call: positional ones, then those of keywords, then those of
 * **maps. Sets *spread to a map of all entries of the **maps, in the order of their values. Drops
 * the values on failure. */
static bool push_args(Interp *in, Node *n, Value *base, int *n_pos, int *n_kw, Value *spread,
                      LangError *e) {
    Value v, k;
    bool ok = true;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 1; i < n->n_kids && ok; i++) {
            Node *arg = n->kid[i];
            bool is_named = arg->kind == N_KEYWORD || arg->kind == N_MAPSTAR;
            if (is_named != (pass == 1)) continue;
            if (arg->kind == N_STAR) {
                ok = push_spread(in, arg, n_pos, e);
                continue;
            }
            ok = stack_room(in, 1, e) && eval(in, is_named ? arg->kid[0] : arg, &v, e);
            if (ok && arg->kind == N_MAPSTAR) {
                ok = spread_map(in, arg, v, spread, e);
            } else if (ok) {
                *in->stack->top++ = v;
                ++*(is_named ? n_kw : n_pos);
            }
        }
    if (ok && spread->kind == V_MAP) {
        ok = stack_room(in, map_count(spread->map), e);
        for (size_t i = 0; ok && mapv_at(spread->map, i, &k, &v); i++, ++*n_kw)
            *in->stack->top++ = value_ref(v);
    }
    if (!ok) drop_args(in, base, (int)(in->stack->top - base));
    return ok;
}

/* Suggests nn.Linear after nn.linear(4, 2) failed. nn has no linear of its own, so the builtin
 * linear was called, and its first argument was not a tensor. */
static void hint_layer(Interp *in, const Node *callee, LangError *e) {
    char quote[80], layer[64];
    if (callee->kind != N_FIELD || e->kind != E_RUN) return;
    size_t n = (size_t)snprintf(layer, sizeof layer, "%s", callee->str);
    if (!islower((unsigned char)*layer)) return;
    *layer = (char)toupper((unsigned char)*layer);
    const char *space = n < sizeof layer ? space_with(in, intern(layer, n)) : NULL;
    if (space && !strcmp(space, node_text(callee->kid[0], quote)))
        error_hint(e, "did you mean '%s.%s'?", space, layer);
}

bool eval_call(Interp *in, Node *n, Value *out, LangError *e) {
    Node *callee = n->kid[0];
    Value *base = in->stack->top, f, recv = v_none(), updated = v_none(), spread = v_none();
    SelfMode mode = SELF_NONE;
    Place *place = NULL;
    TRY(stack_room(in, n->n_kids + 1, e));
    if (callee->kind == N_FIELD) {
        TRY(update_open(in, callee, &place, &recv, e));
        if (place) updated = value_ref(recv);
        bool found = find_method(in, callee, recv, &f, &mode, e);
        if (!found || mode == SELF_NONE) {
            value_drop(recv);
            recv = v_none();
        }
        if (!found) return place ? update_close(in, place, updated, false, out, e) : false;
        if (mode == SELF_FIRST || mode == SELF_UPDATE)
            *in->stack->top++ = recv; /* now owned by the stack */
    } else {
        TRY(eval(in, callee, &f, e));
    }
    if ((n->flag & NODE_UNUSED) && !place && f.kind == V_BUILTIN && f.builtin->facts & BI_PURE)
        n->flag |= NODE_DROPPED;
    int n_pos = mode == SELF_FIRST || mode == SELF_UPDATE, n_kw = 0;
    bool ok = push_args(in, n, base, &n_pos, &n_kw, &spread, e);
    bool has_tensor = !ok || n_pos == 0 || base[0].kind == V_TENSOR, is_called = ok;
    bool takes_tensor = n_pos > 1 && base[1].kind == V_TENSOR;
    ValueKind first = n_pos ? base[0].kind : V_NONE;
    if (ok) {
        if (spread.kind == V_MAP) in->spread = spread.map; /* for call_keyword */
        bool is_quiet = place && !update_is_checked(place);
        in->at = n;
        in->no_grad_depth += is_quiet;
        ok = mode == SELF_METHOD   ? fn_call(in, f.fn, recv, base, n_pos, n_kw, n, out, e)
             : mode == SELF_UPDATE ? update_call(in, f, base, n_pos, n_kw, n, out, e)
                                   : call_value(in, f, base, n_pos, n_kw, n, out, e);
        in->no_grad_depth -= is_quiet;
    }
    if (place) ok = update_close(in, place, updated, ok, out, e);
    if (!ok) error_locate(e, node_span(in, n));
    if (!ok && !has_tensor) hint_layer(in, callee, e);
    if (!ok && is_called && mode == SELF_FIRST)
        hint_hidden_space(in, callee, first, takes_tensor, e);
    if (mode == SELF_METHOD) value_drop(recv);
    value_drop(spread);
    value_drop(f);
    return ok;
}

/* ---- fields ---- */

static Value bound_new(Interp *in, Value self, Value f) {
    Bound *b = container_new(in, V_BOUND, sizeof *b);
    b->self = value_ref(self);
    b->f = f;
    return (Value){.kind = V_BOUND, .bound = b};
}

static bool no_field(Interp *in, Node *n, Value base, LangError *e) {
    char kind[120], quote[80];
    if (report_argument(in, n, base, e)) return false;
    if (base.kind == V_NONE) {
        fail_at(in, n, e, "'%s' is none: it has no field '%s'", node_text(n->kid[0], quote),
                n->str);
        return hint_none(n->kid[0], e);
    }
    if (base.kind == V_BUILTIN && n->kid[0]->kind == N_NAME &&
        habit_path(n->whole, builtin_habits(in), e))
        return fail_at(in, n->kid[0], e, "'%s' is a function, not a module", n->kid[0]->str);
    fail_at(in, n, e, "%s has no field '%s'", with_article(base, kind, sizeof kind), n->str);
    if (base.kind == V_BOUND) return hint_uncalled(n->kid[0], e);
    if (hint_tensors(base, n->kid[0], n->str, e)) return false;
    if (base.kind != V_MAP && habit_member(value_type_name(base), n->str, e)) return false;
    NameList names = {0};
    Value k, v;
    MapV *m = base.kind == V_MAP ? base.map : base.kind == V_OBJECT ? base.obj->field : NULL;
    for (size_t i = 0; m && mapv_at(m, i, &k, &v); i++)
        if (k.kind == V_STR) names_add(&names, k.str->s);
    for (size_t i = 0; base.kind == V_TENSOR && tensor_field_names[i]; i++)
        names_add(&names, tensor_field_names[i]);
    names_of_methods(in, base, &names);
    const char *near = nearest_name(n->str, strlen(n->str), names.name, names.n);
    if (near)
        error_label(e, e->at, "did you mean '%s'?", near);
    else if (base.kind == V_MAP && (!strcmp(n->str, "shape") || !strcmp(n->str, "dtype")))
        error_hint(e, "each tensor in the map has its own: {k: v.%s for k, v in %s.items()}",
                   n->str, node_text(n->kid[0], quote));
    else if (base.kind == V_MAP && !strcmp(n->str, "files"))
        error_hint(e, "%s.keys()", node_text(n->kid[0], quote));
    else if (base.kind == V_MAP)
        error_hint(e, "%s.get(\"%s\", otherwise)", node_text(n->kid[0], quote), n->str);
    else if (base.kind == V_OBJECT)
        hint_member(base.obj, n->str, e);
    else if (base.kind != V_TENSOR)
        hint_hidden(in, n->kid[0], e);
    names_fini(&names);
    return false;
}

/* Gives .values and .indices of a list as topk, kthvalue, mode and cummax return it: a tensor, and
 * a tensor of int64 of the same shape. */
static bool pair_field(Value base, const char *name, Value *out) {
    bool is_values = !strcmp(name, "values");
    if (base.kind != V_LIST || base.list->n != 2 || (!is_values && strcmp(name, "indices")))
        return false;
    const Value *v = base.list->v;
    if (v[0].kind != V_TENSOR || v[1].kind != V_TENSOR) return false;
    const TensorType *a = tensor_type(v[0].tensor), *b = tensor_type(v[1].tensor);
    if (b->dtype != DT_I64 || !type_same_shape(a, b)) return false;
    *out = value_ref(v[!is_values]);
    return true;
}

bool field_get(Interp *in, Node *n, Value base, Value *out, LangError *e) {
    const char *name = n->str;
    bool found = false;
    Value f = {.kind = V_UNDEF};
    in->at = n;
    if (base.kind == V_OBJECT) {
        found = object_get(in, base.obj, name, out);
    } else if (base.kind == V_TENSOR) {
        TRY(at_node(in, n, tensor_field(in, base.tensor, name, out, &found, e), e));
    } else if (base.kind == V_MAP) {
        if (base.map->is_space)
            return space_get(in, base.map, name, out, e) ||
                   (error_locate(e, node_span(in, n)), habit_path(n->whole, builtin_habits(in), e),
                    false);
        Value *v = map_find(base.map, name_str(in, name));
        if ((found = v != NULL)) *out = value_ref(*v);
    }
    if (base.kind == V_MODULE) {
        TRY(static_method(in, n, base.module, &f, e));
        if (f.kind == V_UNDEF) return no_field(in, n, base, e);
        *out = bound_new(in, base, f);
        return true;
    }
    if (base.kind == V_ERROR) TRY(error_field(in, base, name, out, &found, e));
    if (found || pair_field(base, name, out)) return true;
    bool is_result = base.kind == V_LIST && habit_is_result(name); /* s.sign: no method of a list */
    if (base.kind == V_NONE || is_result) return no_field(in, n, base, e);
    TRY(builtin_method_value(in, base, name, &f, e));
    if (f.kind == V_UNDEF && base.kind != V_OBJECT && base.kind != V_MAP)
        TRY(visible(in, name, &f, e));
    if (f.kind == V_UNDEF) return no_field(in, n, base, e);
    *out = bound_new(in, base, f);
    return true;
}

bool eval_field(Interp *in, Node *n, Value *out, LangError *e) {
    Value base;
    TRY(eval(in, n->kid[0], &base, e));
    bool ok = field_get(in, n, base, out, e);
    value_drop(base);
    return ok;
}
