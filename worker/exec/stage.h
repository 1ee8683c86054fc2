/* stage.h: the interface of stages. A stage executes several instructions together. There are two
 * kinds. A stage with `look` is called before the next instructions of a frame are decoded: plan.c,
 * which runs a hot body as it ran before. A stage with `take` is called before an instruction goes
 * to the engine: collect.c, which makes fusions. worker.c adds both. A stage does not change the
 * bits of results.
 *
 * An Observer watches how instructions are executed one by one: plan_record.c, which records plans.
 * Stages and observers run on the worker's thread.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_STAGE_H
#define GT_WORKER_EXEC_STAGE_H
#include "worker/exec/job.h"

typedef enum Look {
    LOOK_NONE,  /* the next instruction must be decoded and issued */
    LOOK_DRAIN, /* issue nothing of this client until one of its jobs is ready or none is left */
    LOOK_DONE   /* instructions were executed; the frame's reader is after them */
} Look;

struct TimeRow; /* runtime/wire/wire_peer.h */
typedef struct Stage Stage;
struct Stage {
    Exec *x; /* set by stages_put */
    Stage *next;

    /* ---- A stage with `look` also has `before` and `forget` ---- */

    /* Called when f is at a hot record, of which no instruction is decoded yet. */
    Look (*look)(Stage *s, Frame *f);
    /* Called before j of f is issued (NULL: f has ended), if j or the next instruction is in a hot
     * record, or if there is an observer. Returns false if the next instruction must not be decoded
     * yet: look is called first. */
    bool (*before)(Stage *s, Frame *f, Job *j);
    /* Drops unfinished work of this client (NULL: of all): it was cancelled, or is gone. */
    void (*forget)(Stage *s, const Client *c);

    /* ---- A stage with `take` also has flush, edge, idle, compiled, about ---- */

    /* j has its operands and immediates; type: its result's. Returns true if it took j: it has
     * named the result, holds the operands, and has set Exec.pending_of to the client. If false,
     * the caller continues with j: no operand is pending, and poison is an operand's (else
     * ERR_NONE). */
    bool (*take)(Stage *s, Job *j, const TensorType *type, ErrCode *poison);
    /* Executes the pending jobs, or puts them into their client's queue. Sets pending_of to NULL;
     * only called while it is not. */
    void (*flush)(Stage *s);
    void (*edge)(Stage *s); /* called at the end of each iteration of a loop */
    /* Called while jobs are pending. is_idle: there is nothing else to do. Called with false when
     * there is something again. */
    void (*idle)(Stage *s, bool is_idle);
    /* Returns each compiler call that has ended, once, as a row for listeners: begin_ns, ns,
     * `bytes` (the number of kernels), `id` (the key of the first). False: there is no more. */
    bool (*compiled)(Stage *s, struct TimeRow *row);
    /* Writes KEY=VALUE lines about Storage.kernel (0: none): see exec_kernel. */
    void (*about)(const Stage *s, uint32_t kernel, Bytes *out);

    /* ---- Every stage has these ---- */

    void (*stats)(const Stage *s, Bytes *out); /* writes KEY=VALUE lines */
    void (*free)(Stage *s);                    /* nothing is pending, and no client is left */
};

void stages_put(Exec *x, Stage *s); /* x owns s; NULL: no effect */
void stages_free(Exec *x);
/* Executes or queues the pending jobs. */
static inline void stages_flush(Exec *x) {
    if (x->pending_of) x->takes->flush(x->takes);
}
/* Flushes, and drops the stages' unfinished work of a client (NULL: of all). Call it before a
 * cancel or the client's end. */
void stages_end(Exec *x, const Client *c);
/* Executes j's pending operands and reads them again. Returns false if one is poisoned. */
bool stages_settle(Exec *x, Job *j, ErrCode *poison);
static inline bool job_reads_pending(const Job *j) {
    for (int k = 0; k < j->n_held; k++) {
        const Job *maker = j->held[k]->maker;
        if (maker && (maker->kind == JOB_PENDING || maker->kind == JOB_PRODUCT)) return true;
    }
    return false;
}

struct FusionRun;    /* collect.h */
struct CollectTrial; /* likewise */
/* Called while Exec.observer is set. */
struct Observer {
    int n_steps;                                 /* number of steps seen so far */
    void (*saw_call)(Observer *o, const Job *j); /* j->call is about to be submitted */
    void (*saw_data)(Observer *o, const Job *j); /* j's payload was copied to its result */
    void (*saw_fusion)(Observer *o, const struct FusionRun *c); /* c's kernel was called */
    /* The steps from `begin` on are a fusion, of which those before `alone` are its matmul. Which
     * way of running it is faster is not decided yet. */
    void (*saw_trial)(Observer *o, int begin, int alone, const struct CollectTrial *t);
    void (*issued)(Observer *o); /* the instruction of the last Stage.before was issued */
};
#endif
