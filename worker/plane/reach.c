/* reach.c: see reach.h.
 * SPDX-License-Identifier: MIT */
#include "worker/plane/reach.h"
#include "worker/engine/mem.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_prefix(const char *prefix, const char *s) {
    return !strncmp(s, prefix, strlen(prefix));
}

static uint64_t random_u64(void) {
    uint64_t r = 0;
    while (r == 0)
        if (getrandom(&r, sizeof r, 0) != sizeof r) r = 0;
    return r;
}

/* ---- This machine's addresses ---- */

enum { ADDRESS_MAX = 64 };

static bool is_loopback(const struct sockaddr *a) {
    if (a->sa_family == AF_INET) {
        uint32_t ip = ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr);
        return ip >> 24 == 127 || ip == 0;
    }
    const struct in6_addr *ip = &((const struct sockaddr_in6 *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(ip) || IN6_IS_ADDR_UNSPECIFIED(ip) ||
           (IN6_IS_ADDR_V4MAPPED(ip) && (ip->s6_addr[12] == 127 || ip->s6_addr[12] == 0));
}

static bool address_text(const struct sockaddr *a, socklen_t n, char *out) {
    return !getnameinfo(a, n, out, ADDRESS_MAX, NULL, 0, NI_NUMERICHOST);
}

/* Writes our address on the route to `to`, which connecting a datagram socket finds without sending
 * anything. Returns false if there is no route, or if it is this machine itself. */
static bool address_towards(const struct sockaddr *to, socklen_t n, char *out) {
    struct sockaddr_storage own;
    socklen_t own_n = sizeof own;
    int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && !connect(fd, to, n) && !getsockname(fd, (struct sockaddr *)&own, &own_n) &&
              !is_loopback((struct sockaddr *)&own) &&
              address_text((struct sockaddr *)&own, own_n, out);
    if (fd >= 0) close(fd);
    return ok;
}

/* Writes this machine's likely public address: that of the default route, else the first that is
 * not loopback. */
static bool address_of_machine(char *out) {
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(9)};
    inet_pton(AF_INET, "192.0.2.1", &far.sin_addr); /* reserved for documentation */
    if (address_towards((struct sockaddr *)&far, sizeof far, out)) return true;
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all)) return false;
    for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        bool fits = i->ifa_addr && (i->ifa_flags & IFF_UP) &&
                    (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6) &&
                    !is_loopback(i->ifa_addr);
        if (fits)
            found = address_text(i->ifa_addr,
                                 i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                                   : sizeof(struct sockaddr_in6),
                                 out);
    }
    freeifaddrs(all);
    return found;
}

/* Splits tcp://HOST:PORT; removes brackets from HOST. */
static bool split_tcp(const char *endpoint, char *host, size_t n, const char **port) {
    const char *at = endpoint + strlen("tcp://"), *colon = strrchr(at, ':');
    if (!colon) return false;
    size_t length = (size_t)(colon - at);
    if (length >= 2 && at[0] == '[' && at[length - 1] == ']') at++, length -= 2;
    if (length >= n) return false;
    memcpy(host, at, length);
    host[length] = '\0';
    *port = colon + 1;
    return true;
}

static bool address_near(const char *dispatcher, char *out, Err *err) {
    char host[ENDPOINT_MAX];
    const char *port;
    struct addrinfo want = {.ai_socktype = SOCK_DGRAM}, *all = NULL;
    if (!split_tcp(dispatcher, host, sizeof host, &port))
        return err_set(err, ERR_ARG, "'%s' is not tcp://HOST:PORT", dispatcher);
    int rc = getaddrinfo(host, port, &want, &all);
    if (rc) return err_set(err, ERR_IO, "cannot find '%s': %s", host, gai_strerror(rc));
    bool found = false;
    for (struct addrinfo *i = all; i && !found; i = i->ai_next)
        found = address_towards(i->ai_addr, i->ai_addrlen, out);
    freeaddrinfo(all);
    if (found || address_of_machine(out)) return true;
    snprintf(out, ADDRESS_MAX, "127.0.0.1"); /* no network */
    return true;
}

static void put_tcp(const char *host, const char *port, Endpoint *out) {
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(out->text, sizeof out->text, is_v6 ? "tcp://[%s]:%s" : "tcp://%s:%s", host, port);
}

void reach_public(Endpoint *e) {
    char host[ENDPOINT_MAX], port[16], own[ADDRESS_MAX];
    const char *at;
    if (!is_prefix("tcp://", e->text) || !split_tcp(e->text, host, sizeof host, &at)) return;
    if (strcmp(host, "*") && strcmp(host, "0.0.0.0") && strcmp(host, "::")) return;
    snprintf(port, sizeof port, "%s", at);
    if (address_of_machine(own)) put_tcp(own, port, e);
}

/* ---- Where to listen ---- */

enum { SWEEP_S = 60 };

/* True if the lock at path may be a killed worker's: its socket exists, or the lock is old. A
 * worker that starts creates its lock, takes it and then binds its socket. A look at the lock in
 * between would make it fail. */
static bool is_left(char *path, size_t length) {
    struct stat lock, socket;
    if (lstat(path, &lock)) return false;
    path[length - 5] = '\0';
    bool is_bound = !lstat(path, &socket);
    path[length - 5] = '.';
    return is_bound || time(NULL) - lock.st_mtime > SWEEP_S;
}

/* Removes the sockets of killed workers: nothing holds their locks. */
static void sweep(const char *directory) {
    DIR *d = opendir(directory);
    char path[ENDPOINT_MAX];
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (!is_prefix("worker-", e->d_name) || n < 5 || strcmp(e->d_name + n - 5, ".lock"))
            continue;
        int length = snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        if (length < 0 || (size_t)length >= sizeof path) continue;
        if (!is_left(path, (size_t)length)) continue;
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0) continue;
        if (!flock(fd, LOCK_EX | LOCK_NB)) {
            unlink(path);
            path[length - 5] = '\0';
            unlink(path);
        }
        close(fd);
    }
    if (d) closedir(d);
}

static bool private_socket(Endpoint *out, Err *err) {
    Endpoint local;
    TRY(endpoint_local(&local, err));
    *strrchr(local.text, '/') = '\0';
    sweep(local.text + strlen("ipc://"));
    int n = snprintf(out->text, sizeof out->text, "%.240s/worker-%08x", local.text,
                     (unsigned)random_u64());
    return n < (int)sizeof out->text || err_set(err, ERR_IO, "'%s' is too long", local.text);
}

bool reach_endpoint(const char *dispatcher, Endpoint *out, Err *err) {
    static _Atomic unsigned n_names;
    Endpoint d;
    if (is_prefix("ring://", dispatcher) || is_prefix("inproc://", dispatcher)) {
        int n = snprintf(out->text, sizeof out->text, "%s-data-%u", dispatcher,
                         atomic_fetch_add(&n_names, 1));
        return n < (int)sizeof out->text || err_set(err, ERR_ARG, "'%s' is too long", dispatcher);
    }
    if (snprintf(d.text, sizeof d.text, "%s", dispatcher) >= (int)sizeof d.text)
        return err_set(err, ERR_ARG, "'%s' is too long", dispatcher);
    if (endpoint_is_private(&d)) return private_socket(out, err);
    char own[ADDRESS_MAX];
    TRY(address_near(dispatcher, own, err));
    put_tcp(own, "*", out);
    return true;
}

/* ---- Identity ---- */

/* A random number, one per process; a fork is another process. */
static uint64_t process_id(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t id;
    static pid_t pid;
    pthread_mutex_lock(&lock);
    if (pid != getpid()) pid = getpid(), id = random_u64();
    uint64_t is = id;
    pthread_mutex_unlock(&lock);
    return is;
}

static void boot_id(char *out, size_t n) {
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    out[0] = '\0';
    if (f && !fgets(out, (int)n, f)) out[0] = '\0';
    if (f) fclose(f);
    out[strcspn(out, "\n")] = '\0';
}

void reach_describe(const char *endpoint, const void *arena, uint64_t bytes, int fd,
                    DataPlane *out) {
    struct stat s = {0};
    *out = (DataPlane){.process = process_id(),
                       .arena_at = (uint64_t)(uintptr_t)arena,
                       .arena_bytes = bytes,
                       .pid = (uint32_t)getpid(),
                       .fd = fd >= 0 && !fstat(fd, &s) ? fd : -1};
    out->inode = s.st_ino;
    boot_id(out->host, sizeof out->host);
    snprintf(out->endpoint, sizeof out->endpoint, "%s", endpoint);
}

static bool is_same_process(const DataPlane *a, const DataPlane *b) {
    return a->process == b->process && a->pid == b->pid;
}

static bool is_same_host(const DataPlane *a, const DataPlane *b) {
    return a->host[0] && !strcmp(a->host, b->host);
}

static bool lends(const DataPlane *d) {
    uint64_t any = 0;
    for (int k = 0; k < 8; k++) any |= d->lent[k];
    return any != 0;
}

bool reach_is_neighbour(const DataPlane *own, const DataPlane *peer) {
    return lends(peer) && peer->fd >= 0 && is_same_host(own, peer) && !is_same_process(own, peer);
}

/* True if a can connect to b's endpoint. */
static bool is_reached(const DataPlane *a, const DataPlane *b) {
    Endpoint e;
    snprintf(e.text, sizeof e.text, "%s", b->endpoint);
    if (is_prefix("ring://", e.text) || is_prefix("inproc://", e.text))
        return is_same_process(a, b);
    if (is_prefix("ipc://", e.text)) return is_same_host(a, b);
    if (!is_prefix("tcp://", e.text)) return false;
    return !endpoint_is_private(&e) || is_same_host(a, b);
}

bool reach_is_mutual(const DataPlane *a, const DataPlane *b) {
    return is_reached(a, b) && is_reached(b, a);
}

/* ---- Peers' memory ---- */

static const char *map_file(const DataPlane *d, PeerMemory *out) {
    char path[64];
    struct stat s;
    snprintf(path, sizeof path, "/proc/%u/fd/%d", d->pid, d->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return strerror(errno);
    const char *why = NULL;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_ino != d->inode ||
        s.st_size != (off_t)d->arena_bytes)
        why = "the file is not the announced one";
    else if (s.st_uid != geteuid())
        why = "the file belongs to another user";
    else if (!(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK))
        why = "the file is not sealed against shrinking";
    void *base =
        why ? MAP_FAILED : mmap(NULL, d->arena_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (!why && base == MAP_FAILED) why = strerror(errno);
    close(fd);
    if (why) return why;
    madvise(base, d->arena_bytes, MADV_DONTDUMP);
    *out = (PeerMemory){.base = base, .bytes = d->arena_bytes, .is_mapped = true};
    return NULL;
}

bool peer_memory_open(const DataPlane *own, const DataPlane *peer, PeerMemory *out,
                      const char **why) {
    *out = (PeerMemory){0};
    *why = NULL;
    if (lends(peer)) return false;
    if (is_same_process(own, peer)) {
        const void *base = (const void *)(uintptr_t)peer->arena_at;
        if (!mem_ref(base, peer->arena_bytes)) return false; /* it was closed */
        *out = (PeerMemory){.base = base, .bytes = peer->arena_bytes};
        return true;
    }
    if (!is_same_host(own, peer) || peer->fd < 0 || peer->arena_bytes == 0) return false;
    *why = map_file(peer, out);
    return !*why;
}

void peer_memory_close(PeerMemory *s) {
    if (s->base && s->is_mapped) munmap((void *)s->base, s->bytes);
    if (s->base && !s->is_mapped) mem_unref(s->base);
    *s = (PeerMemory){0};
}
