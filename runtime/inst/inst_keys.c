/* inst_keys.c: which attributes an operation takes. Checked for instruction text written by
 * hand, because a misspelt key, or one of another operation, would be silently ignored. What
 * programs send is not checked against this table. SPDX-License-Identifier: MIT */
#include "runtime/base/near.h"
#include "runtime/inst/inst_text.h"

#include <string.h>

/* ---- Keys ---- */

bool inst_takes(Op op, AttrKey key) {
    bool has_result = op_info[op].class_ != CLASS_CONTROL || op_is_layout(op);
    if (key == ATTR_OTHER || (key == ATTR_KEEP && has_result)) return true;
    const char *attrs = op_info[op].attrs, *name = attr_info[key].name;
    size_t n = strlen(name);
    if (*attrs == '*') return true;
    for (const char *p = attrs; (p = strstr(p, name)); p += n)
        if ((p == attrs || p[-1] == ' ') && (p[n] == ' ' || !p[n])) return true;
    return false;
}

/* Keys in the spelling of other systems. */
static const char *const habits[][2] = {
    {"dim", "axis"},           {"dims", "axis"},    {"axes", "axis"},        {"axis", "axes"},
    {"dims", "axes"},          {"perm", "axes"},    {"keepdim", "keepdims"}, {"size", "shape"},
    {"dilations", "dilation"}, {"pads", "padding"}, {"name", "as"},          {"name", "key"},
};

static const char *meant_key(Op op, const char *key, size_t n) {
    const char *names[ATTR_COUNT];
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
        const char *to = habits[i][1];
        if (strlen(habits[i][0]) == n && !memcmp(habits[i][0], key, n) &&
            inst_takes(op, attr_find(to, strlen(to))))
            return to;
    }
    for (int k = 0; k < ATTR_COUNT; k++)
        names[k] = k != ATTR_OTHER && k != ATTR_KEEP && inst_takes(op, (AttrKey)k)
                       ? attr_info[k].name
                       : NULL;
    return nearest_name(key, n, names, ATTR_COUNT);
}

/* "it takes axis, keepdims" */
static bool hint_keys(Op op, Err *err) {
    Bytes list = {0};
    for (int k = 0; k < ATTR_COUNT; k++)
        if (k != ATTR_OTHER && k != ATTR_KEEP && inst_takes(op, (AttrKey)k))
            bytes_printf(&list, "%s%s", list.n ? ", " : "", attr_info[k].name);
    if (list.n)
        err_hint(err, "it takes %s; the key of an annotation contains a point: my.note=3",
                 list.data);
    else
        err_hint(err, "it takes none; the key of an annotation contains a point: my.note=3");
    bytes_fini(&list);
    return false;
}

static bool unknown_key(Op op, int column, const char *key, size_t n, Err *err) {
    err_set(err, ERR_PARSE, "column %d: %s has no attribute '%.*s'", column, op_info[op].name,
            n < 100 ? (int)n : 100, key);
    const char *meant = meant_key(op, key, n);
    return meant ? err_hint(err, "did you mean '%s'?", meant) : hint_keys(op, err);
}

/* Are all pairs of ATTR_OTHER, between single blanks, annotations? */
static bool check_other(Op op, const Attr *other, int column, Err *err) {
    bool is_quoted = false, is_key = true;
    size_t start = 0;
    for (size_t i = 0; i < other->n; i++) {
        char c = other->str[i];
        if (is_key && c == '=') {
            size_t n = i - start;
            if (!memchr(other->str + start, '.', n))
                return unknown_key(op, column, other->str + start, n, err);
            is_key = false;
        }
        if (c == '"') is_quoted = !is_quoted;
        if (is_quoted && c == '\\') i++;
        if (!is_quoted && c == ' ') is_key = true, start = i + 1;
    }
    return true;
}

bool inst_check_keys(const InstLine *line, Err *err) {
    const Inst *in = &line->inst;
    if (line->is_empty) return true;
    for (int i = 0; i < in->n_attr; i++) {
        AttrKey key = (AttrKey)in->attr[i].key;
        const char *name = attr_info[key].name;
        if (key == ATTR_OTHER)
            TRY(check_other(in->op, &in->attr[i], line->attr_column[i], err));
        else if (!inst_takes(in->op, key))
            return unknown_key(in->op, line->attr_column[i], name, strlen(name), err);
    }
    return true;
}

/* ---- Operations ---- */

/* Names of operations in other systems and in the language that differ from ours. */
static const char *const other_names[][2] = {
    {"ones", "t0 = full 1 [2,3] f32"},
    {"zeros", "t0 = full 0 [2,3] f32"},
    {"fill", "t0 = full 1 [2,3] f32"},
    {"constant", "t0 = data f32 [3] 1 2 3, or full 1 [2,3] f32"},
    {"const", "t0 = data f32 [3] 1 2 3, or full 1 [2,3] f32"},
    {"tensor", "t0 = data f32 [3] 1 2 3"},
    {"ones_like", "t1 = full t0 1"},
    {"zeros_like", "t1 = full t0 0"},
    {"normal", "t0 = randn [2,3] f32 rng=0:0"},
    {"uniform", "t0 = rand [2,3] f32 rng=0:0"},
    {"range", "t0 = arange 0 1 [10] i64"},
    {"iota", "t0 = arange 0 1 [10] i64"},
    {"multiply", "mul"},
    {"subtract", "sub"},
    {"divide", "div"},
    {"mm", "matmul"},
    {"bmm", "matmul"},
    {"dot", "matmul"},
    {"linear", "t3 = matmul t0 t1, then t4 = add t3 t2"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"convert", "t1 = cast t0 f32"},
    {"astype", "t1 = cast t0 f32"},
    {"to", "t1 = cast t0 f32"},
    {"transpose", "t1 = permute t0 axes=[1,0]"},
    {"view", "t1 = reshape t0 [2,3]"},
    {"squeeze", "t1 = reshape t0 [2,3]"},
    {"unsqueeze", "t1 = reshape t0 [2,3,1]"},
    {"flatten", "t1 = reshape t0 [6]"},
    {"broadcast_to", "t1 = expand t0 [2,3]"},
    {"mean", "t1 = sum t0 axis=1, then t2 = div t1 3"},
    {"clamp", "t1 = maximum t0 0, then t2 = minimum t1 1"},
    {"take", "t2 = index t0 t1 axis=0"},
    {"softmax", "max, sub, exp, sum and div: gtsh --emit shows how"},
    {"signal begin", "signal enter a"},
    {"signal end", "signal exit a"},
    {"dump", "print or fetch"},
    {"show", "print or fetch"},
    {"delete", "free t0"},
    {"del", "free t0"},
};

bool inst_hint_op(const char *name, size_t n, Err *err) {
    const char *names[OP_COUNT];
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (strlen(other_names[i][0]) == n && !memcmp(other_names[i][0], name, n))
            return err_hint(err, "%s", other_names[i][1]);
    for (int i = 0; i < OP_COUNT; i++)
        names[i] = op_is_inserted((Op)i) || i == OP_BODY ? NULL : op_info[i].name;
    const char *meant = nearest_name(name, n, names, OP_COUNT);
    return meant ? err_hint(err, "did you mean '%s'?", meant)
                 : err_hint(err, "gt-ops(7) lists the operations");
}
