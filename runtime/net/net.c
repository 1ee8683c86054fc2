/* net.c: Hubs and Links over ZeroMQ, and the choice between them and rings by the endpoint's
 * scheme. The only file that includes zmq.h.
 *
 * A hub is a ROUTER, a link a DEALER. ZeroMQ itself never says who has left, so that is put
 * together here from three signs: a goodbye (a message of one empty part) that both sides send when
 * they close; the socket monitor's "disconnected" for tcp and ipc, matched by file descriptor; and
 * a send that finds no route. Over inproc, parts travel as Buf pointers, so that the hand-over is
 * an atomic count and nothing is copied.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/net.h"
#include "runtime/base/map.h"
#include "runtime/net/ring.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum {
    LINGER_MS = 500,
    COPY_BYTES = 32 << 10,
    IDENTITY_BYTES = 5,
    /* ZeroMQ's own heartbeats, from its I/O threads: a peer that computes is never taken for dead,
     * but a machine or process that stopped is, after SILENT_MS. */
    PING_MS = 2000,
    SOCKETS_MAX = 8192, /* a link has three; a worker a link to each of its peers */
    SILENT_MS = 10000
};

/* ---- Messages ---- */

/* ---- What all sockets of a process share ---- */

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static void
    *process_context; /* made by the first ZeroMQ endpoint: programs without one never pay for it */
static unsigned monitors_made; /* for their names */
typedef struct Name {
    struct Name *next;
    char text[];
} Name;
static Name *inproc_names; /* bound ones: ZeroMQ would let a link wait for a hub that never comes */

static void *context(void) {
    pthread_mutex_lock(&process_lock);
    if (!process_context && (process_context = zmq_ctx_new()))
        zmq_ctx_set(process_context, ZMQ_MAX_SOCKETS, SOCKETS_MAX);
    void *c = process_context;
    pthread_mutex_unlock(&process_lock);
    return c;
}

void net_fini(void) {
    pthread_mutex_lock(&process_lock);
    void *c = process_context;
    process_context = NULL;
    pthread_mutex_unlock(&process_lock);
    while (c && zmq_ctx_term(c) && errno == EINTR) continue;
}

static bool inproc_is_bound(const char *endpoint) {
    pthread_mutex_lock(&process_lock);
    Name *at = inproc_names;
    while (at && strcmp(at->text, endpoint)) at = at->next;
    pthread_mutex_unlock(&process_lock);
    return at != NULL;
}

static void inproc_add(const char *endpoint) {
    Name *name = xmalloc(sizeof *name + strlen(endpoint) + 1);
    strcpy(name->text, endpoint);
    pthread_mutex_lock(&process_lock);
    name->next = inproc_names;
    inproc_names = name;
    pthread_mutex_unlock(&process_lock);
}

static void inproc_remove(const char *endpoint) {
    pthread_mutex_lock(&process_lock);
    Name **at = &inproc_names, *gone;
    while (*at && strcmp((*at)->text, endpoint)) at = &(*at)->next;
    if ((gone = *at)) *at = gone->next;
    pthread_mutex_unlock(&process_lock);
    free(gone);
}

static bool has_scheme(const char *endpoint, const char *scheme) {
    return !strncmp(endpoint, scheme, strlen(scheme));
}

static const char *ring_name(const char *endpoint) {
    return has_scheme(endpoint, "ring://") ? endpoint + 7 : NULL;
}

static bool scheme_is_known(const char *endpoint, Err *err) {
    static const char *const schemes[] = {"ring://", "inproc://", "ipc://", "tcp://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (has_scheme(endpoint, schemes[i]) && endpoint[strlen(schemes[i])]) return true;
    err_set(err, ERR_ARG, "'%s' is not an endpoint", endpoint);
    return err_hint(err, "tcp://HOST:PORT, ipc://PATH, inproc://NAME or ring://NAME");
}

/* ---- Sockets ---- */

/* A ZeroMQ socket, its monitor (tcp and ipc) and the descriptor that wakes its owner. */
typedef struct Socket {
    void *zmq, *monitor;
    int wake_fd;
    bool is_inproc, is_dealer;
    bool is_connected, has_broken; /* a DEALER: what its monitor said */
} Socket;

static bool socket_open(Socket *s, int type, bool is_inproc, Err *err) {
    static const int linger = LINGER_MS, unlimited = 0, on = 1;
    static const int ping = PING_MS, silent = SILENT_MS;
    static const int64_t part_max = (int64_t)MAX_MSG_BYTES;
    *s = (Socket){.wake_fd = -1,
                  .is_inproc = is_inproc,
                  .is_dealer = type == ZMQ_DEALER,
                  .is_connected = is_inproc};
    void *c = context();
    if (!c || !(s->zmq = zmq_socket(c, type)))
        return err_set(err, ERR_IO, "cannot make a socket: %s", zmq_strerror(errno));
    zmq_setsockopt(s->zmq, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(s->zmq, ZMQ_SNDHWM, &unlimited, sizeof unlimited);
    zmq_setsockopt(s->zmq, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
    zmq_setsockopt(s->zmq, ZMQ_MAXMSGSIZE, &part_max, sizeof part_max);
    zmq_setsockopt(s->zmq, ZMQ_IPV6, &on, sizeof on);
    if (type == ZMQ_ROUTER) zmq_setsockopt(s->zmq, ZMQ_ROUTER_MANDATORY, &on, sizeof on);
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake_fd < 0) return err_set(err, ERR_IO, "cannot make an eventfd: %s", strerror(errno));
    if (is_inproc) return true;
    zmq_setsockopt(s->zmq, ZMQ_HEARTBEAT_IVL, &ping, sizeof ping);
    zmq_setsockopt(s->zmq, ZMQ_HEARTBEAT_TIMEOUT, &silent, sizeof silent);
    zmq_setsockopt(s->zmq, ZMQ_HEARTBEAT_TTL, &silent, sizeof silent);

    char name[64];
    pthread_mutex_lock(&process_lock);
    snprintf(name, sizeof name, "inproc://gt-monitor-%u", ++monitors_made);
    pthread_mutex_unlock(&process_lock);
    static const int none = 0;
    int events = ZMQ_EVENT_DISCONNECTED |
                 (type == ZMQ_ROUTER ? ZMQ_EVENT_CLOSED : ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    if (zmq_socket_monitor(s->zmq, name, events) || !(s->monitor = zmq_socket(c, ZMQ_PAIR)) ||
        zmq_setsockopt(s->monitor, ZMQ_LINGER, &none, sizeof none) ||
        zmq_setsockopt(s->monitor, ZMQ_RCVHWM, &unlimited, sizeof unlimited) ||
        zmq_connect(s->monitor, name))
        return err_set(err, ERR_IO, "cannot watch a socket: %s", zmq_strerror(errno));
    return true;
}

static void socket_close(Socket *s) {
    if (s->zmq && s->monitor) zmq_socket_monitor(s->zmq, NULL, 0);
    if (s->monitor) zmq_close(s->monitor);
    if (s->zmq) zmq_close(s->zmq);
    if (s->wake_fd >= 0) close(s->wake_fd);
}

static void socket_wake(Socket *s) {
    uint64_t one = 1;
    while (write(s->wake_fd, &one, sizeof one) < 0 && errno == EINTR) continue;
}

/* The next thing that the monitor has to tell: its kind, 0 for nothing; *fd is the descriptor that
 * it is about. */
static int socket_news(Socket *s, int *fd) {
    if (!s->monitor) return 0;
    zmq_msg_t m;
    zmq_msg_init(&m);
    uint16_t kind = 0;
    if (zmq_msg_recv(&m, s->monitor, ZMQ_DONTWAIT) >= 6) {
        int32_t value; /* Native u16 kind, i32 value; then a part with the address. */
        memcpy(&kind, zmq_msg_data(&m), sizeof kind);
        memcpy(&value, (char *)zmq_msg_data(&m) + 2, sizeof value);
        *fd = value;
        while (zmq_msg_more(&m) && zmq_msg_recv(&m, s->monitor, ZMQ_DONTWAIT) >= 0) continue;
    }
    zmq_msg_close(&m);
    return kind;
}

/* Takes in what a DEALER's monitor says. */
static void dealer_watch(Socket *s) {
    for (int fd, kind; (kind = socket_news(s, &fd));) {
        s->is_connected = s->is_connected || kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
        s->has_broken = s->has_broken || kind == ZMQ_EVENT_DISCONNECTED;
    }
}

/* One look at the sockets: true when one may have something to receive, or after a wake. That a
 * DEALER has connected is taken note of, and ends the wait without being anything. */
static bool sockets_poll(Socket *const *s, int n_sockets, int timeout_ms, bool *is_over) {
    zmq_pollitem_t item[6];
    Socket *of[6];
    int n = 0;
    assert(n_sockets <= 2);
    for (int i = 0; i < n_sockets; i++) {
        of[n] = s[i], item[n++] = (zmq_pollitem_t){.fd = s[i]->wake_fd, .events = ZMQ_POLLIN};
        of[n] = s[i], item[n++] = (zmq_pollitem_t){.socket = s[i]->zmq, .events = ZMQ_POLLIN};
        if (!s[i]->monitor) continue;
        of[n] = s[i], item[n++] = (zmq_pollitem_t){.socket = s[i]->monitor, .events = ZMQ_POLLIN};
    }
    bool any = false;
    *is_over = zmq_poll(item, n, timeout_ms) <= 0;
    for (int i = 0; i < n && !*is_over; i++) {
        uint64_t count;
        if (!item[i].revents) continue;
        if (!item[i].socket)
            while (read(item[i].fd, &count, sizeof count) < 0 && errno == EINTR) continue;
        bool is_news = item[i].socket && item[i].socket == of[i]->monitor && of[i]->is_dealer;
        if (is_news) dealer_watch(of[i]);
        any = any || !is_news || of[i]->has_broken;
    }
    return any;
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* True when one of them may have something to receive, or after a wake. A signal ends it early. */
static bool sockets_wait(Socket *const *s, int n_sockets, int timeout_ms) {
    int64_t end = timeout_ms > 0 ? now_ms() + timeout_ms : 0;
    for (bool is_over;;) {
        if (sockets_poll(s, n_sockets, timeout_ms, &is_over)) return true;
        if (is_over || timeout_ms == 0) return false;
        if (timeout_ms > 0 && (timeout_ms = (int)(end - now_ms())) <= 0) return false;
    }
}

static bool socket_wait(Socket *s, int timeout_ms) { return sockets_wait(&s, 1, timeout_ms); }

/* ---- Parts ---- */

static void release_buf(void *data, void *hint) {
    (void)data;
    Buf *b = hint;
    buf_unref(&b);
}

/* Sends one part; consumes b. */
static bool part_send(Socket *s, Buf *b, bool more) {
    zmq_msg_t m;
    if (s->is_inproc) {
        atomic_fetch_add_explicit(&b->refs, 0, memory_order_release); /* see part_take */
        zmq_msg_init_data(&m, b, sizeof *b, release_buf, b);
    } else if (b->n >= COPY_BYTES) {
        zmq_msg_init_data(&m, b->data, b->n, release_buf, b);
    } else {
        zmq_msg_init_size(&m, b->n);
        if (b->n) memcpy(zmq_msg_data(&m), b->data, b->n);
        buf_unref(&b);
    }
    int rc;
    do rc = zmq_msg_send(&m, s->zmq, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0));
    while (rc < 0 && errno == EINTR);
    if (rc < 0) zmq_msg_close(&m);
    return rc >= 0;
}

/* Consumes msg. */
static bool parts_send(Socket *s, Msg *msg) {
    assert(msg->n > 0);
    for (int i = 0; i < msg->n; i++) {
        Buf *b = msg->part[i];
        msg->part[i] = NULL;
        if (!part_send(s, b, i + 1 < msg->n)) {
            msg_fini(msg);
            return false;
        }
    }
    msg->n = 0;
    return true;
}

static void release_zmq(void *data, void *ctx) {
    (void)data;
    zmq_msg_close(ctx);
    free(ctx);
}

/* Takes a received part over as a Buf; m is empty afterwards. Heads and small or badly aligned
 * parts are copied. */
static Buf *part_take(Socket *s, zmq_msg_t *m, bool is_head) {
    void *data = zmq_msg_data(m);
    size_t n = zmq_msg_size(m);
    Buf *b;
    if (s->is_inproc) {
        b = buf_ref(data);
        /* Pairs with the sender's count: its writes to the bytes come before our reads. */
        atomic_fetch_add_explicit(&b->refs, 0, memory_order_acq_rel);
    } else if (is_head || n < COPY_BYTES || (uintptr_t)data % 16) {
        b = buf_copy(data, n);
    } else {
        zmq_msg_t *keep = xmalloc(sizeof *keep);
        zmq_msg_init(keep);
        zmq_msg_move(keep, m);
        return buf_wrap(zmq_msg_data(keep), n, release_zmq, keep);
    }
    zmq_msg_close(m);
    zmq_msg_init(m);
    return b;
}

/* Receives the rest of a message whose first part is in *m. false: too long a message; msg is then
 * empty. */
static bool parts_recv(Socket *s, zmq_msg_t *m, Msg *msg) {
    bool fits = true;
    uint64_t total = 0;
    msg->n = 0;
    for (;;) {
        bool more = zmq_msg_more(m);
        total += s->is_inproc ? 0 : zmq_msg_size(m);
        fits = fits && msg->n < MAX_MSG_PARTS && total <= MAX_MSG_BYTES;
        if (fits) msg_push(msg, part_take(s, m, msg->n == 0));
        if (!more) break;
        int rc; /* Parts of one message arrive together: this never waits. */
        do rc = zmq_msg_recv(m, s->zmq, 0);
        while (rc < 0 && errno == EINTR);
        if (rc < 0) {
            fits = false;
            break;
        }
    }
    if (!fits) msg_fini(msg);
    return fits;
}

static bool msg_is_goodbye(const Msg *msg) { return msg->n == 1 && msg->part[0]->n == 0; }

static void goodbye(Msg *msg) { *msg = (Msg){.n = 1, .part = {buf_new(0)}}; }

/* ---- Hubs ---- */

typedef struct Peer {
    PeerId id;
    uint32_t route;  /* the ROUTER's own number for it                           */
    int fd;          /* of its connection; -1 over inproc                         */
    bool is_lost;    /* its connection broke: gone once its messages are read     */
    bool is_dropped; /* by hub_drop: what it says is ignored                      */
} Peer;

struct Hub {
    RingHub *ring; /* else the rest */
    Socket socket;
    char *endpoint;
    char *lock_path; /* of ipc: PATH.lock, held while the hub lives; NULL: not ours */
    int lock_fd;
    Map by_route, by_id; /* -> Peer */
    PeerId last_id;
    size_t n_lost; /* peers with is_lost that are not yet reported */
};

/* ipc: ZeroMQ would unlink another hub's socket and take its place; a lock and a trial connection
 * prevent that. */
static bool ipc_claim(Hub *hub, const char *path, Err *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return err_set(err, ERR_IO, "cannot listen at ipc://%s: the path is longer than %zu bytes",
                       path, sizeof address.sun_path - 1);
    if (path[0] == '@' || !strcmp(path, "*"))
        return true; /* The kernel's and ZeroMQ's own names. */
    char lock[sizeof address.sun_path + 8];
    snprintf(lock, sizeof lock, "%s.lock", path);
    struct stat mine, there;
    for (;;) {
        hub->lock_fd = open(lock, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (hub->lock_fd < 0)
            return err_set(err, ERR_IO, "cannot listen at ipc://%s: %s", path, strerror(errno));
        if (flock(hub->lock_fd, LOCK_EX | LOCK_NB))
            return err_set(err, ERR_IO, "cannot listen at ipc://%s: another program does", path);
        /* The last owner may have removed the file between our open and our lock. */
        if (!fstat(hub->lock_fd, &mine) && !stat(lock, &there) && mine.st_ino == there.st_ino)
            break;
        close(hub->lock_fd);
    }
    hub->lock_path = xstrdup(lock);
    if (lstat(path, &there)) return true;
    if (!S_ISSOCK(there.st_mode))
        return err_set(err, ERR_IO, "cannot listen at ipc://%s: a file is in the way", path);
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_served = fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof address);
    if (fd >= 0) close(fd);
    return !is_served ||
           err_set(err, ERR_IO, "cannot listen at ipc://%s: another program does", path);
}

static void ipc_release(Hub *hub) {
    if (hub->endpoint && hub->lock_path) unlink(hub->endpoint + strlen("ipc://"));
    if (hub->lock_path) unlink(hub->lock_path);
    free(hub->lock_path);
    if (hub->lock_fd >= 0) close(hub->lock_fd);
}

/* ZeroMQ gives back tcp://[::ffff:127.0.0.1]:9000, which nobody types: tcp://127.0.0.1:9000. */
static void plain_ipv4(char *endpoint) {
    static const char mapped[] = "tcp://[::ffff:";
    char *end = strchr(endpoint, ']');
    if (!has_scheme(endpoint, mapped) || !end) return;
    memmove(end, end + 1, strlen(end));
    memmove(endpoint + 6, endpoint + sizeof mapped - 1, strlen(endpoint + sizeof mapped - 1) + 1);
}

Hub *hub_open(const char *endpoint, Err *err) {
    TRY(scheme_is_known(endpoint, err));
    Hub *hub = xcalloc(1, sizeof *hub);
    hub->lock_fd = hub->socket.wake_fd = -1;
    if (ring_name(endpoint)) {
        hub->endpoint = xstrdup(endpoint);
        if ((hub->ring = ring_hub_open(ring_name(endpoint), err))) return hub;
        free(hub->endpoint);
        free(hub);
        return NULL;
    }
    bool is_inproc = has_scheme(endpoint, "inproc://");
    char bound[512];
    size_t n = sizeof bound;
    if (has_scheme(endpoint, "ipc://") && !ipc_claim(hub, endpoint + strlen("ipc://"), err))
        goto failed;
    if (!socket_open(&hub->socket, ZMQ_ROUTER, is_inproc, err)) goto failed;
    if (zmq_bind(hub->socket.zmq, endpoint)) {
        err_set(err, ERR_IO, "cannot listen at %s: %s", endpoint,
                errno == EADDRINUSE ? "another program does" : zmq_strerror(errno));
        goto failed;
    }
    bool is_known = !zmq_getsockopt(hub->socket.zmq, ZMQ_LAST_ENDPOINT, bound, &n);
    hub->endpoint = xstrdup(is_known ? bound : endpoint);
    plain_ipv4(hub->endpoint);
    if (is_inproc) inproc_add(hub->endpoint);
    return hub;
failed:
    socket_close(&hub->socket);
    ipc_release(hub);
    free(hub);
    return NULL;
}

const char *hub_endpoint(const Hub *hub) { return hub->endpoint; }

/* A ROUTER's automatic identity is a zero byte and a number; false for names that peers claim. */
static bool route_decode(zmq_msg_t *m, uint32_t *route) {
    const uint8_t *p = zmq_msg_data(m);
    if (zmq_msg_size(m) != IDENTITY_BYTES || p[0] != 0) return false;
    memcpy(route, p + 1, sizeof *route);
    return true;
}

static void peer_remove(Hub *hub, Peer *p) {
    map_remove(&hub->by_route, p->route);
    map_remove(&hub->by_id, p->id);
    if (p->is_lost) hub->n_lost--;
    free(p);
}

/* Takes in what the monitor says. Called before a new peer is entered, so that a descriptor that is
 * used again is not taken for the one that broke. */
static void hub_watch(Hub *hub) {
    for (int fd, kind; (kind = socket_news(&hub->socket, &fd));) {
        uint64_t key;
        void *value;
        if (kind != ZMQ_EVENT_DISCONNECTED) continue;
        for (size_t i = 0; map_next(&hub->by_id, &i, &key, &value);) {
            Peer *p = value;
            if (p->fd != fd || p->is_lost) continue;
            p->is_lost = true;
            hub->n_lost++;
        }
    }
}

/* Forgets one peer whose connection broke and gives its id; 0: none, or none that the owner still
 * knows. */
static PeerId hub_next_lost(Hub *hub) {
    while (hub->n_lost > 0) {
        uint64_t key;
        void *value;
        Peer *lost = NULL;
        for (size_t i = 0; !lost && map_next(&hub->by_id, &i, &key, &value);)
            if (((Peer *)value)->is_lost) lost = value;
        assert(lost);
        PeerId id = lost->is_dropped ? 0 : lost->id;
        peer_remove(hub, lost);
        if (id) return id;
    }
    return 0;
}

static Peer *peer_enter(Hub *hub, uint32_t route, zmq_msg_t *first) {
    hub_watch(hub);
    Peer *p = xmalloc(sizeof *p);
    int fd = hub->socket.is_inproc ? -1 : zmq_msg_get(first, ZMQ_SRCFD);
    *p = (Peer){.id = ++hub->last_id, .route = route, .fd = fd};
    map_put(&hub->by_route, route, p);
    map_put(&hub->by_id, p->id, p);
    return p;
}

static int zmq_hub_recv(Hub *hub, PeerId *from, Msg *msg) {
    zmq_msg_t m;
    zmq_msg_init(&m);
    int event = 0;
    while (!event) {
        uint32_t route = 0;
        int rc = zmq_msg_recv(&m, hub->socket.zmq, ZMQ_DONTWAIT);
        if (rc < 0 && errno == EINTR) continue;
        if (rc < 0) { /* Nothing is left to read: now those whose connection broke are gone. */
            hub_watch(hub);
            if ((*from = hub_next_lost(hub))) event = -1;
            break;
        }
        bool is_ours = route_decode(&m, &route) && zmq_msg_more(&m);
        if (zmq_msg_more(&m)) (void)zmq_msg_recv(&m, hub->socket.zmq, 0);
        Peer *p = is_ours ? map_get(&hub->by_route, route) : NULL;
        if (is_ours && !p) p = peer_enter(hub, route, &m);
        bool fits = parts_recv(&hub->socket, &m, msg);
        if (!p) {
            msg_fini(msg);
            continue;
        }
        bool is_gone = fits && msg_is_goodbye(msg);
        *from = p->id;
        if (!p->is_dropped) event = fits && !is_gone ? 1 : -1;
        if (event != 1) msg_fini(msg);
        if (is_gone)
            peer_remove(hub, p);
        else if (!fits)
            p->is_dropped = true; /* It stays known, so as not to pass for somebody new. */
    }
    zmq_msg_close(&m);
    return event;
}

int hub_recv(Hub *hub, PeerId *from, Msg *msg) {
    msg->n = 0;
    return hub->ring ? ring_hub_recv(hub->ring, from, msg) : zmq_hub_recv(hub, from, msg);
}

static bool peer_send(Hub *hub, Peer *p, Msg *msg) {
    uint8_t identity[IDENTITY_BYTES] = {0};
    memcpy(identity + 1, &p->route, sizeof p->route);
    int rc;
    do rc = zmq_send(hub->socket.zmq, identity, sizeof identity, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    while (rc < 0 && errno == EINTR);
    if (rc < 0) {
        msg_fini(msg);
        return false;
    }
    return parts_send(&hub->socket, msg);
}

bool hub_send(Hub *hub, PeerId to, Msg *msg) {
    if (hub->ring) return ring_hub_send(hub->ring, to, msg);
    Peer *p = map_get(&hub->by_id, to);
    if (!p || p->is_dropped) {
        msg_fini(msg);
        return false;
    }
    if (peer_send(hub, p, msg)) return true;
    if (!p->is_lost) p->is_lost = true, hub->n_lost++; /* No route: hub_recv will say so. */
    return false;
}

void hub_drop(Hub *hub, PeerId peer) {
    if (hub->ring) {
        ring_hub_drop(hub->ring, peer);
        return;
    }
    Peer *p = map_get(&hub->by_id, peer);
    if (!p || p->is_dropped) return;
    Msg bye;
    goodbye(&bye);
    if (peer_send(hub, p, &bye))
        p->is_dropped = true;
    else
        peer_remove(hub, p);
}

bool hub_wait(Hub *hub, int timeout_ms) {
    if (hub->ring) return ring_hub_wait(hub->ring, timeout_ms);
    return hub->n_lost > 0 || socket_wait(&hub->socket, timeout_ms);
}

void hub_wake(Hub *hub) {
    if (hub->ring)
        ring_hub_wake(hub->ring);
    else
        socket_wake(&hub->socket);
}

/* ZeroMQ closes in the background; whoever opens the endpoint next must find it free. */
static void hub_stop_listening(Hub *hub) {
    if (zmq_unbind(hub->socket.zmq, hub->endpoint)) return;
    zmq_pollitem_t item = {.socket = hub->socket.monitor, .events = ZMQ_POLLIN};
    while (hub->socket.monitor && zmq_poll(&item, 1, LINGER_MS) > 0)
        for (int fd, kind; (kind = socket_news(&hub->socket, &fd));)
            if (kind == ZMQ_EVENT_CLOSED) return;
}

void hub_close(Hub **hub) {
    Hub *h = *hub;
    *hub = NULL;
    if (!h) return;
    if (h->ring) {
        ring_hub_close(&h->ring);
    } else {
        uint64_t key;
        void *value;
        for (size_t i = 0; map_next(&h->by_id, &i, &key, &value); free(value)) {
            Msg bye;
            goodbye(&bye);
            if (((Peer *)value)->is_dropped)
                msg_fini(&bye);
            else
                peer_send(h, value, &bye);
        }
        if (h->socket.is_inproc) inproc_remove(h->endpoint);
        hub_stop_listening(h);
        socket_close(&h->socket);
        ipc_release(h);
        map_fini(&h->by_route);
        map_fini(&h->by_id);
    }
    free(h->endpoint);
    free(h);
}

/* ---- Links ---- */

struct Link {
    RingLink *ring; /* else the rest */
    Socket socket;
    bool is_gone;
};

static Link *open_link(const char *endpoint, RingHub *beside, Err *err) {
    TRY(scheme_is_known(endpoint, err));
    Link *link = xcalloc(1, sizeof *link);
    link->socket.wake_fd = -1;
    if (ring_name(endpoint)) {
        if ((link->ring = ring_link_open(ring_name(endpoint), beside, err))) return link;
        free(link);
        return NULL;
    }
    bool is_inproc = has_scheme(endpoint, "inproc://");
    if (is_inproc && !inproc_is_bound(endpoint)) {
        err_set(err, ERR_IO, "nobody listens at %s", endpoint);
    } else if (socket_open(&link->socket, ZMQ_DEALER, is_inproc, err)) {
        if (!zmq_connect(link->socket.zmq, endpoint)) return link;
        err_set(err, ERR_IO, "cannot connect to %s: %s", endpoint, zmq_strerror(errno));
    }
    socket_close(&link->socket);
    free(link);
    return NULL;
}

Link *link_open(const char *endpoint, Err *err) { return open_link(endpoint, NULL, err); }

Link *link_open_beside(const char *endpoint, Hub *hub, Err *err) {
    if (!ring_name(endpoint) == !hub->ring) return open_link(endpoint, hub->ring, err);
    err_set(err, ERR_ARG, "%s and %s cannot be waited for together", endpoint, hub->endpoint);
    return NULL;
}

void link_close(Link **link) {
    Link *l = *link;
    *link = NULL;
    if (!l) return;
    if (l->ring) {
        ring_link_close(&l->ring);
    } else {
        Msg bye;
        goodbye(&bye);
        if (l->is_gone)
            msg_fini(&bye);
        else
            parts_send(&l->socket, &bye);
        socket_close(&l->socket);
    }
    free(l);
}

bool link_send(Link *link, Msg *msg) {
    if (link->ring) return ring_link_send(link->ring, msg);
    if (!link->is_gone && parts_send(&link->socket, msg)) return true;
    msg_fini(msg);
    return false;
}

int link_recv(Link *link, Msg *msg) {
    msg->n = 0;
    if (link->ring) return ring_link_recv(link->ring, msg);
    if (link->is_gone) return -1;
    zmq_msg_t m;
    zmq_msg_init(&m);
    int rc, event = 0;
    do rc = zmq_msg_recv(&m, link->socket.zmq, ZMQ_DONTWAIT);
    while (rc < 0 && errno == EINTR);
    if (rc >= 0) {
        bool fits = parts_recv(&link->socket, &m, msg);
        event = fits && !msg_is_goodbye(msg) ? 1 : -1;
    } else {
        dealer_watch(&link->socket);
        if (link->socket.has_broken) event = -1;
    }
    zmq_msg_close(&m);
    if (event < 0) {
        link->is_gone = true;
        msg_fini(msg);
    }
    return event;
}

bool link_is_connected(const Link *link) { return link->ring || link->socket.is_connected; }

bool link_wait(Link *link, int timeout_ms) {
    if (link->ring) return ring_link_wait(link->ring, timeout_ms);
    if (link->is_gone || link->socket.has_broken) return true;
    return socket_wait(&link->socket, timeout_ms);
}

void link_wake(Link *link) {
    if (link->ring)
        ring_link_wake(link->ring);
    else
        socket_wake(&link->socket);
}

bool net_wait(Link *link, Hub *hub, int timeout_ms) {
    if (link->ring) return ring_wait(link->ring, hub->ring, timeout_ms);
    Socket *both[] = {&link->socket, &hub->socket};
    if (link->is_gone || link->socket.has_broken || hub->n_lost > 0) return true;
    return sockets_wait(both, 2, timeout_ms);
}
