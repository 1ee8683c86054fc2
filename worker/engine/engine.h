/* engine.h: what executes instructions: one small struct of function pointers, asynchronous from
 * the first day.
 *
 * A worker's exec owns all tables; an engine owns memory and arithmetic. exec hands the engine
 * calls whose operands are views of device memory and whose outputs are already allocated; the
 * engine may finish them at any later time, in any order that respects `after`. Nothing in exec
 * may assume that submit returns after the work is done.
 *
 * A View may have any strides: permute, expand and slice are views of their operand's buffer.
 * Outputs are always row-major and never overlap an operand, except that exec may pass an
 * operand's own buffer as output of a MAP when that operand dies here and has the output's type,
 * strides and start ("in place").
 *
 * What a Call holds, by class: MAP: tensors and immediates in order, immediates as scalars of
 * the tensors' dtype, or of float32 where those are halves. SOURCE: the immediates only (a
 * model operand has done its work in inference), as f64 where the result is a float (but
 * randint's), else i64; `data` is never submitted (copy_in). VIEW: only RESHAPE, as a copy:
 * out[0] takes in[0]'s elements in row-major order. KERNEL: all operands. REDUCE: one. CONTROL:
 * none is submitted. The result of a matmul or a convolution of halves may be float32: then its
 * sums are not rounded. Floats to ints (cast): truncated to i64 (nan and what is outside of i64
 * give INT64_MIN), then the low bits. Index operands may count from the end: -n <= i < n.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_ENGINE_H
#define GT_WORKER_ENGINE_ENGINE_H
#include "runtime/inst/inst.h"

typedef struct View {
    TensorType type;
    int64_t stride[MAX_DIMS]; /* in elements; 0 along expanded axes */
    void *data;               /* first element: device memory; host memory where is_scalar */
    bool is_scalar;           /* an immediate: rank 0, one value of type.dtype, lives in the Call */
    /* Of an operand that is a part: rows cut_begin and on of an axis of cut_size. size 0: it is
     * whole. Only errors that name a position read it. */
    uint8_t cut_axis;
    int64_t cut_begin, cut_size;
} View;

/* One operation on whole tensors. `inst` gives op and attributes; it and the views are borrowed
 * until the ticket is done. */
typedef struct Call {
    const Inst *inst;
    int n_in, n_out;
    View *in;
    View out[MAX_OUT];
} Call;

typedef uint64_t Ticket; /* grows; 0 = nothing to wait for */

typedef struct EngineConfig {
    uint64_t memory_bytes;
    int threads;
    bool is_shared; /* the arena is a file (memfd), for peers in other processes */
} EngineConfig;

struct Fuse;
struct FusedKernel;
typedef struct Engine Engine;
typedef struct EngineOps {
    const char *name; /* "reference", "cpu", "null" */
    Engine *(*open)(const EngineConfig *config, Err *err);
    void (*close)(Engine **e); /* after all tickets are done */
    /* Class within which bits are promised: "cpu-v4". */
    const char *(*isa)(const Engine *e);
    /* Device memory, 64-byte aligned. alloc returns NULL when it is full; free takes effect when
     * all calls submitted before it are done. size 0 is valid. */
    void *(*alloc)(Engine *e, uint64_t bytes);
    void (*free)(Engine *e, void *p, uint64_t bytes);
    void (*memory)(const Engine *e, uint64_t *used, uint64_t *peak, uint64_t *total);
    /* Optional: whatever is asked of alloc, so many bytes in all can be had. NULL: see whether it
     * gives them in one piece. */
    bool (*has_room)(const Engine *e, uint64_t bytes);
    /* Optional: gives what is free back to the system, though it may be had again. */
    void (*trim)(Engine *e);
    /* Where alloc's memory lies: all of it within [base, base + bytes), for as long as the engine
     * is open. fd: the file that it is, which other processes can map; -1: none. */
    void (*arena)(const Engine *e, void **base, uint64_t *bytes, int *fd);
    /* Starts a call after the tickets in after[] are done; returns its ticket. Data-dependent
     * failures (an index out of range) are found by `done`. */
    Ticket (*submit)(Engine *e, const Call *call, const Ticket *after, int n_after);
    /* 1 done, 0 not yet, -1 done and failed (err set, once). wait: block until not 0. */
    int (*done)(Engine *e, Ticket t, bool wait, Err *err);
    /* Ordered like calls; host may be reused on return. */
    void (*copy_in)(Engine *e, void *device, const void *host, uint64_t bytes);
    /* Row-major; all calls on v must be done. */
    void (*copy_out)(Engine *e, void *host, const View *v);
    /* Optional: the kernel of a cluster (fuse.h, its outputs filled in), now and in whole. False:
     * there is no memory for it, and nothing has happened. */
    bool (*fused)(Engine *e, struct Fuse *f, const struct FusedKernel *k);
    /* Optional, likewise: a matmul whose result (of the cluster's shape, row-major) the cluster
     * reads, and the cluster; where that goes, each tile while it is in the cache. An output may
     * lie where the matmul's result does, if the kernel may write over it. False: some of both may
     * have happened, nothing that doing them again would not mend. */
    bool (*fused_product)(Engine *e, const Call *product, struct Fuse *f,
                          const struct FusedKernel *k);
    /* Optional, for engines that compute inside submit: is_cut is asked every few ms meanwhile, by
     * the thread that submitted. True: what is being computed ends early, and so does everything
     * that comes after it until cut says otherwise: calls fail with ERR_CANCELLED, `fused` is
     * false. What is left of their results has no meaning. */
    void (*ask)(Engine *e, bool (*is_cut)(void *ctx), void *ctx);
    void (*cut)(Engine *e, bool is_cut);
} EngineOps;
struct Engine {
    const EngineOps *ops;
};

extern const EngineOps engine_reference, engine_cpu, engine_null;
/* "cpu", "reference", "null"; also numpy -> reference, pytorch -> cpu. NULL when unknown. */
const EngineOps *engine_find(const char *name);

/* Row-major strides of t. */
void view_strides(const TensorType *t, int64_t *stride);
bool view_is_contiguous(const View *v);
/* The first index of a call that is out of range: `value`, for element `at` of the indices' common
 * `shape`, to which idx broadcasts, along `axis` of x, which has `size`. from_zero: a negative one
 * does not count from the end. is_along: idx has x's axes (gather). Fills err with value, position
 * in the whole idx, axis and size; returns false. */
typedef struct BadIndex {
    const View *idx;
    const TensorType *shape;
    int64_t at, value, size;
    int axis;
    bool from_zero, is_along;
} BadIndex;
bool index_is_bad(const BadIndex *b, Err *err);
#endif
