/* blocked.h: triangular systems, Cholesky and LU by blocks: which block is computed when. The
 * engines bring the steps, and so all of them add in the same order. A matrix is halved, one half
 * factorized, the rest updated by a matrix product, until a few columns are left; so nearly all
 * work is in products. Every division depends on shapes alone.
 * Method: recursive LU and Cholesky after Toledo (1997) and Gustavson (1997).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_BLOCKED_H
#define GT_WORKER_ENGINE_BLOCKED_H
#include <stdbool.h>
#include <stdint.h>

enum {
    BLOCKED_BASE = 32,   /* order of the triangles that a step solves or factorizes */
    BLOCKED_PANEL = 16,  /* columns that a step of LU eliminates */
    BLOCKED_LOWER = 128, /* order of a symmetric update from which on its upper half is left out */
};

/* A block of a matrix, from element `at` on; strides in elements. `of` is the engine's: it tells
 * the matrices of a call apart. */
typedef struct Block {
    char *at;
    int64_t row, col;
    int of;
} Block;
typedef struct Triangle {
    Block block;
    bool upper, unit; /* unit: with ones on its diagonal */
} Triangle;

typedef struct Blocked Blocked;
typedef struct BlockedSteps {
    /* True if the work must end early, unfinished. */
    bool (*is_cancelled)(const Blocked *b);
    /* C (M, N) -= A (M, K) @ B (K, N); columns of C are adjacent; none is empty. */
    void (*update)(const Blocked *b, int64_t M, int64_t N, int64_t K, Block A, Block B, Block C);
    /* X (n, k) := T^-1 X and X (k, n) := X T^-1 (T upper), n <= BLOCKED_BASE; columns of X are
     * adjacent. */
    void (*solve_left)(const Blocked *b, int64_t n, const Triangle *T, Block X, int64_t k);
    void (*solve_right)(const Blocked *b, int64_t n, const Triangle *T, Block X, int64_t k);
    /* The lower triangle of A (n, n), n <= BLOCKED_BASE, becomes its Cholesky factor. Returns n, or
     * the first pivot that is not positive. */
    int64_t (*cholesky)(const Blocked *b, int64_t n, Block A);
    /* Eliminates columns first .. first + n - 1 of A (N, N) below their diagonal, by partial
     * pivoting: swaps whole rows. */
    void (*eliminate)(const Blocked *b, Block A, int64_t N, int64_t first, int64_t n);
} BlockedSteps;
/* Engines put it first in a struct of their own. */
struct Blocked {
    const BlockedSteps *steps;
    int size; /* bytes of an element */
};

/* X (n, k) := T^-1 X. */
void blocked_solve(const Blocked *b, int64_t n, const Triangle *T, Block X, int64_t k);
/* The lower triangle of A (n, n) becomes its Cholesky factor; what becomes of the upper one is
 * open. Returns n, or the first pivot that is not positive. */
int64_t blocked_cholesky(const Blocked *b, int64_t n, Block A);
/* A (n, n) becomes L and U of its rows in another order. */
void blocked_lu(const Blocked *b, Block A, int64_t n);
#endif
