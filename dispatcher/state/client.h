/* client.h: what the dispatcher keeps of one client: ids, tensors, scopes, credit, and what waits
 * for its turn to be told.
 *
 * Credit: a client may have WINDOW_INSTS instructions and WINDOW_BYTES of frame heads under way;
 * the acks of its workers give them back, and whoever goes beyond is cut off. An instruction is
 * done when all workers that its frame went to are. Ids are the client's own; they only grow, so
 * that one that is not in the table was freed or never made.
 *
 * Errors, and answers that bear bad news, are told in stream order: with one worker that is their
 * order of arrival; with several they are held until all workers are past that instruction, and
 * several errors of one instruction (each rank of a group may fail) become one (err_join), which is
 * the lowest rank's where values are not to blame. What is held is thus at most an error and an
 * answer for each instruction under way.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_STATE_CLIENT_H
#define GT_DISPATCHER_STATE_CLIENT_H
#include "dispatcher/state/handle.h"
#include "runtime/base/fifo.h"
#include "runtime/wire/body.h"
#include "runtime/layout/config.h"
#include "runtime/wire/lru.h"
#include "runtime/wire/wire.h"
#include "runtime/net/net.h"

/* A frame that workers have and have not all acknowledged. */
typedef struct Sent {
    uint64_t seq_end, bytes; /* bytes: of the client's frame that ends here */
    uint32_t count;
    int n_owed;
    RankSet to; /* who has it */
} Sent;

/* What a scope comes to: where its tensors are laid out and how. */
typedef struct Target {
    const Members *group; /* NULL: the scope does not say                  */
    bool is_whole;        /* replicated                                    */
    int axis;             /* may count from the end                        */
} Target;

/* What the scope says of compilation. */
typedef enum Compile { COMPILE_UNSAID, COMPILE_NO, COMPILE_YES } Compile;

typedef struct Scope {
    char *name; /* n bytes and a NUL */
    size_t n;
    Target target;
    Compile compile;
} Scope;

/* A message to the client that is not yet due. */
typedef struct Held {
    int rank; /* of an error                                  */
    Msg msg;  /* empty: a sync's answer that is yet to come   */
} Held;

/* Bytes of answers of one worker that went to the client, one after another; WORKERS_MAX: of the
 * dispatcher's to its questions. */
typedef struct Unheard {
    int rank;
    uint64_t bytes;
} Unheard;

/* Messages that take no credit, by kind: a client may send so many a second, and RATE_BURST
 * seconds' worth of them at once. */
typedef enum Free { FREE_BEAT, FREE_CANCEL, FREE_FRAME, FREE_KINDS } Free;
enum { RATE_BEATS = 20, RATE_CANCELS = 50, RATE_EMPTY = 50, RATE_BURST = 4 };
typedef struct Rate {
    int64_t at_ms, left; /* left: thousandths of a message, as of at_ms */
} Rate;

typedef struct Intake Intake; /* intake.h */

typedef struct Client {
    PeerId peer;
    uint32_t id; /* given by us, travels in every message about it        */
    int rank;    /* of its home worker; -1: no worker is there yet         */
    char name[64];
    Handles tensors;
    size_t n_away;             /* live tensors that are not on the home worker alone     */
    const Members *home, *all; /* groups: its home; the workers there were at its welcome */
    RankSet used;              /* workers that have heard of it                          */
    int n_used;
    uint32_t *group; /* numbers of the groups that it holds, of several workers each   */
    uint32_t n_groups, cap_groups;
    bool checks_nan;
    bool compiles;         /* as the innermost open scope has it that says so           */
    Bodies bodies;         /* of its stream                                          */
    Lru notes;             /* what mod_hot.c knows of them                           */
    Intake *intake;        /* NULL: nobody looks for bodies in its stream             */
    uint64_t body_base;    /* bodies that were found there before it defined any itself */
    struct Taking *taking; /* frames that wait (take.h); NULL: there were none yet      */
    struct Client *next_waiting;
    struct Outgoing *outgoing; /* hot bodies of what is written for it; NULL: none yet    */
    Config signals;            /* what the client says of them                           */
    Scope *scope;
    int depth, cap_scope;
    Target target, births;           /* in force; of large sources where no scope speaks        */
    uint64_t next_inserted;          /* ids of our own, without their top bit                   */
    uint64_t next_id;                /* ids below were used                                   */
    uint64_t live_bytes, copy_bytes; /* tensor_bytes of its own; of what they were converted to */
    uint64_t next_seq, acked_seq;    /* instructions before these have come, are done          */
    uint64_t bytes;                  /* frame heads under way                                 */
    Fifo sent;                       /* of Sent: under way                                      */
    uint64_t first_sent;             /* number of the oldest over all time                      */
    uint64_t *cursor;
    int n_cursors;                  /* by rank: the first of `sent` that it has not acked      */
    Map held;                       /* -> Held, by 2 seq (errors), 2 seq + 1 (answers)       */
    uint64_t next_due;              /* what has a smaller key was told                       */
    Fifo unheard;                   /* of Unheard: answers that it has not taken           */
    uint64_t unread;                /* bytes of them that answer its questions               */
    uint64_t n_errors, n_questions; /* instructions refused; stats() not yet answered         */
    Rate rate[FREE_KINDS];
} Client;

Client *client_new(PeerId peer, uint32_t id, uint64_t seed);
/* taking, intake and outgoing have been freed before. */
void client_free(Client **c);
/* Takes credit for a frame of `count` instructions. false: beyond the window, err says how. */
bool client_credit(Client *c, uint32_t count, uint64_t head_bytes, Err *err);
/* Counts a message that takes none. false: there are too many of its kind, err says how many. */
bool client_rate(Client *c, Free kind, int64_t now_ms, Err *err);
/* Answers of a worker's go to the client; it has taken some: the oldest of those that are left, and
 * whose they are. bytes: in, of how many it speaks; out, how many are left of them. -1: none are
 * left. */
void client_answered(Client *c, int rank, uint64_t bytes);
int client_hears(Client *c, uint64_t *bytes, uint64_t *of_rank);
/* A frame went out to `to`: everything before seq_end that was not sent before. */
void client_sent(Client *c, const RankSet *to, uint64_t seq_end, uint32_t count, uint64_t bytes);
/* A worker has done everything before seq that it was sent. *insts: how many that are of what was
 * under way at it. false: an ack that cannot be. */
bool client_ack(Client *c, int rank, uint64_t seq, uint64_t *insts);
/* How many instructions a worker has of it. */
uint64_t client_under_way(const Client *c, int rank);

/* ---- what is told in order ---- */

/* Of an instruction that workers have not all done: holds an error of a worker's, or an answer.
 * Consumes m; drops what is of no instruction that was sent, and what is already there. */
void client_hold_error(Client *c, const Failure *f, int rank, Msg *m);
void client_hold_answer(Client *c, uint64_t seq, Msg *m);
/* The answer to the sync `seq` is to be held until all that came before it is done. */
void client_expect_sync(Client *c, uint64_t seq);
bool client_expects_sync(const Client *c, uint64_t seq);
/* The next one that is due; false: none. */
bool client_due(Client *c, Msg *m);
#endif
