/* jit_cache.h: the directory of compiled kernels, see jit.h. The engine cuda keeps its kernels
 * there too. A Cache is used by one thread; other processes may change the directory at any time.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_JIT_CACHE_H
#define GT_WORKER_JIT_JIT_CACHE_H
#include "runtime/base/arena.h"
#include <limits.h>

enum { POLL_MS = 20 /* between looks at what another process does */ };

typedef struct Cache {
    char dir[PATH_MAX - 128];
    const char *suffix; /* of the names of its files: ".so" */
    uint64_t bytes_max;
    unsigned n_temporary; /* temporary names made so far */
} Cache;

/* dir NULL: $XDG_CACHE_HOME/gt, else $HOME/.cache/gt; without either cache_open fails. bytes_max 0:
 * 256 MiB. */
void cache_init(Cache *c, const char *dir, uint64_t bytes_max);
/* Makes the directory if it is missing. Returns false, and the reason in why, if it cannot be
 * written or if others can write it. */
bool cache_open(Cache *c, char *why, size_t why_size);
void cache_path(const Cache *c, const char *key, char path[PATH_MAX]);
/* Writes a file name that no other process or call uses. */
void cache_temporary(Cache *c, char path[PATH_MAX]);
/* Writes a file anew. Returns false, with errno set, if it cannot. */
bool cache_write(const char *path, const char *data, size_t n);
bool cache_seal(const char *path);   /* appends the checksum; false, with errno set, on failure */
bool cache_verify(const char *path); /* true if sealed and intact; marks it as used now */
/* As cache_verify; appends the data before the seal to out. */
bool cache_read(const char *path, Bytes *out);
/* Makes `path` another name of the file `from`, atomically, replacing what was there. */
bool cache_link(Cache *c, const char *from, const char *path);
/* Records (on) or forgets that a kernel of that name is worth compiling: an empty file beside the
 * kernels. _is_wanted: it is recorded. */
void cache_want(const Cache *c, const char *key, bool on);
bool cache_is_wanted(const Cache *c, const char *key);
/* While the directory exceeds bytes_max, removes the least recently used files, down to 3/4 of
 * it. */
void cache_trim(Cache *c);
/* Removes the temporary files of processes that are gone, or so old that they must be (their
 * process may be on another machine), and old records of wanted kernels. */
void cache_sweep(const Cache *c);
/* True if the directory is gone or its disk is full; why says which. */
bool cache_is_lost(const Cache *c, char *why, size_t why_size);
/* Takes the lock, which one process has at a time, until cache_unlock or the end of the process.
 * Returns -1 after timeout_ms, when *ends is set, or where files cannot be locked; the caller then
 * goes on without the lock. */
int cache_lock(const Cache *c, int64_t timeout_ms, const _Atomic bool *ends);
/* The same for one kernel: processes that make the same one wait for each other. */
int cache_lock_kernel(const Cache *c, const char *key, int64_t timeout_ms);
void cache_unlock(int lock);
/* If GT_SAVE_COMPILED_CODE=DIR is set: writes head to DIR/head_name, unless that is there, and text
 * to DIR/name. Returns false, with errno set and the file's name in path, if it cannot. */
bool cache_save_code(const char *head_name, const char *head, const char *name, const Bytes *text,
                     char path[PATH_MAX]);
#endif
