/* top_past.c: see top_past.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/top_past.h"
#include "dispatcher/watch/top_grid.h"
#include "runtime/base/err.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024 };

/* A line's columns, and its text. */
typedef struct Line {
    char at[24], client[24], place[24], event;
    const char *text;
} Line;

static void forget(TopPast *p) {
    for (MapItem it = {0}; map_next(&p->sent, &it);) free(it.value);
    map_fini(&p->sent);
    p->sent = (Map){0};
    p->sent_bytes = 0;
}

void top_past_begin(TopPast *p, TopKind kind, const char *name) {
    forget(p);
    p->kind = kind;
    snprintf(p->name, sizeof p->name, "%s", name);
    p->lines.n = 0;
    p->is_whole = p->is_inside = false;
}

void top_past_fini(TopPast *p) {
    forget(p);
    bytes_fini(&p->lines);
}

/* The key of the first result that the text names ("t12 = ...", "t12 us=..."), of a client; 0: it
 * names none. */
static uint64_t result_of(const Line *l, const char *text) {
    char *end;
    if (text[0] != 't' || text[1] < '0' || text[1] > '9') return 0;
    uint64_t id = strtoull(text + 1, &end, 10), client = strtoull(l->client + 1, NULL, 10);
    return (client << 44 ^ id) + 1;
}

/* Keeps an instruction until it is reported done. */
static void keep_sent(TopPast *p, const Line *l) {
    uint64_t key = result_of(l, l->text);
    if (!key) return;
    size_t n = strlen(l->text) + 1;
    if (p->sent_bytes + n > TOP_PAST_SENT) forget(p);
    free(map_remove(&p->sent, key));
    map_put(&p->sent, key, xstrdup(l->text));
    p->sent_bytes += n;
}

/* Copies the value of KEY=VALUE; false if there is none. */
static bool value_of(const char *text, const char *key, char *out, size_t size) {
    size_t n = strlen(key);
    for (const char *s = text; (s = strstr(s, key)) != NULL; s += n) {
        if (s[n] != '=' || (s > text && s[-1] != ' ')) continue;
        snprintf(out, size, "%.*s", (int)strcspn(s + n + 1, " "), s + n + 1);
        return true;
    }
    return false;
}

/* An instruction that is done: its time and its text. */
static void put_done(TopPast *p, const Line *l) {
    const char *id = l->text + strlen("done ");
    uint64_t key = result_of(l, id);
    const char *text = key ? map_get(&p->sent, key) : NULL;
    char us[24] = "", op[64] = "", took[TOP_NUMBER] = "", other[160];
    if (value_of(id, "us", us, sizeof us)) top_time_text(strtod(us, NULL), took);
    if (!text) {
        value_of(id, "op", op, sizeof op);
        snprintf(other, sizeof other, "%.*s%s", key ? (int)strcspn(id, " ") + 1 : 0, id, op);
        text = other;
    }
    bytes_printf(&p->lines, "%s %9s  %s\n", l->at, took, text);
}

static bool is_within(TopPast *p, const Line *l) {
    char name[TOP_TEXT + 1];
    size_t n = strlen(p->name);
    bool is_enter = !strncmp(l->text, "signal enter ", 13);
    if (!is_enter && strncmp(l->text, "signal exit ", 12)) return p->is_inside;
    snprintf(name, sizeof name, "%s", l->text + (is_enter ? 13 : 12));
    char *at = name[0] == '"' ? name + 1 : name;
    bool is_it = !strncmp(at, p->name, n) && (!at[n] || at[n] == ' ' || at[n] == '"');
    bool was_inside = p->is_inside;
    if (is_it) p->is_inside = is_enter;
    return is_it || was_inside;
}

/* Adds the line if it concerns the row. */
static void put(TopPast *p, const Line *l) {
    bool is_done = l->event == '<' && !strncmp(l->text, "done ", 5), is_shown = false;
    char op[64];
    switch (p->kind) {
    case TOP_WORKER: is_shown = !strcmp(l->place, p->name) && l->event != '='; break;
    case TOP_CLIENT:
        is_shown = !strcmp(l->client, p->name) && l->event != '<' && l->event != '=';
        break;
    case TOP_OP:
        is_shown = is_done && value_of(l->text, "op", op, sizeof op) && !strcmp(op, p->name);
        break;
    default: is_shown = l->event == '>' && is_within(p, l); break;
    }
    if (is_shown && is_done)
        put_done(p, l);
    else if (is_shown)
        bytes_printf(&p->lines, "%s %9s  %s\n", l->at, l->event == '!' ? "failed" : "", l->text);
}

static void take_line(TopPast *p, const char *line, size_t n) {
    char copy[LINE];
    Line l = {0};
    int at = 0;
    snprintf(copy, sizeof copy, "%.*s", n < LINE ? (int)n : LINE - 1, line);
    if (sscanf(copy, "%23s %*s %c %23s %23s %n", l.at, &l.event, l.client, l.place, &at) < 4 || !at)
        return;
    l.text = copy + at;
    if (l.event == '>' && (p->kind == TOP_WORKER || p->kind == TOP_OP)) keep_sent(p, &l);
    put(p, &l);
}

/* Drops the older half of the lines. */
static void cut(TopPast *p) {
    Bytes *b = &p->lines;
    const char *from = memchr(b->data + b->n - TOP_PAST_BYTES / 2, '\n', TOP_PAST_BYTES / 2);
    size_t drop = from ? (size_t)(from + 1 - b->data) : b->n;
    memmove(b->data, b->data + drop, b->n - drop + 1);
    b->n -= drop;
}

void top_past_take(TopPast *p, const char *text, size_t n) {
    for (const char *line = text, *end = text + n; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline : end) - line);
        take_line(p, line, length);
        line += length + 1;
        if (p->lines.n > TOP_PAST_BYTES) cut(p);
    }
}
