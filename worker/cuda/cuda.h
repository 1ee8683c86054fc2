/* cuda.h: the engine `cuda`, inside. A device, a stream, an arena: calls take effect in the
 * order of submission, so memory that is freed can be handed out again at once.
 *
 * The device's memory is one allocation. mem.c manages a sparse reservation of the host of the same
 * size, of which only the heads of blocks are ever touched; a device address is that address, moved
 * to the device's base. Pointers in views are device addresses.
 *
 * Requests (calls, copies) have even tickets, marks odd ones. A mark is an event behind all
 * requests before it.
 *
 * A call becomes kernels (kernel.c) of a fusion with one node (op.c), or of CUDA C written by hand.
 * A failure of the device ends up in `lost`: later calls do nothing and report it. But what the
 * driver refuses to begin, because the device has no memory for it beside the arena (a kernel's
 * stack, a graph), fails its call only: cuda_ask. What no call can report (copies to and from the
 * host, marks) is asked for again once the device is idle: ASK_TWICE.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_CUDA_H
#define GT_WORKER_CUDA_CUDA_H
#include "runtime/base/map.h"
#include "worker/cuda/index_record.h"
#include "worker/cuda/libs.h"
#include "worker/emit/emit_cuda.h"
#include "worker/engine/host.h"
#include "worker/engine/maker.h"
#include "worker/jit/jit_cache.h"

enum {
    RING_BYTES = 8 << 20,  /* pinned memory, through which copies to and from the host go */
    BLAS_BYTES = 32 << 20, /* cuBLASLt's workspace, if that is used */
    SIDE_BYTES = 1 << 20,  /* device memory beside the arena, for copies of strided views */
    FAIL_SLOTS = 128,
    FAIL_RECORDS = FAIL_SLOTS * (int)sizeof(IndexRecord), /* fail.c */
    READS_MAX = 256,
    MARKS = 64
};

/* A copy to the host that is under way. */
typedef struct Read {
    char *host;
    const char *pinned;
    uint64_t bytes;
    Ticket request;
} Read;
typedef struct Mark {
    Ticket ticket;
    CUevent event;
} Mark;

typedef struct Failures Failures;
typedef struct CudaBlas CudaBlas;
typedef struct ProductArgs ProductArgs;
typedef struct CudaArena CudaArena;
typedef struct Capture Capture;
typedef struct Helper Helper;
typedef struct Cuda {
    HostEngine host; /* memory: the reservation; tickets of calls that failed */
    const CudaLibs *libs;
    CUdevice device;
    int n_devices;
    bool has_share; /* cuda_share counts it */
    CUcontext context;
    CUstream stream;
    CUdeviceptr base;
    char *shadow; /* the reservation */
    uint64_t total;
    CudaArena *arena, *reached[MAX_WORKERS]; /* its own, and those of others that it may read */
    int n_reached;
    int capability, arch; /* 10 * major + minor: the device's, and what kernels are compiled for */
    int processors;       /* SMs */
    bool is_ptx;          /* the driver assembles: NVRTC does not know the device */
    char isa[64], name[96];
    char *side, *scratch; /* behind the arena */
    Capture *capture;     /* graph.c: what is being recorded; NULL: calls are executed */
    char *ring;
    uint64_t ring_at;
    Read read[READS_MAX]; /* in order */
    int n_reads;
    Ticket requests;   /* so far; tickets of requests are even, marks are odd */
    Mark mark[MARKS];  /* a ring; by ticket / 2, so that a mark is found */
    Ticket passed;     /* the newest mark known to be done */
    Ticket refused;    /* of a call that failed when it was submitted; 0: none */
    Err why;           /* ... and its reason */
    Err no_room;       /* why the driver did not begin a part of the newest request */
    bool has_launched; /* a kernel of that request */
    Map kernels;       /* of single operations, by the hash of a signature or a name, chained */
    Cache cache;       /* on disk: image.c */
    bool has_cache, has_logged_save;
    uint64_t environment[2]; /* what images depend on besides their source */
    MakerStats made;         /* of `kernels` */
    Err lost;                /* code 0: it works */
    Failures *failures;
    CudaBlas *blas;  /* NULL: no product has asked for it */
    int blas_forced; /* blas.c: what GT_CUDA_BLAS says */
    bool has_blas_failed;
    bool (*is_cancelled)(void *ctx); /* engine.h, set_cancel; NULL: the worker does not poll */
    void *cancel_ctx;
    Helper *left;  /* aside.c: work that a cancel has left and that still runs */
    Engine *inner; /* hosted.c: the engine cpu; NULL: not needed yet */
    int threads;   /* ... and its threads */
} Cuda;

/* Makes the device current in this thread, for a new request. False: it is lost. */
bool cuda_enter(Cuda *c);
/* Records that a call of the driver failed, if it is the first. Returns code == CUDA_SUCCESS. */
bool cuda_try(Cuda *c, CUresult code, const char *call);
#define CALL(c, call, ...) cuda_try(c, (c)->libs->call(__VA_ARGS__), #call)
/* The same for a call that asks for work on the stream; if the driver has no room for it, only
 * no_room is set. */
bool cuda_ask(Cuda *c, CUresult code, const char *call);
#define ASK(c, call, ...) cuda_ask(c, (c)->libs->call(__VA_ARGS__), #call)
/* True if the driver had no room, and the device has now done what was under way. Else as cuda_try,
 * which code is for. */
bool cuda_must_ask_again(Cuda *c, CUresult code, const char *call);
/* As CALL, outside captures. A second call is made if the first finds no room. */
#define ASK_TWICE(c, call, ...)                                                                    \
    (cuda_must_ask_again(c, (c)->libs->call(__VA_ARGS__), #call) ? CALL(c, call, __VA_ARGS__)      \
                                                                 : !(c)->lost.code)
#endif
