/* ops_sample.h: random instances of every row of the op table, for ops_test.c: an instruction
 * with its attributes, and operands of random type, layout (plain, permuted, sliced, expanded)
 * and contents. The table at the end names a sampler for each row that engines execute; a
 * KERNEL, VIEW or SOURCE row without one does not compile.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_OPS_SAMPLE_H
#define GT_TESTS_UNIT_OPS_SAMPLE_H
#include "worker/ref/ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS = 12, INTS_MAX = 64 };

/* WHOLE: small integers, whose sums are exact in every dtype: any difference is an error. */
typedef enum Style { MIXED, WHOLE, SPECIAL, INDEX } Style;

/* An operand: a tensor in `base_bytes` of memory, of which the view shows a part; or an
 * immediate. */
typedef struct Arg {
    bool is_imm;
    View view;      /* data NULL: the offset is relative to the base */
    int64_t offset; /* elements */
    uint64_t base_bytes;
    char *base;
} Arg;

typedef struct Case {
    Inst inst;
    Operand in[ARGS];
    Attr attr[8];
    int64_t ints[INTS_MAX];
    int n_ints;
    Arg arg[ARGS];
    Style style;
    DType dtype;   /* of the data operands */
    bool is_exact; /* all engines must give the same bits */
    double terms;  /* number of terms in one result: scales the tolerance */
    TensorType type[ARGS], out[MAX_OUT];
} Case;

static uint64_t rng_state;
static uint64_t pick(uint64_t n) {
    rng_state ^= rng_state << 13, rng_state ^= rng_state >> 7, rng_state ^= rng_state << 17;
    return n ? (rng_state >> 16) % n : 0;
}
static double uniform(double lo, double hi) {
    return lo + (hi - lo) * (double)pick(1u << 30) / (double)(1u << 30);
}

/* ---- Elements ---- */

static double float_element(Style style) {
    static const double special[] = {0,     -0.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-40, 1e30,
                                     -1e30, 1,    -1,       0.5,       2.5, -2.5,  88,     -88};
    if (style == WHOLE) return (double)((int64_t)pick(9) - 4);
    if (style == SPECIAL && pick(3) == 0) return special[pick(16)];
    switch (pick(5)) {
    case 0: return uniform(-1, 1);
    case 1: return uniform(-10, 10);
    case 2: return (double)((int64_t)pick(9) - 4);
    case 3: return uniform(0, 1) * uniform(0, 1) * uniform(0, 1);
    default: return uniform(-3, 3);
    }
}
static int64_t int_element(Style style) {
    static const int64_t special[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1,
                                      0,         1,         255,       256,       1ll << 40};
    if (style == SPECIAL && pick(3) == 0) return special[pick(10)];
    return style == WHOLE || pick(2) ? (int64_t)pick(9) - 4 : (int64_t)pick(2000) - 1000;
}
static void fill_elements(Arg *a, DType d, Style style) {
    View base = {.type = {.dtype = (uint8_t)d}, .data = a->base};
    int64_t n = (int64_t)a->base_bytes / dtype_info[d].size_bytes;
    for (int64_t i = 0; i < n; i++) {
        if (dtype_is_float(d))
            ref_set_float(&base, i, float_element(style));
        else if (d == DT_BOOL)
            ref_set_int(&base, i, (int64_t)pick(2));
        else
            ref_set_int(&base, i, int_element(style));
    }
}

/* Factors near 1: no partial product of thousands of them overflows or vanishes in any order, which
 * would give infinity in one order and nan in another. */
static void tame_elements(Arg *a, DType d, Style style) {
    View base = {.type = {.dtype = (uint8_t)d}, .data = a->base};
    int64_t n = (int64_t)a->base_bytes / dtype_info[d].size_bytes;
    for (int64_t i = 0; i < n; i++) {
        double sign = pick(2) ? 1 : -1;
        ref_set_float(&base, i, style == WHOLE ? sign : sign * uniform(0.995, 1.005));
    }
}

/* ---- Operands ---- */

/* Lays out a tensor of this type: axes in random order in memory, some steps, some margins, some
 * axes repeated. */
static Arg *add_tensor(Case *c, TensorType t, Style style) {
    int k = c->inst.n_in++;
    Arg *a = &c->arg[k];
    *a = (Arg){.view = {.type = t}};
    c->in[k] = (Operand){.kind = IN_TENSOR, .id = (uint64_t)k + 1};
    c->type[k] = t;
    uint64_t layout = pick(4); /* 0: plain, 1: permuted, 2: sliced and permuted, 3: expanded */
    int order[MAX_DIMS];
    for (int d = 0; d < t.rank; d++) order[d] = d;
    for (int d = t.rank - 1; d > 0 && layout; d--) {
        int e = (int)pick((uint64_t)d + 1), o = order[d];
        order[d] = order[e], order[e] = o;
    }
    int64_t step = 1;
    for (int k2 = t.rank - 1; k2 >= 0; k2--) {
        int d = order[k2];
        int64_t start = layout == 2 ? (int64_t)pick(3) : 0,
                by = layout == 2 ? 1 + (int64_t)pick(2) : 1;
        if (layout == 3 && pick(2)) continue; /* stride 0 */
        a->view.stride[d] = step * by;
        a->offset += step * start;
        step *= start + (t.shape[d] > 0 ? t.shape[d] - 1 : 0) * by + 1 +
                (layout == 2 ? (int64_t)pick(2) : 0);
    }
    a->base_bytes = (uint64_t)step * (uint64_t)dtype_info[t.dtype].size_bytes;
    a->base = malloc(a->base_bytes);
    fill_elements(a, (DType)t.dtype, style);
    if (c->inst.op == OP_PROD && dtype_is_float((DType)t.dtype))
        tame_elements(a, (DType)t.dtype, style);
    return a;
}

/* Indices below size, the last ones also counted from the end. */
static void make_indices(Arg *a, int64_t size, bool from_zero) {
    View base = {.type = {.dtype = a->view.type.dtype}, .data = a->base};
    int64_t n = (int64_t)a->base_bytes / dtype_info[base.type.dtype].size_bytes;
    if (from_zero && a->view.type.dtype == DT_I8 && size > 128) size = 128; /* none wraps below 0 */
    bool may_be_negative = !from_zero && a->view.type.dtype != DT_U8;
    for (int64_t i = 0; i < n; i++)
        ref_set_int(&base, i,
                    size ? (int64_t)pick((uint64_t)size) -
                               (may_be_negative && pick(4) == 0 ? size : 0)
                         : 0);
}

static void add_imm(Case *c, InKind kind, double v) {
    int k = c->inst.n_in++;
    c->arg[k] = (Arg){.is_imm = true};
    c->in[k].kind = kind;
    if (kind == IN_IMM_FLOAT)
        c->in[k].f = v;
    else if (kind == IN_IMM_INT)
        c->in[k].i = (int64_t)v;
    else
        c->in[k].id = 0, c->in[k].b = v != 0;
}
/* An immediate that is valid for every operand of dtype d. */
static void add_weak(Case *c, DType d) {
    if (dtype_is_float(d) && pick(2))
        add_imm(c, IN_IMM_FLOAT, float_element(c->style));
    else if (d == DT_BOOL)
        add_imm(c, IN_IMM_BOOL, (double)pick(2));
    else
        add_imm(c, IN_IMM_INT, (double)pick(5));
}

/* ---- Attributes ---- */

static void add_attr(Case *c, Attr a) { c->attr[c->inst.n_attr++] = a; }
static void add_ints(Case *c, AttrKey key, const int64_t *v, int n) {
    int64_t *to = c->ints + c->n_ints;
    c->n_ints += n;
    for (int i = 0; i < n; i++) to[i] = v[i];
    add_attr(c, (Attr){.key = (uint8_t)key, .n = (uint32_t)n, .ints = to});
}
static void add_int(Case *c, AttrKey key, int64_t v) { add_ints(c, key, &v, 1); }
static void add_flag(Case *c, AttrKey key) {
    if (pick(3)) add_attr(c, (Attr){.key = (uint8_t)key, .b = pick(2)});
}

/* ---- Types ---- */

static int64_t extent(void) {
    static const int64_t some[] = {1, 2, 3, 5, 7, 16, 17, 33};
    return pick(24) == 0 ? 0 : some[pick(8)];
}
static TensorType some_type(DType d, int rank, int64_t most) {
    TensorType t = {.dtype = (uint8_t)d, .rank = (uint8_t)rank};
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        t.shape[i] = rank > 4 && pick(3) ? 1 + (int64_t)pick(2) : extent();
        if (n * t.shape[i] > most) t.shape[i] = 1;
        n *= t.shape[i] ? t.shape[i] : 1;
    }
    if (rank == 1 && pick(6) == 0) t.shape[0] = (int64_t)pick((uint64_t)most * 4);
    if (rank == 2 && pick(12) == 0) t.shape[pick(2)] = (int64_t)pick(5000);
    return t;
}
static int some_rank(void) { return pick(12) == 0 ? 8 : (int)pick(5); }
static DType some_index_dtype(void) {
    return (DType[]){DT_I64, DT_I64, DT_I32, DT_U8, DT_I8}[pick(5)];
}
/* A type that broadcasts to t: some axes 1, some leading ones missing. */
static TensorType narrowed(TensorType t) {
    int drop = pick(3) ? 0 : (int)pick((uint64_t)t.rank + 1);
    TensorType r = {.dtype = t.dtype, .rank = (uint8_t)(t.rank - drop)};
    for (int i = 0; i < r.rank; i++) r.shape[i] = pick(4) ? t.shape[i + drop] : 1;
    return r;
}

/* ---- Samplers ---- */

static void sample_map(Case *c) {
    Op op = c->inst.op;
    int n = op_info[op].arity, imm_at = n > 1 && pick(3) == 0 ? (int)pick((uint64_t)n) : -1;
    TensorType t = some_type(c->dtype, some_rank(), 4000);
    if (op == OP_WHERE && imm_at == 0) imm_at = -1;
    for (int i = 0; i < n; i++) {
        TensorType one = pick(3) ? t : narrowed(t);
        if (op == OP_WHERE && i == 0) one.dtype = DT_BOOL;
        if (i == imm_at)
            add_weak(c, c->dtype);
        else
            add_tensor(c, one, c->style);
    }
}

static void sample_reduce(Case *c) {
    TensorType t = some_type(c->dtype, some_rank(), 20000);
    int64_t axes[MAX_DIMS];
    int n = 0;
    for (int d = 0; d < t.rank; d++)
        if (pick(2)) axes[n++] = d;
    if (n == 0 || pick(4) == 0) n = 0;
    if (n) add_ints(c, ATTR_AXIS, axes, n);
    add_flag(c, ATTR_KEEPDIMS);
    add_tensor(c, t, c->style);
    c->terms = 1;
    for (int d = 0; d < t.rank; d++) c->terms *= (double)t.shape[d];
}

static void sample_RESHAPE(Case *c) {
    TensorType t = some_type(c->dtype, some_rank(), 4000);
    add_tensor(c, t, c->style);
    int64_t shape[MAX_DIMS], n = type_numel(&t), rank = 0;
    while (rank < MAX_DIMS - 1 && n > 1) {
        int64_t d = 2 + (int64_t)pick(16);
        if (n % d) {
            if (pick(4) == 0) break;
            continue;
        }
        shape[rank++] = d, n /= d;
    }
    shape[rank++] = n;
    add_ints(c, ATTR_SHAPE, shape, (int)rank);
}
static void sample_PERMUTE(Case *c) {
    TensorType t = some_type(c->dtype, some_rank(), 4000);
    add_tensor(c, t, c->style);
    int64_t axes[MAX_DIMS] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int d = t.rank - 1; d > 0; d--) {
        int e = (int)pick((uint64_t)d + 1);
        int64_t o = axes[d];
        axes[d] = axes[e], axes[e] = o;
    }
    add_ints(c, ATTR_AXES, axes, t.rank);
}
static void sample_EXPAND(Case *c) {
    TensorType t = some_type(c->dtype, some_rank(), 4000), from = narrowed(t);
    for (int i = 0, shift = t.rank - from.rank; i < from.rank; i++)
        if (pick(2)) from.shape[i] = t.shape[i + shift];
    add_tensor(c, from, c->style);
    add_ints(c, ATTR_SHAPE, t.shape, t.rank);
}
static TensorType add_slice(Case *c, const TensorType *t) {
    int64_t start[MAX_DIMS], size[MAX_DIMS], step[MAX_DIMS];
    TensorType part = *t;
    for (int d = 0; d < t->rank; d++) {
        int64_t n = t->shape[d];
        step[d] = 1 + (pick(2) ? 0 : (int64_t)pick(4));
        start[d] = (int64_t)pick((uint64_t)n + 1);
        int64_t most = start[d] < n ? (n - 1 - start[d]) / step[d] + 1 : 0;
        size[d] = pick(8) ? most : (int64_t)pick((uint64_t)most + 1);
        part.shape[d] = size[d];
    }
    add_ints(c, ATTR_START, start, t->rank);
    add_ints(c, ATTR_SIZE, size, t->rank);
    add_ints(c, ATTR_STEP, step, t->rank);
    return part;
}
static void sample_SLICE(Case *c) {
    TensorType t = some_type(c->dtype, some_rank(), 4000);
    add_tensor(c, t, c->style);
    add_slice(c, &t);
}

static void sample_CAST(Case *c) {
    add_tensor(c, some_type(c->dtype, some_rank(), 4000), pick(2) ? SPECIAL : c->style);
    add_attr(c, (Attr){.key = ATTR_DTYPE, .dtype = (DType)pick(DT_COUNT)});
    c->is_exact = true;
}
static void sample_MATMUL(Case *c) {
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 16, 31, 64, 65, 100};
    int64_t M = sizes[pick(10)], N = sizes[pick(10)], K = pick(20) ? sizes[pick(10)] : 0;
    if (pick(10) == 0) M = 0;
    if (pick(20) == 0) N = 130 + (int64_t)pick(200), M = 1 + (int64_t)pick(3);
    bool is_large = pick(30) == 0; /* so that there are several tiles */
    if (is_large)
        M = 150 + (int64_t)pick(150), N = 150 + (int64_t)pick(150), K = 1 + (int64_t)pick(300);
    TensorType batch = some_type(c->dtype, is_large || pick(2) ? 0 : (int)pick(3), 12);
    for (int i = 0; i < batch.rank; i++) /* an odd long axis would be too large here */
        if (batch.shape[i] > 33) batch.shape[i] = 2;
    TensorType a = narrowed(batch), b = narrowed(batch);
    bool a_is_row = a.rank == 0 && pick(4) == 0, b_is_col = b.rank == 0 && pick(4) == 0;
    if (!a_is_row) a.shape[a.rank++] = M;
    a.shape[a.rank++] = K;
    b.shape[b.rank++] = K;
    if (!b_is_col) b.shape[b.rank++] = N;
    add_tensor(c, a, c->style);
    add_tensor(c, b, c->style);
    c->terms = (double)K;
}
static void sample_CAT(Case *c) {
    TensorType t = some_type(c->dtype, 1 + (int)pick(4), 1000);
    int64_t axis = (int64_t)pick(t.rank);
    int n = 1 + (int)pick(ARGS - 1);
    add_int(c, ATTR_AXIS, axis);
    for (int i = 0; i < n; i++) {
        t.shape[axis] = (int64_t)pick(6);
        add_tensor(c, t, c->style);
    }
    c->is_exact = true;
}
static void sample_SLICE_PUT(Case *c) {
    TensorType t = some_type(c->dtype, some_rank(), 4000);
    add_tensor(c, t, c->style);
    add_tensor(c, narrowed(add_slice(c, &t)), c->style);
    c->is_exact = true;
}

/* k index operands that broadcast to a common type, for axes axis .. of x; returns that type. */
static TensorType add_indices(Case *c, const TensorType *x, int axis, int k) {
    TensorType common = some_type(DT_I64, (int)pick(3), 60);
    bool from_zero = pick(2);
    if (from_zero) add_attr(c, (Attr){.key = ATTR_FROM_ZERO, .n = 1, .b = true});
    if (x->rank - k + common.rank > MAX_DIMS) common.rank = 1;
    for (int i = 0; i < common.rank; i++)
        for (int d = axis; d < axis + k; d++)
            if (x->shape[d] == 0) common.shape[i] = 0; /* nothing can be indexed */
    for (int i = 0; i < k; i++) {
        TensorType t = i == 0 ? common : narrowed(common);
        t.dtype = (uint8_t)some_index_dtype();
        make_indices(add_tensor(c, t, INDEX), x->shape[axis + i], from_zero);
    }
    return common;
}
static bool has_empty(const TensorType *t, int from, int n) {
    for (int d = from; d < from + n; d++)
        if (t->shape[d] == 0) return true;
    return false;
}
static void sample_INDEX(Case *c) {
    TensorType t = some_type(c->dtype, 1 + (int)pick(4), 2000);
    int axis = (int)pick(t.rank), k = 1 + (int)pick((uint64_t)(t.rank - axis));
    if (has_empty(&t, axis, k))
        for (int d = 0; d < t.rank; d++) t.shape[d] = 3;
    add_int(c, ATTR_AXIS, axis);
    add_tensor(c, t, c->style);
    add_indices(c, &t, axis, k);
    c->is_exact = true;
}
static void sample_INDEX_PUT(Case *c) {
    TensorType t = some_type(c->dtype, 1 + (int)pick(4), 2000);
    int axis = (int)pick(t.rank), k = 1 + (int)pick((uint64_t)(t.rank - axis));
    if (has_empty(&t, axis, k))
        for (int d = 0; d < t.rank; d++) t.shape[d] = 3;
    bool adds = pick(2);
    add_int(c, ATTR_AXIS, axis);
    add_attr(c, (Attr){.key = ATTR_ACCUMULATE, .b = adds});
    add_tensor(c, t, c->style);
    /* v's type depends on the indices' types: drawn first, then moved behind x */
    Case rest = {0};
    TensorType common = add_indices(&rest, &t, axis, k), part = {.dtype = t.dtype};
    for (int d = 0; d < axis; d++) part.shape[part.rank++] = t.shape[d];
    for (int d = 0; d < common.rank; d++) part.shape[part.rank++] = common.shape[d];
    for (int d = axis + k; d < t.rank; d++) part.shape[part.rank++] = t.shape[d];
    add_tensor(c, narrowed(part), c->style);
    for (int i = 0; i < k; i++) {
        int at = c->inst.n_in++;
        c->arg[at] = rest.arg[i];
        c->type[at] = rest.type[i];
        c->in[at] = (Operand){.kind = IN_TENSOR, .id = (uint64_t)at + 1};
    }
    c->is_exact = !adds;
    c->terms = adds ? 100 : 1;
}
static void sample_GATHER(Case *c) {
    TensorType t = some_type(c->dtype, 1 + (int)pick(4), 2000), idx = t;
    int axis = (int)pick(t.rank);
    if (t.shape[axis] == 0) t.shape[axis] = 2;
    for (int d = 0; d < t.rank; d++)
        idx.shape[d] = d == axis ? (int64_t)pick(9) : (int64_t)pick((uint64_t)t.shape[d] + 1);
    idx.dtype = (uint8_t)some_index_dtype();
    add_int(c, ATTR_AXIS, axis);
    add_tensor(c, t, c->style);
    make_indices(add_tensor(c, idx, INDEX), t.shape[axis], true);
    c->is_exact = true;
}
static void sample_SCATTER_ADD(Case *c) {
    sample_GATHER(c);
    TensorType src = c->type[1];
    src.dtype = (uint8_t)c->dtype;
    for (int d = 0; d < src.rank; d++) src.shape[d] += (int64_t)pick(3);
    add_tensor(c, src, c->style);
    c->is_exact = false;
    c->terms = 10;
}
static void sample_SCATTER_REDUCE(Case *c) {
    static const char *const how[] = {"prod", "amax", "amin"};
    sample_SCATTER_ADD(c);
    add_attr(c, (Attr){.key = ATTR_REDUCE, .n = 4, .str = how[pick(3)]});
    if (dtype_is_float(c->dtype)) tame_elements(&c->arg[2], c->dtype, MIXED);
}
static void sample_along(Case *c) {
    TensorType t = some_type(c->dtype, 1 + (int)pick(4), 3000);
    int axis = (int)pick(t.rank);
    add_int(c, ATTR_AXIS, axis);
    add_tensor(c, t, pick(2) ? WHOLE : c->style); /* ties */
    c->is_exact = true;
}
static void sample_ARGMAX(Case *c) {
    TensorType t = some_type(c->dtype, some_rank(), 3000);
    for (int d = 0; d < t.rank; d++)
        if (t.shape[d] == 0) t.shape[d] = 1 + (int64_t)pick(2);
    if (t.rank && pick(3)) add_int(c, ATTR_AXIS, (int64_t)pick(t.rank));
    add_flag(c, ATTR_KEEPDIMS);
    add_tensor(c, t, pick(2) ? WHOLE : c->style);
    c->is_exact = true;
}
#define sample_ARGMIN sample_ARGMAX
static void sample_CUMSUM(Case *c) {
    sample_along(c);
    c->is_exact = false;
    c->terms = (double)c->type[0].shape[c->attr[0].ints[0]];
}
static void sample_SORT(Case *c) {
    sample_along(c);
    add_flag(c, ATTR_DESCENDING);
}
#define sample_ARGSORT sample_SORT
static void sample_RECURRENCE(Case *c) {
    TensorType t = some_type(c->dtype, 1 + (int)pick(4), 3000);
    add_int(c, ATTR_AXIS, (int64_t)pick(t.rank));
    add_flag(c, ATTR_REVERSE);
    add_tensor(c, t, WHOLE);
    add_tensor(c, t, c->style);
    if (dtype_is_float(c->dtype)) tame_elements(&c->arg[0], c->dtype, MIXED);
    c->terms = 200;
}
static void sample_CUMMAX(Case *c) {
    sample_along(c);
    add_flag(c, ATTR_LARGEST);
}
static void sample_SEARCHSORTED(Case *c) {
    TensorType t = some_type(c->dtype, 1 + (int)pick(3), 2000), v = t;
    if (t.rank == 1) v = some_type(c->dtype, (int)pick(3), 200);
    v.shape[v.rank ? v.rank - 1 : 0] = v.rank ? (int64_t)pick(20) : 0;
    add_tensor(c, t, WHOLE); /* unsorted lines have results too, the same in all engines */
    add_tensor(c, v, c->style);
    add_flag(c, ATTR_RIGHT);
    c->is_exact = true;
}

static void sample_TOPK(Case *c) {
    sample_along(c);
    add_attr(c, (Attr){.key = ATTR_K,
                       .i = (int64_t)pick((uint64_t)c->type[0].shape[c->attr[0].ints[0]] + 1)});
    add_flag(c, ATTR_LARGEST);
}

/* Well-conditioned square matrices (.., n, n): a dominant diagonal, rows shuffled if pivots are to
 * be found, all else small. */
enum { POSITIVE, SHUFFLED, TRIANGLE };
static void add_matrices(Case *c, TensorType batch, int64_t n, int kind) {
    TensorType t = batch;
    t.shape[t.rank++] = n, t.shape[t.rank++] = n;
    Arg *a = add_tensor(c, t, WHOLE);
    int64_t row = a->view.stride[t.rank - 2], column = a->view.stride[t.rank - 1];
    while (n > 1 && (row == 0 || column == 0)) { /* repeated rows: another layout */
        free(a->base);
        c->inst.n_in--;
        a = add_tensor(c, t, WHOLE);
        row = a->view.stride[t.rank - 2], column = a->view.stride[t.rank - 1];
    }
    View at = {.type = {.dtype = t.dtype}, .data = a->base}, rest = a->view;
    rest.type.rank = batch.rank;
    int64_t index[MAX_DIMS] = {0}, *order = calloc((size_t)n + 1, sizeof *order);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    if (type_numel(&t) > 0) do {
            int64_t base = a->offset + ref_offset(&rest, index, batch.rank);
            for (int64_t i = n - 1; i > 0 && kind == SHUFFLED; i--) {
                int64_t k = (int64_t)pick((uint64_t)i + 1), o = order[i];
                order[i] = order[k], order[k] = o;
            }
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j <= i; j++) {
                    double x = uniform(-1, 1) / (double)n, y = uniform(-1, 1) / (double)n;
                    ref_set_float(&at, base + order[i] * row + j * column,
                                  i == j ? 2 + uniform(0, 1) : x);
                    if (i != j) ref_set_float(&at, base + order[j] * row + i * column, y);
                }
        } while (ref_step(index, &batch));
    free(order);
}
static bool has_digits(const Case *c) { return c->dtype == DT_F32 || c->dtype == DT_F64; }
static int64_t some_order(void) {
    static const int64_t some[] = {1, 2, 3, 5, 16, 17, 31, 33, 50, 70};
    return pick(30) == 0 ? 0 : pick(8) == 0 ? 100 + (int64_t)pick(120) : some[pick(10)];
}
static TensorType some_batch(DType d, int64_t n) {
    TensorType t = {.dtype = (uint8_t)d, .rank = (uint8_t)(n > 50 ? 0 : pick(3))};
    for (int i = 0; i < t.rank; i++) t.shape[i] = pick(16) ? 1 + (int64_t)pick(4) : 0;
    return t;
}
static void sample_factor(Case *c, int kind) {
    int64_t n = some_order();
    c->terms = 4 + (double)n;
    if (has_digits(c))
        add_matrices(c, some_batch(c->dtype, n), n, kind);
    else
        add_tensor(c, some_type(c->dtype, 2, 4), WHOLE);
}
static void sample_CHOLESKY(Case *c) { sample_factor(c, POSITIVE); }
static void sample_LU(Case *c) { sample_factor(c, SHUFFLED); }
static void sample_EIGH(Case *c) { sample_factor(c, POSITIVE); }
/* Tall or wide matrices; the engines share the algorithm. */
static void sample_rectangle(Case *c, bool tall) {
    int64_t m = some_order(), n = some_order();
    if (tall && m < n) n = m;
    TensorType t = some_batch(c->dtype, m > n ? m : n);
    t.shape[t.rank++] = m;
    t.shape[t.rank++] = n;
    add_tensor(c, t, MIXED);
}
static void sample_QR(Case *c) { sample_rectangle(c, true); }
static void sample_SVD(Case *c) { sample_rectangle(c, false); }

/* A batch and one that broadcasts with it, as right sides. */
static void add_right_side(Case *c, TensorType batch, int64_t n) {
    batch.shape[batch.rank++] = n;
    batch.shape[batch.rank++] = pick(10) == 0 ? 0 : pick(4) ? 1 + (int64_t)pick(5) : 140;
    add_tensor(c, batch, MIXED);
}
static void sample_SOLVE_TRIANGULAR(Case *c) {
    int64_t n = some_order();
    TensorType batch = some_batch(c->dtype, n);
    c->terms = 10 * (4 + (double)n);
    add_flag(c, ATTR_UPPER);
    add_flag(c, ATTR_UNIT);
    if (!has_digits(c)) n = 2;
    add_matrices(c, narrowed(batch), n, TRIANGLE);
    add_right_side(c, narrowed(batch), n);
}
static void sample_SOLVE(Case *c) {
    int64_t n = has_digits(c) ? some_order() : 2;
    TensorType batch = some_batch(c->dtype, n), own = narrowed(batch);
    c->terms = 10 * (4 + (double)n);
    add_flag(c, ATTR_TRANSPOSED);
    add_matrices(c, own, n, TRIANGLE);
    add_right_side(c, narrowed(batch), n);
    add_matrices(c, own, n, TRIANGLE);
    own.shape[own.rank++] = n;
    own.dtype = DT_I64;
    Arg *a = add_tensor(c, own, INDEX);
    while (n > 1 && a->view.stride[own.rank - 1] == 0) {
        free(a->base);
        c->inst.n_in--;
        a = add_tensor(c, own, INDEX);
    }
    int64_t step = a->view.stride[own.rank - 1], to = 1 + (int64_t)pick(3);
    View at = {.type = {.dtype = DT_I64}, .data = a->base}, rest = a->view;
    int64_t index[MAX_DIMS] = {0};
    rest.type.rank = --own.rank;
    if (n && !ref_is_empty(&own)) do { /* consecutive rows from a random one on */
            for (int64_t i = 0; i < n; i++)
                ref_set_int(&at, a->offset + ref_offset(&rest, index, own.rank) + i * step,
                            (i + to) % n);
        } while (ref_step(index, &own));
}

/* ---- Windows ---- */

/* Attributes of windows over n axes, with fitting types of input and result: in[] and out[] are
 * their extents. */
static void add_window(Case *c, int n, bool is_pool, int64_t *in, int64_t *kernel, int64_t *out) {
    int64_t stride[3], padding[3], dilation[3];
    bool is_mean = c->inst.op == OP_AVG_POOL || c->inst.op == OP_AVG_POOL_DX;
    bool ceil = is_pool && pick(2), has_dilation = !is_mean && pick(2), has_stride = pick(3);
    bool has_padding = pick(3);
    for (int i = 0; i < n; i++) {
        kernel[i] = 1 + (int64_t)pick(4);
        stride[i] = has_stride ? 1 + (int64_t)pick(3) : is_pool ? kernel[i] : 1;
        dilation[i] = has_dilation ? 1 + (int64_t)pick(3) : 1;
        int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
        padding[i] = has_padding ? (int64_t)pick((uint64_t)(is_pool ? reach / 2 : 3) + 1) : 0;
        in[i] = 1 + (int64_t)pick(n == 3 ? 6 : n == 2 ? 12 : 40);
        if (in[i] + 2 * padding[i] < reach) in[i] = reach;
        int64_t room = in[i] + 2 * padding[i] - reach + (ceil ? stride[i] - 1 : 0);
        out[i] = room / stride[i] + 1;
        if (ceil && (out[i] - 1) * stride[i] >= in[i] + padding[i]) out[i]--;
    }
    if (is_pool)
        add_ints(c, ATTR_KERNEL, kernel, n), add_attr(c, (Attr){.key = ATTR_CEIL, .b = ceil});
    if (has_stride) add_ints(c, ATTR_STRIDE, stride, n);
    if (has_padding) add_ints(c, ATTR_PADDING, padding, n);
    if (has_dilation) add_ints(c, ATTR_DILATION, dilation, n);
    c->terms = 1;
    for (int i = 0; i < n; i++) c->terms *= (double)kernel[i];
}

/* The three types of a convolution: x, w, y. */
static void conv_types(Case *c, TensorType t[3]) {
    int n = pick(6) ? 2 : 1 + (int)pick(3);
    int64_t groups = pick(3) ? 1 : 1 + (int64_t)pick(3);
    for (int k = 0; k < 3; k++) t[k] = (TensorType){.dtype = c->dtype, .rank = (uint8_t)(n + 2)};
    add_window(c, n, false, t[0].shape + 2, t[1].shape + 2, t[2].shape + 2);
    if (groups > 1 || pick(2)) add_attr(c, (Attr){.key = ATTR_GROUPS, .i = groups});
    int64_t C = pick(12) ? 1 + (int64_t)pick(n == 2 ? 9 : 4) : 0;
    int64_t O = pick(4) ? 1 + (int64_t)pick(9) : 16 * (1 + (int64_t)pick(5));
    t[0].shape[0] = t[2].shape[0] = pick(12) ? 1 + (int64_t)pick(4) : 0;
    t[0].shape[1] = C * groups, t[1].shape[1] = C;
    t[1].shape[0] = t[2].shape[1] = O * groups;
}
static void sample_CONV(Case *c) {
    TensorType t[3];
    conv_types(c, t);
    c->terms *= (double)t[1].shape[1];
    add_tensor(c, t[0], c->style);
    add_tensor(c, t[1], c->style);
}
static void sample_CONV_DX(Case *c) {
    TensorType t[3];
    conv_types(c, t);
    c->terms *= (double)t[1].shape[0];
    add_tensor(c, t[2], c->style);
    add_tensor(c, t[1], c->style);
    add_ints(c, ATTR_SHAPE, t[0].shape, t[0].rank);
}
static void sample_CONV_DW(Case *c) {
    TensorType t[3];
    conv_types(c, t);
    c->terms = (double)t[2].shape[0];
    for (int i = 2; i < t[2].rank; i++) c->terms *= (double)t[2].shape[i];
    add_tensor(c, t[0], c->style);
    add_tensor(c, t[2], c->style);
    add_ints(c, ATTR_SHAPE, t[1].shape, t[1].rank);
}

static void pool_types(Case *c, TensorType *x, TensorType *y) {
    int n = pick(3) ? 2 : 1 + (int)pick(3), lead = (int)pick(3);
    int64_t in[3], kernel[3], out[3];
    *x = some_type(c->dtype, lead, 12);
    *y = *x;
    add_window(c, n, true, in, kernel, out);
    for (int i = 0; i < n; i++) {
        x->shape[x->rank++] = in[i];
        y->shape[y->rank++] = out[i];
    }
}
static void sample_MAX_POOL(Case *c) {
    TensorType x, y;
    pool_types(c, &x, &y);
    add_tensor(c, x, pick(2) ? WHOLE : c->style); /* ties */
    c->is_exact = true;
}
static void sample_AVG_POOL(Case *c) {
    TensorType x, y;
    pool_types(c, &x, &y);
    add_flag(c, ATTR_COUNT_PAD);
    if (pick(4) == 0) add_attr(c, (Attr){.key = ATTR_DIVISOR, .i = 1 + (int64_t)pick(9)});
    add_tensor(c, x, c->style);
}
static void sample_AVG_POOL_DX(Case *c) {
    TensorType x, y;
    pool_types(c, &x, &y);
    add_flag(c, ATTR_COUNT_PAD);
    add_tensor(c, y, c->style);
    add_ints(c, ATTR_SHAPE, x.shape, x.rank);
}

/* Shape and dtype, or a model tensor that gives them. */
static void sample_source(Case *c, int rank) {
    TensorType t = some_type(c->dtype, rank, 9000);
    if (pick(4)) {
        add_ints(c, ATTR_SHAPE, t.shape, t.rank);
        add_attr(c, (Attr){.key = ATTR_DTYPE, .dtype = c->dtype});
    } else {
        add_tensor(c, t, WHOLE);
    }
    c->is_exact = true;
}
static void add_key(Case *c) {
    int64_t key[] = {(int64_t)(pick(1u << 20) << 30 | pick(1u << 30)), (int64_t)pick(1u << 30)};
    add_ints(c, ATTR_RNG, key, 2);
}
static void sample_FULL(Case *c) {
    sample_source(c, some_rank());
    if (dtype_is_float(c->dtype))
        add_imm(c, IN_IMM_FLOAT, float_element(SPECIAL));
    else if (c->dtype == DT_BOOL)
        add_imm(c, IN_IMM_BOOL, (double)pick(2));
    else
        add_imm(c, IN_IMM_INT, (double)pick(100));
}
static void sample_ARANGE(Case *c) {
    sample_source(c, 1);
    bool is_float = dtype_is_float(c->dtype);
    if (is_float && pick(2))
        add_imm(c, IN_IMM_FLOAT, uniform(-10, 10)), add_imm(c, IN_IMM_FLOAT, uniform(-1, 1));
    else
        add_imm(c, IN_IMM_INT, (double)pick(100)), add_imm(c, IN_IMM_INT, (double)pick(9) - 4);
    c->is_exact = !is_float;
}
static void sample_RAND(Case *c) {
    sample_source(c, some_rank());
    add_key(c);
}
static void sample_RANDN(Case *c) {
    sample_RAND(c);
    c->is_exact = false;
}
static void sample_RANDINT(Case *c) {
    sample_RAND(c);
    bool is_byte = dtype_info[c->dtype].size_bytes == 1;
    int64_t low = c->dtype == DT_BOOL ? 0
                  : is_byte           ? (int64_t)pick(100)
                                      : (int64_t)pick(1000) - 500;
    add_imm(c, IN_IMM_INT, (double)low);
    if (c->dtype == DT_BOOL)
        add_imm(c, IN_IMM_INT, 2);
    else
        add_imm(c, IN_IMM_INT, (double)(low + 1 + (int64_t)pick(is_byte ? 150 : 1u << 30)));
}
static void sample_DATA(Case *c) { (void)c; } /* never submitted to an engine: exec copies it */

static void (*const samplers[OP_COUNT])(Case *) = {
#define MAP(id, ...)    [OP_##id] = sample_map,
#define REDUCE(id, ...) [OP_##id] = sample_reduce,
#define VIEW(id, ...)   [OP_##id] = sample_##id,
#define KERNEL(id, ...) [OP_##id] = sample_##id,
#define SOURCE(id, ...) [OP_##id] = sample_##id,
#include "runtime/inst/ops.def"
};

static void case_make(Case *c, Op op, DType d, Style style) {
    *c = (Case){.dtype = d, .style = style, .terms = 1};
    c->inst = (Inst){.op = op, .n_out = (uint8_t)op_outputs(op), .in = c->in, .attr = c->attr};
    samplers[op](c);
}
static void case_free(Case *c) {
    for (int i = 0; i < c->inst.n_in; i++) free(c->arg[i].base);
}
#endif
