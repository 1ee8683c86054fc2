/* client.c: a client's record and its credit.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/client.h"
#include <stdlib.h>

Client *client_new(PeerId peer, uint32_t id, uint64_t seed) {
    Client *c = xcalloc(1, sizeof *c);
    c->peer = peer;
    c->id = id;
    c->rank = -1;
    c->tensors.seed = seed;
    return c;
}

void client_free(Client **cp) {
    Client *c = *cp;
    *cp = NULL;
    if (!c) return;
    handles_fini(&c->tensors);
    config_fini(&c->signals);
    free(c->frame);
    free(c);
}

static void push(Client *c, FrameCredit f) {
    if (c->n_frames == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 64;
        FrameCredit *ring = xmalloc(cap * sizeof *ring);
        for (size_t i = 0; i < c->n_frames; i++) ring[i] = c->frame[(c->at + i) & (c->cap - 1)];
        free(c->frame);
        c->frame = ring, c->cap = cap, c->at = 0;
    }
    c->frame[(c->at + c->n_frames++) & (c->cap - 1)] = f;
}

bool client_credit(Client *c, uint32_t count, uint64_t head_bytes, Err *err) {
    uint64_t insts = c->next_seq - c->acked_seq + count;
    if (insts > WINDOW_INSTS)
        return err_set(err, ERR_LIMIT, "%llu instructions under way, the window is %d",
                       (unsigned long long)insts, WINDOW_INSTS);
    if (c->bytes + head_bytes > WINDOW_BYTES && c->n_frames > 0)
        return err_set(err, ERR_LIMIT, "%llu bytes of frames under way, the window is %u",
                       (unsigned long long)(c->bytes + head_bytes), WINDOW_BYTES);
    c->next_seq += count;
    c->bytes += head_bytes;
    push(c, (FrameCredit){c->next_seq, head_bytes});
    return true;
}

bool client_ack(Client *c, uint64_t seq) {
    if (seq < c->acked_seq || seq > c->next_seq) return false;
    c->acked_seq = seq;
    while (c->n_frames > 0 && c->frame[c->at].seq_end <= seq) {
        c->bytes -= c->frame[c->at].bytes;
        c->at = (c->at + 1) & (c->cap - 1);
        c->n_frames--;
    }
    return true;
}
