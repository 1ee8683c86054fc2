/* lsp_test.c: the language server, spoken to in its own protocol: each test writes messages to a
 * file, lets the server read them all, and looks at what it has written.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/run.h"
#include "lang/lsp/lsp.h"
#include "runtime/base/utf8.h"
#include "tests/unit/check.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static Interp *in;

static void add(Bytes *b, const char *content) {
    bytes_printf(b, "Content-Length: %zu\r\n\r\n%s", strlen(content), content);
}

/* Appends a request about a place of file:///a.gt; more: further fields, or "". */
static void ask(Bytes *b, int id, const char *method, int line, int column, const char *more) {
    Bytes m = {0};
    bytes_printf(&m,
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"textDocument/%s\",\"params\":{"
                 "\"textDocument\":{\"uri\":\"file:///a.gt\"},\"position\":{\"line\":%d,"
                 "\"character\":%d}%s}}",
                 id, method, line, column, more);
    add(b, m.data);
    bytes_fini(&m);
}

static void begin(Bytes *b, const char *capabilities) {
    Bytes m = {0};
    bytes_printf(&m,
                 "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{"
                 "\"capabilities\":{%s}}}",
                 capabilities);
    add(b, m.data);
    add(b, "{\"jsonrpc\":\"2.0\",\"method\":\"initialized\",\"params\":{}}");
    bytes_fini(&m);
}

/* text: as in JSON. */
static void open_text(Bytes *b, const char *text) {
    Bytes m = {0};
    bytes_printf(&m,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":{"
                 "\"textDocument\":{\"uri\":\"file:///a.gt\",\"languageId\":\"gt\",\"version\":1,"
                 "\"text\":\"%s\"}}}",
                 text);
    add(b, m.data);
    bytes_fini(&m);
}

static void change(Bytes *b, int line, int from, int to, const char *text) {
    Bytes m = {0};
    bytes_printf(&m,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didChange\",\"params\":{"
                 "\"textDocument\":{\"uri\":\"file:///a.gt\",\"version\":2},\"contentChanges\":[{"
                 "\"range\":{\"start\":{\"line\":%d,\"character\":%d},\"end\":{\"line\":%d,"
                 "\"character\":%d}},\"text\":\"%s\"}]}}",
                 line, from, line, to, text);
    add(b, m.data);
    bytes_fini(&m);
}

static void end(Bytes *b) {
    add(b, "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"shutdown\"}");
    add(b, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}");
}

/* Serves the messages; returns what the server wrote, owned. Frees them. */
static char *serve(Bytes *b, int code) {
    int from = memfd_create("from", 0), to = memfd_create("to", 0);
    CHECK(from >= 0 && to >= 0 && write(from, b->data, b->n) == (ssize_t)b->n);
    lseek(from, 0, SEEK_SET);
    CHECK_INT(lsp_run(in, from, to), code);
    off_t n = lseek(to, 0, SEEK_CUR);
    char *out = calloc((size_t)n + 1, 1);
    CHECK(pread(to, out, (size_t)n, 0) == n);
    close(from);
    close(to);
    bytes_fini(b);
    return out;
}

/* The content of the message that has this text, up to the next header; owned. */
static char *message(const char *out, const char *text) {
    const char *at = strstr(out, text), *from = at, *to = at ? strstr(at, "Content-Length") : NULL;
    if (!at) return calloc(1, 1);
    while (from > out && from[-1] != '\n') from--;
    return to ? strndup(from, (size_t)(to - from)) : strdup(from);
}

#define HAS(out, id, want)                                                                         \
    do {                                                                                           \
        char *m_ = message(out, "\"id\":" #id ",");                                                \
        CHECK_MSG(strstr(m_, want), "answer %s is\n  %s\nwithout\n  %s", #id, m_, want);           \
        free(m_);                                                                                  \
    } while (0)

#define PROGRAM                                                                                    \
    "## Doubles.\\nfn double(v, by=2) { return v * by }\\nmodule M(n) {\\n    self.w = n\\n    "   \
    "fn forward(x) => self.w * x\\n}\\nm = M(n=3); y = double(m(3), by=4)\\nprint(f\\\"{y} "       \
    "{double(y)}\\\")\\nz = [v for v in [y]]\\n"

static void test_requests(void) {
    Bytes b = {0};
    begin(&b, "");
    open_text(&b, PROGRAM);
    ask(&b, 1, "hover", 6, 18, "");
    ask(&b, 2, "definition", 6, 18, "");
    ask(&b, 3, "references", 6, 18, ",\"context\":{\"includeDeclaration\":false}");
    ask(&b, 4, "rename", 1, 10, ",\"newName\":\"value\"");
    ask(&b, 5, "rename", 1, 13, ",\"newName\":\"times\"");
    ask(&b, 6, "rename", 1, 4, ",\"newName\":\"while\"");
    ask(&b, 7, "rename", 1, 4, ",\"newName\":\"sum\"");
    ask(&b, 8, "rename", 1, 4, ",\"newName\":\"y\"");
    ask(&b, 9, "rename", 7, 2, ",\"newName\":\"show\"");
    ask(&b, 10, "signatureHelp", 6, 32, "");
    ask(&b, 11, "completion", 7, 10, "");
    ask(&b, 12, "documentSymbol", 0, 0, "");
    ask(&b, 13, "foldingRange", 0, 0, "");
    ask(&b, 14, "formatting", 0, 0, "");
    ask(&b, 15, "hover", 7, 2, "");
    ask(&b, 16, "definition", 4, 26, "");
    ask(&b, 17, "rename", 4, 26, ",\"newName\":\"q\"");
    ask(&b, 18, "hover", 4, 26, "");
    end(&b);
    char *out = serve(&b, 0);
    HAS(out, 1, "fn double(v, by=2)");
    HAS(out, 1, "Doubles.");
    HAS(out, 2, "\"start\":{\"line\":1,\"character\":3},\"end\":{\"line\":1,\"character\":9}");
    HAS(out, 3, "\"start\":{\"line\":7,\"character\":13}");
    HAS(out, 4, "{\"line\":1,\"character\":29}},\"newText\":\"value\"}]");
    HAS(out, 5, "{\"line\":6,\"character\":31}");
    HAS(out, 6, "'while' is not a name");
    HAS(out, 7, "'sum' belongs to the language");
    HAS(out, 8, "another variable");
    HAS(out, 9, "'print' belongs to the language");
    HAS(out, 10, "\"activeParameter\":1");
    HAS(out, 11, "{\"label\":\"y\"");
    HAS(out, 12, "\"name\":\"M\",\"kind\":5");
    HAS(out, 12, "\"children\":[{\"name\":\"forward\",\"kind\":6");
    HAS(out, 13, "{\"startLine\":2,\"endLine\":4}");
    HAS(out, 14, "\"result\":[]");
    HAS(out, 15, "print(");
    HAS(out, 15, "\\n```gt\\n> print(");
    HAS(out, 16, "{\"line\":3,\"character\":9}");
    HAS(out, 17, "cannot be renamed");
    HAS(out, 18, "self.w = n\\n```\\n\\nfield of M");
    free(out);
}

/* Parameters are not renamed if a call may name them whose function the text does not tell. */
static void test_arguments(void) {
    static const struct {
        const char *text, *want;
        int line, column;
    } cases[] = {
        {"module M() {\\n  fn g(by=1) => by\\n}\\nm = M()\\nm.g(by=2)\\n", "in line 5", 1, 7},
        {"module M() {\\n  fn forward(x, by) => x\\n}\\nM()(1, by=2)\\n", "in line 4", 1, 16},
        {"fn f(by) => by\\ng = f\\ng(by=2)\\n", "in line 3", 0, 5},
        {"fn f(by) => by\\ng = [f]\\ng[0](by=2)\\n", "in line 3", 0, 5},
        {"fn f(axis) => ones(2).sum(axis=axis)\\n", "\"changes\"", 0, 5},
        {"fn f(bias) => nn.Linear(2, 2, bias=bias)\\n", "\"changes\"", 0, 5},
        {"import lib\\nfn f(by) => lib.g(by=by)\\n", "\"changes\"", 1, 5},
        {"fn f(file) => print(1, file=file)\\n", "\"changes\"", 0, 5},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Bytes b = {0};
        begin(&b, "");
        open_text(&b, cases[k].text);
        ask(&b, 1, "rename", cases[k].line, cases[k].column, ",\"newName\":\"value\"");
        end(&b);
        char *out = serve(&b, 0);
        HAS(out, 1, cases[k].want);
        free(out);
    }
}

/* The diagnostics after the text and one change. */
static char *findings(const char *text, int line, int from, int to, const char *new) {
    Bytes b = {0};
    begin(&b, "");
    open_text(&b, text);
    change(&b, line, from, to, new);
    end(&b);
    char *out = serve(&b, 0), *found = message(out, "publishDiagnostics");
    free(out);
    return found;
}

static void test_findings(void) {
    static const struct {
        const char *text;
        const char *want[3];
    } cases[] = {
        {"x = 1\\nprint(x)\\n", {"\"diagnostics\":[]"}},
        {"rondn(2)\\n", {"'rondn' is not defined", "did you mean 'randn'?"}},
        {"x = (1,\\n\\nfn f( { }\\ny = ]\\n", {"'(' is never closed", "parameter", "found ']'"}},
        {"for i in range(3) {\\nx = i\\n", {"never closed", "still open"}},
        {"x = ones(2)\\nx.relu()\\n", {"result not used", "\"severity\":2", "x = x.relu()"}},
        {"import nothere\\nimport nn\\nnothere.f()\\n",
         {"there is no file nothere.gt", "\"severity\":2"}},
        {"x = torch.ones(2)\\n", {"'torch' is not defined"}},
        {"a = later()\\nfn later() => 1\\nprint(a, self, args, main)\\n", {"\"diagnostics\":[]"}},
        {"fn f(x) {\\n  if x {\\n    y = x.\\n  }\\n  return tt\\n}\\nf(1)\\n",
         {"expected a name after '.'", "'tt' is not defined"}},
        {"s = \\\"\\\"\\\"abc\\nx = 1\\n", {"this string is never closed"}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *got = findings(cases[k].text, 0, 0, 0, "");
        for (int i = 0; i < 3 && cases[k].want[i]; i++)
            CHECK_MSG(strstr(got, cases[k].want[i]), "%s\nwithout\n%s", got, cases[k].want[i]);
        free(got);
    }
}

/* Characters are UTF-16 units, or bytes if the client offers them. */
static void test_positions(void) {
    char *got = findings("s = \\\"é𝄞\\\"; rondn()\\n", 0, 5, 8, "€𝄞𝄞");
    CHECK_MSG(strstr(got, "\"start\":{\"line\":0,\"character\":13}"), "%s", got);
    free(got);
    Bytes b = {0};
    begin(&b, "\"general\":{\"positionEncodings\":[\"utf-16\",\"utf-8\"]}");
    open_text(&b, "s = \\\"é𝄞\\\"; rondn()\\n");
    end(&b);
    got = serve(&b, 0);
    CHECK(strstr(got, "\"positionEncoding\":\"utf-8\""));
    CHECK_MSG(strstr(got, "\"start\":{\"line\":0,\"character\":14}"), "%s", got);
    free(got);
}

#define ALPHABET  "abcdefghijklmnopqrstuvwxyz"
#define LONG_NAME ALPHABET ALPHABET ALPHABET ALPHABET ALPHABET ALPHABET
#define TEN_E     "éééééééééé"
#define LONG_WORD TEN_E TEN_E TEN_E TEN_E TEN_E TEN_E

/* Appends didOpen of any URI. text: as in JSON. */
static void open_uri(Bytes *b, const char *uri, const char *text) {
    Bytes m = {0};
    bytes_printf(&m,
                 "{\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{\"uri\":"
                 "\"%s\",\"text\":\"%s\"}}}",
                 uri, text);
    add(b, m.data);
    bytes_fini(&m);
}

/* Positions within a character are before it, those behind a line before its line break. */
static void test_places_between(void) {
    char *got = findings("s = \\\"𝄞\\\"\\n", 0, 6, 6, "\\\";rondn();\\\"");
    CHECK_MSG(strstr(got, "\"start\":{\"line\":0,\"character\":7}"), "%s", got);
    free(got);
    Bytes b = {0};
    begin(&b, "");
    open_text(&b, "x = 1\\r\\ny = 2\\r\\n");
    change(&b, 0, 99, 99, "; z = 3");
    ask(&b, 1, "documentSymbol", 0, 0, "");
    end(&b);
    got = serve(&b, 0);
    HAS(got, 1, "\"name\":\"z\",\"kind\":13,\"range\":{\"start\":{\"line\":0,\"character\":7}");
    free(got);
}

static void test_uris(void) {
    char dir[] = "/tmp/gt-lsp-XXXXXX", folder[100], lib[120], uri[100];
    CHECK(mkdtemp(dir));
    snprintf(folder, sizeof folder, "%s/a é", dir);
    snprintf(lib, sizeof lib, "%s/lib.gt", folder);
    snprintf(uri, sizeof uri, "file://%s/a%%20%%c3%%A9/main.gt", dir);
    CHECK(mkdir(folder, 0700) == 0);
    FILE *f = fopen(lib, "w");
    CHECK(f && fputs("x = 1\n", f) >= 0 && fclose(f) == 0);
    Bytes b = {0}, m = {0};
    begin(&b, "");
    open_uri(&b, uri, "import lib\\nlib.x");
    bytes_printf(&m,
                 "{\"id\":1,\"method\":\"textDocument/definition\",\"params\":{\"textDocument\":{"
                 "\"uri\":\"%s\"},\"position\":{\"line\":1,\"character\":4}}}",
                 uri);
    add(&b, m.data);
    end(&b);
    char *out = serve(&b, 0);
    HAS(out, 1, "/a%20%C3%A9/lib.gt\"");
    free(out);
    bytes_fini(&m);
    unlink(lib);
    rmdir(folder);
    rmdir(dir);
}

/* ---- renaming over files ---- */

static char rename_dir[] = "/tmp/gt-lsp-XXXXXX";

static void write_gt(const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", rename_dir, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Appends didOpen of a file of rename_dir. text: as in JSON. */
static void open_gt(Bytes *b, const char *name, const char *text) {
    char uri[200];
    snprintf(uri, sizeof uri, "file://%s/%s", rename_dir, name);
    open_uri(b, uri, text);
}

/* The answer to a request in main.gt, with the path of the folder shortened to D; owned. lib,
 * other: the texts of lib.gt and other.gt where they are open, or NULL. more: further parameters.
 */
static char *ask_beside(const char *capabilities, const char *other, const char *method,
                        const char *more, const char *text, const char *lib, int line, int column) {
    Bytes b = {0}, m = {0}, out = {0};
    begin(&b, capabilities);
    open_gt(&b, "main.gt", text);
    if (lib) open_gt(&b, "lib.gt", lib);
    if (other) open_gt(&b, "other.gt", other);
    bytes_printf(&m,
                 "{\"id\":1,\"method\":\"textDocument/%s\",\"params\":{\"textDocument\":{\"uri\":"
                 "\"file://%s/main.gt\"},\"position\":{\"line\":%d,\"character\":%d}%s}}",
                 method, rename_dir, line, column, more);
    add(&b, m.data);
    end(&b);
    char *all = serve(&b, 0), *answer = message(all, "\"id\":1,");
    for (const char *s = answer; *s;) {
        bool is_dir = !strncmp(s, rename_dir, strlen(rename_dir));
        bytes_putc(&out, is_dir ? 'D' : *s);
        s += is_dir ? strlen(rename_dir) : 1;
    }
    bytes_puts(&out, "");
    bytes_fini(&m);
    free(all);
    free(answer);
    return out.data;
}

static char *ask_main(const char *method, const char *more, const char *text, const char *lib,
                      int line, int column) {
    return ask_beside("", NULL, method, more, text, lib, line, column);
}

#define FRESH ",\"newName\":\"fresh\""
#define EDIT(line, from, to)                                                                       \
    "{\"range\":{\"start\":{\"line\":" #line ",\"character\":" #from "},\"end\":{\"line\":" #line  \
    ",\"character\":" #to "}},\"newText\":\"fresh\"}"
#define MAIN(edits) "{\"changes\":{\"file://D/main.gt\":[" edits "]}}"
#define BOTH(edits, more)                                                                          \
    "{\"changes\":{\"file://D/main.gt\":[" edits "],\"file://D/lib.gt\":[" more "]}}"

#define AT(file, line, from, to)                                                                   \
    "{\"uri\":\"file://D/" file ".gt\",\"range\":{\"start\":{\"line\":" #line                      \
    ",\"character\":" #from "},\"end\":{\"line\":" #line ",\"character\":" #to "}}}"

/* The references are the places that a rename changes; where that refuses, those that are sure. */
static void references_over_files(void) {
    static const struct {
        const char *text, *lib, *want;
        int line, column;
        bool has_defs;
    } cases[] = {
        {"import lib\\nx = lib.unit\\nlib.unit", NULL,
         "[" AT("main", 1, 8, 12) "," AT("main", 2, 4, 8) "," AT("lib", 1, 30, 34) "," AT(
             "lib", 2, 0, 4) "," AT("lib", 6, 13, 17) "]",
         1, 9, true},
        {"import lib\\nx = lib.unit", NULL,
         "[" AT("main", 1, 8, 12) "," AT("lib", 1, 30, 34) "," AT("lib", 6, 13, 17) "]", 1, 9,
         false},
        {"import lib\\nlib.scale(1, by=2)", NULL,
         "[" AT("main", 1, 13, 15) "," AT("lib", 1, 12, 14) "," AT("lib", 1, 25,
                                                                   27) "," AT("lib", 6, 19, 21) "]",
         1, 13, true},
        {"import lib\\nlib.inner.unit", NULL,
         "[" AT("main", 1, 10, 14) "," AT("inner", 0, 0, 4) "]", 1, 10, true},
        {"import lib\\nunit = lib.unit\\nunit", NULL,
         "[" AT("main", 1, 0, 4) "," AT("main", 2, 0, 4) "]", 2, 0, true},
        {"import lib\\nm = lib\\nm.unit; lib.unit", "unit = 1",
         "[" AT("main", 2, 12, 16) "," AT("lib", 0, 0, 4) "]", 2, 13, true},
        {"import lib\\nfn f(g) => g(by=2)\\nlib.scale(1, by=3)", "fn scale(v, by=2) => v",
         "[" AT("main", 2, 13, 15) "," AT("lib", 0, 12, 14) "]", 2, 13, true},
        {"import lib\\nlib.f(lib)", NULL,
         "[" AT("main", 0, 7, 10) "," AT("main", 1, 0, 3) "," AT("main", 1, 6, 9) "]", 1, 1, true},
        {"x = ones(2)\\nx.unit + print(x.unit)", NULL,
         "[" AT("main", 1, 2, 6) "," AT("main", 1, 17, 21) "]", 1, 3, true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *got = ask_main("references",
                             cases[k].has_defs ? "" : ",\"context\":{\"includeDeclaration\":false}",
                             cases[k].text, cases[k].lib, cases[k].line, cases[k].column);
        CHECK_MSG(strstr(got, cases[k].want), "case %zu:\n  %s\nwithout\n  %s", k, got,
                  cases[k].want);
        free(got);
    }
}

/* Documents that are open beside main.gt and lib.gt, which has scale(v, by=2). */
static void test_other_documents(void) {
    static const char versions[] = "\"workspace\":{\"workspaceEdit\":{\"documentChanges\":true}}";
    static const struct {
        const char *capabilities, *other, *want;
    } cases[] = {
        {"", "fn g(h) => h(by=2)", "/lib.gt\":["}, /* does not import lib.gt: may not call scale */
        {"", "import lib\\nfn g(h) => h(by=2)", "'by' is also an argument in line 2 of other.gt"},
        {"", "import lib\\nlib.scale(1, by=", "mend the syntax error in other.gt first"},
        {"", "scale(1, by=", "/lib.gt\":["}, /* names no file of these */
        {versions, NULL, "/lib.gt\",\"version\":null},\"edits\":["},
        {versions, NULL, "/main.gt\",\"version\":"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *got = ask_beside(cases[k].capabilities, cases[k].other, "rename", FRESH,
                               "import lib\\nlib.scale(1, by=2)", NULL, 1, 13);
        CHECK_MSG(strstr(got, cases[k].want), "case %zu:\n  %s", k, got);
        CHECK(!strstr(got, "/main.gt\",\"version\":null"));
        free(got);
    }
}

static char *rename_main(const char *text, const char *lib, int line, int column) {
    return ask_main("rename", FRESH, text, lib, line, column);
}

/* A position counts columns up to 65535: a use behind is refused, not renamed elsewhere. */
static void test_long_line(void) {
    Bytes text = {0};
    bytes_puts(&text, "name = 1\\n");
    for (int k = 0; k < 70000; k++) bytes_putc(&text, ' ');
    bytes_puts(&text, "x = name\\n");
    char *got = rename_main(text.data, NULL, 0, 0);
    CHECK_MSG(strstr(got, "'name' is used in a line that is too long"), "%.300s", got);
    free(got);
    bytes_fini(&text);
}

/* Of more files than are looked at, one may use a global name. */
static void test_many_files(void) {
    enum { FILES = 1000 };
    Bytes text = {0};
    bytes_puts(&text, "fn own(v) { w = v\\nw }\\n");
    for (int k = 0; k < FILES; k++) {
        char name[24];
        snprintf(name, sizeof name, "many%d.gt", k);
        write_gt(name, "unit = 1\n");
        bytes_printf(&text, "import many%d\\n", k);
    }
    char *global = rename_main(text.data, NULL, 0, 3), *local = rename_main(text.data, NULL, 1, 0);
    CHECK_MSG(strstr(global, "more than 1000 files are imported"), "%.500s", global);
    CHECK_MSG(strstr(local, MAIN(EDIT(0, 12, 13) "," EDIT(1, 0, 1))), "%.500s", local);
    free(global), free(local);
    bytes_fini(&text);
}

/* lib.gt on the disk is
 *   import inner
 *   fn scale(v, by=2) => v * by * unit
 *   unit = 1
 *   module Net(width) {
 *     fn forward(x, by=1) => x * by
 *   }
 *   kept = scale(unit, by=3) */
static void test_files(void) {
    static const struct {
        const char *text, *lib, *want;
        int line, column;
    } cases[] = {
        {"import lib\\nx = lib.unit\\nlib.unit", NULL,
         BOTH(EDIT(1, 8, 12) "," EDIT(2, 4, 8),
              EDIT(1, 30, 34) "," EDIT(2, 0, 4) "," EDIT(6, 13, 17)),
         1, 9},
        {"import \\\"./lib.gt\\\" as m\\nm.unit", NULL,
         BOTH(EDIT(1, 2, 6), EDIT(1, 30, 34) "," EDIT(2, 0, 4) "," EDIT(6, 13, 17)), 1, 2},
        /* the text of the editor counts, not that of the disk */
        {"import lib\\nlib.unit", "\\nunit = 1", BOTH(EDIT(1, 4, 8), EDIT(1, 0, 4)), 1, 4},
        /* a function, a parameter, a module's parameter */
        {"import lib\\nlib.scale(1, by=2)", NULL,
         BOTH(EDIT(1, 4, 9), EDIT(1, 3, 8) "," EDIT(6, 7, 12)), 1, 4},
        {"import lib\\nby = 3\\nlib.scale(by, by=by)", NULL,
         BOTH(EDIT(2, 14, 16), EDIT(1, 12, 14) "," EDIT(1, 25, 27) "," EDIT(6, 19, 21)), 2, 14},
        {"import lib\\nlib.Net(width=2)", NULL, BOTH(EDIT(1, 8, 13), EDIT(3, 11, 16)), 1, 9},
        /* a file that an imported file imports; the same name elsewhere stays */
        {"import lib\\nunit = lib.inner.unit\\nlib.unit", NULL,
         "{\"changes\":{\"file://D/main.gt\":[" EDIT(1, 17, 21) "],\"file://D/inner.gt\":[" EDIT(
             0, 0, 4) "]}}",
         1, 17},
        {"import lib\\nunit = lib.unit\\nx = {unit: unit}\\nx.unit", NULL,
         MAIN(EDIT(1, 0, 4) "," EDIT(2, 11, 15)), 1, 1},
        {"import lib\\nfn scale() => 1\\nlib.scale(scale())", NULL,
         MAIN(EDIT(1, 3, 8) "," EDIT(2, 10, 15)), 1, 4},
        /* what is refused */
        {"import lib\\nm = lib\\nm.unit; lib.unit", NULL,
         "line 2 of main.gt uses lib.gt as a value", 2, 13},
        {"import lib\\nm = lib.inner\\nlib.inner.unit", NULL,
         "line 2 of main.gt uses inner.gt as a value", 2, 10},
        {"import lib\\nlib.units", NULL, "lib.gt has no 'units'", 1, 5},
        {"import lib\\nlib.inner", NULL, "'inner' is the name of a file", 1, 5},
        {"import lib\\nx = ones(2)\\nx.unit", NULL, "cannot be renamed", 2, 3},
        {"import lib\\nlib.unit", "unit = (1", "mend the syntax error in lib.gt", 1, 5},
        {"import lib\\nlib = 3\\nlib.unit", NULL, "cannot be renamed", 2, 5},
        {"import lib\\nfn f(g) => g(by=2)\\nlib.scale(1, by=3)", NULL,
         "'by' is also an argument in line 2 of main.gt", 2, 13},
    };
    CHECK(mkdtemp(rename_dir));
    write_gt("lib.gt", "import inner\nfn scale(v, by=2) => v * by * unit\nunit = 1\n"
                       "module Net(width) {\n  fn forward(x, by=1) => x * by\n}\n"
                       "kept = scale(unit, by=3)\n");
    write_gt("inner.gt", "unit = 2\n");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *got = ask_main("rename", ",\"newName\":\"fresh\"", cases[k].text, cases[k].lib,
                             cases[k].line, cases[k].column);
        CHECK_MSG(strstr(got, cases[k].want), "case %zu:\n  %s\nwithout\n  %s", k, got,
                  cases[k].want);
        free(got);
    }
    references_over_files();
    test_other_documents();
    test_long_line();
    test_many_files();
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", rename_dir);
    CHECK(system(command) == 0);
}

/* What is beyond a limit is refused, and the server goes on. */
static void test_limits(void) {
    enum { TEXT = 16 << 20, MESSAGE = 65 << 20, DOCS = 1000 };
    Bytes b = {0}, text = {0};
    begin(&b, "");
    bytes_printf(&b, "Content-Length: %d\r\n\r\n", MESSAGE);
    for (int k = 0; k < MESSAGE; k++) bytes_putc(&b, ' ');
    bytes_putc(&text, '#');
    while (text.n < TEXT - 10) bytes_putc(&text, 'a');
    open_text(&b, text.data);
    change(&b, 0, 0, 0, "y = 1\\n");
    change(&b, 0, 0, 0, "zz = 1\\n");
    ask(&b, 1, "documentSymbol", 0, 0, "");
    for (int k = 0; k < DOCS; k++) {
        char uri[40];
        snprintf(uri, sizeof uri, "file:///%d.gt", k);
        open_uri(&b, uri, "");
    }
    for (int k = DOCS - 2; k < DOCS; k++) {
        char m[200];
        snprintf(m, sizeof m,
                 "{\"id\":%d,\"method\":\"textDocument/documentSymbol\",\"params\":{"
                 "\"textDocument\":{\"uri\":\"file:///%d.gt\"}}}",
                 k, k);
        add(&b, m);
    }
    end(&b);
    char *out = serve(&b, 0);
    HAS(out, 1, "\"name\":\"y\"");
    char *symbols = message(out, "\"id\":1,");
    CHECK(!strstr(symbols, "\"zz\""));
    HAS(out, 998, "\"result\":[]");
    HAS(out, 999, "not an open document");
    free(symbols);
    free(out);
    bytes_fini(&text);
}

static void test_hostile(void) {
    Bytes b = {0}, deep = {0};
    bytes_puts(&b, "Content-Type: x\r\n\r\n");
    bytes_puts(&b, "Content-Length: 999999999999999999\r\n\r\n");
    add(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"textDocument/hover\"}");
    add(&b, "{");
    for (int k = 0; k < 5000; k++) bytes_putc(&deep, '[');
    add(&b, deep.data);
    add(&b, "[1]");
    begin(&b, "");
    add(&b, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"no/such\",\"params\":7}");
    add(&b, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"textDocument/hover\",\"params\":[]}");
    ask(&b, 4, "hover", 0, 0, "");
    open_text(&b, "x = 1");
    ask(&b, 5, "hover", -1, 0, "");
    ask(&b, 6, "hover", 2000000000, 2000000000, "");
    change(&b, 0, 5, 0, "y");
    ask(&b, 7, "rename", 0, 0, "");
    change(&b, 0, 0, 5, "relu(" LONG_NAME "=");
    ask(&b, 9, "signatureHelp", 0, 999, "");
    ask(&b, 10, "hover\xff", 0, 0, "");
    ask(&b, 11, "rename", 0, 0, ",\"newName\":\"a" LONG_WORD "\"");
    end(&b);
    add(&b, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"shutdown\"}");
    char *out = serve(&b, 0);
    HAS(out, 1, "initialize comes first");
    HAS(out, 2, "there is no request");
    HAS(out, 3, "not an open document");
    HAS(out, 4, "not an open document");
    HAS(out, 5, "position must be");
    HAS(out, 6, "\"result\":null");
    HAS(out, 7, "newName");
    HAS(out, 9, "\"label\":\"relu(x)\"");
    for (size_t at = 0, n = strlen(out); at < n;) {
        int used = utf8_decode(out + at, n - at, NULL);
        CHECK_MSG(used, "output that is not UTF-8: %.80s", out + at);
        at += used ? (size_t)used : n;
    }
    CHECK(!strstr(out, "\"id\":8,"));
    int errors = 0;
    for (const char *s = out; (s = strstr(s, "\"id\":null,\"error\"")); s++) errors++;
    CHECK_INT(errors, 6);
    free(out);
    bytes_fini(&deep);
    begin(&b, ""); /* the connection ends without shutdown */
    free(serve(&b, 1));
}

int main(void) {
    LangError e = {0};
    InterpConfig config = {.stream = {.mode = STREAM_CHECK, .workers = 1}, .width = 80};
    in = interp_new(&config, &e);
    CHECK(in);
    test_requests();
    test_arguments();
    test_findings();
    test_positions();
    test_places_between();
    test_uris();
    test_files();
    test_limits();
    test_hostile();
    interp_free(&in);
    return check_report("language server");
}
