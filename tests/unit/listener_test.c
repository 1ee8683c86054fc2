/* listener_test: programs that watch the dispatcher: snapshots, lines of the tape, slow and wrong
 * listeners, the flight recorder and its lines.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/listener.h"
#include "dispatcher/watch/past.h"
#include "runtime/wire/wire_peer.h"
#include "runtime/wire/wire_watch.h"
#include "tests/unit/dispatcher_talk.h"
#include <time.h>

enum { EYE = 40, EYE2 = 41 };

static void tick(Dispatcher *d, int64_t now_ms) {
    dispatcher_on_tick(d, now_ms);
    collect(d);
}

static void listen(Dispatcher *d, PeerId from, ListenVerb verb, uint32_t past_ms) {
    Msg m;
    wire_listen(&(Listen){.client = 1, .verb = (uint8_t)verb, .past_ms = past_ms}, &m);
    deliver(d, from, &m);
}

/* Acknowledges all that was sent to the listener, and forgets it. */
static void credit(Dispatcher *d, PeerId from) {
    uint64_t bytes = 0;
    Msg m;
    for (int i = 0; i < n_sent; i++)
        if (sent[i].to == from) bytes += msg_bytes(&sent[i].msg);
    forget();
    wire_credit(&(Credit){0, bytes}, &m);
    deliver(d, from, &m);
}

/* The k-th snapshot that was sent to the listener, as a string. */
static const char *snapshot(PeerId to, int k) {
    static char text[8192];
    const char *s = "";
    size_t n = 0;
    const Msg *m = sent_to(to, MSG_SNAPSHOT, k);
    if (!m || !wire_read_text(m, &s, &n, NULL)) return "none";
    snprintf(text, sizeof text, "%.*s", (int)n, s);
    return text;
}

static Events events(PeerId to, int k) {
    Events e = {0};
    const Msg *m = sent_to(to, MSG_EVENTS, k);
    if (m) wire_read_events(m, &e, NULL);
    return e;
}

/* What the worker was asked to report last; 255: nothing. */
static int asked(void) {
    int what = 255;
    WatchAsk ask;
    for (int k = 0; sent_to(WORKER, MSG_WATCH, k); k++)
        if (wire_read_watch(sent_to(WORKER, MSG_WATCH, k), &ask, NULL)) what = ask.what;
    return what;
}

static void say_file(Dispatcher *d, const char *name) {
    Operand number[] = {{.kind = IN_IMM_INT, .i = 0}};
    begin(0);
    frame_add(&writer,
              &(Inst){.op = OP_FILE, .n_in = 1, .in = number, ATTRS(attr_text(ATTR_NAME, name))});
    end(d, ANN);
}

static void test_snapshot(void) {
    Dispatcher *d = start(&(DispatcherConfig){.endpoint = "ipc:///a b"});
    CHECK_INT(asked(), 255); /* nobody watches */
    say_file(d, "a.gt");
    begin(1), full(0, shape_23), full(1, shape_45), enter("hot spot", OP_SIGNAL_ENTER);
    end(d, ANN);
    hello(d, EYE, ROLE_WATCHER);
    CHECK_INT(asked(), WATCH_USAGE);
    OpUsage op[] = {{.op = OP_MATMUL, .count = 2, .ns = 7000, .bytes = 64},
                    {.op = OP_ADD, .count = 1, .ns = 1000, .bytes = 8}};
    Usage u = {.now_ns = 5000,
               .insts = 3,
               .memory_bytes = 99,
               .limit_bytes = 1000,
               .queue = 4,
               .blocked_on = 1,
               .moved_bytes = 55,
               .device = {"a \"b\"", 5, 60, 1, INT32_MIN, 12},
               .n = 2,
               .op = op};
    u.idle_ns[IDLE_BLOCKED] = 9000;
    Msg m;
    wire_usage(&u, &m);
    deliver(d, WORKER, &m);
    forget();
    tick(d, 1000);
    const char *s = snapshot(EYE, 0);
    CHECK(strstr(s, "dispatcher endpoint=\"ipc:///a b\" version="));
    CHECK(strstr(s, " workers=1 clients=1 insts=4 queue=4 "));
    CHECK(strstr(s, "\nworker rank=0 engine=\"test\" "));
    CHECK(strstr(s, " device=\"a \\\"b\\\"\" device_number=1 device_used=5 device_total=60 "
                    "device_busy_percent=12"));
    CHECK(!strstr(s, "device_celsius"));
    CHECK(strstr(s, " limit=1000 sent=4 memory=99 queue=4 insts=3 "));
    CHECK(strstr(s, " busy_us.matmul=7 busy_us.pointwise=1 busy_us.reduce=0 "));
    CHECK(strstr(s, " idle_us.starved=0 idle_us.blocked=9 "));
    CHECK(strstr(s, " blocked_on=1 moved_bytes=55 "));
    CHECK(strstr(s, "\nclient id=1 name=\"test\" "));
    CHECK(strstr(s, " pending=4 tensors=2 ") && strstr(s, " file=\"a.gt\" line=101 "));
    CHECK(strstr(s, " signal=\"hot spot\"\n"));
    CHECK(strstr(s, "\nop name=\"matmul\" count=2 us=7 bytes=64\n"));
    tick(d, 1100);
    CHECK_STR(snapshot(EYE, 1), "none"); /* not yet */
    d->last_client = UINT32_MAX - 1;     /* clients that are gone take no time: minutes here */
    hello(d, BOB, ROLE_CLIENT);
    tick(d, 1000 + SNAPSHOT_MS);
    s = strstr(snapshot(EYE, 1), "\nclient id=1 ");
    CHECK(s && strstr(s, "\nclient id=4294967295 "));
    forget();
    dispatcher_on_gone(d, EYE, 2000); /* it ends without a word */
    collect(d);
    CHECK_INT(asked(), 0);
    tick(d, 3000);
    CHECK_STR(snapshot(EYE, 0), "none");
    /* What the worker counted for that one is not the beginning of what it counts for the next. */
    wire_usage(&u, &m);
    deliver(d, WORKER, &m); /* too late */
    hello(d, EYE2, ROLE_WATCHER);
    tick(d, 4000);
    CHECK(strstr(snapshot(EYE2, 0), "worker ") && !strstr(snapshot(EYE2, 0), "busy_us"));
    stop(d);
}

/* A listener that does not read gets LISTEN_BYTES, and then the number of lines that it missed. */
static void test_slow(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    hello(d, EYE, ROLE_WATCHER), hello(d, EYE2, ROLE_WATCHER);
    listen(d, EYE, LISTEN_EVENTS, 0), listen(d, EYE2, LISTEN_EVENTS, 0);
    CHECK_INT(asked(), WATCH_USAGE | WATCH_TIMES);
    uint64_t slow = 0, seq = 0, lines = 0, dropped = 0;
    for (int round = 0; round < 400; round++) {
        begin(seq);
        for (int i = 0; i < 200; i++) full(seq++, shape_23);
        end(d, ANN);
        tick(d, 1000 * round);
        ack(d, 1, seq);
        for (int i = 0; i < n_sent; i++)
            if (sent[i].to == EYE) slow += msg_bytes(&sent[i].msg);
        for (int k = 0; sent_to(EYE2, MSG_EVENTS, k); k++) {
            Events e = events(EYE2, k);
            dropped += e.dropped;
            for (size_t i = 0; i < e.n; i++) lines += e.text[i] == '\n';
        }
        credit(d, EYE2);
        dispatcher_go_on(d);
        collect(d);
    }
    CHECK(slow > LISTEN_BYTES / 2 && slow <= LISTEN_BYTES);
    CHECK_INT(dropped, 0);
    CHECK(lines > 2 * 200 * 390); /* asked and sent */
    forget();
    Msg m;
    wire_credit(&(Credit){0, slow}, &m); /* it has woken up */
    deliver(d, EYE, &m);
    begin(seq), full(seq, shape_23), end(d, ANN);
    tick(d, 1000000);
    Events e = events(EYE, 0);
    CHECK(e.n > 0 && e.dropped > 10000 && e.dropped < lines);
    listen(d, EYE, LISTEN_QUIET, 0), listen(d, EYE2, LISTEN_QUIET, 0);
    CHECK_INT(asked(), WATCH_USAGE);
    CHECK(d->tape == NULL);
    stop(d);
}

/* A listener that breaks the rules is disconnected, and nobody else. */
static void test_wrong(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    Msg m;
    hello(d, EYE, ROLE_WATCHER);
    wire_credit(&(Credit){0, 1}, &m); /* it got nothing */
    deliver(d, EYE, &m);
    CHECK(was_dropped(EYE) && refusal(EYE) == ERR_PARSE);
    forget();
    hello(d, EYE, ROLE_WATCHER);
    begin(0), full(0, shape_23), end(d, EYE); /* it computes */
    CHECK(was_dropped(EYE));
    forget();
    for (PeerId p = 100; p < 164; p++) hello(d, p, ROLE_WATCHER);
    CHECK_INT(n_sent > 0 && !was_dropped(163), 1);
    hello(d, 200, ROLE_WATCHER);
    CHECK(was_dropped(200) && refusal(200) == ERR_LIMIT);
    forget();
    hello(d, BOB | PEER_OUTSIDE, ROLE_CLIENT); /* by the door only watchers come */
    CHECK(was_dropped(BOB | PEER_OUTSIDE));
    begin(0), full(0, shape_23), end(d, ANN);
    CHECK_STR(frame_text(0, NULL, NULL), "full =0");
    stop(d);
}

/* `k` in gt-top: as the client's own Ctrl-C. */
static void test_cancel(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    hello(d, EYE, ROLE_WATCHER);
    begin(0), full(0, shape_23), full(1, shape_23), end(d, ANN);
    listen(d, EYE, LISTEN_CANCEL, 0);
    Cancel cancel = {0};
    CHECK(sent_to(WORKER, MSG_CANCEL, 0) &&
          wire_read_cancel(sent_to(WORKER, MSG_CANCEL, 0), &cancel, NULL));
    CHECK(cancel.client == 1 && cancel.seq == 2);
    stop(d);
}

/* ---- The past ---- */

/* The lines that the listener makes of what was sent to it. */
static void past_text(PeerId to, Bytes *out) {
    Past *p = past_begin();
    for (int k = 0; sent_to(to, MSG_PAST, k); k++) {
        const Msg *m = sent_to(to, MSG_PAST, k);
        Msg copy = {0};
        msg_push(&copy, buf_ref(m->part[0]));
        past_take(p, &copy);
    }
    past_write(p, out);
    bytes_putc(out, '\0');
    past_end(&p);
}

static void send_rows(Dispatcher *d, int64_t begin_ns, bool is_end) {
    TimeRow row[] = {{.id = 0,
                      .begin_ns = begin_ns,
                      .ns = 1000,
                      .bytes = 24,
                      .client = 1,
                      .op = OP_FULL,
                      .n_out = 1},
                     {.begin_ns = begin_ns + 1000,
                      .ns = 500000,
                      .from = 1,
                      .op = OP_ALL_REDUCE,
                      .kind = TIME_IDLE,
                      .n_out = IDLE_BLOCKED}};
    Times t = {.n = 2, .is_past = true, .is_end = is_end, .now_ns = begin_ns, .row = row};
    Msg m;
    wire_times(&t, &m);
    deliver(d, WORKER, &m);
}

/* The clock of a worker on another machine: the fastest message counts, not the last one. */
static void test_clock(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    WorkerPeer *w = d->worker[0];
    struct timespec t;
    snprintf(w->data.host, sizeof w->data.host, "another");
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = t.tv_sec * 1000000000 + t.tv_nsec;
    listener_look_at_clock(d, w, now - 3600 * INT64_C(1000000000));
    int64_t ahead = w->ahead_ns;
    CHECK(w->is_clock_known && ahead >= 3600 * INT64_C(1000000000));
    listener_look_at_clock(d, w, now - 7200 * INT64_C(1000000000)); /* was on the way for an hour */
    CHECK_INT(w->ahead_ns, ahead);
    listener_look_at_clock(d, w, now - 1800 * INT64_C(1000000000));
    CHECK(w->ahead_ns < ahead && w->ahead_ns >= 1800 * INT64_C(1000000000));
    ahead = w->ahead_ns;
    listener_look_at_clock(d, w, INT64_MIN); /* no time */
    CHECK_INT(w->ahead_ns, ahead);
    stop(d);
}

static void test_past(void) {
    Dispatcher *d = start(&(DispatcherConfig){.record_bytes = 1 << 20});
    say_file(d, "a.gt");
    begin(1), full(0, shape_23), add(1, 0, 7), end(d, ANN);
    dispatcher_on_gone(d, ANN, 0); /* it is over before anybody asks */
    hello(d, EYE, ROLE_WATCHER);
    forget();
    listen(d, EYE, LISTEN_PAST, 5000);
    WatchAsk ask;
    CHECK(sent_to(WORKER, MSG_WATCH, 0) &&
          wire_read_watch(sent_to(WORKER, MSG_WATCH, 0), &ask, NULL) && ask.past_ms == 5000);
    CHECK(!events(EYE, 0).is_end); /* the worker's rows are missing */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    send_rows(d, t.tv_sec * 1000000000 + t.tv_nsec, true);
    CHECK(events(EYE, 0).is_past && events(EYE, 0).is_end);
    Bytes b = {0};
    past_text(EYE, &b);
    const char *at = b.data;
    static const char *const want[] = {" + - w0 worker \"test\"",
                                       " + c1 - client \"test\"\n",
                                       " > c1 - file 0 a.gt\n",
                                       " > c1 - t0 = full 1.0 [2,3] f32 @a.gt:100\n",
                                       " > c1 - t1 = add t0 t7 @a.gt:101\n",
                                       " ! c1 - error add ",
                                       " - c1 - client left\n",
                                       " < c1 w0 done t0 us=1.0 bytes=24 op=full\n",
                                       " < - w0 idle us=500 why=blocked on=w1 op=all_reduce\n"};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const char *found = strstr(at, want[i]);
        CHECK_MSG(found != NULL, "no line '%s' in order in\n%s", want[i], b.data);
        if (found) at = found;
    }
    bytes_fini(&b);
    stop(d);
}

/* A worker that does not answer does not keep a listener waiting; the next request is served. */
static void test_past_without_worker(void) {
    Dispatcher *d = start(&(DispatcherConfig){.record_bytes = 1 << 20});
    hello(d, EYE, ROLE_WATCHER), hello(d, EYE2, ROLE_WATCHER);
    forget();
    listen(d, EYE, LISTEN_PAST, 5000), listen(d, EYE2, LISTEN_PAST, 1000);
    tick(d, 100);
    CHECK(!events(EYE, 0).is_end && !sent_to(EYE2, MSG_PAST, 0)); /* in turn */
    tick(d, 60000), tick(d, 60001);
    CHECK(events(EYE, 0).is_end && sent_to(EYE2, MSG_PAST, 0));
    dispatcher_on_gone(d, EYE2, 60000);
    stop(d);
}

/* A client cannot make the dispatcher keep more than 1 MiB of names of files; it may change them.
 */
static void test_names_bounded(void) {
    Dispatcher *d = start(&(DispatcherConfig){0});
    char name[60001];
    size_t bytes = 0;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    for (int i = 0; i < 30; i++) {
        Operand number[] = {{.kind = IN_IMM_INT, .i = i < 10 ? 3 : i}};
        begin((uint64_t)i);
        frame_add(
            &writer,
            &(Inst){.op = OP_FILE, .n_in = 1, .in = number, ATTRS(attr_text(ATTR_NAME, name))});
        end(d, ANN);
    }
    const Client *c = map_get(&d->client_by_id, 1);
    for (int k = 0; c && k < c->n_files; k++) bytes += c->file[k] ? strlen(c->file[k]) : 0;
    CHECK(bytes == 17 * 60000);
    stop(d);
}

/* The past stays in the recorder, however often somebody asks for it. */
static void test_past_often(void) {
    Dispatcher *d = start(&(DispatcherConfig){.record_bytes = 1 << 20});
    Bytes b = {0};
    hello(d, EYE, ROLE_WATCHER);
    for (uint64_t seq = 0; seq < 40; seq++) {
        begin(seq), full(seq, shape_23), end(d, ANN);
        ack(d, 1, seq + 1);
        credit(d, EYE);
        listen(d, EYE, LISTEN_PAST, 60000);
        send_rows(d, 0, true);
    }
    past_text(EYE, &b);
    CHECK(strstr(b.data, " t0 = full") && strstr(b.data, " t39 = full"));
    bytes_fini(&b);
    stop(d);
}

/* However many rows a worker sends, a limited number is kept for a listener that does not read. */
static void test_rows_bounded(void) {
    enum { MOST = 64 << 20 };
    Dispatcher *d = start(&(DispatcherConfig){.record_bytes = 1 << 20});
    TimeRow *row = xcalloc(TIMES_MAX, sizeof *row);
    uint64_t sent_bytes = 0, bytes = 0;
    hello(d, EYE, ROLE_WATCHER);
    credit(d, EYE);
    listen(d, EYE, LISTEN_PAST, 5000);
    for (int i = 0; i < 300; i++) {
        Times t = {.n = TIMES_MAX, .is_past = true, .is_end = i == 299, .row = row};
        Msg m;
        wire_times(&t, &m);
        sent_bytes += msg_bytes(&m);
        deliver(d, WORKER, &m);
    }
    for (bool is_over = false; !is_over; credit(d, EYE)) {
        is_over = n_sent == 0;
        for (int i = 0; i < n_sent; i++)
            if (sent[i].to == EYE) bytes += msg_bytes(&sent[i].msg);
    }
    CHECK(sent_bytes > MOST && bytes > MOST / 2 && bytes <= MOST + 65536);
    free(row);
    stop(d);
}

/* However much passes, the recorder keeps its limit, and the newest. */
static void test_bounded(void) {
    enum { LIMIT = 1 << 20 };
    Dispatcher *d = start(&(DispatcherConfig){.record_bytes = LIMIT});
    uint64_t seq = 0;
    for (int round = 0; round < 1000; round++) {
        begin(seq);
        for (int i = 0; i < 100; i++) full(seq++, shape_23);
        end(d, ANN);
        ack(d, 1, seq);
        forget();
    }
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->recorded.n; i++) bytes += (*(Buf **)fifo_at(&d->recorded, i))->cap;
    CHECK(bytes == d->recorded_bytes && bytes <= LIMIT && bytes >= LIMIT / 2);
    hello(d, EYE, ROLE_WATCHER);
    forget();
    listen(d, EYE, LISTEN_PAST, 60000);
    Bytes b = {0};
    char last[64];
    past_text(EYE, &b);
    snprintf(last, sizeof last, " t%llu = full 1.0 [2,3] f32", (unsigned long long)seq - 1);
    CHECK(strstr(b.data, last) && !strstr(b.data, " t0 = full"));
    bytes_fini(&b);
    stop(d);
}

int main(void) {
    test_snapshot();
    test_slow();
    test_wrong();
    test_cancel();
    test_clock();
    test_past();
    test_past_without_worker();
    test_names_bounded();
    test_past_often();
    test_rows_bounded();
    test_bounded();
    return check_report("listener_test");
}
