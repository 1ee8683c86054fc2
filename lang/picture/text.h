/* text.h: a figure as text. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_PICTURE_TEXT_H
#define GT_LANG_PICTURE_TEXT_H
#include "lang/picture/figure.h"

/* Appends the figure as lines of text, at most screen->columns wide, each ended by a newline. */
void figure_text(const Figure *f, const TextScreen *screen, Bytes *out);
#endif
