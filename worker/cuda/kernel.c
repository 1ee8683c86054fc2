/* kernel.c: kernels from CUDA C: compiled or found by image.c, loaded by the driver. Those of
 * single operations are kept by signature or name as long as the engine is open; those of fusions
 * belong to the worker's Jit.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/kernel.h"
#include "worker/cuda/aside.h"
#include "worker/cuda/graph.h"
#include "worker/cuda/image.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static bool find_functions(Cuda *c, CudaKernel *k, const char *key, const char *second, Err *err) {
    char name[MAKER_KEY + 32];
    snprintf(name, sizeof name, "k%s_run", key);
    if (!CUDA(c->libs, err, cuModuleGetFunction, &k->run, k->module, name)) return false;
    snprintf(name, sizeof name, "k%s_%s", key, second ? second : "");
    return !second || CUDA(c->libs, err, cuModuleGetFunction, &k->finish, k->module, name);
}

/* A kernel that is being made. It may outlive the call that wants it. */
typedef struct Loading {
    Aside aside;
    Cuda *c;
    Bytes source, key;
    const char *second; /* see find_functions; static */
    CudaImage image;
    CudaKernel *kernel; /* NULL: why says why there is none */
    Err why;
} Loading;

static CudaKernel *new_kernel(const Bytes *key) {
    CudaKernel *k = xcalloc(1, sizeof *k + key->n);
    memcpy(k->key, key->data, key->n);
    k->bytes = key->n;
    return k;
}
static void free_kernel(Cuda *c, CudaKernel *k) {
    if (k && k->module) c->libs->cuModuleUnload(k->module);
    free(k);
}

static void make_kernel(Aside *aside) {
    Loading *l = (Loading *)aside;
    Cuda *c = l->c;
    Err *err = &l->why;
    for (bool again = true; again && cuda_image(c, &l->source, &l->image, err);) {
        CudaKernel *k = new_kernel(&l->key);
        bool ok = CUDA(c->libs, err, cuCtxSetCurrent, c->context) &&
                  load_module(c, l->image.data.data, &k->module, err) &&
                  find_functions(c, k, l->image.key, l->second, err);
        l->image.bytes = l->image.data.n;
        bytes_fini(&l->image.data);
        if (ok) {
            l->kernel = k;
            return;
        }
        free_kernel(c, k);
        /* A file with another kernel in it is replaced; but it may be the device that has no
         * memory. */
        again = err->code != ERR_MEMORY && cuda_forget_image(c, &l->image);
    }
}
static void drop_loading(Aside *aside) {
    Loading *l = (Loading *)aside;
    free_kernel(l->c, l->kernel);
    bytes_fini(&l->source);
    bytes_fini(&l->key);
    free(l);
}

static CudaKernel *load(Cuda *c, const Bytes *source, const char *second, const void *key,
                        size_t bytes, CudaImage *image, Err *err) {
    Loading *l = xcalloc(1, sizeof *l);
    *l = (Loading){.aside = {make_kernel, drop_loading}, .c = c, .second = second};
    bytes_add(&l->source, source->data, source->n);
    bytes_add(&l->key, key, bytes);
    *image = (CudaImage){.is_compiled = false};
    if (!cuda_aside(c, &l->aside, err)) return NULL;
    CudaKernel *k = l->kernel;
    *image = l->image;
    if (!k) *err = l->why;
    l->kernel = NULL;
    drop_loading(&l->aside);
    return k;
}

/* The same for a single operation, which is counted. */
static CudaKernel *load_single(Cuda *c, const Bytes *source, const char *second, const void *key,
                               size_t bytes, Err *err) {
    CudaImage image;
    CudaKernel *k = load(c, source, second, key, bytes, &image, err);
    if (!k) {
        c->made.failed += err->code != ERR_CANCELLED;
        return NULL;
    }
    c->made.compiled += image.is_compiled, c->made.cached += !image.is_compiled;
    c->made.compile_ms += (double)(image.end_ns - image.begin_ns) * 1e-6;
    return k;
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

static void put_source(Bytes *out, const Fusion *f, int block) {
    bytes_printf(out, "#define FUSED_BLOCK %d\n", block);
    emit_cuda(out, f);
}
static const char *second_of(const CudaForm *form) {
    if (form->unit == FUSED_ELEMENTS) return form->tiles ? "tiled" : NULL;
    if (form->unit == FUSED_ROWS) return form->has_long ? "longer" : NULL;
    return form->unit == FUSED_BLOCKS || form->unit == FUSED_LEAVES ? "finish" : NULL;
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
    put_source(&source, f, block);
    CudaKernel *k =
        load_single(c, &source, second_of(&form), f->signature, f->signature_bytes, err);
    bytes_fini(&source);
    if (!k) return NULL;
    k->form = form;
    k->block = block;
    return keep(c, hash, k);
}

const CudaKernel *cuda_written(Cuda *c, const char *name, Bytes *head, const char *body,
                               const char *second, Err *err) {
    size_t n = strlen(name);
    uint64_t hash = hash_bytes(name, n, 1);
    const CudaKernel *found = find(c, hash, 0, name, n);
    if (!found) {
        bytes_puts(head, body);
        CudaKernel *k = load_single(c, head, second, name, n, err);
        found = k ? keep(c, hash, k) : NULL;
    }
    bytes_fini(head);
    return found;
}

/* ---- Of fusions ---- */

/* Rows are computed by a block of threads each: few long ones leave most of the device idle. */
static bool pays(const Engine *e, const Fusion *f) {
    enum { LONG = 4 * FUSED_BLOCK };
    CudaForm form;
    return emit_cuda_form(f, &form) && (form.unit != FUSED_ROWS || f->args.n <= LONG ||
                                        f->args.rows >= ((const Cuda *)e)->processors);
}

static void fusion_source(void *fusion, Bytes *out) { put_source(out, fusion, FUSED_BLOCK); }

/* Of a kernel that folds row values. */
static bool find_total(Cuda *c, CudaKernel *k, const char *key, Err *err) {
    char name[MAKER_KEY + 32];
    snprintf(name, sizeof name, "k%s_total", key);
    return CUDA(c->libs, err, cuModuleGetFunction, &k->total, k->module, name);
}

static bool make_fusion(Engine *e, const Fusion *f, const Bytes *source, MadeKernel *out,
                        Err *err) {
    Cuda *c = (Cuda *)e;
    CudaForm form;
    CudaImage image;
    if (!cuda_enter(c)) return *err = c->lost, false;
    emit_cuda_form(f, &form);
    CudaKernel *k =
        load(c, source, second_of(&form), f->signature, f->signature_bytes, &image, err);
    memcpy(out->key, image.key, sizeof image.key);
    out->suffix = c->cache.suffix;
    if (!k) return false;
    if (form.totals && !find_total(c, k, image.key, err)) return free_kernel(c, k), false;
    k->form = form;
    k->block = FUSED_BLOCK;
    k->fused = (FusedKernel){.unit = (int32_t)form.unit,
                             .reductions = form.reductions,
                             .columns = form.columns,
                             .totals = form.totals,
                             .signature = k->key,
                             .signature_bytes = (int64_t)k->bytes};
    memcpy(k->fused.reuse, form.reuse, sizeof form.reuse);
    out->kernel = &k->fused;
    out->is_compiled = image.is_compiled;
    out->begin_ns = image.begin_ns, out->end_ns = image.end_ns;
    out->bytes = image.bytes;
    return true;
}

static void drop_fusion(Engine *e, const FusedKernel *fused) {
    Cuda *c = (Cuda *)e;
    CudaKernel *k = (CudaKernel *)(void *)fused;
    c->libs->cuCtxSetCurrent(c->context); /* also if the device is lost */
    /* Then marks count as done, but a device that a single call was refused on still computes. */
    if (c->lost.code) c->libs->cuStreamSynchronize(c->stream);
    c->libs->cuModuleUnload(k->module);
    free(k);
}

static void stats(const Engine *e, MakerStats *out) { *out = ((const Cuda *)e)->made; }

const Maker cuda_maker = {
    .fits = emit_cuda_fits,
    .pays = pays,
    .source = fusion_source,
    .make = make_fusion,
    .drop = drop_fusion,
    .stats = stats,
};

void cuda_free_kernels(Cuda *c) {
    for (MapItem it = {0}; map_next(&c->kernels, &it);)
        for (CudaKernel *k = it.value, *next; k; k = next) {
            next = k->next;
            c->libs->cuModuleUnload(k->module);
            free(k);
        }
    map_fini(&c->kernels);
}

bool cuda_start(Cuda *c, CUfunction f, const CudaGrid *g, const void *args, size_t bytes) {
    void *param[] = {(void *)args};
    if (c->capture) {
        cuda_capture_kernel(c, f, g, args, bytes);
        return true;
    }
    bool ok = ASK(c, cuLaunchKernel, f, g->blocks, 1, 1, g->x, g->y, 1, g->shared, c->stream, param,
                  NULL);
    c->has_launched |= ok;
    return ok;
}

bool cuda_holds_rows(const CudaKernel *k, const FusedArgs *args) {
    return k->form.unit == FUSED_ROWS &&
           emit_cuda_held_shared(&k->form, 1, args->n, args->blocks) <= CUDA_SHARED_MOST;
}

/* Sets is_far to the inputs that a block keeps for all its rows. Returns the shared memory that
 * they take; none if there is no room. */
static int64_t find_fixed(const CudaKernel *k, FusedArgs *args) {
    int64_t bytes = 0;
    args->is_far = 0;
    for (int i = 0; i < FUSED_INPUTS; i++) {
        bool is_fixed = k->form.fixed[i] > 0;
        for (int64_t d = 0; d < args->outer.rank; d++) is_fixed &= args->outer.stride[i][d] == 0;
        if (!is_fixed) continue;
        bytes += (args->n + 15) / 16 * 16 * k->form.fixed[i];
        args->is_far |= INT64_C(1) << i;
    }
    if (bytes + emit_cuda_held_shared(&k->form, 1, args->n, args->blocks) <= CUDA_SHARED_MOST)
        return bytes;
    return args->is_far = 0;
}

/* True if each row begins where four elements of all inputs and results are aligned. */
static bool has_quads(const CudaForm *form, const FusedArgs *args) {
    bool is = form->has_quads && args->n % 4 == 0;
    for (int i = 0; i < FUSED_INPUTS; i++) {
        if (!form->quad_in[i]) continue;
        is &= (uintptr_t)args->in[i] % form->quad_in[i] == 0;
        for (int64_t d = 0; d < args->outer.rank; d++)
            is &= args->outer.stride[i][d] % form->quad_in[i] == 0;
    }
    for (int i = 0; i < FUSED_OUTPUTS; i++)
        if (form->quad_out[i]) is &= (uintptr_t)args->out[i] % form->quad_out[i] == 0;
    return is;
}

/* Blocks of CUDA_THREADS: more rows with fewer threads each, unless six blocks then have no room in
 * the shared memory of a processor of sm_80, or some processors have no block. */
static bool launch_held(Cuda *c, const CudaKernel *k, FusedArgs *args) {
    enum { SHARED_WELL = 26 << 10, PER_PROCESSOR = 8 };
    int64_t fixed = find_fixed(k, args);
    int x = 16, y;
    for (;; x *= 2) {
        y = CUDA_THREADS / x;
        if (y == 1) break;
        if ((int64_t)x * CUDA_HELD_EACH >= args->n && args->rows >= (int64_t)y * c->processors &&
            fixed + emit_cuda_held_shared(&k->form, y, args->n, args->blocks) <= SHARED_WELL)
            break;
    }
    int64_t shared = fixed + emit_cuda_held_shared(&k->form, y, args->n, args->blocks);
    int64_t blocks = (args->rows + y - 1) / y, most = (int64_t)PER_PROCESSOR * c->processors;
    if (blocks > most) blocks = most;
    if (args->rows <= blocks) shared -= fixed, args->is_far = 0; /* a block has one row */
    args->is_far |= (int64_t)has_quads(&k->form, args) << FUSED_INPUTS;
    const CudaGrid grid = {(unsigned)blocks, (unsigned)x, (unsigned)y, (unsigned)shared};
    return cuda_start(c, k->run, &grid, args, sizeof *args);
}

/* Groups of a row's threads: wide enough that a thread has CUDA_EACH elements of a short row. */
static bool launch_rows(Cuda *c, const CudaKernel *k, FusedArgs *args) {
    enum { SHARED_MOST = CUDA_SHARED_MOST, PER_PROCESSOR = 8 };
    if (cuda_holds_rows(k, args)) return launch_held(c, k, args);
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
    bool has_rows = k->form.unit == FUSED_ROWS;
    const CudaGrid grid = {(unsigned)blocks, (unsigned)x, (unsigned)y,
                           (unsigned)emit_cuda_shared(&k->form, x, y)};
    return cuda_start(c, has_rows ? k->finish : k->run, &grid, args, sizeof *args) &&
           (has_rows || cuda_launch(c, k->finish, has_leaves ? args->n : args->rows, args));
}

bool cuda_launch_rows(Cuda *c, const CudaKernel *k, FusedArgs *args) {
    return launch_rows(c, k, args) &&
           (!k->total || cuda_launch_blocks(c, k->total, 1, CUDA_THREADS, args));
}

bool cuda_launch_sized(Cuda *c, CUfunction f, int64_t blocks, int threads, const void *args,
                       size_t bytes) {
    enum { PER_PROCESSOR = 8 };
    int64_t most = (int64_t)PER_PROCESSOR * c->processors;
    if (blocks > most) blocks = most;
    if (blocks < 1) return true;
    const CudaGrid grid = {(unsigned)blocks, (unsigned)threads, 1, 0};
    return cuda_start(c, f, &grid, args, bytes);
}
