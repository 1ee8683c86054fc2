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

/* A length with at most two decimals, without zeros at the end. */
static void put_number(Bytes *b, double v) {
    long long hundredths = llround(v * 100);
    if (hundredths < 0) {
        bytes_putc(b, '-');
        hundredths = -hundredths;
    }
    bytes_printf(b, "%lld", hundredths / 100);
    int rest = (int)(hundredths % 100);
    if (rest == 0) return;
    if (rest % 10 == 0)
        bytes_printf(b, ".%d", rest / 10);
    else
        bytes_printf(b, ".%02d", rest);
}

static void put_attribute(Bytes *b, const char *name, double v) {
    bytes_printf(b, " %s=\"", name);
    put_number(b, v);
    bytes_putc(b, '"');
}

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
    if (alpha < 1) {
        bytes_printf(b, " %s-opacity", what);
        bytes_puts(b, "=\"");
        put_number(b, alpha);
        bytes_putc(b, '"');
    }
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
    bytes_puts(b, "<rect");
    put_attribute(b, "x", box.x);
    put_attribute(b, "y", box.y);
    put_attribute(b, "width", box.w);
    put_attribute(b, "height", box.h);
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
    for (size_t i = 0; i < n; i++) {
        bytes_putc(b, 'M');
        put_number(b, box[i].x);
        bytes_putc(b, ' ');
        put_number(b, box[i].y);
        bytes_putc(b, 'h');
        put_number(b, box[i].w);
        bytes_putc(b, 'v');
        put_number(b, box[i].h);
        bytes_putc(b, 'h');
        put_number(b, -box[i].w);
        bytes_putc(b, 'z');
    }
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

static void put_points(Bytes *b, const Point *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bytes_putc(b, i == 0 ? 'M' : 'L');
        put_number(b, p[i].x);
        bytes_putc(b, ' ');
        put_number(b, p[i].y);
    }
}

static void svg_line(Canvas *c, const Point *p, size_t n, uint32_t rgb, double width,
                     double alpha) {
    Bytes *b = &((Svg *)c)->body;
    bytes_puts(b, "<path fill=\"none\"");
    put_style(b, "stroke", rgb, alpha);
    put_attribute(b, "stroke-width", width);
    bytes_puts(b, " d=\"");
    put_points(b, p, n);
    bytes_puts(b, "\"/>\n");
}

static void svg_area(Canvas *c, const Point *p, size_t n, uint32_t rgb, double alpha) {
    Bytes *b = &((Svg *)c)->body;
    bytes_puts(b, "<path");
    put_style(b, "fill", rgb, alpha);
    bytes_puts(b, " d=\"");
    put_points(b, p, n);
    bytes_puts(b, "z\"/>\n");
}

static void svg_curve(Canvas *c, const Point p[4], uint32_t rgb, double width, double alpha) {
    Bytes *b = &((Svg *)c)->body;
    bytes_puts(b, "<path fill=\"none\"");
    put_style(b, "stroke", rgb, alpha);
    put_attribute(b, "stroke-width", width);
    bytes_puts(b, " d=\"");
    put_points(b, p, 1);
    for (int i = 1; i < 4; i++) {
        bytes_putc(b, i == 1 ? 'C' : ' ');
        put_number(b, p[i].x);
        bytes_putc(b, ' ');
        put_number(b, p[i].y);
    }
    bytes_puts(b, "\"/>\n");
}

static void svg_text(Canvas *c, double x, double y, TextStyle style, const char *text) {
    static const char *const anchor[] = {"start", "middle", "end"};
    Bytes *b = &((Svg *)c)->body;
    bytes_puts(b, "<text");
    put_attribute(b, "x", x);
    put_attribute(b, "y", y);
    put_attribute(b, "font-size", style.size);
    put_style(b, "fill", style.rgb, 1);
    if (style.align != TEXT_LEFT) bytes_printf(b, " text-anchor=\"%s\"", anchor[style.align]);
    if (style.is_bold) bytes_puts(b, " font-weight=\"bold\"");
    bytes_putc(b, '>');
    put_text(b, text);
    bytes_puts(b, "</text>\n");
}

static bool svg_finish(Canvas *c, Bytes *out, Err *err) {
    Svg *s = (Svg *)c;
    bytes_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    put_attribute(out, "width", c->width);
    put_attribute(out, "height", c->height);
    bytes_puts(out, " viewBox=\"0 0 ");
    put_number(out, c->width);
    bytes_putc(out, ' ');
    put_number(out, c->height);
    bytes_puts(out, "\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n");
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
