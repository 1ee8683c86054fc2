/* dnnl_core.h: shared by the two files that call oneDNN (dnnl.c loads it, dnnl_conv.c
 * has the convolutions): the library's functions, found at run time, and the state behind the
 * handle of dnnl.h. No other file includes it. HAS_DNNL: the library's headers are installed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_DNNL_DNNL_CORE_H
#define GT_WORKER_DNNL_DNNL_CORE_H
#include "runtime/base/err.h"
#include "worker/dnnl/dnnl.h"

#if defined __has_include
#if __has_include(<oneapi/dnnl/dnnl.h>)
#define HAS_DNNL
#endif
#endif

#ifdef HAS_DNNL
#include <oneapi/dnnl/dnnl.h>

typedef struct DnnlApi {
#define DNNL(function) __typeof__(&function) function;
#include "worker/dnnl/dnnl_api.def"
    void (*omp_set_num_threads)(int);
} DnnlApi;

typedef struct DnnlThread {
    dnnl_stream_t stream;
    char pad[64 - sizeof(void *)];
} DnnlThread;

struct Dnnl {
    void *library;
    DnnlApi api;
    Pool *pool;
    int n_threads;
    bool may_split; /* the bits of a channel do not depend on how many are computed with it */
    dnnl_engine_t engine;
    DnnlThread *thread;
    struct DnnlConvolutions *convolutions; /* dnnl_conv.c; NULL: none yet  */
    uint64_t uses;                         /* uses of primitives so far: a clock for eviction */
};

/* A call of `d` in scope that cannot fail, because its arguments are valid. */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        dnnl_status_t status_ = d->api.call;                                                       \
        if (status_ != dnnl_success) panic("oneDNN: %s gave %d", #call, (int)status_);             \
    } while (0)

/* Returns the stream of the calling pool thread, and limits the library to one thread there. */
dnnl_stream_t dnnl_thread_stream(Dnnl *d, int thread);
void dnnl_convolutions_free(Dnnl *d);
#endif
#endif
