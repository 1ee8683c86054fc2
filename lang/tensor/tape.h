/* tape.h: what was recorded for gradients, for people: as lines of text, or as a list of maps.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TENSOR_TAPE_H
#define GT_LANG_TENSOR_TAPE_H
#include "lang/tensor/grad.h"

/* "Autograd Tape (2 operations):" and a line per node: number, operation, inputs, shape, place,
 * backward signal. below NULL: all that live. */
void tape_print(Interp *in, Tensor *below, Bytes *out);
/* The same as a list, a map per node: output_id, output_shape, input_ids, grad_fn (the operation,
 * or "param"), requires_grad, line, signal. */
Value tape_list(Interp *in, Tensor *below);
#endif
