/* lsp.c: the server's loop: messages in and out (JSON-RPC with Content-Length headers), the table
 * of methods, open documents, diagnostics. Diagnostics are published when no further message waits,
 * so that typing quickly does not queue work.
 *
 * What a client sends is checked: lengths, nesting, types of all fields. A message that is not
 * understood gets an error, and the next one is read.
 * SPDX-License-Identifier: MIT */
#include "lang/lsp/lsp_edit.h"
#include "lang/lsp/lsp_index.h"
#include "lang/lsp/lsp_rename.h"
#include "lang/lsp/lsp_show.h"
#include "runtime/base/version.h"
#include "runtime/base/utf8.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARSE_ERROR = -32700, BAD_REQUEST = -32600, NO_METHOD = -32601, NOT_OPEN = -32002 };
enum { MAX_HEADER = 8192, MAX_BUSY = 100 /* messages between diagnostics */ };

bool lsp_fail(Lsp *l, int code, const char *format, ...) {
    FORMAT_INTO(l->message, format);
    l->error = code;
    return false;
}

/* ---- output ---- */

static void send(Lsp *l, const Bytes *content) {
    Bytes b = {0};
    bytes_printf(&b, "Content-Length: %zu\r\n\r\n", content->n);
    bytes_add(&b, content->data, content->n);
    for (size_t at = 0; at < b.n && !l->is_lost;) {
        ssize_t n = write(l->to, b.data + at, b.n - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            l->is_lost = true;
        else
            at += (size_t)n;
    }
    bytes_fini(&b);
}

static void put_id(const IoValue *id, Bytes *out) {
    if (id && id->kind == IO_STR)
        utf8_put_json(id->str, id->n_str, out);
    else if (id && id->kind == IO_INT)
        bytes_printf(out, "%lld", (long long)id->i);
    else
        bytes_puts(out, "null");
}

static void send_error(Lsp *l, const IoValue *id, int code, const char *message) {
    Bytes b = {0};
    bytes_puts(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
    put_id(id, &b);
    bytes_printf(&b, ",\"error\":{\"code\":%d,\"message\":", code);
    utf8_put_json(message, strlen(message), &b);
    bytes_puts(&b, "}}");
    send(l, &b);
    bytes_fini(&b);
}

/* ---- documents ---- */

static const IoValue *map_at(const IoValue *v, const char *key) {
    return v && v->kind == IO_MAP ? io_get(v, key) : NULL;
}

/* The text of a string without NUL, or NULL. */
static const char *text_at(const IoValue *v, const char *key) {
    const IoValue *s = map_at(v, key);
    return s && s->kind == IO_STR && strlen(s->str) == s->n_str ? s->str : NULL;
}

static Doc **find_doc(Lsp *l, const char *uri) {
    for (size_t k = 0; uri && k < l->n_docs; k++)
        if (!strcmp(l->doc[k]->uri, uri)) return &l->doc[k];
    return NULL;
}

Doc *lsp_doc(Lsp *l, const IoValue *params) {
    const char *uri = text_at(map_at(params, "textDocument"), "uri");
    Doc **d = find_doc(l, uri);
    if (!d) lsp_fail(l, LSP_BAD_PARAMS, "%.200s is not an open document", uri ? uri : "that");
    return d ? *d : NULL;
}

Doc *lsp_at(Lsp *l, const IoValue *params, size_t *at) {
    Doc *d = lsp_doc(l, params);
    if (!d || doc_offset(d, map_at(params, "position"), l->is_utf8, at)) return d;
    lsp_fail(l, LSP_BAD_PARAMS, "position must be {line, character}");
    return NULL;
}

static void publish(Lsp *l, Doc *d, const Index *x) {
    Bytes b = {0};
    bytes_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/publishDiagnostics\","
                   "\"params\":{\"uri\":");
    utf8_put_json(d->uri, strlen(d->uri), &b);
    if (x) bytes_printf(&b, ",\"version\":%lld", (long long)d->version);
    bytes_puts(&b, ",\"diagnostics\":[");
    for (size_t k = 0; x && k < x->n_findings; k++) {
        const Finding *f = &x->finding[k];
        bytes_puts(&b, k ? ",{\"range\":" : "{\"range\":");
        doc_put_range(d, f->from, f->to, l->is_utf8, &b);
        bytes_printf(&b,
                     ",\"severity\":%d,\"source\":\"gtsh\",\"message\":", f->is_warning ? 2 : 1);
        utf8_put_json(f->text, strlen(f->text), &b);
        bytes_putc(&b, '}');
    }
    bytes_puts(&b, "]}}");
    send(l, &b);
    bytes_fini(&b);
    d->is_dirty = false;
}

static void publish_all(Lsp *l) {
    for (size_t k = 0; k < l->n_docs; k++)
        if (l->doc[k]->is_dirty) publish(l, l->doc[k], doc_index(l->doc[k], l->in));
}

static void set_version(Doc *d, const IoValue *item) {
    const IoValue *version = map_at(item, "version");
    if (version && version->kind == IO_INT) d->version = version->i;
}

static bool on_did_open(Lsp *l, const IoValue *params, Bytes *out) {
    const IoValue *item = map_at(params, "textDocument"), *text = map_at(item, "text");
    const char *uri = text_at(item, "uri");
    if (!uri || !text || text->kind != IO_STR || text->n_str > LSP_MAX_TEXT)
        return lsp_fail(l, LSP_BAD_PARAMS, "a document needs a URI and at most 16 MiB of text");
    Doc **old = find_doc(l, uri);
    if (!old && l->n_docs == LSP_MAX_DOCS)
        return lsp_fail(l, LSP_BAD_PARAMS, "at most %d documents may be open", LSP_MAX_DOCS);
    Doc *d = doc_new(uri, text->str, text->n_str);
    set_version(d, item);
    if (old) {
        doc_free(old);
        *old = d;
        return true;
    }
    ARRAY_PUSH(l->doc, l->n_docs, l->docs_cap, 8, d);
    return true;
}

static bool change(Lsp *l, Doc *d, const IoValue *c) {
    const IoValue *text = map_at(c, "text"), *range = map_at(c, "range");
    size_t from = 0, to = d->text.n;
    bool ok = text && text->kind == IO_STR;
    if (ok && range && range->kind != IO_NONE)
        ok = doc_offset(d, map_at(range, "start"), l->is_utf8, &from) &&
             doc_offset(d, map_at(range, "end"), l->is_utf8, &to) && from <= to;
    if (!ok) return lsp_fail(l, LSP_BAD_PARAMS, "a change needs a range and text");
    if (d->text.n - (to - from) + text->n_str > LSP_MAX_TEXT)
        return lsp_fail(l, LSP_BAD_PARAMS, "a document has at most 16 MiB of text");
    doc_replace(d, from, to, text->str, text->n_str);
    return true;
}

static bool on_did_change(Lsp *l, const IoValue *params, Bytes *out) {
    Doc *d = lsp_doc(l, params);
    const IoValue *changes = map_at(params, "contentChanges");
    if (!d) return false;
    if (!changes || changes->kind != IO_LIST)
        return lsp_fail(l, LSP_BAD_PARAMS, "contentChanges must be a list");
    set_version(d, map_at(params, "textDocument"));
    for (uint32_t k = 0; k < changes->n; k++) TRY(change(l, d, &changes->kid[k]));
    return true;
}

static bool on_did_close(Lsp *l, const IoValue *params, Bytes *out) {
    if (!lsp_doc(l, params)) return false;
    Doc **d = find_doc(l, text_at(map_at(params, "textDocument"), "uri"));
    publish(l, *d, NULL);
    doc_free(d);
    *d = l->doc[--l->n_docs];
    return true;
}

/* ---- the session ---- */

static bool on_initialize(Lsp *l, const IoValue *params, Bytes *out) {
    const IoValue *client = map_at(params, "capabilities"), *general = map_at(client, "general");
    const IoValue *edit = map_at(map_at(client, "workspace"), "workspaceEdit");
    const IoValue *versions = map_at(edit, "documentChanges");
    const IoValue *encodings = map_at(general, "positionEncodings");
    for (uint32_t k = 0; encodings && encodings->kind == IO_LIST && k < encodings->n; k++)
        if (encodings->kid[k].kind == IO_STR && !strcmp(encodings->kid[k].str, "utf-8"))
            l->is_utf8 = true;
    l->has_versions = versions && versions->kind == IO_BOOL && versions->b;
    l->is_open = true;
    bytes_printf(
        out,
        "{\"capabilities\":{\"positionEncoding\":\"%s\",\"textDocumentSync\":{\"openClose\":true,"
        "\"change\":2},\"hoverProvider\":true,\"completionProvider\":{\"triggerCharacters\":"
        "[\".\"]},\"signatureHelpProvider\":{\"triggerCharacters\":[\"(\",\",\"]},"
        "\"definitionProvider\":true,\"referencesProvider\":true,\"renameProvider\":"
        "{\"prepareProvider\":true},\"documentSymbolProvider\":true,"
        "\"documentFormattingProvider\":true,\"foldingRangeProvider\":true},"
        "\"serverInfo\":{\"name\":\"gtsh\",\"version\":\"%s\"}}",
        l->is_utf8 ? "utf-8" : "utf-16", GTSH_VERSION);
    return true;
}

static bool on_shutdown(Lsp *l, const IoValue *params, Bytes *out) {
    publish_all(l);
    l->is_shut = true;
    bytes_puts(out, "null");
    return true;
}

static bool on_exit_message(Lsp *l, const IoValue *params, Bytes *out) {
    l->is_over = true;
    return true;
}

static const struct {
    const char *name;
    LspFn fn;
    bool is_request;
} methods[] = {
    {"initialize", on_initialize, true},
    {"shutdown", on_shutdown, true},
    {"exit", on_exit_message, false},
    {"textDocument/didOpen", on_did_open, false},
    {"textDocument/didChange", on_did_change, false},
    {"textDocument/didClose", on_did_close, false},
    {"textDocument/hover", lsp_hover, true},
    {"textDocument/completion", lsp_completion, true},
    {"textDocument/signatureHelp", lsp_signature_help, true},
    {"textDocument/definition", lsp_definition, true},
    {"textDocument/references", lsp_references, true},
    {"textDocument/prepareRename", lsp_prepare_rename, true},
    {"textDocument/rename", lsp_rename, true},
    {"textDocument/documentSymbol", lsp_symbols, true},
    {"textDocument/foldingRange", lsp_folding, true},
    {"textDocument/formatting", lsp_formatting, true},
};

static LspFn method_of(Lsp *l, const char *name, bool is_request) {
    bool is_exit = !strcmp(name, "exit"), is_first = !strcmp(name, "initialize");
    if (!l->is_open && !is_first && !is_exit)
        return lsp_fail(l, NOT_OPEN, "initialize comes first"), NULL;
    if ((l->is_shut && !is_exit) || (l->is_open && is_first))
        return lsp_fail(l, BAD_REQUEST, "%s",
                        l->is_shut ? "after shutdown comes exit" : "initialize comes once"),
               NULL;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
        if (!strcmp(methods[k].name, name) && methods[k].is_request == is_request)
            return methods[k].fn;
    return lsp_fail(l, NO_METHOD, "there is no %s '%.100s'",
                    is_request ? "request" : "notification", name),
           NULL;
}

static void handle(Lsp *l, const IoValue *m) {
    const IoValue *id = map_at(m, "id");
    const char *name = text_at(m, "method");
    if (m->kind == IO_MAP && id && !name) return; /* an answer: we ask nothing */
    if (!name) {
        send_error(l, NULL, BAD_REQUEST, "a message needs a method");
        return;
    }
    Bytes out = {0};
    LspFn fn = method_of(l, name, id != NULL);
    bool ok = fn && fn(l, map_at(m, "params"), &out);
    if (id && !ok)
        send_error(l, id, l->error, l->message);
    else if (id) {
        Bytes b = {0};
        bytes_puts(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
        put_id(id, &b);
        bytes_puts(&b, ",\"result\":");
        bytes_add(&b, out.data, out.n);
        bytes_putc(&b, '}');
        send(l, &b);
        bytes_fini(&b);
    }
    bytes_fini(&out);
}

/* ---- input ---- */

/* Reads some bytes; false at the end. */
static bool read_more(Lsp *l) {
    char block[1 << 16];
    for (;;) {
        ssize_t n = read(l->from, block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes_add(&l->buffer, block, (size_t)n);
        return true;
    }
}

static bool has_input(Lsp *l) {
    struct pollfd p = {.fd = l->from, .events = POLLIN};
    return l->used < l->buffer.n || poll(&p, 1, 0) > 0;
}

/* The length in a header, of n bytes; false without a valid one. */
static bool content_length(const char *s, size_t n, size_t *length) {
    static const char name[] = "content-length:";
    bool found = false;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(s + at, '\n', n - at);
        size_t to = end ? (size_t)(end - s) : n, k = at + sizeof name - 1;
        if (to - at >= sizeof name && !strncasecmp(s + at, name, sizeof name - 1)) {
            while (k < to && s[k] == ' ') k++;
            size_t digits = 0;
            for (*length = 0; k < to && s[k] >= '0' && s[k] <= '9' && digits < 12; k++, digits++)
                *length = *length * 10 + (size_t)(s[k] - '0');
            found = digits > 0 && digits < 12;
        }
        at = to + 1;
    }
    return found;
}

/* Reads until the blank line that ends a header; false at the end of the input. A header that is
 * too long is cut there. */
static bool read_header(Lsp *l, size_t *n, size_t *next) {
    for (size_t at = l->used;;) {
        for (; at + 1 < l->buffer.n; at++) {
            const char *s = l->buffer.data + at;
            size_t blank = s[0] != '\n' ? 0 : s[1] == '\n' ? 2 : s[1] == '\r' ? 3 : 0;
            if (!blank || at + blank > l->buffer.n || (blank == 3 && s[2] != '\n')) continue;
            *n = at - l->used;
            *next = at + blank;
            return true;
        }
        if (l->buffer.n - l->used > MAX_HEADER) {
            *n = 0;
            *next = l->buffer.n;
            return true;
        }
        if (at > l->used + 3) at -= 3; /* the line break may have come in part */
        if (!read_more(l)) return false;
    }
}

static void drop_used(Lsp *l) {
    if (l->used < 1 << 16 && l->used < l->buffer.n) return;
    memmove(l->buffer.data, l->buffer.data + l->used, l->buffer.n - l->used);
    l->buffer.n -= l->used;
    l->used = 0;
}

/* Skips a message's content that is too long. */
static bool skip(Lsp *l, size_t n) {
    while (l->buffer.n - l->used < n) {
        n -= l->buffer.n - l->used;
        l->buffer.n = l->used = 0;
        if (!read_more(l)) return false;
    }
    l->used += n;
    return true;
}

/* Reads and handles one message; false at the end of the input. */
static bool one_message(Lsp *l) {
    size_t n, next, length;
    if (!read_header(l, &n, &next)) return false;
    bool ok = content_length(l->buffer.data + l->used, n, &length);
    l->used = next;
    if (!ok) {
        send_error(l, NULL, PARSE_ERROR, "a message begins with Content-Length: and a number");
        return true;
    }
    if (length > LSP_MAX_MESSAGE) {
        send_error(l, NULL, BAD_REQUEST, "a message has at most 64 MiB");
        return skip(l, length);
    }
    while (l->buffer.n - l->used < length)
        if (!read_more(l)) return false;
    IoValue m = {0};
    Err err = {0};
    const char *content = length ? l->buffer.data + l->used : "";
    l->used += length;
    if (json_parse(content, length, LSP_MAX_NODES, &m, &err)) {
        handle(l, &m);
        io_fini(&m);
    } else
        send_error(l, NULL, PARSE_ERROR, err.text);
    return true;
}

int lsp_run(Interp *in, int from_fd, int to_fd) {
    Lsp l = {.in = in, .from = from_fd, .to = to_fd};
    for (int busy = 0; !l.is_over && !l.is_lost; busy++) {
        if (busy == MAX_BUSY || !has_input(&l)) publish_all(&l), busy = 0;
        if (!one_message(&l)) break;
        drop_used(&l);
    }
    for (size_t k = 0; k < l.n_docs; k++) doc_free(&l.doc[k]);
    free(l.doc);
    bytes_fini(&l.buffer);
    return l.is_over && l.is_shut ? 0 : 1;
}
