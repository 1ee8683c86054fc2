/* cuda_twin.h: for tests of the engine cuda on the emulated device of tests/gpu beside the engine
 * cpu: both engines, operands on both, and calls.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_CUDA_TWIN_H
#define GT_TESTS_UNIT_CUDA_TWIN_H
#include "runtime/inst/element.h"
#include "tests/unit/gpu.h"
#include "tests/unit/make_inst.h"
#include "worker/engine/engine.h"
#include "worker/engine/view.h"
#include <math.h>
#include <string.h>

__attribute__((unused)) static Engine *cuda, *cpu;
__attribute__((unused)) static bool is_whole; /* operands are small whole numbers */

/* An operand on the host and the device. */
typedef struct Twin {
    View host, device;
    uint64_t bytes;
} Twin;

static inline double unit(void) { /* in [-0.5, 0.5) */
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) * 0x1p-24 - 0.5;
}

/* (batch, rows, columns); order: 0 row-major, 1 columns outermost, 2 row-major with a gap of an
 * element after each row, from element 1 on, 3 the same matrix for the whole batch, 4 row-major
 * with a gap of an element after each matrix. */
static inline Twin twin(DType d, int64_t batch, int64_t rows, int64_t columns, int order) {
    Twin t = {.host = {.type = {(uint8_t)d, 3, {batch, rows, columns}}}};
    int64_t gap = order == 2, line = columns + gap;
    int64_t *s = t.host.stride, n = batch * (rows * line + (order == 4)) + gap;
    int size = dtype_info[d].size_bytes;
    s[0] = order == 3 ? 0 : rows * line + (order == 4), s[1] = order == 1 ? 1 : line,
    s[2] = order == 1 ? rows : 1;
    t.bytes = (uint64_t)(n * size);
    char *p = aligned_alloc(64, (t.bytes + 64) / 64 * 64);
    for (int64_t i = 0; i < n; i++) {
        if (dtype_is_float(d))
            element_set_float(d, p + i * size, is_whole ? rint(unit() * 6) : unit());
        else
            element_set_int(d, p + i * size, (int64_t)(unit() * 200));
    }
    t.device = t.host;
    char *q = cuda->ops->alloc(cuda, t.bytes);
    cuda->ops->copy_in(cuda, q, p, t.bytes);
    t.host.data = p + gap * size, t.device.data = q + gap * size;
    return t;
}
static inline void drop(Twin *t) {
    int gap = t->host.stride[1] != t->host.type.shape[2] && t->host.stride[1] != 1
                  ? dtype_info[t->host.type.dtype].size_bytes
                  : 0;
    free((char *)t->host.data - gap);
    cuda->ops->free(cuda, (char *)t->device.data - gap, t->bytes);
}

static inline void run(Engine *e, Call *call) {
    Err err = {0};
    Ticket t = e->ops->submit(e, call, NULL, 0);
    CHECK_MSG(e->ops->done(e, t, true, &err) > 0, "%s", err.text);
}

/* Waits until all that cuda was asked for is done: `done` of a mark may return 0 early. */
static inline void settle(void) {
    Err err = {0};
    Ticket mark = cuda->ops->mark(cuda);
    int is_done = 0;
    while (!is_done) is_done = cuda->ops->done(cuda, mark, true, &err);
    CHECK_MSG(is_done > 0, "%s", err.text);
}

/* Opens both. False: NVRTC is not installed, which is said. */
static inline bool twins_open(const char *test) {
    char path[PATH_MAX + 8], folders[2 * sizeof path + 8], *slash;
    const char *kept = getenv("GT_EMU_PTX");
    Err err = {0};
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length < 0 || !gpu_open(1)) return false;
    path[length] = 0;
    if ((slash = strrchr(path, '/'))) memcpy(slash, "/gpu", 5);
    snprintf(folders, sizeof folders, "%s:%s", kept && *kept ? kept : path, path);
    setenv("GT_CUDA_LIBRARIES", folders, false);
    gpu.emu_memory(600 << 20);
    cuda = engine_cuda.open(&(EngineConfig){.memory_bytes = 200 << 20, .threads = 1}, &err);
    if (!cuda) return printf("%s: %s: left out\n", test, err.text), false;
    cpu = engine_cpu.open(&(EngineConfig){.memory_bytes = 64 << 20, .threads = 1}, &err);
    CHECK(cpu != NULL);
    return cpu != NULL;
}
static inline void twins_close(void) {
    uint64_t used, peak, total;
    cuda->ops->memory(cuda, &used, &peak, &total);
    CHECK_INT(used, 0);
    engine_cuda.close(&cuda), engine_cpu.close(&cpu);
}

/* Computes inst, with one result, on both engines: out->host has that of cpu, *got that of cuda,
 * which the caller frees. */
static inline void run_both(const Inst *inst, const Twin *in, Twin *out, char **got) {
    View host[2] = {in[0].host, in[1].host}, device[2] = {in[0].device, in[1].device};
    Call call = {.inst = inst, .n_in = 2, .n_out = 1, .in = host, .out = {out->host}};
    run(cpu, &call);
    call.in = device, call.out[0] = out->device;
    gpu.emu_clear_counters();
    run(cuda, &call);
    *got = malloc(out->bytes + 1);
    cuda->ops->copy_out(cuda, *got, &out->device);
    settle();
}

/* n numbers must have the same bits, or, with `most` > 0, differ by less. */
static inline void check_twin(DType d, int64_t n, const char *got, const char *want, double most,
                              const char *what) {
    int64_t size = dtype_info[d].size_bytes, bad = 0;
    if (most > 0)
        for (int64_t i = 0; i < n; i++)
            bad += !(fabs(element_float(d, got + i * size) - element_float(d, want + i * size)) <=
                     most);
    else
        bad = memcmp(got, want, (size_t)(n * size));
    CHECK_MSG(!bad, "%s: %s", what, most > 0 ? "not near cpu" : "other bits than cpu");
}
/* How far sums over K products of numbers below 0.5 may be apart. */
static inline double near_by(DType d, int64_t K) {
    double most = d == DT_BF16 || d == DT_F16 ? 0x1p-7 : d == DT_F32 ? 0x1p-20 : 0x1p-49;
    return most * (double)(4 + K / 4);
}
#endif
