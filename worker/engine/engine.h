/* engine.h: an engine executes instructions. It is one small struct of function pointers, with an
 * asynchronous interface.
 *
 * A worker's exec owns all tables; an engine owns memory and arithmetic. exec gives the engine
 * calls whose operands are views of device memory and whose outputs are already allocated. The
 * engine may finish them at any later time, in any order that respects `after`. exec must not
 * assume that the work is done when submit returns.
 *
 * A View may have any strides: permute, expand and slice are views of their operand's buffer.
 * Outputs are always row-major and never overlap an operand, with one exception: exec may pass an
 * operand's own buffer as output of a MAP when that operand dies here and has the output's type,
 * strides and start ("in place").
 *
 * What a Call holds, by class: MAP: tensors and immediates in order, immediates as scalars of the
 * tensors' dtype, or of float32 if that is a half. SOURCE: only the immediates (a model operand was
 * used up by inference), as f64 if the result is a float (except for randint), else i64; `data` is
 * never submitted (copy_in). VIEW: only RESHAPE, as a copy: out[0] gets in[0]'s elements in
 * row-major order. KERNEL: all operands. REDUCE: one. CONTROL: never submitted. The result of a
 * matmul or a convolution of halves may be float32: then its sums are not rounded. A cast from
 * floats to ints truncates to i64 (nan and values outside of i64 give INT64_MIN) and takes the low
 * bits. Index operands may count from the end: -n <= i < n.
 *
 * Device memory belongs to the engine. exec adds to its addresses and compares them, but reads and
 * writes no byte of it: copies, and all that leaves the device, are functions of the engine.
 *
 * An engine may be ordered (is_ordered), as one for a GPU is. All that it is asked to do (calls,
 * kernels, copies, reads and writes) takes effect in the order in which it was asked for, at any
 * later time. So whatever exec does with results (further calls, in place, fusions, plans, freeing)
 * needs no waiting: memory that was freed may be allocated again at once. Only what leaves the
 * device waits:
 *  - copy_out and read fill host memory by the time that a mark, taken after them, is done.
 *  - A failure that depends on values becomes known then too (`failed`). Until then the results
 *    are computed from whatever values there are: the engine uses no index that is out of range.
 *  - Lack of memory for a call itself is known at once: `done` then returns -1.
 * When submit or `fused` has returned, the caller may change what the Call or the Fusion points to,
 * except the elements of tensors: an ordered engine keeps no other pointer.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_ENGINE_H
#define GT_WORKER_ENGINE_ENGINE_H
#include "runtime/inst/inst.h"

typedef struct View {
    TensorType type;
    int64_t stride[MAX_DIMS]; /* in elements; 0 along expanded axes */
    void *data;               /* first element: in device memory; in host memory if is_scalar */
    bool is_scalar;           /* an immediate: rank 0, one value of type.dtype, inside the Call */
    /* If the operand is a part of a tensor: along part_axis the tensor has whole_size rows, and the
     * operand begins at row part_begin. whole_size 0: it is whole. Only errors that report a
     * position use these. */
    uint8_t part_axis;
    int64_t part_begin, whole_size;
} View;

/* One operation on whole tensors. `inst` holds op and attributes; it and the views are borrowed
 * until the ticket is done. */
typedef struct Call {
    const Inst *inst;
    int n_in, n_out;
    View *in;
    View out[MAX_OUT];
} Call;

typedef uint64_t Ticket; /* increasing, and so are marks; 0: nothing to wait for */

typedef struct EngineConfig {
    uint64_t memory_bytes;
    int threads;
    bool is_shared; /* the arena is a memfd, which other processes can map */
    /* Of an engine of devices: the worker's device, counted on from the first after the last, and
     * how many workers there are on this host, which share the devices' memory (0 means 1). */
    int device, workers;
    bool is_exact; /* there must be so many devices: it does not count on */
} EngineConfig;

/* What an engine for a device computes on, and with: words for people, and what a proof of it is
 * compared by (worker/prove). */
typedef struct EngineDevice {
    char name[96];                /* "NVIDIA H100 80GB HBM3" */
    char capability[16];          /* "9.0" */
    char driver[64], toolkit[64]; /* "CUDA 13.0, 580.65.06", "NVRTC 13.0" */
    uint64_t memory_bytes;
} EngineDevice;

/* By what another process of this user on this machine finds an engine's device memory: a handle
 * of the driver's, and the lease, a file behind /proc/PID/fd/FD with that inode, which belongs to
 * the user and is locked (shared) as long as the memory is open. */
typedef struct EngineHandle {
    uint64_t driver[8], inode;
    uint32_t pid;
    int32_t fd; /* -1: nobody can open it */
} EngineHandle;

enum { ENGINE_SCRATCH = 1 << 20 };

struct Fusion;
struct FusedKernel;
struct Maker;
typedef struct Engine Engine;
struct EngineGraph;
typedef struct EngineOps {
    const char *name; /* "reference", "cpu", "null", "late", "cuda" */
    bool is_ordered;
    bool is_device; /* its memory is a device's; memory_bytes 0: open takes this worker's share */
    Engine *(*open)(const EngineConfig *config, Err *err);
    void (*close)(Engine **e); /* all tickets must be done */
    /* Optional: describes the device that `open` would use, without opening it. False: there is
     * none, or what it needs is missing; err says what. */
    bool (*identify)(const EngineConfig *config, EngineDevice *out, Err *err);
    /* The class within which results have the same bits: "cpu-v4". */
    const char *(*isa)(const Engine *e);
    /* Device memory, 64-byte aligned. alloc returns NULL when it is full; free takes effect when
     * all calls submitted before it are done (with an ordered engine: at once). size 0 is valid. */
    void *(*alloc)(Engine *e, uint64_t bytes);
    void (*free)(Engine *e, void *p, uint64_t bytes);
    void (*memory)(const Engine *e, uint64_t *used, uint64_t *peak, uint64_t *total);
    /* Optional: true if allocations of so many bytes in all will succeed, in whatever sizes. NULL:
     * alloc decides, for one piece. */
    bool (*has_room)(const Engine *e, uint64_t bytes);
    /* Optional: returns free memory to the system; it can still be allocated. */
    void (*trim)(Engine *e);
    /* All memory from alloc is in [base, base + bytes) as long as the engine is open. fd: the file
     * behind it, which other processes can map; -1: none. With an ordered engine nobody may read
     * it. */
    void (*arena)(const Engine *e, void **base, uint64_t *bytes, int *fd);
    /* For ordered engines: memory of ENGINE_SCRATCH bytes beside the arena, for exec's own sums. */
    void *(*scratch)(const Engine *e);
    /* Starts a call once the tickets in after[] are done; returns its ticket. Failures that depend
     * on data (an index out of range) are reported by `done`. */
    Ticket (*submit)(Engine *e, const Call *call, const Ticket *after, int n_after);
    /* Returns 1: done, 0: not yet, -1: done and failed (err is set; reported once). wait: blocks
     * until it is not 0. An ordered engine never returns 0 for a call: nobody can see that it is
     * not done. For a mark it may return 0 after waiting for about a millisecond. */
    int (*done)(Engine *e, Ticket t, bool wait, Err *err);
    /* For ordered engines. A mark is done when all that was asked for before it is. */
    Ticket (*mark)(Engine *e);
    /* For ordered engines. Returns the next failure that depends on values and is known: its call's
     * ticket; of a fusion, Engine.last after `fused`, and the node that failed. False: there is
     * none. Once a mark is done, all earlier failures are known. */
    bool (*failed)(Engine *e, Ticket *t, int *node, Err *err);
    /* Ordered with the calls; host may be reused on return. */
    void (*copy_in)(Engine *e, void *device, const void *host, uint64_t bytes);
    /* Writes row-major elements. All calls on v must be done; with an ordered engine, host is
     * written when a later mark is done, and must stay until then. */
    void (*copy_out)(Engine *e, void *host, const View *v);
    /* Copies between views of one shape and dtype that do not overlap, of any strides. */
    void (*copy)(Engine *e, const View *to, const View *from);
    /* Copies bytes [begin, begin + bytes) of the elements of `box` in row-major order, which are
     * whole elements, to host (read: as copy_out) or from it (write: as copy_in). */
    void (*read)(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host);
    void (*write)(Engine *e, const View *box, uint64_t begin, uint64_t bytes, const void *host);
    /* Optional: runs the kernel of a fusion (fuse.h, with its outputs filled in) to its end.
     * Returns false, with nothing done, if there is no memory for it. An ordered engine needs k
     * until a later mark is done. */
    bool (*fused)(Engine *e, struct Fusion *f, const struct FusedKernel *k);
    /* Optional: runs a matmul and the fusion that reads its result (of the fusion's shape,
     * row-major), if possible tile by tile while the tile is in the cache. An output may share the
     * memory of the matmul's result if the kernel may overwrite it. Returns false if it failed;
     * parts of both may then have run, and running them again is safe. */
    bool (*fused_product)(Engine *e, const Call *product, struct Fusion *f,
                          const struct FusedKernel *k);
    /* Optional, for ordered engines. From capture_begin to capture_end `submit` and `fused` record
     * what they are asked to do, and nothing is executed. temps: device memory of so many bytes for
     * what the calls need beside their operands. capture_end returns a graph, which `launch`
     * executes in the order of all calls, any number of times, while that memory is free for it; or
     * returns false, with nothing done, if the device has no memory for it then.
     * capture_begin with a graph brings it up to date: the same calls are recorded again, with
     * other addresses and scalars, and capture_end returns it. Launches before that are as they
     * were. capture_end returns NULL if some call cannot be recorded, the graph does not fit the
     * calls or the device has no memory for it, and sets *bytes to 0; or if temps was too small,
     * and sets *bytes to what is needed. The graph then still belongs to the caller. */
    void (*capture_begin)(Engine *e, struct EngineGraph *g, void *temps, uint64_t bytes);
    struct EngineGraph *(*capture_end)(Engine *e, uint64_t *bytes);
    bool (*launch)(Engine *e, struct EngineGraph *g);
    void (*graph_free)(Engine *e, struct EngineGraph **g); /* it may still have to run */
    /* The compiler of its kernels for fusions (maker.h); NULL: the C compiler. */
    const struct Maker *maker;
    /* hash_elements (runtime/inst/hash.h) of adjacent elements in device memory. All calls that
     * write them must be done. Engines without values have none. */
    uint64_t (*hash)(Engine *e, const void *data, int64_t n, int size, uint64_t first,
                     uint16_t sample);
    /* Optional: appends KEY=VALUE lines about the device: its name, and what is known about its
     * memory, temperature and load. */
    void (*about)(const Engine *e, Bytes *out);
    /* Optional, for ordered engines. reach: returns where `copy` and calls may now read the arena
     * of another engine: that of this process at [base, base + bytes), or, if handle is not NULL,
     * of the other process that lent it so, which has at least so many bytes. NULL: they may not.
     * It stays until leave, which waits for all reads, or until this engine is closed. Its owner
     * may know that something was read once a later mark of the reader is done; and what was done
     * before a mark of the owner's may be read once that is. */
    const void *(*reach)(Engine *e, const void *base, uint64_t bytes, const EngineHandle *handle);
    void (*leave)(Engine *e, const void *at); /* at: from reach */
    /* Optional, with reach: writes the handle by which other processes reach the arena. False: they
     * cannot. */
    bool (*lend)(Engine *e, EngineHandle *out);
    /* Optional: true once the device is lost; err, if not NULL, says why. From then on nothing is
     * computed, all marks are done, and what was read from the device may be garbage: nobody may
     * see it. */
    bool (*lost)(const Engine *e, Err *err);
    /* Optional, for engines that compute or compile inside submit. During a call the submitting
     * thread calls is_cancelled every few ms. Once it returns true, or after cancel(e, true), the
     * current call and all later ones end early until cancel(e, false): calls fail with
     * ERR_CANCELLED, `fused` returns false. Their results are undefined. Without `cancel` only the
     * current call ends. */
    void (*set_cancel)(Engine *e, bool (*is_cancelled)(void *ctx), void *ctx);
    void (*cancel)(Engine *e, bool is_cancelled);
} EngineOps;
typedef struct EngineGraph EngineGraph; /* calls that an engine does at once: see capture_begin */
struct Engine {
    const EngineOps *ops;
    Ticket last; /* of the newest call or fusion of an ordered engine */
};

extern const EngineOps engine_reference, engine_cpu, engine_null, engine_late, engine_cuda;
/* Finds "cpu", "reference", "null", "late" or "cuda"; numpy means reference, pytorch means cpu.
 * NULL: unknown. */
const EngineOps *engine_find(const char *name);

/* Writes the row-major strides of t, in elements. */
void view_strides(const TensorType *t, int64_t *stride);
/* A row-major tensor. */
View view_dense(const TensorType *t, void *data);
bool view_is_contiguous(const View *v);
/* The first index of a call that is out of range. shape: the common shape of the indices, to which
 * idx broadcasts; at: the element in it. axis, size: of x. from_zero: a negative index does not
 * count from the end. is_along: idx has x's axes (gather). index_is_bad fills err with value,
 * position in the whole idx, axis and size, and returns false. */
typedef struct BadIndex {
    const View *idx;
    const TensorType *shape;
    int64_t at, value, size;
    int axis;
    bool from_zero, is_along;
} BadIndex;
bool index_is_bad(const BadIndex *b, Err *err);
#endif
