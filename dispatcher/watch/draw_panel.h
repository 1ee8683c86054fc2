/* draw_panel.h: the lanes of one run in a picture: shared by draw.c and draw_lanes.c.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_DRAW_PANEL_H
#define GT_DISPATCHER_WATCH_DRAW_PANEL_H
#include "dispatcher/watch/axis.h"
#include "dispatcher/watch/canvas.h"
#include "dispatcher/watch/path.h"
#include "dispatcher/watch/view.h"

#define PANEL_GROUND  0xf4f4f4u /* of a lane without a grid line */
#define PANEL_LANE    0xe9e9e9u /* half transparent: the grid shows through */
#define PANEL_HATCH   0xb8b8b8u
#define PANEL_COMPILE 0x4b2e83u

typedef struct PanelLane { /* where a worker's lanes are */
    double compute, compute_h, transfer, transfer_h;
} PanelLane;

typedef struct Panel {
    Canvas *c;
    const Timeline *t;
    int64_t from_ns, to_ns;
    double x0, x1, px_per_ns; /* the lanes' left and right */
    double y;                 /* what comes next is drawn below */
    double bottom;            /* of the lanes, once known */
    Axis axis;
    int arrows;
    ViewPart part[VIEW_PARTS];
    int n_parts;
    PanelLane lane[VIEW_WORKERS];
} Panel;

double panel_x(const Panel *p, int64_t at_ns); /* within [x0, x1] */
void panel_text(Panel *p, double x, double y, TextStyle style, const char *s);
#endif
