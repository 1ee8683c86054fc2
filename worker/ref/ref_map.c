/* ref_map.c: MAP and REDUCE rows of the reference engine: ops.def's own expressions, compiled
 * for each dtype. The F_xxx of the expressions are defined below for bool, whole numbers and
 * floats; ref_map_body.h and ref_reduce_body.h are the loops.
 * SPDX-License-Identifier: MIT */
#include "worker/ref/ref.h"

#include <math.h>
#include <stdlib.h>

/* ---- Whole numbers: in int64, wrapping ---- */

static int64_t int_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t int_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static int64_t int_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t int_neg(int64_t a) { return int_sub(0, a); }
static int64_t int_abs(int64_t a) { return a < 0 ? int_neg(a) : a; }
static int64_t int_sign(int64_t a) { return (a > 0) - (a < 0); }
static int64_t int_max(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t int_min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t int_floordiv(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return int_neg(a);
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
static int64_t int_mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static int64_t int_fmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static int64_t int_pow(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    int64_t result = 1;
    for (; b; b >>= 1, a = int_mul(a, a))
        if (b & 1) result = int_mul(result, a);
    return result;
}

/* ---- Floats: in double, rounded where they are stored ---- */

static double float_max(double a, double b) { return isnan(a) || a > b ? a : b; }
static double float_min(double a, double b) { return isnan(a) || a < b ? a : b; }
static double float_sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
/* As Python: the sign of the divisor. */
static double float_mod(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static double float_floordiv(double a, double b) {
    if (b == 0) return a / b;
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    return isfinite(q) ? rint(q) : q;
}
static double float_sigmoid(double a) { return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a)); }
static double float_softplus(double a) { return float_max(a, 0) + log1p(exp(-fabs(a))); }
/* The limit at -inf is 0. */
static double float_gelu(double a) { return a == -INFINITY ? 0 : a * 0.5 * erfc(-a * M_SQRT1_2); }

/* ---- One body per dtype ---- */

#define GLUE(a, b)  a##b
#define PASTE(a, b) GLUE(a, b)

#define REF_BOOL
#define T uint8_t
#define S b1
#include "worker/ref/ref_map_body.h"
#undef REF_BOOL

#define REF_INT
#define T uint8_t
#define S u8
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
#undef REF_INT

#define REF_FLOAT
#define T float
#define S f32
#include "worker/ref/ref_map_body.h"
#define T double
#define S f64
#define REF_REDUCES
#include "worker/ref/ref_map_body.h"
#undef REF_FLOAT

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

/* The extreme of nothing, which only a rank without rows asks for: the dtype's own last value. */
static void extreme_of_nothing(const Call *c) {
    const View *o = &c->out[0];
    int64_t n = type_numel(&o->type), lowest = 0, highest = 1;
    int bits = 8 * dtype_info[o->type.dtype].size_bytes;
    if (o->type.dtype == DT_U8)
        highest = UINT8_MAX;
    else if (o->type.dtype != DT_BOOL)
        highest = INT64_MAX >> (64 - bits), lowest = -highest - 1;
    for (int64_t i = 0; i < n; i++) ref_set_int(o, i, c->inst->op == OP_MAX ? lowest : highest);
}

void ref_reduce(const Call *c) {
    bool is_extreme = c->inst->op == OP_MAX || c->inst->op == OP_MIN;
    if (is_extreme && !ref_is_float(&c->in[0]) && ref_is_empty(&c->in[0].type))
        extreme_of_nothing(c);
    else if (ref_is_float(&c->in[0]))
        reduce_f64(c);
    else
        reduce_i64(c);
}
