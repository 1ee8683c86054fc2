/* floor: the machine's limits, as a racer of race.c: reads lines "WAY NAME SECONDS" and answers
 * each with the seconds of one round, measured over about so many seconds, or "-".
 *
 *   gelu, adam     memcpy of the bytes that must be read and written, on as many threads
 *   matmul_*       the product by plain oneDNN; matmul_nt_256 is a @ b.T, both 256 by 256
 *   mlp, charlm    the matrix products of the step alone, by plain oneDNN
 *
 * Usage: floor THREADS
 * SPDX-License-Identifier: MIT */
#include "tests/bench/bare.h"
#include "tests/bench/clock.h"
#include "worker/engine/pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PRODUCTS = 96, HUGE_PAGE = 2 << 20 };

static Pool *pool;
static int threads;

/* A round: copies, or products. */
typedef struct Round {
    char *from, *to;
    size_t n_bytes; /* bytes to copy: half of those read and written */
    Bare product[PRODUCTS];
    int repeats[PRODUCTS];
    float *data[3 * PRODUCTS];
    int n_products, n_data;
} Round;

/* In large pages, like a worker's arena. */
static void *memory(size_t bytes) {
    size_t n = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *p = aligned_alloc(bytes < HUGE_PAGE ? 4096 : HUGE_PAGE, n);
    if (!p) exit(1);
    if (bytes >= HUGE_PAGE) madvise(p, n, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}
static void copies(Round *r, size_t n_bytes) {
    r->n_bytes = n_bytes;
    r->from = memory(n_bytes);
    r->to = memory(n_bytes);
}
static void copy_part(void *ctx, int part, int thread) {
    const Round *r = ctx;
    size_t begin = r->n_bytes / (size_t)threads * (size_t)part;
    size_t n = part == threads - 1 ? r->n_bytes - begin : r->n_bytes / (size_t)threads;
    memcpy(r->to + begin, r->from + begin, n);
    (void)thread;
}
static float *numbers(Round *r, int64_t n) {
    float *p = r->data[r->n_data++] = memory((size_t)n * 4);
    for (int64_t i = 0; i < n; i++) p[i] = (float)(i % 1000) * 0.003f - 1.2f;
    return p;
}
static void product(Round *r, int repeats, int64_t M, int64_t N, int64_t K, bool a_t, bool b_t) {
    bare_init(&r->product[r->n_products], M, N, K, a_t, b_t, numbers(r, M * K), numbers(r, K * N),
              numbers(r, M * N));
    r->repeats[r->n_products++] = repeats;
}
/* y = x @ w.T of B rows, and its gradients with respect to w and (unless x is data) x. */
static void linear(Round *r, int repeats, int64_t B, int64_t n_in, int64_t n_out, bool is_data) {
    product(r, repeats, B, n_out, n_in, false, true);
    product(r, repeats, n_out, n_in, B, true, false);
    if (!is_data) product(r, repeats, B, n_in, n_out, false, false);
}
static void run(void *ctx) {
    Round *r = ctx;
    if (r->n_bytes) pool_run(pool, threads, copy_part, r);
    for (int i = 0; i < r->n_products; i++)
        for (int k = 0; k < r->repeats[i]; k++) bare_run(&r->product[i]);
}

static bool make(Round *r, const char *name) {
    int64_t n;
    char how[3];
    memset(r, 0, sizeof *r);
    if (!strcmp(name, "gelu")) {
        copies(r, 4096 * 1024 * 4);
        return true;
    }
    if (!strcmp(name, "adam")) { /* p, m, v, g are read, p, m, v are written */
        copies(r, 10000000u * 4 * 7 / 2);
        return true;
    }
    if (!bare_open()) return false;
    bare_threads(threads);
    if (sscanf(name, "matmul_%2[nt]_%ld", how, &n) == 2) {
        product(r, 1, n, n, n, how[0] == 't', how[1] == 't');
        return true;
    }
    if (!strcmp(name, "mlp")) {
        linear(r, 1, 128, 784, 256, true);
        linear(r, 1, 128, 256, 10, false);
        return true;
    }
    if (!strcmp(name, "charlm")) { /* 12 times 64 rows, 4 layers, 12 times 4 heads of 64 x 32 */
        linear(r, 4, 768, 128, 384, false);
        linear(r, 4, 768, 128, 128, false);
        linear(r, 4, 768, 128, 512, false);
        linear(r, 4, 768, 512, 128, false);
        linear(r, 1, 768, 128, 256, false);
        linear(r, 4 * 48, 64, 32, 64, false); /* q @ k.T */
        linear(r, 4 * 48, 64, 64, 32, false); /* att @ v */
        return true;
    }
    return false;
}
static void clear(Round *r) {
    for (int i = 0; i < r->n_products; i++) bare_fini(&r->product[i]);
    for (int i = 0; i < r->n_data; i++) free(r->data[i]);
    free(r->from);
    free(r->to);
    memset(r, 0, sizeof *r);
}

int main(int argc, char **argv) {
    static Round round;
    char way[32], name[64], current[64] = "";
    double seconds;
    threads = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 1;
    pool = pool_new(threads);
    while (scanf("%31s %63s %lf", way, name, &seconds) == 3) {
        if (strcmp(name, current)) {
            clear(&round);
            strcpy(current, make(&round, name) ? name : "");
            for (int i = 0; *current && i < 3; i++) run(&round);
        }
        if (*current) {
            double once = now_s();
            run(&round);
            once = now_s() - once;
            int n = 1 + (int)(seconds / (once > 1e-7 ? once : 1e-7));
            double begin = now_s();
            for (int i = 0; i < n; i++) run(&round);
            printf("%.9f\n", (now_s() - begin) / n);
        } else {
            printf("-\n");
        }
        fflush(stdout);
    }
    clear(&round);
    pool_free(&pool);
    return 0;
}
