/* kernels_test: the cpu engine on random calls of every MAP, REDUCE, KERNEL and SOURCE row: random
 * dtypes, shapes (empty, odd, large), strides (permuted, stepped, expanded) and immediates. Each
 * call runs on the reference engine, which must agree (floats to a tolerance, the rest exactly),
 * and on cpu engines of every instruction set with 1, 2, 3 and 8 threads, which must agree to the
 * bit. Then: the order of reductions against its definition, extreme bytes, and indices out of
 * range. `make test` does few rounds, `make soak` more and different ones (random.h).
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "runtime/inst/inst.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include "worker/engine/engine.h"
#include "worker/kernel/kernels.h"
#include "worker/kernel/prologue.h"

enum { N_ENGINES = 6 };
static Engine *reference, *engine[N_ENGINES];
static const char *const engine_isa[N_ENGINES] = {"v4", "v4", "v4", "v4", "v3", "base"};
static const int engine_threads[N_ENGINES] = {1, 2, 3, 8, 2, 1};

static uint64_t state = 1;
static uint32_t rnd(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((state >> 32) * n) >> 32);
}
static double rnd_unit(void) { return rnd(1u << 30) * 0x1p-30; }

/* ---- Random operands ---- */

enum { MAX_BYTES = 1 << 22 };
typedef enum Fill { FILL_ANY, FILL_SMALL, FILL_ONES, FILL_INDEX } Fill;

static void fill(void *p, DType d, int64_t n, Fill how, int64_t size) {
    for (int64_t i = 0; i < n; i++) {
        double v = how == FILL_SMALL ? (double)rnd(7) - 3 : (rnd_unit() - 0.5) * 8;
        if (how == FILL_ONES) v = 1 + (rnd_unit() - 0.5) * 0.01;
        if (how == FILL_ANY && rnd(16) == 0) {
            static const double odd[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 1e-40, 100};
            v = odd[rnd(9)];
        }
        uint32_t k = (uint32_t)(size < 64 ? size : 64);
        int64_t w =
            how == FILL_INDEX ? (int64_t)rnd((uint32_t)(2 * size)) - size : (int64_t)rnd(21) - 10;
        if (how == FILL_INDEX && d == DT_I8) w = (int64_t)rnd(2 * k) - k;
        if (how == FILL_INDEX && d == DT_U8) w = rnd((uint32_t)(size < 256 ? size : 256));
        if (how == FILL_SMALL) w = (int64_t)v;
        if (how == FILL_ANY && rnd(20) == 0) w = (int64_t)(state ^ state << 20);
        char *to = (char *)p + i * dtype_info[d].size_bytes;
        if (dtype_is_float(d))
            element_set_float(d, to, v);
        else
            element_set_int(d, to, d == DT_BOOL ? w & 1 : w);
    }
}

/* A view of the type with a random layout, in memory of its own (freed through *owned). */
static View random_view(const TensorType *t, Fill how, int64_t size, void **owned) {
    View v = {.type = *t};
    int order[MAX_DIMS];
    for (int d = 0; d < t->rank; d++) order[d] = d;
    if (rnd(2)) {
        for (int d = t->rank - 1; d > 0; d--) {
            int j = (int)rnd((uint32_t)d + 1), k = order[d];
            order[d] = order[j], order[j] = k;
        }
    }
    int64_t step = 1;
    bool is_plain = rnd(2);
    for (int k = t->rank - 1; k >= 0; k--) {
        int d = order[k];
        if (!is_plain && rnd(6) == 0) {
            v.stride[d] = 0;
            continue;
        }
        if (!is_plain && rnd(4) == 0) step *= 2;
        v.stride[d] = step;
        step *= t->shape[d] > 0 ? t->shape[d] : 1;
        if (!is_plain && rnd(6) == 0) step += 3;
    }
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n += v.stride[d] * (t->shape[d] > 0 ? t->shape[d] - 1 : 0);
    *owned = xmalloc((size_t)(n * dtype_info[t->dtype].size_bytes));
    fill(*owned, (DType)t->dtype, n, how, size);
    v.data = *owned;
    return v;
}

static DType random_dtype(unsigned set) {
    for (;;) {
        DType d = (DType)rnd(DT_COUNT);
        if (set & DSET(d)) return d;
    }
}
static TensorType random_type(DType d, int rank_max) {
    TensorType t = {.dtype = (uint8_t)d, .rank = (uint8_t)rnd((uint32_t)rank_max + 1)};
    int64_t budget = rnd(8) ? 3000 : 200000;
    for (int i = 0; i < t.rank; i++) {
        int64_t n = rnd(30) == 0 ? 0 : rnd(4) == 0 ? 1 : 1 + (int64_t)rnd(rnd(3) ? 17 : 700);
        if (n > budget) n = budget;
        t.shape[i] = n;
        budget /= n > 0 ? n : 1;
    }
    return t;
}
/* A type that broadcasts to t. */
static TensorType random_smaller(const TensorType *t) {
    TensorType r = {.dtype = t->dtype};
    int skip = rnd(3) ? 0 : (int)rnd((uint32_t)t->rank + 1);
    for (int d = skip; d < t->rank; d++) r.shape[r.rank++] = rnd(4) ? t->shape[d] : 1;
    return r;
}

/* ---- One call ---- */

typedef struct Trial {
    Inst inst;
    Operand operand[8];
    Attr attr[8];
    int64_t ints[8][MAX_DIMS];
    View in[8];
    TensorType types[8]; /* of tensor operands, in order */
    void *owned[8];
    int n_owned;
    double tolerance;
    char text[400];
} Trial;

static void add_view(Trial *t, const TensorType *type, Fill how, int64_t size) {
    int i = t->inst.n_in++;
    t->operand[i] = (Operand){.kind = IN_TENSOR, .id = (uint64_t)i};
    t->types[t->n_owned] = *type;
    t->in[i] = random_view(type, how, size, &t->owned[t->n_owned]);
    t->n_owned++;
}
static void add_scalar(Trial *t, DType d, const void *value, InKind kind) {
    int i = t->inst.n_in++;
    t->operand[i] = (Operand){.kind = kind};
    if (kind == IN_IMM_FLOAT)
        t->operand[i].f = *(const double *)value;
    else
        t->operand[i].i = *(const int64_t *)value;
    t->in[i] = (View){.type = {.dtype = (uint8_t)d}, .is_scalar = true};
    t->in[i].data = xmalloc(8);
    memcpy(t->in[i].data, value, 8);
}
static int64_t *add_ints(Trial *t, AttrKey key, int n) {
    int i = t->inst.n_attr++;
    t->attr[i] = (Attr){.key = (uint8_t)key, .n = (uint32_t)n, .ints = t->ints[i]};
    return t->ints[i];
}
static void add_bool(Trial *t, AttrKey key, bool b) {
    t->attr[t->inst.n_attr++] = (Attr){.key = (uint8_t)key, .b = b};
}

static void trial_free(Trial *t) {
    for (int i = 0; i < t->inst.n_in; i++)
        if (t->in[i].is_scalar) free(t->in[i].data);
    for (int i = 0; i < t->n_owned; i++) free(t->owned[i]);
}

static int run(Engine *e, Trial *t, const TensorType *out, int n_out, void **result, Err *err) {
    Call c = {.inst = &t->inst, .n_in = t->inst.n_in, .n_out = n_out, .in = t->in};
    for (int i = 0; i < n_out; i++) {
        uint64_t bytes = type_bytes(&out[i]);
        result[i] = aligned_alloc(64, (bytes / 64 + 1) * 64);
        memset(result[i], 0x5a, bytes);
        c.out[i].type = out[i];
        c.out[i].data = result[i];
        view_strides(&out[i], c.out[i].stride);
    }
    Ticket k = e->ops->submit(e, &c, NULL, 0);
    return e->ops->done(e, k, true, err);
}

static double element(DType d, const void *p, int64_t i) {
    return element_float(d, (const char *)p + i * dtype_info[d].size_bytes);
}
/* Halves: nearly equal values may round to neighbours. */
static double half_unit(DType d, double y) {
    return d == DT_F16 ? 0x1p-24 + 0x1p-10 * fabs(y) : d == DT_BF16 ? 0x1p-7 * fabs(y) : 0;
}
static bool is_equal(DType d, const void *a, const void *b, int64_t n, double tolerance,
                     int64_t *at) {
    int size = dtype_info[d].size_bytes;
    for (int64_t i = 0; i < n; i++) {
        *at = i;
        if (!dtype_is_float(d)) {
            if (memcmp((const char *)a + i * size, (const char *)b + i * size, (size_t)size))
                return false;
            continue;
        }
        double x = element(d, a, i), y = element(d, b, i);
        if (x != x || y != y) {
            if ((x != x) != (y != y)) return false;
        } else if (tolerance == 0) {
            if (x != y || signbit(x) != signbit(y)) return false;
        } else if (x != y && !(fabs(x - y) <= tolerance * (1 + fabs(y)) + half_unit(d, y))) {
            return false;
        }
    }
    return true;
}

static void describe(Trial *t) {
    char *p = t->text;
    char *end = p + sizeof t->text;
    p += snprintf(p, (size_t)(end - p), "%s", op_info[t->inst.op].name);
    for (int i = 0; i < t->inst.n_in && p < end; i++) {
        char buf[256];
        const View *v = &t->in[i];
        p += snprintf(p, (size_t)(end - p), " %s", type_text(&v->type, buf));
        for (int d = 0; d < v->type.rank && p < end; d++)
            p += snprintf(p, (size_t)(end - p), "%c%lld", d ? ',' : '/', (long long)v->stride[d]);
    }
    for (int i = 0; i < t->inst.n_attr && p < end; i++) {
        p += snprintf(p, (size_t)(end - p), " %s=", attr_info[t->attr[i].key].name);
        if (attr_info[t->attr[i].key].type != AT_INTS) continue;
        for (uint32_t k = 0; k < t->attr[i].n && p < end; k++)
            p += snprintf(p, (size_t)(end - p), "%lld,", (long long)t->attr[i].ints[k]);
    }
}

static void check_trial(Trial *t) {
    t->inst.in = t->operand;
    t->inst.attr = t->attr;
    t->inst.n_out = (uint8_t)op_outputs(t->inst.op);
    TensorType out[MAX_OUT];
    int n_out = 1;
    Err err = {0};
    describe(t);
    if (!inst_infer(&t->inst, t->types, out, &n_out, &err)) {
        CHECK_MSG(false, "%s: %s", t->text, err.text);
        trial_free(t);
        return;
    }
    t->inst.n_out = (uint8_t)n_out;
    void *want[MAX_OUT], *got[N_ENGINES][MAX_OUT];
    int status = run(reference, t, out, n_out, want, &err);
    for (int e = 0; e < N_ENGINES; e++) {
        if (!engine[e]) continue;
        Err mine = {0};
        int s = run(engine[e], t, out, n_out, got[e], &mine);
        CHECK_MSG(s == status, "%s: %d, not %d", t->text, s, status);
        if (s < 0) CHECK_STR(mine.text, err.text);
        for (int k = 0; k < n_out && s > 0; k++) {
            DType d = (DType)out[k].dtype;
            int64_t n = type_numel(&out[k]), at = 0;
            bool is_right =
                is_equal(d, got[e][k], e ? got[0][k] : want[k], n, e ? 0 : t->tolerance, &at);
            if (is_right || !dtype_is_float(d)) {
                CHECK_MSG(is_right, "%s: engine %d differs at %lld", t->text, e, (long long)at);
                continue;
            }
            CHECK_MSG(false, "%s: engine %d differs at %lld: %a, not %a", t->text, e, (long long)at,
                      element(d, got[e][k], at), element(d, e ? got[0][k] : want[k], at));
        }
    }
    for (int k = 0; k < n_out; k++) {
        free(want[k]);
        for (int e = 0; e < N_ENGINES; e++)
            if (engine[e]) free(got[e][k]);
    }
    trial_free(t);
}

/* ---- Calls by class ---- */

static double tolerance_of(DType d) { return d != DT_F64 ? 4e-6 : 1e-12; }

static void try_map(Op op) {
    const OpInfo *o = &op_info[op];
    DType d = random_dtype(o->in);
    Trial t = {.inst.op = op, .tolerance = tolerance_of(d)};
    TensorType whole = random_type(d, 4);
    int scalar = o->arity > 1 && rnd(3) == 0 ? o->arity - 1 : -1;
    int full = rnd(3) ? 0 : (int)rnd((uint32_t)o->arity);
    if (full == scalar) full = 0;
    for (int i = 0; i < o->arity; i++) {
        TensorType type = i == full ? whole : random_smaller(&whole);
        if (op == OP_WHERE && i == 0) type.dtype = DT_BOOL;
        /* Errors of float arguments near a multiple of the divisor are jumps, not roundings. */
        Fill how = op == OP_FLOORDIV || op == OP_MOD || op == OP_FMOD ? FILL_SMALL : FILL_ANY;
        if (i != scalar) {
            add_view(&t, &type, how, 0);
            continue;
        }
        uint64_t value = 0;
        DType at = dtype_is_half(d) ? DT_F32 : d; /* as exec does it: engine.h */
        fill(&value, at, 1, FILL_SMALL, 0);
        double f = dtype_is_float(d) ? element(at, &value, 0) : 0;
        int64_t w = dtype_is_float(d) ? 0 : element_int(d, &value);
        InKind kind = d == DT_BOOL ? IN_IMM_BOOL : dtype_is_float(d) ? IN_IMM_FLOAT : IN_IMM_INT;
        add_scalar(&t, at, &value, kind);
        if (kind == IN_IMM_FLOAT)
            t.operand[i].f = f;
        else if (kind == IN_IMM_INT)
            t.operand[i].i = w;
        else
            t.operand[i].b = w != 0;
    }
    check_trial(&t);
}

static int random_axes(Trial *t, const TensorType *type, int64_t *axes) {
    int n = 0;
    for (int d = 0; d < type->rank; d++)
        if (rnd(2)) axes[n++] = d;
    return n;
}

static void try_reduce(Op op) {
    DType d = random_dtype(op_info[op].in);
    Trial t = {.inst.op = op, .tolerance = d != DT_F64 ? 2e-4 : 1e-10};
    TensorType type = random_type(d, 4);
    if (rnd(10) == 0) type = (TensorType){(uint8_t)d, 2, {1 + rnd(3), 5000 + rnd(20000)}};
    if (rnd(10) == 0) type = (TensorType){(uint8_t)d, 2, {5000 + rnd(5000), 1 + rnd(20)}};
    if (op == OP_MAX || op == OP_MIN)
        for (int k = 0; k < type.rank; k++) type.shape[k] += type.shape[k] == 0;
    Fill how = op == OP_PROD ? FILL_ONES : op == OP_SUM && rnd(2) ? FILL_SMALL : FILL_ANY;
    if (op == OP_SUM && how == FILL_ANY && dtype_is_float(d)) how = FILL_ONES;
    add_view(&t, &type, how, 0);
    if (rnd(4)) {
        int64_t axes[MAX_DIMS];
        int n = random_axes(&t, &type, axes);
        if (n > 0) memcpy(add_ints(&t, ATTR_AXIS, n), axes, sizeof(int64_t) * (size_t)n);
    }
    if (rnd(3) == 0) add_bool(&t, ATTR_KEEPDIMS, true);
    check_trial(&t);
}

static void try_matmul(void) {
    DType d = random_dtype(DSET_NUM);
    Trial t = {.inst.op = OP_MATMUL, .tolerance = 1e-7};
    static const int64_t sizes[] = {1, 2, 3, 5, 16, 17, 31, 64, 100, 130, 257};
    int64_t M = sizes[rnd(11)], K = rnd(12) ? sizes[rnd(11)] : 5000, N = sizes[rnd(11)];
    if (K == 5000 && rnd(2)) M = 1;
    if (rnd(25) == 0) K = 0;
    if (rnd(25) == 0) M = 0;
    TensorType a = {.dtype = (uint8_t)d}, b = a, batch = random_type(d, M * N * K > 100000 ? 0 : 2);
    for (int i = 0; i < batch.rank; i++) batch.shape[i] = batch.shape[i] > 5 ? 5 : batch.shape[i];
    TensorType ba = random_smaller(&batch), bb = batch;
    if (rnd(2)) bb = ba, ba = batch;
    memcpy(a.shape, ba.shape, sizeof a.shape), a.rank = ba.rank;
    memcpy(b.shape, bb.shape, sizeof b.shape), b.rank = bb.rank;
    if (rnd(8) || a.rank > 0) a.shape[a.rank++] = M;
    a.shape[a.rank++] = K;
    b.shape[b.rank++] = K;
    if (rnd(8) || b.rank > 1) b.shape[b.rank++] = N;
    add_view(&t, &a, FILL_SMALL, 0);
    add_view(&t, &b, FILL_SMALL, 0);
    check_trial(&t);
}

static void try_move(Op op) {
    DType d = random_dtype(DSET_ALL);
    Trial t = {.inst.op = op};
    TensorType type = random_type(d, 4);
    if (op == OP_CAST) {
        add_view(&t, &type, FILL_ANY, 0);
        t.attr[t.inst.n_attr++] = (Attr){.key = ATTR_DTYPE, .dtype = random_dtype(DSET_ALL)};
    } else if (op == OP_CAT) {
        if (type.rank == 0) type = (TensorType){(uint8_t)d, 1, {3}};
        int axis = (int)rnd(type.rank), n = 1 + (int)rnd(4);
        for (int i = 0; i < n; i++) {
            add_view(&t, &type, FILL_ANY, 0);
            type.shape[axis] = rnd(20);
        }
        add_ints(&t, ATTR_AXIS, 1)[0] = axis;
    } else if (op == OP_SLICE_PUT) {
        TensorType part = type;
        int64_t *start = add_ints(&t, ATTR_START, type.rank),
                *size = add_ints(&t, ATTR_SIZE, type.rank);
        int64_t *step = add_ints(&t, ATTR_STEP, type.rank);
        for (int k = 0; k < type.rank; k++) {
            start[k] = rnd((uint32_t)type.shape[k] + 1);
            step[k] = 1 + rnd(3);
            int64_t most = (type.shape[k] - start[k] + step[k] - 1) / step[k];
            part.shape[k] = size[k] = rnd((uint32_t)most + 1);
        }
        add_view(&t, &type, FILL_ANY, 0);
        part = random_smaller(&part);
        add_view(&t, &part, FILL_ANY, 0);
    } else { /* a reshape that needs a copy */
        int64_t n = type_numel(&type);
        add_view(&t, &type, FILL_ANY, 0);
        add_ints(&t, ATTR_SHAPE, 1)[0] = n;
    }
    check_trial(&t);
}

static void try_index(Op op) {
    DType d = random_dtype(op_info[op].in);
    Trial t = {.inst.op = op, .tolerance = 1e-6};
    TensorType x = random_type(d, 3);
    if (x.rank == 0) x = (TensorType){(uint8_t)d, 1, {4}};
    for (int k = 0; k < x.rank; k++) x.shape[k] += x.shape[k] == 0;
    int axis = (int)rnd(x.rank);
    DType id = random_dtype(DSET_INT);
    bool scatters = op == OP_SCATTER_ADD || op == OP_SCATTER_REDUCE;
    bool is_along = op == OP_GATHER || scatters;
    TensorType idx = is_along ? x : random_type(id, 2);
    idx.dtype = (uint8_t)id;
    Fill how = FILL_SMALL;
    if (is_along) {
        for (int k = 0; k < x.rank; k++)
            idx.shape[k] = k == axis ? 1 + rnd(30) : 1 + (int64_t)rnd((uint32_t)x.shape[k]);
        add_view(&t, &x, how, 0);
        add_view(&t, &idx, FILL_INDEX, x.shape[axis] + (rnd(20) == 0));
        if (scatters) {
            TensorType src = idx;
            src.dtype = x.dtype;
            for (int k = 0; k < x.rank; k++) src.shape[k] += rnd(3);
            add_view(&t, &src, how, 0);
        }
    } else {
        int k = 1 + (int)rnd((uint32_t)(x.rank - axis));
        for (int i = 0; i < idx.rank; i++)
            if (idx.shape[i] > 20) idx.shape[i] = 20;
        add_view(&t, &x, how, 0);
        TensorType part = {.dtype = x.dtype};
        for (int i = 0; i < axis; i++) part.shape[part.rank++] = x.shape[i];
        for (int i = 0; i < idx.rank; i++) part.shape[part.rank++] = idx.shape[i];
        for (int i = axis + k; i < x.rank; i++) part.shape[part.rank++] = x.shape[i];
        part = random_smaller(&part);
        if (op == OP_INDEX_PUT) add_view(&t, &part, how, 0);
        bool has_bad = rnd(20) == 0;
        for (int i = 0; i < k; i++) {
            TensorType one = i ? random_smaller(&idx) : idx;
            add_view(&t, &one, FILL_INDEX, x.shape[axis + i] + (has_bad && i == 0));
        }
        if (op == OP_INDEX_PUT && rnd(2)) add_bool(&t, ATTR_ACCUMULATE, true);
    }
    add_ints(&t, ATTR_AXIS, 1)[0] = axis;
    if (op == OP_SCATTER_REDUCE) {
        static const char *const known[] = {"prod", "amax", "amin"};
        t.attr[t.inst.n_attr++] = (Attr){.key = ATTR_REDUCE, .n = 4, .str = known[rnd(3)]};
    }
    check_trial(&t);
}

static void try_order(Op op) {
    DType d = random_dtype(op_info[op].in);
    bool adds_up = op == OP_CUMSUM || op == OP_RECURRENCE;
    Trial t = {.inst.op = op, .tolerance = adds_up ? 1e-5 : 0};
    TensorType x = random_type(d, 3);
    if (x.rank == 0) x = (TensorType){(uint8_t)d, 1, {40}};
    for (int k = 0; k < x.rank; k++) x.shape[k] += x.shape[k] == 0;
    int axis = (int)rnd(x.rank);
    if (rnd(6) == 0) { /* lines of several pieces, adjacent or not */
        x = (TensorType){(uint8_t)d, 2, {3, 3}};
        axis = (int)rnd(2);
        x.shape[axis] = 1 + rnd(13000);
    }
    add_view(&t, &x,
             op == OP_RECURRENCE ? FILL_ONES
             : adds_up || rnd(2) ? FILL_SMALL
                                 : FILL_ANY,
             0);
    if (op == OP_RECURRENCE) add_view(&t, &x, FILL_SMALL, 0);
    if (op == OP_SEARCHSORTED) {
        TensorType v = x;
        v.shape[v.rank - 1] = rnd(30);
        add_view(&t, &v, FILL_SMALL, 0);
    }
    bool is_arg = op == OP_ARGMAX || op == OP_ARGMIN;
    if (op != OP_SEARCHSORTED && (!is_arg || rnd(3))) add_ints(&t, ATTR_AXIS, 1)[0] = axis;
    if (op == OP_TOPK) {
        int64_t n = x.shape[axis], most = rnd(2) && n > 9 ? 9 : n; /* few: selected, not sorted */
        t.attr[t.inst.n_attr++] = (Attr){.key = ATTR_K, .i = (int64_t)rnd((uint32_t)most + 1)};
        add_bool(&t, ATTR_LARGEST, rnd(2));
    }
    if (op == OP_CUMMAX && rnd(2)) add_bool(&t, ATTR_LARGEST, rnd(2));
    if (op == OP_RECURRENCE && rnd(2)) add_bool(&t, ATTR_REVERSE, true);
    if (op == OP_SEARCHSORTED && rnd(2)) add_bool(&t, ATTR_RIGHT, true);
    if ((op == OP_SORT || op == OP_ARGSORT) && rnd(2)) add_bool(&t, ATTR_DESCENDING, true);
    check_trial(&t);
}

static void try_source(Op op) {
    unsigned set = op == OP_RAND || op == OP_RANDN ? DSET_FLOAT : DSET_INT | DSET_FLOAT;
    if (op == OP_RANDINT) set = DSET_INT;
    DType d = random_dtype(set);
    Trial t = {.inst.op = op, .tolerance = d != DT_F64 ? 1e-5 : 1e-12};
    TensorType type = random_type(d, op == OP_ARANGE ? 1 : 3);
    if (op == OP_ARANGE && type.rank == 0) type = (TensorType){(uint8_t)d, 1, {7}};
    if (op == OP_ARANGE && (d == DT_U8 || d == DT_I8) && type.shape[0] > 50) type.shape[0] = 50;
    for (int i = 0; i < op_info[op].arity; i++) {
        bool is_float = dtype_is_float(d);
        double f = (double)rnd(9) * 0.37;
        int64_t w = op == OP_RANDINT ? i * (1 + (int64_t)rnd(120)) : 1 + (int64_t)rnd(4);
        add_scalar(&t, is_float ? DT_F64 : DT_I64, is_float ? (void *)&f : (void *)&w,
                   is_float ? IN_IMM_FLOAT : IN_IMM_INT);
    }
    memcpy(add_ints(&t, ATTR_SHAPE, type.rank), type.shape, sizeof(int64_t) * type.rank);
    t.attr[t.inst.n_attr++] = (Attr){.key = ATTR_DTYPE, .dtype = d};
    if (op == OP_RAND || op == OP_RANDN || op == OP_RANDINT) {
        int64_t *rng = add_ints(&t, ATTR_RNG, 2);
        rng[0] = (int64_t)(state >> 3), rng[1] = rnd(1000);
    }
    check_trial(&t);
}

/* Rows that need matching operand values: ops_test.c generates them. */
static bool is_of_matrices(Op op) {
    return op == OP_CHOLESKY || op == OP_LU || op == OP_QR || op == OP_EIGH || op == OP_SVD ||
           op == OP_SOLVE || op == OP_SOLVE_TRIANGULAR;
}

static bool is_of_windows(Op op) { /* ops_test has them */
    return op == OP_CONV || op == OP_CONV_DX || op == OP_CONV_DW || op == OP_MAX_POOL ||
           op == OP_AVG_POOL || op == OP_AVG_POOL_DX;
}

static void try_row(Op op) {
    switch (op_info[op].class_) {
    case CLASS_MAP: try_map(op); return;
    case CLASS_REDUCE: try_reduce(op); return;
    case CLASS_SOURCE:
        if (op != OP_DATA) try_source(op);
        return;
    case CLASS_VIEW:
        if (op == OP_RESHAPE) try_move(op);
        return;
    case CLASS_CONTROL: return;
    case CLASS_KERNEL: break;
    }
    if (is_of_matrices(op) || is_of_windows(op)) return;
    if (op == OP_MATMUL)
        try_matmul();
    else if (op == OP_CAST || op == OP_CAT || op == OP_SLICE_PUT)
        try_move(op);
    else if (op == OP_INDEX || op == OP_INDEX_PUT || op == OP_GATHER || op == OP_SCATTER_ADD ||
             op == OP_SCATTER_REDUCE)
        try_index(op);
    else
        try_order(op);
}

/* ---- The order of reductions, by definition ---- */

static float tree(const float *v, int64_t n) { /* left: the largest power of two below n */
    if (n == 1) return v[0];
    int64_t left = 1;
    while (left * 2 < n) left *= 2;
    return tree(v, left) + tree(v + left, n - left);
}
static float ordered_sum(const float *x, int64_t n) {
    int64_t blocks = (n + 4095) / 4096;
    float *value = xcalloc((size_t)blocks, sizeof *value);
    for (int64_t b = 0; b < blocks; b++) {
        float lane[16] = {0};
        for (int64_t i = b * 4096; i < n && i < (b + 1) * 4096; i++) lane[i % 16] += x[i];
        for (int w = 8; w; w /= 2)
            for (int l = 0; l < w; l++) lane[l] += lane[l + w];
        value[b] = lane[0];
    }
    float sum = tree(value, blocks);
    free(value);
    return sum;
}
static float sum_of_rows(const float *x, int64_t n) { /* as runtime/base/tree.h says */
    int64_t leaves = tree_leaves(n);
    float *value = xcalloc((size_t)leaves, sizeof *value);
    for (int64_t i = 0; i < n; i++) value[i / LEAF] += x[i];
    float sum = tree(value, leaves);
    free(value);
    return sum;
}

static void test_order(void) {
    static const int64_t sizes[] = {1, 2, 15, 16, 17, 100, 4095, 4096, 4097, 12289, 28672, 100000};
    enum { ROWS = 3 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s];
        float *x = xmalloc(sizeof *x * (size_t)n * ROWS),
              *column = xmalloc(sizeof *x * (size_t)n * ROWS);
        for (int64_t i = 0; i < n * ROWS; i++) x[i] = (float)(rnd_unit() - 0.4);
        for (int64_t i = 0; i < n; i++)
            for (int r = 0; r < ROWS; r++) column[i * ROWS + r] = x[r * n + i];
        for (int e = 0; e < N_ENGINES; e++) {
            if (!engine[e]) continue;
            for (int layout = 0; layout < 3; layout++) { /* rows, columns, columns as rows */
                Trial t = {.inst.op = OP_SUM};
                t.operand[0] = (Operand){.kind = IN_TENSOR};
                t.inst.in = t.operand, t.inst.attr = t.attr, t.inst.n_in = 1;
                add_ints(&t, ATTR_AXIS, 1)[0] = layout != 1;
                t.in[0].type = (TensorType){DT_F32, 2, {ROWS, n}};
                t.in[0].data = layout ? column : x;
                t.in[0].stride[0] = layout == 2 ? 1 : n;
                t.in[0].stride[1] = layout == 2 ? ROWS : 1;
                if (layout == 1) {
                    t.in[0].type = (TensorType){DT_F32, 2, {n, ROWS}};
                    t.in[0].stride[0] = ROWS;
                }
                void *out[1];
                TensorType type = {DT_F32, 1, {ROWS}};
                run(engine[e], &t, &type, 1, out, NULL);
                for (int r = 0; r < ROWS; r++) {
                    float want =
                        layout == 1 ? sum_of_rows(x + r * n, n) : ordered_sum(x + r * n, n);
                    float got = ((float *)out[0])[r];
                    CHECK_MSG(got == want, "sum of %lld, layout %d, engine %d: %a, not %a",
                              (long long)n, layout, e, got, want);
                }
                free(out[0]);
            }
        }
        free(x);
        free(column);
    }
}

/* Sums and products of the largest bytes, where narrow sums would overflow. */
static void test_bytes(void) {
    static const int64_t sizes[] = {1, 63, 64, 127, 128, 129, 1000, 4095, 4096, 4097, 9000};
    static const int extreme[] = {-128, -1, 127, 255, 1, 3};
    char *x = xmalloc(9000);
    for (size_t k = 0; k < 6 * sizeof sizes / sizeof *sizes; k++) {
        int64_t n = sizes[k / 6];
        DType d = extreme[k % 6] > 127 || rnd(2) ? DT_U8 : DT_I8;
        uint64_t sum = 0, product = 1;
        for (int64_t i = 0; i < n; i++) {
            element_set_int(d, x + i, extreme[k % 6]);
            uint64_t v = (uint64_t)element_int(d, x + i);
            sum += v, product *= v;
        }
        for (int e = 0; e < 2 * N_ENGINES; e++) {
            if (!engine[e / 2]) continue;
            Trial t = {.inst.op = e % 2 ? OP_PROD : OP_SUM};
            t.operand[0] = (Operand){.kind = IN_TENSOR};
            t.inst.in = t.operand, t.inst.attr = t.attr, t.inst.n_in = 1;
            t.in[0] = (View){.type = {(uint8_t)d, 1, {n}}, .stride = {1}, .data = x};
            void *out[1];
            run(engine[e / 2], &t, &(TensorType){.dtype = DT_I64}, 1, out, NULL);
            CHECK_MSG(*(uint64_t *)out[0] == (e % 2 ? product : sum),
                      "%s of %lld times %d, %s, engine %d", op_info[t.inst.op].name, (long long)n,
                      extreme[k % 6], dtype_info[d].text, e / 2);
            free(out[0]);
        }
    }
    free(x);
}

int main(int argc, char **argv) {
    int rounds = rand_rounds(20);
    state = rand_seed(argc, argv);
    Err err = {0};
    EngineConfig config = {.memory_bytes = 256 << 20, .threads = 1};
    reference = engine_reference.open(&config, &err);
    const char *best = kernels_find()->isa;
    for (int e = 0; e < N_ENGINES; e++) {
        setenv("GT_ISA", engine_isa[e], 1);
        config.threads = engine_threads[e];
        if (strcmp(kernels_find()->isa, engine_isa[e]) && strcmp(engine_isa[e], "v4")) continue;
        engine[e] = engine_cpu.open(&config, &err);
    }
    printf("  best instruction set: %s\n", best);
    for (int i = 0; i < rounds; i++)
        for (Op op = 0; op < OP_COUNT; op++) try_row(op);
    test_order();
    test_bytes();
    engine_reference.close(&reference);
    for (int e = 0; e < N_ENGINES; e++)
        if (engine[e]) engine_cpu.close(&engine[e]);
    return check_report("kernels");
}
