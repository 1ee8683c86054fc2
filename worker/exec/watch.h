/* watch.h: what this worker did last and how long that took, for programs that watch the run.
 *
 * A ring holds a row for each of the last WATCH_ROWS calls, moves, effects and waits. It is always
 * on, because "what happened just now" is asked afterwards: a row costs two readings of the
 * processor's counter and one cache line. While the dispatcher asks for them, new rows are sent as
 * TIMES, and their sums as USAGE.
 *
 * A call that was queued in the engine behind another starts when that one ends. So a worker's
 * times do not overlap, and their sum is the time during which it computed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_WATCH_H
#define GT_WORKER_EXEC_WATCH_H
#include "runtime/base/clock.h"
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"
#include "worker/exec/exec.h"
#include "worker/exec/profile.h"

enum {
    WATCH_ROWS = 1 << 16,         /* that are kept: 4 MiB, as far as they are used */
    WATCH_CHECK = 1024,           /* rows between two looks at what is due */
    WATCH_USAGE_MS = 200,         /* between two USAGE */
    WATCH_IDLE_NS = 50000,        /* a shorter wait has no row of its own */
    WATCH_NEWS_NS = 100 * 1000000 /* between two rows about memory */
};

/* Times are ticks (watch_tick). */
typedef struct WatchRow {
    uint64_t begin, end;
    uint64_t number, id, bytes, moved, from; /* as in TimeRow */
    uint32_t client;
    uint16_t op;
    uint8_t kind, n_out;
} WatchRow;

struct Watch {
    WatchRow *row;           /* WATCH_ROWS of them; row n is at n % WATCH_ROWS */
    uint64_t n;              /* rows so far, ... */
    uint64_t check;          /* ... and at which number to look at what is due */
    uint64_t sent, summed;   /* rows that were sent, and summed */
    uint64_t past, past_end; /* rows [past, past_end) are to be sent as the past */
    bool is_past;
    uint8_t what;     /* WATCH_... */
    bool has_counter; /* ticks are the processor's; else ns */
    uint64_t free;    /* when the engine last finished a call */
    uint64_t taken;   /* ticks in which calls were executed, or the worker slept */
    uint64_t running; /* since when it executes running_op; 0: it does not */
    uint16_t running_op;
    uint64_t anchor, later;      /* ticks, and ... */
    int64_t anchor_ns, later_ns; /* ... the time then */
    int64_t sent_ns, usage_ns;   /* of the last TIMES, USAGE */
    uint64_t news_tick, memory_bytes;
    uint64_t idle[IDLE_WHYS]; /* ticks */
    uint32_t blocked_on;
    OpUsage op[OP_COUNT]; /* sums; ns are ticks */
    uint64_t moved;
};

double watch_ns_per_tick(Exec *x);
void watch_start(Exec *x);
void watch_end(Exec *x);
/* Sets what is reported from now on: WATCH_TIMES, WATCH_USAGE. */
void exec_watch(Exec *x, uint8_t what);
/* Sends the rows of the last past_ms through exec_next. */
void exec_watch_past(Exec *x, uint32_t past_ms);
/* idle_ms, or less while the worker is watched: how long it may sleep. */
int exec_watch_sleep(const Exec *x, int idle_ms);
/* The worker has slept since `began`; its tables have not changed since then. */
void exec_watch_slept(Exec *x, uint64_t began);
/* The same for a wait of another kind. */
void exec_watch_waited(Exec *x, uint64_t began, IdleWhy why);
/* Returns the next message for those that watch; false: none. is_urgent: another message is about
 * to be sent, after which the client may go. */
bool watch_next(Exec *x, bool is_urgent, Msg *out);
/* Sends or sums rows before the ring overwrites them; looks at the memory. */
void watch_check(Exec *x);

/* The processor's counter, or ns if it cannot be used. */
static inline uint64_t watch_tick(const Exec *x) {
#ifdef __x86_64__
    if (__builtin_expect(x->watch->has_counter, 1)) return __builtin_ia32_rdtsc();
#endif
    return (uint64_t)exec_now_ns(x);
}

static inline WatchRow *watch_row(Exec *x) {
    Watch *w = x->watch;
    if (__builtin_expect(w->n >= w->check, 0)) watch_check(x);
    return &w->row[w->n++ % WATCH_ROWS];
}

/* Sets the time at which j began. Precondition of the functions below. */
static inline void watch_begin(const Exec *x, Job *j) {
    j->begin = x->watch->running = watch_tick(x);
    x->watch->running_op = (uint16_t)j->inst.op;
}

/* Adds a row for j, which is done. bytes: moved in addition to its results. Returns the row. The
 * caller adds its time to the client's profile, if there is one. */
static inline WatchRow *watch_row_of(Exec *x, const Job *j, uint64_t bytes) {
    Watch *w = x->watch;
    uint64_t begin = j->begin, end = watch_tick(x);
    w->running = 0;
    if (j->kind == JOB_CALL) {
        if (begin < w->free) begin = w->free;
        w->free = end;
    }
    w->taken += end - begin;
    for (int i = 0; i < j->call.n_out && j->inst.n_out; i++) bytes += j->out[i]->bytes;
    WatchRow *row = watch_row(x);
    *row = (WatchRow){.begin = begin,
                      .end = end > begin ? end : begin,
                      .number = j->number,
                      .id = j->inst.n_out ? j->inst.out[0] : 0,
                      .bytes = bytes,
                      .client = j->frame->client->id,
                      .op = (uint16_t)j->inst.op,
                      .n_out = j->inst.n_out};
    return row;
}

/* The same, and adds its time to the profile of its line. */
static inline void watch_done(Exec *x, const Job *j, uint64_t bytes) {
    const WatchRow *row = watch_row_of(x, j, bytes);
    Profile *p = j->frame->client->profile;
    if (__builtin_expect(p != NULL, 0))
        profile_add(p, profile_row(p, j->inst.pos), row->end - row->begin, row->bytes);
}
#endif
