/* convert.h: conversions that the dispatcher inserts: the same values on other ranks or in
 * another layout. Conversions of a tensor are kept with its handle, so that a second use costs
 * nothing. They are freed with the tensor, or evicted when a client has too many (windows of a
 * loop's slices are all different). Their bytes count apart from the client's tensors, under a
 * limit of the same size.
 *
 * The terms of a partial half are float32 (layout.h). A conversion to another layout rounds their
 * sum once. A view of them has such terms too. Any other operation reads the rounded values, as on
 * one worker, even if its own result is partial.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_CHAIN_CONVERT_H
#define GT_DISPATCHER_CHAIN_CONVERT_H
#include "dispatcher/state/state.h"

/* True if every rank of g already has its part by layout l. */
bool convert_is_there(const TensorHandle *h, const Members *g, const Layout *l);
/* Returns the layout in which `reader` reads h on its group g: for a partial h that of its combined
 * copy, if there is one; for a partial half replicate, unless the reader is a view; else its own.
 */
Layout convert_best(const TensorHandle *h, const Members *g, Op reader);
/* Returns the id under which tensor `id` (handle h) has layout l on g. Inserts moves before f if
 * needed. In a group of one every layout is whole. */
uint64_t convert_to(Flow *f, uint64_t id, TensorHandle *h, const Members *g, Layout l);
/* True if f's results, with layout give, are terms of halves that f itself adds up: its operands
 * must be widened. */
bool convert_makes_terms(const Flow *f, const Layout *give);
/* Casts `id`, a half with layout l on g, to float32 for f alone. Returns the new id, which the
 * caller frees (convert_forget). */
uint64_t convert_widen(Flow *f, uint64_t id, const Members *g, const Layout *l);
/* As convert_to, for one use. *is_temporary: the caller frees it (convert_forget). */
uint64_t convert_once(Flow *f, uint64_t id, TensorHandle *h, const Members *g, bool *is_temporary);
/* After an instruction with operand h: evicts conversions above the limit. */
void convert_trim(Flow *f, TensorHandle *h);
void convert_drop(Flow *f, TensorHandle *h); /* all of them */
void convert_forget(Flow *f, uint64_t id, const Members *g);
/* f becomes the move of `in` to f's own result. m must live until the chain returns. */
void convert_become(Flow *f, uint64_t in, const TensorType *type, const Members *from,
                    const Layout *from_layout, const Members *to, const Layout *to_layout,
                    MoveInst *m);
#endif
