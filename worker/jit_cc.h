/* jit_cc.h: the C compiler that makes kernels at run time: which one it is, and one call of it.
 * A call runs at low priority in a process group of its own, and can be ended from another thread.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_CC_H
#define GT_WORKER_JIT_CC_H
#include "runtime/arena.h"
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct Cc {
    char command[256]; /* the compiler and its first arguments */
    char isa[8];
    pthread_mutex_t lock; /* of both below */
    pid_t child;          /* 0: none */
    bool has_ended;
} Cc;

/* command: NULL: $GT_CC, else "cc"; isa as in JitConfig. */
void cc_init(Cc *c, const char *command, const char *isa);
void cc_fini(Cc *c);
/* What the compiler is, all that its kernels depend on beside their source: command, flags, and
 * which file of what age the program is that is called (not asked of it: that takes as long as many
 * kernels from disk). False: there is no such program. */
bool cc_identify(const Cc *c, Bytes *out);
/* Makes a shared object of a source file; what the compiler says goes to the file `said`. False:
 * it failed or was ended. */
bool cc_compile(Cc *c, const char *source, const char *object, const char *said);
void cc_end(Cc *c); /* ends the call that runs, and all later ones */
#endif
