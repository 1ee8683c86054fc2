/* screen_test.c: what the terminal shows while lines are edited at the prompt: entries of several
 * lines, the arrows and Ctrl-C in them, Alt-Enter, Ctrl-Z and the way back.
 * SPDX-License-Identifier: MIT */
#include "pty.h"
#include "terminal.h"

enum { WIDTH = 60, HEIGHT = 20 };

static Terminal screen;
static size_t n_fed; /* bytes of the session's output that the screen has got */

static void begin_screen(void) {
    terminal_init(&screen, WIDTH, HEIGHT);
    n_fed = 0;
}

static Session begin(void) {
    begin_screen();
    return prompt();
}

/* Waits until the screen ends in the text, without the empty rows below. */
static void shows(Session *s, const char *text) {
    long until = now_ms() + LIMIT_MS;
    char *page = NULL;
    bool is_there = false;
    do {
        free(page);
        terminal_feed(&screen, s->raw.data + n_fed, s->raw.n - n_fed);
        n_fed = s->raw.n;
        page = terminal_text(&screen);
        size_t n = strlen(page), n_text = strlen(text);
        while (n && page[n - 1] == '\n') page[--n] = '\0';
        is_there = n >= n_text && !strcmp(page + n - n_text, text);
    } while (!is_there && more(s, until));
    CHECK_MSG(is_there, "no\n%s\nat the end of\n%s", text, page);
    free(page);
}

/* Types keys that are no paste, and waits. */
static void key(Session *s, const char *keys, const char *text) {
    usleep(10000);
    type(s, keys);
    shows(s, text);
}

/* Ctrl-C in an entry of several lines, with the cursor in its last row and in its first. */
static void dropped(void) {
    Session s = begin();
    key(&s, "s = [1,\r", "\n […>");
    key(&s, "2]\r", " 2]\ngt>");
    key(&s, "\020", "2]\ngt> s = [1,\n    2]");
    key(&s, "\003", "2]\ngt> s = [1,\n    2]\ngt>");
    key(&s, "\020", "2]\ngt> s = [1,\n    2]\ngt> s = [1,\n    2]");
    key(&s, "\001z", "\ngt> zs = [1,\n    2]");
    key(&s, "\003", "\ngt> s = [1,\n    2]\ngt> zs = [1,\n    2]\ngt>");
    leave(&s, "\004", 0);
}

/* The arrows move within an entry of several lines, and from its ends to other entries. */
static void arrows(void) {
    Session s = begin();
    key(&s, "first = 1\r", "\ngt>");
    key(&s, "fn f(x) {\r", "\n {…>");
    key(&s, "return x }\r", "\ngt>");
    key(&s, "last = 2\r", "\ngt>");
    key(&s, "\033[A", "gt> last = 2");
    key(&s, "\033[A", "gt> fn f(x) {\n    return x }");
    key(&s, "#", "gt> fn f(x) {#\n    return x }");                 /* the end of its first line */
    key(&s, "\177\033[D\033[B#", "gt> fn f(x) {\n    return x# }"); /* the same column */
    key(&s, "\177\033[A#", "gt> fn f(x) #{\n    return x }");
    key(&s, "\177\033[A", "gt> first = 1");
    key(&s, "\033[B", "gt> fn f(x) {\n    return x }"); /* at its end */
    key(&s, "#", "gt> fn f(x) {\n    return x }#");
    key(&s, "\177\033[B", "gt> last = 2");
    key(&s, "\033[A\033OB\033OB", "gt> last = 2");
    key(&s, "\020\020", "gt> first = 1"); /* Ctrl-P: entries only */
    leave(&s, "\003\004", 0);
}

/* Alt-Enter begins another line of the text, with its indent. */
static void new_line(void) {
    Session s = begin();
    key(&s, "for i in range(2) {", "{");
    type(&s, "\033\r");
    key(&s, "print(i)\033\r", "gt> for i in range(2) {\n    print(i)");
    key(&s, "}", "\n    print(i)\n}");
    key(&s, "\033[A", "\n    print(i)\n}");
    key(&s, "\005", "\n    print(i)\n}");
    key(&s, "\r", "\n0\n1\ngt>");
    key(&s, "\033[A", "gt> for i in range(2) {\n    print(i)\n}");
    key(&s, "\033\rn = 10 * i", "range(2) {\n    n = 10 * i\n    print(i)\n}");
    key(&s, "\033[B, n\177\177\177\005", "    print(i)\n}");
    key(&s, "\r", "\n0\n1\ngt>");
    key(&s, "n", "gt> n");
    key(&s, "\r", "\n10\ngt>");
    leave(&s, "\004", 0);
}

/* Ctrl-Z gives the terminal back as it was; fg draws the line again. */
static void stopped(void) {
    struct termios now;
    Session s = start_program("/bin/sh", (const char *[]){"-i", NULL});
    begin_screen();
    shows(&s, "$");
    type(&s, "$GTSH -q --norc\r");
    shows(&s, "\ngt>");
    key(&s, "abc = [", "gt> abc = [");
    key(&s, "\032", "\n$");
    CHECK(!tcgetattr(s.fd, &now) && now.c_lflag & ICANON && now.c_lflag & ECHO);
    type(&s, "fg\r");
    shows(&s, "\ngt> abc = [");
    key(&s, "3]; abc", "\ngt> abc = [3]; abc");
    key(&s, "\r", "\n[3]\ngt>");
    type(&s, "sleep(100)\r"); /* stops as any program while a statement runs */
    shows(&s, "\ngt> sleep(100)");
    usleep(100000);
    type(&s, "\032");
    shows(&s, "\n$");
    type(&s, "fg\r");
    usleep(100000);
    type(&s, "\003");
    shows(&s, "interrupted (repl:2)\ngt>");
    key(&s, "\004", "\n$");
    leave(&s, "exit\r", 0);
}

int main(void) {
    if (!pty_begin("screen") || !IS_READLINE) return CHECK_SKIPPED;
    setenv("REPL_TERM", "1", 1);
    setenv("TERM", "xterm", 1);
    setenv("GTSH", gtsh(), 1);
    setenv("PS1", "$ ", 1);
    unsetenv("ENV");
    pty_size = (struct winsize){.ws_row = HEIGHT, .ws_col = WIDTH};
    dropped();
    arrows();
    new_line();
    stopped();
    return check_report("screen");
}
