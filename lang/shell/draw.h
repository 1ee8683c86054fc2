/* draw.h: draws a prompt and a line of text over as many rows of the terminal as they need, in
 * colours, and again after changes: only rows that differ are written.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_DRAW_H
#define GT_LANG_SHELL_DRAW_H
#include "runtime/base/arena.h"

typedef struct DrawRow {
    size_t at, n;    /* its bytes in Drawing.bytes, with colours */
    int columns;     /* used */
    bool is_wrapped; /* the text goes on in the next row, without a newline */
} DrawRow;

/* What is on the terminal. Zero: nothing, the cursor is at the beginning of a row. */
typedef struct Drawing {
    Bytes bytes;
    DrawRow *row;
    int n_rows, cap;
    int top;        /* the first row shown, if there are more than the terminal has */
    int row_cursor; /* row of the cursor, from the first */
    int col_cursor;
    int width, height; /* of the terminal */
} Drawing;

typedef struct DrawText {
    const char *prompt; /* \001 and \002 enclose bytes without a width */
    const char *text;
    size_t n, cursor;     /* bytes; the cursor is before byte `cursor` */
    const uint8_t *class; /* PaintClass of each byte, or NULL: no colours */
} DrawText;

/* Appends to out what turns the drawing into that of t, on a terminal of this size. */
void draw(Drawing *d, const DrawText *t, int width, int height, Bytes *out);
/* Appends the moves to the end of the last row. */
void draw_end(Drawing *d, Bytes *out);
/* Appends what erases the drawing; the cursor is where it began, and d is empty. */
void draw_erase(Drawing *d, Bytes *out);
void draw_forget(Drawing *d); /* the terminal shows it no more: the next draw begins anew */
#endif
