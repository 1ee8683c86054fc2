/* canvas_svg.c: a page as SVG: see canvas.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/canvas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Svg {
    Canvas canvas;
    Bytes body;
    uint32_t hatch[8]; /* colours that have a pattern */
    int n_hatches;
} Svg;

/* v to two decimals, for %.10g, which writes no zeros at the end; never -0. */
static double cut(double v) { return (round(v * 100) + 0.0) / 100; }

/* Text as XML wants it: what XML forbids becomes "?". */
static void put_text(Bytes *b, const char *s) {
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '<')
            bytes_puts(b, "&lt;");
        else if (c == '>')
            bytes_puts(b, "&gt;");
        else if (c == '&')
            bytes_puts(b, "&amp;");
        else if (c == '"')
            bytes_puts(b, "&quot;");
        else
            bytes_putc(b, (c < ' ' && c != '\n') || c == 0x7f ? '?' : (char)c);
    }
}

static void put_style(Bytes *b, const char *what, uint32_t rgb, double alpha) {
    bytes_printf(b, " %s=\"#%06x\"", what, (unsigned)rgb);
    if (alpha < 1) bytes_printf(b, " %s-opacity=\"%.10g\"", what, cut(alpha));
}

static void put_end(Bytes *b, const char *element, const char *tip) {
    if (!tip) {
        bytes_puts(b, "/>\n");
        return;
    }
    bytes_puts(b, "><title>");
    put_text(b, tip);
    bytes_printf(b, "</title></%s>\n", element);
}

static void put_box(Bytes *b, Box box) {
    bytes_printf(b, "<rect x=\"%.10g\" y=\"%.10g\" width=\"%.10g\" height=\"%.10g\"", cut(box.x),
                 cut(box.y), cut(box.w), cut(box.h));
}

static void svg_fill(Canvas *c, const Box *box, size_t n, uint32_t rgb, double alpha,
                     const char *tip) {
    Bytes *b = &((Svg *)c)->body;
    if (n == 0) return;
    if (n == 1) {
        put_box(b, *box);
        put_style(b, "fill", rgb, alpha);
        put_end(b, "rect", tip);
        return;
    }
    bytes_puts(b, "<path");
    put_style(b, "fill", rgb, alpha);
    bytes_puts(b, " d=\"");
    for (size_t i = 0; i < n; i++)
        bytes_printf(b, "M%.10g %.10gh%.10gv%.10gh%.10gz", cut(box[i].x), cut(box[i].y),
                     cut(box[i].w), cut(box[i].h), cut(-box[i].w));
    bytes_putc(b, '"');
    put_end(b, "path", tip);
}

static void svg_hatch(Canvas *c, Box box, uint32_t rgb, const char *tip) {
    Svg *s = (Svg *)c;
    int i = 0;
    while (i < s->n_hatches && s->hatch[i] != rgb) i++;
    if (i == s->n_hatches) {
        if (i == (int)(sizeof s->hatch / sizeof *s->hatch)) return;
        s->hatch[s->n_hatches++] = rgb;
        bytes_printf(
            &s->body,
            "<defs><pattern id=\"hatch%d\" width=\"6\" height=\"6\" "
            "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
            "<path d=\"M3 0v6\" stroke=\"#%06x\" stroke-width=\"1.6\"/></pattern></defs>\n",
            i, (unsigned)rgb);
    }
    put_box(&s->body, box);
    bytes_printf(&s->body, " fill=\"url(#hatch%d)\"", i);
    put_end(&s->body, "rect", tip);
}

static void put_points(Bytes *b, const Point *p, size_t n, const char *before) {
    for (size_t i = 0; i < n; i++)
        bytes_printf(b, "%c%.10g %.10g", before[i > 0], cut(p[i].x), cut(p[i].y));
}

/* Begins a line, up to its points. */
static void put_stroke(Bytes *b, uint32_t rgb, double width, double alpha) {
    bytes_puts(b, "<path fill=\"none\"");
    put_style(b, "stroke", rgb, alpha);
    bytes_printf(b, " stroke-width=\"%.10g\" d=\"", cut(width));
}

static void svg_line(Canvas *c, const Point *p, size_t n, uint32_t rgb, double width,
                     double alpha) {
    Bytes *b = &((Svg *)c)->body;
    put_stroke(b, rgb, width, alpha);
    put_points(b, p, n, "ML");
    bytes_puts(b, "\"/>\n");
}

static void svg_area(Canvas *c, const Point *p, size_t n, uint32_t rgb, double alpha) {
    Bytes *b = &((Svg *)c)->body;
    bytes_puts(b, "<path");
    put_style(b, "fill", rgb, alpha);
    bytes_puts(b, " d=\"");
    put_points(b, p, n, "ML");
    bytes_puts(b, "z\"/>\n");
}

static void svg_curve(Canvas *c, const Point p[4], uint32_t rgb, double width, double alpha) {
    Bytes *b = &((Svg *)c)->body;
    put_stroke(b, rgb, width, alpha);
    put_points(b, p, 1, "M");
    put_points(b, p + 1, 3, "C ");
    bytes_puts(b, "\"/>\n");
}

static void svg_text(Canvas *c, double x, double y, TextStyle style, const char *text) {
    static const char *const anchor[] = {"start", "middle", "end"};
    Bytes *b = &((Svg *)c)->body;
    bytes_printf(b, "<text x=\"%.10g\" y=\"%.10g\" font-size=\"%.10g\"", cut(x), cut(y),
                 cut(style.size));
    put_style(b, "fill", style.rgb, 1);
    if (style.align != TEXT_LEFT) bytes_printf(b, " text-anchor=\"%s\"", anchor[style.align]);
    if (style.is_bold) bytes_puts(b, " font-weight=\"bold\"");
    bytes_putc(b, '>');
    put_text(b, text);
    bytes_puts(b, "</text>\n");
}

static bool svg_finish(Canvas *c, Bytes *out, Err *err) {
    Svg *s = (Svg *)c;
    bytes_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%1$.10g\" height=\"%2$.10g\" "
        "viewBox=\"0 0 %1$.10g %2$.10g\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n",
        cut(c->width), cut(c->height));
    bytes_puts(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    bytes_add(out, s->body.data, s->body.n);
    bytes_puts(out, "</svg>\n");
    bytes_fini(&s->body);
    free(s);
    return true;
}

static const CanvasOps svg_ops = {svg_fill,  svg_hatch, svg_line,  svg_area,
                                  svg_curve, svg_text,  svg_finish};

Canvas *canvas_svg(double width, double height, Err *err) {
    Svg *s = xcalloc(1, sizeof *s);
    s->canvas = (Canvas){&svg_ops, width, height};
    return &s->canvas;
}

bool canvas_finish(Canvas *c, Bytes *out, Err *err) { return c->ops->finish(c, out, err); }

double canvas_text_width(const char *s, double size, bool is_bold) {
    double em = 0; /* of DejaVu Sans, a wide face */
    for (; *s; s++) {
        if (((unsigned char)*s & 0xc0) == 0x80) continue; /* within a character */
        em += strchr("iljtf.,:;'|()[] ", *s) ? 0.35 : strchr("mwMW%@", *s) ? 0.9 : 0.61;
    }
    return em * size * (is_bold ? 1.12 : 1);
}
