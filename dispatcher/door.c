/* door.c: see door.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/door.h"
#include "runtime/base/env.h"
#include "runtime/net/endpoint.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LOOK_MS = 100, KNOCKS = 8 };

struct Door {
    char endpoint[ENDPOINT_MAX];
    int fd; /* the socket that waits for a knock; -1: it is replaced */
    pid_t pid;
    int64_t looked_ms;
    Hub *hub; /* NULL: nobody has knocked */
};

static const char *path_of(const Door *d) { return d->endpoint + strlen("ipc://"); }

static int listen_at(const char *path) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at.sun_path) return -1;
    strcpy(at.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    unlink(path); /* of an earlier process with this number */
    mode_t mask = umask(077);
    bool ok = !bind(fd, (struct sockaddr *)&at, sizeof at) && !listen(fd, KNOCKS);
    umask(mask);
    if (ok) return fd;
    close(fd);
    return -1;
}

Door *door_open(void) {
    Endpoint local;
    if (!env_is_on("GT_WATCH") || !endpoint_local(&local, NULL)) return NULL;
    Door *d = xcalloc(1, sizeof *d);
    char *slash = strrchr(local.text, '/');
    d->pid = getpid();
    snprintf(d->endpoint, sizeof d->endpoint, "%.*s/run-%ld", (int)(slash - local.text), local.text,
             (long)d->pid);
    d->fd = listen_at(path_of(d));
    if (d->fd >= 0) return d;
    free(d);
    return NULL;
}

void door_close(Door **at) {
    Door *d = *at;
    *at = NULL;
    if (!d) return;
    if (d->hub) hub_close(&d->hub);
    if (d->fd >= 0) close(d->fd);
    if (d->pid == getpid()) unlink(path_of(d)); /* not in a fork of it */
    free(d);
}

const char *door_endpoint(const Door *d) { return d->endpoint; }

/* Replaces the socket by a hub. Visitors that have connected are cut off, and try again. */
static void answer(Door *d) {
    Endpoint full;
    Err err = {0};
    close(d->fd);
    d->fd = -1;
    if (!endpoint_find(d->endpoint, &full, &err)) return;
    net_set_token(full.token, full.file);
    mode_t mask = umask(077);
    d->hub = hub_open(d->endpoint, &err);
    umask(mask);
}

Hub *door_look(Door *d, int64_t now_ms) {
    if (d->hub || d->fd < 0 || now_ms - d->looked_ms < LOOK_MS) return d->hub;
    d->looked_ms = now_ms;
    if (poll(&(struct pollfd){.fd = d->fd, .events = POLLIN}, 1, 0) > 0) answer(d);
    return d->hub;
}
