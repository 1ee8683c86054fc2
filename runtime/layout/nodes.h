/* nodes.h: terms of sums that have one order of additions (runtime/base/tree.h) on any workers.
 *
 * The elements that are summed have indices 0 .. extent - 1. They are cut into leaves of equal
 * size, the last of which may be shorter. The leaves are the bottom of a binary tree. Rank i has
 * `block` elements, whole leaves, from i * block on. It computes the largest nodes that lie within
 * its elements, at most two of each level; the nodes above are added where the terms are combined.
 * So the sum has the same bits on any number of ranks.
 *
 * If every rank has one node at most (the block is a power of two of leaves, or one rank has all),
 * a term has the shape of the sum. Else the layout is stacked: a term has a leading axis, of as
 * many rows as the rank has nodes.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_LAYOUT_NODES_H
#define GT_RUNTIME_LAYOUT_NODES_H
#include "runtime/layout/layout.h"

enum { LEAF_ROWS = 64, LEAF_LINE = 4096, NODES_MAX = 128 };

/* Returns the elements of a leaf of inst's sums over x, a REDUCE's or a product's operand:
 * LEAF_ROWS or LEAF_LINE; 0: they have the same bits in any order. */
int64_t nodes_leaf(const Inst *inst, const TensorType *x);
/* True for a sum of floats over rows: an axis of x behind the first reduced one is kept. Its leaves
 * are those of products, runtime/base/tree.h. If the last axis is kept, each is one chain, as
 * there; else it is a short line (worker/cpu/cpu_reduce.c). */
bool nodes_sums_rows(const Inst *inst, const TensorType *x);
/* The axes that a REDUCE reduces, as bits. */
uint32_t nodes_reduced(const Inst *inst, int rank);

/* The layout of such terms. block: a multiple of leaf, a power of two. */
Layout nodes_layout(Op op, int64_t leaf, int64_t block, int64_t extent);

typedef struct SumNode {
    int64_t begin, n; /* its elements */
    int64_t index;    /* it is node `index` of ... */
    int level;
} SumNode;
/* Writes the nodes of rank i, in order, at most NODES_MAX; node NULL: counts them. Returns how
 * many. l: of nodes_layout. */
int nodes_of(const Layout *l, int i, SumNode *node);
#endif
