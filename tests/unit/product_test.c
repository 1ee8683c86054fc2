/* product_test: a matmul and the fusion that reads it, computed tile by tile, give the same bits
 * as one after the other: for every way to split the product, with an output in the product's
 * memory and in its own, with kernels of elements and of rows, on any number of threads. Each
 * element is passed exactly once, after it was written. A fusion that takes a few microseconds is
 * not split. (fuse.sh tests whole programs.)
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cpu_engines.h"
#include "worker/emit/fuse.h"
#include <math.h>
#include <stdatomic.h>

enum { SEEN_MAX = 1 << 20 };
static atomic_uchar seen[SEEN_MAX]; /* by element, or row */

/* As the emitter would write relu(t + bias), and t - max(t along the row). */
static void run_elements(const FusedArgs *a, int64_t begin, int64_t end, char *scratch) {
    const float *t = (const float *)a->in[0], *bias = (const float *)a->in[1];
    float *out = (float *)a->out[0];
    for (int64_t i = begin; i < end; i++) {
        float v = t[i] + bias[i % a->line * a->step[1]];
        out[i] = v < 0 ? 0 : v;
        atomic_fetch_add(&seen[i % SEEN_MAX], 1);
    }
}
static void run_rows(const FusedArgs *a, int64_t begin, int64_t end, char *scratch) {
    float *kept = (float *)scratch, *out = (float *)a->out[0];
    for (int64_t r = begin; r < end; r++) {
        const float *t = (const float *)a->in[0] + r * a->n;
        float most = -INFINITY;
        for (int64_t i = 0; i < a->n; i++) {
            kept[i] = t[i];
            most = t[i] > most ? t[i] : most;
        }
        for (int64_t i = 0; i < a->n; i++) out[r * a->n + i] = kept[i] - most;
        atomic_fetch_add(&seen[r % SEEN_MAX], 1);
    }
}

/* Counts elements or rows that were not passed exactly once. */
static int64_t count_wrong(int64_t n) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += atomic_exchange(&seen[i], 0) != 1;
    return wrong;
}

static void try_shape(const int64_t *p, int layout, bool by_rows) {
    int64_t batch = p[0], M = p[1], N = p[2], K = p[3], n = batch * M * N;
    View in[2] = {random_matrix(DT_F32, batch, M, K, layout & 1),
                  random_matrix(DT_F32, batch, K, N, layout & 2)};
    View t = random_matrix(DT_F32, batch, M, N, false),
         own = random_matrix(DT_F32, batch, M, N, false), want = t;
    View bias = random_matrix(DT_F32, 1, 1, N, false);
    bias.type.rank = 1, bias.type.shape[0] = N, bias.stride[0] = 1;
    ((float *)in[0].data)[K / 2] = NAN;
    ((float *)in[1].data)[N / 2] = INFINITY;
    want.data = aligned_alloc(64, (size_t)(n * 4 + 64) / 64 * 64);
    Inst inst = {.op = OP_MATMUL, OPERANDS(of_tensor(0), of_tensor(0)), RESULTS(0)};
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = in};
    FusedKernel k = {.run = by_rows ? run_rows : run_elements,
                     .unit = by_rows ? FUSED_ROWS : FUSED_ELEMENTS,
                     .scratch_n = by_rows ? 4 : 0,
                     .cost = 4};
    Fusion f;
    fuse_init(&f, &t.type, by_rows ? 1 : 0);
    FuseRef r[2] = {fuse_input(&f, &t), fuse_input(&f, &bias)};
    fuse_store(&f, fuse_node(&f, OP_ADD, DT_F32, false, r, 2));
    if (by_rows) fuse_store(&f, fuse_node(&f, OP_MAX, DT_F32, true, r, 1));
    CHECK(fuse_done(&f));
    for (int e = 0; e < N_ENGINES; e++) {
        for (int way = -1; way < 2; way++) { /* apart; in the product's memory; adjacent to it */
            View *to = way < 0 && e == 0 ? &want : way == 1 ? &own : &t;
            call.out[0] = way == 0 ? *to : way == 1 ? t : *to;
            f.args.in[0] = call.out[0].data;
            f.args.out[0] = to->data;
            memset(t.data, 0x7f, (size_t)(n * 4));
            memset(own.data, 0x7f, (size_t)(n * 4));
            if (way < 0) {
                engine[e]->ops->submit(engine[e], &call, NULL, 0);
                CHECK(engine[e]->ops->fused(engine[e], &f, &k));
            } else {
                CHECK(engine[e]->ops->fused_product(engine[e], &call, &f, &k));
            }
            int64_t wrong = count_wrong(by_rows ? batch * M : n);
            CHECK_MSG(!wrong && !memcmp(want.data, to->data, (size_t)(n * 4)),
                      "%lld (%lld,%lld)@(%lld,%lld) layout %d rows %d way %d, %d threads: differs, "
                      "or %lld not seen once",
                      (long long)batch, (long long)M, (long long)K, (long long)K, (long long)N,
                      layout, by_rows, way, threads[e], (long long)wrong);
        }
    }
    View *all[] = {&in[0], &in[1], &t, &own, &want, &bias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->data);
}

static atomic_int n_parts;
static void run_part(const FusedArgs *a, int64_t begin, int64_t end, char *scratch) {
    atomic_fetch_add(&n_parts, 1);
}

/* The number of parts into which a sum, or no sum, over (rows, n) is split on three threads. */
static int parts_of(FusedUnit unit, int64_t rows, int64_t n) {
    View t = {.type = {DT_F32, 2, {rows, n}}, .stride = {n, 1}};
    FusedKernel k = {.run = run_part,
                     .finish = run_part,
                     .unit = unit,
                     .reductions = 1,
                     .columns = unit == FUSED_LEAVES,
                     .cost = 24};
    Fusion f;
    fuse_init(&f, &t.type, unit == FUSED_ELEMENTS ? 0 : 1);
    FuseRef r[2] = {fuse_input(&f, &t), fuse_input(&f, &t)};
    fuse_store(&f, fuse_node(&f, OP_ADD, DT_F32, false, r, 2));
    CHECK(fuse_done(&f));
    atomic_store(&n_parts, 0);
    CHECK(engine[2]->ops->fused(engine[2], &f, &k));
    return atomic_load(&n_parts) - (unit == FUSED_BLOCKS || unit == FUSED_LEAVES);
}

static void test_parts(void) {
    CHECK_INT(parts_of(FUSED_ELEMENTS, 1, 18000), 1);
    CHECK(parts_of(FUSED_ELEMENTS, 1, 20000) > 3);
    CHECK_INT(parts_of(FUSED_BLOCKS, 1, 6500), 1); /* of two blocks */
    CHECK(parts_of(FUSED_BLOCKS, 1, 1 << 16) > 3);
    CHECK_INT(parts_of(FUSED_ROWS, 36, 500), 1);
    CHECK(parts_of(FUSED_ROWS, 40, 500) > 3);
    CHECK_INT(parts_of(FUSED_LEAVES, 36, 250), 1);
    CHECK(parts_of(FUSED_LEAVES, 4096, 250) > 3);
}

int main(void) {
    engines_open(1 << 22);
    static const int64_t shapes[][4] = {
        /* batch, M, N, K: one tile, tiles of rows, of columns, of both; our own kernel; many small
           ones */
        {1, 64, 64, 64},    {1, 300, 128, 200}, {1, 32, 900, 300}, {1, 520, 700, 150},
        {1, 530, 1030, 20}, {1, 5, 7, 3},       {1, 1, 700, 400},  {48, 64, 64, 32},
        {7, 33, 17, 65},    {3, 300, 1, 100},   {1, 513, 7, 2000}, {2, 130, 258, 270},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int layout = 0; layout < 4; layout++)
            for (int by_rows = 0; by_rows < 2; by_rows++) {
                if (by_rows && shapes[s][2] < 2) continue;
                try_shape(shapes[s], layout, by_rows);
            }
    test_parts();
    engines_close();
    return check_report("product");
}
