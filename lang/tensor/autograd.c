/* autograd.c: recording, and backward walks over the recorded graph. A walk collects the nodes
 * below a result with its own stack, sorts them by sequence number and visits them from newest to
 * oldest. All nodes that used a node's result are newer, so its gradient is complete when it is
 * visited. Gradients are stored in the walk's table, not in the nodes. A walk inside a rule
 * (checkpoint) may visit nodes of the outer walk, so each walk restores the marks that it finds.
 * Rules are in lang/grad/.
 * SPDX-License-Identifier: MIT */
#include "lang/tensor/autograd.h"
#include "lang/tensor/signal.h"
#include "lang/tensor/autograd_tape.h"
#include "runtime/base/log.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Tape *tape_of(Interp *in) {
    if (!in->tape) {
        in->tape = xcalloc(1, sizeof *in->tape);
        in->tape->live.next = in->tape->live.prev = &in->tape->live;
    }
    return in->tape;
}

/* ---- nodes ---- */

static size_t attr_bytes(const Attr *a) {
    AttrType type = attr_info[a->key].type;
    return type == AT_INTS ? sizeof(int64_t) * a->n : type == AT_STR ? (a->n + 8) & ~(size_t)7 : 0;
}

static GradNode *node_new(Interp *in, int op, int n_in, const Attr *attr, int n_attr) {
    Tape *tape = tape_of(in);
    size_t extra = 0, head = sizeof(GradNode) + sizeof(GradInput) * (size_t)n_in;
    for (int i = 0; i < n_attr; i++) extra += attr_bytes(&attr[i]);
    GradNode *n = xmalloc(head + sizeof(Attr) * (size_t)n_attr + extra);
    memset(n, 0, head);
    n->refs = 1, n->op = (uint16_t)op, n->n_in = n_in, n->n_attr = n_attr;
    n->seq = ++tape->seq, n->made = interp_span(in);
    n->attr = (Attr *)((char *)n + head);
    char *to = (char *)(n->attr + n_attr);
    for (int i = 0; i < n_attr; i++) {
        n->attr[i] = attr[i];
        size_t bytes = attr_bytes(&attr[i]);
        if (!bytes) continue;
        if (attr_info[attr[i].key].type == AT_STR)
            memcpy(to, attr[i].str, attr[i].n), to[attr[i].n] = 0, n->attr[i].str = to;
        else
            memcpy(to, attr[i].ints, bytes), n->attr[i].ints = (int64_t *)(void *)to;
        to += bytes;
    }
    n->prev = tape->live.prev, n->next = &tape->live;
    n->prev->next = n, n->next->prev = n;
    tape->n_live++;
    return n;
}

/* Drops the values and inputs of n; nodes freed by this are appended to *dead, linked through
 * next. */
static void node_clear(Interp *in, GradNode *n, GradNode **dead) {
    for (int i = 0; i < MAX_OUT; i++) handle_unref(in->stream, &n->out[i]);
    for (int i = 0; i < n->n_in; i++) {
        GradNode *below = n->in[i].node;
        handle_unref(in->stream, &n->in[i].value);
        n->in[i].node = NULL;
        if (!below || --below->refs) continue;
        below->prev->next = below->next, below->next->prev = below->prev;
        below->next = *dead, *dead = below;
    }
    value_set(&n->f, v_none());
}

void grad_node_unref(Interp *in, GradNode **slot) {
    GradNode *n = *slot, *dead;
    *slot = NULL;
    if (!n || --n->refs) return;
    n->prev->next = n->next, n->next->prev = n->prev;
    n->next = NULL;
    for (dead = n; dead;) {
        n = dead, dead = n->next;
        node_clear(in, n, &dead);
        in->tape->n_live--;
        free(n);
    }
}

GradNode *grad_leaf(Interp *in, Tensor *param) {
    GradNode *n = node_new(in, NODE_LEAF, 0, NULL, 0);
    n->param = param, n->type = *tensor_type(param), n->n_out = 1;
    n->signal = signal_backward(in); /* sums of its slices' gradients run in this signal */
    return n;
}

/* ---- recording ---- */

/* The set of SAVE_ bits to keep if these operands need gradients. */
static unsigned saved_set(Op op, const Arg *arg, int n, const Attr *attr, int n_attr) {
    unsigned saves = grad_saves(op, attr, n_attr), set = saves & 255;
    for (int i = 0; i < n && i < 3; i++)
        if (arg[i].t && tensor_needs_grad(arg[i].t)) set |= saves >> 8 * (i + 1) & 255;
    return set;
}

void grad_record(Interp *in, Op op, const Arg *arg, int n_args, const Attr *attr, int n_attr,
                 Tensor **out, int n_out) {
    bool needed = false;
    for (int i = 0; i < n_args && !needed; i++) needed = arg[i].t && tensor_needs_grad(arg[i].t);
    if (!needed || !grad_rule[op]->run || !dtype_is_float(tensor_type(out[0])->dtype)) return;
    unsigned saves = saved_set(op, arg, n_args, attr, n_attr);
    GradNode *n = node_new(in, op, n_args, attr, n_attr);
    n->signal = signal_backward(in);
    n->n_out = n_out, n->type = *tensor_type(out[0]);
    for (int i = 0; i < n_args; i++) {
        GradInput *g = &n->in[i];
        if (!arg[i].t) {
            g->is_imm = true, g->imm = arg[i].imm;
            continue;
        }
        g->type = *tensor_type(arg[i].t);
        if (tensor_needs_grad(arg[i].t)) g->node = arg[i].t->node, g->node->refs++;
        unsigned own = i < 3 ? (unsigned)SAVE_A << i : SAVE_REST;
        if (saves & own) g->value = handle_ref(arg[i].t->handle);
    }
    if (saves & SAVE_OUT) n->out[0] = handle_ref(out[0]->handle);
    if (saves & SAVE_OUT1) n->out[1] = handle_ref(out[1]->handle);
    out[0]->node = n;
}

void grad_to_first(Tensor *t, Op op) {
    if (t->node && t->node->op == op) t->node->first = true;
}

/* ---- walks ---- */

/* The gradient of one slice of a node's result, kept separate until the node is visited. */
typedef struct Part {
    struct Part *next;
    Tensor *grad;
    const int64_t *start, *size, *step;
    int64_t box[3 * MAX_DIMS];
} Part;
/* target: its gradient is a result of the walk; wanted: it is a target or leads to one. parts: see
 * add_parts. */
typedef struct Visit {
    GradNode *node;
    Tensor *grad;
    Part *parts;
    bool target, wanted;
    uint64_t old_walk;
    int64_t old_index;
} Visit;
/* consume: the walk frees nodes as it visits them. boundary: it does not go below targets. */
typedef struct Walk {
    Interp *in;
    uint64_t id;
    Visit *v;
    size_t n, cap;
    bool consume, boundary;
} Walk;

static void walk_init(Walk *w, Interp *in) { *w = (Walk){.in = in, .id = ++tape_of(in)->walk}; }

static Visit *visit(Walk *w, GradNode *n) {
    if (n->walk == w->id) return &w->v[n->index];
    if (w->n == w->cap) w->v = xrealloc(w->v, (w->cap = w->cap ? 2 * w->cap : 64) * sizeof *w->v);
    w->v[w->n] = (Visit){.node = n, .old_walk = n->walk, .old_index = n->index};
    n->refs++; /* the walk holds nodes, even those that it consumes */
    n->walk = w->id, n->index = (int64_t)w->n;
    return &w->v[w->n++];
}

static int by_age(const void *a, const void *b) { /* newest first */
    uint64_t x = ((const Visit *)a)->node->seq, y = ((const Visit *)b)->node->seq;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Reports a graph that was used up. If root is newer than the last backward, the likely cause is a
 * state that a loop carries to its next step. */
static bool error_used(Interp *in, const GradNode *n, const GradNode *root, LangError *e) {
    Span s = n->used_at;
    bool is_newer = root->seq > tape_of(in)->consumed;
    error_set(e, "this graph was used up by the backward at %s:%u", s.src ? s.src->name : "?",
              s.line);
    if (is_newer)
        error_hint(e, "a state kept from the last step: h = h.detach(); else backward(loss1, "
                      "retain_graph=true) the first time");
    else
        error_hint(e, "backward of the sum (loss1 + loss2), or backward(loss1, retain_graph=true) "
                      "the first time");
    return error_locate(e, interp_span(in));
}

/* Collects all nodes below root, newest first, and marks those that lead to targets. The table is
 * also the queue. */
static bool walk_collect(Walk *w, GradNode *root, LangError *e) {
    visit(w, root);
    for (size_t i = 0; i < w->n; i++) {
        GradNode *n = w->v[i].node;
        if (n->used && !w->v[i].target) return error_used(w->in, n, root, e);
        if (w->boundary && w->v[i].target) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k].node) visit(w, n->in[k].node);
    }
    bool sorted = true;
    for (size_t i = 1; i < w->n && sorted; i++) sorted = w->v[i - 1].node->seq > w->v[i].node->seq;
    if (!sorted) qsort(w->v, w->n, sizeof *w->v, by_age);
    for (size_t i = 0; i < w->n; i++) w->v[i].node->index = (int64_t)i;
    for (size_t i = w->n; i-- > 0;) {
        Visit *v = &w->v[i];
        v->wanted = v->target;
        for (int k = 0; k < v->node->n_in && !v->wanted; k++) {
            const GradNode *below = v->node->in[k].node;
            v->wanted = below && below->walk == w->id && w->v[below->index].wanted;
        }
    }
    return true;
}

static void walk_fini(Walk *w) {
    Span at = interp_span(w->in);
    for (size_t i = 0; i < w->n; i++) {
        GradNode *n = w->v[i].node, *dead = NULL;
        tensor_unref(w->v[i].grad);
        for (Part *p = w->v[i].parts, *next; p; p = next)
            next = p->next, tensor_unref(p->grad), free(p);
        n->walk = w->v[i].old_walk, n->index = w->v[i].old_index;
        if (!w->consume || n->op == NODE_LEAF) continue;
        if (!n->used) n->used = true, n->used_at = at;
        node_clear(w->in, n, &dead);
        assert(!dead);
    }
    for (size_t i = 0; i < w->n; i++) grad_node_unref(w->in, &w->v[i].node);
    free(w->v);
}

/* Adds part to *sum, and takes ownership of part. keeps: the sum keeps the layout of *sum. */
static bool accumulate(Interp *in, Tensor **sum, Tensor *part, bool keeps, LangError *e) {
    if (!*sum) return *sum = part, true;
    Arg arg[2] = {arg_tensor(*sum), arg_tensor(part)};
    const Handle *place = (*sum)->handle;
    Tensor *both = NULL;
    bool ok = tensor_op_keep(in, OP_ADD, arg, 2, NULL, 0, keeps ? &place : NULL, &both, e);
    tensor_unref(part), tensor_unref(*sum);
    *sum = both;
    return ok;
}

/* ---- slices ---- */

static const Attr *node_attr(const GradNode *n, AttrKey key) {
    const Attr *a = n->attr;
    while (a->key != key) a++;
    return a;
}

/* Stores the gradient of a slice as a part of the node below, without padding it with zeros: see
 * add_parts. */
static void keep_part(Visit *below, const GradNode *slice, Tensor *grad) {
    size_t bytes = sizeof(int64_t) * slice->in[0].type.rank;
    Part *p = xcalloc(1, sizeof *p), **end = &below->parts;
    memcpy(p->box, node_attr(slice, ATTR_START)->ints, bytes);
    memcpy(p->box + MAX_DIMS, node_attr(slice, ATTR_SIZE)->ints, bytes);
    memcpy(p->box + 2 * MAX_DIMS, node_attr(slice, ATTR_STEP)->ints, bytes);
    p->start = p->box, p->size = p->box + MAX_DIMS, p->step = p->box + 2 * MAX_DIMS;
    p->grad = tensor_ref(grad);
    while (*end) end = &(*end)->next;
    *end = p;
}

static int by_start(const void *a,
                    /* along the axis in which slices start at other indices than 0 */
                    const void *b) {
    const Part *x = *(Part *const *)a, *y = *(Part *const *)b;
    for (int i = 0; i < MAX_DIMS; i++)
        if (x->start[i] != y->start[i]) return x->start[i] < y->start[i] ? -1 : 1;
    return 0;
}

/* The axis that the sorted parts cover without gap or overlap, or -1. */
static int tiled_axis(const TensorType *t, Part *const *part, int n) {
    int axis = -1;
    for (int i = 0; i < t->rank; i++) {
        if (part[0]->size[i] == t->shape[i] && part[n - 1]->size[i] == t->shape[i]) continue;
        if (axis >= 0) return -1;
        axis = i;
    }
    int64_t at = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < t->rank; i++) {
            if (part[k]->step[i] != 1 || part[k]->start[i] != (i == axis ? at : 0)) return -1;
            if (i == axis)
                at += part[k]->size[i];
            else if (part[k]->size[i] != t->shape[i])
                return -1;
        }
    return axis >= 0 && at == t->shape[axis] ? axis : -1;
}

static bool parts_overlap(const Part *a, const Part *b, int rank) {
    for (int i = 0; i < rank; i++) {
        int64_t a_end = a->start[i] + (a->size[i] - 1) * a->step[i],
                b_end = b->start[i] + (b->size[i] - 1) * b->step[i];
        if (a_end < b->start[i] || b_end < a->start[i]) return false;
    }
    return true;
}

/* x with a part written over it, or added to it. Takes ownership of x. */
static Tensor *put_part(Interp *in, Tensor *x, const Part *p, bool adds, LangError *e) {
    int rank = tensor_type(x)->rank;
    Attr attr[3] = {attr_ints(ATTR_START, p->start, rank), attr_ints(ATTR_SIZE, p->size, rank),
                    attr_ints(ATTR_STEP, p->step, rank)};
    Arg arg[2] = {arg_tensor(x), arg_tensor(p->grad)};
    Tensor *there = NULL, *sum = NULL, *out = NULL;
    bool ok = !adds || tensor_op(in, OP_SLICE, arg, 1, attr, 3, &there, e);
    if (ok && adds)
        ok = (sum = tensor_op2(in, OP_ADD, arg_tensor(there), arg_tensor(p->grad), e)) != NULL;
    if (sum) arg[1] = arg_tensor(sum);
    if (ok && !tensor_op(in, OP_SLICE_PUT, arg, 2, attr, 3, &out, e)) out = NULL;
    tensor_unref(there), tensor_unref(sum), tensor_unref(x);
    return out;
}

enum { FEW_PARTS = 64 };

/* Adds the gradients of slices to a node's own. Slices that tile an axis (split, chunk, unbind) are
 * concatenated in one pass. Others are written into zeros, or added where they overlap. */
static bool add_parts(Interp *in, Visit *v, LangError *e) {
    const TensorType *t = &v->node->type;
    int n = 0, k = 0;
    for (Part *p = v->parts; p; p = p->next) n++;
    if (!n) return true;
    Part **part = xmalloc(sizeof *part * (size_t)n);
    Tensor **grads = xmalloc(sizeof *grads * (size_t)n), *sum = NULL;
    for (Part *p = v->parts; p; p = p->next) part[k++] = p;
    qsort(part, (size_t)n, sizeof *part, by_start);
    int axis = tiled_axis(t, part, n);
    bool ok = true;
    if (axis >= 0) {
        for (k = 0; k < n; k++) grads[k] = part[k]->grad;
        ok = (sum = tensor_cat(in, grads, n, axis, e)) != NULL;
        ok = ok && accumulate(in, &v->grad, sum, false, e);
    } else {
        bool from_zeros = !v->grad;
        if (from_zeros)
            ok = (v->grad = tensor_full(in, t->shape, t->rank, (DType)t->dtype,
                                        (Operand){.kind = IN_IMM_INT}, e)) != NULL;
        for (k = 0; ok && k < n; k++) {
            bool adds = !from_zeros || k > FEW_PARTS; /* limits the quadratic test for overlaps */
            for (int j = 0; j < k && !adds; j++) adds = parts_overlap(part[j], part[k], t->rank);
            ok = (v->grad = put_part(in, v->grad, part[k], adds, e)) != NULL;
        }
    }
    free(part), free(grads);
    for (Part *p = v->parts, *next; p; p = next) next = p->next, tensor_unref(p->grad), free(p);
    v->parts = NULL;
    return ok;
}

/* ---- steps ---- */

/* A saved operand as its rule sees it: linked to the graph if the rule is recorded, too. */
static Tensor *saved_tensor(Interp *in, Handle *h, GradNode *node) {
    Tensor *t = tensor_new(in, handle_ref(h));
    if (node && grad_is_on(in)) t->node = node, node->refs++;
    return t;
}

static bool checkpoint_rule(GradCall *g);

enum { FEW_INPUTS = 8 };

/* Runs the rule of visit i and passes its results to the nodes below. */
static bool walk_step(Walk *w, size_t i, LangError *e) {
    Interp *in = w->in;
    GradNode *n = w->v[i].node;
    Arg value_few[FEW_INPUTS], *value = value_few;
    Tensor *din_few[FEW_INPUTS], **din = din_few;
    bool need_few[FEW_INPUTS], *need = need_few, any = false;
    if (n->n_in > FEW_INPUTS) {
        value = xmalloc(sizeof *value * (size_t)n->n_in);
        din = xmalloc(sizeof *din * (size_t)n->n_in);
        need = xmalloc(sizeof *need * (size_t)n->n_in);
    }
    GradCall g = {.in = in,
                  .e = e,
                  .ok = true,
                  .n = n,
                  .value = value,
                  .din = din,
                  .need = need,
                  .dout = arg_tensor(w->v[i].grad)};
    for (int k = 0; k < n->n_in; k++) {
        GradInput *x = &n->in[k];
        din[k] = NULL;
        need[k] = x->node && x->node->walk == w->id && w->v[x->node->index].wanted;
        any |= need[k];
        value[k] = x->is_imm ? (Arg){.imm = x->imm}
                             : arg_tensor(x->value ? saved_tensor(in, x->value, x->node) : NULL);
    }
    for (int k = 0; k < n->n_out; k++)
        g.out[k] = arg_tensor(n->out[k] ? saved_tensor(in, n->out[k], k ? NULL : n) : NULL);
    if (any && n->op == OP_SLICE)
        keep_part(&w->v[n->in[0].node->index], n, w->v[i].grad);
    else if (any && n->op == NODE_CHECKPOINT)
        g.ok = checkpoint_rule(&g);
    else if (any)
        grad_rule[n->op]->run(&g);
    for (int k = 0; k < g.n_temp; k++) tensor_unref(g.temp[k]);
    for (int k = 0; k < n->n_out; k++) tensor_unref(g.out[k].t);
    for (int k = 0; k < n->n_in; k++) {
        if (!n->in[k].is_imm) tensor_unref(value[k].t);
        if (din[k] && g.ok && need[k])
            g.ok = accumulate(in, &w->v[n->in[k].node->index].grad, din[k], false, e);
        else
            tensor_unref(din[k]);
    }
    if (n->n_in > FEW_INPUTS) free(value), free(din), free(need);
    return g.ok;
}

/* Opens the backward scope of the next rule, unless it is already open. */
static bool switch_signal(Interp *in, uint32_t *open, uint32_t next, LangError *e) {
    if (*open == next) return true;
    const char *label = *open ? signal_label(in, *open) : NULL;
    if (label) TRY(signal_exit(in, label, strlen(label), e));
    *open = next;
    label = next ? signal_label(in, next) : NULL;
    return !label || signal_open(in, label, NULL, e);
}

/* Walks from root, which has gradient `seed`. Gradients of targets stay in the table; others are
 * freed after use. */
static bool walk_run(Walk *w, GradNode *root, Tensor *seed, bool create_graph, LangError *e) {
    Interp *in = w->in;
    uint32_t open = 0;
    int depth = signal_depth(in);
    bool ok = true;
    Span at = interp_span(in);
    Tape *t = tape_of(in);
    const GradNode *outer = t->rule;
    if (w->v[root->index].wanted) w->v[root->index].grad = tensor_ref(seed);
    if (!create_graph) in->no_grad_depth++;
    for (size_t i = 0; ok && i < w->n; i++) {
        Visit *v = &w->v[i];
        GradNode *n = v->node, *dead = NULL;
        if (!v->grad && !v->parts) continue;
        bool stops = n->op == NODE_LEAF || (w->boundary && v->target);
        ok =
            ((stops && !v->parts) || switch_signal(in, &open, n->signal, e)) && add_parts(in, v, e);
        if (!ok || stops) continue;
        t->rule = n->op < OP_COUNT ? n : NULL, t->rule_calls = 0;
        ok = walk_step(w, i, e);
        t->rule = outer, t->rule_calls = 0;
        if (!v->target) tensor_unref(v->grad), v->grad = NULL;
        if (w->consume) n->used = true, n->used_at = at, node_clear(in, n, &dead);
        assert(!dead); /* the walk holds every node */
    }
    if (ok)
        ok = switch_signal(in, &open, 0, e);
    else
        signal_unwind(in, depth);
    if (!create_graph) in->no_grad_depth--;
    return ok;
}

/* The initial gradient: ones for a single number, with the layout of y; else the user's seed, which
 * must have y's shape, cast to y's dtype. */
static Tensor *seed_of(Interp *in, Tensor *y, Tensor *seed, LangError *e) {
    const TensorType *t = tensor_type(y);
    char a[256], b[256];
    if (!seed) {
        Arg like[2] = {arg_tensor(y), arg_int(1)};
        Tensor *ones = NULL;
        return tensor_op(in, OP_FULL, like, 2, NULL, 0, &ones, e) ? ones : NULL;
    }
    const TensorType *s = tensor_type(seed);
    if (!type_same_shape(s, t)) {
        error_set(e, "the seed (the gradient of y) has shape %s, but the tensor has %s",
                  type_shape_text(s, a), type_shape_text(t, b));
        return NULL;
    }
    return tensor_cast(in, seed, t->dtype, e);
}

/* The expression being differentiated, for messages: a statement's expression, a method's object, a
 * function's first argument. `text` gets its source if that is short and on one line. */
static Span subject(const Interp *in, char *text, size_t cap) {
    const Node *x = in->at;
    if (x && x->kind == N_CALL) {
        const Node *callee = x->kid[0];
        if (callee->kind == N_FIELD && !strcmp(callee->str, "backward"))
            x = callee->kid[0];
        else if (callee->kind == N_NAME &&
                 (!strcmp(callee->str, "backward") || !strcmp(callee->str, "grad")) &&
                 x->n_kids > 1)
            x = x->kid[1];
    }
    text[0] = 0;
    if (!x || !x->whole.src || x->whole.src->is_prelude) return interp_span(in);
    const char *line = x->whole.src->text, *end = x->whole.src->text + x->whole.src->n;
    for (uint32_t k = x->whole.src->first_line; k < x->whole.line && line; k++) {
        line = memchr(line, '\n', (size_t)(end - line));
        if (line) line++;
    }
    if (line && x->whole.col && line + x->whole.col - 1 + x->whole.len <= end &&
        x->whole.len < cap) {
        memcpy(text, line + x->whole.col - 1, x->whole.len);
        text[x->whole.len] = 0;
    }
    return x->whole;
}

static bool error_not_single(Interp *in, Tensor *y, Span at, const char *text, LangError *e) {
    char shape[256];
    const char *x = text[0] ? text : "...";
    bool plain =
        strspn(x, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == strlen(x);
    type_shape_text(tensor_type(y), shape);
    error_at(e, at, "backward needs a single number, but '%s' has shape %s",
             text[0] ? text : "the result", shape);
    if (!in->config.interactive)
        error_hint(e, plain ? "backward %s.mean()" : "backward (%s).mean()", x);
    else
        error_hint(e,
                   plain ? "backward %s.sum()   or   %s.backward(ones%s)" : "backward (%s).sum()",
                   x, x, shape);
    return error_label(e, at, "%s", "");
}

/* Returns what ends the graph in the line of `at`, or NULL. */
static const char *cut_in_line(Span at) {
    static const char *const cuts[] = {".detach()", ".data", ".numpy()", ".item()", ".tolist()"};
    size_t n;
    at.col = 1, at.len = UINT16_MAX;
    const char *s = span_text(at, &n);
    for (size_t i = 0; s && i < sizeof cuts / sizeof *cuts; i++)
        if (memmem(s, n, cuts[i], strlen(cuts[i]))) return cuts[i];
    return NULL;
}

static bool check_start(Interp *in, Tensor *y, Tensor *seed, LangError *e) {
    char text[64];
    Span at = subject(in, text, sizeof text);
    const char *x = text[0] ? text : "the result";
    if (!dtype_is_float(tensor_type(y)->dtype)) {
        error_at(e, at, "backward needs a float tensor, but '%s' is %s", x,
                 dtype_info[tensor_type(y)->dtype].name);
    } else if (!tensor_needs_grad(y)) {
        error_at(e, at, "nothing to differentiate: '%s' does not depend on any parameter", x);
        const char *cut = cut_in_line(at);
        if (cut)
            error_hint(e, "%s cuts the graph here: leave it out", cut);
        else
            error_hint(e, "make x a parameter first (x = param(x)), compute outside no_grad, "
                          "and set p.requires_grad = true if p is frozen");
    } else if (!seed && tensor_numel(y) != 1) {
        return error_not_single(in, y, at, text, e);
    } else
        return true;
    return error_label(e, at, "%s", "");
}

/* ---- backward, grad ---- */

/* Adds the gradients of the leaves to their parameters' .grad. At the prompt it waits first, so
 * that an error changes nothing. */
static bool deliver(Walk *w, LangError *e) {
    Interp *in = w->in;
    if (in->config.interactive && !stream_sync(in->stream, e)) {
        LangError more = {0}; /* further failures follow from the first: report one */
        while (stream_take_error(in->stream, &more)) more = (LangError){0};
        return false;
    }
    in->no_grad_depth++;
    bool ok = true;
    for (size_t i = w->n; ok && i-- > 0;) {
        Visit *v = &w->v[i];
        if (!v->target || !v->node->param || !v->grad) continue;
        /* .grad keeps its layout, even in a scope around `backward` */
        ok = accumulate(in, &v->node->param->grad, v->grad, signal_depth(in) > 0, e);
        v->grad = NULL;
    }
    in->no_grad_depth--;
    return ok;
}

static void log_tape(Interp *in, Tensor *y) {
    Bytes text = {0};
    autograd_tape_print(in, y, &text);
    bytes_write(&text, stderr);
}

bool grad_backward(Interp *in, Tensor *y, Tensor *seed, bool retain, LangError *e) {
    Walk w;
    TRY(check_start(in, y, seed, e));
    if (log_is(LOG_TAPE)) log_tape(in, y);
    Tensor *start = seed_of(in, y, seed, e);
    if (!start) return false;
    walk_init(&w, in);
    /* The targets are the leaves, known only now. Each node leads to one, so all are wanted. */
    bool ok = walk_collect(&w, y->node, e);
    for (size_t i = 0; i < w.n; i++)
        w.v[i].wanted = true, w.v[i].target = w.v[i].node->op == NODE_LEAF;
    w.consume = ok && !retain;
    ok = ok && walk_run(&w, y->node, start, false, e) && deliver(&w, e);
    if (w.consume) tape_of(in)->consumed = tape_of(in)->seq;
    walk_fini(&w);
    tensor_unref(start);
    return ok;
}

/* d(y)/d(target[i]) in out[i]; NULL if y does not depend on it. boundary: partial derivatives, with
 * the other targets held fixed. */
static bool grad_of_nodes(Interp *in, Tensor *y, GradNode *const *target, int n, Tensor *seed,
                          bool boundary, bool create_graph, Tensor **out, LangError *e) {
    Walk w;
    walk_init(&w, in);
    w.boundary = boundary;
    for (int i = 0; i < n; i++)
        if (target[i]) visit(&w, target[i])->target = true;
    bool ok = walk_collect(&w, y->node, e) && walk_run(&w, y->node, seed, create_graph, e);
    for (int i = 0; ok && i < n; i++) {
        Tensor *g = target[i] ? w.v[target[i]->index].grad : NULL;
        out[i] = g ? tensor_ref(g) : NULL;
    }
    walk_fini(&w);
    return ok;
}

bool grad_of(Interp *in, Tensor *y, Tensor *const *xs, int n, Tensor *seed, bool create_graph,
             Tensor **out, LangError *e) {
    bool ok = true;
    for (int i = 0; i < n; i++) out[i] = NULL;
    if (tensor_needs_grad(y)) {
        TRY(check_start(in, y, seed, e));
        Tensor *start = seed_of(in, y, seed, e);
        if (!start) return false;
        GradNode **target = xcalloc((size_t)n, sizeof *target);
        for (int i = 0; i < n; i++) target[i] = xs[i]->node;
        ok = grad_of_nodes(in, y, target, n, start, false, create_graph, out, e);
        tensor_unref(start);
        free(target);
    }
    for (int i = 0; ok && i < n; i++) {
        const TensorType *t = tensor_type(xs[i]);
        DType d = dtype_is_float(t->dtype) ? t->dtype : in->float_dtype;
        if (!out[i])
            ok = (out[i] = tensor_full(in, t->shape, t->rank, d, (Operand){.kind = IN_IMM_INT},
                                       e)) != NULL;
    }
    for (int i = 0; !ok && i < n; i++) tensor_unref(out[i]), out[i] = NULL;
    return ok;
}

/* ---- checkpoint ---- */

static bool is_among(const GradNode *node, const Value *arg, int n_args) {
    for (int i = 0; i < n_args; i++)
        if (arg[i].kind == V_TENSOR && arg[i].tensor->node == node) return true;
    return false;
}

/* Finds the nodes below y that are older than `since`: what f captured from outside, except its
 * arguments. */
static bool find_outside(Interp *in, GradNode *y, uint64_t since, const Value *arg, int n_args,
                         GradNode ***out, int *n, LangError *e) {
    Walk w;
    walk_init(&w, in);
    *out = NULL, *n = 0;
    visit(&w, y);
    for (size_t i = 0; i < w.n; i++) {
        GradNode *node = w.v[i].node;
        if (node->seq <= since) {
            if (is_among(node, arg, n_args)) continue;
            *out = xrealloc(*out, (size_t)(*n + 1) * sizeof **out);
            (*out)[(*n)++] = node;
            continue;
        }
        for (int k = 0; k < node->n_in; k++)
            if (node->in[k].node) visit(&w, node->in[k].node);
    }
    bool ok = *n + n_args <= MAX_IN ||
              error_set(e, "checkpoint: more than %d parameters in one function", MAX_IN);
    walk_fini(&w);
    return ok;
}

/* The seed, and the counters of random numbers of the stream and of the client. */
typedef struct RandomState {
    uint64_t seed, rng, host;
} RandomState;
static RandomState random_state(const Interp *in) {
    return (RandomState){in->seed, in->rng_counter, in->host_rng_counter};
}
static void random_restore(Interp *in, RandomState at) {
    in->seed = at.seed, in->rng_counter = at.rng, in->host_rng_counter = at.host;
}

/* The node's f is a list: the function, then its arguments with tensors detached. in[] has the
 * arguments, then the other tensors that f captured from outside. */
bool grad_checkpoint(Interp *in, Value f, const Value *arg, int n_args, Value *out, LangError *e) {
    uint64_t since = tape_of(in)->seq;
    RandomState random = random_state(in);
    GradNode **outside;
    int n;
    TRY(in->call(in, f, arg, n_args, out, e));
    if (out->kind != V_TENSOR || !grad_is_on(in) || !out->tensor->node ||
        out->tensor->node->seq <= since)
        return true;
    Tensor *y = out->tensor;
    if (!find_outside(in, y->node, since, arg, n_args, &outside, &n, e))
        return free(outside), value_drop(*out), false;
    GradNode *c = node_new(in, NODE_CHECKPOINT, n_args + n, NULL, 0);
    c->type = *tensor_type(y), c->n_out = 1, c->signal = signal_backward(in);
    c->seed = random.seed, c->rng = random.rng, c->host_rng = random.host;
    c->f = v_list(in, (size_t)n_args + 1);
    list_push(c->f.list, value_ref(f));
    for (int i = 0; i < n_args; i++) {
        bool is_tensor = arg[i].kind == V_TENSOR;
        Tensor *t = is_tensor ? arg[i].tensor : NULL;
        list_push(c->f.list,
                  t ? v_tensor(tensor_new(in, handle_ref(t->handle))) : value_ref(arg[i]));
        if (t) c->in[i].type = *tensor_type(t);
        if (t && tensor_needs_grad(t)) c->in[i].node = t->node, t->node->refs++;
    }
    for (int i = 0; i < n; i++) {
        c->in[n_args + i] = (GradInput){.node = outside[i], .type = outside[i]->type};
        outside[i]->refs++;
    }
    free(outside);
    Tensor *result = tensor_new(in, handle_ref(y->handle));
    result->node = c;
    value_drop(*out); /* and with it the nodes that f recorded */
    *out = v_tensor(result);
    return true;
}

/* Walks the nodes that f recorded when it ran again. */
static bool checkpoint_walk(GradCall *g, Tensor *y, bool create_graph) {
    const GradNode *n = g->n;
    if (!y->node) return true;
    GradNode **target = xcalloc((size_t)n->n_in + 1, sizeof *target);
    for (int i = 0; i < n->n_in; i++) {
        target[i] = g->need[i] ? n->in[i].node : NULL;
        for (int k = 0; k < i; k++) /* a tensor given twice: count its gradient once */
            if (target[k] == target[i]) target[i] = NULL;
    }
    bool ok = grad_of_nodes(g->in, y, target, n->n_in, g->dout.t, true, create_graph, g->din, g->e);
    free(target);
    return ok;
}

/* Runs f again, recorded this time, with the random numbers of the first run, and walks the
 * result. */
static bool checkpoint_rule(GradCall *g) {
    Interp *in = g->in;
    const GradNode *n = g->n;
    int depth = in->no_grad_depth, n_args = (int)n->f.list->n - 1;
    RandomState now = random_state(in);
    Value keep = value_ref(n->f), y = v_none(), *arg = xcalloc((size_t)n_args + 1, sizeof *arg);
    for (int i = 0; i < n_args; i++) {
        arg[i] = value_ref(keep.list->v[i + 1]);
        if (arg[i].kind != V_TENSOR || !n->in[i].node) continue;
        Tensor *t = tensor_new(in, handle_ref(arg[i].tensor->handle));
        t->node = n->in[i].node, t->node->refs++;
        value_set(&arg[i], v_tensor(t));
    }
    in->no_grad_depth = 0;
    random_restore(in, (RandomState){n->seed, n->rng, n->host_rng});
    bool ok = in->call(in, keep.list->v[0], arg, n_args, &y, g->e);
    in->no_grad_depth = depth;
    random_restore(in, now);
    if (ok && (y.kind != V_TENSOR || !type_equal(tensor_type(y.tensor), &n->type)))
        ok = error_set(g->e,
                       "checkpoint: the function returned a different result when it ran again");
    if (ok) ok = checkpoint_walk(g, y.tensor, depth == 0);
    value_drop(y);
    for (int i = 0; i < n_args; i++) value_drop(arg[i]);
    free(arg);
    value_drop(keep);
    return ok;
}

/* ---- listing ---- */

static int older_first(const void *a, const void *b) {
    uint64_t x = (*(GradNode *const *)a)->seq, y = (*(GradNode *const *)b)->seq;
    return x < y ? -1 : x > y;
}

size_t grad_tape_nodes(Interp *in, Tensor *below, GradNode ***nodes) {
    Tape *tape = tape_of(in);
    GradNode **list = xmalloc((tape->n_live + 1) * sizeof *list);
    size_t n = 0, live = 0;
    if (below && below->node) {
        Walk w;
        walk_init(&w, in);
        visit(&w, below->node);
        for (size_t i = 0; i < w.n; i++) {
            list[n++] = w.v[i].node;
            for (int k = 0; k < w.v[i].node->n_in; k++)
                if (w.v[i].node->in[k].node) visit(&w, w.v[i].node->in[k].node);
        }
        walk_fini(&w);
        qsort(list, n, sizeof *list, older_first);
    } else if (!below) {
        for (GradNode *p = tape->live.next; p != &tape->live; p = p->next) list[n++] = p;
    }
    for (size_t i = 0; i < n; i++) /* leave out nodes that a backward has consumed */
        if (!list[i]->used) list[live++] = list[i];
    *nodes = list;
    return live;
}
