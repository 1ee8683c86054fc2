/* locate.c: instructions of which several ranks execute their parts. A tensor on a group of several
 * ranks has, beside the view of its local part, the type and layout of the whole. The dispatcher
 * lays operands out such that their parts fit. This file checks that: inference runs on the wholes
 * and on the parts, and the results must agree. On a group of one rank nothing of this runs.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/locate.h"
#include "runtime/inst/reduction.h"

const Group *locate_group(const Exec *x, uint32_t id) { return map_get(&x->groups, id); }

bool locate_begin(Exec *x, Job *j, Err *err) {
    Place place;
    if (op_is_move(j->inst.op)) return true; /* a move has two places; move.c reads them */
    TRY(inst_place(&j->inst, &place, err));
    const Group *g = locate_group(x, place.group);
    if (!g)
        return err_set(err, ERR_INTERNAL, "%s: group %u is not known here",
                       op_info[j->inst.op].name, place.group);
    int at = group_place(g, (int)x->rank);
    if (at < 0) return false;
    if (op_is_effect(j->inst.op) && at > 0) return false; /* one answer is enough */
    j->group = place.group;
    if (g->n == 1) return true;
    Part *p = j->part = arena_alloc(&j->frame->arena, sizeof *p);
    *p = (Part){.place = place, .group = g, .at = at};
    return true;
}

/* Writes the wholes' types of the operands to x->wholes. Returns true if one is split. */
static bool gather_wholes(Exec *x, const Inst *in) {
    bool differs = false;
    for (int i = 0; i < in->n_in; i++) {
        if (in->in[i].kind != IN_TENSOR) continue;
        const Whole *w = x->in[i]->whole;
        x->wholes[i] = w ? w->type : x->types[i];
        differs |= w && w->layout.kind == LAYOUT_SPLIT;
    }
    return differs;
}

/* Returns the instruction with local sizes in its attributes; j->inst if they do not change. */
static const Inst *localise(Exec *x, Job *j) {
    const Inst *in = &j->inst;
    const Part *p = j->part;
    const Layout *give = &p->place.layout;
    static const Layout whole;
    bool has_first = in->n_in > 0 && in->in[0].kind == IN_TENSOR && x->in[0]->whole;
    const Layout *need = has_first ? &x->in[0]->whole->layout : &whole;
    bool has_sizes = op_info[in->op].class_ == CLASS_SOURCE || inst_attr(in, ATTR_SHAPE) ||
                     inst_attr(in, ATTR_SIZE) || inst_attr(in, ATTR_GROUPS);
    if (!layout_is_stacked(give) && (give->kind != LAYOUT_SPLIT || !has_sizes)) return in;
    LocalInst *l = arena_alloc(&j->frame->arena, sizeof *l);
    layout_localise(in, &x->wholes[0], need, &p->whole[0], give, p->at, l);
    return &l->inst;
}

static bool makes_nodes(Op op) { return op == OP_MATMUL || op_info[op].class_ == CLASS_REDUCE; }

/* Checks that a split result has the axis along which it is split, and one of nodes room for
 * theirs. */
static bool fits(const Inst *in, const Layout *l, const TensorType *t, Err *err) {
    if (layout_is_stacked(l) && (t->rank == MAX_DIMS || !makes_nodes(in->op)))
        return err_set(err, ERR_INTERNAL, "%s: terms of several nodes", op_info[in->op].name);
    return l->kind != LAYOUT_SPLIT || l->axis < t->rank ||
           err_set(err, ERR_INTERNAL, "%s: no axis %d to split along", op_info[in->op].name,
                   l->axis);
}

/* Infers the types of the parts, of nodes that of one. If inference refuses parts although it
 * accepted the wholes, one is empty: the local result is the neutral element (is_neutral) or has no
 * elements (is_empty). */
static bool infer_parts(Exec *x, Job *j, const TensorType *types, int n_out, Err *err) {
    Part *p = j->part;
    TensorType out[MAX_OUT];
    int n;
    Err refused = {0};
    bool is_term =
        op_info[j->inst.op].class_ == CLASS_REDUCE && p->place.layout.kind == LAYOUT_PARTIAL;
    if (!inst_infer(j->call.inst, x->types, out, &n, &refused)) {
        p->is_neutral = is_term && type_numel(&x->types[0]) == 0;
        p->is_empty = true;
        for (int k = 0; k < n_out; k++) p->is_empty &= type_numel(&types[k]) == 0;
        if (p->is_neutral || p->is_empty) return true;
        if (err) *err = refused;
        return false;
    }
    for (int k = 0; k < n_out; k++) {
        char got[256], want[256];
        const TensorType *one = layout_is_stacked(&p->place.layout) ? &p->whole[k] : &types[k];
        if (n == n_out && type_equal(&out[k], one)) continue;
        return err_set(err, ERR_INTERNAL, "%s: the part here is %s, but should be %s",
                       op_info[j->inst.op].name, type_text(&out[k], got),
                       type_text(&types[k], want));
    }
    return true;
}

bool locate_infer(Exec *x, Job *j, TensorType *types, int *n_out, Err *err) {
    Part *p = j->part;
    const Layout *give = &p->place.layout;
    bool differs = gather_wholes(x, &j->inst);
    TRY(inst_infer(&j->inst, x->wholes, p->whole, n_out, err));
    for (int k = 0; k < *n_out; k++) {
        TRY(fits(&j->inst, give, &p->whole[k], err));
        types[k] = layout_local(give, &p->whole[k], p->at);
    }
    if (j->inst.op == OP_DATA) return true; /* exec_copy_payload takes the local rows */
    if (!differs && give->kind != LAYOUT_SPLIT) return true;
    j->call.inst = localise(x, j);
    return infer_parts(x, j, types, *n_out, err);
}

void locate_neutral(Job *j, Op row, const TensorType *type) {
    struct {
        Inst inst;
        Attr attr[2];
        TensorType type;
        Operand value;
    } *full = arena_alloc(&j->frame->arena, sizeof *full);
    full->type = *type;
    full->attr[0] = (Attr){.key = ATTR_SHAPE, .n = type->rank, .ints = full->type.shape};
    full->attr[1] = (Attr){.key = ATTR_DTYPE, .dtype = (DType)type->dtype};
    full->inst = (Inst){.op = OP_FULL,
                        .n_in = 1,
                        .n_attr = 2,
                        .n_out = 1,
                        .out = {j->inst.out[0]},
                        .in = &full->value,
                        .attr = full->attr};
    bool is_real = dtype_is_float((DType)type->dtype);
    View *v = &j->view_few[0];
    *v = (View){.is_scalar = true, .data = &j->imm[0]};
    v->type.dtype = is_real ? DT_F64 : DT_I64;
    if (is_real) {
        full->value = (Operand){.kind = IN_IMM_FLOAT, .f = op_neutral(row)};
        j->imm[0].f = full->value.f;
    } else {
        full->value = (Operand){.kind = IN_IMM_INT, .i = op_neutral_int(row, (DType)type->dtype)};
        j->imm[0].i = full->value.i;
    }
    j->call.inst = &full->inst;
    j->call.in = j->view_few;
    j->call.n_in = 1;
    j->n_held = 0; /* the operands are not read */
    j->n_unstarted = 0;
}
