/* canvas.h: a page to draw on. Units are those of CSS: a px is 1/96 inch; the origin is the upper
 * left corner. Drawing never fails; finishing may. The same calls give the same bytes.
 *
 * cairo makes PNG and PDF. canvas_svg.c writes SVG itself, because cairo turns text into outlines:
 * here a reader can search and select it, and rectangles can have tooltips.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_CANVAS_H
#define GT_DISPATCHER_WATCH_CANVAS_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"

typedef struct Box {
    double x, y, w, h;
} Box;
typedef struct Point {
    double x, y;
} Point;

typedef enum TextAlign { TEXT_LEFT, TEXT_MIDDLE, TEXT_RIGHT } TextAlign;
typedef struct TextStyle {
    double size; /* px */
    uint32_t rgb;
    TextAlign align;
    bool is_bold;
} TextStyle;

typedef struct Canvas Canvas;
typedef struct CanvasOps {
    /* Boxes of one colour. tip: their tooltip, or NULL. */
    void (*fill)(Canvas *, const Box *box, size_t n, uint32_t rgb, double alpha, const char *tip);
    void (*hatch)(Canvas *, Box box, uint32_t rgb, const char *tip);
    /* Lines from point to point. */
    void (*line)(Canvas *, const Point *p, size_t n, uint32_t rgb, double width, double alpha);
    /* The area that the points enclose. */
    void (*area)(Canvas *, const Point *p, size_t n, uint32_t rgb, double alpha);
    /* A curve that leaves p[0] to p[3], bent towards p[1] and p[2]. */
    void (*curve)(Canvas *, const Point p[4], uint32_t rgb, double width, double alpha);
    /* One line of UTF-8; (x, y) is on its base line. */
    void (*text)(Canvas *, double x, double y, TextStyle style, const char *s);
    bool (*finish)(Canvas *, Bytes *out, Err *err);
} CanvasOps;
struct Canvas {
    const CanvasOps *ops;
    double width, height;
};

typedef enum CanvasFormat { CANVAS_PNG, CANVAS_SVG, CANVAS_PDF } CanvasFormat;

/* NULL, with *err: the page would be too large (dpi counts for PNG), or no memory. */
Canvas *canvas_svg(double width, double height, Err *err);
Canvas *canvas_cairo(CanvasFormat format, double width, double height, double dpi, Err *err);
/* Appends the file to *out and frees the canvas. */
bool canvas_finish(Canvas *c, Bytes *out, Err *err);

/* About how wide a text is, px: an estimate that is seldom too small. */
double canvas_text_width(const char *s, double size, bool is_bold);
#endif
