/* fold.c: see fold.h. The elements are combined in chunks that stay in the caches. Terms come in
 * the order of their nodes; sums of nodes whose right half was not there yet wait on a stack. Terms
 * that are no nodes are added to the first one in turn. With an ordered engine the chunks are in
 * its scratch memory, to which terms in host memory are copied.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/fold.h"
#include "worker/exec/mark.h"
#include "runtime/base/tree.h"
#include "runtime/layout/nodes.h"
#include "runtime/inst/reduction.h"
#include "worker/engine/box.h"
#include "worker/engine/view.h"
#include <stdlib.h>

enum { CHUNK_BYTES = 64 << 10, CHUNKS_MAX = TREE_LEVELS + 2 };
/* The chunks must fit into the engine's scratch memory. */
enum { LATE_CHUNK_BYTES = ENGINE_SCRATCH / CHUNKS_MAX / 64 * 64 };

typedef struct Fold {
    Exec *x;
    Op op;
    DType dtype;
    int64_t n; /* elements of the chunk */
    int depth; /* of the stack */
    SumNode waits[CHUNKS_MAX];
    char *value[CHUNKS_MAX]; /* a chunk each, allocated when needed */
    char *stage;             /* likewise; in host memory, for an ordered engine */
} Fold;

/* Returns chunk k. */
static char *chunk_at(Fold *f, int k) {
    Exec *x = f->x;
    if (x->marks) return (char *)x->ops->scratch(x->engine) + k * LATE_CHUNK_BYTES;
    if (!f->value[k]) f->value[k] = aligned_alloc(64, CHUNK_BYTES);
    return f->value[k];
}

/* Copies bytes [begin, begin + bytes) of a term to a chunk. */
static bool get_term(Fold *f, const View *term, bool is_here, uint64_t begin, uint64_t bytes,
                     char *to) {
    Exec *x = f->x;
    View chunk = bytes_view(to, bytes);
    if (!x->marks) {
        x->ops->read(x->engine, term, begin, bytes, to);
        return true;
    }
    if (is_here && view_is_contiguous(term)) {
        View from = bytes_view((char *)term->data + begin, bytes);
        x->ops->copy(x->engine, &chunk, &from);
        return true;
    }
    if (!f->stage && !(f->stage = malloc(CHUNK_BYTES))) return false;
    if (is_here) {
        x->ops->read(x->engine, term, begin, bytes, f->stage);
        marks_settle(x);
    } else {
        box_get(term, begin, bytes, f->stage);
    }
    x->ops->write(x->engine, &chunk, 0, bytes, f->stage);
    return true;
}

/* a = a combined with b, n elements. */
static bool combine(const Fold *f, void *a, const void *b, Err *err) {
    Exec *x = f->x;
    Operand in[2] = {{.kind = IN_TENSOR, .id = 1}, {.kind = IN_TENSOR, .id = 2}};
    Inst inst = {.op = op_pair(f->op), .n_in = 2, .n_out = 1, .out = {3}, .in = in};
    View acc = {.type = {.dtype = (uint8_t)f->dtype, .rank = 1, .shape = {f->n}}, .stride = {1}};
    View views[2] = {acc, acc};
    acc.data = views[0].data = a, views[1].data = (void *)b;
    Call call = {.inst = &inst, .n_in = 2, .n_out = 1, .in = views, .out = {acc}};
    Ticket t = x->ops->submit(x->engine, &call, NULL, 0);
    return x->ops->done(x->engine, t, true, err) > 0;
}

/* Combines the two sums on top of the stack. */
static bool join(Fold *f, Err *err) {
    f->depth--;
    SumNode *left = &f->waits[f->depth - 1];
    left->level++, left->index >>= 1;
    return combine(f, chunk_at(f, f->depth - 1), chunk_at(f, f->depth), err);
}

static bool is_right_half(const Fold *f, const SumNode *node) {
    if (f->depth == 0) return false;
    const SumNode *left = &f->waits[f->depth - 1];
    return left->level == node->level && left->index + 1 == node->index && node->index % 2 == 1;
}

/* Adds the chunk of a term at byte `begin`. */
static bool add_term(Fold *f, const View *term, bool is_here, SumNode node, bool is_node,
                     uint64_t begin, Err *err) {
    uint64_t bytes = (uint64_t)f->n * (uint64_t)dtype_info[f->dtype].size_bytes;
    bool joins = is_node ? is_right_half(f, &node) : f->depth > 0;
    const char *data = (const char *)term->data + begin;
    if (joins && (is_here || !f->x->marks) && view_is_contiguous(term)) { /* read where it is */
        SumNode *left = &f->waits[f->depth - 1];
        if (!combine(f, chunk_at(f, f->depth - 1), data, err)) return false;
        left->level++, left->index >>= 1;
    } else {
        char *to = chunk_at(f, f->depth);
        if (!to || !get_term(f, term, is_here, begin, bytes, to))
            return err_set(err, ERR_MEMORY, "no memory to combine terms");
        f->waits[f->depth++] = node;
        if (joins && !join(f, err)) return false;
    }
    while (is_node && f->depth > 1) {
        SumNode top = f->waits[--f->depth];
        bool is_right = is_right_half(f, &top);
        f->depth++;
        if (!is_right) break;
        if (!join(f, err)) return false;
    }
    return true;
}

/* One chunk of all terms; the result is on the stack's bottom. */
static bool fold_chunk(Fold *f, const Layout *l, int n, const View *box, const int *at,
                       const bool *is_here, uint64_t begin, Err *err) {
    SumNode node[NODES_MAX] = {{0}};
    bool is_stacked = layout_is_stacked(l), are_nodes = l->block > 0;
    f->depth = 0;
    for (int i = 0; i < n; i++) {
        int terms = are_nodes ? nodes_of(l, at[i], node) : 1;
        for (int k = 0; k < terms; k++) {
            View term = box[i];
            if (is_stacked) {
                term.type.rank--;
                for (int d = 0; d < term.type.rank; d++) {
                    term.type.shape[d] = term.type.shape[d + 1];
                    term.stride[d] = term.stride[d + 1];
                }
                term.data = (char *)term.data +
                            k * box[i].stride[0] * dtype_info[term.type.dtype].size_bytes;
            }
            if (!add_term(f, &term, is_here[i], node[k], are_nodes, begin, err)) return false;
        }
    }
    while (f->depth > 1) /* a right half that lacks leaves */
        if (!join(f, err)) return false;
    return true;
}

bool fold_terms(Exec *x, const Layout *l, int n, const View *box, const int *at,
                const bool *is_here, const View *out, Err *err) {
    Fold f = {.x = x, .op = (Op)l->op, .dtype = (DType)out->type.dtype};
    int size = dtype_info[f.dtype].size_bytes;
    int64_t all = type_numel(&out->type),
            chunk = (x->marks ? LATE_CHUNK_BYTES : CHUNK_BYTES) / size;
    bool ok = true;
    for (int64_t i = 0; i < all && ok; i += f.n) {
        f.n = all - i < chunk ? all - i : chunk;
        ok = fold_chunk(&f, l, n, box, at, is_here, (uint64_t)(i * size), err);
        if (!ok) break;
        View from = bytes_view(chunk_at(&f, 0), (uint64_t)(f.n * size));
        View to = bytes_view((char *)out->data + i * size, (uint64_t)(f.n * size));
        x->ops->copy(x->engine, &to, &from);
    }
    for (int k = 0; k < CHUNKS_MAX; k++) free(f.value[k]);
    free(f.stage);
    return ok;
}
