/* effects.h: what a program does to the world in stream order: text on the screen, text in
 * files, remarks, assertions of --emit. None of them waits; the values come back as replies and
 * the text is made then (show_format).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_EFFECTS_H
#define GT_LANG_TEXT_EFFECTS_H
#include "lang/value/interp.h"

/* p->t may be empty; p stays the caller's. Position: interp_span. */
bool effect_print(Interp *in, const Pieces *p, bool to_stderr, LangError *e);
bool effect_write(Interp *in, const char *path, bool append, const Pieces *p, LangError *e);
bool effect_note(Interp *in, const Pieces *p, LangError *e);
/* `assert` as an instruction (EMIT, and checks of ours; live the evaluator waits for the truth of a
 * program's). */
bool effect_assert(Interp *in, Tensor *condition, const Pieces *message, LangError *e);
/* A `print`, `write`, `note` or `assert` as it stands in a stream (replay.c); inst_infer has
 * taken it. handle: its operands, borrowed. */
bool effect_inst(Interp *in, const Inst *inst, Handle *const *handle, Span at, LangError *e);
/* The text now: waits for the tensors in it. Without tensors it never waits. */
bool pieces_look(Interp *in, const Pieces *p, Bytes *out, LangError *e);
#endif
