/* stream_hot.c: hot bodies in the client's stream (runtime/body.h, DESIGN 5): the run of
 * instructions between two loop edges is known by its forms. Seen GT_HOTPATH_THRESHOLD times, it is
 * defined; from then on what comes as in a known body goes out as arguments alone.
 *
 * There is room for some bodies, and those in use stay: before a new one is defined, those that
 * would have to go for it and were used since they had their number get a younger one. Where there
 * is no room left a body has to be seen more often: if more of them go round than there is room
 * for, they would all throw one another out.
 *
 * After each body the one is expected that came after it last time. Where an instruction is another
 * than expected, another body that began the same way may have it; if none has, the rest up to the
 * edge goes out in full, and what it makes with its beginning is a body like others. So nothing
 * depends on what was expected but the number of bytes, and nothing waits for an edge.
 *
 * A stream without edges (instruction files, recursion, lines typed again and again) gets them:
 * when what an instruction with results is (operation, attributes, place in the source) has been
 * what it was p such instructions before, for long enough, an edge is put in, and from then on one
 * every p, until something else comes. An edge says nothing but that.
 *
 * Cost: an instruction as expected is compared once (about as long as it takes to copy it);
 * otherwise its form is kept until the edge and hashed there.
 * SPDX-License-Identifier: MIT */
#include "lang/stream_state.h"
#include "runtime/env.h"
#include <stdlib.h>
#include <string.h>

enum { SEEN_MAX = 8192, PERIOD_MAX = 1024, PERIOD_MIN = 4, NO_EDGES = 4096 };

/* What came lately, by a hash that leaves operands out. */
typedef struct Periods {
    uint64_t recent[PERIOD_MAX]; /* by number modulo PERIOD_MAX */
    uint64_t last[PERIOD_MAX];   /* by hash modulo PERIOD_MAX: the number of the last such one */
    uint64_t n;                  /* since a loop's edge */
    bool has_edges;              /* there was one not NO_EDGES instructions ago */
    uint32_t period, run;        /* so many in a row were as `period` before */
    uint32_t left;               /* until an edge is due; 0: none is put in */
} Periods;

/* Bodies that were not worth a definition yet, or had to go, by hash. */
typedef struct Seen {
    uint32_t tag; /* of the hash */
    uint32_t count;
} Seen;

struct Hot {
    uint32_t threshold, min, window, expand_max; /* GT_HOTPATH_* */
    Bodies bodies;                               /* as those know them who read the stream */
    Map prefixes, whole; /* -> Body, by the hash of its first forms, of all its forms */
    Seen seen[SEEN_MAX];
    struct {
        uint64_t next;    /* what came after it, plus 1 */
        bool is_used;     /* since it has its number */
    } of[BODIES_MAX];     /* by number */
    size_t edge_bytes; /* of the frame, at the last one */
    uint64_t last;             /* the body before this one, plus 1; 0: it was none */
    Periods periods;
    /* Since the edge: */
    uint32_t n;     /* instructions */
    bool is_astray; /* no body is known that begins so */
    bool is_too_long;
    uint64_t hash; /* of forms */
    Bytes forms;                        /* is_astray or nothing is expected: of all of them */
    uint32_t n_expanded;                /* times round of the body in the open record */
    uint64_t n_insts, n_bodies, n_runs; /* sent as arguments; defined; times round */
};

static uint32_t knob(const char *name, uint32_t most) {
    int64_t v = env_int(name);
    return v > most ? most : (uint32_t)v;
}

Hot *hot_new(void) {
    uint32_t threshold = knob("GT_HOTPATH_THRESHOLD", UINT32_MAX);
    if (!threshold) return NULL;
    Hot *h = xcalloc(1, sizeof *h);
    h->threshold = threshold;
    h->min = knob("GT_HOTPATH_MIN_SEQ", BODY_INSTS);
    h->window = knob("GT_HOTPATH_WINDOW", BODY_INSTS);
    h->expand_max = knob("GT_HOTPATH_MAX_EXPAND", HOT_INSTS);
    return h;
}

void hot_free(Hot **hp) {
    Hot *h = *hp;
    *hp = NULL;
    if (!h) return;
    bodies_fini(&h->bodies);
    map_fini(&h->prefixes), map_fini(&h->whole);
    bytes_fini(&h->forms);
    free(h);
}

void hot_stats(const Hot *h, Bytes *text) {
    if (!h) return;
    bytes_printf(text,
                 "client_hot_bodies=%llu\nclient_hot_runs=%llu\nclient_hot_instructions=%llu\n",
                 (unsigned long long)h->n_bodies, (unsigned long long)h->n_runs,
                 (unsigned long long)h->n_insts);
}

/* ---- Finding bodies ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Of forms, with another one behind them. Their lengths count what is behind them in a record; they
 * are padded to eight bytes. */
static uint64_t hash_form(uint64_t hash, const uint8_t *form, size_t n) {
    uint64_t word = 0;
    memcpy(&word, form + 4, 4);
    hash = mix(hash, n << 32 | word);
    for (size_t i = 8; i < n; i += 8) {
        memcpy(&word, form + i, 8);
        hash = mix(hash, word);
    }
    return hash;
}

/* Body.plan: by what it is found. */
typedef struct Index {
    Hot *hot;
    Body *body;
    uint64_t hash[]; /* of its first forms: of 1, 2, ... */
} Index;

static void index_put(Index *x) {
    const Body *b = x->body;
    for (uint32_t i = 0; i < b->n; i++) map_put(&x->hot->prefixes, x->hash[i], x->body);
    map_put(&x->hot->whole, x->hash[b->n - 1], x->body);
}

static void index_free(void *ctx) {
    Index *x = ctx;
    Map *prefixes = &x->hot->prefixes, *whole = &x->hot->whole;
    uint32_t n = x->body->n;
    for (uint32_t i = 0; i < n; i++)
        if (map_get(prefixes, x->hash[i]) == x->body) map_remove(prefixes, x->hash[i]);
    if (map_get(whole, x->hash[n - 1]) == x->body) map_remove(whole, x->hash[n - 1]);
    free(x);
}

static void index_new(Hot *h, Body *b) {
    Index *x = xmalloc(sizeof *x + b->n * sizeof x->hash[0]);
    x->hot = h, x->body = b;
    uint64_t hash = 0;
    for (uint32_t i = 0; i < b->n; i++)
        hash = x->hash[i] = hash_form(hash, b->bytes + b->form[i].at, b->form[i].bytes);
    b->plan = x;
    b->plan_free = index_free;
    index_put(x);
}

/* ---- In a body ---- */

/* A body that begins with what is in forms and goes on with this form, all of which has h->hash. */
static Body *other_body(const Hot *h, const uint8_t *form, size_t n) {
    Body *b = map_get(&h->prefixes, h->hash);
    if (!b || b->n <= h->n || !bodies_get(&h->bodies, b->number)) return NULL;
    const BodyForm *f = &b->form[h->n];
    bool is = f->at == h->forms.n && f->bytes == n &&
              !memcmp(b->bytes + f->at + 4, form + 4, n - 4) &&
              !memcmp(b->bytes, h->forms.data, h->forms.n);
    return is ? b : NULL;
}

static void keep_form(Hot *h, const void *form, size_t n) {
    if (h->n >= h->window || h->forms.n + n > BODY_BYTES || n > BODY_FORM_BYTES)
        h->is_too_long = true;
    if (h->is_too_long) return;
    size_t at = h->forms.n;
    bytes_add(&h->forms, form, n);
    uint32_t length = (uint32_t)n;
    memcpy(h->forms.data + at, &length, 4);
}

void hot_added(Stream *s) {
    Hot *h = s->hot;
    FrameWriter *w = &s->frame;
    size_t n;
    const void *form = frame_form(w, &n);
    if (!form) {
        h->n++;
        h->n_insts++;
        return;
    }
    if (!h->is_astray) {
        h->hash = 0;
        if (w->body) { /* so far it was as expected */
            h->forms.n = 0;
            bytes_add(&h->forms, w->body->bytes, w->body->form[h->n].at);
            if (h->n) h->hash = ((const Index *)w->body->plan)->hash[h->n - 1];
        }
    }
    h->hash = hash_form(h->hash, form, n);
    if (!h->is_astray) {
        Body *b = other_body(h, form, n);
        if (b && frame_refold(w, b, h->n)) {
            h->forms.n = 0;
            h->n_expanded = 0;
            h->n++;
            h->n_insts++;
            return;
        }
        h->is_astray = true;
        frame_expect(w, NULL, 0);
    }
    keep_form(h, form, n);
    h->n++;
}

/* ---- Streams without edges ---- */

/* What it is, but for its operands. */
static uint64_t hash_inst(const Inst *in) {
    uint64_t hash = (uint64_t)in->op << 32 | in->n_in;
    hash = mix(hash, (uint64_t)in->pos.line << 32 | (uint64_t)in->pos.file << 16 | in->pos.col);
    for (int i = 0; i < in->n_attr; i++) {
        const Attr *a = &in->attr[i];
        if (attr_info[a->key].part != PART_FORM) continue;
        hash = mix(hash, a->key);
        switch (attr_info[a->key].type) {
        case AT_BOOL: hash = mix(hash, a->b); break;
        case AT_DTYPE: hash = mix(hash, (uint64_t)a->dtype); break;
        case AT_INTS:
            for (uint32_t k = 0; k < a->n; k++) hash = mix(hash, (uint64_t)a->ints[k]);
            break;
        case AT_STR: hash = mix(hash, a->n); break;
        default: hash = mix(hash, (uint64_t)a->i); break;
        }
    }
    return hash;
}

bool hot_is_edge_due(Stream *s, const Inst *in) {
    Hot *h = s->hot;
    Periods *p = &h->periods;
    uint64_t i = p->n++;
    if (p->has_edges) {
        if (i == NO_EDGES) *p = (Periods){0};
        return false;
    }
    uint64_t hash = hash_inst(in);
    uint64_t *last = &p->last[hash % PERIOD_MAX];
    bool is_again = p->period && p->period <= i && p->recent[(i - p->period) % PERIOD_MAX] == hash;
    if (is_again) {
        p->run++;
    } else {
        p->run = p->left = 0;
        p->period = i > *last && i - *last < PERIOD_MAX ? (uint32_t)(i - *last) : 0;
    }
    p->recent[i % PERIOD_MAX] = hash;
    *last = i;
    uint32_t longest = h->window < PERIOD_MAX ? h->window : PERIOD_MAX - 1;
    uint32_t step = p->period; /* of short ones, several at a time */
    while (step && step < PERIOD_MIN) step += p->period;
    bool is_due =
        p->left ? --p->left == 0 : is_again && step <= longest && p->run >= step * h->threshold;
    if (is_due) p->left = step;
    return is_due;
}

/* ---- At an edge ---- */

/* What went out in full is body b. */
static bool is_same(const Hot *h, const Body *b) {
    return b && b->n_bytes == h->forms.n && !memcmp(b->bytes, h->forms.data, h->forms.n);
}

/* b, the oldest, is the youngest from now on. */
static void keep(Stream *s, const Body *b) {
    Hot *h = s->hot;
    uint64_t old = b->number, number = h->bodies.next;
    h->of[number % BODIES_MAX] = h->of[old % BODIES_MAX];
    h->of[number % BODIES_MAX].is_used = false;
    for (int i = 0; i < BODIES_MAX; i++)
        if (h->of[i].next == old + 1) h->of[i].next = number + 1;
    if (h->last == old + 1) h->last = number + 1;
    bodies_rename(&h->bodies, number, old);
    stream_room_control(s);
    Operand in[] = {{.kind = IN_IMM_INT, .i = (int64_t)number},
                    {.kind = IN_IMM_INT, .i = (int64_t)old}};
    stream_inst(s, &(Inst){.op = OP_BODY, .n_in = 2, .in = in}, NULL, NULL, 0);
}

/* Before what is in forms is defined. */
static void keep_used(Stream *s) {
    enum { CHANCES = 4 };
    Hot *h = s->hot;
    for (int i = 0; i < CHANCES; i++) {
        const Body *b = bodies_first_to_go(&h->bodies, h->forms.n);
        if (!b || !h->of[b->number % BODIES_MAX].is_used) return;
        keep(s, b);
    }
}

static Body *define(Stream *s) {
    Hot *h = s->hot;
    keep_used(s);
    uint64_t number = h->bodies.next;
    if (!bodies_define(&h->bodies, number, h->forms.data, h->forms.n, NULL)) return NULL;
    bodies_sweep(&h->bodies); /* nothing is expected now */
    index_new(h, bodies_get(&h->bodies, number));
    stream_room_control(s);
    Operand in = {.kind = IN_IMM_INT, .i = (int64_t)number};
    stream_inst(s,
                &(Inst){.op = OP_BODY,
                        .n_in = 1,
                        .in = &in,
                        .payload = h->forms.data,
                        .payload_bytes = h->forms.n},
                NULL, NULL, 0);
    h->of[number % BODIES_MAX].next = 0;
    h->of[number % BODIES_MAX].is_used = false;
    h->n_bodies++;
    return bodies_get(&h->bodies, number);
}

/* What ends here went out in full: the body of it, if it has been seen often enough. */
static Body *learn(Stream *s) {
    Hot *h = s->hot;
    if (h->is_too_long || h->n < h->min) return NULL;
    Body *b = map_get(&h->whole, h->hash);
    if (is_same(h, b)) {
        index_put(b->plan); /* what it was found by may have gone with another one */
        return b;
    }
    Seen *seen = &h->seen[h->hash % SEEN_MAX];
    uint32_t tag = (uint32_t)(h->hash >> 32);
    if (seen->tag != tag) *seen = (Seen){.tag = tag};
    if (++seen->count < h->threshold) return NULL;
    enum { MORE_OFTEN = 32 };
    bool is_full = bodies_first_to_go(&h->bodies, h->forms.n) != NULL;
    if (is_full && seen->count / MORE_OFTEN < h->threshold) return NULL;
    seen->count = 0;
    return define(s);
}

/* A time round that a frame's end would cut in two is in the next one: what was found out about it
 * is found out about all of it. */
static void end_frame(Stream *s, const Body *b) {
    Hot *h = s->hot;
    FrameWriter *w = &s->frame;
    size_t at = w->head ? w->head->n : 0, grown = at > h->edge_bytes ? at - h->edge_bytes : 0;
    h->edge_bytes = at;
    if (!b || !at || b->n > HOT_INSTS || grown > FRAME_BYTES) return;
    if (w->count + b->n <= HOT_INSTS && at + grown <= FRAME_BYTES) return;
    stream_send(s);
    h->edge_bytes = 0;
}

void hot_edge(Stream *s, bool is_put_in) {
    Hot *h = s->hot;
    if (!is_put_in) h->periods.n = 0, h->periods.has_edges = true;
    FrameWriter *w = &s->frame;
    Body *b = (Body *)w->body;
    if (b && !h->is_astray) {
        h->n_runs++;
        h->n_expanded++;
        h->of[b->number % BODIES_MAX].is_used = true;
    } else {
        h->n_expanded = 0;
        b = learn(s);
    }
    if (h->last && b) h->of[(h->last - 1) % BODIES_MAX].next = b->number + 1;
    uint64_t next = b ? h->of[b->number % BODIES_MAX].next : 0;
    Body *expected = next ? bodies_get(&h->bodies, next - 1) : b;
    if (expected != b || h->n_expanded >= h->expand_max) { /* begins a record of its own */
        frame_expect(w, NULL, 0);
        h->n_expanded = 0;
    }
    frame_expect(w, expected, 0);
    end_frame(s, expected);
    h->last = b ? b->number + 1 : 0;
    h->n = 0;
    h->forms.n = 0;
    h->is_astray = h->is_too_long = false;
}
