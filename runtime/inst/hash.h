/* hash.h: the hash of a tensor's bits, by which gt-diff compares two runs (option --hash of
 * workers, hash= on tapes).
 *
 * A hash is a sum over the elements, modulo 2^64, of
 *
 *     bits(i) * key(i mod 1024) * factor(i / 1024)
 *
 * where i is the element's row-major index in the whole tensor, bits its bits as an unsigned number
 * (an element of 8 bytes counts as two of 4, with the indices 2 i and 2 i + 1), key a fixed random
 * number of 32 bits and factor a fixed odd one of 64. Because it is a sum, the parts of a tensor on
 * several workers can be hashed each by its worker, in any layout: their hashes add up to that of
 * the whole. Because each element is weighted by its place, values that change places change the
 * hash. The hash of zeros is 0; shape and dtype are not part of it.
 *
 * Guarantee: tensors of one type that differ in one element of at most 4 bytes always have
 * different hashes. Tensors that differ otherwise have the same hash by chance, once in about 2^32
 * pairs (for fixed differences in one block, at most one value in 2^32 of one of its keys makes the
 * sum 0). A hash finds errors. It is no defence against somebody who constructs values.
 *
 * A sampled hash of a large tensor covers some of its blocks of 1024 words: see hash_sample.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_HASH_H
#define GT_RUNTIME_INST_HASH_H
#include "runtime/inst/inst.h"

enum { HASH_BLOCK = 1024 };
/* Returns the sum of x[i] * key[i], i < n <= HASH_BLOCK: a kernel of the engine. */
typedef uint64_t (*HashSumFn)(int64_t n, const void *x, const uint32_t *key);
#define HASH_SUM(name, T)                                                                          \
    static uint64_t name(int64_t n, const void *data, const uint32_t *key) {                       \
        const T *x = data;                                                                         \
        uint64_t sum = 0;                                                                          \
        for (int64_t i = 0; i < n; i++) sum += (uint64_t)x[i] * key[i];                            \
        return sum;                                                                                \
    }
/* For elements of 1, 2 and 4 bytes; plain loops. */
extern const HashSumFn hash_sums[3];

/* Hashes n adjacent elements of `size` bytes (1, 2, 4 or 8), aligned to it, of which the first has
 * the row-major index `first` in the whole tensor. sample: hash_sample's. */
uint64_t hash_elements(const HashSumFn sum[3], const void *data, int64_t n, int size,
                       uint64_t first, uint16_t sample);

/* Returns k: of a tensor every k-th block is hashed, on average. k is 1 if `all`, or if the tensor
 * has at most HASH_WHOLE words of 4 bytes. Otherwise about HASH_WHOLE to 2 * HASH_WHOLE words are
 * hashed. Only k and the numbers of the blocks decide which ones, so that two runs and any layouts
 * cover the same elements. */
enum { HASH_WHOLE = 1 << 14 };
uint16_t hash_sample(const TensorType *whole, bool all);
#endif
