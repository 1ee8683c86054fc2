/* engine.c: engines by name, and strides of views.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/engine.h"

#include <string.h>

const EngineOps *engine_find(const char *name) {
    if (!strcmp(name, "reference") || !strcmp(name, "numpy")) return &engine_reference;
    if (!strcmp(name, "cpu") || !strcmp(name, "pytorch")) return &engine_cpu;
    if (!strcmp(name, "null")) return &engine_null;
    return NULL;
}

void view_strides(const TensorType *t, int64_t *stride) {
    int64_t step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= t->shape[i];
    }
}

bool view_is_contiguous(const View *v) {
    int64_t step = 1;
    for (int i = v->type.rank - 1; i >= 0; i--) {
        if (v->type.shape[i] == 0) return true;
        if (v->type.shape[i] != 1 && v->stride[i] != step) return false;
        step *= v->type.shape[i];
    }
    return true;
}
