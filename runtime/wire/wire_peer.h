/* wire_peer.h: messages that introduce workers to one another, their times, and messages
 * between workers. As in wire.h, each has a function that writes it and one that reads it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_WIRE_PEER_H
#define GT_RUNTIME_WIRE_WIRE_PEER_H
#include "runtime/wire/wire.h"

/* ---- Dispatcher and workers ---- */

/* A worker, as introduced to the others. */
typedef struct PeerInfo {
    uint32_t rank;
    uint64_t token;
    DataPlane data;
} PeerInfo;

/* What a row of TIMES says. */
typedef enum TimeKind {
    TIME_DONE,    /* an instruction took this time: a call of the engine, a move, an effect */
    TIME_FUSED,   /* the same of several in one kernel: id and n_out are of the last result, op and
                   * `from`, an id, of the heaviest operation (collect.c) */
    TIME_IDLE,    /* the worker had nothing to compute */
    TIME_COMPILE, /* a compiler call that made `bytes` kernels; id: the first one's key */
    TIME_MEMORY,  /* `bytes` of at most `moved` are in use, at begin_ns */
    TIME_KINDS
} TimeKind;

/* A piece of time on one worker, by that worker's clock. Sent only while watched (WATCH). */
typedef struct TimeRow {
    uint64_t number, id; /* over all clients; of the first result, if there is one */
    int64_t begin_ns;
    uint64_t ns, bytes; /* bytes: of its results here */
    uint64_t moved;     /* bytes that came from other workers for it */
    uint64_t from;      /* DONE: these workers, a bit each below 64; IDLE: the one it waits for, or
                         * UINT32_MAX */
    uint32_t client;    /* DONE, FUSED: whose */
    uint16_t op;        /* of these; of IDLE what it waits for, or OP_COUNT */
    uint8_t kind;
    uint8_t n_out; /* of IDLE: why (IdleWhy in wire_watch.h) */
} TimeRow;
static inline bool time_is_done(uint8_t kind) { return kind <= TIME_FUSED; }
enum { TIMES_MAX = 4096 }; /* rows of one message */
typedef struct Times {
    uint32_t n;
    bool is_past, is_end; /* an answer to past_ms; the last of it */
    int64_t now_ns;       /* by the same clock, at the time of sending */
    TimeRow *row;         /* in the arena after reading */
} Times;
/* What a worker reports: an `or` of these. */
enum {
    WATCH_TIMES = 1,
    WATCH_USAGE = 2,
    WATCH_HASHES = 4, /* hashes of results (wire_hash.h), sampled ... */
    WATCH_ALL = 8     /* ... or of all elements */
};
typedef struct WatchAsk {
    uint8_t what;
    uint32_t past_ms; /* and once the rows of the last past_ms; 0: not */
} WatchAsk;
void wire_watch(const WatchAsk *ask, Msg *out);
bool wire_read_watch(const Msg *m, WatchAsk *ask, Err *err);
void wire_times(const Times *t, Msg *out);
bool wire_read_times(const Msg *m, Arena *arena, Times *t, Err *err);

void wire_group(uint32_t id, const int32_t *rank, int n, Msg *out);
/* rank must have room for MAX_INTS; *n of them, distinct and below MAX_WORKERS. */
bool wire_read_group(const Msg *m, uint32_t *id, int32_t *rank, int *n, Err *err);
void wire_group_gone(const uint32_t *id, Msg *out);
bool wire_read_group_gone(const Msg *m, uint32_t *id, Err *err);
void wire_peer(const PeerInfo *p, Msg *out);
bool wire_read_peer(const Msg *m, PeerInfo *p, Err *err);
void wire_peer_gone(const uint32_t *rank, Msg *out);
bool wire_read_peer_gone(const Msg *m, uint32_t *rank, Err *err);

/* ---- between workers ----
 *
 * Each instruction that moves a tensor has a number over all clients; a reader takes at most one
 * box of elements from one owner for it, so that number and peer name the transfer. */

/* The first message of a connection: the sender, with the token that the dispatcher gave it. */
typedef struct PeerHello {
    uint32_t rank;
    uint64_t token;
} PeerHello;

/* What the reader may take now: the box has `size` elements along its axes and lies in the
 * owner's arena at `offset`, with these strides in elements. Small ones are included, row-major,
 * in `data`; a poisoned one has a status and no data. Neither is answered. */
typedef struct Shard {
    uint32_t client;
    uint64_t number;
    uint8_t status; /* ErrCode; 0: it is there */
    TensorType box;
    uint64_t offset;
    int64_t stride[MAX_DIMS];
    const void *data; /* borrowed from the message when read; NULL: in the arena */
    uint64_t bytes;
} Shard;
/* Bytes [begin, begin + bytes) of the box in row-major order. */
typedef struct Get {
    uint32_t client;
    uint64_t number, begin, bytes;
} Get;
/* The answer; its data is the message's second part. */
typedef struct Piece {
    uint32_t client;
    uint64_t number, begin;
} Piece;
typedef struct Taken {
    uint32_t client;
    uint64_t number;
} Taken;

void wire_peer_hello(const PeerHello *h, Msg *out);
bool wire_read_peer_hello(const Msg *m, PeerHello *h, Err *err);
void wire_card(const void *card, size_t n, Msg *out);
bool wire_read_card(const Msg *m, const void **card, size_t *n, Err *err); /* borrowed from m */
void wire_shard(const Shard *s, Msg *out);                                 /* copies data */
bool wire_read_shard(const Msg *m, Shard *s, Err *err);
void wire_get(const Get *g, Msg *out);
bool wire_read_get(const Msg *m, Get *g, Err *err);
void wire_piece(const Piece *p, Buf *data, Msg *out); /* consumes data */
bool wire_read_piece(const Msg *m, Piece *p, const void **data, uint64_t *bytes, Err *err);
void wire_taken(const Taken *g, Msg *out);
bool wire_read_taken(const Msg *m, Taken *g, Err *err);
#endif
