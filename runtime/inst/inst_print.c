/* inst_print.c: instructions as text, in the canonical form that inst_parse.c reads back bit for
 * bit: outputs, op, operands and bare attributes in the op's own order, other attributes in the
 * order of attrs.def, result types, source position. Numbers are formatted by hand where it
 * matters, because a tape prints a line per instruction. gti(5) has the grammar.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/inst_print.h"
#include "runtime/base/sha256.h"
#include "runtime/inst/element.h"
#include "runtime/inst/inst_pack.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INLINE_ELEMENTS = 64, PACKED_BYTES = 1024 };

/* ---- Pieces ---- */

void inst_put_u64(Bytes *b, uint64_t v) {
    char text[20], *end = text + sizeof text, *s = end;
    do *--s = (char)('0' + v % 10);
    while (v /= 10);
    bytes_add(b, s, (size_t)(end - s));
}

static void put_i64(Bytes *b, int64_t v) {
    if (v < 0) bytes_putc(b, '-');
    inst_put_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static void put_id(Bytes *b, uint64_t id) {
    bytes_putc(b, 't');
    inst_put_u64(b, id);
}

/* nan and inf; false if v is neither. */
static bool put_special(Bytes *b, double v) {
    if (isfinite(v)) return false;
    if (signbit(v)) bytes_putc(b, '-');
    bytes_puts(b, isnan(v) ? "nan" : "inf");
    return true;
}

/* The shortest decimal that reads back as v, which is finite and not 0; valid until the next call.
 * A loop's constants come again and again, so the last few texts are kept. */
static const char *shortest(double v) {
    enum { KEPT = 64 };
    static _Thread_local struct {
        double v; /* 0: none */
        char text[32];
    } kept[KEPT];
    uint64_t bits;
    memcpy(&bits, &v, 8);
    unsigned at = (unsigned)(bits * UINT64_C(0x9e3779b97f4a7c15) >> 58);
    char *text = kept[at].text;
    if (kept[at].v == v) return text;
    kept[at].v = v;
    /* 15 digits suffice to start with, except for subnormals; then one more until it reads back. */
    for (int digits = fabs(v) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof kept[at].text, "%.*g", digits, v);
        if (strtod(text, NULL) == v) break;
    }
    return text;
}

/* Shortest decimal that reads back as v; with `point` whole numbers get ".0". */
static void put_double(Bytes *b, double v, bool point) {
    if (put_special(b, v)) return;
    if (v == (double)(int64_t)(fabs(v) < 1e15 ? v : 0.5)) {
        if (v == 0 && signbit(v)) bytes_putc(b, '-');
        put_i64(b, (int64_t)v);
        if (point) bytes_puts(b, ".0");
        return;
    }
    const char *text = shortest(v);
    bytes_puts(b, text);
    if (point && !strpbrk(text, ".e")) bytes_puts(b, ".0");
}

/* The shortest text that reads back as the same element of dtype t: a float32 or a half. */
static void put_float(Bytes *b, float v, DType t) {
    if (put_special(b, (double)v)) return;
    if (v == (float)(int32_t)(fabsf(v) < 1e6f ? v : 0.5f)) {
        if (v == 0 && signbit(v)) bytes_putc(b, '-');
        put_i64(b, (int64_t)v);
        return;
    }
    char text[40];
    for (int digits = fabsf(v) < FLT_MIN || t != DT_F32 ? 1 : 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
        float back = strtof(text, NULL);
        if (back == v || (t != DT_F32 && half_to_float(t, half_from_float(t, back)) == v)) break;
    }
    bytes_puts(b, text);
}

void inst_quote(Bytes *b, const char *s, size_t n) {
    bytes_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            bytes_putc(b, '\\'), bytes_putc(b, (char)c);
        else if (c == '\n')
            bytes_puts(b, "\\n");
        else if (c == '\t')
            bytes_puts(b, "\\t");
        else if (c == '\r')
            bytes_puts(b, "\\r");
        else if (c < 0x20 || c == 0x7f)
            bytes_printf(b, "\\x%02x", c);
        else
            bytes_putc(b, (char)c);
    }
    bytes_putc(b, '"');
}

static void put_name(Bytes *b, const char *s, size_t n) {
    if (is_name_text(s, n))
        bytes_add(b, s, n);
    else
        inst_quote(b, s, n);
}

static void put_ints(Bytes *b, const int64_t *v, uint32_t n) {
    bytes_putc(b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i) bytes_putc(b, ',');
        put_i64(b, v[i]);
    }
    bytes_putc(b, ']');
}

void inst_put_float(Bytes *b, double v) {
    uint64_t bits;
    memcpy(&bits, &v, 8);
    if (isnan(v) && (bits & INT64_MAX) != 0x7ff8000000000000)
        bytes_printf(b, "nan.%016llx", (unsigned long long)bits);
    else
        put_double(b, v, true);
}

static void put_operand(Bytes *b, const Operand *o) {
    bytes_putc(b, ' ');
    switch (o->kind) {
    case IN_TENSOR: put_id(b, o->id); break;
    case IN_IMM_INT: put_i64(b, o->i); break;
    case IN_IMM_FLOAT: inst_put_float(b, o->f); break;
    case IN_IMM_BOOL: bytes_puts(b, o->b ? "true" : "false"); break;
    }
}

/* ---- Attributes ---- */

static bool is_loose_word(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!is_word_char((unsigned char)s[i])) return false;
    return n > 0 && !is_id_text(s, n);
}

static void put_keyed(Bytes *b, const Attr *a) {
    bytes_putc(b, ' ');
    if (a->key == ATTR_OTHER && inst_other_is_plain(a->str, a->n)) {
        bytes_add(b, a->str, a->n);
        return;
    }
    bytes_puts(b, attr_info[a->key].name);
    bytes_putc(b, '=');
    switch (attr_info[a->key].type) {
    case AT_BOOL: bytes_puts(b, a->b ? "true" : "false"); return;
    case AT_INT: put_i64(b, a->i); return;
    case AT_FLOAT: put_double(b, a->f, true); return;
    case AT_DTYPE: bytes_puts(b, dtype_info[a->dtype].text); return;
    case AT_STR: break;
    case AT_INTS:
        if (a->key == ATTR_RNG && a->n == 2)
            put_i64(b, a->ints[0]), bytes_putc(b, ':'), put_i64(b, a->ints[1]);
        else if (a->n == 1)
            put_i64(b, a->ints[0]);
        else
            put_ints(b, a->ints, a->n);
        return;
    }
    bool may_be_bare = a->key == ATTR_NAME || a->key == ATTR_BACKWARD || a->key == ATTR_SHA256;
    if (may_be_bare && is_loose_word(a->str, a->n))
        bytes_add(b, a->str, a->n);
    else
        inst_quote(b, a->str, a->n);
}

/* What is still to be printed: a bit per attribute key. The first of equal keys counts, as
 * everywhere. */
typedef struct Line {
    const Inst *in;
    const InstPrint *how;
    Bytes *out;
    uint64_t todo;
} Line;

_Static_assert(ATTR_COUNT <= 64, "Line.todo has a bit per attribute");

static const Attr *take_attr(Line *l, AttrKey key) {
    if (!(l->todo >> key & 1)) return NULL;
    l->todo &= ~(UINT64_C(1) << key);
    return inst_attr(l->in, key);
}

static void put_bare_shape(Line *l) {
    const Attr *a = take_attr(l, ATTR_SHAPE);
    if (!a) return;
    bytes_putc(l->out, ' ');
    put_ints(l->out, a->ints, a->n);
}

static void put_bare_dtype(Line *l) {
    const Attr *a = take_attr(l, ATTR_DTYPE);
    if (a) bytes_printf(l->out, " %s", dtype_info[a->dtype].text);
}

static void put_bare_string(Line *l, AttrKey key) {
    const Attr *a = take_attr(l, key);
    if (!a) return;
    bytes_putc(l->out, ' ');
    if (key == ATTR_NAME)
        put_name(l->out, a->str, a->n);
    else
        inst_quote(l->out, a->str, a->n);
}

static void put_slice(Line *l) {
    const Attr *start = inst_attr(l->in, ATTR_START), *size = inst_attr(l->in, ATTR_SIZE),
               *step = inst_attr(l->in, ATTR_STEP);
    if (!start || !size || !step || start->n != size->n || start->n != step->n) return;
    int64_t stop;
    for (uint32_t i = 0; i < start->n; i++)
        if (!slice_stop(start->ints[i], size->ints[i], step->ints[i], &stop)) return;
    bytes_puts(l->out, " [");
    for (uint32_t i = 0; i < start->n; i++) {
        if (i) bytes_putc(l->out, ',');
        slice_stop(start->ints[i], size->ints[i], step->ints[i], &stop);
        put_i64(l->out, start->ints[i]);
        bytes_putc(l->out, ':');
        put_i64(l->out, stop);
        if (step->ints[i] != 1) bytes_putc(l->out, ':'), put_i64(l->out, step->ints[i]);
    }
    bytes_putc(l->out, ']');
    take_attr(l, ATTR_START), take_attr(l, ATTR_SIZE), take_attr(l, ATTR_STEP);
}

/* ---- Payload ---- */

static void put_b64(Bytes *b, const uint8_t *p, size_t n) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes_reserve(b, (n + 2) / 3 * 4);
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? p[i + 2] : 0);
        char c[4] = {digit[v >> 18], digit[v >> 12 & 63], i + 1 < n ? digit[v >> 6 & 63] : '=',
                     i + 2 < n ? digit[v & 63] : '='};
        bytes_add(b, c, 4);
    }
}

static void put_element(Bytes *b, DType t, const uint8_t *p) {
    if (!dtype_is_float(t))
        put_i64(b, element_int(t, p));
    else if (t == DT_F64)
        put_double(b, element_float(t, p), false);
    else
        put_float(b, (float)element_float(t, p), t);
}

/* True if the element's text loses nothing: not a bool beyond 1, not a nan with unusual bits. */
static bool element_is_plain(DType t, const uint8_t *p) {
    uint32_t u32;
    uint64_t u64;
    uint16_t u16;
    switch (t) {
    case DT_BOOL: return *p <= 1;
    case DT_F16:
    case DT_BF16:
        memcpy(&u16, p, 2);
        return !isnan(half_to_float(t, u16)) || u16 == half_from_float(t, NAN);
    case DT_F32:
        memcpy(&u32, p, 4);
        u32 &= 0x7fffffff;
        return u32 <= 0x7f800000 || u32 == 0x7fc00000;
    case DT_F64:
        memcpy(&u64, p, 8);
        u64 &= INT64_MAX;
        return u64 <= 0x7ff0000000000000 || u64 == 0x7ff8000000000000;
    default: return true;
    }
}

static void put_elided(Line *l) {
    bytes_puts(l->out, " elided");
    if (!l->how->payload_hash) return;
    char hex[65];
    sha256_hex(l->in->payload, l->in->payload_bytes, hex);
    bytes_printf(l->out, " sha256=%s", hex);
}

static void put_payload(Line *l) {
    const Inst *in = l->in;
    const Attr *elided = in->op == OP_DATA ? inst_attr(in, ATTR_ELIDED) : NULL;
    if (elided && elided->b) {
        take_attr(l, ATTR_ELIDED);
        bytes_puts(l->out, " elided");
    }
    if (in->payload_bytes == 0) return;
    const uint8_t *p = in->payload;
    if (l->how && l->how->beside) {
        const InstBeside *beside = l->how->beside;
        bytes_puts(l->out, " path=");
        inst_quote(l->out, beside->path, strlen(beside->path));
        bytes_printf(l->out, " at=%llu sha256=%s", (unsigned long long)beside->at, beside->sha256);
        return;
    }
    if (l->how && l->how->payload_max && in->payload_bytes > l->how->payload_max) {
        put_elided(l);
        return;
    }
    const Attr *dtype = inst_attr(in, ATTR_DTYPE), *shape = inst_attr(in, ATTR_SHAPE);
    size_t width = dtype ? (size_t)dtype_info[dtype->dtype].size_bytes : 0;
    size_t n = width ? in->payload_bytes / width : 0;
    bool plain = !(l->how && l->how->payload_b64_always) && shape && op_has_elements(in->op) &&
                 n > 0 && n <= INLINE_ELEMENTS && n * width == in->payload_bytes;
    for (size_t i = 0; plain && i < n; i++) plain = element_is_plain(dtype->dtype, p + i * width);
    if (!plain) {
        Bytes packed = {0};
        bool is_packed = l->how && l->how->payload_packed && in->payload_bytes >= PACKED_BYTES &&
                         n * width == in->payload_bytes && inst_pack(p, n, width, &packed);
        bytes_puts(l->out, is_packed ? " z64=\"" : " b64=\"");
        if (is_packed)
            put_b64(l->out, (const uint8_t *)packed.data, packed.n);
        else
            put_b64(l->out, p, in->payload_bytes);
        bytes_putc(l->out, '"');
        bytes_fini(&packed);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        bytes_putc(l->out, ' ');
        put_element(l->out, dtype->dtype, p + i * width);
    }
}

/* ---- The line ---- */

/* save and track: NAME=tN, if there is a name for each operand. */
static bool put_named(Line *l) {
    const Inst *in = l->in;
    const Attr *keys = inst_attr(in, ATTR_KEYS);
    if (!keys || in->n_in == 0) return false;
    uint32_t names = 1;
    for (uint32_t i = 0; i < keys->n; i++) names += keys->str[i] == '\n';
    bool all_tensors = true;
    for (int i = 0; i < in->n_in; i++) all_tensors = all_tensors && in->in[i].kind == IN_TENSOR;
    if (names != in->n_in || !all_tensors) return false;
    const char *s = keys->str, *end = s + keys->n;
    for (int i = 0; i < in->n_in; i++) {
        const char *stop = keys->n ? memchr(s, '\n', (size_t)(end - s)) : NULL;
        if (!stop) stop = end;
        bytes_putc(l->out, ' ');
        put_name(l->out, s, (size_t)(stop - s));
        bytes_putc(l->out, '=');
        put_id(l->out, in->in[i].id);
        s = stop + 1;
    }
    take_attr(l, ATTR_KEYS);
    return true;
}

static void put_operands(Line *l, int first) {
    for (int i = first; i < l->in->n_in; i++) put_operand(l->out, &l->in->in[i]);
}

/* Operands and bare attributes, in the most readable order for the op. */
static void put_body(Line *l) {
    const Inst *in = l->in;
    BareForm form = bare_form(in->op);
    bool strings_last = form.n_strings == 1 && form.string[0] == ATTR_NAME;
    int first = 0;
    if (in->op == OP_DATA) {
        put_bare_dtype(l);
        put_bare_shape(l);
    }
    if (in->op == OP_ASSERT && in->n_in > 0) put_operand(l->out, &in->in[first++]);
    for (int i = 0; i < form.n_strings && !strings_last; i++) {
        if (!inst_attr(in, form.string[i])) break; /* the next one would be read as this one */
        put_bare_string(l, form.string[i]);
        if (form.string[i] == ATTR_PATH && in->op == OP_WRITE) {
            const Attr *append = take_attr(l, ATTR_APPEND);
            if (append) put_keyed(l->out, append);
        }
    }
    if (!(form.flags & BARE_NAMED) || !put_named(l)) put_operands(l, first);
    if (form.flags & BARE_SHAPE) put_bare_shape(l);
    if (form.flags & BARE_DTYPE) put_bare_dtype(l);
    if (form.flags & BARE_SLICE) put_slice(l);
    if (strings_last) put_bare_string(l, ATTR_NAME);
    const Attr *k = form.flags & BARE_K ? take_attr(l, ATTR_K) : NULL;
    if (k) bytes_putc(l->out, ' '), put_i64(l->out, k->i);
    put_payload(l);
}

void inst_put_position(Bytes *b, const char *file, SrcPos pos, bool column) {
    size_t n = strlen(file);
    bytes_puts(b, " @");
    if (is_loose_word(file, n))
        bytes_add(b, file, n);
    else
        inst_quote(b, file, n);
    bytes_putc(b, ':');
    inst_put_u64(b, pos.line);
    if (column && pos.col) bytes_putc(b, ':'), inst_put_u64(b, pos.col);
}

void inst_print_head(const Inst *in, const InstPrint *how, Bytes *out) {
    Line l = {.in = in, .how = how, .out = out};
    for (int i = 0; i < in->n_attr; i++) l.todo |= UINT64_C(1) << in->attr[i].key;
    for (int i = 0; i < in->n_out; i++) {
        if (i) bytes_putc(out, ',');
        put_id(out, in->out[i]);
    }
    if (in->n_out) bytes_puts(out, " = ");
    bytes_puts(out, op_info[in->op].name);
    put_body(&l);
    for (int key = 0; key < ATTR_COUNT; key++) {
        const Attr *a = take_attr(&l, (AttrKey)key);
        if (a) put_keyed(out, a);
    }
}

void inst_print_tail(const Inst *in, const InstPrint *how, Bytes *out) {
    SrcPos pos = in->pos;
    if (!how) return;
    if (how->out && in->n_out) {
        char text[256];
        for (int i = 0; i < in->n_out; i++) {
            bytes_puts(out, i ? "," : " -> ");
            bytes_puts(out, type_text(&how->out[i], text));
        }
    }
    if (how->files && pos.line > 0 && pos.file < how->n_files)
        inst_put_position(out, how->files[pos.file], pos, how->columns);
}

void inst_print(const Inst *in, const InstPrint *how, Bytes *out) {
    inst_print_head(in, how, out);
    inst_print_tail(in, how, out);
}
