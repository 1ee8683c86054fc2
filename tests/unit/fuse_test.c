/* fuse_test: a fusion's kernel gives the same bits as the cpu engine op by op. Random fusions
 * over all dtypes, broadcast and permuted inputs, odd sizes, nan and infinities, reductions along
 * rows and over them, of more than one block, single elements of rows, totals, outputs written over
 * inputs, 1 and 3 threads; each graph twice, with other shapes and scalars, which share a kernel if
 * the inputs have the same kind of strides. Then: which fusions share a kernel, and the kernels'
 * cache: from disk, damaged, used by two at once, too large, missing, no compiler. Usage: fuse_test
 * [FUSIONS [SEED]]
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "runtime/inst/inst.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include "worker/kernel/emit.h"
#include "worker/emit/fuse.h"
#include "worker/jit/jit.h"
#include "worker/kernel/kernels.h"
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static Engine *engine[2]; /* 1 thread and 3 */
static char cache_dir[64];
static int n_far[FUSED_LEAVES + 1]; /* by kind of unit: runs with is_far */

static void make_source(void *ctx, Bytes *out) { emit_fusion(out, ctx); }
static const FusedKernel *ask(Jit *j, Fusion *f) {
    return jit_get(j, f->signature, f->signature_bytes, f->hash, make_source, f);
}

/* ---- Values: each is a tensor of the eager run and a reference into the fusion ---- */

typedef struct Value {
    View view; /* in the eager run: shape of the space, or rows with trailing axes of 1 */
    FuseRef ref;
    DType dtype;
    bool is_row;
    bool is_column; /* folded over the rows: cannot be an operand */
    void *owned;
} Value;

enum { VALUES = 40 };
typedef struct Trial {
    Fusion fuse;
    Value value[VALUES], index; /* owned NULL: there is none */
    int n_values;
    int n_stored;
    int stored[FUSED_OUTPUTS]; /* values */
    void *out[FUSED_OUTPUTS];
} Trial;

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
    if (!p) abort();
    return p;
}

static TensorType type_of(const Trial *t, bool is_row, DType d) {
    TensorType type = t->fuse.space;
    type.dtype = (uint8_t)d;
    for (int a = 0; is_row && a < t->fuse.trailing; a++) type.shape[type.rank - 1 - a] = 1;
    return type;
}

/* A view of the type in memory of its own: plain, permuted, stepped or broadcast. */
static Value random_input(Trial *t, Rand *strides, Rand *r, DType d, bool is_row, bool is_tame) {
    Value v = {.dtype = d, .is_row = is_row};
    View *w = &v.view;
    w->type = type_of(t, is_row, d);
    int rank = w->type.rank, order[MAX_DIMS];
    int how = rand_below(strides, 4); /* 0, 1: plain; 2: axes that repeat; 3: any order, steps */
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
        if (stepped) step *= 2;
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

static bool fails(Engine *e, Ticket k) {
    Err err;
    return e->ops->done(e, k, true, &err) != 1;
}

/* How the call is made: reductions fold the row, or, if is_column, over the rows. */
static Value apply_how(Trial *t, Op op, DType out, bool is_row, bool is_column,
                       const Value *const *operand, int n) {
    Value v = {.dtype = out, .is_row = is_row, .is_column = is_column};
    View in[3];
    FuseRef ref[3];
    Operand dummy[3] = {{0}};
    int64_t axes[MAX_DIMS];
    Attr attr[2];
    Inst inst = {.op = op, .n_in = (uint16_t)n, .n_out = 1, .in = dummy, .attr = attr};
    for (int k = 0; k < n; k++) in[k] = operand[k]->view, ref[k] = operand[k]->ref;
    if (op_info[op].class_ == CLASS_REDUCE) {
        int lead = t->fuse.space.rank - t->fuse.trailing;
        int folded = is_column ? lead : t->fuse.trailing;
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
    Call call = {.inst = &inst, .n_in = n, .n_out = 1, .in = in};
    v.view.type = type_of(t, is_row, out);
    for (int a = 0; is_column && a < t->fuse.space.rank - t->fuse.trailing; a++)
        v.view.type.shape[a] = 1;
    view_strides(&v.view.type, v.view.stride);
    v.owned = v.view.data = memory(type_bytes(&v.view.type));
    call.out[0] = v.view;
    CHECK(!fails(engine[0], engine[0]->ops->submit(engine[0], &call, NULL, 0)));
    bool is_total = is_column && op_info[op].class_ != CLASS_REDUCE;
    v.ref = is_total    ? fuse_total(&t->fuse, op, out, ref, n)
            : is_column ? fuse_column(&t->fuse, op, out, is_row, ref[0])
                        : fuse_node(&t->fuse, op, out, is_row, ref, n);
    return v;
}
static Value apply(Trial *t, Op op, DType out, bool is_row, const Value *const *operand, int n) {
    return apply_how(t, op, out, is_row, false, operand, n);
}

/* An immediate for an operation on dtype d, as issue.c makes it. */
static Value scalar(Trial *t, Rand *r, Op op, DType d) {
    Value v = {.dtype = d, .view = {.is_scalar = true}};
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
static Value full(Trial *t, Rand *r, DType d, bool is_row) {
    bool is_float = dtype_is_float(d);
    Operand dummy = {0};
    Inst inst = {.op = OP_FULL, .n_in = 1, .n_out = 1, .in = &dummy};
    char wide[8], narrow[8];
    fill(r, wide, is_float ? DT_F64 : DT_I64, 1, true);
    if (is_float)
        element_set_float(d, narrow, element_float(DT_F64, wide));
    else
        element_set_int(d, narrow, element_int(DT_I64, wide));
    View imm = {.type.dtype = is_float ? DT_F64 : DT_I64, .is_scalar = true, .data = wide};
    Value v = {.dtype = d, .is_row = is_row};
    v.view.type = type_of(t, is_row, d);
    view_strides(&v.view.type, v.view.stride);
    v.owned = v.view.data = memory(type_bytes(&v.view.type));
    Call call = {.inst = &inst, .n_in = 1, .n_out = 1, .in = &imm, .out = {v.view}};
    CHECK(!fails(engine[0], engine[0]->ops->submit(engine[0], &call, NULL, 0)));
    FuseRef s = fuse_scalar(&t->fuse, d, narrow);
    v.ref = fuse_node(&t->fuse, OP_FULL, d, is_row, &s, 1);
    return v;
}
/* One index into each row. */
static Value random_index(Trial *t, Rand *strides, Rand *r, DType d) {
    Value v = random_input(t, strides, r, d, true, true);
    int64_t n = t->fuse.space.shape[t->fuse.space.rank - 1], rows = 1;
    for (int a = 0; a < v.view.type.rank; a++)
        if (v.view.stride[a]) rows += (v.view.type.shape[a] - 1) * v.view.stride[a];
    for (int64_t i = 0; i < rows; i++)
        element_set_int(d, (char *)v.owned + i * dtype_info[d].size_bytes,
                        (int64_t)(rand_u64(r) % (uint64_t)n));
    return v;
}

/* ---- Random fusions ---- */

static const DType dtypes[] = {DT_F32,  DT_F32, DT_F32, DT_F32, DT_F64, DT_F16,
                               DT_BF16, DT_I32, DT_I64, DT_U8,  DT_I8,  DT_BOOL};

/* Any value of the space (rows_only false), of rows, or a total; dtype DT_NONE: any. */
static const Value *any_value(const Trial *t, Rand *g, DType d, bool is_row, bool is_column) {
    int fits[VALUES], n = 0;
    for (int i = 0; i < t->n_values; i++) {
        const Value *v = &t->value[i];
        if (v->is_row == is_row && v->is_column == is_column && (d == DT_NONE || v->dtype == d))
            fits[n++] = i;
    }
    return n ? &t->value[fits[rand_below(g, n)]] : NULL;
}
/* Adds a constant, a gather or scatter of one element per row, or a node computed from totals; not
 * always possible. Returns the new value's index, or -1. */
static int rarer_op(Trial *t, Rand *g, Rand *r, const Value *idx) {
    static const DType full_of[] = {DT_F32, DT_F64, DT_I64, DT_F32};
    Value v;
    if (t->n_values == VALUES) return -1;
    switch (rand_below(g, 4)) {
    case 0: v = full(t, r, full_of[rand_below(g, 4)], t->fuse.trailing && rand_below(g, 2)); break;
    case 1: {
        const Value *x = any_value(t, g, DT_NONE, false, false);
        if (!idx->owned || !x) return -1;
        v = apply(t, OP_GATHER, x->dtype, true, (const Value *[]){x, idx}, 2);
        break;
    }
    case 2: {
        const Value *x = any_value(t, g, DT_NONE, false, false);
        if (!idx->owned || !x || dtype_is_half(x->dtype) || x->dtype == DT_BOOL) return -1;
        const Value *d = any_value(t, g, x->dtype, true, false);
        if (!d) return -1;
        v = apply(t, OP_SCATTER_ADD, x->dtype, false, (const Value *[]){x, idx, d}, 3);
        break;
    }
    default: {
        const Value *x = any_value(t, g, DT_NONE, true, true);
        if (!x) return -1;
        const Value *y = any_value(t, g, x->dtype, true, true);
        bool is_cast = x->dtype == DT_BOOL || rand_below(g, 3) == 0;
        DType to = is_cast ? full_of[rand_below(g, 4)] : x->dtype;
        v = apply_how(t, is_cast ? OP_CAST : OP_SUB, to, true, true, (const Value *[]){x, y},
                      is_cast ? 1 : 2);
    }
    }
    t->value[t->n_values] = v;
    return t->n_values++;
}

/* A value of dtype d that may be an operand; casts one if there is none. */
static const Value *operand(Trial *t, Rand *g, DType d, bool rows_only) {
    int fits[VALUES], n = 0, any[VALUES], n_any = 0;
    for (int i = 0; i < t->n_values; i++) {
        if (t->value[i].is_column || (rows_only && !t->value[i].is_row)) continue;
        any[n_any++] = i;
        if (t->value[i].dtype == d) fits[n++] = i;
    }
    /* Prefers the last ones: deep graphs. */
    if (n) return &t->value[fits[n - 1 - (rand_below(g, n) * rand_below(g, n) / n) % n]];
    if (!n_any || t->n_values == VALUES) return NULL;
    const Value *from = &t->value[any[rand_below(g, n_any)]];
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
static int passes(Trial *t, Rand *g) {
    static const Op reduces[] = {OP_SUM, OP_MAX, OP_MIN, OP_SUM};
    static const Op joins[] = {OP_SUB, OP_MUL, OP_ADD};
    static const Op deeps[] = {OP_EXP, OP_TANH, OP_SIGMOID, OP_SQUARE, OP_NEG};
    int last = -1, times = 1 + rand_below(g, 4);
    DType d = rand_below(g, 4) ? DT_F32 : DT_F64;
    for (int i = 0; i < times && t->n_values < VALUES - 12; i++) {
        const Value *x = operand(t, g, d, false), *was = x;
        if (!x || x->is_row) return last;
        if (rand_below(g, 2)) {
            t->value[t->n_values] = apply(t, deeps[rand_below(g, 5)], d, false, &x, 1);
            x = &t->value[t->n_values++];
        }
        t->value[t->n_values] = apply(t, reduces[rand_below(g, 4)], d, true, &x, 1);
        const Value *in[] = {rand_below(g, 3) ? x : was, &t->value[t->n_values++]};
        t->value[t->n_values] = apply(t, joins[rand_below(g, 3)], d, false, in, 2);
        last = t->n_values++;
    }
    return last;
}

/* g: the graph; strides: the inputs' strides; r: shapes, values, scalars. */
static void build(Trial *t, Rand *g, Rand *strides, Rand *r, bool is_tame) {
    memset(t, 0, sizeof *t);
    TensorType space = {.rank = (uint8_t)(1 + rand_below(g, 4))};
    bool is_long = rand_below(g, 6) == 0;
    for (int a = 0; a < space.rank; a++) space.shape[a] = 2 + rand_below(r, a ? 40 : 9);
    if (is_long) space.shape[space.rank - 1] = 4000 + rand_below(r, 9000);
    if (is_long && space.rank > 2) space.rank = 2, space.shape[1] = space.shape[0] * 1500 + 77;
    int trailing = rand_below(g, 2) ? 1 + rand_below(g, space.rank) : 0;
    bool has_columns = trailing && trailing < space.rank && rand_below(g, 2);
    if (has_columns && !is_long && rand_below(g, 3) == 0) { /* more rows than a block has */
        space.shape[0] = 300 + rand_below(r, 300);
        if (space.rank - trailing == 1) space.shape[0] *= 30;
        for (int a = 1; a < space.rank; a++) space.shape[a] = 2 + space.shape[a] % 11;
    }
    bool has_passes = trailing && rand_below(g, 2);
    if (has_passes && rand_below(g, 2)) { /* more short rows than the staggered loop holds */
        space = (TensorType){.rank = 2, .shape = {1 + rand_below(r, 30), 1 + rand_below(r, 70)}};
        if (rand_below(r, 2)) space.shape[1] = 64 * (1 + rand_below(r, 3));
        trailing = 1;
    }
    fuse_init(&t->fuse, &space, trailing);
    int inputs = 1 + rand_below(g, 4), ops = 1 + rand_below(g, 12);
    for (int k = 0; k < inputs; k++) {
        DType d = dtypes[rand_below(g, sizeof dtypes / sizeof *dtypes)];
        bool is_row = trailing && k > 0 && rand_below(g, 4) == 0;
        t->value[t->n_values++] = random_input(t, strides, r, d, is_row, is_tame);
    }
    if (rand_below(g, 8) == 0) { /* the same input again */
        t->value[t->n_values] = t->value[0];
        t->value[t->n_values++].owned = NULL;
    }
    int last = -1;
    t->index = (Value){0};
    if (trailing == 1 && rand_below(g, 2))
        t->index = random_index(t, strides, r, rand_below(g, 2) ? DT_I64 : DT_I32);
    if (has_passes) last = passes(t, g);
    for (int k = has_passes ? ops / 2 : 0; k < ops && t->n_values < VALUES - 8; k++) {
        if (rand_below(g, 6) == 0) {
            int made = rarer_op(t, g, r, &t->index);
            if (made >= 0) last = made;
            continue;
        }
        bool reduces = trailing && rand_below(g, 4) == 0;
        bool is_column = has_columns && rand_below(g, 4) == 0;
        reduces |= is_column;
        bool rows_only = trailing && !reduces && rand_below(g, 4) == 0;
        Op op = random_op(g, reduces ? CLASS_REDUCE : CLASS_MAP);
        DType d = dtypes[rand_below(g, sizeof dtypes / sizeof *dtypes)];
        if (!(op_info[op].in & DSET(d))) continue;
        const Value *in[3], *x = NULL;
        Value imm[3];
        int n = op_info[op].arity;
        DType out = op_info[op].out == OUT_boolean ? DT_BOOL : d;
        if (reduces) {
            out = dtype_is_half(d) ? d : emit_accumulator(op, d);
            x = operand(t, g, d, false);
            if (!x || (x->is_row && !is_column) || t->n_values >= VALUES) continue;
            Value v = apply_how(t, op, out, !is_column || x->is_row, is_column, &x, 1);
            t->value[last = t->n_values++] = v;
            continue;
        }
        int fixed = rand_below(g, n); /* a tensor; the others may be immediates */
        if (n == 3 && fixed == 0) fixed = 1;
        bool ok = true, is_row = true, has_tensor = false;
        int n_imm = 0;
        for (int i = 0; i < n && ok; i++) {
            DType want = n == 3 && i == 0 ? DT_BOOL : d;
            if (i != fixed && rand_below(g, 3) == 0) {
                imm[n_imm] = scalar(t, r, want == DT_BOOL ? OP_ADD : op, want);
                in[i] = &imm[n_imm++];
            } else {
                in[i] = operand(t, g, want, rows_only);
                ok = in[i] != NULL;
                if (ok) has_tensor = true, is_row &= in[i]->is_row;
            }
        }
        if (ok && has_tensor && t->n_values < VALUES) {
            Value v = apply(t, op, out, is_row, in, n);
            t->value[last = t->n_values++] = v;
        }
        for (int i = 0; i < n_imm; i++) free(imm[i].owned);
    }
    for (int i = inputs; i < t->n_values; i++) {
        if (!fuse_is_node(t->value[i].ref)) continue;
        if (i != last && rand_below(g, t->value[i].is_column ? 2 : 4)) continue;
        if (!fuse_store(&t->fuse, t->value[i].ref)) break;
        t->stored[t->n_stored++] = i;
    }
}

static void trial_free(Trial *t) {
    for (int i = 0; i < t->n_values; i++) free(t->value[i].owned);
    for (int i = 0; i < t->n_stored; i++) free(t->out[i]);
    free(t->index.owned);
}

/* All nans are equal: the payload is not specified. */
static bool same_bits(DType d, const void *a, const void *b, int64_t n, int64_t *at) {
    int size = dtype_info[d].size_bytes;
    for (int64_t i = 0; i < n; i++) {
        const char *p = (const char *)a + i * size, *q = (const char *)b + i * size;
        *at = i;
        if (!memcmp(p, q, (size_t)size)) continue;
        if (!dtype_is_float(d)) return false;
        double x = element_float(d, p), y = element_float(d, q);
        if (x == x || y == y) return false;
    }
    return true;
}

static bool may_overwrite(const Trial *t, const FusedKernel *k, int output, int input,
                          const Value *v) {
    const View *in = &t->fuse.input[input];
    return k->reuse[output] >> input & 1 && in->type.dtype == v->view.type.dtype &&
           type_equal(&in->type, &v->view.type) && view_is_contiguous(in);
}

/* The kernel's results against the eager ones. */
static bool check_trial(Trial *t, const FusedKernel *k, Engine *e, Rand *r, bool overwrites,
                        const char *what) {
    uint32_t taken = 0;
    for (int i = 0; i < t->n_stored; i++) {
        const Value *v = &t->value[t->stored[i]];
        uint64_t bytes = type_bytes(&v->view.type);
        char **out = fuse_store(&t->fuse, v->ref);
        if (!t->out[i]) t->out[i] = memory(bytes);
        memset(t->out[i], 0xa5, bytes);
        *out = t->out[i];
        for (int j = 0; j < t->fuse.n_inputs && overwrites; j++) {
            if (taken >> j & 1 || !may_overwrite(t, k, i, j, v) || rand_below(r, 2)) continue;
            *out = t->fuse.input[j].data;
            taken |= 1u << j;
            break;
        }
    }
    bool ok = e->ops->fused(e, &t->fuse, k);
    CHECK(ok);
    CHECK(!t->fuse.args.is_far || e == engine[1]);
    n_far[k->unit] += t->fuse.args.is_far != 0;
    for (int i = 0; i < t->n_stored; i++) {
        const Value *v = &t->value[t->stored[i]];
        int64_t at = 0;
        const void *got = *fuse_store(&t->fuse, v->ref);
        bool same = same_bits(v->dtype, got, v->view.data, type_numel(&v->view.type), &at);
        int size = dtype_info[v->dtype].size_bytes;
        CHECK_MSG(same, "%s: node %d (%s of %s) element %lld is %g, eagerly %g", what, v->ref,
                  op_info[t->fuse.node[v->ref].op].name, dtype_info[v->dtype].text, (long long)at,
                  element_float(v->dtype, (const char *)got + at * size),
                  element_float(v->dtype, (const char *)v->view.data + at * size));
        ok &= same;
    }
    return ok;
}

static void test_random(int fusions, uint64_t seed) {
    JitConfig config = {.isa = kernels_find()->isa, .dir = cache_dir};
    Jit *jit = jit_new(&config);
    int n = 2 * fusions, accepted = 0, shared = 0;
    Trial **trial = xcalloc((size_t)n, sizeof *trial);
    for (int i = 0; i < n; i++) {
        Trial *t = xmalloc(sizeof *t);
        /* Trials 2 k and 2 k + 1: the same graph, mostly the same strides, other sizes. */
        Rand g = {seed + (uint64_t)(i / 2) * 1000003}, r = {seed * 7 + (uint64_t)i};
        Rand strides = {seed + (uint64_t)(i / 2) * 77 + (i % 6 == 5)};
        build(t, &g, &strides, &r, i % 4 < 2);
        if (!t->n_stored || !fuse_done(&t->fuse)) {
            trial_free(t);
            free(t);
            continue;
        }
        trial[i] = t;
        accepted++;
        ask(jit, &t->fuse);
    }
    for (int i = 0; i < n; i++) { /* one signature, one source */
        for (int j = i + 1; j < n && trial[i]; j++) {
            if (!trial[j] || !fuse_equal(&trial[i]->fuse, &trial[j]->fuse)) continue;
            shared++;
            Bytes a = {0}, b = {0};
            emit_fusion(&a, &trial[i]->fuse);
            emit_fusion(&b, &trial[j]->fuse);
            CHECK_STR(a.data, b.data);
            bytes_fini(&a);
            bytes_fini(&b);
        }
    }
    CHECK_MSG(fusions < 8 || shared > fusions / 4, "only %d of %d graphs share a kernel", shared,
              fusions);
    CHECK(jit_wait(jit, 600000));
    for (int i = 0; i < n; i++) {
        Trial *t = trial[i];
        if (!t) continue;
        const FusedKernel *k = ask(jit, &t->fuse);
        char what[64];
        snprintf(what, sizeof what, "trial %d of seed %llu", i, (unsigned long long)seed);
        CHECK_MSG(k != NULL, "%s has no kernel", what);
        if (!k) continue;
        Rand r = {(uint64_t)i};
        bool ok = check_trial(t, k, engine[1], &r, false, what) &&
                  check_trial(t, k, engine[0], &r, true, what);
        if (!ok && check_failed < 20)
            fprintf(stderr, "%s\n",
                    jit_source(jit, t->fuse.signature, t->fuse.signature_bytes, t->fuse.hash));
    }
    JitStats s = jit_stats(jit);
    printf("  %d fusions, %d pairs share a kernel, %llu kernels in %llu calls, %.0f ms\n", accepted,
           shared, (unsigned long long)s.compiled, (unsigned long long)s.compiler_calls,
           s.compile_ms);
    CHECK_INT(s.failed, 0);
    for (int i = 0; i < n; i++) {
        if (!trial[i]) continue;
        trial_free(trial[i]);
        free(trial[i]);
    }
    free(trial);
    jit_free(&jit);
}

/* An index out of range: the kernel reports it, and nothing is read or written there. */
static void test_bad_index(void) {
    JitConfig config = {.isa = kernels_find()->isa, .dir = cache_dir};
    Jit *jit = jit_new(&config);
    for (int bad = 0; bad < 4; bad++) {
        static float x[8 * 40], out[8 * 40], picked[8];
        static int64_t index[8];
        for (int i = 0; i < 8; i++) index[i] = i * 5;
        index[5] = (const int64_t[]){0, 40, -1, INT64_MIN}[bad];
        Fusion f;
        TensorType space = {.rank = 2, .dtype = DT_F32, .shape = {8, 40}};
        TensorType rows = {.rank = 2, .dtype = DT_I64, .shape = {8, 1}};
        fuse_init(&f, &space, 1);
        FuseRef a = fuse_input(&f, &(View){.type = space, .stride = {40, 1}, .data = x});
        FuseRef i = fuse_input(&f, &(View){.type = rows, .stride = {1, 1}, .data = index});
        FuseRef e = fuse_node(&f, OP_EXP, DT_F32, false, &a, 1);
        FuseRef p = fuse_node(&f, OP_GATHER, DT_F32, true, (FuseRef[]){e, i}, 2);
        FuseRef s = fuse_node(&f, OP_SCATTER_ADD, DT_F32, false, (FuseRef[]){e, i, p}, 3);
        *fuse_store(&f, p) = (char *)picked;
        *fuse_store(&f, s) = (char *)out;
        CHECK(fuse_done(&f));
        const FusedKernel *k = ask(jit, &f);
        if (!k) CHECK(jit_wait(jit, 60000) && (k = ask(jit, &f)));
        CHECK(!k->reuse[0] && !k->reuse[1]); /* the inputs may be needed again */
        CHECK(engine[0]->ops->fused(engine[0], &f, k) == !bad);
        CHECK(bad || (picked[5] == 1 && out[5 * 40] == 2 && out[5 * 40 + 1] == 1));
    }
    jit_free(&jit);
}

/* ---- Fusions that must not share a kernel ---- */

typedef struct Small {
    Op op;
    DType dtype;
    int64_t columns, step; /* of the second input: (columns) by step, or (rows, columns) */
    bool swaps, stores_both, is_half_row;
    float scalar;
} Small;

/* exp(a op b) * scalar over (8, columns). */
static void make_small(Fusion *f, const Small *s) {
    static double data[1 << 14];
    TensorType space = {.rank = 2, .shape = {8, s->columns}};
    fuse_init(f, &space, 0);
    View a = {.type = space, .stride = {s->columns, 1}, .data = data}, b = a;
    a.type.dtype = b.type.dtype = (uint8_t)s->dtype;
    b.data = data + 4096;
    if (s->step) b.stride[0] = 0, b.stride[1] = s->step;
    if (s->is_half_row) b.stride[0] = 1, b.stride[1] = 0;
    FuseRef x = fuse_input(f, &a), y = fuse_input(f, &b);
    FuseRef xy[2] = {s->swaps ? y : x, s->swaps ? x : y};
    FuseRef n = fuse_node(f, s->op, s->dtype, false, xy, 2);
    FuseRef m = fuse_node(f, OP_EXP, s->dtype, false, &n, 1);
    double wide = (double)s->scalar;
    FuseRef k = fuse_scalar(f, s->dtype, s->dtype == DT_F64 ? (void *)&wide : (void *)&s->scalar);
    FuseRef p = fuse_node(f, OP_MUL, s->dtype, false, (FuseRef[]){m, k}, 2);
    if (s->stores_both) fuse_store(f, n);
    fuse_store(f, p);
    CHECK(fuse_done(f));
}

static void test_signature(void) {
    static const Small base = {OP_ADD, DT_F32, 40, 0, false, false, false, 2};
    static const struct {
        Small s;
        bool same;
        const char *what;
    } rows[] = {
        {{OP_ADD, DT_F32, 41, 0, false, false, false, 2}, true, "another shape"},
        {{OP_ADD, DT_F32, 40, 0, false, false, false, -7}, true, "another scalar"},
        {{OP_SUB, DT_F32, 40, 0, false, false, false, 2}, false, "another op"},
        {{OP_ADD, DT_F64, 40, 0, false, false, false, 2}, false, "another dtype"},
        {{OP_ADD, DT_F32, 40, 1, false, false, false, 2}, false, "a row is broadcast"},
        {{OP_ADD, DT_F32, 40, 2, false, false, false, 2}, false, "a stepped row"},
        {{OP_ADD, DT_F32, 40, 0, false, false, true, 2}, false, "a column is broadcast"},
        {{OP_ADD, DT_F32, 40, 0, true, false, false, 2}, false, "operands swapped"},
        {{OP_ADD, DT_F32, 40, 0, false, true, false, 2}, false, "two outputs"},
    };
    Fusion a, b;
    make_small(&a, &base);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_small(&b, &rows[i].s);
        CHECK_MSG(fuse_equal(&a, &b) == rows[i].same, "signatures are %s with %s",
                  rows[i].same ? "different" : "equal", rows[i].what);
        CHECK_MSG(!rows[i].same || a.hash == b.hash, "hashes differ with %s", rows[i].what);
    }
    TensorType empty = {.rank = 2, .shape = {0, 3}};
    fuse_init(&a, &empty, 0);
    View v = {.type = empty, .stride = {3, 1}, .data = &b};
    FuseRef x = fuse_input(&a, &v), y = fuse_node(&a, OP_NEG, DT_F32, false, &x, 1);
    CHECK(fuse_store(&a, y) && !fuse_done(&a)); /* nothing to compute */
}

/* ---- The cache ---- */

static int n_files(const char *dir, const char *suffix, char path[512]) {
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t k = strlen(e->d_name), m = strlen(suffix);
        if (e->d_name[0] == '.' || k < m || strcmp(e->d_name + k - m, suffix)) continue;
        if (path) snprintf(path, 512, "%s/%s", dir, e->d_name);
        n++;
    }
    if (d) closedir(d);
    return n;
}
static void remove_all(const char *dir) {
    DIR *d = opendir(dir);
    char path[512];
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%.200s", dir, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    rmdir(dir);
}

static bool computes_sum(Fusion *f, const FusedKernel *k) { /* of make_small with the base row */
    float out[8 * 40];
    double *data = (double *)(void *)f->input[0].data;
    for (int i = 0; i < 320; i++) ((float *)data)[i] = (float)i * 0.01f;
    f->args.out[0] = (char *)out;
    return engine[0]->ops->fused(engine[0], f, k) && fabsf(out[100] - 2 * expf(1)) < 1e-5f;
}

static void damage(const char *path, int how) {
    FILE *f = fopen(path, "r+b");
    if (!f) abort();
    if (how == 0) CHECK(ftruncate(fileno(f), 1000) == 0);
    if (how == 1) CHECK(ftruncate(fileno(f), 0) == 0);
    if (how == 2) {
        fseek(f, 2000, SEEK_SET);
        int c = fgetc(f);
        fseek(f, 2000, SEEK_SET);
        fputc(c ^ 0x10, f);
    }
    if (how == 3) {
        fseek(f, 0, SEEK_END);
        fputs("more", f);
    }
    fclose(f);
}

static const Small base_row = {OP_ADD, DT_F32, 40, 0, false, false, false, 2};

static void test_cache(void) {
    char dir[96], path[512];
    snprintf(dir, sizeof dir, "%s/a", cache_dir);
    Fusion f;
    make_small(&f, &base_row);
    JitConfig config = {.isa = kernels_find()->isa, .dir = dir};
    Jit *j = jit_new(&config);
    CHECK(ask(j, &f) == NULL && jit_wait(j, 60000)); /* never ready at once */
    const FusedKernel *k = ask(j, &f);
    CHECK(k && computes_sum(&f, k) && ask(j, &f) == k);
    JitStats s = jit_stats(j);
    CHECK(s.compiled == 1 && s.cached == 0 && s.hits == 2 && s.misses == 1 && s.compile_ms > 0);
    CHECK_INT(n_files(dir, ".so", path), 1);
    CHECK_INT(n_files(dir, "", NULL), 1); /* and nothing else is left */
    struct stat st;
    CHECK(stat(dir, &st) == 0 && (st.st_mode & 0777) == 0700);
    jit_free(&j);
    for (int how = -1; how < 4; how++) { /* as it is, then damaged */
        if (how >= 0) damage(path, how);
        j = jit_new(&config);
        ask(j, &f);
        CHECK(jit_wait(j, 60000));
        k = ask(j, &f);
        s = jit_stats(j);
        CHECK_MSG(k && computes_sum(&f, k), "no kernel after damage %d", how);
        CHECK_MSG((int)s.cached == (how < 0) && (int)s.compiled == (how >= 0),
                  "damage %d: %d from disk, %d compiled", how, (int)s.cached, (int)s.compiled);
        jit_free(&j);
    }
    /* Two processes at once, with one cache. */
    unlink(path);
    Jit *two[2] = {jit_new(&config), jit_new(&config)};
    for (int i = 0; i < 2; i++) ask(two[i], &f);
    for (int i = 0; i < 2; i++) {
        CHECK(jit_wait(two[i], 60000) && (k = ask(two[i], &f)) && computes_sum(&f, k));
        jit_free(&two[i]);
    }
    CHECK_INT(n_files(dir, "", NULL), 1);
    /* Compiled at the third request. */
    config.min_requests = 3;
    j = jit_new(&config);
    for (int i = 0; i < 3; i++) CHECK(!ask(j, &f) && (i == 2 || !jit_pending(j)));
    CHECK(jit_wait(j, 60000) && ask(j, &f) && jit_stats(j).misses == 3);
    jit_free(&j);
    remove_all(dir);
}

/* A jit freed while compiling, a cache that is too small, and one that is unavailable. */
static void test_bounds(void) {
    char dir[96], path[512];
    snprintf(dir, sizeof dir, "%s/b/c", cache_dir);
    Fusion f;
    make_small(&f, &base_row);
    JitConfig config = {.isa = kernels_find()->isa, .dir = dir};
    /* Freed while its compiler runs: the compiler is ended, and no file is left. */
    Jit *j = jit_new(&config);
    ask(j, &f);
    jit_free(&j);
    CHECK(n_files(dir, ".c", NULL) == 0 && n_files(dir, ".txt", NULL) == 0);
    /* Two kernels in one file; then a cache that holds less than one of it. */
    Small other = base_row;
    other.op = OP_SUB;
    Fusion g;
    make_small(&g, &other);
    for (int small = 0; small < 2; small++) {
        config.bytes_max = small ? 1 : 0;
        j = jit_new(&config);
        ask(j, &f);
        ask(j, &g);
        CHECK(jit_wait(j, 60000) && ask(j, &f) && ask(j, &g));
        jit_free(&j);
        if (!small) CHECK_INT(n_files(dir, ".so", path), 2);
        if (!small) damage(path, 2);
    }
    CHECK_INT(n_files(dir, ".so", NULL), 0);
    config.bytes_max = 0;
    /* No compiler; no cache directory, or one that others can write or that another user owns. */
    int n_bad = geteuid() == 0 ? 4 : 3;
    fprintf(stderr, "fuse_test: %d lines that say why kernels are not fused are expected:\n",
            n_bad);
    JitConfig bad[4] = {config, config, config, config};
    bad[0].compiler = "/no/such/compiler -x";
    bad[1].dir = "/proc/no/such";
    char open_dir[96];
    snprintf(open_dir, sizeof open_dir, "%s/open", cache_dir);
    mkdir(open_dir, 0777);
    chmod(open_dir, 0777);
    bad[2].dir = open_dir;
    char other_dir[96]; /* root may make one */
    snprintf(other_dir, sizeof other_dir, "%s/other", cache_dir);
    mkdir(other_dir, 0700);
    CHECK(n_bad < 4 || chown(other_dir, 1, (gid_t)-1) == 0);
    bad[3].dir = other_dir;
    for (int i = 0; i < n_bad; i++) {
        j = jit_new(&bad[i]);
        ask(j, &f);
        CHECK(jit_wait(j, 60000) && !ask(j, &f) && jit_stats(j).is_off);
        ask(j, &g);
        CHECK(jit_wait(j, 60000) && !ask(j, &g));
        jit_free(&j);
    }
    remove_all(open_dir);
    remove_all(other_dir);
    remove_all(dir);
    snprintf(dir, sizeof dir, "%s/b", cache_dir);
    remove_all(dir);
}

int main(int argc, char **argv) {
    int fusions = argc > 1 ? atoi(argv[1]) : rand_rounds(12);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : rand_seed(1, argv);
    snprintf(cache_dir, sizeof cache_dir, "%s/gt_fuse_test.XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(cache_dir)) return 1;
    for (int i = 0; i < 2; i++) {
        Err err;
        EngineConfig config = {.memory_bytes = UINT64_C(1) << 28, .threads = i ? 3 : 1};
        setenv("GT_LLC_KIB", i ? "1" : "1000000", 1); /* with 3 threads past the caches */
        engine[i] = engine_cpu.open(&config, &err);
        if (!engine[i]) panic("%s", err.text);
    }
    test_signature();
    test_bad_index();
    test_cache();
    test_bounds();
    for (int done = 0; done < fusions; done += 48, seed++)
        test_random(fusions - done < 48 ? fusions - done : 48, seed);
    /* The draws of a seed depend on the table of operations: continue until both kinds occurred. */
    for (int more = 0; more < 6 && !(n_far[FUSED_ELEMENTS] && n_far[FUSED_ROWS]); more++)
        test_random(6, seed++);
    printf("  past the caches: %d times elements, %d rows, %d lanes\n", n_far[FUSED_ELEMENTS],
           n_far[FUSED_ROWS], n_far[FUSED_LEAVES]);
    CHECK(n_far[FUSED_ELEMENTS] && n_far[FUSED_ROWS]);
    for (int i = 0; i < 2; i++) engine[i]->ops->close(&engine[i]);
    remove_all(cache_dir);
    return check_report("fuse");
}
