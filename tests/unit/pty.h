/* pty.h: drives gtsh on a pseudo terminal, for tests of the prompt: types keys and waits for
 * output. The program is $GTSH, else build/gtsh.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_PTY_H
#define GT_TESTS_UNIT_PTY_H
#include "check.h"
#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* What the line editor of this build can; see lang/shell/edit.h. */
#ifdef EDIT_NONE
enum { IS_READLINE = 0, HAS_KEYS = 0 };
#elif defined EDIT_LIBEDIT
enum { IS_READLINE = 0, HAS_KEYS = 1 };
#else
enum { IS_READLINE = 1, HAS_KEYS = 1 };
#endif

enum { LIMIT_MS = 300000 };

typedef struct Session {
    pid_t pid;
    int fd;
    Bytes all, raw;
    size_t seen;
} Session; /* all: the output without carriage returns; seen: its end that was expected so far */

/* The terminal of sessions that start later: set it before start. */
static struct winsize pty_size = {.ws_row = 40, .ws_col = 120};

static inline const char *gtsh(void) {
    const char *path = getenv("GTSH");
    return path ? path : "build/gtsh";
}

/* Starts a program with arguments up to NULL. TERM is dumb unless $REPL_TERM is set, and there are
 * no colours unless $REPL_COLOR is. */
static inline Session start_program(const char *path, const char *const *arg) {
    Session s = {0};
    s.pid = forkpty(&s.fd, NULL, NULL, &pty_size);
    if (s.pid == 0) {
        const char *argv[16] = {path};
        for (int k = 0; arg[k] && k < 14; k++) argv[k + 1] = arg[k];
        if (!getenv("REPL_TERM")) setenv("TERM", "dumb", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        if (!getenv("REPL_COLOR")) setenv("NO_COLOR", "1", 1);
        execv(argv[0], (char **)argv);
        _exit(127);
    }
    return s;
}

static inline Session start(const char *const *arg) { return start_program(gtsh(), arg); }

/* Reads more output of the program; false at its end or after LIMIT_MS. */
static inline bool more(Session *s, long until) {
    char chunk[4096];
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    long left = until - now_ms();
    if (left <= 0 || poll(&p, 1, (int)left) <= 0) return false;
    ssize_t n = read(s->fd, chunk, sizeof chunk);
    if (n <= 0) return false;
    bytes_add(&s->raw, chunk, (size_t)n);
    for (ssize_t k = 0; k < n; k++)
        if (chunk[k] != '\r') bytes_putc(&s->all, chunk[k]);
    return true;
}

/* Waits until the text appears after everything expected before. */
static inline void expect(Session *s, const char *text) {
    long until = now_ms() + LIMIT_MS;
    const char *hit = NULL;
    do {
        if (s->all.n) hit = strstr(s->all.data + s->seen, text);
    } while (!hit && more(s, until));
    CHECK_MSG(hit != NULL, "no '%s' in\n%s", text, s->all.n ? s->all.data + s->seen : "");
    if (hit) s->seen = (size_t)(hit - s->all.data) + strlen(text);
}

static inline void type(Session *s, const char *keys) {
    size_t n = strlen(keys);
    CHECK(write(s->fd, keys, n) == (ssize_t)n);
}

/* Types, then waits for the answer. */
static inline void reply(Session *s, const char *keys, const char *answer) {
    type(s, keys);
    expect(s, answer);
}

/* Types, then waits for the answer and the next prompt. */
static inline void ask(Session *s, const char *keys, const char *answer) {
    reply(s, keys, answer);
    expect(s, "gt> ");
}

/* Types a line, then waits for its echo, its result and the next prompt. */
static inline void line(Session *s, const char *keys, const char *result) {
    type(s, keys);
    reply(s, "\r", keys);
    if (result) expect(s, result);
    expect(s, "gt> ");
}

/* Types a line that takes long, and waits until it runs. */
static inline void set_off(Session *s, const char *code) {
    type(s, "print(\"be\" + \"gun\"); ");
    type(s, code);
    type(s, "\r");
    expect(s, "\nbegun\n");
    usleep(100000);
}

/* The exit code, or 128 + signal; the rest of the output is in all. */
static inline int finish(Session *s) {
    long until = now_ms() + LIMIT_MS;
    while (more(s, until)) {}
    int status = 0;
    for (int k = 0; waitpid(s->pid, &status, WNOHANG) == 0; k++) {
        if (k > 6000) {
            kill(s->pid, SIGKILL);
            CHECK_MSG(false, "does not end");
        }
        usleep(50000);
    }
    close(s->fd);
    bytes_fini(&s->all);
    bytes_fini(&s->raw);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* At the prompt, without greeting. */
static inline Session prompt(void) {
    Session s = start((const char *[]){"-q", "--norc", NULL});
    expect(&s, "gt> ");
    return s;
}

/* Changes the size of the terminal of a running session, which gets SIGWINCH. */
static inline void resize(Session *s, int rows, int columns) {
    struct winsize w = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    CHECK(ioctl(s->fd, TIOCSWINSZ, &w) == 0);
}

/* Waits until the terminal keeps lines and echoes, or not; false if it does not come to that. */
static inline bool becomes(const Session *s, bool is_plain) {
    struct termios mode = {0};
    tcflag_t both = ICANON | ECHO;
    for (int k = 0; k < 200; k++) {
        if (!tcgetattr(s->fd, &mode) && ((mode.c_lflag & both) == (is_plain ? both : 0)))
            return true;
        usleep(50000);
    }
    return false;
}

/* Types what ends the program. */
static inline void leave(Session *s, const char *keys, int code) {
    type(s, keys);
    CHECK_INT(finish(s), code);
}

/* Prepares the environment; false, after a message, if there is no gtsh or no pseudo terminal. */
static inline bool pty_begin(const char *test) {
    signal(SIGPIPE, SIG_IGN);
    if (access(gtsh(), X_OK)) {
        printf("skipped: %s: %s is not built\n", test, gtsh());
        return false;
    }
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0) {
        printf("skipped: %s: no pseudo terminal here (%s)\n", test, strerror(errno));
        return false;
    }
    close(terminal);
    if (!getenv("HOME")) setenv("HOME", "/tmp", 1);
    setenv("GT_HISTFILE", "", 1);
    return true;
}
#endif
