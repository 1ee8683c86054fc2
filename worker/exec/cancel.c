/* cancel.c: see cancel.h. SPDX-License-Identifier: MIT */
#include "worker/exec/cancel.h"
#include "worker/exec/issue.h"

/* Called by the engine during a call. Polls for messages; returns true if the call must end. */
static bool is_busy_cancelled(void *ctx) {
    Exec *x = ctx;
    x->poll(x->poll_ctx);
    return x->busy && (x->busy->has_pending_cancel || x->is_ending);
}

void exec_set_poll(Exec *x, void (*poll)(void *ctx), void *ctx) {
    x->poll = poll, x->poll_ctx = ctx;
    if (x->ops->set_cancel) x->ops->set_cancel(x->engine, poll ? is_busy_cancelled : NULL, x);
}

void exec_cancel_running(Exec *x, uint32_t client, uint64_t seq) {
    Client *c = x->busy;
    if (!c || c->id != client || c->is_gone || x->busy_seq >= seq || seq <= c->cancel_end) return;
    c->has_pending_cancel = x->may_cancel = true;
    c->pending_cancel_end = seq;
}

void exec_cancel_done(Exec *x, Client *c) {
    c->has_pending_cancel = false;
    x->may_cancel = x->is_ending;
    for (const Client *o = x->clients; o; o = o->next) x->may_cancel |= o->has_pending_cancel;
}

void exec_end(Exec *x) { x->is_ending = x->may_cancel = true; }

void exec_begin_call(Exec *x, Client *c, uint64_t seq) {
    x->busy = c, x->busy_seq = seq;
    if (__builtin_expect(x->may_cancel, 0) && x->ops->cancel)
        x->ops->cancel(x->engine, c->has_pending_cancel || x->is_ending);
}

/* A move calls the engine directly (move.c), with busy NULL, so a cancel does not end its calls. */
void exec_end_call(Exec *x) {
    x->busy = NULL;
    if (__builtin_expect(x->may_cancel, 0) && x->ops->cancel) x->ops->cancel(x->engine, false);
}

Ticket exec_call(Exec *x, Client *c, uint64_t seq, const Call *call, const Ticket *after,
                 int n_after) {
    exec_begin_call(x, c, seq);
    Ticket t = x->ops->submit(x->engine, call, after, n_after);
    exec_end_call(x);
    return t;
}

bool exec_fused(Exec *x, Client *c, uint64_t seq, const Call *product, struct Fusion *f,
                const struct FusedKernel *k) {
    exec_begin_call(x, c, seq);
    bool ok =
        product ? x->ops->fused_product(x->engine, product, f, k) : x->ops->fused(x->engine, f, k);
    exec_end_call(x);
    return ok;
}

void exec_call_failed(Exec *x, Job *j, const Err *err) {
    Client *c = j->frame->client;
    if (err->code != ERR_CANCELLED) {
        exec_fail_in_order(x, j, err);
        return;
    }
    /* If no cancel is pending, the worker is shutting down, and nothing is reported. */
    if (!c->has_pending_cancel) return;
    if (c->pending_cancel_end > c->cancel_end) {
        c->cancel_end = c->pending_cancel_end;
        c->is_cancel_reported =
            c->pending_cancel_end == UINT64_MAX; /* the client is gone: no report */
    }
    exec_report_cancelled(x, j);
}
