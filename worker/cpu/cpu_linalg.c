/* cpu_linalg.c: factorizations and triangular systems of the engine `cpu`: the steps of
 * worker/engine/blocked.h. In a batch of small matrices each thread takes a matrix; large matrices
 * go one after the other, with the threads inside. Which of the two, and every division, depends on
 * shapes alone, and so do the bits.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include "worker/engine/blocked.h"
#include "worker/engine/factor.h"

#include <math.h>
#include <string.h>

enum {
    STRIP = 128, /* columns or rows of a right side per part */
    LARGE = 160, /* from this order on the threads work inside one matrix */
    DOWN = 128,  /* rows and columns of an update per part */
    ACROSS = 256,
};

/* A matrix being factorized. */
typedef struct Work {
    Blocked blocked; /* first */
    Cpu *cpu;
    DType dtype;
    int size;
    bool is_wide; /* it uses the pool's threads */
    int thread;
    int64_t *perm; /* of LU */
} Work;

static inline double value_at(const Work *w, const char *p) {
    return w->dtype == DT_F32 ? (double)*(const float *)(const void *)p
                              : *(const double *)(const void *)p;
}

static void ranges(const Work *w, int64_t n, int64_t part, RangeFn fn, void *ctx) {
    if (w->is_wide)
        cpu_ranges(w->cpu, n, part, fn, ctx);
    else
        fn(ctx, 0, n, w->thread);
}

/* True if the call must end early (pool_set_cancel), unfinished. */
static bool is_cancelled(const Blocked *b) {
    const Work *w = (const Work *)b;
    return pool_is_cancelled(w->cpu->pool, w->thread);
}

/* x[i] = x[i] - y[i] and x[i] / y for n elements. */
static void subtract(const Work *w, int64_t n, char *x, const char *y) {
    w->cpu->kernels->map[OP_SUB][w->dtype](n, x, (const void *const[]){x, y}, 0);
}
static void divide(const Work *w, int64_t n, char *x, const char *y) {
    w->cpu->kernels->map[OP_DIV][w->dtype](n, x, (const void *const[]){x, y}, 2);
}

/* ---- C (M,N) -= A (M,K) @ B (K,N) ---- */

typedef struct Update {
    const Work *w;
    int64_t M, N, K, a_m, a_k, b_k, b_n, c_m;
    const char *a, *b;
    char *c;
} Update;

static void update_tiles(void *ctx, int64_t begin, int64_t end, int thread) {
    const Update *u = ctx;
    const Work *w = u->w;
    int size = w->size;
    int64_t across = (u->N + ACROSS - 1) / ACROSS;
    size_t side_bytes = gemm_side(DOWN, ACROSS, u->K);
    char *side = pool_scratch(w->cpu->pool, thread, side_bytes + 8 * DOWN * ACROSS);
    char *product = side + side_bytes;
    for (int64_t t = begin; t < end; t++) {
        int64_t m = t / across * DOWN, n = t % across * ACROSS;
        int64_t h = u->M - m < DOWN ? u->M - m : DOWN;
        int64_t width = u->N - n < ACROSS ? u->N - n : ACROSS;
        w->cpu->kernels->gemm[w->dtype](h, width, u->K, u->a + m * u->a_m * size, u->a_m, u->a_k,
                                        u->b + n * u->b_n * size, u->b_k, u->b_n, product, width,
                                        side, NULL);
        for (int64_t i = 0; i < h; i++)
            subtract(w, width, u->c + ((m + i) * u->c_m + n) * size, product + i * width * size);
    }
}

static void update(const Blocked *b, int64_t M, int64_t N, int64_t K, Block A, Block B, Block C) {
    const Work *w = (const Work *)b;
    Update u = {w, M, N, K, A.row, A.col, B.row, B.col, C.row, A.at, B.at, C.at};
    int64_t tiles = (M + DOWN - 1) / DOWN * ((N + ACROSS - 1) / ACROSS);
    int64_t h = M < DOWN ? M : DOWN, width = N < ACROSS ? N : ACROSS;
    ranges(w, tiles, cpu_part(h * width * K / 16), update_tiles, &u);
}

/* ---- Triangles ---- */

typedef struct Solve {
    const Work *w;
    int64_t n, total, b_m; /* right sides: (n, total), or (total, n) for solve_right */
    const char *block;     /* the triangle: column i is contiguous, from block + i * BLOCKED_BASE */
    bool upper, unit;
    char *b;
} Solve;

/* Some columns of B (n, total) := T^-1 B. */
static void left_strip(void *ctx, int64_t begin, int64_t end, int thread) {
    const Solve *s = ctx;
    int size = s->w->size;
    for (int64_t c = begin; c < end; c++) {
        char *b = s->b + c * STRIP * size;
        int64_t width = s->total - c * STRIP < STRIP ? s->total - c * STRIP : STRIP;
        for (int64_t k = 0; k < s->n; k++) {
            int64_t i = s->upper ? s->n - 1 - k : k;
            const char *column = s->block + i * BLOCKED_BASE * size;
            char *row = b + i * s->b_m * size;
            if (!s->unit) divide(s->w, width, row, column + i * size);
            if (s->upper)
                s->w->cpu->kernels->rank1[s->w->dtype](i, width, b, s->b_m, column, 1, row);
            else
                s->w->cpu->kernels->rank1[s->w->dtype](s->n - 1 - i, width, row + s->b_m * size,
                                                       s->b_m, column + (i + 1) * size, 1, row);
        }
    }
}

/* Some rows of B (total, n) := B T^-1, T upper; block holds its rows instead of its columns. */
static void right_strip(void *ctx, int64_t begin, int64_t end, int thread) {
    const Solve *s = ctx;
    int size = s->w->size;
    int64_t first = begin * STRIP, last = end * STRIP < s->total ? end * STRIP : s->total;
    char *b = s->b + first * s->b_m * size;
    for (int64_t j = 0; j < s->n; j++) {
        const char *row = s->block + j * BLOCKED_BASE * size;
        for (int64_t i = 0; i < last - first; i++) {
            char *x = b + (i * s->b_m + j) * size;
            if (size == 4)
                *(float *)(void *)x /= *(const float *)(const void *)(row + j * size);
            else
                *(double *)(void *)x /= *(const double *)(const void *)(row + j * size);
        }
        s->w->cpu->kernels->rank1[s->w->dtype](last - first, s->n - 1 - j, b + (j + 1) * size,
                                               s->b_m, b + j * size, s->b_m, row + (j + 1) * size);
    }
}

static void solve_left(const Blocked *b, int64_t n, const Triangle *T, Block X, int64_t k) {
    const Work *w = (const Work *)b;
    double block[BLOCKED_BASE * BLOCKED_BASE];
    for (int64_t j = 0; j < n; j++)
        copy_strided((char *)block + j * BLOCKED_BASE * w->size,
                     T->block.at + j * T->block.col * w->size, T->block.row, n, w->size);
    Solve s = {w, n, k, X.row, (const char *)block, T->upper, T->unit, X.at};
    ranges(w, (k + STRIP - 1) / STRIP, cpu_part(n * n * STRIP / 8), left_strip, &s);
}

static void solve_right(const Blocked *b, int64_t n, const Triangle *T, Block X, int64_t k) {
    const Work *w = (const Work *)b;
    double block[BLOCKED_BASE * BLOCKED_BASE];
    for (int64_t i = 0; i < n; i++)
        copy_strided((char *)block + i * BLOCKED_BASE * w->size,
                     T->block.at + i * T->block.row * w->size, T->block.col, n, w->size);
    Solve s = {w, n, k, X.row, (const char *)block, true, false, X.at};
    ranges(w, (k + STRIP - 1) / STRIP, cpu_part(n * n * STRIP / 8), right_strip, &s);
}

/* ---- Cholesky ---- */

static int64_t cholesky(const Blocked *b, int64_t n, Block A) {
    const Work *w = (const Work *)b;
    int size = w->size;
    double column[BLOCKED_BASE];
    for (int64_t j = 0; j < n; j++) {
        char *diagonal = A.at + j * (A.row + 1) * size, *below = diagonal + A.row * size;
        double d = value_at(w, diagonal);
        if (!(d > 0)) return j;
        if (size == 4)
            *(float *)(void *)diagonal = sqrtf((float)d);
        else
            *(double *)(void *)diagonal = sqrt(d);
        copy_strided(column, below, A.row, n - 1 - j, size);
        divide(w, n - 1 - j, (char *)column, diagonal);
        copy_scattered(below, A.row, column, n - 1 - j, size);
        w->cpu->kernels->rank1[w->dtype](n - 1 - j, n - 1 - j, below + size, A.row, column, 1,
                                         column);
    }
    return n;
}

/* ---- LU ---- */

static void swap_rows(char *x, char *y, int64_t bytes) {
    char block[512];
    for (int64_t n; bytes > 0; bytes -= n, x += n, y += n) {
        n = bytes < (int64_t)sizeof block ? bytes : (int64_t)sizeof block;
        memcpy(block, x, (size_t)n);
        memcpy(x, y, (size_t)n);
        memcpy(y, block, (size_t)n);
    }
}

/* Returns the row, from `from` on, with the largest element of column j; the first of equals. */
static int64_t find_pivot(const Work *w, const char *a, int64_t N, int64_t j, int64_t from) {
    int64_t best = from;
    double most = fabs(value_at(w, a + (from * N + j) * w->size));
    for (int64_t i = from + 1; i < N; i++) {
        double v = fabs(value_at(w, a + (i * N + j) * w->size));
        if (v > most) most = v, best = i;
    }
    return best;
}

static void eliminate(const Blocked *b, Block A, int64_t N, int64_t first, int64_t n) {
    const Work *w = (const Work *)b;
    int size = w->size;
    char *a = A.at;
    int64_t *perm = w->perm;
    for (int64_t j = first; j < first + n; j++) {
        int64_t p = find_pivot(w, a, N, j, j), at = perm[p];
        if (p != j) {
            swap_rows(a + p * N * size, a + j * N * size, N * size);
            perm[p] = perm[j], perm[j] = at;
        }
        const char *pivot = a + j * (N + 1) * size;
        if (value_at(w, pivot) == 0) continue;
        for (int64_t i = j + 1; i < N; i++) {
            char *x = a + (i * N + j) * size;
            if (size == 4)
                *(float *)(void *)x /= *(const float *)(const void *)pivot;
            else
                *(double *)(void *)x /= *(const double *)(const void *)pivot;
        }
        w->cpu->kernels->rank1[w->dtype](N - 1 - j, first + n - 1 - j,
                                         a + ((j + 1) * N + j + 1) * size, N,
                                         a + ((j + 1) * N + j) * size, N, pivot + size);
    }
}

static const BlockedSteps steps = {.is_cancelled = is_cancelled,
                                   .update = update,
                                   .solve_left = solve_left,
                                   .solve_right = solve_right,
                                   .cholesky = cholesky,
                                   .eliminate = eliminate};

/* ---- Calls: matrices one after the other, or one per thread ---- */

typedef struct Batch Batch;
struct Batch {
    Cpu *cpu;
    const Call *call;
    void (*one)(Batch *b, const Work *w, int64_t i);
    int64_t n, k, count;
    Loop loop;     /* over the batch: operand 0 the matrix, 1 the permutation */
    TensorType of; /* the batch, for error messages */
    Work work;
    int64_t *fault; /* per matrix: the pivot at which it fails, or -1 */
    int64_t *perm;  /* of SOLVE: row-major copies, checked */
    char *temp;     /* of SOLVE transposed: temporary right sides */
};

static void batch_range(void *ctx, int64_t begin, int64_t end, int thread) {
    Batch *b = ctx;
    Work w = b->work;
    w.thread = thread;
    for (int64_t i = begin; i < end && !is_cancelled(&w.blocked); i++) b->one(b, &w, i);
}

static bool batch_init(Batch *b, Cpu *c, const Call *call, const View *matrix, const View *perm,
                       Err *err) {
    const View *o = &call->out[0];
    int rank = o->type.rank;
    *b = (Batch){.cpu = c, .call = call, .of = o->type};
    b->n = o->type.shape[rank - 2], b->k = o->type.shape[rank - 1];
    b->of.rank -= 2;
    b->count = type_numel(&b->of);
    int size = view_size(o);
    b->work = (Work){{&steps, size}, .cpu = c, .dtype = (DType)o->type.dtype, .size = size};
    View m = *matrix, p = perm ? *perm : *matrix;
    m.type.rank -= 2, p.type.rank -= perm ? 1 : 2;
    loop_init(&b->loop, &b->of, (const View *const[]){&m, &p}, 2);
    b->work.is_wide = b->n >= LARGE || b->count == 1;
    return (b->fault = cpu_side(c, call, b->count * 8, err)) != NULL;
}

/* Runs `one` on each matrix. Returns the first that failed, or -1. */
static int64_t batch_run(Batch *b, void (*one)(Batch *, const Work *, int64_t)) {
    b->one = one;
    for (int64_t i = 0; i < b->count; i++) b->fault[i] = -1;
    if (b->work.is_wide)
        batch_range(b, 0, b->count, 0);
    else
        cpu_ranges(b->cpu, b->count, cpu_part(b->n * b->n * (b->n + b->k) / 4), batch_range, b);
    for (int64_t i = 0; i < b->count; i++)
        if (b->fault[i] >= 0) return i;
    return -1;
}

static char *result_of(const Batch *b, int64_t i) {
    return view_at(&b->call->out[0], i * b->n * b->k);
}

/* Some right sides, or a matrix, in rows one after the other. */
static Block rows_of(const Batch *b, char *at) { return (Block){at, b->k, 1, 0}; }

static void cholesky_one(Batch *b, const Work *w, int64_t i) {
    char *a = result_of(b, i);
    int64_t bad = blocked_cholesky(&w->blocked, b->n, rows_of(b, a));
    if (bad < b->n) b->fault[i] = bad;
    for (int64_t r = 0; r < b->n; r++)
        memset(a + (r * b->n + r + 1) * w->size, 0, (size_t)((b->n - 1 - r) * w->size));
}

bool cpu_CHOLESKY(Cpu *c, const Call *call, Err *err) {
    Batch b;
    if (type_numel(&call->out[0].type) == 0) return true;
    TRY(batch_init(&b, c, call, &call->in[0], NULL, err));
    cpu_copy(c, &call->in[0], call->out[0].data);
    int64_t bad = batch_run(&b, cholesky_one);
    return bad < 0 || linalg_indefinite(&b.of, bad, b.fault[bad], err);
}

static void lu_one(Batch *b, const Work *w, int64_t i) {
    int64_t *perm = (int64_t *)b->call->out[1].data + i * b->n;
    Work own = *w;
    own.perm = perm;
    for (int64_t k = 0; k < b->n; k++) perm[k] = k;
    blocked_lu(&own.blocked, rows_of(b, result_of(b, i)), b->n);
}

bool cpu_LU(Cpu *c, const Call *call, Err *err) {
    Batch b;
    if (type_numel(&call->out[0].type) == 0) return true;
    TRY(batch_init(&b, c, call, &call->in[0], NULL, err));
    cpu_copy(c, &call->in[0], call->out[0].data);
    batch_run(&b, lu_one);
    return true;
}

static Triangle triangle_of(const Batch *b, const View *v, int64_t i) {
    int rank = v->type.rank;
    return (Triangle){.block = {view_at(v, loop_offset(&b->loop, 0, i)), v->stride[rank - 2],
                                v->stride[rank - 1], 0}};
}

static void solve_triangular_one(Batch *b, const Work *w, int64_t i) {
    Triangle t = triangle_of(b, &b->call->in[0], i);
    t.upper = inst_bool(b->call->inst, ATTR_UPPER, false);
    t.unit = inst_bool(b->call->inst, ATTR_UNIT, false);
    blocked_solve(&w->blocked, b->n, &t, rows_of(b, result_of(b, i)), b->k);
}

/* Writes an operand broadcast to the result, row-major. */
static void copy_broadcast(Cpu *c, const View *from, const View *o, void *to) {
    View v = *o;
    v.data = from->data;
    int lead = o->type.rank - from->type.rank;
    for (int d = 0; d < o->type.rank; d++)
        v.stride[d] = d < lead || from->type.shape[d - lead] == 1 ? 0 : from->stride[d - lead];
    cpu_copy(c, &v, to);
}

bool cpu_SOLVE_TRIANGULAR(Cpu *c, const Call *call, Err *err) {
    Batch b;
    if (type_numel(&call->out[0].type) == 0) return true;
    TRY(batch_init(&b, c, call, &call->in[0], NULL, err));
    copy_broadcast(c, &call->in[1], &call->out[0], call->out[0].data);
    batch_run(&b, solve_triangular_one);
    return true;
}

/* Row i of `to` is row perm[i] of `from`; scatter: the inverse. */
static void permute_rows(const Batch *b, const int64_t *perm, bool scatter, const char *from,
                         char *to) {
    size_t bytes = (size_t)(b->k * b->work.size);
    for (int64_t i = 0; i < b->n; i++) {
        int64_t p = perm[i];
        memcpy(to + (scatter ? p : i) * (int64_t)bytes, from + (scatter ? i : p) * (int64_t)bytes,
               bytes);
    }
}

static void solve_one(Batch *b, const Work *w, int64_t i) {
    Triangle l = triangle_of(b, &b->call->in[2], i), u = l;
    for (int64_t k = 0; k < b->n; k++)
        if (value_at(w, u.block.at + k * (u.block.row + u.block.col) * w->size) == 0) {
            b->fault[i] = k;
            return;
        }
    char *x = result_of(b, i), *y = b->temp + i * b->n * b->k * w->size;
    const int64_t *perm = b->perm + i * b->n;
    l.unit = true, u.upper = true;
    if (!inst_bool(b->call->inst, ATTR_TRANSPOSED, false)) {
        permute_rows(b, perm, false, y, x);
        blocked_solve(&w->blocked, b->n, &l, rows_of(b, x), b->k);
        blocked_solve(&w->blocked, b->n, &u, rows_of(b, x), b->k);
        return;
    }
    l.block.row = u.block.col, l.block.col = u.block.row;
    u.block.row = l.block.row, u.block.col = l.block.col;
    l.upper = true, u.upper = false;
    blocked_solve(&w->blocked, b->n, &u, rows_of(b, y), b->k);
    blocked_solve(&w->blocked, b->n, &l, rows_of(b, y), b->k);
    permute_rows(b, perm, true, y, x);
}

bool cpu_SOLVE(Cpu *c, const Call *call, Err *err) {
    Batch b;
    const View *o = &call->out[0];
    int64_t bytes = (int64_t)type_bytes(&o->type);
    if (bytes == 0) return true;
    TRY(batch_init(&b, c, call, &call->in[2], &call->in[3], err));
    if (!(b.temp = cpu_side(c, call, bytes, err))) return false;
    if (!(b.perm = cpu_side(c, call, b.count * b.n * 8, err))) return false;
    const View *perm = &call->in[3];
    for (int64_t i = 0; i < b.count; i++) {
        int64_t *to = b.perm + i * b.n;
        copy_strided(to, view_at(perm, loop_offset(&b.loop, 1, i)),
                     perm->stride[perm->type.rank - 1], b.n, 8);
        TRY(linalg_is_perm(to, b.n, err));
    }
    copy_broadcast(c, &call->in[1], o, b.temp);
    int64_t bad = batch_run(&b, solve_one);
    return bad < 0 || linalg_singular(&b.of, bad, b.fault[bad], err);
}

/* ---- QR, EIGH, SVD: one matrix per thread, in double (worker/engine/factor.c) ---- */

typedef struct Factor {
    Cpu *cpu;
    const Call *call;
    Loop loop; /* over the batch: operand 0 the matrix */
    int64_t m, n, n_out, n_work;
    double *room; /* per thread: the matrix, the result, n_work */
} Factor;

typedef struct FactorCut {
    Pool *pool;
    int thread;
} FactorCut;
static bool factor_is_cancelled(void *ctx) {
    const FactorCut *c = ctx;
    return pool_is_cancelled(c->pool, c->thread);
}

static void factor_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const Factor *f = ctx;
    const View *x = &f->call->in[0], *o = &f->call->out[0];
    FactorCut at = {f->cpu->pool, thread};
    const LinalgCancel cancel = {factor_is_cancelled, &at};
    int64_t row = x->stride[x->type.rank - 2], column = x->stride[x->type.rank - 1];
    bool is_wide = x->type.dtype == DT_F64;
    double *a = f->room + thread * (f->m * f->n + f->n_out + f->n_work), *out = a + f->m * f->n;
    for (int64_t k = begin; k < end; k++) {
        int64_t offset = loop_offset(&f->loop, 0, k);
        for (int64_t i = 0; i < f->m; i++)
            for (int64_t j = 0; j < f->n; j++) {
                const void *p = view_at(x, offset + i * row + j * column);
                a[i * f->n + j] = is_wide ? *(const double *)p : (double)*(const float *)p;
            }
        if (!linalg_factor(f->call->inst->op, a, f->m, f->n, out, out + f->n_out, &cancel)) return;
        void *to = view_at(o, k * f->n_out);
        for (int64_t i = 0; i < f->n_out; i++)
            if (is_wide)
                ((double *)to)[i] = out[i];
            else
                ((float *)to)[i] = (float)out[i];
    }
}

static bool factor(Cpu *c, const Call *call, Err *err) {
    const View *x = &call->in[0], *o = &call->out[0];
    int rank = o->type.rank;
    if (type_numel(&o->type) == 0) return true;
    Factor f = {.cpu = c, .call = call, .m = x->type.shape[rank - 2], .n = x->type.shape[rank - 1]};
    f.n_out = o->type.shape[rank - 2] * o->type.shape[rank - 1];
    f.n_work = linalg_factor_work(call->inst->op, f.m, f.n);
    View matrix = *x;
    TensorType batch = o->type;
    matrix.type.rank -= 2, batch.rank -= 2;
    int64_t count = type_numel(&batch), threads = pool_threads(c->pool);
    int64_t each = 8 * (f.m * f.n + f.n_out + f.n_work);
    loop_init(&f.loop, &batch, (const View *const[]){&matrix}, 1);
    if (!(f.room = cpu_side(c, call, each * (count == 1 ? 1 : threads), err))) return false;
    if (count == 1)
        factor_range(&f, 0, 1, 0);
    else
        cpu_ranges(c, count, cpu_part(8 * f.m * f.n * (f.m < f.n ? f.m : f.n)), factor_range, &f);
    return true;
}

bool cpu_QR(Cpu *c, const Call *call, Err *err) { return factor(c, call, err); }
bool cpu_EIGH(Cpu *c, const Call *call, Err *err) { return factor(c, call, err); }
bool cpu_SVD(Cpu *c, const Call *call, Err *err) { return factor(c, call, err); }
