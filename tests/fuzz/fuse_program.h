/* fuse_program.h: random programs for fuse.c, as instructions of one client: pointwise operations,
 * casts, reductions and views of all dtypes, of shapes that broadcast, odd and empty ones included,
 * on data with nan, infinities and both zeros; frees of tensors just used and of others; constants;
 * elements gathered from rows and scattered into them, at indices that may be out of range;
 * sometimes a matrix product, an edge, a fetch. Candidates that inst_infer refuses are dropped. The
 * program's arena owns all memory.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_FUZZ_FUSE_PROGRAM_H
#define GT_TESTS_FUZZ_FUSE_PROGRAM_H
#include "worker/prove/outcome.h"
#include "runtime/inst/element.h"
#include "runtime/inst/inst.h"
#include "tests/unit/random.h"
#include <math.h>
#include <string.h>

enum { PROGRAM_MAX = 400, LIVE_MAX = 40, NUMEL_MAX = 30000 };

typedef struct Live {
    uint64_t id;
    TensorType type;
} Live;

typedef struct Program {
    Arena arena;
    Rand r;
    Inst *inst[PROGRAM_MAX];
    int n;
    Live live[LIVE_MAX];
    int n_live;
    uint64_t next_id;
    TensorType base[2]; /* most tensors have this shape, or one that broadcasts to it */
    TensorType focus;   /* most operands have this type ... */
    int focused;        /* ... for so many more instructions: such runs become one fusion */
} Program;

static Attr ints_attr(Program *p, AttrKey key, const int64_t *v, int n) {
    int64_t *own = arena_alloc(&p->arena, sizeof *own * (size_t)(n + 1));
    memcpy(own, v, sizeof *own * (size_t)n);
    return (Attr){.key = (uint8_t)key, .n = (uint32_t)n, .ints = own};
}

static void keep(Program *p, const Inst *in) {
    if (p->n < PROGRAM_MAX) p->inst[p->n++] = inst_copy(in, &p->arena);
}

static bool is_portable; /* without functions whose bits differ on a device */

/* Appends the instruction if it is valid; its result becomes live. */
static bool try_inst(Program *p, Inst *in, const TensorType *types) {
    TensorType out[MAX_OUT];
    int n_out;
    Err err;
    if (p->n_live == LIVE_MAX || p->n >= PROGRAM_MAX - LIVE_MAX - 1) return false;
    if (!inst_infer(in, types, out, &n_out, &err) || n_out != 1) return false;
    if (type_numel(&out[0]) > NUMEL_MAX) return false;
    if (is_portable && outcome_may_be_of_library(in->op, (DType)out[0].dtype)) return false;
    in->n_out = 1;
    in->out[0] = p->next_id++;
    in->pos = (SrcPos){.line = (uint32_t)p->n + 1};
    keep(p, in);
    p->live[p->n_live++] = (Live){in->out[0], out[0]};
    return true;
}

static void effect(Program *p, Op op, uint64_t id) {
    Operand o = {.kind = IN_TENSOR, .id = id};
    keep(p, &(Inst){.op = op, .n_in = 1, .in = &o});
}

static void free_live(Program *p, int k) {
    effect(p, OP_FREE, p->live[k].id);
    p->live[k] = p->live[--p->n_live];
}

/* A live tensor, often a recent one, or one of the focus. */
static int choose(Program *p) {
    for (int tries = 0; p->focused && tries < 12; tries++) {
        int k = tries || rand_below(&p->r, 2) ? rand_below(&p->r, p->n_live) : p->n_live - 1;
        if (type_equal(&p->live[k].type, &p->focus)) return k;
    }
    int young = p->n_live < 6 ? p->n_live : 6;
    return rand_below(&p->r, 3) ? p->n_live - 1 - rand_below(&p->r, young)
                                : rand_below(&p->r, p->n_live);
}

/* ---- Leaves ---- */

static double odd_float(Rand *r) {
    static const double odd[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 1e-40, 100, 1e30, 65504};
    uint64_t u = rand_u64(r);
    if ((u & 15) == 0) return odd[(u >> 8) % 11];
    return ((double)(u >> 40) * 0x1p-24 - 0.5) * 8;
}

static void put_element(Rand *r, DType d, char *to) {
    if (dtype_is_float(d)) {
        element_set_float(d, to, odd_float(r));
        return;
    }
    uint64_t u = rand_u64(r);
    int64_t i = (u & 15) == 0 ? (int64_t)(u >> 4) : (int64_t)((u >> 16) % 21) - 10;
    element_set_int(d, to, d == DT_BOOL ? i & 1 : i);
}

static bool data_leaf(Program *p, const TensorType *t) {
    DType d = (DType)t->dtype;
    uint64_t size = (uint64_t)dtype_info[d].size_bytes;
    char *data = arena_alloc(&p->arena, type_bytes(t) + 8);
    for (int64_t i = 0; i < type_numel(t); i++) put_element(&p->r, d, data + (uint64_t)i * size);
    Attr attr[] = {ints_attr(p, ATTR_SHAPE, t->shape, t->rank), {.key = ATTR_DTYPE, .dtype = d}};
    Inst in = {.op = OP_DATA, .n_attr = 2, .attr = attr};
    in.payload = data;
    in.payload_bytes = type_bytes(t);
    return try_inst(p, &in, NULL);
}

static void leaf(Program *p, DType d) {
    TensorType t = p->base[rand_below(&p->r, 4) == 0];
    int skip = rand_below(&p->r, 4) == 0 ? rand_below(&p->r, t.rank + 1) : 0;
    for (int a = 0; a + skip < t.rank; a++) {
        t.shape[a] = t.shape[a + skip];
        if (rand_below(&p->r, 6) == 0) t.shape[a] = 1;
    }
    t.rank = (uint8_t)(t.rank - skip);
    t.dtype = (uint8_t)d;
    data_leaf(p, &t);
}

static DType some_dtype(Rand *r) {
    return rand_below(r, 2) ? DT_F32 : (DType)rand_below(r, DT_COUNT);
}

/* ---- Operations ---- */

static Operand immediate(Rand *r, DType d) {
    if (d == DT_BOOL && rand_below(r, 2)) return (Operand){.kind = IN_IMM_BOOL, .b = true};
    if (dtype_is_float(d) && rand_below(r, 3)) {
        double v = odd_float(r);
        return (Operand){.kind = IN_IMM_FLOAT, .f = fabs(v) < 1e5 ? v : 0.5};
    }
    return (Operand){.kind = IN_IMM_INT, .i = rand_below(r, 5)};
}

/* An op over live tensors of one dtype, with some immediates. */
static bool map_inst(Program *p, Op op) {
    Operand in[3];
    TensorType types[3] = {{0}};
    int n = op_info[op].arity, first = choose(p);
    DType d = (DType)p->live[first].type.dtype;
    int place = op == OP_WHERE ? 1 + rand_below(&p->r, 2) : rand_below(&p->r, n);
    for (int i = 0; i < n; i++) {
        DType want = op == OP_WHERE && i == 0 ? DT_BOOL : d;
        int k = i == place ? first : -1;
        for (int tries = 0; k < 0 && tries < 8 && rand_below(&p->r, 8); tries++) {
            int c = choose(p);
            if (p->live[c].type.dtype == want) k = c;
        }
        in[i] = k < 0 ? immediate(&p->r, want) : (Operand){.kind = IN_TENSOR, .id = p->live[k].id};
        if (k >= 0) types[i] = p->live[k].type;
    }
    return try_inst(p, &(Inst){.op = op, .n_in = (uint16_t)n, .in = in}, types);
}

/* A row of the class; for pointwise ones every other time one that is common in programs. */
static Op some_row(Rand *r, OpClass c) {
    static const Op usual[16] = {OP_ADD,  OP_ADD,   OP_SUB, OP_MUL,  OP_MUL,  OP_DIV,
                                 OP_NEG,  OP_EXP,   OP_LOG, OP_TANH, OP_SQRT, OP_MAXIMUM,
                                 OP_RELU, OP_WHERE, OP_GT,  OP_EQ};
    if (c == CLASS_MAP && rand_below(r, 2)) return usual[rand_below(r, 16)];
    for (;;) {
        Op op = (Op)rand_below(r, OP_COUNT);
        if (op_info[op].class_ == c) return op;
    }
}

static bool unary(Program *p, Op op, const Attr *attr, int n_attr, const Live *x) {
    Operand in = {.kind = IN_TENSOR, .id = x->id};
    Inst inst = {.op = op, .n_in = 1, .in = &in, .attr = attr, .n_attr = (uint16_t)n_attr};
    return try_inst(p, &inst, &x->type);
}

static bool reduce_inst(Program *p) {
    Live x = p->live[choose(p)];
    int64_t axes[MAX_DIMS];
    int n = 0, from = rand_below(&p->r, x.type.rank + 1);
    bool is_last = rand_below(&p->r, 3) > 0; /* the last axes or the first: these are fused */
    for (int a = 0; a < x.type.rank; a++)
        if ((a >= from) == is_last ? rand_below(&p->r, 12) > 0 : rand_below(&p->r, 12) == 0)
            axes[n++] = a;
    Attr attr[] = {ints_attr(p, ATTR_AXIS, axes, n),
                   {.key = ATTR_KEEPDIMS, .b = rand_below(&p->r, 3) > 0}};
    return unary(p, some_row(&p->r, CLASS_REDUCE), attr, 2, &x);
}

static bool view_inst(Program *p) {
    Live x = p->live[choose(p)];
    int64_t v[MAX_DIMS], size[MAX_DIMS], step[MAX_DIMS];
    int rank = x.type.rank;
    switch (rand_below(&p->r, 4)) {
    case 0:
        for (int a = 0; a < rank; a++) v[a] = a;
        for (int a = rank - 1; a > 0; a--) {
            int b = rand_below(&p->r, a + 1);
            int64_t k = v[a];
            v[a] = v[b], v[b] = k;
        }
        return unary(p, OP_PERMUTE, (Attr[]){ints_attr(p, ATTR_AXES, v, rank)}, 1, &x);
    case 1: {
        for (int a = 0; a < rank; a++) {
            step[a] = rand_below(&p->r, 3) ? 1 : 2;
            v[a] = rand_below(&p->r, 4) ? 0 : rand_below(&p->r, (int)x.type.shape[a] + 1);
            size[a] = (x.type.shape[a] - v[a] + step[a] - 1) / step[a];
        }
        Attr attr[] = {ints_attr(p, ATTR_START, v, rank), ints_attr(p, ATTR_SIZE, size, rank),
                       ints_attr(p, ATTR_STEP, step, rank)};
        return unary(p, OP_SLICE, attr, 3, &x);
    }
    case 2: { /* merges two neighbouring axes, or adds an axis of 1 */
        int n = 0, at = rand_below(&p->r, rank + 1);
        for (int a = 0; a < rank; a++) {
            if (a == at) v[n++] = 1;
            v[n++] = x.type.shape[a];
            if (n == MAX_DIMS) return false;
        }
        if (at == rank) v[n++] = 1;
        if (rank >= 2 && rand_below(&p->r, 2)) {
            n = 0;
            for (int a = 0; a < rank; a++) v[n++] = x.type.shape[a];
            at = rand_below(&p->r, rank - 1);
            v[at] *= v[at + 1];
            for (int a = at + 1; a + 1 < n; a++) v[a] = v[a + 1];
            n--;
        }
        return unary(p, OP_RESHAPE, (Attr[]){ints_attr(p, ATTR_SHAPE, v, n)}, 1, &x);
    }
    default: {
        const TensorType *b = &p->base[rand_below(&p->r, 2)];
        return unary(p, OP_EXPAND, (Attr[]){ints_attr(p, ATTR_SHAPE, b->shape, b->rank)}, 1, &x);
    }
    }
}

static bool constant(Program *p, const TensorType *t) {
    Operand in = immediate(&p->r, (DType)t->dtype);
    Attr attr[] = {ints_attr(p, ATTR_SHAPE, t->shape, t->rank),
                   {.key = ATTR_DTYPE, .dtype = (DType)t->dtype}};
    return try_inst(p, &(Inst){.op = OP_FULL, .n_in = 1, .in = &in, .n_attr = 2, .attr = attr},
                    NULL);
}

/* Gathers one element of each row of x, or scatters one of each row into rows of a constant. */
static void along_rows(Program *p) {
    Live x = p->live[choose(p)];
    int last = x.type.rank - 1, n = p->n_live;
    if (last < 0 || x.type.shape[last] == 0 || n + 4 > LIVE_MAX) return;
    TensorType t = x.type;
    t.dtype = DT_I64;
    t.shape[last] = 1;
    int64_t *at = arena_alloc(&p->arena, type_bytes(&t) + 8);
    bool may_be_wrong = rand_below(&p->r, 20) == 0;
    for (int64_t i = 0; i < type_numel(&t); i++)
        at[i] = rand_below(&p->r, (int)x.type.shape[last] + may_be_wrong);
    Attr attr[] = {ints_attr(p, ATTR_SHAPE, t.shape, t.rank), {.key = ATTR_DTYPE, .dtype = DT_I64}};
    Inst data = {.op = OP_DATA, .n_attr = 2, .attr = attr};
    data.payload = at;
    data.payload_bytes = type_bytes(&t);
    Attr axis = ints_attr(p, ATTR_AXIS, (int64_t[]){last}, 1);
    if (!try_inst(p, &data, NULL)) return;
    Operand index = {.kind = IN_TENSOR, .id = p->live[n].id};
    if (rand_below(&p->r, 2)) {
        Operand in[] = {{.kind = IN_TENSOR, .id = x.id}, index};
        TensorType types[] = {x.type, t};
        Inst inst = {.op = OP_GATHER, .n_in = 2, .in = in, .n_attr = 1, .attr = &axis};
        try_inst(p, &inst, types);
        return;
    }
    Attr fold[] = {axis, {.key = ATTR_KEEPDIMS, .b = true}};
    if (!unary(p, OP_MAX, fold, 2, &x) || !constant(p, &x.type)) return;
    Operand in[] = {{.kind = IN_TENSOR, .id = p->live[n + 2].id},
                    index,
                    {.kind = IN_TENSOR, .id = p->live[n + 1].id}};
    TensorType types[] = {p->live[n + 2].type, t, p->live[n + 1].type};
    Inst inst = {.op = OP_SCATTER_ADD, .n_in = 3, .in = in, .n_attr = 1, .attr = &axis};
    try_inst(p, &inst, types);
}

/* A product of the shape that most tensors have, or of a matrix and its transpose; the next
 * instructions will mostly read it. */
static void product(Program *p) {
    Live x = p->live[choose(p)];
    TensorType a = p->base[0];
    Operand in[2] = {{.kind = IN_TENSOR}, {.kind = IN_TENSOR}};
    TensorType types[2];
    if (a.rank >= 2 && rand_below(&p->r, 4)) {
        static const int64_t inner[] = {1, 7, 40, 64};
        DType d = rand_below(&p->r, 6) ? DT_F32 : some_dtype(&p->r);
        int64_t K = inner[rand_below(&p->r, 4)];
        TensorType b = {(uint8_t)d, 2, {K, a.shape[a.rank - 1]}};
        a.dtype = (uint8_t)d;
        a.shape[a.rank - 1] = K;
        if (type_numel(&a) > NUMEL_MAX || !data_leaf(p, &a)) return;
        in[0].id = p->live[p->n_live - 1].id, types[0] = a;
        if (!data_leaf(p, &b)) return;
        in[1].id = p->live[p->n_live - 1].id, types[1] = b;
    } else {
        int64_t axes[] = {1, 0};
        if (x.type.rank != 2 || !dtype_is_float((DType)x.type.dtype)) return;
        if (!unary(p, OP_PERMUTE, (Attr[]){ints_attr(p, ATTR_AXES, axes, 2)}, 1, &x)) return;
        const Live *y = &p->live[p->n_live - 1];
        bool is_first = rand_below(&p->r, 2);
        in[!is_first].id = x.id, types[!is_first] = x.type;
        in[is_first].id = y->id, types[is_first] = y->type;
    }
    if (rand_below(&p->r, 3)) effect(p, OP_FETCH, in[0].id); /* then no fusion is open */
    if (!try_inst(p, &(Inst){.op = OP_MATMUL, .n_in = 2, .in = in}, types)) return;
    p->focus = p->live[p->n_live - 1].type;
    p->focused = rand_below(&p->r, 12);
}

static void step(Program *p) {
    Rand *r = &p->r;
    int before = p->n, what = rand_below(r, 100);
    if (p->focused > 0) {
        p->focused--;
        static const int often[] = {72, 72, 72, 98, 99};
        what = rand_below(r, 7) ? 0 : often[rand_below(r, 5)]; /* mostly pointwise operations */
    } else if (rand_below(r, 4) == 0) {
        p->focused = 4 + rand_below(r, 30);
        p->focus = p->live[choose(p)].type;
        if (rand_below(r, 3) == 0) product(p);
    }
    if (what < 62)
        map_inst(p, some_row(r, CLASS_MAP));
    else if (what < 68)
        unary(p, OP_CAST, (Attr[]){{.key = ATTR_DTYPE, .dtype = some_dtype(r)}}, 1,
              &(Live){p->live[p->n_live - 1].id, p->live[p->n_live - 1].type});
    else if (what < 80)
        reduce_inst(p);
    else if (what < 90)
        view_inst(p);
    else if (what < 92)
        leaf(p, some_dtype(r));
    else if (what < 95)
        product(p);
    else if (what < 96)
        effect(p, OP_FETCH, p->live[choose(p)].id);
    else if (what < 97)
        keep(p, &(Inst){.op = OP_EDGE});
    else if (what < 99)
        along_rows(p);
    else
        constant(p, &p->live[choose(p)].type);
    /* Frees an operand of the last instruction, and others. */
    if (p->n > before && p->n_live > 8 && rand_below(r, 3) == 0) free_live(p, choose(p));
    while (p->n_live > 24) free_live(p, rand_below(r, p->n_live));
}

/* Generates a program of about so many instructions, which ends by fetching and freeing all its
 * values. */
static void program_make(Program *p, uint64_t seed, int length) {
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 33, 64, 100};
    static const TensorType large[] = {{.rank = 1, .shape = {9000}},
                                       {.rank = 2, .shape = {70, 130}},
                                       {.rank = 2, .shape = {3, 4100}},
                                       {.rank = 3, .shape = {2, 33, 65}}};
    *p = (Program){.r = {seed * 2654435761u + 1}, .next_id = 1};
    for (int b = 0; b < 2; b++) {
        TensorType *t = &p->base[b];
        if (rand_below(&p->r, 3) == 0) {
            *t = large[rand_below(&p->r, 4)];
            continue;
        }
        t->rank = (uint8_t)rand_below(&p->r, 4);
        for (int a = 0; a < t->rank; a++)
            t->shape[a] = rand_below(&p->r, 40) ? extents[rand_below(&p->r, a ? 13 : 8)] : 0;
    }
    for (int i = 0; i < 3; i++) leaf(p, i ? some_dtype(&p->r) : DT_F32);
    while (p->n < length && p->n < PROGRAM_MAX - LIVE_MAX * 2 - 4) step(p);
    for (int k = 0; k < p->n_live; k++) effect(p, OP_FETCH, p->live[k].id);
    while (p->n_live) free_live(p, 0);
}

static void program_free(Program *p) { arena_fini(&p->arena); }
#endif
