/* io_csv.h: .csv: a table.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_CSV_H
#define GT_LANG_FILE_IO_CSV_H
#include "lang/file/io_sink.h"

/* asked: the dtype of all numbers; if DT_NONE, each column gets the first of int64, floats and
 * float64 that holds its numbers. */
bool csv_decode(Buf *bytes, DType asked, DType floats, IoValue *out, Err *err);
bool csv_encode(IoSink *s, const IoValue *v, Err *err);
#endif
