/* signal_config.c: signals defined by the program and its files. The client keeps them to check
 * names, to know where gradients run, and for signal.get. Each change is sent as a `signal define`,
 * because the dispatcher acts on it. (runtime/layout/config_yaml.c checks the YAML of a file.)
 * SPDX-License-Identifier: MIT */
#include "lang/value/frame.h"
#include "lang/tensor/signal.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 1 << 20 };

/* ---- sending ---- */

/* The position of a signal in its file: of its workers, if given, because the dispatcher may refuse
 * those. */
static Span place_in(const Source *file, const SignalConfig *s) {
    ConfigAt at = s->workers_at.line ? s->workers_at : s->at;
    return (Span){.src = file,
                  .line = at.line,
                  .col = (uint16_t)(at.col < UINT16_MAX ? at.col : 0),
                  .len = (uint16_t)(at.len < UINT16_MAX ? at.len : 1)};
}

/* Sends definitions. file: the text that they are from; NULL: the program's current line. */
static void send_definitions(Interp *in, const Config *added, const Source *file) {
    for (int i = 0; i < added->n; i++) {
        ConfigInst ci;
        Span at = file ? place_in(file, added->signal[i]) : interp_span(in);
        config_inst(added->signal[i], &ci);
        if (at.src) ci.inst.pos = (SrcPos){stream_file(in->stream, at.src), at.col, at.line};
        stream_control(in->stream, &ci.inst);
    }
}

/* Adds all of added, or on an error nothing. */
static bool add(Interp *in, const Config *added, const Source *file, ConfigAt *at, Err *err) {
    Signals *s = signal_state(in);
    TRY(config_merge(&s->config, added, at, err));
    const char *name = file ? intern(file->name, strlen(file->name)) : NULL;
    bool has_names = file != NULL;
    for (int i = 0; i < added->n; i++)
        has_names |= strcmp(added->signal[i]->name, CONFIG_EVERYWHERE) != 0;
    if (file) {
        s->source = xrealloc(s->source, (s->n_sources + 1) * sizeof *s->source);
        s->source[s->n_sources++] = file;
    }
    if (has_names) {
        s->file = !s->has_config || s->file == name ? name : NULL;
        s->has_config = true;
    }
    send_definitions(in, added, file);
    return true;
}

bool signal_add(Interp *in, const Config *added, Err *err) {
    ConfigAt at;
    return add(in, added, NULL, &at, err);
}

void signal_auto_shard(Interp *in) {
    Config added = {0};
    ConfigAt at;
    Err err = {0};
    SignalConfig everywhere = {.name = CONFIG_EVERYWHERE, .has = HAS_AXIS | HAS_WORKERS};
    bool ok = config_put(&added, &everywhere, &err) && add(in, &added, NULL, &at, &err);
    assert(ok);
    config_fini(&added);
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

/* True if the name is written as a word, not as a string. */
static bool is_bare(Span at) {
    size_t n;
    const char *s = span_text(at, &n);
    return s && n && *s != '"' && *s != '\'' && *s != 'f';
}

/* by: the signal whose configuration names it as backward signal, or NULL. */
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
        error_set(e, "'*' is not a signal: it applies outside of all signals");
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

/* Adds the connected workers to a hint that shows a list of workers. */
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
    Config added = {0};
    ConfigAt at = {0};
    Err err = {0};
    bool ok = bytes_read(&text, path, FILE_MAX);
    if (!ok) {
        error_set(e, "cannot read the configuration '%.200s': %s", path, strerror(errno));
    } else {
        ok = config_parse(&added, path, text.data, text.n, &at, &err) &&
             add(in, &added, interp_source(in, path, text.data, text.n, 1, false), &at, &err);
        if (!ok) bad_file(in, path, &text, at, &err, e);
    }
    config_fini(&added);
    bytes_fini(&text);
    return ok;
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
            e->kind = E_CONFIG;
            return;
        }
}
