/* handle.h: what the dispatcher knows about a client's live tensors: id -> type and place. A
 * hash table with tombstone-free removal. It also shrinks, so that its memory follows the number
 * of live ids, not of instructions.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_HANDLE_H
#define GT_DISPATCHER_STATE_HANDLE_H
#include "dispatcher/state/group.h"

/* The same values in another layout, under an id of the dispatcher. */
typedef struct Converted {
    struct Converted *next;
    uint64_t id;
    const Members *group;
    Layout layout;
} Converted;

typedef struct TensorHandle {
    TensorType type;  /* all zero when is_poisoned                              */
    bool is_poisoned; /* the instruction that was to make it was refused */
    bool is_fill;     /* all elements are this number, so it need not be sent */
    Operand fill;
    Layout layout;        /* over ...                                               */
    const Members *group; /* ... the ranks that hold it                             */
    Converted *converted; /* its conversions, freed with it */
} TensorHandle;

/* Zero-initialised is valid and empty. seed may be set while the table is empty. A secret seed
 * keeps clients from choosing ids that collide. */
typedef struct Handles {
    uint64_t *key;
    TensorHandle *value;
    size_t n, cap;
    uint64_t seed;
} Handles;

/* What counts against a client's limit. Includes a constant for the tensor's record, because
 * millions of tensors without elements take memory too. */
enum { TENSOR_HEAD = 256 };
static inline uint64_t tensor_bytes(const TensorType *t) { return type_bytes(t) + TENSOR_HEAD; }
/* Returns the bytes of the elements of all tensors that are not poisoned. */
uint64_t handles_bytes(const Handles *t);
/* NULL if not live. The pointer is valid until the table changes. */
TensorHandle *handles_find(const Handles *t, uint64_t id);
/* id must not be in the table. The new value is zero. */
TensorHandle *handles_add(Handles *t, uint64_t id);
/* False if not live. old (may be NULL) gets the value and owns its conversions. */
bool handles_remove(Handles *t, uint64_t id, TensorHandle *old);
void handles_fini(Handles *t);
void converted_free(Converted **list);
#endif
