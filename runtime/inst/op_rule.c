/* op_rule.c: see op_rule.h. SPDX-License-Identifier: MIT */
#include "runtime/inst/op_rule.h"
#include <string.h>

typedef struct Rule {
    const char *word, *doc;
} Rule;

static const Rule shape_rules[] = {
#define SHAPE_RULE(word, doc) {#word, doc},
#include "runtime/inst/rules.def"
    {NULL, NULL}};
static const Rule grad_rules[] = {
#define GRAD_RULE(word, doc) {#word, doc},
#include "runtime/inst/rules.def"
    {NULL, NULL}};

static const char *doc_of(const Rule *r, const char *word) {
    while (r->word && strcmp(r->word, word)) r++;
    return r->doc;
}

const char *op_shape_rule(Op op) { return doc_of(shape_rules, op_info[op].shape_name); }
const char *op_grad_rule(Op op) { return doc_of(grad_rules, op_info[op].grad_name); }

bool op_may_fuse(Op op) {
    OpClass c = op_info[op].class_;
    bool is_source = op == OP_FULL || op == OP_GATHER || op == OP_SCATTER_ADD;
    return c == CLASS_MAP || c == CLASS_REDUCE || op == OP_CAST || is_source;
}

const char *op_fuse_rule(Op op) {
    if (op == OP_FULL) return "its number becomes a constant of the loop that reads it";
    if (op == OP_GATHER || op == OP_SCATTER_ADD)
        return "with one index for each row, as a cross entropy has it";
    if (op_has(op, FACT_DEEP))
        return "pointwise operations of one shape become one loop, cut before and after this one";
    if (op_info[op].class_ == CLASS_REDUCE)
        return "along rows or over the rows, with the pointwise operations around it";
    if (op_may_fuse(op)) return "pointwise operations of one shape become one loop";
    switch (op_info[op].class_) {
    case CLASS_VIEW: return "it moves no data, or makes one copy";
    case CLASS_SOURCE: return "its elements are stored first";
    case CLASS_CONTROL: return "it computes nothing";
    default: break;
    }
    return op == OP_MATMUL ? "a kernel of its own, which may compute the pointwise operations that "
                             "follow in its tiles"
                           : "a kernel of its own";
}
