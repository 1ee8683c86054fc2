/* body.h: hot bodies: runs of instructions of equal forms (DESIGN 5, hot paths), sent once and from
 * then on as one short record with their arguments.
 *
 * A body is what lies between two loop edges, the second included: a list of forms (wire.h). Who
 * writes a stream defines it with an instruction (`body`: its number, and the forms as payload), in
 * the stream, so that reader and writer know the same bodies at every place of it. A record `hot`
 * stands for `count` instructions of a body from the from-th on; behind the last one the first
 * follows again. It holds what the forms leave open, instruction by instruction. Results are
 * numbered one after another from `base`. Its instructions have sequence numbers as if they stood
 * there in full, and are read so (frame_next): nobody has to know of bodies. Who does
 * (frame_comes) gains what can be kept with them.
 *
 * The dispatcher writes what it sends to groups of workers in the same way, with bodies of its own:
 * runs of located instructions and of those that it has inserted among them (moves, frees). Such a
 * record is flagged (wire.h), and where `body` speaks of them their numbers have BODY_PLACED: who
 * reads has a table for each of the two writers. What was inserted takes no sequence number, and
 * its results are numbered from a base of their own, `added`.
 *
 * A table holds the BODIES_MAX youngest bodies, and BODIES_BYTES of forms; numbers only grow. Who
 * writes knows what is in use: a body that would have to go is given a younger number (`body` with
 * that and the old one, without forms), with all that is kept with it. What had to go stays in
 * memory until bodies_sweep, for a reader may be in it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_WIRE_BODY_H
#define GT_RUNTIME_WIRE_BODY_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/inst/inst.h"

enum {
    BODIES_MAX = 128,       /* of one stream */
    BODY_BYTES = 1 << 20,   /* of one body's forms */
    BODY_FORM_BYTES = 4096, /* of one form: so much an instruction of a hot record may unfold to,
                               besides its arguments */
    BODIES_BYTES = 4 << 20, /* of all forms of a table */
    HOT_INSTS = 4096        /* instructions of one frame, if hot records stand for them */
};
#define BODY_PLACED (UINT32_C(1) << 31) /* in a number of `body`: it is one of the dispatcher's */
/* Where a payload is: behind its length, among the arguments; or in the part of the message whose
 * number stands there. */
enum { BODY_INLINE = 1, BODY_PART = 2 };

/* One instruction: what its record has before `base`. */
typedef struct BodyForm {
    uint32_t at, bytes;  /* in Body.bytes: a record's head, whose length is `bytes`, and its form */
    uint32_t n_made;     /* results of the body's instructions before it, but of inserted ones */
    uint32_t n_added;    /* results of inserted ones before it */
    uint32_t n_inserted; /* inserted ones before it */
    uint16_t op, n_in, n_external; /* external: operands whose ids or values are arguments */
    uint8_t n_out, n_attr_form, n_attr_arg, payload; /* payload: 0, BODY_INLINE or BODY_PART */
    uint8_t n_signals;                               /* in the body before it; at most 31 */
    bool is_inserted;
    SrcPos pos;
} BodyForm;

typedef struct Body Body;
struct Body {
    Body *dead;                   /* the next one that had to go */
    Body *now;                    /* of such: this one, by a number that it had; NULL: it is gone */
    uint64_t number, hash;        /* hash: of bytes */
    uint32_t n, n_made;           /* instructions, results */
    uint32_t n_added, n_inserted; /* results of inserted ones, which n_made does not count; them */
    uint32_t n_signals;           /* signals among them, at most 31 */
    uint8_t *bytes;
    size_t n_bytes;
    BodyForm *form; /* n of them */
    void *plan;     /* the reader's own; plan_free frees it with the body */
    void (*plan_free)(void *plan);
};

typedef struct Bodies {
    bool may_insert;        /* set by the owner: of the dispatcher's stream */
    Body *slot[BODIES_MAX]; /* by number */
    Body *dead;
    size_t n_bytes, bytes_max; /* of forms; the latter, set while it is empty: 0: BODIES_BYTES, or
                                  less, but no less than BODY_BYTES */
    uint64_t next;             /* numbers below were given */
    uint64_t oldest;
} Bodies; /* zero-initialised is empty */

/* Forms one after another, as the payload of `body` has them. A number below `next` is of one that
 * is known: then nothing happens. (Where may_insert, it may be one that this reader was not told of
 * when it was defined.) False, with err: malformed, or beyond a limit. */
bool bodies_define(Bodies *t, uint64_t number, const void *forms, size_t n, Err *err);
/* Body `old` has this number from now on; unless it is below `next`, or there is no such body. */
void bodies_rename(Bodies *t, uint64_t number, uint64_t old);
/* The one that has to go first when another one of n bytes is defined; NULL: there is room. */
Body *bodies_first_to_go(Bodies *t, size_t n);
Body *bodies_get(const Bodies *t, uint64_t number); /* NULL: there is none */
/* The same, or one that had to go or had this number since the last sweep. */
Body *bodies_get_dead(const Bodies *t, uint64_t number);
void bodies_sweep(Bodies *t); /* no reader is in what had to go */
void bodies_fini(Bodies *t);

/* Of operand k: InKind in the low 2 bits, above them how many ids ago it was made; 0: it is an
 * argument. */
uint32_t body_operand(const Body *b, const BodyForm *f, int k);
/* Where the arguments of an instruction that begin at `at` end; NULL: beyond `end`. */
const uint8_t *body_args_end(const BodyForm *f, const uint8_t *at, const uint8_t *end);
/* The record that it would be in full, *n bytes, the arena's. base: of its results, or the next id
 * to come. */
uint8_t *body_record(const Body *b, const BodyForm *f, uint64_t base, const uint8_t *args,
                     size_t n_args, Arena *arena, size_t *n);
#endif
