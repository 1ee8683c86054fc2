/* fail.h: failures of calls because of values, which the device records.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_FAIL_H
#define GT_WORKER_CUDA_FAIL_H
#include "worker/cuda/cuda.h"

/* The index operands of a call: BadIndex says what the fields mean. */
typedef struct Indices {
    int n, axis;
    View idx[MAX_DIMS];
    int64_t size[MAX_DIMS];
    TensorType common;
    bool from_zero, is_along;
} Indices;
/* records: FAIL_RECORDS bytes of device memory, which fail.c owns from now on. */
bool cuda_open_failures(Cuda *c, char *records);
void cuda_close_failures(Cuda *c);
/* A batch of matrices (n, n) that a call factorizes or solves with. at of a record: matrix * n +
 * pivot; of SOLVE 0 if a permutation is none, else one more. */
typedef struct Matrices {
    Op op;
    TensorType batch;
    int64_t n;
} Matrices;
/* Return a record for the newest call; *of is copied. NULL: the device is lost. */
IndexRecord *cuda_take_slot(Cuda *c, const Indices *of);
IndexRecord *cuda_take_matrix_slot(Cuda *c, const Matrices *of);
/* The same for all nodes of a fusion that may fail: fills f->args.bad. */
bool cuda_take_fused_slots(Cuda *c, Fusion *f);
void cuda_fail(Cuda *c, Ticket ticket, const Err *err);      /* the call has failed */
void cuda_mark_failures(Cuda *c, int mark);                  /* before that mark of the ring */
void cuda_pass_failures(Cuda *c, Ticket mark);               /* the mark is done */
bool cuda_failed(Engine *e, Ticket *t, int *node, Err *err); /* see EngineOps */
#endif
