/* lsp_fuzz.c: arbitrary input for the language server. The first byte chooses: the rest as it is,
 * or its lines as the contents of messages after initialize, so that mutations reach the methods.
 * All that the server writes must be messages of valid JSON.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/run.h"
#include "lang/file/io.h"
#include "lang/lsp/lsp.h"
#include "tests/fuzz/fuzz.h"
#include <sys/mman.h>

static Interp *in;

static void frame(Bytes *b, const char *s, size_t n) {
    bytes_printf(b, "Content-Length: %zu\r\n\r\n", n);
    bytes_add(b, s, n);
}

static void check_output(const char *s, size_t n) {
    for (size_t at = 0; at < n;) {
        size_t length;
        int used = 0;
        IoValue v = {0};
        Err err = {0};
        if (sscanf(s + at, "Content-Length: %zu %n", &length, &used) != 1 || !used) abort();
        at += (size_t)used;
        if (length > n - at || !json_parse(s + at, length, 1 << 20, &v, &err)) abort();
        io_fini(&v);
        at += length;
    }
}

static const char first[] = "{\"id\":1,\"method\":\"initialize\",\"params\":{}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Bytes b = {0};
    const char *s = (const char *)data;
    if (n && *s != 'R') frame(&b, first, sizeof first - 1);
    if (n && *s != 'R')
        for (size_t at = 0, line; at < n; at += line + 1) {
            const char *end = memchr(s + at, '\n', n - at);
            line = end ? (size_t)(end - (s + at)) : n - at;
            frame(&b, s + at, line);
        }
    else if (n)
        bytes_add(&b, s + 1, n - 1);
    if (!in) {
        setenv("XDG_CACHE_HOME", "/dev/null/none", 1); /* no copies of the prelude */
        LangError e = {0};
        InterpConfig config = {.stream = {.mode = STREAM_CHECK, .workers = 1}, .width = 80};
        in = interp_new(&config, &e);
    }
    int from = memfd_create("from", 0), to = memfd_create("to", 0);
    if (!in || from < 0 || to < 0 || write(from, b.data ? b.data : "", b.n) != (ssize_t)b.n)
        abort();
    lseek(from, 0, SEEK_SET);
    lsp_run(in, from, to);
    off_t size = lseek(to, 0, SEEK_CUR);
    char *out = xmalloc((size_t)size + 1);
    if (pread(to, out, (size_t)size, 0) != size) abort();
    out[size] = '\0';
    check_output(out, (size_t)size);
    free(out);
    close(from);
    close(to);
    bytes_fini(&b);
    return 0;
}

static const char *const methods[] = {
    "hover",  "completion",     "signatureHelp", "definition", "references",
    "rename", "documentSymbol", "foldingRange",  "formatting", "prepareRename"};

static const char *const texts[] = {
    "import \\\"x.gt\\\" as lib\\nfn f(v, by=2) { return lib.v * by }\\nprint(f\\\"{f(1, "
    "by=3):.2f}\\\")\\n",
    "module M(n) {\\n    self.w = n\\n    fn forward(x) => [self.w * a for a in x if a]\\n}\\nm = "
    "M(n=3)\\n",
    "x = nn.Linear(2, 3)(randn(4, 2)).rel\\nfor i, (a, b) in x {\\n    y = {k: é, \\\"𝄞\\\": 2}\\n",
    "fn g() {\\n    n = 0\\n    fn h() { m.k = n }\\n    return h\\n}\\nx = (1,\\n\\ny = "
    "]\\n\\\"\\\"\\\"z",
};

static int number(Rand *r, int most) { return (int)(rand_u64(r) % (uint64_t)most); }

static void put_place(Rand *r, Bytes *out) {
    bytes_printf(out, "{\"line\":%d,\"character\":%d}", number(r, 9), number(r, 40));
}

static void put_message(Rand *r, Bytes *out) {
    static const char doc[] = "\"textDocument\":{\"uri\":\"file:///a.gt\",\"version\":2";
    int kind = number(r, 4);
    bytes_puts(out, "\n{\"jsonrpc\":\"2.0\",");
    if (kind == 0) {
        bytes_printf(out, "\"method\":\"textDocument/didOpen\",\"params\":{%s,\"text\":\"%s\"}}}",
                     doc, texts[number(r, sizeof texts / sizeof *texts)]);
    } else if (kind == 1) {
        bytes_printf(out,
                     "\"method\":\"textDocument/didChange\",\"params\":{%s},\"contentChanges\":[{"
                     "\"range\":{\"start\":",
                     doc);
        put_place(r, out);
        bytes_puts(out, ",\"end\":");
        put_place(r, out);
        bytes_printf(out, "},\"text\":\"%.*s\"}]}}", number(r, 9), "(x){\\n}#\"\"");
    } else {
        bytes_printf(out,
                     "\"id\":%d,\"method\":\"textDocument/%s\",\"params\":{%s},\"newName\":\"q\","
                     "\"position\":",
                     number(r, 99), methods[number(r, sizeof methods / sizeof *methods)], doc);
        put_place(r, out);
        bytes_puts(out, "}}");
    }
}

static void fuzz_seed(Rand *r, Bytes *out) {
    if (number(r, 8) == 0) {
        bytes_putc(out, 'R');
        frame(out, first, sizeof first - 1);
        frame(out, "{\"method\":\"exit\"}", 17);
        return;
    }
    bytes_printf(out,
                 "{\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{\"uri\":"
                 "\"file:///a.gt\",\"text\":\"%s\"}}}",
                 texts[number(r, sizeof texts / sizeof *texts)]);
    for (int k = number(r, 12); k > 0; k--) put_message(r, out);
}
