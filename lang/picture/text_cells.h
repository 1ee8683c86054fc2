/* text_cells.h: a block of character cells with colours, shared by the files that draw text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_PICTURE_TEXT_CELLS_H
#define GT_LANG_PICTURE_TEXT_CELLS_H
#include "lang/picture/figure.h"

enum { CELL_PLAIN = 1u << 24 }; /* a colour: the terminal's own */

typedef struct Cell {
    uint32_t glyph;  /* a code point */
    uint32_t fg, bg; /* 0xRRGGBB or CELL_PLAIN */
} Cell;

typedef struct Cells {
    int columns, rows;
    Cell *cell; /* owned, row by row */
} Cells;

void text_cells_init(Cells *c, int columns, int rows); /* blanks */
void text_cells_fini(Cells *c);
/* Appends row y without its trailing blanks, and ends its colours. */
void text_cells_row(const Cells *c, int y, int colors, Bytes *out);
/* Appends s in a colour; as it is if the terminal has none. */
void text_colored(const char *s, uint32_t fg, int colors, Bytes *out);

/* Columns of a UTF-8 text. */
int text_columns(const char *s);
/* Appends s, cut to `columns` with an ellipsis. Control characters become blanks. */
void text_cut(const char *s, int columns, bool is_utf8, Bytes *out);
/* Appends s as a line in the middle of `columns`, after `indent` blanks. */
void text_middle(const char *s, int indent, int columns, bool is_utf8, Bytes *out);
void text_blanks(int n, Bytes *out);

/* Draws the pixels of an image (text_image.c). */
void text_image(const Figure *f, const TextScreen *screen, Bytes *out);
#endif
