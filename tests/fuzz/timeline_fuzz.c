/* timeline_fuzz.c: arbitrary tapes. The result must be a timeline whose slices, waits and totals
 * agree with each other, or an error with a column; all formats must be written from it, and
 * pictures drawn.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/draw.h"
#include "dispatcher/watch/timeline_sum.h"
#include "dispatcher/watch/trace.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/chrome.h"

static void die(const char *what) {
    fprintf(stderr, "%s\n", what);
    abort();
}

/* By begin, ends behind begins, rows without overlaps. */
static void check_slices(const Slice *s, size_t n, int n_rows) {
    int64_t end[TIMELINE_ROWS];
    for (int i = 0; i < TIMELINE_ROWS; i++) end[i] = INT64_MIN;
    if (n_rows > TIMELINE_ROWS) die("too many rows");
    for (size_t i = 0; i < n; i++) {
        if (s[i].end_ns < s[i].begin_ns) die("a slice ends before it begins");
        if (i && s[i].begin_ns < s[i - 1].begin_ns) die("slices out of order");
        if (s[i].row >= n_rows || s[i].begin_ns < end[s[i].row]) die("slices of a row overlap");
        end[s[i].row] = s[i].end_ns;
    }
}

static void check_worker(const WorkerLane *w) {
    int64_t sum = w->sum.busy_ns + w->sum.gap_ns;
    check_slices(w->slice, w->n_slices, w->slice_rows);
    check_slices(w->transfer, w->n_transfers, w->transfer_rows);
    for (size_t i = 0; i < w->n_idle; i++) {
        if (w->idle[i].end_ns <= w->idle[i].begin_ns) die("an empty wait");
        if (i && w->idle[i].begin_ns < w->idle[i - 1].end_ns) die("waits overlap");
    }
    for (size_t i = 1; i < w->n_bands; i++)
        if (w->band[i].begin_ns < w->band[i - 1].end_ns) die("bands of a worker overlap");
    for (int i = 0; i < IDLE_WHYS; i++) sum += w->sum.idle_ns[i];
    if (sum != w->sum.there_ns) die("the parts of a worker's time are not the whole");
}

/* A picture and a text, with the critical path, beside the run itself. */
static void draw(const Timeline *t) {
    Path path = path_find(t);
    if (path.length_ns < 0 || path.program_ns < 0 || path.gap_ns < 0) die("an impossible path");
    Compare same = compare_runs(t, t);
    for (size_t i = 0; i < same.n; i++)
        if (same.row[i].old_ns != same.row[i].new_ns) die("a run differs from itself");
    DrawRun run[2] = {{t, "fuzz", &path}, {t, "fuzz", NULL}};
    DrawOptions o = {640, 5, &same};
    Bytes svg = {0}, text = {0};
    Canvas *c = canvas_svg(o.width, draw_height(run, 2, &o), NULL);
    draw_runs(c, run, 2, &o);
    canvas_finish(c, &svg, NULL);
    draw_text(run, 2, &o, 90, false, true, &text);
    if (strstr(svg.data, "=\"nan") || strstr(svg.data, "=\"-")) die("a number that is none");
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.data[i] < ' ' && text.data[i] != '\n') die("a control character");
    bytes_fini(&svg);
    bytes_fini(&text);
    compare_fini(&same);
    path_fini(&path);
}

static void check(Timeline *t) {
    timeline_settle(t);
    for (int i = 0; i < t->n_workers; i++) check_worker(&t->worker[i]);
    Win win = timeline_win(t);
    if (win.gain_ns < 0 || win.gain_ns > t->end_ns - t->begin_ns) die("an impossible win");
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    trace_chrome(t, f);
    fflush(f);
    if (chrome_overlaps(text)) die("slices of a lane overlap for Chrome");
    trace_csv(t, f);
    trace_summary(t, "fuzz", f);
    draw(t);
    fclose(f);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *s = (const char *)data, *end = s + n;
    TimelineOptions o = {.records_max = 20000};
    if (n % 4 == 1) o.has_from = o.has_to = true, o.from_ns = 1500000, o.to_ns = 3000000;
    if (n % 4 == 2) o.signal = "b";
    if (n % 4 == 3) o.client = 1;
    Timeline *t = timeline_new(&o);
    while (s < end) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) stop = end;
        Err err = {0};
        if (!timeline_add(t, s, (size_t)(stop - s), &err) && strncmp(err.text, "column ", 7) != 0)
            die("an error without a column");
        s = stop + 1;
    }
    check(t);
    timeline_free(&t);
    return 0;
}

static void seed_done(Rand *r, Bytes *out, int at_us) {
    static const char *const ops[] = {"matmul", "add", "sum", "move", "all_reduce", "later"};
    bytes_printf(out, "0.%06d 1 < c1 w%d done t%d us=%d bytes=%d op=%s", at_us, rand_below(r, 3),
                 rand_below(r, 9), rand_below(r, 400), rand_below(r, 99), ops[rand_below(r, 6)]);
    if (rand_below(r, 3) == 0)
        bytes_printf(out, " from=w1,w%d moved=%d", rand_below(r, 3), rand_below(r, 99));
    bytes_putc(out, '\n');
}

static void seed_line(Rand *r, Bytes *out, int at_us) {
    static const char *const why[] = {"starved", "blocked on=w1", "comm", "compile op=add", "new"};
    static const char *const rest[] = {
        "> c1 - signal enter a backward=b @a.gt:1",
        "> c1 - signal enter b",
        "> c1 - signal exit b",
        "> c1 - print \"a\" t1 @a.gt:8",
        "= c1 w0 print \"a\" t1",
        "< c1 w0 done - us=10 bytes=4 op=print",
        "! c1 w0 error print \"no\"",
        "> c2 - note \"a \\x41 b\" @\"b c.gt\":7",
        "= c1 w1 t9223372036854775808 = move t1 shape=[3] dtype=f32 on=2 from=1 # for add",
        "= c1 g3 hot begin 3 from=0 count=40 of=20",
        "! c1 w0 error add \"out of memory\" @a.gt:4",
        "+ - w1 worker \"cpu\" threads=2 memory=77",
        "- - w1 worker left",
        "+ c1 - client \"a\"",
        "+ - g3 group w0 w1 w2",
        "< - w0 memory bytes=1 limit=2",
        "< - w1 compile us=100 ops=5 key=ab",
        "- c1 - client left",
    };
    int i = rand_below(r, 4);
    if (i == 0) {
        seed_done(r, out, at_us);
    } else if (i == 1) {
        bytes_printf(out, "0.%06d 1 < - w%d idle us=%d why=%s\n", at_us, rand_below(r, 3),
                     rand_below(r, 400), why[rand_below(r, 5)]);
    } else if (i == 2) {
        const char *to = rand_below(r, 2) ? "> c1 -" : "= c1 w1";
        bytes_printf(out, "0.%06d 1 %s t%d = add t%d t%d on=2 -> f32[3] @a.gt:%d\n", at_us, to,
                     rand_below(r, 9), rand_below(r, 9), rand_below(r, 9), rand_below(r, 9));
    } else {
        bytes_printf(out, "0.%06d 1 %s\n", at_us, rest[rand_below(r, 18)]);
    }
}

static void fuzz_seed(Rand *r, Bytes *out) {
    int at = 1000;
    bytes_puts(out, "gti 1 kind=tape\n");
    for (int n = rand_below(r, 60); n > 0; n--) seed_line(r, out, at += rand_below(r, 200));
}
