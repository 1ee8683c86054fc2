/* grad_hygiene.h: checks that no sample of grad_test.c emits or keeps more than needed. Only
 * grad_test.c includes it. Programs run in emit mode, and the emitted instructions are read back:
 * - with one operand that needs a gradient, backward emits nothing whose result is not used, with
 * and without create_graph, so nothing for operands that need none;
 * - without a gradient, or under no_grad, nothing is recorded and only the result stays alive;
 * - values that a graph keeps alive are read when backward walks it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_GRAD_HYGIENE_H
#define GT_TESTS_UNIT_GRAD_HYGIENE_H
#include "lang/eval/run.h"
#include "lang/eval/import.h"
#include "lang/tensor/autograd.h"
#include "tests/unit/check.h"
#include <stdlib.h>

/* An interpreter that prints its instructions; `at`: how far they have been read. */
typedef struct Tap {
    Interp *in;
    char *text;
    size_t n, at;
    FILE *file;
    const char *what;
} Tap;

static bool tap_open(Tap *t, const char *what) {
    LangError e = {0};
    *t = (Tap){.what = what};
    t->file = open_memstream(&t->text, &t->n);
    InterpConfig config = {.width = 80};
    config.stream.mode = STREAM_EMIT, config.stream.emit_to = t->file;
    return (t->in = interp_new(&config, &e)) != NULL;
}
static void tap_close(Tap *t) {
    interp_free(&t->in);
    fclose(t->file);
    free(t->text);
}

static bool tap_run(Tap *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool tap_run(Tap *t, const char *format, ...) {
    LangError e = {0};
    char open, text[6000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    Program *p = parse_program(interp_source(t->in, t->what, text, strlen(text), 1, false), NULL,
                               NULL, &open, &e);
    bool ok = p && interp_run(t->in, p, false, &e);
    CHECK_MSG(ok, "%s: %s (%s)", t->what, e.what, text);
    stream_flush(t->in->stream);
    fflush(t->file);
    return ok;
}

/* Ids that the lines since the last call made, freed and read. */
enum { LINES_MAX = 4000, IDS_MAX = 20000 };
typedef struct Look {
    int n;
    struct {
        uint64_t out[MAX_OUT];
        int n_out;
        char text[60];
    } line[LINES_MAX];
    bool made[IDS_MAX], freed[IDS_MAX], read[IDS_MAX];
} Look;

static void tap_look(Tap *t, Look *l) {
    memset(l, 0, sizeof *l);
    Arena arena = {0};
    for (size_t end; t->at < t->n; t->at = end + 1) {
        for (end = t->at; end < t->n && t->text[end] != '\n'; end++) {}
        InstLine line;
        Err err = {0};
        arena_reset(&arena);
        if (!inst_parse(t->text + t->at, end - t->at, &arena, &line, &err) || line.is_empty)
            continue;
        const Inst *in = &line.inst;
        CHECK(l->n < LINES_MAX);
        if (l->n == LINES_MAX) break;
        for (int i = 0; i < in->n_in; i++) {
            if (in->in[i].kind != IN_TENSOR || in->in[i].id >= IDS_MAX) continue;
            if (in->op == OP_FREE) l->freed[in->in[i].id] = true;
            if (in->op != OP_FREE) l->read[in->in[i].id] = true;
        }
        l->line[l->n].n_out = in->n_out;
        for (int i = 0; i < in->n_out && in->out[i] < IDS_MAX; i++)
            l->line[l->n].out[i] = in->out[i], l->made[in->out[i]] = true;
        snprintf(l->line[l->n++].text, 60, "%.*s", (int)(end - t->at), t->text + t->at);
    }
    arena_fini(&arena);
}

static uint64_t global_id(Tap *t, const char *name) {
    const char *found;
    Value v;
    for (size_t i = 0; interp_global(t->in, i, &found, &v); i++)
        if (!strcmp(found, name) && v.kind == V_TENSOR) return v.tensor->handle->id;
    return IDS_MAX;
}
static int global_count(Tap *t, const char *name) {
    const char *found;
    Value v;
    for (size_t i = 0; interp_global(t->in, i, &found, &v); i++)
        if (!strcmp(found, name)) return (int)value_count(v);
    return 0;
}

/* Of all that was made only the result is alive, and no op is recorded. */
static void check_leaves_nothing(Tap *t, Look *l, const char *how) {
    uint64_t y = global_id(t, "y");
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < l->line[i].n_out; k++) {
            uint64_t id = l->line[i].out[k];
            CHECK_MSG(l->freed[id] || id == y, "%s, %s: still alive: %s", t->what, how,
                      l->line[i].text);
        }
    const Tape *tape = tape_of(t->in);
    for (const GradNode *n = tape->live.next; n != &tape->live; n = n->next)
        CHECK_MSG(n->op == NODE_LEAF, "%s, %s: op %d is recorded", t->what, how, n->op);
}

static const char *node_op(const GradNode *n) {
    return n->op < OP_COUNT ? op_info[n->op].name : "a node";
}

/* The values that the live graph keeps, without single numbers. */
static int kept_values(const Interp *in, uint64_t *id, const char **by, int cap) {
    int n = 0;
    for (const GradNode *p = in->tape->live.next; p != &in->tape->live; p = p->next) {
        for (int i = 0; i < p->n_in && n < cap; i++)
            if (p->in[i].value && type_numel(&p->in[i].value->type) > 1)
                by[n] = node_op(p), id[n++] = p->in[i].value->id;
        for (int i = 0; i < MAX_OUT && n < cap; i++)
            if (p->out[i] && type_numel(&p->out[i]->type) > 1)
                by[n] = node_op(p), id[n++] = p->out[i]->id;
    }
    return n;
}

static void check_backward(Tap *t, Look *l, const char *f, const char *xs, int k, bool records) {
    enum { KEPT = 200 };
    uint64_t kept[KEPT];
    const char *by[KEPT];
    if (!tap_run(t,
                 "xs = %s; xs = [param(x) if i == %d else x for i, x in enumerate(xs)]\n"
                 "p = xs[%d]\n"
                 "y = (%s)(*xs); seed = full_like(y, 0.7)",
                 xs, k, k, f))
        return;
    int n = kept_values(t->in, kept, by, KEPT);
    tap_look(t, l);
    if (!tap_run(t, "g = grad(y, p, seed=seed, create_graph=%s)", records ? "true" : "false"))
        return;
    tap_run(t, "print(g)");
    tap_look(t, l);
    for (int i = 0; i < l->n; i++) {
        bool used = l->line[i].n_out == 0;
        for (int o = 0; o < l->line[i].n_out; o++) used |= l->read[l->line[i].out[o]];
        CHECK_MSG(used, "%s, gradient of operand %d: not used: %s", t->what, k, l->line[i].text);
    }
    for (int i = 0; i < n; i++)
        CHECK_MSG(l->read[kept[i]], "%s, gradient of operand %d: %s keeps t%llu, never reads it",
                  t->what, k, by[i], (unsigned long long)kept[i]);
    tap_run(t, "del xs, p, y, seed, g");
    CHECK_MSG(t->in->tape->n_live == 0, "%s: nodes are left", t->what);
}

static void check_hygiene(const char *what, const char *f, const char *xs) {
    static Look look;
    Tap t;
    bool ok = tap_open(&t, what);
    CHECK(ok);
    if (!ok) return;
    if (tap_run(&t, "xs = %s", xs)) {
        int n = global_count(&t, "xs");
        tap_look(&t, &look);
        if (tap_run(&t, "y = (%s)(*xs)", f))
            tap_look(&t, &look), check_leaves_nothing(&t, &look, "without gradients");
        tap_run(&t, "del y; xs = [param(x) for x in xs]");
        tap_look(&t, &look);
        if (tap_run(&t, "no_grad { y = (%s)(*xs) }", f))
            tap_look(&t, &look), check_leaves_nothing(&t, &look, "under no_grad");
        tap_run(&t, "del y, xs");
        for (int k = 0; k < n; k++) {
            check_backward(&t, &look, f, xs, k, false);
            check_backward(&t, &look, f, xs, k, true);
        }
    }
    tap_close(&t);
}
#endif
