/* mod_handle.c: keeps the table of the client's live tensors (state/handle.h). `free` takes
 * handles out of it; an id that is not live is an error, and the others are freed all the same.
 * Valid results get handles on the home worker, until a later modifier places them elsewhere.
 * Results of a poison get handles without a type.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/modifier.h"
#include "dispatcher/state/send.h"

/* Records a freed tensor in f: mod_place frees its conversions, and its parts on other workers. */
static void record_freed(Flow *f, const TensorHandle *h, int n_left) {
    if (h->group == f->client->home) f->frees_home = true;
    if (h->group == f->client->home && !h->converted) return;
    if (!f->n_freed) f->freed = arena_alloc(&f->d->scratch, (size_t)n_left * sizeof *f->freed);
    f->freed[f->n_freed++] = *h;
}

static void free_error(const Client *c, const Operand *o, Err *err) {
    if (o->kind == IN_TENSOR)
        client_unknown_id(c, o->id, err);
    else
        err_set(err, ERR_ARG, "free takes tensors only");
}

static void take_out(Flow *f) {
    Client *c = f->client;
    Operand *live = NULL;
    int n_live = 0, n = f->inst.n_in;
    Err err; /* set only by a failing call */
    TensorHandle old;
    f->n_freed = 0;
    f->frees_home = false;
    if (f->inst.n_attr) f->inst.n_attr = 0, f->record = NULL; /* `free` has no attributes */
    for (int i = 0; i < n; i++) {
        const Operand *o = &f->inst.in[i];
        if (o->kind == IN_TENSOR && handles_remove(&c->tensors, o->id, &old)) {
            c->live_bytes -= old.is_poisoned ? 0 : tensor_bytes(&old.type);
            record_freed(f, &old, n - i);
            if (live) live[n_live] = *o;
            n_live++;
            continue;
        }
        free_error(c, o, &err);
        if (live) continue;
        live = arena_alloc(&f->d->scratch, (size_t)n * sizeof *live);
        for (int k = 0; k < n_live; k++) live[k] = f->inst.in[k];
    }
    if (!live) return;
    dispatcher_refuse_inst(f->d, c, f->seq, &f->inst, &err);
    f->inst.in = live;
    f->inst.n_in = (uint16_t)n_live;
    f->record = NULL;
    if (n_live == 0) f->inst.op = OP_POISON;
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

static void put_in(const Flow *f) {
    Client *c = f->client;
    bool is_poison = f->inst.op == OP_POISON;
    Operand fill;
    bool is_fill = !is_poison && is_constant(f, &fill);
    for (int i = 0; i < f->inst.n_out; i++) {
        TensorHandle *h = handles_add(&c->tensors, f->inst.out[i]);
        h->group = c->home;
        h->is_poisoned = is_poison;
        c->next_id = f->inst.out[i] + 1;
        if (is_poison) continue;
        h->type = f->out_type[i];
        c->live_bytes += tensor_bytes(&h->type);
        if (is_fill) h->is_fill = true, h->fill = fill;
    }
}

static void process(Flow *f, int stage) {
    if (f->inst.op == OP_FREE)
        take_out(f);
    else if (f->inst.n_out > 0)
        put_in(f);
    chain_next(f, stage + 1);
}

static void stats(const struct Dispatcher *d, Bytes *out) {
    uint64_t tensors = 0, bytes = 0, slots = 0;
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) {
        const Client *c = it.value;
        tensors += c->tensors.n;
        slots += c->tensors.cap;
        bytes += handles_bytes(&c->tensors);
    }
    bytes_printf(out, "tensors=%llu\nslots=%llu\nbytes=%llu\n", (unsigned long long)tensors,
                 (unsigned long long)slots, (unsigned long long)bytes);
}

const Modifier modifier_handle = {"handle", process, stats};
