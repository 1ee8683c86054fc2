/* element.h: single elements of any dtype, read and written one at a time: for texts, files and
 * host values. Plain arithmetic, nothing fast: engines have kernels of their own for what is here
 * (worker/kernel/prologue_half.h), and the reference engine, which uses this, checks them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_ELEMENT_H
#define GT_RUNTIME_INST_ELEMENT_H
#include "runtime/inst/op.h"

/* d is F16 or BF16. Any nan gives the quiet nan without sign. From float: to nearest, halves to
 * even; what is too large gives inf. */
float half_to_float(DType d, uint16_t bits);
uint16_t half_from_float(DType d, float x);

/* At p, aligned or not. element_float: whole numbers too. element_int: not of floats. */
double element_float(DType d, const void *p);
int64_t element_int(DType d, const void *p);
/* set_float: floats only; halves are rounded from float32, as every cast to them is. set_int: wraps
 * to the dtype; bool is x != 0; floats too. */
void element_set_float(DType d, void *p, double x);
void element_set_int(DType d, void *p, int64_t x);

/* The value range of a dtype of whole numbers; bool is 0 to 1. */
void dtype_range(DType d, int64_t *low, int64_t *high);
/* Ints: in range. Halves: a finite x does not become inf. Other floats hold everything. */
bool dtype_holds_int(DType d, int64_t x);
bool dtype_holds_float(DType d, double x);
#endif
