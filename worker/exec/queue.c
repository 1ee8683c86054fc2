/* queue.c: jobs that are issued and not done: those in flight, those that wait, and the order in
 * which a client gets their reports.
 *
 * A job waits until the jobs that make its operands (their makers) have started. A move waits
 * until they have finished, and for descriptors from peers. After that a job waits for memory. Its
 * results are named when it is queued and get memory when it starts. While it is queued, `data` of
 * its operand views is an offset in their storage (rebase). A storage lists the jobs that wait for
 * it. Of a client's jobs that wait for nothing but memory, the oldest that fits starts first.
 *
 * Why there is no deadlock. An instruction has the same number on all workers. Of all unfinished
 * instructions on all workers, take the one with the smallest number. It waits only for older
 * instructions, which are done, or for the part of the same instruction on another worker:
 *  - Operands: an older instruction of this worker makes each of them.
 *  - Moves: the owners' part waits for its operand alone, never for memory or readers. The readers'
 *    part waits for the owners' part; meanwhile its results have names but no memory.
 *  - Issue: an instruction is not issued while many older ones of its client wait (with LOOK_DRAIN:
 *    any). The turns of other clients are finite.
 *  - Memory: a job waits only while calls in flight, older jobs or pins of older moves may free
 *    some. (A pin keeps a storage until a peer has read it; that reader is as old as the move.) If
 *    there is none of these, the job fails: out of memory.
 * An instruction may start before older ones that wait. It must leave free what all waiting jobs of
 * their clients will need, and a quarter of the arena more if one of them is of its own client.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/queue.h"
#include "worker/exec/check.h"
#include "worker/exec/cancel.h"
#include "worker/exec/effect.h"
#include "worker/exec/exec.h"
#include "worker/exec/hash.h"
#include "worker/exec/issue.h"
#include "worker/exec/mark.h"
#include "worker/exec/move.h"
#include "worker/exec/peer.h"
#include "worker/exec/stage.h"
#include "worker/exec/watch.h"

#include <assert.h>
#include <stdlib.h>

struct Wait {
    Wait *next;
    Job *job;
    bool until_filled; /* waits until the storage is filled, not only until its maker has started */
};
_Static_assert(sizeof(Wait) == WAIT_BYTES, "job.h states the size of a Wait");

/* ---- How much may be in flight ---- */

/* A call in flight cannot be withdrawn. So at most IN_FLIGHT_MAX calls are in flight, and no more
 * than the engine finishes in about AHEAD_NS at its pace so far. IN_FLIGHT_MIN calls are always
 * allowed, to keep the engine busy. */
enum { IN_FLIGHT_MIN = 4, IN_FLIGHT_MAX = 1024, AHEAD_NS = 100000000, PACE_NS = 1000000 };
enum { CALL_WORK = 1 << 14 }; /* work of starting a call */
const double exec_first_pace = 0.25;

/* Estimates the work of a call, in bytes: CALL_WORK, plus the bytes that it moves, plus half a byte
 * per multiplication of an operation with FACT_CUBIC (matmul, solve, factorizations). */
double exec_work(const Call *call) {
    double work = CALL_WORK;
    for (int i = 0; i < call->n_in; i++)
        if (!call->in[i].is_scalar) work += (double)type_bytes(&call->in[i].type);
    for (int i = 0; i < call->n_out; i++) work += (double)type_bytes(&call->out[i].type);
    if (!op_has(call->inst->op, FACT_CUBIC)) return work;
    const TensorType *a = &call->in[0].type;
    return work + 0.5 * (double)type_numel(&call->out[0].type) * (double)a->shape[a->rank - 1];
}

bool exec_is_far_ahead(const Exec *x) {
    return x->n_in_flight > IN_FLIGHT_MAX ||
           (x->n_in_flight > IN_FLIGHT_MIN && x->work_in_flight > AHEAD_NS * x->pace);
}

/* Updates the engine's pace, at most every PACE_NS, when it has done so much work. */
static void keep_pace(Exec *x, double work) {
    x->done_work += work;
    int64_t now = exec_now_ns(x), ns = now - x->pace_ns;
    if (ns < PACE_NS) return;
    x->pace = (x->pace + x->done_work / (double)ns) / 2;
    x->done_work = 0;
    x->pace_ns = now;
}

void queue_count(Exec *x, int n, double work) {
    if (n > 0 && !x->n_in_flight) x->pace_ns = exec_now_ns(x), x->done_work = 0;
    x->n_in_flight += n;
    x->work_in_flight = x->n_in_flight ? x->work_in_flight + work : 0;
    if (n < 0) keep_pace(x, -work);
}

bool queue_is_much(const Exec *x, double work) { return work > AHEAD_NS / 8 * x->pace; }

/* ---- The client's queue ---- */

static void enqueue(Job *j, JobState state) {
    Client *c = j->frame->client;
    for (int i = 0; i < j->n_held; i++) storage_ref(j->held[i])->users++;
    for (int i = 0; i < j->call.n_out; i++) storage_ref(j->out[i])->users++;
    j->state = (uint8_t)state;
    j->marked = MARKED_NOT;
    j->frame->pending++;
    c->n_jobs++;
    j->next = NULL;
    if (c->last_job)
        c->last_job->next = j;
    else
        c->jobs = j;
    c->last_job = j;
}

static void release(Exec *x, Storage *st) {
    st->users--;
    storage_unref(&x->store, st);
}

static void release_all(Exec *x, Job *j) {
    for (int i = 0; i < j->call.n_out; i++) release(x, j->out[i]);
    for (int i = 0; i < j->n_held; i++) release(x, j->held[i]);
    j->n_held = j->call.n_out = 0;
}

/* Converts the data of j's operand views between addresses and offsets. They are offsets from the
 * time when the job is queued until it starts or its effect runs. */
static void rebase(Job *j, bool to_memory) {
    if (op_info[j->inst.op].class_ == CLASS_SOURCE) return; /* call.in does not hold its model */
    for (int i = 0, k = 0; i < j->inst.n_in && k < j->n_held; i++) {
        if (j->inst.in[i].kind != IN_TENSOR) continue;
        View *v = &j->call.in[i];
        uintptr_t base = (uintptr_t)storage_base(j->held[k++]), at = (uintptr_t)v->data;
        v->data = (void *)(to_memory ? at + base : at - base);
    }
}

/* j, which is done, waits for its mark. */
static void mark(Exec *x, Job *j) {
    if (j->kind == JOB_EFFECT) {
        rebase(j, true);
        effect_take(x, j);
        release_all(x, j);
    }
    marks_put_job(x, j);
}

void queue_report(Exec *x, Job *j) {
    bool is_next = x->marks && client_is_clear(j->frame->client);
    if (!op_is_effect(j->inst.op)) j->n_held = 0;
    j->call.n_out = 0;
    rebase(j, false);
    enqueue(j, JOB_DONE);
    if (is_next) mark(x, j);
}

void queue_settle(Exec *x, Client *c) {
    for (Job *j; (j = c->jobs) && j->state == JOB_DONE;) {
        if (x->marks && j->marked != MARKED_DONE && (j->err || j->kind == JOB_EFFECT)) {
            if (j->marked == MARKED_NOT) mark(x, j);
            return;
        }
        if (j->kind == JOB_EFFECT && client_is_full(c)) return; /* until exec_on_credit */
        c->n_marked -= j->marked != MARKED_NOT;
        c->jobs = j->next;
        if (!c->jobs) c->last_job = NULL;
        if (j->err) exec_fail(x, j, j->err);
        free(j->err);
        if (j->kind == JOB_EFFECT && x->marks) {
            effect_send(x, j);
        } else if (j->kind == JOB_EFFECT) {
            rebase(j, true);
            effect_run(x, j);
            release_all(x, j);
        }
        Frame *f = j->frame;
        bool is_last = --c->n_jobs == 0;
        cell_put(&x->jobs, j);
        f->pending--;
        exec_frame_done(x, f); /* may free a client that is gone */
        if (is_last) return;
    }
}

/* ---- Waiting ---- */

static void make_ready(Job *j) {
    Client *c = j->frame->client;
    Job **at = &c->ready;
    while (*at && (*at)->number <= j->number) at = &(*at)->after;
    j->after = *at;
    *at = j;
    j->is_ready = true;
    j->tried = UINT64_MAX;
    c->stuck_at = UINT64_MAX;
}

static void unready(Job *j) {
    Job **at = &j->frame->client->ready;
    while (*at != j) at = &(*at)->after;
    *at = j->after;
    j->is_ready = false;
}

void queue_arrive(Job *j) {
    assert(j->n_waits > 0);
    if (--j->n_waits == 0) make_ready(j);
}

static void wait_for(Exec *x, Job *j, Storage *st, bool until_filled) {
    Wait *w = cell_get(&x->waits);
    *w = (Wait){st->waits, j, until_filled};
    st->waits = w;
    j->n_waits++;
}

static void wake(Exec *x, Storage *st, bool is_filled) {
    for (Wait **at = &st->waits; *at;) {
        Wait *w = *at;
        if (w->until_filled && !is_filled) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        queue_arrive(w->job);
        cell_put(&x->waits, w);
    }
}

static void stop_waiting(Exec *x, Job *j) {
    for (int i = 0; i < j->n_held && j->n_waits; i++)
        for (Wait **at = &j->held[i]->waits; *at;) {
            Wait *w = *at;
            if (w->job != j) {
                at = &w->next;
                continue;
            }
            *at = w->next;
            cell_put(&x->waits, w);
        }
    j->n_waits = 0;
    if (j->is_ready) unready(j);
}

void queue_wait(Exec *x, Job *j, const TensorType *types, bool until_filled, uint32_t more) {
    Client *c = j->frame->client;
    j->n_waits = more;
    j->need = 0;
    j->is_ready = false;
    for (int k = 0; k < j->call.n_out; k++) {
        uint64_t bytes = type_bytes(&types[k]);
        j->call.out[k] = view_dense(&types[k], NULL);
        j->out[k] = storage_deferred(&x->store, c->names, bytes, j);
        exec_name(x, j, k, j->out[k], &types[k]);
        j->need += bytes;
    }
    for (int i = 0; i < j->n_held; i++)
        if (j->held[i]->maker || (until_filled && j->held[i]->made))
            wait_for(x, j, j->held[i], until_filled);
    rebase(j, false);
    enqueue(j, JOB_WAITS);
    c->n_waiting++;
    x->n_waiting++;
    c->bytes_needed += j->need;
    if (j->n_waits == 0) make_ready(j);
}

void queue_adopt(Exec *x, Job *j) {
    j->n_waits = 0;
    j->is_ready = false;
    j->need = j->out[0]->bytes;
    for (int i = 0; i < j->n_held; i++)
        if (j->held[i]->maker) wait_for(x, j, j->held[i], false);
    rebase(j, false);
    enqueue(j, JOB_WAITS);
    j->frame->client->n_waiting++;
    j->frame->client->bytes_needed += j->need;
    x->n_waiting++;
    if (j->n_waits == 0) make_ready(j);
}

/* Called when a waiting job starts, is done, or is dropped: it no longer waits. */
static void end_wait(Exec *x, Job *j) {
    stop_waiting(x, j);
    Client *c = j->frame->client;
    c->bytes_needed -= j->need;
    j->need = 0;
    c->n_waiting--;
    x->n_waiting--;
}

void queue_done(Exec *x, Job *j, ErrCode poison) {
    if (j->state == JOB_WAITS) end_wait(x, j);
    for (int k = 0; k < j->call.n_out; k++) {
        Storage *st = j->out[k];
        st->maker = NULL;
        if (poison) st->poison = poison;
        wake(x, st, true);
    }
    release_all(x, j);
    j->state = JOB_DONE;
    x->store.n_changes++; /* jobs that wait for memory try again */
}

/* ---- The engine's queue ---- */

static void add_in_flight(Exec *x, Job *j) {
    x->n_in_flight++;
    j->work = exec_work(&j->call);
    x->work_in_flight += j->work;
    if (!x->first) x->pace_ns = exec_now_ns(x), x->done_work = 0;
    j->after = NULL;
    if (x->last)
        x->last->after = j;
    else
        x->first = j;
    x->last = j;
}

/* Ends a call. Poisons its outputs if the engine failed, if an operand was poisoned after the call
 * was submitted, or if a check for nan fails. */
static void finish_call(Exec *x, Job *j, int result, const Err *err) {
    watch_done(x, j, 0);
    ErrCode poison = ERR_NONE;
    for (int i = 0; i < j->n_held && !poison; i++) poison = j->held[i]->poison;
    if (!poison && result < 0) {
        exec_call_failed(x, j, err);
        poison = err->code ? err->code : ERR_INTERNAL;
    }
    Err bad = {0};
    bool checks = !poison && j->frame->client->checks_nan;
    if (checks && x->marks) marks_settle(x);
    for (int i = 0; i < j->call.n_out && checks; i++) checks = !j->out[i]->poison;
    if (checks && !check_call(x, j, &bad)) {
        exec_fail_in_order(x, j, &bad);
        poison = bad.code;
    }
    for (int i = 0; i < j->call.n_out; i++) {
        Storage *st = j->out[i];
        if (poison) st->poison = poison;
        if (st->made == j->ticket) st->made = 0;
        if (st->waits && !st->made) wake(x, st, true);
    }
    hash_done(x, j);
}

void exec_retire(Exec *x, bool wait) {
    double work = 0;
    if (x->marks) {
        marks_pass(x, wait);
        return;
    }
    for (Job *j; (j = x->first); wait = false) {
        Err err;
        int result = x->ops->done(x->engine, j->ticket, wait, &err);
        if (!result) break;
        x->first = j->after;
        if (!x->first) x->last = NULL;
        x->n_in_flight--;
        work += j->work;
        finish_call(x, j, result, &err);
        release_all(x, j);
        j->state = JOB_DONE;
        queue_settle(x, j->frame->client);
    }
    if (work == 0) return;
    x->work_in_flight = x->first ? x->work_in_flight - work : 0;
    keep_pace(x, work);
}

/* j was submitted to an ordered engine; result, err: of `done`. */
static void begin_late(Exec *x, Job *j, bool is_queued, int result, const Err *err) {
    bool stays =
        result > 0 && op_has(j->call.inst->op, FACT_FAILS) && !client_is_clear(j->frame->client);
    if (result > 0) doubt_result(x, j, 0, stays);
    finish_call(x, j, result, err);
    marks_count(x, exec_work(&j->call));
    if (!stays && !is_queued) {
        exec_finish(x, j);
        return;
    }
    if (!is_queued) enqueue(j, JOB_IN_FLIGHT);
    release_all(x, j);
    j->state = stays ? JOB_IN_FLIGHT : JOB_DONE;
    if (stays) marks_put_job(x, j);
}

void queue_submit(Exec *x, Job *j, bool is_queued) {
    int n_after = 0;
    if (x->marks && op_has(j->call.inst->op, FACT_FAILS)) doubt_reserve(x, 1);
    for (int i = 0; i < j->n_held; i++)
        if (j->held[i]->made) x->after[n_after++] = j->held[i]->made;
    watch_begin(x, j);
    if (x->observer) x->observer->saw_call(x->observer, j);
    j->ticket = exec_call(x, j->frame->client, j->seq, &j->call, x->after, n_after);
    j->frame->client->kernels++;
    x->kernels++;
    for (int i = 0; i < j->call.n_out; i++) {
        j->out[i]->made = j->ticket;
        storage_note(j->out[i], FILLED_ALONE, j->inst.op, 0);
    }
    Err err;
    int result = x->first ? 0 : x->ops->done(x->engine, j->ticket, false, &err);
    if (x->marks) {
        begin_late(x, j, is_queued, result, &err);
        return;
    }
    if (!result) {
        if (!is_queued) enqueue(j, JOB_IN_FLIGHT);
        j->state = JOB_IN_FLIGHT;
        add_in_flight(x, j);
        for (int i = 0; i < j->call.n_out && is_queued; i++) wake(x, j->out[i], false);
        return;
    }
    finish_call(x, j, result, &err);
    if (!is_queued) {
        exec_finish(x, j);
        return;
    }
    release_all(x, j);
    j->state = JOB_DONE;
}

/* ---- Memory ---- */

/* True if the oldest waiting job of the client is older than j. */
static bool has_older(const Client *c, const Job *j) {
    const Job *o = c->n_waiting ? c->jobs : NULL;
    while (o && o->state != JOB_WAITS) o = o->next;
    return o && o != j && o->number < j->number;
}

/* True if j may take `need` bytes before older waiting jobs. It must leave what all waiting jobs of
 * the clients of these will need, and a quarter of the arena more if one is of j's client. */
bool queue_may_pass(const Exec *x, const Job *j, uint64_t need) {
    if (need == 0 || x->n_waiting == 0) return true;
    uint64_t used, peak, total, others = 0;
    bool passes = false;
    x->ops->memory(x->engine, &used, &peak, &total);
    uint64_t room = total > used ? total - used : 0;
    for (const Client *c = x->clients; c; c = c->next) {
        if (!has_older(c, j)) continue;
        bool is_own = c == j->frame->client;
        passes = true;
        others += c->bytes_needed - (is_own && j->state == JOB_WAITS ? j->need : 0);
        if (is_own) others += total / 4;
    }
    return !passes || (others <= room && need <= room - others);
}

/* Call this if there is no memory for j and no call in flight. Returns ALLOC_LATER if an older job
 * or the pin of an older move may free some, else ALLOC_NEVER. */
static Alloc none_now(const Exec *x, const Job *j) {
    for (const Client *c = x->clients; c; c = c->next)
        if (has_older(c, j)) return ALLOC_LATER;
    return peer_has_older_pin(x, j->number) ? ALLOC_LATER : ALLOC_NEVER;
}

Alloc queue_new_storage(Exec *x, Job *j, uint64_t bytes, Storage **out) {
    while (!(*out = storage_new(&x->store, j->frame->client->names, bytes))) {
        if (x->pending_of) { /* pending jobs may hold the last reference to a storage */
            stages_flush(x);
            continue;
        }
        if (!x->first) return none_now(x, j);
        exec_retire(x, true);
    }
    return ALLOC_DONE;
}

static bool fill_all(Exec *x, Job *j) {
    for (int k = 0; k < j->call.n_out; k++) {
        if (storage_fill(&x->store, j->out[k])) continue;
        while (k-- > 0) storage_empty(&x->store, j->out[k]);
        return false;
    }
    for (int k = 0; k < j->call.n_out; k++) j->call.out[k].data = j->out[k]->data;
    return true;
}

Alloc queue_fill(Exec *x, Job *j) {
    if (!queue_may_pass(x, j, j->need)) return ALLOC_LATER;
    while (!fill_all(x, j)) {
        if (!x->first) return none_now(x, j);
        exec_retire(x, true);
    }
    j->frame->client->bytes_needed -= j->need;
    j->need = 0;
    rebase(j, true);
    return ALLOC_DONE;
}

/* ---- Starting jobs that waited ---- */

static Alloc begin_call(Exec *x, Job *j) {
    ErrCode poison = ERR_NONE;
    for (int i = 0; i < j->n_held && !poison; i++) poison = j->held[i]->poison;
    if (poison) {
        queue_done(x, j, poison);
        return ALLOC_DONE;
    }
    Alloc got = queue_fill(x, j);
    if (got == ALLOC_NEVER) exec_fail_memory(x, j);
    if (got == ALLOC_NEVER) queue_done(x, j, ERR_MEMORY);
    if (got != ALLOC_DONE) return got;
    end_wait(x, j);
    if (j->call.inst->op == OP_DATA) {
        Err bad = {0};
        watch_begin(x, j);
        exec_copy_payload(x, j);
        watch_done(x, j, 0);
        hash_done(x, j);
        if (j->frame->client->checks_nan && !check_data(x, j, &bad)) exec_fail_in_order(x, j, &bad);
        j->state = JOB_IN_FLIGHT;
        queue_done(x, j, bad.code);
        return ALLOC_DONE;
    }
    for (int k = 0; k < j->call.n_out; k++) j->out[k]->maker = NULL;
    queue_submit(x, j, true);
    x->store.n_changes++;
    return ALLOC_DONE;
}

static Alloc begin(Exec *x, Job *j) {
    switch ((JobKind)j->kind) {
    case JOB_EXPORT:
        rebase(j, true);
        export_run(x, j);
        queue_done(x, j, ERR_NONE);
        return ALLOC_DONE;
    case JOB_IMPORT: return import_run(x, j);
    default: return begin_call(x, j);
    }
}

bool queue_run(Exec *x, Client *c) {
    for (Job *j = c->ready; j;) {
        if (j->tried == x->store.n_changes) {
            j = j->after;
            continue;
        }
        unready(j);
        if (begin(x, j) != ALLOC_LATER) {
            queue_settle(x, c);
            return true;
        }
        make_ready(j);
        j->tried = x->store.n_changes;
        j = c->ready;
    }
    c->stuck_at = x->store.n_changes;
    return false;
}

/* ---- Dropping ---- */

void queue_cancel(Exec *x, Client *c) {
    for (Job *j = c->jobs; j; j = j->next) {
        if (j->state != JOB_WAITS || j->kind != JOB_CALL || j->seq >= c->cancel_end) continue;
        exec_report_cancelled(x, j);
        queue_done(x, j, ERR_CANCELLED);
    }
    queue_settle(x, c);
}

void queue_drop(Exec *x, Client *c) {
    Job *all = c->jobs;
    c->jobs = c->last_job = NULL;
    for (Job *j = all, *next; j; j = next) {
        next = j->next;
        j->next = NULL;
        if (j->state == JOB_IN_FLIGHT) { /* exec_retire ends it */
            if (c->last_job)
                c->last_job->next = j;
            else
                c->jobs = j;
            c->last_job = j;
            continue;
        }
        if (j->kind == JOB_IMPORT && j->state == JOB_WAITS) import_drop(x, j);
        if (j->state == JOB_WAITS) end_wait(x, j);
        if (j->kind == JOB_EFFECT && j->marked) effect_drop(j); /* its client is full */
        for (int k = 0; k < j->call.n_out; k++) { /* jobs that wait for a result are dropped too */
            j->out[k]->maker = NULL;
            if (!j->out[k]->data) j->out[k]->poison = ERR_GONE;
        }
        release_all(x, j);
        free(j->err);
        j->frame->pending--;
        c->n_jobs--;
        cell_put(&x->jobs, j);
    }
    x->store.n_changes++;
}
