/* gpu.h: for tests on the emulated GPU (tests/gpu): the driver's functions in a table filled from
 * the stand-in library beside the test program, as an engine fills it from the real one; and NVRTC,
 * the real one, where it is installed (GT_NVRTC=FILE, the loader's path, .venv). Without it a test
 * says so in one line and leaves those parts out.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_GPU_H
#define GT_TESTS_UNIT_GPU_H
#include "tests/gpu/driver_api.h"
#include "tests/gpu/emu.h"
#include "tests/unit/check.h"
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <unistd.h>

#define EMU_FUNCTIONS(X)                                                                           \
    X(emu_reset)                                                                                   \
    X(emu_seed)                                                                                    \
    X(emu_memory)                                                                                  \
    X(emu_refusal)                                                                                 \
    X(emu_quiet)                                                                                   \
    X(emu_counters)                                                                                \
    X(emu_stats)                                                                                   \
    X(emu_clear_counters)                                                                          \
    X(emu_fail) X(emu_allow_approximations) X(emu_limit) X(emu_forget) X(emu_row) X(emu_lose)
typedef struct Gpu {
#define X(name, args) CUresult(*name) args;
    CUDA_FUNCTIONS(X)
    CUDA_OTHER_FUNCTIONS(X)
#undef X
#define X(name) __typeof__(name) *name;
    EMU_FUNCTIONS(X)
#undef X
    CUstream stream;
} Gpu;
__attribute__((unused)) static Gpu gpu;

#define CHECK_CU(call)                                                                             \
    do {                                                                                           \
        int code_ = (int)(call);                                                                   \
        check_that(!code_, __FILE__, __LINE__, "%s gave %d: %s", #call, code_, gpu.emu_refusal()); \
    } while (0)

/* build/test/gpu/NAME, beside the program; NULL: it cannot be loaded. */
__attribute__((unused)) static void *gpu_library(const char *name) {
    char path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
    if (n < 0) return NULL;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    snprintf(slash, sizeof path - (size_t)(slash - path), "/gpu/%s", name);
    void *library = dlopen(path, RTLD_NOW);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    return library;
}
/* A device as after a start, with one stream; false: it cannot be used. */
__attribute__((unused)) static bool gpu_open(uint64_t seed) {
    static void *library;
    if (!library && !(library = gpu_library("libcuda.so.1"))) return false;
    bool is_whole = true;
#define X(name, args) is_whole &= (*(void **)&gpu.name = dlsym(library, #name)) != NULL;
    CUDA_FUNCTIONS(X)
    CUDA_OTHER_FUNCTIONS(X)
#undef X
#define X(name) is_whole &= (*(void **)&gpu.name = dlsym(library, #name)) != NULL;
    EMU_FUNCTIONS(X)
#undef X
    if (!is_whole) return false;
    gpu.emu_reset(seed);
    CUcontext context;
    return !gpu.cuInit(0) && !gpu.cuDevicePrimaryCtxRetain(&context, 0) &&
           !gpu.cuCtxSetCurrent(context) &&
           !gpu.cuStreamCreate(&gpu.stream, CU_STREAM_NON_BLOCKING);
}
__attribute__((unused)) static CUfunction gpu_kernel(const char *ptx, const char *name) {
    CUmodule module;
    CUfunction f = NULL;
    if (gpu.cuModuleLoadData(&module, ptx) || gpu.cuModuleGetFunction(&f, module, name))
        return NULL;
    return f;
}
/* Device memory with a copy of those bytes; NULL: not written. */
__attribute__((unused)) static CUdeviceptr gpu_buffer(const void *from, size_t bytes) {
    CUdeviceptr at = 0;
    if (gpu.cuMemAlloc_v2(&at, bytes)) return 0;
    if (from && gpu.cuMemcpyHtoD_v2(at, from, bytes)) return 0;
    return at;
}
/* One launch, waited for. */
__attribute__((unused)) static CUresult gpu_run(CUfunction f, unsigned blocks, unsigned threads,
                                                unsigned shared, void **param) {
    CUresult code =
        gpu.cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared, gpu.stream, param, NULL);
    return code ? code : gpu.cuStreamSynchronize(gpu.stream);
}
/* The call must fail, with a refusal that has these words. */
__attribute__((unused)) static void gpu_refused(int code, const char *words, const char *file,
                                                int line) {
    check_that(code && strstr(gpu.emu_refusal(), words), file, line, "gave %d and '%s', not '%s'",
               (int)code, gpu.emu_refusal(), words);
}
#define CHECK_REFUSED(call, words) gpu_refused((int)(call), words, __FILE__, __LINE__)

/* ---- NVRTC ---- */

typedef struct Nvrtc {
    int (*nvrtcVersion)(int *, int *);
    int (*nvrtcGetNumSupportedArchs)(int *);
    int (*nvrtcGetSupportedArchs)(int *);
    int (*nvrtcCreateProgram)(void **, const char *, const char *, int, const char *const *,
                              const char *const *);
    int (*nvrtcCompileProgram)(void *, int, const char *const *);
    int (*nvrtcDestroyProgram)(void **);
    int (*nvrtcGetPTXSize)(void *, size_t *);
    int (*nvrtcGetPTX)(void *, char *);
    int (*nvrtcGetProgramLogSize)(void *, size_t *);
    int (*nvrtcGetProgramLog)(void *, char *);
} Nvrtc;
__attribute__((unused)) static Nvrtc nvrtc;

__attribute__((unused)) static void *nvrtc_library(void) {
    const char *given = getenv("GT_NVRTC"), *kept = getenv("GT_EMU_PTX");
    if (kept && *kept) return gpu_library("nvrtc/libnvrtc.so.13");
    if (given && *given) return dlopen(given, RTLD_NOW);
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    for (int k = 0; k < 3; k++) {
        void *library = dlopen(names[k], RTLD_NOW);
        if (library) return library;
    }
    glob_t found;
    void *library = NULL;
    int flags =
        glob(".venv/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1[0-9]", 0, NULL, &found);
    if (!flags && found.gl_pathc) {
        char path[PATH_MAX];
        library = realpath(found.gl_pathv[0], path) ? dlopen(path, RTLD_NOW) : NULL;
    }
    if (!flags) globfree(&found);
    return library;
}
/* False: it is not installed, which is said. */
__attribute__((unused)) static bool nvrtc_open(const char *test) {
    void *library = nvrtc_library();
    bool is_whole = library != NULL;
#define F(name) is_whole = is_whole && (*(void **)&nvrtc.name = dlsym(library, #name)) != NULL;
    F(nvrtcVersion)
    F(nvrtcGetNumSupportedArchs)
    F(nvrtcGetSupportedArchs)
    F(nvrtcCreateProgram)
    F(nvrtcCompileProgram)
    F(nvrtcDestroyProgram)
    F(nvrtcGetPTXSize)
    F(nvrtcGetPTX)
    F(nvrtcGetProgramLogSize)
    F(nvrtcGetProgramLog)
#undef F
    if (!is_whole) printf("%s: NVRTC is not installed: hand-written PTX only\n", test);
    return is_whole;
}
/* Keeps, of n architectures, those that this NVRTC compiles for, and returns their number. What it
 * leaves out is said: sm_120 came with CUDA 12.8. */
__attribute__((unused)) static int nvrtc_archs(const char *test, int *arch, int n) {
    int known[64], n_known = 0, kept = 0;
    if (nvrtc.nvrtcGetNumSupportedArchs(&n_known) || n_known > 64 ||
        nvrtc.nvrtcGetSupportedArchs(known))
        n_known = 0;
    for (int k = 0; k < n; k++) {
        int i = 0;
        while (i < n_known && known[i] != arch[k]) i++;
        if (i < n_known)
            arch[kept++] = arch[k];
        else
            printf("%s: NVRTC does not compile for sm_%d: not tested\n", test, arch[k]);
    }
    check_that(kept > 0, __FILE__, __LINE__, "NVRTC compiles for none of them");
    return kept;
}
/* PTX of a source, owned by the caller; NULL: it does not compile, and the log is printed. more: an
 * option besides, or NULL. */
__attribute__((unused)) static char *nvrtc_ptx(const char *source, int arch, const char *more) {
    char option[40];
    snprintf(option, sizeof option, "-arch=compute_%d", arch);
    const char *const options[] = {option, "-default-device", "-std=c++17",
                                   more ? more : "-fmad=false"};
    void *program = NULL;
    if (nvrtc.nvrtcCreateProgram(&program, source, "test.cu", 0, NULL, NULL)) return NULL;
    int failed = nvrtc.nvrtcCompileProgram(program, 4, options);
    size_t n = 0;
    char *text = NULL;
    if (failed ? !nvrtc.nvrtcGetProgramLogSize(program, &n) : !nvrtc.nvrtcGetPTXSize(program, &n))
        text = malloc(n + 1);
    if (text &&
        (failed ? nvrtc.nvrtcGetProgramLog(program, text) : nvrtc.nvrtcGetPTX(program, text)))
        *text = 0;
    if (failed) {
        fprintf(stderr, "NVRTC: %s\n", text ? text : "no log");
        free(text);
        text = NULL;
    }
    nvrtc.nvrtcDestroyProgram(&program);
    return text;
}
#endif
