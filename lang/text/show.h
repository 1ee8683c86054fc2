/* show.h: tensors as text, by PyTorch's rules, from the values of a reply.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_SHOW_H
#define GT_LANG_TEXT_SHOW_H
#include "runtime/wire/wire.h"

typedef struct PrintOptions {
    int precision, edgeitems, threshold, linewidth; /* linewidth 0 in Interp.print: interp_width */
    int sci;           /* -1 auto, 0, 1 */
    DType float_dtype; /* printed without dtype= */
} PrintOptions;
extern const PrintOptions print_defaults; /* 4, 3, 1000, 80, -1, float32 */

/* Appends tensor([[1., 2.],\n        [3., 4.]]) with its dtype=, shape= and requires_grad=
 * suffixes. indent: columns before "tensor(". */
void show_tensor(const ReplyValue *v, const PrintOptions *p, bool requires_grad, int indent,
                 Bytes *out);
/* Appends one value by a format spec. "" is str: a 0-d tensor as the shortest decimal of its dtype,
 * others as show_tensor. */
bool show_value(const ReplyValue *v, const char *spec, size_t n, const PrintOptions *p, int indent,
                Bytes *out, Err *err);
/* The text of a PRINT, WRITE, ASSERT or NOTE instruction: each {} and {:spec} of `format` is
 * replaced by the next value of the reply, {{ and }} by braces. {!r} is the form that the prompt
 * echoes, tensor(3.14) for rank 0 too; {!rg} adds requires_grad=true; {!ri} and {!rgi} put
 * the further lines below the first, wherever it begins; {!t} shows bytes as text. Live programs
 * and replay share it. */
bool show_format(const char *format, size_t n, const Reply *r, const PrintOptions *p, Bytes *out,
                 Err *err);
/* Appends text to a format string with its braces doubled, so that it prints as itself. */
void show_escape(const char *s, size_t n, Bytes *format);
#endif
