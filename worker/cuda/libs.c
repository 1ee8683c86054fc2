/* libs.c: see libs.h.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/libs.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NEWEST: the newest major version of NVRTC whose library is looked for. */
enum { OLDEST = 12000, NEWEST = 13 };

/* Opens a library. If it is there and cannot be loaded, the loader's reason goes to why, if that is
 * still empty. The loader begins its message with the name itself only if it finds no file. */
static void *load(const char *name, Err *why) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *message = library ? NULL : dlerror();
    if (!message || why->code) return library;
    size_t n = strlen(name);
    bool is_absent = strchr(name, '/') ? access(name, F_OK) != 0
                                       : !strncmp(message, name, n) && message[n] == ':';
    if (!is_absent) err_set(why, ERR_IO, "%s", message);
    return NULL;
}

/* Opens the first of the names (up to NULL) that is in one of the folders of GT_CUDA_LIBRARIES,
 * where the loader looks, or in the toolkit's folder. NULL: there is none, or why says why one that
 * is there cannot be loaded. */
static void *open_library(const char *const *name, Err *why) {
    const char *folders = getenv("GT_CUDA_LIBRARIES");
    *why = (Err){0};
    for (int k = 0; name[k]; k++) {
        char path[PATH_MAX];
        for (const char *p = folders; p && *p; p += *p == ':') {
            size_t n = strcspn(p, ":");
            int length = snprintf(path, sizeof path, "%.*s/%s", (int)n, p, name[k]);
            p += n;
            if (!n || length >= (int)sizeof path) continue;
            void *library = load(path, why);
            if (library) return library;
        }
    }
    for (int k = 0; name[k]; k++) {
        char path[PATH_MAX];
        void *library = load(name[k], why);
        snprintf(path, sizeof path, "/usr/local/cuda/lib64/%s", name[k]);
        if (!library) library = load(path, why);
        if (library) return library;
    }
    return NULL;
}

static const char remedy[] =
    "--engine cpu needs none; GT_CUDA_LIBRARIES names more folders to look in";

/* Fills *to with a function. *missing becomes the name of the first one that is not there. */
static void find(void *library, const char *name, void *to, const char **missing) {
    void *function = dlsym(library, name);
    memcpy(to, &function, sizeof function);
    if (!function && !*missing) *missing = name;
}

static bool no_device(Err *err) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) {
        err_set(err, ERR_IO, "the NVIDIA driver finds no device");
        return err_hint(err, "nvidia-smi lists them; --engine cpu needs none");
    }
    err_set(err, ERR_IO, "no CUDA device is visible: CUDA_VISIBLE_DEVICES is '%.60s'", visible);
    if (!*visible) return err_hint(err, "empty, it hides all of them: unset it");
    if (!strncmp(visible, "GPU-", 4) || !strncmp(visible, "MIG-", 4))
        return err_hint(err, "`nvidia-smi -L` lists the names of devices; unset it to see all");
    return err_hint(err, "unset it, or list devices by their numbers (0,1) or by the names that "
                         "`nvidia-smi -L` lists (GPU-..., MIG-...)");
}

static bool old_driver(const CudaLibs *l, Err *err) {
    err_set(err, ERR_IO, "the NVIDIA driver is of CUDA %d.%d, and %d.0 or newer is needed",
            l->driver / 1000, l->driver % 1000 / 10, OLDEST / 1000);
    return err_hint(err, "install a newer driver; --engine cpu needs none");
}

static bool open_driver(CudaLibs *l, Err *err) {
    const char *missing = NULL;
    Err why;
    void *library = open_library((const char *const[]){"libcuda.so.1", NULL}, &why);
    if (!library) {
        if (why.code)
            err_set(err, ERR_IO, "the NVIDIA driver cannot be loaded: %s", why.text);
        else
            err_set(err, ERR_IO, "no NVIDIA driver: libcuda.so.1 is not there");
        return err_hint(err, "%s", remedy);
    }
#define X(name, args) find(library, #name, &l->name, &missing);
    CUDA_FUNCTIONS(X)
#undef X
    if (!l->cuInit || !l->cuGetErrorName || !l->cuGetErrorString || !l->cuDriverGetVersion) {
        err_set(err, ERR_IO, "libcuda.so.1 is no NVIDIA driver: it has no %s", missing);
        return err_hint(err, "%s", remedy);
    }
    CUresult code = l->cuDriverGetVersion(&l->driver);
    if (code == CUDA_ERROR_STUB_LIBRARY) {
        err_set(err, ERR_IO, "libcuda.so.1 is the toolkit's stub, which computes nothing");
        return err_hint(err, "take the folder of stubs out of LD_LIBRARY_PATH; %s", remedy);
    }
    if (!cuda_ok(l, code, "cuDriverGetVersion", err)) return false;
    if (l->driver < OLDEST) return old_driver(l, err);
    if (missing) {
        err_set(err, ERR_IO, "the NVIDIA driver, of CUDA %d.%d, has no %s", l->driver / 1000,
                l->driver % 1000 / 10, missing);
        return err_hint(err, "it is damaged: install it anew; --engine cpu needs none");
    }
    code = l->cuInit(0);
    return code == CUDA_ERROR_NO_DEVICE ? no_device(err) : cuda_ok(l, code, "cuInit", err);
}

static bool open_nvrtc(CudaLibs *l, Err *err) {
    const char *missing = NULL;
    static const char *const newest[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
    int major = 0, minor = 0;
    /* One that is newer than the driver is of no use if an older one is there too. */
    Err why;
    void *library = open_library(newest + (l->driver < 13000), &why);
    if (!library) library = open_library(newest, &why);
    if (!library && why.code) {
        err_set(err, ERR_IO, "NVRTC, the compiler of kernels, cannot be loaded: %s", why.text);
        return err_hint(err, "%s", remedy);
    }
    if (!library) {
        int wanted = l->driver / 1000 <= NEWEST ? l->driver : 1000 * NEWEST;
        err_set(err, ERR_IO, "no NVRTC, the compiler of kernels: libnvrtc.so.%d is not there",
                wanted / 1000);
        return err_hint(err, "install cuda-nvrtc-%d-%d, or `pip install nvidia-cuda-nvrtc%s`; %s",
                        wanted / 1000, wanted % 1000 / 10, wanted < 13000 ? "-cu12" : "", remedy);
    }
#define X(name, args) find(library, #name, &l->name, &missing);
    NVRTC_FUNCTIONS(X)
#undef X
    if (missing) return err_set(err, ERR_IO, "NVRTC has no %s", missing);
    if (l->nvrtcVersion(&major, &minor)) return err_set(err, ERR_IO, "NVRTC has no version");
    l->nvrtc = 1000 * major + 10 * minor;
    if (major <= l->driver / 1000) return true;
    return err_set(
        err, ERR_IO,
        "NVRTC is of CUDA %d.%d, which is newer than the driver's %d.%d: it needs a newer "
        "driver, or an older NVRTC",
        major, minor, l->driver / 1000, l->driver % 1000 / 10);
}

static struct {
    CudaLibs libs;
    Err err;
    bool is_open;
} shared;

static void open_all(void) {
    shared.is_open =
        open_driver(&shared.libs, &shared.err) && open_nvrtc(&shared.libs, &shared.err);
}

const CudaLibs *cuda_libs(Err *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_all);
    if (!shared.is_open && err) *err = shared.err;
    return shared.is_open ? &shared.libs : NULL;
}

static struct {
    BlasLibs libs;
    Err err;
    bool is_open;
} blas;

static bool open_blas(BlasLibs *l, Err *err) {
    const char *missing = NULL;
    const char *tf32 = getenv("NVIDIA_TF32_OVERRIDE");
    if (tf32 && *tf32 && strcmp(tf32, "0") != 0) {
        err_set(err, ERR_ARG, "NVIDIA_TF32_OVERRIDE is '%.40s': cuBLASLt would round float32",
                tf32);
        return err_hint(err,
                        "unset it; set_precision(\"tf32\") or GT_CUDA_BLAS=tf32 asks for TF32");
    }
    static const char *const newest[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    int major = shared.libs.driver / 1000;
    /* One that is newer than the driver does not work. */
    Err why;
    void *library = open_library(newest + (major < 13), &why);
    if (!library && why.code)
        return err_set(err, ERR_IO, "cuBLASLt cannot be loaded: %s", why.text);
    if (!library) {
        err_set(err, ERR_IO, "no cuBLASLt: libcublasLt.so.%d is not there", major < 13 ? 12 : 13);
        return err_hint(err,
                        "install libcublas-%d-%d, or `pip install nvidia-cublas%s`; GT_CUDA_BLAS=0 "
                        "needs none",
                        major, shared.libs.driver % 1000 / 10, major < 13 ? "-cu12" : "");
    }
    find(library, "cublasLtGetVersion", &l->cublasLtGetVersion, &missing);
#define X(name, args) find(library, #name, &l->name, &missing);
    CUBLASLT_FUNCTIONS(X)
#undef X
    return !missing || err_set(err, ERR_IO, "cuBLASLt has no %s", missing);
}
static void open_blas_once(void) { blas.is_open = open_blas(&blas.libs, &blas.err); }

const BlasLibs *cuda_blas_libs(Err *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_blas_once);
    if (!blas.is_open && err) *err = blas.err;
    return blas.is_open ? &blas.libs : NULL;
}

bool cuda_ok(const CudaLibs *l, CUresult code, const char *call, Err *err) {
    const char *name = NULL, *text = NULL;
    if (code == CUDA_SUCCESS) return true;
    l->cuGetErrorName(code, &name);
    l->cuGetErrorString(code, &text);
    return err_set(err, code == CUDA_ERROR_OUT_OF_MEMORY ? ERR_MEMORY : ERR_IO, "%s: %s (%s)", call,
                   text ? text : "unknown error", name ? name : "?");
}

static NvmlLib nvml;
static bool has_nvml;

static void open_nvml(void) {
    const char *missing = NULL;
    Err why;
    void *library = open_library((const char *const[]){"libnvidia-ml.so.1", NULL}, &why);
    if (!library) return;
#define X(name, args) find(library, #name, &nvml.name, &missing);
    NVML_FUNCTIONS(X)
#undef X
    has_nvml = !missing && nvml.nvmlInit_v2() == NVML_SUCCESS;
}

const NvmlLib *cuda_nvml(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_nvml);
    return has_nvml ? &nvml : NULL;
}
