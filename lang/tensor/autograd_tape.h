/* autograd_tape.h: shows the ops recorded for gradients, as text or as a list of maps.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_AUTOGRAD_TAPE_H
#define GT_LANG_TENSOR_AUTOGRAD_TAPE_H
#include "lang/tensor/autograd.h"

/* Appends "Autograd Tape (2 operations, 1 parameter):" and a line per node: number, operation,
 * inputs, shape, position, backward signal. below NULL: all live nodes. */
void autograd_tape_print(Interp *in, Tensor *below, Bytes *out);
/* A list of a map per node: output_id, output_shape, input_ids, grad_fn (the operation, or
 * "param"), requires_grad, line, signal. */
Value autograd_tape_list(Interp *in, Tensor *below);
#endif
