/* jit.h: kernels compiled at run time, in the background, by the system's C compiler.
 *
 * What it is worth: a chain of GELU takes 0.54 ns an element compiled, and 5.0 in PyTorch eager.
 * The disk cache saves about 80 ms of a compiler's CPU time for each kernel of a later program.
 *
 * A caller requests a kernel by its signature. It gets the kernel, or NULL while there is none, and
 * then does the work without it. A kernel that came with the program (jit_shipped.h) is there at
 * once. A thread serves the other requests. It first looks in the disk cache. A kernel that is not
 * there is compiled once enough time was lost without it to pay for a compiler call. The thread
 * takes those that lost most time first, a few sources in one file, and the compiler runs at low
 * priority. A kernel is used as soon as it is ready. No caller waits, and only the speed changes.
 *
 * Without a compiler or a writable cache there are no kernels but those that came with the program;
 * this is logged once. Later failures are logged once too: a kernel that the compiler refuses, a
 * cache whose disk is full. A compiler that hangs or floods its output (limits: jit_cc.h) is killed
 * and not called again. A cache that is removed is made again.
 *
 * A program may end before a kernel is compiled that would have paid off. The cache records that,
 * and the next program compiles the kernel at its first request, however little time was lost.
 *
 * Workers of one process share the thread and the kernels. Of the processes that share a cache one
 * compiles at a time; the others look in the cache again before they compile.
 *
 * The cache ($XDG_CACHE_HOME/gt, else ~/.cache/gt, mode 0700) holds one shared object per kernel,
 * named by a hash of source, compiler, flags and instruction set. Kernels compiled together are
 * hard links to one file. Files are written under temporary names and renamed, end in a checksum,
 * and are loaded only if it matches, so that concurrent processes and damaged files do no harm.
 * When the cache exceeds bytes_max, the least recently used files are removed.
 *
 * An engine may have a compiler of its own (worker/engine/maker.h), as the engine cuda does. Its
 * kernels are then compiled by the caller's thread, in jit_want, which returns when there is a
 * kernel or has failed; they share only the disk cache with other workers. What is said here about
 * threads, GT_CC and kernels that came with the program does not apply to them.
 *
 * GT_CC: the compiler and its first arguments ("cc"). GT_SAVE_COMPILED_CODE=DIR: also saves the
 * sources; no kernel that came with the program is used then.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_JIT_H
#define GT_WORKER_JIT_JIT_H
#include "runtime/base/arena.h"
#include "worker/engine/maker.h"
#include "worker/jit/choice.h"
#include "worker/kernel/fused.h"

typedef struct Jit Jit;
enum { JIT_ENTRIES_MAX = 8192 /* per worker */ };

/* If dir or compiler is NULL, the environment gives it. A number that is 0 takes the default in its
 * comment. Strings are copied. */
typedef struct JitConfig {
    const char *isa; /* "base", "v3" or "v4": that of the built-in kernels; required */
    const char *dir, *compiler;
    uint64_t bytes_max;  /* default 256 MiB */
    int min_requests;    /* requests before a kernel is looked for; default 1 */
    uint64_t worth_ns;   /* time lost (jit_lost) before it is compiled; default 0: at once */
    const char *shipped; /* the file of jit_shipped.h; NULL: none */
    bool is_list;        /* finds and compiles nothing; saves sources (GT_SAVE_COMPILED_CODE) */
    Engine *engine;      /* if it has a maker, that makes the kernels; it outlives the Jit */
} JitConfig;

/* compiled to pending, and compile_ms, cover only kernels that this Jit was the first to
 * request. */
typedef struct JitStats {
    uint64_t hits, misses;     /* launches; requests without a kernel */
    uint64_t compiled, cached; /* kernels from the compiler, from the disk cache ... */
    uint64_t shipped;          /* ... and of those that came with the program */
    uint64_t failed, pending;
    uint64_t compiler_calls;
    double compile_ms;
    bool is_off; /* no compiler or no cache */
} JitStats;

Jit *jit_new(const JitConfig *config);
/* Ends a running compiler and frees the kernels: none of them may be running. Sets *j to NULL. */
void jit_free(Jit **j);

/* What a worker knows of one signature. Owned by the Jit. */
typedef struct JitEntry JitEntry;

/* Appends the source for ctx, as emit_fusion makes it. It must depend on the signature alone. For
 * an engine with a maker, ctx is the fusion. */
typedef void (*JitMake)(void *ctx, Bytes *out);
/* Returns the entry of a signature of n bytes; hash is any hash of them. Beyond JIT_ENTRIES_MAX it
 * evicts the least recently used entry without holders, and its kernel. Returns NULL if too many
 * are held. To be called by one thread only, as are all functions on a Jit. */
JitEntry *jit_entry(Jit *j, const void *signature, size_t n, uint64_t hash);
/* Called before an entry is evicted, whose kernel may still be needed (NULL: none is). */
void jit_on_evict(Jit *j, void (*call)(void *ctx), void *ctx);
void jit_hold(JitEntry *e); /* keeps e beyond the next jit_entry, until jit_let_go */
void jit_let_go(JitEntry *e);
/* Returns the kernel, valid as long as e, or NULL. */
const FusedKernel *jit_kernel(JitEntry *e);
void jit_launched(Jit *j, JitEntry *e); /* counts a hit */
/* Requests the kernel of e, which is not ready: counts a miss. Calls make at most once per entry,
 * before it returns. is_soon: ignores min_requests and worth_ns, and the kernel is compiled before
 * those that only lost time. */
void jit_want(Jit *j, JitEntry *e, uint64_t hash, JitMake make, void *ctx, bool is_soon);
void jit_lost(Jit *j, JitEntry *e, int64_t ns); /* adds the time that a kernel might have saved */
bool jit_is_requested(const JitEntry *e);       /* its kernel was looked for, or is going to be */
Choice *jit_choice(JitEntry *e);
bool jit_is_off(const Jit *j);         /* true: there will be no kernels */
const char *jit_why_off(const Jit *j); /* the reason; NULL: it is on */

/* jit_entry, jit_kernel, jit_launched and jit_want in one call. make NULL: requests nothing. */
const FusedKernel *jit_get(Jit *j, const void *signature, size_t n, uint64_t hash, JitMake make,
                           void *ctx);
/* Returns the source of a kernel; NULL if it was never requested. Borrowed. */
const char *jit_source(Jit *j, const void *signature, size_t n, uint64_t hash);

typedef enum JitState {
    JIT_SEEN,
    JIT_ASKED,
    JIT_COMPILED,
    JIT_CACHED,
    JIT_SHIPPED,
    JIT_FAILED
} JitState;
/* What is known of one kernel. Strings are borrowed until the next jit_entry. */
typedef struct JitAbout {
    JitState state;
    const char *key;    /* its name in the cache; NULL: not known yet ... */
    const char *suffix; /* ... and that of its file: ".so" */
    const char *source; /* NULL: it was never requested */
    const char *why;    /* why it failed; NULL: it did not */
    uint64_t hits;      /* launches */
    uint64_t bytes;     /* size of its file */
    double compile_ms;  /* of the compiler call that made it ... */
    int batch;          /* ... and the kernels in that call */
} JitAbout;
uint32_t jit_number(const JitEntry *e); /* from 1, in the order of jit_entry's first calls */
/* Returns false if no entry has that number, or no longer. */
bool jit_about(Jit *j, uint32_t number, JitAbout *out);
int jit_pending(Jit *j); /* requested, neither ready nor failed */
/* Waits until no kernel is pending, and returns true. Returns false after timeout_ms; a negative
 * timeout_ms sets no limit. */
bool jit_wait(Jit *j, int64_t timeout_ms);
JitStats jit_stats(Jit *j);
/* A call of the compiler that made kernels: its times of CLOCK_MONOTONIC, the number of kernels,
 * and the first 64 bits of the first one's key. */
typedef struct JitCall {
    int64_t begin_ns, end_ns;
    uint32_t n;
    uint64_t key;
} JitCall;
enum { JIT_CALLS = 32 };
/* Sets *out to the oldest of the last JIT_CALLS compiler calls that was not returned yet. Jits that
 * share the thread share these calls. Returns false if there is none. */
bool jit_call(Jit *j, JitCall *out);
#endif
