/* step_ids.h: the ids of a step. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_IDS_H
#define GT_LANG_STEP_STEP_IDS_H
#include "lang/step/step.h"

/* Checks that each id is defined once, before its use and not after its free, in the first round
 * and in the second. */
bool step_check_ids(const Step *s, LangError *e);
#endif
