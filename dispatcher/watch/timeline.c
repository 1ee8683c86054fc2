/* timeline.c: a timeline's memory and strings, and reading a tape's file into one. The lines are
 * understood in timeline_add.c, the model is completed in timeline_settle.c.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/timeline_effect.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Timeline *timeline_new(const TimelineOptions *options) {
    Timeline *t = xcalloc(1, sizeof *t);
    if (options) t->options = *options;
    if (!t->options.records_max) t->options.records_max = TIMELINE_RECORDS;
    t->state = xcalloc(1, sizeof *t->state);
    t->state->text = xmalloc(sizeof *t->state->text);
    t->state->text[0] = "";
    t->state->n_texts = t->state->texts_cap = 1;
    t->signal = xcalloc(1, sizeof *t->signal);
    t->state->is_wanted = xcalloc(1, sizeof *t->state->is_wanted);
    t->n_signals = t->signals_cap = t->state->wanted_cap = 1;
    if (t->options.signal)
        t->state->wanted = timeline_intern(t, t->options.signal, strlen(t->options.signal));
    t->state->is_wanted[0] = !t->options.signal;
    return t;
}

static void state_free(TimelineState *s, size_t n_clients) {
    for (size_t i = 0; i < n_clients; i++)
        map_fini(&s->client[i].by_id), effects_fini(&s->client[i]);
    free(s->client);
    map_fini(&s->texts), map_fini(&s->clients), map_fini(&s->groups), map_fini(&s->signals);
    arena_fini(&s->arena);
    bytes_fini(&s->scratch);
    free(s->text), free(s->asked), free(s->is_wanted);
    free(s);
}

void timeline_free(Timeline **timeline) {
    Timeline *t = *timeline;
    *timeline = NULL;
    if (!t) return;
    state_free(t->state, t->n_clients);
    for (size_t i = 0; i < t->n_clients; i++) free(t->client[i].event), free(t->client[i].band);
    for (int i = 0; i < t->n_workers; i++) {
        WorkerLane *w = &t->worker[i];
        free(w->slice), free(w->transfer), free(w->idle), free(w->compile);
        free(w->sample), free(w->band);
    }
    for (size_t i = 0; i < t->n_groups; i++) free(t->group[i].rank);
    free(t->client), free(t->worker), free(t->group), free(t->sent), free(t->mark);
    free(t->signal), free(t->operand), free(t->rank);
    free(t);
}

bool timeline_room(Timeline *t) {
    if (t->state->n_records < t->options.records_max) {
        t->state->n_records++;
        return true;
    }
    if (!t->is_cut) t->cut_line = t->n_lines + 1;
    t->is_cut = true;
    return false;
}

/* ---- Strings ---- */

uint32_t timeline_intern(Timeline *t, const char *s, size_t n) {
    TimelineState *st = t->state;
    if (n > TEXT_BYTES) n = TEXT_BYTES;
    if (n == 0) return 0;
    uint64_t hash = hash_bytes(s, n, 0);
    uintptr_t known = (uintptr_t)map_get(&st->texts, hash);
    if (known && !strncmp(st->text[known], s, n) && !st->text[known][n]) return (uint32_t)known;
    if (st->n_texts == TEXTS_MAX) return 0;
    ARRAY_ROOM(st->text, st->n_texts, st->texts_cap, 64);
    char *copy = arena_strndup(&st->arena, s, n);
    for (size_t i = 0; i < n; i++)
        if (!copy[i]) copy[i] = '?';
    st->text[st->n_texts] = copy;
    map_put(&st->texts, hash, (void *)(uintptr_t)st->n_texts);
    return st->n_texts++;
}

const char *timeline_text(const Timeline *t, uint32_t text) {
    return text < t->state->n_texts ? t->state->text[text] : "";
}

const char *timeline_signal(const Timeline *t, uint32_t signal, char *buf, size_t size) {
    enum { DEPTH = 16 };
    uint32_t stack[DEPTH];
    int n = 0;
    for (uint32_t s = signal; s && s < t->n_signals && n < DEPTH; s = t->signal[s].parent)
        stack[n++] = s;
    size_t at = 0;
    if (size) buf[0] = 0;
    while (n-- > 0 && at < size) {
        const char *name = timeline_text(t, t->signal[stack[n]].name);
        int k = snprintf(buf + at, size - at, "%s%s", name, n ? "/" : "");
        at += k > 0 ? (size_t)k : 0;
    }
    return buf;
}

const char *timeline_position(const Timeline *t, uint32_t file, uint32_t line, char *buf,
                              size_t size) {
    if (size) buf[0] = 0;
    if (line) snprintf(buf, size, "%s:%u", timeline_text(t, file), line);
    return buf;
}

const ClientLane *timeline_client(const Timeline *t, uint32_t id) {
    uintptr_t i = (uintptr_t)map_get(&t->state->clients, id);
    return i ? &t->client[i - 1] : NULL;
}

/* ---- Reading a file ---- */

typedef struct Reader {
    int fd;
    char buf[1 << 16];
    size_t at, n; /* of buf */
    Bytes line;   /* the line that was read last, without its newline */
    bool is_torn; /* the file's last line has no newline */
} Reader;

/* 1: a line; 0: the end; -1: the line is too long; -2: errno says what went wrong. */
static int next_line(Reader *r) {
    r->line.n = 0;
    for (;;) {
        const char *s = r->buf + r->at, *end = memchr(s, '\n', r->n - r->at);
        size_t n = end ? (size_t)(end - s) : r->n - r->at;
        if (r->line.n + n > TIMELINE_LINE_MAX) return -1;
        bytes_add(&r->line, s, n);
        r->at += n + (end != NULL);
        if (end) return 1;
        ssize_t got;
        do got = read(r->fd, r->buf, sizeof r->buf);
        while (got < 0 && errno == EINTR);
        if (got < 0) return -2;
        r->at = 0;
        r->n = (size_t)got;
        if (got > 0) continue;
        r->is_torn = r->line.n > 0;
        return 0;
    }
}

static bool complain(const char *path, uint64_t line, const char *text, Err *err) {
    char hint[sizeof err->hint] = "";
    if (err && err->hint[0]) memcpy(hint, err->hint, sizeof hint);
    err_set(err, ERR_PARSE, "%.200s:%llu: error: %s", path, (unsigned long long)line, text);
    return hint[0] ? err_hint(err, "%s", hint) : false;
}

static bool read_lines(Timeline *t, Reader *r, const char *path, Err *err) {
    Err why = {0};
    int got = 0;
    /* What follows is of no use to a reader of the model alone. */
    while (!why.code && !t->is_enough && !(t->is_cut && !t->options.chosen) &&
           (got = next_line(r)) > 0)
        timeline_add(t, r->line.data, r->line.n, &why);
    uint64_t at = t->n_lines + 1;
    t->is_torn = r->is_torn;
    if (got == -1)
        return complain(path, at, "the line is longer than 16 MiB: this is not a tape", err);
    if (got == -2) return err_set(err, ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (!why.code && t->n_lines == 0)
        err_set(&why, ERR_PARSE, "a tape begins with the line 'gti 1 kind=tape'");
    if (!why.code) return true;
    if (err) memcpy(err->hint, why.hint, sizeof err->hint);
    return complain(path, at, why.text, err);
}

bool timeline_read(const char *path, const TimelineOptions *options, Timeline **out, Err *err) {
    bool is_stdin = !strcmp(path, "-");
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *out = NULL;
    if (fd < 0) return err_set(err, ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    Timeline *t = timeline_new(options);
    Reader *r = xcalloc(1, sizeof *r);
    r->fd = fd;
    bytes_reserve(&r->line, 256); /* data is never NULL */
    bool ok = read_lines(t, r, is_stdin ? "<stdin>" : path, err);
    if (!is_stdin) close(fd);
    bytes_fini(&r->line);
    free(r);
    if (ok) {
        timeline_settle(t);
        *out = t;
    } else {
        timeline_free(&t);
    }
    return ok;
}
