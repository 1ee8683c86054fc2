/* stage.h: a stage carries instructions out in another way than one by one. There are two places
 * for one: a stage with `look` is asked before the next instructions of a frame are decoded (plan.c
 * repeats what a hot body did before), a stage with `take` before an instruction goes to the engine
 * (collect.c makes clusters). worker.c puts them in. Which instructions a stage carries out does
 * not change a result's bits.
 *
 * An Observer sees how instructions are carried out one by one: plan_record.c, which makes plans.
 * All by the worker's thread. SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_STAGE_H
#define GT_WORKER_EXEC_STAGE_H
#include "worker/exec/job.h"

typedef enum Look {
    LOOK_NONE, /* the next instruction is to be decoded and issued */
    LOOK_HELD, /* nothing of this client is to be issued until what it waits for is there */
    LOOK_DONE  /* instructions were carried out; the frame's reader stands behind them */
} Look;

typedef struct Stage Stage;
struct Stage {
    Exec *x; /* set by stages_put */
    Stage *next;

    /* ---- With `look` come `before` and `forget` ---- */

    /* f stands in a hot record, of which no instruction is decoded ahead. */
    Look (*look)(Stage *s, Frame *f);
    /* j of f is about to be issued; NULL: f has ended. Asked where j or what follows it is of a hot
     * record, or there is an observer. False: what follows j is not to be decoded
     * ahead, look is asked. */
    bool (*before)(Stage *s, Frame *f, Job *j);
    /* What this client (NULL: any) has begun does not go on: it was cancelled, or goes. */
    void (*forget)(Stage *s, const Client *c);

    /* ---- With `take` come the other four ---- */

    /* j has its operands and immediates. True: it is taken, its results have names and it holds its
     * operands; Exec.pending_of is its client. False: the caller goes on with it; poison: an
     * operand of it is poisoned (else ERR_NONE), none of them is pending any more. type: of the
     * result. */
    bool (*take)(Stage *s, Job *j, const TensorType *type, ErrCode *poison);
    /* All that was taken is carried out, or waits in its client's queue. Sets pending_of to NULL;
     * only called while it is not. */
    void (*flush)(Stage *s);
    void (*edge)(Stage *s); /* a loop goes round */
    /* Something is pending. is_idle: there is nothing else to do. Else there is again. */
    void (*idle)(Stage *s, bool is_idle);
    /* KEY=VALUE lines about Storage.kernel (0: none): see exec_kernel. */
    void (*about)(const Stage *s, uint32_t kernel, Bytes *out);

    /* ---- Of any ---- */

    void (*stats)(const Stage *s, Bytes *out); /* KEY=VALUE lines */
    void (*free)(Stage *s);                    /* nothing is pending, and no client is left */
};

void stages_put(Exec *x, Stage *s); /* x owns it. NULL: nothing happens */
void stages_free(Exec *x);
/* What is pending is carried out. */
static inline void stages_flush(Exec *x) {
    if (x->pending_of) x->takes->flush(x->takes);
}
/* Before a cancel or the end of a client (NULL: of all). */
void stages_end(Exec *x, const Client *c);
/* j's operands, those that are pending carried out. False: one is poisoned. */
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
/* While Exec.observer is set. */
struct Observer {
    int n_steps;                                 /* seen so far */
    void (*saw_call)(Observer *o, const Job *j); /* j->call is about to be submitted */
    void (*saw_data)(Observer *o, const Job *j); /* its payload was copied to its result */
    void (*saw_cluster)(Observer *o, const struct Cluster *c); /* its kernel was called */
    /* The steps since `begin` are a cluster, those before `alone` its product; which way it goes is
     * being measured. */
    void (*saw_trial)(Observer *o, int begin, int alone, const struct CollectTrial *t);
    void (*issued)(Observer *o); /* the instruction that Stage.before was asked about */
};
#endif
