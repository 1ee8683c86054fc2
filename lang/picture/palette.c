/* palette.c: see palette.h. The maps are those of matplotlib, interpolated between nine colours of
 * each.
 * SPDX-License-Identifier: MIT */
#include "lang/picture/palette.h"
#include <math.h>
#include <string.h>

enum { STOPS = 9 };

typedef struct ColorMap {
    const char *name;
    uint32_t stop[STOPS];
} ColorMap;

static const ColorMap maps[] = {
    {"viridis",
     {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0xaddc30, 0xfde725}},
    {"magma",
     {0x000004, 0x1d1147, 0x51127c, 0x832681, 0xb73779, 0xe75263, 0xfc8961, 0xfec488, 0xfcfdbf}},
    {"gray",
     {0x000000, 0x202020, 0x404040, 0x606060, 0x808080, 0xa0a0a0, 0xc0c0c0, 0xe0e0e0, 0xffffff}},
    {"coolwarm",
     {0x3b4cc0, 0x6282ea, 0x8db0fe, 0xb8d0f9, 0xdddddd, 0xf5c4ad, 0xf49a7b, 0xde604d, 0xb40426}},
};
const char palette_names[] = "viridis, magma, gray, coolwarm";

uint32_t palette_series(int i) {
    static const uint32_t colors[10] = {0x1f77b4, 0xff7f0e, 0x2ca02c, 0xd62728, 0x9467bd,
                                        0x8c564b, 0xe377c2, 0x7f7f7f, 0xbcbd22, 0x17becf};
    return colors[i % 10];
}

const char *palette_find(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (strlen(maps[i].name) == n && !memcmp(maps[i].name, name, n)) return maps[i].name;
    return NULL;
}

uint32_t palette_color(const char *map, double part) {
    const ColorMap *m = maps;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (map && maps[i].name == map) m = &maps[i];
    double at = fmin(fmax(part, 0), 1) * (STOPS - 1);
    int k = at >= STOPS - 1 ? STOPS - 2 : (int)at;
    uint32_t rgb = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        double a = (double)(m->stop[k] >> shift & 255), b = (double)(m->stop[k + 1] >> shift & 255);
        rgb |= (uint32_t)lround(a + (b - a) * (at - k)) << shift;
    }
    return rgb;
}

/* ---- terminals ---- */

static int part_of(uint32_t rgb, int shift) { return (int)(rgb >> shift & 255); }

static int distance(uint32_t a, uint32_t b) {
    int sum = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        int d = part_of(a, shift) - part_of(b, shift);
        sum += d * d;
    }
    return sum;
}

int palette_256(uint32_t rgb) {
    static const int level[6] = {0, 95, 135, 175, 215, 255};
    int index = 16;
    uint32_t cube = 0;
    for (int shift = 16, place = 36; shift >= 0; shift -= 8, place /= 6) {
        int v = part_of(rgb, shift), k = v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40;
        index += k * place;
        cube |= (uint32_t)level[k] << shift;
    }
    int light = (part_of(rgb, 16) + part_of(rgb, 8) + part_of(rgb, 0)) / 3;
    int grey = light < 8 ? 0 : light > 238 ? 23 : (light - 3) / 10;
    uint32_t v = (uint32_t)(8 + 10 * grey);
    return distance(rgb, v << 16 | v << 8 | v) < distance(rgb, cube) ? 232 + grey : index;
}

int palette_8(uint32_t rgb) {
    static const uint32_t colors[] = {0x1f3fd4, 0xcd0000, 0x00a000, 0xc0b000, 0xc000c0, 0x00b0c0};
    static const int number[] = {4, 1, 2, 3, 5, 6};
    int best = 0;
    for (int i = 1; i < 6; i++)
        if (distance(rgb, colors[i]) < distance(rgb, colors[best])) best = i;
    return number[best];
}

double palette_light(uint32_t rgb) {
    return (0.299 * part_of(rgb, 16) + 0.587 * part_of(rgb, 8) + 0.114 * part_of(rgb, 0)) / 255;
}
