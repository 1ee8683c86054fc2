/* inst_print.h: parts of instruction text. SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_INST_PRINT_H
#define GT_RUNTIME_INST_INST_PRINT_H
#include "runtime/inst/inst_text.h"

/* "text", as the parser reads it back. */
void inst_quote(Bytes *b, const char *s, size_t n);
void inst_put_u64(Bytes *b, uint64_t v); /* in decimal; faster than bytes_printf */
/* A float operand: the shortest decimal that reads back as v, with a point or an exponent; nan and
 * inf as words, an unusual nan with its bits: nan.7ff0000000000001. */
void inst_put_float(Bytes *b, double v);
/* " @train.gt:6" */
void inst_put_position(Bytes *b, const char *file, SrcPos pos, bool column);
#endif
