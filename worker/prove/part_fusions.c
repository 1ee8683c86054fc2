/* part_fusions.c: random fusions (fused_case.h): the kernel of each must give the bits of its
 * operations one by one, which the engine cpu computes. Each graph is drawn twice, with other
 * shapes and values, which mostly share a kernel.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/maker.h"
#include "worker/jit/jit.h"
#include "worker/kernel/emit.h"
#include "worker/kernel/kernels.h"
#include "worker/prove/fused_case.h"
#include "worker/prove/part.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 16 /* kernels that are compiled together, where the C compiler does it */ };

typedef struct Done {
    int cases, unfit; /* unfit: the engine has no kernels for such */
} Done;

static void make_source(void *ctx, Bytes *out) { emit_fusion(out, ctx); }
static const FusedKernel *ask(const Part *p, Jit *j, Fusion *f) {
    const Maker *maker = p->config->ops->maker;
    return jit_get(j, f->signature, f->signature_bytes, f->hash,
                   maker ? maker->source : make_source, f);
}

/* Draws case number k. Returns NULL if it is no fusion, or none that the engine fuses. */
static FusedCase *draw(const Part *p, int k, Done *done) {
    const Maker *maker = p->config->ops->maker;
    uint64_t seed = p->config->seed;
    FusedSeeds seeds = {.graph = seed * 1000003 + (uint64_t)(k / 2) * 7919,
                        .strides = seed + (uint64_t)(k / 2) * 77 + (k % 6 == 5),
                        .values = seed * 7 + (uint64_t)k,
                        .is_tame = k % 4 < 2,
                        .is_portable = p->config->agree == AGREE_DEVICE};
    FusedCase *c = xmalloc(sizeof *c);
    bool is_made = fused_case_make(c, p->oracle, &seeds);
    if (is_made && (!maker || maker->fits(&c->fuse))) return c;
    done->unfit += is_made;
    if (is_made) fused_case_free(c);
    free(c);
    return NULL;
}

/* Cases first .. first + BATCH - 1. Returns false if the part is to end. */
static bool prove_batch(Part *p, Jit *jit, int first, Done *done) {
    FusedCase *c[BATCH];
    bool goes_on = true;
    for (int k = 0; k < BATCH; k++) {
        goes_on = goes_on && part_begin(p, "fusion %d of seed %llu", first + k,
                                        (unsigned long long)p->config->seed);
        c[k] = goes_on ? draw(p, first + k, done) : NULL;
        if (c[k]) ask(p, jit, &c[k]->fuse);
    }
    while (goes_on && !jit_wait(jit, 1000)) goes_on = part_begin(p, "compiling");
    for (int k = 0; k < BATCH; k++) {
        Rand r = {(uint64_t)k};
        char text[240];
        if (!c[k]) continue;
        const FusedKernel *kernel = goes_on ? ask(p, jit, &c[k]->fuse) : NULL;
        snprintf(p->tally->now, sizeof p->tally->now, "fusion %d of seed %llu", first + k,
                 (unsigned long long)p->config->seed);
        if (kernel) {
            done->cases++;
            if (!fused_case_run(c[k], p->e, kernel, NULL, text, sizeof text) ||
                !fused_case_run(c[k], p->e, kernel, &r, text, sizeof text) ||
                !fused_case_fail(c[k], p->e, kernel, &r, text, sizeof text))
                part_fail(p, "%s", text);
        } else if (goes_on) {
            part_fail(p, "it has no kernel");
        }
        fused_case_free(c[k]);
        free(c[k]);
    }
    return goes_on;
}

void part_fusions(Part *p) {
    enum { DRAWS = 4 }; /* for each fusion, at most */
    int n = part_rounds(p, 32, 1600);
    Done done = {0};
    if (!p->config->ops->fused) {
        part_leave_out(p, "this engine fuses nothing");
        return;
    }
    p->tally->all = (uint64_t)n;
    if (!(p->e = part_open(p, p->config->ops, 0))) return;
    if (!(p->oracle = part_open(p, &engine_cpu, 0))) return;
    JitConfig config = {.isa = kernels_find()->isa, .engine = p->e};
    Jit *jit = jit_new(&config);
    if (jit_is_off(jit)) {
        part_leave_out(p, jit_why_off(jit));
    } else {
        for (int first = 0; first < DRAWS * n && done.cases < n; first += BATCH)
            if (!prove_batch(p, jit, first, &done)) break;
        JitStats s = jit_stats(jit);
        char unfit[64] = "";
        if (done.unfit) snprintf(unfit, sizeof unfit, "; %d are not for one kernel", done.unfit);
        part_done(p, "%d fusions, %llu kernels%s", done.cases,
                  (unsigned long long)(s.compiled + s.cached), unfit);
    }
    jit_free(&jit);
    part_close(p, &p->e);
    part_close(p, &p->oracle);
}
