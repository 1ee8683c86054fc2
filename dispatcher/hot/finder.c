/* finder.c: see finder.h. A client is in one of these states: not examined (no finder),
 * examined, rewritten, waiting after a failed trial, or defining bodies itself.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/hot/finder.h"
#include "runtime/wire/body.h"
#include <stdlib.h>

/* Instructions without a body before a client is examined. With 4096, half of a loop of 9,000
 * instructions is found (tests/cli/found.sh), with 512 nine tenths. */
enum { LOOK_AFTER = 512 };
/* The minimum number of instructions in a trial. A trial of 512 finds too few bodies in a nested
 * loop (tests/cli/found.sh, 250 instructions per iteration of the outer loop). */
enum { TRIAL = HOT_INSTS };

struct Finder {
    Detector *detector;
    uint32_t client, threshold;
    FrameWriter w; /* the frame that is being written */
    uint64_t seq;  /* of the client's next instruction in it */
    Msg *out;      /* finished ones, not yet taken: from out_at on */
    size_t out_at, n_out, cap_out;
    bool writes;    /* frames are rewritten ... */
    bool is_new;    /* ... from the next one on */
    uint64_t trial; /* ends after this many instructions ... */
    uint64_t n;     /* ... of which these have arrived */
    uint64_t hot;   /* DetectorCounts.instructions at its beginning */
    uint64_t wait;  /* the pause after the last failed trial, in instructions ... */
    uint64_t skip;  /* ... and how many of them are still to come */
};

void finder_free(Finder **kp) {
    Finder *k = *kp;
    *kp = NULL;
    if (!k) return;
    detector_free(&k->detector);
    for (size_t i = k->out_at; i < k->n_out; i++) msg_fini(&k->out[i]);
    if (k->w.head) {
        Msg m;
        frame_end(&k->w, &m);
        msg_fini(&m);
    }
    free(k->out);
    free(k);
}

/* ---- Writing ---- */

static void push(Finder *k) {
    if (!k->w.head) return;
    ARRAY_ROOM(k->out, k->n_out, k->cap_out, 4);
    frame_end(&k->w, &k->out[k->n_out++]);
}

/* Makes room for one more instruction. */
static void make_room(Finder *k) {
    if (k->w.head && frame_is_full(&k->w)) push(k);
    if (!k->w.head) frame_begin(&k->w, k->client, k->seq);
}

/* Called by the detector. */
static void define(void *ctx, FrameWriter *w, const Inst *body) {
    make_room(ctx);
    frame_insert(w, body);
}

/* An iteration begins after an `edge`, and before a result if the detector wants an edge there. */
static void add(Finder *k, const Inst *in) {
    FrameWriter *w = &k->w;
    if (in->n_out && detector_is_edge_due(k->detector, in)) {
        frame_edge(w, in->out[0]);
        detector_edge(k->detector, w, true);
    }
    make_room(k);
    frame_add(w, in);
    k->seq++;
    detector_added(k->detector, w);
    if (in->op != OP_EDGE) return;
    frame_edge(w, w->next_id);
    detector_edge(k->detector, w, false);
}

/* Ends a trial. It has failed if less than half of its instructions were hot. */
static void end_trial(Finder *k) {
    uint64_t hot = detector_counts(k->detector).instructions - k->hot;
    bool is_worth_it = 2 * hot >= k->n;
    if (is_worth_it) {
        k->wait = 0;
    } else {
        k->writes = false;
        k->wait = k->wait ? 2 * k->wait : k->n;
        k->skip = k->wait;
        detector_forget(k->detector);
    }
    k->n = 0;
    k->hot += hot;
}

int finder_write(Dispatcher *d, Client *c, FrameReader *r, Err *err) {
    Finder *k = c->finder;
    Inst in;
    int more;
    DetectorCounts before = detector_counts(k->detector);
    if (k->is_new) {
        detector_break(k->detector, &k->w);
        frame_edge(&k->w, c->next_id);
        k->hot = before.instructions;
        k->n = 0;
        k->is_new = false;
    }
    k->seq = r->seq;
    while ((more = frame_next(r, &d->scratch, &in, NULL, NULL, err)) > 0 && !r->is_inserted)
        add(k, &in);
    push(k);
    if (more > 0) more = err_set(err, ERR_PARSE, "clients do not insert instructions") - 1;
    DetectorCounts after = detector_counts(k->detector);
    d->found.bodies += after.bodies - before.bodies;
    d->found.runs += after.runs - before.runs;
    d->found.instructions += after.instructions - before.instructions;
    k->n += r->next;
    if (k->n >= k->trial) end_trial(k);
    return more;
}

bool finder_is_empty(const Client *c) { return c->finder->out_at == c->finder->n_out; }

bool finder_next(Client *c, Msg *m) {
    Finder *k = c->finder;
    if (finder_is_empty(c)) {
        k->out_at = k->n_out = 0;
        return false;
    }
    msg_move(m, &k->out[k->out_at++]);
    return true;
}

/* ---- Examining ---- */

static Finder *finder_new(const Dispatcher *d, const Client *c) {
    DetectorConfig config = d->config.hot;
    Finder *k = xcalloc(1, sizeof *k);
    DetectorHost host = {.ctx = k, .define = define};
    config.bytes_max = BODY_BYTES;
    config.seed = d->config.seed;
    k->client = c->id, k->threshold = config.threshold;
    k->detector = detector_new(&config, &host);
    return k;
}

static void number_bodies(Client *c, Msg *m) {
    if (atomic_load(&m->part[0]->refs) > 1) { /* it is shared */
        Buf *own = buf_copy(m->part[0]->data, m->part[0]->n);
        buf_unref(&m->part[0]);
        m->part[0] = own;
    }
    frame_number_bodies(m, c->body_base);
}

/* The client finds its bodies itself. It does not know those that were found here, so the
 * numbers of its own continue after them. */
static void leave_alone(Client *c, Msg *m) {
    c->body_base = c->bodies.next;
    finder_free(&c->finder);
    if (c->body_base) number_bodies(c, m);
}

bool finder_look(Dispatcher *d, Client *c, Msg *m) {
    Finder *k = c->finder;
    if (!k) {
        if (c->body_base)
            number_bodies(c, m);
        else if (!c->bodies.next && d->config.hot.threshold && c->next_seq >= LOOK_AFTER)
            c->finder = finder_new(d, c);
        return false;
    }
    if ((k->writes || c->bodies.next) && frame_has_bodies(m)) {
        leave_alone(c, m);
        return false;
    }
    bool is_usual = m->part[0]->n <= FRAME_BYTES + INLINE_BYTES; /* writers end frames there */
    if (!k->writes || is_usual) return k->writes;
    k->is_new = true;
    return false;
}

void finder_sees(Client *c, const Inst *inst) {
    Finder *k = c->finder;
    if (inst->op == OP_BODY) { /* its own numbers, because nothing was found here */
        finder_free(&c->finder);
        return;
    }
    if (k->writes) return;
    if (k->skip) {
        k->skip--;
        return;
    }
    uint64_t n = detector_repeats(k->detector, inst);
    if (!n) return;
    k->writes = k->is_new = true;
    /* The body is defined within 2 * threshold repetitions. After that all should be hot, which is
     * more than half of the trial. */
    k->trial = TRIAL + 4 * (uint64_t)k->threshold * n;
}

void finder_stats(const Dispatcher *d, Bytes *out) {
    bytes_printf(out, "found_bodies=%llu\nfound_runs=%llu\nfound_instructions=%llu\n",
                 (unsigned long long)d->found.bodies, (unsigned long long)d->found.runs,
                 (unsigned long long)d->found.instructions);
}
