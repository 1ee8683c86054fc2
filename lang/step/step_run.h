/* step_run.h: the items of a run, and which of them are kept. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_RUN_H
#define GT_LANG_STEP_STEP_RUN_H
#include "lang/step/step_cut.h"

/* ---- step_run.c ---- */
/* Reads the run's text into items. */
bool cut_read(Cut *c);
void cut_fini(Cut *c);
/* Chooses what is kept: what parameters and saves need, and effects of wanted classes. */
void cut_keep(Cut *c);
/* "train.gt:12", in the arena; "line 3 of the instructions" without a position. */
const char *cut_where(Cut *c, const Item *t);
/* The item that makes id, or NULL; *out: which of its results. */
const Item *cut_def(const Cut *c, uint64_t id);
#endif
