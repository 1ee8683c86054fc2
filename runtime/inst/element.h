/* element.h: reads and writes single elements of any dtype, for texts, files and host values.
 * Simple, not fast: engines have kernels of their own for this (worker/kernel/prologue_half.h),
 * and the reference engine, which uses this file, checks them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_ELEMENT_H
#define GT_RUNTIME_INST_ELEMENT_H
#include "runtime/inst/op.h"

/* d is F16 or BF16. Any nan becomes the positive quiet nan. From float: rounds to nearest, ties
 * to even; too large becomes inf. */
float half_to_float(DType d, uint16_t bits);
uint16_t half_from_float(DType d, float x);

/* p may be unaligned. element_float also reads integers, element_int no floats. */
double element_float(DType d, const void *p);
int64_t element_int(DType d, const void *p);
/* set_float: floats only; halves are rounded from float32, as in every cast to them. set_int:
 * wraps to the dtype; bool is x != 0; floats too. */
void element_set_float(DType d, void *p, double x);
void element_set_int(DType d, void *p, int64_t x);

/* The value range of an integer dtype; bool is 0 to 1. */
void dtype_range(DType d, int64_t *low, int64_t *high);
/* Ints: x is in range. Halves: a finite x does not become inf. Other floats: always true. */
bool dtype_holds_int(DType d, int64_t x);
bool dtype_holds_float(DType d, double x);
#endif
