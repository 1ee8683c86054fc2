/* handle.h: what the dispatcher knows of a client's live tensors: id -> type and place. A hash table whose memory follows
 * the number of live ids, not the number of instructions: it shrinks as it grew, and a removal leaves no trace.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_HANDLE_H
#define GT_DISPATCHER_HANDLE_H
#include "runtime/inst.h"

typedef struct TensorHandle {
    TensorType type;  /* all zero when the instruction was not even understood */
    int32_t rank;     /* of the worker that holds it                           */
    bool is_poisoned; /* its instruction was refused here                      */
} TensorHandle;

typedef struct Handles { uint64_t *key; TensorHandle *value; size_t n, cap; uint64_t seed; } Handles;

/* Zero-initialised is valid and empty; seed may be set while empty (it keeps a client from choosing colliding ids). */
TensorHandle *handles_find(const Handles *t, uint64_t id);  /* NULL: not live; valid until the table changes */
TensorHandle *handles_add(Handles *t, uint64_t id);         /* id is not in the table; the value is zero       */
bool handles_remove(Handles *t, uint64_t id, TensorHandle *old); /* old may be NULL; false: not live          */
void handles_fini(Handles *t);
#endif
