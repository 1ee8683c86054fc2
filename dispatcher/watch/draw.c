/* draw.c: see draw.h. A panel is a run's part of the picture; what is drawn moves its `y` down.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/draw.h"
#include "dispatcher/watch/draw_lanes.h"
#include "dispatcher/watch/view.h"
#include "runtime/base/err.h"
#include <math.h>
#include <string.h>

enum { MARGIN = 18, GUTTER = 122, DIFF_ROWS = 8 };
static const uint32_t INK = 0x1a1a1a, GREY = 0x666666, GRID = 0xdddddd;

double panel_x(const Panel *p, int64_t at_ns) {
    double x = p->x0 + (double)(at_ns - p->from_ns) * p->px_per_ns;
    return x < p->x0 ? p->x0 : x > p->x1 ? p->x1 : x;
}

void panel_text(Panel *p, double x, double y, TextStyle style, const char *s) {
    Bytes b = {0};
    view_clean(&b, s, 400);
    p->c->ops->text(p->c, x, y, style, b.data ? b.data : "");
    bytes_fini(&b);
}

/* A text as several lines: where it has "\n", and where it would be too wide. */
static void wrapped(Panel *p, const char *s, TextStyle style) {
    double width = p->x1 - MARGIN;
    Bytes line = {0};
    while (*s) {
        size_t n = strcspn(s, " \n");
        size_t before = line.n;
        if (before) bytes_putc(&line, ' ');
        bytes_add(&line, s, n);
        if (before && canvas_text_width(line.data, style.size, style.is_bold) > width) {
            line.data[before] = '\0';
            panel_text(p, MARGIN, p->y += style.size + 4, style, line.data);
            line.n = 0;
            continue; /* the word goes to the next line */
        }
        bool is_end = s[n] == '\n';
        s += n + (s[n] != '\0');
        if (!is_end) continue;
        panel_text(p, MARGIN, p->y += style.size + 4, style, line.data);
        line.n = 0;
    }
    if (line.n) panel_text(p, MARGIN, p->y += style.size + 4, style, line.data);
    bytes_fini(&line);
}

/* A square of a colour, and its name. Returns where the next one begins. */
static double swatch(Panel *p, double x, uint32_t rgb, bool is_hatched, const char *name) {
    Box box = {x, p->y - 9, 11, 11};
    if (is_hatched) {
        p->c->ops->fill(p->c, &box, 1, PANEL_GROUND, 1, NULL);
        p->c->ops->hatch(p->c, box, rgb, NULL);
    } else
        p->c->ops->fill(p->c, &box, 1, rgb, 1, NULL);
    panel_text(p, x + 16, p->y, (TextStyle){11, INK, TEXT_LEFT, false}, name);
    return x + 16 + canvas_text_width(name, 11, false) + 14;
}

static void legend(Panel *p) {
    ViewShares s = view_shares(p->t);
    Bytes b = {0};
    p->y += 20;
    double x = MARGIN;
    for (int c = 0; c < WATCH_CLASS_COUNT; c++) {
        b.n = 0;
        bytes_printf(&b, "%s %.0f%%", watch_class_info[c].name, 100 * s.class_[c]);
        x = swatch(p, x, watch_class_info[c].rgb, false, b.data);
    }
    b.n = 0;
    view_idle(p->t, &b);
    if (b.n) x = swatch(p, x, PANEL_HATCH, true, b.data);
    size_t compiles = 0;
    for (int w = 0; w < p->t->n_workers; w++) compiles += p->t->worker[w].n_compiles;
    b.n = 0;
    bytes_printf(&b, "%zu kernel%s compiled", compiles, compiles == 1 ? "" : "s");
    if (compiles) swatch(p, x, PANEL_COMPILE, false, b.data);
    bytes_fini(&b);
}

static void header(Panel *p, const DrawRun *run) {
    Bytes b = {0};
    view_title(p->t, &b);
    p->y += 20;
    panel_text(p, MARGIN, p->y, (TextStyle){17, INK, TEXT_LEFT, true}, b.data);
    panel_text(p, p->x1, p->y, (TextStyle){11, GREY, TEXT_RIGHT, false}, run->name);
    p->y += 3;
    b.n = 0;
    view_caption(p->t, p->part, p->n_parts, &b);
    wrapped(p, b.data, (TextStyle){13, INK, TEXT_LEFT, false});
    if (run->path) {
        b.n = 0;
        path_text(p->t, run->path, &b);
        wrapped(p, b.data, (TextStyle){11, INK, TEXT_LEFT, false});
    }
    bytes_fini(&b);
    legend(p);
    p->y += 14;
}

static void grid(Panel *p, double top, double bottom) {
    for (int64_t at = p->axis.first_ns; at <= p->axis.to_ns; at += p->axis.step_ns) {
        double x = panel_x(p, at);
        Point line[2] = {{x, top}, {x, bottom}};
        p->c->ops->line(p->c, line, 2, GRID, 1, 1);
    }
}

static void axis(Panel *p) {
    char label[AXIS_LABEL_MAX];
    Point line[2] = {{p->x0, p->y}, {p->x1, p->y}};
    p->c->ops->line(p->c, line, 2, GREY, 1, 1);
    p->y += 14;
    double last = -1e9; /* where the label before ends */
    for (int64_t at = p->axis.first_ns; at <= p->axis.to_ns; at += p->axis.step_ns) {
        axis_label(&p->axis, at, label);
        double x = panel_x(p, at), half = canvas_text_width(label, 10.5, false) / 2;
        if (x - half < last || x + half > p->x1 + MARGIN) continue;
        panel_text(p, x, p->y, (TextStyle){10.5, GREY, TEXT_MIDDLE, false}, label);
        last = x + half + 8;
    }
    if (p->axis.zero_ns) {
        Bytes b = {0};
        axis_time(p->axis.zero_ns, label);
        bytes_printf(&b, "from %s", label);
        panel_text(p, p->x0 - 8, p->y, (TextStyle){10.5, GREY, TEXT_RIGHT, false}, b.data);
        bytes_fini(&b);
    }
    p->y += 6;
}

/* Draws a run, or, on a canvas that draws nothing, measures it. */
static void panel(Panel *p, const DrawRun *run) {
    p->n_parts = view_parts(p->t, p->part);
    header(p, run);
    double top = p->y;
    grid(p, top, p->bottom);
    panel_parts(p);
    panel_notes(p);
    panel_clients(p);
    panel_workers(p);
    panel_moves(p, p->arrows);
    if (run->path) panel_path(p, run->path);
    p->bottom = p->y;
    axis(p);
    p->y += 14;
}

static void differences(Panel *p, const Compare *diff) {
    Bytes b = {0};
    compare_title(diff, &b);
    p->y += 8;
    panel_text(p, MARGIN, p->y, (TextStyle){14, INK, TEXT_LEFT, true}, b.data);
    p->y += 4;
    for (size_t i = 0; i < diff->n && i < DIFF_ROWS; i++) {
        b.n = 0;
        compare_row(&diff->row[i], &b);
        bool is_slower = diff->row[i].new_ns > diff->row[i].old_ns;
        panel_text(p, MARGIN, p->y += 16,
                   (TextStyle){12, is_slower ? 0xb34700 : 0x00664a, TEXT_LEFT, false}, b.data);
    }
    p->y += 10;
    bytes_fini(&b);
}

/* Draws everything. Returns the height. bottom: where the lanes of each panel end, which the first
 * of two passes finds (0 in that one). */
static double draw(Canvas *c, const DrawRun *run, int n_runs, const DrawOptions *o,
                   double *bottom) {
    int64_t span = 1;
    for (int i = 0; i < n_runs; i++) {
        int64_t length = run[i].t->end_ns - run[i].t->begin_ns;
        if (length > span) span = length;
    }
    Panel p = {.c = c, .x0 = MARGIN + GUTTER, .x1 = o->width - MARGIN, .y = 8};
    p.px_per_ns = (p.x1 - p.x0) / (double)span;
    p.arrows = o->arrows;
    for (int i = 0; i < n_runs; i++) {
        p.t = run[i].t;
        p.from_ns = p.t->begin_ns;
        p.to_ns = p.t->begin_ns + span;
        p.axis = axis_make(p.from_ns, p.to_ns, (int)((p.x1 - p.x0) / 70));
        p.bottom = bottom[i];
        panel(&p, &run[i]);
        bottom[i] = p.bottom;
    }
    if (o->diff) differences(&p, o->diff);
    return p.y + 4;
}

static void no_fill(Canvas *c, const Box *b, size_t n, uint32_t rgb, double a, const char *tip) {}
static void no_hatch(Canvas *c, Box b, uint32_t rgb, const char *tip) {}
static void no_line(Canvas *c, const Point *p, size_t n, uint32_t rgb, double w, double a) {}
static void no_area(Canvas *c, const Point *p, size_t n, uint32_t rgb, double a) {}
static void no_curve(Canvas *c, const Point p[4], uint32_t rgb, double w, double a) {}
static void no_text(Canvas *c, double x, double y, TextStyle style, const char *s) {}
static const CanvasOps nothing = {no_fill, no_hatch, no_line, no_area, no_curve, no_text, NULL};

double draw_height(const DrawRun *run, int n_runs, const DrawOptions *options) {
    Canvas c = {&nothing, options->width, 0};
    double bottom[2] = {0};
    return ceil(draw(&c, run, n_runs, options, bottom));
}

void draw_runs(Canvas *c, const DrawRun *run, int n_runs, const DrawOptions *options) {
    Canvas first = {&nothing, options->width, 0};
    double bottom[2] = {0};
    draw(&first, run, n_runs, options, bottom);
    draw(c, run, n_runs, options, bottom);
}
