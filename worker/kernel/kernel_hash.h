/* kernel_hash.h: the sums of which hashes consist (runtime/inst/hash.h), as gcc vectorises them.
 * Only build/gen/kernels.c includes this file.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_KERNEL_HASH_H
#define GT_WORKER_KERNEL_KERNEL_HASH_H
#include "runtime/inst/hash.h"

HASH_SUM(hash_u8, uint8_t)
HASH_SUM(hash_u16, uint16_t)
HASH_SUM(hash_u32, uint32_t)
#define KERNELS_HASH .hash = {hash_u8, hash_u16, hash_u32},
#endif
