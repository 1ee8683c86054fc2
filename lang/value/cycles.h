/* cycles.h: the collector of cycles. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_VALUE_CYCLES_H
#define GT_LANG_VALUE_CYCLES_H
#include "lang/value/interp.h"

void cycles_collect(Interp *in); /* frees containers reachable only from cycles */
#endif
