/* layout.c: see layout.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/layout/nodes.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

bool layout_equal(const Layout *a, const Layout *b) {
    if (a->kind != b->kind) return false;
    if (a->kind == LAYOUT_SPLIT) {
        return a->axis == b->axis && a->block == b->block && a->begin == b->begin;
    }
    return a->kind == LAYOUT_REPLICATE ||
           (a->op == b->op && a->axis == b->axis && a->block == b->block && a->begin == b->begin);
}

void layout_rows(const Layout *l, const TensorType *t, int i, int64_t *begin, int64_t *end) {
    int64_t extent = t->shape[l->axis], after = extent - l->begin;
    /* Past the end all parts are empty, so i * block is computed only where it cannot overflow. */
    bool has_rows = after > 0 && l->block > 0 && i <= after / l->block;
    int64_t row = has_rows ? l->begin + i * l->block : extent;
    *end = extent - row > l->block ? row + l->block : extent;
    *begin = row > 0 ? row : 0;
    if (*end < 0) *end = 0;
}

TensorType layout_local(const Layout *l, const TensorType *t, int i) {
    TensorType local = *t;
    int64_t begin, end;
    if (layout_is_stacked(l)) {
        assert(t->rank < MAX_DIMS);
        local.rank++;
        memcpy(local.shape + 1, t->shape, t->rank * sizeof t->shape[0]);
        local.shape[0] = nodes_of(l, i, NULL);
    }
    if (l->kind != LAYOUT_SPLIT) return local;
    layout_rows(l, t, i, &begin, &end);
    local.shape[l->axis] = end - begin;
    return local;
}

const char *layout_text(const Layout *l, char *buf) {
    if (l->kind == LAYOUT_SPLIT && l->begin)
        snprintf(buf, LAYOUT_TEXT, "split %d / %lld from %lld", l->axis, (long long)l->block,
                 (long long)l->begin);
    else if (l->kind == LAYOUT_SPLIT)
        snprintf(buf, LAYOUT_TEXT, "split %d / %lld", l->axis, (long long)l->block);
    else if (l->kind == LAYOUT_PARTIAL && l->block)
        snprintf(buf, LAYOUT_TEXT, "partial %s %lld of %lld", op_info[l->op].name,
                 (long long)l->block, (long long)l->begin);
    else if (l->kind == LAYOUT_PARTIAL)
        snprintf(buf, LAYOUT_TEXT, "partial %s", op_info[l->op].name);
    else
        snprintf(buf, LAYOUT_TEXT, "replicate");
    return buf;
}

/* ---- Regions and pulls ---- */

Region layout_region(const Layout *l, const TensorType *t, int i) {
    Region r = {{0}, {0}};
    for (int d = 0; d < t->rank; d++) r.size[d] = t->shape[d];
    if (l->kind == LAYOUT_SPLIT) {
        int64_t end;
        layout_rows(l, t, i, &r.begin[l->axis], &end);
        r.size[l->axis] = end - r.begin[l->axis];
    }
    return r;
}

uint64_t region_bytes(const Region *r, const TensorType *t) {
    uint64_t n = (uint64_t)dtype_info[t->dtype].size_bytes;
    for (int d = 0; d < t->rank; d++) n *= (uint64_t)r->size[d];
    return n;
}

static bool region_is_empty(const Region *r, const TensorType *t) {
    return region_bytes(r, t) == 0;
}

/* The rows that both have, along one axis. */
static bool region_meet(const Region *a, const Region *b, int axis, Region *out) {
    *out = *a;
    int64_t begin = a->begin[axis] > b->begin[axis] ? a->begin[axis] : b->begin[axis];
    int64_t end_a = a->begin[axis] + a->size[axis], end_b = b->begin[axis] + b->size[axis];
    int64_t end = end_a < end_b ? end_a : end_b;
    out->begin[axis] = begin;
    out->size[axis] = end - begin;
    return end > begin;
}

bool layout_pull(const Layout *from, int n_from, const Layout *to, int n_to, int i, bool same,
                 const TensorType *t, int k, Region *out) {
    assert(n_from > 0 && i < n_to && k < n_from);
    *out = layout_region(to, t, i);
    if (region_is_empty(out, t)) return false;
    if (from->kind == LAYOUT_PARTIAL) {
        if (same && layout_equal(from, to)) return k == i;
        if (from->block && k > (from->begin - 1) / from->block) return false;
        return to->kind != LAYOUT_PARTIAL || i == 0;
    }
    if (to->kind == LAYOUT_PARTIAL && i != 0) return false;
    if (from->kind == LAYOUT_REPLICATE) return k == (same ? i : i % n_from);
    Region mine = *out, theirs = layout_region(from, t, k);
    return region_meet(&mine, &theirs, from->axis, out) && !region_is_empty(out, t);
}

/* ---- Instructions ---- */

static void set_ints(LocalInst *l, AttrKey key, const int64_t *ints, uint32_t n) {
    int k = 0;
    while (k < l->inst.n_attr && l->attr[k].key != key) k++;
    assert(k < MAX_ATTRS);
    if (k == l->inst.n_attr) l->inst.n_attr++;
    l->attr[k] = (Attr){.key = (uint8_t)key, .n = n, .ints = ints};
}

/* Rank i's rows of the result, as a slice of its rows of the operand. */
static void localise_slice(const Inst *inst, const TensorType *in, const Layout *need,
                           const TensorType *out, const Layout *give, int i, LocalInst *local) {
    const Attr *size = inst_attr(inst, ATTR_SIZE), *start = inst_attr(inst, ATTR_START);
    int64_t begin, end, before = 0, unused;
    int a = give->axis;
    layout_rows(give, out, i, &begin, &end);
    if (need->kind == LAYOUT_SPLIT) layout_rows(need, in, i, &before, &unused);
    memcpy(local->size, size->ints, size->n * sizeof size->ints[0]);
    memcpy(local->start, start->ints, start->n * sizeof start->ints[0]);
    local->size[a] = end - begin;
    local->start[a] += begin * inst_attr(inst, ATTR_STEP)->ints[a] - before;
    if (begin == end) local->start[a] = 0;
    set_ints(local, ATTR_SIZE, local->size, size->n);
    set_ints(local, ATTR_START, local->start, start->n);
}

/* Selects the values that go to rank i's rows of the operand. Precondition: the operand's block is
 * a multiple of the step. */
static void localise_slice_put(const Inst *inst, const TensorType *x, const Layout *give, int i,
                               LocalInst *local) {
    const Attr *size = inst_attr(inst, ATTR_SIZE), *start = inst_attr(inst, ATTR_START);
    int64_t step = inst_attr(inst, ATTR_STEP)->ints[give->axis], row, unused, begin, end;
    int a = give->axis;
    Layout part = {.kind = LAYOUT_SPLIT, .axis = (uint8_t)a, .block = give->block / step};
    part.begin = -(start->ints[a] / step);
    TensorType values = *x;
    values.shape[a] = size->ints[a];
    layout_rows(give, x, i, &row, &unused);
    layout_rows(&part, &values, i, &begin, &end);
    memcpy(local->size, size->ints, size->n * sizeof size->ints[0]);
    memcpy(local->start, start->ints, start->n * sizeof start->ints[0]);
    local->size[a] = end - begin;
    local->start[a] += begin * step - row;
    if (begin == end) local->start[a] = 0;
    set_ints(local, ATTR_SIZE, local->size, size->n);
    set_ints(local, ATTR_START, local->start, start->n);
}

/* Groups of a convolution that is split along channels: rank i has whole groups. */
static void localise_groups(const Inst *inst, const TensorType *out, const Layout *give, int i,
                            LocalInst *local) {
    int64_t groups = inst_int(inst, ATTR_GROUPS, 1);
    int channels = inst->op == OP_CONV_DW ? 0 : 1;
    if (groups == 1 || give->axis != channels) return;
    int64_t rows = layout_local(give, out, i).shape[channels], all = out->shape[channels];
    for (int k = 0; k < local->inst.n_attr; k++)
        if (local->attr[k].key == ATTR_GROUPS) local->attr[k].i = all ? rows / (all / groups) : 1;
}

void layout_localise(const Inst *inst, const TensorType *in, const Layout *need,
                     const TensorType *out, const Layout *give, int i, LocalInst *local) {
    local->inst = *inst;
    if (inst->n_attr) memcpy(local->attr, inst->attr, inst->n_attr * sizeof inst->attr[0]);
    local->inst.attr = local->attr;
    if (layout_is_stacked(give)) {
        SumNode node[NODES_MAX];
        int n = nodes_of(give, i, node);
        for (int k = 0; k < n; k++) local->nodes[k] = node[k].n;
        set_ints(local, ATTR_NODES, local->nodes, (uint32_t)n);
    }
    if (give->kind != LAYOUT_SPLIT) return;
    if (inst_attr(inst, ATTR_SHAPE)) {
        TensorType part = layout_local(give, out, i);
        memcpy(local->shape, part.shape, sizeof part.shape);
        set_ints(local, ATTR_SHAPE, local->shape, part.rank);
    }
    switch (inst->op) {
    case OP_SLICE: localise_slice(inst, in, need, out, give, i, local); break;
    case OP_SLICE_PUT: localise_slice_put(inst, in, give, i, local); break;
    case OP_CONV:
    case OP_CONV_DX:
    case OP_CONV_DW: localise_groups(inst, out, give, i, local); break;
    default: break;
    }
    if (op_info[inst->op].class_ == CLASS_SOURCE) {
        int64_t end;
        local->window[0] = give->axis;
        layout_rows(give, out, i, &local->window[1], &end);
        local->window[2] = out->shape[give->axis];
        set_ints(local, ATTR_WINDOW, local->window, 3);
    }
}
