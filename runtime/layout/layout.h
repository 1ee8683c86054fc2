/* layout.h: layouts of a tensor on an ordered group of ranks, and conversions between them. Pure
 * arithmetic over types: the dispatcher (to choose layouts), workers (to find their parts and the
 * parts to pull) and tests call the same functions.
 *
 *   replicate        every rank has all of it
 *   split            rank i has rows [i * block, (i + 1) * block) of one axis; the tail is short or
 *                    empty. A unit and the number of ranks give the block. The block is stored:
 *                    two splits are equal exactly if their blocks are.
 *   partial          every rank has a term of the tensor's shape; combined by a REDUCE row (sum,
 *                    max, min, prod, any, all) they give the tensor. Where the order of additions
 *                    matters, a term is one or several nodes of the sum's tree
 *                    (runtime/layout/nodes.h); else terms are combined in rank order.
 *                    Terms of sums and products of halves are float32 tensors (layout_held): they
 *                    are rounded once, after they are combined. The dispatcher inserts the casts
 *                    around the operation that makes the terms and after the move that combines
 *                    them (dispatcher/chain/convert.h); workers compute with the dtypes that they
 *                    get.
 *
 * A window is a split with an offset: rank i has those of the rows begin + i * block ..
 * begin + (i + 1) * block - 1 that exist. begin < 0: the first ranks may have none; begin > 0:
 * no rank has the rows before it. slice, cat and slice_put along a split axis need windows of
 * their operands, so that each rank pulls only the rows that it lacks. Tensors are moved into a
 * window, but it is never the layout of a result or the source of a conversion (layout_covers).
 *
 * Ranks here are indices within the group, 0 .. n - 1.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_LAYOUT_LAYOUT_H
#define GT_RUNTIME_LAYOUT_LAYOUT_H
#include "runtime/inst/inst.h"

typedef enum LayoutKind { LAYOUT_REPLICATE, LAYOUT_SPLIT, LAYOUT_PARTIAL } LayoutKind;

typedef struct Layout {
    uint8_t kind, axis; /* axis: of SPLIT; of PARTIAL nodes: bits of a leaf  */
    uint16_t op;        /* of PARTIAL: OP_SUM ...                           */
    int64_t block;      /* of SPLIT: rows per rank, at least 1; of PARTIAL: summed elements per
                         * rank if its terms are nodes, else 0 */
    int64_t begin;      /* of SPLIT: row where rank 0 begins; if not 0: a window; of PARTIAL nodes:
                         * summed elements of all ranks */
} Layout;

static inline Layout layout_replicate(void) { return (Layout){.kind = LAYOUT_REPLICATE}; }
static inline Layout layout_partial(Op op) {
    return (Layout){.kind = LAYOUT_PARTIAL, .op = (uint16_t)op};
}
/* The split of a new tensor over n ranks: equal blocks, the last ones shorter or empty. */
static inline Layout layout_split(const TensorType *t, int axis, int n) {
    int64_t block = (t->shape[axis] + n - 1) / n;
    return (Layout){.kind = LAYOUT_SPLIT, .axis = (uint8_t)axis, .block = block > 0 ? block : 1};
}
/* For PARTIAL: true if terms have a leading axis, of the nodes that a rank has. */
static inline bool layout_is_stacked(const Layout *l) {
    return l->kind == LAYOUT_PARTIAL && l->begin > l->block && (l->block & (l->block - 1));
}
bool layout_equal(const Layout *a, const Layout *b);
/* For SPLIT: true if every row is on one of n ranks, which is not so for most windows. A copy in
 * a layout that does not cover the tensor may be used only for its original purpose. */
static inline bool layout_covers(const Layout *l, const TensorType *t, int n) {
    return l->begin == 0 && (t->shape[l->axis] <= 0 || (t->shape[l->axis] - 1) / l->block < n);
}
/* The type in which ranks hold their parts of a t: t, or float32 if these are terms of halves. */
static inline TensorType layout_held(const Layout *l, const TensorType *t) {
    TensorType held = *t;
    bool adds = l->kind == LAYOUT_PARTIAL && op_has((Op)l->op, FACT_ADDS);
    if (adds && dtype_is_half((DType)t->dtype)) held.dtype = DT_F32;
    return held;
}
/* True if ranks hold float32 for a half. */
static inline bool layout_widens(const Layout *l, const TensorType *t) {
    return layout_held(l, t).dtype != t->dtype;
}
/* For SPLIT: the rows of rank i; begin == end if it has none. */
void layout_rows(const Layout *l, const TensorType *t, int i, int64_t *begin, int64_t *end);
/* The type of rank i's part. */
TensorType layout_local(const Layout *l, const TensorType *t, int i);
/* "replicate", "split 0 / 25", "split 0 / 25 from 3", "partial sum", "partial sum 256 of 1000";
 * buf >= LAYOUT_TEXT bytes. */
enum { LAYOUT_TEXT = 64 };
const char *layout_text(const Layout *l, char *buf);

/* A box of elements of the whole tensor. */
typedef struct Region {
    int64_t begin[MAX_DIMS], size[MAX_DIMS];
} Region;
/* The region that rank i holds. */
Region layout_region(const Layout *l, const TensorType *t, int i);

/* Sets *out to what rank i of n_to takes from rank k of n_from, so that it has its part of layout
 * `to`: a region of the whole tensor that rank k holds. Returns false if it takes nothing. `same`:
 * both are one group, so that a replicated tensor is taken from the rank itself. Split and
 * replicated sources: the regions of all ranks are disjoint and cover the part, in the order of
 * their rows. Partial sources: the same region from every rank that has a term (of all its nodes),
 * to be combined in that order, unless `to` is the same partial layout. A partial `to` of whole
 * values, which has no nodes: the value on rank 0; the other terms are the neutral element (for
 * float sums -0.0, which keeps zeros' signs). */
bool layout_pull(const Layout *from, int n_from, const Layout *to, int n_to, int i, bool same,
                 const TensorType *t, int k, Region *out);
uint64_t region_bytes(const Region *r, const TensorType *t);

/* The instruction as rank i runs it on its parts: shapes and sizes are those of the parts, and a
 * source gets a window into the whole (attribute `window`), a sum of several nodes their lengths
 * (`nodes`). `give` is the first result's layout,
 * `in` the first operand's whole type and layout. Borrows from inst and from *local. */
typedef struct LocalInst {
    Inst inst;
    Attr attr[MAX_ATTRS];
    int64_t shape[MAX_DIMS], start[MAX_DIMS], size[MAX_DIMS], window[3], nodes[128];
} LocalInst;
void layout_localise(const Inst *inst, const TensorType *in, const Layout *need,
                     const TensorType *out, const Layout *give, int i, LocalInst *local);
#endif
