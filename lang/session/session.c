/* session.c: finds, starts and lists sessions.
 * SPDX-License-Identifier: MIT */
#include "lang/session/session_wire.h"
#include "runtime/base/clock.h"
#include "runtime/net/endpoint.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

enum { ANSWER_MS = 2000 }; /* how long a server may take to answer */

#define PREFIX "session."

/* ---- names and sockets ---- */

static bool is_name(const char *s) {
    size_t n = strlen(s);
    if (n == 0 || n > SESSION_NAME_MAX || (!isalnum((unsigned char)s[0]) && s[0] != '_'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("_-.", s[i])) return false;
    return true;
}

/* The name of the session that this process runs in, or NULL. */
static const char *own_name(void) {
    const char *s = getenv("GT_SESSION");
    return s && is_name(s) ? s : NULL;
}

/* The private directory of sockets, without a slash at its end. */
static bool find_directory(char dir[ENDPOINT_MAX], Err *err) {
    Endpoint local;
    TRY(endpoint_local(&local, err));
    snprintf(dir, ENDPOINT_MAX, "%.200s", local.text + strlen("ipc://"));
    *strrchr(dir, '/') = '\0';
    return true;
}

static bool find_address(const char *name, struct sockaddr_un *out, Err *err) {
    char dir[ENDPOINT_MAX];
    TRY(find_directory(dir, err));
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(out->sun_path, sizeof out->sun_path, "%s/" PREFIX "%s", dir, name);
    if (n < (int)sizeof out->sun_path) return true;
    err_set(err, ERR_ARG, "the path of the socket in '%s' is too long", dir);
    return err_hint(err, "a shorter XDG_RUNTIME_DIR, or a shorter name");
}

/* A connection to the session's server, or -1 if none listens there. A socket that a server left
 * behind is removed. */
static int connect_to(const struct sockaddr_un *address) {
    struct timeval limit = {.tv_sec = ANSWER_MS / 1000}; /* the queue may be full */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    bool is_there = !connect(fd, (const struct sockaddr *)address, sizeof *address);
    if (is_there && packet_is_ours(fd)) return fd;
    if (!is_there && errno == ECONNREFUSED) unlink(address->sun_path);
    close(fd);
    return -1;
}

/* Processes that look for a session or start one do so one after the other. */
static int lock_sessions(Err *err) {
    char dir[ENDPOINT_MAX], path[ENDPOINT_MAX + 16];
    if (!find_directory(dir, err)) return -1;
    snprintf(path, sizeof path, "%s/sessions.lock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && !flock(fd, LOCK_EX)) return fd;
    err_set(err, ERR_IO, "cannot lock '%s': %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

static void unlock_sessions(int fd) {
    flock(fd, LOCK_UN);
    close(fd);
}

/* ---- starting ---- */

static int listen_at(const struct sockaddr_un *address, Err *err) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t before = umask(0177);
    bool ok =
        fd >= 0 && !bind(fd, (const struct sockaddr *)address, sizeof *address) && !listen(fd, 16);
    umask(before);
    if (ok) return fd;
    err_set(err, ERR_IO, "cannot listen at '%s': %s", address->sun_path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

/* Closes what the server does not need: another process may wait for the end of a pipe. */
static void close_others(SessionServer *s) {
    enum { FIRST = 3, SECOND, REST };
    s->listener = fcntl(s->listener, F_DUPFD, REST);
    s->terminal = fcntl(s->terminal, F_DUPFD, REST);
    dup2(s->listener, FIRST);
    dup2(s->terminal, SECOND);
    s->listener = FIRST, s->terminal = SECOND;
    close_range(REST, ~0U, 0);
}

static void to_null(void) {
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++) dup2(null, i);
    if (null > 2) close(null);
}

/* In the server's process: starts the program, which returns, and serves. */
static void become_server(const SessionConfig *config, SessionServer *s, int slave) {
    setsid();
    s->program = fork();
    if (s->program == 0) {
        close(s->listener);
        close(s->terminal);
        signal(SIGHUP, SIG_DFL); /* not that of nohup: the session's end ends the program */
        login_tty(slave);
        setenv("GT_SESSION", config->name, 1);
        return;
    }
    close(slave);
    to_null();
    close_others(s);
    if (s->program < 0) {
        unlink(s->path);
        _exit(1);
    }
    session_serve(s);
}

/* Returns true in the program's process. */
static bool start(const SessionConfig *config, const struct sockaddr_un *address, bool has_terminal,
                  Err *err) {
    SessionServer s = {
        .path = address->sun_path, .running = config->running, .is_awaited = has_terminal};
    struct termios mode;
    PacketSize size = session_size();
    struct winsize w = {.ws_row = size.rows, .ws_col = size.columns};
    int slave;
    bool has_mode = !tcgetattr(STDIN_FILENO, &mode);
    if ((s.listener = listen_at(address, err)) < 0) return false;
    if (openpty(&s.terminal, &slave, NULL, has_mode ? &mode : NULL, &w)) {
        err_set(err, ERR_IO, "no pseudo terminal: %s", strerror(errno));
        close(s.listener);
        unlink(s.path);
        return false;
    }
    fcntl(s.terminal, F_SETFD, FD_CLOEXEC);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        become_server(config, &s, slave);
        return true;
    }
    if (pid < 0) {
        err_set(err, ERR_IO, "cannot start a process: %s", strerror(errno));
        unlink(s.path);
    }
    close(s.listener);
    close(s.terminal);
    close(slave);
    return false;
}

static bool refuse(int *code, LangError *e, const Err *err) {
    error_usage(e, "%s", err->text);
    if (err->hint[0]) error_hint(e, "%s", err->hint);
    *code = e->exit_code;
    return false;
}

/* True if the session may be entered from here. */
static bool may_enter(const SessionConfig *config, bool has_terminal, bool is_there, Err *err) {
    if (!is_there) {
        if (has_terminal || config->has_program) return true;
        err_set(err, ERR_ARG, "--session at the prompt needs a terminal");
        return err_hint(err, "gtsh --session %s train.gt starts a program without one",
                        config->name);
    }
    if (!has_terminal) {
        err_set(err, ERR_ARG, "session '%s' runs already, and only a terminal attaches to it",
                config->name);
        return err_hint(err, "gtsh --sessions lists what runs");
    }
    if (!config->has_program && !config->has_options) return true;
    err_set(err, ERR_ARG, "session '%s' runs already: it takes no program and no options",
            config->name);
    return err_hint(err, "gtsh --session %s attaches to it; another name starts another",
                    config->name);
}

bool session_enter(const SessionConfig *config, int *code, LangError *e) {
    struct sockaddr_un address;
    Err err = {0};
    bool has_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!is_name(config->name)) {
        err_set(&err, ERR_ARG, "'%.40s' is not a name for a session", config->name);
        err_hint(&err, "up to %d letters, digits and _ - .", SESSION_NAME_MAX);
        return refuse(code, e, &err);
    }
    if (has_terminal && own_name()) {
        err_set(&err, ERR_ARG, "this terminal is in session '%s' already", own_name());
        err_hint(&err, ":detach leaves it");
        return refuse(code, e, &err);
    }
    if (!find_address(config->name, &address, &err)) return refuse(code, e, &err);
    int lock = lock_sessions(&err);
    if (lock < 0) return refuse(code, e, &err);
    int fd = connect_to(&address);
    bool is_there = fd >= 0, ok = may_enter(config, has_terminal, is_there, &err);
    if (ok && !is_there && start(config, &address, has_terminal, &err)) {
        close(lock); /* the parent unlocks it */
        return true;
    }
    if (ok && !is_there && err.code == ERR_NONE) fd = connect_to(&address);
    unlock_sessions(lock);
    ok = ok && err.code == ERR_NONE;
    if (ok && has_terminal && fd >= 0) {
        *code = session_attach(fd, config->name);
        return false;
    }
    if (fd >= 0) close(fd);
    if (!ok) return refuse(code, e, &err);
    fprintf(stderr, "session %s runs %s; gtsh --session %s attaches to it\n", config->name,
            config->running, config->name);
    *code = 0;
    return false;
}

/* ---- asking ---- */

/* Sends a packet and waits up to ANSWER_MS for the answer. False: there is none, or it is from
 * another version. */
static bool ask(int fd, PacketType type, Bytes *in, Packet *answer) {
    Bytes out = {0};
    size_t sent = 0, at = 0;
    bool is_foreign = false, ok;
    packet_add(&out, type, NULL, 0);
    ok = packet_flush(fd, &out, &sent);
    bytes_fini(&out);
    for (int64_t until = now_ms() + ANSWER_MS, now; ok && (now = now_ms()) < until;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, (int)(until - now)) <= 0) continue;
        bool is_there = packet_read(fd, in);
        if (packet_next(in, &at, answer, &is_foreign)) return !is_foreign;
        ok = is_there && !is_foreign;
    }
    return false;
}

static void list_one(const char *name, int fd, Bytes *out) {
    Bytes in = {0};
    Packet k;
    PacketStatus s;
    if (!ask(fd, PACKET_QUERY, &in, &k) || k.type != PACKET_STATUS || k.n < sizeof s) {
        bytes_printf(out, "%-16s does not answer\n", name);
    } else {
        char since[32] = "", attached[32] = "no";
        memcpy(&s, k.data, sizeof s);
        time_t t = (time_t)s.since_s;
        struct tm tm;
        if (localtime_r(&t, &tm)) strftime(since, sizeof since, "%Y-%m-%d %H:%M", &tm);
        if (s.attached == 1) snprintf(attached, sizeof attached, "yes");
        if (s.attached > 1) snprintf(attached, sizeof attached, "%d times", (int)s.attached);
        bytes_printf(out, "%-16s %-17s %-9s %7d %7lld MiB  ", name, since, attached, (int)s.pid,
                     (long long)(s.memory_bytes >> 20));
        error_put_line(k.data + sizeof s, k.n - sizeof s, out);
        bytes_putc(out, '\n');
    }
    bytes_fini(&in);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in the directory, sorted; malloc'ed, as is each of them. */
static char **read_names(const char *dir, size_t *n) {
    char **name = NULL;
    size_t cap = 0;
    *n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strncmp(f->d_name, PREFIX, strlen(PREFIX))) continue;
        if (!is_name(f->d_name + strlen(PREFIX))) continue;
        if (*n == cap) name = xrealloc(name, (cap = cap ? 2 * cap : 8) * sizeof *name);
        name[(*n)++] = xstrdup(f->d_name + strlen(PREFIX));
    }
    if (d) closedir(d);
    if (*n) qsort(name, *n, sizeof *name, compare_names);
    return name;
}

bool session_list(Bytes *out, Err *err) {
    char dir[ENDPOINT_MAX];
    size_t n, shown = 0;
    TRY(find_directory(dir, err));
    int lock = lock_sessions(err);
    if (lock < 0) return false;
    char **name = read_names(dir, &n);
    for (size_t i = 0; i < n; i++) {
        struct sockaddr_un address;
        int fd = find_address(name[i], &address, err) ? connect_to(&address) : -1;
        if (fd >= 0 && !shown++)
            bytes_printf(out, "%-16s %-17s %-9s %7s %11s  %s\n", "NAME", "SINCE", "ATTACHED", "PID",
                         "MEMORY", "RUNNING");
        if (fd >= 0) list_one(name[i], fd, out);
        if (fd >= 0) close(fd);
        free(name[i]);
    }
    free(name);
    unlock_sessions(lock);
    if (!shown) bytes_puts(out, "no sessions; gtsh --session NAME starts one\n");
    return true;
}

bool session_detach(Err *err) {
    struct sockaddr_un address;
    const char *name = own_name();
    if (!name) {
        err_set(err, ERR_ARG, "this prompt is in no session");
        return err_hint(err, "gtsh --session NAME starts one");
    }
    TRY(find_address(name, &address, err));
    int fd = connect_to(&address);
    if (fd < 0) return err_set(err, ERR_IO, "session '%s' has no server", name);
    Bytes out = {0};
    size_t sent = 0;
    packet_add(&out, PACKET_DETACH, NULL, 0);
    bool ok = packet_flush(fd, &out, &sent);
    bytes_fini(&out);
    shutdown(fd, SHUT_WR);
    close(fd);
    return ok || err_set(err, ERR_IO, "session '%s' does not answer", name);
}
