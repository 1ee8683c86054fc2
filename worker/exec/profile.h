/* profile.h: where a client's time goes, by source line: what `gtsh --profile` shows. A worker adds
 * up the calls, transfers and bytes of each line of a client that asked for it (MSG_STATS, "profile
 * on"); watch.h has the times. For other clients this costs a branch per instruction.
 *
 * A kernel of several operations shares its time among their lines, in proportion to the work of
 * each operation as exec_work estimates it: the bytes that it would read and write alone, and the
 * multiplications of a matmul.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_PROFILE_H
#define GT_WORKER_EXEC_PROFILE_H
#include "worker/exec/job.h"

enum { PROFILE_LINES = 4096 }; /* of a client; further ones are added up as line 0 */

/* One part of a kernel's time. */
typedef struct ProfileShare {
    uint32_t row;   /* of the line: profile_row */
    float part;     /* of the time, 0 to 1 */
    uint64_t bytes; /* of its results that are stored */
} ProfileShare;

Profile *profile_new(void);
void profile_free(Profile **p); /* NULL-safe */
/* Returns the row of a line, the same one each time. Row 0: of no line, or of too many. */
uint32_t profile_row(Profile *p, SrcPos pos);
/* Adds the time (in ticks, watch.h) and the bytes of results of one call. */
void profile_add(Profile *p, uint32_t row, uint64_t ticks, uint64_t bytes);
/* The same of a transfer, and the bytes that it fetched. */
void profile_add_move(Profile *p, uint32_t row, uint64_t ticks, uint64_t moved);
/* The shares of n jobs in one kernel; is_stored[i]: the kernel stores job i's result. share: n */
void profile_shares(Profile *p, Job *const *job, const bool *is_stored, int n, ProfileShare *share);
void profile_add_shares(Profile *p, const ProfileShare *share, int n, uint64_t ticks);
/* Appends "profile.FILE.LINE=NS MOVE_NS BYTES MOVED\n" for each line; file: its number. */
void profile_print(const Profile *p, double ns_per_tick, Bytes *out);
#endif
