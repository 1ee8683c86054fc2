/* cpu_conv.c: convolutions and their two gradients. float32 goes to oneDNN (dnnl_conv.c) if that is
 * installed. For every other dtype, the elements that a block of results needs are copied into
 * columns (im2col) and multiplied by our own kernel. The method, and the order in which each
 * element is summed, depend on shapes and dtype alone.
 * SPDX-License-Identifier: MIT */
#include "runtime/infer/window.h"
#include "worker/cpu/cpu.h"
#include "worker/dnnl/dnnl.h"
#include <string.h>

enum {
    PIXELS = 128,    /* results of a block: the number of columns of the kernel */
    DW_PIXELS = 1024 /* summed at a time in a weight gradient                     */
};

typedef struct Conv {
    Cpu *cpu;
    ConvShape s;
    int64_t C, O;           /* channels of one group */
    int64_t K;              /* rows of a column: channels of a group * kernel elements */
    int64_t pixels, blocks; /* of one image's result */
    int64_t in, out;        /* elements of one channel */
    const char *x, *w, *dy;
    char *y, *columns; /* columns: one buffer per thread */
    int64_t column_bytes;
    int size;
    DType dtype;
    bool is_plain; /* 1 x 1, stride 1, no padding: columns need no copy */
    bool is_dx;
    int64_t images, image_blocks, tiles; /* of the weight gradient */
} Conv;

/* Returns the elements of v in row-major order, copied if necessary; NULL: no memory. */
static const void *row_major(Cpu *c, const Call *call, const View *v, Err *err) {
    if (view_is_contiguous(v)) return v->data;
    void *copy = cpu_side(c, call, type_numel(&v->type) * view_size(v), err);
    if (copy) cpu_copy(c, v, copy);
    return copy;
}

static void conv_init(Conv *v, Cpu *c, const Call *call, const TensorType *x, const TensorType *w,
                      const TensorType *y) {
    *v = (Conv){.cpu = c, .dtype = (DType)x->dtype, .size = dtype_info[x->dtype].size_bytes};
    conv_shape(&v->s, call->inst, x, w, y);
    v->C = v->s.C / v->s.groups, v->O = v->s.O / v->s.groups;
    const Window *g = &v->s.window;
    v->in = window_volume(g->in), v->out = window_volume(g->out);
    v->is_plain = true;
    for (int d = 0; d < WINDOW_AXES; d++)
        if (g->kernel[d] != 1 || g->stride[d] != 1 || g->padding[d] != 0) v->is_plain = false;
}

/* Allocates `bytes` of columns per thread; false: no memory. */
static bool columns_new(Conv *v, const Call *call, int64_t bytes, Err *err) {
    v->column_bytes = (bytes + 63) / 64 * 64;
    v->columns = cpu_side(v->cpu, call, v->column_bytes * pool_threads(v->cpu->pool), err);
    return v->columns != NULL;
}

/* ---- Columns ---- */

/* Writes the coordinates i of element p of a box; returns how many elements, at most `most`, follow
 * it along the last axis, itself included. */
static int64_t run_at(const int64_t *shape, int64_t p, int64_t most, int64_t *i) {
    i[2] = p % shape[2];
    i[1] = p / shape[2] % shape[1];
    i[0] = p / shape[2] / shape[1];
    int64_t left = shape[2] - i[2];
    return left < most ? left : most;
}

/* to[j] = element k of window p + j in one channel `x` of the input; 0 in the padding. */
static void window_row(const Window *w, const char *x, const int64_t *k, int64_t p, int64_t n,
                       char *to, int size) {
    for (int64_t run, o[3]; n > 0; n -= run, p += run, to += run * size) {
        run = run_at(w->out, p, n, o);
        int64_t i[3];
        for (int d = 0; d < 3; d++)
            i[d] = o[d] * w->stride[d] - w->padding[d] + k[d] * w->dilation[d];
        int64_t s = w->stride[2], first = i[2] < 0 ? (-i[2] + s - 1) / s : 0;
        int64_t last = i[2] < w->in[2] ? (w->in[2] - 1 - i[2]) / s + 1 : 0;
        if (i[0] < 0 || i[0] >= w->in[0] || i[1] < 0 || i[1] >= w->in[1]) last = 0;
        if (last > run) last = run;
        if (first >= last) {
            memset(to, 0, (size_t)(run * size));
            continue;
        }
        const char *from = x + ((i[0] * w->in[1] + i[1]) * w->in[2] + i[2] + first * s) * size;
        memset(to, 0, (size_t)(first * size));
        copy_strided(to + first * size, from, s, last - first, size);
        memset(to + last * size, 0, (size_t)((run - last) * size));
    }
}

/* to[j] = the gradient `dy` of the window whose element k is input element p + j; 0 if there is
 * none. */
static void gradient_row(const Window *w, const char *dy, const int64_t *k, int64_t p, int64_t n,
                         char *to, int size) {
    for (int64_t run, i[3]; n > 0; n -= run, p += run, to += run * size) {
        run = run_at(w->in, p, n, i);
        memset(to, 0, (size_t)(run * size));
        int64_t o[3];
        bool has = true;
        for (int d = 0; d < 3; d++) o[d] = i[d] + w->padding[d] - k[d] * w->dilation[d];
        for (int d = 0; d < 2 && has; d++) {
            has = o[d] >= 0 && o[d] % w->stride[d] == 0 && o[d] / w->stride[d] < w->out[d];
            o[d] /= w->stride[d];
        }
        int64_t s = w->stride[2], first = o[2] >= 0 ? (s - o[2] % s) % s : -o[2];
        if (!has || first >= run) continue;
        int64_t from = (o[2] + first) / s, count = (run - 1 - first) / s + 1;
        if (count > w->out[2] - from) count = w->out[2] - from;
        if (count <= 0) continue;
        const char *row = dy + ((o[0] * w->out[1] + o[1]) * w->out[2] + from) * size;
        copy_scattered(to + first * size, s, row, count, size);
    }
}

/* Writes rows first .. last-1 of the columns of n results from p on, row j at to + j * width. Row r
 * is element r mod kernel of channel r / kernel of the group's `from`. */
static void columns_fill(const Conv *v, const char *from, int64_t first, int64_t last, int64_t p,
                         int64_t n, char *to, int64_t width) {
    const Window *w = &v->s.window;
    int64_t volume = window_volume(w->kernel);
    for (int64_t r = first; r < last; r++, to += width * v->size) {
        int64_t k[3], e = r % volume;
        run_at(w->kernel, e, 1, k);
        if (v->is_dx)
            gradient_row(w, from + r / volume * v->out * v->size, k, p, n, to, v->size);
        else
            window_row(w, from + r / volume * v->in * v->size, k, p, n, to, v->size);
    }
}

/* ---- oneDNN ---- */

/* With fewer multiplications per image the library's primitive, or loading it, does not pay off. */
enum { TINY = 1 << 12 };

typedef enum Outcome { DONE, FAILED, NOT_FOR_IT } Outcome;

/* a and b are row-major, in the op's order. */
static Outcome by_library(const Conv *v, const Call *call, DnnlConvKind kind, const void *a,
                          const void *b, Err *err) {
    const ConvShape *s = &v->s;
    double work =
        (double)s->O * (double)v->out * (double)v->C * (double)window_volume(s->window.kernel);
    if (v->dtype != DT_F32 || work < TINY) return NOT_FOR_IT;
    Cpu *cpu = v->cpu;
    if (!cpu->has_tried_dnnl) cpu->dnnl = dnnl_new(cpu->pool, cpu->kernels->isa);
    cpu->has_tried_dnnl = true;
    Dnnl *d = cpu->dnnl;
    DnnlPlan plan;
    DnnlConv c = {.kind = kind, .N = s->N, .C = s->C, .O = s->O, .groups = s->groups};
    for (int i = 0; i < WINDOW_AXES; i++) {
        c.in[i] = s->window.in[i], c.out[i] = s->window.out[i];
        c.kernel[i] = s->window.kernel[i], c.stride[i] = s->window.stride[i];
        c.padding[i] = s->window.padding[i], c.dilation[i] = s->window.dilation[i];
    }
    if (!d || !dnnl_conv_plan(d, &c, &plan)) return NOT_FOR_IT;
    void *side = cpu_side(v->cpu, call, dnnl_conv_bytes(d, &plan), err);
    if (!side) return FAILED;
    dnnl_conv_run(d, &plan, a, b, call->out[0].data, side);
    return DONE;
}

/* ---- Forward, and the input's gradient ---- */

/* An item is (image, group, block of results): y (rows, n) = w (rows, K) @ columns (K, n). The
 * input's gradient differs only in its columns, and in weights with input channels outermost. */
static void forward_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const Conv *v = ctx;
    int64_t rows = v->is_dx ? v->C : v->O, from = v->is_dx ? v->O * v->out : v->C * v->in;
    void *side = pool_scratch(v->cpu->pool, thread, gemm_side(GEMM_M, PIXELS, v->K));
    for (int64_t t = begin; t < end; t++) {
        int64_t block = t % v->blocks, group = t / v->blocks; /* group: among those of all images */
        int64_t p = block * PIXELS, n = v->pixels - p < PIXELS ? v->pixels - p : PIXELS;
        const char *x = (v->is_dx ? v->dy : v->x) + group * from * v->size;
        const char *w = v->w + group % v->s.groups * rows * v->K * v->size;
        char *y = v->y + (group * rows * v->pixels + p) * v->size;
        const char *b = x + p * v->size;
        int64_t b_k = v->pixels;
        if (!v->is_plain) {
            char *columns = v->columns + thread * v->column_bytes;
            columns_fill(v, x, 0, v->K, p, n, columns, PIXELS);
            b = columns, b_k = PIXELS;
        }
        for (int64_t m = 0; m < rows; m += GEMM_M) {
            int64_t h = rows - m < GEMM_M ? rows - m : GEMM_M;
            v->cpu->kernels->gemm[v->dtype](h, n, v->K, w + m * v->K * v->size, v->K, 1, b, b_k, 1,
                                            y + m * v->pixels * v->size, v->pixels, side, NULL);
        }
    }
}

static bool forward(Conv *v, const Call *call, Err *err) {
    v->pixels = v->is_dx ? v->in : v->out;
    v->blocks = (v->pixels + PIXELS - 1) / PIXELS;
    if (v->K == 0) { /* empty sums */
        memset(v->y, 0, (size_t)type_bytes(&call->out[0].type));
        return true;
    }
    if (!v->is_plain && !columns_new(v, call, v->K * PIXELS * v->size, err)) return false;
    int64_t rows = v->is_dx ? v->C : v->O;
    cpu_ranges(v->cpu, v->s.N * v->s.groups * v->blocks, cpu_part(rows * v->K * PIXELS / 8),
               forward_range, v);
    return true;
}

bool cpu_CONV(Cpu *c, const Call *call, Err *err) {
    Conv v;
    const View *x = &call->in[0], *w = &call->in[1];
    if (type_numel(&call->out[0].type) == 0) return true;
    conv_init(&v, c, call, &x->type, &w->type, &call->out[0].type);
    v.y = call->out[0].data, v.K = v.C * window_volume(v.s.window.kernel);
    v.x = row_major(c, call, x, err);
    v.w = v.x ? row_major(c, call, w, err) : NULL;
    if (!v.w) return false;
    Outcome done = by_library(&v, call, DNNL_CONV, v.x, v.w, err);
    return done == NOT_FOR_IT ? forward(&v, call, err) : done == DONE;
}

/* Returns the weights (groups, O, C, k) as (groups, C, O, k); NULL: no memory. */
static const void *weights_swapped(Conv *v, const Call *call, const View *w, Err *err) {
    char *to = cpu_side(v->cpu, call, type_numel(&w->type) * v->size, err);
    if (!to) return NULL;
    View swapped = {.type = {.dtype = w->type.dtype, .rank = (uint8_t)(w->type.rank + 1)}};
    int64_t *shape = swapped.type.shape, *stride = swapped.stride;
    shape[0] = v->s.groups, stride[0] = v->O * w->stride[0];
    shape[1] = v->C, stride[1] = w->stride[1];
    shape[2] = v->O, stride[2] = w->stride[0];
    for (int d = 2; d < w->type.rank; d++)
        shape[d + 1] = w->type.shape[d], stride[d + 1] = w->stride[d];
    swapped.data = w->data;
    cpu_copy(v->cpu, &swapped, to);
    return to;
}

bool cpu_CONV_DX(Cpu *c, const Call *call, Err *err) {
    Conv v;
    const View *dy = &call->in[0], *w = &call->in[1];
    if (type_numel(&call->out[0].type) == 0) return true;
    conv_init(&v, c, call, &call->out[0].type, &w->type, &dy->type);
    v.is_dx = true, v.y = call->out[0].data, v.K = v.O * window_volume(v.s.window.kernel);
    v.dy = row_major(c, call, dy, err);
    v.w = v.dy ? row_major(c, call, w, err) : NULL;
    if (!v.w) return false;
    Outcome done = by_library(&v, call, DNNL_CONV_DX, v.dy, v.w, err);
    if (done != NOT_FOR_IT) return done == DONE;
    v.w = weights_swapped(&v, call, w, err);
    return v.w && forward(&v, call, err);
}

/* ---- The weights' gradient ---- */

/* An item is (block of images, group, tile of kernel elements); a block's images are summed in
 * order, each block into its own table. */
static void weights_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const Conv *v = ctx;
    char *columns = v->columns + thread * v->column_bytes;
    char *part = columns + GEMM_N * DW_PIXELS * v->size;
    void *side = pool_scratch(v->cpu->pool, thread, gemm_side(GEMM_M, GEMM_N, DW_PIXELS));
    MapFn add = v->cpu->kernels->map[OP_ADD][v->dtype];
    for (int64_t t = begin; t < end; t++) {
        int64_t tile = t % v->tiles, group = t / v->tiles % v->s.groups;
        int64_t block = t / v->tiles / v->s.groups;
        int64_t k = tile * GEMM_N, width = v->K - k < GEMM_N ? v->K - k : GEMM_N;
        char *to = v->y + ((block * v->s.groups + group) * v->O * v->K + k) * v->size;
        for (int64_t m = 0; m < v->O; m++)
            memset(to + m * v->K * v->size, 0, (size_t)(width * v->size));
        int64_t last = (block + 1) * v->images < v->s.N ? (block + 1) * v->images : v->s.N;
        for (int64_t i = block * v->images * v->blocks; i < last * v->blocks; i++) {
            int64_t image = i / v->blocks, p = i % v->blocks * DW_PIXELS;
            int64_t n = v->out - p < DW_PIXELS ? v->out - p : DW_PIXELS;
            int64_t at = image * v->s.groups + group;
            const char *dy = v->dy + (at * v->O * v->out + p) * v->size;
            columns_fill(v, v->x + at * v->C * v->in * v->size, k, k + width, p, n, columns,
                         DW_PIXELS);
            for (int64_t m = 0; m < v->O; m += GEMM_M) {
                int64_t h = v->O - m < GEMM_M ? v->O - m : GEMM_M;
                v->cpu->kernels->gemm[v->dtype](h, width, n, dy + m * v->out * v->size, v->out, 1,
                                                columns, 1, DW_PIXELS, part, GEMM_N, side, NULL);
                for (int64_t r = 0; r < h; r++) {
                    char *sum = to + (m + r) * v->K * v->size;
                    add(width, sum, (const void *const[]){sum, part + r * GEMM_N * v->size}, 0);
                }
            }
        }
    }
}

bool cpu_CONV_DW(Cpu *c, const Call *call, Err *err) {
    Conv v;
    const View *x = &call->in[0], *dy = &call->in[1];
    const TensorType *w = &call->out[0].type;
    int64_t n = type_numel(w);
    if (n == 0) return true;
    conv_init(&v, c, call, &x->type, w, &dy->type);
    if (v.s.N == 0) {
        memset(call->out[0].data, 0, (size_t)(n * v.size));
        return true;
    }
    v.K = v.C * window_volume(v.s.window.kernel);
    v.tiles = (v.K + GEMM_N - 1) / GEMM_N, v.blocks = (v.out + DW_PIXELS - 1) / DW_PIXELS;
    int64_t units = v.tiles * v.s.groups;
    v.images = conv_leaf(v.out);
    v.image_blocks = (v.s.N + v.images - 1) / v.images;
    v.x = row_major(c, call, x, err);
    v.dy = v.x ? row_major(c, call, dy, err) : NULL;
    if (!v.dy) return false;
    Outcome done = by_library(&v, call, DNNL_CONV_DW, v.x, v.dy, err);
    if (done != NOT_FOR_IT) return done == DONE;
    v.y = call->out[0].data;
    if (v.image_blocks > 1 && !(v.y = cpu_side(c, call, v.image_blocks * n * v.size, err)))
        return false;
    if (!columns_new(&v, call, (GEMM_N * DW_PIXELS + GEMM_M * GEMM_N) * v.size, err)) return false;
    int64_t cost = v.O * GEMM_N * v.out / 8 * v.images;
    cpu_ranges(c, v.image_blocks * units, cpu_part(cost), weights_range, &v);
    if (v.image_blocks == 1) return true;
    MapFn add = c->kernels->map[OP_ADD][v.dtype];
    for (int64_t s = 1; s < v.image_blocks; s *= 2)
        for (int64_t b = 0; b + s < v.image_blocks; b += 2 * s) {
            char *left = v.y + b * n * v.size;
            add(n, left, (const void *const[]){left, left + s * n * v.size}, 0);
        }
    memcpy(call->out[0].data, v.y, (size_t)(n * v.size));
    return true;
}
