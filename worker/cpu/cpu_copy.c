/* cpu_copy.c: moving elements: copies of views, cat, slice_put. If the innermost axis of a copy is
 * not contiguous while another one is (a transpose), the copy runs in square blocks, so that cache
 * lines are read and written whole.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include <string.h>

/* Two loops over one shape: operand 0 is read, operand 1 written. */
typedef struct CopyRun {
    Loop loop;
    const char *from;
    char *to;
    int size;
    int fast; /* axis that is contiguous in `from` if the innermost is not; else -1 */
} CopyRun;

static void copy_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const CopyRun *r = ctx;
    const Loop *l = &r->loop;
    int inner = l->rank - 1;
    int64_t in = l->stride[0][inner], out = l->stride[1][inner], length = l->shape[inner];
    Walk walk;
    walk_init(&walk, l, 2, begin / length);
    int64_t at = begin % length;
    for (int64_t i = begin, n; i < end; i += n, at = 0, walk_next(&walk, l, 2)) {
        n = length - at;
        if (n > end - i) n = end - i;
        const char *from = r->from + (walk.offset[0] + at * in) * r->size;
        char *to = r->to + (walk.offset[1] + at * out) * r->size;
        if (out == 1) {
            copy_strided(to, from, in, n, r->size);
        } else if (in == 1) {
            copy_scattered(to, out, from, n, r->size);
        } else {
            for (int64_t j = 0; j < n; j++)
                memcpy(to + j * out * r->size, from + j * in * r->size, (size_t)r->size);
        }
    }
}

/* A transposed copy takes N columns at a time, a cache line of `to`, through all rows. Meanwhile it
 * prefetches the lines of the next columns: they lie too far apart for a processor to see a
 * pattern. Within these columns it goes by squares of SIDE elements, a vector of 16 bytes, which
 * are transposed in registers: log2(SIDE) rounds interleave the first half of the vectors with the
 * second. LOW_n and HIGH_n are the elements, of n bytes, that interleave the lower and the upper
 * halves of two vectors. */
#define LOW_1  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_1 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_2  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_2 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_4  0, 4, 1, 5
#define HIGH_4 2, 6, 3, 7
#define LOW_8  0, 2
#define HIGH_8 1, 3
#define TRANSPOSE(T, SIZE)                                                                         \
    typedef T Vector_##T __attribute__((vector_size(16), aligned(SIZE)));                          \
    static inline void square_##T(T *to, int64_t out, const T *from, int64_t in) {                 \
        enum { SIDE = 16 / SIZE };                                                                 \
        Vector_##T x[SIDE], y[SIDE];                                                               \
        _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++) x[i] =                             \
            *(const Vector_##T *)(from + i * in);                                                  \
        _Pragma("GCC unroll 4") for (int round = 1; round < SIDE; round *= 2) {                    \
            _Pragma("GCC unroll 8") for (int i = 0; i < SIDE / 2; i++) {                           \
                y[2 * i] = __builtin_shufflevector(x[i], x[i + SIDE / 2], LOW_##SIZE);             \
                y[2 * i + 1] = __builtin_shufflevector(x[i], x[i + SIDE / 2], HIGH_##SIZE);        \
            }                                                                                      \
            _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++) x[i] = y[i];                   \
        }                                                                                          \
        _Pragma("GCC unroll 16") for (int i = 0; i < SIDE; i++) * (Vector_##T *)(to + i * out) =   \
            x[i];                                                                                  \
    }                                                                                              \
    static void transpose_##T(T *to, int64_t out, const T *from, int64_t in, int64_t rows,         \
                              int64_t columns) {                                                   \
        enum { SIDE = 16 / SIZE, N = 64 / SIZE };                                                  \
        for (int64_t j = 0; j < columns; j += N) {                                                 \
            const int64_t w = columns - j < N ? columns - j : N;                                   \
            const int64_t left = columns - j - w, next = left < N ? left : N;                      \
            for (int64_t i = 0; i < rows; i += SIDE) {                                             \
                const int64_t h = rows - i < SIDE ? rows - i : SIDE;                               \
                for (int64_t b = 0; b < next && i % N == 0; b++)                                   \
                    __builtin_prefetch(from + (j + w + b) * in + i);                               \
                for (int64_t a = 0; a < h && next; a++)                                            \
                    __builtin_prefetch(to + (i + a) * out + j + w, 1);                             \
                int64_t b = 0;                                                                     \
                for (; h == SIDE && b + SIDE <= w; b += SIDE)                                      \
                    square_##T(to + i * out + j + b, out, from + (j + b) * in + i, in);            \
                for (; b < w; b++)                                                                 \
                    for (int64_t a = 0; a < h; a++)                                                \
                        to[(i + a) * out + j + b] = from[(j + b) * in + i + a];                    \
            }                                                                                      \
        }                                                                                          \
    }
TRANSPOSE(uint8_t, 1)
TRANSPOSE(uint16_t, 2)
TRANSPOSE(uint32_t, 4)
TRANSPOSE(uint64_t, 8)

void copy_transposed(void *to, int64_t out, const void *from, int64_t in, int64_t rows,
                     int64_t columns, int size) {
    switch (size) {
    case 1: transpose_uint8_t(to, out, from, in, rows, columns); break;
    case 2: transpose_uint16_t(to, out, from, in, rows, columns); break;
    case 4: transpose_uint32_t(to, out, from, in, rows, columns); break;
    default: transpose_uint64_t(to, out, from, in, rows, columns);
    }
}

/* A line is a pair (index of all axes but `fast` and the innermost, strip of STRIP rows of
 * `fast`). */
enum { STRIP = 64 };
static void transposed_lines(void *ctx, int64_t begin, int64_t end, int thread) {
    const CopyRun *r = ctx;
    const Loop *l = &r->loop;
    int inner = l->rank - 1, fast = r->fast;
    int64_t strips = (l->shape[fast] + STRIP - 1) / STRIP;
    for (int64_t t = begin; t < end; t++) {
        int64_t rest = t / strips, row = t % strips * STRIP;
        int64_t from = row * l->stride[0][fast], to = row * l->stride[1][fast];
        for (int d = inner - 1; d >= 0; d--) {
            if (d == fast) continue;
            int64_t i = rest % l->shape[d];
            rest /= l->shape[d];
            from += i * l->stride[0][d];
            to += i * l->stride[1][d];
        }
        int64_t rows = l->shape[fast] - row < STRIP ? l->shape[fast] - row : STRIP;
        int64_t in = l->stride[0][inner], out = l->stride[1][fast], columns = l->shape[inner];
        copy_transposed(r->to + to * r->size, out, r->from + from * r->size, in, rows, columns,
                        r->size);
    }
}

/* Copies `from` into `to`, broadcast to its shape. */
static void copy_view(Cpu *c, const View *from, const View *to) {
    CopyRun r = {.from = from->data, .to = to->data, .size = view_size(to), .fast = -1};
    loop_init(&r.loop, &to->type, (const View *const[]){from, to}, 2);
    const Loop *l = &r.loop;
    if (l->n == 0) return;
    if (l->rank == 0) {
        memcpy(r.to, r.from, (size_t)r.size);
        return;
    }
    int inner = l->rank - 1;
    if (l->stride[0][inner] > 1 && l->stride[1][inner] == 1 && l->shape[inner] >= 8) {
        for (int d = 0; d < inner; d++)
            if (l->stride[0][d] == 1 && l->shape[d] >= 8) r.fast = d;
    }
    if (r.fast < 0) {
        cpu_ranges(c, l->n, CPU_PART, copy_rows, &r);
        return;
    }
    int64_t strips = (l->shape[r.fast] + STRIP - 1) / STRIP;
    int64_t lines = l->n / l->shape[inner] / l->shape[r.fast] * strips;
    cpu_ranges(c, lines, cpu_part(l->shape[inner] * STRIP), transposed_lines, &r);
}

void cpu_copy(Cpu *c, const View *from, void *to) {
    View out = {.type = from->type, .data = to};
    view_strides(&out.type, out.stride);
    copy_view(c, from, &out);
}

/* Returns a view of the part of a row-major tensor that starts at `start` with steps `step`. */
static View part_of(const View *o, const TensorType *part, const int64_t *start,
                    const int64_t *step) {
    View v = {.type = *part};
    int64_t at = 0, natural[MAX_DIMS];
    view_strides(&o->type, natural);
    for (int d = 0; d < part->rank; d++) {
        at += start[d] * natural[d];
        v.stride[d] = natural[d] * (step ? step[d] : 1);
    }
    v.data = view_at(o, at);
    return v;
}

bool cpu_CAT(Cpu *c, const Call *call, Err *err) {
    int axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0];
    int64_t start[MAX_DIMS] = {0};
    for (int i = 0; i < call->n_in; i++) {
        const View *x = &call->in[i];
        if (type_numel(&x->type) == 0) continue;
        View part = part_of(&call->out[0], &x->type, start, NULL);
        copy_view(c, x, &part);
        start[axis] += x->type.shape[axis];
    }
    return true;
}

bool cpu_SLICE_PUT(Cpu *c, const Call *call, Err *err) {
    const View *o = &call->out[0];
    cpu_copy(c, &call->in[0], o->data);
    TensorType type = o->type;
    const int64_t *size = inst_attr(call->inst, ATTR_SIZE)->ints;
    for (int d = 0; d < type.rank; d++) type.shape[d] = size[d];
    if (type_numel(&type) == 0) return true;
    View part = part_of(o, &type, inst_attr(call->inst, ATTR_START)->ints,
                        inst_attr(call->inst, ATTR_STEP)->ints);
    copy_view(c, &call->in[1], &part);
    return true;
}
