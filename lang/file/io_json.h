/* io_json.h: .json and .jsonl. io.h declares what other folders use of it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_JSON_H
#define GT_LANG_FILE_IO_JSON_H
#include "lang/file/io_sink.h"

bool jsonl_decode(Buf *bytes, size_t max_nodes, IoValue *out, Err *err); /* a list */
bool jsonl_encode(IoSink *s, const IoValue *v, Err *err);
#endif
