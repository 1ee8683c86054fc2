/* cpu_sort.c: order along an axis: argmax, argmin, sort, argsort, topk, cumsum. Sorting maps each
 * value to an unsigned key that is ordered as the values are (nan above everything, -0 equal to 0,
 * all bits flipped when descending) and sorts (key, position) pairs stably: by insertion when few,
 * else by radix, skipping digits that all keys share. SPDX-License-Identifier: MIT */
#include "worker/cpu.h"
#include "worker/prologue.h"
#include <math.h>
#include <string.h>

/* ---- Lines ---- */

/* All lines of x along `axis`; operand 0 is x, operand 1 the output. */
typedef struct LineRun {
    Loop lines;
    int64_t n, in_stride, out_stride;
    const View *x;
    char *out;
    int64_t *position;
    int64_t count; /* elements of a line that are wanted */
    DType dtype;
    int sign;
    bool descends;
    struct Item *items; /* two lines of them per thread */
} LineRun;

static void lines_init(LineRun *r, const View *x, const View *out, int axis) {
    View in = *x, o = *out;
    view_strides(&o.type, o.stride);
    r->n = x->type.shape[axis];
    r->in_stride = x->stride[axis], r->out_stride = o.stride[axis];
    in.type.shape[axis] = o.type.shape[axis] = 1;
    loop_init(&r->lines, &in.type, (const View *const[]){&in, &o}, 2);
    r->x = x, r->out = out->data, r->dtype = (DType)x->type.dtype;
}

/* ---- Largest and smallest ---- */

#define BEST(NAME, S, T, LOAD, IS_NAN)                                                             \
    static int64_t best_##NAME(const S *x, int64_t stride, int64_t n, int sign) {                  \
        int64_t best = 0;                                                                          \
        T top = LOAD(x[0]);                                                                        \
        if (IS_NAN(top)) return 0;                                                                 \
        for (int64_t i = 1; i < n; i++) {                                                          \
            T v = LOAD(x[i * stride]);                                                             \
            if (sign > 0 ? v > top : v < top) top = v, best = i;                                   \
            if (IS_NAN(v)) return i;                                                               \
        }                                                                                          \
        return best;                                                                               \
    }
#define NEVER_NAN(x) 0
BEST(u8, uint8_t, uint8_t, , NEVER_NAN)
BEST(i8, int8_t, int8_t, , NEVER_NAN)
BEST(i32, int32_t, int32_t, , NEVER_NAN)
BEST(i64, int64_t, int64_t, , NEVER_NAN)
BEST(f16, uint16_t, float, f16_to_f32, isnan)
BEST(bf16, uint16_t, float, bf16_to_f32, isnan)
BEST(f32, float, float, , isnan)
BEST(f64, double, double, , isnan)

static int64_t best_of(DType d, const void *x, int64_t stride, int64_t n, int sign) {
    switch (d) {
    case DT_I8: return best_i8(x, stride, n, sign);
    case DT_I32: return best_i32(x, stride, n, sign);
    case DT_I64: return best_i64(x, stride, n, sign);
    case DT_F16: return best_f16(x, stride, n, sign);
    case DT_BF16: return best_bf16(x, stride, n, sign);
    case DT_F32: return best_f32(x, stride, n, sign);
    case DT_F64: return best_f64(x, stride, n, sign);
    default: return best_u8(x, stride, n, sign);
    }
}

static void best_range(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const LineRun *r = ctx;
    for (int64_t i = begin; i < end; i++) {
        const void *x = view_at(r->x, loop_offset(&r->lines, 0, i));
        r->position[i] = best_of(r->dtype, x, r->in_stride, r->n, r->sign);
    }
}

static bool arg_reduce(Cpu *c, const Call *call, int sign, Err *err) {
    const View *x = &call->in[0];
    const Attr *axis = inst_attr(call->inst, ATTR_AXIS);
    int64_t *out = call->out[0].data;
    if (type_numel(&x->type) == 0) return true;
    if (axis) {
        LineRun r = {.position = out, .sign = sign};
        lines_init(&r, x, x, (int)axis->ints[0]);
        cpu_ranges(c, r.lines.n, cpu_part(r.n), best_range, &r);
        return true;
    }
    int64_t n = type_numel(&x->type);
    if (view_is_contiguous(x)) {
        *out = best_of((DType)x->type.dtype, x->data, 1, n, sign);
        return true;
    }
    void *side = cpu_side(c, call, n * view_size(x), err);
    if (!side) return false;
    cpu_copy(c, x, side);
    *out = best_of((DType)x->type.dtype, side, 1, n, sign);
    return true;
}
bool cpu_ARGMAX(Cpu *c, const Call *call, Err *err) { return arg_reduce(c, call, 1, err); }
bool cpu_ARGMIN(Cpu *c, const Call *call, Err *err) { return arg_reduce(c, call, -1, err); }

/* ---- Sorting ---- */

typedef struct Item {
    uint64_t key;
    int64_t position;
} Item;

uint64_t cpu_key(DType d, const void *p) {
    switch (d) {
    case DT_I8: return (uint8_t)(*(const uint8_t *)p ^ 0x80);
    case DT_F16:
    case DT_BF16: {
        uint16_t u = *(const uint16_t *)p;
        if ((u & 0x7fff) > (d == DT_F16 ? 0x7c00 : 0x7f80)) return UINT16_MAX;
        if (u == 0x8000) u = 0; /* -0 becomes 0 */
        return u >> 15 ? (uint16_t)~u : u | 0x8000u;
    }
    case DT_I32: return (uint32_t) * (const int32_t *)p ^ UINT32_C(0x80000000);
    case DT_I64: return (uint64_t) * (const int64_t *)p ^ UINT64_C(1) << 63;
    case DT_F32: {
        float f = *(const float *)p;
        if (isnan(f)) return UINT32_MAX;
        f += 0.0f; /* -0 becomes 0 */
        uint32_t u;
        memcpy(&u, &f, 4);
        return u >> 31 ? ~u : u | UINT32_C(0x80000000);
    }
    case DT_F64: {
        double f = *(const double *)p;
        if (isnan(f)) return UINT64_MAX;
        f += 0.0;
        uint64_t u;
        memcpy(&u, &f, 8);
        return u >> 63 ? ~u : u | UINT64_C(1) << 63;
    }
    default: return *(const uint8_t *)p;
    }
}

uint64_t cpu_key_nan(DType d) {
    return dtype_is_half(d)    ? UINT16_MAX
           : d == DT_F32       ? UINT32_MAX
           : dtype_is_float(d) ? UINT64_MAX
                               : 0;
}

static void insertion_sort(Item *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        Item v = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1].key > v.key; j--) a[j] = a[j - 1];
        a[j] = v;
    }
}

/* Sorts a by key, stably; the result is in a or in spare, and is returned. */
static Item *radix_sort(Item *a, Item *spare, int64_t n) {
    uint64_t differs = 0;
    for (int64_t i = 1; i < n; i++) differs |= a[i].key ^ a[0].key;
    for (int shift = 0; shift < 64; shift += 8) {
        if (!(differs >> shift & 255)) continue;
        int64_t at[256] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) at[a[i].key >> shift & 255]++;
        for (int d = 0; d < 256; d++) {
            int64_t count = at[d];
            at[d] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) spare[at[a[i].key >> shift & 255]++] = a[i];
        Item *t = a;
        a = spare;
        spare = t;
    }
    return a;
}

enum { FEW = 48 };
static void sort_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const LineRun *r = ctx;
    int size = view_size(r->x);
    Item *items = r->items + 2 * r->n * thread;
    for (int64_t line = begin; line < end; line++) {
        const char *x = view_at(r->x, loop_offset(&r->lines, 0, line));
        for (int64_t i = 0; i < r->n; i++) {
            uint64_t key = cpu_key(r->dtype, x + i * r->in_stride * size);
            items[i] = (Item){r->descends ? ~key : key, i};
        }
        Item *sorted = items;
        if (r->n < FEW)
            insertion_sort(items, r->n);
        else
            sorted = radix_sort(items, items + r->n, r->n);
        int64_t at = loop_offset(&r->lines, 1, line);
        for (int64_t i = 0; i < r->count; i++, at += r->out_stride) {
            const char *from = x + sorted[i].position * r->in_stride * size;
            if (r->out) memcpy(r->out + at * size, from, (size_t)size);
            if (r->position) r->position[at] = sorted[i].position;
        }
    }
}

/* The first `count` of each line in order: values to `value`, positions to `position`, or NULL. */
static bool in_order(Cpu *c, const Call *call, bool descends, int64_t count, const View *value,
                     const View *position, Err *err) {
    const View *x = &call->in[0];
    int axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0];
    if (type_numel(&x->type) == 0) return true;
    LineRun r = {.descends = descends};
    lines_init(&r, x, value ? value : position, axis);
    r.count = count < 0 ? r.n : count;
    r.out = value ? value->data : NULL;
    r.position = position ? position->data : NULL;
    int64_t part = cpu_part(r.n * 16), threads = (r.lines.n + part - 1) / part;
    if (threads > pool_threads(c->pool)) threads = pool_threads(c->pool);
    r.items = cpu_side(c, call, threads * 2 * r.n * (int64_t)sizeof *r.items, err);
    if (!r.items) return false;
    cpu_ranges(c, r.lines.n, part, sort_range, &r);
    return true;
}

bool cpu_SORT(Cpu *c, const Call *call, Err *err) {
    bool descends = inst_bool(call->inst, ATTR_DESCENDING, false);
    return in_order(c, call, descends, -1, &call->out[0], NULL, err);
}
bool cpu_ARGSORT(Cpu *c, const Call *call, Err *err) {
    bool descends = inst_bool(call->inst, ATTR_DESCENDING, false);
    return in_order(c, call, descends, -1, NULL, &call->out[0], err);
}
bool cpu_TOPK(Cpu *c, const Call *call, Err *err) {
    bool largest = inst_bool(call->inst, ATTR_LARGEST, true);
    return in_order(c, call, largest, inst_int(call->inst, ATTR_K, 0), &call->out[0], &call->out[1],
                    err);
}

/* ---- Running sums: one after the other along the axis; floats in double ---- */

#define CUMSUM(T, R, A)                                                                            \
    static void cumsum_##T(const T *x, int64_t in, R *out, int64_t step, int64_t n) {              \
        A sum = 0;                                                                                 \
        for (int64_t i = 0; i < n; i++) out[i * step] = (R)(sum += (A)x[i * in]);                  \
    }
CUMSUM(uint8_t, int64_t, uint64_t)
CUMSUM(int8_t, int64_t, uint64_t)
CUMSUM(int32_t, int64_t, uint64_t)
CUMSUM(int64_t, int64_t, uint64_t)
CUMSUM(float, float, double)
CUMSUM(double, double, double)

static void cumsum_range(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const LineRun *r = ctx;
    for (int64_t i = begin; i < end; i++) {
        const void *x = view_at(r->x, loop_offset(&r->lines, 0, i));
        int64_t at = loop_offset(&r->lines, 1, i), in = r->in_stride, out = r->out_stride;
        switch (r->dtype) {
        case DT_I8: cumsum_int8_t(x, in, (int64_t *)r->out + at, out, r->n); break;
        case DT_I32: cumsum_int32_t(x, in, (int64_t *)r->out + at, out, r->n); break;
        case DT_I64: cumsum_int64_t(x, in, (int64_t *)r->out + at, out, r->n); break;
        case DT_F32: cumsum_float(x, in, (float *)r->out + at, out, r->n); break;
        case DT_F64: cumsum_double(x, in, (double *)r->out + at, out, r->n); break;
        default: cumsum_uint8_t(x, in, (int64_t *)r->out + at, out, r->n);
        }
    }
}
bool cpu_CUMSUM(Cpu *c, const Call *call, Err *err) {
    (void)err;
    const View *x = &call->in[0];
    if (type_numel(&x->type) == 0) return true;
    LineRun r = {0};
    lines_init(&r, x, &call->out[0], (int)inst_attr(call->inst, ATTR_AXIS)->ints[0]);
    cpu_ranges(c, r.lines.n, cpu_part(r.n), cumsum_range, &r);
    return true;
}
