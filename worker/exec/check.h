/* check.h: `check nan=true`: finds the instruction that made the first non-finite values.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_CHECK_H
#define GT_WORKER_EXEC_CHECK_H
#include "worker/exec/job.h"

/* Returns false, with position and count in err, if j, which must be done, made non-finite values
 * that its operands do not explain (check.c). */
bool check_call(Exec *x, const Job *j, Err *err);
bool check_data(Exec *x, const Job *j, Err *err); /* likewise, for `data` */
#endif
