/* io_yaml.c: host values in YAML, by libyaml's events. Plain scalars follow the core schema of YAML
 * 1.2 (null, true, 12, 0x1f, 0o17, 1.5, .inf); quoted and all other scalars are strings. Aliases
 * are copied. Depth and the memory for copies are bounded, so untrusted text cannot exhaust stack
 * or memory. One document; unique keys; no merge keys; only the core schema's tags. The output
 * reads the same under YAML 1.1.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io_yaml.h"
#include "lang/error/interrupt.h"
#include "runtime/base/map.h"
#include "runtime/layout/config.h"
#include "runtime/base/words.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

enum { MAX_YAML_DEPTH = 100, ALIAS_BASE = 16 << 20, ALIAS_RATIO = 16 };

/* ---- Scalars ---- */

static bool read_int(const char *s, IoValue *out) {
    int base = !strncmp(s, "0x", 2) ? 16 : !strncmp(s, "0o", 2) ? 8 : 10;
    const char *digits = base != 10 ? s + 2 : s + (*s == '-' || *s == '+');
    static const char all[] = "0123456789abcdefABCDEF";
    size_t n = base == 16 ? 22 : (size_t)base;
    for (const char *p = digits; *p; p++)
        if (!memchr(all, *p, n)) return false;
    if (!*digits) return false;
    errno = 0;
    *out = (IoValue){.kind = IO_INT, .i = strtoll(base == 10 ? s : digits, NULL, base)};
    return errno == 0; /* beyond 64 bits: a float */
}

static bool read_float(const char *s, IoValue *out) {
    const char *p = s + (*s == '-' || *s == '+');
    out->kind = IO_FLOAT;
    if (words_have(".inf .Inf .INF", p, strlen(p))) {
        out->f = *s == '-' ? -INFINITY : INFINITY;
        return true;
    }
    if (words_have(".nan .NaN .NAN", s, strlen(s))) {
        out->f = NAN;
        return true;
    }
    size_t whole = strspn(p, "0123456789"), part = 0;
    p += whole;
    if (*p == '.') {
        part = strspn(p + 1, "0123456789");
        p += 1 + part;
    }
    if (whole + part == 0) return false;
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '-' || p[1] == '+');
        size_t n = strspn(p, "0123456789");
        if (n == 0) return false;
        p += n;
    }
    out->f = strtod(s, NULL);
    return !*p;
}

/* Reads a plain scalar by the core schema; false: it is a string. */
static bool read_plain(const char *s, IoValue *out) {
    *out = (IoValue){0};
    if (!*s || words_have("~ null Null NULL", s, strlen(s))) return true;
    bool is_true = words_have("true True TRUE", s, strlen(s));
    if (is_true || words_have("false False FALSE", s, strlen(s))) {
        *out = (IoValue){.kind = IO_BOOL, .b = is_true};
        return true;
    }
    return read_int(s, out) || read_float(s, out);
}

/* ---- Reading ---- */

typedef struct Reader {
    const Buf *bytes;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one, owned */
    bool has_event;
    Map anchors; /* hash of the name -> index in anchor, plus 1 */
    IoValue *anchor;
    uint32_t n_anchors, cap_anchors;
    size_t copied, copy_limit;
    int depth;
    Err *err;
} Reader;

static bool fail_at(Reader *r, yaml_mark_t at, const char *what) {
    return err_set(r->err, ERR_PARSE, "line %zu, column %zu: %s", at.line + 1, at.column + 1, what);
}

/* Adds the hint to quote a text that begins like an alias. */
static bool fail_hinted(Reader *r, yaml_mark_t at, const char *what) {
    fail_at(r, at, what);
    const char *hint =
        config_quote_hint(what, (const char *)r->bytes->data, r->bytes->n, at.line, at.column);
    return hint && err_hint(r->err, "%s", hint);
}

static bool fail(Reader *r, const char *what) { return fail_at(r, r->event.start_mark, what); }

static bool next(Reader *r) {
    TRY(not_interrupted_io(r->err));
    if (r->has_event) yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event);
    if (r->has_event) return true;
    const char *what = r->parser.problem ? r->parser.problem : "no valid YAML";
    if (r->parser.error == YAML_READER_ERROR)
        return err_set(r->err, ERR_PARSE, "byte %zu: %s", r->parser.problem_offset, what);
    fail_hinted(r, r->parser.problem_mark, what);
    bool is_key = !strcmp(what, "did not find expected key");
    return is_key && err_hint(r->err, "the keys of one map begin in the same column");
}

/* A deep copy; fails beyond the limit on copied bytes. */
static bool copy_value(Reader *r, const IoValue *v, IoValue *out) {
    *out = (IoValue){0};
    r->copied += sizeof *v + (v->kind == IO_STR ? v->n_str : 0);
    if (r->copied > r->copy_limit) return fail(r, "aliases expand the text too much");
    if (v->kind == IO_STR) {
        *out = *v;
        out->str = xstrndup(v->str, v->n_str);
        return true;
    }
    if (v->kind != IO_LIST && v->kind != IO_MAP) {
        *out = *v;
        return true;
    }
    if (r->depth == MAX_YAML_DEPTH) return fail(r, "aliases nest too deep");
    r->depth++;
    out->kind = v->kind;
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->kind == IO_MAP) r->copied += strlen(v->key[i]) + 1;
        IoValue *kid = v->kind == IO_MAP ? io_put(out, v->key[i], strlen(v->key[i])) : io_push(out);
        TRY(copy_value(r, &v->kid[i], kid));
    }
    r->depth--;
    return true;
}

static uint64_t anchor_key(const yaml_char_t *name) {
    return hash_bytes(name, strlen((const char *)name), 0);
}

static bool keep_anchor(Reader *r, uint64_t key, const IoValue *v) {
    ARRAY_ROOM(r->anchor, r->n_anchors, r->cap_anchors, 16);
    bool ok = copy_value(r, v, &r->anchor[r->n_anchors++]);
    /* a later anchor of the same name wins */
    map_put(&r->anchors, key, (void *)(uintptr_t)r->n_anchors);
    return ok;
}

static bool read_alias(Reader *r, IoValue *out) {
    uintptr_t i = (uintptr_t)map_get(&r->anchors, anchor_key(r->event.data.alias.anchor));
    return i ? copy_value(r, &r->anchor[i - 1], out)
             : fail_hinted(r, r->event.start_mark, "an alias without a complete anchor before it");
}

static bool read_scalar(Reader *r, IoValue *out) {
    const char *s = (const char *)r->event.data.scalar.value;
    const char *tag = (const char *)r->event.data.scalar.tag;
    size_t n = r->event.data.scalar.length;
    static const char core[] = "tag:yaml.org,2002:";
    if (tag && strncmp(tag, core, sizeof core - 1)) {
        if (strcmp(tag, "!")) return fail(r, "tags other than the core schema's are not read");
        tag = "str";
    } else if (tag) {
        tag += sizeof core - 1;
    }
    bool is_plain = r->event.data.scalar.plain_implicit && strlen(s) == n;
    if (tag && strcmp(tag, "str")) {
        IoKind want = !strcmp(tag, "int")     ? IO_INT
                      : !strcmp(tag, "float") ? IO_FLOAT
                      : !strcmp(tag, "bool")  ? IO_BOOL
                                              : IO_NONE;
        if (want == IO_NONE && strcmp(tag, "null"))
            return fail(r, "tags other than the core schema's are not read");
        if (!read_plain(s, out) || strlen(s) != n) out->kind = IO_STR;
        if (want == IO_FLOAT && out->kind == IO_INT)
            *out = (IoValue){.kind = IO_FLOAT, .f = (double)out->i};
        if (out->kind == want) return true;
        *out = (IoValue){0};
        return fail(r, "the value does not match its tag");
    }
    if (!tag && is_plain && read_plain(s, out)) return true;
    *out = (IoValue){.kind = IO_STR, .str = xmalloc(n + 1), .n_str = n};
    memcpy(out->str, s, n + 1);
    return true;
}

static bool read_node(Reader *r, IoValue *out);

/* Reads a key. Keys are always strings and must be unique. */
static bool read_key(Reader *r, IoValue *map, Map *seen, IoValue **slot) {
    if (r->event.type != YAML_SCALAR_EVENT) return fail(r, "a key must be a scalar");
    const char *s = (const char *)r->event.data.scalar.value;
    size_t n = r->event.data.scalar.length;
    if (strlen(s) != n) return fail(r, "a key has a zero byte in it");
    if (!strcmp(s, "<<") && r->event.data.scalar.plain_implicit)
        return fail(r, "merge keys (<<) are not read");
    if (r->event.data.scalar.anchor) return fail(r, "anchors on keys are not read");
    uint64_t key = hash_bytes(s, n, 0);
    uintptr_t at = (uintptr_t)map_get(seen, key);
    if (at && !strcmp(map->key[at - 1], s)) return fail(r, "the key occurs twice");
    *slot = io_put(map, s, n);
    map_put(seen, key, (void *)(uintptr_t)map->n);
    return next(r);
}

static bool read_items(Reader *r, IoValue *out, Map *seen) {
    bool is_map = r->event.type == YAML_MAPPING_START_EVENT;
    const char *tag =
        (const char *)(is_map ? r->event.data.mapping_start.tag : r->event.data.sequence_start.tag);
    if (tag && strcmp(tag, is_map ? YAML_MAP_TAG : YAML_SEQ_TAG))
        return fail(r, "tags other than the core schema's are not read");
    if (r->depth == MAX_YAML_DEPTH) return fail(r, "nested too deep");
    out->kind = is_map ? IO_MAP : IO_LIST;
    TRY(next(r));
    while (r->event.type != YAML_MAPPING_END_EVENT && r->event.type != YAML_SEQUENCE_END_EVENT) {
        IoValue *slot = NULL;
        if (is_map)
            TRY(read_key(r, out, seen, &slot));
        else
            slot = io_push(out);
        TRY(read_node(r, slot));
    }
    return true;
}

/* Reads the node that begins at the current event; the next event becomes current. */
static bool read_node(Reader *r, IoValue *out) {
    yaml_event_type_t type = r->event.type;
    const yaml_char_t *name = NULL;
    if (type == YAML_SCALAR_EVENT) name = r->event.data.scalar.anchor;
    if (type == YAML_SEQUENCE_START_EVENT) name = r->event.data.sequence_start.anchor;
    if (type == YAML_MAPPING_START_EVENT) name = r->event.data.mapping_start.anchor;
    uint64_t key = name ? anchor_key(name) : 0;
    bool is_anchor = name != NULL, ok;
    if (type == YAML_ALIAS_EVENT)
        ok = read_alias(r, out);
    else if (type == YAML_SCALAR_EVENT)
        ok = read_scalar(r, out);
    else {
        Map seen = {0};
        r->depth++;
        ok = read_items(r, out, &seen);
        r->depth--;
        map_fini(&seen);
    }
    return ok && (!is_anchor || keep_anchor(r, key, out)) && next(r);
}

static bool read_stream(Reader *r, IoValue *out) {
    TRY(next(r)); /* the stream's start */
    TRY(next(r));
    if (r->event.type == YAML_STREAM_END_EVENT) return true;
    TRY(next(r)); /* the document's start */
    TRY(read_node(r, out));
    TRY(next(r)); /* the document's end */
    return r->event.type == YAML_STREAM_END_EVENT || fail(r, "more than one document");
}

bool yaml_decode(Buf *bytes, IoValue *out, Err *err) {
    Reader r = {.bytes = bytes, .err = err, .copy_limit = ALIAS_BASE + ALIAS_RATIO * bytes->n};
    *out = (IoValue){0};
    if (!yaml_parser_initialize(&r.parser)) return err_set(err, ERR_MEMORY, "cannot start libyaml");
    yaml_parser_set_input_string(&r.parser, bytes->data, bytes->n);
    bool ok = read_stream(&r, out);
    if (r.has_event) yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    for (uint32_t i = 0; i < r.n_anchors; i++) io_fini(&r.anchor[i]);
    free(r.anchor);
    map_fini(&r.anchors);
    if (!ok) io_fini(out);
    return ok;
}

/* ---- Writing ---- */

/* True if YAML 1.1 or 1.2 would read this string, unquoted, as another type. */
static bool needs_quotes(const char *s) {
    static const char *const words[] = {"~",  "null", "true", "false", "yes", "no",
                                        "on", "off",  "y",    "n",     "=",   "<<"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(s, words[i])) return true;
    return !*s || strchr("+-.0123456789", *s);
}

static bool emit_text(yaml_emitter_t *e, const char *s, size_t n, bool is_str) {
    yaml_event_t event;
    bool is_quoted = is_str && (needs_quotes(s) || strlen(s) != n);
    return yaml_scalar_event_initialize(
               &event, NULL, NULL, (const yaml_char_t *)s, (int)n, !is_quoted, 1,
               is_quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE) &&
           yaml_emitter_emit(e, &event);
}

/* Floats as in JSON, with the point that YAML 1.1 requires before an exponent. */
static bool emit_float(yaml_emitter_t *e, const IoValue *v) {
    Bytes b = {0}, text = {0};
    if (isnan(v->f) || isinf(v->f))
        bytes_puts(&text, isnan(v->f) ? ".nan" : v->f > 0 ? ".inf" : "-.inf");
    else {
        json_print(v, -1, &b);
        size_t mantissa = strcspn(b.data, "e");
        bytes_add(&text, b.data, mantissa);
        if (b.data[mantissa] && !memchr(b.data, '.', mantissa)) bytes_puts(&text, ".0");
        bytes_puts(&text, b.data + mantissa);
    }
    bool ok = emit_text(e, text.data, text.n, false);
    bytes_fini(&b);
    bytes_fini(&text);
    return ok;
}

/* True if the list stays on one line: all its values are plain. */
static bool is_flat(const IoValue *v) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->kid[i].kind == IO_MAP || v->kid[i].kind == IO_LIST) return false;
    return true;
}

static bool emit_value(yaml_emitter_t *e, const IoValue *v) {
    char text[32];
    yaml_event_t event;
    switch (v->kind) {
    case IO_BAD:
    case IO_NONE: return emit_text(e, "null", 4, false);
    case IO_BOOL: return emit_text(e, v->b ? "true" : "false", v->b ? 4 : 5, false);
    case IO_INT:
        return emit_text(e, text, (size_t)snprintf(text, sizeof text, "%" PRId64, v->i), false);
    case IO_FLOAT: return emit_float(e, v);
    case IO_STR: return v->n_str <= INT32_MAX && emit_text(e, v->str, v->n_str, true);
    case IO_TENSOR: return false; /* already converted to lists */
    case IO_LIST:
    case IO_MAP: break;
    }
    bool is_map = v->kind == IO_MAP;
    TRY(is_map
            ? yaml_mapping_start_event_initialize(
                  &event, NULL, NULL, 1, v->n ? YAML_BLOCK_MAPPING_STYLE : YAML_FLOW_MAPPING_STYLE)
            : yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                   is_flat(v) ? YAML_FLOW_SEQUENCE_STYLE
                                                              : YAML_BLOCK_SEQUENCE_STYLE));
    TRY(yaml_emitter_emit(e, &event));
    for (uint32_t i = 0; i < v->n && goes_on(); i++) {
        if (is_map) TRY(emit_text(e, v->key[i], strlen(v->key[i]), true));
        TRY(emit_value(e, &v->kid[i]));
    }
    TRY(is_map ? yaml_mapping_end_event_initialize(&event)
               : yaml_sequence_end_event_initialize(&event));
    return yaml_emitter_emit(e, &event);
}

static int on_write(void *sink, unsigned char *data, size_t n) {
    io_put_bytes(sink, data, n);
    return 1;
}

bool yaml_encode(IoSink *s, const IoValue *v, Err *err) {
    yaml_emitter_t e;
    yaml_event_t event;
    if (!yaml_emitter_initialize(&e)) return err_set(err, ERR_MEMORY, "cannot start libyaml");
    yaml_emitter_set_output(&e, on_write, s);
    yaml_emitter_set_unicode(&e, 1);
    yaml_emitter_set_width(&e, -1);
    bool ok = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
              yaml_emitter_emit(&e, &event) &&
              yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) &&
              yaml_emitter_emit(&e, &event) && emit_value(&e, v) &&
              yaml_document_end_event_initialize(&event, 1) && yaml_emitter_emit(&e, &event) &&
              yaml_stream_end_event_initialize(&event) && yaml_emitter_emit(&e, &event);
    const char *problem = e.problem ? e.problem : "a string is not UTF-8";
    if (!ok) err_set(err, ERR_ARG, "cannot be written as YAML: %s", problem);
    yaml_emitter_delete(&e);
    return ok;
}
