/* fuse.c: see fuse.h. SPDX-License-Identifier: MIT */
#include "worker/emit/fuse.h"
#include "runtime/base/map.h"
#include <assert.h>
#include <string.h>

void fuse_init(Fusion *f, const TensorType *space, int trailing) {
    assert(trailing >= 0 && trailing <= space->rank);
    f->space = *space;
    f->trailing = trailing;
    f->n_nodes = f->n_inputs = f->n_scalars = f->n_outputs = 0;
}

static bool same_view(const View *a, const View *b) {
    if (a->data != b->data || !type_equal(&a->type, &b->type)) return false;
    for (int d = 0; d < a->type.rank; d++)
        if (a->type.shape[d] != 1 && a->stride[d] != b->stride[d]) return false;
    return true;
}

FuseRef fuse_input(Fusion *f, const View *v) {
    for (int i = 0; i < f->n_inputs; i++)
        if (same_view(&f->input[i], v)) return FUSE_INPUT + i;
    if (f->n_inputs == FUSED_INPUTS || v->type.rank > f->space.rank) return FUSE_NONE;
    f->input[f->n_inputs] = *v;
    return FUSE_INPUT + f->n_inputs++;
}

FuseRef fuse_scalar(Fusion *f, DType d, const void *value) {
    if (f->n_scalars == FUSED_SCALARS) return FUSE_NONE;
    if (dtype_is_half(d)) d = DT_F32;
    f->scalar[f->n_scalars] = d;
    memcpy(f->args.scalar[f->n_scalars], value, (size_t)dtype_info[d].size_bytes);
    return FUSE_SCALAR + f->n_scalars++;
}

static FuseRef add_node(Fusion *f, Op op, DType dtype, bool is_row, bool is_total,
                        const FuseRef *in, int n_in) {
    assert(n_in >= 1 && n_in <= 3);
    if (f->n_nodes == FUSE_NODES) return FUSE_NONE;
    if (op_has(op, FACT_FAILS) && fuse_fail(f, f->n_nodes) == FUSED_FAILS) return FUSE_NONE;
    FuseNode *n = &f->node[f->n_nodes];
    *n = (FuseNode){.op = (uint8_t)op, .dtype = (uint8_t)dtype, .n_in = (uint8_t)n_in};
    n->is_row = is_row;
    for (int i = 0; i < n_in; i++) {
        if (in[i] == FUSE_NONE) return FUSE_NONE;
        n->in[i] = (uint8_t)in[i];
        if (is_total) continue;
        bool is_wide = fuse_is_node(in[i]) && !f->node[in[i]].is_row;
        bool may_be_wide = !is_row || op_info[op].class_ == CLASS_REDUCE || (op == OP_GATHER && !i);
        assert(may_be_wide || !is_wide);
        assert(!fuse_is_node(in[i]) || !f->node[in[i]].is_column);
    }
    return f->n_nodes++;
}

FuseRef fuse_node(Fusion *f, Op op, DType dtype, bool is_row, const FuseRef *in, int n_in) {
    return add_node(f, op, dtype, is_row, false, in, n_in);
}

FuseRef fuse_total(Fusion *f, Op op, DType dtype, const FuseRef *in, int n_in) {
    FuseRef r = add_node(f, op, dtype, true, true, in, n_in);
    if (r != FUSE_NONE) f->node[r].is_column = true;
    return r;
}

FuseRef fuse_column(Fusion *f, Op op, DType dtype, bool is_row, FuseRef in) {
    FuseRef r = fuse_node(f, op, dtype, is_row, &in, 1);
    if (r == FUSE_NONE) return r;
    assert(!is_row || !fuse_is_node(in) || f->node[in].is_row);
    f->node[r].is_column = true;
    return r;
}

char **fuse_store(Fusion *f, FuseRef node) {
    FuseNode *n = &f->node[node];
    if (!n->is_stored) {
        if (f->n_outputs == FUSED_OUTPUTS) return NULL;
        n->is_stored = true;
        n->output = (uint8_t)f->n_outputs++;
    }
    return &f->args.out[n->output];
}

/* ---- The plan ---- */

/* True if it is computed or folded for each element. */
static bool is_wide(const FuseNode *n) { return !n->is_row; }

/* The cost of computing it again. */
static int cost_of(const FuseNode *n) { return op_has((Op)n->op, FACT_CHEAP) ? 1 : 8; }
/* Backward steps over (4096, 1024) (Zen 5, CPU time, medians of 7 interleaved runs): with 0 layer
 * norm takes 1.4 times as long, with 12 softmax 1.3 times; 1 and 6 are within 4 %. */
enum { RECOMPUTED_MAX = 3 };

void fuse_plan(const Fusion *f, FusePlan *p) {
    *p = (FusePlan){.n_passes = 1};
    for (int i = f->n_nodes - 1; i >= 0; i--) {
        p->is_used[i] |= f->node[i].is_stored;
        for (int k = 0; p->is_used[i] && k < f->node[i].n_in; k++)
            if (fuse_is_node(f->node[i].in[k])) p->is_used[f->node[i].in[k]] = true;
    }
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        for (int k = 0; k < n->n_in; k++)
            if (fuse_is_node(n->in[k]) && p->pass[n->in[k]] > p->pass[i])
                p->pass[i] = p->pass[n->in[k]];
        if (is_wide(n) && p->is_used[i]) p->cost += cost_of(n);
        p->has_reduce |= fuse_is_reduce(n) && p->is_used[i];
        p->has_columns |= n->is_column && p->is_used[i];
        if (fuse_is_reduce(n))
            p->pass[i]++;
        else if (is_wide(n) && p->is_used[i] && p->pass[i] >= p->n_passes)
            p->n_passes = p->pass[i] + 1;
    }
    int cost[FUSE_NODES]; /* of computing it again in a later pass */
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        cost[i] = cost_of(n);
        for (int k = 0; k < n->n_in; k++) {
            FuseRef r = n->in[k];
            if (fuse_is_node(r) && !f->node[r].is_row && !p->is_kept[r] && !f->node[r].is_stored)
                cost[i] += cost[r];
        }
        if (n->is_row || n->is_column || n->is_stored || !p->is_used[i] ||
            cost[i] <= RECOMPUTED_MAX)
            continue;
        for (int j = i + 1; j < f->n_nodes && !p->is_kept[i]; j++) {
            const FuseNode *m = &f->node[j];
            if (!p->is_used[j] || fuse_is_reduce(m)) continue;
            for (int k = 0; k < m->n_in; k++)
                p->is_kept[i] |= m->in[k] == i && p->pass[j] > p->pass[i];
        }
    }
    /* A reduction folds its operand in place if that is a dense input, a stored value or a kept
     * one. */
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        if (!fuse_is_reduce(n)) continue;
        FuseRef r = n->in[0];
        if (fuse_is_input(r)) {
            int k = r - FUSE_INPUT;
            p->is_chunked[i] = f->is_lined || f->stride_kind[k] != STRIDE_ONE ||
                               dtype_is_half((DType)f->input[k].type.dtype);
        } else {
            p->is_chunked[i] =
                dtype_is_half((DType)f->node[r].dtype) || !(f->node[r].is_stored || p->is_kept[r]);
        }
    }
}

/* ---- Loops and signature ---- */

/* Lays out axes [from, to) of the space, merged where all inputs allow it. */
static void lay_out(const Fusion *f, int from, int to, FusedLoop *l) {
    l->rank = 0;
    int64_t s[FUSED_INPUTS];
    for (int d = from; d < to; d++) {
        int64_t extent = f->space.shape[d];
        if (extent == 1) continue;
        for (int k = 0; k < f->n_inputs; k++) {
            const View *v = &f->input[k];
            int own = d - (f->space.rank - v->type.rank);
            s[k] = own < 0 || v->type.shape[own] == 1
                       ? 0
                       : v->stride[own] * dtype_info[v->type.dtype].size_bytes;
        }
        int64_t last = l->rank - 1;
        bool merges = last >= 0;
        for (int k = 0; k < f->n_inputs && merges; k++)
            merges = l->stride[k][last] == s[k] * extent;
        if (!merges) last = l->rank++, l->shape[last] = 1;
        l->shape[last] *= extent;
        for (int k = 0; k < f->n_inputs; k++) l->stride[k][last] = s[k];
    }
}

static void sign(Fusion *f) {
    unsigned char *s = f->signature;
    *s++ = (unsigned char)f->n_nodes;
    *s++ = (unsigned char)f->n_inputs;
    *s++ = (unsigned char)f->n_scalars;
    *s++ = (unsigned char)((f->trailing > 0) << 1 | f->is_lined | (f->args.blocks == 1) << 2);
    for (int i = 0; i < f->n_nodes; i++) {
        const FuseNode *n = &f->node[i];
        *s++ = n->op;
        *s++ = n->dtype;
        *s++ = n->n_in;
        for (int k = 0; k < 3; k++) *s++ = n->in[k];
        *s++ = (unsigned char)(n->is_column << 2 | n->is_stored << 1 | n->is_row);
        *s++ = n->output;
    }
    for (int k = 0; k < f->n_inputs; k++) {
        *s++ = f->input[k].type.dtype;
        *s++ = (unsigned char)f->stride_kind[k];
    }
    for (int k = 0; k < f->n_scalars; k++) *s++ = (unsigned char)f->scalar[k];
    f->signature_bytes = (size_t)(s - f->signature);
    assert(f->signature_bytes <= sizeof f->signature);
    f->hash = hash_bytes(f->signature, f->signature_bytes, 0);
}

/* Limits the scratch memory of a thread, for a row whose elements are computed from its reductions.
 * A softmax and a row minus its mean, over rows of 1.6 MB, take 1.6 times as long if the limit is
 * below that, and rows of 4.8 MB 1.4 to 1.6 times (Zen 5, v4 and v3, CPU time of one thread,
 * medians of 5 interleaved runs). */
enum { ROW_BYTES_MAX = 1 << 22 };

bool fuse_done(Fusion *f) {
    FusedArgs *a = &f->args;
    if (!f->n_outputs || type_numel(&f->space) == 0) return false;
    int split = f->trailing ? f->space.rank - f->trailing : 0;
    a->zero = 0;
    a->rows = a->n = 1;
    for (int d = 0; d < split; d++) a->rows *= f->space.shape[d];
    for (int d = split; d < f->space.rank; d++) a->n *= f->space.shape[d];
    a->blocks = (a->n + FUSED_BLOCK - 1) / FUSED_BLOCK;
    lay_out(f, 0, split, &a->outer);
    lay_out(f, split, f->space.rank, &a->inner);
    int64_t last = a->inner.rank - 1;
    a->line = last < 0 ? 1 : a->inner.shape[last];
    for (int k = 0; k < f->n_inputs; k++) {
        a->in[k] = f->input[k].data;
        a->step[k] = last < 0 ? 0 : a->inner.stride[k][last];
        a->step[k] /= dtype_info[f->input[k].type.dtype].size_bytes;
        f->stride_kind[k] = a->step[k] == 0   ? STRIDE_ZERO
                            : a->step[k] == 1 ? STRIDE_ONE
                                              : STRIDE_OTHER;
    }
    if (last >= 0) a->inner.rank--;
    f->is_lined = a->inner.rank > 0;
    sign(f);
    if (fuse_fail(f, f->n_nodes) && a->rows >= UINT32_MAX) return false; /* FusedBad has no room */
    if (!f->trailing) { /* one pass without reductions */
        for (int i = 0; i < f->n_nodes; i++)
            if (f->node[i].is_row) return false;
        return true;
    }
    FusePlan p;
    fuse_plan(f, &p);
    int64_t row_bytes = 0;
    for (int i = 0; i < f->n_nodes; i++)
        if (p.is_kept[i])
            row_bytes += a->n * dtype_info[fuse_computes(f->node[i].dtype)].size_bytes;
    if ((p.has_columns || !p.has_reduce) && a->n > ROW_BYTES_MAX) return false;
    return row_bytes <= ROW_BYTES_MAX && (p.n_passes == 1 || a->n <= ROW_BYTES_MAX);
}

int fuse_fail(const Fusion *f, int i) {
    int n = 0;
    for (int k = 0; k < i; k++) n += fuse_may_fail(&f->node[k]);
    return n;
}
void fuse_clear_bad(Fusion *f) {
    memset(f->bad, 0xff, sizeof f->bad);
    for (int k = 0; k < FUSED_FAILS; k++) f->args.bad[k] = &f->bad[k];
}
static bool has_row(const FusedBad *bad) { return bad->high != UINT64_MAX; }
bool fuse_is_bad(const Fusion *f) {
    bool is = false;
    for (int k = 0; k < FUSED_FAILS; k++) is |= has_row(&f->bad[k]);
    return is;
}
bool fuse_check_bad(const TensorType *space, const FusedBad *bad, Err *err) {
    View idx = {.type = *space};
    int axis = space->rank - 1;
    idx.type.shape[axis] = 1;
    BadIndex b = {.idx = &idx,
                  .shape = &idx.type,
                  .at = (int64_t)(bad->high >> 32),
                  .value = (int64_t)(bad->high << 32 | (uint32_t)bad->low),
                  .size = space->shape[axis],
                  .axis = axis,
                  .from_zero = true,
                  .is_along = true};
    return !has_row(bad) || index_is_bad(&b, err);
}

bool fuse_is_worth(const Fusion *f) {
    /* Zen 5, one thread, CPU time, medians of 5 to 9 interleaved runs, as one kernel beside one by
     * one: lines of 8 and 16 take 0.65, of 48 and 100 0.64 and 0.71, of 4 1.27 (v4) and 0.66 (v3).
     * Steps of 12 to 100 alone take 0.54 to 0.87, but if steps of up to 32 or 128 are fused,
     * mnist_conv takes 1.07 of its time. So one number serves both: the elements of a cache line,
     * if they have 8 bytes. */
    enum { FEW = 64 / sizeof(double) };
    if (f->is_lined && f->args.line < FEW) return false;
    for (int k = 0; k < f->n_inputs; k++)
        if (f->stride_kind[k] == STRIDE_OTHER && f->args.line >= FEW &&
            (f->args.step[k] > FEW || f->args.step[k] < 0))
            return false; /* transposed: the engine's tiled copy is faster */
    return true;
}

double fuse_gain(const Fusion *f, bool has_product) {
    int trips = 0, all = 0;
    for (int i = 0; i < f->n_nodes; i++) {
        if (f->node[i].is_row && !fuse_is_reduce(&f->node[i])) continue;
        trips++;
        all += cost_of(&f->node[i]);
    }
    return all ? (double)(trips - !has_product) / all : 0;
}
