/* scan.cu: argmax and argmin; cumsum, recurrence, cummax; searchsorted. ROW is one of the numbers
 * below, T the type of an element, KEY its key (line.h), NAN_KEY that of nan or 0, ACC the
 * accumulator, and R the type of a sum.
 *
 * A sum runs from element to element, as on the engine cpu: a line has one thread. That is slow for
 * few long lines.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/line.h"

enum { THREADS = 256 };

/* The better of two candidates: the larger key, or the earlier of equals. */
PRO_FN bool is_better(uint64_t key, int64_t at, uint64_t other, int64_t other_at) {
    return key > other || (key == other && at < other_at);
}

#if ROW == 1 /* argmax; argmin: every thread of a block takes some elements of its line */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ LineArgs args) {
    const LineArgs *const A = &args;
    __shared__ uint64_t key[THREADS];
    __shared__ int64_t at[THREADS];
    const int t = threadIdx.x;
    for (int64_t line = blockIdx.x; line < A->lines; line += gridDim.x) {
        const T *x = (const T *)A->in[0] + line_at(A, 0, line);
        uint64_t best = 0;
        int64_t best_at = A->n;
        for (int64_t i = t; i < A->n; i += THREADS) {
            uint64_t k = KEY(x[i * A->step[0]]);
            if (!A->flag && !(NAN_KEY && k == NAN_KEY)) k = ~k;
            if (NAN_KEY && KEY(x[i * A->step[0]]) == NAN_KEY) k = ~(uint64_t)0;
            if (best_at == A->n || is_better(k, i, best, best_at)) best = k, best_at = i;
        }
        __syncthreads();
        key[t] = best, at[t] = best_at;
        for (int half = THREADS / 2; half; half /= 2) {
            __syncthreads();
            if (t < half && at[t + half] < A->n &&
                (at[t] == A->n || is_better(key[t + half], at[t + half], key[t], at[t])))
                key[t] = key[t + half], at[t] = at[t + half];
        }
        if (t == 0) ((int64_t *)A->out[0])[line] = at[0];
    }
}
#endif

#define EACH_LINE                                                                                  \
    const LineArgs *const A = &args;                                                               \
    const int64_t threads_ = (int64_t)gridDim.x * blockDim.x;                                      \
    for (int64_t line = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; line < A->lines;           \
         line += threads_)

#if ROW == 2 /* cumsum */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ LineArgs args) {
    EACH_LINE {
        const T *x = (const T *)A->in[0] + line_at(A, 0, line);
        R *y = (R *)A->out[0] + line_at(A, 2, line);
        ACC sum = 0;
        for (int64_t i = 0; i < A->n; i++) {
            sum += (ACC)x[i * A->step[0]];
            y[i * A->step[2]] = (R)sum;
        }
    }
}
#endif

#if ROW == 3 /* y[i] = a[i] y[i-1] + b[i] */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ LineArgs args) {
    EACH_LINE {
        const T *a = (const T *)A->in[0] + line_at(A, 0, line);
        const T *b = (const T *)A->in[1] + line_at(A, 1, line);
        T *y = (T *)A->out[0] + line_at(A, 2, line);
        ACC last = 0;
        for (int64_t k = 0; k < A->n; k++) {
            const int64_t i = A->flag ? A->n - 1 - k : k;
            const ACC add = (ACC)b[i * A->step[1]];
            last = k ? (ACC)a[i * A->step[0]] * last + add : add;
            y[i * A->step[2]] = (T)last;
        }
    }
}
#endif

#if ROW == 4 /* cummax, cummin: of equals the last; nan stays */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ LineArgs args) {
    EACH_LINE {
        const T *x = (const T *)A->in[0] + line_at(A, 0, line);
        const int64_t to = line_at(A, 2, line);
        uint64_t best = 0;
        int64_t where = 0;
        for (int64_t i = 0; i < A->n; i++) {
            uint64_t k = KEY(x[i * A->step[0]]);
            if (NAN_KEY && k == NAN_KEY)
                k = ~(uint64_t)0;
            else if (!A->flag)
                k = KEY_MOST - k;
            if (i == 0 || k >= best) best = k, where = i;
            ((T *)A->out[0])[to + i * A->step[2]] = x[where * A->step[0]];
            ((int64_t *)A->out[1])[to + i * A->step[2]] = where;
        }
    }
}
#endif

#if ROW == 5 /* searchsorted: operand 1 is the value, a line is one result */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ LineArgs args) {
    EACH_LINE {
        const T *x = (const T *)A->in[0] + line_at(A, 0, line);
        const uint64_t key = KEY(((const T *)A->in[1])[line_at(A, 1, line)]);
        int64_t low = 0, high = A->n;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            const uint64_t there = KEY(x[middle * A->step[0]]);
            if (A->flag ? there <= key : there < key)
                low = middle + 1;
            else
                high = middle;
        }
        ((int64_t *)A->out[0])[line] = low;
    }
}
#endif
