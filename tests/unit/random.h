/* random.h: random numbers for tests, from a seed that the test prints, and the number of random
 * rounds. `make test` runs a few, always the same; `make soak` runs $SOAK times as many, each time
 * from another $SOAK_SEED.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_RANDOM_H
#define GT_TESTS_UNIT_RANDOM_H
#include "worker/prove/rand.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The seed of a test: its first argument, else $SOAK_SEED, else 1. Printed. */
__attribute__((unused)) static uint64_t rand_seed(int argc, char **argv) {
    const char *text = argc > 1 ? argv[1] : getenv("SOAK_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
    printf("seed %llu\n", (unsigned long long)seed);
    return seed;
}

/* The number of rounds, where `make test` has n. */
__attribute__((unused)) static int rand_rounds(int n) {
    const char *text = getenv("SOAK");
    int factor = text ? atoi(text) : 1;
    return factor > 1 ? n * factor : n;
}
#endif
