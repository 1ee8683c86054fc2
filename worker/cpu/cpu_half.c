/* cpu_half.c: float16 and bfloat16 in the cpu engine. Their only kernels are the casts to and from
 * float32; everything is computed in float32. Pointwise calls and casts go chunk by chunk
 * (HalfMap). Other rows, unless they only move elements, get float32 copies of whole operands
 * (cpu_widened). Results are rounded once, at the end of the instruction.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"

void half_map_init(HalfMap *h, const Kernels *k, MapFn fn, const DType *in, int n_in, DType out) {
    *h = (HalfMap){.fn = fn, .n_in = n_in, .out_size = dtype_info[out].size_bytes};
    for (int i = 0; i < n_in; i++) {
        h->size[i] = dtype_info[in[i]].size_bytes;
        if (dtype_is_half(in[i])) h->widen[i] = k->cast[in[i]][DT_F32], h->has_half = true;
    }
    if (dtype_is_half(out)) h->narrow = k->cast[DT_F32][out], h->has_half = true;
}

void half_map_cast(HalfMap *h, const Kernels *k, DType from, DType to) {
    MapFn fn = k->cast[from][to];
    if (fn) { /* halves have their own casts to and from float32 */
        *h = (HalfMap){.fn = fn, .n_in = 1};
        return;
    }
    MapFn inner = dtype_is_half(from) && dtype_is_half(to) ? k->cast[from][DT_F32]
                  : dtype_is_half(from)                    ? k->cast[DT_F32][to]
                                                           : k->cast[from][DT_F32];
    half_map_init(h, k, inner, &from, 1, to);
    if (dtype_is_half(to)) h->widen[0] = NULL; /* the inner cast gives float32 */
}

/* CPU_CHUNK elements at a time: widen, compute, narrow. */
void half_map_chunks(const HalfMap *h, int64_t n, void *out, const void *const *in,
                     unsigned scalars) {
    float side[3][CPU_CHUNK], result[CPU_CHUNK];
    const void *now[3];
    for (int k = 0; k < h->n_in; k++) {
        now[k] = in[k];
        if (h->widen[k] && scalars >> k & 1) h->widen[k](1, side[k], &in[k], 0), now[k] = side[k];
    }
    for (int64_t begin = 0; begin < n; begin += CPU_CHUNK) {
        int64_t some = n - begin < CPU_CHUNK ? n - begin : CPU_CHUNK;
        for (int k = 0; k < h->n_in; k++) {
            if (scalars >> k & 1) continue;
            now[k] = (const char *)in[k] + begin * h->size[k];
            if (!h->widen[k]) continue;
            h->widen[k](some, side[k], &now[k], 0);
            now[k] = side[k];
        }
        void *to = (char *)out + begin * h->out_size;
        h->fn(some, h->narrow ? result : to, now, scalars);
        if (h->narrow) h->narrow(some, to, (const void *const[]){result}, 0);
    }
}

void cpu_cast(const Kernels *k, int64_t n, void *to, DType to_dtype, const void *from,
              DType from_dtype) {
    HalfMap h;
    half_map_cast(&h, k, from_dtype, to_dtype);
    half_map(&h, n, to, &from, 0);
}

/* ---- Rows that compute on whole tensors ---- */

static uint64_t aligned(uint64_t bytes) { return (bytes + 63) & ~UINT64_C(63); }

/* Returns v's type with extent 1 for the axes along which it only repeats. */
static TensorType distinct(const View *v) {
    TensorType t = v->type;
    for (int d = 0; d < t.rank; d++)
        if (v->stride[d] == 0 && t.shape[d] > 1) t.shape[d] = 1;
    return t;
}

/* Converts operand `v`, of halves, to float32 at `side`. */
static View widened(Cpu *c, const View *v, void *side) {
    View from = *v, wide = *v, to = {.data = side};
    from.type = distinct(v);
    to.type = from.type;
    to.type.dtype = wide.type.dtype = DT_F32;
    view_strides(&to.type, to.stride);
    cpu_cast_view(c, &from, &to);
    for (int d = 0; d < wide.type.rank; d++)
        wide.stride[d] = to.type.shape[d] == wide.type.shape[d] ? to.stride[d] : 0;
    wide.data = side;
    return wide;
}

bool cpu_widened(Cpu *c, const Call *call, bool (*row)(Cpu *, const Call *, Err *), Err *err) {
    uint64_t bytes = aligned(sizeof(View) * (size_t)call->n_in);
    for (int i = 0; i < call->n_in; i++) {
        TensorType t = distinct(&call->in[i]);
        if (dtype_is_half((DType)t.dtype)) bytes += aligned(4 * (uint64_t)type_numel(&t));
    }
    for (int i = 0; i < call->n_out; i++)
        if (dtype_is_half((DType)call->out[i].type.dtype))
            bytes += aligned(4 * (uint64_t)type_numel(&call->out[i].type));
    char *side = cpu_side(c, call, (int64_t)bytes, err);
    if (!side) return false;
    Call wide = *call;
    wide.in = (View *)side;
    side += aligned(sizeof(View) * (size_t)call->n_in);
    for (int i = 0; i < call->n_in; i++) {
        const View *v = &call->in[i];
        wide.in[i] = *v;
        if (!dtype_is_half((DType)v->type.dtype)) continue;
        TensorType t = distinct(v);
        wide.in[i] = widened(c, v, side);
        side += aligned(4 * (uint64_t)type_numel(&t));
    }
    for (int i = 0; i < call->n_out; i++) {
        View *o = &wide.out[i];
        if (!dtype_is_half((DType)o->type.dtype)) continue;
        o->type.dtype = DT_F32;
        o->data = side;
        side += aligned(4 * (uint64_t)type_numel(&o->type));
    }
    if (!row(c, &wide, err)) return false;
    for (int i = 0; i < call->n_out; i++) {
        View from = wide.out[i];
        if (from.data == call->out[i].data) continue;
        view_strides(&from.type, from.stride);
        cpu_cast_view(c, &from, &call->out[i]);
    }
    return true;
}

bool call_has_half(const Call *call) {
    bool has = false;
    for (int i = 0; i < call->n_in; i++) has |= dtype_is_half((DType)call->in[i].type.dtype);
    for (int i = 0; i < call->n_out; i++) has |= dtype_is_half((DType)call->out[i].type.dtype);
    return has;
}
