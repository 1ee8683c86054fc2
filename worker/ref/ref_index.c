/* ref_index.c: KERNEL rows of the reference engine that read or write at indices. An index
 * outside its axis is the one mistake of the user that only the data shows; it is reported with
 * its value, axis and size.
 * SPDX-License-Identifier: MIT */
#include "worker/ref/ref.h"

#include <string.h>

/* An index from the end counts back. */
static bool resolve(int64_t *i, int64_t size, int axis, Err *err) {
    if (*i < -size || *i >= size)
        return err_set(err, ERR_INDEX, "index %lld is out of range for axis %d of size %lld",
                       (long long)*i, axis, (long long)size);
    if (*i < 0) *i += size;
    return true;
}

/* Adds v[from] to, or writes it over, o[at]. */
static void put(const View *o, int64_t at, const View *v, int64_t from, bool adds) {
    if (ref_is_float(o))
        ref_set_float(o, at, ref_float(v, from) + (adds ? ref_float(o, at) : 0));
    else
        ref_set_int(o, at,
                    (int64_t)((uint64_t)ref_int(v, from) + (adds ? (uint64_t)ref_int(o, at) : 0)));
}

/* Offset in x of the element that `index` names in x[..., idx, ...]: axes before `axis` and
 * after the k indexed ones are x's own, between them lie the indices' common axes. */
static bool indexed(const View *x, const View *idx, int k, int axis, const int64_t *index, int rank,
                    int64_t *offset, Err *err) {
    int common = rank - (x->type.rank - k);
    *offset = 0;
    for (int d = 0; d < axis; d++) *offset += x->stride[d] * index[d];
    for (int i = 0; i < k; i++) {
        int64_t at = ref_int(&idx[i], ref_offset(&idx[i], index + axis, common));
        TRY(resolve(&at, x->type.shape[axis + i], axis + i, err));
        *offset += x->stride[axis + i] * at;
    }
    for (int d = axis + k; d < x->type.rank; d++) *offset += x->stride[d] * index[d - k + common];
    return true;
}

bool ref_INDEX(const Call *c, Err *err) {
    const View *x = &c->in[0], *o = &c->out[0];
    int axis = (int)inst_attr(c->inst, ATTR_AXIS)->ints[0];
    if (ref_is_empty(&o->type)) return true;
    int64_t index[MAX_DIMS] = {0}, at = 0, from;
    do {
        TRY(indexed(x, c->in + 1, c->n_in - 1, axis, index, o->type.rank, &from, err));
        put(o, at++, x, from, false);
    } while (ref_step(index, &o->type));
    return true;
}

/* Type of x[..., idx, ...], as shape.c has it. */
static TensorType indexed_type(const View *x, const View *idx, int k, int axis) {
    TensorType b = idx[0].type, r = {.dtype = x->type.dtype};
    for (int i = 1; i < k; i++) {
        TensorType before = b;
        shape_broadcast(&before, &idx[i].type, &b);
    }
    for (int d = 0; d < axis; d++) r.shape[r.rank++] = x->type.shape[d];
    for (int d = 0; d < b.rank; d++) r.shape[r.rank++] = b.shape[d];
    for (int d = axis + k; d < x->type.rank; d++) r.shape[r.rank++] = x->type.shape[d];
    return r;
}

bool ref_INDEX_PUT(const Call *c, Err *err) {
    const View *x = &c->in[0], *v = &c->in[1], *o = &c->out[0];
    int axis = (int)inst_attr(c->inst, ATTR_AXIS)->ints[0], k = c->n_in - 2;
    bool adds = inst_bool(c->inst, ATTR_ACCUMULATE, false);
    ref_copy(x, o->data);
    TensorType part = indexed_type(x, c->in + 2, k, axis);
    if (ref_is_empty(&part)) return true;
    int64_t index[MAX_DIMS] = {0}, at;
    do {
        TRY(indexed(o, c->in + 2, k, axis, index, part.rank, &at, err));
        put(o, at, v, ref_offset(v, index, part.rank), adds);
    } while (ref_step(index, &part));
    return true;
}

/* Offset in x of index, with the entry along axis replaced by idx's element there. */
static bool along(const View *x, const View *idx, int axis, const int64_t *index, int64_t *offset,
                  Err *err) {
    int64_t i = ref_int(idx, ref_offset(idx, index, idx->type.rank));
    TRY(resolve(&i, x->type.shape[axis], axis, err));
    *offset = 0;
    for (int d = 0; d < x->type.rank; d++) *offset += x->stride[d] * (d == axis ? i : index[d]);
    return true;
}

bool ref_GATHER(const Call *c, Err *err) {
    const View *x = &c->in[0], *o = &c->out[0];
    int axis = (int)inst_attr(c->inst, ATTR_AXIS)->ints[0];
    if (ref_is_empty(&o->type)) return true;
    int64_t index[MAX_DIMS] = {0}, at = 0, from;
    do {
        TRY(along(x, &c->in[1], axis, index, &from, err));
        put(o, at++, x, from, false);
    } while (ref_step(index, &o->type));
    return true;
}

bool ref_SCATTER_ADD(const Call *c, Err *err) {
    const View *idx = &c->in[1], *src = &c->in[2], *o = &c->out[0];
    int axis = (int)inst_attr(c->inst, ATTR_AXIS)->ints[0];
    ref_copy(&c->in[0], o->data);
    if (ref_is_empty(&idx->type)) return true;
    int64_t index[MAX_DIMS] = {0}, at;
    do {
        TRY(along(o, idx, axis, index, &at, err));
        int64_t from = 0; /* src may be longer than idx: no broadcasting here */
        for (int d = 0; d < src->type.rank; d++) from += src->stride[d] * index[d];
        put(o, at, src, from, true);
    } while (ref_step(index, &idx->type));
    return true;
}

/* What becomes of o[at] when v[from] meets it there. */
static void meet(const View *o, int64_t at, const View *v, int64_t from, const char *how) {
    if (ref_is_float(o)) {
        double x = ref_float(o, at), y = ref_float(v, from);
        bool y_wins = y != y || (!strcmp(how, "amax") ? y > x : y < x);
        ref_set_float(o, at, how[0] == 'p' ? x * y : x == x && y_wins ? y : x);
    } else {
        int64_t x = ref_int(o, at), y = ref_int(v, from);
        bool y_wins = !strcmp(how, "amax") ? y > x : y < x;
        ref_set_int(o, at, how[0] == 'p' ? (int64_t)((uint64_t)x * (uint64_t)y) : y_wins ? y : x);
    }
}

bool ref_SCATTER_REDUCE(const Call *c, Err *err) {
    const View *idx = &c->in[1], *src = &c->in[2], *o = &c->out[0];
    int axis = (int)inst_attr(c->inst, ATTR_AXIS)->ints[0];
    char how[5] = {0};
    memcpy(how, inst_attr(c->inst, ATTR_REDUCE)->str, 4);
    ref_copy(&c->in[0], o->data);
    if (ref_is_empty(&idx->type)) return true;
    int64_t index[MAX_DIMS] = {0}, at;
    do {
        TRY(along(o, idx, axis, index, &at, err));
        int64_t from = 0;
        for (int d = 0; d < src->type.rank; d++) from += src->stride[d] * index[d];
        meet(o, at, src, from, how);
    } while (ref_step(index, &idx->type));
    return true;
}
