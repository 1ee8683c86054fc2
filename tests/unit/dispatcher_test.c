/* dispatcher_test: the dispatcher's step function: which messages peers may send, ids, poison in
 * stream order, credit, leaving.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/client.h"
#include "tests/unit/dispatcher_talk.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire_peer.h"

/* ---- Tests ---- */

static void test_two_clients(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    hello(d, BOB, ROLE_CLIENT);
    Welcome ann = {0}, bob = {0};
    CHECK(sent_to(ANN, MSG_WELCOME, 0) &&
          wire_read_welcome(sent_to(ANN, MSG_WELCOME, 0), &ann, NULL));
    CHECK(sent_to(BOB, MSG_WELCOME, 0) &&
          wire_read_welcome(sent_to(BOB, MSG_WELCOME, 0), &bob, NULL));
    CHECK(ann.id != bob.id && ann.id && bob.id);
    CHECK_INT(ann.window_insts, WINDOW_INSTS);
    CHECK_STR(ann.engine, "test");
    forget();
    /* The same ids with other shapes: two clients do not affect each other. */
    begin(0), full(0, shape_23), full(1, shape_23), end(d, ANN);
    begin(0), full(0, shape_45), end(d, BOB);
    begin(2), add(2, 0, 1), end(d, ANN);
    begin(1), add(1, 0, 0), drop(0, 0), end(d, BOB);
    uint32_t client;
    uint64_t seq;
    CHECK_STR(frame_text(0, &client, &seq), "full =0; full =1");
    CHECK_INT(client, ann.id);
    CHECK_STR(frame_text(1, &client, &seq), "full =0");
    CHECK_INT(client, bob.id);
    CHECK_STR(frame_text(2, &client, &seq), "add =2 0 1");
    CHECK_INT(seq, 2);
    CHECK_STR(frame_text(3, &client, &seq), "add =1 0 0; free 0");
    CHECK_INT(counter(d, "\ntensors"), 4);
    CHECK_INT(counter(d, "\nbytes"), 3 * 24 + 80);
    /* Answers reach the right client; a worker's message about an unknown client is ignored. */
    forget();
    ack(d, bob.id, 3);
    ack(d, 77, 3);
    CHECK(sent_to(BOB, MSG_ACK, 0) && !sent_to(ANN, MSG_ACK, 0));
    CHECK_INT(n_sent, 1);
    /* A client that leaves takes all its tensors along, and no others. */
    dispatcher_on_gone(d, ANN, 0);
    collect(d);
    uint32_t gone = 0;
    CHECK(sent_to(WORKER, MSG_GONE, 0) &&
          wire_read_gone(sent_to(WORKER, MSG_GONE, 0), &gone, NULL));
    CHECK_INT(gone, ann.id);
    CHECK_INT(counter(d, "clients"), 1);
    CHECK_INT(counter(d, "\ntensors"), 1);
    CHECK_INT(counter(d, "\nbytes"), 80);
    stop(d);
}

static void test_poison(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    forget();
    begin(0), full(0, shape_23), full(1, shape_45);
    add(2, 0, 1); /* shapes do not match: the cause */
    add(3, 2, 0); /* follows */
    fetch(3);     /* the worker answers it */
    add(4, 0, 0); /* is fine */
    drop(2, 3);
    end(d, ANN);
    CHECK_STR(frame_text(0, NULL, NULL),
              "full =0; full =1; poison =2; poison =3; fetch 3; add =4 0 0; free 2 3");
    CHECK(sent_to(ANN, MSG_ERROR, 0) && !sent_to(ANN, MSG_ERROR, 1)); /* reported once */
    Failure f = failure(ANN, 0);
    CHECK_INT(f.seq, 2);
    CHECK_INT(f.pos.line, 102);
    CHECK_INT(f.op, OP_ADD);
    CHECK_INT(f.err.code, ERR_SHAPE);
    CHECK_INT(counter(d, "\ntensors"), 3);
    CHECK_INT(counter(d, "\nbytes"), 24 + 80 + 24);
    stop(d);
}

static void test_ids(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    forget();
    begin(0), full(0, shape_23), full(1, shape_23), full(2, shape_23), full(3, shape_23),
        drop(0, 0);
    add(4, 0, 1);  /* freed */
    add(5, 99, 1); /* never made */
    add(1, 2, 2);  /* used */
    drop(0, 2);    /* freed twice, and one that is fine */
    drop(0, 0);    /* nothing is left of it */
    fetch(77);
    end(d, ANN);
    CHECK_STR(frame_text(0, NULL, NULL), "full =0; full =1; full =2; full =3; free 0; poison =4; "
                                         "poison =5; poison; free 2; poison; poison");
    const char *const text[] = {"t0 was freed before", "t99 is not known",    "t1 is already used",
                                "t0 was freed before", "t0 was freed before", "t77 is not known"};
    for (int i = 0; i < 6; i++) {
        Failure f = failure(ANN, i);
        CHECK_INT(f.err.code, ERR_ID);
        CHECK_STR(f.err.text, text[i]);
    }
    CHECK(!sent_to(ANN, MSG_ERROR, 6));
    /* Attributes and payloads are checked too. */
    forget();
    begin(11);
    frame_add(&writer, &(Inst){.op = OP_FULL, RESULTS(6)}); /* no shape */
    Inst data = {.op = OP_DATA, SHAPED(2, shape_23, DT_F32), RESULTS(7), BYTES("abcd", 4)};
    frame_add(&writer, &data);                                /* 4 bytes for 6 elements */
    frame_add(&writer, &(Inst){.op = OP_POISON, RESULTS(8)}); /* the dispatcher's check only */
    end(d, ANN);
    CHECK_STR(frame_text(0, NULL, NULL), "poison =6; poison =7; poison =8");
    CHECK(sent_to(ANN, MSG_ERROR, 2) != NULL);
    stop(d);
}

static void test_limit(void) {
    /* Two tensors, and not a byte more than 100 in total. */
    Dispatcher *d = start(&(DispatcherConfig){.client_bytes_max = 100 + 2 * TENSOR_HEAD});
    forget();
    begin(0), full(0, shape_45), full(1, shape_23), drop(0, 0), full(2, shape_23), end(d, ANN);
    CHECK_STR(frame_text(0, NULL, NULL), "full =0; poison =1; free 0; full =2");
    CHECK_INT(failure(ANN, 0).err.code, ERR_MEMORY);
    CHECK_INT(counter(d, "\nbytes"), 24);
    stop(d);
}

/* Tensors without elements count too: each has a head. */
static void test_limit_heads(void) {
    enum { MOST = 50 };
    static const int64_t empty[] = {0, 3};
    Dispatcher *d = start(&(DispatcherConfig){.client_bytes_max = MOST * TENSOR_HEAD});
    forget();
    begin(0);
    for (uint64_t i = 0; i < MOST; i++) full(i, empty);
    end(d, ANN);
    CHECK(!sent_to(ANN, MSG_ERROR, 0));
    forget();
    begin(MOST), full(MOST, empty), drop(0, 1), full(MOST + 1, empty), end(d, ANN);
    CHECK_INT(failure(ANN, 0).err.code, ERR_MEMORY);
    CHECK(!sent_to(ANN, MSG_ERROR, 1));
    stop(d);
}

/* Payloads are passed by reference, even after an instruction that was removed. */
static void test_payload(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    forget();
    int64_t shape[] = {100, 1000};
    Buf *bad = buf_new(400000), *good = buf_new(400000);
    bad->n = 300000, good->n = 400000;
    memset(bad->data, 1, bad->n), memset(good->data, 2, good->n);
    begin(0);
    for (int i = 0; i < 2; i++) {
        Buf *b = i ? good : bad;
        frame_add(&writer, &(Inst){.op = OP_DATA,
                                   SHAPED(2, shape, DT_F32),
                                   RESULTS((uint64_t)i),
                                   BYTES(b->data, b->n),
                                   .payload_buf = b});
    }
    end(d, ANN);
    CHECK_STR(frame_text(0, NULL, NULL), "poison =0; data =1");
    Msg *m = sent_to(WORKER, MSG_FRAME, 0);
    CHECK(m && m->n == 2 && m->part[1] == good);
    buf_unref(&bad);
    buf_unref(&good);
    stop(d);
}

static void test_window(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    hello(d, BOB, ROLE_CLIENT);
    forget();
    uint64_t seq = 0;
    for (; seq < WINDOW_INSTS; seq += FRAME_INSTS) {
        begin(seq);
        for (int i = 0; i < FRAME_INSTS; i++) full(seq + (uint64_t)i, shape_23);
        end(d, ANN);
        for (int i = 0; i < n_sent; i++) CHECK(sent[i].to == WORKER);
        forget();
    }
    ack(d, 1, FRAME_INSTS); /* A frame's places are free again ... */
    begin(seq);
    for (int i = 0; i < FRAME_INSTS; i++) full(seq + (uint64_t)i, shape_23);
    end(d, ANN);
    CHECK(!was_dropped(ANN));
    forget();
    seq += FRAME_INSTS;
    begin(seq), full(seq, shape_23), end(d, ANN); /* ... and no more. */
    CHECK_INT(refusal(ANN), ERR_LIMIT);
    CHECK(was_dropped(ANN));
    CHECK(sent_to(WORKER, MSG_GONE, 0) != NULL);
    CHECK_INT(counter(d, "\ntensors"), 0);
    forget();
    begin(0), full(0, shape_23), end(d, BOB); /* Bob's connection stays. */
    CHECK_STR(frame_text(0, NULL, NULL), "full =0");
    stop(d);
}

/* The window in bytes, and the size of one frame. */
static void test_window_bytes(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    hello(d, BOB, ROLE_CLIENT);
    char *text = calloc(1, MAX_STR);
    memset(text, 'x', MAX_STR - 1);
    Attr format = {.key = ATTR_FORMAT, .n = MAX_STR - 1, .str = text};
    Inst note = {.op = OP_NOTE, .n_attr = 1, .attr = &format};
    uint64_t fitting = WINDOW_BYTES / (MAX_STR + 64), seq = 0;
    for (; seq < fitting; seq++) begin(seq), frame_add(&writer, &note), end(d, ANN);
    CHECK(!was_dropped(ANN));
    begin(seq), frame_add(&writer, &note), end(d, ANN);
    CHECK(was_dropped(ANN) && refusal(ANN) == ERR_LIMIT);
    free(text);
    forget();
    begin(0);
    for (uint64_t i = 0; i <= FRAME_INSTS; i++) full(i, shape_23);
    end(d, BOB);
    CHECK(was_dropped(BOB) && refusal(BOB) == ERR_LIMIT);
    stop(d);
}

/* A cancel reaches the workers with the number of the client that sent it, whatever client it
 * names. */
static void test_cancel(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    hello(d, BOB, ROLE_CLIENT);
    Welcome w[2];
    Err err;
    for (int i = 0; i < 2; i++) {
        Msg *m = sent_to(i ? BOB : ANN, MSG_WELCOME, 0);
        CHECK(m && wire_read_welcome(m, &w[i], &err));
        begin(0);
        full(1, shape_23);
        end(d, i ? BOB : ANN);
    }
    CHECK(w[0].id != w[1].id);
    forget();
    Msg m;
    wire_cancel(&(Cancel){.client = w[1].id, .seq = 1}, &m); /* Ann names Bob */
    deliver(d, ANN, &m);
    Cancel got = {0};
    Msg *got_msg = sent_to(WORKER, MSG_CANCEL, 0);
    CHECK(got_msg && wire_read_cancel(got_msg, &got, &err));
    CHECK_INT(got.client, w[0].id);
    CHECK_INT(got.seq, 1);
    CHECK(!sent_to(WORKER, MSG_CANCEL, 1));
    stop(d);
}

/* A group ends with the last client that holds it, and workers learn of that. So many clients, each
 * of which makes as many groups as it may and leaves, do not exhaust the numbers of groups. */
static void test_groups(void) {
    enum { WORKERS = 8, CLIENTS = 60, GROUPS = 200, A_FRAME = 80 };
    Dispatcher *d = start(&(DispatcherConfig){0});
    for (int i = 1; i < WORKERS; i++) hello(d, 1000 + (PeerId)i, ROLE_WORKER);
    long before = counter(d, "groups");
    uint64_t number = 0;
    int made = 0, gone = 0;
    for (PeerId k = 0; k < CLIENTS; k++) {
        PeerId peer = 2000 + k;
        hello(d, peer, ROLE_CLIENT);
        begin(0);
        for (int g = 0; g < GROUPS; g++, number++) { /* an order of eight that is new */
            int64_t worker[WORKERS];
            uint64_t rest = number * 2 + 2;
            for (int i = 0; i < WORKERS; i++) worker[i] = i;
            for (int i = WORKERS; i > 1; rest /= (uint64_t)i, i--) {
                int64_t t = worker[i - 1];
                worker[i - 1] = worker[rest % (uint64_t)i];
                worker[rest % (uint64_t)i] = t;
            }
            define("s", worker, WORKERS);
            enter("s", OP_SIGNAL_ENTER);
            enter("s", OP_SIGNAL_EXIT);
            if (g % A_FRAME != A_FRAME - 1) continue;
            end(d, peer);
            begin(3 * (uint64_t)(g + 1));
        }
        end(d, peer);
        Msg *bad = sent_to(peer, MSG_ERROR, 0);
        CHECK_MSG(!bad, "%s", bad ? failure(peer, 0).err.text : "");
        CHECK(!was_dropped(peer));
        Msg m;
        wire_text(MSG_BYE, "", 0, &m);
        deliver(d, peer, &m);
        while (sent_to(WORKER, MSG_GROUP, made)) made++;
        while (sent_to(WORKER, MSG_GROUP_GONE, gone)) gone++;
        CHECK_INT(made - gone, k ? 0 : made - gone);
        made = gone = 0;
        forget();
    }
    CHECK_INT(counter(d, "groups"), before);
    stop(d);
}

static void test_garbage(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    hello(d, BOB, ROLE_CLIENT);
    forget();
    Msg m = {0};
    msg_push(&m, buf_copy("\xff\xfe garbage", 10)); /* from an unknown client */
    deliver(d, EVE, &m);
    CHECK(was_dropped(EVE) && refusal(EVE) == ERR_PARSE);
    forget();
    begin(5), full(0, shape_23), end(d, BOB); /* out of order */
    CHECK(was_dropped(BOB) && refusal(BOB) == ERR_PARSE);
    forget();
    begin(0), full(0, shape_23), full(1, shape_23);
    writer.head->data[writer.head->n - 9] ^= 0x40; /* somewhere in the last record */
    writer.head->data[32] ^= 0x80;                 /* the first record's length */
    end(d, ANN);
    CHECK(was_dropped(ANN) && refusal(ANN) == ERR_PARSE);
    CHECK_INT(counter(d, "clients"), 0);
    CHECK_INT(counter(d, "\nworkers"), 1);
    forget();
    hello(d, LATE, ROLE_CLIENT); /* New clients are served as before. */
    begin(0), full(0, shape_23), end(d, LATE);
    CHECK_STR(frame_text(0, NULL, NULL), "full =0");
    ack(d, 3, 1);
    Ack a = {.client = 3, .seq = 1000}; /* a worker acknowledges more than it was sent */
    forget();
    wire_ack(&a, &m);
    deliver(d, WORKER, &m);
    CHECK(!sent_to(LATE, MSG_ACK, 0));
    wire_gone(&(uint32_t){3}, &m); /* clients may not send this */
    deliver(d, LATE, &m);
    CHECK(was_dropped(LATE));
    stop(d);
}

static void test_hello(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    forget();
    Hello h = {.version = WIRE_VERSION + 1, .table_hash = op_table_hash(), .role = ROLE_CLIENT};
    Msg m;
    wire_hello(&h, &m);
    deliver(d, EVE, &m);
    CHECK(was_dropped(EVE) && refusal(EVE) == ERR_VERSION);
    forget();
    h.version = WIRE_VERSION, h.table_hash++;
    wire_hello(&h, &m);
    deliver(d, EVE + 10, &m);
    CHECK(was_dropped(EVE + 10) && refusal(EVE + 10) == ERR_VERSION);
    forget();
    hello(d, ANN, ROLE_CLIENT); /* a second time */
    CHECK(was_dropped(ANN));
    stop(d);
}

/* Clients wait for the wanted number of workers, and get those with the least load. */
static void test_schedule(void) {
    Dispatcher *d = dispatcher_new(&(DispatcherConfig){.workers_wanted = 2});
    forget();
    hello(d, ANN, ROLE_CLIENT);
    hello(d, WORKER, ROLE_WORKER);
    CHECK(!sent_to(ANN, MSG_WELCOME, 0));
    hello(d, WORKER + 10, ROLE_WORKER);
    CHECK(sent_to(ANN, MSG_WELCOME, 0) != NULL);
    hello(d, BOB, ROLE_CLIENT);
    hello(d, EVE, ROLE_CLIENT);
    Welcome w[3] = {0};
    for (int i = 0; i < 3; i++)
        wire_read_welcome(sent_to(ANN + (PeerId)i, MSG_WELCOME, 0), &w[i], NULL);
    CHECK_INT(w[0].rank, 0);
    CHECK_INT(w[1].rank, 1);
    CHECK_INT(w[2].rank, 0);
    CHECK_INT(w[2].n_workers, 2);
    /* A worker goes: its clients get errors, the others continue, its rank becomes free. */
    forget();
    dispatcher_on_gone(d, WORKER, 0);
    collect(d);
    CHECK(was_dropped(ANN) && refusal(ANN) == ERR_GONE && was_dropped(EVE) && !was_dropped(BOB));
    forget();
    begin(0), full(0, shape_23), end(d, BOB);
    CHECK(sent_to(WORKER + 10, MSG_FRAME, 0) != NULL);
    hello(d, WORKER + 20, ROLE_WORKER);
    hello(d, LATE, ROLE_CLIENT);
    wire_read_welcome(sent_to(LATE, MSG_WELCOME, 0), &w[0], NULL);
    CHECK_INT(w[0].rank, 0);
    stop(d);
}

/* What the shell reports about a process that has ended, and when. */
typedef struct Shell {
    int n_asked, known_at;
} Shell;
static bool shell_lost(void *ctx, uint64_t spawned, bool is_silent, char *why, size_t size) {
    Shell *shell = ctx;
    CHECK(spawned == 77 && !is_silent);
    if (++shell->n_asked < shell->known_at) return false;
    snprintf(why, size, "it ended by signal 9");
    return true;
}

/* The exit status of a lost worker becomes known a moment later. Only its own clients wait for
 * that; new ones get another worker. */
static void test_lost(void) {
    for (int known_at = 1; known_at <= 1000; known_at = known_at == 1 ? 3 : known_at + 997) {
        Shell shell = {.known_at = known_at};
        Dispatcher *d = dispatcher_new(&(DispatcherConfig){.lost = shell_lost, .ctx = &shell});
        Hello h = {.version = WIRE_VERSION,
                   .table_hash = op_table_hash(),
                   .role = ROLE_WORKER,
                   .spawned = 77};
        Msg m;
        wire_hello(&h, &m);
        deliver(d, WORKER, &m);
        hello(d, ANN, ROLE_CLIENT);
        hello(d, WORKER + 10, ROLE_WORKER);
        forget();
        int64_t now = 1000;
        dispatcher_on_gone(d, WORKER, now);
        collect(d);
        CHECK(was_dropped(ANN) == (known_at == 1) && shell.n_asked == 1);
        hello(d, BOB, ROLE_CLIENT);
        hello(d, EVE, ROLE_CLIENT);
        begin(0), full(0, shape_23), end(d, BOB);
        begin(0), full(0, shape_23), end(d, EVE);
        CHECK(!sent_to(WORKER, MSG_FRAME, 0) && sent_to(WORKER + 10, MSG_FRAME, 1));
        for (int k = 2; k <= known_at && now < 1200; k++) {
            CHECK(!was_dropped(ANN));
            dispatcher_on_tick(d, now += 50);
            collect(d);
        }
        CHECK(was_dropped(ANN) && !was_dropped(BOB) && !was_dropped(EVE));
        Err why = {0};
        CHECK(wire_read_refuse(sent_to(ANN, MSG_REFUSE, 0), &why, NULL));
        CHECK_MSG(strstr(why.text, known_at < 1000 ? ": it ended by signal 9" : "it ended, or its"),
                  "%s", why.text);
        CHECK_INT(counter(d, "\nworkers"), 1);
        stop(d);
    }
}

static void test_stats(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    hello(d, WORKER + 10, ROLE_WORKER);
    forget();
    Msg m;
    wire_text(MSG_STATS, "", 0, &m);
    deliver(d, ANN, &m);
    CHECK(sent_to(WORKER, MSG_STATS, 0) && sent_to(WORKER + 10, MSG_STATS, 0) &&
          !sent_to(ANN, MSG_STATS_REPLY, 0));
    wire_text(MSG_STATS_REPLY, "kernels=7\n", 10, &m);
    deliver(d, WORKER + 10, &m);
    CHECK(!sent_to(ANN, MSG_STATS_REPLY, 0));
    dispatcher_on_gone(d, WORKER + 10, 0);
    wire_text(MSG_STATS_REPLY, "kernels=5\n", 10, &m);
    deliver(d, WORKER, &m);
    const char *text = "";
    size_t n = 0;
    CHECK(sent_to(ANN, MSG_STATS_REPLY, 0) &&
          wire_read_text(sent_to(ANN, MSG_STATS_REPLY, 0), &text, &n, NULL));
    CHECK(n > 0 && strstr(text, "w0.kernels=5") && strstr(text, "w1.kernels=7") &&
          strstr(text, "clients=1"));
    stop(d);
}

static bool asked(PeerId worker, int k, const char *what) {
    const char *text;
    size_t n;
    const Msg *m = sent_to(worker, MSG_STATS, k);
    return m && wire_read_text(m, &text, &n, NULL) && n == strlen(what) && !memcmp(text, what, n);
}

/* A client that is profiled: each worker learns it once, even one that joins later, and all learn
 * that the client has left. The answer to its question has the workers' lines alone. */
static void test_profile(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    hello(d, BOB, ROLE_CLIENT);
    forget();
    Msg m;
    wire_text(MSG_STATS, "profile on", 10, &m);
    deliver(d, ANN, &m);
    CHECK(asked(WORKER, 0, "profile on 1") && !sent_to(WORKER, MSG_STATS, 1));
    CHECK(!sent_to(ANN, MSG_STATS_REPLY, 0));
    hello(d, WORKER + 10, ROLE_WORKER);
    CHECK(asked(WORKER + 10, 0, "profile on 1") && !sent_to(WORKER + 10, MSG_STATS, 1));
    forget();
    wire_text(MSG_STATS, "profile", 7, &m);
    deliver(d, ANN, &m);
    CHECK(asked(WORKER, 0, "profile 1") && asked(WORKER + 10, 0, "profile 1"));
    wire_text(MSG_STATS_REPLY, "profile.1.2=3 4 5 6\n", 20, &m);
    deliver(d, WORKER, &m);
    wire_text(MSG_STATS_REPLY, "", 0, &m);
    deliver(d, WORKER + 10, &m);
    const char *text = "";
    size_t n = 0;
    CHECK(sent_to(ANN, MSG_STATS_REPLY, 0) &&
          wire_read_text(sent_to(ANN, MSG_STATS_REPLY, 0), &text, &n, NULL));
    CHECK(n == 23 && !memcmp(text, "w0.profile.1.2=3 4 5 6\n", n));
    forget();
    wire_text(MSG_BYE, "", 0, &m);
    deliver(d, BOB, &m);
    CHECK(!sent_to(WORKER + 10, MSG_GONE, 0));
    wire_text(MSG_BYE, "", 0, &m);
    deliver(d, ANN, &m);
    CHECK(sent_to(WORKER, MSG_GONE, 0) && sent_to(WORKER + 10, MSG_GONE, 0));
    stop(d);
}

/* Workers are announced to one another, each with a token that only its own WELCOME has too. */
static void test_members(void) {
    Dispatcher *d = dispatcher_new(&(DispatcherConfig){0});
    forget();
    Hello h = {.version = WIRE_VERSION, .table_hash = op_table_hash(), .role = ROLE_WORKER};
    uint64_t token[3];
    Msg m;
    for (uint32_t i = 0; i < 3; i++) {
        h.data = (DataPlane){.process = 70 + i, .fd = -1};
        snprintf(h.data.endpoint, sizeof h.data.endpoint, "ring://x-w%u", i);
        wire_hello(&h, &m);
        deliver(d, WORKER + 10 * i, &m);
        Welcome w = {0};
        Msg *welcome = sent_to(WORKER + 10 * i, MSG_WELCOME, 0);
        CHECK(welcome && wire_read_welcome(welcome, &w, NULL));
        token[i] = w.token;
    }
    CHECK(token[0] && token[1] && token[2]);
    CHECK(token[0] != token[1] && token[1] != token[2] && token[2] != token[0]);
    for (uint32_t i = 0; i < 3; i++) {
        bool knows[3] = {false};
        for (int k = 0; k < 2; k++) {
            PeerInfo p = {0};
            Msg *got_msg = sent_to(WORKER + 10 * i, MSG_PEER, k);
            CHECK(got_msg && wire_read_peer(got_msg, &p, NULL));
            CHECK(p.rank < 3 && p.rank != i && !knows[p.rank % 3]);
            knows[p.rank % 3] = true;
            CHECK(p.token == token[p.rank % 3]);
            CHECK_INT(p.data.process, 70 + p.rank);
        }
        CHECK(!sent_to(WORKER + 10 * i, MSG_PEER, 2));
    }
    forget();
    dispatcher_on_gone(d, WORKER + 10, 0);
    collect(d);
    uint32_t gone = 9;
    CHECK(sent_to(WORKER, MSG_PEER_GONE, 0) && sent_to(WORKER + 20, MSG_PEER_GONE, 0));
    CHECK(wire_read_peer_gone(sent_to(WORKER, MSG_PEER_GONE, 0), &gone, NULL) && gone == 1);
    CHECK_INT(n_sent, 2);
    stop(d);
}

/* Messages are counted by kind. */
static void test_bytes(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    forget();
    int64_t shape[] = {100, 1000};
    Attr attr[] = {{.key = ATTR_SHAPE, .n = 2, .ints = shape},
                   {.key = ATTR_DTYPE, .dtype = DT_F32}};
    Buf *b = buf_new(400000);
    memset(b->data, 2, b->n = 400000);
    Inst in = {.op = OP_DATA,
               .n_attr = 2,
               .attr = attr,
               .n_out = 1,
               .payload = b->data,
               .payload_bytes = b->n,
               .payload_buf = b};
    begin(0), frame_add(&writer, &in), fetch(0);
    long head = (long)frame_bytes(&writer);
    end(d, ANN);
    buf_unref(&b);
    CHECK(head > 0 && head < 1000);
    CHECK_INT(counter(d, "\nframe_bytes"), head);
    CHECK_INT(counter(d, "\npayload_bytes_in"), 400000);
    CHECK_INT(counter(d, "\nreply_bytes_out"), 0);
    CHECK_INT(counter(d, "\ncontrol_bytes"), 0);
    ack(d, 1, 2);
    long control = counter(d, "\ncontrol_bytes");
    CHECK(control > 0 && control < 100);
    Reply reply = {.client = 1, .seq = 1};
    Msg m;
    wire_reply(&reply, NULL, &m);
    long bytes = (long)msg_bytes(&m);
    deliver(d, WORKER, &m);
    CHECK_INT(counter(d, "\nreply_bytes_out"), bytes);
    CHECK_INT(counter(d, "\ncontrol_bytes"), control);
    stop(d);
}

static void test_beat(void) {
    Dispatcher *d = start(&(DispatcherConfig){.beat_ms = 2000});
    forget();
    dispatcher_on_tick(d, 2000);
    dispatcher_on_tick(d, 2500);
    collect(d);
    CHECK(sent_to(ANN, MSG_BEAT, 0) && sent_to(WORKER, MSG_BEAT, 0) && n_sent == 2);
    stop(d);
}

/* Messages that take no credit: a client that sends more per second of one kind than the limit is
 * disconnected; one below the limit is not. */
static void test_rate(void) {
    DispatcherConfig config = {0};
    for (int kind = 0; kind < 3; kind++) {
        static const char *const what[] = {"20 heartbeats", "50 cancels",
                                           "50 frames without instructions"};
        static const int per_s[] = {RATE_BEATS, RATE_CANCELS, RATE_EMPTY};
        Dispatcher *d = start(&config);
        int64_t now = 1000;
        for (int i = 0, n = per_s[kind] * (2 * RATE_BURST + 10) + 1; i < n; i++) {
            Msg m;
            Cancel cancel = {.seq = 0};
            bool is_patient = i < per_s[kind] * (RATE_BURST + 10);
            if (is_patient && i >= per_s[kind] * RATE_BURST) now += 1000 / per_s[kind];
            if (kind == 0) {
                wire_text(MSG_BEAT, "", 0, &m);
            } else if (kind == 1) {
                wire_cancel(&cancel, &m);
            } else {
                begin(0);
                frame_end(&writer, &m);
                writer = (FrameWriter){0};
            }
            dispatcher_on_message(d, ANN, &m, now);
            collect(d);
            if (is_patient) CHECK(!was_dropped(ANN));
        }
        Err why;
        Msg *m = sent_to(ANN, MSG_REFUSE, 0);
        CHECK(m && wire_read_refuse(m, &why, NULL) && strstr(why.text, what[kind]));
        CHECK(was_dropped(ANN));
        stop(d);
    }
}

/* The dispatcher probes a worker that sends nothing for 10 s, but not one that sends heartbeats,
 * and no worker right after the dispatcher itself was stopped. */
static void test_silence(void) {
    DispatcherConfig config = {.beat_ms = 2000};
    Dispatcher *d = start(&config);
    int64_t now = 1000;
    PeerId silent = 0;
    for (; now < 40000 && !silent; now += 1000) {
        Msg m;
        wire_text(MSG_BEAT, "", 0, &m);
        if (now <= 20000)
            dispatcher_on_message(d, WORKER, &m, now);
        else
            msg_fini(&m);
        silent = dispatcher_silent(d, now);
    }
    CHECK_INT(silent, WORKER);
    CHECK_INT(now, 31000);
    now += 60000;
    CHECK_INT(dispatcher_silent(d, now), 0);
    stop(d);
}

/* The worker learns how many bytes of answers a client has read; a client that reports more than it
 * was sent is refused. */
static void test_credit(void) {
    DispatcherConfig config = {0};
    Dispatcher *d = start(&config);
    begin(0);
    full(1, shape_23);
    fetch(1);
    end(d, ANN);
    float value[6] = {0};
    ReplyValue v = {.type = {.dtype = DT_F32, .rank = 2, .shape = {2, 3}}, .data = value};
    v.bytes = sizeof value;
    Reply reply = {.client = 1, .seq = 1, .n = 1, .value = &v};
    Msg m;
    wire_reply(&reply, NULL, &m);
    uint64_t bytes = msg_bytes(&m);
    Credit credit;
    deliver(d, WORKER, &m);
    CHECK(sent_to(ANN, MSG_REPLY, 0));
    wire_credit(&(Credit){1, bytes - 10}, &m);
    deliver(d, ANN, &m);
    Msg *at = sent_to(WORKER, MSG_CREDIT, 0);
    CHECK(at && wire_read_credit(at, &credit, NULL) && credit.client == 1 &&
          credit.bytes == bytes - 10);
    wire_credit(&(Credit){1, 11}, &m);
    deliver(d, ANN, &m);
    CHECK(was_dropped(ANN));
    stop(d);
}

/* A thousand answers of two workers, alternating, that a client reads at once give one message to
 * each worker: reading costs the dispatcher no more than sending did. */
static void test_credit_of_many(void) {
    enum { OTHER = 1001, ANSWERS = 500, ROUNDS = 3 };
    DispatcherConfig config = {0};
    Dispatcher *d = start(&config);
    hello(d, OTHER, ROLE_WORKER);
    begin(0);
    define("s", (const int64_t[]){0, 1}, 2);
    enter("s", OP_SIGNAL_ENTER);
    full(1, shape_23);
    end(d, ANN);
    for (uint64_t round = 0, left = 0; round < ROUNDS; round++) {
        uint64_t bytes = 0, of[2] = {0};
        for (int i = 0; i < 2 * ANSWERS; i++) {
            ReplyValue v = {.type = {.dtype = DT_F32}, .data = &(float){1}, .bytes = 4};
            Reply reply = {.client = 1, .seq = 2, .n = 1, .value = &v};
            Msg m;
            wire_reply(&reply, NULL, &m);
            bytes += msg_bytes(&m);
            deliver(d, i % 2 ? OTHER : WORKER, &m);
        }
        forget();
        Msg m;
        uint64_t taken = bytes + left - bytes / 4; /* the last quarter is not reported yet */
        wire_credit(&(Credit){1, taken}, &m);
        deliver(d, ANN, &m);
        for (int k = 0; k < 2; k++) {
            Credit credit;
            PeerId worker = k ? OTHER : WORKER;
            Msg *at = sent_to(worker, MSG_CREDIT, 0);
            CHECK(at && wire_read_credit(at, &credit, NULL) && credit.client == 1);
            if (at) of[k] = credit.bytes;
            CHECK(!sent_to(worker, MSG_CREDIT, 1));
        }
        CHECK_INT(of[0] + of[1], taken);
        left = bytes / 4;
        CHECK(!was_dropped(ANN));
    }
    stop(d);
}

/* A client may send any number of requests, one after another, as long as it reads the answers. */
static void test_questions(void) {
    enum { QUESTIONS = 20000 };
    static const char question[] = "tensor 7";
    for (int reads = 1; reads >= 0; reads--) {
        DispatcherConfig config = {0};
        Dispatcher *d = start(&config);
        Msg m;
        uint64_t bytes = 0;
        long asked = 0;
        for (; !was_dropped(ANN) && bytes <= 2 * REPLY_BYTES && (!reads || asked < QUESTIONS);
             asked++) {
            forget();
            wire_text(MSG_STATS, question, sizeof question - 1, &m);
            deliver(d, ANN, &m);
            Msg *answer = sent_to(ANN, MSG_STATS_REPLY, 0);
            CHECK(answer || was_dropped(ANN));
            if (!answer) break;
            bytes += msg_bytes(answer);
            if (!reads || asked % 1000) continue;
            wire_credit(&(Credit){1, bytes}, &m);
            deliver(d, ANN, &m);
            bytes = 0;
        }
        CHECK_MSG(was_dropped(ANN) == !reads, "%ld answers, %llu bytes unread", asked,
                  (unsigned long long)bytes);
        CHECK(bytes <= REPLY_BYTES + 1024);
        stop(d);
    }
}

/* More clients and workers than the limits allow: the next one is refused with the reason. */
static void test_crowd(void) {
    DispatcherConfig config = {.peers_max = 3};
    Dispatcher *d = start(&config);
    hello(d, BOB, ROLE_CLIENT);
    CHECK(!was_dropped(BOB));
    hello(d, EVE, ROLE_CLIENT);
    Err why;
    Msg *m = sent_to(EVE, MSG_REFUSE, 0);
    CHECK(m && wire_read_refuse(m, &why, NULL) && strstr(why.text, "has 3 clients and workers"));
    CHECK(was_dropped(EVE));
    dispatcher_on_gone(d, BOB, 0);
    hello(d, LATE, ROLE_WORKER);
    CHECK(!was_dropped(LATE));
    stop(d);
}

static void test_handles(void) {
    enum { IDS = 5000 };
    static bool is_live[IDS];
    Handles t = {.seed = 7};
    uint64_t x = 88172645463325252u;
    size_t n_live = 0;
    for (int k = 0; k < 300000; k++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* xorshift64 (Marsaglia, 2003) */
        uint64_t id = (x >> 20) % (k % 50000 < 25000 ? IDS : 200);
        TensorHandle *h = handles_find(&t, id), old;
        CHECK((h != NULL) == is_live[id]);
        if (h) CHECK_INT(h->layout.block, id);
        if (h && (x & 1)) {
            CHECK(handles_remove(&t, id, &old) && old.layout.block == (int32_t)id);
            is_live[id] = false, n_live--;
        } else if (!h) {
            CHECK(!handles_remove(&t, id, NULL));
            handles_add(&t, id)->layout.block = (int32_t)id;
            is_live[id] = true, n_live++;
        }
        CHECK_INT(t.n, n_live);
    }
    for (uint64_t id = 0; id < IDS; id++) CHECK(handles_remove(&t, id, NULL) == is_live[id]);
    CHECK_INT(t.n, 0);
    CHECK_INT(t.cap, 64);
    handles_fini(&t);
}

/* A million instructions without a fetch: the table is no larger than the live tensors need. */
static void test_flat(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    uint64_t seq = 2, id = 2;
    begin(0), full(0, shape_23), full(1, shape_23), end(d, ANN);
    for (int k = 0; k < 4000; k++) {
        forget();
        begin(seq);
        for (int i = 0; i < FRAME_INSTS / 2; i++, id++) add(id, id - 1, 0), drop(id - 1, id - 1);
        end(d, ANN);
        seq += FRAME_INSTS;
        ack(d, 1, seq);
    }
    CHECK_INT(counter(d, "\ntensors"), 2);
    CHECK_INT(counter(d, "\nslots"), 64);
    CHECK(!sent_to(ANN, MSG_ERROR, 0) && !sent_to(ANN, MSG_REFUSE, 0));
    stop(d);
}

int main(void) {
    test_two_clients();
    test_poison();
    test_ids();
    test_limit();
    test_limit_heads();
    test_payload();
    test_window();
    test_window_bytes();
    test_cancel();
    test_groups();
    test_garbage();
    test_hello();
    test_schedule();
    test_lost();
    test_stats();
    test_profile();
    test_members();
    test_bytes();
    test_beat();
    test_rate();
    test_silence();
    test_credit();
    test_questions();
    test_credit_of_many();
    test_crowd();
    test_handles();
    test_flat();
    return check_report("dispatcher");
}
