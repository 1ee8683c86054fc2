/* io_format.h: what io.c and the formats (io_npy.c, io_npz.c, io_safetensors.c, ...) share: limits
 * on inflated sizes, and the sink of the encoders. Private to lang/file/.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_FORMAT_H
#define GT_LANG_FILE_IO_FORMAT_H
#include "lang/file/io_element.h"

enum { IO_STEP_BYTES = 16 << 20 }; /* read or unpacked between two looks for Ctrl-C */

/* Reads the n bytes from `at` of an open file: *out, one reference. ERR_IO if the file ends before,
 * because another program has cut it. */
bool io_read_part(int fd, uint64_t at, size_t n, Buf **out, Err *err);
/* The limit on the inflated size of n compressed bytes. Deflate expands up to a thousandfold,
 * but a file that really does (all zeros) is small. */
size_t io_inflate_limit(size_t n);

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

bool npy_decode(Buf *bytes, IoValue *out, Err *err);
bool npy_encode(IoSink *s, const IoItem *item, Err *err);
bool npy_header(const IoItem *item, Bytes *b, Err *err); /* everything before the elements */
bool npz_decode(Buf *bytes, IoValue *out, Err *err);
bool npz_encode(IoSink *s, const IoItem *item, int n, const char *meta, size_t n_meta, Err *err);
bool safetensors_decode(Buf *bytes, IoValue *out, Err *err);
/* Like safetensors_decode, but of a regular file it reads only the header and the values that are
 * named `key` or lie below it. */
bool safetensors_pick(int fd, uint64_t size, const char *key, IoValue *out, Err *err);
bool safetensors_encode(IoSink *s, const IoItem *item, int n, const char *meta, size_t n_meta,
                        Err *err);
/* asked: the dtype of all numbers; if DT_NONE, each column gets the first of int64, floats and
 * float64 that holds its numbers. */
bool csv_decode(Buf *bytes, DType asked, DType floats, IoValue *out, Err *err);
bool csv_encode(IoSink *s, const IoValue *v, Err *err);
bool idx_decode(Buf *bytes, IoValue *out, Err *err);
bool idx_encode(IoSink *s, const IoItem *item, Err *err);
bool jsonl_decode(Buf *bytes, size_t max_nodes, IoValue *out, Err *err); /* a list */
bool jsonl_encode(IoSink *s, const IoValue *v, Err *err);
bool yaml_decode(Buf *bytes, IoValue *out, Err *err);
bool yaml_encode(IoSink *s, const IoValue *v, Err *err); /* no tensors */
bool png_decode(Buf *bytes, IoValue *out, Err *err);
bool png_encode(IoSink *s, const IoItem *item, Err *err);
bool pnm_decode(Buf *bytes, IoValue *out, Err *err); /* .ppm or .pgm, by the magic number */
bool pnm_encode(IoSink *s, const IoItem *item, Err *err);
/* The bytes of a picture to write. item must be (H, W) or (H, W, C), with C one of the digits in
 * channels ("134"), of uint8 or floats. Floats become (x * 255).clamp(0, 255).to(uint8). The result
 * is item's own data, or *made, which is malloc'ed (else NULL). NULL: err is set. */
const uint8_t *io_picture(const IoItem *item, const char *channels, uint8_t **made, Err *err);
bool raw_decode(Buf *bytes, IoElement el, IoValue *out, Err *err);

/* Adds the values of json, the text of a map as in save's meta, to a flat map of names. */
bool io_put_meta(const char *json, size_t n, IoValue *flat, Err *err);
/* Turns a flat map of names into nested maps, one level per "/"; levels named 0, 1, ... become
 * lists. Leaves it as it is if a name has an empty part, or is both a value and a level. */
void io_nest(IoValue *flat);
#endif
