/* top_pty_test.c: gt-top on a pseudo terminal, with a live run: what the screen shows, a resize,
 * keys, the ways in which it ends, and that it leaves the terminal as it was. The programs are
 * beside $GTSH, else in build/.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "patience.h"
#include "runtime/base/clock.h"
#include "terminal.h"
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

static char folder[256]; /* of this test: the socket, files */

static const char *program(const char *name) {
    static char path[2][PATH_MAX];
    const char *gtsh = getenv("GTSH"), *slash = gtsh ? strrchr(gtsh, '/') : NULL;
    snprintf(path[0], PATH_MAX, "%.*s/%s", slash ? (int)(slash - gtsh) : 5, slash ? gtsh : "build",
             name);
    return realpath(path[0], path[1]) ? path[1] : path[0];
}

/* ---- The run that is watched ---- */

static pid_t start(const char *name, const char *const *arg, const char *output) {
    pid_t pid = fork();
    if (pid) return pid;
    const char *argv[16] = {name};
    for (int k = 0; arg[k] && k < 14; k++) argv[k + 1] = arg[k];
    int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    execv(program(name), (char **)argv);
    _exit(127);
}

static void stop(pid_t pid, int number) {
    kill(pid, number);
    waitpid(pid, NULL, 0);
}

static bool file_has(const char *path, const char *text) {
    Bytes all = {0};
    bool has = bytes_read(&all, path, 1 << 20) && strstr(all.data, text);
    bytes_fini(&all);
    return has;
}

static pid_t start_dispatcher(void) {
    char output[300];
    snprintf(output, sizeof output, "%s/dispatcher.out", folder);
    unlink(output);
    pid_t pid =
        start("gt-dispatcher", (const char *[]){"-q", "-w", "2", "--threads=1", NULL}, output);
    int64_t until = now_ms() + patient_ms(20000);
    while (!file_has(output, "ready at") && now_ms() < until) usleep(20000);
    CHECK(file_has(output, "ready at"));
    return pid;
}

/* pause: seconds between two of its rounds. It waits for nothing else, so that with 0 it always has
 * instructions queued; that takes all cores. */
static pid_t start_client(const char *pause) {
    char output[300], text[200];
    snprintf(text, sizeof text,
             "while true { signal layer { x = randn(200, 200) @ randn(200, 200) }; sleep(%s) }",
             pause);
    snprintf(output, sizeof output, "%s/client.out", folder);
    return start("gtsh", (const char *[]){"-d", "local", "-c", text, NULL}, output);
}

/* ---- gt-top on its terminal ---- */

typedef struct Session {
    pid_t pid;
    int fd;
    Bytes raw;
    Terminal screen;
    struct termios before;
} Session;

static Session open_top(int width, int height, const char *term, const char *const *arg) {
    Session s = {0};
    struct winsize size = {.ws_row = (unsigned short)height, .ws_col = (unsigned short)width};
    int slave;
    CHECK(openpty(&s.fd, &slave, NULL, NULL, &size) == 0);
    tcgetattr(slave, &s.before);
    s.pid = fork();
    if (s.pid == 0) {
        const char *argv[16] = {"gt-top"}, *path = program("gt-top");
        for (int k = 0; arg[k] && k < 14; k++) argv[k + 1] = arg[k];
        close(s.fd);
        login_tty(slave);
        setenv("TERM", term, 1);
        setenv("LC_ALL", strcmp(term, "vt100") ? "C.UTF-8" : "C", 1);
        if (chdir(folder)) _exit(126);
        execv(path, (char **)argv);
        _exit(127);
    }
    close(slave);
    terminal_init(&s.screen, width, height);
    return s;
}

/* Reads more output; false at its end or at `until`. */
static bool more(Session *s, int64_t until) {
    char chunk[4096];
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    int64_t left = until - now_ms();
    if (left <= 0 || poll(&p, 1, (int)left) <= 0) return false;
    ssize_t n = read(s->fd, chunk, sizeof chunk);
    if (n <= 0) return false;
    bytes_add(&s->raw, chunk, (size_t)n);
    terminal_feed(&s->screen, chunk, (size_t)n);
    return true;
}

/* Waits until the screen shows the text. */
static void expect(Session *s, const char *text) {
    int64_t until = now_ms() + patient_ms(10000);
    char *page = terminal_text(&s->screen);
    while (!strstr(page, text) && more(s, until)) {
        free(page);
        page = terminal_text(&s->screen);
    }
    CHECK_MSG(strstr(page, text) != NULL, "no '%s' in\n%s", text, page);
    free(page);
}

static void expect_not(Session *s, const char *text) {
    char *page = terminal_text(&s->screen);
    CHECK_MSG(!strstr(page, text), "'%s' in\n%s", text, page);
    free(page);
}

static void type(Session *s, const char *keys) {
    CHECK(write(s->fd, keys, strlen(keys)) == (ssize_t)strlen(keys));
}

/* The line y of the screen begins with the text. */
static void line_begins(const Session *s, int y, const char *text) {
    char *page = terminal_text(&s->screen), *line = page;
    for (; y > 0 && line; y--) line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    CHECK_MSG(line && !strncmp(line, text, strlen(text)), "no line '%s' in\n%s", text, page);
    free(page);
}

/* Waits for the end. Returns the exit code, or 128 + signal, and checks that the terminal is as it
 * was. */
static int finish(Session *s) {
    int64_t until = now_ms() + patient_ms(10000);
    int status = 0;
    struct termios after;
    while (waitpid(s->pid, &status, WNOHANG) == 0 && now_ms() < until) more(s, now_ms() + 50);
    while (more(s, now_ms() + 100)) {}
    if (waitpid(s->pid, NULL, WNOHANG) == 0) {
        kill(s->pid, SIGKILL);
        CHECK_MSG(false, "does not end");
    }
    CHECK(tcgetattr(s->fd, &after) == 0);
    CHECK(after.c_lflag == s->before.c_lflag && after.c_iflag == s->before.c_iflag &&
          after.c_oflag == s->before.c_oflag);
    CHECK(!s->screen.is_alternate && !s->screen.is_hidden);
    CHECK_INT(s->screen.unknown, 0);
    close(s->fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool wrote(const Session *s, const char *text) {
    return s->raw.n && memmem(s->raw.data, s->raw.n, text, strlen(text));
}

/* ---- Tests ---- */

static void nothing_runs(void) {
    Session s = open_top(80, 24, "xterm-256color", (const char *[]){NULL});
    CHECK_INT(finish(&s), 69);
    CHECK(wrote(&s, "gt-top: ") && !wrote(&s, "\033["));
    bytes_fini(&s.raw);
}

static void shows_a_run(void) {
    Session s = open_top(80, 24, "xterm-256color", (const char *[]){NULL});
    expect(&s, "2 workers  1 client");
    expect(&s, "\n> w0 cpu");
    expect(&s, "\n  c1      -c");
    CHECK(s.screen.is_alternate && s.screen.is_hidden);
    line_begins(&s, 0, "gt-top  ");
    line_begins(&s, 1, "  WORKER^");
    line_begins(&s, 3, "  w1 cpu");
    line_begins(&s, 4, "  █ matmul  ▓ pointwise  ▒ reduce  ░ other  ▚ transfer  · idle");
    line_begins(&s, 6, "  CLIENT  NAME");
    line_begins(&s, 23, "w workers  c clients  s signals  o ops  h help  q quit");
    /* Wider and higher: more columns, the keys at the new bottom. */
    struct winsize size = {.ws_row = 40, .ws_col = 140};
    terminal_resize(&s.screen, 140, 40);
    CHECK(ioctl(s.fd, TIOCSWINSZ, &size) == 0);
    expect(&s, " HOST");
    expect(&s, "k cancel");
    line_begins(&s, 39, "w workers");
    size = (struct winsize){.ws_row = 5, .ws_col = 20};
    terminal_resize(&s.screen, 20, 5);
    CHECK(ioctl(s.fd, TIOCSWINSZ, &size) == 0);
    expect(&s, "\nw workers");
    line_begins(&s, 4, "w workers");
    expect_not(&s, "k cancel");
    type(&s, "q");
    CHECK_INT(finish(&s), 0);
    bytes_fini(&s.raw);
}

static void keys(void) {
    Session s = open_top(80, 24, "xterm-256color", (const char *[]){NULL});
    expect(&s, "c1      -c");
    type(&s, "c");
    expect(&s, "\n> c1");
    line_begins(&s, 1, "  CLIENT^");
    type(&s, "/nobody\r");
    expect(&s, "no row contains the filter");
    type(&s, "/");
    expect(&s, "show rows with: nobody_");
    type(&s, "\177\177\177\177\177\177\r");
    expect(&s, "\n> c1");
    type(&s, "h");
    expect(&s, "the worker had no instruction");
    type(&s, "x");
    expect(&s, "\n> c1");
    type(&s, "k");
    expect(&s, "drop all that c1 -c has queued? y or n");
    type(&s, "n");
    expect(&s, "nothing is cancelled");
    type(&s, "w\033OB"); /* the key Down */
    expect(&s, "\n> w1");
    type(&s, "p");
    expect(&s, "paused");
    type(&s, "\003");
    CHECK_INT(finish(&s), 0);
    bytes_fini(&s.raw);
}

/* A terminal without colours and UTF-8: letters, and no colour sequence. */
static void monochrome(void) {
    Session s = open_top(80, 24, "vt100", (const char *[]){NULL});
    expect(&s, "\n> w0 cpu");
    line_begins(&s, 4, "  M matmul  p pointwise  r reduce  o other  t transfer  . idle");
    for (int colour = 30; colour < 38; colour++) {
        char sequence[16];
        snprintf(sequence, sizeof sequence, "%dm", colour);
        CHECK(!wrote(&s, sequence));
    }
    kill(s.pid, SIGTERM);
    CHECK_INT(finish(&s), 128 + SIGTERM);
    size_t end = s.raw.n < 40 ? s.raw.n : 40; /* the last line is left to the shell */
    const char *last = s.raw.data + s.raw.n - end;
    CHECK(memmem(last, end, "\033[K", 3) || memmem(last, end, "\033[J", 3));
    bytes_fini(&s.raw);
    s = open_top(80, 24, "xterm-256color", (const char *[]){NULL}); /* as a failed assertion does */
    expect(&s, "\n> w0 cpu");
    expect(&s, "█ matmul");
    CHECK(wrote(&s, "38;5;25m")); /* the colour of matmul */
    kill(s.pid, SIGABRT);
    CHECK_INT(finish(&s), 128 + SIGABRT);
    bytes_fini(&s.raw);
    setenv("NO_COLOR", "1", 1);
    s = open_top(80, 24, "xterm-256color", (const char *[]){"--view=ops", NULL});
    expect(&s, "█ matmul");
    CHECK(!wrote(&s, "38;5;25m"));
    type(&s, "q");
    CHECK_INT(finish(&s), 0);
    bytes_fini(&s.raw);
    s = open_top(80, 24, "dumb", (const char *[]){"--count=2", "-d0.3", NULL}); /* pages of text */
    CHECK_INT(finish(&s), 0);
    CHECK(wrote(&s, "WORKER") && !wrote(&s, "\033"));
    bytes_fini(&s.raw);
    unsetenv("NO_COLOR");
}

/* The flight recorder: the last instructions of a row, and a tape of the last seconds. Then another
 * client's queue is cancelled, so that its program ends. */
static void recorder(pid_t client) {
    char path[400] = "";
    struct stat made;
    Session s = open_top(120, 24, "xterm-256color", (const char *[]){NULL});
    expect(&s, "\n> w0 cpu");
    expect(&s, "c1      -c");
    type(&s, "\r");
    expect(&s, "The last instructions of w0");
    expect(&s, "= randn [200,200] f32");
    type(&s, "xc\r");
    expect(&s, "The last instructions of c1");
    expect(&s, "signal enter layer");
    type(&s, "xt");
    expect(&s, " lines saved in gt-2");
    char *page = terminal_text(&s.screen), *name = strstr(page, "gt-2");
    if (name) snprintf(path, sizeof path, "%s/%.*s", folder, (int)strcspn(name, " \n"), name);
    free(page);
    CHECK(!stat(path, &made) && (made.st_mode & 0777) == 0600);
    CHECK(file_has(path, "gti 1 kind=tape\n") && file_has(path, " < c1 w0 done t"));
    char output[300]; /* another program reads it */
    int status = 0, got = 0;
    snprintf(output, sizeof output, "%s/trace.out", folder);
    waitpid(start("gt-trace", (const char *[]){path, NULL}, output), &status, 0);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "gt-trace: status %d", status);
    stop(client, SIGKILL);
    client = start_client("0");
    expect(&s, "\n> c2      -c");
    type(&s, "ky");
    expect(&s, "c2: asked to drop what it has queued");
    for (int64_t until = now_ms() + patient_ms(20000); !got && now_ms() < until;) {
        got = waitpid(client, &status, WNOHANG);
        more(&s, now_ms() + 50);
    }
    CHECK_MSG(got == client && WIFEXITED(status) && WEXITSTATUS(status) == 130, "status %d",
              status);
    snprintf(path, sizeof path, "%s/client.out", folder);
    CHECK(file_has(path, "interrupted"));
    expect(&s, "no clients");
    type(&s, "q");
    CHECK_INT(finish(&s), 0);
    bytes_fini(&s.raw);
}

static void dispatcher_dies(pid_t dispatcher) {
    Session s = open_top(80, 24, "xterm-256color", (const char *[]){NULL});
    expect(&s, "\n> w0 cpu");
    stop(dispatcher, SIGKILL);
    CHECK_INT(finish(&s), 69);
    CHECK(wrote(&s, "gt-top: the dispatcher"));
    const char *restored = memmem(s.raw.data, s.raw.n, "\033[?1049l", 8);
    CHECK(restored && strstr(restored, "gt-top: the dispatcher"));
    bytes_fini(&s.raw);
}

int main(void) {
    snprintf(folder, sizeof folder, "%s/gt_top_test.XXXXXX",
             getenv("TMP") ? getenv("TMP") : "/tmp");
    if (!mkdtemp(folder)) return 2;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    unsetenv("GT_DISPATCHER");
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
    unsetenv("LINES");
    nothing_runs();
    pid_t dispatcher = start_dispatcher(), client = start_client("0.02");
    shows_a_run();
    keys();
    monochrome();
    recorder(client);
    dispatcher_dies(dispatcher);
    return check_report("top_pty");
}
