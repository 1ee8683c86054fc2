/* ref_index.c: KERNEL rows of the reference engine that read or write at indices. An index outside
 * its axis is the one user error that only the data reveal; the message has its value, axis and
 * size.
 * SPDX-License-Identifier: MIT */
#include "worker/ref/ref.h"

#include <string.h>

/* Reads the index for element `index` of the indices' common shape into v, as 0 .. size - 1; a
 * negative one counts from the end, unless from_zero is set. b: all set but `at` and `value`.
 * Returns false, with err set, if it is out of range. */
static bool resolve(BadIndex *b, const int64_t *index, int64_t *v, Err *err) {
    *v = ref_int(b->idx, ref_offset(b->idx, index, b->shape->rank));
    if (*v >= (b->from_zero ? 0 : -b->size) && *v < b->size) {
        if (*v < 0) *v += b->size;
        return true;
    }
    b->value = *v;
    for (int d = 0; d < b->shape->rank; d++) b->at = b->at * b->shape->shape[d] + index[d];
    return index_is_bad(b, err);
}

/* Adds v[from] to o[at], or overwrites it. */
static void put(const View *o, int64_t at, const View *v, int64_t from, bool adds) {
    if (ref_is_float(o))
        ref_set_float(o, at, ref_float(v, from) + (adds ? ref_float(o, at) : 0));
    else
        ref_set_int(o, at,
                    (int64_t)((uint64_t)ref_int(v, from) + (adds ? (uint64_t)ref_int(o, at) : 0)));
}

/* The common shape of k indices. */
static TensorType common_type(const View *idx, int k) {
    TensorType b = idx[0].type;
    for (int i = 1; i < k; i++) {
        TensorType before = b;
        shape_broadcast(&before, &idx[i].type, &b);
    }
    return b;
}

/* Writes the offset in x of element `index` of x[..., idx, ...]: axes before `axis` and after the k
 * indexed ones are x's own, those between are the indices' common axes. */
static bool indexed(const Call *c, const View *x, const View *idx, int k, const TensorType *common,
                    const int64_t *index, int64_t *offset, Err *err) {
    int axis = ref_axis(c);
    *offset = 0;
    for (int d = 0; d < axis; d++) *offset += x->stride[d] * index[d];
    for (int i = 0; i < k; i++) {
        int64_t at;
        BadIndex b = {.idx = &idx[i],
                      .shape = common,
                      .axis = axis + i,
                      .size = x->type.shape[axis + i],
                      .from_zero = inst_bool(c->inst, ATTR_FROM_ZERO, false)};
        TRY(resolve(&b, index + axis, &at, err));
        *offset += x->stride[axis + i] * at;
    }
    for (int d = axis + k; d < x->type.rank; d++)
        *offset += x->stride[d] * index[d - k + common->rank];
    return true;
}

bool ref_INDEX(const Call *c, Err *err) {
    const View *x = &c->in[0], *o = &c->out[0];
    if (ref_is_empty(&o->type)) return true;
    TensorType common = common_type(c->in + 1, c->n_in - 1);
    int64_t index[MAX_DIMS] = {0}, at = 0, from;
    do {
        TRY(indexed(c, x, c->in + 1, c->n_in - 1, &common, index, &from, err));
        put(o, at++, x, from, false);
    } while (ref_step(index, &o->type));
    return true;
}

/* Type of x[..., idx, ...], as shape.c has it. */
static TensorType indexed_type(const View *x, const TensorType *common, int k, int axis) {
    TensorType r = {.dtype = x->type.dtype};
    for (int d = 0; d < axis; d++) r.shape[r.rank++] = x->type.shape[d];
    for (int d = 0; d < common->rank; d++) r.shape[r.rank++] = common->shape[d];
    for (int d = axis + k; d < x->type.rank; d++) r.shape[r.rank++] = x->type.shape[d];
    return r;
}

bool ref_INDEX_PUT(const Call *c, Err *err) {
    const View *x = &c->in[0], *v = &c->in[1], *o = &c->out[0];
    int axis = ref_axis(c), k = c->n_in - 2;
    bool adds = inst_bool(c->inst, ATTR_ACCUMULATE, false);
    ref_copy(x, o->data);
    TensorType common = common_type(c->in + 2, k), part = indexed_type(x, &common, k, axis);
    if (ref_is_empty(&part)) return true;
    int64_t index[MAX_DIMS] = {0}, at;
    do {
        TRY(indexed(c, o, c->in + 2, k, &common, index, &at, err));
        put(o, at, v, ref_offset(v, index, part.rank), adds);
    } while (ref_step(index, &part));
    return true;
}

/* Writes the offset in x of `index` with the entry along axis replaced by idx's element there. */
static bool along(const View *x, const View *idx, int axis, const int64_t *index, int64_t *offset,
                  Err *err) {
    int64_t i;
    BadIndex b = {.idx = idx,
                  .shape = &idx->type,
                  .axis = axis,
                  .size = x->type.shape[axis],
                  .from_zero = true,
                  .is_along = true};
    TRY(resolve(&b, index, &i, err));
    *offset = 0;
    for (int d = 0; d < x->type.rank; d++) *offset += x->stride[d] * (d == axis ? i : index[d]);
    return true;
}

bool ref_GATHER(const Call *c, Err *err) {
    const View *x = &c->in[0], *o = &c->out[0];
    int axis = ref_axis(c);
    if (ref_is_empty(&o->type)) return true;
    int64_t index[MAX_DIMS] = {0}, at = 0, from;
    do {
        TRY(along(x, &c->in[1], axis, index, &from, err));
        put(o, at++, x, from, false);
    } while (ref_step(index, &o->type));
    return true;
}

/* Combines v[from] into o[at]. */
static void combine(const View *o, int64_t at, const View *v, int64_t from, const char *how) {
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

/* how NULL: adds. */
static bool scatter(const Call *c, const char *how, Err *err) {
    const View *idx = &c->in[1], *src = &c->in[2], *o = &c->out[0];
    int axis = ref_axis(c);
    ref_copy(&c->in[0], o->data);
    if (ref_is_empty(&idx->type)) return true;
    int64_t index[MAX_DIMS] = {0}, at;
    do {
        TRY(along(o, idx, axis, index, &at, err));
        int64_t from = 0; /* src may be longer than idx, so it does not broadcast */
        for (int d = 0; d < src->type.rank; d++) from += src->stride[d] * index[d];
        if (how)
            combine(o, at, src, from, how);
        else
            put(o, at, src, from, true);
    } while (ref_step(index, &idx->type));
    return true;
}
bool ref_SCATTER_ADD(const Call *c, Err *err) { return scatter(c, NULL, err); }
bool ref_SCATTER_REDUCE(const Call *c, Err *err) {
    char how[5] = {0};
    memcpy(how, inst_attr(c->inst, ATTR_REDUCE)->str, 4);
    return scatter(c, how, err);
}
