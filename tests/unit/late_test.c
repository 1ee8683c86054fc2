/* late_test.c: the engine `late` (worker/late/late.c) keeps what engine.h says of ordered engines,
 * and is as late and as closed as tests of exec need it: its memory cannot be read, nothing is
 * there before a mark is done, failures are known no sooner, and memory is as short as on `cpu`.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "tests/unit/make_inst.h"
#include "worker/engine/engine.h"

#include <sys/wait.h>
#include <unistd.h>

static Engine *open_engine(const EngineOps *ops, uint64_t memory) {
    Err err = {0};
    Engine *e = ops->open(&(EngineConfig){.memory_bytes = memory, .threads = 1}, &err);
    CHECK_MSG(e != NULL, "%s", err.text);
    return e;
}

static void pass_mark(Engine *e) {
    Ticket t = e->ops->mark(e);
    while (!e->ops->done(e, t, true, NULL)) {}
}

static View row(void *data, DType d, int64_t n) {
    return (View){.type = {.dtype = (uint8_t)d, .rank = 1, .shape = {n}}, .stride = {1}, data};
}

/* A process that reads the memory is killed. */
static void test_closed(Engine *e) {
    volatile char *p = e->ops->alloc(e, 100), *scratch = e->ops->scratch(e);
    for (int i = 0; i < 2; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            close(2);
            _exit(*(i ? scratch : p) & 0);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    }
    e->ops->free(e, (void *)p, 100);
}

/* Values are there when a mark is done; memory that was freed is used again at once. */
static void test_order(Engine *e) {
    enum { N = 1000 };
    static float ones[N], twos[N], first[N], second[N], part[3];
    for (int i = 0; i < N; i++) ones[i] = 1, twos[i] = (float)(2 + i);
    const EngineOps *ops = e->ops;
    void *a = ops->alloc(e, sizeof ones);
    View v = row(a, DT_F32, N), reversed = row((float *)a + N - 1, DT_F32, N);
    reversed.stride[0] = -1;
    ops->copy_in(e, a, ones, sizeof ones);
    ops->copy_out(e, first, &v);
    ops->free(e, a, sizeof ones);
    void *b = ops->alloc(e, sizeof twos);
    CHECK(a == b);
    ops->copy_in(e, b, twos, sizeof twos);
    ops->copy_out(e, second, &v);
    ops->read(e, &reversed, 4 * sizeof(float), sizeof part, part);
    Ticket t = ops->mark(e);
    CHECK_INT(ops->done(e, t, false, NULL), 0);
    unsigned char garbage[sizeof first];
    memset(garbage, 0xa5, sizeof garbage);
    CHECK(!memcmp(first, garbage, sizeof first) && !memcmp(second, garbage, sizeof first));
    pass_mark(e);
    CHECK_INT(ops->done(e, t, false, NULL), 1);
    CHECK(!memcmp(first, ones, sizeof ones) && !memcmp(second, twos, sizeof twos));
    CHECK(part[0] == twos[N - 5] && part[2] == twos[N - 7]);
    /* copy and write, between strides */
    void *c = ops->alloc(e, sizeof twos);
    View to = row(c, DT_F32, N);
    ops->copy(e, &to, &reversed);
    ops->write(e, &to, 8, 12, ones);
    ops->copy_out(e, first, &to);
    pass_mark(e);
    CHECK(first[0] == twos[N - 1] && first[2] == 1 && first[4] == 1 && first[5] == twos[N - 6]);
    ops->free(e, c, sizeof twos);
    ops->free(e, b, sizeof twos);
    /* freed memory is NaN in its turn */
    ops->copy_out(e, first, &v);
    pass_mark(e);
    CHECK(first[0] != first[0] && first[N - 1] != first[N - 1]);
}

/* x[idx] with elements of x that count from 0. */
typedef struct Indexing {
    Inst inst;
    View in[2];
    Call call;
    void *p[3];
    uint64_t bytes[3];
} Indexing;

static bool indexing(Engine *e, Indexing *x, int64_t n, int64_t bad) {
    static const int64_t zero = 0;
    static const Operand of[2] = {{.kind = IN_TENSOR, .id = 1}, {.kind = IN_TENSOR, .id = 2}};
    static const Attr axis = {.key = ATTR_AXIS, .n = 1, .ints = &zero};
    *x = (Indexing){.inst = {.op = OP_INDEX, .n_in = 2, .n_out = 1, .n_attr = 1, .attr = &axis}};
    x->inst.in = of;
    for (int i = 0; i < 3; i++) x->p[i] = e->ops->alloc(e, x->bytes[i] = (uint64_t)n * (i ? 8 : 4));
    if (!x->p[0] || !x->p[1] || !x->p[2]) return false;
    int64_t *host = calloc((size_t)n, 8);
    for (int64_t i = 0; i < n; i++) host[i] = i % 2 ? -i : i;
    if (bad) host[5] = bad;
    e->ops->copy_in(e, x->p[1], host, (uint64_t)n * 8);
    x->in[0] = row(x->p[0], DT_F32, n), x->in[1] = row(x->p[1], DT_I64, n);
    x->call = (Call){.inst = &x->inst, .n_in = 2, .n_out = 1, .in = x->in};
    x->call.out[0] = row(x->p[2], DT_F32, n);
    free(host);
    return true;
}

static void indexing_free(Engine *e, Indexing *x) {
    for (int i = 0; i < 3; i++) e->ops->free(e, x->p[i], x->bytes[i]);
}

/* A call may be changed once it is submitted; its failure is known when a mark is done. */
static void test_failure(Engine *e) {
    const EngineOps *ops = e->ops;
    Indexing x;
    Ticket t;
    int node;
    Err err = {0};
    CHECK(indexing(e, &x, 100, 123));
    Ticket submitted = ops->submit(e, &x.call, NULL, 0);
    CHECK(submitted == e->last);
    memset(&x.inst, 0, sizeof x.inst), memset(x.in, 0, sizeof x.in);
    CHECK_INT(ops->done(e, submitted, false, NULL), 1);
    CHECK(!ops->failed(e, &t, &node, &err));
    pass_mark(e);
    CHECK(ops->failed(e, &t, &node, &err));
    CHECK(t == submitted && err.code == ERR_INDEX);
    CHECK_STR(err.text, "index 123 at position 5 is out of range for axis 0 of size 100");
    CHECK(!ops->failed(e, &t, &node, &err));
    indexing_free(e, &x);
}

/* Finds the least arena in which the indexing runs, and its failure in the next smaller one. */
static uint64_t least(const EngineOps *ops, Err *err) {
    enum { STEP = 4096, N = 3000 };
    for (uint64_t memory = 10 * STEP;; memory += STEP) {
        Engine *e = open_engine(ops, memory);
        Indexing x;
        Err why = {0};
        int done = 0;
        bool has_tensors = indexing(e, &x, N, 0);
        if (has_tensors) done = ops->done(e, ops->submit(e, &x.call, NULL, 0), true, &why);
        if (done < 0) *err = why;
        if (has_tensors) indexing_free(e, &x);
        ops->close(&e);
        if (done > 0 || memory > 100 * STEP) return memory;
    }
}

static void test_memory(void) {
    Err cpu = {0}, late = {0};
    uint64_t a = least(&engine_cpu, &cpu), b = least(&engine_late, &late);
    CHECK_MSG(a == b, "cpu needs %llu bytes, late %llu", (unsigned long long)a,
              (unsigned long long)b);
    CHECK_INT(cpu.code, ERR_MEMORY);
    CHECK_STR(late.text, cpu.text);
}

int main(void) {
    Engine *e = open_engine(&engine_late, 64 << 20);
    CHECK(e->ops->is_ordered);
    test_closed(e);
    test_order(e);
    test_failure(e);
    uint64_t used, peak, total;
    e->ops->memory(e, &used, &peak, &total);
    CHECK_INT(used, 0);
    e->ops->close(&e);
    test_memory();
    return check_report("late");
}
