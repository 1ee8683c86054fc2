/* collect.h: pending instructions, gathered into clusters (fuse.h).
 *
 * A pointwise instruction, a cast, a reduction along the last or the first axes, or another that
 * fit.h knows, is not carried out when it is issued: its result has a name and no memory (a late
 * storage whose maker is the pending job), and the job becomes a node of the open cluster, if its
 * shape is the cluster's. The cluster is carried out when something needs one of its values
 * (another kind of instruction, an effect, a move, another client), when it is full, or when
 * nothing else comes: at once where a loop goes round, else after a while. Waiting for that while,
 * instead of ending clusters where a frame ends, makes the clusters of a loop the same each time
 * round, whatever the timing; where it proves to be in vain (the client waits for what it has sent,
 * and sends no more) it is given up.
 *
 * What it is worth (tests/bench, beside operations one by one): 2.5 to 7.4 times the speed on large
 * pointwise chains and on rows (softmax, layer norm, cross-entropy).
 *
 * It is the one mechanism that decides what fuses; plans (worker/plan) repeat its clusters.
 * Gathering only while a plan is recorded was tried (CPU time, medians of 7 and 9 runs beside the
 * same program as it is): steps of an MLP whose batch size changes each step take 11 to 21 %
 * longer, 12 turns over 3 M elements with their kernels on disk 2.4 times as long, charlm 3 %
 * longer; an MLP, an LSTM, a VAE and straight-line programs take the same within the noise. Few of
 * such steps recur as plans.
 *
 * When it is carried out most temporaries have been freed: no name is left, so they are not stored.
 * Views of pending values are names like others. When the kernel is not there yet (jit.h) the jobs
 * go to the engine one by one, in order, which gives the same bits; when there is no memory, to the
 * client's queue, where they wait as any other. So nothing depends on whether or when a kernel is
 * ready, nor on what was gathered with what. Pending jobs hold their operands; no pending job
 * outlives its client's cancel, its end, or the engine.
 *
 * A matmul of float32 waits likewise, while nothing else is open: if the cluster that follows reads
 * it element for element (a bias, an activation, a scale, an optimizer's step, a softmax), the
 * engine computes both tile by tile, while the tile is in the cache, and the product is stored only
 * if anything else reads it.
 *
 * GT_AUTO_COMPILE=0: only what is in a scope that says `compile: true`. GT_WORKER_BATCH_SIZE=N: at
 * most N in one kernel. Off with 1, with GT_COMPILE=0 or GT_FUSE=0, without a compiler (jit.h), and
 * for an engine without `fused`. GT_FUSE=wait waits for each kernel; GT_FUSE=luck:SEED, for tests
 * too, asks for each at once and uses it every other time only. Which way a cluster with a kernel
 * goes otherwise, choice.h says.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_FUSE_COLLECT_H
#define GT_WORKER_FUSE_COLLECT_H
#include "worker/emit/fuse.h"
#include "worker/exec/stage.h"
#include "worker/jit/choice.h"
#include "worker/jit/jit.h"

/* NULL: off, or there are no kernels. */
Stage *collect_new(const EngineOps *ops, const Engine *e);

/* ---- For plan.c, which repeats clusters ---- */

/* A cluster that ran as a kernel. */
typedef struct Cluster {
    const Fuse *fuse;
    JitEntry *entry;
    const FusedKernel *kernel;
    Job *const *job; /* its nodes, n of them */
    int n;
    const FuseRef (*operand)[3]; /* of each node: the tensor operands, by their index in the call */
    const Job *product;          /* the matmul computed with it; NULL: none ... */
    int input;                   /* ... and the cluster's input for its result */
} Cluster;
/* A cluster whose faster way (choice.h) is not decided yet. */
typedef struct CollectTrial {
    JitEntry *entry;
    ChoiceTrial *trial; /* of this size; reused if its size differs */
    uint16_t size;
    bool is_fused; /* the way it runs now */
    bool has_kernel;
    int64_t elements;
    double gain; /* fuse_gain */
} CollectTrial;
/* True if it may run differently now: its kernel is ready or may be requested, which only gathering
 * does, or this way has been measured often enough. */
bool collect_has_news(const CollectTrial *t);
/* Reports a run of ns, of which alone_ns without the product. */
void collect_tell(Stage *collect, const CollectTrial *t, int64_t ns, int64_t alone_ns);
void collect_launched(Stage *collect, JitEntry *e); /* counts a launch of its kernel */
/* Counts the work of a plan (plan.h) as if it had been gathered. */
void collect_count(Stage *collect, uint64_t fused_ops, uint64_t unstored, uint64_t bytes_saved,
                   uint64_t products);
#endif
