/* detector.c: the known bodies of a stream, and the prediction of what comes next (detector.h).
 *
 * The table holds a limited number of bodies, and those in use stay. A new body would evict the
 * oldest; before it is defined, each of those that was used since it got its number gets a new
 * number, and so is the youngest. When the table is full, a body must repeat more often before it
 * is defined: if more bodies repeat than fit, they would all evict one another.
 *
 * After each body, the detector expects the body that followed it last time. If an instruction is
 * not the expected one, another body may have the same beginning and this instruction. If none has,
 * the instructions up to the edge are sent in full, and the whole iteration is a candidate for a
 * body. So the prediction affects only the number of bytes, and nothing waits for an edge.
 *
 * A stream without edges (instruction files, recursion, lines typed again and again) gets them.
 * If each instruction with results has equalled (in operation, attributes and place in the
 * source) the p-th such instruction before it for long enough, an edge is inserted, and from
 * then on one every p, until the pattern breaks. An edge has no other meaning.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/detector.h"
#include "runtime/wire/body.h"
#include "runtime/base/env.h"
#include "runtime/base/map.h"
#include <stdlib.h>
#include <string.h>

enum {
    /* Between 800 iterations of a loop, 24,000 candidates that never recur: with 2048 to 32768 the
     * loop goes as hot records, with 512 a ninth of it. */
    SEEN_MAX = 8192,
    PERIOD_MAX = 1024, /* instructions with results between two edges that are inserted */
};

/* Recent instructions, by a hash without operands. */
typedef struct Periods {
    uint64_t recent[PERIOD_MAX]; /* by number modulo PERIOD_MAX */
    uint64_t last[PERIOD_MAX];   /* by hash modulo PERIOD_MAX: the number of the last one with it */
    uint64_t n;
    uint32_t period, run; /* the last `run` ones each equalled the one `period` before */
    uint32_t left;        /* until an edge is due; 0: none is inserted */
} Periods;

/* Counts of bodies that are not defined yet, or were evicted, by hash. */
typedef struct Seen {
    uint32_t tag; /* of the hash */
    uint32_t count;
} Seen;

struct Detector {
    DetectorConfig config;
    DetectorHost host;
    Bodies bodies;       /* as the readers of the stream know them */
    Map prefixes, whole; /* -> Body, by the hash of its first forms, of all its forms */
    Seen *seen;          /* SEEN_MAX of them; NULL: there was no edge so far */
    struct {
        uint64_t next; /* the body that followed it, plus 1 */
        bool is_used;  /* since it got its number */
    } of[BODIES_MAX];  /* by number */
    size_t edge_bytes; /* of the frame, at the last edge */
    uint64_t last;     /* the body before this one, plus 1; 0: it was not a body */
    Periods *periods;  /* NULL: not needed so far */
    uint32_t no_edges; /* instructions until edges may be inserted, because the loop has its own */
    uint64_t round;    /* detector_repeats: the hash of the instructions since the edge ... */
    uint32_t n_round;  /* ... and their number */
    /* Since the edge: */
    uint32_t n;      /* instructions */
    bool is_unknown; /* no known body begins like this */
    bool is_too_long;
    uint64_t hash;       /* of forms */
    Bytes forms;         /* if is_unknown or nothing is expected: of all of them */
    uint32_t n_expanded; /* iterations of the body in the open record */
    DetectorCounts counts;
};

static uint32_t knob(const char *name, uint32_t most) {
    int64_t v = env_int(name);
    return v > most ? most : (uint32_t)v;
}

DetectorConfig detector_config(void) {
    return (DetectorConfig){.threshold = knob("GT_HOTPATH_THRESHOLD", UINT32_MAX),
                            .min = knob("GT_HOTPATH_MIN_SEQ", BODY_INSTS),
                            .window = knob("GT_HOTPATH_WINDOW", BODY_INSTS),
                            .expand_max = knob("GT_HOTPATH_MAX_EXPAND", HOT_INSTS)};
}

Detector *detector_new(const DetectorConfig *config, const DetectorHost *host) {
    if (!config->threshold) return NULL;
    Detector *d = xcalloc(1, sizeof *d);
    d->config = *config;
    d->host = *host;
    d->hash = d->round = config->seed;
    size_t most = config->bytes_max;
    d->bodies.may_insert = true; /* whether or not its writer inserts */
    d->bodies.bytes_max = most && most < BODY_BYTES ? BODY_BYTES : most;
    return d;
}

void detector_free(Detector **dp) {
    Detector *d = *dp;
    *dp = NULL;
    if (!d) return;
    bodies_fini(&d->bodies);
    map_fini(&d->prefixes), map_fini(&d->whole);
    bytes_fini(&d->forms);
    free(d->seen);
    free(d->periods);
    free(d);
}

DetectorCounts detector_counts(const Detector *d) { return d ? d->counts : (DetectorCounts){0}; }

/* Returns the counter of this hash. */
static Seen *seen_of(Detector *d, uint64_t hash) {
    if (!d->seen) d->seen = xcalloc(SEEN_MAX, sizeof *d->seen);
    Seen *seen = &d->seen[hash % SEEN_MAX];
    uint32_t tag = (uint32_t)(hash >> 32);
    if (seen->tag != tag) *seen = (Seen){.tag = tag};
    return seen;
}

/* ---- Finding bodies ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* The hash of forms with one more appended. A form's length field counts what follows it in a
 * record, so it is left out. Forms are padded to eight bytes. */
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

/* Body.plan: the hashes by which it is found. */
typedef struct Index {
    Detector *detector;
    Body *body;
    uint64_t hash[]; /* of its first 1, 2, ... forms */
} Index;

static void index_put(Index *x) {
    const Body *b = x->body;
    for (uint32_t i = 0; i < b->n; i++) map_put(&x->detector->prefixes, x->hash[i], x->body);
    map_put(&x->detector->whole, x->hash[b->n - 1], x->body);
}

static void index_free(void *ctx) {
    Index *x = ctx;
    Map *prefixes = &x->detector->prefixes, *whole = &x->detector->whole;
    uint32_t n = x->body->n;
    for (uint32_t i = 0; i < n; i++)
        if (map_get(prefixes, x->hash[i]) == x->body) map_remove(prefixes, x->hash[i]);
    if (map_get(whole, x->hash[n - 1]) == x->body) map_remove(whole, x->hash[n - 1]);
    free(x);
}

static void index_new(Detector *d, Body *b) {
    Index *x = xmalloc(sizeof *x + b->n * sizeof x->hash[0]);
    x->detector = d, x->body = b;
    uint64_t hash = d->config.seed;
    for (uint32_t i = 0; i < b->n; i++)
        hash = x->hash[i] = hash_form(hash, b->bytes + b->form[i].at, b->form[i].bytes);
    b->plan = x;
    b->plan_free = index_free;
    index_put(x);
}

/* ---- In a body ---- */

/* Returns a body that begins with the forms collected so far and this one, which together have
 * d->hash. */
static Body *other_body(const Detector *d, const uint8_t *form, size_t n) {
    Body *b = map_get(&d->prefixes, d->hash);
    if (!b || b->n <= d->n || !bodies_get(&d->bodies, b->number)) return NULL;
    const BodyForm *f = &b->form[d->n];
    bool is = f->at == d->forms.n && f->bytes == n &&
              !memcmp(b->bytes + f->at + 4, form + 4, n - 4) &&
              !memcmp(b->bytes, d->forms.data, d->forms.n);
    return is ? b : NULL;
}

static void keep_form(Detector *d, const void *form, size_t n) {
    if (d->n >= d->config.window || d->forms.n + n > BODY_BYTES || n > BODY_FORM_BYTES)
        d->is_too_long = true;
    if (d->is_too_long) return;
    size_t at = d->forms.n;
    bytes_add(&d->forms, form, n);
    uint32_t length = (uint32_t)n;
    memcpy(d->forms.data + at, &length, 4);
}

/* So far everything was as expected: the forms are the beginning of b. (They can be longer only
 * if edges are not instructions: then the next inserted edge comes after the end of b.) */
static void unfold(Detector *d, const Body *b) {
    d->is_too_long = d->n > b->n;
    if (d->is_too_long) return;
    d->forms.n = 0;
    bytes_add(&d->forms, b->bytes, d->n < b->n ? b->form[d->n].at : b->n_bytes);
    d->hash = d->n ? ((const Index *)b->plan)->hash[d->n - 1] : d->config.seed;
}

void detector_added(Detector *d, FrameWriter *w) {
    size_t n;
    const void *form = frame_form(w, &n);
    if (!form) {
        d->n++;
        d->counts.instructions++;
        return;
    }
    if (!d->is_unknown && w->body) unfold(d, w->body);
    d->hash = hash_form(d->hash, form, n);
    if (!d->is_unknown) {
        Body *b = d->is_too_long ? NULL : other_body(d, form, n);
        if (b && frame_refold(w, b, d->n)) {
            d->forms.n = 0;
            d->n_expanded = 0;
            d->n++;
            d->counts.instructions++;
            return;
        }
        d->is_unknown = true;
        frame_expect(w, NULL, 0);
    }
    keep_form(d, form, n);
    d->n++;
}

/* ---- Streams without edges ---- */

/* The hash of an instruction without its operands. */
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

/* Returns the period if an edge is due; else 0. */
static uint32_t due(Detector *d, uint64_t hash) {
    if (!d->periods) d->periods = xcalloc(1, sizeof *d->periods);
    Periods *p = d->periods;
    if (d->no_edges) {
        if (--d->no_edges == 0) *p = (Periods){0};
        return 0;
    }
    uint64_t i = p->n++;
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
    uint32_t longest = d->config.window < PERIOD_MAX ? d->config.window : PERIOD_MAX - 1;
    uint32_t step = p->period; /* short periods are combined */
    while (step && step < d->config.min) step += p->period;
    bool is_due = p->left ? --p->left == 0
                          : is_again && step <= longest && p->run >= step * d->config.threshold;
    if (is_due) p->left = step;
    return is_due ? step : 0;
}

bool detector_is_edge_due(Detector *d, const Inst *in) {
    return due(d, d->no_edges ? 0 : hash_inst(in)) > 0;
}

/* At an edge: returns the number of instructions since the last one if they repeat; else 0. */
static uint32_t round_ends(Detector *d) {
    uint32_t n = d->n_round;
    Seen *seen = seen_of(d, d->round);
    d->n_round = 0;
    d->round = d->config.seed;
    d->no_edges = d->config.window + 1;
    if (n < d->config.min || n > d->config.window) return 0;
    uint32_t enough = d->config.threshold + 1; /* at the threshold the client defines it itself */
    if (seen->count < enough) seen->count++;
    return seen->count < enough ? 0 : n;
}

uint32_t detector_repeats(Detector *d, const Inst *in) {
    d->n_round++;
    if (in->op == OP_EDGE) return round_ends(d);
    if (!in->n_out) return 0;
    uint64_t hash = hash_inst(in);
    d->round = mix(d->round, hash);
    return due(d, hash);
}

void detector_forget(Detector *d) {
    if (d->periods) *d->periods = (Periods){0};
    if (d->seen) memset(d->seen, 0, SEEN_MAX * sizeof *d->seen);
    d->round = d->config.seed;
    d->n_round = d->no_edges = 0;
}

/* ---- At an edge ---- */

/* True if the instructions sent in full are body b. */
static bool is_same(const Detector *d, const Body *b) {
    return b && b->n_bytes == d->forms.n && !memcmp(b->bytes, d->forms.data, d->forms.n);
}

/* Makes b, the oldest, the youngest. */
static void keep(Detector *d, FrameWriter *w, const Body *b) {
    uint64_t old = b->number, number = d->bodies.next;
    d->of[number % BODIES_MAX] = d->of[old % BODIES_MAX];
    d->of[number % BODIES_MAX].is_used = false;
    for (int i = 0; i < BODIES_MAX; i++)
        if (d->of[i].next == old + 1) d->of[i].next = number + 1;
    if (d->last == old + 1) d->last = number + 1;
    bodies_rename(&d->bodies, number, old);
    Operand in[] = {{.kind = IN_IMM_INT, .i = (int64_t)number},
                    {.kind = IN_IMM_INT, .i = (int64_t)old}};
    d->host.define(d->host.ctx, w, &(Inst){.op = OP_BODY, .n_in = 2, .in = in});
}

/* Called before the collected forms are defined. */
static void keep_used(Detector *d, FrameWriter *w) {
    const Body *b; /* kept once: then it counts as unused */
    while ((b = bodies_first_to_go(&d->bodies, d->forms.n)) != NULL &&
           d->of[b->number % BODIES_MAX].is_used)
        keep(d, w, b);
}

static Body *define(Detector *d, FrameWriter *w) {
    keep_used(d, w);
    uint64_t number = d->bodies.next;
    if (!bodies_define(&d->bodies, number, d->forms.data, d->forms.n, NULL)) return NULL;
    bodies_sweep(&d->bodies); /* nothing is expected now */
    index_new(d, bodies_get(&d->bodies, number));
    Operand in = {.kind = IN_IMM_INT, .i = (int64_t)number};
    d->host.define(d->host.ctx, w,
                   &(Inst){.op = OP_BODY,
                           .n_in = 1,
                           .in = &in,
                           .payload = d->forms.data,
                           .payload_bytes = d->forms.n});
    d->of[number % BODIES_MAX].next = 0;
    d->of[number % BODIES_MAX].is_used = false;
    d->counts.bodies++;
    return bodies_get(&d->bodies, number);
}

/* The instructions since the edge were sent in full. Returns their body if it has repeated often
 * enough. */
static Body *learn(Detector *d, FrameWriter *w) {
    if (d->is_too_long || d->n < d->config.min) return NULL;
    Body *b = map_get(&d->whole, d->hash);
    if (is_same(d, b)) {
        index_put(b->plan); /* the evicted body may have removed its entries */
        return b;
    }
    Seen *seen = seen_of(d, d->hash);
    uint32_t threshold = d->config.threshold;
    if (++seen->count < threshold) return NULL;
    /* Of 300 bodies by turns, 41 % of the instructions go as hot records; with 4, 8 and 16 it is
     * 27, 36 and 40 %, with 64 and 128 it is 42 %. But a loop of 300 iterations after these is
     * defined at the 64th, with 128 at the 256th. */
    enum { MORE_OFTEN = 32 };
    bool is_full = bodies_first_to_go(&d->bodies, d->forms.n) != NULL;
    if (is_full && seen->count / MORE_OFTEN < threshold) return NULL;
    seen->count = 0;
    return define(d, w);
}

/* Ends the frame if its limit would split the next iteration: notes on a body cover whole
 * iterations. */
static void end_frame(Detector *d, FrameWriter *w, const Body *b) {
    size_t at = w->head ? w->head->n : 0, grown = at > d->edge_bytes ? at - d->edge_bytes : 0;
    d->edge_bytes = at;
    if (!d->host.end_frame || !b || !at || b->n > HOT_INSTS || grown > FRAME_BYTES) return;
    bool has_record = w->hot_at || w->records + 1 < FRAME_INSTS; /* for the next iteration */
    if (has_record && w->count + b->n <= HOT_INSTS && at + grown <= FRAME_BYTES) return;
    d->host.end_frame(d->host.ctx, w);
    d->edge_bytes = 0;
}

/* An edge has just passed. */
static void begin(Detector *d) {
    d->n = 0;
    d->forms.n = 0;
    d->hash = d->config.seed;
    d->is_unknown = d->is_too_long = false;
}

void detector_edge(Detector *d, FrameWriter *w, bool is_put_in) {
    if (!is_put_in) d->no_edges = d->config.window + 1;
    Body *b = d->is_unknown ? NULL : (Body *)w->body;
    if (b && d->n == b->n) {
        d->counts.runs++;
        d->n_expanded++;
        d->of[b->number % BODIES_MAX].is_used = true;
    } else {
        if (b) unfold(d, b);
        frame_expect(w, NULL, 0);
        d->n_expanded = 0;
        b = learn(d, w);
    }
    if (d->last && b) d->of[(d->last - 1) % BODIES_MAX].next = b->number + 1;
    uint64_t next = b ? d->of[b->number % BODIES_MAX].next : 0;
    Body *expected = next ? bodies_get(&d->bodies, next - 1) : b;
    if (expected != b || d->n_expanded >= d->config.expand_max) { /* begins a new record */
        frame_expect(w, NULL, 0);
        d->n_expanded = 0;
    }
    frame_expect(w, expected, 0);
    end_frame(d, w, expected);
    d->last = b ? b->number + 1 : 0;
    begin(d);
}

void detector_break(Detector *d, FrameWriter *w) {
    frame_expect(w, NULL, 0);
    begin(d);
    d->is_unknown = d->is_too_long = true;
    d->last = 0;
}
