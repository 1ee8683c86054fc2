/* builtin_map.c: methods of maps and of sets, which are maps without
 * values. Keys keep their order of insertion.
 * SPDX-License-Identifier: MIT */
#include "lang/text/pieces.h"
#include "lang/error/interrupt.h"
#include "lang/value/mapv.h"
#include "lang/eval/builtin.h"
#include "lang/eval/operate.h"
#include "lang/builtin/builtin_host.h"

#define MAP (1u << V_MAP)
#define SET (1u << V_SET)

enum { KEYS = 1, VALUES = 2 };

/* The keys, the values, or with both pairs of them, as a list. */
static bool listing(Interp *in, const Value *arg, int what, Value *out, LangError *e) {
    Value key, value;
    *out = v_list(in, map_count(arg[0].map));
    for (size_t i = 0; mapv_at(arg[0].map, i, &key, &value); i++) {
        Value pair = what == (KEYS | VALUES) ? v_list(in, 2) : *out;
        if (what & KEYS) list_push(pair.list, value_ref(key));
        if (what & VALUES) list_push(pair.list, value_ref(value));
        if (pair.list != out->list) list_push(out->list, pair);
    }
    return true;
}
BUILTIN_AS(keys, listing, KEYS)
BUILTIN_AS(values, listing, VALUES)
BUILTIN_AS(items, listing, KEYS | VALUES)

static bool bi_get(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value key;
    TRY(value_key(in, arg[1], &key, e));
    const Value *found = map_find(arg[0].map, key);
    *out = value_ref(found ? *found : arg[2]);
    value_drop(key);
    return true;
}

static bool missing_key(Value map, Value key, LangError *e) {
    Value k, v;
    const char *names[64];
    size_t n = 0;
    if (key.kind != V_STR) {
        Bytes text = {0};
        key_text(key, &text);
        error_set(e, "the map has no key %.200s", text.data);
        bytes_fini(&text);
        return false;
    }
    for (size_t i = 0; n < 64 && mapv_at(map.map, i, &k, &v); i++)
        if (k.kind == V_STR) names[n++] = k.str->s;
    error_set(e, "the map has no key '%.200s'", key.str->s);
    const char *near = nearest_name(key.str->s, key.str->n, names, n);
    if (near) error_hint(e, "did you mean '%.200s'?", near);
    return false;
}

/* For a missing key m.pop(k) fails and m.pop(k, x) returns x. The call's node tells whether x was
 * given. */
static bool bi_pop(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value key;
    TRY(value_key(in, arg[1], &key, e));
    bool found = mapv_remove(arg[0].map, key, out), has_default = arg[2].kind != V_NONE;
    if (!found && !has_default && in->at && in->at->kind == N_CALL)
        has_default = in->at->n_kids > 2;
    if (!found && has_default) *out = value_ref(arg[2]);
    bool ok = found || has_default || missing_key(arg[0], key, e);
    value_drop(key);
    return ok;
}

static bool bi_update(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value key, value, other;
    if (arg[0].kind == V_SET) {
        TRY(set_of(in, arg[1], &other, e));
        for (size_t i = 0; mapv_at(other.map, i, &key, &value) && !interrupt_count; i++)
            mapv_put(arg[0].map, value_ref(key), v_none());
        value_drop(other);
        return true;
    }
    if (arg[1].kind != V_MAP) {
        error_set(e, "update() needs a map, not %s", value_type_name(arg[1]));
        return error_hint(e, "m.update(dict(pairs))");
    }
    if (arg[0].map == arg[1].map) return true;
    for (size_t i = 0; mapv_at(arg[1].map, i, &key, &value) && !interrupt_count; i++)
        mapv_put(arg[0].map, value_ref(key), value_ref(value));
    return true;
}

static bool bi_setdefault(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value key;
    TRY(value_key(in, arg[1], &key, e));
    const Value *found = map_find(arg[0].map, key);
    *out = value_ref(found ? *found : arg[2]);
    if (found)
        value_drop(key);
    else
        mapv_put(arg[0].map, key, value_ref(arg[2]));
    return true;
}

static bool bi_clear(Interp *in, const Value *arg, Value *out, LangError *e) {
    mapv_clear(arg[0].map);
    return true;
}

/* ---- sets ---- */

static bool bi_add(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value key;
    TRY(value_key(in, arg[1], &key, e));
    mapv_put(arg[0].map, key, v_none());
    return true;
}

static bool take_out(Interp *in, const Value *arg, bool must_be_there, Value *out, LangError *e) {
    Value key, old;
    TRY(value_key(in, arg[1], &key, e));
    bool found = mapv_remove(arg[0].map, key, &old);
    value_drop(key);
    if (found || !must_be_there) return true;
    error_set(e, "the set has no such element");
    return error_hint(e, "s.discard(x)");
}
BUILTIN_AS(discard, take_out, false)
BUILTIN_AS(set_remove, take_out, true)

/* s.union(xs, ys) and the like: applies oper with each of the others, which may be any
 * iterables. */
static bool combine(Interp *in, const Value *arg, int oper, Value *out, LangError *e) {
    Value all = value_ref(arg[0]), other, next;
    bool ok = true;
    for (uint32_t i = 0; ok && i < arg[1].list->n; i++) {
        ok = set_of(in, arg[1].list->v[i], &other, e);
        if (!ok) break;
        ok = set_binary(in, oper, all, other, &next, e);
        value_drop(other);
        if (ok) value_set(&all, next);
    }
    if (ok && all.map == arg[0].map) {
        ok = set_of(in, arg[0], &next, e);
        if (ok) value_set(&all, next);
    }
    return give_if(ok, all, out);
}
BUILTIN_AS(union, combine, O_BITOR)
BUILTIN_AS(intersection, combine, O_BITAND)
BUILTIN_AS(difference, combine, O_SUB)

static bool bi_issubset(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value other;
    TRY(set_of(in, arg[1], &other, e));
    bool ok = set_binary(in, O_LE, arg[0], other, out, e);
    value_drop(other);
    return ok;
}

const Builtin builtins_map[] = {
    {"keys", "m", bi_keys, "The keys, in order of insertion.", MAP, BI_PURE},
    {"values", "m", bi_values, "The values, in order of insertion.", MAP, BI_PURE},
    {"items", "m", bi_items,
     "Pairs [key, value], in order of insertion: for k, v in m.items() { … }.", MAP, BI_PURE},
    {"get", "m, key, default=none", bi_get, "The value of key, or the default if it is missing.",
     MAP, BI_PURE},
    {"pop", "m, key, default=none", bi_pop,
     "Removes key and returns its value; if it is missing, returns the default, or fails without "
     "one.",
     MAP},
    {"update", "m, other", bi_update,
     "Adds all keys and values of another map, or all elements of another set; existing keys are "
     "overwritten.",
     MAP | SET},
    {"setdefault", "m, key, default=none", bi_setdefault,
     "The value of key; a missing key is first added with the default.", MAP},
    {"clear", "m", bi_clear, "Removes all elements.", MAP | SET},
    {"add", "s, x", bi_add, "Adds x to the set.", SET},
    {"discard", "s, x", bi_discard, "Removes x from the set if it is there.", SET},
    {"remove", "s, x", bi_set_remove, "Removes x from the set; an error if it is not there.", SET},
    {"union", "s, *others", bi_union, "A new set of the elements of any: s | t.", SET, BI_PURE},
    {"intersection", "s, *others", bi_intersection,
     "A new set of the elements common to all: s & t.", SET, BI_PURE},
    {"difference", "s, *others", bi_difference,
     "A new set of the elements of s that are in no other: s - t.", SET, BI_PURE},
    {"issubset", "s, t", bi_issubset, "True if all elements of s are in t: s <= t.", SET, BI_PURE},
    {0}};
