/* gpu_driver_test.c: the emulated driver: what runs late and in which order, missing
 * synchronisation, host buffers touched too early, graphs, limits, and calls that fail on purpose.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/gpu.h"
#include "tests/unit/random.h"
#include <pthread.h>

enum { N = 256, BYTES = 4 * N };
/* add: o = a + s for N words; fail: reads a null pointer; slow: counts to s. */
static const char kernels[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .u32 table[2] = {3, 4};\n"
    ".visible .entry add(.param .u64 pa, .param .u64 po, .param .u32 ps) {\n"
    ".reg .b32 %r<9>; .reg .b64 %d<9>;\n"
    "ld.param.u64 %d1, [pa]; ld.param.u64 %d2, [po]; ld.param.u32 %r1, [ps]; mov.u32 %r2, %tid.x;\n"
    "mul.wide.u32 %d3, %r2, 4; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;\n"
    "ld.global.u32 %r3, [%d1]; add.u32 %r3, %r3, %r1; st.global.u32 [%d2], %r3; ret; }\n"
    ".visible .entry fail() { .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
    "mov.u64 %d1, 0; ld.global.u32 %r1, [%d1]; ret; }\n";

static CUfunction add;
static CUstream other;
static uint32_t *pinned, *pinned_out;
static CUdeviceptr a, b;

static void open_quietly(uint64_t seed) {
    CHECK(gpu_open(seed));
    gpu.emu_quiet(true);
    add = gpu_kernel(kernels, "add");
    CHECK(add != NULL);
    CHECK_CU(gpu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK_CU(gpu.cuMemHostAlloc((void **)&pinned, BYTES, 0));
    CHECK_CU(gpu.cuMemAllocHost_v2((void **)&pinned_out, BYTES));
    for (uint32_t i = 0; i < N; i++) pinned[i] = i;
    a = gpu_buffer(NULL, BYTES), b = gpu_buffer(NULL, BYTES);
}
static CUresult launch(CUstream s, CUdeviceptr from, CUdeviceptr to, uint32_t by) {
    void *param[] = {&from, &to, &by};
    return gpu.cuLaunchKernel(add, 1, 1, 1, N, 1, 1, 0, s, param, NULL);
}
static int wrong(const uint32_t *x, uint32_t by) {
    int n = 0;
    for (uint32_t i = 0; i < N; i++) n += x[i] != i + by;
    return n;
}

/* ---- Order ---- */

static void test_round_trip(uint64_t seed) {
    open_quietly(seed);
    CHECK_CU(gpu.cuMemcpyHtoDAsync_v2(a, pinned, BYTES, gpu.stream));
    CHECK_CU(launch(gpu.stream, a, b, 5));
    CHECK_CU(launch(gpu.stream, b, a, 6));
    CHECK_CU(gpu.cuMemcpyDtoDAsync_v2(b, a, BYTES, gpu.stream));
    CHECK_CU(gpu.cuMemcpyDtoHAsync_v2(pinned_out, b, BYTES, gpu.stream));
    CHECK(wrong(pinned_out, 11) > 0); /* whatever has run: the host has not waited */
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    CHECK_INT(wrong(pinned_out, 11), 0);
    CHECK_CU(gpu.cuMemsetD32Async(a, 0xabcd, N, gpu.stream));
    CHECK_CU(gpu.cuMemsetD8Async(b, 7, 3, gpu.stream));
    uint32_t x[N];
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(x, a, BYTES));
    CHECK_INT(x[N - 1], 0xabcd);
    CHECK_CU(gpu.cuMemcpyDtoH_v2(x, b, BYTES));
    CHECK_INT(x[0], 0x00070707);
}
/* Two streams: with an event between them, and without. */
static void test_streams(uint64_t seed) {
    CUevent e;
    open_quietly(seed);
    CHECK_CU(gpu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    CHECK_CU(gpu.cuMemcpyHtoDAsync_v2(a, pinned, BYTES, gpu.stream));
    CHECK_CU(gpu.cuEventRecord(e, gpu.stream));
    CHECK_CU(gpu.cuStreamWaitEvent(other, e, 0));
    CHECK_CU(launch(other, a, b, 1));
    CHECK_CU(gpu.cuMemcpyDtoHAsync_v2(pinned_out, b, BYTES, other));
    CHECK_CU(gpu.cuStreamSynchronize(other));
    CHECK_INT(wrong(pinned_out, 1), 0);
    CHECK_CU(gpu.cuCtxSynchronize());
    CHECK_CU(launch(gpu.stream, a, b, 2)); /* the host has waited: that is an order too */
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    CHECK_CU(gpu.cuEventDestroy_v2(e));

    open_quietly(seed);
    CHECK_CU(gpu.cuMemcpyHtoD_v2(a, pinned, BYTES));
    launch(gpu.stream, a, b, 1);
    launch(other, b, a, 1);
    CHECK(gpu.cuCtxSynchronize() != 0);
    CHECK_MSG(strstr(gpu.emu_refusal(), "race") || strstr(gpu.emu_refusal(), "never written"), "%s",
              gpu.emu_refusal());

    open_quietly(seed);
    CHECK_CU(gpu.cuMemcpyHtoD_v2(a, pinned, BYTES));
    CHECK_CU(gpu.cuMemcpyHtoD_v2(b, pinned, BYTES));
    launch(gpu.stream, a, b, 1);
    gpu.cuMemcpyDtoHAsync_v2(pinned_out, b, BYTES, other);
    CHECK_REFUSED(gpu.cuCtxSynchronize(), "race");
}
/* An event that was recorded too early does not order what comes after it. */
static void test_early_event(uint64_t seed) {
    CUevent e;
    open_quietly(seed);
    CHECK_CU(gpu.cuMemcpyHtoD_v2(a, pinned, BYTES));
    CHECK_CU(gpu.cuMemcpyHtoD_v2(b, pinned, BYTES));
    CHECK_CU(gpu.cuEventCreate(&e, 0));
    CHECK_CU(gpu.cuEventRecord(e, gpu.stream));
    launch(gpu.stream, a, b, 1);
    gpu.cuStreamWaitEvent(other, e, 0);
    launch(other, b, a, 1);
    CHECK_REFUSED(gpu.cuCtxSynchronize(), "race");
}
static void test_default_stream(uint64_t seed) {
    CUstream blocking;
    open_quietly(seed);
    CHECK_CU(gpu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK_CU(gpu.cuMemcpyHtoDAsync_v2(a, pinned, BYTES, blocking));
    CHECK_CU(launch(NULL, a, b, 3));
    CHECK_CU(gpu.cuMemcpyDtoHAsync_v2(pinned_out, b, BYTES, blocking));
    CHECK_CU(gpu.cuStreamSynchronize(blocking));
    CHECK_INT(wrong(pinned_out, 3), 0);
}
static void count_up(void *p) { ++*(int *)p; }
static void test_queries(uint64_t seed) {
    CUevent e, f;
    int called = 0, asked = 0;
    float ms = -1;
    open_quietly(seed);
    CHECK_CU(gpu.cuEventCreate(&e, 0));
    CHECK_CU(gpu.cuEventCreate(&f, 0));
    CHECK_CU(gpu.cuEventQuery(e)); /* never recorded */
    CHECK_CU(gpu.cuEventRecord(e, gpu.stream));
    CHECK_CU(gpu.cuMemcpyHtoDAsync_v2(a, pinned, BYTES, gpu.stream));
    CHECK_CU(launch(gpu.stream, a, b, 1));
    CHECK_CU(gpu.cuLaunchHostFunc(gpu.stream, count_up, &called));
    CHECK_CU(gpu.cuEventRecord(f, gpu.stream));
    CUresult code;
    while ((code = gpu.cuEventQuery(f)) == CUDA_ERROR_NOT_READY) asked++;
    CHECK_CU(code);
    CHECK(asked < 1000);
    CHECK_INT(called, 1);
    CHECK_CU(gpu.cuEventElapsedTime(&ms, e, f));
    CHECK(ms > 0);
    while ((code = gpu.cuStreamQuery(gpu.stream)) == CUDA_ERROR_NOT_READY) asked++;
    CHECK_CU(code);
}

/* ---- The host too early ---- */

static void test_host(uint64_t seed) {
    open_quietly(seed);
    CHECK_CU(gpu.cuMemcpyHtoD_v2(a, pinned, BYTES));
    if (seed % 3 != 2) { /* else it runs at once */
        gpu.cuMemcpyHtoDAsync_v2(b, pinned, BYTES, gpu.stream);
        pinned[7] = 99;
        CUresult code = gpu.cuStreamSynchronize(gpu.stream);
        if (seed % 3 == 0) CHECK_REFUSED(code, "the host changed the source before the copy ran");
    }
    open_quietly(seed);
    CHECK_CU(gpu.cuMemcpyHtoD_v2(a, pinned, BYTES));
    memset(pinned_out, 0, BYTES);
    CHECK_CU(gpu.cuMemcpyDtoHAsync_v2(pinned_out, a, BYTES, gpu.stream));
    CHECK(pinned_out[0] != 0); /* poisoned */
    CHECK_REFUSED(gpu.cuMemFreeHost(pinned_out), "a copy still needs the memory");
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    CHECK_INT(wrong(pinned_out, 0), 0);
    CHECK_CU(gpu.cuMemFreeHost(pinned_out));
    uint32_t pageable[N]; /* taken at once, and counted */
    memcpy(pageable, pinned, BYTES);
    CHECK_CU(gpu.cuMemcpyHtoDAsync_v2(b, pageable, BYTES, gpu.stream));
    pageable[3] = 0;
    CHECK_CU(gpu.cuMemcpyDtoHAsync_v2(pageable, b, BYTES, gpu.stream));
    CHECK_INT(wrong(pageable, 0), 0);
    EmuStats stats;
    gpu.emu_stats(&stats);
    CHECK_INT(stats.pageable_copies, 2);
}
/* A buffer that goes to the device, comes back changed and goes again: all in the stream's order,
 * unseen by the host. */
static void test_bounce(uint64_t seed) {
    open_quietly(seed);
    CHECK_CU(gpu.cuMemcpyHtoDAsync_v2(a, pinned, BYTES, gpu.stream));
    CHECK_CU(launch(gpu.stream, a, b, 1));
    CHECK_CU(gpu.cuMemcpyDtoHAsync_v2(pinned, b, BYTES, gpu.stream));
    if (seed % 3 == 2) CHECK_INT(wrong(pinned, 0), N); /* it ran, and the old bytes are gone */
    CHECK(wrong(pinned, 1) > 0);
    CHECK_CU(gpu.cuMemcpyHtoDAsync_v2(a, pinned, BYTES, gpu.stream));
    CHECK_CU(launch(gpu.stream, a, b, 1));
    CHECK_CU(gpu.cuMemcpyDtoHAsync_v2(pinned_out, b, BYTES, gpu.stream));
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    CHECK_INT(wrong(pinned, 1), 0);
    CHECK_INT(wrong(pinned_out, 2), 0);
}
/* Pinned memory has another address on the device. */
static void test_mapped(uint64_t seed) {
    CUdeviceptr p;
    open_quietly(seed);
    CHECK_CU(gpu.cuMemHostGetDevicePointer_v2(&p, pinned, 0));
    CHECK(p != (CUdeviceptr)(uintptr_t)pinned);
    CHECK_CU(launch(gpu.stream, p, p, 4));
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    CHECK_INT(wrong(pinned, 4), 0);
    launch(gpu.stream, (CUdeviceptr)(uintptr_t)pinned, a, 4);
    CHECK_REFUSED(gpu.cuStreamSynchronize(gpu.stream), "is an address of the host");
}

/* ---- Graphs ---- */

static CUDA_KERNEL_NODE_PARAMS_v2 adds(void **param) {
    return (CUDA_KERNEL_NODE_PARAMS_v2){.func = add,
                                        .gridDimX = 1,
                                        .gridDimY = 1,
                                        .gridDimZ = 1,
                                        .blockDimX = N,
                                        .blockDimY = 1,
                                        .blockDimZ = 1,
                                        .kernelParams = param};
}
/* Launches the graph with the words from k on; returns how many of the results are not k + by. */
static int differ(CUgraphExec x, uint32_t k, uint32_t by) {
    for (uint32_t i = 0; i < N; i++) pinned[i] = i + k;
    CHECK_CU(gpu.cuMemcpyHtoDAsync_v2(a, pinned, BYTES, gpu.stream));
    CHECK_CU(gpu.cuGraphLaunch(x, gpu.stream));
    CHECK_CU(gpu.cuMemcpyDtoHAsync_v2(pinned_out, b, BYTES, gpu.stream));
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    return wrong(pinned_out, k + by);
}
static void test_graph(uint64_t seed) {
    CUgraph g;
    CUgraphExec x;
    CUgraphNode node[2], none;
    uint32_t by = 10;
    open_quietly(seed);
    void *first[] = {&a, &b, &by}, *second[] = {&b, &b, &by};
    CUDA_KERNEL_NODE_PARAMS_v2 p = adds(first), q = adds(second);
    CHECK_CU(gpu.cuGraphCreate(&g, 0));
    CHECK_CU(gpu.cuGraphAddKernelNode_v2(&node[0], g, NULL, 0, &p));
    CHECK_REFUSED(gpu.cuGraphAddKernelNode_v2(&none, g, NULL, 0, &q), "is not after the last one");
    CHECK_CU(gpu.cuGraphAddKernelNode_v2(&node[1], g, &node[0], 1, &q));
    CHECK_REFUSED(gpu.cuGraphAddKernelNode_v2(&none, g, &node[0], 1, &q), "not after the last one");
    CHECK_CU(gpu.cuGraphInstantiateWithFlags(&x, g, 0));
    by = 30; /* the graph has copies */
    for (uint32_t k = 0; k < 3; k++) CHECK_INT(differ(x, k, 20), 0);
    CHECK_CU(gpu.cuGraphExecKernelNodeSetParams_v2(x, node[1], &q));
    by = 50;
    CHECK_INT(differ(x, 3, 40), 0);
    p.func = gpu_kernel(kernels, "fail");
    CHECK(gpu.cuGraphExecKernelNodeSetParams_v2(x, node[0], &p) == CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(gpu.cuGraphDestroy(g));
    CHECK(gpu.cuGraphExecKernelNodeSetParams_v2(x, node[1], &q) == CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(differ(x, 4, 40), 0);
    CHECK_CU(gpu.cuGraphExecDestroy(x));
    CHECK(gpu.cuGraphLaunch(x, gpu.stream) == CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
}

/* A module goes when the host knows that its kernels have run, and no graph has one. */
static void test_unload(uint64_t seed) {
    CUmodule m;
    CUfunction f;
    CUgraph g;
    CUgraphExec x;
    CUgraphNode node;
    uint32_t by = 1;
    void *param[] = {&a, &b, &by};
    open_quietly(seed);
    CHECK_CU(gpu.cuModuleLoadData(&m, kernels));
    CHECK_CU(gpu.cuModuleGetFunction(&f, m, "add"));
    CHECK_CU(gpu.cuMemsetD32Async(a, 0, N, gpu.stream));
    CHECK_CU(gpu.cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, gpu.stream, param, NULL));
    CHECK_REFUSED(gpu.cuModuleUnload(m), "may not have run yet");
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    CUDA_KERNEL_NODE_PARAMS_v2 p = adds(param);
    p.func = f;
    CHECK_CU(gpu.cuGraphCreate(&g, 0));
    CHECK_CU(gpu.cuGraphAddKernelNode_v2(&node, g, NULL, 0, &p));
    CHECK_REFUSED(gpu.cuModuleUnload(m), "is in a graph");
    CHECK_CU(gpu.cuGraphInstantiateWithFlags(&x, g, 0));
    CHECK_CU(gpu.cuGraphDestroy(g));
    CHECK_REFUSED(gpu.cuModuleUnload(m), "is in a graph");
    CHECK_CU(gpu.cuGraphLaunch(x, gpu.stream));
    CHECK_CU(gpu.cuGraphExecDestroy(x));
    CHECK_REFUSED(gpu.cuModuleUnload(m), "may not have run yet");
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    CHECK_CU(gpu.cuModuleUnload(m));
}

/* ---- Limits and failures ---- */

static void test_memory(void) {
    CUdeviceptr p, q;
    size_t free_bytes, total;
    open_quietly(1);
    gpu.emu_memory(1 << 20);
    CHECK_CU(gpu.cuMemGetInfo_v2(&free_bytes, &total));
    CHECK_INT(total, 1 << 20);
    CHECK_INT(gpu.cuMemAlloc_v2(&p, 2 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_CU(gpu.cuMemAlloc_v2(&p, 900 << 10));
    CHECK_INT(gpu.cuMemAlloc_v2(&q, 900 << 10), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_CU(gpu.cuMemFree_v2(p));
    CHECK_CU(gpu.cuMemAlloc_v2(&q, 900 << 10));
    CHECK_REFUSED(gpu.cuMemFree_v2(p), "is no allocation");
    CHECK_REFUSED(gpu.cuMemFree_v2(q + 512), "is no allocation");
    CHECK_REFUSED(gpu.cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)pinned, pinned, 4),
                  "is an address of the host");
    CHECK_REFUSED(gpu.cuMemcpyDtoH_v2((void *)(uintptr_t)q, q, 4), "is no address of the host");
    CHECK_REFUSED(gpu.cuMemsetD32Async(q + 2, 0, 1, gpu.stream), "is not aligned");
    CHECK_REFUSED(gpu.cuMemcpyDtoH_v2(pinned, q, 4), "was never written");
    open_quietly(1);
    CHECK_REFUSED(gpu.cuMemcpyHtoD_v2(a + BYTES - 4, pinned, 8), "lie in no allocation");
    open_quietly(1);
    CHECK_CU(gpu.cuMemcpyHtoD_v2(a, pinned, BYTES));
    CHECK_INT(gpu.emu_forget(a, 4, gpu.stream), 0);
    launch(gpu.stream, a, b, 1);
    CHECK_REFUSED(gpu.cuStreamSynchronize(gpu.stream), "was never written");
}
static void test_modules(void) {
    static const char head[] = "%s\n.target sm_%d\n.address_size 64\n.entry k() { ret; }\n";
    char text[200];
    CUmodule m;
    CUfunction f;
    open_quietly(1);
    CHECK_REFUSED(gpu.cuModuleLoadData(&m, "\177ELF..."), "machine code");
    CHECK_REFUSED(gpu.cuModuleLoadData(&m, "nonsense"), "no PTX");
    snprintf(text, sizeof text, head, ".version 9.9", 80);
    CHECK_CU(gpu.cuModuleLoadData(&m, text));
    snprintf(text, sizeof text, head, ".version 10.0", 80);
    CHECK_REFUSED(gpu.cuModuleLoadData(&m, text), "too new for a driver");
    snprintf(text, sizeof text, head, ".version 8.0", 130);
    CHECK_REFUSED(gpu.cuModuleLoadData(&m, text), "for another device");
    CHECK_CU(gpu.cuModuleLoadData(&m, kernels));
    CHECK_INT(gpu.cuModuleGetFunction(&f, m, "nobody"), CUDA_ERROR_NOT_FOUND);
    CUdeviceptr at;
    size_t bytes;
    uint32_t x[2];
    CHECK_CU(gpu.cuModuleGetGlobal_v2(&at, &bytes, m, "table"));
    CHECK_INT(bytes, 8);
    CHECK_CU(gpu.cuMemcpyDtoH_v2(x, at, 8));
    CHECK(x[0] == 3 && x[1] == 4);
    CHECK_CU(gpu.cuModuleUnload(m));
    CHECK_INT(gpu.cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
    setenv("GT_EMU_VERSION", "12040", 1);
    open_quietly(1);
    snprintf(text, sizeof text, head, ".version 8.5", 80);
    CHECK_REFUSED(gpu.cuModuleLoadData(&m, text), "too new for a driver of version 12040");
    unsetenv("GT_EMU_VERSION");
}
/* After a kernel that failed nothing goes on. */
static void test_lost(void) {
    open_quietly(1);
    CUfunction fail = gpu_kernel(kernels, "fail");
    gpu.cuLaunchKernel(fail, 1, 1, 1, 1, 1, 1, 0, gpu.stream, NULL, NULL);
    CHECK_INT(gpu.cuStreamSynchronize(gpu.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_INT(gpu.cuMemAlloc_v2(&a, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    const char *name;
    CHECK_CU(gpu.cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name));
    CHECK_STR(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
}
/* A device that is lost in the middle, that is older, that is not there. */
static void test_other_devices(void) {
    int major, count;
    open_quietly(1);
    launch(gpu.stream, a, b, 1);
    gpu.emu_lose(CUDA_ERROR_UNKNOWN);
    CHECK_INT(gpu.cuStreamSynchronize(gpu.stream), CUDA_ERROR_UNKNOWN);
    CHECK_INT(gpu.cuDeviceGetCount(&count), CUDA_ERROR_UNKNOWN);
    setenv("GT_EMU_CAPABILITY", "75", 1);
    gpu.emu_reset(1);
    CHECK_CU(gpu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    CHECK_INT(major, 7);
    unsetenv("GT_EMU_CAPABILITY");
    setenv("GT_EMU_DEVICES", "0", 1);
    gpu.emu_reset(1);
    CHECK_INT(gpu.cuInit(0), CUDA_ERROR_NO_DEVICE);
    unsetenv("GT_EMU_DEVICES");
}
static CUresult short_run(void) {
    CUresult code = gpu.cuMemcpyHtoDAsync_v2(a, pinned, BYTES, gpu.stream);
    if (!code) code = launch(gpu.stream, a, b, 1);
    if (!code) code = gpu.cuMemcpyDtoHAsync_v2(pinned_out, b, BYTES, gpu.stream);
    return code ? code : gpu.cuStreamSynchronize(gpu.stream);
}
static void test_failures(void) {
    for (uint64_t n = 1; n <= 5; n++) {
        open_quietly(n);
        gpu.emu_fail(NULL, n, CUDA_ERROR_UNKNOWN);
        CHECK_INT(short_run(), n <= 4 ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS);
        CHECK_INT(short_run(), n <= 4 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
    }
    open_quietly(1);
    gpu.emu_fail("cuMemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_CU(gpu.cuMemAlloc_v2(&a, BYTES));
    CHECK_INT(gpu.cuMemAlloc_v2(&b, BYTES), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_CU(gpu.cuMemAlloc_v2(&b, BYTES));
    CHECK_CU(short_run());
}
static void *without_context(void *p) {
    CUdeviceptr at;
    *(CUresult *)p = gpu.cuMemAlloc_v2(&at, 4);
    return NULL;
}
static void test_contexts(void) {
    pthread_t t;
    CUresult code = CUDA_SUCCESS;
    open_quietly(1);
    CHECK(!pthread_create(&t, NULL, without_context, &code) && !pthread_join(t, NULL));
    CHECK_INT(code, CUDA_ERROR_INVALID_CONTEXT);
    int major, minor, count;
    CHECK_CU(gpu.cuDeviceGetCount(&count));
    CHECK_CU(gpu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    CHECK_CU(gpu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    CHECK(major * 10 + minor > 121); /* newer than NVRTC knows */
    CHECK_INT(gpu.cuStreamSynchronize((CUstream)(void *)&t), CUDA_ERROR_INVALID_HANDLE);
}

/* ---- Random streams ---- */

/* Copies, kernels and events over four streams and six buffers: with events wherever two streams
 * meet the result is that of the order of submission, however late things run; without one of them
 * it is refused or the result is right. */
enum { STREAMS = 4, BUFFERS = 6, STEPS = 60 };
typedef struct World {
    CUstream stream[STREAMS];
    CUevent event[BUFFERS]; /* of the last step that touched a buffer */
    CUdeviceptr buffer[BUFFERS];
    uint32_t value[BUFFERS]; /* of its first word */
} World;
static bool random_steps(World *w, Rand *r, int forgets) {
    for (int k = 0; k < STEPS; k++) {
        int s = rand_below(r, STREAMS), from = rand_below(r, BUFFERS), to = rand_below(r, BUFFERS);
        uint32_t by = (uint32_t)rand_below(r, 1000);
        if (k != forgets && gpu.cuStreamWaitEvent(w->stream[s], w->event[from], 0)) return false;
        if (k != forgets && gpu.cuStreamWaitEvent(w->stream[s], w->event[to], 0)) return false;
        if (launch(w->stream[s], w->buffer[from], w->buffer[to], by)) return false;
        if (gpu.cuEventRecord(w->event[from], w->stream[s]) ||
            gpu.cuEventRecord(w->event[to], w->stream[s]))
            return false;
        w->value[to] = w->value[from] + by;
        if (rand_below(r, 20) == 0 && gpu.cuEventSynchronize(w->event[to])) return false;
    }
    return !gpu.cuCtxSynchronize();
}
static void test_random_streams(uint64_t seed, bool forgets, int *n_refused) {
    Rand r = {seed};
    World w;
    open_quietly(seed);
    for (int k = 0; k < STREAMS; k++)
        CHECK_CU(gpu.cuStreamCreate(&w.stream[k], CU_STREAM_NON_BLOCKING));
    for (int k = 0; k < BUFFERS; k++) {
        CHECK_CU(gpu.cuEventCreate(&w.event[k], CU_EVENT_DISABLE_TIMING));
        w.buffer[k] = gpu_buffer(pinned, BYTES);
        w.value[k] = 0;
    }
    bool ok = random_steps(&w, &r, forgets ? rand_below(&r, STEPS) : -1);
    if (!forgets) CHECK_MSG(ok, "seed %llu: %s", (unsigned long long)seed, gpu.emu_refusal());
    *n_refused += !ok;
    for (int k = 0; ok && k < BUFFERS; k++) {
        uint32_t x[N];
        CHECK_CU(gpu.cuMemcpyDtoH_v2(x, w.buffer[k], BYTES));
        CHECK_MSG(!wrong(x, w.value[k]), "seed %llu, buffer %d", (unsigned long long)seed, k);
    }
}

int main(int argc, char **argv) {
    uint64_t first = rand_seed(argc, argv);
    for (uint64_t seed = 0; seed < 6; seed++) {
        test_round_trip(seed);
        test_streams(seed);
        test_early_event(seed);
        test_default_stream(seed);
        test_queries(seed);
        test_host(seed);
        test_bounce(seed);
        test_mapped(seed);
        test_graph(seed);
        test_unload(seed);
    }
    test_memory();
    test_modules();
    test_lost();
    test_failures();
    test_contexts();
    test_other_devices();
    int rounds = rand_rounds(30), refused = 0, unjust = 0;
    for (int k = 0; k < rounds; k++) {
        test_random_streams(first + (uint64_t)k, false, &unjust);
        test_random_streams(first + (uint64_t)k, true, &refused);
    }
    printf("gpu_driver: of %d runs without one wait %d were refused\n", rounds, refused);
    CHECK(refused > rounds / 3);
    return check_report("gpu_driver");
}
