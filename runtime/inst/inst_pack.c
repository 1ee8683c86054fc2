/* inst_pack.c: compresses elements for instruction text: groups bytes of equal significance (all
 * lowest bytes, then all second ones, ...), then applies zlib's format (RFC 1950). Ids are small
 * numbers in wide elements, so that all but one or two of the groups shrink to almost nothing.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/inst_pack.h"
#include "runtime/inst/inst_text.h"

#include <stdlib.h>
#include <zlib.h>

enum {
    LEVEL = 6,
    CHUNK = 1 << 16,
    /* Limits on the expansion of untrusted text: BASE bytes, and above that RATIO bytes per
     * byte. */
    UNPACK_BASE = 64 << 20,
    UNPACK_RATIO = 128,
};

/* out[k * numel + i] = p[i * width + k] */
static void split_planes(const uint8_t *p, size_t numel, size_t width, uint8_t *out) {
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < numel; i++) out[k * numel + i] = p[i * width + k];
}

static void join_planes(const uint8_t *planes, size_t numel, size_t width, uint8_t *out) {
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < numel; i++) out[i * width + k] = planes[k * numel + i];
}

/* zlib counts in 32 bits, so larger data is passed in pieces. */
static uInt piece(size_t left) { return (uInt)(left < (1u << 30) ? left : (1u << 30)); }

bool inst_pack(const uint8_t *p, size_t numel, size_t width, Bytes *out) {
    size_t n = numel * width, start = out->n;
    z_stream z = {0};
    if (deflateInit(&z, LEVEL) != Z_OK) return false;
    uint8_t *planes = xmalloc(n);
    split_planes(p, numel, width, planes);
    size_t taken = 0;
    int rc = Z_OK;
    while (rc == Z_OK && out->n - start < n) {
        if (z.avail_in == 0 && taken < n) {
            z.next_in = planes + taken;
            z.avail_in = piece(n - taken);
            taken += z.avail_in;
        }
        bytes_reserve(out, CHUNK);
        z.next_out = (uint8_t *)out->data + out->n;
        z.avail_out = CHUNK;
        rc = deflate(&z, taken == n ? Z_FINISH : Z_NO_FLUSH);
        out->n += CHUNK - z.avail_out;
    }
    deflateEnd(&z);
    free(planes);
    if (rc == Z_STREAM_END && out->n - start < n && inst_may_unpack(out->n - start, n)) return true;
    out->n = start;
    return false;
}

bool inst_may_unpack(size_t n_packed, size_t n) {
    return n <= UNPACK_BASE || (n - UNPACK_BASE) / UNPACK_RATIO <= n_packed;
}

bool inst_unpack(const uint8_t *packed, size_t n_packed, size_t numel, size_t width, uint8_t *out) {
    size_t n = numel * width, taken = 0, made = 0;
    z_stream z = {0};
    if (inflateInit(&z) != Z_OK) return false;
    uint8_t *planes = xmalloc(n + 1); /* one more, to detect excess data */
    int rc = Z_OK;
    while (rc == Z_OK && made <= n) {
        if (z.avail_in == 0 && taken < n_packed) {
            z.next_in = (uint8_t *)(uintptr_t)packed + taken;
            z.avail_in = piece(n_packed - taken);
            taken += z.avail_in;
        }
        uInt room = piece(n + 1 - made);
        z.next_out = planes + made;
        z.avail_out = room;
        rc = inflate(&z, Z_NO_FLUSH);
        made += room - z.avail_out;
    }
    bool ok = rc == Z_STREAM_END && made == n && z.avail_in == 0 && taken == n_packed;
    inflateEnd(&z);
    if (ok) join_planes(planes, numel, width, out);
    free(planes);
    return ok;
}
