/* tape.c: what the dispatcher writes into the instruction log (runtime/inst/tape.h): instructions
 * received, sent, done and failed, and clients and workers that join and leave. Most functions are
 * called only if there is a tape, so that without one an instruction costs a branch.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/tape.h"
#include "dispatcher/state/listener.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/inst/inst_print.h"
#include "runtime/inst/tape.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/time_text.h"
#include "runtime/wire/wire_hash.h"
#include "runtime/wire/wire_peer.h"
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_BYTES = 1 << 20, /* of data in a client's line: larger data is stored beside the tape */
    FLUSH_MS = 2000,       /* longest delay before a flush */
};

typedef struct TapeState {
    Tape *tape;
    bool has_file; /* else the lines are for listeners alone */
    int64_t flushed_ms;
    /* The last instruction received, up to its types: most are sent on unchanged, at once. */
    Bytes head;
    uint64_t head_seq;
    uint32_t head_client; /* 0: none */
    int64_t head_ns;
} TapeState;

/* ---- Opening and closing ---- */

static void put_note(Dispatcher *d, Note n) {
    tape_note(d, &n);
    bytes_fini(&n.text);
}

/* Lets the lines go to `tape`, beginning with the clients and workers that are connected. */
static void use_tape(Dispatcher *d, Tape *tape, bool has_file) {
    tape_fini(d);
    d->tape = xcalloc(1, sizeof *d->tape);
    d->tape->tape = tape;
    d->tape->has_file = has_file;
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) put_note(d, note_worker(d->worker[i], true));
    for (const Members *g = d->groups.first; g; g = g->younger)
        if (g->n > 1) put_note(d, note_group(g));
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);)
        put_note(d, note_client(it.value, true));
    listener_watch(d);
}

bool dispatcher_log(Dispatcher *d, const char *path, Err *err) {
    Tape *tape = tape_open(path, err);
    if (tape) use_tape(d, tape, true);
    return tape != NULL;
}

void tape_for_listeners(Dispatcher *d) {
    if (d->has_events && !d->tape)
        use_tape(d, tape_new(d->born_us * 1000), false);
    else if (!d->has_events && d->tape && !d->tape->has_file)
        tape_fini(d);
}

void tape_fini(Dispatcher *d) {
    TapeState *t = d->tape;
    d->tape = NULL;
    if (!t) return;
    Err err;
    tape_finish(t->tape);
    if (tape_take_error(t->tape, &err)) log_line("DISPATCHER", "%s", err.text);
    tape_close(&t->tape);
    bytes_fini(&t->head);
    free(t);
}

static void end_line(Dispatcher *d) {
    Err err;
    size_t n;
    const char *line = tape_line(d->tape->tape, &n);
    if (d->has_events) listener_line(d, line, n);
    tape_end(d->tape->tape);
    if (tape_take_error(d->tape->tape, &err)) log_line("DISPATCHER", "%s", err.text);
}

static Bytes *begin_line(Dispatcher *d, TapeEvent event, uint32_t client, int rank) {
    Tape *tape = d->tape->tape;
    return tape_begin(tape, tape_now_ns(tape), event, client, rank < 0 ? '-' : 'w', (uint32_t)rank);
}

void tape_on_tick(Dispatcher *d, bool now) {
    TapeState *t = d->tape;
    Err err;
    if (!now && d->now_ms - t->flushed_ms < FLUSH_MS) return;
    t->flushed_ms = d->now_ms;
    tape_flush(t->tape);
    if (tape_take_error(t->tape, &err)) log_line("DISPATCHER", "%s", err.text);
}

/* ---- What comes, leaves and fails ---- */

Note note_client(const Client *c, bool comes) {
    Note n = {{.event = comes ? TAPE_COMES : TAPE_LEAVES, .place = '-', .client = c->id}, {0}};
    bytes_puts(&n.text, comes ? "client " : "client left");
    if (comes) inst_quote(&n.text, c->name, strlen(c->name));
    return n;
}

Note note_worker(const WorkerPeer *w, bool comes) {
    Note n = {{.event = comes ? TAPE_COMES : TAPE_LEAVES, .place = 'w'}, {0}};
    n.line.number = (uint32_t)w->rank;
    bytes_puts(&n.text, comes ? "worker " : "worker left");
    if (!comes) return n;
    inst_quote(&n.text, w->engine, strlen(w->engine));
    bytes_printf(&n.text, " threads=%u memory=%llu", w->threads,
                 (unsigned long long)w->memory_bytes);
    return n;
}

Note note_group(const Members *g) {
    Note n = {{.event = TAPE_COMES, .place = 'g', .number = g->id}, {0}};
    bytes_puts(&n.text, "group");
    for (int i = 0; i < g->n; i++) bytes_printf(&n.text, " w%d", g->rank[i]);
    return n;
}

Note note_failure(const Dispatcher *d, const Failure *f) {
    bool has_worker = f->worker != UINT16_MAX;
    Note n = {{.event = TAPE_FAILED, .place = has_worker ? 'w' : '-', .client = f->client}, {0}};
    if (has_worker) n.line.number = f->worker;
    bytes_printf(&n.text, "error %s ", op_info[f->op].name);
    inst_quote(&n.text, f->err.text, strlen(f->err.text));
    const Client *c = map_get(&d->client_by_id, f->client);
    const char *file = c ? client_file(c, f->pos.file) : NULL;
    if (file && f->pos.line) inst_put_position(&n.text, file, f->pos, false);
    return n;
}

void tape_note(Dispatcher *d, const Note *n) {
    Tape *tape = d->tape->tape;
    Bytes *b = tape_begin(tape, tape_now_ns(tape), (TapeEvent)n->line.event, n->line.client,
                          (char)n->line.place, n->line.number);
    bytes_add(b, n->text.data, n->text.n);
    end_line(d);
}

/* ---- Instructions ---- */

/* Infers the types of the results, as validate does. False: there are none. */
static bool types_of(Dispatcher *d, const Client *c, const Inst *inst, TensorType *out) {
    if (inst->n_out == 0) return false;
    TensorType *in = arena_alloc(&d->scratch, ((size_t)inst->n_in + 1) * sizeof *in);
    for (int i = 0; i < inst->n_in; i++) {
        if (inst->in[i].kind != IN_TENSOR) continue;
        const TensorHandle *h = handles_find(&c->tensors, inst->in[i].id);
        if (!h || h->is_poisoned) return false;
        in[i] = h->type;
    }
    int n_out;
    return inst_infer(inst, in, out, &n_out, NULL) && n_out == inst->n_out;
}

/* Adds the source position, if the file is known. */
static void add_files(const Client *c, const Inst *inst, InstPrint *how) {
    if (inst->pos.line == 0 || !client_file(c, inst->pos.file)) return;
    how->files = (const char *const *)c->file;
    how->n_files = c->n_files;
}

void tape_received(const Flow *f) {
    Dispatcher *d = f->d;
    TapeState *t = d->tape;
    const Client *c = f->client;
    const Inst *inst = &f->inst;
    if (inst->op == OP_BODY) return; /* the instructions that it stands for are logged in full */
    TensorType out[MAX_OUT];
    InstPrint how = {.payload_max = SHOWN_BYTES, .payload_hash = true};
    add_files(c, inst, &how);
    if (types_of(d, c, inst, out)) how.out = out;
    InstBeside beside;
    if (inst->payload_bytes > SHOWN_BYTES &&
        tape_keep(t->tape, inst->payload, inst->payload_bytes, &beside))
        how.beside = &beside;
    t->head_ns = tape_now_ns(t->tape);
    Bytes *b = tape_begin(t->tape, t->head_ns, TAPE_RECEIVED, c->id, '-', 0);
    size_t at = b->n;
    inst_print_head(inst, &how, b);
    t->head_seq = f->seq;
    t->head_client = inst->payload_bytes ? 0 : c->id;
    t->head.n = 0;
    if (t->head_client) bytes_add(&t->head, b->data + at, b->n - at);
    inst_print_tail(inst, &how, b);
    end_line(d);
}

/* The recipient: a group, a single worker, or (frees, notes) all that get the frame. */
static char place_of(const Flow *f, uint32_t *number) {
    const Dispatcher *d = f->d;
    const Client *c = f->client;
    const Members *g = f->group;
    uint64_t on = f->is_for_all ? (uint64_t)inst_int(&f->inst, ATTR_ON, 0) : 0;
    if (on > 0 && groups_by_id(&d->groups, on)) g = groups_by_id(&d->groups, on);
    if (!g && !f->has_to && (op_has_place(f->inst.op) || c->n_used <= 1)) g = c->home;
    if (!g) return '-';
    *number = g->n > 1 ? g->id : (uint32_t)g->rank[0];
    return g->n > 1 ? 'g' : 'w';
}

/* Marks where a hot record begins or ends: the number of its body, and which of the body's
 * instructions it has. */
void tape_hot(Dispatcher *d, const Client *c, const FrameReader *r, bool begins) {
    Bytes *line = begin_line(d, TAPE_SENT, c->id, c->rank);
    bytes_printf(line, "hot %s %llu", begins ? "begin" : "end",
                 (unsigned long long)r->hot_body->number);
    if (begins)
        bytes_printf(line, " from=%u count=%u of=%u", r->hot_at, r->hot_left, r->hot_body->n);
    end_line(d);
}

void tape_sent(const Flow *f) {
    if (f->inst.op == OP_BODY) return;
    TapeState *t = f->d->tape;
    InstPrint how = {.payload_max = 512};
    uint32_t number = 0;
    char kind = place_of(f, &number);
    Located located;
    const Inst *inst = &f->inst;
    if (f->group && op_has_place(inst->op) && inst_locate(inst, f->group->id, &f->layout, &located))
        inst = &located.inst;
    bool is_unchanged = f->record && inst == &f->inst && !f->is_inserted &&
                        t->head_client == f->client->id && t->head_seq == f->seq;
    int64_t at_ns = is_unchanged ? t->head_ns : tape_now_ns(t->tape);
    Bytes *b = tape_begin(t->tape, at_ns, TAPE_SENT, f->client->id, kind, number);
    if (is_unchanged)
        bytes_add(b, t->head.data, t->head.n);
    else
        inst_print_head(inst, &how, b);
    t->head_client = 0;
    if (f->is_inserted && inst->op != OP_FREE)
        bytes_printf(b, " # for %s", op_info[f->because].name);
    end_line(f->d);
}

void tape_disconnect(Dispatcher *d, const Client *c, const Err *err) {
    Bytes *b = begin_line(d, TAPE_FAILED, c->id, -1);
    bytes_puts(b, "ended ");
    inst_quote(b, err->text, strlen(err->text));
    end_line(d);
}

/* ---- Times ---- */

void tape_times(Dispatcher *d, const WorkerPeer *w, const Times *times) {
    TapeState *t = d->tape;
    uint64_t zero = (uint64_t)now_ns() - (uint64_t)tape_now_ns(t->tape);
    for (uint32_t i = 0; i < times->n; i++) {
        const TimeRow *row = &times->row[i];
        /* Only a worker that reports false times makes these sums overflow. */
        uint64_t end = (uint64_t)row->begin_ns + row->ns + (uint64_t)w->ahead_ns;
        uint32_t client = time_is_done(row->kind) ? row->client : 0;
        Bytes *b =
            tape_begin(t->tape, (int64_t)(end - zero), TAPE_DONE, client, 'w', (uint32_t)w->rank);
        tape_put_row(row, b);
        end_line(d);
    }
}

static void put_hex(Bytes *b, uint64_t v) {
    char text[16];
    for (int i = 16; i-- > 0; v >>= 4) text[i] = "0123456789abcdef"[v & 15];
    bytes_add(b, text, sizeof text);
}

/* "hash t2 op=matmul hash=0123456789abcdef part=split"; by hand, because it is done for every
 * result. */
static void put_hashes(Bytes *b, const HashRow *row) {
    static const char *const part[] = {"", " part=split", " part=partial"};
    for (unsigned i = 0; i < row->n_out; i++) {
        bytes_puts(b, i ? ",t" : "hash t");
        inst_put_u64(b, row->id + i);
    }
    bytes_puts(b, " op=");
    bytes_puts(b, op_info[row->op].name);
    for (unsigned i = 0; i < row->n_out; i++) {
        bytes_puts(b, i ? "," : " hash=");
        put_hex(b, row->hash[i]);
    }
    bytes_puts(b, part[row->part]);
    if (row->sample > 1) bytes_printf(b, " sample=%u", row->sample);
}

void tape_hashes(Dispatcher *d, const WorkerPeer *w, const Msg *m) {
    TapeState *t = d->tape;
    Hashes all;
    arena_reset(&d->scratch);
    if (!wire_read_hashes(m, &d->scratch, &all, NULL)) return;
    uint64_t zero = (uint64_t)now_ns() - (uint64_t)tape_now_ns(t->tape);
    for (uint32_t i = 0; i < all.n; i++) {
        const HashRow *row = &all.row[i];
        int64_t at = (int64_t)((uint64_t)row->at_ns + (uint64_t)w->ahead_ns - zero);
        put_hashes(tape_begin(t->tape, at, TAPE_DONE, row->client, 'w', (uint32_t)w->rank), row);
        end_line(d);
    }
}
