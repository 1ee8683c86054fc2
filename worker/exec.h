/* exec.h: what a worker does with instructions: the tables behind worker.h, without any I/O.
 *
 * Frames are executed in order per client, clients in turns by the time they have used. A MAP,
 * REDUCE, KERNEL or SOURCE instruction becomes a Job that the engine may finish at any later
 * time; views, frees and names are done at once. Jobs and effects stand in one queue in the
 * order in which they were issued and leave it in that order (retire), so replies, errors and
 * acknowledgements are in stream order without further care. With an engine that finishes inside
 * `submit` the queue stays empty and a Job never leaves the free list for longer than one
 * instruction.
 *
 * Every effect (fetch, peek, print, write, assert, save, track, sync) gets exactly one REPLY,
 * after the ERROR if it failed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_H
#define GT_WORKER_EXEC_H
#include "runtime/place.h"
#include "runtime/wire.h"
#include "worker/store.h"

typedef struct Exec Exec;

Exec *exec_new(const EngineOps *ops, const EngineConfig *config, Err *err);
void exec_free(Exec **x);                   /* waits for the engine */
void exec_set_rank(Exec *x, uint32_t rank); /* "w0" in messages */
Engine *exec_engine(Exec *x);

void exec_on_frame(Exec *x, Msg *m); /* consumes m */
/* Instructions of the client with sequence < seq that have not begun are dropped, their outputs
 * poisoned; one ERROR with code cancelled names the first of them: it and all others below seq
 * are lost. Frees among them are carried out. */
void exec_on_cancel(Exec *x, uint32_t client, uint64_t seq);
void exec_on_gone(Exec *x, uint32_t client);

/* ---- what workers know of one another: groups, and peers by rank ---- */

/* Members of a group, in order, before an instruction names it. A group is told once. */
void exec_on_group(Exec *x, uint32_t id, const int32_t *rank, int n);
/* SHARD, GET, PIECE or TAKEN from that worker; consumes m. What is malformed, or about a transfer
 * that there is not, is ignored. */
void exec_on_peer(Exec *x, uint32_t rank, Msg *m);
/* The next message for a peer, with its rank; false: none. Messages to one peer are in order. */
bool exec_next_peer(Exec *x, uint32_t *rank, Msg *out);
/* The peer's arena can be read here at base (until exec_on_peer_gone); NULL: it cannot, then boxes
 * are asked for (GET). To be told before the first message from that peer is handed in. */
void exec_peer_memory(Exec *x, uint32_t rank, const void *base, uint64_t bytes);
/* That worker is dead: what it reads of ours is let go, what waits for it is poisoned (gone). Its
 * memory is not read any more. */
void exec_on_peer_gone(Exec *x, uint32_t rank);
/* Issues for about budget_us, then returns; waits for the engine only if nothing else is to be
 * done. True: more to do. */
bool exec_step(Exec *x, int64_t budget_us);
bool exec_next(Exec *x, Msg *out);          /* replies, errors, acknowledgements */
void exec_stats(const Exec *x, Bytes *out); /* KEY=VALUE lines */
/* Frames are counted as they come; true when all up to the n-th are done. */
uint64_t exec_frames(const Exec *x);
bool exec_has_done(const Exec *x, uint64_t n);

/* ---- shared by exec.c, effect.c and turn.c ---- */

enum { FEW = 4 }; /* operands that need no memory of their own */

typedef struct Client Client;
typedef struct Frame Frame;
typedef struct Job Job;

/* One instruction between decoding and retirement. */
struct Job {
    Job *next;
    Frame *frame;
    uint64_t seq;
    Inst inst; /* borrows from the frame */
    Call call;
    Ticket ticket; /* 0: an effect */
    ErrCode lost;  /* an effect that will only say why it has no values */
    double work;   /* of the call, a guess */
    Err *err;      /* owned: told when the job is retired, so that errors keep their order */
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

struct Frame {
    Frame *next;
    Client *client;
    Msg msg;
    FrameReader reader;
    Arena arena;      /* operands and attributes of all its instructions */
    Job *ahead;       /* the next instruction, decoded */
    uint64_t seq;     /* of `ahead` */
    uint64_t number;  /* in order of arrival, over all clients */
    uint32_t pending; /* jobs in the queue */
    bool is_issued, is_bad;
    Err bad; /* is_bad: what is wrong with the next instruction */
};

struct Client {
    Client *next;
    uint32_t id;
    Names names;
    Frame *first, *last; /* not yet acknowledged, oldest first */
    Frame *at;           /* the one being issued; NULL: all are */
    uint64_t cancel_end; /* instructions below are dropped */
    bool is_cancel_told, is_gone, has_ack;
    bool checks_nan; /* `check nan=true`: every float result is looked at */
    uint64_t ack_seq, ack_bytes;
    uint32_t n_jobs;
    uint64_t instructions, kernels;
    int64_t used_ns; /* virtual time: who has used least goes next */
};

/* Another worker. */
typedef struct Peer {
    const char *base; /* its arena, as we see it; NULL: not to be read */
    uint64_t bytes;
} Peer;

struct Exec {
    Store store;
    Engine *engine;
    const EngineOps *ops;
    uint32_t rank;
    int threads;
    Client *clients;
    Cells jobs;
    Frame *spare;      /* frames with their arenas, for reuse */
    Job *first, *last; /* in flight */
    int n_flying;
    double flying_work, done_work; /* in flight; done since pace_ns */
    double pace;                   /* the engine's, work per ns, measured while it is busy */
    int64_t pace_ns;
    uint64_t n_frames;
    Msg *out;
    size_t out_at, out_n, out_cap; /* a ring */
    Arena scratch;
    uint64_t instructions, kernels;
    Map groups;     /* id -> Group */
    Peer *peers;    /* by rank */
    uint32_t n_peers;
    TensorType types[MAX_IN];
    Ticket after[MAX_IN];
};

/* exec.c */
/* Operand views, types and storages into j; false: an unknown id. */
bool exec_gather(Exec *x, Job *j, ErrCode *poison, Err *err);
void exec_fail(Exec *x, const Job *j, const Err *err);  /* ERROR to the client, now */
void exec_issue(Exec *x, Job *j, const Job *following); /* owns j from here on */
void exec_retire(Exec *x, bool wait); /* what is done at the queue's head; wait: at least one */
void exec_send(Exec *x, Msg *m);      /* consumes m */
Client *exec_client(Exec *x, uint32_t id, bool creates);
void exec_frame_done(Exec *x, Frame *f); /* f lost a pending job, or was issued */
/* The engine has as much before it as a cancel may have to wait for. */
bool exec_is_far_ahead(const Exec *x);
int64_t exec_now_ns(void);
extern const double exec_first_pace; /* until it is known */
/* peer.c */
void peer_fini(Exec *x);
/* check.c: false: the values that are not finite begin here; err says where and why */
bool check_call(Exec *x, const Job *j, Err *err); /* it is done */
bool check_data(Exec *x, const Job *j, const View *v, Err *err);
/* effect.c */
bool effect_is(Op op);
void effect_run(Exec *x, Job *j); /* everything before it is done */
#endif
