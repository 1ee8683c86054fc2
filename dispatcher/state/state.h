/* state.h: the dispatcher's one state struct, shared by its files and by nobody else.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_STATE_H
#define GT_DISPATCHER_STATE_STATE_H
#include "dispatcher/dispatcher.h"
#include "dispatcher/state/flow.h"
#include "runtime/base/fifo.h"
#include "runtime/wire/detector.h"
#include "runtime/base/map.h"

enum {
    ERRORS_MAX = 4096, /* refused instructions of a client; then it is cut off (ours sends none) */
    SCOPES_MAX = 1024, /* open signals of one client                                             */
    CLIENT_GROUPS_MAX = 256, /* groups of ranks that one client makes                         */
    QUESTIONS_MAX = 16, /* unanswered stats of one client                                         */
    WORKERS_MAX = MAX_WORKERS,
    NEWS_MAX = 4096,
    SLICE = 4096, /* instructions written in a row for one client: some 4 ms                      */
    LOST_MS = 200, /* between the end of a worker's connection and of its process, at most        */
    SILENT_MS = 10000, /* without a word of a worker, which beats every 2 s: it is gone       */
};

typedef struct WorkerPeer {
    PeerId peer;
    int rank;
    char engine[64];
    uint32_t threads;
    uint64_t memory_bytes;
    uint64_t token;   /* by which its peers know it                            */
    DataPlane data;   /* and how they reach it                                 */
    int n_clients;    /* whose home it is                                     */
    uint64_t insts;   /* under way                                            */
    uint64_t spawned; /* Hello's                                            */
    int64_t heard_ms;
    bool is_lost, is_silent; /* it is, that is why: the shell is asked how it ended, ... */
    int64_t lost_ms;         /* ... since then */
} WorkerPeer;

typedef struct Letter {
    PeerId to;
    bool drop;
    Msg msg;
} Letter;

/* stats() of a client: answered when all workers have answered. */
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
    Fifo out;            /* of Letter */
    Question *questions; /* oldest first */
    Arena scratch;       /* of one frame */
    Msg *whole;          /* mod_route: the frame being read, while nothing in it was changed ... */
    uint32_t n_whole;    /* ... and how many of its instructions have passed                      */
    FrameWriter frame;   /* what it has become otherwise ...                                      */
    RankSet frame_to;    /* ... and who will get it ...                                           */
    const Members *frame_group; /* ... of them those that were added last ...                     */
    uint64_t frame_seq; /* ... and the client's number of what is written next                   */
    uint64_t work;      /* of this slice (take.h): instructions written, operands, frames taken   */
    Client *waiting;    /* those with frames that wait for another slice, in turn                 */
    uint64_t next_number; /* of the next instruction, over all clients                            */
    DetectorConfig hot;   /* of what is written (outgoing.c) */
    Groups groups;
    struct TapeState *tape; /* NULL: no log */
    int64_t now_ms, beat_ms, silent_ms;
    bool is_open; /* workers_wanted were there once: from then on one is enough */
    bool is_draining;
    Bytes news;           /* not yet told: at most NEWS_MAX bytes, a line each */
    DetectorCounts found; /* intake.c: in streams of clients that do not look for bodies */
    uint64_t n_insts, n_frames, n_refused, n_cut_off, n_placed, n_moves, n_hot;
    /* What passes through: from clients the records of frames, and user data that came apart from
     * them; to clients the replies; from workers all else that they say. No message moves a
     * tensor. */
    uint64_t frame_bytes, payload_bytes_in, reply_bytes_out, control_bytes;
    /* Records of frames that were written for workers, counted once for all who get them; their
     * instructions that are arguments of hot bodies, and these. */
    uint64_t sent_bytes, n_outgoing, n_outgoing_bodies;
};

/* ---- dispatcher.c ---- */
void dispatcher_post(Dispatcher *d, PeerId to, Msg *m, bool drop); /* consumes m */
/* An instruction that will not be executed: tells the client, once. */
void dispatcher_refuse_inst(Dispatcher *d, Client *c, uint64_t seq, const Inst *inst,
                            const Err *err);

/* The group of these ranks; all workers have been told of it. NULL: there are too many. */
const Members *dispatcher_group(Dispatcher *d, const int32_t *rank, int n);
/* The group stays for as long as the client, at least. */
void dispatcher_hold_group(Dispatcher *d, Client *c, const Members *g);
/* Sends a frame of a client's to all of `to` (by reference) and takes note of it (client_sent).
 * Consumes m. */
void dispatcher_send_frame(Dispatcher *d, Client *c, const RankSet *to, Msg *m, uint64_t seq_end,
                           uint32_t count, uint64_t bytes);
/* Puts a question to those whom it concerns; it was counted. */
void dispatcher_ask(Dispatcher *d, Client *c, const Msg *asked);
void dispatcher_cancel(Dispatcher *d, Client *c, const Cancel *cancel); /* tells its workers */
void dispatcher_tell(Dispatcher *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- member.c: workers are told of one another ---- */
uint64_t member_token(void); /* random, not 0 */
void member_comes(Dispatcher *d, const WorkerPeer *w);
void member_leaves(Dispatcher *d, const WorkerPeer *w); /* w is still in its place, or no longer */

/* ---- tape.c: the instruction log; all but the first two only while d->tape is there ---- */
void tape_fini(Dispatcher *d);
void tape_on_tick(Dispatcher *d, bool now); /* now: at the end of a run, else when it is time */
void tape_client_comes(Dispatcher *d, const Client *c);
void tape_client_leaves(Dispatcher *d, const Client *c);
void tape_worker_comes(Dispatcher *d, const WorkerPeer *w); /* asks it for times */
void tape_group(Dispatcher *d, const Members *g);           /* a new one of several */
void tape_worker_leaves(Dispatcher *d, const WorkerPeer *w);
void tape_asked(Dispatcher *d, const Client *c, const Inst *inst); /* before it is validated */
void tape_hot(Dispatcher *d, const Client *c, const FrameReader *r, bool begins);
void tape_sent(const Flow *f); /* as it is routed: one line for all that get it */
void tape_failed(Dispatcher *d, const Failure *f);
void tape_error(Dispatcher *d, const Msg *m); /* a worker's ERROR */
void tape_cut_off(Dispatcher *d, const Client *c, const Err *err);
void tape_times(Dispatcher *d, const WorkerPeer *w, const Msg *m);

/* ---- schedule.c: load per worker ---- */
WorkerPeer *schedule_home(const Dispatcher *d); /* the least loaded; NULL: none */
/* A client that has nothing under way and no tensors may as well begin again elsewhere: where fewer
 * clients are at work. NULL: it stays. */
WorkerPeer *schedule_better(const Dispatcher *d, const Client *c);

#endif
