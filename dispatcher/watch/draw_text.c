/* draw_text.c: a run as text, for terminals: see draw.h. A column shows the class that took most of
 * its time, if the worker was busy for at least a quarter of it.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/draw.h"
#include "dispatcher/watch/axis.h"
#include "dispatcher/watch/view.h"
#include "runtime/base/err.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GUTTER = 16, RIGHT = 24, LEAST_COLUMNS = 20, ROWS_DIFF = 8 };

typedef struct Screen {
    const Timeline *t;
    Bytes *out;
    int64_t from_ns, to_ns;
    int n; /* columns of a lane */
    bool has_colour, has_utf8;
} Screen;

static int characters(const Bytes *b) {
    int n = 0;
    for (size_t i = 0; i < b->n; i++) n += ((unsigned char)b->data[i] & 0xc0) != 0x80;
    return n;
}

static void begin_lane(Screen *s, const char *name) {
    Bytes b = {0};
    view_clean(&b, name, GUTTER - 1);
    bytes_printf(s->out, "%s%*s", b.data, GUTTER - characters(&b), "");
    bytes_fini(&b);
}

/* Ends a line without the blanks at its end. */
static void end_line(Screen *s) {
    while (s->out->n && s->out->data[s->out->n - 1] == ' ') s->out->n--;
    bytes_putc(s->out, '\n');
}

static void colour(Screen *s, int xterm) {
    if (s->has_colour && xterm >= 0) bytes_printf(s->out, "\033[38;5;%dm", xterm);
    if (s->has_colour && xterm < 0) bytes_puts(s->out, "\033[0m");
}

static void cell(Screen *s, WatchClass c) {
    const WatchClassInfo *info = &watch_class_info[c];
    colour(s, info->xterm);
    if (s->has_utf8)
        bytes_puts(s->out, info->shade);
    else
        bytes_putc(s->out, info->letter);
    colour(s, -1);
}

/* A height of 0 to 8 eighths. */
static void bar(Screen *s, int eighths) {
    static const char *const utf8[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char ascii[] = " ..--==##";
    if (s->has_utf8)
        bytes_puts(s->out, utf8[eighths]);
    else
        bytes_putc(s->out, ascii[eighths]);
}

static void events(Screen *s, const TimelineEvent *event, size_t n_events, const char *name) {
    uint32_t *count = xcalloc((size_t)s->n, sizeof *count);
    uint32_t most = view_count(event, n_events, s->from_ns, s->to_ns, count, s->n);
    begin_lane(s, name);
    for (int i = 0; i < s->n; i++) bar(s, count[i] ? 1 + (int)((uint64_t)count[i] * 7 / most) : 0);
    bytes_printf(s->out, " %zu instruction%s", n_events, n_events == 1 ? "" : "s");
    end_line(s);
    free(count);
}

/* What a column of a worker shows instead of blank. */
typedef enum Blank { BLANK, BLANK_IDLE, BLANK_FAILED } Blank;

/* Failures are shown whatever else happened in their column. */
static void put_slices(Screen *s, const Slice *slice, size_t n_slices, int rows,
                       const Blank *blank) {
    ViewColumn *column = xcalloc((size_t)s->n, sizeof *column);
    int64_t width = (s->to_ns - s->from_ns) / s->n, least = rows > 0 ? width / 4 : 1;
    for (size_t i = 0; i < n_slices; i++) view_add(column, s->n, s->from_ns, s->to_ns, &slice[i]);
    for (int i = 0; i < s->n; i++) {
        int64_t sum = view_sum(&column[i]);
        if (blank && blank[i] == BLANK_FAILED)
            bytes_putc(s->out, '!');
        else if (sum > 0 && sum >= least)
            cell(s, view_most(&column[i]));
        else
            bytes_puts(s->out, !blank || blank[i] == BLANK ? " " : s->has_utf8 ? "·" : ".");
    }
    free(column);
}

static int column_of(const Screen *s, int64_t at_ns) {
    double k = (double)(at_ns - s->from_ns) / (double)(s->to_ns - s->from_ns) * s->n;
    return k < 0 ? 0 : k > s->n ? s->n : (int)k;
}

/* The signal that a worker spent most of each column under, as "[name   ]". */
static void bands(Screen *s, const WorkerLane *w) {
    uint32_t *signal = xcalloc((size_t)s->n + 1, sizeof *signal);
    int64_t *longest = xcalloc((size_t)s->n, sizeof *longest);
    int64_t width = (s->to_ns - s->from_ns) / s->n;
    for (size_t i = 0; i < w->n_bands; i++) {
        const Band *b = &w->band[i];
        for (int k = column_of(s, b->begin_ns); k < s->n && k <= column_of(s, b->end_ns); k++) {
            int64_t from = s->from_ns + k * width, to = from + width;
            int64_t ns =
                (b->end_ns < to ? b->end_ns : to) - (b->begin_ns > from ? b->begin_ns : from);
            if (ns <= longest[k]) continue;
            longest[k] = ns;
            signal[k] = b->signal;
        }
    }
    begin_lane(s, "");
    for (int i = 0, to; i < s->n; i = to) {
        for (to = i + 1; to < s->n && signal[to] == signal[i]; to++) {}
        Bytes name = {0};
        view_clean(&name, timeline_text(s->t, s->t->signal[signal[i]].name), 200);
        int inside = to - i - 2;
        if (!signal[i])
            bytes_printf(s->out, "%*s", to - i, "");
        else if (inside < 5 ||
                 strspn(name.data,
                        " !\"#$%&'()*+,-./0123456789:;<=>?@"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") !=
                     name.n)
            for (int k = i; k < to; k++) bytes_putc(s->out, k == i ? '[' : '-');
        else
            bytes_printf(s->out, "[%-*.*s]", inside, inside, name.data);
        bytes_fini(&name);
    }
    end_line(s);
    free(longest);
    free(signal);
}

static void put_memory(Screen *s, const WorkerLane *w) {
    uint64_t most = 1, now = 0;
    char size[AXIS_LABEL_MAX];
    for (size_t i = 0; i < w->n_samples; i++)
        if (w->sample[i].bytes > most) most = w->sample[i].bytes;
    begin_lane(s, "  memory");
    size_t k = 0;
    for (int i = 0; i < s->n; i++) {
        uint64_t here = now;
        for (; k < w->n_samples && column_of(s, w->sample[k].at_ns) <= i; k++) {
            now = w->sample[k].bytes;
            if (now > here) here = now;
        }
        bar(s, here ? 1 + (int)((double)here / (double)most * 7) : 0);
    }
    axis_size(most, size);
    bytes_printf(s->out, " to %s", size);
    end_line(s);
}

/* note("text") of programs: "|text", as far as there is room. */
static void put_notes(Screen *s) {
    int at = 0; /* columns that are written */
    Bytes text = {0};
    for (size_t i = 0; i < s->t->n_marks; i++) {
        const TimelineMark *m = &s->t->mark[i];
        int k = column_of(s, m->at_ns);
        if (m->event != TAPE_RECEIVED || k < at || k + 1 >= s->n) continue;
        if (at == 0) begin_lane(s, "notes");
        text.n = 0;
        view_clean(&text, timeline_text(s->t, m->text), (size_t)(s->n - k - 1));
        bytes_printf(s->out, "%*s|%s", k - at, "", text.data);
        at = k + 1 + characters(&text);
    }
    if (at) end_line(s);
    bytes_fini(&text);
}

/* Where the critical path is on this worker. */
static void put_path(Screen *s, const Path *path, int rank) {
    bool *is_here = xcalloc((size_t)s->n + 1, sizeof *is_here), has_any = false;
    for (size_t i = 0; i < path->n; i++) {
        const PathStep *step = &path->step[i];
        if (step->worker != rank) continue;
        for (int k = column_of(s, step->begin_ns); k <= column_of(s, step->end_ns) && k < s->n; k++)
            has_any = is_here[k] = true;
    }
    if (has_any) {
        begin_lane(s, "  path");
        for (int i = 0; i < s->n; i++)
            bytes_puts(s->out, !is_here[i] ? " " : s->has_utf8 ? "━" : "=");
        end_line(s);
    }
    free(is_here);
}

/* The worker's busy share, and the cause of idleness that took most time. */
static void put_shares(Screen *s, const WorkerLane *w) {
    double there = (double)w->sum.there_ns;
    if (there <= 0) return;
    bytes_printf(s->out, " %3.0f%% busy", 100 * (double)w->sum.busy_ns / there);
    int most = 0;
    for (int i = 1; i < IDLE_WHYS; i++)
        if (w->sum.idle_ns[i] > w->sum.idle_ns[most]) most = i;
    double share = 100 * (double)w->sum.idle_ns[most] / there;
    if (share >= 0.5) bytes_printf(s->out, ", %.0f%% %s", share, idle_why_name[most]);
}

static void worker(Screen *s, const WorkerLane *w, const Path *path) {
    Blank *blank = xcalloc((size_t)s->n + 1, sizeof *blank);
    Bytes name = {0};
    int64_t least = (s->t->end_ns - s->t->begin_ns) * DRAW_IDLE_PERCENT / 100;
    for (size_t i = 0; i < w->n_idle; i++) {
        const Idle *idle = &w->idle[i];
        if (idle->end_ns - idle->begin_ns < least) continue;
        int to = column_of(s, idle->end_ns);
        for (int k = column_of(s, idle->begin_ns); k < to; k++) blank[k] = BLANK_IDLE;
    }
    for (size_t i = 0; i < s->t->n_marks; i++) {
        const TimelineMark *m = &s->t->mark[i];
        if (m->event == TAPE_FAILED && m->rank == w->rank)
            blank[column_of(s, m->at_ns)] = BLANK_FAILED;
    }
    if (w->n_bands) bands(s, w);
    bytes_printf(&name, "w%d", w->rank);
    begin_lane(s, name.data);
    put_slices(s, w->slice, w->n_slices, 1, blank);
    put_shares(s, w);
    end_line(s);
    if (path) put_path(s, path, w->rank);
    if (w->n_transfers) {
        char size[AXIS_LABEL_MAX];
        begin_lane(s, "  transfers");
        put_slices(s, w->transfer, w->n_transfers, 0, NULL);
        axis_size(w->sum.moved, size);
        if (w->sum.moved) bytes_printf(s->out, " %s", size);
        end_line(s);
    }
    if (w->n_samples) put_memory(s, w);
    bytes_fini(&name);
    free(blank);
}

static void put_axis(Screen *s) {
    char label[AXIS_LABEL_MAX];
    Axis a = axis_make(s->from_ns, s->to_ns, s->n / 9);
    char *ticks = xmalloc((size_t)s->n + 1), *labels = xmalloc((size_t)s->n + AXIS_LABEL_MAX);
    memset(ticks, '-', (size_t)s->n);
    memset(labels, ' ', (size_t)s->n + AXIS_LABEL_MAX);
    int until = 0;
    for (int64_t at = a.first_ns; at < a.to_ns; at += a.step_ns) {
        int k = column_of(s, at);
        if (k >= s->n) break;
        ticks[k] = '+';
        axis_label(&a, at, label);
        int n = (int)strlen(label);
        if (k < until || k + n > s->n + RIGHT) continue;
        memcpy(labels + k, label, (size_t)n);
        until = k + n + 2;
    }
    begin_lane(s, "");
    bytes_add(s->out, ticks, (size_t)s->n);
    bytes_putc(s->out, '\n');
    if (a.zero_ns) axis_time(a.zero_ns, label);
    begin_lane(s, a.zero_ns ? label : "");
    bytes_add(s->out, labels, (size_t)(until > 2 ? until - 2 : 0));
    end_line(s);
    free(ticks);
    free(labels);
}

static void legend(Screen *s) {
    ViewShares shares = view_shares(s->t);
    for (int c = 0; c < WATCH_CLASS_COUNT; c++) {
        cell(s, (WatchClass)c);
        bytes_printf(s->out, " %s %.0f%%   ", watch_class_info[c].name, 100 * shares.class_[c]);
    }
    Bytes b = {0};
    view_idle(s->t, &b);
    if (b.n) bytes_printf(s->out, "%s %s", s->has_utf8 ? "·" : ".", b.data);
    bytes_fini(&b);
    end_line(s);
}

static void run_text(Screen *s, const DrawRun *run) {
    Bytes name = {0};
    view_title(s->t, s->out);
    bytes_puts(s->out, "  (");
    view_clean(s->out, run->name, 80);
    bytes_puts(s->out, ")\n");
    ViewPart part[VIEW_PARTS];
    int n_parts = view_parts(s->t, part);
    view_caption(s->t, part, n_parts, s->out);
    bytes_putc(s->out, '\n');
    if (run->path) {
        path_text(s->t, run->path, s->out);
        bytes_putc(s->out, '\n');
    }
    bytes_putc(s->out, '\n');
    put_notes(s);
    for (size_t i = 0; i < s->t->n_clients && i < VIEW_CLIENTS; i++) {
        const ClientLane *c = &s->t->client[i];
        name.n = 0;
        bytes_printf(&name, "c%" PRIu32 " ", c->id);
        view_clean(&name, timeline_text(s->t, c->name), 40);
        events(s, c->event, c->n_events, name.data);
    }
    if (s->t->n_clients > VIEW_CLIENTS)
        bytes_printf(s->out, "... %zu more clients\n", s->t->n_clients - VIEW_CLIENTS);
    events(s, s->t->sent, s->t->n_sent, "dispatcher");
    int more = 0;
    for (int i = 0; i < s->t->n_workers; i++) {
        if (!s->t->worker[i].is_known) continue;
        if (i < VIEW_WORKERS)
            worker(s, &s->t->worker[i], run->path);
        else
            more++;
    }
    if (more) bytes_printf(s->out, "... %d more workers\n", more);
    put_axis(s);
    legend(s);
    bytes_fini(&name);
}

void draw_text(const DrawRun *run, int n_runs, const DrawOptions *options, int columns,
               bool has_colour, bool has_utf8, Bytes *out) {
    int64_t span = 1;
    for (int i = 0; i < n_runs; i++) {
        int64_t length = run[i].t->end_ns - run[i].t->begin_ns;
        if (length > span) span = length;
    }
    for (int i = 0; i < n_runs; i++) {
        const Timeline *t = run[i].t;
        Screen s = {t,          out,     t->begin_ns, t->begin_ns + span, columns - GUTTER - RIGHT,
                    has_colour, has_utf8};
        if (s.n < LEAST_COLUMNS) s.n = LEAST_COLUMNS;
        run_text(&s, &run[i]);
        if (i + 1 < n_runs || options->diff) bytes_putc(out, '\n');
    }
    if (!options->diff) return;
    compare_title(options->diff, out);
    bytes_putc(out, '\n');
    for (size_t i = 0; i < options->diff->n && i < ROWS_DIFF; i++) {
        bytes_puts(out, "  ");
        compare_row(&options->diff->row[i], out);
        bytes_putc(out, '\n');
    }
}
