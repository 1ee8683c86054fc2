/* question.c: see question.h. SPDX-License-Identifier: MIT */
#include "dispatcher/question.h"
#include "dispatcher/state/recorder.h"
#include "dispatcher/state/send.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void question_free(Question *q) {
    bytes_fini(&q->text);
    free(q);
}

void questions_fini(Dispatcher *d) {
    for (Question *q = d->questions, *next; q; q = next) {
        next = q->next;
        question_free(q);
    }
}

bool question_is(const char *text, size_t n, const char *word) {
    return n == strlen(word) && !memcmp(text, word, n);
}

static void complete(Dispatcher *d, Question *q) {
    Question **at = &d->questions;
    while (*at != q) at = &(*at)->next;
    *at = q->next;
    Client *c = map_get(&d->client_by_id, q->client);
    if (c) {
        Msg m;
        wire_text(MSG_STATS_REPLY, q->text.data ? q->text.data : "", q->text.n, &m);
        client_answered(c, WORKERS_MAX, msg_bytes(&m));
        c->unread += msg_bytes(&m);
        dispatcher_post(d, c->peer, &m, false);
        c->n_questions--;
    }
    question_free(q);
}

/* "tensor ID", where it is, or "kernel ID", what computed it. The answer is what the dispatcher
 * knows, then what the workers of its group say. False: no such question. */
static bool ask_tensor(const Client *c, const char *text, size_t n, Question *q, RankSet *whom,
                       char *ask, size_t size) {
    char digits[32], layout[LAYOUT_TEXT];
    const size_t skip = 7;
    bool is_known = n > skip && (!memcmp(text, "tensor ", skip) || !memcmp(text, "kernel ", skip));
    if (!is_known || n - skip >= sizeof digits) return false;
    memcpy(digits, text + skip, n - skip);
    digits[n - skip] = 0;
    const TensorHandle *h = handles_find(&c->tensors, strtoull(digits, NULL, 10));
    if (!h || h->is_poisoned) {
        bytes_puts(&q->text, "absent=1\n");
        return true;
    }
    bytes_printf(&q->text, "layout=%s\ngroup=", layout_text(&h->layout, layout));
    for (int i = 0; i < h->group->n; i++)
        bytes_printf(&q->text, i ? ",%d" : "%d", h->group->rank[i]);
    bytes_putc(&q->text, '\n');
    *whom = h->group->set;
    snprintf(ask, size, "%.6s %u %s", text, c->id, digits);
    return true;
}

/* Answers the question "past": the client's last frames (recorder_of_client). */
static void answer_past(Dispatcher *d, const Client *c, Question *q) {
    if (!d->config.record_bytes) return;
    Buf *b = recorder_of_client(d, c, PAST_ANSWER);
    bytes_add(&q->text, b->data, b->n);
    buf_unref(&b);
}

void question_ask(Dispatcher *d, Client *c, const Msg *asked) {
    const char *text;
    size_t n;
    char ask[64] = "";
    RankSet whom = {{0}};
    if (!wire_read_text(asked, &text, &n, NULL)) n = 0;
    Question *q = xcalloc(1, sizeof *q);
    q->client = c->id;
    if (question_is(text, n, "past")) {
        answer_past(d, c, q);
    } else if (!ask_tensor(c, text, n, q, &whom, ask, sizeof ask)) {
        bool is_profile = question_is(text, n, "profile");
        if (!is_profile) {
            dispatcher_stats(d, &q->text);
            bytes_printf(&q->text, "your_tensors=%zu\nyour_bytes=%llu\n", c->tensors.n,
                         (unsigned long long)handles_bytes(&c->tensors));
        }
        for (int i = 0; i < d->n_ranks; i++) ranks_add(&whom, i);
        snprintf(ask, sizeof ask, "%s %u", is_profile ? "profile" : "client", c->id);
    }
    Question **last = &d->questions;
    while (*last) last = &(*last)->next;
    *last = q;
    for (int i = 0; i < d->n_ranks; i++) {
        if (!d->worker[i] || !ranks_has(&whom, i)) continue;
        q->owed[i] = true;
        q->n_owed++;
        Msg m;
        wire_text(MSG_STATS, ask, strlen(ask), &m);
        dispatcher_post(d, d->worker[i]->peer, &m, false);
    }
    if (q->n_owed == 0) complete(d, q);
}

void question_answer(Dispatcher *d, WorkerPeer *w, const char *text, size_t n) {
    Question *q = d->questions;
    while (q && !q->owed[w->rank]) q = q->next;
    if (!q) return;
    q->owed[w->rank] = false;
    q->n_owed--;
    for (const char *end = text + n, *line = text; line < end;) {
        const char *nl = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((nl ? nl : end) - line);
        bytes_printf(&q->text, "w%d.%.*s\n", w->rank, (int)length, line);
        line += length + 1;
    }
    if (q->n_owed == 0) complete(d, q);
}
