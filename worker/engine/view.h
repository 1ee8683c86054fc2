/* view.h: the VIEW rows as arithmetic on strides: no data moves. `to` is the result type that
 * inst_infer gave; attributes have been checked by it. Each returns false only where no strides
 * can do it (reshape).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_VIEW_H
#define GT_WORKER_ENGINE_VIEW_H
#include "worker/engine/engine.h"

bool view_apply(const Inst *inst, const View *from, const TensorType *to, View *out);
bool view_reshape(const View *from, const TensorType *to, View *out);
#endif
