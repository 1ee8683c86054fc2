/* signal_config.c: what the program and its files say about signals. The client keeps it to check
 * names, to know where gradients run, and to answer signal.get; each change goes into the stream
 * as a `signal define`, because the dispatcher is who acts on it.
 * SPDX-License-Identifier: MIT */
#include "lang/value/heap.h"
#include "lang/value/frame.h"
#include "lang/eval/import.h"
#include "lang/tensor/signal.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 20 };

/* ---- telling the stream ---- */

/* Where in its file a signal asks for workers, for they are what the dispatcher may refuse. */
static Span place_in(const Source *file, const SignalConfig *s) {
    ConfigAt at = s->workers_at.line ? s->workers_at : s->at;
    return (Span){.src = file,
                  .line = at.line,
                  .col = (uint16_t)(at.col < UINT16_MAX ? at.col : 0),
                  .len = (uint16_t)(at.len < UINT16_MAX ? at.len : 1)};
}

/* file: the text that says it; NULL: the program at its present line does. */
static void tell(Interp *in, const Config *news, const Source *file) {
    for (int i = 0; i < news->n; i++) {
        ConfigInst ci;
        Span at = file ? place_in(file, news->signal[i]) : interp_span(in);
        config_inst(news->signal[i], &ci);
        if (at.src) ci.inst.pos = (SrcPos){stream_file(in->stream, at.src), at.col, at.line};
        stream_control(in->stream, &ci.inst);
    }
}

/* Adds what is new, or nothing of it. */
static bool add(Interp *in, const Config *news, const Source *file, ConfigAt *at, Err *err) {
    Signals *s = signal_state(in);
    TRY(config_merge(&s->config, news, at, err));
    const char *name = file ? intern(file->name, strlen(file->name)) : NULL;
    bool has_names = file != NULL;
    for (int i = 0; i < news->n; i++)
        has_names |= strcmp(news->signal[i]->name, CONFIG_EVERYWHERE) != 0;
    if (file) {
        s->source = xrealloc(s->source, (s->n_sources + 1) * sizeof *s->source);
        s->source[s->n_sources++] = file;
    }
    if (has_names) {
        s->file = !s->has_config || s->file == name ? name : NULL;
        s->has_config = true;
    }
    tell(in, news, file);
    return true;
}

void signal_auto_shard(Interp *in) {
    Config news = {0};
    ConfigAt at;
    Err err = {0};
    SignalConfig everywhere = {.name = CONFIG_EVERYWHERE, .said = SAID_AXIS | SAID_WORKERS};
    bool ok = config_put(&news, &everywhere, &err) && add(in, &news, NULL, &at, &err);
    assert(ok);
    config_fini(&news);
}

/* ---- checking names ---- */

static bool is_variable(const Interp *in, const char *interned) {
    for (const Frame *f = in->frame; f; f = NULL) {
        for (const AstFn *fn = f->fn; fn; fn = fn->outer)
            for (int i = 0; i < fn->n_slots; i++)
                if (fn->slot_name && fn->slot_name[i] && !strcmp(fn->slot_name[i], interned))
                    return true;
        const GlobalVar *v = map_get(&f->globals->by_name, (uint64_t)(uintptr_t)interned);
        return v && (v->v.kind == V_STR || v->v.kind == V_INT);
    }
    return false;
}

/* Written as a word, not as a string. */
static bool is_bare(Span at) {
    size_t n;
    const char *s = span_text(at, &n);
    return s && n && *s != '"' && *s != '\'' && *s != 'f';
}

/* by: whose configuration names it as its backward signal, or NULL. */
static void say_unknown(Interp *in, const char *label, const char *by, LangError *e) {
    const Signals *s = in->signals;
    char what[256];
    if (by)
        snprintf(what, sizeof what, "signal '%.100s', backward of '%.100s',", label, by);
    else
        snprintf(what, sizeof what, "signal '%.100s'", label);
    const char *near = config_nearest(&s->config, label, strlen(label));
    Span at = interp_span(in);
    if (!s->has_config)
        error_at(e, at, "%s has no configuration", what);
    else
        error_at(e, at, "%s is not in %s%s", what, s->file ? s->file : "the configuration",
                 in->config.strict            ? ""
                 : in->config.stream.endpoint ? "; unsharded, unless the dispatcher knows it"
                                              : "; running unsharded");
    if (!by && is_bare(at) && is_variable(in, label)) {
        error_hint(e, "its value as the name: signal f\"{%s}\" { … }", label);
    } else if (near) {
        const SignalConfig *c = config_find(&s->config, near, strlen(near));
        if (c->file)
            error_hint(e, "did you mean '%s' (%s:%u)?", near, c->file, c->at.line);
        else
            error_hint(e, "did you mean '%s'?", near);
    } else if (!s->has_config) {
        error_hint(e, "--config FILE, or signal.define(\"%s\", axis=0)", label);
    }
}

bool signal_check(Interp *in, const char *label, const char *by, LangError *e) {
    Signals *s = signal_state(in);
    if (!strcmp(label, CONFIG_EVERYWHERE)) {
        error_set(e, "'*' is no signal: it stands for all that is outside of signals");
        return error_hint(e, "signal.define(\"*\", axis=0), or GT_AUTO_SHARD=1");
    }
    if (!s->has_config && !in->config.strict) return true;
    uint64_t key = (uint64_t)(uintptr_t)label;
    if (config_find(&s->config, label, strlen(label))) return true;
    if (in->config.strict) {
        say_unknown(in, label, by, e);
        return false;
    }
    if (map_get(&s->checked, key)) return true;
    map_put(&s->checked, key, s);
    LangError warning = {0};
    say_unknown(in, label, by, &warning);
    interp_warn(in, &warning);
    return true;
}

/* ---- files ---- */

static bool read_file(const char *path, Bytes *out) {
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    char block[1 << 12];
    for (size_t n; out->n <= FILE_MAX && (n = fread(block, 1, sizeof block, f)) > 0;)
        bytes_add(out, block, n);
    bool ok = !ferror(f);
    int why = errno;
    fclose(f);
    errno = why;
    bytes_puts(out, "");
    return ok;
}

/* Who could be named, behind a hint that shows a list of workers. */
static void add_workers(const Interp *in, Err *err) {
    int n = in->config.stream.workers;
    size_t used = strlen(err->hint);
    if (strncmp(err->hint, "workers: [", 10) || in->config.stream.endpoint || n < 1) return;
    if (n == 1)
        snprintf(err->hint + used, sizeof err->hint - used, "      (1 worker is connected: 0)");
    else
        snprintf(err->hint + used, sizeof err->hint - used,
                 "      (%d workers are connected: 0-%d)", n, n - 1);
}

static bool bad_file(Interp *in, const char *path, const Bytes *text, ConfigAt at, Err *err,
                     LangError *e) {
    add_workers(in, err);
    error_from(e, err);
    if (!at.line) {
        char what[sizeof err->text];
        snprintf(what, sizeof what, "%s", err->text);
        return error_set(e, "%.200s: %s", path, what);
    }
    e->at = (Span){.src = interp_source(in, path, text->data, text->n, 1, false),
                   .line = at.line,
                   .col = (uint16_t)(at.col < UINT16_MAX ? at.col : 0),
                   .len = (uint16_t)(at.len < UINT16_MAX ? at.len : 1)};
    return false;
}

bool signal_load(Interp *in, const char *path, LangError *e) {
    Bytes text = {0};
    Config news = {0};
    ConfigAt at = {0};
    Err err = {0};
    bool ok = read_file(path, &text);
    if (!ok) {
        error_set(e, "cannot read the configuration '%.200s': %s", path, strerror(errno));
    } else {
        ok = config_parse(&news, path, text.data, text.n, &at, &err) &&
             add(in, &news, interp_source(in, path, text.data, text.n, 1, false), &at, &err);
        if (!ok) bad_file(in, path, &text, at, &err, e);
    }
    config_fini(&news);
    bytes_fini(&text);
    return ok;
}

static bool bi_load(Interp *in, const Value *arg, Value *out, LangError *e) {
    if (arg[0].kind != V_STR)
        return error_set(e, "signal.load needs a path, not %s", value_type_name(arg[0]));
    *out = v_none();
    return signal_load(in, arg[0].str->s, e);
}

void signal_explain(void *interp, LangError *e) {
    static const char start[] = "signal '";
    Signals *s = ((Interp *)interp)->signals;
    const char *name = e->what + sizeof start - 1, *end;
    if (!s || strncmp(e->what, start, sizeof start - 1) || !(end = strstr(name, "': "))) return;
    const SignalConfig *c = config_find(&s->config, name, (size_t)(end - name));
    for (size_t i = s->n_sources; c && c->file && i-- > 0;)
        if (!strcmp(s->source[i]->name, c->file) && e->at.src != s->source[i]) {
            error_label(e, place_in(s->source[i], c), "asked for here");
            return;
        }
}

/* ---- values of the language ---- */

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
    s->said |= SAID_AXIS;
    return true;
}

static bool bad_workers(const SignalConfig *s, Value v, LangError *e) {
    error_set(e, "signal '%.100s': workers must be a list of worker numbers, not %s", s->name,
              value_type_name(v));
    if (v.kind == V_INT) return error_hint(e, "workers=[%lld]", (long long)v.i);
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
    s->said |= SAID_WORKERS;
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
    s->said |= bit;
    return true;
}

static bool check_name(Value v, LangError *e) {
    if (v.kind != V_STR)
        return error_set(e, "a signal's name is a string, not %s", value_type_name(v));
    if (!v.str->n || memchr(v.str->s, 0, v.str->n) || memchr(v.str->s, '\n', v.str->n))
        return error_set(e, "a signal needs a name of one line");
    return v.str->n <= MAX_SIGNAL ||
           error_set(e, "a signal's name is longer than %d bytes", MAX_SIGNAL);
}

static bool take_backward(SignalConfig *s, Value v, LangError *e) {
    s->said |= SAID_BACKWARD;
    if (v.kind == V_NONE) return true;
    TRY(check_name(v, e));
    s->backward = xstrdup(v.str->s);
    return true;
}

/* One key of a map of the YAML's shape. */
static bool take_key(SignalConfig *s, bool in_shard, Value key, Value v, LangError *e) {
    static const char *const names[2][3] = {{"shard", "backward", "compile"},
                                            {"axis", "workers", "replicated"}};
    const char *k = key.kind == V_STR ? key.str->s : "";
    if (in_shard && !strcmp(k, "axis")) return take_axis(s, v, e);
    if (in_shard && !strcmp(k, "workers")) return take_workers(s, v, e);
    if (in_shard && !strcmp(k, "replicated"))
        return take_bool(s, v, k, SAID_REPLICATED, &s->replicated, e);
    if (!in_shard && !strcmp(k, "backward")) return take_backward(s, v, e);
    if (!in_shard && !strcmp(k, "compile")) return take_bool(s, v, k, SAID_COMPILE, &s->compile, e);
    if (!in_shard && !strcmp(k, "shard")) {
        if (v.kind == V_NONE) return true;
        if (v.kind != V_MAP) {
            error_set(e, "signal '%.100s': shard is a map, not %s", s->name, value_type_name(v));
            return error_hint(e, "shard: {axis: 0, workers: [0, 1]}");
        }
        s->said |= SAID_AXIS;
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

static bool take_map(Config *news, Value name, Value map, LangError *e) {
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
    if (ok && !config_put(news, &s, &err)) ok = error_from(e, &err);
    signal_config_fini(&s);
    return ok;
}

static bool take_arguments(Config *news, const Value *arg, LangError *e) {
    SignalConfig s = {.name = xstrdup(arg[0].str->s)};
    Err err = {0};
    bool ok = take_axis(&s, arg[1], e) && take_workers(&s, arg[2], e) &&
              take_bool(&s, arg[3], "replicated", SAID_REPLICATED, &s.replicated, e) &&
              take_backward(&s, arg[4], e) &&
              take_bool(&s, arg[5], "compile", SAID_COMPILE, &s.compile, e);
    if (ok && !config_put(news, &s, &err)) ok = error_from(e, &err);
    signal_config_fini(&s);
    return ok;
}

/* define(name, axis=...), define(name, {shard: ...}), define({name: {shard: ...}}) */
static bool bi_define(Interp *in, const Value *arg, Value *out, LangError *e) {
    Config news = {0};
    ConfigAt at;
    Err err = {0};
    Value key, v;
    bool ok = true;
    if (arg[0].kind == V_MAP) {
        for (size_t i = 0; ok && mapv_at(arg[0].map, i, &key, &v); i++)
            ok = take_map(&news, key, v, e);
    } else if ((ok = check_name(arg[0], e))) {
        ok = arg[1].kind == V_MAP ? take_map(&news, arg[0], arg[1], e)
                                  : take_arguments(&news, arg, e);
    }
    if (ok && !add(in, &news, NULL, &at, &err)) ok = error_from(e, &err);
    config_fini(&news);
    *out = v_none();
    return ok;
}

static void map_add(Interp *in, Value map, const char *name, Value v) {
    mapv_put(map.map, value_ref(name_str(in, intern(name, strlen(name)))), v);
}

static Value value_of(Interp *in, const SignalConfig *s) {
    Value m = v_map(in), shard = v_none();
    if (signal_is_sharded(s)) {
        Value workers = v_none();
        if (s->n_workers) {
            workers = v_list(in, (size_t)s->n_workers);
            for (int i = 0; i < s->n_workers; i++) list_push(workers.list, v_int(s->workers[i]));
        }
        shard = v_map(in);
        map_add(in, shard, "axis", v_int(s->axis));
        map_add(in, shard, "workers", workers);
        map_add(in, shard, "replicated", v_bool(s->replicated));
    }
    map_add(in, m, "shard", shard);
    map_add(in, m, "backward", s->backward ? v_cstr(s->backward) : v_none());
    map_add(in, m, "compile", v_bool(s->compile));
    return m;
}

static bool bi_get(Interp *in, const Value *arg, Value *out, LangError *e) {
    const Config *c = &signal_state(in)->config;
    if (arg[0].kind == V_NONE) {
        *out = v_map(in);
        for (int i = 0; i < c->n; i++)
            map_add(in, *out, c->signal[i]->name, value_of(in, c->signal[i]));
        return true;
    }
    TRY(check_name(arg[0], e));
    const SignalConfig *s = config_find(c, arg[0].str->s, arg[0].str->n);
    *out = s ? value_of(in, s) : v_none();
    return true;
}

const Builtin builtins_signal_config[] = {
    {"signal.load", "path", bi_load, "Reads what signals ask for from a YAML file; later wins.", 0,
     -1},
    {"signal.define", "name, axis=0, workers=none, replicated=false, backward=none, compile=false",
     bi_define, "Says what a signal asks for; workers none means all. Or a map like the YAML's.", 0,
     -1},
    {"signal.get", "name=none", bi_get,
     "What is known of a signal, as a map like the YAML's, or none. Without a name: of all.", 0,
     -1},
    {NULL}};
