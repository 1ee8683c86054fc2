/* kernel_tile_body.h: the body of kernel_product.h for the type T, whose names end in SUFFIX. It is
 * included once per type, so it has no guard.
 * SPDX-License-Identifier: MIT */
typedef T NAME(vec) __attribute__((vector_size(VECTOR_BYTES)));
typedef T NAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
enum {
    NAME(L) = VECTOR_BYTES / sizeof(T), /* elements of a vector ... */
    NAME(PART) = 16 / sizeof(T)
}; /* ... and of a part of it, 16 bytes */
#define VEC            NAME(vec)
#define L              NAME(L)
#define PART           NAME(PART)
#define LOAD(p)        (*(const NAME(loose) *)(p))
#define STORE(p, v)    (*(NAME(loose) *)(p) = (v))
#define EACH_VECTOR(Q) _Pragma("GCC unroll 32") for (int Q = 0; Q < R * W; Q++)

/* What a kernel adds up: a chunk of one tile. Sums of nodes whose right half is not there yet wait
 * in `level`, one tile per level, vector by vector. */
typedef struct NAME(Tile) {
    const T *a, *b; /* at the chunk's first k; b's columns are adjacent */
    T *out;
    int64_t a_m, a_k, b_k, out_m;
    int64_t width;          /* columns of the result in this tile */
    int64_t K, chunk, last; /* last: the last leaf */
    int depth;              /* the level of the root */
    T *level[TREE_LEVELS];
} NAME(Tile);

/* The first n < L elements; the others are 0. */
static inline VEC NAME(load_head)(const T *p, int64_t n) {
#ifdef HEAD
    return NAME(LOAD_HEAD)(p, n);
#else
    T t[L];
    for (int64_t i = 0; i < L; i++) t[i] = i < n ? p[i] : 0;
    return LOAD(t);
#endif
}
static inline void NAME(store_head)(T *p, int64_t n, VEC v) {
#ifdef HEAD
    NAME(STORE_HEAD)(p, n, v);
#else
    T t[L];
    STORE(t, v);
    for (int64_t i = 0; i < n; i++) p[i] = t[i];
#endif
}

/* R rows by W vectors. are_columns: rows of a are adjacent. is_far: b comes from memory, in rows
 * too far apart for the processor to see a pattern. */
static inline __attribute__((always_inline)) void NAME(tile)(const int R, const int W,
                                                             const bool are_columns,
                                                             const bool is_far,
                                                             const NAME(Tile) * t) {
    const T *a = t->a, *b = t->b;
    const int64_t a_k = t->a_k, b_k = t->b_k, K = t->K, last = t->last;
    const int64_t first = t->chunk * CHUNK_LEAVES, after = first + CHUNK_LEAVES;
    int64_t k = first * LEAF;
    for (int64_t leaf = first; leaf < after && leaf <= last; leaf++) {
        int64_t end = leaf < last ? k + LEAF : K, at = 0;
        VEC acc[2 * TILE_M], v[WIDE];
        const T *row[TILE_M > ROWS_1 ? TILE_M : ROWS_1];
        EACH_VECTOR(q) acc[q] = (VEC){0};
        EACH_VECTOR(q) if (!are_columns && q % W == 0) row[q / W] = a + q / W * t->a_m;
        _Pragma("GCC unroll UNROLLED") for (; k < end; k++) {
            _Pragma("GCC unroll 8") for (int j = 0; j < W; j++) v[j] = LOAD(b + j * L);
            if (is_far)
                _Pragma("GCC unroll 8") for (int j = 0; j < W; j++)
                    __builtin_prefetch(b + ROWS_AHEAD * b_k + j * L);
            EACH_VECTOR(q) {
                VEC s = NAME(SPLAT)(are_columns ? a[q / W] : row[q / W][at]);
                acc[q] = NAME(FMA)(s, v[q % W], acc[q]);
            }
            if (are_columns)
                a += a_k;
            else
                at += a_k;
            b += b_k;
        }
        if (!are_columns) a += at;
        const int waits = leaf < last ? tree_waits(leaf) : t->depth;
        for (int l = 0; l < waits; l++) {
            const T *left = t->level[l];
            if (!(leaf >> l & 1)) continue; /* only on the way from the last leaf to the root */
            EACH_VECTOR(q) acc[q] = LOAD(left + q * L) + acc[q];
        }
        if (leaf < last) {
            T *left = t->level[waits];
            EACH_VECTOR(q) STORE(left + q * L, acc[q]);
            continue;
        }
        bool is_whole = t->width >= W * L;
        EACH_VECTOR(q) acc[q] += (VEC){0};
        EACH_VECTOR(q) {
            T *to = t->out + q / W * t->out_m + q % W * L;
            int64_t left = t->width - q % W * L;
            if (is_whole || left >= L)
                STORE(to, acc[q]);
            else if (left > 0)
                NAME(store_head)(to, left, acc[q]);
        }
    }
}
typedef void (*NAME(TileFn))(const NAME(Tile) * t);
#define TILE(R, W)                                                                                 \
    static void NAME(tile_##R##_##W)(const NAME(Tile) * t) { NAME(tile)(R, W, true, false, t); }
#define ROWS(R, W)                                                                                 \
    static void NAME(rows_##R##_##W)(const NAME(Tile) * t) { NAME(tile)(R, W, false, false, t); }
#define FAR(R, W)                                                                                  \
    static void NAME(far_##R##_##W)(const NAME(Tile) * t) { NAME(tile)(R, W, false, true, t); }
EACH_TILE(TILE)
EACH_ROWS(ROWS)
EACH_ROWS(FAR)
#undef TILE
#undef ROWS
#undef FAR
#define TILE(R, W) [W][R] = NAME(tile_##R##_##W),
#define ROWS(R, W) [W][R] = NAME(rows_##R##_##W),
#define FAR(R, W)  [W][R] = NAME(far_##R##_##W),
static const NAME(TileFn) NAME(tiles)[3][TILE_M + 1] = {EACH_TILE(TILE)};
static const NAME(TileFn) NAME(rows)[WIDE + 1][ROWS_1 + 1] = {EACH_ROWS(ROWS)};
static const NAME(TileFn) NAME(far)[WIDE + 1][ROWS_1 + 1] = {EACH_ROWS(FAR)};
#undef FAR
#undef TILE
#undef ROWS

/* ---- Packing ---- */

/* to[k * width + i] = from[i * line + k * step], i < lines, k < depth, and 0 for the other i of a
 * width in whole vectors, or of `lines`. Up to L elements behind the end may be written. */
static void NAME(pack_adjacent)(const T *from, int64_t step, int64_t lines, int64_t width,
                                int64_t depth, T *to) {
    for (int64_t k = 0; k < depth; k++, from += step, to += width) {
        int64_t i = 0;
        for (; i + L <= lines; i += L) STORE(to + i, LOAD(from + i));
        for (; i < width; i += L)
            STORE(to + i, i < lines ? NAME(load_head)(from + i, lines - i) : (VEC){0});
    }
}
static void NAME(pack)(const T *from, int64_t line, int64_t step, int64_t lines, int64_t width,
                       int64_t depth, T *to) {
    const int64_t line_size = LINE / (int64_t)sizeof(T);
    int64_t k = 0;
    if (line == 1) {
        NAME(pack_adjacent)(from, step, lines, width, depth, to);
        return;
    }
    /* By lines of the cache: where they lie a power of two apart, few stay in it. If the width is
     * no whole number of vectors, one also writes into the next row, so the last vectors come
     * first. */
    for (int64_t end; step == 1 && k + L <= depth; k = end) {
        const int64_t whole = (depth - k) / L * L;
        end = k + (whole < line_size ? whole : line_size);
        for (int64_t i = (lines - 1) / L * L; i >= 0; i -= L) {
            const int64_t n = lines - i < L ? lines - i : L;
            for (int64_t at = k; at < end; at += L) {
                VEC x[L], y[L];
                const T *p = from + i * line + at;
                T *o = to + at * width + i;
                _Pragma("GCC unroll 16") for (int r = 0; r < L; r++) {
                    if (PACKS && at == k && r < n) __builtin_prefetch(p + r * line + 2 * line_size);
                    x[r] = r < n ? (VEC)LOAD(p + r * line) : (VEC){0};
                }
                NAME(TRANSPOSE)
                (x, y) _Pragma("GCC unroll 16") for (int r = 0; r < L; r++)
                    STORE(o + r * width, x[r]);
            }
        }
    }
    for (; k < depth; k++) {
        for (int64_t i = 0; i < lines; i++) to[k * width + i] = from[i * line + k * step];
        for (int64_t i = lines; i < width; i++) to[k * width + i] = 0;
    }
}

/* Packs `count` whole panels of adjacent columns, side by side in memory, so that their rows are
 * read in long runs: to[(q * depth + k) * width + i] = from[k * step + q * width + i]. */
static void NAME(pack_panels)(const T *from, int64_t step, int64_t count, int64_t width,
                              int64_t depth, T *to) {
    for (int64_t k = 0; k < depth; k++, from += step, to += width) {
        const T *ahead = from + ROWS_AHEAD * step;
        for (int64_t q = 0; q < count; q++)
            for (int64_t i = 0; i < width; i += L) {
                __builtin_prefetch(ahead + q * width + i);
                STORE(to + q * depth * width + i, LOAD(from + q * width + i));
            }
    }
}

/* ---- A block of a product ---- */

/* The vectors of a panel of b, of which `width` columns are left: few rows get a wide panel, so
 * that each row of b is read in long runs, and enough chains are under way. wide_m: how few; 0 for
 * a b whose columns are contiguous. */
static inline int NAME(vectors)(int64_t M, int64_t width, int64_t wide_m) {
    int most = M > wide_m ? 2 : M > WIDE_ROWS / 2 ? WIDE / 2 : WIDE;
    while (most > 1 && most / 2 * L >= width) most /= 2;
    return most;
}

/* What a block's tiles have in common. */
typedef struct NAME(Block) {
    const T *a, *b;
    T *out, *panel; /* panel: a packed panel of b, one chunk deep */
    T *packed;      /* a chunk of a, tile by tile */
    T *levels;      /* for each tile its levels above a chunk */
    int64_t M, N, a_m, a_k, b_k, b_n;
    int64_t tiles, size;          /* tiles down; elements of one */
    int64_t rows, more;           /* rows of a tile, which is one more in the first `more` tiles */
    int64_t width, first, panels; /* columns of a panel; the panels of this pass */
    int64_t wide_m;               /* see vectors */
    int outer;                    /* levels above a chunk */
    int packs;                    /* at least as many tiles share a packed panel */
    bool is_large;                /* b, whose columns are adjacent, is larger than the caches */
    bool are_columns, is_packed;  /* a's tiles are, or become, columns */
    bool packs_rows; /* rows of a become columns: a tile when the first panel needs it */
} NAME(Block);

/* Returns the first row of tile i. */
static inline int64_t NAME(tile_row)(const NAME(Block) * s, int64_t i) {
    return s->rows * i + (i < s->more ? i : s->more);
}

/* Packs a chunk of the tiles [begin, end) of a, whose rows are adjacent, row of a by row: for the
 * next tile a line that lies in two would be read from memory again. Vectors are wider than tiles:
 * what one writes too much the next rows of its tile replace. */
static void NAME(pack_tiles)(const NAME(Block) * s, int64_t begin, int64_t end, int64_t k,
                             int64_t depth) {
    const T *from = s->a + k * s->a_k;
    int64_t at[TILES + 1];
    for (int64_t i = begin; i <= end; i++) at[i - begin] = NAME(tile_row)(s, i);
    for (int64_t row = 0; row < depth; row++, from += s->a_k) {
        const T *ahead = from + ROWS_AHEAD * s->a_k;
        for (int64_t m = at[0]; m < at[end - begin]; m += LINE / (int64_t)sizeof(T))
            __builtin_prefetch(ahead + m);
        for (int64_t i = 0; i < end - begin; i++) {
            int64_t m = at[i], h = at[i + 1] - m, j = 0;
            T *to = s->packed + m * depth + row * h;
            for (; j < h && m + j + L <= s->M && row * h + j + L <= depth * h; j += L)
                STORE(to + j, LOAD(from + m + j));
            for (; j < h; j++) to[j] = from[m + j];
        }
    }
}
/* One chunk of all tiles in panel p. */
static void NAME(run_panel)(const NAME(Block) * s, NAME(Tile) * t, int64_t p, int64_t k,
                            int64_t depth) {
    int64_t n = p * s->width, levels = s->outer;
    const bool is_far = s->is_large && s->tiles < s->packs;
    t->width = s->N - n < s->width ? s->N - n : s->width;
    int W = NAME(vectors)(s->M, t->width, s->wide_m);
    t->b = s->b + n * s->b_n + k * s->b_k, t->b_k = s->b_k;
    if (s->b_n == 1 && t->width == W * L && W == 2 && s->tiles >= s->packs) {
        int64_t ready = (p - s->first) % PANELS, count = (s->N - n) / s->width;
        if (s->first + s->panels - p < count) count = s->first + s->panels - p;
        if (ready == 0) NAME(pack_panels)
        (t->b, s->b_k, count < PANELS ? count : PANELS, W * L, depth, s->panel);
        t->b = s->panel + ready * depth * W * L, t->b_k = W * L;
    } else if (s->b_n != 1 || t->width < W * L) {
        NAME(pack)(t->b, s->b_n, s->b_k, t->width, W * L, depth, s->panel);
        t->b = s->panel, t->b_k = W * L;
    }
    const bool is_last = k + depth == t->K;
    const int waits = tree_waits(t->chunk); /* the level where this chunk's sum waits */
    const NAME(TileFn) *run = s->are_columns ? NAME(tiles)[W]
                              : is_far       ? NAME(far)[W]
                                             : NAME(rows)[W];
    T *level = s->levels + (p - s->first) * s->tiles * levels * s->size;
    t->out = s->out + n;
    for (int64_t i = 0, m = 0, h; i < s->tiles; i++, m += h, t->out += h * t->out_m) {
        h = s->rows + (i < s->more);
        for (int l = 0; l < levels; l++, level += s->size) {
            t->level[CHUNK_LEVELS + l] = level;
            for (int64_t j = 0; l <= waits && j < h * W * L; j += LINE / (int64_t)sizeof(T))
                __builtin_prefetch(level + j, 1);
        }
        if (is_last) /* the result is stored */
            for (int64_t j = 0; j < h; j++) {
                __builtin_prefetch(t->out + j * t->out_m, 1);
                __builtin_prefetch(t->out + j * t->out_m + (W - 1) * L, 1);
            }
        T *packed = s->packed + m * depth;
        if (s->packs_rows && p == s->first)
            NAME(pack)(s->a + m * s->a_m + k, s->a_m, 1, h, h, depth, packed);
        t->a = s->is_packed ? packed : s->a + m * s->a_m + k * s->a_k;
        t->a_k = s->is_packed ? h : s->a_k, t->a_m = s->a_m;
        run[h](t);
    }
}

/* ---- Few rows by long rows ---- */

/* One vector of columns for R rows: sum[r] goes on with DEEP rows of b, times s, the elements of a.
 * left: how many of its columns there are. */
static inline __attribute__((always_inline)) void
NAME(add_vector)(const int R, const int DEEP, const VEC *s, const T *b, int64_t b_k, int64_t left,
                 bool is_first, T *sum, int64_t apart) {
    VEC acc[MOST_LONG];
    _Pragma("GCC unroll 4") for (int r = 0; r < R; r++) acc[r] =
        is_first ? (VEC){0} : (VEC)LOAD(sum + r * apart);
    _Pragma("GCC unroll 8") for (int k = 0; k < DEEP; k++) {
        VEC v = left >= L ? (VEC)LOAD(b + k * b_k) : NAME(load_head)(b + k * b_k, left);
        _Pragma("GCC unroll 4") for (int r = 0; r < R; r++) acc[r] =
            NAME(FMA)(s[r * DEEP + k], v, acc[r]);
    }
    _Pragma("GCC unroll 4") for (int r = 0; r < R; r++) STORE(sum + r * apart, acc[r]);
}
/* The same for N columns. The rows of b are read side by side, each in one run. */
static inline __attribute__((always_inline)) void
NAME(add_deep)(const int R, const int DEEP, int64_t N, const T *a, int64_t a_m, int64_t a_k,
               const T *b, int64_t b_k, bool is_first, T *sum, int64_t apart) {
    VEC s[MOST_LONG * MOST_DEEP];
    _Pragma("GCC unroll 16") for (int i = 0; i < R * DEEP; i++) s[i] =
        NAME(SPLAT)(a[i / DEEP * a_m + i % DEEP * a_k]);
    int64_t n = 0;
    for (; n + L <= N; n += L)
        NAME(add_vector)(R, DEEP, s, b + n, b_k, L, is_first, sum + n, apart);
    if (n < N) NAME(add_vector)(R, DEEP, s, b + n, b_k, N - n, is_first, sum + n, apart);
}

/* R rows times a b whose columns are adjacent: a leaf of the sums of LONG bytes of columns is held
 * in the first-level cache, and goes on with DEEP rows of b at a time. level: R rows for each. */
static inline __attribute__((always_inline)) void
NAME(long_rows)(const int R, const int DEEP, int64_t N, int64_t K, const T *a, int64_t a_m,
                int64_t a_k, const T *b, int64_t b_k, T *out, int64_t out_m, T *side) {
    const int64_t last = tree_leaves(K) - 1, most = LONG / (R * (int64_t)sizeof(T));
    const int depth = tree_depth(last + 1);
    for (int64_t n = 0; n < N; n += most) {
        int64_t width = N - n < most ? N - n : most, apart = (width + L - 1) / L * L;
        T *sum = side, *level = sum + R * apart;
        for (int64_t leaf = 0, k = 0; leaf <= last; leaf++) {
            const int64_t begin = k, end = leaf < last ? k + LEAF : K;
            for (; k + DEEP <= end; k += DEEP) NAME(add_deep)
            (R, DEEP, width, a + k * a_k, a_m, a_k, b + k * b_k + n, b_k, k == begin, sum, apart);
            for (; k < end; k++) NAME(add_deep)
            (R, 1, width, a + k * a_k, a_m, a_k, b + k * b_k + n, b_k, k == begin, sum, apart);
            const int waits = leaf < last ? tree_waits(leaf) : depth;
            T *to = level + waits * R * apart;
            for (int64_t i = 0; i < R * apart; i += L) {
                VEC x = LOAD(sum + i);
                for (int l = 0; l < waits; l++)
                    if (leaf >> l & 1) x = LOAD(level + l * R * apart + i) + x;
                int64_t row = i / apart, at = i % apart, left = width - at;
                if (leaf < last)
                    STORE(to + i, x);
                else
                    NAME(store_head)(out + row * out_m + n + at, left < L ? left : L, x + (VEC){0});
            }
        }
    }
}
typedef void (*NAME(LongRowsFn))(int64_t N, int64_t K, const T *a, int64_t a_m, int64_t a_k,
                                 const T *b, int64_t b_k, T *out, int64_t out_m, T *side);
#define LONG_ROWS(R, DEEP)                                                                         \
    static void NAME(long_rows_##R)(int64_t N, int64_t K, const T *a, int64_t a_m, int64_t a_k,    \
                                    const T *b, int64_t b_k, T *out, int64_t out_m, T *side) {     \
        NAME(long_rows)(R, DEEP, N, K, a, a_m, a_k, b, b_k, out, out_m, side);                     \
    }
EACH_LONG(LONG_ROWS)
#undef LONG_ROWS
#define LONG_ROWS(R, DEEP) [R] = NAME(long_rows_##R),
static const NAME(LongRowsFn) NAME(long_rows_of)[MOST_LONG + 1] = {EACH_LONG(LONG_ROWS)};
#undef LONG_ROWS

/* ---- Few rows by contiguous columns ---- */

/* x[i] = the elements p[i], p[i + line], p[i + 2 line] ... of L lines, i < PART. */
static inline __attribute__((always_inline)) void NAME(turn)(const T *p, int64_t line, VEC *x) {
    VEC v[PART], y[PART];
    _Pragma("GCC unroll 4") for (int i = 0; i < PART; i++) v[i] =
        NAME(PARTS_FROM)(p + i * line, PART * line);
    NAME(TURN)
    (v, y) _Pragma("GCC unroll 4") for (int i = 0; i < PART; i++) x[i] =
        PART == 2 ? y[i] : v[(i & 1) << 1 | i >> 1];
}

/* sum[r] += row r of a times L columns of b, which lie b_n apart, over L k's without the first
 * `from`. b's square is transposed in registers. */
static inline __attribute__((always_inline)) void NAME(add_square)(const int R, const T *a,
                                                                   int64_t a_m, const T *b,
                                                                   int64_t b_n, int64_t ahead,
                                                                   const int64_t from, VEC *sum) {
    VEC x[L], y[L];
    const int64_t b_3 = 3 * b_n;
    _Pragma("GCC unroll 16") for (int j = 0; j < L; j++) {
        const T *p = b + (j % 4 == 3 ? b_3 : j % 4 * b_n);
        x[j] = LOAD(p);
        __builtin_prefetch(p + ahead, 0, 2);
        if (j % 4 < 3) continue;
        b += 4 * b_n;
        __asm__("" : "+r"(b)); /* else GCC keeps L addresses, on the stack */
    }
    NAME(TRANSPOSE)
    (x, y) _Pragma("GCC unroll 16") for (int j = 0; j < L; j++) {
        if (j < from) continue;
        _Pragma("GCC unroll 8") for (int r = 0; r < R; r++) sum[r] =
            NAME(FMA)(NAME(SPLAT)(a[r * a_m + j]), x[j], sum[r]);
    }
}

/* R rows, whose elements are adjacent; N >= L columns, and K >= L. A chain of fma alone would wait
 * for each, so there are two: of two leaves, or, if K is SHORT, of V = 2 vectors of columns. (For a
 * longer K these would read so many rows in turn that prefetching fails.) The last vector begins
 * early enough to be whole, and so does the last leaf's last square. level: V R vectors for each
 * level. */
static inline __attribute__((always_inline)) void NAME(columns)(const int R, const int V, int64_t N,
                                                                int64_t K, const T *a, int64_t a_m,
                                                                const T *b, int64_t b_n, T *out,
                                                                int64_t out_m, T *level) {
    const int64_t last = tree_leaves(K) - 1;
    const int depth = tree_depth(last + 1);
    /* What is prefetched: a few k's ahead; near the end, the beginning of the next columns. */
    const int64_t few = AHEAD / (int64_t)sizeof(T), next = V * L * b_n + (K > few ? few - K : 0);
    for (int64_t n = 0; n < N; n += V * L) {
        int64_t k = 0, first[2];
        for (int v = 0; v < V; v++) first[v] = n + v * L < N - L ? n + v * L : N - L;
        const T *column = b + first[0] * b_n, *other = b + first[V - 1] * b_n;
        for (int64_t leaf = 0; leaf <= last; leaf++) {
            int64_t end = leaf < last ? k + LEAF : K, square = end - L;
            VEC sum[2 * FEW] = {{0}}, *right = sum + R; /* of the right leaf, or other columns */
            const bool are_two = R <= 2 && V == 1 && leaf + 1 < last;
            const int64_t ahead = k + LEAF + few < K ? few : next;
            for (; k <= square; k += L) {
                NAME(add_square)(R, a + k, a_m, column + k, b_n, ahead, 0, sum);
                if (V == 2)
                    NAME(add_square)(R, a + k, a_m, other + k, b_n, ahead, 0, right);
                else if (are_two)
                    NAME(add_square)(R, a + k + LEAF, a_m, column + k + LEAF, b_n, ahead, 0, right);
            }
            if (k < end) {
                NAME(add_square)(R, a + square, a_m, column + square, b_n, ahead, k - square, sum);
                if (V == 2) NAME(add_square)
                (R, a + square, a_m, other + square, b_n, ahead, k - square, right);
            }
            k = are_two ? end + LEAF : end;
            for (int r = 0; r < R && are_two; r++) sum[r] = sum[r] + right[r];
            leaf += are_two;
            const int waits = leaf < last ? tree_waits(leaf) : depth;
            for (int l = are_two; l < waits; l++)
                for (int r = 0; r < V * R && leaf >> l & 1; r++)
                    sum[r] = LOAD(level + (l * V * R + r) * L) + sum[r];
            for (int r = 0; r < V * R; r++)
                if (leaf < last)
                    STORE(level + (waits * V * R + r) * L, sum[r]);
                else
                    STORE(out + r % R * out_m + first[r / R], sum[r] + (VEC){0});
        }
    }
}
typedef void (*NAME(ColumnsFn))(int64_t N, int64_t K, const T *a, int64_t a_m, const T *b,
                                int64_t b_n, T *out, int64_t out_m, T *level);
#define COLUMNS(R)                                                                                 \
    static void NAME(columns_##R)(int64_t N, int64_t K, const T *a, int64_t a_m, const T *b,       \
                                  int64_t b_n, T *out, int64_t out_m, T *level) {                  \
        if (R <= 2 && K <= SHORT && N >= 2 * L)                                                    \
            NAME(columns)(R, 2, N, K, a, a_m, b, b_n, out, out_m, level);                          \
        else                                                                                       \
            NAME(columns)(R, 1, N, K, a, a_m, b, b_n, out, out_m, level);                          \
    }
EACH_FEW(COLUMNS)
#undef COLUMNS
#define COLUMNS(R) [R] = NAME(columns_##R),
static const NAME(ColumnsFn) NAME(columns_of)[FEW + 1] = {EACH_FEW(COLUMNS)};
#undef COLUMNS

/* ---- One element ---- */

/* sum[w] = the dot product of leaf w of x and leaf w of y, whose leaves are adjacent. */
static void NAME(dot_leaves)(const T *x, const T *y, T sum[WAYS]) {
    VEC v[WAYS / L] = {{0}};
    _Pragma("GCC unroll 1") for (int64_t k = 0; k < LEAF; k += PART)
        _Pragma("GCC unroll 4") for (int w = 0; w < WAYS; w += L) {
        VEC a[PART], b[PART];
        NAME(turn)(x + w * LEAF + k, LEAF, a);
        NAME(turn)(y + w * LEAF + k, LEAF, b);
        _Pragma("GCC unroll 4") for (int j = 0; j < PART; j++) v[w / L] =
            NAME(FMA)(a[j], b[j], v[w / L]);
    }
    _Pragma("GCC unroll 4") for (int w = 0; w < WAYS; w += L) STORE(sum + w, v[w / L]);
}

/* to = n elements of `from`, then zeros: WAYS leaves. */
static void NAME(copy_leaves)(const T *from, int64_t step, int64_t n, T *to) {
    for (int64_t k = 0; k < n; k++) to[k] = from[k * step];
    for (int64_t k = n; k < WAYS * LEAF; k++) to[k] = 0;
}

/* Several leaves at a time, because a chain of fma alone waits for each. The last leaf is filled up
 * with zeros. */
static void NAME(dot)(int64_t K, const T *a, int64_t a_k, const T *b, int64_t b_k, T *out) {
    const int64_t last = tree_leaves(K) - 1;
    const bool are_vectors = a_k == 1 && b_k == 1;
    T level[TREE_LEVELS], side_a[WAYS * LEAF], side_b[WAYS * LEAF], sum[WAYS];
    for (int64_t leaf = 0; leaf <= last; leaf += WAYS) {
        int64_t k = leaf * LEAF, n = K - k < WAYS * LEAF ? K - k : WAYS * LEAF;
        const T *x = a + k * a_k, *y = b + k * b_k;
        const bool is_end = leaf + WAYS > last;
        if (is_end || !are_vectors) {
            NAME(copy_leaves)(x, a_k, n, side_a);
            NAME(copy_leaves)(y, b_k, n, side_b);
            x = side_a, y = side_b;
        }
        NAME(dot_leaves)(x, y, sum);
        if (!is_end) {
            for (int h = WAYS / 2; h > 0; h /= 2)
                for (int w = 0; w < h; w++) sum[w] = sum[2 * w] + sum[2 * w + 1];
            int waits = tree_waits(leaf + WAYS - 1);
            for (int l = WAYS_LEVEL; l < waits; l++) sum[0] = level[l] + sum[0];
            level[waits] = sum[0];
            continue;
        }
        for (int64_t w = 0; leaf + w < last; w++) {
            T s = sum[w];
            int waits = tree_waits(leaf + w);
            for (int l = 0; l < waits; l++) s = level[l] + s;
            level[waits] = s;
        }
        T s = sum[last - leaf];
        for (int l = 0; last >> l; l++)
            if (last >> l & 1) s = level[l] + s;
        *out = s + 0;
    }
}

/* A product of one leaf: no level waits. */
static void NAME(gemm_leaf)(int64_t M, int64_t N, int64_t K, const T *a, int64_t a_m, int64_t a_k,
                            const T *b, int64_t b_k, int64_t b_n, T *out, int64_t out_m, T *panel,
                            const GemmNext *next) {
    NAME(Tile) t;
    t.a_m = a_m, t.a_k = a_k, t.out_m = out_m, t.K = K, t.chunk = t.last = 0, t.depth = 0;
    const bool are_columns = a_m == 1 && M > 1;
    const int64_t most = are_columns ? TILE_M : N <= L ? ROWS_1 : TILE_ROWS;
    const int64_t tiles = M <= most ? 1 : (M + most - 1) / most;
    const int64_t rows = tiles == 1 ? M : M / tiles,
                  more = M - rows * tiles;                   /* `more` tiles have rows + 1 */
    const int64_t all = tiles * ((N + 2 * L - 1) / (2 * L)); /* over which `next` is spread */
    int64_t part = 0;
    for (int64_t n = 0; n < N; n += 2 * L) {
        const int W = N - n > L ? 2 : 1;
        t.b = b + n * b_n, t.b_k = b_k, t.width = N - n < W * L ? N - n : W * L;
        if (b_n != 1 || t.width < W * L) {
            NAME(pack)(t.b, b_n, b_k, t.width, W * L, K, panel);
            t.b = panel, t.b_k = W * L;
        }
        t.a = a, t.out = out + n;
        for (int64_t i = 0; i < tiles; i++) {
            const int64_t h = rows + (i < more);
            if (next) prefetch_next(next, part++, all);
            (are_columns ? NAME(tiles)[W][h] : NAME(rows)[W][h])(&t);
            t.a += h * a_m, t.out += h * out_m;
        }
    }
}

/* Any product, in blocks. */
static void NAME(gemm_blocks)(int64_t M, int64_t N, int64_t K, const T *a, int64_t a_m, int64_t a_k,
                              const T *b, int64_t b_k, int64_t b_n, T *out, int64_t out_m, T *side,
                              const GemmNext *next) {
    NAME(Block) s = {a, b, out, .M = M, .N = N, .a_m = a_m, .a_k = a_k};
    s.b_k = b_k, s.b_n = b_n;
    NAME(Tile) t;
    const int64_t leaves = tree_leaves(K);
    t.K = K, t.out_m = out_m, t.last = leaves - 1, t.depth = tree_depth(leaves);
    if (next) prefetch_next(next, 0, 1);
    s.outer = t.depth > CHUNK_LEVELS ? t.depth - CHUNK_LEVELS : 0;
    s.is_large = b_n == 1 && K > CACHED / (b_k ? b_k : 1);
    s.wide_m = b_n != 1 ? 0 : s.is_large ? WIDE_M : WIDE_ROWS;
    s.width = NAME(vectors)(M, N, s.wide_m) * L;
    s.packs = s.is_large ? 4 : 5;
    const int64_t panels = (N + s.width - 1) / s.width;
    const bool packs_a = PACKS && panels > 8 && s.width == 2 * L;
    const bool is_short = s.is_large && M <= (s.packs - 1) * TILE_M; /* b is read from memory */
    s.packs_rows = packs_a && a_k == 1 && M > TILE_M && !is_short;
    s.are_columns = s.packs_rows || (a_m == 1 && M > 1 && s.width <= 2 * L);
    int64_t most = s.are_columns ? TILE_M : s.width <= 2 * L ? TILE_ROWS : WIDE_ROWS;
    s.tiles = (M + most - 1) / most, s.rows = M / s.tiles, s.more = M % s.tiles;
    s.size = (s.width <= 2 * L ? most * 2 : WIDE_ROWS * WIDE / 2) * L;
    /* Columns of a that lie a multiple of 1 KiB apart alias in the caches. */
    const bool do_alias = a_k * sizeof(T) % 1024 == 0;
    s.is_packed = s.are_columns && s.tiles > 1 && (packs_a || (do_alias && panels > 4));
    /* A b whose columns are contiguous, read once, is read column by column to the end. */
    s.panels = s.tiles == 1 && b_n != 1 ? 1 : panels;
    T *local = side;
    s.panel = local + CHUNK_LEVELS * TILE_M * 2 * L;
    s.levels = s.panel + (CHUNK + 1) * 2 * PANELS * L;
    s.packed = s.levels + s.outer * s.tiles * s.panels * s.size;
    for (int l = 0; l < CHUNK_LEVELS; l++) t.level[l] = local + l * s.size;
    for (; s.first < panels; s.first += s.panels) {
        for (t.chunk = 0; t.chunk * CHUNK < K; t.chunk++) {
            int64_t k = t.chunk * CHUNK, depth = K - k < CHUNK ? K - k : CHUNK;
            for (int64_t i = 0; s.is_packed && !s.packs_rows && i < s.tiles; i += TILES)
                NAME(pack_tiles)(&s, i, i + TILES < s.tiles ? i + TILES : s.tiles, k, depth);
            for (int64_t p = s.first; p < s.first + s.panels; p++)
                NAME(run_panel)(&s, &t, p, k, depth);
        }
    }
}

/* See GemmFn. */
static void NAME(gemm)(int64_t M, int64_t N, int64_t K, const void *a, int64_t a_m, int64_t a_k,
                       const void *b, int64_t b_k, int64_t b_n, void *out, int64_t out_m,
                       void *side, const GemmNext *next) {
    if (M == 1 && N == 1 && tree_leaves(K) >= WIDE / 2)
        NAME(dot)(K, a, a_k, b, b_k, out);
    else if (M <= FEW && N >= L && K >= L && a_k == 1 && b_k == 1 && b_n != 1)
        NAME(columns_of)[M](N, K, a, a_m, b, b_n, out, out_m, side);
    else if (M <= MOST_LONG && b_n == 1 && N >= WIDE / 2 * L)
        NAME(long_rows_of)[M](N, K, a, a_m, a_k, b, b_k, out, out_m, side);
    else if (M > 2 && K <= LEAF && M * N <= LEAF * LEAF)
        NAME(gemm_leaf)(M, N, K, a, a_m, a_k, b, b_k, b_n, out, out_m, side, next);
    else
        NAME(gemm_blocks)(M, N, K, a, a_m, a_k, b, b_k, b_n, out, out_m, side, next);
}
#undef VEC
#undef L
#undef PART
#undef LOAD
#undef STORE
#undef EACH_VECTOR
