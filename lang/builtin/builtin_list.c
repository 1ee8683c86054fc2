/* builtin_list.c: methods of lists. Methods that change the list work in place
 * and return none. A range is not stored: it has the methods that read, not those that change.
 * SPDX-License-Identifier: MIT */
#include "lang/text/pieces.h"
#include "lang/eval/eval.h"
#include "lang/eval/subscript.h"
#include "lang/builtin/builtin_host.h"
#include <string.h>

#define LIST     (1u << V_LIST)
#define SEQUENCE (1u << V_LIST | 1u << V_RANGE)

static bool bi_append(Interp *in, const Value *arg, Value *out, LangError *e) {
    list_push(arg[0].list, value_ref(arg[1]));
    return true;
}

/* Converts an index, negative from the end, to 0 .. n-1. */
static bool position(Value v, uint32_t n, const char *what, int64_t *out, LangError *e) {
    if (v.kind != V_INT)
        return error_set(e, "%s must be a whole number, not %s", what, value_type_name(v));
    *out = v.i < 0 ? v.i + n : v.i;
    if (*out >= 0 && *out < n) return true;
    return n ? error_set(e, "position %lld is out of range for a list of %u", (long long)v.i, n)
             : error_set(e, "the list is empty");
}

static void take_out(List *l, int64_t i) {
    l->n--;
    memmove(l->v + i, l->v + i + 1, (l->n - (size_t)i) * sizeof *l->v);
}

static bool bi_pop(Interp *in, const Value *arg, Value *out, LangError *e) {
    List *l = arg[0].list;
    int64_t i = 0;
    TRY(position(arg[1], l->n, "the position", &i, e));
    *out = l->v[i];
    take_out(l, i);
    return true;
}

static bool bi_insert(Interp *in, const Value *arg, Value *out, LangError *e) {
    List *l = arg[0].list;
    TRY(want_kind(arg[1], V_INT, "the position must be a whole number", e));
    int64_t i = arg[1].i < 0 ? arg[1].i + l->n : arg[1].i; /* out of range: clamped, as in Python */
    if (i < 0) i = 0;
    if (i > l->n) i = l->n;
    list_push(l, v_none());
    memmove(l->v + i + 1, l->v + i, (l->n - 1 - (size_t)i) * sizeof *l->v);
    l->v[i] = value_ref(arg[2]);
    return true;
}

static bool bi_extend(Interp *in, const Value *arg, Value *out, LangError *e) {
    Iter it;
    Value item;
    int more;
    if (arg[1].kind == V_LIST) { /* for xs.extend(xs) the count is taken first */
        for (uint32_t k = 0, n = arg[1].list->n; k < n; k++)
            list_push(arg[0].list, value_ref(arg[1].list->v[k]));
        return true;
    }
    TRY(iter_open(in, in->at, arg[1], &it, e));
    while ((more = iter_next(in, &it, &item, e)) > 0) list_push(arg[0].list, item);
    iter_close(in, &it);
    return more == 0;
}

/* The index of the first element equal to v from `from` on, or -1. */
static int64_t index_of(Value seq, Value v, int64_t from) {
    for (int64_t i = from, n = sequence_count(seq); i < n && !interrupt_count; i++) {
        Value x = sequence_at(seq, i);
        bool same = value_equal(x, v);
        value_drop(x);
        if (same) return i;
    }
    return -1;
}

static bool not_there(Interp *in, Value v, LangError *e) {
    Bytes b = {0};
    LangError ignored = {0};
    bool shown =
        v.kind != V_TEXT && v.kind != V_TENSOR && value_repr(in, v, &b, &ignored) && b.n < 80;
    error_set(e, "%s is not in the list", shown ? b.data : "the value");
    bytes_fini(&b);
    return error_hint(e, "x in xs tests it");
}

static bool bi_index(Interp *in, const Value *arg, Value *out, LangError *e) {
    int64_t i = index_of(arg[0], arg[1], 0);
    if (i < 0) return not_there(in, arg[1], e);
    *out = v_int(i);
    return true;
}

static bool bi_count(Interp *in, const Value *arg, Value *out, LangError *e) {
    int64_t n = 0;
    for (int64_t i = -1; (i = index_of(arg[0], arg[1], i + 1)) >= 0;) n++;
    *out = v_int(n);
    return true;
}

static bool bi_remove(Interp *in, const Value *arg, Value *out, LangError *e) {
    int64_t i = index_of(arg[0], arg[1], 0);
    if (i < 0) return not_there(in, arg[1], e);
    Value old = arg[0].list->v[i];
    take_out(arg[0].list, i);
    value_drop(old);
    return true;
}

static bool bi_sort(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool reverse;
    TRY(value_truth(in, arg[2], &reverse, e));
    return list_sorted(in, arg[0], arg[1], reverse, e);
}

void list_reverse(List *l) {
    for (uint32_t i = 0, j = l->n; i + 1 < j; i++) {
        Value v = l->v[i];
        l->v[i] = l->v[--j];
        l->v[j] = v;
    }
}

static bool bi_reverse(Interp *in, const Value *arg, Value *out, LangError *e) {
    list_reverse(arg[0].list);
    return true;
}

static bool bi_clear(Interp *in, const Value *arg, Value *out, LangError *e) {
    List *l = arg[0].list;
    while (l->n) value_drop(l->v[--l->n]);
    return true;
}

const Builtin builtins_list[] = {
    {"append", "xs, x", bi_append, "Adds x to the end.", LIST},
    {"pop", "xs, i=-1", bi_pop, "Removes the element at i (default: the last) and returns it.",
     LIST},
    {"insert", "xs, i, x", bi_insert, "Inserts x before position i.", LIST},
    {"extend", "xs, ys", bi_extend, "Adds all elements of ys to the end.", LIST},
    {"remove", "xs, x", bi_remove, "Removes the first element equal to x.", LIST},
    {"sort", "xs, key=none, reverse=false", bi_sort,
     "Sorts the list in place, stably; sorted(xs) returns a new one.", LIST},
    {"reverse", "xs", bi_reverse, "Reverses the list in place; reversed(xs) returns a new one.",
     LIST},
    {"clear", "xs", bi_clear, "Removes all elements.", LIST},
    {"index", "xs, x", bi_index, "The first position of x; an error if there is none.", SEQUENCE,
     BI_PURE},
    {"count", "xs, x", bi_count, "The number of elements equal to x.", SEQUENCE, BI_PURE},
    {0}};
