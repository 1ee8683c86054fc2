/* picture.h: plot, hist and image as effects. Their figures are drawn when the values arrive, in
 * stream order: on the screen as print's lines, or in a file.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_PICTURE_H
#define GT_LANG_TEXT_PICTURE_H
#include "lang/file/io.h"
#include "lang/value/interp.h"

/* Queues op, which is OP_PLOT, OP_HIST or OP_IMAGE. operands: maps names (x, y, x1, y1 ...) to
 * tensors. path: NULL for the screen. title: a text with tensors, or NULL. options: a map of host
 * values; an error names what is wrong with one. */
bool picture_effect(Interp *in, Op op, const MapV *operands, const char *path,
                    const Pieces *title, const IoValue *options, LangError *e);
/* Queues such an instruction of a file. handle: its operands, borrowed. at: its place. */
bool picture_inst(Interp *in, const Inst *inst, Handle *const *handle, Span at, LangError *e);
#endif
