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

enum { LISTEN_BYTES = 4 << 20 }; /* sent to a watcher and not acknowledged, at most */
enum { SNAPSHOT_MS = 250, LISTEN_LINES_MS = 50 }; /* between two snapshots; that lines wait */
enum { PAST_MS_MAX = 600 * 1000 };                /* the longest past that may be asked for */

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
    IDLE_DEVICE,  /* all that may be handed over is, and the ordered engine's device computes */
    IDLE_WHYS
} IdleWhy;
extern const char *const idle_why_name[IDLE_WHYS];

/* The time that one operation has taken so far. */
typedef struct OpUsage {
    uint16_t op;
    uint64_t count, ns, bytes; /* bytes: of results */
} OpUsage;

/* The device of a worker that has one, which other processes may use too. */
typedef struct DeviceUsage {
    char name[64];         /* "": it has none */
    uint64_t used, total;  /* bytes of its memory; total 0: not known */
    uint32_t number;       /* of those that the worker sees */
    int32_t celsius, busy; /* busy: percent; INT32_MIN: not known */
} DeviceUsage;

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
    DeviceUsage device;
    uint32_t n;  /* ops; each at most once */
    OpUsage *op; /* in the arena after reading */
} Usage;

void wire_listen(const Listen *l, Msg *out);
bool wire_read_listen(const Msg *m, Listen *l, Err *err);
void wire_events(const Events *e, Msg *out); /* copies the text */
bool wire_read_events(const Msg *m, Events *e, Err *err);
void wire_usage(const Usage *u, Msg *out);
bool wire_read_usage(const Msg *m, Arena *arena, Usage *u, Err *err);

/* ---- The flight recorder ----
 *
 * The dispatcher keeps the last messages unchanged, as entries of PAST messages, and sends these to
 * a watcher that asks. The watcher makes lines of a tape from them (past.h in dispatcher/watch).
 * First come the entries that the others need (names of files, bodies), then the recorded ones,
 * oldest first, then the rows of each worker, then an EVENTS that is_past and is_end. */

typedef enum PastKind {
    PAST_SINCE, /* at_ns: when the past begins; data: the time (i64, ns) that lines count from */
    PAST_LINE,  /* text of a line after its five columns, which `event` to `number` give */
    PAST_FRAME, /* a client's frame: n_parts sizes of its parts (u64), and its first part */
    PAST_BODY,  /* the forms of the client's hot body `number` */
    PAST_FILE,  /* the name of the client's source file `number` */
    PAST_ROWS,  /* a TIMES of worker `number`; at_ns: the clock's offset from the worker's */
    PAST_KINDS
} PastKind;
typedef struct PastEntry {
    uint8_t kind, event, place; /* place: 'w', 'g' or '-' */
    uint8_t n_parts;
    uint32_t client, number;
    int64_t at_ns;    /* of the dispatcher's CLOCK_MONOTONIC */
    const void *data; /* borrowed */
    size_t n;
} PastEntry;
enum {
    PAST_HEAD = 8,
    PAST_ENTRY = 32
}; /* bytes: of the message's head; of an entry without data */

Buf *past_new(size_t room);                /* a message's first part, without entries */
void past_add(Buf *b, const PastEntry *e); /* copies the data */
static inline size_t past_bytes(size_t n) { return PAST_ENTRY + ((n + 7) & ~(size_t)7); }
/* Reads the entry at *at (0: the first) and moves *at behind it. 1: *e is set; 0: there are no
 * more; -1: malformed. */
int past_read(const Msg *m, size_t *at, PastEntry *e);
#endif
