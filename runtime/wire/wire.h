/* wire.h: the binary form of messages. No other code reads bytes of a peer. Frames are in frame.h,
 * messages about and between workers in wire_peer.h.
 *
 * Each message has a struct or arguments, a function that writes it and one that reads it. Before
 * use, every length is checked against the bytes left, and every enum against its table. A failed
 * read sets err to what is wrong. Writing cannot fail.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_WIRE_H
#define GT_RUNTIME_WIRE_WIRE_H
#include "runtime/inst/inst.h"
#include "runtime/base/msg.h"

#define WIRE_VERSION 11

typedef enum MsgKind {
#define MSG(id, name, doc) MSG_##id,
#include "runtime/wire/msgs.def"
    MSG_COUNT
} MsgKind;

/* Kind of a message's head, or MSG_COUNT for an empty or unknown one. */
MsgKind wire_kind(const Msg *m);

/* How peers reach a worker's memory; part of its hello. All zero: it has no peers. */
typedef struct DataPlane {
    uint64_t process;  /* random; equal: the same process, its addresses are valid          */
    uint64_t arena_at; /* address of its arena in that process ...                          */
    uint64_t arena_bytes;
    uint32_t pid;       /* ... and where another process finds it: /proc/PID/fd/FD ... */
    int32_t fd;         /* (-1: nowhere) ... */
    uint64_t inode;     /* with this inode                                                   */
    uint64_t lent[8];   /* a driver's handle of its device memory; then the file is the lease of it,
                         * and not the memory (worker/engine/engine.h). All zero: it lends none */
    char host[64];      /* the kernel's boot id: equal: the same machine */
    char endpoint[256]; /* of the hub for its peers */
} DataPlane;

/* A watcher gets snapshots and lines of the tape (wire_watch.h); it issues nothing. */
typedef enum Role { ROLE_CLIENT, ROLE_WORKER, ROLE_WATCHER } Role;
typedef struct Hello {
    uint32_t version;
    uint64_t table_hash;
    uint8_t role;
    uint64_t memory_bytes;
    uint32_t threads;
    char name[64];    /* of a worker its engine, of a client its program */
    char origin[64];  /* of a worker its host, of a client its user; "": unknown */
    DataPlane data;   /* of workers */
    uint64_t spawned; /* for a worker started by the dispatcher: the number it was given; else 0 */
} Hello;
typedef struct Welcome {
    uint32_t id, rank, n_workers;
    uint64_t window_insts, window_bytes;
    uint64_t token; /* of a worker: identifies it to its peers */
    char engine[64];
} Welcome;
/* All instructions with sequence < seq are done. */
typedef struct Ack {
    uint32_t client;
    uint64_t seq;
    uint64_t bytes;
} Ack;
typedef struct Failure {
    uint32_t client;
    uint64_t seq;
    SrcPos pos;
    uint16_t op, worker;
    Err err;
} Failure;
/* So many bytes of what was sent have been read: as many more may be sent. */
typedef struct Credit {
    uint32_t client;
    uint64_t bytes;
} Credit;
typedef struct Cancel {
    uint32_t client;
    uint64_t seq;
} Cancel;

/* One value of a reply. data: numel (or edge-item) elements, row-major, borrowed from the message.
 * With edge > 0 each axis longer than 2 * edge holds its first and last `edge` items only.
 * status 0: value; else an ErrCode (poisoned), and neither type nor data. */
typedef struct ReplyValue {
    uint8_t status;
    uint32_t edge;
    TensorType type;
    const void *data;
    uint64_t bytes;
} ReplyValue;
typedef struct Reply {
    uint32_t client;
    uint64_t seq;
    uint32_t n;
    ReplyValue *value; /* in the arena after reading */
} Reply;
uint64_t reply_value_numel(const TensorType *t, uint32_t edge);

void wire_hello(const Hello *h, Msg *out);
bool wire_read_hello(const Msg *m, Hello *h, Err *err);
void wire_welcome(const Welcome *w, Msg *out);
bool wire_read_welcome(const Msg *m, Welcome *w, Err *err);
void wire_refuse(const Err *e, Msg *out);
bool wire_read_refuse(const Msg *m, Err *e, Err *err);
void wire_ack(const Ack *a, Msg *out);
bool wire_read_ack(const Msg *m, Ack *a, Err *err);
void wire_failure(const Failure *f, Msg *out);
bool wire_read_failure(const Msg *m, Failure *f, Err *err);
void wire_cancel(const Cancel *c, Msg *out);
bool wire_read_cancel(const Msg *m, Cancel *c, Err *err);
void wire_credit(const Credit *c, Msg *out);
bool wire_read_credit(const Msg *m, Credit *c, Err *err);
void wire_gone(const uint32_t *client, Msg *out);
bool wire_read_gone(const Msg *m, uint32_t *client, Err *err);
/* forms: see bodies_define; borrowed from m after reading. */
void wire_body(uint32_t client, uint64_t number, const void *forms, size_t n, Msg *out);
bool wire_read_body(const Msg *m, uint32_t *client, uint64_t *number, const void **forms, size_t *n,
                    Err *err);
/* kind: STATS, STATS_REPLY, BYE, BEAT or SNAPSHOT. */
void wire_text(MsgKind kind, const char *s, size_t n, Msg *out);
bool wire_read_text(const Msg *m, const char **s, size_t *n, Err *err);
/* bufs[i], if not NULL, is the Buf that begins with value[i].data: kept by reference (consumed). */
void wire_reply(const Reply *r, Buf **bufs, Msg *out);
bool wire_read_reply(const Msg *m, Arena *arena, Reply *r, Err *err);
/* Reads the client id of an ACK, REPLY, ERROR or CANCEL without decoding the rest (for the
 * dispatcher's relay). */
bool wire_client(const Msg *m, uint32_t *client);
void wire_set_client(Msg *m, uint32_t client); /* in place; head must be unshared */

#endif
