/* prove_test.c: the proof of an engine (worker/prove) fails where the engine is broken: engines
 * that do one thing wrong, each found by the part that looks for it; processes that crash, end or
 * hang; and a proof that is stopped. (tests/cli/prove.sh proves the engines as they are.)
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "runtime/inst/element.h"
#include "worker/emit/fuse.h"
#include "worker/prove/prove.h"

#include <signal.h>
#include <unistd.h>

/* The engine `cpu` or `late`, with other functions in place of its own. */
static EngineOps broken;
static const EngineOps *inner;

static Engine *open_broken(const EngineConfig *config, Err *err) {
    Engine *e = inner->open(config, err);
    if (e) e->ops = &broken;
    return e;
}
static void break_engine(const EngineOps *of) {
    inner = of;
    broken = *of;
    broken.open = open_broken;
}

/* ---- What is wrong ---- */

static Ticket submit_swapped(Engine *e, const Call *call, const Ticket *after, int n) {
    View in[2];
    Call wrong = *call;
    if (call->inst->op != OP_SUB) return inner->submit(e, call, after, n);
    in[0] = call->in[1], in[1] = call->in[0];
    wrong.in = in;
    return inner->submit(e, &wrong, after, n);
}
/* The last element of larger results: another bit. */
static Ticket submit_flipped(Engine *e, const Call *call, const Ticket *after, int n) {
    Ticket t = inner->submit(e, call, after, n);
    const View *out = &call->out[0];
    if (type_numel(&out->type) > 2000 && call->inst->op != OP_RESHAPE)
        *((char *)out->data + type_bytes(&out->type) - 1) ^= 1;
    return t;
}
/* Of products that may be rounded: bits change from one to the next, and every value is near. */
static Ticket submit_restless(Engine *e, const Call *call, const Ticket *after, int n) {
    static unsigned calls;
    Ticket t = inner->submit(e, call, after, n);
    const View *out = &call->out[0];
    if (!inst_attr(call->inst, ATTR_ALLOW) || out->type.dtype != DT_F32 || !type_numel(&out->type))
        return t;
    *(uint32_t *)out->data ^= calls++ & 1;
    return t;
}
/* ... every result is as it is without the last of its terms. */
static Ticket submit_short(Engine *e, const Call *call, const Ticket *after, int n) {
    View in[2] = {call->in[0], call->in[1]};
    Call less = *call;
    if (!inst_attr(call->inst, ATTR_ALLOW) || in[0].type.rank != 2 || in[1].type.rank != 2 ||
        !in[1].type.shape[0])
        return inner->submit(e, call, after, n);
    in[0].type.shape[1]--, in[1].type.shape[0]--;
    less.in = in;
    return inner->submit(e, &less, after, n);
}
static bool fused_flipped(Engine *e, Fusion *f, const FusedKernel *k) {
    bool ok = inner->fused(e, f, k);
    f->args.out[0][0] ^= 1;
    return ok;
}
/* Nobody waits for a mark. */
static int done_too_early(Engine *e, Ticket t, bool wait, Err *err) {
    (void)inner->done(e, t, false, err);
    return 1;
}
/* A view is copied as if it were row-major. */
static void copy_straight(Engine *e, const View *to, const View *from) {
    View plain = *from;
    view_strides(&plain.type, plain.stride);
    inner->copy(e, to, &plain);
}
static void read_straight(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host) {
    View plain = *box;
    view_strides(&plain.type, plain.stride);
    inner->read(e, &plain, begin, bytes, host);
}
static void read_beside(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host) {
    inner->read(e, box, begin + !begin, bytes, host);
}
static const void *reach_beside(Engine *e, const void *base, uint64_t bytes,
                                const EngineHandle *handle) {
    const char *at = inner->reach(e, base, bytes, handle);
    return at ? at + 64 : NULL;
}
static const void *reach_nothing(Engine *e, const void *base, uint64_t bytes,
                                 const EngineHandle *handle) {
    (void)e, (void)base, (void)bytes, (void)handle;
    return NULL;
}
static uint64_t hash_of_less(Engine *e, const void *p, int64_t n, int size, uint64_t first,
                             uint16_t sample) {
    return inner->hash(e, p, n > 1 ? n - 1 : n, size, first, sample);
}
/* The second block of a size is the first one again. */
static void *alloc_twice(Engine *e, uint64_t bytes) {
    static void *last;
    static uint64_t last_bytes;
    void *p = inner->alloc(e, bytes);
    if (bytes < 4 << 20) return p;
    if (last && p && bytes < last_bytes) return last;
    last = p, last_bytes = bytes;
    return p;
}
static void free_nothing(Engine *e, void *p, uint64_t bytes) {
    if (bytes != 8) inner->free(e, p, bytes);
}
static bool failed_never(Engine *e, Ticket *t, int *node, Err *err) {
    while (inner->failed(e, t, node, err)) {}
    return false;
}
static bool failed_elsewhere(Engine *e, Ticket *t, int *node, Err *err) {
    bool is = inner->failed(e, t, node, err);
    *t += 2;
    return is;
}

static Ticket submit_killed(Engine *e, const Call *call, const Ticket *after, int n) {
    if (call->inst->op == OP_TANH) kill(getpid(), SIGKILL);
    return inner->submit(e, call, after, n);
}
static Ticket submit_exit(Engine *e, const Call *call, const Ticket *after, int n) {
    if (call->inst->op == OP_TANH) _exit(3);
    return inner->submit(e, call, after, n);
}
static Ticket submit_hanging(Engine *e, const Call *call, const Ticket *after, int n) {
    while (call->inst->op == OP_TANH) pause();
    return inner->submit(e, call, after, n);
}

/* ---- Proofs ---- */

/* TSan makes all some ten times as slow. An engine that says too early that it is done is a race by
 * intention: TSan reports it before the proof does. */
#ifdef __SANITIZE_THREAD__
enum { HAS_TSAN = true, STALL_S = 20 };
#else
enum { HAS_TSAN = false, STALL_S = 2 };
#endif

static int64_t large; /* ProveConfig's */

/* Proves `broken` in one part. Returns the report, which the caller frees. */
static char *prove_part(const char *part, Agree agree, const volatile sig_atomic_t *stop,
                        ProveEnd want) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    ProveConfig c = {.ops = &broken,
                     .oracle = &engine_cpu,
                     .agree = agree,
                     .only = part,
                     .is_quick = true,
                     .stall_s = STALL_S,
                     .stop = stop,
                     .large = large,
                     .out = out};
    ProveEnd end = prove_run(&c);
    fclose(out);
    CHECK_MSG(end == want, "%s: %d, not %d: %s", part, end, want, text);
    return text;
}

/* The part must fail, and its report hold `words`. */
static void must_fail(const char *part, const char *words) {
    char *text = prove_part(part, AGREE_BITS, NULL, PROVE_FAILED);
    CHECK_MSG(strstr(text, "FAILED") && strstr(text, words), "%s does not say '%s' but\n%s", part,
              words, text);
    free(text);
}

static void test_broken(void) {
    break_engine(&engine_cpu);
    broken.submit = submit_swapped;
    must_fail("operations", "sub of ");
    must_fail("streams", "a read after ");
    break_engine(&engine_cpu);
    broken.submit = submit_flipped;
    must_fail("operations", "element ");
    break_engine(&engine_cpu);
    broken.fused = fused_flipped;
    must_fail("fusions", "fusion ");
    if (!HAS_TSAN) {
        break_engine(&engine_late);
        broken.done = done_too_early;
        must_fail("streams", "a read after ");
        must_fail("indices", "the result is wrong");
    }
    break_engine(&engine_cpu);
    broken.copy = copy_straight;
    must_fail("copies", "copy: byte ");
    break_engine(&engine_reference); /* it computes in submit */
    broken.submit = submit_restless;
    must_fail("products", "again: element 0");
    break_engine(&engine_reference);
    broken.submit = submit_short;
    must_fail("products", "matmul of ");
    break_engine(&engine_cpu);
    broken.hash = hash_of_less;
    must_fail("copies", "hash of ");
}

/* Engines of which one reads the other's memory, and large tensors. */
static void test_broken_peers(void) {
    break_engine(&engine_late);
    broken.reach = reach_beside;
    must_fail("peers", " direct: element ");
    break_engine(&engine_late);
    broken.reach = reach_nothing;
    must_fail("peers", "two engines of one device do not reach each other");
    break_engine(&engine_late);
    broken.read = read_straight;
    must_fail("peers", "through the host: element ");
    large = 300000;
    break_engine(&engine_cpu);
    broken.copy = copy_straight;
    must_fail("large", "neg of 262084 bytes: element ");
    break_engine(&engine_cpu);
    broken.submit = submit_flipped;
    must_fail("large", "column 65520 is ");
    break_engine(&engine_cpu);
    broken.read = read_beside;
    must_fail("large", "neg of 262084 bytes: element 0 is ");
    large = 0;
}

static void test_broken_memory(void) {
    break_engine(&engine_cpu);
    broken.alloc = alloc_twice;
    must_fail("memory", "overlap");
    break_engine(&engine_cpu);
    broken.free = free_nothing;
    must_fail("copies", "bytes are still in use");
    break_engine(&engine_late);
    broken.failed = failed_never;
    must_fail("indices", "has a bad index and does not fail");
    break_engine(&engine_late);
    broken.failed = failed_elsewhere;
    must_fail("indices", "out of order");
}

/* The same part passes where nothing is broken. */
static void test_large(void) {
    break_engine(&engine_late);
    large = 300000;
    free(prove_part("large", AGREE_BITS, NULL, PROVE_PASSED));
    large = 0;
    char *text = prove_part("large", AGREE_BITS, NULL, PROVE_PASSED);
    CHECK_MSG(strstr(text, "large        -") != NULL, "%s", text);
    free(text);
}

static void test_processes(void) {
    break_engine(&engine_cpu);
    broken.submit = submit_killed;
    must_fail("operations", "the process ended by signal 9");
    must_fail("operations", "tanh of ");
    broken.submit = submit_exit;
    must_fail("operations", "the process ended with code 3");
    broken.submit = submit_hanging;
    must_fail("operations", HAS_TSAN ? "no progress for 20 s" : "no progress for 2 s");
}

static void test_stop(void) {
    static volatile sig_atomic_t stop = 1;
    break_engine(&engine_cpu);
    char *text = prove_part("operations", AGREE_BITS, &stop, PROVE_STOPPED);
    CHECK_MSG(strstr(text, "stopped") != NULL, "%s", text);
    free(text);
}

static void test_find(void) {
    ProveConfig c = {0};
    CHECK_FAIL(prove_find("null", &c, &err), ERR_ARG);
    CHECK_FAIL(prove_find("cup", &c, &err), ERR_ARG);
    CHECK(prove_find("cpu", &c, NULL) && c.oracle == &engine_reference && c.agree == AGREE_NEAR);
    CHECK(prove_find("cuda", &c, NULL) && c.oracle == &engine_cpu && c.agree == AGREE_DEVICE);
    CHECK(prove_find("late", &c, NULL) && c.oracle == &engine_cpu && c.agree == AGREE_BITS);
}

int main(void) {
    test_find();
    test_broken();
    test_broken_memory();
    test_broken_peers();
    test_large();
    test_processes();
    test_stop();
    return check_report("prove");
}
