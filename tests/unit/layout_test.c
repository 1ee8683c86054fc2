/* layout_test.c: every row of the op table on every layout: random instances (worker/prove/case.h),
 * random layouts of their operands on 1 to 8 ranks. The rule gives the layouts that the operands
 * must have, pulls convert them, each rank runs its part on the reference engine, and the combined
 * parts must equal the result of the whole: exactly, unless the order of a sum changes.
 *
 *   layout_test [SEED [OP | all]]    with OP: also how many were computed whole after all
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "random.h"
#include "dispatcher/rule/rule.h"
#include "worker/prove/case.h"
#include "runtime/layout/place.h"
#include "tests/unit/pulls.h"
#include "worker/engine/view.h"
#include "worker/ref/ref.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3, RANKS_MAX = 8 };

typedef struct Piece {
    char *data;
    TensorType type;
} Piece; /* row-major */

static Engine *engine;

static size_t size_of(const TensorType *t) { return (size_t)dtype_info[t->dtype].size_bytes; }

/* ---- Elements ---- */

static View view_of(const Piece *p) {
    View v = {.type = p->type, .data = p->data};
    view_strides(&v.type, v.stride);
    return v;
}

/* Copies a region of the whole between two pieces, which begin at its rows a0 and b0. */
static void copy_region(const Piece *from, const Region *from_at, const Piece *to,
                        const Region *to_at, const Region *r) {
    View a = view_of(from), b = view_of(to);
    TensorType box = from->type;
    for (int d = 0; d < box.rank; d++) box.shape[d] = r->size[d];
    if (ref_is_empty(&box)) return;
    int64_t index[MAX_DIMS] = {0};
    do {
        int64_t i = 0, j = 0;
        for (int d = 0; d < box.rank; d++) {
            i += (r->begin[d] + index[d] - from_at->begin[d]) * a.stride[d];
            j += (r->begin[d] + index[d] - to_at->begin[d]) * b.stride[d];
        }
        memcpy(ref_ptr(&b, j), ref_ptr(&a, i), size_of(&box));
    } while (ref_step(index, &box));
}

static Piece piece_new(TensorType t) { return (Piece){xcalloc(1, type_bytes(&t) + 1), t}; }

static bool run(const Inst *inst, View *in, int n_in, Piece *out, const TensorType *type,
                int n_out) {
    OpClass class_ = op_info[inst->op].class_;
    int model = class_ == CLASS_SOURCE && inst->n_in > 0 && inst->in[0].kind == IN_TENSOR;
    Call call = {.inst = inst, .n_in = n_in - model, .n_out = n_out, .in = in + model};
    for (int k = 0; k < n_out; k++) {
        out[k] = piece_new(type[k]);
        call.out[k] = view_of(&out[k]);
    }
    View v;
    if (class_ == CLASS_VIEW && view_apply(inst, &in[0], &type[0], &v)) {
        engine->ops->copy_out(engine, out[0].data, &v);
        return true;
    }
    Err err = {0};
    Ticket t = engine->ops->submit(engine, &call, NULL, 0);
    int done = engine->ops->done(engine, t, true, &err);
    CHECK_MSG(done == 1, "%s: %s", op_info[inst->op].name, err.text);
    return done == 1;
}

static void immediate(const Case *c, int i, View *v, void *room) {
    bool is_real = dtype_is_float((DType)c->out[0].dtype) && c->inst.op != OP_RANDINT;
    DType d = op_info[c->inst.op].class_ == CLASS_MAP ? c->dtype : is_real ? DT_F64 : DT_I64;
    *v = (View){.type = {.dtype = (uint8_t)d}, .is_scalar = true, .data = room};
    if (c->in[i].kind == IN_IMM_FLOAT)
        ref_set_float(v, 0, c->in[i].f);
    else
        ref_set_int(v, 0, c->in[i].kind == IN_IMM_BOOL ? c->in[i].b : c->in[i].i);
}

/* ---- Laying out ---- */

/* Fills with the neutral element of a REDUCE row: its result for no elements. */
static void fill_neutral(Piece *p, Op op) {
    Piece none = piece_new(p->type), one;
    TensorType empty = p->type;
    empty.rank = 1, empty.shape[0] = 0;
    none.type = empty;
    View in = view_of(&none);
    int64_t axis = 0;
    Attr attr = {.key = ATTR_AXIS, .n = 1, .ints = &axis};
    Operand operand = {.kind = IN_TENSOR, .id = 1};
    Inst inst = {.op = op, .n_in = 1, .n_attr = 1, .n_out = 1, .in = &operand, .attr = &attr};
    TensorType scalar = {.dtype = p->type.dtype};
    run(&inst, &in, 1, &one, &scalar, 1);
    int64_t n = type_numel(&p->type);
    View v = view_of(&one);
    if (op == OP_SUM && ref_is_float(&v)) ref_set_float(&v, 0, -0.0); /* keeps the sign of zeros */
    for (int64_t i = 0; i < n; i++)
        memcpy(p->data + (size_t)i * size_of(&p->type), one.data, size_of(&p->type));
    free(one.data);
    free(none.data);
}

/* Splits a whole tensor into parts; into terms: the value on rank 0, and the neutral element
 * elsewhere. */
static void spread(const Piece *whole, const Layout *l, int n, Piece *part) {
    Region all = layout_region(&(Layout){0}, &whole->type, 0);
    for (int i = 0; i < n; i++) {
        part[i] = piece_new(layout_local(l, &whole->type, i));
        Region mine = layout_region(l, &whole->type, i);
        if (l->kind == LAYOUT_PARTIAL && i > 0)
            fill_neutral(&part[i], (Op)l->op);
        else
            copy_region(whole, &all, &part[i], &mine, &mine);
    }
}

/* a = a combined with b as the row combines; sums by `add`, which keeps the sign of zeros. */
static void combine(Piece *a, const Piece *b, Op op) {
    Operand operand[2] = {{.kind = IN_TENSOR, .id = 1}, {.kind = IN_TENSOR, .id = 2}};
    Inst add = {.op = OP_ADD, .n_in = 2, .n_out = 1, .in = operand};
    View in[2] = {view_of(a), view_of(b)};
    Piece out, both = {0};
    int64_t axis = 0;
    Attr attr = {.key = ATTR_AXIS, .n = 1, .ints = &axis};
    Inst fold = {.op = op, .n_in = 1, .n_attr = 1, .n_out = 1, .in = operand, .attr = &attr};
    TensorType flat = {.dtype = a->type.dtype, .rank = 1, .shape = {type_numel(&a->type)}};
    if (op == OP_SUM) {
        run(&add, in, 2, &out, &a->type, 1);
    } else {
        TensorType two = {.dtype = a->type.dtype, .rank = 2, .shape = {2, flat.shape[0]}};
        both = piece_new(two);
        memcpy(both.data, a->data, type_bytes(&a->type));
        memcpy(both.data + type_bytes(&a->type), b->data, type_bytes(&a->type));
        in[0] = view_of(&both);
        run(&fold, in, 1, &out, &flat, 1);
    }
    memcpy(a->data, out.data, type_bytes(&a->type));
    free(out.data);
    free(both.data);
}

/* Assembles, by its pulls, rank i's part when a tensor in layout `from` is converted to `to`. */
static Piece pulled(const Piece *part, const Layout *from, const Layout *to, int n, int i,
                    const TensorType *t) {
    Pull pull[RANKS_MAX];
    int k = layout_pulls(from, n, to, n, i, true, t, pull);
    Piece mine = piece_new(layout_local(to, t, i));
    Region at = layout_region(to, t, i);
    int64_t covered = 0;
    if (to->kind == LAYOUT_PARTIAL && k == 0) fill_neutral(&mine, (Op)to->op);
    for (int p = 0; p < k; p++) {
        Region theirs = layout_region(from, t, pull[p].from);
        bool is_term = from->kind == LAYOUT_PARTIAL && k > 1 && p > 0;
        Piece term = is_term ? piece_new(mine.type) : mine;
        copy_region(&part[pull[p].from], &theirs, &term, &at, &pull[p].region);
        if (is_term) {
            combine(&mine, &term, (Op)from->op);
            free(term.data);
        }
        covered += (int64_t)region_bytes(&pull[p].region, t);
    }
    if (from->kind != LAYOUT_PARTIAL && (to->kind != LAYOUT_PARTIAL || i == 0))
        CHECK(covered == (int64_t)type_bytes(&mine.type));
    return mine;
}

static Layout some_layout(Case *c, const TensorType *t, int n) {
    if (t->rank > 0 && case_pick(c, 3)) {
        int axis = (int)case_pick(c, t->rank);
        Layout l = layout_split(t, axis, n);
        if (case_pick(c, 4) == 0) l.block = 1 + (int64_t)case_pick(c, (uint64_t)t->shape[axis] + 1);
        if (l.block * n < t->shape[axis]) l = layout_split(t, axis, n);
        return l;
    }
    bool sums = t->dtype != DT_BOOL && dtype_info[t->dtype].size_bytes > 1;
    return sums && case_pick(c, 4) == 0 ? layout_partial(OP_SUM) : layout_replicate();
}

/* ---- Comparing ---- */

static bool is_same(double x, double y, double tolerance) {
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (x == y) return true;
    return isfinite(x) && isfinite(y) && fabs(x - y) <= tolerance * (1 + fabs(y));
}

static int shown;
static void compare(const Case *c, const Rule *r, const Piece *got, const Piece *want, int k,
                    uint64_t seed) {
    View a = view_of(got), b = view_of(want);
    bool is_float = dtype_is_float((DType)got->type.dtype);
    static const double epsilon[DT_COUNT] = {
        [DT_F16] = 0x1p-10, [DT_BF16] = 0x1p-7, [DT_F32] = 0x1p-23, [DT_F64] = 0x1p-52};
    double eps = epsilon[got->type.dtype];
    bool moves = r->give[k].kind != LAYOUT_PARTIAL && c->is_exact;
    double tolerance = moves || !is_float ? 0 : eps * (64 + 40 * c->terms);
    int64_t n = type_numel(&got->type), bad = -1;
    /* Infinity times a term of 0 is nan, although infinity times the sum is not. */
    if (c->style == STYLE_SPECIAL && r->give[k].kind == LAYOUT_PARTIAL) return;
    for (int64_t i = 0; i < n && bad < 0; i++) {
        bool same = is_float ? is_same(ref_float(&a, i), ref_float(&b, i), tolerance)
                             : ref_int(&a, i) == ref_int(&b, i);
        if (!same) bad = i;
    }
    CHECK(bad < 0);
    if (bad < 0 || shown++ > 8) return;
    char text[256], lay[48];
    fprintf(stderr, "%s (seed %llu) on %d ranks, result %d %s as %s: element %lld is %.17g",
            op_info[c->inst.op].name, (unsigned long long)seed, r->n, k,
            type_text(&got->type, text), layout_text(&r->give[k], lay), (long long)bad,
            ref_float(&a, bad));
    fprintf(stderr, ", not %.17g\n", ref_float(&b, bad));
    for (int i = 0; i < c->inst.n_in; i++) {
        if (c->arg[i].is_imm) continue;
        char need[48];
        fprintf(stderr, "  operand %d %s: %s, needed %s\n", i, type_text(&c->type[i], text),
                layout_text(&r->have[i], lay), layout_text(&r->need[i], need));
    }
}

/* ---- One case ---- */

/* Terms of a partial extreme or sum may come from an empty part, which inference refuses. */
static bool infers_alike(const Rule *r, const LocalInst *l, const TensorType *in,
                         const TensorType *want) {
    TensorType out[MAX_OUT];
    int n_out;
    Err err = {0};
    bool is_term = r->give[0].kind == LAYOUT_PARTIAL && op_info[r->inst->op].class_ == CLASS_REDUCE;
    if (!inst_infer(&l->inst, in, out, &n_out, &err)) {
        if (!is_term) fprintf(stderr, "%s: %s\n", op_info[r->inst->op].name, err.text);
        return is_term;
    }
    for (int k = 0; k < n_out; k++)
        if (!type_equal(&out[k], &want[k])) return false;
    return true;
}

static void run_rank(const Case *c, const Rule *r, Piece have[CASE_ARGS][RANKS_MAX], int i,
                     Piece out[MAX_OUT]) {
    View in[CASE_ARGS];
    Piece mine[CASE_ARGS] = {{0}};
    double room[CASE_ARGS];
    TensorType type[CASE_ARGS], part[MAX_OUT];
    for (int a = 0; a < c->inst.n_in; a++) {
        if (c->arg[a].is_imm) {
            immediate(c, a, &in[a], &room[a]);
            continue;
        }
        mine[a] = pulled(have[a], &r->have[a], &r->need[a], r->n, i, &c->type[a]);
        in[a] = view_of(&mine[a]);
        type[a] = mine[a].type;
    }
    for (int k = 0; k < r->n_out; k++) part[k] = layout_local(&r->give[k], &c->out[k], i);
    LocalInst local;
    layout_localise(&c->inst, &c->type[0], &r->need[0], &c->out[0], &r->give[0], i, &local);
    bool alike = infers_alike(r, &local, type, part);
    CHECK_MSG(alike, "%s: the part's type is not the type's part", op_info[c->inst.op].name);
    if (alike)
        run(&local.inst, in, c->inst.n_in, out, part, r->n_out);
    else
        for (int k = 0; k < r->n_out; k++) out[k] = piece_new(part[k]);
    for (int a = 0; a < c->inst.n_in; a++) free(mine[a].data);
}

static Piece assembled(const Rule *r, Piece part[RANKS_MAX], int k) {
    Layout whole = layout_replicate();
    return pulled(part, &r->give[k], &whole, r->n, 0, &r->out[k]);
}

static int n_split, n_partial, n_kept; /* how often a rule found better layouts than gathering */
/* Per row: cases on several ranks with a split operand; those that were computed whole */
static int n_cases[OP_COUNT], n_whole[OP_COUNT];

static uint64_t bytes_moved(const Layout *from, const Layout *to, int n, const TensorType *t) {
    Pull pull[RANKS_MAX];
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        int k = layout_pulls(from, n, to, n, i, true, t, pull);
        for (int p = 0; p < k; p++)
            if (pull[p].from != i) bytes += region_bytes(&pull[p].region, t);
    }
    return bytes;
}

/* No rule moves more bytes than making all operands whole would. */
static void check_bytes(const Case *c, const Rule *r, uint64_t seed) {
    Layout whole = layout_replicate();
    uint64_t moved = 0, most = 0;
    bool any = false;
    for (int a = 0; a < c->inst.n_in; a++) {
        if (c->arg[a].is_imm) continue;
        any = any || r->have[a].kind == LAYOUT_SPLIT;
        moved += bytes_moved(&r->have[a], &r->need[a], r->n, &c->type[a]);
        most += bytes_moved(&r->have[a], &whole, r->n, &c->type[a]);
    }
    CHECK_MSG(moved <= most, "%s (seed %llu) moves %llu bytes, gathering %llu",
              op_info[c->inst.op].name, (unsigned long long)seed, (unsigned long long)moved,
              (unsigned long long)most);
    if (!any || r->n < 2) return;
    n_cases[c->inst.op]++;
    n_whole[c->inst.op] += r->give[0].kind == LAYOUT_REPLICATE;
}

static bool test_case(Op op, DType d, Style style, uint64_t seed) {
    Case c;
    case_make(&c, op, d, style, seed);
    int n_out;
    Err err = {0};
    if (op_info[op].class_ == CLASS_MAP && case_pick(&c, 4) == 0)
        case_add_attr(&c, (Attr){.key = ATTR_KEEP, .b = true});
    if (!inst_infer(&c.inst, c.type, c.out, &n_out, &err)) {
        case_free(&c);
        return false;
    }
    static const int sizes[] = {1, 2, 3, 4, 8};
    int n = sizes[case_pick(&c, 5)];
    Layout have[CASE_ARGS] = {{0}}, need[CASE_ARGS] = {{0}};
    Piece whole[CASE_ARGS] = {{0}}, part[CASE_ARGS][RANKS_MAX] = {{{0}}};
    View in[CASE_ARGS];
    double room[CASE_ARGS];
    for (int a = 0; a < c.inst.n_in; a++) {
        if (c.arg[a].is_imm) {
            immediate(&c, a, &in[a], &room[a]);
            continue;
        }
        View v = c.arg[a].view;
        v.data = c.arg[a].base + c.arg[a].offset * dtype_info[v.type.dtype].size_bytes;
        whole[a] = piece_new(c.type[a]);
        engine->ops->copy_out(engine, whole[a].data, &v);
        in[a] = view_of(&whole[a]);
        have[a] = some_layout(&c, &c.type[a], n);
        spread(&whole[a], &have[a], n, part[a]);
    }
    Rule r = {.inst = &c.inst,
              .in = c.type,
              .out = c.out,
              .n_out = n_out,
              .n = n,
              .have = have,
              .need = need,
              .want_axis = case_pick(&c, 3) ? -1 : (int)case_pick(&c, 4)};
    rule_apply(&r);
    check_bytes(&c, &r, seed);
    n_split += r.give[0].kind == LAYOUT_SPLIT;
    n_partial += r.give[0].kind == LAYOUT_PARTIAL;
    for (int a = 0; a < c.inst.n_in; a++)
        n_kept += have[a].kind != LAYOUT_REPLICATE && layout_equal(&have[a], &need[a]);
    Piece want[MAX_OUT], got[MAX_OUT][RANKS_MAX];
    if (run(&c.inst, in, c.inst.n_in, want, c.out, n_out)) {
        for (int i = 0; i < n; i++) {
            Piece out[MAX_OUT];
            run_rank(&c, &r, part, i, out);
            for (int k = 0; k < n_out; k++) got[k][i] = out[k];
        }
        for (int k = 0; k < n_out; k++) {
            Piece all = assembled(&r, got[k], k);
            compare(&c, &r, &all, &want[k], k, seed);
            free(all.data);
            for (int i = 0; i < n; i++) free(got[k][i].data);
        }
    }
    for (int k = 0; k < n_out; k++) free(want[k].data);
    for (int a = 0; a < c.inst.n_in; a++) {
        free(whole[a].data);
        for (int i = 0; i < n && !c.arg[a].is_imm; i++) free(part[a][i].data);
    }
    case_free(&c);
    return true;
}

/* Sums of huge or infinite terms depend on their order. */
static Style style_for(Op op, int round) {
    OpClass class_ = op_info[op].class_;
    if (round % 3 == 0) return STYLE_MIXED;
    return round % 3 == 1 || class_ == CLASS_REDUCE || class_ == CLASS_KERNEL ? STYLE_WHOLE
                                                                              : STYLE_SPECIAL;
}

static void test_blocks(void) {
    TensorType t = {.dtype = DT_F32, .rank = 2, .shape = {10, 3}};
    Layout l = layout_split(&t, 0, 4);
    int64_t begin, end, rows[] = {3, 3, 3, 1};
    for (int i = 0; i < 4; i++) {
        layout_rows(&l, &t, i, &begin, &end);
        CHECK_INT(end - begin, rows[i]);
    }
    l = layout_split(&t, 1, 8);
    layout_rows(&l, &t, 7, &begin, &end);
    CHECK_INT(begin, 3);
    CHECK_INT(end, 3);
    l.block = INT64_MAX;
    layout_rows(&l, &t, 0, &begin, &end);
    CHECK_INT(end, 3);
    layout_rows(&l, &t, 1, &begin, &end);
    CHECK_INT(begin, 3);
}

/* Splits with explicit rows per rank, as text, and in a round trip as a move. */
static void test_windows(void) {
    static const struct {
        int64_t block, begin, rows[4][2];
        bool covers;
        const char *text;
    } cases[] = {
        {3, 0, {{0, 3}, {3, 6}, {6, 9}, {9, 10}}, true, "split 0 / 3"},
        {2, 0, {{0, 2}, {2, 4}, {4, 6}, {6, 8}}, false, "split 0 / 2"},
        {2, 3, {{3, 5}, {5, 7}, {7, 9}, {9, 10}}, false, "split 0 / 2 from 3"},
        {4, -5, {{0, 0}, {0, 3}, {3, 7}, {7, 10}}, false, "split 0 / 4 from -5"},
        {5, 10, {{10, 10}, {10, 10}, {10, 10}, {10, 10}}, false, "split 0 / 5 from 10"},
        {1,
         -MAX_NUMEL,
         {{0, 0}, {0, 0}, {0, 0}, {0, 0}},
         false,
         "split 0 / 1 from -70368744177664"},
        {INT64_MAX, MAX_NUMEL, {{10, 10}, {10, 10}, {10, 10}, {10, 10}}, false, NULL},
        {INT64_MAX, -2, {{0, 10}, {10, 10}, {10, 10}, {10, 10}}, false, NULL},
    };
    TensorType t = {.dtype = DT_F32, .rank = 2, .shape = {10, 3}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Layout l = {.kind = LAYOUT_SPLIT, .block = cases[c].block, .begin = cases[c].begin};
        char text[48];
        int64_t begin, end;
        for (int i = 0; i < 4; i++) {
            layout_rows(&l, &t, i, &begin, &end);
            CHECK_INT(begin, cases[c].rows[i][0]);
            CHECK_INT(end, cases[c].rows[i][1]);
        }
        CHECK_INT(layout_covers(&l, &t, 4), cases[c].covers);
        if (cases[c].text) CHECK_STR(layout_text(&l, text), cases[c].text);
        Move m = {.in = 1, .out = 2, .type = t, .from = {1, layout_replicate()}, .to = {1, l}},
             back;
        MoveInst inst;
        move_inst(&m, (SrcPos){0}, &inst);
        CHECK(move_read(&inst.inst, &back, NULL) && layout_equal(&back.to.layout, &l));
        if (cases[c].begin == 0) continue;
        /* Only moves may say where a split begins. */
        Place place;
        inst.inst.op = OP_ADD;
        CHECK_FAIL(inst_place(&inst.inst, &place, &err), ERR_ARG);
    }
}

static void test_row(Op op, uint64_t seed) {
    for (int d = 0; d < DT_COUNT; d++)
        for (int k = 0; k < rand_rounds(ROUNDS) && (op_info[op].in & DSET(d)); k++)
            test_case(op, (DType)d, style_for(op, k),
                      seed + (uint64_t)op * 1000003u + (uint64_t)d * 10007u + (uint64_t)k);
}

int main(int argc, char **argv) {
    uint64_t seed = rand_seed(argc, argv);
    Err err = {0};
    test_blocks();
    test_windows();
    static const EngineOps *const engines[] = {&engine_reference, &engine_cpu};
    for (int e = 0; e < 2; e++) {
        engine = engines[e]->open(&(EngineConfig){.memory_bytes = 256 << 20, .threads = 2}, &err);
        CHECK_MSG(engine != NULL, "%s", err.text);
        for (int op = 0; engine && op < OP_COUNT; op++) {
            if (!case_has((Op)op)) continue;
            if (argc <= 2 || !strcmp(argv[2], "all") || !strcmp(argv[2], op_info[op].name))
                test_row((Op)op, seed);
        }
        if (engine) engine->ops->close(&engine);
    }
    if (argc <= 2) CHECK_MSG(n_split > 1000 && n_partial > 100, "%d, %d", n_split, n_partial);
    printf("%d results split, %d partial; %d operands stay as they are\n", n_split, n_partial,
           n_kept);
    for (int op = 0; argc > 2 && op < OP_COUNT; op++)
        if (n_cases[op]) printf("%s: %d of %d whole\n", op_info[op].name, n_whole[op], n_cases[op]);
    return check_report("layout");
}
