/* cpu_pool.c: poolings: a plane at a time, on all threads. Sums run through a window, and through
 * the windows of a plane, in row-major order.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "runtime/infer/window.h"
#include "worker/cpu/cpu.h"
#include <math.h>
#include <string.h>

typedef struct Reach {
    int64_t begin, n, at;
} Reach;

typedef struct Pool2 {
    PoolShape s;
    const Kernels *kernels;
    Pool *pool;
    int64_t in, out; /* elements of a plane */
    const char *x;   /* in the average's gradient: dy */
    char *y;
    int64_t *place;
    /* For each window on the last axis: its first element inside the plane, -1: none; and the
     * divisor of its sum, without the factor of the other axes. */
    int64_t *first;
    double *scale;
    Reach *reach; /* for each element of a window on the last axis */
    int64_t n_reaches;
    int size;
    DType dtype;
} Pool2;

/* The first element of window o that is inside the plane on an axis, and the number of such
 * elements. */
typedef struct Span {
    int64_t from, n;
} Span;
static inline Span span_of(const Window *w, int axis, int64_t o) {
    int64_t first, last;
    window_inside(w, axis, o, &first, &last);
    return (Span){o * w->stride[axis] - w->padding[axis] + first * w->dilation[axis], last - first};
}
/* The windows of the last axis whose element k is inside, n from `begin` on, and the position in
 * the first one. A row of windows is computed one window element at a time, by kernels without
 * branches. */
static Reach reach_of(const Window *w, int64_t k) {
    int64_t s = w->stride[2], shift = k * w->dilation[2] - w->padding[2], end = 0;
    Reach r = {shift >= 0 ? 0 : (-shift + s - 1) / s, 0, 0};
    if (shift < w->in[2]) end = (w->in[2] - 1 - shift) / s + 1;
    if (end > w->out[2]) end = w->out[2];
    r.n = end > r.begin ? end - r.begin : 0;
    r.at = r.begin * s + shift;
    return r;
}

/* Returns the window elements on the last axis that are inside in at least one window: a window may
 * be far larger than its plane. */
static Span span_shown(const Window *w) {
    int64_t d = w->dilation[2], p = w->padding[2];
    int64_t before = p - (w->out[2] - 1) * w->stride[2], last = (w->in[2] + p + d - 1) / d;
    int64_t first = before > 0 ? (before + d - 1) / d : 0;
    if (last > w->kernel[2]) last = w->kernel[2];
    return (Span){first, last > first ? last - first : 0};
}
/* Writes all nonempty reaches to `reach` (NULL: only counts them); returns their number. */
static int64_t reaches(const Window *w, Reach *reach) {
    Span shown = span_shown(w);
    int64_t n = 0;
    for (int64_t k = shown.from; k < shown.from + shown.n; k++) {
        Reach r = reach_of(w, k);
        if (r.n == 0) continue;
        if (reach) reach[n] = r;
        n++;
    }
    return n;
}

/* The rows of a plane's windows, in order: the position of the windows, and how many of their rows
 * are inside on the outer two axes. */
typedef struct Rows {
    int64_t o[2];
    Span a, b;
    int64_t corner;
} Rows;
static void rows_at(Rows *r, const Window *w, int64_t i, int64_t j) {
    r->o[0] = i, r->o[1] = j;
    r->a = span_of(w, 0, i), r->b = span_of(w, 1, j);
    r->corner = (r->a.from * w->in[1] + r->b.from) * w->in[2];
}
#define EACH_ROW(R, W)                                                                             \
    for (int64_t i_ = 0; i_ < (W)->out[0]; i_++)                                                   \
        for (int64_t j_ = 0; j_ < (W)->out[1] && (rows_at(&(R), W, i_, j_), true); j_++)
/* For all elements of a row of windows, as (offset of the input's row, reach). */
#define EACH_REACH(P, R, W, ROW, REACH)                                                            \
    for (int64_t a_ = 0; a_ < (R).a.n; a_++)                                                       \
        for (int64_t b_ = 0; b_ < (R).b.n; b_++)                                                   \
            for (int64_t k_ = 0, ROW = (R).corner + (a_ * (W)->dilation[0] * (W)->in[1] +          \
                                                     b_ * (W)->dilation[1]) *                      \
                                                        (W)->in[2];                                \
                 k_ < (P)->n_reaches; k_++)                                                        \
                for (const Reach *REACH = &(P)->reach[k_]; REACH; REACH = NULL)

/* ---- Largest ---- */

static void lowest(DType d, void *value) {
    if (dtype_is_float(d))
        element_set_float(d, value, -(double)INFINITY);
    else
        element_set_int(d, value,
                        d == DT_I8    ? INT8_MIN
                        : d == DT_I32 ? INT32_MIN
                        : d == DT_I64 ? INT64_MIN
                                      : 0);
}

static void max_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const Pool2 *p = ctx;
    const Window *w = &p->s.window;
    PoolMaxFn meet = p->kernels->pool_max[p->dtype];
    int64_t n = w->out[2], step = w->stride[2];
    uint64_t least;
    lowest(p->dtype, &least);
    for (int64_t t = begin; t < end; t++) {
        const char *x = p->x + t * p->in * p->size;
        char *y = p->y + t * p->out * p->size;
        int64_t *place = p->place + t * p->out;
        Rows r;
        EACH_ROW(r, w) {
            bool has_rows = r.a.n > 0 && r.b.n > 0;
            copy_filled(y, &least, n, p->size);
            for (int64_t q = 0; q < n; q++)
                place[q] = has_rows && p->first[q] >= 0 ? r.corner + p->first[q] : 0;
            EACH_REACH(p, r, w, row, e)
            meet(e->n, x + (row + e->at) * p->size, step, row + e->at, y + e->begin * p->size,
                 place + e->begin);
            y += n * p->size, place += n;
        }
    }
}

/* ---- Mean ---- */

/* Returns the divisor of the sums in a row of windows, without the share p->scale. */
static double others_of(const Pool2 *p, const Rows *r) {
    return pool_divisor(&p->s, (int64_t[]){r->o[0], r->o[1], 0}) / p->scale[0];
}

static void mean_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const Pool2 *p = ctx;
    const Window *w = &p->s.window;
    int64_t n = w->out[2], step = w->stride[2];
    for (int64_t t = begin; t < end; t++) {
        const char *x = p->x + t * p->in * p->size;
        char *y = p->y + t * p->out * p->size;
        Rows r;
        EACH_ROW(r, w) {
            memset(y, 0, (size_t)(n * p->size));
            EACH_REACH(p, r, w, row, e)
            p->kernels->pool_add[p->dtype](e->n, x + (row + e->at) * p->size, step,
                                           y + e->begin * p->size);
            p->kernels->pool_share[p->dtype](n, y, others_of(p, &r), p->scale, y);
            y += n * p->size;
        }
    }
}

static void mean_dx_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const Pool2 *p = ctx;
    const Window *w = &p->s.window;
    int64_t n = w->out[2], step = w->stride[2];
    char *share = pool_scratch(p->pool, thread, (size_t)(n * p->size));
    for (int64_t t = begin; t < end; t++) {
        const char *dy = p->x + t * p->out * p->size;
        char *dx = p->y + t * p->in * p->size;
        memset(dx, 0, (size_t)(p->in * p->size));
        Rows r;
        EACH_ROW(r, w) {
            p->kernels->pool_share[p->dtype](n, dy, others_of(p, &r), p->scale, share);
            EACH_REACH(p, r, w, row, e)
            p->kernels->pool_spread[p->dtype](e->n, share + e->begin * p->size, step,
                                              dx + (row + e->at) * p->size);
            dy += n * p->size;
        }
    }
}

/* ---- Rows ---- */

/* Runs a call on all planes; x and y are the types of input and result of the forward pass. */
static bool pool(Cpu *c, const Call *call, const TensorType *x, const TensorType *y, RangeFn fn,
                 Err *err) {
    const View *from = &call->in[0];
    if (type_numel(&call->out[0].type) == 0) return true;
    Pool2 p = {.x = from->data,
               .y = call->out[0].data,
               .dtype = (DType)from->type.dtype,
               .kernels = c->kernels,
               .pool = c->pool};
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
    p.n_reaches = reaches(w, NULL);
    p.reach = cpu_side(c, call, p.n_reaches * (int64_t)sizeof *p.reach, err);
    if (!table || !p.reach) return false;
    reaches(w, p.reach);
    p.first = (int64_t *)table, p.scale = (double *)table;
    for (int64_t q = 0; q < n; q++) {
        Span s = span_of(w, 2, q);
        if (p.place)
            p.first[q] = s.n > 0 ? s.from : -1;
        else
            p.scale[q] = pool_divisor(&p.s, (int64_t[]){0, 0, q});
    }
    int64_t shown = p.n_reaches; /* elements of a window that can be inside, at most */
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
