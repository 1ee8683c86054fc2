/* jit_cache.h: the directory of compiled kernels, see jit.h. By one thread; other processes may do
 * anything to it meanwhile. SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_JIT_CACHE_H
#define GT_WORKER_JIT_JIT_CACHE_H
#include "runtime/base/arena.h"

enum { PATH_ROOM = 1024 };

typedef struct Cache {
    char dir[PATH_ROOM - 128];
    uint64_t bytes_max;
    unsigned n_temporary; /* names given */
} Cache;

/* dir NULL: $XDG_CACHE_HOME/gt, else $HOME/.cache/gt, else none. */
void cache_init(Cache *c, const char *dir, uint64_t bytes_max);
/* Makes the directory where it is missing. False: it cannot be written, or others could write it;
 * why says so. */
bool cache_open(Cache *c, char *why, size_t why_size);
void cache_path(const Cache *c, const char *key, char path[PATH_ROOM]);
/* A name of this process's that no other has. */
void cache_temporary(Cache *c, const char *suffix, char path[PATH_ROOM]);
/* Makes a directory and those above it where they are missing; errno says why not. */
bool cache_make_directories(const char *dir, unsigned mode);
bool cache_write(const char *path, const char *data, size_t n);
bool cache_seal(const char *path);   /* appends the checksum; false: it cannot be */
bool cache_verify(const char *path); /* sealed and whole; and it counts as used now */
/* `path` becomes another name of the file `from`, at once and whatever was there before. */
bool cache_link(Cache *c, const char *from, const char *path);
/* Remembers, or no longer, that a kernel of that name is worth a compiler: an empty file beside the
 * kernels. _is_wanted: somebody has. */
void cache_want(const Cache *c, const char *key, bool on);
bool cache_is_wanted(const Cache *c, const char *key);
/* Removes what was not used for longest while the directory is over bytes_max. */
void cache_trim(Cache *c);
/* Removes what processes have left that are gone, or seem to be (they may be another machine's),
 * and what was wanted long ago. */
void cache_sweep(const Cache *c);
/* The directory, or the place on its disk, is gone: why says which. */
bool cache_is_lost(const Cache *c, char *why, size_t why_size);
/* Of the processes that use the directory one at a time has the lock, until cache_unlock or its
 * end; after timeout_ms, when *ends, or where there are no locks, it is done without. */
int cache_lock(const Cache *c, int timeout_ms, const _Atomic bool *ends);
void cache_unlock(int lock);
#endif
