/* kernel_loops.h: the macros behind the generated lines MAP1..3(...) and REDUCE(...). Only
 * build/gen/kernels.c includes it. They are written for gcc's vectoriser: `ivdep` says that `out`
 * may equal an operand, but never overlap it shifted; `unroll 1` keeps the loop over the 16 lanes,
 * which then becomes one vector operation.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_LOOPS_H
#define GT_WORKER_KERNEL_KERNEL_LOOPS_H
#include "worker/kernel/kernels.h" /* before REDUCE is a macro */
#include "worker/kernel/kernel_reduce.h"
#include "worker/kernel/prologue.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define TEXT_(a)     #a
#define TEXT(a)      TEXT_(a)
#define KERNELS_NAME PASTE(kernels_, ISA)
#define KERNELS_ISA  TEXT(ISA)

#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)

#define MAP1(NAME, A, R, EXPR)                                                                     \
    static void NAME(int64_t n, void *out_, const void *const *in, unsigned scalars) {             \
        R *out = out_;                                                                             \
        const A *x = in[0];                                                                        \
        if (scalars) {                                                                             \
            const A a = *x;                                                                        \
            const R r = (R)(EXPR);                                                                 \
            EACH out[i] = r;                                                                       \
        } else {                                                                                   \
            EACH {                                                                                 \
                const A a = x[i];                                                                  \
                out[i] = (R)(EXPR);                                                                \
            }                                                                                      \
        }                                                                                          \
    }

/* sin, cos and tan: two loops with the same results, one for runs of elements that are all low. */
enum { NEAR_RUN = 256 };
#define MAP1_NEAR(NAME, A, R, P, EXPR, EXPR_LOW)                                                   \
    MAP1(NAME##_any, A, R, EXPR)                                                                   \
    MAP1(NAME##_low, A, R, EXPR_LOW)                                                               \
    static void NAME(int64_t n, void *out, const void *const *in, unsigned scalars) {              \
        for (int64_t i = 0; i < n; i += NEAR_RUN) {                                                \
            const A *x = (const A *)in[0] + (scalars ? 0 : i);                                     \
            int64_t some = n - i < NEAR_RUN ? n - i : NEAR_RUN;                                    \
            unsigned high = 0;                                                                     \
            if (scalars)                                                                           \
                high = !P##_is_low(*x);                                                            \
            else                                                                                   \
                for (int64_t k = 0; k < some; k++) high |= !P##_is_low(x[k]);                      \
            (high ? NAME##_any : NAME##_low)(some, (R *)out + i, (const void *[]){x}, scalars);    \
        }                                                                                          \
    }

/* One loop with operands at x[I], y[J]. */
#define LOOP2(A, R, I, J, EXPR)                                                                    \
    EACH {                                                                                         \
        const A a = x[I], b = y[J];                                                                \
        out[i] = (R)(EXPR);                                                                        \
    }
#define MAP2(NAME, A, R, EXPR)                                                                     \
    static void NAME(int64_t n, void *out_, const void *const *in, unsigned scalars) {             \
        R *out = out_;                                                                             \
        const A *x = in[0], *y = in[1];                                                            \
        switch (scalars) {                                                                         \
        case 0: LOOP2(A, R, i, i, EXPR) break;                                                     \
        case 1: {                                                                                  \
            const A a = *x;                                                                        \
            EACH {                                                                                 \
                const A b = y[i];                                                                  \
                out[i] = (R)(EXPR);                                                                \
            }                                                                                      \
            break;                                                                                 \
        }                                                                                          \
        case 2: {                                                                                  \
            const A b = *y;                                                                        \
            EACH {                                                                                 \
                const A a = x[i];                                                                  \
                out[i] = (R)(EXPR);                                                                \
            }                                                                                      \
            break;                                                                                 \
        }                                                                                          \
        default: {                                                                                 \
            const A a = *x, b = *y;                                                                \
            const R r = (R)(EXPR);                                                                 \
            EACH out[i] = r;                                                                       \
        }                                                                                          \
        }                                                                                          \
    }

/* fmod, mod and floordiv of floats: two loops with the same results, one for runs of elements that
 * are all near each other (prologue_div.h). */
#define MAP2_NEAR(NAME, A, R, P, EXPR, EXPR_NEAR)                                                  \
    MAP2(NAME##_any, A, R, EXPR)                                                                   \
    MAP2(NAME##_near, A, R, EXPR_NEAR)                                                             \
    static void NAME(int64_t n, void *out, const void *const *in, unsigned scalars) {              \
        const int64_t p = !(scalars & 1), q = !(scalars & 2);                                      \
        for (int64_t i = 0; i < n; i += NEAR_RUN) {                                                \
            const A *x = (const A *)in[0] + p * i, *y = (const A *)in[1] + q * i;                  \
            int64_t some = n - i < NEAR_RUN ? n - i : NEAR_RUN;                                    \
            unsigned far = 0;                                                                      \
            if (scalars == 0)                                                                      \
                for (int64_t k = 0; k < some; k++) far |= !P##_is_near(x[k], y[k]);                \
            else                                                                                   \
                for (int64_t k = 0; k < some; k++) far |= !P##_is_near(x[k * p], y[k * q]);        \
            (far ? NAME##_any : NAME##_near)(some, (R *)out + i, (const void *[]){x, y}, scalars); \
        }                                                                                          \
    }

/* logaddexp: FIRST, a long chain of operations, in a loop of its own; c is its result in EXPR. One
 * loop with both chains leaves units idle. */
enum { STAGE_RUN = 256 };
#define LOOP2_LAST(A, R, I, J, EXPR)                                                               \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < some; i++) {                                      \
        const A a = x[I], b = y[J], c = side[i];                                                   \
        out[i] = (R)(EXPR);                                                                        \
    }
#define MAP2_STAGES(NAME, A, R, FIRST, EXPR)                                                       \
    MAP2(NAME##_first, A, A, FIRST)                                                                \
    static void NAME(int64_t n, void *out_, const void *const *in, unsigned scalars) {             \
        R *out = out_;                                                                             \
        const A *x = in[0], *y = in[1];                                                            \
        A side[STAGE_RUN];                                                                         \
        for (int64_t some; n > 0; n -= some, out += some) {                                        \
            some = n < STAGE_RUN ? n : STAGE_RUN;                                                  \
            NAME##_first(some, side, (const void *[]){x, y}, scalars);                             \
            switch (scalars) {                                                                     \
            case 0: LOOP2_LAST(A, R, i, i, EXPR) break;                                            \
            case 1: LOOP2_LAST(A, R, 0, i, EXPR) break;                                            \
            case 2: LOOP2_LAST(A, R, i, 0, EXPR) break;                                            \
            default: LOOP2_LAST(A, R, 0, 0, EXPR)                                                  \
            }                                                                                      \
            x += scalars & 1 ? 0 : some, y += scalars & 2 ? 0 : some;                              \
        }                                                                                          \
    }

/* The first operand is bool. */
#define LOOP3(A, J, K, EXPR)                                                                       \
    EACH {                                                                                         \
        const uint8_t a = x[i];                                                                    \
        const A b = J, c = K;                                                                      \
        out[i] = EXPR;                                                                             \
    }
#define MAP3(NAME, A, R, EXPR)                                                                     \
    static void NAME(int64_t n, void *out_, const void *const *in, unsigned scalars) {             \
        R *out = out_;                                                                             \
        const uint8_t *x = in[0];                                                                  \
        const A *y = in[1], *z = in[2], b0 = *y, c0 = *z;                                          \
        switch (scalars) {                                                                         \
        case 0: LOOP3(A, y[i], z[i], EXPR) break;                                                  \
        case 2: LOOP3(A, b0, z[i], EXPR) break;                                                    \
        case 4: LOOP3(A, y[i], c0, EXPR) break;                                                    \
        case 6: LOOP3(A, b0, c0, EXPR) break;                                                      \
        default: {                                                                                 \
            const uint8_t a = *x;                                                                  \
            const int64_t j = !(scalars & 2), k = !(scalars & 4);                                  \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const A b = y[i * j], c = z[i * k];                                                \
                out[i] = EXPR;                                                                     \
            }                                                                                      \
        }                                                                                          \
        }                                                                                          \
    }

/* NAME_rows: reduces the first `rows`, at most 4, of n elements each, `apart` from each other. A
 * lane's accumulator waits for itself, so 4 rows take hardly longer than one. */
#define REDUCE_ABREAST(NAME, A, R, INIT)                                                           \
    static inline R NAME##_folded(R *lane, int64_t n, const A *x) {                                \
        if (n > 0) {                                                                               \
            A tail[LANES];                                                                         \
            LANE tail[l] = (A)(INIT);                                                              \
            __builtin_memcpy(tail, x, (size_t)n * sizeof(A));                                      \
            LANE lane[l] = NAME##_op(lane[l], tail[l]);                                            \
        }                                                                                          \
        FOLD_LANES(NAME, 8)                                                                        \
        FOLD_LANES(NAME, 4) FOLD_LANES(NAME, 2) FOLD_LANES(NAME, 1) return lane[0];                \
    }                                                                                              \
    static void NAME##_rows(int64_t n, int64_t rows, const A *x, int64_t apart, R *out) {          \
        const A *y = x + apart, *z = y + apart, *w = z + apart;                                    \
        R lane[4][LANES];                                                                          \
        int64_t i = 0;                                                                             \
        if (rows < 4) {                                                                            \
            for (int64_t r = 0; r < rows; r++) out[r] = NAME##_row(n, x + r * apart);              \
            return;                                                                                \
        }                                                                                          \
        LANE lane[0][l] = lane[1][l] = lane[2][l] = lane[3][l] = INIT;                             \
        for (; i + LANES <= n; i += LANES) {                                                       \
            LANE lane[0][l] = NAME##_op(lane[0][l], x[i + l]);                                     \
            LANE lane[1][l] = NAME##_op(lane[1][l], y[i + l]);                                     \
            LANE lane[2][l] = NAME##_op(lane[2][l], z[i + l]);                                     \
            LANE lane[3][l] = NAME##_op(lane[3][l], w[i + l]);                                     \
        }                                                                                          \
        out[0] = NAME##_folded(lane[0], n - i, x + i);                                             \
        out[1] = NAME##_folded(lane[1], n - i, y + i);                                             \
        out[2] = NAME##_folded(lane[2], n - i, z + i);                                             \
        out[3] = NAME##_folded(lane[3], n - i, w + i);                                             \
    }
#define REDUCE_IN_TURN(NAME, A, R)                                                                 \
    static void NAME##_rows(int64_t n, int64_t rows, const A *x, int64_t apart, R *out) {          \
        for (int64_t r = 0; r < rows; r++) out[r] = NAME##_row(n, x + r * apart);                  \
    }

enum { COLUMNS = 1024 };
_Static_assert((int)LANES == (int)REDUCE_LANES, "one order of reductions");
/* NAME: see ReduceFn. NAME_columns: up to COLUMNS results side by side, elements `stride` apart. A
 * lane takes four of its elements at a time: the accumulators of many columns exceed the first
 * cache. */
#define REDUCE_REST(NAME, A, R, INIT)                                                              \
    static void NAME##_columns(int64_t n, int64_t columns, const A *x, int64_t stride, R *out) {   \
        R all[LANES * (COLUMNS + LANES)];                                                          \
        const int64_t pitch = columns + LANES; /* not a power of two: lanes would alias */         \
        int used = n < LANES ? (int)n : LANES;                                                     \
        for (int l = 0; l < used; l++)                                                             \
            for (int64_t c = 0; c < columns; c++)                                                  \
                all[l * pitch + c] = NAME##_op(INIT, x[l * stride + c]);                           \
        int64_t i = LANES;                                                                         \
        for (; i + 4 * LANES <= n; i += 4 * LANES) {                                               \
            for (int l = 0; l < LANES; l++) {                                                      \
                const A *a = x + (i + l) * stride, *b = a + LANES * stride;                        \
                const A *d = b + LANES * stride, *e = d + LANES * stride;                          \
                R *acc = all + l * pitch;                                                          \
                for (int64_t c = 0; c < columns; c++)                                              \
                    acc[c] = NAME##_op(NAME##_op(NAME##_op(NAME##_op(acc[c], a[c]), b[c]), d[c]),  \
                                       e[c]);                                                      \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            const A *row = x + i * stride;                                                         \
            R *acc = all + i % LANES * pitch;                                                      \
            for (int64_t c = 0; c < columns; c++) acc[c] = NAME##_op(acc[c], row[c]);              \
        }                                                                                          \
        for (int w = LANES / 2; w; w /= 2)                                                         \
            for (int l = 0; l < w && l + w < used; l++)                                            \
                for (int64_t c = 0; c < columns; c++)                                              \
                    all[l * pitch + c] =                                                           \
                        NAME##_both(all[l * pitch + c], all[(l + w) * pitch + c]);                 \
        for (int64_t c = 0; c < columns; c++) out[c] = used ? all[c] : (R)(INIT);                  \
    }                                                                                              \
    static void NAME(int64_t n, int64_t rows, const void *x_, int64_t stride, int64_t row_stride,  \
                     void *out_) {                                                                 \
        const A *x = x_;                                                                           \
        R *out = out_;                                                                             \
        if (stride == 1 || n <= 1) {                                                               \
            for (int64_t r = 0; r < rows; r += 4)                                                  \
                NAME##_rows(n, rows - r < 4 ? rows - r : 4, x + r * row_stride, row_stride,        \
                            out + r);                                                              \
        } else {                                                                                   \
            int64_t most = n > LANES ? COLUMNS : COLUMNS / 4;                                      \
            for (int64_t c = 0; c < rows; c += most)                                               \
                NAME##_columns(n, rows - c < most ? rows - c : most, x + c, stride, out + c);      \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_merge(int64_t n, void *a_, const void *b_) {                                \
        R *a = a_;                                                                                 \
        const R *b = b_;                                                                           \
        EACH a[i] = NAME##_both(a[i], b[i]);                                                       \
    }
#endif
