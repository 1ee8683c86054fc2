/* ingest_test: frames that expand to very many instructions: the dispatcher reads them in slices,
 * and serves other peers between slices.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/dispatcher_talk.h"
#include "runtime/net/net.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"

enum { PARTS = 4, SPLIT = 200, PRINTS = 40, PER_PRINT = 3 * SPLIT };

/* Four workers, Ann's tensors over all of them, and Bob. */
static Dispatcher *start_split_by(const DispatcherConfig *config) {
    static const int64_t all[] = {0, 1, 2, 3}, shape[] = {8, 3};
    Dispatcher *d = start(config);
    for (int i = 1; i < PARTS; i++) hello(d, 1000 + (PeerId)i, ROLE_WORKER);
    hello(d, BOB, ROLE_CLIENT);
    begin(0);
    define("s", all, PARTS), enter("s", OP_SIGNAL_ENTER), full(0, shape);
    for (uint64_t i = 1; i <= SPLIT; i++) add(i, 0, 0);
    enter("s", OP_SIGNAL_EXIT), end(d, ANN);
    while (dispatcher_go_on(d)) continue;
    collect(d);
    CHECK(!sent_to(ANN, MSG_ERROR, 0) && !dispatcher_go_on(d));
    forget();
    return d;
}

static Dispatcher *start_split(uint32_t slice) {
    return start_split_by(&(DispatcherConfig){.slice = slice});
}

enum { SPLIT_SEQ = SPLIT + 4 }; /* seq of Ann's next instruction */

/* Each of these prints gathers its tensor. */
static void prints(int n) {
    Operand o[SPLIT];
    Attr format = {.key = ATTR_FORMAT, .n = 1, .str = "-"};
    for (int i = 0; i < SPLIT; i++) o[i] = (Operand){.kind = IN_TENSOR, .id = (uint64_t)i + 1};
    Inst in = {.op = OP_PRINT, .n_in = SPLIT, .in = o, .n_attr = 1, .attr = &format};
    for (int i = 0; i < n; i++) frame_add(&writer, &in);
}

/* The instructions of one client in the frames that the first worker gets from here on; *end: the
 * client's number after them. */
static int n_written(int from, uint32_t client, uint64_t *end) {
    int n = 0;
    for (int i = from; i < n_sent; i++) {
        FrameReader r;
        if (sent[i].to != WORKER || wire_kind(&sent[i].msg) != MSG_FRAME) continue;
        if (!frame_open(&r, &sent[i].msg, NULL) || r.client != client) continue;
        Arena arena = {0};
        Inst in;
        n += (int)r.count;
        while (frame_next(&r, &arena, &in, NULL, NULL, NULL) > 0) continue;
        if (end) *end = r.seq_next;
        arena_fini(&arena);
    }
    return n;
}

/* No client keeps the dispatcher busy for longer than a slice and one instruction: Bob's messages
 * are handled between two slices of Ann's frame, and Ann's later ones wait for its end. */
static void test_slices(void) {
    enum { MOST = 4096 + PER_PRINT };
    Dispatcher *d = start_split(UINT32_MAX);
    begin(SPLIT_SEQ), prints(PRINTS), end(d, ANN);
    int whole = n_written(0, 1, NULL), total = 0, slices = 0;
    CHECK(whole > 3 * MOST && !dispatcher_go_on(d));
    stop(d);

    d = start_split(0);
    uint64_t at = 0;
    begin(SPLIT_SEQ), prints(PRINTS), end(d, ANN);
    total = n_written(0, 1, &at);
    CHECK_MSG(total > 0 && total <= MOST, "%d instructions in a row", total);
    forget();
    begin(0), full(0, shape_23), fetch(0), end(d, BOB);
    CHECK_INT(n_written(0, 2, NULL) + (sent_to(1001, MSG_FRAME, 0) ? 2 : 0), 2);
    Msg m;
    wire_text(MSG_STATS, "", 0, &m);
    begin(SPLIT_SEQ + PRINTS), full(SPLIT + 1, shape_23), end(d, ANN);
    deliver(d, ANN, &m);
    CHECK(n_written(0, 1, NULL) == 0 && !sent_to(WORKER, MSG_STATS, 0));
    for (bool is_more = true; is_more; slices++) {
        forget();
        is_more = dispatcher_go_on(d);
        collect(d);
        int n = n_written(0, 1, &at);
        CHECK_MSG(n > 0 && n <= MOST, "%d instructions in a row", n);
        CHECK(is_more ==
              !sent_to(WORKER, MSG_STATS, 0)); /* after everything that it may refer to */
        total += n;
    }
    CHECK(slices > 2 && !sent_to(ANN, MSG_REFUSE, 0));
    CHECK_INT(total, whole + 1);
    CHECK_INT(at, SPLIT_SEQ + PRINTS + 1);
    stop(d);
}

/* Two clients with such frames alternate slices. */
static void test_slices_in_turn(void) {
    Dispatcher *d = start_split(1000);
    begin(SPLIT_SEQ), prints(PRINTS), end(d, ANN);
    static const int64_t all[] = {0, 1, 2, 3}, shape[] = {8, 3};
    begin(0);
    define("s", all, PARTS), enter("s", OP_SIGNAL_ENTER), full(0, shape);
    for (uint64_t i = 1; i <= SPLIT; i++) add(i, 0, 0);
    prints(PRINTS), end(d, BOB);
    for (int i = 0, whose = 0; i < 8; i++) {
        forget();
        CHECK(dispatcher_go_on(d));
        collect(d);
        int ann = n_written(0, 1, NULL), bob = n_written(0, 2, NULL);
        CHECK((ann > 0) != (bob > 0));
        CHECK(i == 0 || whose == (ann > 0 ? 2 : 1));
        whose = ann > 0 ? 1 : 2;
    }
    stop(d);
}

enum { AT_ONCE = 20 };

/* Sends what Ann has written, and reads all its slices. Returns their number. */
static int take_slices(Dispatcher *d) {
    int slices = 0;
    uint64_t seq = writer.seq + writer.count;
    forget(), end(d, ANN);
    for (bool is_more = true; is_more; slices++) {
        int n = n_written(0, 1, NULL);
        CHECK_MSG(n <= AT_ONCE, "%d instructions in a row", n);
        forget();
        is_more = dispatcher_go_on(d);
        collect(d);
    }
    begin(seq);
    return slices;
}

/* Writes a step of a loop over split tensors: LONG operations, chosen by `bits`, then frees of all
 * results but the last, then the edge. Returns the number of slices. */
enum { LONG = 60 };
static int long_step(Dispatcher *d, uint64_t k) {
    int slices = 0;
    uint64_t first = SPLIT + 1 + k * LONG, bits = 88172645463325252u;
    for (uint64_t id = first; id < first + LONG; id++) {
        Operand o[] = {{.kind = IN_TENSOR, .id = id - 1}, {.kind = IN_TENSOR}};
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        Inst in = {.op = bits & 1 ? OP_ADD : OP_MUL, .n_in = 2, .in = o, .n_out = 1, .out = {id}};
        frame_add(&writer, &in);
        if (frame_is_full(&writer)) slices += take_slices(d);
    }
    for (uint64_t id = first - 1; id < first + LONG - 1; id += 2) {
        drop(id, id + 1);
        if (frame_is_full(&writer)) slices += take_slices(d);
    }
    frame_add(&writer, &(Inst){.op = OP_EDGE});
    return slices + take_slices(d);
}

/* Hot records that expand to many operations are sliced too: a step of a known body takes as many
 * slices as one in full. */
static void test_slices_of_body(void) {
    enum { STEPS = 40 };
    Dispatcher *d = start_split_by(&(DispatcherConfig){.slice = AT_ONCE, .hot = detector_config()});
    long hot = counter(d, "\nhot_instructions");
    int slices = 0;
    begin(SPLIT_SEQ), enter("s", OP_SIGNAL_ENTER);
    for (uint64_t k = 0; k < STEPS; k++) slices += long_step(d, k);
    hot = counter(d, "\nhot_instructions") - hot;
    CHECK_MSG(hot > 10 * LONG, "%ld instructions of bodies", hot);
    CHECK_MSG(slices > STEPS * (LONG / AT_ONCE), "%d slices", slices);
    CHECK_INT(counter(d, "\ncut_off"), 0);
    end(d, ANN);
    stop(d);
}

/* Within its frame a client leaves, loses a worker, cancels, or turns out to be malformed: nothing
 * of it is left, and others continue. */
static void test_slices_end(void) {
    enum { LEAVES, SAYS_BYE, WORKER_GOES, IS_MALFORMED, ASKS_TOO_MUCH, HOW };
    for (int how = 0; how < HOW; how++) {
        Dispatcher *d = start_split(0);
        begin(SPLIT_SEQ), prints(PRINTS);
        if (how == IS_MALFORMED) writer.count++;
        end(d, ANN);
        forget();
        Msg m;
        begin(SPLIT_SEQ + PRINTS), prints(1), end(d, ANN);
        if (how == LEAVES) dispatcher_on_gone(d, ANN, 0);
        if (how == SAYS_BYE) wire_text(MSG_BYE, "", 0, &m), deliver(d, ANN, &m);
        if (how == WORKER_GOES) dispatcher_on_gone(d, 1001, 0);
        for (int i = 0; how == ASKS_TOO_MUCH && i < 17; i++)
            wire_text(MSG_STATS, "", 0, &m), deliver(d, ANN, &m);
        while (dispatcher_go_on(d)) continue;
        collect(d);
        CHECK_MSG(was_dropped(ANN) == (how > SAYS_BYE), "%d", how);
        CHECK_INT(counter(d, "clients"), how == WORKER_GOES && was_dropped(BOB) ? 0 : 1);
        CHECK_INT(counter(d, "\ntensors"), 0);
        forget();
        hello(d, LATE, ROLE_CLIENT);
        begin(0), full(0, shape_23), end(d, LATE);
        CHECK(!was_dropped(LATE) && !dispatcher_go_on(d) && counter(d, "\ntensors") == 1);
        stop(d);
    }
    Dispatcher *d = start_split(0);
    Msg m;
    begin(SPLIT_SEQ), prints(PRINTS), end(d, ANN);
    wire_cancel(&(Cancel){.seq = SPLIT_SEQ + PRINTS}, &m);
    forget();
    deliver(d, ANN, &m);
    CHECK(
        sent_to(WORKER, MSG_CANCEL, 0)); /* at once, and again after the frames that it refers to */
    while (dispatcher_go_on(d)) continue;
    collect(d);
    CHECK(sent_to(WORKER, MSG_CANCEL, 1) && !sent_to(WORKER, MSG_CANCEL, 2));
    stop(d);
    d = start_split(0); /* and the dispatcher itself ends within the frame */
    begin(SPLIT_SEQ), prints(PRINTS), end(d, ANN);
    CHECK(dispatcher_go_on(d) && !dispatcher_is_idle(d));
    stop(d);
}

/* Over connections: both of Bob's frames reach the worker before the end of Ann's, which arrived
 * before at least one of them. */
static void test_loop(void) {
    enum { PEERS = PARTS + 2, AT_ANN = PARTS, AT_BOB };
    static const int64_t all[] = {0, 1, 2, 3}, shape[] = {8, 3};
    Dispatcher *d = dispatcher_new(&(DispatcherConfig){.workers_wanted = PARTS});
    Err err = {0};
    Hub *hub = hub_open("ring://take-test", &err);
    Link *link[PEERS];
    Msg m;
    CHECK(hub != NULL);
    for (int i = 0; i < PEERS; i++) {
        m = make_hello(i < PARTS ? ROLE_WORKER : ROLE_CLIENT);
        link[i] = link_open("ring://take-test", &err);
        CHECK(link[i] && link_send(link[i], &m));
        dispatcher_pump(d, hub, 1000);
    }
    begin(0);
    define("s", all, PARTS), enter("s", OP_SIGNAL_ENTER), full(0, shape);
    for (uint64_t i = 1; i <= SPLIT; i++) add(i, 0, 0);
    enter("s", OP_SIGNAL_EXIT), frame_end(&writer, &m), link_send(link[AT_ANN], &m);
    begin(SPLIT_SEQ), prints(PRINTS), frame_end(&writer, &m), link_send(link[AT_ANN], &m);
    for (uint64_t i = 0; i < 2; i++)
        begin(i), full(i, shape_23), frame_end(&writer, &m), link_send(link[AT_BOB], &m);
    writer = (FrameWriter){0};
    uint64_t ann = 0, before_bob = 0, bob = 0; /* one more than the last number written */
    while (ann < SPLIT_SEQ + PRINTS || bob < 2) {
        dispatcher_pump(d, hub, 60000); /* returns at once */
        for (int i = 0; i < PEERS; i++)
            while (link_recv(link[i], &m) > 0) {
                FrameReader r;
                CHECK(wire_kind(&m) != MSG_REFUSE);
                if (i < PARTS && frame_open(&r, &m, NULL) && r.client == 2) bob = r.seq + r.count;
                if (i < PARTS && frame_open(&r, &m, NULL) && r.client == 1) {
                    Arena arena = {0};
                    Inst in;
                    while (frame_next(&r, &arena, &in, NULL, NULL, NULL) > 0) continue;
                    if (r.seq_next > ann) ann = r.seq_next;
                    if (bob < 2 && i == 1) before_bob = r.seq_next; /* Bob's home */
                    arena_fini(&arena);
                }
                msg_fini(&m);
            }
    }
    CHECK_INT(bob, 2);
    CHECK_MSG(before_bob < SPLIT_SEQ + PRINTS, "Bob has waited for all of Ann's frame");
    for (int i = 0; i < PEERS; i++) link_close(&link[i]);
    hub_close(&hub);
    dispatcher_free(&d);
}

int main(void) {
    test_slices();
    test_slices_in_turn();
    test_slices_of_body();
    test_slices_end();
    test_loop();
    return check_report("take");
}
