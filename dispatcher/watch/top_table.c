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

static double number(Row *row, TopNumber k) {
    return row->number[k] == TOP_UNKNOWN ? -INFINITY : (double)row->number[k];
}
static double rate(Row *row, TopCounter c) {
    return top_row_has(row, c) && row->has_rate ? row->rate[c] : -INFINITY;
}
static double count(Row *row, TopCounter c) {
    return top_row_has(row, c) ? row->count[c] : -INFINITY;
}

static const char *count_cell(double v, char *buf) {
    return v < 0 ? nothing : top_count_text(v, buf);
}
static const char *bytes_cell(double v, char *buf) {
    return v < 0 ? nothing : top_bytes_text(v, buf);
}
static const char *time_cell(double v, char *buf) {
    return v < 0 ? nothing : top_time_text(v, buf);
}
static const char *exact_cell(Row *row, TopNumber k, char *buf) {
    return row->number[k] == TOP_UNKNOWN ? nothing : top_exact_text(row->number[k], buf);
}

/* A column that shows and sorts by the same number. */
#define NUMBER_COLUMN(name, value, cell)                                                           \
    static double name##_value(Row *row) { return value; }                                         \
    static const char *name##_text(Row *row, char *buf) { return cell(name##_value(row), buf); }

NUMBER_COLUMN(rate, rate(row, TOP_INSTS), count_cell)
NUMBER_COLUMN(moved, rate(row, TOP_MOVED_BYTES), bytes_cell)
NUMBER_COLUMN(bytes, number(row, TOP_BYTES), bytes_cell)
NUMBER_COLUMN(lag, number(row, TOP_LAG_US), time_cell)
NUMBER_COLUMN(total, count(row, TOP_TIME), time_cell)
NUMBER_COLUMN(times, count(row, TOP_INSTS), count_cell)
NUMBER_COLUMN(queue, number(row, TOP_QUEUE), count_cell)
NUMBER_COLUMN(mean,
              count(row, TOP_INSTS) > 0 ? count(row, TOP_TIME) / count(row, TOP_INSTS) : -INFINITY,
              time_cell)

static double pending_value(Row *row) { return number(row, TOP_PENDING); }
static const char *pending_text(Row *row, char *buf) { return exact_cell(row, TOP_PENDING, buf); }
static double tensors_value(Row *row) { return number(row, TOP_TENSORS); }
static const char *tensors_text(Row *row, char *buf) { return exact_cell(row, TOP_TENSORS, buf); }
static double threads_value(Row *row) { return number(row, TOP_THREADS); }
static const char *threads_text(Row *row, char *buf) { return exact_cell(row, TOP_THREADS, buf); }
static double workers_value(Row *row) { return number(row, TOP_WORKERS); }
static const char *workers_text(Row *row, char *buf) { return exact_cell(row, TOP_WORKERS, buf); }

static double id_value(Row *row) { return (double)row->id; }
static const char *worker_text(Row *row, char *buf) {
    snprintf(buf, CELL, "w%llu %s", (unsigned long long)row->id, row->word[TOP_ENGINE]);
    return buf;
}
static const char *client_text(Row *row, char *buf) {
    snprintf(buf, CELL, "c%llu", (unsigned long long)row->id);
    return buf;
}
static const char *home_text(Row *row, char *buf) {
    if (row->number[TOP_HOME] < 0) return nothing;
    snprintf(buf, CELL, "w%lld", (long long)row->number[TOP_HOME]);
    return buf;
}
static double home_value(Row *row) { return number(row, TOP_HOME); }
static const char *pid_text(Row *row, char *buf) {
    if (row->number[TOP_PID] < 0) return nothing;
    snprintf(buf, CELL, "%lld", (long long)row->number[TOP_PID]);
    return buf;
}
static double pid_value(Row *row) { return number(row, TOP_PID); }

static const char *name_text(Row *row, char *buf) { return row->word[TOP_NAME]; }
static const char *user_text(Row *row, char *buf) { return row->word[TOP_USER]; }
static const char *host_text(Row *row, char *buf) { return row->word[TOP_HOST]; }
static const char *signal_text(Row *row, char *buf) { return row->word[TOP_IN_SIGNAL]; }

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

static double busy_value(Row *row) { return top_row_busy(row, NULL); }

static double why_value(Row *row) {
    double fraction;
    top_row_idle(row, &fraction);
    return fraction;
}
/* "blocked w1 58%" */
static const char *why_text(Row *row, char *buf) {
    double fraction;
    char on[24] = "";
    TopCause cause = top_row_idle(row, &fraction);
    if (cause == TOP_CAUSES || fraction < 0.005) return nothing;
    if ((cause == TOP_BLOCKED || cause == TOP_COMM) && row->number[TOP_BLOCKED_ON] >= 0)
        snprintf(on, sizeof on, " w%lld", (long long)row->number[TOP_BLOCKED_ON]);
    snprintf(buf, CELL, "%s%s %.0f%%", top_cause_name[cause], on, fraction * 100);
    return buf;
}

static double memory_value(Row *row) { return number(row, TOP_MEMORY); }
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
static double device_memory_value(Row *row) { return number(row, TOP_DEVICE_USED); }
static const char *device_memory_text(Row *row, char *buf) {
    double used = number(row, TOP_DEVICE_USED), total = number(row, TOP_DEVICE_TOTAL);
    return used < 0 || total <= 0 ? nothing : top_part_text(used, total, buf);
}
static const char *unit_text(Row *row, TopNumber k, const char *unit, char *buf) {
    if (row->number[k] == TOP_UNKNOWN) return nothing;
    snprintf(buf, CELL, "%lld %s", (long long)row->number[k], unit);
    return buf;
}
static double celsius_value(Row *row) { return number(row, TOP_DEVICE_CELSIUS); }
static const char *celsius_text(Row *row, char *buf) {
    return unit_text(row, TOP_DEVICE_CELSIUS, "°C", buf);
}
static double util_value(Row *row) { return number(row, TOP_DEVICE_BUSY); }
static const char *util_text(Row *row, char *buf) {
    return unit_text(row, TOP_DEVICE_BUSY, "%", buf);
}

static WatchClass op_class(Row *row) {
    Op op = op_find(row->word[TOP_NAME], strlen(row->word[TOP_NAME]));
    return watch_class(op);
}

/* ---- Columns ---- */

/* min, max: its width; of a bar with its percentage. importance: 0 is always shown, of the others
 * the least important goes first. value NULL: it sorts by its text. text NULL: a bar. */
typedef struct Column {
    const char *title;
    int min, max, importance;
    bool is_left;
    const char *(*text)(Row *row, char *buf);
    double (*value)(Row *row);
} Column;

static const Column worker_column[] = {
    {"WORKER", 6, 14, 0, true, worker_text, id_value},
    {"BUSY", 16, 65, 0, true, NULL, busy_value},
    {"WHY IDLE", 14, 16, 0, true, why_text, why_value},
    {"MEM", 10, 14, 1, false, memory_text, memory_value},
    {"QUEUE", 5, 6, 2, false, queue_text, queue_value},
    {"OPS/s", 5, 6, 1, false, rate_text, rate_value},
    {"SIGNAL", 6, 28, 3, true, signal_text, NULL},
    {"MOVED/s", 8, 10, 4, false, moved_text, moved_value},
    {"DEVICE", 8, 28, 4, true, device_text, NULL},
    {"DEV MEM", 12, 16, 4, false, device_memory_text, device_memory_value},
    {"TEMP", 5, 6, 4, false, celsius_text, celsius_value},
    {"UTIL", 5, 5, 4, false, util_text, util_value},
    {"THREADS", 7, 7, 6, false, threads_text, threads_value},
    {"PID", 7, 10, 7, false, pid_text, pid_value},
    {"HOST", 8, 24, 5, true, host_text, NULL},
};
static const Column client_column[] = {
    {"CLIENT", 6, 6, 0, true, client_text, id_value},
    {"NAME", 8, 28, 3, true, name_text, NULL},
    {"USER", 5, 12, 5, true, user_text, NULL},
    {"INSTR/s", 7, 7, 1, false, rate_text, rate_value},
    {"PENDING", 7, 8, 1, false, pending_text, pending_value},
    {"TENSORS", 7, 9, 4, false, tensors_text, tensors_value},
    {"MEM", 8, 9, 2, false, bytes_text, bytes_value},
    {"LAG", 6, 7, 2, false, lag_text, lag_value},
    {"HOME", 4, 5, 6, false, home_text, home_value},
    {"NOW", 18, 48, 0, true, now_text, NULL},
};
static const Column signal_column[] = {
    {"SIGNAL", 10, 32, 0, true, name_text, NULL},
    {"BUSY", 16, 65, 0, true, NULL, busy_value},
    {"WHY IDLE", 14, 16, 1, true, why_text, why_value},
    {"WORKERS", 7, 7, 1, false, workers_text, workers_value},
    {"OPS/s", 5, 6, 2, false, rate_text, rate_value},
    {"MOVED/s", 8, 10, 3, false, moved_text, moved_value},
};
static double share_value(Row *row) { return rate(row, TOP_TIME); }
static const Column op_column[] = {
    {"OP", 8, 20, 0, true, name_text, NULL},
    {"TIME", 16, 65, 0, true, NULL, share_value},
    {"OPS/s", 5, 6, 1, false, rate_text, rate_value},
    {"MEAN", 6, 7, 1, false, mean_text, mean_value},
    {"COUNT", 5, 6, 2, false, times_text, times_value},
    {"TOTAL", 6, 7, 2, false, total_text, total_value},
    {"BYTES", 8, 9, 4, false, bytes_text, bytes_value},
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
    return !c->value || c->value == id_value;
}

static const char *cell_text(const Column *c, Row *row, char *buf) {
    return c->text ? c->text(row, buf) : nothing;
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
        double u = o->column->value(x), v = o->column->value(y);
        order = (u > v) - (u < v);
    } else
        order = strcasecmp(o->column->text(x, p), o->column->text(y, q));
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
    if (!c->text) return c->min;
    for (int i = 0; i < n_rows; i++)
        if ((w = top_text_width(g, c->text(row[i], buf))) > want) want = w;
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
            if (column[c].text == signal_text && !m->rows[TOP_SIGNAL].n) continue;
            is_full = importance && need + GAP > spare;
            if (is_full) continue;
            got[c] = need;
            spare -= need + GAP;
        }
    for (int pass = 0; pass < 2; pass++)
        for (int c = 0; c < n && spare > 0; c++) {
            bool is_bar = !column[c].text;
            int more = (is_bar ? column[c].max : want[c]) - got[c];
            if (!got[c] || is_bar != (pass == 1) || more <= 0) continue;
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
        for (int c = 0; c < TOP_IDLE + TOP_CAUSES; c++) is_known |= top_row_has(row, c);
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
        if (!column->text)
            draw_bar(m, row, g, y, x, got[c]);
        else
            (column->is_left ? top_put : top_put_right)(g, y, x, got[c], STYLE_PLAIN,
                                                        column->text(row, buf));
        x += got[c] + GAP;
    }
}

static void draw_titles(const TopView *v, TopKind kind, const int got[COLUMNS], TopGrid *g, int y) {
    int x = MARGIN;
    for (int c = 0; c < table[kind].n; c++) {
        const Column *column = &table[kind].column[c];
        bool is_sort = v->is_screen && v->kind == kind && v->sort[kind] == c;
        if (!got[c]) continue;
        (column->is_left ? top_put : top_put_right)(
            g, y, x, got[c], is_sort ? STYLE_SORT : STYLE_TITLE, column->title);
        int at = column->is_left ? x + (int)strlen(column->title) : x + got[c];
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
