/* operate.c: operators on host values. Ints are checked for overflow and division by zero. Floats
 * follow IEEE except for division by zero. Comparisons of an int with a float are exact. If either
 * side is a tensor, tensor_binary computes the result.
 * SPDX-License-Identifier: MIT */
#include "lang/value/mapv.h"
#include "lang/value/frame.h"
#include "lang/eval/call.h"
#include "lang/text/pieces.h"
#include "lang/eval/eval.h"
#include "lang/eval/operate.h"
#include "lang/eval/object.h"
#include "lang/eval/subscript.h"
#include "lang/tensor/tensor.h"
#include <math.h>
#include <string.h>

enum { REPEAT_MAX = 1 << 28 }; /* limit of the result of `*`, in elements or bytes */

/* ---- numbers ---- */

static bool overflow(Interp *in, const Node *n, int oper, int64_t a, int64_t b, LangError *e) {
    fail_at(in, n, e, "int overflow: %lld %s %lld does not fit 64 bits", (long long)a,
            oper_text[oper], (long long)b);
    if (oper == O_SHL)
        return error_hint(e, "use floats: %lld * 2.0 ** %lld", (long long)a, (long long)b);
    return error_hint(e, "use floats: float(%lld) %s %lld", (long long)a, oper_text[oper],
                      (long long)b);
}

static bool by_zero(Interp *in, const Node *n, int oper, LangError *e) {
    return fail_at(in, n, e,
                   oper == O_MOD ? "remainder of a division by zero" : "division by zero");
}

static bool int_pow(Interp *in, const Node *n, int64_t a, int64_t b, Value *out, LangError *e) {
    if (b < 0) {
        if (a == 0) return by_zero(in, n, O_POW, e);
        *out = v_float(pow((double)a, (double)b));
        return true;
    }
    int64_t r = 1, base = a;
    for (int64_t k = b; k > 0; k >>= 1) {
        if ((k & 1) && __builtin_mul_overflow(r, base, &r)) return overflow(in, n, O_POW, a, b, e);
        if (k > 1 && __builtin_mul_overflow(base, base, &base))
            return overflow(in, n, O_POW, a, b, e);
    }
    *out = v_int(r);
    return true;
}

static bool int_shift(Interp *in, const Node *n, int oper, int64_t a, int64_t b, Value *out,
                      LangError *e) {
    if (b < 0) return fail_at(in, n, e, "'%s' by a negative number", oper_text[oper]);
    if (oper == O_SHR) return *out = v_int(a >> (b < 63 ? b : 63)), true;
    int64_t r = b < 64 ? (int64_t)((uint64_t)a << b) : 0;
    if (a && (b > 63 || r >> b != a)) return overflow(in, n, oper, a, b, e);
    return *out = v_int(r), true;
}

static bool int_binary(Interp *in, const Node *n, int oper, int64_t a, int64_t b, Value *out,
                       LangError *e) {
    int64_t r;
    switch (oper) {
    case O_ADD:
        if (__builtin_add_overflow(a, b, &r)) return overflow(in, n, oper, a, b, e);
        break;
    case O_SUB:
        if (__builtin_sub_overflow(a, b, &r)) return overflow(in, n, oper, a, b, e);
        break;
    case O_MUL:
        if (__builtin_mul_overflow(a, b, &r)) return overflow(in, n, oper, a, b, e);
        break;
    case O_DIV:
        if (b == 0) return by_zero(in, n, oper, e);
        *out = v_float((double)a / (double)b);
        return true;
    case O_FLOORDIV:
        if (b == 0) return by_zero(in, n, oper, e);
        if (b == -1) {
            if (a == INT64_MIN) return overflow(in, n, oper, a, b, e);
            r = -a;
        } else {
            r = a / b - (a % b != 0 && (a < 0) != (b < 0));
        }
        break;
    case O_MOD:
        if (b == 0) return by_zero(in, n, oper, e);
        r = b == -1 ? 0 : a % b;
        if (r != 0 && (r < 0) != (b < 0)) r += b;
        break;
    case O_POW: return int_pow(in, n, a, b, out, e);
    case O_BITAND: r = a & b; break;
    case O_BITOR: r = a | b; break;
    case O_BITXOR: r = a ^ b; break;
    case O_SHL:
    case O_SHR: return int_shift(in, n, oper, a, b, out, e);
    default: return fail_at(in, n, e, "'%s' needs tensors, not int and int", oper_text[oper]);
    }
    *out = v_int(r);
    return true;
}

static double float_mod(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r == 0 ? copysign(0, b) : r;
}

static bool float_binary(Interp *in, const Node *n, int oper, double a, double b, Value *out,
                         LangError *e) {
    double r;
    if ((oper == O_DIV || oper == O_FLOORDIV || oper == O_MOD) && b == 0)
        return by_zero(in, n, oper, e);
    switch (oper) {
    case O_ADD: r = a + b; break;
    case O_SUB: r = a - b; break;
    case O_MUL: r = a * b; break;
    case O_DIV: r = a / b; break;
    case O_FLOORDIV:
        r = round((a - float_mod(a, b)) / b);
        break; /* exact even if a / b would round up */
    case O_MOD: r = float_mod(a, b); break;
    case O_POW:
        if (a == 0 && b < 0) return by_zero(in, n, oper, e);
        r = pow(a, b);
        break;
    default:
        return fail_at(in, n, e, "'%s' needs %s, not floats", oper_text[oper],
                       oper == O_MATMUL ? "tensors" : "ints or bools");
    }
    *out = v_float(r);
    return true;
}

/* ---- sequences ---- */

static bool str_concat(Interp *in, const Node *n, Value a, Value b, Value *out, LangError *e) {
    if (a.kind == V_STR && b.kind == V_STR) {
        if ((uint64_t)a.str->n + b.str->n > REPEAT_MAX * 4ull)
            return fail_at(in, n, e, "the string would be longer than 1 GiB");
        *out = v_str(NULL, (size_t)a.str->n + b.str->n);
        memcpy(out->str->s, a.str->s, a.str->n);
        memcpy(out->str->s + a.str->n, b.str->s, b.str->n);
        return true;
    }
    Pieces p = {0};
    bool ok = pieces_value(in, &p, a, false, e) && pieces_value(in, &p, b, false, e);
    return give_pieces(ok, &p, out);
}

static Value list_concat(Interp *in, Value a, Value b) {
    int64_t na = sequence_count(a), nb = sequence_count(b);
    Value out = v_list(in, (size_t)(na + nb));
    for (int64_t i = 0; i < na && !interrupt_count; i++) list_push(out.list, sequence_at(a, i));
    for (int64_t i = 0; i < nb && !interrupt_count; i++) list_push(out.list, sequence_at(b, i));
    return out;
}

static bool repeat(Interp *in, const Node *n, Value a, int64_t times, Value *out, LangError *e) {
    Value s = v_none();
    if (a.kind == V_TEXT)
        TRY(value_look(in, a, &s, e));
    else
        s = value_ref(a);
    int64_t size = s.kind == V_STR ? s.str->n : sequence_count(s);
    if (times < 0) times = 0;
    if (size && times > REPEAT_MAX / size) {
        value_drop(s);
        fail_at(in, n, e, "the %s would have more than %d elements", value_type_name(a),
                REPEAT_MAX);
        return error_hint(e, "for numbers use a tensor: zeros(n), full((n,), v)");
    }
    if (s.kind == V_STR) {
        *out = v_str(NULL, (size_t)(size * times));
        for (int64_t i = 0; i < times && !interrupt_count; i++)
            memcpy(out->str->s + i * size, s.str->s, (size_t)size);
    } else {
        *out = v_list(in, (size_t)(size * times));
        for (int64_t i = 0; i < times && !interrupt_count; i++)
            for (int64_t j = 0; j < size && !interrupt_count; j++)
                list_push(out->list, sequence_at(s, j));
    }
    value_drop(s);
    return give_if(not_interrupted(e), *out, out);
}

static bool is_text(Value v) { return v.kind == V_STR || v.kind == V_TEXT; }

/* ---- operators that a module defines ---- */

static const char *const method_name[][2] = {
    [O_ADD] = {"__add__", "__radd__"},
    [O_SUB] = {"__sub__", "__rsub__"},
    [O_MUL] = {"__mul__", "__rmul__"},
    [O_DIV] = {"__truediv__", "__rtruediv__"},
    [O_FLOORDIV] = {"__floordiv__", "__rfloordiv__"},
    [O_MOD] = {"__mod__", "__rmod__"},
    [O_POW] = {"__pow__", "__rpow__"},
    [O_MATMUL] = {"__matmul__", "__rmatmul__"},
    [O_BITAND] = {"__and__", "__rand__"},
    [O_BITOR] = {"__or__", "__ror__"},
    [O_BITXOR] = {"__xor__", "__rxor__"},
    [O_EQ] = {"__eq__", "__eq__"},
    [O_NE] = {"__ne__", "__ne__"},
    [O_LT] = {"__lt__", "__gt__"},
    [O_LE] = {"__le__", "__ge__"},
    [O_GT] = {"__gt__", "__lt__"},
    [O_GE] = {"__ge__", "__le__"},
    [O_IN] = {NULL, "__contains__"},
    [O_NEG] = {"__neg__", NULL},
    [O_POS] = {"__pos__", NULL},
    [O_INVERT] = {"__invert__", NULL},
};

static Fn *operator_of(Value v, int oper, int side) {
    bool has_name = (size_t)oper < sizeof method_name / sizeof *method_name;
    const char *name = has_name ? method_name[oper][side] : NULL;
    return v.kind == V_OBJECT && name ? object_method(v.obj, intern(name, strlen(name))) : NULL;
}

/* a oper b by an operator method of either; *found is false if neither has one. b is NULL for a
 * unary operator. */
static bool object_operate(Interp *in, int oper, const Value *a, const Value *b, Value *out,
                           bool *found, LangError *e) {
    Fn *f = operator_of(*a, oper, 0);
    const Value *self = a, *arg = b;
    if (!f && b && (f = operator_of(*b, oper, 1))) self = b, arg = a;
    *found = f != NULL;
    if (!f) return true;
    TRY(stack_room(in, 1, e));
    Value *base = in->stack->top;
    const Node *at = in->at;
    Value keep = value_ref(*self);
    if (arg) *in->stack->top++ = value_ref(*arg);
    bool ok = fn_call(in, f, keep, base, arg != NULL, 0, NULL, out, e);
    value_drop(keep);
    in->at = at;
    return ok;
}

/* The same for two operands. If neither has a method for != or `not in`, the result of == or
 * `in` is negated. */
static bool object_binary(Interp *in, int oper, Value a, Value b, Value *out, bool *found,
                          LangError *e) {
    bool truth = false;
    TRY(object_operate(in, oper, &a, &b, out, found, e));
    if (*found || (oper != O_NE && oper != O_NOT_IN)) return true;
    Value r;
    TRY(object_operate(in, oper == O_NE ? O_EQ : O_IN, &a, &b, &r, found, e));
    if (!*found) return true;
    bool ok = value_truth(in, r, &truth, e);
    value_drop(r);
    *out = v_bool(!truth);
    return ok;
}

/* ---- comparing ---- */

/* Sets *c to -1, 0 or 1, or to 2 if a nan, which has no order, is involved. So do the functions
 * below. */
static bool compare(Interp *in, Value a, Value b, int depth, int *c, LangError *e);

static bool compare_texts(Interp *in, Value a, Value b, int *c, LangError *e) {
    Value s, t;
    TRY(value_look(in, a, &s, e));
    if (!value_look(in, b, &t, e)) {
        value_drop(s);
        return false;
    }
    uint32_t n = s.str->n < t.str->n ? s.str->n : t.str->n;
    int r = memcmp(s.str->s, t.str->s, n);
    *c = r ? (r > 0) - (r < 0) : (s.str->n > t.str->n) - (s.str->n < t.str->n);
    bool ok = value_is_whole(s, e) && value_is_whole(t, e);
    value_drop(s);
    value_drop(t);
    return ok;
}

static bool compare_sequences(Interp *in, Value a, Value b, int depth, int *c, LangError *e) {
    int64_t na = sequence_count(a), nb = sequence_count(b);
    for (int64_t i = 0; i < na && i < nb; i++) {
        Value x = sequence_at(a, i), y = sequence_at(b, i);
        bool same, ok = value_equal_until(x, y, &same, e);
        if (ok && !same) ok = compare(in, x, y, depth + 1, c, e);
        value_drop(x);
        value_drop(y);
        TRY(ok);
        if (!same) return true;
    }
    *c = (na > nb) - (na < nb);
    return true;
}

/* Compares tensors of one element by that element. Only one of a and b must be a tensor. */
static bool compare_items(Interp *in, Value a, Value b, int depth, int *c, LangError *e) {
    Value la = a.kind == V_TENSOR ? v_none() : value_ref(a);
    Value lb = b.kind == V_TENSOR ? v_none() : value_ref(b);
    bool ok = (a.kind != V_TENSOR || tensor_item(in, a.tensor, &la, e)) &&
              (b.kind != V_TENSOR || tensor_item(in, b.tensor, &lb, e)) &&
              compare(in, la, lb, depth + 1, c, e);
    value_drop(la);
    value_drop(lb);
    return ok;
}

static bool compare(Interp *in, Value a, Value b, int depth, int *c, LangError *e) {
    TRY(not_interrupted(e));
    if (value_is_number(a) && value_is_number(b)) {
        *c = number_compare(a, b);
        return true;
    }
    if (is_text(a) && is_text(b)) return compare_texts(in, a, b, c, e);
    if (is_sequence(a) && is_sequence(b) && depth < 100)
        return compare_sequences(in, a, b, depth, c, e);
    if (a.kind == V_TENSOR || b.kind == V_TENSOR) return compare_items(in, a, b, depth, c, e);
    if (a.kind == V_OBJECT || b.kind == V_OBJECT) {
        bool found, less = false;
        Value r;
        TRY(object_operate(in, O_LT, &a, &b, &r, &found, e));
        bool ok = !found || value_truth(in, r, &less, e);
        if (found) value_drop(r);
        *c = less ? -1 : 1;
        if (found) return ok;
    }
    return error_set(e, "cannot order %s and %s", value_type_name(a), value_type_name(b));
}

bool value_less(Interp *in, Value a, Value b, bool *out, LangError *e) {
    int c = 0;
    TRY(compare(in, a, b, 0, &c, e));
    *out = c == -1;
    return true;
}

static bool text_contains(Interp *in, Value container, Value v, bool *out, LangError *e) {
    if (!is_text(v))
        return error_set(e, "'in' a string needs a string, not %s", value_type_name(v));
    Value s, t;
    TRY(value_look(in, container, &s, e));
    if (!value_look(in, v, &t, e)) {
        value_drop(s);
        return false;
    }
    *out = t.str->n == 0 || memmem(s.str->s, s.str->n, t.str->s, t.str->n) != NULL;
    value_drop(s);
    value_drop(t);
    return true;
}

static bool key_contains(Interp *in, const MapV *m, Value v, bool *out, LangError *e) {
    Value look = v_none();
    bool is_made = v.kind == V_TEXT || v.kind == V_LIST;
    if (is_made) TRY(value_key(in, v, &look, e));
    *out = map_find(m, is_made ? look : v) != NULL;
    value_drop(look);
    return true;
}

static bool value_contains(Interp *in, Value container, Value v, bool *out, LangError *e) {
    *out = false;
    switch (container.kind) {
    case V_STR:
    case V_TEXT: return text_contains(in, container, v, out, e);
    case V_SET:
    case V_MAP: return key_contains(in, container.map, v, out, e);
    case V_RANGE: {
        Range *r = container.range;
        if (v.kind == V_FLOAT && v.f == floor(v.f) && fabs(v.f) < 0x1p62) v = v_int((int64_t)v.f);
        if (v.kind == V_BOOL) v = v_int(v.b);
        if (v.kind != V_INT) return true;
        bool inside =
            r->step > 0 ? v.i >= r->start && v.i < r->stop : v.i <= r->start && v.i > r->stop;
        uint64_t gap =
            r->step > 0 ? (uint64_t)v.i - (uint64_t)r->start : (uint64_t)r->start - (uint64_t)v.i;
        *out = inside && gap % (r->step > 0 ? (uint64_t)r->step : 0 - (uint64_t)r->step) == 0;
        return true;
    }
    case V_LIST:
        for (uint32_t i = 0; i < container.list->n && !*out; i++)
            TRY(value_equal_until(container.list->v[i], v, out, e));
        return true;
    case V_OBJECT: {
        const Value *items = object_items(container.obj);
        if (items && items->kind == V_MAP && !object_gives_keys(container.obj)) {
            Value all = object_elements(in, container.obj);
            bool ok = value_contains(in, all, v, out, e);
            value_drop(all);
            return ok;
        }
        if (items) return value_contains(in, *items, v, out, e);
        *out = v.kind == V_STR && map_find(container.obj->field, v) != NULL;
        return true;
    }
    case V_TENSOR:
        error_set(e, "'in' does not look into tensors");
        return error_hint(e, "(x == v).any()");
    default:
        return error_set(e, "'in' needs a string, list or map on the right, not %s",
                         value_type_name(container));
    }
}

/* ---- sets ---- */

bool set_of(Interp *in, Value xs, Value *out, LangError *e) {
    Iter it;
    if (xs.kind == V_RANGE && range_count(xs.range) > REPEAT_MAX)
        return error_set(e, "the set would have more than %d elements", REPEAT_MAX);
    Value s = v_set(in), v, key;
    int more = 0;
    bool ok = xs.kind == V_NONE || iter_open(in, NULL, xs, &it, e);
    while (ok && xs.kind != V_NONE && (more = iter_next(in, &it, &v, e)) > 0) {
        ok = value_key(in, v, &key, e);
        value_drop(v);
        if (ok) mapv_put(s.map, key, v_none());
    }
    if (xs.kind != V_NONE && it.over.kind != V_NONE) iter_close(in, &it);
    if (ok && more == 0)
        *out = s;
    else
        value_drop(s);
    return ok && more == 0;
}

static bool is_subset(const MapV *a, const MapV *b) {
    Value k, v;
    for (size_t i = 0; mapv_at(a, i, &k, &v); i++)
        if (!map_find(b, k)) return false;
    return true;
}

/* Puts the elements of a that are in b (in_b) or not in b into s. */
static void take(MapV *s, const MapV *a, const MapV *b, bool in_b) {
    Value k, v;
    for (size_t i = 0; mapv_at(a, i, &k, &v); i++)
        if ((map_find(b, k) != NULL) == in_b) mapv_put(s, value_ref(k), v_none());
}

bool set_binary(Interp *in, int oper, Value a, Value b, Value *out, LangError *e) {
    size_t na = map_count(a.map), nb = map_count(b.map);
    switch (oper) {
    case O_LT: *out = v_bool(na < nb && is_subset(a.map, b.map)); return true;
    case O_LE: *out = v_bool(is_subset(a.map, b.map)); return true;
    case O_GT: *out = v_bool(na > nb && is_subset(b.map, a.map)); return true;
    case O_GE: *out = v_bool(is_subset(b.map, a.map)); return true;
    case O_BITOR:
    case O_BITAND:
    case O_BITXOR:
    case O_SUB: break;
    default:
        error_set(e, "'%s' does not work on sets", oper_text[oper]);
        return error_hint(e, "s | t is both, s & t what they share, s - t what t lacks");
    }
    *out = v_set(in);
    if (oper == O_BITOR) take(out->map, a.map, a.map, true);
    if (oper == O_BITOR) take(out->map, b.map, b.map, true);
    if (oper == O_BITAND) take(out->map, a.map, b.map, true);
    if (oper == O_SUB || oper == O_BITXOR) take(out->map, a.map, b.map, false);
    if (oper == O_BITXOR) take(out->map, b.map, a.map, false);
    return true;
}

/* ---- dispatch ---- */

bool hint_none(const Node *n, LangError *e) {
    char quote[80];
    bool is_ours = n->at.src && n->at.src->is_prelude;
    if (n->kind == N_FIELD && !strcmp(n->str, "grad"))
        error_hint(e, "%s is none until backward has run", node_text(n, quote));
    else if (n->kind != N_NONE && !is_ours)
        error_hint(e, "a function without return gives none");
    return false;
}

bool hint_uncalled(const Node *n, LangError *e) {
    char quote[80];
    if (n->kind == N_FIELD && !strcmp(n->str, "size")) /* NumPy's x.size */
        return error_hint(e, "%s.numel()", node_text(n->kid[0], quote));
    if (n->kind == N_FIELD || n->kind == N_NAME)
        return error_hint(e, "call it: %s()", node_text(n, quote));
    return error_hint(e, "call it: f(x)");
}

/* Explains operands that are functions: x.sum > 1 without (). False if neither is one. */
static bool hint_function(const Node *n, Value a, Value b, LangError *e) {
    bool is_first = value_is_callable(a);
    if (!is_first && !value_is_callable(b)) return false;
    hint_uncalled(n->n_kids > 1 ? n->kid[is_first ? 0 : 1] : n, e);
    return true;
}

/* Explains an operand that is a list: what attempt returned, or numbers for a tensor. */
static void hint_list(Value v, LangError *e) {
    Value first = v.kind == V_LIST && v.list->n ? v.list->v[0] : v_none();
    if (first.kind == V_BOOL && v.list->n == 2)
        error_hint(e, "of attempt: ok, r = attempt(f)");
    else if (v.kind != V_LIST || !v.list->n || value_is_number(first) || first.kind == V_LIST)
        error_hint(e, "tensor([...]) makes a tensor of a list");
    else if (first.kind == V_TENSOR)
        error_hint(e, "stack(xs) makes one tensor of a list of them");
}

static bool unfit(Interp *in, const Node *n, int oper, Value a, Value b, LangError *e) {
    static const char *const verb[] = {
        [O_ADD] = "add",    [O_SUB] = "subtract",    [O_MUL] = "multiply",
        [O_DIV] = "divide", [O_FLOORDIV] = "divide", [O_MOD] = "divide",
        [O_POW] = "raise",  [O_MATMUL] = "multiply"};
    const char *ta = value_type_name(a), *tb = value_type_name(b);
    if (oper == O_MOD && is_text(a))
        fail_at(in, n, e, "'%%' does not format a str");
    else if (oper <= O_MATMUL)
        fail_at(in, n, e, "cannot %s %s and %s: %s %s %s", verb[oper], ta, tb, ta, oper_text[oper],
                tb);
    else
        fail_at(in, n, e, "'%s' does not work on %s and %s", oper_text[oper], ta, tb);
    if (oper == O_ADD && (is_text(a) || is_text(b)))
        error_hint(e, "text: str(x) or f\"{x}\"");
    else if (oper == O_MOD && is_text(a))
        error_hint(e, "numbers in a text: f\"{i:d} {x:.3f}\", \"{:.3f}\".format(x)");
    else if (a.kind == V_NONE || b.kind == V_NONE)
        hint_none(n->n_kids > 1 ? n->kid[a.kind == V_NONE ? 0 : 1] : n, e);
    else if (!hint_function(n, a, b, e) && (a.kind == V_LIST || b.kind == V_LIST))
        hint_list(a.kind == V_LIST ? a : b, e);
    return false;
}

static bool compare_values(Interp *in, const Node *n, int oper, Value a, Value b, Value *out,
                           LangError *e) {
    if (a.kind == V_TENSOR || b.kind == V_TENSOR ||
        !((value_is_number(a) && value_is_number(b)) || (is_text(a) && is_text(b)) ||
          (is_sequence(a) && is_sequence(b))))
        return unfit(in, n, oper, a, b, e);
    int c = 0;
    TRY(compare(in, a, b, 0, &c, e));
    *out = v_bool(c != 2 && (oper == O_LT   ? c < 0
                             : oper == O_LE ? c <= 0
                             : oper == O_GT ? c > 0
                                            : c >= 0));
    return true;
}

/* Warns of x.size == 6, where x.size() was meant: a method equals no value. */
static void warn_uncalled(Interp *in, const Node *n, Value a, Value b) {
    if ((a.kind == V_BOUND) == (b.kind == V_BOUND)) return;
    Value other = a.kind == V_BOUND ? b : a;
    if (value_is_callable(other) || other.kind == V_NONE) return;
    LangError w = {0};
    error_at(&w, node_span(in, n), "a method equals no %s: it is not called",
             value_type_name(other));
    hint_function(n, a, b, &w);
    interp_warn_once(in, &w);
}

static bool looked_equal(Interp *in, Value a, Value b, bool *out, LangError *e) {
    if (!(is_text(a) && is_text(b)) || (a.kind == V_STR && b.kind == V_STR))
        return value_equal_until(a, b, out, e);
    int c = 0;
    TRY(compare(in, a, b, 0, &c, e));
    *out = c == 0;
    return true;
}

static bool host_binary(Interp *in, const Node *n, int oper, Value a, Value b, Value *out,
                        LangError *e) {
    bool r = false;
    if (a.kind == V_SET && b.kind == V_SET && oper != O_EQ && oper != O_NE)
        return at_node(in, n, set_binary(in, oper, a, b, out, e), e);
    switch (oper) {
    case O_EQ:
    case O_NE:
        warn_uncalled(in, n, a, b);
        TRY(looked_equal(in, a, b, &r, e));
        *out = v_bool(r == (oper == O_EQ));
        return true;
    case O_LT:
    case O_LE:
    case O_GT:
    case O_GE: return compare_values(in, n, oper, a, b, out, e);
    default: break;
    }
    if (value_is_number(a) && value_is_number(b)) {
        if (a.kind == V_FLOAT || b.kind == V_FLOAT)
            return float_binary(in, n, oper, value_double(a), value_double(b), out, e);
        bool bits = oper == O_BITAND || oper == O_BITOR || oper == O_BITXOR;
        bool bools = a.kind == V_BOOL && b.kind == V_BOOL;
        TRY(int_binary(in, n, oper, a.kind == V_BOOL ? a.b : a.i, b.kind == V_BOOL ? b.b : b.i, out,
                       e));
        if (bits && bools) *out = v_bool(out->i != 0);
        return true;
    }
    if (oper == O_ADD && is_text(a) && is_text(b)) return str_concat(in, n, a, b, out, e);
    if (oper == O_ADD && is_sequence(a) && is_sequence(b)) {
        if (sequence_count(a) > REPEAT_MAX - sequence_count(b))
            return fail_at(in, n, e, "the list would have more than %d elements", REPEAT_MAX);
        *out = list_concat(in, a, b);
        return true;
    }
    if (oper == O_ADD && a.kind == V_OBJECT && object_items(a.obj) &&
        (is_sequence(b) || (b.kind == V_OBJECT && object_items(b.obj))))
        return object_concat(in, n, a.obj, b, out, e);
    if (oper == O_MUL && (is_text(a) || is_sequence(a)) && (b.kind == V_INT || b.kind == V_BOOL))
        return repeat(in, n, a, b.kind == V_INT ? b.i : b.b, out, e);
    if (oper == O_MUL && (is_text(b) || is_sequence(b)) && (a.kind == V_INT || a.kind == V_BOOL))
        return repeat(in, n, b, a.kind == V_INT ? a.i : a.b, out, e);
    return unfit(in, n, oper, a, b, e);
}

static bool list_with_tensor(Interp *in, const Node *n, int oper, Value a, Value b, LangError *e) {
    fail_at(in, n, e, "'%s' does not join a %s and a %s", oper_text[oper], value_type_name(a),
            value_type_name(b));
    if (is_sequence(a) || is_sequence(b)) return hint_list(is_sequence(a) ? a : b, e), false;
    if (is_text(a) || is_text(b)) return error_hint(e, "text: f\"{x}\" or str(x)");
    if (a.kind == V_NONE || b.kind == V_NONE)
        return hint_none(n->n_kids > 1 ? n->kid[a.kind == V_NONE ? 0 : 1] : n, e);
    hint_function(n, a, b, e);
    return false;
}

static bool binary(Interp *in, const Node *n, int oper, Value a, Value b, Value *out,
                   LangError *e) {
    bool r = false;
    if ((a.kind == V_OBJECT || b.kind == V_OBJECT) && oper != O_IS && oper != O_IS_NOT) {
        TRY(at_node(in, n, object_binary(in, oper, a, b, out, &r, e), e));
        if (r) return true;
    }
    switch (oper) {
    case O_IS:
    case O_IS_NOT:
        r = a.kind == V_STR || a.kind == V_TEXT || (value_is_number(a) && value_is_number(b))
                ? value_equal(a, b)
                : value_same(a, b);
        *out = v_bool(r == (oper == O_IS));
        return true;
    case O_IN:
    case O_NOT_IN:
        TRY(at_node(in, n, value_contains(in, b, a, &r, e), e));
        *out = v_bool(r == (oper == O_IN));
        return true;
    default: break;
    }
    if (a.kind != V_TENSOR && b.kind != V_TENSOR) return host_binary(in, n, oper, a, b, out, e);
    Value other = a.kind == V_TENSOR ? b : a;
    if (other.kind == V_TENSOR || value_is_number(other))
        return at_node(in, n, tensor_binary(in, oper, a, b, NULL, out, e), e);
    if (oper == O_EQ || oper == O_NE) { /* x == none, x == "text": one bool, not elementwise */
        if (is_sequence(other)) return list_with_tensor(in, n, oper, a, b, e);
        warn_uncalled(in, n, a, b);
        *out = v_bool(oper == O_NE);
        return true;
    }
    return list_with_tensor(in, n, oper, a, b, e);
}

bool operate_binary(Interp *in, const Node *n, int oper, Value a, Value b, Value *out,
                    LangError *e) {
    bool ok = binary(in, n, oper, a, b, out, e);
    if (!file_map_count) return ok;
    TRY(at_node(in, n, ok, e));
    ok = value_is_whole(a, e) && value_is_whole(b, e) && file_map_has_all(e);
    return at_node(in, n, give_if(ok, *out, out), e);
}

bool operate_unary(Interp *in, const Node *n, int oper, Value a, Value *out, LangError *e) {
    if (a.kind == V_TENSOR && oper != O_NOT)
        return at_node(in, n, tensor_unary(in, oper, a, out, e), e);
    if (a.kind == V_OBJECT && oper != O_NOT) {
        bool found;
        TRY(object_operate(in, oper, &a, NULL, out, &found, e));
        if (found) return true;
    }
    switch (oper) {
    case O_NOT: {
        bool b;
        TRY(truth_at(in, n, "not", a, &b, e));
        *out = v_bool(!b);
        return true;
    }
    case O_NEG:
        if (a.kind == V_INT && a.i == INT64_MIN)
            return fail_at(in, n, e, "int overflow: -(%lld) does not fit 64 bits", (long long)a.i);
        if (value_is_number(a)) {
            *out =
                a.kind == V_FLOAT ? v_float(-a.f) : v_int(a.kind == V_INT ? -a.i : -(int64_t)a.b);
            return true;
        }
        break;
    case O_POS:
        if (value_is_number(a)) {
            *out = a.kind == V_BOOL ? v_int(a.b) : a;
            return true;
        }
        break;
    case O_INVERT:
        if (a.kind == V_INT || a.kind == V_BOOL) {
            *out = a.kind == V_BOOL ? v_bool(!a.b) : v_int(~a.i);
            return true;
        }
        break;
    default: break;
    }
    fail_at(in, n, e, "'%s' does not work on %s", oper_text[oper], value_type_name(a));
    if (a.kind == V_NONE && n->n_kids) hint_none(n->kid[0], e);
    return false;
}
