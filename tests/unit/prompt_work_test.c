/* prompt_work_test.c: Ctrl-C, and what arrives while a line is typed: the prompt returns at once
 * whatever runs, says what runs behind it, and a second Ctrl-C drops that. A worker that is stopped
 * (SIGSTOP) stands for work of any length, so no result depends on the speed of the machine; the
 * times seen are printed.
 * SPDX-License-Identifier: MIT */
#include "pty.h"
#include <dirent.h>
#include <sys/stat.h>

/* A dispatcher of its own with one worker. */
typedef struct Cluster {
    pid_t dispatcher, worker;
    char dir[32], where[72];
} Cluster;

static long slowest_ms, last_ms;

/* The first child of a process, or 0. */
static pid_t child_of(pid_t parent) {
    char path[96];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &child) != 1) child = 0;
    if (f) fclose(f);
    return child;
}

static Cluster cluster_start(void) {
    Cluster c = {.dir = "/tmp/gt-prompt-XXXXXX"};
    char program[512], file[70];
    CHECK(mkdtemp(c.dir) != NULL);
    const char *slash = strrchr(gtsh(), '/');
    snprintf(program, sizeof program, "%.*s/gt-dispatcher", (int)(slash - gtsh()), gtsh());
    snprintf(file, sizeof file, "%s/where", c.dir);
    snprintf(c.where, sizeof c.where, "@%s", file);
    c.dispatcher = fork();
    if (c.dispatcher == 0) {
        setenv("XDG_RUNTIME_DIR", c.dir, 1);
        int null = open("/dev/null", O_RDWR);
        dup2(null, 1);
        dup2(null, 2);
        execl(program, program, "-w", "1", "--threads", "1", "--memory", "64M", "--endpoint-file",
              file, NULL);
        _exit(127);
    }
    for (int k = 0; k < 3000 && (access(file, R_OK) || !child_of(c.dispatcher)); k++) usleep(10000);
    c.worker = child_of(c.dispatcher);
    CHECK(c.worker != 0);
    return c;
}

static void cluster_end(Cluster *c) {
    char command[96];
    int status;
    kill(c->worker, SIGCONT);
    kill(c->dispatcher, SIGTERM);
    waitpid(c->dispatcher, &status, 0);
    snprintf(command, sizeof command, "rm -rf %s", c->dir);
    CHECK(system(command) == 0);
}

/* Types Ctrl-C, waits for the answer and the prompt, and notes the time. */
static void interrupt(Session *s, const char *answer) {
    long since = now_ms();
    ask(s, "\003", answer);
    long took = now_ms() - since;
    printf("prompt_work: %3ld ms after Ctrl-C: %s%s", took, answer,
           strchr(answer, '\n') ? "" : "\n");
    if (took > slowest_ms) slowest_ms = took;
    last_ms = took;
}

/* Waits until the program was seen asleep three times: it waits for a worker. */
static void asleep(const Session *s) {
    char path[64], state;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)s->pid);
    for (int n = 0, k = 0; n < 3 && k < 3000; k++) {
        FILE *f = fopen(path, "r");
        if (!f || fscanf(f, "%*d %*s %c", &state) != 1) state = 0;
        if (f) fclose(f);
        n += state == 'S';
        usleep(10000);
    }
}

/* As set_off, for code that waits for a worker: returns when it does. */
static void set_waiting(Session *s, const char *code) {
    set_off(s, code);
    asleep(s);
}

/* Builtins over many host values, again and again: each looks for Ctrl-C, and then has no
 * result. */
static void host_work(void) {
    static const char *const work[] = {"sorted(xs)",
                                       "list(range(50000000))",
                                       "xs * 10",
                                       "shuffle(xs * 4)",
                                       "(text * 4).split()",
                                       "(text * 6).replace(\",\", \";\")",
                                       "\", \".join(words * 9)",
                                       "str([xs, xs])",
                                       "tensor([xs, xs, xs])",
                                       "load(path)",
                                       "enumerate(xs * 4)",
                                       "copy(xs * 9)",
                                       "[xs] * 200 == [ys] * 200",
                                       "[xs] * 200 < [ys] * 200",
                                       "[xs, 1] in [[ys, 2]] * 200"};
    Session s = prompt();
    line(&s, "xs = shuffle(range(4000000)); text = str(xs); words = text.split(); y = 7", NULL);
    line(&s, "ys = copy(xs)", NULL);
    line(&s, "path = shell(\"mktemp -d\").strip() + \"/a.csv\"; d = path[:len(path) - 6]", NULL);
    line(&s, "n = shell(\"seq 4000000 >\" + path)", NULL);
    for (size_t k = 0; k < sizeof work / sizeof *work; k++) {
        char code[96];
        snprintf(code, sizeof code, "for i in range(999) { z = %s }; y = 8", work[k]);
        set_off(&s, code);
        interrupt(&s, "interrupted");
        line(&s, "y", "\n7\n");
    }
    line(&s, "n = shell(\"rm -r \" + d)", NULL);
    leave(&s, "\004", 0);
}

/* A long text on a terminal that is slow to read: Ctrl-C ends it. */
static void long_print(const char *code) {
    Session s = prompt();
    line(&s, "text = \"word \" * 1000000", NULL);
    set_off(&s, code);
    expect(&s, "word word word ");
    interrupt(&s, "interrupted");
    CHECK_MSG(s.all.n < 2000000, "%zu bytes after Ctrl-C in %s", s.all.n, code);
    line(&s, "len(text)", "\n5000000\n");
    leave(&s, "\004", 0);
}

/* A prompt at a cluster, with x computed. */
static Session prompt_at(const Cluster *c) {
    Session s = start((const char *[]){"-q", "--norc", "-d", c->where, NULL});
    expect(&s, "gt> ");
    line(&s, "x = ones(2); host = 5; x.sum().item()", "2.0\n");
    return s;
}

/* Types a line, and waits for the next prompt; false if the line says first that it waits. */
static bool is_back(Session *s, const char *code) {
    long until = now_ms() + LIMIT_MS;
    type(s, code);
    reply(s, "\r", code);
    do {
        if (strstr(s->all.data + s->seen, "waiting: ")) return false;
    } while (!strstr(s->all.data + s->seen, "gt> ") && more(s, until));
    expect(s, "gt> ");
    return true;
}

/* A fetch from a worker that is stuck: Ctrl-C gives the prompt, which works; values of the host are
 * there, statements wait for nothing, and the worker's work is done when it goes on. */
static void stuck_fetch(Cluster *c) {
    Session s = prompt_at(c);
    kill(c->worker, SIGSTOP);
    set_waiting(&s, "y = x + 1; y.sum().item()");
    interrupt(&s, "instructions; Ctrl-C again drops them\n");
    line(&s, "2 + 2", "\n4\n");
    line(&s, ":who", "\nx             -  tensor f32[2], 8 bytes\n"); /* waits for no worker */
    /* Issues an instruction, and does not wait either, if the oldest one is less than 2 s old. */
    bool is_quick = is_back(&s, "z = y * host");
    if (!is_quick) {
        printf("prompt_work: too busy to see that a statement does not wait\n");
        kill(c->worker, SIGCONT);
        expect(&s, "gt> ");
    }
    set_off(&s, "z.sum().item()");
    if (is_quick) expect(&s, "waiting: "); /* says what it waits for */
    kill(c->worker, SIGCONT);
    expect(&s, "\n20.0\n");
    expect(&s, "gt> ");
    line(&s, "y", "\ntensor([2., 2.])\n");
    leave(&s, "\004", 0);
}

/* Ctrl-C twice: the work is dropped, and the names are listed when the worker answers, however
 * late. It may read the work before the cancel, so the work begins with seconds of it. */
static void stuck_twice(Cluster *c) {
    Session s = prompt_at(c);
    for (int k = 0; k < 2; k++) {
        kill(c->worker, SIGSTOP);
        set_waiting(&s, "b = ones(1).expand(2 ** 34).sum(); "
                        "for i in range(20) { y = x + b + i; v = y.sum() }; v.item()");
        interrupt(&s, "Ctrl-C again drops them\n");
        interrupt(&s, "what has begun is still running\n");
        if (k == 0) line(&s, "host * 2", "\n10\n");
        type(&s, "1 + ");
        expect(&s, "1 + ");
        if (k == 1) usleep(500000);
        kill(c->worker, SIGCONT);
        expect(&s, "were not executed; lost: b, y, v\n"); /* without x, and ans */
        expect(&s, "gt> 1 + "); /* the line that is half typed is drawn again */
        ask(&s, "41\r", "\n42\n");
        line(&s, "x", "\ntensor([1., 1.])\n");
    }
    leave(&s, "\004", 0);
}

/* The prompt waits 15 ms for a worker that does not answer; a busy machine gets more tries. */
static void quick_cancel(Cluster *c) {
    Session s = prompt_at(c);
    for (int k = 0; k == 0 || (k < 20 && last_ms >= 40); k++) {
        kill(c->worker, SIGSTOP);
        set_waiting(&s, "y = x + 1; y.sum().item()");
        interrupt(&s, "Ctrl-C again drops them\n");
        interrupt(&s, "what has begun is still running\n");
        kill(c->worker, SIGCONT);
        expect(&s, "\ninterrupted");
        expect(&s, "gt> ");
        line(&s, "x", "tensor([1., 1.])\n");
    }
    CHECK_MSG(last_ms < 40, "the prompt came after %ld ms", last_ms);
    leave(&s, "\004", 0);
}

/* A statement after dropped work is not interrupted by it. */
static void after_drop(Cluster *c) {
    Session s = prompt_at(c);
    kill(c->worker, SIGSTOP);
    set_waiting(&s, "b = ones(1).expand(2 ** 34).sum(); b.item()");
    interrupt(&s, "Ctrl-C again drops them\n");
    interrupt(&s, "what has begun is still running\n");
    set_waiting(&s, "v = (x + 1).sum().item(); sync(); host = 6");
    kill(c->worker, SIGCONT);
    expect(&s, "gt> ");
    expect(&s, "\ninterrupted: ");
    expect(&s, "lost: b\n");
    expect(&s, "gt> ");
    line(&s, "host", "\n6\n");
    leave(&s, "\004", 0);
}

/* A statement that said what it waits for: one more Ctrl-C drops the work. */
static void drop_while_waiting(Cluster *c) {
    Session s = prompt_at(c);
    kill(c->worker, SIGSTOP);
    set_waiting(&s, "y = x + 1; y.sum().item()");
    interrupt(&s, "Ctrl-C again drops them\n");
    set_off(&s, "y.sum().item()");
    expect(&s, "waiting: ");
    interrupt(&s, "what has begun is still running\n");
    line(&s, "host", "\n5\n");
    kill(c->worker, SIGCONT);
    expect(&s, "\ninterrupted");
    expect(&s, "gt> ");
    line(&s, "x * 3", "\ntensor([3., 3.])\n");
    leave(&s, "\004", 0);
}

/* Ctrl-D with work behind the prompt asks once; a line in between takes the question back. */
static void leave_work(Cluster *c) {
    Session s = prompt_at(c);
    kill(c->worker, SIGSTOP);
    set_waiting(&s, "y = x + 1; y.sum().item()");
    interrupt(&s, "Ctrl-C again drops");
    reply(&s, "\004", " not done: Ctrl-D again leaves\n");
    expect(&s, "gt> ");
    line(&s, "host", "\n5\n");
    reply(&s, "\004", " not done: Ctrl-D again leaves\n");
    expect(&s, "gt> ");
    type(&s, "\004");
    usleep(100000);
    kill(c->worker, SIGCONT);
    CHECK_INT(finish(&s), 0);
}

/* Commands and measured statements say that they wait, too, and Ctrl-C drops the work; what an
 * interrupted :time leaves behind is not silent. */
static void commands_wait(Cluster *c) {
    static const char *const waits[] = {":time x.sum().item()\r", ":kernel x.sum().item()\r",
                                        "x.sum().item()\r"};
    Session s = prompt_at(c);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        kill(c->worker, SIGSTOP);
        reply(&s, ":time (x + 1).sum().item()\r", ".item()\n");
        asleep(&s);
        interrupt(&s, "Ctrl-C again drops them\n");
        if (i == 2) line(&s, ":time on", NULL);
        reply(&s, waits[i], "waiting: ");
        interrupt(&s, "what has begun is still running\n");
        kill(c->worker, SIGCONT);
        expect(&s, "\ninterrupted");
        expect(&s, "gt> ");
        line(&s, "x * 3", "\ntensor([3., 3.])\n");
    }
    leave(&s, "\004", 0);
}

/* The failure of an instruction behind the prompt appears above the line that is half typed. */
static void late_error(Cluster *c) {
    Session s = prompt_at(c);
    kill(c->worker, SIGSTOP);
    set_waiting(&s, "m = linalg.inv(zeros(2, 2))");
    interrupt(&s, "Ctrl-C again drops");
    type(&s, "host + ");
    expect(&s, "host + ");
    kill(c->worker, SIGCONT);
    expect(&s, "singular");
    expect(&s, "gt> host + ");
    ask(&s, "2\r", "\n7\n");
    leave(&s, "\004", 0);
}

/* The same on a terminal that can clear a line, with the loss of the worker and its work. */
static void late_loss(Cluster *c) {
    setenv("REPL_TERM", "1", 1);
    setenv("TERM", "xterm", 1);
    Session s = prompt_at(c);
    kill(c->worker, SIGSTOP);
    set_waiting(&s, "for i in range(100) { x += 1 }; x.sum().item()");
    interrupt(&s, "Ctrl-C again drops them");
    interrupt(&s, "what has begun is still running\n");
    type(&s, "host + ");
    expect(&s, "host + ");
    kill(c->worker, SIGKILL);
    expect(&s, "w0 is gone");
    expect(&s, ":connect");
    expect(&s, "host + ");
    ask(&s, "3\r", "8\n");
    CHECK(strstr(s.all.data, "host + \n") == NULL); /* no copy of the line stays above */
    type(&s, ":connect\r");
    expect(&s, "connected to ");
    expect(&s, "gt> ");
    line(&s, "host", "5\n");
    line(&s, "print(ones(2)); print(\"after\")", "\ntensor([1., 1.])\nafter\n");
    leave(&s, "\004", 0);
    unsetenv("REPL_TERM");
}

/* Reads about a MiB of what the file's writer has left; false at its end. */
static bool read_some(int fd) {
    static char chunk[1 << 16];
    for (size_t n = 0; n < 1 << 20;) {
        struct pollfd in = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&in, 1, LIMIT_MS) > 0 ? read(fd, chunk, sizeof chunk) : 0;
        if (got <= 0) return false;
        n += (size_t)got;
    }
    return true;
}

/* A save behind the prompt: what needs none of its values runs at once; while the file is written,
 * keys are read, and a complete line says what it waits for. A pipe stands for a slow disk. */
static void stuck_save(Cluster *c) {
    char path[64], save[96];
    Session s = prompt_at(c);
    snprintf(path, sizeof path, "%s/pipe.npy", c->dir);
    snprintf(save, sizeof save, "save(big, \"%s\")", path);
    CHECK(!mkfifo(path, 0600));
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(fd >= 0 && !fcntl(fd, F_SETFL, 0));
    line(&s, "big = ones(5000000); sync()", NULL);
    kill(c->worker, SIGSTOP);
    set_waiting(&s, save);
    interrupt(&s, "Ctrl-C again drops them\n");
    size_t before = s.all.n;
    line(&s, "6 * 7", "\n42\n");
    line(&s, "print(host)", "\n5\n");
    CHECK(!strstr(s.all.data + before, "waiting: "));
    kill(c->worker, SIGCONT);
    CHECK(read_some(fd));
    type(&s, "host + ");
    while (!strstr(s.all.data + s.seen, "host + ") && read_some(fd)) more(&s, now_ms() + 50);
    type(&s, "3\r");
    while (!strstr(s.all.data + s.seen, "waiting: a file is being written") && read_some(fd))
        more(&s, now_ms() + 100);
    expect(&s, "waiting: a file is being written; Ctrl-C ends that\n");
    while (read_some(fd)) {}
    expect(&s, "8\n");
    expect(&s, "gt> ");
    line(&s, "sync()", NULL);
    close(fd);
    leave(&s, "\004", 0);
}

/* The same while the text of a file is made: seconds of work, as the line has to be typed in its
 * first part. Ctrl-C ends that, and the line runs. */
static void stuck_text(Cluster *c) {
    char save[96], aside[96];
    Session s = prompt_at(c);
    snprintf(aside, sizeof aside, "%s/.big.json.%d.tmp", c->dir, (int)s.pid);
    snprintf(save, sizeof save, "save([big] * 12, \"%s/big.json\")", c->dir);
    line(&s, "big = ones(5000000); sync()", NULL);
    kill(c->worker, SIGSTOP);
    set_off(&s, save);
    interrupt(&s, "Ctrl-C again drops them\n");
    kill(c->worker, SIGCONT);
    for (int k = 0; k < 3000 && access(aside, F_OK); k++) usleep(10000); /* it is begun */
    type(&s, "host + 3\r");
    expect(&s, "waiting: a file is being written; Ctrl-C ends that\n");
    type(&s, "\003");
    expect(&s, "8\n");
    expect(&s, "gt> ");
    line(&s, "sync()", NULL);
    leave(&s, "\004", 0);
}

/* In one process: a loop, and one kernel of minutes, with Ctrl-C once and twice. */
static void embedded(void) {
    Session s = start((const char *[]){"-q", "--norc", "-w", "1", NULL});
    expect(&s, "gt> ");
    line(&s, "x = ones(2); n = {i: 0}", NULL);
    set_off(&s, "while true { n.i += 1 }");
    interrupt(&s, "interrupted");
    line(&s, "n.i > 0", "\ntrue\n");
    set_off(&s, "while true { w = x @ x }");
    interrupt(&s, "interrupted");
    set_waiting(&s, "y = ones(1).expand(2 ** 42).sum(); y.item()");
    interrupt(&s, "Ctrl-C again drops");
    line(&s, "6 * 7", "\n42\n");
    interrupt(&s, "interrupted");
    line(&s, "x + 1", "\ntensor([2., 2.])\n");
    /* Ctrl-C twice after a failure that is not yet reported: it is no reason to have lost x. */
    set_waiting(&s, "m = linalg.inv(zeros(2, 2)); y = ones(1).expand(2 ** 42).sum(); y.item()");
    interrupt(&s, "Ctrl-C again drops");
    reply(&s, "\003", "singular");
    expect(&s, "lost: y, m\n");
    expect(&s, "gt> ");
    leave(&s, "\004", 0);
}

int main(void) {
    if (!pty_begin("prompt_work")) return CHECK_SKIPPED;
    embedded();
    host_work();
    long_print("print(text)");
    long_print("text");
    Cluster c = cluster_start();
    stuck_fetch(&c);
    stuck_twice(&c);
    quick_cancel(&c);
    after_drop(&c);
    drop_while_waiting(&c);
    leave_work(&c);
    commands_wait(&c);
    late_error(&c);
    stuck_save(&c);
    stuck_text(&c);
    late_loss(&c);
    cluster_end(&c);
    printf("prompt_work: back after Ctrl-C within %ld ms\n", slowest_ms);
    return check_report("prompt_work");
}
