/* paint_test.c: the classes of a text's bytes, matching brackets, indents, and the drawing of lines
 * on a terminal, against a model that writes the text alone.
 * SPDX-License-Identifier: MIT */
#include "lang/complete/paint.h"
#include "lang/eval/run.h"
#include "lang/shell/draw.h"
#include "lang/shell/typing_line.h"
#include "tests/unit/check.h"
#include "tests/unit/terminal.h"

/* k keyword, b builtin, s string, n number, c comment, u undefined, . plain */
static const char letters[] = ".kbsncu";

static const struct {
    const char *text, *want;
} rows[] = {
    {"x = 1", "....n"},
    {"if x { }", "kk.u...."},
    {"print(\"a\")", "bbbbb.sss."},
    {"f\"{x}\" # c", "ss.u.s.ccc"},
    {"f\"a {known} {1 + zz:.2f}\"", "ssss.......s.n...uussss.s"},
    {"f\"{{x}} {known", "ssssssss......"},
    {"f'{relu(\"a\")}'", "ss.bbbb.sss..s"},
    {"\"{known}\"", "sssssssss"},
    {"'open", "sssss"},
    {"known + other", "........uuuuu"},
    {"nn.Linear", "bb......."},
    {"x.mean()", "u......."},
    {"sum(axis=0)", "bbb......n."},
    {"{key: 1}", "......n."},
    {"signal rows { }", "kkkkkk........."},
    {"signal.enter", "bbbbbb......"},
    {"t = time()", "....bbbb.."},
    {"backward known", "kkkkkkkk......"},
    {"x.backward()", "u..........."},
    {"no_grad { }", "kkkkkkk...."},
    {"a = 1\na + b", "....n|....u"},
    {"fn f(p) => p", "kk.........."},
    {"fn f(p, q=1) { return q }", "kk........n....kkkkkk...."},
    {"import nn as q", "kkkkkk....kk.."},
    {"true and none", "kkkk.kkk.kkkk"},
    {"x.in", "u..."},
    {"0x1f 1e-3 .5", "nnnn.nnnn.nn"},
    {"a $ b", "u.u.u"},
    {"# all", "ccccc"},
    {"\"\"\"a\nb", "ssss|s"},
    {"float32", "bbbbbbb"},
    {"pi * 2", "bb...n"},
    {"relu", "bbbb"},
    {"self.x", "......"},
};

static void classes(Interp *in) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t class[64];
        char got[65];
        size_t n = strlen(rows[i].text);
        paint_text(in, &(PaintText){rows[i].text, n, 0, SIZE_MAX, false}, class);
        for (size_t k = 0; k < n; k++) got[k] = rows[i].text[k] == '\n' ? '|' : letters[class[k]];
        got[n] = '\0';
        CHECK_MSG(!strcmp(got, rows[i].want), "%s\n%s, not\n%s", rows[i].text, got, rows[i].want);
    }
    uint8_t class[8]; /* a word that may be unfinished is not undefined */
    paint_text(in, &(PaintText){"a undef", 7, 0, 7, false}, class);
    CHECK_INT(class[0], PAINT_UNKNOWN);
    CHECK_INT(class[2], PAINT_PLAIN);
}

static void brackets(void) {
    static const struct {
        const char *text;
        size_t cursor;
        int bracket, partner; /* -1: none */
    } all[] = {{"f(x)", 4, 3, 1},       {"f(x)", 1, 1, 3},    {"f(x)", 2, 1, 3},
               {"f(x)", 3, 3, 1},       {"f(x]", 4, -1, -1},  {"f(\")\")", 6, 5, 1},
               {"f(\")\")", 4, -1, -1}, {"a[b{c}]", 7, 6, 1}, {"(", 1, -1, -1},
               {"# (\n)", 5, -1, -1},   {"{\n}", 3, 2, 0},    {"abc", 2, -1, -1},
               {"", 0, -1, -1},         {"((x))", 5, 4, 0},   {"((x))", 4, 3, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t a = 0, b = 0;
        bool found = paint_match(all[i].text, strlen(all[i].text), all[i].cursor, &a, &b);
        CHECK_MSG(found == (all[i].bracket >= 0), "%s at %zu", all[i].text, all[i].cursor);
        if (found) CHECK_INT((int)a, all[i].bracket);
        if (found) CHECK_INT((int)b, all[i].partner);
    }
}

static void indents(void) {
    static const struct {
        const char *text;
        size_t in, out;
    } all[] = {{"fn f() {\n", 4, 0},
               {"fn f() {\n    if x {\n", 8, 4},
               {"fn f() {\n    if x {\n        y\n    }\n", 4, 0},
               {"x = [1,\n", 4, 0},
               {"f(a,\n    g(b,\n", 8, 4},
               {"x = 1 +\n", 4, 0},
               {"s = \"\"\"a\n", 0, 0},
               {"x = 1\n", 0, 0},
               {"if c { # {{{\n", 4, 0},
               {"", 0, 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK_INT(paint_indent(all[i].text, strlen(all[i].text)), all[i].in);
        CHECK_INT(paint_outdent(all[i].text, strlen(all[i].text)), all[i].out);
    }
}

/* ---- drawing ---- */

static uint64_t seed = 7;
static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void edit(Bytes *text) {
    static const char *const parts[] = {"a",
                                        "b ",
                                        "(",
                                        "\n",
                                        "\xc3\xa4",

                                        "x = 1",
                                        "if ",
                                        "\xe6\x97\xa5\xe6\x9c\xac",
                                        "\n\n",
                                        "long words that fill a row, and more "};
    if (below(5) == 0 && text->n) {
        size_t keep = utf8_skip(text->data, text->n, below((uint32_t)text->n + 1));
        text->n = keep;
        text->data[keep] = '\0';
        return;
    }
    bytes_puts(text, parts[below(sizeof parts / sizeof *parts)]);
}

/* What a terminal shows of the prompt and the text alone. */
static char *model(const char *prompt, const Bytes *text, int width, int height) {
    Terminal t;
    terminal_init(&t, width, height);
    terminal_feed(&t, prompt, strlen(prompt));
    for (size_t i = 0; i < text->n; i++)
        terminal_feed(&t, text->data[i] == '\n' ? "\r\n" : text->data + i,
                      text->data[i] == '\n' ? 2 : 1);
    if (t.x == t.width) terminal_feed(&t, "\r\n", 2); /* the cursor takes a row of its own */
    return terminal_text(&t);
}

static void drawing(void) {
    for (int round = 0; round < 60; round++) {
        int width = 4 + (int)below(40), height = 3 + (int)below(10);
        Terminal t;
        Drawing d = {0};
        Bytes text = {0};
        terminal_init(&t, width, height);
        for (int step = 0; step < 40; step++) {
            uint8_t class[4096];
            Bytes out = {0};
            edit(&text);
            if (text.n > sizeof class) text.n = 0;
            for (size_t i = 0; i < text.n; i++) {
                bool is_inside = ((unsigned char)text.data[i] & 0xc0) == 0x80;
                class[i] = is_inside ? class[i - 1] : (uint8_t)below(PAINT_COUNT);
            }
            size_t cursor = below(2) ? text.n
                                     : utf8_skip(text.data ? text.data : "", text.n,
                                                 below((uint32_t)text.n + 1));
            DrawText line = {.prompt = "gt> ",
                             .text = text.data ? text.data : "",
                             .n = text.n,
                             .cursor = cursor,
                             .class = below(2) ? class : NULL};
            draw(&d, &line, width, height, &out);
            if (cursor != text.n) { /* and back, which shows the end of a long text */
                line.cursor = text.n;
                draw(&d, &line, width, height, &out);
            }
            terminal_feed(&t, out.data, out.n);
            char *want = model("gt> ", &text, width, height), *got = terminal_text(&t);
            CHECK_MSG(!strcmp(want, got), "width %d height %d: '%s'\n%s---- not\n%s", width, height,
                      text.data, got, want);
            CHECK(t.x == d.col_cursor && t.unknown == 0);
            free(want);
            free(got);
            bytes_fini(&out);
        }
        draw_forget(&d);
        bytes_fini(&text);
    }
}

/* A key at the end of 200 lines writes one row, not the text. */
static void little_is_written(void) {
    Drawing d = {0};
    Bytes text = {0}, out = {0};
    for (int i = 0; i < 200; i++) bytes_printf(&text, "x%d = %d\n", i, i);
    DrawText line = {.prompt = "gt> ", .text = text.data, .n = text.n, .cursor = text.n};
    draw(&d, &line, 80, 40, &out);
    out.n = 0;
    bytes_putc(&text, 'y');
    line = (DrawText){.prompt = "gt> ", .text = text.data, .n = text.n, .cursor = text.n};
    draw(&d, &line, 80, 40, &out);
    CHECK_MSG(out.n < 40, "%zu bytes", out.n);
    draw_forget(&d);
    bytes_fini(&out);
    bytes_fini(&text);
}

/* A list of candidates fits its terminal, whatever the size. */
static void lists(Interp *in) {
    static const char *const texts[] = {"tensor([1]).", "nn.", "sum(", "known", "optim.SGD(", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int width = 20; width < 200; width += 7)
            for (int height = 4; height < 60; height += 9) {
                Completion c;
                Bytes out = {0};
                size_t n = strlen(texts[i]);
                line_complete(in, "", 0, texts[i], n, n, &c);
                CHECK(c.n > 0);
                c.signature = NULL; /* may take several rows */
                line_list(&c, width, height, false, &out);
                int n_rows = 0, columns = 0, widest = 0;
                for (size_t k = 0; k < out.n; k++) {
                    bool is_inside = ((unsigned char)out.data[k] & 0xc0) == 0x80;
                    columns = out.data[k] == '\n' ? 0 : columns + !is_inside;
                    n_rows += out.data[k] == '\n';
                    if (columns > widest) widest = columns;
                }
                CHECK_MSG(n_rows < height && widest <= width, "%s: %d rows of %d, %d of %d columns",
                          texts[i], n_rows, height, widest, width);
                completion_fini(&c);
                bytes_fini(&out);
            }
}

/* What the prompt uses of a long statement: the indents are those of all lines, only the line is
 * painted, and no name that may be defined in what was left out is unknown. */
static void parts(Interp *in) {
    static const char *const lines[] = {
        "fn f(x) {",         "    y = [x,",       "        2]", "    if y {",    "        g(x, {",
        "            a: 1,", "            b: 2,", "        })", "        z = y", "    }",
        "    else {"};
    Bytes all = {0}, rest = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char open_with;
        bytes_printf(&all, "%s\n", lines[i]);
        bytes_printf(&rest, "%s\n", lines[i]);
        CHECK(parse_open_text(&rest, &open_with));
        CHECK_INT(paint_indent(rest.data, rest.n), paint_indent(all.data, all.n));
        CHECK_INT(paint_outdent(rest.data, rest.n), paint_outdent(all.data, all.n));
    }
    CHECK_MSG(rest.n < all.n && !strstr(rest.data, "z = y"), "%s", rest.data);
    size_t from = rest.n;
    bytes_puts(&rest, "z relu f(1)");
    uint8_t class[256];
    memset(class, 255, sizeof class);
    PaintText p = {.text = rest.data, .n = rest.n, .from = from, .cursor = SIZE_MAX};
    paint_text(in, &p, class);
    CHECK_INT(class[0], 255);
    CHECK_INT(class[from - 1], 255);
    CHECK_INT(class[from], PAINT_UNKNOWN);
    p.is_part = true;
    paint_text(in, &p, class);
    CHECK_INT(class[from], PAINT_PLAIN);
    CHECK_INT(class[from + 2], PAINT_BUILTIN);
    CHECK_INT(class[from + 9], PAINT_NUMBER);
    bytes_fini(&all);
    bytes_fini(&rest);
}

int main(void) {
    LangError e = {0};
    InterpConfig config = {.width = 80, .stream = {.mode = STREAM_CHECK, .workers = 1}};
    Interp *in = interp_new(&config, &e);
    Source *src = interp_source(in, "test", "known = 1", 9, 1, false);
    Program *p = parse_program(src, NULL, NULL, NULL, &e);
    CHECK(p && interp_run(in, p, false, &e));
    classes(in);
    parts(in);
    brackets();
    indents();
    drawing();
    little_is_written();
    lists(in);
    interp_free(&in);
    return check_report("paint");
}
