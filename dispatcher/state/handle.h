/* handle.h: what the dispatcher knows of a client's live tensors: id -> type and place. A hash
 * table whose memory follows the number of live ids, not of instructions: it shrinks as it grew,
 * and a removal leaves no trace.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_HANDLE_H
#define GT_DISPATCHER_STATE_HANDLE_H
#include "dispatcher/state/group.h"

/* The same values laid out otherwise, under an id of the dispatcher's. */
typedef struct Converted {
    struct Converted *next;
    uint64_t id;
    const Members *group;
    Layout layout;
} Converted;

typedef struct TensorHandle {
    TensorType type;  /* all zero when is_poisoned                              */
    bool is_poisoned; /* the instruction that was to make it was refused here   */
    bool is_fill;     /* all elements are this number: nobody needs to send it  */
    Operand fill;
    Layout layout;        /* over ...                                               */
    const Members *group; /* ... the ranks that hold it                             */
    Converted *converted; /* what it was converted to; dies with it                 */
} TensorHandle;

/* Zero-initialised is valid and empty. seed may be set while empty: it keeps a client from choosing
 * ids that collide. */
typedef struct Handles {
    uint64_t *key;
    TensorHandle *value;
    size_t n, cap;
    uint64_t seed;
} Handles;

/* What counts against a client's limit: also that there is a tensor at all, for millions without
 * any elements take memory too. */
enum { TENSOR_HEAD = 256 };
static inline uint64_t tensor_bytes(const TensorType *t) { return type_bytes(t) + TENSOR_HEAD; }
/* Bytes of the elements of all that are not poisoned. */
uint64_t handles_bytes(const Handles *t);
/* NULL: not live. The pointer is valid until the table changes. */
TensorHandle *handles_find(const Handles *t, uint64_t id);
/* id must not be in the table. The value is zero. */
TensorHandle *handles_add(Handles *t, uint64_t id);
/* false: not live. old (may be NULL) gets the value and owns its conversions. */
bool handles_remove(Handles *t, uint64_t id, TensorHandle *old);
void handles_fini(Handles *t);
void converted_free(Converted **list);
#endif
