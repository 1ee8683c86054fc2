/* copy.c: copies on the device, and between it and the host. Those to and from the host go through
 * a ring of pinned memory, which is in use until the device has done with it: what is written to
 * the host is copied on when a mark behind it is done.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/copy_args.h"
#include "runtime/inst/hash.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/graph.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/texts.h"
#include "worker/engine/view.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = RING_BYTES / 4 };

/* ---- On the device ---- */

/* Adds axis d to the axes of the copy, as part of the last one if both views allow it. */
static void add_axis(CopyArgs *a, int64_t extent, int64_t to, int64_t from) {
    int64_t last = a->rank - 1;
    if (extent == 1) return;
    bool joins =
        last >= 0 && a->to_stride[last] == to * extent && a->from_stride[last] == from * extent;
    if (!joins) last = a->rank++, a->shape[last] = 1;
    a->shape[last] *= extent;
    a->to_stride[last] = to, a->from_stride[last] = from;
}

/* True if elements that are adjacent in one view are far apart in the other, and so are those that
 * are adjacent there: sets `across` and `along`. */
static bool is_across(CopyArgs *a) {
    enum { FEW = 8 };
    a->along = a->across = -1;
    for (int64_t d = 0; d < a->rank; d++) {
        if (a->shape[d] < FEW) continue;
        if (a->to_stride[d] == 1 && a->from_stride[d] != 1) a->along = d;
        if (a->from_stride[d] == 1 && a->to_stride[d] != 1) a->across = d;
    }
    return a->along >= 0 && a->across >= 0;
}

static bool copy_tiles(Cuda *c, CUfunction f, CopyArgs *a) {
    int64_t p = a->shape[a->along], q = a->shape[a->across];
    int64_t tiles = a->n / p / q * ((p + CUDA_TILE - 1) / CUDA_TILE);
    return cuda_launch(c, f, tiles * ((q + CUDA_TILE - 1) / CUDA_TILE) * CUDA_THREADS, a);
}

static CopyArgs args_of(const View *to, const View *from, int64_t begin, int64_t n) {
    CopyArgs a = {.to = to->data, .from = from->data, .begin = begin, .n = n};
    for (int d = 0; d < to->type.rank; d++)
        add_axis(&a, to->type.shape[d], to->stride[d], from->stride[d]);
    return a;
}

/* Copies elements [begin, begin + n) of views of one shape. */
static bool copy_part(Cuda *c, const View *to, const View *from, int64_t begin, int64_t n,
                      Err *err) {
    static const char *const type[] = {
        [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"};
    int size = dtype_info[to->type.dtype].size_bytes;
    if (n == 0) return true;
    if (view_is_contiguous(to) && view_is_contiguous(from) && !c->capture)
        return ASK(c, cuMemcpyDtoDAsync_v2, (CUdeviceptr)to->data + (uint64_t)(begin * size),
                   (CUdeviceptr)from->data + (uint64_t)(begin * size), (size_t)(n * size),
                   c->stream);
    CopyArgs a = args_of(to, from, begin, n);
    Bytes head = {0};
    bytes_printf(&head, "typedef %s T;\n", type[size]);
    const CudaKernel *k = cuda_written(c, type[size], &head, cuda_copy_cu, "tiled", err);
    if (!k) return false;
    bool is_whole = begin == 0 && n == type_numel(&to->type);
    return is_whole && is_across(&a) ? copy_tiles(c, k->finish, &a) : cuda_launch(c, k->run, n, &a);
}

/* The same without a kernel: each run of adjacent elements is a copy of the driver's. */
static bool copy_runs(Cuda *c, const CopyArgs *a, int64_t size) {
    enum { POLL = 1024 };
    int64_t last = a->rank - 1, end = a->begin + a->n, calls = 0;
    bool is_dense = last >= 0 && a->to_stride[last] == 1 && a->from_stride[last] == 1;
    for (int64_t i = a->begin, n; i < end; i += n) {
        int64_t rest = i, to = 0, from = 0;
        n = is_dense ? a->shape[last] - i % a->shape[last] : 1;
        if (n > end - i) n = end - i;
        for (int64_t d = last; d >= 0; rest /= a->shape[d--]) {
            to += rest % a->shape[d] * a->to_stride[d];
            from += rest % a->shape[d] * a->from_stride[d];
        }
        if (!ASK_TWICE(c, cuMemcpyDtoDAsync_v2, (CUdeviceptr)(a->to + to * size),
                       (CUdeviceptr)(a->from + from * size), (size_t)(n * size), c->stream))
            return false;
        if (++calls % POLL == 0 && c->is_cancelled) c->is_cancelled(c->cancel_ctx);
    }
    return true;
}

/* The same for a request that cannot report a failure, such as no memory to load the kernel. */
static bool copy_anyhow(Cuda *c, const View *to, const View *from, int64_t begin, int64_t n) {
    Err err = {0};
    if (copy_part(c, to, from, begin, n, &err)) return true;
    CopyArgs a = args_of(to, from, begin, n);
    return !c->lost.code && copy_runs(c, &a, dtype_info[to->type.dtype].size_bytes);
}

bool cuda_clear(Cuda *c, void *at, uint64_t bytes) {
    return !cuda_is_captured(c) && ASK(c, cuMemsetD8Async, (CUdeviceptr)at, 0, bytes, c->stream);
}

bool cuda_copy(Cuda *c, const View *to, const View *from, Err *err) {
    return copy_part(c, to, from, 0, type_numel(&to->type), err);
}

/* The part of a view that begins at `start`, in steps (NULL: of 1). */
static View part_of(const View *v, const TensorType *type, const int64_t *start,
                    const int64_t *step) {
    View part = {.type = *type};
    int64_t offset = 0;
    for (int d = 0; d < type->rank; d++) {
        offset += start[d] * v->stride[d];
        part.stride[d] = v->stride[d] * (step ? step[d] : 1);
    }
    part.data = (char *)v->data + offset * dtype_info[v->type.dtype].size_bytes;
    return part;
}

bool cuda_CAT(Cuda *c, const Call *call, Err *err) {
    int axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0];
    int64_t start[MAX_DIMS] = {0};
    for (int i = 0; i < call->n_in; i++) {
        const View *x = &call->in[i];
        View part = part_of(&call->out[0], &x->type, start, NULL);
        if (!cuda_copy(c, &part, x, err)) return false;
        start[axis] += x->type.shape[axis];
    }
    return true;
}

bool cuda_SLICE_PUT(Cuda *c, const Call *call, Err *err) {
    const View *o = &call->out[0];
    const int64_t *size = inst_attr(call->inst, ATTR_SIZE)->ints;
    TensorType type = o->type;
    for (int d = 0; d < type.rank; d++) type.shape[d] = size[d];
    View part = part_of(o, &type, inst_attr(call->inst, ATTR_START)->ints,
                        inst_attr(call->inst, ATTR_STEP)->ints);
    View values = {.type = type, .data = call->in[1].data};
    for (int d = 0; d < type.rank; d++) { /* broadcast */
        int own = d - (type.rank - call->in[1].type.rank);
        bool has = own >= 0 && call->in[1].type.shape[own] != 1;
        values.stride[d] = has ? call->in[1].stride[own] : 0;
    }
    return cuda_copy(c, o, &call->in[0], err) && cuda_copy(c, &part, &values, err);
}

void cuda_copy_views(Engine *e, const View *to, const View *from) {
    Cuda *c = (Cuda *)e;
    c->requests += 2;
    if (cuda_enter(c)) copy_anyhow(c, to, from, 0, type_numel(&to->type));
}

/* ---- The ring ---- */

/* Copies on what was read. The device must have done all of it. */
static void finish_reads(Cuda *c) {
    for (int i = 0; i < c->n_reads; i++)
        memcpy(c->read[i].host, c->read[i].pinned, c->read[i].bytes);
    c->n_reads = 0;
    c->ring_at = 0;
}

bool cuda_settle(Cuda *c) {
    if (cuda_is_captured(c)) return false;
    while (c->is_cancelled) { /* a kernel may take seconds: the worker polls meanwhile */
        enum { STEP_US = 20, STEPS = 250 };
        CUresult code = CUDA_ERROR_NOT_READY;
        for (int i = 0; i < STEPS && code == CUDA_ERROR_NOT_READY; i++) {
            if (i) usleep(STEP_US);
            code = c->libs->cuStreamQuery(c->stream);
        }
        if (code != CUDA_ERROR_NOT_READY) break; /* the next call says what it is */
        c->is_cancelled(c->cancel_ctx);
    }
    if (!CALL(c, cuStreamSynchronize, c->stream)) return false;
    finish_reads(c);
    return true;
}

/* Returns pinned memory, at most PIECE_BYTES; NULL: the device is lost. */
static char *take(Cuda *c, uint64_t bytes) {
    enum { LINE = 64 };
    uint64_t need = (bytes + LINE - 1) / LINE * LINE;
    if (cuda_is_captured(c)) return NULL;
    if (c->ring_at + need > RING_BYTES && !cuda_settle(c)) return NULL;
    char *p = c->ring + c->ring_at;
    c->ring_at += need;
    return p;
}

void cuda_passed(Cuda *c, Ticket mark) {
    if (mark > c->requests) { /* nothing was asked for since */
        finish_reads(c);
        return;
    }
    int n = 0;
    while (n < c->n_reads && c->read[n].request < mark) n++;
    for (int i = 0; i < n; i++) memcpy(c->read[i].host, c->read[i].pinned, c->read[i].bytes);
    c->n_reads -= n;
    memmove(c->read, c->read + n, (size_t)c->n_reads * sizeof *c->read);
}

static bool read_piece(Cuda *c, const char *device, uint64_t bytes, char *host) {
    if (c->n_reads == READS_MAX && !cuda_settle(c)) return false;
    char *pinned = take(c, bytes);
    if (!pinned ||
        !ASK_TWICE(c, cuMemcpyDtoHAsync_v2, pinned, (CUdeviceptr)device, bytes, c->stream))
        return false;
    c->read[c->n_reads++] = (Read){host, pinned, bytes, c->requests};
    return true;
}

/* ---- Between the device and the host ---- */

void cuda_copy_in(Engine *e, void *device, const void *host, uint64_t bytes) {
    Cuda *c = (Cuda *)e;
    c->requests += 2;
    if (!cuda_enter(c)) return;
    for (uint64_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        char *pinned = take(c, n);
        if (!pinned) return;
        memcpy(pinned, (const char *)host + at, n);
        if (!ASK_TWICE(c, cuMemcpyHtoDAsync_v2, (CUdeviceptr)device + at, pinned, n, c->stream))
            return;
    }
}

void cuda_read(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host) {
    Cuda *c = (Cuda *)e;
    int64_t size = dtype_info[box->type.dtype].size_bytes;
    c->requests += 2;
    if (!bytes || !cuda_enter(c)) return;
    bool is_dense = view_is_contiguous(box);
    /* Of others, pieces go through the scratch memory, which has room for one. */
    uint64_t most = is_dense ? PIECE_BYTES : SIDE_BYTES;
    for (uint64_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < most ? bytes - at : most;
        const char *from = (const char *)box->data + begin + at;
        if (!is_dense) {
            View dense = view_dense(&box->type, c->side - begin - at);
            from = c->side;
            if (!copy_anyhow(c, &dense, box, (int64_t)(begin + at) / size, (int64_t)n / size))
                return;
        }
        if (!read_piece(c, from, n, (char *)host + at)) return;
    }
}

void cuda_write(Engine *e, const View *box, uint64_t begin, uint64_t bytes, const void *host) {
    Cuda *c = (Cuda *)e;
    int64_t size = dtype_info[box->type.dtype].size_bytes;
    if (view_is_contiguous(box)) {
        cuda_copy_in(e, (char *)box->data + begin, host, bytes);
        return;
    }
    for (uint64_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < SIDE_BYTES ? bytes - at : SIDE_BYTES;
        cuda_copy_in(e, c->side, (const char *)host + at, n);
        View dense = view_dense(&box->type, c->side - begin - at);
        if (!cuda_enter(c)) return;
        if (!copy_anyhow(c, box, &dense, (int64_t)(begin + at) / size, (int64_t)n / size)) return;
    }
}

void cuda_copy_out(Engine *e, void *host, const View *v) {
    cuda_read(e, v, 0, type_bytes(&v->type), host);
}

uint64_t cuda_hash(Engine *e, const void *data, int64_t n, int size, uint64_t first,
                   uint16_t sample) {
    enum { BYTES = 256 << 10 }; /* of a piece: the host need not have room for the tensor */
    Cuda *c = (Cuda *)e;
    int64_t most = n < BYTES / size ? n : BYTES / size;
    char *host = xmalloc((size_t)(most * size));
    uint64_t sum = 0;
    for (int64_t at = 0, some; at < n; at += some) {
        some = n - at < most ? n - at : most;
        View v = {.type = {.dtype = DT_U8, .rank = 1, .shape = {some * size}}, .stride = {1}};
        v.data = (char *)(uintptr_t)data + at * size;
        cuda_read(e, &v, 0, (uint64_t)(some * size), host);
        if (c->lost.code || !cuda_settle(c)) break;
        sum += hash_elements(hash_sums, host, some, size, first + (uint64_t)at, sample);
    }
    free(host);
    return sum;
}
