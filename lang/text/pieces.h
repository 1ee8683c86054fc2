/* pieces.h: builds text from values without waiting for the tensors in it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_TEXT_PIECES_H
#define GT_LANG_TEXT_PIECES_H
#include "lang/value/value.h"

void pieces_text(Pieces *p, const char *s, size_t n);
/* spec: what stands between the braces: "", ":.4f", "!r" */
void pieces_tensor(Pieces *p, Tensor *t, const char *spec, size_t n);
/* As print shows v, or (is_repr) as the prompt echoes it. */
bool pieces_value(Interp *in, Pieces *p, Value v, bool is_repr, LangError *e);
/* A key of a map, quoted unless it is a word. */
bool pieces_key(Interp *in, Pieces *p, Value key, LangError *e);
/* v as a field of an f-string, formatted by a spec of format.h or, if that is "", as print shows
 * it. The text of a tensor is made when it is shown, unless is_repr and a spec are combined. */
bool pieces_format(Interp *in, Pieces *p, Value v, const char *spec, size_t n_spec, bool is_repr,
                   LangError *e);
Value v_pieces(Pieces *p); /* Takes ownership of p: V_STR if it has no tensors, else V_TEXT. */
/* Takes ownership of p: sets *out to its text if ok. Returns ok. */
bool give_pieces(bool ok, Pieces *p, Value *out);

/* Text as print shows it (top-level strings bare), or as the prompt echoes it (strings quoted).
 * Waits for the tensors inside, and fails if one of them has no value. */
bool value_str(Interp *in, Value v, Bytes *out, LangError *e);
bool value_repr(Interp *in, Value v, Bytes *out, LangError *e);
/* The string of a V_STR or V_TEXT; for the latter it waits for the tensors. *out: a new reference
 * to a V_STR. */
bool value_look(Interp *in, Value v, Value *out, LangError *e);
/* v as a key of a map or an element of a set: a new reference. Fails if v is not hashable. A list
 * is copied, and the copy cannot be modified. */
bool value_key(Interp *in, Value v, Value *out, LangError *e);
#endif
