/* emit_pass.c: see emit_pass.h.
 * SPDX-License-Identifier: MIT */
#include "worker/emit/emit_pass.h"
#include <stdio.h>
#include <string.h>

const char *emit_held(DType d) { return emit_ctype(fuse_computes(d)); }
int emit_held_size(DType d) { return dtype_info[fuse_computes(d)].size_bytes; }

void emit_line(Emit *e, const char *format, ...) {
    char text[512];
    FORMAT_INTO(text, format);
    if (text[0] == '}') e->depth--;
    if (text[0] != '#') bytes_printf(e->out, "%*s", 4 * e->depth, "");
    bytes_printf(e->out, "%s\n", text);
    size_t n = strlen(text);
    if (n && text[n - 1] == '{') e->depth++;
}

/* ---- Expressions ---- */

bool emit_is_row_value(const Emit *e, int i) {
    return e->f->node[i].is_row && !e->f->node[i].is_column && e->plan.is_used[i];
}

EmitName emit_name(const Emit *e, FuseRef r, bool in_row) {
    EmitName n;
    if (fuse_is_node(r))
        snprintf(n.text, sizeof n.text, "%c%d", e->f->node[r].is_row ? 'r' : 'v', r);
    else if (fuse_is_input(r))
        snprintf(n.text, sizeof n.text, "%c%d", in_row ? 'y' : 'x', r - FUSE_INPUT);
    else
        snprintf(n.text, sizeof n.text, "s%d", r - FUSE_SCALAR);
    return n;
}
DType emit_dtype(const Emit *e, FuseRef r) {
    if (fuse_is_node(r)) return e->f->node[r].dtype;
    return fuse_is_input(r) ? (DType)e->f->input[r - FUSE_INPUT].type.dtype
                            : e->f->scalar[r - FUSE_SCALAR];
}
/* Writes "bf16_to_f32(TEXT)", or TEXT if d is not a half. */
static void put_widened(Emit *e, DType d, const char *text) {
    if (dtype_is_half(d))
        bytes_printf(e->out, "%s_to_f32(%s)", dtype_info[d].text, text);
    else
        bytes_puts(e->out, text);
}

/* True if r is <= 0 or nan: an element minus the maximum of its row. */
static bool is_below_zero(const Emit *e, FuseRef r) {
    if (!fuse_is_node(r)) return false;
    const FuseNode *n = &e->f->node[r];
    if (n->op != OP_SUB || n->is_row || !fuse_is_node(n->in[1])) return false;
    const FuseNode *most = &e->f->node[n->in[1]];
    return most->op == OP_MAX && fuse_is_reduce(most) && most->in[0] == n->in[0];
}

/* Writes const T NAME = the value of node i, rounded to its dtype; h_NAME: the bits of a half. */
void emit_value(Emit *e, int i, const char *reduced) {
    const FuseNode *n = &e->f->node[i];
    EmitName name[3];
    const char *operand[3] = {0};
    for (int k = 0; k < n->n_in; k++) {
        name[k] = emit_name(e, n->in[k], n->is_row);
        operand[k] = name[k].text;
    }
    DType d = (DType)n->dtype, from = emit_dtype(e, n->in[n->n_in - 1]);
    EmitName to = emit_name(e, i, false);
    bool is_half = dtype_is_half(d);
    const char *text = dtype_info[d].text;
    bytes_printf(e->out, "%*sconst %s %s%s = ", 4 * e->depth, "", emit_ctype(d),
                 is_half ? "h_" : "", to.text);
    if (is_half) bytes_printf(e->out, "f32_to_%s(", text);
    if (reduced) {
        bytes_puts(e->out, reduced);
    } else if (n->op == OP_EXP && fuse_computes(from) == DT_F32 && is_below_zero(e, n->in[0])) {
        bytes_printf(e->out, "f32_exp_below(%s)", operand[0]);
    } else if (n->op == OP_FULL) {
        bytes_puts(e->out, operand[0]);
    } else if (n->op == OP_SCATTER_ADD) {
        bytes_printf(e->out, "(int32_t)(%s) != j%d ? %s : (%s)(", e->place, i, operand[0],
                     emit_held(d));
        emit_expr(e->out, op_info[OP_ADD].expr, d, d, (const char *[3]){operand[0], operand[2]});
        bytes_puts(e->out, ")");
    } else if (n->op == OP_CAST) {
        DType a = fuse_computes(from), b = fuse_computes(d);
        if (a == b)
            bytes_puts(e->out, operand[0]);
        else if (dtype_is_float(a) && op_info[OP_NOT].in & DSET(b) && b != DT_BOOL)
            /* + 0, in a variable whose value the compiler does not know: gcc turns
             * (float)(int64_t)x into trunc(x), and that gives -0 where this must give 0. */
            bytes_printf(e->out, "(%s)(%s_to_%s(%s) + zero)", emit_ctype(b), dtype_info[a].text,
                         dtype_info[b].text, operand[0]);
        else
            bytes_printf(e->out, "%s_to_%s(%s)", dtype_info[a].text, dtype_info[b].text,
                         operand[0]);
    } else {
        DType t = fuse_computes(from);
        bytes_printf(e->out, "(%s)(", emit_held(d));
        bool is_short = is_half && dtype_is_half(from) && n->n_in == 1;
        const char *expr = is_short ? emit_half_expr(n->op, from) : NULL;
        emit_expr(e->out, expr ? expr : op_info[n->op].expr, t, t, operand);
        bytes_puts(e->out, ")");
    }
    bytes_printf(e->out, "%s; /* %s */\n", is_half ? ")" : "", op_info[n->op].name);
    if (is_half) emit_line(e, "const float %s = %s_to_f32(h_%s);", to.text, text, to.text);
}
void emit_scalars(Emit *e) {
    for (int k = 0; k < e->f->n_scalars; k++) {
        emit_line(e, "%s s%d;", emit_ctype(e->f->scalar[k]), k);
        emit_line(e, "__builtin_memcpy(&s%d, A->scalar[%d], sizeof s%d);", k, k, k);
    }
}

void emit_input(Emit *e, char letter, int k, const char *where) {
    DType d = (DType)e->f->input[k].type.dtype;
    char text[96];
    snprintf(text, sizeof text, "*(const %s *)%s", emit_ctype(d), where);
    bytes_printf(e->out, "%*sconst %s %c%d = ", 4 * e->depth, "", emit_held(d), letter, k);
    put_widened(e, d, text);
    bytes_puts(e->out, ";\n");
}

EmitIndex emit_index(const Emit *e, int i, bool in_row) {
    EmitIndex text;
    snprintf(text.text, sizeof text.text, "fused_index(A->bad[%d], row, (int64_t)%s, n)",
             fuse_fail(e->f, i), emit_name(e, e->f->node[i].in[1], in_row).text);
    return text;
}

EmitName emit_kernel(const Emit *e, int i) {
    const FuseNode *n = &e->f->node[i];
    EmitName name;
    snprintf(name.text, sizeof name.text, "%s_%s", op_info[n->op].name,
             dtype_info[fuse_computes(emit_dtype(e, n->in[0]))].text);
    return name;
}
const char *emit_lane_type(const Emit *e, int i) {
    const FuseNode *n = &e->f->node[i];
    return emit_ctype(emit_accumulator(n->op, fuse_computes(emit_dtype(e, n->in[0]))));
}

/* ---- A pass ---- */

bool pass_folds(const Emit *e, int i, int pass) {
    return !e->picks && fuse_is_reduce(&e->f->node[i]) && e->plan.is_used[i] &&
           e->plan.pass[i] == pass + 1;
}
bool pass_has_folds(const Emit *e, int pass) {
    for (int i = 0; i < e->f->n_nodes; i++)
        if (pass_folds(e, i, pass)) return true;
    return false;
}
/* True if node i was computed in an earlier pass and its value was stored or kept. */
bool pass_loads(const Emit *e, int i, int pass) {
    return e->plan.pass[i] < pass && (e->f->node[i].is_stored || e->plan.is_kept[i]);
}
bool pass_computes(const Emit *e, int i, int pass) {
    return e->needs[i] && !pass_loads(e, i, pass);
}
bool pass_writes(const Emit *e, int i, int pass) {
    const FuseNode *n = &e->f->node[i];
    return !e->picks && !n->is_row && !n->is_column && e->plan.pass[i] == pass &&
           e->plan.is_used[i] && (n->is_stored || e->plan.is_kept[i]);
}

/* True if the pass's loop folds node i over the rows. */
bool pass_has_column(const Emit *e, int i, int pass) {
    const FuseNode *n = &e->f->node[i];
    return !e->picks && n->is_column && !n->is_row && e->plan.is_used[i] && e->plan.pass[i] == pass;
}

/* Marks the operands of needed nodes as needed. Returns true if any was new. */
static bool spread_needs(Emit *e, int pass) {
    const Fusion *f = e->f;
    bool has_any = false;
    for (int i = f->n_nodes - 1; i >= 0; i--) {
        has_any |= e->needs[i];
        const FuseNode *n = &f->node[i];
        for (int k = 0; pass_computes(e, i, pass) && k < n->n_in; k++) {
            FuseRef r = n->in[k];
            if (fuse_is_input(r)) e->needs_input[r - FUSE_INPUT] = true;
            if (fuse_is_node(r) && !f->node[r].is_row) e->needs[r] = true;
        }
    }
    for (int k = 0; k < f->n_inputs; k++)
        if (e->needs_input[k] && e->last_use[k] < 2 * pass) e->last_use[k] = 2 * pass;
    return has_any;
}
bool pass_find_needs(Emit *e, int pass) {
    const Fusion *f = e->f;
    bool has_any = false;
    memset(e->needs, 0, sizeof e->needs);
    memset(e->needs_input, 0, sizeof e->needs_input);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (pass_writes(e, i, pass)) e->needs[i] = true;
        if (pass_has_column(e, i, pass)) {
            has_any = true;
            if (fuse_is_input(n->in[0]))
                e->needs_input[n->in[0] - FUSE_INPUT] = true;
            else if (!f->node[n->in[0]].is_row)
                e->needs[n->in[0]] = true;
        }
        if (!pass_folds(e, i, pass)) continue;
        if (fuse_is_input(n->in[0])) {
            int k = n->in[0] - FUSE_INPUT;
            if (e->plan.is_chunked[i]) e->needs_input[k] = has_any = true;
            if (e->last_use[k] < 2 * pass + 1) e->last_use[k] = 2 * pass + 1;
        } else if (e->plan.is_chunked[i]) {
            e->needs[n->in[0]] = true;
        }
    }
    return spread_needs(e, pass) || has_any;
}

/* Writes the pointers of one line that the loop reads and writes. `at` counts elements of the
 * row. */
void pass_pointers(Emit *e, int pass) {
    const Fusion *f = e->f;
    for (int k = 0; k < f->n_inputs; k++) {
        if (!e->needs_input[k]) continue;
        DType d = f->input[k].type.dtype;
        const char *base = f->is_lined ? "lines.offset" : NULL;
        char from[48] = "";
        if (base) snprintf(from, sizeof from, " + lines.offset[%d]", k);
        const char *start = f->is_lined ? "skip" : "at";
        if (f->stride_kind[k] == STRIDE_ZERO) {
            char where[64];
            snprintf(where, sizeof where, "(b%d%s)", k, from);
            emit_input(e, 'x', k, where);
        } else {
            emit_line(e, "const %s *p%d = (const %s *)(b%d%s) + %s%s;", emit_ctype(d), k,
                      emit_ctype(d), k, from, start,
                      f->stride_kind[k] == STRIDE_OTHER ? " * d" : "");
            if (f->stride_kind[k] == STRIDE_OTHER) {
                e->out->n -= 2; /* ";\n" */
                bytes_printf(e->out, "%d;\n", k);
            }
        }
    }
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (pass_writes(e, i, pass) || (e->needs[i] && pass_loads(e, i, pass))) {
            if (n->is_stored)
                emit_line(e, "%s *const o%d = (%s *)A->out[%d] + row * n + at;",
                          emit_ctype(n->dtype), i, emit_ctype(n->dtype), n->output);
            else
                emit_line(e, "%s *const q%d = k%d + at;", emit_held(n->dtype), i, i);
        }
        if (pass_has_column(e, i, pass))
            emit_line(e, "%s *const a%d = l%d + at;", emit_lane_type(e, i), i, i);
        if (n->op == OP_SCATTER_ADD && pass_computes(e, i, pass))
            emit_line(e, "const int32_t j%d = (int32_t)%s;", i, emit_index(e, i, false).text);
        if (pass_folds(e, i, pass) && e->plan.is_chunked[i] && !e->is_short)
            emit_line(e, "%s *const g%d = c%d + (at - from);", emit_held(emit_dtype(e, n->in[0])),
                      i, i);
    }
}

/* ---- Non-temporal stores (fused.h, is_far) ---- */

void pass_find_streams(Emit *e) {
    const Fusion *f = e->f;
    bool picks = false;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        picks |= n->op == OP_GATHER; /* it recomputes its operands from stored values */
        e->streams[i] = n->is_stored && !n->is_row && !n->is_column;
    }
    for (int pass = 0; pass < e->plan.n_passes; pass++) {
        pass_find_needs(e, pass);
        for (int i = 0; i < f->n_nodes; i++) {
            const FuseNode *n = &f->node[i];
            if (picks || (e->needs[i] && pass_loads(e, i, pass))) e->streams[i] = false;
            if (fuse_is_reduce(n) && fuse_is_node(n->in[0]) && !e->is_short)
                e->streams[n->in[0]] = false; /* it is folded from where it is stored */
        }
    }
}
void pass_places(Emit *e, int pass) {
    for (int i = 0; i < e->f->n_nodes; i++)
        if (e->streams[i] && pass_writes(e, i, pass))
            emit_line(e, "%s t%d[LANES] __attribute__((aligned(FUSED_LINE)));",
                      emit_ctype(e->f->node[i].dtype), i);
}
void pass_out(Emit *e, int pass, bool is_far, bool *asked) {
    const Fusion *f = e->f;
    char of[16] = ""; /* a suffix of names if the loop covers all passes */
    if (e->is_staggered) snprintf(of, sizeof of, "_%d", pass);
    for (int i = 0; i < f->n_nodes; i++)
        if (e->streams[i] && pass_writes(e, i, pass))
            emit_line(e, "%s(o%d%s + i0, t%d, sizeof t%d);",
                      is_far ? "fused_past" : "__builtin_memcpy", i, of, i, i);
    for (int k = 0; is_far && k < f->n_inputs; k++) {
        if (!e->needs_input[k] || asked[k] || f->stride_kind[k] != STRIDE_ONE) continue;
        asked[k] = true;
        emit_line(e, "fused_ahead(p%d%s + i0, A->ahead[%d], LANES * sizeof *p%d%s);", k, of, k, k,
                  of);
    }
}

/* ---- The body of a loop, in pieces ----
 *
 * A processor's window holds a hundred or so operations that wait for others. An exponential is a
 * chain of about twenty. If long chains precede and follow it in the same iteration, few iterations
 * fit into the window and the units are idle. So the body is split before and after such a function
 * if enough is computed there: each piece is a loop of its own over PIECE elements, and the values
 * for later pieces stay in the L1 cache.
 *
 * Measured on Zen 5 (CPU time, medians of 7 interleaved runs): a fusion with tanh, exp, log and
 * sin over 1 M elements takes 0.53 of its time in one loop (v3: 0.48), and 0.60 over 20 k. */
enum {
    /* 128 and 512 take 1.03 and 1.08 times as long there, 1024 and 2048 1.15 and 1.18. */
    PIECE = 256,
    /* Computed nodes that are worth a piece of their own. With 1 or 2 that fusion takes 1.3 times
     * as long; with 6 or more 0.94, but a GELU by hand 1.08 to 1.17. */
    PIECE_OPS = 3
};

/* True if node i is computed in an earlier piece, and needed by a computed node of a later piece or
 * written, which the last piece does. */
static bool is_between(const Emit *e, int i, int pass) {
    if (!pass_computes(e, i, pass) || e->piece[i] == e->n_pieces - 1) return false;
    if (pass_writes(e, i, pass)) return true;
    for (int j = i + 1; j < e->f->n_nodes; j++) {
        const FuseNode *n = &e->f->node[j];
        bool folds =
            (pass_folds(e, j, pass) && e->plan.is_chunked[j]) || pass_has_column(e, j, pass);
        if (!folds && !(pass_computes(e, j, pass) && e->piece[j] > e->piece[i])) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] == i) return true;
    }
    return false;
}
static void find_pieces(Emit *e, int pass) {
    int left = 0, ops = 0;
    bool was_deep = false;
    e->n_pieces = 1;
    for (int i = 0; i < e->f->n_nodes; i++) left += pass_computes(e, i, pass);
    for (int i = 0; i < e->f->n_nodes; i++) {
        if (!pass_computes(e, i, pass)) continue;
        bool deep = op_has((Op)e->f->node[i].op, FACT_DEEP);
        if (was_deep ? deep || left >= PIECE_OPS : deep && ops >= PIECE_OPS)
            e->n_pieces++, ops = 0, was_deep = false;
        e->piece[i] = e->n_pieces - 1;
        was_deep |= deep;
        ops++, left--;
    }
}

static bool is_of_piece(const Emit *e, int i, int pass, int piece) {
    return pass_computes(e, i, pass) && e->piece[i] == piece;
}
/* Finds the operands of a piece's nodes, and the values that the last piece writes and folds. */
static void find_operands(const Emit *e, int pass, int piece, bool *node, bool *input) {
    const Fusion *f = e->f;
    bool is_last = piece == e->n_pieces - 1;
    memset(node, 0, FUSE_NODES * sizeof *node);
    memset(input, 0, FUSED_INPUTS * sizeof *input);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        node[i] |= is_last && pass_writes(e, i, pass);
        bool folds =
            (pass_folds(e, i, pass) && e->plan.is_chunked[i]) || pass_has_column(e, i, pass);
        if (!(is_last && folds) && !is_of_piece(e, i, pass, piece)) continue;
        for (int k = 0; k < n->n_in; k++) {
            if (fuse_is_input(n->in[k])) input[n->in[k] - FUSE_INPUT] = true;
            if (fuse_is_node(n->in[k])) node[n->in[k]] = !f->node[n->in[k]].is_row;
        }
    }
    /* pass_pick needs a single element, which is not written. */
    for (int i = 0; e->picks && i < f->n_nodes; i++) node[i] |= e->needs[i];
    for (int k = 0; e->picks && k < f->n_inputs; k++) input[k] |= e->needs_input[k];
}
static void put_writes(Emit *e, int pass) {
    const Fusion *f = e->f;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        const char *half = n->is_stored && dtype_is_half((DType)n->dtype) ? "h_" : "";
        if (pass_writes(e, i, pass) && e->in_full && e->streams[i])
            emit_line(e, "t%d[l] = %sv%d;", i, half, i);
        else if (pass_writes(e, i, pass))
            emit_line(e, "%c%d[i] = %sv%d;", n->is_stored ? 'o' : 'q', i, half, i);
        if (pass_folds(e, i, pass) && e->is_short)
            emit_line(e, "f%d[l] = %s_op(f%d[l], %s);", i, emit_kernel(e, i).text, i,
                      emit_name(e, n->in[0], false).text);
        else if (pass_folds(e, i, pass) && e->plan.is_chunked[i])
            emit_line(e, "g%d[i] = %s;", i, emit_name(e, n->in[0], false).text);
        if (pass_has_column(e, i, pass))
            emit_line(e, "a%d[i] = %s_op(a%d[i], %s);", i, emit_kernel(e, i).text, i,
                      emit_name(e, n->in[0], false).text);
    }
}
static void put_piece(Emit *e, int pass, int piece) {
    const Fusion *f = e->f;
    bool node[FUSE_NODES], input[FUSED_INPUTS];
    find_operands(e, pass, piece, node, input);
    for (int k = 0; k < f->n_inputs; k++) {
        if (!input[k] || f->stride_kind[k] == STRIDE_ZERO) continue;
        DType d = f->input[k].type.dtype;
        char text[32];
        if (f->stride_kind[k] == STRIDE_OTHER)
            snprintf(text, sizeof text, "p%d[i * d%d]", k, k);
        else
            snprintf(text, sizeof text, "p%d[i]", k);
        bytes_printf(e->out, "%*sconst %s x%d = ", 4 * e->depth, "", emit_held(d), k);
        put_widened(e, d, text);
        bytes_puts(e->out, ";\n");
    }
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        bool is_here = is_of_piece(e, i, pass, piece);
        if (is_here) emit_value(e, i, NULL);
        if (is_here && is_between(e, i, pass)) emit_line(e, "w%d[i - left] = v%d;", i, i);
        if (is_here || !node[i]) continue;
        char text[32];
        if (pass_loads(e, i, pass))
            snprintf(text, sizeof text, "%c%d[i]", n->is_stored ? 'o' : 'q', i);
        else
            snprintf(text, sizeof text, "w%d[i - left]", i);
        bytes_printf(e->out, "%*sconst %s v%d = ", 4 * e->depth, "", emit_held(n->dtype), i);
        put_widened(e, n->is_stored && pass_loads(e, i, pass) ? (DType)n->dtype : DT_F32, text);
        bytes_puts(e->out, ";\n");
        const char *half = dtype_info[n->dtype].text;
        if (dtype_is_half((DType)n->dtype) && !pass_loads(e, i, pass))
            emit_line(e, "const uint16_t h_v%d = f32_to_%s(v%d);", i, half, i);
    }
    if (piece == e->n_pieces - 1) put_writes(e, pass);
}
void pass_body(Emit *e, int pass) {
    e->n_pieces = 1;
    memset(e->piece, 0, sizeof e->piece);
    put_piece(e, pass, 0);
}

/* True if the pass may write with non-temporal stores. They do not pay off where computing an
 * element takes longer than writing it. */
static bool may_be_far(const Emit *e, int pass) {
    /* Without, two operations over 4 M elements take 1.24 times as long; with 24 or 48 a GELU by
     * hand 1.75 times. 3 and 6 are within 4 % (Zen 5, CPU time, medians of 5 and 7 runs). */
    enum { LIGHT = 12 };
    bool has_any = false;
    for (int i = 0; i < e->f->n_nodes; i++) has_any |= e->streams[i] && pass_writes(e, i, pass);
    return has_any && !e->f->is_lined && (e->f->trailing || e->plan.cost <= LIGHT);
}
/* Writes the last piece of the loop from i0 = from on, in steps of LANES elements, for the case
 * that its results are written with non-temporal stores. */
static void put_far(Emit *e, int pass, int piece, const char *from, const char *to) {
    bool asked[FUSED_INPUTS] = {0};
    emit_line(e, "int64_t i0 = %s;", from);
    emit_line(e, "for (; A->is_far && i0 + LANES <= %s; i0 += LANES) {", to);
    pass_places(e, pass);
    emit_line(e, "#pragma GCC ivdep");
    emit_line(e, "#pragma GCC unroll 1");
    emit_line(e, "for (int64_t l = 0; l < LANES; l++) {");
    emit_line(e, "const int64_t i = i0 + l;");
    e->in_full = true;
    put_piece(e, pass, piece);
    e->in_full = false;
    emit_line(e, "}");
    pass_out(e, pass, true, asked);
    emit_line(e, "}");
    emit_line(e, "if (A->is_far) fused_settle();");
}

/* Writes the pass's loop over [0, count), in pieces. */
static void put_pieces(Emit *e, int pass) {
    find_pieces(e, pass);
    bool has_pieces = e->n_pieces > 1;
    for (int i = 0; has_pieces && i < e->f->n_nodes; i++) {
        if (!is_between(e, i, pass)) continue;
        const char *type = emit_held(e->f->node[i].dtype);
        emit_line(e, "%s w%d[%d] __attribute__((aligned(64)));", type, i, PIECE);
    }
    if (has_pieces) {
        emit_line(e, "for (int64_t left = 0, right; left < count; left = right) {");
        emit_line(e, "right = count - left < %d ? count : left + %d;", PIECE, PIECE);
    }
    for (int piece = 0; piece < e->n_pieces; piece++) {
        const char *from = has_pieces ? "left" : "0", *to = has_pieces ? "right" : "count";
        if (piece == e->n_pieces - 1 && may_be_far(e, pass)) {
            put_far(e, pass, piece, from, to);
            from = "i0";
        }
        emit_line(e, "#pragma GCC ivdep");
        emit_line(e, "for (int64_t i = %s; i < %s; i++) {", from, to);
        put_piece(e, pass, piece);
        emit_line(e, "}");
    }
    if (has_pieces) emit_line(e, "}");
}

void pass_find_pick(Emit *e, int i, int pass) {
    FuseRef from = e->f->node[i].in[0];
    memset(e->needs, 0, sizeof e->needs);
    memset(e->needs_input, 0, sizeof e->needs_input);
    if (fuse_is_input(from))
        e->needs_input[from - FUSE_INPUT] = true;
    else
        e->needs[from] = true;
    spread_needs(e, pass);
}

/* Writes the computation of a row's element `index`, the same as in the pass's loop. */
void pass_pick(Emit *e, int i, int pass) {
    FuseRef from = e->f->node[i].in[0];
    e->picks = true;
    pass_find_pick(e, i, pass);
    emit_line(e, "%s e%d;", emit_held(emit_dtype(e, from)), i);
    emit_line(e, "{");
    emit_line(e, "const int64_t at = %s, i = 0;", emit_index(e, i, true).text);
    pass_pointers(e, pass);
    pass_body(e, pass);
    emit_line(e, "e%d = %s;", i, emit_name(e, from, false).text);
    emit_line(e, "(void)at, (void)i;");
    emit_line(e, "}");
    e->picks = false;
    char text[16];
    snprintf(text, sizeof text, "e%d", i);
    emit_value(e, i, text);
}

/* Writes the loop over elements [from, to) of the row. */
void pass_loop(Emit *e, int pass) {
    const Fusion *f = e->f;
    if (!pass_find_needs(e, pass)) return;
    if (f->is_lined) {
        emit_line(e, "FusedWalk lines;");
        emit_line(e, "fused_seek(&lines, &A->inner, %d, from / A->line);", f->n_inputs);
        emit_line(e, "int64_t at = from, skip = from %% A->line, count;");
        emit_line(e, "for (; at < to; at += count, skip = 0) {");
        emit_line(e, "count = A->line - skip < to - at ? A->line - skip : to - at;");
    } else {
        emit_line(e, "{");
        emit_line(e, "const int64_t at = from, count = to - from;");
    }
    pass_pointers(e, pass);
    put_pieces(e, pass);
    if (f->is_lined) emit_line(e, "fused_next(&lines, &A->inner, %d);", f->n_inputs);
    emit_line(e, "}");
}
