/* body.h: hot bodies: runs of instructions of equal forms, sent once and
 * from then on as one short record with their arguments.
 *
 * What they are worth (`dispatcher_bench`, CPU of the dispatcher for each instruction): 0.169 us
 * in full and 0.057 hot for a client at home; 0.447 and 0.168 data-parallel over 72 workers. The
 * frames of a sharded MLP have 4,722 bytes without and 852 with them. Workers' plans need them.
 *
 * A body is what lies between two loop edges, including the second: a list of forms (frame.h).
 * The writer of a stream defines it with an instruction (`body`: its number, and the forms as
 * payload) in the stream, so that reader and writer know the same bodies at every place of it. A
 * record `hot` stands for `count` instructions of a body from the from-th on; after the last one
 * the first follows again. It holds what the forms leave open, instruction by instruction.
 * Results are numbered consecutively from `base`. Its instructions have the sequence numbers
 * that they would have in full, and frame_next yields them as if they were, so that a reader
 * need not know bodies. One that does (frame_look) can keep notes with them.
 *
 * The dispatcher writes what it sends to groups of workers in the same way, with bodies of its
 * own: runs of located instructions and of those that it has inserted among them (moves, frees).
 * Such a record is flagged (frame.h), and in `body` their numbers have BODY_PLACED: readers have
 * a table for each of the two writers. Inserted instructions have no sequence number, and their
 * results are numbered from a base of their own, `added`.
 *
 * A table holds the BODIES_MAX youngest bodies, and BODIES_BYTES of forms; numbers only grow.
 * The writer knows which bodies are in use. It gives a body that would be evicted a younger
 * number (`body` with the new number and the old one, without forms); everything kept with the
 * body stays. Evicted bodies stay in memory until bodies_sweep, because a reader may be in one.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_BODY_H
#define GT_RUNTIME_WIRE_BODY_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/inst/inst.h"

enum {
    BODIES_MAX = 128,       /* of one stream */
    BODY_BYTES = 1 << 20,   /* of one body's forms */
    BODY_FORM_BYTES = 4096, /* of one form: the most that a hot instruction expands to */
    BODIES_BYTES = 4 << 20, /* of all forms of a table */
    HOT_INSTS = 4096        /* instructions of one frame, if hot records stand for them */
};
#define BODY_PLACED (UINT32_C(1) << 31) /* in a number of `body`: it is one of the dispatcher's */
/* Where a payload is: nowhere; among the arguments, after its length; or in the part of the message
 * whose number is there. */
enum { BODY_NO_PAYLOAD, BODY_INLINE, BODY_PART };

/* One instruction: the part of its record before `base`. */
typedef struct BodyForm {
    uint32_t at, bytes;  /* in Body.bytes: a record's head, whose length is `bytes`, and its form */
    uint32_t n_made;     /* results of the body's earlier instructions, except inserted ones */
    uint32_t n_added;    /* results of earlier inserted ones */
    uint32_t n_inserted; /* earlier inserted ones */
    uint16_t op, n_in, n_external; /* external: operands whose ids or values are arguments */
    uint8_t n_out, n_attr_form, n_attr_arg, payload; /* payload: BODY_... */
    bool is_inserted;
    SrcPos pos;
} BodyForm;

typedef struct Body Body;
struct Body {
    Body *dead;                   /* the next evicted one */
    Body *now;                    /* of an evicted one: this body, under a former number; NULL:
                                   * it is gone */
    uint64_t number, hash;        /* hash: of bytes */
    uint32_t n, n_made;           /* instructions, results */
    uint32_t n_added, n_inserted; /* results of inserted ones; inserted ones */
    uint8_t *bytes;
    size_t n_bytes;
    BodyForm *form; /* n of them */
    void *plan;     /* the reader's own; plan_free frees it with the body */
    void (*plan_free)(void *plan);
};

typedef struct Bodies {
    bool may_insert;        /* set by the owner: for the dispatcher's stream */
    Body *slot[BODIES_MAX]; /* by number */
    Body *dead;
    size_t n_bytes, bytes_max; /* of forms; limit, set while empty (0: BODIES_BYTES) */
    uint64_t next;             /* lower numbers are taken */
    uint64_t oldest;
} Bodies; /* zero-initialised is empty */

/* forms: one after another, as in the payload of `body`. If the number is below `next`, the body
 * is known and nothing happens. (With may_insert, it may be one that this reader did not get
 * when it was defined.) False, with err: malformed, or beyond a limit. */
bool bodies_define(Bodies *t, uint64_t number, const void *forms, size_t n, Err *err);
/* Gives body `old` this number, unless that is below `next` or there is no such body. */
void bodies_rename(Bodies *t, uint64_t number, uint64_t old);
/* Returns the first body to evict if one of n bytes is defined; NULL: there is room. */
Body *bodies_first_to_go(Bodies *t, size_t n);
Body *bodies_get(const Bodies *t, uint64_t number); /* NULL: there is none */
/* As bodies_get, but also finds a body that was evicted, or had this number, since the last
 * sweep. */
Body *bodies_get_dead(const Bodies *t, uint64_t number);
void bodies_sweep(Bodies *t); /* precondition: no reader is in an evicted body */
void bodies_fini(Bodies *t);

/* Of operand k: InKind in the low 2 bits; above them the distance in ids to the instruction that
 * made it, 0 if it is an argument. */
uint32_t body_operand(const Body *b, const BodyForm *f, int k);
/* Returns the end of an instruction's arguments that begin at `at`; NULL: after `end`. */
const uint8_t *body_args_end(const BodyForm *f, const uint8_t *at, const uint8_t *end);
/* Returns the full record, *n bytes, in the arena. base: of its results, or else the next id. */
uint8_t *body_record(const Body *b, const BodyForm *f, uint64_t base, const uint8_t *args,
                     size_t n_args, Arena *arena, size_t *n);
#endif
