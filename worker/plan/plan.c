/* plan.c: chooses the plan for the next segment of a body, and runs it: see plan.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/element.h"
#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "worker/exec/cancel.h"
#include "worker/exec/exec.h"
#include "worker/exec/hash.h"
#include "worker/exec/issue.h"
#include "worker/exec/mark.h"
#include "worker/exec/watch.h"
#include "worker/plan/plan_graph.h"
#include "worker/plan/plan_late.h"
#include "worker/plan/plan_make.h"
#include "worker/plan/plan_record.h"
#include "worker/engine/view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What limits the tries of a spot:
 * - After RETRY_VISITS visits in a row at which no plan of a spot could run, only every
 *   RETRY_VISITS-th visit tries one.
 * - A spot may be recorded RETRY_VISITS times, and once more for every RETRY_VISITS visits.
 * - If its types change more often than at every RETRY_VISITS-th visit, its segments span one
 *   iteration.
 * With 16, plans execute 8 % fewer of charlm's instructions (a
 * mean of 5 runs of 40 steps). */
enum { RETRY_VISITS = 8 };

/* ---- Spots ---- */

static void free_variant(Variant *v) {
    Plan *p = (Plan *)v;
    Spot *spot = (Spot *)v->of;
    Recorder *r = recorder_of(p->owner);
    if (spot->renews == p) spot->renews = NULL;
    if (r && r->renews == p) r->renews = NULL;
    plan_free(&p);
}

static void spots_free(void *ctx) {
    Spots *ps = ctx;
    for (uint32_t i = 0; i < ps->n; i++) {
        if (!ps->at[i]) continue;
        variants_fini(&ps->at[i]->plans);
        free(ps->at[i]);
    }
    free(ps);
}

static Spot *spot_at(const Body *b, uint32_t at) {
    const Spots *ps = b->plan;
    return ps ? ps->at[at] : NULL;
}

static Spot *spot_make(Plans *plans, Body *b, uint32_t at) {
    Spots *ps = b->plan;
    if (!ps) {
        ps = b->plan = xcalloc(1, sizeof *ps + b->n * sizeof ps->at[0]);
        ps->n = b->n;
        ps->owner = plans;
        b->plan_free = spots_free;
        plans->bodies++;
    }
    Spot *spot = ps->at[at];
    if (spot) return spot;
    spot = ps->at[at] = xcalloc(1, sizeof *spot);
    spot->plans.all = &plans->all, spot->plans.free = free_variant;
    return spot;
}

/* Adds p to the plans of the spot, in place of `renews` if that is not NULL. */
static void spot_add(Plans *plans, Spot *spot, Plan *p, Plan *renews) {
    bool is_new = !renews && !variants_get(&spot->plans, p->variant.key);
    if (renews) { variants_drop(&renews->variant); }
    if (p->size > PLANS_BYTES) {
        plan_free(&p);
        return;
    }
    Variant *oldest = NULL;
    int n = 0;
    for (Variant *o = variants_get(&spot->plans, p->variant.key); o; o = o->next, n++)
        if (!oldest || o->item.used_at < oldest->item.used_at) oldest = o;
    if (n >= PLANS_OF_KEY) variants_drop(oldest);
    p->look_at = CHOICE_TRIALS;
    variants_add(&spot->plans, &p->variant, p->size, PLANS_BYTES);
    plans->made++;
    spot->tries -= is_new;
}

/* ---- Finding plans ---- */

static inline uint64_t word_at(const uint8_t *args, uint64_t at) {
    uint64_t v;
    memcpy(&v, args + at, sizeof v);
    return v;
}

static uint64_t add_type(const void *names, uint64_t id, uint64_t key) {
    const Tensor *t = store_get(names, id);
    if (!t) return key;
    key = variants_hash(key, &t->view.type);
    for (int d = 0; d < t->view.type.rank; d++)
        key = variants_mix(key, (uint64_t)t->view.stride[d]);
    return key;
}

/* Returns the key of the plans for a segment that begins at the spot, with these arguments. */
static uint64_t key_of(Spot *spot, const Client *c, const uint8_t *args, const uint8_t *end,
                       uint64_t base) {
    uint64_t key = variants_key(&spot->plans, args, end, base, add_type, c->names);
    spot->turns += key != spot->last_key;
    return spot->last_key = key;
}

/* Call this if e has another type than in the recording. */
static void see_change(Plan *p, const External *e, uint32_t round) {
    Spot *spot = (Spot *)p->variant.of;
    if (p->n > round && e->inst >= round)
        spot->turns++;
    else
        variants_changed(&spot->plans, e->at, e->delta);
}

/* True if types change from one iteration to the next: then segments span one iteration. */
static bool goes_once(const Spot *spot) {
    return spot->turns > RETRY_VISITS && (uint64_t)spot->turns * RETRY_VISITS > spot->n;
}

/* ---- Where plans are possible ---- */

static bool may_plan(const Exec *x, const Client *c, uint64_t seq) {
    return !x->hashes_all && !x->first && !x->n_waiting && client_is_clear(c) && !c->checks_nan &&
           !c->is_gone && seq >= c->cancel_end && !log_is(LOG_WORKER);
}

/* True for an instruction that no plan can contain: it ends a segment. */
static bool ends_segment(Op op) {
    if (op_info[op].class_ != CLASS_CONTROL) return false;
    switch (op) {
    case OP_FREE:
    case OP_EDGE:
    case OP_SHARD:
    case OP_NOTE:
    case OP_SCOPE:
    case OP_SIGNAL_ENTER:
    case OP_SIGNAL_EXIT: return false;
    default: return true;
    }
}

/* True if a segment may begin there: at the body's first instruction, after an instruction that no
 * plan can contain, and where another segment ended. */
static bool is_natural(const Body *b, uint32_t at) {
    return at == 0 || spot_at(b, at) || ends_segment((Op)b->form[at - 1].op);
}

/* ---- Holding ---- */

/* A client is held (plan.h) before a segment with at least this many results: queueing them one by
 * one would take as long as the wait. Steps of a small data-parallel GPT (2 workers of one machine,
 * Zen 5, CPU time, medians of 7 interleaved runs) take the same time with 2 and 4, 1.06 to 1.15
 * times as long with 16 and 48, and 1.13 to 1.24 times if no client is held. Over zmq they take
 * 1.07 to 1.12 times as long with 48, and 1.13 to 1.24 times if no client is held. */
enum { HOLD_RESULTS = 8 };

/* True if the segment that begins there is worth waiting for. */
static bool is_long(const FrameReader *r) {
    const Body *b = r->hot_body;
    uint32_t n = 0, rest = b->n - r->hot_at;
    if (!is_natural(b, r->hot_at)) return false;
    if (rest > r->hot_left) rest = r->hot_left;
    for (uint32_t i = 0; i < rest && n < HOLD_RESULTS; i++) {
        const BodyForm *f = &b->form[r->hot_at + i];
        if (ends_segment((Op)f->op)) break;
        n += f->n_out > 0;
    }
    return n == HOLD_RESULTS;
}

/* True if c has jobs, all of which wait for ranks that execute the same instructions. */
static bool may_hold(const Exec *x, const Client *c, uint64_t seq) {
    return !client_is_clear(c) && !c->ready && !c->n_across && !x->first && !c->checks_nan &&
           !c->is_gone && seq >= c->cancel_end && !log_is(LOG_WORKER);
}

/* True if f's client is to be held (plan.h) before the segment that comes next. Precondition: f is
 * at a hot record. */
static bool holds(const Exec *x, Frame *f) {
    FrameReader *r = &f->reader;
    return may_hold(x, f->client, r->seq_next) && is_long(r);
}

static bool is_recording(const Plans *plans, const Client *c) {
    const Recorder *r = recorder_of(plans);
    return r && r->client == c;
}

/* True if a plan may run what comes next in f, or if f's client is to be held before it. */
static bool is_next(const Plans *plans, Frame *f) {
    if (frame_peek(&f->reader) != FRAME_HOT || is_recording(plans, f->client)) return false;
    const Spot *spot = spot_at(f->reader.hot_body, f->reader.hot_at);
    return (spot && spot->plans.n) || holds(plans->stage.x, f);
}

/* ---- Recording ---- */

static void end_recording(Plans *plans) {
    Recorder *r = recorder_of(plans);
    Plan *p = plan_make(plans, r);
    plans->stage.x->observer = NULL;
    if (p) {
        spot_add(plans, r->spot, p, r->renews);
        uint32_t at = (r->from + r->n) % r->body->n;
        spot_make(plans, r->body, at);
        r->spot->visits = 0;
    }
    recorder_free(&r);
}

static void forget(Stage *s, const Client *c) {
    Recorder *r = recorder_of((Plans *)s);
    if (r && (!c || r->client == c)) recorder_free(&r);
}

/* Returns the length of a segment that begins here, with `left` instructions to come; 0: there is
 * none. It spans a power of two of iterations, so that a few plans cover any number of them. */
static uint32_t length_here(const Body *b, const Spot *spot, uint32_t at, uint32_t left) {
    uint32_t rounds = 1, rest = b->n - at < PLAN_INSTS ? b->n - at : PLAN_INSTS;
    if (at == 0 && rest == b->n && !goes_once(spot))
        while (2 * rounds * b->n <= PLAN_ROUNDS && 2 * rounds * b->n <= left) rounds *= 2;
    return rounds * rest <= left ? rounds * rest : 0;
}

static bool may_try(const Spot *spot) {
    return spot->renews || spot->tries < RETRY_VISITS + spot->n / RETRY_VISITS;
}

static void begin_recording(Plans *plans, Job *j) {
    Exec *x = plans->stage.x;
    Client *c = j->frame->client;
    const FrameReader *at = &j->frame->reader;
    if (!j->body || !is_natural(j->body, j->body_at) || ends_segment(j->inst.op)) return;
    if (!may_plan(x, c, j->seq) || j->seq < c->plan_hold) return;
    Spot *spot = spot_make(plans, j->body, j->body_at);
    uint32_t limit = length_here(j->body, spot, j->body_at, at->hot_left + 1);
    spot->n++;
    spot->visits++;
    if (limit < 2 || !may_try(spot)) return;
    uint64_t key = key_of(spot, c, j->args, at->hot_end, j->args_base);
    if (spot->visits < 2 && variants_get(&spot->plans, key)) return;
    if (!spot->renews &&
        !lru_admits(&plans->all, key ^ (uint64_t)(uintptr_t)spot,
                    plans->all.n ? plans->all.bytes / plans->all.n : 0, PLANS_BYTES))
        return;
    const Plan *p = (Plan *)variants_get(&spot->plans, key);
    for (; p; p = (Plan *)p->variant.next) /* a new plan would differ from it only in length */
        if (p->n <= limit && spot->last_miss != MISS_TYPES && spot->last_miss != MISS_VALUES &&
            !spot->renews && p->compiles == c->compiles)
            return;
    stages_flush(x);
    if (!may_plan(x, c, j->seq)) return;
    spot->tries += !spot->renews;
    Recorder *r = recorder_begin(x, j, spot, limit);
    r->key = key;
    r->renews = spot->renews;
    spot->renews = NULL;
}

static bool goes_on(const Recorder *r, const Job *j) {
    return j && j->body == r->body && j->args == r->at && r->n < r->limit && !r->has_failed &&
           !ends_segment(j->inst.op) && exec_now_ns(r->x) - r->begin_ns < PLAN_NS;
}

/* Ends the recording before j if j does not belong to it. Begins one with j if that is possible. */
static bool before(Stage *s, Frame *f, Job *j) {
    Plans *plans = (Plans *)s;
    Recorder *r = recorder_of(plans);
    bool is_other = r && r->client != f->client;
    if (r && !is_other && !goes_on(r, j)) {
        bool is_whole = r->n == r->limit || (j && j->args == r->at);
        if (is_whole && r->n > 1 && !r->has_failed)
            end_recording(plans);
        else
            recorder_free(&r);
    }
    if (!j) return false;
    if (!s->x->observer) begin_recording(plans, j);
    if (s->x->observer && !is_other) recorder_before(recorder_of(plans), j);
    return !is_next(plans, f);
}

/* ---- Guards: what must be as in the recording ---- */

static bool words_agree(const Plan *p, const Client *c, const FrameReader *r, const uint8_t *args) {
    uint64_t base = r->hot_base;
    for (const Word *w = p->word, *end = w + p->n_words; w < end; w++) {
        uint64_t v = w->is_distance ? base + w->value : word_at(args, w->at);
        switch ((WordKind)w->kind) {
        case WORD_EQUAL:
            if (v != w->value) return false;
            break;
        case WORD_SAME:
            if (v != word_at(args, w->value)) return false;
            break;
        case WORD_MADE:
            if (v != base + w->value) return false;
            break;
        case WORD_ADDED:
            if (v != r->hot_added + w->value) return false;
            break;
        case WORD_AWAY:
            if (store_get(c->names, v)) return false;
            break;
        case WORD_PART:
            if (v < 1 || v >= (uint64_t)r->m->n || r->m->part[v]->n != w->value) return false;
            break;
        }
    }
    return true;
}

static bool is_of(const Tensor *t, const External *e) {
    const TensorType *a = &t->view.type, *b = &e->type;
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != b->shape[d] || t->view.stride[d] != e->stride[d]) return false;
    return true;
}

static bool is_part_of(const Whole *w, const External *e) {
    if (!w || !e->has_whole) return !w && !e->has_whole;
    return type_equal(&w->type, &e->whole.type) && layout_equal(&w->layout, &e->whole.layout);
}

/* Finds the tensors from outside and compares them. Two externals must not be the same tensor. */
static bool externals_agree(const Client *c, Plan *p, const FrameReader *r) {
    const uint8_t *args = r->hot_args;
    uint64_t base = r->hot_base;
    uint32_t mark = ++p->owner->mark;
    for (External *e = p->external, *end = e + p->n_externals; e < end; e++) {
        e->id = e->at >= 0 ? word_at(args, (uint64_t)e->at) : base + e->delta;
        Tensor *t = e->tensor = store_get(c->names, e->id);
        if (!t || t->mark == mark) return false;
        if (!is_of(t, e)) {
            see_change(p, e, r->hot_body->n - r->hot_at);
            return false;
        }
        t->mark = mark;
        const Storage *st = t->storage;
        bool is_there = !st->poison && !st->maker && !st->made && st->data;
        if (!is_there || !is_part_of(t->whole, e)) return false;
        if (e->is_dropped && tensor_is_sole(t) != e->is_sole) return false;
        p->base[e->region] = (char *)st->data + t->offset;
    }
    for (int i = 0; i < p->n_left; i++) /* a name in use: issuing reports the error */
        if (store_get(c->names, p->left[i].delta + (p->left[i].is_added ? r->hot_added : base)))
            return false;
    return true;
}

static void put_value(Value *v, uint64_t word) {
    if (v->item) {
        memcpy(v->item, &word, sizeof word);
        return;
    }
    v->operand->id = word; /* as frames hold them */
    if (v->operand->kind == IN_IMM_BOOL) v->operand->b = word == 1;
}

static void put_scalar(const Variable *var, const Value *v) {
    char value[8] = {0};
    if (!v->to) return;
    DType held = exec_immediate(var->inst->op, v->operand, (DType)v->dtype, value);
    DType d = (DType)v->to_dtype;
    if (v->is_condition)
        *v->to = element_float(held, value) != 0;
    else if (d == DT_NONE || d == held)
        memcpy(v->to, value, (size_t)dtype_info[held].size_bytes);
    else if (dtype_is_float(d)) /* `full` among others */
        element_set_float(d, v->to, element_float(held, value));
    else
        element_set_int(d, v->to, element_int(held, value));
}

/* If the numbers of an instruction differ from the last run, infers its types again. Returns false
 * if these differ from the recording; else writes the numbers to their places. */
static bool variable_agrees(Plan *p, Variable *var, const uint8_t *args) {
    Value *first = &p->value[var->first], *end = first + var->n;
    bool changes = false, ok = true;
    for (const Value *v = first; v < end; v++) changes |= word_at(args, v->at) != v->last;
    if (!changes) return true;
    for (Value *v = first; v < end; v++) {
        uint64_t word = word_at(args, v->at);
        ok &= !(v->operand && v->operand->kind == IN_IMM_BOOL && word > 1);
        put_value(v, word);
    }
    TensorType out[MAX_OUT];
    int n_out;
    if (ok) ok = inst_infer(var->inst, var->types, out, &n_out, NULL) && n_out == var->inst->n_out;
    for (int k = 0; k < var->inst->n_out && ok; k++) ok = type_equal(&out[k], &var->out[k]);
    View view;
    Shift *s = var->shift;
    if (ok && s) {
        s->in.data = (char *)(UINT64_C(1) << 40);
        ok = view_apply(var->inst, &s->in, &s->out, &view);
        if (ok) s->delta = (char *)view.data - (char *)s->in.data;
    }
    for (Value *v = first; v < end; v++) {
        if (!ok) put_value(v, v->last);
        if (!ok) continue;
        v->last = word_at(args, v->at);
        put_scalar(var, v);
    }
    return ok;
}

/* ---- Running a plan ---- */

static bool has_room(const Exec *x, uint64_t bytes) {
    if (x->ops->has_room) return x->ops->has_room(x->engine, bytes);
    void *p = x->ops->alloc(x->engine, bytes);
    if (p) x->ops->free(x->engine, p, bytes);
    return p != NULL;
}

/* Frees the memory of the results, and the block. */
static void undo(Run *u) {
    Plan *p = u->p;
    Store *store = &u->x->store;
    Names *names = u->client->names;
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->step[i].n_begin; k++) {
            const Begin *b = &p->step[i].begin[k];
            if (p->base[b->region]) store_free(store, names, p->base[b->region], b->bytes);
            p->base[b->region] = NULL;
        }
    store_free(store, names, u->block, u->block_bytes);
}

static void drop(Run *u, const int *which, int n) {
    for (int i = 0; i < n; i++)
        store_drop(&u->x->store, u->client->names, u->p->external[which[i]].id);
}

/* Call this if step s fails, for lack of memory or because of a cancel, and the run cannot be
 * undone (is_given). Poisons its results. do_steps then skips the steps that read them, and runs
 * the others. */
static void poison(Run *u, const Step *s, const Err *err) {
    Plan *p = u->p;
    if (!u->is_bad && !p->is_doubtful) memset(p->bad, 0, sizeof *p->bad * (size_t)p->n_regions);
    u->is_bad = true;
    for (int i = s->n_read; i < s->n_patch; i++)
        p->bad[s->patch[i].region] = err->code ? err->code : ERR_INTERNAL;
    Job *j = cell_get(&u->x->jobs); /* as if the instruction had a job */
    *j = (Job){.frame = u->frame, .seq = u->seq + s->seq, .inst.op = OP_NOTE};
    if (s->kind == STEP_CALL) j->inst.op = s->call->inst->op, j->inst.pos = s->call->inst->pos;
    exec_call_failed(u->x, j, err); /* at once, unless something waits for a mark */
    exec_report_apart(u->x, j);
    cell_put(&u->x->jobs, j);
}

/* Passes on the poison that a step reads. True if there is any. */
static bool is_poisoned(Run *u, const Step *s) {
    Plan *p = u->p;
    ErrCode why = ERR_NONE;
    for (int i = 0; i < s->n_read && !why; i++) why = p->bad[s->patch[i].region];
    if (s->kind == STEP_SHIFT) why = p->bad[s->shift->from];
    for (int i = s->n_read; i < s->n_patch; i++) p->bad[s->patch[i].region] = why;
    if (s->kind == STEP_SHIFT) p->bad[s->shift->region] = why;
    return why != ERR_NONE;
}

static bool do_call(Run *u, const Step *s, Err *err) {
    Ticket t = exec_call(u->x, u->client, u->seq + s->seq, s->call, NULL, 0);
    return u->x->ops->done(u->x->engine, t, true, err) > 0;
}

static bool do_fused(Run *u, const Step *s, Err *err) {
    if (exec_fused(u->x, u->client, u->seq + s->seq, s->product, s->fuse, s->kernel)) {
        collect_launched(u->p->owner->collect, s->entry);
        return true;
    }
    if (u->client->has_pending_cancel) return err_set(err, ERR_CANCELLED, "interrupted");
    return err_set(err, ERR_MEMORY, "worker w%u is out of memory: a kernel needs temporary memory",
                   u->x->rank);
}

static void do_data(Run *u, const Step *s) {
    const uint8_t *at = u->args + s->data_at;
    const uint8_t *from = s->is_part ? u->frame->msg.part[word_at(at, 0)]->data : at + 8;
    char *to = u->p->base[s->patch[0].region];
    u->x->ops->copy_in(u->x->engine, to, from + s->skip, s->taken);
}

static bool do_step(Run *u, const Step *s, Err *err) {
    char **base = u->p->base, text[24];
    for (int i = 0; i < s->n_begin; i++) {
        const Begin *b = &s->begin[i];
        if (base[b->region]) continue; /* by graph_run */
        base[b->region] = store_alloc(&u->x->store, u->client->names, b->bytes);
        if (!base[b->region])
            return err_set(err, ERR_MEMORY, "worker w%u is out of memory: a result needs %s",
                           u->x->rank, bytes_text(b->bytes, text));
    }
    for (const Patch *p = s->patch, *end = p + s->n_patch; p < end; p++)
        *p->to = base[p->region] + p->offset;
    switch ((StepKind)s->kind) {
    case STEP_CALL: return do_call(u, s, err);
    case STEP_FUSED: return do_fused(u, s, err);
    case STEP_DATA: do_data(u, s); return true;
    case STEP_SHIFT:
        base[s->shift->region] = base[s->shift->from] + s->shift->offset + s->shift->delta;
        return true;
    }
    return true;
}

/* Adds a row to the ring of watch.h. Returns the time now. */
static uint64_t note(Run *u, const Step *s, uint64_t began) {
    const FrameReader *r = &u->frame->reader;
    uint64_t now = watch_tick(u->x), number = r->number ? r->number + r->next : 0;
    WatchRow *row = watch_row(u->x);
    *row = (WatchRow){.begin = began,
                      .end = now,
                      .number = number ? number + (unsigned)s->inst : 0,
                      .id = s->n_out ? s->id + (s->is_added ? u->added : u->base) : 0,
                      .bytes = s->made,
                      .client = u->client->id,
                      .op = s->op,
                      .n_out = s->n_out};
    if (s->kind == STEP_FUSED) {
        row->kind = TIME_FUSED;
        row->from = s->of + (s->of_added ? u->added : u->base);
    }
    u->x->watch->taken += now - began;
    if (s->n_share) profile_add_shares(u->client->profile, s->share, s->n_share, now - began);
    return now;
}

/* Does for the steps of a launched graph what do_steps does beside executing a step. */
static uint64_t pass_stretch(Run *u, const Stretch *g, uint64_t began) {
    Plan *p = u->p;
    for (int i = g->begin; i < g->end; i++) {
        const Step *s = &p->step[i];
        u->is_given |= s->gives || s->n_drop;
        late_step(u->x, u->frame, u->seq, p, s);
        if (s->kind != STEP_SHIFT) began = note(u, s, began);
        if (s->entry) collect_launched(p->owner->collect, s->entry);
        drop(u, s->drop, s->n_drop);
    }
    return began;
}

static bool do_steps(Run *u) {
    Plan *p = u->p;
    uint64_t began = watch_tick(u->x);
    Stretch *stretch = p->stretch, *last = stretch + p->n_stretches;
    Trial *trial = p->trial, *end = trial + p->n_trials;
    for (int i = 0; i < p->n_steps; i++) {
        const Step *s = &p->step[i];
        Err err;
        if (stretch < last && i == stretch->begin) {
            Stretch *g = stretch++;
            if (!u->is_bad && graph_run(u, g)) {
                began = pass_stretch(u, g, began);
                i = g->end - 1;
                continue;
            }
        }
        if (trial < end && i == trial->begin) trial->begin_ns = trial->alone_ns = exec_now_ns(u->x);
        if (trial < end && i == trial->alone && i > trial->begin)
            trial->alone_ns = exec_now_ns(u->x);
        if (u->is_bad && is_poisoned(u, s)) {
            drop(u, s->drop, s->n_drop);
            continue;
        }
        u->is_given |= s->gives;
        if (u->x->marks && s->n_fails) { /* a slot (mark.h) cannot be undone */
            u->is_given = true;
            doubt_reserve(u->x, s->n_fails);
        }
        bool ok = do_step(u, s, &err);
        if (u->x->marks && ok) late_step(u->x, u->frame, u->seq, p, s);
        if (s->kind != STEP_SHIFT) began = note(u, s, began);
        if (!ok) {
            if (!u->is_given) {
                undo(u);
                return false;
            }
            poison(u, s, &err);
        }
        if (s->n_drop) {
            u->is_given = true;
            drop(u, s->drop, s->n_drop);
        }
        if (trial == end || i + 1 != trial->end) continue;
        int64_t now = exec_now_ns(u->x);
        collect_report(p->owner->collect, &trial->what, now - trial->begin_ns,
                       now - trial->alone_ns);
        trial++;
    }
    return true;
}

/* Makes the names that are left at the end, and their storages. */
static void name_results(Run *u) {
    Plan *p = u->p;
    Store *store = &u->x->store;
    Names *names = u->client->names;
    for (int i = 0; i < p->n_kept; i++) {
        Kept *k = &p->kept[i];
        ErrCode bad = u->is_bad || p->is_doubtful ? p->bad[k->region] : ERR_NONE;
        if (k->external >= 0 && !k->is_taken) {
            k->storage = storage_ref(p->external[k->external].tensor->storage);
            continue;
        }
        char *data = p->base[k->region];
        if (k->is_taken) data = storage_give(p->external[k->external].tensor->storage);
        if (bad) {
            if (data) store_free(store, names, data, k->bytes);
            k->storage = storage_poisoned(store, names, bad);
        } else {
            k->storage = storage_adopt(store, names, data, k->bytes);
            storage_note(k->storage, (Filled)k->filled, (Op)k->op, k->kernel);
            late_result(u->x, p, k);
        }
    }
    for (int i = 0; i < p->n_left; i++) {
        Left *l = &p->left[i];
        Storage *st = p->kept[l->kept].storage;
        l->view.data = st->poison ? storage_base(st) : p->base[l->region] + l->offset;
        uint64_t base = l->is_added ? u->added : u->base;
        Tensor *t = store_put_view(store, names, base + l->delta, st, &l->view);
        t->group = l->group;
        if (l->has_whole) store_set_whole(store, t, &l->whole);
        const Kept *k = &p->kept[l->kept];
        if (u->x->hashing && (k->external < 0 || k->is_taken))
            hash_tensor(u->x, u->client->id, base + l->delta, t);
    }
    for (int i = 0; i < p->n_kept; i++) storage_unref(store, p->kept[i].storage);
}

static void count(Run *u) {
    const Plan *p = u->p;
    Exec *x = u->x;
    x->instructions += p->n;
    u->client->instructions += p->n;
    x->kernels += p->kernels;
    u->client->kernels += p->kernels;
    if (!u->frame->reader.number) x->n_issued += p->n;
    if (p->fused_ops)
        collect_count(p->owner->collect, p->fused_ops, p->unstored, p->bytes_saved, p->products);
    x->store.n_changes++;
}

/* True if p must be recorded again, because its fusions may run differently now. Looks once in
 * CHOICE_TRIALS runs, because choice.h times each way that often before it decides. If no new plan
 * replaces p, it is stale again after twice the runs. */
static bool is_stale(Plan *p) {
    bool is = false;
    if (!p->n_trials || p->runs < p->look_at) return false;
    for (int i = 0; i < p->n_trials && !is; i++) is = collect_has_news(&p->trial[i].what);
    p->look_at = is ? 2 * p->runs : p->runs + CHOICE_TRIALS;
    return is;
}

static Miss replay(Exec *x, Frame *f, Plan *p) {
    FrameReader *r = &f->reader;
    size_t n_args = (size_t)(r->hot_end - r->hot_args);
    Run u = {.x = x, .client = f->client, .frame = f, .p = p, .args = r->hot_args};
    u.base = r->hot_base, u.added = r->hot_added, u.seq = r->seq_next;
    if (n_args < p->n_args || (p->n == r->hot_left && n_args != p->n_args)) return MISS_VALUES;
    if (u.base > UINT64_MAX / 2 || u.added > UINT64_MAX - UINT32_MAX) return MISS_VALUES;
    if (!externals_agree(u.client, p, r)) return MISS_TYPES;
    if (!words_agree(p, u.client, r, u.args)) return MISS_VALUES;
    if (is_stale(p)) return MISS_STALE;
    for (int i = 0; i < p->n_variables; i++)
        if (!variable_agrees(p, &p->variable[i], u.args)) return MISS_VALUES;
    graphs_look(x, p);
    u.block_bytes = p->block + p->temps;
    uint64_t need = u.block_bytes + p->own + p->beside + 1024;
    if (!has_room(x, need)) return MISS_MEMORY;
    u.block = store_alloc(&x->store, u.client->names, u.block_bytes);
    if (!u.block) return MISS_MEMORY;
    for (int i = 0; i < p->n_regions; i++)
        if (p->place[i] >= 0) p->base[i] = u.block + p->place[i];
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->step[i].n_begin; k++) p->base[p->step[i].begin[k].region] = NULL;
    late_begin(x, p);
    if (!do_steps(&u)) return late_end(p), MISS_UNDONE;
    name_results(&u);
    late_end(p);
    drop(&u, p->drop, p->n_drops);
    store_free(&x->store, u.client->names, u.block, u.block_bytes);
    count(&u);
    u.client->compiles = p->compiles_after;
    frame_pass_hot(r, p->n, u.args + p->n_args);
    return MISS_NONE;
}

/* True if p is skipped this time, because it was undone many times in a row. An undone run costs as
 * much as a complete one. */
static bool should_skip(const Plan *p) {
    return p->undone % (RETRY_VISITS * RETRY_VISITS) && (p->undone & (p->undone - 1));
}

/* Runs a plan of the segment that comes next in f. Returns true if it did; then f's reader is
 * behind the segment. */
static bool run(Plans *plans, Frame *f) {
    Exec *x = plans->stage.x;
    FrameReader *r = &f->reader;
    Client *c = f->client;
    if (is_recording(plans, c)) return false;
    if (r->seq_next < c->plan_hold) return false;
    Spot *spot = spot_at(r->hot_body, r->hot_at);
    if (!spot || !spot->plans.n) return false;
    if (!may_plan(x, c, r->seq_next)) {
        plans->miss_state++;
        return false;
    }
    uint64_t key = key_of(spot, c, r->hot_args, r->hot_end, r->hot_base);
    Plan *first = (Plan *)variants_get(&spot->plans, key);
    if (!first || (++spot->lost > RETRY_VISITS && spot->lost % RETRY_VISITS)) return false;
    bool has_flushed = false;
    spot->renews = NULL;
    spot->last_miss = MISS_NONE;
    uint32_t most = goes_once(spot) ? r->hot_body->n - r->hot_at : r->hot_left;
    if (most > r->hot_left) most = r->hot_left;
    for (Plan *p = first; p; p = (Plan *)p->variant.next) {
        if (p->n > most || p->compiles != c->compiles) continue;
        if (should_skip(p)) {
            p->undone++;
            spot->last_miss = MISS_UNDONE;
            continue;
        }
        if (!has_flushed) stages_flush(x);
        has_flushed = true;
        if (!may_plan(x, c, r->seq_next)) return false;
        Miss miss = replay(x, f, p);
        spot->last_miss = (uint8_t)miss;
        if (miss == MISS_NONE) {
            p->runs++, spot->n++, plans->runs++;
            spot->lost = 0;
            p->undone = 0;
            plans->instructions += p->n;
            lru_use(&plans->all, &p->variant.item);
            spot->visits = 0;
            return true;
        }
        plans->misses[miss]++;
        if (miss == MISS_STALE) {
            spot->renews = p;
            spot->visits = 1;
            break;
        }
        if (miss != MISS_UNDONE) continue;
        p->undone++;
        c->plan_hold = r->seq_next + p->n_seq; /* the segment is issued one by one */
        break;
    }
    return false;
}

static Look look(Stage *s, Frame *f) {
    if (holds(s->x, f)) return LOOK_DRAIN;
    return run((Plans *)s, f) ? LOOK_DONE : LOOK_NONE;
}

static void stats(const Stage *s, Bytes *out) {
    const Plans *p = (const Plans *)s;
    bytes_printf(out, "plan.bodies=%llu\nplan.plans=%llu\nplan.made=%llu\nplan.runs=%llu\n",
                 (unsigned long long)p->bodies, (unsigned long long)p->all.n,
                 (unsigned long long)p->made, (unsigned long long)p->runs);
    bytes_printf(out, "plan.instructions=%llu\n", (unsigned long long)p->instructions);
    bytes_printf(out, "plan.graphs=%llu\nplan.graph_launches=%llu\n", (unsigned long long)p->graphs,
                 (unsigned long long)p->graph_launches);
    bytes_printf(out,
                 "plan.miss_types=%llu\nplan.miss_values=%llu\nplan.miss_memory=%llu\n"
                 "plan.miss_waiting=%llu\nplan.undone=%llu\n",
                 (unsigned long long)p->misses[MISS_TYPES],
                 (unsigned long long)p->misses[MISS_VALUES],
                 (unsigned long long)p->misses[MISS_MEMORY], (unsigned long long)p->miss_state,
                 (unsigned long long)p->misses[MISS_UNDONE]);
}

static void free_stage(Stage *s) {
    assert(((Plans *)s)->all.n == 0); /* plans were freed with the clients' bodies */
    free(s);
}

Stage *plans_new(Stage *collect) {
    if (!env_is_on("GT_PLAN")) return NULL;
    Plans *p = xcalloc(1, sizeof *p);
    p->collect = collect;
    p->graph_after = env_int("GT_GRAPH");
    p->stage = (Stage){
        .look = look, .before = before, .forget = forget, .stats = stats, .free = free_stage};
    return &p->stage;
}
