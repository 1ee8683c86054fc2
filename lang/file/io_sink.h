/* io_sink.h: where encoders write to. Private to lang/file/.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_SINK_H
#define GT_LANG_FILE_IO_SINK_H
#include "lang/file/io.h"

/* The output of encoders: a file that remembers its first error. at: bytes written so far. */
typedef struct IoSink {
    int fd;
    bool failed;
    int error;
    uint64_t at;
} IoSink;
void io_put_bytes(IoSink *s, const void *data, size_t n); /* stops early after Ctrl-C */
/* Like fsync. Ctrl-C ends the wait, which counts as success; the sync goes on without us. */
int io_sync(int fd);
#endif
