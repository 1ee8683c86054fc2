/* wire.h: the binary form of messages and instructions. No other code reads bytes of a peer.
 * SPDX-License-Identifier: MIT
 *
 * All integers are little-endian; records start 8-byte aligned within their message. Before use,
 * every length is checked against the bytes left, and every enum against its table. A failed
 * decode reports what is wrong and where, and has written only to its scratch arena. Encoding
 * cannot fail. Both follow the tables; no op is named here.
 *
 * FRAME head:  u8 kind, 3 zero bytes, u32 client, u64 seq (of its first instruction), u32 count,
 *              u32 body_bytes, u64 number (of its first record, over all clients; from clients: 0);
 *              then records; payloads over INLINE_BYTES are further parts of the message
 * Record:      u32 length (of the record, multiple of 8), u16 op, u8 n_out, u8 n_attr_form,
 *              u8 n_attr_arg, u8 flags, u16 n_in, u16 file, u16 col, u16 0, u32 line    (24 bytes)
 *   FORM       u32 per operand: kind in the low 2 bits, distance in 30 (a tensor made this many ids
 *              before `base`, since the last `edge`; 0: external or an immediate), padded to 8;
 *              then FORM attributes
 *   ARGS       u64 base: the first output id (outputs are consecutive), or without outputs the next
 *              id; u64 per external or immediate operand; ARG attributes; payload, see flags
 *   flags      bit 0: payload: u64 bytes, then the bytes padded to 8; bit 1: payload: u64 number of
 *              the message part that has it; bit 2: inserted by the dispatcher: has the sequence
 *              number of the next record that is not
 *   attribute  u32 key, u32 n, then 8 bytes of value, or n int64 of a list, or n bytes and a NUL of
 *              a string, padded to 8; each key once
 * A body's hash covers a record's bytes from 4 to the end of FORM.
 * Hot record: a head with op 0xFFFF and zeros, u32 number of the body, u32 from, u32 count, u32 0,
 *              u64 base; then for each instruction its ARGS after `base` (body.h). The count in the
 *              frame's head includes the instructions that it stands for. Flag bit 2: the body is
 *              one of the dispatcher's (body.h); then the u64 base of the inserted instructions
 *              follows the other base */
#ifndef GT_RUNTIME_WIRE_WIRE_H
#define GT_RUNTIME_WIRE_WIRE_H
#include "runtime/inst/inst.h"
#include "runtime/base/msg.h"

#define WIRE_VERSION 7

typedef enum MsgKind {
#define MSG(id, name, doc) MSG_##id,
#include "runtime/wire/msgs.def"
    MSG_COUNT
} MsgKind;

/* Kind of a message's head, or MSG_COUNT for an empty or unknown one. */
MsgKind wire_kind(const Msg *m);

/* ---- frames ---- */

/* Builds one frame after another. Zero-initialised is empty; call frame_begin first. edge_id and
 * next_id outlive the frames: frame_edge sets both at each `edge`. Nothing may be added to a
 * full frame. */
typedef struct FrameWriter {
    Buf *head;
    Buf *parts[MAX_MSG_PARTS];
    int n_parts;
    uint32_t client, count;
    uint64_t seq, number; /* number: set by the owner, after frame_begin */
    uint64_t edge_id;     /* operands from this id on are written as distances; UINT64_MAX: none */
    uint64_t next_id;     /* one more than the last output id added, ... */
    uint64_t next_added;  /* ... than the last one inserted */
    bool is_placed;       /* set by the owner: its hot bodies are the dispatcher's */
    size_t last_at;       /* offset in head of the last record */
    /* Hot bodies: what is expected next (frame_expect), the offset of the open hot record (0:
     * none), form bytes of the last record if it was not folded (0: it was), number of records. */
    const struct Body *body;
    uint32_t body_at, form_at, form_bytes, records;
    size_t hot_at;
} FrameWriter;
void frame_begin(FrameWriter *w, uint32_t client, uint64_t seq);
/* payload_buf, if set, is kept by reference if it is large */
void frame_add(FrameWriter *w, const Inst *in);
/* A loop begins its next iteration, or may do so: operands from next_id on, the id of the next
 * result, are written as distances. */
void frame_edge(FrameWriter *w, uint64_t next_id);
/* Expects the body's instructions from `at` on, over and over; NULL: none. Expected ones are
 * folded into a hot record. The first other one is written in full, as are all after it until
 * the expected one comes, or something else is expected. body must live until then. */
void frame_expect(FrameWriter *w, const struct Body *body, uint32_t at);
/* Makes the instruction that frame_add has just written in full the at-th of the body, which is
 * expected from there on. False: it is another one. */
bool frame_refold(FrameWriter *w, const struct Body *body, uint32_t at);
/* Returns what frame_add has just written in full, up to its `base`: a head, whose length is not
 * the form's, and the form. NULL: it was folded. Valid until the next addition. */
const void *frame_form(FrameWriter *w, size_t *n);
/* For the dispatcher's own instructions; takes no sequence number. */
void frame_insert(FrameWriter *w, const Inst *in);
size_t frame_bytes(const FrameWriter *w);
/* True at FRAME_INSTS records, HOT_INSTS instructions or FRAME_BYTES, or if no part is left. */
bool frame_is_full(const FrameWriter *w);
void frame_end(FrameWriter *w, Msg *out); /* w is empty again; count may be 0 */

/* Walks a frame without copying. m must outlive the reader and what it yields; the arena holds
 * operand and attribute arrays. The yielded instruction has the sequence number inst_seq, the
 * following one seq_next; its number over all clients is number + next - 1. Strings of
 * attributes are NUL-terminated. The decoder checks the form only: ids, types and attributes of
 * an instruction are up to inst_infer and its caller. */
typedef struct FrameReader {
    const Msg *m;
    const uint8_t *at, *end;
    uint32_t client, count, next;
    uint64_t seq, seq_next, inst_seq, number;
    bool is_inserted; /* the yielded instruction was inserted ... */
    bool is_hot;      /* ... or is of a hot record */
    /* Set by the owner after frame_open: learns bodies, and supplies those of hot records. NULL:
     * hot records are malformed. */
    struct Bodies *bodies;
    struct Bodies *placed; /* likewise, for the dispatcher's bodies */
    bool reads_again;      /* set likewise: the frame was read before, without a sweep since */
    uint32_t records, hot_at, hot_left;
    uint64_t hot_base, hot_added;
    struct Body *hot_body;
    const uint8_t *hot_args, *hot_end;
} FrameReader;
bool frame_open(FrameReader *r, const Msg *m, Err *err);
/* 1: *in is the next instruction and *record / *record_bytes its raw bytes; 0: end; -1: malformed
 * (err set). */
int frame_next(FrameReader *r, Arena *scratch, Inst *in, const void **record, size_t *record_bytes,
               Err *err);
/* What frame_next will read next. FRAME_HOT: instructions of a hot record: hot_left instructions
 * from hot_at of hot_body on remain, hot_base is the id of their first result, hot_added that of
 * the first inserted one, and their arguments are in [hot_args, hot_end). FRAME_INST: another
 * instruction, or a malformed one, which frame_next reports. */
typedef enum FrameNext { FRAME_END, FRAME_INST, FRAME_HOT } FrameNext;
FrameNext frame_look(FrameReader *r);
static inline FrameNext frame_comes(FrameReader *r) {
    return r->hot_left ? FRAME_HOT : frame_look(r);
}
/* Skips n of these, perhaps several iterations; the remaining arguments begin at args. Must not
 * skip the last one of a record that has bytes left over: frame_next reports those. */
void frame_pass_hot(FrameReader *r, uint32_t n, const uint8_t *args);
/* Appends a record of an open frame unchanged (`in` is its decoded form), or folds it if it is
 * expected; renumbers the part index. */
void frame_add_raw(FrameWriter *w, const Inst *in, const void *record, size_t record_bytes);

/* ---- other messages: one struct each, encode and decode ---- */

/* How peers reach a worker's memory; part of its hello. All zero: it has no peers. */
typedef struct DataPlane {
    uint64_t process;  /* random; equal: the same process, its addresses are valid          */
    uint64_t arena_at; /* address of its arena in that process ...                          */
    uint64_t arena_bytes;
    uint32_t pid;       /* ... and where another process finds it: /proc/PID/fd/FD ... */
    int32_t fd;         /* (-1: nowhere) ... */
    uint64_t inode;     /* with this inode                                                   */
    char host[64];      /* the kernel's boot id: equal: the same machine */
    char endpoint[256]; /* of the hub for its peers */
} DataPlane;

typedef enum Role { ROLE_CLIENT, ROLE_WORKER } Role;
typedef struct Hello {
    uint32_t version;
    uint64_t table_hash;
    uint8_t role;
    uint64_t memory_bytes;
    uint32_t threads;
    char name[64];
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
typedef struct Cancel {
    uint32_t client;
    uint64_t seq;
} Cancel;

/* One value of a reply. data: numel (or edge-item) elements, row-major, borrowed from the message.
 * With edge > 0 each axis longer than 2 * edge holds its first and last `edge` items only.
 * status 0: value; else an ErrCode (poisoned). */
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

/* A worker, as introduced to the others. */
typedef struct PeerInfo {
    uint32_t rank;
    uint64_t token;
    DataPlane data;
} PeerInfo;

/* The time that an instruction took on one worker, by that worker's clock: for the tape and for
 * monitors. Sent only while watched (WATCH), and only for what takes time: calls of the engine,
 * moves, effects. */
typedef struct TimeRow {
    uint64_t number, id; /* over all clients; of the first result, if there is one */
    int64_t begin_ns;
    uint64_t ns, bytes; /* bytes: of its results here */
    uint16_t op;
    uint8_t n_out;
} TimeRow;
enum { TIMES_MAX = 4096 }; /* rows of one message */
typedef struct Times {
    uint32_t client, n;
    int64_t now_ns; /* by the same clock, at the time of sending */
    TimeRow *row;   /* in the arena after reading */
} Times;
void wire_watch(bool on, Msg *out);
bool wire_read_watch(const Msg *m, bool *on, Err *err);
void wire_times(const Times *t, Msg *out);
bool wire_read_times(const Msg *m, Arena *arena, Times *t, Err *err);

/* ---- between workers ----
 *
 * Each instruction that moves a tensor has a number over all clients; a reader takes at most one
 * box of elements from one owner for it, so that number and peer name the transfer. */

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

void wire_group(uint32_t id, const int32_t *rank, int n, Msg *out);
/* rank must have room for MAX_INTS; *n of them, distinct and below MAX_WORKERS. */
bool wire_read_group(const Msg *m, uint32_t *id, int32_t *rank, int *n, Err *err);
void wire_group_gone(uint32_t id, Msg *out);
bool wire_read_group_gone(const Msg *m, uint32_t *id, Err *err);
void wire_peer(const PeerInfo *p, Msg *out);
bool wire_read_peer(const Msg *m, PeerInfo *p, Err *err);
void wire_peer_gone(uint32_t rank, Msg *out);
bool wire_read_peer_gone(const Msg *m, uint32_t *rank, Err *err);
void wire_peer_hello(uint32_t rank, uint64_t token, Msg *out);
bool wire_read_peer_hello(const Msg *m, uint32_t *rank, uint64_t *token, Err *err);
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
void wire_heard(uint32_t client, uint64_t bytes, Msg *out);
bool wire_read_heard(const Msg *m, uint32_t *client, uint64_t *bytes, Err *err);
void wire_gone(uint32_t client, Msg *out);
bool wire_read_gone(const Msg *m, uint32_t *client, Err *err);
/* forms: see bodies_define; borrowed from m after reading. */
void wire_body(uint32_t client, uint64_t number, const void *forms, size_t n, Msg *out);
bool wire_read_body(const Msg *m, uint32_t *client, uint64_t *number, const void **forms, size_t *n,
                    Err *err);
void wire_text(MsgKind kind, const char *s, size_t n, Msg *out); /* STATS, STATS_REPLY, BYE, BEAT */
bool wire_read_text(const Msg *m, const char **s, size_t *n, Err *err);
/* bufs[i], if not NULL, is the Buf that begins with value[i].data: kept by reference (consumed). */
void wire_reply(const Reply *r, Buf **bufs, Msg *out);
bool wire_read_reply(const Msg *m, Arena *arena, Reply *r, Err *err);
/* Reads the client id of an ACK, REPLY, ERROR or CANCEL without decoding the rest (for the
 * dispatcher's relay). */
bool wire_client(const Msg *m, uint32_t *client);
void wire_set_client(Msg *m, uint32_t client); /* in place; head must be unshared */
void wire_set_number(Msg *m, uint64_t number); /* of a frame; likewise */
/* True if the writer of this frame finds hot bodies itself: it defines one, or has a hot record. */
bool frame_has_bodies(const Msg *m);
/* Adds `by` to the numbers of all its bodies; in place. Malformed records are left unchanged. */
void frame_number_bodies(Msg *m, uint64_t by);
#endif
