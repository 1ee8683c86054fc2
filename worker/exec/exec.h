/* exec.h: what a worker does with instructions: the tables behind worker.h, without any I/O.
 *
 * Frames are issued in order per client, clients in turns by the time they have used. A MAP,
 * REDUCE, KERNEL or SOURCE instruction becomes a Job that the engine may finish at any later
 * time; views, frees and names are done at once. A job whose operands are not there yet (they are
 * made by one that waits for another worker), or for whose results there is no memory now, waits
 * too, and what does not depend on it runs on. Each client has one queue of its unfinished jobs
 * and effects in the order of its stream; what is said of them (replies, errors,
 * acknowledgements) is said in that order. With an engine that finishes inside `submit`, and no
 * other worker, the queues stay empty and a Job never leaves the free list for longer than one
 * instruction.
 *
 * Every effect (fetch, peek, print, write, assert, save, track, sync) gets exactly one REPLY,
 * after the ERROR if it failed.
 *
 * Files: turn.c frames and clients, exec.c one instruction, locate.c its part, queue.c what waits
 * (there: why nothing gets stuck), move.c tensors that come from other workers, peer.c what is said
 * between workers, box.c copying, effect.c answers, check.c nan, stats.c figures, watch.c times;
 * stage.h what other folders put in (clusters, plans).
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_EXEC_H
#define GT_WORKER_EXEC_EXEC_H
#include "runtime/wire/body.h"
#include "runtime/layout/place.h"
#include "runtime/wire/wire.h"
#include "worker/exec/store.h"

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
/* The client has taken so many more bytes of answers. One that leaves REPLY_BYTES of them lying is
 * not served until it does: nothing of it is issued, and no effect of it carried out. */
void exec_on_heard(Exec *x, uint32_t client, uint64_t bytes);
/* While a call is carried out that takes long: hear(ctx) is called every few ms, is to take in what
 * has arrived, and to say by exec_cut_off what of it ends the call. NULL: no longer. */
void exec_on_hear(Exec *x, void (*hear)(void *ctx), void *ctx);
/* A cancel has arrived (seq), or the client's end (UINT64_MAX), but is not handed in yet: if the
 * call under way is of that client and before seq it is cut off, and poisoned; that it was is told
 * like what a cancel drops. */
void exec_cut_off(Exec *x, uint32_t client, uint64_t seq);
void exec_end(Exec *x); /* the worker leaves: every call from now on is cut off */
/* A hot body of a client of whom nothing is under way here. */
void exec_on_body(Exec *x, const Msg *m);

/* ---- what workers know of one another: groups, and peers by rank ---- */

/* Members of a group, in order, before an instruction names it. A group is told once. */
void exec_on_group(Exec *x, uint32_t id, const int32_t *rank, int n);
/* Its clients are gone, and what they had under way with them. */
void exec_on_group_gone(Exec *x, uint32_t id);
/* SHARD, GET, PIECE or TAKEN from that worker; consumes m. What is malformed, or about a transfer
 * that there is not, is ignored. */
void exec_on_peer(Exec *x, uint32_t rank, Msg *m);
/* The next message for a peer, with its rank; false: none. Messages to one peer are in order. */
bool exec_next_peer(Exec *x, uint32_t *rank, Msg *out);
/* The peer's arena can be read here at base (until exec_on_peer_gone); NULL: it cannot, then boxes
 * are asked for (GET). To be told before the first message from that peer is handed in. */
void exec_peer_memory(Exec *x, uint32_t rank, const void *base, uint64_t bytes);
/* A worker with that rank is there, perhaps after another that died. */
void exec_on_peer_there(Exec *x, uint32_t rank);
/* That worker is dead: what it reads of ours is let go, what waits for it is poisoned (gone). Its
 * memory is not read any more. */
void exec_on_peer_gone(Exec *x, uint32_t rank);
/* From now on, or no longer, exec_next says what instructions took (TIMES). */
void exec_watch(Exec *x, bool on);
/* Issues for about budget_us, then returns; waits for the engine only if nothing else is to be
 * done. True: more to do. */
bool exec_step(Exec *x, int64_t budget_us);
/* What there is to do is to let a little time pass, in which more may come (collect.h): who can
 * sleep until a message comes need not call exec_step for EXEC_PATIENCE_MS. */
enum { EXEC_PATIENCE_MS = 1 };
bool exec_is_patient(const Exec *x);
bool exec_next(Exec *x, Msg *out);          /* replies, errors, acknowledgements */
void exec_trim(Exec *x);                    /* gives free memory back to the system */
void exec_stats(const Exec *x, Bytes *out); /* KEY=VALUE lines */
/* Frames are counted as they come; true when all up to the n-th are done, of one client or (0) of
 * all. */
uint64_t exec_frames(const Exec *x);
bool exec_has_done(const Exec *x, uint64_t n, uint32_t client);

/* KEY=VALUE lines about one tensor: shape= of what is here, layout=, group=; or absent=1, or
 * poisoned= and why. */
void exec_placement(const Exec *x, uint32_t client, uint64_t id, Bytes *out);

/* Lines about what filled a tensor: filled= (alone, in_turn, fused or otherwise, see store.h), op=;
 * off=1 where nothing is ever fused; and of a kernel of several operations, there or not: state=
 * (collect.h), key=, hits=, bytes=, compile_ms=, batch= (jit.h), and its source, each line behind
 * "source="; why= it is not to be had, or that none is. Or absent=1, or poisoned=. */
void exec_kernel(const Exec *x, uint32_t client, uint64_t id, Bytes *out);

/* ---- shared by the files of exec ---- */

enum { FEW = 4 };               /* operands that need no memory of their own */
enum { WAITING_MAX = 1024 };    /* jobs of a client that wait; then it is issued no more ... */
enum { JOBS_MAX = 4096 };       /* ... nor when so many are in its queue */
enum { SMALL_BOX = 4096 };      /* bytes of a box that travels with its descriptor */
enum { PIECE_BYTES = 1 << 20 }; /* of a box that cannot be read in place, at a time ... */
enum { PIECES_MAX = 4 };        /* ... so many asked for */

enum { WAIT_BYTES = 24 };

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
typedef struct Outbox {
    struct Outgoing {
        uint32_t rank;
        Msg m;
    } * slot; /* a ring */
    size_t at, n, cap;
} Outbox;
void outbox_put(Outbox *o, uint32_t rank, Msg *m); /* consumes m */
bool outbox_take(Outbox *o, uint32_t *rank, Msg *m);
void outbox_fini(Outbox *o);

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

/* exec.c */
/* Operand views, types, names and storages into j and x; false: an unknown id. */
bool exec_gather(Exec *x, Job *j, ErrCode *poison, Err *err);
void exec_fail(Exec *x, const Job *j, const Err *err);    /* ERROR to the client, now */
void exec_fail_in_order(Exec *x, Job *j, const Err *err); /* when what is older has been told */
void exec_tell_cancelled(Exec *x, Job *j);                /* once for each cancel */
/* To the engine, as a call of the client that a cancel, or its end, cuts off. */
Ticket exec_call(Exec *x, Client *c, uint64_t seq, const Call *call, const Ticket *after,
                 int n_after);
bool exec_fused(Exec *x, Client *c, uint64_t seq, const Call *product, struct Fuse *f,
                const struct FusedKernel *k); /* product: NULL without one */
void exec_uncut(Exec *x, Client *c);          /* what cut it off has been handed in */
/* The engine's failure of j, told in order; one that was cut off says what a cancel says. */
void exec_call_failed(Exec *x, Job *j, const Err *err);
void exec_fail_memory(Exec *x, Job *j); /* there is none for j->call.out */
void exec_poison_outputs(Exec *x, Job *j, ErrCode why, const TensorType *types);
void exec_name(Exec *x, Job *j, int k, Storage *st, const TensorType *type); /* result k */
/* The result is a view of operand 0's storage. Owns j. */
void exec_name_view(Exec *x, Job *j, const View *view);
/* Memory for the results, then to the engine, now or later. Owns j. `following` may say which
 * operand dies. */
void exec_submit(Exec *x, Job *j, const Job *following, const TensorType *types);
/* Nothing is left to do but to tell its error, if it has one. Owns j. */
void exec_finish(Exec *x, Job *j);
void exec_issue(Exec *x, Job *j, const Job *following); /* owns j from here on */
/* An immediate as a scalar of the given dtype, at `value` (8 bytes); inference has checked that it
 * fits. For halves it is a float32, rounded to them unless it is a factor. The scalar's dtype. */
DType exec_immediate(Op op, const Operand *o, DType t, void *value);
void exec_copy_payload(Exec *x, const Job *j, const View *to); /* of `data` */
/* turn.c */
void exec_send(Exec *x, Msg *m); /* consumes m */
Client *exec_client(Exec *x, uint32_t id, bool creates);
/* f lost a pending job, or was issued. A client that is gone may go with it. */
void exec_frame_done(Exec *x, Frame *f);
int64_t exec_now_ns(const Exec *x); /* monotonic */

/* queue.c */
extern const double exec_first_pace; /* until it is known */
/* The engine has as much before it as a cancel may have to wait for. */
bool exec_is_far_ahead(const Exec *x);
void exec_retire(Exec *x, bool wait); /* what the engine has done; wait: at least one */
/* Memory for results: there is some, there may be later, there is none. */
typedef enum Room { ROOM_NOW, ROOM_LATER, ROOM_NEVER } Room;
Room queue_new_storage(Exec *x, Job *j, uint64_t bytes, Storage **out);
Room queue_fill(Exec *x, Job *j);                                /* all j->out, of n_out */
bool queue_may_pass(const Exec *x, const Job *j, uint64_t need); /* older ones that wait */
void queue_fly(Exec *x, Job *j);                                 /* j->ticket is in flight */
void queue_tell(Job *j); /* an effect or an error that waits for its turn */
/* The results are named now and made later, when n_held operands (begun, or with `commits`: done)
 * and `more` other things are there. */
void queue_wait(Exec *x, Job *j, const TensorType *types, bool commits, uint32_t more);
/* As queue_wait for a job whose result has a name and no memory already; its maker is j. */
void queue_adopt(Exec *x, Job *j);
void queue_arrive(Job *j);                          /* one of the other things is there */
void queue_done(Exec *x, Job *j, ErrCode poison);   /* a job that waited; its client is not freed */
void queue_submit(Exec *x, Job *j, bool is_queued); /* call.out has memory */
bool queue_run(Exec *x, Client *c);    /* begins the oldest ready job that can; false: none */
void queue_settle(Exec *x, Client *c); /* says what is to be said */
void queue_cancel(Exec *x, Client *c); /* jobs below cancel_end */
void queue_drop(Exec *x, Client *c);   /* all that wait; it is gone */
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

/* locate.c */
/* Reads where j is carried out; false: not here (or it cannot be read: err has a code). */
bool locate_begin(Exec *x, Job *j, Err *err);
/* As inst_infer: types of the parts; j->call.inst is what the engine is to do. */
bool locate_infer(Exec *x, Job *j, TensorType *types, int *n_out, Err *err);
/* j->call makes the neutral element of a REDUCE row everywhere in its result. */
void locate_neutral(Job *j, Op row, const TensorType *type);
const Group *locate_group(const Exec *x, uint32_t id);

/* move.c */
void move_issue(Exec *x, Job *j);  /* owns j */
void export_run(Exec *x, Job *j);  /* its operand is done */
Room import_run(Exec *x, Job *j);  /* all has arrived */
void import_drop(Exec *x, Job *j); /* its client is gone */
void import_peer_gone(Exec *x, Job *j, uint32_t rank);
/* false: it waits for no such */
bool import_deliver(Exec *x, Job *j, uint32_t rank, const Shard *s);
void import_piece(Exec *x, Job *j, uint32_t rank, const Piece *p, const void *data, uint64_t bytes);

/* watch.c; all but the first only while x->watch is there */
bool watch_next(Exec *x, Msg *out); /* the next message to who watches; false: none */
static inline void watch_begin(const Exec *x, Job *j) {
    if (__builtin_expect(x->watch != NULL, 0)) j->begin_ns = exec_now_ns(x);
}
/* It is done; bytes: beside those of its results. */
void watch_done(Exec *x, const Job *j, uint64_t bytes);

/* peer.c */
Peer *peer_of(Exec *x, uint32_t rank); /* NULL: no worker can have this rank */
bool peer_is_gone(const Exec *x, uint32_t rank);
/* SHARD of a box of st to a reader; pins st where it does not travel along. poison: there is no
 * box. */
void peer_offer(Exec *x, const Job *j, uint32_t rank, Storage *st, const View *box, ErrCode poison);
void peer_get(Exec *x, const Job *j, uint32_t rank, uint64_t begin, uint64_t bytes);
void peer_taken(Exec *x, uint32_t client, uint64_t number, uint32_t rank);
/* What came early for this import is delivered. */
void peer_deliver_early(Exec *x, Job *j, uint32_t rank);
void peer_sweep(Exec *x, uint32_t client); /* early ones of a client that is gone; 0: of all such */
bool peer_has_older_pin(const Exec *x, uint64_t number);
void peer_fini(Exec *x);

/* box.c */
/* Elements of a region of what begins at `origin` of the whole. */
View box_of(const View *v, const int64_t *origin, const Region *r);
void box_copy(const View *to, const View *from); /* same shape and dtype */
/* Bytes [begin, begin + bytes) of a box in row-major order, whole elements. */
void box_get(const View *box, uint64_t begin, uint64_t bytes, void *to);
void box_put(const View *box, uint64_t begin, uint64_t bytes, const void *from);
/* All its elements lie, aligned, within an arena of so many bytes. */
bool box_lies_within(const TensorType *t, const int64_t *stride, uint64_t offset, uint64_t bytes);

/* check.c: false: the values that are not finite begin here; err says where and why */
bool check_call(Exec *x, const Job *j, Err *err); /* it is done */
bool check_data(Exec *x, const Job *j, Err *err);
/* effect.c */
void effect_run(Exec *x, Job *j); /* everything before it is done */
#endif
