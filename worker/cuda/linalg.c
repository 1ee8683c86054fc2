/* linalg.c: Cholesky, LU and linear systems: the steps of worker/engine/blocked.h are kernels, of
 * blocked.cu, and products (product.c). A step is one launch for all matrices of a batch. The order
 * of additions is that of the engine cpu, and so are the bits.
 *
 * Pivots that are no good are noted on the device (fail.c), and the steps go on with what there is.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/blocked.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/fail.h"
#include "worker/cuda/kernel.h"
#include "worker/cuda/op.h"
#include "worker/cuda/product.h"
#include "worker/cuda/texts.h"
#include "worker/cuda/product_args.h"
#include "worker/engine/blocked.h"
#include "worker/engine/view.h"
#include <stdio.h>

/* The matrices of a call, as Block.of says. */
enum { IN_RESULT, IN_TRIANGLE };
typedef struct Work {
    Blocked blocked; /* first */
    Cuda *c;
    DType dtype;
    BlockedArgs args; /* of all steps: the batch */
    const View *result;
    int64_t n; /* the order of the matrices */
    bool *ok;  /* false: a step could not be launched; err says why */
    Err *err;
} Work;

/* True if no step is to follow. */
static bool has_failed(const Blocked *b) { return !*((const Work *)b)->ok; }

static const CudaKernel *kernel_of(const Work *w, int step) {
    char name[32];
    Bytes head = {0};
    snprintf(name, sizeof name, "blocked %d %d", step, w->dtype);
    bytes_printf(&head, "typedef %s T;\n#define STEP %d\n#define ROOT(x) %s(x)\n",
                 emit_ctype(w->dtype), step, w->dtype == DT_F64 ? "sqrt" : "sqrtf");
    return cuda_written(w->c, name, &head, cuda_blocked_cu, NULL, w->err);
}
static void launch(const Work *w, int step, int64_t units, const BlockedArgs *args) {
    const CudaKernel *k = *w->ok ? kernel_of(w, step) : NULL;
    *w->ok = k && cuda_launch(w->c, k->run, units, args);
}
static void launch_blocks(const Work *w, int step, int64_t blocks, int threads,
                          const BlockedArgs *args) {
    const CudaKernel *k = *w->ok ? kernel_of(w, step) : NULL;
    *w->ok = k && cuda_launch_blocks(w->c, k->run, blocks, threads, args);
}

static void update(const Blocked *b, int64_t M, int64_t N, int64_t K, Block A, Block B, Block C) {
    const Work *w = (const Work *)b;
    const BlockedArgs *args = &w->args;
    ProductArgs p = {.a = A.at, .b = B.at, .out = C.at, .M = M, .N = N, .K = K};
    p.a_m = A.row, p.a_k = A.col, p.b_k = B.row, p.b_n = B.col;
    p.out_m = C.row, p.out_n = C.col, p.out_batch = args->a_batch;
    p.batch = args->count, p.rank = args->rank;
    int64_t inner = args->a_batch;
    for (int d = (int)p.rank - 1; d >= 0; inner *= args->shape[d--]) {
        p.shape[d] = args->shape[d];
        p.a_batch[d] = A.of == IN_TRIANGLE ? args->t_batch[d] : inner;
        p.b_batch[d] = B.of == IN_TRIANGLE ? args->t_batch[d] : inner;
    }
    *w->ok = *w->ok && cuda_subtract_product(w->c, &p, w->dtype, w->err);
}

static void solve(const Work *w, int64_t n, const Triangle *T, Block X, int64_t k) {
    enum { COLUMNS = 64 }; /* as in blocked.cu */
    BlockedArgs args = w->args;
    args.a = X.at, args.a_row = X.row, args.a_col = X.col, args.n = n, args.k = k;
    args.t = T->block.at, args.t_row = T->block.row, args.t_col = T->block.col;
    args.upper = T->upper, args.unit = T->unit;
    int64_t inner = args.a_batch;
    for (int d = (int)args.rank - 1; d >= 0 && T->block.of == IN_RESULT; inner *= args.shape[d--])
        args.t_batch[d] = inner;
    launch_blocks(w, STEP_SOLVE, args.count * ((k + COLUMNS - 1) / COLUMNS), COLUMNS, &args);
}
static void solve_left(const Blocked *b, int64_t n, const Triangle *T, Block X, int64_t k) {
    solve((const Work *)b, n, T, X, k);
}
/* X T = Y is T.T X.T = Y.T */
static void solve_right(const Blocked *b, int64_t n, const Triangle *T, Block X, int64_t k) {
    Triangle turned = *T;
    Block turned_x = X;
    turned.upper = !T->upper;
    turned.block.row = T->block.col, turned.block.col = T->block.row;
    turned_x.row = X.col, turned_x.col = X.row;
    solve((const Work *)b, n, &turned, turned_x, k);
}

static int64_t cholesky(const Blocked *b, int64_t n, Block A) {
    const Work *w = (const Work *)b;
    BlockedArgs args = w->args;
    args.a = A.at, args.a_row = A.row, args.n = n;
    args.first = (A.at - (char *)w->result->data) / b->size / (w->n + 1), args.order = w->n;
    launch(w, STEP_CHOLESKY, args.count * 32, &args);
    return n;
}

static void eliminate(const Blocked *b, Block A, int64_t N, int64_t first, int64_t n) {
    const Work *w = (const Work *)b;
    BlockedArgs args = w->args;
    args.a = A.at, args.first = first, args.order = N, args.n = n;
    launch_blocks(w, STEP_ELIMINATE, args.count, CUDA_THREADS, &args);
}

static const BlockedSteps steps = {.is_cancelled = has_failed,
                                   .update = update,
                                   .solve_left = solve_left,
                                   .solve_right = solve_right,
                                   .cholesky = cholesky,
                                   .eliminate = eliminate};

/* ---- Calls ---- */

/* Fills strides along the axes of the batch, of v without its last `own` axes. */
static void batch_strides(const BlockedArgs *args, const View *v, int own, int64_t *to) {
    int lead = (int)args->rank - (v->type.rank - own);
    for (int d = 0; d < args->rank; d++)
        to[d] = d < lead || v->type.shape[d - lead] == 1 ? 0 : v->stride[d - lead];
}

static Work work_of(Cuda *c, const Call *call, bool *ok, Err *err) {
    const View *o = &call->out[0];
    int rank = o->type.rank, size = dtype_info[o->type.dtype].size_bytes;
    Work w = {.blocked = {&steps, size}, .c = c, .dtype = (DType)o->type.dtype};
    w.result = o, w.ok = ok, w.err = err;
    w.n = w.args.n = o->type.shape[rank - 2], w.args.k = o->type.shape[rank - 1];
    w.args.a = o->data;
    w.args.a_batch = w.args.n * w.args.k, w.args.rank = rank - 2, w.args.count = 1;
    for (int d = 0; d < rank - 2; d++) w.args.count *= w.args.shape[d] = o->type.shape[d];
    *ok = true;
    return w;
}
static TensorType batch_of(const View *o) {
    TensorType batch = o->type;
    batch.rank -= 2;
    return batch;
}
/* Some right sides, or matrices, in rows one after the other. */
static Block rows_of(const Work *w, void *at) { return (Block){at, w->args.k, 1, IN_RESULT}; }

static bool copy_to(Cuda *c, const View *from, const View *o, void *to, Err *err) {
    View v = *o, dense = view_dense(&o->type, to);
    int lead = o->type.rank - from->type.rank;
    for (int d = 0; d < o->type.rank; d++)
        v.stride[d] = d < lead || from->type.shape[d - lead] == 1 ? 0 : from->stride[d - lead];
    v.data = from->data;
    return cuda_copy(c, &dense, &v, err);
}

bool cuda_CHOLESKY(Cuda *c, const Call *call, Err *err) {
    const View *o = &call->out[0];
    bool ok;
    Work w = work_of(c, call, &ok, err);
    if (type_numel(&o->type) == 0) return true;
    const Matrices of = {OP_CHOLESKY, batch_of(o), w.n};
    if (!(w.args.record = cuda_take_matrix_slot(c, &of))) return false;
    if (!copy_to(c, &call->in[0], o, o->data, err)) return false;
    blocked_cholesky(&w.blocked, w.n, rows_of(&w, o->data));
    launch(&w, STEP_CLEAR, type_numel(&o->type), &w.args);
    return ok;
}

bool cuda_LU(Cuda *c, const Call *call, Err *err) {
    const View *o = &call->out[0];
    bool ok;
    Work w = work_of(c, call, &ok, err);
    if (type_numel(&o->type) == 0) return true;
    w.args.order_out = call->out[1].data;
    if (!copy_to(c, &call->in[0], o, o->data, err)) return false;
    launch(&w, STEP_COUNT, w.args.count * w.n, &w.args);
    blocked_lu(&w.blocked, rows_of(&w, o->data), w.n);
    return ok;
}

static Triangle triangle_of(Work *w, const View *v) {
    int rank = v->type.rank;
    batch_strides(&w->args, v, 2, w->args.t_batch);
    return (Triangle){.block = {v->data, v->stride[rank - 2], v->stride[rank - 1], IN_TRIANGLE}};
}

bool cuda_SOLVE_TRIANGULAR(Cuda *c, const Call *call, Err *err) {
    const View *o = &call->out[0];
    bool ok;
    Work w = work_of(c, call, &ok, err);
    if (type_numel(&o->type) == 0) return true;
    Triangle T = triangle_of(&w, &call->in[0]);
    T.upper = inst_bool(call->inst, ATTR_UPPER, false);
    T.unit = inst_bool(call->inst, ATTR_UNIT, false);
    if (!copy_to(c, &call->in[1], o, o->data, err)) return false;
    blocked_solve(&w.blocked, w.n, &T, rows_of(&w, o->data), w.args.k);
    return ok;
}

/* y: memory for the right sides, then for what the check counts. */
static bool solve_with(Work *w, const Call *call, char *y) {
    const View *o = &call->out[0], *perm = &call->in[3];
    uint64_t bytes = type_bytes(&o->type);
    Triangle L = triangle_of(w, &call->in[2]), U = L;
    BlockedArgs args = w->args;
    args.t = L.block.at, args.t_row = L.block.row, args.t_col = L.block.col;
    args.perm = perm->data, args.perm_step = perm->stride[perm->type.rank - 1];
    batch_strides(&args, perm, 1, args.perm_batch);
    args.seen = (uint32_t *)(void *)(y + (bytes + 7) / 8 * 8);
    args.scatter = inst_bool(call->inst, ATTR_TRANSPOSED, false);
    args.b = y;
    if (!copy_to(w->c, &call->in[1], o, y, w->err) ||
        !cuda_clear(w->c, args.seen, (uint64_t)(args.count * args.n) * sizeof *args.seen))
        return false;
    launch(w, STEP_CHECK, args.count * args.n, &args);
    L.unit = U.upper = true;
    if (!args.scatter) {
        launch(w, STEP_PERMUTE, args.count * args.n * args.k, &args);
        blocked_solve(&w->blocked, w->n, &L, rows_of(w, o->data), args.k);
        blocked_solve(&w->blocked, w->n, &U, rows_of(w, o->data), args.k);
        return *w->ok;
    }
    L.block.row = U.block.col, L.block.col = U.block.row;
    U.block.row = L.block.row, U.block.col = L.block.col;
    L.upper = true, U.upper = false;
    blocked_solve(&w->blocked, w->n, &U, rows_of(w, y), args.k);
    blocked_solve(&w->blocked, w->n, &L, rows_of(w, y), args.k);
    launch(w, STEP_PERMUTE, args.count * args.n * args.k, &args);
    return *w->ok;
}

bool cuda_SOLVE(Cuda *c, const Call *call, Err *err) {
    const View *o = &call->out[0];
    Engine *e = &c->host.engine;
    bool ok;
    Work w = work_of(c, call, &ok, err);
    uint64_t bytes = type_bytes(&o->type);
    if (bytes == 0) return true;
    const Matrices of = {OP_SOLVE, batch_of(o), w.n};
    uint64_t room = (bytes + 7) / 8 * 8 + (uint64_t)(w.args.count * w.n) * sizeof(uint32_t);
    if (!(w.args.record = cuda_take_matrix_slot(c, &of))) return false;
    char *y = e->ops->alloc(e, room);
    if (!y) return err_set(err, ERR_MEMORY, "no memory for a copy of the right sides");
    ok = solve_with(&w, call, y);
    e->ops->free(e, y, room);
    return ok;
}
