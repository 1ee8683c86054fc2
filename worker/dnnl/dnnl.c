/* dnnl.c: see dnnl.h. The library parallelises with OpenMP, whose threads TSan cannot follow and
 * whose number changes the results. So every thread of our pool tells OpenMP to use one thread. A
 * product is split into tiles over batch, M and N by a rule of the shape alone (K is never split),
 * and each tile is one call on a pool thread. Scratch memory is ours, one per thread: two threads
 * cannot run a primitive with the library's own scratchpad. Making a primitive takes about 100 us,
 * so they are cached.
 * SPDX-License-Identifier: MIT */
#include "worker/dnnl/dnnl.h"
#include "runtime/base/err.h"
#include "worker/dnnl/dnnl_core.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HAS_DNNL /* without the library's headers: as if the library were not installed */
Dnnl *dnnl_new(Pool *pool, const char *isa) { return NULL; }
void dnnl_free(Dnnl **d) { (void)d; }
bool dnnl_multiply(Dnnl *d, int64_t batch, const DnnlShape *s, const float *a,
                   const int64_t *a_offset, const float *b, const int64_t *b_offset, float *out,
                   const DnnlAfter *after) {
    return false;
}
#else

enum { ENTRIES = 256, HEADS = 512 };

/* State of one thread for running a primitive. */
typedef struct Slot {
    dnnl_exec_arg_t arg[4]; /* a, b, out, scratch; memory NULL: not made yet */
} Slot;

typedef struct Entry {
    DnnlShape shape;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t desc[3], scratch;
    size_t scratch_bytes;
    Slot *slot;    /* one per thread */
    uint64_t used; /* time of the last use, in Dnnl.uses */
    struct Entry *next;
} Entry;

struct DnnlProducts {
    Entry *head[HEADS];
    int n_entries;
};

/* ---- Loading ---- */

static bool load(DnnlApi *api, void **library) {
    void *l = dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_LOCAL);
    if (!l) return false;
    *library = l;
#define DNNL(function)                                                                             \
    *(void **)&api->function = dlsym(l, #function);                                                \
    if (!api->function) return false;
#include "worker/dnnl/dnnl_api.def"
    *(void **)&api->omp_set_num_threads = dlsym(l, "omp_set_num_threads");
    return api->omp_set_num_threads && api->dnnl_version()->major == 2;
}

Dnnl *dnnl_new(Pool *pool, const char *isa) {
    Dnnl *d = xcalloc(1, sizeof *d);
    d->pool = pool;
    d->n_threads = pool_threads(pool);
    if (!load(&d->api, &d->library)) goto missing;
    /* An engine of a lower class must compute the same as a machine of that class. */
    if (!strcmp(isa, "v3")) d->api.dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
    if (!strcmp(isa, "base")) d->api.dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
    if (d->api.dnnl_engine_create(&d->engine, dnnl_cpu, 0) != dnnl_success) goto missing;
    d->thread = xcalloc((size_t)d->n_threads, sizeof *d->thread);
    d->products = xcalloc(1, sizeof *d->products);
    return d;
missing:
    fprintf(stderr,
            "gt-worker: note: oneDNN (libdnnl.so.2) is not usable; matrix products are slower\n");
    if (d->library) dlclose(d->library);
    free(d);
    return NULL;
}

static void entry_free(Dnnl *d, Entry *e) {
    for (int t = 0; t < d->n_threads; t++) {
        for (int k = 0; k < 4; k++)
            if (e->slot[t].arg[k].memory) d->api.dnnl_memory_destroy(e->slot[t].arg[k].memory);
    }
    d->api.dnnl_primitive_destroy(e->primitive);
    free(e->slot);
    free(e);
}

void dnnl_free(Dnnl **dp) {
    Dnnl *d = *dp;
    if (!d) return;
    for (int h = 0; h < HEADS; h++) {
        while (d->products->head[h]) {
            Entry *e = d->products->head[h];
            d->products->head[h] = e->next;
            entry_free(d, e);
        }
    }
    free(d->products);
    dnnl_convolutions_free(d);
    for (int t = 0; t < d->n_threads; t++)
        if (d->thread[t].stream) d->api.dnnl_stream_destroy(d->thread[t].stream);
    d->api.dnnl_engine_destroy(d->engine);
    free(d->thread);
    free(d); /* the library is not unloaded: unloading OpenMP runtimes is not safe */
    *dp = NULL;
}

dnnl_stream_t dnnl_thread_stream(Dnnl *d, int thread) {
    DnnlThread *t = &d->thread[thread];
    if (!t->stream) {
        d->api.omp_set_num_threads(1); /* for this thread only */
        MUST(dnnl_stream_create(&t->stream, d->engine, dnnl_stream_default_flags));
    }
    return t->stream;
}

/* ---- Primitives ---- */

static Entry *entry_new(Dnnl *d, const DnnlShape *s) {
    Entry *e = xcalloc(1, sizeof *e);
    e->shape = *s;
    e->slot = xcalloc((size_t)d->n_threads, sizeof *e->slot);
    dnnl_dims_t a = {s->M, s->K}, a_step = {s->a_m, s->a_k};
    dnnl_dims_t b = {s->K, s->N}, b_step = {s->b_k, s->b_n};
    dnnl_dims_t o = {s->M, s->N}, o_step = {s->out_m, 1};
    MUST(dnnl_memory_desc_init_by_strides(&e->desc[0], 2, a, dnnl_f32, a_step));
    MUST(dnnl_memory_desc_init_by_strides(&e->desc[1], 2, b, dnnl_f32, b_step));
    MUST(dnnl_memory_desc_init_by_strides(&e->desc[2], 2, o, dnnl_f32, o_step));
    dnnl_matmul_desc_t desc;
    MUST(dnnl_matmul_desc_init(&desc, &e->desc[0], &e->desc[1], NULL, &e->desc[2]));
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd;
    MUST(dnnl_primitive_attr_create(&attr));
    MUST(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    MUST(dnnl_primitive_desc_create(&pd, &desc, attr, d->engine, NULL));
    e->scratch = *d->api.dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    e->scratch_bytes = d->api.dnnl_memory_desc_get_size(&e->scratch);
    MUST(dnnl_primitive_create(&e->primitive, pd));
    d->api.dnnl_primitive_desc_destroy(pd);
    d->api.dnnl_primitive_attr_destroy(attr);
    return e;
}

static size_t shape_hash(const DnnlShape *s) {
    uint64_t h = 0;
    const int64_t *v = (const int64_t *)s;
    for (size_t i = 0; i < sizeof *s / sizeof *v; i++)
        h = (h ^ (uint64_t)v[i]) * 0x9E3779B97F4A7C15u;
    return (size_t)(h >> 32) % HEADS;
}

static void evict_oldest(Dnnl *d) {
    Entry **oldest = NULL;
    for (int h = 0; h < HEADS; h++)
        for (Entry **at = &d->products->head[h]; *at; at = &(*at)->next)
            if (!oldest || (*at)->used < (*oldest)->used) oldest = at;
    Entry *e = *oldest;
    *oldest = e->next;
    entry_free(d, e);
    d->products->n_entries--;
}

static Entry *entry_get(Dnnl *d, const DnnlShape *s) {
    Entry **head = &d->products->head[shape_hash(s)];
    for (Entry *e = *head; e; e = e->next) {
        if (memcmp(&e->shape, s, sizeof *s)) continue;
        e->used = ++d->uses;
        return e;
    }
    if (d->products->n_entries == ENTRIES) evict_oldest(d);
    d->api.omp_set_num_threads(1);
    Entry *e = entry_new(d, s);
    e->used = ++d->uses;
    e->next = *head;
    *head = e;
    d->products->n_entries++;
    return e;
}

static void run_tile(Dnnl *d, Entry *e, int thread, const float *a, const float *b, float *out,
                     void *scratch) {
    dnnl_stream_t stream = dnnl_thread_stream(d, thread);
    static const int kind[4] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
    void *handle[4] = {(void *)a, (void *)b, out, scratch};
    dnnl_exec_arg_t *arg = e->slot[thread].arg;
    for (int k = 0; k < 4; k++) {
        if (arg[k].memory) {
            MUST(dnnl_memory_set_data_handle(arg[k].memory, handle[k]));
            continue;
        }
        const dnnl_memory_desc_t *desc = k < 3 ? &e->desc[k] : &e->scratch;
        MUST(dnnl_memory_create(&arg[k].memory, desc, d->engine, handle[k]));
        arg[k].arg = kind[k];
    }
    MUST(dnnl_primitive_execute(e->primitive, stream, 4, arg));
}

/* ---- Tiles ---- */

/* Chooses the tiles of one product: as few as keep several threads busy. The library's fast code
 * (brgemm) needs contiguous rows in a, b and out. Otherwise it falls back to an older one, which is
 * as fast if b is row-major, but slow if it must transpose b (measured with one thread, speed
 * relative to one call for the whole: 1024^3 in 512 x 512, a @ b.T 0.93, a.T @ b.T 0.72). The
 * columns of a tile of a column-major b are contiguous, so such tiles are computed in scratch
 * memory and copied (0.98, and 0.95 if a.T is not split). A column-major a is split along N as long
 * as possible. */
static void tile_size(int64_t batch, const DnnlShape *s, int64_t *m, int64_t *n) {
    const int64_t edge = 512, narrow = 128, small = INT64_C(1) << 22, large = INT64_C(1) << 25;
    bool turns_b = s->b_n != 1, turns_both = turns_b && s->a_k != 1;
    *m = s->M, *n = s->N;
    for (;;) {
        int64_t tiles = batch * ((s->M + *m - 1) / *m) * ((s->N + *n - 1) / *n);
        bool is_too_large = *m > (turns_both ? 8 * edge : edge) || *n > edge;
        int64_t work = *m * *n * s->K;
        is_too_large = is_too_large || (tiles < 2 && work > small) || (tiles < 8 && work > large);
        if (!is_too_large || (*m <= 32 && *n <= 32)) return;
        bool splits_n = (turns_both && *n > narrow) || (turns_b ? *n >= *m : *n > *m);
        int64_t *longer = splits_n ? n : m;
        *longer = (*longer / 2 + 31) / 32 * 32;
    }
}

typedef struct Run {
    Dnnl *d;
    const float *a, *b;
    float *out;
    const int64_t *a_offset, *b_offset;
    int64_t M, N, a_m, b_n, m, n, tiles_m, tiles_n;
    int64_t total, part;
    bool is_aside;          /* tiles are computed in scratch memory */
    const DnnlAfter *after; /* for tiles of whole rows; NULL: none */
    Entry *entry[2][2];     /* [is last row of tiles][is last column] */
} Run;

static void run_part(void *ctx, int part, int thread) {
    const Run *r = ctx;
    int64_t end = (part + 1) * r->part < r->total ? (part + 1) * r->part : r->total;
    for (int64_t t = part * r->part; t < end; t++) {
        int64_t column = t % r->tiles_n, row = t / r->tiles_n % r->tiles_m;
        int64_t i = t / r->tiles_n / r->tiles_m;
        const float *a = r->a + r->a_offset[i] + row * r->m * r->a_m;
        const float *b = r->b + r->b_offset[i] + column * r->n * r->b_n;
        float *out = r->out + i * r->M * r->N + row * r->m * r->N + column * r->n;
        Entry *e = r->entry[row == r->tiles_m - 1][column == r->tiles_n - 1];
        size_t scratch_bytes = (e->scratch_bytes + 63) / 64 * 64;
        size_t line = (size_t)e->shape.N * sizeof *out, rows = r->is_aside ? (size_t)e->shape.M : 0;
        char *scratch = pool_scratch(r->d->pool, thread, scratch_bytes + rows * line);
        char *aside = scratch + scratch_bytes;
        run_tile(r->d, e, thread, a, b, r->is_aside ? (float *)aside : out, scratch);
        for (size_t k = 0; k < rows; k++) memcpy(out + (int64_t)k * r->N, aside + k * line, line);
        int64_t first = out - r->out;
        if (r->after) r->after->fn(r->after->ctx, first, first + e->shape.M * r->N, thread);
    }
}

bool dnnl_multiply(Dnnl *d, int64_t batch, const DnnlShape *s, const float *a,
                   const int64_t *a_offset, const float *b, const int64_t *b_offset, float *out,
                   const DnnlAfter *after) {
    Run r = {.d = d,
             .a = a,
             .b = b,
             .out = out,
             .a_offset = a_offset,
             .b_offset = b_offset,
             .M = s->M,
             .N = s->N,
             .a_m = s->a_m,
             .b_n = s->b_n};
    tile_size(batch, s, &r.m, &r.n);
    r.tiles_m = (s->M + r.m - 1) / r.m;
    r.tiles_n = (s->N + r.n - 1) / r.n;
    r.is_aside = r.tiles_n > 1 && s->b_n != 1;
    r.after = r.tiles_n > 1 ? NULL : after;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            if ((!i && r.tiles_m == 1) || (!j && r.tiles_n == 1)) continue;
            DnnlShape tile = *s;
            tile.M = i ? s->M - (r.tiles_m - 1) * r.m : r.m;
            tile.N = j ? s->N - (r.tiles_n - 1) * r.n : r.n;
            if (r.is_aside) tile.out_m = tile.N;
            r.entry[i][j] = entry_get(d, &tile);
        }
    }
    /* A thread takes several small products at a time. */
    int64_t work = r.m * r.n * s->K, at_once = (INT64_C(1) << 21) / (work > 0 ? work : 1);
    r.total = batch * r.tiles_m * r.tiles_n;
    r.part = at_once < 1 ? 1 : at_once;
    while ((r.total + r.part - 1) / r.part > INT32_MAX / 2) r.part *= 2;
    pool_run(d->pool, (int)((r.total + r.part - 1) / r.part), run_part, &r);
    return r.after != NULL;
}
#endif
