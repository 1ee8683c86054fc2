/* top_table.h: the tables of gt-top. SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TOP_TABLE_H
#define GT_DISPATCHER_WATCH_TOP_TABLE_H
#include "dispatcher/watch/top_view.h"

/* The rows of a kind that pass the filter, sorted; the caller frees. */
const TopRow **top_rows(const TopModel *m, const TopView *v, TopKind kind, int *n);
int top_columns(TopKind kind);
const char *top_column_title(TopKind kind, int column);
/* The order in which a column sorts at first: true for text, false for numbers. */
bool top_column_is_up(TopKind kind, int column);
/* Draws the titles and rows [from, from + n_lines) into lines y ... y + n_lines of the grid. */
void top_table_draw(const TopModel *m, const TopView *v, TopKind kind, TopGrid *g, int y,
                    int n_lines, int from);
#endif
