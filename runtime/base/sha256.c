/* sha256.c: the hash by libcrypto, which uses the processor's own instructions.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/sha256.h"
#include "runtime/base/err.h"

#include <openssl/evp.h>
#include <stdio.h>

void sha256_hex(const void *data, size_t n, char hex[65]) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    if (!EVP_Digest(n ? data : "", n, hash, NULL, EVP_sha256(), NULL))
        panic("libcrypto failed to compute SHA-256");
    for (int i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", hash[i]);
}
