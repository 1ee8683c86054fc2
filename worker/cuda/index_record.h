/* index_record.h: the record of a bad index; index.cu includes this text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_INDEX_RECORD_H
#define GT_WORKER_CUDA_INDEX_RECORD_H
#include <stdint.h>

#define INDEX_GOOD UINT64_C(0xffffffffffffffff)
/* at: operand * (elements of their common shape) + element, the least that is bad; all bits set at
 * first. value: the index. */
typedef struct IndexRecord {
    uint64_t at;
    int64_t value;
} IndexRecord;
#endif
