/* mark.c: see mark.h. SPDX-License-Identifier: MIT */
#include "worker/exec/mark.h"
#include "worker/exec/exec.h"
#include "worker/exec/issue.h"
#include "worker/exec/queue.h"
#include "worker/exec/watch.h"

#include <assert.h>
#include <stdlib.h>

enum {
    SLOTS = 64,
    SLOT_GROUP = 16, /* slots after which a mark is taken, so that not all of them wait for one */
    CALL_GROUP = 64  /* calls likewise, for the bound of work in flight */
};

typedef struct Slot {
    Ticket ticket;
    int node;
    uint64_t before; /* bits of slots that are open and on which its operands depend */
    ErrCode poison;  /* one of those has failed */
    Err *err;        /* its own failure; owned */
    Job *job;        /* takes the error; or NULL, and ... */
    Frame *frame;    /* ... this has it pending */
    uint64_t seq;
    SrcPos pos;
    uint16_t op;
} Slot;

/* What waits for a mark. */
typedef struct Entry {
    Ticket mark;
    uint64_t opened; /* Marks.opened when it was taken */
    Job *job;
    void (*run)(Exec *x, void *ctx);
    void *ctx;
    int n_calls; /* that it has counted */
    double work;
} Entry;

struct Marks {
    Fifo queue;              /* of Entry */
    int n_awaited;           /* of those in the queue, with a job or `run` */
    uint64_t opened, closed; /* slots; slot n is slot[n % SLOTS] */
    Slot slot[SLOTS];
    Doubt all; /* a circle */
    int n_calls;
    double work; /* since the last mark */
};

Marks *marks_new(void) {
    Marks *m = xcalloc(1, sizeof *m);
    m->all.next = m->all.prev = &m->all;
    return m;
}

void marks_free(Exec *x) {
    if (!x->marks) return;
    marks_settle(x);
    fifo_fini(&x->marks->queue);
    free(x->marks);
    x->marks = NULL;
}

/* ---- Doubt ---- */

void doubt_add(Exec *x, Doubt **owner, ErrCode *poison, uint64_t bits) {
    Doubt *all = &x->marks->all;
    if (!bits) return;
    if (!*owner) {
        Doubt *d = *owner = xmalloc(sizeof *d);
        *d = (Doubt){0, poison, owner, all, all->prev};
        all->prev->next = d, all->prev = d;
    }
    (*owner)->bits |= bits;
}

void doubt_pass(Exec *x, Storage *st, Storage *const *from, int n, uint64_t bits) {
    for (int i = 0; i < n; i++) {
        bits |= doubt_bits(from[i]->doubt);
        if (from[i]->poison && !st->poison) st->poison = from[i]->poison;
    }
    doubt_add(x, &st->doubt, &st->poison, bits);
}

/* ---- Slots ---- */

static uint64_t bit_of(uint64_t slot) { return UINT64_C(1) << slot % SLOTS; }

void doubt_reserve(Exec *x, int n) {
    Marks *m = x->marks;
    while (m->opened - m->closed + (uint64_t)n > SLOTS) marks_pass(x, true);
}

uint64_t doubt_open(Exec *x, Job *j, int node, uint64_t before, ErrCode poison, bool stays) {
    Marks *m = x->marks;
    assert(m->opened - m->closed < SLOTS);
    Slot *s = &m->slot[m->opened % SLOTS];
    *s = (Slot){.ticket = x->engine->last, .node = node, .poison = poison};
    for (uint64_t n = m->closed; n < m->opened; n++) s->before |= before & bit_of(n);
    s->seq = j->seq, s->pos = j->inst.pos, s->op = (uint16_t)j->inst.op;
    if (stays)
        s->job = j;
    else
        s->frame = j->frame, j->frame->pending++;
    uint64_t bit = bit_of(m->opened++);
    if (m->opened % SLOT_GROUP == 0) marks_put(x, NULL, NULL);
    return bit;
}

void doubt_result(Exec *x, Job *j, int node, bool stays) {
    uint64_t bits = 0;
    if (op_has(j->call.inst->op, FACT_FAILS)) {
        ErrCode poison = ERR_NONE;
        for (int i = 0; i < j->n_held; i++) {
            bits |= doubt_bits(j->held[i]->doubt);
            if (!poison) poison = j->held[i]->poison;
        }
        bits = doubt_open(x, j, node, bits, poison, stays);
    }
    for (int k = 0; k < j->call.n_out; k++) doubt_pass(x, j->out[k], j->held, j->n_held, bits);
}

/* Takes the failures that are known. */
static void take_failures(Exec *x) {
    Marks *m = x->marks;
    Ticket t;
    int node;
    Err err;
    while (x->ops->failed(x->engine, &t, &node, &err))
        for (uint64_t n = m->closed; n < m->opened; n++) {
            Slot *s = &m->slot[n % SLOTS];
            if (s->ticket != t || s->node != node || s->err) continue;
            s->err = xmalloc(sizeof *s->err);
            *s->err = err;
            break;
        }
}

/* Reports the failure of a slot, or has its job report it. */
static void report(Exec *x, Slot *s) {
    if (s->job) {
        s->job->err = s->err;
        s->err = NULL;
    } else {
        Job j = {.frame = s->frame, .seq = s->seq, .inst = {.op = s->op, .pos = s->pos}};
        exec_fail(x, &j, s->err);
        free(s->err);
    }
}

/* Slot n has failed: poisons what is in doubt because of it. */
static void poison_doubtful(Marks *m, uint64_t n, ErrCode code) {
    for (uint64_t k = n + 1; k < m->opened; k++) {
        Slot *s = &m->slot[k % SLOTS];
        if ((s->before & bit_of(n)) && !s->poison) s->poison = code;
    }
    for (Doubt *d = m->all.next; d != &m->all; d = d->next)
        if ((d->bits & bit_of(n)) && !*d->poison) *d->poison = code;
}

/* Takes the bits of closed slots out of all doubt. */
static void clear_bits(Marks *m, uint64_t bits) {
    for (uint64_t n = m->closed; n < m->opened; n++) m->slot[n % SLOTS].before &= ~bits;
    for (Doubt *d = m->all.next, *next; d != &m->all; d = next) {
        next = d->next;
        if (!(d->bits &= ~bits)) doubt_drop(d->owner);
    }
}

/* Ends the slots below `end`, whose calls are done. */
static void close_slots(Exec *x, uint64_t end) {
    Marks *m = x->marks;
    uint64_t begin = m->closed, bits = 0;
    if (begin >= end) return;
    take_failures(x);
    for (; m->closed < end; m->closed++) {
        Slot *s = &m->slot[m->closed % SLOTS];
        ErrCode code = s->err && s->err->code ? s->err->code : ERR_INTERNAL;
        if (s->err || s->poison) poison_doubtful(m, m->closed, s->poison ? s->poison : code);
        if (s->err && !s->poison)
            report(x, s);
        else
            free(s->err);
        bits |= bit_of(m->closed);
    }
    clear_bits(m, bits);
    for (uint64_t n = begin; n < end; n++) {
        Frame *f = m->slot[n % SLOTS].frame;
        if (!f) continue;
        f->pending--;
        exec_frame_done(x, f);
    }
}

/* ---- The queue ---- */

static void put(Exec *x, Entry e) {
    Marks *m = x->marks;
    e.mark = x->ops->mark(x->engine);
    e.opened = m->opened;
    e.n_calls = m->n_calls, e.work = m->work;
    m->n_calls = 0, m->work = 0;
    m->n_awaited += e.job || e.run;
    *(Entry *)fifo_push(&m->queue, sizeof e) = e;
}

void marks_put(Exec *x, void (*run)(Exec *x, void *ctx), void *ctx) {
    put(x, (Entry){.run = run, .ctx = ctx});
}

void marks_put_job(Exec *x, Job *j) {
    j->marked = MARKED_WAITS;
    j->frame->client->n_marked++;
    put(x, (Entry){.job = j});
}

void marks_count(Exec *x, double work) {
    Marks *m = x->marks;
    queue_count(x, 1, work);
    m->work += work;
    if (++m->n_calls >= CALL_GROUP || queue_is_much(x, m->work)) marks_put(x, NULL, NULL);
}

static void pass(Exec *x, const Entry *e) {
    Marks *m = x->marks;
    m->n_awaited -= e->job || e->run;
    close_slots(x, e->opened);
    queue_count(x, -e->n_calls, -e->work);
    if (e->run) e->run(x, e->ctx);
    if (!e->job) return;
    e->job->marked = MARKED_DONE;
    e->job->state = JOB_DONE;
    queue_settle(x, e->job->frame->client);
}

/* Time that it waits counts as the device's. */
static bool is_done(Exec *x, Ticket mark, bool wait) {
    uint64_t began = wait ? watch_tick(x) : 0;
    bool done = x->ops->done(x->engine, mark, wait, NULL) != 0;
    if (wait) exec_watch_waited(x, began, IDLE_DEVICE);
    return done;
}

bool marks_pass(Exec *x, bool wait) {
    Marks *m = x->marks;
    bool any = false;
    if (wait && !m->queue.n) marks_put(x, NULL, NULL);
    while (m->queue.n) {
        Entry e = *(Entry *)fifo_at(&m->queue, 0);
        if (!is_done(x, e.mark, wait)) break;
        fifo_pop(&m->queue);
        pass(x, &e);
        any = true, wait = false;
    }
    return any;
}

void marks_settle(Exec *x) {
    marks_put(x, NULL, NULL);
    while (x->marks->queue.n) /* a job that is settled may let the next one take a mark */
        if (!marks_pass(x, true) && x->poll) x->poll(x->poll_ctx);
}

bool marks_has_slots(const Exec *x) { return x->marks->opened != x->marks->closed; }

bool marks_are_awaited(const Exec *x) {
    const Marks *m = x->marks;
    return m && (m->n_awaited || m->opened != m->closed);
}

void marks_wait(Exec *x) {
    Marks *m = x->marks;
    if (!m->n_awaited && !m->queue.n) marks_put(x, NULL, NULL); /* for slots */
    marks_pass(x, true);
}
