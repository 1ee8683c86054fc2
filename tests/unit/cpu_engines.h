/* cpu_engines.h: the cpu engine on one thread and on several: their bits must be the same. Random
 * tensors of floats.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_CPU_ENGINES_H
#define GT_TESTS_UNIT_CPU_ENGINES_H
#include "runtime/inst/element.h"
#include "tests/unit/check.h"
#include "tests/unit/make_inst.h"
#include "worker/engine/engine.h"

static const int threads[] = {1, 2, 3, 8};
enum { N_ENGINES = 4 };
static Engine *engine[N_ENGINES];

static inline void engines_open(uint64_t memory_bytes) {
    Err err = {0};
    for (int e = 0; e < N_ENGINES; e++) {
        EngineConfig config = {.memory_bytes = memory_bytes, .threads = threads[e]};
        engine[e] = engine_cpu.open(&config, &err);
        CHECK(engine[e] != NULL);
    }
}

/* All memory must be free. */
static inline void engines_close(void) {
    for (int e = 0; e < N_ENGINES; e++) {
        uint64_t used, peak, total;
        engine[e]->ops->memory(engine[e], &used, &peak, &total);
        CHECK_INT(used, 0);
        engine_cpu.close(&engine[e]);
    }
}

/* In [0, 1). */
static inline double rnd_unit(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) * 0x1p-24;
}

/* Gives v memory of its own, filled with numbers in [-0.5, 0.5). */
static inline void fill_random(View *v) {
    int64_t n = type_numel(&v->type);
    v->data = aligned_alloc(64, (size_t)(n * 8 + 64) / 64 * 64);
    for (int64_t i = 0; i < n; i++) {
        element_set_float((DType)v->type.dtype,
                          (char *)v->data + i * dtype_info[v->type.dtype].size_bytes,
                          rnd_unit() - 0.5);
    }
}

/* A (rows, columns) matrix of a batch; transposed: columns are outermost in memory. */
static inline View random_matrix(DType d, int64_t batch, int64_t rows, int64_t columns,
                                 bool is_transposed) {
    View v = {.type = {(uint8_t)d, 3, {batch, rows, columns}}};
    v.stride[0] = rows * columns;
    v.stride[1] = is_transposed ? 1 : columns;
    v.stride[2] = is_transposed ? rows : 1;
    fill_random(&v);
    return v;
}

static inline double element_at(const View *v, const int64_t *i) {
    int64_t k = 0;
    for (int d = 0; d < v->type.rank; d++) k += i[d] * v->stride[d];
    return v->type.dtype == DT_F32 ? (double)((float *)v->data)[k] : ((double *)v->data)[k];
}

/* Runs the call twice on each engine; the bits of its first result must be the same. Leaves it in
 * out[0].data, which the caller frees. */
static inline void run_all(Call *call, const char *what) {
    View *o = &call->out[0];
    size_t bytes = (size_t)type_bytes(&o->type);
    char *first = NULL;
    for (int e = 0; e < N_ENGINES; e++) {
        char *out = aligned_alloc(64, (bytes + 64) / 64 * 64);
        o->data = out;
        for (int again = 0; again < 2; again++) {
            memset(out, 0x7f, bytes);
            Err err = {0};
            Ticket t = engine[e]->ops->submit(engine[e], call, NULL, 0);
            int done = engine[e]->ops->done(engine[e], t, true, &err);
            CHECK_MSG(done == 1, "%s: %s", what, err.text);
            if (!first) continue;
            CHECK_MSG(!memcmp(first, out, bytes), "%s: %d threads differ", what, threads[e]);
        }
        if (first)
            free(out);
        else
            first = out;
    }
    o->data = first;
}
#endif
