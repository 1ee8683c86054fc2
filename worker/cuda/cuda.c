/* cuda.c: the engine `cuda`: device, memory, copies. See cuda.h.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/aside.h"
#include "worker/cuda/blas.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/device.h"
#include "worker/cuda/fail.h"
#include "worker/cuda/graph.h"
#include "worker/cuda/identify.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/peer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool cuda_try(Cuda *c, CUresult code, const char *call) {
    Err err = {0};
    if (cuda_ok(c->libs, code, call, &err)) return true;
    if (c->capture)
        cuda_capture_fail(c);
    else if (!c->lost.code)
        c->lost = err;
    return false;
}

/* Errors of calls that begin nothing. All others may be the device's, of work before them. */
static bool is_no_room(CUresult code) {
    return code == CUDA_ERROR_OUT_OF_MEMORY || code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

bool cuda_ask(Cuda *c, CUresult code, const char *call) {
    if (!is_no_room(code) || c->capture) return cuda_try(c, code, call);
    return cuda_ok(c->libs, code, call, &c->no_room);
}

bool cuda_must_ask_again(Cuda *c, CUresult code, const char *call) {
    if (is_no_room(code)) return CALL(c, cuStreamSynchronize, c->stream);
    cuda_try(c, code, call);
    return false;
}

bool cuda_enter(Cuda *c) {
    c->no_room.code = ERR_NONE;
    c->has_launched = false;
    return !c->lost.code && CALL(c, cuCtxSetCurrent, c->context);
}

/* ---- Opening ---- */

uint64_t cuda_beside(void) {
    uint64_t blas = cuda_wants_blas() ? BLAS_BYTES : 0;
    return ENGINE_SCRATCH + SIDE_BYTES + FAIL_RECORDS + blas;
}

static bool open_memory(Cuda *c, const EngineConfig *config, Err *err) {
    const CudaLibs *l = c->libs;
    EngineConfig own = *config;
    void *shadow;
    int fd;
    if (!own.memory_bytes && !cuda_share(c, config, &own.memory_bytes, err)) return false;
    if (!host_open(&c->host, &engine_cuda, &own, err)) return false;
    mem_range(c->host.mem, &shadow, &c->total, &fd);
    c->shadow = shadow;
    madvise(shadow, c->total, MADV_NOHUGEPAGE); /* only heads of blocks are touched */
    if (!CUDA(l, err, cuMemHostAlloc, (void **)&c->ring, RING_BYTES, 0)) return false;
    for (int k = 0; k < MARKS; k++)
        if (!CUDA(l, err, cuEventCreate, &c->mark[k].event, CU_EVENT_DISABLE_TIMING)) return false;
    if (CUDA(l, err, cuMemAlloc_v2, &c->base, c->total + cuda_beside())) {
        cuda_lend(c);
        c->scratch = (char *)c->base + c->total;
        c->side = c->scratch + ENGINE_SCRATCH;
        char *records = c->side + SIDE_BYTES;
        if (!cuda_open_failures(c, records)) return *err = c->lost, false;
        return cuda_open_blas(c, records + FAIL_RECORDS, err);
    }
    size_t left = 0, all = 0;
    if (err && err->code == ERR_MEMORY && !l->cuMemGetInfo_v2(&left, &all)) {
        char wanted[24], free_text[24];
        err_set(err, ERR_MEMORY, "%s has too little free memory: %s are needed, %s are free",
                c->name, bytes_text(c->total + cuda_beside(), wanted), bytes_text(left, free_text));
        err_hint(err, "--memory says how much a worker takes; default: its share of 80 %% of that");
    }
    return false;
}

static void cuda_close(Engine **e) {
    if (!*e) return;
    Cuda *c = (Cuda *)*e;
    const CudaLibs *l = c->libs;
    if (c->context) {
        l->cuCtxSetCurrent(c->context);
        if (c->stream) l->cuStreamSynchronize(c->stream);
        cuda_end_aside(c);
        cuda_close_blas(c);
        cuda_free_kernels(c);
        cuda_close_failures(c);
        for (int k = 0; k < MARKS; k++)
            if (c->mark[k].event) l->cuEventDestroy_v2(c->mark[k].event);
        if (c->ring) l->cuMemFreeHost(c->ring);
        cuda_close_arenas(c);
    }
    cuda_close_device(c);
    if (c->inner) c->inner->ops->close(&c->inner);
    host_close(&c->host);
    free(c);
    *e = NULL;
}

static Engine *cuda_open(const EngineConfig *config, Err *err) {
    const CudaLibs *libs = cuda_libs(err);
    if (!libs) return NULL;
    Cuda *c = xcalloc(1, sizeof *c);
    c->libs = libs;
    c->threads = config->threads;
    Engine *e = &c->host.engine;
    if (!cuda_open_device(c, config, err) || !open_memory(c, config, err)) cuda_close(&e);
    return e;
}

/* ---- Memory ---- */

static void *cuda_alloc(Engine *e, uint64_t bytes) {
    Cuda *c = (Cuda *)e;
    if (c->capture) return cuda_capture_alloc(c, bytes);
    char *p = host_alloc(e, bytes);
    return p ? (char *)c->base + (p - c->shadow) : NULL;
}
static void cuda_free(Engine *e, void *p, uint64_t bytes) {
    Cuda *c = (Cuda *)e;
    if (c->capture) {
        cuda_capture_free(c, p, bytes);
        return;
    }
    if (bytes) mem_release(c->host.mem, c->shadow + ((char *)p - (char *)c->base), bytes);
}
static void cuda_arena(const Engine *e, void **base, uint64_t *bytes, int *fd) {
    const Cuda *c = (const Cuda *)e;
    *base = (void *)c->base, *bytes = c->total, *fd = -1;
}
static void *cuda_scratch(const Engine *e) { return ((const Cuda *)e)->scratch; }
static const char *cuda_isa(const Engine *e) { return ((const Cuda *)e)->isa; }

/* ---- Calls and marks ---- */

static Ticket cuda_submit(Engine *e, const Call *call, const Ticket *after, int n_after) {
    Cuda *c = (Cuda *)e;
    Err err = {0};
    e->last = c->requests += 2;
    if (cuda_enter(c) && cuda_run(c, call, &err)) return e->last;
    c->refused = e->last;
    c->why = err.code ? err : c->lost.code ? c->lost : c->no_room;
    return e->last;
}

static Ticket cuda_mark(Engine *e) {
    Cuda *c = (Cuda *)e;
    Ticket t = c->requests + 1;
    Mark *m = &c->mark[t / 2 % MARKS];
    if (m->ticket == t || !cuda_enter(c)) return t;
    m->ticket = t;
    cuda_mark_failures(c, (int)(t / 2 % MARKS));
    ASK_TWICE(c, cuEventRecord, m->event, c->stream);
    return t;
}

/* True if the mark is done. A later one that took its place lies behind it. */
static bool has_passed(Cuda *c, Ticket t, bool wait) {
    enum { STEP_US = 20, STEPS = 50 };
    for (int i = 0; !c->lost.code; i++) {
        CUresult code = c->libs->cuEventQuery(c->mark[t / 2 % MARKS].event);
        if (code == CUDA_SUCCESS) return true;
        if (code != CUDA_ERROR_NOT_READY) {
            cuda_try(c, code, "cuEventQuery");
            break;
        }
        if (!wait || i == STEPS) return false;
        usleep(STEP_US);
    }
    return true; /* a lost device is done */
}

static bool cuda_lost(const Engine *e, Err *err) {
    const Cuda *c = (const Cuda *)e;
    if (c->lost.code && err) *err = c->lost;
    return c->lost.code != 0;
}

static int cuda_done(Engine *e, Ticket t, bool wait, Err *err) {
    Cuda *c = (Cuda *)e;
    if (t % 2 == 0) {
        if (t == 0 || t != c->refused) return 1;
        c->refused = 0;
        if (err) *err = c->why;
        return -1;
    }
    if (t > c->passed) {
        if (cuda_enter(c) && !has_passed(c, t, wait)) return 0;
        c->passed = t;
        if (c->lost.code) return 1;
        cuda_passed(c, t);
        cuda_pass_failures(c, t);
    }
    return 1;
}

/* No `cancel`: calls that are submitted are not undone. */
static void cuda_set_cancel(Engine *e, bool (*is_cancelled)(void *ctx), void *ctx) {
    Cuda *c = (Cuda *)e;
    c->is_cancelled = is_cancelled, c->cancel_ctx = ctx;
    if (c->inner) c->inner->ops->set_cancel(c->inner, is_cancelled, ctx);
}

const EngineOps engine_cuda = {
    .name = "cuda",
    .is_ordered = true,
    .is_device = true,
    .open = cuda_open,
    .close = cuda_close,
    .identify = cuda_identify,
    .isa = cuda_isa,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .memory = host_memory,
    .has_room = host_has_room,
    .trim = host_trim,
    .arena = cuda_arena,
    .scratch = cuda_scratch,
    .submit = cuda_submit,
    .done = cuda_done,
    .mark = cuda_mark,
    .failed = cuda_failed,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .copy = cuda_copy_views,
    .read = cuda_read,
    .write = cuda_write,
    .fused = cuda_fused,
    .maker = &cuda_maker,
    .capture_begin = cuda_capture_begin,
    .capture_end = cuda_capture_end,
    .launch = cuda_graph_launch,
    .graph_free = cuda_graph_free,
    .hash = cuda_hash,
    .about = cuda_about,
    .reach = cuda_reach,
    .leave = cuda_leave,
    .lend = cuda_lend_handle,
    .lost = cuda_lost,
    .set_cancel = cuda_set_cancel,
};
