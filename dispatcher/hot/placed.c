/* placed.c: see placed.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/chain/mod_route.h"
#include "dispatcher/chain/modifier.h"
#include "dispatcher/hot/placed.h"
#include "dispatcher/chain/convert.h"
#include <string.h>

struct Placed {
    const Members *home, *group; /* group: as in Flow */
    Target target, auto_target;  /* that were in force */
    Layout layout;               /* of the results */
    bool is_view, is_fill;       /* is_fill: all elements are equal, as those of `full` and of its
                                  * views are */
    Operand fill;
    int n_in, n_out;
    TensorType out_type[MAX_OUT];
    uint64_t out_bytes;
    size_t n_args;    /* of the incoming record */
    uint32_t base_at; /* in `record`; then the operands' ids or values, then attributes */
    uint32_t attr_at, n_record;
    uint32_t n_compared; /* of the attributes: all, but of a random key only its head */
    uint8_t *record;     /* after `in` */
    PlacedIn in[];
};

/* ---- Numbers ---- */

/* Returns the dtype that an immediate is converted to. DT_F64 for factors of halves, which are not
 * rounded to a half (FACT_SCALES). */
static DType held_as(const Flow *f, const Inst *in) {
    DType t = DT_NONE;
    if (op_info[in->op].class_ != CLASS_MAP) return t;
    for (int i = 0; i < in->n_in; i++)
        if (in->in[i].kind == IN_TENSOR) t = (DType)f->in_type[i].dtype;
    return dtype_is_half(t) && op_has(in->op, FACT_SCALES) ? DT_F64 : t;
}

void number_note(Number *n, const Flow *f, const Inst *inst, int k) {
    const Operand *o = &inst->in[k];
    n->kind = (uint8_t)o->kind;
    n->holds = (uint8_t)held_as(f, inst);
    n->value = 0;
    memcpy(&n->value, &o->id, o->kind == IN_IMM_BOOL ? 1 : 8);
}

/* Rules of layouts also depend on whether a number is 0. */
static bool is_zero(const Number *n, uint64_t value) {
    Operand o = {.id = value};
    return n->kind == IN_IMM_FLOAT ? o.f == 0 : o.id == 0;
}

/* ---- Keeping ---- */

void placed_look(const Flow *f, PlacedIn *in) {
    for (int i = 0; i < f->inst.n_in; i++) {
        bool is_tensor = f->inst.in[i].kind == IN_TENSOR;
        const TensorHandle *h =
            is_tensor ? handles_find(&f->client->tensors, f->inst.in[i].id) : NULL;
        uint32_t word = body_operand(f->body, &f->body->form[f->body_at], i);
        in[i] = (PlacedIn){.distance = word >> 2};
        if (!h || h->is_poisoned) continue;
        in[i].type = h->type;
        in[i].is_fill = h->is_fill;
        in[i].group = h->group;
        in[i].layout = h->layout;
        in[i].best = convert_best(h, h->group, f->inst.op);
    }
}

/* True if the results are on f's group, in f's layout. */
static bool results_are_placed(const Flow *f, const Inst *was, Operand *fill, bool *is_fill) {
    const Members *g = f->group ? f->group : f->client->home;
    for (int i = 0; i < f->n_out; i++) {
        const TensorHandle *h = handles_find(&f->client->tensors, was->out[i]);
        if (!h || h->is_poisoned || h->group != g || !layout_equal(&h->layout, &f->layout))
            return false;
        *is_fill = h->is_fill;
        *fill = h->fill;
    }
    return true;
}

Placed *placed_new(const Flow *f, const Inst *was, const PlacedIn *in) {
    const BodyForm *form = &f->body->form[f->body_at];
    bool is_fill = false;
    Operand fill;
    if (f->is_for_all || f->has_to || !results_are_placed(f, was, &fill, &is_fill)) return NULL;
    if (convert_makes_terms(f, &f->layout)) return NULL; /* it needs other instructions */
    Located located;
    FrameWriter w = {.edge_id = UINT64_MAX};
    size_t n_form;
    route_locate(f, &located);
    frame_begin(&w, 0, 0);
    frame_add(&w, &located.inst);
    frame_form(&w, &n_form);
    size_t n_record = w.head->n - w.last_at;
    Placed *p = xmalloc(sizeof *p + was->n_in * sizeof p->in[0] + n_record);
    *p = (Placed){.home = f->client->home,
                  .group = f->group,
                  .target = f->client->target,
                  .auto_target = f->client->auto_target,
                  .layout = f->layout,
                  .is_view = op_info[was->op].class_ == CLASS_VIEW,
                  .is_fill = is_fill,
                  .n_in = was->n_in,
                  .n_out = f->n_out,
                  .n_args = f->args_bytes,
                  .base_at = (uint32_t)n_form,
                  .n_record = (uint32_t)n_record};
    if (is_fill) p->fill = fill;
    p->attr_at = p->base_at + 8 + 8 * (uint32_t)p->n_in;
    bool is_random = form->n_attr_arg == 1 && inst_attr(was, ATTR_RNG);
    p->n_compared = is_random ? 8 : p->n_record - p->attr_at;
    for (int i = 0; i < p->n_in; i++) {
        p->in[i] = in[i];
        p->in[i].need = f->need[i];
        number_note(&p->in[i].number, f, was, i);
    }
    for (int i = 0; i < p->n_out; i++) {
        p->out_type[i] = f->out_type[i];
        p->out_bytes += tensor_bytes(&p->out_type[i]);
    }
    p->record = memcpy((uint8_t *)&p->in[p->n_in], w.head->data + w.last_at, n_record);
    Msg m;
    frame_end(&w, &m);
    msg_fini(&m);
    return p;
}

size_t placed_bytes(const Placed *p) {
    return !p ? 0 : sizeof *p + (size_t)p->n_in * sizeof p->in[0] + p->n_record;
}

/* ---- Repeating it ---- */

static inline bool same_target(const Target *a, const Target *b) {
    return a->group == b->group && a->is_whole == b->is_whole && a->axis == b->axis;
}

/* True if the operand has the type, group and layout that were recorded. */
static bool is_same_operand(const TensorHandle *h, const PlacedIn *in, Op reader) {
    if (h->group != in->group || h->is_poisoned || h->is_fill != in->is_fill ||
        !layout_equal(&h->layout, &in->layout) || !type_equal(&h->type, &in->type))
        return false;
    if (h->layout.kind != LAYOUT_PARTIAL) return true;
    Layout best = convert_best(h, h->group, reader);
    return layout_equal(&best, &in->best);
}

/* True if the operands are unchanged. Writes their ids or values, and handles (NULL: numbers). */
static bool operands_are(const Placed *p, const Client *c, HotInst *hot, uint64_t *id,
                         TensorHandle **h) {
    const uint8_t *args = hot->args;
    for (int i = 0; i < p->n_in; i++) {
        const PlacedIn *in = &p->in[i];
        h[i] = NULL;
        if (in->distance) {
            id[i] = hot->base - in->distance;
        } else {
            memcpy(&id[i], args, 8);
            args += 8;
        }
        const Number *n = &in->number;
        if (n->kind != IN_TENSOR) {
            if (!number_fits(n, id[i]) || is_zero(n, id[i]) != is_zero(n, n->value)) return false;
            continue;
        }
        h[i] = handles_find(&c->tensors, id[i]);
        if (h[i] && is_same_operand(h[i], in, (Op)hot->form->op)) continue;
        if (!in->distance) hot->changed = args - 8;
        return false;
    }
    return !memcmp(args, p->record + p->attr_at, p->n_compared);
}

/* Fills in *f as the chain does before its first modifier. */
static void begin(Flow *f, const HotInst *hot) {
    f->inst = (Inst){.op = (Op)hot->form->op, .pos = hot->form->pos, .n_out = hot->form->n_out};
    f->group = NULL;
    f->n_out = 0;
    f->is_for_all = f->is_inserted = f->has_to = f->is_located = false;
}

static void add_results(const Placed *p, Client *c, uint64_t id, Operand fill) {
    const Members *g = p->group ? p->group : c->home;
    for (int i = 0; i < p->n_out; i++) {
        TensorHandle *h = handles_add(&c->tensors, id + (uint64_t)i);
        h->type = p->out_type[i];
        h->group = g;
        h->layout = p->layout;
        if (p->is_fill) h->is_fill = true, h->fill = fill;
        c->n_away += g != c->home;
    }
    c->next_id = id + (uint64_t)p->n_out;
    c->live_bytes += p->out_bytes;
}

/* True if no operand needs a conversion, so that the instruction stays unchanged. */
static bool operands_stay(const Placed *p, const Client *c, TensorHandle **h) {
    for (int i = 0; i < p->n_in; i++)
        if (h[i] && (h[i]->converted || !convert_is_there(h[i], c->home, &p->in[i].need)))
            return false;
    return true;
}

static void write_again(Placed *p, Flow *f, const HotInst *hot, uint64_t *id, TensorHandle **h) {
    const Members *g = p->group ? p->group : f->client->home;
    begin(f, hot);
    for (int i = 0; i < p->n_in; i++)
        if (h[i]) id[i] = convert_to(f, id[i], h[i], g, p->in[i].need);
    memcpy(p->record + p->base_at, &hot->base, 8);
    memcpy(p->record + p->base_at + 8, id, 8 * (size_t)p->n_in);
    size_t n_attr = p->n_record - p->attr_at;
    if (n_attr > p->n_compared)
        memcpy(p->record + p->attr_at, hot->args + hot->n_args - n_attr, n_attr);
    f->inst.out[0] = hot->base;
    f->record = p->record;
    f->record_bytes = p->n_record;
    f->group = p->group;
    f->is_located = true;
    chain_next(f, STAGE_ROUTE);
    for (int i = 0; i < p->n_in; i++)
        if (h[i] && h[i]->converted) convert_trim(f, h[i]);
}

bool placed_again(Placed *p, Flow *f, HotInst *hot) {
    Dispatcher *d = f->d;
    Client *c = f->client;
    uint64_t id[PLACED_IN], limit = d->config.client_bytes_max;
    TensorHandle *h[PLACED_IN];
    bool stays = d->whole && !p->group; /* so far its frame is forwarded unchanged */
    if (p->home != c->home || !same_target(&p->target, &c->target) ||
        !same_target(&p->auto_target, &c->auto_target) || p->n_args != hot->n_args)
        return false;
    if (limit && c->live_bytes + p->out_bytes > limit) return false;
    if (!operands_are(p, c, hot, id, h)) return false;
    if (stays && !operands_stay(p, c, h)) return false;
    Operand fill = p->fill;
    if (p->is_fill && p->is_view) fill = h[0]->fill;
    d->n_placed += !client_stays_home(c);
    if (stays)
        d->n_whole++;
    else
        write_again(p, f, hot, id, h);
    add_results(p, c, hot->base, fill);
    return true;
}

bool placed_other(Flow *f, const HotInst *hot) {
    const BodyForm *form = hot->form;
    Operand in[FREE_MAX];
    const uint8_t *args = hot->args;
    if (form->op != OP_FREE && form->op != OP_EDGE) return false;
    for (int i = 0; i < form->n_in; i++) {
        uint32_t word = body_operand(hot->body, form, i), distance = word >> 2;
        if ((word & 3) != IN_TENSOR || distance > hot->base) return false;
        in[i] = (Operand){.kind = IN_TENSOR, .id = hot->base - distance};
        if (distance) continue;
        memcpy(&in[i].id, args, 8);
        args += 8;
    }
    begin(f, hot);
    f->inst.in = in;
    f->inst.n_in = form->n_in;
    f->record = body_record(hot->body, form, hot->base, hot->args, hot->n_args, &f->d->scratch,
                            &f->record_bytes);
    chain_next(f, form->op == OP_FREE ? STAGE_HANDLE : STAGE_ROUTE);
    return true;
}
