/* step_fuzz.c: steps cut out of random training loops, and damaged texts of steps. A step that was
 * cut out of an undamaged loop must be readable and compute what the loop computes: both are
 * carried out on hashes instead of tensors, and their outputs compared.
 * SPDX-License-Identifier: MIT */
#define FUZZ_CALM 2
#include "lang/step/step.h"
#include "runtime/base/map.h"
#include "tests/fuzz/fuzz.h"
#include <assert.h>

enum { VALUES_MAX = 64, STATES_MAX = 4, LINES_MAX = 24, ROUNDS_RUN = 3 };
static const char mark[] = "# whole "; /* and a hash: the end of an undamaged loop */

/* ---- random loops ---- */

/* One line of a round: its operands are of this round, of earlier ones, or from before. */
typedef struct BodyLine {
    int op;            /* index of ops, or one of those below */
    int from[2];       /* 0 ..: line of the body; -1 ..: state; -10 ..: constant */
    int back[2];       /* of a line: rounds back, or 0 */
    int number, scale; /* 0: none, 1: the same, 2: in progression, 3: any */
    bool has_edge;
} BodyLine;
enum { LINE_RAND = 10, LINE_DATA, LINE_PRINT };
static const char *const ops[] = {"add", "sub", "mul", "maximum", "minimum", "atan2"};

typedef struct Loop {
    Rand *r;
    Bytes *out;
    BodyLine line[LINES_MAX];
    int n_lines, n_states, n_constants, rounds;
    uint64_t next, state[STATES_MAX], constant[STATES_MAX], made[VALUES_MAX][LINES_MAX];
    uint64_t first[LINES_MAX][3]; /* values of a line before the first round */
} Loop;

static uint64_t put_source(Loop *l) {
    bytes_printf(l->out, "t%llu = rand [2] f32 rng=9:%llu -> f32[2] @a.gt:%llu\n",
                 (unsigned long long)l->next, (unsigned long long)l->next,
                 (unsigned long long)l->next + 1000);
    return l->next++;
}

static uint64_t operand(const Loop *l, const BodyLine *b, int k, int round) {
    int from = b->from[k], at = round - b->back[k];
    if (from <= -10) return l->constant[-10 - from];
    if (from < 0) return l->state[-1 - from];
    return at >= 0 ? l->made[at][from] : l->first[from][-1 - at];
}

static void put_number(Loop *l, const BodyLine *b, int round) {
    if (b->number == 1) bytes_printf(l->out, " %d", b->scale);
    if (b->number == 2) bytes_printf(l->out, " %d", b->scale * round + 3);
    if (b->number == 3) bytes_printf(l->out, " %d.%d", rand_below(l->r, 5), rand_below(l->r, 100));
}

static void put_line(Loop *l, int i, int round) {
    const BodyLine *b = &l->line[i];
    unsigned long long id = l->next;
    if (b->has_edge) bytes_puts(l->out, "edge\n");
    if (b->op == LINE_PRINT) {
        if (b->number == 3 && rand_below(l->r, 2)) return; /* not in every round */
        bytes_printf(l->out, "print \"round %d: {} $x\\n\" t%llu @a.gt:%d\n", round,
                     (unsigned long long)operand(l, b, 0, round), i + 1);
        return;
    }
    l->made[round][i] = l->next++;
    if (b->op == LINE_RAND) {
        bytes_printf(l->out, "t%llu = rand [2] f32 rng=7:%d -> f32[2] @a.gt:%d\n", id,
                     round * 3 + i, i + 1);
    } else if (b->op == LINE_DATA) {
        bytes_printf(l->out, "t%llu = data f32 [2] %d %d -> f32[2] @a.gt:%d\n", id,
                     rand_below(l->r, 3), b->number ? round : 1, i + 1);
    } else {
        bytes_printf(l->out, "t%llu = %s t%llu", id, ops[b->op],
                     (unsigned long long)operand(l, b, 0, round));
        if (b->number)
            put_number(l, b, round);
        else
            bytes_printf(l->out, " t%llu", (unsigned long long)operand(l, b, 1, round));
        bytes_printf(l->out, " -> f32[2] @a.gt:%d\n", i + 1);
    }
}

static void choose_operand(Loop *l, BodyLine *b, int i, int k) {
    b->back[k] = 0;
    if (rand_below(l->r, 5) == 0)
        b->from[k] = -10 - rand_below(l->r, l->n_constants);
    else if (i == 0 || rand_below(l->r, 3) == 0)
        b->from[k] = -1 - rand_below(l->r, l->n_states);
    else
        b->from[k] = rand_below(l->r, i);
    if (b->from[k] >= 0 && rand_below(l->r, 8) == 0) b->back[k] = 1 + rand_below(l->r, 2);
    while (b->from[k] >= 0 && l->line[b->from[k]].op == LINE_PRINT) b->from[k] = -1;
    if (b->from[k] < 0) b->back[k] = 0;
}

static void choose_lines(Loop *l) {
    for (int i = 0; i < l->n_lines; i++) {
        BodyLine *b = &l->line[i];
        int kind = rand_below(l->r, 12);
        b->op = kind == 0 ? LINE_RAND : kind == 1 ? LINE_DATA : kind == 2 ? LINE_PRINT : kind % 6;
        b->number = rand_below(l->r, 3) ? 0 : 1 + rand_below(l->r, 3);
        b->scale = rand_below(l->r, 4);
        b->has_edge = rand_below(l->r, 10) == 0;
        for (int k = 0; k < 2; k++) choose_operand(l, b, i, k);
        for (int m = 0; m < 3; m++) l->first[i][m] = put_source(l);
    }
}

static void put_round(Loop *l, int round) {
    uint64_t now[STATES_MAX];
    for (int i = 0; i < l->n_lines; i++) put_line(l, i, round);
    for (int i = 0; i < l->n_states; i++) { /* p -= value */
        int of = (i * 7 + 3) % l->n_lines;
        uint64_t value = l->line[of].op == LINE_PRINT ? l->state[i] : l->made[round][of];
        now[i] = l->next++;
        bytes_printf(l->out, "t%llu = sub t%llu t%llu keep=true -> f32[2] @a.gt:%d\nfree t%llu\n",
                     (unsigned long long)now[i], (unsigned long long)l->state[i],
                     (unsigned long long)value, 100 + i, (unsigned long long)l->state[i]);
    }
    memcpy(l->state, now, sizeof now);
    bytes_puts(l->out, "edge\n");
}

static void put_loop(Rand *r, Bytes *out) {
    Loop l = {.r = r, .out = out};
    l.n_states = 1 + rand_below(r, STATES_MAX), l.n_constants = 1 + rand_below(r, STATES_MAX);
    l.n_lines = 2 + rand_below(r, LINES_MAX - 2), l.rounds = 3 + rand_below(r, 7);
    bytes_puts(out, "gti 1 prog=\"a.gt\"\n");
    for (int i = 0; i < STATES_MAX; i++)
        l.constant[i] = put_source(&l), l.state[i] = put_source(&l);
    if (rand_below(r, 3) == 0) l.state[0] = l.constant[0]; /* one value for two purposes */
    choose_lines(&l);
    if (rand_below(r, 2)) bytes_puts(out, "edge\n");
    for (int round = 0; round < l.rounds; round++) put_round(&l, round);
    bytes_printf(out, "t%llu = add t%llu 1 -> f32[2] @a.gt:200\n", (unsigned long long)l.next,
                 (unsigned long long)l.state[0]);
    bytes_printf(out, "save \"w.npz\" x=t%llu", (unsigned long long)l.next);
    for (int i = 0; i < l.n_states; i++)
        bytes_printf(out, " s%d=t%llu", i, (unsigned long long)l.state[i]);
    bytes_puts(out, " @a.gt:201\n");
    uint64_t h = hash_bytes(out->data, out->n, 1);
    bytes_printf(out, "%s%016llx\n", mark, (unsigned long long)h);
}

static void fuzz_seed(Rand *r, Bytes *out) {
    Bytes step = {0}, notes = {0};
    LangError e = {0};
    put_loop(r, out);
    Source run = {.name = "a.gti", .text = out->data, .n = out->n, .first_line = 1};
    if (rand_below(r, 3) == 0 && step_cut(&run, &step, &notes, &e)) {
        out->n = 0;
        bytes_add(out, step.data, step.n);
    }
    bytes_fini(&step);
    bytes_fini(&notes);
}

/* True if the text ends with the mark of an undamaged loop. */
static bool is_whole(const char *text, size_t n) {
    char want[40];
    size_t n_end = sizeof mark - 1 + 17;
    if (n < n_end) return false;
    uint64_t h = hash_bytes(text, n - n_end, 1);
    snprintf(want, sizeof want, "%s%016llx\n", mark, (unsigned long long)h);
    return !memcmp(text + n - n_end, want, n_end);
}

/* ---- carried out on hashes ---- */

static uint64_t value_of(const Map *values, uint64_t id) {
    return (uint64_t)(uintptr_t)map_get(values, id);
}

static void define(Map *values, uint64_t id, uint64_t h) {
    map_put(values, id, (void *)(uintptr_t)(h | 1));
}

/* The hash of a result: of the operation, its numbers and its operands. */
static void compute(Map *values, const InstLine *line) {
    const Inst *in = &line->inst;
    uint64_t h = hash_bytes(&in->op, sizeof in->op, 0);
    if (in->op == OP_DATA) {
        define(values, in->out[0], hash_bytes(in->payload, in->payload_bytes, 5));
        return;
    }
    for (int i = 0; i < in->n_in; i++) {
        double number = in->in[i].kind == IN_IMM_INT ? (double)in->in[i].i : in->in[i].f;
        uint64_t x = value_of(values, in->in[i].id);
        if (in->in[i].kind == IN_TENSOR)
            h = hash_bytes(&x, sizeof x, h);
        else
            h = hash_bytes(&number, sizeof number, h);
    }
    const Attr *rng = inst_attr(in, ATTR_RNG);
    if (rng) h = hash_bytes(rng->ints, 16, h);
    if (in->op == OP_RESHAPE) h = value_of(values, in->in[0].id); /* a copy */
    for (int i = 0; i < in->n_out; i++) define(values, in->out[i], h);
}

static uint64_t saved(const Map *values, const Inst *save) {
    uint64_t h = 0;
    for (int i = 0; i < save->n_in; i++) {
        uint64_t x = value_of(values, save->in[i].id);
        h = hash_bytes(&x, sizeof x, h);
    }
    return h;
}

static uint64_t run_loop(const char *text, size_t n) {
    Map values = {0};
    Arena arena = {0};
    InstLine line;
    uint64_t h = 0;
    for (size_t at = 0, length; at < n; at += length + 1) {
        const char *end = memchr(text + at, '\n', n - at);
        length = end ? (size_t)(end - text) - at : n - at;
        arena_reset(&arena);
        assert(inst_parse(text + at, length, &arena, &line, NULL));
        if (line.is_empty) continue;
        if (line.inst.op == OP_SAVE) h = saved(&values, &line.inst);
        compute(&values, &line);
    }
    map_fini(&values);
    arena_fini(&arena);
    return h;
}

static void run_step_line(const Step *s, const StepLine *line, uint64_t round, Map *values) {
    Arena arena = {0};
    Bytes text = {0};
    InstLine now = line->inst;
    LangError e = {0};
    const StepInput *in = line->input >= 0 ? &s->input[line->input] : NULL;
    if (in && in->is_number) return;
    if (line->varies) assert(step_parse(s, line, round, &text, &arena, &now, &e));
    if (in && !in->is_computed)
        define(values, now.inst.out[0], hash_bytes(step_row(in, round), type_bytes(&in->type), 5));
    else
        compute(values, &now);
    bytes_fini(&text);
    arena_fini(&arena);
}

static uint64_t run_step(const Step *s, uint64_t rounds) {
    Map values = {0};
    uint64_t h = 0, carried[256];
    for (int i = 0; i < s->body; i++) run_step_line(s, &s->line[i], 0, &values);
    for (uint64_t round = 0; round < rounds; round++) {
        for (int i = s->body; i < s->carry; i++) run_step_line(s, &s->line[i], round, &values);
        for (int i = s->carry; i < s->end && i - s->carry < 256; i++)
            carried[i - s->carry] = value_of(&values, s->line[i].from);
        for (int i = s->carry; i < s->end && i - s->carry < 256; i++)
            define(&values, s->line[i].to, carried[i - s->carry]);
    }
    for (int i = s->end; i < s->n; i++) {
        if (s->line[i].kind == STEP_OUTPUT) h = saved(&values, &s->line[i].inst.inst);
        run_step_line(s, &s->line[i], 0, &values);
    }
    map_fini(&values);
    return h;
}

/* ---- the target ---- */

static bool read_step(const char *text, size_t n, Step *s) {
    Source *src = xcalloc(1, sizeof *src); /* the step borrows it */
    *src = (Source){.name = "step.gti", .text = text, .n = n, .first_line = 1};
    LangError e = {0};
    bool ok = step_read(src, s, &e);
    if (!ok) assert(e.kind == E_SYNTAX && e.what[0] && e.at.line >= 1);
    return ok;
}

static void try_step(const char *text, size_t n, uint64_t want) {
    Step s = {0};
    bool ok = read_step(text, n, &s);
    if (want && !ok) fprintf(stderr, "not readable:\n%.*s", (int)n, text);
    assert(ok || !want);
    if (want) {
        bool same = run_step(&s, s.times) == want;
        if (!same) fprintf(stderr, "other values:\n%.*s", (int)n, text);
        assert(same);
    }
    for (uint64_t round = 0; ok && !want && round < ROUNDS_RUN; round++) {
        for (int i = s.body; i < s.carry; i++) {
            Arena arena = {0};
            Bytes line = {0};
            InstLine now;
            LangError e = {0};
            if (s.line[i].varies && round < s.times) /* rows beyond are the caller's to check */
                step_parse(&s, &s.line[i], 0, &line, &arena, &now, &e);
            bytes_fini(&line);
            arena_fini(&arena);
        }
    }
    const Source *src = s.src;
    step_fini(&s);
    free((void *)src);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char *text = xstrndup((const char *)data, n);
    if (step_is_text(text, n)) {
        try_step(text, n, 0);
        free(text);
        return 0;
    }
    Source run = {.name = "a.gti", .text = text, .n = n, .first_line = 1};
    Bytes out = {0}, notes = {0};
    LangError e = {0};
    uint64_t want = is_whole(text, n) ? run_loop(text, n) : 0;
    bool ok = step_cut(&run, &out, &notes, &e);
    if (ok) try_step(out.data, out.n, want);
    assert(ok || e.what[0]);
    if (want && getenv("STEP_FUZZ_SHOW")) printf("%s\n", ok ? "cut" : e.what);
    bytes_fini(&out);
    bytes_fini(&notes);
    free(text);
    return 0;
}
