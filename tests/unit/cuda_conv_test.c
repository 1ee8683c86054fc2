/* cuda_conv_test: convolutions and their gradients on the engine cuda, on the emulated device of
 * tests/gpu, at sizes of several tiles: float64 and whole numbers have the bits of the engine cpu,
 * float32 and halves (there by oneDNN) are near, and small whole numbers bit-equal; an image has
 * the same bits alone and in a batch. (ops_test compares small sizes.)
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cuda_twin.h"

typedef struct Shape {
    int64_t N, C, H, W, O, K, stride, padding, dilation, groups;
} Shape;

static int64_t windows(int64_t in, const Shape *s) {
    return (in + 2 * s->padding - s->dilation * (s->K - 1) - 1) / s->stride + 1;
}

/* (n, c, h, w); with the channels innermost in memory if is_last. */
static Twin image(DType d, int64_t n, int64_t c, int64_t h, int64_t w, bool is_last) {
    Twin t = twin(d, n, c, h * w, 0);
    View *v[] = {&t.host, &t.device};
    for (int k = 0; k < 2; k++) {
        v[k]->type = (TensorType){(uint8_t)d, 4, {n, c, h, w}};
        view_strides(&v[k]->type, v[k]->stride);
        if (is_last) v[k]->stride[1] = 1, v[k]->stride[3] = c, v[k]->stride[2] = c * w;
    }
    return t;
}
static void drop_image(Twin *t) {
    free(t->host.data);
    cuda->ops->free(cuda, t->device.data, t->bytes);
}

typedef enum Direction { FORWARD, DX, DW } Direction;
static const uint8_t op_of[] = {OP_CONV, OP_CONV_DX, OP_CONV_DW};

/* The instruction of this kind, with a result of this shape. */
#define CONVOLUTION(kind, s, result)                                                               \
    (Inst) {                                                                                       \
        .op = op_of[kind], OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0),                       \
        ATTRS(attr_ints(ATTR_STRIDE, 2, (int64_t[]){(s)->stride, (s)->stride}),                    \
              attr_ints(ATTR_PADDING, 2, (int64_t[]){(s)->padding, (s)->padding}),                 \
              attr_ints(ATTR_DILATION, 2, (int64_t[]){(s)->dilation, (s)->dilation}),              \
              (Attr){.key = ATTR_GROUPS, .i = (s)->groups}, attr_ints(ATTR_SHAPE, 4, result))      \
    }

/* Returns the bytes of cuda's result. */
static char *try_conv(DType d, const Shape *s, Direction kind, bool is_last, bool is_near) {
    int64_t P = windows(s->H, s), Q = windows(s->W, s);
    Twin x = image(d, s->N, s->C, s->H, s->W, is_last),
         w = image(d, s->O, s->C / s->groups, s->K, s->K, is_last),
         y = image(d, s->N, s->O, P, Q, is_last);
    Twin in[2] = {kind == DX ? y : x, kind == DW ? y : w}, *out = kind == FORWARD ? &y
                                                                  : kind == DX    ? &x
                                                                                  : &w;
    view_strides(&out->host.type, out->host.stride),
        view_strides(&out->device.type, out->device.stride);
    Inst inst = CONVOLUTION(kind, s, out->host.type.shape);
    char *got, what[100];
    snprintf(what, sizeof what, "%s %s (%d,%d,%d,%d) O %d", op_info[inst.op].name,
             dtype_info[d].text, (int)s->N, (int)s->C, (int)s->H, (int)s->W, (int)s->O);
    run_both(&inst, in, out, &got);
    int64_t terms = kind == DW ? s->N * P * Q : (kind ? s->O : s->C) * s->K * s->K;
    check_twin(d, type_numel(&out->host.type), got, out->host.data, is_near ? near_by(d, terms) : 0,
               what);
    drop_image(&x), drop_image(&y), drop_image(&w);
    return got;
}

/* Computes images [first, first + n) of `in` on cuda into those of `out`. */
static void conv_images(Direction kind, const Shape *s, const Twin *in, const Twin *w,
                        const Twin *out, int64_t first, int64_t n) {
    View part[2] = {in->device, w->device}, result = out->device;
    int64_t size = dtype_info[result.type.dtype].size_bytes;
    part[0].type.shape[0] = result.type.shape[0] = n;
    part[0].data = (char *)part[0].data + first * part[0].stride[0] * size;
    result.data = (char *)result.data + first * result.stride[0] * size;
    Inst inst = CONVOLUTION(kind, s, result.type.shape);
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = part, .out = {result}};
    run(cuda, &call);
}
/* An image has the same bits alone and in a batch. */
static void try_alone(DType d, const Shape *s, Direction kind, bool is_last) {
    int64_t P = windows(s->H, s), Q = windows(s->W, s);
    Twin x = image(d, s->N, s->C, s->H, s->W, is_last), y = image(d, s->N, s->O, P, Q, is_last),
         w = image(d, s->O, s->C / s->groups, s->K, s->K, is_last);
    const Twin *in = kind == DX ? &y : &x;
    Twin out[2];
    for (int k = 0; k < 2; k++)
        out[k] = kind == DX ? image(d, s->N, s->C, s->H, s->W, false)
                            : image(d, s->N, s->O, P, Q, false);
    conv_images(kind, s, in, &w, &out[0], 0, s->N);
    for (int64_t k = 0; k < s->N; k++) conv_images(kind, s, in, &w, &out[1], k, 1);
    for (int k = 0; k < 2; k++) cuda->ops->copy_out(cuda, out[k].host.data, &out[k].device);
    settle();
    CHECK_MSG(!memcmp(out[0].host.data, out[1].host.data, out[0].bytes),
              "%s %s: an image has other bits alone than in a batch of %d", kind ? "dx" : "forward",
              dtype_info[d].text, (int)s->N);
    drop_image(&x), drop_image(&y), drop_image(&w), drop_image(&out[0]), drop_image(&out[1]);
}

static const Shape shapes[] = {
    {3, 5, 9, 11, 7, 3, 1, 1, 1, 1},  {2, 8, 17, 8, 70, 3, 2, 1, 1, 2},
    {70, 3, 8, 8, 4, 3, 1, 1, 1, 1},  {2, 2, 40, 33, 3, 2, 1, 0, 2, 1},
    {1, 70, 6, 7, 66, 1, 1, 0, 1, 1}, {2, 6, 12, 10, 6, 3, 3, 2, 2, 6},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static const Shape batches[] = {{5, 6, 11, 9, 10, 3, 1, 1, 1, 2}, {5, 40, 7, 8, 33, 3, 2, 1, 1, 1}};

int main(void) {
    if (!twins_open("cuda_conv")) return check_report("cuda_conv");
    static const DType dtypes[] = {DT_F64, DT_F32, DT_BF16, DT_I32};
    for (int k = 0; k < SHAPES; k++)
        for (int kind = 0; kind < 3; kind++)
            for (int d = 0; d < 4; d++) {
                bool by_library = d == 1 || d == 2;
                if (d > 1 && (k + kind) % 3) continue;
                free(try_conv(dtypes[d], &shapes[k], kind, (k + kind + d) % 2, by_library));
                is_whole = true;
                if (by_library) free(try_conv(dtypes[d], &shapes[k], kind, (k + kind) % 2, false));
                is_whole = false;
            }
    for (int k = 0; k < 8; k++)
        for (Direction kind = FORWARD; kind <= DX; kind++)
            try_alone(k % 2 ? DT_BF16 : DT_F32, &batches[k / 2 % 2], kind, k / 4);
    twins_close();
    return check_report("cuda_conv");
}
