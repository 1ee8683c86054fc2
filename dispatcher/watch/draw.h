/* draw.h: a run as a picture: lanes for clients, the dispatcher and each worker's computing and
 * transfers over one time axis; see gt-visualize(1).
 *
 * A slice narrower than a pixel is not drawn by itself: its time is added to its column, which
 * shows the share of each class. So the size of a picture depends on its width and on the number of
 * lanes, not on the length of the run.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_DRAW_H
#define GT_DISPATCHER_WATCH_DRAW_H
#include "dispatcher/watch/canvas.h"
#include "dispatcher/watch/compare.h"
#include "dispatcher/watch/path.h"

/* A run and what to call it. */
typedef struct DrawRun {
    const Timeline *t;
    const char *name; /* its tape */
    const Path *path; /* to highlight, or NULL */
} DrawRun;

typedef struct DrawOptions {
    double width;        /* px; at least DRAW_WIDTH_MIN */
    int arrows;          /* how many of the largest transfers get an arrow */
    const Compare *diff; /* of two runs: what got slower, below them; or NULL */
} DrawOptions;
enum { DRAW_WIDTH_MIN = 480, DRAW_IDLE_PERCENT = 5 /* idle times from here on are hatched */ };

/* The height of the picture, px. */
double draw_height(const DrawRun *run, int n_runs, const DrawOptions *options);
/* Draws one or two runs, one above the other, on one scale. */
void draw_runs(Canvas *c, const DrawRun *run, int n_runs, const DrawOptions *options);
/* The same as text of `columns` columns: a line per lane. has_colour: with escape sequences;
 * has_utf8: blocks and shades, otherwise letters. */
void draw_text(const DrawRun *run, int n_runs, const DrawOptions *options, int columns,
               bool has_colour, bool has_utf8, Bytes *out);
#endif
