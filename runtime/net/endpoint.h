/* endpoint.h: how users name a dispatcher, and what ZeroMQ is told. Words, in gtsh -d, gt-worker -d
 * and GT_DISPATCHER:
 *
 *   HOST:PORT, tcp://HOST:PORT   a machine (a HOST with colons stands in brackets)
 *   ipc://PATH, /PATH            a socket in the file system
 *   local                        this user's dispatcher on this machine: a socket in a directory
 *                                that nobody else may enter
 *   @FILE                        the first line of FILE, which gt-dispatcher --endpoint-file wrote;
 *                                it may be on a disk that all machines share
 *
 * Knows nothing of sockets: net.h opens them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_ENDPOINT_H
#define GT_RUNTIME_NET_ENDPOINT_H
#include "runtime/base/err.h"

enum { ENDPOINT_MAX = 300 };
typedef struct Endpoint {
    char text[ENDPOINT_MAX];
} Endpoint;

/* word NULL or "": `local`. Errors: a word of no such form, a port beyond 65535, a file that cannot
 * be read. */
bool endpoint_find(const char *word, Endpoint *out, Err *err);
/* The socket of `local`: $XDG_RUNTIME_DIR/gt/dispatcher, else /tmp/gt-UID/dispatcher. make: creates
 * the directory (0700). An existing one must be this user's and closed to others, so that nobody
 * can put a socket of theirs there. */
bool endpoint_local(bool make, Endpoint *out, Err *err);
/* tcp to this machine only, or ipc. */
bool endpoint_is_private(const Endpoint *e);
#endif
