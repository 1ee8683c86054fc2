/* jit_shipped.c: see jit_shipped.h. SPDX-License-Identifier: MIT */
#include "worker/jit/jit_shipped.h"
#include "runtime/base/map.h"
#include "worker/jit/jit_cc.h"
#include "worker/kernel/emit.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void shipped_init(Shipped *s, const char *path) {
    *s = (Shipped){.path = path ? xstrdup(path) : NULL};
}

void shipped_fini(Shipped *s) {
    if (s->handle) dlclose(s->handle);
    free(s->path);
    *s = (Shipped){0};
}

bool shipped_open(Shipped *s) {
    if (s->path && !s->is_tried) s->handle = dlopen(s->path, RTLD_NOW | RTLD_LOCAL);
    s->is_tried = true;
    return s->handle != NULL;
}

void shipped_key(Shipped *s, const Bytes *source, char key[MAKER_KEY]) {
    if (!s->has_key) {
        Bytes all = {0};
        bytes_printf(&all, "%s|%zu|%s", cc_flags_of_bits, sizeof(FusedArgs), emit_head);
        for (int i = 0; i < 2; i++) s->environment[i] = hash_bytes(all.data, all.n, (uint64_t)i);
        bytes_fini(&all);
        s->has_key = true;
    }
    uint64_t h[2];
    for (int i = 0; i < 2; i++) h[i] = hash_bytes(source->data, source->n, s->environment[i]);
    snprintf(key, MAKER_KEY, "%016llx%016llx", (unsigned long long)h[0], (unsigned long long)h[1]);
}

const FusedKernel *shipped_kernel(Shipped *s, const Bytes *source, const void *signature,
                                  size_t n) {
    char key[MAKER_KEY], symbol[64];
    if (!shipped_open(s)) return NULL;
    shipped_key(s, source, key);
    snprintf(symbol, sizeof symbol, "k%s_kernel", key);
    const FusedKernel *k = dlsym(s->handle, symbol);
    bool is_it = k && k->signature_bytes == (int64_t)n && !memcmp(k->signature, signature, n);
    return is_it ? k : NULL;
}

char *shipped_find(const char *isa) {
    static const char *const beside[] = {"", "/.."};
    char program[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) return NULL;
    program[n] = 0;
    char *end = strrchr(program, '/');
    if (!end) return NULL;
    *end = 0;
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        int size =
            snprintf(path, sizeof path, "%s%s/lib/gt/kernels-%s.so", program, beside[i], isa);
        if (size < (int)sizeof path && !access(path, R_OK)) return xstrdup(path);
    }
    return NULL;
}
