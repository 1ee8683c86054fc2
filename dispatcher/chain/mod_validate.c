/* mod_validate.c: no instruction reaches a worker unchecked. Ids must be live or new, types must
 * fit (inst_infer), and memory must stay within the client's limit. A failing instruction is
 * reported to the client once, and a `poison` of its results takes its place in the stream. So
 * every worker skips whatever reads these results later. What `free` names is checked by
 * mod_handle.c, which takes it out of the table.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/modifier.h"
#include "dispatcher/state/send.h"

/* For a client's instruction: the dispatcher adds its place (on, split), and workers a window. */
enum { ATTRS_MAX = MAX_ATTRS - 3 };

/* Turns the instruction into a poison of the same results. It keeps its sequence number. */
static void poison(Flow *f, int stage) {
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

/* Types of the operands. 1: all known; 0: one is poisoned and has no type; -1: err is set. */
static int operand_types(Flow *f, TensorType *type, Err *err) {
    int known = 1;
    for (int i = 0; i < f->inst.n_in; i++) {
        if (f->inst.in[i].kind != IN_TENSOR) continue;
        const TensorHandle *h = handles_find(&f->client->tensors, f->inst.in[i].id);
        if (!h) return client_unknown_id(f->client, f->inst.in[i].id, err) - 1;
        if (h->is_poisoned) known = 0;
        type[i] = h->is_poisoned ? (TensorType){.dtype = DT_F32} : h->type; /* any type will do */
    }
    return known;
}

static bool results_fit(Flow *f, int n_out, Err *err) {
    const Inst *inst = &f->inst;
    const Client *c = f->client;
    if (n_out != inst->n_out)
        return err_set(err, ERR_ARG, "%s has %d results, not %d", op_info[inst->op].name, n_out,
                       inst->n_out);
    uint64_t bytes = 0, limit = f->d->config.client_bytes_max;
    if (!limit) return true;
    for (int i = 0; i < n_out; i++) bytes += tensor_bytes(&f->out_type[i]);
    if (c->live_bytes + bytes <= limit) return true;
    char need[32], rest[32], all[32];
    err_set(err, ERR_MEMORY, "'%s' needs %s, %s of %s are free for this client",
            op_info[inst->op].name, bytes_text(bytes, need),
            bytes_text(limit > c->live_bytes ? limit - c->live_bytes : 0, rest),
            bytes_text(limit, all));
    return err_hint(err, "gt-dispatcher --client-memory sets the limit");
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

static void process(Flow *f, int stage) {
    Inst *inst = &f->inst;
    Client *c = f->client;
    Err err; /* set only by a failing call */
    if (inst->op == OP_FREE && inst->n_out == 0) {
        chain_next(f, stage + 1);
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
        poison(f, stage); /* Effects are forwarded: the worker answers them. */
        return;
    }
    if (known < 0 || !inst_infer(inst, type, f->out_type, &f->n_out, &err) ||
        !results_fit(f, f->n_out, &err)) {
        refuse(f, stage, &err);
        return;
    }
    chain_next(f, stage + 1);
}

static void stats(const struct Dispatcher *d, Bytes *out) {
    bytes_printf(out, "refused_instructions=%llu\n", (unsigned long long)d->n_refused);
}

const Modifier modifier_validate = {"validate", process, stats};
