/* ref_map_body.h: the loops of ref_map.c for one dtype; included once for each, with T, S (a
 * suffix) and one of REF_BOOL, REF_INT, REF_FLOAT defined, and REF_REDUCES where reductions are
 * wanted too (their T is the accumulator's). No guard: it is meant to be included many times.
 * Undefines T, S and REF_REDUCES.
 * SPDX-License-Identifier: MIT */

/* ---- What the expressions mean for this dtype ---- */

#if defined REF_BOOL
#define F_ADD(a, b) ((a) | (b))
#define F_MUL(a, b) ((a) & (b))
#define F_MAX(a, b) ((a) | (b))
#define F_MIN(a, b) ((a) & (b))
#define F_NOT(a)    (!(a))
#elif defined REF_INT
#define F_ADD(a, b)      int_add(a, b)
#define F_SUB(a, b)      int_sub(a, b)
#define F_MUL(a, b)      int_mul(a, b)
#define F_FLOORDIV(a, b) int_floordiv(a, b)
#define F_MOD(a, b)      int_mod(a, b)
#define F_FMOD(a, b)     int_fmod(a, b)
#define F_POW(a, b)      int_pow(a, b)
#define F_MAX(a, b)      int_max(a, b)
#define F_MIN(a, b)      int_min(a, b)
#define F_NEG(a)         int_neg(a)
#define F_ABS(a)         int_abs(a)
#define F_SIGN(a)        int_sign(a)
#define F_FLOOR(a)       (a)
#define F_CEIL(a)        (a)
#define F_ROUND(a)       (a)
#define F_TRUNC(a)       (a)
#define F_ISNAN(a)       ((void)(a), 0)
#define F_ISFINITE(a)    ((void)(a), 1)
#define F_NOT(a)         (~(a))
#define F_LOWEST         INT64_MIN
#define F_HIGHEST        INT64_MAX
#else
#define F_ADD(a, b)      ((T)((a) + (b)))
#define F_SUB(a, b)      ((T)((a) - (b)))
#define F_MUL(a, b)      ((T)((a) * (b)))
#define F_FLOORDIV(a, b) float_floordiv(a, b)
#define F_MOD(a, b)      float_mod(a, b)
#define F_FMOD(a, b)     fmod(a, b)
#define F_ATAN2(a, b)    atan2(a, b)
#define F_HYPOT(a, b)    hypot(a, b)
#define F_POW(a, b)      pow(a, b)
#define F_MAX(a, b)      float_max(a, b)
#define F_MIN(a, b)      float_min(a, b)
#define F_NEG(a)         (-(a))
#define F_ABS(a)         fabs(a)
#define F_SIGN(a)        float_sign(a)
#define F_EXP(a)         exp(a)
#define F_EXPM1(a)       expm1(a)
#define F_LOG(a)         log(a)
#define F_LOG1P(a)       log1p(a)
#define F_SQRT(a)        sqrt(a)
#define F_SIN(a)         sin(a)
#define F_COS(a)         cos(a)
#define F_TAN(a)         tan(a)
#define F_ASIN(a)        asin(a)
#define F_ACOS(a)        acos(a)
#define F_ATAN(a)        atan(a)
#define F_SINH(a)        sinh(a)
#define F_COSH(a)        cosh(a)
#define F_ASINH(a)       asinh(a)
#define F_ACOSH(a)       acosh(a)
#define F_ATANH(a)       atanh(a)
#define F_LOG2(a)        log2(a)
#define F_LOG10(a)       log10(a)
#define F_EXP2(a)        exp2(a)
#define F_TANH(a)        tanh(a)
#define F_ERF(a)         erf(a)
#define F_SIGMOID(a)     float_sigmoid(a)
#define F_SOFTPLUS(a)    float_softplus(a)
#define F_GELU(a)        float_gelu(a)
#define F_FLOOR(a)       floor(a)
#define F_CEIL(a)        ceil(a)
#define F_ROUND(a)       nearbyint(a)
#define F_TRUNC(a)       trunc(a)
#define F_ISNAN(a)       isnan(a)
#define F_ISFINITE(a)    isfinite(a)
#define F_LOWEST         (-INFINITY)
#define F_HIGHEST        INFINITY
#endif

/* Rows that do not accept this dtype vanish. */
#define IF_ALL(...) __VA_ARGS__
#if defined REF_BOOL
#define IF_NUM(...)
#define IF_INT(...)
#define IF_BITS(...) __VA_ARGS__
#define IF_FLOAT(...)
#elif defined REF_INT
#define IF_NUM(...)  __VA_ARGS__
#define IF_INT(...)  __VA_ARGS__
#define IF_BITS(...) __VA_ARGS__
#define IF_FLOAT(...)
#else
#define IF_NUM(...) __VA_ARGS__
#define IF_INT(...)
#define IF_BITS(...)
#define IF_FLOAT(...) __VA_ARGS__
#endif

/* ---- Map ---- */

static T PASTE(load_, S)(const Call *c, int i, const int64_t *index) {
    if (i >= c->n_in) return 0;
    const View *v = &c->in[i];
    int64_t offset = ref_offset(v, index, c->out[0].type.rank);
    /* where's condition is bool whatever T is */
    return v->type.dtype == DT_BOOL ? (T)ref_int(v, offset) : *(const T *)ref_ptr(v, offset);
}

static void PASTE(map_, S)(const Call *call) {
    const View *o = &call->out[0];
    if (ref_is_empty(&o->type)) return;
    int64_t index[MAX_DIMS] = {0}, at = 0;
    do {
        T a = PASTE(load_, S)(call, 0, index), b = PASTE(load_, S)(call, 1, index);
        T c = PASTE(load_, S)(call, 2, index);
        switch (call->inst->op) {
#define OUT_AS_same(expr)    *(T *)ref_ptr(o, at) = (T)(expr)
#define OUT_AS_boolean(expr) *(uint8_t *)ref_ptr(o, at) = (expr) != 0
#define MAP(id, name, arity, in, out, grad, facts, expr, ...)                                      \
    IF_##in(case OP_##id : OUT_AS_##out(expr); break;)
#include "runtime/inst/ops.def"
        default:
            panic("the reference engine has no '%s' for this dtype", op_info[call->inst->op].name);
        }
        (void)b, (void)c;
        at++;
    } while (ref_step(index, &o->type));
}

/* ---- Reduce ---- */

#ifdef REF_REDUCES
/* An accumulator per result, all inputs visited in row-major order. */
static void PASTE(reduce_, S)(const Call *call) {
    const View *x = &call->in[0], *o = &call->out[0];
    const Attr *axis = inst_attr(call->inst, ATTR_AXIS);
    int64_t n = type_numel(&o->type), out_step[MAX_DIMS] = {0}, step = 1;
    for (int d = x->type.rank - 1; d >= 0; d--) {
        bool is_reduced = !axis;
        for (uint32_t i = 0; axis && i < axis->n; i++) is_reduced |= axis->ints[i] == d;
        if (!is_reduced) out_step[d] = step, step *= x->type.shape[d];
    }
    T *value = xcalloc((size_t)n + 1, sizeof *value);
    int64_t *flag = xcalloc((size_t)n + 1, sizeof *flag);
    for (int64_t i = 0; i < n; i++) {
        switch (call->inst->op) {
#define INIT_AS_same(init)    value[i] = init
#define INIT_AS_wide(init)    value[i] = init
#define INIT_AS_boolean(init) flag[i] = init
#define REDUCE(id, name, in, out, grad, facts, init, expr, ...)                                    \
    case OP_##id:                                                                                  \
        INIT_AS_##out(init);                                                                       \
        break;
#include "runtime/inst/ops.def"
        default: break;
        }
    }
    int64_t index[MAX_DIMS] = {0};
    if (!ref_is_empty(&x->type)) do {
            int64_t i = 0, offset = ref_offset(x, index, x->type.rank);
            for (int d = 0; d < x->type.rank; d++) i += index[d] * out_step[d];
            T b = ref_is_float(x) ? (T)ref_float(x, offset) : (T)ref_int(x, offset);
            switch (call->inst->op) {
#define FOLD_AS_same(expr)                                                                         \
    {                                                                                              \
        T a = value[i];                                                                            \
        value[i] = (T)(expr);                                                                      \
    }
#define FOLD_AS_wide(expr) FOLD_AS_same(expr)
#define FOLD_AS_boolean(expr)                                                                      \
    {                                                                                              \
        int64_t a = flag[i];                                                                       \
        flag[i] = (expr);                                                                          \
    }
#define REDUCE(id, name, in, out, grad, facts, init, expr, ...)                                    \
    IF_##in(case OP_##id : FOLD_AS_##out(expr) break;)
#include "runtime/inst/ops.def"
            default: panic("the reference engine has no '%s'", op_info[call->inst->op].name);
            }
        } while (ref_step(index, &x->type));
    for (int64_t i = 0; i < n; i++) {
        if (op_info[call->inst->op].out == OUT_boolean) ref_set_int(o, i, flag[i]);
#ifdef REF_FLOAT
        else
            ref_set_float(o, i, value[i]);
#else
        else
            ref_set_int(o, i, value[i]);
#endif
    }
    free(value);
    free(flag);
}
#undef INIT_AS_same
#undef INIT_AS_wide
#undef INIT_AS_boolean
#undef FOLD_AS_same
#undef FOLD_AS_wide
#undef FOLD_AS_boolean
#undef REF_REDUCES
#endif

#undef OUT_AS_same
#undef OUT_AS_boolean
#undef F_ADD
#undef F_SUB
#undef F_MUL
#undef F_FLOORDIV
#undef F_MOD
#undef F_FMOD
#undef F_ATAN2
#undef F_HYPOT
#undef F_TRUNC
#undef F_TAN
#undef F_ASIN
#undef F_ACOS
#undef F_ATAN
#undef F_SINH
#undef F_COSH
#undef F_ASINH
#undef F_ACOSH
#undef F_ATANH
#undef F_LOG2
#undef F_LOG10
#undef F_EXP2
#undef F_POW
#undef F_MAX
#undef F_MIN
#undef F_NEG
#undef F_ABS
#undef F_SIGN
#undef F_EXP
#undef F_EXPM1
#undef F_LOG
#undef F_LOG1P
#undef F_SQRT
#undef F_SIN
#undef F_COS
#undef F_TANH
#undef F_ERF
#undef F_SIGMOID
#undef F_SOFTPLUS
#undef F_GELU
#undef F_FLOOR
#undef F_CEIL
#undef F_ROUND
#undef F_ISNAN
#undef F_ISFINITE
#undef F_NOT
#undef F_LOWEST
#undef F_HIGHEST
#undef IF_ALL
#undef IF_NUM
#undef IF_INT
#undef IF_BITS
#undef IF_FLOAT
#undef T
#undef S
