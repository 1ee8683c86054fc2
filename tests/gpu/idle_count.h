/* idle_count.h: counts a call of the driver that does nothing (idle.h).
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_IDLE_COUNT_H
#define GT_TESTS_GPU_IDLE_COUNT_H
void idle_call(void);
#endif
