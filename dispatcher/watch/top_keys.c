/* top_keys.c: what the keys of gt-top do to its view. See top_view.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/top_keys.h"
#include "dispatcher/watch/top_table.h"
#include "runtime/base/utf8.h"
#include <stdlib.h>
#include <string.h>

enum { PAGE = 10 };

/* Moves the selection by `by` rows. */
static void select_row(const TopModel *m, TopView *v, int by) {
    int n, at = 0;
    const TopRow **row = top_rows(m, v, v->kind, &n);
    while (at < n && row[at]->id != v->selected[v->kind]) at++;
    at = at == n ? 0 : at + by;
    if (at >= n) at = n - 1;
    if (at < 0) at = 0;
    if (n) v->selected[v->kind] = row[at]->id;
    free(row);
}

static void show(TopView *v, TopKind kind) {
    v->kind = kind;
    v->page = PAGE_TABLE;
    v->scroll = 0;
}

static void sort(TopView *v, int by) {
    int n = top_columns(v->kind), *column = &v->sort[v->kind];
    *column = (*column + by + n) % n;
    v->is_up[v->kind] = top_column_is_up(v->kind, *column);
    top_view_say(v, false, "sorted by %s", top_column_title(v->kind, *column));
}

/* By how many lines a key moves; 0: it is another key. */
static int step_of(int key) {
    switch (key) {
    case TOP_KEY_UP: return -1;
    case TOP_KEY_DOWN: return 1;
    case TOP_KEY_PAGE_UP: return -PAGE;
    case TOP_KEY_PAGE_DOWN: return PAGE;
    case TOP_KEY_HOME: return -(1 << 20);
    case TOP_KEY_END: return 1 << 20;
    default: return 0;
    }
}

static void filter_key(TopView *v, int key) {
    size_t n = strlen(v->typed);
    char bytes[4];
    if (key == '\r' || key == '\n') {
        strcpy(v->filter, v->typed);
        v->ask = ASK_NOTHING;
    } else if (key == 27)
        v->ask = ASK_NOTHING;
    else if (key == TOP_KEY_BACKSPACE) {
        while (n > 0 && (v->typed[--n] & 0xc0) == 0x80) {}
        v->typed[n] = '\0';
    } else if (key >= ' ' && key < TOP_KEY_UP) {
        int len = utf8_encode((uint32_t)key, bytes);
        if (n + (size_t)len >= sizeof v->typed) return;
        memcpy(v->typed + n, bytes, (size_t)len);
        v->typed[n + (size_t)len] = '\0';
    }
}

/* The selected row, else the first; NULL: there is none. */
static const TopRow *selected(const TopModel *m, TopView *v) {
    select_row(m, v, 0);
    return top_model_find(m, v->kind, v->selected[v->kind]);
}

/* The last instructions of the selected row. */
static TopAction past(const TopModel *m, TopView *v) {
    const TopRow *row = selected(m, v);
    char name[TOP_TEXT];
    if (!row) return TOP_NOTHING;
    top_past_begin(&v->past, v->kind, top_row_name(m, v->kind, row->id, name));
    v->page = PAGE_PAST;
    v->page_scroll = 0;
    return TOP_PAST;
}

/* Drops the queue of the client that was asked about, unless the last snapshot shows it empty. */
static TopAction confirm(const TopModel *m, TopView *v) {
    const TopRow *row = top_model_find(m, TOP_CLIENT, v->cancel_id);
    char name[TOP_TEXT];
    if (row && row->number[TOP_PENDING] != 0) return TOP_CANCEL;
    top_view_say(v, false, "%s has %s", top_row_name(m, TOP_CLIENT, v->cancel_id, name),
                 row ? "nothing queued" : "left");
    return TOP_NOTHING;
}

static TopAction cancel(const TopModel *m, TopView *v) {
    if (v->kind != TOP_CLIENT)
        top_view_say(v, false, "k cancels a client's queue: c shows the clients");
    else if (selected(m, v)) {
        v->ask = ASK_CANCEL;
        v->cancel_id = v->selected[TOP_CLIENT];
    }
    return TOP_NOTHING;
}

static TopAction table_key(const TopModel *m, TopView *v, int key) {
    if (step_of(key)) return select_row(m, v, step_of(key)), TOP_NOTHING;
    switch (key) {
    case 'w': return show(v, TOP_WORKER), TOP_NOTHING;
    case 'c': return show(v, TOP_CLIENT), TOP_NOTHING;
    case 's': return show(v, TOP_SIGNAL), TOP_NOTHING;
    case 'o': return show(v, TOP_OP), TOP_NOTHING;
    case '<':
    case ',':
    case TOP_KEY_LEFT: return sort(v, -1), TOP_NOTHING;
    case '>':
    case '.':
    case TOP_KEY_RIGHT: return sort(v, 1), TOP_NOTHING;
    case 'r': v->is_up[v->kind] = !v->is_up[v->kind]; return TOP_NOTHING;
    case 'p':
    case ' ': v->is_paused = !v->is_paused; return TOP_NOTHING;
    case '/':
        v->ask = ASK_FILTER;
        strcpy(v->typed, v->filter);
        return TOP_NOTHING;
    case 'h':
    case '?':
        v->page = PAGE_HELP;
        v->page_scroll = 0;
        return TOP_NOTHING;
    case '\r':
    case '\n': return past(m, v);
    case 'k': return cancel(m, v);
    case 't': return TOP_SAVE;
    case 'q': return TOP_QUIT;
    case 27: v->filter[0] = '\0'; return TOP_NOTHING;
    default: return TOP_NOTHING;
    }
}

TopAction top_view_key(const TopModel *m, TopView *v, int key) {
    v->message[0] = '\0';
    if (v->ask == ASK_FILTER) return filter_key(v, key), TOP_NOTHING;
    if (v->ask == ASK_CANCEL) {
        v->ask = ASK_NOTHING;
        if (key == 'y' || key == 'Y') return confirm(m, v);
        top_view_say(v, false, "nothing is cancelled");
        return TOP_NOTHING;
    }
    if (v->page == PAGE_TABLE) return table_key(m, v, key);
    int step = step_of(key);
    if (step) /* the tape's lines count from their end */
        v->page_scroll += v->page == PAGE_PAST ? -step : step;
    else
        v->page = PAGE_TABLE;
    if (v->page_scroll < 0) v->page_scroll = 0;
    return TOP_NOTHING;
}
