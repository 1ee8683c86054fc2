/* replay_state.h: private to the replay_*.c files: the state of a replay.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_STATE_H
#define GT_LANG_SHELL_REPLAY_STATE_H
#include "lang/shell/replay.h"
#include "lang/shell/replay_files.h"
#include "lang/shell/replay_lines.h"
#include "runtime/base/map.h"

enum { REPLAY_FILES_MAX = 1000, SEEN_IDS = 512 /* ids per block of bits */ };

struct Replay {
    Interp *in;
    Stream *stream;
    ReplayConfig config;
    Lines l;                        /* the file; its current line and that line's arena */
    Map handle;                     /* id in the text -> Handle, a reference */
    Map seen;                       /* id / SEEN_IDS -> bits: ids that were defined */
    Source *file[REPLAY_FILES_MAX]; /* files named by positions; owned by the interpreter */
    int n_files;
    ReplayFiles *files;     /* files named by load and data */
    Buf *whole;             /* the elements that replay_write puts into the line, or NULL */
    struct Verify *verify;  /* NULL: nothing is compared */
    uint64_t n_run, n_told; /* instructions executed; values that the file tells */
    uint32_t last_line;     /* of the last instruction executed */
};

/* Fails at the line's origin, or with column > 0 at that column of the line. */
static inline Span replay_here(const Replay *r, int column) { return lines_span(&r->l, column); }
/* The source position that the line carries, else the line itself. */
Span replay_origin(Replay *r);
/* True if nothing is computed: lines are checked, or written to another file. */
static inline bool replay_is_dry(const Replay *r) { return stream_mode(r->stream) == STREAM_CHECK; }

/* ---- replay_check.c ---- */
/* The first pass: checks the form of every line, so that nothing is sent of a file with an error.
 * Cuts off an incomplete last line. */
bool replay_check(Replay *r, LangError *e);

/* ---- replay_effect.c ---- */
/* Carries out fetch, peek and save. in, handle: the operands. */
bool replay_effect(Replay *r, const Inst *inst, Handle **handle, LangError *e);

/* ---- replay_write.c ---- */
/* Writes the line with the types of its results. n: how many it has. */
void replay_write(Replay *r, Handle *const *out, int n);
#endif
