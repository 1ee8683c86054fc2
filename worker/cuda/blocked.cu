/* blocked.cu: the steps of worker/engine/blocked.h but for products, with the bits of the engine
 * cpu: what happens to an element happens in the same order. STEP is one of the numbers of
 * blocked.h, T the type of an element, ROOT(x) its square root.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/blocked.h"

enum { BASE = 32, PANEL = 16, COLUMNS = 64, THREADS = 256 };

/* The offset of matrix i of the batch. */
PRO_FN int64_t batch_offset(const BlockedArgs *A, const int64_t *batch, int64_t i) {
    int64_t offset = 0;
    for (int64_t d = A->rank - 1; d >= 0; d--) {
        const int64_t all = i / A->shape[d];
        offset += (i - all * A->shape[d]) * batch[d];
        i = all;
    }
    return offset;
}
PRO_FN void note(const BlockedArgs *A, int64_t at) {
    atomicMin((unsigned long long *)&A->record->at, (unsigned long long)at);
}

#define EACH_ELEMENT(N)                                                                            \
    const BlockedArgs *const A = &args;                                                            \
    const int64_t threads_ = (int64_t)gridDim.x * blockDim.x;                                      \
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < (N); e += threads_)

#if STEP == 1 /* cholesky: a warp for each matrix, a lane for each row */
extern "C" __global__ void __launch_bounds__(THREADS)
    FUSED(run)(const __grid_constant__ BlockedArgs args) {
    enum { WARPS = THREADS / 32, PACKED = BASE * (BASE + 1) / 2 };
    const BlockedArgs *const A = &args;
    __shared__ T rows[WARPS][PACKED]; /* row i from i * (i + 1) / 2 on */
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = (int)A->n;
    T *const m = rows[warp], *const own = m + lane * (lane + 1) / 2;
    for (int64_t i = (int64_t)blockIdx.x * WARPS + warp; i < A->count;
         i += (int64_t)gridDim.x * WARPS) {
        T *const a = (T *)A->a + i * A->a_batch;
        for (int r = 0; r < n; r++)
            if (lane <= r) m[r * (r + 1) / 2 + lane] = a[r * A->a_row + lane];
        __syncwarp();
        for (int j = 0; j < n; j++) {
            const T d = m[j * (j + 1) / 2 + j], root = ROOT(d);
            if (lane == 0 && !(d > 0)) note(A, i * A->order + A->first + j);
            const T l = lane > j && lane < n ? own[j] / root : (T)0;
            __syncwarp();
            if (lane == j) own[j] = root;
            if (lane > j && lane < n) own[j] = l;
            __syncwarp();
            for (int c = j + 1; c <= lane && lane < n; c++) own[c] -= l * m[c * (c + 1) / 2 + j];
            __syncwarp();
        }
        for (int r = 0; r < n; r++)
            if (lane <= r) a[r * A->a_row + lane] = m[r * (r + 1) / 2 + lane];
    }
}

#elif STEP == 2 /* clear */
extern "C" __global__ void __launch_bounds__(THREADS)
    FUSED(run)(const __grid_constant__ BlockedArgs args) {
    EACH_ELEMENT(args.count * args.n * args.n)
    if (e % A->n > e / A->n % A->n) ((T *)A->a)[e] = (T)0;
}

#elif STEP == 3 /* solve: a thread for each column, COLUMNS of them to a block */
extern "C" __global__ void __launch_bounds__(COLUMNS)
    FUSED(run)(const __grid_constant__ BlockedArgs args) {
    enum { LINE = COLUMNS + 1, ROW = BASE + 1 };
    const BlockedArgs *const A = &args;
    __shared__ T x[BASE * LINE], t[BASE * ROW];
    const int n = (int)A->n, own = threadIdx.x;
    const int64_t across = (A->k + COLUMNS - 1) / COLUMNS;
    for (int64_t unit = blockIdx.x; unit < A->count * across; unit += gridDim.x) {
        const int64_t i = unit / across, c0 = unit % across * COLUMNS;
        const int width = A->k - c0 < COLUMNS ? (int)(A->k - c0) : COLUMNS;
        const T *const from = (const T *)A->t + batch_offset(A, A->t_batch, i);
        T *const a = (T *)A->a + i * A->a_batch + c0 * A->a_col;
        const bool by_rows = A->a_col == 1;
        for (int e = own; e < n * n; e += COLUMNS)
            t[e / n * ROW + e % n] = from[e / n * A->t_row + e % n * A->t_col];
        for (int e = own; e < n * width; e += COLUMNS) {
            const int r = by_rows ? e / width : e % n, c = by_rows ? e % width : e / n;
            x[r * LINE + c] = a[r * A->a_row + c * A->a_col];
        }
        __syncthreads();
        for (int s = 0; s < n && own < width; s++) {
            const int r = A->upper ? n - 1 - s : s;
            T sum = x[r * LINE + own];
            for (int q = 0; q < s; q++) {
                const int o = A->upper ? n - 1 - q : q;
                sum -= t[r * ROW + o] * x[o * LINE + own];
            }
            x[r * LINE + own] = A->unit ? sum : sum / t[r * ROW + r];
        }
        __syncthreads();
        for (int e = own; e < n * width; e += COLUMNS) {
            const int r = by_rows ? e / width : e % n, c = by_rows ? e % width : e / n;
            a[r * A->a_row + c * A->a_col] = x[r * LINE + c];
        }
        __syncthreads();
    }
}

#elif STEP == 4 /* eliminate: a block for each matrix */
/* The row, from j on, with the largest element of column j; the first of equals. All threads. */
__device__ __forceinline__ int64_t find_pivot(const T *a, int64_t N, int64_t j) {
    __shared__ T most[THREADS];
    __shared__ int64_t where[THREADS];
    const int t = threadIdx.x;
    const T own = a[j * N + j];
    T best = (T)-1;
    int64_t at = j;
    for (int64_t i = j + t; i < N; i += THREADS) {
        const T v = fabs(a[i * N + j]);
        if (v > best) best = v, at = i;
    }
    most[t] = best, where[t] = at;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            const T other = most[t + half];
            const int64_t o = where[t + half];
            if (other > most[t] || (other == most[t] && o < where[t])) most[t] = other, where[t] = o;
        }
        __syncthreads();
    }
    return own != own ? j : where[0]; /* as on the engine cpu: nothing is larger than nan */
}

extern "C" __global__ void __launch_bounds__(THREADS)
    FUSED(run)(const __grid_constant__ BlockedArgs args) {
    const BlockedArgs *const A = &args;
    const int64_t N = A->order, end = A->first + A->n;
    for (int64_t i = blockIdx.x; i < A->count; i += gridDim.x) {
        T *const a = (T *)A->a + i * A->a_batch;
        int64_t *const perm = A->order_out + i * N;
        for (int64_t j = A->first; j < end; j++) {
            const int64_t p = find_pivot(a, N, j);
            for (int64_t c = threadIdx.x; c < N && p != j; c += THREADS) {
                const T x = a[p * N + c];
                a[p * N + c] = a[j * N + c], a[j * N + c] = x;
            }
            if (threadIdx.x == 0 && p != j) {
                const int64_t x = perm[p];
                perm[p] = perm[j], perm[j] = x;
            }
            __syncthreads();
            const T pivot = a[j * N + j];
            if (pivot != 0) {
                for (int64_t r = j + 1 + threadIdx.x; r < N; r += THREADS) a[r * N + j] /= pivot;
                __syncthreads();
                const int64_t width = end - 1 - j;
                for (int64_t e = threadIdx.x; e < (N - 1 - j) * width; e += THREADS) {
                    const int64_t r = j + 1 + e / width, c = j + 1 + e % width;
                    a[r * N + c] -= a[r * N + j] * a[j * N + c];
                }
            }
            __syncthreads();
        }
    }
}

#elif STEP == 5 /* count */
extern "C" __global__ void __launch_bounds__(THREADS)
    FUSED(run)(const __grid_constant__ BlockedArgs args) {
    EACH_ELEMENT(args.count * args.n) A->order_out[e] = e % A->n;
}

#elif STEP == 6 /* check */
extern "C" __global__ void __launch_bounds__(THREADS)
    FUSED(run)(const __grid_constant__ BlockedArgs args) {
    EACH_ELEMENT(args.count * args.n) {
        const int64_t i = e / A->n, r = e - i * A->n;
        const T *const t = (const T *)A->t + batch_offset(A, A->t_batch, i);
        const int64_t row =
            ((const int64_t *)A->perm)[batch_offset(A, A->perm_batch, i) + r * A->perm_step];
        if (row < 0 || row >= A->n || atomicAdd(&A->seen[i * A->n + row], 1u)) note(A, 0);
        if (t[r * (A->t_row + A->t_col)] == 0) note(A, 1 + e);
    }
}

#else /* permute; nothing goes to rows of a perm that is none */
extern "C" __global__ void __launch_bounds__(THREADS)
    FUSED(run)(const __grid_constant__ BlockedArgs args) {
    EACH_ELEMENT(args.count * args.n * args.k) {
        const int64_t c = e % A->k, r = e / A->k % A->n, i = e / A->k / A->n;
        const T *const b = (const T *)A->b + i * A->a_batch;
        T *const a = (T *)A->a + i * A->a_batch;
        if (A->record->at == 0) {
            a[r * A->k + c] = (T)0;
            continue;
        }
        const int64_t row =
            ((const int64_t *)A->perm)[batch_offset(A, A->perm_batch, i) + r * A->perm_step];
        a[(A->scatter ? row : r) * A->k + c] = b[(A->scatter ? r : row) * A->k + c];
    }
}
#endif
