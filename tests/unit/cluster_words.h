/* cluster_words.h: what tests of a dispatcher or a worker say and read: the hello of a peer, and
 * the figures of statistics.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_CLUSTER_WORDS_H
#define GT_TESTS_UNIT_CLUSTER_WORDS_H
#include "dispatcher/dispatcher.h"
#include "runtime/wire/wire.h"
#include <stdlib.h>
#include <string.h>

static inline Msg make_hello(Role role) {
    Hello h = {.version = WIRE_VERSION, .table_hash = op_table_hash(), .role = (uint8_t)role};
    Msg m;
    wire_hello(&h, &m);
    return m;
}

/* The number after `name` (with or without its "=") in the text, which is freed; -1: none. A name
 * may begin with the newline before it. */
static inline long figure_of(Bytes *text, const char *name) {
    bytes_putc(text, '\0');
    const char *at = strstr(text->data, name);
    if (at) at += strlen(name);
    long v = at ? atol(at + (*at == '=')) : -1;
    bytes_fini(text);
    return v;
}

static inline long dispatcher_figure(Dispatcher *d, const char *name) {
    Bytes text = {0};
    dispatcher_stats(d, &text);
    return figure_of(&text, name);
}
#endif
