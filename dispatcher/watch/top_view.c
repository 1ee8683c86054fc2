/* top_view.c: the pages of gt-top: first line, tables, legend, help, tape lines. See top_view.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/top_view.h"
#include "dispatcher/watch/top_table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2 };

void top_view_init(TopView *v) {
    static const char *const sort[TOP_KINDS] = {"WORKER", "CLIENT", "BUSY", "TIME"};
    *v = (TopView){.kind = TOP_WORKER};
    for (int kind = 0; kind < TOP_KINDS; kind++) {
        while (strcmp(top_column_title((TopKind)kind, v->sort[kind]), sort[kind])) v->sort[kind]++;
        v->is_up[kind] = top_column_is_up((TopKind)kind, v->sort[kind]);
    }
}

void top_view_fini(TopView *v) { top_past_fini(&v->past); }

void top_view_say(TopView *v, bool is_warning, const char *format, ...) {
    FORMAT_INTO(v->message, format);
    v->is_warning = is_warning;
}

/* ---- The first line ---- */

static int plural(char *out, size_t size, int64_t n, const char *what) {
    return snprintf(out, size, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

/* The facts of the run, the most important first. Returns how many. */
static int facts(const TopModel *m, char fact[6][48]) {
    const TopRow *d = &m->dispatcher;
    char a[TOP_NUMBER];
    int64_t workers = d->number[TOP_WORKERS], clients = d->number[TOP_CLIENTS];
    int n = 0;
    if (!m->n_snapshots) return 0;
    plural(fact[n++], 48, workers >= 0 ? workers : m->rows[TOP_WORKER].n, "worker");
    plural(fact[n++], 48, clients >= 0 ? clients : m->rows[TOP_CLIENT].n, "client");
    if (top_row_has(d, TOP_INSTS))
        snprintf(fact[n++], 48, "%s instr/s", top_count_text(d->rate[TOP_INSTS], a));
    if (d->number[TOP_QUEUE] >= 0)
        snprintf(fact[n++], 48, "queue %s", top_count_text((double)d->number[TOP_QUEUE], a));
    double wire = d->rate[TOP_FRAME_BYTES] + d->rate[TOP_SENT_BYTES] + d->rate[TOP_DATA_BYTES];
    if (top_row_has(d, TOP_FRAME_BYTES) || top_row_has(d, TOP_SENT_BYTES))
        snprintf(fact[n++], 48, "wire %s/s", top_bytes_text(wire, a));
    if (d->number[TOP_UP_US] >= 0)
        snprintf(fact[n++], 48, "up %s", top_time_text((double)d->number[TOP_UP_US], a));
    return n;
}

/* The endpoint in at most `width` columns: without its scheme, and without its beginning. */
static int put_endpoint(const char *text, TopGrid *g, int x, int width) {
    if (!strncmp(text, "ipc://", 6) || !strncmp(text, "tcp://", 6)) text += 6;
    int n = (int)strlen(text);
    if (n <= width || width < 4) return top_put(g, 0, x, width, STYLE_PLAIN, text);
    int at = top_put(g, 0, x, 1, STYLE_PLAIN, g->is_utf8 ? "…" : "~");
    return at + top_put(g, 0, x + at, width - 1, STYLE_PLAIN, text + n - (width - 1));
}

static void draw_head(const TopModel *m, const TopView *v, TopGrid *g) {
    char fact[6][48];
    const char *where = m->dispatcher.word[TOP_ENDPOINT];
    int n = facts(m, fact), used = 0, shown = 0, x;
    if (!*where) where = v->endpoint;
    for (; shown < n && 8 + 12 + used + (int)strlen(fact[shown]) + 2 <= g->width; shown++)
        used += (int)strlen(fact[shown]) + 2;
    x = top_put(g, 0, 0, 6, STYLE_BOLD, "gt-top") + 2;
    x += put_endpoint(where, g, x, g->width - x - used);
    for (int i = 0; i < shown; i++) x += 2 + top_put(g, 0, x + 2, 48, STYLE_PLAIN, fact[i]);
}

/* ---- Tables ---- */

static void draw_legend(TopGrid *g, int y) {
    int x = INDENT;
    for (int c = 0; c <= WATCH_CLASS_COUNT; c++) {
        double part[WATCH_CLASS_COUNT] = {0};
        const char *name = c < WATCH_CLASS_COUNT ? watch_class_info[c].name : "idle";
        if (x + 2 + (int)strlen(name) > g->width) return;
        if (c < WATCH_CLASS_COUNT) part[c] = 1;
        top_put_bar(g, y, x, 1, part);
        x += 2 + top_put(g, y, x + 2, 16, STYLE_DIM, name) + 2;
    }
}

static bool has_legend(TopKind kind) { return kind != TOP_CLIENT; }

static const char *why_empty(const TopModel *m, const TopView *v, TopKind kind) {
    static const char *const why[TOP_KINDS] = {"no workers", "no clients",
                                               "no worker was within a signal",
                                               "the dispatcher has counted no operations"};
    if (!m->n_snapshots) return "waiting for the dispatcher";
    return m->rows[kind].n && v->filter[0] ? "no row contains the filter" : why[kind];
}

/* Draws a table of at most n_lines rows with its title; returns the line below it. */
static int draw_table(const TopModel *m, const TopView *v, TopKind kind, TopGrid *g, int y,
                      int n_rows, int n_lines, int from) {
    top_table_draw(m, v, kind, g, y, n_lines, from);
    if (n_rows == 0) top_put(g, y + 1, INDENT, g->width, STYLE_DIM, why_empty(m, v, kind));
    return y + 1 + (n_rows == 0 ? 1 : n_rows < n_lines ? n_rows : n_lines);
}

static int count_rows(const TopModel *m, const TopView *v, TopKind kind) {
    int n;
    free(top_rows(m, v, kind, &n));
    return n;
}

static int at_least(int v, int least) { return v > least ? v : least; }
static int at_most(int v, int most) { return v < most ? v : most; }

/* Selects an existing row, and scrolls so that it is among the n_lines shown. */
static void keep_selection(const TopModel *m, TopView *v, int n_lines) {
    int n, at = 0;
    const TopRow **row = top_rows(m, v, v->kind, &n);
    while (at < n && row[at]->id != v->selected[v->kind]) at++;
    if (at == n) at = 0;
    if (n) v->selected[v->kind] = row[at]->id;
    v->scroll = at_most(v->scroll, at);
    v->scroll = at_least(v->scroll, at - n_lines + 1);
    v->scroll = at_least(at_most(v->scroll, n - n_lines), 0);
    free(row);
}

static void draw_tables(const TopModel *m, TopView *v, TopGrid *g) {
    bool is_two = v->kind == TOP_WORKER;
    int n = count_rows(m, v, v->kind), n_second = is_two ? count_rows(m, v, TOP_CLIENT) : 0;
    int room = g->height - 2 - v->is_screen - has_legend(v->kind); /* for rows and a 2nd table */
    int second = is_two ? 2 + at_least(at_most(n_second, room / 3), 1) : 0;
    int lines = v->is_screen ? at_least(at_most(at_least(n, 1), room - second), 1) : at_least(n, 1);
    if (v->is_screen) keep_selection(m, v, lines);
    int y = draw_table(m, v, v->kind, g, 1, n, lines, v->is_screen ? v->scroll : 0);
    if (has_legend(v->kind)) draw_legend(g, y++);
    if (!is_two) return;
    int left = g->height - y - 2 - v->is_screen;
    if (left > 0) draw_table(m, v, TOP_CLIENT, g, y + 1, n_second, left, 0);
}

int top_view_height(const TopModel *m, const TopView *v) {
    int n = 2 + at_least(count_rows(m, v, v->kind), 1) + has_legend(v->kind);
    return v->kind == TOP_WORKER ? n + 2 + at_least(count_rows(m, v, TOP_CLIENT), 1) : n;
}

/* ---- Other pages ---- */

static const char *const help[] = {
    "w c s o      workers, clients, signals, operations",
    "Up Down      select a row; also PgUp, PgDn, Home, End",
    "< >          sort by the column before or after; r: the other way round",
    "/            show only rows with this text; an empty text shows all",
    "Enter        the last instructions of the selected row",
    "k            drop what the selected client has queued (asks first)",
    "t            save the last 5 seconds as a tape, for gt-trace and gt-visualize",
    "p            pause the display; the run goes on",
    "h q          this page; quit",
    "",
    "BUSY         part of the time, by class of operation",
    "starved      the worker had no instruction",
    "blocked w1   it waited for an input that w1 computes",
    "comm         it waited for a transfer",
    "compile      it waited for a kernel to be compiled",
    "device       its GPU computed, and no more could be handed over",
    "LAG          age of the oldest instruction that is not done",
    "NOW          where the client's program is, and its signal",
    "",
    "Rates are means over 2 seconds, smoothed.",
};

static void draw_help(TopView *v, TopGrid *g) {
    int n = (int)(sizeof help / sizeof *help);
    v->page_scroll = at_least(at_most(v->page_scroll, n - (g->height - 3)), 0);
    for (int i = v->page_scroll; i < n && 2 + i - v->page_scroll < g->height - 1; i++)
        top_put(g, 2 + i - v->page_scroll, INDENT, g->width, STYLE_PLAIN, help[i]);
}

const char *top_row_name(const TopModel *m, TopKind kind, uint64_t id, char *buf) {
    const TopRow *row = top_model_find(m, kind, id);
    if (kind == TOP_WORKER || kind == TOP_CLIENT)
        snprintf(buf, TOP_TEXT, "%c%llu", kind == TOP_WORKER ? 'w' : 'c', (unsigned long long)id);
    else
        snprintf(buf, TOP_TEXT, "%s", row ? row->word[TOP_NAME] : "");
    return buf;
}

static void draw_past(TopView *v, TopGrid *g) {
    const TopPast *p = &v->past;
    int room = at_least(g->height - 3, 1), n = 0;
    top_printf(g, 1, 0, STYLE_TITLE, "The last instructions of %s", p->name);
    if (!p->lines.n)
        top_put(g, 2, INDENT, g->width, STYLE_DIM,
                p->is_whole ? "none in the last seconds" : "waiting for them");
    for (size_t i = 0; i < p->lines.n; i++) n += p->lines.data[i] == '\n';
    v->page_scroll = at_least(at_most(v->page_scroll, n - room), 0);
    int skip = at_least(n - room - v->page_scroll, 0), y = 2;
    for (const char *line = p->lines.n ? p->lines.data : NULL, *end; line && y < 2 + room; skip--) {
        char text[1200];
        if (!(end = strchr(line, '\n'))) break;
        snprintf(text, sizeof text, "%.*s", at_most((int)(end - line), 1100), line);
        if (skip <= 0) top_put(g, y++, 0, g->width, STYLE_PLAIN, text);
        line = end + 1;
    }
}

/* ---- The bottom line ---- */

static void draw_keys(const TopView *v, TopGrid *g, int y, int x) {
    static const struct {
        const char *key, *name;
        int kind;
    } keys[] = {{"w", "workers", TOP_WORKER},
                {"c", "clients", TOP_CLIENT},
                {"s", "signals", TOP_SIGNAL},
                {"o", "ops", TOP_OP},
                {"h", "help", -1},
                {"q", "quit", -1},
                {"<>", "sort", -1},
                {"/", "filter", -1},
                {"p", "pause", -1},
                {"Enter", "instructions", -1},
                {"t", "save trace", -1},
                {"k", "cancel", -1}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int width = (int)(strlen(keys[i].key) + 1 + strlen(keys[i].name));
        if (x + width > g->width) return;
        top_put(g, y, x, 8, STYLE_KEY, keys[i].key);
        top_put(g, y, x + (int)strlen(keys[i].key) + 1, 16,
                keys[i].kind == (int)v->kind ? STYLE_BOLD : STYLE_DIM, keys[i].name);
        x += width + 2;
    }
}

static void draw_bottom(const TopModel *m, const TopView *v, TopGrid *g) {
    int y = g->height - 1, x = 0;
    char name[TOP_TEXT];
    if (v->ask == ASK_FILTER) {
        top_printf(g, y, 0, STYLE_BOLD, "show rows with: %s_", v->typed);
        return;
    }
    if (v->ask == ASK_CANCEL) {
        const TopRow *row = top_model_find(m, TOP_CLIENT, v->cancel_id);
        top_printf(g, y, 0, STYLE_BOLD, "drop all that %s %s has queued? y or n",
                   top_row_name(m, TOP_CLIENT, v->cancel_id, name), row ? row->word[TOP_NAME] : "");
        return;
    }
    if (v->message[0]) {
        top_put(g, y, 0, g->width, v->is_warning ? STYLE_WARN : STYLE_BOLD, v->message);
        return;
    }
    if (v->is_paused) x += 2 + top_put(g, y, x, 8, STYLE_WARN, "paused");
    if (v->filter[0]) x += 2 + top_printf(g, y, x, STYLE_WARN, "filter: %s", v->filter);
    if (v->page == PAGE_TABLE)
        draw_keys(v, g, y, x);
    else
        top_put(g, y, x, g->width, STYLE_DIM, "Up Down scroll, any other key goes back");
}

void top_view_draw(const TopModel *m, TopView *v, TopGrid *g) {
    draw_head(m, v, g);
    if (v->page == PAGE_HELP)
        draw_help(v, g);
    else if (v->page == PAGE_PAST)
        draw_past(v, g);
    else
        draw_tables(m, v, g);
    if (!v->is_screen) return;
    for (int x = 0; x < g->width; x++) top_put(g, g->height - 1, x, 1, STYLE_PLAIN, " ");
    draw_bottom(m, v, g);
}
