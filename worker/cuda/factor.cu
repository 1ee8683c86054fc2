/* factor.cu: QR, eigenvalues of symmetric matrices and singular values, in float64, with the bits of
 * worker/engine/factor.c: what happens to a number happens in the same order. A matrix lies in
 * global memory. Small ones have a thread block each, which goes through all phases (factor.h).
 * Large ones have a launch for each phase, so that many blocks share those that are much work;
 * but the rotations of one matrix (PHASE_TURN) are one block's work.
 *
 * Sums are those of 8 lanes, which are 8 threads side by side, a group. OP is FACTOR_QR, FACTOR_EIGH
 * or FACTOR_SVD, T the type of an element.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/factor.h"
#include "worker/engine/factor_step.h"

enum { GROUP = FACTOR_LANES, THREADS = FACTOR_THREADS };

/* The threads of a matrix: this is `own` of `all`. */
struct Team {
    int64_t own, all;
};
#define EACH(i, first, last)                                                                       \
    for (int64_t i = (int64_t)(first) + team.own; i < (int64_t)(last); i += team.all)
/* For each group as a whole. */
#define EACH_GROUP(i, first, last)                                                                 \
    for (int64_t i = (int64_t)(first) + team.own / GROUP; i < (int64_t)(last);                     \
         i += team.all / GROUP)
#define EACH_OF_LANE(i, n)                                                                         \
    for (int64_t i = threadIdx.x % GROUP; i < (int64_t)(n); i += GROUP)

__device__ __forceinline__ unsigned group_mask() {
    return 0xffu << (threadIdx.x % 32 & ~(GROUP - 1));
}
/* The sum over x[i] * y[i] in all threads of a group, which all call it. */
__device__ __forceinline__ double dot(const double *x, const double *y, int64_t n) {
    double sum = 0;
    EACH_OF_LANE(i, n) sum += x[i] * y[i];
#pragma unroll
    for (int h = GROUP / 2; h > 0; h /= 2) sum += __shfl_xor_sync(group_mask(), sum, h, GROUP);
    return sum;
}
/* The same in all threads of the block. Each of them meets a barrier before the next call. */
__device__ __forceinline__ double dot_of_block(const double *x, const double *y, int64_t n) {
    __shared__ double result;
    if (threadIdx.x < GROUP) {
        const double sum = dot(x, y, n);
        if (threadIdx.x == 0) result = sum;
    }
    __syncthreads();
    return result;
}
/* The place of the largest of n values, the first of equals, in all threads. Threads have one each,
 * or, if there are more, the largest of theirs. at < 0: this one has none. Each thread meets a
 * barrier before the next call. */
__device__ __forceinline__ int64_t find_most(double value, int64_t at, int64_t n) {
    __shared__ double most[THREADS];
    __shared__ int64_t where[THREADS];
    const int t = threadIdx.x;
    most[t] = value, where[t] = at;
    __syncthreads();
    int half = 1;
    while (half < THREADS / 2 && 2 * half < n) half *= 2;
    for (; half > 0; half /= 2) {
        if (t < half) {
            const double other = most[t + half];
            const int64_t o = where[t + half];
            const bool is_first = other == most[t] && o < where[t];
            if (o >= 0 && (where[t] < 0 || other > most[t] || is_first)) most[t] = other, where[t] = o;
        }
        __syncthreads();
    }
    return where[0];
}

/* What `room` has for a matrix. */
struct Room {
    double *a, *q, *d, *e, *v, *p, *turn, *scale;
    int64_t *order;
};
__device__ __forceinline__ Room room_of(const FactorArgs *A, int64_t i) {
    const int64_t m = A->m, n = A->n, k = m < n ? m : n, l = m < n ? n : m;
    Room r = {};
    double *p = A->room + i * A->each;
    r.scale = p++;
    r.a = p; /* SVD: (k, l), its rows become orthogonal */
    r.q = p += OP == FACTOR_SVD ? k * l : m * n;
    p += OP == FACTOR_QR ? m * n : k * k;
    r.d = p, p += k;   /* QR: tau; SVD: lengths */
    r.v = p, p += OP == FACTOR_QR ? m : OP == FACTOR_EIGH ? n : l;
    if (OP == FACTOR_QR) return r;
    r.e = p, p += k; /* SVD: squares of lengths */
    r.order = (int64_t *)p, p += k;
    r.p = p, p += k; /* from here on EIGH only */
    r.turn = p;
    return r;
}

__device__ __forceinline__ void load(const FactorArgs *A, const Room &r, Team team, int64_t matrix) {
    const int64_t n = A->n, m = A->m;
    const T *x = (const T *)A->x;
    int64_t rest = matrix;
    for (int64_t d = A->rank - 1; d >= 0; d--) {
        const int64_t all = rest / A->shape[d];
        x += (rest - all * A->shape[d]) * A->x_batch[d];
        rest = all;
    }
    EACH(e, 0, m * n) {
        int64_t i = e / n, j = e % n;
        const int64_t to = OP == FACTOR_SVD && m >= n ? j * m + i : e;
        if (OP == FACTOR_EIGH && j > i) { /* the lower triangle counts */
            const int64_t t = i;
            i = j, j = t;
        }
        r.a[to] = (double)x[i * A->x_row + j * A->x_col];
    }
}
/* The scale: a power of two; nan if an element is not finite. */
__device__ __forceinline__ void find_scale(const FactorArgs *A, const Room &r) {
    const int64_t n = A->m * A->n;
    double most = 0;
    bool is_finite = true;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        const double x = fabs(r.a[i]);
        is_finite = is_finite && x < __builtin_inf();
        if (x > most) most = x;
    }
    const bool all = __syncthreads_and(is_finite);
    const int64_t thread = find_most(most, threadIdx.x, THREADS);
    if (threadIdx.x == thread)
        *r.scale = !all        ? __builtin_nan("")
                   : most == 0 ? 1
                               : factor_power(factor_exponent(most) - 1);
}
__device__ __forceinline__ void shrink(const FactorArgs *A, const Room &r, Team team) {
    if (*r.scale == 1 || *r.scale != *r.scale) return;
    const int e = factor_exponent(*r.scale);
    EACH(i, 0, A->m * A->n) r.a[i] = factor_scale(r.a[i], 1 - e);
}

/* Rows of a unit matrix of n columns. */
__device__ __forceinline__ void make_unit(double *q, int64_t rows, int64_t n, Team team) {
    EACH(e, 0, rows * n) q[e] = e / n == e % n ? 1 : 0;
}
/* x (n), elements `step` apart, becomes that of a reflection: x[0] what it turns into, v (n) the
 * vector with v[0] = 1. One block. */
__device__ __forceinline__ void reflect(double *x, int64_t step, int64_t n, double *v,
                                        double *tau) {
    for (int64_t i = threadIdx.x; i < n; i += THREADS) v[i] = x[i * step];
    __syncthreads();
    const double first = v[0], below = dot_of_block(v + 1, v + 1, n - 1);
    double t = 0, to = first;
    if (below != 0) to = factor_reflection(first, below, &t);
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        const double y = i == 0 ? 1 : below != 0 ? v[i] / (first - to) : v[i];
        v[i] = y;
        x[i * step] = i == 0 ? to : y;
    }
    if (threadIdx.x == 0) *tau = t;
}

/* The row that is `at`th in order, by the largest value or the least. One block; a barrier lies
 * before it. find_most lies between `order` as it begins and the swaps. */
__device__ __forceinline__ void sort(double *value, int64_t *order, int64_t k, bool descends) {
    for (int64_t i = threadIdx.x; i < k; i += THREADS) order[i] = i;
    for (int64_t i = 0; i + 1 < k; i++) {
        double most = 0;
        int64_t at = -1;
        for (int64_t j = i + threadIdx.x; j < k; j += THREADS) {
            const double x = descends ? value[j] : -value[j];
            if (at < 0 || x > most) most = x, at = j;
        }
        at = find_most(most, at, k - i);
        if (threadIdx.x == 0 && at != i) {
            const double x = value[i];
            const int64_t o = order[i];
            value[i] = value[at], value[at] = x;
            order[i] = order[at], order[at] = o;
        }
        __syncthreads();
    }
}

#if OP == 1 /* QR */

/* Applies I - tau v v' to columns c and on of a (m, n), from row `first` on; v[0] = 1 and its other
 * elements are `step` apart. */
__device__ __forceinline__ void apply(double *a, int64_t m, int64_t n, int64_t first, int64_t c,
                                      const double *v, int64_t step, double tau, Team team) {
    if (tau == 0) return;
    EACH(j, c, n) {
        double w = 0;
#pragma unroll 4
        for (int64_t i = first; i < m; i++) {
            const double f = i == first ? 1 : v[(i - first) * step];
            w += f * a[i * n + j];
        }
#pragma unroll 4
        for (int64_t i = first; i < m; i++) {
            const double f = i == first ? 1 : v[(i - first) * step];
            a[i * n + j] += -tau * f * w;
        }
    }
}
__device__ __forceinline__ void phase(const FactorArgs *A, const Room &r, FactorStep s, Team team,
                                      T *out) {
    const int64_t m = A->m, n = A->n, k = s.k;
    switch (s.phase) {
    case PHASE_VECTOR: reflect(r.a + k * n + k, n, m - k, r.v, r.d + k); break;
    case PHASE_APPLY: apply(r.a, m, n, k, k + 1, r.v, 1, r.d[k], team); break;
    case PHASE_UNIT: make_unit(r.q, m, n, team); break;
    case PHASE_BACK: apply(r.q, m, n, k, k, r.a + k * n + k, n, r.d[k], team); break;
    default:
        EACH(e, 0, (m + n) * n) {
            const int64_t i = e / n, j = e % n; /* under Q lies R' */
            double x = *r.scale;
            if (i < m && x == x) x = r.q[e];
            if (i >= m) x = j > i - m ? 0 : x == x ? r.a[j * n + i - m] * x : x;
            out[e] = (T)x;
        }
    }
}

#elif OP == 2 /* EIGH */

__device__ __forceinline__ void corner(const FactorArgs *A, const Room &r, Team team) {
    const int64_t n = A->n;
    EACH(i, 0, n) {
        r.d[i] = r.a[i * n + i];
        if (i >= n - 2) r.e[i] = i == n - 1 ? 0 : r.a[i * n + i + 1];
    }
    EACH_GROUP(i, 0, n) {
        double *const row = r.q + i * n;
        EACH_OF_LANE(j, n) row[j] = i == j ? 1 : 0;
        for (int64_t k = n - 3; k >= 0; k--) {
            /* Lanes of the sum begin at element k + 1. */
            __syncwarp(group_mask());
            const double *const v = r.a + k * n + k + 1;
            const int64_t rest = n - k - 1;
            if (r.p[k] == 0 || i <= k) continue;
            const double f = -r.p[k] * dot(row + k + 1, v, rest);
            EACH_OF_LANE(j, rest) row[k + 1 + j] += f * v[j];
        }
    }
}
__device__ __forceinline__ void diagonalize(const FactorArgs *A, const Room &r) {
    __shared__ int64_t turns, from;
    __shared__ bool is_done;
    const int64_t n = A->n;
    int64_t l = 0, step = 0; /* of thread 0 */
    for (;;) {
        if (threadIdx.x == 0) {
            int64_t m = l;
            while (l < n && (step == FACTOR_QL_STEPS || (m = factor_ql_end(r.d, r.e, n, l)) == l))
                l++, step = 0;
            is_done = l >= n;
            if (l < n) step++, from = m, turns = factor_ql_step(r.d, r.e, l, m, r.turn);
        }
        __syncthreads();
        if (is_done) return;
        for (int64_t j = threadIdx.x; j < n && turns; j += THREADS) {
            double y = r.q[from * n + j];
            for (int64_t k = 0; k < turns; k++) {
                double *const at = r.q + (from - 1 - k) * n + j;
                const double x = *at, c = r.turn[2 * k], s = r.turn[2 * k + 1];
                at[n] = s * x + c * y;
                y = c * x - s * y;
            }
            r.q[(from - turns) * n + j] = y;
        }
        __syncthreads();
    }
}
__device__ __forceinline__ void phase(const FactorArgs *A, const Room &r, FactorStep s, Team team,
                                      T *out) {
    const int64_t n = A->n, k = s.k, rest = n - k - 1;
    double *const v = r.a + k * n + k + 1, *const below = r.a + (k + 1) * n + k + 1;
    const bool is_finite = *r.scale == *r.scale;
    switch (s.phase) {
    case PHASE_VECTOR:
        reflect(v, 1, rest, r.v, r.p + k); /* thread 0 has written v[0] */
        if (threadIdx.x == 0) r.e[k] = v[0], v[0] = 1;
        break;
    case PHASE_ROWS:
        EACH_GROUP(i, 0, rest) {
            const double sum = dot(below + i * n, v, rest);
            if (threadIdx.x % GROUP == 0) r.v[i] = r.p[k] * sum;
        }
        break;
    case PHASE_FINISH: {
        if (r.p[k] == 0) break;
        const double f = -r.p[k] / 2 * dot_of_block(r.v, v, rest);
        EACH(i, 0, rest) r.v[i] += f * v[i];
        break;
    }
    case PHASE_UPDATE:
        EACH(e, 0, r.p[k] == 0 ? 0 : rest * rest) {
            const int64_t i = e / rest, j = e % rest;
            const double x = below[i * n + j] + -v[i] * r.v[j];
            below[i * n + j] = x + -r.v[i] * v[j];
        }
        break;
    case PHASE_CORNER: corner(A, r, team); break;
    case PHASE_TURN:
        if (is_finite) diagonalize(A, r);
        break;
    case PHASE_SORT: sort(r.d, r.order, n, false); break;
    default:
        EACH(e, 0, (n + 1) * n) {
            const int64_t i = e / n - 1, j = e % n;
            const double x = i < 0 ? r.d[j] * *r.scale : r.q[r.order[j] * n + i];
            out[e] = (T)(is_finite ? x : *r.scale);
        }
    }
}

#else /* SVD: k rows of l elements */

/* The square of the length of a row after a rotation that leaves `left` of `was`. */
__device__ __forceinline__ double length_left(const double *x, int64_t n, double was,
                                              double left) {
    return left > 0.125 * was ? left : dot(x, x, n);
}
/* One pair of rows, by a group. Returns true if it was turned. */
__device__ __forceinline__ bool turn_pair(const Room &r, int64_t p, int64_t q, int64_t k,
                                          int64_t l) {
    double *const x = r.a + p * l, *const y = r.a + q * l;
    double a = r.e[p], b = r.e[q], xy = dot(x, y, l), lengths = sqrt(a) * sqrt(b), c, t;
    const bool are_tiny = a < FACTOR_TINY || b < FACTOR_TINY;
    if (are_tiny) {
        const double of_x = factor_length(x, l, dot(x, x, l)), of_y = factor_length(y, l, dot(y, y, l));
        lengths = factor_tiny_products(x, y, l, of_x, of_y, &a, &b, &xy);
    }
    if (!(fabs(xy) > 2 * FACTOR_EPSILON * lengths)) return false;
    factor_turn(a, b, xy, &c, &t);
    const double s = c * t;
    __syncwarp(group_mask());
    EACH_OF_LANE(i, l) {
        const double u = x[i], v = y[i];
        x[i] = c * u - s * v, y[i] = s * u + c * v;
    }
    EACH_OF_LANE(i, k) {
        double *const one = r.q + p * k + i, *const two = r.q + q * k + i;
        const double u = *one, v = *two;
        *one = c * u - s * v, *two = s * u + c * v;
    }
    const double left = are_tiny ? dot(x, x, l) : length_left(x, l, a, a - t * xy);
    const double right = are_tiny ? dot(y, y, l) : length_left(y, l, b, b + t * xy);
    if (threadIdx.x % GROUP == 0) r.e[p] = left, r.e[q] = right;
    return true;
}
/* The engine cpu takes pair after pair: (0, 1), (0, 2) .. (1, 2), (1, 3) ... Those with one sum
 * p + q have no row in common, and of pairs with a common row those with the smaller sum come
 * first; so they go by their sum, all pairs of one sum at a time, and give the same bits. */
__device__ __forceinline__ void orthogonalize(const Room &r, int64_t k, int64_t l, Team team) {
    bool turned = true;
    for (int sweep = 0; turned && sweep < FACTOR_SWEEPS; sweep++) {
        turned = false;
        EACH_GROUP(i, 0, k) {
            const double sum = dot(r.a + i * l, r.a + i * l, l);
            if (threadIdx.x % GROUP == 0) r.e[i] = sum;
        }
        __syncthreads();
        for (int64_t sum = 1; sum <= 2 * k - 3; sum++) {
            EACH_GROUP(p, sum < k ? 0 : sum - k + 1, (sum + 1) / 2)
            if (turn_pair(r, p, sum - p, k, l)) turned = true;
            __syncthreads();
        }
        turned = __syncthreads_or(turned);
    }
}
/* The rows of no length, which come last, become unit vectors orthogonal to all before. A thread
 * has the same columns of all rows; find_most lies between them and sums over a row. */
__device__ __forceinline__ void fill(const Room &r, int64_t k, int64_t l, Team team) {
    for (int64_t i = 0; i < k; i++) {
        double *const x = r.a + r.order[i] * l;
        if (r.d[i] >= FACTOR_LEAST) {
            EACH(c, 0, l) x[c] /= r.d[i];
            continue;
        }
        double least = 0;
        int64_t at = -1;
        EACH(c, 0, l) {
            double covered = 0;
            for (int64_t o = 0; o < i; o++) {
                const double y = r.a[r.order[o] * l + c];
                covered += y * y;
            }
            if (at < 0 || -covered > least) least = -covered, at = c;
        }
        at = find_most(least, at, l);
        EACH(c, 0, l) x[c] = c == at ? 1 : 0;
        __syncthreads();
        for (int64_t o = 0; o < 2 * i; o++) {
            const double *const y = r.a + r.order[o % i] * l;
            const double f = -dot_of_block(x, y, l);
            EACH(c, 0, l) x[c] += f * y[c];
            __syncthreads();
        }
        const double norm = sqrt(dot_of_block(x, x, l));
        EACH(c, 0, l) x[c] /= norm;
    }
}
__device__ __forceinline__ void phase(const FactorArgs *A, const Room &r, FactorStep s, Team team,
                                      T *out) {
    const int64_t m = A->m, n = A->n, k = m < n ? m : n, l = m < n ? n : m;
    const bool is_finite = *r.scale == *r.scale;
    switch (s.phase) {
    case PHASE_UNIT: make_unit(r.q, k, k, team); break;
    case PHASE_TURN:
        if (is_finite) orthogonalize(r, k, l, team);
        break;
    case PHASE_SORT:
        if (!is_finite) break;
        EACH_GROUP(i, 0, k) {
            const double *const x = r.a + i * l, length = factor_length(x, l, dot(x, x, l));
            if (threadIdx.x % GROUP == 0) r.d[i] = length;
        }
        __syncthreads();
        sort(r.d, r.order, k, true);
        break;
    case PHASE_FILL:
        if (is_finite) fill(r, k, l, team);
        break;
    default:
        EACH(e, 0, (m + 1 + n) * k) {
            const int64_t i = e / k, j = e % k, w = i - m - 1, row = is_finite ? r.order[j] : 0;
            double x = *r.scale;
            if (is_finite && i < m) x = m >= n ? r.a[row * l + i] : r.q[row * k + i];
            if (is_finite && i == m) x *= r.d[j];
            if (is_finite && i > m) x = m >= n ? r.q[row * k + w] : r.a[row * l + w];
            out[e] = (T)x;
        }
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    FUSED(run)(const __grid_constant__ FactorArgs args) {
    const FactorArgs *const A = &args;
    const int64_t m = A->m, n = A->n, k = m < n ? m : n;
    const int64_t n_out = OP == FACTOR_QR ? (m + n) * n : OP == FACTOR_EIGH ? (n + 1) * n : (m + 1 + n) * k;
    for (int64_t block = blockIdx.x; block < A->matrices * A->parts; block += gridDim.x) {
        const int64_t i = block / A->parts;
        const Team team = {block % A->parts * THREADS + threadIdx.x, A->parts * THREADS};
        const Room r = room_of(A, i);
        for (int64_t at = A->begin; at < A->end; at++) {
            const FactorStep s = factor_step(OP, n, at);
            if (s.phase == PHASE_LOAD)
                load(A, r, team, A->matrix + i);
            else if (s.phase == PHASE_SCALE)
                find_scale(A, r);
            else if (s.phase == PHASE_SHRINK)
                shrink(A, r, team);
            else
                phase(A, r, s, team, (T *)A->out + (A->matrix + i) * n_out);
            __syncthreads();
        }
    }
}
