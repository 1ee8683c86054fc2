/* mod_validate.c: no instruction reaches a worker unchecked. Ids must be live or new, types must
 * fit (inst_infer), and memory must stay within the client's limit. A failing instruction is
 * reported to the client once, and a `poison` of its results takes its place in the stream. So
 * every worker skips whatever reads these results later.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/modifier.h"
#include "dispatcher/chain/convert.h"

/* For a client's instruction: the dispatcher adds its place (on, split), and workers a window. */
enum { ATTRS_MAX = MAX_ATTRS - 3 };

/* Turns the instruction into a poison of the same results. It keeps its sequence number. */
static void poison(Flow *f, int stage) {
    Client *c = f->client;
    for (int i = 0; i < f->inst.n_out; i++) {
        TensorHandle *h = handles_add(&c->tensors, f->inst.out[i]);
        h->group = c->home;
        h->is_poisoned = true;
        c->next_id = f->inst.out[i] + 1;
    }
    f->inst.op = OP_POISON;
    f->inst.n_in = f->inst.n_attr = 0;
    f->inst.payload = NULL;
    f->inst.payload_bytes = 0;
    f->inst.payload_buf = NULL;
    f->record = NULL;
    chain_next(f, stage + 1);
}

static void refuse(Flow *f, int stage, const Err *err) {
    dispatcher_refuse_inst(f->d, f->client, f->seq, &f->inst, err);
    poison(f, stage);
}

static bool unknown_id(const Client *c, uint64_t id, Err *err) {
    return err_set(err, ERR_ID, id < c->next_id ? "t%llu was freed before" : "t%llu is not known",
                   (unsigned long long)id);
}

/* For a tensor that workers other than home hold, or that was converted: makes them forget it
 * too. *g: the group that was added last. */
static void forget_away(Flow *f, TensorHandle *old, const Members **g) {
    if (old->group != f->client->home) {
        if (!f->has_to) f->has_to = true, f->to = (RankSet){{0}};
        if (*g != old->group) ranks_join(&f->to, &old->group->set);
        *g = old->group;
        f->client->n_away--;
    }
    convert_drop(f, old);
}

/* Frees the ids that are live. One that is not is an error, and the others are freed all the
 * same. */
static void process_free(Flow *f, int stage) {
    Client *c = f->client;
    Operand *live = NULL;
    int n_live = 0;
    Err err; /* set only by a failing call */
    TensorHandle old;
    const Members *last = NULL;
    bool is_home = false;
    if (f->inst.n_attr) f->inst.n_attr = 0, f->record = NULL; /* `free` has no attributes */
    for (int i = 0; i < f->inst.n_in; i++) {
        const Operand *o = &f->inst.in[i];
        if (o->kind == IN_TENSOR && handles_remove(&c->tensors, o->id, &old)) {
            c->live_bytes -= old.is_poisoned ? 0 : tensor_bytes(&old.type);
            is_home |= old.group == c->home;
            if (old.group != c->home || old.converted) forget_away(f, &old, &last);
            if (live) live[n_live] = *o;
            n_live++;
            continue;
        }
        if (o->kind != IN_TENSOR)
            err_set(&err, ERR_ARG, "free takes tensors only");
        else
            unknown_id(c, o->id, &err);
        if (live) continue;
        live = arena_alloc(&f->d->scratch, f->inst.n_in * sizeof *live);
        for (int k = 0; k < n_live; k++) live[k] = f->inst.in[k];
    }
    if (live) {
        dispatcher_refuse_inst(f->d, c, f->seq, &f->inst, &err);
        f->inst.in = live;
        f->inst.n_in = (uint16_t)n_live;
        f->record = NULL;
        if (n_live == 0) f->inst.op = OP_POISON;
    }
    if (f->has_to && is_home) ranks_add(&f->to, c->rank);
    chain_next(f, stage + 1);
}

/* Types of the operands. 1: all known; 0: one is poisoned and has no type; -1: err is set. */
static int operand_types(Flow *f, TensorType *type, Err *err) {
    int known = 1;
    for (int i = 0; i < f->inst.n_in; i++) {
        if (f->inst.in[i].kind != IN_TENSOR) continue;
        const TensorHandle *h = handles_find(&f->client->tensors, f->inst.in[i].id);
        if (!h) return unknown_id(f->client, f->inst.in[i].id, err) - 1;
        if (h->is_poisoned) known = 0;
        type[i] = h->is_poisoned ? (TensorType){.dtype = DT_F32} : h->type; /* any type will do */
    }
    return known;
}

static bool results_fit(Flow *f, int n_out, Err *err) {
    const Inst *inst = &f->inst;
    Client *c = f->client;
    if (n_out != inst->n_out)
        return err_set(err, ERR_ARG, "%s has %d results, not %d", op_info[inst->op].name, n_out,
                       inst->n_out);
    uint64_t bytes = 0, limit = f->d->config.client_bytes_max;
    for (int i = 0; i < n_out; i++) bytes += tensor_bytes(&f->out_type[i]);
    if (limit && c->live_bytes + bytes > limit)
        return err_set(err, ERR_MEMORY,
                       "'%s' needs %llu bytes, %llu of %llu are free for this client",
                       op_info[inst->op].name, (unsigned long long)bytes,
                       (unsigned long long)(limit > c->live_bytes ? limit - c->live_bytes : 0),
                       (unsigned long long)limit);
    c->live_bytes += bytes;
    return true;
}

/* True for `full`, and for a view of a constant. Writes its value. */
static bool is_constant(const Flow *f, Operand *fill) {
    const Inst *inst = &f->inst;
    if (inst->op == OP_FULL) {
        *fill = inst->in[inst->n_in - 1]; /* the value comes after the model, if there is one */
        return fill->kind != IN_TENSOR;
    }
    if (op_info[inst->op].class_ != CLASS_VIEW) return false;
    const TensorHandle *h = handles_find(&f->client->tensors, inst->in[0].id);
    *fill = h->fill;
    return h->is_fill;
}

/* 1: valid; 0: an operand is poisoned; -1: invalid, err says why. */
static int check(Flow *f, TensorType *type, Err *err) {
    const Inst *inst = &f->inst;
    int known = operand_types(f, type, err);
    if (op_is_inserted(inst->op))
        known = err_set(err, ERR_ARG, "clients may not send '%s'", op_info[inst->op].name) - 1;
    if (inst_is_located(inst))
        known =
            err_set(err, ERR_ARG, "clients may not set attributes of placement (on, split, ...)") -
            1;
    if (inst->n_attr > ATTRS_MAX)
        known = err_set(err, ERR_LIMIT, "%d attributes, but at most %d are allowed", inst->n_attr,
                        ATTRS_MAX) -
                1;
    return known;
}

/* The results are live from here on, at home unless a later modifier places them elsewhere. */
static void add_results(Flow *f) {
    Client *c = f->client;
    Operand fill;
    bool is_fill = is_constant(f, &fill);
    for (int i = 0; i < f->n_out; i++) {
        TensorHandle *h = handles_add(&c->tensors, f->inst.out[i]);
        h->type = f->out_type[i];
        h->group = c->home;
        if (is_fill) h->is_fill = true, h->fill = fill;
        c->next_id = f->inst.out[i] + 1;
    }
}

static void process(Flow *f, int stage) {
    Inst *inst = &f->inst;
    Client *c = f->client;
    Err err; /* set only by a failing call */
    if (inst->op == OP_FREE && inst->n_out == 0) {
        process_free(f, stage);
        return;
    }
    if (inst->n_out > 0 && (inst->out[0] < c->next_id || inst->out[0] >= INSERTED_ID - MAX_OUT)) {
        const char *why = inst->out[0] < c->next_id ? "already used" : "out of range";
        err_set(&err, ERR_ID, "t%llu is %s", (unsigned long long)inst->out[0], why);
        dispatcher_refuse_inst(f->d, c, f->seq, inst, &err);
        inst->n_out = 0; /* These ids belong to live tensors. */
        poison(f, stage);
        return;
    }
    TensorType *type = f->in_type;
    if (inst->n_in > (int)(sizeof f->in_type / sizeof f->in_type[0]))
        type = arena_alloc(&f->d->scratch, inst->n_in * sizeof *type);
    int known = check(f, type, &err);
    if (known == 0 && inst->n_out > 0) {
        poison(f, stage); /* Effects go on: the worker answers them. */
        return;
    }
    if (known < 0 || !inst_infer(inst, type, f->out_type, &f->n_out, &err) ||
        !results_fit(f, f->n_out, &err)) {
        refuse(f, stage, &err);
        return;
    }
    add_results(f);
    chain_next(f, stage + 1);
}

static void stats(const struct Dispatcher *d, Bytes *out) {
    bytes_printf(out, "refused_instructions=%llu\n", (unsigned long long)d->n_refused);
}

const Modifier modifier_validate = {"validate", process, stats};
