/* scan.cu: argmax and argmin; cumsum, recurrence, cummax; searchsorted. ROW is one of the numbers
 * below, T the type of an element, KEY its key (line.h), NAN_KEY that of nan or 0, ACC the
 * accumulator, and R the type of a sum.
 *
 * Of many lines each has a thread (run). Of few lines each has a thread block (block), which goes
 * along it in tiles of shared memory: all threads load, and all store. What is exact in any order
 * (EXACT: running extremes, sums of whole numbers) all threads compute. A sum of floats and a
 * recurrence run from element to element in float64, as on the engine cpu: that is one thread's
 * work. It takes the latency of an addition (8 cycles, a recurrence 16) for each element, so about
 * 5 ms for a line of 2^20 elements, which is predicted. The thread alone would wait for memory too.
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

#if ROW == 2 || ROW == 3 || ROW == 4
#if ROW == 4
/* An extreme: its key, and where it is. */
struct State {
    uint64_t key;
    int64_t at;
};
#else
typedef ACC State;
#endif

/* How State i of a line begins. */
__device__ __forceinline__ State state_of(const LineArgs *A, const T *x, int64_t i) {
#if ROW == 4
    uint64_t k = KEY(x[i * A->step[0]]);
    if (NAN_KEY && k == NAN_KEY)
        k = ~(uint64_t)0; /* nan stays */
    else if (!A->flag)
        k = KEY_MOST - k;
    return {k, i};
#else
    return (ACC)x[i * A->step[0]];
#endif
}
#if EXACT
/* That of two neighbours, `a` the earlier one. Of equal extremes the last counts. */
__device__ __forceinline__ State both(State a, State b) {
#if ROW == 4
    return b.key >= a.key ? b : a;
#else
    return a + b;
#endif
}
#endif
__device__ __forceinline__ void put(const LineArgs *A, const T *x, int64_t to, int64_t i, State s) {
#if ROW == 4
    ((T *)A->out[0])[to + i * A->step[2]] = x[s.at * A->step[0]];
    ((int64_t *)A->out[1])[to + i * A->step[2]] = s.at;
#elif ROW == 3
    ((T *)A->out[0])[to + i * A->step[2]] = (T)s;
#else
    ((R *)A->out[0])[to + i * A->step[2]] = (R)s;
#endif
}

/* A line to a block. Element k of a tile is that many behind its first in the direction of the
 * scan. */
extern "C" __global__ void __launch_bounds__(THREADS)
    FUSED(block)(const __grid_constant__ LineArgs args) {
    enum { TILE = EXACT ? THREADS : 4 * THREADS };
    const LineArgs *const A = &args;
    __shared__ State s[TILE];
#if ROW == 3
    __shared__ ACC factor[TILE];
#endif
    const int t = threadIdx.x;
    for (int64_t line = blockIdx.x; line < A->lines; line += gridDim.x) {
        const T *x = (const T *)A->in[0] + line_at(A, 0, line);
        const int64_t to = line_at(A, 2, line);
#if ROW == 3
        const T *b = (const T *)A->in[1] + line_at(A, 1, line);
        const bool is_reversed = A->flag;
#else
        const bool is_reversed = false;
#endif
        State last = {};
        for (int64_t from = 0; from < A->n; from += TILE) {
            const int n = A->n - from < TILE ? (int)(A->n - from) : TILE;
            for (int k = t; k < n; k += THREADS) {
                const int64_t i = is_reversed ? A->n - 1 - from - k : from + k;
#if ROW == 3
                factor[k] = (ACC)x[i * A->step[0]];
                s[k] = (ACC)b[i * A->step[1]];
#else
                s[k] = state_of(A, x, i);
#endif
            }
            __syncthreads();
#if EXACT
            if (t == 0 && from) s[0] = both(last, s[0]);
            for (int apart = 1; apart < n; apart *= 2) {
                __syncthreads();
                const bool has = t >= apart && t < n;
                const State own = has ? both(s[t - apart], s[t]) : State{};
                __syncthreads();
                if (has) s[t] = own;
            }
#else
            for (int k = 0; k < n && t == 0; k++) {
#if ROW == 3
                last = from || k ? factor[k] * last + s[k] : s[k];
#else
                last += s[k];
#endif
                s[k] = last;
            }
#endif
            __syncthreads();
            if (EXACT) last = s[n - 1];
            for (int k = t; k < n; k += THREADS)
                put(A, x, to, is_reversed ? A->n - 1 - from - k : from + k, s[k]);
            __syncthreads();
        }
    }
}
#endif

#if ROW == 2 /* cumsum */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ LineArgs args) {
    EACH_LINE {
        const T *x = (const T *)A->in[0] + line_at(A, 0, line);
        const int64_t to = line_at(A, 2, line);
        ACC sum = 0;
        for (int64_t i = 0; i < A->n; i++) {
            sum += state_of(A, x, i);
            put(A, x, to, i, sum);
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

#if ROW == 4 /* cummax, cummin */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ LineArgs args) {
    EACH_LINE {
        const T *x = (const T *)A->in[0] + line_at(A, 0, line);
        const int64_t to = line_at(A, 2, line);
        State best = {};
        for (int64_t i = 0; i < A->n; i++) {
            const State own = state_of(A, x, i);
            best = i ? both(best, own) : own;
            put(A, x, to, i, best);
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
