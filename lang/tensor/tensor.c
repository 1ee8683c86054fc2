/* tensor.c: the lifetime of tensors, and tensor_op, which every operation passes through: it finds
 * the common dtype, inserts casts as instructions, emits and records. The runtime infers shapes and
 * dtypes (stream_op calls it); this file adds what a user needs when that fails: carets on the
 * operands, where they were made, a hint. Elsewhere: shorthands (tensor_make.c), parameters
 * (tensor_param.c), indexing (index.c), gradient rules (lang/grad/).
 * SPDX-License-Identifier: MIT */
#include "lang/tensor/signal.h"
#include "lang/tensor/pair.h"
#include "lang/tensor/tensor.h"
#include "lang/tensor/autograd.h"
#include "runtime/inst/element.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- lifetime ---- */

Tensor *tensor_new(Interp *in, Handle *h) {
    Tape *tape = tape_of(in);
    Tensor *t = tape->free_tensors;
    if (t)
        tape->free_tensors = t->grad; /* the free list runs through grad */
    else
        t = xmalloc(sizeof *t);
    *t = (Tensor){.h = {.refs = 1, .kind = V_TENSOR}, .in = in, .handle = h};
    return t;
}

void tensor_free(Heap *h) {
    Tensor *t = (Tensor *)h;
    Interp *in = t->in;
    if (t->grad) tensor_unref(t->grad);
    if (t->pair) pair_free(in, &t->pair);
    if (t->node) {
        if (t->node->param == t) t->node->param = NULL;
        grad_node_unref(in, &t->node);
    }
    handle_unref(in->stream, &t->handle);
    Tape *tape = tape_of(in);
    t->grad = tape->free_tensors;
    tape->free_tensors = t;
}

void tensor_fini(Interp *in) {
    Tape *tape = in->tape;
    if (!tape) return;
    for (Tensor *t = tape->free_tensors, *next; t; t = next) next = t->grad, free(t);
    free(tape);
    in->tape = NULL;
}

/* ---- errors that point at operands ---- */

/* The position of operand i in the running expression, or a span without caret. */
static Span operand_span(const Interp *in, int i) {
    const Node *n = in->at;
    if (!n || !n->at.src || n->at.src->is_prelude) return (Span){0};
    if (n->kind == N_BINARY || n->kind == N_AUGASSIGN || n->kind == N_UNARY)
        return i < (int)n->n_kids ? n->kid[i]->whole : (Span){0};
    if (n->kind == N_CALL) {
        const Node *callee = n->kid[0];
        if (callee->kind == N_FIELD && i == 0) return callee->kid[0]->whole;
        int k = callee->kind == N_FIELD ? i : i + 1;
        if (k < (int)n->n_kids && n->kid[k]->kind != N_KEYWORD && n->kid[k]->kind != N_STAR)
            return n->kid[k]->whole;
    }
    return (Span){0};
}

/* The operand's name, if it is a plain name, for hints with code to copy. */
static const char *operand_name(const Interp *in, int i) {
    const Node *n = in->at;
    if (!n || (n->kind != N_BINARY && n->kind != N_AUGASSIGN) || i >= (int)n->n_kids ||
        n->kid[i]->kind != N_NAME)
        return NULL;
    return n->kid[i]->str;
}

static void label_made(const Interp *in, int i, const Tensor *t, LangError *e) {
    Span at = operand_span(in, i), made = t->handle->made;
    char shape[256];
    if (!at.src || !at.len) return;
    type_shape_text(tensor_type(t), shape);
    if (made.src && !made.src->is_prelude && made.line)
        error_label(e, at, "%s, made at %s:%u", shape, made.src->name, made.line);
    else
        error_label(e, at, "%s", shape);
}

static const Op oper_op[] = {
    [O_ADD] = OP_ADD,
    [O_SUB] = OP_SUB,
    [O_MUL] = OP_MUL,
    [O_DIV] = OP_DIV,
    [O_FLOORDIV] = OP_FLOORDIV,
    [O_MOD] = OP_MOD,
    [O_POW] = OP_POW,
    [O_MATMUL] = OP_MATMUL,
    [O_BITAND] = OP_AND,
    [O_BITOR] = OP_OR,
    [O_BITXOR] = OP_XOR,
    [O_SHL] = OP_SHL,
    [O_SHR] = OP_SHR,
    [O_EQ] = OP_EQ,
    [O_NE] = OP_NE,
    [O_LT] = OP_LT,
    [O_LE] = OP_LE,
    [O_GT] = OP_GT,
    [O_GE] = OP_GE,
};

/* The operator of an operation, or NULL. A shift is reported by its name. */
static const char *op_symbol(Op op) {
    for (size_t i = 0; i < sizeof oper_op / sizeof *oper_op; i++)
        if (oper_op[i] == op && op != OP_SHL && op != OP_SHR) return oper_text[i];
    return NULL;
}

/* The position of a new axis of size 1 in the smaller operand that makes the two broadcast, or
 * -1. */
static int fitting_axis(const TensorType *small, const TensorType *large) {
    if (small->rank >= large->rank) return -1;
    for (int axis = small->rank; axis >= 0; axis--) {
        TensorType t = {.dtype = small->dtype, .rank = (uint8_t)(small->rank + 1)}, both;
        for (int k = 0; k < t.rank; k++)
            t.shape[k] = k < axis ? small->shape[k] : k == axis ? 1 : small->shape[k - 1];
        if (shape_broadcast(&t, large, &both)) return axis;
    }
    return -1;
}

/* Reports two operands that do not broadcast: carets on both, the sizes that clash, and unsqueeze
 * if it helps. */
static void error_broadcast(Interp *in, Op op, const Arg *arg, int i, int j, LangError *e) {
    const TensorType *a = tensor_type(arg[i].t), *b = tensor_type(arg[j].t);
    char sa[256], sb[256];
    type_shape_text(a, sa), type_shape_text(b, sb);
    const char *symbol = op_symbol(op);
    if (symbol)
        error_set(e, "shapes do not broadcast: %s %s %s", sa, symbol, sb);
    else
        error_set(e, "shapes of '%s' do not broadcast: %s and %s", op_info[op].name, sa, sb);
    int64_t x = 0, y = 0;
    for (int k = 1; k <= a->rank && k <= b->rank; k++) {
        x = a->shape[a->rank - k], y = b->shape[b->rank - k];
        if (x != y && x != 1 && y != 1) break;
    }
    Span at_i = operand_span(in, i), at_j = operand_span(in, j);
    if (at_i.len && at_j.len) {
        error_label(e, at_j, "aligned right: %lld vs %lld", (long long)x, (long long)y);
        error_label(e, at_i, "%s", "");
    }
    int small = a->rank < b->rank ? i : j,
        axis = a->rank < b->rank ? fitting_axis(a, b) : fitting_axis(b, a);
    if (axis >= 0) {
        TensorType t = *tensor_type(arg[small].t);
        memmove(t.shape + axis + 1, t.shape + axis, (size_t)(t.rank - axis) * sizeof t.shape[0]);
        t.shape[axis] = 1, t.rank++;
        const char *name = operand_name(in, small);
        error_hint(e, "%s.unsqueeze(%d) makes %s", name ? name : "x", axis,
                   type_shape_text(&t, sa));
    } else if (a->rank > 1 && b->rank > 1) {
        TensorType t = *b, both;
        int64_t last = t.shape[t.rank - 1];
        t.shape[t.rank - 1] = t.shape[t.rank - 2], t.shape[t.rank - 2] = last;
        const char *name = operand_name(in, j);
        if (shape_broadcast(a, &t, &both))
            error_hint(e, "%s.T makes %s", name ? name : "right", type_shape_text(&t, sb));
    }
    error_locate(e, interp_span(in));
}

/* ---- dtypes ---- */

bool arg_from_value(Interp *in, Value v, Arg *out, LangError *e) {
    (void)in;
    switch (v.kind) {
    case V_TENSOR: *out = arg_tensor(v.tensor); return true;
    case V_INT: *out = arg_int(v.i); return true;
    case V_FLOAT: *out = arg_float(v.f); return true;
    case V_BOOL: *out = arg_bool(v.b); return true;
    default: break;
    }
    error_set(e, "expected a tensor or a number, got %s", value_type_name(v));
    if (v.kind == V_LIST || v.kind == V_RANGE) error_hint(e, "tensor([...]) makes one of a list");
    return false;
}

/* Host numbers are weak: they can only raise the category. */
static DType promote_imm(const Interp *in, DType d, const Operand *imm) {
    if (d == DT_NONE)
        return imm->kind == IN_IMM_FLOAT ? in->float_dtype
               : imm->kind == IN_IMM_INT ? DT_I64
                                         : DT_BOOL;
    if (imm->kind == IN_IMM_FLOAT && !dtype_is_float(d)) return in->float_dtype;
    return imm->kind == IN_IMM_INT && d == DT_BOOL ? DT_I64 : d;
}

/* The common dtype of operands first .. n-1; DT_NONE if there are none. */
static DType common_dtype(const Interp *in, const OpInfo *info, const Arg *arg, int first, int n) {
    DType d = DT_NONE;
    int rank = 0;
    for (int i = first; i < n; i++) {
        if (!arg[i].t) continue;
        const TensorType *t = tensor_type(arg[i].t);
        d = d == DT_NONE || d == t->dtype ? t->dtype
                                          : dtype_promote_ranked(d, rank, t->dtype, t->rank);
        if (t->rank > rank) rank = t->rank;
    }
    for (int i = first; i < n; i++)
        if (!arg[i].t) d = promote_imm(in, d, &arg[i].imm);
    if (d != DT_NONE && info->in == DSET_FLOAT && !dtype_is_float(d)) d = in->float_dtype;
    return d;
}

static bool imm_fits(Interp *in, Op op, DType d, Operand *imm, LangError *e) {
    if (imm->kind == IN_IMM_BOOL && d != DT_BOOL) *imm = (Operand){.kind = IN_IMM_INT, .i = imm->b};
    double f = imm->kind == IN_IMM_FLOAT ? imm->f : (double)imm->i;
    if (imm->kind == IN_IMM_BOOL || (dtype_is_half(d) && op_has(op, FACT_SCALES))) return true;
    if (dtype_is_float(d)) {
        if (dtype_holds_float(d, f)) return true;
        error_set(e, "%g does not fit into %s", f, dtype_info[d].name);
        error_hint(e, "x.float() first");
    } else if (imm->kind == IN_IMM_FLOAT) {
        return true; /* inference reports the error */
    } else if (dtype_holds_int(d, imm->i)) {
        if (op != OP_POW || imm->i >= 0) return true;
        error_set(e, "%s to a negative power is not a whole number", dtype_info[d].name);
        error_hint(e, "x.float() ** %lld", (long long)imm->i);
    } else {
        int64_t low, high;
        dtype_range(d, &low, &high);
        error_set(e, "%lld does not fit into %s (%lld to %lld)", (long long)imm->i,
                  dtype_info[d].name, (long long)low, (long long)high);
        error_hint(e, "x.to(int64) first");
    }
    return error_locate(e, interp_span(in));
}

/* ---- one op ---- */

/* The operands of an instruction under construction. made[i]: a cast, owned. */
enum { FEW = 6 };
typedef struct Prepared {
    int n;
    const Handle **place; /* of tensor_op_keep */
    Arg *arg;
    Operand *operand;
    const Handle **handle;
    Tensor **made;
    void *heap;
    Arg arg_[FEW];
    Operand operand_[FEW];
    const Handle *handle_[FEW];
    Tensor *made_[FEW];
} Prepared;

static void prepared_init(Prepared *p, const Arg *arg, int n, const Handle **place) {
    p->n = n, p->place = place, p->heap = NULL;
    p->arg = p->arg_, p->operand = p->operand_, p->handle = p->handle_, p->made = p->made_;
    if (n > FEW) {
        char *m = p->heap = xmalloc(
            (size_t)n * (sizeof(Arg) + sizeof(Operand) + sizeof(Handle *) + sizeof(Tensor *)));
        p->arg = (Arg *)m, m += (size_t)n * sizeof(Arg);
        p->operand = (Operand *)m, m += (size_t)n * sizeof(Operand);
        p->handle = (const Handle **)m, m += (size_t)n * sizeof(Handle *);
        p->made = (Tensor **)m;
    }
    for (int i = 0; i < n; i++) p->arg[i] = arg[i], p->made[i] = NULL;
}

static void prepared_fini(Prepared *p) {
    for (int i = 0; i < p->n; i++) tensor_unref(p->made[i]);
    free(p->heap);
}

static bool cast_operand(Interp *in, Prepared *p, int i, DType d, LangError *e) {
    if (d == DT_NONE || !p->arg[i].t || tensor_type(p->arg[i].t)->dtype == d) return true;
    Attr attr = attr_dtype(d);
    TRY(tensor_op_keep(in, OP_CAST, &p->arg[i], 1, &attr, 1, p->place, &p->made[i], e));
    p->arg[i].t = p->made[i];
    return true;
}

/* Casts the operands to the dtypes that the row requires. */
static bool promote(Interp *in, Op op, Prepared *p, LangError *e) {
    int value = op_takes(op), first = op_has(op, FACT_PICKS);
    if (value) return cast_operand(in, p, value, tensor_type(p->arg[0].t)->dtype, e);
    if (!op_has(op, FACT_PROMOTES)) return true;
    DType d = common_dtype(in, &op_info[op], p->arg, first, p->n);
    if (first && p->arg[0].t && tensor_type(p->arg[0].t)->dtype != DT_BOOL) {
        error_set(e, "the condition of where must be bool, not %s",
                  dtype_info[tensor_type(p->arg[0].t)->dtype].name);
        error_hint(e, "where(c != 0, a, b)");
        return error_locate(e, interp_span(in));
    }
    for (int i = first; i < p->n; i++) {
        if (p->arg[i].t)
            TRY(cast_operand(in, p, i, d, e));
        else
            TRY(imm_fits(in, op, d, &p->arg[i].imm, e));
    }
    return true;
}

/* where(c, 1, 2.0): no tensor operand gives the dtype, so one of the numbers is made a tensor. */
static bool where_of_numbers(Interp *in, Op op, Prepared *p, LangError *e) {
    if (!op_has(op, FACT_PICKS) || p->arg[1].t || p->arg[2].t) return true;
    DType d = promote_imm(in, promote_imm(in, DT_NONE, &p->arg[1].imm), &p->arg[2].imm);
    if (!(p->made[1] = tensor_full(in, NULL, 0, d, p->arg[1].imm, e))) return false;
    p->arg[1] = arg_tensor(p->made[1]);
    return true;
}

/* If inference failed because pointwise operands do not broadcast, replaces its error by one that
 * says which operands, with a hint. */
static void explain_broadcast(Interp *in, Op op, const Arg *arg, int n, LangError *e) {
    TensorType all, both;
    int last = -1;
    for (int i = 0; i < n; i++) {
        if (!arg[i].t) continue;
        both = *tensor_type(arg[i].t);
        if (last >= 0 && !shape_broadcast(&all, tensor_type(arg[i].t), &both)) {
            e->hint[0] = 0;
            error_broadcast(in, op, arg, last, i, e);
            return;
        }
        all = both, last = i;
    }
}

/* Copies attributes to `more`, unless they are there, and adds one. */
static void add_attr(Attr a, const Attr **attr, int *n_attr, Attr *more) {
    if (*n_attr && *attr != more) memcpy(more, *attr, sizeof **attr * (size_t)*n_attr);
    more[(*n_attr)++] = a;
    *attr = more;
}

/* In p op= e, intermediate results of p's shape get p's layout: adds an attribute that says so. */
static void add_keep(Op op, const Prepared *p, const Attr **attr, int *n_attr, Attr *more) {
    TensorType few[FEW], out[MAX_OUT];
    int n_out;
    Inst inst = {.op = op,
                 .n_in = (uint16_t)p->n,
                 .in = p->operand,
                 .n_attr = (uint16_t)*n_attr,
                 .attr = *attr};
    if (!op_has(op, FACT_KEEPS) || p->n > FEW || *n_attr >= MAX_ATTRS) return;
    for (int i = 0; i < p->n; i++)
        if (p->handle[i]) few[i] = p->handle[i]->type;
    if (!inst_infer(&inst, few, out, &n_out, &(Err){0}) || out[0].rank != few[0].rank ||
        memcmp(out[0].shape, few[0].shape, sizeof(int64_t) * out[0].rank))
        return;
    add_attr(attr_bool(ATTR_KEEP, true), attr, n_attr, more);
}

/* set_precision: adds what products of floats are allowed. */
static void add_allow(const Interp *in, const Prepared *p, const Attr **attr, int *n_attr,
                      Attr *more) {
    if (!p->arg[0].t || !dtype_is_float((DType)tensor_type(p->arg[0].t)->dtype)) return;
    Attr allow = {.key = ATTR_ALLOW, .n = (uint32_t)strlen(in->allow), .str = in->allow};
    add_attr(allow, attr, n_attr, more);
}

bool tensor_op_keep(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr,
                    const Handle **place, Tensor **out, LangError *e) {
    Prepared p;
    Handle *h[MAX_OUT] = {0};
    int n_out = 0;
    bool ok = false;
    prepared_init(&p, arg, n_args, place);
    if (!where_of_numbers(in, op, &p, e) || !promote(in, op, &p, e)) goto done;
    for (int i = 0; i < n_args; i++) {
        p.handle[i] = p.arg[i].t ? p.arg[i].t->handle : NULL;
        p.operand[i] = p.arg[i].t ? operand_of(p.arg[i].t->handle) : p.arg[i].imm;
    }
    Attr more[MAX_ATTRS];
    const Attr *all = attr;
    int n_all = n_attr;
    if (place && p.handle[0] == *place) add_keep(op, &p, &all, &n_all, more);
    bool keeps = n_all > n_attr;
    if (in->allow && op == OP_MATMUL) add_allow(in, &p, &all, &n_all, more);
    if (!stream_op(in->stream, op, p.operand, p.handle, n_args, all, n_all, interp_span(in), h,
                   &n_out, e)) {
        bool is_about_them = e->kind == E_RUN && !e->n_labels;
        if (op == OP_MATMUL && n_args == 2 && p.arg[0].t && p.arg[1].t && is_about_them) {
            label_made(in, 1, p.arg[1].t, e);
            label_made(in, 0, p.arg[0].t, e);
        }
        if (e->kind == E_RUN && in->at && in->at->at.src && in->at->at.src->is_prelude)
            e->hint[0] = 0; /* the hint is about operands inside the prelude */
        if (op_info[op].class_ == CLASS_MAP && is_about_them)
            explain_broadcast(in, op, arg, n_args, e);
        goto done;
    }
    if (keeps) *place = h[0];
    for (int i = 0; i < n_out; i++) out[i] = tensor_new(in, h[i]);
    if (in->signals) signal_made(in, tensor_type(out[0])->rank);
    if (grad_is_on(in)) grad_record(in, op, p.arg, n_args, attr, n_attr, out, n_out);
    ok = true;
done:
    prepared_fini(&p);
    return ok;
}

bool tensor_op(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr,
               Tensor **out, LangError *e) {
    return tensor_op_keep(in, op, arg, n_args, attr, n_attr, NULL, out, e);
}

/* ---- operators ---- */

bool tensor_binary(Interp *in, int oper, Value a, Value b, const Handle **place, Value *out,
                   LangError *e) {
    Arg arg[2];
    Tensor *t;
    if (oper == O_IN || oper == O_NOT_IN) {
        error_set(e, "'in' does not look into tensors");
        return error_hint(e, "any(x == v)");
    }
    if (oper == O_EQ || oper == O_NE) { /* different types: unequal, a plain bool */
        Value other = a.kind == V_TENSOR ? b : a;
        if (other.kind != V_TENSOR && !value_is_number(other))
            return *out = v_bool(oper == O_NE), true;
    }
    assert((size_t)oper < sizeof oper_op / sizeof oper_op[0]);
    Value sides[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        if (arg_from_value(in, sides[i], &arg[i], e)) continue;
        return error_set(e, "cannot use %s with a tensor: '%s' needs tensors or numbers",
                         value_type_name(sides[i]), oper_text[oper]);
    }
    if (oper == O_MATMUL) {
        if (!arg[0].t || !arg[1].t) {
            error_set(e, "'@' multiplies tensors, not numbers");
            return error_hint(e, "use *");
        }
        TRY(tensor_matmul(in, arg[0].t, arg[1].t, DT_NONE, place, &t, e));
    } else
        TRY(tensor_op_keep(in, oper_op[oper], arg, 2, NULL, 0, place, &t, e));
    *out = v_tensor(t);
    return true;
}

bool tensor_unary(Interp *in, int oper, Value a, Value *out, LangError *e) {
    Arg arg = arg_tensor(a.tensor);
    Tensor *t;
    if (oper == O_POS) return *out = v_tensor(tensor_value(tensor_ref(a.tensor))), true;
    assert(oper == O_NEG || oper == O_INVERT);
    TRY(tensor_op(in, oper == O_NEG ? OP_NEG : OP_NOT, &arg, 1, NULL, 0, &t, e));
    *out = v_tensor(t);
    return true;
}

/* The op itself needs rank 2 or more: a vector becomes a row or column first, and the axis is
 * removed afterwards. */
bool tensor_matmul(Interp *in, Tensor *a, Tensor *b, DType wide, const Handle **place, Tensor **out,
                   LangError *e) {
    const TensorType *ta = tensor_type(a), *tb = tensor_type(b);
    char sa[256], sb[256];
    Attr attr = attr_dtype(wide);
    int n_attr = wide != DT_NONE;
    if (!ta->rank || !tb->rank || (ta->rank > 1 && tb->rank > 1)) {
        Arg arg[2] = {arg_tensor(a), arg_tensor(b)};
        if (ta->rank && tb->rank)
            return tensor_op_keep(in, OP_MATMUL, arg, 2, &attr, n_attr, place, out, e);
        error_set(e, "cannot multiply %s @ %s: a single number has no axes",
                  type_shape_text(ta, sa), type_shape_text(tb, sb));
        return error_hint(e, "use *");
    }
    int64_t K = ta->shape[ta->rank - 1], Kb = tb->shape[tb->rank > 1 ? tb->rank - 2 : 0];
    if (K != Kb) {
        error_set(e, "cannot multiply %s @ %s: inner sizes %lld and %lld differ",
                  type_shape_text(ta, sa), type_shape_text(tb, sb), (long long)K, (long long)Kb);
        label_made(in, 1, b, e);
        label_made(in, 0, a, e);
        return error_locate(e, interp_span(in));
    }
    int64_t row[2] = {1, K}, column[2] = {K, 1};
    Tensor *x = ta->rank == 1 ? tensor_reshape(in, a, row, 2, e) : tensor_ref(a);
    Tensor *y = x ? tb->rank == 1 ? tensor_reshape(in, b, column, 2, e) : tensor_ref(b) : NULL,
           *p = NULL;
    Arg arg[2] = {arg_tensor(x), arg_tensor(y)};
    *out = NULL;
    if (y && tensor_op(in, OP_MATMUL, arg, 2, &attr, n_attr, &p, e)) {
        TensorType t = *tensor_type(p);
        if (ta->rank == 1) t.shape[t.rank - 2] = t.shape[t.rank - 1], t.rank--;
        if (tb->rank == 1) t.rank--;
        *out = tensor_reshape(in, p, t.shape, t.rank, e);
    }
    tensor_unref(x), tensor_unref(y), tensor_unref(p);
    return *out != NULL;
}
