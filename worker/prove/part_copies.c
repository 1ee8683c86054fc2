/* part_copies.c: what moves bytes: copies between views of any strides, parts of views read and
 * written in row-major order, views copied out, hashes; small ones and ones of several MiB. The
 * oracle does the same in host memory. All bytes around a view must stay as they were.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A view in memory of its own, in the engine and the same bytes in the host's. */
typedef struct Twin {
    View view; /* data NULL */
    int64_t offset;
    uint64_t bytes;
    char *device, *host;
} Twin;

static View on(const Twin *t, char *base) {
    View v = t->view;
    v.data = base + t->offset * dtype_info[v.type.dtype].size_bytes;
    return v;
}

/* No two elements share memory, so that the view can be written. */
static bool twin_make(Part *p, const TensorType *type, Twin *t) {
    int order[MAX_DIMS];
    int64_t step = 1;
    bool is_plain = rand_below(&p->rand, 3) == 0;
    *t = (Twin){.view = {.type = *type}};
    for (int d = 0; d < type->rank; d++) order[d] = d;
    for (int d = type->rank - 1; d > 0 && !is_plain; d--) {
        int e = rand_below(&p->rand, d + 1), o = order[d];
        order[d] = order[e], order[e] = o;
    }
    for (int k = type->rank - 1; k >= 0; k--) {
        int d = order[k];
        int64_t by = is_plain ? 1 : 1 + rand_below(&p->rand, 2),
                start = is_plain ? 0 : rand_below(&p->rand, 3);
        t->view.stride[d] = step * by;
        t->offset += step * start;
        step *= start + (type->shape[d] > 0 ? type->shape[d] - 1 : 0) * by + 1;
    }
    t->bytes = (uint64_t)step * (uint64_t)dtype_info[type->dtype].size_bytes;
    t->device = p->e->ops->alloc(p->e, t->bytes);
    if (!t->device) {
        part_fail(p, "no memory for %llu bytes", (unsigned long long)t->bytes);
        return false;
    }
    t->host = xmalloc(t->bytes);
    rand_fill(&p->rand, t->host, t->bytes);
    p->e->ops->copy_in(p->e, t->device, t->host, t->bytes);
    return true;
}

static void twin_free(Part *p, Twin *t) {
    if (t->device) p->e->ops->free(p->e, t->device, t->bytes);
    free(t->host);
}

/* All bytes in the engine's memory are those of the host's. */
static bool check_same(Part *p, const Twin *t, const char *what) {
    View all = {.type = {.dtype = DT_U8, .rank = 1, .shape = {(int64_t)t->bytes}}, .stride = {1}};
    char *got = xmalloc(t->bytes + 1);
    uint64_t at = 0;
    all.data = t->device;
    p->e->ops->copy_out(p->e, got, &all);
    engine_settle(p->e, NULL, NULL);
    while (at < t->bytes && got[at] == t->host[at]) at++;
    if (at < t->bytes)
        part_fail(p, "%s: byte %llu of %llu is %d, not %d", what, (unsigned long long)at,
                  (unsigned long long)t->bytes, (unsigned char)got[at], (unsigned char)t->host[at]);
    free(got);
    return at == t->bytes;
}

/* A part of the elements in row-major order, read into a buffer, and another one written. */
static void check_parts(Part *p, Twin *t) {
    Engine *e = p->e, *o = p->oracle;
    View device = on(t, t->device), host = on(t, t->host);
    int64_t n = type_numel(&t->view.type), size = dtype_info[t->view.type.dtype].size_bytes;
    for (int k = 0; k < 2; k++) {
        int64_t first = n ? (int64_t)(rand_u64(&p->rand) % (uint64_t)n) : 0;
        int64_t some = n ? (int64_t)(rand_u64(&p->rand) % (uint64_t)(n - first + 1)) : 0;
        if (k == 0) first = 0, some = n;
        uint64_t begin = (uint64_t)(first * size), bytes = (uint64_t)(some * size);
        char *got = xcalloc(bytes + 1, 1), *want = xcalloc(bytes + 1, 1);
        e->ops->read(e, &device, begin, bytes, got);
        o->ops->read(o, &host, begin, bytes, want);
        engine_settle(e, NULL, NULL);
        if (memcmp(got, want, bytes))
            part_fail(p, "read of elements %lld to %lld differs", (long long)first,
                      (long long)(first + some));
        for (uint64_t i = 0; i < bytes; i++) got[i] = (char)(want[i] ^ 0x5a);
        o->ops->write(o, &host, begin, bytes, got);
        e->ops->write(e, &device, begin, bytes, got);
        memset(got, 0, bytes); /* the host's memory may be reused at once */
        free(got);
        free(want);
    }
    check_same(p, t, "write");
}

static void check_hash(Part *p, const Twin *t) {
    Engine *e = p->e, *o = p->oracle;
    int size = dtype_info[t->view.type.dtype].size_bytes;
    int64_t n = (int64_t)t->bytes / size;
    uint64_t first = rand_u64(&p->rand) >> 40;
    uint16_t sample = (uint16_t)(rand_below(&p->rand, 2) ? 1 : 1 + rand_below(&p->rand, 50));
    if (!e->ops->hash || !o->ops->hash) return;
    uint64_t got = e->ops->hash(e, t->device, n, size, first, sample);
    uint64_t want = o->ops->hash(o, t->host, n, size, first, sample);
    if (got != want)
        part_fail(p, "hash of %lld elements from %llu on (sample %u) is %016llx, not %016llx",
                  (long long)n, (unsigned long long)first, sample, (unsigned long long)got,
                  (unsigned long long)want);
}

static TensorType some_type(Part *p, bool is_large) {
    TensorType t = {.dtype = (uint8_t)rand_below(&p->rand, DT_COUNT),
                    .rank = (uint8_t)rand_below(&p->rand, 5)};
    for (int d = 0; d < t.rank; d++) t.shape[d] = 1 + rand_below(&p->rand, 9);
    if (t.rank && rand_below(&p->rand, 12) == 0) t.shape[rand_below(&p->rand, t.rank)] = 0;
    if (is_large) {
        t.rank = 2;
        t.shape[0] = 200 + rand_below(&p->rand, 1000);
        t.shape[1] = 500 + rand_below(&p->rand, 700);
    }
    return t;
}

/* Quick: two tensors in a hundred have about a MiB; else three, and up to 9 MiB. */
void part_copies(Part *p) {
    int n = part_rounds(p, 120, 2000), large = 0;
    p->tally->all = (uint64_t)n;
    if (!(p->e = part_open(p, p->config->ops, 0))) return;
    if (!(p->oracle = part_open(p, &engine_cpu, 0))) return;
    for (int k = 0; k < n; k++) {
        char text[256];
        bool is_large = k % 60 == 59;
        TensorType type = some_type(p, is_large);
        large += is_large;
        if (!part_begin(p, "copies %d of %s", k, type_text(&type, text))) break;
        Twin from = {0}, to = {0};
        if (twin_make(p, &type, &from) && twin_make(p, &type, &to)) {
            View a = on(&from, from.device), b = on(&to, to.device);
            View c = on(&from, from.host), d = on(&to, to.host);
            p->e->ops->copy(p->e, &b, &a);
            p->oracle->ops->copy(p->oracle, &d, &c);
            check_same(p, &to, "copy");
            check_parts(p, &to);
            check_hash(p, &to);
            check_same(p, &from, "the operand of a copy");
        }
        twin_free(p, &from);
        twin_free(p, &to);
    }
    part_close(p, &p->e);
    part_close(p, &p->oracle);
    part_done(p, "%d pairs of views copied, read, written and hashed, %d of some MiB",
              (int)p->tally->done, large);
}
