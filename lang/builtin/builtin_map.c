/* builtin_map.c: methods of maps (LANGUAGE 2.7, 3.1, 3.4). Keys are strings or ints, in order of
 * insertion. SPDX-License-Identifier: MIT */
#include "lang/value/heap.h"
#include "lang/text/pieces.h"
#include "lang/eval/builtin.h"
#include <string.h>

#define MAP (1u << V_MAP)

/* *out is a new reference: a string or an int. */
static bool key_arg(Interp *in, Value v, Value *out, LangError *e) {
    if (v.kind == V_TEXT) return value_look(in, v, out, e);
    if (v.kind != V_STR && v.kind != V_INT) {
        error_set(e, "a key is a string or an int, not %s", value_type_name(v));
        return error_hint(e, "str(k)");
    }
    *out = value_ref(v);
    return true;
}

static bool bi_keys(Interp *in, const Value *arg, Value *out, LangError *e) {
    (void)e;
    Value key, value;
    *out = v_list(in, map_count(arg[0].map));
    for (size_t i = 0; mapv_at(arg[0].map, i, &key, &value); i++)
        list_push(out->list, value_ref(key));
    return true;
}

static bool bi_values(Interp *in, const Value *arg, Value *out, LangError *e) {
    (void)e;
    Value key, value;
    *out = v_list(in, map_count(arg[0].map));
    for (size_t i = 0; mapv_at(arg[0].map, i, &key, &value); i++)
        list_push(out->list, value_ref(value));
    return true;
}

static bool bi_items(Interp *in, const Value *arg, Value *out, LangError *e) {
    (void)e;
    Value key, value;
    *out = v_list(in, map_count(arg[0].map));
    for (size_t i = 0; mapv_at(arg[0].map, i, &key, &value); i++) {
        Value pair = v_list(in, 2);
        list_push(pair.list, value_ref(key));
        list_push(pair.list, value_ref(value));
        list_push(out->list, pair);
    }
    return true;
}

static bool bi_get(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value key;
    TRY(key_arg(in, arg[1], &key, e));
    const Value *found = map_find(arg[0].map, key);
    *out = value_ref(found ? *found : arg[2]);
    value_drop(key);
    return true;
}

static bool missing_key(Value map, Value key, LangError *e) {
    Value k, v;
    const char *names[64];
    size_t n = 0;
    if (key.kind == V_INT) return error_set(e, "the map has no key %lld", (long long)key.i);
    for (size_t i = 0; n < 64 && mapv_at(map.map, i, &k, &v); i++)
        if (k.kind == V_STR) names[n++] = k.str->s;
    error_set(e, "the map has no key '%.200s'", key.str->s);
    const char *near = nearest_name(key.str->s, key.str->n, names, n);
    if (near) error_hint(e, "did you mean '%.200s'?", near);
    return false;
}

/* m.pop(k) of a missing key is an error; m.pop(k, x) is x: the call's node tells whether x was
 * given. */
static bool bi_pop(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value key;
    TRY(key_arg(in, arg[1], &key, e));
    bool found = mapv_remove(arg[0].map, key, out), has_default = arg[2].kind != V_NONE;
    if (!found && !has_default && in->at && in->at->kind == N_CALL)
        has_default = in->at->n_kids > 2;
    if (!found && has_default) *out = value_ref(arg[2]);
    bool ok = found || has_default || missing_key(arg[0], key, e);
    value_drop(key);
    return ok;
}

static bool bi_update(Interp *in, const Value *arg, Value *out, LangError *e) {
    (void)in;
    Value key, value;
    if (arg[1].kind != V_MAP) {
        error_set(e, "update() needs a map, not %s", value_type_name(arg[1]));
        return error_hint(e, "m.update(dict(pairs))");
    }
    *out = v_none();
    if (arg[0].map == arg[1].map) return true;
    for (size_t i = 0; mapv_at(arg[1].map, i, &key, &value); i++)
        mapv_put(arg[0].map, value_ref(key), value_ref(value));
    return true;
}

static bool bi_setdefault(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value key;
    TRY(key_arg(in, arg[1], &key, e));
    const Value *found = map_find(arg[0].map, key);
    *out = value_ref(found ? *found : arg[2]);
    if (found)
        value_drop(key);
    else
        mapv_put(arg[0].map, key, value_ref(arg[2]));
    return true;
}

static bool bi_clear(Interp *in, const Value *arg, Value *out, LangError *e) {
    (void)in;
    (void)e;
    *out = v_none();
    mapv_clear(arg[0].map);
    return true;
}

const Builtin builtins_map[] = {
    {"keys", "m", bi_keys, "The keys, in order of insertion.", MAP, BI_PURE},
    {"values", "m", bi_values, "The values, in order of insertion.", MAP, BI_PURE},
    {"items", "m", bi_items,
     "Pairs [key, value], in order of insertion: for k, v in m.items() { … }.", MAP, BI_PURE},
    {"get", "m, key, default=none", bi_get, "The value of key, or the default.", MAP, BI_PURE},
    {"pop", "m, key, default=none", bi_pop,
     "Takes out the value of key and gives it; without a default a missing key is an error.", MAP},
    {"update", "m, other", bi_update, "Takes over all keys and values of another map.", MAP},
    {"setdefault", "m, key, default=none", bi_setdefault,
     "The value of key; if it is missing, the default, which is then put there.", MAP},
    {"clear", "m", bi_clear, "Takes out everything.", MAP},
    {0}};
