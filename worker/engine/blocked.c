/* blocked.c: see blocked.h. SPDX-License-Identifier: MIT */
#include "worker/engine/blocked.h"

/* Half of n, in whole bases. */
static int64_t half(int64_t n, int64_t base) { return (n / 2 + base - 1) / base * base; }

static Block part(const Blocked *b, Block a, int64_t i, int64_t j) {
    a.at += (i * a.row + j * a.col) * b->size;
    return a;
}
static Triangle triangle_part(const Blocked *b, const Triangle *T, int64_t i) {
    Triangle p = *T;
    p.block = part(b, T->block, i, i);
    return p;
}

static void update(const Blocked *b, int64_t M, int64_t N, int64_t K, Block A, Block B, Block C) {
    if (M && N && K) b->steps->update(b, M, N, K, A, B, C);
}

void blocked_solve(const Blocked *b, int64_t n, const Triangle *T, Block X, int64_t k) {
    if (b->steps->is_cancelled(b)) return;
    if (n <= BLOCKED_BASE) {
        b->steps->solve_left(b, n, T, X, k);
        return;
    }
    int64_t h = half(n, BLOCKED_BASE);
    Triangle low = triangle_part(b, T, h);
    Block rest = part(b, X, h, 0);
    if (T->upper) {
        blocked_solve(b, n - h, &low, rest, k);
        update(b, h, k, n - h, part(b, T->block, 0, h), rest, X);
        blocked_solve(b, h, T, X, k);
    } else {
        blocked_solve(b, h, T, X, k);
        update(b, n - h, k, h, part(b, T->block, h, 0), X, rest);
        blocked_solve(b, n - h, &low, rest, k);
    }
}

/* X (k, n) := X T^-1 of an upper triangle. */
static void solve_right(const Blocked *b, int64_t n, const Triangle *T, Block X, int64_t k) {
    if (b->steps->is_cancelled(b)) return;
    if (n <= BLOCKED_BASE) {
        b->steps->solve_right(b, n, T, X, k);
        return;
    }
    int64_t h = half(n, BLOCKED_BASE);
    Triangle low = triangle_part(b, T, h);
    Block rest = part(b, X, 0, h);
    solve_right(b, h, T, X, k);
    update(b, k, n - h, h, X, part(b, T->block, 0, h), rest);
    solve_right(b, n - h, &low, rest, k);
}

/* The lower triangle of C (n, n) -= P (n, k) @ P.T. */
static void update_lower(const Blocked *b, int64_t n, int64_t k, Block P, Block C) {
    int64_t h = half(n, BLOCKED_BASE);
    Block turned = P;
    turned.row = P.col, turned.col = P.row;
    if (n <= BLOCKED_LOWER || h >= n) {
        update(b, n, n, k, P, turned, C);
        return;
    }
    update_lower(b, h, k, P, C);
    update(b, n - h, h, k, part(b, P, h, 0), turned, part(b, C, h, 0));
    update_lower(b, n - h, k, part(b, P, h, 0), part(b, C, h, h));
}

int64_t blocked_cholesky(const Blocked *b, int64_t n, Block A) {
    if (b->steps->is_cancelled(b)) return n;
    if (n <= BLOCKED_BASE) return b->steps->cholesky(b, n, A);
    int64_t h = half(n, BLOCKED_BASE), bad;
    Block low = part(b, A, h, 0), rest = part(b, A, h, h);
    Triangle T = {.block = A, .upper = true};
    T.block.row = A.col, T.block.col = A.row;
    if ((bad = blocked_cholesky(b, h, A)) < h) return bad;
    solve_right(b, h, &T, low, n - h);
    update_lower(b, n - h, h, low, rest);
    return h + blocked_cholesky(b, n - h, rest);
}

/* Columns first .. first + n - 1 of A (N, N). */
static void lu(const Blocked *b, Block A, int64_t N, int64_t first, int64_t n) {
    int64_t h = half(n, BLOCKED_PANEL);
    if (b->steps->is_cancelled(b)) return;
    if (n <= BLOCKED_PANEL || h >= n) {
        b->steps->eliminate(b, A, N, first, n);
        return;
    }
    Block corner = part(b, A, first, first), right = part(b, corner, 0, h);
    Triangle T = {.block = corner, .unit = true};
    lu(b, A, N, first, h);
    blocked_solve(b, h, &T, right, n - h);
    update(b, N - first - h, n - h, h, part(b, corner, h, 0), right, part(b, right, h, 0));
    lu(b, A, N, first + h, n - h);
}

void blocked_lu(const Blocked *b, Block A, int64_t n) { lu(b, A, n, 0, n); }
