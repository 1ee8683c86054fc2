/* help_row.c: the row of an operation in words, for `??name` of what is written in C.
 * SPDX-License-Identifier: MIT */
#include "lang/help/help.h"
#include "lang/help/help_text.h"
#include "runtime/inst/op_rule.h"
#include "runtime/base/words.h"
#include <string.h>

/* Functions and the operation that does their work, where that has another name. */
static const char *const others[][2] = {
    {"avg_pool1d avg_pool2d avg_pool3d", "avg_pool"},
    {"bfloat16 bool byte char double float half int long to type type_as", "cast"},
    {"concat concatenate", "cat"},
    {"conv1d conv2d conv3d", "conv"},
    {"conv_transpose1d conv_transpose2d conv_transpose3d", "conv_dx"},
    {"cummin", "cummax"},
    {"tensor", "data"},
    {"item tolist", "fetch"},
    {"empty empty_like full_like ones ones_like zeros zeros_like", "full"},
    {"index_select", "index"},
    {"bmm mm", "matmul"},
    {"amax", "max"},
    {"max_pool1d max_pool2d max_pool3d", "max_pool"},
    {"amin", "min"},
    {"swapaxes t transpose", "permute"},
    {"rand_like", "rand"},
    {"randn_like", "randn"},
    {"flatten squeeze unsqueeze view", "reshape"},
};

static const char *last_name(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* The operation of a function, also of the one that works in place: add_. Or OP_COUNT. */
static Op op_of(const char *name) {
    size_t n = strlen(name);
    Op op = op_find(name, n);
    if (op == OP_COUNT && n > 1 && name[n - 1] == '_') op = op_find(name, n - 1);
    const char *other = words_row(others, sizeof others / sizeof *others, name, n);
    return op == OP_COUNT && other ? op_find(other, strlen(other)) : op;
}

static void put_wrapped(Bytes *line, int width, Bytes *out) {
    help_wrap(line->data, line->n, width, out);
    bytes_fini(line);
}

static void put_rule(const char *label, const char *text, int width, Bytes *out) {
    Bytes b = {0};
    bytes_printf(&b, "%s: %s", label, text);
    put_wrapped(&b, width, out);
}

static void put_title(Op op, int width, Bytes *out) {
    static const char *const classes[] = {
        [CLASS_MAP] = "pointwise",   [CLASS_REDUCE] = "a reduction",    [CLASS_VIEW] = "a view",
        [CLASS_KERNEL] = "a kernel", [CLASS_SOURCE] = "makes a tensor", [CLASS_CONTROL] = "control",
    };
    const OpInfo *o = &op_info[op];
    Bytes b = {0};
    bytes_printf(&b, "operation: %s, %s", o->name, classes[o->class_]);
    bool has_count = o->class_ != CLASS_CONTROL && o->class_ != CLASS_SOURCE && o->arity > 0;
    if (has_count) bytes_printf(&b, ", %d operand%s", o->arity, o->arity == 1 ? "" : "s");
    bytes_puts(&b, op_outputs(op) == 2 ? ", two results." : ".");
    put_wrapped(&b, width, out);
}

/* The dtypes of its tensor operands, and what they make of the result's. */
static void put_dtypes(Op op, int width, Bytes *out) {
    const OpInfo *o = &op_info[op];
    Bytes b = {0};
    bytes_puts(&b, "dtypes:");
    if (o->in == DSET_ALL) bytes_puts(&b, " all");
    for (int d = 0, n = 0; d < DT_COUNT && o->in != DSET_ALL; d++)
        if (o->in & DSET(d)) bytes_printf(&b, "%s %s", n++ ? "," : "", dtype_info[d].name);
    if (o->in == DSET_FLOAT && o->class_ == CLASS_MAP) bytes_puts(&b, "; others are cast first");
    if (op_has(op, FACT_PICKS)) bytes_puts(&b, "; the first operand is bool");
    if (op_has(op, FACT_INDEXED)) bytes_puts(&b, "; indices are whole numbers");
    if (o->out == OUT_boolean) bytes_puts(&b, "; the result is bool");
    if (o->out == OUT_wide) bytes_puts(&b, "; bool and whole numbers give int64");
    bytes_putc(&b, '.');
    put_wrapped(&b, width, out);
}

static void put_row(Op op, int width, Bytes *out) {
    const OpInfo *o = &op_info[op];
    put_title(op, width, out);
    if (o->class_ != CLASS_CONTROL || op_is_layout(op)) {
        Bytes b = {0};
        put_dtypes(op, width, out);
        put_rule("shape", op_shape_rule(op), width, out);
        put_rule("gradient", op_grad_rule(op), width, out);
        bytes_printf(&b, "fuses: %s: %s.", op_may_fuse(op) ? "yes" : "no", op_fuse_rule(op));
        put_wrapped(&b, width, out);
    }
    if (*o->attrs && *o->attrs != '*') put_rule("attributes", o->attrs, width, out);
    if (*o->expr) put_rule("formula", o->expr, width, out);
}

bool help_row(Interp *in, const char *name, int width, Bytes *out) {
    LangError ignored = {0};
    Value v = {.kind = V_UNDEF};
    bool is_value = help_value(in, name, strlen(name), &v, &ignored);
    if (!is_value && last_name(name) != name) return help_row(in, last_name(name), width, out);
    const char *word = is_value && v.kind == V_BUILTIN ? v.builtin->name : name;
    bool is_builtin = is_value && v.kind == V_BUILTIN;
    if (is_value) value_drop(v);
    if (is_value && !is_builtin) return false;
    Op op = op_of(last_name(word));
    if (!is_builtin && op == OP_COUNT) return false;
    Bytes usage = {0}, body = {0};
    if (is_builtin && help_parts(in, name, &usage, &body)) {
        bytes_add(out, usage.data, usage.n);
        Bytes first = {0};
        help_sentence(body.data ? body.data : "", body.n, 1000, &first);
        if (first.n) help_wrap(first.data, first.n, width, out);
        bytes_fini(&first);
    } else {
        bytes_printf(out, "%s\n", op_info[op].name);
        help_wrap(op_info[op].doc, strlen(op_info[op].doc), width, out);
    }
    bytes_fini(&usage);
    bytes_fini(&body);
    if (op < OP_COUNT)
        put_row(op, width, out);
    else
        put_rule("written in C", "no operation has its name; :tape lists those that it sends.",
                 width, out);
    return true;
}
