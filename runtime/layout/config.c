/* config.c: the table of signals: lookup, merging, and conversion to and from an instruction.
 * config_yaml.c reads the YAML.
 * SPDX-License-Identifier: MIT */
#include "runtime/layout/config.h"
#include "runtime/base/near.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CIRCLE_MAX = 64 }; /* longer circles are harmless: each gradient of a gradient is one step */

/* ---- One signal ---- */

void signal_config_fini(SignalConfig *s) {
    free(s->name);
    free(s->workers);
    free(s->backward);
    free(s->file);
    *s = (SignalConfig){0};
}

static void set_text(char **to, const char *s) {
    char *copy = s ? xstrdup(s) : NULL;
    free(*to);
    *to = copy;
}

/* Merges s over earlier settings. An axis revokes an earlier `replicated` and the reverse: s
 * does not contradict itself, and the result must not either. */
static void take(SignalConfig *to, const SignalConfig *s) {
    to->has |= s->has;
    if ((s->has & HAS_REPLICATED) && s->replicated) to->axis = 0;
    if ((s->has & HAS_AXIS) && s->axis) to->replicated = false;
    if (s->has & HAS_AXIS) to->axis = s->axis, to->axis_at = s->axis_at;
    if (s->has & HAS_REPLICATED) to->replicated = s->replicated;
    if (s->has & HAS_COMPILE) to->compile = s->compile;
    if (s->has & HAS_BACKWARD) {
        set_text(&to->backward, s->backward);
        to->backward_at = s->backward_at;
    }
    if (s->has & HAS_WORKERS) {
        free(to->workers);
        to->n_workers = s->n_workers, to->workers_at = s->workers_at;
        to->workers = s->n_workers ? xmalloc((size_t)s->n_workers * sizeof *s->workers) : NULL;
        if (s->n_workers)
            memcpy(to->workers, s->workers, (size_t)s->n_workers * sizeof *s->workers);
    }
}

/* ---- The table ---- */

void config_fini(Config *c) {
    for (int i = 0; i < c->n; i++) {
        signal_config_fini(c->signal[i]);
        free(c->signal[i]);
    }
    free(c->signal);
    map_fini(&c->by_name);
    *c = (Config){0};
}

static SignalConfig *find(const Config *c, const char *name, size_t n) {
    SignalConfig *s = map_get(&c->by_name, hash_bytes(name, n, 0));
    while (s && (strlen(s->name) != n || memcmp(s->name, name, n))) s = s->next;
    return s;
}

const SignalConfig *config_find(const Config *c, const char *name, size_t n) {
    return find(c, name, n);
}

const char *config_nearest(const Config *c, const char *name, size_t n) {
    const char **names = xmalloc((size_t)(c->n + 1) * sizeof *names);
    size_t count = 0;
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->signal[i]->name, CONFIG_EVERYWHERE)) names[count++] = c->signal[i]->name;
    const char *found = nearest_name(name, n, names, count);
    free(names);
    return found;
}

/* ---- Merging ---- */

static const char *next_backward(const Config *c, const Config *from, const char *name) {
    size_t n = strlen(name);
    const SignalConfig *old = find(c, name, n), *new = from ? find(from, name, n) : NULL;
    const SignalConfig *s = new &&new->has &HAS_BACKWARD ? new : old;
    return s ? s->backward : NULL;
}

/* Do the backward signals from `name` on lead back to it, once `from` is merged over c? (A
 * signal that names itself is allowed: that is the default.) */
static bool is_circle(const Config *c, const Config *from, const char *name) {
    const char *at = next_backward(c, from, name);
    if (!at || strcmp(at, name) == 0) return false;
    for (int steps = 0; at && steps < CIRCLE_MAX; steps++) {
        if (strcmp(at, name) == 0) return true;
        const char *next = next_backward(c, from, at);
        if (next && strcmp(next, at) == 0) return false;
        at = next;
    }
    return false;
}

bool signal_config_check(const SignalConfig *s, ConfigAt *at, Err *err) {
    if ((s->has & HAS_REPLICATED) && s->replicated && (s->has & HAS_AXIS) && s->axis != 0) {
        *at = s->axis_at;
        err_set(err, ERR_ARG, "signal '%.100s': axis %d and replicated contradict each other",
                s->name, s->axis);
        return err_hint(err, "replicated: a whole copy on each worker; axis: a split. Drop one");
    }
    bool is_everywhere = !strcmp(s->name, CONFIG_EVERYWHERE);
    if (is_everywhere && (s->backward || s->compile)) {
        *at = s->backward ? s->backward_at : s->at;
        err_set(err, ERR_ARG, "signal '*': %s has no effect outside signals",
                s->backward ? "backward" : "compile");
        return err_hint(err, "'*' takes shard only");
    }
    if (!s->backward || strcmp(s->backward, CONFIG_EVERYWHERE)) return true;
    *at = s->backward_at;
    err_set(err, ERR_ARG, "signal '%.100s': backward '*' is not a signal", s->name);
    return err_hint(err, "'*' applies outside all signals");
}

static bool check(const Config *c, const Config *from, ConfigAt *at, Err *err) {
    int more = 0;
    for (int i = 0; i < from->n; i++) {
        const SignalConfig *s = from->signal[i];
        TRY(signal_config_check(s, at, err));
        more += !find(c, s->name, strlen(s->name));
        if (!(s->has & HAS_BACKWARD) || !is_circle(c, from, s->name)) continue;
        *at = s->backward_at;
        err_set(err, ERR_ARG, "signal '%.100s': backward '%.100s' leads back to it", s->name,
                s->backward);
        return err_hint(err, "give the gradients a signal of their own: %.100s_backward", s->name);
    }
    if (c->n + more <= MAX_SIGNALS) return true;
    return err_set(err, ERR_LIMIT, "more than %d signals", MAX_SIGNALS);
}

static void put(Config *c, const SignalConfig *s) {
    size_t n = strlen(s->name);
    SignalConfig *mine = find(c, s->name, n);
    if (!mine) {
        mine = xcalloc(1, sizeof *mine);
        mine->name = xstrdup(s->name);
        set_text(&mine->file, s->file);
        mine->at = s->at;
        ARRAY_PUSH(c->signal, c->n, c->cap, 8, mine);
        mine->next = map_get(&c->by_name, hash_bytes(s->name, n, 0));
        map_put(&c->by_name, hash_bytes(s->name, n, 0), mine);
    }
    take(mine, s);
    c->epoch++;
}

bool config_merge(Config *c, const Config *from, ConfigAt *at, Err *err) {
    *at = (ConfigAt){0};
    if (!check(c, from, at, err)) return false;
    for (int i = 0; i < from->n; i++) put(c, from->signal[i]);
    return true;
}

bool config_put(Config *c, const SignalConfig *s, Err *err) {
    Config one = {0};
    ConfigAt at;
    put(&one, s);
    bool ok = config_merge(c, &one, &at, err);
    config_fini(&one);
    return ok;
}

/* ---- As an instruction ---- */

void config_inst(const SignalConfig *s, ConfigInst *out) {
    int n = 0;
    Attr *a = out->attr;
    out->axis = s->axis;
    a[n++] = (Attr){.key = ATTR_NAME, .n = (uint32_t)strlen(s->name), .str = s->name};
    if (s->has & HAS_AXIS) a[n++] = (Attr){.key = ATTR_AXIS, .n = 1, .ints = &out->axis};
    if (s->has & HAS_BACKWARD) {
        const char *b = s->backward ? s->backward : "";
        a[n++] = (Attr){.key = ATTR_BACKWARD, .n = (uint32_t)strlen(b), .str = b};
    }
    if (s->has & HAS_WORKERS)
        a[n++] = (Attr){.key = ATTR_WORKERS, .n = (uint32_t)s->n_workers, .ints = s->workers};
    if (s->has & HAS_REPLICATED) a[n++] = (Attr){.key = ATTR_REPLICATED, .b = s->replicated};
    if (s->has & HAS_COMPILE) a[n++] = (Attr){.key = ATTR_COMPILE, .b = s->compile};
    out->inst = (Inst){.op = OP_SIGNAL_DEFINE, .n_attr = (uint16_t)n, .attr = a};
}

bool config_define(Config *c, const Inst *inst, Err *err) {
    const Attr *name = inst_attr(inst, ATTR_NAME), *a;
    assert(inst->op == OP_SIGNAL_DEFINE && name);
    SignalConfig s = {.name = xstrndup(name->str, name->n)};
    if ((a = inst_attr(inst, ATTR_AXIS))) s.has |= HAS_AXIS, s.axis = (int)a->ints[0];
    if ((a = inst_attr(inst, ATTR_WORKERS))) {
        s.has |= HAS_WORKERS;
        s.n_workers = (int)a->n;
        s.workers = xmalloc(a->n * sizeof *s.workers);
        if (a->n) memcpy(s.workers, a->ints, a->n * sizeof *s.workers);
    }
    if ((a = inst_attr(inst, ATTR_REPLICATED))) s.has |= HAS_REPLICATED, s.replicated = a->b;
    if ((a = inst_attr(inst, ATTR_COMPILE))) s.has |= HAS_COMPILE, s.compile = a->b;
    if ((a = inst_attr(inst, ATTR_BACKWARD))) {
        s.has |= HAS_BACKWARD;
        s.backward = a->n ? xstrndup(a->str, a->n) : NULL;
    }
    bool ok = config_put(c, &s, err);
    signal_config_fini(&s);
    return ok;
}
