/* body.h: hot bodies. If a loop issues the same instructions again and again, their forms (the part
 * of a record that does not change, frame.h) are sent once. From then on, a short record with their
 * arguments is sent instead of them.
 *
 * What they are worth (`dispatcher_bench`, CPU of the dispatcher per instruction): 0.169 us in full
 * and 0.057 us hot for a client whose tensors are all on one worker; 0.447 us and 0.168 us for data
 * parallelism over 72 workers. The frames of a sharded MLP have 4,722 bytes without hot bodies and
 * 852 with them. The plans of workers (worker/plan/plan.h) need hot bodies.
 *
 * A body is a list of forms: those of the instructions after one loop edge, up to the next edge and
 * including it. The writer of a stream defines a body by an instruction in the stream, `body`, with
 * its number and with the forms as payload. So at every position of the stream, reader and writer
 * know the same bodies. A hot record stands for `count` instructions of a body, beginning with the
 * from-th. After the body's last instruction comes its first again. The record has the arguments of
 * each instruction in turn. The ids of results are consecutive from `base`. Each instruction has
 * the sequence number that it would have in a record of its own, and frame_next yields it as if it
 * were in one. So a reader need not know of bodies. A reader that does (frame_look) can keep data
 * with a body.
 *
 * The dispatcher also writes hot records for groups of workers, with bodies of its own. Those
 * contain instructions with their place (`on`), and the instructions that the dispatcher has
 * inserted (moves, frees). Their records have a flag (frame.h), and their numbers have the bit
 * BODY_PLACED in `body`. So readers have one table for the client's bodies and one for the
 * dispatcher's. Inserted instructions have no sequence number, and the ids of their results are
 * consecutive from another base, `added`.
 *
 * A table holds at most BODIES_MAX bodies and BODIES_BYTES of forms. The number of a new body is
 * higher than all before it, and the body with the lowest number is evicted first. To keep such a
 * body, the writer gives it a new number: `body` with both numbers and no forms. The data kept with
 * the body stay. An evicted body stays in memory until bodies_sweep, because a reader may be in the
 * middle of it.
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
#define BODY_PLACED (UINT32_C(1) << 31) /* in a number of `body`: the body is the dispatcher's */
/* The payload of an instruction: there is none; its length and bytes are among the arguments; or
 * its bytes are a part of the message, whose number is among the arguments. */
enum { BODY_NO_PAYLOAD, BODY_INLINE, BODY_PART };

/* The form of one instruction. */
typedef struct BodyForm {
    uint32_t at, bytes;  /* offset in Body.bytes of the record up to `base`; its length */
    uint32_t n_made;     /* results of the body's earlier instructions, except inserted ones */
    uint32_t n_added;    /* results of its earlier inserted instructions */
    uint32_t n_inserted; /* number of its earlier inserted instructions */
    uint16_t op, n_in, n_external; /* external: operands whose ids or values are arguments */
    uint8_t n_out, n_attr_form, n_attr_arg, payload; /* payload: BODY_... */
    bool is_inserted;
    SrcPos pos;
} BodyForm;

typedef struct Body Body;
struct Body {
    Body *dead;                   /* the next evicted body */
    Body *now;                    /* if this one was evicted because it got another number: the
                                   * body with that number; else NULL */
    uint64_t number, hash;        /* hash: of bytes */
    uint32_t n, n_made;           /* instructions, results */
    uint32_t n_added, n_inserted; /* results of inserted instructions; number of these */
    uint8_t *bytes;
    size_t n_bytes;
    BodyForm *form; /* n of them */
    void *plan;     /* data that the reader keeps; plan_free frees it with the body */
    void (*plan_free)(void *plan);
};

typedef struct Bodies {
    bool may_insert;        /* set by the owner: the bodies are the dispatcher's */
    Body *slot[BODIES_MAX]; /* by number */
    Body *dead;
    size_t n_bytes, bytes_max; /* of forms; their limit, set while empty (0: BODIES_BYTES) */
    uint64_t next;             /* one more than the highest number so far */
    uint64_t oldest;           /* no body has a lower number */
} Bodies;                      /* zero-initialised is empty */

/* Defines a body. forms: n bytes, as in the payload of `body`. A number below `next` is known: then
 * nothing happens, unless may_insert is set and this reader lacks the body, because it did not get
 * the definition. Returns false and sets err if the forms are malformed or exceed a limit. */
bool bodies_define(Bodies *t, uint64_t number, const void *forms, size_t n, Err *err);
/* Gives body `old` this number, unless that is below `next` or there is no such body. */
void bodies_rename(Bodies *t, uint64_t number, uint64_t old);
/* Returns the body to be evicted first when one of n bytes is defined; NULL if there is room. */
Body *bodies_first_to_go(Bodies *t, size_t n);
Body *bodies_get(const Bodies *t, uint64_t number); /* NULL: there is none */
/* As bodies_get, but also finds a body that was evicted after the last sweep, or that had this
 * number then. */
Body *bodies_get_dead(const Bodies *t, uint64_t number);
void bodies_sweep(Bodies *t); /* precondition: no reader is in an evicted body */
void bodies_fini(Bodies *t);

/* Returns operand k: its InKind in the low 2 bits, and above them its distance (frame.h): `base`
 * minus its id, or 0 if it is an argument. */
uint32_t body_operand(const Body *b, const BodyForm *f, int k);
/* Returns the end of an instruction's arguments, which begin at `at`; NULL if they exceed `end`. */
const uint8_t *body_args_end(const BodyForm *f, const uint8_t *at, const uint8_t *end);
/* Returns the full record of an instruction, *n bytes, in the arena. base: the id of its first
 * result, or without results the next id. */
uint8_t *body_record(const Body *b, const BodyForm *f, uint64_t base, const uint8_t *args,
                     size_t n_args, Arena *arena, size_t *n);
#endif
