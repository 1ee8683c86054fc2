/* replay.h: runs a program of instructions, `gti 1` text (gti(5)): `gtsh --emit a.gt | gtsh
 * --replay -` equals `gtsh a.gt`.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_H
#define GT_LANG_SHELL_REPLAY_H
#include "lang/value/interp.h"

/* True if the text is instruction text: its first line begins with "gti ". */
bool replay_is_text(const char *text, size_t n);
/* Sends the instructions of src in order through the interpreter's stream. Effects (print, write,
 * save, load) are carried out as for a live program; types after -> are verified. An error points
 * at the source position that the instruction carries, else at its line. Does not wait: stream_sync
 * does. Of a tape (tape.h) it runs the instructions of one client (0: the only one) and reports
 * their number on standard error. */
bool replay_run(Interp *in, const Source *src, uint32_t client, LangError *e);
#endif
