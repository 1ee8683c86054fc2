/* mod_scope.c: the open signals of a client and their settings. Definitions belong to their client
 * and override the dispatcher's. The effect of a scope is computed when it is entered, and again
 * when definitions or workers change. Of nested scopes the innermost that names a
 * placement decides; one that is unknown or names none leaves the outer one in force. The same
 * holds for `compile`, compilation at the first request: where it begins or ends, this modifier
 * inserts a `scope` instruction for the workers. Workers get the signals too, and skip them.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/mod_scope.h"
#include "dispatcher/chain/modifier.h"
#include "dispatcher/state/home.h"
#include "dispatcher/state/send.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUGGESTED_WORKERS = 16 }; /* a signal that names a later one is rather mistyped */

/* Fails for a worker that a signal names and that is not there. */
static bool no_worker(const Dispatcher *d, const SignalConfig *s, int64_t rank, Err *err) {
    int last = 0;
    char more[40] = "";
    for (int i = 0; i < s->n_workers; i++)
        if (s->workers[i] > last)
            last = s->workers[i] < SUGGESTED_WORKERS ? (int)s->workers[i] : SUGGESTED_WORKERS;
    err_set(err, ERR_ARG, "signal '%.100s': there is no worker %lld", s->name, (long long)rank);
    if (last >= d->n_ranks && last < SUGGESTED_WORKERS)
        snprintf(more, sizeof more, "; -w %d starts %d", last + 1, last + 1);
    if (d->n_workers == 1)
        return err_hint(err, "one worker is connected: %d%s", home_pick(d)->rank, more);
    return err_hint(err, "%d workers are connected: 0-%d%s", d->n_workers, d->n_ranks - 1, more);
}

/* Returns the group that a signal names. NULL: err says why there is none. */
static const Members *group_of(Dispatcher *d, Client *c, const SignalConfig *s, Err *err) {
    int32_t rank[MAX_INTS];
    if (s->n_workers == 0) return c->all;
    for (int i = 0; i < s->n_workers; i++) {
        int64_t r = s->workers[i];
        if (r < 0 || r >= d->n_ranks || !d->worker[r]) return no_worker(d, s, r, err), NULL;
        rank[i] = (int32_t)r;
    }
    bool may_make = c->n_groups < CLIENT_GROUPS_MAX;
    const Members *g = may_make ? dispatcher_group(d, rank, s->n_workers)
                                : groups_find(&d->groups, rank, s->n_workers);
    if (g)
        dispatcher_hold_group(d, c, g);
    else
        err_set(err, ERR_LIMIT, "signal '%.100s': more groups of workers than one client may make",
                s->name);
    return g;
}

bool scope_target(Dispatcher *d, Client *c, const char *name, size_t n, Target *out, Err *err) {
    *out = (Target){0};
    const SignalConfig *s = config_find(&c->signals, name, n);
    if (!s || !signal_is_sharded(s)) return true;
    out->group = group_of(d, c, s, err);
    out->axis = s->axis;
    out->is_whole = (s->has & HAS_REPLICATED) && s->replicated;
    return out->group != NULL;
}

static Compile compile_of(const Client *c, const char *name, size_t n) {
    const SignalConfig *s = config_find(&c->signals, name, n);
    if (!s || !(s->has & HAS_COMPILE)) return COMPILE_UNSET;
    return s->compile ? COMPILE_YES : COMPILE_NO;
}

static void choose(Client *c) {
    c->target = (Target){0};
    for (int i = c->depth; i-- > 0 && !c->target.group;) c->target = c->scope[i].target;
}

void scope_refresh(Dispatcher *d, Client *c) {
    Err err = {0};
    for (int i = 0; i < c->depth; i++)
        scope_target(d, c, c->scope[i].name, c->scope[i].n, &c->scope[i].target, &err);
    scope_target(d, c, CONFIG_EVERYWHERE, 1, &c->auto_target, &err);
    choose(c);
}

static bool is_named(const Scope *s, const Attr *name) {
    return s->n == name->n && !memcmp(s->name, name->str, s->n);
}

/* After a definition: computes all open scopes of that name again. */
static void redefined(Dispatcher *d, Client *c, const Attr *name) {
    Err err = {0};
    Target t;
    scope_target(d, c, name->str, name->n, &t, &err);
    Compile compile = compile_of(c, name->str, name->n);
    for (int i = 0; i < c->depth; i++)
        if (is_named(&c->scope[i], name)) c->scope[i].target = t, c->scope[i].compile = compile;
    if (name->n == 1 && name->str[0] == CONFIG_EVERYWHERE[0]) c->auto_target = t;
    choose(c);
}

/* For those that watch: the workers that get the work of the innermost scope, which was entered. */
static void show_scope(Dispatcher *d, Client *c) {
    const Scope *s = &c->scope[c->depth - 1];
    const Members *group = c->target.group;
    for (int i = 0; group && i < group->n; i++) {
        WorkerPeer *w = d->worker[group->rank[i]];
        if (w) snprintf(w->in_signal, sizeof w->in_signal, "%s", s->name);
    }
}

/* False if the request cannot be met. The scope is open all the same, because its exit will
 * come. */
static bool enter(Dispatcher *d, Client *c, const Inst *inst, Err *err) {
    const Attr *name = inst_attr(inst, ATTR_NAME);
    if (c->depth == SCOPES_MAX) return err_set(err, ERR_LIMIT, "signals nest too deep");
    ARRAY_ROOM(c->scope, c->depth, c->cap_scope, 8);
    Scope *s = &c->scope[c->depth++];
    s->name = xstrndup(name->str, name->n);
    s->n = name->n;
    s->compile = compile_of(c, s->name, name->n);
    bool ok = scope_target(d, c, s->name, name->n, &s->target, err);
    choose(c);
    if (d->listeners) show_scope(d, c);
    return ok;
}

/* Closes the innermost scope of that name, and those left open inside it. */
static bool leave(Client *c, const Inst *inst, Err *err) {
    const Attr *name = inst_attr(inst, ATTR_NAME);
    int i = c->depth - 1;
    while (i >= 0 && name && !is_named(&c->scope[i], name)) i--;
    if (i < 0) return err_set(err, ERR_ARG, "no such signal is open");
    while (c->depth > i) free(c->scope[--c->depth].name);
    choose(c);
    return true;
}

/* The signal f has passed: inserts a `scope` if it begins or ends `compile`. */
static void insert_scope(const Flow *f, int stage) {
    Compile compile = COMPILE_UNSET;
    for (int i = f->client->depth; i-- > 0 && !compile;) compile = f->client->scope[i].compile;
    bool on = compile == COMPILE_YES;
    if (on == f->client->compiles) return;
    Attr attr = {.key = ATTR_COMPILE, .b = on};
    Flow g = {.d = f->d, .client = f->client, .seq = f->seq};
    g.inst = (Inst){.op = OP_SCOPE, .pos = f->inst.pos, .n_attr = 1, .attr = &attr};
    g.is_inserted = true, g.because = f->inst.op;
    chain_next(&g, stage + 1);
}

static void process(Flow *f, int stage) {
    Op op = f->inst.op;
    Err err; /* set only by a failing call */
    Client *c = f->client;
    bool ok = true;
    switch (op) {
    case OP_SIGNAL_ENTER: ok = enter(f->d, c, &f->inst, &err); break;
    case OP_SIGNAL_EXIT: ok = leave(c, &f->inst, &err); break;
    case OP_SIGNAL_DEFINE:
        ok = config_define(&c->signals, &f->inst, &err);
        if (ok) redefined(f->d, c, inst_attr(&f->inst, ATTR_NAME));
        break;
    default: break;
    }
    if (!ok) dispatcher_refuse_inst(f->d, c, f->seq, &f->inst, &err);
    chain_next(f, stage + 1);
    if (op == OP_SIGNAL_ENTER || op == OP_SIGNAL_EXIT || op == OP_SIGNAL_DEFINE)
        insert_scope(f, stage);
}

static void stats(const struct Dispatcher *d, Bytes *out) {
    int n = 0;
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);)
        n += ((const Client *)it.value)->signals.n;
    bytes_printf(out, "signals=%d\ngroups=%u\n", n, (unsigned)d->groups.by_id.n);
}

const Modifier modifier_scope = {"scope", process, stats};
