/* cpu_map.c: MAP rows and casts. The output is contiguous, so a part is a range of it. An operand
 * that is contiguous or a single value in that range is read in place; any other is first gathered
 * in a small buffer.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"

typedef struct MapRun {
    Loop loop; /* operands as in the call */
    HalfMap map;
    int n_in;
    int size[3], out_size;
    const char *base[3];
    char *out;
    /* Per operand, for rows too short to be separate runs: */
    bool is_dense[3];      /* its strides are the output's */
    int64_t period[3];     /* repeats after so many elements; 0: no useful period */
    int64_t chunk;         /* elements per iteration: a multiple of all periods */
    bool is_transposed[3]; /* contiguous along the last axis but one, strided along the last */
    Pool *pool;
} MapRun;

/* For a long innermost axis: runs along it. */
static void map_rows(const MapRun *m, int64_t begin, int64_t end) {
    const Loop *l = &m->loop;
    int inner = l->rank - 1;
    int64_t length = l->shape[inner], step[3];
    bool is_strided = false;
    unsigned scalars = 0;
    for (int k = 0; k < m->n_in; k++) {
        int64_t s = l->stride[k][inner];
        step[k] = s * m->size[k];
        if (s == 0) scalars |= 1u << k;
        is_strided |= s != 0 && s != 1;
    }
    Walk walk;
    walk_init(&walk, l, m->n_in, begin / length);
    uint64_t buffer[3][CPU_CHUNK];
    for (int64_t at = begin % length; begin < end; at = 0, walk_next(&walk, l, m->n_in)) {
        int64_t n = length - at;
        if (n > end - begin) n = end - begin;
        for (int64_t i = 0, some; i < n; i += some) {
            some = is_strided && n - i > CPU_CHUNK ? CPU_CHUNK : n - i;
            const void *in[3];
            for (int k = 0; k < m->n_in; k++) {
                int64_t s = l->stride[k][inner];
                in[k] = m->base[k] + walk.offset[k] * m->size[k] + (at + i) * step[k];
                if (s == 0 || s == 1) continue;
                copy_strided(buffer[k], in[k], s, some, m->size[k]);
                in[k] = buffer[k];
            }
            half_map(&m->map, some, m->out + (begin + i) * m->out_size, in, scalars);
        }
        begin += n;
    }
}

/* For a short innermost axis: chunks of many rows with gathered operands; one that repeats is
 * gathered once. */
static void map_chunks(const MapRun *m, int64_t begin, int64_t end) {
    uint64_t buffer[3][CPU_CHUNK];
    bool is_filled[3] = {false, false, false};
    unsigned scalars = 0;
    for (int k = 0; k < m->n_in; k++)
        if (m->period[k] == 1) scalars |= 1u << k;
    for (int64_t n; begin < end; begin += n) {
        n = m->chunk - begin % m->chunk;
        if (n > end - begin) n = end - begin;
        const void *in[3];
        for (int k = 0; k < m->n_in; k++) {
            if (m->is_dense[k] || m->period[k] == 1) {
                in[k] = m->base[k] + (m->is_dense[k] ? begin * m->size[k] : 0);
                continue;
            }
            in[k] = buffer[k];
            if (m->period[k] == 0) {
                loop_gather(&m->loop, k, m->base[k], m->size[k], begin, begin + n, buffer[k]);
            } else {
                if (!is_filled[k])
                    loop_gather(&m->loop, k, m->base[k], m->size[k], 0, m->chunk, buffer[k]);
                is_filled[k] = true;
                in[k] = (const char *)buffer[k] + begin % m->chunk * m->size[k];
            }
        }
        half_map(&m->map, n, m->out + begin * m->out_size, in, scalars);
    }
}

static void map_range(void *ctx, int64_t begin, int64_t end, int thread) {
    const MapRun *m = ctx;
    if (m->chunk)
        map_chunks(m, begin, end);
    else
        map_rows(m, begin, end);
}

/* By tiles of the two innermost axes. Operands for which is_transposed holds are copied,
 * transposed, into scratch memory. */
enum { TILE_ROWS = 32, TILE_COLUMNS = 256 };
static void map_tiles(void *ctx, int64_t begin, int64_t end, int thread) {
    const MapRun *m = ctx;
    const Loop *l = &m->loop;
    int inner = l->rank - 1, outer = l->rank - 2;
    int64_t N = l->shape[inner], M = l->shape[outer];
    int64_t across = (N + TILE_COLUMNS - 1) / TILE_COLUMNS, down = (M + TILE_ROWS - 1) / TILE_ROWS;
    enum { BYTES = TILE_ROWS * TILE_COLUMNS * 8 };
    char *side = pool_scratch(m->pool, thread, 3 * BYTES);
    for (int64_t t = begin; t < end; t++) {
        int64_t column = t % across * TILE_COLUMNS, row = t / across % down * TILE_ROWS;
        int64_t first = (t / across / down * M + row) * N + column;
        int64_t w = N - column < TILE_COLUMNS ? N - column : TILE_COLUMNS;
        int64_t h = M - row < TILE_ROWS ? M - row : TILE_ROWS;
        const char *p[3];
        int64_t step[3];
        unsigned scalars = 0;
        for (int k = 0; k < m->n_in; k++) {
            p[k] = m->base[k] + loop_offset(l, k, first) * m->size[k];
            step[k] = l->stride[k][outer] * m->size[k];
            if (l->stride[k][inner] == 0) scalars |= 1u << k;
            if (!m->is_transposed[k]) continue;
            char *to = side + k * BYTES;
            copy_transposed(to, w, p[k], l->stride[k][inner], h, w, m->size[k]);
            p[k] = to;
            step[k] = w * m->size[k];
        }
        for (int64_t i = 0; i < h; i++) {
            const void *in[3];
            for (int k = 0; k < m->n_in; k++) {
                int64_t s = l->stride[k][inner];
                in[k] = p[k] + i * step[k];
                if (s == 0 || s == 1 || m->is_transposed[k]) continue;
                copy_strided(side + k * BYTES, in[k], s, w, m->size[k]);
                in[k] = side + k * BYTES;
            }
            half_map(&m->map, w, m->out + (first + i * N) * m->out_size, in, scalars);
        }
    }
}
static bool plan_tiles(MapRun *m) {
    const Loop *l = &m->loop;
    int inner = l->rank - 1, outer = l->rank - 2;
    bool has_transposed = false;
    if (l->rank < 2 || l->shape[inner] < 16 || l->shape[outer] < 8) return false;
    for (int k = 0; k < m->n_in; k++) {
        m->is_transposed[k] = l->stride[k][inner] > 1 && l->stride[k][outer] == 1;
        has_transposed |= m->is_transposed[k];
    }
    return has_transposed;
}

/* Chooses chunks or rows. Chunks pay off for short rows, less so if an operand must be gathered
 * again for each chunk. */
enum { SHORT_ROW = 128, VERY_SHORT_ROW = 32 };
static void plan_chunks(MapRun *m) {
    const Loop *l = &m->loop;
    int64_t longest = 1, row = l->rank ? l->shape[l->rank - 1] : 1;
    if (l->rank < 2 || row >= SHORT_ROW) return;
    bool has_gathered = false;
    for (int k = 0; k < m->n_in; k++) {
        int64_t step = 1, n = 1;
        m->is_dense[k] = true;
        m->period[k] = 1;
        for (int d = l->rank - 1; d >= 0; d--) {
            if (l->stride[k][d] != step) m->is_dense[k] = false;
            step *= l->shape[d];
            n *= l->shape[d];
            if (l->stride[k][d] != 0) m->period[k] = n;
        }
        if (m->is_dense[k] || m->period[k] > CPU_CHUNK) m->period[k] = 0;
        if (m->period[k] > longest) longest = m->period[k];
        has_gathered |= !m->is_dense[k] && m->period[k] == 0;
    }
    if (has_gathered && row >= VERY_SHORT_ROW) return;
    /* Periods are products of the innermost extents, so each divides the longest. */
    m->chunk = CPU_CHUNK / longest * longest;
}

static void run(Cpu *c, MapRun *m) {
    const Loop *l = &m->loop;
    if (l->n == 0) return;
    if (l->rank <= 1 && l->n <= CPU_PART) { /* the common small call */
        bool is_strided = false;
        unsigned scalars = 0;
        for (int k = 0; k < m->n_in; k++) {
            int64_t s = l->rank ? l->stride[k][0] : 0;
            if (s == 0) scalars |= 1u << k;
            is_strided |= s > 1 || s < 0;
        }
        if (!is_strided) {
            half_map(&m->map, l->n, m->out, (const void *const *)m->base, scalars);
            return;
        }
    }
    if (plan_tiles(m)) {
        int64_t N = l->shape[l->rank - 1], M = l->shape[l->rank - 2];
        int64_t across = (N + TILE_COLUMNS - 1) / TILE_COLUMNS;
        int64_t down = (M + TILE_ROWS - 1) / TILE_ROWS;
        int64_t cost = (N < TILE_COLUMNS ? N : TILE_COLUMNS) * (M < TILE_ROWS ? M : TILE_ROWS);
        m->pool = c->pool;
        cpu_ranges(c, l->n / N / M * across * down, cpu_part(cost), map_tiles, m);
        return;
    }
    plan_chunks(m);
    cpu_ranges(c, l->n, CPU_PART, map_range, m);
}

static void prepare(MapRun *m, const Call *call) {
    const View *operand[3];
    for (int k = 0; k < call->n_in; k++) {
        operand[k] = &call->in[k];
        m->size[k] = view_size(operand[k]);
        m->base[k] = operand[k]->data;
    }
    m->n_in = call->n_in;
    m->out = call->out[0].data;
    m->out_size = view_size(&call->out[0]);
    m->chunk = 0;
    loop_init(&m->loop, &call->out[0].type, operand, call->n_in);
}

void cpu_map(Cpu *c, const Call *call) {
    MapRun m;
    prepare(&m, call);
    DType dtype[3];
    for (int k = 0; k < call->n_in; k++) dtype[k] = (DType)call->in[k].type.dtype;
    /* An immediate as condition of `where` arrives in the dtype of the others. */
    uint8_t condition;
    if (call->n_in == 3 && dtype[0] != DT_BOOL) {
        cpu_cast(c->kernels, 1, &condition, DT_BOOL, call->in[0].data, dtype[0]);
        m.base[0] = (const char *)&condition;
        m.size[0] = 1;
        dtype[0] = DT_BOOL;
    }
    /* The dtype of the row is that of the last operand: the first one of `where` is bool. */
    DType d = dtype[call->n_in - 1];
    MapFn fn = c->kernels->map[call->inst->op][d];
    if (!fn) fn = c->kernels->map[call->inst->op][DT_F32]; /* of halves */
    half_map_init(&m.map, c->kernels, fn, dtype, call->n_in, (DType)call->out[0].type.dtype);
    run(c, &m);
}

void cpu_cast_view(Cpu *c, const View *from, const View *to) {
    Call call = {.n_in = 1, .n_out = 1, .in = (View *)from, .out = {*to}};
    if (from->type.dtype == to->type.dtype) {
        cpu_copy(c, from, to->data);
        return;
    }
    MapRun m;
    prepare(&m, &call);
    half_map_cast(&m.map, c->kernels, (DType)from->type.dtype, (DType)to->type.dtype);
    run(c, &m);
}

bool cpu_CAST(Cpu *c, const Call *call, Err *err) {
    cpu_cast_view(c, &call->in[0], &call->out[0]);
    return true;
}
