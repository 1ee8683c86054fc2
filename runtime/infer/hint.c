/* hint.c: the remedy for what inference has refused, in instruction text. The hints of inference
 * itself are for programs in the language, which has methods and no ids.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/inst.h"

#include <string.h>

/* t1 = cast t0 f32 */
static bool hint_cast(const Inst *inst, int i, DType to, Err *err) {
    return err_hint(err, "cast t%llu %s, and take its result", (unsigned long long)inst->in[i].id,
                    dtype_info[to].text);
}

static bool is_last_fit(const TensorType *a, const TensorType *b) {
    return a->rank > 1 && b->rank > 1 && a->shape[a->rank - 1] == b->shape[b->rank - 2];
}

static TensorType transposed(const TensorType *t) {
    TensorType r = *t;
    if (t->rank > 1) {
        r.shape[t->rank - 1] = t->shape[t->rank - 2];
        r.shape[t->rank - 2] = t->shape[t->rank - 1];
    }
    return r;
}

/* permute t1 axes=[0,2,1], and take its result */
static void hint_matmul(const Inst *inst, const TensorType *in, Err *err) {
    TensorType a = transposed(&in[0]), b = transposed(&in[1]);
    int k = is_last_fit(&in[0], &b) ? 1 : is_last_fit(&a, &in[1]) ? 0 : -1;
    if (k < 0) return;
    Bytes axes = {0};
    int rank = in[k].rank;
    for (int i = 0; i < rank; i++)
        bytes_printf(&axes, "%s%d", i ? "," : "",
                     i < rank - 2    ? i
                     : i == rank - 1 ? rank - 2
                                     : rank - 1);
    err_hint(err, "permute t%llu axes=[%s], and take its result",
             (unsigned long long)inst->in[k].id, axes.data);
    bytes_fini(&axes);
}

/* reshape t1 [64,1], and take its result: if the shorter shape matches the leading axes. */
static void hint_broadcast(const Inst *inst, const TensorType *in, Err *err) {
    const TensorType *a = &in[0], *b = &in[1];
    int shorter = a->rank < b->rank ? 0 : 1;
    TensorType padded = in[shorter], r;
    while (padded.rank < in[1 - shorter].rank) padded.shape[padded.rank++] = 1;
    if (a->rank == b->rank || !shape_broadcast(&in[1 - shorter], &padded, &r)) return;
    char text[256];
    const char *shape = type_text(&padded, text);
    err_hint(err, "reshape t%llu %s, and take its result", (unsigned long long)inst->in[shorter].id,
             strchr(shape, '['));
}

static bool hint_dtype(const Inst *inst, const TensorType *in, Err *err) {
    const OpInfo *info = &op_info[inst->op];
    bool is_indexed = op_has(inst->op, FACT_INDEXED), picks = op_has(inst->op, FACT_PICKS);
    int value = op_takes(inst->op);
    for (int i = 0; i < inst->n_in; i++) {
        if (inst->in[i].kind != IN_TENSOR) continue;
        DType d = in[i].dtype;
        if (is_indexed && i > 0 && i != value) {
            if (!(DSET_INT >> d & 1)) return hint_cast(inst, i, DT_I64, err);
        } else if (picks && i == 0) {
            if (d != DT_BOOL)
                return err_hint(err, "ne t%llu 0, and take its result",
                                (unsigned long long)inst->in[0].id);
        } else if (!(info->in >> d & 1)) {
            return hint_cast(inst, i, info->in == DSET_FLOAT ? DT_F32 : DT_I64, err);
        }
    }
    /* First immediates that do not fit the tensor, then tensors that differ. */
    int first = picks;
    while (first < inst->n_in && inst->in[first].kind != IN_TENSOR) first++;
    for (int i = 0; i < inst->n_in; i++) {
        if (first == inst->n_in) return false;
        if (inst->in[i].kind == IN_IMM_FLOAT && !dtype_is_float(in[first].dtype))
            return hint_cast(inst, first, DT_F32, err);
        if (i <= first || inst->in[i].kind != IN_TENSOR || (is_indexed && i != value)) continue;
        if (in[i].dtype == in[first].dtype) continue;
        DType both = dtype_promote(in[first].dtype, in[i].dtype);
        return hint_cast(inst, in[first].dtype == both ? i : first, both, err);
    }
    return false;
}

void inst_hint_text(const Inst *inst, const TensorType *in, Err *err) {
    if (!err) return;
    err->hint[0] = 0;
    bool has_two =
        inst->n_in == 2 && inst->in[0].kind == IN_TENSOR && inst->in[1].kind == IN_TENSOR;
    if (err->code == ERR_DTYPE)
        hint_dtype(inst, in, err);
    else if (err->code == ERR_SHAPE && has_two && inst->op == OP_MATMUL)
        hint_matmul(inst, in, err);
    else if (err->code == ERR_SHAPE && has_two && op_info[inst->op].class_ == CLASS_MAP)
        hint_broadcast(inst, in, err);
}
