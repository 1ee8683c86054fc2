/* replay_line.h: instruction text run line by line, for callers that choose the lines: the rounds
 * of a step (replay_step.c). Ids are those of the text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_LINE_H
#define GT_LANG_SHELL_REPLAY_LINE_H
#include "lang/value/interp.h"

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
