/* hash.c: see hash.h.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/hash.h"
#include "runtime/inst/hash.h"
#include "runtime/wire/wire_peer.h"
#include "worker/exec/exec.h"
#include "worker/exec/mark.h"
#include "worker/engine/view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are worth a message of their own; fewer go with the next message. */
enum { BATCH = 256 };

struct Hashing {
    bool all;      /* elements; else samples of large results */
    bool is_tried; /* GT_TEST_FLIP or GT_HASH_KEEP is set */
    Hashes rows;
    HashRow row[HASHES_MAX];
};

/* ---- Hashing ---- */

/* A result here: all of a tensor, or the part that `layout` gives to rank `at` of a group. */
typedef struct Result {
    const char *data;
    TensorType type, whole;
    Layout layout;
    int at;
} Result;

static Result result_of(const Job *j, int k) {
    const Part *p = j->part;
    Result result = {.data = j->out[k]->data, .type = j->call.out[k].type};
    result.whole = p ? p->whole[k] : result.type;
    result.layout = p ? p->place.layout : layout_replicate();
    result.at = p ? p->at : 0;
    return result;
}

static HashedPart part_of(const Result *p) {
    switch (p->layout.kind) {
    case LAYOUT_SPLIT: return HASHED_SPLIT;
    case LAYOUT_PARTIAL: return HASHED_PARTIAL;
    default: return HASHED_WHOLE;
    }
}

/* Hashes a part of a split tensor: runs of rows that are adjacent in the whole too. */
static uint64_t hash_split(Exec *x, const Result *p, int size, uint16_t sample) {
    const TensorType *whole = &p->whole;
    const Layout *l = &p->layout;
    const char *data = p->data;
    Region mine = layout_region(l, whole, p->at);
    uint64_t outer = 1, inner = 1, sum = 0;
    for (int d = 0; d < l->axis; d++) outer *= (uint64_t)whole->shape[d];
    for (int d = l->axis + 1; d < whole->rank; d++) inner *= (uint64_t)whole->shape[d];
    uint64_t run = (uint64_t)mine.size[l->axis] * inner;
    uint64_t step = (uint64_t)whole->shape[l->axis] * inner;
    uint64_t first = (uint64_t)mine.begin[l->axis] * inner;
    for (uint64_t i = 0; i < outer && run; i++, first += step, data += run * (uint64_t)size)
        sum += x->ops->hash(x->engine, data, (int64_t)run, size, first, sample);
    return sum;
}

static uint64_t hash_of(Exec *x, const Result *p, uint16_t sample) {
    int size = dtype_info[p->type.dtype].size_bytes;
    if (p->layout.kind == LAYOUT_SPLIT) return hash_split(x, p, size, sample);
    return x->ops->hash(x->engine, p->data, type_numel(&p->type), size, 0, sample);
}

/* ---- For gt-diff and tests ---- */

static void put_shape(FILE *f, const char *name, const int64_t *shape, int rank) {
    fprintf(f, " %s=", name);
    for (int d = 0; d < rank; d++) fprintf(f, "%s%lld", d ? "," : "", (long long)shape[d]);
}

enum { KEEP_BYTES = 1 << 20 };

/* Writes result k to DIR/tID.cCLIENT.wRANK: a line about it, then its elements, row-major. */
static void keep_result(Exec *x, const Job *j, int k, HashedPart part, const char *dir) {
    static const char *const name[] = {"whole", "split", "partial"};
    char path[PATH_MAX], hidden[PATH_MAX + 8];
    Result p = result_of(j, k);
    const TensorType *type = &p.type, *whole = part == HASHED_SPLIT ? &p.whole : type;
    Region r = {{0}, {0}};
    if (part == HASHED_SPLIT) r = layout_region(&p.layout, whole, p.at);
    snprintf(path, sizeof path, "%s/t%llu.c%u.w%u", dir, (unsigned long long)j->inst.out[k],
             j->frame->client->id, x->rank);
    snprintf(hidden, sizeof hidden, "%s.new", path);
    FILE *f = fopen(hidden, "wxe");
    if (!f) return; /* an earlier result of this name, or no room: gt-diff says what is missing */
    fprintf(f, "gt-part %s %s", name[part], dtype_info[type->dtype].text);
    put_shape(f, "whole", whole->shape, whole->rank);
    put_shape(f, "begin", r.begin, whole->rank);
    put_shape(f, "size", type->shape, type->rank);
    fputc('\n', f);
    uint64_t bytes = type_bytes(type);
    View all = bytes_view(j->out[k]->data, bytes);
    char *piece = xmalloc(KEEP_BYTES);
    for (uint64_t at = 0, size; at < bytes; at += size) {
        size = bytes - at < KEEP_BYTES ? bytes - at : KEEP_BYTES;
        x->ops->read(x->engine, &all, at, size, piece);
        if (x->marks) marks_settle(x);
        fwrite(piece, 1, size, f);
    }
    free(piece);
    if (fclose(f) == 0) rename(hidden, path);
}

/* True if `list`, such as "t3,t17:", has this id. */
static bool lists(const char *list, uint64_t id) {
    for (char *end; *list == 't'; list = *end == ',' ? end + 1 : end)
        if (strtoull(list + 1, &end, 10) == id) return true;
    return false;
}

static void keep_results(Exec *x, const Job *j, const HashRow *row) {
    const char *what = getenv("GT_HASH_KEEP"), *dir = what ? strchr(what, ':') : NULL;
    for (int k = 0; dir && k < j->call.n_out; k++)
        if (lists(what, j->inst.out[k])) keep_result(x, j, k, (HashedPart)row->part, dir + 1);
}

static void flip(Exec *x, const Job *j) {
    const char *text = getenv("GT_TEST_FLIP");
    unsigned rank;
    unsigned long long id, bit;
    if (!text || sscanf(text, "w%u:t%llu:%llu", &rank, &id, &bit) != 3 || rank != x->rank) return;
    for (int k = 0; k < j->call.n_out; k++)
        if (j->inst.out[k] == id && bit / 8 < j->out[k]->bytes) {
            View all = bytes_view(j->out[k]->data, j->out[k]->bytes);
            uint8_t byte;
            x->ops->read(x->engine, &all, bit / 8, 1, &byte);
            if (x->marks) marks_settle(x);
            byte ^= (uint8_t)(1u << bit % 8);
            x->ops->write(x->engine, &all, bit / 8, 1, &byte);
        }
}

/* ---- Rows ---- */

static HashRow *add_row(Exec *x) {
    Hashing *h = x->hashing;
    Msg m;
    if (h->rows.n == HASHES_MAX && hash_next(x, true, &m)) exec_send(x, &m);
    return &h->row[h->rows.n++];
}

void hash_results(Exec *x, const Job *j) {
    Hashing *h = x->hashing;
    int n = j->call.n_out;
    Result result[MAX_OUT];
    uint16_t sample = UINT16_MAX; /* one number for all results: the least */
    if (x->ops == &engine_null || n == 0 || n != j->inst.n_out) return;
    if (x->marks) marks_settle(x);
    for (int k = 0; k < n; k++)
        if (!j->out[k]->data || j->out[k]->poison) return;
    if (h->is_tried) flip(x, j);
    for (int k = 0; k < n; k++) {
        result[k] = result_of(j, k);
        uint16_t one = hash_sample(&result[k].whole, h->all);
        if (one < sample) sample = one;
    }
    HashRow *row = add_row(x);
    *row = (HashRow){.id = j->inst.out[0],
                     .client = j->frame->client->id,
                     .op = (uint16_t)j->inst.op,
                     .sample = sample,
                     .n_out = (uint8_t)n,
                     .part = (uint8_t)part_of(&result[0])};
    for (int k = 0; k < n; k++) row->hash[k] = hash_of(x, &result[k], sample);
    row->at_ns = exec_now_ns(x);
    if (h->is_tried) keep_results(x, j, row);
}

void hash_tensor(Exec *x, uint32_t client, uint64_t id, const Tensor *t) {
    const Storage *st = t->storage;
    if (x->marks) marks_settle(x);
    if (x->ops == &engine_null || st->poison || !view_covers(&t->view, st->bytes)) return;
    const Whole *w = t->whole;
    Result p = {.data = st->data, .type = t->view.type, .whole = w ? w->type : t->view.type};
    p.layout = w ? w->layout : layout_replicate();
    p.at = w ? w->at : 0;
    uint16_t sample = hash_sample(&p.whole, x->hashing->all);
    HashRow *row = add_row(x);
    *row = (HashRow){.id = id,
                     .client = client,
                     .op = st->op,
                     .sample = sample,
                     .n_out = 1,
                     .part = (uint8_t)part_of(&p),
                     .at_ns = exec_now_ns(x)};
    row->hash[0] = hash_of(x, &p, sample);
}

bool hash_next(Exec *x, bool is_urgent, Msg *out) {
    Hashing *h = x->hashing;
    if (!h || h->rows.n == 0 || (!is_urgent && h->rows.n < BATCH)) return false;
    wire_hashes(&h->rows, out);
    h->rows.n = 0;
    return true;
}

void exec_hash(Exec *x, uint8_t what) {
    bool on = what & (WATCH_HASHES | WATCH_ALL);
    if (!on) {
        free(x->hashing);
        x->hashing = NULL;
        x->hashes_all = false;
        return;
    }
    if (!x->hashing) x->hashing = xcalloc(1, sizeof *x->hashing);
    x->hashing->rows.row = x->hashing->row;
    x->hashing->all = x->hashes_all = what & WATCH_ALL;
    x->hashing->is_tried = getenv("GT_TEST_FLIP") || getenv("GT_HASH_KEEP");
}
