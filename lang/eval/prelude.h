/* prelude.h: the part of the library that is written in the language itself, compiled in as text by
 * scripts/embed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_PRELUDE_H
#define GT_LANG_EVAL_PRELUDE_H
typedef struct PreludeFile {
    const char *name, *text;
} PreludeFile;
extern const PreludeFile prelude_files[]; /* ends with {0, 0} */
#endif
