/* watch.c: execution times of instructions (TIMES) for monitors, which request them by WATCH. They
 * are gathered per client and sent with the acknowledgements. Without a monitor this costs a branch
 * per instruction.
 *
 * A call that was queued in the engine behind another starts when that one ends. So a worker's
 * times do not overlap, and their sum is the time during which it computed.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/watch.h"
#include "runtime/wire/wire_peer.h"

#include <stdlib.h>

struct Watch {
    int64_t free_ns; /* when the engine last finished a call */
    Times times;
    TimeRow row[TIMES_MAX];
};

void exec_watch(Exec *x, bool on) {
    if (on == (x->watch != NULL)) return;
    if (on) {
        x->watch = xcalloc(1, sizeof *x->watch);
        x->watch->times.row = x->watch->row;
    } else {
        free(x->watch);
        x->watch = NULL;
    }
}

bool watch_next(Exec *x, Msg *out) {
    Watch *w = x->watch;
    if (!w || w->times.n == 0) return false;
    w->times.now_ns = exec_now_ns(x);
    wire_times(&w->times, out);
    w->times.n = 0;
    return true;
}

void watch_done(Exec *x, const Job *j, uint64_t bytes) {
    Watch *w = x->watch;
    uint32_t client = j->frame->client->id;
    int64_t begin = j->begin_ns, now = exec_now_ns(x);
    if (j->kind == JOB_CALL) {
        if (begin < w->free_ns) begin = w->free_ns;
        w->free_ns = now;
    }
    if (w->times.n == TIMES_MAX || w->times.client != client) {
        Msg m;
        if (watch_next(x, &m)) exec_send(x, &m);
        w->times.client = client;
    }
    for (int i = 0; i < j->call.n_out && j->inst.n_out; i++)
        bytes += type_bytes(&j->call.out[i].type);
    w->row[w->times.n++] = (TimeRow){.number = j->number,
                                     .id = j->inst.n_out ? j->inst.out[0] : 0,
                                     .begin_ns = begin,
                                     .ns = now > begin ? (uint64_t)(now - begin) : 0,
                                     .bytes = bytes,
                                     .op = (uint16_t)j->inst.op,
                                     .n_out = j->inst.n_out};
}
