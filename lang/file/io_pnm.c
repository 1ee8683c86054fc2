/* io_pnm.c: netpbm's pictures: .pgm (grey: P2 text, P5 binary), .ppm (RGB: P3, P6) and .pbm
 * (bitmaps: P1, P4), as in pgm(5), ppm(5) and pbm(5). Reading goes by the magic number, not the
 * name. Samples of another range are scaled to 0 to 255; a bitmap's 1, black, becomes 0, and its 0
 * becomes 255. Of several pictures the first is read. Writes P5 or P6.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io_pnm.h"
#include "lang/file/io_element.h"
#include "lang/error/interrupt.h"
#include "runtime/inst/element.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct Cursor {
    const uint8_t *at, *end;
} Cursor;

static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Skips blanks and comments. */
static void skip_blanks(Cursor *c) {
    while (c->at < c->end && (is_blank(*c->at) || *c->at == '#') && !interrupt_count) {
        const uint8_t *end = *c->at == '#' ? memchr(c->at, '\n', (size_t)(c->end - c->at)) : NULL;
        c->at = *c->at != '#' ? c->at + 1 : end ? end : c->end;
    }
}

/* Skips blanks and comments, then reads a number of at most 9 digits. */
static bool take_number(Cursor *c, int64_t *out) {
    skip_blanks(c);
    const uint8_t *begin = c->at;
    *out = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (c->at - begin == 9) return false;
        *out = 10 * *out + (*c->at - '0');
    }
    return c->at > begin;
}

typedef struct Header {
    int64_t width, height, max, channels;
    bool is_text, is_bitmap;
} Header;

static bool read_header(Cursor *c, Header *h, Err *err) {
    size_t n = (size_t)(c->end - c->at);
    char kind = n > 2 && c->at[0] == 'P' ? (char)c->at[1] : 0;
    if (!kind || !strchr("123456", kind))
        return err_set(err, ERR_PARSE,
                       "this is no .ppm, .pgm or .pbm file: it begins with none of P1 to P6");
    h->is_text = kind < '4';
    h->is_bitmap = kind == '1' || kind == '4';
    h->max = 1;
    h->channels = kind == '3' || kind == '6' ? 3 : 1;
    c->at += 2;
    if (!take_number(c, &h->width) || !take_number(c, &h->height) ||
        (!h->is_bitmap && !take_number(c, &h->max)))
        return err_set(err, ERR_PARSE, "the header needs width, height%s",
                       h->is_bitmap ? "" : " and the largest sample");
    if (h->max < 1 || h->max > 65535)
        return err_set(err, ERR_PARSE, "the largest sample is %" PRId64 ", not 1 to 65535", h->max);
    if (!h->is_text && (c->at == c->end || !is_blank(*c->at)))
        return err_set(err, ERR_PARSE, "a blank is missing after the header");
    c->at += !h->is_text;
    return true;
}

static bool read_samples(Cursor *c, const Header *h, int64_t n, uint8_t *out, Err *err) {
    int size = h->max > 255 ? 2 : 1;
    for (int64_t i = 0; i < n && !interrupt_count; i++) {
        int64_t v;
        if (h->is_text) {
            if (!take_number(c, &v))
                return err_set(err, ERR_PARSE, "sample %" PRId64 " of %" PRId64 " is not a number",
                               i + 1, n);
        } else {
            v = size == 2 ? c->at[0] << 8 | c->at[1] : c->at[0];
            c->at += size;
        }
        if (v > h->max)
            return err_set(err, ERR_PARSE, "a sample of %" PRId64 " is above the largest, %" PRId64,
                           v, h->max);
        out[i] = (uint8_t)((v * 255 + h->max / 2) / h->max);
    }
    return true;
}

/* Text: digits, with or without blanks between them. Else 8 pixels a byte, the first in the highest
 * bit; rows begin with a byte. */
static bool read_bitmap(Cursor *c, const Header *h, uint8_t *out, Err *err) {
    int64_t n = h->width * h->height;
    for (int64_t i = 0; i < n && !interrupt_count; i++) {
        int64_t x = i % h->width;
        bool is_black;
        if (h->is_text) {
            skip_blanks(c);
            if (c->at == c->end || (*c->at != '0' && *c->at != '1'))
                return err_set(err, ERR_PARSE,
                               "pixel %" PRId64 " of %" PRId64 " is neither 0 nor 1", i + 1, n);
            is_black = *c->at++ == '1';
        } else {
            is_black = *c->at >> (7 - x % 8) & 1;
            c->at += x % 8 == 7 || x == h->width - 1;
        }
        out[i] = is_black ? 0 : 255;
    }
    return true;
}

/* The number of bytes that n samples take at least; of text, that n samples take. */
static uint64_t least_bytes(const Header *h, int64_t n) {
    if (h->is_bitmap && !h->is_text) return (uint64_t)((h->width + 7) / 8) * (uint64_t)h->height;
    return (uint64_t)n * (!h->is_text && h->max > 255 ? 2 : 1);
}

bool pnm_decode(Buf *bytes, IoValue *out, Err *err) {
    Cursor c = {bytes->data, bytes->data + bytes->n};
    Header h = {0};
    TRY(read_header(&c, &h, err));
    int64_t shape[3] = {h.height, h.width, h.channels}, n;
    int rank = h.channels == 1 ? 2 : 3;
    TRY(io_numel(shape, rank, &n, err));
    uint64_t have = (uint64_t)(c.end - c.at), want = least_bytes(&h, n);
    if (h.is_text && !h.is_bitmap) have = (have + 1) / 2; /* at least a digit and a blank each */
    if (have < want)
        return err_set(err, ERR_PARSE,
                       "a picture of %" PRId64 " x %" PRId64 " needs %" PRIu64
                       " %s, the file has %s%" PRIu64,
                       h.width, h.height, want, h.is_text ? "samples" : "bytes",
                       h.is_text ? "at most " : "", have);
    if (!h.is_text && h.max == 255)
        return io_tensor(out, shape, rank, EL_U8, false, bytes, c.at, err);
    Buf *b = buf_new((size_t)n + 1);
    b->n = (size_t)n;
    bool ok =
        (h.is_bitmap ? read_bitmap(&c, &h, b->data, err) : read_samples(&c, &h, n, b->data, err)) &&
        io_tensor(out, shape, rank, EL_U8, false, b, b->data, err);
    buf_unref(&b);
    return ok;
}

static bool is_picture(const TensorType *t, const char *channels, Err *err) {
    if (t->dtype != DT_U8 && !dtype_is_float((DType)t->dtype)) {
        err_set(err, ERR_DTYPE, "pictures are of uint8, or of floats from 0 to 1, not of %s",
                dtype_info[t->dtype].name);
        return err_hint(err,
                        t->dtype == DT_BOOL ? "(x * 255).to(uint8)" : "x.clamp(0, 255).to(uint8)");
    }
    bool ok = t->rank == 2 || (t->rank == 3 && t->shape[2] >= 1 && t->shape[2] <= 9 &&
                               strchr(channels, '0' + (int)t->shape[2]));
    if (!ok) {
        Bytes text = {0};
        for (const char *c = channels; *c; c++)
            bytes_printf(&text, "%s%c", c == channels ? "" : c[1] ? ", " : " or ", *c);
        bytes_puts(&text, ", not (");
        for (int i = 0; i < t->rank; i++)
            bytes_printf(&text, "%s%" PRId64, i ? ", " : "", t->shape[i]);
        err_set(err, ERR_SHAPE, "a picture here is (H, W) or (H, W, C) with C %s)", text.data);
        bytes_fini(&text);
        bool is_first = t->rank == 3 && t->shape[0] <= 4;
        return is_first ? err_hint(err, "channels are last: x.permute(1, 2, 0)") : false;
    }
    for (int i = 0; i < 2; i++)
        if (t->shape[i] < 1 || t->shape[i] > INT32_MAX)
            return err_set(err, ERR_SHAPE, "a picture of %" PRId64 " x %" PRId64 " cannot be saved",
                           t->shape[1], t->shape[0]);
    return true;
}

const uint8_t *io_picture(const IoItem *item, const char *channels, uint8_t **made, Err *err) {
    DType d = (DType)item->type.dtype;
    *made = NULL;
    if (!is_picture(&item->type, channels, err)) return NULL;
    if (d == DT_U8) return item->data;
    int64_t n = type_numel(&item->type);
    uint8_t *out = xmalloc((size_t)n + 1);
    const char *from = item->data;
    for (int64_t i = 0; i < n && goes_on(); i++, from += dtype_info[d].size_bytes) {
        double product;
        char rounded[sizeof product]; /* rounded as an operation of this dtype rounds */
        element_set_float(d, rounded, element_float(d, from) * 255);
        product = element_float(d, rounded);
        out[i] = product > 0 ? product < 255 ? (uint8_t)product : 255 : 0; /* nan becomes 0 */
    }
    return *made = out;
}

bool pnm_encode(IoSink *s, const IoItem *item, Err *err) {
    uint8_t *made;
    const uint8_t *sample = io_picture(item, "13", &made, err);
    if (!sample) return false;
    Bytes b = {0};
    bool is_rgb = item->type.rank == 3 && item->type.shape[2] == 3;
    bytes_printf(&b, "P%c\n%" PRId64 " %" PRId64 "\n255\n", is_rgb ? '6' : '5', item->type.shape[1],
                 item->type.shape[0]);
    io_put_bytes(s, b.data, b.n);
    io_put_bytes(s, sample, (size_t)type_numel(&item->type));
    free(made);
    bytes_fini(&b);
    return true;
}
