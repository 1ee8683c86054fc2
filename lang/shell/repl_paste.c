/* repl_paste.c: see repl_paste.h. A terminal with bracketed paste sends ESC [200~, the text and
 * ESC [201~.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/repl_paste.h"
#include "lang/shell/typing.h"
#include "lang/error/interrupt.h"
#include "lang/syntax/ast.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/shell/edit.h"

enum { PASTE_MAX = 64 << 20 };

static char *held;

/* ---- transcripts ---- */

/* The length of a prompt at s, or 0. is_first: it begins a statement. */
static size_t prompt_length(const char *s, bool *is_first) {
    *is_first = true;
    if (!strncmp(s, "gt> ", 4)) return 4;
    if (!strncmp(s, "gt ", 3) && isalpha((unsigned char)s[3])) { /* gt rows> */
        size_t n = strnlen(s, 3 + SCOPE_MAX + 2);
        const char *end = memmem(s, n, "> ", 2);
        if (end && !memchr(s, '\n', (size_t)(end - s))) return (size_t)(end - s) + 2;
    }
    *is_first = false;
    if (s[0] == ' ' && s[1] && strchr("{}([\"'", s[1]) && !strncmp(s + 2, "…> ", 5)) return 7;
    return !strncmp(s, " …> ", 6) ? 6 : 0;
}

const char *paste_skip_prompts(const char *s) {
    bool is_first;
    for (size_t n; (n = prompt_length(s, &is_first)) > 0;) s += n;
    return s;
}

/* The length of a prompt of Python or IPython at s, or 0. */
static size_t python_prompt(const char *s, bool is_first) {
    if (!strncmp(s, is_first ? ">>>" : "...", 3)) return s[3] == ' ' ? 4 : s[3] == '\n' ? 3 : 0;
    size_t n = is_first ? !strncmp(s, "In [", 4) ? 4 : 0 : strspn(s, " ");
    if (!n) return 0;
    n += is_first ? strspn(s + n, "0123456789") : 0;
    const char *end = is_first ? "]:" : "...:";
    if (strncmp(s + n, end, strlen(end))) return 0;
    n += strlen(end);
    return n + (s[n] == ' ');
}

const char *paste_skip_python(const char *s) { return s + python_prompt(s, true); }

/* Notes a line, newline included, that is left out of the text, unless it is blank. */
static void leave_out(PasteRest *rest, const char *line, size_t n) {
    if (strspn(line, " \t\r\n") >= n) return;
    if (!rest->n_lines++) bytes_add(&rest->first, line, strcspn(line, "\n"));
}

/* Of a transcript of Python or IPython, keeps the lines that were typed. */
static void clean_python(Bytes *text, PasteRest *rest) {
    const char *s = text->data + strspn(text->data, "\n");
    Bytes kept = {0};
    if (!python_prompt(s, true)) return;
    while (*s) {
        size_t n = strcspn(s, "\n") + (strchr(s, '\n') != NULL), prompt = python_prompt(s, true);
        if (!prompt) prompt = python_prompt(s, false);
        if (prompt)
            bytes_add(&kept, s + prompt, n - prompt);
        else
            leave_out(rest, s, n);
        s += n;
    }
    bytes_fini(text);
    *text = kept;
}

/* True if a statement of this kind shows nothing at the prompt. */
static bool is_silent(NodeKind kind) {
    switch (kind) {
    case N_ASSIGN:
    case N_AUGASSIGN:
    case N_FN_STMT:
    case N_MODULE:
    case N_DEL: return true;
    default: return false;
    }
}

/* True if the lines parse and their last statement shows nothing. */
static bool shows_nothing(const Bytes *lines) {
    Source probe = {.name = "paste", .text = lines->data, .n = lines->n, .first_line = 1};
    LangError e = {0};
    Program *p = parse_program(&probe, NULL, NULL, NULL, &e);
    uint32_t n = p ? p->body->n_kids : 0;
    bool is = p && (!n || is_silent((NodeKind)p->body->kid[n - 1]->kind));
    program_free(&p);
    return is;
}

/* True if the lines are statements, not output: they parse, and one is no mere expression, or
 * nothing that ran before them can have shown them. */
static bool is_code(const Bytes *lines, bool has_no_output) {
    Source probe = {.name = "paste", .text = lines->data, .n = lines->n, .first_line = 1};
    LangError e = {0};
    Program *p = lines->n ? parse_program(&probe, NULL, NULL, NULL, &e) : NULL;
    bool is = p && has_no_output;
    for (uint32_t i = 0; p && i < p->body->n_kids; i++) is |= p->body->kid[i]->kind != N_EXPR_STMT;
    program_free(&p);
    return is;
}

void paste_clean(Bytes *text, PasteRest *rest) {
    bool is_first, has_no_output = false;
    clean_python(text, rest);
    const char *s = text->n ? text->data + strspn(text->data, "\n") : "";
    if (!prompt_length(s, &is_first) || !is_first) return;
    Bytes kept = {0}, statement = {0}, others = {0};
    int n_first = 0;
    while (*s) {
        size_t n = strcspn(s, "\n") + (strchr(s, '\n') != NULL),
               prompt = prompt_length(s, &is_first);
        bool goes_on = !prompt && statement.n && parse_open_text(&statement, NULL);
        if (prompt && is_first) statement.n = 0, n_first++;
        if (!prompt && !goes_on) {
            if (statement.n) has_no_output = shows_nothing(&statement);
            statement.n = 0, bytes_add(&others, s, n);
            leave_out(rest, s, n);
        }
        if (prompt || goes_on) {
            bytes_add(&kept, s, n);
            bytes_add(&statement, s + prompt, n - prompt);
        }
        s += n;
    }
    bool is_program = n_first == 1 && is_code(&others, has_no_output); /* pasted behind a prompt */
    bytes_fini(&statement);
    bytes_fini(&others);
    bytes_fini(is_program ? &kept : text);
    if (is_program)
        rest->n_lines = 0;
    else
        *text = kept;
}

/* ---- the line editor ---- */

#if defined(RL_READLINE_VERSION) && RL_READLINE_VERSION >= 0x0700
/* Reads the pasted text up to its end mark; carriage returns are line ends, and NUL is left out. */
static void read_paste(Bytes *text) {
    static const char end[] = "\033[201~";
    const size_t n_end = sizeof end - 1;
    rl_getc_func_t *getc_before = rl_getc_function;
    rl_getc_function = edit_key; /* Ctrl-C ends the wait for a paste that was cut off */
    for (int c; text->n < PASTE_MAX && (c = rl_read_key()) >= 0;) {
        if (c) bytes_putc(text, (char)c);
        if (text->n >= n_end && !memcmp(text->data + text->n - n_end, end, n_end)) {
            text->n -= n_end;
            break;
        }
    }
    rl_getc_function = getc_before;
    for (size_t i = 0; i < text->n; i++)
        if (text->data[i] == '\r') text->data[i] = '\n';
    bytes_putc(text, '\0');
}

/* The number of rows that the line takes with this text in it, about. */
static int rows_of(const char *text, int columns) {
    int rows = 1;
    for (const char *s = text; *s;) {
        int n = (int)strcspn(s, "\n");
        rows += n / (columns > 0 ? columns : 80) + (s[n] == '\n');
        s += n + (s[n] == '\n');
    }
    return rows;
}

static int on_paste(int count, int key) {
    Bytes text = {0};
    int rows, columns;
    read_paste(&text);
    if (interrupt_count) { /* the prompt drops the line */
        bytes_fini(&text);
        return 0;
    }
    rl_get_screen_size(&rows, &columns);
    if (!held && rows_of(text.data, columns) < rows - 1) {
        rl_insert_text(text.data);
        bytes_fini(&text);
        return 0;
    }
    Bytes all = {0};
    bytes_printf(&all, "%s%.*s%s", held ? held : "", rl_end, rl_line_buffer, text.data);
    free(held);
    held = all.data;
    int lines = 0;
    for (const char *s = held; *s; s++) lines += *s == '\n';
    rl_replace_line("", 1);
    typing_erase();
    fprintf(rl_outstream, "%d lines pasted: Enter runs them, Ctrl-C drops them\n", lines + 1);
    typing_again();
    bytes_fini(&text);
    return 0;
}

void paste_begin(void) { rl_bind_keyseq("\033[200~", on_paste); }
#else
void paste_begin(void) {} /* another line editor has no bracketed paste */
#endif

char *paste_take(void) {
    char *text = held;
    held = NULL;
    return text;
}

bool paste_is_held(void) { return held != NULL; }

void paste_drop(void) { free(paste_take()); }
