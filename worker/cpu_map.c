/* cpu_map.c: MAP rows and casts. The output is contiguous, so a part is a range of it; an operand
 * is read where it lies if it is contiguous or one value there, else laid out in a small buffer
 * first. SPDX-License-Identifier: MIT */
#include "worker/cpu.h"
#include <string.h>

typedef struct MapRun {
    Loop loop; /* operands as in the call */
    MapFn fn;
    int n_in;
    int size[3], out_size;
    const char *base[3];
    char *out;
    /* Per operand, when rows are too short to be runs of their own: */
    bool is_dense[3];  /* strides are the output's                                   */
    int64_t period[3]; /* repeats after so many elements (0: no period that helps)   */
    int64_t chunk;     /* elements at a time: a multiple of all periods              */
} MapRun;

/* Inner axis long enough: runs along it. */
static void map_rows(const MapRun *m, int64_t begin, int64_t end) {
    const Loop *l = &m->loop;
    int inner = l->rank - 1;
    uint64_t buffer[3][CPU_CHUNK];
    while (begin < end) {
        int64_t at = begin % l->shape[inner], n = l->shape[inner] - at;
        if (n > end - begin) n = end - begin;
        const char *p[3];
        bool is_strided = false;
        unsigned scalars = 0;
        for (int k = 0; k < m->n_in; k++) {
            p[k] = m->base[k] + loop_offset(l, k, begin) * m->size[k];
            int64_t s = l->stride[k][inner];
            if (s == 0) scalars |= 1u << k;
            is_strided |= s != 0 && s != 1;
        }
        for (int64_t i = 0, step; i < n; i += step) {
            step = is_strided && n - i > CPU_CHUNK ? CPU_CHUNK : n - i;
            const void *in[3];
            for (int k = 0; k < m->n_in; k++) {
                int64_t s = l->stride[k][inner];
                const char *q = p[k] + i * s * m->size[k];
                in[k] = q;
                if (s == 0 || s == 1) continue;
                copy_strided(buffer[k], q, s, step, m->size[k]);
                in[k] = buffer[k];
            }
            m->fn(step, m->out + (begin + i) * m->out_size, in, scalars);
        }
        begin += n;
    }
}

/* Short inner axis: chunks of many rows, operands gathered; one that repeats is gathered once. */
static void map_chunks(const MapRun *m, int64_t begin, int64_t end) {
    uint64_t buffer[3][CPU_CHUNK];
    bool is_filled[3] = {false, false, false};
    for (int64_t n; begin < end; begin += n) {
        n = m->chunk - begin % m->chunk;
        if (n > end - begin) n = end - begin;
        const void *in[3];
        for (int k = 0; k < m->n_in; k++) {
            if (m->is_dense[k]) {
                in[k] = m->base[k] + begin * m->size[k];
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
        m->fn(n, m->out + begin * m->out_size, in, 0);
    }
}

static void map_range(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const MapRun *m = ctx;
    if (m->chunk)
        map_chunks(m, begin, end);
    else
        map_rows(m, begin, end);
}

/* Decides how rows shorter than a few vectors are walked. */
static void plan_chunks(MapRun *m) {
    const Loop *l = &m->loop;
    m->chunk = CPU_CHUNK;
    int64_t longest = 1;
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
    }
    /* Periods are products of the innermost extents, so each divides the longest. */
    m->chunk = CPU_CHUNK / longest * longest;
}

enum { SHORT_ROW = 128 };

static void run(Cpu *c, MapRun *m) {
    const Loop *l = &m->loop;
    if (l->n == 0) return;
    if (l->rank <= 1 && l->n <= CPU_PART) { /* the usual small call */
        bool is_strided = false;
        unsigned scalars = 0;
        for (int k = 0; k < m->n_in; k++) {
            int64_t s = l->rank ? l->stride[k][0] : 0;
            if (s == 0) scalars |= 1u << k;
            is_strided |= s > 1 || s < 0;
        }
        if (!is_strided) {
            m->fn(l->n, m->out, (const void *const *)m->base, scalars);
            return;
        }
    }
    if (l->rank > 1 && l->shape[l->rank - 1] < SHORT_ROW) plan_chunks(m);
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
    /* The dtype of the row is the last operand's: where's first is bool. */
    m.fn = c->kernels->map[call->inst->op][call->in[call->n_in - 1].type.dtype];
    run(c, &m);
}

bool cpu_CAST(Cpu *c, const Call *call, Err *err) {
    (void)err;
    if (call->in[0].type.dtype == call->out[0].type.dtype) {
        cpu_copy(c, &call->in[0], call->out[0].data);
        return true;
    }
    MapRun m;
    prepare(&m, call);
    m.fn = c->kernels->cast[call->in[0].type.dtype][call->out[0].type.dtype];
    run(c, &m);
    return true;
}
