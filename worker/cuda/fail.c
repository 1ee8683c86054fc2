/* fail.c: failures that depend on values: indices out of range, matrices that cannot be factorized.
 * A call that may fail so takes a slot, a record in device memory of the first bad index or pivot:
 * kernels check all, take the one that the engine cpu would report, and use no index that is out of
 * range. The open slots' records are copied to pinned memory in front of each mark, and read when
 * the mark is done.
 *
 * Of several index operands all elements of the first one come first. Operands are kept as views
 * whose data is no longer used.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/index_record.h"
#include "worker/cuda/fail.h"
#include "worker/cuda/copy.h"
#include "worker/cuda/graph.h"
#include "worker/engine/linalg.h"
#include <stdlib.h>
#include <string.h>

typedef struct Slot {
    Ticket ticket;
    int node; /* of a fusion; of a call 0 */
    bool is_open, is_matrix, is_fused;
    union {
        Indices of;
        Matrices matrices;
        TensorType space; /* is_fused: the fusion's; the record is a FusedBad */
    };
} Slot;
typedef struct Failure Failure;
struct Failure {
    Failure *next;
    Ticket ticket;
    int node;
    Err err;
};
struct Failures {
    IndexRecord *records; /* on the device, one for each slot */
    IndexRecord *read;    /* pinned: for each mark of the ring FAIL_SLOTS records, */
    IndexRecord *clean;   /* ... and one as all are at first */
    Slot slot[FAIL_SLOTS];
    int n_open;
    Failure *first, *last; /* known */
};

enum { AREAS = MARKS + 1 };

bool cuda_open_failures(Cuda *c, char *records) {
    Failures *f = c->failures = xcalloc(1, sizeof *f);
    size_t bytes = sizeof(IndexRecord) * (AREAS * FAIL_SLOTS + 1);
    f->records = (IndexRecord *)(void *)records;
    if (!CALL(c, cuMemHostAlloc, (void **)&f->read, bytes, 0)) return false;
    f->clean = f->read + AREAS * FAIL_SLOTS;
    memset(f->clean, 0xff, sizeof *f->clean);
    return CALL(c, cuMemsetD8Async, (CUdeviceptr)f->records, 0xff, FAIL_RECORDS, c->stream);
}

void cuda_close_failures(Cuda *c) {
    Failures *f = c->failures;
    if (!f) return;
    while (f->first) {
        Failure *next = f->first->next;
        free(f->first);
        f->first = next;
    }
    if (f->read) c->libs->cuMemFreeHost(f->read);
    free(f);
    c->failures = NULL;
}

static void fail(Cuda *c, Ticket ticket, int node, const Err *err) {
    Failures *l = c->failures;
    Failure *f = xmalloc(sizeof *f);
    *f = (Failure){NULL, ticket, node, *err};
    if (l->first)
        l->last->next = f;
    else
        l->first = f;
    l->last = f;
}

void cuda_fail(Cuda *c, Ticket ticket, const Err *err) { fail(c, ticket, 0, err); }

bool cuda_failed(Engine *e, Ticket *t, int *node, Err *err) {
    Failures *l = ((Cuda *)e)->failures;
    Failure *f = l->first;
    if (!f) return false;
    l->first = f->next;
    *t = f->ticket, *node = f->node, *err = f->err;
    free(f);
    return true;
}

/* ---- Slots ---- */

static void matrix_is_bad(const Matrices *of, uint64_t at, Err *err) {
    if (of->op == OP_CHOLESKY)
        linalg_indefinite(&of->batch, (int64_t)at / of->n, (int64_t)at % of->n, err);
    else if (at == 0)
        linalg_not_perm(of->n, err);
    else
        linalg_singular(&of->batch, (int64_t)(at - 1) / of->n, (int64_t)(at - 1) % of->n, err);
}

static void bad_index(const Indices *of, const IndexRecord *r, Err *err) {
    int64_t n = type_numel(&of->common);
    int k = (int)(r->at / (uint64_t)n);
    BadIndex b = {.idx = &of->idx[k],
                  .shape = &of->common,
                  .at = (int64_t)(r->at % (uint64_t)n),
                  .value = r->value,
                  .size = of->size[k],
                  .axis = of->axis + k,
                  .from_zero = of->from_zero,
                  .is_along = of->is_along};
    index_is_bad(&b, err);
}

/* Reports what a record of slot s says. */
static void report(Cuda *c, Slot *s, const IndexRecord *r) {
    Err err = {0};
    s->is_open = false;
    c->failures->n_open--;
    if (r->at == INDEX_GOOD) return;
    if (s->is_matrix)
        matrix_is_bad(&s->matrices, r->at, &err);
    else if (s->is_fused)
        fuse_check_bad(&s->space, (const FusedBad *)(const void *)r, &err);
    else
        bad_index(&s->of, r, &err);
    fail(c, s->ticket, s->node, &err);
    ASK_TWICE(c, cuMemcpyHtoDAsync_v2,
              (CUdeviceptr)(c->failures->records + (s - c->failures->slot)), c->failures->clean,
              sizeof *r, c->stream);
}

/* Reports, in order, on the open slots before ticket t from an area that was read after them. */
static void report_area(Cuda *c, Ticket t, int area) {
    Failures *f = c->failures;
    for (;;) {
        Slot *first = NULL;
        for (int k = 0; k < FAIL_SLOTS && f->n_open; k++) {
            Slot *s = &f->slot[k];
            if (s->is_open && s->ticket < t && (!first || s->ticket < first->ticket)) first = s;
        }
        if (!first) return;
        report(c, first, f->read + area * FAIL_SLOTS + (first - f->slot));
    }
}

static bool read_area(Cuda *c, int area) {
    Failures *f = c->failures;
    return ASK_TWICE(c, cuMemcpyDtoHAsync_v2, f->read + area * FAIL_SLOTS, (CUdeviceptr)f->records,
                     FAIL_RECORDS, c->stream);
}

void cuda_mark_failures(Cuda *c, int mark) {
    if (c->failures->n_open) read_area(c, mark);
}
void cuda_pass_failures(Cuda *c, Ticket t) { report_area(c, t, (int)(t / 2 % MARKS)); }

/* If the caller left too few slots, waits. */
static bool make_room(Cuda *c, int n) {
    if (c->failures->n_open + n <= FAIL_SLOTS) return true;
    if (!read_area(c, MARKS) || !cuda_settle(c)) return false;
    report_area(c, UINT64_MAX, MARKS);
    return true;
}

/* Returns a slot for the newest call; NULL: there is none. */
static Slot *take_slot(Cuda *c) {
    Failures *f = c->failures;
    int k = 0;
    if (cuda_is_captured(c) || !make_room(c, 1)) return NULL;
    while (f->slot[k].is_open) k++;
    f->slot[k] = (Slot){.ticket = c->host.engine.last, .is_open = true};
    f->n_open++;
    return &f->slot[k];
}

IndexRecord *cuda_take_slot(Cuda *c, const Indices *of) {
    Slot *s = take_slot(c);
    if (!s) return NULL;
    s->of = *of;
    return c->failures->records + (s - c->failures->slot);
}

IndexRecord *cuda_take_matrix_slot(Cuda *c, const Matrices *of) {
    Slot *s = take_slot(c);
    if (!s) return NULL;
    s->is_matrix = true, s->matrices = *of;
    return c->failures->records + (s - c->failures->slot);
}

bool cuda_take_fused_slots(Cuda *c, Fusion *f) {
    _Static_assert(sizeof(FusedBad) == sizeof(IndexRecord), "both are records");
    int n = fuse_fail(f, f->n_nodes);
    if (n && !make_room(c, n)) return false;
    for (int i = 0; i < f->n_nodes; i++) {
        if (!fuse_may_fail(&f->node[i])) continue;
        Slot *s = take_slot(c);
        if (!s) return false;
        s->is_fused = true, s->node = i, s->space = f->space;
        IndexRecord *r = c->failures->records + (s - c->failures->slot);
        f->args.bad[fuse_fail(f, i)] = (FusedBad *)(void *)r;
    }
    return true;
}
