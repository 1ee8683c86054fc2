/* tree.h: the one order in which a matrix product adds. An element of a (M,K) @ b (K,N) is a sum
 * over K, and its bits are a function of K alone: not of M, N, the batch, strides, tiles, threads,
 * or the worker that computes it.
 *
 * K is a binary tree. Node i of level d is [K i / 2^d, K (i + 1) / 2^d), rounded down. A leaf, at
 * level tree_depth(K), is one chain of multiply-adds in ascending k that begins with +0 (so a sum
 * of products that are all -0 is +0, as in every BLAS, and as the empty sum is). An inner node is
 * its left half plus its right half. A worker that holds the k's of whole nodes can so compute
 * them alone, and the nodes above are added wherever they meet: 2, 4, 8 or 16 workers and one
 * worker give the same bits.
 *
 * The depth. A leaf has at most 256 elements: a kernel holds a leaf's sums in registers, and what
 * it reads of b for one leaf fits the first-level cache; and the error of a sum grows with the
 * leaf and the depth, not with K. Above that, each of the first four levels exists if its nodes
 * still have 32 elements. Every leaf's sums are stored and added once: a tile in the first-level
 * cache takes 2.3 % longer with leaves of 32 than of 256 with AVX-512, 1.4 % with leaves of 64,
 * and at most 1 % with AVX2.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_TREE_H
#define GT_RUNTIME_BASE_TREE_H
#include <stdint.h>

enum { LEAF_LEAST = 32, LEAF_MOST = 256, SHARED_LEVELS = 4, TREE_LEVELS = 64 };

/* Returns the level of the leaves of a sum over K >= 1 elements: less than TREE_LEVELS. */
static inline int tree_depth(int64_t K) {
    int d = 0;
    while (d < SHARED_LEVELS && K >> (d + 1) >= LEAF_LEAST) d++;
    while ((K - 1) >> d >= LEAF_MOST) d++;
    return d;
}

/* Returns where node i of level d begins, 0 <= i <= 2^d; node 2^d begins at K. */
static inline int64_t tree_begin(int64_t K, int d, int64_t i) {
    int64_t rest = K & ((INT64_C(1) << d) - 1);
    return (K >> d) * i + (d < 32 ? rest * i >> d : (int64_t)((__int128)rest * i >> d));
}
#endif
