/* io_format.h: what the formats (io_npy.c, io_safetensors.c, io_csv.c, io_raw.c) and io.c share:
 * how elements are read, and where encoded bytes go. Private to lang/io*.c.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_IO_FORMAT_H
#define GT_LANG_IO_FORMAT_H
#include "lang/io.h"

/* Element types that occur in files; those beyond dtypes.def are widened on load. */
typedef enum IoElement {
    EL_BOOL, EL_U8, EL_I8, EL_U16, EL_I16, EL_U32, EL_I32, EL_U64, EL_I64,
    EL_F16, EL_BF16, EL_F32, EL_F64, EL_COUNT
} IoElement;

typedef struct IoElementInfo {
    const char *name, *safetensors, *npy;
    int size_bytes;
    DType dtype;
} IoElementInfo;
extern const IoElementInfo io_element[EL_COUNT];
IoElement io_element_of(DType d);
IoElement io_element_find(const char *name, size_t n); /* "uint16", "half" ...; EL_COUNT: none */

/* Product of extents; false when rank, an extent or the product is beyond the limits. */
bool io_numel(const int64_t *shape, int rank, int64_t *out, Err *err);
/* A tensor of numel elements at data, which lies in bytes: shared where layout and alignment allow,
 * else converted. The caller has checked that data holds numel elements. */
bool io_tensor(IoValue *out, const int64_t *shape, int rank, IoElement el, bool is_swapped,
               Buf *bytes, const void *data, Err *err);

/* Where encoders write: a file with errors remembered. */
typedef struct IoSink { int fd; bool failed; int error; } IoSink;
void io_put_bytes(IoSink *s, const void *data, size_t n);

bool npy_decode(Buf *bytes, IoValue *out, Err *err);
bool npy_encode(IoSink *s, const IoItem *item, Err *err);
bool safetensors_decode(Buf *bytes, IoValue *out, Err *err);
bool safetensors_encode(IoSink *s, const IoItem *item, int n, const char *meta, size_t n_meta,
                        Err *err);
bool csv_decode(Buf *bytes, IoValue *out, Err *err);
bool csv_encode(IoSink *s, const IoValue *v, Err *err);
bool idx_decode(Buf *bytes, IoValue *out, Err *err);
bool idx_encode(IoSink *s, const IoItem *item, Err *err);
bool raw_decode(Buf *bytes, IoElement el, IoValue *out, Err *err);

/* A map of names becomes nested maps at each "/"; levels named 0, 1, ... become lists. Stays as it
 * is when a name has empty parts or is both a value and a level. */
void io_nest(IoValue *flat);
#endif
