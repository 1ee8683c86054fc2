/* part_indices.c: indices out of range. Calls with good and with bad indices are submitted in
 * random order, many before the first is waited for, more than an engine has room to watch at once.
 * Each bad one must fail with the oracle's words, and with its own ticket; on an ordered engine
 * failures come in the order of the calls. All good ones must have the right results.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 200 /* of a batch, at most */ };

/* One call, and what it must give. */
typedef struct Flight {
    Case c;
    bool is_bad;
    Call call;
    View in[3];
    void *base[3];
    Ticket ticket;
    Outcome want;
    bool has_failed;
    char *got;
} Flight;

static void launch(Part *p, Flight *f) {
    Engine *e = p->e;
    Err err = {0};
    for (int i = 0; i < f->c.inst.n_in; i++) {
        const CaseArg *a = &f->c.arg[i];
        f->base[i] = e->ops->alloc(e, a->base_bytes);
        e->ops->copy_in(e, f->base[i], a->base, a->base_bytes);
        f->in[i] = a->view;
        f->in[i].data = (char *)f->base[i] + a->offset * dtype_info[a->view.type.dtype].size_bytes;
    }
    f->call = (Call){.inst = &f->c.inst, .n_in = f->c.inst.n_in, .n_out = 1, .in = f->in};
    f->call.out[0] = view_dense(&f->c.out[0], e->ops->alloc(e, type_bytes(&f->c.out[0])));
    f->ticket = e->ops->submit(e, &f->call, NULL, 0);
    int result = e->ops->done(e, f->ticket, true, &err);
    if (e->ops->is_ordered && result != 1) part_fail(p, "refused at once: %s", err.text);
    if (e->ops->is_ordered || result == 1) return;
    f->has_failed = true;
    if (!f->is_bad || strcmp(err.text, f->want.err.text)) part_fail(p, "fails: %s", err.text);
}

/* Of an ordered engine: takes all failures, which must be those of the bad calls, in order. */
static void take_failures(Part *p, Flight *flight, int n) {
    Engine *e = p->e;
    Ticket failed;
    Err err = {0};
    int node, next = 0;
    Ticket t = e->ops->mark(e);
    while (!e->ops->done(e, t, true, NULL)) {}
    while (e->ops->failed(e, &failed, &node, &err)) {
        int k = next;
        while (k < n && flight[k].ticket != failed) k++;
        if (k == n) {
            part_fail(p, "a failure of no call of this batch, or out of order: %s", err.text);
            continue;
        }
        next = k + 1;
        flight[k].has_failed = true;
        if (!flight[k].is_bad)
            part_fail(p, "call %d of %d has good indices and fails: %s", k, n, err.text);
        else if (strcmp(err.text, flight[k].want.err.text) || err.at != flight[k].want.err.at)
            part_fail(p, "call %d of %d fails with '%s', not '%s'", k, n, err.text,
                      flight[k].want.err.text);
    }
}

static void land(Part *p, Flight *f, int k, int n) {
    Engine *e = p->e;
    if (f->is_bad && !f->has_failed)
        part_fail(p, "call %d of %d has a bad index and does not fail", k, n);
    if (!f->is_bad && memcmp(f->got, f->want.out[0], type_bytes(&f->c.out[0])))
        part_fail(p, "call %d of %d (%s): the result is wrong", k, n, op_info[f->c.inst.op].name);
    e->ops->free(e, f->call.out[0].data, type_bytes(&f->c.out[0]));
    for (int i = 0; i < f->c.inst.n_in; i++) e->ops->free(e, f->base[i], f->c.arg[i].base_bytes);
    free(f->got);
    outcome_free(&f->want);
    case_free(&f->c);
}

/* Bad and good calls of one batch. Good ones: the same rows, whose sums are of whole numbers. */
static bool draw(Part *p, Flight *f) {
    static const Op ops[] = {OP_INDEX, OP_INDEX_PUT, OP_GATHER, OP_SCATTER_ADD};
    static const int64_t bad[] = {-11, -1, 10, INT64_MIN, INT64_MAX, 4000000000};
    Op op = ops[rand_below(&p->rand, 4)];
    *f = (Flight){.is_bad = rand_below(&p->rand, 3) == 0};
    if (f->is_bad)
        case_make_bad_index(&f->c, op, bad[rand_below(&p->rand, 6)]);
    else if (!case_draw(&f->c, op, DT_F32, STYLE_WHOLE, rand_u64(&p->rand)))
        return false;
    if (f->c.inst.n_in > 3) {
        case_free(&f->c);
        return false;
    }
    outcome_run(&f->c, p->oracle, false, &f->want);
    return true;
}

static void prove_batch(Part *p, Flight *flight, int n) {
    int made = 0;
    while (made < n)
        if (draw(p, &flight[made])) made++;
    for (int k = 0; k < n; k++) launch(p, &flight[k]);
    for (int k = 0; k < n; k++) {
        flight[k].got = xmalloc(type_bytes(&flight[k].c.out[0]) + 1);
        p->e->ops->copy_out(p->e, flight[k].got, &flight[k].call.out[0]);
    }
    if (p->e->ops->is_ordered) take_failures(p, flight, n);
    for (int k = 0; k < n; k++) land(p, &flight[k], k, n);
}

void part_indices(Part *p) {
    int batches = part_rounds(p, 6, 40), calls = 0, bad = 0;
    p->tally->all = (uint64_t)batches;
    if (!(p->e = part_open(p, p->config->ops, 0))) return;
    if (!(p->oracle = part_open(p, &engine_cpu, 0))) return;
    Flight *flight = xcalloc(CALLS, sizeof *flight);
    for (int k = 0; k < batches; k++) {
        int n = k ? 1 + rand_below(&p->rand, CALLS / 4) : part_rounds(p, 150, CALLS);
        if (!part_begin(p, "batch %d of %d calls", k, n)) break;
        prove_batch(p, flight, n);
        calls += n;
        for (int i = 0; i < n; i++) bad += flight[i].is_bad;
    }
    free(flight);
    part_close(p, &p->e);
    part_close(p, &p->oracle);
    part_done(p, "%d calls in %d batches, %d with bad indices", calls, batches, bad);
}
