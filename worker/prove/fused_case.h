/* fused_case.h: random fusions (worker/emit/fuse.h): graphs over all dtypes, broadcast and permuted
 * inputs, odd sizes, nan and infinities, reductions along rows and over them, several passes,
 * single elements of rows at one or two indices, totals. Each is computed while it is drawn,
 * operation by operation, by an engine in host memory, such as `cpu`: that is what its kernel must
 * give.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PROVE_FUSED_CASE_H
#define GT_WORKER_PROVE_FUSED_CASE_H
#include "worker/emit/fuse.h"
#include "worker/prove/rand.h"

enum { FUSED_VALUES = 40, FUSED_INDICES = 3 };

/* A tensor of the eager run, and a reference into the fusion. */
typedef struct FusedValue {
    View view; /* in the eager run: shape of the space, or rows with trailing axes of 1 */
    FuseRef ref;
    DType dtype;
    bool is_row;
    bool is_column; /* folded over the rows: cannot be an operand */
    void *owned;    /* the view's memory; NULL: another's */
} FusedValue;

typedef struct FusedCase {
    Fusion fuse;
    Engine *eager;
    bool is_portable;
    FusedValue value[FUSED_VALUES];
    int n_values;
    /* One index into each row. The second is an input too, or cast from the first. Or it is of the
     * space, and the third is the largest of each of its rows. */
    FusedValue index[FUSED_INDICES];
    int n_indices;
    int n_stored;
    int stored[FUSED_OUTPUTS]; /* values */
} FusedCase;

/* What a case is drawn from: equal graphs and strides mostly give equal signatures. */
typedef struct FusedSeeds {
    uint64_t graph, strides, values; /* values: shapes and scalars too */
    bool is_tame;                    /* no nan, infinities or huge numbers */
    /* Without functions that a device's libraries compute (outcome_may_be_of_library). */
    bool is_portable;
} FusedSeeds;

/* Draws a case. Returns false if it is no fusion; then c holds nothing. */
bool fused_case_make(FusedCase *c, Engine *eager, const FusedSeeds *seeds);
void fused_case_free(FusedCase *c);

/* Runs the kernel on e, with the inputs in that engine's memory, and waits for it. r decides which
 * outputs are written over inputs whose memory they may have; NULL: none. Returns false if a result
 * differs from the eager one in a bit, any nan being any nan, or there was no memory; text then
 * says what. */
bool fused_case_run(FusedCase *c, Engine *e, const FusedKernel *k, Rand *r, char *text,
                    size_t size);

/* The same with some indices out of range, if it has any: checks which nodes fail, and with which
 * errors. */
bool fused_case_fail(FusedCase *c, Engine *e, const FusedKernel *k, Rand *r, char *text,
                     size_t size);
#endif
