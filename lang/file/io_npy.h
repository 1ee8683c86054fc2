/* io_npy.h: NumPy's .npy: one tensor.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_NPY_H
#define GT_LANG_FILE_IO_NPY_H
#include "lang/file/io_sink.h"

bool npy_decode(Buf *bytes, IoValue *out, Err *err);
bool npy_encode(IoSink *s, const IoItem *item, Err *err);
bool npy_header(const IoItem *item, Bytes *b, Err *err); /* everything before the elements */
#endif
