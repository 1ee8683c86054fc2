/* io_raw.c: formats that are little more than their elements: MNIST's idx (big-endian: a magic
 * number with type and rank, extents, elements; yann.lecun.com/exdb/mnist) and files of plain
 * bytes.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io_raw.h"
#include <inttypes.h>

static const struct {
    uint8_t code;
    IoElement el;
} idx_type[] = {{0x08, EL_U8},  {0x09, EL_I8},  {0x0b, EL_I16},
                {0x0c, EL_I32}, {0x0d, EL_F32}, {0x0e, EL_F64}};
enum { IDX_TYPES = sizeof idx_type / sizeof *idx_type };

bool idx_decode(Buf *bytes, IoValue *out, Err *err) {
    const uint8_t *p = bytes->data;
    if (bytes->n < 4 || p[0] || p[1])
        return err_set(err, ERR_PARSE,
                       "this is not an idx file: it does not begin with two zero bytes");
    int t = 0, rank = p[3];
    while (t < IDX_TYPES && idx_type[t].code != p[2]) t++;
    if (t == IDX_TYPES)
        return err_set(err, ERR_PARSE, "idx element type 0x%02x is not known", p[2]);
    if (rank > MAX_DIMS)
        return err_set(err, ERR_LIMIT, "%d axes are more than the %d that a tensor can have", rank,
                       MAX_DIMS);
    size_t head = 4 + 4 * (size_t)rank;
    if (bytes->n < head) return err_set(err, ERR_PARSE, "the header is cut off");
    int64_t shape[MAX_DIMS], numel;
    for (int i = 0; i < rank; i++) {
        const uint8_t *e = p + 4 + 4 * i;
        shape[i] = (int64_t)e[0] << 24 | e[1] << 16 | e[2] << 8 | e[3];
    }
    TRY(io_numel(shape, rank, &numel, err));
    uint64_t want = (uint64_t)numel * (uint64_t)io_element[idx_type[t].el].size_bytes,
             have = bytes->n - head;
    if (want != have)
        return err_set(err, ERR_PARSE,
                       "the shape needs %" PRIu64 " bytes of elements, the file has %" PRIu64, want,
                       have);
    return io_tensor(out, shape, rank, idx_type[t].el, true, bytes, p + head, err);
}

bool idx_encode(IoSink *s, const IoItem *item, Err *err) {
    IoElement el = io_element_of(item->type.dtype);
    int t = 0, size = io_element[el].size_bytes;
    while (t < IDX_TYPES && idx_type[t].el != el) t++;
    if (t == IDX_TYPES)
        return err_set(err, ERR_DTYPE, "idx files hold no %s", dtype_info[item->type.dtype].name);
    Bytes b = {0};
    bytes_add(&b, (uint8_t[]){0, 0, idx_type[t].code, item->type.rank}, 4);
    for (int i = 0; i < item->type.rank; i++) {
        int64_t n = item->type.shape[i];
        if (n > UINT32_MAX) {
            bytes_fini(&b);
            return err_set(err, ERR_LIMIT, "idx files have axes of at most 2^32 - 1 elements");
        }
        bytes_add(
            &b, (uint8_t[]){(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n},
            4);
    }
    const uint8_t *p = item->data;
    int64_t numel = type_numel(&item->type);
    bytes_reserve(&b, (size_t)numel * (size_t)size);
    for (int64_t i = 0; i < numel; i++)
        for (int k = size - 1; k >= 0; k--) bytes_putc(&b, (char)p[i * size + k]);
    io_put_bytes(s, b.data, b.n);
    bytes_fini(&b);
    return true;
}

bool raw_decode(Buf *bytes, IoElement el, IoValue *out, Err *err) {
    size_t size = (size_t)io_element[el].size_bytes;
    if (bytes->n % size)
        return err_set(err, ERR_PARSE, "%zu bytes are not a whole number of %s elements", bytes->n,
                       io_element[el].name);
    int64_t n = (int64_t)(bytes->n / size);
    return io_tensor(out, &n, 1, el, false, bytes, bytes->data, err);
}
