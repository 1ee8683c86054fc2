/* help_text.h: help as text: the entries of lang/help/NAME.txt, first sentences, and wrapping.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_HELP_HELP_TEXT_H
#define GT_LANG_HELP_HELP_TEXT_H
#include "runtime/base/arena.h"

/* One entry: "= sum prod" and the lines up to the next entry. All texts are static and not ended by
 * a NUL; n_xxx are bytes. */
typedef struct HelpEntry {
    const char *names; /* separated by blanks */
    size_t n_names;
    const char *body; /* usage: lines, sentences, PyTorch: and NumPy: lines, examples */
    size_t n_body;
    int group;
} HelpEntry;
/* One group: "== reduce: sums and means", "from a.gt b.gt": prelude files that belong to it, and
 * "with name name": single functions of other files. */
typedef struct HelpGroup {
    const char *name, *title, *files, *others;
    size_t n_name, n_title, n_files, n_others;
} HelpGroup;

/* Returns the entry of a name, or NULL. */
const HelpEntry *help_entry(const char *name);
/* Returns entry i in the order of the files, or NULL behind the last; so with groups. */
const HelpEntry *help_entry_at(size_t i);
const HelpGroup *help_group_at(size_t i);
/* Returns the number of a group, or -1. */
int help_group(const char *name, size_t n);
/* Returns the group that names a function in its "with" line, or -1. */
int help_group_with(const char *name);
/* Returns the group that a prelude file belongs to ("loss.gt"), or -1. */
int help_group_of_file(const char *file);

/* Appends the usage: lines of a body, each on a line of its own; true if there is one. */
bool help_usage(const char *body, size_t n, Bytes *out);
/* Appends a body without its usage: lines: sentences wrapped at `width` columns, indented by 4;
 * examples as they are. */
void help_wrap(const char *body, size_t n, int width, Bytes *out);
/* Appends the first sentence, on one line of at most `width` columns. */
void help_sentence(const char *body, size_t n, int width, Bytes *out);
#endif
