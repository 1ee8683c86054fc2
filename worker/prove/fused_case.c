/* fused_case.c: see fused_case.h.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/fused_case.h"
#include "runtime/inst/element.h"
#include "worker/kernel/emit.h"
#include "worker/prove/outcome.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a space, about: what is read and written fits on a device of a few 100 MB. */
enum { ELEMENTS_MAX = 1 << 21 };

/* ---- Values ---- */

static void fill(Rand *r, void *p, DType d, int64_t n, bool is_tame) {
    int size = dtype_info[d].size_bytes;
    for (int64_t i = 0; i < n; i++) {
        char *to = (char *)p + i * size;
        uint64_t u = rand_u64(r);
        double v = ((double)(u >> 40) * 0x1p-24 - 0.5) * 8;
        static const double odd[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 1e-40, 100, 1e30};
        if (!is_tame && (u & 31) == 0) v = odd[(u >> 8) % 10];
        int64_t w = (int64_t)((u >> 16) % 21) - 10;
        if (!is_tame && (u & 15) == 0) w = (int64_t)u;
        if (dtype_is_float(d))
            element_set_float(d, to, v);
        else
            element_set_int(d, to, d == DT_BOOL ? w & 1 : w);
    }
}

static void *memory(uint64_t bytes) {
    void *p = aligned_alloc(64, (bytes + 128) / 64 * 64);
    if (!p) panic("no memory for %llu bytes", (unsigned long long)bytes);
    return p;
}

static TensorType type_of(const FusedCase *t, bool is_row, DType d) {
    TensorType type = t->fuse.space;
    type.dtype = (uint8_t)d;
    for (int a = 0; is_row && a < t->fuse.trailing; a++) type.shape[type.rank - 1 - a] = 1;
    return type;
}

/* A view of the type in memory of its own: plain, permuted, stepped (a step doubles the memory, so
 * many elements have none) or broadcast. */
static FusedValue random_input(FusedCase *t, Rand *strides, Rand *r, DType d, bool is_row,
                               bool is_tame) {
    FusedValue v = {.dtype = d, .is_row = is_row};
    View *w = &v.view;
    w->type = type_of(t, is_row, d);
    int rank = w->type.rank, order[MAX_DIMS];
    int how = rand_below(strides, 4); /* 0, 1: plain; 2: axes that repeat; 3: any order, steps */
    bool is_large = type_numel(&w->type) > ELEMENTS_MAX / 2;
    for (int a = 0; a < rank; a++) order[a] = a;
    for (int a = rank - 1; a > 0 && how == 3; a--) {
        int b = rand_below(strides, a + 1), k = order[a];
        order[a] = order[b], order[b] = k;
    }
    int64_t step = 1;
    for (int k = rank - 1; k >= 0; k--) {
        int a = order[k];
        bool repeats = how == 2 && rand_below(strides, 2),
             stepped = how == 3 && !rand_below(strides, 3);
        if (stepped && !is_large) step *= 2;
        w->stride[a] = repeats || w->type.shape[a] == 1 ? 0 : step;
        if (!repeats) step *= w->type.shape[a];
    }
    v.owned = memory((uint64_t)step * 8);
    fill(r, v.owned, d, step, is_tame);
    w->data = v.owned;
    /* Leading axes that repeat may be left out. */
    View shown = *w;
    while (shown.type.rank && shown.stride[0] == 0 && rand_below(strides, 2)) {
        shown.type.rank--;
        for (int a = 0; a < shown.type.rank; a++)
            shown.type.shape[a] = shown.type.shape[a + 1], shown.stride[a] = shown.stride[a + 1];
    }
    v.ref = fuse_input(&t->fuse, &shown);
    return v;
}

/* ---- One op, eagerly and in the fusion ---- */

static void compute(const FusedCase *t, const Inst *inst, View *in, int n, const View *out) {
    int result = call_engine(t->eager, inst, in, n, out, NULL);
    assert(result == 1);
    (void)result;
}

/* How the call is made: reductions fold the row, or, if is_column, over the rows. */
static FusedValue apply_how(FusedCase *t, Op op, DType out, bool is_row, bool is_column,
                            const FusedValue *const *operand, int n) {
    FusedValue v = {.dtype = out, .is_row = is_row, .is_column = is_column};
    View in[3];
    FuseRef ref[3];
    int64_t axes[MAX_DIMS];
    Attr attr[2];
    Inst inst = {.op = op, .attr = attr};
    for (int k = 0; k < n; k++) in[k] = operand[k]->view, ref[k] = operand[k]->ref;
    if (op_info[op].class_ == CLASS_REDUCE) {
        int lead = t->fuse.space.rank - t->fuse.trailing;
        /* Row values are folded over all axes, as fit.c has it: their order is that of a row. */
        int folded = !is_column ? t->fuse.trailing : is_row ? t->fuse.space.rank : lead;
        for (int a = 0; a < folded; a++) axes[a] = is_column ? a : lead + a;
        attr[0] = (Attr){.key = ATTR_AXIS, .n = (uint32_t)folded, .ints = axes};
        attr[1] = (Attr){.key = ATTR_KEEPDIMS, .b = true};
        inst.n_attr = 2;
    }
    if (op == OP_GATHER || op == OP_SCATTER_ADD) {
        axes[0] = t->fuse.space.rank - 1;
        attr[0] = (Attr){.key = ATTR_AXIS, .n = 1, .ints = axes};
        inst.n_attr = 1;
    }
    TensorType type = type_of(t, is_row, out);
    for (int a = 0; is_column && a < t->fuse.space.rank - t->fuse.trailing; a++) type.shape[a] = 1;
    v.owned = memory(type_bytes(&type));
    v.view = view_dense(&type, v.owned);
    compute(t, &inst, in, n, &v.view);
    bool is_total = is_column && op_info[op].class_ != CLASS_REDUCE;
    v.ref = is_total    ? fuse_total(&t->fuse, op, out, ref, n)
            : is_column ? fuse_column(&t->fuse, op, out, is_row, ref[0])
                        : fuse_node(&t->fuse, op, out, is_row, ref, n);
    return v;
}
static FusedValue apply(FusedCase *t, Op op, DType out, bool is_row,
                        const FusedValue *const *operand, int n) {
    return apply_how(t, op, out, is_row, false, operand, n);
}

/* An immediate for an operation on dtype d, as issue.c makes it. */
static FusedValue scalar(FusedCase *t, Rand *r, Op op, DType d) {
    FusedValue v = {.dtype = d, .view = {.is_scalar = true}};
    DType held = fuse_computes(d);
    v.owned = v.view.data = memory(8);
    fill(r, v.view.data, held, 1, true);
    if (dtype_is_half(d) && !op_has(op, FACT_SCALES)) {
        float *f = v.view.data;
        *f = half_to_float(d, half_from_float(d, *f));
    }
    v.view.type.dtype = (uint8_t)held;
    v.ref = fuse_scalar(&t->fuse, held, v.view.data);
    return v;
}

/* A constant: `full` takes a wide immediate, the fusion the converted value. */
static FusedValue full(FusedCase *t, Rand *r, DType d, bool is_row) {
    bool is_float = dtype_is_float(d);
    char wide[8], narrow[8];
    fill(r, wide, is_float ? DT_F64 : DT_I64, 1, true);
    if (is_float)
        element_set_float(d, narrow, element_float(DT_F64, wide));
    else
        element_set_int(d, narrow, element_int(DT_I64, wide));
    View imm = {.type.dtype = is_float ? DT_F64 : DT_I64, .is_scalar = true, .data = wide};
    TensorType type = type_of(t, is_row, d);
    FusedValue v = {.dtype = d, .is_row = is_row, .owned = memory(type_bytes(&type))};
    v.view = view_dense(&type, v.owned);
    compute(t, &(Inst){.op = OP_FULL}, &imm, 1, &v.view);
    FuseRef s = fuse_scalar(&t->fuse, d, narrow);
    v.ref = fuse_node(&t->fuse, OP_FULL, d, is_row, &s, 1);
    return v;
}
/* The elements of memory in which a view's are. */
static int64_t extent_of(const View *v) {
    int64_t n = 1;
    for (int a = 0; a < v->type.rank; a++) n += (v->type.shape[a] - 1) * v->stride[a];
    return n;
}
/* One index into each row, or, if not is_row, for each element. */
static FusedValue random_index(FusedCase *t, Rand *strides, Rand *r, DType d, bool is_row) {
    FusedValue v = random_input(t, strides, r, d, is_row, true);
    int64_t n = t->fuse.space.shape[t->fuse.space.rank - 1], all = extent_of(&v.view);
    for (int64_t i = 0; i < all; i++)
        element_set_int(d, (char *)v.owned + i * dtype_info[d].size_bytes,
                        (int64_t)(rand_u64(r) % (uint64_t)n));
    return v;
}

static void random_indices(FusedCase *t, Rand *strides, Rand *r, Rand *g) {
    static const DType of[] = {DT_I64, DT_I32};
    DType first = of[rand_below(g, 2)], second = of[rand_below(g, 2)];
    FusedValue *index = t->index;
    int how = rand_below(g, 4);
    index[t->n_indices++] = random_index(t, strides, r, first, true);
    if (how == 1)
        index[t->n_indices++] = apply(t, OP_CAST, second, true, (const FusedValue *[]){index}, 1);
    if (how >= 2) index[t->n_indices++] = random_index(t, strides, r, second, how == 2);
    if (how == 3)
        index[t->n_indices++] =
            apply(t, OP_MAX, second, true, (const FusedValue *[]){index + 1}, 1);
}

/* ---- Random fusions ---- */

static const DType dtypes[] = {DT_F32,  DT_F32, DT_F32, DT_F32, DT_F64, DT_F16,
                               DT_BF16, DT_I32, DT_I64, DT_U8,  DT_I8,  DT_BOOL};

/* Any value of the space (rows_only false), of rows, or a total; dtype DT_NONE: any. */
static const FusedValue *any_value(const FusedCase *t, Rand *g, DType d, bool is_row,
                                   bool is_column) {
    int fits[FUSED_VALUES], n = 0;
    for (int i = 0; i < t->n_values; i++) {
        const FusedValue *v = &t->value[i];
        if (v->is_row == is_row && v->is_column == is_column && (d == DT_NONE || v->dtype == d))
            fits[n++] = i;
    }
    return n ? &t->value[fits[rand_below(g, n)]] : NULL;
}
static bool is_full_of_indices(const FusedCase *t) {
    return fuse_fail(&t->fuse, t->fuse.n_nodes) == FUSED_FAILS;
}
/* Adds a constant, a gather or scatter of one element per row, or a node computed from totals; not
 * always possible. Returns the new value's index, or -1. */
static int rarer_op(FusedCase *t, Rand *g, Rand *r) {
    static const DType full_of[] = {DT_F32, DT_F64, DT_I64, DT_F32};
    const FusedValue *idx = t->n_indices ? &t->index[rand_below(g, t->n_indices)] : NULL;
    FusedValue v;
    if (idx && !idx->is_row) idx++;
    if (t->n_values == FUSED_VALUES) return -1;
    switch (rand_below(g, idx ? 6 : 4)) {
    case 0: v = full(t, r, full_of[rand_below(g, 4)], t->fuse.trailing && rand_below(g, 2)); break;
    case 1:
    case 4: {
        const FusedValue *x = any_value(t, g, DT_NONE, false, false);
        if (!idx || !x || is_full_of_indices(t)) return -1;
        v = apply(t, OP_GATHER, x->dtype, true, (const FusedValue *[]){x, idx}, 2);
        break;
    }
    case 2:
    case 5: {
        const FusedValue *x = any_value(t, g, DT_NONE, false, false);
        if (!idx || !x || is_full_of_indices(t)) return -1;
        if (dtype_is_half(x->dtype) || x->dtype == DT_BOOL) return -1;
        const FusedValue *d = any_value(t, g, x->dtype, true, false);
        if (!d) return -1;
        v = apply(t, OP_SCATTER_ADD, x->dtype, false, (const FusedValue *[]){x, idx, d}, 3);
        break;
    }
    default: {
        const FusedValue *x = any_value(t, g, DT_NONE, true, true);
        if (!x) return -1;
        const FusedValue *y = any_value(t, g, x->dtype, true, true);
        bool is_cast = x->dtype == DT_BOOL || rand_below(g, 3) == 0;
        DType to = is_cast ? full_of[rand_below(g, 4)] : x->dtype;
        v = apply_how(t, is_cast ? OP_CAST : OP_SUB, to, true, true, (const FusedValue *[]){x, y},
                      is_cast ? 1 : 2);
    }
    }
    t->value[t->n_values] = v;
    return t->n_values++;
}

/* A value of dtype d that may be an operand; casts one if there is none. */
static const FusedValue *operand(FusedCase *t, Rand *g, DType d, bool rows_only) {
    int fits[FUSED_VALUES], n = 0, any[FUSED_VALUES], n_any = 0;
    for (int i = 0; i < t->n_values; i++) {
        if (t->value[i].is_column || (rows_only && !t->value[i].is_row)) continue;
        any[n_any++] = i;
        if (t->value[i].dtype == d) fits[n++] = i;
    }
    /* Prefers the last ones: deep graphs. */
    if (n) return &t->value[fits[n - 1 - (rand_below(g, n) * rand_below(g, n) / n) % n]];
    if (!n_any || t->n_values == FUSED_VALUES) return NULL;
    const FusedValue *from = &t->value[any[rand_below(g, n_any)]];
    t->value[t->n_values] = apply(t, OP_CAST, d, from->is_row, &from, 1);
    return &t->value[t->n_values++];
}

static Op random_op(Rand *g, OpClass class_) {
    for (;;) {
        Op op = (Op)rand_below(g, OP_COUNT);
        if (op_info[op].class_ == class_) return op;
    }
}

/* The structure of a softmax or a layer norm: reductions combine with the elements that are reduced
 * next, a few times; earlier values are used later. Returns the index of the last value. */
static int passes(FusedCase *t, Rand *g) {
    static const Op reduces[] = {OP_SUM, OP_MAX, OP_MIN, OP_SUM};
    static const Op joins[] = {OP_SUB, OP_MUL, OP_ADD};
    static const Op deeps[] = {OP_EXP, OP_TANH, OP_SIGMOID, OP_SQUARE, OP_NEG};
    int last = -1, times = 1 + rand_below(g, 4);
    DType d = rand_below(g, 4) ? DT_F32 : DT_F64;
    for (int i = 0; i < times && t->n_values < FUSED_VALUES - 12; i++) {
        const FusedValue *x = operand(t, g, d, false), *was = x;
        if (!x || x->is_row) return last;
        if (rand_below(g, 2)) {
            t->value[t->n_values] = apply(t, deeps[rand_below(g, 5)], d, false, &x, 1);
            x = &t->value[t->n_values++];
        }
        t->value[t->n_values] = apply(t, reduces[rand_below(g, 4)], d, true, &x, 1);
        const FusedValue *in[] = {rand_below(g, 3) ? x : was, &t->value[t->n_values++]};
        t->value[t->n_values] = apply(t, joins[rand_below(g, 3)], d, false, in, 2);
        last = t->n_values++;
    }
    return last;
}

/* The seeds of a case, in use. */
typedef struct Draw {
    Rand *g, *strides, *r; /* the graph; the inputs' strides; shapes, values, scalars */
    bool is_tame, has_columns, has_passes;
} Draw;

/* Draws a space and how many of its axes are a row. */
static int draw_space(Draw *d, TensorType *space) {
    Rand *g = d->g, *r = d->r;
    *space = (TensorType){.rank = (uint8_t)(1 + rand_below(g, 4))};
    bool is_long = rand_below(g, 6) == 0;
    for (int a = 0; a < space->rank; a++) space->shape[a] = 2 + rand_below(r, a ? 40 : 9);
    if (is_long) space->shape[space->rank - 1] = 4000 + rand_below(r, 9000);
    if (is_long && space->rank > 2) space->rank = 2, space->shape[1] = space->shape[0] * 1500 + 77;
    int trailing = rand_below(g, 2) ? 1 + rand_below(g, space->rank) : 0;
    d->has_columns = trailing && trailing < space->rank && rand_below(g, 2);
    if (d->has_columns && !is_long && rand_below(g, 3) == 0) { /* more rows than a block has */
        space->shape[0] = 300 + rand_below(r, 300);
        if (space->rank - trailing == 1) space->shape[0] *= 30;
        for (int a = 1; a < space->rank; a++) space->shape[a] = 2 + space->shape[a] % 11;
        for (int a = space->rank - 1; a > 0 && type_numel(space) > ELEMENTS_MAX; a--)
            space->shape[a] = 2;
    }
    d->has_passes = trailing && rand_below(g, 2);
    if (d->has_passes && rand_below(g, 2)) { /* more short rows than the staggered loop holds */
        *space = (TensorType){.rank = 2, .shape = {1 + rand_below(r, 30), 1 + rand_below(r, 70)}};
        if (rand_below(r, 2)) space->shape[1] = 64 * (1 + rand_below(r, 3));
        trailing = 1;
    }
    return trailing;
}

static DType some_dtype(Rand *g) { return dtypes[rand_below(g, sizeof dtypes / sizeof *dtypes)]; }

/* Adds a MAP row, or a reduction along rows or over them. Returns the new value's index, or -1. */
static int common_op(FusedCase *t, const Draw *draw) {
    Rand *g = draw->g;
    bool reduces = t->fuse.trailing && rand_below(g, 4) == 0;
    bool is_column = draw->has_columns && rand_below(g, 4) == 0;
    reduces |= is_column;
    bool rows_only = t->fuse.trailing && !reduces && rand_below(g, 4) == 0;
    Op op = random_op(g, reduces ? CLASS_REDUCE : CLASS_MAP);
    DType d = some_dtype(g);
    if (!(op_info[op].in & DSET(d)) || (t->is_portable && outcome_may_be_of_library(op, d)))
        return -1;
    const FusedValue *in[3], *x = NULL;
    FusedValue imm[3];
    int n = op_info[op].arity, n_imm = 0, made = -1;
    DType out = op_info[op].out == OUT_boolean ? DT_BOOL : d;
    if (reduces) {
        out = dtype_is_half(d) ? d : emit_accumulator(op, d);
        x = operand(t, g, d, false);
        if (!x || (x->is_row && !is_column) || t->n_values >= FUSED_VALUES) return -1;
        /* Of several rows only sums are in the order of leaves: fit.c fuses no others. */
        bool has_order = op_has(op, FACT_ADDS) && dtype_is_float(d);
        if (is_column && !x->is_row && has_order && op != OP_SUM) return -1;
        t->value[t->n_values] = apply_how(t, op, out, !is_column || x->is_row, is_column, &x, 1);
        return t->n_values++;
    }
    int fixed = rand_below(g, n); /* a tensor; the others may be immediates */
    if (n == 3 && fixed == 0) fixed = 1;
    bool ok = true, is_row = true, has_tensor = false;
    for (int i = 0; i < n && ok; i++) {
        DType want = n == 3 && i == 0 ? DT_BOOL : d;
        if (i != fixed && rand_below(g, 3) == 0) {
            imm[n_imm] = scalar(t, draw->r, want == DT_BOOL ? OP_ADD : op, want);
            in[i] = &imm[n_imm++];
        } else {
            in[i] = operand(t, g, want, rows_only);
            ok = in[i] != NULL;
            if (ok) has_tensor = true, is_row &= in[i]->is_row;
        }
    }
    if (ok && has_tensor && t->n_values < FUSED_VALUES) {
        t->value[t->n_values] = apply(t, op, out, is_row, in, n);
        made = t->n_values++;
    }
    for (int i = 0; i < n_imm; i++) free(imm[i].owned);
    return made;
}

/* Chooses the values that the kernel stores: the last one, and some others. */
static void choose_stored(FusedCase *t, Rand *g, int inputs, int last) {
    for (int i = inputs; i < t->n_values; i++) {
        if (!fuse_is_node(t->value[i].ref)) continue;
        if (i != last && rand_below(g, t->value[i].is_column ? 2 : 4)) continue;
        if (!fuse_store(&t->fuse, t->value[i].ref)) break;
        t->stored[t->n_stored++] = i;
    }
}

static void draw_case(FusedCase *t, Draw *d) {
    Rand *g = d->g;
    TensorType space;
    int trailing = draw_space(d, &space);
    fuse_init(&t->fuse, &space, trailing);
    int inputs = 1 + rand_below(g, 4), ops = 1 + rand_below(g, 12);
    for (int k = 0; k < inputs; k++) {
        DType type = some_dtype(g);
        bool is_row = trailing && k > 0 && rand_below(g, 4) == 0;
        t->value[t->n_values++] = random_input(t, d->strides, d->r, type, is_row, d->is_tame);
    }
    if (rand_below(g, 8) == 0) { /* the same input again */
        t->value[t->n_values] = t->value[0];
        t->value[t->n_values++].owned = NULL;
    }
    int last = -1;
    bool has_indices = trailing == 1 && rand_below(g, 2);
    if (has_indices) random_indices(t, d->strides, d->r, g);
    if (d->has_passes) last = passes(t, g);
    for (int k = d->has_passes ? ops / 2 : 0; k < ops && t->n_values < FUSED_VALUES - 8; k++) {
        bool is_rarer = rand_below(g, has_indices ? 2 : 6) == 0;
        int made = is_rarer ? rarer_op(t, g, d->r) : common_op(t, d);
        if (made >= 0) last = made;
    }
    choose_stored(t, g, inputs, last);
}

bool fused_case_make(FusedCase *t, Engine *eager, const FusedSeeds *seeds) {
    Rand g = {seeds->graph}, strides = {seeds->strides}, r = {seeds->values};
    Draw d = {.g = &g, .strides = &strides, .r = &r, .is_tame = seeds->is_tame};
    *t = (FusedCase){.eager = eager, .is_portable = seeds->is_portable};
    draw_case(t, &d);
    if (t->n_stored && fuse_done(&t->fuse)) return true;
    fused_case_free(t);
    return false;
}

void fused_case_free(FusedCase *t) {
    for (int i = 0; i < t->n_values; i++) free(t->value[i].owned);
    for (int i = 0; i < t->n_indices; i++) free(t->index[i].owned);
    t->n_values = t->n_indices = 0;
}

/* ---- Running ---- */

/* The bytes of memory in which the elements of v are, from its first element on. */
static uint64_t span(const View *v) {
    return (uint64_t)extent_of(v) * (uint64_t)dtype_info[v->type.dtype].size_bytes;
}

/* What a run has in the engine's memory. */
typedef struct Placed {
    void *in[FUSED_INPUTS], *out[FUSED_OUTPUTS]; /* out NULL: over an input */
} Placed;

/* Copies the inputs to the engine, and makes room for outputs. False: there is no memory. */
static bool place(FusedCase *t, Engine *e, const FusedKernel *k, Rand *r, Placed *p) {
    Fusion *f = &t->fuse;
    uint32_t taken = 0;
    for (int i = 0; i < f->n_inputs; i++) {
        uint64_t bytes = span(&f->input[i]);
        if (!(p->in[i] = e->ops->alloc(e, bytes))) return false;
        e->ops->copy_in(e, p->in[i], f->input[i].data, bytes);
    }
    for (int i = 0; i < t->n_stored; i++) {
        const FusedValue *v = &t->value[t->stored[i]];
        char **out = fuse_store(f, v->ref);
        *out = NULL;
        for (int j = 0; j < f->n_inputs && r && !*out; j++) {
            const View *in = &f->input[j];
            if (taken >> j & 1 || !(k->reuse[i] >> j & 1) || !view_is_contiguous(in) ||
                !type_equal(&in->type, &v->view.type) || rand_below(r, 2))
                continue;
            *out = p->in[j];
            taken |= 1u << j;
        }
        if (*out) continue;
        if (!(p->out[i] = e->ops->alloc(e, type_bytes(&v->view.type)))) return false;
        *out = p->out[i];
    }
    return true;
}

static void release(const FusedCase *t, Engine *e, const Placed *p) {
    for (int i = 0; i < t->fuse.n_inputs; i++)
        if (p->in[i]) e->ops->free(e, p->in[i], span(&t->fuse.input[i]));
    for (int i = 0; i < t->n_stored; i++)
        if (p->out[i]) e->ops->free(e, p->out[i], type_bytes(&t->value[t->stored[i]].view.type));
}

/* Reads the results, and compares them with the eager ones. */
static bool check(FusedCase *t, Engine *e, bool was_run, char *text, size_t size) {
    bool same = was_run;
    if (!was_run) snprintf(text, size, "it was refused");
    for (int i = 0; i < t->n_stored && same; i++) {
        const FusedValue *v = &t->value[t->stored[i]];
        View out = v->view;
        int64_t at = 0, bytes = dtype_info[v->dtype].size_bytes;
        char *got = xmalloc(type_bytes(&out.type) + 1);
        out.data = *fuse_store(&t->fuse, v->ref);
        e->ops->copy_out(e, got, &out);
        engine_settle(e, NULL, NULL);
        for (int64_t n = type_numel(&out.type); at < n && same; at += same)
            same = element_is_same(v->dtype, got + at * bytes, (char *)v->view.data + at * bytes);
        if (!same)
            snprintf(text, size, "node %d (%s of %s): element %lld is %.9g, not %.9g", v->ref,
                     op_info[t->fuse.node[v->ref].op].name, dtype_info[v->dtype].text,
                     (long long)at, element_float(v->dtype, got + at * bytes),
                     element_float(v->dtype, (const char *)v->view.data + at * bytes));
        free(got);
    }
    return same;
}

/* Runs the kernel, and has its results checked. */
static bool run(FusedCase *t, Engine *e, const FusedKernel *k, Rand *r,
                bool (*then)(FusedCase *t, Engine *e, bool was_run, char *text, size_t size),
                char *text, size_t size) {
    Fusion *f = &t->fuse;
    Placed p = {{0}};
    void *host[FUSED_INPUTS];
    bool ok = place(t, e, k, r, &p);
    for (int i = 0; i < f->n_inputs; i++) {
        host[i] = f->input[i].data;
        f->input[i].data = p.in[i], f->args.in[i] = p.in[i];
    }
    if (ok)
        ok = then(t, e, e->ops->fused(e, f, k), text, size);
    else
        snprintf(text, size, "there is no memory for it");
    for (int i = 0; i < f->n_inputs; i++) f->input[i].data = host[i], f->args.in[i] = host[i];
    release(t, e, &p);
    return ok;
}

bool fused_case_run(FusedCase *t, Engine *e, const FusedKernel *k, Rand *r, char *text,
                    size_t size) {
    return run(t, e, k, r, check, text, size);
}

/* ---- Indices out of range ---- */

/* Computes again an index that is no input. */
static void compute_index(const FusedCase *t, FusedValue *index) {
    int64_t axis = t->fuse.space.rank - 1;
    Attr attr[] = {{.key = ATTR_AXIS, .n = 1, .ints = &axis}, {.key = ATTR_KEEPDIMS, .b = true}};
    Op op = (Op)t->fuse.node[index->ref].op;
    View from = op == OP_CAST ? t->index[0].view : t->index[1].view;
    Inst inst = {.op = op, .attr = attr, .n_attr = op == OP_CAST ? 0 : 2};
    compute(t, &inst, &from, 1, &index->view);
}
/* What the eager engine says of an index; code 0: nothing. */
static Err index_error(const FusedCase *t, FusedValue *index) {
    static float one = 1;
    int64_t axis = t->fuse.space.rank - 1;
    Attr attr = {.key = ATTR_AXIS, .n = 1, .ints = &axis};
    Inst inst = {.op = OP_GATHER, .attr = &attr, .n_attr = 1};
    View in[2] = {{.type = t->fuse.space, .data = &one}, index->view}, out;
    TensorType type = type_of(t, true, DT_F32);
    Err err = {0};
    if (fuse_is_node(index->ref)) compute_index(t, index);
    in[0].type.dtype = DT_F32;
    out = view_dense(&type, memory(type_bytes(&type)));
    call_engine(t->eager, &inst, in, 2, &out, &err);
    free(out.data);
    return err;
}

/* Sets some elements of the inputs among the indices to such values. Returns what was there. */
static void *spoil(const FusedCase *t, const FusedValue *index, Rand *r) {
    DType d = index->dtype;
    int size = dtype_info[d].size_bytes;
    int64_t all = extent_of(&index->view), n = t->fuse.space.shape[t->fuse.space.rank - 1];
    void *was = xmalloc((size_t)(all * size));
    memcpy(was, index->owned, (size_t)(all * size));
    for (int k = rand_below(r, 4); k > 0; k--) {
        int64_t huge = (int64_t)(rand_u64(r) >> rand_below(r, 40));
        int64_t value[] = {n, -1, huge, -huge, INT64_MAX, n + rand_below(r, 9)};
        int64_t at = (int64_t)(rand_u64(r) % (uint64_t)all);
        element_set_int(d, (char *)index->owned + at * size, value[rand_below(r, 6)]);
    }
    return was;
}

/* What node i should say; code 0: nothing. */
static Err expected(const FusedCase *t, const FusePlan *plan, int i, const Err *of_index) {
    Err none = {0};
    const FuseNode *n = &t->fuse.node[i];
    for (int k = 0; k < t->n_indices && fuse_may_fail(n) && plan->is_used[i]; k++)
        if (t->index[k].ref == n->in[1]) return of_index[k];
    return none;
}
/* What it says; of an engine that is not ordered: what the kernel has noted. */
static void take_errors(const Fusion *f, Engine *e, Err said[FUSE_NODES]) {
    Ticket mark, t;
    Err err;
    int node;
    for (int i = 0; i < f->n_nodes && !e->ops->is_ordered; i++)
        if (fuse_may_fail(&f->node[i]))
            fuse_check_bad(&f->space, &f->bad[fuse_fail(f, i)], &said[i]);
    if (!e->ops->is_ordered) return;
    mark = e->ops->mark(e);
    while (!e->ops->done(e, mark, true, NULL)) {}
    while (e->ops->failed(e, &t, &node, &err))
        if (t == e->last && node >= 0 && node < f->n_nodes) said[node] = err;
}

static bool check_errors(FusedCase *t, Engine *e, bool was_run, char *text, size_t size) {
    Fusion *f = &t->fuse;
    FusePlan plan;
    Err of_index[FUSED_INDICES] = {{0}}, said[FUSE_NODES] = {{0}};
    bool fails = false;
    fuse_plan(f, &plan);
    take_errors(f, e, said);
    for (int k = 0; k < t->n_indices; k++)
        if (t->index[k].is_row) of_index[k] = index_error(t, &t->index[k]);
    for (int i = 0; i < f->n_nodes; i++) {
        Err want = expected(t, &plan, i, of_index);
        fails |= want.code != 0;
        if (want.code == said[i].code && !strcmp(want.text, said[i].text) &&
            !strcmp(want.hint, said[i].hint) && want.at == said[i].at)
            continue;
        snprintf(text, size, "node %d (%s) says \"%.80s\", not \"%.80s\"", i,
                 op_info[f->node[i].op].name, said[i].text, want.text);
        return false;
    }
    if (was_run == (e->ops->is_ordered || !fails)) return true;
    snprintf(text, size, "it was %s", was_run ? "not refused" : "refused");
    return false;
}

bool fused_case_fail(FusedCase *t, Engine *e, const FusedKernel *k, Rand *r, char *text,
                     size_t size) {
    void *was[FUSED_INDICES] = {0};
    for (int i = 0; i < t->n_indices; i++)
        if (fuse_is_input(t->index[i].ref)) was[i] = spoil(t, &t->index[i], r);
    bool ok = !t->n_indices || run(t, e, k, NULL, check_errors, text, size);
    for (int i = 0; i < t->n_indices; i++) {
        const FusedValue *v = &t->index[i];
        uint64_t bytes = (uint64_t)(extent_of(&v->view) * dtype_info[v->dtype].size_bytes);
        if (was[i]) memcpy(v->owned, was[i], bytes);
        free(was[i]);
    }
    return ok;
}
