/* timeline_state.h: what the files of the timeline share (timeline.h is the interface).
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TIMELINE_STATE_H
#define GT_DISPATCHER_WATCH_TIMELINE_STATE_H
#include "dispatcher/watch/tape_words.h"
#include "dispatcher/watch/timeline.h"
#include "runtime/base/fifo.h"
#include "runtime/base/map.h"

enum {
    ASKED_MAX = 1 << 19,   /* instructions that may still be executed; older ones are forgotten */
    PENDING_MAX = 64,      /* conversions before the instruction that needs them */
    TEXTS_MAX = 1 << 17,   /* strings of a model ... */
    TEXT_BYTES = 1 << 10,  /* ... and the length at which they are cut */
    SIGNALS_MAX = 1 << 16, /* different stacks of signals */
    DEPTH_MAX = 64,        /* nested signals; those inside are not entered */
    CLIENTS_MAX = 1 << 14,
    RANKS_MAX = MAX_WORKERS
};

/* What the tape said of an instruction before it was done. */
typedef struct Asked {
    uint64_t id;
    int64_t sent_ns;
    uint32_t client; /* index of its ClientLane */
    uint32_t file, line, signal;
    uint32_t from; /* the group that has its operands */
    uint64_t in[TIMELINE_INS];
    uint8_t n_in;
    bool has_from;
    int rank; /* the worker that it was sent to, or -1 */
} Asked;

/* An instruction without a result that was received and is not done; see timeline_effect.c. */
typedef struct Effect {
    int64_t asked_ns, sent_ns; /* sent_ns: or TIMELINE_NO_TIME */
    uint32_t file, line, signal;
} Effect;

enum { EFFECTS_MAX = 16 }; /* operations that are effects */
typedef struct EffectQueue {
    Op op;
    Fifo waiting;  /* of Effect */
    size_t n_sent; /* of these, the oldest */
} EffectQueue;

/* What a client has open. */
typedef struct ClientState {
    Map by_id;                /* id -> number of its Asked + 1 */
    uint32_t open[DEPTH_MAX]; /* its bands that have no end yet, outermost first */
    uint32_t n_open;
    EffectQueue effect[EFFECTS_MAX];
    int n_effects;
} ClientState;

struct TimelineState {
    Arena arena; /* strings */
    char **text;
    uint32_t n_texts, texts_cap;
    Map texts;           /* hash -> number + 1 */
    Map clients, groups; /* id -> index + 1 */
    Map signals;         /* (parent, name) -> index */
    Asked *asked;        /* a ring: the instruction with the number k at k % cap */
    uint64_t n_asked;
    size_t asked_cap;
    ClientState *client; /* as Timeline.client */
    size_t clients_cap;
    uint64_t pending[PENDING_MAX]; /* conversions whose position is not known yet: numbers */
    int n_pending;
    size_t n_records;
    uint32_t wanted; /* text of options.signal */
    bool *is_wanted; /* of each signal */
    size_t wanted_cap;
    bool has_activity;                  /* begin_ns and end_ns are set */
    bool has_seen;                      /* seen_begin_ns and seen_end_ns are set */
    int64_t seen_begin_ns, seen_end_ns; /* as begin_ns and end_ns, of lines left out too */
    Bytes scratch;
};

/* The number of a string; 0 for "" and if there are too many. */
uint32_t timeline_intern(Timeline *t, const char *s, size_t n);
/* Makes room for one more record. False: the limit is reached (is_cut). */
bool timeline_room(Timeline *t);
#define RECORD_PUSH(t, array, n, cap, first, ...)                                                  \
    do {                                                                                           \
        if (!timeline_room(t)) return true;                                                        \
        ARRAY_PUSH(array, n, cap, first, __VA_ARGS__);                                             \
    } while (0)
#endif
