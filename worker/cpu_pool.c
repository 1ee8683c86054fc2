/* cpu_pool.c: poolings: a plane at a time, on all threads. Sums go through a window, and through
 * the windows of a plane, in row-major order. SPDX-License-Identifier: MIT */
#include "runtime/window.h"
#include "worker/cpu.h"
#include <math.h>
#include <string.h>

typedef struct Pool2 {
    PoolShape s;
    int64_t in, out; /* elements of a plane */
    const char *x;   /* of the average's gradient: dy */
    char *y;
    int64_t *place;
    /* Of the windows of the last axis: see the loops. */
    int64_t *first;
    double *scale;
    int size;
    DType dtype;
} Pool2;

/* Where the elements of window o that lie inside begin on an axis, and how many they are. */
typedef struct Span {
    int64_t from, n;
} Span;
static inline Span span_of(const Window *w, int axis, int64_t o) {
    int64_t first, last;
    window_inside(w, axis, o, &first, &last);
    return (Span){o * w->stride[axis] - w->padding[axis] + first * w->dilation[axis], last - first};
}
/* The windows of the last axis whose element k lies inside, begin .. end-1, and where the first
 * one's is. A row of windows is done element by element: loops without branches. */
typedef struct Reach {
    int64_t begin, end, at;
} Reach;
static inline Reach reach_of(const Window *w, int64_t k) {
    int64_t s = w->stride[2], shift = k * w->dilation[2] - w->padding[2];
    Reach r = {shift >= 0 ? 0 : (-shift + s - 1) / s, 0, 0};
    if (shift < w->in[2]) r.end = (w->in[2] - 1 - shift) / s + 1;
    if (r.end > w->out[2]) r.end = w->out[2];
    r.at = r.begin * s + shift;
    return r;
}

/* The elements of the last axis' windows that lie inside in one of them at least: a window may be
 * far larger than its plane. */
static inline Span span_shown(const Window *w) {
    int64_t d = w->dilation[2], p = w->padding[2];
    int64_t before = p - (w->out[2] - 1) * w->stride[2], last = (w->in[2] + p + d - 1) / d;
    int64_t first = before > 0 ? (before + d - 1) / d : 0;
    if (last > w->kernel[2]) last = w->kernel[2];
    return (Span){first, last > first ? last - first : 0};
}

/* ---- Largest ---- */

/* `first`: of each window on the last axis its first element inside; -1: none. LARGER(v, best): v
 * takes its place. */
#define MAX_PLANE(T, LOWEST, LARGER)                                                               \
    static void max_##T(const Window *w, const int64_t *first, const T *x, T *y, int64_t *place) { \
        const int64_t *in = w->in, *out = w->out, *step = w->dilation, s = w->stride[2];           \
        const Span shown = span_shown(w);                                                          \
        for (int64_t o = 0; o < out[0] * out[1]; o++, y += out[2], place += out[2]) {              \
            Span a = span_of(w, 0, o / out[1]), b = span_of(w, 1, o % out[1]);                     \
            bool has_rows = a.n > 0 && b.n > 0;                                                    \
            int64_t corner = (a.from * in[1] + b.from) * in[2];                                    \
            for (int64_t q = 0; q < out[2]; q++) {                                                 \
                y[q] = LOWEST;                                                                     \
                place[q] = has_rows && first[q] >= 0 ? corner + first[q] : 0;                      \
            }                                                                                      \
            for (int64_t i = 0; i < a.n * b.n; i++) {                                              \
                int64_t row = corner + (i / b.n * step[0] * in[1] + i % b.n * step[1]) * in[2];    \
                for (int64_t k = shown.from; k < shown.from + shown.n; k++) {                      \
                    Reach r = reach_of(w, k);                                                      \
                    const T *from = x + row + r.at;                                                \
                    for (int64_t q = r.begin; q < r.end; q++) {                                    \
                        int64_t at = (q - r.begin) * s;                                            \
                        T v = from[at], best = y[q];                                               \
                        bool takes = LARGER;                                                       \
                        y[q] = takes ? v : best;                                                   \
                        place[q] = takes ? row + r.at + at : place[q];                             \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
MAX_PLANE(float, -INFINITY, (v > best) | (v != v))
MAX_PLANE(double, -(double)INFINITY, (v > best) | (v != v))
MAX_PLANE(uint8_t, 0, v > best)
MAX_PLANE(int8_t, INT8_MIN, v > best)
MAX_PLANE(int32_t, INT32_MIN, v > best)
MAX_PLANE(int64_t, INT64_MIN, v > best)

static void max_range(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const Pool2 *p = ctx;
    const Window *w = &p->s.window;
    for (int64_t t = begin; t < end; t++) {
        const void *x = p->x + t * p->in * p->size;
        void *y = p->y + t * p->out * p->size;
        int64_t *place = p->place + t * p->out;
        switch (p->dtype) {
        case DT_U8: max_uint8_t(w, p->first, x, y, place); break;
        case DT_I8: max_int8_t(w, p->first, x, y, place); break;
        case DT_I32: max_int32_t(w, p->first, x, y, place); break;
        case DT_I64: max_int64_t(w, p->first, x, y, place); break;
        case DT_F32: max_float(w, p->first, x, y, place); break;
        case DT_F64: max_double(w, p->first, x, y, place); break;
        default: panic("max_pool of %s", dtype_info[p->dtype].name);
        }
    }
}

/* ---- Mean ---- */

/* `scale`: of each window on the last axis what divides its sum, if the others' share is 1. */
#define MEAN_PLANE(T)                                                                              \
    static void mean_##T(const Pool2 *p, const T *x, T *y) {                                       \
        const Window *w = &p->s.window;                                                            \
        const int64_t *in = w->in, *out = w->out, s = w->stride[2];                                \
        const Span shown = span_shown(w);                                                          \
        for (int64_t o = 0; o < out[0] * out[1]; o++, y += out[2]) {                               \
            Span a = span_of(w, 0, o / out[1]), b = span_of(w, 1, o % out[1]);                     \
            for (int64_t q = 0; q < out[2]; q++) y[q] = 0;                                         \
            for (int64_t i = 0; i < a.n * b.n; i++) {                                              \
                const T *row = x + ((a.from + i / b.n) * in[1] + b.from + i % b.n) * in[2];        \
                for (int64_t k = shown.from; k < shown.from + shown.n; k++) {                      \
                    Reach r = reach_of(w, k);                                                      \
                    const T *from = row + r.at;                                                    \
                    for (int64_t q = r.begin; q < r.end; q++) y[q] += from[(q - r.begin) * s];     \
                }                                                                                  \
            }                                                                                      \
            double others =                                                                        \
                pool_divisor(&p->s, (int64_t[]){o / out[1], o % out[1], 0}) / p->scale[0];         \
            for (int64_t q = 0; q < out[2]; q++) y[q] /= (T)(others * p->scale[q]);                \
        }                                                                                          \
    }                                                                                              \
    static void mean_dx_##T(const Pool2 *p, const T *dy, T *dx) {                                  \
        const Window *w = &p->s.window;                                                            \
        const int64_t *in = w->in, *out = w->out, s = w->stride[2];                                \
        const Span shown = span_shown(w);                                                          \
        memset(dx, 0, sizeof(T) * (size_t)window_volume(in));                                      \
        for (int64_t o = 0; o < out[0] * out[1]; o++, dy += out[2]) {                              \
            Span a = span_of(w, 0, o / out[1]), b = span_of(w, 1, o % out[1]);                     \
            double others =                                                                        \
                pool_divisor(&p->s, (int64_t[]){o / out[1], o % out[1], 0}) / p->scale[0];         \
            for (int64_t i = 0; i < a.n * b.n; i++) {                                              \
                T *row = dx + ((a.from + i / b.n) * in[1] + b.from + i % b.n) * in[2];             \
                for (int64_t k = shown.from; k < shown.from + shown.n; k++) {                      \
                    Reach r = reach_of(w, k);                                                      \
                    T *to = row + r.at;                                                            \
                    for (int64_t q = r.begin; q < r.end; q++)                                      \
                        to[(q - r.begin) * s] += dy[q] / (T)(others * p->scale[q]);                \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
MEAN_PLANE(float)
MEAN_PLANE(double)

static void mean_range(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const Pool2 *p = ctx;
    for (int64_t t = begin; t < end; t++) {
        const void *x = p->x + t * p->in * p->size;
        void *y = p->y + t * p->out * p->size;
        if (p->dtype == DT_F32)
            mean_float(p, x, y);
        else
            mean_double(p, x, y);
    }
}

static void mean_dx_range(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const Pool2 *p = ctx;
    for (int64_t t = begin; t < end; t++) {
        const void *dy = p->x + t * p->out * p->size;
        void *dx = p->y + t * p->in * p->size;
        if (p->dtype == DT_F32)
            mean_dx_float(p, dy, dx);
        else
            mean_dx_double(p, dy, dx);
    }
}

/* ---- Rows ---- */

/* A call on all planes; x and y are the types of input and result of the forward pass. */
static bool pool(Cpu *c, const Call *call, const TensorType *x, const TensorType *y, RangeFn fn,
                 Err *err) {
    const View *from = &call->in[0];
    if (type_numel(&call->out[0].type) == 0) return true;
    Pool2 p = {.x = from->data, .y = call->out[0].data, .dtype = (DType)from->type.dtype};
    p.size = view_size(from);
    if (call->n_out > 1) p.place = call->out[1].data;
    if (!view_is_contiguous(from)) {
        void *copy = cpu_side(c, call, type_numel(&from->type) * p.size, err);
        if (!copy) return false;
        cpu_copy(c, from, copy);
        p.x = copy;
    }
    pool_shape(&p.s, call->inst, x, y);
    const Window *w = &p.s.window;
    p.in = window_volume(w->in), p.out = window_volume(w->out);
    int64_t n = w->out[2];
    char *table = cpu_side(c, call, n * (int64_t)sizeof(int64_t), err);
    if (!table) return false;
    p.first = (int64_t *)table, p.scale = (double *)table;
    for (int64_t q = 0; q < n; q++) {
        Span s = span_of(w, 2, q);
        if (p.place)
            p.first[q] = s.n > 0 ? s.from : -1;
        else
            p.scale[q] = pool_divisor(&p.s, (int64_t[]){0, 0, q});
    }
    int64_t shown = span_shown(w).n; /* of a window, at most: what of it can lie inside */
    for (int d = 0; d < 2; d++) shown *= w->kernel[d] < w->in[d] ? w->kernel[d] : w->in[d];
    if (shown > CPU_PART) shown = CPU_PART;
    cpu_ranges(c, p.s.planes, cpu_part(p.out * shown), fn, &p);
    return true;
}

bool cpu_MAX_POOL(Cpu *c, const Call *call, Err *err) {
    return pool(c, call, &call->in[0].type, &call->out[0].type, max_range, err);
}
bool cpu_AVG_POOL(Cpu *c, const Call *call, Err *err) {
    return pool(c, call, &call->in[0].type, &call->out[0].type, mean_range, err);
}
bool cpu_AVG_POOL_DX(Cpu *c, const Call *call, Err *err) {
    return pool(c, call, &call->out[0].type, &call->in[0].type, mean_dx_range, err);
}
