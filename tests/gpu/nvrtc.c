/* nvrtc.c: NVRTC that keeps what it compiled in files, may be made to fail, and can be of another
 * version: for tests that start many processes, for those under a sanitizer, where the real one
 * does not run, and for calls that fail. The real one is loaded when a file is missing.
 *
 * Environment: GT_EMU_PTX (a folder for the files; without it nothing is kept), GT_EMU_NVRTC (the
 * version it reports, 13000; PTX is given the version of such a toolkit), GT_EMU_NVRTC_REAL (the
 * file of the real one), GT_EMU_NVRTC_HOLD (a file: while it is there no compilation ends; one that
 * waits for that makes the file FILE.waits, which it removes).
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/emu.h"
#include "worker/cuda/cuda_api.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, FAILED = 6, INTERNAL = 11 };
struct _nvrtcProgram {
    char *source, *ptx, *log;
    const char *header[8], *header_name[8];
    int n_headers;
};
static struct {
#define X(name, args) int(*name) args;
    NVRTC_FUNCTIONS(X)
#undef X
} real;
static bool has_real;

static int version(void) {
    const char *text = getenv("GT_EMU_NVRTC");
    return text && *text ? atoi(text) : 13000;
}
static void load_real(void) {
    const char *file = getenv("GT_EMU_NVRTC_REAL");
    void *library = dlopen(file && *file ? file : "/usr/local/cuda/lib64/libnvrtc.so.13", RTLD_NOW);
    has_real = library != NULL;
#define X(name, args)                                                                              \
    if (library) *(void **)&real.name = dlsym(library, #name);                                     \
    has_real &= real.name != NULL;
    NVRTC_FUNCTIONS(X)
#undef X
}

/* ---- Files ---- */

static uint64_t mix(uint64_t h, const char *text) {
    for (; *text; text++) h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return (h ^ 0xff) * UINT64_C(0x100000001b3);
}
/* False: nothing is kept. */
static bool path_of(const struct _nvrtcProgram *p, int n, const char *const *option, char *path) {
    const char *folder = getenv("GT_EMU_PTX");
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    if (!folder || !*folder) return false;
    for (int k = 0; k < n; k++) h = mix(h, option[k]);
    for (int k = 0; k < p->n_headers; k++) h = mix(mix(h, p->header_name[k]), p->header[k]);
    h = mix(h, p->source);
    return snprintf(path, PATH_MAX, "%s/%016llx.ptx", folder, (unsigned long long)h) < PATH_MAX;
}
static char *read_all(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)n + 1);
    bool ok = text && n > 0 && fread(text, 1, (size_t)n, f) == (size_t)n;
    fclose(f);
    if (!ok) free(text);
    return ok ? text : NULL;
}
/* In one step: other processes read it. */
static void write_all(const char *path, const char *text) {
    char other[PATH_MAX + 32];
    snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
    FILE *f = fopen(other, "wb");
    bool ok = f && fwrite(text, 1, strlen(text), f) == strlen(text);
    if (f) ok &= !fclose(f);
    if (!ok || rename(other, path)) unlink(other);
}

/* ---- Compiling ---- */

static char *take(nvrtcProgram of, int (*size)(nvrtcProgram, size_t *),
                  int (*get)(nvrtcProgram, char *)) {
    size_t n = 0;
    if (size(of, &n)) return NULL;
    char *text = calloc(1, n + 1);
    if (text && !get(of, text)) return text;
    free(text);
    return NULL;
}
/* Waits while the file is there. */
static void hold(void) {
    char waits[PATH_MAX];
    const char *file = getenv("GT_EMU_NVRTC_HOLD");
    if (!file || !*file || access(file, F_OK)) return;
    snprintf(waits, sizeof waits, "%s.waits", file);
    FILE *f = fopen(waits, "w");
    if (f) fclose(f);
    while (!access(file, F_OK)) usleep(10000);
    unlink(waits);
}
static int compile(struct _nvrtcProgram *p, int n, const char *const *option) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    nvrtcProgram of = NULL;
    pthread_once(&once, load_real);
    if (!has_real) {
        p->log = strdup("the file is missing, and the real NVRTC is not there");
        return FAILED;
    }
    int code = real.nvrtcCreateProgram(&of, p->source, "kernel.cu", p->n_headers, p->header,
                                       p->header_name);
    if (!code) code = real.nvrtcCompileProgram(of, n, option);
    if (code)
        p->log = take(of, real.nvrtcGetProgramLogSize, real.nvrtcGetProgramLog);
    else
        p->ptx = take(of, real.nvrtcGetPTXSize, real.nvrtcGetPTX);
    real.nvrtcDestroyProgram(&of);
    return code ? code : p->ptx ? OK : INTERNAL;
}
/* The PTX of a toolkit of that version: 12.4 has 8.4, 13.0 has 9.0. */
static void set_version(char *ptx) {
    char *at = strstr(ptx, ".version 9.");
    if (at && version() < 13000) at[9] = '8', at[11] = (char)('0' + version() % 1000 / 10);
}

/* ---- Its functions ---- */

#define X(name, args) EMU_API int name args;
NVRTC_FUNCTIONS(X)
#undef X
#define EMU_BEGIN(name)                                                                            \
    do {                                                                                           \
        if (emu_call(name)) return INTERNAL;                                                       \
    } while (0)

int nvrtcVersion(int *major, int *minor) {
    EMU_BEGIN("nvrtcVersion");
    *major = version() / 1000, *minor = version() % 1000 / 10;
    return OK;
}
static const int arch[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
int nvrtcGetNumSupportedArchs(int *n) {
    EMU_BEGIN("nvrtcGetNumSupportedArchs");
    *n = (int)(sizeof arch / sizeof *arch) - (version() < 13000 ? 5 : 0);
    return OK;
}
int nvrtcGetSupportedArchs(int *to) {
    EMU_BEGIN("nvrtcGetSupportedArchs");
    memcpy(to, arch, sizeof arch - (version() < 13000 ? 5 * sizeof *arch : 0));
    return OK;
}
int nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int n,
                       const char *const *header, const char *const *header_name) {
    (void)name;
    EMU_BEGIN("nvrtcCreateProgram");
    struct _nvrtcProgram *p = calloc(1, sizeof *p);
    if (!p || n > 8) abort();
    p->source = strdup(source);
    p->n_headers = n;
    for (int k = 0; k < n; k++) p->header[k] = header[k], p->header_name[k] = header_name[k];
    *program = p;
    return OK;
}
int nvrtcCompileProgram(nvrtcProgram p, int n, const char *const *option) {
    char path[PATH_MAX];
    int code = OK;
    EMU_BEGIN("nvrtcCompileProgram");
    hold();
    bool is_kept = path_of(p, n, option, path);
    if (is_kept) p->ptx = read_all(path);
    if (!p->ptx) {
        code = compile(p, n, option);
        if (!code && is_kept) write_all(path, p->ptx);
    }
    if (p->ptx) set_version(p->ptx);
    return code;
}
int nvrtcDestroyProgram(nvrtcProgram *program) {
    EMU_BEGIN("nvrtcDestroyProgram");
    free((*program)->source);
    free((*program)->ptx);
    free((*program)->log);
    free(*program);
    *program = NULL;
    return OK;
}
int nvrtcGetPTXSize(nvrtcProgram p, size_t *bytes) {
    EMU_BEGIN("nvrtcGetPTXSize");
    if (p->ptx) *bytes = strlen(p->ptx) + 1;
    return p->ptx ? OK : INTERNAL;
}
int nvrtcGetPTX(nvrtcProgram p, char *text) {
    EMU_BEGIN("nvrtcGetPTX");
    if (p->ptx) memcpy(text, p->ptx, strlen(p->ptx) + 1);
    return p->ptx ? OK : INTERNAL;
}
/* The emulated device takes no machine code. */
int nvrtcGetCUBINSize(nvrtcProgram p, size_t *bytes) {
    (void)p, (void)bytes;
    return INTERNAL;
}
int nvrtcGetCUBIN(nvrtcProgram p, char *image) {
    (void)p, (void)image;
    return INTERNAL;
}
int nvrtcGetProgramLogSize(nvrtcProgram p, size_t *bytes) {
    EMU_BEGIN("nvrtcGetProgramLogSize");
    *bytes = p->log ? strlen(p->log) + 1 : 1;
    return OK;
}
int nvrtcGetProgramLog(nvrtcProgram p, char *text) {
    EMU_BEGIN("nvrtcGetProgramLog");
    memcpy(text, p->log ? p->log : "", p->log ? strlen(p->log) + 1 : 1);
    return OK;
}
