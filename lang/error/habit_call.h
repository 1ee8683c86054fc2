/* habit_call.h: matches a call in the program with the call in a row of habit.def.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_ERROR_HABIT_CALL_H
#define GT_LANG_ERROR_HABIT_CALL_H
#include <stdbool.h>
#include <stddef.h>

/* Part of a text; borrowed. */
typedef struct Piece {
    const char *s;
    size_t n;
} Piece;

enum { BOUND_MAX = 16 };
/* Parameters with their arguments, and the arguments that belong to no parameter. */
typedef struct Bound {
    Piece name[BOUND_MAX], value[BOUND_MAX], rest[BOUND_MAX];
    int n, n_rest;
} Bound;

/* Returns the length of the bracketed list that s begins with, its brackets included; 0 if it is
 * not closed within n bytes. */
size_t brackets_length(const char *s, size_t n);
/* Binds the arguments of a call, "(x, axis=0)", to the parameters of a row, "(a, *, ddof=0)": the
 * legend of habit.def. Returns false if they do not fit. b borrows both texts. */
bool call_bind(const char *params, const char *args, Bound *b);
/* Binds the parameters to themselves, or to their defaults: for a hint that names no arguments. */
void call_bind_names(const char *params, Bound *b);
/* True if no operator around p takes it apart: x, x[0], f(a, b), 1e-3; not a + b. */
bool piece_is_operand(Piece p);
/* True if no operator stands beside an expression. before: the last character before it that is no
 * blank, or 0. behind: the text after it. */
bool stands_alone(char before, const char *behind);
/* Writes the hint with arguments in place of the parameters, cut to size. */
void call_expand(const char *hint, const Bound *b, char *out, size_t size);
#endif
