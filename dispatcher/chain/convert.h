/* convert.h: conversions that the dispatcher inserts: the same values on other ranks or laid out
 * otherwise. What a tensor was converted to is remembered with its handle, so that a second use
 * costs nothing, and dies with it, or when a client has too many such copies (windows of a loop's
 * slices are all different): they count apart from its tensors, and may take as much again.
 *
 * Terms of halves are float32 (layout.h). Making them whole or parts rounds them, once; views of
 * them are terms of the same kind; anything else reads the rounded values, as it would on one
 * worker, even where it wants terms again.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_CONVERT_H
#define GT_DISPATCHER_CHAIN_CONVERT_H
#include "dispatcher/state/state.h"

/* h lies so that every rank of g has its part by layout l already. */
bool convert_is_there(const TensorHandle *h, const Members *g, const Layout *l);
/* How h is best read by f on its group g: of terms that have been combined, the combined copy; of
 * terms of halves, unless f is a view, something that is rounded. */
Layout convert_best(const TensorHandle *h, const Members *g, Op reader);
/* The id under which tensor `id` (handle h) lies as l on g; inserts moves in front of f where it
 * must. Over a group of one every layout is whole. */
uint64_t convert_to(Flow *f, uint64_t id, TensorHandle *h, const Members *g, Layout l);
/* f's results, which are to lie so, are terms of halves that f adds up itself: its operands are to
 * be widened. */
bool convert_makes_terms(const Flow *f, const Layout *give);
/* `id`, a half, lies as l on g: its id as float32, for f alone. The caller frees it
 * (convert_forget). */
uint64_t convert_widen(Flow *f, uint64_t id, const Members *g, const Layout *l);
/* The same for one use: *is_temporary: the caller frees it (convert_forget). */
uint64_t convert_once(Flow *f, uint64_t id, TensorHandle *h, const Members *g, bool *is_temporary);
/* Behind an instruction whose operand h is: forgets copies that are too many. */
void convert_trim(Flow *f, TensorHandle *h);
void convert_drop(Flow *f, TensorHandle *h); /* all of them */
void convert_forget(Flow *f, uint64_t id, const Members *g);
/* f becomes the move of `in` to f's own result. m outlives f's way through the chain. */
void convert_become(Flow *f, uint64_t in, const TensorType *type, const Members *from,
                    const Layout *from_layout, const Members *to, const Layout *to_layout,
                    MoveInst *m);
#endif
