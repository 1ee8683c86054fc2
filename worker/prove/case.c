/* case.c: see case.h.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/case.h"
#include "runtime/base/arena.h"
#include "runtime/inst/element.h"

#include <math.h>
#include <stdlib.h>

enum { LARGEST = 32 << 20 };

static uint64_t pick(Case *c, uint64_t n) {
    c->rng ^= c->rng << 13, c->rng ^= c->rng >> 7, c->rng ^= c->rng << 17;
    return n ? (c->rng >> 16) % n : 0;
}
uint64_t case_pick(Case *c, uint64_t n) { return pick(c, n); }
static double uniform(Case *c, double lo, double hi) {
    return lo + (hi - lo) * (double)pick(c, 1u << 30) / (double)(1u << 30);
}

/* ---- Elements ---- */

static double float_element(Case *c, Style style) {
    static const double special[] = {0,     -0.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-40, 1e30,
                                     -1e30, 1,    -1,       0.5,       2.5, -2.5,  88,     -88};
    if (style == STYLE_WHOLE) return (double)((int64_t)pick(c, 9) - 4);
    if (style == STYLE_SPECIAL && pick(c, 3) == 0) return special[pick(c, 16)];
    switch (pick(c, 5)) {
    case 0: return uniform(c, -1, 1);
    case 1: return uniform(c, -10, 10);
    case 2: return (double)((int64_t)pick(c, 9) - 4);
    case 3: return uniform(c, 0, 1) * uniform(c, 0, 1) * uniform(c, 0, 1);
    default: return uniform(c, -3, 3);
    }
}
static int64_t int_element(Case *c, Style style) {
    static const int64_t special[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1,
                                      0,         1,         255,       256,       1ll << 40};
    if (style == STYLE_SPECIAL && pick(c, 3) == 0) return special[pick(c, 10)];
    return style == STYLE_WHOLE || pick(c, 2) ? (int64_t)pick(c, 9) - 4
                                              : (int64_t)pick(c, 2000) - 1000;
}
static void *element(const CaseArg *a, int64_t i) {
    return a->base + i * dtype_info[a->view.type.dtype].size_bytes;
}
static void set_int(const CaseArg *a, int64_t i, int64_t x) {
    element_set_int((DType)a->view.type.dtype, element(a, i), x);
}
void case_set(const CaseArg *a, int64_t i, double x) {
    DType d = (DType)a->view.type.dtype;
    if (dtype_is_float(d))
        element_set_float(d, element(a, i), x);
    else
        set_int(a, i, d == DT_BOOL ? x != 0 : x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN);
}
static int64_t n_elements(const CaseArg *a) {
    return (int64_t)a->base_bytes / dtype_info[a->view.type.dtype].size_bytes;
}
static void fill_elements(Case *c, CaseArg *a, Style style) {
    DType d = (DType)a->view.type.dtype;
    for (int64_t i = 0, n = n_elements(a); i < n; i++) {
        if (dtype_is_float(d))
            case_set(a, i, float_element(c, style));
        else if (d == DT_BOOL)
            set_int(a, i, (int64_t)pick(c, 2));
        else
            set_int(a, i, int_element(c, style));
    }
}

/* Factors near 1: no partial product of thousands of them overflows or vanishes in any order, which
 * would give infinity in one order and nan in another. */
static void tame_elements(Case *c, CaseArg *a, Style style) {
    for (int64_t i = 0, n = n_elements(a); i < n; i++) {
        double sign = pick(c, 2) ? 1 : -1;
        case_set(a, i, style == STYLE_WHOLE ? sign : sign * uniform(c, 0.995, 1.005));
    }
}

/* ---- Operands ---- */

/* Lays out a tensor of this type: axes in random order in memory, some steps, some margins, some
 * axes repeated. */
CaseArg *case_add_tensor(Case *c, TensorType t, Style style) {
    int k = c->inst.n_in++;
    CaseArg *a = &c->arg[k];
    *a = (CaseArg){.view = {.type = t}};
    c->in[k] = (Operand){.kind = IN_TENSOR, .id = (uint64_t)k + 1};
    c->type[k] = t;
    uint64_t layout = pick(c, 4); /* 0: plain, 1: permuted, 2: sliced and permuted, 3: expanded */
    int order[MAX_DIMS];
    for (int d = 0; d < t.rank; d++) order[d] = d;
    for (int d = t.rank - 1; d > 0 && layout; d--) {
        int e = (int)pick(c, (uint64_t)d + 1), o = order[d];
        order[d] = order[e], order[e] = o;
    }
    int64_t step = 1;
    for (int k2 = t.rank - 1; k2 >= 0; k2--) {
        int d = order[k2];
        int64_t start = layout == 2 ? (int64_t)pick(c, 3) : 0,
                by = layout == 2 ? 1 + (int64_t)pick(c, 2) : 1;
        if (layout == 3 && pick(c, 2)) continue; /* stride 0 */
        a->view.stride[d] = step * by;
        a->offset += step * start;
        step *= start + (t.shape[d] > 0 ? t.shape[d] - 1 : 0) * by + 1 +
                (layout == 2 ? (int64_t)pick(c, 2) : 0);
    }
    a->base_bytes = (uint64_t)step * (uint64_t)dtype_info[t.dtype].size_bytes;
    a->base = xmalloc(a->base_bytes);
    fill_elements(c, a, style);
    if (c->inst.op == OP_PROD && dtype_is_float((DType)t.dtype)) tame_elements(c, a, style);
    return a;
}

/* Indices below size, the last ones also counted from the end. */
void case_make_indices(Case *c, CaseArg *a, int64_t size, bool from_zero) {
    bool may_be_negative = !from_zero && a->view.type.dtype != DT_U8;
    if (from_zero && a->view.type.dtype == DT_I8 && size > 128) size = 128; /* none wraps below 0 */
    for (int64_t i = 0, n = n_elements(a); i < n; i++) {
        int64_t at = (int64_t)pick(c, (uint64_t)size);
        set_int(a, i, size && may_be_negative && pick(c, 4) == 0 ? at - size : at);
    }
}

static void add_imm(Case *c, InKind kind, double v) {
    int k = c->inst.n_in++;
    c->arg[k] = (CaseArg){.is_imm = true};
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
    if (dtype_is_float(d) && pick(c, 2))
        add_imm(c, IN_IMM_FLOAT, float_element(c, c->style));
    else if (d == DT_BOOL)
        add_imm(c, IN_IMM_BOOL, (double)pick(c, 2));
    else
        add_imm(c, IN_IMM_INT, (double)pick(c, 5));
}

/* ---- Attributes ---- */

void case_add_attr(Case *c, Attr a) { c->attr[c->inst.n_attr++] = a; }
void case_add_ints(Case *c, AttrKey key, const int64_t *v, int n) {
    int64_t *to = c->ints + c->n_ints;
    c->n_ints += n;
    for (int i = 0; i < n; i++) to[i] = v[i];
    case_add_attr(c, (Attr){.key = (uint8_t)key, .n = (uint32_t)n, .ints = to});
}
static void add_int(Case *c, AttrKey key, int64_t v) { case_add_ints(c, key, &v, 1); }
static void add_flag(Case *c, AttrKey key) {
    if (pick(c, 3)) case_add_attr(c, (Attr){.key = (uint8_t)key, .b = pick(c, 2)});
}

/* ---- Types ---- */

static int64_t extent(Case *c) {
    static const int64_t some[] = {1, 2, 3, 5, 7, 16, 17, 33};
    return pick(c, 24) == 0 ? 0 : some[pick(c, 8)];
}
static TensorType some_type(Case *c, DType d, int rank, int64_t most) {
    TensorType t = {.dtype = (uint8_t)d, .rank = (uint8_t)rank};
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        t.shape[i] = rank > 4 && pick(c, 3) ? 1 + (int64_t)pick(c, 2) : extent(c);
        if (n * t.shape[i] > most) t.shape[i] = 1;
        n *= t.shape[i] ? t.shape[i] : 1;
    }
    if (rank == 1 && pick(c, 6) == 0) t.shape[0] = (int64_t)pick(c, (uint64_t)most * 4);
    if (rank == 2 && pick(c, 12) == 0) t.shape[pick(c, 2)] = (int64_t)pick(c, 5000);
    return t;
}
static int some_rank(Case *c) { return pick(c, 12) == 0 ? 8 : (int)pick(c, 5); }
static DType some_index_dtype(Case *c) {
    return (DType[]){DT_I64, DT_I64, DT_I32, DT_U8, DT_I8}[pick(c, 5)];
}
/* A type that broadcasts to t: some axes 1, some leading ones missing. */
static TensorType narrowed(Case *c, TensorType t) {
    int drop = pick(c, 3) ? 0 : (int)pick(c, (uint64_t)t.rank + 1);
    TensorType r = {.dtype = t.dtype, .rank = (uint8_t)(t.rank - drop)};
    for (int i = 0; i < r.rank; i++) r.shape[i] = pick(c, 4) ? t.shape[i + drop] : 1;
    return r;
}

/* ---- Samplers ---- */

static void sample_map(Case *c) {
    Op op = c->inst.op;
    int n = op_info[op].arity, imm_at = n > 1 && pick(c, 3) == 0 ? (int)pick(c, (uint64_t)n) : -1;
    TensorType t = some_type(c, c->dtype, some_rank(c), 4000);
    if (op == OP_WHERE && imm_at == 0) imm_at = -1;
    for (int i = 0; i < n; i++) {
        TensorType one = pick(c, 3) ? t : narrowed(c, t);
        if (op == OP_WHERE && i == 0) one.dtype = DT_BOOL;
        if (i == imm_at)
            add_weak(c, c->dtype);
        else
            case_add_tensor(c, one, c->style);
    }
}

static void sample_reduce(Case *c) {
    TensorType t = some_type(c, c->dtype, some_rank(c), 20000);
    int64_t axes[MAX_DIMS];
    int n = 0;
    for (int d = 0; d < t.rank; d++)
        if (pick(c, 2)) axes[n++] = d;
    if (n == 0 || pick(c, 4) == 0) n = 0;
    if (n) case_add_ints(c, ATTR_AXIS, axes, n);
    add_flag(c, ATTR_KEEPDIMS);
    case_add_tensor(c, t, c->style);
    c->terms = 1;
    for (int d = 0; d < t.rank; d++) c->terms *= (double)t.shape[d];
}

static void sample_RESHAPE(Case *c) {
    TensorType t = some_type(c, c->dtype, some_rank(c), 4000);
    case_add_tensor(c, t, c->style);
    int64_t shape[MAX_DIMS], n = type_numel(&t), rank = 0;
    while (rank < MAX_DIMS - 1 && n > 1) {
        int64_t d = 2 + (int64_t)pick(c, 16);
        if (n % d) {
            if (pick(c, 4) == 0) break;
            continue;
        }
        shape[rank++] = d, n /= d;
    }
    shape[rank++] = n;
    case_add_ints(c, ATTR_SHAPE, shape, (int)rank);
}
static void sample_PERMUTE(Case *c) {
    TensorType t = some_type(c, c->dtype, some_rank(c), 4000);
    case_add_tensor(c, t, c->style);
    int64_t axes[MAX_DIMS] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int d = t.rank - 1; d > 0; d--) {
        int e = (int)pick(c, (uint64_t)d + 1);
        int64_t o = axes[d];
        axes[d] = axes[e], axes[e] = o;
    }
    case_add_ints(c, ATTR_AXES, axes, t.rank);
}
static void sample_EXPAND(Case *c) {
    TensorType t = some_type(c, c->dtype, some_rank(c), 4000), from = narrowed(c, t);
    for (int i = 0, shift = t.rank - from.rank; i < from.rank; i++)
        if (pick(c, 2)) from.shape[i] = t.shape[i + shift];
    case_add_tensor(c, from, c->style);
    case_add_ints(c, ATTR_SHAPE, t.shape, t.rank);
}
static TensorType add_slice(Case *c, const TensorType *t) {
    int64_t start[MAX_DIMS], size[MAX_DIMS], step[MAX_DIMS];
    TensorType part = *t;
    for (int d = 0; d < t->rank; d++) {
        int64_t n = t->shape[d];
        step[d] = 1 + (pick(c, 2) ? 0 : (int64_t)pick(c, 4));
        start[d] = (int64_t)pick(c, (uint64_t)n + 1);
        int64_t most = start[d] < n ? (n - 1 - start[d]) / step[d] + 1 : 0;
        size[d] = pick(c, 8) ? most : (int64_t)pick(c, (uint64_t)most + 1);
        part.shape[d] = size[d];
    }
    case_add_ints(c, ATTR_START, start, t->rank);
    case_add_ints(c, ATTR_SIZE, size, t->rank);
    case_add_ints(c, ATTR_STEP, step, t->rank);
    return part;
}
static void sample_SLICE(Case *c) {
    TensorType t = some_type(c, c->dtype, some_rank(c), 4000);
    case_add_tensor(c, t, c->style);
    add_slice(c, &t);
}

static void sample_CAST(Case *c) {
    case_add_tensor(c, some_type(c, c->dtype, some_rank(c), 4000),
                    pick(c, 2) ? STYLE_SPECIAL : c->style);
    case_add_attr(c, (Attr){.key = ATTR_DTYPE, .dtype = (DType)pick(c, DT_COUNT)});
    c->is_exact = true;
}
static void sample_MATMUL(Case *c) {
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 16, 31, 64, 65, 100};
    int64_t M = sizes[pick(c, 10)], N = sizes[pick(c, 10)],
            K = pick(c, 20) ? sizes[pick(c, 10)] : 0;
    if (pick(c, 10) == 0) M = 0;
    if (pick(c, 20) == 0) N = 130 + (int64_t)pick(c, 200), M = 1 + (int64_t)pick(c, 3);
    bool is_large = pick(c, 30) == 0; /* so that there are several tiles */
    if (is_large)
        M = 150 + (int64_t)pick(c, 150), N = 150 + (int64_t)pick(c, 150),
        K = 1 + (int64_t)pick(c, 300);
    TensorType batch = some_type(c, c->dtype, is_large || pick(c, 2) ? 0 : (int)pick(c, 3), 12);
    for (int i = 0; i < batch.rank; i++) /* an odd long axis would be too large here */
        if (batch.shape[i] > 33) batch.shape[i] = 2;
    TensorType a = narrowed(c, batch), b = narrowed(c, batch);
    bool a_is_row = a.rank == 0 && pick(c, 4) == 0, b_is_col = b.rank == 0 && pick(c, 4) == 0;
    if (!a_is_row) a.shape[a.rank++] = M;
    a.shape[a.rank++] = K;
    b.shape[b.rank++] = K;
    if (!b_is_col) b.shape[b.rank++] = N;
    case_add_tensor(c, a, c->style);
    case_add_tensor(c, b, c->style);
    c->terms = (double)K;
}
static void sample_CAT(Case *c) {
    TensorType t = some_type(c, c->dtype, 1 + (int)pick(c, 4), 1000);
    int64_t axis = (int64_t)pick(c, t.rank);
    int n = 1 + (int)pick(c, CASE_ARGS - 1);
    add_int(c, ATTR_AXIS, axis);
    for (int i = 0; i < n; i++) {
        t.shape[axis] = (int64_t)pick(c, 6);
        case_add_tensor(c, t, c->style);
    }
    c->is_exact = true;
}
static void sample_SLICE_PUT(Case *c) {
    TensorType t = some_type(c, c->dtype, some_rank(c), 4000);
    case_add_tensor(c, t, c->style);
    case_add_tensor(c, narrowed(c, add_slice(c, &t)), c->style);
    c->is_exact = true;
}

/* k index operands that broadcast to a common type, for axes axis .. of x; returns that type. */
static TensorType add_indices(Case *c, const TensorType *x, int axis, int k) {
    TensorType common = some_type(c, DT_I64, (int)pick(c, 3), 60);
    bool from_zero = pick(c, 2);
    if (from_zero) case_add_attr(c, (Attr){.key = ATTR_FROM_ZERO, .n = 1, .b = true});
    if (x->rank - k + common.rank > MAX_DIMS) common.rank = 1;
    for (int i = 0; i < common.rank; i++)
        for (int d = axis; d < axis + k; d++)
            if (x->shape[d] == 0) common.shape[i] = 0; /* nothing can be indexed */
    for (int i = 0; i < k; i++) {
        TensorType t = i == 0 ? common : narrowed(c, common);
        t.dtype = (uint8_t)some_index_dtype(c);
        case_make_indices(c, case_add_tensor(c, t, STYLE_INDEX), x->shape[axis + i], from_zero);
    }
    return common;
}
static bool has_empty(const TensorType *t, int from, int n) {
    for (int d = from; d < from + n; d++)
        if (t->shape[d] == 0) return true;
    return false;
}
static void sample_INDEX(Case *c) {
    TensorType t = some_type(c, c->dtype, 1 + (int)pick(c, 4), 2000);
    int axis = (int)pick(c, t.rank), k = 1 + (int)pick(c, (uint64_t)(t.rank - axis));
    if (has_empty(&t, axis, k))
        for (int d = 0; d < t.rank; d++) t.shape[d] = 3;
    add_int(c, ATTR_AXIS, axis);
    case_add_tensor(c, t, c->style);
    add_indices(c, &t, axis, k);
    c->is_exact = true;
}
static void sample_INDEX_PUT(Case *c) {
    TensorType t = some_type(c, c->dtype, 1 + (int)pick(c, 4), 2000);
    int axis = (int)pick(c, t.rank), k = 1 + (int)pick(c, (uint64_t)(t.rank - axis));
    if (has_empty(&t, axis, k))
        for (int d = 0; d < t.rank; d++) t.shape[d] = 3;
    bool adds = pick(c, 2);
    add_int(c, ATTR_AXIS, axis);
    case_add_attr(c, (Attr){.key = ATTR_ACCUMULATE, .b = adds});
    case_add_tensor(c, t, c->style);
    /* v's type depends on the indices' types: drawn first, then moved behind x */
    Case rest = {.rng = c->rng};
    TensorType common = add_indices(&rest, &t, axis, k), part = {.dtype = t.dtype};
    for (int d = 0; d < axis; d++) part.shape[part.rank++] = t.shape[d];
    for (int d = 0; d < common.rank; d++) part.shape[part.rank++] = common.shape[d];
    for (int d = axis + k; d < t.rank; d++) part.shape[part.rank++] = t.shape[d];
    c->rng = rest.rng;
    case_add_tensor(c, narrowed(c, part), c->style);
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
    TensorType t = some_type(c, c->dtype, 1 + (int)pick(c, 4), 2000), idx = t;
    int axis = (int)pick(c, t.rank);
    if (t.shape[axis] == 0) t.shape[axis] = 2;
    for (int d = 0; d < t.rank; d++)
        idx.shape[d] = d == axis ? (int64_t)pick(c, 9) : (int64_t)pick(c, (uint64_t)t.shape[d] + 1);
    idx.dtype = (uint8_t)some_index_dtype(c);
    add_int(c, ATTR_AXIS, axis);
    case_add_tensor(c, t, c->style);
    case_make_indices(c, case_add_tensor(c, idx, STYLE_INDEX), t.shape[axis], true);
    c->is_exact = true;
}
static void sample_SCATTER_ADD(Case *c) {
    sample_GATHER(c);
    TensorType src = c->type[1];
    src.dtype = (uint8_t)c->dtype;
    for (int d = 0; d < src.rank; d++) src.shape[d] += (int64_t)pick(c, 3);
    case_add_tensor(c, src, c->style);
    c->is_exact = false;
    c->terms = 10;
}
static void sample_SCATTER_REDUCE(Case *c) {
    static const char *const how[] = {"prod", "amax", "amin"};
    sample_SCATTER_ADD(c);
    case_add_attr(c, (Attr){.key = ATTR_REDUCE, .n = 4, .str = how[pick(c, 3)]});
    if (dtype_is_float(c->dtype)) tame_elements(c, &c->arg[2], STYLE_MIXED);
}
static void sample_along(Case *c) {
    TensorType t = some_type(c, c->dtype, 1 + (int)pick(c, 4), 3000);
    int axis = (int)pick(c, t.rank);
    add_int(c, ATTR_AXIS, axis);
    case_add_tensor(c, t, pick(c, 2) ? STYLE_WHOLE : c->style); /* ties */
    c->is_exact = true;
}
static void sample_ARGMAX(Case *c) {
    TensorType t = some_type(c, c->dtype, some_rank(c), 3000);
    for (int d = 0; d < t.rank; d++)
        if (t.shape[d] == 0) t.shape[d] = 1 + (int64_t)pick(c, 2);
    if (t.rank && pick(c, 3)) add_int(c, ATTR_AXIS, (int64_t)pick(c, t.rank));
    add_flag(c, ATTR_KEEPDIMS);
    case_add_tensor(c, t, pick(c, 2) ? STYLE_WHOLE : c->style);
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
    TensorType t = some_type(c, c->dtype, 1 + (int)pick(c, 4), 3000);
    add_int(c, ATTR_AXIS, (int64_t)pick(c, t.rank));
    add_flag(c, ATTR_REVERSE);
    case_add_tensor(c, t, STYLE_WHOLE);
    case_add_tensor(c, t, c->style);
    if (dtype_is_float(c->dtype)) tame_elements(c, &c->arg[0], STYLE_MIXED);
    c->terms = 200;
}
static void sample_CUMMAX(Case *c) {
    sample_along(c);
    add_flag(c, ATTR_LARGEST);
}
static void sample_SEARCHSORTED(Case *c) {
    TensorType t = some_type(c, c->dtype, 1 + (int)pick(c, 3), 2000), v = t;
    if (t.rank == 1) v = some_type(c, c->dtype, (int)pick(c, 3), 200);
    v.shape[v.rank ? v.rank - 1 : 0] = v.rank ? (int64_t)pick(c, 20) : 0;
    case_add_tensor(c, t,
                    STYLE_WHOLE); /* unsorted lines have results too, the same in all engines */
    case_add_tensor(c, v, c->style);
    add_flag(c, ATTR_RIGHT);
    c->is_exact = true;
}

static void sample_TOPK(Case *c) {
    sample_along(c);
    case_add_attr(
        c, (Attr){.key = ATTR_K,
                  .i = (int64_t)pick(c, (uint64_t)c->type[0].shape[c->attr[0].ints[0]] + 1)});
    add_flag(c, ATTR_LARGEST);
}

/* Well-conditioned square matrices (.., n, n): a dominant diagonal, rows shuffled if pivots are to
 * be found, all else small. */
enum { POSITIVE, SHUFFLED, TRIANGLE };
/* The offset of element k of a's leading axes, which are those of `batch`. */
static int64_t batch_offset(const CaseArg *a, const TensorType *batch, int64_t k) {
    int64_t offset = 0;
    for (int d = batch->rank - 1; d >= 0; d--) {
        offset += k % batch->shape[d] * a->view.stride[d];
        k /= batch->shape[d];
    }
    return offset;
}
static void add_matrices(Case *c, TensorType batch, int64_t n, int kind) {
    TensorType t = batch;
    t.shape[t.rank++] = n, t.shape[t.rank++] = n;
    CaseArg *a = case_add_tensor(c, t, STYLE_WHOLE);
    int64_t row = a->view.stride[t.rank - 2], column = a->view.stride[t.rank - 1];
    while (n > 1 && (row == 0 || column == 0)) { /* repeated rows: another layout */
        free(a->base);
        c->inst.n_in--;
        a = case_add_tensor(c, t, STYLE_WHOLE);
        row = a->view.stride[t.rank - 2], column = a->view.stride[t.rank - 1];
    }
    int64_t *order = xcalloc((size_t)n + 1, sizeof *order);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t k = 0, many = n ? type_numel(&batch) : 0; k < many; k++) {
        int64_t base = a->offset + batch_offset(a, &batch, k);
        for (int64_t i = n - 1; i > 0 && kind == SHUFFLED; i--) {
            int64_t other = (int64_t)pick(c, (uint64_t)i + 1), o = order[i];
            order[i] = order[other], order[other] = o;
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) {
                double x = uniform(c, -1, 1) / (double)n, y = uniform(c, -1, 1) / (double)n;
                case_set(a, base + order[i] * row + j * column, i == j ? 2 + uniform(c, 0, 1) : x);
                if (i != j) case_set(a, base + order[j] * row + i * column, y);
            }
    }
    free(order);
}
static bool has_digits(const Case *c) { return c->dtype == DT_F32 || c->dtype == DT_F64; }
static int64_t some_order(Case *c) {
    static const int64_t some[] = {1, 2, 3, 5, 16, 17, 31, 33, 50, 70};
    return pick(c, 30) == 0 ? 0 : pick(c, 8) == 0 ? 100 + (int64_t)pick(c, 120) : some[pick(c, 10)];
}
static TensorType some_batch(Case *c, DType d, int64_t n) {
    TensorType t = {.dtype = (uint8_t)d, .rank = (uint8_t)(n > 50 ? 0 : pick(c, 3))};
    for (int i = 0; i < t.rank; i++) t.shape[i] = pick(c, 16) ? 1 + (int64_t)pick(c, 4) : 0;
    return t;
}
static void sample_factor(Case *c, int kind) {
    int64_t n = some_order(c);
    c->terms = 4 + (double)n;
    if (has_digits(c))
        add_matrices(c, some_batch(c, c->dtype, n), n, kind);
    else
        case_add_tensor(c, some_type(c, c->dtype, 2, 4), STYLE_WHOLE);
}
static void sample_CHOLESKY(Case *c) { sample_factor(c, POSITIVE); }
static void sample_LU(Case *c) { sample_factor(c, SHUFFLED); }
static void sample_EIGH(Case *c) { sample_factor(c, POSITIVE); }
/* Tall or wide matrices; the engines share the algorithm. */
static void sample_rectangle(Case *c, bool tall) {
    int64_t m = some_order(c), n = some_order(c);
    if (tall && m < n) n = m;
    TensorType t = some_batch(c, c->dtype, m > n ? m : n);
    t.shape[t.rank++] = m;
    t.shape[t.rank++] = n;
    case_add_tensor(c, t, STYLE_MIXED);
}
static void sample_QR(Case *c) { sample_rectangle(c, true); }
static void sample_SVD(Case *c) { sample_rectangle(c, false); }

/* A batch and one that broadcasts with it, as right sides. */
static void add_right_side(Case *c, TensorType batch, int64_t n) {
    batch.shape[batch.rank++] = n;
    batch.shape[batch.rank++] = pick(c, 10) == 0 ? 0 : pick(c, 4) ? 1 + (int64_t)pick(c, 5) : 140;
    case_add_tensor(c, batch, STYLE_MIXED);
}
static void sample_SOLVE_TRIANGULAR(Case *c) {
    int64_t n = some_order(c);
    TensorType batch = some_batch(c, c->dtype, n);
    c->terms = 10 * (4 + (double)n);
    add_flag(c, ATTR_UPPER);
    add_flag(c, ATTR_UNIT);
    if (!has_digits(c)) n = 2;
    add_matrices(c, narrowed(c, batch), n, TRIANGLE);
    add_right_side(c, narrowed(c, batch), n);
}
static void sample_SOLVE(Case *c) {
    int64_t n = has_digits(c) ? some_order(c) : 2;
    TensorType batch = some_batch(c, c->dtype, n), own = narrowed(c, batch);
    c->terms = 10 * (4 + (double)n);
    add_flag(c, ATTR_TRANSPOSED);
    add_matrices(c, own, n, TRIANGLE);
    add_right_side(c, narrowed(c, batch), n);
    add_matrices(c, own, n, TRIANGLE);
    own.shape[own.rank++] = n;
    own.dtype = DT_I64;
    CaseArg *a = case_add_tensor(c, own, STYLE_INDEX);
    while (n > 1 && a->view.stride[own.rank - 1] == 0) {
        free(a->base);
        c->inst.n_in--;
        a = case_add_tensor(c, own, STYLE_INDEX);
    }
    int64_t step = a->view.stride[own.rank - 1], to = 1 + (int64_t)pick(c, 3);
    own.rank--;
    for (int64_t k = 0, many = n ? type_numel(&own) : 0; k < many; k++) /* from a random row on */
        for (int64_t i = 0; i < n; i++)
            set_int(a, a->offset + batch_offset(a, &own, k) + i * step, (i + to) % n);
}

/* ---- Windows ---- */

/* Attributes of windows over n axes, with fitting types of input and result: in[] and out[] are
 * their extents. */
static void add_window(Case *c, int n, bool is_pool, int64_t *in, int64_t *kernel, int64_t *out) {
    int64_t stride[3], padding[3], dilation[3];
    bool is_mean = c->inst.op == OP_AVG_POOL || c->inst.op == OP_AVG_POOL_DX;
    bool ceil = is_pool && pick(c, 2), has_dilation = !is_mean && pick(c, 2),
         has_stride = pick(c, 3);
    bool has_padding = pick(c, 3);
    for (int i = 0; i < n; i++) {
        kernel[i] = 1 + (int64_t)pick(c, 4);
        stride[i] = has_stride ? 1 + (int64_t)pick(c, 3) : is_pool ? kernel[i] : 1;
        dilation[i] = has_dilation ? 1 + (int64_t)pick(c, 3) : 1;
        int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
        padding[i] = has_padding ? (int64_t)pick(c, (uint64_t)(is_pool ? reach / 2 : 3) + 1) : 0;
        in[i] = 1 + (int64_t)pick(c, n == 3 ? 6 : n == 2 ? 12 : 40);
        if (in[i] + 2 * padding[i] < reach) in[i] = reach;
        int64_t room = in[i] + 2 * padding[i] - reach + (ceil ? stride[i] - 1 : 0);
        out[i] = room / stride[i] + 1;
        if (ceil && (out[i] - 1) * stride[i] >= in[i] + padding[i]) out[i]--;
    }
    if (is_pool)
        case_add_ints(c, ATTR_KERNEL, kernel, n),
            case_add_attr(c, (Attr){.key = ATTR_CEIL, .b = ceil});
    if (has_stride) case_add_ints(c, ATTR_STRIDE, stride, n);
    if (has_padding) case_add_ints(c, ATTR_PADDING, padding, n);
    if (has_dilation) case_add_ints(c, ATTR_DILATION, dilation, n);
    c->terms = 1;
    for (int i = 0; i < n; i++) c->terms *= (double)kernel[i];
}

/* The three types of a convolution: x, w, y. */
static void conv_types(Case *c, TensorType t[3]) {
    int n = pick(c, 6) ? 2 : 1 + (int)pick(c, 3);
    int64_t groups = pick(c, 3) ? 1 : 1 + (int64_t)pick(c, 3);
    for (int k = 0; k < 3; k++) t[k] = (TensorType){.dtype = c->dtype, .rank = (uint8_t)(n + 2)};
    add_window(c, n, false, t[0].shape + 2, t[1].shape + 2, t[2].shape + 2);
    if (groups > 1 || pick(c, 2)) case_add_attr(c, (Attr){.key = ATTR_GROUPS, .i = groups});
    int64_t C = pick(c, 12) ? 1 + (int64_t)pick(c, n == 2 ? 9 : 4) : 0;
    int64_t O = pick(c, 4) ? 1 + (int64_t)pick(c, 9) : 16 * (1 + (int64_t)pick(c, 5));
    t[0].shape[0] = t[2].shape[0] = pick(c, 12) ? 1 + (int64_t)pick(c, 4) : 0;
    t[0].shape[1] = C * groups, t[1].shape[1] = C;
    t[1].shape[0] = t[2].shape[1] = O * groups;
}
static void sample_CONV(Case *c) {
    TensorType t[3];
    conv_types(c, t);
    c->terms *= (double)t[1].shape[1];
    case_add_tensor(c, t[0], c->style);
    case_add_tensor(c, t[1], c->style);
}
static void sample_CONV_DX(Case *c) {
    TensorType t[3];
    conv_types(c, t);
    c->terms *= (double)t[1].shape[0];
    case_add_tensor(c, t[2], c->style);
    case_add_tensor(c, t[1], c->style);
    case_add_ints(c, ATTR_SHAPE, t[0].shape, t[0].rank);
}
static void sample_CONV_DW(Case *c) {
    TensorType t[3];
    conv_types(c, t);
    c->terms = (double)t[2].shape[0];
    for (int i = 2; i < t[2].rank; i++) c->terms *= (double)t[2].shape[i];
    case_add_tensor(c, t[0], c->style);
    case_add_tensor(c, t[2], c->style);
    case_add_ints(c, ATTR_SHAPE, t[1].shape, t[1].rank);
}

static void pool_types(Case *c, TensorType *x, TensorType *y) {
    int n = pick(c, 3) ? 2 : 1 + (int)pick(c, 3), lead = (int)pick(c, 3);
    int64_t in[3], kernel[3], out[3];
    *x = some_type(c, c->dtype, lead, 12);
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
    case_add_tensor(c, x, pick(c, 2) ? STYLE_WHOLE : c->style); /* ties */
    c->is_exact = true;
}
static void sample_AVG_POOL(Case *c) {
    TensorType x, y;
    pool_types(c, &x, &y);
    add_flag(c, ATTR_COUNT_PAD);
    if (pick(c, 4) == 0)
        case_add_attr(c, (Attr){.key = ATTR_DIVISOR, .i = 1 + (int64_t)pick(c, 9)});
    case_add_tensor(c, x, c->style);
}
static void sample_AVG_POOL_DX(Case *c) {
    TensorType x, y;
    pool_types(c, &x, &y);
    add_flag(c, ATTR_COUNT_PAD);
    case_add_tensor(c, y, c->style);
    case_add_ints(c, ATTR_SHAPE, x.shape, x.rank);
}

/* Shape and dtype, or a model tensor that gives them. */
static void sample_source(Case *c, int rank) {
    TensorType t = some_type(c, c->dtype, rank, 9000);
    if (pick(c, 4)) {
        case_add_ints(c, ATTR_SHAPE, t.shape, t.rank);
        case_add_attr(c, (Attr){.key = ATTR_DTYPE, .dtype = c->dtype});
    } else {
        case_add_tensor(c, t, STYLE_WHOLE);
    }
    c->is_exact = true;
}
static void add_key(Case *c) {
    int64_t key[] = {(int64_t)(pick(c, 1u << 20) << 30 | pick(c, 1u << 30)),
                     (int64_t)pick(c, 1u << 30)};
    case_add_ints(c, ATTR_RNG, key, 2);
}
static void sample_FULL(Case *c) {
    sample_source(c, some_rank(c));
    if (dtype_is_float(c->dtype))
        add_imm(c, IN_IMM_FLOAT, float_element(c, STYLE_SPECIAL));
    else if (c->dtype == DT_BOOL)
        add_imm(c, IN_IMM_BOOL, (double)pick(c, 2));
    else
        add_imm(c, IN_IMM_INT, (double)pick(c, 100));
}
static void sample_ARANGE(Case *c) {
    sample_source(c, 1);
    bool is_float = dtype_is_float(c->dtype);
    if (is_float && pick(c, 2))
        add_imm(c, IN_IMM_FLOAT, uniform(c, -10, 10)), add_imm(c, IN_IMM_FLOAT, uniform(c, -1, 1));
    else
        add_imm(c, IN_IMM_INT, (double)pick(c, 100)),
            add_imm(c, IN_IMM_INT, (double)pick(c, 9) - 4);
    c->is_exact = !is_float;
}
static void sample_RAND(Case *c) {
    sample_source(c, some_rank(c));
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
                  : is_byte           ? (int64_t)pick(c, 100)
                                      : (int64_t)pick(c, 1000) - 500;
    add_imm(c, IN_IMM_INT, (double)low);
    if (c->dtype == DT_BOOL)
        add_imm(c, IN_IMM_INT, 2);
    else
        add_imm(c, IN_IMM_INT, (double)(low + 1 + (int64_t)pick(c, is_byte ? 150 : 1u << 30)));
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

/* ---- Making one ---- */

bool case_has(Op op) { return samplers[op] && op != OP_DATA; }

void case_begin(Case *c, Op op, DType d, uint64_t seed) {
    *c = (Case){.seed = seed, .dtype = d, .terms = 1};
    c->rng = seed * 0x9E3779B97F4A7C15u | 1;
    for (int i = 0; i < 8; i++) pick(c, 2);
    c->inst = (Inst){.op = op, .n_out = (uint8_t)op_outputs(op), .in = c->in, .attr = c->attr};
}

void case_make(Case *c, Op op, DType d, Style style, uint64_t seed) {
    case_begin(c, op, d, seed);
    c->style = style;
    samplers[op](c);
}

bool case_draw(Case *c, Op op, DType d, Style style, uint64_t seed) {
    int n_out;
    case_make(c, op, d, style, seed);
    bool ok = inst_infer(&c->inst, c->type, c->out, &n_out, NULL);
    for (int k = 0; ok && k < n_out; k++) ok = type_bytes(&c->out[k]) <= LARGEST;
    for (int i = 0; i < c->inst.n_in; i++) ok &= c->arg[i].base_bytes <= LARGEST;
    if (!ok) case_free(c);
    return ok;
}

void case_make_bad_index(Case *c, Op op, int64_t index) {
    enum { SIZE = 10, INDICES = 3 };
    TensorType x = {.dtype = DT_F32, .rank = 1, .shape = {SIZE}}, some = x, at = x;
    some.shape[0] = at.shape[0] = INDICES;
    at.dtype = DT_I64;
    case_begin(c, op, DT_F32, 12345);
    add_int(c, ATTR_AXIS, 0);
    if ((op == OP_INDEX || op == OP_INDEX_PUT) && index == -1)
        case_add_attr(c, (Attr){.key = ATTR_FROM_ZERO, .n = 1, .b = true});
    case_add_tensor(c, x, STYLE_WHOLE);
    if (op == OP_INDEX_PUT) case_add_tensor(c, some, STYLE_WHOLE);
    CaseArg *a = case_add_tensor(c, at, STYLE_INDEX);
    case_make_indices(c, a, SIZE, true);
    if (op == OP_SCATTER_ADD) case_add_tensor(c, some, STYLE_WHOLE);
    set_int(a, a->offset + (INDICES - 1) * a->view.stride[0], index);
    a->view.part_begin = 6, a->view.whole_size = 12;
    c->out[0] = op == OP_INDEX || op == OP_GATHER ? some : x;
}

void case_free(Case *c) {
    for (int i = 0; i < c->inst.n_in; i++) free(c->arg[i].base);
    c->inst.n_in = 0;
}
