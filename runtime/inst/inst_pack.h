/* inst_pack.h: elements, compressed. SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_INST_PACK_H
#define GT_RUNTIME_INST_INST_PACK_H
#include "runtime/base/arena.h"

/* Compresses elements (inst_pack.c). False, or nothing in *out, if that does not make them
 * shorter. n bytes are numel elements of width bytes. */
bool inst_pack(const uint8_t *p, size_t numel, size_t width, Bytes *out);
/* inst_may_unpack: can n_packed bytes be n bytes compressed? inst_unpack allocates no more than
 * that. */
bool inst_may_unpack(size_t n_packed, size_t n);
bool inst_unpack(const uint8_t *packed, size_t n_packed, size_t numel, size_t width, uint8_t *out);
#endif
