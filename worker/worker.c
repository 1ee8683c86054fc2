/* worker.c: the shell around exec.c: it routes messages, sends the hello, and runs the loop that
 * does I/O and sleeps.
 * SPDX-License-Identifier: MIT */
#include "worker/worker.h"
#include "runtime/base/clock.h"
#include "worker/exec/cancel.h"
#include "worker/exec/exec.h"
#include "worker/exec/hash.h"
#include "worker/exec/peer.h"
#include "worker/exec/stage.h"
#include "worker/exec/stats.h"
#include "worker/exec/watch.h"
#include "worker/fuse/collect.h"
#include "worker/jit/jit_cc.h"
#include "worker/engine/mem.h"
#include "worker/plan/plan.h"
#include "worker/prove/choose.h"
#include "worker/plane/plane.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEP_US = 200, IDLE_MS = 1000, TRIM_MS = 3000, BEAT_MS = 2000 };
enum { WAITING_MS = 2000, WELCOME_MS = 10000 };
enum { CHOSEN = 240 /* bytes of a sentence */ };

struct Worker {
    Exec *exec;
    const Plane *plane; /* the shell's, for statistics; NULL: none */
    uint32_t rank;
    uint64_t token;      /* authenticates this worker to peers */
    char chosen[CHOSEN]; /* why auto chose the engine; "": it was named */
    bool is_greeted, is_welcome, has_left, is_refused, is_lost;
    uint8_t hashing;               /* WorkerConfig's */
    void (*on_waiting_hook)(void); /* NULL: none, or it was called */
    void (*on_welcome_hook)(const Worker *w);
    const volatile sig_atomic_t *stop;
    int welcome_ms;
    Err *why; /* the caller's, or NULL */
    Hello hello;
    struct StatsRequest *requests; /* oldest first */
    int n_requests, cap_requests;
    /* While serving: */
    Link *link;
    Msg *queued; /* messages received during a call, oldest first, from queued_at on */
    size_t queued_at, n_queued, cap_queued;
    bool is_broken;  /* the link broke; `queued` is handled first */
    int64_t beat;    /* ms; time of the last beat */
    int64_t busy;    /* ms; when there was last work to do */
    bool is_trimmed; /* memory was returned to the system since then */
};

/* A request for statistics, or about one tensor. */
typedef enum Asked { ASKED_COUNTERS, ASKED_PLACE, ASKED_KERNEL, ASKED_PROFILE } Asked;
struct StatsRequest {
    uint64_t frames; /* number of frames received before it */
    Asked asked;     /* place and kernel: of the tensor `id` */
    uint32_t client;
    uint64_t id;
};

/* Reports why the worker cannot start or has ended: to the caller, or to stderr. */
static void complain(Err *why, const Err *err) {
    if (why)
        *why = *err;
    else
        fprintf(stderr, "gt-worker: %s%s%s\n", err->text, err->hint[0] ? "; " : "", err->hint);
}

/* ---- Making ---- */

static int cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

Exec *worker_exec(const EngineOps *ops, const EngineConfig *config, Err *err) {
    Exec *x = exec_new(ops, config, err);
    if (!x) return NULL;
    Stage *collect = collect_new(ops, exec_engine(x));
    stages_put(x, collect);
    stages_put(x, plans_new(collect));
    return x;
}

/* Returns the engine of that name, or the one that auto chooses; then `chosen` says why, else it is
 * "". NULL: there is no such engine. */
static const EngineOps *find_engine(const char *name, const EngineConfig *engine, char *chosen,
                                    size_t size, Err *err) {
    chosen[0] = 0;
    if (!name || !name[0]) name = getenv("GT_BACKEND");
    if (!name || !name[0] || !strcmp(name, "auto")) return choose_engine(engine, chosen, size);
    const EngineOps *ops = engine_find(name);
    if (ops) return ops;
    err_set(err, ERR_ARG, "there is no engine '%s'", name);
    err_hint(err, "engines: auto, cpu, cuda, reference, null");
    return NULL;
}

static Exec *open_engine(const EngineOps *ops, EngineConfig *engine, Err *err) {
    uint64_t used, peak;
    if (!engine->memory_bytes && !ops->is_device)
        engine->memory_bytes = mem_default_bytes(engine->workers);
    Exec *exec = worker_exec(ops, engine, err);
    if (exec && ops->is_device) ops->memory(exec_engine(exec), &used, &peak, &engine->memory_bytes);
    return exec;
}

/* Makes the executor. An engine that auto has chosen and that cannot be opened (its memory is
 * taken, another process has the device) is replaced by the engine cpu. */
static Exec *choose_exec(const char *name, EngineConfig *engine, char *chosen, size_t size,
                         Err *err) {
    Err why = {0};
    const EngineOps *ops = find_engine(name, engine, chosen, size, err);
    if (!ops) return NULL;
    bool may_fall = chosen[0] && ops != &engine_cpu;
    Exec *exec = open_engine(ops, engine, may_fall ? &why : err);
    if (!exec && may_fall) {
        snprintf(chosen, size, "%s cannot be used: %.150s", ops->name, why.text);
        exec = open_engine(&engine_cpu, engine, err);
    }
    for (char *p = chosen; *p; p++) /* one line of statistics */
        if ((unsigned char)*p < ' ') *p = ' ';
    return exec;
}

Worker *worker_new(const WorkerConfig *config, Err *err) {
    char chosen[CHOSEN];
    int workers = config->workers_on_host > 0 ? config->workers_on_host : 1;
    EngineConfig engine = {.memory_bytes = config->memory_bytes,
                           .threads = config->threads,
                           .is_shared = config->is_shared,
                           .device = config->device,
                           .is_exact = config->is_exact_device,
                           .workers = workers};
    if (engine.threads <= 0) engine.threads = cores() / workers;
    if (engine.threads <= 0) engine.threads = 1;
    Exec *exec = choose_exec(config->engine, &engine, chosen, sizeof chosen, err);
    if (!exec) return NULL;
    const EngineOps *ops = exec_engine(exec)->ops;
    Worker *w = xcalloc(1, sizeof *w);
    w->exec = exec;
    w->why = config->why;
    memcpy(w->chosen, chosen, sizeof chosen);
    w->on_waiting_hook = config->on_waiting;
    w->on_welcome_hook = config->on_welcome;
    w->stop = config->stop;
    w->hashing = config->hashing;
    w->welcome_ms = config->welcome_ms ? config->welcome_ms : WELCOME_MS;
    w->hello = (Hello){.version = WIRE_VERSION,
                       .table_hash = op_table_hash(),
                       .role = ROLE_WORKER,
                       .memory_bytes = engine.memory_bytes,
                       .spawned = config->spawned,
                       .threads = (uint32_t)engine.threads};
    snprintf(w->hello.name, sizeof w->hello.name, "%s", ops->isa(exec_engine(exec)));
    if (gethostname(w->hello.origin, sizeof w->hello.origin - 1)) w->hello.origin[0] = 0;
    return w;
}

void worker_free(Worker **w) {
    if (!*w) return;
    free((*w)->requests);
    for (size_t i = (*w)->queued_at; i < (*w)->n_queued; i++) msg_fini(&(*w)->queued[i]);
    free((*w)->queued);
    exec_free(&(*w)->exec);
    free(*w);
    *w = NULL;
}

/* ---- Messages ---- */

static void on_welcome(Worker *w, const Msg *m) {
    Welcome welcome;
    Err err = {0};
    if (!wire_read_welcome(m, &welcome, &err)) return;
    w->rank = welcome.rank;
    w->token = welcome.token;
    w->is_welcome = true;
    exec_set_rank(w->exec, welcome.rank);
    if (w->on_welcome_hook) w->on_welcome_hook(w);
}

static void on_refuse(Worker *w, const Msg *m) {
    Err why = {0}, err = {0};
    if (!wire_read_refuse(m, &why, &err)) why = err;
    err_set(&err, why.code, "refused by the dispatcher: %s", why.text);
    complain(w->why, &err);
    w->has_left = w->is_refused = true;
}

/* "tensor CLIENT ID" and "kernel CLIENT ID" request one tensor; "profile CLIENT" its times by line;
 * "client ID", or an empty text, requests the counters. Returns false for "profile on CLIENT",
 * which is not answered. */
static bool read_request(Worker *w, const Msg *m, struct StatsRequest *q) {
    const char *text;
    size_t n;
    char line[64];
    unsigned long long id = 0;
    if (!wire_read_text(m, &text, &n, NULL) || n >= sizeof line) return true;
    memcpy(line, text, n);
    line[n] = 0;
    if (sscanf(line, "client %u", &q->client) == 1) return true;
    if (sscanf(line, "profile on %u", &q->client) == 1) {
        exec_on_profile(w->exec, q->client);
        return false;
    }
    if (sscanf(line, "profile %u", &q->client) == 1) q->asked = ASKED_PROFILE;
    if (sscanf(line, "tensor %u %llu", &q->client, &id) == 2) q->asked = ASKED_PLACE;
    if (sscanf(line, "kernel %u %llu", &q->client, &id) == 2) q->asked = ASKED_KERNEL;
    q->id = id;
    return true;
}

/* A request is answered when the client's frames before it are done: all workers answer for the
 * same point of its stream. The answer does not wait for other clients. */
static void on_stats(Worker *w, const Msg *m) {
    ARRAY_ROOM(w->requests, w->n_requests, w->cap_requests, 4);
    struct StatsRequest *q = &w->requests[w->n_requests];
    *q = (struct StatsRequest){.frames = exec_frames(w->exec)};
    if (read_request(w, m, q)) w->n_requests++;
}

static bool next_stats(Worker *w, Msg *out) {
    const struct StatsRequest *q = w->requests;
    if (!w->n_requests) return false;
    if (!exec_has_done(w->exec, q->frames, q->client)) return false;
    Bytes text = {0};
    switch (q->asked) {
    case ASKED_PLACE: exec_placement(w->exec, q->client, q->id, &text); break;
    case ASKED_KERNEL: exec_kernel(w->exec, q->client, q->id, &text); break;
    case ASKED_PROFILE: exec_profile(w->exec, q->client, &text); break;
    case ASKED_COUNTERS:
        exec_stats(w->exec, &text);
        if (w->chosen[0]) bytes_printf(&text, "engine_why=%s\n", w->chosen);
        if (w->plane) plane_stats(w->plane, &text);
        break;
    }
    wire_text(MSG_STATS_REPLY, text.data, text.n, out);
    bytes_fini(&text);
    memmove(w->requests, w->requests + 1, sizeof *w->requests * (size_t)--w->n_requests);
    return true;
}

static void on_watch(Worker *w, const WatchAsk *ask) {
    exec_watch(w->exec, ask->what);
    exec_hash(w->exec, ask->what & WATCH_TIMES ? ask->what | w->hashing : 0);
    if (ask->past_ms) exec_watch_past(w->exec, ask->past_ms);
}

void worker_on_message(Worker *w, Msg *m) {
    Cancel cancel;
    PeerInfo peer;
    uint32_t client, group, rank;
    Credit credit;
    int32_t ranks[MAX_INTS];
    int n;
    WatchAsk ask;
    switch (wire_kind(m)) {
    case MSG_FRAME: exec_on_frame(w->exec, m); break;
    case MSG_CANCEL:
        if (wire_read_cancel(m, &cancel, NULL)) exec_on_cancel(w->exec, cancel.client, cancel.seq);
        break;
    case MSG_CREDIT:
        if (wire_read_credit(m, &credit, NULL))
            exec_on_credit(w->exec, credit.client, credit.bytes);
        break;
    case MSG_BODY: exec_on_body(w->exec, m); break;
    case MSG_GONE:
        if (wire_read_gone(m, &client, NULL)) exec_on_gone(w->exec, client);
        break;
    case MSG_GROUP:
        if (wire_read_group(m, &group, ranks, &n, NULL)) exec_on_group(w->exec, group, ranks, n);
        break;
    case MSG_GROUP_GONE:
        if (wire_read_group_gone(m, &group, NULL)) exec_on_group_gone(w->exec, group);
        break;
    case MSG_PEER: /* plane_on_peer uses its address */
        if (wire_read_peer(m, &peer, NULL)) exec_on_peer_there(w->exec, peer.rank);
        break;
    case MSG_PEER_GONE:
        if (wire_read_peer_gone(m, &rank, NULL)) exec_on_peer_gone(w->exec, rank);
        break;
    case MSG_STATS: on_stats(w, m); break;
    case MSG_WATCH:
        if (wire_read_watch(m, &ask, NULL)) on_watch(w, &ask);
        break;
    case MSG_WELCOME: on_welcome(w, m); break;
    case MSG_REFUSE: on_refuse(w, m); break;
    case MSG_BYE: w->has_left = true; break;
    default: break; /* heartbeats, and messages that are not for workers */
    }
    msg_fini(m);
}

bool worker_step(Worker *w, int64_t budget_us) { return exec_step(w->exec, budget_us); }

bool worker_next(Worker *w, Msg *out) {
    if (!w->is_greeted) {
        wire_hello(&w->hello, out);
        return w->is_greeted = true;
    }
    return exec_next(w->exec, out) || next_stats(w, out);
}

void worker_on_peer(Worker *w, uint32_t rank, Msg *m) { exec_on_peer(w->exec, rank, m); }
bool worker_next_peer(Worker *w, uint32_t *rank, Msg *out) {
    return exec_next_peer(w->exec, rank, out);
}
void worker_peer_memory(Worker *w, uint32_t rank, const void *base, uint64_t bytes) {
    exec_peer_memory(w->exec, rank, base, bytes);
}
/* The memory that others may read: none of an ordered engine. */
static void open_arena(const Worker *w, void **base, uint64_t *bytes, int *fd) {
    Engine *e = exec_engine(w->exec);
    *base = NULL, *bytes = 0, *fd = -1;
    if (!e->ops->is_ordered) e->ops->arena(e, base, bytes, fd);
}

void worker_arena(const Worker *w, void **base, uint64_t *bytes) {
    int fd;
    open_arena(w, base, bytes, &fd);
}

bool worker_has_left(const Worker *w) { return w->has_left; }
uint32_t worker_rank(const Worker *w) { return w->rank; }
const char *worker_isa(const Worker *w) { return w->hello.name; }
/* Appends the value of KEY= in lines of KEY=VALUE. */
static void put_value(const Bytes *lines, const char *key, Bytes *out) {
    size_t n = strlen(key);
    for (const char *at = lines->data; at && *at;) {
        size_t length = strcspn(at, "\n");
        if (length > n && !strncmp(at, key, n) && at[n] == '=')
            bytes_add(out, at + n + 1, length - n - 1);
        at += length + (at[length] == '\n');
    }
}

void worker_device(const Worker *w, Bytes *out) {
    Engine *e = exec_engine(w->exec);
    Bytes lines = {0};
    if (!e->ops->about) return;
    e->ops->about(e, &lines);
    put_value(&lines, "device", out);
    bytes_puts(out, " (");
    put_value(&lines, "device_number", out);
    bytes_puts(out, ")");
    bytes_fini(&lines);
}

const char *worker_chosen(const Worker *w) { return w->chosen[0] ? w->chosen : NULL; }
uint64_t worker_memory_bytes(const Worker *w) { return w->hello.memory_bytes; }
int worker_threads(const Worker *w) { return (int)w->hello.threads; }

/* ---- The loop ---- */

static bool must_stop(Worker *w) {
    if (w->stop && *w->stop) w->has_left = true;
    return w->has_left;
}

/* ---- Messages during a call ---- */

static bool send_beat(Worker *w, int64_t now) {
    Msg m = {0};
    w->beat = now;
    wire_text(MSG_BEAT, "", 0, &m);
    return link_send(w->link, &m);
}

/* Ends the running computation if m cancels it. */
static void check_cancel(Worker *w, const Msg *m) {
    Cancel cancel;
    uint32_t client;
    switch (wire_kind(m)) {
    case MSG_CANCEL:
        if (wire_read_cancel(m, &cancel, NULL))
            exec_cancel_running(w->exec, cancel.client, cancel.seq);
        break;
    case MSG_GONE:
        if (wire_read_gone(m, &client, NULL)) exec_cancel_running(w->exec, client, UINT64_MAX);
        break;
    case MSG_BYE: exec_end(w->exec); break;
    default: break;
    }
}

/* True if the engine's device is lost, which is reported once. Results that were not sent yet may
 * be garbage: the worker ends without sending them, and the dispatcher poisons its tensors. */
static bool is_lost(Worker *w) {
    Engine *e = exec_engine(w->exec);
    Err why = {0}, err = {0};
    if (w->is_lost || !e->ops->lost || !e->ops->lost(e, &why)) return w->is_lost;
    err_set(&err, why.code, "the device is lost: %s", why.text);
    complain(w->why, &err);
    return w->is_lost = true;
}

/* Sends what is due: an answer and the acknowledgement of its frame wake the dispatcher once. */
static bool send_due(Worker *w) {
    Msg m;
    bool ok = !is_lost(w);
    link_hold(w->link, true);
    while (ok && worker_next(w, &m)) {
        ok = !is_lost(w);
        if (ok)
            ok = link_send(w->link, &m);
        else
            msg_fini(&m);
    }
    link_hold(w->link, false);
    return ok;
}

/* True if m is a heartbeat, or asks for counters behind no frame that is queued. */
static bool need_not_wait(const Worker *w, const Msg *m) {
    const char *text;
    size_t n;
    if (wire_kind(m) == MSG_BEAT) return true;
    if (wire_kind(m) != MSG_STATS || !wire_read_text(m, &text, &n, NULL)) return false;
    for (size_t i = w->queued_at; i < w->n_queued; i++)
        if (wire_kind(&w->queued[i]) == MSG_FRAME) return false;
    return n > 6 && !memcmp(text, "client", 6);
}

/* Called during a long call. Queues incoming messages until the call has ended, and sends replies
 * and acknowledgements of earlier calls, counters, and heartbeats. */
static void poll_messages(void *ctx) {
    Worker *w = ctx;
    Msg m = {0};
    int got = 0;
    while (!w->is_broken && (got = link_recv(w->link, &m)) > 0) {
        check_cancel(w, &m);
        if (need_not_wait(w, &m)) {
            worker_on_message(w, &m);
            continue;
        }
        ARRAY_PUSH(w->queued, w->n_queued, w->cap_queued, 16, (Msg){0});
        msg_move(&w->queued[w->n_queued - 1], &m);
    }
    w->is_broken |= got < 0;
    if (!w->is_broken) w->is_broken = !send_due(w);
    int64_t now = now_ms();
    if (!w->is_broken && now - w->beat >= BEAT_MS) w->is_broken = !send_beat(w, now);
    if (w->is_broken || must_stop(w)) exec_end(w->exec);
}

/* As link_recv. */
static int next_message(Worker *w, Msg *m) {
    if (w->queued_at < w->n_queued) {
        *m = w->queued[w->queued_at++];
        return 1;
    }
    w->queued_at = w->n_queued = 0;
    return w->is_broken ? -1 : link_recv(w->link, m);
}

/* ---- Peers ---- */

/* Lets a device engine read the device memory of a peer in this process. */
static void reach_peer(Worker *w, const PeerInfo *peer) {
    const DataPlane *own = &w->hello.data, *data = &peer->data;
    if (data->arena_at && data->process == own->process && data->pid == own->pid)
        exec_reach_peer(w->exec, peer->rank, (void *)(uintptr_t)data->arena_at, data->arena_bytes,
                        NULL);
}

/* The same of a peer in another process, once its first message has told the plane where it is. */
static void reach_lent(Worker *w, Plane *plane, uint32_t rank) {
    const DataPlane *d = plane_lent(plane, rank);
    if (!d) return;
    EngineHandle handle = {.inode = d->inode, .pid = d->pid, .fd = d->fd};
    memcpy(handle.driver, d->lent, sizeof handle.driver);
    exec_reach_peer(w->exec, rank, NULL, d->arena_bytes, &handle);
}

/* The plane must know a peer before anything is sent to it, so it gets PEER before exec; and it
 * gets PEER_GONE after exec, because it unmaps the peer's memory. Consumes m. */
static void on_message(Worker *w, Plane *plane, Msg *m, int64_t now) {
    PeerInfo peer;
    uint32_t rank;
    MsgKind kind = wire_kind(m);
    bool is_peer = kind == MSG_PEER && wire_read_peer(m, &peer, NULL);
    if (is_peer) plane_on_peer(plane, &peer, now);
    if (kind == MSG_FRAME || kind == MSG_GONE) w->busy = now, w->is_trimmed = false;
    bool is_gone = kind == MSG_PEER_GONE && wire_read_peer_gone(m, &rank, NULL);
    worker_on_message(w, m);
    if (is_peer) reach_peer(w, &peer);
    if (is_gone) plane_on_peer_gone(plane, rank);
    if (kind == MSG_WELCOME && w->is_welcome) plane_on_welcome(plane, w->rank, w->token);
}

static void receive_from_peers(Worker *w, Plane *plane, int64_t now) {
    Msg m;
    uint32_t rank;
    const void *base;
    uint64_t bytes;
    while (plane_recv(plane, &rank, &m, now)) {
        if (plane_memory(plane, rank, &base, &bytes)) {
            worker_peer_memory(w, rank, base, bytes);
            reach_lent(w, plane, rank);
        }
        worker_on_peer(w, rank, &m);
    }
}

static void send_to_peers(Worker *w, Plane *plane, int64_t now) {
    Msg m;
    uint32_t rank;
    if (is_lost(w)) return;
    while (worker_next_peer(w, &rank, &m)) plane_send(plane, rank, &m, now);
}

/* A peer that cannot be reached is treated as dead. This is repeated, because later instructions
 * may wait for it too. */
static void give_up_lost(Worker *w, Plane *plane, int64_t now) {
    uint32_t at = 0, rank;
    plane_tick(plane, now);
    while (plane_lost(plane, &at, &rank)) {
        Msg m;
        wire_peer_gone(&rank, &m);
        worker_on_message(w, &m);
    }
}

/* After TRIM_MS without work, returns the pages of free memory to the system; not if peers may have
 * pinned the arena to read it. */
static void trim(Worker *w, const Plane *plane, int64_t now) {
    if (w->is_trimmed || now - w->busy < TRIM_MS) return;
    w->is_trimmed = true;
    if (!plane_is_pinned(plane)) exec_trim(w->exec);
}

/* The link has ended. Returns true if the dispatcher had announced that. */
static bool is_over(Worker *w, const Link *link) {
    const Err *why = link_error(link);
    if (!w->has_left && why) {
        complain(w->why, why);
        w->is_refused = true;
    }
    return w->has_left || w->is_refused;
}

/* Returns false, and complains, if the dispatcher has not answered within welcome_ms. Calls the
 * hook once after WAITING_MS. */
static bool may_wait(Worker *w, int64_t waited_ms) {
    if (w->welcome_ms > 0 && waited_ms > w->welcome_ms) {
        Err err = {0};
        err_set(&err, ERR_TIMEOUT, "no answer from the dispatcher in %g s", w->welcome_ms / 1000.0);
        complain(w->why, &err);
        return false;
    }
    if (w->on_waiting_hook && waited_ms >= WAITING_MS) {
        w->on_waiting_hook();
        w->on_waiting_hook = NULL;
    }
    return true;
}

/* Serves until the worker must end; returns false if the dispatcher is gone. Messages are received
 * between kernels, so a cancel or BYE takes effect within a long frame; `poll_messages` receives
 * them within a long kernel. */
static bool serve(Worker *w, Link *link, Plane *plane) {
    int64_t now = now_ms(), began = now, tick = now;
    Msg m = {0};
    w->link = link, w->beat = now;
    exec_set_poll(w->exec, poll_messages, w);
    for (; !must_stop(w); now = now_ms()) {
        int got;
        while ((got = next_message(w, &m)) > 0) on_message(w, plane, &m, now);
        if (got < 0) return is_over(w, link);
        receive_from_peers(w, plane, now);
        bool more = worker_step(w, STEP_US);
        if (more) w->busy = now, w->is_trimmed = false;
        send_to_peers(w, plane, now);
        if (!send_due(w)) return false;
        if (now - tick >= PLANE_TICK_MS) {
            Err err = {0};
            tick = now;
            give_up_lost(w, plane, now);
            if (plane_is_stranded(plane, now, &err)) {
                complain(w->why, &err);
                return false;
            }
            more = true; /* it may have caused new work */
        }
        bool can_sleep = more && exec_can_sleep(w->exec);
        if ((more && !can_sleep) || w->has_left) continue;
        trim(w, plane, now);
        uint64_t slept = watch_tick(w->exec);
        int idle_ms = exec_watch_sleep(w->exec, IDLE_MS);
        net_wait(link, plane_hub(plane), can_sleep ? EXEC_SLEEP_MS : idle_ms);
        exec_watch_slept(w->exec, slept);
        if (can_sleep) continue;
        now = now_ms();
        if (!w->is_welcome && !may_wait(w, now - began)) return false;
        if (now - w->beat >= BEAT_MS && !send_beat(w, now)) return false;
    }
    return true;
}

static Plane *open_plane(Worker *w, const WorkerConfig *config, Err *err) {
    PlaneConfig plane = {.dispatcher = config->endpoint, .endpoint = config->data_endpoint};
    void *base;
    open_arena(w, &base, &plane.arena_bytes, &plane.arena_fd);
    plane.arena = base;
    Plane *p = plane_open(&plane, err);
    if (!p) return NULL;
    w->hello.data = *plane_data(p);
    Engine *e = exec_engine(w->exec);
    int fd;
    if (e->ops->reach) { /* for others, which ask their engine about it */
        DataPlane *d = &w->hello.data;
        EngineHandle handle;
        e->ops->arena(e, &base, &d->arena_bytes, &fd);
        d->arena_at = (uint64_t)(uintptr_t)base;
        if (config->is_shared && e->ops->lend && e->ops->lend(e, &handle)) {
            memcpy(d->lent, handle.driver, sizeof d->lent);
            d->fd = handle.fd, d->inode = handle.inode;
        }
    }
    w->plane = p;
    return p;
}

void worker_abandon(void) { cc_abandon(); }

WorkerEnd worker_run(const WorkerConfig *config) {
    Err err = {0};
    Worker *w = worker_new(config, &err);
    if (!w) {
        complain(config->why, &err);
        return WORKER_FAILED;
    }
    Plane *plane = open_plane(w, config, &err);
    Link *link = plane ? link_open_beside(config->endpoint, plane_hub(plane), &err) : NULL;
    WorkerEnd end = WORKER_FAILED;
    if (!link)
        complain(config->why, &err);
    else if (!serve(w, link, plane))
        end = w->is_lost ? WORKER_FAILED : WORKER_GONE;
    else
        end = w->is_refused ? WORKER_REFUSED : WORKER_LEFT;
    exec_set_poll(w->exec, NULL, NULL);
    link_close(&link);
    worker_free(&w); /* may read a peer's memory until it returns */
    plane_close(&plane);
    return end;
}
