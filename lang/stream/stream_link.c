/* stream_link.c: the stream's connection: connecting, sending frames, counting credit, receiving
 * messages, waiting.
 *
 * A frame is sent when it is full, when the client waits, and when the worker is about to idle (few
 * instructions are in flight). A wait checks the interrupt flag every WAIT_MS. It ends when the
 * dispatcher is silent for too long.
 * SPDX-License-Identifier: MIT */
#include "lang/stream/stream_link.h"
#include "lang/stream/stream_text.h"
#include "lang/stream/stream_reply.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/net/endpoint.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Loss of the dispatcher ---- */

static void gone(Stream *s, const Err *why) {
    if (s->is_gone) return;
    s->is_gone = true;
    s->gone = *why;
    s->n_frees = 0, s->free_bytes = 0;
    s->poll_seq = 0;
}

static void gone_because(Stream *s, const char *reason) {
    Err err = {0};
    err_set(&err, ERR_GONE, "%s", reason);
    gone(s, &err);
}

/* Declares a remote dispatcher lost if for answer_ms nothing arrived from it; a dispatcher sends a
 * heartbeat every 2 s. Time before the wait began (since_ms) does not count, because the client did
 * not read then. A large reply over a slow connection delays heartbeats, so the bytes of an
 * incomplete message count as well (link_has_bytes). */
static void check_alive(Stream *s, int64_t since_ms) {
    if (!s->endpoint || s->is_gone) return;
    int64_t seen = s->seen_ms > since_ms ? s->seen_ms : since_ms;
    if (now_ms() - seen <= s->config.answer_ms) return;
    if (link_has_bytes(s->link, s->config.answer_ms)) return;
    Err why = {0};
    err_set(&why, ERR_GONE, "no %s for %g s", s->is_started ? "heartbeat" : "answer",
            s->config.answer_ms / 1000.0);
    gone(s, &why);
}

#define AGAIN  ":connect connects again; variables stay, but for tensors"
#define OTHERS "start gt-dispatcher -w 1, then :connect local; variables stay, but for tensors"

bool stream_lost(Stream *s, Span at, LangError *e) {
    stream_run_effects(s);
    if (stream_take_error(s, e)) return false; /* that error is older, and may be the reason */
    s->is_loss_reported = true;
    *e = (LangError){.kind = E_GONE};
    if (!at.src) at = s->lost_at; /* at the end of a program there is no line */
    if (s->endpoint && s->is_ended) {
        error_at(e, at, "%s", s->gone.text);
        if (s->config.prompt) return error_hint(e, AGAIN);
        return error_hint(e, "start again, from the last checkpoint");
    }
    if (s->endpoint) {
        char tensors[64] = "";
        if (s->n_live)
            snprintf(tensors, sizeof tensors, "; %llu tensor%s gone", (unsigned long long)s->n_live,
                     s->n_live == 1 ? " is" : "s are");
        error_at(e, at, "lost the dispatcher at %s (%s)%s", s->endpoint, s->gone.text, tensors);
        if (s->config.prompt) return error_hint(e, AGAIN);
        return error_hint(e, "restart it, then load the last checkpoint");
    }
    error_from(e, &s->gone);
    e->kind = E_GONE;
    error_locate(e, at);
    return s->config.prompt ? error_hint(e, OTHERS) : false;
}

/* ---- Sending ---- */

/* Waits until the frame under construction, of so many bytes, fits the window. A frame with long
 * texts may exceed WINDOW_BYTES although the window has room for its instructions. */
static void await_bytes(Stream *s, size_t bytes) {
    int64_t start = 0;
    while (!s->is_gone && s->sent.n > 0 && s->head_bytes + bytes > WINDOW_BYTES) {
        if (!start) start = now_ms();
        stream_pump(s, WAIT_MS);
        check_alive(s, start);
    }
}

void stream_send(Stream *s) {
    if (!s->frame.head || s->frame.count == 0) return;
    await_bytes(s, frame_bytes(&s->frame));
    if (s->is_gone) return;
    Msg m;
    frame_end(&s->frame, &m);
    Sent *sent = fifo_push(&s->sent, sizeof(Sent));
    *sent = (Sent){.seq_end = s->next_seq, .head_bytes = m.part[0]->n};
    for (int i = 1; i < m.n; i++) sent->payload_bytes += m.part[i]->n;
    sent->at_us = s->sent_us = now_us();
    s->head_bytes += sent->head_bytes;
    s->payload_bytes += sent->payload_bytes;
    s->sent_seq = s->next_seq;
    if (log_is(LOG_WIRE))
        log_line("CLIENT", "frame: %llu bytes, %llu of payload, up to instruction %llu",
                 (unsigned long long)sent->head_bytes, (unsigned long long)sent->payload_bytes,
                 (unsigned long long)sent->seq_end);
    if (!link_send(s->link, &m))
        gone_because(s, "the connection is closed");
    else
        stream_pump(s, 0);
}

/* Updates the worker's time per instruction, from which fits_prompt computes the window, when the
 * worker has done this frame. insts: the number of instructions that the ack adds. */
static void update_pace(Stream *s, const Sent *frame, uint64_t insts) {
    int64_t now = now_us(), began = frame->at_us > s->acked_us ? frame->at_us : s->acked_us;
    int64_t ns = (now - began) * 1000 / (int64_t)(insts ? insts : 1) + 1;
    s->inst_ns = s->inst_ns ? (s->inst_ns + ns) / 2 : ns;
    s->acked_us = now;
}

static void on_ack(Stream *s, const Msg *m) {
    Ack ack;
    if (!wire_read_ack(m, &ack, NULL) || ack.seq <= s->acked_seq || ack.seq > s->sent_seq) return;
    uint64_t insts = ack.seq - s->acked_seq;
    s->acked_seq = ack.seq;
    while (s->sent.n > 0 && ((Sent *)fifo_at(&s->sent, 0))->seq_end <= ack.seq) {
        const Sent *frame = fifo_at(&s->sent, 0);
        if (s->config.prompt && frame->seq_end == ack.seq) update_pace(s, frame, insts);
        s->head_bytes -= frame->head_bytes;
        s->payload_bytes -= frame->payload_bytes;
        fifo_pop(&s->sent);
    }
}

/* ---- Receiving ---- */

static void on_refuse(Stream *s, const Msg *m) {
    Err why = {0};
    if (!wire_read_refuse(m, &why, NULL)) err_set(&why, ERR_GONE, "it refused the connection");
    s->is_ended = true;
    gone(s, &why);
}

static void on_welcome(Stream *s, const Msg *m) {
    Err err = {0};
    if (s->is_welcome) return;
    if (!wire_read_welcome(m, &s->welcome, &err))
        gone(s, &err);
    else
        s->is_welcome = true;
}

static void on_stats(Stream *s, const Msg *m) {
    const char *text;
    size_t n;
    if (!wire_read_text(m, &text, &n, NULL)) return;
    s->stats.n = 0;
    bytes_add(&s->stats, text, n);
    s->has_stats = true;
}

/* Acknowledges received reply bytes, every REPLY_BYTES / 8. A worker stops when REPLY_BYTES are not
 * acknowledged. A running client reads replies as they arrive, so workers wait only for one that
 * does not run. */
static void ack_replies(Stream *s, uint64_t bytes) {
    Msg m;
    if ((s->uncredited += bytes) < REPLY_BYTES / 8) return;
    wire_credit(&(Credit){s->welcome.id, s->uncredited}, &m);
    s->uncredited = 0;
    link_send(s->link, &m);
}

/* Consumes m. */
static void on_message(Stream *s, Msg *m) {
    switch (wire_kind(m)) {
    case MSG_ACK: on_ack(s, m); break;
    case MSG_REPLY:
        ack_replies(s, msg_bytes(m));
        stream_on_reply(s, m);
        break;
    case MSG_ERROR: stream_on_failure(s, m); break;
    case MSG_WELCOME: on_welcome(s, m); break;
    case MSG_REFUSE: on_refuse(s, m); break;
    case MSG_STATS_REPLY:
        ack_replies(s, msg_bytes(m));
        on_stats(s, m);
        break;
    case MSG_BYE: gone_because(s, "it has stopped"); break;
    default: break; /* heartbeats, and messages of later versions */
    }
    msg_fini(m);
}

static bool take_messages(Stream *s) {
    bool any = false;
    Msg m;
    int r = 0;
    while (!s->is_gone && (r = link_recv(s->link, &m)) > 0) {
        any = true;
        if (s->endpoint) s->seen_ms = now_ms();
        on_message(s, &m);
    }
    if (any && s->effects.n > 0) s->poll_seq = 0;
    const Err *why = r < 0 ? link_error(s->link) : NULL;
    if (!s->is_gone && why)
        gone(s, why);
    else if (!s->is_gone && r < 0)
        gone_because(s, "the connection is closed");
    return any;
}

void stream_pump(Stream *s, int timeout_ms) {
    if (!s->link || s->is_gone) return;
    if (s->local) {
        if (timeout_ms > 0 && take_messages(s)) return;
        local_step(s->local, timeout_ms);
        take_messages(s);
    } else if (!take_messages(s) && timeout_ms > 0 && link_wait(s->link, timeout_ms)) {
        take_messages(s);
    }
}

/* The worker is about to idle if at most one frame's worth of instructions is in flight. */
void stream_send_if_dry(Stream *s) {
    if (s->frame.count > 0 && s->sent_seq - s->acked_seq <= FRAME_INSTS &&
        now_us() - s->sent_us >= SEND_US)
        stream_send(s);
}

void stream_poll_for(Stream *s, int timeout_ms) {
    if (!s->is_started) return;
    stream_pump(s, timeout_ms);
    stream_run_effects(s);
    s->poll_seq = s->next_seq + POLL_INSTS;
    stream_send_if_dry(s);
}

void stream_read(Stream *s) {
    if (s->is_started) stream_pump(s, 0);
}

void stream_poll(Stream *s) { stream_poll_for(s, 0); }

void stream_step(Stream *s) {
    if (s->next_seq >= s->poll_seq) stream_poll(s);
}

/* ---- Waiting ---- */

/* Waits until is_met(s, ctx). runs_effects: runs the effects that are due meanwhile. Fails if the
 * user interrupts or the dispatcher is lost. */
static bool await(Stream *s, bool runs_effects, bool (*is_met)(const Stream *s, const void *ctx),
                  const void *ctx, Span at, LangError *e) {
    stream_frees(s);
    stream_send(s);
    int64_t start = now_ms();
    for (;;) {
        if (runs_effects) stream_run_effects(s);
        if (is_met(s, ctx)) return true;
        if (s->is_gone) return stream_lost(s, at, e);
        if (interrupt_count) {
            stream_run_effects(s);
            *e = (LangError){.kind = E_INTERRUPT};
            return error_at(e, at, "interrupted");
        }
        stream_pump(s, WAIT_MS);
        check_alive(s, start);
        if (s->waits) s->waits(s->waits_ctx, now_ms() - start);
    }
}

bool stream_wait(Stream *s, bool (*is_met)(const Stream *s, const void *ctx), const void *ctx,
                 Span at, LangError *e) {
    return await(s, true, is_met, ctx, at, e);
}

static bool fits(const Stream *s, uint64_t insts) {
    return s->next_seq - s->acked_seq < insts &&
           (s->head_bytes + frame_bytes(&s->frame) < WINDOW_BYTES - 2 * FRAME_BYTES ||
            s->sent.n == 0) &&
           (s->payload_bytes < PAYLOAD_BYTES_MAX || s->sent.n == 0);
}

/* At the prompt the window is the number of instructions that the worker does in PROMPT_WINDOW_MS,
 * estimated from its pace. It is also full if the oldest frame was sent longer ago than that. */
static bool fits_prompt(const Stream *s) {
    uint64_t limit = PROMPT_INSTS;
    if (s->inst_ns) limit = PROMPT_WINDOW_MS * UINT64_C(1000000) / (uint64_t)s->inst_ns;
    if (limit < PROMPT_LEAST) limit = PROMPT_LEAST;
    if (s->next_seq - s->acked_seq >= limit) return false;
    bool is_frame_new = s->frame.count == 0; /* once per frame is enough */
    return !is_frame_new || s->sent.n == 0 ||
           now_us() - ((Sent *)fifo_at(&s->sent, 0))->at_us <= PROMPT_WINDOW_MS * INT64_C(1000);
}

static bool has_room(const Stream *s, const void *ctx) {
    (void)ctx;
    return fits(s, WINDOW_INSTS - CONTROL_INSTS) && (!s->config.prompt || fits_prompt(s));
}

bool stream_room(Stream *s, Span at, LangError *e) {
    if (s->is_gone) return stream_lost(s, at, e);
    return has_room(s, NULL) || await(s, false, has_room, NULL, at, e);
}

void stream_room_control(Stream *s) {
    int64_t start = 0;
    while (!s->is_gone && !fits(s, WINDOW_INSTS)) {
        if (!start) start = now_ms();
        stream_send(s);
        stream_pump(s, WAIT_MS);
        check_alive(s, start);
    }
}

/* ---- Beginning and end ---- */

enum { NOTICE_MS = 3000, WORKER_MS = 60000 };
typedef struct Waiting {
    int64_t since_ms;
    bool is_reported, is_late;
} Waiting;

static bool connect_to(Stream *s, Err *err) {
    if (!s->endpoint) {
        TRY(s->local = local_start(&s->config, err));
        return (s->link = link_open(local_endpoint(s->local), err)) != NULL;
    }
    return (s->link = link_open(s->endpoint, err)) != NULL;
}

/* Sets e: there is no dispatcher at the endpoint, or it does not answer, or it refuses. Returns
 * false. */
static bool no_dispatcher(const Stream *s, const Err *why, Span at, LangError *e) {
    const char *address = strstr(s->endpoint, "://");
    Endpoint local;
    *e = (LangError){.kind = E_GONE};
    if (why->hint[0]) { /* there may be a dispatcher, which refuses */
        error_at(e, at, "cannot use the dispatcher at %s: %s", s->endpoint, why->text);
        return error_hint(e, "%s", why->hint);
    }
    error_at(e, at, "no dispatcher at %s: %s", s->endpoint, why->text);
    if (endpoint_local(&local, NULL) && !strcmp(local.text, s->endpoint))
        return error_hint(e, "scripts/cluster up starts one, and so does gt-dispatcher -w 2");
    return error_hint(e, "is it running, and is %s its address?",
                      address ? address + 3 : s->endpoint);
}

/* True when the dispatcher's welcome has arrived, or if it is late (Waiting.is_late). A dispatcher
 * without workers sends heartbeats but no welcome. After NOTICE_MS a line on stderr says so.
 */
static bool is_welcome(const Stream *s, const void *ctx) {
    Waiting *w = (Waiting *)ctx;
    int64_t waited = now_ms() - w->since_ms;
    if (s->is_welcome || !s->endpoint) return s->is_welcome;
    bool is_seen = s->seen_ms >= w->since_ms;
    if (is_seen && !w->is_reported && waited > NOTICE_MS) {
        fprintf(stderr, "waiting for a worker at %s (Ctrl-C gives up)\n", s->endpoint);
        w->is_reported = true;
    }
    return w->is_late = is_seen && waited > WORKER_MS;
}

static void disconnect(Stream *s) {
    link_close(&s->link);
    local_stop(&s->local);
}

/* Introduces this client, by its program and its user's login name. */
static void send_hello(Stream *s) {
    Hello hello = {.version = WIRE_VERSION, .table_hash = op_table_hash(), .role = ROLE_CLIENT};
    const char *name = s->config.name, *user = getenv("USER");
    if (!user) user = getenv("LOGNAME");
    const char *slash = name ? strrchr(name, '/') : NULL;
    if (slash) name = slash + 1;
    snprintf(hello.name, sizeof hello.name, "%s", name && name[0] ? name : "gtsh");
    snprintf(hello.origin, sizeof hello.origin, "%s", user ? user : "");
    Msg m;
    wire_hello(&hello, &m);
    link_send(s->link, &m);
}

bool stream_start(Stream *s, Span at, LangError *e) {
    if (s->is_gone) return stream_lost(s, at, e);
    Err err = {0};
    if (!connect_to(s, &err)) {
        disconnect(s);
        error_from(e, &err);
        if (e->kind != E_INTERRUPT) e->kind = E_GONE;
        return error_locate(e, at);
    }
    if (s->endpoint && !endpoint_is_served(s->endpoint, &err)) {
        disconnect(s);
        return no_dispatcher(s, &err, at, e);
    }
    send_hello(s);
    Waiting waiting = {.since_ms = now_ms()};
    bool is_met = stream_wait(s, is_welcome, &waiting, at, e);
    if (is_met && waiting.is_late) {
        disconnect(s);
        *e = (LangError){.kind = E_GONE};
        error_at(e, at, "the dispatcher at %s has no worker; waited %d s", s->endpoint,
                 WORKER_MS / 1000);
        return error_hint(e, "start one: gt-worker -d %s", s->endpoint);
    }
    if (!is_met) {
        if (e->kind == E_GONE && s->endpoint) no_dispatcher(s, &s->gone, at, e);
        disconnect(s);
        s->is_gone = false; /* so that a later attempt can connect */
        return false;
    }
    s->made = xcalloc(WINDOW_INSTS, sizeof *s->made);
    s->is_started = true;
    if (s->profile) {
        Msg m;
        wire_text(MSG_STATS, "profile on", 10, &m);
        link_send(s->link, &m);
    }
    s->awaits_acks = (s->endpoint || s->welcome.n_workers > 1) && !s->config.prompt;
    if (log_is(LOG_VERBOSE))
        log_line("CLIENT", "client c%u at %s: %u worker%s, engine %s", s->welcome.id,
                 s->endpoint ? s->endpoint : "a dispatcher of its own", s->welcome.n_workers,
                 s->welcome.n_workers == 1 ? "" : "s", s->welcome.engine);
    stream_announce(s);
    return true;
}

void stream_reset(Stream *s) {
    stream_run_effects(s);
    disconnect(s);
    snprintf(s->lost, sizeof s->lost, "%.159s", s->gone.text);
    for (SlotBlock *b = s->blocks; b; b = b->next)
        for (size_t i = 0; i < sizeof b->slot / sizeof b->slot[0]; i++)
            if (b->slot[i].h.refs) b->slot[i].h.is_lost = true;
    s->n_live = 0;
    stream_text_end(s, s->lost);
    for (int i = 0; i < s->n_causes; i++) free(s->cause[i]);
    s->n_causes = s->n_unreported = 0;
    if (s->frame.head) {
        Msg m;
        frame_end(&s->frame, &m);
        msg_fini(&m);
    }
    s->frame = (FrameWriter){0};
    if (s->hot) stream_look_for_bodies(s);
    free(s->made);
    s->made = NULL;
    s->input_seq = s->cancel_seq = s->hushed_seq = 0;
    s->answered_seq = s->next_id = s->next_seq = s->edge_seq = s->sent_seq = s->acked_seq =
        s->uncredited = 0;
    s->poll_seq = POLL_INSTS;
    s->head_bytes = s->payload_bytes = 0;
    fifo_fini(&s->sent);
    s->n_frees = 0, s->free_bytes = 0;
    s->acked_us = s->inst_ns = 0;
    s->lost_at = (Span){0};
    s->is_started = s->is_welcome = s->is_gone = s->is_ended = s->has_stats = false;
    s->is_loss_reported = false;
}

void stream_close(Stream *s) {
    if (s->is_started && log_is(LOG_VERBOSE))
        log_line("CLIENT", "leaves after %llu instructions", (unsigned long long)s->next_seq);
    if (s->link && !s->is_gone) {
        Msg m;
        wire_text(MSG_BYE, "", 0, &m);
        link_send(s->link, &m);
    }
    disconnect(s);
    s->is_gone = true;
}

void stream_cancel(Stream *s) {
    if (!s->is_started || s->is_gone) return;
    for (size_t i = 0; i < s->effects.n; i++)
        ((Pending *)fifo_at(&s->effects, i))->may_be_lost = true;
    stream_send(s);
    if (s->config.prompt) s->cancel_seq = s->next_seq;
    s->cancelled[0] = 0;
    Cancel c = {.client = s->welcome.id, .seq = s->next_seq};
    Msg m;
    wire_cancel(&c, &m);
    link_send(s->link, &m);
    stream_pump(s, 0);
}

static bool has_stats(const Stream *s, const void *ctx) {
    (void)ctx;
    return s->has_stats;
}

bool stream_ask(Stream *s, const char *question, Span at, Bytes *text, LangError *e) {
    stream_frees(s);
    stream_send(s);
    s->has_stats = false;
    Msg m;
    wire_text(MSG_STATS, question, strlen(question), &m);
    if (!s->is_gone) link_send(s->link, &m);
    TRY(stream_wait(s, has_stats, NULL, at, e));
    bytes_add(text, s->stats.data, s->stats.n);
    return true;
}

static void hot_stats(DetectorCounts c, Bytes *text) {
    bytes_printf(text,
                 "client_hot_bodies=%llu\nclient_hot_runs=%llu\nclient_hot_instructions=%llu\n",
                 (unsigned long long)c.bodies, (unsigned long long)c.runs,
                 (unsigned long long)c.instructions);
}

bool stream_stats(Stream *s, Bytes *text, LangError *e) {
    if (s->endpoint && s->mode == STREAM_LIVE && !s->is_started) TRY(stream_start(s, (Span){0}, e));
    bytes_printf(text, "client_instructions=%llu\nclient_tensors=%llu\n",
                 (unsigned long long)s->next_seq, (unsigned long long)s->n_live);
    if (s->hot) hot_stats(detector_counts(s->hot), text);
    return !s->is_started || stream_ask(s, "", (Span){0}, text, e);
}

static bool all_is_done(const Stream *s, const void *ctx) {
    (void)ctx;
    return s->acked_seq == s->next_seq;
}

/* When all instructions are done, asks "word ID" about a tensor, and appends the reply to text. */
static bool ask_tensor(Stream *s, const char *word, const Handle *h, Span at, Bytes *text,
                       LangError *e) {
    if (s->mode == STREAM_EMIT) {
        error_at(e, at, "with --emit a tensor is nowhere");
        return error_hint(e, "--emit computes nothing: ask in a run without it");
    }
    if (s->mode != STREAM_LIVE) return error_at(e, at, "nothing is computed while checking");
    TRY(stream_has(s, &h, 1, at, e));
    TRY(stream_wait(s, all_is_done, NULL, at, e));
    char question[32];
    snprintf(question, sizeof question, "%s %llu", word, (unsigned long long)h->id);
    return stream_ask(s, question, at, text, e);
}

bool stream_where(Stream *s, const Handle *h, Span at, Bytes *text, LangError *e) {
    return ask_tensor(s, "tensor", h, at, text, e);
}
bool stream_kernel(Stream *s, const Handle *h, Span at, Bytes *text, LangError *e) {
    return ask_tensor(s, "kernel", h, at, text, e);
}
