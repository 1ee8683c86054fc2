/* fuse_test: a fusion's kernel gives the same bits as the cpu engine op by op. Random fusions
 * over all dtypes, broadcast and permuted inputs, odd sizes, nan and infinities, reductions along
 * rows and over them, of more than one block, single elements of rows, indices out of range,
 * totals, outputs written over inputs, 1 and 3 threads, short rows in turn too; each graph twice,
 * with other shapes and scalars, which share a kernel if the inputs have the same kind of strides.
 * Then: which fusions share a kernel, and the kernels' cache: from disk, damaged, used by two at
 * once, too large, missing, no compiler. With GT_TEST_ENGINE=cuda: random fusions on that engine
 * instead. Usage: fuse_test [FUSIONS [SEED]]
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "runtime/inst/inst.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include "worker/kernel/emit.h"
#include "worker/emit/fuse.h"
#include "worker/jit/jit.h"
#include "worker/kernel/kernels.h"
#include "worker/prove/fused_case.h"
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fuse_equal(const Fusion *a, const Fusion *b) {
    return a->signature_bytes == b->signature_bytes &&
           !memcmp(a->signature, b->signature, a->signature_bytes);
}

static Engine *engine[2]; /* 1 thread and 3 */
static char cache_dir[64];
static int n_far[FUSED_LEAVES + 1]; /* by kind of unit: runs with is_far */

static int n_in_turn; /* kernels that compute short rows in turn */
static bool in_turn;  /* all of them are to */

static void make_source(void *ctx, Bytes *out) {
    in_turn ? emit_fusion_by(out, ctx, 0) : emit_fusion(out, ctx);
}
static const FusedKernel *ask(Jit *j, Fusion *f) {
    return jit_get(j, f->signature, f->signature_bytes, f->hash, make_source, f);
}

/* ---- Random fusions ---- */

/* The kernel's results against the eager ones. */
static bool check_case(FusedCase *t, const FusedKernel *k, Engine *e, Rand *r, const char *what) {
    char text[200];
    bool same = fused_case_run(t, e, k, r, text, sizeof text);
    CHECK_MSG(same, "%s: %s", what, text);
    CHECK(!t->fuse.args.is_far || e == engine[1]);
    n_far[k->unit] += t->fuse.args.is_far != 0;
    return same;
}

/* The same with some indices out of range. */
static bool check_failures(FusedCase *t, const FusedKernel *k, Engine *e, Rand *r,
                           const char *what) {
    char text[240];
    bool same = fused_case_fail(t, e, k, r, text, sizeof text);
    CHECK_MSG(same, "%s, with bad indices: %s", what, text);
    return same;
}

static void test_random(int fusions, uint64_t seed) {
    JitConfig config = {.isa = kernels_find()->isa, .dir = cache_dir};
    Jit *jit = jit_new(&config);
    int n = 2 * fusions, accepted = 0, shared = 0;
    FusedCase **trial = xcalloc((size_t)n, sizeof *trial);
    for (int i = 0; i < n; i++) {
        FusedCase *t = xmalloc(sizeof *t);
        /* Trials 2 k and 2 k + 1: the same graph, mostly the same strides, other sizes. */
        FusedSeeds seeds = {.graph = seed + (uint64_t)(i / 2) * 1000003,
                            .strides = seed + (uint64_t)(i / 2) * 77 + (i % 6 == 5),
                            .values = seed * 7 + (uint64_t)i,
                            .is_tame = i % 4 < 2};
        if (!fused_case_make(t, engine[0], &seeds)) {
            free(t);
            continue;
        }
        trial[i] = t;
        accepted++;
        ask(jit, &t->fuse);
    }
    for (int i = 0; i < n; i++) { /* one signature, one source */
        for (int j = i + 1; j < n && trial[i]; j++) {
            if (!trial[j] || !fuse_equal(&trial[i]->fuse, &trial[j]->fuse)) continue;
            shared++;
            Bytes a = {0}, b = {0};
            make_source(&trial[i]->fuse, &a);
            make_source(&trial[j]->fuse, &b);
            CHECK_STR(a.data, b.data);
            bytes_fini(&a);
            bytes_fini(&b);
        }
    }
    CHECK_MSG(fusions < 8 || shared > fusions / 4, "only %d of %d graphs share a kernel", shared,
              fusions);
    CHECK(jit_wait(jit, 600000));
    for (int i = 0; i < n; i++) {
        FusedCase *t = trial[i];
        if (!t) continue;
        const FusedKernel *k = ask(jit, &t->fuse);
        char what[64];
        snprintf(what, sizeof what, "trial %d of seed %llu", i, (unsigned long long)seed);
        CHECK_MSG(k != NULL, "%s has no kernel", what);
        if (!k) continue;
        n_in_turn += in_turn && k->unit >= FUSED_ROWS && t->fuse.args.blocks == 1;
        Rand r = {(uint64_t)i};
        bool ok = check_case(t, k, engine[1], NULL, what) &&
                  check_case(t, k, engine[0], &r, what) &&
                  check_failures(t, k, engine[i & 1], &r, what);
        if (!ok && check_failed < 20)
            fprintf(stderr, "%s\n",
                    jit_source(jit, t->fuse.signature, t->fuse.signature_bytes, t->fuse.hash));
    }
    JitStats s = jit_stats(jit);
    printf("  %d fusions, %d pairs share a kernel, %llu kernels in %llu calls, %.0f ms\n", accepted,
           shared, (unsigned long long)s.compiled, (unsigned long long)s.compiler_calls,
           s.compile_ms);
    CHECK_INT(s.failed, 0);
    for (int i = 0; i < n; i++) {
        if (!trial[i]) continue;
        fused_case_free(trial[i]);
        free(trial[i]);
    }
    free(trial);
    jit_free(&jit);
}

/* Random fusions on an engine with a compiler of its own. */
static void test_device(const char *name, int fusions, uint64_t seed) {
    Err err = {0};
    EngineConfig config = {.memory_bytes = UINT64_C(1) << 28, .threads = 1};
    Engine *e = engine_find(name)->open(&config, &err);
    if (!e) panic("%s", err.text);
    JitConfig of_jit = {.isa = "v3", .engine = e};
    Jit *jit = jit_new(&of_jit);
    int ran = 0, unfit = 0, at_indices = 0, units[FUSED_LEAVES + 1] = {0};
    for (int i = 0; i < 2 * fusions; i++) {
        static FusedCase t;
        FusedSeeds seeds = {.graph = seed + (uint64_t)(i / 2) * 1000003,
                            .strides = seed + (uint64_t)(i / 2) * 77 + (i % 6 == 5),
                            .values = seed * 7 + (uint64_t)i,
                            .is_tame = i % 4 < 2,
                            .is_portable = true};
        if (!fused_case_make(&t, engine[0], &seeds)) continue;
        Fusion *f = &t.fuse;
        if (!e->ops->maker->fits(f)) {
            unfit++;
        } else {
            char what[64], text[200];
            JitMake make = e->ops->maker->source;
            const FusedKernel *k = jit_get(jit, f->signature, f->signature_bytes, f->hash, make, f);
            if (!k) k = jit_get(jit, f->signature, f->signature_bytes, f->hash, make, f);
            snprintf(what, sizeof what, "trial %d of seed %llu", i, (unsigned long long)seed);
            CHECK_MSG(k != NULL, "%s has no kernel", what);
            Rand r = {(uint64_t)i};
            bool ok = k && fused_case_run(&t, e, k, NULL, text, sizeof text) &&
                      fused_case_run(&t, e, k, &r, text, sizeof text) &&
                      fused_case_fail(&t, e, k, &r, text, sizeof text);
            CHECK_MSG(!k || ok, "%s: %s", what, text);
            if (!ok && check_failed < 4)
                fprintf(stderr, "%s\n", jit_source(jit, f->signature, f->signature_bytes, f->hash));
            if (k) units[k->unit]++;
            at_indices += fuse_fail(f, f->n_nodes) > 0;
            ran++;
        }
        fused_case_free(&t);
    }
    JitStats s = jit_stats(jit);
    printf(
        "  %s: %d fusions (%d of elements, %d of blocks, %d of rows, %d of leaves; %d at indices), "
        "%d have no kernel; %llu kernels compiled, %llu from disk\n",
        name, ran, units[0], units[1], units[2], units[3], at_indices, unfit,
        (unsigned long long)s.compiled, (unsigned long long)s.cached);
    CHECK(ran > 0);
    jit_free(&jit);
    e->ops->close(&e);
}

/* An index out of range: the kernel reports it, and nothing is read or written there. */
static void test_bad_index(void) {
    JitConfig config = {.isa = kernels_find()->isa, .dir = cache_dir};
    Jit *jit = jit_new(&config);
    for (int bad = 0; bad < 4; bad++) {
        static float x[8 * 40], out[8 * 40], picked[8];
        static int64_t index[8];
        for (int i = 0; i < 8; i++) index[i] = i * 5;
        index[5] = (const int64_t[]){0, 40, -1, INT64_MIN}[bad];
        Fusion f;
        TensorType space = {.rank = 2, .dtype = DT_F32, .shape = {8, 40}};
        TensorType rows = {.rank = 2, .dtype = DT_I64, .shape = {8, 1}};
        fuse_init(&f, &space, 1);
        FuseRef a = fuse_input(&f, &(View){.type = space, .stride = {40, 1}, .data = x});
        FuseRef i = fuse_input(&f, &(View){.type = rows, .stride = {1, 1}, .data = index});
        FuseRef e = fuse_node(&f, OP_EXP, DT_F32, false, &a, 1);
        FuseRef p = fuse_node(&f, OP_GATHER, DT_F32, true, (FuseRef[]){e, i}, 2);
        FuseRef s = fuse_node(&f, OP_SCATTER_ADD, DT_F32, false, (FuseRef[]){e, i, p}, 3);
        *fuse_store(&f, p) = (char *)picked;
        *fuse_store(&f, s) = (char *)out;
        CHECK(fuse_done(&f));
        const FusedKernel *k = ask(jit, &f);
        if (!k) CHECK(jit_wait(jit, 60000) && (k = ask(jit, &f)));
        CHECK(!k->reuse[0] && !k->reuse[1]); /* the inputs may be needed again */
        CHECK(engine[0]->ops->fused(engine[0], &f, k) == !bad);
        CHECK(bad || (picked[5] == 1 && out[5 * 40] == 2 && out[5 * 40 + 1] == 1));
    }
    jit_free(&jit);
}

/* ---- Fusions that must not share a kernel ---- */

typedef struct Small {
    Op op;
    DType dtype;
    int64_t columns, step; /* of the second input: (columns) by step, or (rows, columns) */
    bool swaps, stores_both, is_half_row;
    float scalar;
} Small;

/* exp(a op b) * scalar over (8, columns). */
static void make_small(Fusion *f, const Small *s) {
    static double data[1 << 14];
    TensorType space = {.rank = 2, .shape = {8, s->columns}};
    fuse_init(f, &space, 0);
    View a = {.type = space, .stride = {s->columns, 1}, .data = data}, b = a;
    a.type.dtype = b.type.dtype = (uint8_t)s->dtype;
    b.data = data + 4096;
    if (s->step) b.stride[0] = 0, b.stride[1] = s->step;
    if (s->is_half_row) b.stride[0] = 1, b.stride[1] = 0;
    FuseRef x = fuse_input(f, &a), y = fuse_input(f, &b);
    FuseRef xy[2] = {s->swaps ? y : x, s->swaps ? x : y};
    FuseRef n = fuse_node(f, s->op, s->dtype, false, xy, 2);
    FuseRef m = fuse_node(f, OP_EXP, s->dtype, false, &n, 1);
    double wide = (double)s->scalar;
    FuseRef k = fuse_scalar(f, s->dtype, s->dtype == DT_F64 ? (void *)&wide : (void *)&s->scalar);
    FuseRef p = fuse_node(f, OP_MUL, s->dtype, false, (FuseRef[]){m, k}, 2);
    if (s->stores_both) fuse_store(f, n);
    fuse_store(f, p);
    CHECK(fuse_done(f));
}

static void test_signature(void) {
    static const Small base = {OP_ADD, DT_F32, 40, 0, false, false, false, 2};
    static const struct {
        Small s;
        bool same;
        const char *what;
    } rows[] = {
        {{OP_ADD, DT_F32, 41, 0, false, false, false, 2}, true, "another shape"},
        {{OP_ADD, DT_F32, 40, 0, false, false, false, -7}, true, "another scalar"},
        {{OP_SUB, DT_F32, 40, 0, false, false, false, 2}, false, "another op"},
        {{OP_ADD, DT_F64, 40, 0, false, false, false, 2}, false, "another dtype"},
        {{OP_ADD, DT_F32, 40, 1, false, false, false, 2}, false, "a row is broadcast"},
        {{OP_ADD, DT_F32, 40, 2, false, false, false, 2}, false, "a stepped row"},
        {{OP_ADD, DT_F32, 40, 0, false, false, true, 2}, false, "a column is broadcast"},
        {{OP_ADD, DT_F32, 40, 0, true, false, false, 2}, false, "operands swapped"},
        {{OP_ADD, DT_F32, 40, 0, false, true, false, 2}, false, "two outputs"},
    };
    Fusion a, b;
    make_small(&a, &base);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_small(&b, &rows[i].s);
        CHECK_MSG(fuse_equal(&a, &b) == rows[i].same, "signatures are %s with %s",
                  rows[i].same ? "different" : "equal", rows[i].what);
        CHECK_MSG(!rows[i].same || a.hash == b.hash, "hashes differ with %s", rows[i].what);
    }
    TensorType empty = {.rank = 2, .shape = {0, 3}};
    fuse_init(&a, &empty, 0);
    View v = {.type = empty, .stride = {3, 1}, .data = &b};
    FuseRef x = fuse_input(&a, &v), y = fuse_node(&a, OP_NEG, DT_F32, false, &x, 1);
    CHECK(fuse_store(&a, y) && !fuse_done(&a)); /* nothing to compute */
}

/* ---- The cache ---- */

static int n_files(const char *dir, const char *suffix, char path[512]) {
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t k = strlen(e->d_name), m = strlen(suffix);
        if (e->d_name[0] == '.' || k < m || strcmp(e->d_name + k - m, suffix)) continue;
        if (path) snprintf(path, 512, "%s/%s", dir, e->d_name);
        n++;
    }
    if (d) closedir(d);
    return n;
}
static void remove_all(const char *dir) {
    DIR *d = opendir(dir);
    char path[512];
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%.200s", dir, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    rmdir(dir);
}

static bool computes_sum(Fusion *f, const FusedKernel *k) { /* of make_small with the base row */
    float out[8 * 40];
    double *data = (double *)(void *)f->input[0].data;
    for (int i = 0; i < 320; i++) ((float *)data)[i] = (float)i * 0.01f;
    f->args.out[0] = (char *)out;
    return engine[0]->ops->fused(engine[0], f, k) && fabsf(out[100] - 2 * expf(1)) < 1e-5f;
}

static void damage(const char *path, int how) {
    FILE *f = fopen(path, "r+b");
    if (!f) abort();
    if (how == 0) CHECK(ftruncate(fileno(f), 1000) == 0);
    if (how == 1) CHECK(ftruncate(fileno(f), 0) == 0);
    if (how == 2) {
        fseek(f, 2000, SEEK_SET);
        int c = fgetc(f);
        fseek(f, 2000, SEEK_SET);
        fputc(c ^ 0x10, f);
    }
    if (how == 3) {
        fseek(f, 0, SEEK_END);
        fputs("more", f);
    }
    fclose(f);
}

static const Small base_row = {OP_ADD, DT_F32, 40, 0, false, false, false, 2};

static void test_cache(void) {
    char dir[96], path[512];
    snprintf(dir, sizeof dir, "%s/a", cache_dir);
    Fusion f;
    make_small(&f, &base_row);
    JitConfig config = {.isa = kernels_find()->isa, .dir = dir};
    Jit *j = jit_new(&config);
    CHECK(ask(j, &f) == NULL && jit_wait(j, 60000)); /* never ready at once */
    const FusedKernel *k = ask(j, &f);
    CHECK(k && computes_sum(&f, k) && ask(j, &f) == k);
    JitStats s = jit_stats(j);
    CHECK(s.compiled == 1 && s.cached == 0 && s.hits == 2 && s.misses == 1 && s.compile_ms > 0);
    CHECK_INT(n_files(dir, ".so", path), 1);
    CHECK_INT(n_files(dir, "", NULL), 1); /* and nothing else is left */
    struct stat st;
    CHECK(stat(dir, &st) == 0 && (st.st_mode & 0777) == 0700);
    jit_free(&j);
    for (int how = -1; how < 4; how++) { /* as it is, then damaged */
        if (how >= 0) damage(path, how);
        j = jit_new(&config);
        ask(j, &f);
        CHECK(jit_wait(j, 60000));
        k = ask(j, &f);
        s = jit_stats(j);
        CHECK_MSG(k && computes_sum(&f, k), "no kernel after damage %d", how);
        CHECK_MSG((int)s.cached == (how < 0) && (int)s.compiled == (how >= 0),
                  "damage %d: %d from disk, %d compiled", how, (int)s.cached, (int)s.compiled);
        jit_free(&j);
    }
    /* Two processes at once, with one cache. */
    unlink(path);
    Jit *two[2] = {jit_new(&config), jit_new(&config)};
    for (int i = 0; i < 2; i++) ask(two[i], &f);
    for (int i = 0; i < 2; i++) {
        CHECK(jit_wait(two[i], 60000) && (k = ask(two[i], &f)) && computes_sum(&f, k));
        jit_free(&two[i]);
    }
    CHECK_INT(n_files(dir, "", NULL), 1);
    /* Compiled at the third request. */
    config.min_requests = 3;
    j = jit_new(&config);
    for (int i = 0; i < 3; i++) CHECK(!ask(j, &f) && (i == 2 || !jit_pending(j)));
    CHECK(jit_wait(j, 60000) && ask(j, &f) && jit_stats(j).misses == 3);
    jit_free(&j);
    remove_all(dir);
}

/* A jit freed while compiling, a cache that is too small, and one that is unavailable. */
static void test_bounds(void) {
    char dir[96], path[512];
    snprintf(dir, sizeof dir, "%s/b/c", cache_dir);
    Fusion f;
    make_small(&f, &base_row);
    JitConfig config = {.isa = kernels_find()->isa, .dir = dir};
    /* Freed while its compiler runs: the compiler is ended, and no file is left. */
    Jit *j = jit_new(&config);
    ask(j, &f);
    jit_free(&j);
    CHECK(n_files(dir, ".c", NULL) == 0 && n_files(dir, ".txt", NULL) == 0);
    /* Two kernels in one file; then a cache that holds less than one of it. */
    Small other = base_row;
    other.op = OP_SUB;
    Fusion g;
    make_small(&g, &other);
    for (int small = 0; small < 2; small++) {
        config.bytes_max = small ? 1 : 0;
        j = jit_new(&config);
        ask(j, &f);
        ask(j, &g);
        CHECK(jit_wait(j, 60000) && ask(j, &f) && ask(j, &g));
        jit_free(&j);
        if (!small) CHECK_INT(n_files(dir, ".so", path), 2);
        if (!small) damage(path, 2);
    }
    CHECK_INT(n_files(dir, ".so", NULL), 0);
    config.bytes_max = 0;
    /* No compiler; no cache directory, or one that others can write or that another user owns. */
    int n_bad = geteuid() == 0 ? 4 : 3;
    fprintf(stderr, "fuse_test: %d lines that say why operations are not fused are expected:\n",
            n_bad);
    JitConfig bad[4] = {config, config, config, config};
    bad[0].compiler = "/no/such/compiler -x";
    bad[1].dir = "/proc/no/such";
    char open_dir[96];
    snprintf(open_dir, sizeof open_dir, "%s/open", cache_dir);
    mkdir(open_dir, 0777);
    chmod(open_dir, 0777);
    bad[2].dir = open_dir;
    char other_dir[96]; /* root may make one */
    snprintf(other_dir, sizeof other_dir, "%s/other", cache_dir);
    mkdir(other_dir, 0700);
    CHECK(n_bad < 4 || chown(other_dir, 1, (gid_t)-1) == 0);
    bad[3].dir = other_dir;
    for (int i = 0; i < n_bad; i++) {
        j = jit_new(&bad[i]);
        ask(j, &f);
        CHECK(jit_wait(j, 60000) && !ask(j, &f) && jit_stats(j).is_off);
        ask(j, &g);
        CHECK(jit_wait(j, 60000) && !ask(j, &g));
        jit_free(&j);
    }
    remove_all(open_dir);
    remove_all(other_dir);
    remove_all(dir);
    snprintf(dir, sizeof dir, "%s/b", cache_dir);
    remove_all(dir);
}

int main(int argc, char **argv) {
    int fusions = argc > 1 ? atoi(argv[1]) : rand_rounds(12);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : rand_seed(1, argv);
    uint64_t first = seed;
    snprintf(cache_dir, sizeof cache_dir, "%s/gt_fuse_test.XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(cache_dir)) return 1;
    for (int i = 0; i < 2; i++) {
        Err err;
        EngineConfig config = {.memory_bytes = UINT64_C(1) << 28, .threads = i ? 3 : 1};
        setenv("GT_LLC_KIB", i ? "1" : "1000000", 1); /* with 3 threads past the caches */
        engine[i] = engine_cpu.open(&config, &err);
        if (!engine[i]) panic("%s", err.text);
    }
    const char *device = getenv("GT_TEST_ENGINE");
    if (device) {
        test_device(device, fusions, seed);
        for (int i = 0; i < 2; i++) engine[i]->ops->close(&engine[i]);
        remove_all(cache_dir);
        return check_report("fuse");
    }
    test_signature();
    test_bad_index();
    test_cache();
    test_bounds();
    for (int done = 0; done < fusions; done += 48, seed++)
        test_random(fusions - done < 48 ? fusions - done : 48, seed);
    /* The draws of a seed depend on the table of operations: continue until both kinds occurred. */
    for (int more = 0; more < 6 && !(n_far[FUSED_ELEMENTS] && n_far[FUSED_ROWS]); more++)
        test_random(6, seed++);
    /* The same fusions in turn; a kernel's file has the name of its signature. */
    remove_all(cache_dir);
    if (mkdir(cache_dir, 0700)) return 1;
    in_turn = true;
    for (int more = 0; more < 6 && n_in_turn < 8; more++) test_random(12, first++);
    printf("  in turn: %d kernels of short rows\n", n_in_turn);
    CHECK(n_in_turn);
    printf("  past the caches: %d times elements, %d rows, %d lanes\n", n_far[FUSED_ELEMENTS],
           n_far[FUSED_ROWS], n_far[FUSED_LEAVES]);
    CHECK(n_far[FUSED_ELEMENTS] && n_far[FUSED_ROWS]);
    for (int i = 0; i < 2; i++) engine[i]->ops->close(&engine[i]);
    remove_all(cache_dir);
    return check_report("fuse");
}
