/* error.h: errors as users see them: file:line:col, the message, the source line,
 * carets with labels, at most one hint. The function that detects an error fills the LangError;
 * every function that can fail returns false (or NULL), and callers pass it on with TRY. Positions
 * are Spans into a Source; Sources live as long as the interpreter.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_ERROR_H
#define GT_LANG_ERROR_ERROR_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/near.h"

/* One source text: a script, a line at the prompt ("repl"), -c ("-c"), a prelude file. */
typedef struct Source {
    const char *name, *text; /* owned, NUL-terminated */
    size_t n;
    uint32_t first_line; /* number of its first line: numbering continues at the prompt */
    uint16_t id;         /* SrcPos.file; index in the interpreter's table */
    bool is_prelude;     /* errors in it are reported at the user's call */
    bool is_prompt;      /* expressions echo, so none is a dead statement */
} Source;

/* A range on one line of a source. line counts from the source's first_line, col from 1 in bytes.
 * len 0: no caret; col 0: only the line is known. */
typedef struct Span {
    const Source *src;
    uint32_t line;
    uint16_t col, len;
} Span;

typedef enum ErrorKind {
    E_NONE,
    E_SYNTAX,
    E_INCOMPLETE,
    E_RUN,
    E_ASSERT,
    E_INTERRUPT,
    E_EXIT,
    E_GONE,
    E_CONFIG,
    E_NOINPUT
} ErrorKind;

typedef struct ErrorLabel {
    Span at;
    char text[160];
} ErrorLabel; /* text may be "" */

/* One call on the stack of an error; innermost first. */
typedef struct ErrorFrame {
    const char
        *name;      /* interned: "block", "Net.forward", "nn.Linear"; of a file its path; "": fn */
    Span call;      /* position of the call or import */
    uint32_t again; /* number of further identical calls: same function and position */
    bool is_prelude, is_file;
} ErrorFrame;
/* A deeper stack keeps its innermost ERROR_FRAMES_INNER and its outermost calls. */
enum { ERROR_FRAMES = 12, ERROR_FRAMES_INNER = 8 };

typedef struct LangError {
    ErrorKind kind;
    bool is_late;     /* a worker's failure, reported after the statement had run */
    bool has_stack;   /* its frames are complete: unwinding adds none */
    bool is_unfolded; /* its stack prints each call in the prelude on a line of its own */
    int exit_code;    /* of E_EXIT */
    char what[1024];  /* one sentence, lower case, no full stop */
    Span at;          /* main position */
    ErrorLabel label[3];
    int n_labels;   /* further carets; label[0] may be at `at` itself */
    char hint[512]; /* "" or one remedy */
    ErrorFrame frame[ERROR_FRAMES];
    int n_frames;
    uint32_t n_left_out; /* calls dropped between the inner and the outer frames */
} LangError;

/* All return false, for `return error_at(...)`. A later position does not overwrite an earlier one;
 * error_set leaves the position to a caller. */
bool error_at(LangError *e, Span at, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool error_set(LangError *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A mistake in the command line, with exit code 2; replaces what *e said. */
bool error_usage(LangError *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool error_hint(LangError *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Shows a signature, f(x, y=1), at the error: beside the caret, or as the hint if it is long. near:
 * the name that was perhaps meant, or NULL; a long signature is left out beside it. */
bool error_signature(LangError *e, const char *near, const char *signature);
bool error_label(LangError *e, Span at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool error_from(LangError *e, const Err *err); /* takes what and hint from a runtime Err */
bool error_locate(LangError *e, Span at);      /* sets `at` if it has none; returns false */

/* Appends message text, escaped so that it cannot control a terminal: control characters and
 * invalid UTF-8 become \xHH, a line break becomes \n unless has_lines. */
void error_words(const char *s, bool has_lines, Bytes *out);
/* Appends the whole message, ending with a newline. severity: "error" or "warning". */
void error_print(const LangError *e, const char *severity, bool color, Bytes *out);
/* The same for a terminal of so many columns: of a longer source line the part around its first
 * caret, with `...` on either side. columns 0: source lines in full, as in a file. */
void error_print_on(const LangError *e, const char *severity, bool color, int columns, Bytes *out);
/* The columns of the terminal at fd; 0 if that is no terminal. */
int error_columns(int fd);
/* Appends source text so that it cannot control a terminal: `?` replaces control characters, except
 * tabs, and invalid UTF-8. */
void error_put_line(const char *s, size_t n, Bytes *out);
/* Returns the text of a span (borrowed from its source, not NUL-terminated), or NULL. */
const char *span_text(Span at, size_t *n);
/* Returns the exit code: 65 syntax, 1 run and assert, 66 no input, 69 dispatcher or worker gone, 78
 * configuration, 130 interrupted (gtsh(1)). */
int error_exit_code(const LangError *e);

/* Returns the hint for a word of another language ("null", "np", "elseif"), or NULL. For syntax
 * errors and undefined names. */
const char *habit_hint(const char *s, size_t n);
/* The same for words of a search: case and blanks do not count ("data loader"). */
const char *habit_search(const char *words);
#endif
