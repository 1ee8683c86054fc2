/* plan_late.h: failures of plans that an ordered engine reports late. With other engines late_begin
 * and late_end have no effect.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLAN_PLAN_LATE_H
#define GT_WORKER_PLAN_PLAN_LATE_H
#include "worker/plan/plan_state.h"

void late_begin(Exec *x, Plan *p); /* the externals have been found */
/* s was executed, in a run of frame f whose first instruction has number seq. There is room for its
 * slots (doubt_reserve). */
void late_step(Exec *x, Frame *f, uint64_t seq, Plan *p, const Step *s);
void late_result(Exec *x, const Plan *p, const Kept *k); /* k has its storage */
void late_end(Plan *p);
#endif
