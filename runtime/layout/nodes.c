/* nodes.c: see nodes.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/layout/nodes.h"
#include "runtime/base/tree.h"

uint32_t nodes_reduced(const Inst *inst, int rank) {
    const Attr *axis = inst_attr(inst, ATTR_AXIS);
    uint32_t set = 0;
    if (!axis) return (UINT32_C(1) << rank) - 1;
    for (uint32_t k = 0; k < axis->n; k++) set |= UINT32_C(1) << axis->ints[k];
    return set;
}

bool nodes_sums_rows(const Inst *inst, const TensorType *x) {
    if (inst->op != OP_SUM || !dtype_is_float((DType)x->dtype)) return false;
    uint32_t reduced = nodes_reduced(inst, x->rank), all = (UINT32_C(1) << x->rank) - 1;
    return reduced && (all & ~reduced) >> __builtin_ctz(reduced);
}

int64_t nodes_leaf(const Inst *inst, const TensorType *x) {
    if (!dtype_is_float((DType)x->dtype)) return 0;
    if (inst->op == OP_MATMUL || nodes_sums_rows(inst, x)) return LEAF_ROWS;
    return op_has(inst->op, FACT_ADDS) ? LEAF_LINE : 0;
}

Layout nodes_layout(Op op, int64_t leaf, int64_t block, int64_t extent) {
    _Static_assert((int)LEAF_ROWS == (int)LEAF, "one tree");
    return (Layout){.kind = LAYOUT_PARTIAL,
                    .op = (uint16_t)op,
                    .axis = (uint8_t)__builtin_ctzll((uint64_t)leaf),
                    .block = block,
                    .begin = extent};
}

int nodes_of(const Layout *l, int i, SumNode *node) {
    int64_t extent = l->begin, leaves = ((extent - 1) >> l->axis) + 1, per = l->block >> l->axis;
    int n = 0;
    if (i > (extent - 1) / l->block) return 0;
    int64_t first = i * per, end = leaves - first > per ? first + per : leaves;
    while (first < end) {
        /* Takes the largest node that begins at `first` and ends at `end` or before. On the last
         * rank a node may reach beyond the last leaf: no leaves follow. */
        int level = first ? __builtin_ctzll((uint64_t)first) : 62;
        while (end < leaves && level > 0 && end - first < INT64_C(1) << level) level--;
        if (!first && end == leaves) level = tree_depth(leaves);
        int64_t after =
            leaves - first > INT64_C(1) << level ? first + (INT64_C(1) << level) : leaves;
        int64_t begin = first << l->axis, stop = after == leaves ? extent : after << l->axis;
        if (node)
            node[n] = (SumNode){
                .begin = begin, .n = stop - begin, .index = first >> level, .level = level};
        n++;
        first = after;
    }
    return n;
}
