/* fmt_space.h: the blanks between two tokens. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FMT_FMT_SPACE_H
#define GT_LANG_FMT_FMT_SPACE_H
#include "lang/fmt/fmt_state.h"

/* fmt_space.c: the blanks between the last token and token i on the same line, 0 or 1. */
int fmt_blanks(const Fmt *f, size_t i);
/* Makes token i the last token, for fmt_blanks. was_map: it closes a map. */
void fmt_note_role(Fmt *f, size_t i, bool was_map);
#endif
