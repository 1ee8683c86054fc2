/* fuse: a property test: fusion and compiling never change a bit. Random programs (fuse_program.h)
 * run one instruction at a time, then in fusions, many times: while kernels are being compiled, so
 * that they become ready at any moment; with ready kernels used every other time; with kernels from
 * disk, from a cache with damaged files, and from an empty cache that several processes fill at
 * once; on the engine `late`; on one thread and on three; in frames that end anywhere, some in
 * scopes with `compile: true`; with fusions of any size. With GT_TEST_ENGINE=cuda they run on that
 * engine instead, one by one and in fusions, against the engine cpu; without functions whose bits
 * differ there. Every fetched value must have the same
 * bits each time, except for the payload of a nan, and no memory may be left.
 *
 *   fuse [-n N] [-s FIRST] [-j JOBS] [-l LENGTH]      N programs; those of one job share a cache
 *   fuse SEED                                         one program, with the differences
 * SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuse_program.h"
#include "runtime/base/log.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"
#include "worker/exec/exec.h"
#include "worker/exec/stats.h"
#include "worker/worker.h"
#include "worker/jit/jit_cache.h"
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LAST = 8, BATCH = 16, READY_MS = 600000, MATES = 2 };

typedef struct Tally {
    _Atomic unsigned programs, runs, unready, failed;
    _Atomic unsigned long launches, fused, products, in_turn, compiled, cached, damaged;
} Tally;
static Tally *tally;

/* ---- Results of a program ---- */

/* Of each instruction that has a reply. */
typedef struct Answer {
    bool is_there;
    uint64_t hash;
} Answer;
typedef struct Answers {
    Answer of[PROGRAM_MAX];
    char error[PROGRAM_MAX][100]; /* the text of its error, if it failed */
} Answers;

/* All nans are equal. */
static uint64_t hash_value(const ReplyValue *v, uint64_t hash) {
    uint64_t n = reply_value_numel(&v->type, v->edge), size = v->bytes / (n ? n : 1);
    if (!dtype_is_float((DType)v->type.dtype)) return hash_bytes(v->data, v->bytes, hash);
    char *own = xmalloc(v->bytes + 1);
    memcpy(own, v->data, v->bytes);
    for (uint64_t i = 0; i < n; i++) {
        char *at = own + i * size;
        if (isnan(element_float((DType)v->type.dtype, at))) memset(at, 0xff, size);
    }
    hash = hash_bytes(own, v->bytes, hash);
    free(own);
    return hash;
}

static void take(Exec *x, Answers *a) {
    Msg m = {0};
    Arena scratch = {0};
    Reply r;
    while (exec_next(x, &m)) {
        Failure f;
        if (wire_kind(&m) == MSG_ERROR && wire_read_failure(&m, &f, NULL) && f.seq < PROGRAM_MAX)
            snprintf(a->error[f.seq], sizeof a->error[0], "%.99s", f.err.text);
        if (wire_kind(&m) == MSG_REPLY && wire_read_reply(&m, &scratch, &r, NULL) &&
            r.seq < PROGRAM_MAX && r.n == 1) {
            Answer *to = &a->of[r.seq];
            to->is_there = true;
            to->hash = r.value[0].status;
            if (!r.value[0].status) to->hash = hash_value(&r.value[0], 1);
        }
        msg_fini(&m);
        arena_reset(&scratch);
    }
    arena_fini(&scratch);
}

static void settle(Exec *x, Answers *a) {
    while (exec_step(x, 1000)) {}
    take(x, a);
}

/* Runs the program, in frames that end anywhere, for a client of its own, which then leaves. */
static void play(Exec *x, const Program *p, uint32_t client, Rand *r, Answers *a) {
    memset(a, 0, sizeof *a);
    bool often = rand_below(r, 2);
    FrameWriter w = {.edge_id = UINT64_MAX};
    frame_begin(&w, client, 0);
    for (int i = 0; i < p->n; i++) {
        frame_add(&w, p->inst[i]);
        if (i + 1 < p->n && !frame_is_full(&w) && rand_below(r, often ? 4 : 60)) continue;
        Msg m;
        frame_end(&w, &m);
        exec_on_frame(x, &m);
        frame_begin(&w, client, (uint64_t)i + 1);
        Attr compile = {.key = ATTR_COMPILE, .b = rand_below(r, 3) == 0};
        frame_insert(&w, &(Inst){.op = OP_SCOPE, .n_attr = 1, .attr = &compile});
        for (int k = rand_below(r, 3); k > 0; k--) exec_step(x, 1 + rand_below(r, 50));
        take(x, a);
    }
    Msg rest;
    frame_end(&w, &rest);
    msg_fini(&rest);
    settle(x, a);
    exec_on_gone(x, client);
    settle(x, a);
}

/* ---- Differences ---- */

/* Prints the instructions that a value depends on. */
static void print_origin(const Program *p, int at) {
    bool wanted[PROGRAM_MAX] = {0};
    Bytes text = {0};
    InstPrint how = {.payload_max = 64};
    wanted[at] = true;
    for (int i = at; i >= 0; i--)
        for (int k = 0; wanted[i] && k < p->inst[i]->n_in; k++)
            for (int j = 0; j < i; j++)
                if (p->inst[j]->n_out && p->inst[i]->in[k].kind == IN_TENSOR &&
                    p->inst[j]->out[0] == p->inst[i]->in[k].id)
                    wanted[j] = true;
    for (int i = 0; i <= at; i++) {
        if (!wanted[i]) continue;
        bytes_puts(&text, "  ");
        inst_print(p->inst[i], &how, &text);
        bytes_putc(&text, '\n');
    }
    fputs(text.data, stdout);
    bytes_fini(&text);
}

static void complain(uint64_t seed, const char *what) {
    tally->failed++;
    printf("fuse: seed %llu: %s; fuse %llu\n", (unsigned long long)seed, what,
           (unsigned long long)seed);
}

static bool compare(const Program *p, uint64_t seed, const char *world, const Answers *want,
                    const Answers *got) {
    for (int i = 0; i < p->n; i++) {
        const Answer *a = &want->of[i], *b = &got->of[i];
        bool fails_alike = !strcmp(want->error[i], got->error[i]);
        if (fails_alike && a->is_there == b->is_there && a->hash == b->hash) continue;
        char text[300];
        snprintf(text, sizeof text, "%s: instruction %d: %s", world, i,
                 !fails_alike                 ? "another error"
                 : a->is_there == b->is_there ? "other bits"
                                              : "no answer");
        if (!fails_alike)
            printf("fuse: one by one: \"%s\", now: \"%s\"\n", want->error[i], got->error[i]);
        complain(seed, text);
        print_origin(p, i);
        return false;
    }
    return true;
}

/* ---- Worlds ---- */

static Exec *open_world(const char *engine, const char *how, int batch, int threads) {
    char text[24];
    snprintf(text, sizeof text, "%d", batch);
    setenv("GT_FUSE", how, 1);
    setenv("GT_WORKER_BATCH_SIZE", text, 1);
    setenv("GT_LLC_KIB", batch % 2 ? "1" : "32768", 1);
    Err err = {0};
    EngineConfig config = {.memory_bytes = UINT64_C(1) << 28, .threads = threads};
    Exec *x = worker_exec(engine_find(engine), &config, &err);
    if (!x) panic("fuse: %s", err.text);
    return x;
}

static unsigned long counter(const Exec *x, const char *name) {
    Bytes text = {0};
    exec_stats(x, &text);
    bytes_putc(&text, 0);
    const char *at = strstr(text.data, name);
    unsigned long n = at ? strtoul(at + strlen(name) + 1, NULL, 10) : 0;
    bytes_fini(&text);
    return n;
}

static void nap_ms(int ms) {
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static void close_world(Exec *x, uint64_t seed) {
    uint64_t used, peak, total;
    x->ops->memory(exec_engine(x), &used, &peak, &total);
    if (used || x->store.n_storages) complain(seed, "memory is left");
    tally->launches += counter(x, "fused.launches");
    tally->fused += counter(x, "fused.ops");
    tally->products += counter(x, "fused.products");
    tally->in_turn += counter(x, "fused.eager_ops");
    tally->compiled += counter(x, "jit.compiled");
    tally->cached += counter(x, "jit.cached");
    if (counter(x, "jit.failed")) complain(seed, "a kernel cannot be compiled");
    exec_free(&x);
}

/* Runs programs in one world, several times, until all their kernels are ready, and then some more.
 * whole: kernels that may come from disk. */
static void fused_world(const Program *p, const Answers *want, int n, uint64_t seed,
                        const char *name, const char *engine, unsigned long whole) {
    static Answers got;
    Rand r = {seed * 31 + 7};
    char how[32];
    snprintf(how, sizeof how, "luck:%llu", (unsigned long long)(rand_u64(&r) | 1));
    static const int batches[] = {2, 3, 5, 9, 48, 48};
    Exec *x = open_world(engine, how, batches[rand_below(&r, 6)], rand_below(&r, 2) ? 3 : 1);
    uint32_t client = 0;
    bool ok = true;
    int waited_ms = 0;
    for (int pass = 0, ready = 0; ok && ready < LAST && waited_ms < READY_MS; pass++) {
        for (int i = 0; i < n && ok; i++) {
            play(x, &p[i], ++client, &r, &got);
            tally->runs++;
            ok = compare(&p[i], seed + (uint64_t)i, name, &want[i], &got);
        }
        ready += counter(x, "jit.pending") == 0;
        int ms = ready ? 0 : rand_below(&r, 5 + 4 * pass); /* meanwhile kernels become ready */
        nap_ms(ms);
        waited_ms += ms;
    }
    tally->unready += waited_ms >= READY_MS;
    if (counter(x, "jit.cached") > whole) complain(seed, "a damaged kernel is taken from disk");
    close_world(x, seed);
}

/* ---- The cache ---- */

static void remove_cache(const char *dir) {
    char path[600];
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%.200s", dir, e->d_name);
        if (unlink(path)) rmdir(path);
    }
    if (d) closedir(d);
    rmdir(dir);
}

typedef struct File {
    char name[64];
    uint64_t hash;
} File;

static bool read_file(const char *dir, const char *name, uint64_t *hash) {
    char path[600];
    snprintf(path, sizeof path, "%s/%.200s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    unsigned char piece[4096];
    *hash = 1;
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;) *hash = hash_bytes(piece, n, *hash);
    bool ok = !ferror(f);
    fclose(f);
    return ok;
}

/* Truncates, empties, changes, lengthens or removes a file, or replaces it by a directory or
 * another file. */
static void damage_file(const char *dir, const char *name, const char *other, Rand *r) {
    char path[600], from[600];
    snprintf(path, sizeof path, "%s/%.200s", dir, name);
    snprintf(from, sizeof from, "%s/%.200s", dir, other);
    struct stat st;
    FILE *f = stat(path, &st) ? NULL : fopen(path, "r+b");
    if (!f) return;
    long at = (long)(rand_u64(r) % (uint64_t)(st.st_size ? st.st_size : 1));
    int how = rand_below(r, 7), c;
    fseek(f, at, SEEK_SET);
    if (how < 2 && ftruncate(fileno(f), how ? 0 : at)) abort();
    if (how == 2 && (c = fgetc(f)) != EOF) {
        fseek(f, at, SEEK_SET);
        fputc(c ^ 1 << rand_below(r, 8), f);
    }
    if (how == 3) fseek(f, 0, SEEK_END), fputs("more", f);
    fclose(f);
    tally->damaged++;
    if (how < 4) return;
    unlink(path);
    if (how == 5 && mkdir(path, 0700)) abort();
    if (how == 6 && link(from, path)) unlink(from);
}

/* Returns the number of kernels in the cache that are unchanged after some were damaged. */
static unsigned long damage_cache(const char *dir, Rand *r) {
    enum { FILES = 4096 };
    File *file = xcalloc(FILES, sizeof *file);
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) && n < FILES;) {
        snprintf(file[n].name, sizeof file[n].name, "%.63s", e->d_name);
        n += e->d_name[0] != '.' && read_file(dir, e->d_name, &file[n].hash);
    }
    if (d) closedir(d);
    for (int i = 0; i < n; i++)
        if (rand_below(r, 3)) damage_file(dir, file[i].name, file[rand_below(r, n)].name, r);
    unsigned long whole = 0;
    for (int i = 0; i < n; i++) {
        uint64_t hash;
        whole += read_file(dir, file[i].name, &hash) && hash == file[i].hash;
    }
    free(file);
    return whole;
}

/* ---- A job ---- */

/* The programs on another engine than `cpu`. */
static void device_worlds(const Program *p, const Answers *want, int n, uint64_t seed,
                          const char *engine) {
    static Answers got;
    Rand r = {seed * 13 + 1};
    for (int way = 0; way < 2; way++) {
        Exec *x = open_world(engine, way ? "wait" : "0", 48, 1);
        bool ok = true;
        for (int i = 0; i < n && ok; i++) {
            play(x, &p[i], (uint32_t)i + 1, &r, &got);
            tally->runs++;
            ok = compare(&p[i], seed + (uint64_t)i, way ? "in fusions" : "one by one", &want[i],
                         &got);
        }
        close_world(x, seed);
    }
    fused_world(p, want, n, seed, "some in fusions", engine, ULONG_MAX);
}

static void run_group(const char *cache, uint64_t seed, int n, int length) {
    const char *device = getenv("GT_TEST_ENGINE");
    Program *p = xcalloc((size_t)n, sizeof *p);
    Answers *want = xcalloc((size_t)n, sizeof *want);
    is_portable = device != NULL;
    Rand r = {seed * 977 + 5};
    Exec *x = open_world("cpu", "0", 48, 1);
    for (int i = 0; i < n; i++) {
        program_make(&p[i], seed + (uint64_t)i, length);
        play(x, &p[i], (uint32_t)i + 1, &r, &want[i]);
        tally->programs++;
    }
    close_world(x, seed);
    if (device) {
        device_worlds(p, want, n, seed, device);
        for (int i = 0; i < n; i++) program_free(&p[i]);
        free(p);
        free(want);
        return;
    }
    fused_world(p, want, n, seed, "kernels that become ready", "cpu", ULONG_MAX);
    fused_world(p, want, n, seed, "the engine late", "late", ULONG_MAX);
    unsigned long whole = damage_cache(cache, &r);
    fused_world(p, want, n, seed, "a damaged cache", "cpu", whole);
    remove_cache(cache);
    fflush(stdout);
    for (int k = 0; k < MATES; k++) {
        if (fork()) continue;
        fused_world(p, want, n, seed, "a cold cache of several processes", "cpu", ULONG_MAX);
        fflush(stdout);
        _exit(0);
    }
    for (int k = 0, status; k < MATES; k++)
        if (wait(&status) > 0 && status) complain(seed, "a process has crashed");
    for (int i = 0; i < n; i++) program_free(&p[i]);
    free(p);
    free(want);
}

int main(int argc, char **argv) {
    uint64_t first = 1, n = 32, one = 0;
    int jobs = 1, length = 120;
    log_environment();
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (argv[i][0] != '-')
            one = strtoull(argv[i], NULL, 0);
        else
            switch (i++, argv[i - 1][1]) {
            case 'n': n = strtoull(next, NULL, 0); break;
            case 's': first = strtoull(next, NULL, 0); break;
            case 'j': jobs = atoi(next); break;
            case 'l': length = atoi(next); break;
            default: fprintf(stderr, "fuse: no option %s\n", argv[i - 1]); return 2;
            }
    }
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (one) first = one, n = jobs = 1;
    for (int k = 0; k < jobs; k++) {
        if (fork()) continue;
        char room[64], cache[80];
        const char *tmp = getenv("TMPDIR");
        snprintf(room, sizeof room, "%.30s/fuse%d.XXXXXX", tmp ? tmp : "/tmp", k);
        if (!mkdtemp(room)) _exit(2);
        snprintf(cache, sizeof cache, "%s/gt", room);
        if (!getenv("GT_TEST_ENGINE"))
            setenv("XDG_CACHE_HOME", room, 1); /* else it is not damaged */
        for (uint64_t s = (uint64_t)k * BATCH; s < n; s += (uint64_t)jobs * BATCH)
            run_group(cache, first + s, n - s < BATCH ? (int)(n - s) : BATCH, length);
        remove_cache(cache);
        rmdir(room);
        fflush(NULL);
        _exit(0);
    }
    for (int status; wait(&status) > 0;) {
        if (!status) continue;
        tally->failed++;
        printf("fuse: a job has crashed\n");
    }
    printf("fuse: seeds %llu to %llu: %u programs, %u runs, %u failed\n", (unsigned long long)first,
           (unsigned long long)(first + n - 1), tally->programs, tally->runs, tally->failed);
    printf("fuse: %lu launches of %lu ops, %lu with a product, %lu ops one by one; kernels: %lu "
           "compiled, %lu from disk; %lu files damaged\n",
           tally->launches, tally->fused, tally->products, tally->in_turn, tally->compiled,
           tally->cached, tally->damaged);
    if (tally->unready) printf("fuse: %u worlds had slow compilers\n", tally->unready);
    return tally->failed != 0 || tally->launches == 0;
}
