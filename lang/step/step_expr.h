/* step_expr.h: the numbers in the lines of a step: $lr, $round*2+5. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_EXPR_H
#define GT_LANG_STEP_STEP_EXPR_H
#include "lang/step/step.h"

/* A character of an input's name. */
bool step_name_char(char c);
/* The first $ of a line that stands for a number, or NULL. */
const char *step_find_number(const char *s, size_t n);
/* Writes the line's text with the numbers of a round to *out. err names the column. */
bool step_expand(const Step *s, const StepLine *line, uint64_t round, Bytes *out, Err *err);
#endif
