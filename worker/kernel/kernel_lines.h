/* kernel_lines.h: kernels that compare and select: the best of a line or of each column, elements
 * as ordered unsigned keys, the maxima and the sums of pooling windows. They are written so that
 * gcc vectorises them: only loops over whole groups exit early, and values are selected without
 * branches. Only build/gen/kernels.c includes this file.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_LINES_H
#define GT_WORKER_KERNEL_KERNEL_LINES_H
#include "worker/kernel/kernel_loops.h"
#include "worker/kernel/kernel_product.h"

/* ---- Where the largest or smallest is: nan before all, the first of equals ---- */

enum { BEST_BYTES = 128 }; /* per group: enough lanes to hide the latency of a comparison */
#define GROUP(T) ((int)(BEST_BYTES / sizeof(T)))
/* Not unrolled, so that the loop becomes a few vector operations. */
#define EACH_OF(T) _Pragma("GCC unroll 1") for (int l = 0; l < GROUP(T); l++)

/* The best value of a line's groups, then of its remaining elements; a nan stays. */
#define BEST_VALUE(T, OP)                                                                          \
    T lane[GROUP(T)];                                                                              \
    EACH_OF(T) lane[l] = x[0];                                                                     \
    int64_t i = 0;                                                                                 \
    for (; i + GROUP(T) <= n; i += GROUP(T)) EACH_OF(T) {                                          \
            T v = x[i + l];                                                                        \
            lane[l] = (v OP lane[l]) | (v != v) ? v : lane[l];                                     \
        }                                                                                          \
    for (; i < n; i++) lane[0] = (x[i] OP lane[0]) | (x[i] != x[i]) ? x[i] : lane[0];              \
    top = lane[0];                                                                                 \
    for (int l = 1; l < GROUP(T); l++)                                                             \
        top = (lane[l] OP top) | (lane[l] != lane[l]) ? lane[l] : top;

#define BEST(NAME, T, U)                                                                           \
    static int64_t best_##NAME(int64_t n, const void *x_, bool largest) {                          \
        const T *x = x_;                                                                           \
        T top;                                                                                     \
        if (largest) {                                                                             \
            BEST_VALUE(T, >)                                                                       \
        } else {                                                                                   \
            BEST_VALUE(T, <)                                                                       \
        }                                                                                          \
        const bool is_nan = top != top;                                                            \
        int64_t i = 0;                                                                             \
        for (; i + GROUP(T) <= n; i += GROUP(T)) {                                                 \
            U hit = 0;                                                                             \
            if (is_nan)                                                                            \
                EACH_OF(T) hit |= (U)(x[i + l] != x[i + l]);                                       \
            else                                                                                   \
                EACH_OF(T) hit |= (U)(x[i + l] == top);                                            \
            if (hit) break;                                                                        \
        }                                                                                          \
        while (is_nan ? x[i] == x[i] : x[i] != top) i++;                                           \
        return i;                                                                                  \
    }                                                                                              \
    static void best_columns_##NAME(int64_t n, int64_t columns, const void *x_, int64_t stride,    \
                                    bool largest, int64_t *place) {                                \
        const T *x = x_;                                                                           \
        T top[BEST_COLUMNS];                                                                       \
        int32_t where[BEST_COLUMNS];                                                               \
        for (int64_t c = 0; c < columns; c++) top[c] = x[c], where[c] = 0;                         \
        for (int32_t i = 1; i < (int32_t)n; i++) {                                                 \
            const T *row = x + i * stride;                                                         \
            if (largest)                                                                           \
                BEST_ROW(T, >)                                                                     \
            else                                                                                   \
                BEST_ROW(T, <)                                                                     \
        }                                                                                          \
        for (int64_t c = 0; c < columns; c++) place[c] = where[c];                                 \
    }
#define BEST_ROW(T, OP)                                                                            \
    for (int64_t c = 0; c < columns; c++) {                                                        \
        const T v = row[c], t = top[c];                                                            \
        const bool takes = (v OP t) | ((v != v) & (t == t));                                       \
        top[c] = takes ? v : t;                                                                    \
        where[c] = takes ? i : where[c];                                                           \
    }
BEST(u8, uint8_t, uint8_t)
BEST(i8, int8_t, uint8_t)
BEST(i32, int32_t, uint32_t)
BEST(i64, int64_t, uint64_t)
BEST(f32, float, uint32_t)
BEST(f64, double, uint64_t)

/* ---- Keys ---- */

#define KEYS(NAME, T, K, EXPR)                                                                     \
    static void keys_##NAME(int64_t n, const void *x_, uint64_t flip_, void *key_) {               \
        const T *x = x_;                                                                           \
        K *key = key_;                                                                             \
        const K flip = (K)flip_;                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const T v = x[i];                                                                      \
            key[i] = flip ^ (EXPR);                                                                \
        }                                                                                          \
    }
static inline uint32_t half_key(uint16_t v, uint16_t infinity) {
    const uint32_t magnitude = v & 0x7fffu, u = magnitude ? v : 0;
    const uint32_t key = u >> 15 ? ~u & 0xffffu : u | 0x8000u;
    return magnitude > infinity ? UINT16_MAX : key;
}
static inline uint32_t f32_key(float v) {
    const float f = v + 0.0f; /* -0 becomes 0 */
    uint32_t u;
    __builtin_memcpy(&u, &f, sizeof u);
    u = u >> 31 ? ~u : u | UINT32_C(0x80000000);
    return v != v ? UINT32_MAX : u;
}
static inline uint64_t f64_key(double v) {
    const double f = v + 0.0;
    uint64_t u;
    __builtin_memcpy(&u, &f, sizeof u);
    u = u >> 63 ? ~u : u | UINT64_C(1) << 63;
    return v != v ? UINT64_MAX : u;
}
KEYS(u8, uint8_t, uint32_t, v)
KEYS(i8, uint8_t, uint32_t, v ^ 0x80u)
KEYS(i32, uint32_t, uint32_t, v ^ UINT32_C(0x80000000))
KEYS(i64, uint64_t, uint64_t, v ^ UINT64_C(1) << 63)
KEYS(f16, uint16_t, uint32_t, half_key(v, 0x7c00))
KEYS(bf16, uint16_t, uint32_t, half_key(v, 0x7f80))
KEYS(f32, float, uint32_t, f32_key(v))
KEYS(f64, double, uint64_t, f64_key(v))

/* NAME: returns the first i, from `i` on, whose key is below `limit`, or n. */
#define BELOW(NAME, K)                                                                             \
    static int64_t NAME(int64_t i, int64_t n, const void *key_, uint64_t limit_) {                 \
        const K *key = key_, limit = (K)limit_;                                                    \
        for (; i + GROUP(K) <= n; i += GROUP(K)) {                                                 \
            K hit = 0;                                                                             \
            EACH_OF(K) hit |= (K)(key[i + l] < limit);                                             \
            if (hit) break;                                                                        \
        }                                                                                          \
        while (i < n && key[i] >= limit) i++;                                                      \
        return i;                                                                                  \
    }
BELOW(below_32, uint32_t)
BELOW(below_64, uint64_t)

/* ---- Rows of pooling windows ---- */

/* Runs LOOP with the usual strides as constants. */
#define BY_STRIDE(S, LOOP)                                                                         \
    if ((S) == 1)                                                                                  \
        LOOP(1)                                                                                    \
    else if ((S) == 2)                                                                             \
        LOOP(2)                                                                                    \
    else                                                                                           \
        LOOP(S)

#define MEET(STEP)                                                                                 \
    EACH {                                                                                         \
        const T v = x[i * (STEP)], b = best[i];                                                    \
        const bool takes = (v > b) | (v != v);                                                     \
        best[i] = takes ? v : b;                                                                   \
        place[i] = takes ? at + i * (STEP) : place[i];                                             \
    }
#define POOL_MAX(NAME, TYPE)                                                                       \
    static void pool_max_##NAME(int64_t n, const void *x_, int64_t step, int64_t at, void *best_,  \
                                int64_t *place) {                                                  \
        typedef TYPE T;                                                                            \
        const T *x = x_;                                                                           \
        T *best = best_;                                                                           \
        BY_STRIDE(step, MEET)                                                                      \
    }
POOL_MAX(u8, uint8_t)
POOL_MAX(i8, int8_t)
POOL_MAX(i32, int32_t)
POOL_MAX(i64, int64_t)
POOL_MAX(f32, float)
POOL_MAX(f64, double)

#define ADD_FROM(STEP) EACH y[i] += x[i * (STEP)];
#define ADD_TO(STEP)   EACH y[i * (STEP)] += x[i];
#define POOL_ADD(NAME, T)                                                                          \
    static void pool_add_##NAME(int64_t n, const void *x_, int64_t step, void *y_) {               \
        const T *x = x_;                                                                           \
        T *y = y_;                                                                                 \
        BY_STRIDE(step, ADD_FROM)                                                                  \
    }                                                                                              \
    static void pool_spread_##NAME(int64_t n, const void *x_, int64_t step, void *y_) {            \
        const T *x = x_;                                                                           \
        T *y = y_;                                                                                 \
        BY_STRIDE(step, ADD_TO)                                                                    \
    }                                                                                              \
    static void pool_share_##NAME(int64_t n, const void *x_, double others, const double *scale,   \
                                  void *y_) {                                                      \
        const T *x = x_;                                                                           \
        T *y = y_;                                                                                 \
        EACH y[i] = x[i] / (T)(others * scale[i]);                                                 \
    }
POOL_ADD(f32, float)
POOL_ADD(f64, double)

#define BY_DTYPE(F)                                                                                \
    {                                                                                              \
        [DT_BOOL] = F##u8, [DT_U8] = F##u8, [DT_I8] = F##i8, [DT_I32] = F##i32, [DT_I64] = F##i64, \
        [DT_F32] = F##f32, [DT_F64] = F##f64                                                       \
    }
/* ---- Sums over rows ---- */

/* Up to NARROW columns: the sums of FEW_VECTORS vectors of them stay in registers, and rows are
 * read in runs of that length, which on base are too short to read them several times. More: a leaf
 * takes eight rows at a time, or four, so that its sums are seldom loaded and stored. */
enum { SUM_COLUMNS = 1024, SUM_LEVELS = 8, NARROW = VECTOR_BYTES == 16 ? 32 : 256 };
enum { FEW_VECTORS = VECTOR_BYTES == 64 ? 4 : 8 };
#define EACH_SUM _Pragma("GCC unroll 8") for (int j = 0; j < FEW_VECTORS; j++)
#define SUM_ROWS(NAME, T)                                                                          \
    typedef T NAME##_vector __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T))));        \
    enum { NAME##_L = VECTOR_BYTES / sizeof(T), NAME##_N = FEW_VECTORS * NAME##_L };               \
    static void NAME##_few(int64_t n, const T *x, int64_t stride, T *out) {                        \
        NAME##_vector level[SUM_LEVELS][FEW_VECTORS], sum[FEW_VECTORS];                            \
        const int64_t last = tree_leaves(n) - 1;                                                   \
        for (int64_t leaf = 0; leaf <= last; leaf++) {                                             \
            const int waits = leaf < last ? tree_waits(leaf) : tree_depth(last + 1);               \
            const int64_t end = leaf < last ? (leaf + 1) * LEAF : n;                               \
            EACH_SUM sum[j] = (NAME##_vector){0};                                                  \
            for (int64_t i = leaf * LEAF; i < end; i++) {                                          \
                const T *row = x + i * stride;                                                     \
                EACH_SUM sum[j] += *(const NAME##_vector *)(row + j * NAME##_L);                   \
            }                                                                                      \
            for (int l = 0; l < waits; l++)                                                        \
                if (leaf >> l & 1) EACH_SUM sum[j] = level[l][j] + sum[j];                         \
            if (leaf < last) EACH_SUM level[waits][j] = sum[j];                                    \
        }                                                                                          \
        EACH_SUM *(NAME##_vector *)(out + j * NAME##_L) = sum[j];                                  \
    }                                                                                              \
    static void NAME##_part(int64_t n, int64_t columns, const T *x, int64_t stride, T *out) {      \
        T all[SUM_LEVELS * (SUM_COLUMNS + LANES)];                                                 \
        const int64_t pitch = columns + LANES, last = tree_leaves(n) - 1;                          \
        for (int64_t leaf = 0; leaf <= last; leaf++) {                                             \
            const int waits = leaf < last ? tree_waits(leaf) : tree_depth(last + 1);               \
            const int64_t end = leaf < last ? (leaf + 1) * LEAF : n;                               \
            T *sum = all + (SUM_LEVELS - 1) * pitch;                                               \
            int64_t i = leaf * LEAF;                                                               \
            for (int64_t c = 0; c < columns; c++) sum[c] = 0;                                      \
            for (; i + 8 <= end; i += 8) {                                                         \
                const T *r = x + i * stride, *s = r + 4 * stride;                                  \
                for (int64_t c = 0; c < columns; c++) {                                            \
                    const T *a = r + c, *b = s + c;                                                \
                    T v = sum[c] + a[0];                                                           \
                    v += a[stride], v += a[2 * stride], v += a[3 * stride];                        \
                    v += b[0], v += b[stride], v += b[2 * stride], v += b[3 * stride];             \
                    sum[c] = v;                                                                    \
                }                                                                                  \
            }                                                                                      \
            for (; i + 4 <= end; i += 4) {                                                         \
                const T *r = x + i * stride;                                                       \
                for (int64_t c = 0; c < columns; c++) {                                            \
                    const T *a = r + c;                                                            \
                    T v = sum[c] + a[0];                                                           \
                    v += a[stride], v += a[2 * stride], v += a[3 * stride];                        \
                    sum[c] = v;                                                                    \
                }                                                                                  \
            }                                                                                      \
            for (; i < end; i++)                                                                   \
                for (int64_t c = 0; c < columns; c++) sum[c] += x[i * stride + c];                 \
            for (int l = 0; l < waits; l++) {                                                      \
                const T *left = all + l * pitch;                                                   \
                if (!(leaf >> l & 1)) continue;                                                    \
                for (int64_t c = 0; c < columns; c++) sum[c] = left[c] + sum[c];                   \
            }                                                                                      \
            T *to = leaf < last ? all + waits * pitch : out;                                       \
            for (int64_t c = 0; c < columns; c++) to[c] = sum[c];                                  \
        }                                                                                          \
    }                                                                                              \
    static void NAME(int64_t n, int64_t columns, const void *x_, int64_t stride, void *out) {      \
        const T *x = x_;                                                                           \
        int64_t c = 0;                                                                             \
        for (; columns <= NARROW && c + NAME##_N <= columns; c += NAME##_N)                        \
            NAME##_few(n, x + c, stride, (T *)out + c);                                            \
        for (; c < columns; c += SUM_COLUMNS)                                                      \
            NAME##_part(n, columns - c < SUM_COLUMNS ? columns - c : SUM_COLUMNS, x + c, stride,   \
                        (T *)out + c);                                                             \
    }
SUM_ROWS(sum_rows_f32, float)
SUM_ROWS(sum_rows_f64, double)

#define KERNELS_LINES                                                                              \
    .best = BY_DTYPE(best_), .best_columns = BY_DTYPE(best_columns_),                              \
    .pool_max = BY_DTYPE(pool_max_),                                                               \
    .keys = {[DT_BOOL] = keys_u8,   [DT_U8] = keys_u8,   [DT_I8] = keys_i8,                        \
             [DT_I32] = keys_i32,   [DT_I64] = keys_i64, [DT_F16] = keys_f16,                      \
             [DT_BF16] = keys_bf16, [DT_F32] = keys_f32, [DT_F64] = keys_f64},                     \
    .below_32 = below_32, .below_64 = below_64,                                                    \
    .pool_add = {[DT_F32] = pool_add_f32, [DT_F64] = pool_add_f64},                                \
    .pool_spread = {[DT_F32] = pool_spread_f32, [DT_F64] = pool_spread_f64},                       \
    .pool_share = {[DT_F32] = pool_share_f32, [DT_F64] = pool_share_f64},                          \
    .sum_rows = {[DT_F32] = sum_rows_f32, [DT_F64] = sum_rows_f64},
#endif
