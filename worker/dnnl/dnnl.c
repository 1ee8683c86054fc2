/* dnnl.c: see dnnl.h. The library parallelises with OpenMP, whose threads TSan cannot follow and
 * whose number changes the results. So every thread of our pool tells OpenMP to use one thread.
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
#else

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
    d->may_split = strcmp(isa, "base") != 0; /* tests/cli/row_bits.sh */
    if (!load(&d->api, &d->library)) goto missing;
    /* An engine of a lower class must compute the same as a machine of that class. */
    if (!strcmp(isa, "v3")) d->api.dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
    if (!strcmp(isa, "base")) d->api.dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
    if (d->api.dnnl_engine_create(&d->engine, dnnl_cpu, 0) != dnnl_success) goto missing;
    d->thread = xcalloc((size_t)d->n_threads, sizeof *d->thread);
    return d;
missing:
    fprintf(stderr,
            "gt-worker: note: oneDNN (libdnnl.so.2) is not usable; convolutions are slower\n");
    if (d->library) dlclose(d->library);
    free(d);
    return NULL;
}

void dnnl_free(Dnnl **dp) {
    Dnnl *d = *dp;
    if (!d) return;
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
#endif
