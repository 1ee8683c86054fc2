/* step_state.h: shared by the files of lang/step. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_STATE_H
#define GT_LANG_STEP_STEP_STATE_H
#include "lang/step/step.h"

/* A character of an input's name. */
bool step_name_char(char c);
/* The first $ of a line that stands for a number, or NULL. */
const char *step_find_number(const char *s, size_t n);
/* The length of a line before its types, its position and its comment. */
size_t step_plain(const char *s, size_t n);
/* Writes the line's text with the numbers of a round to *out. err names the column. */
bool step_expand(const Step *s, const StepLine *line, uint64_t round, Bytes *out, Err *err);
/* Checks that each id is defined once, before its use and not after its free, in the first round
 * and in the second. */
bool step_check_ids(const Step *s, LangError *e);
#endif
