/* kernel.h: kernels of fusions and of CUDA C written by hand; launches.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_KERNEL_H
#define GT_WORKER_CUDA_KERNEL_H
#include "worker/cuda/cuda.h"

typedef struct CudaKernel {
    FusedKernel fused; /* first; of its functions none is set */
    CUmodule module;
    CUfunction run, finish, total; /* finish, total NULL: there is none */
    CudaForm form;
    int block;    /* elements of a block of a reduction */
    size_t bytes; /* of the signature or name that follows */
    struct CudaKernel *next;
    unsigned char key[];
} CudaKernel;
/* Returns the kernels of a fusion, compiled when first wanted. block: elements of the blocks of its
 * reductions along rows, FUSED_BLOCK or FUSED_LEAF. NULL: err says why. */
const CudaKernel *cuda_kernel(Cuda *c, const Fusion *f, int block, Err *err);
/* The kernel `run` of the source head + body, by its name, which must tell it from all others; and,
 * as `finish`, the kernel `second`, unless that is NULL. Frees head. */
const CudaKernel *cuda_written(Cuda *c, const char *name, Bytes *head, const char *body,
                               const char *second, Err *err);
void cuda_free_kernels(Cuda *c);
typedef struct CudaGrid {
    unsigned blocks, x, y; /* x * y threads to a block */
    unsigned shared;       /* bytes of a block, beside those that the kernel declares */
} CudaGrid;
/* Launches a kernel whose one parameter is *args (of so many bytes), which is copied; or records
 * it. False: the device is lost, or has no room for it (Cuda.no_room). */
bool cuda_start(Cuda *c, CUfunction f, const CudaGrid *grid, const void *args, size_t bytes);
/* Launches `blocks` thread blocks of `threads`, or fewer: kernels go on in steps of the grid. */
bool cuda_launch_sized(Cuda *c, CUfunction f, int64_t blocks, int threads, const void *args,
                       size_t bytes);
#define cuda_launch_blocks(c, f, blocks, threads, args)                                            \
    cuda_launch_sized(c, f, blocks, threads, args, sizeof *(args))
/* The same for a number of independent units of work, CUDA_THREADS to a block. */
#define cuda_launch(c, f, units, args)                                                             \
    cuda_launch_blocks(c, f, ((units) + CUDA_THREADS - 1) / CUDA_THREADS, CUDA_THREADS, args)
bool cuda_launch_rows(Cuda *c, const CudaKernel *k, FusedArgs *args);
/* True if it keeps the rows in shared memory: args->table is not used. */
bool cuda_holds_rows(const CudaKernel *k, const FusedArgs *args);

extern const Maker cuda_maker;
#endif
