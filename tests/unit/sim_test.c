/* sim_test: a simulator test: sharding, timing and failures never change values. Whole clusters in
 * one thread (sim_cluster.h), random programs (sim_program.h), random schedules: several clients
 * and workers, delays, slow links, little memory, peers whose memory can be read or not, engines
 * that finish late, nodes that die, cancels. After each run: nothing is stuck, every effect has
 * exactly one answer, every value has the bits that one worker without signals gives, all memory is
 * freed, and the dispatcher's tables are empty.
 *
 *   sim_test                      a few seconds' worth
 *   sim_test -n N [-s FIRST] [-j JOBS]   N schedules, in JOBS processes
 *   sim_test [-t] SEED            one, with its programs and the error; -t: all messages
 *   sim_test --shrink SEED        the same, with as few instructions as still fail
 *   GT_TEST_ENGINE=cuda           with that engine instead of a random one
 * SPDX-License-Identifier: MIT */
#include "tests/unit/sim_cluster.h"
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

typedef enum Mode { PLAIN, TIGHT, MISTAKES, CANCEL, CLIENT_DIES, WORKER_DIES, LATE, MODES } Mode;
static const char *const mode_name[MODES] = {"plain",       "tight memory", "mistakes",   "cancel",
                                             "client dies", "worker dies",  "worker late"};

/* Shared by processes: counts, and the seed of each. */
typedef struct Tally {
    _Atomic uint64_t schedules, instructions, messages, of_mode[MODES], out_of_memory, cut_off,
        failed, shards, gets, bytes, sent_hot, planned;
    _Atomic uint64_t at[64]; /* the seed that a process runs */
} Tally;
static Tally *tally;
static int slot;
static bool is_verbose, traces_all;
static const uint8_t *mask[CLIENTS_MOST]; /* when shrinking: instructions to leave out ... */
static uint64_t salt;                     /* ... and another schedule, for they shift all choices */

/* ---- The plain run ---- */

static Sim *sim_new(uint64_t seed, int n_workers, int n_clients, int wanted) {
    Sim *s = xcalloc(1, sizeof *s);
    s->r.state = seed, s->n_workers = n_workers, s->n_clients = n_clients;
    s->frame_most = 256;
    DispatcherConfig config = {.workers_wanted = wanted, .seed = seed};
    if (seed % 3) config.slice = 1 + (uint32_t)seed % 97;
    s->d = dispatcher_new(&config);
    return s;
}

/* One worker, one client, no signals, no delays. */
static Sim *run_plain(SimProgram *p, const char *engine) {
    Sim *s = sim_new(1, 1, 1, 1);
    s->worker[1].engine = engine;
    sim_open_worker(s, 1, 64 << 20, 1);
    sim_open_client(s, 0, p);
    s->client[0].drops_definitions = true;
    s->client[0].window = 4000;
    sim_run(s, 1000000);
    if (!client_is_done(&s->client[0])) sim_wrong(s, "the plain run does not end");
    sim_ask_figures(s, 100000);
    return s;
}

/* ---- Checks ---- */

static bool answers(Op op) {
    return op == OP_FETCH || op == OP_PEEK || op == OP_PRINT || op == OP_SYNC;
}

static void bytes_text_of(const Bytes *b, char *to, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < b->n && n + 4 < size; i++)
        n += (size_t)snprintf(to + n, size - n,
                              b->data[i] >= ' ' && b->data[i] <= '~' ? "%c" : "\\%02x",
                              (unsigned char)b->data[i]);
}

static void check_client(Sim *s, int i, const SimClient *plain, Mode mode) {
    SimClient *c = &s->client[i];
    if (c->is_dead) return;
    if (c->was_refused) {
        tally->cut_off++;
        if (mode != WORKER_DIES || c->refused != ERR_GONE)
            sim_wrong(s, "client %d was cut off: %s", i, c->refusal);
        return;
    }
    if (!client_is_done(c)) {
        sim_wrong(s, "client %d is stuck: welcome %d, %d of %d sent, %llu acknowledged", i,
                  c->is_welcome, c->next, c->program->n, (unsigned long long)c->acked);
        return;
    }
    bool memory = false, gone = false;
    for (int k = 0; k < c->program->n; k++) {
        memory |= c->failure[k] == ERR_MEMORY;
        gone |= c->failure[k] == ERR_GONE || (mode == WORKER_DIES && c->failure[k] == ERR_ARG);
    }
    if (memory) tally->out_of_memory++;
    if (memory && mode != TIGHT) sim_wrong(s, "client %d is out of memory", i);
    if (gone && mode != WORKER_DIES) sim_wrong(s, "client %d has lost a worker that lives", i);
    bool may_lose = memory || mode == CANCEL || (gone && mode == WORKER_DIES);
    for (int k = 0; k < c->program->n; k++) {
        const Inst *in = c->program->inst[k];
        const SimReply *got = &c->reply[k], *want = &plain->reply[k];
        if (got->has_come != answers(in->op))
            sim_wrong(s, "client %d: instruction %d has %s reply", i, k,
                      answers(in->op) ? "no" : "a");
        if (!answers(in->op)) continue;
        if (got->status) {
            if (!may_lose && !want->status)
                sim_wrong(s, "client %d: instruction %d is poisoned: %s", i, k,
                          err_name((ErrCode)got->status));
            continue;
        }
        if (want->status) continue; /* an index out of range on another rank's part */
        bool same = got->value.n == want->value.n &&
                    (!got->value.n || !memcmp(got->value.data, want->value.data, got->value.n));
        if (same) continue;
        char a[160] = "", b[160] = "";
        bytes_text_of(&got->value, a, sizeof a);
        bytes_text_of(&want->value, b, sizeof b);
        sim_wrong(s, "client %d: instruction %d (%s) gave\n    %s\n  not\n    %s", i, k,
                  op_info[in->op].name, a, b);
    }
    int failures = 0, wanted = 0;
    for (int k = 0; k < c->program->n; k++)
        failures += c->failure[k] != 0, wanted += plain->failure[k] != 0;
    if (wanted && !failures && !may_lose) sim_wrong(s, "client %d: a failure was not reported", i);
    if (!wanted && failures && !may_lose) sim_wrong(s, "client %d: a failure that is none", i);
    if (c->n_unexpected)
        sim_wrong(s, "client %d: a failure was reported twice, or without a cause", i);
}

static void check_figure(Sim *s, const char *name, int64_t want) {
    int64_t got = sim_figure(s, name);
    if (got != want)
        sim_wrong(s, "%s is %lld at the end, not %lld", name, (long long)got, (long long)want);
}

static void check_quiet(Sim *s, const char *when) {
    for (int a = 0; a < NODES; a++)
        for (int b = 0; b < NODES; b++)
            if (s->link[a][b].n && !(sim_is_worker(s, b) && s->worker[b].is_dead) &&
                !(sim_is_worker(s, a) && is_replaced(s, a)))
                sim_wrong(s, "%s: %d messages from node %d to %d were never delivered", when,
                          s->link[a][b].n, a, b);
    if (!dispatcher_is_idle(s->d)) sim_wrong(s, "%s: the dispatcher waits for something", when);
}

/* Each worker has read exactly the bytes that the algebra predicts; fewer only if something failed
 * before. */
static void check_bytes(Sim *s, bool is_clean) {
    for (int k = 1; k <= s->n_workers; k++) {
        const SimWorker *w = &s->worker[k];
        if (!w->w || w->is_dead || w->bytes.has_more_groups) continue;
        char name[64];
        snprintf(name, sizeof name, "w%u.bytes_in", w->rank);
        int64_t got = sim_figure(s, name), want = (int64_t)w->bytes.planned;
        if (got > want || (is_clean && got < want))
            sim_wrong(s, "%s is %lld, but should be %lld", name, (long long)got, (long long)want);
        tally->bytes += (uint64_t)got;
        snprintf(name, sizeof name, "w%u.plan.instructions", w->rank);
        if (s->n_workers > 1) tally->planned += (uint64_t)sim_figure(s, name);
    }
}

static void check_end(Sim *s, Mode mode) {
    s->die_worker = s->die_client = 0; /* it is not time for it yet */
    for (int i = 0; i < s->n_clients; i++) {
        SimClient *c = &s->client[i];
        int node = sim_client_node(s, i);
        if (c->is_dead || c->was_refused) continue;
        if (sim_below(s, 2)) {
            Msg m;
            wire_text(MSG_BYE, "", 0, &m);
            link_push(s, node, 0, &m);
        } else {
            node_dies(s, node);
        }
    }
    sim_run(s, 100000);
    sim_ask_figures(s, 100000);
    check_quiet(s, "after the last client");
    if (s->is_traced) printf("%s\n", s->figures.data ? s->figures.data : "");
    if (s->why[0]) return;
    check_bytes(s, mode == PLAIN);
    tally->sent_hot += (uint64_t)sim_figure(s, "sent_hot_instructions");
    check_figure(s, "clients", 1);
    check_figure(s, "tensors", 0);
    check_figure(s, "bytes", 0);
    static const char *const zero[] = {"bytes_used", "tensors", "storages", "clients"};
    for (int k = 1; k <= s->n_workers; k++)
        for (int i = 0; i < 4 && s->worker[k].w && !s->worker[k].is_dead; i++) {
            char name[64];
            snprintf(name, sizeof name, "w%u.%s", s->worker[k].rank, zero[i]);
            check_figure(s, name, 0);
        }
}

/* ---- One schedule ---- */

/* Leaves out the instructions of the mask, and those that depend on them. */
static void apply_mask(SimProgram *p, const uint8_t *out) {
    Map gone = {0};
    static int there;
    int n = 0, open = 0;
    for (int k = 0; k < p->n; k++) {
        Inst *in = p->inst[k];
        bool drop = out[k];
        Operand *o = (Operand *)in->in;
        uint16_t n_in = 0;
        for (int i = 0; i < in->n_in; i++) {
            bool lost = o[i].kind == IN_TENSOR && map_get(&gone, o[i].id + 1);
            if (in->op != OP_FREE) drop |= lost;
            if (in->op == OP_FREE && !lost) o[n_in++] = o[i];
        }
        if (in->op == OP_FREE) in->n_in = n_in, drop |= n_in == 0;
        if (in->op == OP_SIGNAL_EXIT && open == 0) drop = true;
        if (drop)
            for (int i = 0; i < in->n_out; i++) map_put(&gone, in->out[i] + 1, &there);
        if (drop) continue;
        open += (in->op == OP_SIGNAL_ENTER) - (in->op == OP_SIGNAL_EXIT);
        p->inst[n++] = in;
    }
    p->n = n;
    map_fini(&gone);
}

static void set_weather(Sim *s) {
    int style = sim_below(s, 4), last = sim_client_node(s, s->n_clients);
    s->has_delays = style > 0;
    s->by_priority = sim_below(s, 2);
    s->frame_most = 1 << sim_below(s, 9);
    for (int a = 0; a <= last; a++)
        for (int b = 0; b <= last; b++) {
            SimLink *l = &s->link[a][b];
            l->priority = sim_below(s, 1000);
            l->is_slow = style > 1 && sim_below(s, 6) == 0;
            if (style == 3 && sim_below(s, 8) == 0) l->closed_until = sim_below(s, 5000);
        }
    int readable = sim_below(s, 3); /* no client's, all clients', or some */
    for (int a = 1; a <= s->n_workers; a++) {
        s->worker[a].priority = sim_below(s, 1000);
        for (int b = 1; b <= s->n_workers; b++)
            s->is_readable[a][b] = readable == 1 || (readable == 2 && sim_below(s, 2));
    }
}

typedef struct Setting {
    int n_workers, n_clients; /* at first */
    bool has_spare;           /* one more joins later */
    Mode mode;
    uint64_t memory_bytes;
    const char *engine, *plain_engine;
} Setting;

static Setting choose_setting(Rand *r) {
    static const Mode modes[] = {PLAIN,    PLAIN,  PLAIN,       PLAIN,       TIGHT, TIGHT,
                                 MISTAKES, CANCEL, CLIENT_DIES, WORKER_DIES, LATE,  WORKER_DIES};
    Setting g = {.n_clients = 1 + rand_below(r, 4), .memory_bytes = 32 << 20};
    g.n_workers = rand_below(r, 5) ? 3 + rand_below(r, 6) : 1 + rand_below(r, 3);
    g.mode = modes[rand_below(r, 12)];
    if (g.mode == WORKER_DIES && g.n_workers < 2) g.n_workers = 4;
    g.has_spare = g.mode == LATE || (g.mode == WORKER_DIES && rand_below(r, 2));
    int engine = rand_below(r, 7);
    g.engine = engine == 0 ? "cpu" : engine == 1 ? "late" : engine < 4 ? "delayed" : "reference";
    g.plain_engine = engine < 2 ? "cpu" : "reference";
    const char *asked = getenv("GT_TEST_ENGINE");
    if (asked) g.engine = g.plain_engine = asked;
    return g;
}

static void print_setting(uint64_t seed, const Setting *g, SimProgram *program) {
    printf("seed %llu: %s, %d workers (%s), %d clients, %llu bytes each\n",
           (unsigned long long)seed, mode_name[g->mode], g->n_workers, g->engine, g->n_clients,
           (unsigned long long)g->memory_bytes);
    for (int i = 0; i < g->n_clients; i++) {
        printf("client %d:\n", i);
        program_print(&program[i], stdout);
    }
}

static void set_fate(Sim *s, const Setting *g, int n_insts) {
    s->die_at = 30 + sim_below(s, 20 * n_insts + 200);
    s->spare_at = sim_below(s, 20 * n_insts + 200);
    s->memory_bytes = g->memory_bytes;
    if (g->mode == WORKER_DIES) s->spare_at += s->die_at;
    if (g->mode == WORKER_DIES) s->die_worker = 1 + sim_below(s, g->n_workers);
    if (g->mode == CLIENT_DIES) s->die_client = sim_client_node(s, sim_below(s, g->n_clients));
    for (int i = 0; g->mode == CANCEL && i < g->n_clients; i++)
        s->client[i].cancel_at = 1 + sim_below(s, s->client[i].program->n + 1);
}

/* Returns true if all is well; else why holds the reason. */
static bool run_schedule(uint64_t seed, char *why, size_t why_size) {
    Rand r = {.state = seed * 0x9E3779B97F4A7C15u + 7};
    sim_clock_ns = 0;
    delayed_violations = 0;
    Setting g = choose_setting(&r);
    SimProgram program[CLIENTS_MOST] = {0};
    Sim *plain[CLIENTS_MOST];
    int n_insts = 0;
    uint64_t peak = 0;
    why[0] = 0;
    for (int i = 0; i < g.n_clients; i++) {
        int n = 5 + rand_below(&r, rand_below(&r, 4) ? 50 : 250);
        program_make(&program[i], rand_u64(&r), n, g.n_workers, g.mode == MISTAKES);
        if (mask[i]) apply_mask(&program[i], mask[i]);
        n_insts += program[i].n;
    }
    uint64_t sim_seed = rand_u64(&r) + salt, slack = (uint64_t)rand_below(&r, 60);
    for (int i = 0; i < g.n_clients; i++) {
        plain[i] = run_plain(&program[i], g.plain_engine);
        peak += (uint64_t)sim_figure(plain[i], "w0.bytes_peak");
    }
    if (g.mode == TIGHT) g.memory_bytes = peak / 4 + peak * slack / 50 + 4096;
    if (is_verbose) print_setting(seed, &g, program);

    Sim *s = sim_new(sim_seed, g.n_workers + g.has_spare, g.n_clients, g.n_workers);
    s->spare = g.has_spare ? s->n_workers : 0;
    s->is_traced = is_verbose, s->traces_all = traces_all;
    for (int i = 0; i < g.n_clients; i++)
        if (plain[i]->why[0]) sim_wrong(s, "the plain run: %.400s", plain[i]->why);
    for (int k = 1; k <= s->n_workers && !s->why[0]; k++) {
        s->worker[k].engine = g.engine;
        s->worker[k].rank = UINT32_MAX;
        if (k != s->spare) sim_open_worker(s, k, g.memory_bytes, sim_seed + (uint64_t)k);
    }
    set_weather(s);
    static const uint64_t small[] = {0, 16, 64, 400, 4096}, piece[] = {16, 64, 200, 1000, 1 << 20};
    sim_small_box = small[sim_below(s, 5)], sim_piece_bytes = piece[sim_below(s, 5)] / 8 * 8;
    for (int i = 0; i < g.n_clients; i++) {
        s->client[i].program = &program[i];
        if (sim_below(s, 4) == 0) s->client[i].comes_at = sim_below(s, 3000);
        s->client[i].window = sim_below(s, 3) ? 4000 : 1 + sim_below(s, 3);
        s->client[i].priority = sim_below(s, 1000);
    }
    set_fate(s, &g, n_insts);
    /* A tensor of 800 KB may go to six workers in pieces of 16 bytes. */
    sim_run(s, 5000000 + 400 * (int64_t)n_insts * g.n_workers);
    if (!s->why[0]) {
        for (int i = 0; i < g.n_clients; i++) check_client(s, i, &plain[i]->client[0], g.mode);
        check_quiet(s, "when all is sent");
        if (delayed_violations) sim_wrong(s, "a worker read what was not done");
    }
    if (!s->why[0]) check_end(s, g.mode);
    snprintf(why, why_size, "%s", s->why);
    tally->schedules++;
    tally->of_mode[g.mode]++;
    tally->instructions += (uint64_t)n_insts;
    tally->messages += s->n_delivered;
    tally->shards += s->n_shards;
    tally->gets += s->n_gets;
    sim_close(s);
    for (int i = 0; i < g.n_clients; i++) {
        sim_close(plain[i]);
        program_fini(&program[i]);
    }
    return !why[0];
}

/* ---- Many of them ---- */

static int jobs = 1;

/* In a process of its own: runs seeds from `first` on, until one crashes it. */
static pid_t start_batch(int k, uint64_t first, uint64_t n) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid) return pid;
    slot = k;
    setvbuf(stdout, NULL, _IOLBF, 0);
    char why[512];
    for (uint64_t seed = first; seed < first + n; seed++) {
        tally->at[slot] = seed;
        alarm(60);
        if (run_schedule(seed, why, sizeof why)) continue;
        tally->failed++;
        printf("sim_test: seed %llu: %s\n", (unsigned long long)seed, why);
    }
    tally->at[slot] = UINT64_MAX;
    fflush(NULL);
    _exit(0);
}

static void run_many(uint64_t first, uint64_t n, bool tells) {
    enum { BATCH = 250 };
    pid_t pid[64] = {0};
    uint64_t begin[64], end[64], next = first, said = 0;
    for (int left = 1; left;) {
        left = 0;
        for (int k = 0; k < jobs; k++) {
            if (pid[k]) {
                int status = 0;
                if (waitpid(pid[k], &status, WNOHANG) == 0) {
                    left++;
                    continue;
                }
                pid[k] = 0;
                uint64_t at = tally->at[k];
                if (at != UINT64_MAX) { /* it crashed: the next one continues after that seed */
                    printf("sim_test: seed %llu: ended by signal %d\n", (unsigned long long)at,
                           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
                    tally->failed++;
                    tally->schedules++;
                    begin[k] = at + 1;
                } else {
                    begin[k] = end[k];
                }
            } else {
                begin[k] = end[k] = 0;
            }
            if (begin[k] >= end[k]) {
                if (next >= first + n) continue;
                begin[k] = next;
                end[k] = next = next + BATCH < first + n ? next + BATCH : first + n;
            }
            pid[k] = start_batch(k, begin[k], end[k] - begin[k]);
            left++;
        }
        if (tells && tally->schedules >= said + 2000) {
            said = tally->schedules;
            printf("sim_test: %llu schedules, %llu failed\n", (unsigned long long)said,
                   (unsigned long long)tally->failed);
            fflush(stdout);
        }
        if (left) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

static void print_summary(void) {
    printf("sim_test: %llu schedules (", (unsigned long long)tally->schedules);
    for (int m = 0; m < MODES; m++)
        printf("%s%llu %s", m ? ", " : "", (unsigned long long)tally->of_mode[m], mode_name[m]);
    printf(
        "), %llu instructions, %llu messages, of them %llu parts of tensors offered by peers and "
        "%llu asked for, %llu bytes; %llu clients were out of memory, %llu cut off with a worker; "
        "%llu instructions were sent hot, workers had plans for %llu\n",
        (unsigned long long)tally->instructions, (unsigned long long)tally->messages,
        (unsigned long long)tally->shards, (unsigned long long)tally->gets,
        (unsigned long long)tally->bytes, (unsigned long long)tally->out_of_memory,
        (unsigned long long)tally->cut_off, (unsigned long long)tally->sent_hot,
        (unsigned long long)tally->planned);
}

/* ---- Shrinking a failure ---- */

/* Runs in a process of its own: it may crash. */
static bool fails(uint64_t seed) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(9);
        char why[512];
        alarm(30);
        _exit(run_schedule(seed, why, sizeof why) ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Under this or another schedule. */
static bool still_fails(uint64_t seed) {
    uint64_t before = salt;
    if (fails(seed)) return true;
    for (salt = 1; salt <= 12; salt++)
        if (salt != before && fails(seed)) return true;
    salt = before;
    return false;
}

static void shrink(uint64_t seed) {
    enum { MOST = 2000 };
    static uint8_t out[CLIENTS_MOST][MOST];
    for (int i = 0; i < CLIENTS_MOST; i++) mask[i] = out[i];
    if (!still_fails(seed)) {
        printf("seed %llu does not fail\n", (unsigned long long)seed);
        return;
    }
    for (int size = 256; size >= 1; size /= 2)
        for (int i = CLIENTS_MOST - 1; i >= 0; i--)
            for (int at = 0; at < 320; at += size) {
                uint8_t before[MOST];
                memcpy(before, out[i], sizeof before);
                memset(out[i] + at, 1, (size_t)size);
                if (!memcmp(before, out[i], sizeof before)) continue;
                if (!still_fails(seed)) memcpy(out[i], before, sizeof before);
            }
}

int main(int argc, char **argv) {
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t first = rand_seed(1, argv), n = 0, one = 0;
    bool shrinks = false;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "-n"))
            n = strtoull(next, NULL, 0), i++;
        else if (!strcmp(argv[i], "-s"))
            first = strtoull(next, NULL, 0), i++;
        else if (!strcmp(argv[i], "-j"))
            jobs = atoi(next), i++;
        else if (!strcmp(argv[i], "-t"))
            traces_all = true;
        else if (!strcmp(argv[i], "--shrink"))
            shrinks = true;
        else
            one = strtoull(argv[i], NULL, 0);
    }
    if (jobs < 1 || jobs > 64) jobs = 1;
    if (one) {
        char why[512];
        if (shrinks) shrink(one);
        is_verbose = true;
        setvbuf(stdout, NULL, _IOLBF, 0);
        run_schedule(one, why, sizeof why);
        printf("%s\n", why[0] ? why : "all is well");
        return why[0] != 0;
    }
    run_many(first, n ? n : (uint64_t)rand_rounds(200), n > 0);
    if (n) print_summary();
    check_passed = (int)(tally->schedules - tally->failed), check_failed = (int)tally->failed;
    return check_report("sim");
}
