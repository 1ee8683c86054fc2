/* parse_fuzz.c: arbitrary source text, as a script and as a line at the prompt. The result must be
 * a tree that prints, or an error with a kind, a message and, unless it is about the end, a
 * position inside the text. For incomplete text the error names the open construct.
 * The formatter takes what the parser takes, and takes its own result as it is.
 * SPDX-License-Identifier: MIT */
#include "lang/fmt/fmt.h"
#include "lang/syntax/ast.h"
#include "lang/syntax/lex.h"
#include "tests/fuzz/fuzz.h"

static void print_warning(void *ctx, const LangError *w) { error_print(w, "warning", false, ctx); }

static void check_error(const Source *src, const LangError *e, char open_with) {
    Bytes text = {0};
    error_print(e, "error", true, &text);
    bool known = e->kind == E_SYNTAX || e->kind == E_INCOMPLETE;
    if (!known || !e->what[0] || e->at.src != src || e->at.line == 0 || !text.n ||
        text.data[text.n - 1] != '\n')
        abort();
    if (e->kind == E_SYNTAX && open_with) abort();
    bytes_fini(&text);
}

static void check_format(const char *s, size_t n) {
    Source src = {.name = "fuzz", .text = s, .n = n, .first_line = 1};
    LangError e = {0};
    Bytes once = {0}, twice = {0};
    if (!fmt_source(&src, &once, &e)) abort();
    bytes_puts(&once, "");
    Source again = {.name = "fuzz", .text = once.data, .n = once.n, .first_line = 1};
    if (!fmt_source(&again, &twice, &e) || once.n != twice.n ||
        (once.n && memcmp(once.data, twice.data, once.n)))
        abort();
    bytes_fini(&once);
    bytes_fini(&twice);
}

static void check_text(const char *s, size_t n, bool is_prompt) {
    Source src = {.name = "fuzz", .text = s, .n = n, .first_line = 1, .is_prompt = is_prompt};
    LangError e = {0};
    Bytes out = {0};
    char open_with = 0;
    Program *p = parse_program(&src, print_warning, &out, &open_with, &e);
    if (p) {
        ast_print(p->body, &out);
        if (!is_prompt) check_format(s, n);
    } else
        check_error(&src, &e, open_with);
    program_free(&p);
    bytes_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char *copy = xstrndup("", 0);
    copy = xrealloc(copy, n + 1);
    memcpy(copy, data, n);
    copy[n] = '\0';
    check_text(copy, n, false);
    check_text(copy, n, true);
    free(copy);
    return 0;
}

/* Fragments of programs; joined at random they are often almost valid. */
static const char *const pieces[] = {
    "fn f(a, b=1, *c) {",
    "fn(x) => x + 1",
    "module M(n) {",
    "self.w = n",
    "fn forward(x) => self.w * x",
    "}",
    "\n",
    ";",
    "if a > 0 {",
    "} else {",
    "} elif b {",
    "for i, (a, b) in xs {",
    "while true { break }",
    "signal f\"l{i}\" backward b {",
    "no_grad {",
    "time \"t\" {",
    "backward (a * b).sum()",
    "backward(y, seed)",
    "return a, b",
    "x = y = [1, 2, 3]",
    "x += 1",
    "x[1:, ..., none] = 2",
    "m = {a: 1, \"b\": 2, 3: f\"{x=:>{w}.2f}{{}}\"}",
    "{k: v for k, v in m.items() if k}",
    "[x * 2 for x in xs if x]",
    "a & 1 == 0",
    "a if b else c",
    "a not in b",
    "x is not none",
    "not a and b or c",
    "-2 ** -x @ y // 3",
    "f(a, *b, c=1)",
    "f(*a, **b)",
    "fn f(a, *, b=1, **c) => a",
    "sum(x for y in xs if y for x in y)",
    "0 <= a < b is c",
    "{a, *b, 1}",
    "{x for x in xs}",
    "{**m, a: 1, (b): 2}",
    "x = *a, b",
    "xs[::-1]",
    "'it''s'",
    "\"a\\n\\u{20ac}\"",
    "\"\"\"x\ny\"\"\"",
    "f'''{f\"{x}\"}'''",
    "0xff + 1e-3 + 1_000.",
    "import \"a/b.gt\" as c",
    "del x, y[0]",
    "assert a, \"m\"",
    "# note\n",
    "## doc\n",
    "def f(x):",
    "x++",
    "a && b",
    "(",
    ")",
    "[",
    "]",
    "{",
    "=>",
    "=",
    ",",
    ":",
    "...",
    "lambda",
    "\xc3\xa9",
    "\xff",
    "\t",
};

static void fuzz_seed(Rand *r, Bytes *out) {
    size_t n = 1 + rand_u64(r) % 24;
    for (size_t k = 0; k < n; k++) {
        bytes_puts(out, pieces[rand_u64(r) % (sizeof pieces / sizeof *pieces)]);
        bytes_putc(out, rand_u64(r) % 3 ? '\n' : ' ');
    }
}
