/* io_npy.c: NumPy's .npy: a magic number, a header that is a Python dict, the elements. Format:
 * numpy.lib.format (NEP 1). Reads versions 1 to 3, writes 1.0. Pickled objects are refused.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io_npy.h"
#include "lang/file/io_element.h"
#include <inttypes.h>
#include <string.h>

typedef struct Header {
    IoElement el;
    bool is_swapped, is_fortran;
    int rank;
    int64_t shape[MAX_DIMS];
} Header;
typedef struct Cursor {
    const char *at, *end;
} Cursor;

static void skip_blanks(Cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
}

static bool take(Cursor *c, char ch) {
    skip_blanks(c);
    if (c->at == c->end || *c->at != ch) return false;
    c->at++;
    return true;
}

/* Reads a quoted word without escapes. */
static bool take_word(Cursor *c, const char **s, size_t *n) {
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    *s = c->at;
    while (c->at < c->end && *c->at != quote) c->at++;
    *n = (size_t)(c->at - *s);
    return take(c, quote);
}

static bool take_number(Cursor *c, int64_t *out) {
    skip_blanks(c);
    const char *begin = c->at;
    int64_t v = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (v > MAX_NUMEL) return false;
        v = 10 * v + (*c->at - '0');
    }
    if (c->at > begin && c->at < c->end && *c->at == 'L') c->at++; /* Python 2 wrote 3L */
    *out = v;
    return c->at > begin;
}

static bool take_bool(Cursor *c, bool *out) {
    skip_blanks(c);
    *out = c->end - c->at >= 4 && !memcmp(c->at, "True", 4);
    bool is_false = c->end - c->at >= 5 && !memcmp(c->at, "False", 5);
    c->at += *out ? 4 : is_false ? 5 : 0;
    return *out || is_false;
}

static bool read_descr(const char *s, size_t n, Header *h, Err *err) {
    char order = n ? s[0] : 0;
    bool has_order = order == '<' || order == '>' || order == '|' || order == '=';
    const char *code = s + has_order;
    size_t n_code = n - has_order;
    for (int i = 0; i < EL_COUNT; i++) {
        if (n_code != 2 || memcmp(io_element[i].npy, code, 2)) continue;
        h->el = (IoElement)i;
        h->is_swapped = order == '>';
        return true;
    }
    if (n_code && code[0] == '?') {
        h->el = EL_BOOL;
        return true;
    }
    if (n_code && code[0] == 'O') {
        err_set(err, ERR_DTYPE, "it holds pickled Python objects, which are never unpickled");
        return err_hint(err, "in Python: numpy.save(path, x.astype(float)); host values: .json");
    }
    err_set(err, ERR_DTYPE, "elements of type '%.*s' are not numbers that a tensor can hold",
            n > 40 ? 40 : (int)n, s);
    if (n_code && code[0] == 'c')
        err_hint(err, "there are no complex tensors: save x.real and x.imag");
    return false;
}

static bool read_shape(Cursor *c, Header *h, Err *err) {
    h->rank = 0;
    if (!take(c, '(')) return err_set(err, ERR_PARSE, "the header's shape is not a tuple");
    while (!take(c, ')')) {
        int64_t extent;
        if (!take_number(c, &extent))
            return err_set(err, ERR_PARSE, "the header's shape is not a tuple of sizes");
        if (h->rank == MAX_DIMS)
            return err_set(err, ERR_LIMIT, "the shape has more than %d axes", MAX_DIMS);
        h->shape[h->rank++] = extent;
        if (take(c, ',')) continue;
        if (!take(c, ')')) return err_set(err, ERR_PARSE, "the header's shape does not end");
        break;
    }
    return true;
}

static bool read_header(const char *s, size_t n, Header *h, Err *err) {
    Cursor c = {s, s + n};
    int seen = 0;
    if (!take(&c, '{')) return err_set(err, ERR_PARSE, "the header is not a dict");
    while (!take(&c, '}')) {
        const char *key, *word;
        size_t n_key, n_word;
        if (!take_word(&c, &key, &n_key) || !take(&c, ':'))
            return err_set(err, ERR_PARSE, "the header is damaged");
        if (n_key == 5 && !memcmp(key, "descr", 5)) {
            if (!take_word(&c, &word, &n_word))
                return err_set(err, ERR_DTYPE, "records (a structured dtype) are not supported");
            TRY(read_descr(word, n_word, h, err));
            seen |= 1;
        } else if (n_key == 13 && !memcmp(key, "fortran_order", 13)) {
            if (!take_bool(&c, &h->is_fortran))
                return err_set(err, ERR_PARSE, "fortran_order is neither True nor False");
            seen |= 2;
        } else if (n_key == 5 && !memcmp(key, "shape", 5)) {
            TRY(read_shape(&c, h, err));
            seen |= 4;
        } else {
            return err_set(err, ERR_PARSE, "the header has an unknown key '%.*s'",
                           n_key > 40 ? 40 : (int)n_key, key);
        }
        if (!take(&c, ',') && (skip_blanks(&c), c.at == c.end || *c.at != '}'))
            return err_set(err, ERR_PARSE, "the header is damaged");
    }
    return seen == 7 || err_set(err, ERR_PARSE, "the header lacks descr, fortran_order or shape");
}

/* Column-major to row-major: element (i0, i1, ...) is at i0 + n0 * (i1 + n1 * ...). */
static Buf *from_fortran(const Header *h, int64_t numel, const uint8_t *data) {
    size_t size = (size_t)io_element[h->el].size_bytes;
    Buf *b = buf_new((size_t)numel * size + 1);
    b->n = (size_t)numel * size;
    int64_t index[MAX_DIMS] = {0}, stride[MAX_DIMS], at = 0, step = 1;
    for (int a = 0; a < h->rank; a++) {
        stride[a] = step;
        step *= h->shape[a];
    }
    for (int64_t i = 0; i < numel; i++) {
        memcpy(b->data + (size_t)i * size, data + (size_t)at * size, size);
        for (int a = h->rank - 1; a >= 0; a--) {
            at += stride[a];
            if (++index[a] < h->shape[a]) break;
            at -= stride[a] * h->shape[a];
            index[a] = 0;
        }
    }
    return b;
}

bool npy_decode(Buf *bytes, IoValue *out, Err *err) {
    const uint8_t *p = bytes->data;
    if (bytes->n < 10 || memcmp(p, "\x93NUMPY", 6))
        return err_set(err, ERR_PARSE, "this is no .npy file: its first bytes are not NumPy's");
    if (p[6] < 1 || p[6] > 3) return err_set(err, ERR_PARSE, ".npy version %d is not known", p[6]);
    size_t at = p[6] == 1 ? 10 : 12, n = p[8] | (size_t)p[9] << 8;
    if (p[6] > 1 && bytes->n >= 12) n |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (bytes->n < at || n > bytes->n - at) return err_set(err, ERR_PARSE, "the header is cut off");
    Header h = {0};
    int64_t numel;
    TRY(read_header((const char *)p + at, n, &h, err));
    TRY(io_numel(h.shape, h.rank, &numel, err));
    uint64_t want = (uint64_t)numel * (uint64_t)io_element[h.el].size_bytes,
             have = bytes->n - at - n;
    if (want != have)
        return err_set(err, ERR_PARSE,
                       "the shape needs %" PRIu64 " bytes of elements, the file has %" PRIu64, want,
                       have);
    if (!h.is_fortran || h.rank < 2 || numel == 0)
        return io_tensor(out, h.shape, h.rank, h.el, h.is_swapped, bytes, p + at + n, err);
    Buf *b = from_fortran(&h, numel, p + at + n);
    bool ok = io_tensor(out, h.shape, h.rank, h.el, h.is_swapped, b, b->data, err);
    buf_unref(&b);
    return ok;
}

bool npy_header(const IoItem *item, Bytes *b, Err *err) {
    const IoElementInfo *el = &io_element[io_element_of(item->type.dtype)];
    if (item->type.dtype == DT_BF16) {
        err_set(err, ERR_DTYPE, "NumPy's files have no bfloat16");
        return err_hint(err, "x.float(), which loses nothing, or a .safetensors file");
    }
    bytes_add(b, "\x93NUMPY\x01\x00\x00\x00", 10);
    bytes_printf(b, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                 el->size_bytes == 1 ? '|' : '<', el->npy);
    for (int i = 0; i < item->type.rank; i++)
        bytes_printf(b, "%s%" PRId64 "%s", i ? " " : "", item->type.shape[i],
                     i + 1 < item->type.rank || item->type.rank == 1 ? "," : "");
    bytes_puts(b, "), }");
    while ((b->n + 1) % 64) bytes_putc(b, ' ');
    bytes_putc(b, '\n');
    b->data[8] = (char)((b->n - 10) & 255);
    b->data[9] = (char)((b->n - 10) >> 8);
    return true;
}

bool npy_encode(IoSink *s, const IoItem *item, Err *err) {
    Bytes b = {0};
    TRY(npy_header(item, &b, err));
    io_put_bytes(s, b.data, b.n);
    io_put_bytes(s, item->data, (size_t)type_bytes(&item->type));
    bytes_fini(&b);
    return true;
}
