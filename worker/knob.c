/* knob.c: see knob.h. SPDX-License-Identifier: MIT */
#include "worker/knob.h"
#include "runtime/log.h"
#include "worker/fuse.h"
#include <errno.h>
#include <stdlib.h>

/* A whole number from `least` on, or `otherwise`. */
static long number(const char *name, long least, long otherwise) {
    const char *text = getenv(name);
    if (!text || !*text) return otherwise;
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (!*end && !errno && n >= least) return n;
    log_line("COMPILE", "%s=%.60s is not a whole number from %ld on, and is ignored", name, text,
             least);
    return otherwise;
}

void knobs_read(Knobs *k) {
    long n = number("GT_WORKER_BATCH_SIZE", 1, FUSE_NODES);
    k->is_auto = number("GT_AUTO_COMPILE", 0, 1) != 0;
    k->is_on = number("GT_COMPILE", 0, 1) != 0 && n > 1;
    k->batch_max = n < FUSE_NODES ? (int)n : FUSE_NODES;
}
