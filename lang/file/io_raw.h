/* io_raw.h: formats that are little more than their elements.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_RAW_H
#define GT_LANG_FILE_IO_RAW_H
#include "lang/file/io_element.h"
#include "lang/file/io_sink.h"

bool idx_decode(Buf *bytes, IoValue *out, Err *err);
bool idx_encode(IoSink *s, const IoItem *item, Err *err);
bool raw_decode(Buf *bytes, IoElement el, IoValue *out, Err *err);
#endif
