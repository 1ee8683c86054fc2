/* effect.h: instructions that reply with values.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_EFFECT_H
#define GT_WORKER_EXEC_EFFECT_H
#include "worker/exec/job.h"

void effect_run(Exec *x, Job *j); /* all jobs before j must be done */
#endif
