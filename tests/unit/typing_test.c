/* typing_test.c: keys at the prompt on a pseudo terminal: Tab, colours, brackets, indents, and
 * pastes with and without brackets.
 * SPDX-License-Identifier: MIT */
#include "pty.h"
#include <sys/stat.h>

/* Types, and waits until the keys are drawn: what arrives at once counts as a paste. */
static void key(Session *s, const char *keys, const char *drawn) {
    usleep(10000);
    reply(s, keys, drawn);
}

static void tab(bool has_color) {
    Session s = prompt();
    key(&s, "x_train = ones(2, 3); x_test = 5", "x_test");
    key(&s, "\r", "gt> ");
    key(&s, "x_", "x_");
    key(&s, "\t", "\nx_test ");
    expect(&s, "\nx_train ");
    expect(&s, "tensor f32[2,3]");
    expect(&s, "x_t");
    key(&s, "r", "r");
    key(&s, "\t", "ain");
    key(&s, ".sh", "sh");
    key(&s, "\t", "ape");
    key(&s, "\r", "\n[2, 3]\n");
    expect(&s, "gt> ");
    key(&s, "pri", "pri");
    key(&s, "\t", "nt");
    key(&s, "x_tes", "tes");
    key(&s, "\t", "t");
    key(&s, ")\r", "\n5\n");
    expect(&s, "gt> ");
    key(&s, "x_train.sum(ax", "ax");
    key(&s, "\t", "is");
    key(&s, "0)\r", "tensor([2., 2., 2.])");
    expect(&s, "gt> ");
    key(&s, "nn.lin", "lin"); /* the case is mended */
    key(&s, "\t", "Linear");
    key(&s, "\003", "gt> ");
    key(&s, ":wh", ":wh");
    key(&s, "\t", "\n:who ");
    expect(&s, ":wh");
    key(&s, "o\r", "x_train");
    expect(&s, "gt> ");
    key(&s, ":check", "check");
    key(&s, "\t", "-nan ");
    key(&s, "of", "of");
    key(&s, "\t", "f");
    key(&s, "\r", ":check-nan off\n");
    expect(&s, "gt> ");
    key(&s, ":mode pl", "pl");
    key(&s, "\t", "ain");
    key(&s, "\r", ":mode plain\n");
    expect(&s, "gt> ");
    key(&s, "?x_train.medi", "medi");
    key(&s, "\t", "an");
    key(&s, "\r", "median");
    expect(&s, "gt> ");
    key(&s, "\tx_te", "    x_te"); /* at the margin: blanks */
    key(&s, "\t", "st");
    key(&s, "\r", "\n5\n");
    expect(&s, "gt> ");
    CHECK((strstr(s.all.data, "\033[0;") != NULL) == has_color);
    leave(&s, "\004", 0);
}

static void files(void) {
    char dir[] = "/tmp/gt-typing-XXXXXX", path[80], home[4096];
    CHECK(mkdtemp(dir) && getcwd(home, sizeof home));
    snprintf(path, sizeof path, "%s/data one.csv", dir);
    FILE *f = fopen(path, "w");
    fputs("a,b\n1,2\n", f);
    fclose(f);
    char script[80], keys[120];
    snprintf(script, sizeof script, "%s/my script.gt", dir);
    f = fopen(script, "w");
    fputs("lr = arg(\"lr\", 1, \"rate\")\nprint(\"lr\", lr)\n", f);
    fclose(f);
    Session s = prompt();
    snprintf(keys, sizeof keys, "isdir(\"%s/da", dir);
    key(&s, keys, "/da");
    key(&s, "\t", "ta one.csv\"");
    key(&s, ")\r", "\nfalse\n");
    expect(&s, "gt> ");
    snprintf(keys, sizeof keys, ":run %s/my", dir); /* the blank needs a backslash */
    key(&s, keys, "/my");
    key(&s, "\t", "\\ script.gt ");
    key(&s, "--l", "--l");
    key(&s, "\t", "r=");
    key(&s, "7\r", "\nlr 7\n");
    expect(&s, "gt> ");
    snprintf(keys, sizeof keys, ":run \"%s/my", dir);
    key(&s, keys, "/my");
    key(&s, "\t", " script.gt\" ");
    key(&s, "\r", "\nlr 1\n");
    expect(&s, "gt> ");
    setenv("HOME", dir, 1); /* of the next prompt */
    leave(&s, "\004", 0);
    s = prompt();
    key(&s, ":load ~/m", "~/m");
    key(&s, "\t", "y\\ script.gt ");
    key(&s, "\r", "\nlr 1\n");
    expect(&s, "gt> ");
    key(&s, "fn some_fn() => 1\r", "gt> ");
    key(&s, ":edit some", "some");
    key(&s, "\t", "_fn");
    key(&s, "\003", "gt> ");
    leave(&s, "\004", 0);
    unlink(path);
    unlink(script);
    rmdir(dir);
}

/* A user's own bindings stay, and readline's other commands know the same candidates. */
static void inputrc(void) {
    char path[] = "/tmp/gt-inputrc-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "$if gtsh\nTAB: menu-complete\n\"\\C-l\": \"6 * 7\"\n$endif\n";
    CHECK(write(fd, text, sizeof text - 1) == sizeof text - 1);
    close(fd);
    setenv("INPUTRC", path, 1);
    Session s = prompt();
    key(&s, "x_train = 1; x_test = 2\r", "gt> ");
    key(&s, "x_t", "x_t");
    key(&s, "\t", "e");
    key(&s, "\t", "rain");
    key(&s, "\r", "\n1\n");
    expect(&s, "gt> ");
    key(&s, "\014", "7");
    key(&s, "\r", "\n42\n");
    expect(&s, "gt> ");
    leave(&s, "\004", 0);
    unsetenv("INPUTRC");
    unlink(path);
}

/* Code pasted without brackets, with tabs: they are blanks, and complete nothing. */
static void burst(void) {
    Session s = prompt();
    type(&s, "fn f(a) {\r\tif a {\r\t\tb\t=\t1\r\t\treturn b\r\t}\r\treturn "
             "2\r}\rprint(\"f\",\tf(1),\tf(0))"
             "\r");
    expect(&s, "\nf 1 2\n");
    expect(&s, "gt> ");
    CHECK(!strstr(s.all.data, "more\n") && !strstr(s.all.data, "abs"));
    leave(&s, "\004", 0);
}

static void indents(void) {
    Session s = prompt();
    key(&s, "fn f(a) {\r", " {…>     ");
    key(&s, "if a {\r", " {…>         ");
    key(&s, "return [1,\r", " […>             ");
    key(&s, "2]\r", " {…>         ");
    key(&s, "}", " {…>     }");
    key(&s, "\r", " {…>     ");
    key(&s, "}", " {…> }");
    key(&s, "\r", "gt> ");
    key(&s, "if true {\r", " {…>     ");
    key(&s, "\177\1771 + 1",
        " {…> 1 + 1"); /* the first goes back a level, the second does nothing */
    key(&s, "\003", "gt> ");
    key(&s, "f(true)\r", "\n[1, 2]\n");
    expect(&s, "gt> ");
    key(&s, "g = [1,\r", " […>     ");
    key(&s, "\r", " […>     "); /* an empty line has no indent */
    key(&s, "2]\r", "gt> ");
    key(&s, "\020", "g = [1,\033[K\n\033[K\n    2]");
    key(&s, "\003", "gt> ");
    key(&s, "\020\020\020\020", "fn f(a) {"); /* the entry as it was indented */
    expect(&s, "\n        return [1,");
    key(&s, "\r", "gt> ");
    key(&s, "fn g() {\r", " {…>     ");
    key(&s, "\004", "Ctrl-D again leaves");
    expect(&s, " {…>     ");
    key(&s, "return 1 }; g()", "g()");
    key(&s, "\r", "\033[?2004l\n1\n"); /* no empty line */
    expect(&s, "gt> ");
    key(&s, "fn g() {\r", " {…>     ");
    key(&s, "\004", "Ctrl-D again leaves");
    expect(&s, " {…>     "); /* before, Ctrl-D is the terminal's end of file */
    leave(&s, "\004", 0);
}

static void colours(void) {
    Session s = prompt();
    key(&s, "if ", "\033[0;1;34mif\033[m ");
    key(&s, "12 ", "\033[0;35m12\033[m ");
    key(&s, "\"a\" ", "\033[0;32m\"a\"\033[m ");
    key(&s, "relu ", "\033[0;36mrelu\033[m ");
    key(&s, "zzz ", "\033[0;4mzzz\033[m ");
    key(&s, "# c", "\033[0;2m# c\033[m");
    key(&s, "\003", "gt> ");
    key(&s, "(xy", "(xy");
    key(&s, ")", "\033[0;7m(");
    key(&s, "\002\002", "gt> (xy)"); /* between: no bracket is marked */
    key(&s, "\003", "gt> ");
    key(&s, "\"\"\"a\r", "…> ");
    key(&s, "b", "\033[0;32mb"); /* the colour goes on in the next line */
    key(&s, "\"\"\"\r", "\"a\\nb\"");
    expect(&s, "gt> ");
    key(&s, "1 + 2\001\006", "1\033"); /* Enter anywhere in the line takes all of it */
    key(&s, "\r", "\n3\n");
    expect(&s, "gt> ");
    leave(&s, "\004", 0);
}

static void wrapping(void) {
    pty_size = (struct winsize){.ws_row = 10, .ws_col = 20};
    Session s = prompt();
    key(&s, "x = \"\xe6\x97\xa5\xe6\x9c\xac and a long text\"; x", "long text\"");
    key(&s, "\r", "\"\xe6\x97\xa5\xe6\x9c\xac and a long text\"\n");
    expect(&s, "gt> ");
    key(&s, "y = 'abcdefghijklmnopqrs'", "opqrs'"); /* 4 + 25 columns: two rows */
    resize(&s, 10, 40);
    expect(&s, "gt> y = \033[0;32m'abcdefghijklmnopqrs'"); /* one */
    key(&s, "\r", "gt> ");
    pty_size = (struct winsize){.ws_row = 40, .ws_col = 120};
    leave(&s, "\004", 0);
}

/* Of 100 names and more Tab asks, as readline does, and shows them a page at a time. */
static void many(void) {
    static const char question[] = "possibilities? (y or n)";
    Session s = prompt();
    key(&s, "x = gt.", "gt.");
    key(&s, "\t", "\nDisplay all ");
    expect(&s, question);
    size_t from = s.seen;
    key(&s, "?", "\a"); /* no answer */
    key(&s, "n", "x = gt.");
    CHECK(!strstr(s.all.data + from, "abs"));
    key(&s, "\t", question);
    from = s.seen;
    key(&s, "y", "abs ");
    expect(&s, "--More--");
    int rows = 0;
    for (const char *at = s.all.data + from; (at = strchr(at, '\n')); at++) rows++;
    CHECK_INT(rows, pty_size.ws_row - 1 + (IS_READLINE == 0 || getenv("REPL_TERM") == NULL));
    from = s.seen;
    key(&s, "\r", "--More--");
    key(&s, " ", "--More--");
    key(&s, "q", "x = gt.");
    CHECK(!strstr(s.all.data + from, "zeros_like")); /* on the last page */
    key(&s, "\t", question);
    key(&s, "\003", "gt> ");
    key(&s, "y = 5; y\r", "\n5\n"); /* the line was dropped */
    expect(&s, "gt> ");
    leave(&s, "\004", 0);
}

/* A bracketed paste with tabs on a terminal of 10 rows: what fits is drawn, more is held back, and
 * either runs as it is. A line that becomes taller than the terminal shows the cursor's rows. */
static void long_paste(void) {
    Bytes b = {0};
    pty_size = (struct winsize){.ws_row = 10, .ws_col = 60};
    Session s = prompt();
    key(&s, "\033[200~n = 0\rif n == 0 {\r\tn += 1\r}\033[201~", "        n += ");
    key(&s, "\r", "gt> ");
    bytes_puts(&b, "\033[200~");
    for (int i = 1; i < 67; i++) bytes_printf(&b, "if n == %d {\r\tn += 1\r}\r", i);
    bytes_puts(&b, "1\rprint(\"end at\", n)\033[201~");
    for (size_t at = 0; at < b.n;) { /* in pieces: the terminal's queue holds 4096 bytes */
        size_t n = b.n - at > 1000 ? 1000 : b.n - at;
        CHECK(write(s.fd, b.data + at, n) == (ssize_t)n);
        at += n;
        usleep(50000);
    }
    expect(&s, "200 lines pasted");
    expect(&s, "gt> ");
    key(&s, "\r", "\nend at 67\n");
    expect(&s, "gt> ");
    CHECK_MSG(s.all.n < 5000, "%zu bytes for a paste", s.all.n);
    for (int i = 0; i < 3; i++) /* 15 rows, of which the last are shown */
        key(&s, "\033[200~[1,\r2,\r3,\r4,\r5]\r\033[201~", "5");
    key(&s, "7 * 6", "\033[0;35m6");
    key(&s, "\r", "\n42\n");
    expect(&s, "gt> ");
    bytes_fini(&b);
    pty_size = (struct winsize){.ws_row = 40, .ws_col = 120};
    leave(&s, "\004", 0);
}

int main(void) {
    if (!pty_begin("typing")) return CHECK_SKIPPED;
    tab(false); /* TERM=dumb */
    files();
    inputrc();
    burst();
    many();
    setenv("REPL_TERM", "1", 1);
    setenv("TERM", "xterm", 1);
    tab(false); /* NO_COLOR */
    many();
    burst();
    indents();
    setenv("REPL_COLOR", "1", 1);
    unsetenv("NO_COLOR");
    tab(true);
    colours();
    wrapping();
    long_paste();
    return check_report("typing");
}
