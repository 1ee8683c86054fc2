/* canvas_cairo.c: a page as PNG or PDF, by cairo: see canvas.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/canvas.h"
#include <cairo.h>
#include <cairo-pdf.h>
#include <math.h>
#include <stdlib.h>

enum { SIDE_MAX = 32000, PIXELS_MAX = 120000000 };

typedef struct Page {
    Canvas canvas;
    CanvasFormat format;
    cairo_surface_t *surface;
    cairo_t *cr;
    Bytes out; /* a PDF is written while it is drawn */
} Page;

static cairo_t *of(Canvas *c) { return ((Page *)c)->cr; }

static void set_colour(cairo_t *cr, uint32_t rgb, double alpha) {
    cairo_set_source_rgba(cr, (double)(rgb >> 16 & 255) / 255, (double)(rgb >> 8 & 255) / 255,
                          (double)(rgb & 255) / 255, alpha);
}

static void page_fill(Canvas *c, const Box *box, size_t n, uint32_t rgb, double alpha,
                      const char *tip) {
    cairo_t *cr = of(c);
    set_colour(cr, rgb, alpha);
    for (size_t i = 0; i < n; i++) cairo_rectangle(cr, box[i].x, box[i].y, box[i].w, box[i].h);
    cairo_fill(cr);
}

static void page_hatch(Canvas *c, Box box, uint32_t rgb, const char *tip) {
    cairo_t *cr = of(c);
    cairo_save(cr);
    cairo_rectangle(cr, box.x, box.y, box.w, box.h);
    cairo_clip(cr);
    set_colour(cr, rgb, 1);
    cairo_set_line_width(cr, 1.6);
    double step = 6 * sqrt(2);
    for (double x = floor((box.x - box.h) / step) * step; x < box.x + box.w; x += step) {
        cairo_move_to(cr, x, box.y + box.h);
        cairo_line_to(cr, x + box.h, box.y);
    }
    cairo_stroke(cr);
    cairo_restore(cr);
}

static void trace(cairo_t *cr, const Point *p, size_t n) {
    for (size_t i = 0; i < n; i++) (i == 0 ? cairo_move_to : cairo_line_to)(cr, p[i].x, p[i].y);
}

static void page_line(Canvas *c, const Point *p, size_t n, uint32_t rgb, double width,
                      double alpha) {
    set_colour(of(c), rgb, alpha);
    cairo_set_line_width(of(c), width);
    trace(of(c), p, n);
    cairo_stroke(of(c));
}

static void page_area(Canvas *c, const Point *p, size_t n, uint32_t rgb, double alpha) {
    set_colour(of(c), rgb, alpha);
    trace(of(c), p, n);
    cairo_close_path(of(c));
    cairo_fill(of(c));
}

static void page_curve(Canvas *c, const Point p[4], uint32_t rgb, double width, double alpha) {
    set_colour(of(c), rgb, alpha);
    cairo_set_line_width(of(c), width);
    cairo_move_to(of(c), p[0].x, p[0].y);
    cairo_curve_to(of(c), p[1].x, p[1].y, p[2].x, p[2].y, p[3].x, p[3].y);
    cairo_stroke(of(c));
}

static void page_text(Canvas *c, double x, double y, TextStyle style, const char *s) {
    cairo_t *cr = of(c);
    set_colour(cr, style.rgb, 1);
    cairo_select_font_face(cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           style.is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, style.size);
    if (style.align != TEXT_LEFT) {
        cairo_text_extents_t size;
        cairo_text_extents(cr, s, &size);
        x -= style.align == TEXT_RIGHT ? size.x_advance : size.x_advance / 2;
    }
    cairo_move_to(cr, x, y);
    cairo_show_text(cr, s);
}

static cairo_status_t append(void *to, const unsigned char *data, unsigned n) {
    bytes_add(to, data, n);
    return CAIRO_STATUS_SUCCESS;
}

static bool page_finish(Canvas *c, Bytes *out, Err *err) {
    Page *p = (Page *)c;
    cairo_status_t status = cairo_status(p->cr);
    cairo_destroy(p->cr);
    if (status == CAIRO_STATUS_SUCCESS && p->format == CANVAS_PNG)
        status = cairo_surface_write_to_png_stream(p->surface, append, &p->out);
    cairo_surface_finish(p->surface);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(p->surface);
    cairo_surface_destroy(p->surface);
    bytes_add(out, p->out.data, p->out.n);
    bytes_fini(&p->out);
    free(p);
    if (status == CAIRO_STATUS_SUCCESS) return true;
    return err_set(err, ERR_IO, "the picture failed: %s", cairo_status_to_string(status));
}

static const CanvasOps page_ops = {page_fill,  page_hatch, page_line,  page_area,
                                   page_curve, page_text,  page_finish};

Canvas *canvas_cairo(CanvasFormat format, double width, double height, double dpi, Err *err) {
    double scale = format == CANVAS_PNG ? dpi / 96 : 72.0 / 96;
    double w = ceil(width * scale), h = ceil(height * scale);
    if (w > SIDE_MAX || h > SIDE_MAX || w * h > PIXELS_MAX) {
        err_set(err, ERR_ARG, "the picture would be %.0f x %.0f pixels, too large", w, h);
        err_hint(err, "--width 800 --dpi 96, or a part of the run: --from 1 --to 2");
        return NULL;
    }
    Page *p = xcalloc(1, sizeof *p);
    p->canvas = (Canvas){&page_ops, width, height};
    p->format = format;
    if (format == CANVAS_PNG) {
        p->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)w, (int)h);
    } else {
        p->surface = cairo_pdf_surface_create_for_stream(append, &p->out, w, h);
        /* The same tape gives the same bytes. */
        cairo_pdf_surface_set_metadata(p->surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                       "2000-01-01T00:00:00Z");
    }
    p->cr = cairo_create(p->surface);
    cairo_scale(p->cr, scale, scale);
    set_colour(p->cr, 0xffffff, 1);
    cairo_paint(p->cr);
    return &p->canvas;
}
