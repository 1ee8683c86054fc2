/* placed.h: an instruction of a hot body as mod_shard.c placed it, kept for the next time round
 * (mod_hot.c): where it runs, what its operands must be laid out as there, and the record that goes
 * to the workers.
 *
 * All that inference, the scopes and the rules of layouts look at is compared: types and places of
 * the operands, the scope's target, numbers, attributes. If it is as it was, the record needs other
 * ids only. Everything else is done, not remembered: operands are converted by convert_to, which
 * inserts what it must, results get handles, and the record goes the way of any other. So what is
 * kept depends on no other instruction, and the stream is what it would have been, byte for byte.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_HOT_PLACED_H
#define GT_DISPATCHER_HOT_PLACED_H
#include "dispatcher/state/state.h"
#include "runtime/inst/element.h"

enum { PLACED_IN = 8, FREE_MAX = 64 };

/* An operand that is a number, as seen. */
typedef struct Number {
    uint8_t kind;  /* InKind */
    uint8_t holds; /* of a MAP row: the dtype that it must fit; DT_NONE: it must be the same */
    uint64_t value;
} Number;
/* f went through the chain; inst: as it came. */
void number_note(Number *n, const Flow *f, const Inst *inst, int k);
/* Inference has nothing else to say of this value. */
static inline bool number_fits(const Number *n, uint64_t value) {
    Operand o = {.kind = (InKind)n->kind, .id = value};
    if (n->holds == DT_NONE || value == n->value) return value == n->value;
    if (o.kind == IN_IMM_FLOAT) return dtype_holds_float((DType)n->holds, o.f);
    return o.kind == IN_IMM_INT && dtype_holds_int((DType)n->holds, o.i);
}

typedef struct PlacedIn {
    uint32_t distance; /* made so many ids ago; 0: it is an argument */
    Number number;
    TensorType type; /* of a tensor: all that follows */
    bool is_fill;
    const Members *group;
    Layout layout, best; /* there; as convert_best has it */
    Layout need;         /* where it is used */
} PlacedIn;

typedef struct Placed Placed;
/* Before the chain: how the operands (at most PLACED_IN) lie. */
void placed_look(const Flow *f, PlacedIn *in);
/* Behind it; was: the instruction as it came. NULL: it cannot be known. */
Placed *placed_new(const Flow *f, const Inst *was, const PlacedIn *in);
size_t placed_bytes(const Placed *p); /* of NULL: 0 */

/* One instruction of a body as its record in the frame has it. */
typedef struct HotInst {
    const Body *body;
    const BodyForm *form;
    uint64_t base;
    const uint8_t *args;
    size_t n_args;
    const uint8_t *changed; /* set: the argument that is another tensor than was seen, or NULL */
} HotInst;
/* It goes out if all is as it was; else nothing has happened. f: with d, client and seq. */
bool placed_again(Placed *p, Flow *f, HotInst *hot);
/* Frees (of at most FREE_MAX) and edges, without attributes: they are always known. False: it is
 * neither, or names what cannot be. */
bool placed_other(Flow *f, const HotInst *hot);
#endif
