/* conv_test: convolutions and poolings of the cpu engine at sizes that are split into tiles. The
 * bits must not depend on the number of threads, for float32 values whose sums round; they must be
 * close to sums in double; all memory must be freed; too little memory must give an error.
 * (ops_test compares all rows at small sizes with the reference engine.)
 * SPDX-License-Identifier: MIT */
#include "runtime/infer/window.h"
#include "tests/unit/cpu_engines.h"
#include <math.h>

/* Row-major, or with the channels innermost in memory. */
static View tensor(DType d, const int64_t *shape, bool channels_last) {
    View v = {.type = {.dtype = (uint8_t)d, .rank = 4}};
    memcpy(v.type.shape, shape, sizeof(int64_t) * 4);
    view_strides(&v.type, v.stride);
    if (channels_last) {
        v.stride[1] = 1, v.stride[3] = shape[1], v.stride[2] = shape[1] * shape[3];
        v.stride[0] = shape[1] * shape[2] * shape[3];
    }
    fill_random(&v);
    return v;
}

typedef struct Shape {
    int64_t N, C, H, W, O, K, stride, padding, dilation, groups;
} Shape;

/* Computes element i of the result of kind 0 (y), 1 (dx), 2 (dw) in double; *terms: its number of
 * terms. */
static double direct(const Shape *s, int kind, const View *x, const View *w, const View *y,
                     const int64_t *i, double *terms) {
    int64_t C = s->C / s->groups, O = s->O / s->groups, H = x->type.shape[2], W = x->type.shape[3];
    int64_t P = y->type.shape[2], Q = y->type.shape[3];
    double sum = 0;
    for (int64_t n = 0; n < s->N; n++) {
        if (kind != 2 && n != i[0]) continue;
        for (int64_t o = 0; o < s->O; o++) {
            if (kind == 0 ? o != i[1] : kind == 2 ? o != i[0] : o / O != i[1] / C) continue;
            for (int64_t c = 0; c < C; c++) {
                int64_t ch = o / O * C + c;
                if (kind == 1 ? ch != i[1] : kind == 2 && c != i[1]) continue;
                for (int64_t k = 0; k < s->K * s->K; k++) {
                    int64_t kh = k / s->K, kw = k % s->K;
                    if (kind == 2 && (kh != i[2] || kw != i[3])) continue;
                    for (int64_t p = 0; p < P * Q; p++) {
                        int64_t h = p / Q * s->stride - s->padding + kh * s->dilation;
                        int64_t v = p % Q * s->stride - s->padding + kw * s->dilation;
                        if (h < 0 || h >= H || v < 0 || v >= W) continue;
                        if (kind == 0 && (p / Q != i[2] || p % Q != i[3])) continue;
                        if (kind == 1 && (h != i[2] || v != i[3])) continue;
                        double a = element_at(x, (int64_t[]){n, ch, h, v});
                        double b = element_at(w, (int64_t[]){o, c, kh, kw});
                        double dy = element_at(y, (int64_t[]){n, o, p / Q, p % Q});
                        sum += kind == 0 ? a * b : kind == 1 ? dy * b : a * dy;
                        ++*terms;
                    }
                }
            }
        }
    }
    return sum;
}

static void try_conv(DType d, const Shape *s, int kind, bool channels_last) {
    int64_t P = window_count(s->H, s->K, s->stride, s->padding, s->dilation, false);
    int64_t Q = window_count(s->W, s->K, s->stride, s->padding, s->dilation, false);
    int64_t stride[] = {s->stride, s->stride}, padding[] = {s->padding, s->padding};
    int64_t dilation[] = {s->dilation, s->dilation};
    View x = tensor(d, (int64_t[]){s->N, s->C, s->H, s->W}, channels_last);
    View w = tensor(d, (int64_t[]){s->O, s->C / s->groups, s->K, s->K}, channels_last);
    View y = tensor(d, (int64_t[]){s->N, s->O, P, Q}, channels_last);
    static const Op ops[] = {OP_CONV, OP_CONV_DX, OP_CONV_DW};
    View in[3][2] = {{x, w}, {y, w}, {x, y}}, *out[3] = {&y, &x, &w};
    Attr groups = {.key = ATTR_GROUPS, .i = s->groups};
    Inst inst = {.op = ops[kind],
                 OPERANDS(of_tensor(0), of_tensor(0)),
                 ATTRS(attr_ints(ATTR_STRIDE, 2, stride), attr_ints(ATTR_PADDING, 2, padding),
                       attr_ints(ATTR_DILATION, 2, dilation), groups,
                       attr_ints(ATTR_SHAPE, 4, out[kind]->type.shape)),
                 RESULTS(0)};
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in[kind]};
    call.out[0].type = out[kind]->type;
    view_strides(&call.out[0].type, call.out[0].stride);
    char what[160];
    snprintf(what, sizeof what, "%s %s (%lld,%lld,%lld,%lld) to %lld by %lld/%lld+%lld groups %lld",
             op_info[ops[kind]].name, dtype_info[d].name, (long long)s->N, (long long)s->C,
             (long long)s->H, (long long)s->W, (long long)s->O, (long long)s->K,
             (long long)s->stride, (long long)s->padding, (long long)s->groups);
    run_all(&call, what);
    double worst = 0;
    for (int k = 0; k < 40; k++) {
        int64_t i[4];
        for (int a = 0; a < 4; a++)
            i[a] = (int64_t)(rnd_unit() * (double)call.out[0].type.shape[a]);
        double terms = 1, want = direct(s, kind, &x, &w, &y, i, &terms);
        worst = fmax(worst, fabs(want - element_at(&call.out[0], i)) / sqrt(terms));
    }
    CHECK_MSG(worst < (d == DT_F32 ? 1e-6 : 1e-14), "%s is off by %g", what, worst);
    free(call.out[0].data), free(x.data), free(w.data), free(y.data);
}

static void try_pool(Op op, int64_t planes, int64_t H, int64_t kernel) {
    int64_t size[] = {kernel, kernel};
    int64_t P = window_count(H, kernel, kernel, 0, 1, false);
    View in = tensor(DT_F32, (int64_t[]){2, planes, H, H}, false);
    View small = tensor(DT_F32, (int64_t[]){2, planes, P, P}, false);
    bool is_dx = op == OP_AVG_POOL_DX;
    Attr attr[] = {{.key = ATTR_KERNEL, .n = 2, .ints = size},
                   {.key = ATTR_SHAPE, .n = 4, .ints = in.type.shape}};
    Operand operand = {.kind = IN_TENSOR};
    Inst inst = {.op = op, .n_in = 1, .in = &operand, .attr = attr, .n_attr = is_dx ? 2 : 1};
    inst.n_out = (uint8_t)op_outputs(op);
    Call call = {.inst = &inst, .n_in = 1, .n_out = inst.n_out, .in = is_dx ? &small : &in};
    call.out[0] = is_dx ? in : small;
    call.out[1].type = small.type;
    call.out[1].type.dtype = DT_I64;
    view_strides(&small.type, call.out[1].stride);
    call.out[1].data = malloc((size_t)type_bytes(&call.out[1].type) + 64);
    run_all(&call, op_info[op].name);
    free(call.out[0].data), free(call.out[1].data), free(in.data), free(small.data);
}

/* An image that is too large for tiles. */
static void test_memory(void) {
    Err err = {0};
    Engine *e = engine_cpu.open(&(EngineConfig){.memory_bytes = 1 << 20, .threads = 1}, &err);
    View in[2] = {tensor(DT_F32, (int64_t[]){1, 32, 128, 128}, false),
                  tensor(DT_F32, (int64_t[]){32, 32, 3, 3}, false)};
    View out = tensor(DT_F32, (int64_t[]){1, 32, 126, 126}, false);
    Inst inst = {.op = OP_CONV, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in, .out = {out}};
    Ticket t = e->ops->submit(e, &call, NULL, 0);
    int done = e->ops->done(e, t, true, &err);
    CHECK(done == 1 || (err.code == ERR_MEMORY && strstr(err.text, "out of memory: 'conv' needs")));
    uint64_t used, peak, total;
    e->ops->memory(e, &used, &peak, &total);
    CHECK_INT(used, 0);
    engine_cpu.close(&e);
    free(in[0].data), free(in[1].data), free(out.data);
}

int main(void) {
    engines_open(256 << 20);
    static const Shape shapes[] = {
        /* N, C, H, W, O, kernel, stride, padding, dilation, groups */
        {9, 16, 14, 15, 24, 3, 1, 1, 1, 1},  {33, 1, 28, 28, 16, 3, 1, 1, 1, 1},
        {1, 48, 20, 20, 150, 3, 1, 1, 1, 1}, {3, 20, 17, 13, 70, 3, 2, 1, 1, 1},
        {4, 32, 12, 12, 64, 1, 1, 0, 1, 1},  {5, 12, 16, 16, 18, 3, 1, 2, 2, 3},
        {6, 16, 15, 15, 16, 3, 1, 1, 1, 16}, {2, 3, 40, 40, 16, 7, 2, 3, 1, 1},
        {20, 8, 9, 9, 130, 2, 2, 0, 1, 1},   {2, 96, 6, 6, 200, 3, 1, 1, 1, 1},
        {40, 2, 30, 5, 5, 5, 3, 4, 1, 1},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int kind = 0; kind < 3; kind++) {
            try_conv(DT_F32, &shapes[i], kind, i % 3 == 1);
            if (i % 2 == 0) try_conv(DT_F64, &shapes[i], kind, false);
        }
    }
    try_pool(OP_MAX_POOL, 40, 32, 2);
    try_pool(OP_AVG_POOL, 40, 33, 3);
    try_pool(OP_AVG_POOL_DX, 40, 33, 3);
    test_memory();
    engines_close();
    return check_report("conv");
}
