/* store.h: a worker's tensors, by client and id, and their memory.
 *
 * A Tensor is a name for a View of a Storage. Views of one tensor share its Storage, whose memory
 * returns to the engine when no name and no job refers to it. Poison is kept in the Storage, so
 * that a late failure reaches every view. All structs come from free lists: there is no malloc per
 * instruction. Used by the worker's thread only.
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

/* A client's ids and their memory. It outlives every Storage that it owns: once the client is gone
 * (names_leave), it is freed with the last of them. */
typedef struct Names {
    Map map;                    /* id -> Tensor */
    uint64_t bytes, bytes_peak; /* of the storages owned */
    uint64_t n_storages;
    bool is_left;
} Names;

struct Job;
typedef struct Wait Wait; /* queue.c */

/* A value that may turn out to be poisoned (mark.h). It is freed when that is known. */
typedef struct Doubt Doubt;
struct Doubt {
    uint64_t bits;   /* of slots */
    ErrCode *poison; /* set if one of their calls failed */
    Doubt **owner, *next, *prev;
};
void doubt_drop(Doubt **owner); /* frees *owner and sets it to NULL */

/* What filled a storage. */
typedef enum Filled {
    FILLED_OTHERWISE, /* not filled yet, or not by a call: data, moves */
    FILLED_ALONE,     /* by one call of the engine */
    FILLED_IN_TURN,   /* by one call, as part of a fusion (collect.h) that ran one by one */
    FILLED_FUSED      /* by a kernel of several operations */
} Filled;

/* A storage gets its memory when the job that fills it (`maker`) starts: waiting jobs use none. */
typedef struct Storage {
    void *data; /* from the engine; NULL: no memory yet, or poisoned */
    uint64_t bytes;
    uint32_t refs;   /* names, jobs and readers on other workers */
    uint32_t users;  /* jobs among them */
    Ticket made;     /* ticket of the call in flight that fills it; 0: none */
    ErrCode poison;  /* ERR_NONE, or why it has no values */
    uint32_t kernel; /* jit_number of the fusion that filled it; else 0 */
    uint16_t op;     /* the op that filled it */
    uint8_t filled;  /* Filled */
    Names *owner;
    struct Job *maker; /* the job that will fill it; NULL: that has started */
    Wait *waits;       /* jobs that wait for it */
    Doubt *doubt;      /* NULL: none */
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
    uint32_t group;  /* the group that it is on; 0: none was given */
    uint32_t mark;   /* used by plan.c */
} Tensor;

typedef struct Store {
    const EngineOps *ops;
    Engine *engine;
    Cells storages, tensors, wholes;
    uint64_t n_storages;
    uint64_t n_changes; /* incremented whenever memory may have become free */
} Store;

void store_init(Store *s, Engine *e);
void store_fini(Store *s); /* all names must have been dropped */

Names *names_new(void);
/* Drops all names. Frees *n now, or when the last of its storages is freed; sets *n to NULL. */
void names_leave(Store *s, Names **n);

/* These return a storage with one reference. storage_new: NULL if the engine has no memory. */
Storage *storage_new(Store *s, Names *owner, uint64_t bytes);
Storage *storage_poisoned(Store *s, Names *owner, ErrCode why);
/* Has no memory until storage_fill, which returns false if the engine has none. */
Storage *storage_deferred(Store *s, Names *owner, uint64_t bytes, struct Job *maker);
bool storage_fill(Store *s, Storage *st);
void storage_empty(Store *s, Storage *st); /* undoes storage_fill */
/* Memory without a storage, counted as the owner's. NULL: the engine has none. */
void *store_alloc(Store *s, Names *owner, uint64_t bytes);
void store_free(Store *s, Names *owner, void *data, uint64_t bytes);
/* Makes a storage, with one reference, of memory from store_alloc or from storage_give; that
 * storage must have had the same owner and size. */
Storage *storage_adopt(Store *s, Names *owner, void *data, uint64_t bytes);
/* Takes the memory out of a storage. It still counts as the owner's. */
void *storage_give(Storage *st);
/* The base of offsets: the storage's memory, or an address where nothing is mapped. */
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
/* True if v, which begins at the start of `bytes` of memory, covers all of it, row-major. */
static inline bool view_covers(const View *v, uint64_t bytes) {
    return type_bytes(&v->type) == bytes && view_is_contiguous(v);
}
/* True if a reader of v that has `refs` references to st may overwrite st with its result: nothing
 * else refers to st, and v covers all of it. */
static inline bool storage_may_give(const Storage *st, const View *v, uint32_t refs) {
    return st->data && st->refs == refs && v->data == st->data && view_covers(v, st->bytes);
}

static inline Tensor *store_get(const Names *n, uint64_t id) { return map_get(&n->map, id); }
/* Names all of a storage, row-major. id must be unused. Consumes one reference. */
Tensor *store_put(Store *s, Names *n, uint64_t id, Storage *st, const TensorType *type);
/* Names a view of a storage. Adds a reference. */
Tensor *store_put_view(Store *s, Names *n, uint64_t id, Storage *st, const View *view);
/* Fills *v, with data. While the storage has no memory, data is storage_base plus the offset. */
static inline void tensor_view(const Tensor *t, View *v) {
    *v = t->view;
    v->data = storage_base(t->storage) + t->offset;
}
/* True if t covers all of its storage, row-major, and nothing else refers to that. */
static inline bool tensor_is_sole(const Tensor *t) {
    return t->storage->refs == 1 && t->offset == 0 && view_covers(&t->view, t->storage->bytes);
}
/* Makes t a part of `whole`; sets t->view.part_axis, part_begin and whole_size. */
void store_set_whole(Store *s, Tensor *t, const Whole *whole);
bool store_drop(Store *s, Names *n, uint64_t id); /* false: no such id */
/* Writes the three largest storages whose beginning n names, for messages: "t12 (1000, 1000)
 * f32 3.8 MiB,
 * ..."; "" if there are none. */
void store_largest(const Names *n, char *buf, size_t size);
#endif
