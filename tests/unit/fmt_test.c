/* fmt_test.c: the formatter. Small texts with what they become; and on all programs of the tree:
 * formatting what is formatted changes nothing, and the program stays the same (fmt_source checks
 * that itself).
 * SPDX-License-Identifier: MIT */
#include "lang/fmt/fmt.h"
#include "tests/unit/check.h"
#include <glob.h>

/* Returns the formatted text, or NULL; the caller frees it. */
static char *format(const char *text, size_t n, LangError *e) {
    Bytes out = {0};
    Source src = {.name = "t", .text = text, .n = n, .first_line = 1};
    if (!fmt_source(&src, &out, e)) return NULL;
    bytes_puts(&out, "");
    return out.data;
}

static const struct {
    const char *text, *want;
} cases[] = {
    {"", ""},
    {"\n\n", ""},
    {"x=1", "x = 1\n"},
    {"x = 1;y=2 ;", "x = 1; y = 2;\n"},
    {"\xef\xbb\xbfx=1\r\ny=2\r\n", "x = 1\ny = 2\n"},
    {"#!/usr/bin/env gtsh  \nx=1", "#!/usr/bin/env gtsh\nx = 1\n"},
    {"x = -a+- b*~c", "x = -a + -b * ~c\n"},
    {"x=a if not b else[1,2]", "x = a if not b else [1, 2]\n"},
    {"f( a,*c ,b = 2,**d) [0] .g ()", "f(a, *c, b=2, **d)[0].g()\n"},
    {"fn f(a,*,b=1){}", "fn f(a, *, b=1) {}\n"},
    {"y = x[ 1 : , : :2,...,: ]", "y = x[1:, ::2, ..., :]\n"},
    {"m = { a:1,\"b\" : 2 }", "m = {a: 1, \"b\": 2}\n"},
    {"m = {k:v for k,v in p if v}", "m = {k: v for k, v in p if v}\n"},
    {"g = fn(x)=>x**2", "g = fn(x) => x ** 2\n"},
    {"g = fn (x){return(x)}", "g = fn(x) { return (x) }\n"},
    {"backward   -x.mean()", "backward -x.mean()\n"},
    {"backward (a*b).sum()", "backward (a * b).sum()\n"},
    {"backward(a*b)", "backward(a * b)\n"},
    {"signal \"a\"backward \"b\"{x=1}", "signal \"a\" backward \"b\" { x = 1 }\n"},
    {"if a{b()}elif c{d()}\nelse{e()}", "if a { b() } elif c { d() }\nelse { e() }\n"},
    {"while a\n{b}", NULL},
    {"for i in r {\nx\n\n\n\ny\n\n}", "for i in r {\n    x\n\n    y\n}\n"},
    {"if a {\n\n# one\n      # two\nx # three\n}",
     "if a {\n    # one\n    # two\n    x # three\n}\n"},
    {"f(a,\n  b,\n      c)", "f(a,\n  b,\n    c)\n"},
    {"f(\na,\nb\n)", "f(\n    a,\n    b\n)\n"},
    {"x = [f(fn() {\ny\n}), {\na: 1}]", "x = [f(fn() {\n    y\n}), {\n    a: 1}]\n"},
    {"x = a +\nb", "x = a +\n    b\n"},
    {"x = a +\n    b *\n    c", "x = a +\n    b *\n    c\n"},
    {"if a and\nb {\nc\n}", "if a and\n        b {\n    c\n}\n"},
    {"assert a,\n\"b\" +\n  \"c\"", "assert a,\n    \"b\" +\n        \"c\"\n"},
    {"x=1   # a\nyy = 22  # b", "x = 1   # a\nyy = 22  # b\n"},
    {"x=1    # a\nyy=22  # b\n       # c", "x = 1    # a\nyy = 22  # b\n         # c\n"},
    {"s = \"\"\"a\n  b   \"\"\"  +f'{ x :>4}'", "s = \"\"\"a\n  b   \"\"\" + f'{ x :>4}'\n"},
    {"x = (a\n+ b, c\n+d)", "x = (a\n    + b, c\n    + d)\n"},
    {"{a\n, 3}", "{a\n     , 3}\n"},
    {"x = 1. .abs()+2.5 .abs()", "x = 1. .abs() + 2.5.abs()\n"},
    {"x = (1,\n", NULL},
    {"x = ]", NULL},
};

static void check_case(size_t k) {
    LangError e = {0};
    char *got = format(cases[k].text, strlen(cases[k].text), &e);
    if (cases[k].want && got)
        CHECK_STR(got, cases[k].want);
    else
        CHECK_MSG(!got == !cases[k].want, "case %zu: %s", k, got ? got : e.what);
    if (!got) CHECK(e.kind == E_SYNTAX || e.kind == E_INCOMPLETE);
    free(got);
}

static void check_file(const char *path) {
    Bytes text = {0};
    LangError e = {0};
    CHECK(bytes_read(&text, path, 1 << 24));
    char *once = format(text.data, text.n, &e);
    if (once) {
        char *twice = format(once, strlen(once), &e);
        CHECK_MSG(twice && !strcmp(once, twice), "%s: a second time changes it", path);
        free(twice);
    } else
        CHECK_MSG(e.kind != E_RUN, "%s: %s", path, e.what);
    free(once);
    bytes_fini(&text);
}

int main(void) {
    static const char *const pattern[] = {
        "tests/lang/*.gt", "tests/error/*.gt", "tests/programs/*.gt", "tests/fixtures/*.gt",
        "tests/nn/*.gt",   "tests/fuzz/*.gt",  "lang/prelude/*.gt",   "lang/prelude/*/*.gt"};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) check_case(k);
    int files = 0;
    for (size_t k = 0; k < sizeof pattern / sizeof *pattern; k++) {
        glob_t g;
        if (glob(pattern[k], 0, NULL, &g)) continue;
        for (size_t i = 0; i < g.gl_pathc; i++, files++) check_file(g.gl_pathv[i]);
        globfree(&g);
    }
    CHECK(files > 100);
    return check_report("formatter");
}
