/* ref_source.c: SOURCE rows of the reference engine. Random numbers as defined by
 * runtime/base/rng.h: a pure function of seed, counter and element.
 * SPDX-License-Identifier: MIT */
#include "worker/ref/ref.h"
#include "runtime/base/rng.h"

#include <math.h>

/* The random words of element i: one for kinds up to 32 bits, two for 64. */
typedef struct Draw {
    uint32_t lo, hi;
} Draw;
static Draw draw(const int64_t *rng, bool is_wide, uint64_t i) {
    if (!is_wide) {
        Philox p = philox((uint64_t)rng[0], (uint64_t)rng[1], i / 4);
        return (Draw){.lo = p.w[i % 4]};
    }
    Philox p = philox((uint64_t)rng[0], (uint64_t)rng[1], i / 2);
    return (Draw){p.w[i % 2 * 2], p.w[i % 2 * 2 + 1]};
}
static double uniform(const int64_t *rng, bool is_wide, uint64_t i) {
    Draw d = draw(rng, is_wide, i);
    return is_wide ? rng_double(d.lo, d.hi) : rng_float(d.lo);
}
static double coarse(const int64_t *rng, DType d, uint64_t i) {
    return rng_half(draw(rng, false, i).lo, d == DT_F16 ? RNG_F16_BITS : RNG_BF16_BITS);
}
static double normal(const int64_t *rng, bool is_wide, uint64_t i) {
    double u = uniform(rng, is_wide, i & ~UINT64_C(1)), v = uniform(rng, is_wide, i | 1);
    double r = sqrt(-2 * log(1 - u)), turn = 2 * M_PI * v;
    return r * (i & 1 ? sin(turn) : cos(turn));
}
static int64_t integer(const int64_t *rng, bool is_wide, uint64_t i, const Call *c) {
    int64_t low = ref_int(&c->in[0], 0), high = ref_int(&c->in[1], 0);
    Draw d = draw(rng, is_wide, i);
    return is_wide ? rng_int64(d.lo, d.hi, low, high) : rng_int32(d.lo, low, high);
}

/* Returns the element of the whole tensor for element i of a part (attribute `window`). */
static uint64_t whole_index(const Call *c, int64_t i) {
    const Attr *w = inst_attr(c->inst, ATTR_WINDOW);
    const TensorType *t = &c->out[0].type;
    if (!w) return (uint64_t)i;
    int64_t inner = 1, rows = t->shape[w->ints[0]];
    for (int d = (int)w->ints[0] + 1; d < t->rank; d++) inner *= t->shape[d];
    int64_t outer = i / (rows * inner), rest = i % (rows * inner);
    return (uint64_t)((outer * w->ints[2] + w->ints[1]) * inner + rest);
}

void ref_source(const Call *c) {
    const View *o = &c->out[0];
    const Attr *rng = inst_attr(c->inst, ATTR_RNG);
    bool is_wide = dtype_info[o->type.dtype].size_bytes == 8, is_float = ref_is_float(o);
    int64_t n = type_numel(&o->type);
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = whole_index(c, i);
        switch (c->inst->op) {
        case OP_FULL:
            if (is_float)
                ref_set_float(o, i, ref_float(&c->in[0], 0));
            else
                ref_set_int(o, i, ref_int(&c->in[0], 0));
            break;
        case OP_ARANGE:
            if (is_float)
                ref_set_float(o, i, ref_float(&c->in[0], 0) + (double)at * ref_float(&c->in[1], 0));
            else
                ref_set_int(o, i,
                            (int64_t)((uint64_t)ref_int(&c->in[0], 0) +
                                      at * (uint64_t)ref_int(&c->in[1], 0)));
            break;
        case OP_RAND:
            if (dtype_is_half((DType)o->type.dtype))
                ref_set_float(o, i, coarse(rng->ints, (DType)o->type.dtype, at));
            else
                ref_set_float(o, i, uniform(rng->ints, is_wide, at));
            break;
        case OP_RANDN: ref_set_float(o, i, normal(rng->ints, is_wide, at)); break;
        case OP_RANDINT: ref_set_int(o, i, integer(rng->ints, is_wide, at, c)); break;
        default: panic("the reference engine has no source '%s'", op_info[c->inst->op].name);
        }
    }
}
