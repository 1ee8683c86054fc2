/* maker.h: the compiler of an engine whose kernels of fusions are not the C compiler's (jit.h).
 * Its calls are made by the thread that owns the engine, and take as long as it takes to compile.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_MAKER_H
#define GT_WORKER_ENGINE_MAKER_H
#include "runtime/base/arena.h"
#include "worker/engine/engine.h"

/* Bytes of a kernel's name in the cache: the hexadecimal digits of 128 bits of hash, and a 0. */
enum { MAKER_KEY = 2 * sizeof(uint64_t[2]) + 1 };

typedef struct MadeKernel {
    const struct FusedKernel *kernel; /* owned by the engine, until `drop` */
    char key[MAKER_KEY];
    const char *suffix;       /* ... and of its file there: ".cubin"; static */
    bool is_compiled;         /* else it was in the cache */
    int64_t begin_ns, end_ns; /* is_compiled: when, by CLOCK_MONOTONIC */
    uint64_t bytes;           /* its size */
} MadeKernel;

/* Kernels that the engine has made besides, for single operations. */
typedef struct MakerStats {
    uint64_t compiled, cached, failed;
    double compile_ms;
} MakerStats;

typedef struct Maker {
    /* True if a fusion of these nodes has a kernel. None of them need be stored yet. */
    bool (*fits)(const struct Fusion *f);
    /* True if its kernel is likely to take less time than its operations one by one. */
    bool (*pays)(const Engine *e, const struct Fusion *f);
    /* Appends the source of a struct Fusion, which depends on its signature alone. */
    void (*source)(void *fusion, Bytes *out);
    /* Compiles that source, or finds it compiled in the cache. Meanwhile it calls is_cancelled
     * (engine.h). False: err says why; with ERR_CANCELLED it may be asked for again. */
    bool (*make)(Engine *e, const struct Fusion *f, const Bytes *source, MadeKernel *out, Err *err);
    /* Frees a kernel. The engine has done all calls of it. */
    void (*drop)(Engine *e, const struct FusedKernel *k);
    void (*stats)(const Engine *e, MakerStats *out);
} Maker;
#endif
