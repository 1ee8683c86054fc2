/* prompt_typing_test.c: what is typed and pasted at the prompt, on a pseudo terminal: words, x?,
 * else on a line of its own, half-typed blocks and Ctrl-C and Ctrl-D, transcripts, long pastes, the
 * history of several runs, the terminal's mode after signals.
 * SPDX-License-Identifier: MIT */
#include "pty.h"
#include <sys/stat.h>

static void words(void) {
    Session s = prompt();
    line(&s, "x = ones(2)", NULL);
    line(&s, "help", "\n:help ");
    line(&s, "x?", "tensor f32[2]");
    line(&s, "zip?", "zip(");
    line(&s, "nn.Linear??", "module Linear(");
    line(&s, "??exp", "gradient: d * y.");
    line(&s, "?x.mean", "mean(");
    line(&s, "clear", NULL);
    line(&s, "1 + 2", "\n3\n");
    line(&s, "_ * 2", "\n6\n");
    line(&s, "ans + _", "\n12\n");
    line(&s, "_ = 100", NULL); /* a variable from now on */
    line(&s, "5", "\n5\n");
    line(&s, "_", "\n100\n");
    line(&s, "help = 4", NULL);
    line(&s, "help", "\n4\n");
    line(&s, "quit = 5", NULL);
    line(&s, "quit", "\n5\n");
    leave(&s, "exit\r", 0);
    s = prompt();
    leave(&s, "quit\r", 0);
}

static void else_alone(void) {
    Session s = prompt();
    line(&s, "n = 0", NULL);
    line(&s, "if n > 0 { print(\"p\") }", NULL);
    line(&s, "else { print(\"not \" + \"p\") }", "\nnot p\n");
    line(&s, "if n == 0 { n = 1 }", NULL); /* its condition is not asked again */
    type(&s, "elif n == 1 {\r");
    expect(&s, "{…> ");
    ask(&s, "n = 2 }\r", "");
    line(&s, "else { n = 3 }", NULL);
    line(&s, "n", "\n1\n");
    line(&s, "if n == 9 { zzz }", NULL);
    line(&s, "elif n == 8 { zzz }", NULL);
    line(&s, "else { yyy }", "error: 'yyy' is not defined");
    line(&s, "else { 1 }", "error: ");
    leave(&s, "\004", 0);
}

/* Ctrl-C keeps a half-typed block in the history, Ctrl-D asks before it drops one. */
static void half_typed(void) {
    Session s = prompt();
    reply(&s, "for i in range(3) {\r", "{…> ");
    reply(&s, "  print(\"row\", i)", "i)"); /* Ctrl-C flushes what the terminal still has */
    reply(&s, "\003", "gt> ");
    reply(&s, "\020", "print(\"row\", i)");
    ask(&s, "\005}\r", "\nrow 2\n");
    reply(&s, "fn f() {\r", "{…> ");
    reply(&s, "\004", "Ctrl-D again leaves");
    expect(&s, "{…> ");
    ask(&s, "return 8 }\r", "");
    line(&s, "f()", "\n8\n");
    reply(&s, "fn g() {\r", "{…> ");
    reply(&s, "\004", "Ctrl-D again leaves");
    expect(&s, "{…> ");
    leave(&s, "\004", 0);
}

static void transcript(void) {
    Session s = prompt();
    type(&s, "\033[200~gt> a = 5\rgt> a\r5\rgt> fn f(x) {\r {…> return x + a }\rgt> f(1)\r6\rgt> "
             "f(2) * 10\033[201~\r");
    expect(&s, "\n70\n");
    expect(&s, "gt> ");
    CHECK(strstr(s.all.data, "error") == NULL);
    line(&s, "a", "\n5\n");
    leave(&s, "\004", 0);
}

/* A transcript may have one prompt; the lines that its statement needs have none if they were typed
 * with Alt-Enter. Lines that begin with > alone are a program. */
static void one_prompt(void) {
    static const char *const rows[][2] = {
        {"gt> a = 5; a * 2\r10\r", "\n10\n"},
        {"\r\rgt> fn f(x) {\r    return x + a\r}\rgt> f(1)\r6\r", "\n6\n"},
        {"gt> [a,\r> 3]\r[5, true]\r", "expected an expression, but found '>'"},
        {"gt rows> b = [1,\r  2]; b\r[1, 2]\rzzz\r", ""},
        {">>> a * 3\r15\rzzz\r", "\n15\n"},
        {"c = (a\r> 4)\rc\r", "\ntrue\n"},
        {"> a\ra\r", "expected an expression, but found '>'"},
    };
    Session s = prompt();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        type(&s, "\033[200~");
        type(&s, rows[i][0]);
        type(&s, "\033[201~\r");
        expect(&s, rows[i][1]);
        expect(&s, "gt> ");
    }
    line(&s, "b", "\n[1, 2]\n");
    CHECK(!strstr(s.all.data, "not defined") && !strstr(s.all.data, "[5, true]\ngt> \n[5"));
    leave(&s, "\004", 0);
}

/* What a paste leaves out is said: it may have been no output. */
static void left_out(void) {
    static const char *const rows[][2] = {
        {"gt> a = 1\rprint(a)\r\rprint(2)\rx y\r",
         "\n3 lines without a prompt are taken for output and left out, from: print(a)\n"},
        {"gt> 2 * a\rb = = 2\r",
         "\n1 line without a prompt is taken for output and left out: b = = 2\n"},
        {">>> a = 1\r1\033\r>>> a\r1\r2\r", "left out, from: 1?\n"},
        {"gt> a\ra * 7\r", "left out: a * 7\n1\n"},
        {"gt> q = 5\rq * 2\r10\r", "\n10\n10\n"},
        {"gt> fn f() {\r  return 9\r}\rf()\r", "\n9\n"},
        {"gt> q = 5; q\r5\rq * 2\r", "\n2 lines without a prompt"},
    };
    Session s = prompt();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        type(&s, "\033[200~");
        type(&s, rows[i][0]);
        type(&s, "\033[201~\r");
        expect(&s, rows[i][1]);
        expect(&s, "gt> ");
    }
    size_t before = s.all.n;
    type(&s, "\033[200~gt> a = 1\rb = 2\r\033[201~\r");
    expect(&s, "gt> ");
    line(&s, "a + b", "\n3\n");
    CHECK(!strstr(s.all.data + before, "left out"));
    leave(&s, "\004", 0);
}

/* Transcripts of Python and IPython: what was typed runs, what was printed is left out. */
static void python(void) {
    Session s = prompt();
    type(&s, "\033[200~>>> a = [1,\r...      2]\r>>> a\r[1, 2]\r>>>\r>>> a[1] * 21\r42\033[201~\r");
    expect(&s, "\n[1, 2]\n42\n");
    expect(&s, "gt> ");
    type(&s,
         "\033[200~In [1]: b = [3,\r   ...:      4]\r\rIn [12]: b[1] * 2\rOut[12]: 8\033[201~\r");
    expect(&s, "\n8\n");
    expect(&s, "gt> ");
    line(&s, ">>> a[0] + b[0]", "\n4\n");
    CHECK(strstr(s.all.data, "error") == NULL);
    reply(&s, "t = \"\"\"x\r", "…> "); /* text, not a prompt */
    ask(&s, ">>> y\"\"\"\r", "");
    line(&s, "t", "\"x\\n>>> y\"");
    leave(&s, "\004", 0);
}

/* A script of 200 lines, which is taller than the terminal: it is not shown, and runs on Enter. */
static void long_paste(void) {
    Bytes text = {0};
    setenv("REPL_TERM", "1", 1);
    setenv("TERM", "xterm", 1);
    bytes_puts(&text, "\033[200~total = 0\r");
    for (int i = 0; i < 49; i++)
        bytes_printf(&text, "if total >= 0 {\r    total += %d\r}\relse { total = -1 }\r", i);
    bytes_puts(&text, "total += 1\rprint(\"total\", total)\r\033[201~");
    Session s = prompt();
    type(&s, "x = 3; ");
    expect(&s, "x = 3; ");
    type(&s, text.data);
    expect(&s, "200 lines pasted");
    CHECK(strstr(s.all.data, "total +=") == NULL);
    reply(&s, "\r", "total 1177\n");
    expect(&s, "gt> ");
    line(&s, "x", "3\n");
    type(&s, text.data);
    expect(&s, "200 lines pasted");
    ask(&s, "\003", "");
    line(&s, "x + 1", "4\n");
    type(&s, text.data);
    expect(&s, "200 lines pasted");
    ask(&s, "\004", "the pasted lines have not run: Ctrl-D again leaves");
    ask(&s, "\003", "");
    line(&s, "x + 2", "5\n");
    leave(&s, "\004", 0);
    unsetenv("REPL_TERM");
    bytes_fini(&text);
}

/* Ctrl-C ends the wait for the rest of a paste; NUL in a paste does not end it. */
static void strange_paste(void) {
    static const char zero[] = "\033[200~x = 1\0"
                               "2\rx + 1\033[201~\r";
    if (!IS_READLINE) return;
    setenv("REPL_TERM", "1", 1);
    setenv("TERM", "xterm", 1);
    Session s = prompt();
    CHECK(write(s.fd, zero, sizeof zero - 1) == (ssize_t)sizeof zero - 1);
    expect(&s, "\n13\n");
    expect(&s, "gt> ");
    type(&s, "\033[200~x = 5\r");
    usleep(200000);
    ask(&s, "\003", "");
    line(&s, "x + 2", "\n14\n");
    leave(&s, "\004", 0);
    unsetenv("REPL_TERM");
}

/* Prompts that run at the same time share a history, entries of several lines included. */
static void histories(void) {
    char path[] = "/tmp/gt-typing-XXXXXX";
    static const char old[] = "#1700000000\nold = \"\033[31m\"\n";
    int fd = mkstemp(path);
    CHECK(write(fd, old, sizeof old - 1) == (ssize_t)sizeof old - 1);
    close(fd);
    setenv("GT_HISTFILE", path, 1);
    Session a = prompt(), b = prompt();
    if (IS_READLINE) line(&a, ":history", "\n    1  old = \"?[31m\"\n"); /* no colour */
    line(&a, "first = 1", NULL);
    line(&b, "second = 2", NULL);
    reply(&a, "fn f() {\r", "{…> ");
    ask(&a, "return 3 }\r", "");
    line(&b, " hidden = 4", NULL);
    line(&b, ":history", "second = 2\n");
    leave(&a, "\004", 0);
    reply(&b, "while true {\r", "{…> "); /* left half typed */
    reply(&b, "\004", "Ctrl-D again leaves");
    expect(&b, "{…> ");
    leave(&b, "\004", 0);
    Session c = prompt();
    reply(&c, ":history\r", "  first = 1\n");
    expect(&c, "  second = 2\n");
    expect(&c, "  fn f() {\n       return 3 }\n");
    expect(&c, "  while true {\n");
    expect(&c, "gt> ");
    ask(&c, "\020\020\020\020\r", "return 3 }");
    line(&c, "f()", "\n3\n");
    CHECK(strstr(c.all.data, "hidden") == NULL);
    leave(&c, "\004", 0);
    setenv("GT_HISTFILE", "", 1);
    unlink(path);
}

/* How often a text is in the file; its mode is that of a file for its owner only. */
static int times_in(const char *path, const char *text) {
    Bytes b = {0};
    struct stat st = {0};
    int n = 0;
    CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0600);
    CHECK(bytes_read(&b, path, 1 << 24));
    for (const char *at = b.n ? b.data : ""; (at = strstr(at, text)); at++) n++;
    bytes_fini(&b);
    return n;
}

/* The history file keeps the newest entries, whole ones; none is lost below the bound. */
static void bounded_history(void) {
    char dir[] = "/tmp/gt-typing-XXXXXX", path[64], entry[64];
    struct stat st = {0};
    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/state/history", dir);
    setenv("GT_HISTFILE", path, 1);
    Session s = prompt();
    for (int i = 0; i < 7; i++) {
        snprintf(entry, sizeof entry, "f%d = fn() {\r", i);
        reply(&s, entry, "{…> ");
        ask(&s, "0 }\r", "");
    }
    leave(&s, "\004", 0);
    CHECK_INT(times_in(path, "fn()"), 7);
    *strrchr(path, '/') = '\0';
    CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0700);
    path[strlen(path)] = '/';
    setenv("GT_HISTFILESIZE", "7", 1);
    s = prompt();
    line(&s, "5", NULL); /* the eighth */
    leave(&s, "\004", 0);
    CHECK_INT(times_in(path, "fn()"), 7);
    CHECK(chmod(path, 0644) == 0);
    setenv("GT_HISTFILESIZE", "4", 1);
    Session other = prompt(); /* makes another file; */
    s = prompt();
    line(&other, "6", NULL); /* both append to that one */
    line(&s, "7", NULL);
    line(&s, ":history", "  f6 = fn() {\n       0 }\n");
    leave(&other, "\004", 0);
    leave(&s, "\004", 0);
    CHECK_INT(times_in(path, "fn()"), 3);
    CHECK_INT(times_in(path, "f3"), 0);
    CHECK_INT(times_in(path, "\n6\n") + times_in(path, "\n7\n"), 2);
    CHECK_INT(times_in(path, "}\n"), 3);
    setenv("GT_HISTFILESIZE", "many", 1);
    s = prompt();
    CHECK(strstr(s.all.data, "GT_HISTFILESIZE is a number of entries, got 'many'") != NULL);
    leave(&s, "\004", 0);
    CHECK_INT(times_in(path, "fn()"), 3);
    unsetenv("GT_HISTFILESIZE");
    setenv("GT_HISTFILE", "", 1);
    char remove[96];
    snprintf(remove, sizeof remove, "rm -r %s", dir);
    CHECK(system(remove) == 0);
}

/* Each print has the terminal's width at that time. */
static void resized(void) {
    Session s = prompt();
    line(&s, "x = arange(30)", NULL);
    line(&s, "x", " 24, 25, 26, 27,\n        28, 29])\n");
    resize(&s, 40, 60);
    line(&s, "x", " 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12,\n");
    resize(&s, 40, 200);
    line(&s, "x",
         "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, "
         "18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])\n");
    resize(&s, 40, 60);
    line(&s, "abs(1) + abs(2) + abs(3) + abs(4) + abs(5) + missing + abs(6)",
         " | ... 3) + abs(4) + abs(5) + missing + abs(6)\n");
    resize(&s, 40, 200);
    line(&s, "set_print(precision=2)", NULL); /* keeps the terminal's width */
    resize(&s, 40, 60);
    line(&s, "x", " 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12,\n");
    leave(&s, "\004", 0);
}

/* A signal that ends gtsh at the prompt leaves no raw terminal. */
static void ended_by_signals(void) {
    static const int number[] = {SIGTERM, SIGHUP, SIGQUIT, SIGABRT};
    setenv("REPL_TERM", "xterm", 1);
    setenv("TERM", "xterm", 1);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        signal(number[i], SIG_DFL); /* not that of a shell's `&` or of nohup */
        Session s = prompt();
        type(&s, "1 +");
        expect(&s, "1 +");
        if (HAS_KEYS) CHECK(becomes(&s, false));
        kill(s.pid, number[i]);
        if (HAS_KEYS) expect(&s, "\033[?2004l");
        CHECK_MSG(becomes(&s, true), "raw after signal %d", number[i]);
        CHECK_INT(finish(&s), 128 + number[i]);
    }
    unsetenv("REPL_TERM");
}

int main(void) {
    if (!pty_begin("prompt_typing")) return CHECK_SKIPPED;
    words();
    else_alone();
    half_typed();
    transcript();
    if (IS_READLINE) one_prompt();
    if (IS_READLINE) left_out();
    python();
    long_paste();
    strange_paste();
    histories();
    if (HAS_KEYS) bounded_history();
    resized();
    ended_by_signals();
    return check_report("prompt_typing");
}
