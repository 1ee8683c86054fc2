/* keyword.h: aliases for PyTorch's and NumPy's argument names, so that x.sum(dim=1, keepdim=True)
 * and flatten(x, start_dim=1) work unchanged. Builtins and prelude functions accept an alias if
 * they have no parameter of that name. Documentation shows only gt's names.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_KEYWORD_H
#define GT_LANG_ERROR_KEYWORD_H

/* Returns the i-th of gt's names for one of theirs, in order of preference, or NULL after the
 * last. */
const char *keyword_ours(const char *theirs, int i);
#endif
