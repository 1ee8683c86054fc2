/* figure_test.c: axes, palettes and figures of lang/picture: ticks that NumPy's and matplotlib's
 * users expect, laws for random ranges, and SVG and PNG of figures that hold anything.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "lang/picture/axis.h"
#include "lang/picture/figure_state.h"
#include "lang/picture/file.h"
#include "lang/picture/palette.h"
#include "lang/picture/text.h"
#include "random.h"
#include <math.h>

static const double open_ends[2] = {NAN, NAN};

static const char *ticks(double lo, double hi, bool is_log, int n) {
    static char text[400];
    Axis a;
    axis_init(&a, lo, hi, open_ends, is_log, n);
    *text = 0;
    for (int i = 0; i < a.n; i++) {
        if (i) strcat(text, " ");
        strcat(text, a.label[i]);
    }
    return text;
}

static void test_ticks(void) {
    CHECK_STR(ticks(0, 10, false, 6), "0 2 4 6 8 10");
    CHECK_STR(ticks(-1, 1, false, 5), "-1.0 -0.5 0.0 0.5 1.0");
    CHECK_STR(ticks(0, 1, false, 4), "0.0 0.5 1.0");
    CHECK_STR(ticks(0.3, 0.31, false, 6), "0.300 0.302 0.304 0.306 0.308 0.310");
    CHECK_STR(ticks(-3.9, 4.1, false, 5), "-2 0 2 4");
    CHECK_STR(ticks(0, 1e7, false, 6), "0 2e+06 4e+06 6e+06 8e+06 1e+07");
    CHECK_STR(ticks(0, 1e-6, false, 3), "0 5e-07 1e-06");
    CHECK_STR(ticks(7, 7, false, 3), "6.5 7.0 7.5");
    CHECK_STR(ticks(0, 0, false, 3), "-1 0 1");
    CHECK_STR(ticks(1, -1, false, 3), "0.0 0.5 1.0"); /* no data */
    CHECK_STR(ticks(1, 1000, true, 4), "1 10 100 1000");
    CHECK_STR(ticks(1e-6, 1e6, true, 5), "1e-6 0.001 1 1000 1e6");
    CHECK_STR(ticks(2, 8, true, 4), "2 4 6 8");
    CHECK_STR(ticks(-5, 100, true, 4), "0.1 1 10 100");
}

static void test_limits(void) {
    Axis a, b;
    axis_init(&a, 0, 1, (double[2]){-2, NAN}, false, 4);
    CHECK(a.lo == -2 && a.hi == 1);
    axis_init(&a, 0, 1, (double[2]){5, NAN}, false, 4);
    CHECK(a.lo < 5 && a.hi > 5);
    axis_init(&a, 0, 1, (double[2]){NAN, -5}, false, 4);
    CHECK(a.lo < -5 && a.hi > -5);
    axis_init(&a, 1, -1, (double[2]){2, 3}, true, 4);
    CHECK(a.lo == 2 && a.hi == 3);
    CHECK(axis_at(&a, 2) == 0 && axis_at(&a, 3) == 1);
    axis_init(&b, 1.7e308, 1.7e308, open_ends, true, 4);
    CHECK(b.lo < b.hi && isfinite(b.hi));
    CHECK(isnan(axis_at(&a, 0)) && isnan(axis_at(&a, NAN)) && isnan(axis_at(&a, INFINITY)));
}

/* A finite double of any size, sometimes near another one. */
static double any_double(Rand *r) {
    double v = ldexp((double)(int64_t)rand_u64(r), (int)(rand_u64(r) % 2000) - 1060);
    return isfinite(v) ? v : 1e308;
}

static void check_axis(double lo, double hi, bool is_log, int n) {
    Axis a;
    axis_init(&a, lo, hi, open_ends, is_log, n);
    bool ok = a.lo < a.hi && isfinite(a.lo) && isfinite(a.hi) && a.n <= AXIS_TICKS;
    ok = ok && (!is_log || a.lo > 0);
    for (int i = 0; ok && i < a.n; i++) {
        double at = axis_at(&a, a.tick[i]);
        ok = at > -0.01 && at < 1.01 && strlen(a.label[i]) < AXIS_LABEL;
        ok = ok && (i == 0 || a.tick[i] > a.tick[i - 1]);
    }
    CHECK_MSG(ok, "axis %a to %a, log %d, %d ticks: %g to %g", lo, hi, is_log, n, a.lo, a.hi);
}

static void test_any_range(Rand *r) {
    for (int i = 0; i < rand_rounds(3000); i++) {
        double lo = any_double(r), hi = rand_u64(r) % 3 ? any_double(r) : nextafter(lo, INFINITY);
        check_axis(fmin(lo, hi), fmax(lo, hi), rand_u64(r) % 2, 2 + (int)(rand_u64(r) % 11));
    }
}

static void test_palette(void) {
    const char *map = palette_find("viridis", 7);
    CHECK_INT(palette_color(map, 0), 0x440154);
    CHECK_INT(palette_color(map, 1), 0xfde725);
    CHECK_INT(palette_color(map, 0.5), 0x21918c);
    CHECK_INT(palette_color(map, -3), 0x440154);
    CHECK_INT(palette_color(map, INFINITY), 0xfde725);
    CHECK(!palette_find("virid", 5));
    CHECK_INT(palette_256(0xff0000), 196);
    CHECK_INT(palette_256(0x808080), 244);
    CHECK_INT(palette_256(0x000000), 16);
    CHECK_INT(palette_256(0xffffff), 231);
    CHECK_INT(palette_8(0xff0000), 1);
}

/* ---- figures of any values ---- */

static double *any_values(Rand *r, int64_t n) {
    double *v = calloc((size_t)n + 1, sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        uint64_t kind = rand_u64(r) % 8;
        v[i] = kind == 0 ? NAN : kind == 1 ? INFINITY : kind == 2 ? -INFINITY : any_double(r);
        if (kind > 4) v[i] = (double)(rand_u64(r) % 100);
    }
    return v;
}

static void draw_all(const Figure *f) {
    Bytes b = {0};
    Err err = {0};
    TextScreen s = {.columns = 40, .rows = 12, .is_utf8 = true, .colors = 1 << 24};
    figure_text(f, &s, &b);
    CHECK(b.n > 0 && b.data[b.n - 1] == '\n');
    b.n = 0;
    s = (TextScreen){.columns = 7};
    figure_text(f, &s, &b);
    b.n = 0;
    CHECK(figure_file(f, "a.svg", &b, &err));
    CHECK(!strncmp(b.data, "<svg", 4));
    if (f->kind != FIGURE_IMAGE) CHECK(!strstr(b.data, "nan") && !strstr(b.data, "inf"));
    bytes_fini(&b);
}

static void test_any_figure(Rand *r) {
    for (int round = 0; round < rand_rounds(300); round++) {
        Figure f;
        figure_init(&f, (FigureKind)(rand_u64(r) % 3));
        f.xlog = rand_u64(r) % 4 == 0, f.ylog = rand_u64(r) % 4 == 0;
        f.n_series = f.kind == FIGURE_BARS ? 1 : 1 + (int)(rand_u64(r) % 3);
        for (int i = 0; i < f.n_series; i++) {
            f.series[i].n = (int64_t)(rand_u64(r) % 20);
            f.series[i].x = any_values(r, f.series[i].n + 1);
            f.series[i].y = any_values(r, f.series[i].n);
            if (rand_u64(r) % 2) f.series[i].label = strdup("日本 <b>\x01\xff");
        }
        if (rand_u64(r) % 2) f.title = strdup("t\xc3(");
        if (rand_u64(r) % 3 == 0) f.ylim[0] = any_double(r);
        if (rand_u64(r) % 3 == 0) f.xlim[1] = any_double(r);
        draw_all(&f);
        figure_fini(&f);
    }
}

/* Points far beyond the limits: the pieces within come from sums that cancel or overflow. */
static void test_far(void) {
    static const double far[] = {1e300, 0.5, -1e300, 1.7e308, -1.7e308, 1, 1e17, -1e17, 0};
    for (int k = 0; k < 3; k++) {
        Figure f;
        figure_init(&f, FIGURE_LINE);
        f.n_series = 1;
        f.series[0].n = sizeof far / sizeof *far;
        f.series[0].x = calloc(20, sizeof(double)), f.series[0].y = calloc(20, sizeof(double));
        memcpy(k == 0 ? f.series[0].x : f.series[0].y, far, sizeof far);
        if (k == 2) memcpy(f.series[0].x, far + 1, sizeof far - sizeof *far);
        f.xlim[0] = f.ylim[0] = -0.5, f.xlim[1] = f.ylim[1] = 0.5;
        draw_all(&f);
        figure_fini(&f);
    }
}

/* An axis covers the finite values: an infinite one changes it no more than a nan does. */
static void test_infinite(void) {
    for (int k = 0; k < 8; k++) {
        Axis axis[2][2];
        for (int i = 0; i < 2; i++) {
            double v = i ? NAN : k & 1 ? -INFINITY : INFINITY;
            double x[] = {0, 1, 2, 3, k & 2 ? v : 4}, y[] = {1, v, 3, 2};
            Figure f;
            figure_init(&f, k & 4 ? FIGURE_BARS : FIGURE_SCATTER);
            f.n_series = 1;
            f.series[0].n = 4;
            f.series[0].x = calloc(5, sizeof(double)), f.series[0].y = calloc(5, sizeof(double));
            memcpy(f.series[0].x, x, sizeof x);
            memcpy(f.series[0].y, y, sizeof y);
            figure_axes(&f, 0.05, 5, 5, &axis[i][0], &axis[i][1]);
            figure_fini(&f);
        }
        for (int i = 0; i < 2; i++)
            CHECK(axis[0][i].lo == axis[1][i].lo && axis[0][i].hi == axis[1][i].hi);
    }
}

static void test_image(Rand *r) {
    for (int round = 0; round < rand_rounds(100); round++) {
        Figure f;
        figure_init(&f, FIGURE_IMAGE);
        int64_t w = f.pixels.width = 1 + (int64_t)(rand_u64(r) % 90);
        int64_t h = f.pixels.height = 1 + (int64_t)(rand_u64(r) % 90);
        f.pixels.rgba = calloc((size_t)(w * h), 4);
        for (int64_t i = 0; i < 4 * w * h; i++) f.pixels.rgba[i] = (uint8_t)rand_u64(r);
        f.pixels.is_heat = rand_u64(r) % 2;
        if (rand_u64(r) % 2) f.height = 1 + (int)(rand_u64(r) % 30);
        draw_all(&f);
        figure_fini(&f);
    }
}

static void test_names(void) {
    CHECK(figure_is_file("a.png", NULL) && figure_is_file("b/c.SVG", NULL));
    CHECK_FAIL(figure_is_file("a.jpg", &err), ERR_ARG);
    CHECK_FAIL(figure_is_file(".png", &err), ERR_ARG);
    CHECK_FAIL(figure_is_file("", &err), ERR_ARG);
}

int main(int argc, char **argv) {
    Rand r = {rand_seed(argc, argv)};
    test_ticks();
    test_limits();
    test_any_range(&r);
    test_palette();
    test_any_figure(&r);
    test_far();
    test_infinite();
    test_image(&r);
    test_names();
    return check_report("figure");
}
