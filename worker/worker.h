/* worker.h: one worker: a step function over messages, with a thin shell that runs it in a thread
 * (embedded) or a process.
 *
 * worker_on_message takes the dispatcher's messages; worker_step executes some of the pending work
 * (at most about `budget_us` of kernels); worker_next returns the messages for the dispatcher. The
 * shell, worker_run, does I/O and sleeps. exec.h has the details; engines are behind engine.h.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_WORKER_H
#define GT_WORKER_WORKER_H
#include "runtime/net/net.h"
#include "worker/engine/engine.h"
#include <signal.h>

typedef struct Worker Worker;
struct Exec;
typedef struct WorkerConfig {
    const char *engine;    /* "cpu", "auto", ...; NULL: GT_BACKEND, else auto */
    int threads;           /* of the pool, including the worker's own; 0: its share of the cores */
    uint64_t memory_bytes; /* of the arena; 0: its share of 80 % of the free memory */
    int workers_on_host;   /* for the shares above; 0 means 1 */
    int device; /* of an engine of devices; from the last it is counted on at the first ... */
    bool is_exact_device; /* ... unless it must be there */
    uint8_t hashing;      /* WATCH_HASHES, WATCH_ALL: if watched, hash results even if not asked */
    bool is_shared;       /* peers in other processes read its memory */
    const char *endpoint; /* the dispatcher's, for worker_run */
    uint64_t spawned;     /* as in Hello */
    const char *data_endpoint; /* where it listens for peers; NULL: derived from `endpoint` */
    Err *why;                  /* set when worker_run cannot start or is refused; NULL: stderr */
    int welcome_ms; /* how long worker_run waits for the dispatcher; 0: 10 s; < 0: for ever */
    /* These may be NULL. *stop != 0 (set by a signal handler): the worker leaves. worker_run calls
     * on_waiting once, if no dispatcher has answered for about 2 s, and the worker calls on_welcome
     * when it has a rank. */
    const volatile sig_atomic_t *stop;
    void (*on_waiting)(void);
    void (*on_welcome)(const Worker *w);
} WorkerConfig;

/* How worker_run ended. */
typedef enum WorkerEnd {
    WORKER_LEFT,    /* the dispatcher sent BYE, or *stop was set */
    WORKER_GONE,    /* the dispatcher is gone, or was never there */
    WORKER_REFUSED, /* the dispatcher refused this worker */
    WORKER_FAILED   /* cannot start (engine, memory, endpoint), or its device is lost */
} WorkerEnd;

/* Makes the executor of instructions (exec.h) with its stages; also for tests. NULL: failed, see
 * err. */
struct Exec *worker_exec(const EngineOps *ops, const EngineConfig *config, Err *err);
Worker *worker_new(const WorkerConfig *config, Err *err);
void worker_free(Worker **w);              /* waits for the engine, frees all, sets *w to NULL */
void worker_on_message(Worker *w, Msg *m); /* consumes m */
bool worker_step(Worker *w, int64_t budget_us); /* true: there is more to do now */
bool worker_next(Worker *w, Msg *out); /* the next message for the dispatcher; false: none */
/* Between workers (peer.h): worker_on_peer takes a message of the peer with that rank and consumes
 * it; worker_next_peer returns the next message for a peer, false: none; worker_peer_memory sets
 * where a peer's arena can be read. worker_run handles PEER_HELLO and addresses itself. */
void worker_on_peer(Worker *w, uint32_t rank, Msg *m);
bool worker_next_peer(Worker *w, uint32_t *rank, Msg *out);
void worker_peer_memory(Worker *w, uint32_t rank, const void *base, uint64_t bytes);
/* The memory to which offsets in SHARD messages refer; NULL: nobody may read it. */
void worker_arena(const Worker *w, void **base, uint64_t *bytes);
bool worker_has_left(const Worker *w); /* after BYE, REFUSE or the loss of the dispatcher */
uint32_t worker_rank(const Worker *w);
const char *worker_isa(const Worker *w); /* the engine's, "cpu-v4" */
/* Appends the name and number of the device, "NVIDIA H100 (0)"; an engine without: nothing. */
void worker_device(const Worker *w, Bytes *out);
const char *worker_chosen(const Worker *w); /* why auto chose its engine; NULL: it was named */
uint64_t worker_memory_bytes(const Worker *w);
int worker_threads(const Worker *w);
/* For a signal handler, before the process dies: leaves no compiler and no file behind. */
void worker_abandon(void);
/* Connects to the dispatcher and serves until the worker must end. May run in any thread. */
WorkerEnd worker_run(const WorkerConfig *config);
#endif
