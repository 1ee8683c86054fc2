/* knob.h: what the environment says of compilation, besides GT_FUSE (collect.h) and GT_CC (jit.h):
 * how much is gathered and what may be compiled. None of it changes a bit of any result.
 *
 * GT_COMPILE=0: nothing is compiled, every instruction is carried out by itself.
 * GT_AUTO_COMPILE=0: only what is in a scope that says `compile: true` (gt-signals); 1, the
 * default: whatever is worth it.
 * GT_WORKER_BATCH_SIZE=N: at most N instructions in one kernel; 1: each by itself.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KNOB_H
#define GT_WORKER_KNOB_H
#include <stdbool.h>

typedef struct Knobs {
    bool is_on, is_auto;
    int batch_max; /* 2 to FUSE_NODES */
} Knobs;

/* What cannot be read is said on standard error, and counts as not set. */
void knobs_read(Knobs *k);
#endif
