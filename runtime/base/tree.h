/* tree.h: the one order in which a matrix product adds. An element of a (M,K) @ b (K,N) is a sum
 * over K, and its bits are a function of the K products alone: not of M, N, the batch, strides,
 * tiles, threads, or the worker that computes it.
 *
 * K is cut into leaves of LEAF elements, the last of which may be shorter. A leaf is one chain of
 * multiply-adds in ascending k that begins with +0. Leaves are the bottom of a binary tree, from
 * the left: node i of level l is the sum of the leaves from i 2^l on, below (i + 1) 2^l. A node is
 * its left half plus its right half, or its left half alone if there are no leaves on the right.
 * The root is added to +0, so the result is never -0, as in every BLAS.
 *
 * Where a node lies does not depend on K. So zeros at the end of K change nothing: the last row of
 * a causal attention over 48 tokens has the same bits as that row among 200 tokens, where the
 * weights of later tokens are 0. And a worker that holds the k's of whole nodes can compute them
 * alone; the nodes above are added wherever they meet.
 *
 * The length. A kernel holds a leaf's sums in registers; they are stored and added once per leaf.
 * A tile in the first-level cache takes 1.4 % longer with leaves of 64 than of 256 with AVX-512,
 * and at most 1 % with AVX2; with 32 it is 2.3 %. Short leaves can be computed side by side where a
 * product has few elements, and their error is smaller.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_TREE_H
#define GT_RUNTIME_BASE_TREE_H
#include <stdint.h>

enum { LEAF = 64, TREE_LEVELS = 64 };

/* Returns the number of leaves of a sum over K >= 1 elements. */
static inline int64_t tree_leaves(int64_t K) { return (K - 1) / LEAF + 1; }

/* Returns the level of the root over so many leaves, >= 1: less than TREE_LEVELS. */
static inline int tree_depth(int64_t leaves) {
    return leaves == 1 ? 0 : 64 - __builtin_clzll((uint64_t)(leaves - 1));
}

/* Returns the level at which the sum of this leaf, and of all nodes that end with it, waits for its
 * right half. For all but the last leaf, whose node is the root. */
static inline int tree_waits(int64_t leaf) { return __builtin_ctzll(~(uint64_t)leaf); }
#endif
