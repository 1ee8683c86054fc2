/* dispatcher_talk.h: drives the dispatcher's step function in a test: sends it peers' messages and
 * collects its own.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_DISPATCHER_TALK_H
#define GT_TESTS_UNIT_DISPATCHER_TALK_H
#include "tests/unit/cluster_words.h"
#include "tests/unit/check.h"
#include "tests/unit/make_inst.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"

enum { WORKER = 1, ANN = 2, BOB = 3, EVE = 4, LATE = 5 };

/* What the dispatcher sent, in order; drop: it forgets the peer then. */
typedef struct SentMsg {
    PeerId to;
    bool drop;
    Msg msg;
} SentMsg;
static SentMsg sent[4096];
static int n_sent;

static inline void collect(Dispatcher *d) {
    while (n_sent < 4096 &&
           dispatcher_next(d, &sent[n_sent].to, &sent[n_sent].msg, &sent[n_sent].drop))
        n_sent++;
}

static inline void forget(void) {
    for (int i = 0; i < n_sent; i++) msg_fini(&sent[i].msg);
    n_sent = 0;
}

/* The k-th message of a kind to a peer, or NULL. */
static inline Msg *sent_to(PeerId to, MsgKind kind, int k) {
    for (int i = 0; i < n_sent; i++)
        if (sent[i].to == to && wire_kind(&sent[i].msg) == kind && k-- == 0) return &sent[i].msg;
    return NULL;
}

static inline bool was_dropped(PeerId to) {
    for (int i = 0; i < n_sent; i++)
        if (sent[i].to == to && sent[i].drop) return true;
    return false;
}

static inline void deliver(Dispatcher *d, PeerId from, Msg *m) {
    dispatcher_on_message(d, from, m, 0);
    collect(d);
}

static inline void hello(Dispatcher *d, PeerId from, Role role) {
    Hello h = {.version = WIRE_VERSION,
               .table_hash = op_table_hash(),
               .role = (uint8_t)role,
               .memory_bytes = 1 << 20,
               .threads = 1,
               .name = "test"};
    Msg m;
    wire_hello(&h, &m);
    deliver(d, from, &m);
}

static inline Dispatcher *start(const DispatcherConfig *config) {
    Dispatcher *d = dispatcher_new(config);
    forget();
    hello(d, WORKER, ROLE_WORKER);
    hello(d, ANN, ROLE_CLIENT);
    return d;
}

static inline void stop(Dispatcher *d) {
    forget();
    dispatcher_free(&d);
}

static inline long counter(Dispatcher *d, const char *name) { return dispatcher_figure(d, name); }

/* ---- Frames ---- */

static FrameWriter writer;
static const int64_t shape_23[] = {2, 3}, shape_45[] = {4, 5};

static inline void full(uint64_t id, const int64_t *shape) {
    Inst in = FULL(id, 2, shape, DT_F32, 1);
    in.pos.line = (uint32_t)id + 100;
    frame_add(&writer, &in);
}

static inline void add(uint64_t id, uint64_t a, uint64_t b) {
    Inst in = {.op = OP_ADD, OPERANDS(of_tensor(a), of_tensor(b)), RESULTS(id)};
    in.pos.line = (uint32_t)id + 100;
    frame_add(&writer, &in);
}

static inline void drop(uint64_t a, uint64_t b) {
    Inst in = {.op = OP_FREE, OPERANDS(of_tensor(a), of_tensor(b))};
    if (a == b) in.n_in = 1;
    frame_add(&writer, &in);
}

static inline void fetch(uint64_t id) {
    frame_add(&writer, &(Inst){.op = OP_FETCH, OPERANDS(of_tensor(id))});
}

static inline void begin(uint64_t seq) {
    frame_begin(&writer, 0xdead, seq);
} /* a client's own number is ignored */

static inline void end(Dispatcher *d, PeerId from) {
    Msg m;
    frame_end(&writer, &m);
    writer = (FrameWriter){0};
    deliver(d, from, &m);
}

static inline void ack(Dispatcher *d, uint32_t client, uint64_t seq) {
    Ack a = {.client = client, .seq = seq};
    Msg m;
    wire_ack(&a, &m);
    deliver(d, WORKER, &m);
}

/* Returns the k-th frame for the worker as "op op op", with its client and first number. */
static inline const char *frame_text(int k, uint32_t *client, uint64_t *seq) {
    static char text[4096];
    text[0] = 0;
    Msg *m = sent_to(WORKER, MSG_FRAME, k);
    FrameReader r;
    Err err = {0};
    if (!m || !frame_open(&r, m, &err)) return "no frame";
    if (client) *client = r.client;
    if (seq) *seq = r.seq;
    Arena arena = {0};
    Inst in;
    int rc;
    while ((rc = frame_next(&r, &arena, &in, NULL, NULL, &err)) > 0) {
        size_t n = strlen(text);
        n +=
            (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "; " : "", op_info[in.op].name);
        for (int i = 0; i < in.n_out; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, " =%llu",
                                  (unsigned long long)in.out[i]);
        for (int i = 0; i < in.n_in; i++)
            if (in.in[i].kind == IN_TENSOR)
                n += (size_t)snprintf(text + n, sizeof text - n, " %llu",
                                      (unsigned long long)in.in[i].id);
    }
    arena_fini(&arena);
    return rc < 0 ? "malformed" : text;
}

/* Returns the k-th failure sent to a client. */
static inline Failure failure(PeerId to, int k) {
    Failure f = {0};
    Msg *m = sent_to(to, MSG_ERROR, k);
    if (m) wire_read_failure(m, &f, NULL);
    return f;
}

static inline ErrCode refusal(PeerId to) {
    Err why = {0};
    Msg *m = sent_to(to, MSG_REFUSE, 0);
    if (m) wire_read_refuse(m, &why, NULL);
    return why.code;
}

static inline void define(const char *name, const int64_t *worker, int n) {
    frame_add(&writer,
              &(Inst){.op = OP_SIGNAL_DEFINE,
                      ATTRS(attr_text(ATTR_NAME, name), attr_ints(ATTR_AXIS, 1, (int64_t[]){0}),
                            attr_ints(ATTR_WORKERS, n, worker))});
}
static inline void enter(const char *name, Op op) {
    frame_add(&writer, &(Inst){.op = op, ATTRS(attr_text(ATTR_NAME, name))});
}
#endif
