/* text_image.c: images as text. With colours a cell is two pixels, an upper half block over its
 * ground; without, it is a shade.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/axis.h"
#include "lang/picture/palette.h"
#include "lang/picture/text_cells.h"
#include <math.h>

enum { UPPER_HALF = 0x2580, ROWS = 24, SMALL = 32, SCALE_CELLS = 16 };

/* The mean colour of the pixels that a cell's half covers, on black. */
static uint32_t mean_color(const Pixels *p, double x0, double x1, double y0, double y1) {
    double sum[3] = {0}, n = 0;
    int64_t left = (int64_t)x0, right = (int64_t)ceil(x1), top = (int64_t)y0;
    int64_t bottom = (int64_t)ceil(y1);
    if (right > p->width) right = p->width;
    if (bottom > p->height) bottom = p->height;
    for (int64_t y = top; y < bottom; y++)
        for (int64_t x = left; x < right; x++) {
            const uint8_t *v = p->rgba + 4 * (y * p->width + x);
            double wide = fmin(x1, (double)x + 1) - fmax(x0, (double)x);
            double high = fmin(y1, (double)y + 1) - fmax(y0, (double)y), part = wide * high;
            for (int i = 0; i < 3; i++) sum[i] += part * v[i] * v[3] / 255;
            n += part;
        }
    uint32_t rgb = 0;
    for (int i = 0; i < 3; i++)
        rgb = rgb << 8 | (uint32_t)lround(n > 0 ? fmin(sum[i] / n, 255) : 0);
    return rgb;
}

/* Chooses columns and half rows: a whole multiple of a small image, else what fits. */
static void fit(const Figure *f, const TextScreen *s, int *columns, int *halves) {
    double w = (double)f->pixels.width, h = (double)f->pixels.height;
    int rows = f->height > 0 ? f->height : s->rows > ROWS + 4 ? s->rows - 4 : ROWS;
    if (f->height <= 0 && s->rows > 0 && s->rows - 3 < rows) rows = s->rows > 7 ? s->rows - 3 : 4;
    if (rows > FIGURE_CELLS) rows = FIGURE_CELLS;
    double scale = fmin(s->columns / w, 2.0 * rows / h);
    bool is_given = f->height > 0 || f->width > 0;
    if (scale >= 1 && !is_given) {
        double most = fmax(1, floor(SMALL / fmax(w, h)));
        scale = fmin(floor(scale), most);
    }
    *columns = (int)fmax(1, round(w * scale));
    *halves = (int)fmax(1, round(h * scale));
}

static void shade(Cell *c, uint32_t upper, uint32_t lower, bool is_utf8) {
    static const uint32_t fine[] = {' ', 0x2591, 0x2592, 0x2593, 0x2588};
    static const char plain[] = " .:-=+*#%@";
    double light = (palette_light(upper) + palette_light(lower)) / 2;
    int n = is_utf8 ? 5 : 10, k = (int)(light * n);
    if (k >= n) k = n - 1;
    c->glyph = is_utf8 ? fine[k] : (uint32_t)plain[k];
}

static void put_scale(const Pixels *p, const TextScreen *s, Bytes *out) {
    Cells scale;
    char lo[AXIS_LABEL], hi[AXIS_LABEL];
    axis_number(p->lo, lo), axis_number(p->hi, hi);
    text_cells_init(&scale, SCALE_CELLS, 1);
    for (int i = 0; i < SCALE_CELLS; i++) {
        uint32_t rgb = palette_color(p->map, (double)i / (SCALE_CELLS - 1));
        if (s->colors >= 256 && s->is_utf8)
            scale.cell[i].glyph = 0x2588, scale.cell[i].fg = rgb;
        else
            shade(&scale.cell[i], rgb, rgb, s->is_utf8);
    }
    bytes_printf(out, "%s ", lo);
    text_cells_row(&scale, 0, s->colors >= 256 ? s->colors : 0, out);
    bytes_printf(out, " %s\n", hi);
    text_cells_fini(&scale);
}

void text_image(const Figure *f, const TextScreen *s, Bytes *out) {
    const Pixels *p = &f->pixels;
    bool has_colors = s->colors >= 256 && s->is_utf8;
    int columns, halves;
    Cells area;
    if (f->title && *f->title) {
        text_cut(f->title, s->columns, s->is_utf8, out);
        bytes_putc(out, '\n');
    }
    fit(f, s, &columns, &halves);
    int rows = (halves + 1) / 2;
    text_cells_init(&area, columns, rows);
    double dx = (double)p->width / columns, dy = (double)p->height / halves;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            Cell *c = &area.cell[y * columns + x];
            bool has_lower = 2 * y + 1 < halves;
            uint32_t up = mean_color(p, x * dx, (x + 1) * dx, 2 * y * dy, (2 * y + 1) * dy);
            uint32_t low = !has_lower ? up
                                      : mean_color(p, x * dx, (x + 1) * dx, (2 * y + 1) * dy,
                                                   (2 * y + 2) * dy);
            if (has_colors) {
                c->glyph = UPPER_HALF, c->fg = up;
                if (has_lower) c->bg = low;
            } else
                shade(c, up, low, s->is_utf8);
        }
    for (int y = 0; y < rows; y++) {
        text_cells_row(&area, y, has_colors ? s->colors : 0, out);
        bytes_putc(out, '\n');
    }
    text_cells_fini(&area);
    if (p->is_heat) put_scale(p, s, out);
    if (f->note && *f->note) {
        text_cut(f->note, s->columns, s->is_utf8, out);
        bytes_putc(out, '\n');
    }
}
