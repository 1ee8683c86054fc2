/* io_npz.h: NumPy's .npz: values by name.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_NPZ_H
#define GT_LANG_FILE_IO_NPZ_H
#include "lang/file/io_sink.h"

bool npz_decode(Buf *bytes, IoValue *out, Err *err);
bool npz_encode(IoSink *s, const IoItem *item, int n, const char *meta, size_t n_meta, Err *err);
#endif
