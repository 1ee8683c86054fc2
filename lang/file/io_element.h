/* io_element.h: element types found in files, and tensors made of their bytes.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_ELEMENT_H
#define GT_LANG_FILE_IO_ELEMENT_H
#include "lang/file/io.h"

/* Element types found in files; those without a row in dtypes.def are widened on load. */
typedef enum IoElement {
    EL_BOOL,
    EL_U8,
    EL_I8,
    EL_U16,
    EL_I16,
    EL_U32,
    EL_I32,
    EL_U64,
    EL_I64,
    EL_F16,
    EL_BF16,
    EL_F32,
    EL_F64,
    EL_COUNT
} IoElement;
typedef struct IoElementInfo {
    const char *name, *safetensors, *npy;
    int size_bytes;
    DType dtype;
} IoElementInfo;
extern const IoElementInfo io_element[EL_COUNT];
IoElement io_element_of(DType d);
/* by name: "uint16", "half" ...; EL_COUNT if unknown */
IoElement io_element_find(const char *name, size_t n);
/* The product of the extents; false if rank, an extent or the product exceeds its limit. */
bool io_numel(const int64_t *shape, int rank, int64_t *out, Err *err);
/* A tensor of numel elements at data, inside bytes: shared if layout and alignment allow, else
 * converted. The caller has checked that data holds numel elements. */
bool io_tensor(IoValue *out, const int64_t *shape, int rank, IoElement el, bool is_swapped,
               Buf *bytes, const void *data, Err *err);
#endif
