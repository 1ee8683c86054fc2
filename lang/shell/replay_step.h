/* replay_step.h: runs a step (lang/step/step.h) so many times: `gtsh --replay step.gti --bind
 * x=x.npy --times 1000 --out w=w.safetensors`.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_STEP_H
#define GT_LANG_SHELL_REPLAY_STEP_H
#include "lang/value/interp.h"

/* What the command line says; all borrowed. */
typedef struct StepRun {
    const char *const *bind; /* NAME=FILE, for inputs */
    int n_bind;
    const char *const *out; /* NAME=FILE, for outputs */
    int n_out;
    uint64_t times; /* rounds; 0: as many as were recorded */
    bool quiet;     /* no summary */
} StepRun;

/* True if the text begins with the header of a step: gti 1 kind=step. */
bool replay_is_step(const char *text, size_t n);
/* Runs src, the text of a step, through the interpreter's stream. All is checked before: the text,
 * the bound files, and that each input has a value for every round. Does not wait: stream_sync
 * does. Outputs are saved in stream order. Reports on standard error how many rounds it ran. */
bool replay_step(Interp *in, const Source *src, const StepRun *run, LangError *e);
/* Cuts a step out of a run: text, n bytes (a NUL after them), is what --emit prints of the program
 * `name`. Appends the step to *out, and to *notes a line for each thing that it leaves out. false:
 * e says why no step can be cut. */
bool replay_cut_step(const char *name, const char *text, size_t n, Bytes *out, Bytes *notes,
                     LangError *e);
#endif
