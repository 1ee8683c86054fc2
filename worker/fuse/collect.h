/* collect.h: collects instructions into fusions (fuse.h), each of which becomes one kernel.
 * SPDX-License-Identifier: MIT
 *
 * An instruction of a kind that fit.h lists (pointwise, a cast, a reduction along the last or the
 * first axes, and a few more) is not executed when it is issued. If its shape fits the open
 * fusion, its job becomes a node of that fusion; else a new fusion begins. Until the fusion is
 * executed the job is pending: its result has a name, and a storage without memory, whose maker is
 * the job. A fusion is executed
 *  - before an instruction that is not a node of it and reads one of its values,
 *  - before an effect, a move or a check, and before an instruction of another client,
 *  - before a node of another shape, with which a new fusion begins,
 *  - when it is full, or when many instructions have passed it,
 *  - at the edge of a loop if it has EDGE_MIN nodes (collect.c),
 *  - when no instruction comes: at once after the edge of a loop, else after a while.
 * This delay makes the fusions of a loop the same in each iteration, whatever the timing of the
 * client's frames; otherwise each iteration might need kernels of its own.
 *
 * What it is worth (tests/bench, beside operations one by one): 2.5 to 7.4 times the speed on large
 * pointwise chains and on rows (softmax, layer norm, cross-entropy).
 *
 * Only this stage decides what fuses; plans (worker/plan) repeat its fusions. Collecting only while
 * a plan is recorded was tried (CPU time, medians of 7 and 9 runs, against the program as it is):
 * steps of an MLP whose batch size changes each step take 11 to 21 % longer, 12 iterations over 3 M
 * elements with their kernels on disk 2.4 times as long, charlm 3 % longer. An MLP, an LSTM, a VAE
 * and straight-line programs take the same within the noise. Few of such steps recur as plans.
 *
 * When a fusion is executed, most temporaries have been freed. Those have no name left, so they
 * are not stored. A name of a view of a pending value counts as a name of the value. If the kernel
 * is not ready (jit.h), the jobs go to the engine one by one, in order, which gives the same bits.
 * If there is no memory, the jobs wait in the client's queue like other jobs. So no result depends
 * on when a kernel is ready, nor on which instructions were collected together. Pending jobs hold
 * their operands. No pending job outlives a cancel of its client, the client, or the engine.
 *
 * A float32 matmul is pending too if no fusion is open. If the fusion after it reads its result
 * element for element (a bias, an activation, a scale, an optimizer's step, a softmax), the engine
 * computes both, tile by tile, while the tile is in the cache. The product is stored only if
 * anything else reads it.
 *
 * GT_AUTO_COMPILE=0: fusions only in scopes with `compile: true`. GT_WORKER_BATCH_SIZE=N: at most
 * N nodes in one kernel. There are no fusions with N = 1, with GT_COMPILE=0 or GT_FUSE=0, without
 * a compiler (jit.h), and for an engine without `fused`. For tests, GT_FUSE=wait waits for each
 * kernel, and GT_FUSE=luck:SEED requests each at once and uses about every other one that is ready.
 * Otherwise choice.h decides whether a fusion runs as its kernel. */
#ifndef GT_WORKER_FUSE_COLLECT_H
#define GT_WORKER_FUSE_COLLECT_H
#include "worker/emit/fuse.h"
#include "worker/exec/stage.h"
#include "worker/jit/choice.h"
#include "worker/jit/jit.h"

/* Returns NULL if fusions are off. */
Stage *collect_new(const EngineOps *ops, Engine *e);

/* ---- For plan.c, which repeats fusions ---- */

/* A fusion that ran as a kernel. */
typedef struct FusionRun {
    const Fusion *fuse;
    JitEntry *entry;
    const FusedKernel *kernel;
    Job *const *job; /* n jobs, one per node */
    int n;
    const FuseRef (*operand)[3]; /* of each node: the tensor operands, by their index in the call */
    const Job *product;          /* the matmul computed with it; NULL: none ... */
    int input;                   /* ... and the fusion's input for its result */
    Job *const *timed;           /* the product and the nodes, n_timed jobs ... */
    const bool *is_stored;       /* ... and which of their results are stored */
    int n_timed;
    const Job *heaviest; /* of these, with the most work */
    uint64_t bytes;      /* of the results that are stored */
} FusionRun;
/* A fusion whose faster way (choice.h) is not decided yet. */
typedef struct CollectTrial {
    JitEntry *entry;
    ChoiceTrial *trial; /* of this size; reused if its size differs */
    uint16_t size;
    bool is_fused; /* the way it runs now */
    bool has_kernel;
    int64_t elements;
    double gain; /* fuse_gain */
} CollectTrial;
/* True if the fusion may run differently now: its kernel is ready, or may be requested (which only
 * collecting does), or its present way has been measured often enough. */
bool collect_has_news(const CollectTrial *t);
/* Reports the time of a run: ns in all, alone_ns without the product. */
void collect_report(Stage *collect, const CollectTrial *t, int64_t ns, int64_t alone_ns);
void collect_launched(Stage *collect, JitEntry *e); /* counts a launch of e's kernel */
/* Counts the work of a plan (plan.h) as if it had been collected. */
void collect_count(Stage *collect, uint64_t fused_ops, uint64_t unstored, uint64_t bytes_saved,
                   uint64_t products);
#endif
