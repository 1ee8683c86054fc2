/* factor.h: the arguments of factor.cu, which includes this text, and its sequence of phases.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_FACTOR_H
#define GT_WORKER_CUDA_FACTOR_H
#include <stdint.h>

enum { FACTOR_AXES = 8, FACTOR_THREADS = 256 };
enum { FACTOR_QR = 1, FACTOR_EIGH, FACTOR_SVD };
/* Thread blocks `first` and on compute for matrices from `matrix` on, `parts` blocks for each, the
 * phases begin .. end - 1 of the sequence; if there are several phases, parts is 1. */
typedef struct FactorArgs {
    const char *x;
    char *out;
    double *room; /* `each` doubles for each matrix, from `matrix` on */
    int64_t each, matrix, matrices, rank, shape[FACTOR_AXES], x_batch[FACTOR_AXES], x_row, x_col;
    int64_t m, n, parts, begin, end;
} FactorArgs;

/* The phases. All threads of a matrix take part in those of several parts; the others have one
 * thread block. */
typedef enum FactorPhase {
    PHASE_LOAD,   /* the matrix is copied to `room` */
    PHASE_SCALE,  /* one block: finds the power of two by which it is divided */
    PHASE_SHRINK, /* divides */
    PHASE_VECTOR, /* one block: reflection k */
    PHASE_APPLY,  /* ... is applied: QR, to the columns behind */
    PHASE_UNIT,   /* Q begins as the unit matrix */
    PHASE_BACK,   /* reflection k is applied to Q: QR */
    PHASE_ROWS,   /* EIGH: rows times the vector */
    PHASE_FINISH, /* EIGH, one block: what is subtracted */
    PHASE_UPDATE, /* EIGH: both sides of the matrix */
    PHASE_CORNER, /* EIGH: the tridiagonal matrix, and all reflections are applied to Q */
    PHASE_TURN,   /* one block: rotations until the off-diagonal or the products are small */
    PHASE_SORT,   /* one block: the order of the values */
    PHASE_FILL,   /* SVD, one block: rows of no length */
    PHASE_STORE   /* the result */
} FactorPhase;
typedef struct FactorStep {
    FactorPhase phase;
    int64_t k; /* number of the reflection */
} FactorStep;

/* The number of phases, and the one at a place of the sequence. */
static inline int64_t factor_steps(int op, int64_t n) {
    return op == FACTOR_QR ? 3 * n + 5 : op == FACTOR_SVD ? 8 : 7 + 4 * (n > 2 ? n - 2 : 0);
}
static inline FactorStep factor_step(int op, int64_t n, int64_t at) {
    FactorStep s = {at == 0   ? PHASE_LOAD
                    : at == 1 ? PHASE_SCALE
                    : at == 2 ? PHASE_SHRINK
                              : PHASE_STORE,
                    0};
    const int64_t last = factor_steps(op, n) - 1, i = at - 3;
    if (at < 3 || at == last) return s;
    if (op == FACTOR_QR) {
        s.phase = i == 2 * n  ? PHASE_UNIT
                  : i > 2 * n ? PHASE_BACK
                  : i % 2     ? PHASE_APPLY
                              : PHASE_VECTOR;
        s.k = i > 2 * n ? 3 * n - i : i / 2;
    } else if (op == FACTOR_SVD) {
        s.phase = i == 0 ? PHASE_UNIT : i == 1 ? PHASE_TURN : i == 2 ? PHASE_SORT : PHASE_FILL;
    } else if (last - at <= 3) {
        s.phase = last - at == 3 ? PHASE_CORNER : last - at == 2 ? PHASE_TURN : PHASE_SORT;
    } else {
        static const FactorPhase each[] = {PHASE_VECTOR, PHASE_ROWS, PHASE_FINISH, PHASE_UPDATE};
        s.phase = each[i % 4];
        s.k = i / 4;
    }
    return s;
}
static inline int factor_is_alone(FactorPhase phase) {
    return phase == PHASE_SCALE || phase == PHASE_VECTOR || phase == PHASE_FINISH ||
           phase == PHASE_TURN || phase == PHASE_SORT || phase == PHASE_FILL;
}
/* The doubles of `room` for a matrix. k: min(m, n). */
static inline int64_t factor_room(int op, int64_t m, int64_t n) {
    const int64_t k = m < n ? m : n, l = m < n ? n : m;
    return op == FACTOR_QR     ? 2 * m * n + n + m + 1
           : op == FACTOR_EIGH ? 2 * n * n + 7 * n + 1
                               : k * l + k * k + 3 * k + l + 1;
}
#endif
