/* map_test.c: random operations against a plain array; ids that come in order, as they usually do,
 * and keys that collide.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/fifo.h"
#include "runtime/base/map.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"

enum { KEYS = 512 };

static void test_against_model(uint64_t seed) {
    Rand r = {seed};
    static char cells[KEYS];
    void *model[KEYS] = {0};
    size_t n = 0;
    Map m = {0};
    for (int step = 0; step < 200000; step++) {
        int k = rand_below(&r, step % 20000 < 10000 ? KEYS : 40);
        uint64_t key = k % 3 ? (uint64_t)k : (uint64_t)k << 40;
        switch (rand_below(&r, 3)) {
        case 0:
            n += !model[k];
            model[k] = &cells[rand_below(&r, KEYS)];
            map_put(&m, key, model[k]);
            break;
        case 1:
            CHECK(map_remove(&m, key) == model[k]);
            n -= model[k] != NULL;
            model[k] = NULL;
            break;
        default: CHECK(map_get(&m, key) == model[k]);
        }
        if (m.n != n) break;
    }
    CHECK_INT(m.n, n);
    size_t seen = 0;
    for (MapItem it = {0}; map_next(&m, &it);) {
        size_t k = it.key >> 40 ? it.key >> 40 : it.key;
        CHECK(k < KEYS && model[k] == it.value);
        seen++;
    }
    CHECK_INT(seen, n);
    map_fini(&m);
}

/* A window over ids: the table must not grow with the number of ids ever seen. */
static void test_window(void) {
    Map m = {0};
    char cell;
    for (uint64_t id = 0; id < 100000; id++) {
        map_put(&m, id, &cell);
        if (id >= 100) CHECK(map_remove(&m, id - 100) == &cell);
    }
    CHECK(m.n == 100 && m.cap <= 512);
    CHECK(!map_get(&m, 5) && !map_remove(&m, 5));
    map_fini(&m);
    CHECK(!map_get(&m, 1));
}

/* The queue of fifo.h, against counts of what was pushed and popped; it grows while it wraps. */
static void test_fifo(Rand *r) {
    Fifo f = {0};
    uint64_t in = 0, out = 0;
    for (int i = 0; i < 5000; i++) {
        for (int n = rand_below(r, i < 2500 ? 4 : 3); n > 0; n--)
            *(uint64_t *)fifo_push(&f, sizeof in) = in++;
        for (int n = rand_below(r, 3); n > 0 && f.n; n--, fifo_pop(&f), out++)
            CHECK(*(uint64_t *)fifo_at(&f, 0) == out);
        CHECK(f.n == in - out);
        if (f.n) CHECK(*(uint64_t *)fifo_at(&f, f.n - 1) == in - 1);
    }
    CHECK(f.cap >= f.n && f.n > 100);
    fifo_fini(&f);
}

int main(int argc, char **argv) {
    uint64_t seed = rand_seed(argc, argv);
    test_against_model(seed);
    test_window();
    test_fifo(&(Rand){seed});
    CHECK(hash_bytes("", 0, 0) == 0xcbf29ce484222325u); /* FNV-1a's published vectors */
    CHECK(hash_bytes("foobar", 6, 0) == 0x85944171f73967e8u);
    return check_report("map");
}
