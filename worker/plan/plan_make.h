/* plan_make.h: makes a plan of a recording.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLAN_PLAN_MAKE_H
#define GT_WORKER_PLAN_PLAN_MAKE_H
#include "worker/plan/plan_state.h"

/* Records what is left, and makes a plan of it all; NULL if that is impossible. */
Plan *plan_make(Plans *plans, Recorder *r);
void plan_free(Plan **p);
/* Jit entries stay in their table as long as they are held. */
void plan_hold_entries(const Step *step, int n_steps, const Trial *trial, int n_trials, bool on);
#endif
