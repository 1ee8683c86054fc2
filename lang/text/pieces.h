/* pieces.h: text put together from values without waiting for the tensors in it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_PIECES_H
#define GT_LANG_TEXT_PIECES_H
#include "lang/value/value.h"

void pieces_text(Pieces *p, const char *s, size_t n);
/* between the braces: "", ":.4f", "!r" */
void pieces_tensor(Pieces *p, Tensor *t, const char *spec, size_t n);
/* print's form, or echo's */
bool pieces_value(Interp *in, Pieces *p, Value v, bool is_repr, LangError *e);
/* v as the field of an f-string: by a spec of format.h, or without one ("") in print's form. A
 * tensor's text is made when it is shown, but for a repr with a spec. */
bool pieces_format(Interp *in, Pieces *p, Value v, const char *spec, size_t n_spec, bool is_repr,
                   LangError *e);
Value v_pieces(Pieces *p); /* consumes: V_STR when there is no tensor in it, else V_TEXT */

/* print's form (top level strings bare) and echo's form (strings quoted). Tensors inside are
 * fetched: may wait and fail. */
bool value_str(Interp *in, Value v, Bytes *out, LangError *e);
bool value_repr(Interp *in, Value v, Bytes *out, LangError *e);
/* The string behind a V_STR or V_TEXT (waits for the latter's tensors): *out is a new reference
 * to a V_STR. */
bool value_look(Interp *in, Value v, Value *out, LangError *e);
/* v as a key of a map or an element of a set: a new reference; an error if it can be neither. A
 * list is copied, and the copy cannot be changed. */
bool value_key(Interp *in, Value v, Value *out, LangError *e);
#endif
