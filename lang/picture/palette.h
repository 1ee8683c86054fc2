/* palette.h: colours of series and of heat maps. A colour is 0xRRGGBB.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_PICTURE_PALETTE_H
#define GT_LANG_PICTURE_PALETTE_H
#include "runtime/base/arena.h"

/* The i-th of ten colours, which repeat. */
uint32_t palette_series(int i);
/* The colour map of that name, as palette_color takes it, or NULL. names: all, separated by ", ".
 * */
const char *palette_find(const char *name, size_t n);
extern const char palette_names[];
/* The colour at part (0 to 1; beyond: the nearest end) of a map that palette_find gave. */
uint32_t palette_color(const char *map, double part);
/* The nearest colour of a terminal of 256 or 8 colours, as in ESC[38;5;Nm or ESC[3Nm. */
int palette_256(uint32_t rgb);
int palette_8(uint32_t rgb);
/* 0 black to 1 white, as an eye sees it. */
double palette_light(uint32_t rgb);
#endif
