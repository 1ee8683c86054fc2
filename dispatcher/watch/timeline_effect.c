/* timeline_effect.c: instructions without a result: print, fetch, save, ... Their lines have no id.
 * But those of one client are sent and done in the order in which they were received, so a `done`
 * line belongs to the oldest one of its operation.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/timeline_effect.h"

enum { WAITING_MAX = 1 << 16 }; /* per client and operation; later ones are not followed */

/* The queue of an operation; NULL: there is none (and none is made). */
static EffectQueue *queue_of(ClientState *c, Op op, bool make) {
    for (int i = 0; i < c->n_effects; i++)
        if (c->effect[i].op == op) return &c->effect[i];
    if (!make || c->n_effects == EFFECTS_MAX || op >= OP_COUNT || !op_is_effect(op)) return NULL;
    c->effect[c->n_effects] = (EffectQueue){.op = op};
    return &c->effect[c->n_effects++];
}

void effect_received(ClientState *c, Op op, const Effect *effect) {
    EffectQueue *q = queue_of(c, op, true);
    if (q && q->waiting.n < WAITING_MAX)
        *(Effect *)fifo_push(&q->waiting, sizeof *effect) = *effect;
}

const Effect *effect_sent(ClientState *c, Op op, int64_t at_ns) {
    EffectQueue *q = queue_of(c, op, false);
    if (!q || q->n_sent == q->waiting.n) return NULL;
    Effect *e = fifo_at(&q->waiting, q->n_sent++);
    e->sent_ns = at_ns;
    return e;
}

bool effect_done(ClientState *c, Op op, int64_t at_ns, Effect *out) {
    EffectQueue *q = queue_of(c, op, false);
    if (!q || q->waiting.n == 0) return false;
    *out = *(Effect *)fifo_at(&q->waiting, 0);
    if (out->asked_ns > at_ns) return false; /* the one done is older than the tape */
    fifo_pop(&q->waiting);
    if (q->n_sent > 0) q->n_sent--;
    return true;
}

void effects_fini(ClientState *c) {
    for (int i = 0; i < c->n_effects; i++) fifo_fini(&c->effect[i].waiting);
}
