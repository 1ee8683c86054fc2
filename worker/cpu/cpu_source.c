/* cpu_source.c: SOURCE rows: constants, ranges and random numbers as rng.h defines them.
 * Parts begin at multiples of 4 elements, because a Philox block makes four numbers.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include "runtime/base/rng.h"
#include <math.h>
#include <string.h>

typedef struct SourceRun {
    const Kernels *kernels;
    const Call *call;
    DType dtype;
    void *out;
    uint64_t seed, counter;
    int64_t low, high;
    int64_t shift; /* arange: element i of the part is element i + shift of the tensor */
} SourceRun;

/* Returns an immediate, which arrives as int64 or float64, as an element of dtype d. */
static uint64_t immediate(Cpu *c, const View *v, DType d) {
    uint64_t r = 0;
    if (v->type.dtype == d)
        copy_strided(&r, v->data, 1, 1, view_size(v));
    else
        cpu_cast(c->kernels, 1, &r, d, v->data, v->type.dtype);
    return r;
}

static void full(Cpu *c, const Call *call) {
    View value = {.type = {.dtype = call->out[0].type.dtype}};
    uint64_t bits = immediate(c, &call->in[0], (DType)value.type.dtype);
    value.data = &bits;
    value.type.rank = call->out[0].type.rank;
    for (int d = 0; d < value.type.rank; d++) value.type.shape[d] = call->out[0].type.shape[d];
    cpu_copy(c, &value, call->out[0].data); /* strides are all 0 */
}

static double number(const View *v) {
    return v->type.dtype == DT_F64 ? *(const double *)v->data : (double)*(const int64_t *)v->data;
}
static uint64_t whole(const View *v) {
    return v->type.dtype == DT_I64 ? *(const uint64_t *)v->data
                                   : (uint64_t)(int64_t) * (const double *)v->data;
}

static void arange_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const SourceRun *r = ctx;
    if (dtype_is_float(r->dtype)) {
        double start = number(&r->call->in[0]), step = number(&r->call->in[1]);
        if (dtype_is_half(r->dtype)) {
            float side[CPU_CHUNK];
            for (int64_t i = begin, n; i < end; i += n) {
                n = end - i < CPU_CHUNK ? end - i : CPU_CHUNK;
                for (int64_t k = 0; k < n; k++)
                    side[k] = (float)(start + (double)(i + k + r->shift) * step);
                cpu_cast(r->kernels, n, (uint16_t *)r->out + i, r->dtype, side, DT_F32);
            }
        } else if (r->dtype == DT_F32) {
            int64_t i = begin;
            for (; i + 8 <= end; i += 8) { /* whole numbers below 2^53 are exact: vectors */
                double at = (double)(i + r->shift);
                for (int k = 0; k < 8; k++)
                    ((float *)r->out)[i + k] = (float)(start + (at + k) * step);
            }
            for (; i < end; i++)
                ((float *)r->out)[i] = (float)(start + (double)(i + r->shift) * step);
        } else {
            for (int64_t i = begin; i < end; i++)
                ((double *)r->out)[i] = start + (double)(i + r->shift) * step;
        }
        return;
    }
    uint64_t start = whole(&r->call->in[0]), step = whole(&r->call->in[1]);
    for (int64_t i = begin; i < end; i++) {
        uint64_t v = start + (uint64_t)(i + r->shift) * step;
        switch (r->dtype) {
        case DT_I64: ((uint64_t *)r->out)[i] = v; break;
        case DT_I32: ((uint32_t *)r->out)[i] = (uint32_t)v; break;
        case DT_BOOL: ((uint8_t *)r->out)[i] = v != 0; break;
        default: ((uint8_t *)r->out)[i] = (uint8_t)v;
        }
    }
}

/* How many numbers are made before they are rounded to halves, or words before they are used. */
enum { MANY = 1024 };

/* Pairs of uniform doubles, of two words each, make pairs of normal ones. n may be odd. */
static void wide_normal(const Kernels *k, RandomAt at, int64_t n, double *out) {
    uint32_t word[MANY];
    for (int64_t i = 0; i < n; i += 2) {
        const uint32_t *w = word + 2 * i % MANY;
        if (w == word) {
            int64_t words = 2 * (n - i + 1);
            k->random_words(&at, words < MANY ? words : MANY, word);
            at.block += MANY / 4;
        }
        double u = rng_double(w[0], w[1]), v = rng_double(w[2], w[3]);
        double length = sqrt(-2 * log(1 - u)), turn = 2 * M_PI * v;
        out[i] = length * cos(turn);
        if (i + 1 < n) out[i + 1] = length * sin(turn);
    }
}
/* float32, or int32 as float32 for halves. */
static void narrow_numbers(const SourceRun *r, RandomAt at, int64_t n, float *out) {
    Op op = r->call->inst->op;
    int bits = r->dtype == DT_F16 ? RNG_F16_BITS : r->dtype == DT_BF16 ? RNG_BF16_BITS : 24;
    if (op == OP_RANDINT)
        r->kernels->random_int[DT_F32](&at, n, r->low, r->high, out);
    else if (op == OP_RANDN)
        r->kernels->random_normal(&at, n, out);
    else
        r->kernels->random_uniform(&at, n, bits, out);
}
/* Writes n numbers, the first of which is the first of block `block`. Halves are drawn as float32,
 * then rounded; except that a uniform number, which must stay below 1, takes fewer bits. */
static void numbers(const SourceRun *r, int64_t block, int64_t n, void *out) {
    const Kernels *k = r->kernels;
    RandomAt at = {r->seed, r->counter, (uint64_t)block};
    bool is_int = r->call->inst->op == OP_RANDINT, is_normal = r->call->inst->op == OP_RANDN;
    float side[MANY];
    if (dtype_is_half(r->dtype))
        for (int64_t i = 0, m; i < n; i += m, at.block += MANY / 4) {
            m = n - i < MANY ? n - i : MANY;
            narrow_numbers(r, at, m, side);
            cpu_cast(k, m, (uint16_t *)out + i, r->dtype, side, DT_F32);
        }
    else if (is_int)
        k->random_int[r->dtype](&at, n, r->low, r->high, out);
    else if (r->dtype != DT_F64)
        narrow_numbers(r, at, n, out);
    else if (is_normal)
        wide_normal(k, at, n, out);
    else
        k->random_uniform_f64(&at, n, out);
}

/* Writes numbers [at, at + n) of the whole tensor to the part, from element i on. A Philox block
 * may begin before `at`. */
static void random_run(const SourceRun *r, int64_t i, int64_t at, int64_t n) {
    const int size = dtype_info[r->dtype].size_bytes;
    const int64_t per_block = size == 8 ? 2 : 4, before = at % per_block;
    char *out = (char *)r->out + i * size;
    if (before) {
        char block[4 * sizeof(double)] __attribute__((aligned(16)));
        int64_t rest = per_block - before < n ? per_block - before : n;
        numbers(r, at / per_block, before + rest, block);
        memcpy(out, block + before * size, (size_t)(rest * size));
        at += rest, n -= rest, out += rest * size;
    }
    if (n > 0) numbers(r, at / per_block, n, out);
}
static void random_range(void *ctx, int64_t begin, int64_t end, int thread) {
    random_run(ctx, begin, begin, end - begin);
}

/* A part of a larger tensor (attribute `window`), in runs that are contiguous in the whole. */
static void window_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const SourceRun *r = ctx;
    const int64_t *w = inst_attr(r->call->inst, ATTR_WINDOW)->ints;
    const TensorType *t = &r->call->out[0].type;
    int64_t inner = 1;
    for (int d = (int)w[0] + 1; d < t->rank; d++) inner *= t->shape[d];
    int64_t row = t->shape[w[0]] * inner; /* elements per run */
    for (int64_t i = begin, n; i < end; i += n) {
        int64_t at = (i / row * w[2] + w[1]) * inner + i % row;
        n = end - i < row - i % row ? end - i : row - i % row;
        SourceRun run = *r;
        run.shift = at - i;
        if (r->call->inst->op == OP_ARANGE)
            arange_range(&run, i, i + n, thread);
        else
            random_run(&run, i, at, n);
    }
}

void cpu_source(Cpu *c, const Call *call) {
    const View *o = &call->out[0];
    int64_t n = type_numel(&o->type);
    SourceRun r = {.kernels = c->kernels, .call = call, .out = o->data};
    r.dtype = (DType)o->type.dtype;
    bool is_part = inst_attr(call->inst, ATTR_WINDOW) != NULL;
    switch (call->inst->op) {
    case OP_FULL: full(c, call); return;
    case OP_ARANGE: cpu_ranges(c, n, CPU_PART, is_part ? window_range : arange_range, &r); return;
    case OP_RANDINT:
        r.low = (int64_t)whole(&call->in[0]), r.high = (int64_t)whole(&call->in[1]);
        break;
    case OP_RAND:
    case OP_RANDN: break;
    default: panic("the cpu engine has no source '%s'", op_info[call->inst->op].name);
    }
    const int64_t *rng = inst_attr(call->inst, ATTR_RNG)->ints;
    r.seed = (uint64_t)rng[0], r.counter = (uint64_t)rng[1];
    cpu_ranges(c, n, CPU_PART / 4, is_part ? window_range : random_range, &r);
}
