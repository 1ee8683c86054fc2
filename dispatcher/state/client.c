/* client.c: a client's record, its credit, and messages that go to it in stream order.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/client.h"

#include <stdlib.h>
#include <string.h>

Client *client_new(PeerId peer, uint32_t id, uint64_t seed) {
    Client *c = xcalloc(1, sizeof *c);
    c->peer = peer;
    c->id = id;
    c->rank = -1;
    c->tensors.seed = seed;
    return c;
}

static void held_free(Held *h) {
    msg_fini(&h->msg);
    free(h);
}

void client_free(Client **cp) {
    Client *c = *cp;
    *cp = NULL;
    if (!c) return;
    handles_fini(&c->tensors);
    bodies_fini(&c->bodies);
    config_fini(&c->signals);
    for (int i = 0; i < c->depth; i++) free(c->scope[i].name);
    for (MapItem it = {0}; map_next(&c->held, &it);) held_free(it.value);
    map_fini(&c->held);
    free(c->scope);
    for (int i = 0; i < c->n_files; i++) free(c->file[i]);
    free(c->file);
    free(c->group);
    fifo_fini(&c->sent);
    free(c->cursor);
    fifo_fini(&c->unread_replies);
    free(c);
}

/* ---- Source files ---- */

enum { NAMES_BYTES = 1 << 20 }; /* of names of source files, per client */

void client_learn_file(Client *c, const Inst *inst) {
    const Attr *name = inst_attr(inst, ATTR_NAME);
    if (!name || inst->n_in < 1 || inst->in[0].kind != IN_IMM_INT) return;
    int64_t k = inst->in[0].i;
    if (k < 0 || k > UINT16_MAX) return;
    size_t old = k < c->n_files && c->file[k] ? strlen(c->file[k]) : 0;
    if (c->file_bytes - old + name->n > NAMES_BYTES) return;
    if (k >= c->n_files) {
        c->file = xrealloc(c->file, ((size_t)k + 1) * sizeof c->file[0]);
        while (c->n_files <= k) c->file[c->n_files++] = NULL;
    }
    free(c->file[k]);
    c->file[k] = xstrndup(name->str, name->n);
    c->file_bytes += name->n - old;
}

/* ---- Credit ---- */

static Sent *sent_at(const Client *c, uint64_t number) {
    return fifo_at(&c->sent, number - c->first_sent);
}

bool client_unknown_id(const Client *c, uint64_t id, Err *err) {
    return err_set(err, ERR_ID, id < c->next_id ? "t%llu was freed before" : "t%llu is not known",
                   (unsigned long long)id);
}

bool client_credit(Client *c, uint32_t count, uint64_t head_bytes, Err *err) {
    uint64_t insts = c->next_seq - c->acked_seq + count;
    if (insts > WINDOW_INSTS)
        return err_set(err, ERR_LIMIT, "%llu instructions in flight, the window is %d",
                       (unsigned long long)insts, WINDOW_INSTS);
    if (c->bytes + head_bytes > WINDOW_BYTES && c->bytes > 0)
        return err_set(err, ERR_LIMIT, "%llu bytes of frames in flight, the window is %u",
                       (unsigned long long)(c->bytes + head_bytes), WINDOW_BYTES);
    c->next_seq += count;
    c->bytes += head_bytes;
    return true;
}

bool client_rate(Client *c, Free kind, int64_t now_ms, Err *err) {
    static const struct {
        int per_s;
        const char *what;
    } rates[FREE_KINDS] = {[FREE_BEAT] = {RATE_BEATS, "heartbeats"},
                           [FREE_CANCEL] = {RATE_CANCELS, "cancels"},
                           [FREE_FRAME] = {RATE_EMPTY, "frames without instructions"}};
    Rate *r = &c->rate[kind];
    int64_t per_s = rates[kind].per_s, full = per_s * RATE_BURST * 1000;
    int64_t past = r->at_ms ? now_ms - r->at_ms : RATE_BURST * INT64_C(1000);
    if (past > RATE_BURST * 1000) past = RATE_BURST * 1000;
    if (past > 0 || !r->at_ms) r->left += past * per_s, r->at_ms = now_ms ? now_ms : 1;
    if (r->left > full) r->left = full;
    if ((r->left -= 1000) >= 0) return true;
    return err_set(err, ERR_LIMIT, "more than %d %s a second", (int)per_s, rates[kind].what);
}

void client_answered(Client *c, int rank, uint64_t bytes) {
    UnreadReply *last =
        c->unread_replies.n ? fifo_at(&c->unread_replies, c->unread_replies.n - 1) : NULL;
    if (last && last->rank == rank) {
        last->bytes += bytes;
        return;
    }
    *(UnreadReply *)fifo_push(&c->unread_replies, sizeof(UnreadReply)) = (UnreadReply){rank, bytes};
}

int client_read(Client *c, uint64_t *bytes, uint64_t *of_rank) {
    if (!c->unread_replies.n || *bytes == 0) return -1;
    UnreadReply *first = fifo_at(&c->unread_replies, 0);
    int rank = first->rank;
    *of_rank = *bytes < first->bytes ? *bytes : first->bytes;
    *bytes -= *of_rank;
    if ((first->bytes -= *of_rank) == 0) fifo_pop(&c->unread_replies);
    return rank;
}

void client_sent(Client *c, const RankSet *to, uint64_t seq_end, uint32_t count, uint64_t bytes,
                 int64_t now_ms) {
    *(Sent *)fifo_push(&c->sent, sizeof(Sent)) = (Sent){.seq_end = seq_end,
                                                        .bytes = bytes,
                                                        .at_ms = now_ms,
                                                        .count = count,
                                                        .n_owed = ranks_count(to),
                                                        .to = *to};
}

static uint64_t *cursor_of(Client *c, int rank) {
    if (rank >= c->n_cursors) {
        c->cursor = xrealloc(c->cursor, (size_t)(rank + 1) * sizeof c->cursor[0]);
        for (int i = c->n_cursors; i <= rank; i++) c->cursor[i] = 0;
        c->n_cursors = rank + 1;
    }
    if (c->cursor[rank] < c->first_sent) c->cursor[rank] = c->first_sent;
    return &c->cursor[rank];
}

bool client_ack(Client *c, int rank, uint64_t seq, uint64_t *insts) {
    *insts = 0;
    if (seq > c->next_seq) return false;
    uint64_t *at = cursor_of(c, rank), end = c->first_sent + c->sent.n;
    for (; *at < end; ++*at) {
        Sent *s = sent_at(c, *at);
        if (s->seq_end > seq) break;
        if (!ranks_has(&s->to, rank)) continue;
        s->n_owed--;
        *insts += s->count;
    }
    while (c->sent.n > 0 && sent_at(c, c->first_sent)->n_owed == 0) {
        c->acked_seq = sent_at(c, c->first_sent)->seq_end;
        c->bytes -= sent_at(c, c->first_sent)->bytes;
        c->first_sent++;
        fifo_pop(&c->sent);
    }
    return true;
}

uint64_t client_in_flight(const Client *c, int rank) {
    uint64_t n = 0;
    uint64_t from =
        rank < c->n_cursors && c->cursor[rank] > c->first_sent ? c->cursor[rank] : c->first_sent;
    for (uint64_t i = from; i < c->first_sent + c->sent.n; i++)
        if (ranks_has(&sent_at(c, i)->to, rank)) n += sent_at(c, i)->count;
    return n;
}

/* ---- In order ---- */

static uint64_t key_of_error(uint64_t seq) { return 2 * seq; }
static uint64_t key_of_answer(uint64_t seq) { return 2 * seq + 1; }

static Held *hold(Client *c, uint64_t key) {
    if (c->held.n == 0) c->next_due = 2 * c->acked_seq;
    Held *h = map_get(&c->held, key);
    if (!h) map_put(&c->held, key, h = xcalloc(1, sizeof *h));
    return h;
}

void client_hold_error(Client *c, const Failure *f, int rank, Msg *m) {
    bool is_known = f->seq >= c->acked_seq && f->seq < c->next_seq;
    Held *h = is_known ? hold(c, key_of_error(f->seq)) : NULL;
    Failure lower, both, upper;
    if (h && h->msg.n == 0) {
        msg_move(&h->msg, m);
        h->rank = rank;
    } else if (h && rank != h->rank && wire_read_failure(&h->msg, &both, NULL)) {
        lower = rank < h->rank ? *f : both, upper = rank < h->rank ? both : *f;
        both = lower;
        err_join(&both.err, &upper.err);
        msg_fini(&h->msg);
        wire_failure(&both, &h->msg);
        if (rank < h->rank) h->rank = rank;
    }
    msg_fini(m);
}

void client_hold_answer(Client *c, uint64_t seq, Msg *m) {
    bool is_known = seq >= c->acked_seq && seq < c->next_seq;
    Held *h = is_known ? hold(c, key_of_answer(seq)) : NULL;
    if (h && h->msg.n == 0) msg_move(&h->msg, m);
    msg_fini(m);
}

void client_expect_sync(Client *c, uint64_t seq) { hold(c, key_of_answer(seq)); }

bool client_expects_sync(const Client *c, uint64_t seq) {
    const Held *h = map_get(&c->held, key_of_answer(seq));
    return h && h->msg.n == 0;
}

bool client_due(Client *c, Msg *m) {
    while (c->held.n > 0 && c->next_due < 2 * c->acked_seq) {
        Held *h = map_remove(&c->held, c->next_due++);
        if (!h) continue;
        bool is_there = h->msg.n > 0;
        if (is_there) msg_move(m, &h->msg);
        held_free(h);
        if (c->held.n == 0) map_fini(&c->held);
        if (is_there) return true;
    }
    return false;
}
