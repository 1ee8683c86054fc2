/* ref.h: shared by the files of the reference engine: plain access to elements of strided views.
 * The tests compare the other engines with this one: one element at a time, in double or int64,
 * without optimisation. It has its own definitions of the functions in ops.def (libm in double,
 * rounded once), independent of worker/kernel/prologue.h. Floats agree with other engines to the
 * tolerance of their dtype, everything else exactly.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_REF_REF_H
#define GT_WORKER_REF_REF_H
#include "runtime/inst/element.h"
#include "worker/engine/engine.h"

void ref_map(const Call *c); /* ref_map.c: MAP and REDUCE rows, from ops.def's expressions */
void ref_reduce(const Call *c);
void ref_source(const Call *c);            /* ref_source.c */
void ref_copy(const View *from, void *to); /* row-major */
/* ref_kernel.c, ref_index.c, ref_sort.c: one per KERNEL row. Only errors in the data, such as an
 * index out of range, can fail. */
#define KERNEL(id, ...) bool ref_##id(const Call *c, Err *err);
#include "runtime/inst/ops.def"

static inline void *ref_ptr(const View *v, int64_t offset) {
    return (char *)v->data + offset * dtype_info[v->type.dtype].size_bytes;
}
static inline bool ref_is_float(const View *v) { return dtype_is_float((DType)v->type.dtype); }

static inline int64_t ref_int(const View *v, int64_t offset) {
    return element_int(v->type.dtype, ref_ptr(v, offset));
}
/* Returns an element as double; ints too. */
static inline double ref_float(const View *v, int64_t offset) {
    return element_float(v->type.dtype, ref_ptr(v, offset));
}
/* Wraps to the dtype; bool is x != 0. */
static inline void ref_set_int(const View *v, int64_t offset, int64_t x) {
    element_set_int(v->type.dtype, ref_ptr(v, offset), x);
}
static inline int64_t ref_truncate(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}
static inline void ref_set_float(const View *v, int64_t offset, double x) {
    if (ref_is_float(v))
        element_set_float(v->type.dtype, ref_ptr(v, offset), x);
    else
        ref_set_int(v, offset, v->type.dtype == DT_BOOL ? x != 0 : ref_truncate(x));
}

/* Copies an element of `from` to `to`, converted to its dtype. */
static inline void ref_copy_element(const View *to, int64_t at, const View *from, int64_t i) {
    if (ref_is_float(from))
        ref_set_float(to, at, ref_float(from, i));
    else
        ref_set_int(to, at, ref_int(from, i));
}

/* A sum: in double, or of whole numbers wrapping in int64. */
typedef struct RefSum {
    double real;
    uint64_t whole;
} RefSum;
static inline void ref_sum_add(RefSum *s, const View *x, int64_t i) {
    if (ref_is_float(x))
        s->real += ref_float(x, i);
    else
        s->whole += (uint64_t)ref_int(x, i);
}
static inline void ref_sum_add_product(RefSum *s, const View *a, int64_t i, const View *b,
                                       int64_t j) {
    if (ref_is_float(a))
        s->real += ref_float(a, i) * ref_float(b, j);
    else
        s->whole += (uint64_t)ref_int(a, i) * (uint64_t)ref_int(b, j);
}
static inline void ref_set_sum(const View *v, int64_t offset, const RefSum *s) {
    if (ref_is_float(v))
        ref_set_float(v, offset, s->real);
    else
        ref_set_int(v, offset, (int64_t)s->whole);
}

static inline int ref_axis(const Call *c) { return (int)inst_attr(c->inst, ATTR_AXIS)->ints[0]; }

/* Returns the offset of the element at a row-major index of rank `rank`; the view broadcasts to
 * it. */
static inline int64_t ref_offset(const View *v, const int64_t *index, int rank) {
    int64_t offset = 0;
    for (int d = 0; d < v->type.rank; d++)
        if (v->type.shape[d] != 1) offset += v->stride[d] * index[rank - v->type.rank + d];
    return offset;
}
/* Steps an index through a shape in row-major order; false after the last. Starts from all zeros;
 * not for an empty shape. */
static inline bool ref_step(int64_t *index, const TensorType *t) {
    for (int d = t->rank - 1; d >= 0; d--) {
        if (++index[d] < t->shape[d]) return true;
        index[d] = 0;
    }
    return false;
}
static inline bool ref_is_empty(const TensorType *t) { return type_numel(t) == 0; }
#endif
