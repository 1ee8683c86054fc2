/* step_vary.h: what changes from round to round. SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_VARY_H
#define GT_LANG_STEP_STEP_VARY_H
#include "lang/step/step_cut.h"

/* ---- step_vary.c: what changes from round to round ---- */
typedef struct Varying Varying;
Varying *varying_new(Cut *c);
void varying_free(Varying **v);
/* Appends the lines of the number inputs that texts so far need. */
void varying_put_inputs(const Varying *v, Bytes *out);
/* Appends token k of the item at an offset of the round: as it is, or as a number of the round. */
void varying_put_number(Varying *v, int offset, int k, Bytes *out);
/* True if the line is an input: `data` with other elements in each round, or `load` of another
 * file. Appends it. */
bool varying_put_input(Varying *v, int offset, Bytes *out);
/* A name for an input made at this item: the variable that its source line assigns, or x. */
const char *varying_name(Varying *v, const Item *t);
/* A name for an output, which no other output has. */
const char *varying_output(Varying *v, const char *base, size_t n);
#endif
