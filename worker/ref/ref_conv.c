/* ref_conv.c: convolutions and poolings of the reference engine: each element of the result is the
 * sum (in double, or wrapping in int64) or the maximum of the elements in the definition.
 * SPDX-License-Identifier: MIT */
#include "runtime/infer/window.h"
#include "worker/ref/ref.h"
#include <math.h>

/* ---- Convolutions ---- */

/* (a, b, three spatial axes): missing spatial axes have one element. */
typedef struct Five {
    const View *v;
    int64_t shape[5], stride[5];
} Five;

static Five five(const View *v) {
    Five f = {.v = v, .shape = {1, 1, 1, 1, 1}};
    for (int i = 0; i < v->type.rank; i++) {
        int to = i < 2 ? i : 5 - v->type.rank + i;
        f.shape[to] = v->type.shape[i], f.stride[to] = v->stride[i];
    }
    return f;
}

static int64_t at(const Five *f, int64_t a, int64_t b, const int64_t *s) {
    return a * f->stride[0] + b * f->stride[1] + s[0] * f->stride[2] + s[1] * f->stride[3] +
           s[2] * f->stride[4];
}

/* Steps three coordinates; false after the last. An empty box has none. */
static bool step3(int64_t *i, const int64_t *n) {
    for (int d = 2; d >= 0; d--) {
        if (++i[d] < n[d]) return true;
        i[d] = 0;
    }
    return false;
}

/* Writes the position i of element k of window o on all three axes; false: in the padding. */
static bool inside(const Window *w, const int64_t *o, const int64_t *k, int64_t *i) {
    for (int d = 0; d < 3; d++) {
        i[d] = o[d] * w->stride[d] - w->padding[d] + k[d] * w->dilation[d];
        if (i[d] < 0 || i[d] >= w->in[d]) return false;
    }
    return true;
}

bool ref_CONV(const Call *c, Err *err) {
    ConvShape s;
    conv_shape(&s, c->inst, &c->in[0].type, &c->in[1].type, &c->out[0].type);
    Five x = five(&c->in[0]), w = five(&c->in[1]), y = five(&c->out[0]);
    if (ref_is_empty(&c->out[0].type)) return true;
    int64_t C = s.C / s.groups, O = s.O / s.groups;
    for (int64_t n = 0; n < s.N; n++) {
        for (int64_t o = 0; o < s.O; o++) {
            int64_t out[3] = {0};
            do {
                RefSum sum = {0};
                for (int64_t ch = 0; ch < C && !ref_is_empty(&c->in[1].type); ch++) {
                    int64_t k[3] = {0}, i[3];
                    do {
                        if (inside(&s.window, out, k, i))
                            ref_sum_add_product(&sum, x.v, at(&x, n, o / O * C + ch, i), w.v,
                                                at(&w, o, ch, k));
                    } while (step3(k, s.window.kernel));
                }
                ref_set_sum(y.v, at(&y, n, o, out), &sum);
            } while (step3(out, s.window.out));
        }
    }
    return true;
}

/* Writes the window o whose element k is i; false: none. */
static bool window_of(const Window *w, const int64_t *i, const int64_t *k, int64_t *o) {
    for (int d = 0; d < 3; d++) {
        int64_t from = i[d] + w->padding[d] - k[d] * w->dilation[d];
        if (from < 0 || from % w->stride[d]) return false;
        o[d] = from / w->stride[d];
        if (o[d] >= w->out[d]) return false;
    }
    return true;
}

bool ref_CONV_DX(const Call *c, Err *err) {
    ConvShape s;
    conv_shape(&s, c->inst, &c->out[0].type, &c->in[1].type, &c->in[0].type);
    Five dy = five(&c->in[0]), w = five(&c->in[1]), dx = five(&c->out[0]);
    if (ref_is_empty(&c->out[0].type)) return true;
    int64_t C = s.C / s.groups, O = s.O / s.groups;
    for (int64_t n = 0; n < s.N; n++) {
        for (int64_t ch = 0; ch < s.C; ch++) {
            int64_t i[3] = {0};
            do {
                RefSum sum = {0};
                for (int64_t o = ch / C * O; o < (ch / C + 1) * O; o++) {
                    int64_t k[3] = {0}, out[3];
                    do {
                        if (window_of(&s.window, i, k, out))
                            ref_sum_add_product(&sum, dy.v, at(&dy, n, o, out), w.v,
                                                at(&w, o, ch % C, k));
                    } while (step3(k, s.window.kernel));
                }
                ref_set_sum(dx.v, at(&dx, n, ch, i), &sum);
            } while (step3(i, s.window.in));
        }
    }
    return true;
}

bool ref_CONV_DW(const Call *c, Err *err) {
    ConvShape s;
    conv_shape(&s, c->inst, &c->in[0].type, &c->out[0].type, &c->in[1].type);
    Five x = five(&c->in[0]), dy = five(&c->in[1]), dw = five(&c->out[0]);
    if (ref_is_empty(&c->out[0].type)) return true;
    int64_t C = s.C / s.groups, O = s.O / s.groups;
    for (int64_t o = 0; o < s.O; o++) {
        for (int64_t ch = 0; ch < C; ch++) {
            int64_t k[3] = {0};
            do {
                RefSum sum = {0};
                for (int64_t n = 0; n < s.N; n++) {
                    int64_t out[3] = {0}, i[3];
                    do {
                        if (inside(&s.window, out, k, i))
                            ref_sum_add_product(&sum, x.v, at(&x, n, o / O * C + ch, i), dy.v,
                                                at(&dy, n, o, out));
                    } while (step3(out, s.window.out));
                }
                ref_set_sum(dw.v, at(&dw, o, ch, k), &sum);
            } while (step3(k, s.window.kernel));
        }
    }
    return true;
}

/* ---- Poolings ---- */

/* A tensor as planes: the leading axes count them, the last n are spatial. */
typedef struct Planes {
    const View *v;
    TensorType lead;
    int64_t stride[3];
} Planes;

static Planes planes(const View *v, int n) {
    Planes p = {.v = v, .lead = v->type};
    p.lead.rank = (uint8_t)(v->type.rank - n);
    for (int i = 0; i < n; i++) p.stride[3 - n + i] = v->stride[p.lead.rank + i];
    return p;
}
static int64_t plane_at(const Planes *p, const int64_t *index, const int64_t *i) {
    int64_t offset = i[0] * p->stride[0] + i[1] * p->stride[1] + i[2] * p->stride[2];
    for (int d = 0; d < p->lead.rank; d++) offset += index[d] * p->v->stride[d];
    return offset;
}

/* The box of a window's elements inside the plane, as coordinates from..to with steps `step`. */
typedef struct Box {
    int64_t from[3], count[3], step[3];
} Box;
static Box box_of(const Window *w, const int64_t *o) {
    Box b;
    for (int d = 0; d < 3; d++) {
        int64_t first, last;
        window_inside(w, d, o[d], &first, &last);
        b.step[d] = w->dilation[d], b.count[d] = last - first;
        b.from[d] = o[d] * w->stride[d] - w->padding[d] + first * w->dilation[d];
    }
    return b;
}
static void box_at(const Box *b, const int64_t *k, int64_t *i) {
    for (int d = 0; d < 3; d++) i[d] = b->from[d] + k[d] * b->step[d];
}

static bool is_larger(const View *x, int64_t i, int64_t best) {
    if (!ref_is_float(x)) return ref_int(x, i) > ref_int(x, best);
    double v = ref_float(x, i);
    return v > ref_float(x, best) || isnan(v);
}
/* The maximum of a window with no element inside. */
static void set_lowest(const View *o, int64_t i) {
    int bits = 8 * dtype_info[o->type.dtype].size_bytes;
    if (ref_is_float(o))
        ref_set_float(o, i, -INFINITY);
    else
        ref_set_int(o, i, o->type.dtype == DT_U8 ? 0 : INT64_MIN >> (64 - bits));
}

bool ref_MAX_POOL(const Call *c, Err *err) {
    PoolShape s;
    const View *o = &c->out[0];
    pool_shape(&s, c->inst, &c->in[0].type, &o->type);
    const Window *w = &s.window;
    Planes x = planes(&c->in[0], w->n), y = planes(o, w->n);
    int64_t index[MAX_DIMS] = {0};
    if (ref_is_empty(&o->type)) return true;
    do {
        int64_t out[3] = {0};
        do {
            Box b = box_of(w, out);
            int64_t k[3] = {0}, i[3], best = -1, place = 0, to = plane_at(&y, index, out);
            if (window_volume(b.count) > 0) do {
                    box_at(&b, k, i);
                    int64_t offset = plane_at(&x, index, i);
                    if (best >= 0 && !is_larger(x.v, offset, best)) continue;
                    best = offset, place = (i[0] * w->in[1] + i[1]) * w->in[2] + i[2];
                } while (step3(k, b.count));
            if (best < 0)
                set_lowest(o, to);
            else
                ref_copy_element(o, to, x.v, best);
            ref_set_int(&c->out[1], to, place);
        } while (step3(out, w->out));
    } while (ref_step(index, &y.lead));
    return true;
}

bool ref_AVG_POOL(const Call *c, Err *err) {
    PoolShape s;
    const View *o = &c->out[0];
    pool_shape(&s, c->inst, &c->in[0].type, &o->type);
    const Window *w = &s.window;
    Planes x = planes(&c->in[0], w->n), y = planes(o, w->n);
    int64_t index[MAX_DIMS] = {0};
    if (ref_is_empty(&o->type)) return true;
    do {
        int64_t out[3] = {0};
        do {
            Box b = box_of(w, out);
            int64_t k[3] = {0}, i[3];
            double sum = 0;
            if (window_volume(b.count) > 0) do {
                    box_at(&b, k, i);
                    sum += ref_float(x.v, plane_at(&x, index, i));
                } while (step3(k, b.count));
            ref_set_float(o, plane_at(&y, index, out), sum / pool_divisor(&s, out));
        } while (step3(out, w->out));
    } while (ref_step(index, &y.lead));
    return true;
}

/* Each element of dx: the sum over the windows that contain it. */
bool ref_AVG_POOL_DX(const Call *c, Err *err) {
    PoolShape s;
    const View *o = &c->out[0];
    pool_shape(&s, c->inst, &o->type, &c->in[0].type);
    const Window *w = &s.window;
    Planes dy = planes(&c->in[0], w->n), dx = planes(o, w->n);
    int64_t index[MAX_DIMS] = {0};
    if (ref_is_empty(&o->type)) return true;
    do {
        int64_t i[3] = {0};
        do {
            Box b;
            for (int d = 0; d < 3; d++) { /* o * stride <= at < o * stride + kernel */
                int64_t at = i[d] + w->padding[d], after = at - w->kernel[d] + w->stride[d];
                int64_t end = at / w->stride[d] + 1;
                if (end > w->out[d]) end = w->out[d];
                b.from[d] = after <= 0 ? 0 : after / w->stride[d];
                b.count[d] = end > b.from[d] ? end - b.from[d] : 0;
                b.step[d] = 1;
            }
            double sum = 0;
            int64_t k[3] = {0}, out[3];
            if (window_volume(b.count) > 0) do {
                    box_at(&b, k, out);
                    sum += ref_float(dy.v, plane_at(&dy, index, out)) / pool_divisor(&s, out);
                } while (step3(k, b.count));
            ref_set_float(o, plane_at(&dx, index, i), sum);
        } while (step3(i, w->in));
    } while (ref_step(index, &dx.lead));
    return true;
}
