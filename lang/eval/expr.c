/* expr.c: evaluates expressions: names, literals, f-strings, comprehensions, and, or, not, if,
 * chains of comparisons, and the common cases of + - * < == and a[i]. Other operators are in
 * operate.c, calls in call.c, other subscripts in subscript.c. The result is a new reference.
 * Temporaries are released right after use, so that the `free` of their tensors is sent early.
 * SPDX-License-Identifier: MIT */
#include "lang/value/frame.h"
#include "lang/value/mapv.h"
#include "lang/text/pieces.h"
#include "lang/eval/eval.h"
#include "lang/eval/operate.h"
#include "lang/eval/subscript.h"
#include "lang/eval/assign.h"
#include "lang/eval/call.h"
#include "lang/eval/builtin.h"
#include "lang/eval/object.h"
#include "lang/eval/import.h"
#include "lang/error/habit.h"
#include "lang/tensor/tensor.h"
#include <string.h>

/* ---- names ---- */

static bool not_assigned(Interp *in, const Node *n, LangError *e) {
    fail_at(in, n, e, "'%s' has no value yet", n->str);
    return error_hint(e, "a name that a function assigns is local in the whole function");
}

/* True if name is a field or method of the object whose method is running. */
static bool is_of_self(const Frame *f, const char *name) {
    int slot = f ? f->fn->self_slot : -1;
    if (slot < 0) return false;
    Value self = f->fn->slot_is_cell[slot] ? f->slot[slot].cell->v : f->slot[slot];
    return self.kind == V_OBJECT && (object_find(self.obj, name) || object_method(self.obj, name));
}

/* True if a dot follows the name, as in model.train(). */
static bool is_field_base(const Node *n) {
    size_t len;
    Span more = n->at;
    more.len++;
    const char *s = span_text(more, &len);
    return s && len == more.len && s[len - 1] == '.';
}

static bool not_defined(Interp *in, const Node *n, LangError *e) {
    fail_at(in, n, e, "'%s' is not defined", n->str);
    if (n->str == in->refused)
        return error_hint(e, "the definition of %s failed above: enter all of it again", n->str);
    if (habit_path(n->at, builtin_habits(in), e)) return false;
    const char *habit = is_field_base(n) && strcmp(n->str, "np") ? habit_import(n->str) : NULL;
    if (!habit) habit = habit_hint(n->str, strlen(n->str)); /* null, np, torch ... */
    if (habit) return error_hint(e, "%s", habit);
    NameList names = {0};
    const Frame *f = in->frame;
    const char *space = space_with(in, n->str); /* Linear, Adam, StepLR */
    if (space) return error_label(e, e->at, "did you mean '%s.%s'?", space, n->str);
    if (is_of_self(f, n->str)) return error_hint(e, "self.%s", n->str);
    for (const AstFn *a = f ? f->fn : NULL; a; a = a->outer) /* and the functions around it */
        for (int i = 0; a->slot_name && i < a->n_slots; i++)
            if (a->slot_name[i]) names_add(&names, a->slot_name[i]);
    for (size_t i = 0; f && i < f->globals->n; i++)
        if (f->globals->var[i]->v.kind != V_UNDEF) names_add(&names, f->globals->var[i]->name);
    const char *near = nearest_name(n->str, strlen(n->str), names.name, names.n);
    if (!near && habit_name(n->str, NULL, n->at, builtin_habits(in), e)) {
        names_fini(&names);
        return false;
    }
    if (!is_field_base(n)) names_of_builtins(in, &names); /* functions have no fields */
    near = nearest_name(n->str, strlen(n->str), names.name, names.n);
    if (near) error_label(e, e->at, "did you mean '%s'?", near);
    names_fini(&names);
    return false;
}

static GlobalVar *global_of(Interp *in, Node *n, const char *name) {
    if (!n->cache) n->cache = globals_var(in->frame->globals, name);
    return n->cache;
}

OUTLINE static bool eval_global(Interp *in, Node *n, Value *out, LangError *e) {
    GlobalVar *g = global_of(in, n, n->str);
    if (g->v.kind != V_UNDEF) {
        *out = value_ref(g->v);
        return true;
    }
    if (g->builtin.kind == V_UNDEF) {
        in->at = n;
        TRY(builtin_value(in, n->str, &g->builtin, e));
        if (g->builtin.kind == V_UNDEF) return not_defined(in, n, e);
    }
    *out = value_ref(g->builtin);
    return true;
}

static inline bool eval_name(Interp *in, Node *n, Value *out, LangError *e) {
    Value v;
    switch (n->scope) {
    case SCOPE_LOCAL: v = in->frame->slot[n->slot]; break;
    case SCOPE_CELL: v = in->frame->slot[n->slot].cell->v; break;
    case SCOPE_OUTER: v = in->frame->callee->cell[n->slot]->v; break;
    default: return eval_global(in, n, out, e);
    }
    if (v.kind == V_UNDEF) return not_assigned(in, n, e);
    *out = value_ref(v);
    return true;
}

/* ---- literals ---- */

OUTLINE static Value string_constant(Interp *in, Node *n) {
    if (!n->cache) {
        Value v = v_str(n->str, n->n_str);
        keep_value(in, v);
        n->cache = v.str;
    }
    return value_ref((Value){.kind = V_STR, .str = n->cache});
}

/* Puts v into a list or a set under construction; consumes v. */
static bool put_element(Interp *in, const Node *n, Value to, Value v, LangError *e) {
    if (to.kind == V_LIST) {
        list_push(to.list, v);
        return true;
    }
    Value key;
    bool ok = value_key(in, v, &key, e);
    value_drop(v);
    if (ok) mapv_put(to.map, key, v_none());
    return at_node(in, n, ok, e);
}

/* Puts all elements of xs into `to`, for *xs. */
static bool put_spread(Interp *in, Node *n, Value to, LangError *e) {
    Value over, v;
    Iter it;
    int more = 0;
    TRY(eval(in, n->kid[0], &over, e));
    in->at = n;
    bool ok = iter_open(in, n->kid[0], over, &it, e);
    value_drop(over);
    TRY(ok);
    while (ok && (more = iter_next(in, &it, &v, e)) > 0)
        ok = put_element(in, n, to, v, e) && eval_safepoint(in, e);
    iter_close(in, &it);
    if (more < 0) error_locate(e, node_span(in, n));
    return ok && more == 0;
}

OUTLINE static bool eval_list(Interp *in, Node *n, Value *out, LangError *e) {
    Value l = n->kind == N_LIST ? v_list(in, n->n_kids) : v_set(in), v;
    for (uint32_t i = 0; i < n->n_kids; i++) {
        Node *kid = n->kid[i];
        if (kid->kind == N_STAR ? !put_spread(in, kid, l, e)
                                : !eval(in, kid, &v, e) || !put_element(in, kid, l, v, e)) {
            value_drop(l);
            return false;
        }
    }
    *out = l;
    return true;
}

/* Consumes key and v. */
static bool put_pair(Interp *in, const Node *n, MapV *m, Value key, Value v, LangError *e) {
    Value found;
    bool ok = value_key(in, key, &found, e);
    value_drop(key);
    if (ok) {
        mapv_put(m, found, v);
        return true;
    }
    value_drop(v);
    return error_locate(e, node_span(in, n));
}

/* Puts all keys of a map into m, for **other. Later keys overwrite earlier ones. */
static bool put_map(Interp *in, Node *n, MapV *m, LangError *e) {
    Value other, k, v;
    TRY(eval(in, n->kid[0], &other, e));
    bool ok = other.kind == V_MAP && !other.map->is_space;
    for (size_t i = 0; ok && mapv_at(other.map, i, &k, &v); i++)
        mapv_put(m, value_ref(k), value_ref(v));
    if (!ok) fail_at(in, n, e, "** spreads a map, not %s", value_type_name(other));
    value_drop(other);
    return ok;
}

OUTLINE static bool eval_map(Interp *in, Node *n, Value *out, LangError *e) {
    Value m = v_map(in);
    for (uint32_t i = 0; i + 1 < n->n_kids; i += 2) {
        Value k, v;
        bool is_spread = n->kid[i]->kind == N_MAPSTAR;
        bool ok = is_spread ? put_map(in, n->kid[i], m.map, e) : eval(in, n->kid[i], &k, e);
        if (ok && !is_spread && !(ok = eval(in, n->kid[i + 1], &v, e))) value_drop(k);
        if (ok && !is_spread) ok = put_pair(in, n->kid[i], m.map, k, v, e);
        if (!ok) {
            value_drop(m);
            return false;
        }
    }
    *out = m;
    return true;
}

/* ---- comprehensions ---- */

/* Unbinds the variables of a finished comprehension and drops their values. */
static void forget(Interp *in, const Node *target) {
    if (target->kind == N_LIST) {
        for (uint32_t i = 0; i < target->n_kids; i++) forget(in, target->kid[i]);
        return;
    }
    Value *slot = &in->frame->slot[target->slot];
    if (target->scope == SCOPE_CELL) {
        Cell *c = container_new(in, V_CELL, sizeof *c);
        c->v.kind = V_UNDEF;
        value_set(slot, (Value){.kind = V_CELL, .cell = c});
    } else {
        value_set(slot, (Value){.kind = V_UNDEF});
    }
}

static bool comp_element(Interp *in, Node *n, Value result, LangError *e) {
    Value k, v;
    TRY(eval(in, n->kid[0], &k, e));
    if (n->kind != N_MAPCOMP) return put_element(in, n->kid[0], result, k, e);
    if (!eval(in, n->kid[1], &v, e)) {
        value_drop(k);
        return false;
    }
    return put_pair(in, n->kid[0], result.map, k, v, e);
}

/* Runs the loop whose target is kid[k], and those inside it. The parser limits the nesting. */
static bool comp_loop(Interp *in, Node *n, uint32_t k, Value result, LangError *e) {
    if (k == n->n_kids) return comp_element(in, n, result, e);
    Node *target = n->kid[k], *over_node = n->kid[k + 1], *condition = n->kid[k + 2];
    Value over, v;
    TRY(eval(in, over_node, &over, e));
    Iter it;
    in->at = over_node;
    bool ok = iter_open(in, over_node, over, &it, e);
    value_drop(over);
    TRY(ok);
    int more = 0;
    while (ok && (in->at = n, more = iter_next(in, &it, &v, e)) > 0) {
        bool keep = true;
        ok = assign(in, target, v, true, e);
        if (ok && condition) {
            ok = eval(in, condition, &v, e);
            if (ok) {
                ok = truth_at(in, condition, "if", v, &keep, e);
                value_drop(v);
            }
        }
        if (ok && keep) ok = comp_loop(in, n, k + 3, result, e);
        ok = ok && eval_safepoint(in, e);
    }
    if (!ok || more < 0) error_locate(e, node_span(in, n));
    iter_close(in, &it);
    forget(in, target);
    return ok && more == 0;
}

OUTLINE static bool eval_comprehension(Interp *in, Node *n, Value *out, LangError *e) {
    Value result = n->kind == N_LISTCOMP  ? v_list(in, 0)
                   : n->kind == N_SETCOMP ? v_set(in)
                                          : v_map(in);
    bool ok = comp_loop(in, n, n->kind == N_MAPCOMP ? 2 : 1, result, e);
    if (ok)
        *out = result;
    else
        value_drop(result);
    return ok;
}

/* ---- f-strings ---- */

static bool eval_format(Interp *in, Node *n, Pieces *p, LangError *e) {
    Value v, spec = v_none();
    TRY(eval(in, n->kid[0], &v, e));
    bool ok = true;
    if (n->n_kids > 1 && n->kid[1]) {
        ok = eval(in, n->kid[1], &spec, e);
        if (ok && spec.kind == V_TEXT) {
            Value look;
            ok = value_look(in, spec, &look, e);
            value_drop(spec);
            spec = ok ? look : v_none();
        }
    }
    in->at = n->kid[0];
    if (ok && n->n_str) pieces_text(p, n->str, n->n_str);
    bool has_spec = spec.kind == V_STR && spec.str->n;
    bool is_repr = n->flag == FORMAT_REPR || (n->n_str && !has_spec && n->flag != FORMAT_STR);
    ok = ok && pieces_format(in, p, v, has_spec ? spec.str->s : "", has_spec ? spec.str->n : 0,
                             is_repr, e);
    if (!ok) error_locate(e, node_span(in, n->kid[0]));
    value_drop(v);
    value_drop(spec);
    return ok;
}

OUTLINE static bool eval_fstring(Interp *in, Node *n, Value *out, LangError *e) {
    Pieces p = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->n_kids; i++) {
        Node *k = n->kid[i];
        if (k->kind == N_FORMAT)
            ok = eval_format(in, k, &p, e);
        else
            pieces_text(&p, k->str, k->n_str);
    }
    return give_pieces(ok, &p, out);
}

/* ---- operators ---- */

OUTLINE static bool eval_logic(Interp *in, Node *n, Value *out, LangError *e) {
    Value v;
    bool truth;
    TRY(eval(in, n->kid[0], &v, e));
    const char *word = n->kind == N_AND ? "and" : "or";
    if (!truth_at(in, n->kid[0], word, v, &truth, e)) {
        bool is_wide = v.kind == V_TENSOR && type_numel(tensor_type(v.tensor)) != 1;
        value_drop(v);
        char a[80], b[80];
        if (is_wide) {
            node_text(n->kid[0], a);
            node_text(n->kid[1], b);
            const char *op = n->kind == N_AND ? "&" : "|", *fold = n->kind == N_AND ? "all" : "any";
            error_hint(e, "elementwise: (%s) %s (%s); one answer: %s((%s) %s (%s))", a, op, b, fold,
                       a, op, b);
        }
        return false;
    }
    if (truth == (n->kind == N_OR)) {
        *out = v;
        return true;
    }
    value_drop(v);
    return eval(in, n->kid[1], out, e);
}

OUTLINE static bool eval_binary(Interp *in, Node *n, Value *out, LangError *e) {
    Value a, b;
    TRY(eval(in, n->kid[0], &a, e));
    if (!eval(in, n->kid[1], &b, e)) {
        value_drop(a);
        return false;
    }
    if (a.kind == V_INT && b.kind == V_INT) {
        int64_t r;
        switch (n->tok) {
        case O_ADD:
            if (!__builtin_add_overflow(a.i, b.i, &r)) {
                *out = v_int(r);
                return true;
            }
            break;
        case O_SUB:
            if (!__builtin_sub_overflow(a.i, b.i, &r)) {
                *out = v_int(r);
                return true;
            }
            break;
        case O_MUL:
            if (!__builtin_mul_overflow(a.i, b.i, &r)) {
                *out = v_int(r);
                return true;
            }
            break;
        case O_LT: *out = v_bool(a.i < b.i); return true;
        case O_EQ: *out = v_bool(a.i == b.i); return true;
        default: break;
        }
    }
    in->at = n;
    bool ok = operate_binary(in, n, n->tok, a, b, out, e);
    value_drop(a);
    value_drop(b);
    return ok;
}

/* Fails for a chain of comparisons over tensors: `and` between its links needs single values. */
static bool wide_chain(Interp *in, const Node *n, uint32_t k, Value r, LangError *e) {
    char a[80], b[80], shape[256];
    fail_at(in, n->link[k], e, "a chain of comparisons needs single values, but '%s' has shape %s",
            node_text(n->link[k], a), type_shape_text(tensor_type(r.tensor), shape));
    return error_hint(e, "elementwise: (%s) & (%s)", a, node_text(n->link[k + 1], b));
}

/* a < b < c is a < b and b < c, with b evaluated once. */
OUTLINE static bool eval_chain(Interp *in, Node *n, Value *out, LangError *e) {
    Value a, b, r;
    TRY(eval(in, n->kid[0], &a, e));
    for (uint32_t k = 0;; k++) {
        Node *link = n->link[k];
        bool is_last = k + 2 == n->n_kids, go = false, ok = eval(in, n->kid[k + 1], &b, e);
        if (ok) {
            in->at = link;
            ok = operate_binary(in, link, link->tok, a, b, &r, e);
            if (!ok) value_drop(b);
        }
        value_drop(a);
        TRY(ok);
        if (!is_last && r.kind == V_TENSOR && type_numel(tensor_type(r.tensor)) != 1)
            ok = wide_chain(in, n, k, r, e);
        else if (!is_last)
            ok = truth_at(in, link, "and", r, &go, e);
        if (ok && go) {
            value_drop(r);
            a = b;
            continue;
        }
        value_drop(b);
        if (ok)
            *out = r;
        else
            value_drop(r);
        return ok;
    }
}

OUTLINE static bool eval_unary(Interp *in, Node *n, Value *out, LangError *e) {
    Value a;
    TRY(eval(in, n->kid[0], &a, e));
    in->at = n;
    bool ok;
    if (n->tok == O_NOT) {
        bool b;
        ok = truth_at(in, n->kid[0], "not", a, &b, e);
        if (ok)
            *out = v_bool(!b);
        else if (a.kind == V_TENSOR && type_numel(tensor_type(a.tensor)) != 1)
            error_hint(e, "elementwise: ~(x > 0); x == 0");
    } else {
        ok = operate_unary(in, n, n->tok, a, out, e);
    }
    value_drop(a);
    return ok;
}

OUTLINE static bool eval_if(Interp *in, Node *n, Value *out, LangError *e) {
    Value v;
    bool truth;
    TRY(eval(in, n->kid[1], &v, e));
    bool ok = truth_at(in, n->kid[1], "if", v, &truth, e);
    value_drop(v);
    TRY(ok);
    return eval(in, n->kid[truth ? 0 : 2], out, e);
}

OUTLINE static bool eval_index(Interp *in, Node *n, Value *out, LangError *e) {
    Value a, sub[MAX_SUBS];
    int n_subs;
    TRY(eval(in, n->kid[0], &a, e));
    if (!eval_subs(in, n, sub, &n_subs, e)) {
        value_drop(a);
        return false;
    }
    bool ok = true;
    if (a.kind == V_LIST && n_subs == 1 && sub[0].kind == V_INT && sub[0].i >= 0 &&
        sub[0].i < a.list->n) {
        *out = value_ref(a.list->v[sub[0].i]);
    } else {
        in->at = n;
        ok = subscript_get(in, n, a, sub, n_subs, out, e);
    }
    while (n_subs > 0) value_drop(sub[--n_subs]);
    value_drop(a);
    return ok;
}

bool eval(Interp *in, Node *n, Value *out, LangError *e) {
    switch (n->kind) {
    case N_NONE: *out = v_none(); return true;
    case N_TRUE: *out = v_bool(true); return true;
    case N_FALSE: *out = v_bool(false); return true;
    case N_INT: *out = v_int(n->i); return true;
    case N_FLOAT: *out = v_float(n->f); return true;
    case N_STRING: *out = string_constant(in, n); return true;
    case N_FSTRING: return eval_fstring(in, n, out, e);
    case N_NAME: return eval_name(in, n, out, e);
    case N_LIST:
    case N_SET: return eval_list(in, n, out, e);
    case N_MAP: return eval_map(in, n, out, e);
    case N_LISTCOMP:
    case N_SETCOMP:
    case N_MAPCOMP: return eval_comprehension(in, n, out, e);
    case N_FN: *out = (Value){.kind = V_FN, .fn = fn_new(in, n->fn)}; return true;
    case N_UNARY: return eval_unary(in, n, out, e);
    case N_BINARY: return eval_binary(in, n, out, e);
    case N_CHAIN: return eval_chain(in, n, out, e);
    case N_AND:
    case N_OR: return eval_logic(in, n, out, e);
    case N_IF_EXPR: return eval_if(in, n, out, e);
    case N_CALL: return eval_call(in, n, out, e);
    case N_INDEX: return eval_index(in, n, out, e);
    case N_FIELD: return eval_field(in, n, out, e);
    default: return fail_at(in, n, e, "this is not an expression");
    }
}
