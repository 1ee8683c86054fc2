/* idle.c: see idle.h.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/idle.h"
#include "tests/gpu/idle_count.h"
#include "tests/gpu/driver_api.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUmod_st {
    int first, n; /* kernels */
};
struct CUgraph_st {
    uint64_t kernels;
};
/* Counts are of one worker's thread: others would make them wrong, and nothing else. */
static IdleCounts count;
static char something; /* contexts, streams and events are its address */

/* In pieces that stay where they are: their addresses are functions. */
enum { PIECE = 1024, PIECES = 256 };
struct CUfunc_st {
    IdleKernel k;
};
static struct CUfunc_st *piece[PIECES];
static int n_kernels;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void idle_call(void) { count.calls++; }
void idle_counts(IdleCounts *out) { *out = count; }

static struct CUfunc_st *kernel_at(int k) { return &piece[k / PIECE][k % PIECE]; }
bool idle_kernel(int k, IdleKernel *out) {
    if (k < 0 || k >= n_kernels) return false;
    *out = kernel_at(k)->k;
    return true;
}

/* ---- The device ---- */

static uint64_t number(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}
CUresult cuDriverGetVersion(int *version) {
    *version = 13090;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **text) {
    *text = error ? "CUDA_ERROR" : "CUDA_SUCCESS";
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char **text) { return cuGetErrorName(error, text); }
CUresult cuDeviceGetCount(int *n) {
    *n = 1;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *d, int ordinal) {
    *d = ordinal;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int size, CUdevice d) {
    (void)d;
    snprintf(name, (size_t)size, "Idle GPU");
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d) {
    (void)d;
    memcpy(uuid->bytes, "gtsh idle GPU 00", sizeof uuid->bytes);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice d) {
    (void)d;
    snprintf(text, (size_t)size, "0000:0E:00.0");
    return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice d) {
    (void)d;
    *bytes = number("GT_IDLE_MEMORY", UINT64_C(80000000000));
    return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    *free_bytes = *total = number("GT_IDLE_MEMORY", UINT64_C(80000000000));
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice d) {
    int capability = (int)number("GT_IDLE_CAPABILITY", 90);
    (void)d;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? capability / 10
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? capability % 10
             : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
                                                                         : 0;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice d) {
    (void)d;
    *context = (CUcontext)(void *)&something;
    return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    (void)flags;
    *stream = (CUstream)(void *)&something;
    return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *event, unsigned flags) {
    (void)flags;
    *event = (CUevent)(void *)&something;
    return CUDA_SUCCESS;
}

/* ---- Memory ---- */

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes) {
    static CUdeviceptr next = UINT64_C(0x7f0000000000);
    *at = next;
    next += (bytes + (2 << 20)) >> 20 << 20;
    return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    (void)flags;
    *at = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!*at) return CUDA_ERROR_OUT_OF_MEMORY;
    memset(*at, 0xff, bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *at) {
    free(at);
    return CUDA_SUCCESS;
}
static CUresult copied(uint64_t *bytes, size_t n) {
    count.calls++;
    count.copies++, *bytes += n;
    return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    (void)to, (void)from, (void)stream;
    return copied(&count.to_device_bytes, bytes);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)from, (void)stream;
    memset(to, 0xff, bytes);
    return copied(&count.to_host_bytes, bytes);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)to, (void)from, (void)stream;
    return copied(&count.on_device_bytes, bytes);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream) {
    (void)to, (void)value, (void)stream;
    return copied(&count.on_device_bytes, n);
}

/* ---- Modules and launches ---- */

static void add_kernels(const void *image, size_t bytes, struct CUmod_st *m) {
    static Cubin c;
    pthread_mutex_lock(&lock);
    m->first = n_kernels;
    if (bytes && cubin_read(image, bytes, &c) && n_kernels + c.n <= PIECE * PIECES)
        for (int i = 0; i < c.n; i++) {
            if (!piece[n_kernels / PIECE]) piece[n_kernels / PIECE] = calloc(PIECE, sizeof **piece);
            if (!piece[n_kernels / PIECE]) break;
            kernel_at(n_kernels)->k =
                (IdleKernel){.needs = c.kernel[i], .capability = c.capability};
            n_kernels++, m->n++;
        }
    pthread_mutex_unlock(&lock);
}
/* PTX is taken too: its kernels are unknown. */
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *option,
                            void **value) {
    (void)n, (void)option, (void)value;
    struct CUmod_st *m = calloc(1, sizeof *m);
    size_t bytes = cubin_bytes(image);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    add_kernels(image, bytes, m);
    count.calls++, count.modules++;
    count.image_bytes += bytes ? bytes : strlen(image);
    *module = m;
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
    free(module);
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    static struct CUfunc_st unknown;
    *function = &unknown;
    for (int k = module->first; k < module->first + module->n; k++)
        if (!strcmp(kernel_at(k)->k.needs.name, name)) *function = kernel_at(k);
    return module->n && *function == &unknown ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **param, void **extra) {
    (void)grid_x, (void)grid_y, (void)grid_z, (void)stream, (void)param, (void)extra;
    IdleKernel *k = &function->k;
    int threads = (int)(block_x * block_y * block_z), dynamic = (int)shared_bytes;
    count.calls++, count.launches++;
    if (!k->capability || (k->threads == threads && k->dynamic_bytes == dynamic))
        return CUDA_SUCCESS;
    double share = cubin_occupancy(k->capability, &k->needs, threads, dynamic);
    if (!k->threads || share < k->occupancy)
        k->threads = threads, k->dynamic_bytes = dynamic, k->occupancy = share;
    return CUDA_SUCCESS;
}

/* ---- Graphs ---- */

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
    (void)flags;
    *graph = calloc(1, sizeof **graph);
    return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                                 size_t n, const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
    (void)after, (void)n, (void)params;
    *node = (CUgraphNode)(void *)&something;
    count.calls++, graph->kernels++;
    return CUDA_SUCCESS;
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
    (void)exec, (void)node, (void)params;
    count.calls++, count.graph_sets++;
    return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    (void)flags;
    struct CUgraph_st *g = malloc(sizeof *g);
    if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
    *g = *graph;
    *exec = (CUgraphExec)(void *)g;
    return CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
    (void)exec, (void)stream;
    count.calls++;
    return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    const struct CUgraph_st *g = (const void *)exec;
    (void)stream;
    count.calls++, count.graph_launches++;
    count.graph_kernels += g->kernels;
    return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
    free(exec);
    return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
    free(graph);
    return CUDA_SUCCESS;
}

/* ---- At the end ---- */

static FILE *open_file(const char *name) {
    const char *path = getenv(name);
    return path && *path ? fopen(path, "a") : NULL;
}
__attribute__((destructor)) static void write_files(void) {
    FILE *f = open_file("GT_IDLE_COUNTS");
#define SAY(name) fprintf(f, #name "=%llu ", (unsigned long long)count.name)
    if (f) {
        SAY(calls), SAY(launches), SAY(graph_launches), SAY(graph_kernels), SAY(graph_sets),
            SAY(copies);
        SAY(to_device_bytes), SAY(to_host_bytes), SAY(on_device_bytes), SAY(modules);
        SAY(image_bytes);
        fputc('\n', f);
        fclose(f);
    }
    f = open_file("GT_IDLE_KERNELS");
    for (int i = 0; i < n_kernels && f; i++) {
        const IdleKernel *k = &kernel_at(i)->k;
        fprintf(f, "%s sm_%d registers=%d stack=%d shared=%d+%d threads=%d occupancy=%.3f\n",
                k->needs.name, k->capability, k->needs.registers, k->needs.stack_bytes,
                k->needs.shared_bytes, k->dynamic_bytes, k->threads, k->occupancy);
    }
    if (f) fclose(f);
}
