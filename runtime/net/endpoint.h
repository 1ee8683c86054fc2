/* endpoint.h: how users name a dispatcher, and what ZeroMQ is told. Words, in gtsh -d, gt-worker -d
 * and GT_DISPATCHER:
 *
 *   HOST:PORT, tcp://HOST:PORT   a machine (a HOST with colons stands in brackets)
 *   ipc://PATH, /PATH            a socket in the file system
 *   local                        this user's dispatcher on this machine: a socket in a directory
 *                                that nobody else may enter
 *   @FILE                        FILE, which gt-dispatcher --endpoint-file wrote: the endpoint,
 * then its token; it may be on a disk that all machines share
 *
 * The token is the secret that a dispatcher, its workers and its clients share (net_set_token): of
 * the FILE, else GT_TOKEN, else this user's own, in the directory of `local`, made by the first
 * program that needs it.
 *
 * Knows nothing of sockets: net.h opens them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_ENDPOINT_H
#define GT_RUNTIME_NET_ENDPOINT_H
#include "runtime/base/err.h"

enum { ENDPOINT_MAX = 300, TOKEN_MIN = 32, TOKEN_MAX = 128 };
typedef struct Endpoint {
    char text[ENDPOINT_MAX];
    char token[TOKEN_MAX + 1]; /* "": none, within one process */
} Endpoint;

/* word NULL or "": `local`. Errors: a word of no such form, a port beyond 65535, a file that cannot
 * be read, one with a token that others may read or write, a token of other than TOKEN_MIN to
 * TOKEN_MAX letters and digits. */
bool endpoint_find(const char *word, Endpoint *out, Err *err);
/* The socket of `local`: $XDG_RUNTIME_DIR/gt/dispatcher, else /tmp/gt-UID/dispatcher. Creates the
 * directory (0700), so that nobody else does. An existing one must be this user's and closed to
 * others. No token. */
bool endpoint_local(Endpoint *out, Err *err);
/* Only this user (or root) can put something else in the place of an entry of the directory: it is
 * theirs, and others cannot write it, or it is sticky. */
bool endpoint_dir_is_safe(const char *dir);
/* tcp to this machine only, or ipc. */
bool endpoint_is_private(const Endpoint *e);
/* false: an ipc socket on which nobody listens now: there is no such file, or its owner has ended.
 * For other endpoints, and where this cannot be found out: true. Connects
 * to it: after a Link has found that it is this user's. */
bool endpoint_is_served(const char *text, Err *err);
#endif
