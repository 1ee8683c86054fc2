/* line.h: the arguments of scan.cu and sort.cu, which include this text: lines of a tensor along
 * an axis, and order.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_LINE_H
#define GT_WORKER_CUDA_LINE_H
#include <stdint.h>

enum { LINE_AXES = 8, LINE_OPERANDS = 3 };
/* Line i of operand k begins at the offset that `stride` gives for the axes of `shape`; its n
 * elements are `step` apart. Operands: 0 and 1 are read, 2 is the result, in elements. */
typedef struct LineArgs {
    const char *in[2];
    char *out[2]; /* out[1]: positions, which lie as operand 2 */
    int64_t lines, n, rank, shape[LINE_AXES];
    int64_t stride[LINE_OPERANDS][LINE_AXES], step[LINE_OPERANDS];
    int64_t flag;       /* reverse, largest, right, descending */
    char *items;        /* sort.cu: `padded` items for each line */
    int64_t padded;     /* the power of two from n on */
    int64_t count;      /* elements of a line that are written */
    int64_t run, apart; /* a step of the sort: see sort.cu */
} LineArgs;

#ifdef __CUDACC__
PRO_FN int64_t line_at(const LineArgs *A, int operand, int64_t i) {
    int64_t at = 0;
    for (int64_t d = A->rank - 1; d >= 0; d--) {
        const int64_t all = i / A->shape[d];
        at += (i - all * A->shape[d]) * A->stride[operand][d];
        i = all;
    }
    return at;
}

/* Keys: unsigned numbers in the order of the values; nan is above everything, -0 equals 0. */
PRO_FN uint64_t key_b1(uint8_t x) { return x; }
PRO_FN uint64_t key_u8(uint8_t x) { return x; }
PRO_FN uint64_t key_i8(int8_t x) { return (uint8_t)((uint8_t)x ^ 0x80); }
PRO_FN uint64_t key_i32(int32_t x) { return (uint32_t)x ^ UINT32_C(0x80000000); }
PRO_FN uint64_t key_i64(int64_t x) { return (uint64_t)x ^ UINT64_C(0x8000000000000000); }
PRO_FN uint64_t key_bits(uint64_t u, uint64_t sign, uint64_t infinity) {
    const uint64_t all = sign | (sign - 1);
    if ((u & (sign - 1)) > infinity) return all;
    if (u == sign) u = 0;
    return u & sign ? ~u & all : u | sign;
}
PRO_FN uint64_t key_f16(uint16_t x) { return key_bits(x, 0x8000, 0x7c00); }
PRO_FN uint64_t key_bf16(uint16_t x) { return key_bits(x, 0x8000, 0x7f80); }
PRO_FN uint64_t key_f32(float x) {
    return key_bits((uint32_t)__float_as_int(x), UINT64_C(0x80000000), UINT64_C(0x7f800000));
}
PRO_FN uint64_t key_f64(double x) {
    return key_bits((uint64_t)__double_as_longlong(x), UINT64_C(0x8000000000000000),
                    UINT64_C(0x7ff0000000000000));
}
#endif
#endif
