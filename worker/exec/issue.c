/* issue.c: issues one instruction: finds its operands in the store, infers its result types,
 * allocates its results. A view takes effect at once; anything else becomes a call. A job that
 * cannot start yet goes to queue.c. An instruction that fails poisons its outputs; one that reads
 * poison is skipped and poisons its own. exec.h explains the order, locate.c instructions on
 * several ranks.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/issue.h"
#include "runtime/base/log.h"
#include "runtime/inst/element.h"
#include "runtime/inst/inst_debug.h"
#include "runtime/wire/wire.h"
#include "worker/engine/view.h"
#include "worker/engine/box.h"
#include "worker/exec/check.h"
#include "worker/exec/effect.h"
#include "worker/exec/exec.h"
#include "worker/exec/hash.h"
#include "worker/exec/locate.h"
#include "worker/exec/mark.h"
#include "worker/exec/move.h"
#include "worker/exec/queue.h"
#include "worker/exec/stage.h"
#include "worker/exec/watch.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Failing ---- */

void exec_fail(Exec *x, const Job *j, const Err *err) {
    if (j->frame->client->is_gone) return;
    Failure f = {.client = j->frame->client->id,
                 .seq = j->seq,
                 .pos = j->inst.pos,
                 .op = (uint16_t)j->inst.op,
                 .worker = (uint16_t)x->rank,
                 .err = *err};
    Msg m = {0};
    wire_failure(&f, &m);
    exec_send(x, &m);
}

static void set_whole(Exec *x, const Job *j, int k, Tensor *t) {
    if (!j->part) return;
    Whole w = {.type = j->part->whole[k], .layout = j->part->place.layout, .at = j->part->at};
    store_set_whole(&x->store, t, &w);
}

void exec_name(Exec *x, Job *j, int k, Storage *st, const TensorType *type) {
    Tensor *t = store_put(&x->store, j->frame->client->names, j->inst.out[k], st, type);
    t->group = j->group;
    set_whole(x, j, k, t);
}

/* Names the outputs, so that instructions that read them find the poison. types NULL: unknown. */
void exec_poison_outputs(Exec *x, Job *j, ErrCode why, const TensorType *types) {
    Names *names = j->frame->client->names;
    TensorType unknown = {.dtype = DT_F32};
    for (int i = 0; i < j->inst.n_out; i++)
        if (!store_get(names, j->inst.out[i]))
            store_put(&x->store, names, j->inst.out[i], storage_poisoned(&x->store, names, why),
                      types ? &types[i] : &unknown);
}

void exec_fail_in_order(Exec *x, Job *j, const Err *err) {
    if (!j->frame->client->jobs && !(x->marks && marks_has_slots(x))) {
        exec_fail(x, j, err);
        return;
    }
    if (!j->err) j->err = xmalloc(sizeof *j->err);
    *j->err = *err;
}

/* "worker w0 is out of memory: 'matmul' needs 4.0 GiB, 1.2 GiB of 16 GiB free" */
void exec_fail_memory(Exec *x, Job *j) {
    Err err = {0};
    uint64_t used, peak, total, needs = 0;
    char need_text[24], free_text[24], total_text[24], shape[256], largest[200];
    const TensorType *type = &j->call.out[0].type;
    for (int i = 0; i < j->inst.n_out; i++) needs += type_bytes(&j->call.out[i].type);
    x->ops->memory(x->engine, &used, &peak, &total);
    err_set(&err, ERR_MEMORY, "worker w%u is out of memory: '%s' needs %s, %s of %s free%s",
            x->rank, op_info[j->inst.op].name, bytes_text(needs, need_text),
            bytes_text(total - used, free_text), bytes_text(total, total_text),
            total - used > needs ? " in pieces" : "");
    store_largest(j->frame->client->names, largest, sizeof largest);
    err_hint(&err, "the result is %s %s%s%s", type_shape_text(type, shape),
             dtype_info[type->dtype].text, largest[0] ? "; largest here: " : "", largest);
    exec_fail_in_order(x, j, &err);
}

void exec_finish(Exec *x, Job *j) {
    if (j->err)
        queue_report(x, j);
    else
        cell_put(&x->jobs, j);
}

void exec_report_apart(Exec *x, Job *j) {
    if (!j->err) return;
    Job *r = cell_get(&x->jobs);
    *r = (Job){.frame = j->frame,
               .kind = JOB_CALL,
               .seq = j->seq,
               .number = j->number,
               .inst = {.op = j->inst.op, .pos = j->inst.pos},
               .err = j->err};
    j->err = NULL;
    queue_report(x, r);
}

/* ---- Operands ---- */

static bool unknown_id(const Job *j, uint64_t id, Err *err) {
    return err_set(err, ERR_ID, "%s: t%llu is not a tensor of this client (freed, or never made)",
                   op_info[j->inst.op].name, (unsigned long long)id);
}

bool exec_gather(Exec *x, Job *j, ErrCode *poison, Err *err) {
    const Names *names = j->frame->client->names;
    int n = j->inst.n_in;
    bool is_few = n <= FEW;
    j->held = is_few ? j->held_few : arena_alloc(&j->frame->arena, sizeof(Storage *) * (size_t)n);
    j->call.in = is_few ? j->view_few : arena_alloc(&j->frame->arena, sizeof(View) * (size_t)n);
    j->n_held = 0;
    j->n_unstarted = 0;
    *poison = ERR_NONE;
    for (int i = 0; i < n; i++) {
        if (j->inst.in[i].kind != IN_TENSOR) continue;
        const Tensor *t = store_get(names, j->inst.in[i].id);
        if (!t) return unknown_id(j, j->inst.in[i].id, err);
        tensor_view(t, &j->call.in[i]);
        x->in[i] = t;
        x->types[i] = t->view.type;
        j->held[j->n_held++] = t->storage;
        j->n_unstarted += t->storage->maker != NULL;
        if (t->storage->poison && !*poison) *poison = t->storage->poison;
    }
    return true;
}

DType exec_immediate(Op op, const Operand *o, DType t, void *value) {
    DType held = dtype_is_half(t) ? DT_F32 : t;
    int64_t i = o->kind == IN_IMM_BOOL ? o->b : o->kind == IN_IMM_INT ? o->i : 0;
    if (o->kind == IN_IMM_FLOAT)
        element_set_float(held, value, o->f);
    else
        element_set_int(held, value, i);
    float *s = value;
    if (dtype_is_half(t) && !op_has(op, FACT_SCALES)) *s = half_to_float(t, half_from_float(t, *s));
    return held;
}

static void set_immediate(Job *j, int slot, const Operand *o, DType t) {
    View *v = &j->call.in[slot];
    v->type = (TensorType){.dtype = (uint8_t)exec_immediate(j->inst.op, o, t, &j->imm[slot])};
    v->is_scalar = true;
    v->data = &j->imm[slot];
}

static void set_immediates(Exec *x, Job *j, const TensorType *out) {
    const Inst *in = &j->inst;
    j->call.n_in = in->n_in;
    if (op_info[in->op].class_ == CLASS_MAP) {
        DType t = DT_NONE; /* of the last tensor: the first one of `where` is its condition */
        for (int i = 0; i < in->n_in; i++)
            if (in->in[i].kind == IN_TENSOR) t = (DType)x->types[i].dtype;
        for (int i = 0; i < in->n_in; i++)
            if (in->in[i].kind != IN_TENSOR) set_immediate(j, i, &in->in[i], t);
    } else if (op_info[in->op].class_ == CLASS_SOURCE) {
        int model = in->n_in > 0 && in->in[0].kind == IN_TENSOR;
        bool is_real = dtype_is_float((DType)out->dtype) && in->op != OP_RANDINT;
        j->call.n_in -= model;
        for (int i = 0; i < j->call.n_in; i++)
            set_immediate(j, i, &in->in[i + model], is_real ? DT_F64 : DT_I64);
    }
}

/* ---- Calls ---- */

static bool frees(const Inst *in, uint64_t id) {
    for (int i = 0; i < in->n_in && i < 8; i++)
        if (in->in[i].id == id) return true;
    return false;
}

int exec_ending_operand(const Job *j, const TensorType *out, const Inst *free) {
    if (op_info[j->inst.op].class_ != CLASS_MAP) return -1;
    for (int i = 0, k = 0; i < j->inst.n_in; i++) {
        if (j->inst.in[i].kind != IN_TENSOR) continue;
        const Storage *st = j->held[k++];
        const View *v = &j->call.in[i];
        if (st->users == !free && storage_may_give(st, v, 1) && type_equal(&v->type, out) &&
            (!free || frees(free, j->inst.in[i].id)))
            return k - 1;
    }
    return -1;
}

/* Sets result k, which has no name yet, to a view of all of st; st NULL: without memory. */
static void set_output(Job *j, int k, const TensorType *type, Storage *st) {
    View *v = &j->call.out[k];
    v->type = *type;
    v->is_scalar = false;
    view_strides(type, v->stride);
    j->out[k] = st;
    if (st) v->data = st->data;
}

static Alloc allocate_outputs(Exec *x, Job *j, const Job *following, const TensorType *types) {
    /* No operand is overwritten if check_call will read it. */
    bool may_give = following && following->inst.op == OP_FREE && !j->frame->client->checks_nan;
    int dying = may_give ? exec_ending_operand(j, &types[0], &following->inst) : -1;
    uint64_t need = 0;
    for (int i = 0; i < j->inst.n_out; i++) need += type_bytes(&types[i]);
    if (dying < 0 && x->n_waiting && !queue_may_pass(x, j, need)) return ALLOC_LATER;
    for (int i = 0; i < j->inst.n_out; i++) {
        Storage *st = NULL;
        Alloc got = ALLOC_DONE;
        if (dying >= 0)
            st = storage_ref(j->held[dying]);
        else
            got = queue_new_storage(x, j, type_bytes(&types[i]), &st);
        set_output(j, i, &types[i], st);
        if (got == ALLOC_DONE) continue;
        while (i-- > 0) storage_unref(&x->store, j->out[i]);
        return got;
    }
    return ALLOC_DONE;
}

/* j has failed, but its operands may be in doubt. Returns the poison of one of them. */
static ErrCode late_poison(Exec *x, const Job *j) {
    ErrCode poison = ERR_NONE;
    if (!x->marks || !j->n_held) return poison;
    marks_settle(x);
    for (int i = 0; i < j->n_held && !poison; i++) poison = j->held[i]->poison;
    return poison;
}

/* With an engine that finishes inside `submit`, as on a CPU, a call is queued only to wait. */
void exec_submit(Exec *x, Job *j, const Job *following, const TensorType *types) {
    j->call.n_out = j->inst.n_out;
    Alloc got = j->n_unstarted ? ALLOC_LATER : allocate_outputs(x, j, following, types);
    if (got == ALLOC_LATER) {
        queue_wait(x, j, types, false, 0);
        return;
    }
    if (got == ALLOC_NEVER) {
        ErrCode poison = late_poison(x, j);
        for (int i = 0; i < j->inst.n_out; i++) set_output(j, i, &types[i], NULL);
        if (!poison) exec_fail_memory(x, j);
        exec_poison_outputs(x, j, poison ? poison : ERR_MEMORY, types);
        exec_finish(x, j);
        return;
    }
    for (int i = 0; i < j->call.n_out; i++) exec_name(x, j, i, j->out[i], &types[i]);
    queue_submit(x, j, false);
}

/* ---- Views, data, control ---- */

void exec_name_view(Exec *x, Job *j, const View *view) {
    Tensor *t =
        store_put_view(&x->store, j->frame->client->names, j->inst.out[0], j->held[0], view);
    t->group = j->group;
    set_whole(x, j, 0, t);
    exec_finish(x, j);
}

static void drop_poisoned(Exec *x, Job *j, ErrCode poison, const TensorType *types) {
    exec_poison_outputs(x, j, poison, types);
    exec_finish(x, j);
}

/* Names the view. A reshape that strides cannot express is copied instead. */
static void issue_view(Exec *x, Job *j, const TensorType *type) {
    View view;
    if (!view_apply(j->call.inst, &j->call.in[0], type, &view)) {
        ErrCode poison;
        if (!stages_settle(x, j, &poison)) {
            drop_poisoned(x, j, poison, type);
            return;
        }
        set_immediates(x, j, type);
        exec_submit(x, j, NULL, type);
        return;
    }
    exec_name_view(x, j, &view);
}

/* The payload holds the whole tensor. */
View exec_payload(const Job *j) {
    const Part *p = j->part;
    bool is_split = p && p->place.layout.kind == LAYOUT_SPLIT;
    const TensorType *type = is_split ? &p->whole[0] : &j->call.out[0].type;
    View whole = view_dense(type, (void *)j->inst.payload);
    if (!is_split) return whole;
    Region mine = layout_region(&p->place.layout, &whole.type, p->at);
    return box_of(&whole, (int64_t[MAX_DIMS]){0}, &mine);
}

void exec_copy_payload(Exec *x, const Job *j) {
    const View box = exec_payload(j), *to = &j->call.out[0];
    uint64_t bytes = type_bytes(&to->type);
    if (view_is_contiguous(&box)) {
        x->ops->copy_in(x->engine, to->data, box.data, bytes);
        return;
    }
    void *rows = xmalloc(bytes + 1);
    box_get(&box, 0, bytes, rows);
    x->ops->copy_in(x->engine, to->data, rows, bytes);
    free(rows);
}

static void issue_data(Exec *x, Job *j, const TensorType *type) {
    Client *c = j->frame->client;
    if (j->part && j->part->place.layout.kind == LAYOUT_PARTIAL && j->part->at > 0) {
        locate_neutral(j, (Op)j->part->place.layout.op, type);
        exec_submit(x, j, NULL, type);
        return;
    }
    j->call.n_out = 1;
    Alloc got = allocate_outputs(x, j, NULL, type);
    if (got == ALLOC_LATER) {
        queue_wait(x, j, type, false, 0);
        return;
    }
    if (got == ALLOC_DONE) {
        Err bad = {0};
        watch_begin(x, j);
        exec_copy_payload(x, j);
        if (x->observer) x->observer->saw_data(x->observer, j);
        watch_done(x, j, 0);
        hash_done(x, j);
        exec_name(x, j, 0, j->out[0], type);
        if (c->checks_nan && !check_data(x, j, &bad)) {
            j->out[0]->poison = bad.code;
            exec_fail_in_order(x, j, &bad);
        }
    } else {
        exec_fail_memory(x, j);
        exec_poison_outputs(x, j, ERR_MEMORY, type);
    }
    exec_finish(x, j);
}

static void issue_free(Exec *x, Job *j) {
    Names *names = j->frame->client->names;
    for (int i = 0; i < j->inst.n_in; i++) {
        if (j->inst.in[i].kind == IN_TENSOR && store_drop(&x->store, names, j->inst.in[i].id))
            continue;
        if (j->frame->client->is_shared || x->groups.n) continue; /* may be another worker's */
        Err err = {0};
        unknown_id(j, j->inst.in[i].id, &err);
        if (!j->err) exec_fail_in_order(x, j, &err);
    }
    exec_finish(x, j);
}

/* Runs an effect now if the queue is empty; else queues it until all jobs before it are done. */
static void issue_effect(Exec *x, Job *j, ErrCode lost) {
    Err err = {0};
    ErrCode poison;
    TensorType out[MAX_OUT];
    int n_out;
    j->kind = JOB_EFFECT;
    j->lost = lost;
    j->n_held = 0;
    if (!lost) {
        bool ok = exec_gather(x, j, &poison, &err);
        if (ok && j->n_held != j->inst.n_in)
            ok = err_set(&err, ERR_ARG, "%s takes tensors", op_info[j->inst.op].name);
        for (int i = 0; ok && i < j->inst.n_in; i++)
            if (x->in[i]->whole && x->in[i]->whole->layout.kind != LAYOUT_REPLICATE)
                ok = err_set(&err, ERR_INTERNAL, "%s: t%llu is not whole here",
                             op_info[j->inst.op].name, (unsigned long long)j->inst.in[i].id);
        if (ok && !poison) ok = inst_infer(&j->inst, x->types, out, &n_out, &err);
        if (!ok && !late_poison(x, j)) {
            exec_fail_in_order(x, j, &err);
            j->lost = err.code;
            j->n_held = 0;
        }
    }
    if (j->frame->client->jobs || x->marks) {
        queue_report(x, j);
        return;
    }
    effect_run(x, j);
    cell_put(&x->jobs, j);
}

/* Returns false if an output's id exists already, which is an error of the dispatcher. */
static bool outputs_are_new(const Job *j, Err *err) {
    for (int i = 0; i < j->inst.n_out; i++)
        if (store_get(j->frame->client->names, j->inst.out[i]))
            return err_set(err, ERR_ID, "%s: t%llu exists already", op_info[j->inst.op].name,
                           (unsigned long long)j->inst.out[i]);
    return true;
}

static void issue_tensor(Exec *x, Job *j, const Job *following) {
    Err err; /* set where a step fails */
    ErrCode poison;
    TensorType types[MAX_OUT];
    int n_out;
    const Inst *in = &j->inst;
    bool ok = outputs_are_new(j, &err) && exec_gather(x, j, &poison, &err);
    if (ok && !poison) {
        ok = j->part ? locate_infer(x, j, types, &n_out, &err)
                     : inst_infer(in, x->types, types, &n_out, &err);
        if (ok && n_out != in->n_out)
            ok = err_set(&err, ERR_ARG, "%s has %d results, not %d", op_info[in->op].name, n_out,
                         in->n_out);
        if (!ok && (poison = late_poison(x, j))) ok = true;
    }
    if (!ok || poison) {
        if (!ok) exec_fail_in_order(x, j, &err);
        exec_poison_outputs(x, j, ok ? poison : err.code, NULL);
        exec_finish(x, j);
        return;
    }
    if (op_info[in->op].class_ == CLASS_VIEW) {
        issue_view(x, j, types);
    } else if (in->op == OP_DATA) {
        issue_data(x, j, types);
    } else if (in->op == OP_SHARD || (in->op == OP_CAST && types[0].dtype == x->types[0].dtype)) {
        exec_name_view(x, j, &j->call.in[0]);
    } else if (j->part && (j->part->is_neutral || j->part->is_empty)) {
        if (!stages_settle(x, j, &poison)) {
            drop_poisoned(x, j, poison, types);
            return;
        }
        locate_neutral(j, j->part->is_neutral ? in->op : OP_SUM, types);
        exec_submit(x, j, NULL, types);
    } else {
        set_immediates(x, j, types);
        if (x->takes) {
            if (x->takes->take(x->takes, j, types, &poison)) return;
            if (poison) {
                drop_poisoned(x, j, poison, types);
                return;
            }
            set_immediates(x, j, types); /* `take` may have gathered the operands again */
        }
        exec_submit(x, j, following, types);
    }
}

/* The first dropped instruction's report stands for all. */
void exec_report_cancelled(Exec *x, Job *j) {
    Client *c = j->frame->client;
    if (c->is_cancel_reported) return;
    Err err = {0};
    err_set(&err, ERR_CANCELLED, "interrupted: %llu instructions were not executed",
            (unsigned long long)(c->cancel_end - j->seq));
    exec_fail_in_order(x, j, &err);
    c->is_cancel_reported = true;
}

static void drop_cancelled(Exec *x, Job *j) {
    Op op = j->inst.op;
    if (j->inst.n_out || (op_is_effect(op) && op != OP_SYNC)) exec_report_cancelled(x, j);
    if (op_is_effect(j->inst.op)) {
        issue_effect(x, j, ERR_CANCELLED);
        return;
    }
    exec_poison_outputs(x, j, ERR_CANCELLED, NULL);
    exec_finish(x, j);
}

static void log_job(const Exec *x, const Job *j) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "w%u c%u ", x->rank, j->frame->client->id);
    inst_debug("WORKER", prefix, &j->inst, NULL, 0);
}

/* Returns false if j, which has `on`, is not for this worker or malformed; then j is ended. */
static bool is_here(Exec *x, Job *j) {
    Err err = {0};
    j->frame->client->is_shared = true;
    if (locate_begin(x, j, &err)) return true;
    if (err.code) {
        exec_fail_in_order(x, j, &err);
        exec_poison_outputs(x, j, err.code, NULL);
    }
    exec_finish(x, j);
    return false;
}

/* True if pending jobs must be executed or queued before j. */
static bool ends_pending(const Job *j) {
    Op op = j->inst.op;
    return op_is_effect(op) || op_is_move(op) || op == OP_CHECK ||
           j->seq < j->frame->client->cancel_end;
}

void exec_issue(Exec *x, Job *j, const Job *following) {
    Op op = j->inst.op;
    j->kind = JOB_CALL;
    j->state = JOB_NEW;
    j->err = NULL;
    j->part = NULL;
    j->group = 0;
    j->n_held = 0;
    j->call.inst = &j->inst;
    j->call.n_out = 0;
    if (!j->number) j->number = ++x->n_issued;
    if (j->inst.n_attr && inst_attr(&j->inst, ATTR_ON) && !is_here(x, j)) return;
    if (log_is(LOG_WORKER)) log_job(x, j);
    x->instructions++;
    j->frame->client->instructions++;
    if (x->pending_of && (x->pending_of != j->frame->client || ends_pending(j))) stages_flush(x);
    if (op == OP_FREE) {
        issue_free(x, j);
    } else if (op_is_move(op)) { /* not cancelled: peers wait for it */
        move_issue(x, j);
    } else if (op == OP_SCOPE) { /* not cancelled either: later instructions depend on it */
        j->frame->client->compiles = inst_bool(&j->inst, ATTR_COMPILE, false);
        cell_put(&x->jobs, j);
    } else if (j->seq < j->frame->client->cancel_end) {
        drop_cancelled(x, j);
    } else if (op_info[op].class_ != CLASS_CONTROL || op == OP_SHARD) {
        issue_tensor(x, j, following);
    } else if (op_is_effect(op)) {
        issue_effect(x, j, ERR_NONE);
    } else if (op == OP_CHECK) {
        j->frame->client->checks_nan = inst_bool(&j->inst, ATTR_NAN, false);
        cell_put(&x->jobs, j);
    } else {
        if (op == OP_EDGE && x->takes) x->takes->edge(x->takes);
        /* A `poison` has outputs, whose cause the dispatcher has reported. Signals, notes, edges
         * and file names have none and need nothing else. */
        exec_poison_outputs(x, j, ERR_GONE, NULL);
        cell_put(&x->jobs, j);
    }
}
