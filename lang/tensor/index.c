/* index.c: x[...] and x[...] = v. Subscripts are first assigned to axes: the
 * ellipsis is expanded, masks become indices of their true elements. The basic part (ints, slices,
 * new axes) is one slice and one reshape. Index tensors are one `index`; if they are not adjacent,
 * a permute first moves their axes to the front. As in PyTorch, and unlike NumPy, an int (or an
 * index tensor of one number) removes its axis before adjacency is decided. Writing follows the
 * same path and back.
 * SPDX-License-Identifier: MIT */
#include "lang/tensor/autograd.h"
#include "lang/tensor/index.h"
#include <stdlib.h>
#include <string.h>

/* ---- subscripts ---- */

/* The position of subscript i in the source. */
static Span sub_span(const Interp *in, int i) {
    const Node *n = in->at;
    if (n && (n->kind == N_ASSIGN || n->kind == N_AUGASSIGN) && n->n_kids) n = n->kid[0];
    if (!n || n->kind != N_INDEX || i + 1 >= (int)n->n_kids || n->kid[i + 1]->whole.src->is_prelude)
        return interp_span(in);
    return n->kid[i + 1]->whole;
}

static bool error_sub(Interp *in, int i,
                      LangError *e) { /* points an error just set at subscript i */
    e->at = sub_span(in, i);
    if (e->at.len) error_label(e, e->at, "%s", "");
    return false;
}

/* ---- the plan ---- */

typedef enum SubKind { SUB_INT, SUB_SLICE, SUB_NEW, SUB_TENSOR } SubKind;
typedef struct Sub {
    SubKind kind;
    int64_t start, size, step;
    Tensor *t;
} Sub; /* t: owned, integers */
/* One Sub per axis of x, in order, with SUB_NEW between them. */
typedef struct Plan {
    Sub sub[3 * MAX_DIMS];
    int n, n_tensors;
    bool is_basic_noop, from_zero;
    const Handle **place; /* of tensor_op_keep */
} Plan;

static void plan_fini(Plan *p) {
    for (int i = 0; i < p->n; i++) tensor_unref(p->sub[i].t);
}

static bool bound_of(Interp *in, Value v, int64_t missing, int64_t *out, LangError *e) {
    if (v.kind == V_NONE) return *out = missing, true;
    if (v.kind == V_INT) return *out = v.i, true;
    if (v.kind == V_TENSOR && tensor_numel(v.tensor) == 1) { /* this waits */
        Value item;
        TRY(tensor_item(in, v.tensor, &item, e));
        if (item.kind == V_INT) return *out = item.i, true;
    }
    return error_set(e, "slice bounds must be whole numbers, not %s", value_type_name(v));
}

/* Clamps as Python does for step > 0. */
static bool slice_sub(Interp *in, const Slice *s, int64_t n, Sub *out, LangError *e) {
    int64_t start, stop, step;
    TRY(bound_of(in, s->start, 0, &start, e) && bound_of(in, s->stop, n, &stop, e) &&
        bound_of(in, s->step, 1, &step, e));
    if (step <= 0) {
        error_set(e, "a slice's step must be positive, not %lld", (long long)step);
        return error_hint(e, "flip(x, axis) reverses");
    }
    if (start < 0) start = start < -n ? 0 : start + n;
    if (stop < 0) stop = stop < -n ? 0 : stop + n;
    if (start > n) start = n;
    if (stop > n) stop = n;
    int64_t size = stop > start ? (stop - start - 1) / step + 1 : 0;
    *out = (Sub){SUB_SLICE, size ? start : 0, size, size > 1 ? step : 1, NULL};
    return true;
}

static bool int_sub(int64_t i, int64_t n, int axis, Sub *out, LangError *e) {
    if (i < -n || i >= n) {
        return error_set(e, "index %lld is out of range for axis %d of size %lld", (long long)i,
                         axis, (long long)n);
    }
    *out = (Sub){SUB_INT, i < 0 ? i + n : i, 1, 1, NULL};
    return true;
}

/* The selection of a mask in two passes, without a branch for an element: which of them are true
 * is hard to predict. */
static int64_t count_true(const uint8_t *at, int64_t n) {
    enum { STEP = 128 }; /* so many fit a byte */
    int64_t count = 0, i = 0;
    for (; i + STEP <= n; i += STEP) {
        uint64_t ones = 0;
        for (int k = 0; k < STEP; k += 8) {
            uint64_t v;
            memcpy(&v, at + i + k, 8);
            v |= v >> 4, v |= v >> 2, v |= v >> 1;
            ones += v & UINT64_C(0x0101010101010101);
        }
        for (int k = 0; k < 64; k += 8) count += ones >> k & 255;
    }
    for (; i < n; i++) count += at[i] != 0;
    return count;
}

typedef int64_t Eight __attribute__((vector_size(64), aligned(8)));
/* For each byte of bits, the places of those that are set, in order; then zeros. */
typedef struct BitPlaces {
    Eight at[256];
    uint8_t n[256];
} BitPlaces;
static void bit_places(BitPlaces *b) {
    memset(b, 0, sizeof *b);
    for (int bits = 0; bits < 256; bits++)
        for (int i = 0; i < 8; i++)
            if (bits >> i & 1) b->at[bits][b->n[bits]++] = i;
}

/* Writes i for each true one of n elements; returns how many. Up to 8 more are written behind. */
enum { PLACES_SPARE = 8 };
static int64_t true_places(const BitPlaces *b, const uint8_t *is_true, int64_t n, int64_t first,
                           int64_t *place) {
    int64_t i = 0, k = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t v;
        memcpy(&v, is_true + i, 8);
        v |= v >> 4, v |= v >> 2, v |= v >> 1; /* the lowest bit of each byte: 8 bits in a row */
        v = (v & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56;
        Eight some = b->at[v] + (first + i);
        memcpy(place + k, &some, sizeof some);
        k += b->n[v];
    }
    for (; i < n; i++) {
        place[k] = first + i;
        k += is_true[i] != 0;
    }
    return k;
}

/* The indices of the true ones of a mask of type t, in row-major order. Axis d of one of them is
 * at out[d], that of the next one `apart` behind; behind the last there is room for PLACES_SPARE.
 */
static void write_indices(const TensorType *t, const uint8_t *is_true, int64_t *const *out,
                          int apart) {
    enum { RUN = 1024 };
    int64_t row[MAX_DIMS] = {0}, line[RUN + PLACES_SPARE], n = type_numel(t), k = 0;
    int last = t->rank - 1;
    BitPlaces *b = xmalloc(sizeof *b);
    bit_places(b);
    for (int64_t i = 0, length = t->shape[last]; i < n; i += length) {
        for (int64_t j = 0, some; j < length; j += RUN) {
            int64_t *place = apart == 1 ? out[last] + k : line;
            some = true_places(b, is_true + i + j, length - j < RUN ? length - j : RUN, j, place);
            for (int64_t m = 0; m < some && apart > 1; m++) out[last][(k + m) * apart] = line[m];
            for (int axis = 0; axis < last; axis++)
                for (int64_t m = 0; m < some; m++) out[axis][(k + m) * apart] = row[axis];
            k += some;
        }
        for (int axis = last - 1; axis >= 0 && ++row[axis] == t->shape[axis]; axis--) row[axis] = 0;
    }
    free(b);
}

/* Makes the tensor of the int64 in *b, which is released. */
static Tensor *indices_tensor(Interp *in, Buf **b, int64_t count, int columns, LangError *e) {
    TensorType type = {.dtype = DT_I64, .rank = columns ? 2 : 1, .shape = {count, columns}};
    (*b)->n = (size_t)type_bytes(&type);
    Tensor *t = tensor_of_buf(in, &type, *b, e);
    buf_unref(b);
    return t;
}
static Buf *indices_new(int64_t n) { return buf_new(sizeof(int64_t) * (size_t)(n + PLACES_SPARE)); }

/* Fetches a bool tensor and makes the index tensors of its true elements: one per axis, (count)
 * int64. */
static bool mask_indices(Interp *in, Tensor *mask, Tensor **out, LangError *e) {
    const TensorType *t = tensor_type(mask);
    void *data;
    TRY(stream_value(in->stream, mask->handle, interp_span(in), &data, e));
    int64_t count = count_true(data, type_numel(t)), *index[MAX_DIMS];
    Buf *part[MAX_DIMS];
    for (int axis = 0; axis < t->rank; axis++) {
        part[axis] = indices_new(count);
        index[axis] = (int64_t *)part[axis]->data;
    }
    if (t->rank) write_indices(t, data, index, 1);
    free(data);
    bool ok = true;
    for (int axis = 0; axis < t->rank; axis++) {
        out[axis] = ok ? indices_tensor(in, &part[axis], count, 0, e) : NULL;
        buf_unref(&part[axis]);
        ok = out[axis] != NULL;
    }
    for (int axis = 0; !ok && axis < t->rank; axis++) tensor_unref(out[axis]), out[axis] = NULL;
    return ok;
}

/* Fetches a bool tensor of rank >= 1; *out: (count, rank) int64, the indices of its true elements.
 */
static bool mask_rows(Interp *in, Tensor *mask, Tensor **out, LangError *e) {
    const TensorType *t = tensor_type(mask);
    void *data;
    TRY(stream_value(in->stream, mask->handle, interp_span(in), &data, e));
    int64_t count = count_true(data, type_numel(t)), *index[MAX_DIMS];
    Buf *rows = indices_new(count * t->rank);
    for (int axis = 0; axis < t->rank; axis++) index[axis] = (int64_t *)rows->data + axis;
    write_indices(t, data, index, t->rank);
    free(data);
    *out = indices_tensor(in, &rows, count, t->rank, e);
    return *out != NULL;
}

bool tensor_nonzero(Interp *in, Tensor *t, Tensor **out, LangError *e) {
    *out = NULL;
    if (!tensor_type(t)->rank) return error_set(e, "nonzero of a single number");
    bool is_mask = tensor_type(t)->dtype == DT_BOOL;
    Tensor *mask = is_mask ? tensor_ref(t) : tensor_op2(in, OP_NE, arg_tensor(t), arg_int(0), e);
    bool ok = mask && mask_rows(in, mask, out, e);
    tensor_unref(mask);
    return ok;
}

/* True if a mask of type m may stand at `axis` of x. */
static bool is_mask_shape(const TensorType *m, const TensorType *x, int axis) {
    return m->rank && axis + m->rank <= x->rank &&
           !memcmp(m->shape, x->shape + axis, sizeof x->shape[0] * m->rank);
}

/* Warns, once a line, that a uint8 index of the shape of a mask gathers: PyTorch would mask. */
static void warn_bytes(Interp *in) {
    LangError w = {0};
    error_at(&w, interp_span(in),
             "a uint8 index gathers, as in NumPy; PyTorch takes this one as a mask");
    error_hint(&w, "x[i.bool()] masks, x[i.long()] gathers");
    interp_warn_once(in, &w);
}

/* Adds a list or tensor subscript as index tensor(s), which use *axes axes of x. */
static bool tensor_subs(Interp *in, const TensorType *x, int axis, Value v, Plan *p, int *axes,
                        LangError *e) {
    Value made;
    char a[256], b[256];
    if (value_count(v) == 0) {
        TensorType empty = {.dtype = DT_I64, .rank = 1};
        Tensor *t = tensor_data(in, &empty, "", e);
        if (!t) return false;
        made = v_tensor(t);
    } else
        TRY(tensor_from_value(in, v, DT_NONE, &made, e));
    Tensor *t = made.tensor;
    const TensorType *type = tensor_type(t);
    bool ok = true;
    if (dtype_is_float(type->dtype)) {
        ok = error_set(e, "indices must be whole numbers or a bool mask, not %s",
                       dtype_info[type->dtype].name);
        error_hint(e, "idx.to(int64)");
    } else if (type->dtype != DT_BOOL) {
        if (type->dtype == DT_U8 && is_mask_shape(type, x, axis)) warn_bytes(in);
        p->sub[p->n++] = (Sub){.kind = SUB_TENSOR, .t = tensor_ref(t)};
        *axes = 1;
    } else if (!is_mask_shape(type, x, axis)) {
        ok = error_set(e, "a mask of shape %s does not fit shape %s from axis %d",
                       type_shape_text(type, a), type_shape_text(x, b), axis);
    } else {
        Tensor *index[MAX_DIMS];
        ok = mask_indices(in, t, index, e);
        for (int i = 0; ok && i < type->rank; i++)
            p->sub[p->n++] = (Sub){.kind = SUB_TENSOR, .t = index[i]};
        *axes = type->rank;
    }
    value_drop(made);
    return ok;
}

/* The number of axes of x that subscript v uses; -1: all others (ellipsis). */
static int sub_axes(Value v) {
    if (v.kind == V_NONE) return 0;
    if (v.kind == V_ELLIPSIS) return -1;
    if (v.kind == V_TENSOR && tensor_type(v.tensor)->dtype == DT_BOOL)
        return tensor_type(v.tensor)->rank;
    if (v.kind != V_LIST || !v.list->n) return 1;
    int depth = 1;
    for (v = v.list->v[0]; v.kind == V_LIST && v.list->n; v = v.list->v[0]) depth++;
    return v.kind == V_BOOL ? depth : 1;
}

static bool one_sub(Interp *in, const TensorType *x, int axis, Value v, Plan *p, int *axes,
                    LangError *e) {
    *axes = 1;
    switch (v.kind) {
    case V_INT: TRY(int_sub(v.i, x->shape[axis], axis, &p->sub[p->n], e)); break;
    case V_SLICE: TRY(slice_sub(in, v.slice, x->shape[axis], &p->sub[p->n], e)); break;
    case V_TENSOR:
    case V_LIST:
    case V_RANGE: return tensor_subs(in, x, axis, v, p, axes, e);
    default:
        error_set(e, "cannot index a tensor with %s", value_type_name(v));
        if (v.kind == V_FLOAT) error_hint(e, "int(i), or i // 1 of whole numbers");
        return false;
    }
    p->n++;
    return true;
}

/* Assigns the subscripts to the axes of x. */
static bool plan_make(Interp *in, const TensorType *x, const Value *sub, int n, Plan *p,
                      LangError *e) {
    int taken = 0, ellipses = 0, axis = 0, fresh = 0;
    char shape[256];
    for (int i = 0; i < n; i++) {
        int k = sub_axes(sub[i]);
        if (k < 0)
            ellipses++;
        else
            taken += k, fresh += sub[i].kind == V_NONE;
    }
    if (ellipses > 1) return error_set(e, "only one ... per index");
    if (taken > x->rank || fresh > MAX_DIMS) {
        error_set(e, "too many indices: %d for a tensor of shape %s", taken,
                  type_shape_text(x, shape));
        return error_sub(in, n - 1, e);
    }
    for (int i = 0; i <= n; i++) {
        int fill = i == n ? x->rank - axis : sub[i].kind == V_ELLIPSIS ? x->rank - taken : 0;
        while (fill-- > 0) p->sub[p->n++] = (Sub){SUB_SLICE, 0, x->shape[axis], 1, NULL}, axis++;
        if (i == n || sub[i].kind == V_ELLIPSIS) continue;
        int axes = 0;
        if (sub[i].kind == V_NONE)
            p->sub[p->n++] = (Sub){.kind = SUB_NEW};
        else if (!one_sub(in, x, axis, sub[i], p, &axes, e))
            return e->at.src ? false : error_sub(in, i, e);
        axis += axes;
    }
    for (int i = 0; i < p->n; i++) p->n_tensors += p->sub[i].kind == SUB_TENSOR;
    p->is_basic_noop = true;
    for (int i = 0, k = 0; i < p->n; i++) {
        const Sub *s = &p->sub[i];
        if (s->kind == SUB_INT || s->kind == SUB_NEW ||
            (s->kind == SUB_SLICE && s->size != x->shape[k]))
            p->is_basic_noop = false;
        k += s->kind != SUB_NEW;
    }
    return true;
}

/* The slice of the basic part: of x's rank, with index tensors' axes whole. */
typedef struct Basic {
    int64_t start[MAX_DIMS], size[MAX_DIMS], step[MAX_DIMS];
    int rank;
    int64_t shape[3 * MAX_DIMS];
    int shape_rank;
    bool is_whole;
} Basic; /* shape: ints removed, new axes added */

static bool basic_of(const TensorType *x, const Plan *p, Basic *b, LangError *e) {
    *b = (Basic){.is_whole = true};
    for (int i = 0; i < p->n; i++) {
        const Sub *s = &p->sub[i];
        if (s->kind == SUB_NEW) {
            b->shape[b->shape_rank++] = 1;
            continue;
        }
        int k = b->rank++;
        bool all = s->kind == SUB_TENSOR;
        b->start[k] = all ? 0 : s->start, b->size[k] = all ? x->shape[k] : s->size,
        b->step[k] = all ? 1 : s->step;
        if (b->size[k] != x->shape[k]) b->is_whole = false;
        if (s->kind != SUB_INT) b->shape[b->shape_rank++] = b->size[k];
    }
    return b->shape_rank <= MAX_DIMS ||
           error_set(e, "a result of %d axes, but a tensor has at most %d", b->shape_rank,
                     MAX_DIMS);
}

static Tensor *basic_get(Interp *in, Tensor *x, const Basic *b, LangError *e) {
    Attr attr[3] = {attr_ints(ATTR_START, b->start, b->rank),
                    attr_ints(ATTR_SIZE, b->size, b->rank), attr_ints(ATTR_STEP, b->step, b->rank)};
    Arg arg = arg_tensor(x);
    Tensor *part = NULL;
    if (b->is_whole)
        part = tensor_ref(x);
    else if (!tensor_op(in, OP_SLICE, &arg, 1, attr, 3, &part, e))
        return NULL;
    Tensor *out = tensor_reshape(in, part, b->shape, b->shape_rank, e);
    tensor_unref(part);
    return out;
}

/* The axes of the basic part's result that the index tensors use: the first one, and the
 * permutation that makes them adjacent. */
typedef struct Advanced {
    int axis, n;
    Arg index[MAX_DIMS];
    int64_t perm[MAX_DIMS], back[MAX_DIMS];
    int rank;
    bool permutes;
} Advanced;

static void advanced_of(const Plan *p, Advanced *a) {
    int at[MAX_DIMS], rest[3 * MAX_DIMS], n_rest = 0, first = -1, alone = -1, k = 0;
    bool is_over = false, is_apart = false;
    *a = (Advanced){0};
    for (int i = 0; i < p->n; i++) {
        const Sub *s = &p->sub[i];
        if (s->kind == SUB_INT) continue;
        if (s->kind != SUB_TENSOR) {
            is_over = first >= 0;
            rest[n_rest++] = a->rank++;
            continue;
        }
        if (tensor_type(s->t)->rank) {
            if (first < 0) first = n_rest;
            is_apart |= is_over;
        }
        if (alone < 0) alone = n_rest;
        at[a->n] = a->rank++, a->index[a->n++] = arg_tensor(s->t);
    }
    /* all are single numbers, which have no axes */
    a->axis = is_apart ? 0 : first < 0 ? alone : first;
    for (int i = 0; i < a->axis; i++) a->perm[k++] = rest[i];
    for (int i = 0; i < a->n; i++) a->perm[k++] = at[i];
    for (int i = a->axis; i < n_rest; i++) a->perm[k++] = rest[i];
    for (int i = 0; i < a->rank; i++) a->back[a->perm[i]] = i, a->permutes |= a->perm[i] != i;
}

static Tensor *advanced_get(Interp *in, Tensor *x, const Advanced *a, LangError *e) {
    Arg arg[MAX_DIMS + 1];
    int64_t axis = a->axis;
    Attr attr = attr_ints(ATTR_AXIS, &axis, 1);
    Tensor *y = a->permutes ? tensor_permute(in, x, a->perm, a->rank, e) : tensor_ref(x),
           *out = NULL;
    if (!y) return NULL;
    arg[0] = arg_tensor(y);
    memcpy(arg + 1, a->index, sizeof a->index[0] * (size_t)a->n);
    if (!tensor_op(in, OP_INDEX, arg, a->n + 1, &attr, 1, &out, e)) out = NULL;
    tensor_unref(y);
    return out;
}

/* ---- reading ---- */

bool tensor_index(Interp *in, Tensor *x, const Value *sub, int n_subs, Value *out, LangError *e) {
    Plan p = {0};
    Basic b;
    Tensor *part = NULL, *result = NULL;
    if (plan_make(in, tensor_type(x), sub, n_subs, &p, e) && basic_of(tensor_type(x), &p, &b, e)) {
        part = basic_get(in, x, &b, e);
        if (part && p.n_tensors) {
            Advanced a;
            advanced_of(&p, &a);
            result = advanced_get(in, part, &a, e);
            tensor_unref(part);
        } else
            result = part;
    }
    plan_fini(&p);
    if (!result) return false;
    *out = v_tensor(tensor_value(result)); /* p[...] is a value, not p itself */
    return true;
}

bool tensor_iter(Interp *in, Tensor *t, int64_t i, Value *out, LangError *e) {
    if (!tensor_type(t)->rank) return error_set(e, "a single number has no elements to go through");
    Value sub = v_int(i);
    return tensor_index(in, t, &sub, 1, out, e);
}

/* ---- writing ---- */

/* The value to write, as a tensor of x's dtype. Floats are truncated for integer dtypes, as in a
 * cast. */
static Tensor *value_for(Interp *in, Tensor *x, Value v, LangError *e) {
    DType d = (DType)tensor_type(x)->dtype;
    Arg a;
    if (v.kind == V_LIST || v.kind == V_RANGE) {
        Value made;
        return tensor_from_value(in, v, d, &made, e) ? made.tensor : NULL;
    }
    if (!arg_from_value(in, v, &a, e)) return NULL;
    if (a.t) return tensor_cast(in, a.t, d, e);
    if (a.imm.kind == IN_IMM_FLOAT && !dtype_is_float(d)) {
        bool fits = a.imm.f > -9.2e18 && a.imm.f < 9.2e18;
        if (!fits)
            return error_set(e, "%g does not fit into %s", a.imm.f, dtype_info[d].name), NULL;
        a = d == DT_BOOL ? arg_bool(a.imm.f != 0) : arg_int((int64_t)a.imm.f);
    } else if (a.imm.kind == IN_IMM_INT && d == DT_BOOL)
        a = arg_bool(a.imm.i != 0);
    return tensor_full(in, NULL, 0, d, a.imm, e);
}

static bool error_value_shape(const TensorType *v, const int64_t *shape, int rank, LangError *e) {
    TensorType want = {.rank = (uint8_t)rank};
    char a[256], b[256];
    memcpy(want.shape, shape, sizeof *shape * (size_t)rank);
    return error_set(e, "cannot write a value of shape %s where the shape is %s",
                     type_shape_text(v, a), type_shape_text(&want, b));
}

/* Reshapes v, which broadcasts to the basic part's shape, to broadcast to the slice itself: size 1
 * for ints, no new axes. */
static Tensor *value_for_slice(Interp *in, Tensor *v, const Plan *p, const Basic *b, LangError *e) {
    TensorType t = *tensor_type(v);
    int64_t padded[MAX_DIMS], shape[MAX_DIMS];
    int skip = t.rank > b->shape_rank ? t.rank - b->shape_rank : 0,
        lead = b->shape_rank - (t.rank - skip), n = 0, k = 0;
    bool fits = true;
    for (int i = 0; i < skip; i++) fits &= t.shape[i] == 1;
    for (int i = 0; i < b->shape_rank; i++) {
        padded[i] = i < lead ? 1 : t.shape[i - lead + skip];
        fits &= padded[i] == 1 || padded[i] == b->shape[i];
    }
    if (!fits) return error_value_shape(&t, b->shape, b->shape_rank, e), NULL;
    for (int i = 0; i < p->n; i++) {
        if (p->sub[i].kind == SUB_NEW)
            k++;
        else
            shape[n++] = p->sub[i].kind == SUB_INT ? 1 : padded[k++];
    }
    return tensor_reshape(in, v, shape, n, e);
}

static Tensor *basic_put(Interp *in, Tensor *x, Tensor *v, const Plan *p, const Basic *b,
                         LangError *e) {
    Attr attr[3] = {attr_ints(ATTR_START, b->start, b->rank),
                    attr_ints(ATTR_SIZE, b->size, b->rank), attr_ints(ATTR_STEP, b->step, b->rank)};
    Tensor *fitted = value_for_slice(in, v, p, b, e), *out = NULL;
    if (!fitted) return NULL;
    Arg arg[2] = {arg_tensor(x), arg_tensor(fitted)};
    if (!tensor_op_keep(in, OP_SLICE_PUT, arg, 2, attr, 3, p->place, &out, e)) out = NULL;
    tensor_unref(fitted);
    return out;
}

static Tensor *advanced_put(Interp *in, Tensor *x, Tensor *v, bool adds, const Plan *p,
                            const Basic *b, LangError *e) {
    Advanced a;
    advanced_of(p, &a);
    Arg arg[MAX_DIMS + 2];
    int64_t axis = a.axis;
    Attr attr[3] = {attr_ints(ATTR_AXIS, &axis, 1)};
    int n_attr = 1;
    if (adds) attr[n_attr++] = attr_bool(ATTR_ACCUMULATE, true);
    if (p->from_zero) attr[n_attr++] = attr_bool(ATTR_FROM_ZERO, true);
    Tensor *part = basic_get(in, x, b, e), *y = NULL, *written = NULL, *out = NULL;
    if (part) y = a.permutes ? tensor_permute(in, part, a.perm, a.rank, e) : tensor_ref(part);
    if (y) {
        arg[0] = arg_tensor(y), arg[1] = arg_tensor(v);
        memcpy(arg + 2, a.index, sizeof a.index[0] * (size_t)a.n);
        if (!tensor_op_keep(in, OP_INDEX_PUT, arg, a.n + 2, attr, n_attr, p->place, &written, e))
            written = NULL;
    }
    if (written && a.permutes) {
        Tensor *back = tensor_permute(in, written, a.back, a.rank, e);
        tensor_unref(written), written = back;
    }
    if (written) out = p->is_basic_noop ? tensor_ref(written) : basic_put(in, x, written, p, b, e);
    tensor_unref(part), tensor_unref(y), tensor_unref(written);
    return out;
}

/* True if the mask has the shape of x's leading axes; else an error. */
static bool mask_fits(Interp *in, const TensorType *t, const TensorType *tx, LangError *e) {
    char a[256], b[256];
    if (t->rank <= tx->rank && !memcmp(t->shape, tx->shape, sizeof t->shape[0] * t->rank))
        return true;
    error_set(e, "a mask of shape %s does not fit shape %s", type_shape_text(t, a),
              type_shape_text(tx, b));
    return error_sub(in, 0, e);
}

/* True if v broadcasts to the last `rest` axes of x, so that every true element of the mask gets
 * v. */
static bool is_for_each(const TensorType *tx, int rest, const TensorType *tv) {
    bool fits = tv->rank <= rest;
    for (int i = 1; fits && i <= tv->rank; i++)
        fits = tv->shape[tv->rank - i] == 1 || tv->shape[tv->rank - i] == tx->shape[tx->rank - i];
    return fits;
}

/* x[mask] = v as where(mask, v, x), with the mask aligned to the leading axes. The indices of true
 * elements are not needed. */
static Tensor *mask_put(Interp *in, Tensor *x, Tensor *mask, Tensor *v, LangError *e) {
    TensorType t = *tensor_type(mask);
    for (int rank = tensor_type(x)->rank; t.rank < rank;) t.shape[t.rank++] = 1;
    Tensor *m = tensor_reshape(in, mask, t.shape, t.rank, e), *out = NULL;
    Arg arg[3] = {arg_tensor(m), arg_tensor(v), arg_tensor(x)};
    if (m && !tensor_op(in, OP_WHERE, arg, 3, NULL, 0, &out, e)) out = NULL;
    tensor_unref(m);
    return out;
}

/* True if v has one value for each true element, in their order; else an error. */
static bool suits_places(Interp *in, const Plan *p, const TensorType *tx, int rest,
                         const TensorType *tv, LangError *e) {
    Advanced a;
    char text[256];
    advanced_of(p, &a);
    int64_t places = tensor_type(a.index[0].t)->shape[0];
    TensorType each = *tv;
    bool fits = tv->rank == rest + 1 && (tv->shape[0] == places || tv->shape[0] == 1);
    if (fits) memmove(each.shape, each.shape + 1, sizeof each.shape[0] * --each.rank);
    if (fits && is_for_each(tx, rest, &each)) return true;
    error_set(e, "x[mask] = v: %lld places are true, v has shape %s", (long long)places,
              type_shape_text(tv, text));
    error_hint(e, "v is one value for all places, or one for each: x[mask] = t[mask]");
    return error_sub(in, 0, e);
}

static Tensor *put(Interp *in, Tensor *x, const Value *sub, int n_subs, Tensor *v, bool from_zero,
                   const Handle **place, LangError *e) {
    const TensorType *tx = tensor_type(x), *mask = NULL;
    if (n_subs == 1 && sub[0].kind == V_TENSOR && tensor_type(sub[0].tensor)->dtype == DT_BOOL)
        mask = tensor_type(sub[0].tensor);
    if (mask && !mask_fits(in, mask, tx, e)) return NULL;
    int rest = mask ? tx->rank - mask->rank : 0;
    if (mask && (mask->rank == 0 || is_for_each(tx, rest, tensor_type(v))))
        return mask_put(in, x, sub[0].tensor, v, e);
    Plan p = {.from_zero = from_zero, .place = place};
    Basic b;
    Tensor *out = NULL;
    if (plan_make(in, tx, sub, n_subs, &p, e) && basic_of(tx, &p, &b, e) &&
        (!mask || suits_places(in, &p, tx, rest, tensor_type(v), e)))
        out =
            p.n_tensors ? advanced_put(in, x, v, false, &p, &b, e) : basic_put(in, x, v, &p, &b, e);
    plan_fini(&p);
    return out;
}

bool tensor_index_put(Interp *in, Tensor *x, const Value *sub, int n_subs, Value v, bool from_zero,
                      Value *out, LangError *e) {
    bool in_place = x->is_param || x->is_buffer;
    if (in_place) TRY(tensor_no_path(in, v, e) && tensor_has_no_path(in, x, e));
    in->no_grad_depth += in_place;
    Tensor *value = value_for(in, x, v, e);
    const Handle *place = in_place ? x->handle : NULL;
    Tensor *result = value ? put(in, x, sub, n_subs, value, from_zero, &place, e) : NULL;
    tensor_unref(value);
    in->no_grad_depth -= in_place;
    bool ok = result && (!in_place || tensor_update_keep(in, x, v_tensor(result), place, e));
    if (!result) return false;
    if (in_place) tensor_unref(result), result = ok ? tensor_ref(x) : NULL;
    if (ok) *out = v_tensor(result);
    return ok;
}

bool tensor_index_add(Interp *in, Tensor *x, const Value *sub, int n_subs, Value v, bool from_zero,
                      Value *out, LangError *e) {
    Plan p = {.from_zero = from_zero};
    Basic b;
    const TensorType *t = tensor_type(x);
    Tensor *value = value_for(in, x, v, e), *result = NULL;
    bool ok = value && plan_make(in, t, sub, n_subs, &p, e) && basic_of(t, &p, &b, e);
    if (ok && p.n_tensors)
        result = advanced_put(in, x, value, true, &p, &b, e);
    else if (ok) { /* no element occurs twice */
        Tensor *zeros = tensor_full(in, t->shape, t->rank, (DType)t->dtype, arg_int(0).imm, e);
        Tensor *more = zeros ? put(in, zeros, sub, n_subs, value, from_zero, NULL, e) : NULL;
        if (more) result = tensor_op2(in, OP_ADD, arg_tensor(x), arg_tensor(more), e);
        tensor_unref(zeros), tensor_unref(more);
    }
    plan_fini(&p);
    tensor_unref(value);
    if (result) *out = v_tensor(result);
    return result != NULL;
}
