/* emit_cuda_tiles.c: CUDA C of fusions without reductions for operands that are read across, such
 * as transposes: adjacent elements of the result are far apart in them, but those along another
 * axis, A->ahead[0] of A->inner, are adjacent. A block of 256 threads computes tiles of 32 elements
 * of a line by 32 along that axis: it brings the tile of each such operand along the axis to shared
 * memory, in rows of 33, so that neither way has bank conflicts, and then goes along the line.
 *
 * A->is_far: bit k: input k is read so.
 *
 * Names besides those of emit_cuda.c: S a tile, q, p position in it along the axis and the line, o
 * an input's offset in bytes where the axis and the line begin.
 * SPDX-License-Identifier: MIT */
#include "worker/emit/emit_cuda.h"
#include <stdio.h>

bool emit_cuda_may_tile(const Fusion *f, int k) {
    enum { MOST = 4 }; /* 8.25 KB each, of 48 */
    int n = 0;
    for (int i = 0; i <= k; i++) n += f->stride_kind[i] == STRIDE_OTHER;
    return f->is_lined && !f->trailing && f->stride_kind[k] == STRIDE_OTHER && n <= MOST;
}

/* The tile's place: element `to` of the results, and o. */
static void put_place(Emit *e) {
    const Fusion *f = e->f;
    emit_line(e, "int64_t rest = unit / along, to = 0, pitch = A->line;");
    emit_line(e, "const int64_t p0 = (unit - rest * along) * CUDA_TILE;");
    emit_line(e, "const int64_t deep = rest / across, q0 = (rest - deep * across) * CUDA_TILE;");
    emit_line(e, "rest = deep;");
    for (int k = 0; k < f->n_inputs; k++) emit_line(e, "int64_t o%d = 0;", k);
    emit_line(e, "for (int64_t d = A->inner.rank - 1; d >= 0; d--) {");
    emit_line(e, "const int64_t extent = A->inner.shape[d];");
    emit_line(e, "if (d != axis) {");
    emit_line(e, "const int64_t all = rest / extent, j = rest - all * extent;");
    emit_line(e, "rest = all, to += j * pitch;");
    for (int k = 0; k < f->n_inputs; k++) emit_line(e, "o%d += j * A->inner.stride[%d][d];", k, k);
    emit_line(e, "}");
    emit_line(e, "pitch *= extent;");
    emit_line(e, "}");
}

static void put_stage(Emit *e) {
    const Fusion *f = e->f;
    emit_line(e, "#pragma unroll");
    emit_line(e, "for (int k = 0; k < CUDA_TILE; k += 8) {");
    emit_line(e, "const int64_t p = p0 + ty + k, q = q0 + tx;");
    emit_line(e, "if (p >= A->line || q >= deepest) continue;");
    for (int k = 0; k < f->n_inputs; k++) {
        const char *type = emit_ctype((DType)f->input[k].type.dtype);
        if (emit_cuda_may_tile(f, k))
            emit_line(e,
                      "if (A->is_far >> %d & 1) S%d[(ty + k) * (CUDA_TILE + 1) + tx] = ((const %s "
                      "*)(A->in[%d] + o%d))[p * A->step[%d] + q];",
                      k, k, type, k, k, k);
    }
    emit_line(e, "}");
    emit_line(e, "__syncthreads();");
}

static void put_inputs(Emit *e) {
    const Fusion *f = e->f;
    for (int k = 0; k < f->n_inputs; k++) {
        const char *type = emit_ctype((DType)f->input[k].type.dtype);
        char where[96], step[40] = "";
        emit_line(e, "const char *g%d = A->in[%d] + o%d + q * A->inner.stride[%d][axis];", k, k, k,
                  k);
        if (f->stride_kind[k] == STRIDE_OTHER) snprintf(step, sizeof step, " * A->step[%d]", k);
        if (f->stride_kind[k] != STRIDE_ZERO)
            emit_line(e, "g%d += p%s * (int64_t)sizeof(%s);", k, step, type);
        if (emit_cuda_may_tile(f, k))
            emit_line(e,
                      "if (A->is_far >> %d & 1) g%d = (const char *)&S%d[tx * (CUDA_TILE + 1) + ty "
                      "+ k];",
                      k, k, k);
        snprintf(where, sizeof where, "g%d", k);
        emit_input(e, 'x', k, where);
    }
}

void emit_cuda_tiles(Emit *e) {
    const Fusion *f = e->f;
    emit_line(e, "const int64_t axis = A->ahead[0], deepest = A->inner.shape[axis];");
    emit_line(e, "const int64_t along = (A->line + CUDA_TILE - 1) / CUDA_TILE;");
    emit_line(e, "const int64_t across = (deepest + CUDA_TILE - 1) / CUDA_TILE;");
    emit_line(e, "const int64_t tiles = n / A->line / deepest * along * across;");
    emit_line(e, "const int tx = threadIdx.x %% CUDA_TILE, ty = threadIdx.x / CUDA_TILE;");
    for (int k = 0; k < f->n_inputs; k++)
        if (emit_cuda_may_tile(f, k))
            emit_line(e, "__shared__ %s S%d[CUDA_TILE * (CUDA_TILE + 1)];",
                      emit_ctype((DType)f->input[k].type.dtype), k);
    emit_line(e, "int64_t deep_pitch = A->line;");
    emit_line(e, "for (int64_t d = A->inner.rank - 1; d > axis; d--) deep_pitch *= "
                 "A->inner.shape[d];");
    emit_line(e, "for (int64_t unit = blockIdx.x; unit < tiles; unit += gridDim.x) {");
    put_place(e);
    put_stage(e);
    emit_line(e, "#pragma unroll 1");
    emit_line(e, "for (int k = 0; k < CUDA_TILE; k += 8) {");
    emit_line(e, "const int64_t p = p0 + tx, q = q0 + ty + k, i = to + q * deep_pitch + p;");
    emit_line(e, "if (p >= A->line || q >= deepest) continue;");
    put_inputs(e);
    cuda_put_values(e);
    emit_line(e, "}");
    emit_line(e, "__syncthreads();");
    emit_line(e, "}");
    emit_line(e, "(void)zero, (void)first, (void)threads;");
    emit_line(e, "}");
}
