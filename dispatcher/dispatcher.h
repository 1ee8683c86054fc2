/* dispatcher.h: the dispatcher as a step function over events; it does no I/O, never waits, never
 * locks.
 *
 * Shells (main.c for the daemon, local.c for the embedded cluster, the tests' simulator) feed
 * it messages and the time, and send what it puts out. Per client it keeps an id space, scopes,
 * credit, live bytes and deferred errors; the stream goes through a chain of modifiers
 * (modifier.h, chain.c): hot, validate, scope, shard, route; before them frames of clients that
 * look for no hot bodies may be written anew (intake.h).
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_DISPATCHER_H
#define GT_DISPATCHER_DISPATCHER_H
#include "runtime/wire/detector.h"
#include "runtime/net/net.h"
#include "runtime/wire/wire.h"

typedef struct DispatcherConfig {
    int workers_wanted;        /* clients are first welcomed when so many workers are there; 0: 1 */
    uint64_t client_bytes_max; /* live bytes per client, and again of copies that the dispatcher
                                  makes of them; 0: no limit but the workers' arenas             */
    int peers_max;             /* clients and workers at the same time; 0: no limit              */
    int64_t beat_ms;           /* between two heartbeats to every peer; 0: none (embedded)       */
    const struct Config *signals; /* every client's own go over these; NULL: none. Not owned      */
    uint64_t seed;      /* of its hash tables: anything that clients cannot guess         */
    uint32_t slice;     /* instructions written for a client, then others have turns; 0: SLICE */
    DetectorConfig hot; /* of streams whose clients look for no hot bodies: threshold, min,
                           window, expand_max; all zero: nobody looks there               */
    /* A worker that the shell has started (Hello.spawned) is lost: its connection has ended, or
     * nothing was heard of it for 10 s. `why` says so for its clients, and may be replaced by what
     * the shell knows of the process. False: that is not known yet; it is asked again at each tick,
     * for LOST_MS. NULL: there is no such shell. */
    bool (*lost)(void *ctx, uint64_t spawned, bool is_silent, char *why, size_t size);
    void *ctx;
} DispatcherConfig;

typedef struct Dispatcher Dispatcher;
Dispatcher *dispatcher_new(const DispatcherConfig *config);
void dispatcher_free(Dispatcher **d);
/* From now on all that passes is written into this file (tape.h), and workers are asked for
 * times. false: it cannot be opened. */
bool dispatcher_log(Dispatcher *d, const char *path, Err *err);
void dispatcher_on_message(Dispatcher *d, PeerId from, Msg *m, int64_t now_ms); /* consumes m */
/* A client: all it had is freed. A worker: its clients get errors. */
void dispatcher_on_gone(Dispatcher *d, PeerId peer, int64_t now_ms);
void dispatcher_on_silent(Dispatcher *d, PeerId worker, int64_t now_ms); /* likewise */
void dispatcher_on_tick(Dispatcher *d, int64_t now_ms);                  /* heartbeats, timeouts */
/* A worker of whom nothing was heard for 10 s, and which is to be said to be gone unless a message
 * of it is on its way; 0: none. */
PeerId dispatcher_silent(Dispatcher *d, int64_t now_ms);
/* Frames that become very many instructions are taken in slices (take.h), the first when they come,
 * one more of one client, in turn, by each call of this. True: there is more, so it is to be called
 * again, when others have been heard. */
bool dispatcher_go_on(Dispatcher *d);
/* Next message to send; false: none. *drop: the peer is to be forgotten after it. */
bool dispatcher_next(Dispatcher *d, PeerId *to, Msg *out, bool *drop);
int dispatcher_workers(const Dispatcher *d); /* how many are registered */
/* From now on new clients are refused; those there go on. */
void dispatcher_drain(Dispatcher *d);
/* No client has anything under way. */
bool dispatcher_is_idle(const Dispatcher *d);
/* Tells everybody that it stops; the last thing before the hub is closed. */
void dispatcher_bye(Dispatcher *d);
/* Counters as KEY=VALUE lines, for stats() and tests: clients, workers, instructions, ... */
void dispatcher_stats(const Dispatcher *d, Bytes *out);

/* Who came and went since the last call, in words ("worker w0 (cpu-v4) is here"), for a log; false:
 * nothing happened. */
bool dispatcher_news(Dispatcher *d, Bytes *out);

/* ---- loop.c: the thin shell ---- */
/* Waits up to timeout_ms for something at the hub, then feeds the dispatcher what is there, for
 * PUMP_MS at most, and sends what it says. True when there was anything. */
bool dispatcher_pump(Dispatcher *d, Hub *hub, int timeout_ms);
#endif
