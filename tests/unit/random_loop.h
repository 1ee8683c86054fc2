/* random_loop.h: random loops for dispatchers that should treat them alike: what hot_test and
 * finder_test share.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_RANDOM_LOOP_H
#define GT_TESTS_UNIT_RANDOM_LOOP_H
#include "runtime/wire/body.h"
#include "tests/unit/check.h"
#include "tests/unit/cluster_words.h"
#include "tests/unit/make_inst.h"
#include "tests/unit/random.h"

enum { VARIABLES = 6, STEPS = 12 };

typedef struct Step {
    Op op;
    int in[2]; /* index of a variable; from VARIABLES on: of a result of the iteration */
    int shape;
} Step;
typedef struct Loop {
    Step step[STEPS];
    int n, keeps[VARIABLES]; /* the result that replaces a variable; -1: none does */
    Body *body;
} Loop;

static uint64_t seed = 1;
static Rand r;
static int n_workers;
static uint64_t seq, next_id, variable[VARIABLES];
static Arena arena, scratch; /* of an iteration; of the instructions read */

/* Shapes that can be combined, and are large enough to be split. */
static const int64_t split_shapes[][2] = {{64, 64}, {1, 64}, {64, 1}, {64, 64}};
static const int64_t (*shapes)[2] = split_shapes;

/* Fills the first n steps and chooses what is kept. */
static void loop_draw(Loop *l, int n, const Op *ops, int n_ops) {
    l->n = n;
    l->body = NULL;
    for (int i = 0; i < n; i++) {
        Step *s = &l->step[i];
        *s = (Step){.op = ops[rand_below(&r, n_ops)], .shape = rand_below(&r, 4)};
        for (int k = 0; k < 2; k++)
            s->in[k] = rand_below(&r, 3) || i == 0 ? rand_below(&r, VARIABLES)
                                                   : VARIABLES + rand_below(&r, i);
    }
    for (int v = 0; v < VARIABLES; v++) l->keeps[v] = rand_below(&r, 3) ? -1 : rand_below(&r, n);
}

static bool rarely(void); /* true if something is to be wrong or odd */

/* A step of the loop as an instruction; made: the results of the steps before it. Room for 3
 * operands, 3 attributes and their 8 integers. */
static Inst step_inst(const Loop *l, const Step *s, const uint64_t *made, Operand *o, Attr *a,
                      int64_t *ints) {
    for (int k = 0; k < 2; k++)
        o[k] = of_tensor(s->in[k] < VARIABLES ? variable[s->in[k]] : made[s->in[k] - VARIABLES]);
    if (rarely()) o[0].id = (uint64_t)rand_below(&r, (int)next_id + 1);
    Inst in = {.op = s->op, .n_in = 1, .in = o, .attr = a, .n_out = 1, .pos = {.line = 1}};
    in.pos.line += (uint32_t)(s - l->step);
    switch (s->op) {
    case OP_SUB:
    case OP_MATMUL:
    case OP_ADD: in.n_in = 2; break;
    case OP_MUL:
    case OP_DIV:
    case OP_MAXIMUM:
        in.n_in = 2;
        o[1] = of_float(rarely() ? 1e300 : rand_below(&r, 9));
        break;
    case OP_SUM:
    case OP_CUMMAX:
        ints[0] = s->shape & 1;
        a[0] = attr_ints(ATTR_AXIS, 1, ints);
        a[1] = (Attr){.key = ATTR_KEEPDIMS, .b = true};
        in.n_attr = s->op == OP_SUM ? 2 : 1;
        in.n_out = s->op == OP_SUM ? 1 : 2;
        break;
    case OP_SLICE:
        for (int k = 0; k < 6; k++) ints[k] = k >= 2;
        if (rarely()) ints[0] = 90;
        a[0] = attr_ints(ATTR_START, 2, ints);
        a[1] = attr_ints(ATTR_SIZE, 2, ints + 2);
        a[2] = attr_ints(ATTR_STEP, 2, ints + 4);
        in.n_attr = 3;
        break;
    case OP_RANDN:
        ints[0] = 1, ints[1] = rand_below(&r, 1000);
        a[0] = attr_ints(ATTR_SHAPE, 2, shapes[s->shape]);
        a[1] = attr_dtype(DT_F32);
        a[2] = attr_ints(ATTR_RNG, 2, ints);
        in.n_in = 0, in.n_attr = 3;
        break;
    case OP_DATA:
    case OP_FULL:
        o[0] = of_float(rand_below(&r, 3));
        a[0] = attr_ints(ATTR_SHAPE, 2, shapes[s->shape]);
        a[1] = attr_dtype(DT_F32);
        in.n_in = s->op == OP_FULL, in.n_attr = 2;
        break;
    case OP_SIGNAL_EXIT:
    case OP_SIGNAL_ENTER: in.n_in = in.n_out = 0; /* fall through */
    case OP_SHARD:
        a[0] = attr_text(ATTR_NAME, "a");
        in.n_attr = 1;
        break;
    case OP_SYNC: in.n_in = 0; /* fall through */
    case OP_FETCH: in.n_out = 0; break;
    default: break;
    }
    return in;
}

/* Ends an iteration whose results are `made`, the first of them `first`: replaces variables, and
 * returns how many tensors have no name any more (STEPS + VARIABLES at most, in dead). */
static int loop_end(const Loop *l, const uint64_t *made, uint64_t first, Operand *dead) {
    uint64_t next[VARIABLES];
    int n_dead = 0;
    memcpy(next, variable, sizeof next);
    for (int v = 0; v < VARIABLES; v++) {
        if (l->keeps[v] < 0 || made[l->keeps[v]] < first) continue;
        dead[n_dead++] = of_tensor(variable[v]);
        next[v] = made[l->keeps[v]];
    }
    for (int i = 0; i < l->n; i++) {
        bool is_kept = made[i] < first;
        for (int v = 0; v < VARIABLES; v++) is_kept |= next[v] == made[i];
        if (!is_kept) dead[n_dead++] = of_tensor(made[i]);
    }
    memcpy(variable, next, sizeof next);
    return n_dead;
}

/* A copy of the head's bytes; the other parts are shared. */
static Msg copy_of(const Msg *m) {
    Msg copy = {.n = 1, .part = {buf_copy(m->part[0]->data, m->part[0]->n)}};
    for (int k = 1; k < m->n; k++) msg_push(&copy, buf_ref(m->part[k]));
    return copy;
}

static bool same_text(const Bytes *a, const Bytes *b) {
    return a->n == b->n && (a->n == 0 || !memcmp(a->data, b->data, a->n));
}
#endif
