/* page_draw.c: curves and bars on a page: see page.h.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/figure_state.h"
#include "lang/picture/page.h"
#include "lang/picture/palette.h"
#include "lang/picture/text_cells.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 12, LARGE = 15, LETTER = 7, INK = 0x333333, GRID = 0xe4e4e4, PAPER = 0xffffff };

typedef struct Plot {
    Page *page;
    const Figure *f;
    Axis x, y;
    double left, top, width, height; /* the area within the axes */
    uint32_t rgb;
    double *xy; /* the line being drawn */
    size_t n, cap;
} Plot;

static double to_x(const Plot *p, double part) { return p->left + part * p->width; }
static double to_y(const Plot *p, double part) { return p->top + (1 - part) * p->height; }

/* ---- curves and bars ---- */

static void end_line(Plot *p) {
    if (p->n > 1) p->page->line(p->page, p->xy, p->n, p->rgb, 1.6);
    p->n = 0;
}

static void add_point(Plot *p, double x, double y) {
    if (2 * p->n + 2 > p->cap) {
        p->cap = p->cap ? p->cap * 2 : 1024;
        p->xy = xrealloc(p->xy, p->cap * sizeof *p->xy);
    }
    p->xy[2 * p->n] = x, p->xy[2 * p->n + 1] = y;
    p->n++;
}

static void add_piece(void *ctx, const double *from, const double *to) {
    Plot *p = ctx;
    double x = to_x(p, from[0]), y = to_y(p, from[1]);
    if (from == to) {
        p->page->dot(p->page, x, y, p->f->kind == FIGURE_SCATTER ? 2.5 : 1.6, p->rgb);
        return;
    }
    bool goes_on = p->n && p->xy[2 * p->n - 2] == x && p->xy[2 * p->n - 1] == y;
    if (!goes_on) {
        end_line(p);
        add_point(p, x, y);
    }
    add_point(p, to_x(p, to[0]), to_y(p, to[1]));
}

static void draw_bars(Plot *p, const Series *s) {
    double zero = axis_at(&p->y, 0);
    double floor_y = isfinite(zero) ? fmin(fmax(zero, 0), 1) : 0;
    for (int64_t i = 0; i < s->n; i++) {
        double a = axis_at(&p->x, s->x[i]), b = axis_at(&p->x, s->x[i + 1]);
        double h = fmin(fmax(axis_at(&p->y, s->y[i]), 0), 1);
        if (!isfinite(a) || !isfinite(b) || !isfinite(axis_at(&p->y, s->y[i]))) continue;
        a = fmax(a, 0), b = fmin(b, 1);
        if (b <= a || h <= floor_y) continue;
        double x = to_x(p, a), y = to_y(p, h), gap = (b - a) * p->width > 4 ? 0.5 : 0;
        p->page->rect(p->page, x + gap, y, (b - a) * p->width - 2 * gap, to_y(p, floor_y) - y,
                      p->rgb);
    }
}

/* ---- axes ---- */

static void draw_line(Plot *p, double x0, double y0, double x1, double y1, uint32_t rgb) {
    double xy[4] = {x0, y0, x1, y1};
    p->page->line(p->page, xy, 2, rgb, 1);
}

static void draw_axes(Plot *p) {
    double bottom = p->top + p->height, right = p->left + p->width;
    for (int i = 0; i < p->x.n; i++) {
        double x = to_x(p, axis_at(&p->x, p->x.tick[i]));
        draw_line(p, x, p->top, x, bottom, GRID);
        draw_line(p, x, bottom, x, bottom + 4, INK);
        p->page->text(p->page, x, bottom + 18, SMALL, PAGE_MIDDLE, false, p->x.label[i]);
    }
    for (int i = 0; i < p->y.n; i++) {
        double y = to_y(p, axis_at(&p->y, p->y.tick[i]));
        draw_line(p, p->left, y, right, y, GRID);
        draw_line(p, p->left - 4, y, p->left, y, INK);
        p->page->text(p->page, p->left - 8, y + 4, SMALL, PAGE_RIGHT, false, p->y.label[i]);
    }
}

static void draw_frame(Plot *p) {
    double bottom = p->top + p->height, right = p->left + p->width;
    double xy[10] = {p->left, p->top,  right,  p->top,  right,
                     bottom,  p->left, bottom, p->left, p->top};
    p->page->line(p->page, xy, 5, INK, 1);
}

/* The points of all curves in a box of the page. */
static int64_t points_in(const Plot *p, double x, double y, double w, double h) {
    int64_t n = 0;
    for (int s = 0; s < p->f->n_series; s++)
        for (int64_t i = 0; i < p->f->series[s].n; i++) {
            double at_x = to_x(p, axis_at(&p->x, p->f->series[s].x[i]));
            double at_y = to_y(p, axis_at(&p->y, p->f->series[s].y[i]));
            n += at_x >= x && at_x <= x + w && at_y >= y && at_y <= y + h;
        }
    return n;
}

/* Finds the corner that hides the fewest points: upper right, upper left, lower right, lower left.
 */
static void find_corner(const Plot *p, double w, double h, double *x, double *y) {
    int64_t fewest = INT64_MAX;
    for (int corner = 0; corner < 4; corner++) {
        double left = p->left + 8, top = p->top + 8;
        if (corner % 2 == 0) left = p->left + p->width - w - 8;
        if (corner >= 2) top = p->top + p->height - h - 8;
        int64_t n = points_in(p, left, top, w, h);
        if (n < fewest) fewest = n, *x = left, *y = top;
    }
}

static void draw_legend(Plot *p) {
    int n = 0, columns = 0;
    for (int i = 0; i < p->f->n_series; i++) {
        const char *label = p->f->series[i].label;
        if (!label || !*label) continue;
        int wide = text_columns(label);
        n++, columns = wide > columns ? wide : columns;
    }
    if (!n) return;
    double w = columns * (LETTER + 1) + 40, h = n * 18 + 8, x = 0, y = 0;
    find_corner(p, w, h, &x, &y);
    p->page->rect(p->page, x, y, w, h, PAPER);
    double xy[10] = {x, y, x + w, y, x + w, y + h, x, y + h, x, y};
    p->page->line(p->page, xy, 5, 0xbbbbbb, 1);
    for (int i = 0; i < p->f->n_series; i++) {
        const char *label = p->f->series[i].label;
        if (!label || !*label) continue;
        p->page->rect(p->page, x + 8, y + 12, 18, 3, palette_series(i));
        p->page->text(p->page, x + 32, y + 18, SMALL, PAGE_LEFT, false, label);
        y += 18;
    }
}

static void draw_words(Plot *p) {
    double middle = p->left + p->width / 2, bottom = p->page->height - 10;
    const Figure *f = p->f;
    if (f->title) p->page->text(p->page, middle, 22, LARGE, PAGE_MIDDLE, false, f->title);
    if (f->note)
        p->page->text(p->page, p->page->width - 10, bottom, SMALL, PAGE_RIGHT, false, f->note);
    if (f->xlabel) p->page->text(p->page, middle, bottom, SMALL, PAGE_MIDDLE, false, f->xlabel);
    if (f->ylabel)
        p->page->text(p->page, 18, p->top + p->height / 2, SMALL, PAGE_MIDDLE, true, f->ylabel);
}

/* ---- the whole ---- */

static void place(Plot *p) {
    const Figure *f = p->f;
    size_t letters = 1;
    p->top = f->title ? 36 : 14;
    p->height = fmax(p->page->height - p->top - (f->xlabel || f->note ? 52 : 32), 20);
    int y_ticks = (int)(p->height / 45) + 1;
    figure_axes(f, 0.04, 2, y_ticks, &p->x, &p->y);
    for (int i = 0; i < p->y.n; i++)
        if (strlen(p->y.label[i]) > letters) letters = strlen(p->y.label[i]);
    p->left = 16 + (double)letters * LETTER + (f->ylabel ? 22 : 0);
    p->width = fmax(p->page->width - p->left - 20, 20);
    figure_axes(f, 0.04, (int)(p->width / 90) + 1, y_ticks, &p->x, &p->y);
}

void page_draw(Page *page, const Figure *f) {
    Plot p = {.page = page, .f = f};
    place(&p);
    page->rect(page, 0, 0, page->width, page->height, PAPER);
    draw_axes(&p);
    for (int i = 0; i < f->n_series; i++) {
        p.rgb = palette_series(i);
        if (f->kind == FIGURE_BARS)
            draw_bars(&p, &f->series[i]);
        else
            figure_trace(f, &f->series[i], &p.x, &p.y, add_piece, &p);
        end_line(&p);
    }
    draw_frame(&p);
    draw_legend(&p);
    draw_words(&p);
    free(p.xy);
}
