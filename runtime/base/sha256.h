/* sha256.h: SHA-256 (FIPS 180-4), to check that a file named in a stream is unchanged.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_SHA256_H
#define GT_RUNTIME_BASE_SHA256_H
#include <stddef.h>

void sha256_hex(const void *data, size_t n, char hex[65]); /* 64 lower-case digits and a NUL */
#endif
