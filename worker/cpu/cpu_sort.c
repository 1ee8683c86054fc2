/* cpu_sort.c: order along an axis: argmax, argmin, sort, argsort, topk, cumsum. Sorting maps each
 * value to an unsigned key of the same order (nan above everything, -0 equal to 0, all bits flipped
 * if descending) and sorts (key, position) pairs stably: few by insertion, many by radix, skipping
 * digits that all keys share. A topk of few values selects them without sorting.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include <math.h>
#include <string.h>

/* ---- Lines ---- */

/* All lines of x along `axis`; operand 0 is x, operand 1 the output. */
typedef struct LineRun {
    Loop lines;
    int64_t n, in_stride, out_stride;
    const View *x;
    char *out;
    int64_t *position;
    int64_t count;    /* elements of a line to be returned */
    int64_t out_size; /* of an element of out */
    DType dtype;
    int sign;
    bool descends;
    char *items; /* SORT_BYTES for each element of a line, per thread */
    const Kernels *kernels;
    Pool *pool;
} LineRun;

static void lines_init(LineRun *r, const View *x, const View *out, int axis) {
    View in = *x, o = *out;
    view_strides(&o.type, o.stride);
    r->n = x->type.shape[axis];
    r->in_stride = x->stride[axis], r->out_stride = o.stride[axis];
    in.type.shape[axis] = o.type.shape[axis] = 1;
    loop_init(&r->lines, &in.type, (const View *const[]){&in, &o}, 2);
    r->x = x, r->out = out->data, r->dtype = (DType)x->type.dtype;
}

/* ---- Largest and smallest ---- */

/* The kernel gets lines that are strided, long or of halves in pieces. */
enum { PIECE = 4096 };
static int64_t best_line(const LineRun *r, const char *x, int64_t stride, int64_t n, int thread) {
    bool is_half = dtype_is_half(r->dtype), largest = r->sign > 0;
    int size = view_size(r->x);
    BestFn fn = r->kernels->best[is_half ? DT_F32 : r->dtype];
    if (!is_half && stride == 1 && n <= PIECE) return fn(n, x, largest);
    char *wide = pool_scratch(r->pool, thread, PIECE * 12), *side = wide + PIECE * 4;
    uint64_t top = 0;
    int64_t best = 0;
    for (int64_t begin = 0; begin < n; begin += PIECE) {
        int64_t m = n - begin < PIECE ? n - begin : PIECE;
        const void *from = x + begin * stride * size;
        if (stride != 1) copy_strided(side, from, stride, m, size), from = side;
        if (is_half) r->kernels->cast[r->dtype][DT_F32](m, wide, (const void *const[]){from}, 0);
        int64_t i = begin + fn(m, is_half ? wide : from, largest);
        uint64_t key = cpu_key(r->dtype, x + i * stride * size);
        bool is_nan = dtype_is_float(r->dtype) && key == cpu_key_nan(r->dtype);
        if (is_nan) return i;
        if (!largest) key = ~key;
        if (begin == 0 || key > top) top = key, best = i;
        if (begin % (64 * PIECE) == 0 && pool_is_cancelled(r->pool, thread)) break;
    }
    return best;
}

/* Adjacent lines are walked together. */
static void best_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const LineRun *r = ctx;
    int inner = r->lines.rank - 1;
    int64_t length = inner >= 0 ? r->lines.shape[inner] : 1, n;
    bool are_columns = inner >= 0 && r->lines.stride[0][inner] == 1 && r->in_stride != 1 &&
                       !dtype_is_half(r->dtype) && r->n <= INT32_MAX;
    for (int64_t i = begin; i < end; i += n) {
        const char *x = view_at(r->x, loop_offset(&r->lines, 0, i));
        n = length - i % length;
        if (n > BEST_COLUMNS) n = BEST_COLUMNS;
        if (n > end - i) n = end - i;
        if (!are_columns) n = 1;
        if (n > 1)
            r->kernels->best_columns[r->dtype](r->n, n, x, r->in_stride, r->sign > 0,
                                               r->position + i);
        else
            r->position[i] = best_line(r, x, r->in_stride, r->n, thread);
    }
}

static bool arg_reduce(Cpu *c, const Call *call, int sign, Err *err) {
    const View *x = &call->in[0];
    const Attr *axis = inst_attr(call->inst, ATTR_AXIS);
    int64_t *out = call->out[0].data;
    if (type_numel(&x->type) == 0) return true;
    LineRun r = {.position = out, .sign = sign, .kernels = c->kernels, .pool = c->pool};
    if (axis) {
        lines_init(&r, x, x, (int)axis->ints[0]);
        int64_t part = cpu_part(r.n);
        if (r.in_stride != 1 && part < 64) part = 64; /* columns: whole cache lines */
        cpu_ranges(c, r.lines.n, part, best_range, &r);
        return true;
    }
    int64_t n = type_numel(&x->type);
    r.x = x, r.dtype = (DType)x->type.dtype;
    if (view_is_contiguous(x)) {
        *out = best_line(&r, x->data, 1, n, 0);
        return true;
    }
    void *side = cpu_side(c, call, n * view_size(x), err);
    if (!side) return false;
    cpu_copy(c, x, side);
    *out = best_line(&r, side, 1, n, 0);
    return true;
}
bool cpu_ARGMAX(Cpu *c, const Call *call, Err *err) { return arg_reduce(c, call, 1, err); }
bool cpu_ARGMIN(Cpu *c, const Call *call, Err *err) { return arg_reduce(c, call, -1, err); }

/* ---- Sorting ---- */

typedef struct Item {
    uint64_t key;
    int64_t position;
} Item;

uint64_t cpu_key(DType d, const void *p) {
    switch (d) {
    case DT_I8: return (uint8_t)(*(const uint8_t *)p ^ 0x80);
    case DT_F16:
    case DT_BF16: {
        uint16_t u = *(const uint16_t *)p;
        if ((u & 0x7fff) > (d == DT_F16 ? 0x7c00 : 0x7f80)) return UINT16_MAX;
        if (u == 0x8000) u = 0; /* -0 becomes 0 */
        return u >> 15 ? (uint16_t)~u : u | 0x8000u;
    }
    case DT_I32: return (uint32_t) * (const int32_t *)p ^ UINT32_C(0x80000000);
    case DT_I64: return (uint64_t) * (const int64_t *)p ^ UINT64_C(1) << 63;
    case DT_F32: {
        float f = *(const float *)p;
        if (isnan(f)) return UINT32_MAX;
        f += 0.0f; /* -0 becomes 0 */
        uint32_t u;
        memcpy(&u, &f, 4);
        return u >> 31 ? ~u : u | UINT32_C(0x80000000);
    }
    case DT_F64: {
        double f = *(const double *)p;
        if (isnan(f)) return UINT64_MAX;
        f += 0.0;
        uint64_t u;
        memcpy(&u, &f, 8);
        return u >> 63 ? ~u : u | UINT64_C(1) << 63;
    }
    default: return *(const uint8_t *)p;
    }
}

uint64_t cpu_key_nan(DType d) {
    return dtype_is_half(d)    ? UINT16_MAX
           : d == DT_F32       ? UINT32_MAX
           : dtype_is_float(d) ? UINT64_MAX
                               : 0;
}

/* The memory for sorting one line: items and spare ones (8 or 16 bytes each), keys, and the
 * elements if they are not adjacent. Elements below 8 bytes have keys of 32 bits, and an item is
 * one number: key, then position. */
enum { SORT_BYTES = 48, FEW = 48 };
typedef struct SortLine {
    Item *item, *spare;
    uint64_t *narrow, *narrow_spare;
    void *key, *copy;
    const char *x; /* the elements, */
    int64_t step;  /* their distance */
    bool is_narrow;
} SortLine;

static void sort_line_init(SortLine *s, const LineRun *r, int64_t line, int thread) {
    char *p = r->items + thread * r->n * SORT_BYTES;
    int64_t n = r->n;
    s->item = (Item *)(void *)p, s->spare = s->item + n;
    s->narrow = (uint64_t *)(void *)p, s->narrow_spare = s->narrow + n;
    s->key = p + 32 * n, s->copy = p + 40 * n;
    s->is_narrow = view_size(r->x) < 8 && n <= UINT32_MAX;
    s->x = view_at(r->x, loop_offset(&r->lines, 0, line)), s->step = r->in_stride;
    bool is_copied = s->step != 1;
    const char *from = s->x;
    if (is_copied) s->x = s->copy, s->step = 1;
    int64_t size = view_size(r->x), key_size = size < 8 ? 4 : 8;
    for (int64_t i = 0, end; (end = pool_ahead(r->pool, thread, i, n)) > i; i = end) {
        const char *x = s->x + i * size;
        if (is_copied)
            copy_strided((char *)s->copy + i * size, from + i * r->in_stride * size, r->in_stride,
                         end - i, (int)size);
        r->kernels->keys[r->dtype](end - i, x, r->descends ? UINT64_MAX : 0,
                                   (char *)s->key + i * key_size);
    }
}
static uint64_t sort_key(const LineRun *r, const SortLine *s, int64_t i) {
    return view_size(r->x) < 8 ? ((const uint32_t *)s->key)[i] : ((const uint64_t *)s->key)[i];
}

/* Writes the elements at `position` as the first `count` of the line's results. */
static void sort_line_put(const LineRun *r, const SortLine *s, int64_t line, int64_t count,
                          const int64_t *position, int thread) {
    int64_t at = loop_offset(&r->lines, 1, line), step = r->out_stride;
#define PUT(T)                                                                                     \
    for (int64_t i = 0, end; (end = pool_ahead(r->pool, thread, i, count)) > i;)                   \
        for (; i < end; i++) ((T *)r->out)[at + i * step] = ((const T *)s->x)[position[i]];
    if (r->out) {
        switch (view_size(r->x)) {
        case 1: PUT(uint8_t) break;
        case 2: PUT(uint16_t) break;
        case 4: PUT(uint32_t) break;
        default: PUT(uint64_t)
        }
    }
#undef PUT
    for (int64_t i = 0; r->position && i < count; i++) r->position[at + i * step] = position[i];
}

/* NAME_few: insertion sort. NAME_many: radix sort, digits of 8 bits from bit LOW up, skipping those
 * that all keys share; returns a or spare, whichever has the result; NULL if cancelled.
 * Both are stable. */
#define SORT(NAME, T, KEY, LOW)                                                                    \
    static void NAME##_few(T *a, int64_t n) {                                                      \
        for (int64_t i = 1; i < n; i++) {                                                          \
            T v = a[i];                                                                            \
            int64_t j = i;                                                                         \
            for (; j > 0 && KEY(a[j - 1]) > KEY(v); j--) a[j] = a[j - 1];                          \
            a[j] = v;                                                                              \
        }                                                                                          \
    }                                                                                              \
    static T *NAME##_many(T *a, T *spare, int64_t n, Pool *p, int thread) {                        \
        uint64_t differs = 0;                                                                      \
        for (int64_t i = 0, end; (end = pool_ahead(p, thread, i, n)) > i;)                         \
            for (; i < end; i++) differs |= KEY(a[i]) ^ KEY(a[0]);                                 \
        for (int shift = LOW; shift < 64; shift += 8) {                                            \
            if (!(differs >> shift & 255)) continue;                                               \
            int64_t place[256] = {0}, sum = 0;                                                     \
            for (int64_t i = 0, end; (end = pool_ahead(p, thread, i, n)) > i;)                     \
                for (; i < end; i++) place[KEY(a[i]) >> shift & 255]++;                            \
            if (pool_is_cancelled(p, thread)) return NULL; /* positions are incomplete */          \
            for (int d = 0; d < 256; d++) {                                                        \
                int64_t count = place[d];                                                          \
                place[d] = sum;                                                                    \
                sum += count;                                                                      \
            }                                                                                      \
            for (int64_t i = 0, end; (end = pool_ahead(p, thread, i, n)) > i;)                     \
                for (; i < end; i++) spare[place[KEY(a[i]) >> shift & 255]++] = a[i];              \
            if (pool_is_cancelled(p, thread)) return NULL;                                         \
            T *t = a;                                                                              \
            a = spare;                                                                             \
            spare = t;                                                                             \
        }                                                                                          \
        return a;                                                                                  \
    }
#define ITEM_KEY(v)   ((v).key)
#define NARROW_KEY(v) (v)
SORT(sort_items, Item, ITEM_KEY, 0)
SORT(sort_narrow, uint64_t, NARROW_KEY, 32)

#define EACH(N, I)                                                                                 \
    for (int64_t I = 0, end_; (end_ = pool_ahead(r->pool, thread, I, N)) > I;)                     \
        for (; I < end_; I++)
static void sort_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const LineRun *r = ctx;
    int64_t n = r->n;
    for (int64_t line = begin; line < end; line++) {
        SortLine s;
        sort_line_init(&s, r, line, thread);
        int64_t *position;
        if (s.is_narrow) {
            const uint32_t *key = s.key;
            uint64_t *sorted = s.narrow;
            EACH(n, i) sorted[i] = (uint64_t)key[i] << 32 | (uint64_t)i;
            if (n < FEW)
                sort_narrow_few(sorted, n);
            else
                sorted = sort_narrow_many(sorted, s.narrow_spare, n, r->pool, thread);
            if (!sorted) return;
            EACH(n, i) sorted[i] &= UINT32_MAX;
            position = (int64_t *)sorted;
        } else {
            Item *sorted = s.item;
            EACH(n, i) sorted[i] = (Item){sort_key(r, &s, i), i};
            if (n < FEW)
                sort_items_few(sorted, n);
            else
                sorted = sort_items_many(sorted, s.spare, n, r->pool, thread);
            if (!sorted) return;
            position = s.key; /* no longer needed */
            EACH(n, i) position[i] = sorted[i].position;
        }
        if (pool_is_cancelled(r->pool, thread)) return;
        sort_line_put(r, &s, line, r->count, position, thread);
    }
}

#undef EACH

/* Selects few of many: keeps the best so far, in order, and skips all that are not below the last
 * of them. */
enum { MOST_SELECTED = 128 };
static void select_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const LineRun *r = ctx;
    BelowFn below = view_size(r->x) < 8 ? r->kernels->below_32 : r->kernels->below_64;
    int64_t k = r->count, position[MOST_SELECTED];
    Item best[MOST_SELECTED];
    for (int64_t line = begin; line < end; line++) {
        SortLine s;
        sort_line_init(&s, r, line, thread);
        for (int64_t i = 0; i < k; i++) best[i] = (Item){sort_key(r, &s, i), i};
        sort_items_few(best, k);
        for (int64_t i = k; (i = below(i, r->n, s.key, best[k - 1].key)) < r->n; i++) {
            uint64_t key = sort_key(r, &s, i);
            int64_t j = k - 1;
            for (; j > 0 && best[j - 1].key > key; j--) best[j] = best[j - 1];
            best[j] = (Item){key, i};
        }
        for (int64_t i = 0; i < k; i++) position[i] = best[i].position;
        sort_line_put(r, &s, line, k, position, thread);
    }
}

/* Writes the first `count` of each line in order: values to `value`, positions to `position`;
 * either may be NULL. */
static bool in_order(Cpu *c, const Call *call, bool descends, int64_t count, const View *value,
                     const View *position, Err *err) {
    const View *x = &call->in[0];
    int axis = (int)inst_attr(call->inst, ATTR_AXIS)->ints[0];
    if (type_numel(&x->type) == 0) return true;
    LineRun r = {.descends = descends, .kernels = c->kernels, .pool = c->pool};
    lines_init(&r, x, value ? value : position, axis);
    r.count = count < 0 ? r.n : count;
    r.out = value ? value->data : NULL;
    r.position = position ? position->data : NULL;
    if (r.count == 0) return true;
    int64_t part = cpu_part(r.n * 16), threads = r.lines.n > part ? pool_threads(c->pool) : 1;
    r.items = cpu_side(c, call, threads * r.n * SORT_BYTES, err);
    if (!r.items) return false;
    bool selects = r.count <= MOST_SELECTED && r.count <= r.n / 4;
    cpu_ranges(c, r.lines.n, part, selects ? select_range : sort_range, &r);
    return true;
}

bool cpu_SORT(Cpu *c, const Call *call, Err *err) {
    bool descends = inst_bool(call->inst, ATTR_DESCENDING, false);
    return in_order(c, call, descends, -1, &call->out[0], NULL, err);
}
bool cpu_ARGSORT(Cpu *c, const Call *call, Err *err) {
    bool descends = inst_bool(call->inst, ATTR_DESCENDING, false);
    return in_order(c, call, descends, -1, NULL, &call->out[0], err);
}
bool cpu_TOPK(Cpu *c, const Call *call, Err *err) {
    bool largest = inst_bool(call->inst, ATTR_LARGEST, true);
    return in_order(c, call, largest, inst_int(call->inst, ATTR_K, 0), &call->out[0], &call->out[1],
                    err);
}

/* ---- Running sums: element by element along the axis; floats in double ---- */

/* cumsum_S_few: FEW_LINES lines, whose sums do not wait for each other. cumsum_S_columns: ABREAST
 * adjacent lines, read row by row. */
enum { FEW_LINES = 4, ABREAST = 32 };
#define CUMSUM(ID, S, T, A, R)                                                                     \
    static void cumsum_##S(const T *x, int64_t in, R *out, int64_t step, int64_t n, Pool *p,       \
                           int thread) {                                                           \
        A sum = 0;                                                                                 \
        for (int64_t i = 0, end; (end = pool_ahead(p, thread, i, n)) > i;)                         \
            for (; i < end; i++) out[i * step] = (R)(sum += (A)x[i * in]);                         \
    }                                                                                              \
    static void cumsum_##S##_few(const void *const *from, int64_t in, void *const *to,             \
                                 int64_t step, int64_t n, Pool *p, int thread) {                   \
        const T *x = from[0], *y = from[1], *z = from[2], *w = from[3];                            \
        R *a = to[0], *b = to[1], *c = to[2], *d = to[3];                                          \
        A sum[FEW_LINES] = {0};                                                                    \
        for (int64_t i = 0, end; (end = pool_ahead(p, thread, i, n)) > i;)                         \
            for (; i < end; i++) {                                                                 \
                a[i * step] = (R)(sum[0] += (A)x[i * in]);                                         \
                b[i * step] = (R)(sum[1] += (A)y[i * in]);                                         \
                c[i * step] = (R)(sum[2] += (A)z[i * in]);                                         \
                d[i * step] = (R)(sum[3] += (A)w[i * in]);                                         \
            }                                                                                      \
    }                                                                                              \
    static void cumsum_##S##_columns(const T *x, int64_t in, R *out, int64_t step, int64_t n,      \
                                     Pool *p, int thread) {                                        \
        A sum[ABREAST] = {0};                                                                      \
        for (int64_t i = 0, end; (end = pool_ahead(p, thread, i, n)) > i;)                         \
            for (; i < end; i++)                                                                   \
                for (int c = 0; c < ABREAST; c++)                                                  \
                    out[i * step + c] = (R)(sum[c] += (A)x[i * in + c]);                           \
    }
CPU_DTYPES(CUMSUM)

/* How many lines from line i on are computed at a time: ABREAST adjacent ones, FEW_LINES or 1. */
static int64_t cumsum_lines(const LineRun *r, int64_t i, int64_t end) {
    int inner = r->lines.rank - 1;
    int64_t left = inner < 0 ? 0 : r->lines.shape[inner] - i % r->lines.shape[inner];
    bool are_adjacent =
        left >= ABREAST && r->lines.stride[0][inner] == 1 && r->lines.stride[1][inner] == 1;
    return are_adjacent && i + ABREAST <= end ? ABREAST : i + FEW_LINES <= end ? FEW_LINES : 1;
}

static void cumsum_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const LineRun *r = ctx;
    int64_t in = r->in_stride, out = r->out_stride, wide = r->out_size;
    for (int64_t i = begin, lines; i < end; i += lines) {
        const void *x[FEW_LINES];
        void *y[FEW_LINES];
        lines = cumsum_lines(r, i, end);
        for (int64_t k = 0; k < FEW_LINES && k < lines; k++) {
            x[k] = view_at(r->x, loop_offset(&r->lines, 0, i + k));
            y[k] = r->out + loop_offset(&r->lines, 1, i + k) * wide;
        }
        switch (r->dtype == DT_BOOL ? DT_U8 : r->dtype) {
#define CASE(ID, S, T, A, R)                                                                       \
    case DT_##ID:                                                                                  \
        if (lines == ABREAST)                                                                      \
            cumsum_##S##_columns(x[0], in, y[0], out, r->n, r->pool, thread);                      \
        else if (lines == FEW_LINES)                                                               \
            cumsum_##S##_few(x, in, y, out, r->n, r->pool, thread);                                \
        else                                                                                       \
            cumsum_##S(x[0], in, y[0], out, r->n, r->pool, thread);                                \
        break;
            CPU_DTYPES(CASE)
#undef CASE
        default: panic("cumsum of %s", dtype_info[r->dtype].name);
        }
    }
}
bool cpu_CUMSUM(Cpu *c, const Call *call, Err *err) {
    const View *x = &call->in[0];
    if (type_numel(&x->type) == 0) return true;
    LineRun r = {.pool = c->pool};
    lines_init(&r, x, &call->out[0], (int)inst_attr(call->inst, ATTR_AXIS)->ints[0]);
    r.out_size = view_size(&call->out[0]);
    int64_t part = cpu_part(r.n);
    if (r.in_stride != 1 && part < ABREAST) part = ABREAST;
    cpu_ranges(c, r.lines.n, part, cumsum_range, &r);
    return true;
}
