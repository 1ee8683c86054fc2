/* store.h: what a worker holds: tensors by client and id, and the memory behind them.
 *
 * A Tensor is a name for a View of a Storage. Views of one tensor share its Storage, which returns
 * to the engine when no name and no call in flight refers to it. Poison is kept in the Storage, so
 * that a failure that becomes known late reaches every view. Everything comes from free lists: no
 * malloc per instruction. Owned by the worker's thread.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_STORE_H
#define GT_WORKER_EXEC_STORE_H
#include "runtime/layout/layout.h"
#include "runtime/base/map.h"
#include "worker/engine/engine.h"

/* A free list of cells of one size. */
typedef struct Cells {
    size_t size;
    void *free, *chunks;
} Cells;
void *cell_get(Cells *c); /* uninitialised */
void cell_put(Cells *c, void *p);
void cells_fini(Cells *c);

/* A client's ids and their memory. It outlives every Storage that it owns: after the client has
 * left (names_leave) it is freed with the last of them. */
typedef struct Names {
    Map map;                    /* id -> Tensor */
    uint64_t bytes, bytes_peak; /* of the storages owned */
    uint64_t n_storages;
    bool is_left;
} Names;

struct Job;
typedef struct Wait Wait; /* of jobs; queue.c's */

/* What filled a storage. */
typedef enum Filled {
    FILLED_OTHERWISE, /* from outside, or not yet */
    FILLED_ALONE,     /* by one call of the engine */
    FILLED_IN_TURN,   /* likewise, in a cluster (collect.h) that ran one by one */
    FILLED_FUSED      /* by a kernel of several operations */
} Filled;

/* A storage has no memory before the job that fills it (`maker`) begins, so that waiting jobs take
 * none. */
typedef struct Storage {
    void *data; /* from the engine; NULL: none yet, or poisoned without any */
    uint64_t bytes;
    uint32_t refs;   /* names, jobs and readers on other workers */
    uint32_t users;  /* jobs among them */
    Ticket made;     /* ticket of the call in flight that fills it; 0: filled */
    ErrCode poison;  /* ERR_NONE, or why it has no values */
    uint32_t kernel; /* of a cluster: jit_number; else 0 */
    uint16_t op;     /* the op that filled it */
    uint8_t filled;  /* Filled */
    Names *owner;
    struct Job *maker; /* the job that will fill it; NULL: it has begun */
    Wait *waits;       /* jobs that wait for it */
} Storage;

/* The whole tensor of which a name is a part. */
typedef struct Whole {
    TensorType type;
    Layout layout;
    int at; /* index of this rank in the group */
} Whole;

typedef struct Tensor {
    Storage *storage;
    View view;       /* of the local part; tensor_view fills in its data */
    uint64_t offset; /* of its first element in the storage, bytes */
    Whole *whole;    /* of a tensor on a group of several; NULL: all of it is here */
    uint32_t group;  /* 0: not told */
    uint32_t mark;   /* plan.c's */
} Tensor;

typedef struct Store {
    const EngineOps *ops;
    Engine *engine;
    Cells storages, tensors, wholes;
    uint64_t n_storages;
    uint64_t n_changes; /* grows whenever memory may have become free */
} Store;

void store_init(Store *s, Engine *e);
void store_fini(Store *s); /* all names must have been dropped */

Names *names_new(void);
/* Drops all names; frees *n now, or when no reader of its storages is left. */
void names_leave(Store *s, Names **n);

/* New memory with one reference; NULL when the engine is full. */
Storage *storage_new(Store *s, Names *owner, uint64_t bytes);
Storage *storage_poisoned(Store *s, Names *owner, ErrCode why);
/* One reference, no memory until storage_fill, which may fail. */
Storage *storage_late(Store *s, Names *owner, uint64_t bytes, struct Job *maker);
bool storage_fill(Store *s, Storage *st);
void storage_empty(Store *s, Storage *st); /* undoes storage_fill */
/* Memory that counts as the owner's, without a storage; NULL: none. */
void *store_alloc(Store *s, Names *owner, uint64_t bytes);
void store_free(Store *s, Names *owner, void *data, uint64_t bytes);
/* One reference. The memory is from store_alloc, or from storage_give on one of the same owner and
 * size. */
Storage *storage_adopt(Store *s, Names *owner, void *data, uint64_t bytes);
void *storage_give(Storage *st);
/* The base of offsets: its memory, or an address where nothing is mapped. */
static inline char *storage_base(const Storage *st) {
    return st->data ? st->data : (char *)(UINT64_C(1) << 40);
}
static inline void storage_note(Storage *st, Filled how, Op op, uint32_t kernel) {
    st->filled = (uint8_t)how, st->op = (uint16_t)op, st->kernel = kernel;
}
static inline Storage *storage_ref(Storage *st) {
    st->refs++;
    return st;
}
void storage_unref(Store *s, Storage *st);
/* True if v, which begins at the memory's start, is all of its bytes, row-major. */
static inline bool view_covers(const View *v, uint64_t bytes) {
    return type_bytes(&v->type) == bytes && view_is_contiguous(v);
}
/* True if a reader of v may overwrite st with its result: it has all `refs` references, and v is
 * all of st. */
static inline bool storage_may_give(const Storage *st, const View *v, uint32_t refs) {
    return st->data && st->refs == refs && v->data == st->data && view_covers(v, st->bytes);
}

static inline Tensor *store_get(const Names *n, uint64_t id) { return map_get(&n->map, id); }
/* Names a storage (consumes one reference); id must be unused. The view is the whole of it,
 * row-major. */
Tensor *store_put(Store *s, Names *n, uint64_t id, Storage *st, const TensorType *type);
/* Names a view of another tensor's storage (takes a reference). */
Tensor *store_put_view(Store *s, Names *n, uint64_t id, Storage *st, const View *view);
/* If the storage has no memory yet, data is storage_base plus the offset. */
static inline void tensor_view(const Tensor *t, View *v) {
    *v = t->view;
    v->data = storage_base(t->storage) + t->offset;
}
/* True if t is all of its memory, row-major, and nothing else refers to it. */
static inline bool tensor_is_sole(const Tensor *t) {
    return t->storage->refs == 1 && t->offset == 0 && view_covers(&t->view, t->storage->bytes);
}
/* Makes t a part of `whole`, also in t's view. */
void store_set_whole(Store *s, Tensor *t, const Whole *whole);
bool store_drop(Store *s, Names *n, uint64_t id); /* false: no such id */
/* Writes the largest storages with n's names, for messages: "t12 (1000, 1000) f32 3.8 MiB, ..."; ""
 * if there are none. */
void store_largest(const Names *n, char *buf, size_t size);
#endif
