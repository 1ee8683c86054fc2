/* heap_test.c: freed memory is used again without faults, as the programs keep it.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/heap.h"
#include "tests/unit/check.h"
#include <sys/resource.h>

enum { ROUNDS = 50, PARTS = 3 };

/* Writes three blocks of some MiB, which lie at the heap's end, and frees them. */
static void come_and_go(void) {
    static const size_t bytes[PARTS] = {1 << 20, 5 << 20, 6 << 20};
    char *volatile part[PARTS];
    for (int i = 0; i < PARTS; i++) memset(part[i] = malloc(bytes[i]), i, bytes[i]);
    for (int i = PARTS - 1; i >= 0; i--) free(part[i]);
}

int main(void) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    puts("heap: skipped, because a sanitizer has a heap of its own");
    return 0;
#endif
    struct rusage before, after;
    heap_keep();
    come_and_go();
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < ROUNDS; i++) come_and_go();
    getrusage(RUSAGE_SELF, &after);
    long faults = after.ru_minflt - before.ru_minflt;
    CHECK_MSG(faults < 3000, "%ld faults", faults); /* 3072 pages a round if they are given back */
    return check_report("heap");
}
