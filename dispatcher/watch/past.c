/* past.c: see past.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/past.h"
#include "runtime/base/fifo.h"
#include "runtime/base/map.h"
#include "runtime/inst/inst.h"
#include "runtime/inst/tape.h"
#include "runtime/wire/body.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/time_text.h"
#include "runtime/wire/wire_watch.h"
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MAX = 4 << 20,
    SHOWN_BYTES = 512, /* of data in a line */
    FILES_MAX = 65536,
};

/* What is known of a client. */
typedef struct PastClient {
    Bodies bodies;
    char **file;
    int n_files;
    uint64_t n_unknown; /* instructions that could not be read */
} PastClient;

typedef struct PastLine {
    int64_t at_ns;
    uint32_t order, client, number;
    uint8_t event, place;
    size_t text, n; /* in Past.text */
} PastLine;

struct Past {
    int64_t start_ns, since_ns; /* what times count from; when the past begins */
    Fifo messages;              /* of Msg */
    uint64_t bytes;
    Map clients;
    Map here; /* place and number -> index + 1 of the line that lists it as present */
    PastLine *line;
    size_t n_lines, cap_lines;
    Bytes text;
    Arena arena; /* of one frame */
};

Past *past_begin(void) {
    Past *p = xcalloc(1, sizeof *p);
    p->since_ns = INT64_MIN;
    return p;
}

static void client_free(PastClient *c) {
    bodies_fini(&c->bodies);
    for (int i = 0; i < c->n_files; i++) free(c->file[i]);
    free(c->file);
    free(c);
}

void past_end(Past **at) {
    Past *p = *at;
    *at = NULL;
    if (!p) return;
    for (; p->messages.n > 0; fifo_pop(&p->messages)) msg_fini(fifo_at(&p->messages, 0));
    fifo_fini(&p->messages);
    for (MapItem it = {0}; map_next(&p->clients, &it);) client_free(it.value);
    map_fini(&p->clients);
    map_fini(&p->here);
    free(p->line);
    bytes_fini(&p->text);
    arena_fini(&p->arena);
    free(p);
}

void past_take(Past *p, Msg *m) {
    uint64_t bytes = msg_bytes(m);
    if (p->bytes + bytes > PAST_BYTES_MAX) {
        msg_fini(m);
        return;
    }
    p->bytes += bytes;
    msg_move(fifo_push(&p->messages, sizeof(Msg)), m);
}

/* ---- What is known of clients ---- */

static PastClient *client_of(Past *p, uint32_t id) {
    PastClient *c = map_get(&p->clients, id);
    if (!c) map_put(&p->clients, id, c = xcalloc(1, sizeof *c));
    return c;
}

static void learn_file(PastClient *c, int64_t k, const char *name, size_t n) {
    if (k < 0 || k >= FILES_MAX || n > 4096) return;
    if (k >= c->n_files) {
        c->file = xrealloc(c->file, ((size_t)k + 1) * sizeof c->file[0]);
        while (c->n_files <= k) c->file[c->n_files++] = NULL;
    }
    free(c->file[k]);
    c->file[k] = xstrndup(name, n);
}

static void learn(Past *p, const PastEntry *e) {
    switch ((PastKind)e->kind) {
    case PAST_SINCE:
        p->since_ns = e->at_ns;
        if (e->n == sizeof p->start_ns) memcpy(&p->start_ns, e->data, e->n);
        break;
    case PAST_FILE: learn_file(client_of(p, e->client), e->number, e->data, e->n); break;
    case PAST_BODY:
        bodies_define(&client_of(p, e->client)->bodies, e->number, e->data, e->n, NULL);
        break;
    default: break;
    }
}

/* ---- Lines ---- */

/* Begins a line; its text is appended to p->text. NULL: there are too many. */
static PastLine *add_line(Past *p, int64_t at_ns, TapeEvent event, uint32_t client, char place,
                          uint32_t number) {
    if (p->n_lines == LINES_MAX || p->text.n > PAST_BYTES_MAX) return NULL;
    ARRAY_ROOM(p->line, p->n_lines, p->cap_lines, 1024);
    PastLine *l = &p->line[p->n_lines];
    *l = (PastLine){.at_ns = at_ns,
                    .order = (uint32_t)p->n_lines,
                    .client = client,
                    .number = number,
                    .event = (uint8_t)event,
                    .place = (uint8_t)place,
                    .text = p->text.n};
    p->n_lines++;
    return l;
}

static void end_line(Past *p, PastLine *l) {
    l->n = p->text.n - l->text;
    for (size_t i = l->text; i < p->text.n; i++)
        if ((unsigned char)p->text.data[i] < 0x20) p->text.data[i] = '?';
}

/* Of a client, a worker or a group. */
static uint64_t here_key(const PastEntry *e) {
    return (uint64_t)e->place << 32 | (e->place == '-' ? e->client : e->number);
}

static PastLine *find_comes(Past *p, const PastEntry *e) {
    uintptr_t k = (uintptr_t)map_get(&p->here, here_key(e));
    return k && p->line[k - 1].n ? &p->line[k - 1] : NULL;
}

/* The beginning lists once which clients and workers are present, and none that left before. */
static void put_text(Past *p, const PastEntry *e) {
    static const char events[] = {TAPE_COMES, TAPE_LEAVES, TAPE_FAILED, 0};
    int64_t at_ns = e->at_ns;
    bool is_place = e->place == 'w' || e->place == 'g' || e->place == '-';
    if (!e->event || !strchr(events, e->event) || !is_place) return;
    PastLine *comes = e->event == TAPE_FAILED ? NULL : find_comes(p, e);
    if (e->event == TAPE_COMES && comes) return;
    if (at_ns < p->since_ns) {
        if (e->event == TAPE_LEAVES && comes) comes->n = 0;
        if (e->event != TAPE_COMES) return;
        at_ns = p->since_ns;
    }
    PastLine *l = add_line(p, at_ns, (TapeEvent)e->event, e->client, (char)e->place, e->number);
    if (!l) return;
    bytes_add(&p->text, e->data, e->n);
    end_line(p, l);
    if (e->event == TAPE_COMES) map_put(&p->here, here_key(e), (void *)(uintptr_t)p->n_lines);
}

static void release_nothing(void *data, void *ctx) { (void)data, (void)ctx; }

/* A message with the frame, and zeros in place of its payloads. The only payload that is read is
 * the forms of a body, which are no longer than `zeros`. */
static bool open_frame(const PastEntry *e, Msg *m) {
    static uint8_t zeros[BODY_BYTES];
    const uint8_t *at = e->data;
    size_t sizes = 8 * (size_t)e->n_parts;
    *m = (Msg){0};
    msg_push(m, buf_copy(at + sizes, e->n - sizes));
    for (int i = 0; i < e->n_parts; i++) {
        uint64_t n;
        memcpy(&n, at + 8 * i, 8);
        if (n > MAX_NUMEL) return false;
        msg_push(m, buf_wrap(zeros, (size_t)n, release_nothing, NULL));
    }
    return true;
}

static void put_inst(Past *p, const PastEntry *e, const PastClient *c, const Inst *inst) {
    InstPrint how = {.payload_max = SHOWN_BYTES};
    if (inst->op == OP_BODY || e->at_ns < p->since_ns) return;
    PastLine *l = add_line(p, e->at_ns, TAPE_RECEIVED, e->client, '-', 0);
    if (!l) return;
    bool has_file = inst->pos.line && inst->pos.file < c->n_files && c->file[inst->pos.file];
    if (has_file) how.files = (const char *const *)c->file, how.n_files = c->n_files;
    inst_print(inst, &how, &p->text);
    end_line(p, l);
}

static void put_frame(Past *p, const PastEntry *e) {
    PastClient *c = client_of(p, e->client);
    FrameReader r;
    Msg m;
    Inst inst;
    if (open_frame(e, &m) && frame_open(&r, &m, NULL) && r.count <= HOT_INSTS) {
        r.bodies = &c->bodies;
        arena_reset(&p->arena);
        int rc;
        while ((rc = frame_next(&r, &p->arena, &inst, NULL, NULL, NULL)) > 0) {
            const Attr *name = inst.op == OP_FILE ? inst_attr(&inst, ATTR_NAME) : NULL;
            if (name && inst.n_in > 0 && inst.in[0].kind == IN_IMM_INT)
                learn_file(c, inst.in[0].i, name->str, name->n);
            put_inst(p, e, c, &inst);
        }
        if (rc < 0 && e->at_ns >= p->since_ns) c->n_unknown += r.count - r.next;
    }
    bodies_sweep(&c->bodies);
    msg_fini(&m);
}

static void put_rows(Past *p, const PastEntry *e) {
    Msg m = {0};
    Times times;
    msg_push(&m, buf_copy(e->data, e->n));
    arena_reset(&p->arena);
    bool ok = wire_read_times(&m, &p->arena, &times, NULL);
    for (uint32_t i = 0; ok && i < times.n; i++) {
        const TimeRow *row = &times.row[i];
        int64_t at = (int64_t)((uint64_t)row->begin_ns + row->ns + (uint64_t)e->at_ns);
        if (at < p->since_ns) continue;
        PastLine *l =
            add_line(p, at, TAPE_DONE, time_is_done(row->kind) ? row->client : 0, 'w', e->number);
        if (!l) break;
        tape_put_row(row, &p->text);
        end_line(p, l);
    }
    msg_fini(&m);
}

static int by_time(const void *x, const void *y) {
    const PastLine *a = x, *b = y;
    if (a->at_ns != b->at_ns) return a->at_ns < b->at_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void put_unknown(Past *p) {
    for (MapItem it = {0}; map_next(&p->clients, &it);) {
        uint64_t n = ((PastClient *)it.value)->n_unknown;
        PastLine *l = n ? add_line(p, p->since_ns, TAPE_RECEIVED, (uint32_t)it.key, '-', 0) : NULL;
        if (!l) continue;
        bytes_printf(&p->text, "note \"%llu instructions of a hot body are not known any more\"",
                     (unsigned long long)n);
        end_line(p, l);
    }
}

void past_write(Past *p, Bytes *out) {
    PastEntry e;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < p->messages.n; i++) {
            const Msg *m = fifo_at(&p->messages, i);
            for (size_t at = 0; past_read(m, &at, &e) > 0;) {
                if (pass == 0)
                    learn(p, &e);
                else if (e.kind == PAST_LINE)
                    put_text(p, &e);
                else if (e.kind == PAST_FRAME)
                    put_frame(p, &e);
                else if (e.kind == PAST_ROWS)
                    put_rows(p, &e);
            }
        }
    put_unknown(p);
    if (p->n_lines) qsort(p->line, p->n_lines, sizeof *p->line, by_time);
    Tape *tape = tape_new(p->start_ns);
    for (size_t i = 0; i < p->n_lines && out->n < PAST_BYTES_MAX; i++) {
        const PastLine *l = &p->line[i];
        size_t n;
        if (!l->n) continue;
        Bytes *b = tape_begin(tape, l->at_ns - p->start_ns, (TapeEvent)l->event, l->client,
                              (char)l->place, l->number);
        bytes_add(b, p->text.data + l->text, l->n);
        const char *line = tape_line(tape, &n);
        bytes_add(out, line, n);
        tape_end(tape);
    }
    tape_close(&tape);
}
