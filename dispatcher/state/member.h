/* member.h: introduces workers to one another.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_MEMBER_H
#define GT_DISPATCHER_STATE_MEMBER_H
#include "dispatcher/state/state.h"

uint64_t member_token(void); /* random, not 0 */
void member_add(Dispatcher *d, const WorkerPeer *w);
void member_remove(Dispatcher *d, const WorkerPeer *w); /* w may have left d->worker already */
#endif
