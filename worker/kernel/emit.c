/* emit.c: see emit.h. The scanner of C expressions knows identifiers only: it replaces whole
 * identifiers and copies everything else.
 * SPDX-License-Identifier: MIT */
#include "worker/kernel/emit.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const ctype[DT_COUNT] = {
#define DTYPE(id, text, name, ctype_, size_bytes, category) [DT_##id] = #ctype_,
#include "runtime/inst/dtypes.def"
};

const char *emit_ctype(DType d) { return ctype[d]; }

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

void emit_expr(Bytes *out, const char *expr, DType functions, DType element,
               const char *const operand[3]) {
    for (const char *p = expr; *p;) {
        size_t n = 0;
        while (is_word(p[n])) n++;
        if (n == 0) {
            bytes_putc(out, *p++);
        } else if (n > 2 && p[0] == 'F' && p[1] == '_') {
            bytes_printf(out, "%s_", dtype_info[functions].text);
            for (size_t i = 2; i < n; i++) bytes_putc(out, (char)tolower((unsigned char)p[i]));
        } else if (n == 1 && *p == 'T') {
            bytes_puts(out, ctype[element]);
        } else if (n == 1 && *p >= 'a' && *p <= 'c') {
            bytes_puts(out, operand[*p - 'a']);
        } else {
            bytes_add(out, p, n);
        }
        p += n;
    }
}

const char *emit_half_expr(Op op, DType d) {
    switch (op) {
    case OP_LOG: return "F_LOG_OF_HALF(a)";
    case OP_LOG2: return "F_LOG2_OF_HALF(a)";
    case OP_LOG10: return "F_LOG10_OF_HALF(a)";
    case OP_LOG1P: return "F_LOG1P_OF_HALF(a)";
    case OP_SIN: return d == DT_F16 ? "F_SIN_OF_HALF(a)" : "F_SIN_OF_BF16(a)";
    case OP_COS: return d == DT_F16 ? "F_COS_OF_HALF(a)" : "F_COS_OF_BF16(a)";
    case OP_TAN: return d == DT_F16 ? "F_TAN_OF_HALF(a)" : "F_TAN_OF_BF16(a)";
    case OP_ATAN: return "F_ATAN_OF_HALF(a)";
    case OP_SINH: return "F_SINH_OF_HALF(a)";
    case OP_COSH: return "F_COSH_OF_HALF(a)";
    case OP_ASINH: return "F_ASINH_OF_HALF(a)";
    case OP_ACOSH: return "F_ACOSH_OF_HALF(a)";
    case OP_ATANH: return "F_ATANH_OF_HALF(a)";
    case OP_ERF: return "F_ERF_OF_HALF(a)";
    case OP_SOFTPLUS: return "F_SOFTPLUS_OF_HALF(a)";
    case OP_GELU: return "F_GELU_OF_HALF(a)";
    case OP_GELU_DX: return "F_GELU_DX_OF_HALF(a)";
    default: return NULL;
    }
}

DType emit_accumulator(Op op, DType d) {
    switch (op_info[op].out) {
    case OUT_boolean: return DT_BOOL;
    case OUT_wide: return dtype_is_float(d) ? d : DT_I64;
    case OUT_same: break;
    }
    return d;
}

static const char *const abc[3] = {"a", "b", "c"};

/* ", FIRST, REST": the argument of LOG1P, and the whole expression with c for that argument. */
static void emit_stages(Bytes *out, const char *expr, DType d) {
    const char *begin = strchr(strstr(expr, "F_LOG1P("), '(') + 1, *end = begin;
    char first[100], rest[100];
    for (int depth = 1; depth += *end == '(', depth -= *end == ')', depth; end++) {}
    snprintf(first, sizeof first, "%.*s", (int)(end - begin), begin);
    snprintf(rest, sizeof rest, "%.*sc%s", (int)(begin - expr), expr, end);
    bytes_puts(out, ", ");
    emit_expr(out, first, d, d, abc);
    bytes_puts(out, ", ");
    emit_expr(out, rest, d, d, abc);
}

void emit_map(Bytes *out, Op op, DType d) {
    const OpInfo *o = &op_info[op];
    DType result = o->out == OUT_boolean ? DT_BOOL : d;
    const char *type = dtype_info[d].text;
    bool is_circular = op == OP_SIN || op == OP_COS || op == OP_TAN;
    if (dtype_is_half(d)) {
        bool has_low = is_circular && d == DT_BF16;
        bytes_printf(out, "MAP1%s(%s_%s, float, float, %s", has_low ? "_NEAR" : "", o->name, type,
                     has_low ? "half, " : "");
        emit_expr(out, emit_half_expr(op, d), DT_F32, DT_F32, abc);
        if (has_low) bytes_puts(out, ", ");
        if (has_low) emit_expr(out, emit_half_expr(op, DT_F16), DT_F32, DT_F32, abc);
        bytes_puts(out, ")\n");
        return;
    }
    /* Rows with a second expression for most elements; see kernel_loops.h. */
    bool is_division = op == OP_FMOD || op == OP_MOD || op == OP_FLOORDIV;
    bool has_near = dtype_is_float(d) && (is_circular || is_division);
    bool has_stages = op == OP_LOGADDEXP;
    bytes_printf(out, "MAP%d%s(%s_%s, %s, %s", o->arity,
                 has_near     ? "_NEAR"
                 : has_stages ? "_STAGES"
                              : "",
                 o->name, type, ctype[d], ctype[result]);
    if (has_near) bytes_printf(out, ", %s", type);
    if (has_stages) {
        emit_stages(out, o->expr, d);
    } else {
        bytes_puts(out, ", ");
        emit_expr(out, o->expr, d, d, abc);
    }
    if (has_near)
        bytes_printf(out, ", %s_%s_%s", type, o->name, is_circular ? "low(a)" : "near(a, b)");
    bytes_puts(out, ")\n");
}

void emit_reduce(Bytes *out, Op op, DType d) {
    const OpInfo *o = &op_info[op];
    DType acc = emit_accumulator(op, d);
    const char *how = dtype_info[d].size_bytes > 1 ? ""
                      : op == OP_SUM               ? "_SUM_BYTES"
                      : op == OP_PROD              ? "_PROD_BYTES"
                                                   : "";
    bytes_printf(out, "REDUCE%s(%s_%s, %s, %s, ", how, o->name, dtype_info[d].text, ctype[d],
                 ctype[acc]);
    emit_expr(out, o->init, acc, d, abc);
    bytes_puts(out, ", ");
    emit_expr(out, o->expr, acc, d, abc);
    if (*how && op == OP_PROD)
        bytes_puts(out,
                   d == DT_I8 ? ", int16_t, int32_t, int64_t" : ", uint16_t, uint32_t, uint64_t");
    bytes_puts(out, ")\n");
}

void emit_cast(Bytes *out, DType from, DType to) {
    const char *f = dtype_info[from].text, *t = dtype_info[to].text;
    bytes_printf(out, "MAP1(cast_%s_%s, %s, %s, %s_to_%s(a))\n", f, t, ctype[from], ctype[to], f,
                 t);
}
