/* top_view.h: the pages of gt-top: what keys change, and how a model becomes a grid. Neither needs
 * a terminal.
 *
 * A table shows the columns that fit, the most important ones first; the remaining columns of the
 * line go to bars and names. top_table.c has the tables, top_view.c the pages around them,
 * top_keys.c the keys.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TOP_VIEW_H
#define GT_DISPATCHER_WATCH_TOP_VIEW_H
#include "dispatcher/watch/top_grid.h"
#include "dispatcher/watch/top_model.h"
#include "dispatcher/watch/top_past.h"

enum { TOP_FILTER = 64, TOP_MESSAGE = 256 };

/* What the bottom line asks for. */
typedef enum TopAsk { ASK_NOTHING, ASK_FILTER, ASK_CANCEL } TopAsk;
typedef enum TopPage { PAGE_TABLE, PAGE_HELP, PAGE_PAST } TopPage;

typedef struct TopView {
    TopKind kind; /* the table */
    TopPage page;
    TopAsk ask;
    int sort[TOP_KINDS];          /* a column of the table, see top_columns */
    bool is_up[TOP_KINDS];        /* smallest first */
    char filter[TOP_FILTER];      /* rows that contain it, in any letter case; "": all */
    char typed[TOP_FILTER];       /* at the prompt of ASK_FILTER */
    uint64_t selected[TOP_KINDS]; /* id of a row */
    int scroll, page_scroll;      /* first line shown */
    bool is_paused, is_screen; /* is_screen: with selection and the line of keys; else for batch */
    uint64_t cancel_id;        /* ASK_CANCEL: the client */
    char message[TOP_MESSAGE]; /* the bottom line, until the next key; "": keys */
    bool is_warning;           /* the message is */
    TopPast past;              /* PAGE_PAST */
    char endpoint[256];        /* of the dispatcher, for the first line */
} TopView;

void top_view_init(TopView *v);
void top_view_fini(TopView *v);
/* Draws a page that fills the grid. */
void top_view_draw(const TopModel *m, TopView *v, TopGrid *g);
/* The lines that a grid needs to show all rows. */
int top_view_height(const TopModel *m, const TopView *v);

/* ---- Keys ---- */

/* Sets the bottom line. */
void top_view_say(TopView *v, bool is_warning, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "w0", "c1", the name of an operation or signal; buf has TOP_TEXT bytes. */
const char *top_row_name(const TopModel *m, TopKind kind, uint64_t id, char *buf);
#endif
