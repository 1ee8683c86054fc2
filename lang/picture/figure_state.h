/* figure_state.h: shared by the files that draw figures: their axes, and their curves as lines in
 * the unit square, whose origin is the lower left corner.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_PICTURE_FIGURE_STATE_H
#define GT_LANG_PICTURE_FIGURE_STATE_H
#include "lang/picture/axis.h"
#include "lang/picture/figure.h"

bool figure_has_labels(const Figure *f);
/* margin: the part of the data's range that is added at its ends. */
void figure_axes(const Figure *f, double margin, int x_ticks, int y_ticks, Axis *x, Axis *y);
/* Calls line with the two ends of each visible piece of the curve, or with a point twice: a point
 * of a scatter plot, or one without neighbours. */
void figure_trace(const Figure *f, const Series *s, const Axis *x, const Axis *y,
                  void (*line)(void *, const double *, const double *), void *ctx);
/* The height, 0 to 1, of the highest bar between two places of the x axis; nan: there is none. */
double figure_bar(const Series *s, const Axis *x, const Axis *y, double from, double to);
#endif
