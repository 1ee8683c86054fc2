/* factor.c: QR, eigenvalues of symmetric matrices and singular values, by factor.cu.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/factor.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/texts.h"
#include <stdio.h>

enum {
    SMALL = 64 * 64, /* elements of a matrix that a thread block factorizes by itself */
    PER_PROCESSOR = 8,
    UNITS = 4 * FACTOR_THREADS /* elements that a thread block takes in a phase of many blocks */
};

static int op_of(Op op) {
    return op == OP_QR ? FACTOR_QR : op == OP_EIGH ? FACTOR_EIGH : FACTOR_SVD;
}

static const CudaKernel *kernel_of(Cuda *c, int op, DType d, Err *err) {
    char name[32];
    Bytes head = {0};
    snprintf(name, sizeof name, "factor %d %d", op, d);
    bytes_printf(&head, "typedef %s T;\n#define OP %d\n", emit_ctype(d), op);
    return cuda_written(c, name, &head, cuda_factor_cu, NULL, err);
}

/* Threads that find something to do in a phase. */
static int64_t units_of(const FactorArgs *a, FactorStep s) {
    int64_t n = a->n - s.k;
    switch (s.phase) {
    case PHASE_APPLY:
    case PHASE_BACK: return n * (UNITS / FACTOR_THREADS); /* a column each */
    case PHASE_ROWS: return n * 8 * (UNITS / FACTOR_THREADS);
    case PHASE_CORNER: return a->n * 8 * (UNITS / FACTOR_THREADS);
    case PHASE_UPDATE: return n * n;
    default: return a->m * a->n;
    }
}

/* Factorizes the matrices from a->matrix on. */
static bool run(Cuda *c, const CudaKernel *k, int op, FactorArgs *a, bool is_small) {
    int64_t steps = factor_steps(op, a->n), most = (int64_t)PER_PROCESSOR * c->processors;
    bool ok = true;
    a->parts = 1, a->begin = 0, a->end = steps;
    if (is_small) return cuda_launch_blocks(c, k->run, a->matrices, FACTOR_THREADS, a);
    for (int64_t at = 0; at < steps && ok; at++) {
        FactorStep s = factor_step(op, a->n, at);
        a->parts = factor_is_alone(s.phase) ? 1 : (units_of(a, s) + UNITS - 1) / UNITS;
        if (a->parts * a->matrices > most) a->parts = most / a->matrices;
        if (a->parts < 1) a->parts = 1;
        a->begin = at, a->end = at + 1;
        ok = cuda_launch_blocks(c, k->run, a->parts * a->matrices, FACTOR_THREADS, a);
    }
    return ok;
}

static bool factor(Cuda *c, const Call *call, Err *err) {
    const View *x = &call->in[0], *o = &call->out[0];
    Engine *e = &c->host.engine;
    int rank = o->type.rank, op = op_of(call->inst->op);
    if (type_numel(&o->type) == 0) return true;
    FactorArgs a = {.x = x->data, .out = o->data, .rank = rank - 2};
    a.m = x->type.shape[rank - 2], a.n = x->type.shape[rank - 1];
    a.x_row = x->stride[rank - 2], a.x_col = x->stride[rank - 1];
    int64_t count = 1, together = (int64_t)PER_PROCESSOR * c->processors, bytes;
    for (int d = 0; d < rank - 2; d++) {
        count *= a.shape[d] = x->type.shape[d];
        a.x_batch[d] = x->stride[d];
    }
    const CudaKernel *k = kernel_of(c, op, (DType)x->type.dtype, err);
    if (!k) return false;
    a.each = factor_room(op, a.m, a.n);
    if (together > count) together = count;
    for (;; together = (together + 1) / 2) {
        bytes = together * a.each * (int64_t)sizeof(double);
        if ((a.room = e->ops->alloc(e, (uint64_t)bytes))) break;
        if (together == 1) return err_set(err, ERR_MEMORY, "no memory to factorize a matrix in");
    }
    bool is_small = a.m * a.n <= SMALL || together >= c->processors, ok = true;
    for (; a.matrix < count && ok; a.matrix += a.matrices) {
        a.matrices = count - a.matrix < together ? count - a.matrix : together;
        ok = run(c, k, op, &a, is_small);
    }
    e->ops->free(e, a.room, (uint64_t)bytes);
    return ok;
}
bool cuda_QR(Cuda *c, const Call *call, Err *err) { return factor(c, call, err); }
bool cuda_EIGH(Cuda *c, const Call *call, Err *err) { return factor(c, call, err); }
bool cuda_SVD(Cuda *c, const Call *call, Err *err) { return factor(c, call, err); }
