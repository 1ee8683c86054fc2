/* jit_cc.h: the C compiler that makes kernels at run time: finding it, and calling it. A call runs
 * at low priority in a process group of its own, and can be ended from another thread. The source
 * and the compiler's messages are files in memory. The object is a file on disk; the compiler's
 * temporary files are in a directory of their own in $TMPDIR, removed with the call.
 *
 * A call is limited: wall time (GT_CC_SECONDS, 60), CPU time (a third of that for each of its
 * processes), messages (1 MiB), and the size of each file (64 MiB). A call beyond a limit is
 * killed, with its process group.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_JIT_CC_H
#define GT_WORKER_JIT_JIT_CC_H
#include "runtime/base/arena.h"
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct Cc {
    char command[256]; /* the compiler and its first arguments */
    bool is_long;      /* `command` did not fit: there is no compiler */
    bool is_clang;     /* set by cc_identify */
    char isa[8];
    pthread_mutex_t lock; /* of the two below */
    pid_t child;          /* 0: none */
    _Atomic bool has_ended;
    int64_t limit_ms, cpu_s; /* limits of one call */
    struct CcTrace *trace;   /* for cc_abandon; borrowed, or NULL */
} Cc;

/* The flags that decide a kernel's bits, and with which every compiler gives the same ones. */
extern const char cc_flags_of_bits[];

/* command: words between blanks, quotes as in a shell; NULL: $GT_CC, else "cc". isa: see
 * JitConfig. */
void cc_init(Cc *c, const char *command, const char *isa);
void cc_fini(Cc *c);
/* Appends all that kernels depend on besides their source: the command, the flags, and the file and
 * age of the compiler. (Running `cc --version` would take as long as loading many kernels.) Returns
 * false, with errno set, if there is no such program. */
bool cc_identify(Cc *c, Bytes *out);
/* OVER_LIMIT: it was killed, or flooded its output; another call is unlikely to go better. */
typedef enum CcResult { CC_MADE, CC_REFUSED, CC_OVER_LIMIT } CcResult;
/* All flags of a call but those of the instruction set; after cc_identify. */
const char *cc_flags(const Cc *c);
/* Compiles a source to the shared object `object`. If the result is not MADE, why gives the reason
 * in one line. is_urgent: at a less low priority. cc_forget: `object` has been removed, and
 * cc_abandon need not. */
CcResult cc_compile(Cc *c, const Bytes *source, const char *object, bool is_urgent, char *why,
                    size_t why_size);
void cc_forget(Cc *c);
void cc_end(Cc *c); /* kills the running call, and fails all later ones */
/* For a signal handler, before the process dies: kills the running compilers, and removes the
 * objects that are not in a cache yet. */
void cc_abandon(void);
#endif
