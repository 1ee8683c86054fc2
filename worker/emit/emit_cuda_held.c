/* emit_cuda_held.c: CUDA C of fusions with reductions along rows, for rows that fit into shared
 * memory: each operand is read once, and what one pass computes for a later one is kept.
 *
 * A group of blockDim.x threads, a power of two from 16 to 256, computes a row; a block has
 * blockDim.y groups. A thread has every blockDim.x-th element, the same ones in all passes. What
 * lives from one pass to the next, and what is folded, has a slot: shared memory for the row.
 * Values that do not live at the same time share one. A pass goes over its elements; then for each
 * block of each fold 16 threads, one for each lane, fold the slot in ascending order, so that the
 * bits are those of kernel_reduce.h.
 *
 * Where all rows are aligned (args.is_far), a thread has four adjacent elements at each turn, and
 * reads and writes them at once.
 *
 * Names besides those of emit_pass.h: t the thread in its group, m the elements of the group's row,
 * S a slot as the row of a value, T accumulators of a fold's blocks, Y a stored
 * value's row; in a turn of four elements u those of an input, q those of a slot, w what goes to a
 * slot, o what is stored.
 * SPDX-License-Identifier: MIT */
#include "worker/emit/emit_cuda.h"
#include <stdio.h>
#include <string.h>

/* Values: the nodes, then the inputs. */
enum { VALUES = FUSE_NODES + FUSED_INPUTS, NEVER = -1 };

typedef struct Held {
    /* Passes: the first and last that has the value, the last that folds it; or NEVER. */
    int first[VALUES], last[VALUES], folded[VALUES];
    bool has_slot[VALUES];
    int at[VALUES]; /* bytes of the slots before its own, per element */
    int bytes;      /* of all slots, per element */
    int folds;
    bool has_quads;           /* the loops have a form for four elements at a time */
    bool is_free[FUSE_NODES]; /* folds whose order is free: see is_free_fold */
    int frees;
} Held;

static int value_of(FuseRef r) { return r; } /* FUSE_INPUT is FUSE_NODES */

static DType dtype_of(const Emit *e, int v) {
    return (DType)(v < FUSE_INPUT ? e->f->node[v].dtype : e->f->input[v - FUSE_INPUT].type.dtype);
}
/* An input with one value per row, in a register. */
static bool is_steady(const Emit *e, int k) {
    return !e->f->is_lined && e->f->stride_kind[k] == STRIDE_ZERO;
}

static void see(Held *h, int v, int pass) {
    if (h->first[v] == NEVER) h->first[v] = pass;
    h->last[v] = pass;
}
static void find_lives(Emit *e, Held *h) {
    const Fusion *f = e->f;
    for (int v = 0; v < VALUES; v++) h->first[v] = h->last[v] = h->folded[v] = NEVER;
    for (int pass = 0; pass < e->plan.n_passes; pass++) {
        pass_find_needs(e, pass);
        for (int k = 0; k < f->n_inputs; k++)
            if (e->needs_input[k]) see(h, FUSE_INPUT + k, pass);
        for (int i = 0; i < f->n_nodes; i++) {
            const FuseNode *n = &f->node[i];
            if (pass_loads(e, i, pass) && e->needs[i]) see(h, i, pass);
            if (pass_writes(e, i, pass)) see(h, i, pass);
            if (!pass_folds(e, i, pass)) continue;
            see(h, value_of(n->in[0]), pass);
            h->folded[value_of(n->in[0])] = pass;
            h->folds++;
        }
    }
    for (int v = 0; v < VALUES; v++) {
        bool lives = h->last[v] > h->first[v];
        if (v >= FUSE_INPUT && v - FUSE_INPUT < f->n_inputs && is_steady(e, v - FUSE_INPUT))
            lives = false;
        h->has_slot[v] = lives || h->folded[v] != NEVER;
    }
}

/* True if value v may use the slot of w: not at the same time. In the pass that reads w last, a
 * thread reads its element before it writes that of v. */
static bool may_follow(const Held *h, int v, int w) {
    if (h->last[w] < h->first[v]) return true;
    return v < FUSE_INPUT && h->last[w] == h->first[v] && h->folded[w] != h->last[w] &&
           h->first[w] < h->last[w];
}
static void find_slots(const Emit *e, Held *h) {
    struct {
        int size, holder[VALUES], n;
    } slot[VALUES];
    int n = 0, of[VALUES];
    for (int pass = 0; pass < e->plan.n_passes; pass++)
        for (int order = 0; order < VALUES; order++) {
            int v =
                order < FUSED_INPUTS ? FUSE_INPUT + order : order - FUSED_INPUTS; /* inputs first */
            if (!h->has_slot[v] || h->first[v] != pass) continue;
            int size = emit_held_size(dtype_of(e, v)), s = 0;
            for (; s < n; s++) {
                bool fits = slot[s].size == size;
                for (int k = 0; k < slot[s].n && fits; k++)
                    fits = may_follow(h, v, slot[s].holder[k]);
                if (fits) break;
            }
            if (s == n) slot[n].size = size, slot[n++].n = 0;
            slot[s].holder[slot[s].n++] = v;
            of[v] = s;
        }
    for (int v = 0; v < VALUES; v++) {
        h->at[v] = 0;
        for (int s = 0; h->has_slot[v] && s < of[v]; s++) h->at[v] += slot[s].size;
    }
    for (int s = 0; s < n; s++) h->bytes += slot[s].size;
}

/* An input whose rows may be one and the same, as a layer's weights are. It is read in one pass, so
 * it has no slot, but the block may have it in shared memory for all its rows. */
static bool may_be_fixed(const Emit *e, const Held *h, int k) {
    return !e->f->is_lined && e->f->stride_kind[k] == STRIDE_ONE && !h->has_slot[FUSE_INPUT + k] &&
           h->first[FUSE_INPUT + k] != NEVER;
}

/* Values of at most 4 bytes, adjacent along the row. The compiler unrolls the loop over the four,
 * so that what each element costs is bounded. */
static bool has_quads(const Emit *e, const Held *h) {
    enum { HEAVY = 40, QUAD_BYTES = sizeof(float) };
    const Fusion *f = e->f;
    if (f->is_lined || e->plan.cost > HEAVY) return false;
    for (int v = 0; v < FUSE_INPUT + f->n_inputs; v++) {
        if (v >= f->n_nodes && v < FUSE_INPUT) continue;
        if (h->first[v] == NEVER) continue;
        if (emit_held_size(dtype_of(e, v)) > QUAD_BYTES) return false;
        if (v >= FUSE_INPUT && f->stride_kind[v - FUSE_INPUT] == STRIDE_OTHER) return false;
    }
    return true;
}

/* A maximum or minimum of float32 is the same in any order, but for the sign of a 0. So each thread
 * folds its elements where it computes them, by one instruction each. Only if 0 comes out is the
 * row folded again, in order. */
static bool is_free_fold(const Emit *e, const Held *h, int i) {
    const FuseNode *n = &e->f->node[i];
    int pass = e->plan.pass[i] - 1;
    return fuse_is_reduce(n) && e->plan.is_used[i] && (n->op == OP_MAX || n->op == OP_MIN) &&
           fuse_computes(emit_dtype(e, n->in[0])) == DT_F32 && h->first[value_of(n->in[0])] == pass;
}

static void find_held(Emit *e, Held *h) {
    memset(h, 0, sizeof *h);
    fuse_plan(e->f, &e->plan);
    for (int i = 0; i < e->f->n_nodes; i++) e->plan.is_chunked[i] = true;
    find_lives(e, h);
    find_slots(e, h);
    h->has_quads = has_quads(e, h);
    for (int i = 0; i < e->f->n_nodes; i++) h->frees += h->is_free[i] = is_free_fold(e, h, i);
}

void emit_cuda_held_form(const Fusion *f, CudaForm *form) {
    Emit e = {.f = f};
    Held h;
    find_held(&e, &h);
    form->held_bytes = h.bytes;
    form->held_folds = h.folds;
    form->held_frees = h.frees;
    for (int k = 0; k < f->n_inputs; k++)
        if (may_be_fixed(&e, &h, k)) form->fixed[k] = dtype_info[f->input[k].type.dtype].size_bytes;
    form->has_quads = h.has_quads;
    for (int k = 0; k < f->n_inputs && h.has_quads; k++)
        if (h.first[FUSE_INPUT + k] != NEVER && f->stride_kind[k] == STRIDE_ONE)
            form->quad_in[k] = 4 * dtype_info[f->input[k].type.dtype].size_bytes;
    for (int i = 0; i < f->n_nodes && h.has_quads; i++) {
        const FuseNode *n = &f->node[i];
        if (n->is_stored && !n->is_row && !n->is_column)
            form->quad_out[n->output] = 4 * dtype_info[n->dtype].size_bytes;
    }
}

/* ---- The kernel ---- */

static void put_slots(Emit *e, const Held *h) {
    int fold = 0, own = 0;
    for (int v = 0; v < VALUES; v++) {
        if (!h->has_slot[v]) continue;
        const char *type = emit_held(dtype_of(e, v));
        if (v < FUSE_INPUT)
            emit_line(e, "%s *const Sv%d = (%s *)(mine + %d * pitch);", type, v, type, h->at[v]);
        else
            emit_line(e, "%s *const Sx%d = (%s *)(mine + %d * pitch);", type, v - FUSE_INPUT, type,
                      h->at[v]);
    }
    for (int i = 0; i < e->f->n_nodes; i++)
        if (fuse_is_reduce(&e->f->node[i]) && e->plan.is_used[i])
            emit_line(e, "%s *const T%d = (%s *)(mine + %d * pitch + %d * 8 * blocks);",
                      emit_lane_type(e, i), i, emit_lane_type(e, i), h->bytes, fold++);
    for (int i = 0; i < e->f->n_nodes; i++)
        if (h->is_free[i])
            emit_line(e,
                      "float *const F%d = (float *)after + %d * CUDA_THREADS + threadIdx.y * wide;",
                      i, own++);
}

/* P: an input that all rows share, in shared memory. */
static void put_fixed(Emit *e, const Held *h) {
    bool has_any = false;
    for (int k = 0; k < e->f->n_inputs; k++) {
        const char *type = emit_ctype((DType)e->f->input[k].type.dtype);
        if (!may_be_fixed(e, h, k)) continue;
        if (!has_any) emit_line(e, "char *place = after + %d * 4 * CUDA_THREADS;", h->frees);
        has_any = true;
        emit_line(e, "%s *const P%d = (%s *)place;", type, k, type);
        emit_line(e, "if (A->is_far >> %d & 1) {", k);
        emit_line(e, "place += pitch * (int)sizeof(%s);", type);
        emit_line(e, "for (int i = threadIdx.y * wide + t; i < (int)n; i += wide * blockDim.y)");
        emit_line(e, "    P%d[i] = ((const %s *)A->in[%d])[i];", k, type, k);
        emit_line(e, "}");
    }
    if (has_any) emit_line(e, "__syncthreads();");
}

/* Of a row: where its stored values go, and the inputs that do not change along it. */
static void put_row(Emit *e, const Held *h) {
    const Fusion *f = e->f;
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (n->is_stored && !n->is_row)
            emit_line(e, "%s *const Y%d = (%s *)A->out[%d] + row * n;", emit_ctype(n->dtype), i,
                      emit_ctype(n->dtype), n->output);
    }
    for (int k = 0; k < f->n_inputs; k++) {
        char where[16];
        snprintf(where, sizeof where, "b%d", k);
        if (is_steady(e, k) && h->first[FUSE_INPUT + k] != NEVER) emit_input(e, 'x', k, where);
    }
}

/* Row values that the pass before made known. */
static void put_row_values(Emit *e, const Held *h, int pass) {
    const Fusion *f = e->f;
    for (int i = 0; i < f->n_nodes && f->args.blocks != 1; i++)
        if (emit_is_row_value(e, i) && e->plan.pass[i] == pass && fuse_is_reduce(&f->node[i]) &&
            !h->is_free[i])
            emit_line(e, "if (t == 0 && has) %s_tree(T%d, blocks);", emit_kernel(e, i).text, i);
    if (pass && f->args.blocks != 1) emit_line(e, "__syncthreads();");
    bool is_last = pass == e->plan.n_passes; /* its values are only stored */
    if (is_last) emit_line(e, "if (t == 0 && has) {");
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        char text[64];
        if (!emit_is_row_value(e, i) || e->plan.pass[i] != pass) continue;
        snprintf(text, sizeof text, "has ? *T%d : %s_init()", i, emit_kernel(e, i).text);
        if (n->op == OP_GATHER)
            cuda_put_pick(e, i);
        else
            emit_value(e, i, fuse_is_reduce(n) ? text : NULL);
        if (n->is_stored)
            emit_line(e, "if (t == 0 && has) ((%s *)A->out[%d])[row] = %sr%d;",
                      emit_ctype(n->dtype), n->output, dtype_is_half((DType)n->dtype) ? "h_" : "",
                      i);
    }
    cuda_put_totals(e, pass);
    if (is_last) emit_line(e, "}");
}

/* ---- Loops over the elements of a row, one at a time or four ---- */

/* Writes the loop's beginning. unroll: of loads, so that several are under way. */
static void put_each(Emit *e, int unroll) {
    emit_line(e, "#pragma unroll %d", unroll);
    emit_line(e, "for (int i = t; i < m; i += wide) {");
}
static void put_each_quad(Emit *e) {
    emit_line(e, "#pragma unroll 1");
    emit_line(e, "for (int q = t; q < turns; q += wide) {");
}
static void put_quad_elements(Emit *e) {
    emit_line(e, "#pragma unroll");
    emit_line(e, "for (int l = 0; l < 4; l++) {");
    emit_line(e, "const int i = 4 * q + l;");
    emit_line(e, "(void)i;");
}
/* The elements of the inputs of e->needs_input that the loop reads where they lie. */
static void put_inputs(Emit *e, bool is_quad) {
    if (!is_quad) cuda_put_inputs(e);
    for (int k = 0; k < e->f->n_inputs && is_quad; k++) {
        char where[24];
        snprintf(where, sizeof where, "(u%d.at + l)", k);
        if (e->needs_input[k]) emit_input(e, 'x', k, where);
    }
}
static void put_quad_inputs(Emit *e) {
    for (int k = 0; k < e->f->n_inputs; k++) {
        const char *type = emit_ctype((DType)e->f->input[k].type.dtype);
        if (e->needs_input[k])
            emit_line(e, "const Wide<%s, 4> u%d = quad_load((const %s *)b%d + 4 * q);", type, k,
                      type, k);
    }
}

/* of_inputs: the operands are inputs, which are staged; else what the loop computes. */
static void put_free_folds(Emit *e, const Held *h, int pass, bool of_inputs) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        FuseRef r = e->f->node[i].in[0];
        if (h->is_free[i] && pass_folds(e, i, pass) && fuse_is_input(r) == of_inputs)
            emit_line(e, "f%d = %s_any(f%d, %s);", i, emit_kernel(e, i).text, i,
                      emit_name(e, r, false).text);
    }
}

static bool is_staged(const Held *h, int k, int pass) {
    return h->has_slot[FUSE_INPUT + k] && h->first[FUSE_INPUT + k] == pass;
}
static void put_stage_loop(Emit *e, const Held *h, int pass, bool is_quad) {
    const Fusion *f = e->f;
    for (int k = 0; k < f->n_inputs; k++)
        e->needs_input[k] = is_staged(h, k, pass) && !is_steady(e, k);
    if (is_quad) {
        put_each_quad(e);
        put_quad_inputs(e);
        for (int k = 0; k < f->n_inputs; k++)
            if (is_staged(h, k, pass))
                emit_line(e, "Wide<%s, 4> w%d;", emit_held(dtype_of(e, FUSE_INPUT + k)), k);
        put_quad_elements(e);
    } else {
        put_each(e, f->is_lined ? 1 : 4);
    }
    put_inputs(e, is_quad);
    put_free_folds(e, h, pass, true);
    for (int k = 0; k < f->n_inputs; k++) {
        if (!is_staged(h, k, pass)) continue;
        if (is_quad)
            emit_line(e, "w%d.at[l] = x%d;", k, k);
        else
            emit_line(e, "Sx%d[i] = x%d;", k, k);
    }
    emit_line(e, "}");
    if (!is_quad) return;
    for (int k = 0; k < f->n_inputs; k++)
        if (is_staged(h, k, pass)) emit_line(e, "quad_store(Sx%d + 4 * q, w%d);", k, k);
    emit_line(e, "}");
}

/* Writes a loop of this pass in both forms. */
static void put_both(Emit *e, const Held *h, int pass,
                     void (*loop)(Emit *e, const Held *h, int pass, bool is_quad)) {
    if (h->has_quads) {
        emit_line(e, "if (has_quads) {");
        loop(e, h, pass, true);
        emit_line(e, "} else {");
    }
    loop(e, h, pass, false);
    if (h->has_quads) emit_line(e, "}");
}

/* Brings the inputs whose slots begin in this pass. */
static void put_stage(Emit *e, const Held *h, int pass) {
    bool has_any = false;
    for (int k = 0; k < e->f->n_inputs; k++) has_any |= is_staged(h, k, pass);
    if (has_any) put_both(e, h, pass, put_stage_loop);
}

/* True if a loop reads value v from its slot. */
static bool is_slot_read(const Emit *e, const Held *h, int v, int pass) {
    int k = v - FUSE_INPUT;
    if (k < 0) return v < e->f->n_nodes && e->needs[v] && pass_loads(e, v, pass);
    return k < e->f->n_inputs && e->needs_input[k] && h->has_slot[v] && !is_steady(e, k);
}
/* The element's values that are in slots. */
static void put_slot_reads(Emit *e, const Held *h, int pass, bool is_quad) {
    for (int v = 0; v < VALUES; v++) {
        char letter = v < FUSE_INPUT ? 'v' : 'x';
        int k = v < FUSE_INPUT ? v : v - FUSE_INPUT;
        if (!is_slot_read(e, h, v, pass)) continue;
        const char *type = emit_held(dtype_of(e, v));
        if (is_quad)
            emit_line(e, "const %s %c%d = q%c%d.at[l];", type, letter, k, letter, k);
        else
            emit_line(e, "const %s %c%d = S%c%d[i];", type, letter, k, letter, k);
    }
}
/* The beginning of a turn, before the loop over its four elements. */
static void put_quad_reads(Emit *e, const Held *h, int pass) {
    for (int v = 0; v < VALUES; v++) {
        char letter = v < FUSE_INPUT ? 'v' : 'x';
        int k = v < FUSE_INPUT ? v : v - FUSE_INPUT;
        if (is_slot_read(e, h, v, pass))
            emit_line(e, "const Wide<%s, 4> q%c%d = quad_load(S%c%d + 4 * q);",
                      emit_held(dtype_of(e, v)), letter, k, letter, k);
    }
    for (int k = 0; k < e->f->n_inputs; k++) {
        const char *type = emit_ctype((DType)e->f->input[k].type.dtype);
        if (e->needs_input[k] && !is_slot_read(e, h, FUSE_INPUT + k, pass) && !is_steady(e, k))
            emit_line(e, "const Wide<%s, 4> u%d = quad_load((const %s *)b%d + 4 * q);", type, k,
                      type, k);
    }
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        if (pass_writes(e, i, pass) && n->is_stored)
            emit_line(e, "Wide<%s, 4> o%d;", emit_ctype(n->dtype), i);
        if (h->has_slot[i] && h->first[i] == pass)
            emit_line(e, "Wide<%s, 4> w%d;", emit_held((DType)n->dtype), i);
    }
}
static void put_results(Emit *e, const Held *h, int pass, bool is_quad) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        const FuseNode *n = &e->f->node[i];
        const char *half = dtype_is_half((DType)n->dtype) ? "h_" : "";
        if (pass_writes(e, i, pass) && n->is_stored)
            emit_line(e, is_quad ? "o%d.at[l] = %sv%d;" : "Y%d[i] = %sv%d;", i, half, i);
        if (h->has_slot[i] && h->first[i] == pass)
            emit_line(e, is_quad ? "w%d.at[l] = v%d;" : "Sv%d[i] = v%d;", i, i);
    }
}
static void put_quad_writes(Emit *e, const Held *h, int pass) {
    for (int i = 0; i < e->f->n_nodes; i++) {
        if (pass_writes(e, i, pass) && e->f->node[i].is_stored)
            emit_line(e, "quad_store(Y%d + 4 * q, o%d);", i, i);
        if (h->has_slot[i] && h->first[i] == pass)
            emit_line(e, "quad_store(Sv%d + 4 * q, w%d);", i, i);
    }
}
static void put_pass_loop(Emit *e, const Held *h, int pass, bool is_quad) {
    enum { LIGHT = 12 };
    const Fusion *f = e->f;
    pass_find_needs(e, pass);
    if (is_quad) {
        put_each_quad(e);
        put_quad_reads(e, h, pass);
        put_quad_elements(e);
    } else {
        put_each(e, f->is_lined || e->plan.cost > LIGHT ? 1 : 4);
    }
    put_slot_reads(e, h, pass, is_quad);
    for (int k = 0; k < f->n_inputs; k++)
        if (h->has_slot[FUSE_INPUT + k] || is_steady(e, k)) e->needs_input[k] = false;
    put_inputs(e, is_quad);
    for (int i = 0; i < f->n_nodes; i++)
        if (pass_computes(e, i, pass)) emit_value(e, i, NULL);
    put_free_folds(e, h, pass, false);
    put_results(e, h, pass, is_quad);
    emit_line(e, "}");
    if (!is_quad) return;
    put_quad_writes(e, h, pass);
    emit_line(e, "}");
}
static void put_loop(Emit *e, const Held *h, int pass) {
    bool has_any = false;
    pass_find_needs(e, pass);
    for (int i = 0; i < e->f->n_nodes; i++) has_any |= e->needs[i];
    if (!has_any) return;
    cuda_put_indices(e, pass);
    put_both(e, h, pass, put_pass_loop);
}

/* The accumulators of a thread, before the loops. */
static void put_free_inits(Emit *e, const Held *h, int pass) {
    for (int i = 0; i < e->f->n_nodes; i++)
        if (h->is_free[i] && pass_folds(e, i, pass))
            emit_line(e, "float f%d = %s_init();", i, emit_kernel(e, i).text);
}
/* Writes the fold of block b by 16 threads. */
static void put_fold(Emit *e, int i) {
    FuseRef r = e->f->node[i].in[0];
    emit_line(e, "const int from = b * FUSED_BLOCK;");
    emit_line(e, "const int count = m - from < FUSED_BLOCK ? m - from : FUSED_BLOCK;");
    emit_line(e, "const %s f = %s_lanes(S%c%d + from, count, t & (LANES - 1), mask);",
              emit_lane_type(e, i), emit_kernel(e, i).text, fuse_is_node(r) ? 'v' : 'x',
              fuse_is_node(r) ? r : r - FUSE_INPUT);
    emit_line(e, "if (!(t & (LANES - 1))) T%d[b] = f;", i);
}
static void put_free_fold(Emit *e, int i, int fold) {
    EmitName k = emit_kernel(e, i);
    emit_line(e, "if (folds && folder == (%d & (folders - 1))) {", fold);
    emit_line(e, "const float f = %s_threads(F%d, wide, t & (LANES - 1), mask);", k.text, i);
    emit_line(e, "if (!(t & (LANES - 1))) *T%d = f;", i);
    emit_line(e, "for (int b = 0; f == 0 && b < blocks; b++) {");
    put_fold(e, i);
    emit_line(e, "}");
    if (e->f->args.blocks != 1)
        emit_line(e, "if (f == 0 && !(t & (LANES - 1))) %s_tree(T%d, blocks);", k.text, i);
    emit_line(e, "}");
}

static void put_folds(Emit *e, const Held *h, int pass) {
    int fold = 0;
    for (int i = 0; i < e->f->n_nodes; i++)
        if (h->is_free[i] && pass_folds(e, i, pass)) emit_line(e, "F%d[t] = f%d;", i, i);
    for (int i = 0; i < e->f->n_nodes; i++) {
        if (!pass_folds(e, i, pass)) continue;
        if (!fold) emit_line(e, "__syncthreads();");
        if (h->is_free[i]) {
            put_free_fold(e, i, fold++);
            continue;
        }
        emit_line(e,
                  "for (int b = (folder + %d) & (folders - 1); folds && b < blocks; "
                  "b += folders) {",
                  fold++);
        put_fold(e, i);
        emit_line(e, "}");
    }
    if (fold) emit_line(e, "__syncthreads();");
}

void emit_cuda_held(Emit *e, const char *name) {
    Held h;
    find_held(e, &h);
    cuda_put_rows_head(e, name);
    emit_line(e, "extern __shared__ __align__(16) char shared[];");
    emit_line(e, "const int t = threadIdx.x, wide = blockDim.x;");
    emit_line(e, "const int pitch = ((int)n + 15) & -16; /* slots and tables are aligned to 16 */");
    emit_line(e, "const int tables = (%d * 8 * (int)blocks + 15) & -16;", h.folds);
    emit_line(e, "const int folders = wide < 32 ? 1 : wide / 32, folder = t / 32;");
    emit_line(e, "const unsigned mask = 0xffffu << ((threadIdx.y * wide + t) & LANES);");
    emit_line(e, "char *const mine = shared + threadIdx.y * (%d * pitch + tables);", h.bytes);
    emit_line(e, "char *const after = shared + blockDim.y * (%d * pitch + tables);", h.bytes);
    put_slots(e, &h);
    put_fixed(e, &h);
    if (h.has_quads) emit_line(e, "const bool has_quads = A->is_far >> FUSED_INPUTS & 1;");
    emit_line(e, "const int64_t units = A->rows, step = (int64_t)gridDim.x * blockDim.y;");
    emit_line(e,
              "for (int64_t top = (int64_t)blockIdx.x * blockDim.y; top < units; top += step) {");
    emit_line(e, "const bool has = top + threadIdx.y < units;");
    emit_line(e, "const bool folds = has && (wide < 32 || !(t & LANES));");
    emit_line(e, "const int64_t row = has ? top + threadIdx.y : 0;");
    emit_line(e, "const int m = has ? (int)n : 0;");
    if (h.has_quads) emit_line(e, "const int turns = m >> 2;");
    cuda_put_bases(e);
    cuda_put_row_inputs(e);
    for (int k = 0; k < e->f->n_inputs; k++)
        if (may_be_fixed(e, &h, k))
            emit_line(e, "if (A->is_far >> %d & 1) b%d = (const char *)P%d;", k, k, k);
    put_row(e, &h);
    put_row_values(e, &h, 0);
    for (int pass = 0; pass < e->plan.n_passes; pass++) {
        emit_line(e, "{");
        put_free_inits(e, &h, pass);
        put_stage(e, &h, pass);
        put_loop(e, &h, pass);
        put_folds(e, &h, pass);
        emit_line(e, "}");
        put_row_values(e, &h, pass + 1);
    }
    emit_line(
        e,
        "(void)mask, (void)folds, (void)folder, (void)folders, (void)mine, (void)after, (void)m;");
    emit_line(e, "}");
    emit_line(e, "}");
}
