/* prompt_files_test.c: programs at the prompt: :run with arguments, again after a change and after
 * an error, imports read anew, :load, :edit, :save, :history, the init file, colours, on a pseudo
 * terminal.
 * SPDX-License-Identifier: MIT */
#include "pty.h"
#include <glob.h>
#include <sys/stat.h>

static char dir[] = "/tmp/gt-files-XXXXXX";

/* Writes a file in dir and returns its path, which is valid until the next call. */
static const char *file(const char *name, const char *text) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

/* The text of a file in dir. */
static const char *text_of(const char *name) {
    static char text[4096];
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    text[f ? fread(text, 1, sizeof text - 1, f) : 0] = '\0';
    if (f) fclose(f);
    return text;
}

/* Types "command name" with the path of a file in dir, and what follows it. */
static void command(Session *s, const char *word, const char *name, const char *rest,
                    const char *result) {
    char keys[256];
    snprintf(keys, sizeof keys, "%s %s/%s%s", word, dir, name, rest);
    line(s, keys, result);
}

static void runs(void) {
    file("a.gt", "import b\nlr = arg(\"lr\", 0.5, \"rate\")\nw = ones(2) * lr\nprint(\"sum\", "
                 "w.sum(), b.k, len(args))\nw\n");
    file("b.gt", "import c\nk = c.base + 1\n");
    file("c.gt", "base = 10\n");
    Session s = prompt();
    command(&s, ":run", "a", "", "\nsum tensor(1.) 11 0\n"); /* .gt may be left out */
    command(&s, ":run", "a.gt", " --lr 2 'a b'", "\nsum tensor(4.) 11 3\n");
    line(&s, "w", "\ntensor([2., 2.])\n"); /* its names are here */
    file("c.gt", "base = 1000\n");         /* imported by what it imports */
    line(&s, ":run", "\nsum tensor(4.) 1001 3\n");
    command(&s, ":run", "a.gt", " --lx 2", "--lx");
    line(&s, "w", "\ntensor([2., 2.])\n");
    command(&s, ":run", "a.gt", " --help", "--lr");
    file("a.gt", "w = ones(3)\nzzz\n");
    command(&s, ":run", "a.gt", "", "a.gt:2:1: error: 'zzz' is not defined");
    line(&s, "w", "\ntensor([1., 1., 1.])\n");
    file("a.gt", "w = (\n");
    command(&s, ":run", "a.gt", "", "error: ");
    file("a.gt", "w = 7\nw + 1\n");
    command(&s, ":load", "a.gt", "", "\n8\n");
    command(&s, ":run", "nothing", "", "No such file");
    line(&s, ":run /", "directory");
    line(&s, "w * 2", "\n14\n");
    file("a.gt", "print(\"bye\")\nexit(4)\n");
    char keys[128];
    snprintf(keys, sizeof keys, ":run %s/a.gt\r", dir);
    leave(&s, keys, 4);
}

/* The editor is a script that changes the file. */
static void edits(void) {
    setenv("EDITOR", "sed -i s/41/42/", 1);
    setenv("TMPDIR", dir, 1);
    Session s = prompt();
    line(&s, "x = 41 + 0", NULL);
    line(&s, ":edit", "x = 42 + 0\n");
    line(&s, "x", "\n42\n");
    line(&s, ":edit", "unchanged, and not run\n");
    type(&s, "fn f(y) {\r");
    expect(&s, "{…> ");
    ask(&s, "return y + 41 }\r", "");
    line(&s, ":edit f", "return y + 42 }\n");
    line(&s, "f(0)", "\n42\n");
    line(&s, ":edit nope", "there is no function or file 'nope' to edit");
    file("e.gt", "z = 41\nprint(\"z\", z)\n");
    command(&s, ":edit", "e.gt", "", "\nz 42\n");
    line(&s, ":history f(", "f(0)\n");
    leave(&s, "\004", 0);
    setenv("EDITOR", "/no/such/editor", 1);
    s = prompt();
    line(&s, "x = 41", NULL);
    line(&s, ":edit", "the editor failed");
    leave(&s, "\004", 0);
    char left[64];
    glob_t found;
    snprintf(left, sizeof left, "%s/gt-edit-*", dir);
    CHECK(glob(left, 0, NULL, &found) == GLOB_NOMATCH); /* what was edited is removed */
    unsetenv("EDITOR");
    unsetenv("TMPDIR");
}

static void saves(void) {
    Session s = prompt();
    line(&s, "x = ones(2)", NULL);
    line(&s, "zzz", "is not defined");
    line(&s, "x + 1", "\ntensor([2., 2.])\n");
    line(&s, "print(\"one\")", "\none\n");
    line(&s, "x * 3;", NULL);
    type(&s, "fn f(y) {\r");
    expect(&s, "{…> ");
    ask(&s, "return y * 2 }\r", "");
    line(&s, "f(x) # doubled", "\ntensor([2., 2.])\n");
    command(&s, ":save", "s.gt", "", "6 statements written");
    CHECK_STR(text_of("s.gt"), "#!/usr/bin/env gtsh\nx = ones(2)\nprint(x + 1)\nprint(\"one\")\n"
                               "x * 3;\nfn f(y) {\nreturn y * 2 }\nf(x) # doubled\n");
    command(&s, ":save", "s.gt", "", "it exists already; :save! FILE replaces it");
    CHECK(strstr(text_of("s.gt"), "f(x) # doubled") != NULL);
    line(&s, "ans + 1", "\ntensor([3., 3.])\n");
    command(&s, ":save", "t.gt", "", "7 statements");
    leave(&s, "\004", 0);
    char run[256];
    snprintf(run, sizeof run, "%s %s/t.gt >%s/out 2>/dev/null", gtsh(), dir, dir);
    CHECK(system(run) == 0);
    CHECK(strstr(text_of("out"), "tensor([2., 2.])\none\n") != NULL);
}

/* A file that ran is in the program, with a comment on how; :save! replaces a file, and keeps its
 * mode; what cannot be written stays. */
static void saves_over(void) {
    char want[512], path[64], link[64], far[64];
    struct stat st;
    file("r.gt", "import c\nk = arg(\"k\", 1)\n");
    file("c.gt", "base = 10\n");
    file("l.gt", "k + 1\n");
    snprintf(path, sizeof path, "%s/o.gt", dir);
    snprintf(link, sizeof link, "%s/link.gt", dir);
    file("o.gt", "old\n");
    snprintf(far, sizeof far, "%s/far.gt", dir);
    CHECK(chmod(path, 0751) == 0 && symlink("o.gt", link) == 0 && symlink("made.gt", far) == 0);
    Session s = prompt();
    line(&s, "a = 1", NULL);
    command(&s, ":run", "r.gt", " --k 'two words'", "--k");
    command(&s, ":run", "r.gt", " --k 5", "");
    command(&s, ":load", "l.gt", "", "\n6\n");
    command(&s, ":save!", "", "", "cannot write");
    command(&s, ":save!", "no/o.gt", "", "cannot write");
    command(&s, ":save", "link.gt", "", "it exists already");
    CHECK_STR(text_of("o.gt"), "old\n");
    command(&s, ":save!", "link.gt", "", "3 statements written");
    command(&s, ":save!", "new.gt", "", "3 statements written");
    command(&s, ":save!", "far.gt", "", "3 statements written"); /* a link to no file yet */
    leave(&s, "\004", 0);
    snprintf(want, sizeof want,
             "#!/usr/bin/env gtsh\na = 1\n# :run %s/r.gt --k 5\n"
             "# Its arguments are not repeated: give them to this program.\n"
             "# Its imports are beside that file: GT_PATH=%s finds them.\n"
             "import c\nk = arg(\"k\", 1)\n# :load %s/l.gt\n"
             "# Values that it showed are not printed here.\nk + 1\n",
             dir, dir, dir);
    CHECK_STR(text_of("o.gt"), want);
    CHECK_STR(text_of("new.gt"), want);
    CHECK_STR(text_of("made.gt"), want);
    CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0751);
    CHECK(!lstat(link, &st) && S_ISLNK(st.st_mode));
}

/* The comment of a file's run has its arguments as a shell takes them. */
static void saves_words(void) {
    char want[200];
    file("q.gt", "s = arg(\"s\", \"\")\n");
    Session s = prompt();
    command(&s, ":run", "q.gt", " --s \"it's two\"", "");
    command(&s, ":run", "q.gt", " --s ''", "");
    command(&s, ":run", "q.gt", " --s plain-1.0", "");
    command(&s, ":save", "words.gt", "", "3 statements written");
    leave(&s, "\004", 0);
    static const char *const words[] = {"'it'\\''s two'", "''", "plain-1.0"};
    for (int i = 0; i < 3; i++) {
        snprintf(want, sizeof want, "# :run %s/q.gt --s %s\n", dir, words[i]);
        CHECK_MSG(strstr(text_of("words.gt"), want), "no %s in %s", want, text_of("words.gt"));
    }
}

/* Starts a prompt that reads its init file, and waits for the text and the prompt. */
static Session greeted(const char *text) {
    Session s = start((const char *[]){"-q", NULL});
    expect(&s, text);
    expect(&s, "gt> ");
    return s;
}

/* $XDG_CONFIG_HOME/gt/gtshrc, else ~/.gtshrc; an error in it is shown, and the prompt works. */
static void init_file(void) {
    char gt[128];
    snprintf(gt, sizeof gt, "%s/gt", dir);
    CHECK(mkdir(gt, 0700) == 0 && setenv("HOME", dir, 1) == 0);
    setenv("XDG_CONFIG_HOME", dir, 1);
    file(".gtshrc", "fn twice(x) => 2 * x\nk = 3\n");
    Session s = greeted("");
    line(&s, "twice(k)", "\n6\n");
    leave(&s, "\004", 0);
    file("gt/gtshrc", "k = 4\nk + 1\nk = zzz\nk = 5\n");
    s = greeted("5\n");
    CHECK(strstr(s.all.data, "gt/gtshrc:3:5: error: 'zzz' is not defined") != NULL);
    line(&s, "k", "\n4\n");
    line(&s, "twice", "is not defined");
    leave(&s, "\004", 0);
    file("gt/gtshrc", "k = (\n");
    s = greeted("error: ");
    line(&s, "1 + 1", "\n2\n");
    leave(&s, "\004", 0);
    s = prompt(); /* --norc */
    line(&s, "k", "is not defined");
    leave(&s, "\004", 0);
}

/* Colours at the prompt by --color, NO_COLOR, CLICOLOR_FORCE and TERM, the first of them first. */
static void colors(void) {
    static const struct {
        const char *option, *no, *force, *term;
        bool has;
    } rows[] = {
        {"--color=auto", "", "", "xterm", true},    {"--color=auto", "1", "", "xterm", false},
        {"--color=auto", "1", "1", "xterm", false}, {"--color=auto", "", "", "dumb", false},
        {"--color=auto", "", "1", "dumb", true},    {"--color=auto", "", "0", "dumb", false},
        {"--color=never", "", "1", "xterm", false}, {"--color=always", "1", "", "dumb", true}};
    setenv("REPL_TERM", "1", 1);
    setenv("REPL_COLOR", "1", 1);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        setenv("NO_COLOR", rows[k].no, 1);
        setenv("CLICOLOR_FORCE", rows[k].force, 1);
        setenv("TERM", rows[k].term, 1);
        Session s = start((const char *[]){"-q", "--norc", rows[k].option, NULL});
        expect(&s, "gt> ");
        ask(&s, "zzz\r", "is not defined");
        CHECK_MSG((strstr(s.all.data, "\033[1;31m") != NULL) == rows[k].has, "row %zu: %s", k,
                  s.all.data);
        leave(&s, "\004", 0);
    }
    unsetenv("REPL_TERM");
    unsetenv("REPL_COLOR");
}

int main(void) {
    if (!pty_begin("prompt_files")) return CHECK_SKIPPED;
    CHECK(mkdtemp(dir) != NULL);
    runs();
    edits();
    saves();
    saves_over();
    saves_words();
    colors();
    init_file();
    char remove[64];
    snprintf(remove, sizeof remove, "rm -rf %s", dir);
    CHECK(system(remove) == 0);
    return check_report("prompt_files");
}
