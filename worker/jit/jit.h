/* jit.h: kernels compiled at run time, in the background, by the system's C compiler.
 *
 * Who wants a kernel asks with its signature; the answer is the kernel, or NULL as long as there is
 * none, and then the work is done without. A thread takes what was asked for: from the disk cache
 * at once; else, when enough time has been lost without the kernel to be worth a compiler, and
 * where most was lost first, a few sources in one file through the compiler, which runs at low
 * priority. A kernel is used from when it is there. Nothing waits, and nothing is different but
 * speed. Without a compiler or a place for the cache there are no kernels: said once. So is what
 * goes wrong later: a kernel that the compiler refuses, a cache whose disk is full. A compiler that
 * hangs or floods its output (jit_cc.h says when) is ended and not called again. A cache that is
 * removed is made again.
 *
 * A program may be over before a kernel is made that would have been worth it. The cache remembers
 * that, and the next one has it made as soon as it asks for it, whatever it has lost by then.
 *
 * Workers of one process share the thread and the kernels; of the processes that share a cache one
 * compiles at a time, and the others look there before they do.
 *
 * The cache ($XDG_CACHE_HOME/gt, else ~/.cache/gt, mode 0700) holds one shared object per kernel,
 * named by a hash of source, compiler, flags and instruction set; kernels compiled together are
 * hard links to one file. Files are made under other names and renamed, end in a checksum, and are
 * only loaded if it is right: concurrent processes and damaged files do no harm. Beyond bytes_max
 * the files that were not used for longest go.
 *
 * GT_CC: the compiler and its first arguments ("cc"). GT_SAVE_COMPILED_CODE=DIR: the sources too.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_JIT_H
#define GT_WORKER_JIT_JIT_H
#include "runtime/base/arena.h"
#include "worker/jit/choice.h"
#include "worker/kernel/fused.h"

typedef struct Jit Jit;
enum { JIT_ENTRIES_MAX = 8192 /* of a worker */ };

/* NULL and 0: from the environment, as above. Strings are copied. */
typedef struct JitConfig {
    const char *isa; /* "base", "v3", "v4": of the kernels that it must agree with; required */
    const char *dir, *compiler;
    uint64_t bytes_max; /* 256 MiB */
    int batch_max;      /* kernels per compiler call; 16 */
    int sights;         /* a kernel is looked for when it is asked for the so many-th time; 1 */
    uint64_t worth_ns;  /* and compiled when so much time was lost without it (jit_lost) */
} JitConfig;

typedef struct JitStats {
    uint64_t hits, misses;     /* launches; times that a kernel was wanted in vain */
    uint64_t compiled, cached; /* kernels: by the compiler, from disk */
    uint64_t failed, pending;
    uint64_t compiler_calls;
    double compile_ms;
    bool is_off; /* no compiler, no cache */
} JitStats; /* compiled to pending, and compile_ms: of what this worker was the first to ask for */

Jit *jit_new(const JitConfig *config);
/* Ends a compiler that runs. Kernels go: nothing may run in one. */
void jit_free(Jit **j);

/* What a worker knows of one signature. */
typedef struct JitEntry JitEntry;

/* Appends the source of what ctx stands for: text as emit_cluster makes it, a function of the
 * signature alone. */
typedef void (*JitMake)(void *ctx, Bytes *out);
/* By one thread. hash: of the signature's n bytes, any. When there are JIT_ENTRIES_MAX, the one
 * goes that nobody holds and that was asked for longest ago, and its kernel with it; NULL: too many
 * are held. */
JitEntry *jit_entry(Jit *j, const void *signature, size_t n, uint64_t hash);
void jit_hold(JitEntry *e); /* for longer than until the next jit_entry */
void jit_let_go(JitEntry *e);
/* The kernel, which lives as long as e, or NULL. */
const FusedKernel *jit_kernel(JitEntry *e);
void jit_launched(Jit *j, JitEntry *e); /* it was, once: a hit */
/* It is not there, and wanted: a miss. make is called here, at most once for an entry. SIGHT_SOON:
 * at first sight, whatever config says of sights and worth, and before all others; SIGHT_CUT:
 * seldom the same again, a few of them count as one. */
typedef enum JitSight { SIGHT_WHOLE, SIGHT_CUT, SIGHT_SOON } JitSight;
void jit_want(Jit *j, JitEntry *e, uint64_t hash, JitMake make, void *ctx, JitSight sight);
void jit_lost(Jit *j, JitEntry *e, int64_t ns); /* so much a kernel might have saved */
Choice *jit_choice(JitEntry *e);
bool jit_is_off(const Jit *j);         /* there will be no kernels ... */
const char *jit_why_off(const Jit *j); /* ... for this reason; NULL: it is on */

/* These in one call, as if a kernel that is there were launched. make NULL: it is wanted only if it
 * is there. */
const FusedKernel *jit_get(Jit *j, const void *signature, size_t n, uint64_t hash, JitMake make,
                           void *ctx);
const FusedKernel *jit_get_soon(Jit *j, const void *signature, size_t n, uint64_t hash,
                                JitMake make, void *ctx);
/* The source again, of what was asked for: NULL if it never was. Borrowed. */
const char *jit_source(Jit *j, const void *signature, size_t n, uint64_t hash);

typedef enum JitState { JIT_SEEN, JIT_ASKED, JIT_COMPILED, JIT_CACHED, JIT_FAILED } JitState;
/* What is known of one kernel. Strings are borrowed until the next jit_entry. */
typedef struct JitAbout {
    JitState state;
    const char *key;    /* its name in the cache; NULL: it is not settled yet */
    const char *source; /* NULL: it was never asked for */
    const char *why;    /* it failed; else NULL */
    uint64_t hits;      /* how often it was launched */
    uint64_t bytes;     /* of the file that it is in */
    double compile_ms;  /* of the compiler's call that made it, ... */
    int batch;          /* ... and so many in all */
} JitAbout;
uint32_t jit_number(const JitEntry *e); /* from 1 on, in the order of first sights */
/* False: there is none of that number, or no longer. */
bool jit_about(Jit *j, uint32_t number, JitAbout *out);
int jit_pending(Jit *j);                   /* asked for, and neither there nor failed */
bool jit_wait(Jit *j, int64_t timeout_ms); /* until none is pending; for tests and benchmarks */
JitStats jit_stats(Jit *j);
#endif
