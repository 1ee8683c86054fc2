/* cpu_loop.c: shapes and strides of the cpu engine: merging axes, walking them, and moving elements
 * between strided and contiguous memory; and parallel ranges.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include <assert.h>
#include <string.h>

void loop_init(Loop *l, const TensorType *shape, const View *const *operand, int n_operands) {
    assert(n_operands <= CPU_OPERANDS);
    l->rank = 0;
    l->n = 1;
    int64_t s[CPU_OPERANDS];
    for (int d = 0; d < shape->rank; d++) {
        int64_t extent = shape->shape[d];
        l->n *= extent;
        if (extent == 1) continue;
        for (int k = 0; k < n_operands; k++) {
            const View *v = operand[k];
            int own = d - (shape->rank - v->type.rank);
            s[k] = own < 0 || v->type.shape[own] == 1 ? 0 : v->stride[own];
        }
        int last = l->rank - 1;
        bool merges = last >= 0;
        for (int k = 0; k < n_operands && merges; k++) {
            merges = l->stride[k][last] == s[k] * extent;
        }
        if (!merges) last = l->rank++, l->shape[last] = 1;
        l->shape[last] *= extent;
        for (int k = 0; k < n_operands; k++) l->stride[k][last] = s[k];
    }
}

int64_t loop_offset(const Loop *l, int operand, int64_t i) {
    int64_t offset = 0;
    if (l->rank == 1) return i * l->stride[operand][0];
    for (int d = l->rank - 1; d >= 0 && i != 0; d--) {
        int64_t outer = i / l->shape[d];
        offset += (i - outer * l->shape[d]) * l->stride[operand][d];
        i = outer;
    }
    return offset;
}

void walk_init(Walk *w, const Loop *l, int n_operands, int64_t row) {
    for (int k = 0; k < n_operands; k++) w->offset[k] = 0;
    for (int d = l->rank - 2; d >= 0; d--) {
        w->index[d] = row % l->shape[d];
        row /= l->shape[d];
        for (int k = 0; k < n_operands; k++) w->offset[k] += w->index[d] * l->stride[k][d];
    }
}

void walk_next(Walk *w, const Loop *l, int n_operands) {
    for (int d = l->rank - 2; d >= 0; d--) {
        for (int k = 0; k < n_operands; k++) w->offset[k] += l->stride[k][d];
        if (++w->index[d] < l->shape[d]) return;
        for (int k = 0; k < n_operands; k++) w->offset[k] -= l->shape[d] * l->stride[k][d];
        w->index[d] = 0;
    }
}

#define COPY_CASES(ACTION)                                                                         \
    switch (size) {                                                                                \
    case 1: ACTION(uint8_t) break;                                                                 \
    case 2: ACTION(uint16_t) break;                                                                \
    case 4: ACTION(uint32_t) break;                                                                \
    default: assert(size == 8); ACTION(uint64_t)                                                   \
    }

void copy_strided(void *to, const void *from, int64_t stride, int64_t n, int size) {
    if (stride == 1) {
        memcpy(to, from, (size_t)(n * size));
        return;
    }
    if (stride == 0) {
        copy_filled(to, from, n, size);
        return;
    }
#define ACTION(T)                                                                                  \
    for (int64_t i = 0; i < n; i++) ((T *)to)[i] = ((const T *)from)[i * stride];
    COPY_CASES(ACTION)
#undef ACTION
}

void copy_scattered(void *to, int64_t stride, const void *from, int64_t n, int size) {
    if (stride == 1) {
        memcpy(to, from, (size_t)(n * size));
        return;
    }
#define ACTION(T)                                                                                  \
    for (int64_t i = 0; i < n; i++) ((T *)to)[i * stride] = ((const T *)from)[i];
    COPY_CASES(ACTION)
#undef ACTION
}

void copy_filled(void *to, const void *value, int64_t n, int size) {
    enum { FIRST = 64, MOST = 8192 }; /* bytes filled one by one; copied at a time, doubling */
    int64_t all = n * size, first = all < FIRST ? all : FIRST;
#define ACTION(T)                                                                                  \
    {                                                                                              \
        const T v = *(const T *)value;                                                             \
        for (int64_t i = 0; i * size < first; i++) ((T *)to)[i] = v;                               \
    }
    COPY_CASES(ACTION)
#undef ACTION
    for (int64_t done = first, some; done < all; done += some) {
        some = done < MOST ? done : MOST;
        if (some > all - done) some = all - done;
        memcpy((char *)to + done, to, (size_t)some);
    }
}

void loop_gather(const Loop *l, int operand, const void *base, int size, int64_t begin, int64_t end,
                 void *to) {
    if (begin >= end) return;
    if (l->rank == 0) {
        memcpy(to, base, (size_t)size);
        return;
    }
    int inner = l->rank - 1;
    int64_t index[MAX_DIMS], rest = begin, offset = 0;
    for (int d = inner; d >= 0; d--) {
        index[d] = rest % l->shape[d];
        rest /= l->shape[d];
        offset += index[d] * l->stride[operand][d];
    }
    char *out = to;
    while (begin < end) {
        int64_t n = l->shape[inner] - index[inner];
        if (n > end - begin) n = end - begin;
        copy_strided(out, (const char *)base + offset * size, l->stride[operand][inner], n, size);
        out += n * size;
        begin += n;
        offset -= index[inner] * l->stride[operand][inner];
        index[inner] = 0;
        for (int d = inner - 1; d >= 0; d--) {
            offset += l->stride[operand][d];
            if (++index[d] < l->shape[d]) break;
            offset -= l->shape[d] * l->stride[operand][d];
            index[d] = 0;
        }
    }
}

/* ---- Parallel ranges ---- */

typedef struct Ranges {
    RangeFn fn;
    void *ctx;
    int64_t n, part;
} Ranges;

static void range_part(void *ctx, int part, int thread) {
    const Ranges *r = ctx;
    int64_t begin = part * r->part, end = begin + r->part;
    r->fn(r->ctx, begin, end < r->n ? end : r->n, thread);
}

void cpu_ranges(Cpu *c, int64_t n, int64_t part, RangeFn fn, void *ctx) {
    if (n <= 0) return;
    if (n <= part) {
        fn(ctx, 0, n, 0);
        return;
    }
    int64_t parts = (n + part - 1) / part;
    while (parts > INT32_MAX / 2) part *= 2, parts = (n + part - 1) / part;
    pool_run(c->pool, (int)parts, range_part, &(Ranges){fn, ctx, n, part});
}

int64_t cpu_part(int64_t cost) { return cost >= CPU_PART ? 1 : CPU_PART / (cost < 1 ? 1 : cost); }
