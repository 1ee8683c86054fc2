/* store.h: what a worker holds: tensors by client and id, and the memory behind them.
 *
 * A Tensor is a name for a View of a Storage; views of one tensor share its Storage, which goes
 * back to the engine when names and calls in flight have all let go of it. Poison sits on the
 * Storage: a failure that becomes known late reaches every view. Everything comes from free
 * lists: no malloc per instruction. Owned by the worker's thread.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_STORE_H
#define GT_WORKER_STORE_H
#include "runtime/map.h"
#include "worker/engine.h"

/* A free list of cells of one size. */
typedef struct Cells {
    size_t size;
    void *free, *chunks;
} Cells;
void *cell_get(Cells *c); /* uninitialised */
void cell_put(Cells *c, void *p);
void cells_fini(Cells *c);

/* A client's ids and what they cost. Outlives every Storage that it owns. */
typedef struct Names {
    Map map;                    /* id -> Tensor */
    uint64_t bytes, bytes_peak; /* of the storages owned */
} Names;

typedef struct Storage {
    void *data; /* the engine's; NULL: poisoned before it had any */
    uint64_t bytes;
    uint32_t refs;  /* names and calls in flight */
    uint32_t users; /* calls in flight among them */
    Ticket made;    /* of the call that fills it while that is in flight; 0: it is filled */
    ErrCode poison; /* ERR_NONE, or why there is nothing in it */
    Names *owner;
} Storage;

typedef struct Tensor {
    Storage *storage;
    View view;
} Tensor;

typedef struct Store {
    const EngineOps *ops;
    Engine *engine;
    Cells storages, tensors;
    uint64_t n_storages;
} Store;

void store_init(Store *s, Engine *e);
void store_fini(Store *s); /* all names must be gone */

/* New memory with one reference; NULL when the engine is full. */
Storage *storage_new(Store *s, Names *owner, uint64_t bytes);
Storage *storage_poisoned(Store *s, Names *owner, ErrCode why);
static inline Storage *storage_ref(Storage *st) {
    st->refs++;
    return st;
}
void storage_unref(Store *s, Storage *st);

static inline Tensor *store_get(const Names *n, uint64_t id) { return map_get(&n->map, id); }
/* Names a storage (consumes one reference); id must be unused. The view is the whole of it,
 * row-major. */
Tensor *store_put(Store *s, Names *n, uint64_t id, Storage *st, const TensorType *type);
/* Names a view of another tensor's storage (takes a reference). */
Tensor *store_put_view(Store *s, Names *n, uint64_t id, Storage *st, const View *view);
bool store_drop(Store *s, Names *n, uint64_t id); /* false: no such id */
void store_drop_all(Store *s, Names *n);
/* The largest storages that n's names keep, for messages: "t12 (1000, 1000) f32 3.8 MiB, ...";
 * "" when there is none. */
void store_largest(const Names *n, char *buf, size_t size);
/* "4.0 GiB", "812 B"; buf >= 24 bytes. */
const char *bytes_text(uint64_t bytes, char *buf);
#endif
