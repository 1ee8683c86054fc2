/* dispatcher.h: the dispatcher as a step function over events. It does no I/O, never waits and
 * never locks.
 *
 * Its callers (loop.c for the daemon, local.c for the embedded cluster, the tests' simulator)
 * feed it messages and the time, and send its output. Per client it keeps an id space, scopes,
 * credit, live bytes and deferred errors. The stream goes through a chain of modifiers
 * (modifier.h, chain.c): hot, validate, handle, scope, place, route. Frames of clients that do not
 * look for hot bodies may be rewritten before that (finder.h).
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_DISPATCHER_H
#define GT_DISPATCHER_DISPATCHER_H
#include "runtime/wire/detector.h"
#include "runtime/net/net.h"

typedef struct DispatcherConfig {
    int workers_wanted;        /* workers to wait for before the first welcome; 0: 1 */
    uint64_t client_bytes_max; /* live bytes per client, and of copies made here; 0: no limit */
    int peers_max;             /* clients and workers at the same time; 0: no limit              */
    int64_t beat_ms;           /* between two heartbeats to every peer; 0: none (embedded)       */
    const struct Config *signals; /* of every client; its own override them. NULL: none. Borrowed */
    uint64_t seed;                /* of its hash tables: a value that clients cannot guess */
    uint32_t slice;       /* instructions written for a client before others get a turn; 0: SLICE */
    DetectorConfig hot;   /* for clients that do not look for hot bodies; all zero: off */
    uint8_t hashing;      /* WATCH_HASHES, WATCH_ALL: results are hashed for the log; else 0 */
    size_t record_bytes;  /* of the flight recorder (recorder.h); 0: none */
    struct Door *door;    /* by which programs watch an embedded one; NULL: none. Borrowed */
    const char *endpoint; /* where it listens, for those that watch; NULL: nowhere. Borrowed */
    uint32_t pid;         /* of this process, for them */
    /* Called when a worker that the shell started (Hello.spawned) is lost: its connection has
     * ended, or it was silent for 10 s. `why` is the reason given to its clients; the shell may
     * replace it by what it knows about the process. Returns false if the shell does not know
     * yet: then it is called again at each tick, for WORKER_END_MS. NULL: no shell starts workers.
     */
    bool (*lost)(void *ctx, uint64_t spawned, bool is_silent, char *why, size_t size);
    void *ctx;
} DispatcherConfig;

/* Peers of the door's hub have this bit. They may only watch. */
enum { PEER_OUTSIDE = 1 << 30 };

typedef struct Dispatcher Dispatcher;
Dispatcher *dispatcher_new(const DispatcherConfig *config);
void dispatcher_free(Dispatcher **d);
/* Writes everything that passes from now on into this file (tape.h), and asks workers for times.
 * False: the file cannot be opened. */
bool dispatcher_log(Dispatcher *d, const char *path, Err *err);
void dispatcher_on_message(Dispatcher *d, PeerId from, Msg *m, int64_t now_ms); /* consumes m */
/* A client: everything it had is freed. A worker: its clients get errors. */
void dispatcher_on_gone(Dispatcher *d, PeerId peer, int64_t now_ms);
/* The connection was cut because the peer did not read its messages. */
void dispatcher_on_unread(Dispatcher *d, PeerId peer);
void dispatcher_on_silent(Dispatcher *d, PeerId worker, int64_t now_ms); /* likewise */
void dispatcher_on_tick(Dispatcher *d, int64_t now_ms);                  /* heartbeats, timeouts */
/* Returns a worker that was silent for 10 s; 0: none. The caller reports it with
 * dispatcher_on_silent, unless a message of it is arriving. */
PeerId dispatcher_silent(Dispatcher *d, int64_t now_ms);
/* A frame that becomes very many instructions is taken in slices (ingest.h): the first when it
 * arrives, then one per call of this function, clients in turn. True: there is more, so call it
 * again after handling other messages. */
bool dispatcher_go_on(Dispatcher *d);
/* Returns the next message to send; false: none. *drop: forget the peer after sending it. */
bool dispatcher_next(Dispatcher *d, PeerId *to, Msg *out, bool *drop);
int dispatcher_workers(const Dispatcher *d); /* the number of registered workers */
/* timeout_ms, or less if something is due earlier (a snapshot for those that watch). */
int dispatcher_due(const Dispatcher *d, int timeout_ms, int64_t now_ms);
/* Refuses new clients from now on; present ones continue. */
void dispatcher_drain(Dispatcher *d);
/* True if no client has anything in flight. */
bool dispatcher_is_idle(const Dispatcher *d);
/* Tells all peers that it stops. The last call before the hub is closed. */
void dispatcher_bye(Dispatcher *d);
struct Door *dispatcher_door(const Dispatcher *d); /* of its configuration */
/* Counters as KEY=VALUE lines, for stats() and tests: clients, workers, instructions, ... */
void dispatcher_stats(const Dispatcher *d, Bytes *out);

/* Returns arrivals and departures since the last call, in words ("worker w0 (cpu-v4) connected"),
 * for a log. False: there were none. */
bool dispatcher_take_reports(Dispatcher *d, Bytes *out);

/* ---- loop.c: the thin shell ---- */
/* Waits up to timeout_ms for an event at the hub, feeds the dispatcher all events for at most
 * PUMP_MS, and sends its output. True if there were any. */
bool dispatcher_pump(Dispatcher *d, Hub *hub, int timeout_ms);
#endif
