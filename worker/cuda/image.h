/* image.h: images of kernels: compiled by NVRTC, or from the disk cache.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_IMAGE_H
#define GT_WORKER_CUDA_IMAGE_H
#include "worker/cuda/cuda.h"

/* What NVRTC makes of a source, or the disk cache has. */
typedef struct CudaImage {
    char key[MAKER_KEY];
    bool is_compiled;         /* else it was in the cache */
    int64_t begin_ns, end_ns; /* is_compiled: when */
    Bytes data;               /* PTX, or a cubin */
    uint64_t bytes;           /* its size, also when `data` is gone */
} CudaImage;
void cuda_open_images(Cuda *c); /* finds the cache; without one images are compiled each time */
/* source: what follows emit_cuda_head; it names its kernels FUSED(run), ..., which becomes kKEY_run
 * and so on. False: err says why; else the caller frees image->data. */
bool cuda_image(Cuda *c, const Bytes *source, CudaImage *image, Err *err);
/* Removes an image from the cache. False: it did not come from there, or cannot be removed. */
bool cuda_forget_image(Cuda *c, const CudaImage *image);
#endif
