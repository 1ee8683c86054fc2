/* cpu.h: shared by the files of the engine `cpu`. cpu.c owns the struct and dispatches calls. Each
 * other cpu_*.c executes one class of ops: it splits large calls into parts of fixed boundaries
 * over the pool (worker/engine/pool.h) and leaves the inner loops to a table of kernels
 * (worker/kernel/kernels.h). No result may depend on the number of threads.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_CPU_CPU_H
#define GT_WORKER_CPU_CPU_H
#include "worker/engine/host.h"
#include "worker/kernel/kernels.h"
#include "worker/engine/pool.h"

enum {
    CPU_PART = 32 * 1024, /* elements of one part: an easy kernel takes 10 us for them */
    CPU_CHUNK = 1024,     /* elements of a strided operand that are gathered at a time */
    CPU_OPERANDS = 4,     /* operands of a Loop, including the output */
    CPU_SIDES = 8         /* temporary allocations of a call */
};

typedef struct Cpu {
    HostEngine host;
    Pool *pool;
    const Kernels *kernels;
    struct Dnnl *dnnl; /* loaded by the first convolution; NULL: not yet, or not installed */
    bool has_tried_dnnl;
    struct Side {
        void *data;
        uint64_t bytes;
    } side[CPU_SIDES]; /* of the running call */
    int n_sides;
    uint64_t cache_bytes; /* of the last-level cache */
    char isa[16];
} Cpu;

/* A loop over a shape with one stride per axis and operand, axes merged where all operands allow
 * it. Axis 0 is the outermost; rank 0 is one element. */
typedef struct Loop {
    int rank;
    int64_t n; /* elements */
    int64_t shape[MAX_DIMS];
    int64_t stride[CPU_OPERANDS][MAX_DIMS];
} Loop;

/* cpu_loop.c: operands broadcast to the shape; axes of extent 1 are dropped. */
void loop_init(Loop *l, const TensorType *shape, const View *const *operand, int n_operands);
/* Returns the offset, in elements, of row-major index i of the loop's axes, for one operand. */
int64_t loop_offset(const Loop *l, int operand, int64_t i);
/* A walk over the rows (all axes but the innermost) of a loop: the offset of row `row` in each
 * operand. */
typedef struct Walk {
    int64_t index[MAX_DIMS], offset[CPU_OPERANDS];
} Walk;
void walk_init(Walk *w, const Loop *l, int n_operands, int64_t row);
void walk_next(Walk *w, const Loop *l, int n_operands);
/* Copies elements [begin, end), in the loop's row-major order, of operand `operand` (at base) to
 * `to`. */
void loop_gather(const Loop *l, int operand, const void *base, int size, int64_t begin, int64_t end,
                 void *to);
/* to[i] = from[i * stride], elements of `size` 1, 2, 4 or 8 bytes. */
void copy_strided(void *to, const void *from, int64_t stride, int64_t n, int size);
/* to[i * stride] = from[i]. */
void copy_scattered(void *to, int64_t stride, const void *from, int64_t n, int size);
/* to[i * out + j] = from[j * in + i], i < rows, j < columns. */
void copy_transposed(void *to, int64_t out, const void *from, int64_t in, int64_t rows,
                     int64_t columns, int size);
void copy_filled(void *to, const void *value, int64_t n, int size);

/* Calls fn(ctx, begin, end, thread) over [0, n) in ranges of `part`, on the pool when there are
 * several. */
typedef void (*RangeFn)(void *ctx, int64_t begin, int64_t end, int thread);
void cpu_ranges(Cpu *c, int64_t n, int64_t part, RangeFn fn, void *ctx);
/* Returns the items per part for work of `cost` units per item: about CPU_PART units. */
int64_t cpu_part(int64_t cost);

void cpu_map(Cpu *c, const Call *call);
/* Converts `from`, of any dtype and strides, into `to`, which is row-major and has the same
 * shape. */
void cpu_cast_view(Cpu *c, const View *from, const View *to);

/* cpu_half.c: a kernel whose operands or result may be halves: they are widened to float32 before
 * it and narrowed after it. half_map_init: fn computes in the operands' dtypes, F32 for halves;
 * half_map_cast: converts. */
typedef struct HalfMap {
    MapFn fn, widen[3], narrow;
    int n_in, size[3], out_size;
    bool has_half;
} HalfMap;
void half_map_init(HalfMap *h, const Kernels *k, MapFn fn, const DType *in, int n_in, DType out);
void half_map_cast(HalfMap *h, const Kernels *k, DType from, DType to);
void half_map_chunks(const HalfMap *h, int64_t n, void *out, const void *const *in,
                     unsigned scalars);
static inline void half_map(const HalfMap *h, int64_t n, void *out, const void *const *in,
                            unsigned scalars) {
    if (h->has_half)
        half_map_chunks(h, n, out, in, scalars);
    else
        h->fn(n, out, in, scalars);
}
/* n adjacent elements; the dtypes differ. */
void cpu_cast(const Kernels *k, int64_t n, void *to, DType to_dtype, const void *from,
              DType from_dtype);
/* Calls a KERNEL row that has no code for halves with float32 operands, and rounds its results. */
bool cpu_widened(Cpu *c, const Call *call, bool (*row)(Cpu *, const Call *, Err *), Err *err);
bool call_has_half(const Call *call);
/* Returns memory until the end of the call. It comes from the arena, so that temporary memory is
 * limited like results (a view may be far larger than the memory it shows). NULL: none is left, and
 * err says so. Do not call it inside the pool. */
void *cpu_side(Cpu *c, const Call *call, int64_t bytes, Err *err);
void cpu_free_sides(Cpu *c); /* at the end of the call */

/* cpu_sort.c: maps an element to an unsigned number of the same order, nan above everything; and
 * nan's key. */
uint64_t cpu_key(DType d, const void *p);
uint64_t cpu_key_nan(DType d);

/* cpu_fused.c: EngineOps.fused and EngineOps.fused_product */
bool cpu_fused(Engine *e, struct Fusion *f, const struct FusedKernel *k);
bool cpu_fused_product(Engine *e, const Call *product, struct Fusion *f,
                       const struct FusedKernel *k);
/* cpu_hash.c: EngineOps.hash */
uint64_t cpu_hash(Engine *e, const void *data, int64_t n, int size, uint64_t first,
                  uint16_t sample);
bool cpu_reduce(Cpu *c, const Call *call, Err *err);
void cpu_source(Cpu *c, const Call *call);
/* Writes a row-major copy of a view. parallel: the caller must not be inside the pool. */
void cpu_copy(Cpu *c, const View *from, void *to);
/* One per KERNEL row. Fails if an index is out of range or temporary memory is lacking. */
#define KERNEL(id, ...) bool cpu_##id(Cpu *c, const Call *call, Err *err);
#include "runtime/inst/ops.def"

/* cpu_matmul.c: a matrix product; fn (or NULL) is called for ranges of its elements, whole rows, as
 * soon as they are computed. was_called: fn was called for all of them; else for none. Returns
 * false if memory is lacking. */
bool cpu_product(Cpu *c, const Call *call, RangeFn fn, void *ctx, bool *was_called, Err *err);

/* X(ID, suffix, type, accumulator, type of sums) for the dtypes that loops compute in: not for
 * bool, whose elements are uint8_t, and halves. */
#define CPU_DTYPES(X)                                                                              \
    X(U8, u8, uint8_t, uint64_t, int64_t)                                                          \
    X(I8, i8, int8_t, uint64_t, int64_t)                                                           \
    X(I32, i32, int32_t, uint64_t, int64_t)                                                        \
    X(I64, i64, int64_t, uint64_t, int64_t)                                                        \
    X(F32, f32, float, double, float)                                                              \
    X(F64, f64, double, double, double)

static inline int view_size(const View *v) { return dtype_info[v->type.dtype].size_bytes; }
static inline void *view_at(const View *v, int64_t element) {
    return (char *)v->data + element * view_size(v);
}
#endif
