/* cpu_scan.c: scans along an axis: linear recurrences and running extremes, a line at a time,
 * element by element; and search in sorted lines. The carried value is a double for floats, so that
 * the rounding of one element does not accumulate. Dtypes without a loop of their own are compared
 * by cpu_key.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include <string.h>

/* Lines along an axis; operands 0 and 1 are read, operand 2 is the result. */
typedef struct ScanRun {
    Loop lines;
    int64_t n, step[3];
    const View *in[2];
    const View *out[2];
    bool flag; /* reverse, largest or right */
    DType dtype;
    Pool *pool;
} ScanRun;

static void scan_init(ScanRun *r, const Call *call, const View *second) {
    int axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0];
    View line[3] = {call->in[0], *second, call->out[0]};
    view_strides(&line[2].type, line[2].stride);
    r->n = line[0].type.shape[axis];
    for (int k = 0; k < 3; k++) {
        r->step[k] = line[k].stride[axis];
        line[k].type.shape[axis] = 1;
    }
    loop_init(&r->lines, &line[2].type, (const View *const[]){&line[0], &line[1], &line[2]}, 3);
    r->in[0] = &call->in[0], r->in[1] = second, r->out[0] = &call->out[0];
    r->dtype = (DType)call->in[0].type.dtype;
}

static void *at(const ScanRun *r, const View *v, int operand, int64_t line) {
    return view_at(v, loop_offset(&r->lines, operand, line));
}

/* ---- y[i] = a[i] y[i-1] + b[i] ---- */

#define RECURRENCE(ID, S, T, A, R)                                                                 \
    static void recurrence_##S(const T *a, int64_t as, const T *b, int64_t bs, T *y, int64_t ys,   \
                               int64_t n, Pool *p, int thread) {                                   \
        A last = (A)b[0];                                                                          \
        y[0] = (T)last;                                                                            \
        for (int64_t i = 1, end; (end = pool_ahead(p, thread, i, n)) > i;)                         \
            for (; i < end; i++) {                                                                 \
                last = (A)a[i * as] * last + (A)b[i * bs];                                         \
                y[i * ys] = (T)last;                                                               \
            }                                                                                      \
    }
CPU_DTYPES(RECURRENCE)

static void recurrence_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const ScanRun *r = ctx;
    Pool *p = r->pool;
    int size = view_size(r->in[0]);
    int64_t s[3], skip[3];
    for (int k = 0; k < 3; k++) {
        s[k] = r->flag ? -r->step[k] : r->step[k];
        skip[k] = r->flag ? (r->n - 1) * r->step[k] * size : 0; /* offset of the first, in bytes */
    }
    for (int64_t i = begin; i < end; i++) {
        const void *a = (char *)at(r, r->in[0], 0, i) + skip[0];
        const void *b = (char *)at(r, r->in[1], 1, i) + skip[1];
        void *y = (char *)at(r, r->out[0], 2, i) + skip[2];
        switch (r->dtype) {
#define CASE(ID, S, ...)                                                                           \
    case DT_##ID: recurrence_##S(a, s[0], b, s[1], y, s[2], r->n, p, thread); break;
            CPU_DTYPES(CASE)
#undef CASE
        default: panic("recurrence of %s", dtype_info[r->dtype].name);
        }
    }
}

bool cpu_RECURRENCE(Cpu *c, const Call *call, Err *err) {
    if (type_numel(&call->out[0].type) == 0) return true;
    ScanRun r = {.flag = inst_bool(call->inst, ATTR_REVERSE, false), .pool = c->pool};
    scan_init(&r, call, &call->in[1]);
    cpu_ranges(c, r.lines.n, cpu_part(r.n * 4), recurrence_range, &r);
    return true;
}

/* ---- The largest or smallest so far ---- */

#define EXTREME(ID, S, T, ...)                                                                     \
    static void extreme_##S(const T *x, int64_t xs, T *y, int64_t *place, int64_t ys, int64_t n,   \
                            bool largest, Pool *p, int thread) {                                   \
        T best = x[0];                                                                             \
        for (int64_t i = 0, where = 0, end; (end = pool_ahead(p, thread, i, n)) > i;)              \
            for (; i < end; i++) {                                                                 \
                T v = x[i * xs];                                                                   \
                bool wins = v != v || (largest ? v >= best : v <= best);                           \
                best = wins ? v : best, where = wins ? i : where;                                  \
                y[i * ys] = best, place[i * ys] = where;                                           \
            }                                                                                      \
    }
CPU_DTYPES(EXTREME)

static void extreme_by_key(const ScanRun *r, const char *x, char *y, int64_t *place, int thread) {
    int size = view_size(r->in[0]);
    uint64_t best = 0;
    bool has_nan = false, is_float = dtype_is_float(r->dtype);
    for (int64_t i = 0, where = 0; i < r->n; i++) {
        if (i % POOL_AHEAD == POOL_AHEAD - 1 && pool_is_cancelled(r->pool, thread)) return;
        uint64_t key = cpu_key(r->dtype, x + i * r->step[0] * size);
        bool is_nan = is_float && key == cpu_key_nan(r->dtype);
        if (!r->flag) key = ~key;
        if (i == 0 || is_nan || (!has_nan && key >= best)) best = key, where = i;
        has_nan |= is_nan;
        memcpy(y + i * r->step[2] * size, x + where * r->step[0] * size, (size_t)size);
        place[i * r->step[2]] = where;
    }
}

static void extreme_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const ScanRun *r = ctx;
    Pool *p = r->pool;
    int64_t s = r->step[0], step = r->step[2];
    for (int64_t i = begin; i < end; i++) {
        const void *x = at(r, r->in[0], 0, i);
        void *y = at(r, r->out[0], 2, i);
        int64_t *place = at(r, r->out[1], 2, i);
        switch (r->dtype == DT_BOOL ? DT_U8 : r->dtype) {
#define CASE(ID, S, ...)                                                                           \
    case DT_##ID: extreme_##S(x, s, y, place, step, r->n, r->flag, p, thread); break;
            CPU_DTYPES(CASE)
#undef CASE
        default: extreme_by_key(r, x, y, place, thread);
        }
    }
}

bool cpu_CUMMAX(Cpu *c, const Call *call, Err *err) {
    if (type_numel(&call->out[0].type) == 0) return true;
    ScanRun r = {.flag = inst_bool(call->inst, ATTR_LARGEST, true),
                 .out[1] = &call->out[1],
                 .pool = c->pool};
    scan_init(&r, call, &call->in[0]);
    cpu_ranges(c, r.lines.n, cpu_part(r.n * 4), extreme_range, &r);
    return true;
}

/* ---- Search ---- */

typedef struct SearchRun {
    const View *x;   /* sorted along the last axis */
    Loop rows;       /* of the values: operand 0 is x, operand 1 the values */
    int64_t n, step; /* elements of a line of x */
    const View *v;
    int64_t *out;
    bool right, is_sorted; /* is_sorted: see has_sorted_lines */
} SearchRun;

/* search_S_left, search_S_right: the places of SEARCHES values in a sorted line of n adjacent
 * elements, n >= 1. They do not wait for each other, and no branch depends on an element. No value
 * is nan; nan in the line is above all. is_sorted_S: in a line that is not, the place that is found
 * depends on the steps, so such lines are left to search_range, whose steps all engines take. */
enum { SEARCHES = 8 };
#define EACH_VALUE _Pragma("GCC unroll 8") for (int k = 0; k < SEARCHES; k++)
#define SEARCH_BY(NAME, T, BELOW)                                                                  \
    __attribute__((optimize("no-tree-slp-vectorize"))) static void NAME(                           \
        const T *x, int64_t n, const T *v, int64_t *out) {                                         \
        int64_t at[SEARCHES] = {0};                                                                \
        for (int64_t left = n, half; left > 1; left -= half) {                                     \
            half = left / 2;                                                                       \
            const T *y = x + half - 1;                                                             \
            EACH_VALUE at[k] += half & -(int64_t)(y[at[k]] BELOW v[k]);                            \
        }                                                                                          \
        EACH_VALUE out[k] = at[k] + (x[at[k]] BELOW v[k]);                                         \
    }
#define SEARCH(ID, S, T, ...)                                                                      \
    SEARCH_BY(search_##S##_left, T, <)                                                             \
    SEARCH_BY(search_##S##_right, T, <=)                                                           \
    static bool is_sorted_##S(const T *x, int64_t n) {                                             \
        bool is_sorted = true;                                                                     \
        for (int64_t i = 1; i < n; i++) is_sorted &= x[i - 1] <= x[i] || x[i] != x[i];             \
        return is_sorted;                                                                          \
    }                                                                                              \
    static bool has_nan_##S(const T *v) {                                                          \
        bool has = false;                                                                          \
        for (int k = 0; k < SEARCHES; k++) has |= v[k] != v[k];                                    \
        return has;                                                                                \
    }
CPU_DTYPES(SEARCH)

/* True if the values from i on, SEARCHES of them, are adjacent, belong to one line of x, and their
 * places have been written. */
static bool search_some(const SearchRun *r, int64_t i, int64_t end) {
    const Loop *l = &r->rows;
    int inner = l->rank - 1;
    if (i + SEARCHES > end || inner < 0 || !r->is_sorted) return false;
    if (l->stride[0][inner] != 0 || l->stride[1][inner] != 1) return false;
    if (l->shape[inner] - i % l->shape[inner] < SEARCHES) return false;
    const void *x = view_at(r->x, loop_offset(l, 0, i)), *v = view_at(r->v, loop_offset(l, 1, i));
    switch (r->x->type.dtype == DT_BOOL ? DT_U8 : r->x->type.dtype) {
#define CASE(ID, S, ...)                                                                           \
    case DT_##ID:                                                                                  \
        if (has_nan_##S(v)) return false;                                                          \
        (r->right ? search_##S##_right : search_##S##_left)(x, r->n, v, r->out + i);               \
        return true;
        CPU_DTYPES(CASE)
#undef CASE
    default: return false; /* halves */
    }
}

/* True if x has adjacent, sorted lines, few compared to the values. */
static bool has_sorted_lines(const View *x, int64_t values, int64_t n) {
    int64_t all = type_numel(&x->type);
    if (n == 0 || all / 8 > values || !view_is_contiguous(x)) return false;
    for (int64_t i = 0; i < all; i += n) {
        const void *line = view_at(x, i);
        switch (x->type.dtype == DT_BOOL ? DT_U8 : x->type.dtype) {
#define CASE(ID, S, ...)                                                                           \
    case DT_##ID:                                                                                  \
        if (!is_sorted_##S(line, n)) return false;                                                 \
        break;
            CPU_DTYPES(CASE)
#undef CASE
        default: return false; /* halves */
        }
    }
    return true;
}

static void search_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const SearchRun *r = ctx;
    DType d = (DType)r->x->type.dtype;
    int size = view_size(r->x);
    for (int64_t i = begin; i < end; i++) {
        while (search_some(r, i, end)) i += SEARCHES;
        if (i == end) return;
        const char *x = view_at(r->x, loop_offset(&r->rows, 0, i));
        uint64_t key = cpu_key(d, view_at(r->v, loop_offset(&r->rows, 1, i)));
        int64_t low = 0, high = r->n;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            uint64_t there = cpu_key(d, x + middle * r->step * size);
            if (r->right ? there <= key : there < key)
                low = middle + 1;
            else
                high = middle;
        }
        r->out[i] = low;
    }
}

bool cpu_SEARCHSORTED(Cpu *c, const Call *call, Err *err) {
    const View *x = &call->in[0];
    int last = x->type.rank - 1;
    SearchRun r = {.x = x, .v = &call->in[1], .out = call->out[0].data};
    if (type_numel(&call->out[0].type) == 0) return true;
    r.right = inst_bool(call->inst, ATTR_RIGHT, false);
    r.n = x->type.shape[last], r.step = x->stride[last];
    r.is_sorted = has_sorted_lines(x, type_numel(&call->out[0].type), r.n);
    View line = *x;
    line.type.shape[last] = 1;
    if (last == 0) line.type.rank = 0;
    loop_init(&r.rows, &call->out[0].type, (const View *const[]){&line, r.v}, 2);
    cpu_ranges(c, r.rows.n, cpu_part(32), search_range, &r);
    return true;
}
