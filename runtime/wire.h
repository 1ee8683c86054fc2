/* wire.h: the binary form of messages and instructions, and the only reader of foreign bytes.
 *
 * All integers little-endian; records start 8-byte aligned within their message. Nothing is
 * trusted: every length is checked against what is left, every enum against its table, before use;
 * a failed decode says what and where, and has touched nothing outside its scratch arena. Encoding
 * cannot fail. Both come from the tables; no op is named here.
 *
 * FRAME head:  u8 kind, u8 0, u16 0, u32 client, u64 seq (of its first instruction), u32 count,
 *              u32 body_bytes; then records; payloads over INLINE_BYTES are the message's further
 *              parts
 * Record:      u32 length (of the record, multiple of 8), u16 op, u8 n_out, u8 n_attr_form,
 *              u8 n_attr_arg, u8 flags, u16 n_in, u16 file, u16 col, u16 0, u32 line    (24 bytes)
 *   FORM       u32 per operand: kind in the low 2 bits, distance in 30 (a tensor made so many ids
 *              before `base`, since the last `edge`; 0 = external or an immediate), padded to 8;
 *              then FORM attributes
 *   ARGS       u64 base: the first output id (outputs are consecutive), or without outputs the next
 *              id to come; u64 per external or immediate operand; ARG attributes; payload if flags
 *              say so: bit 0: u64 bytes, then the bytes padded to 8; bit 1: u64 number of the
 *              message
 *              part that is the payload
 *   attribute  u32 key, u32 n, then 8 bytes of value, or n int64 of a list, or n bytes and a NUL of
 *              a
 *              string, padded to 8; a key comes once
 * A record's bytes 4 to the end of FORM are what a body's hash is made of (DESIGN 5).
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_H
#define GT_RUNTIME_WIRE_H
#include "runtime/inst.h"
#include "runtime/net.h"

#define WIRE_VERSION 1

typedef enum MsgKind {
#define MSG(id, name, doc) MSG_##id,
#include "runtime/msgs.def"
    MSG_COUNT
} MsgKind;

/* Kind of a message's head, or MSG_COUNT for an empty or unknown one. */
MsgKind wire_kind(const Msg *m);

/* ---- frames ---- */

/* Builds one frame after another. Zero-initialised is empty; frame_begin first. edge_id and next_id
 * outlive the frames: the owner sets edge_id to next_id at each `edge`. Nothing is added to a full
 * frame. */
typedef struct FrameWriter {
    Buf *head; Buf *parts[MAX_MSG_PARTS]; int n_parts;
    uint32_t client, count; uint64_t seq;
    uint64_t edge_id; /* operands from this id on are written as distances; UINT64_MAX: none are */
    uint64_t next_id; /* one more than the last output id that was added */
} FrameWriter;
void frame_begin(FrameWriter *w, uint32_t client, uint64_t seq);
/* payload_buf, if set, is kept by reference when it is large */
void frame_add(FrameWriter *w, const Inst *in);
size_t frame_bytes(const FrameWriter *w);
bool frame_is_full(const FrameWriter *w);            /* FRAME_INSTS, FRAME_BYTES, or no part left */
void frame_end(FrameWriter *w, Msg *out);            /* w is empty again; count may be 0 */

/* Walks a frame without copying. m must outlive the reader and what it yields; arena holds operand
 * and attribute arrays. The sequence number of what frame_next has yielded is seq + next - 1.
 * Strings of attributes are NUL-terminated. The decoder checks form only: ids, types and attributes
 * of an instruction are inst_infer's and its caller's business. */
typedef struct FrameReader {
    const Msg *m;
    const uint8_t *at, *end;
    uint32_t client, count, next;
    uint64_t seq;
} FrameReader;
bool frame_open(FrameReader *r, const Msg *m, Err *err);
/* 1: *in is the next instruction and *record / *record_bytes its raw bytes; 0: end; -1: malformed
 * (err set). */
int frame_next(FrameReader *r, Arena *scratch, Inst *in, const void **record, size_t *record_bytes,
               Err *err);
/* Appends a record of an open frame as it stands (`in` is what it decodes to, unchanged); the part
 * index is renumbered. */
void frame_add_raw(FrameWriter *w, const Inst *in, const void *record, size_t record_bytes);

/* ---- the other messages: one struct each, encode and decode ---- */

typedef enum Role { ROLE_CLIENT, ROLE_WORKER } Role;
typedef struct Hello {
    uint32_t version;
    uint64_t table_hash;
    uint8_t role;
    uint64_t memory_bytes;
    uint32_t threads;
    char name[64];
} Hello;
typedef struct Welcome {
    uint32_t id, rank, n_workers;
    uint64_t window_insts, window_bytes;
    char engine[64];
} Welcome;
/* All with sequence < seq are done. */
typedef struct Ack { uint32_t client; uint64_t seq; uint64_t bytes; } Ack;
typedef struct Failure {
    uint32_t client;
    uint64_t seq;
    SrcPos pos;
    uint16_t op, worker;
    Err err;
} Failure;
typedef struct Cancel { uint32_t client; uint64_t seq; } Cancel;

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
void wire_gone(uint32_t client, Msg *out);
bool wire_read_gone(const Msg *m, uint32_t *client, Err *err);
void wire_text(MsgKind kind, const char *s, size_t n, Msg *out); /* STATS, STATS_REPLY, BYE, BEAT */
bool wire_read_text(const Msg *m, const char **s, size_t *n, Err *err);
/* bufs[i], if not NULL, is the Buf that value[i].data lies at the start of: kept by reference
 * (consumed). */
void wire_reply(const Reply *r, Buf **bufs, Msg *out);
bool wire_read_reply(const Msg *m, Arena *arena, Reply *r, Err *err);
/* The client id of an ACK, REPLY, ERROR or CANCEL without decoding the rest (the dispatcher's
 * relay). */
bool wire_client(const Msg *m, uint32_t *client);
void wire_set_client(Msg *m, uint32_t client);            /* in place; head must be unshared */
#endif
