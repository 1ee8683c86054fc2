/* ref_map.c: MAP and REDUCE rows of the reference engine: ops.def's own expressions, compiled
 * for each dtype with the F_xxx of expr.h. ref_map_body.h has the loops.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/expr.h"
#include "runtime/inst/reduction.h"
#include "worker/ref/ref.h"

#include <math.h>
#include <stdlib.h>

/* For each axis of x: how far a step along it moves the index of the result, and the index among
 * the elements that are folded into that result; one of the two is 0. Returns how many results
 * there are. */
static int64_t reduce_steps(const View *x, const Attr *axis, int64_t *out_step, int64_t *in_step) {
    int64_t step = 1, reduced = 1;
    for (int d = x->type.rank - 1; d >= 0; d--) {
        bool is_reduced = !axis;
        for (uint32_t i = 0; axis && i < axis->n; i++) is_reduced |= axis->ints[i] == d;
        if (!is_reduced)
            out_step[d] = step, step *= x->type.shape[d];
        else
            in_step[d] = reduced, reduced *= x->type.shape[d];
    }
    return step;
}

/* ---- One body per dtype ---- */

#define KIND b1
#define T    uint8_t
#define S    b1
#include "worker/ref/ref_map_body.h"
#undef KIND

#define KIND int
#define T    uint8_t
#define S    u8
#include "worker/ref/ref_map_body.h"
#define T int8_t
#define S i8
#include "worker/ref/ref_map_body.h"
#define T int32_t
#define S i32
#include "worker/ref/ref_map_body.h"
#define T int64_t
#define S i64
#define REF_REDUCES
#include "worker/ref/ref_map_body.h"
#undef KIND

#define KIND float
#define T    float
#define S    f32
#include "worker/ref/ref_map_body.h"
#define T double
#define S f64
#define REF_REDUCES
#include "worker/ref/ref_map_body.h"
#undef KIND

void ref_map(const Call *c) {
    /* The dtype of the row is the last operand's: where's first is bool. */
    switch (c->in[c->n_in - 1].type.dtype) {
    case DT_BOOL: map_b1(c); break;
    case DT_U8: map_u8(c); break;
    case DT_I8: map_i8(c); break;
    case DT_I32: map_i32(c); break;
    case DT_I64: map_i64(c); break;
    case DT_F32: map_f32(c); break;
    case DT_F64: map_f64(c); break;
    }
}

/* The extreme of no elements, which occurs only on a rank without rows. */
static void extreme_of_nothing(const Call *c) {
    const View *o = &c->out[0];
    int64_t n = type_numel(&o->type), least = op_neutral_int(c->inst->op, (DType)o->type.dtype);
    for (int64_t i = 0; i < n; i++) ref_set_int(o, i, least);
}

void ref_reduce(const Call *c) {
    if (op_has(c->inst->op, FACT_FIRST) && !ref_is_float(&c->in[0]) && ref_is_empty(&c->in[0].type))
        extreme_of_nothing(c);
    else if (ref_is_float(&c->in[0]))
        reduce_f64(c);
    else
        reduce_i64(c);
}
