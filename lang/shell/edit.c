/* edit.c: see edit.h. SPDX-License-Identifier: MIT */
#include "lang/shell/edit.h"
#include "lang/error/interrupt.h"
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef EDIT_NONE
/* Reads the file, and keeps its last entries; true if there were more. */
static bool read_some(const char *path, int kept) {
    if (path) read_history(path);
    bool has_more = history_length > kept;
    stifle_history(kept);
    return has_more;
}

bool edit_history_write(const char *path) { return write_history(path) == 0; }
#endif

#ifdef EDIT_NONE

const char *rl_readline_name;
FILE *rl_outstream;
static char empty[1];
char *rl_line_buffer = empty;
int rl_catch_signals, rl_end, history_base = 1;
const char *const edit_history_suffix = ".none";

enum { ENTRIES_MAX = 1000 }; /* of the history, which is for :history only */

static struct {
    const char *prompt;
    void (*on_line)(char *line);
    Bytes typed; /* the line, as far as it was read */
    HIST_ENTRY *entry[ENTRIES_MAX + 1];
    size_t n;
} none;

void rl_callback_handler_install(const char *prompt, void (*on_line)(char *line)) {
    none.prompt = prompt;
    none.on_line = on_line;
    rl_redisplay();
}

void rl_callback_handler_remove(void) { none.on_line = NULL; }

/* Gives the handler the line. */
static void take(void) {
    void (*on_line)(char *) = none.on_line;
    char *line = xstrndup(none.typed.n ? none.typed.data : "", none.typed.n);
    none.typed.n = 0;
    if (on_line)
        on_line(line);
    else
        free(line);
}

/* Reads byte by byte, since what follows a line may be for input() of the program. */
void rl_callback_read_char(void) {
    char c;
    ssize_t n = read(STDIN_FILENO, &c, 1);
    if (n < 0) return;
    if (n > 0 && c != '\n')
        bytes_putc(&none.typed, c);
    else if (n > 0 || none.typed.n)
        take();
    else if (none.on_line)
        none.on_line(NULL);
}

void rl_callback_sigcleanup(void) {}
void rl_free_line_state(void) { none.typed.n = 0; }
int rl_on_new_line(void) { return 0; }

void rl_redisplay(void) {
    FILE *f = rl_outstream ? rl_outstream : stderr;
    fflush(stdout);
    fputs(none.prompt ? none.prompt : "", f);
    fflush(f);
}

void add_history(const char *line) {
    if (none.n == ENTRIES_MAX) {
        free(none.entry[0]->line);
        free(none.entry[0]);
        memmove(none.entry, none.entry + 1, --none.n * sizeof *none.entry);
        history_base++;
    }
    HIST_ENTRY *h = xcalloc(1, sizeof *h);
    h->line = xstrndup(line, strlen(line));
    none.entry[none.n++] = h;
    none.entry[none.n] = NULL;
}

HIST_ENTRY **history_list(void) { return none.n ? none.entry : NULL; }
bool edit_history_open(const char *path, int kept) { return false; }
bool edit_history_write(const char *path) { return false; }
void edit_history_append(const char *path) {}

#elif defined EDIT_LIBEDIT

const char *const edit_history_suffix = ".libedit";

void rl_callback_sigcleanup(void) {}

bool edit_history_open(const char *path, int kept) {
    using_history();
    return read_some(path, kept);
}

/* append_history() of libedit writes the entry before the last, too. A byte other than a letter, a
 * digit or a sign is written in octal. */
void edit_history_append(const char *path) {
    HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1) : NULL;
    FILE *f = last ? fopen(path, "ae") : NULL;
    if (!f) return;
    if (fseek(f, 0, SEEK_END) == 0 && ftell(f) == 0) fputs("_HiStOrY_V2_\n", f);
    for (const char *s = last->line; *s; s++)
        fprintf(f, *s > ' ' && *s < 0x7f && *s != '\\' ? "%c" : "\\%03o", (unsigned char)*s);
    fputc('\n', f);
    fclose(f);
}

#else

const char *const edit_history_suffix = "";

bool edit_history_open(const char *path, int kept) {
    using_history();
    history_comment_char = '#'; /* writes timestamps, which separate entries of several lines */
    history_write_timestamps = 1;
    return read_some(path, kept);
}

void edit_history_append(const char *path) { append_history(1, path); }

int edit_key(FILE *f) {
    struct pollfd in = {.fd = fileno(f), .events = POLLIN};
    while (!interrupt_count)
        if (poll(&in, 1, 100) > 0) return rl_getc(f);
    return EOF;
}

#endif
