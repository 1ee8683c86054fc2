/* jit_cc.h: the C compiler that makes kernels at run time: which one it is, and one call of it.
 * A call runs at low priority in a process group of its own, and can be ended from another thread.
 * The source and what the compiler says are files in memory; what it makes is one on disk, and its
 * temporary files have a directory of their own in $TMPDIR, which goes with the call.
 *
 * A call is bounded: by the clock (GT_CC_SECONDS, 60), by its CPU time (a third of that, each of
 * its processes), by what it says (1 MiB), and no file that it writes is longer than 64 MiB. What
 * goes beyond is ended, with its process group.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_JIT_CC_H
#define GT_WORKER_JIT_JIT_CC_H
#include "runtime/base/arena.h"
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct Cc {
    char command[256]; /* the compiler and its first arguments */
    bool is_long;      /* which did not fit: then there is none */
    bool is_clang;     /* not GCC: cc_identify has seen */
    char isa[8];
    pthread_mutex_t lock; /* of both below */
    pid_t child;          /* 0: none */
    _Atomic bool has_ended;
    int64_t limit_ms, cpu_s; /* of one call */
    struct CcTrace *trace;   /* of this process's, see cc_abandon; or NULL */
} Cc;

/* command: words between blanks, quotes as in a shell; NULL: $GT_CC, else "cc". isa as in
 * JitConfig. */
void cc_init(Cc *c, const char *command, const char *isa);
void cc_fini(Cc *c);
/* What the compiler is, all that its kernels depend on beside their source: command, flags, and
 * which file of what age the program is that is called (not asked of it: that takes as long as many
 * kernels from disk). False: there is no such program; errno says why not. */
bool cc_identify(Cc *c, Bytes *out);
/* ASTRAY: it had to be ended, or flooded its output: another call will hardly be better. */
typedef enum CcResult { CC_MADE, CC_REFUSED, CC_ASTRAY } CcResult;
/* Makes the file `object`, a shared object, of a source. If it is not MADE, why says in a line what
 * happened. is_urgent: less far behind all else. cc_forget: the file has gone. */
CcResult cc_compile(Cc *c, const Bytes *source, const char *object, bool is_urgent, char *why,
                    size_t why_size);
void cc_forget(Cc *c);
void cc_end(Cc *c); /* ends the call that runs, and all later ones */
/* For a signal's handler, before the process ends by it: ends the compilers that run, and removes
 * the objects that are not in a cache yet. */
void cc_abandon(void);
#endif
