/* ref_kernel.c: KERNEL rows of the reference engine that move, convert or multiply: cast,
 * matmul, cat, slice_put.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/view.h"
#include "worker/ref/ref.h"

#include <string.h>

void ref_copy(const View *from, void *to) {
    if (ref_is_empty(&from->type)) return;
    size_t size = (size_t)dtype_info[from->type.dtype].size_bytes;
    int64_t index[MAX_DIMS] = {0};
    char *p = to;
    do {
        memcpy(p, ref_ptr(from, ref_offset(from, index, from->type.rank)), size);
        p += size;
    } while (ref_step(index, &from->type));
}

bool ref_CAST(const Call *c, Err *err) {
    const View *x = &c->in[0], *o = &c->out[0];
    if (ref_is_empty(&o->type)) return true;
    int64_t index[MAX_DIMS] = {0}, at = 0;
    do {
        int64_t from = ref_offset(x, index, x->type.rank);
        ref_copy_element(o, at++, x, from);
    } while (ref_step(index, &o->type));
    return true;
}

/* An operand as a stack of matrices: a vector is a row on the left, a column on the right. */
typedef struct Factor {
    View batch;
    int64_t row_step, col_step;
} Factor;
static Factor factor(const View *v, bool is_left) {
    Factor f = {.batch = *v};
    int rank = v->type.rank;
    if (rank == 1) {
        f.batch.type.rank = 0;
        if (is_left)
            f.col_step = v->stride[0];
        else
            f.row_step = v->stride[0];
        return f;
    }
    f.batch.type.rank = (uint8_t)(rank - 2);
    f.row_step = v->stride[rank - 2];
    f.col_step = v->stride[rank - 1];
    return f;
}

/* out (..., M, N) = a (..., M, K) @ b (..., K, N), summed in double, or wrapping in int64. */
static void multiply(const Call *c) {
    const View *a = &c->in[0], *b = &c->in[1], *o = &c->out[0];
    bool has_M = a->type.rank > 1, has_N = b->type.rank > 1;
    int64_t K = a->type.shape[a->type.rank - 1];
    Factor fa = factor(a, true), fb = factor(b, false);
    int batch_rank = o->type.rank - has_M - has_N;
    if (ref_is_empty(&o->type)) return;
    int64_t index[MAX_DIMS] = {0}, at = 0;
    do {
        int64_t m = has_M ? index[batch_rank] : 0, n = has_N ? index[o->type.rank - 1] : 0;
        int64_t at_a = ref_offset(&fa.batch, index, batch_rank) + m * fa.row_step;
        int64_t at_b = ref_offset(&fb.batch, index, batch_rank) + n * fb.col_step;
        RefSum sum = {0};
        for (int64_t k = 0; k < K; k++)
            ref_sum_add_product(&sum, a, at_a + k * fa.col_step, b, at_b + k * fb.row_step);
        ref_set_sum(o, at++, &sum);
    } while (ref_step(index, &o->type));
}

bool ref_MATMUL(const Call *c, Err *err) {
    const Attr *nodes = inst_attr(c->inst, ATTR_NODES);
    if (!nodes) multiply(c);
    for (uint32_t k = 0; nodes && k < nodes->n; k++) {
        Call one = *c;
        View in[2];
        view_of_node(c, nodes, k, in, &one.out[0]);
        one.in = in;
        multiply(&one);
    }
    return true;
}

/* Returns a view of the part of a row-major tensor that starts at `start` with steps `step`. */
static View part_of(const View *o, const TensorType *part, const int64_t *start,
                    const int64_t *step) {
    View v = {.type = *part};
    int64_t at = 0;
    for (int d = 0; d < part->rank; d++) {
        at += start[d] * o->stride[d];
        v.stride[d] = o->stride[d] * step[d];
    }
    v.data = ref_ptr(o, at);
    return v;
}

/* Writes `from`, broadcast, to every element of the view. */
static void fill(const View *to, const View *from) {
    if (ref_is_empty(&to->type)) return;
    size_t size = (size_t)dtype_info[to->type.dtype].size_bytes;
    int64_t index[MAX_DIMS] = {0};
    do {
        memcpy(ref_ptr(to, ref_offset(to, index, to->type.rank)),
               ref_ptr(from, ref_offset(from, index, to->type.rank)), size);
    } while (ref_step(index, &to->type));
}

bool ref_CAT(const Call *c, Err *err) {
    static const int64_t ones[MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    int axis = ref_axis(c);
    int64_t start[MAX_DIMS] = {0};
    for (int i = 0; i < c->n_in; i++) {
        if (!ref_is_empty(&c->in[i].type)) {
            View part = part_of(&c->out[0], &c->in[i].type, start, ones);
            fill(&part, &c->in[i]);
        }
        start[axis] += c->in[i].type.shape[axis];
    }
    return true;
}

bool ref_SLICE_PUT(const Call *c, Err *err) {
    const View *o = &c->out[0];
    ref_copy(&c->in[0], o->data);
    TensorType part = o->type;
    const int64_t *size = inst_attr(c->inst, ATTR_SIZE)->ints;
    for (int d = 0; d < part.rank; d++) part.shape[d] = size[d];
    if (ref_is_empty(&part)) return true;
    View to = part_of(o, &part, inst_attr(c->inst, ATTR_START)->ints,
                      inst_attr(c->inst, ATTR_STEP)->ints);
    fill(&to, &c->in[1]);
    return true;
}
