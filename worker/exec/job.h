/* job.h: an instruction on its way through a worker (Job), the frame and the client that it is of,
 * and the executor's own tables (Exec): what the files of exec, and stages, share.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_JOB_H
#define GT_WORKER_EXEC_JOB_H
#include "runtime/base/fifo.h"
#include "runtime/layout/place.h"
#include "runtime/wire/body.h"
#include "runtime/wire/wire.h"
#include "worker/exec/store.h"

typedef struct Exec Exec;

enum { FEW = 4 };            /* operands that need no memory of their own */
enum { WAITING_MAX = 1024 }; /* jobs of a client that wait; then it is issued no more ... */
enum { JOBS_MAX = 4096 };    /* ... nor when so many are in its queue */
enum { WAIT_BYTES = 24 };    /* of a queue's Wait */

typedef struct Client Client;
typedef struct Frame Frame;
typedef struct Job Job;
typedef struct Part Part;
typedef struct Import Import;
typedef struct Watch Watch;
typedef struct Stage Stage;
typedef struct Observer Observer;

typedef enum JobKind {
    JOB_CALL,    /* for the engine, but `data` */
    JOB_EFFECT,  /* runs when all before it is done; or an error that waits to be told */
    JOB_EXPORT,  /* tells the readers of a move that its operand is there */
    JOB_IMPORT,  /* puts a move's result together */
    JOB_PENDING, /* a stage has it (stage.h), as the node of a cluster; in no queue */
    JOB_PRODUCT  /* likewise, a matmul that waits for the cluster that reads it */
} JobKind;

typedef enum JobState {
    JOB_NEW,   /* in no queue */
    JOB_WAITS, /* for operands, peers or memory */
    JOB_FLIES, /* the engine has it */
    JOB_DONE   /* but for what is said in order: its error, or its effect */
} JobState;

/* One instruction between decoding and retirement. */
struct Job {
    Job *next;    /* in the client's queue */
    Job *follows; /* in the engine's queue, or among the client's ready jobs */
    Frame *frame;
    uint8_t kind, state;
    bool is_ready;    /* waits for memory or its turn only */
    bool compiles;    /* in a scope that is compiled at first sight */
    uint32_t signals; /* of its hot record: FrameReader.hot_compiles */
    int16_t node;     /* of the cluster; JOB_PENDING */
    uint32_t n_late;  /* operands that are not begun */
    uint32_t n_waits; /* what it waits for: operands, descriptors */
    uint32_t group;   /* of a located instruction; else 0 */
    uint64_t seq;
    uint64_t number;                /* over all clients; older is smaller */
    struct Body *body;              /* of a hot record: whose instruction it is, ... */
    uint32_t body_at;               /* ... which one, ... */
    int at;                         /* ... of what is recorded (plan_record.c), ... */
    const uint8_t *args;            /* ... where its arguments begin, ... */
    uint64_t args_base, args_added; /* ... and the next results' ids before it */
    uint64_t need;                  /* bytes of results while it waits */
    uint64_t tried;                 /* Store.n_changes when there was no memory for it */
    Inst inst;                      /* borrows from the frame */
    Call call;
    Ticket ticket;
    int64_t begin_ns; /* while somebody watches */
    ErrCode lost;     /* an effect that will only say why it has no values */
    double work;      /* of the call, a guess */
    Err *err;         /* owned: told when the job's turn in the queue comes */
    Part *part;       /* of an instruction on several ranks; the frame's */
    Import *import;   /* of JOB_IMPORT; the frame's */
    int n_held;
    Storage **held;        /* of tensor operands; referenced while the job is in the queue */
    Storage *out[MAX_OUT]; /* likewise */
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
    int at;                    /* place in the group */
    TensorType whole[MAX_OUT]; /* of the results */
    bool is_empty;   /* the results here have no elements, and the op would not have that */
    bool is_neutral; /* a term over nothing */
};

struct Frame {
    Frame *next;
    Client *client;
    Msg msg;
    FrameReader reader;
    Arena arena; /* operands and attributes of all its instructions */
    Job *ahead;  /* the next instruction, if is_ahead; NULL: there is none */
    bool is_ahead;
    bool is_begun;    /* it is, or was, the client's `at` */
    uint64_t arrival; /* in order of arrival, over all clients */
    uint32_t pending; /* jobs in the queue */
    bool is_issued, is_bad;
    Err bad; /* is_bad: what is wrong with the next instruction */
};

struct Client {
    Client *next;
    uint32_t id;
    Names *names;
    Frame *first, *last;  /* not yet acknowledged, oldest first */
    Frame *at;            /* the one being issued; NULL: all are */
    Bodies bodies;        /* of its stream, as far as it was read ... */
    Bodies placed;        /* ... and of what the dispatcher has made of it */
    Job *jobs, *last_job; /* the queue, in the order of the stream */
    Job *ready;           /* of them, those that wait for memory or their turn only; oldest first */
    uint64_t stuck_at;    /* Store.n_changes when none of them could begin */
    uint32_t n_jobs, n_waiting;
    uint64_t promised;   /* bytes that its waiting jobs will need */
    uint64_t cancel_end; /* instructions below are dropped */
    uint64_t plan_hold;  /* instructions below are issued one by one */
    uint32_t n_across;   /* jobs that wait for tensors of groups that this rank is not in */
    bool is_held;        /* LOOK_HELD: what comes next is better issued when nothing waits */
    bool is_cancel_told, is_gone, has_ack;
    bool is_shared;   /* it has had located instructions: its frames are for several workers */
    bool checks_nan;  /* `check nan=true`: every float result is looked at */
    bool is_cut;      /* by a cancel, or its end, that is still to be handed in: */
    uint64_t cut_end; /* its seq */
    uint64_t ack_seq, ack_bytes;
    uint64_t unheard; /* bytes of answers that it has not taken */
    uint64_t instructions, kernels;
    int64_t used_ns; /* virtual time: who has used least goes next */
};

/* Another worker. */
typedef struct Peer {
    const char *base; /* its arena, as we see it; NULL: not to be read */
    uint64_t bytes;
    bool is_gone;
    uint32_t n_early; /* descriptors that came before their instruction */
    uint64_t early_bytes;
} Peer;

/* Messages on their way out, with the rank of the receiver where it is a peer. */
typedef Fifo Outbox; /* of Outgoing */
typedef struct Outgoing {
    uint32_t rank;
    Msg m;
} Outgoing;

struct Exec {
    Store store;
    Stage *stages;        /* all (stage.h); of them, NULL without one: */
    Stage *looks, *takes; /* the one with `look`; with `take` ... */
    Client *pending_of;   /* ... and whose instructions that has taken; NULL: none are pending */
    Observer *observer;   /* NULL: nobody looks on */
    Engine *engine;
    const EngineOps *ops;
    char *arena;             /* the engine's */
    int64_t (*clock)(void);  /* of a test; NULL: the system's */
    void (*hear)(void *ctx); /* NULL: nobody wants to know */
    void *hear_ctx;
    Client *busy; /* whose call is being carried out, which may be cut off; NULL: none */
    uint64_t busy_seq;
    bool may_be_cut, is_ending; /* may: a client is, or is_ending */
    uint32_t rank;
    int threads;
    Client *clients;
    Cells jobs, waits;
    Frame *spare;      /* frames with their arenas, for reuse */
    Job *first, *last; /* the engine has them */
    int n_flying;
    double flying_work, done_work; /* in flight; done since pace_ns */
    double pace;                   /* the engine's, work per ns, measured while it is busy */
    int64_t pace_ns;
    uint64_t n_frames;
    uint64_t seen;      /* the highest number that the dispatcher has brought */
    uint64_t n_issued;  /* numbers of those that have none */
    uint32_t n_waiting; /* jobs of all clients */
    Outbox out, peer_out;
    Arena scratch;
    uint64_t instructions, kernels;
    Map groups;  /* id -> Group */
    Peer *peers; /* by rank */
    uint32_t n_peers;
    Map imports;      /* number -> Job: waits for peers */
    Map pins, early;  /* number and rank -> Pin, Early */
    uint64_t n_sweep; /* frames since the early ones were looked through */
    uint64_t moves, bytes_in, bytes_out, inline_bytes;
    Watch *watch; /* NULL: nobody does */
    const Tensor *in[MAX_IN];
    TensorType types[MAX_IN], wholes[MAX_IN];
    Ticket after[MAX_IN];
};

static inline bool client_is_full(const Client *c) {
    return c->unheard >= REPLY_BYTES && !c->is_gone;
}
static inline bool client_may_issue(const Client *c) {
    bool waits = c->is_held && c->jobs && !c->ready;
    return c->at && !waits && !client_is_full(c) && c->n_waiting < WAITING_MAX &&
           c->n_jobs < JOBS_MAX;
}
static inline bool client_has_work(const Exec *x, const Client *c) {
    return client_may_issue(c) || (c->ready && c->stuck_at != x->store.n_changes);
}
#endif
