/* io_safetensors.c: safetensors checkpoints: 8 bytes of header length, a JSON header with dtype,
 * shape and offsets by name, the elements (github.com/huggingface/safetensors). Host values are
 * JSON under "gt" in __metadata__, whose values must be strings. Other metadata is ignored.
 * SPDX-License-Identifier: MIT */
#include "lang/file/file_map.h"
#include "lang/file/io_safetensors.h"
#include "lang/file/io_element.h"
#include "lang/file/io_format.h"
#include "runtime/base/utf8.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 16 << 20, MAX_HEADER_NODES = 2 * 1000 * 1000 };

/* Where the bytes come from: a buffer, or (buf NULL) a file of which only parts are read. data_at:
 * where the elements begin. */
typedef struct Origin {
    Buf *buf;
    int fd;
    uint64_t size, data_at;
} Origin;

typedef struct Extent {
    uint64_t begin, end;
    const char *name;
} Extent;

static int by_begin(const void *a, const void *b) {
    const Extent *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1)
           : x->end < y->end    ? -1
                                : x->end > y->end;
}

static bool read_shape(const IoValue *v, const char *name, int64_t *shape, int *rank, Err *err) {
    if (!v || v->kind != IO_LIST) return err_set(err, ERR_PARSE, "'%.100s' has no shape", name);
    if (v->n > MAX_DIMS)
        return err_set(err, ERR_LIMIT, "'%.100s' has %u axes, more than %d", name, v->n, MAX_DIMS);
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->kid[i].kind != IO_INT)
            return err_set(err, ERR_PARSE, "the shape of '%.100s' is not a list of sizes", name);
        shape[i] = v->kid[i].i;
    }
    *rank = (int)v->n;
    return true;
}

/* Notes a tensor that cannot be read; the others of the file can. */
static void put_bad(const char *name, const char *dtype, IoValue *out) {
    Bytes why = {0};
    bytes_printf(&why, "'%.100s' has the dtype '%.40s', which tensors here do not have", name,
                 dtype);
    *out = (IoValue){.kind = IO_BAD, .str = why.data, .n_str = why.n};
}

static bool read_offsets(const Origin *s, const IoValue *entry, const char *name, uint64_t size,
                         Extent *x, Err *err) {
    const IoValue *offsets = io_get(entry, "data_offsets");
    uint64_t n_data = s->size - s->data_at;
    if (!offsets || offsets->kind != IO_LIST || offsets->n != 2 || offsets->kid[0].kind != IO_INT ||
        offsets->kid[1].kind != IO_INT)
        return err_set(err, ERR_PARSE, "'%.100s' has no data_offsets", name);
    int64_t begin = offsets->kid[0].i, end = offsets->kid[1].i;
    if (begin < 0 || end < begin || (uint64_t)end > n_data)
        return err_set(err, ERR_PARSE,
                       "the elements of '%.100s' (bytes %" PRId64 " to %" PRId64
                       ") are outside of the file's %" PRIu64,
                       name, begin, end, n_data);
    if ((uint64_t)(end - begin) != size)
        return err_set(err, ERR_PARSE,
                       "'%.100s' needs %" PRIu64 " bytes, its offsets give %" PRId64, name, size,
                       end - begin);
    *x = (Extent){(uint64_t)begin, (uint64_t)end, name};
    return true;
}

static bool read_tensor(const Origin *s, const char *name, const IoValue *entry, IoValue *out,
                        Extent *x, Err *err) {
    const IoValue *dtype = io_get(entry, "dtype");
    int64_t shape[MAX_DIMS], numel;
    int rank = 0, el = 0;
    if (!dtype || dtype->kind != IO_STR)
        return err_set(err, ERR_PARSE, "'%.100s' has no dtype", name);
    while (el < EL_COUNT && strcmp(io_element[el].safetensors, dtype->str)) el++;
    if (el == EL_COUNT) return put_bad(name, dtype->str, out), true;
    TRY(read_shape(io_get(entry, "shape"), name, shape, &rank, err));
    TRY(io_numel(shape, rank, &numel, err));
    uint64_t size = (uint64_t)numel * (uint64_t)io_element[el].size_bytes;
    TRY(read_offsets(s, entry, name, size, x, err));
    if (s->buf)
        return io_tensor(out, shape, rank, (IoElement)el, false, s->buf,
                         s->buf->data + s->data_at + x->begin, err);
    Buf *part;
    TRY(io_read_part(s->fd, s->data_at + x->begin, (size_t)size, &part, err));
    bool ok = io_tensor(out, shape, rank, (IoElement)el, false, part, part->data, err);
    buf_unref(&part);
    return ok;
}

/* Reads host values from the metadata into flat, beside the tensors. */
static bool read_meta(const IoValue *meta, IoValue *flat, Err *err) {
    const IoValue *gt = io_get(meta, "gt");
    if (!gt || gt->kind != IO_STR) return true;
    return io_put_meta(gt->str, gt->n_str, flat, err);
}

/* True if the tensor is wanted: of that name, or below it. */
static bool is_below(const char *name, const char *key) {
    size_t n = key ? strlen(key) : 0;
    return !key || (!strncmp(name, key, n) && (!name[n] || name[n] == '/'));
}

static bool read_entries(const Origin *s, const IoValue *header, const char *key, IoValue *out,
                         Err *err) {
    Extent *x = xcalloc(header->n + 1, sizeof *x);
    uint32_t n = 0;
    bool ok = true;
    out->kind = IO_MAP;
    const IoValue *meta = NULL;
    for (uint32_t i = 0; i < header->n && ok; i++) {
        const char *name = header->key[i];
        if (!strcmp(name, "__metadata__")) {
            meta = &header->kid[i];
        } else if (is_below(name, key)) {
            ok = read_tensor(s, name, &header->kid[i], io_put(out, name, strlen(name)), &x[n], err);
            n += x[n].name != NULL;
        }
    }
    if (ok) qsort(x, n, sizeof *x, by_begin);
    for (uint32_t i = 1; i < n && ok; i++)
        if (x[i].begin < x[i - 1].end)
            ok = err_set(err, ERR_PARSE, "the elements of '%.100s' and '%.100s' overlap",
                         x[i - 1].name, x[i].name);
    if (ok && meta) ok = read_meta(meta, out, err);
    free(x);
    return ok;
}

/* Reads a file whose first 8 bytes are at p. Of an Origin without buf the header is read, too. */
static bool read_source(Origin *s, const uint8_t *p, const char *key, IoValue *out, Err *err) {
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--) n = n << 8 | p[i];
    if (n > s->size - 8)
        return err_set(err, ERR_PARSE,
                       "a header of %" PRIu64 " bytes does not fit a file of %" PRIu64, n, s->size);
    if (n > MAX_HEADER)
        return err_set(err, ERR_LIMIT,
                       "a header of %" PRIu64 " bytes is larger than the %d MiB allowed", n,
                       MAX_HEADER >> 20);
    Buf *head = NULL;
    if (!s->buf) TRY(io_read_part(s->fd, 8, (size_t)n, &head, err));
    if (s->buf && file_map_has(p)) head = buf_copy(s->buf->data + 8, (size_t)n);
    const uint8_t *json = head ? head->data : s->buf->data + 8;
    IoValue header;
    Err inner = {0};
    bool is_json = json_parse((const char *)json, (size_t)n, MAX_HEADER_NODES, &header, &inner);
    buf_unref(&head);
    if (!is_json) return err_set(err, ERR_PARSE, "the header is not JSON: %.300s", inner.text);
    s->data_at = 8 + n;
    bool ok = header.kind == IO_MAP ? read_entries(s, &header, key, out, err)
                                    : err_set(err, ERR_PARSE, "the header is not a map of names");
    io_fini(&header);
    if (ok) io_nest(out);
    return ok;
}

static bool too_short(uint64_t n, Err *err) {
    return err_set(err, ERR_PARSE, "this is not a safetensors file: it has only %" PRIu64 " bytes",
                   n);
}

bool safetensors_decode(Buf *bytes, IoValue *out, Err *err) {
    Origin s = {.buf = bytes, .size = bytes->n};
    return bytes->n < 8 ? too_short(bytes->n, err) : read_source(&s, bytes->data, NULL, out, err);
}

bool safetensors_pick(int fd, uint64_t size, const char *key, IoValue *out, Err *err) {
    Origin s = {.fd = fd, .size = size};
    Buf *first;
    if (size < 8) return too_short(size, err);
    TRY(io_read_part(fd, 0, 8, &first, err));
    bool ok = read_source(&s, first->data, key, out, err);
    buf_unref(&first);
    return ok;
}

/* ---- Writing ---- */

/* The order of the tensors in the file: wide elements first, so that all are aligned. Equal widths
 * keep their order. */
static uint64_t *place(const IoItem *item, int n) {
    uint64_t *begin = xcalloc((size_t)n + 1, sizeof *begin), at = 0;
    for (int size = 8; size; size /= 2)
        for (int i = 0; i < n; i++)
            if (dtype_info[item[i].type.dtype].size_bytes == size) {
                begin[i] = at;
                at += type_bytes(&item[i].type);
            }
    return begin;
}

static void put_entry(Bytes *b, const IoItem *item, uint64_t begin) {
    utf8_put_json(item->name, strlen(item->name), b);
    bytes_printf(b, ":{\"dtype\":\"%s\",\"shape\":[",
                 io_element[io_element_of(item->type.dtype)].safetensors);
    for (int i = 0; i < item->type.rank; i++)
        bytes_printf(b, "%s%" PRId64, i ? "," : "", item->type.shape[i]);
    bytes_printf(b, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin,
                 begin + type_bytes(&item->type));
}

bool safetensors_encode(IoSink *s, const IoItem *item, int n, const char *meta, size_t n_meta,
                        Err *err) {
    for (int i = 0; i < n; i++)
        if (!strcmp(item[i].name, "__metadata__"))
            return err_set(err, ERR_ARG, "the name '__metadata__' belongs to the file format");
    uint64_t *begin = place(item, n);
    Bytes b = {0};
    bytes_add(&b, "\0\0\0\0\0\0\0\0{", 9);
    if (n_meta) {
        bytes_puts(&b, "\"__metadata__\":{\"gt\":");
        utf8_put_json(meta, n_meta, &b);
        bytes_putc(&b, '}');
    }
    for (int i = 0; i < n; i++) {
        if (b.n > 9) bytes_putc(&b, ',');
        put_entry(&b, &item[i], begin[i]);
    }
    bytes_putc(&b, '}');
    while (b.n % 8) bytes_putc(&b, ' ');
    for (int i = 0; i < 8; i++) b.data[i] = (char)((uint64_t)(b.n - 8) >> (8 * i));
    io_put_bytes(s, b.data, b.n);
    for (int size = 8; size; size /= 2)
        for (int i = 0; i < n; i++)
            if (dtype_info[item[i].type.dtype].size_bytes == size)
                io_put_bytes(s, item[i].data, (size_t)type_bytes(&item[i].type));
    bytes_fini(&b);
    free(begin);
    return true;
}
