/* aside.h: work in a thread of its own, while the engine's thread waits.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_ASIDE_H
#define GT_WORKER_CUDA_ASIDE_H
#include "worker/cuda/cuda.h"

typedef struct Aside Aside;
struct Aside {
    void (*run)(Aside *work);  /* in any thread; a later work has another one */
    void (*drop)(Aside *work); /* frees it and its result */
};
/* Runs work, and calls is_cancelled every few ms until it has ended. False, with ERR_CANCELLED:
 * is_cancelled returned true; `work` is dropped when it has ended. */
bool cuda_aside(Cuda *c, Aside *work, Err *err);
void cuda_end_aside(Cuda *c); /* waits for the end of what a cancel has left */
#endif
