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
    bool right;
} SearchRun;

static void search_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const SearchRun *r = ctx;
    DType d = (DType)r->x->type.dtype;
    int size = view_size(r->x);
    for (int64_t i = begin; i < end; i++) {
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
    View line = *x;
    line.type.shape[last] = 1;
    if (last == 0) line.type.rank = 0;
    loop_init(&r.rows, &call->out[0].type, (const View *const[]){&line, r.v}, 2);
    cpu_ranges(c, r.rows.n, cpu_part(32), search_range, &r);
    return true;
}
