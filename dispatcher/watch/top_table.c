/* top_table.c: the tables of gt-top: their columns, widths, order and filter. See top_view.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/top_table.h"
#include "runtime/base/err.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CELL = 2 * TOP_TEXT + 32, COLUMNS = 16, GAP = 2, MARGIN = 2, PERCENT = 5, SHORT = 20 };

/* ---- Cells: text for people, and values to sort by ---- */

typedef const TopRow Row;
static const char nothing[] = "";

static double number(Row *row, int k) {
    return row->number[k] == TOP_UNKNOWN ? -INFINITY : (double)row->number[k];
}
static double rate(Row *row, int c) {
    return top_row_has(row, c) && row->has_rate ? row->rate[c] : -INFINITY;
}
static double count(Row *row, int c) { return top_row_has(row, c) ? row->count[c] : -INFINITY; }

/* Texts of a number that is not negative. */
static const char *exact_cell(double v, char *buf) { return top_exact_text((int64_t)v, buf); }
static const char *plain_cell(double v, char *buf) { return snprintf(buf, CELL, "%.0f", v), buf; }
static const char *percent_cell(double v, char *buf) {
    return snprintf(buf, CELL, "%.0f %%", v), buf;
}
static const char *rank_cell(double v, char *buf) { return snprintf(buf, CELL, "w%.0f", v), buf; }
static const char *client_cell(double v, char *buf) { return snprintf(buf, CELL, "c%.0f", v), buf; }

static double id(Row *row, int unused) { return (double)row->id; }
static double mean(Row *row, int unused) {
    double n = count(row, TOP_INSTS);
    return n > 0 ? count(row, TOP_TIME) / n : -INFINITY;
}

static const char *worker_text(Row *row, char *buf) {
    snprintf(buf, CELL, "w%llu %s", (unsigned long long)row->id, row->word[TOP_ENGINE]);
    return buf;
}
static const char *source_text(Row *row, char *buf) {
    const char *file = row->word[TOP_FILE], *slash = strrchr(file, '/');
    if (!*file) return nothing;
    if (row->number[TOP_LINE] > 0)
        snprintf(buf, CELL, "%s:%lld", slash ? slash + 1 : file, (long long)row->number[TOP_LINE]);
    else
        snprintf(buf, CELL, "%s", slash ? slash + 1 : file);
    return buf;
}
static const char *now_text(Row *row, char *buf) {
    char source[CELL];
    const char *place = source_text(row, source), *in = row->word[TOP_IN_SIGNAL];
    snprintf(buf, CELL, "%.*s%s%.*s", TOP_TEXT, place, *place && *in ? " " : "", TOP_TEXT, in);
    return buf;
}

static double busy(Row *row, int unused) { return top_row_busy(row, NULL); }

static double idle(Row *row, int unused) {
    double fraction;
    top_row_idle(row, &fraction);
    return fraction;
}
/* "blocked w1 58%" */
static const char *why_text(Row *row, char *buf) {
    double fraction;
    char on[24] = "";
    IdleWhy cause = top_row_idle(row, &fraction);
    if (cause == IDLE_WHYS || fraction < 0.005) return nothing;
    if ((cause == IDLE_BLOCKED || cause == IDLE_COMM) && row->number[TOP_BLOCKED_ON] >= 0)
        snprintf(on, sizeof on, " w%lld", (long long)row->number[TOP_BLOCKED_ON]);
    snprintf(buf, CELL, "%s%s %.0f%%", idle_why_name[cause], on, fraction * 100);
    return buf;
}

static const char *memory_text(Row *row, char *buf) {
    double used = number(row, TOP_MEMORY), limit = number(row, TOP_LIMIT);
    if (used < 0) return nothing;
    return limit > 0 ? top_part_text(used, limit, buf) : top_bytes_text(used, buf);
}

static const char *device_text(Row *row, char *buf) {
    if (!row->word[TOP_DEVICE][0]) return nothing;
    snprintf(buf, CELL, "%s (%lld)", row->word[TOP_DEVICE],
             (long long)row->number[TOP_DEVICE_NUMBER]);
    return buf;
}
static const char *device_memory_text(Row *row, char *buf) {
    double used = number(row, TOP_DEVICE_USED), total = number(row, TOP_DEVICE_TOTAL);
    return used < 0 || total <= 0 ? nothing : top_part_text(used, total, buf);
}
static const char *celsius_text(Row *row, char *buf) {
    if (row->number[TOP_DEVICE_CELSIUS] == TOP_UNKNOWN) return nothing;
    snprintf(buf, CELL, "%lld °C", (long long)row->number[TOP_DEVICE_CELSIUS]);
    return buf;
}

static WatchClass op_class(Row *row) {
    Op op = op_find(row->word[TOP_NAME], strlen(row->word[TOP_NAME]));
    return watch_class(op);
}

/* ---- Columns ---- */

/* min, max: its width; of a bar with its percentage. importance: 0 is always shown, of the others
 * the least important goes first. It shows text(row), else the cell of its value, or a word. It
 * sorts by its value, if it has one, else by what it shows. */
typedef struct Column {
    const char *title;
    int min, max, importance;
    enum { RIGHT, LEFT } side;
    const char *(*text)(Row *row, char *buf);
    double (*value)(Row *row, int key);
    int key; /* of the value, or which word */
    const char *(*cell)(double v, char *buf);
} Column;

#define WORD(key)                LEFT, NULL, NULL, key, NULL
#define BAR(value, key)          LEFT, NULL, value, key, NULL
#define NUMBER(value, key, cell) RIGHT, NULL, value, key, cell

static const Column worker_column[] = {
    {"WORKER", 6, 14, 0, LEFT, worker_text, id},
    {"BUSY", 16, 65, 0, BAR(busy, 0)},
    {"WHY IDLE", 14, 16, 0, LEFT, why_text, idle},
    {"MEM", 10, 14, 1, RIGHT, memory_text, number, TOP_MEMORY},
    {"QUEUE", 5, 6, 2, NUMBER(number, TOP_QUEUE, top_count_text)},
    {"OPS/s", 5, 6, 1, NUMBER(rate, TOP_INSTS, top_count_text)},
    {"SIGNAL", 6, 28, 3, WORD(TOP_IN_SIGNAL)},
    {"MOVED/s", 8, 10, 4, NUMBER(rate, TOP_MOVED_BYTES, top_bytes_text)},
    {"DEVICE", 8, 28, 4, LEFT, device_text},
    {"DEV MEM", 12, 16, 4, RIGHT, device_memory_text, number, TOP_DEVICE_USED},
    {"TEMP", 5, 6, 4, RIGHT, celsius_text, number, TOP_DEVICE_CELSIUS},
    {"UTIL", 5, 5, 4, NUMBER(number, TOP_DEVICE_BUSY, percent_cell)},
    {"THREADS", 7, 7, 6, NUMBER(number, TOP_THREADS, exact_cell)},
    {"PID", 7, 10, 7, NUMBER(number, TOP_PID, plain_cell)},
    {"HOST", 8, 24, 5, WORD(TOP_HOST)},
};
static const Column client_column[] = {
    {"CLIENT", 6, 6, 0, LEFT, NULL, id, 0, client_cell},
    {"NAME", 8, 28, 3, WORD(TOP_NAME)},
    {"USER", 5, 12, 5, WORD(TOP_USER)},
    {"INSTR/s", 7, 7, 1, NUMBER(rate, TOP_INSTS, top_count_text)},
    {"PENDING", 7, 8, 1, NUMBER(number, TOP_PENDING, exact_cell)},
    {"TENSORS", 7, 9, 4, NUMBER(number, TOP_TENSORS, exact_cell)},
    {"MEM", 8, 9, 2, NUMBER(number, TOP_BYTES, top_bytes_text)},
    {"LAG", 6, 7, 2, NUMBER(number, TOP_LAG_US, top_time_text)},
    {"HOME", 4, 5, 6, NUMBER(number, TOP_HOME, rank_cell)},
    {"NOW", 18, 48, 0, LEFT, now_text},
};
static const Column signal_column[] = {
    {"SIGNAL", 10, 32, 0, WORD(TOP_NAME)},
    {"BUSY", 16, 65, 0, BAR(busy, 0)},
    {"WHY IDLE", 14, 16, 1, LEFT, why_text, idle},
    {"WORKERS", 7, 7, 1, NUMBER(number, TOP_WORKERS, exact_cell)},
    {"OPS/s", 5, 6, 2, NUMBER(rate, TOP_INSTS, top_count_text)},
    {"MOVED/s", 8, 10, 3, NUMBER(rate, TOP_MOVED_BYTES, top_bytes_text)},
};
static const Column op_column[] = {
    {"OP", 8, 20, 0, WORD(TOP_NAME)},
    {"TIME", 16, 65, 0, BAR(rate, TOP_TIME)},
    {"OPS/s", 5, 6, 1, NUMBER(rate, TOP_INSTS, top_count_text)},
    {"MEAN", 6, 7, 1, NUMBER(mean, 0, top_time_text)},
    {"COUNT", 5, 6, 2, NUMBER(count, TOP_INSTS, top_count_text)},
    {"TOTAL", 6, 7, 2, NUMBER(count, TOP_TIME, top_time_text)},
    {"BYTES", 8, 9, 4, NUMBER(number, TOP_BYTES, top_bytes_text)},
};

static const struct {
    const Column *column;
    int n;
} table[TOP_KINDS] = {
#define TABLE(columns)                                                                             \
    { columns, sizeof columns / sizeof *columns }
    [TOP_WORKER] = TABLE(worker_column),
    [TOP_CLIENT] = TABLE(client_column),
    [TOP_SIGNAL] = TABLE(signal_column),
    [TOP_OP] = TABLE(op_column),
};

int top_columns(TopKind kind) { return table[kind].n; }
const char *top_column_title(TopKind kind, int column) { return table[kind].column[column].title; }
bool top_column_is_up(TopKind kind, int column) {
    const Column *c = &table[kind].column[column];
    return !c->value || c->value == id;
}

static bool is_bar(const Column *c) { return c->value && !c->text && !c->cell; }

/* The column of the signal that a worker is in. */
static bool is_signal(const Column *c) { return !c->value && !c->text && c->key == TOP_IN_SIGNAL; }

static const char *cell_text(const Column *c, Row *row, char *buf) {
    if (c->text) return c->text(row, buf);
    if (!c->value) return row->word[c->key];
    double v = c->cell ? c->value(row, c->key) : -1;
    return v < 0 ? nothing : c->cell(v, buf);
}

/* ---- Order and filter ---- */

typedef struct Order {
    const Column *column;
    bool is_up;
} Order;

static int compare(const void *a, const void *b, void *ctx) {
    Row *x = *(Row *const *)a, *y = *(Row *const *)b;
    const Order *o = ctx;
    char p[CELL], q[CELL];
    int order;
    if (o->column->value) {
        double u = o->column->value(x, o->column->key), v = o->column->value(y, o->column->key);
        order = (u > v) - (u < v);
    } else
        order = strcasecmp(cell_text(o->column, x, p), cell_text(o->column, y, q));
    if (!o->is_up) order = -order;
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static bool passes(const TopView *v, TopKind kind, Row *row) {
    if (!v->filter[0]) return true;
    for (int c = 0; c < table[kind].n; c++) {
        char text[CELL];
        if (strcasestr(cell_text(&table[kind].column[c], row, text), v->filter)) return true;
    }
    return false;
}

const TopRow **top_rows(const TopModel *m, const TopView *v, TopKind kind, int *n) {
    const TopRows *rows = &m->rows[kind];
    const TopRow **list = xmalloc(sizeof *list * (size_t)(rows->n + 1));
    Order order = {&table[kind].column[v->sort[kind]], v->is_up[kind]};
    *n = 0;
    for (int i = 0; i < rows->n; i++)
        if (passes(v, kind, &rows->row[i])) list[(*n)++] = &rows->row[i];
    qsort_r(list, (size_t)*n, sizeof *list, compare, &order);
    return list;
}

/* ---- Drawing ---- */

/* The width that the rows' texts in a column need, within its limits; 0: there are none, and the
 * column is one of the less important. */
static int wanted(const Column *c, const TopGrid *g, Row *const *row, int n_rows) {
    char buf[CELL];
    int want = 0, w;
    if (is_bar(c)) return c->min;
    for (int i = 0; i < n_rows; i++)
        if ((w = top_text_width(g, cell_text(c, row[i], buf))) > want) want = w;
    if (!want && c->importance >= 4) return 0;
    return want < c->min ? c->min : want < c->max ? want : c->max;
}

/* Chooses the columns that fit into `width` and their widths (0: not shown). What is left goes to
 * texts that are cut, then to the bar. */
static void fit(const TopModel *m, TopKind kind, const TopGrid *g, Row *const *row, int n_rows,
                int width, int got[COLUMNS]) {
    const Column *column = table[kind].column;
    int n = table[kind].n, spare = width + GAP, want[COLUMNS];
    bool is_full = false;
    for (int c = 0; c < n; c++) want[c] = wanted(&column[c], g, row, n_rows);
    memset(got, 0, COLUMNS * sizeof *got);
    for (int importance = 0; importance < 10; importance++)
        for (int c = 0; c < n; c++) {
            int need = importance <= 1 && column[c].max <= SHORT ? want[c] : column[c].min;
            if (column[c].importance != importance || is_full || !want[c]) continue;
            if (is_signal(&column[c]) && !m->rows[TOP_SIGNAL].n) continue;
            is_full = importance && need + GAP > spare;
            if (is_full) continue;
            got[c] = need;
            spare -= need + GAP;
        }
    for (int pass = 0; pass < 2; pass++)
        for (int c = 0; c < n && spare > 0; c++) {
            bool fills = is_bar(&column[c]);
            int more = (fills ? column[c].max : want[c]) - got[c];
            if (!got[c] || fills != (pass == 1) || more <= 0) continue;
            if (more > spare) more = spare;
            got[c] += more;
            spare -= more;
        }
}

static void draw_bar(const TopModel *m, Row *row, TopGrid *g, int y, int x, int width) {
    double part[WATCH_CLASS_COUNT] = {0}, all;
    bool is_known = false;
    if (row->kind == TOP_OP) {
        int workers = m->rows[TOP_WORKER].n ? m->rows[TOP_WORKER].n : 1;
        all = row->rate[TOP_TIME] * 1e-6 / workers;
        if (all > 1) all = 1;
        part[op_class(row)] = all;
        is_known = top_row_has(row, TOP_TIME);
    } else {
        all = top_row_busy(row, part);
        for (int c = 0; c < TOP_IDLE + IDLE_WHYS; c++) is_known |= top_row_has(row, c);
    }
    if (!is_known || !row->has_rate) return;
    top_put_bar(g, y, x, width - PERCENT, part);
    top_printf(g, y, x + width - PERCENT, STYLE_PLAIN, "%4.0f%%", all * 100);
}

static void draw_row(const TopModel *m, TopKind kind, Row *row, const int got[COLUMNS], TopGrid *g,
                     int y) {
    int x = MARGIN;
    for (int c = 0; c < table[kind].n; c++) {
        const Column *column = &table[kind].column[c];
        char buf[CELL];
        if (!got[c]) continue;
        if (is_bar(column))
            draw_bar(m, row, g, y, x, got[c]);
        else
            (column->side == LEFT ? top_put : top_put_right)(g, y, x, got[c], STYLE_PLAIN,
                                                             cell_text(column, row, buf));
        x += got[c] + GAP;
    }
}

static void draw_titles(const TopView *v, TopKind kind, const int got[COLUMNS], TopGrid *g, int y) {
    int x = MARGIN;
    for (int c = 0; c < table[kind].n; c++) {
        const Column *column = &table[kind].column[c];
        bool is_sort = v->is_screen && v->kind == kind && v->sort[kind] == c;
        if (!got[c]) continue;
        (column->side == LEFT ? top_put : top_put_right)(
            g, y, x, got[c], is_sort ? STYLE_SORT : STYLE_TITLE, column->title);
        int at = column->side == LEFT ? x + (int)strlen(column->title) : x + got[c];
        if (is_sort)
            top_put(g, y, at, 1, STYLE_SORT, v->is_up[kind] ? "^" : g->is_utf8 ? "⌄" : "v");
        x += got[c] + GAP;
    }
}

static void mark(TopGrid *g, int y) {
    if (y >= g->height) return;
    top_put(g, y, 0, 1, STYLE_BOLD, ">");
    for (int x = 0; x < g->width; x++)
        g->cell[(size_t)y * (size_t)g->width + (size_t)x].is_selected = true;
}

void top_table_draw(const TopModel *m, const TopView *v, TopKind kind, TopGrid *g, int y,
                    int n_lines, int from) {
    int n, got[COLUMNS];
    const TopRow **row = top_rows(m, v, kind, &n);
    fit(m, kind, g, row, n, g->width - MARGIN, got);
    draw_titles(v, kind, got, g, y);
    for (int i = from; i < n && i < from + n_lines; i++) {
        int at = y + 1 + i - from;
        draw_row(m, kind, row[i], got, g, at);
        if (v->is_screen && v->kind == kind && row[i]->id == v->selected[kind]) mark(g, at);
    }
    free(row);
}
