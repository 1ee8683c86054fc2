/* picture_fill.h: figures from the options and the values of an instruction.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_PICTURE_FILL_H
#define GT_LANG_TEXT_PICTURE_FILL_H
#include "lang/file/io.h"
#include "lang/picture/figure.h"

/* Starts a figure for OP_PLOT, OP_HIST or OP_IMAGE. Error: an option that the operation does not
 * have, or a value of the wrong kind. The caller calls figure_fini in either case. */
bool picture_options(Op op, const IoValue *options, Figure *f, Err *err);
/* Adds the values. keys: the operands' names, separated by newlines. Error: names or shapes that
 * make no picture. */
bool picture_fill(Figure *f, const char *keys, const Reply *r, Err *err);
#endif
