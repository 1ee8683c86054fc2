/* repl_behind.c: see repl_behind.h.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/repl_behind.h"
#include "lang/shell/typing.h"
#include "runtime/base/clock.h"
#include <stdio.h>

enum {
    CANCEL_MS = 15, /* the prompt waits for the answers to a cancel, at most */
    TELL_MS = 300   /* a statement says after this time that it waits */
};

uint64_t behind_count(const Repl *r) {
    uint64_t done = stream_done(r->in->stream);
    if (stream_is_lost(r->in->stream)) return 0;
    if (r->behind > stream_count(r->in->stream)) return 0; /* of a cluster that was lost */
    return r->behind > done ? r->behind - done : 0;
}

static void tell(const Repl *r) {
    unsigned long long n = behind_count(r);
    const char *s = n == 1 ? "" : "s";
    if (r->is_dropped)
        fprintf(stderr, "waiting: %llu dropped instruction%s, until what has begun ends\n", n, s);
    else
        fprintf(stderr, "waiting: %llu instruction%s; Ctrl-C again drops %s\n", n, s,
                n == 1 ? "it" : "them");
}

static void on_wait(void *ctx, int64_t waited_ms) {
    Repl *r = ctx;
    if (r->has_told_wait || waited_ms < TELL_MS || !behind_count(r)) return;
    r->has_told_wait = true;
    fflush(stdout);
    tell(r);
}

void behind_watch(Repl *r) {
    r->has_told_wait = false;
    stream_on_wait(r->in->stream, behind_count(r) ? on_wait : NULL, r);
}

void behind_forget(Repl *r) { stream_on_wait(r->in->stream, NULL, NULL); }

bool behind_report_lost(Repl *r) {
    if (r->lost && lost_is_void(r->lost, r->in)) lost_unref(&r->lost);
    if (!r->lost || !lost_is_done(r->lost)) return false;
    lost_print(r->lost, r->in);
    lost_unref(&r->lost);
    return true;
}

void behind_cancel(Repl *r) {
    int64_t since_ms = now_ms();
    lost_unref(&r->lost);
    r->lost = lost_begin(r->in);
    r->behind = stream_count(r->in->stream);
    r->is_dropped = true;
    for (int64_t left_ms = CANCEL_MS; left_ms > 0 && !lost_is_done(r->lost);) {
        LangError e = {0};
        stream_poll_for(r->in->stream, (int)left_ms);
        if (lost_step(r->lost, r->in, &e)) repl_report(r->in, &e, "error");
        left_ms = since_ms + CANCEL_MS - now_ms();
    }
    if (!behind_report_lost(r) && r->lost) lost_print(r->lost, r->in);
}

void behind_begin(Repl *r) {
    if (r->has_told_wait) { /* it said that Ctrl-C drops the work */
        behind_cancel(r);
        return;
    }
    stream_flush(r->in->stream);
    stream_read(r->in->stream);
    r->behind = stream_count(r->in->stream);
    r->is_dropped = false;
    if (behind_count(r)) tell(r);
}

/* ---- while a line is typed ---- */

/* A failure of an instruction that ran behind the prompt, or the loss of the cluster. */
static bool take_failure(Repl *r, LangError *e) {
    if (r->lost && lost_is_void(r->lost, r->in)) lost_unref(&r->lost);
    if (stream_is_lost(r->in->stream)) return stream_take_loss(r->in->stream, e);
    if (r->lost && lost_step(r->lost, r->in, e)) return true;
    return (!r->lost || lost_is_done(r->lost)) && stream_take_error(r->in->stream, e);
}

void behind_poll(Repl *r) { stream_poll(r->in->stream); }

void behind_say(Repl *r) {
    LangError e = {0};
    bool has_failed = take_failure(r, &e), is_over = r->lost && lost_is_done(r->lost);
    if (!has_failed && !is_over) return;
    typing_erase();
    if (has_failed) repl_report(r->in, &e, "error");
    behind_report_lost(r);
    fflush(stdout);
    typing_again();
}
