/* send.c: see send.h. SPDX-License-Identifier: MIT */
#include "dispatcher/state/send.h"
#include "dispatcher/state/recorder.h"
#include "dispatcher/state/tape.h"
#include "runtime/base/log.h"

void dispatcher_report(Dispatcher *d, const char *format, ...) {
    char line[256];
    FORMAT_INTO(line, format);
    if (log_is(LOG_VERBOSE)) log_line("DISPATCHER", "%s", line);
    if (d->reports.n < REPORTS_MAX) bytes_printf(&d->reports, "%s\n", line);
}

void dispatcher_post(Dispatcher *d, PeerId to, Msg *m, bool drop) {
    OutMsg *l = fifo_push(&d->out, sizeof *l);
    l->to = to, l->drop = drop;
    msg_move(&l->msg, m);
}

void dispatcher_refuse_inst(Dispatcher *d, Client *c, uint64_t seq, const Inst *inst,
                            const Err *err) {
    Failure f = {.client = c->id,
                 .seq = seq,
                 .pos = inst->pos,
                 .op = (uint16_t)inst->op,
                 .worker = UINT16_MAX,
                 .err = *err};
    recorder_note(d, note_failure(d, &f));
    Msg m;
    wire_failure(&f, &m);
    dispatcher_post(d, c->peer, &m, false);
    d->n_refused++;
    c->n_errors++;
}

void dispatcher_send_group(Dispatcher *d, const WorkerPeer *w, const Members *g) {
    Msg m;
    wire_group(g->id, g->rank, g->n, &m);
    dispatcher_post(d, w->peer, &m, false);
}

const Members *dispatcher_group(Dispatcher *d, const int32_t *rank, int n) {
    bool is_new;
    /* The last ids are reserved for single workers, each of which needs a group. */
    bool has_room = n == 1 || d->groups.by_id.n < MAX_GROUPS - MAX_WORKERS;
    if (!has_room) return groups_find(&d->groups, rank, n);
    const Members *g = groups_get(&d->groups, rank, n, &is_new);
    for (int i = 0; g && is_new && i < d->n_ranks; i++)
        if (d->worker[i]) dispatcher_send_group(d, d->worker[i], g);
    if (g && is_new && n > 1) recorder_note(d, note_group(g));
    return g;
}

void dispatcher_hold_group(Dispatcher *d, Client *c, const Members *g) {
    if (g->n == 1) return;
    for (uint32_t i = c->n_groups; i-- > 0;)
        if (c->group[i] == g->id) return;
    ARRAY_PUSH(c->group, c->n_groups, c->cap_groups, 4, g->id);
    groups_hold(&d->groups, g->id);
}

static Msg shared(const Msg *m) {
    Msg copy = {.n = m->n};
    for (int i = 0; i < m->n; i++) copy.part[i] = buf_ref(m->part[i]);
    return copy;
}

void dispatcher_send_frame(Dispatcher *d, Client *c, const RankSet *to, Msg *m, uint64_t seq_end,
                           uint32_t count, uint64_t bytes) {
    client_sent(c, to, seq_end, count, bytes, d->now_ms);
    for (int r = -1; (r = ranks_next(to, r + 1)) >= 0;) {
        WorkerPeer *w = d->worker[r];
        w->insts += count;
        if (!ranks_has(&c->used, r)) {
            ranks_add(&c->used, r);
            c->n_used++;
        }
        Msg copy = shared(m);
        dispatcher_post(d, w->peer, &copy, false);
    }
    msg_fini(m);
}

void dispatcher_cancel(Dispatcher *d, Client *c, const Cancel *cancel) {
    for (int r = -1; (r = ranks_next(&c->used, r + 1)) >= 0;) {
        Msg out;
        wire_cancel(cancel, &out);
        dispatcher_post(d, d->worker[r]->peer, &out, false);
    }
}
