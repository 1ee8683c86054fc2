/* stream_text.h: private to lang/stream: the stream as a file of instructions (inst_file.h): all of
 * it in EMIT mode, a copy of it in LIVE mode (--tee).
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STREAM_STREAM_TEXT_H
#define GT_LANG_STREAM_STREAM_TEXT_H
#include "lang/stream/stream_state.h"

void stream_text_open(Stream *s); /* from the configuration; writes the header */
/* Writes an instruction; out: the types of its results, or NULL. */
void stream_text_put(Stream *s, const Inst *inst, const TensorType *out);
/* LIVE: writes the values of the operands of an effect or fetch. */
void stream_text_values(Stream *s, const Pending *p, const Reply *r);
/* Ends the copy, because the ids start again; the reason becomes a comment. */
void stream_text_end(Stream *s, const char *why);
void stream_text_close(Stream *s);
#endif
