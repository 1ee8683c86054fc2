/* emit_rows.c: see emit_rows.h.
 *
 * Long rows, and rows of several lines, are computed one at a time, pass after pass, block by
 * block.
 *
 * The loop over the elements of a short row takes LANES elements at a time. So the accumulators of
 * reductions stay in registers, in the order of kernel_reduce.h. Below, `step` numbers the rows.
 *
 * Most short rows are staggered: one loop does pass 0 of a row, pass 1 of the row before it, pass 2
 * of the one before that. The passes of one row depend on each other (a division needs its sum),
 * those of different rows do not. So all units of the processor have work, the long chain of an
 * exponential hides the divisions of the row before, and memory is accessed all the time. The
 * position of row s and its row values are in slot s mod n_passes. The kept elements of a node have
 * only as many slots as that node needs (slots_of), because the L1 cache is small. A pass without a
 * row, at both ends, reads and writes `idle`.
 *
 * Staggered passes keep the lines of several rows in the L1 cache, whose sets have 8 of them, and
 * rows of 4 KiB use the same set for element i. So short rows with more than EMIT_STREAMS pointers
 * are computed in turn: pass after pass over one row.
 * SPDX-License-Identifier: MIT */
#include "worker/emit/emit_rows.h"
#include <stdio.h>
#include <string.h>

bool emit_folds_rows(const Emit *e, int i) {
    const FuseNode *n = &e->f->node[i];
    return n->is_column && op_info[n->op].class_ == CLASS_REDUCE && e->plan.is_used[i];
}
bool emit_is_total(const Emit *e, int i) {
    return e->f->node[i].is_row && e->f->node[i].is_column && e->plan.is_used[i];
}
const char *emit_folded(const Emit *e, int i) {
    const FuseNode *n = &e->f->node[i];
    return n->is_row ? emit_held(emit_dtype(e, n->in[0])) : emit_lane_type(e, i);
}

/* ---- Shared by both kinds of rows ---- */

int emit_streams(Emit *e) {
    const Fusion *f = e->f;
    int count = 0;
    for (int pass = 0; pass < e->plan.n_passes; pass++) {
        if (!pass_find_needs(e, pass)) continue;
        for (int k = 0; k < f->n_inputs; k++)
            count += e->needs_input[k] && f->stride_kind[k] != STRIDE_ZERO;
        for (int i = 0; i < f->n_nodes; i++) {
            count += pass_writes(e, i, pass) || (e->needs[i] && pass_loads(e, i, pass));
            count += pass_has_column(e, i, pass);
        }
    }
    return count;
}
/* Returns the number of rows for which node i is held: from the pass that computes it to the last
 * that loads it. */
static int slots_of(Emit *e, int i) {
    if (!e->is_staggered) return 1;
    int last = e->plan.pass[i];
    for (int pass = last + 1; pass < e->plan.n_passes; pass++) {
        pass_find_needs(e, pass);
        if (e->needs[i] && pass_loads(e, i, pass)) last = pass;
    }
    for (int j = 0; j < e->f->n_nodes; j++) /* a GATHER may load it between passes */
        if (e->f->node[j].op == OP_GATHER) last = e->plan.n_passes - 1;
    return last - e->plan.pass[i] + 1;
}
int64_t emit_scratch(Emit *e, int64_t *per_element) {
    const Fusion *f = e->f;
    int64_t bytes = 0;
    *per_element = 0;
    emit_line(e, "const int64_t stride = (n + 15) & ~INT64_C(15);");
    emit_line(e, "(void)stride;");
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!e->plan.is_used[i]) continue;
        if (fuse_is_reduce(n) && e->plan.is_chunked[i] && !e->is_short) {
            const char *type = emit_held(emit_dtype(e, n->in[0]));
            int size = emit_held_size(emit_dtype(e, n->in[0]));
            emit_line(e, "%s *const c%d = (%s *)scratch;", type, i, type);
            emit_line(e, "scratch += %d * FUSED_BLOCK;", size);
            bytes += size * FUSED_BLOCK;
        }
        if (e->plan.is_kept[i]) {
            const char *type = emit_held(n->dtype);
            int size = emit_held_size(n->dtype) * (e->slots[i] = slots_of(e, i));
            emit_line(e, "%s *const %c%d = (%s *)scratch;", type, e->is_staggered ? 'K' : 'k', i,
                      type);
            emit_line(e, "scratch += %d * stride;", size);
            *per_element += size;
            bytes += FUSED_LANE_COUNT * size;
        }
    }
    if (e->is_staggered) {
        emit_line(e, "char *const idle = scratch + (-(uintptr_t)scratch & (FUSED_LINE - 1));");
        *per_element += 8;
        bytes += 8 * FUSED_LANE_COUNT + FUSED_LINE;
    }
    return bytes;
}
void emit_walk(Emit *e, const char *from) {
    emit_line(e, "FusedWalk rows;");
    emit_line(e, "fused_seek(&rows, &A->outer, %d, %s);", e->f->n_inputs, from);
}
void emit_bases(Emit *e) {
    for (int k = 0; k < e->f->n_inputs; k++)
        emit_line(e, "const char *const b%d = A->in[%d] + rows.offset[%d];", k, k, k);
}
void emit_row_inputs(Emit *e) {
    const Fusion *f = e->f;
    for (int k = 0; k < f->n_inputs; k++) {
        bool is_used = false;
        for (int i = 0; i < f->n_nodes; i++)
            for (int j = 0; j < f->node[i].n_in; j++)
                is_used |= ((emit_is_row_value(e, i) && !fuse_is_reduce(&f->node[i])) ||
                            (emit_is_total(e, i) && emit_folds_rows(e, i))) &&
                           f->node[i].in[j] == FUSE_INPUT + k;
        if (!is_used) continue;
        e->last_use[k] = EMIT_NEVER_OVER;
        char where[16];
        snprintf(where, sizeof where, "b%d", k);
        emit_input(e, 'y', k, where);
    }
}
void emit_row_values(Emit *e, int pass, bool stores) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        if (emit_is_total(e, i) && emit_folds_rows(e, i) && e->plan.pass[i] == pass)
            emit_line(e, "*l%d = %s;", i, emit_name(e, n->in[0], true).text);
        if (!emit_is_row_value(e, i) || e->plan.pass[i] != pass) continue;
        if (fuse_is_reduce(n)) {
            char text[48];
            const char *from = e->is_short ? "%s_ending(f%d)" : "%s_tree(T%d, blocks)";
            snprintf(text, sizeof text, from, emit_kernel(e, i).text, i);
            emit_value(e, i, text);
        } else if (n->op == OP_GATHER) {
            pass_pick(e, i, pass);
        } else {
            emit_value(e, i, NULL);
        }
        if (n->is_stored && stores)
            emit_line(e, "((%s *)A->out[%d])[row] = %sr%d;", emit_ctype(n->dtype), n->output,
                      dtype_is_half((DType)n->dtype) ? "h_" : "", i);
        if (e->is_staggered) emit_line(e, "R%d[g] = r%d;", i, i);
    }
}
/* Writes names for where the row is folded: the sums of its leaf, or for its value in a total. */
static void put_fold_names(Emit *e) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        if (!emit_folds_rows(e, i)) continue;
        const char *type = emit_folded(e, i);
        const char *at = e->f->node[i].is_row ? "row" : "row / FUSED_LEAF * n";
        emit_line(e, "%s *const l%d = L%d + %s;", type, i, i, at);
    }
}

/* ---- Long rows ---- */

/* Writes to `to` the address of the block's elements that reduction i folds. */
static void fold_source(const Emit *e, int i, char *to, size_t size) {
    FuseRef r = e->f->node[i].in[0];
    const char *type = emit_ctype(emit_dtype(e, r));
    if (e->plan.is_chunked[i])
        snprintf(to, size, "c%d", i);
    else if (fuse_is_input(r))
        snprintf(to, size, "(const %s *)b%d + from", type, r - FUSE_INPUT);
    else if (e->f->node[r].is_stored)
        snprintf(to, size, "(const %s *)A->out[%d] + row * n + from", type, e->f->node[r].output);
    else
        snprintf(to, size, "k%d + from", r);
}
void emit_folds(Emit *e, int pass) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        if (!pass_folds(e, i, pass)) continue;
        char from[96];
        fold_source(e, i, from, sizeof from);
        emit_line(e, "T%d[block] = %s_row(to - from, %s);", i, emit_kernel(e, i).text, from);
    }
}
/* The head of the loop over rows, and what comes before a row's passes. */
static void begin_rows(Emit *e, const char *count, void (*next)(Emit *, const char *)) {
    emit_line(e, "for (int64_t step = 0; step < %s; step++) {", count);
    next(e, "step");
    emit_bases(e);
    emit_row_inputs(e);
    put_fold_names(e);
    emit_row_values(e, 0, true);
}
static void put_long(Emit *e, const char *count, void (*next)(Emit *, const char *)) {
    begin_rows(e, count, next);
    for (int pass = 0; pass < e->plan.n_passes; pass++) {
        if (pass_has_folds(e, pass)) {
            emit_line(e, "for (int64_t block = 0; block < blocks; block++) {");
            emit_line(e, "const int64_t from = block * FUSED_BLOCK;");
            emit_line(e, "const int64_t to = n - from < FUSED_BLOCK ? n : from + FUSED_BLOCK;");
        } else {
            emit_line(e, "{");
            emit_line(e, "const int64_t from = 0, to = n;");
        }
        pass_loop(e, pass);
        emit_folds(e, pass);
        emit_line(e, "}");
        emit_row_values(e, pass + 1, true);
    }
    emit_line(e, "fused_next(&rows, &A->outer, %d);", e->f->n_inputs);
    emit_line(e, "}");
}

/* ---- Short rows ---- */

/* Outside the loop over elements, the variables of a pass have two numbers in their names: p0_2 is
 * p0 of pass 2. DECLARE: writes their definitions, for no row; EXPORT: sets them from a block's
 * names; IMPORT: sets a block's names from them. */
typedef enum VariableUse { DECLARE, EXPORT, IMPORT } VariableUse;
static void put_variable(Emit *e, VariableUse use, const char *type, char letter, int i, int pass) {
    bool is_pointer = type[strlen(type) - 1] == '*';
    if (use == EXPORT)
        emit_line(e, "%c%d_%d = %c%d;", letter, i, pass, letter, i);
    else if (use == IMPORT)
        emit_line(e, "%s %s%c%d = %c%d_%d;", type, is_pointer ? "const " : "", letter, i, letter, i,
                  pass);
    else if (is_pointer)
        emit_line(e, "%s%c%d_%d = (%s)idle;", type, letter, i, pass, type);
    else
        emit_line(e, "%s %c%d_%d = 0;", type, letter, i, pass);
}
/* Calls put_variable for the variables that the pass's loop (pass_find_needs) uses. */
static void put_variables(Emit *e, VariableUse use, int pass) {
    const Fusion *f = e->f;
    bool row[FUSE_NODES] = {0};
    char type[32];
    for (int k = 0; k < f->n_inputs; k++) {
        if (!e->needs_input[k]) continue;
        DType d = (DType)f->input[k].type.dtype;
        snprintf(type, sizeof type, "const %s *", emit_ctype(d));
        if (f->stride_kind[k] == STRIDE_ZERO)
            put_variable(e, use, emit_held(d), 'x', k, pass);
        else
            put_variable(e, use, type, 'p', k, pass);
        if (f->stride_kind[k] == STRIDE_OTHER) /* `idle` is short: its step is 0 */
            put_variable(e, use, "int64_t", 'd', k, pass);
    }
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        bool computes = pass_computes(e, i, pass);
        if (pass_writes(e, i, pass) || (e->needs[i] && pass_loads(e, i, pass))) {
            snprintf(type, sizeof type, "%s *",
                     n->is_stored ? emit_ctype((DType)n->dtype) : emit_held((DType)n->dtype));
            put_variable(e, use, type, n->is_stored ? 'o' : 'q', i, pass);
        }
        if (pass_has_column(e, i, pass)) {
            snprintf(type, sizeof type, "%s *", emit_lane_type(e, i));
            put_variable(e, use, type, 'a', i, pass);
        }
        if (n->op == OP_SCATTER_ADD && computes) put_variable(e, use, "int32_t", 'j', i, pass);
        for (int k = 0; (computes || pass_has_column(e, i, pass)) && k < n->n_in; k++)
            if (fuse_is_node(n->in[k]) && f->node[n->in[k]].is_row) row[n->in[k]] = true;
    }
    for (int i = 0; i < f->n_nodes; i++)
        if (row[i]) put_variable(e, use, emit_held((DType)f->node[i].dtype), 'r', i, pass);
}

/* Writes "if (the pass has a row) {" and the values of that row that earlier passes computed. */
static void put_row_of(Emit *e, int pass) {
    const Fusion *f = e->f;
    if (pass)
        emit_line(e, "if (step >= %d && step - %d < count) {", pass, pass);
    else
        emit_line(e, "if (step < count) {");
    emit_line(e, "const int64_t g = (step - %d) %% %d, row = N[g], at = 0;", pass,
              e->plan.n_passes);
    emit_line(e, "(void)row, (void)at;");
    for (int k = 0; k < f->n_inputs; k++) emit_line(e, "const char *const b%d = B%d[g];", k, k);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (emit_is_row_value(e, i) && e->plan.pass[i] <= pass)
            emit_line(e, "const %s r%d = R%d[g];", emit_held((DType)n->dtype), i, i);
        if (e->plan.is_kept[i])
            emit_line(e, "%s *const k%d = K%d + (step - %d) %% %d * stride;",
                      emit_held((DType)n->dtype), i, i, pass, e->slots[i]);
    }
    put_fold_names(e);
}
/* Writes element i of passes [first, end), which belongs to lane l. */
static void put_step(Emit *e, int first, int end) {
    emit_line(e, "const int64_t i = i0 + l, at = 0;");
    emit_line(e, "(void)at;");
    for (int pass = first; pass < end; pass++) {
        if (!pass_find_needs(e, pass)) continue;
        emit_line(e, "{");
        if (e->is_staggered) put_variables(e, IMPORT, pass);
        pass_body(e, pass);
        emit_line(e, "}");
    }
}
/* Writes what follows a step's loop over lanes: the stores, and the prefetches if is_far. If passes
 * run in turn, the last one that reads an input prefetches it; otherwise all would wait for it. */
static void put_out(Emit *e, int first, int end, bool is_far) {
    bool asked[FUSED_INPUTS] = {0};
    for (int k = 0; k < e->f->n_inputs; k++) asked[k] = e->last_use[k] >= 2 * end;
    for (int pass = first; pass < end; pass++)
        if (pass_find_needs(e, pass)) pass_out(e, pass, is_far, asked);
}
/* Writes the loop of passes [first, end) over a row, and a masked step for its rest. */
static void put_row(Emit *e, int first, int end) {
    emit_line(e, "int64_t i0 = 0;");
    emit_line(e, "for (; i0 + LANES <= n; i0 += LANES) {");
    for (int pass = first; pass < end; pass++) pass_places(e, pass);
    emit_line(e, "#pragma GCC ivdep");
    emit_line(e, "#pragma GCC unroll 1");
    emit_line(e, "for (int64_t l = 0; l < LANES; l++) {");
    e->in_full = true;
    put_step(e, first, end);
    e->in_full = false;
    emit_line(e, "}");
    emit_line(e, "if (is_far) {");
    put_out(e, first, end, true);
    emit_line(e, "} else {");
    put_out(e, first, end, false);
    emit_line(e, "}");
    emit_line(e, "}");
    emit_line(e, "if (i0 < n) {");
    emit_line(e, "#pragma GCC ivdep");
    emit_line(e, "#pragma GCC unroll 1");
    emit_line(e, "for (int64_t l = 0; l < LANES; l++) {");
    emit_line(e, "if (l < n - i0) { /* masked, where the processor can */");
    put_step(e, first, end);
    emit_line(e, "}");
    emit_line(e, "}");
    emit_line(e, "}");
}
/* Writes the accumulators of what passes [first, end) fold to row values. */
static void put_row_folds(Emit *e, int first, int end) {
    for (int pass = first; pass < end; pass++)
        for (int i = 0; i < e->f->n_nodes; i++) {
            if (!pass_folds(e, i, pass)) continue;
            emit_line(e, "%s f%d[LANES];", emit_lane_type(e, i), i);
            emit_line(e, "LANE f%d[l] = %s_init();", i, emit_kernel(e, i).text);
        }
}
static void put_in_turn(Emit *e, const char *count, void (*next)(Emit *, const char *)) {
    emit_line(e, "const int64_t is_far = A->is_far;");
    begin_rows(e, count, next);
    for (int pass = 0; pass < e->plan.n_passes; pass++) {
        put_row_folds(e, pass, pass + 1);
        if (pass_find_needs(e, pass)) {
            emit_line(e, "{");
            emit_line(e, "const int64_t at = 0;");
            pass_pointers(e, pass);
            put_row(e, pass, pass + 1);
            emit_line(e, "}");
        }
        emit_row_values(e, pass + 1, true);
    }
    emit_line(e, "fused_next(&rows, &A->outer, %d);", e->f->n_inputs);
    emit_line(e, "}");
    emit_line(e, "if (is_far) fused_settle();");
}
static void put_staggered(Emit *e, const char *count, void (*next)(Emit *, const char *)) {
    const Fusion *f = e->f;
    int n_passes = e->plan.n_passes;
    emit_line(e, "const int64_t is_far = A->is_far;");
    for (int k = 0; k < f->n_inputs; k++) emit_line(e, "const char *B%d[%d];", k, n_passes);
    for (int i = 0; i < f->n_nodes; i++)
        if (emit_is_row_value(e, i))
            emit_line(e, "%s R%d[%d];", emit_held((DType)f->node[i].dtype), i, n_passes);
    emit_line(e, "int64_t N[%d];", n_passes);
    emit_line(e, "const int64_t count = %s;", count);
    emit_line(e, "for (int64_t step = 0; step < count + %d; step++) {", n_passes - 1);
    emit_line(e, "if (step < count) {");
    next(e, "step");
    emit_line(e, "const int64_t g = step %% %d;", n_passes);
    emit_line(e, "N[g] = row;");
    emit_bases(e);
    for (int k = 0; k < f->n_inputs; k++) emit_line(e, "B%d[g] = b%d;", k, k);
    emit_row_inputs(e);
    put_fold_names(e);
    emit_row_values(e, 0, true);
    emit_line(e, "fused_next(&rows, &A->outer, %d);", f->n_inputs);
    emit_line(e, "}");
    for (int pass = 0; pass < n_passes; pass++) {
        if (!pass_find_needs(e, pass)) continue;
        put_variables(e, DECLARE, pass);
        put_row_of(e, pass);
        pass_pointers(e, pass);
        put_variables(e, EXPORT, pass);
        emit_line(e, "}");
    }
    put_row_folds(e, 0, n_passes);
    put_row(e, 0, n_passes);
    for (int pass = 0; pass < n_passes; pass++) {
        put_row_of(e, pass);
        emit_row_inputs(e);
        emit_row_values(e, pass + 1, true);
        emit_line(e, "}");
    }
    emit_line(e, "}");
    emit_line(e, "if (is_far) fused_settle();");
}

void emit_rows(Emit *e, const char *count, void (*next)(Emit *e, const char *step)) {
    if (e->is_staggered)
        put_staggered(e, count, next);
    else if (e->is_short)
        put_in_turn(e, count, next);
    else
        put_long(e, count, next);
}
