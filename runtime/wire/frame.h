/* frame.h: writes and reads frames: instructions as bytes.
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
 *              u8 n_attr_arg, u8 flags, u16 n_in, u16 file, u16 col, u32 0, u32 line    (24 bytes)
 *   FORM       u32 per operand: kind in the low 2 bits, distance in 30 (a tensor made this many ids
 *              before `base`, since the last `edge`; 0: external or an immediate), padded to 8;
 *              then FORM attributes
 *   ARGS       u64 base: the first output id (outputs are consecutive), or without outputs the next
 *              id; u64 per external or immediate operand; ARG attributes; payload, see flags
 *   flags      bit 0: payload: u64 bytes, then the bytes padded to 8; bit 1: payload: u64 number of
 *              the message part that has it; bit 2: inserted by the dispatcher; its sequence
 *              number is that of the next record without this bit
 *   attribute  u32 key, u32 n, then 8 bytes of value, or n int64 of a list, or n bytes and a NUL of
 *              a string, padded to 8; each key once
 * A body's hash covers a record's bytes from 4 to the end of FORM.
 * Hot record: a head with op 0xFFFF and zeros, u32 number of the body, u32 from, u32 count, u32 0,
 *              u64 base; then for each instruction its ARGS after `base` (body.h). The count in the
 *              frame's head includes the instructions that it stands for. Flag bit 2: the body is
 *              one of the dispatcher's (body.h); then the u64 base of the inserted instructions
 *              follows the other base
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_FRAME_H
#define GT_RUNTIME_WIRE_FRAME_H
#include "runtime/inst/inst.h"
#include "runtime/base/msg.h"

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
    uint64_t next_id;     /* the last output id of frame_add, plus 1 */
    uint64_t next_added;  /* the last output id of frame_insert, plus 1 */
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
/* True at FRAME_INSTS records, HOT_INSTS instructions, FRAME_BYTES or FRAME_PART_BYTES, or if no
 * part is left. */
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
static inline FrameNext frame_peek(FrameReader *r) {
    return r->hot_left ? FRAME_HOT : frame_look(r);
}
/* Skips n of these, perhaps several iterations; the remaining arguments begin at args. Must not
 * skip the last one of a record that has bytes left over: frame_next reports those. */
void frame_pass_hot(FrameReader *r, uint32_t n, const uint8_t *args);
/* Appends a record of an open frame unchanged (`in` is its decoded form), or folds it if it is
 * expected; renumbers the part index. */
void frame_add_raw(FrameWriter *w, const Inst *in, const void *record, size_t record_bytes);

/* ---- In place ---- */

/* Sets the number over all clients of the frame's first record. The head must be unshared. */
void frame_set_number(Msg *m, uint64_t number);
/* True if the writer of this frame finds hot bodies itself: it defines one, or has a hot record. */
bool frame_has_bodies(const Msg *m);
/* Adds `by` to the numbers of all its bodies; in place. Malformed records are left unchanged. */
void frame_number_bodies(Msg *m, uint64_t by);
#endif
