/* jit_shipped.h: the kernels that come with the programs: those of common layers, losses and
 * optimizers (shipped.gt), compiled at build time (scripts/genshipped). A shared object per
 * instruction set, lib/gt/kernels-ISA.so, beside the program or beside its directory.
 *
 * A kernel's name is a hash of its source, of all that the source includes, and of the flags that
 * decide its bits, but not of the compiler: with these flags every compiler gives the same bits. So
 * a file of another version is harmless: its kernels have other names, and are not found. What is
 * found must also have the signature that was asked for.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_JIT_SHIPPED_H
#define GT_WORKER_JIT_JIT_SHIPPED_H
#include "runtime/base/arena.h"
#include "worker/engine/maker.h"
#include "worker/kernel/fused.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct Shipped {
    char *path;    /* NULL: there are none */
    void *handle;  /* from dlopen; NULL: not open */
    bool is_tried; /* the file has been opened, or could not be */
    bool has_key;
    uint64_t environment[2]; /* valid if has_key: what names depend on besides the source */
} Shipped;

/* path: the file, copied; NULL: no kernels. Opens nothing yet. */
void shipped_init(Shipped *s, const char *path);
/* Unloads the kernels: none of them may be running. */
void shipped_fini(Shipped *s);
/* True if the file is there; loads it at the first call. */
bool shipped_open(Shipped *s);
/* Writes the name of the kernel with this source. */
void shipped_key(Shipped *s, const Bytes *source, char key[MAKER_KEY]);
/* Returns the kernel of this source and signature, valid until shipped_fini, or NULL. */
const FusedKernel *shipped_kernel(Shipped *s, const Bytes *source, const void *signature, size_t n);
/* Returns the path of the file for an instruction set, owned by the caller, or NULL: there is no
 * such file. */
char *shipped_find(const char *isa);
#endif
