/* fit.c: see fit.h. SPDX-License-Identifier: MIT */
#include "worker/fuse/fit.h"
#include "runtime/inst/element.h"
#include <string.h>

bool fit_is_kind(Op op) {
    return op_info[op].class_ == CLASS_MAP || op_info[op].class_ == CLASS_REDUCE || op == OP_CAST ||
           op == OP_FULL || op == OP_GATHER || op == OP_SCATTER_ADD;
}
bool fit_is_source(Op op) { return op == OP_FULL || op == OP_GATHER || op == OP_SCATTER_ADD; }

static bool is_reduce(Op op) { return op_info[op].class_ == CLASS_REDUCE; }
static int lead_rank(const Fusion *f) { return f->space.rank - f->trailing; }

/* True if the extents of a's first axes equal those of b, axes of 1 left out on both sides. */
static bool same_extents(const TensorType *a, int a_to, const TensorType *b) {
    int d = 0;
    for (int k = 0; k < b->rank; k++) {
        if (b->shape[k] == 1) continue;
        while (d < a_to && a->shape[d] == 1) d++;
        if (d == a_to || a->shape[d++] != b->shape[k]) return false;
    }
    while (d < a_to && a->shape[d] == 1) d++;
    return d == a_to;
}
bool fit_is_space(const Fusion *f, const TensorType *t) {
    return same_extents(&f->space, f->space.rank, t);
}
static bool is_rows(const Fusion *f, const TensorType *t) {
    return f->trailing && same_extents(&f->space, lead_rank(f), t);
}

/* Returns v as a view that broadcasts to the space, or to rows if is_row. v broadcasts to t, whose
 * extents are those of the space or the rows. */
static View along_space(const Fusion *f, const View *v, const TensorType *t, bool is_row) {
    View r = {.type = {.dtype = v->type.dtype, .rank = f->space.rank}, .data = v->data};
    int to = is_row ? lead_rank(f) : f->space.rank;
    for (int d = 0, a = 0; d < f->space.rank; d++) {
        r.type.shape[d] = 1;
        if (d >= to || f->space.shape[d] == 1) continue;
        while (t->shape[a] == 1) a++;
        int own = a++ - (t->rank - v->type.rank);
        if (own < 0 || v->type.shape[own] == 1) continue;
        r.type.shape[d] = v->type.shape[own];
        r.stride[d] = v->stride[own];
    }
    return r;
}
/* True if v, a view of a row value along the space, has the rows in order and repeats each value
 * along the last axes. */
static bool repeats_rows(const Fusion *f, const View *v) {
    int64_t step = 1;
    for (int d = f->space.rank - 1; d >= 0; d--) {
        int64_t extent = v->type.shape[d];
        if (d >= lead_rank(f)) {
            if (extent != 1 && v->stride[d] != 0) return false;
            continue;
        }
        if (extent != f->space.shape[d] || (extent > 1 && v->stride[d] != step)) return false;
        step *= extent;
    }
    return true;
}

/* Returns tensor operand v, of storage st, as the reference that a node of the space or of rows
 * reads. t: the node's result, or what its operands broadcast to. FUSE_NONE: it does not fit. */
static FuseRef tensor_ref(Fusion *f, const Storage *st, const View *v, bool is_row,
                          const TensorType *t) {
    if (fit_is_pending(st)) {
        int i = st->maker->node;
        if (v->data != storage_base(st) || v->type.dtype != f->node[i].dtype) return FUSE_NONE;
        if (f->node[i].is_column) return FUSE_NONE;
        if (f->node[i].is_row && !is_row) {
            View shown = along_space(f, v, t, false);
            return repeats_rows(f, &shown) ? i : FUSE_NONE;
        }
        /* v broadcasts to t. If it is contiguous and has as many elements, it is read element for
         * element. */
        bool whole = view_is_contiguous(v) && type_numel(&v->type) == type_numel(t);
        return f->node[i].is_row == is_row && whole ? i : FUSE_NONE;
    }
    if (fit_is_product(st)) { /* element for element; its address is not known yet */
        if (is_row || v->data != storage_base(st) || !view_is_contiguous(v)) return FUSE_NONE;
        if (type_numel(&v->type) != type_numel(t) || type_bytes(&v->type) != st->bytes)
            return FUSE_NONE;
    } else if (st->maker || st->made) {
        return FUSE_NONE; /* its values come later, from outside of the fusion */
    }
    View shown = along_space(f, v, t, is_row);
    return fuse_input(f, &shown);
}

static FuseRef scalar_ref(Fusion *f, const Job *j, int slot) {
    const View *v = &j->call.in[slot];
    DType d = (DType)v->type.dtype;
    if (slot > 0 || j->call.n_in < 3) return fuse_scalar(f, d, v->data);
    uint8_t condition = element_float(d, v->data) != 0;
    return fuse_scalar(f, DT_BOOL, &condition);
}

/* Finds the references of j's operands, for a node of rows or of the space. */
static bool refs_of(Fusion *f, const Job *j, bool is_row, const TensorType *t, FuseRef in[3],
                    FuseRef operand[3]) {
    for (int i = 0, k = 0; i < j->call.n_in; i++) {
        const View *v = &j->call.in[i];
        if (v->is_scalar)
            in[i] = scalar_ref(f, j, i);
        else
            in[i] = operand[k] = tensor_ref(f, j->held[k], v, is_row, t), k++;
        if (in[i] == FUSE_NONE) return false;
    }
    return true;
}

/* ---- Kinds ---- */

static bool has_pending(const Job *j) {
    for (int k = 0; k < j->n_held; k++)
        if (fit_is_pending(j->held[k])) return true;
    return false;
}

/* Makes t the space of a fusion without rows. Its values so far become one per row of t. Returns
 * false, with f unchanged, if f has rows or the shapes do not allow it. */
static bool becomes_rows(Fusion *f, const TensorType *t) {
    int lead = f->space.rank;
    if (f->trailing || t->rank < lead) return false;
    if (t->rank == lead)
        while (lead && f->space.shape[lead - 1] == 1) lead--;
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) {
        if (d >= lead) n *= t->shape[d];
        if (d < lead && t->shape[d] != f->space.shape[d]) return false;
    }
    if (!lead || lead == t->rank || n < 2) return false;
    for (int k = 0; k < f->n_inputs; k++) {
        View *v = &f->input[k];
        for (int d = f->space.rank; d < t->rank; d++) {
            v->type.shape[v->type.rank] = 1;
            v->stride[v->type.rank++] = 0;
        }
    }
    for (int i = 0; i < f->n_nodes; i++) f->node[i].is_row = true;
    f->space = *t;
    f->trailing = t->rank - lead;
    return true;
}

/* The axes that a reduction folds: the last n of x (*over_rows: the first n); 0: others. */
static int folded_axes(const Job *j, bool *over_rows) {
    const Attr *axis = inst_attr(j->call.inst, ATTR_AXIS);
    int rank = j->call.in[0].type.rank;
    *over_rows = false;
    if (!axis) return rank;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < axis->n; i++) seen |= UINT32_C(1) << axis->ints[i];
    int n = 0;
    while (n < rank && seen >> (rank - 1 - n) & 1) n++;
    if (n) return seen == ((UINT32_C(1) << n) - 1) << (rank - n) ? n : 0;
    while (seen >> n & 1) n++;
    *over_rows = true;
    return seen == (UINT32_C(1) << n) - 1 ? n : 0;
}

/* True if j folds all of a pending row value, in the order of a row (cpu_reduce.c). */
static bool folds_rows(const Fusion *f, const Job *j, int folded, bool over_rows) {
    const TensorType *x = &j->call.in[0].type;
    const Storage *st = j->held[0];
    return fit_is_pending(st) && f->node[st->maker->node].is_row && is_rows(f, x) && !over_rows &&
           folded == x->rank;
}

static FuseRef fit_reduce(Fusion *f, int n, const Job *j, const TensorType *type,
                          FuseRef operand[3]) {
    const TensorType *x = &j->call.in[0].type;
    bool over_rows;
    int folded = folded_axes(j, &over_rows);
    if (!folded || type_numel(x) == 0 || inst_attr(j->call.inst, ATTR_NODES)) return FUSE_NONE;
    DType d = (DType)type->dtype;
    FuseRef in[3];
    if (n && folds_rows(f, j, folded, over_rows))
        return refs_of(f, j, true, x, in, operand) ? fuse_column(f, j->inst.op, d, true, in[0])
                                                   : FUSE_NONE;
    int64_t rows = 1, columns = 1;
    int lead = over_rows ? folded : x->rank - folded;
    for (int a = 0; a < x->rank; a++) *(a < lead ? &rows : &columns) *= x->shape[a];
    /* Of several rows only sums are in the order of leaves. */
    if (columns < 2 || (over_rows && (rows < FUSED_LANE_COUNT || j->inst.op != OP_SUM)))
        return FUSE_NONE;
    if (!n) fuse_init(f, x, x->rank - lead);
    if (!type_same_shape(&f->space, x) && (over_rows || !becomes_rows(f, x))) return FUSE_NONE;
    if (f->trailing && lead_rank(f) != lead) return FUSE_NONE;
    f->trailing = x->rank - lead;
    if (!refs_of(f, j, false, x, in, operand)) return FUSE_NONE;
    if (fuse_is_node(in[0]) && f->node[in[0]].is_row) return FUSE_NONE; /* repeated */
    return over_rows ? fuse_column(f, j->inst.op, d, false, in[0])
                     : fuse_node(f, j->inst.op, d, true, in, 1);
}

/* Fits an operation whose operands are pending totals, other single elements and numbers. A pending
 * total is one value for the whole space: a node that folds all row values, or is computed from
 * such totals (fuse.h). */
static FuseRef fit_total(Fusion *f, const Job *j, const TensorType *type, FuseRef operand[3]) {
    FuseRef in[3];
    for (int i = 0, k = 0; i < j->call.n_in; i++) {
        const View *v = &j->call.in[i];
        if (v->is_scalar) {
            in[i] = scalar_ref(f, j, i);
        } else {
            const Storage *st = j->held[k];
            if (type_numel(&v->type) != 1) return FUSE_NONE;
            if (fit_is_pending(st)) {
                in[i] = st->maker->node;
                const FuseNode *n = &f->node[in[i]];
                if (v->data != storage_base(st) || v->type.dtype != n->dtype || !n->is_row ||
                    !n->is_column)
                    return FUSE_NONE;
            } else {
                View one = *v;
                one.type.rank = 0;
                in[i] = st->maker || st->made ? FUSE_NONE : fuse_input(f, &one);
            }
            operand[k++] = in[i];
        }
        if (in[i] == FUSE_NONE) return FUSE_NONE;
    }
    return fuse_total(f, j->inst.op, (DType)type->dtype, in, j->call.n_in);
}
static bool reads_total(const Fusion *f, const Job *j) {
    for (int k = 0; k < j->n_held; k++)
        if (fit_is_pending(j->held[k]) && f->node[j->held[k]->maker->node].is_column) return true;
    return false;
}

static FuseRef fit_map(Fusion *f, int n, const Job *j, const TensorType *type, FuseRef operand[3]) {
    if (type_numel(type) == 0) return FUSE_NONE;
    if (!n) fuse_init(f, type, 0);
    if (n && type_numel(type) == 1 && reads_total(f, j)) return fit_total(f, j, type, operand);
    bool is_row = !fit_is_space(f, type);
    if (is_row && !is_rows(f, type)) {
        if (!has_pending(j) || !becomes_rows(f, type)) return FUSE_NONE;
        is_row = false;
    }
    FuseRef in[3];
    if (!refs_of(f, j, is_row, type, in, operand)) return FUSE_NONE;
    return fuse_node(f, j->inst.op, (DType)type->dtype, is_row, in, j->call.n_in);
}

/* The immediate as `full` stores it. */
static FuseRef fit_full(Fusion *f, int n, const Job *j, const TensorType *type) {
    const View *v = &j->call.in[0];
    DType d = (DType)type->dtype, from = (DType)v->type.dtype;
    bool is_known =
        d == DT_F32 || d == DT_F64 ? dtype_is_float(from) : d == DT_I64 && from == DT_I64;
    if (!n || type_numel(type) == 0 || j->part || j->call.n_in != 1 || !is_known) return FUSE_NONE;
    bool is_row = f->trailing && is_rows(f, type);
    if (!is_row && !(f->trailing && fit_is_space(f, type)) && !becomes_rows(f, type))
        return FUSE_NONE; /* alone, or in a fusion without rows, it is faster by itself */
    char value[8] = {0};
    if (d == DT_I64)
        element_set_int(d, value, element_int(from, v->data));
    else
        element_set_float(d, value, element_float(from, v->data));
    FuseRef in = fuse_scalar(f, d, value);
    return fuse_node(f, OP_FULL, d, is_row, &in, 1);
}

/* Reads, or adds to, one element of each row. The last axis of the index has size 1. */
static FuseRef fit_along(Fusion *f, int n, const Job *j, const TensorType *type,
                         FuseRef operand[3]) {
    const TensorType *x = &j->call.in[0].type;
    const Attr *axis = inst_attr(j->call.inst, ATTR_AXIS);
    bool adds = j->inst.op == OP_SCATTER_ADD;
    DType d = (DType)type->dtype;
    if (!n || j->part || !has_pending(j) || !axis || axis->ints[0] != x->rank - 1 || x->rank < 1 ||
        x->shape[x->rank - 1] < 2 || (adds && (dtype_is_half(d) || d == DT_BOOL)))
        return FUSE_NONE;
    if (!type_same_shape(&f->space, x) && !becomes_rows(f, x)) return FUSE_NONE;
    if (f->trailing > 1) return FUSE_NONE;
    f->trailing = 1;
    FuseRef in[3];
    for (int k = 0; k < j->call.n_in; k++) {
        const View *v = &j->call.in[k];
        if (v->is_scalar) return FUSE_NONE;
        if (k > 0 && (v->type.rank != f->space.rank || !is_rows(f, &v->type))) return FUSE_NONE;
        in[k] = operand[k] = tensor_ref(f, j->held[k], v, k > 0, &v->type);
        if (in[k] == FUSE_NONE) return FUSE_NONE;
    }
    return fuse_node(f, j->inst.op, d, !adds, in, j->call.n_in);
}

FuseRef fit_job(Fusion *f, int n, const Job *j, const TensorType *type, FuseRef operand[3],
                bool (*fits)(const Fusion *f)) {
    Op op = j->inst.op;
    int inputs = f->n_inputs, scalars = f->n_scalars, nodes = f->n_nodes, trailing = f->trailing;
    bool may_change = n && !trailing;
    TensorType space = f->space;
    View input[FUSED_INPUTS];
    if (may_change) memcpy(input, f->input, sizeof *input * (size_t)inputs);
    operand[0] = operand[1] = operand[2] = FUSE_NONE;
    FuseRef r = op == OP_FULL                             ? fit_full(f, n, j, type)
                : op == OP_GATHER || op == OP_SCATTER_ADD ? fit_along(f, n, j, type, operand)
                : is_reduce(op)                           ? fit_reduce(f, n, j, type, operand)
                                                          : fit_map(f, n, j, type, operand);
    if (r != FUSE_NONE && fits && op_info[op].class_ != CLASS_MAP && !fits(f)) r = FUSE_NONE;
    if (r != FUSE_NONE || !n) return r;
    f->n_inputs = inputs, f->n_scalars = scalars, f->n_nodes = nodes;
    f->trailing = trailing;
    if (may_change) {
        f->space = space;
        memcpy(f->input, input, sizeof *input * (size_t)inputs);
        for (int i = 0; i < nodes; i++) f->node[i].is_row = false;
    }
    return FUSE_NONE;
}
