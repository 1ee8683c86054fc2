/* replay.h: runs a program of instructions, gti(5): `gtsh --emit a.gt | gtsh --replay -` equals
 * `gtsh a.gt`.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_H
#define GT_LANG_SHELL_REPLAY_H
#include "lang/value/interp.h"
#include "runtime/inst/inst_file.h"

/* What stands for elements that were left out. */
typedef enum ReplayFill { FILL_REFUSE, FILL_ZEROS, FILL_RANDN } ReplayFill;

typedef struct ReplayConfig {
    uint32_t client; /* of a tape; 0: its only one */
    uint64_t upto;   /* stop after so many instructions; 0: run all */
    double speed;    /* of a tape: times its own pace; 0: as fast as possible */
    ReplayFill fill;
    bool verify;      /* compare what is fetched with the file's `value` lines */
    bool keep;        /* name the live tensors t12 ..., for the prompt */
    bool quiet;       /* no summary */
    InstFile *file;   /* in CHECK mode: write the instructions here (gtsh --emit --replay) */
    bool has_all;     /* ... with the elements of files in them */
    const char *data; /* a binary file: its bytes (src has no text); else NULL */
    size_t n;
} ReplayConfig;

/* True for instructions: text that begins with "gti ", perhaps after comments, or the magic of the
 * binary form. */
bool replay_is_text(const char *text, size_t n);
/* Sends the instructions of src in order through the interpreter's stream. Effects (print, write,
 * save, load) are carried out as for a live program; types after -> are verified. An error points
 * at the source position that the instruction carries, else at its line. With `verify` it waits;
 * else stream_sync does. Reports on standard error how many instructions it ran. In CHECK mode
 * nothing runs: ids and shapes are checked. */
bool replay_run(Interp *in, const Source *src, const ReplayConfig *config, LangError *e);

/* ---- Line by line, for callers that choose the lines: the rounds of a step (replay_step.c). Ids
 * are those of the text. ---- */

typedef struct Replay Replay;
/* src: the file, for errors; it outlives the result. The directory of its name is where `load` and
 * `data` look for files. */
Replay *replay_open(Interp *in, const Source *src);
void replay_close(Replay **r); /* releases all tensors; NULL-safe */
/* Runs an instruction. parsed: what inst_parse has made of the n bytes at text, which need not be
 * text of src. line: its number in src, from 1, for errors. All are read during the call only. */
bool replay_line(Replay *r, const char *text, size_t n, uint32_t line, const InstLine *parsed,
                 LangError *e);
Handle *replay_get(const Replay *r, uint64_t id); /* borrowed; NULL: there is none */
/* Lets id denote h, whatever it denoted before. Takes ownership of the reference. */
void replay_put(Replay *r, uint64_t id, Handle *h);
/* Releases the tensor of an id, if it has one. Then a line may define the id again. */
void replay_forget(Replay *r, uint64_t id);
#endif
