/* rule_conv.c: layout rules of convolutions and poolings.
 *
 * The three convolution rows are products of one kind: of input X (N, C, ...), weights W (O, C,
 * ...) and result Y (N, O, ...) two are given. Along N, O or C all tensors that have the axis
 * are split alike. If the split axis is summed over, so that the result lacks it, the result is
 * partial. Spatial axes stay whole. With groups, W's second axis stays whole too, and O and C are
 * split together, between groups. Where the order of additions depends on the number of channels,
 * only N is split.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/rule/rule.h"
#include "runtime/infer/window.h"
#include "runtime/layout/nodes.h"

enum { LETTER_N, LETTER_C, LETTER_O, NOWHERE };
typedef enum Role { ROLE_X, ROLE_W, ROLE_Y } Role;
static const uint8_t letter_of[3][2] = {[ROLE_X] = {LETTER_N, LETTER_C},
                                        [ROLE_W] = {LETTER_O, LETTER_C},
                                        [ROLE_Y] = {LETTER_N, LETTER_O}};

static const uint8_t *roles_of(Op op) {
    static const uint8_t forward[] = {ROLE_X, ROLE_W, ROLE_Y}, dx[] = {ROLE_Y, ROLE_W, ROLE_X},
                         dw[] = {ROLE_X, ROLE_Y, ROLE_W};
    return op == OP_CONV ? forward : op == OP_CONV_DX ? dx : dw;
}

/* The layout of a tensor in a split along the letter, with block sizes by letter. */
static Layout part_of(Role role, int letter, const int64_t block[3]) {
    for (int a = 0; a < 2; a++)
        if (letter_of[role][a] == letter) return rule_split(a, block[letter]);
    return layout_replicate();
}

/* A weight gradient of floats is a sum over images: each rank computes one node of its tree, of
 * leaves of conv_leaf images. Other sums over a split axis, of floats, have no such tree. */
static void conv_terms(Rule *r, int64_t block) {
    const TensorType *x = &r->in[0], *dy = &r->in[1];
    int64_t volume = 1, n = x->shape[0];
    for (int a = 2; a < dy->rank; a++) volume *= dy->shape[a];
    int64_t leaf = conv_leaf(volume), most = leaf;
    while (most * r->n < n) most *= 2;
    if (r->inst->op != OP_CONV_DW || !rule_has_leaves(r, leaf, n)) {
        rule_whole(r);
        return;
    }
    if (block < leaf || (block & (block - 1))) block = most;
    r->need[0] = r->need[1] = rule_split(0, block);
    r->give[0] = nodes_layout(OP_SUM, leaf, block, n);
}

static void conv_split(Rule *r, const uint8_t *role, int letter, int64_t block) {
    const int64_t blocks[3] = {block, block, block};
    for (int i = 0; i < 2; i++) r->need[i] = part_of((Role)role[i], letter, blocks);
    r->give[0] = part_of((Role)role[2], letter, blocks);
    if (r->give[0].kind != LAYOUT_REPLICATE) return;
    r->give[0] = layout_partial(OP_SUM);
    if (dtype_is_float((DType)r->in[0].dtype)) conv_terms(r, block);
}

/* Gives each rank the same number of groups; every rank must have some. */
static bool conv_split_groups(Rule *r, const uint8_t *role, int64_t groups, int64_t own) {
    const TensorType *type[3] = {&r->in[0], &r->in[1], &r->out[0]};
    Layout *layout[3] = {&r->need[0], &r->need[1], &r->give[0]};
    if (own < 1 || (r->n - 1) * own >= groups) return false;
    for (int i = 0; i < 3; i++) {
        int a = role[i] == ROLE_W ? 0 : 1;
        int64_t block = type[i]->shape[a] / groups * own;
        *layout[i] = rule_split(a, block > 0 ? block : 1);
    }
    return true;
}

/* True if the bits of a channel depend on how many are computed with it: oneDNN computes float32,
 * and halves as float32, and chooses its order of additions by all channels. */
static bool needs_all_channels(const Rule *r) {
    DType dtype = (DType)r->in[0].dtype;
    return dtype_is_float(dtype) && dtype != DT_F64;
}

/* Tries axis a of tensor i (2: the result), with its block. */
static bool conv_try(Rule *r, const uint8_t *role, int i, int a, int64_t block) {
    int64_t groups = inst_int(r->inst, ATTR_GROUPS, 1);
    const TensorType *t = i == 2 ? &r->out[0] : &r->in[i];
    if (a > 1) return false;
    int letter = letter_of[role[i]][a];
    if (letter != LETTER_N && needs_all_channels(r)) return false;
    if (groups == 1 || letter == LETTER_N) {
        conv_split(r, role, letter, block);
        return true;
    }
    if (role[i] == ROLE_W && a == 1) return false;
    int64_t size = t->shape[a] / groups;
    if (size > 0 && block % size == 0 && conv_split_groups(r, role, groups, block / size))
        return true;
    return conv_split_groups(r, role, groups, (groups + r->n - 1) / r->n);
}

void rule_conv(Rule *r) {
    const uint8_t *role = roles_of(r->inst->op);
    int first = rule_largest_split(r);
    for (int k = 0; k < 2 && first >= 0; k++) {
        int i = k == 0 ? first : 1 - first;
        const Layout *l = &r->have[i];
        if (rule_is_split(r, i) && conv_try(r, role, i, l->axis, l->block)) return;
    }
    if (first < 0 && rule_is_wanted(r, &r->out[0]) &&
        conv_try(r, role, 2, r->want_axis, layout_split(&r->out[0], r->want_axis, r->n).block))
        return;
    /* No split can be kept: it becomes one along N. */
    bool may_be_split = first >= 0 ? role[first] != ROLE_W || needs_all_channels(r)
                                   : needs_all_channels(r) && rule_is_wanted(r, &r->out[0]);
    if (may_be_split && r->in[0].shape[0] >= 2)
        conv_split(r, role, LETTER_N, layout_split(&r->in[0], 0, r->n).block);
    else
        rule_whole(r);
}

/* Spatial axes stay whole. */
void rule_pool(Rule *r) {
    const Attr *kernel = inst_attr(r->inst, ATTR_KERNEL);
    rule_lines(r, r->in[0].rank - (int)kernel->n, r->in[0].rank);
}
