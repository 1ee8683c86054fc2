/* image.c: CUDA C to PTX, or to a cubin: by NVRTC, or from the disk cache, which is that of the
 * engine cpu (worker/jit/jit_cache.h). A file's name is a hash of the source and of all else that
 * it depends on: architecture, NVRTC and its options. (The driver translates PTX itself, and keeps
 * what it makes.) The kernels' names contain that hash, so that no file passes for another.
 *
 * Processes that want the same kernel at once wait for the one that compiles it, at most LOCK_MS.
 * Without a cache kernels are compiled and not kept.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "worker/cuda/image.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_MS = 10000 };

/* NVRTC reads no headers of the system. */
static const char stdint_text[] =
    "typedef signed char int8_t; typedef short int16_t; typedef int int32_t;\n"
    "typedef long long int64_t; typedef unsigned char uint8_t; typedef unsigned short uint16_t;\n"
    "typedef unsigned int uint32_t; typedef unsigned long long uint64_t;\n"
    "#define INT8_MIN (-128)\n#define INT8_MAX 127\n#define UINT8_MAX 255\n"
    "#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n"
    "#define INT64_MAX 9223372036854775807LL\n#define INT64_MIN (-INT64_MAX - 1)\n"
    "#define INT64_C(x) x##LL\n#define UINT64_C(x) x##ULL\n#define UINT32_C(x) x##U\n";
static const char *const options[] = {"-default-device", "-std=c++20", "-fmad=false", "-w"};
enum { OPTIONS = sizeof options / sizeof *options };

static void put_arch(const Cuda *c, char arch[32]) {
    snprintf(arch, 32, "-arch=%s_%d", c->is_ptx ? "compute" : "sm", c->arch);
}

/* Appends PTX or a cubin. False: why has NVRTC's first words. */
static bool compile(const Cuda *c, const char *source, Bytes *out, Err *err) {
    const CudaLibs *l = c->libs;
    static const char *const name[] = {"stdint.h", "math.h", "stddef.h"};
    const char *const text[] = {stdint_text, "", ""};
    const char *option[OPTIONS + 1];
    char arch[32], *log = NULL;
    nvrtcProgram program = NULL;
    size_t n = 0;
    put_arch(c, arch);
    option[0] = arch;
    memcpy(option + 1, options, sizeof options);
    bool ok = !l->nvrtcCreateProgram(&program, source, "kernel.cu", 3, text, name) &&
              !l->nvrtcCompileProgram(program, OPTIONS + 1, option) &&
              !(c->is_ptx ? l->nvrtcGetPTXSize : l->nvrtcGetCUBINSize)(program, &n) && n > 0;
    if (ok) {
        char *image = xmalloc(n);
        ok = !(c->is_ptx ? l->nvrtcGetPTX : l->nvrtcGetCUBIN)(program, image);
        if (ok) bytes_add(out, image, n);
        free(image);
    } else if (program && !l->nvrtcGetProgramLogSize(program, &n)) {
        log = xcalloc(1, n + 1);
        l->nvrtcGetProgramLog(program, log);
    }
    if (!ok)
        err_set(err, ERR_INTERNAL, "NVRTC does not compile a kernel: %.300s",
                log && *log ? log : "no log");
    free(log);
    if (program) l->nvrtcDestroyProgram(&program);
    return ok;
}

/* ---- The cache ---- */

/* Of its versions NVRTC says the first two numbers only: its file tells others apart. */
static void put_compiler(const Cuda *c, Bytes *out) {
    Dl_info info;
    struct stat st;
    void *function;
    char arch[32];
    memcpy(&function, &c->libs->nvrtcVersion, sizeof function);
    put_arch(c, arch);
    bytes_printf(out, "%s|nvrtc %d|", arch, c->libs->nvrtc);
    if (dladdr(function, &info) && !stat(info.dli_fname, &st))
        bytes_printf(out, "%lld %lld|", (long long)st.st_size, (long long)st.st_mtime);
    for (int k = 0; k < OPTIONS; k++) bytes_printf(out, "%s|", options[k]);
}

void cuda_open_images(Cuda *c) {
    char why[256];
    Bytes all = {0};
    cache_init(&c->cache, NULL, 0);
    c->cache.suffix = c->is_ptx ? ".ptx" : ".cubin";
    c->has_cache = cache_open(&c->cache, why, sizeof why);
    if (c->has_cache)
        cache_sweep(&c->cache);
    else
        log_line("COMPILE", "kernels are not kept: %s", why);
    put_compiler(c, &all);
    bytes_puts(&all, stdint_text);
    bytes_puts(&all, emit_cuda_head);
    for (int i = 0; i < 2; i++) c->environment[i] = hash_bytes(all.data, all.n, (uint64_t)i);
    bytes_fini(&all);
}

static void set_key(const Cuda *c, const Bytes *source, char key[MAKER_KEY]) {
    uint64_t h[2];
    for (int i = 0; i < 2; i++) h[i] = hash_bytes(source->data, source->n, c->environment[i]);
    snprintf(key, MAKER_KEY, "%016llx%016llx", (unsigned long long)h[0], (unsigned long long)h[1]);
}

static bool load_cached(Cuda *c, CudaImage *image) {
    char path[PATH_MAX];
    if (!c->has_cache) return false;
    cache_path(&c->cache, image->key, path);
    return cache_read(path, &image->data);
}

bool cuda_forget_image(Cuda *c, const CudaImage *image) {
    char path[PATH_MAX];
    if (image->is_compiled || !c->has_cache) return false;
    cache_path(&c->cache, image->key, path);
    return unlink(path) == 0;
}

/* Writes a compiled image to the cache. */
static void keep(Cuda *c, const CudaImage *image) {
    char path[PATH_MAX], temporary[PATH_MAX], why[256];
    if (!c->has_cache) return;
    bool ok = cache_open(&c->cache, why, sizeof why);
    if (ok) {
        cache_path(&c->cache, image->key, path);
        cache_temporary(&c->cache, temporary);
        ok = cache_write(temporary, image->data.data, image->data.n) && cache_seal(temporary) &&
             !rename(temporary, path);
        if (!ok) {
            snprintf(why, sizeof why, "%.150s: %s", path, strerror(errno));
            unlink(temporary);
        }
    }
    if (ok) {
        cache_trim(&c->cache);
        return;
    }
    log_line("COMPILE", "no more kernels are kept: %s", why);
    c->has_cache = false;
}

static void save_code(Cuda *c, const char *key, const Bytes *text) {
    char path[PATH_MAX], name[MAKER_KEY + 3];
    Bytes whole = {0};
    if (c->has_logged_save) return;
    snprintf(name, sizeof name, "%s.cu", key);
    bytes_puts(&whole, "#include \"fused.cuh\"\n");
    bytes_add(&whole, text->data, text->n);
    bool ok = cache_save_code("fused.cuh", emit_cuda_head, name, &whole, path);
    bytes_fini(&whole);
    if (ok) return;
    log_line("COMPILE", "GT_SAVE_COMPILED_CODE: no more sources are saved: %.300s: %s", path,
             strerror(errno));
    c->has_logged_save = true;
}

/* Compiles with the head in front. */
static bool make(Cuda *c, const Bytes *text, CudaImage *image, Err *err) {
    Bytes whole = {0};
    bytes_puts(&whole, emit_cuda_head);
    bytes_add(&whole, text->data, text->n);
    if (log_is(LOG_COMPILE)) log_line("COMPILE", "compiling %s", image->key);
    image->begin_ns = now_ns();
    bool ok = compile(c, whole.data, &image->data, err);
    image->end_ns = now_ns();
    image->is_compiled = ok;
    bytes_fini(&whole);
    if (!ok) return false;
    if (log_is(LOG_COMPILE))
        log_line("COMPILE", "compiled 1 in %.0f ms",
                 (double)(image->end_ns - image->begin_ns) * 1e-6);
    keep(c, image);
    return true;
}

bool cuda_image(Cuda *c, const Bytes *source, CudaImage *image, Err *err) {
    Bytes text = {0};
    *image = (CudaImage){.is_compiled = false};
    set_key(c, source, image->key);
    bytes_printf(&text, "#define FUSED(x) k%s_##x\n", image->key);
    bytes_add(&text, source->data, source->n);
    bytes_puts(&text, "#undef FUSED\n");
    save_code(c, image->key, &text);
    bool ok = load_cached(c, image);
    if (!ok) {
        int lock = c->has_cache ? cache_lock_kernel(&c->cache, image->key, LOCK_MS) : -1;
        ok = load_cached(c, image) || make(c, &text, image, err);
        cache_unlock(lock);
    }
    if (ok && !image->is_compiled && log_is(LOG_COMPILE))
        log_line("COMPILE", "%s is in the cache", image->key);
    bytes_fini(&text);
    if (!ok) bytes_fini(&image->data);
    return ok;
}
