/* engine.c: engines by name, and strides of views.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/engine.h"

#include <stdio.h>
#include <string.h>

const EngineOps *engine_find(const char *name) {
    if (!strcmp(name, "reference") || !strcmp(name, "numpy")) return &engine_reference;
    if (!strcmp(name, "cpu") || !strcmp(name, "pytorch")) return &engine_cpu;
    if (!strcmp(name, "null")) return &engine_null;
    if (!strcmp(name, "late")) return &engine_late;
    if (!strcmp(name, "cuda")) return &engine_cuda;
    return NULL;
}

void view_strides(const TensorType *t, int64_t *stride) {
    int64_t step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= t->shape[i];
    }
}

View view_dense(const TensorType *t, void *data) {
    View v = {.type = *t, .data = data};
    view_strides(t, v.stride);
    return v;
}

bool view_is_contiguous(const View *v) {
    int64_t step = 1;
    for (int i = v->type.rank - 1; i >= 0; i--) {
        if (v->type.shape[i] == 0) return true;
        if (v->type.shape[i] != 1 && v->stride[i] != step) return false;
        step *= v->type.shape[i];
    }
    return true;
}

/* ---- An index out of range ---- */

/* Writes " at position 3" or " at position [0, 3]"; nothing for an index without axes. Axis `skip`
 * is left out if it has one element: gather(x, 1, y.unsqueeze(1)) reports positions of y. */
static void position_text(const View *idx, const int64_t *place, const int64_t *extent, int skip,
                          char *buf, size_t size) {
    int shown[MAX_DIMS], n = 0, used;
    for (int d = 0; d < idx->type.rank; d++)
        if (d != skip || extent[d] != 1) shown[n++] = d;
    buf[0] = 0;
    if (n == 0) return;
    used = snprintf(buf, size, n > 1 ? " at position [" : " at position ");
    for (int i = 0; i < n; i++)
        used += snprintf(buf + used, size - (size_t)used, i + 1 < n ? "%lld, " : "%lld",
                         (long long)place[shown[i]]);
    if (n > 1) snprintf(buf + used, size - (size_t)used, "]");
}

bool index_is_bad(const BadIndex *b, Err *err) {
    const View *idx = b->idx;
    int64_t place[MAX_DIMS], extent[MAX_DIMS], at = b->at, flat = 0;
    int shift = b->shape->rank - idx->type.rank;
    char position[32 * MAX_DIMS];
    for (int d = b->shape->rank - 1; d >= 0; d--) {
        int64_t n = b->shape->shape[d], own = d - shift;
        int64_t i = at % n;
        at /= n;
        if (own < 0) continue;
        bool is_part = idx->whole_size && idx->part_axis == own;
        extent[own] = is_part ? idx->whole_size : idx->type.shape[own];
        place[own] = (idx->type.shape[own] == 1 ? 0 : i) + (is_part ? idx->part_begin : 0);
    }
    for (int d = 0; d < idx->type.rank; d++) flat = flat * extent[d] + place[d];
    position_text(idx, place, extent, b->is_along ? b->axis : -1, position, sizeof position);
    err_set(err, ERR_INDEX, "index %lld%s is out of range for axis %d of size %lld",
            (long long)b->value, position, b->axis, (long long)b->size);
    if (err) err->at = flat;
    if (b->from_zero && b->value < 0 && b->value >= -b->size)
        err_hint(err, "negative indices count from the end only in x[idx]");
    return false;
}
