/* inst_parse.c: parses one line of instruction text to an Inst, errors with their column. One
 * pass from left to right. The form of a word and the op's bare attributes (inst_text.h) decide
 * what it is; attributes may stand anywhere. Nothing is looked up: ids are up to the caller, and
 * a slice's `:` or `2:` becomes size -1, for a caller that knows the operand.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "runtime/inst/inst_pack.h"
#include "runtime/inst/inst_text.h"
#include "runtime/base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Parser {
    const char *line, *at, *end;
    Arena *arena;
    InstLine *out;
    Inst *in;
    BareForm form;
    Operand *operand;
    int operand_cap;
    Attr *attr;
    int n_bare_strings;
    char *keys;
    size_t keys_n;
    int n_named; /* NAME=tN of save and track */
    char *other;
    size_t other_n;   /* unknown KEY=VALUE         */
    int other_column; /* of the first one that is not an annotation, else of the first one */
    bool other_is_remark;
    uint8_t *payload;
    size_t payload_cap; /* elements of data          */
    Err *err;
} Parser;

/* ---- Characters ---- */

__attribute__((format(printf, 3, 4))) static bool bad(Parser *p, const char *at, const char *format,
                                                      ...) {
    char text[400];
    FORMAT_INTO(text, format);
    return err_set(p->err, ERR_PARSE, "column %d: %s", (int)(at - p->line) + 1, text);
}

static void skip_space(Parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')) p->at++;
}

static bool at_end(const Parser *p) { return p->at == p->end || *p->at == '#'; }
static bool at_char(const Parser *p, char c) { return p->at < p->end && *p->at == c; }
static bool take_char(Parser *p, char c) {
    if (!at_char(p, c)) return false;
    p->at++;
    return true;
}

/* Length of the run of word characters at the cursor. */
static size_t word_length(const Parser *p) {
    const char *s = p->at;
    while (s < p->end && is_word_char((unsigned char)*s)) s++;
    return (size_t)(s - p->at);
}

static size_t number_length(const Parser *p) {
    const char *s = p->at;
    while (s < p->end && (is_word_char((unsigned char)*s) || *s == '+')) s++;
    return (size_t)(s - p->at);
}

/* True if all n characters are in the set; a line need not end with a NUL. */
static bool all_of(const char *s, size_t n, const char *set) {
    size_t known = strlen(set);
    for (size_t i = 0; i < n; i++)
        if (!memchr(set, s[i], known)) return false;
    return true;
}

static bool is_word(const char *s, size_t n, const char *word) {
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

/* ---- Values ---- */

static bool parse_u64(const char *s, size_t n, uint64_t *v) {
    if (n == 0 || n > 20) return false;
    uint64_t r = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return false;
        if (i < 18) { /* cannot overflow */
            r = r * 10 + (uint64_t)(s[i] - '0');
            continue;
        }
        if (__builtin_mul_overflow(r, 10u, &r) ||
            __builtin_add_overflow(r, (uint64_t)(s[i] - '0'), &r))
            return false;
    }
    *v = r;
    return true;
}

static bool parse_i64(const char *s, size_t n, int64_t *v) {
    bool minus = n > 0 && s[0] == '-';
    uint64_t u;
    if (!parse_u64(s + minus, n - minus, &u) || u > (uint64_t)INT64_MAX + minus) return false;
    *v = minus ? (int64_t)(0 - u) : (int64_t)u;
    return true;
}

/* nan.7ff0000000000001: a nan given by its bits. */
static bool parse_nan_bits(const char *s, size_t n, double *v) {
    if (n != 20 || memcmp(s, "nan.", 4) != 0) return false;
    uint64_t bits = 0;
    for (size_t i = 4; i < n; i++) {
        if (hex_digit(s[i]) < 0) return false;
        bits = bits << 4 | (uint64_t)hex_digit(s[i]);
    }
    memcpy(v, &bits, 8);
    return isnan(*v);
}

/* A decimal of few digits, whole * 10^e: both are exact, so that one operation rounds as strtod and
 * strtof do. false: it is another. f32 may be NULL. */
static bool parse_short(const char *s, size_t n, double *f64, float *f32) {
    static const double power[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10};
    enum { DIGITS = 15, POWERS = sizeof power / sizeof *power - 1 };
    bool minus = n > 0 && s[0] == '-';
    size_t i = minus, point = n;
    uint64_t whole = 0;
    if (n - i > DIGITS + 1) return false;
    for (; i < n; i++) {
        if (s[i] == '.' && point == n)
            point = i;
        else if (s[i] >= '0' && s[i] <= '9')
            whole = whole * 10 + (uint64_t)(s[i] - '0');
        else
            return false;
    }
    size_t digits = n - minus - (point < n), after = point < n ? n - 1 - point : 0;
    if (digits == 0 || digits > DIGITS || after > POWERS || (f32 && whole >= 1 << 24)) return false;
    *f64 = (double)whole / power[after];
    if (minus) *f64 = -*f64;
    if (f32)
        *f32 = minus ? -((float)whole / (float)power[after]) : (float)whole / (float)power[after];
    return true;
}

/* A decimal, nan, inf, -nan or -inf. The f32, which may be NULL, is rounded once, from the text. */
static bool parse_float(const char *s, size_t n, double *f64, float *f32) {
    char text[64], *end;
    bool minus = n > 0 && s[0] == '-';
    if (is_word(s + minus, n - minus, "nan") || is_word(s + minus, n - minus, "inf")) {
        *f64 = copysign(s[minus] == 'n' ? NAN : INFINITY, minus ? -1.0 : 1.0);
        if (f32) *f32 = (float)*f64;
        return true;
    }
    if (parse_short(s, n, f64, f32)) return true;
    if (parse_nan_bits(s, n, f64)) {
        if (f32) *f32 = (float)*f64;
        return true;
    }
    if (n == 0 || n >= sizeof text) return false;
    if (!all_of(s, 1, "-.0123456789") || !all_of(s, n, "+-.0123456789eE")) return false;
    memcpy(text, s, n);
    text[n] = 0;
    if (f32) *f32 = strtof(text, &end);
    *f64 = strtod(text, &end);
    return end == text + n;
}

/* "..." at the cursor, unescaped, in the arena, NUL-terminated. */
static bool parse_quoted(Parser *p, const char **text, uint32_t *n) {
    const char *start = p->at++, *close = p->at;
    while (close < p->end && *close != '"') close += *close == '\\' && close + 1 < p->end ? 2 : 1;
    if (close >= p->end) return bad(p, start, "a string is not closed");
    char *s = arena_alloc(p->arena, (size_t)(close - start)), *to = s;
    while (p->at < close) {
        char c = *p->at++;
        if (c == '\\') {
            const char *escape = p->at - 1;
            c = *p->at++;
            if (c == 'n')
                c = '\n';
            else if (c == 't')
                c = '\t';
            else if (c == 'r')
                c = '\r';
            else if (c == 'x' && close - p->at >= 2 && hex_digit(p->at[0]) >= 0 &&
                     hex_digit(p->at[1]) >= 0) {
                c = (char)(hex_digit(p->at[0]) * 16 + hex_digit(p->at[1]));
                p->at += 2;
            } else if (c != '"' && c != '\\' && c != '\'') {
                return bad(p, escape, "unknown escape");
            }
        }
        *to++ = c;
    }
    p->at = close + 1;
    *to = 0;
    if (to - s > MAX_STR) return bad(p, start, "a string is too long");
    *text = s, *n = (uint32_t)(to - s);
    return true;
}

/* A quoted string, or else the word at the cursor. */
static bool parse_text(Parser *p, const char **text, uint32_t *n) {
    if (at_char(p, '"')) return parse_quoted(p, text, n);
    size_t length = word_length(p);
    if (length == 0) return bad(p, p->at, "a word or a string is missing");
    *text = arena_strndup(p->arena, p->at, length), *n = (uint32_t)length;
    p->at += length;
    return true;
}

static bool parse_int_here(Parser *p, int64_t *v) {
    const char *s = p->at;
    size_t n = 0;
    for (*v = 0; s + n < p->end && n < 18 && s[n] >= '0' && s[n] <= '9'; n++)
        *v = *v * 10 + (s[n] - '0');
    if (n > 0 && (s + n == p->end || (!is_word_char((unsigned char)s[n]) && s[n] != '+'))) {
        p->at += n; /* the usual case */
        return true;
    }
    n = number_length(p);
    if (!parse_i64(p->at, n, v)) return bad(p, p->at, "a whole number is missing or out of range");
    p->at += n;
    return true;
}

static bool parse_id_here(Parser *p, uint64_t *id) {
    const char *s = p->at;
    size_t n = 1;
    uint64_t v = 0;
    while (s + n < p->end && n < 19 && s[n] >= '0' && s[n] <= '9')
        v = v * 10 + (uint64_t)(s[n++] - '0');
    bool ends = s + n >= p->end || !is_word_char((unsigned char)s[n]);
    if (at_char(p, 't') && n > 1 && ends) { /* the usual case */
        *id = v;
        p->at += n;
        return true;
    }
    n = word_length(p);
    if (!is_id_text(p->at, n)) return bad(p, p->at, "an id like t12 is missing");
    if (!parse_u64(p->at + 1, n - 1, id)) return bad(p, p->at, "an id out of range");
    p->at += n;
    return true;
}

/* [1, 2, 3] or, without brackets, one number (or seed:counter). */
static bool parse_ints(Parser *p, int64_t **v, uint32_t *n) {
    int64_t *list = arena_alloc(p->arena, MAX_INTS * sizeof *list);
    *v = list, *n = 0;
    if (!take_char(p, '[')) {
        TRY(parse_int_here(p, &list[(*n)++]));
        return !take_char(p, ':') || parse_int_here(p, &list[(*n)++]);
    }
    skip_space(p);
    while (!take_char(p, ']')) {
        if (*n == MAX_INTS) return bad(p, p->at, "a list of more than %d numbers", MAX_INTS);
        if (*n > 0 && !take_char(p, ',')) return bad(p, p->at, "',' or ']' is missing");
        skip_space(p);
        TRY(parse_int_here(p, &list[(*n)++]));
        skip_space(p);
    }
    return true;
}

/* ---- Attributes ---- */

static bool add_attr(Parser *p, const char *at, Attr a) {
    if (inst_attr(p->in, (AttrKey)a.key))
        return bad(p, at, "'%s' is given twice", attr_info[a.key].name);
    if (p->in->n_attr == MAX_ATTRS) return bad(p, at, "more than %d attributes", MAX_ATTRS);
    if (!p->attr) p->in->attr = p->attr = arena_alloc(p->arena, MAX_ATTRS * sizeof *p->attr);
    p->out->attr_column[p->in->n_attr] = (int)(at - p->line) + 1;
    p->attr[p->in->n_attr++] = a;
    return true;
}

static bool parse_bool(const char *s, size_t n, bool *v) {
    *v = is_word(s, n, "true");
    return *v || is_word(s, n, "false");
}

static bool parse_attr_value(Parser *p, AttrKey key, Attr *a) {
    const char *at = p->at;
    size_t n = number_length(p);
    int64_t *ints;
    *a = (Attr){.key = (uint8_t)key};
    switch (attr_info[key].type) {
    case AT_STR: return parse_text(p, &a->str, &a->n);
    case AT_INTS:
        TRY(parse_ints(p, &ints, &a->n));
        a->ints = ints;
        return true;
    case AT_INT: return parse_int_here(p, &a->i);
    case AT_BOOL:
        if (!parse_bool(at, n, &a->b))
            return bad(p, at, "%s is true or false", attr_info[key].name);
        break;
    case AT_FLOAT:
        if (!parse_float(at, n, &a->f, NULL))
            return bad(p, at, "%s is a number", attr_info[key].name);
        break;
    case AT_DTYPE:
        a->dtype = dtype_find(at, n);
        if (a->dtype == DT_NONE) return bad(p, at, "unknown dtype '%.*s'", (int)n, at);
        break;
    }
    p->at += n;
    return true;
}

/* The end of text that is kept verbatim: the next blank outside quotes. NULL: a quote is not
 * closed. */
static const char *verbatim_end(const char *s, const char *end) {
    bool quoted = false;
    for (; s < end && (quoted || (*s != ' ' && *s != '\t' && *s != '\r')); s++) {
        if (*s == '"') quoted = !quoted;
        if (quoted && *s == '\\' && s + 1 < end) s++;
    }
    return quoted ? NULL : s;
}

/* One unknown KEY=VALUE of n bytes: the key is unknown, the value has visible characters only. */
static bool is_plain_pair(const char *s, size_t n) {
    size_t length = 0;
    while (length < n && is_word_char((unsigned char)s[length])) length++;
    if (!is_name_text(s, length) || length + 1 >= n || s[length] != '=') return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f) return false;
    return attr_find(s, length) == ATTR_COUNT && !is_word(s, length, "b64") &&
           !is_word(s, length, "z64");
}

bool inst_other_is_plain(const char *s, size_t n) {
    const char *end = s + n;
    while (s < end) {
        const char *stop = verbatim_end(s, end);
        if (!stop || !is_plain_pair(s, (size_t)(stop - s))) return false;
        if (stop == end) return true;
        if (*stop != ' ') return false;
        s = stop + 1;
    }
    return false;
}

/* Unknown KEY=VALUE: joined with single blanks. start is the key's first character, p->at is
 * after the '='. */
static bool parse_other(Parser *p, const char *start) {
    const char *stop = verbatim_end(p->at, p->end);
    if (!stop) return bad(p, p->at, "a string is not closed");
    size_t n = (size_t)(stop - start);
    if (!is_plain_pair(start, n)) return bad(p, start, "not a KEY=VALUE");
    bool is_remark = memchr(start, '.', (size_t)(p->at - start)) != NULL; /* my.note=3 */
    if (!p->other_column || (p->other_is_remark && !is_remark))
        p->other_column = (int)(start - p->line) + 1, p->other_is_remark = is_remark;
    if (!p->other) p->other = arena_alloc(p->arena, (size_t)(p->end - p->line) + 1);
    if (p->other_n) p->other[p->other_n++] = ' ';
    memcpy(p->other + p->other_n, start, n);
    p->other_n += n;
    p->at = stop;
    return true;
}

/* ---- Operands ---- */

static bool add_operand(Parser *p, const char *at, Operand o) {
    Inst *in = p->in;
    bool is_named = p->form.n_strings && p->form.string[0] == ATTR_NAME;
    if (is_named && (o.kind == IN_IMM_FLOAT || o.kind == IN_IMM_BOOL)) /* inf, true: names */
        return bad(p, at, "%s takes no such number", op_info[in->op].name);
    if (in->n_in == MAX_IN) return bad(p, at, "more than %d operands", MAX_IN);
    if (in->n_in == p->operand_cap) {
        int cap = p->operand_cap ? 4 * p->operand_cap : 8;
        Operand *more = arena_alloc(p->arena, (size_t)cap * sizeof *more);
        if (in->n_in) memcpy(more, p->operand, in->n_in * sizeof *more);
        in->in = p->operand = more, p->operand_cap = cap;
    }
    p->operand[in->n_in++] = o;
    return true;
}

static bool parse_operand_id(Parser *p) {
    const char *at = p->at;
    Operand o = {.kind = IN_TENSOR};
    return parse_id_here(p, &o.id) && add_operand(p, at, o);
}

/* fc1.weight=t3: appends the name to the others, separated by newlines. */
static bool parse_named_operand(Parser *p, const char *name, size_t n) {
    if (memchr(name, '\n', n)) return bad(p, p->at, "a name over several lines");
    if (!p->keys) p->keys = arena_alloc(p->arena, (size_t)(p->end - p->line) + 1);
    if (p->n_named++ > 0) p->keys[p->keys_n++] = '\n';
    memcpy(p->keys + p->keys_n, name, n);
    p->keys_n += n;
    return parse_operand_id(p);
}

/* ---- Payload ---- */

static void add_payload(Parser *p, const void *element, size_t n) {
    if (p->in->payload_bytes + n > p->payload_cap) {
        size_t cap = p->payload_cap ? 4 * p->payload_cap : 64;
        uint8_t *more = arena_alloc(p->arena, cap);
        if (p->payload_cap) memcpy(more, p->payload, p->in->payload_bytes);
        p->payload = more, p->payload_cap = cap;
    }
    memcpy(p->payload + p->in->payload_bytes, element, n);
    p->in->payload_bytes += n;
    p->in->payload = p->payload;
}

static bool int_element(Parser *p, const char *s, size_t n, DType t) {
    int64_t v;
    bool b;
    if (t == DT_BOOL && parse_bool(s, n, &b))
        v = b;
    else if (!parse_i64(s, n, &v))
        return bad(p, s, "'%.*s' is not a whole number", (int)n, s);
    if (!dtype_holds_int(t, v))
        return bad(p, s, "%lld does not fit %s", (long long)v, dtype_info[t].text);
    uint8_t element[8];
    element_set_int(t, element, v);
    add_payload(p, element, (size_t)dtype_info[t].size_bytes);
    return true;
}

/* An element of `data`: dtype and shape come before it. */
static bool parse_element(Parser *p) {
    const char *s = p->at;
    size_t n = number_length(p);
    const Attr *dtype = inst_attr(p->in, ATTR_DTYPE);
    if (p->in->op == OP_DATA && is_word(s, n, "elided")) {
        p->at += n;
        return add_attr(p, s, (Attr){.key = ATTR_ELIDED, .b = true});
    }
    if (!dtype || !inst_attr(p->in, ATTR_SHAPE))
        return bad(p, s, "dtype and shape come before the elements");
    p->at += n;
    DType t = dtype->dtype;
    if (!dtype_is_float(t)) return int_element(p, s, n, t);
    double f64;
    float f32;
    if (!parse_float(s, n, &f64, &f32)) return bad(p, s, "'%.*s' is not a number", (int)n, s);
    uint8_t element[8];
    element_set_float(t, element, t == DT_F64 ? f64 : (double)f32);
    add_payload(p, element, (size_t)dtype_info[t].size_bytes);
    return true;
}

static int b64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* "AAAA..." at the cursor as bytes, in the arena. */
static bool parse_base64(Parser *p, uint8_t **bytes, size_t *n_bytes) {
    const char *start = p->at;
    if (!op_has_elements(p->in->op) || p->in->payload)
        return bad(p, start, "elements are not expected here");
    const char *s = start + 1,
               *close = at_char(p, '"') ? memchr(s, '"', (size_t)(p->end - s)) : NULL;
    if (!close || (close - s) % 4)
        return bad(p, start, "b64 is a quoted text of full groups of four");
    size_t n = (size_t)(close - s), pad = 0;
    while (pad < 2 && pad < n && s[n - 1 - pad] == '=') pad++;
    uint8_t *to = *bytes = arena_alloc(p->arena, n / 4 * 3);
    for (size_t i = 0; i < n; i += 4) {
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++) {
            int digit = i + k >= n - pad ? 0 : b64_digit(s[i + k]);
            if (digit < 0) return bad(p, s + i + k, "not a base64 digit");
            v = v << 6 | (uint32_t)digit;
        }
        *to++ = (uint8_t)(v >> 16), *to++ = (uint8_t)(v >> 8), *to++ = (uint8_t)v;
    }
    *n_bytes = n / 4 * 3 - pad;
    p->at = close + 1;
    return true;
}

static bool parse_b64(Parser *p) {
    size_t n;
    TRY(parse_base64(p, &p->payload, &n));
    p->in->payload = p->payload;
    p->in->payload_bytes = p->payload_cap = n;
    return true;
}

/* The number of elements of the shape before it; SIZE_MAX: too many, or there is no shape. */
static size_t said_numel(const Parser *p) {
    const Attr *shape = inst_attr(p->in, ATTR_SHAPE);
    size_t n = 1;
    for (uint32_t i = 0; shape && i < shape->n; i++)
        if (shape->ints[i] < 0 || __builtin_mul_overflow(n, (size_t)shape->ints[i], &n))
            return SIZE_MAX;
    return shape ? n : SIZE_MAX;
}

/* The same, compressed (inst_pack.c). */
static bool parse_z64(Parser *p) {
    const char *start = p->at;
    const Attr *dtype = inst_attr(p->in, ATTR_DTYPE);
    uint8_t *packed;
    size_t n_packed, numel = said_numel(p), n;
    if (!dtype || numel == SIZE_MAX)
        return bad(p, start, "dtype and shape come before the elements");
    TRY(parse_base64(p, &packed, &n_packed));
    size_t width = (size_t)dtype_info[dtype->dtype].size_bytes;
    if (__builtin_mul_overflow(numel, width, &n) || !inst_may_unpack(n_packed, n))
        return bad(p, start, "fewer bytes than the elements take");
    p->payload = arena_alloc(p->arena, n);
    if (!inst_unpack(packed, n_packed, numel, width, p->payload))
        return bad(p, start, "the compressed bytes do not match the elements");
    p->in->payload = p->payload;
    p->in->payload_bytes = p->payload_cap = n;
    return true;
}

/* ---- Items ---- */

/* KEY=VALUE, with the cursor after the '='; key is its text (unquoted), start its first
 * character. */
static bool parse_pair(Parser *p, const char *start, const char *key, size_t n, bool quoted) {
    size_t value = word_length(p);
    if ((p->form.flags & BARE_NAMED) && is_id_text(p->at, value))
        return parse_named_operand(p, key, n);
    if (quoted || !is_name_text(key, n)) return bad(p, start, "a strange key");
    if (is_word(key, n, "b64")) return parse_b64(p);
    if (is_word(key, n, "z64")) return parse_z64(p);
    AttrKey k = attr_find(key, n);
    if (k == ATTR_COUNT) return parse_other(p, start);
    Attr a;
    TRY(parse_attr_value(p, k, &a));
    return add_attr(p, start, a);
}

static bool parse_bare_string(Parser *p) {
    const char *start = p->at, *text;
    uint32_t n;
    TRY(parse_text(p, &text, &n));
    if (*start == '"' && take_char(p, '=')) return parse_pair(p, start, text, n, true);
    while (p->n_bare_strings < p->form.n_strings &&
           inst_attr(p->in, p->form.string[p->n_bare_strings]))
        p->n_bare_strings++; /* given by key */
    if (p->n_bare_strings == p->form.n_strings)
        return bad(p, start, "%s takes no %stext here", op_info[p->in->op].name,
                   p->form.n_strings ? "more " : "");
    return add_attr(p, start,
                    (Attr){.key = p->form.string[p->n_bare_strings++], .n = n, .str = text});
}

/* start:stop:step, each of them optional; a missing stop gives size -1. */
static bool parse_slice_item(Parser *p, int64_t *start, int64_t *size, int64_t *step) {
    const char *at = p->at;
    int64_t stop = -1;
    bool has_stop = false;
    *start = 0, *size = -1, *step = 1;
    if (!at_char(p, ':')) TRY(parse_int_here(p, start));
    if (!take_char(p, ':')) return bad(p, p->at, "':' is missing");
    if (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
        TRY(parse_int_here(p, &stop));
        has_stop = true;
    }
    if (take_char(p, ':')) TRY(parse_int_here(p, step));
    if (*start < 0 || *step < 1 || (has_stop && stop < *start))
        return bad(p, at, "not a slice that goes forward");
    if (has_stop) *size = stop > *start ? (stop - *start - 1) / *step + 1 : 0;
    return true;
}

static bool parse_slices(Parser *p) {
    const char *at = p->at++;
    int64_t *list = arena_alloc(p->arena, 3 * MAX_DIMS * sizeof *list);
    uint32_t n = 0;
    skip_space(p);
    while (!take_char(p, ']')) {
        if (n == MAX_DIMS) return bad(p, p->at, "more than %d slices", MAX_DIMS);
        if (n > 0 && !take_char(p, ',')) return bad(p, p->at, "',' or ']' is missing");
        skip_space(p);
        TRY(parse_slice_item(p, &list[n], &list[MAX_DIMS + n], &list[2 * MAX_DIMS + n]));
        skip_space(p);
        n++;
    }
    const AttrKey keys[3] = {ATTR_START, ATTR_SIZE, ATTR_STEP};
    for (int i = 0; i < 3; i++) {
        TRY(add_attr(p, at, (Attr){.key = (uint8_t)keys[i], .n = n, .ints = list + i * MAX_DIMS}));
    }
    return true;
}

static bool parse_bracket(Parser *p) {
    const char *at = p->at;
    if (p->form.flags & BARE_SLICE) return parse_slices(p);
    if (!(p->form.flags & BARE_SHAPE))
        return bad(p, at, "%s takes no [...] here", op_info[p->in->op].name);
    Attr a = {.key = ATTR_SHAPE};
    int64_t *ints;
    TRY(parse_ints(p, &ints, &a.n));
    a.ints = ints;
    return add_attr(p, at, a);
}

static bool parse_number(Parser *p) {
    const char *s = p->at;
    size_t n = number_length(p);
    if (op_has_elements(p->in->op)) return parse_element(p);
    Operand o = {.kind = IN_IMM_INT};
    bool is_whole = all_of(s, n, "-0123456789");
    if (is_whole ? !parse_i64(s, n, &o.i) : !parse_float(s, n, &o.f, NULL))
        return bad(p, s, "'%.*s' is not a number, or out of range", (int)n, s);
    p->at += n;
    if (!is_whole) o.kind = IN_IMM_FLOAT;
    if ((p->form.flags & BARE_K) && is_whole) {
        return add_attr(p, s, (Attr){.key = ATTR_K, .i = o.i});
    }
    return add_operand(p, s, o);
}

static bool parse_word(Parser *p) {
    const char *s = p->at;
    size_t n = word_length(p);
    if (n == 0) return bad(p, s, "unexpected character");
    if (s + n < p->end && s[n] == '=') {
        p->at += n + 1;
        return parse_pair(p, s, s, n, false);
    }
    if (is_id_text(s, n)) return parse_operand_id(p);
    if (p->form.n_strings && p->form.string[0] == ATTR_NAME) return parse_bare_string(p);
    DType dtype = dtype_find(s, n);
    if ((p->form.flags & BARE_DTYPE) && dtype != DT_NONE && !inst_attr(p->in, ATTR_DTYPE)) {
        Attr a = {.key = ATTR_DTYPE, .dtype = dtype};
        p->at += n;
        return add_attr(p, s, a);
    }
    if (op_has_elements(p->in->op)) return parse_element(p);
    Operand o = {.kind = IN_IMM_BOOL};
    if (!parse_bool(s, n, &o.b)) {
        o.kind = IN_IMM_FLOAT;
        if (!parse_float(s, n, &o.f, NULL)) {
            bad(p, s, "unexpected word '%.*s'", (int)n, s);
            return err_hint(p->err, "a tensor is an id like t12");
        }
    }
    p->at += n;
    return add_operand(p, s, o);
}

static bool parse_item(Parser *p) {
    char c = *p->at;
    bool ok = c == '"'                                         ? parse_bare_string(p)
              : c == '['                                       ? parse_bracket(p)
              : c == '-' || c == '.' || (c >= '0' && c <= '9') ? parse_number(p)
                                                               : parse_word(p);
    TRY(ok);
    if (at_end(p) || *p->at == ' ' || *p->at == '\t' || *p->at == '\r') return true;
    return bad(p, p->at, "unexpected character");
}

/* ---- The line ---- */

/* f32[3,1],i64[3,1] after the arrow. */
static bool parse_types(Parser *p) {
    int n = 0;
    do {
        skip_space(p);
        const char *at = p->at;
        if (n == p->in->n_out) return bad(p, at, "more types than results");
        TensorType *t = &p->out->types[n++];
        size_t length = word_length(p);
        t->dtype = (uint8_t)dtype_find(at, length);
        if (t->dtype == DT_NONE) return bad(p, at, "unknown dtype '%.*s'", (int)length, at);
        p->at += length;
        int64_t *extents;
        uint32_t rank;
        if (!at_char(p, '[')) return bad(p, p->at, "'[' is missing");
        TRY(parse_ints(p, &extents, &rank));
        if (rank > MAX_DIMS) return bad(p, at, "more than %d axes", MAX_DIMS);
        t->rank = (uint8_t)rank;
        for (uint32_t i = 0; i < rank; i++) {
            if (extents[i] < 0) return bad(p, at, "a negative extent");
            t->shape[i] = extents[i];
        }
    } while (take_char(p, ','));
    if (n < p->in->n_out) return bad(p, p->at, "a type is missing");
    p->out->has_types = true;
    return true;
}

/* @train.gt:6 or @"a b.gt":6:2 */
static bool parse_position(Parser *p) {
    const char *at = p->at++, *name = p->at;
    uint32_t n;
    if (at_char(p, '"')) {
        TRY(parse_quoted(p, &name, &n));
        p->out->file = name;
    } else {
        while (p->at < p->end && is_word_char((unsigned char)*p->at)) p->at++;
        p->out->file = arena_strndup(p->arena, name, (size_t)(p->at - name));
        if (p->at == name) return bad(p, at, "a file name is missing");
    }
    int64_t line, col = 0;
    if (!take_char(p, ':')) return bad(p, p->at, "':' and a line number are missing");
    const char *number = p->at;
    TRY(parse_int_here(p, &line));
    if (take_char(p, ':')) TRY(parse_int_here(p, &col));
    if (line < 1 || line > UINT32_MAX || col < 0 || col > UINT16_MAX)
        return bad(p, number, "a position out of range");
    p->in->pos = (SrcPos){.line = (uint32_t)line, .col = (uint16_t)col};
    skip_space(p);
    return at_end(p) || bad(p, p->at, "text behind the position");
}

/* Refuses `x = full ...`: a result is an id. True if the line begins in another way. */
static bool refuse_name(Parser *p) {
    const char *s = p->at, *q, *equals;
    if (!at_end(p) && *p->at == '%') p->at++;
    p->at += word_length(p);
    size_t n = (size_t)(p->at - s);
    skip_space(p);
    q = p->at, p->at = s;
    if (n == 0 || q == p->end || (*q != '=' && *q != ',')) return true;
    equals = memchr(q, '=', (size_t)(p->end - q));
    p->at = equals ? equals + 1 : p->end;
    skip_space(p);
    size_t n_op = word_length(p);
    bad(p, s, "a result must be an id like t12, not '%.*s'", (int)n, s);
    return err_hint(p->err, "%s = %.*s ...", *q == ',' ? "t0,t1" : "t0",
                    (int)(n_op < 40 ? n_op : 40), p->at);
}

static bool parse_outputs(Parser *p) {
    size_t n = word_length(p);
    if (!is_id_text(p->at, n)) return refuse_name(p);
    Inst *in = p->in;
    do {
        skip_space(p);
        const char *at = p->at;
        if (in->n_out == MAX_OUT) return bad(p, at, "more than %d results", MAX_OUT);
        TRY(parse_id_here(p, &in->out[in->n_out]));
        if (in->out[in->n_out] > UINT64_MAX - MAX_OUT) return bad(p, at, "an id out of range");
        if (in->n_out > 0 && in->out[in->n_out] != in->out[0] + in->n_out)
            return bad(p, at, "results have consecutive ids");
        in->n_out++;
        skip_space(p);
    } while (take_char(p, ','));
    if (!take_char(p, '=')) return bad(p, p->at, "'=' is missing");
    skip_space(p);
    return true;
}

static bool parse_op(Parser *p) {
    const char *s = p->at;
    size_t n = word_length(p);
    if (n == 0) return bad(p, s, "an operation is missing");
    p->at += n;
    char two[32]; /* "signal enter" */
    const char *name = s;
    if (is_word(s, n, "signal")) {
        skip_space(p);
        size_t more = word_length(p);
        if (more < sizeof two - 8) {
            memcpy(two, "signal ", 7), memcpy(two + 7, p->at, more);
            name = two, n = 7 + more;
            p->at += more;
        }
    }
    p->in->op = op_find(name, n);
    if (p->in->op == OP_COUNT) {
        bad(p, s, "unknown op '%.*s'", (int)n, name);
        return inst_hint_op(name, n, p->err);
    }
    if (p->in->n_out == 0 && op_info[p->in->op].class_ != CLASS_CONTROL)
        return bad(p, s, "%s needs a result: t0 = %s ...", op_info[p->in->op].name,
                   op_info[p->in->op].name);
    p->form = bare_form(p->in->op);
    return true;
}

/* Adds attributes that were collected from several places. */
static bool finish(Parser *p) {
    if (p->n_named > 0) {
        if (p->n_named != p->in->n_in) return bad(p, p->end, "some operands have a name, some not");
        p->keys[p->keys_n] = 0;
        TRY(add_attr(p, p->end,
                     (Attr){.key = ATTR_KEYS, .n = (uint32_t)p->keys_n, .str = p->keys}));
    }
    if (p->other_n > 0) {
        if (p->other_n > MAX_STR) return bad(p, p->end, "too many unknown attributes");
        p->other[p->other_n] = 0;
        TRY(add_attr(p, p->line + p->other_column - 1,
                     (Attr){.key = ATTR_OTHER, .n = (uint32_t)p->other_n, .str = p->other}));
    }
    return true;
}

/* gti 1 KEY=VALUE ...: only the version matters here. */
static bool parse_header(Parser *p) {
    int64_t version;
    p->at += 4;
    skip_space(p);
    const char *at = p->at;
    TRY(parse_int_here(p, &version));
    if (version == 1) return true;
    return err_set(p->err, ERR_VERSION,
                   "column %d: version %lld of the text form; this is version 1",
                   (int)(at - p->line) + 1, (long long)version);
}

/* The line up to its comment. */
static bool parse_line(Parser *p) {
    skip_space(p);
    p->out->is_empty = at_end(p) || at_char(p, '@');
    if (at_end(p)) return true;
    if (at_char(p, '@')) return parse_position(p);
    if (p->end - p->at > 4 && memcmp(p->at, "gti ", 4) == 0) {
        p->out->is_empty = true;
        return parse_header(p);
    }
    TRY(parse_outputs(p) && parse_op(p));
    for (;;) {
        skip_space(p);
        if (at_end(p)) return finish(p);
        if (at_char(p, '@') || (at_char(p, '-') && p->at + 1 < p->end && p->at[1] == '>')) break;
        TRY(parse_item(p));
    }
    TRY(finish(p));
    if (take_char(p, '-')) {
        p->at++;
        TRY(parse_types(p));
        skip_space(p);
        if (at_end(p)) return true;
        if (!at_char(p, '@')) return bad(p, p->at, "unexpected text behind the types");
    }
    return parse_position(p);
}

bool inst_parse(const char *line, size_t n, Arena *arena, InstLine *out, Err *err) {
    *out = (InstLine){0};
    Parser p = {.line = line,
                .at = line,
                .end = line + n,
                .arena = arena,
                .out = out,
                .in = &out->inst,
                .err = err};
    TRY(parse_line(&p));
    if (out->is_empty || p.at == p.end) return true;
    out->comment = p.at;
    out->n_comment = (size_t)(p.end - p.at);
    return true;
}
