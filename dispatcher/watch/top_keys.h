/* top_keys.h: the keys of gt-top. SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TOP_KEYS_H
#define GT_DISPATCHER_WATCH_TOP_KEYS_H
#include "dispatcher/watch/top_view.h"

/* Keys beyond characters. */
enum {
    TOP_KEY_UP = 0x110000,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_BACKSPACE,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT
};
/* What the caller must do. */
typedef enum TopAction {
    TOP_NOTHING,
    TOP_QUIT,
    TOP_CANCEL, /* the queue of client v->cancel_id */
    TOP_PAST,   /* get the last seconds, into v->past */
    TOP_SAVE    /* save the last seconds as a trace */
} TopAction;
TopAction top_view_key(const TopModel *m, TopView *v, int key);
#endif
