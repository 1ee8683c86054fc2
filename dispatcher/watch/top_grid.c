/* top_grid.c: see top_grid.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/top_grid.h"
#include "runtime/base/err.h"
#include "runtime/base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int within(int v, int least, int most) { return v < least ? least : v > most ? most : v; }

void top_grid_init(TopGrid *g, int width, int height, bool is_utf8) {
    *g = (TopGrid){within(width, 1, TOP_GRID_MAX), within(height, 1, TOP_GRID_MAX), is_utf8, NULL};
    size_t n = (size_t)g->width * (size_t)g->height;
    g->cell = xcalloc(n, sizeof *g->cell);
    for (size_t i = 0; i < n; i++) g->cell[i].cp = ' ';
}

void top_grid_fini(TopGrid *g) {
    free(g->cell);
    *g = (TopGrid){0};
}

/* ---- Text ---- */

/* The next character of text, made harmless, and its columns. Returns its bytes. */
static size_t next(const TopGrid *g, const char *text, size_t n, uint32_t *cp, int *width) {
    int len = utf8_decode(text, n, cp);
    *width = len ? utf8_width(*cp) : 1;
    bool is_odd = !len || *cp < ' ' || (*cp >= 0x7f && *cp < 0xa0) || *cp == 0xad || !*width ||
                  (*cp >= 0x2028 && *cp <= 0x202e) || (*cp >= 0x2060 && *cp <= 0x206f) ||
                  *cp == 0xfeff || *cp == 0x61c || (*cp >= 0xe000 && *cp < 0xf900) ||
                  (*cp >= 0xfff0 && *cp < 0x10000) || *cp >= 0xe0000;
    if (is_odd || (!g->is_utf8 && *cp > 0x7e)) *cp = '?', *width = 1;
    return len ? (size_t)len : 1;
}

int top_text_width(const TopGrid *g, const char *text) {
    uint32_t cp;
    int width, all = 0;
    for (size_t i = 0, n = strlen(text); i < n && all < TOP_GRID_MAX; all += width)
        i += next(g, text + i, n - i, &cp, &width);
    return all;
}

static void set(TopGrid *g, int y, int x, uint32_t cp, TopStyle style) {
    if (x >= 0 && x < g->width && y >= 0 && y < g->height)
        g->cell[(size_t)y * (size_t)g->width + (size_t)x] = (TopCell){cp, (uint8_t)style, false};
}

int top_put(TopGrid *g, int y, int x, int width, TopStyle style, const char *text) {
    if (width > g->width - x) width = g->width - x;
    if (width <= 0) return 0;
    size_t n = strlen(text);
    bool is_cut = top_text_width(g, text) > width;
    int room = width - is_cut, at = 0, w;
    uint32_t cp;
    for (size_t i = 0; i < n; at += w) {
        size_t len = next(g, text + i, n - i, &cp, &w);
        if (at + w > room) break;
        set(g, y, x + at, cp, style);
        if (w == 2) set(g, y, x + at + 1, 0, style);
        i += len;
    }
    if (is_cut) set(g, y, x + at++, g->is_utf8 ? 0x2026 : '~', style);
    return at;
}

int top_put_right(TopGrid *g, int y, int x, int width, TopStyle style, const char *text) {
    int w = top_text_width(g, text);
    return top_put(g, y, w < width ? x + width - w : x, width, style, text);
}

int top_printf(TopGrid *g, int y, int x, TopStyle style, const char *format, ...) {
    char text[1024];
    FORMAT_INTO(text, format);
    return top_put(g, y, x, g->width - x, style, text);
}

static uint32_t shade(const TopGrid *g, WatchClass c) {
    const WatchClassInfo *info = &watch_class_info[c];
    uint32_t cp = (uint32_t)info->letter;
    if (g->is_utf8) utf8_decode(info->shade, strlen(info->shade), &cp);
    return cp;
}

void top_put_bar(TopGrid *g, int y, int x, int width, const double part[WATCH_CLASS_COUNT]) {
    double sum = 0;
    int at = 0;
    for (int c = 0; c < WATCH_CLASS_COUNT; c++) {
        sum += part[c];
        int end = within((int)lround(sum * width), at, width);
        for (; at < end; at++) set(g, y, x + at, shade(g, (WatchClass)c), STYLE_CLASS + c);
    }
    for (; at < width; at++) set(g, y, x + at, g->is_utf8 ? 0xb7 : '.', STYLE_DIM);
}

void top_grid_text(const TopGrid *g, Bytes *out) {
    for (int y = 0; y < g->height; y++) {
        const TopCell *line = &g->cell[(size_t)y * (size_t)g->width];
        int n = g->width;
        while (n > 0 && line[n - 1].cp == ' ') n--;
        for (int x = 0; x < n; x++) {
            char bytes[4];
            if (line[x].cp) bytes_add(out, bytes, (size_t)utf8_encode(line[x].cp, bytes));
        }
        bytes_putc(out, '\n');
    }
}

/* ---- Numbers ---- */

const char *top_count_text(double v, char *buf) {
    static const char unit[] = " kMGTP";
    size_t u = 0;
    for (; v >= 999.5 && unit[u + 1]; u++) v /= 1000;
    int digits = (u || v < 9.95) && v < 99.95 && v > 0.005;
    if (!u && fabs(v - round(v)) < 0.05) digits = 0;
    snprintf(buf, TOP_NUMBER, "%.*f%.*s", digits, v, u > 0, unit + u);
    return buf;
}

static const char *const byte_unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
enum { BYTE_UNITS = sizeof byte_unit / sizeof *byte_unit };

/* The unit in which v has at most four digits before the point. */
static int unit_of(double *v) {
    int u = 0;
    for (; *v >= 1023.5 && u + 1 < BYTE_UNITS; u++) *v /= 1024;
    return u;
}

const char *top_bytes_text(double bytes, char *buf) {
    int u = unit_of(&bytes);
    snprintf(buf, TOP_NUMBER, "%.*f %s", u && bytes < 99.95, bytes, byte_unit[u]);
    return buf;
}

const char *top_part_text(double used, double limit, char *buf) {
    double in_unit = limit;
    int u = unit_of(&in_unit);
    if (used > 0 && used < 0.1 * pow(1024, u) && u > 0) u--;
    used /= pow(1024, u);
    limit /= pow(1024, u);
    snprintf(buf, TOP_NUMBER, "%.*f/%.*f %s", u && used < 9.95 && used > 0, used,
             u && limit < 9.95 && limit != floor(limit), limit, byte_unit[u]);
    return buf;
}

const char *top_time_text(double us, char *buf) {
    double s = us * 1e-6;
    long all = s < 1e9 ? (long)s : 1000000000;
    if (us < 999.5)
        snprintf(buf, TOP_NUMBER, "%.*f us", us < 9.95 && fabs(us - round(us)) > 0.05, us);
    else if (us < 999.5e3)
        snprintf(buf, TOP_NUMBER, "%.*f ms", us < 9.95e3, us * 1e-3);
    else if (s < 99.5)
        snprintf(buf, TOP_NUMBER, "%.*f s", s < 9.95, s);
    else if (all < 3600)
        snprintf(buf, TOP_NUMBER, "%ldm%02lds", all / 60, all % 60);
    else if (all < 86400)
        snprintf(buf, TOP_NUMBER, "%ldh%02ldm", all / 3600, all / 60 % 60);
    else
        snprintf(buf, TOP_NUMBER, "%ldd%02ldh", all / 86400, all / 3600 % 24);
    return buf;
}

const char *top_exact_text(int64_t v, char *buf) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)v), at = 0;
    for (int i = 0; i < n; i++) {
        buf[at++] = digits[i];
        if (digits[i] != '-' && i + 1 < n && (n - i - 1) % 3 == 0) buf[at++] = ',';
    }
    buf[at] = '\0';
    return buf;
}
