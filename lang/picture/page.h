/* page.h: a page of pixels to draw on, as SVG or, by cairo, as PNG. The origin is the upper left
 * corner. Drawing never fails; finishing may.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_PICTURE_PAGE_H
#define GT_LANG_PICTURE_PAGE_H
#include "lang/picture/figure.h"

typedef enum PageAlign { PAGE_LEFT, PAGE_MIDDLE, PAGE_RIGHT } PageAlign;

typedef struct Page Page;
struct Page {
    double width, height;
    void (*rect)(Page *, double x, double y, double w, double h, uint32_t rgb);
    /* A line through n points x0 y0 x1 y1 ... */
    void (*line)(Page *, const double *xy, size_t n, uint32_t rgb, double width);
    void (*dot)(Page *, double x, double y, double radius, uint32_t rgb);
    /* One line of UTF-8; (x, y) is on its base line. is_up: turned to read from below. */
    void (*text)(Page *, double x, double y, double size, PageAlign align, bool is_up,
                 const char *s);
    bool (*finish)(Page *, Bytes *out, Err *err); /* appends the file; frees the page */
};

Page *page_svg(double width, double height);
Page *page_png(double width, double height, Err *err); /* NULL, ERR_IO: there is no cairo */
/* Draws curves or bars on the whole page. */
void page_draw(Page *p, const Figure *f);

/* Appends a PNG file of RGBA pixels (png_bytes.c). */
void png_bytes(const uint8_t *rgba, int64_t width, int64_t height, Bytes *out);
#endif
