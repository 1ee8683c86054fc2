/* error_test.c: the drawing of errors: tabs and wide characters above carets, hints that do not
 * fit, positions outside of the text, colour; exit codes; near names.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "lang/error/stack.h"
#include "runtime/base/utf8.h"
#include "runtime/base/words.h"

static Source source(const char *name, const char *text, uint32_t first_line) {
    return (Source){.name = name, .text = text, .n = strlen(text), .first_line = first_line};
}
static Span at(const Source *s, uint32_t line, uint16_t col, uint16_t len) {
    return (Span){s, line, col, len};
}

static void draws(const LangError *e, const char *severity, const char *want) {
    Bytes b = {0};
    error_print(e, severity, false, &b);
    CHECK_STR(b.data, want);
    bytes_fini(&b);
}

static void plain(void) {
    Source a = source("a.gt", "a = rondn(4, 4)\n", 3);
    LangError e = {0};
    CHECK(!error_at(&e, at(&a, 3, 5, 5), "'%s' is not defined", "rondn"));
    CHECK_INT(e.kind, E_RUN);
    error_hint(&e, "did you mean '%s'?", "randn");
    draws(&e, "error",
          "a.gt:3:5: error: 'rondn' is not defined\n"
          "  3 | a = rondn(4, 4)\n"
          "    |     ^^^^^ did you mean 'randn'?\n");
    error_hint(&e, "%s", "randn(4, 4)");
    draws(&e, "warning",
          "a.gt:3:5: warning: 'rondn' is not defined\n"
          "  3 | a = rondn(4, 4)\n"
          "    |     ^^^^^ hint: randn(4, 4)\n");
}

/* Of a line such as base64, only a part is shown, in whole characters, around the carets. */
static void long_line(void) {
    char text[3001], part[512], want[1024];
    for (int i = 0; i < 1500; i++) memcpy(text + 2 * (size_t)i, "\xc3\xa9", 2);
    text[3000] = 0;
    Source a = source("a.gti", text, 1);
    LangError e = {0};
    error_at(&e, at(&a, 1, 0, 0), "bad");
    snprintf(part, sizeof part, "%.400s", text);
    snprintf(want, sizeof want, "a.gti:1: error: bad\n  1 | %s ...\n", part);
    draws(&e, "error", want);
    memcpy(text + 2000, "xy", 2);
    e = (LangError){0};
    error_at(&e, at(&a, 1, 2001, 2), "bad");
    error_hint(&e, "good");
    snprintf(part, sizeof part, "%.100sxy%.298s", text, text);
    snprintf(want, sizeof want,
             "a.gti:1:2001: error: bad\n  1 | ... %s ...\n    |     %50s^^ hint: good\n", part, "");
    draws(&e, "error", want);
    memcpy(text + 2990, "xy", 2);
    e = (LangError){0};
    error_at(&e, at(&a, 1, 2991, 2), "bad");
    Bytes b = {0};
    error_print(&e, "error", false, &b);
    CHECK(b.n < 600 && strstr(b.data, "^^") && !strstr(b.data, "\xa9 ..."));
    bytes_fini(&b);
}

/* Text from files cannot send control sequences to the terminal; line breaks come from the program
 * only. */
static void controls(void) {
    Source a = source("a\x1b[2J.gti", "t0 = \x1b[1mx\n", 1);
    LangError e = {0};
    error_at(&e, at(&a, 1, 6, 1), "%s", "no '\x1b]0;t\x07' \n in caf\xc3\xa9 \xff\xc2\x9b");
    error_label(&e, at(&a, 1, 6, 1), "%s", "\x7f here");
    error_hint(&e, "%s", "\r\x08");
    draws(&e, "error",
          "a\\x1b[2J.gti:1:6: error: no '\\x1b]0;t\\x07' \\n in caf\xc3\xa9 \\xff\\xc2\\x9b\n"
          "  1 | t0 = ?[1mx\n"
          "    |      ^ \\x7f here      hint: \\x0d\\x08\n");
    e = (LangError){.kind = E_ASSERT};
    error_set(&e, "two\nlines\x1b");
    draws(&e, "error", "gtsh: error: two\nlines\\x1b\n");
}

static void labels(void) {
    Source a = source("a.gt", "y = x @ w2\ne = yhat - y\n", 9);
    LangError e = {0};
    error_at(&e, at(&a, 9, 7, 1),
             "cannot multiply (64, 784) @ (256, 10): inner sizes 784 and 256 differ");
    error_label(&e, at(&a, 9, 5, 1), "(64, 784), made at a.gt:7");
    error_label(&e, at(&a, 9, 9, 2), "(256, 10), made at a.gt:5");
    error_hint(&e, "did you skip fc1, or want w1?");
    draws(&e, "error",
          "a.gt:9:7: error: cannot multiply (64, 784) @ (256, 10): inner sizes 784 and 256 differ\n"
          "  9 | y = x @ w2\n"
          "    |     ^   ^^ (256, 10), made at a.gt:5\n"
          "    |     (64, 784), made at a.gt:7      hint: did you skip fc1, or want w1?\n");
    e = (LangError){0};
    error_at(&e, at(&a, 10, 10, 1), "shapes do not broadcast: (32, 10) - (32)");
    error_label(&e, at(&a, 10, 5, 4), "%s", "");
    error_label(&e, at(&a, 10, 12, 1), "aligned right: 10 vs 32");
    error_hint(&e, "y.unsqueeze(1) makes (32, 1)");
    draws(&e, "error",
          "a.gt:10:10: error: shapes do not broadcast: (32, 10) - (32)\n"
          " 10 | e = yhat - y\n"
          "    |     ^^^^   ^ aligned right: 10 vs 32      hint: y.unsqueeze(1) makes (32, 1)\n");
    /* A label at the position itself, and one on another line. */
    e = (LangError){0};
    error_at(&e, at(&a, 10, 5, 4), "'yhat' is a value");
    error_label(&e, e.at, "here");
    error_label(&e, at(&a, 9, 1, 1), "made here");
    error_hint(&e, "param(yhat)");
    draws(&e, "error",
          "a.gt:10:5: error: 'yhat' is a value\n"
          " 10 | e = yhat - y\n"
          "    |     ^^^^ here\n"
          "  9 | y = x @ w2\n"
          "    | ^ made here      hint: param(yhat)\n");
    /* Labels beyond the limit are dropped. */
    for (int k = 0; k < 5; k++) error_label(&e, e.at, "%d", k);
    CHECK_INT(e.n_labels, 3);
}

static void no_column(void) {
    Source a = source("a.gt", "for i in range(10) {\n", 14);
    LangError e = {.kind = E_INCOMPLETE};
    error_at(&e, at(&a, 20, 0, 0), "block opened at a.gt:14 is never closed");
    error_label(&e, at(&a, 14, 20, 1), "still open at end of file (2 deep: for:14, if:16)");
    draws(&e, "error",
          "a.gt:20: error: block opened at a.gt:14 is never closed\n"
          " 14 | for i in range(10) {\n"
          "    |                    ^ still open at end of file (2 deep: for:14, if:16)\n");
    e = (LangError){0};
    error_set(&e, "unknown option '--foo'");
    error_hint(&e, "did you mean '--for'?");
    draws(&e, "error", "gtsh: error: unknown option '--foo'\n    did you mean '--for'?\n");
    e = (LangError){0};
    error_at(&e, at(&a, 99, 3, 2), "beyond the text");
    draws(&e, "error", "a.gt:99:3: error: beyond the text\n");
    error_hint(&e, "h");
    draws(&e, "error", "a.gt:99:3: error: beyond the text\n    hint: h\n");
    e = (LangError){0};
    error_at(&e, at(&a, 14, 500, 9), "beyond the line");
    draws(&e, "error",
          "a.gt:14:500: error: beyond the line\n 14 | for i in range(10) {\n    |                  "
          "   ^\n");
}

/* Tabs stay tabs, so that the caret is below its character at any tab width; wide characters take
 * two columns. */
static void columns(void) {
    Source a = source("a.gt",
                      "\tx = \tfoo\ns = \"h\xc3\xa9llo \xe6\x97\xa5\xe6\x9c\xac\" + 1\nx\x1b[31m = "
                      "1\r\n\xff = 2\n",
                      1);
    LangError e = {0};
    error_at(&e, at(&a, 1, 7, 3), "m");
    draws(&e, "error", "a.gt:1:7: error: m\n  1 | \tx = \tfoo\n    | \t    \t^^^\n");
    e = (LangError){0};
    error_at(&e, at(&a, 2, 21, 1), "m");
    draws(&e, "error",
          "a.gt:2:21: error: m\n  2 | s = \"h\xc3\xa9llo \xe6\x97\xa5\xe6\x9c\xac\" + 1\n    |     "
          "             ^\n");
    e = (LangError){0};
    error_at(&e, at(&a, 2, 13, 6), "m");
    draws(&e, "error",
          "a.gt:2:13: error: m\n  2 | s = \"h\xc3\xa9llo \xe6\x97\xa5\xe6\x9c\xac\" + 1\n    |     "
          "       ^^^^\n");
    e = (LangError){0};
    error_at(&e, at(&a, 3, 8, 1), "m");
    draws(&e, "error", "a.gt:3:8: error: m\n  3 | x?[31m = 1\n    |        ^\n");
    e = (LangError){0};
    error_at(&e, at(&a, 4, 1, 1), "m");
    draws(&e, "error", "a.gt:4:1: error: m\n  4 | ? = 2\n    | ^\n");
}

static void long_texts(void) {
    Source a = source("a.gt", "x = f(y)\n", 1);
    LangError e = {0};
    error_at(&e, at(&a, 1, 5, 1), "m");
    error_label(&e, e.at, "%s",
                "a label that is as long as labels of workers that tell about their memory tend to "
                "be, all in all");
    error_hint(&e, "a smaller batch, or another signal");
    draws(&e, "error",
          "a.gt:1:5: error: m\n  1 | x = f(y)\n"
          "    |     ^ a label that is as long as labels of workers that tell about their memory "
          "tend to be, all in all\n"
          "    | hint: a smaller batch, or another signal\n");
    /* Text that does not fit is cut between characters. */
    char big[4096];
    for (int shift = 0; shift < 3; shift++) {
        memset(big, 'a', sizeof big);
        for (size_t k = (size_t)shift; k + 2 < sizeof big; k += 2) memcpy(big + k, "\xc3\xa9", 2);
        big[sizeof big - 1] = '\0';
        error_set(&e, "%s", big);
        error_hint(&e, "%s", big);
        for (size_t i = 0, n = strlen(e.what); i < n;) {
            int len = utf8_decode(e.what + i, n - i, NULL);
            CHECK(len > 0);
            i += len ? (size_t)len : 1;
        }
        CHECK(strlen(e.what) >= sizeof e.what - 2);
    }
    Bytes b = {0};
    error_print(&e, "error", false, &b);
    CHECK(b.n > 1000);
    bytes_fini(&b);
}

/* The columns of a row of text. */
static int wide(const char *s, size_t n) {
    int columns = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp = 0;
        int len = utf8_decode(s + i, n - i, &cp);
        columns += len ? utf8_width(cp) : 1;
        i += len ? (size_t)len : 1;
    }
    return columns;
}

/* On a terminal no row is wider than that, and the carets are below the text that they point at. */
static void on_terminals(void) {
    static const char *const filler[] = {"abc ", "\xc3\xa9", "\xe6\x97\xa5", "\t"};
    for (int f = 0; f < 4; f++)
        for (int before = 0; before < 200; before += 7)
            for (int columns = 30; columns < 130; columns += 9) {
                Bytes line = {0}, b = {0};
                for (int i = 0; i < before; i++) bytes_puts(&line, filler[f]);
                uint16_t col = (uint16_t)(line.n + 1);
                bytes_puts(&line, "MARK");
                for (int i = 0; i < 150 - before; i++) bytes_puts(&line, filler[f]);
                Source a = source("a.gt", line.data, 1);
                LangError e = {0};
                error_at(&e, at(&a, 1, col, 4), "bad");
                if (before % 2) error_label(&e, e.at, "a label here");
                error_hint(&e, "a hint");
                Source caller = source("caller.gt", line.data, 1);
                error_frame(&e, &(ErrorFrame){.name = "f", .call = at(&caller, 1, 1, 1)});
                e.is_unfolded = before % 3 == 0;
                error_print_on(&e, "error", false, columns, &b);
                const char *mark = strstr(b.data, "MARK"), *caret = strstr(b.data, "^^^^");
                CHECK_MSG(mark && caret, "%s", b.data);
                if (!mark || !caret) continue;
                const char *row = mark, *below = caret;
                while (row[-1] != '\n') row--;
                while (below[-1] != '\n') below--;
                bool has_tabs = memchr(row, '\t', (size_t)(mark - row)) != NULL;
                CHECK_MSG(wide(row, (size_t)(mark - row)) == wide(below, (size_t)(caret - below)),
                          "%d columns\n%s", columns, b.data);
                for (const char *s = row; *s && !has_tabs; s += strcspn(s, "\n") + 1)
                    CHECK_MSG(wide(s, strcspn(s, "\n")) <= columns, "%d columns\n%s", columns,
                              b.data);
                bytes_fini(&b);
                bytes_fini(&line);
            }
    Source a = source(
        "a.gt", "value = first_function(1, 2) + second_function(3, missing_name, 4) + third(5)\n",
        1);
    LangError e = {0};
    error_at(&e, at(&a, 1, 51, 12), "'missing_name' is not defined");
    error_label(&e, e.at, "a label that is too long for here");
    Bytes b = {0};
    error_print_on(&e, "error", false, 60, &b);
    CHECK_STR(b.data, "a.gt:1:51: error: 'missing_name' is not defined\n"
                      "  1 | ... ) + second_function(3, missing_name, 4) + third(5)\n"
                      "    |                            ^^^^^^^^^^^^\n"
                      "    |                      a label that is too long for here\n");
    bytes_fini(&b);
}

static void colour(void) {
    Source a = source("a.gt", "x = f(y)\n", 1);
    LangError e = {0};
    Bytes b = {0};
    error_at(&e, at(&a, 1, 5, 1), "m");
    error_print(&e, "error", true, &b);
    CHECK_STR(b.data, "\033[1ma.gt:1:5: \033[0m\033[1;31merror: \033[0mm\n  1 | x = f(y)\n    |    "
                      " \033[1;31m^\033[0m\n");
    bytes_fini(&b);
}

static void codes(void) {
    static const int want[] = {
        [E_NONE] = 0,    [E_SYNTAX] = 65,     [E_INCOMPLETE] = 65, [E_RUN] = 1,
        [E_ASSERT] = 1,  [E_INTERRUPT] = 130, [E_EXIT] = 7,        [E_GONE] = 69,
        [E_CONFIG] = 78, [E_NOINPUT] = 66};
    for (int k = E_NONE; k <= E_NOINPUT; k++) {
        LangError e = {.kind = (ErrorKind)k, .exit_code = 7};
        CHECK_INT(error_exit_code(&e), want[k]);
    }
    Err err = {.code = ERR_GONE, .text = "lost", .hint = "again"};
    LangError e = {0};
    CHECK(!error_from(&e, &err));
    CHECK_INT(e.kind, E_GONE);
    CHECK_STR(e.what, "lost");
    CHECK_STR(e.hint, "again");
}

static void names(void) {
    static const char *const list[] = {"randn", "rand", "ones", "axis",    "forward_layer1",
                                       "x",     "lr",   NULL,   "keepdims"};
    static const struct {
        const char *typed, *want;
    } cases[] = {
        {"rondn", "randn"},
        {"axes", "axis"},
        {"foward_layer1", "forward_layer1"},
        {"randn", "rand"},
        {"xyz", NULL},
        {"y", NULL},
        {"r", NULL},
        {"onse", "ones"},
        {"keepdim", "keepdims"},
        {"keep_dims", "keepdims"},
        {"loss", NULL},
        {"", NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *got =
            nearest_name(cases[k].typed, strlen(cases[k].typed), list, sizeof list / sizeof *list);
        CHECK_MSG(got == cases[k].want || (got && cases[k].want && !strcmp(got, cases[k].want)),
                  "'%s' is near '%s'", cases[k].typed, got ? got : "none");
    }
    char big[300];
    memset(big, 'a', sizeof big);
    CHECK(nearest_name(big, sizeof big, list, 9) == NULL);
    CHECK_STR(habit_hint("null", 4), "write none");
    CHECK(habit_hint("loss", 4) == NULL);
}

static void words(void) {
    static const char *const rows[][2] = {{"let var", "1"}, {"x", "2"}, {"var", "3"}};
    const char *list = "a bc";
    size_t n;
    CHECK(words_have(list, "bc", 2) && words_have(list, "a", 1));
    CHECK(!words_have(list, "b", 1) && !words_have(list, "c", 1) && !words_have(list, "a bc", 4));
    CHECK(!words_have("", "", 0) && !words_have(list, "", 0));
    CHECK(words_next(&list, &n) && n == 1 && words_next(&list, &n) && n == 2);
    CHECK(!words_next(&list, &n));
    CHECK_STR(words_row(rows, 3, "var", 3), "1");
    CHECK(words_row(rows, 3, "le", 2) == NULL);
}

static void spans(void) {
    Source a = source("a.gt", "x = 1\ny = 22\n", 5);
    size_t n;
    CHECK(!memcmp(span_text(at(&a, 6, 5, 2), &n), "22", 2));
    CHECK_INT(n, 2);
    CHECK(span_text(at(&a, 6, 5, 99), &n) != NULL);
    CHECK_INT(n, 2);
    CHECK(span_text(at(&a, 9, 1, 1), &n) == NULL);
    CHECK(span_text((Span){0}, &n) == NULL);
}

int main(void) {
    plain();
    long_line();
    controls();
    labels();
    no_column();
    columns();
    long_texts();
    on_terminals();
    colour();
    codes();
    names();
    words();
    spans();
    return check_report("error");
}
