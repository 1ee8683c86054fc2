/* io_json.c: reads and writes JSON (RFC 8259, and Python's NaN and Infinity). Numbers without point
 * or exponent are ints and stay exact; others are floats. Depth and number of nodes are bounded, so
 * untrusted text cannot exhaust stack or memory.
 * SPDX-License-Identifier: MIT */
#include "lang/error/interrupt.h"
#include "lang/file/io_json.h"
#include "runtime/base/utf8.h"
#include "runtime/inst/element.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_JSON_DEPTH = 200 };

typedef struct Reader {
    const char *s, *at, *end;
    size_t nodes_left;
    int depth;
    Err *err;
} Reader;

static bool fail(Reader *r, const char *what) {
    int line = 1;
    const char *line_start = r->s;
    for (const char *p = r->s; p < r->at; p++)
        if (*p == '\n') {
            line++;
            line_start = p + 1;
        }
    return err_set(r->err, ERR_PARSE, "line %d, column %d: %s", line, (int)(r->at - line_start) + 1,
                   what);
}

static void skip_blanks(Reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static bool take(Reader *r, char c) {
    skip_blanks(r);
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

static bool take_word(Reader *r, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n)) return false;
    r->at += n;
    return true;
}

static bool take_hex(Reader *r, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int d = r->at < r->end ? hex_digit(*r->at) : -1;
        if (d < 0) return fail(r, "\\u needs four hexadecimal digits");
        *out = *out << 4 | (uint32_t)d;
    }
    return true;
}

static bool read_escape(Reader *r, Bytes *b) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : 0;
    const char *known = c ? strchr(from, c) : NULL;
    if (known) {
        bytes_putc(b, to[known - from]);
        return true;
    }
    if (c != 'u') return fail(r, "unknown escape in a string");
    uint32_t code, low;
    TRY(take_hex(r, &code));
    if (code >= 0xd800 && code < 0xdc00 && take_word(r, "\\u")) {
        TRY(take_hex(r, &low));
        if (low < 0xdc00 || low > 0xdfff) return fail(r, "half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    char utf8[4];
    int n = utf8_encode(code >= 0xd800 && code < 0xe000 ? 0xfffd : code, utf8);
    bytes_add(b, utf8, (size_t)n);
    return true;
}

/* Reads a string after its opening quote. The caller frees b, also on failure. */
static bool read_string(Reader *r, Bytes *b) {
    bytes_reserve(b, 1);
    for (;;) {
        const char *begin = r->at;
        while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= 32) {
            int n =
                (signed char)*r->at >= 0 ? 1 : utf8_decode(r->at, (size_t)(r->end - r->at), NULL);
            if (n == 0) return fail(r, "the text is not UTF-8");
            r->at += n;
        }
        bytes_add(b, begin, (size_t)(r->at - begin));
        if (r->at == r->end) return fail(r, "a string does not end");
        char c = *r->at++;
        if (c == '"') return true;
        if (c != '\\') {
            r->at--;
            return fail(r, "a control character in a string");
        }
        TRY(read_escape(r, b));
    }
}

static bool read_number(Reader *r, IoValue *out) {
    const char *begin = r->at;
    bool is_float = false;
    for (; r->at < r->end && strchr("+-.eE0123456789", *r->at) && *r->at; r->at++)
        is_float |= strchr(".eE", *r->at) != NULL;
    char text[64], *end;
    size_t n = (size_t)(r->at - begin);
    if (n == 0 || n >= sizeof text)
        return fail(r, n ? "a number of more than 63 digits" : "a value is missing");
    memcpy(text, begin, n);
    text[n] = 0;
    errno = 0;
    if (!is_float) {
        int64_t i = strtoll(text, &end, 10);
        if (!*end && errno == 0) {
            *out = (IoValue){.kind = IO_INT, .i = i};
            return true;
        }
    }
    *out = (IoValue){.kind = IO_FLOAT, .f = strtod(text, &end)};
    if (*end || !strcmp(text, "-")) {
        r->at = begin;
        return fail(r, "no valid number");
    }
    return true;
}

static bool read_value(Reader *r, IoValue *out);

static bool read_items(Reader *r, IoValue *out, bool is_map) {
    char close = is_map ? '}' : ']';
    out->kind = is_map ? IO_MAP : IO_LIST;
    if (take(r, close)) return true;
    for (;;) {
        IoValue *slot;
        if (is_map) {
            Bytes key = {0};
            if (!take(r, '"'))
                return fail(r, out->n && take(r, close) ? "a comma before }"
                                                        : "a key must be a string");
            bool ok = read_string(r, &key);
            if (ok && strlen(key.data) != key.n) ok = fail(r, "a key with the character 0");
            slot = ok ? io_put(out, key.data, strlen(key.data)) : NULL;
            bytes_fini(&key);
            if (!ok) return false;
            if (!take(r, ':')) return fail(r, "':' is missing after a key");
        } else {
            if (out->n && take(r, close)) return fail(r, "a comma before ]");
            slot = io_push(out);
        }
        TRY(read_value(r, slot));
        if (take(r, close)) return true;
        if (!take(r, ','))
            return fail(r, is_map ? "',' or '}' is missing" : "',' or ']' is missing");
    }
}

static const struct {
    const char *text;
    IoValue value;
} words[] = {
    {"null", {.kind = IO_NONE}},
    {"true", {.kind = IO_BOOL, .b = true}},
    {"false", {.kind = IO_BOOL}},
    {"NaN", {.kind = IO_FLOAT, .f = NAN}},
    {"Infinity", {.kind = IO_FLOAT, .f = INFINITY}},
    {"-Infinity", {.kind = IO_FLOAT, .f = -INFINITY}},
};

static bool read_value(Reader *r, IoValue *out) {
    *out = (IoValue){0};
    TRY(not_interrupted_io(r->err));
    skip_blanks(r);
    if (r->at == r->end) return fail(r, "the text ends where a value should be");
    if (r->nodes_left-- == 0) return fail(r, "more values than are allowed");
    char c = *r->at;
    if (c == '{' || c == '[') {
        if (r->depth == MAX_JSON_DEPTH) return fail(r, "nested too deep");
        r->at++;
        r->depth++;
        bool ok = read_items(r, out, c == '{');
        r->depth--;
        return ok;
    }
    if (c == '"') {
        Bytes s = {0};
        r->at++;
        if (!read_string(r, &s)) {
            bytes_fini(&s);
            return false;
        }
        *out = (IoValue){.kind = IO_STR, .str = s.data, .n_str = s.n};
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take_word(r, words[i].text)) return *out = words[i].value, true;
    return read_number(r, out);
}

bool json_parse(const char *s, size_t n, size_t max_nodes, IoValue *out, Err *err) {
    Reader r = {s, s, s + n, max_nodes, 0, err};
    bool ok = read_value(&r, out);
    if (ok && (skip_blanks(&r), r.at != r.end)) ok = fail(&r, "something follows the value");
    if (!ok) io_fini(out);
    return ok;
}

/* One value per line; blank lines are skipped. */
bool jsonl_decode(Buf *bytes, size_t max_nodes, IoValue *out, Err *err) {
    const char *s = (const char *)bytes->data, *end = s + bytes->n;
    Reader r = {s, s, s, max_nodes, 0, err};
    *out = (IoValue){.kind = IO_LIST};
    for (const char *line = s; line < end; line = r.end + 1) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        r.at = line;
        r.end = stop ? stop : end;
        skip_blanks(&r);
        if (r.at == r.end) continue;
        bool ok = read_value(&r, io_push(out));
        if (ok && (skip_blanks(&r), r.at != r.end)) ok = fail(&r, "something follows the value");
        if (ok) continue;
        io_fini(out);
        return false;
    }
    return true;
}

/* ---- Printing ---- */

static void print_float(double f, DType t, Bytes *out) {
    char text[40];
    if (isnan(f) || isinf(f)) {
        bytes_puts(out, isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity");
        return;
    }
    /* the fewest digits that read back the same */
    int least = t == DT_F64 ? 15 : t == DT_F32 ? 6 : 1, most = t == DT_F64 ? 17 : 9;
    for (int n = least; n <= most; n++) {
        uint8_t back[8], same[8];
        snprintf(text, sizeof text, "%.*g", n, f);
        element_set_float(t, back, t == DT_F64 ? strtod(text, NULL) : (double)strtof(text, NULL));
        element_set_float(t, same, f);
        if (element_float(t, back) == element_float(t, same)) break;
    }
    bytes_puts(out, text);
    if (!strpbrk(text, ".e")) bytes_puts(out, ".0");
}

static void print_element(DType d, const uint8_t *p, Bytes *out) {
    if (dtype_is_float(d))
        print_float(element_float(d, p), d, out);
    else if (d == DT_BOOL)
        bytes_puts(out, *p ? "true" : "false");
    else
        bytes_printf(out, "%" PRId64, element_int(d, p));
}

static const uint8_t *print_axis(const TensorType *t, int axis, const uint8_t *p, Bytes *out) {
    if (axis == t->rank) {
        print_element((DType)t->dtype, p, out);
        return p + dtype_info[t->dtype].size_bytes;
    }
    bytes_putc(out, '[');
    for (int64_t i = 0; i < t->shape[axis] && goes_on(); i++) {
        if (i) bytes_puts(out, ", ");
        p = print_axis(t, axis + 1, p, out);
    }
    bytes_putc(out, ']');
    return p;
}

static bool is_flat(const IoValue *v) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->kid[i].kind == IO_MAP || v->kid[i].kind == IO_LIST) return v->kid[i].n == 0;
    return true;
}

static void new_line(int indent, Bytes *out) {
    bytes_putc(out, '\n');
    for (int i = 0; i < indent; i++) bytes_putc(out, ' ');
}

/* indent: blanks before the items of v; < 0: one line. Lists of plain values stay on one line. */
void json_print(const IoValue *v, int indent, Bytes *out) {
    switch (v->kind) {
    case IO_BAD:
    case IO_NONE: bytes_puts(out, "null"); return;
    case IO_BOOL: bytes_puts(out, v->b ? "true" : "false"); return;
    case IO_INT: bytes_printf(out, "%" PRId64, v->i); return;
    case IO_FLOAT: print_float(v->f, DT_F64, out); return;
    case IO_STR: utf8_put_json(v->str, v->n_str, out); return;
    case IO_TENSOR: print_axis(&v->tensor->type, 0, v->tensor->buf->data, out); return;
    case IO_LIST:
    case IO_MAP: break;
    }
    bool is_map = v->kind == IO_MAP, breaks = indent >= 0 && v->n && (is_map || !is_flat(v));
    bytes_putc(out, is_map ? '{' : '[');
    for (uint32_t i = 0; i < v->n && goes_on(); i++) {
        if (i) bytes_puts(out, breaks ? "," : ", ");
        if (breaks) new_line(indent, out);
        if (is_map) {
            utf8_put_json(v->key[i], strlen(v->key[i]), out);
            bytes_puts(out, ": ");
        }
        json_print(&v->kid[i], breaks ? indent + 1 : -1, out);
    }
    if (breaks) new_line(indent - 1, out);
    bytes_putc(out, is_map ? '}' : ']');
}

bool jsonl_encode(IoSink *s, const IoValue *v, Err *err) {
    if (v->kind != IO_LIST) {
        err_set(err, ERR_ARG, "a .jsonl file holds a list, one value per line");
        return err_hint(err, "save([value], path)");
    }
    Bytes text = {0};
    for (uint32_t i = 0; i < v->n && goes_on(); i++) {
        json_print(&v->kid[i], -1, &text);
        bytes_putc(&text, '\n');
    }
    io_put_bytes(s, text.data, text.n);
    bytes_fini(&text);
    return true;
}
