/* choice_test: choosing whether a fusion is fused. At first both ways are tried, then the faster
 * one is used, separately for each size. One bad measurement does not decide, and a change is
 * noticed.
 * SPDX-License-Identifier: MIT */
#include "worker/jit/choice.h"
#include "tests/unit/check.h"
#include <string.h>

/* Runs n fusions of so many elements, which take the given times either way. Returns how many were
 * fused. */
static int run(Choice *c, int n, int64_t elements, int64_t eager_ns, int64_t fused_ns, int *timed) {
    int fused = 0;
    *timed = 0;
    for (int i = 0; i < n; i++) {
        ChoiceTrial *t = choice_trial(c, elements, 0);
        bool is_timed;
        Way way = choice_way(t, &is_timed);
        fused += way == WAY_FUSED;
        *timed += is_timed;
        if (is_timed) choice_report(t, way, elements, way == WAY_FUSED ? fused_ns : eager_ns);
    }
    return fused;
}

int main(void) {
    Choice c = {0};
    int timed;
    /* Faster, then slower, after few measurements. */
    CHECK_INT(run(&c, 1000, 4096, 9000, 3000, &timed), 1000 - 3 - 3);
    CHECK_INT(timed, 12);
    memset(&c, 0, sizeof c);
    CHECK_INT(run(&c, 400, 4096, 3000, 9000, &timed), 3);
    CHECK_INT(timed, 6);
    /* Another size of the same kernel is decided separately; a similar size is not. */
    CHECK_INT(run(&c, 400, 1 << 20, 900000, 300000, &timed), 397);
    CHECK_INT(run(&c, 50, 4097, 3000, 9000, &timed), 0);
    /* With a product of some depth, or none. */
    CHECK(choice_trial(&c, 4096, 100) != choice_trial(&c, 4096, 0));
    CHECK(choice_trial(&c, 4096, 100) == choice_trial(&c, 4100, 127));
    CHECK(choice_trial(&c, 4096, 100) != choice_trial(&c, 4096, 200));
    /* The other way becomes faster: noticed when it is measured again, at growing intervals. */
    memset(&c, 0, sizeof c);
    run(&c, 400, 100, 1000, 2000, &timed);
    CHECK(run(&c, 1000, 100, 2000, 1000, &timed) > 800);
    run(&c, 1000000, 100, 2000, 1000, &timed);
    CHECK(timed < 100);
    /* One long time, from a busy core, does not decide. */
    memset(&c, 0, sizeof c);
    for (int i = 0; i < 6; i++) {
        bool is_timed;
        ChoiceTrial *t = choice_trial(&c, 100, 0);
        Way way = choice_way(t, &is_timed);
        CHECK(is_timed);
        choice_report(t, way, 100, i % 3 == 0 ? 5000000 : way == WAY_FUSED ? 1000 : 2000);
    }
    CHECK_INT(run(&c, 100, 100, 2000, 1000, &timed), 100);
    /* More sizes than there is room for, alternating: there is always an answer. */
    memset(&c, 0, sizeof c);
    for (int i = 0; i < 1000; i++) run(&c, 1, INT64_C(1) << i % 50, 100, 50, &timed);
    run(&c, 1, 0, 100, 50, &timed);
    /* As many as there is room for are all kept; used ones stay while others come and go. */
    memset(&c, 0, sizeof c);
    for (int bit = 0; bit < CHOICE_SIZES; bit++)
        run(&c, 100, INT64_C(1) << bit, 3000, 9000, &timed);
    for (int bit = 0; bit < CHOICE_SIZES; bit++) {
        CHECK_INT(run(&c, 1, INT64_C(1) << bit, 3000, 9000, &timed), 0);
        CHECK_INT(timed, 0);
    }
    memset(&c, 0, sizeof c);
    run(&c, 100, 4096, 3000, 9000, &timed);
    for (int i = 0; i < 200; i++) {
        run(&c, 1, INT64_C(1) << i % 50, 9000, 3000, &timed);
        CHECK_INT(run(&c, 1, 4096, 3000, 9000, &timed), 0);
    }
    run(&c, 1, INT64_MAX, 100, 50, &timed);
    return check_report("choice");
}
