/* text.c: figures as lines of text. Curves are dots of Braille letters, 2 x 4 in a cell, and bars
 * are eighths of blocks. Without UTF-8, or where several series have no colours to tell them apart,
 * each has a mark of its own, one per cell.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/text.h"
#include "lang/picture/figure_state.h"
#include "lang/picture/palette.h"
#include "lang/picture/text_cells.h"
#include "runtime/base/utf8.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BRAILLE = 0x2800, ROWS_LEAST = 3, COLUMNS_LEAST = 20, GAP = 2 };

typedef struct Plot {
    const Figure *f;
    const TextScreen *screen;
    Axis x, y;
    Cells area;
    int left;      /* columns before the area: labels of y and the axis */
    bool is_marks; /* one mark per cell, no dots */
    int series;    /* the one being drawn */
} Plot;

/* ---- curves ---- */

static uint32_t mark_of(const Plot *p, int series) {
    static const uint32_t fine[] = {0x2022, 0x00d7, 0x25cb, '+', 0x25b4, 0x25a1};
    static const uint32_t plain[] = {'*', '+', 'o', 'x', '#', '%'};
    return (p->screen->is_utf8 ? fine : plain)[series % 6];
}

static uint32_t color_of(const Plot *p, int series) {
    return p->screen->colors ? palette_series(series) : CELL_PLAIN;
}

static void dot(Plot *p, int x, int y) {
    static const uint8_t bit[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    int cx = p->is_marks ? x : x / 2, cy = p->is_marks ? y : y / 4;
    Cell *c = &p->area.cell[cy * p->area.columns + cx];
    c->fg = color_of(p, p->series);
    if (p->is_marks)
        c->glyph = mark_of(p, p->series);
    else
        c->glyph = (c->glyph < BRAILLE ? BRAILLE : c->glyph) | bit[y % 4][x % 2];
}

static void draw_line(void *ctx, const double *from, const double *to) {
    Plot *p = ctx;
    int w = p->area.columns * (p->is_marks ? 1 : 2), h = p->area.rows * (p->is_marks ? 1 : 4);
    int x = (int)lround(from[0] * (w - 1)), y = (int)lround((1 - from[1]) * (h - 1));
    int end_x = (int)lround(to[0] * (w - 1)), end_y = (int)lround((1 - to[1]) * (h - 1));
    int dx = abs(end_x - x), dy = -abs(end_y - y), error = dx + dy;
    int step_x = x < end_x ? 1 : -1, step_y = y < end_y ? 1 : -1;
    for (;;) { /* Bresenham */
        dot(p, x, y);
        if (x == end_x && y == end_y) break;
        int twice = 2 * error;
        if (twice >= dy) error += dy, x += step_x;
        if (twice <= dx) error += dx, y += step_y;
    }
}

static void draw_bars(Plot *p, const Series *s) {
    int w = p->area.columns, h = p->area.rows;
    for (int x = 0; x < w; x++) {
        double part = figure_bar(s, &p->x, &p->y, (double)x / w, (double)(x + 1) / w);
        if (!(part > 0)) continue;
        int eighths = (int)lround(fmin(part, 1) * h * 8);
        if (eighths == 0) eighths = 1; /* not nothing */
        for (int row = 0; row * 8 < eighths; row++) {
            int n = eighths - row * 8 < 8 ? eighths - row * 8 : 8;
            Cell *c = &p->area.cell[(h - 1 - row) * w + x];
            c->glyph = p->screen->is_utf8 ? 0x2580u + (uint32_t)n : n >= 4 || row == 0 ? '#' : ' ';
            c->fg = color_of(p, p->series);
        }
    }
}

/* ---- axes ---- */

static int label_columns(const Axis *a) {
    int most = 1;
    for (int i = 0; i < a->n; i++)
        if ((int)strlen(a->label[i]) > most) most = (int)strlen(a->label[i]);
    return most;
}

/* The tick of row y, or -1. */
static int tick_of_row(const Plot *p, int y) {
    for (int i = 0; i < p->y.n; i++) {
        double at = axis_at(&p->y, p->y.tick[i]);
        if ((int)lround((1 - at) * (p->area.rows - 1)) == y) return i;
    }
    return -1;
}

static void put_rows(const Plot *p, Bytes *out) {
    bool is_utf8 = p->screen->is_utf8;
    for (int y = 0; y < p->area.rows; y++) {
        int tick = tick_of_row(p, y);
        const char *label = tick < 0 ? "" : p->y.label[tick];
        text_blanks(p->left - 2 - (int)strlen(label), out);
        bytes_puts(out, label);
        bytes_puts(out, tick < 0 ? (is_utf8 ? " │" : " |") : (is_utf8 ? " ┤" : " +"));
        text_cells_row(&p->area, y, p->screen->colors, out);
        bytes_putc(out, '\n');
    }
}

static int tick_column(const Plot *p, int i) {
    return (int)lround(axis_at(&p->x, p->x.tick[i]) * (p->area.columns - 1));
}

static void put_x_axis(const Plot *p, Bytes *out) {
    bool is_utf8 = p->screen->is_utf8;
    int at = 0, from = p->left;
    text_blanks(p->left - 1, out);
    bytes_puts(out, is_utf8 ? "└" : "+");
    for (int i = 0; i < p->x.n; i++) {
        for (int column = tick_column(p, i); at < column; at++)
            bytes_puts(out, is_utf8 ? "─" : "-");
        if (at++ == tick_column(p, i)) bytes_puts(out, is_utf8 ? "┬" : "+");
    }
    for (; at < p->area.columns; at++) bytes_puts(out, is_utf8 ? "─" : "-");
    bytes_putc(out, '\n');
    at = 0;
    for (int i = 0; i < p->x.n; i++) {
        int n = (int)strlen(p->x.label[i]), start = from + tick_column(p, i) - n / 2;
        if (start + n > p->screen->columns) start = p->screen->columns - n;
        if (start < at + (at > 0)) continue; /* it would touch the one before */
        text_blanks(start - at, out);
        bytes_puts(out, p->x.label[i]);
        at = start + n;
    }
    bytes_putc(out, '\n');
}

static void put_legend(const Plot *p, Bytes *out) {
    int at = 0, columns = p->screen->columns - p->left;
    for (int i = 0; i < p->f->n_series; i++) {
        const char *label = p->f->series[i].label;
        char mark[8] = {0};
        if (!label || !*label) continue;
        if (p->f->kind == FIGURE_BARS)
            strcpy(mark, p->screen->is_utf8 ? "█" : "#");
        else if (p->is_marks)
            utf8_encode(mark_of(p, i), mark);
        else
            strcpy(mark, p->f->kind == FIGURE_LINE ? "──" : "•");
        int n = text_columns(mark) + 1 + text_columns(label);
        bool is_first = at == 0;
        if (!is_first && at + GAP + n > columns) bytes_putc(out, '\n'), is_first = true, at = 0;
        text_blanks(is_first ? p->left : GAP, out);
        text_colored(mark, color_of(p, i), p->screen->colors, out);
        bytes_putc(out, ' ');
        text_cut(label, columns - text_columns(mark) - 1, p->screen->is_utf8, out);
        at += n + (is_first ? 0 : GAP);
    }
    if (at) bytes_putc(out, '\n');
}

/* ---- the whole ---- */

/* Sizes the area. The labels of y depend on the rows, those of x on the columns. */
static void place(Plot *p) {
    const TextScreen *s = p->screen;
    int columns = s->columns;
    int rows = columns / 5 < 8 ? 8 : columns / 5 > 20 ? 20 : columns / 5;
    if (s->rows > 0 && rows > s->rows - 5) rows = s->rows - 5;
    if (p->f->height > 0) rows = p->f->height;
    if (rows < ROWS_LEAST) rows = ROWS_LEAST;
    if (rows > FIGURE_CELLS) rows = FIGURE_CELLS;
    figure_axes(p->f, 0, 2, rows / 3 + 1, &p->x, &p->y);
    p->left = label_columns(&p->y) + 2;
    int width = columns - p->left - 1;
    if (width < 4) width = 4;
    figure_axes(p->f, 0, width / 10 + 1, rows / 3 + 1, &p->x, &p->y);
    text_cells_init(&p->area, width, rows);
}

void figure_text(const Figure *f, const TextScreen *wanted, Bytes *out) {
    TextScreen screen = *wanted;
    if (f->width > 0) screen.columns = f->width;
    if (screen.columns > FIGURE_CELLS) screen.columns = FIGURE_CELLS;
    if (f->kind == FIGURE_IMAGE) {
        text_image(f, &screen, out);
        return;
    }
    if (screen.columns < COLUMNS_LEAST) screen.columns = COLUMNS_LEAST;
    Plot p = {.f = f, .screen = &screen};
    p.is_marks = !screen.is_utf8 || (f->n_series > 1 && !screen.colors);
    place(&p);
    for (p.series = 0; p.series < f->n_series; p.series++)
        if (f->kind == FIGURE_BARS)
            draw_bars(&p, &f->series[p.series]);
        else
            figure_trace(f, &f->series[p.series], &p.x, &p.y, draw_line, &p);
    if (f->title && *f->title) text_middle(f->title, p.left, p.area.columns, screen.is_utf8, out);
    if (f->ylabel && *f->ylabel) {
        text_cut(f->ylabel, screen.columns, screen.is_utf8, out);
        bytes_putc(out, '\n');
    }
    put_rows(&p, out);
    put_x_axis(&p, out);
    if (f->xlabel && *f->xlabel)
        text_middle(f->xlabel, p.left, p.area.columns, screen.is_utf8, out);
    if (figure_has_labels(f)) put_legend(&p, out);
    if (f->note && *f->note) text_middle(f->note, p.left, p.area.columns, screen.is_utf8, out);
    text_cells_fini(&p.area);
}
