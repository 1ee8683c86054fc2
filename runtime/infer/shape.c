/* shape.c: shape and dtype inference, the only one in the system. Client, dispatcher and workers
 * all call inst_infer, so a kernel may trust what it accepts (arity, dtypes, ranks, extents,
 * attributes; not the values of indices). Here: the table of rules, broadcasting
 * (shape_broadcast), pointwise operations, reductions, views, casts, sources and control. The
 * other shape_*.c have the hand-written kernels. Errors are sentences for users.
 * SPDX-License-Identifier: MIT */
#include "runtime/infer/shape.h"
#include "runtime/inst/element.h"
#include "runtime/layout/place.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool (*const rules[OP_COUNT])(Infer *s) = {
#define OP(id, name, class_, arity, in, out, shape, ...) [OP_##id] = infer_##shape,
#include "runtime/inst/ops.def"
};

bool inst_infer(const Inst *inst, const TensorType *in, TensorType *out, int *n_out, Err *err) {
    if ((unsigned)inst->op >= OP_COUNT)
        return err_set(err, ERR_PARSE, "unknown op %d", (int)inst->op);
    Infer s = {
        .inst = inst, .info = &op_info[inst->op], .in = in, .out = out, .n_out = 1, .err = err};
    if (!rules[inst->op](&s)) return false;
    *n_out = s.n_out;
    if (inst->n_out != 0 && inst->n_out != s.n_out && inst->op != OP_POISON)
        return err_set(err, ERR_ARG, "%s gives %d result%s, not %d", s.info->name, s.n_out,
                       s.n_out == 1 ? "" : "s", inst->n_out);
    return true;
}

/* ---- Checks that rules share ---- */

bool op_fail(Infer *s, ErrCode code, const char *format, ...) {
    char text[sizeof s->err->text];
    FORMAT_INTO(text, format);
    return err_set(s->err, code, "%s%s", s->info->name, text);
}

static const char *dset_text(unsigned set) {
    return set == DSET_FLOAT  ? "float dtypes"
           : set == DSET_INT  ? "whole-number dtypes"
           : set == DSET_BITS ? "bool and whole-number dtypes"
           : set == DSET_NUM  ? "number dtypes"
                              : "any dtype";
}

static bool wrong_count(Infer *s, int least, int most) {
    if (least == most)
        return op_fail(s, ERR_ARG, " takes %d operand%s, not %d", least, least == 1 ? "" : "s",
                       s->inst->n_in);
    return op_fail(s, ERR_ARG, " takes at least %d operand%s, not %d", least, least == 1 ? "" : "s",
                   s->inst->n_in);
}

bool need_tensors(Infer *s, int least, int most) {
    const Inst *inst = s->inst;
    if (inst->n_in < least || inst->n_in > most) return wrong_count(s, least, most);
    for (int i = 0; i < inst->n_in; i++)
        if (inst->in[i].kind != IN_TENSOR)
            return op_fail(s, ERR_ARG, ": operand %d must be a tensor", i + 1);
    return true;
}

bool need_dtype(Infer *s, int i) {
    DType d = s->in[i].dtype;
    if (s->info->in & DSET(d)) return true;
    op_fail(s, ERR_DTYPE, " takes %s, not %s", dset_text(s->info->in), dtype_info[d].name);
    if (s->info->in == DSET_FLOAT)
        err_hint(s->err, "x.to(float32)");
    else if (s->info->in == DSET_NUM)
        err_hint(s->err, "x.to(int64)");
    return false;
}

bool need_same_dtype(Infer *s, int i) {
    if (s->in[i].dtype == s->in[0].dtype) return true;
    return op_fail(s, ERR_DTYPE, ": operands of different dtypes: %s and %s",
                   dtype_info[s->in[0].dtype].name, dtype_info[s->in[i].dtype].name);
}

bool need_index_dtype(Infer *s, int i) {
    if (DSET_INT & DSET(s->in[i].dtype)) return true;
    op_fail(s, ERR_DTYPE, ": indices must be whole numbers, not %s",
            dtype_info[s->in[i].dtype].name);
    return err_hint(s->err, "idx.to(int64)");
}

bool missing_attr(Infer *s, AttrKey key) {
    return op_fail(s, ERR_ARG, " needs the attribute '%s'", attr_info[key].name);
}

static bool axis_in_range(Infer *s, int64_t axis, int rank) {
    if (axis >= 0 && axis < rank) return true;
    if (rank == 0)
        return op_fail(s, ERR_ARG, ": axis %lld of a tensor without axes", (long long)axis);
    return op_fail(s, ERR_ARG, ": axis %lld is not in 0 to %d", (long long)axis, rank - 1);
}

bool need_axis(Infer *s, int rank, int *axis) {
    const Attr *a = inst_attr(s->inst, ATTR_AXIS);
    if (!a) return missing_attr(s, ATTR_AXIS);
    if (a->n != 1) return op_fail(s, ERR_ARG, " takes one axis, not %u", a->n);
    TRY(axis_in_range(s, a->ints[0], rank));
    *axis = (int)a->ints[0];
    return true;
}

/* Empty axes count as 1, so that strides too stay far from overflow. */
static bool numel_fits(const TensorType *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] == 0) continue;
        if (t->shape[i] > MAX_NUMEL / n) return false;
        n *= t->shape[i];
    }
    return true;
}

bool need_numel(Infer *s, const TensorType *t) {
    if (numel_fits(t)) return true;
    ShapeText text;
    return op_fail(s, ERR_LIMIT, ": a tensor of shape %s has too many elements (limit 2^46)",
                   shape_text(t, &text));
}

bool sum_dtype(Infer *s, uint8_t *dtype) {
    const Attr *a = inst_attr(s->inst, ATTR_DTYPE);
    DType of = (DType)s->in[0].dtype;
    *dtype = (uint8_t)(a ? a->dtype : of);
    if (*dtype == of || (a->dtype == DT_F32 && dtype_is_half(of))) return true;
    return op_fail(s, ERR_DTYPE, ": a product of %s is %s%s, not %s", dtype_info[of].name,
                   dtype_info[of].name, dtype_is_half(of) ? " or float32" : "",
                   a->dtype < DT_COUNT ? dtype_info[a->dtype].name : "of an unknown dtype");
}

bool need_shape(Infer *s, TensorType *t) {
    const Attr *a = inst_attr(s->inst, ATTR_SHAPE);
    if (!a) return missing_attr(s, ATTR_SHAPE);
    if (a->n > MAX_DIMS)
        return op_fail(s, ERR_LIMIT, ": %u axes, but a tensor has at most %d", a->n, MAX_DIMS);
    t->rank = (uint8_t)a->n;
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->ints[i] < 0)
            return op_fail(s, ERR_SHAPE, ": an axis of %lld elements", (long long)a->ints[i]);
        t->shape[i] = a->ints[i];
    }
    return need_numel(s, t);
}

/* An immediate must fit dtype t. */
static bool need_fits(Infer *s, const Operand *o, DType t) {
    if (o->kind == IN_IMM_BOOL || (dtype_is_half(t) && op_has(s->inst->op, FACT_SCALES)))
        return true;
    if (o->kind == IN_IMM_FLOAT && dtype_is_float(t)) {
        /* In a sum or a comparison 1e40 is infinite in float32, but a tensor must not be filled
         * with that. */
        bool is_value = s->inst->op == OP_FULL || s->inst->op == OP_WHERE;
        bool is_lost = is_value && t == DT_F32 && isfinite(o->f) && fabs(o->f) > (double)FLT_MAX;
        if (!is_lost && dtype_holds_float(t, o->f)) return true;
        return op_fail(s, ERR_DTYPE, ": %g does not fit %s", o->f, dtype_info[t].name);
    }
    if (o->kind == IN_IMM_FLOAT) {
        op_fail(s, ERR_DTYPE, ": %g is not a value of %s", o->f, dtype_info[t].name);
        return err_hint(s->err, "x.to(float32)");
    }
    if (dtype_holds_int(t, o->i)) return true;
    return op_fail(s, ERR_DTYPE, ": %lld does not fit %s", (long long)o->i, dtype_info[t].name);
}

/* ---- Pointwise ---- */

bool shape_broadcast(const TensorType *a, const TensorType *b, TensorType *out) {
    if (a->rank < b->rank) {
        const TensorType *t = a;
        a = b, b = t;
    }
    TensorType r = {.dtype = a->dtype, .rank = a->rank};
    int shift = a->rank - b->rank;
    for (int i = 0; i < a->rank; i++) {
        int64_t m = a->shape[i], n = i < shift ? 1 : b->shape[i - shift];
        if (m != n && m != 1 && n != 1) return false;
        r.shape[i] = m == 1 ? n : m;
    }
    *out = r;
    return true;
}

static const char *const symbols[OP_COUNT] = {
    [OP_ADD] = "+",       [OP_SUB] = "-", [OP_MUL] = "*",  [OP_DIV] = "/",
    [OP_FLOORDIV] = "//", [OP_MOD] = "%", [OP_POW] = "**", [OP_EQ] = "==",
    [OP_NE] = "!=",       [OP_LT] = "<",  [OP_LE] = "<=",  [OP_GT] = ">",
    [OP_GE] = ">=",       [OP_AND] = "&", [OP_OR] = "|",   [OP_XOR] = "^",
};

/* "aligned right: 10 vs 32", and the remedy if the shorter shape matches the leading axes. */
static void hint_broadcast(Infer *s, const TensorType *a, const TensorType *b) {
    int n = a->rank < b->rank ? a->rank : b->rank;
    int64_t m = 0, k = 0;
    for (int i = 1; i <= n; i++) {
        m = a->shape[a->rank - i], k = b->shape[b->rank - i];
        if (m != k && m != 1 && k != 1) break;
    }
    const TensorType *longer = a->rank > b->rank ? a : b, *shorter = longer == a ? b : a;
    TensorType padded = *shorter, r;
    padded.rank = longer->rank;
    for (int i = shorter->rank; i < longer->rank; i++) padded.shape[i] = 1;
    ShapeText text;
    if (longer->rank != shorter->rank + 1 || !shape_broadcast(longer, &padded, &r))
        err_hint(s->err, "aligned right: %lld vs %lld", (long long)m, (long long)k);
    else
        err_hint(s->err, "aligned right: %lld vs %lld; %s.unsqueeze(%d) makes %s", (long long)m,
                 (long long)k, shorter == a ? "left" : "right", shorter->rank,
                 shape_text(&padded, &text));
}

static bool no_broadcast(Infer *s, const TensorType *a, const TensorType *b) {
    ShapeText ta, tb;
    const char *symbol = symbols[s->inst->op];
    if (symbol)
        err_set(s->err, ERR_SHAPE, "shapes do not broadcast: %s %s %s", shape_text(a, &ta), symbol,
                shape_text(b, &tb));
    else
        op_fail(s, ERR_SHAPE, ": shapes do not broadcast: %s and %s", shape_text(a, &ta),
                shape_text(b, &tb));
    if (s->err) hint_broadcast(s, a, b);
    return false;
}

static bool dtypes_differ(Infer *s, DType a, DType b) {
    op_fail(s, ERR_DTYPE, ": operands of different dtypes: %s and %s", dtype_info[a].name,
            dtype_info[b].name);
    return err_hint(s->err, "cast one of them with .to(%s)", dtype_info[dtype_promote(a, b)].name);
}

static bool where_condition(Infer *s) {
    const Inst *inst = s->inst;
    if (inst->in[0].kind != IN_TENSOR)
        return err_set(s->err, ERR_ARG, "where: the condition must be a tensor");
    if (s->in[0].dtype == DT_BOOL) return true;
    err_set(s->err, ERR_DTYPE, "where: the condition must be bool, not %s",
            dtype_info[s->in[0].dtype].name);
    return err_hint(s->err, "x != 0 makes a condition");
}

/* Pointwise: all tensor operands have one dtype T in the row's `in`, shapes broadcast,
 * immediates fit T. */
bool infer_broadcast(Infer *s) {
    const Inst *inst = s->inst;
    if (inst->n_in != s->info->arity) return wrong_count(s, s->info->arity, s->info->arity);
    int first = -1, start = 0; /* first: the operand that gives T */
    bool has_shape = false;
    TensorType r;
    if (op_has(inst->op, FACT_PICKS)) {
        TRY(where_condition(s));
        start = 1;
        r = s->in[0], has_shape = true;
    }
    for (int i = start; i < inst->n_in; i++) {
        if (inst->in[i].kind != IN_TENSOR) continue;
        const TensorType *t = &s->in[i];
        if (first < 0) {
            first = i;
            TRY(need_dtype(s, i));
        } else if (t->dtype != s->in[first].dtype) {
            return dtypes_differ(s, s->in[first].dtype, t->dtype);
        }
        if (!has_shape) {
            r = *t, has_shape = true;
        } else if (!type_same_shape(&r, t)) {
            TensorType a = r;
            if (!shape_broadcast(&a, t, &r)) return no_broadcast(s, &a, t);
            TRY(need_numel(s, &r));
        }
    }
    if (first < 0)
        return op_fail(s, ERR_ARG, " needs a tensor among its operands%s",
                       start ? " after the condition" : "");
    DType T = s->in[first].dtype;
    for (int i = start; i < inst->n_in; i++)
        if (inst->in[i].kind != IN_TENSOR) TRY(need_fits(s, &inst->in[i], T));
    r.dtype = s->info->out == OUT_boolean ? DT_BOOL : T;
    return op_gives(s, r);
}

/* ---- Reductions ---- */

bool empty_axis(Infer *s, int axis) {
    ShapeText text;
    return op_fail(s, ERR_SHAPE, " of no elements: axis %d of %s is empty", axis,
                   shape_text(&s->in[0], &text));
}

/* AXIS as a set of bits; all axes if absent. */
static bool axis_set(Infer *s, int rank, unsigned *set) {
    const Attr *a = inst_attr(s->inst, ATTR_AXIS);
    *set = (1u << rank) - 1;
    if (!a) return true;
    *set = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        TRY(axis_in_range(s, a->ints[i], rank));
        unsigned bit = 1u << a->ints[i];
        if (*set & bit)
            return op_fail(s, ERR_ARG, ": axis %lld is given twice", (long long)a->ints[i]);
        *set |= bit;
    }
    return true;
}

bool infer_reduce(Infer *s) {
    TRY(need_tensors(s, 1, 1));
    TRY(need_dtype(s, 0));
    const TensorType *x = &s->in[0];
    unsigned set;
    TRY(axis_set(s, x->rank, &set));
    bool keep = inst_bool(s->inst, ATTR_KEEPDIMS, false);
    TensorType r = {.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++) {
        bool reduced = set >> i & 1;
        if (reduced && x->shape[i] == 0 && op_has(s->inst->op, FACT_FIRST)) return empty_axis(s, i);
        if (!reduced)
            r.shape[r.rank++] = x->shape[i];
        else if (keep)
            r.shape[r.rank++] = 1;
    }
    if (s->info->out == OUT_boolean) r.dtype = DT_BOOL;
    if (s->info->out == OUT_wide && !dtype_is_float(x->dtype)) r.dtype = DT_I64;
    return op_gives(s, r);
}

/* ---- Views ---- */

bool infer_reshape(Infer *s) {
    TRY(need_tensors(s, 1, 1));
    const TensorType *x = &s->in[0];
    TensorType r = {.dtype = x->dtype};
    TRY(need_shape(s, &r));
    s->out[0] = r;
    int64_t m = type_numel(x), n = type_numel(&r);
    if (m == n) return true;
    ShapeText tx, tr;
    return err_set(s->err, ERR_SHAPE, "cannot reshape %s to %s: %lld elements, not %lld",
                   shape_text(x, &tx), shape_text(&r, &tr), (long long)m, (long long)n);
}

bool infer_permute(Infer *s) {
    TRY(need_tensors(s, 1, 1));
    const TensorType *x = &s->in[0];
    const Attr *a = inst_attr(s->inst, ATTR_AXES);
    if (!a) return missing_attr(s, ATTR_AXES);
    ShapeText text;
    if (a->n != x->rank)
        return err_set(s->err, ERR_ARG, "permute: %u axes given for shape %s", a->n,
                       shape_text(x, &text));
    TensorType r = {.dtype = x->dtype, .rank = x->rank};
    unsigned seen = 0;
    for (int i = 0; i < x->rank; i++) {
        TRY(axis_in_range(s, a->ints[i], x->rank));
        if (seen >> a->ints[i] & 1)
            return err_set(s->err, ERR_ARG, "permute: axis %lld is given twice",
                           (long long)a->ints[i]);
        seen |= 1u << a->ints[i];
        r.shape[i] = x->shape[a->ints[i]];
    }
    return op_gives(s, r);
}

bool infer_expand(Infer *s) {
    TRY(need_tensors(s, 1, 1));
    const TensorType *x = &s->in[0];
    TensorType r = {.dtype = x->dtype};
    TRY(need_shape(s, &r));
    ShapeText tx, tr;
    int shift = r.rank - x->rank;
    bool fits = shift >= 0;
    for (int i = 0; fits && i < x->rank; i++)
        fits = x->shape[i] == r.shape[i + shift] || x->shape[i] == 1;
    if (!fits)
        return err_set(s->err, ERR_SHAPE, "cannot expand %s to %s", shape_text(x, &tx),
                       shape_text(&r, &tr));
    return op_gives(s, r);
}

bool slice_type(Infer *s, const TensorType *x, TensorType *out) {
    const Attr *list[3];
    const AttrKey keys[3] = {ATTR_START, ATTR_SIZE, ATTR_STEP};
    for (int i = 0; i < 3; i++) {
        list[i] = inst_attr(s->inst, keys[i]);
        if (!list[i]) return missing_attr(s, keys[i]);
        if (list[i]->n == x->rank) continue;
        ShapeText text;
        return op_fail(s, ERR_ARG, ": %u slices given for shape %s", list[i]->n,
                       shape_text(x, &text));
    }
    TensorType r = {.dtype = x->dtype, .rank = x->rank};
    for (int i = 0; i < x->rank; i++) {
        int64_t n = x->shape[i];
        int64_t start = list[0]->ints[i], size = list[1]->ints[i], step = list[2]->ints[i];
        /* Divides instead of multiplying, because these numbers may be large. */
        bool ok = step >= 1 && size >= 0 && start >= 0 && start <= n &&
                  (size == 0 || (start < n && size - 1 <= (n - 1 - start) / step));
        if (!ok)
            return op_fail(s, ERR_INDEX,
                           ": %lld elements from %lld by %lld leave axis %d of %lld elements",
                           (long long)size, (long long)start, (long long)step, i, (long long)n);
        r.shape[i] = size;
    }
    *out = r;
    return true;
}

bool infer_slice(Infer *s) {
    TRY(need_tensors(s, 1, 1));
    return slice_type(s, &s->in[0], &s->out[0]);
}

/* ---- Casts and sources ---- */

bool infer_cast(Infer *s) {
    TRY(need_tensors(s, 1, 1));
    const Attr *a = inst_attr(s->inst, ATTR_DTYPE);
    if (!a) return missing_attr(s, ATTR_DTYPE);
    if (a->dtype >= DT_COUNT) return err_set(s->err, ERR_DTYPE, "cast: unknown dtype");
    s->out[0] = s->in[0];
    s->out[0].dtype = a->dtype;
    return true;
}

/* The attribute WINDOW is axis, begin, whole: the result is a part of a larger tensor, which has
 * `whole` rows along that axis; the part's first row is row `begin`. */
static bool window_fits(Infer *s, const TensorType *t) {
    const Attr *w = inst_attr(s->inst, ATTR_WINDOW);
    if (!w) return true;
    bool fits = w->n == 3 && w->ints[0] >= 0 && w->ints[0] < t->rank && w->ints[1] >= 0 &&
                w->ints[2] >= 0 && w->ints[1] <= w->ints[2] &&
                t->shape[w->ints[0]] <= w->ints[2] - w->ints[1];
    if (!fits) return op_fail(s, ERR_ARG, ": the window lies outside");
    TensorType whole = *t;
    whole.shape[w->ints[0]] = w->ints[2];
    return need_numel(s, &whole);
}

/* Takes the shape and dtype of a source from its attributes or from its model, a tensor. Sets *imm
 * to its immediates, of which there must be n_imm. */
static bool source_type(Infer *s, int n_imm, const Operand **imm) {
    const Inst *inst = s->inst;
    bool has_model = inst->n_in > 0 && inst->in[0].kind == IN_TENSOR;
    if (inst->n_in != n_imm + has_model)
        return wrong_count(s, n_imm + has_model, n_imm + has_model);
    *imm = inst->in + has_model;
    for (int i = 0; i < n_imm; i++)
        if ((*imm)[i].kind == IN_TENSOR)
            return op_fail(s, ERR_ARG, ": operand %d must be a number", i + has_model + 1);
    TensorType r = {.dtype = DT_NONE};
    if (has_model) {
        if (inst_attr(inst, ATTR_SHAPE))
            return op_fail(s, ERR_ARG, ": a shape and a model tensor exclude each other");
        r = s->in[0];
    } else {
        TRY(need_shape(s, &r));
    }
    const Attr *a = inst_attr(inst, ATTR_DTYPE);
    if (a)
        r.dtype = a->dtype;
    else if (!has_model)
        return missing_attr(s, ATTR_DTYPE);
    if (r.dtype >= DT_COUNT) return op_fail(s, ERR_DTYPE, ": unknown dtype");
    s->out[0] = r;
    return window_fits(s, &r);
}

bool infer_data(Infer *s) {
    const Inst *inst = s->inst;
    if (inst->n_in != 0) return wrong_count(s, 0, 0);
    const Operand *imm;
    TRY(source_type(s, 0, &imm));
    if (inst_bool(inst, ATTR_ELIDED, false))
        return err_set(s->err, ERR_ARG, "data: the elements were left out of this text");
    uint64_t want = type_bytes(&s->out[0]);
    if (inst->payload_bytes != want || (want > 0 && !inst->payload)) {
        char text[256];
        uint64_t size = dtype_info[s->out[0].dtype].size_bytes;
        return err_set(s->err, ERR_ARG, "data: %llu bytes do not make %s: %llu elements, not %llu",
                       (unsigned long long)inst->payload_bytes, type_text(&s->out[0], text),
                       (unsigned long long)(inst->payload_bytes / size),
                       (unsigned long long)(want / size));
    }
    if (s->out[0].dtype != DT_BOOL) return true;
    const uint8_t *p = inst->payload; /* kernels rely on bools being 0 or 1 */
    uint8_t all = 0;
    for (uint64_t i = 0; i < want; i++) all |= p[i];
    return all <= 1 || err_set(s->err, ERR_ARG, "data: a bool is neither 0 nor 1");
}

bool infer_full(Infer *s) {
    const Operand *imm;
    TRY(source_type(s, 1, &imm));
    return need_fits(s, imm, s->out[0].dtype);
}

bool infer_arange(Infer *s) {
    const Operand *imm;
    TRY(source_type(s, 2, &imm));
    const TensorType *r = &s->out[0];
    if (r->rank != 1) {
        ShapeText text;
        return err_set(s->err, ERR_SHAPE, "arange makes one axis, not shape %s",
                       shape_text(r, &text));
    }
    if (r->dtype == DT_BOOL) return err_set(s->err, ERR_DTYPE, "arange makes numbers, not bool");
    TRY(need_fits(s, &imm[0], r->dtype));
    /* The step may be negative even if no element is (arange(5, 0, -1) of uint8); ints wrap. */
    if (imm[1].kind == IN_IMM_FLOAT) return need_fits(s, &imm[1], r->dtype);
    return true;
}

bool infer_random(Infer *s) {
    const Operand *imm;
    TRY(source_type(s, s->info->arity, &imm));
    DType d = s->out[0].dtype;
    const Attr *rng = inst_attr(s->inst, ATTR_RNG);
    if (!rng) return missing_attr(s, ATTR_RNG);
    if (rng->n != 2) return op_fail(s, ERR_ARG, ": rng is seed:counter");
    if (s->inst->op != OP_RANDINT) {
        if (dtype_is_float(d)) return true;
        return op_fail(s, ERR_DTYPE, " makes float dtypes, not %s", dtype_info[d].name);
    }
    if (imm[0].kind != IN_IMM_INT || imm[1].kind != IN_IMM_INT)
        return err_set(s->err, ERR_ARG, "randint: the bounds must be whole numbers");
    int64_t low = imm[0].i, high = imm[1].i;
    if (low >= high)
        return err_set(s->err, ERR_ARG, "randint: no whole number is in [%lld, %lld)",
                       (long long)low, (long long)high);
    Operand last = {.kind = IN_IMM_INT, .i = high - 1};
    return need_fits(s, &imm[0], d) && need_fits(s, &last, d);
}

/* ---- Control ---- */

static bool need_attr(Infer *s, AttrKey key) {
    return inst_attr(s->inst, key) || missing_attr(s, key);
}

/* KEYS has one name per operand. */
static bool need_keys(Infer *s) {
    const Attr *a = inst_attr(s->inst, ATTR_KEYS);
    uint32_t names = 0;
    if (a && (a->n > 0 || s->inst->n_in > 0)) names = 1;
    for (uint32_t i = 0; a && i < a->n; i++) names += a->str[i] == '\n';
    if (names == s->inst->n_in) return true;
    return op_fail(s, ERR_ARG, ": %u names for %d operands", names, s->inst->n_in);
}

static bool need_at_most(Infer *s, AttrKey key, int64_t most) {
    int64_t v = inst_int(s->inst, key, 0);
    if (v >= 0 && v <= most) return true;
    return op_fail(s, ERR_ARG, ": %s=%lld is out of range", attr_info[key].name, (long long)v);
}

static bool need_edges(Infer *s) {
    return need_at_most(s, ATTR_EDGE, INT32_MAX) && need_at_most(s, ATTR_THRESHOLD, INT32_MAX);
}

/* For operations that print tensors as text. */
static bool need_format(Infer *s) {
    return need_attr(s, ATTR_FORMAT) && need_edges(s) && need_at_most(s, ATTR_PRECISION, 100) &&
           need_at_most(s, ATTR_SCI, 1) && need_at_most(s, ATTR_LINEWIDTH, INT32_MAX);
}

static bool need_signal_name(Infer *s) {
    const Attr *name = inst_attr(s->inst, ATTR_NAME);
    TRY(need_attr(s, ATTR_NAME));
    if (name->n > 0 && name->n <= MAX_SIGNAL && !memchr(name->str, 0, name->n)) return true;
    return op_fail(s, ERR_ARG, ": a name of 1 to %d bytes is needed", MAX_SIGNAL);
}

/* The settings of a signal; config.h reads them. */
static bool need_definition(Infer *s) {
    const Attr *axis = inst_attr(s->inst, ATTR_AXIS), *workers = inst_attr(s->inst, ATTR_WORKERS);
    TRY(need_signal_name(s));
    if (axis && (axis->n != 1 || axis->ints[0] < -MAX_DIMS || axis->ints[0] >= MAX_DIMS))
        return op_fail(s, ERR_ARG, ": axis is one number from %d to %d", -MAX_DIMS, MAX_DIMS - 1);
    for (uint32_t i = 0; workers && i < workers->n; i++) {
        int64_t w = workers->ints[i];
        if (w < 0 || w >= MAX_WORKERS)
            return op_fail(s, ERR_ARG, ": worker %lld is not from 0 to %d", (long long)w,
                           MAX_WORKERS - 1);
        for (uint32_t k = 0; k < i; k++)
            if (workers->ints[k] == w)
                return op_fail(s, ERR_ARG, ": worker %lld is named twice", (long long)w);
    }
    return true;
}

/* Checks operands and attributes. Reads s->in for `assert` and `shard` only, so that callers need
 * not look up the types of other operands, of which a `free` has thousands. */
bool infer_control(Infer *s) {
    const Inst *inst = s->inst;
    s->n_out = 0;
    switch (inst->op) {
    case OP_FETCH: return need_tensors(s, 1, 1);
    case OP_PEEK: return need_tensors(s, 1, 1) && need_edges(s);
    case OP_FREE: return need_tensors(s, 1, MAX_IN);
    case OP_PRINT:
    case OP_NOTE: return need_tensors(s, 0, MAX_IN) && need_format(s);
    case OP_WRITE: return need_tensors(s, 0, MAX_IN) && need_attr(s, ATTR_PATH) && need_format(s);
    case OP_ASSERT:
        TRY(need_tensors(s, 1, MAX_IN) && need_format(s));
        if (type_numel(&s->in[0]) == 1) return true;
        ShapeText text;
        return err_set(s->err, ERR_SHAPE, "assert needs a single value, not shape %s",
                       shape_text(&s->in[0], &text));
    case OP_SAVE: return need_tensors(s, 0, MAX_IN) && need_attr(s, ATTR_PATH) && need_keys(s);
    case OP_TRACK: return need_tensors(s, 0, MAX_IN) && need_keys(s);
    case OP_PLOT:
    case OP_HIST:
    case OP_IMAGE: return need_tensors(s, 1, MAX_IN) && need_keys(s);
    case OP_SHARD:
        TRY(need_tensors(s, 1, 1) && need_attr(s, ATTR_NAME));
        s->n_out = 1, s->out[0] = s->in[0];
        return true;
    case OP_SIGNAL_ENTER: return need_tensors(s, 0, 0) && need_signal_name(s);
    case OP_SIGNAL_DEFINE: return need_tensors(s, 0, 0) && need_definition(s);
    case OP_FILE:
        if (inst->n_in != 1) return wrong_count(s, 1, 1);
        if (inst->in[0].kind != IN_IMM_INT || inst->in[0].i < 0 || inst->in[0].i > UINT16_MAX)
            return err_set(s->err, ERR_ARG, "file takes a number from 0 to %d", UINT16_MAX);
        return need_attr(s, ATTR_NAME);
    case OP_BODY:
        if (inst->n_in < 1 || inst->n_in > 2) return wrong_count(s, 1, 2);
        for (int i = 0; i < inst->n_in; i++)
            if (inst->in[i].kind != IN_IMM_INT || inst->in[i].i < 0 ||
                (inst->n_in == 1) != (inst->payload != NULL))
                return err_set(s->err, ERR_ARG,
                               "body takes a number and the forms of instructions, or two numbers");
        return true;
    case OP_LOAD: return err_set(s->err, ERR_ARG, "load runs in the client and is never sent");
    case OP_VALUE: return err_set(s->err, ERR_ARG, "value is for the client and is never sent");
    case OP_ALL_GATHER:
    case OP_ALL_REDUCE:
    case OP_REDUCE_SCATTER:
    case OP_ALL_TO_ALL:
    case OP_MOVE: {
        Move m;
        TRY(move_read(inst, &m, s->err));
        s->n_out = 1, s->out[0] = m.type;
        return true;
    }
    default: return need_tensors(s, 0, 0); /* sync, signal exit, edge, check, scope, poison */
    }
}
