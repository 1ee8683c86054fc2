/* file.c: figures as files: see figure.h.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/file.h"
#include "lang/picture/page.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WIDTH = 720, HEIGHT = 450, LEAST = 100 };

static bool ends_with(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n > k && !strcasecmp(path + n - k, end);
}

bool figure_is_file(const char *path, Err *err) {
    if (ends_with(path, ".png") || ends_with(path, ".svg")) return true;
    return err_set(err, ERR_ARG, "'%.200s': pictures are written as .png or .svg", path);
}

/* ---- images ---- */

/* The size of the file: that of the image, or as width and height ask. */
static void image_size(const Figure *f, int64_t *width, int64_t *height) {
    const Pixels *p = &f->pixels;
    *width = f->width > 0 ? f->width : f->height > 0 ? f->height * p->width / p->height : p->width;
    *height = f->height > 0  ? f->height
              : f->width > 0 ? f->width * p->height / p->width
                             : p->height;
    if (*width < 1) *width = 1;
    if (*height < 1) *height = 1;
    if (*width > FIGURE_SIDE) *width = FIGURE_SIDE;
    if (*height > FIGURE_SIDE) *height = FIGURE_SIDE;
}

static void image_png(const Figure *f, Bytes *out) {
    const Pixels *p = &f->pixels;
    int64_t w, h;
    image_size(f, &w, &h);
    uint8_t *to = xcalloc((size_t)(w * h), 4);
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            memcpy(to + 4 * (y * w + x),
                   p->rgba + 4 * (y * p->height / h * p->width + x * p->width / w), 4);
    png_bytes(to, w, h, out);
    free(to);
}

static void put_base64(const uint8_t *data, size_t n, Bytes *out) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)data[i] << 16;
        if (i + 1 < n) v |= (uint32_t)data[i + 1] << 8;
        if (i + 2 < n) v |= data[i + 2];
        bytes_putc(out, digit[v >> 18]);
        bytes_putc(out, digit[v >> 12 & 63]);
        bytes_putc(out, i + 1 < n ? digit[v >> 6 & 63] : '=');
        bytes_putc(out, i + 2 < n ? digit[v & 63] : '=');
    }
}

/* The pixels stay a PNG within the SVG. */
static void image_svg(const Figure *f, Bytes *out) {
    Bytes png = {0};
    int64_t w, h;
    image_size(f, &w, &h);
    png_bytes(f->pixels.rgba, f->pixels.width, f->pixels.height, &png);
    bytes_printf(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\">\n"
                 "<image width=\"%lld\" height=\"%lld\" style=\"image-rendering: pixelated\" "
                 "href=\"data:image/png;base64,",
                 (long long)w, (long long)h, (long long)w, (long long)h);
    put_base64((const uint8_t *)png.data, png.n, out);
    bytes_puts(out, "\"/>\n</svg>\n");
    bytes_fini(&png);
}

/* ---- the whole ---- */

bool figure_file(const Figure *f, const char *path, Bytes *out, Err *err) {
    bool is_png = ends_with(path, ".png");
    if (f->kind == FIGURE_IMAGE) {
        (is_png ? image_png : image_svg)(f, out);
        return true;
    }
    double width = f->width > 0 ? f->width : WIDTH, height = f->height > 0 ? f->height : HEIGHT;
    if (width < LEAST) width = LEAST;
    if (height < LEAST) height = LEAST;
    Page *page = is_png ? page_png(width, height, err) : page_svg(width, height);
    if (!page) return false;
    page_draw(page, f);
    return page->finish(page, out, err);
}
