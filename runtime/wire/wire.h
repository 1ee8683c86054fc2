/* wire.h: the binary form of messages and instructions, and the only reader of foreign bytes.
 * SPDX-License-Identifier: MIT
 *
 * All integers little-endian; records start 8-byte aligned within their message. Nothing is
 * trusted: every length is checked against what is left, every enum against its table, before use;
 * a failed decode says what and where, and has touched nothing outside its scratch arena. Encoding
 * cannot fail. Both come from the tables; no op is named here.
 *
 * FRAME head:  u8 kind, u8 flags (bit 3 as of a record, before the first one), u16 0, u32 client,
 *              u64 seq (of its first instruction), u32 count, u32 body_bytes, u64 number (of its
 *              first record, over all clients; clients: 0); then records; payloads over
 *              INLINE_BYTES are the message's further parts
 * Record:      u32 length (of the record, multiple of 8), u16 op, u8 n_out, u8 n_attr_form,
 *              u8 n_attr_arg, u8 flags, u16 n_in, u16 file, u16 col, u16 0, u32 line    (24 bytes)
 *   FORM       u32 per operand: kind in the low 2 bits, distance in 30 (a tensor made so many ids
 *              before `base`, since the last `edge`; 0 = external or an immediate), padded to 8;
 *              then FORM attributes
 *   ARGS       u64 base: the first output id (outputs are consecutive), or without outputs the next
 *              id to come; u64 per external or immediate operand; ARG attributes; payload if flags
 *              say so: bit 0: u64 bytes, then the bytes padded to 8; bit 1: u64 number of the
 *              message part that is the payload; bit 2: the record was inserted by the
 *              dispatcher: it has no sequence number of its own, but that of the next one that was
 *              not; bit 3, of `signal` records and by the dispatcher: from here on instructions are
 *              in a scope that says `compile: true`
 *   attribute  u32 key, u32 n, then 8 bytes of value, or n int64 of a list, or n bytes and a NUL of
 *              a
 *              string, padded to 8; a key comes once
 * A record's bytes 4 to the end of FORM are what a body's hash is made of (DESIGN 5).
 * Hot record: a head with op 0xFFFF and zeros, u32 number of the body, u32 from, u32 count, u32 0,
 *              u64 base; then per instruction what its ARGS have behind `base` (body.h). count in
 *              the frame's head counts the instructions it stands for. Flag bit 2: the body is one
 *              of the dispatcher's (body.h); then u64 the base of what was inserted stands behind
 *              the other one */
#ifndef GT_RUNTIME_WIRE_WIRE_H
#define GT_RUNTIME_WIRE_WIRE_H
#include "runtime/inst/inst.h"
#include "runtime/base/msg.h"

#define WIRE_VERSION 6

typedef enum MsgKind {
#define MSG(id, name, doc) MSG_##id,
#include "runtime/wire/msgs.def"
    MSG_COUNT
} MsgKind;

/* Kind of a message's head, or MSG_COUNT for an empty or unknown one. */
MsgKind wire_kind(const Msg *m);

/* ---- frames ---- */

/* Builds one frame after another. Zero-initialised is empty; frame_begin first. edge_id and next_id
 * outlive the frames: frame_edge sets both at each `edge`. A full frame gets nothing more. */
typedef struct FrameWriter {
    Buf *head;
    Buf *parts[MAX_MSG_PARTS];
    int n_parts;
    uint32_t client, count;
    uint64_t seq, number; /* number: set by the owner, after frame_begin */
    uint64_t edge_id; /* operands from this id on are written as distances; UINT64_MAX: none are */
    uint64_t next_id; /* one more than the last output id that was added, ...                    */
    uint64_t next_added; /* ... than the last one that was inserted                              */
    bool is_placed; /* set by the owner: its hot bodies are the dispatcher's                     */
    bool compiles;  /* behind the last record; outlives the frames, as edge_id does */
    bool begins_compiled; /* before the first one */
    size_t last_at;       /* where in head the last record begins */
    /* Hot bodies: what is expected next (frame_expect), where the open hot record is (0: none is),
     * the last record that was not folded (0: it was), records of this frame. */
    const struct Body *body;
    uint32_t body_at, form_at, form_bytes, records;
    size_t hot_at;
} FrameWriter;
void frame_begin(FrameWriter *w, uint32_t client, uint64_t seq);
/* payload_buf, if set, is kept by reference when it is large */
void frame_add(FrameWriter *w, const Inst *in);
/* A loop has come round, or may have: operands from next_id on, which is the next result's, are
 * written as distances. */
void frame_edge(FrameWriter *w, uint64_t next_id);
/* The body's instructions are expected from `at` on, over and over; NULL: none. What comes as
 * expected becomes part of a hot record; the first that does not is written in full, and so are all
 * until it comes after all, or something else is expected. body lives until then. */
void frame_expect(FrameWriter *w, const struct Body *body, uint32_t at);
/* What frame_add has just written in full becomes the at-th instruction of the body, from which on
 * it is expected. False: it is not that. */
bool frame_refold(FrameWriter *w, const struct Body *body, uint32_t at);
/* What frame_add has just written in full, up to its `base`: a head, whose length is not the
 * form's, and the form. NULL: it was folded. Valid until something is added. */
const void *frame_form(FrameWriter *w, size_t *n);
/* The dispatcher's own; takes no sequence number. */
void frame_insert(FrameWriter *w, const Inst *in);
/* The last record, a `signal` of any kind, leads into a scope that is compiled at first sight, or
 * out of it. */
void frame_set_compiles(FrameWriter *w, bool on);
size_t frame_bytes(const FrameWriter *w);
/* FRAME_INSTS records, HOT_INSTS instructions, FRAME_BYTES, or no part left. */
bool frame_is_full(const FrameWriter *w);
void frame_end(FrameWriter *w, Msg *out); /* w is empty again; count may be 0 */

/* Walks a frame without copying. m must outlive the reader and what it yields; arena holds operand
 * and attribute arrays. What frame_next has yielded has the sequence number inst_seq, and seq_next
 * is that of what follows; its number over all clients is number + next - 1.
 * Strings of attributes are NUL-terminated. The decoder checks form only: ids, types and attributes
 * of an instruction are inst_infer's and its caller's business. */
typedef struct FrameReader {
    const Msg *m;
    const uint8_t *at, *end;
    uint32_t client, count, next;
    uint64_t seq, seq_next, inst_seq, number;
    bool is_inserted;        /* what frame_next has yielded */
    bool compiles;           /* ... is in a scope that is compiled at first sight */
    bool is_hot;             /* it is of a hot record ... */
    uint32_t hot_compiles;   /* its signals that lead into such a scope, ... */
    uint32_t hot_signal;     /* ... and which of its signals this is */
    const uint8_t *hot_head; /* its record */
    /* Set by the owner behind frame_open: learns bodies, and knows those of hot records. NULL: hot
     * records are malformed. */
    struct Bodies *bodies;
    struct Bodies *placed; /* likewise, of those that are the dispatcher's */
    bool reads_again;      /* set likewise: the frame was read before, no sweep has been since */
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
/* What frame_next is going to read. FRAME_HOT: instructions of a hot record, in which the reader
 * stands: hot_left instructions from hot_at of hot_body on are to come, hot_base is the id of their
 * first result, hot_added that of the first one of what was inserted, and their arguments stand in
 * [hot_args, hot_end). FRAME_INST: another one, or what is malformed, which frame_next says. */
typedef enum FrameNext { FRAME_END, FRAME_INST, FRAME_HOT } FrameNext;
FrameNext frame_look(FrameReader *r);
static inline FrameNext frame_comes(FrameReader *r) {
    return r->hot_left ? FRAME_HOT : frame_look(r);
}
/* n of these, perhaps several times round, have been dealt with; the arguments that are left begin
 * at args. Not the last of a record that has bytes left over: frame_next says so. */
void frame_pass_hot(FrameReader *r, uint32_t n, const uint8_t *args);
/* What comes next, of a hot record, is in a scope that is compiled at first sight. */
bool hot_next_compiles(const FrameReader *r);
/* Appends a record of an open frame as it stands (`in` is what it decodes to, unchanged), or what
 * is left of it where it is expected; the part index is renumbered. */
void frame_add_raw(FrameWriter *w, const Inst *in, const void *record, size_t record_bytes);

/* ---- the other messages: one struct each, encode and decode ---- */

/* How a worker's memory is reached by its peers; part of its hello. All zero: it has no peers. */
typedef struct DataPlane {
    uint64_t process;  /* random; equal: the same process, its addresses are valid          */
    uint64_t arena_at; /* address of its arena in that process ...                          */
    uint64_t arena_bytes;
    uint32_t pid;       /* ... and where another process finds it: /proc/PID/fd/FD ...       */
    int32_t fd;         /* (-1: nowhere) ...                                                 */
    uint64_t inode;     /* with this inode                                                   */
    char host[64];      /* the kernel's boot id: equal, the same machine                     */
    char endpoint[256]; /* of the hub where it hears its peers                               */
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
    uint64_t spawned; /* of one that the dispatcher has started: the number it was given; else 0 */
} Hello;
typedef struct Welcome {
    uint32_t id, rank, n_workers;
    uint64_t window_insts, window_bytes;
    uint64_t token; /* of a worker: by this its peers know it */
    char engine[64];
} Welcome;
/* All with sequence < seq are done. */
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
    ReplyValue *value; /* the arena's when read */
} Reply;
uint64_t reply_value_numel(const TensorType *t, uint32_t edge);

/* A worker as the others are told of it. */
typedef struct PeerInfo {
    uint32_t rank;
    uint64_t token;
    DataPlane data;
} PeerInfo;

/* What an instruction took on one worker, by that worker's clock: for the tape and for monitors.
 * Told only while somebody watches (WATCH), and only of what takes time: calls of the engine,
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
    int64_t now_ns; /* by the same clock, when this is sent */
    TimeRow *row;   /* the arena's when read */
} Times;
void wire_watch(bool on, Msg *out);
bool wire_read_watch(const Msg *m, bool *on, Err *err);
void wire_times(const Times *t, Msg *out);
bool wire_read_times(const Msg *m, Arena *arena, Times *t, Err *err);

/* ---- between workers ----
 *
 * Each instruction that moves a tensor has a number over all clients; a reader takes at most one
 * box of elements from one owner for it, so that number and peer name the transfer. */

/* What the reader may now take: the box has `size` elements along its axes and lies in the owner's
 * arena at `offset`, with these strides in elements. Small ones come along, row-major, in `data`
 * (then there is nothing to answer); a poisoned one has a status and no data (nothing to answer).
 */
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
/* rank has room for MAX_INTS; *n of them, distinct and below MAX_WORKERS. */
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
/* forms: as bodies_define takes them; borrowed from m when read. */
void wire_body(uint32_t client, uint64_t number, const void *forms, size_t n, Msg *out);
bool wire_read_body(const Msg *m, uint32_t *client, uint64_t *number, const void **forms, size_t *n,
                    Err *err);
void wire_text(MsgKind kind, const char *s, size_t n, Msg *out); /* STATS, STATS_REPLY, BYE, BEAT */
bool wire_read_text(const Msg *m, const char **s, size_t *n, Err *err);
/* bufs[i], if not NULL, is the Buf that value[i].data lies at the start of: kept by reference
 * (consumed). */
void wire_reply(const Reply *r, Buf **bufs, Msg *out);
bool wire_read_reply(const Msg *m, Arena *arena, Reply *r, Err *err);
/* The client id of an ACK, REPLY, ERROR or CANCEL without decoding the rest (the dispatcher's
 * relay). */
bool wire_client(const Msg *m, uint32_t *client);
void wire_set_client(Msg *m, uint32_t client); /* in place; head must be unshared */
void wire_set_number(Msg *m, uint64_t number); /* of a frame; likewise */
/* Of a frame, of a `signal` record in it, and of a hot record's `signal` that is its body's
 * instruction `at`: what frame_begin and frame_set_compiles would have written; likewise. */
void wire_set_compiles(Msg *m, bool on);
void record_set_compiles(void *record, bool on);
void hot_set_compiles(void *hot, const struct Body *body, uint32_t at, bool on);
/* Who wrote this frame finds hot bodies himself: it defines one, or has a hot record. */
bool frame_has_bodies(const Msg *m);
/* Adds `by` to the numbers of all its bodies; likewise. What is malformed stays as it is. */
void frame_number_bodies(Msg *m, uint64_t by);
#endif
