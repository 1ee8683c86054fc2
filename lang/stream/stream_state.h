/* stream_state.h: private to lang/stream: the state that its files share. stream.c
 * encodes and manages handles, stream_link.c moves frames and messages and counts credit,
 * stream_reply.c runs effects and stores failures.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STREAM_STREAM_STATE_H
#define GT_LANG_STREAM_STREAM_STATE_H
#include "lang/stream/local.h"
#include "lang/stream/stream.h"
#include "runtime/base/fifo.h"
#include "runtime/net/net.h"
#include "runtime/wire/detector.h"
#include "runtime/base/map.h"

enum {
    EFFECTS_MAX = 4096,               /* limit of pending effects; the next one waits         */
    CAUSES_MAX = 64,                  /* limit of stored failures                             */
    EARLY_NOTES = 64,                 /* limit of notes kept until there is a cluster         */
    CONTROL_INSTS = WINDOW_INSTS / 8, /* reserved in the window for frees, scopes: cannot fail */
    /* Instructions and loop edges between two polls. Where a poll at the end of a statement comes
     * before the one at an edge, frames of x = x + b hold 1,500 instructions; else 300. */
    POLL_INSTS = 16,
    POLL_EDGES = 8,
    PROMPT_INSTS = 64, /* window at the prompt until the worker's pace is known */
    PROMPT_LEAST = 16, /* its lower limit                                      */
    SEND_US = 50,      /* minimum between small frames: a wake-up is expensive */
    WAIT_MS = 20,      /* interval of checking the interrupt flag              */
    ANSWER_MS = 10000, /* default of config.answer_ms                          */
};
#define PAYLOAD_BYTES_MAX (UINT64_C(256) << 20) /* payloads in flight; one may exceed it */

/* A handle's memory. Blocks live as long as the stream, so a stale pointer still points to a
 * slot. */
typedef struct Slot {
    Handle h;
    struct Slot *next_free;
} Slot;
typedef struct SlotBlock {
    struct SlotBlock *next;
    Slot slot[256];
} SlotBlock;

/* An instruction in flight, for the report if it fails; at index seq % WINDOW_INSTS. */
typedef struct Made {
    Slot *slot; /* of its first result */
    uint64_t id;
    uint16_t len;   /* of its Span */
    uint32_t calls; /* the call stack: StreamConfig.calls */
} Made;

typedef struct Sent {
    uint64_t seq_end, head_bytes, payload_bytes;
    int64_t at_us;
} Sent;

/* A fetch with a waiting caller; if that gives up (is_abandoned), its reply frees it. */
typedef struct Fetch {
    bool is_done, is_abandoned;
    uint8_t status; /* ErrCode; 0: data is valid */
    void *data;
} Fetch;

/* A pending effect. Without operands it has no instruction and only waits for its turn. */
typedef struct Pending {
    uint64_t seq, input_seq; /* input_seq: as in Stream, when it was issued */
    bool has_inst, is_answered, has_failed;
    bool is_behind;          /* after a failure that has been reported */
    bool is_behind_in_input; /* the same, and the failure is of the same input */
    bool may_be_lost;        /* as in Effect; or cancelled, which has been reported */
    bool is_file;            /* writes a file */
    bool is_print;
    Span at;
    uint32_t calls; /* the call stack */
    Msg reply;
    int n;
    Handle **handle; /* owned references */
    bool (*done)(void *ctx, const Reply *r, Err *err);
    void (*drop)(void *ctx);
    void *ctx;
    Fetch *fetch; /* instead of done */
} Pending;

/* A definition, open scope or check that a cluster must get when it starts. */
typedef struct Early {
    Arena arena;
    Inst *inst;
} Early;

/* A failure. */
typedef struct Cause {
    ErrCode code;
    bool is_reported; /* reported to the program */
    bool is_ordered;  /* all earlier instructions had been answered when it arrived */
    uint64_t seq;     /* of the instruction that failed */
    uint64_t
        reported_seq; /* next_seq when it was reported: later instructions were issued after it */
    LangError error;
} Cause;

struct Stream {
    StreamConfig config;
    StreamMode mode;
    char *endpoint; /* of a dispatcher; NULL: embedded */

    /* instructions */
    uint64_t next_id, next_seq;
    uint64_t input_seq; /* next_seq at the start of this input of the prompt; in a script 0 */
    uint64_t edge_seq;  /* next_seq at the last `edge` */
    uint64_t poll_seq;  /* from this next_seq on, a safepoint polls */
    FrameWriter frame;
    Detector *hot; /* of hot loop bodies, or NULL */
    Operand *frees;
    int n_frees, cap_frees;
    uint64_t free_bytes; /* of these tensors */
    SlotBlock *blocks;
    Slot *free_slots;
    uint64_t n_live;
    const Source **sources; /* by Source.id */
    const char **names;
    size_t n_sources;
    InstFile *file;     /* where the instructions are written, or NULL */
    InstFile *own_file; /* the same, if it is this stream's */
    StreamWatch watch;
    void *watch_ctx;
    StreamWaits waits;
    void *waits_ctx;
    Map emitted; /* EMIT: hashes of the paths of all saves and writes */
    Early *early;
    int n_early;

    /* the link */
    Local *local;
    Link *link;
    bool is_started, is_welcome, is_gone, checks_nan;
    bool is_loss_reported; /* that it is gone */
    bool awaits_acks;      /* answers may pass failures of others: see stream_reply.c */
    bool is_ended;         /* gone because the dispatcher said so, in words */
    Err gone;              /* why */
    Welcome welcome;
    Made *made;                         /* WINDOW_INSTS of them                      */
    uint64_t sent_seq, acked_seq;       /* instructions before these were sent, are done */
    uint64_t answered_seq;              /* next_seq when the last value had arrived */
    uint64_t head_bytes, payload_bytes; /* in flight                                 */
    Fifo sent;                          /* of Sent: frames in flight                 */
    int64_t seen_ms, sent_us;
    uint64_t uncredited;       /* bytes of received replies that are not acknowledged yet */
    int64_t acked_us, inst_ns; /* at the prompt: last ack; the worker's pace, 0: unknown */
    unsigned n_edges;
    char lost[160]; /* why the previous dispatcher was lost; "": there was none */
    Span lost_at;   /* after a loss: position of the oldest pending effect */
    Bytes stats;    /* the reply to the last MSG_STATS */
    bool has_stats;
    StreamProfile *profile; /* NULL: without StreamConfig.profile */

    /* effects and failures */
    Fifo effects;        /* of Pending */
    size_t n_files;      /* of the effects: those that write files */
    uint64_t hushed_seq; /* next_seq at the last stream_hush */
    uint64_t cancel_seq; /* at the prompt: instructions before it were cancelled */
    char cancelled[160]; /* how many were not executed, in words; "": none, or not known yet */
    Cause *cause[CAUSES_MAX];
    int n_causes, n_unreported;
    Arena arena; /* of one reply */
};

/* ---- stream.c ---- */
/* Fails if one of these tensors (NULL: skipped) was lost with an earlier dispatcher. */
bool stream_has(const Stream *s, const Handle *const *handle, int n, Span at, LangError *e);
void stream_look_for_bodies(Stream *s); /* starts a new detector of hot bodies */
void stream_frees(Stream *s);           /* issues the queued frees */
void stream_announce(Stream *s);        /* tells a new cluster the sources' names and open scopes */
SrcPos stream_pos(Stream *s, Span at);
static inline uint32_t stream_calls(Stream *s) {
    return s->config.calls ? s->config.calls(s->config.program) : 0;
}

#endif
