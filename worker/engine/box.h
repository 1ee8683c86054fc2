/* box.h: boxes, which are regions of tensors, and copies between views of host memory with
 * different strides.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_BOX_H
#define GT_WORKER_ENGINE_BOX_H
#include "runtime/layout/layout.h"
#include "worker/engine/engine.h"

/* Returns the view of region r of the whole tensor. v: the local part, which begins at `origin` of
 * the whole. */
View box_of(const View *v, const int64_t *origin, const Region *r);
void box_copy(const View *to, const View *from); /* same shape and dtype */
/* Copies bytes [begin, begin + bytes) of a box in row-major order, whole elements. */
void box_get(const View *box, uint64_t begin, uint64_t bytes, void *to);
void box_put(const View *box, uint64_t begin, uint64_t bytes, const void *from);
/* True if all elements of such a tensor at `offset` are aligned and within `bytes` of memory. */
bool box_lies_within(const TensorType *t, const int64_t *stride, uint64_t offset, uint64_t bytes);
#endif
