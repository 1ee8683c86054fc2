/* client.h: the dispatcher's state of one client: ids, tensors, scopes, credit, and messages that
 * are held back.
 *
 * Credit: a client may have WINDOW_INSTS instructions and WINDOW_BYTES of frame heads in flight.
 * Acks of its workers give the credit back. A client that exceeds it is disconnected. An
 * instruction is done when all workers that got its frame have done it. The client chooses its
 * ids in increasing order. So an id that is not in the table was freed or never made.
 *
 * Other limits of what one client may use: messages without credit per second (client_rate),
 * questions (QUESTIONS_MAX), refused instructions (ERRORS_MAX, ingest.c), scopes and groups
 * (mod_scope.c), bytes of live tensors (mod_validate.c), converted copies (convert.c), hot bodies
 * (body.h) and notes on them (mod_hot.c), and messages that it does not read (loop.c).
 *
 * Errors, and answers that carry an error, reach the client in stream order. With one worker
 * that is the order of arrival. With several workers they are held until all workers are past
 * the instruction. Several errors of one instruction (each rank of a group may fail) become one
 * (err_join): if the values are not the cause, the lowest rank's. So at most one error and one
 * answer are held per instruction in flight.
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

/* A frame that workers have and that some have not acknowledged. */
typedef struct Sent {
    uint64_t seq_end, bytes; /* bytes: of the client's frame that ends here */
    int64_t at_ms;           /* when it was sent */
    uint32_t count;
    int n_owed;
    RankSet to; /* the workers that have it */
} Sent;

/* The effect of a scope: where its tensors are placed and how they are split. */
typedef struct Target {
    const Members *group; /* NULL: the scope names none                    */
    bool is_whole;        /* replicated                                    */
    int axis;             /* may count from the end                        */
} Target;

/* Whether a scope sets `compile`, and how. */
typedef enum Compile { COMPILE_UNSET, COMPILE_NO, COMPILE_YES } Compile;

typedef struct Scope {
    char *name; /* n bytes and a NUL */
    size_t n;
    Target target;
    Compile compile;
} Scope;

/* A message to the client that is not due yet. */
typedef struct Held {
    int rank; /* of an error                                  */
    Msg msg;  /* empty: the answer to a sync that has not arrived */
} Held;

/* Bytes of consecutive answers of one worker that were sent to the client. WORKERS_MAX: the
 * dispatcher's own answers to the client's questions. */
typedef struct UnreadReply {
    int rank;
    uint64_t bytes;
} UnreadReply;

/* Messages that take no credit, by kind. A client may send a fixed number per second, and a
 * burst of RATE_BURST seconds' worth. */
typedef enum Free { FREE_BEAT, FREE_CANCEL, FREE_FRAME, FREE_KINDS } Free;
enum { RATE_BEATS = 20, RATE_CANCELS = 50, RATE_EMPTY = 50, RATE_BURST = 4 };
typedef struct Rate {
    int64_t at_ms, left; /* left: thousandths of a message, as of at_ms */
} Rate;

typedef struct Finder Finder; /* finder.h */

typedef struct Client {
    PeerId peer;
    uint32_t id; /* assigned by the dispatcher; part of every message about the client */
    int rank;    /* of its home worker; -1: there is no worker yet */
    char name[64], user[64];
    char **file; /* names of its source files, by number; NULL: not defined */
    int n_files;
    size_t file_bytes;
    SrcPos at; /* position of the last instruction that had one */
    Handles tensors;
    size_t n_away;             /* live tensors that are not on the home worker alone     */
    const Members *home, *all; /* groups: its home; the workers present at its welcome */
    RankSet used;              /* workers that know the client */
    int n_used;
    uint32_t *group; /* numbers of the groups that it holds, those of several workers each */
    uint32_t n_groups, cap_groups;
    bool checks_nan;
    bool is_profiled;      /* its workers add up its times by source line               */
    bool compiles;         /* state of `scope` after what was written for workers       */
    RankSet compiling;     /* workers for which that is on                              */
    Bodies bodies;         /* of its stream                                          */
    Lru notes;             /* what mod_hot.c knows of them                           */
    Finder *finder;        /* NULL: it is not examined for bodies                    */
    uint64_t body_base;    /* bodies found by finder.c before it defined any itself */
    struct Ingest *ingest; /* frames that wait (ingest.h); NULL: none have waited yet  */
    struct Client *next_waiting;
    struct Outgoing *outgoing; /* hot bodies of what is written for it; NULL: none so far */
    Config signals;            /* the client's own definitions */
    Scope *scope;
    int depth, cap_scope;
    Target target,
        auto_target; /* of the innermost scope; GT_AUTO_SHARD's: of large sources in no scope */
    uint64_t next_inserted;          /* ids of our own, without their top bit                   */
    uint64_t next_id;                /* ids below were used                                   */
    uint64_t live_bytes, copy_bytes; /* tensor_bytes of its own; of what they were converted to */
    uint64_t next_seq, acked_seq;    /* instructions before these have come, are done          */
    uint64_t bytes;                  /* frame heads in flight                                 */
    Fifo sent;                       /* of Sent: in flight                                      */
    uint64_t first_sent;             /* number of the oldest over all time                      */
    uint64_t *cursor;
    int n_cursors;                  /* by rank: the first of `sent` that it has not acked      */
    Map held;                       /* -> Held, by 2 seq (errors), 2 seq + 1 (answers)       */
    uint64_t next_due;              /* messages with smaller keys were sent                  */
    Fifo unread_replies;            /* of UnreadReply: answers that it has not read            */
    uint64_t unread;                /* bytes of them that answer its questions               */
    uint64_t n_errors, n_questions; /* instructions refused; stats() not yet answered         */
    Rate rate[FREE_KINDS];
} Client;

/* True if all its tensors are on its home worker, and no scope places new ones elsewhere. */
static inline bool client_stays_home(const Client *c) {
    const Members *target = c->target.group, *auto_target = c->auto_target.group;
    return c->n_away == 0 && (!target || target == c->home) &&
           (!auto_target || auto_target == c->home);
}

Client *client_new(PeerId peer, uint32_t id, uint64_t seed);
/* Precondition: ingest, finder and outgoing are freed. */
void client_free(Client **c);
/* `file 3 "train.gt"`: defines a file's number. Ignores one that is malformed, or too many. */
void client_learn_file(Client *c, const Inst *inst);
/* The name of a file by its number; NULL: unknown. */
static inline const char *client_file(const Client *c, int number) {
    return number < c->n_files ? c->file[number] : NULL;
}
/* Sets err: no tensor of the client has this id, or none has it any more. Returns false. */
bool client_unknown_id(const Client *c, uint64_t id, Err *err);
/* Takes credit for a frame of `count` instructions. False if that exceeds the window; err says
 * how. */
bool client_credit(Client *c, uint32_t count, uint64_t head_bytes, Err *err);
/* Counts a message that takes no credit. False if there are too many of its kind; err says how
 * many. */
bool client_rate(Client *c, Free kind, int64_t now_ms, Err *err);
/* client_answered: `bytes` of answers of worker `rank` went to the client. client_read: the
 * client has read *bytes of answers. Removes the oldest run of answers from one worker, sets
 * *of_rank to the bytes removed, subtracts them from *bytes, and returns the rank; -1 if *bytes
 * is 0 or no answer is left. */
void client_answered(Client *c, int rank, uint64_t bytes);
int client_read(Client *c, uint64_t *bytes, uint64_t *of_rank);
/* A frame went out to `to`. It covers everything before seq_end that was not sent before. */
void client_sent(Client *c, const RankSet *to, uint64_t seq_end, uint32_t count, uint64_t bytes,
                 int64_t now_ms);
/* A worker has done everything before seq that it was sent. *insts: how many of these
 * instructions were in flight there. False if the ack is impossible. */
bool client_ack(Client *c, int rank, uint64_t seq, uint64_t *insts);
/* Returns the number of the client's instructions in flight at a worker. */
uint64_t client_in_flight(const Client *c, int rank);

/* ---- messages in stream order ---- */

/* Holds a worker's error, or an answer, of an instruction that some workers have not done.
 * Consumes m. Drops m if no such instruction was sent, or if it is held already. */
void client_hold_error(Client *c, const Failure *f, int rank, Msg *m);
void client_hold_answer(Client *c, uint64_t seq, Msg *m);
/* The answer to the sync `seq` must be held until everything before it is done. */
void client_expect_sync(Client *c, uint64_t seq);
bool client_expects_sync(const Client *c, uint64_t seq);
/* Returns the next message that is due. False: none is. */
bool client_due(Client *c, Msg *m);
#endif
