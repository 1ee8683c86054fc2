/* timeline_test: tapes with known numbers, as lines, become a timeline: slices, waits and their
 * causes, signals, totals, links, the largest win; and what is refused.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/timeline_sum.h"
#include "dispatcher/watch/trace.h"
#include "tests/unit/check.h"
#include "tests/unit/chrome.h"
#include <unistd.h>

/* Adds lines; the tape must be right. */
static Timeline *make(const TimelineOptions *options, const char *text) {
    Timeline *t = timeline_new(options);
    Err err = {0};
    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        CHECK_MSG(timeline_add(t, text, (size_t)(end - text), &err), "%s: %.60s", err.text, text);
    }
    timeline_settle(t);
    return t;
}

/* Two workers; w1 needs a result of w0. All times are multiples of 100 us. */
static const char two[] =
    "gti 1 kind=tape\n"
    "0.000000 1 + - w0 worker \"cpu-v4\" threads=2 memory=1000\n"
    "0.000000 2 + - w1 worker \"cpu-v4\" threads=1 memory=2000\n"
    "0.000100 3 + c1 - client \"ana\"\n"
    "0.000100 4 + - g3 group w0 w1\n"
    "0.001000 5 > c1 - signal enter a\n"
    "0.001000 6 > c1 - t1 = matmul t0 t0 -> f32[10,10] @my.gt:3\n"
    "0.001000 7 = c1 w0 t1 = matmul t0 t0 on=1\n"
    "0.001100 8 > c1 - signal enter b @my.gt:4\n"
    "0.001100 9 > c1 - t2 = add t1 1 -> f32[10,10] @my.gt:5:12\n"
    "0.001100 10 = c1 w1 t9223372036854775808 = move t1 shape=[10,10] dtype=f32 on=2 from=1 # for "
    "add\n"
    "0.001100 11 = c1 w1 t2 = add t1 1 on=2\n"
    "0.001200 12 > c1 - signal exit b\n"
    "0.001200 13 > c1 - signal exit a\n"
    "0.003000 14 < c1 w0 done t1 us=2000 bytes=400 op=matmul\n"
    "0.003400 15 < c1 w1 done t9223372036854775808 us=400 bytes=400 op=move\n"
    "0.003900 16 < c1 w1 done t2 us=500 bytes=400 op=add\n"
    "0.005000 17 > c1 - t3 = neg t2 -> f32[10,10] @my.gt:9\n"
    "0.005000 18 = c1 w1 t3 = neg t2\n"
    "0.006000 19 < c1 w1 done t3 us=1000 bytes=400 op=neg\n"
    "0.007000 20 - c1 - client left\n";

static void check_idle(const WorkerLane *w, size_t i, int64_t begin_us, int64_t end_us, int cause,
                       int on) {
    CHECK(i < w->n_idle);
    if (i >= w->n_idle) return;
    const Idle *idle = &w->idle[i];
    CHECK_INT(idle->begin_ns, begin_us * 1000);
    CHECK_INT(idle->end_ns, end_us * 1000);
    CHECK_STR(idle_why_name[idle->cause], idle_why_name[cause]);
    CHECK_INT(idle->on, on);
}

/* A tape without idle lines: causes are derived. */
static void test_model(void) {
    char buf[64];
    Timeline *t = make(NULL, two);
    const WorkerLane *w0 = &t->worker[0], *w1 = &t->worker[1];
    CHECK_INT(t->begin_ns, 1000000);
    CHECK_INT(t->end_ns, 6000000);
    CHECK_INT(t->n_workers, 2);
    CHECK_STR(timeline_text(t, w0->engine), "cpu-v4");
    CHECK_INT(t->n_clients, 1);
    CHECK_STR(timeline_text(t, t->client[0].name), "ana");
    CHECK_INT(w0->n_slices, 1);
    CHECK_INT(w1->n_slices, 2);
    CHECK_INT(w1->n_transfers, 1);
    const Slice *s = &w0->slice[0], *move = &w1->transfer[0];
    CHECK_INT(s->begin_ns, 1000000);
    CHECK_INT(s->end_ns, 3000000);
    CHECK_INT(s->sent_ns, 1000000);
    CHECK_INT(s->class_, WATCH_MATMUL);
    CHECK_STR(timeline_position(t, s->file, s->line, buf, sizeof buf), "my.gt:3");
    CHECK_STR(timeline_signal(t, s->signal, buf, sizeof buf), "a");
    CHECK(s->n_in == 2 && t->operand[s->in] == 0 && t->operand[s->in + 1] == 0);
    CHECK_STR(timeline_position(t, move->file, move->line, buf, sizeof buf), "my.gt:5");
    CHECK_STR(timeline_signal(t, move->signal, buf, sizeof buf), "a/b");
    CHECK(move->n_from == 1 && t->rank[move->from] == 0 && !move->has_moved);
    CHECK_INT(w0->n_idle, 1); /* after its product nothing came */
    check_idle(w0, 0, 3000, 6000, IDLE_STARVED, -1);
    CHECK_INT(w1->n_idle, 4);
    check_idle(w1, 0, 1000, 1100, IDLE_STARVED, -1);
    check_idle(w1, 1, 1100, 3000, IDLE_BLOCKED, 0);
    check_idle(w1, 2, 3000, 3400, IDLE_COMM, 0);
    check_idle(w1, 3, 3900, 5000, IDLE_STARVED, -1);
    CHECK_STR(timeline_position(t, w1->idle[3].file, w1->idle[3].line, buf, sizeof buf), "my.gt:9");
    CHECK_INT(w1->n_bands, 1);
    CHECK_INT(t->client[0].n_bands, 2);
    CHECK_INT(t->client[0].band[1].begin_ns, 1100000);
    CHECK_INT(t->client[0].band[1].end_ns, 1200000);
    CHECK_INT(t->n_groups, 3); /* the last two from on= */
    timeline_free(&t);
}

static void test_totals(void) {
    Timeline *t = make(NULL, two);
    const WorkerTotals *w0 = &t->worker[0].sum, *w1 = &t->worker[1].sum;
    CHECK_INT(w0->there_ns, 5000000);
    CHECK_INT(w0->busy_ns, 2000000);
    CHECK_INT(w0->idle_ns[IDLE_STARVED], 3000000);
    CHECK_INT(w1->busy_ns, 1500000);
    CHECK_INT(w1->idle_ns[IDLE_BLOCKED], 1900000);
    CHECK_INT(w1->idle_ns[IDLE_COMM], 400000);
    CHECK_INT(w1->idle_ns[IDLE_STARVED], 1200000);
    CHECK_INT(w1->gap_ns, 0);
    CHECK_INT(w1->moved, 400);
    OpTotal *op;
    LinkTotal *link;
    CHECK_INT(timeline_ops(t, &op), 4);
    CHECK_STR(timeline_text(t, op[0].name), "matmul");
    CHECK_STR(timeline_text(t, op[1].name), "neg");
    CHECK_INT(op[0].ns, 2000000);
    CHECK_INT(timeline_links(t, &link), 1);
    CHECK(link[0].from == 0 && link[0].to == 1 && link[0].bytes == 400 && link[0].is_estimate);
    free(op), free(link);
    Wait wait[2];
    CHECK_INT(timeline_waits(t, wait, 2), 2);
    CHECK(wait[0].rank == 0 && wait[0].idle.begin_ns == 3000000);
    CHECK(wait[1].rank == 1 && wait[1].idle.cause == IDLE_BLOCKED);
    /* starved: 4.2 ms of 10 ms of two workers, so 2.1 of 5 ms */
    Win win = timeline_win(t);
    CHECK_INT(win.cause, IDLE_STARVED);
    CHECK_INT(win.gain_ns, 2100000);
    CHECK_INT(win.worst_ns, 3000000);
    CHECK(win.share > 0.4199 && win.share < 0.4201 && !win.is_op && win.rank == 0 && win.on < 0);
    timeline_free(&t);
}

/* Idle lines count before what is derived; the rest of a long gap gets a cause, too. */
static const char lines[] = "gti 1 kind=tape\n"
                            "0.001000 1 = c1 w0 t1 = exp t0\n"
                            "0.001100 2 < c1 w0 done t1,t2 us=100 bytes=8 op=exp\n"
                            "0.001400 3 < - w0 idle us=300 why=compile op=exp\n"
                            "0.002400 4 < - w0 idle us=1000 why=blocked on=w1\n"
                            "0.002400 5 = c1 w0 t4 = exp t0\n"
                            "0.002500 6 < c1 w0 done t4 us=100 bytes=8 op=exp\n"
                            "0.002500 7 < - w0 compile us=41000 ops=5 key=ab\n"
                            "0.002600 8 < - w0 memory bytes=123 limit=456\n"
                            "0.002600 9 < - w0 later us=1 why=unknown x y\n"
                            "0.002700 10 < - w0 idle us=90 why=newer\n"
                            "0.002700 11 < c1 w0 done t5 us=10 bytes=6 op=all_reduce from=w1,w3 "
                            "moved=12 more=1\n"
                            "0.002710 12 ! c1 w0 error exp \"no \\\"x\\\"\" @a.gt:4\n";

static void test_device(void) {
    Timeline *t = make(NULL, "gti 1 kind=tape\n"
                             "0.001000 1 < c1 w0 done t1 us=100 bytes=8 op=exp\n"
                             "0.001400 2 < - w0 idle us=400 why=device\n"
                             "0.001500 3 < c1 w0 done t2 us=100 bytes=8 op=exp\n");
    CHECK_INT(t->worker[0].n_idle, 1);
    check_idle(&t->worker[0], 0, 1000, 1400, IDLE_DEVICE, -1);
    timeline_free(&t);
}

static void test_lines(void) {
    Timeline *t = make(NULL, lines);
    const WorkerLane *w = &t->worker[0];
    CHECK_INT(w->n_idle, 5);
    check_idle(w, 0, 1100, 1400, IDLE_COMPILE, -1);
    check_idle(w, 1, 1400, 2400, IDLE_BLOCKED, 1);
    check_idle(w, 2, 2500, 2690, IDLE_BLOCKED, 1);
    check_idle(w, 3, 2690, 2700, IDLE_COMM, 1);
    check_idle(w, 4, 2700, 2710, IDLE_STARVED, -1);
    CHECK(!w->idle[1].is_derived && w->idle[2].is_derived);
    CHECK_STR(timeline_text(t, w->idle[0].name), "exp");
    CHECK_INT(w->sum.gap_ns, 0);
    CHECK(w->n_compiles == 1 && w->compile[0].n_ops == 5);
    CHECK_INT(w->compile[0].begin_ns, 0); /* it began before the tape */
    CHECK_STR(timeline_text(t, w->compile[0].key), "ab");
    CHECK(w->n_samples == 1 && w->sample[0].bytes == 123 && w->sample[0].limit == 456);
    CHECK(t->n_failures == 1 && t->n_marks == 1 && t->mark[0].line == 4);
    CHECK_STR(timeline_text(t, t->mark[0].text), "no \"x\"");
    LinkTotal *link;
    CHECK_INT(timeline_links(t, &link), 2);
    CHECK(link[0].from == 1 && link[1].from == 3 && link[0].bytes == 6 && !link[0].is_estimate);
    free(link);
    Win win = timeline_win(t);
    CHECK(win.cause == IDLE_BLOCKED && win.rank == 0 && win.on == 1);
    CHECK_INT(win.worst_ns, 1190000);
    timeline_free(&t);
}

/* Ends are cut to microseconds: slices in a row stay in one row, and keep their length. */
static void test_rows(void) {
    Timeline *t = make(NULL, "0.000100 1 < c1 w0 done t1 us=50 bytes=1 op=exp\n"
                             "0.000100 2 < c1 w0 done t2 us=0.3 bytes=1 op=exp\n"
                             "0.000100 3 < c1 w0 done t3 us=0.2 bytes=1 op=exp\n"
                             "0.000200 4 < c1 w0 done t4 us=60 bytes=1 op=exp\n"
                             "0.000170 5 < c1 w0 done t5 us=20 bytes=1 op=exp\n"
                             "0.000300 6 < c1 w0 done t6 us=10 bytes=1 op=move from=w1 moved=5\n"
                             "0.000305 7 < c1 w0 done t7 us=10 bytes=1 op=move from=w1 moved=5\n");
    const WorkerLane *w = &t->worker[0];
    CHECK_INT(w->slice_rows, 2);
    CHECK_INT(w->transfer_rows, 2);
    CHECK_INT(w->slice[1].begin_ns, 100000);
    CHECK_INT(w->slice[1].end_ns, 100300);
    CHECK_INT(w->slice[2].begin_ns, 100300);
    CHECK_INT(w->slice[2].end_ns, 100500);
    CHECK(w->slice[3].id == 4 && w->slice[3].row == 0 && w->slice[4].row == 1);
    CHECK_INT(w->sum.busy_ns, 50000 + 500 + 60000);
    CHECK_INT(w->sum.moved, 10);
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    trace_chrome(t, f);
    fclose(f);
    CHECK(strstr(text, "\"tid\":11,\"name\":\"exp\""));
    CHECK_INT(chrome_overlaps(text), 0);
    free(text);
    timeline_free(&t);
}

/* A long wait comes in pieces. A transfer without moved= moved nothing if others say how much. */
static void test_pieces(void) {
    Timeline *t = make(NULL, "0.000000 1 + - g7 group w0 w1\n"
                             "0.001000 2 < c1 w0 done t1 us=100 bytes=1 op=exp\n"
                             "0.201000 3 < - w0 idle us=200000 why=starved\n"
                             "0.401010 4 < - w0 idle us=200000 why=starved\n"
                             "0.402010 5 < - w0 idle us=1000 why=comm on=w1\n"
                             "0.402020 6 = c1 g7 t3 = all_gather t2 on=7 from=7\n"
                             "0.402030 7 < c1 w0 done t3 us=10 bytes=100 op=all_gather\n"
                             "0.402030 8 < c1 w1 done t3 us=10 bytes=100 op=all_gather from=w0 "
                             "moved=50\n"
                             "0.402040 9 < c1 w0 done t4 us=10 bytes=1 op=exp\n");
    const WorkerLane *w = &t->worker[0];
    LinkTotal *link;
    CHECK_INT(w->n_idle, 2);
    check_idle(w, 0, 1000, 401010, IDLE_STARVED, -1);
    check_idle(w, 1, 401010, 402010, IDLE_COMM, 1);
    CHECK_INT(w->sum.idle_ns[IDLE_STARVED], 400010000);
    CHECK_INT(w->sum.moved, 0);
    CHECK_INT(timeline_links(t, &link), 1);
    CHECK(link[0].from == 0 && link[0].to == 1 && link[0].bytes == 50 && !link[0].is_estimate);
    free(link);
    timeline_free(&t);
    /* a report, and the time after it in which the worker had no instruction either */
    t = make(NULL, "0.001000 1 < c1 w0 done t1 us=100 bytes=1 op=exp\n"
                   "0.101000 2 < - w0 idle us=100000 why=starved\n"
                   "0.301000 3 < c1 w1 done t2 us=1 bytes=1 op=exp\n");
    CHECK_INT(t->worker[0].n_idle, 1);
    check_idle(&t->worker[0], 0, 1000, 301000, IDLE_STARVED, -1);
    CHECK_INT(t->worker[0].sum.idle_ns[IDLE_STARVED], 300000000);
    timeline_free(&t);
}

/* Effects have no id: those of one operation are done in the order in which they came. */
static void test_effects(void) {
    char buf[64];
    Timeline *t = make(NULL, "0.001000 1 > c1 - print \"a\" t0 @my.gt:1\n"
                             "0.001000 2 > c1 - fetch t0 @my.gt:2\n"
                             "0.001000 3 > c1 - signal enter b\n"
                             "0.001000 4 > c1 - print \"b\" t0 @my.gt:3\n"
                             "0.001000 5 > c1 - print \"c\" t0 @my.gt:4\n"
                             "0.001010 6 = c1 w0 print \"a\" t0\n"
                             "0.001020 7 = c1 w0 t9223372036854775808 = move t0 on=1 from=2 # for "
                             "fetch\n"
                             "0.001030 8 = c1 w0 fetch t9223372036854775808\n"
                             "0.001100 9 < c1 w0 done t9223372036854775808 us=9 bytes=4 op=move\n"
                             "0.001200 10 < c1 w0 done - us=10 bytes=4 op=fetch\n"
                             "0.001300 11 < c1 w0 done - us=10 bytes=4 op=print\n"
                             "0.001400 12 ! c1 w0 error print \"no\" @my.gt:3\n"
                             "0.001500 13 < c1 w0 done - us=10 bytes=4 op=print\n"
                             "0.001600 14 < c1 w0 done - us=10 bytes=4 op=print\n");
    static const char *const want[] = {"my.gt:2", "my.gt:1", "my.gt:4", ""};
    const WorkerLane *w = &t->worker[0];
    CHECK_INT(w->n_slices, 4);
    for (int i = 0; i < 4; i++)
        CHECK_STR(timeline_position(t, w->slice[i].file, w->slice[i].line, buf, sizeof buf),
                  want[i]);
    CHECK_INT(w->slice[0].sent_ns, 1030000);
    CHECK_INT(w->slice[1].sent_ns, 1010000);
    CHECK_STR(timeline_signal(t, w->slice[2].signal, buf, sizeof buf), "b");
    CHECK_INT(w->transfer[0].line, 2); /* the conversion has the place of what needs it */
    timeline_free(&t);
}

static void test_options(void) {
    TimelineOptions part = {.has_from = true, .from_ns = 2000000, .has_to = true, .to_ns = 3200000};
    Timeline *t = make(&part, two);
    CHECK_INT(t->begin_ns, 2000000);
    CHECK_INT(t->end_ns, 3200000);
    CHECK_INT(t->worker[0].slice[0].begin_ns, 2000000);
    CHECK_INT(t->worker[0].sum.busy_ns, 1000000);
    CHECK_INT(t->worker[1].n_slices, 0);
    CHECK_INT(t->worker[1].transfer[0].end_ns, 3200000);
    CHECK_INT(t->client[0].n_events, 0);
    timeline_free(&t);
    TimelineOptions signal = {.signal = "b"};
    t = make(&signal, two);
    CHECK_INT(t->worker[0].n_slices, 0);
    CHECK_INT(t->worker[1].n_slices, 1);
    CHECK_INT(t->worker[1].n_transfers, 1);
    CHECK_INT(t->worker[1].n_idle, 0);   /* idleness has no signal */
    CHECK_INT(t->client[0].n_events, 3); /* enter b, add, exit b */
    timeline_free(&t);
    TimelineOptions client = {.client = 2};
    t = make(&client, two);
    CHECK_INT(t->worker[0].n_slices, 0);
    timeline_free(&t);
    TimelineOptions few = {.events_max = 7};
    t = make(&few, two);
    CHECK(t->is_enough && t->n_chosen == 7 && t->n_lines == 8);
    timeline_free(&t);
    TimelineOptions small = {.records_max = 12};
    t = make(&small, two);
    CHECK(t->is_cut && !t->is_enough && t->worker[0].n_slices == 0);
    CHECK(t->n_lines == 21 && t->n_chosen == 20 && t->cut_line < 15);
    CHECK_INT(t->end_ns, 1100000); /* its time ends there, too */
    timeline_free(&t);
}

static void refuse(const char *line, const char *part) {
    Timeline *t = timeline_new(NULL);
    Err err = {0};
    CHECK(timeline_add(t, "gti 1 kind=tape", 15, &err));
    CHECK_MSG(!timeline_add(t, line, strlen(line), &err), "accepted: %s", line);
    CHECK_MSG(strstr(err.text, part) && !strncmp(err.text, "column ", 7), "%s: %s", line, err.text);
    CHECK_INT(t->n_lines, 1);
    timeline_free(&t);
}

static void test_refused(void) {
    refuse("hello", "column 1: seconds");
    refuse("0.1 2 > c1 -", "column 13: an instruction");
    refuse("0.1 2 > c1 - )", "an instruction");
    refuse("0.1 2 > - - t1 = add t0 1", "a client");
    refuse("0.1 2 < c1 - done t1", "a worker");
    refuse("0.1 2 < c1 w0", "column 6 of a tape is missing");
    refuse("0.1 2 < c1 w0 done x1 us=1", "column 20: an id");
    refuse("0.1 2 < c1 w0 done t1 us=abc", "column 26: us= is");
    refuse("0.1 2 < c1 w0 done t1 us=-1", "us= is");
    refuse("0.1 2 < c1 w0 done t1 us=1 bytes=1.5", "a whole number");
    refuse("0.1 2 < c1 w0 done t1 us=1 bytes=99999999999999999999", "a whole number");
    refuse("0.1 2 < c1 w0 done t1 us=1 from=w1,x", "a list of workers");
    refuse("0.1 2 < - w0 idle us=1 why=blocked on=1", "on= is a worker");
    refuse("0.1 2 < c1 w1024 done t1 us=1", "at most 1024 workers");
    refuse("99999999999999999999 2 < c1 w1 done t1 us=1", "time is too large");
    refuse("0.1 2 + - g3 group w0 1", "a list of workers");
    Timeline *t = timeline_new(NULL);
    CHECK_FAIL(timeline_add(t, "", 0, &err), ERR_PARSE);
    CHECK_FAIL(timeline_add(t, "gti 2 kind=tape", 15, &err), ERR_VERSION);
    CHECK_FAIL(timeline_add(t, "gti 1 seed=0", 12, &err), ERR_PARSE);
    CHECK_FAIL(timeline_add(t,
                            "\x7f"
                            "ELF",
                            4, &err),
               ERR_PARSE);
    timeline_free(&t);
    CHECK(t == NULL);
    timeline_free(&t);
}

/* A file: torn, with a mistake, missing. */
static void test_file(void) {
    static const char good[] = "gti 1 kind=tape\n0.1 1 < c1 w0 done t1 us=1 bytes=1 op=exp\n";
    char path[] = "/tmp/timeline-test-XXXXXX";
    int fd = mkstemp(path);
    Timeline *t;
    Err why = {0};
    CHECK(fd >= 0 && write(fd, good, strlen(good)) > 0);
    CHECK(timeline_read(path, NULL, &t, &why) && !t->is_torn && t->n_lines == 2);
    timeline_free(&t);
    CHECK(write(fd, "0.2 2 < c1 w0 done t2 us=1", 26) > 0);
    CHECK(timeline_read(path, NULL, &t, &why) && t->is_torn && t->n_lines == 2);
    CHECK(t && t->worker[0].n_slices == 1);
    timeline_free(&t);
    CHECK(write(fd, "x\n", 2) > 0);
    CHECK(!timeline_read(path, NULL, &t, &why) && !t);
    CHECK(strstr(why.text, ":3: error: column 26: us= is") && !strncmp(why.text, path, 12));
    close(fd);
    unlink(path);
    CHECK_FAIL(timeline_read(path, NULL, &t, &err), ERR_IO);
    CHECK_FAIL(timeline_read("/tmp", NULL, &t, &err), ERR_IO);
}

/* Formats cope with an empty timeline and with hostile names. */
static void test_formats(void) {
    char *text;
    size_t n;
    Timeline *t = make(NULL, "gti 1 kind=tape\n"
                             "0.1 1 > c1 - t1 = exp t0 @\"a\\\"\\n\\xff\\x1b,b.gt\":7\n"
                             "0.1 2 < c1 w0 done t1 us=1 bytes=1 op=exp\n");
    FILE *f = open_memstream(&text, &n);
    trace_chrome(t, f);
    fclose(f);
    CHECK(strstr(text, "\"source\":\"a\\\"\\u000a\\ufffd\\u001b,b.gt:7\""));
    free(text);
    f = open_memstream(&text, &n);
    trace_csv(t, f);
    fclose(f);
    CHECK(strstr(text, ",\"a\"\"\n"));
    free(text);
    f = open_memstream(&text, &n);
    trace_summary(t, "x", f);
    fclose(f);
    CHECK(strstr(text, "a\"\\x0A\\xFF\\x1B,b.gt:7"));
    free(text);
    timeline_free(&t);
    t = make(NULL, "gti 1 kind=tape\n");
    f = open_memstream(&text, &n);
    trace_chrome(t, f), trace_csv(t, f), trace_summary(t, "x", f);
    fclose(f);
    CHECK(strstr(text, "0 operations"));
    free(text);
    timeline_free(&t);
}

static void test_classes(void) {
    static const Op products[] = {OP_MATMUL, OP_CONV, OP_CONV_DX, OP_CONV_DW, OP_SOLVE};
    for (int i = 0; i < 5; i++) CHECK(watch_class(products[i]) == WATCH_MATMUL);
    CHECK(watch_class(OP_ARGMAX) == WATCH_REDUCE && watch_class(OP_SUM) == WATCH_REDUCE);
    CHECK(watch_class(OP_EXP) == WATCH_POINTWISE && watch_class(OP_GATHER) == WATCH_OTHER);
}

int main(void) {
    test_classes();
    test_model();
    test_totals();
    test_lines();
    test_device();
    test_rows();
    test_pieces();
    test_effects();
    test_options();
    test_refused();
    test_file();
    test_formats();
    return check_report("timeline");
}
