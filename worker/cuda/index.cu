/* index.cu: index, gather, index_put, scatter_add and scatter_reduce. T is the type of an element;
 * PUTS is 1 for those that write at indices, and MEET(x, y) is what becomes of element x of the
 * result there. INDICES is the number of index operands: a constant, so that what is known of each
 * lies in registers.
 *
 * Writes to one element happen in the order of the indices, as on the engine cpu: a thread owns
 * some destinations of a line (those whose number modulo `buckets` is its own), and walks all its
 * turns.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/index.h"

/* Element `at` of an index operand. Operands may have different dtypes: idx_bytes has 4 bits each.
 */
PRO_FN int64_t index_value(const IndexArgs *A, int64_t k, int64_t at) {
    const char *p = A->idx[k];
    switch (A->idx_bytes >> 4 * k & 15) {
    case 8: return ((const int64_t *)p)[at];
    case 4: return ((const int32_t *)p)[at];
    case 1: return ((const int8_t *)p)[at];
    default: return ((const uint8_t *)p)[at];
    }
}

/* The offset of element i of the line's axes, or of the turn's: adds what the indices read. */
typedef struct Place {
    int64_t own, value, idx[INDICES];
} Place;
PRO_FN void walk(const IndexArgs *A, int64_t first, int64_t last, int64_t i, Place *p) {
    for (int64_t d = last - 1; d >= first; d--) {
        const int64_t all = i / A->shape[d], j = i - all * A->shape[d];
        p->own += j * A->own[d], p->value += j * A->value[d];
#pragma unroll
        for (int k = 0; k < INDICES; k++) p->idx[k] += j * A->stride[k][d];
        i = all;
    }
}
/* The indices' part of the offset; those that are bad count as the first or the last. */
PRO_FN int64_t indexed(const IndexArgs *A, const Place *p) {
    int64_t at = 0;
#pragma unroll
    for (int k = 0; k < INDICES; k++) {
        int64_t v = index_value(A, k, p->idx[k]);
        if (v < 0) v += A->size[k];
        v = v < 0 ? 0 : v >= A->size[k] ? A->size[k] - 1 : v;
        at += v * A->step[k];
    }
    return at;
}

extern "C" __global__ void __launch_bounds__(256, HALF_BLOCKS)
    FUSED(check)(const __grid_constant__ IndexArgs args) {
    const IndexArgs *const A = &args;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int64_t i = first; i < A->common_n * INDICES; i += threads) {
        const int64_t k = i / A->common_n;
        int64_t rest = i - k * A->common_n, at = 0;
        for (int64_t d = A->common_rank - 1; d >= 0; d--) {
            const int64_t all = rest / A->common[d];
            at += (rest - all * A->common[d]) * A->common_stride[k][d];
            rest = all;
        }
        const int64_t v = index_value(A, k, at), low = A->from_zero ? 0 : -A->size[k];
        if (v < low || v >= A->size[k])
            atomicMin((unsigned long long *)&A->record->at, (unsigned long long)i);
    }
}

/* Adds the bad index's value to the record. */
PRO_FN void note_value(const IndexArgs *A) {
    const uint64_t i = A->record->at;
    if (blockIdx.x || threadIdx.x || i == INDEX_GOOD) return;
    const int64_t k = (int64_t)i / A->common_n;
    int64_t rest = (int64_t)i - k * A->common_n, at = 0;
    for (int64_t d = A->common_rank - 1; d >= 0; d--) {
        const int64_t all = rest / A->common[d];
        at += (rest - all * A->common[d]) * A->common_stride[k][d];
        rest = all;
    }
    A->record->value = index_value(A, k, at);
}

extern "C" __global__ void __launch_bounds__(256, HALF_BLOCKS)
    FUSED(run)(const __grid_constant__ IndexArgs args) {
    const IndexArgs *const A = &args;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    bool is_empty = false; /* nothing can be indexed */
    for (int k = 0; k < INDICES; k++) is_empty |= A->size[k] == 0;
    note_value(A);
#if PUTS
    T *const out = (T *)A->out;
    if (is_empty) return;
    for (int64_t i = first; i < A->lines * A->buckets; i += threads) {
        const int64_t bucket = i % A->buckets;
        Place line = {0};
        walk(A, 0, A->line_rank, i / A->buckets, &line);
        for (int64_t turn = 0; turn < A->turns; turn++) {
            Place p = line;
            walk(A, A->line_rank, A->rank, turn, &p);
            const int64_t at = indexed(A, &p);
            if (A->buckets > 1 && at / A->unit % A->buckets != bucket) continue;
            const T y = ((const T *)A->from)[p.value], x = out[p.own + at];
            out[p.own + at] = MEET(x, y);
        }
    }
#else
    for (int64_t i = first; i < A->lines; i += threads) {
        Place p = {0};
        walk(A, 0, A->rank, i, &p);
        ((T *)A->out)[i] = is_empty ? (T)0 : ((const T *)A->x)[p.own + indexed(A, &p)];
    }
#endif
}
