/* replay.h: runs a program of instructions, `gti 1` text (STREAM 1): `gtsh --emit a.gt | gtsh
 * --replay -` equals `gtsh a.gt`.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_H
#define GT_LANG_SHELL_REPLAY_H
#include "lang/value/interp.h"

/* Is this the text form? true when the first line begins with "gti ". */
bool replay_is_text(const char *text, size_t n);
/* Sends the instructions of src in order through the interpreter's stream; effects (print, write,
 * save, load) are carried out as for a live program. Types after -> are verified. Errors are at
 * src's line, at the source position that an instruction carries when one is known. Waits for
 * nothing; stream_sync does. Of a tape (tape.h) it is what one client asked for: `client`,
 * or 0: the only one; then a line on standard error says how much that was. */
bool replay_run(Interp *in, const Source *src, uint32_t client, LangError *e);
#endif
