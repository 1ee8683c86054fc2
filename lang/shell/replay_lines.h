/* replay_lines.h: private to lang/shell: the lines of instructions that a replay reads: text, a
 * tape's lines of one client, or the binary form, whose records are the lines of its text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_LINES_H
#define GT_LANG_SHELL_REPLAY_LINES_H
#include "lang/value/interp.h"
#include "runtime/inst/gtb.h"

typedef struct Lines {
    const Source *src; /* for positions; of a binary file its text is empty */
    const char *data;  /* the file; borrowed */
    size_t at, end;    /* offsets in data: of the next line, of the end */
    size_t n_data;
    bool is_binary, is_tape;
    bool is_machines; /* its writer ends every line: a last line without a newline is torn */
    uint32_t client;  /* of a tape */
    GtbReader gtb;
    /* the line */
    const char *text;   /* without its newline and a tape's columns */
    size_t n, shift;    /* its length; width of the columns */
    uint32_t line;      /* its number, from 1 */
    bool is_incomplete; /* the last line, without a newline */
    double seconds;     /* of a tape: its time */
    InstLine now;       /* parsed */
    Arena arena;        /* of the line */
} Lines;

typedef enum LinesGot { LINES_END, LINES_LINE, LINES_TORN, LINES_BAD } LinesGot;

/* data: n bytes, borrowed. false: the head of a binary file is wrong. */
bool lines_open(Lines *l, const Source *src, const char *data, size_t n, LangError *e);
void lines_close(Lines *l);
void lines_rewind(Lines *l);
/* Reads and parses the next line into l->now, of a tape the next of the client. After LINES_BAD,
 * lines_fail reports err. */
LinesGot lines_next(Lines *l, Err *err);
/* Chooses the client of a tape, after a check of all columns, and cuts off a torn last line. Other
 * files are left alone. */
bool lines_choose(Lines *l, Interp *in, LangError *e);
/* A position in the file; column 0: the whole line. */
Span lines_span(const Lines *l, int column);
/* Reports a parse error; its "column 12: ..." becomes a position. Returns false. */
bool lines_fail(const Lines *l, const Err *err, LangError *e);
/* Cuts off the current line, which is incomplete: the file ends before it. Warns. */
void lines_cut(Lines *l, Interp *in);
/* Errors in a binary file get the text of their lines. */
void lines_show(const Lines *l, Interp *in, LangError *e);
/* True if the file ends within a line. */
static inline bool lines_are_cut(const Lines *l) { return l->end < l->n_data; }
#endif
