/* part_streams.c: a long random program on a pool of matrices: new ones from the host, calls on
 * views of them, in place, copies, frees at once, reads that are checked much later, marks that are
 * waited for or not. The same program runs on the oracle, which has finished each call when it
 * returns; so what a read gives late must be what was there when it was asked for.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOL = 24, READS = 16, SIDE = 70 /* of a matrix, at most */ };

/* A matrix: row-major, in both engines. */
typedef struct Matrix {
    TensorType type; /* rank 0: there is none */
    void *at[2];     /* the engine's, the oracle's */
} Matrix;

/* A read under way. */
typedef struct Reading {
    char *got, *want; /* NULL: none */
    uint64_t bytes;
    Ticket mark; /* behind it; 0: none was taken since */
    DType dtype;
    char what[64];
} Reading;

typedef struct Stream {
    Part *p;
    Engine *engine[2];
    Matrix pool[POOL];
    Reading reading[READS];
    int calls, reads;
    char last[64]; /* the newest call */
} Stream;

static int below(Stream *s, int n) { return rand_below(&s->p->rand, n); }

static View view_of(const Matrix *m, int which) { return view_dense(&m->type, m->at[which]); }
static View turned(View v) {
    int64_t n = v.type.shape[0], stride = v.stride[0];
    v.type.shape[0] = v.type.shape[1], v.stride[0] = v.stride[1];
    v.type.shape[1] = n, v.stride[1] = stride;
    return v;
}

/* ---- The pool ---- */

static void drop(Stream *s, Matrix *m) {
    for (int w = 0; w < 2 && m->type.rank; w++)
        s->engine[w]->ops->free(s->engine[w], m->at[w], type_bytes(&m->type));
    *m = (Matrix){0};
}

static bool make(Stream *s, const TensorType *type, Matrix *m) {
    *m = (Matrix){.type = *type};
    for (int w = 0; w < 2; w++) m->at[w] = s->engine[w]->ops->alloc(s->engine[w], type_bytes(type));
    if (m->at[0] && m->at[1]) return true;
    part_fail(s->p, "no memory for a small matrix");
    m->type.rank = 0;
    return false;
}

/* Puts m into the pool, in the place of any. */
static void keep(Stream *s, const Matrix *m) {
    Matrix *old = &s->pool[below(s, POOL)];
    drop(s, old);
    *old = *m;
}

static const Matrix *any(Stream *s) {
    for (int tries = 0; tries < 100; tries++) {
        const Matrix *m = &s->pool[below(s, POOL)];
        if (m->type.rank) return m;
    }
    return NULL;
}
static const Matrix *like(Stream *s, const TensorType *t) {
    int first = below(s, POOL);
    for (int k = 0; k < POOL; k++) {
        const Matrix *m = &s->pool[(first + k) % POOL];
        if (m->type.rank && type_equal(&m->type, t)) return m;
    }
    return NULL;
}

/* A new matrix with random elements; the host's memory is overwritten at once. */
static void bring(Stream *s) {
    static const DType dtypes[] = {DT_F32, DT_I32, DT_F32, DT_BF16};
    static const int sides[] = {1, 7, 32, 33, SIDE};
    Matrix m;
    TensorType t = {.dtype = (uint8_t)dtypes[below(s, 4)], .rank = 2};
    t.shape[0] = sides[below(s, 5)], t.shape[1] = sides[below(s, 5)];
    if (!make(s, &t, &m)) return;
    Case c = {0};
    case_begin(&c, OP_NEG, (DType)t.dtype, rand_u64(&s->p->rand));
    uint64_t bytes = type_bytes(&t);
    CaseArg a = {.view = {.type = t}, .base_bytes = bytes, .base = xmalloc(bytes)};
    for (int64_t i = 0, n = type_numel(&t); i < n; i++)
        case_set(&a, i, ((double)case_pick(&c, 4001) - 2000) / 64);
    for (int w = 0; w < 2; w++) {
        Engine *e = s->engine[w];
        View v = view_of(&m, w);
        if (bytes % 3)
            e->ops->copy_in(e, m.at[w], a.base, bytes);
        else
            e->ops->write(e, &v, 0, bytes, a.base);
    }
    memset(a.base, 0x7f, bytes);
    free(a.base);
    keep(s, &m);
}

/* ---- Calls ---- */

/* Runs the instruction on both engines, with operands in[w][i]. into: the matrix whose memory takes
 * the result; NULL: a new one. */
static void call_both(Stream *s, Inst *inst, View in[2][3], int n, const Matrix *into) {
    Operand dummy[3] = {{.kind = IN_TENSOR, .id = 1}, {.kind = IN_TENSOR, .id = 2}};
    TensorType type[3], out[MAX_OUT];
    Matrix m;
    Err err = {0};
    int n_out = 0;
    for (int i = 0; i < n; i++) type[i] = in[0][i].type;
    inst->in = dummy, inst->n_in = (uint16_t)n, inst->n_out = 1;
    if (!inst_infer(inst, type, out, &n_out, &err))
        return part_fail(s->p, "%s is refused: %s", op_info[inst->op].name, err.text);
    if (into)
        m = *into;
    else if (!make(s, &out[0], &m))
        return;
    for (int w = 0; w < 2; w++) {
        View result = view_of(&m, w);
        if (call_engine(s->engine[w], inst, in[w], n, &result, &err) != 1)
            part_fail(s->p, "%s fails: %s", op_info[inst->op].name, err.text);
    }
    snprintf(s->last, sizeof s->last, "%s of %s", op_info[inst->op].name,
             dtype_info[type[0].dtype].name);
    s->calls++;
    if (!into) keep(s, &m);
}

/* a + b and the like; b may be turned, or one row of it. Sometimes into a's own memory. */
static void pointwise(Stream *s, const Matrix *a) {
    static const Op two[] = {OP_ADD, OP_SUB, OP_MUL, OP_MAXIMUM}, one[] = {OP_NEG, OP_ABS, OP_TANH};
    View in[2][3] = {{view_of(a, 0)}, {view_of(a, 1)}};
    TensorType t = a->type, back = t;
    bool is_float = dtype_is_float((DType)t.dtype), is_unary = below(s, 3) == 0;
    back.shape[0] = t.shape[1], back.shape[1] = t.shape[0];
    const Matrix *b = is_unary ? NULL : like(s, below(s, 3) ? &t : &back);
    bool is_row = below(s, 3) == 0, in_place = below(s, 4) == 0 && b != a;
    Inst inst = {.op = b ? two[below(s, 4)] : one[below(s, is_float ? 3 : 2)]};
    for (int w = 0; w < 2 && b; w++) {
        in[w][1] = view_of(b, w);
        if (!type_equal(&b->type, &t)) in[w][1] = turned(in[w][1]);
        if (is_row) in[w][1].type.shape[0] = 1;
    }
    call_both(s, &inst, in, b ? 2 : 1, in_place ? a : NULL);
}

/* A sum or maximum along an axis, a running sum, a sort. */
static void along(Stream *s, const Matrix *a) {
    static const Op ops[] = {OP_SUM, OP_MAX, OP_CUMSUM, OP_SORT};
    int64_t axis = below(s, 2);
    Attr attr[] = {{.key = ATTR_AXIS, .n = 1, .ints = &axis}, {.key = ATTR_KEEPDIMS, .b = true}};
    Inst inst = {.op = ops[below(s, 4)], .attr = attr};
    View in[2][3] = {{view_of(a, 0)}, {view_of(a, 1)}};
    inst.n_attr = op_info[inst.op].class_ == CLASS_REDUCE ? 2 : 1;
    call_both(s, &inst, in, 1, NULL);
}

/* a @ a^T of whole numbers: the same bits everywhere. */
static void product(Stream *s, const Matrix *a) {
    Inst inst = {.op = OP_MATMUL};
    View in[2][3] = {{view_of(a, 0), turned(view_of(a, 0))},
                     {view_of(a, 1), turned(view_of(a, 1))}};
    if (!dtype_is_float((DType)a->type.dtype)) call_both(s, &inst, in, 2, NULL);
}

static void copy(Stream *s, const Matrix *a) {
    TensorType t = a->type;
    Matrix m;
    t.shape[0] = a->type.shape[1], t.shape[1] = a->type.shape[0];
    if (!make(s, &t, &m)) return;
    for (int w = 0; w < 2; w++) {
        View from = turned(view_of(a, w)), to = view_of(&m, w);
        s->engine[w]->ops->copy(s->engine[w], &to, &from);
    }
    keep(s, &m);
}

/* ---- Reads ---- */

static void check(Stream *s, Reading *r) {
    uint64_t size = (uint64_t)dtype_info[r->dtype].size_bytes;
    for (uint64_t i = 0; i < r->bytes; i += size) {
        const char *x = r->got + i, *y = r->want + i;
        if (element_is_same(r->dtype, x, y)) continue;
        part_fail(s->p, "a read after %s: byte %llu of %llu differs", r->what,
                  (unsigned long long)i, (unsigned long long)r->bytes);
        break;
    }
    free(r->got);
    free(r->want);
    *r = (Reading){0};
}

/* Of all reads that lie before a mark which is done. wait: for one of them. */
static void look(Stream *s, bool wait) {
    Engine *e = s->engine[0];
    for (int k = 0; k < READS; k++) {
        Reading *r = &s->reading[k];
        if (!r->got || (e->ops->is_ordered && !r->mark)) continue;
        if (e->ops->is_ordered) {
            int done = e->ops->done(e, r->mark, wait, NULL);
            while (wait && !done) done = e->ops->done(e, r->mark, true, NULL);
            if (!done) continue;
        }
        check(s, r);
        wait = false;
    }
}

static void mark(Stream *s) {
    Engine *e = s->engine[0];
    if (!e->ops->is_ordered) return;
    Ticket t = e->ops->mark(e);
    for (int k = 0; k < READS; k++)
        if (s->reading[k].got && !s->reading[k].mark) s->reading[k].mark = t;
}

static void begin_read(Stream *s, const Matrix *a) {
    int k = 0;
    while (k < READS && s->reading[k].got) k++;
    if (k == READS) {
        mark(s);
        look(s, true);
        return;
    }
    Reading *r = &s->reading[k];
    *r = (Reading){.bytes = type_bytes(&a->type), .dtype = (DType)a->type.dtype};
    snprintf(r->what, sizeof r->what, "%s", s->last);
    r->got = xcalloc(r->bytes, 1), r->want = xcalloc(r->bytes, 1);
    bool is_turned = below(s, 2);
    for (int w = 0; w < 2; w++) {
        View v = is_turned ? turned(view_of(a, w)) : view_of(a, w);
        s->engine[w]->ops->copy_out(s->engine[w], w ? r->want : r->got, &v);
    }
    s->reads++;
}

static void step(Stream *s) {
    int kind = below(s, 20);
    const Matrix *a = any(s);
    if (!a || kind < 2)
        bring(s);
    else if (kind < 9)
        pointwise(s, a);
    else if (kind < 12)
        along(s, a);
    else if (kind < 13)
        product(s, a);
    else if (kind < 14)
        copy(s, a);
    else if (kind < 17)
        begin_read(s, a);
    else if (kind < 18)
        mark(s);
    else if (kind < 19)
        look(s, below(s, 2));
    else
        drop(s, &s->pool[a - s->pool]);
}

void part_streams(Part *p) {
    Stream *s = xcalloc(1, sizeof *s);
    int steps = part_rounds(p, 3000, 60000), begun = 0;
    /* An engine that agrees only nearly has another order of sums: it is its own oracle. */
    const EngineOps *oracle = p->config->agree == AGREE_NEAR ? p->config->ops : &engine_cpu;
    s->p = p;
    p->tally->all = (uint64_t)steps;
    if (!(s->engine[0] = p->e = part_open(p, p->config->ops, 0))) return;
    if (!(s->engine[1] = p->oracle = part_open(p, oracle, 0))) return;
    for (; begun < steps && part_begin(p, "step %d", begun); begun++) step(s);
    mark(s);
    for (int k = 0; k < READS; k++) look(s, true);
    for (int k = 0; k < POOL; k++) drop(s, &s->pool[k]);
    part_close(p, &p->e);
    part_close(p, &p->oracle);
    part_done(p, "%d calls and %d reads in %d steps", s->calls, s->reads, begun);
    free(s);
}
