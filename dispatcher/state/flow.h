/* flow.h: an instruction in the chain of modifiers, and what each of them decided about it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_FLOW_H
#define GT_DISPATCHER_STATE_FLOW_H
#include "dispatcher/state/client.h"
#include "runtime/layout/place.h"

/* An instruction in the chain. */
typedef struct Flow {
    struct Dispatcher *d;
    Client *client;
    uint64_t seq;       /* the client's number of the instruction                     */
    Inst inst;          /* borrowed parts live until the chain returns                */
    const void *record; /* raw bytes while `inst` is unchanged; NULL after a change   */
    size_t record_bytes;
    Body *body; /* of a hot record, or NULL; its index there, its arguments */
    uint32_t body_at;
    const uint8_t *args;
    size_t args_bytes;
    TensorType in_type[8], out_type[MAX_OUT]; /* set by mod_validate.c (first 8 operands) */
    int n_out;
    /* Of a `free`, set by mod_handle.c: the freed tensors that were elsewhere than on the home
     * worker alone (owned); whether any freed tensor was on the home worker. */
    TensorHandle *freed;
    int n_freed;
    bool frees_home;
    /* Set by mod_place.c, executed by mod_route.c. */
    const Members *group; /* the ranks that run it; NULL: the client's home, unchanged */
    Layout layout;        /* of its results on these ranks */
    Layout need[8];       /* of the first 8 operands there, if they are tensors */
    bool is_located;      /* `record` holds group and layout */
    bool is_for_all;      /* goes to all workers unchanged; it names its ranks itself */
    bool is_inserted;     /* inserted by the dispatcher: no sequence number ... */
    Op because;           /* ... because of this operation */
    bool has_to;
    RankSet to; /* has_to: these workers must get it, too */
} Flow;
#endif
