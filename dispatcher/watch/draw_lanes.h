/* draw_lanes.h: draws the lanes of a panel. SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_DRAW_LANES_H
#define GT_DISPATCHER_WATCH_DRAW_LANES_H
#include "dispatcher/watch/draw_panel.h"

void panel_parts(Panel *p);   /* if there are several */
void panel_notes(Panel *p);   /* if there are any */
void panel_clients(Panel *p); /* and the dispatcher */
void panel_workers(Panel *p);
void panel_moves(Panel *p, int arrows);
void panel_path(Panel *p, const Path *path);
#endif
