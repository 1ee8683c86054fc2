/* page_svg.c: a page as SVG text: see page.h.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/page.h"
#include "runtime/base/utf8.h"
#include <stdlib.h>
#include <string.h>

typedef struct Svg {
    Page page;
    Bytes out;
} Svg;

static Bytes *of(Page *p) { return &((Svg *)p)->out; }

static void svg_rect(Page *p, double x, double y, double w, double h, uint32_t rgb) {
    bytes_printf(of(p),
                 "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#%06x\"/>\n", x,
                 y, w, h, rgb);
}

static void svg_line(Page *p, const double *xy, size_t n, uint32_t rgb, double width) {
    bytes_puts(of(p), "<polyline points=\"");
    for (size_t i = 0; i < n; i++)
        bytes_printf(of(p), "%s%.2f,%.2f", i ? " " : "", xy[2 * i], xy[2 * i + 1]);
    bytes_printf(of(p),
                 "\" fill=\"none\" stroke=\"#%06x\" stroke-width=\"%g\" "
                 "stroke-linejoin=\"round\"/>\n",
                 rgb, width);
}

static void svg_dot(Page *p, double x, double y, double radius, uint32_t rgb) {
    bytes_printf(of(p), "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%g\" fill=\"#%06x\"/>\n", x, y, radius,
                 rgb);
}

/* Text for XML 1.0, which has no other control characters than these blanks. */
static void put_escaped(const char *s, Bytes *out) {
    uint32_t cp;
    for (size_t n = strlen(s); n;) {
        int step = utf8_decode(s, n, &cp);
        if (!step || cp == 0xfffe || cp == 0xffff)
            bytes_puts(out, "?");
        else if (cp < ' ' || cp == 0x7f)
            bytes_putc(out, ' ');
        else if (cp == '&' || cp == '<' || cp == '>' || cp == '"')
            bytes_printf(out, "&#%u;", cp);
        else
            bytes_add(out, s, (size_t)step);
        if (!step) step = 1;
        s += step, n -= (size_t)step;
    }
}

static void svg_text(Page *p, double x, double y, double size, PageAlign align, bool is_up,
                     const char *s) {
    static const char *const anchor[] = {"start", "middle", "end"};
    bytes_printf(of(p), "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%g\" text-anchor=\"%s\"", x, y,
                 size, anchor[align]);
    if (is_up) bytes_printf(of(p), " transform=\"rotate(-90 %.2f %.2f)\"", x, y);
    bytes_puts(of(p), ">");
    put_escaped(s, of(p));
    bytes_puts(of(p), "</text>\n");
}

static bool svg_finish(Page *p, Bytes *out, Err *err) {
    (void)err;
    bytes_puts(of(p), "</svg>\n");
    bytes_add(out, of(p)->data, of(p)->n);
    bytes_fini(of(p));
    free(p);
    return true;
}

Page *page_svg(double width, double height) {
    Svg *s = xcalloc(1, sizeof *s);
    s->page = (Page){width, height, svg_rect, svg_line, svg_dot, svg_text, svg_finish};
    bytes_printf(
        &s->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
        "viewBox=\"0 0 %g %g\" font-family=\"DejaVu Sans, sans-serif\" fill=\"#333333\">\n",
        width, height, width, height);
    return &s->page;
}
