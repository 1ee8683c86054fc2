/* exec.c: one instruction at a time: operands from the store, types by inference, outputs from
 * the engine, then views at once and everything else as a call. What fails poisons its outputs;
 * what reads poison is skipped. See exec.h for the order of things, turn.c for whose turn it is,
 * effect.c for answers.
 * SPDX-License-Identifier: MIT */
#include "worker/exec.h"
#include "runtime/log.h"
#include "runtime/element.h"
#include "worker/view.h"

#include <assert.h>
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

/* Names the outputs, so that what reads them knows; types may be NULL when they could not be
 * inferred. */
static void poison_outputs(Exec *x, Job *j, ErrCode why, const TensorType *types) {
    Names *names = &j->frame->client->names;
    TensorType unknown = {.dtype = DT_F32};
    for (int i = 0; i < j->inst.n_out; i++)
        if (!store_get(names, j->inst.out[i]))
            store_put(&x->store, names, j->inst.out[i], storage_poisoned(&x->store, names, why),
                      types ? &types[i] : &unknown);
}

/* A failure found while older instructions are in flight waits for them in the queue. */
static void fail_in_order(Exec *x, Job *j, const Err *err) {
    if (!x->first) {
        exec_fail(x, j, err);
        return;
    }
    j->err = xmalloc(sizeof *j->err);
    *j->err = *err;
}

/* "worker w0 is out of memory: 'matmul' needs 4.0 GiB, 1.2 GiB of 16 GiB free" */
static void fail_memory(Exec *x, Job *j, const TensorType *types, uint64_t needs) {
    Err err = {0};
    uint64_t used, peak, total;
    char need_text[24], free_text[24], total_text[24], shape[256], largest[200];
    x->ops->memory(x->engine, &used, &peak, &total);
    err_set(&err, ERR_MEMORY, "worker w%u is out of memory: '%s' needs %s, %s of %s free%s",
            x->rank, op_info[j->inst.op].name, bytes_text(needs, need_text),
            bytes_text(total - used, free_text), bytes_text(total, total_text),
            total - used > needs ? " in pieces" : "");
    store_largest(&j->frame->client->names, largest, sizeof largest);
    err_hint(&err, "the result is %s %s%s%s", type_shape_text(&types[0], shape),
             dtype_info[types[0].dtype].text, largest[0] ? "; largest here: " : "", largest);
    exec_fail(x, j, &err);
    poison_outputs(x, j, ERR_MEMORY, types);
}

/* ---- How far ahead ---- */

/* What is handed to an engine cannot be cancelled any more: no more of it than takes about AHEAD_NS
 * by the pace so far, nor more calls than FLYING_MAX; but always enough to keep it busy. */
enum { FLYING_MIN = 4, FLYING_MAX = 1024, AHEAD_NS = 100000000, PACE_NS = 1000000 };
enum { CALL_WORK = 1 << 14 }; /* of starting a call */
const double exec_first_pace = 0.25;

/* About the bytes that are moved; a product's multiplications count for half a byte each. */
static double work_of(const Call *call) {
    double work = CALL_WORK;
    for (int i = 0; i < call->n_in; i++)
        if (!call->in[i].is_scalar) work += (double)type_bytes(&call->in[i].type);
    for (int i = 0; i < call->n_out; i++) work += (double)type_bytes(&call->out[i].type);
    switch (call->inst->op) {
    case OP_MATMUL:
    case OP_CHOLESKY:
    case OP_LU:
    case OP_SOLVE:
    case OP_SOLVE_TRIANGULAR: {
        const TensorType *a = &call->in[0].type;
        work += 0.5 * (double)type_numel(&call->out[0].type) * (double)a->shape[a->rank - 1];
        break;
    }
    default: break;
    }
    return work;
}

bool exec_is_far_ahead(const Exec *x) {
    return x->n_flying > FLYING_MAX ||
           (x->n_flying > FLYING_MIN && x->flying_work > AHEAD_NS * x->pace);
}

static void keep_pace(Exec *x, double work) {
    x->flying_work = x->first ? x->flying_work - work : 0;
    x->done_work += work;
    int64_t now = exec_now_ns(), ns = now - x->pace_ns;
    if (ns < PACE_NS) return;
    x->pace = (x->pace + x->done_work / (double)ns) / 2;
    x->done_work = 0;
    x->pace_ns = now;
}

/* ---- The queue ---- */

static void enqueue(Exec *x, Job *j) {
    for (int i = 0; i < j->n_held; i++) {
        storage_ref(j->held[i]);
        j->held[i]->users++;
    }
    for (int i = 0; j->ticket && i < j->call.n_out; i++) storage_ref(j->out[i])->users++;
    j->frame->pending++;
    j->frame->client->n_jobs++;
    x->n_flying++;
    j->work = j->ticket ? work_of(&j->call) : 0;
    x->flying_work += j->work;
    if (!x->first) x->pace_ns = exec_now_ns(), x->done_work = 0;
    j->next = NULL;
    if (x->last)
        x->last->next = j;
    else
        x->first = j;
    x->last = j;
}

/* Nothing is in flight for this one; only an error may have to wait for its turn. */
static void finish(Exec *x, Job *j) {
    if (!j->err) {
        cell_put(&x->jobs, j);
        return;
    }
    j->ticket = 0;
    j->n_held = 0;
    enqueue(x, j);
}

static void release(Exec *x, Storage *st) {
    st->users--;
    storage_unref(&x->store, st);
}

/* The engine's failure, or an operand's that became known only now, reaches the outputs. */
static void finish_call(Exec *x, Job *j, int result, const Err *err) {
    ErrCode poison = ERR_NONE;
    for (int i = 0; i < j->n_held && !poison; i++) poison = j->held[i]->poison;
    if (!poison && result < 0) {
        exec_fail(x, j, err);
        poison = err->code ? err->code : ERR_INTERNAL;
    }
    Err bad = {0};
    if (!poison && j->frame->client->checks_nan && !check_call(x, j, &bad)) {
        exec_fail(x, j, &bad);
        poison = bad.code;
    }
    for (int i = 0; i < j->call.n_out; i++) {
        if (poison) j->out[i]->poison = poison;
        if (j->out[i]->made == j->ticket) j->out[i]->made = 0;
    }
}

void exec_retire(Exec *x, bool wait) {
    double work = 0;
    for (Job *j; (j = x->first); wait = false) {
        if (j->ticket) {
            Err err;
            int result = x->ops->done(x->engine, j->ticket, wait, &err);
            if (!result) break;
            finish_call(x, j, result, &err);
            for (int i = 0; i < j->call.n_out; i++) release(x, j->out[i]);
        } else {
            if (j->err) exec_fail(x, j, j->err);
            free(j->err);
            if (effect_is(j->inst.op)) effect_run(x, j);
        }
        for (int i = 0; i < j->n_held; i++) release(x, j->held[i]);
        x->first = j->next;
        x->n_flying--;
        if (!x->first) x->last = NULL;
        work += j->work;
        Frame *f = j->frame;
        cell_put(&x->jobs, j);
        f->pending--;
        f->client->n_jobs--;
        exec_frame_done(x, f);
    }
    if (work > 0) keep_pace(x, work);
}

/* ---- Operands ---- */

static bool unknown_id(const Job *j, uint64_t id, Err *err) {
    return err_set(err, ERR_ID, "%s: t%llu is not a tensor of this client (freed, or never made)",
                   op_info[j->inst.op].name, (unsigned long long)id);
}

bool exec_gather(Exec *x, Job *j, ErrCode *poison, Err *err) {
    const Names *names = &j->frame->client->names;
    int n = j->inst.n_in;
    bool is_few = n <= FEW;
    j->held = is_few ? j->held_few : arena_alloc(&j->frame->arena, sizeof(Storage *) * (size_t)n);
    j->call.in = is_few ? j->view_few : arena_alloc(&j->frame->arena, sizeof(View) * (size_t)n);
    j->n_held = 0;
    *poison = ERR_NONE;
    for (int i = 0; i < n; i++) {
        if (j->inst.in[i].kind != IN_TENSOR) continue;
        const Tensor *t = store_get(names, j->inst.in[i].id);
        if (!t) return unknown_id(j, j->inst.in[i].id, err);
        j->call.in[i] = t->view;
        x->types[i] = t->view.type;
        j->held[j->n_held++] = t->storage;
        if (t->storage->poison && !*poison) *poison = t->storage->poison;
    }
    return true;
}

/* An immediate as a scalar of the given dtype; inference has checked that it fits. For halves it is
 * a float32, rounded to them unless it is a factor. */
static void set_immediate(Job *j, int slot, const Operand *o, DType t) {
    View *v = &j->call.in[slot];
    v->type = (TensorType){.dtype = dtype_is_half(t) ? DT_F32 : (uint8_t)t};
    v->is_scalar = true;
    v->data = &j->imm[slot];
    int64_t i = o->kind == IN_IMM_BOOL ? o->b : o->kind == IN_IMM_INT ? o->i : 0;
    if (o->kind == IN_IMM_FLOAT)
        element_set_float((DType)v->type.dtype, v->data, o->f);
    else
        element_set_int((DType)v->type.dtype, v->data, i);
    if (dtype_is_half(t) && !op_scales(j->inst.op))
        j->imm[slot].s = half_to_float(t, half_from_float(t, j->imm[slot].s));
}

static void set_immediates(Exec *x, Job *j, const TensorType *out) {
    const Inst *in = &j->inst;
    j->call.n_in = in->n_in;
    if (op_info[in->op].class_ == CLASS_MAP) {
        DType t = DT_NONE; /* of the last tensor: where's condition comes first */
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

/* Memory for a result; when there is none, what is in flight may free some. */
static Storage *allocate(Exec *x, Names *names, uint64_t bytes) {
    for (;;) {
        Storage *st = storage_new(&x->store, names, bytes);
        if (st || !x->first) return st;
        exec_retire(x, true);
    }
}

/* The operand that a MAP may write over: it dies in the instruction that follows, nobody else
 * sees it, and the result is laid out as it is. -1: none. */
static int dying_operand(const Job *j, const Job *following, const TensorType *out) {
    if (!following || following->inst.op != OP_FREE || op_info[j->inst.op].class_ != CLASS_MAP)
        return -1;
    for (int i = 0, k = 0; i < j->inst.n_in; i++) {
        if (j->inst.in[i].kind != IN_TENSOR) continue;
        const Storage *st = j->held[k++];
        const View *v = &j->call.in[i];
        if (st->refs != 1 || st->users || v->data != st->data || !type_equal(&v->type, out))
            continue;
        if (st->bytes != type_bytes(out) || !view_is_contiguous(v)) continue;
        int n = following->inst.n_in < 8 ? following->inst.n_in : 8;
        for (int f = 0; f < n; f++)
            if (following->inst.in[f].id == j->inst.in[i].id) return k - 1;
    }
    return -1;
}

static bool allocate_outputs(Exec *x, Job *j, const Job *following, const TensorType *types) {
    Names *names = &j->frame->client->names;
    /* A check wants to see the operands afterwards. */
    int dying = j->frame->client->checks_nan ? -1 : dying_operand(j, following, &types[0]);
    for (int i = 0; i < j->inst.n_out; i++) {
        uint64_t bytes = type_bytes(&types[i]);
        j->out[i] = dying >= 0 ? storage_ref(j->held[dying]) : allocate(x, names, bytes);
        if (!j->out[i]) {
            while (i-- > 0) storage_unref(&x->store, j->out[i]);
            fail_memory(x, j, types, bytes);
            return false;
        }
        View *v = &j->call.out[i];
        v->type = types[i];
        v->data = j->out[i]->data;
        v->is_scalar = false;
        view_strides(&types[i], v->stride);
    }
    return true;
}

/* Hands the call to the engine and names its results. An engine that is done at once (the usual
 * case on a CPU) never sees the queue. */
static void submit(Exec *x, Job *j, const Job *following, const TensorType *types) {
    if (!allocate_outputs(x, j, following, types)) {
        finish(x, j);
        return;
    }
    Names *names = &j->frame->client->names;
    int n_after = 0;
    for (int i = 0; i < j->n_held; i++)
        if (j->held[i]->made) x->after[n_after++] = j->held[i]->made;
    j->call.inst = &j->inst;
    j->call.n_out = j->inst.n_out;
    j->ticket = x->ops->submit(x->engine, &j->call, x->after, n_after);
    j->frame->client->kernels++;
    x->kernels++;
    for (int i = 0; i < j->call.n_out; i++) {
        store_put(&x->store, names, j->inst.out[i], j->out[i], &types[i]);
        j->out[i]->made = j->ticket;
    }
    Err err;
    int result = x->first ? 0 : x->ops->done(x->engine, j->ticket, false, &err);
    if (result) {
        finish_call(x, j, result, &err);
        cell_put(&x->jobs, j);
    } else {
        enqueue(x, j);
    }
}

/* ---- Views, data, control ---- */

/* No data moves, but where a reshape cannot be had by strides. */
static void issue_view(Exec *x, Job *j, const TensorType *type) {
    View view;
    if (!view_apply(&j->inst, &j->call.in[0], type, &view)) {
        set_immediates(x, j, type);
        submit(x, j, NULL, type);
        return;
    }
    store_put_view(&x->store, &j->frame->client->names, j->inst.out[0], j->held[0], &view);
    cell_put(&x->jobs, j);
}

static void issue_alias(Exec *x, Job *j) {
    store_put_view(&x->store, &j->frame->client->names, j->inst.out[0], j->held[0], &j->call.in[0]);
    cell_put(&x->jobs, j);
}

static void issue_data(Exec *x, Job *j, const TensorType *type) {
    Names *names = &j->frame->client->names;
    uint64_t bytes = type_bytes(type);
    Storage *st = allocate(x, names, bytes);
    if (st) {
        x->ops->copy_in(x->engine, st->data, j->inst.payload, bytes);
        const Tensor *t = store_put(&x->store, names, j->inst.out[0], st, type);
        Err bad = {0};
        if (j->frame->client->checks_nan && !check_data(x, j, &t->view, &bad)) {
            st->poison = bad.code;
            fail_in_order(x, j, &bad);
        }
    } else {
        fail_memory(x, j, type, bytes);
    }
    finish(x, j);
}

static void issue_free(Exec *x, Job *j) {
    Names *names = &j->frame->client->names;
    for (int i = 0; i < j->inst.n_in; i++) {
        if (j->inst.in[i].kind == IN_TENSOR && store_drop(&x->store, names, j->inst.in[i].id))
            continue;
        Err err = {0};
        unknown_id(j, j->inst.in[i].id, &err);
        if (!j->err) fail_in_order(x, j, &err);
    }
    finish(x, j);
}

/* An effect waits in the queue until everything before it is done; with an empty queue that is
 * now. */
static void issue_effect(Exec *x, Job *j, ErrCode lost) {
    Err err = {0};
    ErrCode poison;
    TensorType out[MAX_OUT];
    int n_out;
    j->ticket = 0;
    j->lost = lost;
    j->n_held = 0;
    if (!lost) {
        bool ok = exec_gather(x, j, &poison, &err);
        if (ok && j->n_held != j->inst.n_in)
            ok = err_set(&err, ERR_ARG, "%s takes tensors", op_info[j->inst.op].name);
        if (ok && !poison) ok = inst_infer(&j->inst, x->types, out, &n_out, &err);
        if (!ok) {
            fail_in_order(x, j, &err);
            j->lost = err.code;
            j->n_held = 0;
        }
    }
    if (x->first) {
        enqueue(x, j);
        return;
    }
    effect_run(x, j);
    cell_put(&x->jobs, j);
}

/* Outputs exist and are new, or what the dispatcher sent is wrong. */
static bool outputs_are_new(const Job *j, Err *err) {
    for (int i = 0; i < j->inst.n_out; i++)
        if (store_get(&j->frame->client->names, j->inst.out[i]))
            return err_set(err, ERR_ID, "%s: t%llu exists already", op_info[j->inst.op].name,
                           (unsigned long long)j->inst.out[i]);
    return true;
}

static void issue_tensor(Exec *x, Job *j, const Job *following) {
    Err err; /* filled where something fails */
    ErrCode poison;
    TensorType types[MAX_OUT];
    int n_out;
    const Inst *in = &j->inst;
    bool ok = outputs_are_new(j, &err) && exec_gather(x, j, &poison, &err);
    if (ok && !poison) {
        ok = inst_infer(in, x->types, types, &n_out, &err);
        if (ok && n_out != in->n_out)
            ok = err_set(&err, ERR_ARG, "%s has %d results, not %d", op_info[in->op].name, n_out,
                         in->n_out);
    }
    if (!ok || poison) {
        if (!ok) fail_in_order(x, j, &err);
        poison_outputs(x, j, ok ? poison : err.code, NULL);
        finish(x, j);
        return;
    }
    if (op_info[in->op].class_ == CLASS_VIEW) {
        issue_view(x, j, types);
    } else if (in->op == OP_DATA) {
        issue_data(x, j, types);
    } else if (in->op == OP_SHARD || (in->op == OP_CAST && types[0].dtype == x->types[0].dtype)) {
        issue_alias(x, j);
    } else {
        set_immediates(x, j, types);
        submit(x, j, following, types);
    }
}

/* The first dropped instruction tells of all. */
static void drop_cancelled(Exec *x, Job *j) {
    Client *c = j->frame->client;
    if (!c->is_cancel_told && (j->inst.n_out || effect_is(j->inst.op))) {
        Err err = {0};
        err_set(&err, ERR_CANCELLED, "interrupted: %llu instructions had not begun",
                (unsigned long long)(c->cancel_end - j->seq));
        fail_in_order(x, j, &err);
        c->is_cancel_told = true;
    }
    if (effect_is(j->inst.op)) {
        issue_effect(x, j, ERR_CANCELLED);
        return;
    }
    poison_outputs(x, j, ERR_CANCELLED, NULL);
    finish(x, j);
}

static void log_job(const Exec *x, const Job *j) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "w%u c%u ", x->rank, j->frame->client->id);
    log_inst("WORKER", prefix, &j->inst, NULL, 0);
}

void exec_issue(Exec *x, Job *j, const Job *following) {
    Op op = j->inst.op;
    j->err = NULL;
    if (log_is(LOG_WORKER)) log_job(x, j);
    x->instructions++;
    j->frame->client->instructions++;
    if (op == OP_FREE) {
        issue_free(x, j);
    } else if (j->seq < j->frame->client->cancel_end) {
        drop_cancelled(x, j);
    } else if (op_info[op].class_ != CLASS_CONTROL || op == OP_SHARD) {
        issue_tensor(x, j, following);
    } else if (effect_is(op)) {
        issue_effect(x, j, ERR_NONE);
    } else if (op == OP_CHECK) {
        j->frame->client->checks_nan = inst_bool(&j->inst, ATTR_NAN, false);
        cell_put(&x->jobs, j);
    } else {
        /* poison: the dispatcher has reported the cause; signals, notes, edges, file names: not
         * for workers. */
        poison_outputs(x, j, ERR_GONE, NULL);
        cell_put(&x->jobs, j);
    }
}
