/* sha256.h: SHA-256 (FIPS 180-4), to tell whether a file that a stream names is the file that it
 * meant.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_SHA256_H
#define GT_RUNTIME_BASE_SHA256_H
#include <stddef.h>

void sha256_hex(const void *data, size_t n, char hex[65]); /* 64 lower-case digits and a NUL */
#endif
