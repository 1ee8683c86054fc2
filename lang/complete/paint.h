/* paint.h: the looks of a text that is being typed: the class of each byte for colours, the bracket
 * that matches the one at the cursor, and the indent of the next line.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_COMPLETE_PAINT_H
#define GT_LANG_COMPLETE_PAINT_H
#include "lang/value/interp.h"

typedef enum PaintClass {
#define PAINT(id, sgr, what) PAINT_##id,
#include "lang/complete/paint.def"
    PAINT_COUNT
} PaintClass;

enum { PAINT_INDENT = 4 }; /* blanks of a level */

/* A text to paint, from byte `from` on. The word that the cursor touches is never UNKNOWN: it may
 * be unfinished. is_part: statements that the text begins with are left out, and no word is
 * UNKNOWN. */
typedef struct PaintText {
    const char *text;
    size_t n, from, cursor;
    bool is_part;
} PaintText;

/* Sets class[from .. n) to the PaintClass of each byte. */
void paint_text(Interp *in, const PaintText *p, uint8_t *class);
/* The parameters of the terminal's SGR sequence for a class, "1;34"; "" for plain text. */
const char *paint_sgr(PaintClass class);
/* Finds the bracket before the cursor, or at it, and its partner. Returns false if there is none,
 * or it is within a string or comment. */
bool paint_match(const char *text, size_t n, size_t cursor, size_t *bracket, size_t *partner);
/* The number of blanks for the line that follows the n bytes: one level more than the line of the
 * innermost open bracket; that of a line begun in it. 0 within a string. */
size_t paint_indent(const char *text, size_t n);
/* The number of blanks before a closing bracket that begins the line after the n bytes: those of
 * the line of the innermost open bracket. */
size_t paint_outdent(const char *text, size_t n);
#endif
