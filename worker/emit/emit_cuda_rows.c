/* emit_cuda_rows.c: CUDA C of fusions with reductions along rows (fused.h: FUSED_BLOCKS,
 * FUSED_ROWS) and over them (FUSED_LEAVES).
 *
 * A block has blockDim.y groups of blockDim.x threads, a power of two from 16 to 256. A group
 * computes one unit at a time: a row, or a block of FUSED_BLOCK elements of a row. It goes over the
 * elements in chunks of CUDA_EACH for each thread. The values that are folded go to shared memory;
 * then 16 threads, one for each lane, fold them in ascending order, so that the bits are those of
 * kernel_reduce.h. All groups of a block take the same number of steps, because barriers are for
 * all its threads.
 *
 * Names besides those of emit_pass.h: t the thread in its group, c the chunk's values of reduction
 * i, f the lane of this thread, R row values in shared memory.
 * SPDX-License-Identifier: MIT */
#include "worker/emit/emit_cuda.h"
#include "worker/emit/emit_rows.h"
#include <stdio.h>

void cuda_put_reductions(Emit *e) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        if (op_info[n->op].class_ != CLASS_REDUCE) continue;
        DType d = fuse_computes(emit_dtype(e, n->in[0]));
        EmitName k = emit_kernel(e, i);
        emit_line(e, "#ifndef HAVE_%s", k.text);
        emit_line(e, "#define HAVE_%s", k.text);
        emit_reduce(e->out, n->op, d);
        emit_line(e, "#endif");
    }
}

void cuda_put_bases(Emit *e) {
    const Fusion *f = e->f;
    for (int k = 0; k < f->n_inputs; k++) emit_line(e, "const char *b%d = A->in[%d];", k, k);
    emit_line(e, "{");
    emit_line(e, "int64_t rest = row;");
    emit_line(e, "#pragma unroll 1"); /* else divisions fill the registers */
    emit_line(e, "for (int64_t d = A->outer.rank - 1; d > 0; d--) {");
    emit_line(e, "const int64_t all = rest / A->outer.shape[d];");
    emit_line(e, "const int64_t j = rest - all * A->outer.shape[d];");
    emit_line(e, "rest = all;");
    for (int k = 0; k < f->n_inputs; k++) emit_line(e, "b%d += j * A->outer.stride[%d][d];", k, k);
    emit_line(e, "}");
    /* Without axes there is one row. */
    for (int k = 0; k < f->n_inputs; k++)
        emit_line(e, "b%d += rest * A->outer.stride[%d][0];", k, k);
    emit_line(e, "}");
}
/* True if node i folds row values. */
static bool folds_values(const Emit *e, int i) {
    return emit_is_total(e, i) && emit_folds_rows(e, i);
}
int emit_cuda_totals_of(const Emit *e) {
    int n = 0;
    for (int i = 0; i < e->f->n_nodes; i++) n += folds_values(e, i);
    return n;
}
void cuda_put_totals(Emit *e, int pass) {
    for (int i = 0, k = 0; i < e->f->n_nodes; i++) {
        if (!folds_values(e, i)) continue;
        if (e->plan.pass[i] == pass)
            emit_line(e, "if (t == 0 && has) ((%s *)(A->table + 8 * %d * A->rows))[row] = %s;",
                      emit_folded(e, i), k, emit_name(e, e->f->node[i].in[0], true).text);
        k++;
    }
}
/* 16 threads, one for each lane, fold FUSED_BLOCK rows. */
static void put_total_fold(Emit *e, int i, int k) {
    const char *type = emit_lane_type(e, i);
    emit_line(e, "__shared__ %s T%d[CUDA_THREADS / LANES];", type, i);
    emit_line(e, "if (piece < pieces) {");
    emit_line(e, "const %s *const L = (const %s *)(A->table + 8 * %d * A->rows) + from;",
              emit_folded(e, i), emit_folded(e, i), k);
    emit_line(e, "const %s f = %s_lanes(L, count, t & (LANES - 1), mask);", type,
              emit_kernel(e, i).text);
    emit_line(e, "if (!(t & (LANES - 1))) T%d[piece] = f;", i);
    emit_line(e, "}");
}
/* Folds the values of all rows, and computes what depends on that alone. */
void emit_cuda_totals(Emit *e) {
    const Fusion *f = e->f;
    bool has_input[FUSED_INPUTS] = {0};
    char text[64];
    cuda_put_rows_head(e, "total");
    emit_line(e, "const int t = threadIdx.x, piece = t / LANES;");
    emit_line(e, "const int pieces = (int)((A->rows + FUSED_BLOCK - 1) / FUSED_BLOCK);");
    emit_line(e, "const int from = piece * FUSED_BLOCK;");
    emit_line(e, "const int count = A->rows - from < FUSED_BLOCK ? A->rows - from : FUSED_BLOCK;");
    emit_line(e, "const unsigned mask = 0xffffu << (t & LANES);");
    for (int i = 0, k = 0; i < f->n_nodes; i++)
        if (folds_values(e, i)) put_total_fold(e, i, k++);
    emit_line(e, "__syncthreads();");
    emit_line(e, "if (t) return;");
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!emit_is_total(e, i)) continue;
        for (int j = 0; j < n->n_in && !folds_values(e, i); j++) {
            int k = n->in[j] - FUSE_INPUT;
            if (!fuse_is_input(n->in[j]) || has_input[k]) continue;
            has_input[k] = true;
            snprintf(text, sizeof text, "A->in[%d]", k);
            emit_input(e, 'y', k, text);
        }
        snprintf(text, sizeof text, "%s_tree(T%d, pieces)",
                 folds_values(e, i) ? emit_kernel(e, i).text : "", i);
        emit_value(e, i, folds_values(e, i) ? text : NULL);
        if (n->is_stored)
            emit_line(e, "*(%s *)A->out[%d] = %sr%d;", emit_ctype(n->dtype), n->output,
                      dtype_is_half((DType)n->dtype) ? "h_" : "", i);
    }
    emit_line(e, "}");
}

/* True if operand j of node i is read once for a row. */
static bool reads_in_row(const Emit *e, int i, int j) {
    const FuseNode *n = &e->f->node[i];
    if (fuse_may_fail(n) && j < 2) return e->plan.is_used[i] && j == 1;
    if (folds_values(e, i)) return true;
    return emit_is_row_value(e, i) && !fuse_is_reduce(n);
}
/* A group without a unit reads those of the first row. */
void cuda_put_row_inputs(Emit *e) {
    const Fusion *f = e->f;
    for (int k = 0; k < f->n_inputs; k++) {
        bool is_used = false;
        char where[16];
        for (int i = 0; i < f->n_nodes; i++)
            for (int j = 0; j < f->node[i].n_in; j++)
                is_used |= reads_in_row(e, i, j) && f->node[i].in[j] == FUSE_INPUT + k;
        snprintf(where, sizeof where, "b%d", k);
        if (is_used) emit_input(e, 'y', k, where);
    }
}
/* T: the accumulators of a unit's row, one for each of its blocks. */
static void put_tables(Emit *e) {
    int k = 0;
    for (int i = 0; i < e->f->n_nodes; i++)
        if (fuse_is_reduce(&e->f->node[i]) && e->plan.is_used[i])
            emit_line(e,
                      "%s *const T%d = (%s *)(A->table + 8 * (%d * A->rows + (%d * A->rows + row) "
                      "* blocks));",
                      emit_lane_type(e, i), i, emit_lane_type(e, i), emit_cuda_totals_of(e), k++);
}
/* The index of a group without a unit is not that of a row. */
void cuda_put_indices(Emit *e, int pass) {
    for (int i = 0; i < e->f->n_nodes; i++)
        if (e->f->node[i].op == OP_SCATTER_ADD && pass_computes(e, i, pass))
            emit_line(e, "const int32_t j%d = has ? (int32_t)%s : 0;", i,
                      emit_index(e, i, true).text);
}
/* Computed again from the inputs, by all threads of the row. */
void cuda_put_pick(Emit *e, int i) {
    FuseRef from = e->f->node[i].in[0];
    char text[16];
    pass_find_pick(e, i, 0);
    emit_line(e, "%s e%d;", emit_held(emit_dtype(e, from)), i);
    emit_line(e, "{");
    emit_line(e, "const int64_t i = has ? %s : 0;", emit_index(e, i, true).text);
    cuda_put_indices(e, 0);
    cuda_put_inputs(e);
    for (int k = 0; k < e->f->n_nodes; k++)
        if (e->needs[k]) emit_value(e, k, NULL);
    emit_line(e, "e%d = %s;", i, emit_name(e, from, false).text);
    emit_line(e, "(void)i;");
    emit_line(e, "}");
    snprintf(text, sizeof text, "e%d", i);
    emit_value(e, i, text);
}

/* Row values that the pass before made known. Thread 0 of the group has combined the blocks. */
static void put_row_values(Emit *e, int pass, bool shares, bool stores) {
    const Fusion *f = e->f;
    bool any = false;
    for (int i = 0; i < f->n_nodes && shares; i++) {
        if (!emit_is_row_value(e, i) || e->plan.pass[i] != pass || !fuse_is_reduce(&f->node[i]))
            continue;
        emit_line(e, "if (t == 0 && has) *(%s *)(R + 8 * %d) = %s_tree(T%d, blocks);",
                  emit_lane_type(e, i), i, emit_kernel(e, i).text, i);
        any = true;
    }
    if (any) emit_line(e, "__syncthreads();");
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        char text[96];
        if (!emit_is_row_value(e, i) || e->plan.pass[i] != pass) continue;
        if (shares)
            snprintf(text, sizeof text, "has ? *(const %s *)(R + 8 * %d) : %s_init()",
                     emit_lane_type(e, i), i, emit_kernel(e, i).text);
        else
            snprintf(text, sizeof text, "%s_tree(T%d, blocks)", emit_kernel(e, i).text, i);
        if (n->op == OP_GATHER)
            cuda_put_pick(e, i);
        else
            emit_value(e, i, fuse_is_reduce(n) ? text : NULL);
        if (n->is_stored && stores)
            emit_line(e, "if (t == 0 && has) ((%s *)A->out[%d])[row] = %sr%d;",
                      emit_ctype(n->dtype), n->output, dtype_is_half((DType)n->dtype) ? "h_" : "",
                      i);
    }
    if (stores) cuda_put_totals(e, pass);
}

void cuda_put_inputs(Emit *e) {
    const Fusion *f = e->f;
    if (f->is_lined) {
        emit_line(e, "int64_t line = i / A->line;");
        emit_line(e, "const int64_t at = i - line * A->line;");
        for (int k = 0; k < f->n_inputs; k++)
            if (e->needs_input[k]) emit_line(e, "int64_t o%d = 0;", k);
        emit_line(e, "#pragma unroll 1"); /* else divisions fill the registers */
        emit_line(e, "for (int64_t d = A->inner.rank - 1; d >= 0; d--) {");
        emit_line(e, "const int64_t all = line / A->inner.shape[d];");
        emit_line(e, "const int64_t j = line - all * A->inner.shape[d];");
        emit_line(e, "line = all;");
        for (int k = 0; k < f->n_inputs; k++)
            if (e->needs_input[k]) emit_line(e, "o%d += j * A->inner.stride[%d][d];", k, k);
        emit_line(e, "}");
    }
    for (int k = 0; k < f->n_inputs; k++) {
        char where[96], from[24] = "", step[24] = "";
        if (!e->needs_input[k]) continue;
        if (f->is_lined) snprintf(from, sizeof from, " + o%d", k);
        if (f->stride_kind[k] == STRIDE_OTHER) snprintf(step, sizeof step, " * A->step[%d]", k);
        if (f->stride_kind[k] == STRIDE_ZERO)
            snprintf(where, sizeof where, "(b%d%s)", k, from);
        else
            snprintf(where, sizeof where, "(b%d%s + %s%s * (int64_t)sizeof(%s))", k, from,
                     f->is_lined ? "at" : "i", step, emit_ctype(f->input[k].type.dtype));
        emit_input(e, 'x', k, where);
    }
}

/* One element: what earlier passes stored is read again, the rest is computed. */
static void put_element(Emit *e, int pass) {
    const Fusion *f = e->f;
    cuda_put_inputs(e);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!e->needs[i]) continue;
        if (pass_computes(e, i, pass)) {
            emit_value(e, i, NULL);
        } else {
            DType d = (DType)n->dtype;
            bytes_printf(e->out, "%*sconst %s v%d = ", 4 * e->depth, "", emit_held(d), i);
            if (dtype_is_half(d))
                bytes_printf(e->out, "%s_to_f32(((const uint16_t *)A->out[%d])[row * n + i]);\n",
                             dtype_info[d].text, n->output);
            else
                bytes_printf(e->out, "((const %s *)A->out[%d])[row * n + i];\n", emit_ctype(d),
                             n->output);
        }
    }
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (pass_writes(e, i, pass))
            emit_line(e, "((%s *)A->out[%d])[row * n + i] = %sv%d;", emit_ctype(n->dtype),
                      n->output, dtype_is_half((DType)n->dtype) ? "h_" : "", i);
        if (pass_folds(e, i, pass))
            emit_line(e, "c%d[k * wide + t] = %s;", i, emit_name(e, n->in[0], false).text);
        if (pass_has_column(e, i, pass))
            emit_line(e, "f%d[k] = %s_op(f%d[k], %s);", i, emit_kernel(e, i).text, i,
                      emit_name(e, n->in[0], false).text);
    }
}

/* Folds the chunk's values, a lane to a thread. */
static void put_folds(Emit *e, int pass) {
    emit_line(e, "__syncthreads();");
    emit_line(e, "const int left = size - base < chunk ? size - base : chunk;");
    for (int i = 0; i < e->f->n_nodes; i++)
        if (pass_folds(e, i, pass))
            emit_line(e,
                      "if (t < LANES && has) for (int k = t; k < left; k += LANES) f%d = "
                      "%s_op(f%d, c%d[k]);",
                      i, emit_kernel(e, i).text, i, i);
    emit_line(e, "__syncthreads();");
}

/* Behind the last chunk of a block: combines the lanes. */
static void put_ending(Emit *e, int pass) {
    for (int i = 0; i < e->f->n_nodes; i++)
        if (pass_folds(e, i, pass))
            emit_line(e, "if (t < LANES) ((%s *)c%d)[t] = f%d;", emit_lane_type(e, i), i, i);
    emit_line(e, "__syncthreads();");
    for (int i = 0; i < e->f->n_nodes; i++)
        if (pass_folds(e, i, pass))
            emit_line(e, "if (t == 0 && has) T%d[block] = %s_ending((%s *)c%d);", i,
                      emit_kernel(e, i).text, emit_lane_type(e, i), i);
    emit_line(e, "__syncthreads();");
}

/* Goes over a unit's blocks: one, or all of a row. Inside a block indices are of 32 bits: 44 to 52
 * registers, where indices of 64 bits took 52 to 64, and 24 bytes of stack on sm_120. */
static void put_pass(Emit *e, FusedUnit unit, int pass) {
    const Fusion *f = e->f;
    bool folds = pass_has_folds(e, pass);
    int k = 0;
    if (!pass_find_needs(e, pass) && !folds) return;
    emit_line(e, "{");
    for (int i = 0; i < f->n_nodes; i++) {
        if (!pass_folds(e, i, pass)) continue;
        FuseRef r = f->node[i].in[0];
        if (fuse_is_input(r)) e->needs_input[r - FUSE_INPUT] = true;
        const char *type = emit_held(emit_dtype(e, r));
        emit_line(e, "%s *const c%d = (%s *)(mine + %d * 8 * chunk);", type, i, type, k++);
    }
    cuda_put_indices(e, pass);
    if (unit != FUSED_BLOCKS) emit_line(e, "for (int64_t block = 0; block < blocks; block++) {");
    emit_line(e, "const int64_t from = block * FUSED_BLOCK;");
    emit_line(e, "const int size = n - from < FUSED_BLOCK ? (int)(n - from) : FUSED_BLOCK;");
    if (unit == FUSED_BLOCKS) /* a row's last block takes as many steps as the others */
        emit_line(e, "const int most = n < FUSED_BLOCK ? (int)n : FUSED_BLOCK;");
    for (int i = 0; i < f->n_nodes; i++)
        if (pass_folds(e, i, pass))
            emit_line(e, "%s f%d = %s_init();", emit_lane_type(e, i), i, emit_kernel(e, i).text);
    emit_line(e, "for (int base = 0; base < %s; base += chunk) {",
              unit == FUSED_BLOCKS ? "most" : "size");
    emit_line(e, "#pragma unroll 1");
    emit_line(e, "for (int k = 0; k < CUDA_EACH; k++) {");
    emit_line(e, "const int place = base + k * wide + t;");
    emit_line(e, "if (!has || place >= size) continue;");
    emit_line(e, "const int64_t i = from + place;");
    put_element(e, pass);
    emit_line(e, "}");
    if (folds) put_folds(e, pass);
    emit_line(e, "}");
    if (folds) put_ending(e, pass);
    if (unit != FUSED_BLOCKS) emit_line(e, "}");
    emit_line(e, "}");
}

/* Several passes with many folds. Without a number of blocks the assembler spills 8 to 16 bytes of
 * some at 40 or 48 registers; with it none, and most take as few. Other kernels are better off
 * without: those of one fold would take 45 registers for 39 on sm_100. */
static bool is_heavy(const Emit *e) {
    enum { MANY = 3 };
    int folds = 0;
    for (int i = 0; i < e->f->n_nodes; i++)
        folds += fuse_is_reduce(&e->f->node[i]) && e->plan.is_used[i];
    return e->plan.n_passes > 1 && folds >= MANY;
}

void cuda_put_rows_head(Emit *e, const char *name) {
    emit_line(e, "extern \"C\" __global__ void __launch_bounds__(256%s)", is_heavy(e) ? ", 4" : "");
    emit_line(e, "FUSED(%s)(const __grid_constant__ FusedArgs args) {", name);
    emit_line(e, "const FusedArgs *const A = &args;");
    emit_line(e, "const int64_t n = A->n, blocks = A->blocks, zero = A->zero;");
    emit_line(e, "(void)n, (void)blocks, (void)zero;");
    emit_scalars(e);
}

/* Combines the blocks of each row: a thread for each. */
static void put_finish(Emit *e) {
    cuda_put_rows_head(e, "finish");
    emit_line(e, "const int t = 0;");
    emit_line(e, "const bool has = true;");
    emit_line(e, "const int64_t all_rows = A->rows, step = (int64_t)gridDim.x * blockDim.x;");
    emit_line(e,
              "for (int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; row < all_rows; "
              "row += step) {");
    cuda_put_bases(e);
    cuda_put_row_inputs(e);
    put_tables(e);
    put_row_values(e, 0, false, true);
    put_row_values(e, 1, false, true);
    emit_line(e, "}");
    emit_line(e, "}");
}

/* ---- Sums over the rows ---- */

static bool folds_columns(const Emit *e, int i) {
    return e->f->node[i].is_column && !e->f->node[i].is_row && e->plan.is_used[i];
}
/* L: what folds over the rows leave in the table: an accumulator for each leaf and column. */
static void put_leaf_tables(Emit *e) {
    int k = 0;
    for (int i = 0; i < e->f->n_nodes; i++)
        if (folds_columns(e, i))
            emit_line(e, "%s *const L%d = (%s *)(A->table + 8 * (%d * A->rows + leaves * %d * n));",
                      emit_lane_type(e, i), i, emit_lane_type(e, i), emit_cuda_totals_of(e), k++);
}

/* A unit is a leaf and a chunk of columns. A thread has CUDA_EACH columns, whose sums stay in
 * registers while it goes down the leaf's rows. */
static void put_leaves(Emit *e) {
    const Fusion *f = e->f;
    cuda_put_rows_head(e, "run");
    emit_line(e, "const int wide = blockDim.x;");
    emit_line(e, "const int64_t leaves = fused_leaves(A), chunk = CUDA_EACH * (int64_t)wide;");
    emit_line(e, "const int64_t across = (n + chunk - 1) / chunk;");
    put_leaf_tables(e);
    emit_line(e, "for (int64_t unit = blockIdx.x; unit < leaves * across; unit += gridDim.x) {");
    emit_line(e, "const int64_t leaf = unit / across, base = unit %% across * chunk;");
    emit_line(e, "const int64_t top = leaf * FUSED_LEAF;");
    emit_line(e, "const int64_t last = top + FUSED_LEAF < A->rows ? top + FUSED_LEAF : A->rows;");
    for (int i = 0; i < f->n_nodes; i++)
        if (folds_columns(e, i)) {
            emit_line(e, "%s f%d[CUDA_EACH];", emit_lane_type(e, i), i);
            emit_line(e, "#pragma unroll");
            emit_line(e, "for (int k = 0; k < CUDA_EACH; k++) f%d[k] = %s_init();", i,
                      emit_kernel(e, i).text);
        }
    emit_line(e, "for (int64_t row = top; row < last; row++) {");
    cuda_put_bases(e);
    cuda_put_row_inputs(e);
    emit_line(e, "const int64_t t = base + threadIdx.x, has = 1;");
    put_row_values(e, 0, false, true);
    emit_line(e, "(void)t, (void)has;");
    pass_find_needs(e, 0);
    cuda_put_indices(e, 0);
    emit_line(e, "#pragma unroll");
    emit_line(e, "for (int k = 0; k < CUDA_EACH; k++) {");
    emit_line(e, "const int64_t i = base + k * wide + threadIdx.x;");
    emit_line(e, "if (i >= n) continue;");
    put_element(e, 0);
    emit_line(e, "}");
    emit_line(e, "}");
    emit_line(e, "#pragma unroll");
    emit_line(e, "for (int k = 0; k < CUDA_EACH; k++) {");
    emit_line(e, "const int64_t i = base + k * wide + threadIdx.x;");
    emit_line(e, "if (i >= n) continue;");
    for (int i = 0; i < f->n_nodes; i++)
        if (folds_columns(e, i)) emit_line(e, "L%d[leaf * n + i] = f%d[k];", i, i);
    emit_line(e, "}");
    emit_line(e, "}");
    emit_line(e, "}");
    cuda_put_rows_head(e, "finish");
    emit_line(e, "const int64_t leaves = fused_leaves(A), step = (int64_t)gridDim.x * blockDim.x;");
    put_leaf_tables(e);
    emit_line(
        e, "for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {");
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        char text[64];
        if (!folds_columns(e, i)) continue;
        snprintf(text, sizeof text, "%s_leaves(L%d, leaves, n, i)", emit_kernel(e, i).text, i);
        emit_value(e, i, text);
        emit_line(e, "((%s *)A->out[%d])[i] = %sv%d;", emit_ctype(n->dtype), n->output,
                  dtype_is_half((DType)n->dtype) ? "h_" : "", i);
    }
    emit_line(e, "}");
    emit_line(e, "}");
}

void emit_cuda_rows(Emit *e, FusedUnit unit, const char *name) {
    if (unit == FUSED_LEAVES) {
        put_leaves(e);
        return;
    }
    cuda_put_rows_head(e, name);
    emit_line(e, "extern __shared__ char shared[];");
    emit_line(e, "const int t = threadIdx.x, wide = blockDim.x, chunk = CUDA_EACH * wide;");
    emit_line(e, "char *const mine = shared + threadIdx.y * (%d * 8 * chunk + %d * 8);",
              emit_cuda_folds(e), e->f->n_nodes);
    emit_line(e, "char *const R = mine + %d * 8 * chunk;", emit_cuda_folds(e));
    emit_line(e, "const int64_t units = A->rows%s;", unit == FUSED_BLOCKS ? " * blocks" : "");
    emit_line(e, "const int64_t step = (int64_t)gridDim.x * blockDim.y;");
    emit_line(e,
              "for (int64_t top = (int64_t)blockIdx.x * blockDim.y; top < units; top += step) {");
    emit_line(e, "const bool has = top + threadIdx.y < units;");
    emit_line(e, "const int64_t unit = has ? top + threadIdx.y : 0;");
    if (unit == FUSED_BLOCKS)
        emit_line(e, "const int64_t row = unit / blocks, block = unit %% blocks;");
    else
        emit_line(e, "const int64_t row = unit;");
    cuda_put_bases(e);
    cuda_put_row_inputs(e);
    put_tables(e);
    put_row_values(e, 0, true, unit != FUSED_BLOCKS);
    for (int pass = 0; pass < e->plan.n_passes; pass++) {
        put_pass(e, unit, pass);
        if (unit != FUSED_BLOCKS) put_row_values(e, pass + 1, true, true);
    }
    emit_line(e, "(void)R, (void)chunk;");
    emit_line(e, "__syncthreads();");
    emit_line(e, "}");
    emit_line(e, "}");
    if (unit == FUSED_BLOCKS) put_finish(e);
}
