/* copy.cu: a view's elements, row-major. T: an unsigned type of an element's size. args: as of a
 * fusion without reductions.
 * SPDX-License-Identifier: MIT */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ FusedArgs args) {
    const FusedArgs *const A = &args;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int64_t i = first; i < A->n; i += threads) {
        int64_t line = i / A->line;
        int64_t offset = (i - line * A->line) * A->step[0] * (int64_t)sizeof(T);
        for (int64_t d = A->inner.rank - 1; d >= 0; d--) {
            const int64_t all = line / A->inner.shape[d];
            offset += (line - all * A->inner.shape[d]) * A->inner.stride[0][d];
            line = all;
        }
        ((T *)A->out[0])[i] = *(const T *)(A->in[0] + offset);
    }
}
