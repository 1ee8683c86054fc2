/* move.c: moves, which change the layout or the group of a tensor. The dispatcher sends a move to
 * all ranks of both groups. Each computes by layout_pull which rank reads which box of elements
 * from which owner. An owner offers its boxes to their readers when the operand is done
 * (JOB_EXPORT). A reader allocates and assembles its part when all the boxes that it needs are
 * offered (JOB_IMPORT). A rank copies its own box; if that is the whole result, the result is a
 * view.
 *
 * If the source is a sum of terms (all_reduce, reduce_scatter), the reader combines them in a fixed
 * order when all can be read (fold.c).
 * SPDX-License-Identifier: MIT */
#include "worker/exec/move.h"
#include "worker/engine/box.h"
#include "worker/exec/fold.h"
#include "worker/exec/hash.h"
#include "worker/exec/issue.h"
#include "worker/exec/locate.h"
#include "worker/exec/mark.h"
#include "worker/exec/peer.h"
#include "worker/exec/watch.h"
#include "runtime/layout/nodes.h"

#include <stdlib.h>
#include <string.h>

typedef enum SourceState { SOURCE_AWAITED, SOURCE_THERE, SOURCE_READ } SourceState;

typedef struct Source {
    uint32_t rank;
    int at; /* in the source's group */
    uint8_t state;
    bool is_own, is_pinned; /* is_pinned: its owner keeps a pin until TAKEN */
    bool is_staged;         /* buf is for its pieces */
    bool is_direct;         /* box is a peer's device memory, which the engine reaches */
    ErrCode status;
    Region region; /* of the whole */
    View box;      /* data NULL: its pieces must be requested */
    Buf *buf;      /* data that was sent with the descriptor; NULL: none */
    uint64_t bytes, requested, got;
} Source;

struct Import {
    Move move;
    Region mine; /* the region of the whole that this rank gets */
    bool folds;  /* the sources are terms, to be combined */
    bool is_reading;
    bool is_across;    /* this rank is not in the operand's group */
    int n, n_read, at; /* sources; `at` is the one being read or requested */
    int n_requested;   /* pieces requested and not received */
    uint64_t taken;    /* Watch.taken when it began to read */
    Source source[];
};

/* ---- Issuing ---- */

typedef struct Roles {
    Move m;
    const Group *from, *to;
    int owner_at, reader_at; /* this rank's indices in `from` and `to`, or -1 */
    bool is_same;
} Roles;

static bool read_roles(const Exec *x, const Inst *inst, Roles *r, Err *err) {
    TRY(move_read(inst, &r->m, err));
    r->from = locate_group(x, r->m.from.group);
    r->to = locate_group(x, r->m.to.group);
    if (!r->from || !r->to)
        return err_set(err, ERR_INTERNAL, "%s: group %u is not known here", op_info[inst->op].name,
                       r->from ? r->m.to.group : r->m.from.group);
    r->owner_at = group_place(r->from, (int)x->rank);
    r->reader_at = group_place(r->to, (int)x->rank);
    r->is_same = r->from == r->to;
    return true;
}

/* Finds the box that reader i gets from owner k. Returns false if there is none. */
static bool pull(const Roles *r, int i, int k, Region *out) {
    return layout_pull(&r->m.from.layout, r->from->n, &r->m.to.layout, r->to->n, i, r->is_same,
                       &r->m.type, k, out);
}

/* Checks that terms can be combined and that j has a unique number, by which peers know it. */
static bool check_move(const Exec *x, const Job *j, const Roles *r, Err *err) {
    const Layout *l = &r->m.from.layout;
    if (l->kind == LAYOUT_PARTIAL && op_info[l->op].out == OUT_boolean &&
        r->m.type.dtype != DT_BOOL)
        return err_set(err, ERR_INTERNAL, "%s: terms of %s that are not bool",
                       op_info[j->inst.op].name, op_info[l->op].name);
    if (j->frame->reader.number == 0 || j->number >= UINT64_C(1) << 54)
        return err_set(err, ERR_INTERNAL, "%s has no instruction number", op_info[j->inst.op].name);
    if (map_get(&x->imports, j->number))
        return err_set(err, ERR_INTERNAL, "%s: its instruction number is in use",
                       op_info[j->inst.op].name);
    return true;
}

/* Returns the region of the whole as a view of `part`, in layout l, which begins at `origin`. If
 * the terms are stacked, the view has all their nodes. */
static View box_of_part(const Layout *l, const View *part, const int64_t *origin,
                        const Region *region) {
    if (!layout_is_stacked(l)) return box_of(part, origin, region);
    View one = *part;
    one.type.rank--;
    memmove(one.type.shape, one.type.shape + 1, one.type.rank * sizeof one.type.shape[0]);
    memmove(one.stride, one.stride + 1, one.type.rank * sizeof one.stride[0]);
    View box = box_of(&one, origin, region);
    memmove(box.type.shape + 1, box.type.shape, box.type.rank * sizeof box.type.shape[0]);
    memmove(box.stride + 1, box.stride, box.type.rank * sizeof box.stride[0]);
    box.type.rank++;
    box.type.shape[0] = part->type.shape[0], box.stride[0] = part->stride[0];
    return box;
}

static Storage *poisoned_operand(Exec *x, Names *names, ErrCode why, View *v) {
    Storage *st = storage_poisoned(&x->store, names, why);
    v->data = storage_base(st);
    return st;
}

/* Returns the local part of the operand, with a reference; a poisoned storage, with err set, if
 * there is none or it has another type than the move says. */
static Storage *operand(Exec *x, const Roles *r, Job *j, View *v, Err *err) {
    Names *names = j->frame->client->names;
    const Tensor *t = store_get(names, r->m.in);
    TensorType mine = layout_local(&r->m.from.layout, &r->m.type, r->owner_at);
    *v = (View){.type = mine};
    if (!t) {
        err_set(err, ERR_ID, "%s: t%llu is not a tensor of this client (freed, or never made)",
                op_info[j->inst.op].name, (unsigned long long)r->m.in);
        return poisoned_operand(x, names, ERR_ID, v);
    }
    if (t->storage->poison) return v->data = storage_base(t->storage), storage_ref(t->storage);
    if (!type_equal(&t->view.type, &mine)) {
        char got[256], want[256];
        err_set(err, ERR_INTERNAL, "%s: the part here is %s, but should be %s",
                op_info[j->inst.op].name, type_text(&t->view.type, got), type_text(&mine, want));
        return poisoned_operand(x, names, ERR_INTERNAL, v);
    }
    tensor_view(t, v);
    return storage_ref(t->storage);
}

static void hold(Job *j, Storage *st, const View *v) {
    j->held = j->held_few;
    j->held[0] = st;
    j->n_held = 1;
    j->call.in = j->view_few;
    j->call.in[0] = *v;
    j->call.n_in = 1;
}

static bool has_readers(const Exec *x, const Roles *r) {
    Region box;
    for (int i = 0; i < r->to->n; i++)
        if (r->to->rank[i] != (int32_t)x->rank && pull(r, i, r->owner_at, &box)) return true;
    return false;
}

/* Issues the owner's part. It is a separate job, because it must not wait for the boxes that the
 * reader's part waits for. */
static void issue_export(Exec *x, const Job *j, Storage *st, const View *v) {
    Job *e = cell_get(&x->jobs);
    e->frame = j->frame;
    e->kind = JOB_EXPORT;
    e->state = JOB_NEW;
    e->group = j->group;
    e->seq = j->seq;
    e->number = j->number;
    e->inst = j->inst;
    e->err = NULL;
    e->part = NULL;
    e->call.inst = &e->inst;
    e->call.n_out = 0;
    hold(e, st, v);
    if (st->maker || st->made) {
        queue_wait(x, e, NULL, true, 0);
        return;
    }
    export_run(x, e);
    cell_put(&x->jobs, e);
}

void export_run(Exec *x, Job *j) {
    Roles r;
    Region box, mine;
    if (!read_roles(x, &j->inst, &r, NULL)) return;
    mine = layout_region(&r.m.from.layout, &r.m.type, r.owner_at);
    for (int i = 0; i < r.to->n; i++) {
        if (r.to->rank[i] == (int32_t)x->rank || !pull(&r, i, r.owner_at, &box)) continue;
        View v = box_of_part(&r.m.from.layout, &j->call.in[0], mine.begin, &box);
        peer_offer(x, j, (uint32_t)r.to->rank[i], j->held[0], &v, j->held[0]->poison);
    }
}

/* ---- The reader's part ---- */

static void issue_import(Exec *x, Job *j, const Roles *r, Storage *st, const View *own) {
    const Layout *to = &r->m.to.layout;
    TensorType local = layout_local(to, &r->m.type, r->reader_at);
    bool is_stacked = layout_is_stacked(&r->m.from.layout);
    bool is_same = r->is_same && layout_equal(to, &r->m.from.layout);
    uint32_t n_remote = 0;
    Import *m = arena_alloc(&j->frame->arena, sizeof *m + sizeof m->source[0] * (size_t)r->from->n);
    *m = (Import){.move = r->m, .mine = layout_region(to, &r->m.type, r->reader_at)};
    j->call.n_out = 1;
    j->n_held = 0;
    for (int k = 0; k < r->from->n; k++) {
        Source *s = &m->source[m->n];
        *s = (Source){.rank = (uint32_t)r->from->rank[k], .at = k};
        if (!pull(r, r->reader_at, k, &s->region)) continue;
        s->bytes = region_bytes(&s->region, &r->m.type);
        if (layout_is_stacked(&r->m.from.layout))
            s->bytes *= (uint64_t)nodes_of(&r->m.from.layout, k, NULL);
        s->is_own = s->rank == x->rank;
        n_remote += !s->is_own;
        if (s->is_own) {
            Region mine = layout_region(&r->m.from.layout, &r->m.type, k);
            View box = box_of_part(&r->m.from.layout, own, mine.begin, &s->region);
            hold(j, st, &box);
            s->state = SOURCE_THERE;
        }
        m->n++;
    }
    if (m->n == 0) { /* the part has no elements, or no owner gives it a term */
        locate_neutral(j, to->kind == LAYOUT_PARTIAL ? (Op)to->op : OP_SUM, &local);
        exec_submit(x, j, NULL, &local);
        return;
    }
    if (m->n == 1 && m->source[0].is_own && (is_same || !is_stacked)) {
        exec_name_view(x, j, &j->call.in[0]);
        return;
    }
    m->folds = r->m.from.layout.kind == LAYOUT_PARTIAL && !is_same;
    j->kind = JOB_IMPORT;
    j->import = m;
    m->is_across = r->owner_at < 0;
    j->frame->client->n_across += m->is_across;
    queue_wait(x, j, &local, true, n_remote);
    map_put(&x->imports, j->number, j);
    for (int i = 0; i < m->n; i++)
        if (!m->source[i].is_own) peer_deliver_early(x, j, m->source[i].rank);
}

void move_issue(Exec *x, Job *j) {
    Roles r;
    Err err = {0};
    j->frame->client->is_shared = true;
    if (!read_roles(x, &j->inst, &r, &err) || !check_move(x, j, &r, &err)) {
        exec_fail_in_order(x, j, &err);
        exec_poison_outputs(x, j, err.code, NULL);
        exec_finish(x, j);
        return;
    }
    if (r.owner_at < 0 && r.reader_at < 0) {
        exec_finish(x, j);
        return;
    }
    x->moves++;
    Storage *st = NULL;
    View own = {0};
    if (r.owner_at >= 0) st = operand(x, &r, j, &own, &err);
    if (r.reader_at >= 0 && store_get(j->frame->client->names, r.m.out))
        err_set(&err, ERR_ID, "%s: t%llu exists already", op_info[j->inst.op].name,
                (unsigned long long)r.m.out);
    if (err.code) exec_fail_in_order(x, j, &err);
    if (st && has_readers(x, &r)) issue_export(x, j, st, &own);
    if (r.reader_at >= 0 && !store_get(j->frame->client->names, r.m.out)) {
        j->group = r.m.to.group;
        if (r.to->n > 1) {
            j->part = arena_alloc(&j->frame->arena, sizeof *j->part);
            *j->part = (Part){.place = r.m.to, .group = r.to, .at = r.reader_at};
            j->part->whole[0] = r.m.type;
        }
        issue_import(x, j, &r, st, &own);
    } else {
        exec_finish(x, j);
    }
    if (st) storage_unref(&x->store, st);
}

/* ---- Descriptors ---- */

static Source *source_of(Import *m, uint32_t rank) {
    for (int i = 0; i < m->n; i++)
        if (m->source[i].rank == rank && !m->source[i].is_own) return &m->source[i];
    return NULL;
}

static bool is_expected(const Import *m, const Source *s, const TensorType *box) {
    TensorType want = m->move.type;
    const Layout *l = &m->move.from.layout;
    memcpy(want.shape, s->region.size, sizeof want.shape);
    if (layout_is_stacked(l)) {
        memmove(want.shape + 1, want.shape, want.rank * sizeof want.shape[0]);
        want.shape[0] = nodes_of(l, s->at, NULL), want.rank++;
    }
    return type_equal(&want, box);
}

bool import_deliver(Exec *x, Job *j, uint32_t rank, const Shard *d) {
    Source *s = source_of(j->import, rank);
    if (!s || s->state != SOURCE_AWAITED || d->client != j->frame->client->id) return false;
    const Peer *p = peer_of(x, rank);
    s->state = SOURCE_THERE;
    s->status = (ErrCode)d->status;
    s->is_pinned = !d->status && !d->data;
    s->box.type = d->box;
    memcpy(s->box.stride, d->stride, sizeof s->box.stride);
    if (!s->status && !is_expected(j->import, s, &d->box)) {
        s->status = ERR_INTERNAL;
    } else if (!s->status && d->data) {
        s->buf = buf_copy(d->data, d->bytes); /* aligned */
        s->box.data = s->buf->data;
        view_strides(&s->box.type, s->box.stride);
    } else if (!s->status && p->base) {
        if (box_lies_within(&d->box, d->stride, d->offset, p->bytes))
            s->box.data = (char *)p->base + d->offset, s->is_direct = p->is_direct;
        else
            s->status = ERR_INTERNAL;
    }
    queue_arrive(j);
    return true;
}

/* ---- Reading ---- */

/* Lets the owner reuse the box's memory: after the read, if the engine reads the box directly. */
static void unpin_source(Exec *x, const Job *j, Source *s) {
    if (s->is_pinned && s->is_direct)
        peer_taken_late(x, j->frame->client->id, j->number, s->rank);
    else if (s->is_pinned)
        peer_taken(x, j->frame->client->id, j->number, s->rank);
    s->is_pinned = false;
}

static void source_read(Exec *x, Job *j, Source *s) {
    s->state = SOURCE_READ;
    j->import->n_read++;
    buf_unref(&s->buf);
    if (!s->is_own) x->bytes_in += s->bytes;
    if (s->is_direct) x->direct_bytes += s->bytes;
    unpin_source(x, j, s);
}

/* Releases all sources. */
static void import_release(Exec *x, Job *j) {
    Import *m = j->import;
    map_remove(&x->imports, j->number);
    j->frame->client->n_across -= m->is_across;
    for (int i = 0; i < m->n; i++) {
        Source *s = &m->source[i];
        buf_unref(&s->buf);
        unpin_source(x, j, s);
    }
}

/* Adds a row about the move, whose boxes were read. The sums leave out the time in which other
 * calls ran or the worker slept while the move waited for pieces: their own rows count it. A call
 * that began before the move may have taken longer than the move; then the move counts as 0. */
static void note_move(Exec *x, const Job *j) {
    const Import *m = j->import;
    Watch *w = x->watch;
    uint64_t others = w->taken - m->taken;
    WatchRow *row = watch_row_of(x, j, 0);
    Profile *p = j->frame->client->profile;
    uint64_t ticks = row->end - row->begin;
    if (others > ticks) others = ticks;
    w->taken -= others;
    w->op[j->inst.op].ns -= others;
    for (int i = 0; i < m->n; i++) {
        const Source *s = &m->source[i];
        if (s->is_own || s->state != SOURCE_READ) continue;
        row->moved += s->bytes;
        if (s->rank < 64) row->from |= UINT64_C(1) << s->rank;
    }
    if (p) profile_add_move(p, profile_row(p, j->inst.pos), ticks - others, row->moved);
}

static void import_end(Exec *x, Job *j, ErrCode poison) {
    if (j->import->is_reading) note_move(x, j);
    if (!poison && x->marks) doubt_pass(x, j->out[0], j->held, j->n_held, 0);
    if (!poison) hash_done(x, j);
    import_release(x, j);
    queue_done(x, j, poison);
}

IdleWhy move_idle_why(const Exec *x, uint32_t *on, uint16_t *op) {
    const Job *oldest = NULL;
    *on = UINT32_MAX, *op = OP_COUNT;
    for (MapItem it = {0}; map_next(&x->imports, &it);) {
        const Job *j = it.value;
        if (!oldest || j->number < oldest->number) oldest = j;
    }
    if (!oldest) return x->n_waiting ? IDLE_BLOCKED : IDLE_STARVED; /* blocked by pinned memory */
    const Import *m = oldest->import;
    IdleWhy why = m->is_reading ? IDLE_COMM : IDLE_BLOCKED;
    *op = (uint16_t)oldest->inst.op;
    for (int i = 0; i < m->n && *on == UINT32_MAX; i++) {
        const Source *s = &m->source[i];
        bool is_missing = m->is_reading ? s->got < s->requested : s->state == SOURCE_AWAITED;
        if (is_missing && !s->is_own) *on = s->rank;
    }
    return why;
}

void import_drop(Exec *x, Job *j) { import_release(x, j); }

/* Combines the terms, which are all there. Returns false if the import failed and ended. */
static bool fold(Exec *x, Job *j) {
    Import *m = j->import;
    View *box = arena_alloc(&j->frame->arena, sizeof *box * (size_t)m->n);
    int *at = arena_alloc(&j->frame->arena, sizeof *at * (size_t)m->n);
    bool *is_here = arena_alloc(&j->frame->arena, sizeof *is_here * (size_t)m->n);
    Err err = {0};
    for (int i = 0; i < m->n; i++) {
        const Source *s = &m->source[i];
        box[i] = s->is_own ? j->call.in[0] : s->box;
        at[i] = s->at;
        is_here[i] = s->is_own || s->is_direct;
    }
    if (x->ops == &engine_null || /* its tensors have no values */
        fold_terms(x, &m->move.from.layout, m->n, box, at, is_here, &j->call.out[0], &err)) {
        for (int i = 0; i < m->n; i++) source_read(x, j, &m->source[i]);
        return true;
    }
    exec_fail_in_order(x, j, &err);
    import_end(x, j, err.code ? err.code : ERR_INTERNAL);
    return false;
}

/* Copies a box in host memory to a view of the same shape. */
static void write_box(Exec *x, const View *to, const View *from) {
    if (!x->ops->is_ordered) { /* its memory is the host's */
        x->ops->copy(x->engine, to, from);
        return;
    }
    uint64_t bytes = type_bytes(&from->type);
    if (view_is_contiguous(from)) {
        x->ops->write(x->engine, to, 0, bytes, from->data);
        return;
    }
    char *part = xmalloc(PIECE_BYTES);
    for (uint64_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        box_get(from, at, n, part);
        x->ops->write(x->engine, to, at, n, part);
    }
    free(part);
}

static void take_box(Exec *x, Job *j, Source *s) {
    View to = box_of(&j->call.out[0], j->import->mine.begin, &s->region);
    if (s->is_own || s->is_direct)
        x->ops->copy(x->engine, &to, s->is_own ? &j->call.in[0] : &s->box);
    else
        write_box(x, &to, &s->box);
    source_read(x, j, s);
}

/* Reads boxes that can be read here, and requests pieces of the others, up to PIECES_MAX at a time.
 * Terms are combined when all are here. */
static void import_read(Exec *x, Job *j) {
    Import *m = j->import;
    while (m->at < m->n) {
        Source *s = &m->source[m->at];
        if (s->is_own || s->box.data) {
            if (!m->folds) take_box(x, j, s);
            m->at++;
        } else if (s->requested < s->bytes) {
            if (m->n_requested == PIECES_MAX) return;
            if (m->folds && !s->buf) s->buf = buf_new(s->bytes), s->is_staged = true;
            uint64_t left = s->bytes - s->requested, n = left < PIECE_BYTES ? left : PIECE_BYTES;
            peer_get(x, j, s->rank, s->requested, n);
            s->requested += n;
            m->n_requested++;
        } else {
            m->at++;
        }
    }
    if (m->folds && m->n_requested == 0 && !fold(x, j)) return;
    if (m->n_read == m->n) import_end(x, j, ERR_NONE);
}

Alloc import_run(Exec *x, Job *j) {
    Import *m = j->import;
    ErrCode poison = ERR_NONE;
    for (int i = 0; i < m->n && !poison; i++)
        poison = m->source[i].is_own ? j->held[0]->poison : m->source[i].status;
    if (poison) {
        import_end(x, j, poison);
        return ALLOC_DONE;
    }
    Alloc got = queue_fill(x, j);
    if (got == ALLOC_NEVER) {
        exec_fail_memory(x, j);
        import_end(x, j, ERR_MEMORY);
    }
    if (got != ALLOC_DONE) return got;
    m->is_reading = true;
    m->taken = x->watch->taken;
    watch_begin(x, j);
    import_read(x, j);
    return ALLOC_DONE;
}

static void take_piece(Exec *x, Job *j, Source *s, const void *data, uint64_t bytes) {
    if (s->is_staged) {
        if (x->ops != &engine_null) memcpy(s->buf->data + s->got, data, bytes);
    } else {
        View to = box_of(&j->call.out[0], j->import->mine.begin, &s->region);
        x->ops->write(x->engine, &to, s->got, bytes, data);
    }
}

void import_piece(Exec *x, Job *j, uint32_t rank, const Piece *p, const void *data,
                  uint64_t bytes) {
    Import *m = j->import;
    Source *s = source_of(m, rank);
    if (!s || s->state != SOURCE_THERE || p->begin != s->got || s->got >= s->requested) return;
    uint64_t left = s->bytes - s->got, want = left < PIECE_BYTES ? left : PIECE_BYTES;
    if (bytes != want) { /* malformed */
        import_end(x, j, ERR_INTERNAL);
        queue_settle(x, j->frame->client);
        return;
    }
    Client *c = j->frame->client;
    take_piece(x, j, s, data, bytes);
    s->got += bytes;
    m->n_requested--;
    if (s->got == s->bytes && s->is_staged) {
        s->box.data = s->buf->data;
        view_strides(&s->box.type, s->box.stride);
    } else if (s->got == s->bytes) {
        source_read(x, j, s);
    }
    import_read(x, j);
    queue_settle(x, c);
}

void import_peer_gone(Exec *x, Job *j, uint32_t rank) {
    Source *s = source_of(j->import, rank);
    if (!s || s->state == SOURCE_READ) return;
    s->is_pinned = false;
    if (s->state == SOURCE_AWAITED) {
        Shard gone = {.client = j->frame->client->id, .status = ERR_GONE};
        import_deliver(x, j, rank, &gone);
    } else if (!s->buf || (s->is_staged && s->got < s->bytes)) { /* data that is here is kept */
        s->status = ERR_GONE;
        if (!j->import->is_reading) return;
        Client *c = j->frame->client;
        import_end(x, j, ERR_GONE);
        queue_settle(x, c);
    }
}
