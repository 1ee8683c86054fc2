/* check.h: `check nan=true`: the first values that are not finite.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_CHECK_H
#define GT_WORKER_EXEC_CHECK_H
#include "worker/exec/job.h"

/* Returns false, and in err where and why, if j's results are the first values that are not
 * finite. */
bool check_call(Exec *x, const Job *j, Err *err); /* it is done */
bool check_data(Exec *x, const Job *j, Err *err);
#endif
