/* stage.h: a stage executes instructions in a different way than one by one. There are two kinds:
 * one with `look` is called before the next instructions of a frame are decoded (plan.c repeats
 * what a hot body did before), one with `take` before an instruction goes to the engine (collect.c
 * makes clusters). worker.c adds them. Which instructions a stage executes does not change a
 * result's bits.
 *
 * An Observer sees how instructions are executed one by one: plan_record.c, which makes plans. All
 * on the worker's thread.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_STAGE_H
#define GT_WORKER_EXEC_STAGE_H
#include "worker/exec/job.h"

typedef enum Look {
    LOOK_NONE, /* the next instruction must be decoded and issued */
    LOOK_HELD, /* nothing of this client is to be issued until its queue is empty */
    LOOK_DONE  /* instructions were executed; the frame's reader is after them */
} Look;

typedef struct Stage Stage;
struct Stage {
    Exec *x; /* set by stages_put */
    Stage *next;

    /* ---- With `look` come `before` and `forget` ---- */

    /* f is at a hot record, of which no instruction is decoded yet. */
    Look (*look)(Stage *s, Frame *f);
    /* j of f is about to be issued; NULL: f has ended. Called if j or what follows it is in a hot
     * record, or there is an observer. False: what follows j must not be decoded yet, and look is
     * called. */
    bool (*before)(Stage *s, Frame *f, Job *j);
    /* Drops unfinished work of this client (NULL: of all): it was cancelled, or is gone. */
    void (*forget)(Stage *s, const Client *c);

    /* ---- With `take` come the other four ---- */

    /* j has its operands and immediates. True: j is taken, its results have names and it holds its
     * operands; Exec.pending_of is its client. False: the caller continues with it; poison: that of
     * an operand (else ERR_NONE); no operand is pending any more. type: of the result. */
    bool (*take)(Stage *s, Job *j, const TensorType *type, ErrCode *poison);
    /* Executes all that was taken, or leaves it in its client's queue. Sets pending_of to NULL;
     * only called while it is not. */
    void (*flush)(Stage *s);
    void (*edge)(Stage *s); /* at the end of a loop's turn */
    /* Called while work is pending. is_idle: there is nothing else to do; false: there is again. */
    void (*idle)(Stage *s, bool is_idle);
    /* KEY=VALUE lines about Storage.kernel (0: none): see exec_kernel. */
    void (*about)(const Stage *s, uint32_t kernel, Bytes *out);

    /* ---- Of any ---- */

    void (*stats)(const Stage *s, Bytes *out); /* KEY=VALUE lines */
    void (*free)(Stage *s);                    /* nothing is pending, and no client is left */
};

void stages_put(Exec *x, Stage *s); /* x owns it. NULL: nothing happens */
void stages_free(Exec *x);
/* Executes what is pending. */
static inline void stages_flush(Exec *x) {
    if (x->pending_of) x->takes->flush(x->takes);
}
/* Called before a cancel or the end of a client (NULL: of all). */
void stages_end(Exec *x, const Client *c);
/* Executes j's pending operands and reads them again. False: one is poisoned. */
bool stages_settle(Exec *x, Job *j, ErrCode *poison);
static inline bool job_reads_pending(const Job *j) {
    for (int k = 0; k < j->n_held; k++) {
        const Job *maker = j->held[k]->maker;
        if (maker && (maker->kind == JOB_PENDING || maker->kind == JOB_PRODUCT)) return true;
    }
    return false;
}

struct Cluster;      /* collect.h */
struct CollectTrial; /* likewise */
/* Called while Exec.observer is set. */
struct Observer {
    int n_steps;                                 /* seen so far */
    void (*saw_call)(Observer *o, const Job *j); /* j->call is about to be submitted */
    void (*saw_data)(Observer *o, const Job *j); /* its payload was copied to its result */
    void (*saw_cluster)(Observer *o, const struct Cluster *c); /* its kernel was called */
    /* The steps since `begin` are a cluster, those before `alone` its product; its faster way is
     * not decided yet. */
    void (*saw_trial)(Observer *o, int begin, int alone, const struct CollectTrial *t);
    void (*issued)(Observer *o); /* the instruction that Stage.before was asked about */
};
#endif
