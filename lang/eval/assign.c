/* assign.c: targets of `=`, `op=` and `del`. A Place is a target whose subexpressions have been
 * evaluated once, so that it can be read and then written. Writing an element of a tensor value
 * makes a new tensor and stores it where the old one was. A parameter keeps its identity instead,
 * whatever target leads to it.
 * SPDX-License-Identifier: MIT */
#include "lang/tensor/index.h"
#include "lang/value/mapv.h"
#include "lang/tensor/pair.h"
#include "lang/value/frame.h"
#include "lang/error/habit.h"
#include "lang/eval/operate.h"
#include "lang/eval/subscript.h"
#include "lang/eval/assign.h"
#include "lang/eval/call.h"
#include "lang/eval/object.h"
#include "lang/eval/import.h"
#include "lang/tensor/tensor.h"
#include "runtime/inst/op.h"
#include <stdlib.h>
#include <string.h>

typedef struct Place {
    Node *n;          /* N_NAME, N_FIELD or N_INDEX                                */
    Value base;       /* the object or container; none for an N_NAME               */
    struct Place *up; /* where base came from, if that is a field or an element    */
    int n_subs;
    Value sub[MAX_SUBS];
} Place;

/* ---- names ---- */

bool bind_name(Interp *in, Node *n, const char *name, Value v, LangError *e) {
    Value *slot;
    switch (n->scope) {
    case SCOPE_LOCAL: slot = &in->frame->slot[n->slot]; break;
    case SCOPE_CELL: slot = &in->frame->slot[n->slot].cell->v; break;
    case SCOPE_GLOBAL: {
        GlobalVar *g = n->cache;
        if (!g) n->cache = g = globals_var(in->frame->globals, name);
        slot = &g->v, g->set_line = n->at.line;
        break;
    }
    default:
        value_drop(v);
        return fail_at(in, n, e, "'%s' belongs to the function around this one", name);
    }
    if (slot->kind == V_TENSOR && v.kind == V_TENSOR && slot->tensor->is_param &&
        !v.tensor->is_param && v.tensor->h.refs == 1)
        v.tensor->was_param = true; /* w = w - ...: a later w.grad explains the mistake */
    value_set(slot, v);
    return true;
}

static bool is_outer(const Interp *in, const Node *name) {
    return name->kind == N_NAME &&
           (name->scope == SCOPE_OUTER || (name->scope == SCOPE_GLOBAL && in->frame->callee));
}

static bool outer_error(Interp *in, const Node *n, const char *name, LangError *e) {
    fail_at(in, n, e, "'%s' belongs to the code around this function, which cannot rebind it",
            name);
    return error_hint(e, "share a map: s = {n: 0}, then s.n += 1; or return the new value");
}

/* ---- fields ---- */

/* Removes the operation's name from the error of an assignment, which calls no function: "full: 300
 * does not fit uint8". Returns false. */
static bool drop_operation(LangError *e) {
    size_t n = strcspn(e->what, ":");
    if (e->what[n] && e->what[n + 1] == ' ' && op_find(e->what, n) < OP_COUNT)
        memmove(e->what, e->what + n + 2, strlen(e->what + n + 2) + 1);
    return false;
}

/* Consumes v. */
static bool set_field(Interp *in, const Node *n, Value base, const char *name, Value v,
                      LangError *e) {
    bool ok = true;
    in->at = n;
    if (base.kind == V_OBJECT) { return at_node(in, n, object_set(in, base.obj, name, v, e), e); }
    if (base.kind == V_MAP && !base.map->is_space) {
        mapv_put(base.map, value_ref(name_str(in, name)), v);
        return true;
    }
    if (base.kind == V_TENSOR)
        ok = tensor_set_field(in, base.tensor, name, v, e) || drop_operation(e);
    else if (base.kind == V_MAP)
        ok = fail_at(in, n, e, "names of '%s' cannot be assigned", base.map->name);
    else
        ok = fail_at(in, n, e, "fields of %s cannot be assigned", value_type_name(base));
    value_drop(v);
    return at_node(in, n, ok, e);
}

/* ---- unpacking ---- */

static bool unpack_count(Interp *in, Node *target, int64_t count, LangError *e) {
    if (count == target->n_kids) return true;
    return fail_at(in, target, e, "%u names on the left, but %lld value%s", target->n_kids,
                   (long long)count, count == 1 ? "" : "s");
}

static bool hint_unpack(MapV *m, LangError *e) {
    Value key, v;
    bool has_name = mapv_at(m, 0, &key, &v) && key.kind == V_STR && key.str->n < 40;
    return has_name ? error_hint(e, "m.%s, or m.values(), m.items()", key.str->s)
                    : error_hint(e, "m.values(), m.items()");
}

static bool unpack(Interp *in, Node *target, Value v, bool fresh, LangError *e) {
    switch (v.kind) {
    case V_LIST:
    case V_RANGE: TRY(unpack_count(in, target, sequence_count(v), e)); break;
    case V_TENSOR:
        if (v.tensor->pair) {
            TRY(unpack_count(in, target, 2, e));
            break;
        }
        if (tensor_type(v.tensor)->rank == 0)
            return fail_at(in, target, e, "%u names on the left, but the tensor is a single number",
                           target->n_kids);
        TRY(unpack_count(in, target, tensor_type(v.tensor)->shape[0], e));
        break;
    case V_OBJECT:
        if (object_items(v.obj)) {
            Value items = object_elements(in, v.obj);
            bool ok = unpack(in, target, items, fresh, e);
            value_drop(items);
            return ok;
        }
        return fail_at(in, target, e, "%s does not unpack into %u names", value_type_name(v),
                       target->n_kids);
    case V_MAP: fail_at(in, target, e, "maps do not unpack"); return hint_unpack(v.map, e);
    case V_STR:
    case V_TEXT: fail_at(in, target, e, "strings do not unpack"); return error_hint(e, "s.split()");
    default:
        return fail_at(in, target, e, "%s does not unpack into %u names", value_type_name(v),
                       target->n_kids);
    }
    for (uint32_t i = 0; i < target->n_kids; i++) {
        Value el;
        in->at = target;
        if (v.kind != V_TENSOR && i >= sequence_count(v))
            return fail_at(in, target, e, "the list lost elements while it was unpacked");
        if (v.kind != V_TENSOR)
            el = sequence_at(v, i);
        else if (v.tensor->pair ? !pair_part(in, v.tensor, (int)i, &el, e)
                                : !tensor_iter(in, v.tensor, i, &el, e))
            return error_locate(e, node_span(in, target));
        TRY(assign(in, target->kid[i], el, fresh, e));
    }
    return true;
}

/* ---- places ---- */

/* True for parameters and buffers, which keep their identity when written. */
static bool has_identity(Value v) {
    return v.kind == V_TENSOR && (v.tensor->is_param || v.tensor->is_buffer);
}

static bool place_get(Interp *in, Place *p, Value *out, LangError *e);
static bool place_set(Interp *in, Place *p, Value v, LangError *e);

static void place_close(Place *p) {
    while (p->n_subs > 0) value_drop(p->sub[--p->n_subs]);
    value_drop(p->base);
    if (p->up) {
        place_close(p->up);
        free(p->up);
    }
}

static bool place_open(Interp *in, Node *n, Place *p, LangError *e) {
    p->n = n;
    p->base = v_none();
    p->up = NULL;
    p->n_subs = 0;
    if (n->kind == N_NAME) return true;
    if (n->kind != N_FIELD && n->kind != N_INDEX)
        return fail_at(in, n, e, "this cannot be assigned to");
    Node *from = n->kid[0];
    if (n->kind == N_INDEX && (from->kind == N_FIELD || from->kind == N_INDEX)) {
        p->up = xmalloc(sizeof *p->up);
        TRY(place_open(in, from, p->up, e));
        bool is_written = from->kind == N_INDEX && has_identity(p->up->base);
        in->no_grad_depth += is_written; /* part of a read-modify-write: not recorded */
        bool ok = place_get(in, p->up, &p->base, e);
        in->no_grad_depth -= is_written;
        TRY(ok);
    } else {
        TRY(eval(in, from, &p->base, e));
    }
    return n->kind == N_FIELD || eval_subs(in, n, p->sub, &p->n_subs, e);
}

static bool place_get(Interp *in, Place *p, Value *out, LangError *e) {
    if (p->n->kind == N_NAME) return eval(in, p->n, out, e);
    in->at = p->n;
    if (p->n->kind == N_FIELD) return field_get(in, p->n, p->base, out, e);
    return subscript_get(in, p->n, p->base, p->sub, p->n_subs, out, e);
}

/* True if name is a parameter of the running function: the caller may expect to see a change. */
static bool is_own_param(const Interp *in, const Node *name) {
    const Frame *f = in->frame;
    return f->up && name->scope == SCOPE_LOCAL && name->slot < f->fn->n_params;
}

/* Warns that n, marked NODE_UNREAD, writes a plain tensor under `name` that nothing reads. Global
 * names of an imported file or at the prompt may be read later, so they get no warning. */
static void warn_unread(Interp *in, Node *n, const Node *name) {
    LangError w = {0};
    n->flag &= (uint8_t)~NODE_UNREAD;
    if (name->scope == SCOPE_GLOBAL && (in->frame->up || in->config.interactive)) return;
    if (is_own_param(in, name) && in->frame->fn->is_module) {
        fail_at(in, n, &w, "self.%s keeps the constructor's argument", name->str);
        error_hint(&w, "self.%s = ...", name->str);
    } else if (is_own_param(in, name)) {
        fail_at(in, n, &w, "the caller does not see this change of its tensor");
        error_hint(&w, "return %s", name->str);
    } else {
        fail_at(in, n, &w, "this changes '%s' alone, which is not read again", name->str);
        error_hint(&w, n->kind == N_INDEX ? "write to the tensor itself: x[i, j] = v; p[i] = v"
                                          : "write to where it came from: xs[i] += v, p += v");
    }
    interp_warn(in, &w);
}

/* Makes a new tensor with the element written and stores it where the old one was. Updates a
 * parameter in place. */
static bool put_element(Interp *in, Place *p, Value v, LangError *e) {
    Value made;
    Node *from = p->n->kid[0];
    bool stays = has_identity(p->base);
    if (!stays && is_outer(in, from)) return outer_error(in, p->n, from->str, e);
    in->at = p->n;
    if (p->base.tensor->pair) {
        char quote[80];
        pair_error(p->base.tensor, node_text(from, quote), "writing an element", e);
        return error_locate(e, node_span(in, p->n));
    }
    if (!at_node(in, p->n,
                 tensor_index_put(in, p->base.tensor, p->sub, p->n_subs, v, false, &made, e), e))
        return drop_operation(e);
    if (stays) {
        value_drop(made);
        return true;
    }
    if (p->n->flag & NODE_UNREAD) warn_unread(in, p->n, from);
    if (p->up) return place_set(in, p->up, made, e);
    if (from->kind == N_NAME) return bind_name(in, from, from->str, made, e);
    value_drop(made);
    fail_at(in, p->n, e, "this tensor has no name: the changed one would be lost");
    return error_hint(e, "x = ...; x[i] = v");
}

/* Fails for x.shape[0] = 5: x.shape gives a fresh list, so the write would be lost. Consumes v. */
static bool set_in_tensor_field(Interp *in, Place *p, Value v, LangError *e) {
    value_drop(v);
    const char *name = p->up->n->str;
    fail_at(in, p->n, e, "a tensor's %s does not change", name);
    return strcmp(name, "shape") ? false : error_hint(e, "x = x.reshape(...)");
}

/* Consumes v. */
static bool place_set(Interp *in, Place *p, Value v, LangError *e) {
    if (p->n->kind == N_INDEX && p->base.kind == V_LIST && p->up && p->up->n->kind == N_FIELD &&
        p->up->base.kind == V_TENSOR)
        return set_in_tensor_field(in, p, v, e);
    if (p->n->kind == N_NAME) return bind_name(in, p->n, p->n->str, v, e);
    if (p->n->kind == N_FIELD) return set_field(in, p->n, p->base, p->n->str, v, e);
    if (p->base.kind == V_TENSOR) {
        bool ok = put_element(in, p, v, e);
        value_drop(v);
        return ok;
    }
    in->at = p->n;
    return subscript_set(in, p->n, p->base, p->sub, p->n_subs, v, e);
}

/* ---- updates by a method: p.data.clamp_(0, 1), p.grad.mul_(c), p[0].fill_(3) ---- */

/* False for advanced indexing: it makes a copy, and a write into the copy is lost, as in
 * PyTorch. */
static bool is_basic(const Place *p) {
    for (int i = 0; i < p->n_subs; i++) {
        ValueKind k = (ValueKind)p->sub[i].kind;
        if (k == V_TENSOR || k == V_LIST || k == V_RANGE) return false;
    }
    return true;
}

static bool is_data(const Node *n) {
    return n->kind == N_FIELD && (!strcmp(n->str, "data") || !strcmp(n->str, "grad"));
}

static bool is_update(const Node *callee) {
    size_t n = callee->kind == N_FIELD ? strlen(callee->str) : 0;
    return n > 1 && callee->str[n - 1] == '_' && callee->str[n - 2] != '_';
}

/* True if n can be evaluated twice with the same result and no side effects. */
static bool is_pure(const Node *n) {
    switch (n->kind) {
    case N_NAME:
    case N_INT:
    case N_STRING:
    case N_NONE:
    case N_ELLIPSIS: return true;
    case N_FIELD:
    case N_INDEX:
    case N_SLICE:
    case N_UNARY:
        for (uint32_t i = 0; i < n->n_kids; i++)
            if (n->kid[i] && !is_pure(n->kid[i])) return false;
        return true;
    default: return false;
    }
}

/* Returns the target that callee updates, or NULL: p.data in p.data.mul_(a).add_(b), which both
 * calls write. */
static Node *updated_place(Node *callee) {
    if (!is_update(callee)) return NULL;
    Node *at = callee->kid[0];
    bool chained = at->kind == N_CALL;
    while (at->kind == N_CALL && is_update(at->kid[0])) at = at->kid[0]->kid[0];
    if ((at->kind != N_INDEX && !is_data(at)) || (chained && !is_pure(at))) return NULL;
    bool is_grad_data = is_data(at) && !strcmp(at->str, "data") && at->kid[0]->kind == N_FIELD &&
                        !strcmp(at->kid[0]->str, "grad");
    return is_grad_data ? at->kid[0] : at; /* p.grad.data is p.grad */
}

/* True for a part of a parameter, for its data or gradient, and for a part of these. */
static bool is_part(const Place *p) {
    return has_identity(p->base) || (p->up && is_data(p->up->n) && has_identity(p->up->base));
}

bool update_open(Interp *in, Node *callee, Place **place, Value *recv, LangError *e) {
    Node *at = updated_place(callee);
    Value chained = v_none();
    *place = NULL;
    if (!at) return eval(in, callee->kid[0], recv, e);
    if (callee->kid[0]->kind == N_CALL) { /* first the calls before this one in the chain */
        TRY(eval(in, callee->kid[0], recv, e));
        if (recv->kind != V_TENSOR || has_identity(*recv)) return true;
        chained = *recv;
    }
    Place *p = xmalloc(sizeof *p);
    in->no_grad_depth++; /* the read is part of an update, which is never recorded */
    bool ok = place_open(in, at, p, e) && place_get(in, p, recv, e);
    in->no_grad_depth--;
    if (ok && recv->kind == V_TENSOR && !has_identity(*recv) && is_part(p) && is_basic(p)) {
        Tensor *t = tensor_detach(in, recv->tensor);
        value_set(recv, v_tensor(tensor_as_buffer(in, t)));
        tensor_unref(t);
        value_drop(chained);
        *place = p;
        return true;
    }
    place_close(p);
    free(p);
    if (!ok || chained.kind == V_NONE) {
        value_drop(chained);
        return ok;
    }
    value_set(recv, chained); /* the target is not part of a parameter */
    return true;
}

bool update_is_checked(const Place *p) { return p->n->kind == N_INDEX && has_identity(p->base); }

bool update_close(Interp *in, Place *p, Value recv, bool ok, Value *out, LangError *e) {
    if (ok) {
        value_drop(*out);
        *out = v_tensor(tensor_detach(in, recv.tensor));
        ok = place_set(in, p, value_ref(*out), e);
        if (!ok) value_drop(*out);
    }
    value_drop(recv);
    place_close(p);
    free(p);
    return ok;
}

/* ---- statements ---- */

OUTLINE static bool assign_place(Interp *in, Node *target, Value v, LangError *e) {
    Place p;
    bool ok = place_open(in, target, &p, e);
    if (ok)
        ok = place_set(in, &p, v, e);
    else
        value_drop(v);
    place_close(&p);
    return ok;
}

bool assign(Interp *in, Node *target, Value v, bool fresh, LangError *e) {
    if (target->kind == N_NAME) {
        if (fresh && target->scope == SCOPE_CELL) {
            Cell *c = container_new(in, V_CELL, sizeof *c);
            c->v = v;
            value_set(&in->frame->slot[target->slot], (Value){.kind = V_CELL, .cell = c});
            return true;
        }
        return bind_name(in, target, target->str, v, e);
    }
    if (target->kind == N_LIST) {
        bool ok = unpack(in, target, v, fresh, e);
        value_drop(v);
        return ok;
    }
    return assign_place(in, target, v, e);
}

/* Hints at what the values of a call are called, after an error in `target = value`. */
static void hint_unpacked(Interp *in, const Node *target, const Node *value, LangError *e) {
    if (target->kind != N_LIST || value->kind != N_CALL || e->hint[0] ||
        !strstr(e->what, " names on the left"))
        return;
    Node *callee = value->kid[0];
    LangError other = {0};
    Value f;
    if (!is_pure(callee) || !eval(in, callee, &f, &other)) return;
    bool is_method = f.kind == V_BOUND;
    const Value *g = is_method ? &f.bound->f : &f;
    if (g->kind == V_BUILTIN ||
        (g->kind == V_FN && g->fn->ast->at.src && g->fn->ast->at.src->is_prelude))
        habit_unpacked(callee->str, e);
    value_drop(f);
}

bool exec_assign(Interp *in, Node *n, LangError *e) {
    Value v;
    Node *value = n->kid[n->n_kids - 1];
    TRY(eval(in, value, &v, e));
    for (uint32_t i = 0; i + 2 < n->n_kids; i++)
        if (!assign(in, n->kid[i], value_ref(v), false, e)) {
            value_drop(v);
            return false;
        }
    Node *target = n->kid[n->n_kids - 2];
    bool is_none = v.kind == V_NONE;
    bool is_of_grad = target->kind == N_LIST && v.kind == V_TENSOR && is_call_of_grad(in, value);
    bool ok = assign(in, target, v, false, e);
    if (is_of_grad && ok)
        warn_of_grad(in, target, "grad of one tensor is its gradient: this unpacks its rows");
    if (is_of_grad && !ok && !e->hint[0]) hint_grad(e);
    if (!ok) hint_unpacked(in, target, value, e);
    if (!ok && is_none && target->kind == N_INDEX && !e->hint[0]) hint_none(value, e);
    return ok;
}

static bool extend(Interp *in, Node *n, List *l, Value v, LangError *e) {
    if (v.kind != V_LIST && v.kind != V_RANGE) {
        fail_at(in, n, e, "cannot extend a list by %s", value_type_name(v));
        return error_hint(e, v.kind == V_TENSOR ? "xs.append(x), or xs += x.tolist()"
                                                : "xs.append(x)");
    }
    int64_t count = sequence_count(v);
    if (count > (1 << 28))
        return fail_at(in, n, e, "the list would have more than %d elements", 1 << 28);
    for (int64_t i = 0; i < count; i++) list_push(l, sequence_at(v, i));
    return true;
}

/* cur op= v. *done: cur was changed in place; otherwise the caller stores *out. */
static bool augment(Interp *in, Node *n, Value cur, Value v, bool outer, Value *out, bool *done,
                    LangError *e) {
    *done = true;
    in->at = n;
    if (has_identity(cur)) { /* replaces the value, keeps the identity, records nothing */
        if (at_node(in, n, tensor_augment(in, cur.tensor, n->tok, v, e), e)) return true;
        return v.kind == V_NONE && !e->hint[0] ? hint_none(n->kid[1], e) : false;
    }
    if (cur.kind == V_LIST && n->tok == O_ADD) return extend(in, n, cur.list, v, e);
    if (cur.kind == V_OBJECT && n->tok == O_ADD && object_items(cur.obj))
        return object_extend(in, n, cur.obj, v, e);
    if (outer) return outer_error(in, n, n->kid[0]->str, e);
    *done = false;
    TRY(operate_binary(in, n, n->tok, cur, v, out, e));
    if (cur.kind != V_TENSOR || out->kind != V_TENSOR) return true;
    in->at = n;
    if (tensor_keeps_kind(cur.tensor, out->tensor, e) &&
        (n->tok == O_MATMUL || tensor_keeps_shape(cur.tensor, out->tensor, e))) /* @= may reshape */
        return true;
    error_locate(e, node_span(in, n));
    value_drop(*out);
    return false;
}

OUTLINE static bool augment_place(Interp *in, Node *n, LangError *e) {
    Place p;
    Value cur = v_none(), v = v_none(), made;
    bool done = true, ok = place_open(in, n->kid[0], &p, e),
         param = ok && p.n->kind == N_INDEX && has_identity(p.base);
    in->no_grad_depth += param;
    ok = ok && place_get(in, &p, &cur, e);
    in->no_grad_depth -= param;
    ok = ok && eval(in, n->kid[1], &v, e);
    if (ok && param && !tensor_no_path(in, v, e)) {
        error_locate(e, node_span(in, n));
        ok = false;
    }
    in->no_grad_depth += param;
    if (ok && p.n->kind == N_FIELD && has_identity(p.base) && !strcmp(p.n->str, "data") &&
        (v.kind == V_TENSOR || value_is_number(v))) {
        in->at = n;
        ok = at_node(in, n, tensor_augment_data(in, p.base.tensor, n->tok, v, e), e);
    } else if (ok) {
        ok = augment(in, n, cur, v, false, &made, &done, e);
    }
    in->no_grad_depth -= param;
    value_drop(cur);
    value_drop(v);
    if (ok && !done) ok = place_set(in, &p, made, e);
    place_close(&p);
    return ok;
}

bool exec_augassign(Interp *in, Node *n, LangError *e) {
    Node *target = n->kid[0];
    if (target->kind != N_NAME) return augment_place(in, n, e);
    Value cur, v, made;
    bool done;
    TRY(eval(in, target, &cur, e));
    if (!eval(in, n->kid[1], &v, e)) {
        value_drop(cur);
        return false;
    }
    bool ok = augment(in, n, cur, v, is_outer(in, target), &made, &done, e);
    if (ok && !done && (n->flag & NODE_UNREAD) && cur.kind == V_TENSOR) warn_unread(in, n, target);
    value_drop(cur);
    value_drop(v);
    if (ok && !done) return bind_name(in, target, target->str, made, e);
    return ok;
}

static bool del_one(Interp *in, Node *t, LangError *e) {
    Value base, sub[MAX_SUBS], old;
    int n_subs;
    if (t->kind == N_NAME) {
        TRY(eval(in, t, &base, e)); /* fails if the name has no value */
        value_drop(base);
        if (is_outer(in, t)) return outer_error(in, t, t->str, e);
        return bind_name(in, t, t->str, (Value){.kind = V_UNDEF}, e);
    }
    if (t->kind == N_LIST) {
        for (uint32_t i = 0; i < t->n_kids; i++) TRY(del_one(in, t->kid[i], e));
        return true;
    }
    if (t->kind != N_FIELD && t->kind != N_INDEX)
        return fail_at(in, t, e, "del takes names, elements and fields");
    TRY(eval(in, t->kid[0], &base, e));
    bool ok;
    if (t->kind == N_INDEX) {
        ok = eval_subs(in, t, sub, &n_subs, e);
        if (ok) ok = subscript_del(in, t, base, sub, n_subs, e);
        while (n_subs > 0) value_drop(sub[--n_subs]);
    } else if (base.kind == V_OBJECT || (base.kind == V_MAP && !base.map->is_space)) {
        MapV *m = base.kind == V_MAP ? base.map : base.obj->field;
        ok = mapv_remove(m, name_str(in, t->str), &old);
        if (ok)
            value_drop(old);
        else
            fail_at(in, t, e, "the %s has no field '%s'", value_type_name(base), t->str);
    } else {
        ok = fail_at(in, t, e, "fields of %s cannot be deleted", value_type_name(base));
    }
    value_drop(base);
    return ok;
}

bool exec_del(Interp *in, Node *n, LangError *e) {
    for (uint32_t i = 0; i < n->n_kids; i++) TRY(del_one(in, n->kid[i], e));
    return true;
}
