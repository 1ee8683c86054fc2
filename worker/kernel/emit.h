/* emit.h: C source from the op table, in three separate layers: the expression of one op for one
 * dtype, which any loop may contain; the lines that genkernels writes around it for the built-in
 * kernels (their loops are the macros of kernel_loops.h); and the kernels of fusions, compiled at
 * run time (emit_fusion.c). The emitted source needs worker/kernel/prologue.h.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_KERNEL_EMIT_H
#define GT_WORKER_KERNEL_EMIT_H
#include "runtime/base/arena.h"
#include "runtime/inst/op.h"

const char *emit_ctype(DType d); /* "float", "uint8_t", ... */
/* Appends `expr` (of a row of ops.def) with F_XXX replaced by the prologue's name for `functions`
 * (f32_xxx), T by the C type of `element`, and the operands a, b, c by operand[0..2]. */
void emit_expr(Bytes *out, const char *expr, DType functions, DType element,
               const char *const operand[3]);
/* Returns the shorter expression of a MAP row of one operand if that is a half and the result is
 * rounded to it (prologue_half.h), which then is the same; NULL if there is none. */
const char *emit_half_expr(Op op, DType d);
/* Returns the accumulator's dtype, which is the result's, of a REDUCE row over elements of dtype
 * d. */
DType emit_accumulator(Op op, DType d);

/* Appends one line: the definition of the kernel NAME_<dtype text> of a row and a dtype. Of a half:
 * from float32 to float32, with emit_half_expr. */
void emit_map(Bytes *out, Op op, DType d);
void emit_reduce(Bytes *out, Op op, DType d);
void emit_cast(Bytes *out, DType from, DType to);

/* Appends the functions of a fusion that fuse_done has accepted and its FusedKernel, `const
 * FusedKernel FUSED(kernel)`. The macro FUSED(x) must be defined before that text, differently for
 * each fusion in a file. Equal signatures give equal text. emit_head is the top of such a file:
 * kernel_fused.h and all that it includes. */
struct Fusion;
void emit_fusion(Bytes *out, const struct Fusion *f);
/* The same; short rows with more than `streams` pointers are computed in turn (emit_rows.c), which
 * gives the same bits. */
void emit_fusion_by(Bytes *out, const struct Fusion *f, int streams);
extern const char emit_head[];
#endif
