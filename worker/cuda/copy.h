/* copy.h: copies on the device, and to and from the host.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_COPY_H
#define GT_WORKER_CUDA_COPY_H
#include "worker/cuda/cuda.h"

bool cuda_copy(Cuda *c, const View *to, const View *from, Err *err);
/* Sets device memory to 0. False: the device is lost or has no room for it (Cuda.no_room), or calls
 * are recorded, which then cannot be. */
bool cuda_clear(Cuda *c, void *at, uint64_t bytes);
bool cuda_settle(Cuda *c); /* waits until the device has done everything */
/* The device has done all that lies before the mark. */
void cuda_passed(Cuda *c, Ticket mark);
void cuda_copy_in(Engine *e, void *device, const void *host, uint64_t bytes);
void cuda_copy_out(Engine *e, void *host, const View *v);
void cuda_copy_views(Engine *e, const View *to, const View *from);
void cuda_read(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host);
void cuda_write(Engine *e, const View *box, uint64_t begin, uint64_t bytes, const void *host);
uint64_t cuda_hash(Engine *e, const void *data, int64_t n, int size, uint64_t first,
                   uint16_t sample);
#endif
