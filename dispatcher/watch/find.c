/* find.c: finds what can be watched on this machine: the sockets in the user's directory (see
 * endpoint_local), on which a process listens. `dispatcher` is the user's dispatcher; `run-PID` a
 * program that runs with a cluster of its own.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/monitor.h"
#include "runtime/net/endpoint.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 8, LOOKS = 20, LOOK_US = 50000 };

/* Of a socket named run-PID, or of the lock beside it, returns the process; else 0. */
static pid_t process_of(const char *name) {
    long pid;
    return sscanf(name, "run-%ld", &pid) == 1 && pid > 0 ? (pid_t)pid : 0;
}

/* Removes the socket of a program that has crashed. */
static void sweep(const char *dir, pid_t pid) {
    char path[ENDPOINT_MAX + 32];
    snprintf(path, sizeof path, "%.290s/run-%ld", dir, (long)pid);
    unlink(path);
}

typedef struct Found {
    size_t n, used;
    char first[ENDPOINT_MAX], list[ENDPOINT_MAX * 2];
    bool is_opening; /* a process exists, and its socket is not there */
} Found;

static void look(const char *dir, Found *f) {
    *f = (Found){0};
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        char text[ENDPOINT_MAX];
        pid_t pid = process_of(e->d_name);
        if (!pid && strcmp(e->d_name, "dispatcher")) continue;
        int length = snprintf(text, sizeof text, "ipc://%s/%s", dir, e->d_name);
        if (length >= (int)sizeof text) continue;
        if (!endpoint_is_served(text, NULL)) {
            bool exists = pid && (!kill(pid, 0) || errno != ESRCH);
            if (pid && !exists) sweep(dir, pid);
            f->is_opening |= exists;
            continue;
        }
        if (f->n++ == 0) snprintf(f->first, sizeof f->first, "%s", text);
        if (f->n <= SHOWN && f->used < sizeof f->list)
            f->used += (size_t)snprintf(f->list + f->used, sizeof f->list - f->used, " %s",
                                        text + strlen("ipc://"));
    }
    if (d) closedir(d);
}

bool monitor_find(char *where, size_t size, Err *err) {
    Endpoint local;
    Found f;
    TRY(endpoint_local(&local, err));
    char *dir = local.text + strlen("ipc://");
    *strrchr(dir, '/') = 0;
    /* A program replaces its socket when somebody knocks (dispatcher/door.h): for a moment there is
     * none. */
    look(dir, &f);
    for (int i = 0; !f.n && f.is_opening && i < LOOKS; i++) usleep(LOOK_US), look(dir, &f);
    if (f.n) snprintf(where, size, "%s", f.first);
    if (f.n == 1) return true;
    if (f.n == 0) {
        err_set(err, ERR_GONE, "nothing of yours runs on this machine");
        return err_hint(err, "name its address: -d HOST:PORT, or -d @FILE");
    }
    err_set(err, ERR_ARG, "%zu programs run:%s%s", f.n, f.list, f.n > SHOWN ? " ..." : "");
    return err_hint(err, "choose one: -d %s", where + strlen("ipc://"));
}
