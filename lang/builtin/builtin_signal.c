/* builtin_signal.c: functions on signals: scopes without braces, configuration as arguments and
 * maps, and copies of tensors laid out by a signal.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/builtin.h"
#include "lang/value/mapv.h"
#include "lang/tensor/signal.h"
#include "lang/builtin/builtin_host.h"
#include <string.h>

/* ---- scopes ---- */

static bool is_label(Value v, LangError *e) {
    return want_kind(v, V_STR, "a signal's name must be a string", e);
}

static bool bi_enter(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool has = arg[1].kind != V_NONE;
    TRY(is_label(arg[0], e) && (!has || is_label(arg[1], e)));
    return signal_enter(in, arg[0].str->s, arg[0].str->n, has ? arg[1].str->s : NULL,
                        has ? arg[1].str->n : 0, e);
}

static bool bi_exit(Interp *in, const Value *arg, Value *out, LangError *e) {
    if (arg[0].kind == V_NONE) return signal_exit(in, "", 0, e);
    return is_label(arg[0], e) && signal_exit(in, arg[0].str->s, arg[0].str->n, e);
}

/* The original's form, which needs `with`. */
static bool bi_context(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(is_label(arg[0], e));
    error_set(e, "a scope is a statement of its own");
    bool has = arg[1].kind == V_STR;
    return error_hint(e, "signal \"%s\"%s%s%s { … }", arg[0].str->s, has ? " backward \"" : "",
                      has ? arg[1].str->s : "", has ? "\"" : "");
}

static bool bi_tensor(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value back = arg[2].kind != V_NONE ? arg[2] : arg[3];
    TRY(is_label(arg[1], e) && (back.kind == V_NONE || is_label(back, e)));
    TRY(want_kind(arg[0], V_TENSOR, "signal.tensor needs a tensor", e));
    Tensor *t = NULL;
    TRY(signal_tensor(in, arg[0].tensor, arg[1].str, back.kind == V_STR ? back.str : NULL, &t, e));
    *out = (Value){.kind = V_TENSOR, .tensor = t};
    return true;
}

/* ---- configuration ---- */

static bool bi_load(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(want_kind(arg[0], V_STR, "signal.load needs a path", e));
    return signal_load(in, arg[0].str->s, e);
}

static bool take_axis(SignalConfig *s, Value v, LangError *e) {
    if (v.kind != V_INT || v.i < -MAX_DIMS || v.i >= MAX_DIMS) {
        if (v.kind == V_INT)
            error_set(e, "signal '%.100s': axis must be from %d to %d, not %lld", s->name,
                      -MAX_DIMS, MAX_DIMS - 1, (long long)v.i);
        else
            error_set(e, "signal '%.100s': axis must be a whole number, not %s", s->name,
                      value_type_name(v));
        return error_hint(e, "axis=0   (-1 is the last axis)");
    }
    s->axis = (int)v.i;
    s->has |= HAS_AXIS;
    return true;
}

static bool bad_workers(const SignalConfig *s, Value v, LangError *e) {
    error_set(e, "signal '%.100s': workers must be a list of worker numbers, not %s", s->name,
              value_type_name(v));
    char list[80];
    if (v.kind == V_INT) {
        config_count_hint((long)v.i, list, sizeof list);
        return error_hint(e, "workers=%s, none means all", list);
    }
    return error_hint(e, "workers=[0, 1]   (none means all)");
}

static bool take_worker(SignalConfig *s, Value list, Value v, LangError *e) {
    if (v.kind != V_INT) return bad_workers(s, list, e);
    if (v.i < 0 || v.i >= MAX_WORKERS)
        return error_set(e, "signal '%.100s': a worker's number is from 0 to %d, not %lld", s->name,
                         MAX_WORKERS - 1, (long long)v.i);
    for (int k = 0; k < s->n_workers; k++)
        if (s->workers[k] == v.i)
            return error_set(e, "signal '%.100s': worker %lld is named twice", s->name,
                             (long long)v.i);
    s->workers[s->n_workers++] = v.i;
    return true;
}

static bool take_workers(SignalConfig *s, Value v, LangError *e) {
    s->has |= HAS_WORKERS;
    if (v.kind == V_NONE) return true;
    if (v.kind != V_LIST && v.kind != V_RANGE) return bad_workers(s, v, e);
    int64_t n = sequence_count(v);
    if (n == 0) {
        error_set(e, "signal '%.100s': workers must not be empty", s->name);
        return error_hint(e, "workers=none   means all");
    }
    if (n > MAX_INTS)
        return error_set(e, "signal '%.100s': %lld workers, at most %d are possible", s->name,
                         (long long)n, MAX_INTS);
    s->workers = xmalloc((size_t)n * sizeof *s->workers);
    for (int64_t i = 0; i < n; i++) {
        Value w = sequence_at(v, i);
        bool ok = take_worker(s, v, w, e);
        value_drop(w);
        TRY(ok);
    }
    return true;
}

static bool take_bool(SignalConfig *s, Value v, const char *key, unsigned bit, bool *to,
                      LangError *e) {
    if (v.kind != V_BOOL)
        return error_set(e, "signal '%.100s': %s is true or false, not %s", s->name, key,
                         value_type_name(v));
    *to = v.b;
    s->has |= bit;
    return true;
}

static bool check_name(Value v, LangError *e) {
    TRY(is_label(v, e));
    if (!v.str->n || memchr(v.str->s, 0, v.str->n) || memchr(v.str->s, '\n', v.str->n))
        return error_set(e, "a signal needs a name of one line");
    return v.str->n <= MAX_SIGNAL ||
           error_set(e, "a signal's name is longer than %d bytes", MAX_SIGNAL);
}

static bool take_backward(SignalConfig *s, Value v, LangError *e) {
    s->has |= HAS_BACKWARD;
    if (v.kind == V_NONE) return true;
    TRY(check_name(v, e));
    s->backward = xstrdup(v.str->s);
    return true;
}

/* Reads one key of a map with the structure of the YAML file. */
static bool take_key(SignalConfig *s, bool in_shard, Value key, Value v, LangError *e) {
    static const char *const names[2][3] = {{"shard", "backward", "compile"},
                                            {"axis", "workers", "replicated"}};
    const char *k = key.kind == V_STR ? key.str->s : "";
    if (in_shard && !strcmp(k, "axis")) return take_axis(s, v, e);
    if (in_shard && !strcmp(k, "workers")) return take_workers(s, v, e);
    if (in_shard && !strcmp(k, "replicated"))
        return take_bool(s, v, k, HAS_REPLICATED, &s->replicated, e);
    if (!in_shard && !strcmp(k, "backward")) return take_backward(s, v, e);
    if (!in_shard && !strcmp(k, "compile")) return take_bool(s, v, k, HAS_COMPILE, &s->compile, e);
    if (!in_shard && !strcmp(k, "shard")) {
        if (v.kind == V_NONE) return true;
        if (v.kind != V_MAP) {
            error_set(e, "signal '%.100s': shard must be a map, not %s", s->name,
                      value_type_name(v));
            return error_hint(e, "shard: {axis: 0, workers: [0, 1]}");
        }
        s->has |= HAS_AXIS;
        Value inner_key, inner;
        for (size_t i = 0; mapv_at(v.map, i, &inner_key, &inner); i++)
            TRY(take_key(s, true, inner_key, inner, e));
        return true;
    }
    error_set(e, "signal '%.100s': there is no key '%.100s'%s", s->name, k,
              in_shard ? " in shard" : "");
    const char *near = nearest_name(k, strlen(k), names[in_shard], 3);
    for (int i = 0; i < 3 && !in_shard; i++)
        if (!strcmp(k, names[1][i])) return error_hint(e, "{shard: {%s: …}}", k);
    if (near) return error_hint(e, "did you mean '%s'?", near);
    return error_hint(e, "%s, %s, %s", names[in_shard][0], names[in_shard][1], names[in_shard][2]);
}

static bool take_map(Config *added, Value name, Value map, LangError *e) {
    TRY(check_name(name, e));
    if (map.kind != V_MAP && map.kind != V_NONE) {
        error_set(e, "signal '%.100s': a map is needed, not %s", name.str->s, value_type_name(map));
        return error_hint(e, "{shard: {axis: 0, workers: [0, 1]}, backward: \"b\"}");
    }
    SignalConfig s = {.name = xstrdup(name.str->s)};
    Value key, v;
    bool ok = true;
    for (size_t i = 0; ok && map.kind == V_MAP && mapv_at(map.map, i, &key, &v); i++)
        ok = take_key(&s, false, key, v, e);
    Err err = {0};
    if (ok && !config_put(added, &s, &err)) ok = error_from(e, &err);
    signal_config_fini(&s);
    return ok;
}

static bool take_arguments(Config *added, const Value *arg, LangError *e) {
    SignalConfig s = {.name = xstrdup(arg[0].str->s)};
    Err err = {0};
    bool ok = take_axis(&s, arg[1], e) && take_workers(&s, arg[2], e) &&
              take_bool(&s, arg[3], "replicated", HAS_REPLICATED, &s.replicated, e) &&
              take_backward(&s, arg[4], e) &&
              take_bool(&s, arg[5], "compile", HAS_COMPILE, &s.compile, e);
    if (ok && !config_put(added, &s, &err)) ok = error_from(e, &err);
    signal_config_fini(&s);
    return ok;
}

/* define(name, axis=...), define(name, {shard: ...}), define({name: {shard: ...}}) */
static bool bi_define(Interp *in, const Value *arg, Value *out, LangError *e) {
    Config added = {0};
    Err err = {0};
    Value key, v;
    bool ok = true;
    if (arg[0].kind == V_MAP) {
        for (size_t i = 0; ok && mapv_at(arg[0].map, i, &key, &v); i++)
            ok = take_map(&added, key, v, e);
    } else if ((ok = check_name(arg[0], e))) {
        ok = arg[1].kind == V_MAP ? take_map(&added, arg[0], arg[1], e)
                                  : take_arguments(&added, arg, e);
    }
    if (ok && !signal_add(in, &added, &err)) ok = error_from(e, &err);
    config_fini(&added);
    return ok;
}

static void map_add(Value map, const char *name, Value v) { mapv_put(map.map, v_cstr(name), v); }

static Value value_of(Interp *in, const SignalConfig *s) {
    Value m = v_map(in), shard = v_none();
    if (signal_is_sharded(s)) {
        Value workers = v_none();
        if (s->n_workers) {
            workers = v_list(in, (size_t)s->n_workers);
            for (int i = 0; i < s->n_workers; i++) list_push(workers.list, v_int(s->workers[i]));
        }
        shard = v_map(in);
        map_add(shard, "axis", v_int(s->axis));
        map_add(shard, "workers", workers);
        map_add(shard, "replicated", v_bool(s->replicated));
    }
    map_add(m, "shard", shard);
    map_add(m, "backward", s->backward ? v_cstr(s->backward) : v_none());
    map_add(m, "compile", v_bool(s->compile));
    return m;
}

static bool bi_get(Interp *in, const Value *arg, Value *out, LangError *e) {
    const Config *c = &signal_state(in)->config;
    if (arg[0].kind == V_NONE) {
        *out = v_map(in);
        for (int i = 0; i < c->n; i++)
            map_add(*out, c->signal[i]->name, value_of(in, c->signal[i]));
        return true;
    }
    TRY(check_name(arg[0], e));
    const SignalConfig *s = config_find(c, arg[0].str->s, arg[0].str->n);
    *out = s ? value_of(in, s) : v_none();
    return true;
}

const Builtin builtins_signal[] = {
    {"signal.enter", "name, backward=none", bi_enter,
     "Opens a named scope; signal.exit closes it."},
    {"signal.exit", "name=none", bi_exit, "Closes the innermost scope, which must have that name."},
    {"signal.tensor", "x, name, backward=none, backward_name=none", bi_tensor,
     "A copy of x in the layout of the named signal; its gradient in that of the backward signal."},
    {"signal.context", "name, backward=none", bi_context,
     "The original's name for the statement: signal a { … }."},
    {"signal.load", "path", bi_load,
     "Reads the configuration of signals from a YAML file; later entries win."},
    {"signal.define", "name, axis=0, workers=none, replicated=false, backward=none, compile=false",
     bi_define,
     "Configures a signal; workers=none means all workers. Also accepts a map with the YAML file's "
     "structure."},
    {"signal.get", "name=none", bi_get,
     "The configuration of a signal, as a map with the YAML file's structure, or none. Without a "
     "name: of all signals."},
    {NULL}};
