/* emit_cuda.c: see emit_cuda.h. Names are those of emit_pass.h; besides:
 *   u an input's elements of a turn, t those of a stored value, o an input's offset in bytes.
 * SPDX-License-Identifier: MIT */
#include "worker/emit/emit_cuda.h"
#include <stdio.h>
#include <string.h>

enum { VECTOR = sizeof(float[4]) }; /* bytes of a thread's widest access: a float4 */

int emit_cuda_folds(const Emit *e) {
    int most = 0;
    for (int pass = 0; pass < e->plan.n_passes; pass++) {
        int n = 0;
        for (int i = 0; i < e->f->n_nodes; i++) n += pass_folds(e, i, pass);
        if (n > most) most = n;
    }
    return most;
}

/* What a pass would keep for later ones is computed again; what a reduction folds, in its loop. */
static void plan(Emit *e) {
    fuse_plan(e->f, &e->plan);
    memset(e->plan.is_kept, 0, sizeof e->plan.is_kept);
    for (int i = 0; i < e->f->n_nodes; i++) e->plan.is_chunked[i] = true;
}

static int widest(const Fusion *f) {
    int largest = 1;
    if (f->is_lined) return 1;
    for (int k = 0; k < f->n_inputs; k++) {
        int size = dtype_info[f->input[k].type.dtype].size_bytes;
        if (f->stride_kind[k] == STRIDE_OTHER) return 1;
        if (f->stride_kind[k] == STRIDE_ONE && size > largest) largest = size;
    }
    for (int i = 0; i < f->n_nodes; i++) {
        int size = dtype_info[f->node[i].dtype].size_bytes;
        if (f->node[i].is_stored && size > largest) largest = size;
    }
    return VECTOR / largest;
}

/* Sets last[k] to the last pass that reads input k element by element. */
static void find_last_reads(Emit *e, int last[FUSED_INPUTS]) {
    for (int k = 0; k < e->f->n_inputs; k++) last[k] = 0;
    for (int pass = 0; pass < e->plan.n_passes && e->f->trailing; pass++) {
        pass_find_needs(e, pass);
        for (int i = 0; i < e->f->n_nodes; i++) {
            const FuseNode *n = &e->f->node[i];
            for (int j = 0; j < n->n_in; j++)
                if (fuse_is_input(n->in[j]) && (e->needs[i] || pass_folds(e, i, pass)))
                    last[n->in[j] - FUSE_INPUT] = pass;
        }
        for (int k = 0; k < e->f->n_inputs; k++)
            if (e->needs_input[k]) last[k] = pass;
    }
}

/* A thread reads an element of all inputs before it writes that element, in each pass. But all
 * threads of a row read what is gathered. */
static void find_reuse(Emit *e, CudaForm *form) {
    const Fusion *f = e->f;
    int last[FUSED_INPUTS];
    for (int i = 0; i < f->n_nodes; i++)
        if (f->node[i].op == OP_GATHER) return;
    find_last_reads(e, last);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!n->is_stored || n->is_row || n->is_column) continue;
        for (int k = 0; k < f->n_inputs; k++)
            if (f->stride_kind[k] == STRIDE_ONE && last[k] <= e->plan.pass[i])
                form->reuse[n->output] |= UINT32_C(1) << k;
    }
}

/* Folds along rows and over them are kernels of different units. A total is one block's work. */
bool emit_cuda_fits(const Fusion *f) {
    bool has_rows = false, has_columns = false;
    int64_t rows = 1;
    for (int d = 0; d < f->space.rank - f->trailing; d++) rows *= f->space.shape[d];
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (n->is_column && n->is_row && rows > CUDA_TOTAL_ROWS) return false;
        has_columns |= n->is_column && !n->is_row;
        has_rows |= fuse_is_reduce(n);
    }
    return !has_rows || !has_columns;
}

bool emit_cuda_form(const Fusion *f, CudaForm *form) {
    Emit e = {.f = f};
    plan(&e);
    *form = (CudaForm){.unit = FUSED_ELEMENTS, .wide = 1, .nodes = f->n_nodes};
    find_reuse(&e, form);
    for (int k = 0; k < f->n_inputs; k++)
        if (emit_cuda_may_tile(f, k)) form->tiles |= UINT32_C(1) << k;
    if (!f->trailing) return form->wide = widest(f), true;
    if (!emit_cuda_fits(f)) return false;
    for (int i = 0; i < f->n_nodes; i++) {
        form->reductions += fuse_is_reduce(&f->node[i]) && e.plan.is_used[i];
        form->columns += f->node[i].is_column && !f->node[i].is_row;
    }
    form->totals = emit_cuda_totals_of(&e);
    emit_cuda_held_form(f, form);
    /* blocks == 1, at most FUSED_BLOCK elements, is part of the signature. */
    form->has_long =
        f->args.blocks != 1 || emit_cuda_held_shared(form, 1, FUSED_BLOCK, 1) > CUDA_SHARED_MOST;
    form->unit = form->columns                                                 ? FUSED_LEAVES
                 : e.plan.has_reduce && e.plan.n_passes == 1 && form->has_long ? FUSED_BLOCKS
                                                                               : FUSED_ROWS;
    form->folds = emit_cuda_folds(&e);
    return true;
}

static void put_head(Emit *e, const char *name) {
    const Fusion *f = e->f;
    emit_line(e, "extern \"C\" __global__ void __launch_bounds__(256)");
    emit_line(e, "FUSED(%s)(const __grid_constant__ FusedArgs args) {", name);
    emit_line(e, "const FusedArgs *const A = &args;");
    emit_line(e, "const int64_t n = A->n, zero = A->zero;");
    emit_line(e, "const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;");
    emit_line(e, "const int64_t threads = (int64_t)gridDim.x * blockDim.x;");
    emit_scalars(e);
    for (int k = 0; k < f->n_inputs; k++)
        if (f->stride_kind[k] == STRIDE_OTHER)
            emit_line(e, "const int64_t d%d = A->step[%d];", k, k);
}

/* Writes the values of all nodes. Those that are stored go to t, or to element i of the output. */
static void put_values(Emit *e, bool is_wide) {
    const Fusion *f = e->f;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!e->plan.is_used[i]) continue;
        emit_value(e, i, NULL);
        const char *half = dtype_is_half((DType)n->dtype) ? "h_" : "";
        if (n->is_stored && is_wide)
            emit_line(e, "t%d.at[l] = %sv%d;", n->output, half, i);
        else if (n->is_stored)
            emit_line(e, "((%s *)A->out[%d])[i] = %sv%d;", emit_ctype(n->dtype), n->output, half,
                      i);
    }
}

void cuda_put_values(Emit *e) { put_values(e, false); }

/* The turns of `wide` elements each; what is left goes to the loop of single elements. */
static void put_wide(Emit *e, int wide) {
    const Fusion *f = e->f;
    emit_line(e, "for (int64_t turn = first; A->is_far && turn < n / %d; turn += threads) {", wide);
    for (int k = 0; k < f->n_inputs; k++)
        if (f->stride_kind[k] == STRIDE_ONE)
            emit_line(e, "const Wide<%s, %d> u%d = wide_load<%s, %d>(A->in[%d], turn);",
                      emit_ctype(f->input[k].type.dtype), wide, k,
                      emit_ctype(f->input[k].type.dtype), wide, k);
    for (int i = 0; i < f->n_nodes; i++)
        if (f->node[i].is_stored)
            emit_line(e, "Wide<%s, %d> t%d;", emit_ctype(f->node[i].dtype), wide,
                      f->node[i].output);
    emit_line(e, "#pragma unroll");
    emit_line(e, "for (int l = 0; l < %d; l++) {", wide);
    for (int k = 0; k < f->n_inputs; k++) {
        char where[32];
        snprintf(where, sizeof where, "(u%d.at + l)", k);
        if (f->stride_kind[k] == STRIDE_ONE) emit_input(e, 'x', k, where);
    }
    put_values(e, true);
    emit_line(e, "}");
    for (int i = 0; i < f->n_nodes; i++)
        if (f->node[i].is_stored)
            emit_line(e, "wide_store(A->out[%d], turn, t%d);", f->node[i].output,
                      f->node[i].output);
    emit_line(e, "}");
}

/* Writes the inputs of element i. The axes but the last are walked by division. */
static void put_inputs(Emit *e) {
    const Fusion *f = e->f;
    if (f->is_lined) {
        emit_line(e, "int64_t line = i / A->line;");
        emit_line(e, "const int64_t at = i - line * A->line;");
        for (int k = 0; k < f->n_inputs; k++) emit_line(e, "int64_t o%d = 0;", k);
        emit_line(e, "#pragma unroll 1"); /* else divisions fill the registers */
        emit_line(e, "for (int64_t d = A->inner.rank - 1; d >= 0; d--) {");
        emit_line(e, "const int64_t all = line / A->inner.shape[d];");
        emit_line(e, "const int64_t j = line - all * A->inner.shape[d];");
        emit_line(e, "line = all;");
        for (int k = 0; k < f->n_inputs; k++)
            emit_line(e, "o%d += j * A->inner.stride[%d][d];", k, k);
        emit_line(e, "}");
    }
    for (int k = 0; k < f->n_inputs; k++) {
        char where[96], from[24] = "", step[24] = "";
        const char *at = f->is_lined ? "at" : "i";
        if (f->is_lined) snprintf(from, sizeof from, " + o%d", k);
        if (f->stride_kind[k] == STRIDE_OTHER) snprintf(step, sizeof step, " * d%d", k);
        if (f->stride_kind[k] == STRIDE_ZERO)
            snprintf(where, sizeof where, "(A->in[%d]%s)", k, from);
        else
            snprintf(where, sizeof where, "(A->in[%d]%s + %s%s * (int64_t)sizeof(%s))", k, from, at,
                     step, emit_ctype(f->input[k].type.dtype));
        if (f->is_lined || f->stride_kind[k] != STRIDE_ZERO) emit_input(e, 'x', k, where);
    }
}

static void put_elements(Emit *e, int wide) {
    const Fusion *f = e->f;
    put_head(e, "run");
    emit_line(e, "if (first >= n) return;"); /* one element may be overwritten where it is read */
    for (int k = 0; k < f->n_inputs; k++) {
        char where[24];
        snprintf(where, sizeof where, "A->in[%d]", k);
        if (!f->is_lined && f->stride_kind[k] == STRIDE_ZERO) emit_input(e, 'x', k, where);
    }
    if (wide > 1) put_wide(e, wide);
    emit_line(e, "#pragma unroll 1");
    emit_line(e, "for (int64_t i = (A->is_far ? n / %d * %d : 0) + first; i < n; i += threads) {",
              wide, wide);
    put_inputs(e);
    put_values(e, false);
    emit_line(e, "}");
    emit_line(e, "(void)zero;");
    emit_line(e, "}");
}

void emit_cuda(Bytes *out, const Fusion *f) {
    Emit e = {.f = f, .out = out, .place = "i"};
    CudaForm form;
    emit_cuda_form(f, &form);
    plan(&e);
    if (form.unit == FUSED_ELEMENTS) {
        put_elements(&e, form.wide);
        if (!form.tiles) return;
        put_head(&e, "tiled");
        emit_cuda_tiles(&e);
        return;
    }
    cuda_put_reductions(&e);
    if (form.unit != FUSED_ROWS || form.has_long)
        emit_cuda_rows(&e, form.unit, form.unit == FUSED_ROWS ? "longer" : "run");
    if (form.unit == FUSED_ROWS) emit_cuda_held(&e, "run");
    if (form.totals) emit_cuda_totals(&e);
}
