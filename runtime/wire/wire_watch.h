/* wire_watch.h: messages for programs that watch a run (watchers): what they ask for, what they
 * get, and what workers report for them. As in wire.h, each has a function that writes it and one
 * that reads it. TIMES and WATCH are in wire_peer.h.
 *
 * A watcher acknowledges what it has read by CREDIT. The dispatcher sends it no more than
 * LISTEN_BYTES ahead of that, and drops what is beyond, so a slow watcher costs bounded memory.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_WIRE_WATCH_H
#define GT_RUNTIME_WIRE_WIRE_WATCH_H
#include "runtime/wire/wire.h"

enum { LISTEN_BYTES = 4 << 20 };   /* sent to a watcher and not acknowledged, at most */
enum { SNAPSHOT_MS = 250 };        /* between two snapshots */
enum { PAST_MS_MAX = 600 * 1000 }; /* the longest past that may be asked for */

typedef enum ListenVerb {
    LISTEN_QUIET,  /* no lines of the tape any more */
    LISTEN_EVENTS, /* lines of the tape from now on */
    LISTEN_PAST,   /* those of the last past_ms, from the flight recorder */
    LISTEN_CANCEL, /* drop what `client` has queued, as its own Ctrl-C does */
    LISTEN_VERBS
} ListenVerb;
typedef struct Listen {
    uint32_t client;
    uint8_t verb;
    uint32_t past_ms;
} Listen;

/* Whole lines of a tape. */
typedef struct Events {
    bool is_past, is_end; /* from the recorder; the last of them (it may have no lines) */
    uint64_t dropped;     /* lines dropped since the last EVENTS, because the watcher is slow */
    const char *text;     /* borrowed from the message when read */
    size_t n;
} Events;

/* Why a worker has nothing to compute. */
typedef enum IdleWhy {
    IDLE_STARVED, /* it has no instruction */
    IDLE_BLOCKED, /* an instruction waits for a part from another worker */
    IDLE_COMM,    /* bytes of another worker are on the way */
    IDLE_COMPILE, /* a kernel is being compiled */
    IDLE_WHYS
} IdleWhy;
extern const char *const idle_why_name[IDLE_WHYS];

/* The time that one operation has taken so far. */
typedef struct OpUsage {
    uint16_t op;
    uint64_t count, ns, bytes; /* bytes: of results */
} OpUsage;

/* What a worker has done since it is watched; all counters only grow. */
typedef struct Usage {
    int64_t now_ns; /* by the worker's clock */
    uint64_t insts, kernels;
    uint64_t memory_bytes, limit_bytes; /* in use now, and the most that it may use */
    uint64_t moved_bytes;               /* from other workers */
    uint64_t idle_ns[IDLE_WHYS];
    uint32_t queue;      /* instructions here and not done, as far as they are decoded */
    uint32_t blocked_on; /* the rank; UINT32_MAX: none */
    uint32_t pid;
    uint32_t n;  /* ops; each at most once */
    OpUsage *op; /* in the arena after reading */
} Usage;

void wire_listen(const Listen *l, Msg *out);
bool wire_read_listen(const Msg *m, Listen *l, Err *err);
void wire_events(const Events *e, Msg *out); /* copies the text */
bool wire_read_events(const Msg *m, Events *e, Err *err);
void wire_usage(const Usage *u, Msg *out);
bool wire_read_usage(const Msg *m, Arena *arena, Usage *u, Err *err);
#endif
