/* figure.h: a picture to draw: curves, points, bars or pixels, with axes. The same figure is drawn
 * as text for a terminal (figure_text), as SVG or as PNG (figure_file). Pure functions over host
 * arrays: they know neither the interpreter nor the stream. The same figure gives the same text and
 * the same SVG on every machine; the letters of a PNG are drawn with the machine's font.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_PICTURE_FIGURE_H
#define GT_LANG_PICTURE_FIGURE_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"

typedef enum FigureKind { FIGURE_LINE, FIGURE_SCATTER, FIGURE_BARS, FIGURE_IMAGE } FigureKind;

/* Limits: series; pixels of an image's side; pixels of a plot's side, or columns and rows. */
enum { FIGURE_SERIES = 64, FIGURE_SIDE = 8192, FIGURE_PAGE = 4096, FIGURE_CELLS = 1000 };

/* One curve or cloud of points. A point with a nan or inf is a gap. Bars: y (n) are heights, x
 * (n + 1) are the edges. */
typedef struct Series {
    double *x, *y; /* owned */
    int64_t n;
    char *label; /* owned, or NULL */
} Series;

/* Pixels of an image, row by row from the top. */
typedef struct Pixels {
    int64_t width, height;
    uint8_t *rgba; /* owned, 4 bytes a pixel, alpha not premultiplied */
    /* heat map: the values at the two ends of the colours */
    bool is_heat;
    double lo, hi;
    const char *map; /* a name of palette.h */
} Pixels;

typedef struct Figure {
    FigureKind kind;
    Series series[FIGURE_SERIES];
    int n_series;
    Pixels pixels;
    char *title, *xlabel, *ylabel, *note; /* owned, or NULL */
    double xlim[2], ylim[2];              /* nan: by the data */
    bool xlog, ylog;
    /* 0: chosen; on a terminal columns and rows, in a file pixels */
    int width, height;
} Figure;

void figure_init(Figure *f, FigureKind kind);
void figure_fini(Figure *f); /* frees what it owns */

/* What a terminal can show. */
typedef struct TextScreen {
    int columns, rows; /* rows 0: unknown */
    bool is_utf8;      /* else only ASCII */
    int colors;        /* 0, 8, 256, or 1 << 24 */
} TextScreen;
#endif
