/* sim_program.h: random instruction programs for the simulator. Their values do not depend on the
 * order of any sum, so every difference between two runs is an error.
 *
 * For each live tensor the generator keeps a bound and a grain: its elements are multiples of
 * 2^-grain and not larger than the bound. It drops candidates whose sums might round. Results of
 * tanh and similar functions are `soft`: they are only compared, moved and mapped, never summed. It
 * also drops candidates that inst_infer refuses, so candidates need not be valid.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_SIM_PROGRAM_H
#define GT_TESTS_UNIT_SIM_PROGRAM_H
#include "runtime/inst/inst.h"
#include "tests/unit/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE_MAX = 40, NUMEL_MAX = 2500, SIGNALS = 5 };

typedef struct SimValue {
    uint64_t id;
    TensorType type;
    double bound; /* INFINITY: unbounded (integers wrap) */
    int grain;
    bool is_soft, is_lost; /* is_lost: it depends on an instruction that failed */
} SimValue;

typedef struct SimProgram {
    Arena arena;
    Inst **inst; /* all memory is the arena's */
    int n, cap;
    bool has_mistakes;
} SimProgram;

typedef struct Gen {
    SimProgram *p;
    Rand r;
    SimValue live[LIVE_MAX];
    int n_live, depth, n_workers, numel_max;
    uint64_t next_id;
    bool makes_mistakes;
} Gen;

static void program_fini(SimProgram *p) {
    free(p->inst);
    arena_fini(&p->arena);
    *p = (SimProgram){0};
}

static void program_print(const SimProgram *p, FILE *to) {
    for (int i = 0; i < p->n; i++) {
        Bytes line = {0};
        inst_print(p->inst[i], &(InstPrint){0}, &line);
        fprintf(to, "  %3d  %.200s%s\n", i, line.data, line.n > 200 ? " ..." : "");
        bytes_fini(&line);
    }
}

static void program_add(SimProgram *p, const Inst *inst) {
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 64;
        p->inst = xrealloc(p->inst, (size_t)p->cap * sizeof *p->inst);
    }
    Inst *copy = inst_copy(inst, &p->arena);
    copy->pos.line = (uint32_t)p->n + 1;
    p->inst[p->n++] = copy;
}

/* ---- Candidates ---- */

/* An instruction under construction; its operands are indices of live values. */
typedef struct Cand {
    Inst inst;
    Operand in[8];
    const SimValue *value[8];
    Attr attr[6];
    int64_t ints[6][MAX_DIMS];
    double bound, terms; /* of the result: bound * terms must be exact */
    int grain;
    bool is_soft, keeps_any; /* keeps_any: soft operands are allowed */
} Cand;

static int below(Gen *g, int n) { return rand_below(&g->r, n); }
static bool chance(Gen *g, int percent) { return below(g, 100) < percent; }
static SimValue *any_live(Gen *g) { return g->n_live ? &g->live[below(g, g->n_live)] : NULL; }
static SimValue *live_of(Gen *g, DType d) {
    int start = g->n_live ? below(g, g->n_live) : 0;
    for (int i = 0; i < g->n_live; i++) {
        SimValue *v = &g->live[(start + i) % g->n_live];
        if (v->type.dtype == d) return v;
    }
    return NULL;
}
static bool is_float(const SimValue *v) { return dtype_is_float((DType)v->type.dtype); }
static bool is_number(const SimValue *v) { return v->type.dtype != DT_BOOL; }

static void cand_init(Cand *c, Op op) {
    *c = (Cand){.inst = {.op = op}, .bound = INFINITY, .terms = 1};
}
static void cand_in(Cand *c, const SimValue *v) {
    c->value[c->inst.n_in] = v;
    c->in[c->inst.n_in++] = (Operand){.kind = IN_TENSOR, .id = v->id};
    c->is_soft |= v->is_soft;
    if (v->grain > c->grain) c->grain = v->grain;
}
static void cand_int(Cand *c, int64_t i) {
    c->in[c->inst.n_in++] = (Operand){.kind = IN_IMM_INT, .i = i};
}
static Attr *cand_attr(Cand *c, AttrKey key) {
    Attr *a = &c->attr[c->inst.n_attr++];
    *a = (Attr){.key = (uint8_t)key};
    return a;
}
static int64_t *cand_ints(Cand *c, AttrKey key, int n) {
    int64_t *v = c->ints[c->inst.n_attr];
    Attr *a = cand_attr(c, key);
    a->n = (uint32_t)n, a->ints = v;
    return v;
}
static void cand_axis(Cand *c, int axis) { cand_ints(c, ATTR_AXIS, 1)[0] = axis; }

static bool is_exact(const Cand *c, DType d) {
    static const int bits[DT_COUNT] = {[DT_F16] = 11, [DT_BF16] = 8, [DT_F32] = 24, [DT_F64] = 53};
    if (!dtype_is_float(d)) return true;
    return c->bound * c->terms * ldexp(1, c->grain) <= ldexp(1, bits[d]);
}

/* Appends the candidate if it is valid and exact. Returns its first result, or NULL. */
static SimValue *take(Gen *g, Cand *c) {
    TensorType in[8], out[MAX_OUT];
    int n_out = 0;
    Err err = {0};
    c->inst.in = c->in, c->inst.attr = c->attr;
    bool is_lost = false;
    for (int i = 0; i < c->inst.n_in; i++)
        if (c->in[i].kind == IN_TENSOR) in[i] = c->value[i]->type, is_lost |= c->value[i]->is_lost;
    if (!inst_infer(&c->inst, in, out, &n_out, &err)) return NULL;
    for (int k = 0; k < n_out; k++)
        if (type_numel(&out[k]) > g->numel_max || out[k].rank > 5) return NULL;
    if (n_out && !c->is_soft && !is_exact(c, (DType)out[0].dtype)) return NULL;
    if (n_out && c->is_soft && !c->keeps_any) return NULL;
    if (g->n_live + n_out > LIVE_MAX) return NULL;
    if (n_out && out[0].dtype == DT_U8) c->bound = fmax(c->bound, 255); /* it wraps */
    c->inst.n_out = (uint8_t)n_out;
    for (int k = 0; k < n_out; k++) c->inst.out[k] = g->next_id++;
    program_add(g->p, &c->inst);
    for (int k = 0; k < n_out; k++)
        g->live[g->n_live++] = (SimValue){.id = c->inst.out[k],
                                          .type = out[k],
                                          .bound = c->bound * c->terms,
                                          .grain = c->grain,
                                          .is_soft = c->is_soft && dtype_is_float(out[k].dtype),
                                          .is_lost = is_lost};
    return n_out ? &g->live[g->n_live - n_out] : NULL;
}

/* ---- Sources ---- */

static int64_t some_extent(Gen *g) {
    if (chance(g, 3)) return 0;
    return chance(g, 15) ? 1 : 1 + below(g, chance(g, 20) ? 40 : 11);
}
static DType some_dtype(Gen *g) {
    static const DType of[] = {DT_F32, DT_F32, DT_F32, DT_F32,  DT_F32, DT_F32, DT_F64,
                               DT_I64, DT_I64, DT_I32, DT_BOOL, DT_U8,  DT_F16, DT_BF16};
    return of[below(g, (int)(sizeof of / sizeof *of))];
}
static TensorType some_type(Gen *g, DType d) {
    TensorType t = {.dtype = (uint8_t)d, .rank = (uint8_t)(chance(g, 8) ? 0 : 1 + below(g, 3))};
    for (int i = 0; i < t.rank; i++) t.shape[i] = some_extent(g);
    if (t.rank == 3 && chance(g, 50)) t.rank = 2;
    return t;
}

static void element(DType d, int64_t v, void *to) {
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    switch (d) {
    case DT_F32: memcpy(to, &f, 4); break;
    case DT_F64: memcpy(to, &(double){(double)v}, 8); break;
    case DT_BF16: memcpy(to, &(uint16_t){(uint16_t)(u >> 16)}, 2); break;
    case DT_F16: { /* small integers only */
        uint16_t h = (uint16_t)(u >> 16 & 0x8000);
        if (v) h = (uint16_t)(h | ((int)(u >> 23 & 255) - 112) << 10 | (u >> 13 & 0x3ff));
        memcpy(to, &h, 2);
        break;
    }
    case DT_I64: memcpy(to, &v, 8); break;
    case DT_I32: memcpy(to, &(int32_t){(int32_t)v}, 4); break;
    case DT_BOOL: *(uint8_t *)to = v & 1; break;
    default: *(uint8_t *)to = (uint8_t)v; break;
    }
}

static SimValue *gen_data(Gen *g, TensorType t) {
    Cand c;
    cand_init(&c, OP_DATA);
    cand_attr(&c, ATTR_DTYPE)->dtype = (DType)t.dtype;
    memcpy(cand_ints(&c, ATTR_SHAPE, t.rank), t.shape, sizeof t.shape);
    size_t n = (size_t)type_numel(&t), size = (size_t)dtype_info[t.dtype].size_bytes;
    char *p = arena_alloc(&g->p->arena, n * size + 1);
    for (size_t i = 0; i < n; i++) element((DType)t.dtype, below(g, 9) - 4, p + i * size);
    c.inst.payload = n ? p : NULL, c.inst.payload_bytes = n * size;
    c.bound = t.dtype == DT_U8 ? 255 : 4;
    return take(g, &c);
}

static SimValue *gen_source(Gen *g, TensorType t) {
    Cand c;
    int kind = below(g, 6);
    if (kind < 2 || (t.dtype == DT_BOOL && kind > 2)) return gen_data(g, t);
    cand_init(&c, kind == 2 ? OP_FULL : kind == 3 ? OP_RANDINT : kind == 4 ? OP_ARANGE : OP_RAND);
    if (kind == 4) t.rank = 1;
    if (kind == 5 && !dtype_is_float(t.dtype)) return gen_data(g, t);
    const SimValue *model = chance(g, 25) ? live_of(g, (DType)t.dtype) : NULL;
    if (model && kind != 4) {
        cand_in(&c, model);
        c.grain = 0, c.is_soft = false;
    } else {
        cand_attr(&c, ATTR_DTYPE)->dtype = (DType)t.dtype;
        memcpy(cand_ints(&c, ATTR_SHAPE, t.rank), t.shape, sizeof t.shape);
    }
    c.bound = 8;
    if (kind == 2) cand_int(&c, t.dtype == DT_BOOL ? 1 : below(g, 4));
    if (kind == 3) cand_int(&c, 0), cand_int(&c, 1 + below(g, 8));
    if (kind == 4) cand_int(&c, below(g, 4)), cand_int(&c, 1), c.bound = 64;
    if (kind == 3 || kind == 5) {
        int64_t *key = cand_ints(&c, ATTR_RNG, 2);
        key[0] = below(g, 1000), key[1] = below(g, 1000);
    }
    if (kind == 5) c.is_soft = c.keeps_any = true;
    return take(g, &c);
}

/* ---- Pointwise ---- */

static SimValue *gen_unary(Gen *g) {
    static const Op hard[] = {OP_NEG, OP_ABS, OP_SIGN, OP_SQUARE, OP_RELU, OP_NEG, OP_ISFINITE};
    static const Op soft[] = {OP_TANH, OP_SIGMOID, OP_SIN, OP_COS, OP_ERF};
    SimValue *v = any_live(g);
    if (!v || !is_number(v)) return NULL;
    bool softens = is_float(v) && chance(g, 15);
    Cand c;
    cand_init(&c, softens ? soft[below(g, 5)] : hard[below(g, 7)]);
    cand_in(&c, v);
    c.keeps_any = true;
    c.bound = v->bound;
    if (c.inst.op == OP_SQUARE) c.bound *= v->bound, c.grain *= 2;
    if (softens) c.is_soft = true, c.bound = 1;
    return take(g, &c);
}

static bool broadcasts(const SimValue *a, const SimValue *b) {
    TensorType t;
    return shape_broadcast(&a->type, &b->type, &t);
}

static SimValue *partner(Gen *g, const SimValue *a) {
    bool likes_same = chance(g, 40); /* scalars combine with scalars, which are mostly sums */
    for (int i = 0; i < 12; i++) {
        SimValue *b = any_live(g);
        if (likes_same && i < 6 && !type_equal(&a->type, &b->type)) continue;
        if (b->type.dtype == a->type.dtype && broadcasts(a, b)) return b;
    }
    return NULL;
}

static SimValue *gen_binary(Gen *g) {
    static const Op ops[] = {OP_ADD,     OP_ADD, OP_SUB, OP_SUB, OP_MUL, OP_MUL, OP_MAXIMUM,
                             OP_MINIMUM, OP_LT,  OP_EQ,  OP_GE,  OP_NE,  OP_MOD, OP_DIV};
    SimValue *a = any_live(g);
    if (!a || !is_number(a)) return NULL;
    Cand c;
    cand_init(&c, ops[below(g, 14)]);
    cand_in(&c, a);
    Op op = c.inst.op;
    SimValue *b = op == OP_MOD || op == OP_DIV || chance(g, 25) ? NULL : partner(g, a);
    bool was_soft = c.is_soft;
    double other = 2 + below(g, 6);
    if (op == OP_DIV) other = ldexp(1, below(g, 3));
    if (b)
        cand_in(&c, b), other = b->bound;
    else
        cand_int(&c, (int64_t)other);
    /* These may keep terms of a sum as terms, whose soft values would be added in any order. */
    bool is_linear = op == OP_ADD || op == OP_SUB || op == OP_MUL;
    c.keeps_any = !is_linear || !b || was_soft == b->is_soft;
    switch (op) {
    case OP_MUL: c.bound = a->bound * other, c.grain = a->grain + (b ? b->grain : 0); break;
    case OP_ADD:
    case OP_SUB: c.bound = a->bound + other; break;
    case OP_MOD: c.bound = other; break;
    case OP_DIV: c.bound = a->bound, c.grain += (int)log2(other), c.keeps_any = false; break;
    default: c.bound = fmax(a->bound, other); break;
    }
    SimValue *out = NULL;
    if (b && chance(g, 20)) { /* p op= e */
        cand_attr(&c, ATTR_KEEP)->b = true;
        c.inst.in = c.in, c.inst.attr = c.attr;
        TensorType t = a->type, in[2] = {a->type, b->type}, res[MAX_OUT];
        int n = 0;
        if (!inst_infer(&c.inst, in, res, &n, NULL) || !type_equal(&t, &res[0])) return NULL;
    }
    out = take(g, &c);
    return out;
}

static SimValue *gen_where(Gen *g) {
    SimValue *cond = live_of(g, DT_BOOL), *a = any_live(g), *b = a ? partner(g, a) : NULL;
    if (!cond || !b) return NULL;
    Cand c;
    cand_init(&c, OP_WHERE);
    cand_in(&c, cond), cand_in(&c, a), cand_in(&c, b);
    c.bound = fmax(a->bound, b->bound), c.keeps_any = true;
    return take(g, &c);
}

static SimValue *gen_cast_to(Gen *g, const SimValue *v, DType d) {
    Cand c;
    cand_init(&c, OP_CAST);
    cand_in(&c, v);
    cand_attr(&c, ATTR_DTYPE)->dtype = d;
    c.keeps_any = dtype_is_float(d) || v->is_soft;
    c.bound = v->type.dtype == DT_BOOL ? 1 : v->bound;
    if (!dtype_is_float(d) && is_float(v)) {
        if (v->bound > 1e9) return NULL;
        c.is_soft = false, c.grain = 0;
    }
    return take(g, &c);
}
static SimValue *gen_cast(Gen *g) {
    SimValue *v = any_live(g);
    return v ? gen_cast_to(g, v, some_dtype(g)) : NULL;
}

/* ---- Reductions ---- */

static void some_axes(Gen *g, Cand *c, int rank) {
    if (rank == 0 || chance(g, 20)) return;
    int64_t set[MAX_DIMS];
    int n = 0;
    for (int a = 0; a < rank; a++)
        if (chance(g, 45)) set[n++] = a;
    if (n == 0) set[n++] = below(g, rank);
    memcpy(cand_ints(c, ATTR_AXIS, n), set, sizeof set);
}

static SimValue *gen_reduce(Gen *g) {
    static const Op ops[] = {OP_SUM, OP_SUM, OP_SUM, OP_SUM, OP_MAX,
                             OP_MIN, OP_ANY, OP_ALL, OP_PROD};
    SimValue *v = any_live(g);
    if (!v) return NULL;
    Op op = ops[below(g, 9)];
    if (op == OP_PROD && is_float(v) && (v->bound > 1 || v->grain)) return NULL;
    if ((op == OP_MAX || op == OP_MIN) && is_float(v)) {
        Cand zero; /* -0 and 0 have equal magnitude: which one is the result would be random */
        cand_init(&zero, OP_ADD);
        cand_in(&zero, v);
        cand_int(&zero, 0);
        zero.bound = v->bound, zero.keeps_any = true;
        v = take(g, &zero);
        if (!v) return NULL;
    }
    Cand c;
    cand_init(&c, op);
    cand_in(&c, v);
    some_axes(g, &c, v->type.rank);
    if (chance(g, 40)) cand_attr(&c, ATTR_KEEPDIMS)->b = chance(g, 70);
    c.keeps_any = op != OP_SUM && op != OP_PROD;
    c.bound = v->type.dtype == DT_BOOL ? 1 : v->bound;
    if (op == OP_SUM) c.terms = fmax(1, (double)type_numel(&v->type));
    if (op == OP_PROD) c.bound = pow(fmax(1, c.bound), (double)type_numel(&v->type));
    return take(g, &c);
}

static SimValue *gen_along(Gen *g) {
    static const Op ops[] = {OP_CUMSUM, OP_SORT,   OP_ARGSORT, OP_TOPK,
                             OP_ARGMAX, OP_ARGMIN, OP_CUMMAX};
    SimValue *v = any_live(g);
    if (!v || v->type.rank == 0) return NULL;
    Cand c;
    cand_init(&c, ops[below(g, 7)]);
    cand_in(&c, v);
    int axis = below(g, v->type.rank);
    cand_axis(&c, axis);
    c.keeps_any = c.inst.op != OP_CUMSUM;
    c.bound = fmax(v->bound, (double)type_numel(&v->type));
    if (c.inst.op == OP_CUMSUM)
        c.terms = fmax(1, (double)v->type.shape[axis]), c.bound = v->bound;
    else if (c.inst.op == OP_SORT || c.inst.op == OP_TOPK || c.inst.op == OP_CUMMAX)
        c.bound = v->bound;
    if (c.inst.op == OP_TOPK) {
        cand_attr(&c, ATTR_K)->i = 1 + below(g, (int)v->type.shape[axis] + 1);
        cand_attr(&c, ATTR_LARGEST)->b = chance(g, 50);
    }
    if (c.inst.op == OP_SORT || c.inst.op == OP_ARGSORT)
        cand_attr(&c, ATTR_DESCENDING)->b = chance(g, 50);
    return take(g, &c);
}

/* ---- Views ---- */

static SimValue *gen_reshape(Gen *g, const SimValue *v) {
    Cand c;
    cand_init(&c, OP_RESHAPE);
    cand_in(&c, v);
    int64_t shape[MAX_DIMS], n = type_numel(&v->type);
    int rank = 0;
    if (n == 0) return NULL;
    while (n > 1 && rank < 3) { /* a random factorisation */
        int64_t f = 1 + below(g, (int)(n < 60 ? n : 60));
        while (n % f) f--;
        shape[rank++] = f, n /= f;
    }
    if (n > 1 || chance(g, 20)) shape[rank++] = n;
    memcpy(cand_ints(&c, ATTR_SHAPE, rank), shape, sizeof shape);
    c.bound = v->bound, c.keeps_any = true;
    return take(g, &c);
}

static SimValue *gen_slice(Gen *g, const SimValue *v, const SimValue *put) {
    Cand c;
    cand_init(&c, put ? OP_SLICE_PUT : OP_SLICE);
    cand_in(&c, v);
    if (put) cand_in(&c, put);
    int rank = v->type.rank;
    int64_t *start = cand_ints(&c, ATTR_START, rank), *size = cand_ints(&c, ATTR_SIZE, rank),
            *step = cand_ints(&c, ATTR_STEP, rank);
    for (int a = 0; a < rank; a++) {
        int n = (int)v->type.shape[a];
        start[a] = 0, size[a] = n, step[a] = 1;
        if (n == 0 || chance(g, 45)) continue;
        start[a] = below(g, n);
        step[a] = chance(g, 30) ? 1 + below(g, 3) : 1;
        size[a] = 1 + below(g, (int)((n - start[a] + step[a] - 1) / step[a]));
    }
    c.bound = put ? fmax(v->bound, put->bound) : v->bound, c.keeps_any = true;
    return take(g, &c);
}

static SimValue *gen_view(Gen *g) {
    SimValue *v = any_live(g);
    if (!v) return NULL;
    int rank = v->type.rank;
    Cand c;
    switch (below(g, 5)) {
    case 0:
    case 1: return gen_reshape(g, v);
    case 2: return rank ? gen_slice(g, v, NULL) : NULL;
    case 3: {
        cand_init(&c, OP_PERMUTE);
        cand_in(&c, v);
        int64_t *axes = cand_ints(&c, ATTR_AXES, rank);
        for (int a = 0; a < rank; a++) axes[a] = a;
        for (int a = rank - 1; a > 0; a--) {
            int b = below(g, a + 1);
            int64_t t = axes[a];
            axes[a] = axes[b], axes[b] = t;
        }
        break;
    }
    default: {
        cand_init(&c, OP_EXPAND);
        cand_in(&c, v);
        int lead = chance(g, 60) && rank < 4;
        int64_t *shape = cand_ints(&c, ATTR_SHAPE, rank + lead);
        if (lead) shape[0] = 1 + below(g, 5);
        for (int a = 0; a < rank; a++)
            shape[a + lead] = v->type.shape[a] == 1 ? 1 + below(g, 6) : v->type.shape[a];
    }
    }
    c.bound = v->bound, c.keeps_any = true;
    return take(g, &c);
}

/* ---- Kernels ---- */

static SimValue *gen_matmul(Gen *g) {
    SimValue *a = any_live(g), *b = NULL;
    if (!a || !is_number(a) || a->type.rank == 0) return NULL;
    int64_t K = a->type.shape[a->type.rank - 1];
    for (int i = 0; i < 10 && !b; i++) {
        SimValue *v = any_live(g);
        if (v->type.dtype != a->type.dtype || v->type.rank == 0) continue;
        if (v->type.shape[v->type.rank > 1 ? v->type.rank - 2 : 0] == K) b = v;
    }
    if (!b) {
        TensorType t = {.dtype = a->type.dtype, .rank = 2, .shape = {K, some_extent(g)}};
        b = gen_source(g, t);
        if (!b || b->is_soft) return NULL;
    }
    Cand c;
    cand_init(&c, OP_MATMUL);
    cand_in(&c, a), cand_in(&c, b);
    c.bound = a->bound * b->bound, c.terms = fmax(1, (double)K), c.grain = a->grain + b->grain;
    return take(g, &c);
}

static SimValue *gen_cat(Gen *g) {
    SimValue *a = any_live(g);
    if (!a || a->type.rank == 0) return NULL;
    int axis = below(g, a->type.rank);
    Cand c;
    cand_init(&c, OP_CAT);
    cand_in(&c, a);
    c.bound = a->bound, c.keeps_any = true;
    for (int i = 0; i < 20 && c.inst.n_in < 4; i++) {
        SimValue *b = any_live(g);
        bool fits = b->type.dtype == a->type.dtype && b->type.rank == a->type.rank;
        for (int k = 0; fits && k < a->type.rank; k++)
            fits = k == axis || b->type.shape[k] == a->type.shape[k];
        if (!fits) continue;
        cand_in(&c, b);
        c.bound = fmax(c.bound, b->bound);
    }
    cand_axis(&c, axis);
    return take(g, &c);
}

/* Integers below n, of some shape. counts_back: some may be negative. */
static SimValue *gen_indices(Gen *g, TensorType t, int64_t n, bool counts_back) {
    if (n <= 0) return NULL;
    t.dtype = DT_I64;
    Cand c;
    cand_init(&c, OP_RANDINT);
    cand_attr(&c, ATTR_DTYPE)->dtype = DT_I64;
    memcpy(cand_ints(&c, ATTR_SHAPE, t.rank), t.shape, sizeof t.shape);
    bool mistakes = g->makes_mistakes && chance(g, 20);
    cand_int(&c, chance(g, 20) && !mistakes && counts_back ? -n : 0);
    cand_int(&c, mistakes ? n + 1 : n);
    int64_t *key = cand_ints(&c, ATTR_RNG, 2);
    key[0] = below(g, 1000), key[1] = below(g, 1000);
    c.bound = (double)n;
    SimValue *v = take(g, &c);
    if (v && mistakes) v->is_lost = true, g->p->has_mistakes = true;
    return v;
}

static SimValue *gen_index(Gen *g) {
    SimValue *x = any_live(g);
    if (!x || x->type.rank == 0 || type_numel(&x->type) == 0) return NULL;
    int axis = below(g, x->type.rank), kind = below(g, 5);
    int64_t n = x->type.shape[axis];
    TensorType t = x->type;
    if (kind >= 2) t.shape[axis] = 1 + below(g, 8);
    if (kind < 2) {
        t.rank = (uint8_t)(1 + chance(g, 30));
        for (int i = 0; i < t.rank; i++) t.shape[i] = 1 + below(g, 9);
    }
    if (kind >= 2 && chance(g, 30)) /* gather may read less of the other axes */
        for (int i = 0; i < t.rank; i++)
            if (i != axis && t.shape[i] > 1 && chance(g, 40))
                t.shape[i] = 1 + below(g, (int)t.shape[i]);
    SimValue *idx = gen_indices(g, t, n, kind < 2), *src = NULL;
    if (!idx) return NULL;
    Cand c;
    if (kind == 0 || kind == 2) {
        cand_init(&c, kind == 0 ? OP_INDEX : OP_GATHER);
        cand_in(&c, x), cand_in(&c, idx);
        cand_axis(&c, axis);
        c.bound = x->bound, c.keeps_any = true;
        return take(g, &c);
    }
    TensorType s = idx->type;
    if (kind == 1) { /* index_put: the parts of x at the indices */
        TensorType part = {.rank = 0};
        for (int i = 0; i < axis; i++) part.shape[part.rank++] = x->type.shape[i];
        for (int i = 0; i < s.rank; i++) part.shape[part.rank++] = s.shape[i];
        for (int i = axis + 1; i < x->type.rank; i++) part.shape[part.rank++] = x->type.shape[i];
        s = part;
    }
    s.dtype = x->type.dtype;
    if (type_numel(&s) > NUMEL_MAX) return NULL;
    src = gen_source(g, s);
    if (!src || !type_equal(&src->type, &s)) return NULL;
    cand_init(&c, kind == 1 ? OP_INDEX_PUT : kind == 3 ? OP_SCATTER_ADD : OP_SCATTER_REDUCE);
    cand_in(&c, x);
    cand_in(&c, kind == 1 ? src : idx), cand_in(&c, kind == 1 ? idx : src);
    cand_axis(&c, axis);
    bool adds = kind == 3;
    if (kind == 1) adds = cand_attr(&c, ATTR_ACCUMULATE)->b = chance(g, 60) && is_number(x);
    if (kind == 4) {
        if (is_float(x)) return NULL; /* signs of zeros */
        Attr *a = cand_attr(&c, ATTR_REDUCE);
        a->str = chance(g, 50) ? "amax" : "amin", a->n = 4;
    }
    c.keeps_any = !adds;
    c.bound = adds ? x->bound + src->bound * (double)type_numel(&s) : fmax(x->bound, src->bound);
    return take(g, &c);
}

static SimValue *gen_conv(Gen *g) {
    bool pools = chance(g, 40);
    TensorType x = {.dtype = DT_F32, .rank = 4, .shape = {1 + below(g, 5), 1 + below(g, 3), 5, 6}};
    SimValue *v = NULL;
    for (int i = 0; i < g->n_live && !v; i++)
        if (g->live[i].type.rank == 4 && is_float(&g->live[i]) && chance(g, 60)) v = &g->live[i];
    if (!v) v = gen_data(g, x);
    if (!v) return NULL;
    Cand c;
    cand_init(&c, pools ? OP_MAX_POOL : OP_CONV);
    cand_in(&c, v);
    c.bound = v->bound;
    if (pools) {
        int64_t *k = cand_ints(&c, ATTR_KERNEL, 2);
        k[0] = k[1] = 2;
        c.bound = fmax(c.bound, (double)type_numel(&v->type));
        c.keeps_any = true;
    } else {
        TensorType w = {.dtype = v->type.dtype,
                        .rank = 4,
                        .shape = {1 + below(g, 6), v->type.shape[1], 1 + below(g, 3), 2}};
        SimValue *weight = gen_data(g, w);
        if (!weight) return NULL;
        cand_in(&c, weight);
        c.grain = v->grain + weight->grain;
        c.bound = v->bound * 4, c.terms = fmax(1, (double)(w.shape[1] * w.shape[2] * w.shape[3]));
        if (chance(g, 40)) {
            int64_t *p = cand_ints(&c, ATTR_PADDING, 2);
            p[0] = below(g, 2), p[1] = below(g, 2);
        }
        if (chance(g, 30)) {
            int64_t *s = cand_ints(&c, ATTR_STRIDE, 2);
            s[0] = 1 + below(g, 2), s[1] = 1 + below(g, 2);
        }
    }
    return take(g, &c);
}

/* ---- Signals, effects, frees ---- */

static void signal_name(Gen *g, Cand *c) {
    static const char *const names[SIGNALS] = {"s0", "s1", "s2", "s3", "s4"};
    Attr *a = cand_attr(c, ATTR_NAME);
    a->str = names[below(g, SIGNALS)], a->n = 2;
}

static void gen_define(Gen *g) {
    Cand c;
    cand_init(&c, OP_SIGNAL_DEFINE);
    signal_name(g, &c);
    bool is_whole = chance(g, 20);
    if (!is_whole && chance(g, 90)) cand_ints(&c, ATTR_AXIS, 1)[0] = below(g, 5) - 2;
    if (chance(g, 60)) {
        int64_t rank[MAX_DIMS];
        int n = 0, most = g->n_workers < MAX_DIMS ? g->n_workers : MAX_DIMS;
        for (int i = 0; i < most; i++) rank[i] = i;
        for (int i = most - 1; i > 0; i--) {
            int k = below(g, i + 1);
            int64_t t = rank[i];
            rank[i] = rank[k], rank[k] = t;
        }
        n = chance(g, 20) ? 0 : 1 + below(g, most);
        memcpy(cand_ints(&c, ATTR_WORKERS, n), rank, sizeof rank);
    }
    if (is_whole || chance(g, 15)) cand_attr(&c, ATTR_REPLICATED)->b = is_whole;
    take(g, &c);
}

static void gen_signal(Gen *g) {
    Cand c;
    int kind = below(g, 10);
    if (kind == 0) {
        gen_define(g);
    } else if (kind < 5 && g->depth < 3) {
        cand_init(&c, OP_SIGNAL_ENTER);
        signal_name(g, &c);
        take(g, &c);
        g->depth++;
    } else if (kind < 8 && g->depth > 0) {
        cand_init(&c, OP_SIGNAL_EXIT);
        take(g, &c);
        g->depth--;
    } else if (any_live(g)) {
        SimValue *v = any_live(g);
        cand_init(&c, OP_SHARD);
        cand_in(&c, v);
        signal_name(g, &c);
        c.bound = v->bound, c.keeps_any = true;
        take(g, &c);
    }
}

static void gen_effect(Gen *g) {
    static const Op ops[] = {OP_FETCH, OP_FETCH, OP_FETCH, OP_PEEK, OP_PRINT, OP_SYNC};
    Cand c;
    cand_init(&c, ops[below(g, 6)]);
    int n = c.inst.op == OP_PRINT ? below(g, 3) : c.inst.op != OP_SYNC;
    for (int i = 0; i < n && g->n_live; i++) cand_in(&c, any_live(g));
    if (c.inst.op == OP_PEEK) {
        cand_attr(&c, ATTR_EDGE)->i = 1 + below(g, 3);
        cand_attr(&c, ATTR_THRESHOLD)->i = below(g, 30);
    }
    if (c.inst.op == OP_PRINT) {
        Attr *a = cand_attr(&c, ATTR_FORMAT);
        static const char *const formats[] = {"x", "{}", "{} {}"};
        a->str = formats[c.inst.n_in], a->n = (uint32_t)strlen(a->str);
    }
    take(g, &c);
}

static void gen_free(Gen *g, int n) {
    Cand c;
    cand_init(&c, OP_FREE);
    SimValue gone[8];
    for (int i = 0; i < n && i < 8 && g->n_live; i++) {
        int k = below(g, g->n_live);
        gone[i] = g->live[k];
        g->live[k] = g->live[--g->n_live];
        cand_in(&c, &gone[i]);
    }
    if (c.inst.n_in) take(g, &c);
}

/* A payload in a message part of its own, and a small one. */
static void gen_large(Gen *g) {
    TensorType t = {.dtype = DT_F64, .rank = 2, .shape = {97, 90 + below(g, 10)}};
    g->numel_max = 10000;
    SimValue *v = gen_data(g, t);
    g->numel_max = NUMEL_MAX;
    if (!v) return;
    Cand c;
    cand_init(&c, OP_SUM);
    cand_in(&c, v);
    cand_axis(&c, below(g, 2));
    c.bound = v->bound, c.terms = 100;
    take(g, &c);
    SimValue *last = &g->live[g->n_live - 1], gone = *v;
    if (last == v) return;
    *v = *last; /* The sum replaces it. */
    g->n_live--;
    cand_init(&c, OP_FREE);
    cand_in(&c, &gone);
    if (chance(g, 80)) take(g, &c);
}

static void gen_check(Gen *g) {
    Cand c;
    cand_init(&c, OP_CHECK);
    cand_attr(&c, ATTR_NAN)->b = chance(g, 60);
    take(g, &c);
}

/* An invalid instruction: the dispatcher refuses it and poisons its dependants. */
static void gen_mistake(Gen *g) {
    SimValue *a = any_live(g), *b = any_live(g);
    if (!a || !b || g->n_live == LIVE_MAX || broadcasts(a, b) || !is_number(a)) return;
    Operand in[2] = {{.kind = IN_TENSOR, .id = a->id}, {.kind = IN_TENSOR, .id = b->id}};
    Inst inst = {.op = OP_ADD, .n_in = 2, .in = in, .n_out = 1, .out = {g->next_id}};
    program_add(g->p, &inst);
    g->live[g->n_live++] =
        (SimValue){.id = g->next_id++, .type = a->type, .bound = a->bound, .is_lost = true};
    g->p->has_mistakes = true;
}

static void gen_step(Gen *g) {
    static SimValue *(*const makers[])(Gen *) = {
        gen_unary,  gen_binary, gen_binary, gen_binary, gen_where, gen_cast,
        gen_reduce, gen_reduce, gen_along,  gen_view,   gen_view,  gen_matmul,
        gen_matmul, gen_cat,    gen_index,  gen_index,  gen_conv};
    int kind = below(g, 100);
    if (g->n_live < 3 || kind < 8)
        gen_source(g, some_type(g, some_dtype(g)));
    else if (kind < 20)
        gen_signal(g);
    else if (kind < 30)
        gen_effect(g);
    else if (kind < 42 || g->n_live > LIVE_MAX - 6)
        gen_free(g, 1 + below(g, 3));
    else if (kind == 42 && chance(g, 30))
        chance(g, 60) ? gen_large(g) : gen_check(g);
    else if (kind < 43 && g->makes_mistakes)
        gen_mistake(g);
    else if (kind < 45) {
        Cand c;
        cand_init(&c, chance(g, 80) ? OP_EDGE : OP_NOTE);
        if (c.inst.op == OP_NOTE) {
            Attr *a = cand_attr(&c, ATTR_FORMAT);
            a->str = "note", a->n = 4;
        }
        take(g, &c);
    } else if (kind < 49) {
        SimValue *a = any_live(g);
        if (a && a->type.rank) {
            SimValue *put = partner(g, a);
            if (put) gen_slice(g, a, put);
        }
    } else {
        makers[below(g, (int)(sizeof makers / sizeof *makers))](g);
    }
}

/* ---- Loops ---- */

/* Finds where a loop over the last instructions, at most so many, may begin such that none of them
 * frees older tensors and all scopes are closed. Returns the earliest such index or a later one;
 * the end: there is none. *from: ids from there on belong to the loop. */
static int loop_begin(Gen *g, int most, uint64_t *from) {
    const SimProgram *p = g->p;
    int open = 0, begin = p->n;
    uint64_t first = g->next_id, freed = UINT64_MAX;
    for (int k = p->n - 1; k >= 0 && p->n - k <= most; k--) {
        const Inst *in = p->inst[k];
        open += (in->op == OP_SIGNAL_EXIT) - (in->op == OP_SIGNAL_ENTER);
        bool may_repeat = in->op != OP_EDGE && in->op != OP_SIGNAL_DEFINE && in->op != OP_CHECK;
        if (!may_repeat || open < 0) break;
        if (in->n_out && in->out[0] < first) first = in->out[0];
        for (int i = 0; in->op == OP_FREE && i < in->n_in; i++)
            if (in->in[i].id < freed) freed = in->in[i].id;
        if (open || freed < first || (begin < p->n && chance(g, 10))) continue;
        begin = k;
        *from = first;
    }
    return begin;
}

/* Repeats `in`: adds `by` to ids from `from` on; does not free other ids. */
static void repeat(Gen *g, const Inst *in, uint64_t from, uint64_t by) {
    Inst again = *in;
    Operand o[8];
    again.in = o, again.n_in = 0;
    for (int i = 0; i < in->n_in; i++) {
        Operand *to = &o[again.n_in++];
        *to = in->in[i];
        if (to->kind != IN_TENSOR) continue;
        if (to->id >= from)
            to->id += by;
        else if (in->op == OP_FREE)
            again.n_in--;
    }
    if (in->op == OP_FREE && !again.n_in) return;
    for (int k = 0; k < in->n_out; k++) again.out[k] += by;
    program_add(g->p, &again);
    g->p->inst[g->p->n - 1]->pos = in->pos;
}

/* Finds the ids that an iteration made and did not free. */
static int left_of(const SimProgram *p, int begin, int end, uint64_t from, uint64_t *left) {
    int n = 0;
    for (int k = begin; k < end; k++) {
        const Inst *in = p->inst[k];
        for (int i = 0; i < in->n_out; i++) left[n++] = in->out[i];
        for (int i = 0; in->op == OP_FREE && i < in->n_in; i++)
            for (int v = 0; v < n; v++)
                if (in->in[i].id == left[v] && left[v] >= from) left[v--] = left[--n];
    }
    return n;
}

/* Repeats the last instructions like a loop: with edges, and new ids. */
static void gen_loop(Gen *g) {
    enum { MOST = 40 };
    const SimProgram *p = g->p;
    uint64_t left[MAX_OUT * (MOST + 2)], from = 0;
    int end = p->n, begin = loop_begin(g, 2 + below(g, MOST), &from);
    uint64_t by = g->next_id - from;
    if (begin == end || !by || p->has_mistakes) return;
    int n_left = left_of(p, begin, end, from, left), times = 2 + below(g, 9);
    for (int t = 1; t <= times; t++) {
        program_add(g->p, &(Inst){.op = OP_EDGE});
        g->p->inst[p->n - 1]->pos.line = 1;
        for (int k = begin; k < end; k++) repeat(g, p->inst[k], from, (uint64_t)t * by);
        for (int i = 0; i < n_left; i += 8) {
            Operand o[8];
            Inst gone = {.op = OP_FREE, .in = o};
            for (int k = i; k < n_left && k < i + 8; k++)
                o[gone.n_in++] = (Operand){.kind = IN_TENSOR, .id = left[k] + (uint64_t)t * by};
            program_add(g->p, &gone);
            g->p->inst[p->n - 1]->pos.line = 2;
        }
    }
    program_add(g->p, &(Inst){.op = OP_EDGE});
    g->next_id += (uint64_t)times * by;
}

/* Generates about n instructions, then a fetch of some live tensors; frees all if requested. */
static void program_make(SimProgram *p, uint64_t seed, int n, int n_workers, bool makes_mistakes) {
    Gen *g = xcalloc(1, sizeof *g);
    g->p = p, g->r.state = seed, g->n_workers = n_workers, g->makes_mistakes = makes_mistakes;
    g->next_id = (uint64_t)below(g, 1000);
    g->numel_max = NUMEL_MAX;
    for (int i = 0; i < SIGNALS; i++)
        if (chance(g, 80)) gen_define(g);
    bool loops = chance(g, 60);
    for (int tries = 0; p->n < n && tries < 20 * n; tries++) {
        gen_step(g);
        if (loops && p->n > 12 && chance(g, 6)) gen_loop(g);
    }
    for (int i = 0; i < g->n_live; i++) {
        Cand c;
        cand_init(&c, OP_FETCH);
        cand_in(&c, &g->live[i]);
        if (chance(g, 60)) take(g, &c);
    }
    while (g->depth-- > 0) {
        Cand c;
        cand_init(&c, OP_SIGNAL_EXIT);
        take(g, &c);
    }
    while (g->n_live) gen_free(g, 8);
    free(g);
}
#endif
