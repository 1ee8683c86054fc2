/* tape.c: what the dispatcher writes into the instruction log (tape.h): asked, sent, done,
 * failed, and the arrival and departure of clients and workers. Its hooks are called only if
 * there is a log, so that without one an instruction costs a branch.
 *
 * Clocks: a worker on this machine shares our clock. For another one the offset is estimated as
 * the least difference between the sending time in a message and its arrival. The estimate is
 * too large by the latency of the fastest message.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/state.h"
#include "runtime/base/clock.h"
#include "runtime/inst/inst_text.h"
#include "runtime/base/log.h"
#include "runtime/inst/tape.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire_peer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_BYTES = 1 << 20, /* of data in a client's line: larger data is stored beside the tape */
    FLUSH_MS = 2000,       /* longest delay before a flush */
};

typedef struct TapeState {
    Tape *tape;
    int64_t flushed_ms;
    char host[64];              /* the kernel's boot id */
    int64_t ahead[WORKERS_MAX]; /* offset of our clock from the worker's, ns */
    bool is_known[WORKERS_MAX];
} TapeState;

/* ---- Opening and closing ---- */

static void read_host(char host[64]) {
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || !fgets(host, 64, f)) host[0] = 0;
    if (f) fclose(f);
    host[strcspn(host, "\n")] = 0;
}

bool dispatcher_log(Dispatcher *d, const char *path, Err *err) {
    Tape *tape = tape_open(path, err);
    if (!tape) return false;
    tape_fini(d);
    d->tape = xcalloc(1, sizeof *d->tape);
    d->tape->tape = tape;
    read_host(d->tape->host);
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) tape_add_worker(d, d->worker[i]);
    listener_watch(d);
    for (const Members *g = d->groups.first; g; g = g->younger)
        if (g->n > 1) tape_group(d, g);
    return true;
}

void tape_fini(Dispatcher *d) {
    TapeState *t = d->tape;
    d->tape = NULL;
    if (!t) return;
    tape_close(&t->tape);
    free(t);
}

static void end_line(Dispatcher *d) {
    Err err;
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

/* ---- Peers that join and leave ---- */

void tape_add_client(Dispatcher *d, const Client *c) {
    Bytes *b = begin_line(d, TAPE_COMES, c->id, -1);
    bytes_puts(b, "client ");
    inst_quote(b, c->name, strlen(c->name));
    end_line(d);
}

void tape_remove_client(Dispatcher *d, const Client *c) {
    bytes_puts(begin_line(d, TAPE_LEAVES, c->id, -1), "client left");
    end_line(d);
}

void tape_add_worker(Dispatcher *d, const WorkerPeer *w) {
    TapeState *t = d->tape;
    bool is_here = t->host[0] && !strcmp(t->host, w->data.host);
    t->is_known[w->rank] = is_here;
    t->ahead[w->rank] = 0;
    Bytes *b = begin_line(d, TAPE_COMES, 0, w->rank);
    bytes_puts(b, "worker ");
    inst_quote(b, w->engine, strlen(w->engine));
    bytes_printf(b, " threads=%u memory=%llu", w->threads, (unsigned long long)w->memory_bytes);
    end_line(d);
}

void tape_group(Dispatcher *d, const Members *g) {
    Tape *tape = d->tape->tape;
    Bytes *b = tape_begin(tape, tape_now_ns(tape), TAPE_COMES, 0, 'g', g->id);
    bytes_puts(b, "group");
    for (int i = 0; i < g->n; i++) bytes_printf(b, " w%d", g->rank[i]);
    end_line(d);
}

void tape_remove_worker(Dispatcher *d, const WorkerPeer *w) {
    bytes_puts(begin_line(d, TAPE_LEAVES, 0, w->rank), "worker left");
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

void tape_received(Dispatcher *d, const Client *c, const Inst *inst) {
    if (inst->op == OP_BODY) return; /* the instructions that it stands for are logged in full */
    TensorType out[MAX_OUT];
    InstPrint how = {.payload_max = SHOWN_BYTES, .payload_hash = true};
    add_files(c, inst, &how);
    if (types_of(d, c, inst, out)) how.out = out;
    InstBeside beside;
    if (inst->payload_bytes > SHOWN_BYTES &&
        tape_keep(d->tape->tape, inst->payload, inst->payload_bytes, &beside))
        how.beside = &beside;
    inst_print(inst, &how, begin_line(d, TAPE_RECEIVED, c->id, -1));
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

/* Marks the beginning or end of a hot body's instructions in the tape, in the body's terms. */
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
    Tape *tape = f->d->tape->tape;
    InstPrint how = {.payload_max = 512};
    uint32_t number = 0;
    char kind = place_of(f, &number);
    Located located;
    const Inst *inst = &f->inst;
    if (f->group && op_has_place(inst->op) && inst_locate(inst, f->group->id, &f->layout, &located))
        inst = &located.inst;
    Bytes *b = tape_begin(tape, tape_now_ns(tape), TAPE_SENT, f->client->id, kind, number);
    inst_print(inst, &how, b);
    if (f->is_inserted && inst->op != OP_FREE)
        bytes_printf(b, " # for %s", op_info[f->because].name);
    end_line(f->d);
}

void tape_failed(Dispatcher *d, const Failure *f) {
    int rank = f->worker == UINT16_MAX ? -1 : f->worker;
    Bytes *b = begin_line(d, TAPE_FAILED, f->client, rank);
    bytes_printf(b, "error %s ", op_info[f->op].name);
    inst_quote(b, f->err.text, strlen(f->err.text));
    const Client *c = map_get(&d->client_by_id, f->client);
    const char *file = c ? client_file(c, f->pos.file) : NULL;
    if (file && f->pos.line) inst_put_position(b, file, f->pos, false);
    end_line(d);
}

void tape_error(Dispatcher *d, const Msg *m) {
    Failure f;
    if (wire_read_failure(m, &f, NULL)) tape_failed(d, &f);
}

void tape_disconnect(Dispatcher *d, const Client *c, const Err *err) {
    Bytes *b = begin_line(d, TAPE_FAILED, c->id, -1);
    bytes_puts(b, "ended ");
    inst_quote(b, err->text, strlen(err->text));
    end_line(d);
}

/* ---- Times ---- */

static void put_us(Bytes *b, uint64_t ns) {
    if (ns < 100000)
        bytes_printf(b, "%.1f", (double)ns / 1e3);
    else
        bytes_printf(b, "%llu", (unsigned long long)(ns / 1000));
}

static void put_done(Bytes *b, const TimeRow *row) {
    bytes_puts(b, "done ");
    for (int i = 0; i < row->n_out; i++)
        bytes_printf(b, "%st%llu", i ? "," : "", (unsigned long long)row->id + (unsigned)i);
    bytes_puts(b, row->n_out ? " us=" : "- us="); /* always the same columns */
    put_us(b, row->ns);
    bytes_printf(b, " bytes=%llu op=%s", (unsigned long long)row->bytes, op_info[row->op].name);
    bool is_first = true;
    for (int k = 0; k < 64; k++) {
        if (!(row->from >> k & 1)) continue;
        bytes_printf(b, is_first ? " from=w%d" : ",w%d", k);
        is_first = false;
    }
    if (row->moved) bytes_printf(b, " moved=%llu", (unsigned long long)row->moved);
}

static void put_idle(Bytes *b, const TimeRow *row) {
    bytes_puts(b, "idle us=");
    put_us(b, row->ns);
    bytes_printf(b, " why=%s", idle_why_name[row->n_out]);
    if (row->from < MAX_WORKERS) bytes_printf(b, " on=w%u", (unsigned)row->from);
    if (row->op < OP_COUNT) bytes_printf(b, " op=%s", op_info[row->op].name);
}

static void put_row(Bytes *b, const TimeRow *row) {
    switch ((TimeKind)row->kind) {
    case TIME_IDLE: put_idle(b, row); break;
    case TIME_MEMORY:
        bytes_printf(b, "memory bytes=%llu limit=%llu", (unsigned long long)row->bytes,
                     (unsigned long long)row->moved);
        break;
    default: put_done(b, row);
    }
}

/* Estimates by how much our clock is ahead of the worker's. */
static void look_at_clock(TapeState *t, const WorkerPeer *w, int64_t sent_ns) {
    bool is_here = t->host[0] && !strcmp(t->host, w->data.host);
    int64_t ahead;
    if (is_here || __builtin_sub_overflow(now_ns(), sent_ns, &ahead)) return;
    if (t->is_known[w->rank] && ahead >= t->ahead[w->rank]) return;
    t->ahead[w->rank] = ahead;
    t->is_known[w->rank] = true;
}

void tape_times(Dispatcher *d, const WorkerPeer *w, const Msg *m) {
    TapeState *t = d->tape;
    Times times;
    arena_reset(&d->scratch);
    if (!wire_read_times(m, &d->scratch, &times, NULL)) return;
    look_at_clock(t, w, times.now_ns);
    uint64_t zero = (uint64_t)now_ns() - (uint64_t)tape_now_ns(t->tape);
    for (uint32_t i = 0; i < times.n; i++) {
        const TimeRow *row = &times.row[i];
        /* Only a worker that reports false times makes these sums overflow. */
        uint64_t end = (uint64_t)row->begin_ns + row->ns + (uint64_t)t->ahead[w->rank];
        uint32_t client = row->kind == TIME_DONE ? row->client : 0;
        put_row(
            tape_begin(t->tape, (int64_t)(end - zero), TAPE_DONE, client, 'w', (uint32_t)w->rank),
            row);
        end_line(d);
    }
}
