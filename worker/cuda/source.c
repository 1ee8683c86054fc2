/* source.c: SOURCE rows but `full`: ranges and random numbers, by source.cu.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/source.h"
#include "runtime/base/rng.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/texts.h"
#include <stdio.h>

static double number(const View *v) {
    return v->type.dtype == DT_F64 ? *(const double *)v->data : (double)*(const int64_t *)v->data;
}
static int64_t whole(const View *v) {
    return v->type.dtype == DT_I64 ? *(const int64_t *)v->data
                                   : (int64_t) * (const double *)v->data;
}

/* The C expression that makes element i of a dtype; 8 bytes: from two words. */
static void make_text(Op op, DType d, char *to, size_t size) {
    const char *half = dtype_is_half(d) ? dtype_info[d].text : NULL;
    bool is_wide = dtype_info[d].size_bytes == 8, is_float = dtype_is_float(d);
    char value[64];
    if (op == OP_ARANGE)
        snprintf(value, sizeof value, "%s",
                 !is_float ? "make_range_int(A, i)"
                 : half    ? "(float)make_range(A, i)"
                           : "make_range(A, i)");
    else if (op == OP_RANDINT)
        snprintf(value, sizeof value, "%s(A, i)", is_wide ? "make_int_64" : "make_int");
    else if (is_wide)
        snprintf(value, sizeof value, "make_%s_f64(A, i)", op == OP_RAND ? "uniform" : "normal");
    else if (op == OP_RANDN)
        snprintf(value, sizeof value, "make_normal(A, i)");
    else
        snprintf(value, sizeof value, "make_uniform(A, i, %d)",
                 d == DT_F16    ? RNG_F16_BITS
                 : d == DT_BF16 ? RNG_BF16_BITS
                                : 24);
    if (half)
        snprintf(to, size, "f32_to_%s((float)%s)", half, value);
    else if (d == DT_BOOL)
        snprintf(to, size, "(%s) != 0", value);
    else
        snprintf(to, size, "(T)%s", value);
}

bool cuda_source(Cuda *c, const Call *call, Err *err) {
    const View *o = &call->out[0];
    Op op = call->inst->op;
    DType d = (DType)o->type.dtype;
    const Attr *rng = inst_attr(call->inst, ATTR_RNG), *window = inst_attr(call->inst, ATTR_WINDOW);
    SourceArgs args = {.out = o->data, .n = type_numel(&o->type), .inner = 1};
    if (args.n == 0) return true;
    args.row = args.rows = args.n;
    if (window) {
        for (int k = (int)window->ints[0] + 1; k < o->type.rank; k++)
            args.inner *= o->type.shape[k];
        args.row = o->type.shape[window->ints[0]] * args.inner;
        args.rows = window->ints[2], args.begin = window->ints[1];
    }
    if (rng) args.seed = (uint64_t)rng->ints[0], args.counter = (uint64_t)rng->ints[1];
    if (call->n_in > 1) {
        args.low = whole(&call->in[0]), args.high = whole(&call->in[1]);
        args.start = number(&call->in[0]), args.step = number(&call->in[1]);
    }
    char name[64], make[96];
    make_text(op, d, make, sizeof make);
    snprintf(name, sizeof name, "source %d %d", op, d);
    Bytes head = {0};
    bytes_printf(&head, "typedef %s T;\n#define MAKE %s\n", emit_ctype(d), make);
    const CudaKernel *k = cuda_written(c, name, &head, cuda_source_cu, NULL, err);
    return k && cuda_launch(c, k->run, args.n, &args);
}
