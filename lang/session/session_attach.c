/* session_attach.c: a terminal that is attached to a session: passes keys and output on until the
 * detach key, the end of the program, or the end of the terminal.
 * SPDX-License-Identifier: MIT */
#include "lang/session/session_wire.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

typedef struct Attached {
    int fd;
    const char *name;
    int key; /* detaches; -1: none */
    Bytes in, out;
    size_t sent;
    bool is_done, is_detached;
    char why[200]; /* the server's reason, or "" */
    int code;
} Attached;

static const int signals[] = {SIGWINCH, SIGHUP, SIGTERM, SIGINT};
static volatile sig_atomic_t resized, ended_by;

static void on_resize(int number) {
    (void)number;
    resized = 1;
}

static void on_end(int number) { ended_by = number; }

/* GT_DETACH_KEY: ^X, a letter (with Ctrl), or none; else Ctrl-\. */
static int detach_key(char name[16]) {
    const char *s = getenv("GT_DETACH_KEY");
    int c = '\\';
    if (s && !strcmp(s, "none")) {
        snprintf(name, 16, "no key");
        return -1;
    }
    if (s && s[0] == '^' && s[1] && !s[2]) c = s[1];
    if (s && s[0] && !s[1]) c = s[0];
    if (c >= 'a' && c <= 'z') c -= 'a' - 'A';
    if (c < '@' || c > '_') c = '\\';
    snprintf(name, 16, "Ctrl-%c", c);
    return c & 0x1f;
}

static void write_all(const char *data, size_t n) {
    while (n) {
        ssize_t k = write(STDOUT_FILENO, data, n);
        if (k < 0 && errno == EINTR && !ended_by) continue;
        if (k <= 0) return;
        data += k;
        n -= (size_t)k;
    }
}

static void send_size(Attached *a, PacketType type) {
    PacketSize size = session_size();
    packet_add(&a->out, type, &size, sizeof size);
}

static void take_packet(Attached *a, const Packet *k) {
    int32_t code = 0;
    switch (k->type) {
    case PACKET_OUTPUT: write_all(k->data, k->n); break;
    case PACKET_EXIT:
        if (k->n == sizeof code) memcpy(&code, k->data, sizeof code);
        a->code = code;
        a->is_done = true;
        break;
    case PACKET_BYE:
        snprintf(a->why, sizeof a->why, "%.*s", (int)k->n, k->data);
        a->is_done = a->is_detached = true;
        break;
    default: break;
    }
}

static void read_server(Attached *a) {
    Packet k;
    size_t at = 0;
    bool is_foreign, is_there = packet_read(a->fd, &a->in);
    while (!a->is_done && packet_next(&a->in, &at, &k, &is_foreign)) take_packet(a, &k);
    packet_drop(&a->in, at);
    if (is_there || a->is_done) return;
    a->is_done = true;
    a->code = 69;
    snprintf(a->why, sizeof a->why, "its server has ended");
}

/* Keys that the server does not take are dropped, with a bell, so that the detach key works. */
static void read_keys(Attached *a) {
    char keys[4096];
    ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
    if (n < 0 && errno == EINTR) return;
    const char *detach = n > 0 && a->key >= 0 ? memchr(keys, a->key, (size_t)n) : NULL;
    if (n <= 0 || detach) a->is_done = a->is_detached = true;
    if (detach) n = detach - keys;
    if (n <= 0) return;
    if (a->out.n > SESSION_QUEUE_MAX)
        write_all("\a", 1);
    else
        packet_add(&a->out, PACKET_INPUT, keys, (size_t)n);
}

/* Waits for input; also returns at a signal, even one that came before the wait. */
static bool await(struct pollfd *f, nfds_t n) {
    sigset_t ours, before;
    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(&ours, signals[i]);
    sigprocmask(SIG_BLOCK, &ours, &before);
    bool ok = !resized && !ended_by && ppoll(f, n, NULL, &before) >= 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return ok;
}

static void relay(Attached *a) {
    send_size(a, PACKET_ATTACH);
    while (!a->is_done && !ended_by) {
        if (resized) {
            resized = 0;
            send_size(a, PACKET_SIZE);
        }
        if (!packet_flush(a->fd, &a->out, &a->sent)) a->out.n = a->sent = 0;
        struct pollfd f[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = a->fd, .events = POLLIN | (a->out.n ? POLLOUT : 0)}};
        if (!await(f, 2)) continue;
        if (f[1].revents & (POLLIN | POLLHUP | POLLERR)) read_server(a);
        if (f[0].revents && !a->is_done) read_keys(a);
    }
    packet_flush(a->fd, &a->out, &a->sent);
}

/* Ends what the program may have switched on: bracketed paste, a hidden cursor, colours. */
static void reset_screen(void) {
    const char *term = getenv("TERM");
    if (term && *term && strcmp(term, "dumb")) write_all("\033[?2004l\033[?25h\033[0m", 18);
}

int session_attach(int fd, const char *name) {
    char key[16];
    Attached a = {.fd = fd, .name = name, .key = detach_key(key)};
    struct termios before, raw;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction act = {.sa_handler = signals[i] == SIGWINCH ? on_resize : on_end};
        sigaction(signals[i], &act, NULL);
    }
    if (tcgetattr(STDIN_FILENO, &before)) return 1;
    raw = before;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    fprintf(stderr, "[session %s; %s detaches]\r\n", name, key);
    relay(&a);
    if (a.is_detached || ended_by || a.why[0] || a.code > 128) reset_screen();
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    if (a.is_detached && a.why[0])
        fprintf(stderr, "\n[detached from session %s: %s; gtsh --session %s attaches again]\n",
                name, a.why, name);
    else if (a.is_detached)
        fprintf(stderr, "\n[detached from session %s; gtsh --session %s attaches again]\n", name,
                name);
    else if (a.why[0])
        fprintf(stderr, "\ngtsh: session %s is lost: %s\n", name, a.why);
    close(fd);
    bytes_fini(&a.in);
    bytes_fini(&a.out);
    return ended_by ? 128 + ended_by : a.code;
}
