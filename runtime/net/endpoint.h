/* endpoint.h: converts the users' names of a dispatcher to ZeroMQ endpoints. Names, in gtsh -d,
 * gt-worker -d and GT_DISPATCHER:
 *
 *   HOST:PORT, tcp://HOST:PORT   a machine (a HOST with colons is in brackets)
 *   ipc://PATH, /PATH            a socket in the file system
 *   local                        this user's dispatcher on this machine: a socket in a directory
 *                                that only this user can enter
 *   @FILE                        FILE, written by gt-dispatcher --endpoint-file: the endpoint, then
 *                                its token; may be on a disk that all machines share
 *
 * The token is the secret that a dispatcher, its workers and its clients share (net_set_token). It
 * comes from FILE, else from GT_TOKEN, else it is this user's own, which is in the directory of
 * `local`; the first program that needs it makes it.
 *
 * This file does not use sockets: net.h opens them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_ENDPOINT_H
#define GT_RUNTIME_NET_ENDPOINT_H
#include "runtime/base/err.h"

enum { ENDPOINT_MAX = 300, TOKEN_MIN = 32, TOKEN_MAX = 128 };
typedef struct Endpoint {
    char text[ENDPOINT_MAX];
    char token[TOKEN_MAX + 1]; /* "": none, for endpoints within one process */
    char file[ENDPOINT_MAX];   /* the FILE that the token is from, or "" */
} Endpoint;

/* word NULL or "": `local`. Errors: the word has none of these forms, the port exceeds 65535,
 * the file cannot be read, others may read or write its token, or the token is not TOKEN_MIN to
 * TOKEN_MAX letters and digits. */
bool endpoint_find(const char *word, Endpoint *out, Err *err);
/* Writes HOST:PORT to word, with brackets around a host with colons; port 0: `*`. */
void endpoint_word(const char *host, int port, char word[ENDPOINT_MAX]);
/* The socket of `local`: $XDG_RUNTIME_DIR/gt/dispatcher, else /tmp/gt-UID/dispatcher. Creates
 * the directory with mode 0700, before anyone else can. An existing one must be this user's and
 * closed to others. Sets no token. */
bool endpoint_local(Endpoint *out, Err *err);
/* True if only this user (or root) can replace an entry of the directory: the directory is
 * theirs, and others cannot write it or it is sticky. */
bool endpoint_dir_is_safe(const char *dir);
/* True for TCP to this machine, and for ipc. */
bool endpoint_is_private(const Endpoint *e);
/* False: an ipc socket on which no process listens: there is no such file, or its owner has
 * ended; or a tcp host whose name does not exist. True for other endpoints, and if this cannot be
 * determined. Looks the name up, which may take seconds. Connects to an ipc socket, so call it
 * after a Link has found that the socket is this user's. */
bool endpoint_is_served(const char *text, Err *err);
#endif
