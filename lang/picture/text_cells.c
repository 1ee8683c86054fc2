/* text_cells.c: see text_cells.h.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/text_cells.h"
#include "lang/picture/palette.h"
#include "runtime/base/utf8.h"
#include <stdlib.h>
#include <string.h>

void text_cells_init(Cells *c, int columns, int rows) {
    c->columns = columns, c->rows = rows;
    c->cell = xcalloc((size_t)columns * (size_t)rows + 1, sizeof *c->cell);
    for (int i = 0; i < columns * rows; i++) c->cell[i] = (Cell){' ', CELL_PLAIN, CELL_PLAIN};
}

void text_cells_fini(Cells *c) {
    free(c->cell);
    *c = (Cells){0};
}

/* ---- colours ---- */

static void put_color(uint32_t rgb, bool is_bg, int colors, Bytes *out) {
    if (rgb == CELL_PLAIN)
        bytes_printf(out, "\033[%dm", is_bg ? 49 : 39);
    else if (colors > 256)
        bytes_printf(out, "\033[%d;2;%u;%u;%um", is_bg ? 48 : 38, rgb >> 16, rgb >> 8 & 255,
                     rgb & 255);
    else if (colors == 256)
        bytes_printf(out, "\033[%d;5;%dm", is_bg ? 48 : 38, palette_256(rgb));
    else
        bytes_printf(out, "\033[%dm", (is_bg ? 40 : 30) + palette_8(rgb));
}

void text_colored(const char *s, uint32_t fg, int colors, Bytes *out) {
    bool has = colors && fg != CELL_PLAIN;
    if (has) put_color(fg, false, colors, out);
    bytes_puts(out, s);
    if (has) bytes_puts(out, "\033[0m");
}

/* Equal for colours that the terminal shows alike. */
static uint32_t shown(uint32_t rgb, int colors) {
    if (rgb == CELL_PLAIN || colors > 256) return rgb;
    return (uint32_t)(colors == 256 ? palette_256(rgb) : palette_8(rgb));
}

static bool is_blank(const Cell *c) {
    return (c->glyph == ' ' || c->glyph == 0x2800) && c->bg == CELL_PLAIN;
}

void text_cells_row(const Cells *c, int y, int colors, Bytes *out) {
    const Cell *row = c->cell + (size_t)y * (size_t)c->columns;
    uint32_t fg = CELL_PLAIN, bg = CELL_PLAIN;
    char utf8[4];
    int n = c->columns;
    while (n && is_blank(&row[n - 1])) n--;
    for (int x = 0; x < n; x++) {
        bool is_space = row[x].glyph == ' ';
        if (colors && shown(row[x].bg, colors) != shown(bg, colors))
            put_color(bg = row[x].bg, true, colors, out);
        if (colors && !is_space && shown(row[x].fg, colors) != shown(fg, colors))
            put_color(fg = row[x].fg, false, colors, out);
        int bytes = utf8_encode(row[x].glyph, utf8);
        bytes_add(out, utf8, (size_t)bytes);
    }
    if (fg != CELL_PLAIN || bg != CELL_PLAIN) bytes_puts(out, "\033[0m");
}

/* ---- words ---- */

int text_columns(const char *s) { return utf8_columns(s, strlen(s)); }

void text_cut(const char *s, int columns, bool is_utf8, Bytes *out) {
    const char *more = is_utf8 ? "…" : "...";
    int room = columns, whole = text_columns(s);
    if (whole > columns) room -= is_utf8 ? 1 : 3;
    for (size_t n = strlen(s); n;) {
        uint32_t cp;
        int step = utf8_decode(s, n, &cp), width = step ? utf8_width(cp) : 1;
        bool is_odd = !step || cp < ' ' || (cp >= 0x7f && cp < 0xa0) || (cp >= 0x7f && !is_utf8);
        if (width > room) break;
        if (!step) step = 1;
        if (is_odd)
            bytes_putc(out, cp < ' ' ? ' ' : '?');
        else
            bytes_add(out, s, (size_t)step);
        s += step, n -= (size_t)step, room -= width;
    }
    if (whole > columns && columns > 3) bytes_puts(out, more);
}

void text_blanks(int n, Bytes *out) {
    while (n-- > 0) bytes_putc(out, ' ');
}

void text_middle(const char *s, int indent, int columns, bool is_utf8, Bytes *out) {
    int n = text_columns(s);
    if (n > columns && n <= columns + indent) { /* a long title may begin above the labels */
        columns += indent;
        indent = 0;
    }
    text_blanks(indent + (n < columns ? (columns - n) / 2 : 0), out);
    text_cut(s, columns, is_utf8, out);
    bytes_putc(out, '\n');
}
