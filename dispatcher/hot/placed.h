/* placed.h: an instruction of a hot body as mod_place.c placed it, kept for the next iteration
 * (mod_hot.c): where it runs, the layouts that its operands need there, and the record for the
 * workers.
 *
 * What it is worth (`dispatcher_bench`, data-parallel over 72 workers, CPU per instruction): 0.447
 * us through the chain, 0.168 us repeated by placed_again.
 *
 * The next iteration compares everything that inference, the scopes and the rules of layouts read:
 * types and places of the operands, the scope's target, numbers, attributes. If nothing changed,
 * only the ids in the record are replaced. The other steps are done again: convert_to
 * converts operands and inserts moves, results get handles, and mod_route.c writes the record. So
 * what is kept depends on no other instruction, and the workers get the same bytes as without it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_HOT_PLACED_H
#define GT_DISPATCHER_HOT_PLACED_H
#include "dispatcher/state/state.h"
#include "runtime/inst/element.h"

enum {
    PLACED_IN =
        sizeof((Flow *)0)->in_type / sizeof(TensorType), /* operands that a Flow describes */
    FREE_MAX = BODY_FORM_BYTES / sizeof(uint32_t) /* operands of the longest form of a `free` */
};

/* An operand that is a number, as recorded. */
typedef struct Number {
    uint8_t kind;  /* InKind */
    uint8_t holds; /* of a MAP row: the dtype that it must fit; DT_NONE: it must be equal */
    uint64_t value;
} Number;
/* Call after f went through the chain. inst: the instruction before the chain. */
void number_note(Number *n, const Flow *f, const Inst *inst, int k);
/* True if inference has the same result for this value as for the recorded one. */
static inline bool number_fits(const Number *n, uint64_t value) {
    Operand o = {.kind = (InKind)n->kind, .id = value};
    if (n->holds == DT_NONE || value == n->value) return value == n->value;
    if (o.kind == IN_IMM_FLOAT) return dtype_holds_float((DType)n->holds, o.f);
    return o.kind == IN_IMM_INT && dtype_holds_int((DType)n->holds, o.i);
}

typedef struct PlacedIn {
    uint32_t distance; /* made this many ids ago; 0: it is an argument */
    Number number;
    TensorType type; /* this and the following members are set if it is a tensor */
    bool is_fill;
    const Members *group;
    Layout layout, best; /* on that group; as convert_best returns it */
    Layout need;         /* where the instruction reads it */
} PlacedIn;

typedef struct Placed Placed;
/* Before the chain: records how the operands (at most PLACED_IN) lie. */
void placed_look(const Flow *f, PlacedIn *in);
/* Call after the chain. was: the instruction before it. NULL: it cannot be repeated. */
Placed *placed_new(const Flow *f, const Inst *was, const PlacedIn *in);
size_t placed_bytes(const Placed *p); /* of NULL: 0 */

/* One instruction of a body as in the frame's record. */
typedef struct HotInst {
    const Body *body;
    const BodyForm *form;
    uint64_t base;
    const uint8_t *args;
    size_t n_args;
    /* Set by placed_again: the argument that is another tensor than before, or NULL. */
    const uint8_t *changed;
} HotInst;
/* Sends it if everything is unchanged; else does nothing. f: with d, client and seq set. */
bool placed_again(Placed *p, Flow *f, HotInst *hot);
/* For frees and edges, without attributes: they are always known. False:
 * it is neither, or names an invalid id. */
bool placed_other(Flow *f, const HotInst *hot);
#endif
