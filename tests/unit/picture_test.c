/* picture_test: what gt-visualize computes before it draws: axes, times, patterns, columns, the
 * largest transfers, the critical path, two runs compared; and the SVG.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/axis.h"
#include "dispatcher/watch/canvas.h"
#include "dispatcher/watch/compare.h"
#include "dispatcher/watch/draw.h"
#include "dispatcher/watch/path.h"
#include "dispatcher/watch/span.h"
#include "dispatcher/watch/view.h"
#include "tests/unit/check.h"

#define MS INT64_C(1000000)

/* ---- Axes and times ---- */

/* The labels of an axis, with commas between. */
static const char *labels(int64_t from, int64_t to, int most) {
    static char out[1024];
    char label[AXIS_LABEL_MAX];
    Axis a = axis_make(from, to, most);
    out[0] = '\0';
    for (int64_t at = a.first_ns; at <= a.to_ns; at += a.step_ns) {
        axis_label(&a, at, label);
        if (out[0]) strcat(out, ",");
        strcat(out, label);
    }
    return out;
}

static void test_axis(void) {
    CHECK_STR(labels(0, 79 * MS, 6), "0,20 ms,40 ms,60 ms");
    CHECK_STR(labels(0, 79 * MS, 9), "0,10 ms,20 ms,30 ms,40 ms,50 ms,60 ms,70 ms");
    CHECK_STR(labels(3 * MS, 11 * MS, 5), "4 ms,6 ms,8 ms,10 ms");
    CHECK_STR(labels(0, 2500 * MS, 6), "0,0.5 s,1.0 s,1.5 s,2.0 s,2.5 s");
    CHECK_STR(labels(0, 1, 5), "0,1 ns");
    CHECK_STR(labels(0, 3000, 4), "0,1 us,2 us,3 us");
    /* far from 0 labels count from the left */
    CHECK_STR(labels(100000 * MS, 100002 * MS, 5), "+0,+0.5 ms,+1.0 ms,+1.5 ms,+2.0 ms");
    /* an axis of any length has few ticks */
    for (int64_t span = 1; span < INT64_MAX / 8; span = span * 3 + 1) {
        Axis a = axis_make(7, 7 + span, 10);
        CHECK_MSG(a.first_ns >= 7 && (a.to_ns - a.first_ns) / a.step_ns < 10, "ticks of %lld",
                  (long long)span);
    }
    Axis empty = axis_make(5, 5, 10);
    CHECK_INT(empty.to_ns, 6);
}

static void test_words(void) {
    char s[AXIS_LABEL_MAX];
#define SAYS(call, want)                                                                           \
    do {                                                                                           \
        call;                                                                                      \
        CHECK_STR(s, want);                                                                        \
    } while (0)
    SAYS(axis_time(812000, s), "812 us");
    SAYS(axis_time(79 * MS, s), "79.0 ms");
    SAYS(axis_time(1234 * MS, s), "1.23 s");
    SAYS(axis_time(999, s), "999 ns");
    SAYS(axis_time(-5, s), "0 ns");
    SAYS(axis_size(512, s), "512 B");
    SAYS(axis_size(1536, s), "1.50 KiB");
    SAYS(axis_size(UINT64_MAX, s), "16.0 EiB");
    int64_t ns = 0;
    CHECK(span_read("--from", "1.5", &ns, NULL) && ns == 1500 * MS);
    CHECK(span_read("--from", "20ms", &ns, NULL) && ns == 20 * MS);
    CHECK(span_read("--from", "300us", &ns, NULL) && ns == 300000);
    CHECK(span_read("--from", "0", &ns, NULL) && ns == 0);
    static const char *const bad[] = {"", "ms", "-1", "1h", "nan", "inf", "1e30", "0x", "1 ms"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAIL(span_read("--from", bad[i], &ns, &err), ERR_ARG);
}

static void test_clean(void) {
    Bytes b = {0};
#define CLEAN(in, most, want)                                                                      \
    do {                                                                                           \
        b.n = 0;                                                                                   \
        view_clean(&b, in, most);                                                                  \
        CHECK_STR(b.data, want);                                                                   \
    } while (0)
    CLEAN("a\033[2J\n\x7f"
          "b",
          20, "a?[2J??b");
    CLEAN("gr\xc3\xbc\xc3\x9f\xff\xc3", 20, "gr\xc3\xbc\xc3\x9f??");
    CLEAN("\xed\xa0\x80", 20, "???"); /* a surrogate */
    CLEAN("\xc2\x9b", 20, "??");      /* a control character */
    CLEAN("abcdef", 5, "ab...");
    CLEAN("abcde", 5, "abcde");
    CLEAN("abcde", 2, "ab");
    bytes_fini(&b);
}

/* ---- Patterns ---- */

static PatternSlice busy(int worker, int64_t from_ms, int64_t to_ms) {
    return (PatternSlice){from_ms * MS, to_ms * MS, worker, OP_MATMUL, UINT64_MAX, -1, 1000};
}
static PatternSlice move(int worker, int64_t at_ms, Op op, int from, uint64_t bytes) {
    return (PatternSlice){at_ms * MS, at_ms * MS + MS / 10, worker, op, UINT64_MAX, from, bytes};
}

static void expect(const char *what, const PatternSlice *s, size_t n, const char *want) {
    char text[256];
    Pattern p = pattern_find(s, n);
    pattern_text(&p, text, sizeof text);
    CHECK_MSG(!strcmp(text, want), "%s is \"%s\", not \"%s\"", what, text, want);
}

static void test_collectives(void) {
    PatternSlice s[400];
    size_t n = 0;
    for (int w = 0; w < 4; w++) s[n++] = busy(w, 0, 80);
    expect("side by side", s, n,
           "embarrassingly parallel: 4 workers compute at the same time and exchange almost "
           "nothing");
    for (int w = 0; w < 4; w++) s[n++] = move(w, 79, OP_ALL_REDUCE, -1, 1 << 20);
    for (int i = 0; i < 70; i++) s[n++] = move(0, i, OP_MOVE, 1, 8); /* printed values */
    CHECK_INT(pattern_find(s, n).kind, PATTERN_PARALLEL);
    size_t before = n;
    for (int i = 0; i < 40; i++)
        for (int w = 0; w < 2; w++) s[n++] = move(w, 2 * i, OP_ALL_REDUCE, -1, 1 << 20);
    expect("all_reduce", s, n, "all-reduce among 4 workers, 41 times, 84.0 MiB");
    n = before;
    for (int i = 0; i < 20; i++) {
        for (int w = 0; w < 4; w++) {
            s[n++] = move(w, 4 * i, OP_REDUCE_SCATTER, -1, 3 << 18);
            s[n++] = move(w, 4 * i + 1, OP_ALL_GATHER, -1, 3 << 18);
        }
    }
    expect("both halves", s, n,
           "all-reduce (reduce-scatter and all-gather) among 4 workers, 21 times, 124 MiB");
    n = before;
    for (int i = 0; i < 40; i++) s[n++] = move(i % 4, 2 * i, OP_ALL_GATHER, -1, 1 << 20);
    expect("all_gather", s, n, "all-gather among 4 workers, 10 times, 40.0 MiB");
    for (int i = 0; i < 40; i++) s[n++] = move(i % 4, 2 * i, OP_ALL_TO_ALL, -1, 1 << 22);
    CHECK_INT(pattern_find(s, n).kind, PATTERN_ALL_TO_ALL);
    expect("one worker", s, 1, "none (one worker computes)");
    expect("nothing", s, 0, "none");
}

/* Stages that take 10 ms for each of 4 pieces. order: the worker of each stage. */
static size_t pipeline(PatternSlice *s, const int *order, int stages) {
    size_t n = 0;
    for (int piece = 0; piece < 4; piece++) {
        for (int stage = 0; stage < stages; stage++) {
            int64_t at = 10 * (piece + stage);
            if (stage) s[n++] = move(order[stage], at, OP_MOVE, order[stage - 1], 1 << 16);
            s[n++] = busy(order[stage], at, at + 10);
        }
    }
    return n;
}

static void test_pipeline(void) {
    PatternSlice s[400];
    static const int straight[] = {0, 1, 2, 3}, mixed[] = {2, 0, 3, 1};
    size_t n = pipeline(s, straight, 4);
    /* moves from 10 to 60 ms; the stages compute 30, 40, 40 and 30 ms of these 50.1 */
    expect("a pipeline", s, n, "pipeline w0 > w1 > w2 > w3, bubble 30%");
    n = pipeline(s, mixed, 4);
    expect("in any order", s, n, "pipeline w2 > w0 > w3 > w1, bubble 30%");
    for (int i = 0; i < 8; i++) s[n++] = move(2, 8 * i, OP_MOVE, 1, 1 << 14);
    CHECK_INT(pattern_find(s, n).kind,
              PATTERN_NONE); /* 14 % of the bytes pass by the neighbours: no row */
    n = pipeline(s, straight, 2);
    expect("two stages", s, n, "pipeline w0 > w1, bubble 0%");
    for (size_t i = 0; i < n; i++) s[i].id = (uint64_t)s[i].begin_ns / MS / 10;
    CHECK_INT(pattern_find(s, n).kind, PATTERN_NONE); /* both carry out the same instructions */
    n = 0;                                            /* a star: everything from w0 */
    for (int i = 0; i < 10; i++)
        for (int w = 1; w < 5; w++) {
            s[n++] = move(w, 10 * i, OP_MOVE, 0, 1 << 16);
            s[n++] = busy(w, 10 * i, 10 * i + 9);
            s[n++] = busy(0, 10 * i + 2 * w - 2, 10 * i + 2 * w);
        }
    expect("a star", s, n, "none");
    /* what is out of range counts for nothing */
    s[n++] = (PatternSlice){0, MS, -1, OP_MATMUL, 1, -1, 1};
    s[n++] = (PatternSlice){0, MS, PATTERN_WORKERS, OP_MOVE, 1, 1 << 20, 1 << 20};
    s[n++] = (PatternSlice){0, MS, 1, OP_COUNT, 1, 0, 1 << 20};
    s[n++] = move(1, 5, OP_MOVE, PATTERN_WORKERS, 1 << 10);
    expect("a star and odd ones", s, n, "none");
}

/* ---- From a tape ---- */

static Timeline *read_tape(const char *text) {
    Timeline *t = timeline_new(NULL);
    Err err = {0};
    while (*text) {
        size_t n = strcspn(text, "\n");
        CHECK_MSG(timeline_add(t, text, n, &err), "%s in %.*s", err.text, (int)n, text);
        text += n + (text[n] != '\0');
    }
    timeline_settle(t);
    return t;
}

/* w0 computes 2 ms, w1 takes the result and computes 4 ms; meanwhile w0 has 1 ms more to do. Then
 * the program waits before it asks for the last one. */
static const char two[] =
    "gti 1 kind=tape\n"
    "0.000100 1 + - w0 worker \"cpu\" threads=1 memory=1000\n"
    "0.000100 2 + - w1 worker \"cpu\" threads=1 memory=1000\n"
    "0.000200 3 + c1 - client \"gtsh\"\n"
    "0.001000 4 > c1 - t0 = randn [8] f32 -> f32[8] @dir/a.gt:1\n"
    "0.001000 5 = c1 w0 t0 = randn [8] f32\n"
    "0.001000 6 > c1 - t1 = exp t0 -> f32[8] @dir/a.gt:2\n"
    "0.001000 7 = c1 w1 t9223372036854775808 = move t0 on=2 from=1\n"
    "0.001000 8 = c1 w1 t1 = exp t9223372036854775808 on=2\n"
    "0.001000 9 = c1 w0 t2 = neg t0 on=1\n"
    "0.004000 10 < c1 w0 done t0 us=2000 bytes=4096 op=randn\n"
    "0.005000 11 < c1 w0 done t2 us=1000 bytes=4096 op=neg\n"
    "0.005000 12 < c1 w1 done t9223372036854775808 us=1000 bytes=4096 op=move\n"
    "0.009000 13 < c1 w1 done t1 us=4000 bytes=4096 op=exp\n"
    "0.019000 14 > c1 - t3 = sum t1 -> f32[] @dir/a.gt:3\n"
    "0.019000 15 = c1 w1 t3 = sum t1\n"
    "0.021000 16 < c1 w1 done t3 us=1000 bytes=4 op=sum\n";

static void test_view(void) {
    Timeline *t = read_tape(two);
    Bytes b = {0};
    view_title(t, &b);
    /* of 2 x 21 ms, 8 ms of computing */
    CHECK_MSG(strstr(b.data, "GT timeline: ") && strstr(b.data, " 2 workers, 0.02"), "%s", b.data);
    ViewMove *move;
    int n = view_largest(t, 5, &move);
    CHECK_INT(n, 1);
    CHECK_INT(move[0].from, 0);
    CHECK_INT(move[0].to, 1);
    CHECK_INT(move[0].bytes, 4096);
    free(move);
    b.n = 0;
    view_slice(t, &t->worker[1].transfer[0], &b);
    CHECK_MSG(!strncmp(b.data, "move, 1.00 ms, 4.00 KiB", 23), "%s", b.data);
    ViewColumn column[4] = {0};
    Slice s = {.begin_ns = 5, .end_ns = 35, .class_ = WATCH_REDUCE};
    view_add(column, 4, 0, 40, &s);
    CHECK_INT(column[0].ns[WATCH_REDUCE], 5);
    CHECK_INT(column[1].ns[WATCH_REDUCE], 10);
    CHECK_INT(column[3].ns[WATCH_REDUCE], 5);
    CHECK_INT(view_sum(&column[2]), 10);
    CHECK_INT(view_most(&column[2]), WATCH_REDUCE);
    s = (Slice){.begin_ns = -100, .end_ns = 1000, .class_ = WATCH_MATMUL}; /* beyond both ends */
    memset(column, 0, sizeof column);
    view_add(column, 4, 0, 40, &s);
    CHECK_INT(view_sum(&column[0]) + view_sum(&column[3]), 20);
    bytes_fini(&b);
    timeline_free(&t);
}

/* Adds a signal in which both workers compute `ops` operations of 1 ms from at_ms on, and then sum
 * something, if it has_sums. Returns the next id. */
static int add_part(Timeline *t, const char *signal, int at_ms, int ops, bool has_sums, int id) {
    Bytes b = {0};
    bytes_printf(&b, "0.%03d000 1 > c1 - signal enter %s\n", at_ms, signal);
    for (int i = 0; i < ops; i++, id++) {
        const char *op = has_sums && i % 2 ? "all_reduce" : "exp";
        bytes_printf(&b, "0.%03d000 1 > c1 - t%d = %s t90 -> f32[99]\n", at_ms, id, op);
        for (int w = 0; w < 2; w++)
            bytes_printf(&b, "0.%03d000 1 < c1 w%d done t%d us=1000 bytes=4000 op=%s\n",
                         at_ms + i + 1, w, id, op);
    }
    bytes_printf(&b, "0.%03d000 1 > c1 - signal exit %s", at_ms + ops, signal);
    for (char *line = strtok(b.data, "\n"); line; line = strtok(NULL, "\n"))
        CHECK(timeline_add(t, line, strlen(line), NULL));
    bytes_fini(&b);
    return id;
}

static void test_parts(void) {
    for (int is_mixed = 0; is_mixed < 2; is_mixed++) {
        Timeline *t = timeline_new(NULL);
        ViewPart part[VIEW_PARTS];
        Bytes b = {0};
        timeline_add(t, "gti 1 kind=tape", 15, NULL);
        int id = add_part(t, "alone", 100, 20, false, 100);
        id = add_part(t, "together", 120, 40, true, id);
        if (is_mixed) add_part(t, "alone", 160, 20, false, id);
        timeline_settle(t);
        int n = view_parts(t, part);
        view_caption(t, part, n, &b);
        CHECK_STR(b.data,
                  is_mixed ? "pattern: all-reduce among 2 workers, 20 times, 156 KiB"
                           : "pattern of alone: embarrassingly parallel: 2 workers compute at "
                             "the same time and exchange almost nothing\n"
                             "pattern of together: all-reduce among 2 workers, 20 times, 156 KiB");
        bytes_fini(&b);
        timeline_free(&t);
    }
}

static void test_path(void) {
    Timeline *t = read_tape(two);
    Path p = path_find(t);
    /* randn, move, exp, sum; neg on w0 is not on the way */
    CHECK_INT(p.n, 4);
    static const char *const want[] = {"randn", "move", "exp", "sum"};
    for (size_t i = 0; i < 4 && i < p.n; i++)
        CHECK_STR(timeline_text(t, p.step[i].slice->name), want[i]);
    CHECK_INT(p.length_ns, 19 * MS);
    CHECK_INT(p.class_ns[WATCH_TRANSFER], MS);
    CHECK_INT(p.class_ns[WATCH_POINTWISE], 4 * MS);
    CHECK_INT(p.program_ns, 11 * MS);
    CHECK_INT(p.gap_ns, 0);
    Bytes b = {0};
    path_text(t, &p, &b);
    CHECK_STR(b.data, "critical path 19.0 ms: 21% pointwise, 5% reduce, 11% other, 5% transfer, "
                      "58% waiting for the program; most of it: 4.00 ms exp at a.gt:2, "
                      "2.00 ms randn at a.gt:1, 1.00 ms move at a.gt:2");
    bytes_fini(&b);
    path_fini(&p);
    timeline_free(&t);
    t = read_tape("gti 1 kind=tape");
    p = path_find(t);
    CHECK_INT(p.n, 0);
    path_fini(&p);
    timeline_free(&t);
}

static void test_compare(void) {
    Timeline *old = read_tape("gti 1 kind=tape\n"
                              "0.000000 1 > c1 - t0 = exp t9 -> f32[8] @old/a.gt:1\n"
                              "0.010000 2 < c1 w0 done t0 us=10000 bytes=4 op=exp\n");
    Timeline *new_ = read_tape("gti 1 kind=tape\n"
                               "0.000000 1 > c1 - t0 = exp t9 -> f32[8] @new/a.gt:1\n"
                               "0.015000 2 < c1 w0 done t0 us=15000 bytes=4 op=exp\n"
                               "0.016000 3 < c1 w0 done t1 us=1000 bytes=4 op=neg\n");
    Compare c = compare_runs(old, new_);
    Bytes b = {0};
    compare_title(&c, &b);
    CHECK_STR(b.data, "10.0 ms -> 16.0 ms: 60% longer");
    CHECK_INT(c.n, 2);
    b.n = 0;
    compare_row(&c.row[0], &b);
    CHECK_STR(b.data, "+5.00 ms  exp a.gt:1: 10.0 ms -> 15.0 ms, 1 time");
    b.n = 0;
    compare_row(&c.row[1], &b);
    CHECK_STR(b.data, "+1.00 ms  neg: 0 ns -> 1.00 ms, 0 -> 1 times");
    bytes_fini(&b);
    compare_fini(&c);
    timeline_free(&old);
    timeline_free(&new_);
}

/* However long the run, its picture stays small. */
static size_t svg_bytes(int slices) {
    Timeline *t = timeline_new(NULL);
    char line[200];
    timeline_add(t, "gti 1 kind=tape", 15, NULL);
    for (int i = 0; i < slices; i++) {
        int n = snprintf(line, sizeof line, "%.6f %d < c1 w%d done t%d us=%d bytes=4 op=%s",
                         0.0001 * (i + 1), i + 1, i % 3, i, 40 + i % 60,
                         i % 4   ? "matmul"
                         : i % 8 ? "all_reduce"
                                 : "add");
        CHECK(timeline_add(t, line, (size_t)n, NULL));
    }
    timeline_settle(t);
    Path path = path_find(t);
    DrawRun run = {t, "a.tape", &path};
    DrawOptions o = {1280, 12, NULL};
    Bytes out = {0};
    Canvas *c = canvas_svg(o.width, draw_height(&run, 1, &o), NULL);
    draw_runs(c, &run, 1, &o);
    CHECK(canvas_finish(c, &out, NULL));
    size_t n = out.n;
    bytes_fini(&out);
    path_fini(&path);
    timeline_free(&t);
    return n;
}

static void test_size(void) {
    size_t some = svg_bytes(2000), many = svg_bytes(200000);
    CHECK_MSG(some < 400000, "%zu bytes", some);
    CHECK_MSG(many < 400000, "%zu bytes", many);
}

int main(void) {
    test_axis();
    test_words();
    test_clean();
    test_collectives();
    test_pipeline();
    test_view();
    test_parts();
    test_path();
    test_compare();
    test_size();
    return check_report("pictures of runs");
}
