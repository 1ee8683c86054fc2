/* keyword.h: PyTorch's and NumPy's names of arguments, so that x.sum(dim=1, keepdim=True) and
 * flatten(x, start_dim=1) run as they are. They are accepted by builtins and by functions of the
 * prelude wherever no parameter has that very name; documentation shows ours.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_KEYWORD_H
#define GT_LANG_ERROR_KEYWORD_H

/* The i-th of our names, in order of preference, for one of theirs; NULL behind the last. */
const char *keyword_ours(const char *theirs, int i);
#endif
