/* pager.c: see pager.h. Callers print in different ways, so standard output is redirected to a
 * memory file, whose length decides whether $PAGER shows it.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/pager.h"
#include "lang/error/error.h"
#include "runtime/base/utf8.h"
#include "runtime/base/arena.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int terminal = -1, kept = -1; /* both set, or both -1 */

static bool is_off;

void pager_switch(bool on) { is_off = !on; }
bool pager_is_on(void) { return !is_off; }

void pager_begin(void) {
    const char *term = getenv("TERM");
    if (is_off || kept >= 0 || !isatty(STDOUT_FILENO) || !term || !*term || !strcmp(term, "dumb"))
        return;
    fflush(stdout);
    terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    kept = memfd_create("gt-pager", MFD_CLOEXEC);
    if (terminal >= 0 && kept >= 0 && dup2(kept, STDOUT_FILENO) >= 0) return;
    if (terminal >= 0) close(terminal);
    if (kept >= 0) close(kept);
    terminal = kept = -1;
}

int pager_columns(void) { return error_columns(kept >= 0 ? terminal : STDOUT_FILENO); }

static void read_all(int fd, Bytes *out) {
    char block[1 << 14];
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n; (n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR);)
        if (n > 0) bytes_add(out, block, (size_t)n);
}

/* The number of terminal rows that the text takes. */
static size_t count_rows(const Bytes *b, size_t columns) {
    size_t rows = 0;
    for (size_t i = 0; i < b->n;) {
        const char *end = memchr(b->data + i, '\n', b->n - i);
        size_t n = end ? (size_t)(end - b->data) - i : b->n - i;
        size_t width = utf8_count(b->data + i, n);
        rows += width ? (width + columns - 1) / columns : 1;
        i += n + 1;
    }
    return rows;
}

/* Runs the pager with the file as its input. False if there is no such pager. */
static bool run_pager(int fd, const char *command) {
    int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    lseek(fd, 0, SEEK_SET);
    bool ok = input >= 0 && dup2(fd, STDIN_FILENO) >= 0;
    /* system() ignores SIGINT: Ctrl-C reaches the pager only */
    int status = ok ? system(command) : -1;
    if (input >= 0) {
        dup2(input, STDIN_FILENO);
        close(input);
    }
    enum { NOT_FOUND = 127 << 8 };
    return status != -1 && status != NOT_FOUND;
}

void pager_end(void) {
    if (kept < 0) return;
    fflush(stdout);
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    struct winsize w;
    Bytes text = {0};
    read_all(kept, &text);
    const char *pager = getenv("PAGER");
    bool is_long = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row > 0 && w.ws_col > 0 &&
                   count_rows(&text, w.ws_col) >= w.ws_row;
    bool is_shown = is_long && (!pager || *pager) &&
                    run_pager(kept, pager ? pager : "exec less -FRX 2>/dev/null");
    if (!is_shown && text.n) fwrite(text.data, 1, text.n, stdout);
    fflush(stdout);
    bytes_fini(&text);
    close(kept);
    terminal = kept = -1;
}
