/* state.h: the dispatcher's one state struct.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_STATE_H
#define GT_DISPATCHER_STATE_STATE_H
#include "dispatcher/dispatcher.h"
#include "dispatcher/state/flow.h"
#include "runtime/base/fifo.h"
#include "runtime/wire/detector.h"
#include "runtime/base/map.h"
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"

enum {
    ERRORS_MAX = 4096,       /* refused instructions of a client before it is disconnected */
    SCOPES_MAX = 1024,       /* open signals per client */
    CLIENT_GROUPS_MAX = 256, /* groups of ranks per client */
    QUESTIONS_MAX = 16,      /* unanswered stats per client */
    PAST_ANSWER = 1 << 20,   /* bytes of its last frames that a client gets */
    WORKERS_MAX = MAX_WORKERS,
    REPORTS_MAX = 4096,
    SLICE = 4096, /* instructions written in a row for one client: some 4 ms */
    WORKER_END_MS =
        200, /* at most, from the end of a worker's connection to the end of its process */
    SILENT_MS = 10000, /* silence after which a worker is lost; it sends a heartbeat every 2 s */
};

typedef struct WorkerPeer {
    PeerId peer;
    int rank;
    char engine[64], host[64]; /* host: its name */
    uint32_t threads;
    uint64_t memory_bytes;
    uint64_t token;   /* identifies it to its peers */
    DataPlane data;   /* how its peers reach it */
    int n_clients;    /* clients that have it as home */
    uint64_t insts;   /* in flight */
    uint64_t spawned; /* Hello's token of a worker that the shell started */
    int64_t seen_ms;
    bool is_lost, is_silent; /* lost (silent: no heartbeat); the shell may know how it ended */
    int64_t lost_ms;         /* when it was lost */
    int64_t ahead_ns;        /* our clock minus its own, if is_clock_known; else 0 */
    bool is_clock_known;
    Usage usage; /* the last report; now_ns 0: none. Owns its ops */
    /* While listeners watch: the signal entered last, since the last snapshot, of those whose work
     * goes to this worker; "": there was none. */
    char in_signal[64];
} WorkerPeer;

typedef struct Listener Listener; /* listener.c */

typedef struct OutMsg {
    PeerId to;
    bool drop;
    Msg msg;
} OutMsg;

/* stats() of a client, to be answered when all workers have answered. */
typedef struct Question {
    struct Question *next;
    uint32_t client;
    Bytes text;
    int n_owed;
    bool owed[WORKERS_MAX];
} Question;

struct Dispatcher {
    DispatcherConfig config;
    Map client_by_peer, client_by_id, worker_by_peer;
    WorkerPeer **worker; /* by rank; NULL: gone */
    int n_ranks, n_workers;
    uint32_t last_client;
    Fifo out;            /* of OutMsg */
    Question *questions; /* oldest first */
    Arena scratch;       /* of one frame */
    Msg *whole;          /* mod_route: the frame being read, while all of it is unchanged ... */
    uint32_t n_whole;    /* ... and the number of its instructions that have passed */
    FrameWriter frame;   /* otherwise the frame that is written instead ... */
    RankSet frame_to;    /* ... its recipients ... */
    const Members *frame_group; /* ... the group of recipients added last ... */
    bool frame_compiles;        /* ... Client.compiles before its first instruction ... */
    uint64_t frame_seq;         /* ... and the client's number of the next instruction written */
    uint64_t work;   /* of this slice (ingest.h): instructions written, operands, frames taken */
    Client *waiting; /* clients with frames that wait for another slice, in turn */
    uint64_t next_number; /* of the next instruction, over all clients                            */
    DetectorConfig hot;   /* of what the dispatcher writes (outgoing.c) */
    Groups groups;
    struct TapeState *tape; /* NULL: no log */
    Listener *listeners;    /* programs that watch the run */
    bool has_events;        /* some of them want the lines of the tape, ... */
    Bytes lines;            /* ... which are collected here ... */
    int64_t lines_ms;       /* ... since */
    Fifo recorded;          /* of Buf *: the flight recorder's chunks, oldest first */
    size_t recorded_bytes;
    char host[64];       /* the kernel's boot id; "": not read yet */
    uint8_t watching;    /* what workers report for them and for the tape (WATCH_...) */
    int64_t snapshot_ms; /* when the last snapshot was sent; 0: none was */
    int64_t born_us;
    int64_t now_ms, beat_ms, silent_ms;
    bool is_open; /* workers_wanted were present once: from then on one is enough */
    bool is_draining;
    Bytes reports;        /* not reported yet: at most REPORTS_MAX bytes, a line each */
    DetectorCounts found; /* finder.c: in streams of clients that do not look for bodies */
    uint64_t n_insts, n_frames, n_refused, n_disconnected, n_placed, n_moves, n_hot;
    /* Traffic. From clients: the records of frames, and user data that came in parts of its own.
     * To clients: the replies. From workers: everything else. No message moves a tensor. */
    uint64_t frame_bytes, payload_bytes_in, reply_bytes_out, control_bytes;
    uint64_t sent_bytes; /* of frames for workers; each counts once, however many workers get it */
    uint64_t n_outgoing; /* instructions of these frames that belong to hot bodies ... */
    uint64_t n_outgoing_bodies; /* ... and the bodies */
};

/* Cancels all that the client has queued (dispatcher.c). */
void dispatcher_cancel_all(Dispatcher *d, Client *c);
#endif
