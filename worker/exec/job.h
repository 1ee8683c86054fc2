/* job.h: an instruction that a worker executes (Job), its frame and client, and the executor's
 * tables (Exec). Shared by the files of exec and by stages.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_JOB_H
#define GT_WORKER_EXEC_JOB_H
#include "runtime/base/fifo.h"
#include "runtime/layout/place.h"
#include "runtime/wire/body.h"
#include "runtime/wire/frame.h"
#include "worker/exec/store.h"

typedef struct Exec Exec;

enum { FEW = 4 }; /* operands that need no memory of their own */
/* Limits of a client's queue: at either, no more of its instructions are issued. */
enum { WAITING_MAX = 1024 }; /* jobs in state JOB_WAITS */
enum { JOBS_MAX = 4096 };    /* jobs in any state */
enum { WAIT_BYTES = 24 };    /* sizeof(struct Wait), queue.c */

typedef struct Client Client;
typedef struct Frame Frame;
typedef struct Job Job;
typedef struct Part Part;
typedef struct Import Import;
typedef struct Watch Watch;
typedef struct Profile Profile;
typedef struct Hashing Hashing;
typedef struct Stage Stage;
typedef struct Observer Observer;
typedef struct Marks Marks;
typedef struct Answer Answer;

typedef enum JobKind {
    JOB_CALL,    /* a call of the engine; `data`, which is copied, is one as well */
    JOB_EFFECT,  /* runs when all jobs before it are done */
    JOB_EXPORT,  /* the owner's half of a move: offers the operand's boxes to their readers */
    JOB_IMPORT,  /* the reader's half of a move: assembles the result */
    JOB_PENDING, /* a node of the open fusion of a stage (stage.h); in no queue */
    JOB_PRODUCT  /* a matmul that waits for the fusion that reads it; in no queue */
} JobKind;

typedef enum JobState {
    JOB_NEW,       /* in no queue */
    JOB_WAITS,     /* for operands, peers or memory */
    JOB_IN_FLIGHT, /* submitted to the engine, and not done as far as exec knows */
    JOB_DONE       /* executed; its error or its effect waits for its turn */
} JobState;

/* One instruction between decoding and retirement. */
struct Job {
    Job *next;  /* in the client's queue */
    Job *after; /* the next job in flight, or the client's next ready job */
    Frame *frame;
    uint8_t kind, state;
    bool is_ready;        /* it is in Client.ready */
    uint8_t marked;       /* Marked (mark.h), of a queued job */
    int16_t node;         /* JOB_PENDING: index in the fusion */
    uint32_t n_unstarted; /* operands whose makers have not started */
    uint32_t n_waits;     /* operands and descriptors that it still waits for */
    uint32_t group;       /* of an instruction with `on`; else 0 */
    uint64_t seq;
    uint64_t number;                /* over all clients; older is smaller */
    struct Body *body;              /* of its hot record; NULL: it is in none */
    uint32_t body_at;               /* its position in the body */
    int at;                         /* its index in the recording (plan_record.c) */
    const uint8_t *args;            /* its arguments in the hot record */
    uint64_t args_base, args_added; /* FrameReader.hot_base and hot_added before it */
    uint64_t need;                  /* bytes that its results will take; 0 once it started */
    uint64_t tried;                 /* Store.n_changes when memory last ran out for it */
    Inst inst;                      /* borrows from the frame */
    Call call;
    Ticket ticket;
    uint64_t begin;     /* ticks (watch.h) */
    ErrCode lost;       /* an effect whose reply has no values, and why; else ERR_NONE */
    double work;        /* of the call, estimated: about the bytes that it moves */
    Err *err;           /* owned; reported when it is the job's turn in the queue */
    Part *part;         /* of an instruction on several ranks; in the frame's arena */
    union {             /* in the frame's arena: */
        Import *import; /* of JOB_IMPORT */
        Answer *answer; /* of JOB_EFFECT that waits for a mark (effect.c) */
    };
    int n_held;
    Storage **held;        /* of tensor operands; referenced while the job is in the queue */
    Storage *out[MAX_OUT]; /* of results; referenced likewise */
    Storage *held_few[FEW];
    View view_few[FEW];
    union {
        double f;
        int64_t i;
        float s;
        int32_t w;
        uint8_t b;
    } imm[FEW];
};

/* This rank's part of a located instruction. */
struct Part {
    Place place;
    const Group *group;
    int at;                    /* index in the group */
    TensorType whole[MAX_OUT]; /* of the whole results */
    bool is_empty;   /* the local results have no elements, and the op refuses such operands */
    bool is_neutral; /* a reduction's term over no elements: the result is the neutral element */
};

struct Frame {
    Frame *next;
    Client *client;
    Msg msg;
    FrameReader reader;
    Arena arena; /* operands and attributes of all its instructions */
    Job *ahead;  /* is_ahead: the next instruction, decoded; NULL: there is none */
    bool is_ahead;
    bool is_begun;    /* it is or was Client.at */
    uint64_t arrival; /* number in order of arrival, over all clients */
    uint32_t pending; /* its jobs in the queue */
    bool is_issued, is_bad;
    Err bad; /* is_bad: why the next instruction cannot be decoded */
};

struct Client {
    Client *next;
    uint32_t id;
    Names *names;
    Frame *first, *last;  /* not yet acknowledged, oldest first */
    Frame *at;            /* the one being issued; NULL: all are issued */
    Bodies bodies;        /* hot bodies that the client defined, ... */
    Bodies placed;        /* ... and those that the dispatcher defined (FrameReader.placed) */
    Job *jobs, *last_job; /* the queue, in the order of the stream */
    Job *ready;           /* jobs of the queue that wait for nothing but memory; oldest first */
    uint64_t stuck_at;    /* Store.n_changes when none of the ready jobs could start */
    uint32_t n_jobs, n_waiting;
    uint32_t n_marked;     /* jobs of the queue that took a mark (mark.h) */
    uint64_t bytes_needed; /* by results of its waiting jobs */
    uint64_t cancel_end;   /* instructions with a lower seq are dropped */
    uint64_t plan_hold;    /* instructions with a lower seq are issued one by one, without plans */
    uint32_t n_across;     /* jobs that wait for tensors of groups without this rank */
    bool is_draining;      /* LOOK_DRAIN: no issue until a job is ready or none is left */
    bool is_cancel_reported, is_gone, has_ack;
    bool is_shared;  /* it issued moves or instructions with `on`: some ids are other workers' */
    bool checks_nan; /* `check nan=true`: every float result is checked */
    bool compiles;   /* `scope compile=true`: kernels are compiled at their first request */
    /* A cancel, or the client's end, has arrived but is not handled yet; its seq. */
    bool has_pending_cancel;
    uint64_t pending_cancel_end;
    uint64_t ack_seq, ack_bytes;
    uint64_t unread; /* bytes of answers that it has not read */
    uint64_t instructions, kernels;
    Profile *profile; /* NULL: it did not ask for one */
    int64_t used_ns;  /* virtual time: the client that has used least is served next */
};

/* Another worker. */
typedef struct Peer {
    const char *base; /* its arena, mapped here; NULL: it cannot be read */
    uint64_t bytes;
    bool is_direct; /* it is device memory, which the engine reaches (EngineOps.reach) */
    bool is_gone;
    uint32_t n_early; /* descriptors that arrived before their instruction */
    uint64_t early_bytes;
} Peer;

/* Messages to send; rank: the receiver's, if it is a peer. */
typedef Fifo Outbox; /* of Outgoing */
typedef struct Outgoing {
    uint32_t rank;
    Msg m;
} Outgoing;

struct Exec {
    Store store;
    Stage *stages;        /* all (stage.h) */
    Stage *looks, *takes; /* the stage with `look`, and with `take`; NULL: none */
    Client *pending_of;   /* the client whose jobs `takes` has; NULL: none are pending */
    Observer *observer;   /* NULL: none */
    Engine *engine;
    const EngineOps *ops;
    Marks *marks;            /* NULL: the engine is not ordered */
    char *arena;             /* the engine's */
    int64_t (*clock)(void);  /* of a test; NULL: the system's */
    void (*poll)(void *ctx); /* polls for messages during a long call (cancel.h); NULL: none */
    void *poll_ctx;
    Client *busy; /* the client whose call the engine is executing; NULL: none */
    uint64_t busy_seq;
    bool may_cancel, is_ending; /* may_cancel: some client has_pending_cancel, or is_ending */
    uint32_t rank;
    int threads;
    Client *clients;
    Cells jobs, waits;
    Frame *spare;      /* a free list of frames, with their arenas */
    Job *first, *last; /* jobs in flight, in the order of submission */
    int n_in_flight;
    double work_in_flight, done_work; /* Job.work in flight; done since pace_ns */
    double pace;                      /* work per ns of the engine, measured while it is busy */
    int64_t pace_ns;
    uint64_t n_frames;
    uint64_t seen;      /* the highest Job.number in a frame so far */
    uint64_t n_issued;  /* the last number given to an instruction that came without one */
    uint32_t n_waiting; /* jobs of all clients */
    Outbox out, peer_out;
    Arena scratch;
    uint64_t instructions, kernels;
    Map groups;  /* id -> Group */
    Peer *peers; /* by rank */
    uint32_t n_peers;
    Map imports;      /* number -> Job of kind JOB_IMPORT that is not done */
    Map pins, early;  /* number and rank -> Pin, Early (peer.c) */
    uint64_t n_sweep; /* frames since the last peer_sweep */
    uint64_t moves, bytes_in, bytes_out, inline_bytes, direct_bytes;
    Watch *watch;     /* what was done last */
    Hashing *hashing; /* NULL: results are not hashed (hash.h) */
    bool hashes_all;  /* ... or all of them are, and all their elements */
    /* Scratch, for the instruction being issued: */
    const Tensor *in[MAX_IN];
    TensorType types[MAX_IN], wholes[MAX_IN];
    Ticket after[MAX_IN];
};

static inline bool client_is_full(const Client *c) {
    return c->unread >= REPLY_BYTES && !c->is_gone;
}
static inline bool client_may_issue(const Client *c) {
    bool waits = c->is_draining && c->jobs && !c->ready;
    return c->at && !waits && !client_is_full(c) && c->n_waiting < WAITING_MAX &&
           c->n_jobs < JOBS_MAX;
}
static inline bool client_has_work(const Exec *x, const Client *c) {
    return client_may_issue(c) || (c->ready && c->stuck_at != x->store.n_changes);
}
#endif
