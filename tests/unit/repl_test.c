/* repl_test.c: the prompt on a pseudo terminal, as a user sees it: echo, continuation, paste, help,
 * errors, Ctrl-C at the prompt and during work, Ctrl-D, history; and Ctrl-C in a script.
 * SPDX-License-Identifier: MIT */
#include "patience.h"
#include "pty.h"
#include <sys/stat.h>

static void echo(void) {
    Session s = start((const char *[]){"--norc", NULL});
    expect(&s, "gtsh ");
    expect(&s, "gt> ");
    line(&s, "x = 1 + 2", NULL);
    line(&s, "x", "\n3\n");
    line(&s, "\"a\" + 'b'", "\n\"ab\"\n");
    line(&s, "print(\"a\")", "\na\n");
    line(&s, "x * 2;", NULL);
    line(&s, "x * 100", "\n300\n");
    line(&s, "ans + 1", "\n301\n");
    line(&s, "none", NULL);
    line(&s, "ones(2) + 1", "\ntensor([2., 2.])\n");
    line(&s, "rondn(2)",
         "repl:10:1: error: 'rondn' is not defined\n 10 | rondn(2)\n    | ^^^^^ did you mean "
         "'randn'?\n");
    line(&s, "ones(2) @ ones(3)", "error: ");
    line(&s, "x", "\n3\n");
    line(&s, ":who", "x ");
    line(&s, "?zip", "zip(");
    line(&s, ":whp", "there is no command ':whp'");
    leave(&s, "exit(7)\r", 7);
}

static void continuation(void) {
    Session s = prompt();
    reply(&s, "fn f(v) {\r", " {…> ");
    reply(&s, "\r", " {…> ");
    reply(&s, "y = [v,\r", " […> ");
    reply(&s, "2]\r", " {…> ");
    reply(&s, "return y }\r", "gt> ");
    line(&s, "f(21)", "\n[21, 2]\n");
    reply(&s, "1 +\r", " …> ");
    line(&s, "2", "\n3\n");
    reply(&s, "\"\"\"a\r", "…> ");
    line(&s, "b\"\"\"", "\"a\\nb\"");
    /* Ctrl-C discards the typed line and an incomplete statement. */
    reply(&s, "fn g() {\r", " {…> ");
    reply(&s, "abc\003", "gt> ");
    line(&s, "5", "\n5\n");
    leave(&s, "\004", 0);
}

/* Bracketed paste inserts several lines at once; they run one by one, up to the first error. */
static void paste(void) {
    Session s = prompt();
    type(&s, "\033[200~gt> a = 5\rif a > 3 {\r  print(\"big\")\r}\relse {\r  print(\"small\")\r}\r"
             "zzz\rprint(\"not run\")\033[201~\r");
    expect(&s, "\nbig\n");
    expect(&s, "'zzz' is not defined");
    expect(&s, "gt> ");
    line(&s, "a", "\n5\n");
    CHECK(strstr(s.all.data, "\nnot run") == NULL);
    leave(&s, ":q\r", 0);
}

static void interrupt(void) {
    Session s = prompt();
    line(&s, "n = {i: 0}", NULL);
    set_off(&s, "while true { n.i += 1 }");
    ask(&s, "\003", "interrupted");
    line(&s, "n.i > 0", "\ntrue\n");
    set_off(&s, "while true { w = randn(32, 32) @ randn(32, 32) }");
    ask(&s, "\003", "interrupted");
    line(&s, "w.shape", "\n[32, 32]\n");
    line(&s, "(w - w).sum()", "\ntensor(0.)\n");
    leave(&s, "\004", 0);
}

/* An error within a training step leaves model and optimiser unchanged; so does Ctrl-C during a
 * loop of steps. */
static void training(void) {
    Session s = prompt();
    line(&s,
         "m = nn.Linear(4, 1); o = optim.Adam(m.parameters(), lr=0.01); X = randn(16, 4); Y = "
         "X.sum(axis=1, keepdims=true)",
         NULL);
    type(&s, "fn step(x) { o.zero_grad(); l = ((m(x) - Y) ** 2).mean(); backward l; o.step(); "
             "return l }\r");
    expect(&s, "return l }");
    expect(&s, "gt> ");
    line(&s, "a = step(X).item(); b = step(X).item(); b < a", "\ntrue\n");
    line(&s, "step(randn(16, 5))", "error: ");
    line(&s, "c = step(X).item(); c < b", "\ntrue\n");
    set_off(&s, "while true { step(X) }");
    ask(&s, "\003", "interrupted");
    line(&s, "d = step(X).item(); d <= c", "\ntrue\n");
    leave(&s, "\004", 0);
}

/* An interrupted statement leaves nothing: no temporaries of a loop and no partial graph; after a
 * second Ctrl-C, which cancels what has not started, no names of lost tensors either. */
static void interrupt_memory(void) {
    Session s = prompt();
    line(&s,
         "fn held() { sync(); s = stats(); return [s.your_bytes, s.your_tensors, "
         "s[\"w0.tensors\"], s[\"w0.storages\"]] }",
         NULL);
    line(&s, "m = nn.Linear(8, 1); o = optim.Adam(m.parameters()); X = randn(16, 8)", NULL);
    line(&s, "fn step() { o.zero_grad(); backward (m(X) ** 2).mean(); o.step() }", NULL);
    line(&s, "step(); o.zero_grad(); before = held(); len(before)", "\n4\n");
    set_off(&s, "while true { step() }");
    ask(&s, "\003", "interrupted");
    line(&s, "o.zero_grad(); held() == before", "\ntrue\n");
    set_off(&s, "while true { y = randn(64, 64); for i in range(50) { y = (y @ y).tanh() } }");
    reply(&s, "\003", "interrupted");
    type(&s, "\003\003");
    usleep(100000);
    reply(&s, "\r", "gt> ");
    ask(&s, "y = none; i = none; held() == before\r", "\ntrue\n");
    leave(&s, "\004", 0);
}

/* Commands whose output is longer than the terminal go through $PAGER, and the prompt works after
 * it, however it ends; short output, values and other terminals use no pager. */
static void pager(void) {
    setenv("REPL_TERM", "1", 1);
    setenv("TERM", "xterm", 1);
    setenv("GT_FUSE", "wait", 1);
    setenv("PAGER", "sed 's/^/paged: /'", 1);
    Session s = prompt();
    line(&s, "y = tanh(rand(64, 64) * 2.0 + 1.0); sync()", NULL);
    reply(&s, ":kernel y\r", ":kernel y");
    bool has_kernel = !system("cc --version >/dev/null 2>&1");
    expect(&s, has_kernel ? "paged: /* w0: one kernel of several" : "/* w0: ");
    if (has_kernel) expect(&s, "signature)};\n");
    expect(&s, "gt> ");
    size_t from = s.seen;
    line(&s, ":help", ":workers");
    line(&s, "for i in range(60) { print(i) }", "\n59\n");
    CHECK(!strstr(s.all.data + from, "paged"));
    line(&s, "?", "paged: ");
    leave(&s, ":q\r", 0);
    /* what a command starts gets standard input, output and errors, and nothing that is ours */
    char path[] = "/tmp/gt-open-XXXXXX", keys[96], command[96];
    close(mkstemp(path));
    s = prompt();
    snprintf(keys, sizeof keys, ":time shell(\"ls -l /proc/self/fd >%s\")", path);
    line(&s, keys, "each");
    leave(&s, ":q\r", 0);
    snprintf(command, sizeof command, "test $(grep -c /dev/pts %s) = 2", path);
    CHECK(system(command) == 0);
    unlink(path);
    setenv("PAGER", "head -n 2", 1); /* it ends before it has read all */
    s = prompt();
    line(&s, "?", ": ");
    line(&s, "6 * 7", "42\n");
    leave(&s, ":q\r", 0);
    setenv("PAGER", "sleep 100", 1); /* Ctrl-C, three times, is for it */
    s = prompt();
    type(&s, "?\r");
    for (int i = 0; i < 3; i++) {
        usleep(200000);
        type(&s, "\003");
    }
    expect(&s, "gt> ");
    line(&s, "6 * 7", "42\n");
    leave(&s, ":q\r", 0);
    const char *none[] = {"/no/such/pager", ""};
    for (int i = 0; i < 2; i++) {
        setenv("PAGER", none[i], 1);
        s = prompt();
        line(&s, "?", "?name explains one");
        leave(&s, ":q\r", 0);
    }
    setenv("PAGER", "sed 's/^/paged: /'", 1);
    s = start((const char *[]){"--emit", "-c", "for i in range(50) { print(ones(2) + i) }", NULL});
    expect(&s, "paged: gti 1 prog=\"-c\"");
    expect(&s, "paged: free t");
    CHECK_INT(finish(&s), 0);
    s = start((const char *[]){"--emit", "-c", "print(1)", NULL}); /* short */
    expect(&s, "gti 1 prog=\"-c\"");
    CHECK(!strstr(s.all.data, "paged"));
    CHECK_INT(finish(&s), 0);
    unsetenv("REPL_TERM"); /* TERM=dumb */
    s = prompt();
    line(&s, "?", "?name explains one");
    CHECK(!strstr(s.all.data, "paged"));
    leave(&s, ":q\r", 0);
    unsetenv("PAGER");
    unsetenv("GT_FUSE");
}

static void history(void) {
    char path[] = "/tmp/gt-history-XXXXXX";
    int fd = mkstemp(path);
    close(fd);
    unlink(path); /* the prompt makes it */
    setenv("GT_HISTFILE", path, 1);
    Session s = prompt();
    line(&s, "x = 41", NULL);
    line(&s, " secret = 1", NULL);
    reply(&s, "fn f() {\r", " {…> ");
    reply(&s, "return x }\r", "gt> ");
    leave(&s, "\004", 0);
    struct stat made = {0};
    CHECK(!stat(path, &made) && (made.st_mode & 0777) == 0600);
    char text[512] = "";
    FILE *f = fopen(path, "r");
    text[f ? fread(text, 1, sizeof text - 1, f) : 0] = '\0';
    if (f) fclose(f);
    CHECK(strstr(text, "\nx = 41\n#") != NULL);
    CHECK(strstr(text, "\nfn f() {\nreturn x }\n") != NULL);
    CHECK(strstr(text, "secret") == NULL);
    s = prompt();
    ask(&s, "\020\020\r", "x = 41"); /* up, up: the entry before the last */
    line(&s, "x", "\n41\n");
    leave(&s, "\004", 0);
    unsetenv("GT_HISTFILE");
    unlink(path);
}

/* One instruction that would take minutes: Ctrl-C gives the prompt, the second one ends the
 * computation, and the worker is free at once. */
static void interrupt_endless(void) {
    Session s = start((const char *[]){"-q", "--norc", "-w", "1", NULL});
    expect(&s, "gt> ");
    line(&s, "x = ones(2)", NULL);
    type(&s, "y = ones(1).expand(2 ** 42).sum(); print(y)\r");
    usleep(200000);
    ask(&s, "\003", "interrupted");
    ask(&s, "\003", "were not executed");
    line(&s, "x + 1", "\ntensor([2., 2.])\n");
    line(&s, "y", "interrupted");
    leave(&s, "exit(3)\r", 3);
}

/* Pending prints of a loop do not appear after Ctrl-C, neither below the prompt nor while the next
 * line is typed; a progress line stops too. Values appear complete. */
static void interrupt_prints(void) {
    Session s = prompt();
    line(&s, "x = randn(200, 200); n = {i: 0}", NULL);
    reply(&s, "while true { y = x @ x; n.i += 1; print(\"at\", n.i, y.sum()) }\r", "at 3 ");
    type(&s, "\003");
    long begin = now_ms();
    expect(&s, " interrupted (repl:2); ");
    expect(&s, "prints are not shown\n");
    expect(&s, "gt> ");
    CHECK_MSG(now_ms() - begin < patient_ms(5000), "%ld ms",
              now_ms() - begin); /* hundreds of products are in flight */
    size_t from = s.seen;
    ask(&s, "sync(); (y - x @ x).abs().sum() + 40\r", "\ntensor(40.)\n");
    CHECK_MSG(!strstr(s.all.data + from, "at "), "%.200s", s.all.data + from);
    /* A command that waits for instructions in flight is interrupted too. */
    set_off(&s, "while true { y = x @ x; print(\"at\", y.sum()) }");
    ask(&s, "\003", "prints are not shown\n");
    reply(&s, ":kernel y\r", ":kernel y\n");
    reply(&s, "\003", "gt> ");
    from = s.seen;
    line(&s, "sync(); 6 * 7", "\n42\n");
    CHECK_MSG(!strstr(s.all.data + from, "/* w0"), "%.200s", s.all.data + from);
    reply(&s, "for i in progress(range(100000)) { y = x @ x; track(loss=y.sum()) }\r", "/100000 [");
    usleep(300000);
    ask(&s, "\003", "\ninterrupted (repl:7)\n");
    from = s.seen;
    ask(&s, "sync(); 6 * 7\r", "\n42\n");
    CHECK_MSG(!strstr(s.all.data + from, "/100000"), "%.200s", s.all.data + from);
    leave(&s, "\004", 0);
    s = start((const char *[]){"-i", "-c",
                               "x = randn(200, 200)\n"
                               "while true { print(\"at\", (x @ x).sum()) }",
                               NULL});
    expect(&s, "at ");
    ask(&s, "\003", "error: interrupted"); /* none, or some prints may be pending then */
    from = s.seen;
    ask(&s, "sync(); 6 * 7\r", "\n42\n");
    CHECK_MSG(!strstr(s.all.data + from, "at "), "%.200s", s.all.data + from);
    leave(&s, "\004", 0);
}

/* Ctrl-C while input() waits is not the end of input; the typed text is dropped, and the next
 * input() works. */
static void interrupt_input(void) {
    Session s = prompt();
    reply(&s, "a = input(\"name? \")\r", "\nname? ");
    type(&s, "half");
    usleep(100000);
    ask(&s, "\003", "interrupted (repl:1)\n");
    CHECK(!strstr(s.all.data, "end of standard input"));
    /* Other calls that wait do not return normally either. */
    const char *calls[] = {"sleep(100); a = 1", "shell(\"sleep 100\"); a = 1",
                           "a = read(\"/dev/zero\")", "a = lines(\"/dev/tty\")"};
    for (int i = 0; i < 4; i++) {
        set_off(&s, calls[i]);
        ask(&s, "\003", " interrupted (repl:");
        line(&s, "a", "'a' is not defined");
    }
    reply(&s, "a = input(\"again? \")\r", "\nagain? ");
    reply(&s, "Ada\r", "gt> ");
    line(&s, "a", "\n\"Ada\"\n");
    reply(&s, "input(\"last? \")\r", "\nlast? ");
    ask(&s, "\004", "input: the end of standard input");
    leave(&s, "\004", 0);
    s = start((const char *[]){"-c", "input(\"name? \")", NULL});
    expect(&s, "name? ");
    reply(&s, "\003", "interrupted");
    CHECK_INT(finish(&s), 128 + SIGINT);
}

/* A script dies by the signal after it has cleaned up, so that a shell loop around it ends too. */
static void script(void) {
    Session s =
        start((const char *[]){"-c", "print(\"begin\"); while true { x = randn(8, 8) }", NULL});
    expect(&s, "begin");
    usleep(300000);
    leave(&s, "\003", 128 + SIGINT);
}

static void prompt_afterwards(void) {
    Session s = start((const char *[]){"-i", "-c", "y = 6; zzz", NULL});
    expect(&s, "'zzz' is not defined");
    expect(&s, "gt> ");
    line(&s, "y", "\n6\n");
    leave(&s, "\004", 0);
}

/* After a refused block the prompt skips its rest, but not what the user types anew. */
static void refused(void) {
    static const char note[] = "the rest of this block is skipped; an empty line ends that";
    Session s = prompt();
    line(&s, "x = 5", NULL);
    reply(&s, "if x = 3 {\r", note);
    reply(&s, "  x = 100\r", " }…> ");
    ask(&s, "}\r", "");
    line(&s, "x", "\n5\n");
    reply(&s, "if x = 3 {\r", note);
    ask(&s, "\r", "");
    line(&s, "x + 1", "\n6\n");
    reply(&s, "if x = 3 {\r", note);
    reply(&s, "if x == 5 {\r", "{…> ");
    ask(&s, "print(\"an\" + \"ew\") }\r", "\nanew\n");
    reply(&s, "def f() {\r", note);
    ask(&s, "\003", "");
    line(&s, "x + 2", "\n7\n");
    reply(&s, "if x = 3 {\rx = 100\r}\rx + 3\r", "\n8\n");
    expect(&s, "gt> ");
    leave(&s, "\004", 0);
}

int main(void) {
    if (!pty_begin("repl")) return CHECK_SKIPPED;
    echo();
    continuation();
    if (IS_READLINE) paste();
    interrupt();
    training();
    interrupt_endless();
    interrupt_prints();
    interrupt_input();
    if (HAS_KEYS) interrupt_memory();
    pager();
    if (IS_READLINE) history();
    setenv("GT_HISTFILE", "", 1);
    script();
    prompt_afterwards();
    if (HAS_KEYS) refused();
    return check_report("repl");
}
