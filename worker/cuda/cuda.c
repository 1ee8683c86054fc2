/* cuda.c: the engine `cuda`: device, memory, copies. See cuda.h.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool cuda_try(Cuda *c, CUresult code, const char *call) {
    Err err = {0};
    if (cuda_ok(c->libs, code, call, &err)) return true;
    if (!c->lost.code) c->lost = err;
    return false;
}

/* ---- Opening ---- */

/* Chooses what kernels are compiled for: the device's architecture, or the newest that NVRTC knows
 * below it, whose PTX the driver assembles. */
static bool find_arch(Cuda *c, Err *err) {
    enum { MOST = 64, OLDEST = 80 };
    int known[MOST], n = 0;
    if (c->capability < OLDEST)
        return err_set(err, ERR_IO, "%s has compute capability %d.%d, and 8.0 or newer is needed",
                       c->name, c->capability / 10, c->capability % 10);
    if (c->libs->nvrtcGetNumSupportedArchs(&n) || n > MOST ||
        c->libs->nvrtcGetSupportedArchs(known))
        return err_set(err, ERR_IO, "NVRTC does not say for which devices it compiles");
    for (int k = 0; k < n; k++)
        if (known[k] <= c->capability && known[k] > c->arch) c->arch = known[k];
    c->is_ptx = c->arch != c->capability;
    return true;
}

static bool open_device(Cuda *c, int ordinal, Err *err) {
    const CudaLibs *l = c->libs;
    int n = 0, major = 0, minor = 0;
    if (!CUDA(l, err, cuDeviceGetCount, &n)) return false;
    if (n == 0) return err_set(err, ERR_IO, "no CUDA device (CUDA_VISIBLE_DEVICES may hide it)");
    if (ordinal >= n) ordinal %= n;
    if (!CUDA(l, err, cuDeviceGet, &c->device, ordinal) ||
        !CUDA(l, err, cuDeviceGetName, c->name, sizeof c->name, c->device) ||
        !CUDA(l, err, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
              c->device) ||
        !CUDA(l, err, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
              c->device) ||
        !CUDA(l, err, cuDeviceGetAttribute, &c->processors,
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, c->device))
        return false;
    c->capability = 10 * major + minor;
    snprintf(c->isa, sizeof c->isa, "cuda-sm%d-%d", c->capability, c->processors);
    return find_arch(c, err) && CUDA(l, err, cuDevicePrimaryCtxRetain, &c->context, c->device) &&
           CUDA(l, err, cuCtxSetCurrent, c->context) &&
           CUDA(l, err, cuStreamCreate, &c->stream, CU_STREAM_NON_BLOCKING);
}

static bool open_memory(Cuda *c, const EngineConfig *config, Err *err) {
    const CudaLibs *l = c->libs;
    void *shadow;
    int fd;
    if (!host_open(&c->host, &engine_cuda, config, err)) return false;
    mem_range(c->host.mem, &shadow, &c->total, &fd);
    c->shadow = shadow;
    madvise(shadow, c->total, MADV_NOHUGEPAGE); /* only heads of blocks are touched */
    for (int k = 0; k < STAGES; k++)
        if (!CUDA(l, err, cuMemHostAlloc, (void **)&c->stage[k].host, STAGE_BYTES, 0) ||
            !CUDA(l, err, cuEventCreate, &c->stage[k].is_read, CU_EVENT_DISABLE_TIMING))
            return false;
    if (CUDA(l, err, cuMemAlloc_v2, &c->base, c->total)) return true;
    size_t left = 0, all = 0;
    if (err && err->code == ERR_MEMORY && !l->cuMemGetInfo_v2(&left, &all)) {
        char wanted[24], free_text[24];
        err_set(err, ERR_MEMORY, "%s has no %s of memory: %s are free", c->name,
                bytes_text(c->total, wanted), bytes_text(left, free_text));
        err_hint(err, "--memory says how much a worker takes");
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
        cuda_free_kernels(c);
        for (int k = 0; k < STAGES; k++) {
            if (c->stage[k].is_read) l->cuEventDestroy_v2(c->stage[k].is_read);
            if (c->stage[k].host) l->cuMemFreeHost(c->stage[k].host);
        }
        if (c->base) l->cuMemFree_v2(c->base);
        if (c->stream) l->cuStreamDestroy_v2(c->stream);
        l->cuDevicePrimaryCtxRelease_v2(c->device);
    }
    host_close(&c->host);
    free(c);
    *e = NULL;
}

static Engine *cuda_open(const EngineConfig *config, Err *err) {
    const CudaLibs *libs = cuda_libs(err);
    if (!libs) return NULL;
    Cuda *c = xcalloc(1, sizeof *c);
    c->libs = libs;
    Engine *e = &c->host.engine;
    if (!open_device(c, 0, err) || !open_memory(c, config, err)) cuda_close(&e);
    return e;
}

/* ---- Memory and copies ---- */

static void *device_of(const Cuda *c, const void *shadow) {
    return (void *)(c->base + (CUdeviceptr)((const char *)shadow - c->shadow));
}

static void *cuda_alloc(Engine *e, uint64_t bytes) {
    void *p = host_alloc(e, bytes);
    return p ? device_of((Cuda *)e, p) : NULL;
}
static void cuda_free(Engine *e, void *p, uint64_t bytes) {
    Cuda *c = (Cuda *)e;
    if (bytes) mem_release(c->host.mem, c->shadow + ((CUdeviceptr)p - c->base), bytes);
}
static void cuda_arena(const Engine *e, void **base, uint64_t *bytes, int *fd) {
    const Cuda *c = (const Cuda *)e;
    *base = (void *)c->base, *bytes = c->total, *fd = -1;
}
static const char *cuda_isa(const Engine *e) { return ((const Cuda *)e)->isa; }

static Stage *next_stage(Cuda *c) {
    Stage *s = &c->stage[c->at_stage];
    c->at_stage = (c->at_stage + 1) % STAGES;
    if (s->is_busy && !CALL(c, cuEventSynchronize, s->is_read)) return NULL;
    s->is_busy = false;
    return s;
}

static void cuda_copy_in(Engine *e, void *device, const void *host, uint64_t bytes) {
    Cuda *c = (Cuda *)e;
    if (!CALL(c, cuCtxSetCurrent, c->context)) return;
    for (uint64_t at = 0, n; at < bytes && !c->lost.code; at += n) {
        Stage *s = next_stage(c);
        n = bytes - at < STAGE_BYTES ? bytes - at : STAGE_BYTES;
        if (!s) return;
        memcpy(s->host, (const char *)host + at, n);
        s->is_busy =
            CALL(c, cuMemcpyHtoDAsync_v2, (CUdeviceptr)device + at, s->host, n, c->stream) &&
            CALL(c, cuEventRecord, s->is_read, c->stream);
    }
}

/* Writes bytes of device memory, in turns: while one stage is copied to the host, the next one is
 * under way. */
static bool read_back(Cuda *c, char *host, const void *device, uint64_t bytes) {
    struct {
        Stage *stage;
        char *to;
        uint64_t n;
    } before = {0};
    for (uint64_t at = 0, n;; at += n) {
        Stage *s = at < bytes ? next_stage(c) : NULL;
        n = bytes - at < STAGE_BYTES ? bytes - at : STAGE_BYTES;
        if (s && (!CALL(c, cuMemcpyDtoHAsync_v2, s->host, (CUdeviceptr)device + at, n, c->stream) ||
                  !CALL(c, cuEventRecord, s->is_read, c->stream)))
            return false;
        if (before.stage) {
            if (!CALL(c, cuEventSynchronize, before.stage->is_read)) return false;
            memcpy(before.to, before.stage->host, before.n);
        }
        before.stage = s, before.to = host + at, before.n = n;
        if (!s) return !c->lost.code;
    }
}

static void cuda_copy_out(Engine *e, void *host, const View *v) {
    Cuda *c = (Cuda *)e;
    uint64_t bytes = type_bytes(&v->type);
    if (!bytes || !CALL(c, cuCtxSetCurrent, c->context)) return;
    if (view_is_contiguous(v)) {
        read_back(c, host, v->data, bytes);
        return;
    }
    void *dense = cuda_alloc(e, bytes);
    Err err = {0};
    if (dense && cuda_copy(c, v, dense, &err)) read_back(c, host, dense, bytes);
    if (dense) cuda_free(e, dense, bytes);
}

static Ticket cuda_submit(Engine *e, const Call *call, const Ticket *after, int n_after) {
    Cuda *c = (Cuda *)e;
    Err err = {0};
    bool ok = !c->lost.code && CALL(c, cuCtxSetCurrent, c->context) && cuda_run(c, call, &err);
    if (!ok && !err.code) err = c->lost;
    return host_ticket(&c->host, ok ? NULL : &err);
}

const EngineOps engine_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .isa = cuda_isa,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .memory = host_memory,
    .has_room = host_has_room,
    .trim = host_trim,
    .arena = cuda_arena,
    .submit = cuda_submit,
    .done = host_done,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
};
