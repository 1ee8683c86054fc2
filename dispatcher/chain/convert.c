/* convert.c: see convert.h. move_op in runtime/layout/place.c says which operation a conversion is
 * (all_reduce, all_gather, ...).
 *
 * A large partial tensor becomes whole in two steps: it is split (reduce_scatter), then every rank
 * gets all parts (all_gather). So each rank moves 2 (n - 1) / n of the tensor's bytes, and not
 * (n - 1) times the tensor (Thakur, Rabenseifner, Gropp: "Optimization of collective communication
 * operations in MPICH", 2005). Both ways combine the terms of an element in rank order, so the
 * bits are the same.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/modifier.h"
#include "dispatcher/chain/convert.h"
#include "runtime/base/log.h"
#include "runtime/inst/inst_debug.h"
#include <stdio.h>
#include <string.h>

enum {
    TWO_STEP_BYTES = 16 << 10,
    COPIES_MAX = 16,          /* conversions kept per tensor, least recently used evicted */
    SCAN_MAX = 2 * COPIES_MAX /* longest search: one instruction may add thousands */
};

bool convert_is_there(const TensorHandle *h, const Members *g, const Layout *l) {
    if (h->group == g && layout_equal(&h->layout, l)) return true;
    return l->kind == LAYOUT_REPLICATE && h->layout.kind == LAYOUT_REPLICATE &&
           ranks_covers(&h->group->set, &g->set);
}

static void log_conversion(const Flow *f, uint64_t id, const Members *from,
                           const Layout *from_layout, const Members *to, const Layout *to_layout,
                           const Inst *inst) {
    char text[LAYOUT_TEXT], who[64], prefix[96];
    snprintf(prefix, sizeof prefix, "c%u + %s: ", f->client->id, members_text(to, who));
    inst_debug("DISPATCHER", prefix, inst, NULL, 0);
    Bytes why = {0};
    bytes_printf(&why, "     because %s wants t%llu", op_info[f->inst.op].name,
                 (unsigned long long)id);
    bytes_printf(&why, " on %s", members_text(to, who));
    if (to->n > 1) bytes_printf(&why, ", %s", layout_text(to_layout, text));
    bytes_printf(&why, "; it is on %s", members_text(from, who));
    if (from->n > 1) bytes_printf(&why, ", %s", layout_text(from_layout, text));
    log_line("DISPATCHER", "%.*s", (int)why.n, why.data);
    bytes_fini(&why);
}

static void log_move(const Flow *f, const Move *m, const Inst *inst) {
    if (!log_is(LOG_DISPATCHER)) return;
    log_conversion(f, m->in, groups_by_id(&f->d->groups, m->from.group), &m->from.layout,
                   groups_by_id(&f->d->groups, m->to.group), &m->to.layout, inst);
}

/* Starts an inserted instruction on behalf of f. Fields that are not set here are not read. */
static void begin(Flow *g, const Flow *f, const Inst *inst) {
    g->d = f->d, g->client = f->client, g->seq = f->seq, g->inst = *inst;
    g->record = NULL, g->record_bytes = 0, g->n_out = 0, g->group = NULL;
    g->is_for_all = g->has_to = g->is_located = false;
    g->is_inserted = true, g->because = f->inst.op;
}

/* Sends an inserted instruction to all of a and b (b may be NULL). Its attributes say what each
 * rank does. */
static void insert(Flow *f, const Inst *inst, const RankSet *a, const RankSet *b) {
    Flow g;
    begin(&g, f, inst);
    g.is_for_all = g.has_to = true;
    g.to = *a;
    if (b) ranks_join(&g.to, b);
    chain_next(&g, STAGE_ROUTE);
}

static uint64_t send(Flow *f, uint64_t id, const TensorType *type, const Members *from,
                     const Layout *from_layout, const Members *to, const Layout *to_layout) {
    uint64_t out = INSERTED_ID | f->client->next_inserted++;
    Move m = {.in = id,
              .out = out,
              .type = *type,
              .from = {from->id, *from_layout},
              .to = {to->id, *to_layout}};
    MoveInst inst;
    move_inst(&m, f->inst.pos, &inst);
    log_move(f, &m, &inst.inst);
    f->d->n_moves++;
    insert(f, &inst.inst, &from->set, &to->set);
    return out;
}

/* Casts `id`, which has layout l on g. */
static uint64_t cast(Flow *f, uint64_t id, DType to, const Members *g, const Layout *l) {
    Operand in = {.kind = IN_TENSOR, .id = id};
    Attr attr = {.key = ATTR_DTYPE, .dtype = to};
    Inst inst = {.op = OP_CAST, .n_in = 1, .n_attr = 1, .n_out = 1, .in = &in, .attr = &attr};
    inst.pos = f->inst.pos;
    inst.out[0] = INSERTED_ID | f->client->next_inserted++;
    Flow made;
    begin(&made, f, &inst);
    made.group = g, made.layout = *l;
    chain_next(&made, STAGE_ROUTE);
    return inst.out[0];
}

/* Terms of halves are widened before they are spread, and rounded after they are combined. */
static uint64_t move(Flow *f, uint64_t id, const TensorType *type, const Members *from,
                     const Layout *from_layout, const Members *to, const Layout *to_layout) {
    TensorType held = layout_held(from_layout, type), wanted = layout_held(to_layout, type);
    DType was = (DType)held.dtype, will = (DType)wanted.dtype;
    if (was == will) return send(f, id, &held, from, from_layout, to, to_layout);
    uint64_t between, out;
    if (will == DT_F32) {
        between = cast(f, id, will, from, from_layout);
        out = send(f, between, &wanted, from, from_layout, to, to_layout);
        convert_forget(f, between, from);
    } else {
        between = send(f, id, &held, from, from_layout, to, to_layout);
        out = cast(f, between, will, to, to_layout);
        convert_forget(f, between, to);
    }
    return out;
}

uint64_t convert_widen(Flow *f, uint64_t id, const Members *g, const Layout *l) {
    return cast(f, id, DT_F32, g, l);
}

static void remember(Flow *f, TensorHandle *h, uint64_t id, const Members *g, const Layout *l) {
    Converted *v = xmalloc(sizeof *v);
    *v = (Converted){.next = h->converted, .id = id, .group = g, .layout = *l};
    h->converted = v;
    f->client->copy_bytes += type_bytes(&h->type);
}

/* Finds a conversion that serves as layout l on g, and moves it to the front. NULL: none does. */
static const Converted *find(TensorHandle *h, const Members *g, const Layout *l) {
    Converted **at = &h->converted;
    for (int k = 0; *at && k < SCAN_MAX; at = &(*at)->next, k++) {
        Converted *v = *at;
        TensorHandle as = {.group = v->group, .layout = v->layout};
        if (!convert_is_there(&as, g, l)) continue;
        *at = v->next, v->next = h->converted, h->converted = v;
        return v;
    }
    return NULL;
}

/* Frees all conversions after the first `keep`. */
static void drop(Flow *f, TensorHandle *h, int keep) {
    Converted **at = &h->converted;
    while (*at && keep-- > 0) at = &(*at)->next;
    for (const Converted *v = *at; v; v = v->next) {
        convert_forget(f, v->id, v->group);
        f->client->copy_bytes -= type_bytes(&h->type);
    }
    converted_free(at);
}

void convert_trim(Flow *f, TensorHandle *h) {
    uint64_t limit = f->d->config.client_bytes_max;
    drop(f, h, limit && f->client->copy_bytes > limit ? 0 : COPIES_MAX);
}

void convert_drop(Flow *f, TensorHandle *h) { drop(f, h, 0); }

/* The longest axis, if it gives every rank some rows; else -1. */
static int axis_for_parts(const TensorType *t, int n) {
    int best = -1;
    for (int a = 0; a < t->rank; a++)
        if (t->shape[a] >= n && (best < 0 || t->shape[a] > t->shape[best])) best = a;
    return best;
}

/* True unless it is a window, which lacks some rows. */
static bool is_complete(const TensorHandle *h, const Converted *v) {
    return v->layout.kind != LAYOUT_SPLIT || layout_covers(&v->layout, &h->type, v->group->n);
}

/* Returns a conversion in which the terms are combined; NULL if there is none. */
static const Converted *combined(const TensorHandle *h, const Members *g) {
    const Converted *v = h->converted;
    for (int k = 0; v && k < SCAN_MAX; v = v->next, k++)
        if (v->layout.kind != LAYOUT_PARTIAL && is_complete(h, v) && (!g || v->group == g))
            return v;
    return NULL;
}

/* True for operations that read terms of halves as they are. */
static bool reads_terms(Op op) { return op_info[op].class_ == CLASS_VIEW; }

bool convert_makes_terms(const Flow *f, const Layout *give) {
    return !reads_terms(f->inst.op) && f->n_out > 0 && layout_widens(give, &f->out_type[0]);
}

Layout convert_best(const TensorHandle *h, const Members *g, Op reader) {
    const Converted *v = h->layout.kind == LAYOUT_PARTIAL ? combined(h, g) : NULL;
    if (v) return v->layout;
    bool rounds = layout_widens(&h->layout, &h->type) && !reads_terms(reader);
    return rounds ? layout_replicate() : h->layout;
}

/* For a partial tensor that is needed whole: combines the terms into parts first. */
static const Converted *sum_in_parts(Flow *f, uint64_t id, TensorHandle *h) {
    const Members *g = h->group;
    int axis = axis_for_parts(&h->type, g->n);
    if (h->layout.kind != LAYOUT_PARTIAL || axis < 0 || g->n < 3 ||
        type_bytes(&h->type) < TWO_STEP_BYTES)
        return NULL;
    Layout parts = layout_split(&h->type, axis, g->n);
    remember(f, h, move(f, id, &h->type, g, &h->layout, g, &parts), g, &parts);
    return h->converted;
}

/* For a partial half that is needed as a window, or as terms of rounded values: combines the terms
 * into parts, else into the whole, which rounds the sum. */
static const Converted *sum_rounded(Flow *f, uint64_t id, TensorHandle *h) {
    const Layout whole = layout_replicate();
    const Members *g = h->group;
    const Converted *parts = sum_in_parts(f, id, h);
    if (parts) return parts;
    remember(f, h, move(f, id, &h->type, g, &h->layout, g, &whole), g, &whole);
    return h->converted;
}

/* Chooses the source of the values: the tensor itself or one of its conversions. */
static uint64_t source(Flow *f, uint64_t id, TensorHandle *h, const Members *g, const Layout *l,
                       const Members **from, Layout *from_layout) {
    *from = h->group, *from_layout = h->layout;
    if (h->group != g && h->layout.kind != LAYOUT_PARTIAL) { /* a whole copy there is nearest */
        const Layout whole = layout_replicate();
        const Converted *v = find(h, g, &whole);
        if (!v || v->group != g) return id;
        *from = g, *from_layout = whole;
        return v->id;
    }
    bool widens = layout_widens(&h->layout, &h->type), is_partial = l->kind == LAYOUT_PARTIAL;
    if (h->layout.kind != LAYOUT_PARTIAL || (is_partial && !widens)) return id;
    const Converted *parts = combined(h, NULL);
    bool is_window = l->kind == LAYOUT_SPLIT && !layout_covers(l, &h->type, g->n);
    if (!parts && l->kind == LAYOUT_REPLICATE)
        parts = sum_in_parts(f, id, h);
    else if (!parts && widens && (is_partial || is_window))
        parts = sum_rounded(f, id, h);
    if (!parts) return id;
    *from = parts->group, *from_layout = parts->layout;
    return parts->id;
}

/* Makes a constant anew where it is needed, instead of sending it. */
static uint64_t fill(Flow *f, uint64_t id, const TensorHandle *h, const Members *g,
                     const Layout *l) {
    DType dtype = (DType)layout_held(l, &h->type).dtype;
    int64_t shape[MAX_DIMS];
    memcpy(shape, h->type.shape, sizeof shape);
    Attr attr[] = {{.key = ATTR_SHAPE, .n = h->type.rank, .ints = shape},
                   {.key = ATTR_DTYPE, .dtype = dtype}};
    Inst inst = {.op = OP_FULL, .n_in = 1, .n_attr = 2, .n_out = 1, .in = &h->fill, .attr = attr};
    inst.pos = f->inst.pos;
    inst.out[0] = INSERTED_ID | f->client->next_inserted++;
    if (log_is(LOG_DISPATCHER)) log_conversion(f, id, h->group, &h->layout, g, l, &inst);
    Flow born;
    begin(&born, f, &inst);
    born.group = g, born.layout = *l;
    chain_next(&born, STAGE_ROUTE);
    return inst.out[0];
}

/* A partial sum can be filled only with zeros, a window only if it has all rows. */
static bool can_fill(const TensorHandle *h, const Members *g, const Layout *l) {
    const Operand *v = &h->fill;
    bool is_zero = v->kind == IN_IMM_FLOAT ? v->f == 0 : v->kind == IN_IMM_INT && v->i == 0;
    if (!h->is_fill) return false;
    if (l->kind == LAYOUT_PARTIAL) return is_zero && l->op == OP_SUM;
    return l->kind == LAYOUT_REPLICATE || layout_covers(l, &h->type, g->n);
}

uint64_t convert_to(Flow *f, uint64_t id, TensorHandle *h, const Members *g, Layout l) {
    if (g->n == 1) l = layout_replicate();
    bool rounds =
        l.kind == LAYOUT_PARTIAL && layout_widens(&h->layout, &h->type) && !reads_terms(f->inst.op);
    if (!rounds && convert_is_there(h, g, &l)) return id;
    const Converted *known = find(h, g, &l);
    if (known) return known->id;
    uint64_t out;
    if (can_fill(h, g, &l)) {
        out = fill(f, id, h, g, &l);
        remember(f, h, out, g, &l);
        return out;
    }
    const Members *from;
    Layout from_layout;
    uint64_t in = source(f, id, h, g, &l, &from, &from_layout);
    out = move(f, in, &h->type, from, &from_layout, g, &l);
    remember(f, h, out, g, &l);
    return out;
}

uint64_t convert_once(Flow *f, uint64_t id, TensorHandle *h, const Members *g, bool *is_temporary) {
    Layout l = layout_replicate(), from_layout;
    const Members *from;
    *is_temporary = false;
    if (h->is_poisoned || convert_is_there(h, g, &l)) return id;
    const Converted *known = find(h, g, &l);
    if (known) return known->id;
    *is_temporary = true;
    uint64_t in = source(f, id, h, g, &l, &from, &from_layout);
    return move(f, in, &h->type, from, &from_layout, g, &l);
}

void convert_forget(Flow *f, uint64_t id, const Members *g) {
    Operand o = {.kind = IN_TENSOR, .id = id};
    Inst inst = {.op = OP_FREE, .n_in = 1, .in = &o};
    insert(f, &inst, &g->set, NULL);
}

void convert_become(Flow *f, uint64_t in, const TensorType *type, const Members *from,
                    const Layout *from_layout, const Members *to, const Layout *to_layout,
                    MoveInst *m) {
    Move v = {.in = in,
              .out = f->inst.out[0],
              .type = *type,
              .from = {from->id, *from_layout},
              .to = {to->id, *to_layout}};
    move_inst(&v, f->inst.pos, m);
    log_move(f, &v, &m->inst);
    f->d->n_moves++;
    f->inst = m->inst;
    f->record = NULL;
    f->is_for_all = f->has_to = true;
    f->to = from->set;
    ranks_join(&f->to, &to->set);
}
