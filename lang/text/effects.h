/* effects.h: the effects of a program, in stream order: text on the screen, text in files, notes,
 * the assertions of --emit. None of them waits: their values come back as replies, and the text is
 * formatted then (show_format).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_EFFECTS_H
#define GT_LANG_TEXT_EFFECTS_H
#include "lang/value/interp.h"

/* p->t may be empty; the caller keeps p. Errors point at interp_span. */
bool effect_print(Interp *in, const Pieces *p, bool to_stderr, LangError *e);
bool effect_write(Interp *in, const char *path, bool append, const Pieces *p, LangError *e);
bool effect_note(Interp *in, const Pieces *p, LangError *e);
/* `assert` as an instruction: under --emit, and for internal checks. For a live program's `assert`
 * the evaluator waits for the condition instead. */
bool effect_assert(Interp *in, Tensor *condition, const Pieces *message, LangError *e);
/* Queues a `print`, `write`, `note` or `assert` that replay.c read from a stream and inst_infer
 * accepted. handle: its operands, borrowed. */
bool effect_inst(Interp *in, const Inst *inst, Handle *const *handle, Span at, LangError *e);
/* Writes the text of p to out. Waits for the tensors in p, if there are any. */
bool pieces_look(Interp *in, const Pieces *p, Bytes *out, LangError *e);
#endif
