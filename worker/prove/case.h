/* case.h: random instances of every row of the op table: an instruction with its attributes, and
 * operands of random type, layout (plain, permuted, sliced, expanded) and contents, in host memory.
 * A sampler exists for each row that engines execute; a KERNEL, VIEW or SOURCE row without one does
 * not compile. The draws depend on the seed alone.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PROVE_CASE_H
#define GT_WORKER_PROVE_CASE_H
#include "worker/engine/engine.h"

enum { CASE_ARGS = 12, CASE_ATTRS = 8, CASE_INTS = 64 };

/* WHOLE: small integers, whose sums are exact in every dtype: any difference is an error. SPECIAL:
 * also nan, infinities, denormals and huge numbers. INDEX: of operands that are filled later. */
typedef enum Style { STYLE_MIXED, STYLE_WHOLE, STYLE_SPECIAL, STYLE_INDEX } Style;

/* An operand: a tensor in `base_bytes` of memory, of which the view shows a part; or an
 * immediate. */
typedef struct CaseArg {
    bool is_imm;
    View view;      /* data NULL: the offset is relative to the base */
    int64_t offset; /* elements */
    uint64_t base_bytes;
    char *base; /* owned */
} CaseArg;

/* inst points into the Case, which therefore must not be copied. */
typedef struct Case {
    uint64_t seed, rng; /* rng: state of case_pick */
    Inst inst;
    Operand in[CASE_ARGS];
    Attr attr[CASE_ATTRS];
    int64_t ints[CASE_INTS];
    int n_ints;
    CaseArg arg[CASE_ARGS];
    Style style;
    DType dtype;   /* of the data operands */
    bool is_exact; /* all engines must give the same bits */
    double terms;  /* number of terms in one result: scales the tolerance */
    TensorType type[CASE_ARGS], out[MAX_OUT]; /* out: the caller's, from inst_infer */
} Case;

/* True if engines execute this row; false for CONTROL rows and `data`. */
bool case_has(Op op);
/* Draws an instance of a row; frees nothing that c held. */
void case_make(Case *c, Op op, DType d, Style style, uint64_t seed);
/* As case_make, and infers the results' types. Returns false, and c holds nothing, if the draw is
 * none that an engine gets: inference refuses some (the maximum of nothing), and some need more
 * than 32 MiB for a tensor. */
bool case_draw(Case *c, Op op, DType d, Style style, uint64_t seed);
/* An index, index_put, gather or scatter_add along an axis of size 10 with an index out of range:
 * below -10, above 9, or -1, which is so with from_zero. It is at position 8 of the whole index
 * operand, of which the case has the elements from 6 on. */
void case_make_bad_index(Case *c, Op op, int64_t index);
void case_free(Case *c);

/* An instance without operands or attributes. Then: */
void case_begin(Case *c, Op op, DType d, uint64_t seed);
CaseArg *case_add_tensor(Case *c, TensorType t, Style style);
void case_add_attr(Case *c, Attr a);
void case_add_ints(Case *c, AttrKey key, const int64_t *v, int n);
/* Fills index operand `a` with indices below size; from_zero: none counts from the end. */
void case_make_indices(Case *c, CaseArg *a, int64_t size, bool from_zero);

uint64_t case_pick(Case *c, uint64_t n); /* in 0 .. n-1; n 0: 0 */
/* Writes a number to element i of a, from its base on, converted to its dtype. */
void case_set(const CaseArg *a, int64_t i, double x);
#endif
