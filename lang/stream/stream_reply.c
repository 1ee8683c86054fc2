/* stream_reply.c: replies. Values go to effects, which run in stream order, whatever the order of
 * arrival. Failures are reported once each, at their own positions.
 *
 * The queue has one entry per effect. Entries without operands (a print of host values) only wait
 * for their turn. A failure does not stop the stream: it is stored until stream_take_error.
 *
 * A script, and each input at the prompt, ends at its first failure in stream order. Later effects
 * do not run and later fetches fail, whether or not they depend on it and whichever message arrives
 * first: a check has no result that the value checked could depend on. A
 * single embedded worker sends everything in stream order, so all earlier failures are known when a
 * reply arrives. With several workers, or with a remote dispatcher, which may move a client to
 * another worker, a reply may arrive before the failure of an earlier instruction. Then
 * (awaits_acks) a reply waits for the acknowledgement of its frame: the dispatcher sends all
 * failures of a frame before it. The dispatcher's own errors may arrive early too, so their report
 * also waits for the acknowledgement.
 * SPDX-License-Identifier: MIT */
#include "lang/stream/stream_reply.h"
#include "lang/error/interrupt.h"
#include "lang/stream/stream_link.h"
#include "lang/stream/stream_text.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Causes ---- */

/* Adds a failure. If the list is full, replaces the oldest reported one; if none was reported,
 * returns NULL and the failure is dropped. */
static Cause *cause_new(Stream *s) {
    if (s->n_causes == CAUSES_MAX) {
        int old = 0;
        while (old < CAUSES_MAX && !s->cause[old]->is_reported) old++;
        if (old == CAUSES_MAX) return NULL;
        free(s->cause[old]);
        memmove(&s->cause[old], &s->cause[old + 1],
                (size_t)(CAUSES_MAX - old - 1) * sizeof s->cause[0]);
        s->n_causes--;
    }
    return s->cause[s->n_causes++] = xcalloc(1, sizeof(Cause));
}

/* True for the same error at the same position, if the instruction was issued before c was
 * reported. */
static bool is_repeat(const Cause *c, ErrCode code, uint64_t seq, Span at) {
    const Span *was = &c->error.at;
    return c->code == code && was->src == at.src && was->line == at.line && was->col == at.col &&
           (!c->is_reported || seq < c->reported_seq);
}

static void cause_add(Stream *s, const Err *err, uint64_t seq, Span at, uint32_t calls,
                      bool is_ordered) {
    for (int i = 0; i < s->n_causes; i++) {
        if (!is_repeat(s->cause[i], err->code, seq, at)) continue;
        if (seq < s->cause[i]->seq) s->cause[i]->seq = seq;
        return;
    }
    Cause *c = cause_new(s);
    if (!c) return;
    c->code = err->code;
    c->seq = seq;
    c->is_ordered = is_ordered;
    Err plain = *err;
    bool may_label = err->code == ERR_NAN || err->code == ERR_MEMORY;
    char *label = may_label ? strchr(plain.text, '\n') : NULL;
    if (label) *label++ = 0;
    error_from(&c->error, &plain);
    error_locate(&c->error, at);
    if (label) error_label(&c->error, at, "%s", label);
    if (s->config.explain) s->config.explain(s->config.program, calls, &c->error);
    c->error.is_late = c->error.has_stack = true;
    s->n_unreported++;
}

static void cause_report(Stream *s, Cause *c, LangError *e) {
    *e = c->error;
    if (c->is_reported) return;
    c->is_reported = true;
    c->reported_seq = s->next_seq;
    s->n_unreported--;
    for (size_t i = 0; i < s->effects.n; i++) {
        Pending *p = fifo_at(&s->effects, i);
        p->is_behind |= c->seq < p->seq;
        p->is_behind_in_input |= c->seq < p->seq && c->seq >= p->input_seq;
    }
}

/* Returns the unreported failure that is first in the stream, at or after instruction `from`, or
 * NULL. */
static Cause *first_unreported(const Stream *s, uint64_t from) {
    Cause *first = NULL;
    for (int i = 0; i < s->n_causes && s->n_unreported; i++)
        if (!s->cause[i]->is_reported && s->cause[i]->seq >= from &&
            (!first || s->cause[i]->seq < first->seq))
            first = s->cause[i];
    return first;
}

bool stream_has_error(const Stream *s) {
    const Cause *c = first_unreported(s, 0);
    return c && (c->is_ordered || c->seq < s->acked_seq || s->config.prompt || s->is_gone);
}

bool stream_take_error(Stream *s, LangError *e) {
    if (!stream_has_error(s)) return false;
    cause_report(s, first_unreported(s, 0), e);
    return true;
}

bool stream_is_behind(Stream *s, uint64_t seq, LangError *e) {
    Cause *c = first_unreported(s, s->input_seq);
    if (!c || c->seq >= seq) return false;
    cause_report(s, c, e);
    return true;
}

bool stream_cause(Stream *s, ErrCode code, Span at, LangError *e) {
    Cause *best = NULL; /* prefer unreported ones, then the same code, then the latest */
    int best_rank = -1;
    for (int i = 0; i < s->n_causes; i++) {
        int rank = (s->cause[i]->code == code) + 2 * !s->cause[i]->is_reported;
        if (rank >= best_rank) best = s->cause[i], best_rank = rank;
    }
    if (best && !best->is_reported) {
        cause_report(s, best, e);
        return false;
    }
    *e = (LangError){.kind = E_RUN};
    if (code == ERR_CANCELLED)
        return error_at(e, at, "this value was lost when the work was interrupted");
    if (!best)
        return error_at(e, at, "this value was lost to an earlier error (%s)", err_name(code));
    error_at(e, at, "this value was lost to an earlier error: %s", best->error.what);
    if (best->error.at.src) error_label(e, best->error.at, "failed here");
    return false;
}

/* ---- Failures ---- */

/* Returns where the live tensor with this id was made, or an empty Span. */
static Span made_at(const Stream *s, uint64_t id) {
    for (const SlotBlock *b = s->blocks; b; b = b->next)
        for (size_t i = 0; i < sizeof b->slot / sizeof b->slot[0]; i++)
            if (b->slot[i].h.refs && b->slot[i].h.id == id) return b->slot[i].h.made;
    return (Span){0};
}

/* Rewrites a worker's hint "the result is SHAPE; largest here: t12 SHAPE BYTES, ...": moves the
 * result to the label at the caret, and replaces tensor ids by the lines that made them. */
static void explain_memory(const Stream *s, Err *err) {
    static const char start[] = "the result is ", largest[] = "; largest here: ";
    char *list = strstr(err->hint, largest), hint[sizeof err->hint + 256];
    if (strncmp(err->hint, start, sizeof start - 1)) return;
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, "\n%.*s",
             (int)((list ? (size_t)(list - err->hint) : strlen(err->hint)) - sizeof start + 1),
             err->hint + sizeof start - 1);
    if (!list) {
        err->hint[0] = 0;
        return;
    }
    n = (size_t)snprintf(hint, sizeof hint, "largest here: ");
    for (char *at = list + sizeof largest - 1, *end; *at && n < sizeof hint; at = end) {
        char *next = strstr(at, ", t"), *rest;
        end = next ? next + 2 : at + strlen(at);
        unsigned long long id = *at == 't' ? strtoull(at + 1, &rest, 10) : 0;
        Span made = *at == 't' ? made_at(s, id) : (Span){0};
        if (made.src && !made.src->is_prelude)
            n += (size_t)snprintf(hint + n, sizeof hint - n, "%.*s from %s:%u%s",
                                  (int)((next ? next : end) - rest - 1), rest + 1, made.src->name,
                                  made.line, next ? ", " : "");
        else
            n += (size_t)snprintf(hint + n, sizeof hint - n, "%.*s", (int)(end - at), at);
    }
    snprintf(err->hint, sizeof err->hint, "%.255s", hint);
}

/* A failure runs_effects the position of its instruction. The number of the call stack is in
 * Stream.made; lang/eval/trace.c turns it into calls. */
void stream_on_failure(Stream *s, const Msg *m) {
    Failure f;
    if (!wire_read_failure(m, &f, NULL)) return;
    if (f.err.code == ERR_MEMORY) explain_memory(s, &f.err);
    Span at = {.line = f.pos.line, .col = f.pos.col};
    uint32_t calls = 0;
    if (f.pos.line && f.pos.file < s->n_sources) at.src = s->sources[f.pos.file];
    if (f.seq < s->next_seq && s->next_seq - f.seq <= WINDOW_INSTS) {
        Made *made = &s->made[f.seq % WINDOW_INSTS];
        at.len = made->len, calls = made->calls;
        if (made->slot && made->slot->h.id == made->id) made->slot->h.is_failed = true;
    }
    if (f.err.code != ERR_CANCELLED || f.seq >= s->cancel_seq)
        cause_add(s, &f.err, f.seq, at, calls, f.worker != UINT16_MAX);
    else if (!s->cancelled[0])
        snprintf(s->cancelled, sizeof s->cancelled, "%s", f.err.text);
    for (size_t i = 0; i < s->effects.n; i++) { /* An effect that failed itself gets no reply. */
        Pending *p = fifo_at(&s->effects, i);
        if (!p->has_inst || p->seq != f.seq || p->is_answered) continue;
        p->is_answered = p->has_failed = true;
        if (p->fetch) p->fetch->status = (uint8_t)f.err.code;
    }
}

/* ---- Running effects ---- */

static void fetch_carry(Pending *p, const Reply *r) {
    Fetch *f = p->fetch;
    if (r) {
        const ReplyValue *v = &r->value[0];
        f->status = v->status;
        if (v->status == 0) {
            f->data = xmalloc(v->bytes);
            if (v->bytes) memcpy(f->data, v->data, v->bytes);
        }
    }
    f->is_done = true;
    if (!f->is_abandoned) return;
    free(f->data);
    free(f);
}

/* Decodes p's reply and checks it against p's operands. */
static bool reply_read(Stream *s, const Pending *p, Reply *r, Err *err) {
    *r = (Reply){0};
    if (!p->has_inst) return true;
    TRY(wire_read_reply(&p->reply, &s->arena, r, err));
    bool is_right = r->n == (uint32_t)p->n;
    for (uint32_t i = 0; is_right && i < r->n; i++) {
        const ReplyValue *v = &r->value[i];
        if (v->status == 0)
            is_right = type_equal(&v->type, &p->handle[i]->type) && (!p->fetch || v->edge == 0);
    }
    return is_right || err_set(err, ERR_INTERNAL, "a worker's answer does not fit the question");
}

/* Returns the status of the first poisoned operand, or ERR_NONE. */
static ErrCode poison_of(const Reply *r) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->value[i].status) return (ErrCode)r->value[i].status;
    return ERR_NONE;
}

/* Handles an effect that did not run because an operand is poisoned. This is a failure of its own
 * if the original failure was reported, and survived, before the effect was issued; otherwise a
 * save could be lost silently. */
static void add_lost(Stream *s, const Pending *p, ErrCode poison) {
    if (p->is_behind || p->may_be_lost || first_unreported(s, 0)) return;
    if (poison != ERR_CANCELLED && s->n_causes == 0) return; /* the failure is yet to arrive */
    LangError e;
    stream_cause(s, poison, p->at, &e);
    Cause *c = cause_new(s);
    if (!c) return;
    c->error = e;
    if (s->config.explain) s->config.explain(s->config.program, p->calls, &c->error);
    c->error.is_late = c->error.has_stack = true;
    c->seq = p->seq;
    c->is_ordered = true;
    s->n_unreported++;
}

static void *free_reply(void *reply) {
    msg_fini(reply);
    free(reply);
    return NULL;
}

/* Frees a reply, a large one in a thread: the kernel takes 200 ms for the pages of 500 MB. */
static void reply_fini(Msg *reply) {
    enum { ASIDE_BYTES = 32 << 20 };
    pthread_t thread;
    if (msg_bytes(reply) < ASIDE_BYTES) {
        msg_fini(reply);
        return;
    }
    Msg *moved = xcalloc(1, sizeof *moved);
    msg_move(moved, reply);
    if (pthread_create(&thread, NULL, free_reply, moved))
        free_reply(moved);
    else
        pthread_detach(thread);
}

static void pending_fini(Stream *s, Pending *p) {
    if (p->drop) p->drop(p->ctx);
    reply_fini(&p->reply);
    for (int i = 0; i < p->n; i++) handle_unref(s, &p->handle[i]);
    free(p->handle);
}

/* True if p is after a failure of the same input and was issued before that was reported. */
static bool is_after_error(const Stream *s, const Pending *p) {
    const Cause *c = first_unreported(s, p->input_seq);
    return p->is_behind_in_input || (c && c->seq < p->seq);
}

/* Shows the values to those that watch the stream. */
static void show_values(Stream *s, const Pending *p, const Reply *r) {
    if (!p->has_inst || poison_of(r)) return;
    if (s->file) stream_text_values(s, p, r);
    if (s->watch) s->watch(s->watch_ctx, p->handle, r);
}

/* Runs or skips an effect and frees it. Fails with *err if its `done` does or its reply is
 * invalid. */
static bool run_effect(Stream *s, Pending *p, Err *err) {
    Reply r;
    bool ok = true;
    arena_reset(&s->arena);
    if (!p->fetch && is_after_error(s, p)) {
        /* skipped */
    } else if (p->has_failed) {
        if (p->fetch) fetch_carry(p, NULL);
    } else if (!reply_read(s, p, &r, err)) {
        ok = false;
        if (p->fetch) p->fetch->status = (uint8_t)err->code, fetch_carry(p, NULL);
    } else if (p->fetch) {
        show_values(s, p, &r);
        fetch_carry(p, &r);
    } else if (poison_of(&r)) {
        if (p->done) add_lost(s, p, poison_of(&r));
    } else {
        show_values(s, p, &r);
        ok = !p->done || p->done(p->ctx, &r, err);
    }
    pending_fini(s, p);
    return ok;
}

static Pending pop_effect(Stream *s) {
    Pending p = *(Pending *)fifo_at(&s->effects, 0);
    fifo_pop(&s->effects);
    s->n_files -= p.is_file;
    return p;
}

/* True if p can run. A print of host values waits until all earlier instructions are done, so that
 * a line about work appears after the work. At the prompt, where a statement ends before its work,
 * it only keeps its order among the effects. */
static bool is_due(const Stream *s, const Pending *p) {
    if (!p->has_inst) return !p->is_print || s->config.prompt || p->seq <= s->acked_seq;
    return p->is_answered && (!s->awaits_acks || p->seq < s->acked_seq);
}

void stream_run_effects(Stream *s) {
    /* after Ctrl-C they wait for the prompt */
    while (s->effects.n > 0 && !interrupt_count && is_due(s, fifo_at(&s->effects, 0))) {
        Pending p = pop_effect(s);
        Err err = {0};
        if (!run_effect(s, &p, &err)) cause_add(s, &err, p.seq, p.at, p.calls, true);
    }
    if (!s->is_gone || s->effects.n == 0) return;
    s->lost_at = ((Pending *)fifo_at(&s->effects, 0))->at;
    stream_drop_effects(s);
}

void stream_on_reply(Stream *s, Msg *m) {
    Reply r;
    Err err;
    arena_reset(&s->arena);
    if (wire_read_reply(m, &s->arena, &r, &err)) {
        for (size_t i = 0; i < s->effects.n; i++) { /* Nearly always the first. */
            Pending *p = fifo_at(&s->effects, i);
            if (!p->has_inst || p->seq != r.seq || p->is_answered) continue;
            p->is_answered = true;
            msg_move(&p->reply, m);
            break;
        }
    }
}

void stream_drop_effects(Stream *s) {
    while (s->effects.n > 0) {
        Pending p = pop_effect(s);
        if (p.fetch) p.fetch->status = ERR_GONE, fetch_carry(&p, NULL);
        pending_fini(s, &p);
    }
}

size_t stream_hush(Stream *s) {
    size_t n_prints = 0;
    s->hushed_seq = s->next_seq;
    for (size_t n = s->effects.n; n > 0; n--) { /* once round: those that stay are queued again */
        Pending p = pop_effect(s);
        bool is_left = p.fetch && p.fetch->is_abandoned;
        n_prints += p.is_print;
        if (!p.is_print && !is_left) {
            *(Pending *)fifo_push(&s->effects, sizeof(Pending)) = p;
            s->n_files += p.is_file;
            continue;
        }
        if (is_left) fetch_carry(&p, NULL);
        pending_fini(s, &p); /* its reply finds no effect, and is dropped */
    }
    return n_prints;
}

size_t stream_effects(const Stream *s, uint64_t since) {
    size_t n = 0;
    for (size_t i = s->effects.n; i-- > 0; n++)
        if (((const Pending *)fifo_at(&s->effects, i))->seq < since) break;
    return n;
}

/* ---- The queue ---- */

static bool has_turn(const Stream *s, const void *ctx) {
    (void)ctx;
    return s->effects.n < EFFECTS_MAX;
}

/* True if a print of host values runs at once, because all effects before it are left from an
 * interrupted statement. Those that write files may take seconds. */
static bool passes_hushed(const Stream *s, const Pending *p, int n) {
    return n == 0 && p->is_print && s->config.prompt && !stream_effects(s, s->hushed_seq);
}

/* Makes room for an effect of n operands and its instruction, and issues all that must precede
 * it. */
static bool queue_ready(Stream *s, int n, Span at, LangError *e) {
    if (n > 0 && !s->is_started) TRY(stream_start(s, at, e));
    stream_run_effects(s);
    if (s->effects.n >= EFFECTS_MAX) TRY(stream_wait(s, has_turn, NULL, at, e));
    if (n == 0) return true;
    stream_pos(s, at);
    stream_frees(s);
    return stream_room(s, at, e);
}

bool stream_queue(Stream *s, const Pending *p, Handle *const *handle, int n, Span at,
                  LangError *e) {
    bool is_first = passes_hushed(s, p, n);
    if (!is_first && !queue_ready(s, n, at, e)) {
        if (p->drop) p->drop(p->ctx);
        free(p->fetch);
        return false;
    }
    Pending q = *p;
    q.at = at;
    q.calls = stream_calls(s);
    q.seq = s->next_seq;
    q.input_seq = s->input_seq;
    q.n = n;
    q.has_inst = n > 0;
    q.is_answered = n == 0;
    if (n == 0 && !is_first && !is_due(s, &q)) stream_flush(s); /* acks come by the frame */
    if (is_first || (n == 0 && s->effects.n == 0 && is_due(s, &q))) {
        Err err = {0};
        if (run_effect(s, &q, &err)) return true;
        error_from(e, &err);
        return error_locate(e, at);
    }
    q.handle = n ? xmalloc((size_t)n * sizeof q.handle[0]) : NULL;
    for (int i = 0; i < n; i++) q.handle[i] = handle_ref(handle[i]);
    *(Pending *)fifo_push(&s->effects, sizeof(Pending)) = q;
    s->n_files += q.is_file;
    return true;
}
