/* png_bytes.c: RGBA pixels as a PNG file in memory, also inside SVG. io_png.c, which reads files
 * of others and writes tensors, uses libpng.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/page.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_u32(uint8_t at[4], uint32_t v) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void put_chunk(const char name[4], const uint8_t *data, size_t n, Bytes *out) {
    uint8_t number[4];
    uLong sum = crc32(crc32(0, (const Bytef *)name, 4), data, (uInt)n);
    put_u32(number, (uint32_t)n);
    bytes_add(out, number, 4);
    bytes_add(out, name, 4);
    bytes_add(out, data, n);
    put_u32(number, (uint32_t)sum);
    bytes_add(out, number, 4);
}

void png_bytes(const uint8_t *rgba, int64_t width, int64_t height, Bytes *out) {
    uint8_t head[13] = {[8] = 8, [9] = 6}; /* 8 bits, RGBA */
    bytes_add(out, "\x89PNG\r\n\x1a\n", 8);
    put_u32(head, (uint32_t)width), put_u32(head + 4, (uint32_t)height);
    put_chunk("IHDR", head, sizeof head, out);
    size_t row = (size_t)width * 4, n = (row + 1) * (size_t)height; /* each row begins with 0 */
    uint8_t *raw = xcalloc(n + 1, 1);
    for (int64_t y = 0; y < height; y++)
        memcpy(raw + (size_t)y * (row + 1) + 1, rgba + (size_t)y * row, row);
    uLongf packed_n = compressBound(n);
    uint8_t *packed = xmalloc(packed_n);
    compress2(packed, &packed_n, raw, n, 6); /* it has room, and so does not fail */
    put_chunk("IDAT", packed, packed_n, out);
    put_chunk("IEND", head, 0, out);
    free(raw);
    free(packed);
}
