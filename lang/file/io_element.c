/* io_element.c: converts the elements of a file to those of a tensor. Types without a dtype are
 * widened, foreign byte orders are swapped, bools are made 0 or 1. Bytes that need no conversion
 * are shared, not copied.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io_element.h"
#include "lang/error/interrupt.h"
#include "lang/file/file_map.h"
#include "lang/file/io_format.h"
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

const IoElementInfo io_element[EL_COUNT] = {
    [EL_BOOL] = {"bool", "BOOL", "b1", 1, DT_BOOL},
    [EL_U8] = {"uint8", "U8", "u1", 1, DT_U8},
    [EL_I8] = {"int8", "I8", "i1", 1, DT_I8},
    [EL_U16] = {"uint16", "U16", "u2", 2, DT_I32},
    [EL_I16] = {"int16", "I16", "i2", 2, DT_I32},
    [EL_U32] = {"uint32", "U32", "u4", 4, DT_I64},
    [EL_I32] = {"int32", "I32", "i4", 4, DT_I32},
    [EL_U64] = {"uint64", "U64", "u8", 8, DT_I64},
    [EL_I64] = {"int64", "I64", "i8", 8, DT_I64},
    [EL_F16] = {"float16", "F16", "f2", 2, DT_F16},
    [EL_BF16] = {"bfloat16", "BF16", "--", 2, DT_BF16},
    [EL_F32] = {"float32", "F32", "f4", 4, DT_F32},
    [EL_F64] = {"float64", "F64", "f8", 8, DT_F64},
};

IoElement io_element_of(DType d) {
    static const IoElement of[DT_COUNT] = {
        [DT_BOOL] = EL_BOOL, [DT_U8] = EL_U8,   [DT_I8] = EL_I8,
        [DT_I32] = EL_I32,   [DT_I64] = EL_I64, [DT_F16] = EL_F16,
        [DT_BF16] = EL_BF16, [DT_F32] = EL_F32, [DT_F64] = EL_F64};
    return of[d];
}

IoElement io_element_find(const char *name, size_t n) {
    static const struct {
        const char *name;
        IoElement el;
    } alias[] = {{"half", EL_F16}, {"float", EL_F32}, {"double", EL_F64},
                 {"long", EL_I64}, {"int", EL_I64},   {"byte", EL_U8}};
    for (int i = 0; i < EL_COUNT; i++)
        if (strlen(io_element[i].name) == n && !memcmp(io_element[i].name, name, n))
            return (IoElement)i;
    for (size_t i = 0; i < sizeof alias / sizeof *alias; i++)
        if (strlen(alias[i].name) == n && !memcmp(alias[i].name, name, n)) return alias[i].el;
    return EL_COUNT;
}

bool io_numel(const int64_t *shape, int rank, int64_t *out, Err *err) {
    if (rank > MAX_DIMS)
        return err_set(err, ERR_LIMIT, "%d axes are more than the %d that a tensor can have", rank,
                       MAX_DIMS);
    int64_t n = 1;
    bool is_empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return err_set(err, ERR_PARSE, "an axis of %" PRId64 " elements", shape[i]);
        is_empty |= shape[i] == 0;
    }
    for (int i = 0; i < rank; i++) {
        int64_t extent = is_empty && shape[i] == 0 ? 1 : shape[i];
        if (extent > MAX_NUMEL / n)
            return err_set(err, ERR_LIMIT, "the shape has more elements than a tensor can hold");
        n *= extent;
    }
    *out = is_empty ? 0 : n;
    return true;
}

/* ---- Conversion ---- */

static uint64_t load_bits(const uint8_t *p, int size, bool is_swapped) {
    uint64_t v = 0;
    for (int i = 0; i < size; i++) v |= (uint64_t)p[is_swapped ? size - 1 - i : i] << (8 * i);
    return v;
}

static bool convert_one(IoElement el, uint64_t bits, uint8_t *out, Err *err) {
    int32_t i32;
    int64_t i64;
    switch (el) {
    case EL_BOOL: *out = bits != 0; return true;
    case EL_U8: *out = (uint8_t)bits; return true;
    case EL_I8: *out = (uint8_t)bits; return true;
    case EL_U16: i32 = (int32_t)bits; break;
    case EL_I16: i32 = (int16_t)bits; break;
    case EL_I32: i32 = (int32_t)(uint32_t)bits; break;
    case EL_U64:
        if (bits >> 63)
            return err_set(err, ERR_PARSE, "an element of %" PRIu64 " does not fit int64", bits);
        /* fall through */
    case EL_U32:
    case EL_I64:
        i64 = (int64_t)bits;
        memcpy(out, &i64, 8);
        return true;
    case EL_F16:
    case EL_BF16: memcpy(out, &bits, 2); return true;
    case EL_F32: memcpy(out, &bits, 4); return true;
    default: memcpy(out, &bits, 8); return true;
    }
    memcpy(out, &i32, 4);
    return true;
}

static bool is_same(IoElement el, bool is_swapped) {
    const IoElementInfo *info = &io_element[el];
    return el == io_element_of(info->dtype) && el != EL_BOOL &&
           (!is_swapped || info->size_bytes == 1);
}

/* Converts n elements at p to those of the dtype, at to. */
static bool convert(IoElement el, bool is_swapped, const uint8_t *p, int64_t n, uint8_t *to,
                    Err *err) {
    int from_bytes = io_element[el].size_bytes,
        to_bytes = dtype_info[io_element[el].dtype].size_bytes;
    if (is_same(el, is_swapped)) {
        if (n) memcpy(to, p, (size_t)n * (size_t)to_bytes);
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = load_bits(p + i * from_bytes, from_bytes, is_swapped);
        TRY(convert_one(el, bits, to + i * to_bytes, err));
    }
    return true;
}

static void release_room(void *data, void *ctx) { munmap(data, (size_t)(uintptr_t)ctx); }

/* A Buf with room for n bytes, filled. The memory of a large one goes back to the system with it:
 * malloc keeps what a file's many tensors leave, in pieces that the next ones do not fit. */
static Buf *room_new(size_t n) {
    void *p = n < FILE_MAP_LEAST
                  ? MAP_FAILED
                  : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) return buf_wrap(p, n, release_room, (void *)(uintptr_t)n);
    Buf *b = buf_new(n);
    b->n = n;
    return b;
}

bool io_elements(const IoTensor *t, Buf **out, Err *err) {
    if (!t->is_mapped) {
        *out = buf_ref(t->buf);
        return true;
    }
    IoElement el = (IoElement)t->element;
    int64_t n = type_numel(&t->type), from_bytes = io_element[el].size_bytes,
            to_bytes = dtype_info[t->type.dtype].size_bytes;
    Buf *b = room_new((size_t)(n * to_bytes));
    bool ok = true;
    for (int64_t i = 0, step; i < n && ok; i += step) {
        const uint8_t *p = t->buf->data + i * from_bytes;
        step = n - i < IO_STEP_BYTES / 8 ? n - i : IO_STEP_BYTES / 8;
        ok = convert(el, t->is_swapped, p, step, b->data + i * to_bytes, err) &&
             not_interrupted_io(err);
        file_map_forget(p, (size_t)(step * from_bytes));
    }
    ok = file_map_is_whole(t->buf->data, t->buf->n, err) && ok;
    if (ok)
        *out = b;
    else
        buf_unref(&b);
    return ok;
}

bool io_tensor(IoValue *out, const int64_t *shape, int rank, IoElement el, bool is_swapped,
               Buf *bytes, const void *data, Err *err) {
    const IoElementInfo *info = &io_element[el];
    TensorType type = {.dtype = (uint8_t)info->dtype, .rank = (uint8_t)rank};
    int64_t n;
    TRY(io_numel(shape, rank, &n, err));
    memcpy(type.shape, shape, (size_t)rank * sizeof *shape);
    size_t to = (size_t)dtype_info[info->dtype].size_bytes;
    IoTensor t = {.type = type};
    if (file_map_has(data)) {
        t.element = (uint8_t)el, t.is_mapped = true, t.is_swapped = is_swapped;
        t.buf = buf_part(bytes, data, (size_t)n * (size_t)info->size_bytes);
    } else if (is_same(el, is_swapped) && (uintptr_t)data % to == 0) {
        t.buf = buf_part(bytes, data, (size_t)n * to);
    } else {
        t.buf = buf_new((size_t)n * to + 1);
        t.buf->n = (size_t)n * to;
        if (!convert(el, is_swapped, data, n, t.buf->data, err)) {
            buf_unref(&t.buf);
            return false;
        }
    }
    out->kind = IO_TENSOR;
    out->tensor = xmalloc(sizeof *out->tensor);
    *out->tensor = t;
    return true;
}
