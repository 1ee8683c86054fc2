/* record.h: the layout of frames and records in bytes, private to frame.c, frame_hot.c and
 * body.c (frame.h defines the meaning). SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_RECORD_H
#define GT_RUNTIME_WIRE_RECORD_H
#include "runtime/inst/inst.h"
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the wire's integers are stored as they are");

enum { FRAME_HEAD = 32, RECORD_HEAD = 24, ATTR_HEAD = 8, HOT_HEAD = 48, HOT_ADDED = 8 };
enum { RECORD_HOT = 0xFFFF }; /* the op of a hot record */
enum { HAS_INLINE = 1, HAS_PART = 2, HAS_PAYLOAD = 3, IS_INSERTED = 4 }; /* flags of a record */

typedef struct FrameHead {
    uint8_t kind, zero[3];
    uint32_t client;
    uint64_t seq;
    uint32_t count, body_bytes;
    uint64_t number;
} FrameHead;

typedef struct RecordHead {
    uint32_t length; /* of the whole record; what follows it is part of the form */
    uint16_t op;
    uint8_t n_out, n_attr_form, n_attr_arg, flags;
    uint16_t n_in, file, col, zero[2];
    uint32_t line;
} RecordHead;

/* With IS_INSERTED the body is the dispatcher's; then HOT_ADDED bytes follow: the base of what was
 * inserted. */
typedef struct HotHead {
    RecordHead head;
    uint32_t number, from, count, zero;
    uint64_t base;
} HotHead;

_Static_assert(sizeof(FrameHead) == FRAME_HEAD, "frame head has no holes");
_Static_assert(ATTR_COUNT <= 64, "read_attrs has a bit per key");
_Static_assert(sizeof(RecordHead) == RECORD_HEAD, "record head has no holes");
_Static_assert(sizeof(HotHead) == HOT_HEAD, "hot head has no holes");

static inline size_t pad8(size_t n) { return (n + 7) & ~(size_t)7; }

/* NULL, or what is wrong. */
static inline const char *record_check(const RecordHead *h) {
    if (h->op >= OP_COUNT) return "unknown op";
    if (h->n_out > MAX_OUT) return "too many results";
    if (h->n_out == 0 && op_info[h->op].class_ != CLASS_CONTROL)
        return "an operation without a result";
    if (h->n_in > MAX_IN) return "too many operands";
    if (h->n_attr_form + h->n_attr_arg > MAX_ATTRS) return "too many attributes";
    if (h->flags > (HAS_PART | IS_INSERTED) || (h->flags & HAS_PAYLOAD) == HAS_PAYLOAD)
        return "unknown flags";
    return NULL;
}
#endif
