/* cuda.h: the engine `cuda`, inside. One device, one stream, one arena: calls take effect in the
 * order of submission, so memory that is freed can be handed out again at once.
 *
 * The device's memory is one allocation. mem.c manages a sparse reservation of the host of the same
 * size, of which only the heads of blocks are ever touched; a device address is that address, moved
 * to the device's base. Pointers in views are device addresses.
 *
 * A call becomes kernels (kernel.c) of a fusion with one node (op.c), or of CUDA C written by hand.
 * A failure of the device ends up in `lost`: later calls do nothing and report it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_CUDA_H
#define GT_WORKER_CUDA_CUDA_H
#include "runtime/base/map.h"
#include "worker/cuda/libs.h"
#include "worker/emit/emit_cuda.h"
#include "worker/engine/host.h"

enum {
    CUDA_THREADS = 256, /* of a block, where a kernel does not say otherwise */
    STAGES = 2,
    STAGE_BYTES = 1 << 20
};

/* Pinned memory through which copies go. It may be written again once `is_read` is done. */
typedef struct Stage {
    char *host;
    CUevent is_read;
    bool is_busy;
} Stage;

typedef struct Cuda {
    HostEngine host; /* memory: the reservation; tickets of calls that failed */
    const CudaLibs *libs;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr base;
    char *shadow; /* the reservation */
    uint64_t total;
    int capability, arch; /* 10 * major + minor: the device's, and what kernels are compiled for */
    int processors;       /* SMs */
    bool is_ptx;          /* the driver assembles: NVRTC does not know the device */
    char isa[64], name[96];
    Stage stage[STAGES];
    int at_stage;
    Map kernels; /* by the hash of a signature or a name: struct CudaKernel, chained */
    Err lost;    /* code 0: it works */
} Cuda;

/* Records that a call of the driver failed, if it is the first. Returns code == CUDA_SUCCESS. */
bool cuda_try(Cuda *c, CUresult code, const char *call);
#define CALL(c, call, ...) cuda_try(c, (c)->libs->call(__VA_ARGS__), #call)

/* ---- kernel.c ---- */

typedef struct CudaKernel {
    CUmodule module;
    CUfunction run, finish; /* finish NULL: there is none */
    CudaForm form;
    int block;    /* elements of a block of a reduction */
    size_t bytes; /* of the signature or name that follows */
    struct CudaKernel *next;
    unsigned char key[];
} CudaKernel;
/* Returns the kernels of a fusion, compiled when first wanted. block: elements of the blocks of its
 * reductions along rows, FUSED_BLOCK or FUSED_LEAF. NULL: err says why. */
const CudaKernel *cuda_kernel(Cuda *c, const Fusion *f, int block, Err *err);
/* The kernel `run` of a source, by its name, which must tell it from all others. */
const CudaKernel *cuda_written(Cuda *c, const char *name, const char *source, Err *err);
void cuda_free_kernels(Cuda *c);
/* Launches `run` or `finish` for a number of independent units of work, CUDA_THREADS to a block, or
 * less than all at a time: kernels go on in steps of the grid. args: copied. */
bool cuda_launch(Cuda *c, CUfunction f, int64_t units, const void *args);
bool cuda_launch_rows(Cuda *c, const CudaKernel *k, const FusedArgs *args);

/* ---- op.c ---- */

bool cuda_run(Cuda *c, const Call *call, Err *err);
/* ---- source.c ---- */

bool cuda_source(Cuda *c, const Call *call, Err *err);

/* The text of the files NAME.cu, with what they include. */
extern const char cuda_copy_cu[], cuda_source_cu[];

/* Copies a view's elements to `to`, row-major. */
bool cuda_copy(Cuda *c, const View *v, void *to, Err *err);
#endif
