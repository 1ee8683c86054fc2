/* ast.c: prints the tree (--debug=a, golden tests); the table of interned names. Each statement
 * takes one line, indented by two blanks per level. Locals are printed with scope and slot: x@0
 * slot, x%0 slot with a cell, x^0 capture.
 * SPDX-License-Identifier: MIT */
#include "lang/syntax/ast.h"
#include "runtime/base/map.h"
#include "runtime/inst/inst_print.h"
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

typedef struct Names {
    char **slot;
    size_t n, cap;
} Names; /* a hash table with open addressing; cap is a power of two */
static Names names;

static size_t name_slot(const Names *t, const char *s, size_t n) {
    size_t k = hash_bytes(s, n, 0) & (t->cap - 1);
    while (t->slot[k] && (strncmp(t->slot[k], s, n) || t->slot[k][n])) k = (k + 1) & (t->cap - 1);
    return k;
}

const char *intern(const char *s, size_t n) {
    Names *t = &names;
    if (2 * t->n >= t->cap) {
        Names more = {xcalloc(t->cap ? 2 * t->cap : 512, sizeof(char *)), t->n,
                      t->cap ? 2 * t->cap : 512};
        for (size_t k = 0; k < t->cap; k++)
            if (t->slot[k])
                more.slot[name_slot(&more, t->slot[k], strlen(t->slot[k]))] = t->slot[k];
        free(t->slot);
        *t = more;
    }
    size_t k = name_slot(t, s, n);
    if (!t->slot[k]) {
        t->slot[k] = xstrndup(s, n);
        t->n++;
    }
    return t->slot[k];
}

/* ---- printing ---- */

const char *const oper_text[] = {
    [O_ADD] = "+",         [O_SUB] = "-",    [O_MUL] = "*",         [O_DIV] = "/",
    [O_FLOORDIV] = "//",   [O_MOD] = "%",    [O_POW] = "**",        [O_MATMUL] = "@",
    [O_BITAND] = "&",      [O_BITOR] = "|",  [O_BITXOR] = "^",      [O_EQ] = "==",
    [O_SHL] = "<<",        [O_SHR] = ">>",   [O_NE] = "!=",         [O_LT] = "<",
    [O_LE] = "<=",         [O_GT] = ">",     [O_GE] = ">=",         [O_IN] = "in",
    [O_NOT_IN] = "not in", [O_IS] = "is",    [O_IS_NOT] = "is not", [O_NEG] = "-",
    [O_POS] = "+",         [O_INVERT] = "~", [O_NOT] = "not",
};

static const char *const head_text[] = {
    [N_FSTRING] = "fstring",   [N_FORMAT] = "format",
    [N_LIST] = "list",         [N_MAP] = "map",
    [N_SET] = "set",           [N_LISTCOMP] = "listcomp",
    [N_SETCOMP] = "setcomp",   [N_MAPCOMP] = "mapcomp",
    [N_AND] = "and",           [N_OR] = "or",
    [N_IF_EXPR] = "if-expr",   [N_CALL] = "call",
    [N_STAR] = "star",         [N_MAPSTAR] = "mapstar",
    [N_INDEX] = "index",       [N_SLICE] = "slice",
    [N_BLOCK] = "block",       [N_EXPR_STMT] = "do",
    [N_ASSIGN] = "=",          [N_IF] = "if",
    [N_WHILE] = "while",       [N_FOR] = "for",
    [N_SIGNAL] = "signal",     [N_NO_GRAD] = "no_grad",
    [N_TIME] = "time",         [N_BACKWARD] = "backward",
    [N_RETURN] = "return",     [N_BREAK] = "break",
    [N_CONTINUE] = "continue", [N_DEL] = "del",
    [N_ASSERT] = "assert",     [N_IMPORT] = "import",
};

static void print_place(const Node *n, Bytes *out) {
    static const char mark[] = {[SCOPE_LOCAL] = '@', [SCOPE_CELL] = '%', [SCOPE_OUTER] = '^'};
    if (n->scope != SCOPE_GLOBAL) bytes_printf(out, "%c%d", mark[n->scope], n->slot);
}

/* "not in" as one word. */
static void put_oper(Bytes *out, int oper) {
    for (const char *s = oper_text[oper]; *s; s++) bytes_putc(out, *s == ' ' ? '-' : *s);
}

static void print_at(const Node *n, int depth, Bytes *out);

/* The prefix of the k-th parameter: "*", "**", "*, " or "". */
static const char *star_text(const AstFn *fn, int k) {
    if (fn->param[k].is_star || fn->param[k].is_map) return fn->param[k].is_map ? "**" : "*";
    bool is_alone = k == fn->n_pos && k < fn->n_params;
    return is_alone ? "*, " : "";
}

static void print_fn(const Node *n, int depth, Bytes *out) {
    const AstFn *fn = n->fn;
    bytes_puts(out, fn->is_module ? "(module" : fn->is_method ? "(method" : "(fn");
    if (fn->name[0]) {
        bytes_printf(out, " %s", fn->name);
        print_place(n, out);
    }
    bytes_puts(out, " (");
    for (int k = 0; k < fn->n_params; k++) {
        bytes_printf(out, "%s%s%s", k ? " " : "", star_text(fn, k), fn->param[k].name);
        if (fn->param[k].dflt) {
            bytes_putc(out, '=');
            print_at(fn->param[k].dflt, depth, out);
        }
    }
    bytes_puts(out, ") ");
    print_at(fn->body, depth, out);
    bytes_putc(out, ')');
}

static void print_kids(const Node *n, int depth, Bytes *out) {
    for (uint32_t k = 0; k < n->n_kids; k++) {
        if (n->kind == N_BLOCK)
            bytes_printf(out, "\n%*s", 2 * depth + 2, "");
        else
            bytes_putc(out, ' ');
        if (n->kid[k])
            print_at(n->kid[k], depth + (n->kind == N_BLOCK), out);
        else
            bytes_putc(out, '_');
    }
    bytes_putc(out, ')');
}

static void print_format(const Node *n, int depth, Bytes *out) {
    bytes_puts(out, "(format ");
    if (n->str) {
        inst_quote(out, n->str, n->n_str);
        bytes_putc(out, ' ');
    }
    if (n->flag) bytes_puts(out, n->flag == FORMAT_REPR ? "!r " : "!s ");
    print_at(n->kid[0], depth, out);
    if (n->kid[1]) {
        bytes_putc(out, ' ');
        print_at(n->kid[1], depth, out);
    }
    bytes_putc(out, ')');
}

static void print_at(const Node *n, int depth, Bytes *out) {
    switch (n->kind) {
    case N_NONE: bytes_puts(out, "none"); return;
    case N_TRUE: bytes_puts(out, "true"); return;
    case N_FALSE: bytes_puts(out, "false"); return;
    case N_INT: bytes_printf(out, "%lld", (long long)n->i); return;
    case N_FLOAT: inst_put_float(out, n->f); return;
    case N_STRING: inst_quote(out, n->str, n->n_str); return;
    case N_NAME:
        bytes_puts(out, n->str);
        print_place(n, out);
        return;
    case N_ELLIPSIS: bytes_puts(out, "..."); return;
    case N_FN:
    case N_FN_STMT:
    case N_MODULE: print_fn(n, depth, out); return;
    case N_KEYWORD:
    case N_FIELD:
        bytes_printf(out, "(%c %s", n->kind == N_FIELD ? '.' : ':', n->str);
        print_kids(n, depth, out);
        return;
    case N_UNARY:
    case N_BINARY:
        bytes_putc(out, '(');
        put_oper(out, n->tok);
        print_kids(n, depth, out);
        return;
    case N_CHAIN:
        bytes_puts(out, "(chain");
        for (uint32_t k = 0; k + 1 < n->n_kids; k++)
            bytes_putc(out, ' '), put_oper(out, n->link[k]->tok);
        print_kids(n, depth, out);
        return;
    case N_AUGASSIGN:
        bytes_printf(out, "(%s=", oper_text[n->tok]);
        print_kids(n, depth, out);
        return;
    case N_IMPORT:
        bytes_printf(out, "(import %s%s%s as %s", n->flag ? "\"" : "", n->str, n->flag ? "\"" : "",
                     n->as);
        print_place(n, out);
        bytes_putc(out, ')');
        return;
    case N_FORMAT: print_format(n, depth, out); return;
    case N_EXPR_STMT:
        bytes_puts(out, n->flag ? "(do;" : "(do");
        print_kids(n, depth, out);
        return;
    default:
        bytes_printf(out, "(%s", head_text[n->kind]);
        print_kids(n, depth, out);
        return;
    }
}

void ast_print(const Node *n, Bytes *out) {
    print_at(n, 0, out);
    bytes_putc(out, '\n');
}

/* ---- for messages ---- */

const char *node_text(const Node *n, char *buf) {
    const Source *src = n->whole.src ? n->whole.src : n->at.src;
    const Span *at = n->whole.src ? &n->whole : &n->at;
    buf[0] = 0;
    if (!src) return buf;
    const char *p = src->text, *end = src->text + src->n;
    for (uint32_t line = src->first_line ? src->first_line : 1; p && line < at->line; line++) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    if (!p || p + at->col - 1 > end) return buf;
    p += at->col - 1;
    size_t len = at->len < (size_t)(end - p) ? at->len : (size_t)(end - p);
    if (len < 60) {
        memcpy(buf, p, len);
        buf[len] = 0;
    } else {
        memcpy(buf, p, 56);
        memcpy(buf + 56, " ...", 5);
    }
    return buf;
}

void fn_signature(const AstFn *f, Bytes *out) {
    char quote[80];
    bytes_printf(out, "%s(", f->name && *f->name ? f->name : "fn");
    for (int i = 0; i < f->n_params; i++) {
        const AstParam *p = &f->param[i];
        bytes_printf(out, "%s%s%s", i ? ", " : "", star_text(f, i), p->name);
        if (p->dflt) bytes_printf(out, "=%s", node_text(p->dflt, quote));
    }
    bytes_putc(out, ')');
}
