/* net.c: Hubs and Links over ZeroMQ, and the choice between them and rings by the endpoint's
 * scheme. Only this file and auth.c, which authenticates peers, include zmq.h.
 *
 * A hub is a ROUTER, a link a DEALER. ZeroMQ does not report which peer has left. Three events
 * show it: a goodbye (a message of one empty part), which both sides send when they close; the
 * socket monitor's "disconnected" for tcp and ipc, matched by file descriptor; and a send that
 * finds no route. Over inproc, parts are passed as Buf pointers: a hand-over is
 * an atomic count, not a copy.
 *
 * ZeroMQ's own heartbeats are not used: in 4.3.4 they abort the process if a connection breaks
 * at a bad moment (zeromq/libzmq#4364). TCP's keepalive detects dead machines and cables;
 * programs that must detect a stopped peer send heartbeat messages.
 *
 * If a part is larger than PART_MAX, it is sent in pieces of that size, and the message begins with
 * a part that has the sizes of all parts. So an unauthenticated peer can make this process keep one
 * piece at most.
 * SPDX-License-Identifier: MIT */
#include "runtime/net/net.h"
#include "runtime/base/clock.h"
#include "runtime/base/map.h"
#include "runtime/net/auth.h"
#include "runtime/net/holder.h"
#include "runtime/net/ring.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

enum {
    LINGER_MS = 500,
    COPY_BYTES = 32 << 10,
    IDENTITY_BYTES = 5,
    SOCKETS_MAX = 8192, /* three per link; a worker has a link to each of its peers */
    PART_MAX = 1 << 20,
    SEALED_MAX = PART_MAX + 4096, /* such a piece, encrypted */
    AHEAD_MAX = 4096,             /* messages of a peer that a hub reads ahead */
    UNREAD_LOOK = 1 << 20,        /* bytes sent to a peer between checks that it reads */
    IGNORED_MAX = 64,             /* messages of dropped peers that one hub_recv skips */
    HANDSHAKE_MS = 5000,
    KEEPALIVE_S = 2, /* of silence, then the interval of three probes */
    MAXRT_MS = 8000, /* until unacknowledged data ends the connection */
    LOOK_MS = 100,   /* between checks for a socket that does not exist yet */
    REFUSALS = 3 /* the other end refuses us if it closes so many connections in the handshake */
};

/* ---- Shared by all sockets of a process ---- */

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static void *process_context;  /* made for the first ZeroMQ endpoint; NULL: there is none yet */
static unsigned monitors_made; /* makes their names unique */
typedef struct Name {
    struct Name *next;
    char text[];
} Name;
static Name *inproc_names; /* bound names: a link to an unbound one would wait forever */

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
    if (c) auth_stop(c);
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

enum {
    EVENTS_REFUSED = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
};

/* A ZeroMQ socket, its monitor (tcp and ipc) and the descriptor that wakes its user. */
typedef struct Socket {
    void *zmq, *monitor;
    int wake_fd;
    bool is_inproc, is_dealer;
    /* What a DEALER's monitor has reported. */
    bool is_connected, has_broken;
    bool is_refused; /* the other end refused the handshake */
    int n_refusals;
    int fd; /* of its connection, while it is connected */
} Socket;

static bool socket_open(Socket *s, int type, bool is_inproc, Err *err) {
    static const int linger = LINGER_MS, unlimited = 0, on = 1;
    static const int ahead = AHEAD_MAX, handshake = HANDSHAKE_MS, alive = KEEPALIVE_S;
    static const int probes = 3, maxrt = MAXRT_MS;
    static const int64_t part_max = SEALED_MAX;
    *s = (Socket){.wake_fd = -1,
                  .fd = -1,
                  .is_inproc = is_inproc,
                  .is_dealer = type == ZMQ_DEALER,
                  .is_connected = is_inproc};
    void *c = context();
    if (!c || !(s->zmq = zmq_socket(c, type)))
        return err_set(err, ERR_IO, "cannot make a socket: %s", zmq_strerror(errno));
    zmq_setsockopt(s->zmq, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(s->zmq, ZMQ_SNDHWM, &unlimited, sizeof unlimited);
    zmq_setsockopt(s->zmq, ZMQ_RCVHWM, type == ZMQ_ROUTER ? &ahead : &unlimited, sizeof ahead);
    zmq_setsockopt(s->zmq, ZMQ_HANDSHAKE_IVL, &handshake, sizeof handshake);
    zmq_setsockopt(s->zmq, ZMQ_MAXMSGSIZE, &part_max, sizeof part_max);
    zmq_setsockopt(s->zmq, ZMQ_IPV6, &on, sizeof on);
    if (type == ZMQ_ROUTER) zmq_setsockopt(s->zmq, ZMQ_ROUTER_MANDATORY, &on, sizeof on);
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake_fd < 0) return err_set(err, ERR_IO, "cannot make an eventfd: %s", strerror(errno));
    if (is_inproc) return true;
    zmq_setsockopt(s->zmq, ZMQ_TCP_KEEPALIVE, &on, sizeof on);
    zmq_setsockopt(s->zmq, ZMQ_TCP_KEEPALIVE_IDLE, &alive, sizeof alive);
    zmq_setsockopt(s->zmq, ZMQ_TCP_KEEPALIVE_INTVL, &alive, sizeof alive);
    zmq_setsockopt(s->zmq, ZMQ_TCP_KEEPALIVE_CNT, &probes, sizeof probes);
    zmq_setsockopt(s->zmq, ZMQ_TCP_MAXRT, &maxrt, sizeof maxrt);

    char name[64];
    pthread_mutex_lock(&process_lock);
    snprintf(name, sizeof name, "inproc://gt-monitor-%u", ++monitors_made);
    pthread_mutex_unlock(&process_lock);
    static const int none = 0;
    int events =
        ZMQ_EVENT_DISCONNECTED |
        (type == ZMQ_ROUTER ? ZMQ_EVENT_CLOSED
                            : ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | EVENTS_REFUSED);
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

/* Returns the kind of the monitor's next event, 0 for none; *fd: the descriptor concerned. */
static int socket_event(Socket *s, int *fd) {
    if (!s->monitor) return 0;
    zmq_msg_t m;
    zmq_msg_init(&m);
    uint16_t kind = 0;
    if (zmq_msg_recv(&m, s->monitor, ZMQ_DONTWAIT) >= 6) {
        int32_t value; /* u16 kind, i32 value, native byte order; then a part with the address */
        memcpy(&kind, zmq_msg_data(&m), sizeof kind);
        memcpy(&value, (char *)zmq_msg_data(&m) + 2, sizeof value);
        *fd = value;
        while (zmq_msg_more(&m) && zmq_msg_recv(&m, s->monitor, ZMQ_DONTWAIT) >= 0) continue;
    }
    zmq_msg_close(&m);
    return kind;
}

/* Handles the events of a DEALER's monitor. If the other end closes a connection in the handshake
 * without a reason, it may be about to stop, or full: ZeroMQ tries again. The link counts as
 * refused after REFUSALS such closes, or one with a reason. */
static void dealer_watch(Socket *s) {
    for (int fd, kind; (kind = socket_event(s, &fd));) {
        if (kind == ZMQ_EVENT_CONNECTED) s->fd = fd;
        if (kind & (ZMQ_EVENT_DISCONNECTED | EVENTS_REFUSED)) s->fd = -1;
        s->is_connected = s->is_connected || kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
        s->has_broken = s->has_broken || (s->is_connected && kind == ZMQ_EVENT_DISCONNECTED);
        if (kind & EVENTS_REFUSED) s->n_refusals++;
        bool is_final = kind & EVENTS_REFUSED && kind != ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
        if (s->is_connected || !(is_final || s->n_refusals >= REFUSALS)) continue;
        s->is_refused = s->has_broken = true;
    }
}

/* Polls the sockets once. True if one may have a message, or after a wake; false if a DEALER has
 * only connected. Sets *is_over if the time is over or a signal came. */
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

/* True if bytes arrived at the TCP connection fd within that time. False if it is none. */
static bool is_arriving(int fd, int within_ms) {
    struct tcp_info info = {0};
    socklen_t n = sizeof info;
    if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n)) return false;
    return info.tcpi_last_data_recv < (uint32_t)within_ms;
}

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

/* Before a message with a large part, a part of this form announces the sizes of all its parts, in
 * the byte order of all messages. A head begins with a MsgKind, so none begins with this mark. */
static const char sizes_mark[8] = "\xffsizes";
typedef struct Sizes {
    char mark[8];
    uint64_t n;
    uint64_t size[MAX_MSG_PARTS];
} Sizes;

static Buf *sizes_of(const Msg *msg) {
    Sizes s = {.n = (uint64_t)msg->n};
    memcpy(s.mark, sizes_mark, sizeof s.mark);
    for (int i = 0; i < msg->n; i++) s.size[i] = msg->part[i]->n;
    return buf_copy(&s, offsetof(Sizes, size) + sizeof s.size[0] * s.n);
}

/* Sends one part, in pieces if it is large. Consumes b. */
static bool pieces_send(Socket *s, Buf *b, bool more) {
    if (s->is_inproc || b->n <= PART_MAX) return part_send(s, b, more);
    bool ok = true;
    for (size_t at = 0; ok && at < b->n; at += PART_MAX) {
        size_t n = b->n - at < PART_MAX ? b->n - at : PART_MAX;
        Buf *piece = buf_part(b, b->data + at, n);
        ok = part_send(s, piece, more || at + n < b->n);
    }
    buf_unref(&b);
    return ok;
}

/* Consumes msg. */
static bool parts_send(Socket *s, Msg *msg) {
    assert(msg->n > 0);
    bool ok = true, is_large = false;
    for (int i = 0; i < msg->n; i++) is_large = is_large || msg->part[i]->n > PART_MAX;
    if (is_large && !s->is_inproc) ok = part_send(s, sizes_of(msg), true);
    for (int i = 0; i < msg->n && ok; i++) {
        Buf *b = msg->part[i];
        msg->part[i] = NULL;
        ok = pieces_send(s, b, i + 1 < msg->n);
    }
    msg_fini(msg);
    return ok;
}

static void release_zmq(void *data, void *ctx) {
    (void)data;
    zmq_msg_close(ctx);
    free(ctx);
}

/* Turns a received part into a Buf; m is empty afterwards. Copies heads and small or misaligned
 * parts. */
static Buf *part_take(Socket *s, zmq_msg_t *m, bool is_head) {
    void *data = zmq_msg_data(m);
    size_t n = zmq_msg_size(m);
    Buf *b;
    if (s->is_inproc) {
        b = buf_ref(data);
        /* Pairs with the release in part_send: the sender wrote the bytes before we read them. */
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

/* Receives the next part of the message; false: there is none. Parts arrive together, so this
 * never waits. */
static bool part_next(Socket *s, zmq_msg_t *m) {
    int rc, more = 0;
    size_t n = sizeof more;
    if (zmq_getsockopt(s->zmq, ZMQ_RCVMORE, &more, &n) || !more) return false;
    do rc = zmq_msg_recv(m, s->zmq, 0);
    while (rc < 0 && errno == EINTR);
    return rc >= 0;
}

static bool sizes_read(zmq_msg_t *m, Sizes *out) {
    size_t n = zmq_msg_size(m), head = offsetof(Sizes, size);
    uint64_t total = 0;
    if (n < head || n > sizeof *out) return false;
    memcpy(out, zmq_msg_data(m), n);
    if (out->n == 0 || out->n > MAX_MSG_PARTS || n != head + out->n * sizeof out->size[0])
        return false;
    for (uint64_t i = 0; i < out->n; i++) {
        if (out->size[i] > MAX_MSG_BYTES) return false;
        total += out->size[i];
    }
    return total <= MAX_MSG_BYTES;
}

/* Receives a part of `size` bytes, whose first piece is in *m. NULL: the pieces do not match the
 * size. Allocates for the bytes received, not for the announced size. */
static Buf *pieces_take(Socket *s, zmq_msg_t *m, uint64_t size, bool is_head) {
    if (size <= PART_MAX) return zmq_msg_size(m) == size ? part_take(s, m, is_head) : NULL;
    Buf *b = buf_new(2 * PART_MAX);
    for (;;) {
        uint64_t left = size - b->n, n = zmq_msg_size(m);
        if (n != (left < PART_MAX ? left : PART_MAX)) break;
        if (b->n + n > b->cap) buf_reserve(b, left < b->cap ? left : b->cap);
        memcpy(b->data + b->n, zmq_msg_data(m), n);
        b->n += n;
        if (b->n == size) return b;
        if (!part_next(s, m)) break;
    }
    buf_unref(&b);
    return NULL;
}

/* Receives the rest of a message whose first part is in *m. False: malformed; msg is then empty. */
static bool parts_recv(Socket *s, zmq_msg_t *m, Msg *msg) {
    bool is_sized = !s->is_inproc && zmq_msg_size(m) >= offsetof(Sizes, size), more = true;
    is_sized = is_sized && !memcmp(zmq_msg_data(m), sizes_mark, sizeof sizes_mark);
    Sizes sizes = {.n = MAX_MSG_PARTS};
    bool fits = !is_sized || (sizes_read(m, &sizes) && part_next(s, m));
    msg->n = 0;
    while (fits && more) {
        bool is_head = msg->n == 0;
        Buf *b = NULL;
        if ((uint64_t)msg->n < sizes.n)
            b = is_sized ? pieces_take(s, m, sizes.size[msg->n], is_head)
                         : part_take(s, m, is_head);
        if (b) msg_push(msg, b);
        fits = b != NULL;
        more = fits && part_next(s, m);
    }
    fits = fits && (!is_sized || (uint64_t)msg->n == sizes.n);
    while (part_next(s, m)) continue; /* the rest of a message that does not fit */
    if (!fits) msg_fini(msg);
    return fits;
}

static bool msg_is_goodbye(const Msg *msg) { return msg->n == 1 && msg->part[0]->n == 0; }

static void goodbye(Msg *msg) { *msg = (Msg){.n = 1, .part = {buf_new(0)}}; }

/* ---- Hubs ---- */

typedef struct Peer {
    PeerId id;
    uint32_t route;          /* the ROUTER's own number for it */
    int fd;                  /* of its connection; -1 over inproc */
    bool is_lost;            /* its connection broke: gone when its messages are read */
    bool is_dropped;         /* by hub_drop: its messages are ignored */
    uint64_t unread, looked; /* hub_unread: bytes, and how many there were at the last look */
} Peer;

struct Hub {
    RingHub *ring; /* set: the fields below are unused */
    Socket socket;
    char *endpoint;
    char *lock_path; /* of ipc: PATH.lock, held while the hub lives; NULL: not ours */
    int lock_fd;
    Map by_route, by_id; /* -> Peer */
    PeerId last_id;
    size_t n_lost; /* peers with is_lost that are not yet reported */
};

/* For ipc. ZeroMQ would unlink another hub's socket and take its place; a lock and a trial
 * connection prevent that. */
static bool ipc_claim(Hub *hub, const char *endpoint, Err *err) {
    const char *path = endpoint + strlen("ipc://");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return err_set(err, ERR_IO, "cannot listen at ipc://%s: the path is longer than %zu bytes",
                       path, sizeof address.sun_path - 1);
    if (path[0] == '@' || !strcmp(path, "*")) return true; /* The kernel or ZeroMQ names it. */
    char lock[sizeof address.sun_path + 8];
    snprintf(lock, sizeof lock, "%s.lock", path);
    struct stat mine, there;
    for (;;) {
        hub->lock_fd = open(lock, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (hub->lock_fd < 0)
            return err_set(err, ERR_IO, "cannot listen at ipc://%s: %s", path, strerror(errno));
        if (flock(hub->lock_fd, LOCK_EX | LOCK_NB)) return holder_tell(endpoint, err);
        /* The last owner may have removed the file between our open and our lock. */
        if (!fstat(hub->lock_fd, &mine) && !stat(lock, &there) && mine.st_ino == there.st_ino)
            break;
        close(hub->lock_fd);
    }
    hub->lock_path = xstrdup(lock);
    if (lstat(path, &there)) return true;
    if (!S_ISSOCK(there.st_mode))
        return err_set(err, ERR_IO, "cannot listen at ipc://%s: it exists and is not a socket",
                       path);
    strcpy(address.sun_path, path);
    /* Does not wait. EAGAIN: a process listens there, and its queue is full. */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_served =
        fd >= 0 && (!connect(fd, (struct sockaddr *)&address, sizeof address) || errno == EAGAIN);
    if (fd >= 0) close(fd);
    return !is_served || holder_tell(endpoint, err);
}

static void ipc_release(Hub *hub) {
    if (hub->endpoint && hub->lock_path) unlink(hub->endpoint + strlen("ipc://"));
    if (hub->lock_path) unlink(hub->lock_path);
    free(hub->lock_path);
    if (hub->lock_fd >= 0) close(hub->lock_fd);
}

/* ZeroMQ reports tcp://[::ffff:127.0.0.1]:9000; users type tcp://127.0.0.1:9000. */
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
    if (has_scheme(endpoint, "ipc://") && !ipc_claim(hub, endpoint, err)) goto failed;
    if (!socket_open(&hub->socket, ZMQ_ROUTER, is_inproc, err)) goto failed;
    if (!is_inproc && !auth_hub(context(), hub->socket.zmq, has_scheme(endpoint, "ipc://"), err))
        goto failed;
    if (zmq_bind(hub->socket.zmq, endpoint)) {
        if (errno == EADDRINUSE)
            holder_tell(endpoint, err);
        else
            err_set(err, ERR_IO, "cannot listen at %s: %s", endpoint, zmq_strerror(errno));
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

/* Decodes a ROUTER's automatic identity, a zero byte and a number. False for names chosen by
 * peers. */
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

/* Handles the monitor's events. Must be called before a new peer is added, so that a reused
 * descriptor is not mistaken for the one that broke. */
static void hub_watch(Hub *hub) {
    for (int fd, kind; (kind = socket_event(&hub->socket, &fd));) {
        if (kind != ZMQ_EVENT_DISCONNECTED) continue;
        for (MapItem it = {0}; map_next(&hub->by_id, &it);) {
            Peer *p = it.value;
            if (p->fd != fd || p->is_lost) continue;
            p->is_lost = true;
            hub->n_lost++;
        }
    }
}

/* Forgets a peer whose connection broke, and returns its id; 0: there is none, or only dropped
 * ones. */
static PeerId hub_next_lost(Hub *hub) {
    while (hub->n_lost > 0) {
        Peer *lost = NULL;
        for (MapItem it = {0}; !lost && map_next(&hub->by_id, &it);)
            if (((Peer *)it.value)->is_lost) lost = it.value;
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
    for (int ignored = 0; !event && ignored < IGNORED_MAX; ignored++) {
        uint32_t route = 0;
        int rc = zmq_msg_recv(&m, hub->socket.zmq, ZMQ_DONTWAIT);
        if (rc < 0 && errno == EINTR) continue;
        if (rc < 0) { /* Nothing is left to read: peers whose connection broke are gone now. */
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
            p->is_dropped = true; /* Its record stays, so that it is not taken for a new peer. */
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
    if (!p->is_lost) p->is_lost = true, hub->n_lost++; /* No route: hub_recv will report it. */
    return false;
}

bool hub_has_bytes(const Hub *hub, PeerId peer, int within_ms) {
    const Peer *p = hub->ring ? NULL : map_get(&hub->by_id, peer);
    return p && !p->is_lost && is_arriving(p->fd, within_ms);
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

/* True if the socket takes more bytes, or is closed. */
static bool is_writable(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) != 0;
}

uint64_t hub_unread(Hub *hub, PeerId peer, uint64_t bytes) {
    Peer *p = hub->ring || hub->socket.is_inproc ? NULL : map_get(&hub->by_id, peer);
    if (!p || p->is_lost || p->is_dropped) return 0;
    p->unread += bytes;
    if (p->unread - p->looked < UNREAD_LOOK) return p->unread;
    if (is_writable(p->fd)) p->unread = 0;
    p->looked = p->unread;
    return p->unread;
}

void hub_disconnect(Hub *hub, PeerId peer) {
    hub_drop(hub, peer);
    Peer *p = hub->ring ? NULL : map_get(&hub->by_id, peer);
    if (!p || p->fd < 0) return;
    hub_watch(hub); /* so that the descriptor is not another peer's by now */
    if (!p->is_lost) shutdown(p->fd, SHUT_RDWR);
}

bool hub_wait(Hub *hub, int timeout_ms) {
    if (hub->ring) return ring_hub_wait(hub->ring, timeout_ms);
    return hub->n_lost > 0 || socket_wait(&hub->socket, timeout_ms);
}

void hub_wake(Hub *hub) {
    uint64_t one = 1;
    if (hub->ring)
        ring_hub_wake(hub->ring);
    else
        while (write(hub->socket.wake_fd, &one, sizeof one) < 0 && errno == EINTR) continue;
}

/* ZeroMQ closes in the background, but the endpoint must be free when this returns. */
static void hub_stop_listening(Hub *hub) {
    if (zmq_unbind(hub->socket.zmq, hub->endpoint)) return;
    zmq_pollitem_t item = {.socket = hub->socket.monitor, .events = ZMQ_POLLIN};
    while (hub->socket.monitor && zmq_poll(&item, 1, LINGER_MS) > 0)
        for (int fd, kind; (kind = socket_event(&hub->socket, &fd));)
            if (kind == ZMQ_EVENT_CLOSED) return;
}

void hub_close(Hub **hub) {
    Hub *h = *hub;
    *hub = NULL;
    if (!h) return;
    if (h->ring) {
        ring_hub_close(&h->ring);
    } else {
        for (MapItem it = {0}; map_next(&h->by_id, &it); free(it.value)) {
            Msg bye;
            goodbye(&bye);
            if (((Peer *)it.value)->is_dropped)
                msg_fini(&bye);
            else
                peer_send(h, it.value, &bye);
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
    RingLink *ring; /* set: the fields below are unused */
    Socket socket;
    bool is_gone;
    Err why;        /* why it is gone, if known; else the code is ERR_NONE */
    char *endpoint; /* ipc: of a socket that does not exist yet ... */
    Msg *queued;    /* ... and the messages that wait for it */
    int n_queued;
    int64_t looked_ms;
};

/* Connects over ipc once a process of this user listens there, and then sends the queued messages.
 * Looks at most once in LOOK_MS. */
static void link_look(Link *l) {
    if (!l->endpoint || l->is_gone || now_ms() - l->looked_ms < LOOK_MS) return;
    l->looked_ms = now_ms();
    int met = auth_meet(l->endpoint + strlen("ipc://"), &l->why);
    if (met == 0) return;
    if (met > 0 && zmq_connect(l->socket.zmq, l->endpoint)) {
        err_set(&l->why, ERR_IO, "cannot connect to %s: %s", l->endpoint, zmq_strerror(errno));
        met = -1;
    }
    l->is_gone = met < 0;
    free(l->endpoint);
    l->endpoint = NULL;
    for (int i = 0; i < l->n_queued; i++)
        if (l->is_gone)
            msg_fini(&l->queued[i]);
        else
            parts_send(&l->socket, &l->queued[i]);
    l->n_queued = 0;
}

/* The longest wait until the next look. */
static int look_timeout(const Link *l, int timeout_ms) {
    return l->endpoint && (timeout_ms < 0 || timeout_ms > LOOK_MS) ? LOOK_MS : timeout_ms;
}

/* Consumes msg. */
static void link_keep(Link *l, Msg *msg) {
    l->queued = xrealloc(l->queued, (size_t)(l->n_queued + 1) * sizeof *l->queued);
    msg_move(&l->queued[l->n_queued++], msg);
}

static bool link_connect(Link *link, const char *endpoint, Err *err) {
    bool is_ipc = has_scheme(endpoint, "ipc://");
    TRY(auth_link(link->socket.zmq, is_ipc, err));
    if (!is_ipc)
        return !zmq_connect(link->socket.zmq, endpoint) ||
               err_set(err, ERR_IO, "cannot connect to %s: %s", endpoint, zmq_strerror(errno));
    link->endpoint = xstrdup(endpoint);
    link_look(link);
    if (link->is_gone) *err = link->why;
    return !link->is_gone;
}

static Link *open_link(const char *endpoint, RingHub *beside, Err *err) {
    TRY(scheme_is_known(endpoint, err));
    Link *link = xcalloc(1, sizeof *link);
    link->socket.wake_fd = -1;
    link->looked_ms = -LOOK_MS;
    if (ring_name(endpoint)) {
        if ((link->ring = ring_link_open(ring_name(endpoint), beside, err))) return link;
        free(link);
        return NULL;
    }
    bool is_inproc = has_scheme(endpoint, "inproc://");
    if (is_inproc && !inproc_is_bound(endpoint))
        err_set(err, ERR_IO, "no process listens at %s", endpoint);
    else if (socket_open(&link->socket, ZMQ_DEALER, is_inproc, err) &&
             (is_inproc ? !zmq_connect(link->socket.zmq, endpoint)
                        : link_connect(link, endpoint, err)))
        return link;
    socket_close(&link->socket);
    free(link->endpoint);
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
        if (l->is_gone || l->endpoint)
            msg_fini(&bye);
        else
            parts_send(&l->socket, &bye);
        socket_close(&l->socket);
        for (int i = 0; i < l->n_queued; i++) msg_fini(&l->queued[i]);
        free(l->queued);
        free(l->endpoint);
    }
    free(l);
}

bool link_send(Link *link, Msg *msg) {
    if (link->ring) return ring_link_send(link->ring, msg);
    link_look(link);
    if (link->endpoint && !link->is_gone) {
        link_keep(link, msg);
        return true;
    }
    if (!link->is_gone && parts_send(&link->socket, msg)) return true;
    msg_fini(msg);
    return false;
}

void link_hold(Link *link, bool is_held) {
    if (link->ring) ring_link_hold(link->ring, is_held);
}

static void link_refused(Link *l) {
    err_set(&l->why, ERR_GONE,
            "the other end refused the connection: it has another token, or too many connections");
    const char *given = getenv("GT_TOKEN");
    char file[ENDPOINT_MAX];
    auth_token_file(file);
    if (*file)
        err_hint(&l->why, "the token is from '%.100s': is that the file of this dispatcher?", file);
    else if (given && *given)
        err_hint(&l->why, "GT_TOKEN is set: unset it if it is not the dispatcher's token");
    else
        err_hint(&l->why,
                 "set GT_TOKEN, or pass -d @FILE, the file of gt-dispatcher --endpoint-file");
}

const Err *link_error(const Link *link) { return link->why.code ? &link->why : NULL; }

int link_recv(Link *link, Msg *msg) {
    msg->n = 0;
    if (link->ring) return ring_link_recv(link->ring, msg);
    link_look(link);
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
        if (link->socket.is_refused) link_refused(link);
    }
    zmq_msg_close(&m);
    if (event < 0) {
        link->is_gone = true;
        msg_fini(msg);
    }
    return event;
}

bool link_has_bytes(const Link *link, int within_ms) {
    return !link->ring && !link->is_gone && is_arriving(link->socket.fd, within_ms);
}

bool link_is_connected(const Link *link) { return link->ring || link->socket.is_connected; }

bool link_wait(Link *link, int timeout_ms) {
    if (link->ring) return ring_link_wait(link->ring, timeout_ms);
    if (link->is_gone || link->socket.has_broken) return true;
    return socket_wait(&link->socket, look_timeout(link, timeout_ms));
}

bool net_wait(Link *link, Hub *hub, int timeout_ms) {
    if (link->ring) return ring_wait(link->ring, hub->ring, timeout_ms);
    Socket *both[] = {&link->socket, &hub->socket};
    if (link->is_gone || link->socket.has_broken || hub->n_lost > 0) return true;
    return sockets_wait(both, 2, look_timeout(link, timeout_ms));
}
