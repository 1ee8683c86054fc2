/* dnnl_conv.c: convolutions by oneDNN, see dnnl.h. The library is fast only with layouts of its own
 * (on rows of planes up to ten times slower). So an image is: converting it to the library's
 * layout, the convolution, converting the result back; all in memory that stays in the cache.
 * Weights are converted once for all images. Each image is a call of its own, so its bits do not
 * depend on the others: the library chooses its method also by their number. (That costs 3 %
 * on the mean of eight shapes, and 14 % with images of 64 x 7 x 7 and AVX-512.) A tile
 * is some images, and some of the result's channels if there are few images, on one thread of the
 * pool. A weight gradient is computed per leaf of images (conv_leaf), and leaves are added in the
 * tree of runtime/base/tree.h, so that its bits do not depend on which worker has which. Where a
 * conversion would cost more than it gains (1 x 1, few input channels), images keep their layout.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/tree.h"
#include "runtime/infer/window.h"
#include "worker/dnnl/dnnl_core.h"
#include <stdlib.h>
#include <string.h>

#ifndef HAS_DNNL
bool dnnl_conv_plan(Dnnl *d, const DnnlConv *s, DnnlPlan *p) { return false; }
int64_t dnnl_conv_bytes(const Dnnl *d, const DnnlPlan *p) { return 0; }
void dnnl_conv_run(Dnnl *d, const DnnlPlan *p, const float *a, const float *b, float *out,
                   void *side) {}
#else

enum { ENTRIES = 256, HEADS = 512 };
enum { A, B, OUT, SCRATCH, N_MEMORIES }; /* operands, result, the library's scratchpad */

/* State of one thread for running an entry: memory objects with plain layout and the library's. */
typedef struct ConvSlot {
    dnnl_memory_t plain[3], own[N_MEMORIES];
} ConvSlot;

/* One tile's primitives. */
typedef struct ConvEntry {
    DnnlConv s; /* of an image, or of a weight gradient's tile ... */
    int64_t r;  /* ... and its channels of the result of s */
    bool is_unfit;
    dnnl_primitive_t conv, reorder[3]; /* reorder NULL: plain and own layout are the same */
    dnnl_memory_desc_t plain[3], own[N_MEMORIES];
    int64_t bytes[N_MEMORIES]; /* of own; of operands only if they are converted */
    ConvSlot *slot;            /* one per thread */
    uint64_t used;
    struct ConvEntry *next;
} ConvEntry;

typedef struct DnnlConvolutions {
    ConvEntry *head[HEADS];
    int n_entries;
} Convolutions;

static int64_t volume(const int64_t v[3]) { return v[0] * v[1] * v[2]; }
static int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* ---- Primitives ---- */

static void entry_free(Dnnl *d, ConvEntry *e) {
    for (int t = 0; e->slot && t < d->n_threads; t++) {
        for (int k = 0; k < N_MEMORIES; k++) {
            if (k < 3 && e->slot[t].plain[k]) d->api.dnnl_memory_destroy(e->slot[t].plain[k]);
            if (e->slot[t].own[k]) d->api.dnnl_memory_destroy(e->slot[t].own[k]);
        }
    }
    for (int k = 0; k < 3; k++)
        if (e->reorder[k]) d->api.dnnl_primitive_destroy(e->reorder[k]);
    if (e->conv) d->api.dnnl_primitive_destroy(e->conv);
    free(e->slot);
    free(e);
}

void dnnl_convolutions_free(Dnnl *d) {
    for (int h = 0; d->convolutions && h < HEADS; h++) {
        while (d->convolutions->head[h]) {
            ConvEntry *e = d->convolutions->head[h];
            d->convolutions->head[h] = e->next;
            entry_free(d, e);
        }
    }
    free(d->convolutions);
}

/* The dimensions of x, w or y for the library: with groups, weights have one more axis. */
typedef struct Dims {
    int n;
    dnnl_dims_t dim, stride;
} Dims;

static void add_dim(Dims *m, int64_t extent, int64_t stride) {
    m->dim[m->n] = extent, m->stride[m->n++] = stride;
}
static void add_spatial(Dims *m, const int64_t v[3], int lead) {
    for (int i = lead; i < 3; i++) {
        int64_t stride = 1;
        for (int k = i + 1; k < 3; k++) stride *= v[k];
        add_dim(m, v[i], stride);
    }
}
static Dims image_dims(int64_t n, int64_t channels, int64_t all_channels, const int64_t v[3],
                       int lead) {
    Dims m = {0};
    add_dim(&m, n, all_channels * volume(v));
    add_dim(&m, channels, volume(v));
    add_spatial(&m, v, lead);
    return m;
}
static Dims weight_dims(const DnnlConv *s, int64_t C, int64_t O, int lead) {
    Dims m = {0};
    int64_t g = s->groups, k = volume(s->kernel), row = s->C / g * k;
    if (g > 1) add_dim(&m, g, O / g * row);
    add_dim(&m, O / g, row);
    add_dim(&m, C / g, k);
    add_spatial(&m, s->kernel, lead);
    return m;
}

/* True if converting layouts would cost more than it gains. */
static bool is_plain(const DnnlConv *s) {
    bool is_1x1 = s->groups == 1;
    for (int i = 0; i < 3; i++)
        if (s->kernel[i] != 1 || s->stride[i] != 1 || s->padding[i] != 0) is_1x1 = false;
    return is_1x1 || (s->kind == DNNL_CONV_DX && s->groups == 1 && s->C <= 4);
}

/* Returns the primitive's description; NULL: the library has no implementation, or only its slow
 * reference. */
static dnnl_primitive_desc_t describe(Dnnl *d, const DnnlConv *s, const dnnl_memory_desc_t m[3],
                                      dnnl_primitive_attr_t attr, int lead) {
    const dnnl_memory_desc_t *x = &m[s->kind == DNNL_CONV_DX ? OUT : A];
    const dnnl_memory_desc_t *w = &m[s->kind == DNNL_CONV_DW ? OUT : B];
    const dnnl_memory_desc_t *y = &m[s->kind == DNNL_CONV ? OUT : s->kind == DNNL_CONV_DX ? A : B];
    dnnl_dims_t stride, gap, padding;
    for (int i = lead; i < 3; i++) {
        int k = i - lead;
        stride[k] = s->stride[i], gap[k] = s->dilation[i] - 1, padding[k] = s->padding[i];
    }
    dnnl_convolution_desc_t desc;
    dnnl_primitive_desc_t forward, pd = NULL;
    const dnnl_alg_kind_t direct = dnnl_convolution_direct;
    if (d->api.dnnl_dilated_convolution_forward_desc_init(
            &desc, dnnl_forward_training, direct, x, w, NULL, y, stride, gap, padding, padding) ||
        d->api.dnnl_primitive_desc_create(&forward, &desc, attr, d->engine, NULL))
        return NULL;
    if (s->kind == DNNL_CONV) {
        pd = forward;
    } else {
        dnnl_status_t status =
            s->kind == DNNL_CONV_DX
                ? d->api.dnnl_dilated_convolution_backward_data_desc_init(
                      &desc, direct, x, w, y, stride, gap, padding, padding)
                : d->api.dnnl_dilated_convolution_backward_weights_desc_init(
                      &desc, direct, x, w, NULL, y, stride, gap, padding, padding);
        if (status || d->api.dnnl_primitive_desc_create(&pd, &desc, attr, d->engine, forward))
            pd = NULL;
        d->api.dnnl_primitive_desc_destroy(forward);
    }
    const char *name = "";
    if (pd && (d->api.dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) ||
               strstr(name, "ref"))) {
        d->api.dnnl_primitive_desc_destroy(pd);
        pd = NULL;
    }
    return pd;
}

static bool make_reorder(Dnnl *d, ConvEntry *e, int k) {
    const dnnl_memory_desc_t *from = k == OUT ? &e->own[k] : &e->plain[k];
    const dnnl_memory_desc_t *to = k == OUT ? &e->plain[k] : &e->own[k];
    dnnl_primitive_desc_t pd;
    if (d->api.dnnl_reorder_primitive_desc_create(&pd, from, d->engine, to, d->engine, NULL))
        return false;
    bool ok = !d->api.dnnl_primitive_create(&e->reorder[k], pd);
    d->api.dnnl_primitive_desc_destroy(pd);
    return ok;
}

static const dnnl_query_t queries[3][3] = {
    [DNNL_CONV] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
    [DNNL_CONV_DX] = {dnnl_query_diff_dst_md, dnnl_query_weights_md, dnnl_query_diff_src_md},
    [DNNL_CONV_DW] = {dnnl_query_src_md, dnnl_query_diff_dst_md, dnnl_query_diff_weights_md},
};

/* Makes everything except the slots' memories. Returns false if the library is not suitable. */
static bool entry_make(Dnnl *d, ConvEntry *e) {
    const DnnlConv *s = &e->s;
    bool is_flat = s->in[0] == 1 && s->out[0] == 1 && s->kernel[0] == 1;
    int lead = is_flat ? 1 : 0;
    int64_t C = s->kind == DNNL_CONV_DX ? e->r : s->C, O = s->kind == DNNL_CONV_DX ? s->O : e->r;
    Dims x = image_dims(s->N, C, s->C, s->in, lead), y = image_dims(s->N, O, s->O, s->out, lead);
    Dims w = weight_dims(s, C, O, lead);
    const Dims *dims[3][3] = {{&x, &w, &y}, {&y, &w, &x}, {&x, &y, &w}};
    dnnl_memory_desc_t wanted[3];
    for (int k = 0; k < 3; k++) {
        const Dims *m = dims[s->kind][k];
        if (d->api.dnnl_memory_desc_init_by_strides(&e->plain[k], m->n, m->dim, dnnl_f32,
                                                    m->stride) ||
            d->api.dnnl_memory_desc_init_by_tag(&wanted[k], m->n, m->dim, dnnl_f32,
                                                dnnl_format_tag_any))
            return false;
        if (is_plain(s)) wanted[k] = e->plain[k];
    }
    dnnl_primitive_attr_t attr;
    MUST(dnnl_primitive_attr_create(&attr));
    MUST(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    dnnl_primitive_desc_t pd = describe(d, s, wanted, attr, lead);
    d->api.dnnl_primitive_attr_destroy(attr);
    if (!pd) return false;
    for (int k = 0; k < 3; k++)
        e->own[k] = *d->api.dnnl_primitive_desc_query_md(pd, queries[s->kind][k], 0);
    e->own[SCRATCH] = *d->api.dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    bool ok = !d->api.dnnl_primitive_create(&e->conv, pd);
    d->api.dnnl_primitive_desc_destroy(pd);
    for (int k = 0; k < N_MEMORIES && ok; k++) {
        if (k < 3 && d->api.dnnl_memory_desc_equal(&e->own[k], &e->plain[k])) continue;
        e->bytes[k] = rounded((int64_t)d->api.dnnl_memory_desc_get_size(&e->own[k]));
        ok = k == SCRATCH || make_reorder(d, e, k);
    }
    return ok;
}

static size_t conv_hash(const DnnlConv *s, int64_t r) {
    uint64_t h = (uint64_t)r;
    const int64_t *v = (const int64_t *)s;
    for (size_t i = 0; i < sizeof *s / sizeof *v; i++)
        h = (h ^ (uint64_t)v[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 32;
    return (size_t)h % HEADS;
}

static void evict_oldest(Dnnl *d) {
    ConvEntry **oldest = NULL;
    for (int h = 0; h < HEADS; h++)
        for (ConvEntry **at = &d->convolutions->head[h]; *at; at = &(*at)->next)
            if (!oldest || (*at)->used < (*oldest)->used) oldest = at;
    ConvEntry *e = *oldest;
    *oldest = e->next;
    entry_free(d, e);
    d->convolutions->n_entries--;
}

static ConvEntry *entry_get(Dnnl *d, const DnnlConv *s, int64_t r) {
    if (!d->convolutions) d->convolutions = xcalloc(1, sizeof *d->convolutions);
    ConvEntry **head = &d->convolutions->head[conv_hash(s, r)];
    for (ConvEntry *e = *head; e; e = e->next) {
        if (e->r != r || memcmp(&e->s, s, sizeof *s)) continue;
        e->used = ++d->uses;
        return e;
    }
    if (d->convolutions->n_entries == ENTRIES) evict_oldest(d);
    d->api.omp_set_num_threads(1);
    ConvEntry *e = xcalloc(1, sizeof *e);
    e->s = *s, e->r = r, e->used = ++d->uses;
    e->slot = xcalloc((size_t)d->n_threads, sizeof *e->slot);
    e->is_unfit = !entry_make(d, e);
    e->next = *head;
    *head = e;
    d->convolutions->n_entries++;
    return e;
}

/* ---- Tiles ---- */

enum {
    TILE_BYTES = 1 << 20, /* of a tile's images: about half of a core's cache */
    TILES = 16,           /* of images, at most */
    PARTS = 8,            /* tiles that keep several threads busy */
    UNIT = 16,            /* a part of so many channels, or several times, has the bits of all */
    CHANNELS = 64,        /* at least, per tile: its other operand is converted each time */
    TABLE = 1 << 22,      /* elements of the sums of leaves that are computed at a time, about */
    SMALL = 1 << 23       /* multiplications that are not worth splitting */
};

static int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

static void tile_sizes(const Dnnl *d, const DnnlConv *s, DnnlPlan *p) {
    int64_t row = s->C / s->groups * volume(s->kernel), result = s->O * volume(s->out);
    int64_t all = s->kind == DNNL_CONV_DX ? s->C : s->O; /* channels of the result */
    int64_t image = 4 * (s->C * volume(s->in) + result);
    double work = (double)s->N * (double)result * (double)row;
    if (s->kind == DNNL_CONV_DW) {
        p->n = conv_leaf(volume(s->out));
        work = (double)p->n * (double)result * (double)row;
        for (p->round = 1; p->round < PARTS && 2 * p->round * s->O * row <= TABLE;) p->round *= 2;
    } else {
        p->n = TILE_BYTES / image;
        if (p->n > divided(s->N, TILES)) p->n = divided(s->N, TILES);
    }
    if (p->n < 1) p->n = 1;
    if (work < SMALL && s->kind != DNNL_CONV_DW) p->n = s->N;
    p->tiles_n = divided(s->N, p->n);
    p->r = all;
    bool is_dw = s->kind == DNNL_CONV_DW, is_few = is_dw ? p->round < PARTS : p->tiles_n < PARTS;
    /* A gradient of weights is always cut alike, other results only if there are few images. For a
     * last part of a few channels the library would choose another method. */
    bool may_split = is_dw || (d->may_split && all % UNIT == 0);
    if (may_split && s->groups == 1 && !is_plain(s) && work >= SMALL && is_few) {
        int64_t parts = divided(PARTS, is_dw ? p->round : p->tiles_n);
        p->r = divided(divided(all, parts), CHANNELS) * CHANNELS;
        if (p->r > all) p->r = all;
    }
    p->tiles_r = divided(all, p->r);
}

bool dnnl_conv_plan(Dnnl *d, const DnnlConv *s, DnnlPlan *p) {
    *p = (DnnlPlan){.s = *s};
    tile_sizes(d, s, p);
    int64_t all = s->kind == DNNL_CONV_DX ? s->C : s->O;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            if ((!i && p->tiles_n == 1) || (!j && p->tiles_r == 1)) continue;
            DnnlConv tile = *s;
            if (s->kind != DNNL_CONV_DW)
                tile.N = 1;
            else
                tile.N = i ? s->N - (p->tiles_n - 1) * p->n : p->n;
            int64_t r = j ? all - (p->tiles_r - 1) * p->r : p->r;
            ConvEntry *e = p->entry[i][j] = entry_get(d, &tile, r);
            if (e->is_unfit) return false;
            int64_t bytes = e->bytes[A] + e->bytes[OUT] + e->bytes[SCRATCH];
            if (s->kind == DNNL_CONV_DW)
                bytes += e->bytes[B];
            else if (e->bytes[B] > p->b_bytes)
                p->b_bytes = e->bytes[B];
            if (bytes > p->tile_bytes) p->tile_bytes = bytes;
        }
    }
    /* Tiles of images share the weights, so they must agree on their layout. */
    for (int j = 0; j < 2 && p->b_bytes && p->tiles_n > 1; j++) {
        ConvEntry *first = p->entry[0][j], *last = p->entry[1][j];
        if (first && !d->api.dnnl_memory_desc_equal(&first->own[B], &last->own[B])) return false;
    }
    if (s->kind == DNNL_CONV_DW && p->tiles_n > 1)
        p->table_bytes = rounded(4 * (p->round + tree_depth(divided(p->tiles_n, p->round)) + 1) *
                                 s->O * (s->C / s->groups) * volume(s->kernel));
    return true;
}

int64_t dnnl_conv_bytes(const Dnnl *d, const DnnlPlan *p) {
    return p->tile_bytes * d->n_threads + p->b_bytes * p->tiles_r + p->table_bytes;
}

/* ---- Running ---- */

typedef struct Run {
    Dnnl *d;
    const DnnlPlan *p;
    const float *a, *b;
    float *out, *table;
    char *tiles, *weights;
    int64_t sum_n;         /* elements of a gradient */
    int64_t first, leaves; /* of this round */
} Run;

/* Returns the thread's memory object with this layout, set to these data. */
static dnnl_memory_t memory_at(Dnnl *d, dnnl_memory_t *m, const dnnl_memory_desc_t *desc,
                               const void *data) {
    if (*m)
        MUST(dnnl_memory_set_data_handle(*m, (void *)data));
    else
        MUST(dnnl_memory_create(m, desc, d->engine, (void *)data));
    return *m;
}

/* Converts operand or result k between plain and own layout. */
static void reorder(Dnnl *d, ConvEntry *e, int thread, int k, const void *plain, const void *own) {
    ConvSlot *s = &e->slot[thread];
    dnnl_memory_t p = memory_at(d, &s->plain[k], &e->plain[k], plain);
    dnnl_memory_t o = memory_at(d, &s->own[k], &e->own[k], own);
    dnnl_exec_arg_t arg[2] = {{DNNL_ARG_FROM, k == OUT ? o : p}, {DNNL_ARG_TO, k == OUT ? p : o}};
    MUST(dnnl_primitive_execute(e->reorder[k], dnnl_thread_stream(d, thread), 2, arg));
}

static void weights_part(void *ctx, int part, int thread) {
    const Run *r = ctx;
    const DnnlPlan *p = r->p;
    ConvEntry *e = p->entry[1][part == p->tiles_r - 1];
    int64_t kernel = volume(p->s.kernel), first = part * p->r;
    int64_t step = p->s.kind == DNNL_CONV_DX ? kernel : p->s.C / p->s.groups * kernel;
    reorder(r->d, e, thread, B, r->b + first * step, r->weights + part * p->b_bytes);
}

/* Executes e for the image, or the block of images, at x and y, and channels from `channel` on. */
static void execute(const Run *r, ConvEntry *e, int64_t x, int64_t y, int64_t tile, int thread) {
    static const int kinds[3][N_MEMORIES] = {
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD},
        {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC, DNNL_ARG_SCRATCHPAD},
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_SCRATCHPAD},
    };
    const DnnlPlan *p = r->p;
    const DnnlConv *s = &p->s;
    Dnnl *d = r->d;
    int64_t i = tile / p->tiles_r, j = tile % p->tiles_r, channel = j * p->r;
    int64_t in = volume(s->in), out = volume(s->out), kernel = volume(s->kernel);
    int64_t row = s->C / s->groups * kernel;
    const float *at[3] = {r->a, r->b, r->out};
    switch (s->kind) {
    case DNNL_CONV: at[A] += x, at[B] += channel * row, at[OUT] += y + channel * out; break;
    case DNNL_CONV_DX: at[A] += y, at[B] += channel * kernel, at[OUT] += x + channel * in; break;
    default:
        at[A] += x, at[B] += y + channel * out;
        at[OUT] = (r->table ? r->table + (i - r->first) * r->sum_n : r->out) + channel * row;
    }
    char *side = r->tiles + thread * p->tile_bytes;
    const void *own[N_MEMORIES];
    dnnl_exec_arg_t arg[N_MEMORIES];
    for (int k = 0; k < N_MEMORIES; k++) {
        bool is_shared = k == B && s->kind != DNNL_CONV_DW && e->reorder[B];
        if (is_shared)
            own[k] = r->weights + j * p->b_bytes;
        else if (k < 3 && !e->reorder[k])
            own[k] = at[k];
        else
            own[k] = side, side += e->bytes[k];
        if (k < OUT && e->reorder[k] && !is_shared) reorder(d, e, thread, k, at[k], own[k]);
        arg[k].arg = kinds[s->kind][k];
        arg[k].memory = memory_at(d, &e->slot[thread].own[k], &e->own[k], own[k]);
    }
    MUST(dnnl_primitive_execute(e->conv, dnnl_thread_stream(d, thread), N_MEMORIES, arg));
    if (e->reorder[OUT]) reorder(d, e, thread, OUT, at[OUT], own[OUT]);
}

static void tile_part(void *ctx, int part, int thread) {
    const Run *r = ctx;
    const DnnlPlan *p = r->p;
    const DnnlConv *s = &p->s;
    part += (int)(r->first * p->tiles_r);
    int64_t i = part / p->tiles_r, j = part % p->tiles_r;
    int64_t x = s->C * volume(s->in), y = s->O * volume(s->out);
    int64_t n = i * p->n, end = n + p->n < s->N ? n + p->n : s->N;
    ConvEntry *e = p->entry[i == p->tiles_n - 1][j == p->tiles_r - 1];
    int64_t step = s->kind == DNNL_CONV_DW ? p->n : 1;
    for (; n < end; n += step) execute(r, e, n * x, n * y, part, thread);
}

/* Adds up the round's leaves, then the nodes that end with them. Nodes whose right half is not
 * there yet wait behind the leaves in the table, level by level. */
enum { SUM_PART = 4 * 1024 };
static void sum_part(void *ctx, int part, int thread) {
    const Run *r = ctx;
    const DnnlPlan *p = r->p;
    int64_t begin = (int64_t)part * SUM_PART, n = r->sum_n - begin, node = r->first / p->round;
    if (n > SUM_PART) n = SUM_PART;
    float *sum = r->table + begin, *level = sum + p->round * r->sum_n;
    for (int64_t s = 1; s < r->leaves; s *= 2)
        for (int64_t b = 0; b + s < r->leaves; b += 2 * s) {
            float *left = sum + b * r->sum_n;
            const float *right = left + s * r->sum_n;
            for (int64_t i = 0; i < n; i++) left[i] += right[i];
        }
    const bool is_last = r->first + r->leaves == p->tiles_n;
    const int waits = is_last ? tree_depth(node + 1) : tree_waits(node);
    for (int l = 0; l < waits; l++)
        for (int64_t i = 0; node >> l & 1 && i < n; i++) sum[i] = level[l * r->sum_n + i] + sum[i];
    memcpy(is_last ? r->out + begin : level + waits * r->sum_n, sum, sizeof *sum * (size_t)n);
}

void dnnl_conv_run(Dnnl *d, const DnnlPlan *p, const float *a, const float *b, float *out,
                   void *side) {
    Run r = {.d = d, .p = p, .a = a, .b = b, .out = out, .tiles = side};
    r.weights = r.tiles + p->tile_bytes * d->n_threads;
    if (p->table_bytes) r.table = (float *)(r.weights + p->b_bytes * p->tiles_r);
    r.sum_n = p->s.O * (p->s.C / p->s.groups) * volume(p->s.kernel);
    if (p->b_bytes) pool_run(d->pool, (int)p->tiles_r, weights_part, &r);
    for (r.leaves = p->tiles_n; r.first < p->tiles_n; r.first += r.leaves) {
        if (r.table) r.leaves = p->tiles_n - r.first < p->round ? p->tiles_n - r.first : p->round;
        pool_run(d->pool, (int)(r.leaves * p->tiles_r), tile_part, &r);
        if (r.table) pool_run(d->pool, (int)divided(r.sum_n, SUM_PART), sum_part, &r);
    }
}
#endif
