/* shard: a property test: sharding never changes results. Random programs (shard_program.h) run by
 * gtsh as they are, and then with random configurations of their signals on 1, 2, 3, 4, 8 and 16
 * workers. Every character of the output, which has all digits, must be the same, in float64,
 * float32 and halves. Only the reference engine, whose sums have another order, may differ by 1e-10
 * on programs in float64 that are not on integers.
 *
 * In every fourth run the program prints the placement of its tensors, which an independent oracle
 * predicts (shard_place.h). Some runs use daemons that each job keeps.
 *
 *   shard [-b BUILD] [-n N] [-s FIRST] [-j JOBS] [-o DIR] [-d PERCENT of runs with daemons]
 *         [-e ENGINE of the others]
 *   shard [-b BUILD] SEED         one, with its program and configurations
 *
 * A failing program is reduced by leaving out lines, printed, and with -o kept as DIR/SEED.gt and
 * DIR/SEED.yaml.
 * SPDX-License-Identifier: MIT */
#include "tests/fuzz/shard_place.h"
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONFIGS = 2, SECONDS = 600 };

typedef struct Tally {
    _Atomic unsigned programs, refused, rounded, runs, failed;
} Tally;
static Tally *tally;
static const char *build = "build", *keep_dir;
static char work[64];
static bool is_verbose;
static int daemon_percent = 15;
static const char *engine; /* of all runs without daemons; NULL: cpu, of some reference */

/* ---- Daemons: a dispatcher with workers, kept for many runs ---- */

static pid_t daemon_pid;
static int daemon_workers;

static bool daemon_is_ready(void) {
    char where[128];
    snprintf(where, sizeof where, "%s/where", work);
    struct timespec nap = {.tv_nsec = 20000000};
    for (int i = 0; i < 500; i++) {
        if (access(where, R_OK) == 0) return true;
        if (waitpid(daemon_pid, NULL, WNOHANG) > 0) break;
        nanosleep(&nap, NULL);
    }
    printf("shard: no daemon\n");
    daemon_pid = 0;
    return false;
}

static bool start_daemon(int n_workers) {
    char program[256], ipc[128], where[128], workers[32], log[128];
    int status;
    if (daemon_pid && waitpid(daemon_pid, &status, WNOHANG) == 0) return true;
    if (daemon_pid) {
        printf("shard: the dispatcher has ended by itself, with status %x\n", status);
        tally->failed += status != 0;
    }
    daemon_workers = n_workers;
    snprintf(program, sizeof program, "%s/gt-dispatcher", build);
    snprintf(ipc, sizeof ipc, "--ipc=%s/socket", work);
    snprintf(where, sizeof where, "--endpoint-file=%s/where", work);
    snprintf(log, sizeof log, "%s/daemon", work);
    snprintf(workers, sizeof workers, "--workers=%d", n_workers);
    char *argv[] = {program, ipc, where, workers, "--threads=1", "--memory=64M", NULL};
    daemon_pid = fork();
    if (daemon_pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, 1);
        dup2(fd, 2);
        execv(program, argv);
        _exit(127);
    }
    return daemon_is_ready();
}

/* ---- Running ---- */

typedef struct Setting {
    int n_workers;
    bool has_config, is_reference, is_daemon;
    uint64_t config_seed;
} Setting;

static void put_file(const char *path, const char *dt, const Lines *l, const uint8_t *out) {
    FILE *f = fopen(path, "w");
    if (!f) exit(2);
    fprintf(f, "dt = %s\n", dt);
    for (int i = 1; i < l->n; i++)
        if (!out || !out[i]) fprintf(f, "%s\n", l->line[i]);
    fclose(f);
}

static void put_config(const char *path, const Setting *g) {
    FILE *f = fopen(path, "w");
    if (!f) exit(2);
    config_write(f, g->config_seed, g->n_workers);
    fclose(f);
}

static char *slurp(const char *path) {
    FILE *f = fopen(path, "r");
    Bytes b = {0};
    char buf[65536];
    size_t n;
    bytes_reserve(&b, 1);
    while (f && (n = fread(buf, 1, sizeof buf, f)) > 0) bytes_add(&b, buf, n);
    if (f) fclose(f);
    b.data[b.n] = 0;
    return b.data;
}

/* Returns the program's output, or if it fails, its errors; owned by the caller. *status as of
 * waitpid. */
static char *run(const Setting *g, int *status) {
    char gtsh[256], workers[32], config[128], program[128], out[128], errors[128], where[128];
    snprintf(gtsh, sizeof gtsh, "%s/gtsh", build);
    snprintf(workers, sizeof workers, "--workers=%d", g->n_workers);
    snprintf(config, sizeof config, "--config=%s/c.yaml", work);
    snprintf(program, sizeof program, "%s/p.gt", work);
    snprintf(out, sizeof out, "%s/out", work);
    snprintf(errors, sizeof errors, "%s/err", work);
    char *argv[10];
    int n = 0;
    snprintf(where, sizeof where, "-d@%s/where", work);
    argv[n++] = gtsh;
    if (g->is_daemon)
        argv[n++] = where;
    else
        argv[n++] = workers, argv[n++] = "--threads=1", argv[n++] = "--memory=64M";
    char choice[64];
    snprintf(choice, sizeof choice, "--engine=%s", g->is_reference ? "reference" : engine);
    if ((g->is_reference || engine) && !g->is_daemon) argv[n++] = choice;
    if (g->has_config) argv[n++] = config;
    argv[n++] = program, argv[n] = NULL;
    tally->runs++;
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0) _exit(126);
        dup2(fd, 1);
        fd = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, 2);
        signal(SIGALRM, SIG_DFL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        alarm(SECONDS);
        execv(gtsh, argv);
        _exit(127);
    }
    waitpid(pid, status, 0);
    bool ok = WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
    return slurp(ok ? out : errors);
}

/* ---- Comparing ---- */

static bool is_number_start(const char *s) {
    if (*s == '-') s++;
    return *s >= '0' && *s <= '9';
}

/* The largest number on the line. */
static double scale_of(const char *s) {
    double most = 1;
    while (*s && *s != '\n') {
        if (!is_number_start(s)) {
            s++;
            continue;
        }
        char *end;
        double v = fabs(strtod(s, &end));
        if (isfinite(v) && v > most) most = v;
        s = end;
    }
    return most;
}

/* Returns NULL if both are the same; else where they begin to differ. */
static const char *difference(const char *a, const char *b, double tolerance) {
    if (tolerance == 0) {
        while (*a && *a == *b) a++, b++;
        return *a == *b ? NULL : a;
    }
    double scale = scale_of(a);
    while (*a && *b) {
        if (is_number_start(a) && is_number_start(b)) {
            char *a_end, *b_end;
            double x = strtod(a, &a_end), y = strtod(b, &b_end);
            if (!(fabs(x - y) <= tolerance * scale)) return a;
            a = a_end, b = b_end;
            continue;
        }
        if (*a != *b) return a;
        if (*a == '\n') scale = scale_of(a + 1);
        a++, b++;
    }
    return *a == *b ? NULL : a;
}

typedef struct Case {
    Lines lines;
    bool is_whole, is_rough; /* is_rough: sums may have another order on several workers */
    const char *dt;          /* of the program, when it runs */
    uint64_t seed;
    char why[400];
} Case;

/* Copies the line that contains `at`, for messages. */
static void quote(const char *text, const char *at, char *to, size_t size) {
    const char *begin = at;
    while (begin > text && begin[-1] != '\n') begin--;
    size_t n = strcspn(begin, "\n");
    snprintf(to, size, "%.*s%s", (int)(n < 150 ? n : 150), begin, n > 150 ? " ..." : "");
}

static bool ended_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

/* Runs the program without a configuration; NULL: it is invalid (or not exact). */
static char *run_plain(Case *c, const uint8_t *out, bool is_reference, bool *is_fault) {
    Setting plain = {.n_workers = 1, .is_reference = is_reference};
    char path[128];
    int status;
    snprintf(path, sizeof path, "%s/p.gt", work);
    *is_fault = false;
    char *wide = NULL;
    if (c->is_whole && !strcmp(c->dt, "float32")) {
        put_file(path, "float64", &c->lines, out);
        wide = run(&plain, &status);
    }
    put_file(path, c->dt, &c->lines, out);
    char *text = run(&plain, &status);
    bool ok = ended_well(status);
    if (!ok && !(WIFEXITED(status) && WEXITSTATUS(status) == 1)) {
        snprintf(c->why, sizeof c->why, "the plain run ends with status %x: %.200s", status, text);
        *is_fault = true;
    }
    if (!ok && is_verbose) printf("%s\n", text);
    if (!ok && !out) tally->refused++;
    if (ok && wide && strcmp(wide, text)) {
        if (!out) tally->rounded++;
        ok = false;
    }
    free(wide);
    if (ok) return text;
    free(text);
    return NULL;
}

/* Runs the program under one configuration. Returns false if it differs; c->why describes it. */
static bool agrees(Case *c, const char *plain, const Setting *g) {
    char path[128];
    int status;
    snprintf(path, sizeof path, "%s/c.yaml", work);
    put_config(path, g);
    char *text = run(g, &status);
    double tolerance = c->is_whole || !g->has_config || !c->is_rough ? 0 : 1e-10;
    const char *at = ended_well(status) ? difference(plain, text, tolerance) : plain;
    if (at) {
        char want[200], got[400];
        const char *same = text + (at - plain);
        quote(plain, at, want, sizeof want);
        if (!ended_well(status))
            snprintf(c->why, sizeof c->why, "ends with status %x: %.300s", status,
                     strlen(text) > 300 ? text + strlen(text) - 300 : text);
        else {
            quote(text, same <= text + strlen(text) ? same : text, got, sizeof got);
            snprintf(c->why, sizeof c->why, "%.180s\n   is not %.180s", got, want);
        }
    }
    free(text);
    return !at;
}

/* ---- Making a failure small ---- */

static bool still_fails(Case *c, const uint8_t *out, const Setting *g) {
    bool is_fault;
    char *plain = run_plain(c, out, g->is_reference, &is_fault);
    if (!plain) return false;
    bool ok = agrees(c, plain, g);
    free(plain);
    return !ok;
}

static void shrink(Case *c, uint8_t *out, const Setting *g) {
    int tries = 0;
    for (int size = 32; size >= 1; size /= 2)
        for (int at = c->lines.n - 1; at >= 1 && tries < 600; at -= size) {
            uint8_t before[LINES_MAX];
            bool any = false;
            memcpy(before, out, sizeof before);
            for (int i = at; i > at - size && i >= 1; i--) {
                any |= !out[i];
                out[i] = 1;
                if (c->lines.pair[i]) out[c->lines.pair[i]] = 1;
            }
            if (!any) continue;
            tries++;
            if (!still_fails(c, out, g)) memcpy(out, before, sizeof before);
        }
}

static void report(Case *c, const Setting *g) {
    uint8_t out[LINES_MAX] = {0};
    char first[400];
    tally->failed++;
    memcpy(first, c->why, sizeof first);
    shrink(c, out, g);
    flockfile(stdout);
    printf("shard: seed %llu fails with %d workers%s%s%s%s: %s\n", (unsigned long long)c->seed,
           g->n_workers, g->has_config ? "" : ", no configuration", g->is_daemon ? ", daemons" : "",
           g->is_reference ? ", reference engine" : "", c->is_whole ? ", whole numbers" : "",
           first);
    for (int i = 0; i < c->lines.n; i++)
        if (i == 0)
            printf("    dt = %s\n", c->dt);
        else if (!out[i])
            printf("    %s\n", c->lines.line[i]);
    if (g->has_config) printf("  with\n");
    fflush(stdout);
    if (g->has_config) config_write(stdout, g->config_seed, g->n_workers);
    fflush(stdout);
    funlockfile(stdout);
    if (!keep_dir) return;
    char path[256];
    snprintf(path, sizeof path, "%s/%llu.gt", keep_dir, (unsigned long long)c->seed);
    put_file(path, c->dt, &c->lines, out);
    snprintf(path, sizeof path, "%s/%llu.yaml", keep_dir, (unsigned long long)c->seed);
    if (g->has_config) put_config(path, g);
}

/* ---- One program, many programs ---- */

static void run_case(uint64_t seed) {
    static const int sizes[] = {1, 2, 2, 3, 3, 4, 8, 16};
    Rand r = {.state = seed * 0x9E3779B97F4A7C15u + 11};
    Case c = {.seed = seed};
    c.is_whole = rand_below(&r, 4) == 0;
    bool is_reference = rand_below(&r, 4) == 0 && !engine, is_fault;
    c.dt = seed % 3 ? "float32" : seed % 2 ? "bfloat16" : "float16";
    bool is_half =
        !strcmp(c.dt, "bfloat16") || !strcmp(c.dt, "float16"); /* they round beyond 3 digits */
    program_write(&c.lines, rand_u64(&r), 10 + rand_below(&r, 70), c.is_whole, is_half ? 99 : 3);
    c.is_rough = is_reference;
    if (!c.is_whole && (c.is_rough || seed % 4 == 0)) c.dt = "float64";
    tally->programs++;
    if (is_verbose)
        for (int i = 0; i < c.lines.n; i++) printf("    %s\n", c.lines.line[i]);
    char *plain = run_plain(&c, NULL, is_reference, &is_fault);
    if (is_fault) report(&c, &(Setting){.n_workers = 1});
    for (int k = 0; k < CONFIGS && plain; k++) {
        Setting g = {.n_workers = sizes[rand_below(&r, 8)],
                     .has_config = rand_below(&r, 8) != 0,
                     .is_reference = is_reference,
                     .config_seed = rand_u64(&r)};
        if (rand_below(&r, 100) < daemon_percent && !is_reference && start_daemon(g.n_workers))
            g.is_daemon = true, g.n_workers = daemon_workers;
        if (is_verbose) {
            printf("%d workers%s\n", g.n_workers, g.has_config ? ", with" : "");
            fflush(stdout);
            if (g.has_config) config_write(stdout, g.config_seed, g.n_workers);
        }
        if (agrees(&c, plain, &g)) continue;
        report(&c, &g);
        break;
    }
    free(plain);
    lines_fini(&c.lines);
}

/* Prints and checks the placement of tensors. */
static void run_place(uint64_t seed) {
    static const int sizes[] = {1, 2, 3, 4, 8};
    Rand r = {.state = seed * 0x9E3779B97F4A7C15u + 5};
    Case c = {.seed = seed};
    Setting g = {.n_workers = sizes[rand_below(&r, 5)]};
    Bytes want = {0};
    char path[128], a[200], b[200];
    int status;
    place_write(&c.lines, &want, rand_u64(&r), g.n_workers);
    snprintf(path, sizeof path, "%s/p.gt", work);
    put_file(path, "float32", &c.lines, NULL);
    char *got = run(&g, &status);
    const char *at = ended_well(status) ? difference(want.data, got, 0) : want.data;
    tally->programs++;
    if (at || is_verbose) {
        for (int i = 0; i < c.lines.n; i++) printf("    %s\n", c.lines.line[i]);
        if (!ended_well(status)) printf("%s\n", got);
    }
    if (at) {
        tally->failed++;
        size_t offset = (size_t)(at - want.data);
        quote(want.data, at, a, sizeof a);
        quote(got, strlen(got) > offset ? got + offset : got, b, sizeof b);
        printf("shard: seed %llu: on %d workers a tensor lies as\n    %s\n  not\n    %s\n",
               (unsigned long long)seed, g.n_workers, b, a);
    }
    free(got);
    bytes_fini(&want);
    lines_fini(&c.lines);
}

/* ---- The daemons' end ---- */

/* Checks that the daemons hold nothing of all those programs. */
static void check_daemon(void) {
    char path[128];
    int status;
    snprintf(path, sizeof path, "%s/p.gt", work);
    FILE *f = fopen(path, "w");
    if (!f) exit(2);
    fprintf(f,
            "x = ones(1)\nsync()\nx = none\nsync()\ns = stats()\n"
            "fn look(k) { if s[k] != 0 { print(k, s[k]) } }\n"
            "for k in [\"tensors\", \"bytes\"] { look(k) }\n"
            "for i in range(%d) { for k in [\"bytes_used\", \"tensors\", \"storages\", \"pins\", "
            "\"waiting\"] { look(f\"w{i}.{k}\") } }\n",
            daemon_workers);
    fclose(f);
    char *text = run(&(Setting){.n_workers = daemon_workers, .is_daemon = true}, &status);
    if (!ended_well(status) || text[0]) {
        printf("shard: what is left with the daemons:\n%s\n", text);
        tally->failed++;
    }
    free(text);
}

static void stop_daemon(void) {
    int status = 0;
    if (!daemon_pid) return;
    check_daemon();
    kill(daemon_pid, SIGTERM);
    waitpid(daemon_pid, &status, 0);
    daemon_pid = 0;
    if (status) {
        printf("shard: the dispatcher ends with status %x\n", status);
        tally->failed++;
    }
}

static void make_room(int job) {
    const char *tmp = getenv("TMPDIR");
    snprintf(work, sizeof work, "%.40s/shard%d.XXXXXX", tmp ? tmp : "/tmp", job);
    if (!mkdtemp(work)) exit(2);
}
static void clean_room(void) {
    static const char *const names[] = {"p.gt",  "c.yaml", "out",   "err",
                                        "where", "socket", "daemon"};
    char path[128];
    for (int i = 0; i < 7; i++) {
        snprintf(path, sizeof path, "%s/%s", work, names[i]);
        unlink(path);
    }
    rmdir(work);
}

int main(int argc, char **argv) {
    uint64_t first = 1, n = 100, one = 0;
    int jobs = 1;
    setenv("GT_HOTPATH_THRESHOLD", "2", 0); /* loops are short */
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (argv[i][0] != '-')
            one = strtoull(argv[i], NULL, 0);
        else
            switch (i++, argv[i - 1][1]) {
            case 'b': build = next; break;
            case 'n': n = strtoull(next, NULL, 0); break;
            case 's': first = strtoull(next, NULL, 0); break;
            case 'j': jobs = atoi(next); break;
            case 'o': keep_dir = next; break;
            case 'e': engine = next; break;
            case 'd': daemon_percent = atoi(next); break;
            default: fprintf(stderr, "shard: no option %s\n", argv[i - 1]); return 2;
            }
    }
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (one) first = one, n = jobs = 1, is_verbose = true;
    for (int k = 0; k < jobs; k++) {
        if (fork()) continue;
        make_room(k);
        for (uint64_t s = first + (uint64_t)k; s < first + n; s += (uint64_t)jobs) {
            if (s % 4 == 3)
                run_place(s);
            else
                run_case(s);
            if (!is_verbose && (s - first) % 200 == 199)
                printf("shard: %u programs, %u failed\n", tally->programs, tally->failed);
        }
        stop_daemon();
        clean_room();
        fflush(NULL);
        _exit(0);
    }
    while (wait(NULL) > 0) {}
    printf("shard: %u programs (%u refused, %u rounded), %u runs, %u failed\n", tally->programs,
           tally->refused, tally->rounded, tally->runs, tally->failed);
    return tally->failed != 0 || tally->refused + tally->rounded > tally->programs / 2;
}
