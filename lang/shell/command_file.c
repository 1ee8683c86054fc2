/* command_file.c: the commands on files and on what was typed: :run, :load, :edit, :save, :history.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/command_file.h"
#include "lang/shell/edit.h"
#include "lang/eval/import.h"
#include "lang/file/io.h"
#include "runtime/base/arena.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20, HISTORY_LINES = 20, ARGS_MAX = 256 };

void source_lines(const Source *src, uint32_t from, uint32_t to, Bytes *out) {
    const char *s = src->text;
    uint32_t line = src->first_line ? src->first_line : 1;
    for (; *s && line < from; line++) s += strcspn(s, "\n") + (strchr(s, '\n') != NULL);
    for (; *s && line <= to; line++) {
        size_t n = strcspn(s, "\n");
        bytes_add(out, s, n);
        bytes_putc(out, '\n');
        s += n + (s[n] == '\n');
    }
}

/* ---- words ---- */

/* The next word of *s, malloc'ed, or NULL: words end at blanks outside of quotes, as in a shell;
 * ~/ at its beginning is the home directory. */
static char *next_word(const char **s) {
    Bytes b = {0};
    const char *p = *s + strspn(*s, " \t"), *home = getenv("HOME");
    if (!*p) return NULL;
    if (p[0] == '~' && (p[1] == '/' || !p[1]) && home) bytes_puts(&b, home), p++;
    for (char quote = 0; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
        if (quote ? *p == quote : *p == '"' || *p == '\'')
            quote = quote ? 0 : *p;
        else
            bytes_putc(&b, *p == '\\' && p[1] && quote != '\'' ? *++p : *p);
    }
    *s = p;
    return b.data ? b.data : xstrdup("");
}

void words_free(char ***words) {
    for (char **w = *words; w && *w; w++) free(*w);
    free(*words);
    *words = NULL;
}

static char **split(const char *s) {
    char **words = xcalloc(ARGS_MAX + 1, sizeof *words);
    for (int n = 0; n < ARGS_MAX && (words[n] = next_word(&s)); n++) continue;
    return words;
}

/* ---- :run and :load ---- */

/* Reads a file, or the same with .gt behind its name, which *path then gets. */
static bool read_file(char **path, Bytes *text) {
    struct stat st;
    if (stat(*path, &st) < 0) {
        Bytes b = {0};
        bytes_printf(&b, "%s.gt", *path);
        bool is_there = stat(b.data, &st) == 0;
        if (is_there) free(*path), *path = b.data;
        if (!is_there) bytes_fini(&b);
    }
    const char *why = stat(*path, &st) < 0                 ? strerror(errno)
                      : S_ISDIR(st.st_mode)                ? "it is a directory"
                      : !S_ISREG(st.st_mode)               ? "it is no plain file"
                      : !bytes_read(text, *path, FILE_MAX) ? "it cannot be read"
                                                           : NULL;
    if (!why && text->n && memchr(text->data, '\0', text->n)) why = "it is not text";
    if (why) fprintf(stderr, "cannot run '%.200s': %s\n", *path, why);
    return !why;
}

static void set_last_file(Repl *r, const char *path) {
    char *copy = xstrdup(path);
    free(r->last_file);
    r->last_file = copy;
}

/* Runs a file, whose path it takes. */
static void run_path(Repl *r, char *path, unsigned how) {
    Bytes text = {0};
    if (read_file(&path, &text)) {
        set_last_file(r, path);
        repl_source(r, interp_source(r->in, path, text.n ? text.data : "", text.n, 1, false),
                    how | RUN_FILE);
    }
    bytes_fini(&text);
    free(path);
}

void command_run_file(Repl *r, const char *rest, bool echo) {
    char *path = next_word(&rest);
    if (!path && !r->last_file) {
        fprintf(stderr, "%s needs a file\n", echo ? ":load" : ":run");
        return;
    }
    words_free(&r->next_argv);
    if (!path) /* again, with the same arguments */
        path = xstrdup(r->last_file);
    else if (!echo)
        r->next_argv = split(rest);
    run_path(r, path, echo ? RUN_ECHO | RUN_KEEP : RUN_KEEP | RUN_ARGS);
}

/* ---- :edit ---- */

/* Opens the editor on a file; false, after a message, if it fails. */
static bool open_editor(const char *path) {
    const char *editor = getenv("VISUAL");
    Bytes command = {0};
    if (!editor || !*editor) editor = getenv("EDITOR");
    bytes_printf(&command, "%s '", editor && *editor ? editor : "vi");
    for (const char *s = path; *s; s++) {
        if (*s == '\'')
            bytes_puts(&command, "'\\''");
        else
            bytes_putc(&command, *s);
    }
    bytes_puts(&command, "'");
    int status = system(command.data);
    if (status) fprintf(stderr, "the editor failed: %.200s; set VISUAL or EDITOR\n", command.data);
    bytes_fini(&command);
    return status == 0;
}

/* Edits a text in a file of its own. *text is replaced; false if it stayed as it was or could not
 * be edited. */
static bool edit_text(Bytes *text) {
    const char *dir = getenv("TMPDIR");
    Bytes path = {0}, now = {0};
    bytes_printf(&path, "%s/gt-edit-XXXXXX.gt", dir && *dir ? dir : "/tmp");
    int fd = mkstemps(path.data, 3);
    bool ok = fd >= 0 && write(fd, text->data, text->n) == (ssize_t)text->n;
    if (fd >= 0) close(fd);
    if (!ok) fprintf(stderr, "cannot write '%s': %s\n", path.data, strerror(errno));
    ok = ok && open_editor(path.data) && bytes_read(&now, path.data, FILE_MAX);
    if (fd >= 0) unlink(path.data);
    bytes_fini(&path);
    if (ok && now.n == text->n && (!now.n || !memcmp(now.data, text->data, now.n))) {
        fputs("unchanged, and not run\n", stderr);
        ok = false;
    }
    if (ok) {
        text->n = 0;
        bytes_add(text, now.data, now.n);
    }
    bytes_fini(&now);
    return ok;
}

/* Appends the source of a function or module of the session; false if there is none. */
static bool put_source(Repl *r, const char *word, Bytes *out) {
    const char *name;
    Value v;
    for (size_t i = 0; interp_global(r->in, i, &name, &v); i++) {
        if (strcmp(name, word)) continue;
        const AstFn *fn = v.kind == V_FN       ? v.fn->ast
                          : v.kind == V_MODULE ? v.module->make->ast
                                               : NULL;
        if (!fn || !fn->at.src) return false;
        source_lines(fn->at.src, fn->at.line, fn->end.line, out);
        return true;
    }
    return false;
}

static void edit_file(Repl *r, char *path) {
    if (open_editor(path))
        run_path(r, path, RUN_KEEP | RUN_ARGS);
    else
        free(path);
}

void command_edit(Repl *r, const char *rest) {
    Bytes text = {0};
    char *word = next_word(&rest);
    struct stat st;
    if (word && (strpbrk(word, "./") || (!put_source(r, word, &text) && !stat(word, &st)))) {
        edit_file(r, word);
        return;
    }
    if (!word && r->last)
        bytes_puts(&text, r->last);
    else if (!text.n)
        fprintf(stderr,
                word ? "there is no function or file '%.100s' to edit\n"
                     : "there is no statement to edit\n",
                word);
    if (text.n && edit_text(&text)) {
        char *last = xstrndup(text.data, text.n);
        free(r->last);
        r->last = last;
        fputs(last, stderr);
        repl_source(r, interp_source(r->in, "repl", text.data, text.n, r->line, false),
                    RUN_ECHO | RUN_KEEP);
        for (size_t i = 0; i < text.n; i++) r->line += text.data[i] == '\n';
    }
    bytes_fini(&text);
    free(word);
}

/* ---- :save ---- */

static bool has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++) {
        char before = at == text ? ' ' : at[-1];
        if (!isalnum((unsigned char)before) && before != '_' && before != '.' &&
            !isalnum((unsigned char)at[n]) && at[n] != '_')
            return true;
    }
    return false;
}

/* Appends a word as a shell takes it. */
static void put_word(const char *word, Bytes *out) {
    bool is_plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                                                "YZ0123456789_-+=./,:@%")];
    bytes_puts(out, is_plain ? " " : " '");
    for (const char *s = word; *s; s++)
        if (*s == '\'')
            bytes_puts(out, "'\\''");
        else
            bytes_putc(out, *s == '\n' ? ' ' : *s);
    if (!is_plain) bytes_putc(out, '\'');
}

char *command_file_comment(const Repl *r, const Source *src, unsigned how) {
    bool has_args = how & RUN_ARGS && r->argv && r->argv[0], has_dir = strchr(src->name, '/');
    Bytes b = {0};
    bytes_puts(&b, how & RUN_ARGS ? "# :run" : "# :load");
    put_word(src->name, &b);
    for (char **w = r->argv; has_args && *w; w++) put_word(*w, &b);
    bytes_putc(&b, '\n');
    if (has_args) bytes_puts(&b, "# Its arguments are not repeated: give them to this program.\n");
    if (!(how & RUN_ARGS)) bytes_puts(&b, "# Values that it showed are not printed here.\n");
    if (has_dir && has_word(src->text, "import"))
        bytes_printf(&b, "# Its imports are beside that file: GT_PATH=%.*s finds them.\n",
                     (int)(strrchr(src->name, '/') - src->name), src->name);
    return b.data;
}

/* Appends one statement as a line of a program: a value that was shown is printed. */
static void put_typed(const Typed *t, bool uses_ans, bool uses_bar, Bytes *out) {
    size_t n = strlen(t->text);
    while (n && (t->text[n - 1] == '\n' || t->text[n - 1] == ' ' || t->text[n - 1] == ';')) n--;
    bool has_comment = memchr(t->text, '#', n) != NULL;
    if (t->comment) bytes_puts(out, t->comment);
    if (!t->is_value || has_comment || t->comment)
        bytes_puts(out, t->text);
    else if (uses_ans || uses_bar)
        bytes_printf(out, "ans = (%.*s)\n%s%s", (int)n, t->text, uses_bar ? "_ = ans\n" : "",
                     t->is_shown ? "print(ans)\n" : "");
    else if (!t->is_shown)
        bytes_puts(out, t->text);
    else
        bytes_printf(out, "print(%.*s)\n", (int)n, t->text);
}

/* Writes a new file; fails if it is there already. */
static bool write_new(const char *path, const Bytes *text, Err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot write '%.200s': %s", path,
                       errno == EEXIST ? "it exists already; :save! FILE replaces it"
                                       : strerror(errno));
    close(fd);
    if (io_append(path, text->data, text->n, err)) return true;
    unlink(path);
    return false;
}

void command_save(Repl *r, const char *rest, bool over) {
    char *path = next_word(&rest);
    Err err = {0};
    Bytes out = {0};
    bool uses_ans = false, uses_bar = false; /* _ is ans */
    if (!path) {
        fputs(over ? ":save! needs a file\n" : ":save needs a file\n", stderr);
        return;
    }
    for (size_t i = 0; i < r->n_typed; i++) {
        uses_ans |= has_word(r->typed[i].text, "ans");
        uses_bar |= has_word(r->typed[i].text, "_");
    }
    bytes_puts(&out, "#!/usr/bin/env gtsh\n");
    for (size_t i = 0; i < r->n_typed; i++) put_typed(&r->typed[i], uses_ans, uses_bar, &out);
    if (over ? io_write(path, out.data, out.n, &err) : write_new(path, &out, &err))
        fprintf(stderr, "%zu statement%s written to '%s'\n", r->n_typed, r->n_typed == 1 ? "" : "s",
                path);
    else
        fprintf(stderr, "%s\n", err.text);
    bytes_fini(&out);
    free(path);
}

/* ---- :history ---- */

/* Prints one entry; further lines are indented. What was pasted may hold control characters. */
static void print_entry(int number, const char *text) {
    Bytes b = {0};
    bytes_printf(&b, "%5d  ", number);
    for (;; bytes_puts(&b, "\n       ")) {
        size_t n = strcspn(text, "\n");
        error_put_line(text, n, &b);
        if (!text[n]) break;
        text += n + 1;
    }
    bytes_putc(&b, '\n');
    bytes_write(&b, stdout);
}

void command_history(Repl *r, const char *rest) {
    HIST_ENTRY **list = history_list();
    bool is_number = *rest && !rest[strspn(rest, "0123456789")];
    long n = is_number ? strtol(rest, NULL, 10) : *rest ? LONG_MAX : HISTORY_LINES;
    int count = 0;
    while (list && list[count]) count++;
    for (int i = !is_number && *rest ? 0 : count > n ? count - (int)n : 0; i < count; i++)
        if (is_number || !*rest || strcasestr(list[i]->line, rest))
            print_entry(history_base + i, list[i]->line);
    if (!count) puts("nothing was typed");
}

void command_file_fini(Repl *r) {
    for (size_t i = 0; i < r->n_typed; i++) free(r->typed[i].text), free(r->typed[i].comment);
    free(r->typed);
    free(r->last);
    free(r->last_file);
    words_free(&r->argv);
    words_free(&r->next_argv);
}
