/* cpu_index.c: KERNEL rows that read or write at indices. All indices are resolved first, in
 * row-major order, so that the first bad one is reported, with any number of threads. Writes to one
 * element happen in the order of the indices: work is split by target element, never by source.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include "worker/kernel/prologue.h"
#include <string.h>

/* ---- Indices ---- */

/* out[i] = from[i], n elements of an integer dtype. */
static void widen(int64_t *out, const void *from, DType d, int64_t n) {
    for (int64_t i = 0; i < n; i++) switch (d) {
        case DT_I64: out[i] = ((const int64_t *)from)[i]; break;
        case DT_I32: out[i] = ((const int32_t *)from)[i]; break;
        case DT_I8: out[i] = ((const int8_t *)from)[i]; break;
        default: out[i] = ((const uint8_t *)from)[i];
        }
}

/* Returns the first of n indices that is not in [low, size), or n. */
static int64_t first_bad(const int64_t *v, int64_t n, int64_t low, int64_t size) {
    enum { STEP = 64 };
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        uint64_t is_bad = 0; /* its top bit */
        for (int k = 0; k < STEP; k++)
            is_bad |=
                ((uint64_t)v[i + k] - (uint64_t)low) | ((uint64_t)(size - 1) - (uint64_t)v[i + k]);
        if (is_bad >> 63) break;
    }
    while (i < n && v[i] >= low && v[i] < size) i++;
    return i;
}

/* Adds stride * index to offset[i] for each element of b->idx broadcast to b->shape, in row-major
 * order. b: all set but `at` and `value`. Returns false on a bad index, or if cancelled. */
static bool add_indices(Cpu *c, BadIndex *b, int64_t stride, int64_t *offset, Err *err) {
    const View *idx = b->idx;
    int64_t size = b->size, low = b->from_zero ? 0 : -size;
    Loop l;
    loop_init(&l, b->shape, (const View *const[]){idx}, 1);
    int64_t chunk[CPU_CHUNK], v[CPU_CHUNK];
    for (int64_t begin = 0; begin < l.n; begin += CPU_CHUNK) {
        int64_t n = l.n - begin < CPU_CHUNK ? l.n - begin : CPU_CHUNK;
        if (begin % POOL_AHEAD == POOL_AHEAD - CPU_CHUNK && pool_is_cancelled(c->pool, 0))
            return false;
        bool is_wide = idx->type.dtype == DT_I64;
        loop_gather(&l, 0, idx->data, view_size(idx), begin, begin + n, is_wide ? v : chunk);
        if (!is_wide) widen(v, chunk, (DType)idx->type.dtype, n);
        int64_t bad = first_bad(v, n, low, size);
        if (bad < n) {
            b->at = begin + bad, b->value = v[bad];
            return index_is_bad(b, err);
        }
        for (int64_t i = 0; i < n; i++)
            offset[begin + i] += (v[i] + (v[i] < 0 ? size : 0)) * stride;
    }
    return true;
}

/* Returns the index's own elements if they are the offsets: along an axis of stride 1, adjacent,
 * none of them negative or out of range. Else NULL. */
static const int64_t *plain_offsets(Cpu *c, const View *idx, const TensorType *shape, int64_t size,
                                    int64_t stride) {
    int64_t n = type_numel(shape);
    bool is_plain = idx->type.dtype == DT_I64 && stride == 1 && view_is_contiguous(idx) &&
                    type_numel(&idx->type) == n;
    for (int64_t i = 0, end; is_plain && (end = pool_ahead(c->pool, 0, i, n)) > i; i = end)
        is_plain = first_bad((const int64_t *)idx->data + i, end - i, 0, size) == end - i;
    return is_plain && !pool_is_cancelled(c->pool, 0) ? idx->data : NULL;
}

/* Returns a type like x's without the axes first .. last - 1. */
static TensorType axes_of(const TensorType *t, int first, int last) {
    TensorType r = {.dtype = t->dtype};
    for (int d = first; d < last; d++) r.shape[r.rank++] = t->shape[d];
    return r;
}
static View view_axes(const View *v, int first, int last) {
    View r = *v;
    r.type = axes_of(&v->type, first, last);
    memmove(r.stride, v->stride + first, sizeof(int64_t) * (size_t)r.type.rank);
    return r;
}
/* Returns view v with leading axes of one element added, up to rank `rank`. */
static View view_raised(const View *v, int rank) {
    View r = *v;
    int shift = rank - v->type.rank;
    for (int d = rank - 1; d >= 0; d--) {
        r.type.shape[d] = d < shift ? 1 : v->type.shape[d - shift];
        r.stride[d] = d < shift ? 0 : v->stride[d - shift];
    }
    r.type.rank = (uint8_t)rank;
    return r;
}

/* x[before, index, after]: for each element of `before`, runs of `after` elements at the offsets of
 * `index`. */
typedef struct IndexRun {
    Loop before, after;    /* operand 0: x or the output; operand 1: the values put */
    Loop common;           /* operand 0: the values put */
    const int64_t *offset; /* of the common axes: offsets in x or the output */
    int64_t n_common;
    const View *x;
    char *out;
    const View *value;
    int size;
    MapFn add; /* NULL: overwrite */
    Pool *pool;
} IndexRun;

/* Returns n zeros; NULL: no memory. */
static int64_t *offsets_new(Cpu *c, const Call *call, int64_t n, Err *err) {
    int64_t bytes = n * (int64_t)sizeof(int64_t), *offset = cpu_side(c, call, bytes, err);
    return offset ? memset(offset, 0, (size_t)bytes) : NULL;
}

/* Resolves the k index operands of x along axis, axis + 1, ...; NULL after an error. */
static const int64_t *resolve(Cpu *c, const Call *call, const View *x, const int64_t *stride,
                              const View *idx, int k, int axis, TensorType *common, Err *err) {
    *common = idx[0].type;
    for (int i = 1; i < k; i++) {
        TensorType before = *common;
        shape_broadcast(&before, &idx[i].type, common);
    }
    int64_t n = type_numel(common);
    const int64_t *plain =
        k > 1 ? NULL : plain_offsets(c, idx, common, x->type.shape[axis], stride[axis]);
    if (plain) return plain;
    int64_t *offset = offsets_new(c, call, n, err);
    if (!offset) return NULL;
    /* The indices of one element are checked from the left, and elements in order. */
    for (int i = 0; i < k; i++) {
        BadIndex b = {.idx = &idx[i],
                      .shape = common,
                      .axis = axis + i,
                      .size = x->type.shape[axis + i],
                      .from_zero = inst_bool(call->inst, ATTR_FROM_ZERO, false)};
        if (!add_indices(c, &b, stride[axis + i], offset, err)) return NULL;
    }
    return offset;
}

/* out[i] = x[offset[i]], i < n. */
static void take(void *out, const void *x, const int64_t *offset, int64_t n, int size) {
#define TAKE_LINE(T)                                                                               \
    for (int64_t i = 0; i < n; i++) ((T *)out)[i] = ((const T *)x)[offset[i]];
    switch (size) {
    case 1: TAKE_LINE(uint8_t) break;
    case 2: TAKE_LINE(uint16_t) break;
    case 4: TAKE_LINE(uint32_t) break;
    default: TAKE_LINE(uint64_t)
    }
}

static void index_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const IndexRun *r = ctx;
    int64_t run = r->after.n;
    const char *x = r->x->data;
    for (int64_t i = begin, n; run == 1 && i < end; i += n) { /* a line of indices at a time */
        n = r->n_common - i % r->n_common;
        if (n > end - i) n = end - i;
        int64_t line = loop_offset(&r->before, 0, i / r->n_common);
        take(r->out + i * r->size, x + line * r->size, r->offset + i % r->n_common, n, r->size);
    }
    for (int64_t i = begin; run != 1 && i < end; i++) {
        int64_t at = loop_offset(&r->before, 0, i / r->n_common) + r->offset[i % r->n_common];
        loop_gather(&r->after, 0, x + at * r->size, r->size, 0, run, r->out + i * run * r->size);
    }
}

bool cpu_INDEX(Cpu *c, const Call *call, Err *err) {
    const View *x = &call->in[0], *o = &call->out[0];
    int axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0], k = call->n_in - 1;
    if (type_numel(&o->type) == 0) return true;
    TensorType common;
    IndexRun r = {.x = x, .out = o->data, .size = view_size(x)};
    r.offset = resolve(c, call, x, x->stride, call->in + 1, k, axis, &common, err);
    if (!r.offset) return false;
    r.n_common = type_numel(&common);
    View before = view_axes(x, 0, axis), after = view_axes(x, axis + k, x->type.rank);
    loop_init(&r.before, &before.type, (const View *const[]){&before}, 1);
    loop_init(&r.after, &after.type, (const View *const[]){&after}, 1);
    cpu_ranges(c, r.before.n * r.n_common, cpu_part(r.after.n), index_range, &r);
    return true;
}

/* An item is (element of before, strip of after): disjoint in the output. */
enum { PUT_STRIP = 1024, PUT_POLLS = 4096 };
static void put_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const IndexRun *r = ctx;
    int64_t strips = (r->after.n + PUT_STRIP - 1) / PUT_STRIP;
    int64_t step = r->after.rank ? r->after.stride[1][r->after.rank - 1] : 0;
    bool is_line = r->after.rank <= 1 && (step == 0 || step == 1);
    uint64_t buffer[PUT_STRIP];
    for (int64_t t = begin; t < end; t++) {
        int64_t b = t / strips, first = t % strips * PUT_STRIP, n = r->after.n - first;
        if (n > PUT_STRIP) n = PUT_STRIP;
        char *out = r->out + (loop_offset(&r->before, 0, b) + first) * r->size;
        const char *value = (char *)r->value->data + loop_offset(&r->before, 1, b) * r->size;
        for (int64_t i = 0; i < r->n_common; i++) {
            if (i % PUT_POLLS == PUT_POLLS - 1 && pool_is_cancelled(r->pool, thread)) return;
            const char *from = value + loop_offset(&r->common, 0, i) * r->size;
            char *to = out + r->offset[i] * r->size;
            if (is_line) {
                from += first * step * r->size;
            } else {
                loop_gather(&r->after, 1, from, r->size, first, first + n, buffer);
                from = (const char *)buffer;
            }
            bool is_one = is_line && step == 0 && n > 1;
            if (r->add)
                r->add(n, to, (const void *const[]){to, from}, is_one ? 2 : 0);
            else if (is_one)
                copy_filled(to, from, n, r->size);
            else
                memcpy(to, from, (size_t)(n * r->size));
        }
    }
}

bool cpu_INDEX_PUT(Cpu *c, const Call *call, Err *err) {
    const View *x = &call->in[0], *o = &call->out[0];
    int axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0], k = call->n_in - 2;
    cpu_copy(c, x, o->data);
    IndexRun r = {.out = o->data, .size = view_size(o), .pool = c->pool};
    if (inst_bool(call->inst, ATTR_ACCUMULATE, false))
        r.add = c->kernels->map[OP_ADD][o->type.dtype];
    int64_t stride[MAX_DIMS];
    view_strides(&o->type, stride);
    TensorType common;
    View before = view_axes(o, 0, axis), after = view_axes(o, axis + k, o->type.rank);
    if (type_numel(&before.type) == 0 || type_numel(&after.type) == 0) return true;
    memcpy(before.stride, stride, sizeof(int64_t) * (size_t)axis);
    view_strides(&after.type, after.stride);
    r.offset = resolve(c, call, o, stride, call->in + 2, k, axis, &common, err);
    if (!r.offset) return false;
    r.n_common = type_numel(&common);
    int at = before.type.rank, rank = at + common.rank + after.type.rank;
    View v = view_raised(&call->in[1], rank);
    View v_before = view_axes(&v, 0, at), v_common = view_axes(&v, at, at + common.rank);
    View v_after = view_axes(&v, at + common.rank, rank);
    r.value = &v;
    loop_init(&r.before, &before.type, (const View *const[]){&before, &v_before}, 2);
    loop_init(&r.after, &after.type, (const View *const[]){&after, &v_after}, 2);
    loop_init(&r.common, &common, (const View *const[]){&v_common}, 1);
    if (r.n_common > 0) {
        int64_t strips = (r.after.n + PUT_STRIP - 1) / PUT_STRIP;
        int64_t cost = (r.after.n < PUT_STRIP ? r.after.n : PUT_STRIP) * r.n_common;
        cpu_ranges(c, r.before.n * strips, cpu_part(cost), put_range, &r);
    }
    return true;
}

/* ---- Along one axis ---- */

/* Shape (outer, A, inner) of idx around the axis; x and src have their own strides. */
typedef struct AlongRun {
    Loop outer, inner; /* operand 0: x or the output; 1: src */
    int64_t A;
    const int64_t *offset; /* (outer, A, inner): the index's part of the offset */
    const View *x, *src;
    int64_t src_stride; /* along the axis */
    char *out;
    int size;
    DType dtype;
    Op how; /* scatters: add, mul, maximum or minimum */
    Pool *pool;
} AlongRun;

/* Returns the offset of inner element i; usually a product. */
static int64_t inner_offset(const Loop *l, int operand, int64_t i) {
    return l->rank == 1 ? i * l->stride[operand][0] : loop_offset(l, operand, i);
}

static void gather_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const AlongRun *r = ctx;
    for (int64_t t = begin, n; r->inner.n == 1 && t < end; t += n) { /* a line of A at a time */
        n = r->A - t % r->A;
        if (n > end - t) n = end - t;
        const char *x = (char *)r->x->data + loop_offset(&r->outer, 0, t / r->A) * r->size;
        take(r->out + t * r->size, x, r->offset + t, n, r->size);
    }
    if (r->inner.n == 1) return;
    for (int64_t t = begin; t < end; t++) { /* t: (outer, A) */
        const char *x = (char *)r->x->data + loop_offset(&r->outer, 0, t / r->A) * r->size;
        const int64_t *offset = r->offset + t * r->inner.n;
        char *out = r->out + t * r->inner.n * r->size;
        for (int64_t i = 0; i < r->inner.n; i++) {
            const char *from = x + (offset[i] + inner_offset(&r->inner, 0, i)) * r->size;
            switch (r->size) {
            case 1: out[i] = *from; break;
            case 2: ((uint16_t *)out)[i] = *(const uint16_t *)from; break;
            case 4: ((uint32_t *)out)[i] = *(const uint32_t *)from; break;
            default: ((uint64_t *)out)[i] = *(const uint64_t *)from;
            }
        }
    }
}

/* Fills everything but the strides of src. `x` is read or written; the shape is idx's. */
static bool along_init(AlongRun *r, Cpu *c, const Call *call, const View *x, const View *src,
                       int axis, Err *err) {
    const View *idx = &call->in[1];
    int rank = x->type.rank;
    int64_t n = type_numel(&idx->type);
    r->offset = plain_offsets(c, idx, &idx->type, x->type.shape[axis], x->stride[axis]);
    int64_t *offset = r->offset ? NULL : offsets_new(c, call, n, err);
    BadIndex bad = {.idx = idx,
                    .shape = &idx->type,
                    .axis = axis,
                    .size = x->type.shape[axis],
                    .from_zero = true,
                    .is_along = true};
    if (!r->offset) {
        if (!offset || !add_indices(c, &bad, x->stride[axis], offset, err)) return false;
        r->offset = offset;
    }
    r->A = idx->type.shape[axis];
    r->x = x, r->src = src, r->size = view_size(x), r->dtype = (DType)x->type.dtype;
    View a = *x, b = src ? *src : *x; /* cropped to idx's shape: src may be longer */
    for (int d = 0; d < rank; d++) a.type.shape[d] = b.type.shape[d] = idx->type.shape[d];
    r->src_stride = b.stride[axis];
    View ao = view_axes(&a, 0, axis), bo = view_axes(&b, 0, axis);
    View ai = view_axes(&a, axis + 1, rank), bi = view_axes(&b, axis + 1, rank);
    loop_init(&r->outer, &ao.type, (const View *const[]){&ao, &bo}, 2);
    loop_init(&r->inner, &ai.type, (const View *const[]){&ai, &bi}, 2);
    return true;
}

bool cpu_GATHER(Cpu *c, const Call *call, Err *err) {
    int axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0];
    if (type_numel(&call->out[0].type) == 0) return true;
    AlongRun r = {.out = call->out[0].data};
    if (!along_init(&r, c, call, &call->in[0], NULL, axis, err)) return false;
    cpu_ranges(c, r.outer.n * r.A, cpu_part(r.inner.n), gather_range, &r);
    return true;
}

enum { ALONG_POLLS = 4096, SCATTER_STRIP = 256 };
/* Combines elements first .. last-1 with each of the axis's A, in order, by F(old value, new
 * one). */
#define MEET_ALL(T, F)                                                                             \
    if (r->inner.n == 1) {                                                                         \
        const int64_t *offset = r->offset + outer * r->A, step = r->src_stride;                    \
        for (int64_t a = 0, end; (end = pool_ahead(r->pool, thread, a, r->A)) > a;)                \
            for (; a < end; a++) o[offset[a]] = F(o[offset[a]], src[a * step]);                    \
        return;                                                                                    \
    }                                                                                              \
    for (int64_t a = 0; a < r->A; a++) {                                                           \
        if (a % ALONG_POLLS == ALONG_POLLS - 1 && pool_is_cancelled(r->pool, thread)) return;      \
        const int64_t *offset = r->offset + (outer * r->A + a) * r->inner.n;                       \
        for (int64_t i = first; i < last; i++) {                                                   \
            T *to = o + offset[i] + inner_offset(&r->inner, 0, i);                                 \
            *to = F(*to, src[a * r->src_stride + inner_offset(&r->inner, 1, i)]);                  \
        }                                                                                          \
    }
#define MEET(ID, S, T, ...)                                                                        \
    static void combine_##S(const AlongRun *r, int64_t outer, int64_t first, int64_t last,         \
                            int thread) {                                                          \
        T *o = (T *)r->out + loop_offset(&r->outer, 0, outer);                                     \
        const T *src = (const T *)r->src->data + loop_offset(&r->outer, 1, outer);                 \
        if (r->how == OP_ADD) {                                                                    \
            MEET_ALL(T, S##_add)                                                                   \
        } else if (r->how == OP_MUL) {                                                             \
            MEET_ALL(T, S##_mul)                                                                   \
        } else if (r->how == OP_MAXIMUM) {                                                         \
            MEET_ALL(T, S##_max)                                                                   \
        } else {                                                                                   \
            MEET_ALL(T, S##_min)                                                                   \
        }                                                                                          \
    }
CPU_DTYPES(MEET)

static void combine_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const AlongRun *r = ctx;
    int64_t strips = (r->inner.n + SCATTER_STRIP - 1) / SCATTER_STRIP;
    for (int64_t t = begin; t < end; t++) {
        int64_t outer = t / strips, first = t % strips * SCATTER_STRIP;
        int64_t last = first + SCATTER_STRIP < r->inner.n ? first + SCATTER_STRIP : r->inner.n;
        switch (r->dtype) {
#define CASE(ID, S, ...)                                                                           \
    case DT_##ID: combine_##S(r, outer, first, last, thread); break;
            CPU_DTYPES(CASE)
#undef CASE
        default: panic("scatter of %s", dtype_info[r->dtype].name);
        }
    }
}

/* cost: of one element. */
static bool scatter(Cpu *c, const Call *call, Op how, int64_t cost, Err *err) {
    int axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0];
    View o = call->out[0];
    view_strides(&o.type, o.stride);
    cpu_copy(c, &call->in[0], o.data);
    if (type_numel(&call->in[1].type) == 0) return true;
    AlongRun r = {.out = o.data, .how = how, .pool = c->pool};
    if (!along_init(&r, c, call, &o, &call->in[2], axis, err)) return false;
    int64_t strips = (r.inner.n + SCATTER_STRIP - 1) / SCATTER_STRIP;
    cost *= r.A * (r.inner.n < SCATTER_STRIP ? r.inner.n : SCATTER_STRIP);
    cpu_ranges(c, r.outer.n * strips, cpu_part(cost), combine_range, &r);
    return true;
}

bool cpu_SCATTER_ADD(Cpu *c, const Call *call, Err *err) {
    return scatter(c, call, OP_ADD, 1, err);
}
bool cpu_SCATTER_REDUCE(Cpu *c, const Call *call, Err *err) {
    const char *how = inst_attr(call->inst, ATTR_REDUCE)->str;
    Op op = how[0] == 'p' ? OP_MUL : how[2] == 'a' ? OP_MAXIMUM : OP_MINIMUM;
    return scatter(c, call, op, 4, err);
}
