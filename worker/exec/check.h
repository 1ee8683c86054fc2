/* check.h: `check nan=true`: the first values that are not finite.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_CHECK_H
#define GT_WORKER_EXEC_CHECK_H
#include "worker/exec/job.h"

/* False: the values that are not finite begin here; err says where and why. */
bool check_call(Exec *x, const Job *j, Err *err); /* it is done */
bool check_data(Exec *x, const Job *j, Err *err);
#endif
