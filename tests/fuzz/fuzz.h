/* fuzz.h: a main for fuzz programs that works with any compiler. A program defines
 * LLVMFuzzerTestOneInput and fuzz_seed (its built-in inputs) and includes this last.
 *
 * NAME_fuzz FILE ...          replays files
 * NAME_fuzz -n RUNS -s SEED   runs that many mutations of the built-in inputs; the same numbers
 * give the same runs
 *
 * With libFuzzer: build with -DLIBFUZZER -fsanitize=fuzzer.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_FUZZ_FUZZ_H
#define GT_TESTS_FUZZ_FUZZ_H
#include "runtime/base/arena.h"
#include "tests/unit/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
/* Appends the i-th valid input to an empty string; i has no limit. */
static void fuzz_seed(Rand *r, Bytes *out);

#ifndef LIBFUZZER
enum { FUZZ_INPUT_MAX = 1 << 16 };

static void fuzz_remove(Rand *r, Bytes *b) {
    if (b->n == 0) return;
    size_t at = rand_u64(r) % b->n, n = 1 + rand_u64(r) % 16;
    if (n > b->n - at) n = b->n - at;
    memmove(b->data + at, b->data + at + n, b->n - at - n);
    b->n -= n;
}

/* Copies a piece of the input to another place. */
static void fuzz_repeat(Rand *r, Bytes *b) {
    if (b->n == 0) return;
    char piece[64];
    size_t from = rand_u64(r) % b->n, n = 1 + rand_u64(r) % sizeof piece, at = rand_u64(r) % b->n;
    if (n > b->n - from) n = b->n - from;
    memcpy(piece, b->data + from, n);
    bytes_reserve(b, n);
    memmove(b->data + at + n, b->data + at, b->n - at);
    memcpy(b->data + at, piece, n);
    b->n += n;
}

/* Replaces one, two, four or eight bytes by a boundary value. */
static void fuzz_number(Rand *r, Bytes *b) {
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     7,
                                     8,
                                     64,
                                     127,
                                     128,
                                     255,
                                     256,
                                     4096,
                                     65535,
                                     65536,
                                     1u << 20,
                                     INT32_MAX,
                                     UINT32_MAX,
                                     INT64_MAX,
                                     UINT64_MAX,
                                     UINT64_MAX - 7};
    size_t width = (size_t)1 << rand_below(r, 4);
    if (b->n < width) return;
    uint64_t v = edges[rand_below(r, (int)(sizeof edges / sizeof *edges))];
    memcpy(b->data + rand_u64(r) % (b->n - width + 1), &v, width);
}

/* One input in FUZZ_CALM is not mutated, for programs that valid inputs test deeply. */
#ifndef FUZZ_CALM
#define FUZZ_CALM 6
#endif

static void fuzz_mutate(Rand *r, Bytes *b) {
    if (rand_below(r, FUZZ_CALM) == 0) return;
    for (int k = 1 + rand_below(r, 5); k > 0; k--) {
        switch (rand_below(r, 6)) {
        case 0: fuzz_remove(r, b); break;
        case 1: fuzz_repeat(r, b); break;
        case 2: fuzz_number(r, b); break;
        case 3:
            if (b->n) b->n = rand_u64(r) % b->n;
            break;
        case 4:
            if (b->n) b->data[rand_u64(r) % b->n] = (char)rand_u64(r);
            break;
        default:
            if (b->n) b->data[rand_u64(r) % b->n] ^= (char)(1 << rand_below(r, 8));
        }
    }
    if (b->n > FUZZ_INPUT_MAX) b->n = FUZZ_INPUT_MAX;
}

/* The input is malloc'ed with its exact size, so that ASan detects over-reads. */
static void fuzz_one(const Bytes *b) {
    uint8_t *exact = malloc(b->n ? b->n : 1);
    if (!exact) exit(1);
    if (b->n) memcpy(exact, b->data, b->n);
    LLVMFuzzerTestOneInput(exact, b->n);
    free(exact);
}

static int fuzz_replay(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    Bytes b = {0};
    char buf[4096];
    for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) bytes_add(&b, buf, n);
    fclose(f);
    fuzz_one(&b);
    bytes_fini(&b);
    return 0;
}

int main(int argc, char **argv) {
    long long runs = 0;
    Rand r = {1};
    for (int c; (c = getopt(argc, argv, "n:s:")) != -1;) {
        if (c == 'n')
            runs = strtoll(optarg, NULL, 10);
        else if (c == 's')
            r.state = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    int failed = 0;
    for (int i = optind; i < argc; i++) failed |= fuzz_replay(argv[i]);
    Bytes b = {0};
    for (long long i = 0; i < runs; i++) {
        b.n = 0;
        fuzz_seed(&r, &b);
        fuzz_mutate(&r, &b);
        fuzz_one(&b);
    }
    bytes_fini(&b);
    printf("%lld runs, %d files\n", runs, argc - optind);
    return failed;
}
#endif
#endif
