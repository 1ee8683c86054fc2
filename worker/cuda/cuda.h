/* cuda.h: the engine `cuda`, inside. A device, a stream, an arena: calls take effect in the
 * order of submission, so memory that is freed can be handed out again at once.
 *
 * The device's memory is one allocation. mem.c manages a sparse reservation of the host of the same
 * size, of which only the heads of blocks are ever touched; a device address is that address, moved
 * to the device's base. Pointers in views are device addresses.
 *
 * Requests (calls, copies) have even tickets, marks odd ones. A mark is an event behind all
 * requests before it.
 *
 * A call becomes kernels (kernel.c) of a fusion with one node (op.c), or of CUDA C written by hand.
 * A failure of the device ends up in `lost`: later calls do nothing and report it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CUDA_CUDA_H
#define GT_WORKER_CUDA_CUDA_H
#include "runtime/base/map.h"
#include "worker/cuda/fail.h"
#include "worker/cuda/libs.h"
#include "worker/emit/emit_cuda.h"
#include "worker/engine/host.h"
#include "worker/engine/maker.h"
#include "worker/jit/jit_cache.h"

enum {
    CUDA_THREADS = 256,    /* of a block, where a kernel does not say otherwise */
    RING_BYTES = 8 << 20,  /* pinned memory, through which copies to and from the host go */
    BLAS_BYTES = 32 << 20, /* cuBLASLt's workspace, if that is used */
    SIDE_BYTES = 1 << 20,  /* device memory beside the arena, for copies of strided views */
    FAIL_SLOTS = 128,
    FAIL_RECORDS = FAIL_SLOTS * (int)sizeof(IndexRecord), /* fail.c */
    READS_MAX = 256,
    MARKS = 64
};

/* A copy to the host that is under way. */
typedef struct Read {
    char *host;
    const char *pinned;
    uint64_t bytes;
    Ticket request;
} Read;
typedef struct Mark {
    Ticket ticket;
    CUevent event;
} Mark;

typedef struct Failures Failures;
typedef struct CudaBlas CudaBlas;
typedef struct ProductArgs ProductArgs;
typedef struct CudaArena CudaArena;
typedef struct Capture Capture;
typedef struct Helper Helper;
typedef struct Cuda {
    HostEngine host; /* memory: the reservation; tickets of calls that failed */
    const CudaLibs *libs;
    CUdevice device;
    int n_devices;
    bool has_share; /* cuda_share counts it */
    CUcontext context;
    CUstream stream;
    CUdeviceptr base;
    char *shadow; /* the reservation */
    uint64_t total;
    CudaArena *arena, *reached[MAX_WORKERS]; /* its own, and those of others that it may read */
    int n_reached;
    int capability, arch; /* 10 * major + minor: the device's, and what kernels are compiled for */
    int processors;       /* SMs */
    bool is_ptx;          /* the driver assembles: NVRTC does not know the device */
    char isa[64], name[96];
    char *side, *scratch; /* behind the arena */
    Capture *capture;     /* graph.c: what is being recorded; NULL: calls are executed */
    char *ring;
    uint64_t ring_at;
    Read read[READS_MAX]; /* in order */
    int n_reads;
    Ticket requests;  /* so far; tickets of requests are even, marks are odd */
    Mark mark[MARKS]; /* a ring; by ticket / 2, so that a mark is found */
    Ticket passed;    /* the newest mark known to be done */
    Ticket refused;   /* of a call that failed when it was submitted; 0: none */
    Err why;          /* ... and its reason */
    Map kernels;      /* of single operations, by the hash of a signature or a name, chained */
    Cache cache;      /* on disk: image.c */
    bool has_cache, has_logged_save;
    uint64_t environment[2]; /* what images depend on besides their source */
    MakerStats made;         /* of `kernels` */
    Err lost;                /* code 0: it works */
    Failures *failures;
    CudaBlas *blas;  /* NULL: no product has asked for it */
    int blas_forced; /* blas.c: what GT_CUDA_BLAS says */
    bool has_blas_failed;
    bool (*is_cancelled)(void *ctx); /* engine.h, set_cancel; NULL: the worker does not poll */
    void *cancel_ctx;
    Helper *left;  /* aside.c: work that a cancel has left and that still runs */
    Engine *inner; /* hosted.c: the engine cpu; NULL: not needed yet */
    int threads;   /* ... and its threads */
} Cuda;

/* Makes the device current in this thread. False: it is lost. */
bool cuda_enter(Cuda *c);
void cuda_lose(Cuda *c, const Err *err); /* unless it is lost already */
/* Records that a call of the driver failed, if it is the first. Returns code == CUDA_SUCCESS. */
bool cuda_try(Cuda *c, CUresult code, const char *call);
#define CALL(c, call, ...) cuda_try(c, (c)->libs->call(__VA_ARGS__), #call)

/* ---- image.c ---- */

/* What NVRTC makes of a source, or the disk cache has. */
typedef struct CudaImage {
    char key[MAKER_KEY];
    bool is_compiled;         /* else it was in the cache */
    int64_t begin_ns, end_ns; /* is_compiled: when */
    Bytes data;               /* PTX, or a cubin */
    uint64_t bytes;           /* its size, also when `data` is gone */
} CudaImage;
void cuda_open_images(Cuda *c); /* finds the cache; without one images are compiled each time */
/* source: what follows emit_cuda_head; it names its kernels FUSED(run), ..., which becomes kKEY_run
 * and so on. False: err says why; else the caller frees image->data. */
bool cuda_image(Cuda *c, const Bytes *source, CudaImage *image, Err *err);
/* Removes an image from the cache. False: it did not come from there, or cannot be removed. */
bool cuda_forget_image(Cuda *c, const CudaImage *image);

/* ---- aside.c ---- */

typedef struct Aside Aside;
struct Aside {
    void (*run)(Aside *work);  /* in any thread; a later work has another one */
    void (*drop)(Aside *work); /* frees it and its result */
};
/* Runs work, and calls is_cancelled every few ms until it has ended. False, with ERR_CANCELLED:
 * is_cancelled returned true; `work` is dropped when it has ended. */
bool cuda_aside(Cuda *c, Aside *work, Err *err);
void cuda_end_aside(Cuda *c); /* waits for the end of what a cancel has left */

/* ---- device.c ---- */

/* The device of config, counted on from the first after the last unless it is exact, and how many
 * there are. */
bool cuda_find_device(const CudaLibs *l, const EngineConfig *config, int *n, CUdevice *device,
                      Err *err);
/* Opens it, its context and stream. cuda_close_device undoes what there is of it. */
bool cuda_open_device(Cuda *c, const EngineConfig *config, Err *err);
void cuda_close_device(Cuda *c);
/* Bytes of device memory that an engine takes beside its arena. */
uint64_t cuda_beside(void);
/* This worker's share of 80 % of the memory that the device has free; less if the rest of its share
 * is not enough for what it takes beside. */
bool cuda_share(Cuda *c, const EngineConfig *config, uint64_t *bytes, Err *err);
void cuda_about(const Engine *e, Bytes *out); /* see EngineOps */

/* ---- peer.c ---- */

void cuda_lend(Cuda *c);         /* others may read the arena: c->base, which it owns from now on */
void cuda_close_arenas(Cuda *c); /* the stream must be idle */
/* See EngineOps. */
const void *cuda_reach(Engine *e, const void *base, uint64_t bytes, const EngineHandle *handle);
void cuda_leave(Engine *e, const void *at);
bool cuda_lend_handle(Engine *e, EngineHandle *out);

/* ---- kernel.c ---- */

typedef struct CudaKernel {
    FusedKernel fused; /* first; of its functions none is set */
    CUmodule module;
    CUfunction run, finish, total; /* finish, total NULL: there is none */
    CudaForm form;
    int block;    /* elements of a block of a reduction */
    size_t bytes; /* of the signature or name that follows */
    struct CudaKernel *next;
    unsigned char key[];
} CudaKernel;
/* Returns the kernels of a fusion, compiled when first wanted. block: elements of the blocks of its
 * reductions along rows, FUSED_BLOCK or FUSED_LEAF. NULL: err says why. */
const CudaKernel *cuda_kernel(Cuda *c, const Fusion *f, int block, Err *err);
/* The kernel `run` of the source head + body, by its name, which must tell it from all others; and,
 * as `finish`, the kernel `second`, unless that is NULL. Frees head. */
const CudaKernel *cuda_written(Cuda *c, const char *name, Bytes *head, const char *body,
                               const char *second, Err *err);
void cuda_free_kernels(Cuda *c);
typedef struct CudaGrid {
    unsigned blocks, x, y; /* x * y threads to a block */
    unsigned shared;       /* bytes of a block, beside those that the kernel declares */
} CudaGrid;
/* Launches a kernel whose one parameter is *args (of so many bytes), which is copied; or records
 * it. False: the device is lost. */
bool cuda_start(Cuda *c, CUfunction f, const CudaGrid *grid, const void *args, size_t bytes);
/* Launches `blocks` thread blocks of `threads`, or fewer: kernels go on in steps of the grid. */
bool cuda_launch_sized(Cuda *c, CUfunction f, int64_t blocks, int threads, const void *args,
                       size_t bytes);
#define cuda_launch_blocks(c, f, blocks, threads, args)                                            \
    cuda_launch_sized(c, f, blocks, threads, args, sizeof *(args))
/* The same for a number of independent units of work, CUDA_THREADS to a block. */
#define cuda_launch(c, f, units, args)                                                             \
    cuda_launch_blocks(c, f, ((units) + CUDA_THREADS - 1) / CUDA_THREADS, CUDA_THREADS, args)
bool cuda_launch_rows(Cuda *c, const CudaKernel *k, FusedArgs *args);
/* True if it keeps the rows in shared memory: args->table is not used. */
bool cuda_holds_rows(const CudaKernel *k, const FusedArgs *args);

extern const Maker cuda_maker;

/* ---- graph.c: see EngineOps ---- */

void cuda_capture_begin(Engine *e, EngineGraph *g, void *temps, uint64_t bytes);
EngineGraph *cuda_capture_end(Engine *e, uint64_t *bytes);
void cuda_graph_launch(Engine *e, EngineGraph *g);
void cuda_graph_free(Engine *e, EngineGraph **g);
/* While calls are recorded: */
void *cuda_capture_alloc(Cuda *c, uint64_t bytes);
void cuda_capture_free(Cuda *c, void *p, uint64_t bytes);
/* True if calls are recorded, which then cannot be: the caller must not go on. */
bool cuda_is_captured(Cuda *c);
void cuda_capture_fail(Cuda *c);
/* A launch: see cuda_start. */
void cuda_capture_kernel(Cuda *c, CUfunction f, const CudaGrid *grid, const void *args,
                         size_t bytes);

/* ---- op.c ---- */

/* Runs the kernel of a fusion whose outputs are filled in. False: err says why. */
bool cuda_run_fusion(Cuda *c, Fusion *f, const CudaKernel *k, Err *err);
bool cuda_fused(Engine *e, Fusion *f, const FusedKernel *k); /* see EngineOps */
bool cuda_run(Cuda *c, const Call *call, Err *err);
/* For a row that has no code for halves: runs it with float32 operands, and rounds its results. */
bool cuda_widened(Cuda *c, const Call *call, bool (*row)(Cuda *, const Call *, Err *), Err *err);

/* ---- fail.c ---- */

/* The index operands of a call: BadIndex says what the fields mean. */
typedef struct Indices {
    int n, axis;
    View idx[MAX_DIMS];
    int64_t size[MAX_DIMS];
    TensorType common;
    bool from_zero, is_along;
} Indices;
/* records: FAIL_RECORDS bytes of device memory, which fail.c owns from now on. */
bool cuda_open_failures(Cuda *c, char *records);
void cuda_close_failures(Cuda *c);
/* A batch of matrices (n, n) that a call factorizes or solves with. at of a record: matrix * n +
 * pivot; of SOLVE 0 if a permutation is none, else one more. */
typedef struct Matrices {
    Op op;
    TensorType batch;
    int64_t n;
} Matrices;
/* Return a record for the newest call; *of is copied. NULL: the device is lost. */
IndexRecord *cuda_take_slot(Cuda *c, const Indices *of);
IndexRecord *cuda_take_matrix_slot(Cuda *c, const Matrices *of);
/* The same for all nodes of a fusion that may fail: fills f->args.bad. */
bool cuda_take_fused_slots(Cuda *c, Fusion *f);
void cuda_fail(Cuda *c, Ticket ticket, const Err *err);      /* the call has failed */
void cuda_mark_failures(Cuda *c, int mark);                  /* before that mark of the ring */
void cuda_pass_failures(Cuda *c, Ticket mark);               /* the mark is done */
bool cuda_failed(Engine *e, Ticket *t, int *node, Err *err); /* see EngineOps */

/* ---- hosted.c, index.c ---- */

bool cuda_hosted(Cuda *c, const Call *call, Err *err);
bool cuda_index(Cuda *c, const Call *call, Err *err); /* index, gather */
bool cuda_index_put(Cuda *c, const Call *call, Err *err);
bool cuda_scatter(Cuda *c, const Call *call, Err *err); /* scatter_add, scatter_reduce */

/* ---- line.c ---- */

bool cuda_best(Cuda *c, const Call *call, Err *err); /* argmax, argmin */
bool cuda_scan(Cuda *c, const Call *call, Err *err); /* cumsum, recurrence, cummax */
bool cuda_search(Cuda *c, const Call *call, Err *err);
bool cuda_sort(Cuda *c, const Call *call, Err *err); /* sort, argsort, topk */

/* ---- window.c ---- */

bool cuda_pool(Cuda *c, const Call *call, Err *err); /* max_pool, avg_pool, avg_pool_dx */

/* ---- linalg.c ---- */

bool cuda_cholesky(Cuda *c, const Call *call, Err *err);
bool cuda_lu(Cuda *c, const Call *call, Err *err);
bool cuda_solve(Cuda *c, const Call *call, Err *err);
bool cuda_solve_triangular(Cuda *c, const Call *call, Err *err);

/* ---- factor.c ---- */

bool cuda_factor(Cuda *c, const Call *call, Err *err); /* qr, eigh, svd */

/* ---- source.c ---- */

bool cuda_source(Cuda *c, const Call *call, Err *err);

/* ---- conv.c ---- */

bool cuda_conv(Cuda *c, const Call *call, Err *err); /* conv, conv_dx, conv_dw; halves too */

/* ---- blas.c ---- */

/* True if the environment's GT_CUDA_BLAS asks for cuBLASLt: is 1 or tf32. */
bool cuda_wants_blas(void);
/* Writes the library's version and the setting, such as "cublas13.2-tf32", or "" unless the
 * environment asks for it. False: the setting is none, or the library is not there; err says which.
 */
enum { CUDA_BLAS_NAME = 32 };
bool cuda_blas_name(char *name, size_t size, Err *err);
/* If so, opens cuBLASLt with BLAS_BYTES of device memory, and adds its version to the isa. False:
 * err says why. */
bool cuda_open_blas(Cuda *c, char *workspace, Err *err);
void cuda_close_blas(Cuda *c);
/* Appends blas=NAME VERSION to what cuda_about says, once the library is open. */
void cuda_about_blas(const Cuda *c, Bytes *out);
/* Multiplies by cuBLASLt. Returns 1; 0 if inst does not allow it, it is not there or does not take
 * this product, which the own kernels compute then; -1 with err set, or while calls are recorded.
 */
int cuda_blas_product(Cuda *c, const Inst *inst, const ProductArgs *p, DType from, DType to,
                      Err *err);

/* ---- product.c ---- */

bool cuda_product(Cuda *c, const Call *call, Err *err);
/* out -= a @ b, of float32 or float64, by the own kernels; p: all but how it is cut. */
bool cuda_subtract_product(Cuda *c, ProductArgs *p, DType d, Err *err);
/* Writes what tile.h needs to know of dtypes, of operands and result. Returns that of the sums. */
DType cuda_put_types(Bytes *out, DType from, DType to);

/* ---- identify.c: see EngineOps ---- */

bool cuda_identify(const EngineConfig *config, EngineDevice *out, Err *err);

/* ---- copy.c: see EngineOps ---- */

bool cuda_copy(Cuda *c, const View *to, const View *from, Err *err);
/* Sets device memory to 0. False: the device is lost, or calls are recorded, which then cannot be.
 */
bool cuda_clear(Cuda *c, void *at, uint64_t bytes);
bool cuda_cat(Cuda *c, const Call *call, Err *err);
bool cuda_slice_put(Cuda *c, const Call *call, Err *err);
bool cuda_settle(Cuda *c); /* waits until the device has done everything */
/* The device has done all that lies before the mark. */
void cuda_passed(Cuda *c, Ticket mark);
void cuda_copy_in(Engine *e, void *device, const void *host, uint64_t bytes);
void cuda_copy_out(Engine *e, void *host, const View *v);
void cuda_copy_views(Engine *e, const View *to, const View *from);
void cuda_read(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host);
void cuda_write(Engine *e, const View *box, uint64_t begin, uint64_t bytes, const void *host);
uint64_t cuda_hash(Engine *e, const void *data, int64_t n, int size, uint64_t first,
                   uint16_t sample);

/* The text of the files NAME.cu, with what they include. */
extern const char cuda_blocked_cu[], cuda_conv_cu[], cuda_copy_cu[], cuda_factor_cu[],
    cuda_index_cu[], cuda_product_cu[], cuda_scan_cu[], cuda_sort_cu[], cuda_source_cu[],
    cuda_thin_cu[], cuda_window_cu[];
#endif
