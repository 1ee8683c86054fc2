/* emit_cluster.c: the C source of a cluster (fuse.h), see fused.h for the form of what comes out.
 *
 * A pass is a loop over a row's elements, block by block where it ends in reductions. Names in the
 * source: x input, s scalar, v value of the space, r value of a row, t accumulators of blocks,
 * k kept values of a row, c values laid out for a reduction, l accumulators of a lane of rows,
 * w values between the pieces of a loop's body; numbers are those of the cluster.
 * Functions are called FUSED(...), a macro that is another one for each cluster of a file.
 * SPDX-License-Identifier: MIT */
#include "worker/emit.h"
#include "worker/fuse.h"
#include <stdio.h>
#include <string.h>

typedef struct Emit {
    const Fuse *f;
    FusePlan plan;
    Bytes *out;
    int depth;
    bool needs[FUSE_NODES], needs_input[FUSED_INPUTS]; /* by the loop of the pass */
    bool picks;                 /* one element, which is not stored */
    bool in_groups;             /* of rows, whose places N and H tell */
    int n_pieces, piece[FUSE_NODES]; /* of the loop's body, in which a node is computed */
    int last_use[FUSED_INPUTS]; /* 2 pass, + 1: after the pass's loop; by rows: never over */
} Emit;

enum { NEVER_OVER = 1 << 20 };

static bool is_reduce(const FuseNode *n) { /* of a row */
    return op_info[n->op].class_ == CLASS_REDUCE && !n->is_column;
}
static const char *held(DType d) { return emit_ctype(fuse_computes(d)); }
static int held_size(DType d) { return dtype_info[fuse_computes(d)].size_bytes; }

__attribute__((format(printf, 2, 3))) static void line(Emit *e, const char *format, ...) {
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (text[0] == '}') e->depth--;
    if (text[0] != '#') bytes_printf(e->out, "%*s", 4 * e->depth, "");
    bytes_printf(e->out, "%s\n", text);
    size_t n = strlen(text);
    if (n && text[n - 1] == '{') e->depth++;
}

/* ---- Expressions ---- */

typedef struct Name {
    char text[16];
} Name;
static Name name_of(const Emit *e, FuseRef r, bool in_row) {
    Name n;
    if (fuse_is_node(r))
        snprintf(n.text, sizeof n.text, "%c%d", e->f->node[r].is_row ? 'r' : 'v', r);
    else if (fuse_is_input(r))
        snprintf(n.text, sizeof n.text, "%c%d", in_row ? 'y' : 'x', r - FUSE_INPUT);
    else
        snprintf(n.text, sizeof n.text, "s%d", r - FUSE_SCALAR);
    return n;
}
static DType dtype_of(const Emit *e, FuseRef r) {
    if (fuse_is_node(r)) return e->f->node[r].dtype;
    return fuse_is_input(r) ? (DType)e->f->input[r - FUSE_INPUT].type.dtype
                            : e->f->scalar[r - FUSE_SCALAR];
}
/* "bf16_to_f32(TEXT)", or TEXT. */
static void put_widened(Emit *e, DType d, const char *text) {
    if (dtype_is_half(d))
        bytes_printf(e->out, "%s_to_f32(%s)", dtype_info[d].text, text);
    else
        bytes_puts(e->out, text);
}

/* const T NAME = value of node i, rounded to its dtype; H_NAME: a half's bits. */
static void put_value(Emit *e, int i, const char *const operand[3], const char *reduced) {
    const FuseNode *n = &e->f->node[i];
    DType d = (DType)n->dtype, from = dtype_of(e, n->in[n->n_in - 1]);
    Name to = name_of(e, i, false);
    bool is_half = dtype_is_half(d);
    const char *text = dtype_info[d].text;
    bytes_printf(e->out, "%*sconst %s %s%s = ", 4 * e->depth, "", emit_ctype(d),
                 is_half ? "h_" : "", to.text);
    if (is_half) bytes_printf(e->out, "f32_to_%s(", text);
    if (reduced) {
        bytes_puts(e->out, reduced);
    } else if (n->op == OP_FULL) {
        bytes_puts(e->out, operand[0]);
    } else if (n->op == OP_SCATTER_ADD) {
        bytes_printf(e->out, "(int32_t)(at + i) != j%d ? %s : (%s)(", i, operand[0], held(d));
        emit_expr(e->out, op_info[OP_ADD].expr, d, d, (const char *[3]){operand[0], operand[2]});
        bytes_puts(e->out, ")");
    } else if (n->op == OP_CAST) {
        DType a = fuse_computes(from), b = fuse_computes(d);
        if (a == b)
            bytes_puts(e->out, operand[0]);
        else if (dtype_is_float(a) && op_info[OP_NOT].in & DSET(b) && b != DT_BOOL)
            /* + 0, which compilers do not know to be 0: gcc makes (float)(int64_t)x a trunc(x),
             * and that is -0 where this must be 0. */
            bytes_printf(e->out, "(%s)(%s_to_%s(%s) + zero)", emit_ctype(b), dtype_info[a].text,
                         dtype_info[b].text, operand[0]);
        else
            bytes_printf(e->out, "%s_to_%s(%s)", dtype_info[a].text, dtype_info[b].text,
                         operand[0]);
    } else {
        DType t = fuse_computes(from);
        bytes_printf(e->out, "(%s)(", held(d));
        emit_expr(e->out, op_info[n->op].expr, t, t, operand);
        bytes_puts(e->out, ")");
    }
    bytes_printf(e->out, "%s; /* %s */\n", is_half ? ")" : "", op_info[n->op].name);
    if (is_half) line(e, "const float %s = %s_to_f32(h_%s);", to.text, text, to.text);
}
static void put_map(Emit *e, int i) {
    const FuseNode *n = &e->f->node[i];
    Name name[3];
    const char *operand[3] = {0};
    for (int k = 0; k < n->n_in; k++) {
        name[k] = name_of(e, n->in[k], n->is_row);
        operand[k] = name[k].text;
    }
    put_value(e, i, operand, NULL);
}

/* "sum_f32": the kernel of a reduction. */
static Name kernel_of(const Emit *e, int i) {
    const FuseNode *n = &e->f->node[i];
    Name name;
    snprintf(name.text, sizeof name.text, "%s_%s", op_info[n->op].name,
             dtype_info[fuse_computes(dtype_of(e, n->in[0]))].text);
    return name;
}
static const char *accumulator(const Emit *e, int i) {
    const FuseNode *n = &e->f->node[i];
    return emit_ctype(emit_accumulator(n->op, fuse_computes(dtype_of(e, n->in[0]))));
}

/* ---- A pass ---- */

static bool folds_in(const Emit *e, int i, int pass) {
    return !e->picks && is_reduce(&e->f->node[i]) && e->plan.is_used[i] &&
           e->plan.pass[i] == pass + 1;
}
/* Computed in an earlier pass and still there. */
static bool is_loaded(const Emit *e, int i, int pass) {
    return e->plan.pass[i] < pass && (e->f->node[i].is_stored || e->plan.is_kept[i]);
}
static bool is_computed(const Emit *e, int i, int pass) {
    return e->needs[i] && !is_loaded(e, i, pass);
}
static bool is_written(const Emit *e, int i, int pass) {
    const FuseNode *n = &e->f->node[i];
    return !e->picks && !n->is_row && !n->is_column && e->plan.pass[i] == pass &&
           e->plan.is_used[i] && (n->is_stored || e->plan.is_kept[i]);
}

/* Folded over the rows by the loop of the pass. */
static bool is_column_in(const Emit *e, int i, int pass) {
    const FuseNode *n = &e->f->node[i];
    return !e->picks && n->is_column && !n->is_row && e->plan.is_used[i] &&
           e->plan.pass[i] == pass;
}

/* What the needed nodes are computed from is needed. */
static bool spread_needs(Emit *e, int pass) {
    const Fuse *f = e->f;
    bool has_any = false;
    for (int i = f->n_nodes - 1; i >= 0; i--) {
        has_any |= e->needs[i];
        const FuseNode *n = &f->node[i];
        for (int k = 0; is_computed(e, i, pass) && k < n->n_in; k++) {
            FuseRef r = n->in[k];
            if (fuse_is_input(r)) e->needs_input[r - FUSE_INPUT] = true;
            if (fuse_is_node(r) && !f->node[r].is_row) e->needs[r] = true;
        }
    }
    for (int k = 0; k < f->n_inputs; k++)
        if (e->needs_input[k] && e->last_use[k] < 2 * pass) e->last_use[k] = 2 * pass;
    return has_any;
}
static bool find_needs(Emit *e, int pass) {
    const Fuse *f = e->f;
    bool has_any = false;
    memset(e->needs, 0, sizeof e->needs);
    memset(e->needs_input, 0, sizeof e->needs_input);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (is_written(e, i, pass)) e->needs[i] = true;
        if (is_column_in(e, i, pass)) {
            has_any = true;
            if (fuse_is_input(n->in[0]))
                e->needs_input[n->in[0] - FUSE_INPUT] = true;
            else if (!f->node[n->in[0]].is_row)
                e->needs[n->in[0]] = true;
        }
        if (!folds_in(e, i, pass)) continue;
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

/* Pointers of one line: what the loop reads and writes. `at` counts elements of the row. */
static void put_pointers(Emit *e, int pass) {
    const Fuse *f = e->f;
    for (int k = 0; k < f->n_inputs; k++) {
        if (!e->needs_input[k]) continue;
        DType d = f->input[k].type.dtype;
        const char *base = f->is_lined ? "lines.offset" : NULL;
        char from[48] = "";
        if (base) snprintf(from, sizeof from, " + lines.offset[%d]", k);
        const char *start = f->is_lined ? "skip" : "at";
        if (f->lies[k] == LIES_STILL) {
            char text[96];
            snprintf(text, sizeof text, "*(const %s *)(b%d%s)", emit_ctype(d), k, from);
            bytes_printf(e->out, "%*sconst %s x%d = ", 4 * e->depth, "", held(d), k);
            put_widened(e, d, text);
            bytes_puts(e->out, ";\n");
        } else {
            line(e, "const %s *p%d = (const %s *)(b%d%s) + %s%s;", emit_ctype(d), k, emit_ctype(d),
                 k, from, start, f->lies[k] == LIES_APART ? " * d" : "");
            if (f->lies[k] == LIES_APART) {
                e->out->n -= 2; /* ";\n" */
                bytes_printf(e->out, "%d;\n", k);
            }
        }
    }
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (is_written(e, i, pass) || (e->needs[i] && is_loaded(e, i, pass))) {
            if (n->is_stored)
                line(e, "%s *const o%d = (%s *)A->out[%d] + row * n + at;", emit_ctype(n->dtype), i,
                     emit_ctype(n->dtype), n->output);
            else
                line(e, "%s *const q%d = k%d + at;", held(n->dtype), i, i);
        }
        if (is_column_in(e, i, pass))
            line(e, "%s *const a%d = l%d + at;", accumulator(e, i), i, i);
        if (n->op == OP_SCATTER_ADD && is_computed(e, i, pass))
            line(e, "const int32_t j%d = (int32_t)fused_index(A, (int64_t)%s, n);", i,
                 name_of(e, n->in[1], false).text);
        if (folds_in(e, i, pass) && e->plan.is_chunked[i])
            line(e, "%s *const g%d = c%d + (at - from);", held(dtype_of(e, n->in[0])), i, i);
    }
}

/* ---- The body of a loop, in pieces ----
 *
 * A processor's window holds a hundred or so operations that wait for others. An exponential is a
 * chain of about twenty; with a long chain before and behind it in the same turn of the loop, few
 * turns are in the window together and the units stand idle. So the body is cut before and behind
 * such a function, when enough is computed there: each piece is a loop of its own over PIECE
 * elements, and what later pieces need lies between in the first-level cache. */
enum { PIECE = 512, PIECE_OPS = 3, PIECE_VALUES = 4 };

static bool is_deep(const FuseNode *n) {
    switch (n->op) {
    case OP_EXP: case OP_EXPM1: case OP_EXP2: case OP_LOG: case OP_LOG1P: case OP_LOG2:
    case OP_LOG10: case OP_TANH: case OP_SIGMOID: case OP_SILU: case OP_SOFTPLUS: case OP_ERF:
    case OP_GELU: case OP_GELU_DX: case OP_SIN: case OP_COS: case OP_TAN: case OP_POW: return true;
    default: return false;
    }
}
/* Of an earlier piece, needed by a computed node of a later one, or written, as the last does. */
static bool is_between(const Emit *e, int i, int pass) {
    if (!is_computed(e, i, pass) || e->piece[i] == e->n_pieces - 1) return false;
    if (is_written(e, i, pass)) return true;
    for (int j = i + 1; j < e->f->n_nodes; j++) {
        const FuseNode *n = &e->f->node[j];
        bool folds = (folds_in(e, j, pass) && e->plan.is_chunked[j]) || is_column_in(e, j, pass);
        if (!folds && !(is_computed(e, j, pass) && e->piece[j] > e->piece[i])) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] == i) return true;
    }
    return false;
}
static void find_pieces(Emit *e, int pass) {
    int left = 0, ops = 0, between = 0;
    bool was_deep = false;
    e->n_pieces = 1;
    for (int i = 0; i < e->f->n_nodes; i++) left += is_computed(e, i, pass);
    for (int i = 0; i < e->f->n_nodes; i++) {
        if (!is_computed(e, i, pass)) continue;
        bool deep = is_deep(&e->f->node[i]);
        if (was_deep ? deep || left >= PIECE_OPS : deep && ops >= PIECE_OPS)
            e->n_pieces++, ops = 0, was_deep = false;
        e->piece[i] = e->n_pieces - 1;
        was_deep |= deep;
        ops++, left--;
    }
    for (int i = 0; i < e->f->n_nodes; i++) between += is_between(e, i, pass);
    if (e->n_pieces == 1 || between <= PIECE_VALUES) return;
    e->n_pieces = 1;
    memset(e->piece, 0, sizeof e->piece);
}

static bool is_of_piece(const Emit *e, int i, int pass, int piece) {
    return is_computed(e, i, pass) && e->piece[i] == piece;
}
/* The operands of the nodes of a piece, and what the last one writes and folds. */
static void find_operands(const Emit *e, int pass, int piece, bool *node, bool *input) {
    const Fuse *f = e->f;
    bool is_last = piece == e->n_pieces - 1;
    memset(node, 0, FUSE_NODES * sizeof *node);
    memset(input, 0, FUSED_INPUTS * sizeof *input);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        node[i] |= is_last && is_written(e, i, pass);
        bool folds = (folds_in(e, i, pass) && e->plan.is_chunked[i]) || is_column_in(e, i, pass);
        if (!(is_last && folds) && !is_of_piece(e, i, pass, piece)) continue;
        for (int k = 0; k < n->n_in; k++) {
            if (fuse_is_input(n->in[k])) input[n->in[k] - FUSE_INPUT] = true;
            if (fuse_is_node(n->in[k])) node[n->in[k]] = !f->node[n->in[k]].is_row;
        }
    }
    /* A single element (put_pick) is wanted without being written. */
    for (int i = 0; e->picks && i < f->n_nodes; i++) node[i] |= e->needs[i];
    for (int k = 0; e->picks && k < f->n_inputs; k++) input[k] |= e->needs_input[k];
}
static void put_writes(Emit *e, int pass) {
    const Fuse *f = e->f;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (is_written(e, i, pass))
            line(e, "%c%d[i] = %sv%d;", n->is_stored ? 'o' : 'q', i,
                 n->is_stored && dtype_is_half((DType)n->dtype) ? "h_" : "", i);
        if (folds_in(e, i, pass) && e->plan.is_chunked[i])
            line(e, "g%d[i] = %s;", i, name_of(e, n->in[0], false).text);
        if (is_column_in(e, i, pass))
            line(e, "a%d[i] = %s_op(a%d[i], %s);", i, kernel_of(e, i).text, i,
                 name_of(e, n->in[0], false).text);
    }
}
static void put_piece(Emit *e, int pass, int piece) {
    const Fuse *f = e->f;
    bool node[FUSE_NODES], input[FUSED_INPUTS];
    find_operands(e, pass, piece, node, input);
    for (int k = 0; k < f->n_inputs; k++) {
        if (!input[k] || f->lies[k] == LIES_STILL) continue;
        DType d = f->input[k].type.dtype;
        char text[32];
        if (f->lies[k] == LIES_APART)
            snprintf(text, sizeof text, "p%d[i * d%d]", k, k);
        else
            snprintf(text, sizeof text, "p%d[i]", k);
        bytes_printf(e->out, "%*sconst %s x%d = ", 4 * e->depth, "", held(d), k);
        put_widened(e, d, text);
        bytes_puts(e->out, ";\n");
    }
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        bool is_here = is_of_piece(e, i, pass, piece);
        if (is_here) put_map(e, i);
        if (is_here && is_between(e, i, pass)) line(e, "w%d[i - left] = v%d;", i, i);
        if (is_here || !node[i]) continue;
        char text[32];
        if (is_loaded(e, i, pass))
            snprintf(text, sizeof text, "%c%d[i]", n->is_stored ? 'o' : 'q', i);
        else
            snprintf(text, sizeof text, "w%d[i - left]", i);
        bytes_printf(e->out, "%*sconst %s v%d = ", 4 * e->depth, "", held(n->dtype), i);
        put_widened(e, n->is_stored && is_loaded(e, i, pass) ? (DType)n->dtype : DT_F32, text);
        bytes_puts(e->out, ";\n");
        const char *half = dtype_info[n->dtype].text;
        if (dtype_is_half((DType)n->dtype) && !is_loaded(e, i, pass))
            line(e, "const uint16_t h_v%d = f32_to_%s(v%d);", i, half, i);
    }
    if (piece == e->n_pieces - 1) put_writes(e, pass);
}
/* Beside elements [i0, i1) of the pass: the same of the next rows' inputs, shared out among the
 * passes, and of what the next pass will write. */
static void put_ahead(Emit *e, int pass) {
    const Fuse *f = e->f;
    line(e, "if (is_far) {");
    line(e, "const int64_t here = at + i0, some = i1 - i0;");
    for (int k = 0; k < f->n_inputs; k++) {
        if (f->lies[k] != LIES_DENSE || pass != 1 + k % (e->plan.n_passes - 1)) continue;
        int size = dtype_info[f->input[k].type.dtype].size_bytes;
        line(e, "const int64_t step%d = A->outer.stride[%d][A->outer.rank - 1];", k, k);
        line(e, "if (step%d) fused_read_ahead(b%d + H[g] * step%d + here * %d, some * %d);", k, k,
             k, size, size);
    }
    for (int i = 0; i < f->n_nodes; i++) {
        if (!is_written(e, i, pass + 1) || !f->node[i].is_stored) continue;
        int size = dtype_info[f->node[i].dtype].size_bytes;
        line(e, "fused_write_ahead(A->out[%d] + (row * n + here) * %d, some * %d);",
             f->node[i].output, size, size);
    }
    line(e, "(void)here, (void)some;");
    line(e, "}");
}

/* Turns [0, count) of the pass's loop. */
static void put_pieces(Emit *e, int pass) {
    find_pieces(e, pass);
    bool is_cut = e->n_pieces > 1;
    for (int i = 0; is_cut && i < e->f->n_nodes; i++) {
        if (!is_between(e, i, pass)) continue;
        const char *type = held(e->f->node[i].dtype);
        line(e, "%s w%d[%d] __attribute__((aligned(64)));", type, i, PIECE);
    }
    if (is_cut) {
        line(e, "for (int64_t left = 0, right; left < count; left = right) {");
        line(e, "right = count - left < %d ? count : left + %d;", PIECE, PIECE);
    }
    for (int piece = 0; piece < e->n_pieces; piece++) {
        const char *from = is_cut ? "left" : "0", *to = is_cut ? "right" : "count";
        bool is_ahead = e->in_groups && e->plan.n_passes > 1 && !e->f->is_lined && piece == 0;
        if (is_ahead) {
            line(e, "for (int64_t i0 = %s, i1; i0 < %s; i0 = i1) {", from, to);
            line(e, "i1 = is_far && %s - i0 > FUSED_AHEAD ? i0 + FUSED_AHEAD : %s;", to, to);
            put_ahead(e, pass);
            from = "i0", to = "i1";
        }
        line(e, "#pragma GCC ivdep");
        line(e, "for (int64_t i = %s; i < %s; i++) {", from, to);
        put_piece(e, pass, piece);
        line(e, "}");
        if (is_ahead) line(e, "}");
    }
    if (is_cut) line(e, "}");
}

/* Element `index` of a row: as the loop of the pass would compute it. */
static void put_pick(Emit *e, int i, int pass) {
    const FuseNode *n = &e->f->node[i];
    FuseRef from = n->in[0];
    memset(e->needs, 0, sizeof e->needs);
    memset(e->needs_input, 0, sizeof e->needs_input);
    if (fuse_is_input(from))
        e->needs_input[from - FUSE_INPUT] = true;
    else
        e->needs[from] = true;
    e->picks = true;
    spread_needs(e, pass);
    line(e, "%s e%d;", held(dtype_of(e, from)), i);
    line(e, "{");
    line(e, "const int64_t at = fused_index(A, (int64_t)%s, n), i = 0;",
         name_of(e, n->in[1], true).text);
    put_pointers(e, pass);
    e->n_pieces = 1;
    memset(e->piece, 0, sizeof e->piece);
    put_piece(e, pass, 0);
    line(e, "e%d = %s;", i, name_of(e, from, false).text);
    line(e, "(void)at, (void)i;");
    line(e, "}");
    e->picks = false;
    char text[16];
    snprintf(text, sizeof text, "e%d", i);
    put_value(e, i, NULL, text);
}

/* The loop over elements [from, to) of the row. */
static void put_loop(Emit *e, int pass) {
    const Fuse *f = e->f;
    if (!find_needs(e, pass)) return;
    if (f->is_lined) {
        line(e, "FusedWalk lines;");
        line(e, "fused_seek(&lines, &A->inner, %d, from / A->line);", f->n_inputs);
        line(e, "int64_t at = from, skip = from %% A->line, count;");
        line(e, "for (; at < to; at += count, skip = 0) {");
        line(e, "count = A->line - skip < to - at ? A->line - skip : to - at;");
    } else {
        line(e, "{");
        line(e, "const int64_t at = from, count = to - from;");
    }
    put_pointers(e, pass);
    put_pieces(e, pass);
    if (f->is_lined) line(e, "fused_next(&lines, &A->inner, %d);", f->n_inputs);
    line(e, "}");
}

/* Where the elements of block `block` begin that reduction i folds; g: of which row of a group. */
static void fold_source(const Emit *e, int i, int g, char *to, size_t size) {
    FuseRef r = e->f->node[i].in[0];
    const char *type = emit_ctype(dtype_of(e, r));
    if (e->plan.is_chunked[i])
        snprintf(to, size, "C%d + %d * FUSED_BLOCK", i, g);
    else if (fuse_is_input(r))
        snprintf(to, size, "(const %s *)B%d[%d] + from", type, r - FUSE_INPUT, g);
    else if (e->f->node[r].is_stored)
        snprintf(to, size, "(const %s *)A->out[%d] + N[%d] * n + from", type,
                 e->f->node[r].output, g);
    else
        snprintf(to, size, "K%d + %d * stride + from", r, g);
}
/* The accumulators of the block; is_grouped: of GROUP rows at once where there are so many. */
static void put_folds(Emit *e, int pass, bool is_grouped) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        if (!folds_in(e, i, pass)) continue;
        const char *acc = accumulator(e, i);
        Name name = kernel_of(e, i);
        const char *kernel = name.text;
        char from[4][96];
        for (int g = 0; g < 4; g++) fold_source(e, i, g, from[g], sizeof from[g]);
        if (is_grouped) {
            const char *type = held(dtype_of(e, e->f->node[i].in[0]));
            line(e, "if (group == 4) {");
            line(e, "const %s *const x[4] = {%s, %s,", type, from[0], from[1]);
            line(e, "    %s, %s};", from[2], from[3]);
            line(e, "%s *const t[4] = {T%d + block, T%d + blocks + block,", acc, i, i);
            line(e, "    T%d + 2 * blocks + block,", i);
            line(e, "    T%d + 3 * blocks + block};", i);
            line(e, "%s_four(to - from, x, t);", kernel);
            line(e, "} else");
        }
        line(e, "T%d[block] = %s_row(to - from, %s);", i, kernel, from[0]);
    }
}
static bool has_folds(const Emit *e, int pass) {
    for (int i = 0; i < e->f->n_nodes; i++)
        if (folds_in(e, i, pass)) return true;
    return false;
}

/* ---- Rows ---- */

static bool is_row_value(const Emit *e, int i) {
    return e->f->node[i].is_row && !e->f->node[i].is_column && e->plan.is_used[i];
}
static bool folds_rows(const Emit *e, int i) { /* into one accumulator per lane, or column */
    const FuseNode *n = &e->f->node[i];
    return n->is_column && op_info[n->op].class_ == CLASS_REDUCE && e->plan.is_used[i];
}
static bool is_total(const Emit *e, int i) {
    return e->f->node[i].is_row && e->f->node[i].is_column && e->plan.is_used[i];
}
/* Row values that are there before the pass, and not before the one before it; those that are
 * stored, and, for rows in groups, into their arrays. */
static void put_row_values(Emit *e, int pass, bool stores, bool is_grouped) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        if (is_total(e, i) && folds_rows(e, i) && e->plan.pass[i] == pass)
            line(e, "*l%d = %s_op(*l%d, %s);", i, kernel_of(e, i).text, i,
                 name_of(e, n->in[0], true).text);
        if (!is_row_value(e, i) || e->plan.pass[i] != pass) continue;
        if (is_reduce(n)) {
            char text[48];
            snprintf(text, sizeof text, "%s_tree(T%d%s, blocks)", kernel_of(e, i).text, i,
                     is_grouped ? " + g * blocks" : "");
            put_value(e, i, NULL, text);
        } else if (n->op == OP_GATHER) {
            put_pick(e, i, pass);
        } else {
            put_map(e, i);
        }
        if (n->is_stored && stores)
            line(e, "((%s *)A->out[%d])[row] = %sr%d;", emit_ctype(n->dtype), n->output,
                 dtype_is_half((DType)n->dtype) ? "h_" : "", i);
        if (is_grouped) line(e, "R%d[g] = r%d;", i, i);
    }
}
/* The inputs that row values need. */
static void put_row_inputs(Emit *e) {
    const Fuse *f = e->f;
    for (int k = 0; k < f->n_inputs; k++) {
        bool is_used = false;
        for (int i = 0; i < f->n_nodes; i++)
            for (int j = 0; j < f->node[i].n_in; j++)
                is_used |= ((is_row_value(e, i) && !is_reduce(&f->node[i])) ||
                            (is_total(e, i) && folds_rows(e, i))) &&
                           f->node[i].in[j] == FUSE_INPUT + k;
        if (!is_used) continue;
        e->last_use[k] = NEVER_OVER;
        DType d = f->input[k].type.dtype;
        char text[48];
        snprintf(text, sizeof text, "*(const %s *)b%d", emit_ctype(d), k);
        bytes_printf(e->out, "%*sconst %s y%d = ", 4 * e->depth, "", held(d), k);
        put_widened(e, d, text);
        bytes_puts(e->out, ";\n");
    }
}
/* Where each input's row begins: B, one or a group of them. */
static void put_bases(Emit *e, const char *group) {
    for (int k = 0; k < e->f->n_inputs; k++)
        line(e, "B%d[%s] = A->in[%d] + rows.offset[%d];", k, group, k, k);
}
static void put_base_names(Emit *e, const char *group) {
    for (int k = 0; k < e->f->n_inputs; k++)
        line(e, "const char *const b%d = B%d[%s];", k, k, group);
}

/* ---- Functions ---- */

static void put_head(Emit *e, const char *name) {
    const Fuse *f = e->f;
    line(e, "static void FUSED(%s)(const FusedArgs *A, int64_t begin, int64_t end, "
            "char *scratch) {", name);
    line(e, "const int64_t n = A->n, blocks = A->blocks;");
    for (int k = 0; k < f->n_scalars; k++) {
        line(e, "%s s%d;", emit_ctype(f->scalar[k]), k);
        line(e, "__builtin_memcpy(&s%d, A->scalar[%d], sizeof s%d);", k, k, k);
    }
    for (int k = 0; k < f->n_inputs; k++)
        if (f->lies[k] == LIES_APART) line(e, "const int64_t d%d = A->step[%d];", k, k);
    line(e, "const int64_t zero = A->zero;");
    line(e, "(void)n, (void)blocks, (void)scratch, (void)zero;");
}

/* Takes the pieces of scratch memory, for `group` rows at a time; returns their fixed bytes,
 * *per_element the others. */
static int64_t put_scratch(Emit *e, int group, int64_t *per_element) {
    const Fuse *f = e->f;
    int64_t bytes = 0;
    *per_element = 0;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!e->plan.is_used[i]) continue;
        if (is_reduce(n) && e->plan.is_chunked[i]) {
            DType d = dtype_of(e, n->in[0]);
            line(e, "%s *const C%d = (%s *)scratch;", held(d), i, held(d));
            line(e, "scratch += %d * FUSED_BLOCK;", group * held_size(d));
            bytes += group * held_size(d) * FUSED_BLOCK;
        }
        if (e->plan.is_kept[i]) {
            line(e, "%s *const K%d = (%s *)scratch;", held(n->dtype), i, held(n->dtype));
            line(e, "scratch += %d * stride * group_max;", held_size(n->dtype));
            *per_element += held_size(n->dtype);
            bytes += 64 * group * held_size(n->dtype);
        }
        if (is_reduce(n) && group > 1) {
            line(e, "%s *const T%d = (%s *)scratch;", accumulator(e, i), i, accumulator(e, i));
            line(e, "scratch += 8 * blocks * %d;", group);
        }
    }
    return bytes;
}
static void put_tables(Emit *e) {
    int k = 0;
    for (int i = 0; i < e->f->n_nodes; i++)
        if (is_reduce(&e->f->node[i]) && e->plan.is_used[i])
            line(e, "%s *const T%d = (%s *)(A->table + (%d * A->rows + row) * blocks * 8);",
                 accumulator(e, i), i, accumulator(e, i), k++);
}
static void put_chunk_names(Emit *e, const char *group) {
    for (int i = 0; i < e->f->n_nodes; i++)
        if (is_reduce(&e->f->node[i]) && e->plan.is_used[i] && e->plan.is_chunked[i])
            line(e, "%s *const c%d = C%d%s;", held(dtype_of(e, e->f->node[i].in[0])), i, i, group);
}

static void put_elements(Emit *e, int64_t *scratch, int64_t *per_element) {
    put_head(e, "run");
    *scratch = put_scratch(e, 1, per_element);
    line(e, "const int64_t row = 0, from = begin, to = end;");
    for (int k = 0; k < e->f->n_inputs; k++) line(e, "const char *const b%d = A->in[%d];", k, k);
    put_loop(e, 0);
    line(e, "}");
}

static void put_block(Emit *e, bool has_pass) {
    put_bases(e, "0");
    put_base_names(e, "0");
    put_row_inputs(e);
    put_tables(e);
    if (!has_pass) return;
    line(e, "const int64_t from = block * FUSED_BLOCK;");
    line(e, "const int64_t to = n - from < FUSED_BLOCK ? n : from + FUSED_BLOCK, N[1] = {row};");
    line(e, "(void)N;");
    put_chunk_names(e, "");
    put_row_values(e, 0, false, false);
    put_loop(e, 0);
    put_folds(e, 0, false);
}
static void put_walk(Emit *e, const char *from, int group) {
    line(e, "FusedWalk rows;");
    line(e, "fused_seek(&rows, &A->outer, %d, %s);", e->f->n_inputs, from);
    for (int k = 0; k < e->f->n_inputs; k++) line(e, "const char *B%d[%d];", k, group);
}
static void put_blocks(Emit *e, int64_t *scratch, int64_t *per_element) {
    put_head(e, "run");
    *scratch = put_scratch(e, 1, per_element);
    line(e, "int64_t row = begin / blocks, block = begin %% blocks;");
    put_walk(e, "row", 1);
    line(e, "for (int64_t unit = begin; unit < end; unit++) {");
    put_block(e, true);
    line(e, "if (++block < blocks) continue;");
    line(e, "block = 0, row++;");
    line(e, "fused_next(&rows, &A->outer, %d);", e->f->n_inputs);
    line(e, "}");
    line(e, "}");
    put_head(e, "finish");
    put_walk(e, "begin", 1);
    line(e, "for (int64_t row = begin; row < end; row++) {");
    put_block(e, false);
    put_row_values(e, 0, true, false);
    put_row_values(e, 1, true, false);
    line(e, "fused_next(&rows, &A->outer, %d);", e->f->n_inputs);
    line(e, "}");
    line(e, "}");
}

/* The accumulators of row g of the group, over the rows. */
static void put_lane_names(Emit *e) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        if (folds_rows(e, i))
            line(e, "%s *const l%d = L%d + (N[g] - top) %% FUSED_LANE_COUNT%s;", accumulator(e, i),
                 i, i, n->is_row ? "" : " * n");
    }
}
/* Row values before pass 0 (pass -1), or the elements of a pass and the row values behind it, for
 * one row g of the group. */
static void put_one_row(Emit *e, int pass, bool is_values) {
    const Fuse *f = e->f;
    line(e, "for (int g = 0; g < group; g++) {");
    line(e, "const int64_t row = N[g];");
    put_base_names(e, "g");
    put_row_inputs(e);
    for (int i = 0; i < f->n_nodes; i++) {
        if (is_row_value(e, i) && e->plan.pass[i] <= pass)
            line(e, "const %s r%d = R%d[g];", held(f->node[i].dtype), i, i);
        if (e->plan.is_kept[i])
            line(e, "%s *const k%d = K%d + g * stride;", held(f->node[i].dtype), i, i);
    }
    put_lane_names(e);
    line(e, "(void)row;");
    if (is_values) {
        put_row_values(e, pass + 1, true, true);
    } else {
        put_chunk_names(e, " + g * FUSED_BLOCK");
        put_loop(e, pass);
    }
    line(e, "}");
}
/* The passes over rows N[0 .. group - 1], which begin at B. */
static void put_passes(Emit *e) {
    put_one_row(e, -1, true);
    for (int pass = 0; pass < e->plan.n_passes; pass++) {
        if (has_folds(e, pass)) {
            line(e, "for (int64_t block = 0; block < blocks; block++) {");
            line(e, "const int64_t from = block * FUSED_BLOCK;");
            line(e, "const int64_t to = n - from < FUSED_BLOCK ? n : from + FUSED_BLOCK;");
        } else {
            line(e, "{");
            line(e, "const int64_t from = 0, to = n;");
        }
        put_one_row(e, pass, false);
        put_folds(e, pass, true);
        line(e, "}");
        put_one_row(e, pass, true);
    }
}
/* What the passes over a row touch per element. */
static int row_bytes(const Emit *e) {
    int bytes = 0;
    for (int k = 0; k < e->f->n_inputs; k++)
        if (e->f->lies[k] != LIES_STILL)
            bytes += dtype_info[e->f->input[k].type.dtype].size_bytes;
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        bool is_wide = !n->is_row && !n->is_column;
        if (is_wide && n->is_stored) bytes += dtype_info[n->dtype].size_bytes;
        if (e->plan.is_kept[i]) bytes += held_size(n->dtype);
        if (is_reduce(n) && e->plan.is_used[i] && e->plan.is_chunked[i])
            bytes += held_size(dtype_of(e, n->in[0]));
    }
    return bytes;
}
static void put_rows_head(Emit *e, int64_t *scratch, int64_t *per_element) {
    put_head(e, "run");
    line(e, "const int64_t stride = (n + 15) & ~INT64_C(15), group_max = fused_group(n, %d);",
         row_bytes(e));
    *scratch = put_scratch(e, 4, per_element);
    put_walk(e, "begin", 4);
    for (int i = 0; i < e->f->n_nodes; i++)
        if (is_row_value(e, i)) line(e, "%s R%d[4];", held(e->f->node[i].dtype), i);
    line(e, "int64_t N[4], H[4]; /* rows, and how far it is to those of the next group */");
    line(e, "const int is_far = fused_is_far(A);");
    line(e, "(void)stride, (void)is_far;");
    e->in_groups = true;
}
/* Four rows at a time where they are short: four chains of additions instead of one. */
static void put_rows(Emit *e, int64_t *scratch, int64_t *per_element) {
    put_rows_head(e, scratch, per_element);
    line(e, "int64_t first = begin, group;");
    line(e, "for (; first < end; first += group) {");
    line(e, "group = end - first < group_max ? 1 : group_max;");
    line(e, "for (int g = 0; g < group; g++) {");
    line(e, "N[g] = first + g, H[g] = group;");
    put_bases(e, "g");
    line(e, "fused_next(&rows, &A->outer, %d);", e->f->n_inputs);
    line(e, "}");
    put_passes(e);
    line(e, "}");
    line(e, "}");
}

/* L: the accumulators over the rows, of lanes from `unit` on. */
static void put_lane_tables(Emit *e, const char *unit) {
    int columns = 0, totals = 0, all = 0;
    for (int i = 0; i < e->f->n_nodes; i++)
        all += e->f->node[i].is_column && !e->f->node[i].is_row && e->plan.is_used[i];
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        if (!folds_rows(e, i)) continue;
        if (n->is_row)
            line(e, "%s *const L%d = (%s *)(A->table + 8 * lanes * (%d * n + %d)) + %s;",
                 accumulator(e, i), i, accumulator(e, i), all, totals++, unit);
        else
            line(e, "%s *const L%d = (%s *)(A->table + 8 * lanes * %d * n) + %s * n;",
                 accumulator(e, i), i, accumulator(e, i), columns++, unit);
    }
}
/* What is folded from row values, and computed from that. */
static void put_totals(Emit *e) {
    const Fuse *f = e->f;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!is_total(e, i)) continue;
        for (int j = 0; j < n->n_in; j++) {
            int k = n->in[j] - FUSE_INPUT;
            if (folds_rows(e, i) || !fuse_is_input(n->in[j]) || e->needs_input[k]) continue;
            e->needs_input[k] = true; /* said */
            char text[48];
            DType d = f->input[k].type.dtype;
            snprintf(text, sizeof text, "*(const %s *)A->in[%d]", emit_ctype(d), k);
            bytes_printf(e->out, "%*sconst %s y%d = ", 4 * e->depth, "", held(d), k);
            put_widened(e, d, text);
            bytes_puts(e->out, ";\n");
        }
        if (folds_rows(e, i)) {
            char text[64];
            line(e, "%s_lanes(L%d, A->rows, 1, 0, 1);", kernel_of(e, i).text, i);
            snprintf(text, sizeof text, "L%d[0]", i);
            put_value(e, i, NULL, text);
        } else {
            put_map(e, i);
        }
        if (n->is_stored)
            line(e, "*(%s *)A->out[%d] = %sr%d;", emit_ctype(n->dtype), n->output,
                 dtype_is_half((DType)n->dtype) ? "h_" : "", i);
    }
}
/* The rows of some lanes of a block, in order. */
static void put_lanes(Emit *e, int64_t *scratch, int64_t *per_element) {
    const Fuse *f = e->f;
    put_rows_head(e, scratch, per_element);
    line(e, "const int64_t lanes = fused_lanes(A);");
    line(e, "for (int64_t unit = begin, width; unit < end; unit += width) {");
    line(e, "const int64_t low = unit %% FUSED_LANE_COUNT, top = unit / FUSED_LANE_COUNT * "
            "FUSED_BLOCK;");
    line(e, "width = FUSED_LANE_COUNT - low < end - unit ? FUSED_LANE_COUNT - low : end - unit;");
    line(e, "const int64_t height = A->rows - top < FUSED_BLOCK ? A->rows - top : FUSED_BLOCK;");
    line(e, "const int64_t count = fused_lane_rows(height, low, width);");
    put_lane_tables(e, "(unit - low)");
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!folds_rows(e, i)) continue;
        const char *per = n->is_row ? "" : " * n";
        line(e, "for (int64_t i = low%s; i < (low + width)%s; i++) L%d[i] = %s_init();", per, per,
             i, kernel_of(e, i).text);
    }
    line(e, "for (int64_t first = 0, group; first < count; first += group) {");
    line(e, "group = count - first < group_max ? 1 : group_max;");
    line(e, "for (int g = 0; g < group; g++) {");
    line(e, "const int64_t i = first + g, next = i + group;");
    line(e, "N[g] = top + i / width * FUSED_LANE_COUNT + low + i %% width;");
    line(e, "H[g] = top + next / width * FUSED_LANE_COUNT + low + next %% width - N[g];");
    line(e, "fused_seek(&rows, &A->outer, %d, N[g]);", f->n_inputs);
    put_bases(e, "g");
    line(e, "}");
    put_passes(e);
    line(e, "}");
    line(e, "}");
    line(e, "}");
    put_head(e, "finish");
    line(e, "const int64_t lanes = fused_lanes(A);");
    put_lane_tables(e, "0");
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (n->is_row || !folds_rows(e, i)) continue;
        line(e, "%s_lanes(L%d, A->rows, n, begin, end);", kernel_of(e, i).text, i);
        line(e, "for (int64_t i = begin; i < end; i++) {");
        char text[24];
        snprintf(text, sizeof text, "L%d[i]", i);
        put_value(e, i, NULL, text);
        line(e, "((%s *)A->out[%d])[i] = %sv%d;", emit_ctype(n->dtype), n->output,
             dtype_is_half((DType)n->dtype) ? "h_" : "", i);
        line(e, "}");
    }
    line(e, "if (begin) return;");
    memset(e->needs_input, 0, sizeof e->needs_input);
    put_totals(e);
    line(e, "}");
}

/* ---- The whole ---- */

static void put_summary(Emit *e) {
    const Fuse *f = e->f;
    static const char *const lies[] = {"one value", "side by side", "apart"};
    bytes_printf(e->out, "/* %d ops", f->n_nodes);
    for (int k = 0; k < f->n_inputs; k++)
        bytes_printf(e->out, "\n * x%d: %s, %s", k, dtype_info[f->input[k].type.dtype].text,
                     lies[f->lies[k]]);
    for (int k = 0; k < f->n_scalars; k++)
        bytes_printf(e->out, "\n * s%d: %s", k, dtype_info[f->scalar[k]].text);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        bytes_printf(e->out, "\n * %s = %s", name_of(e, i, false).text, op_info[n->op].name);
        for (int k = 0; k < n->n_in; k++)
            bytes_printf(e->out, " %s", name_of(e, n->in[k], false).text);
        bytes_printf(e->out, " -> %s%s%s", dtype_info[n->dtype].text,
                     n->is_column ? ", over the rows" : "", n->is_stored ? ", stored" : "");
    }
    bytes_puts(e->out, " */\n");
}

static void put_reductions(Emit *e) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        if (op_info[n->op].class_ != CLASS_REDUCE) continue;
        Name k = kernel_of(e, i);
        line(e, "#ifndef HAVE_%s", k.text);
        line(e, "#define HAVE_%s", k.text);
        emit_reduce(e->out, n->op, fuse_computes(dtype_of(e, n->in[0])));
        line(e, "#endif");
    }
}

void emit_cluster(Bytes *out, const Fuse *f) {
    _Static_assert((int)FUSED_BLOCK == 4096 && (int)FUSED_RANK == MAX_DIMS, "fused.h");
    Emit e = {.f = f, .out = out};
    fuse_plan(f, &e.plan);
    put_summary(&e);
    put_reductions(&e);
    int64_t scratch = 0, per_element = 0;
    FusedUnit unit = e.plan.has_columns     ? FUSED_LANES
                     : !f->trailing         ? FUSED_ELEMENTS
                     : e.plan.has_reduce && e.plan.n_passes == 1 ? FUSED_BLOCKS
                                                                  : FUSED_ROWS;
    static void (*const put[])(Emit *, int64_t *, int64_t *) = {put_elements, put_blocks, put_rows,
                                                                put_lanes};
    static const char *const unit_name[] = {"FUSED_ELEMENTS", "FUSED_BLOCKS", "FUSED_ROWS",
                                            "FUSED_LANES"};
    put[unit](&e, &scratch, &per_element);
    int reductions = 0, columns = 0, totals = 0;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!e.plan.is_used[i]) continue;
        reductions += is_reduce(n);
        columns += n->is_column && !n->is_row;
        totals += n->is_row && folds_rows(&e, i);
    }
    bytes_puts(out, "static const unsigned char FUSED(signature)[] = {");
    for (size_t i = 0; i < f->signature_bytes; i++) bytes_printf(out, "%d,", f->signature[i]);
    bytes_puts(out, "};\nconst FusedKernel FUSED(kernel) = {\n");
    bytes_printf(out, "    .run = FUSED(run),%s .unit = %s, .reductions = %d,\n",
                 unit == FUSED_BLOCKS || unit == FUSED_LANES ? " .finish = FUSED(finish)," : "",
                 unit_name[unit], reductions);
    bytes_printf(out, "    .columns = %d, .totals = %d,\n", columns, totals);
    bytes_printf(out, "    .scratch_n = %lld, .scratch = %lld, .cost = %d, .reuse = {",
                 (long long)per_element, (long long)scratch, e.plan.cost);
    bool has_index = false; /* it may have to be done again, from the same inputs */
    for (int i = 0; i < f->n_nodes; i++)
        has_index |= f->node[i].op == OP_GATHER || f->node[i].op == OP_SCATTER_ADD;
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
                if (f->lies[j] == LIES_DENSE && e.last_use[j] <= 2 * e.plan.pass[i])
                    over |= UINT32_C(1) << j;
        }
        bytes_printf(out, "%u,", over);
    }
    bytes_puts(out, "},\n    .signature = FUSED(signature), "
                    ".signature_bytes = sizeof FUSED(signature)};\n");
}
