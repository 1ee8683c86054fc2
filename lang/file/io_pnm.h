/* io_pnm.h: .ppm and .pgm: a picture.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_PNM_H
#define GT_LANG_FILE_IO_PNM_H
#include "lang/file/io_sink.h"

bool pnm_decode(Buf *bytes, IoValue *out, Err *err); /* .ppm or .pgm, by the magic number */
bool pnm_encode(IoSink *s, const IoItem *item, Err *err);
/* The bytes of a picture to write. item must be (H, W) or (H, W, C), with C one of the digits in
 * channels ("134"), of uint8 or floats. Floats become (x * 255).clamp(0, 255).to(uint8). The result
 * is item's own data, or *made, which is malloc'ed (else NULL). NULL: err is set. */
const uint8_t *io_picture(const IoItem *item, const char *channels, uint8_t **made, Err *err);
#endif
