/* io_format.h: what the decoders of formats share. Private to lang/file/.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_FORMAT_H
#define GT_LANG_FILE_IO_FORMAT_H
#include "lang/file/io.h"

enum { IO_STEP_BYTES = 16 << 20 }; /* read or unpacked between two looks for Ctrl-C */

/* Reads the n bytes from `at` of an open file: *out, one reference. ERR_IO if the file ends before,
 * because another program has cut it. */
bool io_read_part(int fd, uint64_t at, size_t n, Buf **out, Err *err);
/* The limit on the inflated size of n compressed bytes. Deflate expands up to a thousandfold,
 * but a file that really does (all zeros) is small. */
size_t io_inflate_limit(size_t n);

/* Adds the values of json, the text of a map as in save's meta, to a flat map of names. */
bool io_put_meta(const char *json, size_t n, IoValue *flat, Err *err);
#endif
