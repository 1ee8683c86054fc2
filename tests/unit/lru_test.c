/* lru_test.c: eviction and admission, against a plain array; with a cycle of more entries than
 * there is room for, and with entries that are used once.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/lru.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include <stdlib.h>

enum { ITEMS = 40 };

static void test_against_model(uint64_t seed) {
    Rand r = {seed};
    Lru *l = calloc(1, sizeof *l);
    LruItem item[ITEMS];
    uint64_t used[ITEMS] = {0}, bytes = 0;
    for (int step = 1; step < 20000; step++) {
        int k = rand_below(&r, ITEMS);
        if (!used[k]) {
            lru_add(l, &item[k], (uint64_t)k);
            used[k] = (uint64_t)step, bytes += (uint64_t)k;
        } else if (rand_below(&r, 3)) {
            lru_use(l, &item[k]);
            used[k] = (uint64_t)step;
        } else {
            lru_remove(l, &item[k]);
            used[k] = 0, bytes -= (uint64_t)k;
        }
        int oldest = -1, n = 0;
        for (int i = 0; i < ITEMS; i++) {
            if (!used[i]) continue;
            n++;
            if (oldest < 0 || used[i] < used[oldest]) oldest = i;
        }
        CHECK(l->n == (uint64_t)n && l->bytes == bytes);
        CHECK(l->oldest == (oldest < 0 ? NULL : &item[oldest]));
    }
    free(l);
}

/* `kinds` in a cycle, of which `room` are kept; returns the hits in the last cycle. */
static int go_round(Lru *l, LruItem *item, bool *is_in, int kinds, int room, int times) {
    int found = 0;
    for (int t = 0; t < times; t++) {
        found = 0;
        for (int k = 0; k < kinds; k++) {
            found += is_in[k];
            if (is_in[k]) lru_use(l, &item[k]);
            if (is_in[k] || !lru_admits(l, (uint64_t)k, 1, (uint64_t)room)) continue;
            while (l->bytes + 1 > (uint64_t)room) {
                is_in[l->oldest - item] = false;
                lru_remove(l, l->oldest);
            }
            lru_add(l, &item[k], 1);
            is_in[k] = true;
        }
    }
    return found;
}

int main(int argc, char **argv) {
    uint64_t seed = rand_seed(argc, argv);
    test_against_model(seed);
    enum { MANY = 3000 };
    static LruItem item[MANY];
    static bool is_in[MANY];
    static Lru l;
    CHECK_INT(go_round(&l, item, is_in, 100, 1000, 2), 0); /* used once */
    CHECK_INT(go_round(&l, item, is_in, 100, 1000, 2), 100);
    /* A cycle of more entries than there is room for: most of the room still gives hits. */
    CHECK(go_round(&l, item, is_in, MANY, 1000, 20) > 600);
    CHECK(l.n == 1000);
    /* Entries that are used from now on are admitted, whatever was used before. */
    CHECK_INT(go_round(&l, item, is_in, 900, 1000, 20), 900);
    CHECK(!lru_admits(&l, 7, 1001, 1000));
    CHECK(!lru_admits(&l, 7, 1001, 1000));
    return check_report("lru");
}
