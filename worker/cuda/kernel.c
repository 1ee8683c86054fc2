/* kernel.c: kernels from CUDA C: compiled by NVRTC, loaded by the driver, kept by signature.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVRTC reads no headers of the system. */
static const char stdint_text[] =
    "typedef signed char int8_t; typedef short int16_t; typedef int int32_t;\n"
    "typedef long long int64_t; typedef unsigned char uint8_t; typedef unsigned short uint16_t;\n"
    "typedef unsigned int uint32_t; typedef unsigned long long uint64_t;\n"
    "#define INT8_MIN (-128)\n#define INT8_MAX 127\n#define UINT8_MAX 255\n"
    "#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n"
    "#define INT64_MAX 9223372036854775807LL\n#define INT64_MIN (-INT64_MAX - 1)\n"
    "#define INT64_C(x) x##LL\n#define UINT64_C(x) x##ULL\n#define UINT32_C(x) x##U\n";

/* Compiles. Returns PTX or a cubin, owned by the caller; NULL: err has NVRTC's first words. */
static char *compile(const Cuda *c, const char *source, Err *err) {
    const CudaLibs *l = c->libs;
    static const char *const name[] = {"stdint.h", "math.h", "stddef.h"};
    const char *const text[] = {stdint_text, "", ""};
    char arch[32];
    snprintf(arch, sizeof arch, "-arch=%s_%d", c->is_ptx ? "compute" : "sm", c->arch);
    const char *const option[] = {arch, "-default-device", "-std=c++20", "-fmad=false", "-w"};
    nvrtcProgram program = NULL;
    char *image = NULL, *log = NULL;
    size_t n = 0;
    bool ok = !l->nvrtcCreateProgram(&program, source, "kernel.cu", 3, text, name) &&
              !l->nvrtcCompileProgram(program, sizeof option / sizeof *option, option);
    if (ok && !(c->is_ptx ? l->nvrtcGetPTXSize : l->nvrtcGetCUBINSize)(program, &n)) {
        image = xmalloc(n + 1);
        ok = !(c->is_ptx ? l->nvrtcGetPTX : l->nvrtcGetCUBIN)(program, image);
        image[n] = 0;
    }
    if (!ok && program && !l->nvrtcGetProgramLogSize(program, &n)) {
        log = xcalloc(1, n + 1);
        l->nvrtcGetProgramLog(program, log);
    }
    if (!ok || !image) {
        free(image);
        image = NULL;
        err_set(err, ERR_INTERNAL, "NVRTC does not compile a kernel: %.300s", log ? log : "no log");
    }
    free(log);
    if (program) l->nvrtcDestroyProgram(&program);
    return image;
}

/* The driver's assembler says what it does not like. */
static bool load_module(Cuda *c, const char *image, CUmodule *module, Err *err) {
    char log[400] = "";
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {log, (void *)(uintptr_t)sizeof log};
    CUresult code = c->libs->cuModuleLoadDataEx(module, image, 2, option, value);
    if (code == CUDA_SUCCESS) return true;
    Err why = {0};
    cuda_ok(c->libs, code, "cuModuleLoadDataEx", &why);
    log[sizeof log - 1] = 0;
    return err_set(err, why.code, "%s%s%s", why.text, log[0] ? ": " : "", log);
}

/* second: the name of a second kernel; NULL: there is none. */
static CudaKernel *load(Cuda *c, const char *source, const char *second, const void *key,
                        size_t bytes, Err *err) {
    char other[32];
    snprintf(other, sizeof other, "k_%s", second ? second : "");
    char *image = compile(c, source, err);
    if (!image) return NULL;
    CudaKernel *k = xcalloc(1, sizeof *k + bytes);
    memcpy(k->key, key, bytes);
    k->bytes = bytes;
    bool ok = load_module(c, image, &k->module, err) &&
              CALL(c, cuModuleGetFunction, &k->run, k->module, "k_run") &&
              (!second || CALL(c, cuModuleGetFunction, &k->finish, k->module, other));
    free(image);
    if (ok) return k;
    if (err && !err->code) *err = c->lost;
    free(k);
    return NULL;
}

static CudaKernel *find(const Cuda *c, uint64_t hash, int block, const void *key, size_t bytes) {
    CudaKernel *k = map_get(&c->kernels, hash);
    while (k && (k->block != block || k->bytes != bytes || memcmp(k->key, key, bytes))) k = k->next;
    return k;
}
static const CudaKernel *keep(Cuda *c, uint64_t hash, CudaKernel *k) {
    k->next = map_get(&c->kernels, hash);
    map_put(&c->kernels, hash, k);
    return k;
}

const CudaKernel *cuda_kernel(Cuda *c, const Fusion *f, int block, Err *err) {
    CudaForm form;
    uint64_t hash = f->hash + (uint64_t)block;
    const CudaKernel *found = find(c, hash, block, f->signature, f->signature_bytes);
    if (found) return found;
    if (!emit_cuda_form(f, &form)) {
        err_set(err, ERR_INTERNAL, "a fusion that has no kernel for this engine");
        return NULL;
    }
    Bytes source = {0};
    bytes_puts(&source, emit_cuda_head);
    bytes_printf(&source, "#define FUSED(x) k_##x\n#define FUSED_BLOCK %d\n", block);
    emit_cuda(&source, f);
    bool finishes = form.unit == FUSED_BLOCKS || form.unit == FUSED_LEAVES;
    CudaKernel *k =
        load(c, source.data, finishes ? "finish" : NULL, f->signature, f->signature_bytes, err);
    bytes_fini(&source);
    if (!k) return NULL;
    k->form = form;
    k->block = block;
    return keep(c, hash, k);
}

const CudaKernel *cuda_written(Cuda *c, const char *name, const char *body, const char *second,
                               Err *err) {
    size_t n = strlen(name);
    uint64_t hash = hash_bytes(name, n, 1);
    const CudaKernel *found = find(c, hash, 0, name, n);
    if (found) return found;
    Bytes source = {0};
    bytes_printf(&source, "%s#define FUSED(x) k_##x\n%s", emit_cuda_head, body);
    CudaKernel *k = load(c, source.data, second, name, n, err);
    bytes_fini(&source);
    return k ? keep(c, hash, k) : NULL;
}

void cuda_free_kernels(Cuda *c) {
    size_t i = 0;
    uint64_t hash;
    void *value;
    while (map_next(&c->kernels, &i, &hash, &value))
        for (CudaKernel *k = value, *next; k; k = next) {
            next = k->next;
            c->libs->cuModuleUnload(k->module);
            free(k);
        }
    map_fini(&c->kernels);
}

/* Groups of a row's threads: wide enough that a thread has CUDA_EACH elements of a short row. */
bool cuda_launch_rows(Cuda *c, const CudaKernel *k, const FusedArgs *args) {
    enum { SHARED_MOST = 48 << 10, PER_PROCESSOR = 8 };
    int64_t length = args->n < k->block ? args->n : k->block;
    int x = 16, y;
    while (x < CUDA_THREADS && (int64_t)x * CUDA_EACH < length) x *= 2;
    while (x > 16 && emit_cuda_shared(&k->form, x, 1) > SHARED_MOST) x /= 2;
    for (y = CUDA_THREADS / x; y > 1 && emit_cuda_shared(&k->form, x, y) > SHARED_MOST; y /= 2) {}
    bool has_leaves = k->form.unit == FUSED_LEAVES;
    if (has_leaves) y = 1;
    int64_t across = (args->n + x * CUDA_EACH - 1) / (x * CUDA_EACH);
    int64_t units = has_leaves                     ? fused_leaves(args) * across
                    : k->form.unit == FUSED_BLOCKS ? args->rows * args->blocks
                                                   : args->rows;
    int64_t blocks = (units + y - 1) / y, most = (int64_t)PER_PROCESSOR * c->processors;
    if (blocks > most) blocks = most;
    void *param[] = {(void *)args};
    return CALL(c, cuLaunchKernel, k->run, (unsigned)blocks, 1, 1, (unsigned)x, (unsigned)y, 1,
                (unsigned)emit_cuda_shared(&k->form, x, y), c->stream, param, NULL) &&
           (!k->finish || cuda_launch(c, k->finish, has_leaves ? args->n : args->rows, args));
}

bool cuda_launch(Cuda *c, CUfunction f, int64_t units, const void *args) {
    enum { PER_PROCESSOR = 8 };
    int64_t blocks = (units + CUDA_THREADS - 1) / CUDA_THREADS,
            most = PER_PROCESSOR * c->processors;
    if (blocks > most) blocks = most;
    if (blocks < 1) return true;
    void *param[] = {(void *)args};
    return CALL(c, cuLaunchKernel, f, (unsigned)blocks, 1, 1, CUDA_THREADS, 1, 1, 0, c->stream,
                param, NULL);
}
