/* page_png.c: a page as PNG, drawn by cairo: see page.h. The library is loaded on first use, so
 * that programs without pictures start without it; its functions are called by its stable binary
 * interface, and its headers are not needed.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/page.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

enum { FORMAT_RGB24 = 1, JOIN_ROUND = 1, HINT_METRICS_OFF = 1 };

typedef struct TextExtents {
    double x_bearing, y_bearing, width, height, x_advance, y_advance;
} TextExtents;

/* NAME(result, parameters): cairo_NAME */
#define CAIRO(FN)                                                                                  \
    FN(image_surface_create, void *, (int format, int width, int height))                          \
    FN(image_surface_get_data, unsigned char *, (void *surface))                                   \
    FN(image_surface_get_stride, int, (void *surface))                                             \
    FN(surface_flush, void, (void *surface))                                                       \
    FN(surface_destroy, void, (void *surface))                                                     \
    FN(create, void *, (void *surface))                                                            \
    FN(destroy, void, (void *cr))                                                                  \
    FN(status, int, (void *cr))                                                                    \
    FN(status_to_string, const char *, (int status))                                               \
    FN(set_source_rgb, void, (void *cr, double r, double g, double b))                             \
    FN(set_line_width, void, (void *cr, double width))                                             \
    FN(set_line_join, void, (void *cr, int join))                                                  \
    FN(rectangle, void, (void *cr, double x, double y, double w, double h))                        \
    FN(arc, void, (void *cr, double x, double y, double radius, double from, double to))           \
    FN(move_to, void, (void *cr, double x, double y))                                              \
    FN(line_to, void, (void *cr, double x, double y))                                              \
    FN(fill, void, (void *cr))                                                                     \
    FN(stroke, void, (void *cr))                                                                   \
    FN(save, void, (void *cr))                                                                     \
    FN(restore, void, (void *cr))                                                                  \
    FN(rotate, void, (void *cr, double angle))                                                     \
    FN(select_font_face, void, (void *cr, const char *family, int slant, int weight))              \
    FN(set_font_size, void, (void *cr, double size))                                               \
    FN(text_extents, void, (void *cr, const char *s, TextExtents *out))                            \
    FN(show_text, void, (void *cr, const char *s))

#define MEMBER(name, result, parameters) result(*name) parameters;
static struct {
    CAIRO(MEMBER)
    bool is_here;
} cairo;
static once_flag once = ONCE_FLAG_INIT;

static void load(void) {
    void *lib = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!lib) return;
    bool is_here = true;
#define FIND(name, result, parameters)                                                             \
    *(void **)&cairo.name = dlsym(lib, "cairo_" #name);                                            \
    is_here = is_here && cairo.name;
    CAIRO(FIND)
    cairo.is_here = is_here;
}

typedef struct Png {
    Page page;
    void *surface, *cr;
} Png;

static void *of(Page *p) { return ((Png *)p)->cr; }

static void set_color(Page *p, uint32_t rgb) {
    cairo.set_source_rgb(of(p), (double)(rgb >> 16 & 255) / 255, (double)(rgb >> 8 & 255) / 255,
                         (double)(rgb & 255) / 255);
}

static void png_rect(Page *p, double x, double y, double w, double h, uint32_t rgb) {
    set_color(p, rgb);
    cairo.rectangle(of(p), x, y, w, h);
    cairo.fill(of(p));
}

static void png_line(Page *p, const double *xy, size_t n, uint32_t rgb, double width) {
    set_color(p, rgb);
    cairo.set_line_width(of(p), width);
    cairo.set_line_join(of(p), JOIN_ROUND);
    for (size_t i = 0; i < n; i++)
        (i ? cairo.line_to : cairo.move_to)(of(p), xy[2 * i], xy[2 * i + 1]);
    cairo.stroke(of(p));
}

static void png_dot(Page *p, double x, double y, double radius, uint32_t rgb) {
    set_color(p, rgb);
    cairo.arc(of(p), x, y, radius, 0, 2 * 3.14159265358979);
    cairo.fill(of(p));
}

static void png_text(Page *p, double x, double y, double size, PageAlign align, bool is_up,
                     const char *s) {
    void *cr = of(p);
    TextExtents t;
    cairo.select_font_face(cr, "DejaVu Sans", 0, 0);
    cairo.set_font_size(cr, size);
    cairo.text_extents(cr, s, &t);
    double back = align == PAGE_RIGHT ? t.x_advance : align == PAGE_MIDDLE ? t.x_advance / 2 : 0;
    set_color(p, 0x333333);
    cairo.move_to(cr, x - (is_up ? 0 : back), y + (is_up ? back : 0));
    cairo.save(cr);
    if (is_up) cairo.rotate(cr, -3.14159265358979 / 2);
    cairo.show_text(cr, s);
    cairo.restore(cr);
}

static bool png_finish(Page *p, Bytes *out, Err *err) {
    Png *g = (Png *)p;
    int64_t w = (int64_t)p->width, h = (int64_t)p->height;
    int status = cairo.status(g->cr);
    cairo.destroy(g->cr);
    cairo.surface_flush(g->surface);
    const unsigned char *data = cairo.image_surface_get_data(g->surface);
    if (status == 0 && data) {
        int stride = cairo.image_surface_get_stride(g->surface);
        uint8_t *rgba = xcalloc((size_t)(w * h), 4);
        for (int64_t i = 0; i < w * h; i++) {
            uint32_t v;
            memcpy(&v, data + i / w * stride + i % w * 4, 4);
            rgba[4 * i] = (uint8_t)(v >> 16), rgba[4 * i + 1] = (uint8_t)(v >> 8);
            rgba[4 * i + 2] = (uint8_t)v, rgba[4 * i + 3] = 255;
        }
        png_bytes(rgba, w, h, out);
        free(rgba);
    }
    cairo.surface_destroy(g->surface);
    free(g);
    return (status == 0 && data) ||
           err_set(err, ERR_IO, "the picture failed: %s", cairo.status_to_string(status));
}

Page *page_png(double width, double height, Err *err) {
    call_once(&once, load);
    if (!cairo.is_here) {
        err_set(err, ERR_IO, "a .png of a plot needs the library cairo (libcairo2); .svg does not");
        return NULL;
    }
    Png *g = xcalloc(1, sizeof *g);
    g->surface = cairo.image_surface_create(FORMAT_RGB24, (int)width, (int)height);
    g->cr = cairo.create(g->surface);
    g->page = (Page){width, height, png_rect, png_line, png_dot, png_text, png_finish};
    return &g->page;
}
