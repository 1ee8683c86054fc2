/* top_grid.h: a page of gt-top as cells: each has a character and a style. It is drawn without a
 * terminal; top_screen.c or top_grid_text shows it.
 *
 * Text comes from the network. What could control a terminal or disturb its columns (control
 * characters, invalid UTF-8, marks that combine or change the direction) becomes `?`.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TOP_GRID_H
#define GT_DISPATCHER_WATCH_TOP_GRID_H
#include "dispatcher/watch/op_class.h"
#include "runtime/base/arena.h"

typedef enum TopStyle {
    STYLE_PLAIN,
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_TITLE, /* of columns */
    STYLE_SORT,  /* of the column that sorts */
    STYLE_KEY,
    STYLE_WARN,
    STYLE_CLASS, /* one per WatchClass */
    STYLES = STYLE_CLASS + WATCH_CLASS_COUNT
} TopStyle;

typedef struct TopCell {
    uint32_t cp; /* 0: the right half of a wide character */
    uint8_t style;
    bool is_selected;
} TopCell;

typedef struct TopGrid {
    int width, height; /* columns, lines */
    bool is_utf8;      /* false: ASCII only */
    TopCell *cell;     /* height lines of width cells */
} TopGrid;

/* Empty, of blanks. Widths and heights are at least 1 and at most TOP_GRID_MAX. */
enum { TOP_GRID_MAX = 2000 };
void top_grid_init(TopGrid *g, int width, int height, bool is_utf8);
void top_grid_fini(TopGrid *g);

/* Each writes text to line y from column x, cuts it at `width` columns (with an ellipsis) and at
 * the edge of the grid, and returns the columns that it took. */
int top_put(TopGrid *g, int y, int x, int width, TopStyle style, const char *text);
/* ... at the right edge of the `width` columns. */
int top_put_right(TopGrid *g, int y, int x, int width, TopStyle style, const char *text);
int top_printf(TopGrid *g, int y, int x, TopStyle style, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* A bar: the parts (0 to 1, at most 1 in all) in their classes' shades, then idle time. */
void top_put_bar(TopGrid *g, int y, int x, int width, const double part[WATCH_CLASS_COUNT]);
/* The columns of text. */
int top_text_width(const TopGrid *g, const char *text);
/* Appends the grid, without the blanks at the ends of lines. */
void top_grid_text(const TopGrid *g, Bytes *out);

/* ---- Numbers in few columns; each returns buf, of TOP_NUMBER bytes ---- */
enum { TOP_NUMBER = 32 };
const char *top_count_text(double v, char *buf);                 /* "0.3", "950", "18.4k", "1.2M" */
const char *top_bytes_text(double bytes, char *buf);             /* "812 B", "1.1 GiB" */
const char *top_part_text(double used, double limit, char *buf); /* "41/80 GiB" */
const char *top_time_text(double us, char *buf);                 /* "18 ms", "4.2 s", "2h13m" */
const char *top_exact_text(int64_t v, char *buf);                /* "1,204" */
#endif
