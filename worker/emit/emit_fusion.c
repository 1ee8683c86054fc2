/* emit_fusion.c: writes the C source of a fusion (fuse.h). fused.h describes the form of that
 * source, emit_pass.h the names in it. Functions are named FUSED(...), a macro that is redefined
 * for each fusion in a file.
 * SPDX-License-Identifier: MIT */
#include "worker/emit/emit_rows.h"
#include <stdio.h>
#include <string.h>

/* ---- Functions ---- */

static void put_head(Emit *e, const char *name) {
    const Fusion *f = e->f;
    emit_line(e,
              "static void FUSED(%s)(const FusedArgs *A, int64_t begin, int64_t end, "
              "char *scratch) {",
              name);
    emit_line(e, "const int64_t n = A->n, blocks = A->blocks;");
    emit_scalars(e);
    for (int k = 0; k < f->n_inputs; k++)
        if (f->stride_kind[k] == STRIDE_OTHER)
            emit_line(e, "const int64_t d%d = A->step[%d];", k, k);
    emit_line(e, "const int64_t zero = A->zero;");
    emit_line(e, "(void)n, (void)blocks, (void)scratch, (void)zero;");
}

static void put_tables(Emit *e) {
    int k = 0;
    for (int i = 0; i < e->f->n_nodes; i++)
        if (fuse_is_reduce(&e->f->node[i]) && e->plan.is_used[i])
            emit_line(e, "%s *const T%d = (%s *)(A->table + (%d * A->rows + row) * blocks * 8);",
                      emit_lane_type(e, i), i, emit_lane_type(e, i), k++);
}
static void put_elements(Emit *e, int64_t *scratch, int64_t *per_element) {
    put_head(e, "run");
    *scratch = emit_scratch(e, per_element);
    emit_line(e, "const int64_t row = 0, from = begin, to = end;");
    for (int k = 0; k < e->f->n_inputs; k++)
        emit_line(e, "const char *const b%d = A->in[%d];", k, k);
    pass_loop(e, 0);
    emit_line(e, "}");
}

static void put_blocks(Emit *e, int64_t *scratch, int64_t *per_element) {
    put_head(e, "run");
    *scratch = emit_scratch(e, per_element);
    emit_line(e, "int64_t row = begin / blocks, block = begin %% blocks;");
    emit_walk(e, "row");
    emit_line(e, "for (int64_t unit = begin; unit < end; unit++) {");
    emit_bases(e);
    emit_row_inputs(e);
    put_tables(e);
    emit_line(e, "const int64_t from = block * FUSED_BLOCK;");
    emit_line(e, "const int64_t to = n - from < FUSED_BLOCK ? n : from + FUSED_BLOCK;");
    emit_row_values(e, 0, false);
    pass_loop(e, 0);
    emit_folds(e, 0);
    emit_line(e, "if (++block < blocks) continue;");
    emit_line(e, "block = 0, row++;");
    emit_line(e, "fused_next(&rows, &A->outer, %d);", e->f->n_inputs);
    emit_line(e, "}");
    emit_line(e, "}");
    put_head(e, "finish");
    emit_walk(e, "begin");
    emit_line(e, "for (int64_t row = begin; row < end; row++) {");
    emit_bases(e);
    emit_row_inputs(e);
    put_tables(e);
    emit_row_values(e, 0, true);
    emit_row_values(e, 1, true);
    emit_line(e, "fused_next(&rows, &A->outer, %d);", e->f->n_inputs);
    emit_line(e, "}");
    emit_line(e, "}");
}

/* T: a reduction's accumulators, one set per block. */
static void put_accumulators(Emit *e) {
    for (int i = 0; i < e->f->n_nodes && !e->is_short; i++) {
        if (!fuse_is_reduce(&e->f->node[i]) || !e->plan.is_used[i]) continue;
        emit_line(e, "%s *const T%d = (%s *)scratch;", emit_lane_type(e, i), i,
                  emit_lane_type(e, i));
        emit_line(e, "scratch += 8 * blocks;");
    }
}
static void next_row(Emit *e, const char *step) {
    emit_line(e, "const int64_t row = begin + %s;", step);
}
static void put_rows(Emit *e, int64_t *scratch, int64_t *per_element) {
    put_head(e, "run");
    *scratch = emit_scratch(e, per_element);
    put_accumulators(e);
    emit_walk(e, "begin");
    emit_rows(e, "end - begin", next_row);
    emit_line(e, "}");
}

/* L: what folds over the rows leave in the table, from the first row on. */
static void put_fold_tables(Emit *e) {
    int columns = 0, totals = 0, all = 0;
    for (int i = 0; i < e->f->n_nodes; i++)
        all += e->f->node[i].is_column && !e->f->node[i].is_row && e->plan.is_used[i];
    for (int i = 0; i < e->f->n_nodes; i++) {
        if (!emit_folds_rows(e, i)) continue;
        const char *type = emit_folded(e, i);
        if (e->f->node[i].is_row)
            emit_line(e, "%s *const L%d = (%s *)(A->table + 8 * (leaves * %d * n + %d * A->rows));",
                      type, i, type, all, totals++);
        else
            emit_line(e, "%s *const L%d = (%s *)(A->table + 8 * leaves * %d * n);", type, i, type,
                      columns++);
    }
}
/* Writes the totals that are folded from row values, and the nodes computed from them. */
static void put_totals(Emit *e) {
    const Fusion *f = e->f;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!emit_is_total(e, i)) continue;
        for (int j = 0; j < n->n_in; j++) {
            int k = n->in[j] - FUSE_INPUT;
            if (emit_folds_rows(e, i) || !fuse_is_input(n->in[j]) || e->needs_input[k]) continue;
            e->needs_input[k] = true; /* declared */
            char where[16];
            snprintf(where, sizeof where, "A->in[%d]", k);
            emit_input(e, 'y', k, where);
        }
        if (emit_folds_rows(e, i)) {
            char text[64];
            snprintf(text, sizeof text, "%s_total(L%d, A->rows)", emit_kernel(e, i).text, i);
            emit_value(e, i, text);
        } else {
            emit_value(e, i, NULL);
        }
        if (n->is_stored)
            emit_line(e, "*(%s *)A->out[%d] = %sr%d;", emit_ctype(n->dtype), n->output,
                      dtype_is_half((DType)n->dtype) ? "h_" : "", i);
    }
}
static void next_of_leaves(Emit *e, const char *step) {
    emit_line(e, "const int64_t row = top + %s;", step);
}
/* Writes the loop over the rows of some leaves, in order. */
static void put_leaves(Emit *e, int64_t *scratch, int64_t *per_element) {
    const Fusion *f = e->f;
    put_head(e, "run");
    *scratch = emit_scratch(e, per_element);
    put_accumulators(e);
    emit_line(e, "const int64_t leaves = fused_leaves(A), top = begin * FUSED_LEAF;");
    emit_line(e, "const int64_t last = end < leaves ? end * FUSED_LEAF : A->rows;");
    emit_walk(e, "top");
    put_fold_tables(e);
    for (int i = 0; i < f->n_nodes; i++) {
        if (f->node[i].is_row || !emit_folds_rows(e, i)) continue;
        emit_line(e, "for (int64_t i = begin * n; i < end * n; i++) L%d[i] = %s_init();", i,
                  emit_kernel(e, i).text);
    }
    emit_rows(e, "(last - top)", next_of_leaves);
    emit_line(e, "}");
    put_head(e, "finish");
    emit_line(e, "const int64_t leaves = fused_leaves(A);");
    put_fold_tables(e);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (n->is_row || !emit_folds_rows(e, i)) continue;
        emit_line(e, "%s_leaves(L%d, leaves, n, begin, end);", emit_kernel(e, i).text, i);
        emit_line(e, "for (int64_t i = begin; i < end; i++) {");
        char text[24];
        snprintf(text, sizeof text, "L%d[i]", i);
        emit_value(e, i, text);
        emit_line(e, "((%s *)A->out[%d])[i] = %sv%d;", emit_ctype(n->dtype), n->output,
                  dtype_is_half((DType)n->dtype) ? "h_" : "", i);
        emit_line(e, "}");
    }
    emit_line(e, "if (begin) return;");
    memset(e->needs_input, 0, sizeof e->needs_input);
    put_totals(e);
    emit_line(e, "}");
}

/* ---- The whole ---- */

static void put_summary(Emit *e) {
    const Fusion *f = e->f;
    static const char *const stride_text[] = {"one value", "side by side", "apart"};
    bytes_printf(e->out, "/* %d ops", f->n_nodes);
    for (int k = 0; k < f->n_inputs; k++)
        bytes_printf(e->out, "\n * x%d: %s, %s", k, dtype_info[f->input[k].type.dtype].text,
                     stride_text[f->stride_kind[k]]);
    for (int k = 0; k < f->n_scalars; k++)
        bytes_printf(e->out, "\n * s%d: %s", k, dtype_info[f->scalar[k]].text);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        bytes_printf(e->out, "\n * %s = %s", emit_name(e, i, false).text, op_info[n->op].name);
        for (int k = 0; k < n->n_in; k++)
            bytes_printf(e->out, " %s", emit_name(e, n->in[k], false).text);
        bytes_printf(e->out, " -> %s%s%s", dtype_info[n->dtype].text,
                     n->is_column ? ", over the rows" : "", n->is_stored ? ", stored" : "");
    }
    bytes_puts(e->out, " */\n");
}

static void put_reductions(Emit *e) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        if (op_info[n->op].class_ != CLASS_REDUCE) continue;
        EmitName k = emit_kernel(e, i);
        emit_line(e, "#ifndef HAVE_%s", k.text);
        emit_line(e, "#define HAVE_%s", k.text);
        emit_reduce(e->out, n->op, fuse_computes(emit_dtype(e, n->in[0])));
        emit_line(e, "#endif");
    }
}

void emit_fusion(Bytes *out, const Fusion *f) { emit_fusion_by(out, f, EMIT_STREAMS); }
void emit_fusion_by(Bytes *out, const Fusion *f, int streams) {
    _Static_assert((int)FUSED_BLOCK == 4096 && (int)FUSED_RANK == MAX_DIMS, "fused.h");
    Emit e = {.f = f, .out = out, .place = "at + i"};
    fuse_plan(f, &e.plan);
    e.is_short = f->trailing && f->args.blocks == 1 && !f->is_lined;
    put_summary(&e);
    put_reductions(&e);
    int64_t scratch = 0, per_element = 0;
    FusedUnit unit = e.plan.has_columns                          ? FUSED_LEAVES
                     : !f->trailing                              ? FUSED_ELEMENTS
                     : e.plan.has_reduce && e.plan.n_passes == 1 ? FUSED_BLOCKS
                                                                 : FUSED_ROWS;
    e.is_short &= unit >= FUSED_ROWS;
    for (int i = 0; i < f->n_nodes && e.is_short; i++) e.plan.is_chunked[i] = true;
    pass_find_streams(&e);
    e.is_staggered = e.is_short && emit_streams(&e) <= streams;
    static void (*const put[])(Emit *, int64_t *, int64_t *) = {put_elements, put_blocks, put_rows,
                                                                put_leaves};
    static const char *const unit_name[] = {"FUSED_ELEMENTS", "FUSED_BLOCKS", "FUSED_ROWS",
                                            "FUSED_LEAVES"};
    put[unit](&e, &scratch, &per_element);
    int reductions = 0, columns = 0, totals = 0;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!e.plan.is_used[i]) continue;
        reductions += fuse_is_reduce(n);
        columns += n->is_column && !n->is_row;
        totals += n->is_row && emit_folds_rows(&e, i);
    }
    bytes_puts(out, "static const unsigned char FUSED(signature)[] = {");
    for (size_t i = 0; i < f->signature_bytes; i++) bytes_printf(out, "%d,", f->signature[i]);
    bytes_puts(out, "};\nconst FusedKernel FUSED(kernel) = {\n");
    bytes_printf(out, "    .run = FUSED(run),%s .unit = %s, .reductions = %d,\n",
                 unit == FUSED_BLOCKS || unit == FUSED_LEAVES ? " .finish = FUSED(finish)," : "",
                 unit_name[unit], reductions);
    bytes_printf(out, "    .columns = %d, .totals = %d,\n", columns, totals);
    bytes_printf(out, "    .scratch_n = %lld, .scratch = %lld, .cost = %d, .reuse = {",
                 (long long)per_element, (long long)scratch, e.plan.cost);
    bool has_index = false; /* it may have to run again, from the same inputs */
    for (int i = 0; i < f->n_nodes; i++) has_index |= fuse_may_fail(&f->node[i]);
    for (int k = 0; k < f->n_outputs; k++) {
        uint32_t over = 0;
        if (has_index) {
            bytes_puts(out, "0,");
            continue;
        }
        for (int i = 0; i < f->n_nodes; i++) {
            const FuseNode *n = &f->node[i];
            if (!n->is_stored || n->output != k || n->is_row || n->is_column) continue;
            for (int j = 0; j < f->n_inputs; j++)
                if (f->stride_kind[j] == STRIDE_ONE && e.last_use[j] <= 2 * e.plan.pass[i])
                    over |= UINT32_C(1) << j;
        }
        bytes_printf(out, "%u,", over);
    }
    bytes_puts(out, "},\n    .signature = FUSED(signature), "
                    ".signature_bytes = sizeof FUSED(signature)};\n");
}
