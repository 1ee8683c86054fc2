/* stream.c: the client's end of the instruction stream: handles, ids, inference, and the encoding
 * of instructions, directly into the frame under construction (LIVE), as lines of text (EMIT), or
 * not at all (CHECK).
 *
 * Issuing an instruction waits until the stream is connected (stream_start), and while the window
 * is full (stream_room, stream_room_control). It runs no effects, unless Ctrl-C ends the wait.
 * Frees are issued before the next instruction. stream_link.c moves the frames, stream_reply.c
 * handles the replies.
 * SPDX-License-Identifier: MIT */
#include "lang/stream/stream_link.h"
#include "runtime/base/clock.h"
#include "lang/stream/stream_profile.h"
#include "lang/stream/stream_reply.h"
#include "lang/stream/stream_text.h"
#include "runtime/base/log.h"
#include "runtime/inst/inst_debug.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 8 }; /* operands whose types fit on the stack */

static void stream_inst(Stream *s, const Inst *inst, const TensorType *out, Slot *const *slot,
                        uint16_t len);

/* ---- Creating and freeing ---- */

/* The detector has found a hot body: sends its definition. */
static void define_body(void *ctx, FrameWriter *w, const Inst *body) {
    Stream *s = ctx;
    assert(w == &s->frame);
    stream_room_control(s);
    stream_inst(s, body, NULL, NULL, 0);
}

static void end_frame(void *ctx, FrameWriter *w) {
    (void)w;
    stream_send(ctx);
}

void stream_look_for_bodies(Stream *s) {
    DetectorConfig hot = detector_config();
    DetectorHost host = {.ctx = s, .define = define_body, .end_frame = end_frame};
    detector_free(&s->hot);
    s->hot = detector_new(&hot, &host);
}

Stream *stream_new(const StreamConfig *config) {
    Stream *s = xcalloc(1, sizeof *s);
    s->config = *config;
    s->mode = config->mode;
    s->poll_seq = s->mode == STREAM_LIVE ? POLL_INSTS : UINT64_MAX;
    if (s->config.answer_ms <= 0) s->config.answer_ms = ANSWER_MS;
    if (config->endpoint) s->config.endpoint = s->endpoint = xstrdup(config->endpoint);
    if (s->mode == STREAM_LIVE) stream_look_for_bodies(s);
    if (s->mode == STREAM_LIVE && config->profile) s->profile = profile_counts_new();
    stream_text_open(s);
    return s;
}

void stream_free(Stream **sp) {
    Stream *s = *sp;
    *sp = NULL;
    if (!s) return;
    stream_close(s);
    stream_drop_effects(s);
    for (SlotBlock *b = s->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    for (int i = 0; i < s->n_causes; i++) free(s->cause[i]);
    for (size_t i = 0; i < s->n_sources; i++) free((char *)s->names[i]);
    if (s->frame.head) {
        Msg m;
        frame_end(&s->frame, &m);
        msg_fini(&m);
    }
    detector_free(&s->hot);
    arena_fini(&s->arena);
    stream_text_close(s);
    free(s->endpoint);
    for (int i = 0; i < s->n_early; i++) arena_fini(&s->early[i].arena);
    free(s->early);
    free(s->frees);
    free(s->sources);
    free(s->names);
    free(s->made);
    fifo_fini(&s->sent);
    fifo_fini(&s->effects);
    bytes_fini(&s->stats);
    map_fini(&s->emitted);
    profile_counts_free(&s->profile);
    free(s);
}

StreamMode stream_mode(const Stream *s) { return s->mode; }
const char *stream_endpoint(const Stream *s) { return s->endpoint; }

bool stream_set_workers(Stream *s, int n) {
    if (s->is_started) return n == s->config.workers;
    s->config.workers = n;
    return true;
}

bool stream_workers(Stream *s, int *n, LangError *e) {
    if (s->endpoint && s->mode == STREAM_LIVE && !s->is_started) TRY(stream_start(s, (Span){0}, e));
    *n = s->is_started && s->endpoint ? (int)s->welcome.n_workers : s->config.workers;
    return true;
}

bool stream_has_devices(const Stream *s) {
    return s->is_started && !strncmp(s->welcome.engine, "cuda", 4);
}

bool stream_connect(Stream *s, const char *endpoint, Span at, LangError *e) {
    if (stream_is_lost(s) && !s->config.prompt) return stream_lost(s, at, e);
    if (stream_is_lost(s)) stream_reset(s);
    if (s->endpoint && strcmp(s->endpoint, endpoint) == 0 && s->is_started) return true;
    if (s->is_started) {
        const char *to = s->endpoint ? s->endpoint : "workers of its own";
        error_at(e, at, "already connected to %s", to);
        return error_hint(e, "connect before the first tensor, or: gtsh -d %s",
                          strncmp(endpoint, "tcp://", 6) ? endpoint : endpoint + 6);
    }
    if (s->mode != STREAM_LIVE) return true;
    char *before = s->endpoint;
    s->config.endpoint = s->endpoint = xstrdup(endpoint);
    bool ok = stream_start(s, at, e);
    if (!ok) {
        free(s->endpoint);
        s->config.endpoint = s->endpoint = before;
        return false;
    }
    free(before);
    return true;
}
bool stream_is_lost(const Stream *s) { return s->is_started && s->is_gone; }

bool stream_take_loss(Stream *s, LangError *e) {
    if (!stream_is_lost(s) || s->is_loss_reported) return false;
    stream_lost(s, (Span){0}, e);
    return true;
}

uint32_t stream_client(const Stream *s) { return s->is_welcome ? s->welcome.id : 0; }
uint64_t stream_tensors(const Stream *s) { return s->n_live; }
void stream_input(Stream *s) { s->input_seq = s->next_seq; }

const char *stream_cancelled(const Stream *s) { return s->cancelled; }

uint64_t stream_count(const Stream *s) { return s->next_seq; }
uint64_t stream_done(const Stream *s) {
    return s->config.mode == STREAM_LIVE ? s->acked_seq : s->next_seq;
}

/* ---- Handles ---- */

static Slot *slot_new(Stream *s, uint64_t id, const TensorType *type, Span at) {
    if (!s->free_slots) {
        SlotBlock *b = xmalloc(sizeof *b);
        b->next = s->blocks;
        s->blocks = b;
        for (size_t i = sizeof b->slot / sizeof b->slot[0]; i-- > 0;) {
            b->slot[i].next_free = s->free_slots;
            s->free_slots = &b->slot[i];
        }
    }
    Slot *slot = s->free_slots;
    s->free_slots = slot->next_free;
    s->n_live++;
    Handle *h = &slot->h;
    h->refs = 1;
    h->is_failed = h->is_lost = false;
    h->id = id;
    h->made = at;
    h->type.dtype = type->dtype;
    h->type.rank = type->rank;
    for (int i = 0; i < type->rank; i++) h->type.shape[i] = type->shape[i];
    return slot;
}

Handle *handle_ref(Handle *h) {
    h->refs++;
    return h;
}

void handle_unref(Stream *s, Handle **hp) {
    Handle *h = *hp;
    *hp = NULL;
    if (!h) return;
    assert(h->refs > 0);
    if (--h->refs > 0) return;
    Slot *slot = (Slot *)h;
    slot->next_free = s->free_slots;
    s->free_slots = slot;
    if (h->is_lost) return;
    s->n_live--;
    if (s->mode == STREAM_CHECK || s->is_gone) return;
    ARRAY_PUSH(s->frees, s->n_frees, s->cap_frees, 64, (Operand){.kind = IN_TENSOR, .id = h->id});
    if (h->type.rank) s->free_bytes += type_bytes(&h->type);
}

bool stream_has(const Stream *s, const Handle *const *handle, int n, Span at, LangError *e) {
    for (int i = 0; i < n; i++) {
        if (!handle[i] || !handle[i]->is_lost) continue;
        error_at(e, at, "this tensor was lost: %s", s->lost);
        return error_hint(e, "compute it again, or load it from a checkpoint");
    }
    return true;
}

/* ---- Sources ---- */

static void announce_one(Stream *s, size_t id) {
    Operand number = {.kind = IN_IMM_INT, .i = (int64_t)id};
    Attr name = {.key = ATTR_NAME, .n = (uint32_t)strlen(s->names[id]), .str = s->names[id]};
    Inst inst = {.op = OP_FILE, .n_in = 1, .in = &number, .n_attr = 1, .attr = &name};
    stream_room_control(s);
    stream_inst(s, &inst, NULL, NULL, 0);
}

static void announce(Stream *s, const Source *src) {
    size_t id = src->id;
    if (id >= s->n_sources) {
        size_t n = id + 16;
        s->sources = xrealloc(s->sources, n * sizeof s->sources[0]);
        s->names = xrealloc(s->names, n * sizeof s->names[0]);
        for (size_t i = s->n_sources; i < n; i++) s->sources[i] = NULL, s->names[i] = NULL;
        s->n_sources = n;
    }
    free((char *)s->names[id]);
    s->sources[id] = src;
    s->names[id] = xstrdup(src->name);
    if (s->mode == STREAM_LIVE && s->is_started)
        announce_one(s, id); /* stream_announce does it for earlier ones */
}

static void early_remove(Stream *s, int i) {
    arena_fini(&s->early[i].arena);
    s->n_early--;
    memmove(&s->early[i], &s->early[i + 1], (size_t)(s->n_early - i) * sizeof *s->early);
}

void stream_announce(Stream *s) {
    for (size_t id = 0; id < s->n_sources; id++)
        if (s->names[id]) announce_one(s, id);
    for (int i = 0; i < s->n_early; i++) {
        InstFile *file = s->file;
        if (s->early[i].inst->op == OP_NOTE) s->file = NULL; /* it is there already */
        stream_inst(s, s->early[i].inst, NULL, NULL, 0);
        s->file = file;
        if (!s->config.prompt) arena_fini(&s->early[i].arena);
    }
    if (!s->config.prompt) s->n_early = 0; /* at the prompt: kept, in case this cluster is lost */
    for (int i = s->n_early; i-- > 0;)
        if (s->early[i].inst->op == OP_NOTE) early_remove(s, i);
}

uint16_t stream_file(Stream *s, const Source *src) {
    if (src->id >= s->n_sources || s->sources[src->id] != src) announce(s, src);
    return src->id;
}

SrcPos stream_pos(Stream *s, Span at) {
    if (!at.src) return (SrcPos){0};
    return (SrcPos){.file = stream_file(s, at.src), .col = at.col, .line = at.line};
}

/* ---- Encoding ---- */

/* Numbers and encodes an instruction. slot: the slots of its results, or NULL; len: of its Span. */
static void stream_inst(Stream *s, const Inst *inst, const TensorType *out, Slot *const *slot,
                        uint16_t len) {
    uint64_t seq = s->next_seq++;
    if (s->file && !s->is_gone) stream_text_put(s, inst, out);
    if (s->mode != STREAM_LIVE || s->is_gone) return;
    if (log_is(LOG_CLIENT)) inst_debug("CLIENT", "", inst, s->names, (int)s->n_sources);
    if (s->profile && inst->op != OP_FREE) profile_count(s->profile, inst->pos);
    if (!s->frame.head) frame_begin(&s->frame, s->welcome.id, seq);
    frame_add(&s->frame, inst);
    if (s->hot && inst->op != OP_BODY) detector_added(s->hot, &s->frame);
    s->made[seq % WINDOW_INSTS] = (Made){slot ? slot[0] : NULL, inst->n_out ? inst->out[0] : 0, len,
                                         inst->pos.line ? stream_calls(s) : 0};
    if (frame_is_full(&s->frame)) stream_send(s);
}

void stream_frees(Stream *s) {
    bool is_connected = s->mode == STREAM_EMIT || (s->mode == STREAM_LIVE && s->is_started);
    for (int i = 0; is_connected && i < s->n_frees; i += MAX_IN) { /* after a loss: none */
        if (s->mode == STREAM_LIVE) stream_room_control(s);
        if (s->is_gone) break;
        int n = s->n_frees - i < MAX_IN ? s->n_frees - i : MAX_IN;
        Inst inst = {.op = OP_FREE, .n_in = (uint16_t)n, .in = s->frees + i};
        stream_inst(s, &inst, NULL, NULL, 0);
    }
    s->n_frees = 0, s->free_bytes = 0;
}

/* Prepares for an instruction with results: connects, waits for room in the window, issues
 * frees. */
static bool ready(Stream *s, Span at, LangError *e) {
    if (s->mode == STREAM_LIVE) {
        if (!s->is_started) TRY(stream_start(s, at, e));
        TRY(stream_room(s, at, e));
    }
    if (s->n_frees) stream_frees(s);
    return true;
}

static bool infer(const Inst *inst, const Handle *const *handle, TensorType *out, int *n_out,
                  Span at, LangError *e) {
    TensorType few[FEW], *in = few;
    few[0].rank = 0;
    if (inst->n_in > FEW) in = xmalloc(inst->n_in * sizeof *in);
    for (int i = 0; i < inst->n_in; i++)
        if (inst->in[i].kind == IN_TENSOR) in[i] = handle[i]->type;
    Err err; /* set on failure */
    bool ok = inst_infer(inst, in, out, n_out, &err);
    if (in != few) free(in);
    if (ok) return true;
    error_from(e, &err);
    return error_locate(e, at);
}

static void put_edge(Stream *s, bool is_loop) {
    Inst inst = {.op = OP_EDGE};
    if (s->mode == STREAM_LIVE && s->is_started) stream_room_control(s);
    if (s->mode != STREAM_CHECK) stream_inst(s, &inst, NULL, NULL, 0);
    frame_edge(&s->frame, s->next_id);
    if (s->hot && s->is_started) detector_edge(s->hot, &s->frame, !is_loop);
    s->edge_seq = s->next_seq;
}

/* Assigns ids and handles to the results of a checked instruction and encodes it. */
static void emit_op(Stream *s, Inst *inst, const TensorType *type, int n_out, Span at,
                    Handle **out) {
    Slot *slot[MAX_OUT];
    if (s->hot && detector_is_edge_due(s->hot, inst)) put_edge(s, false);
    inst->n_out = (uint8_t)n_out;
    for (int i = 0; i < n_out; i++) {
        inst->out[i] = s->next_id++;
        slot[i] = slot_new(s, inst->out[i], &type[i], at);
        out[i] = &slot[i]->h;
    }
    if (s->mode != STREAM_CHECK) stream_inst(s, inst, type, slot, at.len);
}

/* Checks the limits of an instruction. Callers that have a better hint check before. */
static bool within_limits(int n_in, const Attr *attr, int n_attr, Span at, LangError *e) {
    assert(n_in >= 0 && n_attr >= 0 && n_attr <= MAX_ATTRS);
    if (n_in > MAX_IN)
        return error_at(e, at, "%d tensors in one operation, at most %d are possible", n_in,
                        MAX_IN);
    for (int i = 0; i < n_attr; i++)
        if (attr_info[attr[i].key].type == AT_STR && attr[i].n > MAX_STR)
            return error_at(e, at, "a text of %u bytes, at most %u are possible", attr[i].n,
                            MAX_STR);
    return true;
}

bool stream_op(Stream *s, Op op, const Operand *in, const Handle *const *handle, int n_in,
               const Attr *attr, int n_attr, Span at, Handle **out, int *n_out, LangError *e) {
    TRY(within_limits(n_in, attr, n_attr, at, e));
    Inst inst = {
        .op = op, .n_in = (uint16_t)n_in, .n_attr = (uint16_t)n_attr, .in = in, .attr = attr};
    TensorType type[MAX_OUT];
    TRY(stream_has(s, handle, handle ? n_in : 0, at, e));
    TRY(infer(&inst, handle, type, n_out, at, e));
    TRY(ready(s, at, e));
    inst.pos = stream_pos(s, at);
    emit_op(s, &inst, type, *n_out, at, out);
    return true;
}

Handle *stream_data(Stream *s, const TensorType *t, const void *data, Buf *buf, Span at,
                    LangError *e) {
    Attr attr[] = {{.key = ATTR_SHAPE, .n = t->rank, .ints = t->shape},
                   {.key = ATTR_DTYPE, .dtype = t->dtype}};
    Inst inst = {.op = OP_DATA,
                 .n_attr = 2,
                 .attr = attr,
                 .payload = buf ? buf->data : data,
                 .payload_bytes = type_bytes(t),
                 .payload_buf = buf};
    static const char nothing[8];
    if (!inst.payload) inst.payload = nothing; /* for an empty tensor */
    TensorType type[MAX_OUT];
    int n_out;
    Handle *out[MAX_OUT];
    TRY(infer(&inst, NULL, type, &n_out, at, e));
    TRY(ready(s, at, e));
    inst.pos = stream_pos(s, at);
    emit_op(s, &inst, type, n_out, at, out);
    return out[0];
}

Handle *stream_load(Stream *s, const TensorType *t, const LoadFrom *from, Span at, LangError *e) {
    assert(s->mode == STREAM_EMIT);
    const char *text[] = {from->path, from->key, from->element, from->sha256};
    static const AttrKey key[] = {ATTR_PATH, ATTR_KEY, ATTR_AS, ATTR_SHA256};
    Attr attr[4];
    Inst inst = {.op = OP_LOAD, .attr = attr};
    for (int i = 0; i < 4; i++)
        if (text[i] && (text[i][0] || key[i] == ATTR_KEY))
            attr[inst.n_attr++] =
                (Attr){.key = (uint8_t)key[i], .n = (uint32_t)strlen(text[i]), .str = text[i]};
    Handle *out[MAX_OUT];
    TRY(within_limits(0, attr, inst.n_attr, at, e) && ready(s, at, e));
    inst.pos = stream_pos(s, at);
    emit_op(s, &inst, t, 1, at, out);
    return out[0];
}

/* True if b sets every attribute that a sets, to any value. */
static bool has_all_attrs(const Inst *b, const Inst *a) {
    for (int i = 0; i < a->n_attr; i++)
        if (!inst_attr(b, (AttrKey)a->attr[i].key)) return false;
    return true;
}

static bool is_same_signal(const Inst *a, const Inst *b) {
    const Attr *x = inst_attr(a, ATTR_NAME), *y = inst_attr(b, ATTR_NAME);
    return a->op == OP_SIGNAL_DEFINE && x->n == y->n && memcmp(x->str, y->str, x->n) == 0;
}

/* Stores scopes, definitions, checks and notes, which do not start a cluster. stream_announce sends
 * those still in effect when it starts. */
static void control_early(Stream *s, const Inst *inst) {
    int i = s->n_early;
    if (inst->op == OP_SIGNAL_EXIT) {
        while (i-- > 0 && s->early[i].inst->op != OP_SIGNAL_ENTER) continue;
        if (i >= 0) early_remove(s, i);
        return;
    }
    if (inst->op == OP_SIGNAL_DEFINE)
        while (i-- > 0)
            if (is_same_signal(s->early[i].inst, inst) && has_all_attrs(inst, s->early[i].inst))
                early_remove(s, i);
    if (inst->op == OP_CHECK)
        while (i-- > 0)
            if (s->early[i].inst->op == OP_CHECK) early_remove(s, i);
    bool is_note = inst->op == OP_NOTE && !s->is_started && s->n_early < EARLY_NOTES;
    if (inst->op != OP_SIGNAL_ENTER && inst->op != OP_SIGNAL_DEFINE && inst->op != OP_CHECK &&
        !is_note)
        return;
    s->early = xrealloc(s->early, (size_t)(s->n_early + 1) * sizeof *s->early);
    Early *e = &s->early[s->n_early++];
    e->arena = (Arena){0};
    e->inst = inst_copy(inst, &e->arena);
}

void stream_control(Stream *s, const Inst *inst) {
    assert(inst->n_out == 0);
    if (s->mode == STREAM_CHECK) return;
    if (s->mode == STREAM_LIVE && (!s->is_started || s->config.prompt)) control_early(s, inst);
    if (s->mode == STREAM_LIVE && !s->is_started) return;
    stream_frees(s);
    if (s->mode == STREAM_LIVE) stream_room_control(s);
    stream_inst(s, inst, NULL, NULL, 0);
}

void stream_check_nan(Stream *s, bool on) {
    Attr nan = {.key = ATTR_NAN, .b = on};
    s->checks_nan = on;
    stream_control(s, &(Inst){.op = OP_CHECK, .n_attr = 1, .attr = &nan});
}

bool stream_checks_nan(const Stream *s) { return s->checks_nan; }

bool stream_edge(Stream *s, LangError *e) {
    if (s->next_seq != s->edge_seq) {
        stream_frees(s);
        put_edge(s, true);
    }
    if (s->is_started && (++s->n_edges % POLL_EDGES == 0 || s->next_seq >= s->poll_seq))
        stream_poll(s);
    else if (s->frame.count > 0)
        stream_send_if_dry(s);
    if (s->n_unreported > 0) { /* earlier prints come first */
        stream_run_effects(s);
        if (stream_take_error(s, e)) return false;
    }
    return not_interrupted(e);
}

/* ---- Effects and values ---- */

static void effect_line(Stream *s, const Effect *ef, Span at) {
    Operand few[FEW], *in = ef->n > FEW ? xmalloc((size_t)ef->n * sizeof *in) : few;
    for (int i = 0; i < ef->n; i++) in[i] = operand_of(ef->handle[i]);
    Inst inst = {.op = ef->op,
                 .n_in = (uint16_t)ef->n,
                 .in = in,
                 .n_attr = (uint16_t)ef->n_attr,
                 .attr = ef->attr,
                 .pos = stream_pos(s, at)};
    if (s->mode == STREAM_EMIT)
        stream_frees(s); /* in LIVE mode stream_queue did, before it took the number */
    stream_inst(s, &inst, NULL, NULL, at.len);
    if (in != few) free(in);
}

/* Writes the text of an effect without operands. No worker gets such an effect, except a note: an
 * early one is sent when the cluster starts. */
static void text_line(Stream *s, const Effect *ef, Span at) {
    Inst inst = {
        .op = ef->op, .n_attr = (uint16_t)ef->n_attr, .attr = ef->attr, .pos = stream_pos(s, at)};
    stream_text_put(s, &inst, NULL);
}

/* Sends a note, which has no answer. */
static bool send_note(Stream *s, const Effect *ef, Span at, LangError *e) {
    if (ef->n) {
        TRY(stream_room(s, at, e));
        stream_frees(s);
        effect_line(s, ef, at);
        return true;
    }
    if (s->file && !s->is_started && !s->is_gone) text_line(s, ef, at);
    SrcPos pos = stream_pos(s, at);
    Inst inst = {.op = OP_NOTE, .n_attr = (uint16_t)ef->n_attr, .attr = ef->attr, .pos = pos};
    stream_control(s, &inst);
    return true;
}

/* True if a file is the effect: save, write, and pictures with a path. */
static bool makes_file(const Effect *ef) {
    bool has_path = false;
    for (int i = 0; i < ef->n_attr; i++) has_path |= ef->attr[i].key == ATTR_PATH;
    return has_path;
}

static bool makes_lines(const Effect *ef) {
    bool is_picture = ef->op == OP_PLOT || ef->op == OP_HIST || ef->op == OP_IMAGE;
    return ef->op == OP_PRINT || (is_picture && !makes_file(ef));
}

/* EMIT: remembers the path of such an effect. */
static void remember_file(Stream *s, const Effect *ef) {
    for (int i = 0; i < ef->n_attr; i++) {
        if (ef->attr[i].key != ATTR_PATH) continue;
        const Attr *a = &ef->attr[i];
        if (map_get(&s->emitted, hash_bytes(a->str, a->n, 0))) return;
        map_put(&s->emitted, hash_bytes(a->str, a->n, 0), s);
    }
}

size_t stream_text_max(const Stream *s, Op op, int n) {
    bool is_alone = n == 0 && !s->file && (op == OP_PRINT || op == OP_WRITE);
    return is_alone || s->mode == STREAM_CHECK ? UINT32_MAX : MAX_STR;
}

bool stream_effect(Stream *s, const Effect *ef, Span at, LangError *e) {
    int n_limited = stream_text_max(s, ef->op, ef->n) == MAX_STR ? ef->n_attr : 0;
    if (!within_limits(ef->n, ef->attr, n_limited, at, e) ||
        !stream_has(s, (const Handle *const *)ef->handle, ef->n, at, e)) {
        if (ef->drop) ef->drop(ef->ctx);
        return false;
    }
    if (s->mode != STREAM_LIVE) {
        if (s->mode == STREAM_EMIT) effect_line(s, ef, at);
        if (s->mode == STREAM_EMIT && makes_file(ef)) remember_file(s, ef);
        if (ef->drop) ef->drop(ef->ctx);
        return true;
    }
    if (ef->op == OP_NOTE && ef->n_attr && ef->attr[0].n) { /* an empty one only takes its turn */
        bool ok = send_note(s, ef, at, e);
        if (ef->drop) ef->drop(ef->ctx);
        return ok;
    }
    Pending p = {.done = ef->done,
                 .drop = ef->drop,
                 .ctx = ef->ctx,
                 .may_be_lost = ef->may_be_lost,
                 .is_file = makes_file(ef),
                 .is_print = makes_lines(ef)};
    if (s->file && ef->n == 0 && !s->is_gone) text_line(s, ef, at);
    TRY(stream_queue(s, &p, ef->handle, ef->n, at, e));
    if (ef->n > 0) effect_line(s, ef, at);
    if (ef->n > 0 && s->awaits_acks) stream_send(s); /* end the frame: acks are per frame */
    return true;
}

void stream_watch(Stream *s, StreamWatch fn, void *ctx) {
    s->watch = fn;
    s->watch_ctx = ctx;
}

void stream_on_wait(Stream *s, StreamWaits fn, void *ctx) {
    s->waits = fn;
    s->waits_ctx = ctx;
}

static bool fetch_is_done(const Stream *s, const void *ctx) {
    (void)s;
    return ((const Fetch *)ctx)->is_done;
}

static bool is_among(const char *s, size_t n, const char *const *words) {
    while (*words && (strlen(*words) != n || memcmp(*words, s, n))) words++;
    return *words;
}

/* --emit computes no values: says which use of a value asks for one. */
static bool emit_has_none(Span at, LangError *e) {
    static const char *const reads[] = {"item", "tolist", "float", "int", "bool", "numpy", NULL},
                             *const shapes[] = {"[",     "nonzero", "argwhere", "masked_select",
                                                "where", "unique",  NULL};
    static const char way[] = "--tee run.gti, then --replay run.gti";
    size_t n;
    const char *s = span_text(at, &n);
    if (s && is_among(s, n, reads)) {
        error_at(e, at, "%.*s reads a value, but --emit computes none", (int)n, s);
        return error_hint(e, "print, f-strings and track take the tensor itself; else %s", way);
    }
    if (s && is_among(s, n, shapes))
        error_at(e, at, "the shape depends on data, and --emit computes none");
    else
        error_at(e, at, "control flow depends on data, and --emit computes none");
    return error_hint(e, "run it with %s", way);
}

bool stream_value(Stream *s, const Handle *h, Span at, void **data, LangError *e) {
    *data = NULL;
    if (s->mode == STREAM_EMIT) return emit_has_none(at, e);
    if (s->mode == STREAM_CHECK) return error_at(e, at, "nothing is computed while checking");
    TRY(stream_has(s, &h, 1, at, e));
    Fetch *f = xcalloc(1, sizeof *f);
    Pending p = {.fetch = f};
    Handle *operand = (Handle *)h; /* the pending effect holds a reference */
    TRY(stream_queue(s, &p, &operand, 1, at, e));
    Effect ef = {.op = OP_FETCH, .handle = &operand, .n = 1};
    uint64_t seq = s->next_seq;
    effect_line(s, &ef, at);
    if (!stream_wait(s, fetch_is_done, f, at, e)) {
        if (f->is_done) {
            free(f->data);
            free(f);
        } else {
            f->is_abandoned = true;
        }
        return false;
    }
    ErrCode status = f->status;
    bool is_lost = !s->is_gone && stream_is_behind(s, seq, e);
    if (is_lost)
        free(f->data);
    else
        *data = f->data;
    free(f);
    if (is_lost) return false;
    s->answered_seq = s->next_seq;
    if (status == ERR_NONE) return true;
    if (!s->is_gone) return stream_cause(s, status, at, e);
    stream_lost(s, at, e);
    return error_label(e, at, "was waiting here");
}

static bool all_is_done(const Stream *s, const void *ctx) {
    (void)ctx;
    return s->acked_seq == s->next_seq && s->effects.n == 0;
}

/* Issues `sync`, so that workers execute pending fusions at once. Its reply is not needed, because
 * the acknowledgements say when everything is done. */
static void issue_sync(Stream *s) {
    stream_frees(s);
    if (s->acked_seq == s->next_seq || s->is_gone) return;
    Inst inst = {.op = OP_SYNC};
    stream_room_control(s);
    stream_inst(s, &inst, NULL, NULL, 0);
}

/* True if all instructions are done, so that no sync is needed. Small frees can wait for the next
 * instruction. Large ones cannot: another client may need the memory. After an answer, waits up to
 * FOLLOWS_US for its acknowledgement: a sync would cost as much as another answer. */
static bool is_idle(Stream *s) {
    enum { FOLLOWS_US = 30, SMALL_BYTES = 1 << 20 };
    if (s->is_gone || s->frame.count > 0 || s->free_bytes >= SMALL_BYTES) return false;
    int64_t end = s->answered_seq == s->next_seq ? now_us() + FOLLOWS_US : 0;
    do {
        if (all_is_done(s, NULL)) return true;
        stream_pump(s, 0);
    } while (!s->is_gone && end && now_us() < end);
    return !s->is_gone && all_is_done(s, NULL);
}

bool stream_sync(Stream *s, LangError *e) {
    if (s->mode != STREAM_LIVE) {
        if (s->mode == STREAM_EMIT) stream_frees(s);
        return true;
    }
    if (s->is_loss_reported && s->config.prompt) return true; /* at the prompt, report it once */
    if (s->is_started && !is_idle(s)) {
        issue_sync(s);
        TRY(stream_wait(s, all_is_done, NULL, (Span){0}, e));
    }
    return !stream_take_error(s, e);
}

static bool files_are_written(const Stream *s, const void *ctx) {
    (void)ctx;
    return s->n_files == 0;
}

bool stream_files(Stream *s, const char *path, Span at, LangError *e) {
    if (path && s->emitted.n && map_get(&s->emitted, hash_bytes(path, strlen(path), 0))) {
        error_at(e, at, "'%.200s' is written by this program, and --emit writes no files", path);
        return error_hint(e, "run it without --emit, or read the file in another program");
    }
    if (s->n_files == 0) return true;
    TRY(stream_wait(s, files_are_written, NULL, at, e));
    return !stream_take_error(s, e);
}

static bool all_is_done_or_failed(const Stream *s, const void *ctx) {
    return stream_has_error(s) || all_is_done(s, ctx);
}

bool stream_finish(Stream *s, bool has_failed, LangError *e) {
    if (s->mode != STREAM_LIVE || !s->is_started) return stream_sync(s, e);
    if (!has_failed) {
        TRY(stream_wait(s, all_is_done_or_failed, NULL, (Span){0}, e));
        if (!stream_take_error(s, e)) return true;
    }
    stream_cancel(s);
    LangError ignored = {0};
    stream_wait(s, all_is_done, NULL, (Span){0}, &ignored);
    while (stream_take_error(s, &ignored)) continue;
    return has_failed;
}

void stream_flush(Stream *s) {
    if (s->mode == STREAM_EMIT) {
        stream_frees(s);
        inst_file_flush(s->file);
    }
    if (s->mode != STREAM_LIVE || !s->is_started) return;
    stream_frees(s);
    stream_send(s);
    stream_poll(s);
}
