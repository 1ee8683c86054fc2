/* cuda_lent_test: device memory that one process lends to another, between engines cuda of two
 * processes on the emulated device of tests/gpu: what is read there, forged handles, lenders that
 * close or die while it is open, and the emulated driver's own refusals.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cuda_twin.h"
#include <signal.h>
#include <sys/wait.h>

enum { NUMBERS = 1 << 18, BYTES = NUMBERS * 4 };

/* What a lender says, and what it is asked. */
typedef struct Offer {
    EngineHandle handle;
    uint64_t arena_bytes, offset;
    int code;
} Offer;
typedef struct Lender {
    pid_t pid;
    int to, from; /* pipes */
    Offer offer;
} Lender;

static void say(int fd, const void *what, size_t n) { CHECK(write(fd, what, n) == (ssize_t)n); }
static bool hear(int fd, void *what, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, (char *)what + at, n - at);
        if (got <= 0) return false;
        at += (size_t)got;
    }
    return true;
}

static View numbers_at(void *data) {
    View v = {.type = {DT_F32, 1, {NUMBERS}}, .stride = {1}, .data = data};
    return v;
}

/* A process with an engine, which fills memory, lends it, and closes when asked to. */
static int lend(int in, int out) {
    Offer offer = {.code = -1};
    char ask;
    void *base;
    int fd;
    if (twins_open("cuda_lent")) {
        float *host = malloc(BYTES);
        char *at = cuda->ops->alloc(cuda, BYTES);
        for (int i = 0; i < NUMBERS; i++) host[i] = (float)i;
        cuda->ops->copy_in(cuda, at, host, BYTES);
        settle();
        cuda->ops->arena(cuda, &base, &offer.arena_bytes, &fd);
        offer.offset = (uint64_t)(at - (char *)base);
        offer.code = cuda->ops->lend(cuda, &offer.handle) ? 0 : 1;
        /* A handle of this process is none for this process. */
        CHECK(!cuda->ops->reach(cuda, NULL, offer.arena_bytes, &offer.handle));
        free(host);
        say(out, &offer, sizeof offer);
        if (!hear(in, &ask, 1)) return 1;
        cuda->ops->free(cuda, at, BYTES);
        twins_close();
        CHECK_STR(gpu.emu_refusal(), "");
    }
    say(out, &offer, sizeof offer);
    return check_failed;
}

/* The driver alone: memory is not freed while another process has it open. */
static int lend_bare(int in, int out) {
    Offer offer = {.code = -1};
    CUdeviceptr at = 0;
    char ask;
    if (!gpu_open(1)) return 1;
    gpu.emu_quiet(true);
    CHECK_CU(gpu.cuMemAlloc_v2(&at, 4 << 20));
    CHECK_CU(gpu.cuMemsetD32Async(at, 7, 1 << 20, NULL));
    CHECK_CU(gpu.cuCtxSynchronize());
    CHECK_CU(gpu.cuIpcGetMemHandle((CUipcMemHandle *)(void *)offer.handle.driver, at));
    do {
        say(out, &offer, sizeof offer);
        if (!hear(in, &ask, 1)) return 1;
        offer.code = (int)gpu.cuMemFree_v2(at);
    } while (offer.code);
    say(out, &offer, sizeof offer);
    return check_failed;
}

static Lender start(int (*run_lender)(int in, int out)) {
    int to[2], from[2];
    Lender l = {0};
    CHECK(!pipe(to) && !pipe(from));
    fflush(NULL);
    if ((l.pid = fork()) == 0) {
        close(to[1]), close(from[0]);
        check_passed = check_failed = 0;
        _exit(run_lender(to[0], from[1]));
    }
    close(to[0]), close(from[1]);
    l.to = to[1], l.from = from[0];
    CHECK(hear(l.from, &l.offer, sizeof l.offer));
    return l;
}
static void ask(Lender *l) { say(l->to, "", 1); }
static void end(Lender *l, int want) {
    int status = -1;
    close(l->to);
    CHECK(waitpid(l->pid, &status, 0) == l->pid);
    CHECK_INT(status, want);
    close(l->from);
}

static const void *reach(const Lender *l) {
    return cuda->ops->reach(cuda, NULL, l->offer.arena_bytes, &l->offer.handle);
}
/* Copies what was lent, and compares it. */
static void check_numbers(const Lender *l, const void *base) {
    char *to = cuda->ops->alloc(cuda, BYTES);
    float *host = malloc(BYTES);
    View a = numbers_at((char *)base + l->offer.offset), b = numbers_at(to);
    cuda->ops->copy(cuda, &b, &a);
    cuda->ops->copy_out(cuda, host, &b);
    settle();
    int wrong = 0;
    for (int i = 0; i < NUMBERS; i++) wrong += host[i] != (float)i;
    CHECK_INT(wrong, 0);
    free(host);
    cuda->ops->free(cuda, to, BYTES);
}

/* What differs from the announcement is not opened. */
static void try_forged(const Lender *l) {
    Lender forged = *l;
    int own[2];
    forged.offer.handle.inode++;
    CHECK(!reach(&forged));
    forged = *l, forged.offer.handle.pid = (uint32_t)getpid();
    CHECK(!reach(&forged));
    forged = *l, forged.offer.handle.fd = 0;
    CHECK(!reach(&forged));
    forged = *l, forged.offer.handle.fd = -1;
    CHECK(!reach(&forged));
    forged = *l, forged.offer.handle.driver[0] ^= 1;
    CHECK(!reach(&forged));
    forged = *l, forged.offer.handle.driver[1] ^= 1;
    CHECK(!reach(&forged));
    forged = *l, forged.offer.arena_bytes *= 2;
    CHECK(!reach(&forged));
    forged = *l, memset(forged.offer.handle.driver, 0xa5, sizeof forged.offer.handle.driver);
    CHECK(!reach(&forged));
    /* A lease that is no empty file. */
    CHECK(!pipe(own));
    forged = *l, forged.offer.handle.pid = (uint32_t)getpid(), forged.offer.handle.fd = own[0];
    CHECK(!reach(&forged));
    close(own[0]), close(own[1]);
}

static void test_reading(void) {
    Lender l = start(lend);
    CHECK_INT(l.offer.code, 0);
    try_forged(&l);
    const void *base = reach(&l);
    CHECK(base != NULL);
    if (base) check_numbers(&l, base), cuda->ops->leave(cuda, base);
    base = reach(&l); /* once more */
    CHECK(base != NULL);
    if (base) check_numbers(&l, base), cuda->ops->leave(cuda, base);
    ask(&l);
    CHECK(hear(l.from, &l.offer, sizeof l.offer));
    CHECK(!reach(&l));
    end(&l, 0);
}

/* The lender closes, and does not free what is open. */
static void test_closing(void) {
    Lender l = start(lend);
    const void *base = reach(&l);
    CHECK(base != NULL);
    ask(&l);
    CHECK(hear(l.from, &l.offer, sizeof l.offer));
    if (base) check_numbers(&l, base), cuda->ops->leave(cuda, base);
    end(&l, 0);
}

static void test_death(void) {
    Lender l = start(lend);
    const void *base = reach(&l);
    CHECK(base != NULL);
    kill(l.pid, SIGKILL);
    end(&l, SIGKILL);
    if (base) check_numbers(&l, base), cuda->ops->leave(cuda, base);
    CHECK(!reach(&l));
}

static void test_driver(void) {
    Lender l = start(lend_bare);
    CUipcMemHandle h;
    CUdeviceptr at = 0, again = 0, range = 0;
    size_t bytes = 0;
    memcpy(&h, l.offer.handle.driver, sizeof h);
    gpu.emu_quiet(true);
    CHECK_INT(gpu.cuIpcOpenMemHandle_v2(&at, h, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(gpu.cuIpcOpenMemHandle_v2(&at, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK_CU(gpu.cuIpcOpenMemHandle_v2(&again, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK(at == again);
    CHECK_CU(gpu.cuMemGetAddressRange_v2(&range, &bytes, at + 100));
    CHECK(range == at && bytes == 4 << 20);
    CHECK_INT(gpu.cuMemFree_v2(at), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(gpu.cuIpcCloseMemHandle(at + 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(gpu.cuIpcCloseMemHandle(at));
    ask(&l);
    CHECK(hear(l.from, &l.offer, sizeof l.offer));
    CHECK_INT(l.offer.code, CUDA_ERROR_INVALID_VALUE);
    uint32_t value = 0;
    CHECK_CU(gpu.cuMemcpyDtoH_v2(&value, at + 400, 4));
    CHECK_INT(value, 7);
    CHECK_CU(gpu.cuIpcCloseMemHandle(at));
    CHECK_INT(gpu.cuIpcCloseMemHandle(at), CUDA_ERROR_INVALID_VALUE);
    ask(&l);
    CHECK(hear(l.from, &l.offer, sizeof l.offer));
    CHECK_INT(l.offer.code, 0);
    end(&l, 0);
    gpu.emu_quiet(false);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    if (!twins_open("cuda_lent")) return check_report("cuda_lent");
    test_reading();
    test_closing();
    test_death();
    test_driver();
    twins_close();
    return check_report("cuda_lent");
}
