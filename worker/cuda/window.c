/* window.c: poolings, by window.cu.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/window.h"
#include "runtime/infer/window.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/hosted.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/texts.h"
#include <stdio.h>

enum { ROW_MAX = 1, ROW_MEAN, ROW_MEAN_DX };

static bool run(Cuda *c, const Call *call, const void *x, Err *err) {
    const View *from = &call->in[0], *o = &call->out[0];
    Op op = call->inst->op;
    bool is_dx = op == OP_AVG_POOL_DX;
    int row = op == OP_MAX_POOL ? ROW_MAX : is_dx ? ROW_MEAN_DX : ROW_MEAN;
    DType d = (DType)from->type.dtype;
    PoolShape s;
    pool_shape(&s, call->inst, is_dx ? &o->type : &from->type, is_dx ? &from->type : &o->type);
    WindowArgs a = {.x = x, .y = o->data, .n = type_numel(&o->type), .count_pad = s.count_pad};
    if (call->n_out > 1) a.place = call->out[1].data;
    a.divisor = s.divisor;
    for (int i = 0; i < WINDOW_AXES; i++) {
        if (s.window.kernel[i] > INT32_MAX) return cuda_hosted(c, call, err); /* see inside() */
        a.in[i] = s.window.in[i], a.out[i] = s.window.out[i], a.kernel[i] = s.window.kernel[i];
        a.stride[i] = s.window.stride[i], a.padding[i] = s.window.padding[i];
        a.dilation[i] = s.window.dilation[i];
    }
    char name[32];
    Bytes head = {0};
    snprintf(name, sizeof name, "window %d %d", row, d);
    bytes_printf(&head, "typedef %s T;\n#define ROW %d\n", emit_ctype(d), row);
    if (dtype_is_float(d))
        bytes_puts(&head, "#define LOWEST (-__builtin_inff())\n");
    else
        bytes_printf(&head, "#define LOWEST %s_lowest\n", dtype_info[d].text);
    const CudaKernel *k = cuda_written(c, name, &head, cuda_window_cu, NULL, err);
    return k && cuda_launch(c, k->run, a.n, &a);
}

static bool pool(Cuda *c, const Call *call, Err *err) {
    const View *x = &call->in[0];
    Engine *e = &c->host.engine;
    if (type_numel(&call->out[0].type) == 0) return true;
    if (view_is_contiguous(x)) return run(c, call, x->data, err);
    View to = view_dense(&x->type, e->ops->alloc(e, type_bytes(&x->type)));
    if (!to.data) return err_set(err, ERR_MEMORY, "no memory for a copy of the operand");
    bool ok = cuda_copy(c, &to, x, err) && run(c, call, to.data, err);
    e->ops->free(e, to.data, type_bytes(&to.type));
    return ok;
}
bool cuda_MAX_POOL(Cuda *c, const Call *call, Err *err) { return pool(c, call, err); }
bool cuda_AVG_POOL(Cuda *c, const Call *call, Err *err) { return pool(c, call, err); }
bool cuda_AVG_POOL_DX(Cuda *c, const Call *call, Err *err) { return pool(c, call, err); }
