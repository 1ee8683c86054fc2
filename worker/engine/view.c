/* view.c: see view.h. The stride of an axis of one element has no meaning and is never used.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/view.h"

static void expand(const View *from, const TensorType *to, View *out) {
    int shift = to->rank - from->type.rank;
    for (int i = 0; i < to->rank; i++) {
        bool repeats = i < shift || from->type.shape[i - shift] == 1;
        out->stride[i] = repeats ? 0 : from->stride[i - shift];
    }
}

static void permute(const Inst *inst, const View *from, const TensorType *to, View *out) {
    const int64_t *axes = inst_attr(inst, ATTR_AXES)->ints;
    for (int i = 0; i < to->rank; i++) out->stride[i] = from->stride[axes[i]];
}

static void slice(const Inst *inst, const View *from, const TensorType *to, View *out) {
    const int64_t *start = inst_attr(inst, ATTR_START)->ints;
    const int64_t *step = inst_attr(inst, ATTR_STEP)->ints;
    int64_t offset = 0;
    bool is_empty = false;
    for (int i = 0; i < to->rank; i++) {
        /* A step is bounded only if the axis has two elements. */
        out->stride[i] = to->shape[i] > 1 ? from->stride[i] * step[i] : from->stride[i];
        is_empty |= to->shape[i] == 0;
        if (!is_empty) offset += start[i] * from->stride[i];
    }
    if (!is_empty) out->data = (char *)from->data + offset * dtype_info[to->dtype].size_bytes;
}

/* Walks both shapes from the left in groups of equal products. If the operand's elements in a group
 * are at one constant distance, the new axes of the group have strides. */
static bool view_reshape(const View *from, const TensorType *to, View *out) {
    out->data = from->data;
    if (type_numel(to) == 0 || view_is_contiguous(from)) {
        view_strides(to, out->stride);
        return true;
    }
    int64_t shape[MAX_DIMS], stride[MAX_DIMS]; /* of the operand, without axes of one element */
    int n = 0;
    for (int i = 0; i < from->type.rank; i++) {
        if (from->type.shape[i] == 1) continue;
        shape[n] = from->type.shape[i];
        stride[n++] = from->stride[i];
    }
    int i = 0, j = 0; /* axes of the operand and of the result taken so far */
    while (i < n && j < to->rank) {
        int first_j = j, last = i;
        int64_t have = shape[i], want = to->shape[j++];
        while (have != want) {
            if (have < want) {
                last++;
                if (stride[last - 1] != stride[last] * shape[last]) return false;
                have *= shape[last];
            } else {
                want *= to->shape[j++];
            }
        }
        int64_t step = stride[last];
        for (int k = j - 1; k >= first_j; k--) {
            out->stride[k] = step;
            step *= to->shape[k];
        }
        i = last + 1;
    }
    for (; j < to->rank; j++) out->stride[j] = 1; /* axes of one element */
    return true;
}

bool view_apply(const Inst *inst, const View *from, const TensorType *to, View *out) {
    out->type = *to;
    out->data = from->data;
    out->is_scalar = false;
    switch (inst->op) {
    case OP_EXPAND: expand(from, to, out); return true;
    case OP_PERMUTE: permute(inst, from, to, out); return true;
    case OP_SLICE: slice(inst, from, to, out); return true;
    case OP_RESHAPE: return view_reshape(from, to, out);
    default: panic("'%s' is not a view", op_info[inst->op].name);
    }
}

void view_of_node(const Call *call, const Attr *nodes, uint32_t k, View in[2], View *out) {
    int64_t begin = 0;
    for (uint32_t i = 0; i < k; i++) begin += nodes->ints[i];
    for (int i = 0; i < 2; i++) {
        in[i] = call->in[i];
        int rank = in[i].type.rank, axis = i == 0 || rank == 1 ? rank - 1 : rank - 2;
        in[i].type.shape[axis] = nodes->ints[k];
        in[i].data = (char *)in[i].data +
                     begin * in[i].stride[axis] * dtype_info[in[i].type.dtype].size_bytes;
    }
    *out = call->out[0];
    out->type.rank--;
    for (int d = 0; d < out->type.rank; d++) {
        out->type.shape[d] = out->type.shape[d + 1];
        out->stride[d] = out->stride[d + 1];
    }
    out->data = (char *)out->data +
                (int64_t)k * call->out[0].stride[0] * dtype_info[out->type.dtype].size_bytes;
}
