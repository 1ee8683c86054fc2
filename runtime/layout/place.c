/* place.c: see place.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/layout/nodes.h"
#include "runtime/layout/place.h"
#include <stdio.h>
#include <string.h>

int group_place(const Group *g, int rank) {
    for (int i = 0; i < g->n; i++)
        if (g->rank[i] == rank) return i;
    return -1;
}

/* ---- Writing ---- */

/* Writes the attributes of a layout. Returns their number (0 or 1). */
static int put_layout(const Layout *l, AttrKey split, AttrKey partial, int64_t *room, char *text,
                      Attr *attr) {
    if (l->kind == LAYOUT_SPLIT) {
        room[0] = l->axis, room[1] = l->block, room[2] = l->begin;
        *attr = (Attr){.key = (uint8_t)split, .n = l->begin ? 3 : 2, .ints = room};
        return 1;
    }
    if (l->kind == LAYOUT_PARTIAL) {
        const char *name = op_info[l->op].name;
        if (l->block) {
            snprintf(text, PARTIAL_TEXT, "%s %d %lld %lld", name, 1 << l->axis, (long long)l->block,
                     (long long)l->begin);
            name = text;
        }
        *attr = (Attr){.key = (uint8_t)partial, .n = (uint32_t)strlen(name), .str = name};
        return 1;
    }
    return 0;
}

bool inst_locate(const Inst *inst, uint32_t group, const Layout *layout, Located *out) {
    if (inst->n_attr + 2 > MAX_ATTRS) return false;
    out->inst = *inst;
    out->inst.attr = out->attr;
    int n = inst->n_attr;
    if (n) memcpy(out->attr, inst->attr, (size_t)n * sizeof inst->attr[0]);
    out->attr[n++] = (Attr){.key = ATTR_ON, .i = group};
    n += put_layout(layout, ATTR_SPLIT, ATTR_PARTIAL, out->split, out->partial, &out->attr[n]);
    out->inst.n_attr = (uint16_t)n;
    return true;
}

/* ---- Reading ---- */

bool inst_is_located(const Inst *inst) {
    for (int i = 0; i < inst->n_attr; i++) switch (inst->attr[i].key) {
        case ATTR_ON:
        case ATTR_SPLIT:
        case ATTR_PARTIAL:
        case ATTR_FROM:
        case ATTR_FROM_SPLIT:
        case ATTR_FROM_PARTIAL:
        case ATTR_WINDOW: return true;
        default: break;
        }
    return false;
}

/* Reads "sum", or of nodes "sum LEAF BLOCK EXTENT". */
static bool read_partial(const Inst *inst, const Attr *p, AttrKey key, Layout *l, Err *err) {
    const char *space = memchr(p->str, ' ', p->n);
    Op op = op_find(p->str, space ? (uint32_t)(space - p->str) : p->n);
    if (op == OP_COUNT || op_info[op].class_ != CLASS_REDUCE)
        return err_set(err, ERR_ARG, "%s: %s is not a reduction", op_info[inst->op].name,
                       attr_info[key].name);
    *l = layout_partial(op);
    if (!space) return true;
    char text[PARTIAL_TEXT];
    long long leaf, block, extent;
    uint32_t n = p->n - (uint32_t)(space - p->str);
    if (n >= sizeof text) n = sizeof text - 1;
    memcpy(text, space, n);
    text[n] = 0;
    if (sscanf(text, " %lld %lld %lld", &leaf, &block, &extent) != 3 || leaf < 1 ||
        leaf > 1 << 20 || (leaf & (leaf - 1)) || block < leaf || block % leaf ||
        block > MAX_NUMEL || extent < 1 || extent > MAX_NUMEL)
        return err_set(err, ERR_ARG, "%s: %s names no nodes", op_info[inst->op].name,
                       attr_info[key].name);
    *l = nodes_layout(op, leaf, block, extent);
    return true;
}

static bool read_layout(const Inst *inst, AttrKey split, AttrKey partial, Layout *l, Err *err) {
    const Attr *s = inst_attr(inst, split), *p = inst_attr(inst, partial);
    *l = layout_replicate();
    if (s && p) return err_set(err, ERR_ARG, "%s: both split and partial", op_info[inst->op].name);
    if (s) {
        bool may_begin = split == ATTR_SPLIT && op_is_move(inst->op);
        int64_t begin = s->n == 3 ? s->ints[2] : 0;
        if (s->n < 2 || s->n > (may_begin ? 3 : 2) || s->ints[0] < 0 || s->ints[0] >= MAX_DIMS ||
            s->ints[1] < 1)
            return err_set(err, ERR_ARG, "%s: %s takes an axis and a block of at least 1",
                           op_info[inst->op].name, attr_info[split].name);
        if (begin < -MAX_NUMEL || begin > MAX_NUMEL)
            return err_set(err, ERR_ARG, "%s: %s begins out of range", op_info[inst->op].name,
                           attr_info[split].name);
        *l = (Layout){
            .kind = LAYOUT_SPLIT, .axis = (uint8_t)s->ints[0], .block = s->ints[1], .begin = begin};
    } else if (p) {
        return read_partial(inst, p, partial, l, err);
    }
    return true;
}

static bool read_group(const Inst *inst, AttrKey key, uint32_t *group, Err *err) {
    int64_t g = inst_int(inst, key, 0);
    if (g < 0 || g > UINT32_MAX)
        return err_set(err, ERR_ARG, "%s: %s=%lld is not a group", op_info[inst->op].name,
                       attr_info[key].name, (long long)g);
    *group = (uint32_t)g;
    return true;
}

bool inst_place(const Inst *inst, Place *out, Err *err) {
    return read_group(inst, ATTR_ON, &out->group, err) &&
           read_layout(inst, ATTR_SPLIT, ATTR_PARTIAL, &out->layout, err);
}

/* ---- Moves ---- */

Op move_op(const Move *m) {
    const Layout *from = &m->from.layout, *to = &m->to.layout;
    if (m->from.group != m->to.group) return OP_MOVE;
    if (from->kind == LAYOUT_PARTIAL) {
        if (to->kind == LAYOUT_PARTIAL) return OP_MOVE;
        return to->kind == LAYOUT_SPLIT ? OP_REDUCE_SCATTER : OP_ALL_REDUCE;
    }
    if (from->kind != LAYOUT_SPLIT || to->kind == LAYOUT_PARTIAL) return OP_MOVE;
    return to->kind == LAYOUT_SPLIT ? OP_ALL_TO_ALL : OP_ALL_GATHER;
}

void move_inst(const Move *m, SrcPos pos, MoveInst *out) {
    int n = 0;
    out->in = (Operand){.kind = IN_TENSOR, .id = m->in};
    out->attr[n++] = (Attr){.key = ATTR_ON, .i = m->to.group};
    n += put_layout(&m->to.layout, ATTR_SPLIT, ATTR_PARTIAL, out->split, out->partial,
                    &out->attr[n]);
    out->attr[n++] = (Attr){.key = ATTR_FROM, .i = m->from.group};
    n += put_layout(&m->from.layout, ATTR_FROM_SPLIT, ATTR_FROM_PARTIAL, out->from_split,
                    out->from_partial, &out->attr[n]);
    memcpy(out->shape, m->type.shape, sizeof out->shape);
    out->attr[n++] = (Attr){.key = ATTR_SHAPE, .n = m->type.rank, .ints = out->shape};
    out->attr[n++] = (Attr){.key = ATTR_DTYPE, .dtype = (DType)m->type.dtype};
    out->inst = (Inst){.op = move_op(m),
                       .n_in = 1,
                       .n_attr = (uint16_t)n,
                       .n_out = 1,
                       .pos = pos,
                       .out = {m->out},
                       .in = &out->in,
                       .attr = out->attr};
}

static bool layout_fits(const Inst *inst, const Layout *l, const TensorType *t, Err *err) {
    if (layout_is_stacked(l) && t->rank >= MAX_DIMS)
        return err_set(err, ERR_ARG, "%s: too many axes for nodes", op_info[inst->op].name);
    return l->kind != LAYOUT_SPLIT || l->axis < t->rank ||
           err_set(err, ERR_ARG, "%s: no axis %d to split along", op_info[inst->op].name, l->axis);
}

bool move_read(const Inst *inst, Move *out, Err *err) {
    const char *name = op_info[inst->op].name;
    *out = (Move){0};
    if (!op_is_move(inst->op) || inst->n_in != 1 || inst->in[0].kind != IN_TENSOR ||
        inst->n_out != 1)
        return err_set(err, ERR_ARG, "%s moves one tensor", name);
    out->in = inst->in[0].id, out->out = inst->out[0];
    const Attr *shape = inst_attr(inst, ATTR_SHAPE), *dtype = inst_attr(inst, ATTR_DTYPE);
    if (!shape || shape->n > MAX_DIMS || !dtype || dtype->dtype >= DT_COUNT)
        return err_set(err, ERR_ARG, "%s needs shape and dtype", name);
    out->type = (TensorType){.dtype = (uint8_t)dtype->dtype, .rank = (uint8_t)shape->n};
    int64_t numel = 1;
    for (uint32_t d = 0; d < shape->n; d++) {
        int64_t n = shape->ints[d];
        if (n < 0 || (n > 0 && numel > MAX_NUMEL / n))
            return err_set(err, ERR_ARG, "%s: an extent out of range", name);
        out->type.shape[d] = n;
        numel *= n > 0 ? n : 1;
    }
    TRY(inst_place(inst, &out->to, err) && read_group(inst, ATTR_FROM, &out->from.group, err));
    TRY(read_layout(inst, ATTR_FROM_SPLIT, ATTR_FROM_PARTIAL, &out->from.layout, err));
    if (!out->to.group || !out->from.group)
        return err_set(err, ERR_ARG, "%s needs on and from", name);
    return layout_fits(inst, &out->from.layout, &out->type, err) &&
           layout_fits(inst, &out->to.layout, &out->type, err);
}
