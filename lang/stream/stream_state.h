/* stream_state.h: what the files of the stream share: its state, and the steps between them.
 * stream.c encodes and keeps handles, stream_link.c moves frames and messages and keeps credit,
 * stream_reply.c carries out effects and keeps causes. Nobody else includes this.
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
    EFFECTS_MAX = 4096,               /* effects awaited at once; the next one waits        */
    CAUSES_MAX = 64,                  /* failures remembered                                  */
    CONTROL_INSTS = WINDOW_INSTS / 8, /* of the window, for frees and scopes, which cannot fail */
    POLL_INSTS = 16,                  /* so often the stream looks whether the worker runs dry */
    PROMPT_INSTS = 64,                /* window at the prompt while the worker's pace is unknown */
    SEND_US = 50,                     /* between two small frames: a wake-up costs some of them */
    WAIT_MS = 20,                     /* between two looks at the interrupt flag              */
    ANSWER_MS = 10000,                /* config.answer_ms unless given                        */
};
#define PAYLOAD_BYTES_MAX (UINT64_C(256) << 20) /* payloads under way; one alone may be larger */

/* A handle's memory. Blocks live as long as the stream: a stale pointer still points at a slot. */
typedef struct Slot {
    Handle h;
    struct Slot *next_free;
} Slot;
typedef struct SlotBlock {
    struct SlotBlock *next;
    Slot slot[256];
} SlotBlock;

/* What is kept of an instruction under way, for its failure: at its number modulo the window. */
typedef struct Made {
    Slot *slot; /* of its first result */
    uint64_t id;
    uint16_t len;   /* of its Span */
    uint32_t calls; /* that were running: StreamConfig.calls */
} Made;

typedef struct Sent {
    uint64_t seq_end, head_bytes, payload_bytes;
    int64_t at_us;
} Sent;

/* A fetch whose value somebody waits for; without a waiter it frees itself. */
typedef struct Fetch {
    bool is_done, is_abandoned;
    uint8_t status; /* ErrCode; 0: data is there */
    void *data;
} Fetch;

/* An effect in the queue. Without operands it has no instruction: it only waits for its turn. */
typedef struct Pending {
    uint64_t seq;
    bool has_inst, is_answered, has_failed;
    bool is_behind;   /* a failure that has been told */
    bool may_be_lost; /* as in Effect, or the work before it was stopped, which has been told */
    bool is_file;     /* it writes one */
    bool is_print, is_hushed; /* is_hushed: nobody wants to see it any more */
    Span at;
    uint32_t calls; /* that were running */
    Msg reply;
    int n;
    Handle **handle; /* owned references */
    bool (*done)(void *ctx, const Reply *r, Err *err);
    void (*drop)(void *ctx);
    void *ctx;
    Fetch *fetch; /* instead of done */
} Pending;

/* What was said of signals before there was a cluster to tell: definitions, open scopes. */
typedef struct Early {
    Arena arena;
    Inst *inst;
} Early;

typedef struct Cause {
    ErrCode code;
    bool is_told;
    bool is_ordered;   /* all before it had been answered when it came */
    uint64_t seq;      /* of the instruction that failed */
    uint64_t told_seq; /* instructions before it were under way when it was told */
    LangError error;
} Cause;

struct Stream {
    StreamConfig config;
    StreamMode mode;
    char *endpoint; /* of a dispatcher; NULL: embedded */

    /* instructions */
    uint64_t next_id, next_seq;
    uint64_t edge_seq; /* next_seq at the last `edge` */
    FrameWriter frame;
    Detector *hot; /* NULL: nothing is hot */
    Operand *frees;
    int n_frees, cap_frees;
    SlotBlock *blocks;
    Slot *free_slots;
    uint64_t n_live;
    const Source **sources; /* by Source.id */
    const char **names;
    size_t n_sources;
    Bytes line;  /* EMIT: the line being printed */
    Map emitted; /* EMIT: hashes of the paths that save and write have named */
    Early *early;
    int n_early;

    /* the link */
    Local *local;
    Link *link;
    bool is_started, is_welcome, is_gone, is_carrying, is_sending;
    bool is_loss_told; /* that it is gone */
    bool awaits_acks;  /* answers may pass failures of others: see stream_reply.c */
    bool is_ended;     /* gone because the dispatcher said so, in words */
    Err gone;          /* why */
    Welcome welcome;
    Made *made;                         /* WINDOW_INSTS of them                      */
    uint64_t sent_seq, acked_seq;       /* instructions before these were sent, are done */
    uint64_t head_bytes, payload_bytes; /* under way                                 */
    Fifo sent;                          /* of Sent: frames under way                 */
    int64_t heard_ms, sent_us;
    uint64_t unheard;          /* bytes of answers taken, of which the workers were not told */
    int64_t acked_us, inst_ns; /* at the prompt: last ack; the worker's pace, 0: not known */
    unsigned n_edges;
    char lost[160]; /* why the dispatcher before this one is gone; "": there was none */
    Span lost_at;   /* when it is gone: the oldest effect that was still awaited */
    Bytes stats;    /* the answer to the last question */
    bool has_stats;

    /* effects and failures */
    Fifo effects;   /* of Pending */
    size_t n_files; /* of the effects: those that write files */
    Cause *cause[CAUSES_MAX];
    int n_causes, n_untold;
    Arena arena; /* of one reply */
};

/* ---- stream.c ---- */
/* None of these (NULL: no tensor) was lost with an earlier dispatcher; else e says so. */
bool stream_has(const Stream *s, const Handle *const *handle, int n, Span at, LangError *e);
/* Numbers an instruction and encodes it; slot: of its results, or NULL; len: of its Span. */
void stream_inst(Stream *s, const Inst *inst, const TensorType *out, Slot *const *slot,
                 uint16_t len);
void stream_look_for_bodies(Stream *s); /* from here on, for hot ones */
void stream_frees(Stream *s);           /* the queued frees as instructions */
void stream_announce(Stream *s); /* what a new cluster must know: sources' names, open scopes */
SrcPos stream_pos(Stream *s, Span at);
static inline uint32_t stream_calls(Stream *s) {
    return s->config.calls ? s->config.calls(s->config.program) : 0;
}

/* ---- stream_link.c ---- */
bool stream_start(Stream *s, Span at, LangError *e); /* connects, once */
void stream_send(Stream *s);                         /* the frame leaves, if it has anything */
void stream_send_if_dry(Stream *s);                  /* ... if the worker soon has nothing to do */
void stream_pump(Stream *s, int timeout_ms);         /* moves messages; handles what arrived */
/* Waits until one more instruction may be added; _control: one that cannot fail. */
bool stream_room(Stream *s, Span at, LangError *e);
void stream_room_control(Stream *s);
/* Waits until is_met(s, ctx). false: interrupted, or the dispatcher is gone. */
bool stream_wait(Stream *s, bool (*is_met)(const Stream *s, const void *ctx), const void *ctx,
                 Span at, LangError *e);
/* A failure of before, else that the dispatcher is lost; false. */
bool stream_lost(Stream *s, Span at, LangError *e);
void stream_reset(Stream *s); /* as before the first stream_start */
void stream_close(Stream *s); /* says goodbye, stops the cluster */

/* ---- stream_reply.c ---- */
void stream_on_reply(Stream *s, Msg *m); /* may consume m */
void stream_on_failure(Stream *s, const Msg *m);
void stream_carry(Stream *s); /* the effects whose turn it is */
/* Puts an effect into the queue under the number of the instruction that comes next; one without
 * operands may be carried out at once. Consumes p->ctx, and p->fetch when it fails. */
bool stream_queue(Stream *s, const Pending *p, Handle *const *handle, int n, Span at, LangError *e);
void stream_drop_effects(Stream *s); /* the dispatcher is gone: none will be answered */
/* The value asked for by instruction seq is not to be had, for an instruction before it has failed,
 * of which nobody was told: e says so. Never at the prompt. */
bool stream_is_behind(Stream *s, uint64_t seq, LangError *e);
/* Why a value that is wanted at `at` is poisoned; false. */
bool stream_cause(Stream *s, ErrCode code, Span at, LangError *e);
#endif
