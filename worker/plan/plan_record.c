/* plan_record.c: records a segment while it is issued one by one (plan.h): what comes from outside,
 * how each word of the arguments is used, and the calls of the engine. Values have their ids, not
 * addresses; only a view's place within its tensor is recorded.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/box.h"
#include "worker/exec/exec.h"
#include "worker/exec/issue.h"
#include "worker/exec/locate.h"
#include "worker/plan/plan_record.h"
#include "worker/plan/plan_make.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Returns the array with room for one more than n elements. */
static void *grow(void *array, int n, size_t size) {
    if (n & (n - 1)) return array;
    return xrealloc(array, (n < 4 ? 8 : 2 * (size_t)n) * size);
}

void recorder_fail(Recorder *r, const char *why) {
    if (!r->has_failed) r->why = why;
    r->has_failed = true;
}

void recorder_free(Recorder **rp) {
    Recorder *r = *rp;
    *rp = NULL;
    if (!r) return;
    if (r->x->observer == &r->seen) r->x->observer = NULL;
    plan_hold_entries(r->step, r->seen.n_steps, r->trial, r->n_trials, false);
    arena_fini(&r->arena);
    map_fini(&r->values);
    free(r->made);
    free(r->word), free(r->external), free(r->value), free(r->variable);
    free(r->step), free(r->slot), free(r->trial), free(r->inst), free(r->seq_at);
    free(r->first_value);
    free(r);
}

/* ---- Values ---- */

static int new_slot(Recorder *r, uint64_t bytes, int external) {
    int i = r->n_slots;
    r->slot = grow(r->slot, i, sizeof *r->slot);
    r->slot[r->n_slots++] =
        (RecSlot){.root = i, .external = external, .bytes = bytes, .first = -1, .last = -1};
    return i;
}

static RecValue *new_value(Recorder *r, uint64_t id) {
    RecValue *v = arena_zalloc(&r->arena, sizeof *v);
    v->id = id;
    v->slot = v->shift_slot = v->external = PLAN_NONE;
    map_put(&r->values, id, v);
    return v;
}

static Word *add_word(Recorder *r, size_t at, WordKind kind, uint64_t value) {
    r->word = grow(r->word, r->n_words, sizeof *r->word);
    Word *w = &r->word[r->n_words++];
    *w = (Word){.at = (uint32_t)at, .kind = (uint8_t)kind, .value = value};
    return w;
}

/* Records a tensor from outside. at: of the word that is its id; PLAN_NONE: its distance is part of
 * the form. Returns NULL if the tensor has no value yet. */
static RecValue *new_external(Recorder *r, uint64_t id, int64_t at) {
    const Tensor *t = store_get(r->client->names, id);
    const Storage *st = t ? t->storage : NULL;
    if (!t || st->poison || st->maker || st->made || !st->data) {
        recorder_fail(r, "an operand is missing");
        return NULL;
    }
    RecValue *v = new_value(r, id);
    v->type = t->view.type;
    v->whole = t->whole ? t->whole->type : v->type;
    memcpy(v->stride, t->view.stride, sizeof v->stride);
    v->external = r->n_externals;
    r->external = grow(r->external, r->n_externals, sizeof *r->external);
    External *e = &r->external[r->n_externals++];
    *e = (External){.at = at, .delta = id - r->base, .inst = r->n - 1, .type = v->type};
    memcpy(e->stride, v->stride, sizeof e->stride);
    e->has_whole = t->whole != NULL;
    if (t->whole) e->whole = *t->whole;
    e->is_sole = tensor_is_sole(t);
    v->slot = new_slot(r, st->bytes, v->external);
    return v;
}

/* Returns the value of a tensor operand. at: of the word that is its id, or PLAN_NONE. */
static RecValue *operand(Recorder *r, uint64_t id, int64_t at) {
    RecValue *v = map_get(&r->values, id);
    if (!v) return new_external(r, id, at);
    if (at < 0) return v;
    const External *e = v->external >= 0 ? &r->external[v->external] : NULL;
    if (e && e->at >= 0)
        add_word(r, (size_t)at, WORD_SAME, (uint64_t)e->at);
    else if (id >= INSERTED_ID)
        add_word(r, (size_t)at, WORD_ADDED, id - r->added);
    else
        add_word(r, (size_t)at, WORD_MADE, id - r->base);
    return v;
}

/* True if a free names this id and no tensor here has it: the tensor is on another worker. Then
 * records that no tensor may have the id the next time either. */
static bool is_away(Recorder *r, const Inst *in, uint64_t id, int64_t at) {
    const Client *c = r->client;
    if (in->op != OP_FREE || !c->is_shared || map_get(&r->values, id) || store_get(c->names, id))
        return false;
    if (at >= 0)
        add_word(r, (size_t)at, WORD_AWAY, 0);
    else
        add_word(r, 0, WORD_AWAY, id - r->base)->is_distance = true;
    return true;
}

static void add_value(Recorder *r, Value v) {
    r->value = grow(r->value, r->n_values, sizeof *r->value);
    r->value[r->n_values++] = v;
}

static uint64_t word_at(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* ---- An instruction ---- */

static void read_operands(Recorder *r, const Job *j, Inst *in, const BodyForm *f, size_t *at,
                          TensorType *types) {
    OpClass class_ = op_info[in->op].class_;
    for (int i = 0; i < in->n_in && !r->has_failed; i++) {
        bool is_arg = body_operand(j->body, f, i) >> 2 == 0;
        int64_t here = is_arg ? (int64_t)*at : PLAN_NONE;
        if (is_arg) *at += 8;
        if (in->in[i].kind != IN_TENSOR) {
            if (class_ == CLASS_MAP || class_ == CLASS_SOURCE)
                add_value(r, (Value){.at = (uint32_t)here,
                                     .last = word_at(r->args + here),
                                     .operand = (Operand *)&in->in[i],
                                     .slot = i});
            else
                add_word(r, (size_t)here, WORD_EQUAL, word_at(r->args + here));
            continue;
        }
        if (is_away(r, in, in->in[i].id, here)) continue;
        RecValue *v = operand(r, in->in[i].id, here);
        if (!v) return;
        types[i] = v->whole;
        if (v->is_dropped) recorder_fail(r, "an operand was freed");
        if (v->is_away && in->op != OP_FREE) recorder_fail(r, "an operand is on another worker");
        if (in->op != OP_FREE) continue;
        v->is_dropped = true;
        if (v->external >= 0) r->external[v->external].is_dropped = true;
    }
}

/* Records the attributes among the arguments. These are lists, whose lengths must be equal the next
 * time. locate.c computes where a slice of a part begins, so that argument must be equal too. */
static void read_attrs(Recorder *r, Inst *in, const BodyForm *f, size_t *at) {
    bool is_split = inst_attr(in, ATTR_SPLIT) != NULL;
    for (int i = in->n_attr - f->n_attr_arg; i < in->n_attr; i++) {
        const Attr *a = &in->attr[i];
        if (attr_info[a->key].type != AT_INTS) {
            recorder_fail(r, "an attribute");
            return;
        }
        add_word(r, *at, WORD_EQUAL, word_at(r->args + *at));
        *at += 8;
        for (uint32_t k = 0; k < a->n; k++, *at += 8) {
            uint64_t word = word_at(r->args + *at);
            if ((a->key == ATTR_START && !is_split) || a->key == ATTR_RNG)
                add_value(r, (Value){.at = (uint32_t)*at,
                                     .last = word,
                                     .item = (int64_t *)&a->ints[k],
                                     .slot = PLAN_NONE});
            else
                add_word(r, *at, WORD_EQUAL, word);
        }
    }
}

/* True if only other ranks execute it. */
static bool is_elsewhere(const Exec *x, const Inst *in) {
    Place place;
    if (!inst_attr(in, ATTR_ON) || !inst_place(in, &place, NULL)) return false;
    const Group *g = locate_group(x, place.group);
    return g && group_place(g, (int)x->rank) < 0;
}

static void read_inst(Recorder *r, const Job *j, Inst *in, const BodyForm *f) {
    size_t at = (size_t)(r->at - r->args);
    if (f->payload && in->op != OP_DATA) recorder_fail(r, "a payload");
    if (op_info[in->op].class_ == CLASS_CONTROL && in->n_out && in->op != OP_SHARD)
        recorder_fail(r, "a result of nothing");
    if (r->has_failed) return;
    TensorType *types = arena_zalloc(&r->arena, sizeof *types * (size_t)(in->n_in + 1));
    read_operands(r, j, in, f, &at, types);
    if (!r->has_failed) read_attrs(r, in, f, &at);
    r->data_at = (uint32_t)at;
    r->n_now = r->n_values - r->first_now;
    if (!r->n_now) return;
    r->variable = grow(r->variable, r->n_variables, sizeof *r->variable);
    r->variable[r->n_variables++] =
        (Variable){.inst = in, .types = types, .first = r->first_now, .n = r->n_now};
}

void recorder_before(Recorder *r, Job *j) {
    const BodyForm *f = &j->body->form[j->body_at];
    const uint8_t *end = body_args_end(f, r->at, r->end);
    assert(r->n < r->limit);
    Inst *in = inst_copy(&j->inst, &r->arena);
    in->payload = NULL, in->payload_buf = NULL;
    bool is_here = !is_elsewhere(r->x, in);
    r->now = is_here ? in : NULL;
    j->at = (int)r->n;
    r->inst[r->n] = in;
    r->seq_at[r->n] = (uint32_t)(j->seq - r->seq);
    r->first_now = r->n_values, r->n_now = 0;
    r->n++;
    r->n_seq += !f->is_inserted;
    if (!end || j->args != r->at) recorder_fail(r, "arguments");
    if (is_here && !r->has_failed) read_inst(r, j, in, f);
    r->first_value[r->n] = r->n_values;
    if (r->has_failed) return;
    r->at = end;
    for (int k = 0; k < in->n_out; k++) {
        r->made = grow(r->made, r->n_values_made, sizeof *r->made);
        RecValue *v = r->made[r->n_values_made++] = new_value(r, in->out[k]);
        v->is_made = true;
        v->is_away = !is_here;
    }
}

/* Records that result 0 is a view of operand 0. */
static void see_view(Recorder *r, RecValue *v, const Tensor *t, const Tensor *from) {
    v->of = map_get(&r->values, r->now->in[0].id);
    v->offset = (int64_t)(t->offset - from->offset);
    if (!r->n_now) return;
    Shift *s = v->shift = arena_zalloc(&r->arena, sizeof *s);
    s->inst = r->inst[r->n - 1];
    s->in = from->view;
    s->out = t->view.type;
    s->delta = v->offset;
    r->variable[r->n_variables - 1].shift = s;
}

static void issued(Observer *o) {
    Recorder *r = (Recorder *)o;
    const Inst *in = r->now;
    const Names *names = r->client->names;
    if (!in || r->has_failed) return;
    if (r->x->first || r->client->jobs) recorder_fail(r, "jobs wait");
    for (int k = 0; k < in->n_out && !r->has_failed; k++) {
        RecValue *v = map_get(&r->values, in->out[k]);
        const Tensor *t = store_get(names, in->out[k]);
        if (!t || t->storage->poison) {
            recorder_fail(r, "a result is missing");
            break;
        }
        v->type = t->view.type;
        v->whole = t->whole ? t->whole->type : v->type;
        memcpy(v->stride, t->view.stride, sizeof v->stride);
        bool may_show =
            op_info[in->op].class_ == CLASS_VIEW || in->op == OP_SHARD || in->op == OP_CAST;
        const Tensor *from = may_show ? store_get(names, in->in[0].id) : NULL;
        if (from && from->storage == t->storage) see_view(r, v, t, from);
        if (r->n_now) r->variable[r->n_variables - 1].out[k] = v->whole;
    }
    r->now = NULL;
}

/* ---- What the engine does ---- */

static int add_step(Recorder *r, StepKind kind, int inst) {
    int n = r->seen.n_steps++;
    r->step = grow(r->step, n, sizeof *r->step);
    r->step[n] =
        (Step){.kind = (uint8_t)kind, .inst = inst, .seq = r->seq_at[inst], .host = PLAN_NONE};
    r->size += sizeof(Step) + 256;
    return n;
}

/* Notes what those that watch see of a step, which ends with j. */
static void note_step(Recorder *r, int step, const Job *j) {
    Step *s = &r->step[step];
    s->op = (uint16_t)j->inst.op, s->n_out = j->inst.n_out;
    for (int i = 0; i < j->call.n_out; i++) s->made += type_bytes(&j->call.out[i].type);
    if (!s->n_out) return;
    s->is_added = j->inst.out[0] >> 63;
    s->id = j->inst.out[0] - (s->is_added ? r->added : r->base);
}

/* The same of a kernel: see TIME_FUSED. */
static void note_heaviest(const Recorder *r, Step *s, const FusionRun *c) {
    uint64_t id = c->heaviest->inst.out[0];
    s->op = (uint16_t)c->heaviest->inst.op;
    s->made = c->bytes;
    s->of_added = id >> 63;
    s->of = id - (s->of_added ? r->added : r->base);
}

static void touch(Recorder *r, int slot, int step) {
    RecSlot *s = &r->slot[r->slot[slot].root];
    if (s->first < 0) s->first = step;
    s->last = step;
}

int recorder_place(Recorder *r, RecValue *v, int64_t *offset) {
    *offset = 0;
    if (!v->of) return v->slot;
    int64_t from_offset;
    int from = recorder_place(r, v->of, &from_offset);
    if (from < 0) return PLAN_NONE;
    if (!v->shift) {
        *offset = from_offset + v->offset;
        return from;
    }
    if (v->shift_slot < 0) {
        v->shift_slot = new_slot(r, 0, PLAN_NONE);
        r->slot[v->shift_slot].root = r->slot[from].root;
        int step = add_step(r, STEP_SHIFT, 0);
        r->step[step].shift = v->shift;
        v->shift->from = from, v->shift->offset = from_offset;
        v->shift->region = v->shift_slot;
        touch(r, from, step);
    }
    return v->shift_slot;
}

/* Records that *to must point to v. In a recording, Patch.region is a slot. */
static bool add_patch(Recorder *r, Patch *p, RecValue *v, char **to) {
    int64_t offset;
    int slot = v ? recorder_place(r, v, &offset) : PLAN_NONE;
    if (slot < 0) {
        recorder_fail(r, "a value without memory");
        return false;
    }
    *p = (Patch){to, slot, offset};
    return true;
}

static void add_result(Recorder *r, Patch *p, uint64_t id, const TensorType *t, char **to) {
    RecValue *v = map_get(&r->values, id);
    if (!v || v->slot >= 0 || v->of) {
        recorder_fail(r, "a result twice");
        return;
    }
    v->slot = new_slot(r, type_bytes(t), PLAN_NONE);
    *p = (Patch){to, v->slot, 0};
}

static void end_step(Recorder *r, int step, Patch *patch, int n_read, int n_patch) {
    Step *s = &r->step[step];
    s->patch = patch;
    s->n_read = (uint16_t)n_read, s->n_patch = (uint16_t)n_patch;
    for (int i = 0; i < n_patch && !r->has_failed; i++) touch(r, patch[i].region, step);
}

/* Records the lines that the time of a step is added to, if the client is profiled: see
 * profile_shares. */
static void add_shares(Recorder *r, int step, Job *const *job, const bool *is_stored, int n) {
    Step *s = &r->step[step];
    if (!r->client->profile) return;
    s->n_share = n;
    s->share = arena_alloc(&r->arena, sizeof *s->share * (size_t)n);
    profile_shares(r->client->profile, job, is_stored, n, s->share);
    r->size += sizeof *s->share * (size_t)n;
}

/* Returns the argument that is operand i of an instruction; NULL: there is none. */
static Value *value_of(Recorder *r, int inst, int i) {
    for (int k = r->first_value[inst]; k < r->first_value[inst + 1]; k++)
        if (r->value[k].slot == i) return &r->value[k];
    return NULL;
}

/* Returns the dtype to which issue.c converts immediates: that of the last tensor. */
static DType scalar_dtype(Recorder *r, const Inst *in, const View *v) {
    if (op_info[in->op].class_ != CLASS_MAP) return (DType)v->type.dtype;
    DType d = DT_NONE;
    for (int i = 0; i < in->n_in; i++) {
        const RecValue *t = in->in[i].kind == IN_TENSOR ? map_get(&r->values, in->in[i].id) : NULL;
        if (t) d = (DType)t->type.dtype;
    }
    return d;
}

/* Returns the instruction as the engine gets it: for a part its sizes differ (locate.c). Random
 * keys, which change, are those of the whole. */
static const Inst *as_called(Recorder *r, const Job *j) {
    const Inst *in = r->inst[j->at];
    if (j->call.inst == &j->inst) return in;
    Inst *part = inst_copy(j->call.inst, &r->arena);
    part->payload = NULL, part->payload_buf = NULL;
    const Attr *rng = inst_attr(in, ATTR_RNG);
    for (int i = 0; i < part->n_attr && rng; i++)
        if (part->attr[i].key == ATTR_RNG) ((Attr *)part->attr)[i].ints = rng->ints;
    return part;
}

/* Copies a call and writes the patches of its tensor operands to `patch`. Returns their number; -1:
 * the recording has failed. */
static int copy_call(Recorder *r, const Job *j, Call **copy, Patch *patch) {
    const Inst *in = r->inst[j->at];
    int n = j->call.n_in, n_patch = 0;
    int model = op_info[in->op].class_ == CLASS_SOURCE ? in->n_in - n : 0;
    Call *c = *copy = arena_alloc(&r->arena, sizeof *c);
    *c = j->call;
    c->inst = as_called(r, j);
    c->in = arena_alloc(&r->arena, sizeof *c->in * (size_t)(n + 1));
    r->size += sizeof *c + sizeof(View) * (size_t)n;
    for (int i = 0; i < n; i++) {
        View *v = &c->in[i];
        *v = j->call.in[i];
        if (v->is_scalar) {
            v->data = memcpy(arena_alloc(&r->arena, 8), v->data, 8);
            Value *value = c->inst->op == in->op ? value_of(r, j->at, i + model) : NULL;
            if (!value) continue;
            value->to = v->data;
            value->dtype = (uint8_t)scalar_dtype(r, in, v);
            value->to_dtype = DT_NONE;
            continue;
        }
        if (!add_patch(r, &patch[n_patch++], map_get(&r->values, in->in[i].id), (char **)&v->data))
            return -1;
    }
    return n_patch;
}

/* True if j belongs to the recording, which has not failed. */
static bool is_recorded(const Recorder *r, const Job *j) {
    return !r->has_failed && r->client == j->frame->client;
}

static void saw_call(Observer *o, const Job *j) {
    Recorder *r = (Recorder *)o;
    if (!is_recorded(r, j)) return;
    const Inst *in = r->inst[j->at];
    int n_out = j->call.n_out;
    Call *c;
    Patch *patch = arena_alloc(&r->arena, sizeof *patch * (size_t)(j->call.n_in + n_out));
    int n_patch = copy_call(r, j, &c, patch), n_read = n_patch;
    if (n_read < 0) return;
    int step = add_step(r, STEP_CALL, j->at);
    note_step(r, step, j);
    uint64_t bytes = 0;
    for (int i = 0; i < c->n_in; i++)
        if (!c->in[i].is_scalar) bytes += type_bytes(&c->in[i].type);
    for (int k = 0; k < n_out; k++) {
        add_result(r, &patch[n_patch++], in->out[k], &c->out[k].type, (char **)&c->out[k].data);
        bytes += type_bytes(&c->out[k].type);
    }
    r->step[step].call = c;
    if (op_has(in->op, FACT_FAILS)) {
        StepFail *e = arena_alloc(&r->arena, sizeof *e);
        *e = (StepFail){.seq = r->seq_at[j->at], .op = in->op, .pos = j->inst.pos};
        e->depends = STEP_ALL;
        r->step[step].fail = e, r->step[step].n_fails = 1;
        r->step[step].may_fail = true;
    }
    end_step(r, step, patch, n_read, n_patch);
    add_shares(r, step, &(Job *){(Job *)j}, &(bool){true}, 1);
    r->kernels++;
    if (op_info[in->op].class_ != CLASS_MAP && 2 * bytes > r->beside) r->beside = 2 * bytes;
}

/* Finds the range of a payload that this rank uses. False: it is not contiguous. */
static bool payload_part(const Job *j, uint64_t *skip, uint64_t *taken) {
    View box = exec_payload(j);
    *taken = type_bytes(&j->call.out[0].type);
    *skip = *taken ? (uint64_t)((char *)box.data - (char *)j->inst.payload) : 0;
    return view_is_contiguous(&box);
}

static void saw_data(Observer *o, const Job *j) {
    Recorder *r = (Recorder *)o;
    if (!is_recorded(r, j)) return;
    const BodyForm *f = &r->body->form[j->body_at];
    /* Inference checks each time that bools are 0 or 1. */
    bool is_bool = j->call.out[0].type.dtype == DT_BOOL;
    uint64_t skip, taken;
    if (!f->payload || j->at != (int)r->n - 1 || is_bool || !payload_part(j, &skip, &taken)) {
        recorder_fail(r, "data");
        return;
    }
    Patch *patch = arena_alloc(&r->arena, sizeof *patch);
    int step = add_step(r, STEP_DATA, j->at);
    note_step(r, step, j);
    char **to = arena_zalloc(&r->arena, sizeof *to);
    add_result(r, patch, j->inst.out[0], &j->call.out[0].type, to);
    Step *s = &r->step[step];
    s->data_at = r->data_at;
    s->is_part = f->payload == BODY_PART;
    s->bytes = j->inst.payload_bytes, s->skip = skip, s->taken = taken;
    if (s->is_part)
        add_word(r, r->data_at, WORD_PART, s->bytes);
    else
        add_word(r, r->data_at, WORD_EQUAL, s->bytes);
    end_step(r, step, patch, 0, 1);
    add_shares(r, step, &(Job *){(Job *)j}, &(bool){true}, 1);
}

static void saw_trial(Observer *o, int begin, int alone, const CollectTrial *trial) {
    Recorder *r = (Recorder *)o;
    if (o->n_steps == begin) return;
    r->trial = grow(r->trial, r->n_trials, sizeof *r->trial);
    r->trial[r->n_trials++] = (Trial){*trial, begin, alone, o->n_steps, 0, 0};
    jit_hold(trial->entry);
}

/* Records which values and arguments node i of g reads. operand: the node's tensor operands.
 * Returns false if that is not possible. */
static bool bind_node(Recorder *r, Fusion *g, int i, const Job *j, const int operand[3],
                      RecValue *input[FUSED_INPUTS]) {
    for (int a = 0, k = 0; a < j->call.n_in; a++) {
        const View *v = &j->call.in[a];
        if (v->is_scalar) {
            int model =
                op_info[j->inst.op].class_ == CLASS_SOURCE ? j->inst.n_in - j->call.n_in : 0;
            Value *value = value_of(r, j->at, a + model);
            int ref = g->node[i].in[a];
            if (!value) continue;
            if (ref < FUSE_SCALAR || ref >= FUSE_SCALAR + g->n_scalars) return false;
            value->to = g->args.scalar[ref - FUSE_SCALAR];
            value->dtype = (uint8_t)scalar_dtype(r, &j->inst, v);
            value->to_dtype = (uint8_t)g->scalar[ref - FUSE_SCALAR];
            value->is_condition = a == 0 && j->call.n_in == 3;
            continue;
        }
        int ref = operand[k++];
        if (!fuse_is_input(ref)) continue;
        RecValue *t = map_get(&r->values, j->inst.in[a].id), **known = &input[ref - FUSE_INPUT];
        int64_t at, other;
        if (!t) return false;
        if (*known &&
            (recorder_place(r, t, &at) != recorder_place(r, *known, &other) || at != other))
            return false; /* two values are one input, because their views are equal by chance */
        *known = t;
    }
    return true;
}

/* Records where the product lies until the fusion has read it: in its own memory, if it has any,
 * else in that of a result. */
static void place_product(Recorder *r, Step *s, const Job *j, int input, Patch *patch,
                          int *n_patch) {
    char **to[] = {(char **)&s->product->out[0].data, (char **)&s->fuse->args.in[input]};
    s->host = PLAN_NONE;
    if (j->out[0]->data) {
        add_result(r, &patch[*n_patch], j->inst.out[0], &j->call.out[0].type, to[0]);
    } else {
        int w = s->n_read;
        while (w < *n_patch && *patch[w].to != j->call.out[0].data) w++;
        if (w == *n_patch) {
            recorder_fail(r, "a product without memory");
            return;
        }
        s->host = w;
        patch[*n_patch] = (Patch){to[0], patch[w].region, 0};
    }
    patch[*n_patch + 1] = (Patch){to[1], patch[*n_patch].region, 0};
    *n_patch += 2;
}

/* Records on which reads, and which failures, each stored result of a fusion depends. Returns false
 * if there are too many. */
static bool note_depends(Recorder *r, Step *s, const Fusion *g, const FusionRun *c, int n_inputs) {
    uint64_t of[FUSE_NODES], input[FUSED_INPUTS];
    s->depends = arena_alloc(&r->arena, sizeof *s->depends * (size_t)(g->n_outputs + 1));
    s->fail = arena_alloc(&r->arena, sizeof *s->fail * (size_t)c->n);
    if (s->n_read > STEP_HALF) return false;
    for (int i = n_inputs; i < s->n_read; i++) s->of_product |= UINT64_C(1) << i;
    for (int i = 0, at = 0; i < g->n_inputs; i++)
        input[i] = i == c->input ? s->of_product : UINT64_C(1) << at++;
    for (int i = 0; i < c->n; i++) {
        const FuseNode *node = &g->node[i];
        const Job *j = c->job[i];
        of[i] = 0;
        for (int k = 0; k < node->n_in; k++) {
            int ref = node->in[k];
            if (fuse_is_node(ref)) of[i] |= of[ref];
            if (fuse_is_input(ref)) of[i] |= input[ref - FUSE_INPUT];
        }
        if (op_has((Op)node->op, FACT_FAILS)) {
            if (s->n_fails == STEP_HALF) return false;
            s->fail[s->n_fails] = (StepFail){i, r->seq_at[j->at], j->inst.op, j->inst.pos, of[i]};
            of[i] |= UINT64_C(1) << (STEP_HALF + s->n_fails++);
        }
        if (node->is_stored) s->depends[s->n_depends++] = of[i];
    }
    s->may_fail = s->n_fails > 0;
    return true;
}

/* Bytes beside its results that a run of the fusion needs; product: the one inside it, or NULL. */
static uint64_t scratch_bytes(const FusedArgs *a, const FusedKernel *k, const Call *product) {
    uint64_t bytes = 8 * (uint64_t)k->reductions * (uint64_t)a->rows * (uint64_t)a->blocks +
                     (uint64_t)fused_table(a, k->columns, k->totals);
    for (int i = 0; product && i < product->n_in; i++)
        bytes += 2 * type_bytes(&product->in[i].type);
    return bytes;
}

static void saw_fusion(Observer *o, const FusionRun *c) {
    Recorder *r = (Recorder *)o;
    Job *const *job = c->job;
    const Job *product = c->product;
    int n = c->n;
    if (!is_recorded(r, job[0])) return;
    Fusion *g = memcpy(arena_alloc(&r->arena, sizeof *g), c->fuse, sizeof *g);
    RecValue *read[FUSED_INPUTS] = {0};
    for (int i = 0; i < n; i++)
        if (!bind_node(r, g, i, job[i], c->operand[i], read)) {
            recorder_fail(r, "operands of a fusion");
            return;
        }
    int most = g->n_inputs + g->n_outputs + (product ? product->call.n_in + 2 : 0);
    Patch *patch = arena_alloc(&r->arena, sizeof *patch * (size_t)(most + 1));
    int n_patch = 0;
    for (int i = 0; i < g->n_inputs; i++)
        if (i != c->input && !add_patch(r, &patch[n_patch++], read[i], (char **)&g->args.in[i]))
            return;
    Call *call = NULL;
    int n_inputs = n_patch;
    int more = product ? copy_call(r, product, &call, patch + n_patch) : 0;
    if (more < 0) return;
    n_patch += more;
    int step = add_step(r, STEP_FUSED, job[n - 1]->at);
    note_step(r, step, job[n - 1]);
    Step *s = &r->step[step];
    s->n_read = (uint16_t)n_patch;
    if (!note_depends(r, s, g, c, n_inputs)) {
        recorder_fail(r, "too much that a fusion depends on");
        return;
    }
    for (int i = 0; i < n; i++) {
        const FuseNode *node = &g->node[i];
        if (!node->is_stored) {
            r->unstored++;
            r->bytes_saved += 2 * job[i]->out[0]->bytes;
            continue;
        }
        add_result(r, &patch[n_patch++], job[i]->inst.out[0], &job[i]->call.out[0].type,
                   &g->args.out[node->output]);
    }
    s->fuse = g;
    s->kernel = c->kernel, s->entry = c->entry;
    jit_hold(s->entry);
    s->product = call;
    if (product) place_product(r, s, product, c->input, patch, &n_patch);
    end_step(r, step, patch, s->n_read, n_patch);
    note_heaviest(r, s, c);
    add_shares(r, step, c->timed, c->is_stored, c->n_timed);
    r->kernels++;
    r->products += product != NULL;
    r->fused_ops += (uint32_t)n;
    r->size += sizeof *g;
    uint64_t beside = scratch_bytes(&g->args, c->kernel, call);
    if (beside > r->beside) r->beside = beside;
}

/* ---- Beginning ---- */

Recorder *recorder_begin(Exec *x, Job *j, Spot *spot, uint32_t limit) {
    const FrameReader *at = &j->frame->reader;
    Recorder *r = xcalloc(1, sizeof *r);
    r->seen = (Observer){.saw_call = saw_call,
                         .saw_data = saw_data,
                         .saw_fusion = saw_fusion,
                         .saw_trial = saw_trial,
                         .issued = issued};
    r->x = x;
    r->client = j->frame->client;
    r->body = j->body;
    r->spot = spot;
    r->from = j->body_at;
    r->limit = limit;
    r->base = j->args_base, r->added = j->args_added;
    r->seq = j->seq;
    r->args = r->at = j->args;
    r->end = at->hot_end;
    r->compiles = r->client->compiles;
    r->inst = xmalloc(limit * sizeof *r->inst);
    r->seq_at = xmalloc(limit * sizeof *r->seq_at);
    r->first_value = xcalloc(limit + 1, sizeof *r->first_value);
    r->begin_ns = exec_now_ns(x);
    x->observer = &r->seen;
    return r;
}
