/* ref_map_body.h: the loops of ref_map.c for one dtype; included once for each, with T, S (a
 * suffix), KIND (expr.h), and REF_REDUCES for reductions too (their T is the accumulator's). No
 * include guard, because it is included several times. Undefines T, S and REF_REDUCES.
 * SPDX-License-Identifier: MIT */

/* ---- Map ---- */

static T EXPR(load_, S)(const Call *c, int i, const int64_t *index) {
    if (i >= c->n_in) return 0;
    const View *v = &c->in[i];
    int64_t offset = ref_offset(v, index, c->out[0].type.rank);
    /* where's condition is bool whatever T is */
    return v->type.dtype == DT_BOOL ? (T)ref_int(v, offset) : *(const T *)ref_ptr(v, offset);
}

static void EXPR(map_, S)(const Call *call) {
    const View *o = &call->out[0];
    if (ref_is_empty(&o->type)) return;
    int64_t index[MAX_DIMS] = {0}, at = 0;
    do {
        T a = EXPR(load_, S)(call, 0, index), b = EXPR(load_, S)(call, 1, index);
        T c = EXPR(load_, S)(call, 2, index);
        switch (call->inst->op) {
#define OUT_AS_same(expr)    *(T *)ref_ptr(o, at) = (T)(expr)
#define OUT_AS_boolean(expr) *(uint8_t *)ref_ptr(o, at) = (expr) != 0
#define MAP(id, name, arity, in, out, grad, facts, expr, ...)                                      \
    IF_##in(case OP_##id : OUT_AS_##out(expr); break;)
#include "runtime/inst/ops.def"
        default:
            panic("the reference engine has no '%s' for this dtype", op_info[call->inst->op].name);
        }
        at++;
    } while (ref_step(index, &o->type));
}

/* ---- Reduce ---- */

#ifdef REF_REDUCES
/* One accumulator per result; all inputs are visited in row-major order. With the attribute `nodes`
 * the results of each node follow those of the one before (runtime/layout/nodes.h). */
static void EXPR(reduce_, S)(const Call *call) {
    const View *x = &call->in[0], *o = &call->out[0];
    const Attr *nodes = inst_attr(call->inst, ATTR_NODES);
    int64_t n = type_numel(&o->type), out_step[MAX_DIMS] = {0}, in_step[MAX_DIMS] = {0};
    int64_t step = reduce_steps(x, inst_attr(call->inst, ATTR_AXIS), out_step, in_step);
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
            int64_t i = 0, k = 0, offset = ref_offset(x, index, x->type.rank);
            for (int d = 0; d < x->type.rank; d++)
                i += index[d] * out_step[d], k += index[d] * in_step[d];
            for (uint32_t j = 0; nodes && k >= nodes->ints[j]; j++) k -= nodes->ints[j], i += step;
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
        if (op_info[call->inst->op].out == OUT_boolean)
            ref_set_int(o, i, flag[i]);
        else
            EXPR(ref_set_, KIND)(o, i, value[i]);
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
#undef T
#undef S
