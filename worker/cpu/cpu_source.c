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

enum { WORDS = 1024 };

/* Pairs of uniform doubles, of two words each, make pairs of normal ones. n may be odd. */
static void wide_normal(const uint32_t *w, double *out, int64_t n) {
    for (int64_t i = 0; i < n; i += 2, w += 4) {
        double u = rng_double(w[0], w[1]), v = rng_double(w[2], w[3]);
        double length = sqrt(-2 * log(1 - u)), turn = 2 * M_PI * v;
        out[i] = length * cos(turn);
        if (i + 1 < n) out[i + 1] = length * sin(turn);
    }
}
static void normal(const SourceRun *r, const uint32_t *w, float *out, int64_t n) {
    float last[2];
    r->kernels->random_normal(n / 2, w, out);
    if (n % 2 == 0) return;
    r->kernels->random_normal(1, w + n - 1, last);
    out[n - 1] = last[0];
}
/* Numbers `first` and on of the part. Halves are drawn as float32, then rounded; except that a
 * uniform number, which must stay below 1, takes fewer bits. */
static void numbers(const SourceRun *r, const uint32_t *w, int64_t first, int64_t n) {
    const Kernels *k = r->kernels;
    Op op = r->call->inst->op;
    bool is_half = dtype_is_half(r->dtype);
    float side[WORDS], *out = is_half ? side : (float *)r->out + first;
    if (op == OP_RANDINT && !is_half)
        k->random_int[r->dtype](n, w, r->low, r->high,
                                (char *)r->out + first * dtype_info[r->dtype].size_bytes);
    else if (op == OP_RANDINT)
        k->random_int[DT_F32](n, w, r->low, r->high, out);
    else if (r->dtype == DT_F64 && op == OP_RAND)
        k->random_uniform_f64(n, w, (double *)r->out + first);
    else if (r->dtype == DT_F64)
        wide_normal(w, (double *)r->out + first, n);
    else if (op == OP_RANDN)
        normal(r, w, out, n);
    else
        k->random_uniform(n, w,
                          r->dtype == DT_F16    ? RNG_F16_BITS
                          : r->dtype == DT_BF16 ? RNG_BF16_BITS
                                                : 24,
                          out);
    if (is_half) cpu_cast(k, n, (uint16_t *)r->out + first, r->dtype, side, DT_F32);
}

static void random_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const SourceRun *r = ctx;
    uint32_t word[WORDS];
    bool is_wide = dtype_info[r->dtype].size_bytes == 8;
    int64_t per_block = is_wide ? 2 : 4, step = WORDS / 4 * per_block;
    for (int64_t i = begin; i < end; i += step) {
        int64_t n = end - i < step ? end - i : step;
        int64_t blocks = (n + per_block - 1) / per_block;
        r->kernels->random_words(r->seed, r->counter, (uint64_t)(i / per_block), blocks, word);
        numbers(r, word, i, n);
    }
}

/* Writes numbers [at, at + n) of the whole tensor to the part, from element i on. A Philox block
 * may begin before `at`. */
static void random_run(const SourceRun *r, int64_t i, int64_t at, int64_t n) {
    uint32_t word[WORDS];
    char number[WORDS * 4] __attribute__((aligned(64)));
    SourceRun side = *r;
    side.out = number;
    int size = dtype_info[r->dtype].size_bytes;
    int64_t per_block = size == 8 ? 2 : 4, step = WORDS / 4 * per_block;
    while (n > 0) {
        int64_t before = at % per_block, count = n + before < step ? n + before : step;
        int64_t blocks = (count + per_block - 1) / per_block;
        r->kernels->random_words(r->seed, r->counter, (uint64_t)(at / per_block), blocks, word);
        numbers(&side, word, 0, count);
        count -= before;
        memcpy((char *)r->out + i * size, number + before * size, (size_t)(count * size));
        i += count, at += count, n -= count;
    }
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
