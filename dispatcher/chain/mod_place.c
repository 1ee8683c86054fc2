/* mod_place.c: chooses the group that runs an instruction, and the layout of its results.
 *
 * In a scope that names a group W and an axis, a source is created on W, split along the axis. It
 * is whole if the scope says `replicated`, or if its shape has no such axis or fewer than 2
 * elements along it. Any other operation runs on W, with the exceptions below. Operands elsewhere
 * move there. The operation's rule (rule.h) chooses their layouts. It splits the result along the
 * axis if no operand is split on W, or if split operands of a pointwise operation disagree.
 *
 * Outside of scopes an operation runs where its operands are. If they are on different groups, the
 * operand that is split over most ranks decides, then the largest, then the first. A source of
 * AUTO_BYTES or more goes to the group of GT_AUTO_SHARD, if that is set.
 *
 * In scopes and outside of them: a view stays on its operand's group, a source whose shape comes
 * from an operand stays there too, and `p op= e` (attribute keep) keeps the layout of p. An effect
 * runs on one rank, and its operands move there.
 *
 * An instruction costs nothing here if all tensors of its client are on the home worker, and if
 * neither a scope nor GT_AUTO_SHARD names other workers. Exceptions: `shard`, `sync` and `check`.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/convert.h"
#include "dispatcher/chain/mod_scope.h"
#include "dispatcher/chain/modifier.h"
#include "dispatcher/rule/rule.h"
#include "dispatcher/state/send.h"
#include "runtime/base/log.h"
#include "runtime/inst/inst_debug.h"
#include <stdio.h>
#include <string.h>

enum { FEW = 8, AUTO_BYTES = 1 << 20 };

/* ---- Operands and groups ---- */

/* Handles of the tensor operands; NULL for immediates. */
static TensorHandle **operands(Flow *f, TensorHandle **few) {
    int n = f->inst.n_in;
    TensorHandle **h = n <= FEW ? few : arena_alloc(&f->d->scratch, (size_t)n * sizeof *h);
    for (int i = 0; i < n; i++)
        h[i] = f->inst.in[i].kind == IN_TENSOR ? handles_find(&f->client->tensors, f->inst.in[i].id)
                                               : NULL;
    return h;
}

/* Replaces the id of an operand. The operands are copied at the first replacement. */
static void set_operand(Flow *f, int i, uint64_t id) {
    if (f->inst.in[i].id == id) return;
    if (f->record) {
        size_t bytes = f->inst.n_in * sizeof f->inst.in[0];
        f->inst.in = memcpy(arena_alloc(&f->d->scratch, bytes), f->inst.in, bytes);
        f->record = NULL;
    }
    ((Operand *)f->inst.in)[i].id = id;
}

/* Evicts conversions above the limit. Call this after the instruction has passed. */
static void trim(Flow *f, TensorHandle **h) {
    for (int i = 0; i < f->inst.n_in; i++)
        if (h[i] && h[i]->converted) convert_trim(f, h[i]);
}

static const Members *single(Flow *f, int rank) {
    Client *c = f->client;
    if (rank == c->rank) return c->home;
    const Members *g = dispatcher_group(f->d, &(int32_t){rank}, 1);
    return g ? g : c->home;
}

/* Records the place of the results. */
static void place_results(Flow *f, const Members *g, const Layout *l) {
    Client *c = f->client;
    for (int i = 0; i < f->n_out; i++) {
        TensorHandle *h = handles_find(&c->tensors, f->inst.out[i]);
        h->group = g;
        h->layout = *l;
        c->n_away += g != c->home;
    }
    f->group = g == c->home ? NULL : g;
    f->layout = *l;
}

/* ---- Effects ---- */

/* Returns the rank that runs an effect: home, if an operand is poisoned, if home has a part of an
 * operand, or if the first operand is no tensor; else the first rank of the first operand's
 * group. */
static int rank_for(const Flow *f, TensorHandle **h) {
    const Client *c = f->client;
    for (int i = 0; i < f->inst.n_in; i++) {
        if (!h[i]) continue;
        if (h[i]->is_poisoned || ranks_has(&h[i]->group->set, c->rank)) return c->rank;
    }
    return f->inst.n_in > 0 && h[0] ? h[0]->group->rank[0] : c->rank;
}

static void place_effect(Flow *f, int stage) {
    TensorHandle *few[FEW], **h = operands(f, few);
    int n = f->inst.n_in, n_temporary = 0;
    const Members *g = single(f, rank_for(f, h));
    uint64_t *temporary = arena_alloc(&f->d->scratch, (size_t)n * sizeof *temporary);
    /* Also if only the home worker knows the client so far: this frame may change that. */
    if (f->inst.op == OP_SYNC && f->d->n_workers > 1) client_expect_sync(f->client, f->seq);
    for (int i = 0; i < n; i++) {
        if (!h[i]) continue;
        bool is_temporary;
        uint64_t id = convert_once(f, f->inst.in[i].id, h[i], g, &is_temporary);
        if (is_temporary) temporary[n_temporary++] = id;
        set_operand(f, i, id);
    }
    f->group = g == f->client->home ? NULL : g;
    f->layout = layout_replicate();
    chain_next(f, stage + 1);
    for (int i = 0; i < n_temporary; i++) convert_forget(f, temporary[i], g);
    trim(f, h);
}

/* ---- Tensors ---- */

/* The axis along which the target splits a tensor of this type, counted from 0; -1: whole. */
static int axis_of(const Target *t, const TensorType *type) {
    int axis = t->axis < 0 ? t->axis + type->rank : t->axis;
    if (t->is_whole || axis < 0 || axis >= type->rank || type->shape[axis] < 2) return -1;
    return axis;
}

static Layout birth_layout(const Target *t, const TensorType *type) {
    int axis = axis_of(t, type);
    if (t->group->n == 1 || axis < 0) return layout_replicate();
    return layout_split(type, axis, t->group->n);
}

/* The group that runs the operation if no scope names one: see the head of this file. */
static const Members *most_spread(const Flow *f, TensorHandle **h) {
    const TensorHandle *best = NULL;
    for (int i = 0; i < f->inst.n_in; i++) {
        if (!h[i] || h[i] == best) continue;
        if (!best) {
            best = h[i];
            continue;
        }
        int a = h[i]->layout.kind == LAYOUT_SPLIT ? h[i]->group->n : 0;
        int b = best->layout.kind == LAYOUT_SPLIT ? best->group->n : 0;
        if (a > b || (a == b && type_numel(&h[i]->type) > type_numel(&best->type))) best = h[i];
    }
    return best ? best->group : f->client->home;
}

/* A small payload goes to all ranks, and each takes its part. A large one goes to one worker,
 * and from there to the others. */
static void place_data(Flow *f, int stage, const Target *t) {
    Client *c = f->client;
    const Members *g = t->group;
    Layout l = birth_layout(t, &f->out_type[0]), whole = layout_replicate();
    place_results(f, g, &l);
    if (g->n == 1 || f->inst.payload_bytes <= INLINE_BYTES) {
        chain_next(f, stage + 1);
        return;
    }
    const Members *at = single(f, ranks_has(&g->set, c->rank) ? c->rank : g->rank[0]);
    uint64_t id = INSERTED_ID | c->next_inserted++;
    Flow born = *f;
    born.inst.out[0] = id;
    born.record = NULL;
    born.is_inserted = true;
    born.because = OP_DATA;
    born.group = at;
    born.layout = whole;
    chain_next(&born, stage + 1);
    MoveInst m;
    f->inst.payload = NULL, f->inst.payload_buf = NULL, f->inst.payload_bytes = 0;
    convert_become(f, id, &f->out_type[0], at, &whole, g, &l, &m);
    chain_next(f, stage + 1);
    convert_forget(f, id, at);
}

static void place_copy(Flow *f, int stage) {
    Client *c = f->client;
    uint64_t id = f->inst.in[0].id;
    TensorHandle *h = handles_find(&c->tensors, id);
    const Attr *name = inst_attr(&f->inst, ATTR_NAME);
    Target t;
    Err err = {0};
    if (!scope_target(f->d, c, name->str, name->n, &t, &err))
        dispatcher_refuse_inst(f->d, c, f->seq, &f->inst, &err);
    Layout l = t.group ? birth_layout(&t, &h->type) : h->layout;
    const Members *g = t.group ? t.group : h->group;
    bool is_there = convert_is_there(h, g, &l);
    TensorHandle from = *h;
    if (!is_there && layout_widens(&from.layout, &from.type)) { /* the move rounds it */
        set_operand(f, 0, convert_to(f, id, h, g, l));
        is_there = true;
    }
    place_results(f, g, &l);
    MoveInst m;
    if (!is_there) convert_become(f, id, &from.type, from.group, &from.layout, g, &l, &m);
    chain_next(f, stage + 1);
    h = handles_find(&c->tensors, id);
    if (h->converted) convert_trim(f, h);
}

/* Asks the rule for the layouts of the operands on g and of the results. */
static Layout apply_rule(Flow *f, TensorHandle **h, const Members *g, int want_axis, bool keeps,
                         Layout *need) {
    int n = f->inst.n_in;
    Layout few[FEW], *have = n <= FEW ? few : arena_alloc(&f->d->scratch, (size_t)n * sizeof *have);
    TensorType *in = f->in_type;
    if (n > FEW) in = arena_alloc(&f->d->scratch, (size_t)n * sizeof *in);
    for (int i = 0; i < n; i++) {
        if (!h[i]) continue;
        in[i] = h[i]->type;
        have[i] = h[i]->group == g && !(keeps && i > 0) ? convert_best(h[i], g, f->inst.op)
                                                        : layout_replicate();
        if (keeps && i == 0 && have[i].kind == LAYOUT_PARTIAL) have[i] = layout_replicate();
    }
    Rule r = {.inst = &f->inst,
              .in = in,
              .out = f->out_type,
              .n_out = f->n_out,
              .n = g->n,
              .have = have,
              .want_axis = want_axis,
              .need = need};
    rule_apply(&r);
    return r.give[0];
}

static void log_place(const Flow *f, const Members *g, const Layout *l) {
    char text[LAYOUT_TEXT], who[64], prefix[160];
    snprintf(prefix, sizeof prefix, "c%u = %s, %s: ", f->client->id, members_text(g, who),
             g->n > 1 ? layout_text(l, text) : "whole");
    inst_debug("DISPATCHER", prefix, &f->inst, NULL, 0);
}

/* An operation whose results are terms (LAYOUT_PARTIAL) of halves computes in float32, so that the
 * terms are not rounded. Widens its operands that are halves. Returns how many; the caller must
 * forget their ids afterwards. */
static int widen_operands(Flow *f, TensorHandle **h, const Members *g, const Layout *need,
                          uint64_t *wide) {
    int n = 0;
    for (int i = 0; i < f->inst.n_in; i++) {
        if (!h[i] || !dtype_is_half((DType)h[i]->type.dtype)) continue;
        if (layout_widens(&need[i], &h[i]->type)) continue; /* it is float32 already */
        wide[n] = convert_widen(f, f->inst.in[i].id, g, &need[i]);
        set_operand(f, i, wide[n++]);
    }
    return n;
}

static void place_tensor(Flow *f, int stage) {
    Client *c = f->client;
    const Inst *inst = &f->inst;
    OpClass class_ = op_info[inst->op].class_;
    TensorHandle *few[FEW], **h = operands(f, few);
    bool has_operand = inst->n_in > 0 && h[0];
    bool keeps = has_operand && inst_bool(inst, ATTR_KEEP, false);
    bool is_source = class_ == CLASS_SOURCE && !has_operand;
    bool stays = keeps || (has_operand && (class_ == CLASS_SOURCE || class_ == CLASS_VIEW));
    Target t = c->target;
    if (is_source && !t.group && type_bytes(&f->out_type[0]) >= AUTO_BYTES) t = c->auto_target;
    if (inst->op == OP_DATA && t.group && t.group != c->home) {
        place_data(f, stage, &t);
        return;
    }
    const Members *g = stays ? h[0]->group : t.group ? t.group : most_spread(f, h);
    Layout *need = f->need, give = layout_replicate();
    if (inst->n_in > FEW) need = arena_alloc(&f->d->scratch, inst->n_in * sizeof *need);
    if (g->n > 1) {
        int want = !stays && t.group ? axis_of(&t, &f->out_type[0]) : -1;
        /* A reduction over the scope's axis: each rank computes terms of it. */
        if (want < 0 && !stays && t.group && class_ == CLASS_REDUCE)
            want = axis_of(&t, &h[0]->type);
        give = apply_rule(f, h, g, want, keeps, need);
    }
    for (int i = 0; i < inst->n_in; i++) {
        if (!h[i]) continue;
        if (g->n == 1) need[i] = layout_replicate();
        set_operand(f, i, convert_to(f, inst->in[i].id, h[i], g, need[i]));
    }
    uint64_t few_wide[FEW], *wide = few_wide;
    int n_wide = 0;
    if (convert_makes_terms(f, &give)) {
        if (inst->n_in > FEW) wide = arena_alloc(&f->d->scratch, inst->n_in * sizeof *wide);
        n_wide = widen_operands(f, h, g, need, wide);
    }
    place_results(f, g, &give);
    if (log_is(LOG_DISPATCHER) && f->group) log_place(f, g, &give);
    chain_next(f, stage + 1);
    for (int i = 0; i < n_wide; i++) convert_forget(f, wide[i], g);
    trim(f, h);
}

/* Sends a `check` to all workers that know the client; others get it with their first frame
 * (mod_route). It takes effect only after the earlier part of this frame has been written. */
static void place_check(Flow *f, int stage) {
    Client *c = f->client;
    f->has_to = true, f->to = c->used;
    ranks_add(&f->to, c->rank);
    chain_next(f, stage + 1);
    c->checks_nan = inst_bool(&f->inst, ATTR_NAN, false);
}

/* Sends a `free` to all workers that hold its operands; frees converted copies, too. */
static void place_free(Flow *f) {
    Client *c = f->client;
    const Members *last = NULL;
    for (int i = 0; i < f->n_freed; i++) {
        TensorHandle *h = &f->freed[i];
        if (h->group != c->home) {
            if (!f->has_to) f->has_to = true, f->to = (RankSet){{0}};
            if (h->group != last) ranks_join(&f->to, &h->group->set);
            last = h->group;
            c->n_away--;
        }
        convert_drop(f, h);
    }
    if (f->has_to && f->frees_home) ranks_add(&f->to, c->rank);
}

static void process(Flow *f, int stage) {
    Client *c = f->client;
    Op op = f->inst.op;
    if (op == OP_CHECK) {
        place_check(f, stage);
        return;
    }
    bool is_quiet = client_stays_home(c);
    if (op == OP_FREE && f->n_freed) place_free(f);
    bool stays = !op_has_place(op) || op == OP_POISON;
    if (stays || (is_quiet && op != OP_SHARD && op != OP_SYNC)) {
        chain_next(f, stage + 1);
        return;
    }
    f->d->n_placed++;
    if (op_is_effect(op))
        place_effect(f, stage);
    else if (op == OP_SHARD)
        place_copy(f, stage);
    else
        place_tensor(f, stage);
}

static void stats(const struct Dispatcher *d, Bytes *out) {
    bytes_printf(out, "placed=%llu\nmoves=%llu\n", (unsigned long long)d->n_placed,
                 (unsigned long long)d->n_moves);
}

const Modifier modifier_place = {"shard", process, stats};
