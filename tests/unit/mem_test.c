/* mem_test.c: the arena against a naive model. Blocks of random sizes never overlap, keep their
 * bytes, are aligned and counted; when all is freed the arena is one free block again; long runs of
 * mixed sizes do not fragment it.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "random.h"
#include "worker/engine/mem.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 400 };
typedef struct Slot {
    unsigned char *p;
    uint64_t bytes;
    unsigned char mark;
} Slot;

static uint64_t state;
static uint64_t next_random(uint64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 16) % n;
}
static uint64_t used_of(const Mem *m) {
    uint64_t used, peak, total;
    mem_usage(m, &used, &peak, &total);
    return used;
}
static uint64_t some_size(void) {
    switch (next_random(4)) {
    case 0: return next_random(300);
    case 1: return 64 * next_random(64);
    case 2: return next_random(40000);
    default: return next_random(3 << 20);
    }
}
static int is_intact(const Slot *s) {
    for (uint64_t i = 0; i < s->bytes; i += 37)
        if (s->p[i] != s->mark) return 0;
    return !s->bytes || s->p[s->bytes - 1] == s->mark;
}

/* Resident pages of [p, p + bytes). */
static int pages_in(const void *p, uint64_t bytes) {
    static unsigned char in[(8 << 20) / 4096 + 1];
    int n = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    void *begin = (void *)((uintptr_t)p / page * page);
    if (mincore(begin, bytes, in)) return -1;
    for (uint64_t i = 0; i < bytes / page; i++) n += in[i] & 1;
    return n;
}

/* Pages of freed blocks return to the system, those of live ones stay, and all can be allocated
 * again. */
static void test_trim(bool is_shared) {
    Err err = {0};
    enum { BYTES = 8 << 20 };
    Mem *m = mem_open(64 << 20, is_shared, &err);
    unsigned char *gone = mem_alloc(m, BYTES), *small = mem_alloc(m, 100),
                  *stays = mem_alloc(m, BYTES);
    memset(gone, 1, BYTES), memset(stays, 2, BYTES), memset(small, 3, 100);
    CHECK(pages_in(gone, BYTES) > 2000);
    mem_release(m, gone, BYTES);
    mem_trim(m);
    CHECK(pages_in(gone, BYTES) < 20);
    CHECK(pages_in(stays, BYTES) > 2000);
    int bad = 0;
    for (int i = 0; i < BYTES; i += 97) bad += stays[i] != 2;
    for (int i = 0; i < 100; i++) bad += small[i] != 3;
    CHECK_INT(bad, 0);
    gone = mem_alloc(m, BYTES);
    CHECK(gone);
    memset(gone, 4, BYTES);
    mem_release(m, gone, BYTES), mem_release(m, stays, BYTES), mem_release(m, small, 100);
    mem_trim(m);
    CHECK(mem_has(m, 60 << 20) && used_of(m) == 0);
    mem_close(&m);
}

static void test_model(uint64_t seed) {
    state = seed;
    Err err = {0};
    Mem *m = mem_open(64 << 20, false, &err);
    CHECK(m);
    static Slot slot[SLOTS];
    memset(slot, 0, sizeof slot);
    int bad = 0, full = 0;
    uint64_t asked = 0;
    for (int step = 0; step < 12000; step++) {
        Slot *s = &slot[next_random(SLOTS)];
        if (s->p) {
            bad += !is_intact(s);
            mem_release(m, s->p, s->bytes);
            asked -= s->bytes;
            s->p = NULL;
            continue;
        }
        s->bytes = some_size();
        s->p = mem_alloc(m, s->bytes);
        if (!s->p) {
            full++;
            continue;
        }
        asked += s->bytes;
        bad += (uintptr_t)s->p % 64 != 0;
        for (int i = 0; i < SLOTS; i++) {
            const Slot *o = &slot[i];
            if (o != s && o->p) bad += s->p < o->p + o->bytes && o->p < s->p + s->bytes;
        }
        s->mark = (unsigned char)(1 + next_random(255));
        memset(s->p, s->mark, s->bytes);
        bad += used_of(m) < asked;
    }
    CHECK_MSG(!bad, "seed %llu: %d violations", (unsigned long long)seed, bad);
    CHECK_MSG(full > 0, "the arena was never full: the test tests too little");
    for (int i = 0; i < SLOTS; i++)
        if (slot[i].p) mem_release(m, slot[i].p, slot[i].bytes);
    CHECK_INT(used_of(m), 0);
    void *all = mem_alloc(m, (64 << 20) - 4096);
    CHECK_MSG(all != NULL, "freed neighbours did not melt together");
    mem_release(m, all, (64 << 20) - 4096);
    mem_close(&m);
    CHECK(!m);
}

static void test_limits(void) {
    Mem *m = mem_open(1 << 20, false, NULL);
    uint64_t used, peak, total;
    mem_usage(m, &used, &peak, &total);
    CHECK_INT(used, 0);
    CHECK_INT(total, 1 << 20);
    void *a = mem_alloc(m, 0), *b = mem_alloc(m, 0);
    CHECK(a && b && a != b);
    CHECK(!mem_alloc(m, 2 << 20));
    CHECK(!mem_alloc(m, UINT64_MAX));
    CHECK(!mem_alloc(m, UINT64_MAX - 64));
    void *half = mem_alloc(m, 1 << 19);
    CHECK(half && !mem_alloc(m, 1 << 19));
    mem_release(m, half, 1 << 19);
    mem_release(m, a, 0);
    mem_release(m, b, 0);
    mem_usage(m, &used, &peak, &total);
    CHECK_INT(used, 0);
    CHECK(peak >= 1 << 19);
    mem_close(&m);
    CHECK_FAIL(mem_open(UINT64_MAX, false, &err), ERR_MEMORY);
    CHECK(mem_default_bytes(1) >= 64 << 20);
    CHECK(mem_default_bytes(1000000) == 64 << 20);
}

/* A loop that frees what it allocates always gets the same place: a request tries its own size
 * class first. */
static void test_reuse(void) {
    Err err = {0};
    Mem *m = mem_open(16 << 20, false, &err);
    uint64_t sizes[] = {4, 100, 16384, 16448, 100000, 1000448, 2 << 20};
    for (int i = 0; i < 7; i++) {
        void *keep = mem_alloc(m, 64), *p = mem_alloc(m, sizes[i]);
        for (int j = 0; j < 100; j++) {
            mem_release(m, p, sizes[i]);
            void *q = mem_alloc(m, sizes[i]);
            CHECK(p == q);
            p = q;
        }
        mem_release(m, p, sizes[i]);
        mem_release(m, keep, 64);
    }
    mem_close(&m);
}

/* Steps of a training loop: parameters are replaced one by one, activations allocated and freed in
 * reverse, and sometimes a small tensor stays. The arena is 1.5 times the live bytes; nothing may
 * fail. */
static void test_long_run(uint64_t seed) {
    state = seed;
    Err err = {0};
    Mem *m = mem_open(96 << 20, false, &err);
    enum { PARAMS = 24, ACTS = 40, KEPT = 512 };
    void *param[PARAMS], *act[ACTS], *kept[KEPT] = {0};
    uint64_t act_bytes[ACTS];
    int failed = 0;
    for (int i = 0; i < PARAMS; i++)
        failed += !(param[i] = mem_alloc(m, 65536u * (unsigned)(1 + i % 8)));
    for (int step = 0; step < 2000 && !failed; step++) {
        for (int i = 0; i < ACTS; i++) {
            act_bytes[i] = 1000 + next_random(2 << 20);
            failed += !(act[i] = mem_alloc(m, act_bytes[i]));
            void **k = &kept[next_random(KEPT)];
            if (*k) mem_release(m, *k, 40);
            *k = mem_alloc(m, 40);
        }
        for (int i = ACTS - 1; i >= 0 && !failed; i--) mem_release(m, act[i], act_bytes[i]);
        for (int i = 0; i < PARAMS && !failed; i++) {
            uint64_t bytes = 65536u * (unsigned)(1 + i % 8);
            void *fresh = mem_alloc(m, bytes);
            failed += !fresh;
            mem_release(m, param[i], bytes);
            param[i] = fresh;
        }
    }
    CHECK_MSG(!failed, "seed %llu: the arena splintered", (unsigned long long)seed);
    mem_close(&m);
}

/* An arena that other processes can map: its file has the arena's size, is sparse, cannot shrink,
 * and shows what is written here. */
static void test_shared(void) {
    Err err = {0};
    Mem *m = mem_open(UINT64_C(1) << 36, true, &err);
    CHECK_MSG(m != NULL, "%s", err.text);
    void *base;
    uint64_t bytes;
    int fd;
    mem_range(m, &base, &bytes, &fd);
    CHECK_INT(bytes, INT64_C(1) << 36);
    struct stat s = {0};
    CHECK(fd >= 0 && !fstat(fd, &s));
    CHECK_INT(s.st_size, bytes);
    CHECK(s.st_blocks < 10000); /* of 512 bytes: 5 of 65536 MB */
    signal(SIGXFSZ, SIG_IGN);   /* the runner's limit is checked before the seal */
    CHECK(ftruncate(fd, 4096) < 0 && ftruncate(fd, INT64_C(1) << 37) < 0);
    char *p = mem_alloc(m, 5 << 20);
    CHECK(p > (char *)base && p + (5 << 20) < (char *)base + bytes);
    memset(p, 7, 5 << 20);
    const char *other = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(other != MAP_FAILED);
    CHECK(!memcmp(other + (p - (char *)base), p, 5 << 20));
    mem_release(m, p, 5 << 20);
    mem_close(&m);
    munmap((void *)other, bytes);
    m = mem_open(1 << 20, false, &err);
    mem_range(m, &base, &bytes, &fd);
    CHECK_INT(fd, -1);
    mem_close(&m);
}

/* If files may not be that long, the arena is private memory. */
static void test_file_limit(void) {
    struct rlimit before, small;
    Err err = {0};
    void *base;
    uint64_t bytes;
    int fd;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_FSIZE, &small);
    Mem *m = mem_open(4 << 20, true, &err);
    mem_range(m, &base, &bytes, &fd);
    CHECK(fd >= 0);
    getrlimit(RLIMIT_FSIZE, &small);
    CHECK_INT(small.rlim_cur, 1 << 20);
    mem_close(&m);
    pid_t pid = fork(); /* The hard limit cannot be raised again. */
    if (pid == 0) {
        small.rlim_max = small.rlim_cur;
        setrlimit(RLIMIT_FSIZE, &small);
        m = mem_open(4 << 20, true, &err);
        if (m) mem_range(m, &base, &bytes, &fd);
        _exit(m && fd == -1 ? 0 : 1);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
    setrlimit(RLIMIT_FSIZE, &before);
}

/* An arena that another worker of the process refers to is readable after its end. */
static void test_held(void) {
    Err err = {0};
    Mem *m = mem_open(1 << 20, false, &err), *other = mem_open(1 << 20, false, &err);
    void *base;
    uint64_t bytes;
    int fd;
    mem_range(m, &base, &bytes, &fd);
    char *p = mem_alloc(m, 100);
    strcpy(p, "still here");
    CHECK(!mem_ref(NULL, bytes));
    CHECK(!mem_ref(p, bytes));
    CHECK(!mem_ref(base, bytes + 4096));
    CHECK(mem_ref(base, bytes));
    CHECK(mem_ref(base, bytes));
    mem_close(&m);
    CHECK_STR(p, "still here");
    mem_unref(base);
    CHECK_STR(p, "still here");
    mem_unref(base);
    CHECK(!mem_ref(base, bytes));
    mem_close(&other);
}

int main(int argc, char **argv) {
    test_trim(false);
    test_trim(true);
    uint64_t seed = rand_seed(argc, argv);
    for (uint64_t i = 0; i < 4; i++) test_model(seed * 4 + i + 1);
    test_limits();
    test_reuse();
    test_long_run(seed + 1);
    test_shared();
    test_file_limit();
    test_held();
    return check_report("mem");
}
