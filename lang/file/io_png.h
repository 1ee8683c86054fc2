/* io_png.h: .png: a picture.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_PNG_H
#define GT_LANG_FILE_IO_PNG_H
#include "lang/file/io_sink.h"

bool png_decode(Buf *bytes, IoValue *out, Err *err);
bool png_encode(IoSink *s, const IoItem *item, Err *err);
#endif
