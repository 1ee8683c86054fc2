/* error.h: what a user sees when something is wrong (LANGUAGE 3.3): file:line:col, what, the source
 * line, carets with labels, at most one hint. A LangError is filled once, where the mistake is
 * known; every function that can fail returns false (or NULL) and passes it on with TRY. Positions
 * are Spans into a Source; Sources live as long as the interpreter.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_ERROR_H
#define GT_LANG_ERROR_ERROR_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/near.h"

/* One text that was read: a script, a line at the prompt ("repl"), -c ("-c"), a prelude file. */
typedef struct Source {
    const char *name, *text; /* owned, NUL-terminated */
    size_t n;
    uint32_t first_line; /* number of its first line: at the prompt lines go on counting */
    uint16_t id;         /* SrcPos.file; index in the interpreter's table */
    bool is_prelude;     /* errors in it fold into the caller's line */
    bool is_prompt;      /* expressions echo: none is a dead statement */
} Source;

/* A stretch of one source. line counts from the source's first_line, col from 1 in bytes; len 0: no
 * caret; col 0: only the line is known. */
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

/* One call that was running: frames are told innermost first. */
typedef struct ErrorFrame {
    const char
        *name;      /* interned: "block", "Net.forward", "nn.Linear"; of a file its path; "": fn */
    Span call;      /* where it was called, or imported */
    uint32_t again; /* so many further calls of the same function at the same place */
    bool is_prelude, is_file;
} ErrorFrame;
/* A deeper stack keeps its inner and its outer ends. */
enum { ERROR_FRAMES = 12, ERROR_FRAMES_INNER = 8 };

typedef struct LangError {
    ErrorKind kind;
    bool is_late;    /* found after the fact, by a worker: what came before it is done */
    bool has_stack;  /* its frames are known: unwinding adds none */
    int exit_code;   /* of E_EXIT */
    char what[1024]; /* one sentence, lower case, no full stop */
    Span at;         /* main position */
    ErrorLabel label[3];
    int n_labels;   /* further carets; label[0] may sit on `at` itself */
    char hint[512]; /* "" or one remedy */
    ErrorFrame frame[ERROR_FRAMES];
    int n_frames;
    uint32_t n_left_out; /* calls between the inner frames and the rest */
} LangError;

/* All return false, so that `return error_at(...)` reads well. Later positions do not overwrite
 * earlier ones; error_set leaves the position to the caller above. */
bool error_at(LangError *e, Span at, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool error_set(LangError *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool error_hint(LangError *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool error_label(LangError *e, Span at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool error_from(LangError *e, const Err *err); /* a runtime Err becomes what and hint */
void error_locate(LangError *e, Span at);      /* sets `at` if it has none */

/* The next outer call on the error's stack; the same again is folded. name is interned. */
void error_frame(LangError *e, const ErrorFrame *f);
/* The stack's lines, as they follow the message. */
void error_stack_print(const LangError *e, Bytes *out);

/* Appends a text of a message so that it cannot steer a terminal: control characters and bytes that
 * are no UTF-8 as \xHH, a line break as \n unless has_lines. */
void error_words(const char *s, bool has_lines, Bytes *out);
/* Renders with or without colour; "error" or "warning" by severity. Ends with a newline. */
void error_print(const LangError *e, const char *severity, bool color, Bytes *out);
/* Appends a stretch of source so that it cannot steer a terminal; tabs stay. */
void error_put_line(const char *s, size_t n, Bytes *out);
/* The text that a span covers, borrowed from its source, not NUL-terminated; NULL: none. */
const char *span_text(Span at, size_t *n);
/* The exit code of LANGUAGE 1.2: 65 syntax, 1 run and assert, 66 no input, 69 gone, 78 config, 130
 * interrupt. */
int error_exit_code(const LangError *e);

/* What to write here instead of a word of another language ("null", "np", "elseif"), or NULL: for
 * syntax errors and for names that are not defined. */
const char *habit_hint(const char *s, size_t n);
#endif
