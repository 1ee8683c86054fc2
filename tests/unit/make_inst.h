/* make_inst.h: instructions in one expression:
 *     (Inst){.op = OP_ADD, OPERANDS(of_tensor(1), of_float(2)), RESULTS(3)}
 * The lists live until the end of the block, as compound literals do.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_MAKE_INST_H
#define GT_TESTS_UNIT_MAKE_INST_H
#include "runtime/inst/inst.h"
#include <string.h>

#define LENGTH_OF(type, ...) (sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define OPERANDS(...)                                                                              \
    .n_in = LENGTH_OF(Operand, __VA_ARGS__), .in = (Operand[]) { __VA_ARGS__ }
#define ATTRS(...)                                                                                 \
    .n_attr = LENGTH_OF(Attr, __VA_ARGS__), .attr = (Attr[]) { __VA_ARGS__ }
#define RESULTS(...) .n_out = LENGTH_OF(uint64_t, __VA_ARGS__), .out = {__VA_ARGS__}
#define BYTES(p, n)  .payload = (p), .payload_bytes = (n)

static inline Operand of_tensor(uint64_t id) { return (Operand){.kind = IN_TENSOR, .id = id}; }
static inline Operand of_float(double v) { return (Operand){.kind = IN_IMM_FLOAT, .f = v}; }
static inline Operand of_int(int64_t v) { return (Operand){.kind = IN_IMM_INT, .i = v}; }
/* v as a number of this dtype. */
static inline Operand of_dtype(DType d, double v) {
    return dtype_is_float(d) ? of_float(v) : of_int((int64_t)v);
}

static inline Attr attr_ints(AttrKey key, int n, const int64_t *ints) {
    return (Attr){.key = (uint8_t)key, .n = (uint32_t)n, .ints = ints};
}
static inline Attr attr_text(AttrKey key, const char *text) {
    return (Attr){.key = (uint8_t)key, .n = (uint32_t)strlen(text), .str = text};
}
static inline Attr attr_dtype(DType d) { return (Attr){.key = ATTR_DTYPE, .dtype = d}; }

/* The shape and dtype that sources take. */
#define SHAPED(rank, shape, d) ATTRS(attr_ints(ATTR_SHAPE, rank, shape), attr_dtype(d))
/* A tensor of equal elements. */
#define FULL(id, rank, shape, d, v)                                                                \
    (Inst) { .op = OP_FULL, OPERANDS(of_dtype(d, v)), SHAPED(rank, shape, d), RESULTS(id) }
#endif
