/* progress_test.c: progress lines: their text at any width, compared with tqdm's for the same
 * counts, and on a terminal, where nested loops have a line each.
 * SPDX-License-Identifier: MIT */
#include "lang/text/progress_line.h"
#include "pty.h"
#include "terminal.h"
#include <math.h>

static char *line_of(BarLine l, int columns, bool is_utf8) {
    static Bytes b;
    b.n = 0;
    if (!l.label) l.label = "";
    if (!l.tracked) l.tracked = "";
    int taken = progress_line(&l, columns, is_utf8, &b);
    CHECK_MSG(columns == 0 || taken <= columns, "%d columns, not %d: %s", taken, columns, b.data);
    CHECK_INT(taken, utf8_count(b.data, b.n));
    return b.data;
}

static void test_text(void) {
    BarLine l = {.label = "train", .done = 37, .total = 100, .elapsed = 3.3};
    CHECK_STR(line_of(l, 0, true),
              "train:  37% |███████▍            | 37/100 [00:03<00:05, 11.2 it/s]");
    CHECK_STR(line_of(l, 0, false),
              "train:  37% |#######             | 37/100 [00:03<00:05, 11.2 it/s]");
    CHECK_STR(line_of(l, 52, true), "train:  37% |██▏   | 37/100 [00:03<00:05, 11.2 it/s]");
    CHECK_STR(line_of(l, 50, true), "train:  37% |█▍  | 37/100 [00:03<00:05, 11.2 it/s]");
    CHECK_STR(line_of(l, 49, true), "train:  37% | 37/100 [00:03<00:05, 11.2 it/s]");
    CHECK_STR(line_of(l, 20, true), "train:  37% | 37/100");
    CHECK_STR(line_of(l, 1, true), "t");
    l.tracked = "loss 0.5  lr 0.001";
    CHECK_STR(line_of(l, 0, true), "train:  37% |███████▍            | 37/100 [00:03<00:05, 11.2 "
                                   "it/s] loss 0.5  lr 0.001");
    CHECK_STR(line_of(l, 60, true), "train:  37% | 37/100 [00:03<00:05, 11.2 it/s] loss 0.5  lr 0");
    CHECK_STR(line_of((BarLine){.total = 5}, 0, true),
              "  0% |                    | 0/5 [00:00<?, 0.0 it/s]");
    CHECK_STR(line_of((BarLine){.done = 5, .total = 5, .elapsed = 7325}, 0, true),
              "100% |████████████████████| 5/5 [2:02:05<00:00, 1465.00 s/it]");
    CHECK_STR(line_of((BarLine){.elapsed = 1}, 0, true),
              "100% |████████████████████| 0/0 [00:01<?, 0.0 it/s]");
    CHECK_STR(line_of((BarLine){.done = 999, .total = 1000, .elapsed = 0}, 0, false),
              " 99% |################### | 999/1000 [00:00<?, 0.0 it/s]");
}

/* Without a total: tqdm's "37it [00:03, 11.2it/s]". */
static void test_endless(void) {
    BarLine l = {.label = "train", .done = 37, .total = -1, .elapsed = 3.3, .tracked = "loss 0.5"};
    CHECK_STR(line_of(l, 0, true), "train: 37 it [00:03, 11.2 it/s] loss 0.5");
    CHECK_STR(line_of(l, 40, true), "train: 37 it [00:03, 11.2 it/s] loss 0.5");
    CHECK_STR(line_of(l, 12, true), "train: 37 it");
    l.rate = 0.25;
    CHECK_STR(line_of(l, 0, true), "train: 37 it [00:03, 4.00 s/it] loss 0.5");
    l.total = 100; /* the time left is estimated from the recent rate, too */
    CHECK_STR(line_of(l, 0, true),
              "train:  37% |███████▍            | 37/100 [00:03<04:12, 4.00 s/it] loss 0.5");
}

/* The recent rate: that of the first count at once, then a mean of the last seconds. */
static void test_rate(void) {
    Rate r = {.at = 100};
    double t = 100, rate = progress_rate(&r, 0, t);
    CHECK(rate == 0);
    rate = progress_rate(&r, 5, t += 0.5);
    CHECK(fabs(rate - 10) < 1e-9);
    CHECK(fabs(progress_rate(&r, 5, t + 0.2) - 10) < 1e-9); /* nothing was done since */
    for (int i = 1; i <= 600; i++) rate = progress_rate(&r, 5 + i, t += 0.1);
    CHECK(fabs(rate - 10) < 1e-6);
    for (int i = 1; i <= 10; i++) rate = progress_rate(&r, 605 + i, t += 1);
    CHECK(rate > 1 && rate < 1.5); /* ten times slower for ten seconds; the mean is 8.8 */
    for (int i = 1; i <= 20; i++) rate = progress_rate(&r, 615 + 100 * i, t += 1);
    CHECK(rate > 95 && rate <= 100);
}

/* No width breaks a line, whatever the label is. */
static void test_widths(void) {
    static const char *const label[] = {"", "x", "a label of some length", "日本語の名前",
                                        "\xff\xfe"};
    for (size_t i = 0; i < sizeof label / sizeof *label; i++)
        for (int columns = 1; columns < 140; columns++)
            for (int done = 0; done <= 7; done++) {
                BarLine l = {.label = label[i],
                             .done = done,
                             .total = done == 5 ? -1 : 7,
                             .elapsed = done * 1.3,
                             .tracked = done % 2 ? "loss 1.25" : ""};
                Bytes b = {0};
                int taken = progress_line(&l, columns, true, &b);
                CHECK(taken <= columns);
                bytes_fini(&b);
            }
}

/* ---- on a terminal ---- */

/* Runs a program on a pseudo terminal of that size, and keeps its screen. until: stops reading
 * when the screen holds this text; NULL: at the end. Returns the screen, which the caller frees. */
static char *run(const char *code, const char *term, int width, int height, const char *until) {
    struct winsize size = {.ws_row = (unsigned short)height, .ws_col = (unsigned short)width};
    static Terminal t;
    char chunk[4096], *screen = NULL;
    int fd, status = 0;
    pid_t pid = forkpty(&fd, NULL, NULL, &size);
    if (pid == 0) {
        setenv("TERM", term, 1), setenv("LC_ALL", "C.UTF-8", 1);
        execl(gtsh(), gtsh(), "-c", code, (char *)NULL);
        _exit(127);
    }
    terminal_init(&t, width, height);
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;) {
        terminal_feed(&t, chunk, (size_t)n);
        free(screen);
        screen = terminal_text(&t);
        if (until && strstr(screen, until)) break;
    }
    if (until) kill(pid, SIGKILL);
    close(fd);
    waitpid(pid, &status, 0);
    CHECK(until || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    CHECK_INT(t.unknown, 0);
    return screen ? screen : strdup("");
}

/* The screen's line that begins with the text, or NULL. */
static const char *line_with(const char *screen, const char *text) {
    const char *at = strstr(screen, text);
    return at && (at == screen || at[-1] == '\n') ? at : NULL;
}

static const char nested[] =
    "for e in progress(2, \"outer\") {\n"
    "    for i in progress(4, \"inner\") { sleep(0.15); if i == 1 { print(\"print\", e) } }\n"
    "}\n"
    "print(\"the end\")";

static void test_nested(void) {
    char *screen = run(nested, "xterm", 60, 12, "inner:  75%");
    const char *outer = line_with(screen, "outer:   0%"), *inner = line_with(screen, "inner:  75%");
    CHECK_MSG(outer && inner && outer < inner, "outer above inner in\n%s", screen);
    CHECK_MSG(line_with(screen, "print 0\nouter:"), "prints above both in\n%s", screen);
    free(screen);
    screen = run(nested, "xterm", 60, 12, NULL);
    outer = line_with(screen, "print 0\nprint 1\nouter: 100%");
    CHECK_MSG(outer && strstr(outer, "\nthe end\n"), "one line stays in\n%s", screen);
    CHECK_MSG(!strstr(screen, "inner"), "the inner line goes in\n%s", screen);
    free(screen);
}

static void test_narrow(void) {
    char *screen = run(nested, "xterm", 24, 12, "inner:  75%");
    int rows = 0;
    for (const char *s = screen; *s; s++) rows += *s == '\n' && s > screen && s[-1] != '\n';
    CHECK_MSG(rows == 3, "%d rows, not 3, in\n%s", rows, screen);
    free(screen);
}

static void test_dumb(void) {
    char *screen = run(nested, "dumb", 60, 12, "inner:  75%");
    CHECK_MSG(!strstr(screen, "outer") && !strstr(screen, "█"), "one line in\n%s", screen);
    free(screen);
    screen = run(nested, "dumb", 60, 12, NULL);
    CHECK_MSG(line_with(screen, "outer: 100% |#################| 2/2 ["), "the end in\n%s", screen);
    free(screen);
}

int main(void) {
    test_text();
    test_widths();
    test_endless();
    test_rate();
    if (pty_begin("progress")) {
        test_nested();
        test_narrow();
        test_dumb();
    }
    return check_report("progress");
}
