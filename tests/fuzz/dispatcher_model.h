/* dispatcher_model.h: models of workers for dispatcher_fuzz. Each knows its groups and each
 * client's tensors, and checks that it could execute what it is sent. Every operand must exist on
 * every rank that takes part, laid out such that the parts fit (as locate.c checks); a result's
 * name must be new. Values are not computed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_FUZZ_DISPATCHER_MODEL_H
#define GT_TESTS_FUZZ_DISPATCHER_MODEL_H
#include "dispatcher/state/handle.h"
#include "runtime/net/net.h"
#include "runtime/wire/body.h"
#include "runtime/inst/inst_text.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire_peer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 4096 }; /* clients per run */

/* A worker's record of a tensor is a TensorHandle (type of the whole, layout) whose fill.id is the
 * tensor's group; its `group` is not used. */
typedef struct ModelWorker {
    PeerId peer; /* 0: not there */
    int rank;
    Map groups;             /* -> Group */
    Handles live[NUMBERS];  /* by client number */
    Map bodies;             /* -> Bodies, by client number, of clients that have any */
    Bodies placed[NUMBERS]; /* likewise, the dispatcher's bodies */
    uint64_t sent[NUMBERS]; /* last frame received, for the acknowledgement */
    uint64_t number;        /* lower bound of the next number */
} ModelWorker;

static const Inst *model_inst; /* the instruction being checked, for messages */
static const ModelWorker *model_at;
static long model_hot;              /* instructions of hot records */
static long model_shared[OP_COUNT]; /* instructions of which several ranks executed parts */

static inline void model_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    if (model_inst && model_at) {
        Bytes b = {0};
        InstPrint how = {.payload_max = 64};
        inst_print(model_inst, &how, &b);
        fprintf(stderr, "w%d: %s\n", model_at->rank, b.data);
    }
    abort();
}
#define MUST(condition) ((condition) ? (void)0 : model_fail(__FILE__, __LINE__, #condition))

/* Returns this rank's place in the groups that it knows. */
static inline const Group *model_group(const ModelWorker *w, uint64_t id) {
    const Group *g = map_get(&w->groups, id);
    MUST(g);
    return g;
}

static inline TensorType model_local(const ModelWorker *w, const TensorHandle *h) {
    if (h->layout.kind != LAYOUT_SPLIT) return h->type;
    return layout_local(&h->layout, &h->type, group_place(model_group(w, h->fill.id), w->rank));
}

static inline void model_put(ModelWorker *w, Handles *t, uint64_t id, bool is_poisoned,
                             const TensorType *type, uint64_t group, const Layout *l) {
    MUST(!handles_find(t, id));
    TensorHandle *h = handles_add(t, id);
    h->is_poisoned = is_poisoned;
    if (type) h->type = *type;
    h->fill.id = group;
    h->layout = *l;
}

/* ---- Moves ---- */

static inline void model_move(ModelWorker *w, Handles *t, const Inst *in) {
    Move m;
    Err err = {0};
    MUST(move_read(in, &m, &err));
    const Group *from = model_group(w, m.from.group), *to = model_group(w, m.to.group);
    bool owns = group_place(from, w->rank) >= 0, reads = group_place(to, w->rank) >= 0;
    if (owns) {
        const TensorHandle *h = handles_find(t, m.in);
        MUST(h);
        MUST(!h->is_poisoned);
        MUST(type_equal(&h->type, &m.type));
        MUST(layout_equal(&h->layout, &m.from.layout));
        MUST(h->fill.id == m.from.group || (h->fill.id == 0 && from->n == 1)); /* 0: here */
    }
    if (m.from.layout.kind == LAYOUT_SPLIT) MUST(layout_covers(&m.from.layout, &m.type, from->n));
    MUST(from->n > 1 || m.from.layout.kind == LAYOUT_REPLICATE);
    MUST(to->n > 1 || m.to.layout.kind == LAYOUT_REPLICATE);
    if (reads) model_put(w, t, m.out, false, &m.type, m.to.group, &m.to.layout);
}

/* ---- Execution on one rank ---- */

/* The operands' parts must give the results' parts, or be empty. */
static inline void model_parts(const ModelWorker *w, const Inst *in, const TensorHandle *first,
                               TensorType *part, const TensorType *out, int n_out,
                               const Layout *give, int at) {
    LocalInst local;
    TensorType got[MAX_OUT];
    static const Layout whole;
    Err err = {0};
    int n;
    bool is_empty = true;
    if (in->op == OP_DATA) return;
    layout_localise(in, first ? &first->type : NULL, first ? &first->layout : &whole, &out[0], give,
                    at, &local);
    bool has_sizes = op_info[in->op].class_ == CLASS_SOURCE || inst_attr(in, ATTR_SHAPE) ||
                     inst_attr(in, ATTR_SIZE) || inst_attr(in, ATTR_GROUPS);
    const Inst *mine = give->kind == LAYOUT_SPLIT && has_sizes ? &local.inst : in;
    if (!inst_infer(mine, part, got, &n, &err)) {
        for (int k = 0; k < n_out; k++) {
            TensorType want = layout_local(give, &out[k], at);
            is_empty = is_empty && type_numel(&want) == 0;
        }
        MUST(is_empty || (op_info[in->op].class_ == CLASS_REDUCE && give->kind == LAYOUT_PARTIAL &&
                          type_numel(&part[0]) == 0));
        return;
    }
    MUST(n == n_out);
    for (int k = 0; k < n; k++) {
        TensorType want = layout_local(give, &out[k], at);
        MUST(type_equal(&got[k], &want));
    }
}

/* Terms may only be operands of operations that combine them. */
static inline bool model_takes_terms(Op op) {
    return op_info[op].class_ == CLASS_VIEW || op == OP_ADD || op == OP_SUB || op == OP_NEG ||
           op == OP_MUL || op == OP_DIV || op == OP_SUM || op == OP_SHARD || op == OP_INDEX_PUT ||
           op == OP_SCATTER_ADD || op_info[op].class_ == CLASS_SOURCE; /* their shape */
}

static inline bool model_is_effect(Op op) {
    return op == OP_FETCH || op == OP_PEEK || op == OP_PRINT || op == OP_WRITE || op == OP_ASSERT ||
           op == OP_SAVE || op == OP_TRACK || op == OP_SYNC || op == OP_PLOT || op == OP_HIST ||
           op == OP_IMAGE;
}

/* Executes an instruction here: on place `at` of group `on`. */
static inline void model_call(ModelWorker *w, Handles *t, const Inst *in, const Group *on, int at,
                              const Layout *give, Arena *arena) {
    TensorType *whole = arena_zalloc(arena, (in->n_in + 1u) * sizeof *whole), out[MAX_OUT];
    TensorType *part = arena_zalloc(arena, (in->n_in + 1u) * sizeof *part);
    const TensorHandle *first = NULL;
    bool is_poisoned = in->op == OP_POISON, is_effect = model_is_effect(in->op);
    for (int i = 0; i < in->n_in; i++) {
        if (in->in[i].kind != IN_TENSOR) continue;
        const TensorHandle *h = handles_find(t, in->in[i].id);
        MUST(h);
        if (i == 0) first = h;
        is_poisoned = is_poisoned || h->is_poisoned;
        MUST(!h->is_poisoned || is_effect); /* else the dispatcher would have known */
        MUST(h->layout.kind == LAYOUT_REPLICATE || (on && on->id == h->fill.id));
        MUST(h->layout.kind == LAYOUT_REPLICATE || !is_effect);
        MUST(h->layout.kind != LAYOUT_PARTIAL || model_takes_terms(in->op));
        whole[i] = h->type;
        part[i] = model_local(w, h);
    }
    int n_out = in->n_out;
    Err err = {0};
    if (!is_poisoned) {
        MUST(inst_infer(in, whole, out, &n_out, &err));
        MUST(n_out == in->n_out);
    }
    MUST(give->kind != LAYOUT_SPLIT || (on && on->n > 1));
    for (int k = 0; k < n_out && !is_poisoned; k++)
        MUST(give->kind != LAYOUT_SPLIT || layout_covers(give, &out[k], on->n));
    model_shared[in->op] += on && on->n > 1 && at == 0 && give->kind != LAYOUT_REPLICATE;
    if (!is_poisoned && n_out) model_parts(w, in, first, part, out, n_out, give, at);
    for (int k = 0; k < n_out; k++)
        model_put(w, t, in->out[k], is_poisoned, is_poisoned ? NULL : &out[k], on ? on->id : 0,
                  give);
}

static inline void model_inst_comes(ModelWorker *w, uint32_t client, const Inst *in, Arena *arena) {
    Handles *t = &w->live[client];
    Layout whole = layout_replicate();
    Place place = {0};
    Err err = {0};
    model_inst = in, model_at = w;
    if (in->op == OP_FREE) { /* another rank's tensor is not here */
        for (int i = 0; i < in->n_in; i++) handles_remove(t, in->in[i].id, NULL);
    } else if (in->op == OP_NOTE) { /* its operands are not read */
    } else if (op_is_move(in->op)) {
        model_move(w, t, in);
    } else if (inst_attr(in, ATTR_ON)) {
        MUST(inst_place(in, &place, &err));
        const Group *on = model_group(w, place.group);
        int at = group_place(on, w->rank);
        MUST(on->n > 1 || place.layout.kind == LAYOUT_REPLICATE);
        if (at >= 0 && !(model_is_effect(in->op) && at > 0))
            model_call(w, t, in, on, at, &place.layout, arena);
    } else {
        model_call(w, t, in, NULL, 0, &whole, arena);
    }
    model_inst = NULL;
}

static inline Bodies *model_bodies(ModelWorker *w, uint32_t client) {
    Bodies *b = map_get(&w->bodies, client);
    if (!b) map_put(&w->bodies, client, b = xcalloc(1, sizeof *b));
    return b;
}

static inline void model_forget_bodies(ModelWorker *w, uint32_t client) {
    Bodies *b = map_remove(&w->bodies, client);
    if (b) bodies_fini(b);
    free(b);
}

static inline void model_free(ModelWorker *w) {
    for (MapItem it = {0}; map_next(&w->bodies, &it);) bodies_fini(it.value), free(it.value);
    map_fini(&w->bodies);
    for (MapItem it = {0}; map_next(&w->groups, &it);) free(it.value);
    map_fini(&w->groups);
    for (int i = 0; i < NUMBERS; i++) {
        if (!w->placed[i].may_insert) continue; /* no frame has that number */
        handles_fini(&w->live[i]);
        bodies_fini(&w->placed[i]);
    }
    memset(w->sent, 0, sizeof w->sent);
    w->peer = 0, w->number = 0;
}

static inline void model_hears(ModelWorker *w, Msg *m) {
    FrameReader r;
    Inst in;
    Err err = {0};
    Welcome welcome;
    uint32_t gone, id;
    int32_t rank[MAX_INTS];
    Arena arena = {0};
    uint64_t number;
    const void *forms;
    size_t bytes;
    int rc, n;
    switch (wire_kind(m)) {
    case MSG_WELCOME:
        MUST(wire_read_welcome(m, &welcome, &err));
        w->rank = (int)welcome.rank;
        break;
    case MSG_GROUP: {
        MUST(wire_read_group(m, &id, rank, &n, &err));
        MUST(!map_get(&w->groups, id));
        Group *g = xmalloc(sizeof *g + (size_t)n * sizeof g->rank[0]);
        g->id = id, g->n = n;
        memcpy(g->rank, rank, (size_t)n * sizeof g->rank[0]);
        map_put(&w->groups, id, g);
        break;
    }
    case MSG_GROUP_GONE:
        MUST(wire_read_group_gone(m, &id, &err));
        MUST(map_get(&w->groups, id));
        free(map_remove(&w->groups, id));
        break;
    case MSG_FRAME:
        MUST(frame_open(&r, m, &err));
        MUST(r.client < NUMBERS && r.count <= HOT_INSTS && r.count > 0);
        r.placed = &w->placed[r.client];
        r.placed->may_insert = true;
        MUST(r.number > w->number);
        MUST(r.seq >= w->sent[r.client]);
        r.bodies = model_bodies(w, r.client);
        bodies_sweep(r.bodies);
        while ((rc = frame_next(&r, &arena, &in, NULL, NULL, &err)) > 0) {
            model_hot += r.is_hot;
            model_inst_comes(w, r.client, &in, &arena);
        }
        if (rc) fprintf(stderr, "%s\n", err.text);
        MUST(rc == 0);
        w->number = r.number + r.count - 1;
        w->sent[r.client] = r.seq_next;
        break;
    case MSG_GONE:
        MUST(wire_read_gone(m, &gone, &err) && gone < NUMBERS);
        handles_fini(&w->live[gone]);
        bodies_fini(&w->placed[gone]);
        model_forget_bodies(w, gone);
        break;
    case MSG_BODY:
        MUST(wire_read_body(m, &id, &number, &forms, &bytes, &err) && id < NUMBERS);
        MUST(bodies_define(model_bodies(w, id), number, forms, bytes, &err));
        break;
    default: break;
    }
    arena_fini(&arena);
}
#endif
