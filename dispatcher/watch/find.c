/* find.c: finds what can be watched on this machine: the sockets in the user's directory (see
 * endpoint_local), on which a process listens. `dispatcher` is the user's dispatcher; `run-PID` a
 * program that runs with a cluster of its own.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/monitor.h"
#include "runtime/base/arena.h"
#include "runtime/net/endpoint.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 8 };

/* Removes the socket of a program that has crashed. */
static void sweep(const char *dir, const char *name) {
    char path[ENDPOINT_MAX + 32];
    long pid;
    if (sscanf(name, "run-%ld", &pid) != 1 || pid <= 0 || !kill((pid_t)pid, 0) || errno != ESRCH)
        return;
    snprintf(path, sizeof path, "%.290s/run-%ld", dir, pid);
    unlink(path);
}

static bool is_run(const char *name) {
    return !strcmp(name, "dispatcher") || !strncmp(name, "run-", 4);
}

bool monitor_find(char *where, size_t size, Err *err) {
    Endpoint local;
    char list[ENDPOINT_MAX * 2] = "";
    size_t n = 0, used = 0;
    TRY(endpoint_local(&local, err));
    char *dir = local.text + strlen("ipc://");
    *strrchr(dir, '/') = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        char text[ENDPOINT_MAX];
        if (!is_run(e->d_name)) continue;
        int length = snprintf(text, sizeof text, "ipc://%s/%s", dir, e->d_name);
        if (length >= (int)sizeof text) continue;
        if (!endpoint_is_served(text, NULL)) {
            sweep(dir, e->d_name);
            continue;
        }
        if (n++ == 0) snprintf(where, size, "%s", text);
        if (n <= SHOWN && used < sizeof list)
            used +=
                (size_t)snprintf(list + used, sizeof list - used, " %s", text + strlen("ipc://"));
    }
    if (d) closedir(d);
    if (n == 1) return true;
    if (n == 0) {
        err_set(err, ERR_GONE, "nothing of yours runs on this machine");
        return err_hint(err, "name its address: -d HOST:PORT, or -d @FILE");
    }
    err_set(err, ERR_ARG, "%zu programs run:%s%s", n, list, n > SHOWN ? " ..." : "");
    return err_hint(err, "choose one: -d %s", where + strlen("ipc://"));
}
