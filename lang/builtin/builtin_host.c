/* builtin_host.c: functions on host values: printing, lengths, sequences, conversions, sorting. If
 * the first argument is a tensor, min, max, sum, abs, round, any and all are the tensor's functions
 * (builtin.c, twin).
 * SPDX-License-Identifier: MIT */
#include "runtime/base/map.h"
#include "lang/eval/call.h"
#include "lang/value/mapv.h"
#include "lang/tensor/pair.h"
#include "lang/text/effects.h"
#include "lang/text/pieces.h"
#include "lang/text/progress.h"
#include "lang/eval/eval.h"
#include "lang/eval/operate.h"
#include "lang/eval/subscript.h"
#include "lang/eval/builtin.h"
#include "lang/eval/object.h"
#include "lang/builtin/builtin_host.h"
#include "lang/tensor/tensor.h"
#include "runtime/base/utf8.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPY_DEPTH = 500, LIST_MAX = 1 << 28 };

/* ---- helpers ---- */

/* A new list of the elements of an iterable. */
static bool listed(Interp *in, Value v, Value *out, LangError *e) {
    Iter it;
    if (v.kind == V_RANGE && range_count(v.range) > LIST_MAX)
        return error_set(e, "the list would have more than %d elements", LIST_MAX);
    TRY(iter_open(in, NULL, v, &it, e));
    Value l = v_list(in, 0), el;
    int more;
    while ((more = iter_next(in, &it, &el, e)) > 0) list_push(l.list, el);
    iter_close(in, &it);
    return give_if(more == 0, l, out);
}

static bool want_int(Value v, const char *what, int64_t *out, LangError *e) {
    if (v.kind == V_INT || v.kind == V_BOOL) {
        *out = v.kind == V_INT ? v.i : v.b;
        return true;
    }
    error_set(e, "%s must be an int, not %s", what, value_type_name(v));
    return v.kind == V_TENSOR || v.kind == V_FLOAT ? error_hint(e, "int(x)") : false;
}

/* ---- printing ---- */

static bool bi_print(Interp *in, const Value *arg, Value *out, LangError *e) {
    Pieces p = {0};
    bool ok = true, err;
    TRY(value_truth(in, arg[3], &err, e));
    for (uint32_t i = 0; i < arg[0].list->n && ok; i++) {
        if (i) ok = pieces_value(in, &p, arg[1], false, e);
        ok = ok && pieces_value(in, &p, arg[0].list->v[i], false, e);
    }
    ok = ok && pieces_value(in, &p, arg[2], false, e) && effect_print(in, &p, err, e);
    pieces_fini(&p);
    return ok;
}

static bool bi_str(Interp *in, const Value *arg, Value *out, LangError *e) {
    Pieces p = {0};
    if (arg[0].kind == V_STR || arg[0].kind == V_TEXT) {
        *out = value_ref(arg[0]);
        return true;
    }
    return give_pieces(pieces_value(in, &p, arg[0], false, e), &p, out);
}

/* ---- sequences ---- */

static bool bi_len(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value v = arg[0], s;
    switch (v.kind) {
    case V_LIST:
    case V_RANGE: *out = v_int(sequence_count(v)); return true;
    case V_SET:
    case V_MAP: *out = v_int((int64_t)map_count(v.map)); return true;
    case V_STR: *out = v_int((int64_t)str_chars(v.str)); return true;
    case V_TEXT:
        TRY(value_look(in, v, &s, e));
        *out = v_int((int64_t)str_chars(s.str));
        value_drop(s);
        return true;
    case V_TENSOR:
        if (v.tensor->pair) return pair_error(v.tensor, "", "len", e);
        if (tensor_type(v.tensor)->rank == 0)
            return error_set(e, "a tensor with one number has no length");
        *out = v_int(tensor_type(v.tensor)->shape[0]);
        return true;
    case V_OBJECT: {
        const Value *items = object_items(v.obj);
        if (items) {
            *out = v_int(items->kind == V_LIST ? items->list->n : (int64_t)map_count(items->map));
            return true;
        }
    } /* fallthrough */
    default: return error_set(e, "%s has no length", value_type_name(v));
    }
}

static bool bi_range(Interp *in, const Value *arg, Value *out, LangError *e) {
    int64_t a, b = 0, step;
    if (arg[2].kind == V_FLOAT)
        return error_set(e, "range's step must be an int, not float"),
               error_hint(e, "arange(a, b, step) counts in floats");
    TRY(want_int(arg[0], "range's bound", &a, e) && want_int(arg[2], "range's step", &step, e));
    if (arg[1].kind != V_NONE) TRY(want_int(arg[1], "range's bound", &b, e));
    if (step == 0) return error_set(e, "range's step is 0");
    *out = arg[1].kind == V_NONE ? v_range(0, a, step) : v_range(a, b, step);
    return true;
}

static bool bi_enumerate(Interp *in, const Value *arg, Value *out, LangError *e) {
    int64_t start;
    Value xs;
    TRY(want_int(arg[1], "start", &start, e) && listed(in, arg[0], &xs, e));
    for (uint32_t i = 0; i < xs.list->n && !interrupt_count; i++)
        xs.list->v[i] = v_pair(in, v_int((int64_t)((uint64_t)start + i)), xs.list->v[i]);
    if (in->progress) progress_move(in, arg[0], xs);
    *out = xs;
    return true;
}

static bool bi_zip(Interp *in, const Value *arg, Value *out, LangError *e) {
    uint32_t n = arg[0].list->n, k;
    Value rows = v_list(in, 0);
    Iter *it = xcalloc(n ? n : 1, sizeof *it);
    int more = n > 0;
    for (k = 0; k < n && more > 0; k++)
        if (!iter_open(in, NULL, arg[0].list->v[k], &it[k], e)) more = -1;
    while (more > 0) {
        Value row = v_list(in, n), el;
        for (k = 0; k < n && (more = iter_next(in, &it[k], &el, e)) > 0; k++)
            list_push(row.list, el);
        if (more > 0)
            list_push(rows.list, row);
        else
            value_drop(row);
    }
    for (k = 0; k < n; k++)
        if (it[k].over.kind != V_NONE) iter_close(in, &it[k]);
    free(it);
    if (more < 0) {
        value_drop(rows);
        return false;
    }
    if (in->progress && n) progress_move(in, arg[0].list->v[0], rows);
    *out = rows;
    return true;
}

/* Applies f to the elements of xs; returns the results (map), or the elements for which f is true
 * (filter). */
static bool apply(Interp *in, Value f, Value xs, bool is_filter, Value *out, LangError *e) {
    Iter it;
    TRY(iter_open(in, NULL, xs, &it, e));
    Value l = v_list(in, 0), el, r;
    int more;
    bool ok = true;
    while (ok && (more = iter_next(in, &it, &el, e)) > 0) {
        bool keep = true;
        ok = interp_call(in, f, &el, 1, &r, e);
        if (ok && is_filter) ok = value_truth(in, r, &keep, e);
        if (ok && keep) list_push(l.list, value_ref(is_filter ? el : r));
        if (ok) value_drop(r);
        value_drop(el);
        ok = ok && eval_safepoint(in, e);
    }
    iter_close(in, &it);
    return give_if(ok && more == 0, l, out);
}

/* True for xs.map(f), which is map(xs, f). */
static bool is_swapped(const Value *arg) {
    ValueKind k = (ValueKind)arg[0].kind, f = (ValueKind)arg[1].kind;
    bool is_many = k == V_LIST || k == V_RANGE || k == V_TENSOR || k == V_MAP || k == V_STR;
    return is_many && (f == V_FN || f == V_BOUND || f == V_BUILTIN || f == V_MODULE);
}

static bool map_or_filter(Interp *in, const Value *arg, bool is_filter, Value *out, LangError *e) {
    bool swap = is_swapped(arg);
    return apply(in, arg[swap], arg[!swap], is_filter, out, e);
}
BUILTIN_AS(map, map_or_filter, false)
BUILTIN_AS(filter, map_or_filter, true)

static bool bi_reversed(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value xs;
    if (arg[0].kind == V_STR) {
        Str *s = arg[0].str;
        *out = v_str(NULL, s->n);
        for (size_t i = 0, step; i < s->n; i += step) {
            step = utf8_skip(s->s + i, s->n - i, 1);
            memcpy(out->str->s + s->n - i - step, s->s + i, step);
        }
        return true;
    }
    TRY(listed(in, arg[0], &xs, e));
    list_reverse(xs.list);
    *out = xs;
    return true;
}

/* ---- sorting: a stable merge sort; a comparison may fail, or wait ---- */

typedef struct Sort {
    Interp *in;
    const Value *key;
    bool reverse, failed;
    LangError *e;
} Sort;

/* True if the element at b sorts before the one at a, though it stands after it. */
static bool out_of_order(Sort *s, uint32_t a, uint32_t b) {
    bool less = false;
    if (!s->failed && !(s->reverse ? value_less(s->in, s->key[a], s->key[b], &less, s->e)
                                   : value_less(s->in, s->key[b], s->key[a], &less, s->e)))
        s->failed = true;
    return less;
}

static void merge_sort(Sort *s, uint32_t *at, uint32_t *spare, uint32_t n) {
    if (n < 2 || s->failed) return;
    uint32_t half = n / 2, i = 0, j = half, k = 0;
    merge_sort(s, at, spare, half);
    merge_sort(s, at + half, spare, n - half);
    while (i < half && j < n) spare[k++] = out_of_order(s, at[i], at[j]) ? at[j++] : at[i++];
    while (i < half) spare[k++] = at[i++];
    while (j < n) spare[k++] = at[j++];
    memcpy(at, spare, n * sizeof *at);
}

bool list_sorted(Interp *in, Value xs, Value key, bool reverse, LangError *e) {
    uint32_t n = xs.list->n;
    Value keys = value_ref(xs);
    if (key.kind != V_NONE) {
        value_drop(keys);
        TRY(apply(in, key, xs, false, &keys, e));
        if (keys.list->n != n || xs.list->n != n) {
            value_drop(keys);
            return error_set(e, "the list changed while it was sorted");
        }
    }
    uint32_t *at = xmalloc((size_t)(2 * n + 1) * sizeof *at);
    for (uint32_t i = 0; i < n; i++) at[i] = i;
    Sort s = {in, keys.list->v, reverse, false, e};
    merge_sort(&s, at, at + n, n);
    if (!s.failed) {
        Value *v = xmalloc((size_t)(n + 1) * sizeof *v);
        for (uint32_t i = 0; i < n; i++) v[i] = xs.list->v[at[i]];
        if (n) memcpy(xs.list->v, v, n * sizeof *v);
        free(v);
    }
    free(at);
    value_drop(keys);
    return !s.failed;
}

static bool bi_sorted(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value xs;
    bool reverse;
    TRY(value_truth(in, arg[2], &reverse, e) && listed(in, arg[0], &xs, e));
    return give_if(list_sorted(in, xs, arg[1], reverse, e), xs, out);
}

/* ---- reducing ---- */

/* The min or max of several arguments, or of one list, by a key. */
/* Says for max(3, x) what compares element by element, if one of xs is a tensor with axes. */
static void hint_elementwise(Value xs, bool is_max, LangError *e) {
    bool has_axes = false;
    for (uint32_t i = 0; i < xs.list->n; i++) {
        Value x = xs.list->v[i];
        has_axes |= x.kind == V_TENSOR && tensor_type(x.tensor)->rank > 0;
    }
    if (!has_axes || xs.list->n != 2) return;
    error_set(e, "%s() of a number and a tensor of several elements", is_max ? "max" : "min");
    error_hint(e, is_max ? "element by element: maximum(a, b), or x.clamp(min=a)"
                         : "element by element: minimum(a, b), or x.clamp(max=a)");
}

static bool extreme(Interp *in, const Value *arg, const char *name, bool is_max, Value *out,
                    LangError *e) {
    Value xs, keys, best = v_none();
    if (arg[0].list->n == 1)
        TRY(listed(in, arg[0].list->v[0], &xs, e));
    else
        xs = value_ref(arg[0]);
    uint32_t at = 0, n = xs.list->n;
    if (n == 0 && arg[2].kind != V_NONE && arg[0].list->n == 1) {
        *out = value_ref(arg[2]);
        value_drop(xs);
        return true;
    }
    bool ok = n > 0 || error_set(e, "%s() of nothing", name);
    keys = value_ref(xs);
    if (ok && arg[1].kind != V_NONE) {
        value_drop(keys);
        keys = v_none();
        ok = apply(in, arg[1], xs, false, &keys, e);
    }
    for (uint32_t i = 1; ok && i < n; i++) {
        bool less = false;
        ok = is_max ? value_less(in, keys.list->v[at], keys.list->v[i], &less, e)
                    : value_less(in, keys.list->v[i], keys.list->v[at], &less, e);
        if (less) at = i;
    }
    if (!ok) hint_elementwise(xs, is_max, e);
    if (ok) best = value_ref(xs.list->v[at]);
    value_drop(xs);
    value_drop(keys);
    *out = best;
    return ok;
}

BUILTIN_AS(min, extreme, "min", false)
BUILTIN_AS(max, extreme, "max", true)

static bool bi_sum(Interp *in, const Value *arg, Value *out, LangError *e) {
    Iter it;
    TRY(iter_open(in, NULL, arg[0], &it, e));
    Value total = value_ref(arg[1]), el, next;
    int more;
    bool ok = true;
    while (ok && (more = iter_next(in, &it, &el, e)) > 0) {
        ok = operate_binary(in, in->at, O_ADD, total, el, &next, e);
        value_drop(el);
        if (ok) value_set(&total, next);
    }
    iter_close(in, &it);
    return give_if(ok && more == 0, total, out);
}

static bool truths(Interp *in, const Value *arg, bool wanted, Value *out, LangError *e) {
    Iter it;
    TRY(iter_open(in, NULL, arg[0], &it, e));
    Value el;
    int more = 0;
    bool ok = true, found = false;
    while (ok && !found && (more = iter_next(in, &it, &el, e)) > 0) {
        bool b = !wanted;
        ok = value_truth(in, el, &b, e);
        value_drop(el);
        found = ok && b == wanted;
    }
    iter_close(in, &it);
    *out = v_bool(found == wanted);
    return ok && more >= 0;
}

BUILTIN_AS(any, truths, true)
BUILTIN_AS(all, truths, false)

static bool bi_distinct(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value xs, l;
    TRY(listed(in, arg[0], &xs, e));
    l = v_list(in, 0);
    Value seen = v_map(in);
    for (uint32_t i = 0; i < xs.list->n && !interrupt_count; i++) {
        Value v = xs.list->v[i];
        bool known = false;
        if (v.kind == V_STR || v.kind == V_INT) {
            known = map_find(seen.map, v) != NULL;
            if (!known) mapv_put(seen.map, value_ref(v), v_none());
        }
        for (uint32_t k = 0; v.kind != V_STR && !known && k < l.list->n && !interrupt_count; k++)
            known = value_equal(l.list->v[k], v);
        if (!known) list_push(l.list, value_ref(v));
    }
    value_drop(seen);
    value_drop(xs);
    *out = l;
    return true;
}

/* ---- numbers ---- */

static bool bi_abs(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value v = arg[0];
    if (v.kind == V_FLOAT)
        *out = v_float(fabs(v.f));
    else if (v.kind == V_INT && v.i == INT64_MIN)
        return error_set(e, "int overflow: abs(%lld) does not fit 64 bits", (long long)v.i);
    else if (v.kind == V_INT || v.kind == V_BOOL)
        *out = v_int(v.kind == V_BOOL ? v.b : v.i < 0 ? -v.i : v.i);
    else
        return error_set(e, "abs needs a number or a tensor, not %s", value_type_name(v));
    return true;
}

/* As in Python: ties, judged by the exact value, go to even; without n the result is an int. */
static bool bi_round(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value v = arg[0];
    int64_t n = 0;
    if (!value_is_number(v))
        return error_set(e, "round needs a number or a tensor, not %s", value_type_name(v));
    if (arg[1].kind != V_NONE) TRY(want_int(arg[1], "round's n", &n, e));
    if (v.kind != V_FLOAT) {
        *out = v_int(v.kind == V_INT ? v.i : v.b);
        return true;
    }
    if (arg[1].kind == V_NONE) {
        double r = nearbyint(v.f);
        if (!(fabs(r) < 0x1p63)) return error_set(e, "round: %g does not fit an int", v.f);
        *out = v_int((int64_t)r);
        return true;
    }
    char buf[512];
    if (!isfinite(v.f) || n > 300)
        *out = v;
    else if (n >= 0 && snprintf(buf, sizeof buf, "%.*f", (int)n, v.f) < (int)sizeof buf)
        *out = v_float(strtod(buf, NULL));
    else {
        double scale = pow(10, (double)-n);
        *out = v_float(nearbyint(v.f / scale) * scale);
    }
    return true;
}

/* The text of a number, without surrounding blanks and inner underscores. */
static void number_text(const Str *s, Bytes *out) {
    size_t i = 0, n = s->n;
    while (i < n && isspace((unsigned char)s->s[i])) i++;
    while (n > i && isspace((unsigned char)s->s[n - 1])) n--;
    for (; i < n; i++) {
        bool is_inner = i > 0 && i + 1 < n && isalnum((unsigned char)s->s[i - 1]) &&
                        isalnum((unsigned char)s->s[i + 1]);
        if (s->s[i] != '_' || !is_inner) bytes_putc(out, s->s[i]);
    }
    bytes_puts(out, "");
}

/* The base that the digits' prefix names, 0x, 0o or 0b; otherwise 0. */
static int prefix_base(const char *p) {
    char c = p[0] == '0' ? p[1] | 32 : 0;
    return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
}

enum { ANY_BASE = -1 }; /* that of the prefix, or 10; 0, as in Python, refuses 010 */

/* Reads a float, or an int in a base of 2 to 36, 0 or ANY_BASE. */
static bool parse_number(const Str *s, bool is_int, int base, Value *out, LangError *e) {
    Bytes b = {0};
    number_text(s, &b);
    char *end;
    bool ok = b.n > 0 && strlen(b.data) == b.n;
    if (ok && is_int) {
        const char *p = b.data + (*b.data == '-' || *b.data == '+');
        int prefix = prefix_base(p);
        const char *digits = prefix && (base <= 0 || base == prefix) ? p + 2 : p;
        ok = base != 0 || prefix || *p != '0' || !p[strspn(p, "0")];
        if (base <= 0) base = prefix ? prefix : 10;
        ok = ok && (digits == p || prefix_base(digits) != base); /* 0x0x1 */
        errno = 0;
        unsigned long long u = strtoull(digits, &end, base);
        bool minus = *b.data == '-';
        ok = ok && isalnum((unsigned char)*digits) && !*end && errno != ERANGE &&
             u <= (unsigned long long)INT64_MAX + minus;
        *out = v_int((int64_t)(minus ? 0 - u : u));
    } else if (ok) {
        *out = v_float(strtod(b.data, &end));
        ok = !*end && !strpbrk(b.data, "xX(");
    }
    bytes_fini(&b);
    if (ok) return true;
    return error_set(e, "\"%.80s\" is not %s", s->s, is_int ? "an int" : "a number");
}

static bool base_of(Value v, int *base, LangError *e) {
    if (v.kind == V_INT && (v.i == 0 || (v.i >= 2 && v.i <= 36))) return *base = (int)v.i, true;
    return error_set(e, "'base' must be 0, or a whole number from 2 to 36");
}

static bool number_of(Interp *in, const Value *arg, bool is_int, Value *out, LangError *e) {
    Value v = arg[0], item;
    int base = ANY_BASE;
    if (is_int && arg[1].kind != V_NONE) {
        TRY(base_of(arg[1], &base, e));
        if (v.kind != V_STR && v.kind != V_TEXT)
            return error_set(e, "int() with a base reads a text, not %s", value_type_name(v));
    }
    switch (v.kind) {
    case V_BOOL: *out = is_int ? v_int(v.b) : v_float(v.b); return true;
    case V_INT: *out = is_int ? v : v_float((double)v.i); return true;
    case V_FLOAT:
        if (is_int && !(fabs(trunc(v.f)) < 0x1p63))
            return error_set(e, "%g does not fit an int", v.f);
        *out = is_int ? v_int((int64_t)v.f) : v;
        return true;
    case V_STR: return parse_number(v.str, is_int, base, out, e);
    case V_TEXT: {
        TRY(value_look(in, v, &item, e));
        bool ok = parse_number(item.str, is_int, base, out, e);
        value_drop(item);
        return ok;
    }
    case V_TENSOR:
        TRY(tensor_item(in, v.tensor, &item, e));
        return number_of(in, (Value[]){item, v_none()}, is_int, out, e);
    default:
        return error_set(e, "cannot make %s of %s", is_int ? "an int" : "a float",
                         value_type_name(v));
    }
}

BUILTIN_AS(int, number_of, true)
BUILTIN_AS(float, number_of, false)

static bool bi_bool(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool b;
    TRY(value_truth(in, arg[0], &b, e));
    *out = v_bool(b);
    return true;
}

/* ---- other conversions ---- */

static bool bi_type(Interp *in, const Value *arg, Value *out, LangError *e) {
    *out = v_cstr(value_type_name(arg[0]));
    return true;
}

static bool bi_list(Interp *in, const Value *arg, Value *out, LangError *e) {
    if (arg[0].kind == V_NONE) {
        *out = v_list(in, 0);
        return true;
    }
    return listed(in, arg[0], out, e);
}

static bool put_pair(Interp *in, Value m, Value p, LangError *e) {
    if ((p.kind != V_LIST && p.kind != V_RANGE) || sequence_count(p) != 2)
        return error_set(e, "dict needs [key, value] pairs, got %s", value_type_name(p));
    Value k = sequence_at(p, 0), key;
    bool ok = value_key(in, k, &key, e);
    value_drop(k);
    if (ok) mapv_put(m.map, key, sequence_at(p, 1));
    return ok;
}

static bool bi_dict(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value m = v_map(in), k, v;
    bool ok = true;
    if (arg[0].kind == V_MAP) {
        for (size_t i = 0; mapv_at(arg[0].map, i, &k, &v) && !interrupt_count; i++)
            mapv_put(m.map, value_ref(k), value_ref(v));
    } else if (arg[0].kind != V_NONE) {
        Value pairs = v_none();
        ok = listed(in, arg[0], &pairs, e);
        for (uint32_t i = 0; ok && i < pairs.list->n && !interrupt_count; i++)
            ok = put_pair(in, m, pairs.list->v[i], e);
        value_drop(pairs);
    }
    for (size_t i = 0; ok && mapv_at(arg[1].map, i, &k, &v) && !interrupt_count; i++)
        mapv_put(m.map, value_ref(k), value_ref(v));
    return give_if(ok, m, out);
}

static bool bi_set(Interp *in, const Value *arg, Value *out, LangError *e) {
    return set_of(in, arg[0], out, e);
}

static bool bi_ord(Interp *in, const Value *arg, Value *out, LangError *e) {
    if (arg[0].kind != V_STR || str_chars(arg[0].str) != 1)
        return error_set(e, "ord needs a string of one character");
    uint32_t cp = 0;
    if (!utf8_decode(arg[0].str->s, arg[0].str->n, &cp)) cp = (unsigned char)arg[0].str->s[0];
    *out = v_int(cp);
    return true;
}

static bool bi_chr(Interp *in, const Value *arg, Value *out, LangError *e) {
    int64_t i;
    char buf[4];
    TRY(want_int(arg[0], "chr's argument", &i, e));
    int n = i >= 0 && i <= 0x10ffff ? utf8_encode((uint32_t)i, buf) : 0;
    if (!n) return error_set(e, "%lld is not a code point", (long long)i);
    *out = v_str(buf, (size_t)n);
    return true;
}

static bool bi_bytes(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value s;
    if (arg[0].kind != V_STR && arg[0].kind != V_TEXT)
        return error_set(e, "bytes needs a string, not %s", value_type_name(arg[0]));
    TRY(value_look(in, arg[0], &s, e));
    TensorType t = {.dtype = DT_U8, .rank = 1, .shape = {s.str->n}};
    Tensor *made = tensor_data(in, &t, s.str->s, e);
    value_drop(s);
    TRY(made != NULL);
    *out = v_tensor(made);
    return true;
}

static bool bi_text(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value v = arg[0];
    if (v.kind == V_STR || v.kind == V_TEXT) {
        *out = value_ref(v);
        return true;
    }
    if (v.kind == V_TENSOR) {
        const TensorType *t = tensor_type(v.tensor);
        if (t->rank > 1 || dtype_is_float(t->dtype) || t->dtype == DT_BOOL)
            return error_set(e, "text needs a row of whole numbers (bytes)");
        Pieces p = {0};
        pieces_tensor(&p, v.tensor, "!t", 2);
        return give_pieces(true, &p, out);
    }
    if (v.kind != V_LIST && v.kind != V_RANGE)
        return error_set(e, "text needs a tensor or list of bytes, not %s", value_type_name(v));
    Bytes b = {0};
    bool ok = true;
    for (int64_t i = 0; ok && i < sequence_count(v); i++) {
        Value el = sequence_at(v, i);
        ok = el.kind == V_INT && el.i >= 0 && el.i < 256;
        if (ok) bytes_putc(&b, (char)el.i);
        value_drop(el);
    }
    if (!ok) error_set(e, "text needs whole numbers from 0 to 255");
    return give_bytes(ok, &b, out);
}

/* ---- copying ---- */

typedef struct Copy {
    Interp *in;
    Map done;
    LangError *e;
} Copy;

static bool copy_value(Copy *c, Value v, int depth, Value *out);

static bool copy_map(Copy *c, const MapV *from, MapV *to, int depth) {
    Value k, v, made;
    for (size_t i = 0; mapv_at(from, i, &k, &v); i++) {
        TRY(not_interrupted(c->e) && copy_value(c, v, depth, &made));
        mapv_put(to, value_ref(k), made);
        uint8_t tag = from->entry[i].tag;
        if (tag) *slot_tag(map_find(to, k)) = tag;
    }
    return true;
}

static bool copy_container(Copy *c, Value v, int depth, Value *out) {
    Value made = v_none();
    bool ok = true;
    TRY(not_interrupted(c->e));
    if (depth > COPY_DEPTH) return error_set(c->e, "copy: nested deeper than %d", COPY_DEPTH);
    if (v.kind == V_LIST) {
        made = v_list(c->in, v.list->n);
        map_put(&c->done, (uint64_t)(uintptr_t)v.heap, made.heap);
        for (uint32_t i = 0; i < v.list->n && ok && !interrupt_count; i++) {
            Value el;
            ok = copy_value(c, v.list->v[i], depth + 1, &el);
            if (ok) list_push(made.list, el);
        }
    } else if (v.kind == V_MAP) {
        made = v_map(c->in);
        map_put(&c->done, (uint64_t)(uintptr_t)v.heap, made.heap);
        ok = copy_map(c, v.map, made.map, depth + 1);
    } else if (v.kind == V_SET) {
        ok = set_of(c->in, v, &made, c->e);
    } else {
        Object *o = container_new(c->in, V_OBJECT, sizeof *o);
        o->module = v.obj->module;
        o->module->c.h.refs++;
        o->field = v_map(c->in).map;
        made = (Value){.kind = V_OBJECT, .obj = o};
        map_put(&c->done, (uint64_t)(uintptr_t)v.heap, made.heap);
        ok = copy_map(c, v.obj->field, o->field, depth + 1);
    }
    return give_if(ok, made, out);
}

static bool copy_value(Copy *c, Value v, int depth, Value *out) {
    Heap *known = value_is_heap(v) ? map_get(&c->done, (uint64_t)(uintptr_t)v.heap) : NULL;
    if (known) {
        *out = value_ref((Value){.kind = v.kind, .heap = known});
        return true;
    }
    if (v.kind == V_LIST || v.kind == V_SET || v.kind == V_OBJECT ||
        (v.kind == V_MAP && !v.map->is_space))
        return copy_container(c, v, depth, out);
    if (v.kind == V_TENSOR && (v.tensor->is_param || v.tensor->is_buffer)) {
        Value made = tensor_param(c->in, v.tensor, v.tensor->is_buffer, c->e);
        TRY(made.kind == V_TENSOR);
        made.tensor->requires_grad = v.tensor->requires_grad;
        made.tensor->is_unsaved = v.tensor->is_unsaved;
        map_put(&c->done, (uint64_t)(uintptr_t)v.heap, made.heap);
        *out = made;
        return true;
    }
    *out = value_ref(v);
    return true;
}

static bool bi_copy(Interp *in, const Value *arg, Value *out, LangError *e) {
    Copy c = {.in = in, .e = e};
    bool ok = copy_value(&c, arg[0], 0, out);
    map_fini(&c.done);
    return ok;
}

const Builtin builtins_host[] = {
    {"print", "*v, sep=\" \", end=\"\\n\", err=false", bi_print,
     "Prints values in stream order; does not wait for tensors."},
    {"len", "x", bi_len,
     "The number of elements of a list or map, of characters of a string; the size of the "
     "first axis of a tensor.",
     0, BI_PURE},
    {"range", "a, b=none, step=1", bi_range,
     "The ints from a (0 if only one bound is given) up to but excluding b; the list is not "
     "stored.",
     0, BI_PURE},
    {"enumerate", "xs, start=0", bi_enumerate, "A list of [number, element], one for each element.",
     0, BI_PURE},
    {"zip", "*xs", bi_zip,
     "Lists of the first elements, of the second, and so on; stops at the shortest argument.", 0,
     BI_PURE},
    {"map", "f, xs", bi_map, "A list of f(element) for each element."},
    {"filter", "f, xs", bi_filter, "The elements for which f is true."},
    {"sorted", "xs, key=none, reverse=false", bi_sorted,
     "A new sorted list; equal elements keep their order.", 0, BI_PURE},
    {"reversed", "xs", bi_reversed, "A new list of the elements from last to first.", 0, BI_PURE},
    {"type", "x", bi_type,
     "x's type: int float bool str none list map fn dtype tensor, or the module's name.", 0,
     BI_PURE},
    {"str", "x", bi_str, "x as text, as print shows it.", 0, BI_PURE},
    {"int", "x, base=none", bi_int,
     "x as an int, truncated towards zero; waits for a tensor. A text: in this base, or that of "
     "its prefix 0x, 0o or 0b."},
    {"float", "x", bi_float, "x as a float; waits for a tensor."},
    {"bool", "x", bi_bool,
     "x as true or false: 0, none and what is empty are false; waits for a tensor."},
    {"list", "xs=none", bi_list,
     "A new list of the elements of a list, range, string, map (its keys) or tensor (its rows).", 0,
     BI_PURE},
    {"dict", "pairs=none, **more", bi_dict,
     "A new map from [key, value] pairs or from a map, plus the keyword arguments.", 0, BI_PURE},
    {"set", "xs=none", bi_set,
     "A set of the elements (strings, ints, or lists of these), in order of insertion.", 0,
     BI_PURE},
    {"min", "*xs, key=none, default=none", bi_min,
     "Of several values, or of one list: the smallest; key(x) is what is compared, default the "
     "value of an empty list.",
     0, BI_PURE | BI_TWIN},
    {"max", "*xs, key=none, default=none", bi_max,
     "Of several values, or of one list: the largest; key(x) is what is compared, default the "
     "value of an empty list.",
     0, BI_PURE | BI_TWIN},
    {"sum", "xs, start=0", bi_sum, "Of a list: the sum of its elements, plus start.", 0,
     BI_PURE | BI_TWIN},
    {"abs", "x", bi_abs, "Of a number: a number.", 0, BI_PURE | BI_TWIN},
    {"round", "x, n=none", bi_round,
     "Of a number: the nearest int, or with n the nearest number with n decimals; ties go to even.",
     0, BI_PURE | BI_TWIN},
    {"any", "xs", bi_any, "Of a list: true if any element is true.", 0, BI_PURE | BI_TWIN},
    {"all", "xs", bi_all, "Of a list: true if all elements are true.", 0, BI_PURE | BI_TWIN},
    {"distinct", "xs", bi_distinct,
     "The elements without duplicates, in order of first appearance."},
    {"copy", "x", bi_copy, "A deep copy; the copies of parameters are new parameters.", 0, BI_PURE},
    {"ord", "c", bi_ord, "The code point of a character.", 0, BI_PURE},
    {"chr", "i", bi_chr, "The character of a code point.", 0, BI_PURE},
    {"bytes", "s", bi_bytes, "The bytes of a string as a uint8 tensor.", 0, BI_PURE},
    {"text", "x", bi_text, "Bytes (a tensor or list) as a string."},
    {NULL}};
