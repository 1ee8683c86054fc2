/* holder.c: see holder.h. SPDX-License-Identifier: MIT */
#include "runtime/net/holder.h"
#include "runtime/net/endpoint.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The process that listens at an ipc socket; 0: unknown. */
static long ipc_holder(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred who = {0};
    socklen_t size = sizeof who;
    if (strlen(path) >= sizeof address.sun_path) return 0;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ok = fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof address) &&
              !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
    if (fd >= 0) close(fd);
    return ok ? (long)who.pid : 0;
}

/* The inode of a socket that listens on the port, from /proc/net/tcp or tcp6; 0: none. */
static unsigned long listening_inode(const char *table, unsigned port) {
    FILE *f = fopen(table, "r");
    char line[512];
    unsigned long inode, found = 0;
    unsigned at, state;
    while (f && !found && fgets(line, sizeof line, f))
        if (sscanf(line, " %*[^:]: %*[^:]:%x %*s %x %*s %*s %*s %*s %*s %lu", &at, &state,
                   &inode) == 3 &&
            at == port && state == 0x0a)
            found = inode;
    if (f) fclose(f);
    return found;
}

static bool has_socket(const char *pid, unsigned long inode) {
    char path[64], wanted[48], target[64];
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    DIR *d = opendir(path);
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        found = !strcmp(target, wanted);
    }
    if (d) closedir(d);
    return found;
}

/* The process that listens on a port of this machine; 0: unknown, such as another user's. */
static long tcp_holder(unsigned port) {
    unsigned long inode = listening_inode("/proc/net/tcp", port);
    if (!inode) inode = listening_inode("/proc/net/tcp6", port);
    DIR *d = inode ? opendir("/proc") : NULL;
    long pid = 0;
    for (struct dirent *e; d && !pid && (e = readdir(d));)
        if (e->d_name[0] > '0' && e->d_name[0] <= '9' && has_socket(e->d_name, inode))
            pid = atol(e->d_name);
    if (d) closedir(d);
    return pid;
}

/* Sets name to the program of a process, at most 15 bytes, or to "". */
static void program_of(long pid, char name[16]) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    FILE *f = pid ? fopen(path, "r") : NULL;
    name[0] = '\0';
    if (f && fgets(name, 16, f)) name[strcspn(name, "\n")] = '\0';
    if (f) fclose(f);
}

bool holder_tell(const char *endpoint, Err *err) {
    static const char ipc[] = "ipc://", tcp[] = "tcp://";
    const char *colon = strrchr(endpoint, ':');
    char name[16];
    long pid = 0;
    if (!strncmp(endpoint, ipc, sizeof ipc - 1))
        pid = ipc_holder(endpoint + sizeof ipc - 1);
    else if (!strncmp(endpoint, tcp, sizeof tcp - 1) && colon)
        pid = tcp_holder((unsigned)strtoul(colon + 1, NULL, 10));
    program_of(pid, name);
    if (!*name)
        return err_set(err, ERR_IO,
                       "cannot listen at %s: address already in use by another program", endpoint);
    if (strncmp(name, "gt-dispatcher", 13))
        return err_set(err, ERR_IO,
                       "cannot listen at %s: address already in use by '%s', process %ld", endpoint,
                       name, pid);
    Endpoint local;
    Err ignored;
    bool is_local = endpoint_local(&local, &ignored) && !strcmp(local.text, endpoint);
    err_set(err, ERR_IO, "a dispatcher runs at %s already: process %ld", endpoint, pid);
    return err_hint(err, "gtsh -d %s uses it; kill %ld ends it", is_local ? "local" : endpoint,
                    pid);
}
