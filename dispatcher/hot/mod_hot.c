/* mod_hot.c: passes the instructions of hot bodies (body.h) without the chain. What the chain found
 * out about an instruction holds in the next iteration too, as long as its operands have the same
 * types.
 *
 * What it is worth (`dispatcher_bench`, CPU per instruction): 0.169 us through the chain, 0.057 us
 * if it is known.
 *
 * As a modifier it takes notes of each instruction of a body that passes: the types of operands
 * and results. hot_pass runs before the chain and passes the instructions that are known. For these
 * it looks up the operands and compares their types, and it makes handles only of results that
 * outlive the run. This is so if all the client's tensors are on its home worker, no scope places
 * tensors elsewhere, and the frame so far is forwarded unchanged (is_at_home). In all other cases
 * the frame is rewritten, and the notes say how each instruction was placed (placed.h). An
 * instruction is known if its operands have the same types as before, its numbers fit their dtype,
 * and all else that inference reads (slice starts) is unchanged. Any other instruction goes through
 * the chain as if it had a record of its own, and is known afterwards.
 *
 * The notes on instructions passed at home belong to an epoch: they agree on the types of all
 * results. A note that disagrees with an earlier one begins a new epoch, and all notes of the
 * epochs before are void.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/hot/mod_hot.h"
#include "dispatcher/chain/modifier.h"
#include "dispatcher/chain/outgoing.h"
#include "dispatcher/hot/placed.h"
#include "runtime/base/log.h"
#include "runtime/wire/variants.h"
#include <stdlib.h>
#include <string.h>

enum { NEVER = INT32_MAX };

/* An operand. */
typedef struct Slot {
    int32_t made;    /* which result of the body it is; -1: it is an argument */
    Number number;   /* its kind; of an argument that is a number, also what is compared */
    TensorType type; /* of an argument that is a tensor */
} Slot;

typedef struct Note {
    uint32_t epoch;  /* 0: nothing is known */
    uint32_t slot;   /* of its first operand */
    bool may;        /* an instruction of this op and form can be known */
    bool is_random;  /* its one attribute among the arguments is a random key: it is not compared */
    uint8_t *attr;   /* owned: the attributes among the arguments, when it was noted */
    size_t n_attr;   /* bytes of them */
    Placed *placed;  /* owned: how it was placed, if it did not pass at home; else NULL */
    uint16_t missed; /* misses in a row */
} Note;

typedef struct Result {
    uint32_t epoch;
    int32_t freed_at; /* index of the instruction of the body that frees it, or NEVER */
    uint64_t bytes;
    TensorType type;
} Result;

typedef struct Notes {
    Variant variant; /* first; in Client.notes */
    uint32_t epoch, n;
    Note *note;     /* by instruction */
    Slot *slot;     /* by operand */
    Result *result; /* by result */
} Notes;

/* Bytes of a client's notes, about 400 for an instruction; the least recently used are evicted.
 * Training with 100 and 400 batch sizes in turn takes the same (instructions of the whole program,
 * engine null, within 3 %) with 4, 16 and 64 MB; with 64 KB, 100 sizes take 1.05. */
enum { NOTE_BYTES_MAX = 16 << 20 };

/* All notes on a body (Body.plan). There is one Notes for each set of types of the arguments: a
 * loop over parameters has one for each shape. */
typedef struct BodyNotes {
    Variants notes; /* first */
    Notes *now;     /* for this iteration; NULL: none */
} BodyNotes;

static void notes_free(Variant *v) {
    Notes *t = (Notes *)v;
    BodyNotes *of = (BodyNotes *)v->of;
    if (of->now == t) of->now = NULL;
    for (uint32_t i = 0; i < t->n; i++) {
        free(t->note[i].attr);
        free(t->note[i].placed);
    }
    free(t->note);
    free(t->slot);
    free(t->result);
    free(t);
}

static void body_notes_free(void *p) {
    variants_fini(&((BodyNotes *)p)->notes);
    free(p);
}

static bool may_be_known(const BodyForm *f) {
    Op op = (Op)f->op;
    if (f->payload || op == OP_SHARD) return false;
    bool is_plain = !f->n_attr_form && !f->n_attr_arg && !f->n_out;
    if (op == OP_FREE) return is_plain;
    if (op == OP_EDGE) return is_plain && f->n_in == 0;
    if (f->n_in > PLACED_IN) return false;
    if (op_info[op].class_ != CLASS_CONTROL) return true;
    return op == OP_NOTE || (op_is_effect(op) && op != OP_SYNC);
}

/* Returns new notes for these types (key); NULL if there is no room, or if this key has not come
 * before. */
static Notes *notes_new(const Body *b, BodyNotes *of, uint64_t key) {
    uint32_t n_slots = 0;
    for (uint32_t i = 0; i < b->n; i++) n_slots += b->form[i].n_in;
    uint64_t size =
        sizeof(Notes) + b->n * sizeof(Note) + n_slots * sizeof(Slot) + b->n_made * sizeof(Result);
    if (!lru_admits(of->notes.all, key ^ b->hash, size, NOTE_BYTES_MAX)) return NULL;
    Notes *t = xcalloc(1, sizeof *t);
    t->variant.key = key;
    variants_add(&of->notes, &t->variant, size, NOTE_BYTES_MAX);
    t->epoch = 1;
    t->n = b->n;
    t->note = xcalloc(b->n, sizeof *t->note);
    t->slot = xcalloc(n_slots + 1, sizeof *t->slot);
    t->result = xcalloc(b->n_made + 1, sizeof *t->result);
    for (uint32_t r = 0; r < b->n_made; r++) t->result[r].freed_at = NEVER;
    n_slots = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const BodyForm *f = &b->form[i];
        Note *note = &t->note[i];
        note->slot = n_slots;
        note->may = may_be_known(f);
        for (int k = 0; k < f->n_in; k++) {
            Slot *s = &t->slot[n_slots++];
            uint32_t word = body_operand(b, f, k), distance = word >> 2;
            s->number.kind = word & 3;
            s->made = -1;
            if (!distance) continue;
            if (distance > f->n_made) { /* made before the edge; our writers never write this */
                note->may = false;
                continue;
            }
            s->made = (int32_t)(f->n_made - distance);
            Result *r = &t->result[s->made];
            if (f->op == OP_FREE && r->freed_at == NEVER) r->freed_at = (int32_t)i;
        }
    }
    return t;
}

static BodyNotes *notes_of(Body *b, Client *c) {
    if (b->plan) return b->plan;
    BodyNotes *p = xcalloc(1, sizeof *p);
    p->notes.all = &c->notes, p->notes.free = notes_free;
    b->plan = p;
    b->plan_free = body_notes_free;
    return p;
}

/* Adds the type and the layout of a tensor to the key. */
static uint64_t add_type(const void *tensors, uint64_t id, uint64_t key) {
    const TensorHandle *h = handles_find(tensors, id);
    if (!h || h->is_poisoned) return key;
    const Layout *l = &h->layout;
    key = variants_hash(key, &h->type);
    return variants_mix(key, (uint64_t)h->group->id << 16 ^ (l->kind << 8 | l->axis));
}

/* Call this when the body begins, with its arguments. Finds the notes for their types, or
 * makes new ones if there is room. */
static void choose(Body *b, Client *c, const uint8_t *args, const uint8_t *end) {
    BodyNotes *p = notes_of(b, c);
    uint64_t key = variants_key(&p->notes, args, end, 0, add_type, &c->tensors);
    p->now = (Notes *)variants_get(&p->notes, key);
    if (p->now)
        lru_use(p->notes.all, &p->now->variant.item);
    else
        p->now = notes_new(b, p, key);
}

/* ---- Taking notes ---- */

static bool has_room(const BodyNotes *p, size_t n) {
    return p->notes.all->bytes + n <= NOTE_BYTES_MAX;
}

/* Adds n to the size of the current notes. n is modulo 2^64, so it may be a negative number. */
static void count_bytes(BodyNotes *p, uint64_t n) {
    p->notes.all->bytes += n;
    p->now->variant.item.bytes += n;
}

static void note_result(Notes *t, int32_t i, const TensorType *type) {
    Result *r = &t->result[i];
    if (r->epoch && r->epoch == t->epoch && !type_equal(&r->type, type)) t->epoch++;
    r->epoch = t->epoch;
    r->type = *type;
    r->bytes = tensor_bytes(type);
}

/* Records the types of the operands and results of f. was: the instruction before the chain. */
static void note_types(Notes *t, const Flow *f, const Inst *was) {
    const BodyForm *form = &f->body->form[f->body_at];
    for (int i = 0; i < was->n_in && was->op != OP_FREE; i++) {
        Slot *s = &t->slot[t->note[f->body_at].slot + (uint32_t)i];
        if (was->in[i].kind != IN_TENSOR) {
            number_note(&s->number, f, was, i);
        } else if (s->made >= 0) {
            note_result(t, s->made, &f->in_type[i]);
        } else {
            s->type = f->in_type[i];
        }
    }
    for (int i = 0; i < f->n_out; i++) note_result(t, (int32_t)form->n_made + i, &f->out_type[i]);
}

/* f has gone through the chain. Records all that it is compared with in the next iteration. was:
 * the instruction before the chain. */
static void take_note(const Flow *f, const Inst *was) {
    BodyNotes *p = f->body->plan;
    Notes *t = p->now;
    const BodyForm *form = &f->body->form[f->body_at];
    Note *note = &t->note[f->body_at];
    note->epoch = 0;
    if (!note->may) return;
    for (int i = 0; i < f->n_out; i++) {
        const TensorHandle *h = handles_find(&f->client->tensors, was->out[i]);
        if (!h || h->is_poisoned || h->is_fill) return;
    }
    uint32_t epoch;
    do { /* if a new epoch begins meanwhile, f is noted again, in that one */
        epoch = t->epoch;
        note_types(t, f, was);
    } while (t->epoch != epoch);
    size_t operands = 8 * (size_t)form->n_external, n_attr = f->args_bytes - operands;
    if (n_attr > note->n_attr && !has_room(p, n_attr - note->n_attr)) return;
    free(note->attr);
    count_bytes(p, n_attr - note->n_attr);
    note->n_attr = n_attr;
    note->attr = n_attr ? memcpy(xmalloc(n_attr), f->args + operands, n_attr) : NULL;
    note->is_random = form->n_attr_arg == 1 && inst_attr(was, ATTR_RNG);
    note->epoch = t->epoch;
}

static void keep_placed(BodyNotes *p, Note *note, Placed *placed) {
    count_bytes(p, placed_bytes(placed) - placed_bytes(note->placed));
    free(note->placed);
    note->placed = placed;
}

/* True if the frame so far is forwarded unchanged to the client's home, and the next instruction
 * may be too. */
static bool is_at_home(const Dispatcher *d, const Client *c) {
    return d->whole && client_stays_home(c);
}

/* For an instruction that does not pass at home: sends it through the chain and records how it was
 * placed. If it was not as recorded several times in a row, it is recorded only at misses 1, 2, 4,
 * 8 and so on. */
static void process_placed(Flow *f, int stage) {
    BodyNotes *p = f->body->plan;
    Note *note = &p->now->note[f->body_at];
    bool may = note->may && op_info[f->inst.op].class_ != CLASS_CONTROL;
    if (may) note->missed++;
    if (!may || (note->missed & (note->missed - 1u))) {
        chain_next(f, stage + 1);
        return;
    }
    PlacedIn in[PLACED_IN];
    Inst was = f->inst;
    uint64_t n_errors = f->client->n_errors;
    placed_look(f, in);
    f->layout = layout_replicate(); /* that of the home worker; mod_place.c may change it */
    for (int i = 0; i < was.n_in; i++) f->need[i] = f->layout;
    chain_next(f, stage + 1);
    bool is_known = f->client->n_errors == n_errors && f->inst.op == was.op;
    keep_placed(p, note, is_known && has_room(p, 0) ? placed_new(f, &was, in) : NULL);
}

/* True if no instruction is logged individually. */
static bool is_silent(const Dispatcher *d) { return !d->tape && !log_is(LOG_DISPATCHER); }

static void process(Flow *f, int stage) {
    BodyNotes *p = f->body && is_silent(f->d) ? f->body->plan : NULL;
    if (!p || !p->now) {
        chain_next(f, stage + 1);
        return;
    }
    if (!is_at_home(f->d, f->client)) {
        process_placed(f, stage);
        return;
    }
    Inst was = f->inst;
    uint64_t n_errors = f->client->n_errors;
    chain_next(f, stage + 1);
    if (f->client->n_errors != n_errors || f->inst.op != was.op)
        p->now->note[f->body_at].epoch = 0;
    else
        take_note(f, &was);
}

/* ---- Passing known instructions ---- */

/* A run of known instructions of one iteration. */
typedef struct Run {
    Dispatcher *d;
    Client *c;
    const Body *b;
    Notes *t;
    uint32_t from;       /* its first instruction */
    uint32_t made;       /* results of the body before it */
    uint64_t base;       /* id of the body's result 0 in this iteration */
    const uint8_t *args; /* the body's first argument; NULL: the run begins later in the body */
    BodyNotes *p;
    Flow *flow;   /* for instructions that must be rewritten; NULL: the run passes at home */
    uint64_t seq; /* of the first instruction */
} Run;

/* True if the tensor `id`, which was made before the run, exists and has this type. */
static bool is_there(const Run *r, uint64_t id, const TensorType *type) {
    const TensorHandle *h = handles_find(&r->c->tensors, id);
    return h && !h->is_poisoned && type_equal(&h->type, type);
}

/* Call this if the argument at `at` is a tensor of another type or place than before. */
static void see_change(const Run *r, const uint8_t *at) {
    uint64_t id;
    memcpy(&id, at, 8);
    if (r->args && handles_find(&r->c->tensors, id))
        variants_changed(&r->p->notes, at - r->args, 0);
}

/* Sets id[] to the tensors from before the run that a free names. Returns their number; -1: the
 * free must go through the chain. */
static int freed(const Run *r, const Note *note, const BodyForm *f, const uint8_t *args,
                 uint64_t *id) {
    int n = 0;
    uint64_t most = 0;
    for (int k = 0; k < f->n_in; k++) {
        const Slot *s = &r->t->slot[note->slot + (uint32_t)k];
        if (s->number.kind != IN_TENSOR) return -1;
        if (s->made >= 0 && (uint32_t)s->made >= r->made) continue;
        if (s->made >= 0) {
            id[n] = r->base + (uint64_t)s->made;
        } else {
            memcpy(&id[n], args, 8);
            args += 8;
        }
        const TensorHandle *h = handles_find(&r->c->tensors, id[n]);
        if (!h || h->group != r->c->home || h->converted) return -1;
        for (int i = 0; i < n && id[n] <= most; i++) /* one above all others is new */
            if (id[i] == id[n]) return -1;
        if (id[n] > most) most = id[n];
        n++;
    }
    return n;
}

static bool pass_free(Run *r, const Note *note, const BodyForm *f, const uint8_t *args,
                      uint32_t at) {
    uint64_t id[FREE_MAX];
    Client *c = r->c;
    int n = freed(r, note, f, args, id);
    if (n < 0) return false;
    for (int k = 0; k < f->n_in; k++) { /* results of the run have no handles */
        int32_t made = r->t->slot[note->slot + (uint32_t)k].made;
        if (made < 0 || (uint32_t)made < r->made) continue;
        if (r->t->result[made].freed_at != (int32_t)at) return false;
    }
    for (int k = 0; k < f->n_in; k++) {
        int32_t made = r->t->slot[note->slot + (uint32_t)k].made;
        if (made >= 0 && (uint32_t)made >= r->made) c->live_bytes -= r->t->result[made].bytes;
    }
    for (int k = 0; k < n; k++) {
        TensorHandle old;
        handles_remove(&c->tensors, id[k], &old);
        c->live_bytes -= old.is_poisoned ? 0 : tensor_bytes(&old.type);
    }
    return true;
}

/* True if everything that inference would read is unchanged. */
static bool is_known(const Run *r, const Note *note, const BodyForm *f, const uint8_t *args) {
    for (int k = 0; k < f->n_in; k++) {
        const Slot *s = &r->t->slot[note->slot + (uint32_t)k];
        if (s->made >= 0) {
            const Result *made = &r->t->result[s->made];
            if ((uint32_t)s->made < r->made &&
                !is_there(r, r->base + (uint64_t)s->made, &made->type))
                return false;
            continue;
        }
        uint64_t value;
        memcpy(&value, args, 8);
        args += 8;
        bool is_tensor = s->number.kind == IN_TENSOR;
        if (is_tensor ? is_there(r, value, &s->type) : number_fits(&s->number, value)) continue;
        if (is_tensor) see_change(r, args - 8);
        return false;
    }
    size_t compared = note->is_random ? 8 : note->n_attr;
    return !compared || !memcmp(args, note->attr, compared);
}

static bool pass(Run *r, const Note *note, const BodyForm *f, const uint8_t *args, uint32_t at) {
    if (!note->may || note->epoch != r->t->epoch) return false;
    if (f->op == OP_FREE) return pass_free(r, note, f, args, at);
    if (f->n_in || note->n_attr)
        if (!is_known(r, note, f, args)) return false;
    uint64_t bytes = 0, limit = r->d->config.client_bytes_max;
    for (int i = 0; i < f->n_out; i++) bytes += r->t->result[f->n_made + (uint32_t)i].bytes;
    if (limit && r->c->live_bytes + bytes > limit) return false;
    r->c->live_bytes += bytes;
    return true;
}

/* Call this when the run ends, before instruction `to`. Makes handles of the results that were
 * not freed. */
static void make_handles(Run *r, uint32_t to) {
    uint32_t end = to == r->b->n ? r->b->n_made : r->b->form[to].n_made;
    for (uint32_t i = r->made; i < end; i++) {
        const Result *made = &r->t->result[i];
        if (made->freed_at < (int32_t)to) continue;
        TensorHandle *h = handles_add(&r->c->tensors, r->base + i);
        h->type = made->type;
        h->group = r->c->home;
    }
    if (end > r->made) r->c->next_id = r->base + end;
}

/* Passes an instruction that is not at home, the i-th of the run. Returns false if it must go
 * through the chain. */
static bool pass_placed(Run *r, Note *note, const BodyForm *f, const uint8_t *args, size_t n_args,
                        uint32_t i) {
    HotInst hot = {.body = r->b, .form = f, .base = r->base + f->n_made};
    hot.args = args, hot.n_args = n_args;
    r->flow->seq = r->seq + i;
    if (!note->may || is_at_home(r->d, r->c)) return false;
    if (op_info[f->op].class_ == CLASS_CONTROL) return placed_other(r->flow, &hot);
    if (note->placed && placed_again(note->placed, r->flow, &hot)) {
        note->missed = 0;
        return true;
    }
    if (hot.changed) see_change(r, hot.changed);
    return false;
}

/* Passes known instructions, at most n, until one is unknown or the slice ends. Returns their
 * number and sets *args to the arguments of the next instruction. */
static uint32_t pass_all(Run *r, const FrameReader *reader, uint32_t at, uint32_t n,
                         const uint8_t **args) {
    uint32_t i = 0;
    for (; i < n && r->d->work < r->d->config.slice; i++) {
        const BodyForm *f = &r->b->form[at + i];
        Note *note = &r->t->note[at + i];
        const uint8_t *end = body_args_end(f, *args, reader->hot_end);
        bool is_last = i + 1 == reader->hot_left;
        if (!end || (is_last && end != reader->hot_end)) break;
        size_t n_args = (size_t)(end - *args);
        if (r->flow) {
            if (!pass_placed(r, note, f, *args, n_args, i)) break;
        } else {
            if (note->n_attr && n_args != 8 * (size_t)f->n_external + note->n_attr) break;
            if (!pass(r, note, f, *args, at + i)) break;
        }
        *args = end;
    }
    return i;
}

bool hot_pass(Dispatcher *d, Client *c, FrameReader *reader) {
    Body *b = reader->hot_body;
    uint32_t at = reader->hot_at, n = b->n - at;
    if (at == 0 && b->form[b->n - 1].op != OP_EDGE) outgoing_round(d, c);
    if (!is_silent(d)) return false;
    if (n > reader->hot_left) n = reader->hot_left;
    if (at == 0) choose(b, c, reader->hot_args, reader->hot_end);
    BodyNotes *p = b->plan;
    Notes *t = p ? p->now : NULL;
    bool is_quiet = is_at_home(d, c);
    if (!t || reader->hot_base < c->next_id || reader->hot_base >= INSERTED_ID - b->n_made)
        return false;
    Flow flow;
    flow.d = d, flow.client = c, flow.body = NULL;
    Run r = {.d = d, .c = c, .b = b, .t = t, .p = p, .made = b->form[at].n_made};
    if (at == 0) r.args = reader->hot_args;
    r.base = reader->hot_base - r.made;
    r.flow = is_quiet ? NULL : &flow;
    r.seq = reader->seq_next;
    const uint8_t *args = reader->hot_args;
    uint32_t i = pass_all(&r, reader, at, n, &args);
    if (i > 0) {
        if (is_quiet) make_handles(&r, at + i);
        frame_pass_hot(reader, i, args);
        if (is_quiet) d->n_whole += i;
        d->n_hot += i;
    }
    return i == n || d->work >= d->config.slice;
}

static void stats(const struct Dispatcher *d, Bytes *out) {
    bytes_printf(out, "hot_instructions=%llu\n", (unsigned long long)d->n_hot);
}

const Modifier modifier_hot = {"hot", process, stats};
