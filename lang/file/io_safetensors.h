/* io_safetensors.h: .safetensors: values by name.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_SAFETENSORS_H
#define GT_LANG_FILE_IO_SAFETENSORS_H
#include "lang/file/io_sink.h"

bool safetensors_decode(Buf *bytes, IoValue *out, Err *err);
/* Like safetensors_decode, but of a regular file it reads only the header and the values that are
 * named `key` or lie below it. */
bool safetensors_pick(int fd, uint64_t size, const char *key, IoValue *out, Err *err);
bool safetensors_encode(IoSink *s, const IoItem *item, int n, const char *meta, size_t n_meta,
                        Err *err);
#endif
