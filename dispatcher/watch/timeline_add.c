/* timeline_add.c: a tape's lines, one at a time, as records of the timeline.
 *
 * A `done` line has a result's id and times. What else a slice shows comes from the lines before
 * it, which are kept by id (Asked): the source position and the signals from the client's line, the
 * time of sending and the operands from the dispatcher's. A conversion that the dispatcher inserts
 * gets the position of the instruction behind it, which needs it.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/timeline_effect.h"
#include <string.h>

/* A line, while it is read. */
typedef struct Line {
    int64_t at_ns;
    TapeEvent event;
    uint32_t client; /* 0: none */
    Word place;
    int rank; /* -1: none, or a group */
    Words w;  /* at the sixth column */
} Line;

/* The number of a word's text. */
static uint32_t intern_word(Timeline *t, Word w) {
    Bytes *text = &t->state->scratch;
    text->n = 0;
    word_text(w, text);
    return timeline_intern(t, text->data, text->n);
}

static bool bad(const Line *l, Word word, Err *err, const char *what) {
    return err_set(err, ERR_PARSE, "column %d: %s", (int)(word.s - l->w.begin) + 1, what);
}

/* ---- Lanes ---- */

/* The client's lane; NULL: there are too many. */
static ClientLane *lane_of(Timeline *t, uint32_t client) {
    TimelineState *st = t->state;
    uintptr_t i = (uintptr_t)map_get(&st->clients, client);
    if (i) return &t->client[i - 1];
    if (t->n_clients == CLIENTS_MAX || !timeline_room(t)) return NULL;
    ARRAY_ROOM(t->client, t->n_clients, t->clients_cap, 4);
    ARRAY_ROOM(st->client, t->n_clients, st->clients_cap, 4);
    st->client[t->n_clients] = (ClientState){0};
    t->client[t->n_clients++] =
        (ClientLane){.id = client, .joined_ns = TIMELINE_NO_TIME, .left_ns = TIMELINE_NO_TIME};
    map_put(&st->clients, client, (void *)(uintptr_t)t->n_clients);
    return &t->client[t->n_clients - 1];
}

/* rank < RANKS_MAX */
static WorkerLane *worker_of(Timeline *t, int rank) {
    while (t->n_workers <= rank) {
        ARRAY_ROOM(t->worker, t->n_workers, t->workers_cap, 4);
        t->worker[t->n_workers] = (WorkerLane){
            .rank = t->n_workers, .joined_ns = TIMELINE_NO_TIME, .left_ns = TIMELINE_NO_TIME};
        t->n_workers++;
    }
    t->worker[rank].is_known = true;
    return &t->worker[rank];
}

/* Notes activity, whether it is chosen or not. */
static void see(Timeline *t, int64_t from_ns, int64_t to_ns) {
    TimelineState *st = t->state;
    if (t->is_cut) return;
    if (!st->has_seen || from_ns < st->seen_begin_ns) st->seen_begin_ns = from_ns;
    if (!st->has_seen || to_ns > st->seen_end_ns) st->seen_end_ns = to_ns;
    st->has_seen = true;
}

void timeline_extend(Timeline *t, int64_t begin_ns, int64_t end_ns) {
    if (t->is_cut) return;
    if (!t->state->has_activity || begin_ns < t->begin_ns) t->begin_ns = begin_ns;
    if (!t->state->has_activity || end_ns > t->end_ns) t->end_ns = end_ns;
    t->state->has_activity = true;
}

static bool is_within(const Timeline *t, int64_t from_ns, int64_t to_ns) {
    const TimelineOptions *o = &t->options;
    return !(o->has_from && to_ns < o->from_ns) && !(o->has_to && from_ns > o->to_ns);
}

static bool is_of_client(const Timeline *t, uint32_t client) {
    return !t->options.client || t->options.client == client;
}

/* ---- Signals ---- */

/* The signal `name` inside `parent`; 0 if there are too many. */
static uint32_t signal_inside(Timeline *t, uint32_t parent, uint32_t name) {
    TimelineState *st = t->state;
    uint64_t key = (uint64_t)parent << 32 | name;
    uintptr_t known = (uintptr_t)map_get(&st->signals, key);
    if (known || t->n_signals == SIGNALS_MAX) return (uint32_t)known;
    ARRAY_ROOM(t->signal, t->n_signals, t->signals_cap, 16);
    ARRAY_ROOM(st->is_wanted, t->n_signals, st->wanted_cap, 16);
    uint32_t depth = parent ? t->signal[parent].depth + 1 : 0;
    if (depth == DEPTH_MAX) return 0;
    t->signal[t->n_signals] = (TimelineSignal){name, parent, depth};
    st->is_wanted[t->n_signals] = st->is_wanted[parent] || name == st->wanted;
    map_put(&st->signals, key, (void *)(uintptr_t)t->n_signals);
    return (uint32_t)t->n_signals++;
}

/* A client's program enters or leaves a signal. Bands stay open (end_ns TIMELINE_NO_TIME) until
 * then. */
static bool add_signal(Timeline *t, const Line *l, ClientLane *c, const InstWords *inst) {
    ClientState *open = &t->state->client[c - t->client];
    uint32_t name = intern_word(t, inst->first);
    if (word_is(inst->op, "signal enter")) {
        uint32_t signal = signal_inside(t, c->signal, name);
        if (!signal) return true;
        c->signal = signal;
        RECORD_PUSH(t, c->band, c->n_bands, c->bands_cap, 16,
                    (Band){.begin_ns = l->at_ns, .end_ns = TIMELINE_NO_TIME, .signal = signal});
        open->open[open->n_open++] = (uint32_t)c->n_bands - 1;
        return true;
    }
    uint32_t leaving = c->signal;
    while (leaving && t->signal[leaving].name != name) leaving = t->signal[leaving].parent;
    if (!leaving) return true; /* entered before the tape began */
    while (open->n_open > t->signal[leaving].depth)
        c->band[open->open[--open->n_open]].end_ns = l->at_ns;
    c->signal = t->signal[leaving].parent;
    return true;
}

/* ---- Instructions that were asked for ---- */

static ClientState *state_of(Timeline *t, const ClientLane *c) {
    return &t->state->client[c - t->client];
}

static Map *ids_of(Timeline *t, const ClientLane *c) { return &state_of(t, c)->by_id; }

static Asked *asked_find(Timeline *t, const ClientLane *c, uint64_t id, uint64_t *number) {
    TimelineState *st = t->state;
    uintptr_t k = c ? (uintptr_t)map_get(ids_of(t, c), id) : 0;
    if (!k || st->n_asked - (k - 1) > st->asked_cap) return NULL;
    if (number) *number = k - 1;
    return &st->asked[(k - 1) % st->asked_cap];
}

/* The ring doubles until it has ASKED_MAX; then the oldest gives way. */
static void asked_room(Timeline *t) {
    TimelineState *st = t->state;
    if (st->n_asked < st->asked_cap) return;
    if (st->asked_cap < ASKED_MAX) {
        st->asked_cap = st->asked_cap ? 2 * st->asked_cap : 256;
        st->asked = xrealloc(st->asked, st->asked_cap * sizeof *st->asked);
        return;
    }
    const Asked *old = &st->asked[st->n_asked % st->asked_cap];
    Map *ids = &st->client[old->client].by_id;
    if ((uintptr_t)map_get(ids, old->id) == st->n_asked - st->asked_cap + 1)
        map_remove(ids, old->id);
}

/* Adds an instruction whose first result has this id. */
static Asked *asked_add(Timeline *t, const ClientLane *c, uint64_t id, uint64_t *number) {
    TimelineState *st = t->state;
    asked_room(t);
    Asked *a = &st->asked[st->n_asked % st->asked_cap];
    *a = (Asked){
        .id = id, .client = (uint32_t)(c - t->client), .sent_ns = TIMELINE_NO_TIME, .rank = -1};
    *number = st->n_asked;
    map_put(ids_of(t, c), id, (void *)(uintptr_t)++st->n_asked);
    return a;
}

static void set_position(Timeline *t, const InstWords *inst, uint32_t *file, uint32_t *line) {
    if (!inst->line) return;
    *file = intern_word(t, inst->file);
    *line = inst->line;
}

static void set_operands(const InstWords *inst, Asked *a) {
    a->n_in = 0;
    for (int i = 0; i < inst->n_in && i < TIMELINE_INS; i++) a->in[a->n_in++] = inst->in[i];
}

static bool is_inserted_id(uint64_t id) { return id != UINT64_MAX && id >> 63; }

/* Gives the conversions that wait for a position that of the instruction after them. */
static void settle_pending(Timeline *t, uint32_t client, uint32_t file, uint32_t line,
                           uint32_t signal) {
    TimelineState *st = t->state;
    int kept = 0;
    for (int i = 0; i < st->n_pending; i++) {
        Asked *p = &st->asked[st->pending[i] % st->asked_cap];
        if (st->n_asked - st->pending[i] > st->asked_cap) continue;
        if (p->client == client)
            p->file = file, p->line = line, p->signal = signal;
        else
            st->pending[kept++] = st->pending[i];
    }
    st->n_pending = kept;
}

static TimelineGroup *group_of(Timeline *t, uint64_t id) {
    uintptr_t known = (uintptr_t)map_get(&t->state->groups, id);
    if (known) return &t->group[known - 1];
    if (t->n_groups == MAX_GROUPS || id > UINT32_MAX || !timeline_room(t)) return NULL;
    ARRAY_PUSH(t->group, t->n_groups, t->groups_cap, 8, (TimelineGroup){.id = (uint32_t)id});
    map_put(&t->state->groups, id, (void *)(uintptr_t)t->n_groups);
    return &t->group[t->n_groups - 1];
}

/* Learns that a group is this worker alone: the tape has no line for such a group. */
static void learn_group(Timeline *t, uint64_t id, int rank) {
    if (id == UINT64_MAX || rank < 0) return;
    TimelineGroup *g = group_of(t, id);
    if (!g || g->n) return;
    g->rank = xmalloc(sizeof *g->rank);
    g->rank[0] = (uint16_t)rank;
    g->n = 1;
}

static Op op_of(Word name) { return op_find(name.s, name.n); }

static bool add_received(Timeline *t, const Line *l, ClientLane *c, const InstWords *inst) {
    uint64_t number;
    Op op = op_of(inst->op);
    if (inst->out != UINT64_MAX) {
        Asked *a = asked_add(t, c, inst->out, &number);
        a->signal = c->signal;
        set_position(t, inst, &a->file, &a->line);
    } else {
        Effect e = {.asked_ns = l->at_ns, .sent_ns = TIMELINE_NO_TIME, .signal = c->signal};
        set_position(t, inst, &e.file, &e.line);
        effect_received(state_of(t, c), op, &e);
    }
    uint32_t before = c->signal;
    if (word_is(inst->op, "signal enter") || word_is(inst->op, "signal exit"))
        add_signal(t, l, c, inst);
    bool is_wanted = t->state->is_wanted[c->signal] || t->state->is_wanted[before];
    t->is_chosen = t->is_chosen && is_wanted; /* with the lines that enter and leave a signal */
    if (!t->is_chosen) return true;
    timeline_extend(t, l->at_ns, l->at_ns);
    if (op == OP_NOTE) {
        TimelineMark m = {.at_ns = l->at_ns, .event = l->event, .client = c->id, .rank = -1};
        m.text = intern_word(t, inst->first);
        set_position(t, inst, &m.file, &m.line);
        RECORD_PUSH(t, t->mark, t->n_marks, t->marks_cap, 16, m);
    }
    RECORD_PUSH(t, c->event, c->n_events, c->events_cap, 64,
                (TimelineEvent){.at_ns = l->at_ns,
                                .id = inst->out,
                                .client = c->id,
                                .op = (uint16_t)op,
                                .class_ = (uint8_t)watch_class(op)});
    return true;
}

/* An instruction with a result was sent. Returns its signal. */
static uint32_t note_sent(Timeline *t, const Line *l, const ClientLane *c, const InstWords *inst) {
    TimelineState *st = t->state;
    uint64_t number = 0;
    bool is_inserted = is_inserted_id(inst->out);
    Asked *a = asked_find(t, c, inst->out, &number);
    /* Ids of conversions are used again for other groups: the newest counts. */
    if (!a || is_inserted) a = asked_add(t, c, inst->out, &number), a->signal = c->signal;
    a->sent_ns = l->at_ns;
    a->from = (uint32_t)inst->from;
    a->has_from = inst->from <= UINT32_MAX;
    a->rank = l->rank;
    set_operands(inst, a);
    if (is_inserted && st->n_pending < PENDING_MAX)
        st->pending[st->n_pending++] = number;
    else if (!is_inserted)
        settle_pending(t, a->client, a->file, a->line, a->signal);
    return a->signal;
}

static bool add_sent(Timeline *t, const Line *l, ClientLane *c, const InstWords *inst) {
    TimelineState *st = t->state;
    Op op = op_of(inst->op);
    uint32_t signal = c->signal;
    bool is_inserted = is_inserted_id(inst->out);
    const Effect *e;
    learn_group(t, inst->on, l->rank);
    if (inst->out != UINT64_MAX)
        signal = note_sent(t, l, c, inst);
    else if ((e = effect_sent(state_of(t, c), op, l->at_ns)))
        settle_pending(t, (uint32_t)(c - t->client), e->file, e->line, signal = e->signal);
    t->is_chosen = t->is_chosen && st->is_wanted[signal];
    if (!t->is_chosen) return true;
    timeline_extend(t, l->at_ns, l->at_ns);
    RECORD_PUSH(t, t->sent, t->n_sent, t->sent_cap, 64,
                (TimelineEvent){.at_ns = l->at_ns,
                                .id = inst->out,
                                .client = c->id,
                                .op = (uint16_t)op,
                                .class_ = (uint8_t)watch_class(op),
                                .is_inserted = is_inserted});
    return true;
}

static bool add_inst(Timeline *t, Line *l, Err *err) {
    InstWords inst;
    Word here = {l->w.at, 0};
    if (!l->client) return bad(l, here, err, "a line of this event has a client in column 4");
    if (!inst_words(l->w.at, (size_t)(l->w.end - l->w.at), &inst))
        return bad(l, here, err, "an instruction is expected in column 6 of a tape");
    ClientLane *c = lane_of(t, l->client);
    if (!c) return true;
    see(t, l->at_ns, l->at_ns);
    t->is_chosen = is_within(t, l->at_ns, l->at_ns) && is_of_client(t, l->client);
    if (l->event == TAPE_RECEIVED) return add_received(t, l, c, &inst);
    if (word_is(inst.op, "hot")) return true; /* brackets of a hot body, not instructions */
    return add_sent(t, l, c, &inst);
}

/* ---- What workers report ---- */

static bool us_of(const Line *l, Word value, int64_t *ns, Err *err) {
    if (word_time(value, 1000, ns)) return true;
    return bad(l, value, err, "us= is a number of microseconds");
}

static bool number_of(const Line *l, Word value, uint64_t *out, Err *err) {
    if (word_number(value, INT64_MAX, out)) return true;
    return bad(l, value, err, "a whole number is expected after =");
}

/* "w1,w3" */
static bool add_ranks(Timeline *t, const Line *l, Word value, Slice *s, Err *err) {
    s->from = (uint32_t)t->n_ranks;
    for (size_t at = 0, n; at < value.n; at += n + 1) {
        uint64_t rank;
        const char *comma = memchr(value.s + at, ',', value.n - at);
        n = comma ? (size_t)(comma - value.s) - at : value.n - at;
        if (!word_place((Word){value.s + at, n}, 'w', RANKS_MAX - 1, &rank))
            return bad(l, value, err, "from= is a list of workers, such as w1,w3");
        if (!timeline_room(t)) return true;
        ARRAY_PUSH(t->rank, t->n_ranks, t->ranks_cap, 64, (uint16_t)rank);
        s->n_from++;
    }
    return true;
}

/* In a tape without from=, a transfer reads from the group that has its operand. A group without a
 * line is one worker: the one that made the operand. */
static void derive_ranks(Timeline *t, const ClientLane *c, const Asked *a, int rank, Slice *s) {
    const Asked *made = a->has_from && a->n_in ? asked_find(t, c, a->in[0], NULL) : NULL;
    if (made && !map_get(&t->state->groups, a->from)) learn_group(t, a->from, made->rank);
    uintptr_t known = a->has_from ? (uintptr_t)map_get(&t->state->groups, a->from) : 0;
    if (!known) return;
    const TimelineGroup *g = &t->group[known - 1];
    s->from = (uint32_t)t->n_ranks;
    for (int i = 0; i < g->n; i++) {
        if (g->rank[i] == rank) continue;
        if (!timeline_room(t)) return;
        ARRAY_PUSH(t->rank, t->n_ranks, t->ranks_cap, 64, g->rank[i]);
        s->n_from++;
    }
}

/* *heaviest: for a kernel of several operations, the id of the one that it is named after. */
static bool read_done(Timeline *t, Line *l, Slice *s, uint64_t *heaviest, Err *err) {
    Word word, key, value;
    int64_t ns = 0;
    if (word_next(&l->w, &word) && !word_is(word, "-")) {
        const char *comma = memchr(word.s, ',', word.n);
        if (comma) word.n = (size_t)(comma - word.s);
        if (!word_id(word, &s->id))
            return bad(l, word, err, "an id such as t12, or -, is expected after done");
    }
    while (word_next(&l->w, &word)) {
        if (!word_pair(word, &key, &value)) continue;
        if (word_is(key, "us")) {
            TRY(us_of(l, value, &ns, err));
        } else if (word_is(key, "bytes")) {
            TRY(number_of(l, value, &s->bytes, err));
        } else if (word_is(key, "moved")) {
            TRY(number_of(l, value, &s->moved, err));
            s->has_moved = t->has_moved = true;
        } else if (word_is(key, "op")) {
            Op op = op_of(value);
            s->op = (uint16_t)op;
            s->class_ = (uint8_t)watch_class(op);
            s->name = timeline_intern(t, value.s, value.n);
        } else if (word_is(key, "of")) {
            if (!word_id(value, heaviest)) return bad(l, value, err, "of= is an id such as t12");
        } else if (word_is(key, "from")) {
            TRY(add_ranks(t, l, value, s, err));
        }
    }
    s->begin_ns = l->at_ns - ns;
    return true;
}

/* Cuts a time to the tape and to the window. */
static void cut(const Timeline *t, int64_t *begin_ns, int64_t *end_ns) {
    const TimelineOptions *o = &t->options;
    if (*begin_ns < 0) *begin_ns = 0; /* it began before the tape */
    if (o->has_from && *begin_ns < o->from_ns) *begin_ns = o->from_ns;
    if (o->has_to && *end_ns > o->to_ns) *end_ns = o->to_ns;
}

static void add_operands(Timeline *t, const Asked *a, Slice *s) {
    s->in = (uint32_t)t->n_operands;
    for (int i = 0; i < a->n_in && timeline_room(t); i++) {
        ARRAY_PUSH(t->operand, t->n_operands, t->operands_cap, 256, a->in[i]);
        s->n_in++;
    }
}

static bool add_done(Timeline *t, Line *l, Err *err) {
    Slice s = {.end_ns = l->at_ns,
               .sent_ns = TIMELINE_NO_TIME,
               .id = TIMELINE_NO_ID,
               .client = l->client,
               .seq = (uint32_t)t->n_lines + 1,
               .op = OP_COUNT,
               .class_ = WATCH_OTHER};
    uint64_t heaviest = TIMELINE_NO_ID;
    TRY(read_done(t, l, &s, &heaviest, err));
    see(t, s.begin_ns, s.end_ns);
    const ClientLane *c = l->client ? lane_of(t, l->client) : NULL;
    Effect e;
    if (c && s.id == TIMELINE_NO_ID && effect_done(state_of(t, c), (Op)s.op, s.end_ns, &e))
        s.sent_ns = e.sent_ns, s.file = e.file, s.line = e.line, s.signal = e.signal;
    const Asked *a = s.id == TIMELINE_NO_ID ? NULL : asked_find(t, c, s.id, NULL);
    if (a) {
        s.sent_ns = a->sent_ns;
        s.file = a->file, s.line = a->line, s.signal = a->signal;
        const Asked *of = heaviest == TIMELINE_NO_ID ? NULL : asked_find(t, c, heaviest, NULL);
        if (of) s.file = of->file, s.line = of->line;
        if (!s.n_from && s.class_ == WATCH_TRANSFER) derive_ranks(t, c, a, l->rank, &s);
    }
    t->is_chosen = is_within(t, s.begin_ns, s.end_ns) && is_of_client(t, l->client) &&
                   t->state->is_wanted[s.signal];
    if (!t->is_chosen) return true;
    WorkerLane *w = worker_of(t, l->rank);
    if (a) add_operands(t, a, &s);
    cut(t, &s.begin_ns, &s.end_ns);
    timeline_extend(t, s.begin_ns, s.end_ns);
    if (s.class_ == WATCH_TRANSFER)
        RECORD_PUSH(t, w->transfer, w->n_transfers, w->transfers_cap, 64, s);
    else
        RECORD_PUSH(t, w->slice, w->n_slices, w->slices_cap, 64, s);
    return true;
}

/* Returns -1 for a cause that only a later version knows. */
static int cause_of(Word w) {
    for (int i = 0; i < IDLE_WHYS; i++)
        if (word_is(w, idle_why_name[i])) return i;
    return -1;
}

static bool add_idle(Timeline *t, Line *l, Err *err) {
    Word word, key, value;
    int64_t ns = 0;
    uint64_t rank;
    Idle idle = {.end_ns = l->at_ns, .cause = -1, .on = -1};
    while (word_next(&l->w, &word)) {
        if (!word_pair(word, &key, &value)) continue;
        if (word_is(key, "us")) {
            TRY(us_of(l, value, &ns, err));
        } else if (word_is(key, "why")) {
            idle.cause = cause_of(value);
        } else if (word_is(key, "on")) {
            if (!word_place(value, 'w', RANKS_MAX - 1, &rank))
                return bad(l, value, err, "on= is a worker, such as w1");
            idle.on = (int)rank;
        } else if (word_is(key, "op")) {
            idle.name = timeline_intern(t, value.s, value.n);
        }
    }
    idle.begin_ns = l->at_ns - ns;
    t->is_chosen = is_within(t, idle.begin_ns, idle.end_ns) && !t->options.signal;
    if (!t->is_chosen || idle.cause < 0 || t->options.client) return true;
    WorkerLane *w = worker_of(t, l->rank);
    cut(t, &idle.begin_ns, &idle.end_ns);
    RECORD_PUSH(t, w->idle, w->n_idle, w->idle_cap, 32, idle);
    return true;
}

static bool add_compile(Timeline *t, Line *l, Err *err) {
    Word word, key, value;
    int64_t ns = 0;
    uint64_t n_ops = 0;
    Compile c = {.end_ns = l->at_ns};
    while (word_next(&l->w, &word)) {
        if (!word_pair(word, &key, &value)) continue;
        if (word_is(key, "us")) TRY(us_of(l, value, &ns, err));
        if (word_is(key, "ops")) TRY(number_of(l, value, &n_ops, err));
        if (word_is(key, "key")) c.key = timeline_intern(t, value.s, value.n);
    }
    c.begin_ns = l->at_ns - ns;
    c.n_ops = n_ops < UINT32_MAX ? (uint32_t)n_ops : UINT32_MAX;
    t->is_chosen = is_within(t, c.begin_ns, c.end_ns) && !t->options.signal;
    if (!t->is_chosen) return true;
    WorkerLane *w = worker_of(t, l->rank);
    cut(t, &c.begin_ns, &c.end_ns);
    RECORD_PUSH(t, w->compile, w->n_compiles, w->compiles_cap, 16, c);
    return true;
}

static bool add_memory(Timeline *t, Line *l, Err *err) {
    Word word, key, value;
    MemorySample m = {.at_ns = l->at_ns};
    while (word_next(&l->w, &word)) {
        if (!word_pair(word, &key, &value)) continue;
        if (word_is(key, "bytes")) TRY(number_of(l, value, &m.bytes, err));
        if (word_is(key, "limit")) TRY(number_of(l, value, &m.limit, err));
    }
    t->is_chosen = is_within(t, l->at_ns, l->at_ns) && !t->options.signal;
    if (!t->is_chosen) return true;
    WorkerLane *w = worker_of(t, l->rank);
    RECORD_PUSH(t, w->sample, w->n_samples, w->samples_cap, 32, m);
    return true;
}

static bool add_report(Timeline *t, Line *l, Err *err) {
    Word word = {0};
    Word here = {l->w.at, 0};
    if (l->rank < 0) return bad(l, here, err, "a line of event < has a worker in column 5");
    t->is_chosen = false;
    if (!word_next(&l->w, &word)) return bad(l, here, err, "column 6 of a tape is missing");
    if (word_is(word, "done")) return add_done(t, l, err);
    if (word_is(word, "idle")) return add_idle(t, l, err);
    if (word_is(word, "compile")) return add_compile(t, l, err);
    if (word_is(word, "memory")) return add_memory(t, l, err);
    return true; /* of a later version */
}

/* ---- What comes, leaves and fails ---- */

/* The text of the first quoted word. */
static uint32_t quoted(Timeline *t, Words w) {
    for (Word word; word_next(&w, &word);)
        if (*word.s == '"') return intern_word(t, word);
    return 0;
}

static bool add_mark(Timeline *t, const Line *l, uint32_t text) {
    InstWords inst;
    TimelineMark m = {
        .at_ns = l->at_ns, .event = l->event, .client = l->client, .rank = l->rank, .text = text};
    if (l->event == TAPE_FAILED) {
        t->n_failures++;
        if (inst_words(l->w.at, (size_t)(l->w.end - l->w.at), &inst))
            set_position(t, &inst, &m.file, &m.line);
    }
    RECORD_PUSH(t, t->mark, t->n_marks, t->marks_cap, 16, m);
    return true;
}

/* error print "why" @a.gt:3: a failed effect is not done. */
static void forget_failed(Timeline *t, const Line *l) {
    InstWords inst;
    Effect e;
    ClientLane *c = l->client ? lane_of(t, l->client) : NULL;
    if (c && inst_words(l->w.at, (size_t)(l->w.end - l->w.at), &inst))
        effect_done(state_of(t, c), op_of(inst.first), l->at_ns, &e);
}

static bool add_failed(Timeline *t, const Line *l) {
    forget_failed(t, l);
    t->is_chosen = is_within(t, l->at_ns, l->at_ns) && is_of_client(t, l->client);
    if (!t->is_chosen) return true;
    timeline_extend(t, l->at_ns, l->at_ns);
    return add_mark(t, l, quoted(t, l->w));
}

/* group w0 w1 ... */
static bool add_group(Timeline *t, Line *l, uint64_t id, Err *err) {
    Word word;
    uint64_t rank;
    uint16_t ranks[MAX_WORKERS];
    int n = 0;
    while (word_next(&l->w, &word)) {
        if (!word_place(word, 'w', RANKS_MAX - 1, &rank) || n == MAX_WORKERS)
            return bad(l, word, err, "a group is a list of workers, such as w0 w1");
        ranks[n++] = (uint16_t)rank;
    }
    TimelineGroup *g = group_of(t, id);
    if (!g || !n) return true;
    t->state->n_records += (size_t)n / 8;
    g->rank = xrealloc(g->rank, (size_t)n * sizeof *g->rank);
    memcpy(g->rank, ranks, (size_t)n * sizeof *ranks);
    g->n = n;
    return true;
}

static bool add_coming(Timeline *t, Line *l, Err *err) {
    Word word = {0};
    uint64_t group;
    Words rest = l->w;
    bool comes = l->event == TAPE_COMES;
    if (!word_next(&l->w, &word)) return true;
    t->is_chosen = true; /* a part of a tape also says who was there */
    if (word_is(word, "group") && word_place(l->place, 'g', UINT32_MAX, &group))
        return add_group(t, l, group, err);
    if (l->rank >= 0) {
        WorkerLane *w = worker_of(t, l->rank);
        if (comes) w->engine = quoted(t, l->w);
        if (comes && w->joined_ns == TIMELINE_NO_TIME) w->joined_ns = l->at_ns;
        w->left_ns = comes ? TIMELINE_NO_TIME : l->at_ns;
    } else if (l->client) {
        ClientLane *c = lane_of(t, l->client);
        if (!c) return true;
        if (comes) c->name = quoted(t, l->w), c->joined_ns = l->at_ns;
        if (!comes) c->left_ns = l->at_ns;
        t->is_chosen = is_of_client(t, l->client);
    }
    l->w = rest;
    return t->is_chosen ? add_mark(t, l, 0) : true;
}

/* ---- Lines ---- */

static bool add_header(Timeline *t, const char *line, size_t n, Err *err) {
    if (n < 4 || memcmp(line, "gti ", 4) != 0)
        return err_set(err, ERR_PARSE, "column 1: a tape begins with the line 'gti 1 kind=tape'");
    if (!tape_is_header(line, n)) {
        err_set(err, ERR_PARSE, "column 1: this is a program, not the tape of a run");
        return err_hint(err, "GT_INSTRUCTION_LOG=run.tape gtsh --replay FILE");
    }
    if (memcmp(line + 4, "1 ", 2) != 0)
        return err_set(err, ERR_VERSION, "column 5: this program reads tapes of version 1");
    t->is_chosen = true;
    return true;
}

/* The columns, which tape_read has checked. */
static bool read_columns(Line *l, Err *err) {
    Word word = {0};
    uint64_t rank;
    l->rank = -1;
    word_next(&l->w, &word);
    if (!word_time(word, 1000000000, &l->at_ns)) return bad(l, word, err, "the time is too large");
    for (int i = 1; i < 5; i++) word_next(&l->w, &word);
    l->place = word;
    if (word.s[0] != 'w') return true;
    if (!word_place(word, 'w', RANKS_MAX - 1, &rank))
        return bad(l, word, err, "there are at most 1024 workers, w0 to w1023");
    l->rank = (int)rank;
    return true;
}

static bool add_line(Timeline *t, const char *line, size_t n, Err *err) {
    TapeLine columns;
    if (t->n_lines == 0 && (n < 1 || line[0] < '0' || line[0] > '9'))
        return add_header(t, line, n, err);
    TRY(tape_read(line, n, &columns, err));
    Line l = {.event = columns.event, .client = columns.client, .w = {line, line, line + n}};
    TRY(read_columns(&l, err));
    t->at_ns = l.at_ns;
    switch (l.event) {
    case TAPE_RECEIVED:
    case TAPE_SENT: return add_inst(t, &l, err);
    case TAPE_DONE: return add_report(t, &l, err);
    case TAPE_FAILED: return add_failed(t, &l);
    default: return add_coming(t, &l, err);
    }
}

bool timeline_add(Timeline *t, const char *line, size_t n, Err *err) {
    t->is_chosen = false;
    if (t->is_enough) return true;
    if (n && line[n - 1] == '\r') n--;
    bool is_empty = n == 0 && t->n_lines > 0;
    if (!is_empty) TRY(add_line(t, line, n, err));
    t->n_lines++;
    if (!t->is_chosen) return true;
    if (t->options.chosen) t->options.chosen(t->options.ctx, line, n);
    bool is_header = line[0] == 'g';
    if (!is_header && ++t->n_chosen == t->options.events_max) t->is_enough = true;
    return true;
}
