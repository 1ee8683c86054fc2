/* stats.h: statistics of a worker, and a tensor's layout and origin, as text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_STATS_H
#define GT_WORKER_EXEC_STATS_H
#include "worker/exec/job.h"

void exec_trim(Exec *x);                    /* returns free memory to the system */
void exec_stats(const Exec *x, Bytes *out); /* KEY=VALUE lines */

/* Writes KEY=VALUE lines about one tensor: shape= of the local part, layout=, group=; or absent=1;
 * or poisoned= and why. */
void exec_placement(const Exec *x, uint32_t client, uint64_t id, Bytes *out);

/* Begins to add up the client's times by source line (profile.h). */
void exec_on_profile(Exec *x, uint32_t client);
/* Writes them, as profile_print does; nothing if the client has no profile. */
void exec_profile(Exec *x, uint32_t client, Bytes *out);

/* Writes lines about what filled a tensor: filled= (alone, in_turn, fused or otherwise, see
 * store.h), op=; off=1 if fusion is off. For a kernel of several operations, ready or not: state=
 * (collect.h), key=, file= (in the cache), hits=, bytes=, compile_ms=, batch= (jit.h), and its
 * source, each line after "source="; why=: the reason there is no kernel. Or absent=1, or
 * poisoned=. */
void exec_kernel(const Exec *x, uint32_t client, uint64_t id, Bytes *out);
#endif
