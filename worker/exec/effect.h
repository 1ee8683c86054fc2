/* effect.h: instructions that reply with values.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_EFFECT_H
#define GT_WORKER_EXEC_EFFECT_H
#include "worker/exec/job.h"

void effect_run(Exec *x, Job *j); /* all jobs before j must be done */
/* With an ordered engine, in two steps. effect_take needs j's operands, and all jobs before j must
 * have been submitted; effect_send replies when a later mark is done. effect_drop ends an effect
 * after that without a reply. */
void effect_take(Exec *x, Job *j);
void effect_send(Exec *x, Job *j);
void effect_drop(Job *j);
#endif
