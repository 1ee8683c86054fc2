/* paste_test.c: what paste_clean keeps of a pasted transcript, and that its time grows with the
 * text.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "cpu.h"
#include "lang/shell/repl_paste.h"
#include <math.h>
#include <string.h>

/* What is pasted, and what stays; NULL: all of it. */
static const char *const pasted[][2] = {
    {"x = 1\nprint(x)\n", NULL},
    {"gt> x = 1\ngt> x\n1\n", "gt> x = 1\ngt> x\n"},
    {"gt> x\n1\n", "gt> x\n"},
    {"gt> x = 1\ny = x\nprint(y)\n", NULL},
    {"gt rows> x\n1\n", "gt rows> x\n"},
    {"gt a_scope_of_more_than_so_many_letters> x\n1\n", NULL},
    {"gt rows\n> x\n1\n", NULL},
    {"gt> x = [1,\n  2]\ngt> x\n[1, 2]\n", "gt> x = [1,\n  2]\ngt> x\n"},
    {"gt> fn f(x) {\n {…>     x + 1\n {…> }\ngt> f(1)\n2\n",
     "gt> fn f(x) {\n {…>     x + 1\n {…> }\ngt> f(1)\n"},
    {"gt> if false { 1 }\ngt> \"\"\"a\nb\"\"\"\n'a\\nb'\n",
     "gt> if false { 1 }\ngt> \"\"\"a\nb\"\"\"\n"},
    {">>> x = 1\n>>> x\n1\n", "x = 1\nx\n"},
};

static void transcripts(void) {
    for (size_t i = 0; i < sizeof pasted / sizeof *pasted; i++) {
        const char *want = pasted[i][1] ? pasted[i][1] : pasted[i][0];
        Bytes text = {0};
        bytes_puts(&text, pasted[i][0]);
        PasteRest rest = {0};
        paste_clean(&text, &rest);
        bytes_fini(&rest.first);
        CHECK_MSG(text.n == strlen(want) && !memcmp(text.data, want, text.n), "%s: got %.*s",
                  pasted[i][0], (int)text.n, text.data);
        bytes_fini(&text);
    }
}

/* The least CPU time of three pastes of one statement of n lines, of which only the first has a
 * prompt. */
static double paste_s(const char *first, const char *line, const char *last, int n) {
    double least = INFINITY;
    for (int k = 0; k < 3; k++) {
        Bytes text = {0};
        bytes_puts(&text, first);
        for (int i = 0; i < n; i++) bytes_puts(&text, line);
        bytes_puts(&text, last);
        size_t all = text.n;
        PasteRest rest = {0};
        double begin = cpu_s();
        paste_clean(&text, &rest);
        least = fmin(least, cpu_s() - begin);
        CHECK_MSG(text.n == all, "%zu of %zu bytes stay", text.n, all);
        bytes_fini(&text);
    }
    return least;
}

/* Four times the lines take far less than 16 times as long. */
static void long_statements(void) {
    static const char *const part[][3] = {{"gt> x = [\n", "    1,\n", "]\n"},
                                          {"gt> fn f(x) {\n", "    x = x + 1\n", "}\n"}};
    for (int i = 0; i < 2; i++) {
        double few = paste_s(part[i][0], part[i][1], part[i][2], 500),
               many = paste_s(part[i][0], part[i][1], part[i][2], 2000);
        CHECK_MSG(many < 8 * few, "500 lines %.4f s, 2000 lines %.4f s", few, many);
    }
}

int main(void) {
    transcripts();
    long_statements();
    return check_report("pastes");
}
