/* view.h: the VIEW rows as arithmetic on strides; no data moves. `to` is the result type from
 * inst_infer, which has checked the attributes. Returns false if no strides can express the result
 * (reshape).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_VIEW_H
#define GT_WORKER_ENGINE_VIEW_H
#include "worker/engine/engine.h"

/* n bytes of device memory. */
static inline View bytes_view(void *data, uint64_t n) {
    return (View){.type = {.dtype = DT_U8, .rank = 1, .shape = {(int64_t)n}}, .stride = {1}, data};
}

bool view_apply(const Inst *inst, const View *from, const TensorType *to, View *out);
/* For a product with the attribute `nodes`: the operands' elements of node k, and its place in the
 * result. */
void view_of_node(const Call *call, const Attr *nodes, uint32_t k, View in[2], View *out);
#endif
