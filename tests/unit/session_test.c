/* session_test.c: sessions that outlive their terminal: detaching, attaching from another terminal,
 * several at once, their size, hangup, Ctrl-C, paste, the screen after detaching, the exit code,
 * the list, a server that gets signals or has ended, a terminal that reads nothing.
 * SPDX-License-Identifier: MIT */
#include "pty.h"
#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static char folder[] = "/tmp/gt-session-XXXXXX";

static Session attach(const char *name) {
    Session s = start((const char *[]){"--session", name, NULL});
    expect(&s, "Ctrl-\\ detaches]\n");
    return s;
}

static Session begin(const char *name) {
    Session s = start((const char *[]){"-q", "--norc", "--session", name, NULL});
    expect(&s, "gt> ");
    return s;
}

static void detach(Session *s) {
    type(s, "\034");
    expect(s, "\n[detached from session ");
    CHECK(becomes(s, true));
    CHECK_INT(finish(s), 0);
}

/* The output of gtsh without a terminal, and its exit code. */
static int output(const char *arguments, char *text, size_t size) {
    char command[600];
    snprintf(command, sizeof command, "%s %s 2>&1 </dev/null", gtsh(), arguments);
    FILE *f = popen(command, "r");
    size_t n = f ? fread(text, 1, size - 1, f) : 0;
    text[n] = '\0';
    return f ? WEXITSTATUS(pclose(f)) : -1;
}

static bool lists(const char *what) {
    char text[2000];
    CHECK_INT(output("--sessions", text, sizeof text), 0);
    return strstr(text, what) != NULL;
}

/* The servers have ended: waits, since a server ends after its terminals. */
static void expect_none(void) {
    long until = now_ms() + LIMIT_MS;
    while (!lists("no sessions") && now_ms() < until) usleep(20000);
    CHECK(lists("no sessions"));
}

static void again(void) {
    Session s = begin("a");
    line(&s, "x = 40", NULL);
    line(&s, "x + 2", "\n42\n");
    type(&s, "x + 1");
    expect(&s, "x + 1");
    CHECK(lists("\na  "));
    CHECK(lists(" yes "));
    detach(&s);
    CHECK(lists(" no "));
    CHECK(lists("  prompt\n"));
    s = attach("a"); /* the last lines, and what was typed */
    expect(&s, "gt> x + 2\n42\ngt> x + 1");
    ask(&s, "\r", "\n41\n");
    detach(&s);
}

/* What a progress line showed before is not shown again. */
static void progress_line(void) {
    Session s = begin("p");
    line(&s, "!printf 'ear''lier\\r\\033[Kla''ter\\r\\033[Klast\\nne''xt\\n'", "next\n");
    CHECK(strstr(s.all.data, "earlier") && strstr(s.all.data, "later"));
    detach(&s);
    s = attach("p");
    expect(&s, "last\nnext\n");
    expect(&s, "gt> ");
    CHECK(!strstr(s.all.data, "earlier") && !strstr(s.all.data, "later"));
    leave(&s, "\004", 0);
    expect_none();
}

/* :detach, the end of the terminal, and the exit code of the program. */
static void ways_out(void) {
    Session s = begin("b");
    line(&s, "y = 5", NULL);
    type(&s, ":detach\r");
    expect(&s, "\n[detached from session b; gtsh --session b attaches again]\n");
    CHECK_INT(finish(&s), 0);
    s = attach("b");
    ask(&s, "y\r", "\n5\n");
    close(s.fd); /* SIGHUP */
    s.fd = -1;
    int status;
    CHECK(waitpid(s.pid, &status, 0) == s.pid);
    bytes_fini(&s.all);
    s = attach("b");
    ask(&s, "y * 2\r", "\n10\n");
    leave(&s, "exit(7)\r", 7);
    expect_none();
    s = prompt();
    line(&s, ":detach", "this prompt is in no session");
    leave(&s, "\004", 0);
}

/* Two terminals see the same; the session has the size of the smaller one. */
static void two_terminals(void) {
    Session s = begin("c"), t;
    pty_size = (struct winsize){.ws_row = 20, .ws_col = 70};
    t = attach("c");
    pty_size = (struct winsize){.ws_row = 40, .ws_col = 120};
    expect(&t, "gt> ");
    line(&t, "shell(\"stty size\")", "\n\"20 70\\n\"\n");
    expect(&s, "\n\"20 70\\n\"\n");
    CHECK(lists(" 2 times "));
    resize(&t, 30, 60);
    for (int i = 0; i < 100 && !strstr(t.all.data, "30 60"); i++) /* the size travels */
        line(&t, "shell(\"stty size\")", "\n\"");
    CHECK(strstr(t.all.data, "30 60") != NULL);
    detach(&t);
    for (int i = 0; i < 100 && !strstr(s.all.data, "40 120"); i++)
        line(&s, "shell(\"stty size\")", "\n\"");
    CHECK(strstr(s.all.data, "40 120") != NULL);
    leave(&s, "exit()\r", 0);
    expect_none();
}

static void keys(void) {
    Session s = begin("d");
    line(&s, "n = {i: 0}", NULL);
    set_off(&s, "while true { n.i += 1 }");
    detach(&s);
    s = attach("d");
    ask(&s, "\003", "interrupted");
    line(&s, "n.i > 0", "\ntrue\n");
    set_off(&s, "sleep(100)");
    Bytes b = {0}; /* keys that the program does not read, then Ctrl-C */
    for (int i = 0; i < 20000; i++) bytes_puts(&b, "0123456789");
    fcntl(s.fd, F_SETFL, O_NONBLOCK);
    for (size_t at = 0; at < b.n;) {
        ssize_t n = write(s.fd, b.data + at, b.n - at);
        if (n > 0) at += (size_t)n;
        if (n <= 0 && !more(&s, now_ms() + 300)) break;
    }
    bytes_fini(&b);
    fcntl(s.fd, F_SETFL, 0);
    detach(&s);
    s = attach("d");
    type(&s, "\003");
    expect(&s, "interrupted");
    type(&s, "\003");
    line(&s, "n.i > 0", "\ntrue\n");
    if (!IS_READLINE) {
        leave(&s, "\004", 0);
        expect_none();
        return;
    }
    type(&s, "\033[200~k = 5\rif k > 3 {\r  print(\"big\")\r}\rprint(\"next\")\033[201~\r");
    expect(&s, "\nbig\n");
    expect(&s, "next\n");
    expect(&s, "gt> "); /* the end of file is a key of the prompt only */
    leave(&s, "\004", 0);
    expect_none();
}

/* A program goes on without a terminal, then stays at the prompt. */
static void program(void) {
    char text[1000], path[100], arguments[200];
    snprintf(path, sizeof path, "%s/train.gt", folder);
    FILE *f = fopen(path, "w");
    fputs("steps = arg(\"steps\", 1)\nfor i in range(steps) { print(f\"step {i}\") }\n"
          "print(\"trained\")\n",
          f);
    fclose(f);
    snprintf(arguments, sizeof arguments, "--session e %s --steps 100", path);
    CHECK_INT(output(arguments, text, sizeof text), 0);
    CHECK(strstr(text, "gtsh --session e attaches to it\n") != NULL);
    CHECK_INT(output(arguments, text, sizeof text), 2);
    CHECK(strstr(text, "session 'e' runs already") != NULL);
    CHECK(lists("train.gt --steps 100\n"));
    Session s = attach("e");
    expect(&s, "trained\n");
    expect(&s, "gt> ");
    line(&s, "steps", "100\n");
    leave(&s, "exit(3)\r", 3);
    expect_none();
    CHECK_INT(output("--session e /no/such.gt", text, sizeof text), 66);
    CHECK_INT(output("--session a/b -c 1", text, sizeof text), 2);
    CHECK(strstr(text, "'a/b' is not a name for a session") != NULL);
    CHECK_INT(output("--session .x -c 1", text, sizeof text), 2);
    CHECK_INT(output("--session e", text, sizeof text), 2);
    CHECK(strstr(text, "needs a terminal") != NULL);
    CHECK_INT(output("--session e -n -c 1", text, sizeof text), 2);
    CHECK(strstr(text, "--session and --check exclude each other") != NULL);
}

/* Sends a signal to the server of a session, the parent of the program at the prompt. */
static void signal_server(Session *s, int number) {
    line(s, "getpid = shell(\"echo $PPID\"); shell(f\"ps -o ppid= -p {getpid}\").strip()", "\n\"");
    const char *end = s->all.data + s->seen;
    while (end > s->all.data && strncmp(end, "\n\"", 2)) end--;
    long server = strtol(end + 2, NULL, 10);
    CHECK_MSG(server > 1, "%ld", server);
    if (server > 1) CHECK(!kill((pid_t)server, number));
}

/* A server outlives the hangup of its terminal and the keys that send signals. */
static void hangup(void) {
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE};
    Session s = begin("s");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        signal_server(&s, numbers[i]);
        line(&s, "6 * 7", "\n42\n");
    }
    detach(&s);
    s = attach("s");
    ask(&s, "6 * 7 + 1\r", "\n43\n");
    leave(&s, "\004", 0);
    expect_none();
}

/* Whatever the program switched on is off after detaching: bracketed paste, a hidden cursor and
 * colours; also if a signal ends the terminal's side. A dumb terminal gets no such codes. */
static void screen(void) {
    static const char reset[] = "\033[?2004l\033[?25h\033[0m\n[detached from session t;";
    Session s = begin("t");
    type(&s, "\034");
    expect(&s, "\n[detached from session ");
    CHECK(!strstr(s.all.data, "\033[?25h"));
    CHECK_INT(finish(&s), 0);
    setenv("REPL_TERM", "1", 1);
    setenv("TERM", "xterm", 1);
    s = attach("t");
    type(&s, "\034");
    expect(&s, reset);
    CHECK_INT(finish(&s), 0);
    s = attach("t");
    kill(s.pid, SIGTERM);
    expect(&s, "\033[?2004l\033[?25h\033[0m");
    CHECK_INT(finish(&s), 128 + SIGTERM);
    unsetenv("REPL_TERM");
    s = attach("t");
    leave(&s, "\004", 0);
    expect_none();
}

/* A socket without a server is removed; a server that is killed takes its program along. */
static void lost(void) {
    char path[100];
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(path, sizeof path, "%s/gt/session.f", folder);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(!bind(fd, (struct sockaddr *)&a, sizeof a));
    close(fd);
    CHECK(lists("no sessions"));
    CHECK(access(path, F_OK));
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(!bind(fd, (struct sockaddr *)&a, sizeof a));
    close(fd);
    Session s = begin("f");
    signal_server(&s, SIGKILL);
    expect(&s, "session f is lost: its server has ended");
    CHECK_INT(finish(&s), 69);
    expect_none();
}

/* The program is killed, as for want of memory: the terminal says so. */
static void killed(void) {
    Session s = begin("k");
    line(&s, "pid = shell(\"echo $PPID\")", NULL);
    reply(&s, "shell(f\"kill -9 {pid}\")\r", "\n[the session has ended by signal 9 (Killed)]\n");
    CHECK_INT(finish(&s), 137);
    expect_none();
}

/* A server that is stopped has no room for more connections: the list does not wait for it. */
static void full(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int waiting[64], n = 0, fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s/gt/session.z", folder);
    CHECK(!bind(fd, (struct sockaddr *)&a, sizeof a) && !listen(fd, 1));
    for (bool has_room = true; has_room && n < 64; n++) {
        waiting[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        has_room = !connect(waiting[n], (struct sockaddr *)&a, sizeof a);
    }
    CHECK(n < 64);
    CHECK(lists("no sessions"));
    while (n--) close(waiting[n]);
    close(fd);
    CHECK(!unlink(a.sun_path));
}

/* A terminal that reads nothing does not stop the program: it is detached. */
static void slow(void) {
    Session s = begin("g");
    type(&s, "print(\"be\" + \"gun\"); for i in range(300000) { print(\"0123456789\", i) }; "
             "write(\"");
    type(&s, folder);
    type(&s, "/done\", \"x\")\r");
    expect(&s, "\nbegun\n");
    char path[100];
    snprintf(path, sizeof path, "%s/done", folder);
    long until = now_ms() + LIMIT_MS;
    while (access(path, F_OK) && now_ms() < until) usleep(20000);
    CHECK(!access(path, F_OK));
    usleep(2200000); /* longer than a farewell may take */
    expect(&s, "this terminal takes output too slowly");
    CHECK_INT(finish(&s), 0);
    s = attach("g");
    expect(&s, "0123456789 299999\n");
    expect(&s, "gt> ");
    leave(&s, "\004", 0);
    expect_none();
}

/* Another user gets nothing, even if the modes of files would let him in. Needs root. */
static void other_user(void) {
    enum { NOBODY = 65534 };
    if (geteuid()) return;
    Session s = begin("u");
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char directory[100];
    snprintf(a.sun_path, sizeof a.sun_path, "%s/gt/session.u", folder);
    snprintf(directory, sizeof directory, "%s/gt", folder);
    for (int is_open = 0; is_open < 2; is_open++) {
        mode_t mode = is_open ? 0777 : 0700;
        CHECK(!chmod(folder, mode) && !chmod(directory, mode));
        CHECK(!chmod(a.sun_path, is_open ? 0777 : 0600));
        pid_t pid = fork();
        if (pid == 0) {
            char got;
            int fd = socket(AF_UNIX, SOCK_STREAM, 0);
            if (setuid(NOBODY)) _exit(2);
            if (connect(fd, (struct sockaddr *)&a, sizeof a)) _exit(is_open ? 3 : 0);
            send(fd, "a\1\4\0\30\0\120\0", 8, MSG_NOSIGNAL);
            _exit(!is_open || recv(fd, &got, 1, 0) > 0 ? 4 : 0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK_INT(WEXITSTATUS(status), 0);
    }
    CHECK(!chmod(folder, 0700) && !chmod(directory, 0700));
    leave(&s, "\004", 0);
    expect_none();
}

/* GT_DETACH_KEY; Ctrl-Z does not stop the program; sessions do not nest. */
static void other_keys(void) {
    setenv("GT_DETACH_KEY", "^A", 1);
    Session s = start((const char *[]){"-q", "--norc", "--session", "k", NULL});
    expect(&s, "[session k; Ctrl-A detaches]\n");
    expect(&s, "gt> ");
    line(&s, "sleep(0.1)", NULL);
    char command[300];
    snprintf(command, sizeof command, "!%s --session z", gtsh());
    line(&s, command, "this terminal is in session 'k' already");
    set_off(&s, "sleep(0.3); print(\"aw\" + \"ake\")");
    type(&s, "\032");
    expect(&s, "awake\n");
    expect(&s, "gt> ");
    type(&s, "\001");
    expect(&s, "[detached from session k");
    CHECK_INT(finish(&s), 0);
    setenv("GT_DETACH_KEY", "none", 1);
    s = start((const char *[]){"--session", "k", NULL});
    expect(&s, "[session k; no key detaches]\n");
    unsetenv("GT_DETACH_KEY");
    leave(&s, "exit()\r", 0);
    expect_none();
}

/* Bytes that are no packets. */
static void hostile(void) {
    Session s = begin("h");
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%s/gt/session.h", folder);
    for (unsigned seed = 0; seed < 200; seed++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(!connect(fd, (struct sockaddr *)&a, sizeof a));
        unsigned char noise[300];
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (unsigned char)((seed * 7919 + i * 104729) >> (i % 7));
        if (seed & 1) memcpy(noise, "a\1\4\0\0\0\0\0w\1\3\0zzzi\1\377\377", 19); /* then too few */
        if (seed & 2) memcpy(noise, "x\1\0\0", 4);
        send(fd, noise, sizeof noise, MSG_NOSIGNAL);
        close(fd);
    }
    line(&s, "6 * 7", "\n42\n");
    struct stat st;
    CHECK(!stat(a.sun_path, &st) && (st.st_mode & 077) == 0);
    leave(&s, "\004", 0);
    expect_none();
}

int main(void) {
    if (!pty_begin("session")) return CHECK_SKIPPED;
    if (!mkdtemp(folder)) return 1;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    again();
    Session s = attach("a");
    leave(&s, "\004", 0);
    expect_none();
    progress_line();
    ways_out();
    two_terminals();
    keys();
    program();
    hangup();
    screen();
    lost();
    killed();
    full();
    slow();
    other_user();
    other_keys();
    hostile();
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) return 1;
    return check_report("session");
}
