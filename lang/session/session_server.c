/* session_server.c: the server of a session: relays between a pseudo terminal and the terminals
 * that are attached. It always reads what the program writes, so that no terminal can stop the
 * program: one that is too slow is detached. The latest output is kept, and shown to a terminal
 * that attaches.
 * SPDX-License-Identifier: MIT */
#include "lang/session/session_wire.h"
#include "runtime/base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum {
    PEERS_MAX = 16,
    KEPT_MAX = 1 << 16,   /* bytes of output that are kept for a redraw */
    INPUT_MAX = 1 << 16,  /* keys that the program has not read; then terminals wait */
    AWAIT_MS = 5000,      /* how long the end of the program waits for the first terminal */
    FAREWELL_MS = 2000,   /* how long the last packets may take */
    TERMINAL_END_MS = 300 /* how long output may follow the end of the program */
};

typedef struct Peer {
    int fd;
    Bytes in, out;
    size_t sent;                 /* bytes of out */
    bool is_attached, is_ending; /* ending: closed once out is sent, or after ends_ms */
    int64_t ends_ms;
    PacketSize size;
} Peer;

typedef struct Server {
    SessionServer c;
    int signals;
    Peer peer[PEERS_MAX];
    int n;
    char kept[KEPT_MAX]; /* a ring: the byte number i of all is at i % KEPT_MAX */
    uint64_t n_written;
    Bytes input; /* not yet taken by the pseudo terminal */
    PacketSize size;
    time_t since;
    bool has_ended, was_attached, is_over;
    int32_t code;
    int64_t ends_ms;
} Server;

/* ---- output ---- */

static void keep(Server *s, const char *data, size_t n) {
    for (size_t i = 0; i < n; i++) s->kept[s->n_written++ % KEPT_MAX] = data[i];
}

/* The last packet of a peer: replaces what it has not begun to receive. */
static void say_bye(Peer *p, PacketType type, const void *data, size_t n) {
    p->is_ending = true;
    p->is_attached = false;
    p->ends_ms = now_ms() + FAREWELL_MS;
    packet_add(&p->out, type, data, n);
}

/* Frees the packets that are sent. */
static void compact(Peer *p) {
    Packet k;
    bool is_foreign;
    size_t at = 0, next = 0;
    while (packet_next(&p->out, &next, &k, &is_foreign) && next <= p->sent) at = next;
    packet_drop(&p->out, at);
    p->sent -= at;
}

static void add_output(Peer *p, const char *data, size_t n) {
    static const char slow[] = "this terminal takes output too slowly";
    if (p->out.n > SESSION_QUEUE_MAX / 2) compact(p);
    if (p->out.n + n > SESSION_QUEUE_MAX) {
        Packet k;
        bool is_foreign;
        size_t at = 0; /* the end of the packet that is partly sent */
        if (p->sent) packet_next(&p->out, &at, &k, &is_foreign);
        p->out.n = at;
        say_bye(p, PACKET_BYE, slow, sizeof slow - 1);
        p->ends_ms = INT64_MAX; /* it may read on at any time, and has little left to read */
        return;
    }
    for (size_t at = 0; at < n; at += PACKET_MAX)
        packet_add(&p->out, PACKET_OUTPUT, data + at, n - at < PACKET_MAX ? n - at : PACKET_MAX);
}

/* True if the output from byte `at` on clears the line of the cursor. */
static bool clears_line(const Server *s, uint64_t at) {
    static const char clear[] = "\033[K";
    for (uint64_t i = 0; clear[i]; i++)
        if (at + i >= s->n_written || s->kept[(at + i) % KEPT_MAX] != clear[i]) return false;
    return true;
}

/* Shows the last lines of the output, as many as the terminal has. A screen that was drawn by a
 * program in front, such as a pager, is not restored: that program is asked to draw it anew. Of a
 * progress line only the last state is shown: the terminal may be narrower than that of the earlier
 * ones. */
static void redraw(Server *s, Peer *p) {
    uint64_t n = s->n_written < KEPT_MAX ? s->n_written : KEPT_MAX, begin = s->n_written - n;
    int lines = 0;
    for (uint64_t i = s->n_written; i-- > begin;) {
        if (s->kept[i % KEPT_MAX] != '\n' || ++lines < p->size.rows) continue;
        begin = i + 1;
        break;
    }
    if (s->n_written > KEPT_MAX && lines < p->size.rows) /* the first line is not complete */
        while (begin < s->n_written && !strchr("\r\n", s->kept[begin++ % KEPT_MAX])) {}
    Bytes b = {0};
    size_t line = 0; /* its begin in b */
    for (uint64_t i = begin; i < s->n_written; i++) {
        char c = s->kept[i % KEPT_MAX];
        if (c == '\r' && clears_line(s, i + 1)) b.n = line;
        bytes_putc(&b, c);
        if (c == '\n') line = b.n;
    }
    if (b.n) add_output(p, b.data, b.n);
    bytes_fini(&b);
    pid_t front = tcgetpgrp(s->c.terminal);
    if (front > 0 && front != s->c.program) kill(-front, SIGWINCH);
}

/* Keeps output, and sends it to all terminals. */
static void show(Server *s, const char *data, size_t n) {
    keep(s, data, n);
    for (int i = 0; i < s->n; i++)
        if (s->peer[i].is_attached) add_output(&s->peer[i], data, n);
}

/* True if more may follow at once. */
static bool read_terminal(Server *s) {
    char chunk[1 << 14];
    ssize_t n = read(s->c.terminal, chunk, sizeof chunk);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) s->is_over = true;
        return false;
    }
    show(s, chunk, (size_t)n);
    return true;
}

/* ---- terminals ---- */

/* The session is as large as the smallest terminal that is attached. */
static void resize(Server *s) {
    PacketSize least = {0, 0};
    for (int i = 0; i < s->n; i++) {
        const Peer *p = &s->peer[i];
        if (!p->is_attached) continue;
        if (!least.rows || p->size.rows < least.rows) least.rows = p->size.rows;
        if (!least.columns || p->size.columns < least.columns) least.columns = p->size.columns;
    }
    if (!least.rows || (least.rows == s->size.rows && least.columns == s->size.columns)) return;
    s->size = least;
    struct winsize w = {.ws_row = least.rows, .ws_col = least.columns};
    ioctl(s->c.terminal, TIOCSWINSZ, &w);
}

/* Resident bytes of the program. */
static int64_t memory_of(pid_t pid) {
    char path[64];
    long long pages = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%*d %lld", &pages) != 1) pages = 0;
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static void tell_status(Server *s, Peer *p) {
    PacketStatus status = {s->since, memory_of(s->c.program), s->c.program, 0};
    Bytes b = {0};
    for (int i = 0; i < s->n; i++) status.attached += s->peer[i].is_attached;
    bytes_add(&b, &status, sizeof status);
    bytes_add(&b, s->c.running, strnlen(s->c.running, 1000));
    packet_add(&p->out, PACKET_STATUS, b.data, b.n);
    bytes_fini(&b);
}

static void detach_all(Server *s) {
    for (int i = 0; i < s->n; i++)
        if (s->peer[i].is_attached) say_bye(&s->peer[i], PACKET_BYE, "", 0);
}

static void take_size(Peer *p, const Packet *k) {
    if (k->n != sizeof p->size) return;
    memcpy(&p->size, k->data, sizeof p->size);
    if (!p->size.rows) p->size.rows = 24;
    if (!p->size.columns) p->size.columns = 80;
}

/* Keys wait until the program reads. Ctrl-C does not wait behind them: it drops them. */
static void take_input(Server *s, const Packet *k) {
    const char *cancel = s->input.n ? memrchr(k->data, 3, k->n) : NULL;
    size_t from = cancel ? (size_t)(cancel - k->data) : 0;
    if (cancel) s->input.n = 0;
    bytes_add(&s->input, k->data + from, k->n - from);
}

static void take_packet(Server *s, Peer *p, const Packet *k) {
    switch (k->type) {
    case PACKET_ATTACH:
        take_size(p, k);
        p->is_attached = s->was_attached = true;
        resize(s);
        redraw(s, p);
        if (s->has_ended) say_bye(p, PACKET_EXIT, &s->code, sizeof s->code);
        break;
    case PACKET_SIZE:
        take_size(p, k);
        resize(s);
        break;
    case PACKET_INPUT:
        if (p->is_attached) take_input(s, k);
        break;
    case PACKET_DETACH: detach_all(s); break;
    case PACKET_QUERY: tell_status(s, p); break;
    default: p->is_ending = true; /* not a packet for a server */
    }
}

/* False if the peer has gone, or sends what is no packet. */
static bool read_peer(Server *s, Peer *p) {
    Packet k;
    size_t at = 0;
    bool is_foreign, is_there = packet_read(p->fd, &p->in);
    while (!p->is_ending && packet_next(&p->in, &at, &k, &is_foreign) && !is_foreign)
        take_packet(s, p, &k);
    if (is_foreign && !p->is_ending) {
        static const char why[] = "the session runs another version of gtsh";
        say_bye(p, PACKET_BYE, why, sizeof why - 1);
    }
    packet_drop(&p->in, p->is_ending ? p->in.n : at);
    return is_there;
}

static void close_peer(Server *s, int i) {
    close(s->peer[i].fd);
    bytes_fini(&s->peer[i].in);
    bytes_fini(&s->peer[i].out);
    s->peer[i] = s->peer[--s->n];
    resize(s);
}

static void accept_peer(Server *s) {
    int fd = accept4(s->c.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    Peer p = {.fd = fd};
    if (!packet_is_ours(fd)) {
        close(fd);
        return;
    }
    for (int i = 0; i < s->n && s->n == PEERS_MAX; i++)
        if (s->peer[i].is_ending) close_peer(s, i);
    if (s->n == PEERS_MAX) {
        static const char full[] = "the session has too many terminals";
        say_bye(&p, PACKET_BYE, full, sizeof full - 1);
        packet_flush(fd, &p.out, &p.sent);
        bytes_fini(&p.out);
        close(fd);
        return;
    }
    s->peer[s->n++] = p;
}

/* ---- the loop ---- */

static void write_input(Server *s) {
    ssize_t n = write(s->c.terminal, s->input.data, s->input.n);
    if (n > 0) packet_drop(&s->input, (size_t)n);
    if (n < 0 && errno != EAGAIN && errno != EINTR) s->input.n = 0; /* nothing reads any more */
}

/* The program was ended by a signal. By Ctrl-C it ended as asked. */
static void show_signal(Server *s, int number) {
    char text[200];
    if (number == SIGINT) return;
    snprintf(text, sizeof text, "\r\n[the session has ended by signal %d (%s)]\r\n", number,
             strsignal(number));
    show(s, text, strlen(text));
}

/* The program has ended: takes its last output and says so to all. */
static void end_program(Server *s, int status) {
    int64_t until = now_ms() + TERMINAL_END_MS;
    struct pollfd p = {.fd = s->c.terminal, .events = POLLIN};
    s->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    s->has_ended = true;
    while (!s->is_over && now_ms() < until && poll(&p, 1, 0) > 0) read_terminal(s);
    if (WIFSIGNALED(status)) show_signal(s, WTERMSIG(status));
    for (int i = 0; i < s->n; i++)
        if (s->peer[i].is_attached) say_bye(&s->peer[i], PACKET_EXIT, &s->code, sizeof s->code);
    s->ends_ms = now_ms() + (s->was_attached || !s->c.is_awaited ? FAREWELL_MS : AWAIT_MS);
}

static void on_signals(Server *s) {
    struct signalfd_siginfo info;
    int status;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGTERM && !s->has_ended) kill(s->c.program, SIGTERM);
    if (!s->has_ended && waitpid(s->c.program, &status, WNOHANG) == s->c.program)
        end_program(s, status);
}

/* Closes peers that have got all, or had the time for it. Returns the ms until the next one is
 * due, or -1. */
static int close_ended(Server *s) {
    int64_t now = now_ms(), next = s->has_ended ? s->ends_ms : INT64_MAX;
    for (int i = s->n; i-- > 0;) {
        Peer *p = &s->peer[i];
        bool ok = packet_flush(p->fd, &p->out, &p->sent);
        if (!ok || (p->is_ending && (!p->out.n || now >= p->ends_ms)))
            close_peer(s, i);
        else if (p->is_ending && p->ends_ms < next)
            next = p->ends_ms;
    }
    return next == INT64_MAX ? -1 : next > now ? (int)(next - now) : 0;
}

static bool is_done(const Server *s) {
    if (!s->has_ended) return false;
    return now_ms() >= s->ends_ms || (s->n == 0 && (s->was_attached || !s->c.is_awaited));
}

static void serve(Server *s) {
    while (!is_done(s)) {
        struct pollfd f[3 + PEERS_MAX];
        int wait_ms = close_ended(s), n = s->n;
        if (is_done(s)) return;
        short reads = s->is_over ? 0 : POLLIN, writes = s->input.n && reads ? POLLOUT : 0;
        f[0] = (struct pollfd){.fd = s->signals, .events = POLLIN};
        f[1] = (struct pollfd){.fd = s->c.listener, .events = POLLIN};
        f[2] = (struct pollfd){.fd = reads ? s->c.terminal : -1, .events = reads | writes};
        for (int i = 0; i < n; i++) {
            const Peer *p = &s->peer[i];
            short in = s->input.n < INPUT_MAX ? POLLIN : 0, out = p->out.n ? POLLOUT : 0;
            f[3 + i] = (struct pollfd){.fd = p->fd, .events = p->is_ending ? out : in | out};
        }
        if (poll(f, 3 + (nfds_t)n, wait_ms) < 0) continue;
        if (f[2].revents & POLLOUT) write_input(s);
        if (f[2].revents & (POLLIN | POLLHUP)) read_terminal(s);
        for (int i = n; i-- > 0;)
            if (f[3 + i].revents & (POLLIN | POLLHUP | POLLERR) && !read_peer(s, &s->peer[i]))
                close_peer(s, i);
        if (f[0].revents) on_signals(s);
        if (f[1].revents) accept_peer(s);
    }
}

void session_serve(const SessionServer *config) {
    Server *s = xcalloc(1, sizeof *s);
    sigset_t mask;
    s->c = *config;
    s->since = time(NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    s->signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTTOU, SIGTTIN, SIGTSTP};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    fcntl(s->c.terminal, F_SETFL, O_NONBLOCK);
    on_signals(s); /* it may have ended already */
    serve(s);
    unlink(s->c.path);
    _exit(0);
}
