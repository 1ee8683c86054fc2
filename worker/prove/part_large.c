/* part_large.c: a tensor of more than 2^31 elements, where the device has memory for two of them.
 * Bytes that repeat a pattern: copied from a view, negated, turned, added up, searched, indexed;
 * what it must give follows from the pattern. Parts are read at both ends and around the element
 * 2^31.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 65521, AROUND = 300, INDICES = 4 };
#define ELEMENTS ((INT64_C(1) << 31) + 3 * COLUMNS)

typedef struct Large {
    Part *p;
    int64_t rows, n;
    uint8_t pattern[COLUMNS]; /* of a row, after neg; below 255 */
    char *at, *other, *small; /* on the engine: two tensors, and memory for results */
} Large;

/* Element i, row-major; the last one is 255. */
static uint8_t element(const Large *l, int64_t i) {
    return i == l->n - 1 ? 255 : l->pattern[i % COLUMNS];
}

static View flat(const Large *l) { return view_dense(&(TensorType){DT_U8, 1, {l->n}}, l->at); }
static View matrix(const Large *l, char *at) {
    return view_dense(&(TensorType){DT_U8, 2, {l->rows, COLUMNS}}, at);
}
static View turned(const Large *l) {
    View v = matrix(l, l->at);
    v.type.shape[0] = COLUMNS, v.type.shape[1] = l->rows;
    v.stride[0] = 1, v.stride[1] = COLUMNS;
    return v;
}

static bool run(Large *l, Op op, const Attr *attr, int n_attr, View *in, int n_in, View out) {
    Inst inst = {.op = op, .attr = attr, .n_attr = (uint16_t)n_attr};
    Err err = {0};
    if (call_engine(l->p->e, &inst, in, n_in, &out, &err) == 1) return true;
    part_fail(l->p, "%s", err.text);
    return false;
}

/* Reads elements [begin, begin + AROUND) of the tensor at `from` and compares them. is_turned: it
 * is the turned matrix in row-major order. */
static void check_at(Large *l, char *from, int64_t begin, bool is_turned) {
    char got[AROUND];
    View v = {.type = {DT_U8, 1, {l->n}}, .stride = {1}, .data = from};
    if (begin < 0) begin = 0;
    if (begin > l->n - AROUND) begin = l->n - AROUND;
    l->p->e->ops->read(l->p->e, &v, (uint64_t)begin, AROUND, got);
    engine_settle(l->p->e, NULL, NULL);
    for (int64_t i = begin; i < begin + AROUND; i++) {
        int64_t at = is_turned ? i % l->rows * COLUMNS + i / l->rows : i;
        uint8_t x = (uint8_t)got[i - begin], want = element(l, at);
        if (x == want) continue;
        part_fail(l->p, "element %lld is %d, not %d", (long long)i, x, want);
        return;
    }
}
static void check(Large *l, char *from, bool is_turned) {
    const int64_t places[] = {0, l->n / 2, (INT64_C(1) << 31) - AROUND / 2, l->n - AROUND};
    for (int k = 0; k < 4; k++) check_at(l, from, places[k], is_turned);
}

static int64_t result_of(Large *l) {
    int64_t got = 0;
    View v = {.type = {DT_I64, 0, {0}}, .data = l->small};
    l->p->e->ops->copy_out(l->p->e, &got, &v);
    engine_settle(l->p->e, NULL, NULL);
    return got;
}
static void expect(Large *l, int64_t want) {
    int64_t got = result_of(l);
    if (got != want) part_fail(l->p, "it is %lld, not %lld", (long long)got, (long long)want);
}

/* Fills the tensor: a row from the host, copied to all rows, in negated form; then neg. */
static void make(Large *l) {
    Engine *e = l->p->e;
    char row[COLUMNS], last = (char)255;
    for (int i = 0; i < COLUMNS; i++) {
        l->pattern[i] = (uint8_t)rand_below(&l->p->rand, 255);
        row[i] = (char)(uint8_t)(0 - l->pattern[i]);
    }
    View from = matrix(l, l->other), to = matrix(l, l->at), all = flat(l);
    from.stride[0] = 0;
    if (!part_begin(l->p, "%lld bytes copied from a row", (long long)l->n)) return;
    e->ops->copy_in(e, l->other, row, COLUMNS);
    e->ops->copy(e, &to, &from);
    if (!part_begin(l->p, "neg of %lld bytes", (long long)l->n)) return;
    run(l, OP_NEG, NULL, 0, &all, 1, all);
    e->ops->copy_in(e, l->at + l->n - 1, &last, 1);
    check(l, l->at, false);
}

static void fold(Large *l) {
    View all = flat(l), one = {.type = {DT_I64, 0, {0}}, .data = l->small};
    int64_t sum = 0, axis = 0;
    const Attr attr = {.key = ATTR_AXIS, .n = 1, .ints = &axis};
    for (int i = 0; i < COLUMNS; i++) sum += l->pattern[i];
    if (part_begin(l->p, "sum of %lld bytes", (long long)l->n) &&
        run(l, OP_SUM, NULL, 0, &all, 1, one))
        expect(l, sum * l->rows - l->pattern[COLUMNS - 1] + 255);
    if (part_begin(l->p, "argmax of %lld bytes", (long long)l->n) &&
        run(l, OP_ARGMAX, NULL, 0, &all, 1, one))
        expect(l, l->n - 1);
    View sums = {.type = {DT_I64, 1, {COLUMNS}}, .stride = {1}, .data = l->small}, in;
    in = matrix(l, l->at);
    if (!part_begin(l->p, "sum of %lld rows", (long long)l->rows) ||
        !run(l, OP_SUM, &attr, 1, &in, 1, sums))
        return;
    int64_t *got = xcalloc(COLUMNS, sizeof *got);
    l->p->e->ops->copy_out(l->p->e, got, &sums);
    engine_settle(l->p->e, NULL, NULL);
    for (int i = 0; i < COLUMNS; i++) {
        int64_t want = l->pattern[i] * l->rows;
        if (i == COLUMNS - 1) want += 255 - l->pattern[i];
        if (got[i] == want) continue;
        part_fail(l->p, "column %d is %lld, not %lld", i, (long long)got[i], (long long)want);
        break;
    }
    free(got);
}

static void index_it(Large *l) {
    int64_t axis = 0, idx[INDICES] = {l->n - 1, l->n / 2, 1, -2};
    const Attr attr = {.key = ATTR_AXIS, .n = 1, .ints = &axis};
    View in[2] = {flat(l), {.type = {DT_I64, 1, {INDICES}}, .stride = {1}, .data = l->small}};
    View out = {.type = {DT_U8, 1, {INDICES}}, .stride = {1}, .data = l->small + sizeof idx};
    uint8_t got[INDICES] = {0};
    Engine *e = l->p->e;
    if (!part_begin(l->p, "indices of %lld bytes", (long long)l->n)) return;
    e->ops->copy_in(e, l->small, idx, sizeof idx);
    if (!run(l, OP_INDEX, &attr, 1, in, 2, out)) return;
    e->ops->copy_out(e, got, &out);
    engine_settle(e, NULL, NULL);
    for (int k = 0; k < INDICES; k++) {
        uint8_t want = element(l, idx[k] < 0 ? idx[k] + l->n : idx[k]);
        if (got[k] != want)
            part_fail(l->p, "the element at %lld is %d, not %d", (long long)idx[k], got[k], want);
    }
}

static void turn(Large *l) {
    View from = turned(l), to = view_dense(&from.type, l->other);
    if (!part_begin(l->p, "a turned copy of %lld bytes", (long long)l->n)) return;
    l->p->e->ops->copy(l->p->e, &to, &from);
    check(l, l->other, true);
}

static void prove(Large *l) {
    Engine *e = l->p->e;
    const uint64_t bytes = (uint64_t)l->n, small = COLUMNS * sizeof(int64_t);
    l->at = e->ops->alloc(e, bytes), l->other = e->ops->alloc(e, bytes);
    l->small = e->ops->alloc(e, small);
    if (l->at && l->other && l->small) {
        make(l);
        fold(l);
        index_it(l);
        turn(l);
    } else if (part_begin(l->p, "allocating twice %lld bytes", (long long)l->n)) {
        part_fail(l->p, "there is no memory, and the engine has it");
    }
    if (l->at) e->ops->free(e, l->at, bytes);
    if (l->other) e->ops->free(e, l->other, bytes);
    if (l->small) e->ops->free(e, l->small, small);
}

void part_large(Part *p) {
    int64_t most = p->config->large ? p->config->large : ELEMENTS;
    Large *l = xcalloc(1, sizeof *l);
    char text[24];
    Err err = {0};
    *l = (Large){.p = p, .rows = most / COLUMNS, .n = most / COLUMNS * COLUMNS};
    /* Calls need memory beside the tensors, mostly sums of a part of all rows. */
    uint64_t bytes = 2 * (uint64_t)l->n + (uint64_t)l->n / 2 + (16 << 20);
    EngineConfig config = {
        .memory_bytes = bytes, .device = p->config->device, .threads = p->config->threads};
    p->tally->all = 6;
    if (!p->config->large && !p->config->ops->is_device) {
        part_leave_out(p, "tensors of more than 2^31 elements are for devices");
    } else if ((p->e = p->config->ops->open(&config, &err))) {
        prove(l);
        part_close(p, &p->e);
        part_done(p, "%lld elements: copied, negated, added up, searched, indexed, turned",
                  (long long)l->n);
    } else if (err.code == ERR_MEMORY) {
        snprintf(p->tally->what, sizeof p->tally->what,
                 "left out for lack of memory: more than 2^31 elements need %s on the device",
                 bytes_text(bytes, text));
        p->tally->is_finished = p->tally->is_left_out = true;
    } else {
        part_fail(p, "%s", err.text);
    }
    free(l);
}
