/* driver_module.c: the driver's functions for modules, kernels and launches.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Modules ---- */

static uint64_t place(void *ctx, const Var *v) {
    CUmodule m = ctx;
    Block *b = memory_alloc(&device.memory, device_now(), v->bytes, NULL);
    if (!b) return 0;
    b->is_module = true;
    if (m->n_blocks == m->cap_blocks) {
        m->cap_blocks = 2 * m->cap_blocks + 8;
        m->block = realloc(m->block, (size_t)m->cap_blocks * sizeof *m->block);
        if (!m->block) abort();
    }
    m->block[m->n_blocks++] = b;
    return b->at;
}
/* The driver of 13.2 takes PTX up to 9.2, that of 12.4 up to 8.4. */
static int newest_ptx(int version) {
    int major = version / 1000, minor = version % 1000 / 10;
    if (major == 12 && minor > 5) minor = minor - 1;
    return (major - 4) * 10 + minor;
}
static CUresult check_image(const char *text) {
    int major = 0, minor = 0;
    if (!memcmp(text, "\177ELF", 4) || !memcmp(text, "P\355U\272", 4))
        return device_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                             "a module of machine code: this device takes PTX");
    const char *version = strstr(text, ".version"), *target = strstr(text, ".target");
    if (!version || sscanf(version, ".version %4d.%4d", &major, &minor) != 2 || !target)
        return device_refuse(CUDA_ERROR_INVALID_IMAGE, "a module that is no PTX");
    if (major * 10 + minor > newest_ptx(device.version))
        return device_refuse(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                             "PTX %d.%d is too new for a driver of version %d", major, minor,
                             device.version);
    int capability = 0;
    if (sscanf(target, ".target sm_%4d", &capability) != 1 || capability > device.capability)
        return device_refuse(CUDA_ERROR_INVALID_PTX, "a module for another device: %.20s", target);
    return CUDA_SUCCESS;
}
static void initialise(CUmodule m) {
    int n = 0;
    for (int k = 0; k < m->program->n_vars; k++) {
        const Var *v = &m->program->var[k];
        if (v->space == SPACE_SHARED) continue;
        Block *b = m->block[n++];
        if (m->program->initial[k]) memcpy(b->data, m->program->initial[k], v->bytes);
        memset(b->written, 1, v->bytes);
    }
}
static void unload(CUmodule m) {
    for (int k = 0; k < m->n_blocks; k++) memory_free(&device.memory, m->block[k]);
    ptx_free(m->program);
    free(m->function);
    free(m->block);
    free(m);
}
static CUresult load(const char *name, CUmodule *module, const void *image, char *log,
                     size_t log_size) {
    CUresult code = api_begin_context(name);
    if (!code && (!module || !image)) code = CUDA_ERROR_INVALID_VALUE;
    if (!code) code = check_image(image);
    if (code) return api_end(code);
    CUmodule m = device_new(sizeof *m);
    char why[400];
    m->program = ptx_read(image, place, m, why, sizeof why);
    if (!m->program) {
        if (log && log_size) snprintf(log, log_size, "%s", why);
        code = device_refuse(CUDA_ERROR_INVALID_PTX, "%s", why);
        unload(m);
        return api_end(code);
    }
    initialise(m);
    m->function = device_new((size_t)m->program->n_functions * sizeof *m->function);
    for (int k = 0; k < m->program->n_functions; k++) m->function[k] = (struct CUfunc_st){m, k, 0};
    m->device = device_now();
    m->next = device.modules;
    device.modules = *module = m;
    return api_end(CUDA_SUCCESS);
}
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    return load("cuModuleLoadData", module, image, NULL, 0);
}
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *option,
                            void **value) {
    char *log = NULL;
    size_t size = 0;
    for (unsigned k = 0; k < n; k++) {
        if (option[k] == CU_JIT_ERROR_LOG_BUFFER) log = value[k];
        if (option[k] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = (size_t)(uintptr_t)value[k];
    }
    return load("cuModuleLoadData", module, image, log, size);
}
static bool is_module(CUmodule module) {
    for (CUmodule m = device.modules; m; m = m->next)
        if (m == module) return true;
    return false;
}
static bool is_in(CUmodule module, const Op *op) {
    while (op && (op->kind != OP_KERNEL || op->function->module != module)) op = op->next;
    return op != NULL;
}
/* True if a kernel of the module is in a graph. */
static bool is_in_graph(CUmodule module) {
    bool is = false;
    for (CUgraph g = device.graphs; g; g = g->next) is |= is_in(module, g->first);
    for (CUgraphExec g = device.execs; g; g = g->next) is |= is_in(module, g->first);
    return is;
}
/* The manual does not say that it waits for launches: the host must know that they are done. */
static bool may_run(CUmodule module) {
    for (int k = 0; k < STREAMS_MAX; k++)
        if (device.stream[k].is_alive && device.host.upto[k] < module->launched.upto[k])
            return true;
    return false;
}
CUresult cuModuleUnload(CUmodule module) {
    CUresult code = api_begin_context("cuModuleUnload");
    if (!code && !is_module(module)) code = CUDA_ERROR_INVALID_HANDLE;
    if (!code && may_run(module))
        code = device_refuse(CUDA_ERROR_INVALID_VALUE,
                             "cuModuleUnload: a kernel of the module may not have run yet");
    if (!code && is_in_graph(module))
        code = device_refuse(CUDA_ERROR_INVALID_VALUE,
                             "cuModuleUnload: a kernel of the module is in a graph");
    if (code) return api_end(code);
    CUmodule *at = &device.modules;
    while (*at != module) at = &(*at)->next;
    *at = module->next;
    unload(module);
    return api_end(device_error());
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    CUresult code = api_begin_context("cuModuleGetFunction");
    if (!code && !is_module(module)) code = CUDA_ERROR_INVALID_HANDLE;
    int k = code ? -1 : ptx_find(module->program, name);
    if (!code && (k < 0 || !module->program->function[k].is_entry)) code = CUDA_ERROR_NOT_FOUND;
    if (!code) *function = &module->function[k];
    return api_end(code);
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name) {
    CUresult code = api_begin_context("cuModuleGetGlobal");
    if (!code && !is_module(module)) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    for (int k = 0; k < module->program->n_vars; k++) {
        const Var *v = &module->program->var[k];
        if (v->space == SPACE_SHARED || strcmp(v->name, name) != 0) continue;
        if (at) *at = v->at;
        if (bytes) *bytes = v->bytes;
        return api_end(CUDA_SUCCESS);
    }
    return api_end(CUDA_ERROR_NOT_FOUND);
}

/* ---- Kernels ---- */

static bool is_function(CUfunction f) {
    for (CUmodule m = device.modules; m; m = m->next)
        if (f >= m->function && f < m->function + m->program->n_functions) return true;
    return false;
}
static const Function *body_of(CUfunction f) { return &f->module->program->function[f->index]; }
static uint32_t shared_bytes(CUfunction f) {
    const Ptx *p = f->module->program;
    uint32_t n = 0;
    for (int k = 0; k < p->n_shared; k++)
        if (p->shared[k].function < 0 || p->shared[k].function == f->index) n += p->shared[k].bytes;
    return n;
}
static uint32_t threads_max(CUfunction f) {
    uint32_t n = body_of(f)->max_threads;
    return n && n < THREADS_MAX ? n : THREADS_MAX;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction f) {
    CUresult code = api_begin_context("cuFuncGetAttribute");
    if (!code && !is_function(f)) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)threads_max(f); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)shared_bytes(f); break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)body_of(f)->local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break; /* PTX does not say */
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = f->shared_max; break;
    default: code = CUDA_ERROR_INVALID_VALUE;
    }
    return api_end(code);
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value) {
    CUresult code = api_begin_context("cuFuncSetAttribute");
    if (!code && !is_function(f)) code = CUDA_ERROR_INVALID_HANDLE;
    if (!code && (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
                  (uint32_t)value + shared_bytes(f) > SHARED_MAX))
        code = CUDA_ERROR_INVALID_VALUE;
    if (!code) f->shared_max = value;
    return api_end(code);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads,
                                                     size_t shared) {
    CUresult code = api_begin_context("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    if (!code && !is_function(f)) code = CUDA_ERROR_INVALID_HANDLE;
    if (!code && (threads < 1 || threads > THREADS_MAX)) code = CUDA_ERROR_INVALID_VALUE;
    if (code) return api_end(code);
    size_t bytes = shared + shared_bytes(f);
    int by_threads = 2048 / ((threads + LANES - 1) / LANES * LANES);
    *blocks = bytes > SHARED_MAX / (size_t)by_threads ? (int)(SHARED_MAX / bytes) : by_threads;
    return api_end(code);
}
static CUresult check_launch(CUfunction f, const uint32_t *grid, const uint32_t *block,
                             uint32_t shared) {
    const char *name = body_of(f)->name;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    bool is_grid = grid[0] && grid[1] && grid[2] && grid[0] < UINT32_C(1) << 31 &&
                   grid[1] < 65536 && grid[2] < 65536;
    bool is_block = threads && block[0] <= 1024 && block[1] <= 1024 && block[2] <= 64;
    if (!is_grid || !is_block)
        return device_refuse(CUDA_ERROR_INVALID_VALUE,
                             "kernel %s: a grid of (%u, %u, %u) blocks of (%u, %u, %u) threads",
                             name, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
    if (threads > threads_max(f))
        return device_refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s: %llu threads, at most %u", name,
                             (unsigned long long)threads, threads_max(f));
    uint32_t has = shared_bytes(f),
             most = f->shared_max ? (uint32_t)f->shared_max + has : SHARED_STATIC_MAX;
    if (has > SHARED_STATIC_MAX || shared > most ||
        has + shared > (most > SHARED_STATIC_MAX ? most : SHARED_STATIC_MAX))
        return device_refuse(CUDA_ERROR_INVALID_VALUE,
                             "kernel %s: %u + %u bytes of shared memory, at most %u", name, has,
                             shared, most);
    return CUDA_SUCCESS;
}
/* A kernel's operation; NULL: `code` says why. */
Op *op_kernel(CUfunction f, const uint32_t *grid, const uint32_t *block, uint32_t shared,
              void **param, CUresult *code) {
    *code = is_function(f) ? check_launch(f, grid, block, shared) : CUDA_ERROR_INVALID_HANDLE;
    if (*code) return NULL;
    const Function *body = body_of(f);
    if (body->n_params && !param) {
        *code = device_refuse(CUDA_ERROR_INVALID_VALUE, "kernel %s: no parameters", body->name);
        return NULL;
    }
    Op *op = op_new(OP_KERNEL);
    op->function = f, op->shared_bytes = shared;
    memcpy(op->grid, grid, sizeof op->grid);
    memcpy(op->block, block, sizeof op->block);
    op->param = device_new(body->param_bytes + 1);
    for (int k = 0; k < body->n_params; k++)
        memcpy(op->param + body->var[k].at, param[k], body->var[k].bytes);
    return op;
}
CUresult cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream handle, void **param, void **extra) {
    CUresult code = api_begin_context("cuLaunchKernel");
    CUstream s = stream_of(handle);
    if (!code && !s) code = CUDA_ERROR_INVALID_HANDLE;
    if (!code && is_function(f) && (s->device != device_now() || f->module->device != s->device))
        code = device_refuse(CUDA_ERROR_INVALID_HANDLE,
                             "cuLaunchKernel: context, kernel and stream are of several devices");
    if (!code && extra) code = CUDA_ERROR_NOT_SUPPORTED;
    if (code) return api_end(code);
    const uint32_t grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    Op *op = op_kernel(f, grid, block, shared, param, &code);
    device.stats.launches += op != NULL;
    return api_end(op ? stream_submit(s, op) : code);
}
