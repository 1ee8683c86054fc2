/* parse_test.c: the parser against trees and messages in tests/golden/parse_*.txt, what is
 * incomplete and what the prompt shows then, warnings, limits, every prefix of a program, and every
 * block of the specification, if it is there. SPDX-License-Identifier: MIT */
#include "check.h"
#include "lang/syntax/ast.h"
#include "lang/syntax/lex.h"
#include "runtime/base/limits.h"

static char *read_file(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    Bytes b = {0};
    char chunk[4096];
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, f)) > 0;) bytes_add(&b, chunk, got);
    fclose(f);
    *n = b.n;
    return b.data;
}

static void add_warning(void *ctx, const LangError *w) { error_print(w, "warning", false, ctx); }

typedef struct Parsed {
    bool ok;
    ErrorKind kind;
    char open_with;
    Bytes text, warnings;
    char what[256];
} Parsed;

/* The tree, or the message; the caller frees text and warnings. */
static Parsed parse(const char *s, size_t n, bool is_prompt) {
    Source src = {.name = "a.gt", .text = s, .n = n, .first_line = 1, .is_prompt = is_prompt};
    Parsed r = {0};
    LangError e = {0};
    Program *p = parse_program(&src, add_warning, &r.warnings, &r.open_with, &e);
    r.ok = p != NULL;
    r.kind = e.kind;
    snprintf(r.what, sizeof r.what, "%.250s", e.what);
    if (p)
        ast_print(p->body, &r.text);
    else
        error_print(&e, "error", false, &r.text);
    program_free(&p);
    return r;
}
static void done(Parsed *r) {
    bytes_fini(&r->text);
    bytes_fini(&r->warnings);
}

/* ---- golden files ---- */

/* Cases "source\n=>\nexpected\n---\n". Before the first case, lines with # are comments. */
static void golden(const char *path, bool is_error) {
    size_t n;
    char *text = read_file(path, &n), *at = text;
    CHECK_MSG(text != NULL, "cannot read %s", path);
    if (!text) return;
    while (*at == '#' && at[1] == ' ') at += strcspn(at, "\n") + 1;
    int cases = 0;
    while (*at) {
        char *arrow = strstr(at, "\n=>\n"), *end = arrow ? strstr(arrow, "\n---") : NULL;
        CHECK_MSG(end != NULL, "%s: case %d has no end", path, cases + 1);
        if (!end) break;
        *arrow = '\0';
        char *want = arrow + 4;
        char *next = end + 4 + (end[4] == '\n');
        end[1] = '\0';
        Parsed r = parse(at, strlen(at), false);
        CHECK_MSG(!strcmp(r.text.data, want), "%s: the program\n%s\ngives\n%snot\n%s", path, at,
                  r.text.data, want);
        CHECK_MSG(r.ok != is_error && (!is_error || r.kind == E_SYNTAX), "%s: kind %d of\n%s", path,
                  (int)r.kind, at);
        done(&r);
        at = next;
        cases++;
    }
    CHECK(cases > 100);
    free(text);
}

/* ---- incomplete ---- */

static void incomplete(void) {
    static const struct {
        const char *text;
        char open_with;
        const char *what;
    } cases[] = {
        {"for i in range(10) {\n  if x {\n    y = 1\n", '{',
         "block opened at a.gt:1 is never closed"},
        {"fn f(x) {\n", '{', "block opened at a.gt:1 is never closed"},
        {"if x {\n y\n} else {", '{', "block opened at a.gt:3 is never closed"},
        {"f(a,\n", '(', "'(' opened at a.gt:1:2 is never closed"},
        {"x = [1,\n 2", '[', "'[' opened at a.gt:1:5 is never closed"},
        {"m = {a: 1,", '{', "'{' opened at a.gt:1:5 is never closed"},
        {"f(fn() {\n g([\n", '[', "'[' opened at a.gt:2:4 is never closed"},
        {"f(fn() {\n g()\n", '{', "block opened at a.gt:1 is never closed"},
        {"x = 1 +", 0, "the text ends after '+'"},
        {"x =", 0, "the text ends after '='"},
        {"x.", 0, "the text ends after '.'"},
        {"fn f(x) =>\n\n", 0, "the text ends after '=>'"},
        {"a, b,\n", 0, "the text ends after ','"},
        {"x and", 0, "the text ends after 'and'"},
        {"x = y if", 0, "the text ends after 'if'"},
        {"x += # note", 0, "the text ends after '+='"},
        {"x = \"\"\"abc\n\n", '"', "this string is never closed"},
        {"x = f'''abc {y}\n", 'f', "this string is never closed"},
        {"fn f(a,", '(', "'(' opened at a.gt:1:5 is never closed"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Parsed r = parse(cases[k].text, strlen(cases[k].text), true);
        CHECK_MSG(!r.ok && r.kind == E_INCOMPLETE, "%s\nis kind %d", cases[k].text, (int)r.kind);
        CHECK_INT(r.open_with, cases[k].open_with);
        CHECK_STR(r.what, cases[k].what);
        done(&r);
    }
    /* Text that looks incomplete but is wrong, whatever follows. */
    static const char *const wrong[] = {"x = 1 if c\n", "x = \"abc\n", "if x\n",   "f(a b",
                                        "x = [1, }",    "1 2 {",       "f\"{x\"\n"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        Parsed r = parse(wrong[k], strlen(wrong[k]), true);
        CHECK_MSG(!r.ok && r.kind == E_SYNTAX, "%s\nis kind %d", wrong[k], (int)r.kind);
        done(&r);
    }
}

static void unclosed_text(void) {
    Parsed r = parse("x = 1\nfor i in range(10) {\n\tif x {\n    y = 1\n\n", 46, false);
    CHECK_STR(r.text.data,
              "a.gt:4: error: block opened at a.gt:2 is never closed\n"
              "  2 | for i in range(10) {\n"
              "    |                    ^ still open at end of file (2 deep: for:2, if:3)\n");
    done(&r);
}

/* ---- warnings ---- */

static void warnings(void) {
    static const struct {
        const char *text, *warning;
        bool is_prompt;
    } cases[] = {
        {"if a & 1 == 0 { }",
         "a.gt:1:6: warning: '&' binds looser than comparisons\n  1 | if a & 1 == 0 { }\n"
         "    |      ^ hint: (a & 1) == 0 compares the bits; a & (1 == 0) is what this means\n",
         false},
        {"y = 0 != a | 4",
         "a.gt:1:12: warning: '|' binds looser than comparisons\n  1 | y = 0 != a | 4\n"
         "    |            ^ hint: (a | 1) == 0 compares the bits; a | (1 == 0) is what this "
         "means\n",
         false},
        {"y = x > 0 & x < 1", "", false},
        {"y = (a & 1) == 0", "", false},
        {"y = a & (1 == 0)", "", false},
        {"y = mask & x == 0", "", false},
        {"x.clamp(0, 1)",
         "a.gt:1:1: warning: result not used\n  1 | x.clamp(0, 1)\n    | ^^^^^^^^^^^^^ did you "
         "mean x = x.clamp(0, 1)?\n",
         false},
        {"relu(x)",
         "a.gt:1:1: warning: result not used\n  1 | relu(x)\n    | ^^^^^^^ did you mean x = "
         "relu(x)?\n",
         false},
        {"x == 3",
         "a.gt:1:1: warning: result not used\n  1 | x == 3\n    | ^^^^^^ did you mean x = 3?\n",
         false},
        {"x + 1",
         "a.gt:1:1: warning: result not used\n  1 | x + 1\n    | ^^^^^ did you mean x += 1?\n",
         false},
        {"fn f(x) { -x }",
         "a.gt:1:11: warning: result not used\n  1 | fn f(x) { -x }\n    |           ^^ hint: "
         "return -x\n",
         false},
        {"x + 1", "", true},
        {"xs.sort(); m.update(x); f(x); x; \"text\"; x and f()", "", false},
        {"fn relu(x) { print(x) }\nrelu(3)", "", false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Parsed r = parse(cases[k].text, strlen(cases[k].text), cases[k].is_prompt);
        CHECK_MSG(r.ok, "%s\n%s", cases[k].text, r.text.data);
        CHECK_STR(r.warnings.data ? r.warnings.data : "", cases[k].warning);
        done(&r);
    }
}

/* The flag of the target in `fn f(w) { ... }`'s statement k. */
static void unread(void) {
    static const struct {
        const char *text;
        bool unread;
    } cases[] = {
        {"fn f(w) { w[0] = 1 }", true},
        {"fn f(w) { w[0] += 1 }", true},
        {"fn f(w) { w[0] = 1; return w }", false},
        {"fn f(w) { w[0] = w[1] }", true},
        {"fn f(w) { w[0] = 1; g(w) }", false},
        {"fn f(w) { w[0] = 1; return fn() => w }", false},
        {"fn f(w) { for i in a { w[0] = 1 } }", true},
        {"fn f(w) { for i in a { w[0] = w[1] } }", false},
        {"fn f(w) { while g(w) { w[0] = 1 } }", false},
        {"fn f(w) { [w for w in w]; w[0] = 1 }", true},
        {"fn f(v) { w = v; w[0] = 1 }", true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Source src = {
            .name = "a.gt", .text = cases[k].text, .n = strlen(cases[k].text), .first_line = 1};
        LangError e = {0};
        Program *p = parse_program(&src, NULL, NULL, NULL, &e);
        CHECK_MSG(p != NULL, "%s: %s", cases[k].text, e.what);
        if (!p) continue;
        bool found = false, flagged = false;
        Node *stack[64] = {p->body->kid[0]->fn->body};
        for (int n = 1; n > 0;) {
            Node *x = stack[--n];
            if ((x->kind == N_ASSIGN || x->kind == N_AUGASSIGN) && x->kid[0]->kind == N_INDEX) {
                found = true;
                flagged = x->kid[0]->flag & NODE_UNREAD;
            }
            for (uint32_t i = 0; i < x->n_kids && n < 60; i++)
                if (x->kid[i]) stack[n++] = x->kid[i];
        }
        CHECK(found);
        CHECK_MSG(flagged == cases[k].unread, "%s: flag is %d", cases[k].text, (int)flagged);
        program_free(&p);
    }
}

/* ---- limits ---- */

static void repeat(const char *open, const char *middle, const char *close, int n, bool want_ok,
                   const char *what) {
    Bytes b = {0};
    for (int k = 0; k < n; k++) bytes_puts(&b, open);
    bytes_puts(&b, middle);
    for (int k = 0; k < n; k++) bytes_puts(&b, close);
    Parsed r = parse(b.data, b.n, false);
    CHECK_MSG(r.ok == want_ok, "%d of '%s': %s", n, open, r.what);
    if (!want_ok) CHECK_MSG(strstr(r.what, what) != NULL, "%d of '%s': %s", n, open, r.what);
    done(&r);
    bytes_fini(&b);
}

static void limits(void) {
    static const char *const pairs[][3] = {
        {"(", "x", ")"},           {"[", "x", "]"},
        {"{a: ", "1", "}"},        {"f(", "x", ")"},
        {"x[", "0", "]"},          {"-", "x", ""},
        {"not ", "x", ""},         {"2 ** ", "x", ""},
        {"if x { ", "y", " }"},    {"fn() => ", "x", ""},
        {"x if y else ", "z", ""}, {"fn(a=", "1", ") => 1"},
        {"f\"{", "x", "}\""},      {"[x for x in ", "y", "]"},
        {"signal a { ", "y", "}"},
    };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        repeat(pairs[k][0], pairs[k][1], pairs[k][2], 40, true, "");
        repeat(pairs[k][0], pairs[k][1], pairs[k][2], 100000, false,
               k == 12 ? "never closed" : "nested more than 200 deep");
    }
    repeat("x + ", "y", "", MAX_TREE_HEIGHT - 10, true, "");
    repeat("x + ", "y", "", 100000, false, "more than 1000 operations deep");
    repeat("", "x", ".f", 100000, false, "more than 1000 operations deep");
    repeat("", "f", "()", 100000, false, "more than 1000 operations deep");
    repeat("x = ", "y", "", 100000, true, "");                  /* a = b = c ... is flat */
    repeat("if x { } else ", "if x { }", "", 100000, true, ""); /* so is else if */
    repeat("x = 1\n", "", "", 100000, true, "");
    repeat("x, ", "y", "", 100000, true, "");
}

/* Every prefix of a program is a program, incomplete, or wrong. */
static void prefixes(void) {
    size_t n;
    char *text = read_file("tests/golden/parse_trees.txt", &n);
    CHECK(text != NULL);
    if (!text) return;
    static const char program[] = "## doc\nmodule M(n, k=2) {\n  self.n = [x * 2 for x in range(n) "
                                  "if x > 0]\n  fn f(x, *rest) {\n"
                                  "    m = {a: 1, \"b\": f\"{x:>{k}.2f} {x=} {{}}\", 3: -1e-3}\n   "
                                  " if x[1:, ..., none] is not none and not y { return m.a }\n"
                                  "    elif a in b { s += 1 } else { del s }\n    signal f\"l{i}\" "
                                  "backward b { backward (x @ y).sum() }\n  }\n}\n";
    for (size_t k = 0; k < sizeof program; k++) {
        char *copy = xstrndup(program, k); /* so that over-reads are detected */
        Parsed r = parse(copy, k, false);
        CHECK(r.ok || r.kind == E_SYNTAX || r.kind == E_INCOMPLETE);
        done(&r);
        free(copy);
    }
    free(text);
}

/* ---- a text that grows line by line ---- */

/* Adds the lines of s to a text as the prompt does: what parse_open_text leaves of it is open as
 * long as all of it is. Returns the size of the largest rest. */
static size_t grow(const char *name, const char *s) {
    size_t n = strlen(s), most = 0, misses = 0;
    Bytes rest = {0};
    for (size_t at = 0, from = 0; at < n;) {
        size_t line = strcspn(s + at, "\n");
        char with_rest, with_all;
        line += s[at + line] == '\n';
        if (at == from) rest.n = 0;
        bytes_add(&rest, s + at, line);
        at += line;
        LangError e = {0};
        Source all = {.name = "a.gt", .text = s + from, .n = at - from, .first_line = 1};
        bool is_open = parse_open_text(&rest, &with_rest);
        Program *p = parse_program(&all, NULL, NULL, &with_all, &e);
        bool is_all_open = !p && e.kind == E_INCOMPLETE;
        CHECK_MSG(!is_open || is_all_open, "%s: open after byte %zu", name, at);
        if (is_open) CHECK_INT(with_rest, with_all);
        misses += is_all_open && !is_open;
        program_free(&p);
        if (!is_all_open) from = at;
        if (is_open && rest.n > most) most = rest.n;
    }
    CHECK_MSG(misses == 0, "%s: all was parsed %zu times", name, misses);
    bytes_fini(&rest);
    return most;
}

static void growing(void) {
    static const char *const parts[][3] = {
        {"fn f(x) {\n", "  x = [x, {a: x}] # )\n  if x {\n    g(x,\n  2)\n  }\n  else {\n }\n",
         "}\n"},
        {"module M() {\n if x {\n y()\n } else {\n", "while y { z() }; m = {a: 1,\n b: 2}\n",
         "}}\n"},
        {"x = [\n", "  f(1, 2), 'a', # b\n", "]\n"},
        {"x = {a: 1,\n", "  b: [1,\n 2], \"c\": fn() { return 1\n },\n", "}\n"},
        {"f(1,\n", "  2, f\"{g(1, 2, 3)}\",\n", ")\n"},
        {"if a {\n", "x = 1\n} elif b {\n", "}\n"},
        {"s = \"\"\"\n", "a line ''' of \\\n text\n", "\"\"\"\n"},
        {"s = f\"\"\"\n", "a line {f(1,\n  \"\"\"b\"\"\")} text\n", "\"\"\"\n"},
    };
    static const char *const files[] = {"lang/prelude/attention.gt", "lang/prelude/train.gt",
                                        "lang/prelude/linalg.gt", "lang/prelude/picture.gt",
                                        "lang/prelude/optim/optimizer.gt"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        Bytes text = {0};
        bytes_puts(&text, parts[k][0]);
        for (int i = 0; i < 200; i++) bytes_puts(&text, parts[k][1]);
        bytes_puts(&text, parts[k][2]);
        size_t most = grow(parts[k][0], text.data);
        bool stays = k == 5 || k == 7; /* an if, fields of a string */
        CHECK_MSG(most < (stays ? 200 * 40 : 200), "%s: %zu bytes stay", parts[k][0], most);
        bytes_fini(&text);
    }
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        size_t n;
        char *text = read_file(files[k], &n);
        CHECK_MSG(text != NULL, "no %s", files[k]);
        if (!text) continue;
        char *copy = xstrndup(text, n);
        CHECK(grow(files[k], copy) < 2000);
        free(copy);
        free(text);
    }
}

/* ---- the specification ---- */

static void specification(void) {
    size_t n;
    char *text = read_file("../shared/LANGUAGE.md", &n);
    if (!text) {
        printf("parse: no ../shared/LANGUAGE.md: its examples are not parsed\n");
        return;
    }
    int blocks = 0;
    for (char *at = text; (at = strstr(at, "```gt\n"));) {
        at += 6;
        char *end = strstr(at, "\n```");
        if (!end) break;
        Parsed r = parse(at, (size_t)(end + 1 - at), false);
        CHECK_MSG(r.ok, "block %d of LANGUAGE: %s", ++blocks, r.text.data);
        CHECK_STR(r.warnings.data ? r.warnings.data : "", "");
        done(&r);
        at = end;
    }
    CHECK(blocks == 0 || blocks >= 6);
    free(text);
}

/* ---- tokens ---- */

static void tokens(void) {
    static const char text[] = "x.if 1. 1.f .5e3 'a' f'{\"b\"}' //= **\nnot in\n# c\n;";
    Source src = {.name = "a.gt", .text = text, .n = strlen(text), .first_line = 7};
    Arena a = {0};
    Tokens t;
    Bytes b = {0};
    lex_source(&src, &a, &t);
    lex_print(&t, &b);
    CHECK_STR(b.data, "7:1 NAME x\n7:2 DOT .\n7:3 NAME if\n7:6 FLOAT 1.\n7:9 INT 1\n7:10 DOT "
                      ".\n7:11 NAME f\n7:13 FLOAT .5e3\n"
                      "7:18 STRING 'a'\n7:22 FSTRING f'{\"b\"}'\n7:31 FLOORDIV_SET //=\n7:35 POW "
                      "**\n8:1 NOT not\n8:5 IN in\n"
                      "10:1 SEMI ;\n10:2 NEWLINE\n10:2 END\n");
    bytes_fini(&b);
    arena_fini(&a);
}

static void docs(void) {
    static const char text[] = "# no\n## One.\n##  Two.\nfn f() { }\n\n## gone\n\nfn g() { }\n";
    Source src = {.name = "a.gt", .text = text, .n = strlen(text), .first_line = 1};
    LangError e = {0};
    Program *p = parse_program(&src, NULL, NULL, NULL, &e);
    CHECK(p != NULL);
    if (!p) return;
    CHECK_STR(p->body->kid[0]->fn->doc, "One.\n Two.");
    CHECK(p->body->kid[1]->fn->doc == NULL);
    program_free(&p);
}

int main(void) {
    tokens();
    golden("tests/golden/parse_trees.txt", false);
    golden("tests/golden/parse_errors.txt", true);
    incomplete();
    unclosed_text();
    warnings();
    unread();
    docs();
    limits();
    prefixes();
    growing();
    specification();
    return check_report("parse");
}
