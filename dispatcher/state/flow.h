/* flow.h: an instruction on its way through the modifiers, with what they have found out about it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_FLOW_H
#define GT_DISPATCHER_STATE_FLOW_H
#include "dispatcher/state/client.h"
#include "runtime/layout/place.h"

/* An instruction on its way through the chain. */
typedef struct Flow {
    struct Dispatcher *d;
    Client *client;
    uint64_t seq;       /* the client's number of the instruction                     */
    Inst inst;          /* borrowed parts live until the chain returns                */
    const void *record; /* raw bytes while `inst` is unchanged; NULL after a change   */
    size_t record_bytes;
    void *hot;  /* the record in the frame that stands for it and others, or NULL; */
    Body *body; /* then: its body, its place there, its arguments                 */
    uint32_t body_at;
    const uint8_t *args;
    size_t args_bytes;
    TensorType in_type[8], out_type[MAX_OUT]; /* filled by validate (first 8 operands)  */
    int n_out;
    /* What shard decides and route carries out. */
    const Members *group; /* who carries it out; NULL: its client's home, as it stands   */
    Layout layout;        /* of its results there                                       */
    Layout need[8];       /* of the first 8 operands there, if it is a tensor's          */
    bool is_located;      /* `record` says both                                         */
    bool is_for_all;      /* as it is, it says itself for whom                          */
    bool is_inserted;     /* it is our own: no sequence number ...                      */
    Op because;           /* ... and for this operation's sake                          */
    bool has_to;
    RankSet to; /* has_to: these get it, whoever else does                    */
} Flow;
#endif
