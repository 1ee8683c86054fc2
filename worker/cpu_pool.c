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
    int size;
    DType dtype;
} Pool2;

/* Where the elements of window o that lie inside begin on an axis, and how many they are. */
typedef struct Span {
    int64_t from, n;
} Span;
static Span span_of(const Window *w, int axis, int64_t o) {
    int64_t first, last;
    window_inside(w, axis, o, &first, &last);
    return (Span){o * w->stride[axis] - w->padding[axis] + first * w->dilation[axis], last - first};
}

/* ---- Largest ---- */

/* What follows the largest of one window. LARGER(v, best): v takes its place. */
#define MAX_PLANE(T, LOWEST, LARGER)                                                               \
    static void max_##T(const Window *w, const T *x, T *y, int64_t *place) {                       \
        const int64_t *in = w->in, *out = w->out, *step = w->dilation;                             \
        for (int64_t o0 = 0; o0 < out[0]; o0++) {                                                  \
            Span a = span_of(w, 0, o0);                                                            \
            for (int64_t o1 = 0; o1 < out[1]; o1++) {                                              \
                Span b = span_of(w, 1, o1);                                                        \
                for (int64_t o2 = 0; o2 < out[2]; o2++) {                                          \
                    Span c = span_of(w, 2, o2);                                                    \
                    int64_t at = 0;                                                                \
                    T best = LOWEST;                                                               \
                    if (a.n && b.n && c.n)                                                         \
                        at = (a.from * in[1] + b.from) * in[2] + c.from, best = x[at];             \
                    for (int64_t i = 0; i < a.n; i++) {                                            \
                        for (int64_t j = 0; j < b.n; j++) {                                        \
                            int64_t row =                                                          \
                                ((a.from + i * step[0]) * in[1] + b.from + j * step[1]) * in[2] +  \
                                c.from;                                                            \
                            for (int64_t k = 0; k < c.n; k++) {                                    \
                                T v = x[row + k * step[2]];                                        \
                                if (LARGER) best = v, at = row + k * step[2];                      \
                            }                                                                      \
                        }                                                                          \
                    }                                                                              \
                    *y++ = best, *place++ = at;                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
MAX_PLANE(float, -INFINITY, v > best || isnan(v))
MAX_PLANE(double, -(double)INFINITY, v > best || isnan(v))
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
        case DT_U8: max_uint8_t(w, x, y, place); break;
        case DT_I8: max_int8_t(w, x, y, place); break;
        case DT_I32: max_int32_t(w, x, y, place); break;
        case DT_I64: max_int64_t(w, x, y, place); break;
        case DT_F32: max_float(w, x, y, place); break;
        case DT_F64: max_double(w, x, y, place); break;
        default: panic("max_pool of %s", dtype_info[p->dtype].name);
        }
    }
}

/* ---- Mean ---- */

#define MEAN_PLANE(T)                                                                              \
    static void mean_##T(const PoolShape *s, const T *x, T *y) {                                   \
        const Window *w = &s->window;                                                              \
        int64_t o[3];                                                                              \
        for (o[0] = 0; o[0] < w->out[0]; o[0]++) {                                                 \
            Span a = span_of(w, 0, o[0]);                                                          \
            for (o[1] = 0; o[1] < w->out[1]; o[1]++) {                                             \
                Span b = span_of(w, 1, o[1]);                                                      \
                for (o[2] = 0; o[2] < w->out[2]; o[2]++) {                                         \
                    Span c = span_of(w, 2, o[2]);                                                  \
                    T sum = 0;                                                                     \
                    for (int64_t i = 0; i < a.n; i++) {                                            \
                        for (int64_t j = 0; j < b.n; j++) {                                        \
                            const T *row =                                                         \
                                x + ((a.from + i) * w->in[1] + b.from + j) * w->in[2] + c.from;    \
                            for (int64_t k = 0; k < c.n; k++) sum += row[k];                       \
                        }                                                                          \
                    }                                                                              \
                    *y++ = (T)(sum / (T)pool_divisor(s, o));                                       \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void mean_dx_##T(const PoolShape *s, const T *dy, T *dx) {                              \
        const Window *w = &s->window;                                                              \
        int64_t o[3];                                                                              \
        memset(dx, 0, sizeof(T) * (size_t)window_volume(w->in));                                   \
        for (o[0] = 0; o[0] < w->out[0]; o[0]++) {                                                 \
            Span a = span_of(w, 0, o[0]);                                                          \
            for (o[1] = 0; o[1] < w->out[1]; o[1]++) {                                             \
                Span b = span_of(w, 1, o[1]);                                                      \
                for (o[2] = 0; o[2] < w->out[2]; o[2]++) {                                         \
                    Span c = span_of(w, 2, o[2]);                                                  \
                    T part = (T)(*dy++ / (T)pool_divisor(s, o));                                   \
                    for (int64_t i = 0; i < a.n; i++) {                                            \
                        for (int64_t j = 0; j < b.n; j++) {                                        \
                            T *row =                                                               \
                                dx + ((a.from + i) * w->in[1] + b.from + j) * w->in[2] + c.from;   \
                            for (int64_t k = 0; k < c.n; k++) row[k] += part;                      \
                        }                                                                          \
                    }                                                                              \
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
            mean_float(&p->s, x, y);
        else
            mean_double(&p->s, x, y);
    }
}

static void mean_dx_range(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const Pool2 *p = ctx;
    for (int64_t t = begin; t < end; t++) {
        const void *dy = p->x + t * p->out * p->size;
        void *dx = p->y + t * p->in * p->size;
        if (p->dtype == DT_F32)
            mean_dx_float(&p->s, dy, dx);
        else
            mean_dx_double(&p->s, dy, dx);
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
    p.in = window_volume(p.s.window.in), p.out = window_volume(p.s.window.out);
    cpu_ranges(c, p.s.planes, cpu_part(p.out * window_volume(p.s.window.kernel)), fn, &p);
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
