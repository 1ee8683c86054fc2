/* top_test.c: gt-top without a terminal and without a dispatcher: records, rates from snapshots,
 * pages of several widths, keys, JSON. top_pty_test.c shows it on a terminal.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "dispatcher/watch/top_json.h"
#include "dispatcher/watch/top_keys.h"
#include "dispatcher/watch/top_table.h"
#include "random.h"
#include "runtime/base/utf8.h"
#include <math.h>

/* ---- Records ---- */

static void records(void) {
    TopModel m = {0};
    const char *line = "  worker rank=0 host=\"a \\\"b\\\" \\x1b\\n\" bare = =x  engine=\"torn";
    top_model_take(&m, line, strlen(line), 0);
    CHECK_INT(m.rows[TOP_WORKER].n, 1);
    const TopRow *row = top_model_find(&m, TOP_WORKER, 0);
    CHECK(row);
    CHECK_INT(row->number[TOP_RANK], 0);
    CHECK_STR(row->word[TOP_HOST], "a \"b\" \x1b\n");
    CHECK_STR(row->word[TOP_ENGINE], "torn");
    top_model_take(&m, "   ", 3, 0);
    CHECK_INT(m.rows[TOP_WORKER].n, 0);
    /* Long values are cut, and any bytes end. */
    char junk[3000] = "worker engine=";
    size_t head = strlen(junk);
    memset(junk + head, 'k', sizeof junk - head);
    top_model_take(&m, junk, sizeof junk, 0);
    CHECK_INT(strlen(m.rows[TOP_WORKER].row[0].word[TOP_ENGINE]), TOP_TEXT - 1);
    Rand random = {7};
    for (int round = 0; round < 2000; round++) {
        size_t n = head + (size_t)rand_below(&random, 200);
        for (size_t i = round % 2 ? head : 0; i < n; i++)
            junk[i] = rand_below(&random, 3) ? " =\"\\x1a\n"[rand_below(&random, 8)]
                                             : (char)rand_below(&random, 256);
        if (round % 2) memcpy(junk, "worker engine=", head);
        top_model_take(&m, junk, n, 0);
    }
    top_model_fini(&m);
}

/* ---- Rates ---- */

static void take(TopModel *m, const char *format, ...) {
    char text[8192];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    top_model_take(m, text, strlen(text), 0);
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(1, fabs(b)); }

/* A constant rate is exact; after a change, the mean over 2 s is smoothed with weight 0.15. */
static void rates(void) {
    TopModel m = {0};
    double count = 0, mean[40] = {0}, want = 0, total[40];
    for (int i = 0; i < 40; i++) {
        total[i] = count;
        take(&m, "dispatcher now_us=%d insts=%.0f\n", 1000000 + 250000 * i, count);
        const TopRow *d = &m.dispatcher;
        int from = i > 8 ? i - 8 : 0;
        if (i) mean[i] = (total[i] - total[from]) / (0.25 * (i - from));
        want = i < 2 ? mean[i] : want + 0.15 * (mean[i] - want);
        CHECK_MSG(near(d->rate[TOP_INSTS], want), "%d: %.9g, not %.9g", i, d->rate[TOP_INSTS],
                  want);
        if (i > 0 && i < 20) CHECK(near(d->rate[TOP_INSTS], 1000));
        count += i < 19 ? 250 : 0;
    }
    CHECK(m.dispatcher.rate[TOP_INSTS] < 400 && m.dispatcher.rate[TOP_INSTS] > 1);
    /* A pause of 4 s counts as 16 steps. */
    double before = m.dispatcher.rate[TOP_INSTS];
    take(&m, "dispatcher now_us=%d insts=%.0f\n", 1000000 + 250000 * 55, count);
    CHECK(near(m.dispatcher.rate[TOP_INSTS], before * pow(0.85, 16)));
    /* The same time again changes nothing; a counter that falls begins anew. */
    take(&m, "dispatcher now_us=%d insts=%.0f\n", 1000000 + 250000 * 55, count + 1000);
    CHECK(near(m.dispatcher.rate[TOP_INSTS], before * pow(0.85, 16)));
    take(&m, "dispatcher now_us=20000000 insts=5\n");
    CHECK(m.dispatcher.rate[TOP_INSTS] == 0);
    take(&m, "dispatcher now_us=21000000 insts=15\n");
    CHECK(near(m.dispatcher.rate[TOP_INSTS], 10));
    top_model_fini(&m);
}

/* A worker whose device computes is idle because of that. */
static void device_computes(void) {
    TopModel m = {0};
    double fraction;
    for (int i = 0; i < 9; i++)
        take(&m,
             "dispatcher now_us=%d workers=1 clients=0\n"
             "worker rank=0 idle_us.starved=%d idle_us.device=%d\n",
             1000000 + i * 250000, i * 2500, i * 225000);
    CHECK_INT(top_row_idle(top_model_find(&m, TOP_WORKER, 0), &fraction), IDLE_DEVICE);
    CHECK(near(fraction, 0.9));
    CHECK_STR(idle_why_name[IDLE_DEVICE], "device");
    top_model_fini(&m);
}

static const char *worker_text =
    "dispatcher now_us=%d workers=2 clients=1\n"
    "worker rank=0 pid=%d busy_us.matmul=%d busy_us.pointwise=%d idle_us.starved=%d "
    "idle_us.blocked=%d blocked_on=1 insts=%d signal=\"layer\"\n"
    "worker rank=1 busy_us.matmul=%d busy_us.reduce=%d\n"
    "client id=1 insts=%d\n";

static void fractions(void) {
    TopModel m = {0};
    for (int i = 0; i < 9; i++)
        take(&m, worker_text, 1000000 + i * 250000, 7, i * 100000, i * 25000, i * 25000, i * 50000,
             i * 500, i * 250000, i * 250000, i * 10);
    const TopRow *w0 = top_model_find(&m, TOP_WORKER, 0), *w1 = top_model_find(&m, TOP_WORKER, 1);
    double part[WATCH_CLASS_COUNT], fraction;
    CHECK(w0 && w1);
    CHECK(near(top_row_busy(w0, part), 0.5));
    CHECK(near(part[WATCH_MATMUL], 0.4) && near(part[WATCH_POINTWISE], 0.1));
    CHECK_INT(top_row_idle(w0, &fraction), IDLE_BLOCKED);
    CHECK(near(fraction, 0.2));
    CHECK(near(w0->rate[TOP_INSTS], 2000));
    CHECK(near(top_row_busy(w1, part), 1)); /* two threads: scaled to 1 */
    CHECK(near(part[WATCH_MATMUL], 0.5) && near(part[WATCH_REDUCE], 0.5));
    CHECK_INT(top_row_idle(w1, &fraction), IDLE_WHYS);
    CHECK(!top_row_has(w1, TOP_INSTS));
    CHECK_INT(w1->number[TOP_PID], TOP_UNKNOWN);
    /* A signal has its part of the time of both workers. */
    CHECK_INT(m.rows[TOP_SIGNAL].n, 1);
    const TopRow *s = &m.rows[TOP_SIGNAL].row[0];
    CHECK_STR(s->word[TOP_NAME], "layer");
    CHECK_INT(s->number[TOP_WORKERS], 1);
    CHECK(near(top_row_busy(s, part), 0.25));
    CHECK(near(s->rate[TOP_INSTS], 2000));
    /* Another process with the same rank; rows that are missing leave; no worker is in the signal.
     */
    take(&m, "dispatcher now_us=4000000\nworker rank=0 pid=8 busy_us.matmul=9000000\n");
    CHECK(top_row_busy(top_model_find(&m, TOP_WORKER, 0), NULL) == 0);
    CHECK_INT(m.rows[TOP_WORKER].n, 1);
    CHECK_INT(m.rows[TOP_CLIENT].n, 0);
    CHECK_INT(m.rows[TOP_SIGNAL].row[0].number[TOP_WORKERS], 0);
    take(&m, "dispatcher now_us=%d\n", 4000000 + TOP_FORGET_US);
    CHECK_INT(m.rows[TOP_SIGNAL].n, 0);
    top_model_fini(&m);
}

/* A worker counts by its own clock: the same counts later are no news. */
static void clocks(void) {
    TopModel m = {0};
    for (int i = 0; i < 8; i++)
        take(&m, "dispatcher now_us=%d\nworker rank=0 clock_us=%d busy_us.other=%d\n",
             1 + i * 250000, 9000000 + i / 2 * 500000, i / 2 * 400000);
    CHECK(near(top_row_busy(top_model_find(&m, TOP_WORKER, 0), NULL), 0.8));
    top_model_fini(&m);
}

/* Counters that appear with a large value are not a rate. */
static void late(void) {
    TopModel m = {0};
    take(&m, "dispatcher now_us=1000000\nworker rank=0\n");
    take(&m, "dispatcher now_us=1250000\nworker rank=0 insts=1000000\n");
    CHECK(top_model_find(&m, TOP_WORKER, 0)->rate[TOP_INSTS] == 0);
    take(&m, "dispatcher now_us=1500000\nworker rank=0 insts=1000100\n");
    CHECK(near(top_model_find(&m, TOP_WORKER, 0)->rate[TOP_INSTS], 400));
    top_model_fini(&m);
}

static void hostile(void) {
    TopModel m = {0};
    take(
        &m,
        "worker\nworker rank=0 busy_us.matmul=-1 insts=1e300 memory=x threads=9999999999999999999\n"
        "worker rank=0 threads=5\nzebra rank=1\nclient id=-3 name=\n=\n\n\"");
    CHECK_INT(m.rows[TOP_WORKER].n,
              1); /* the first has no rank: it is row 0; the others are the same */
    CHECK_INT(m.rows[TOP_CLIENT].n, 1);
    Bytes text = {0};
    for (int i = 0; i < TOP_ROWS + 100; i++) bytes_printf(&text, "client id=%d insts=nan\n", i);
    for (int i = 0; i < 2; i++) top_model_take(&m, text.data, text.n, 1);
    CHECK_INT(m.rows[TOP_CLIENT].n, TOP_ROWS);
    Rand random = {3};
    for (int round = 0; round < 300; round++) {
        for (int k = 0; k < 20; k++)
            text.data[(size_t)rand_below(&random, (int)text.n)] = (char)rand_below(&random, 256);
        top_model_take(&m, text.data, (size_t)rand_below(&random, 3000), round);
    }
    bytes_fini(&text);
    top_model_fini(&m);
}

/* ---- Pages ---- */

/* A run with known rates: w0 80 % busy, w1 waits for w0. */
static TopModel sample_run(void) {
    TopModel m = {0};
    for (int i = 0; i < 9; i++)
        take(
            &m,
            "dispatcher endpoint=\"ipc:///run/user/1000/gt/dispatcher\" now_us=%d up_us=7980000000 "
            "workers=2 clients=2 insts=%d queue=312 frame_bytes=%d sent_bytes=0\n"
            "worker rank=0 engine=\"cpu\" memory=44023414784 limit=85899345920 queue=12 insts=%d "
            "signal=\"forward_layer1\" busy_us.matmul=%d busy_us.pointwise=%d busy_us.reduce=%d "
            "idle_us.comm=%d moved_bytes=%d\n"
            "worker rank=1 engine=\"cpu\" memory=1073741824 limit=85899345920 queue=0 insts=%d "
            "signal=\"stage_2\" busy_us.matmul=%d idle_us.blocked=%d blocked_on=0\n"
            "client id=1 name=\"train.gt\" user=\"ana\" home=0 insts=%d pending=240 tensors=1204 "
            "bytes=9878424780 lag_us=18000 file=\"/home/ana/train.gt\" line=41 signal=\"block3\"\n"
            "client id=2 name=\"ev\\x1b[31m\" user=\"b\\x07\" home=1 insts=%d pending=2\n"
            "op name=\"matmul\" count=%d us=%d\nop name=\"sum\" count=%d us=%d\n",
            1000000 + i * 250000, i * 4600, i * 300000, i * 1225, i * 125000, i * 50000, i * 25000,
            i * 27500, i * 1000000, i * 275, i * 85000, i * 145000, i * 3025, i * 10, i * 100,
            i * 200000, i * 10, i * 1000);
    return m;
}

static void draw(const TopModel *m, TopView *v, int width, int height, bool is_utf8, Bytes *out) {
    TopGrid g;
    top_grid_init(&g, width, height ? height : top_view_height(m, v), is_utf8);
    top_view_draw(m, v, &g);
    out->n = 0;
    top_grid_text(&g, out);
    top_grid_fini(&g);
}

static void pages(void) {
    TopModel m = sample_run();
    TopView v;
    Bytes out = {0};
    top_view_init(&v);
    draw(&m, &v, 80, 0, true, &out);
    CHECK_STR(out.data,
              "gt-top  …user/1000/gt/dispatcher  2 workers  2 clients  18.4k instr/s  queue 312\n"
              "  WORKER  BUSY              WHY IDLE               MEM  QUEUE  OPS/s  SIGNAL\n"
              "  w0 cpu  ██████▓▓▒··  80%  comm 11%         41/80 GiB     12   4.9k  forward_l…\n"
              "  w1 cpu  ████·······  34%  blocked w0 58%  1.0/80 GiB      0   1.1k  stage_2\n"
              "  █ matmul  ▓ pointwise  ▒ reduce  ░ other  ▚ transfer  · idle\n"
              "\n"
              "  CLIENT  NAME      INSTR/s  PENDING       MEM     LAG  NOW\n"
              "  c1      train.gt    12.1k      240   9.2 GiB   18 ms  train.gt:41 block3\n"
              "  c2      ev?[31m        40        2\n");
    v.kind = TOP_OP;
    draw(&m, &v, 60, 0, false, &out);
    CHECK_STR(out.data, "gt-top  ~/gt/dispatcher  2 workers  2 clients  18.4k instr/s\n"
                        "  OP        TIME                OPS/s    MEAN  COUNT   TOTAL\n"
                        "  matmul    MMMMM........  40%    400  2.0 ms    800   1.6 s\n"
                        "  sum       .............   0%     40  100 us     80  8.0 ms\n"
                        "  M matmul  p pointwise  r reduce  o other  t transfer\n");
    v.kind = TOP_SIGNAL;
    draw(&m, &v, 70, 0, true, &out);
    CHECK_STR(out.data, "gt-top  …gt/dispatcher  2 workers  2 clients  18.4k instr/s  queue 312\n"
                        "  SIGNAL          BUSY                  WHY IDLE        WORKERS  OPS/s\n"
                        "  forward_layer1  ████▓▒·········  40%  comm 6%               1   4.9k\n"
                        "  stage_2         ███············  17%  blocked 29%           1   1.1k\n"
                        "  █ matmul  ▓ pointwise  ▒ reduce  ░ other  ▚ transfer  · idle\n");
    v.kind = TOP_WORKER;
    draw(&m, &v, 150, 0, true, &out); /* all columns that the snapshots fill */
    for (const char **word =
             (const char *[]){"up 2h13m", "wire 1.1 MiB/s", "MOVED/s", "forward_layer1", "TENSORS",
                              "1,204", "USER", "ana", "b?", NULL};
         *word; word++)
        CHECK_MSG(strstr(out.data, *word) != NULL, "no '%s' in\n%s", *word, out.data);
    /* Without anything known. */
    TopModel empty = {0};
    v.kind = TOP_WORKER;
    draw(&empty, &v, 80, 0, true, &out);
    CHECK(strstr(out.data, "waiting for the dispatcher"));
    bytes_fini(&out);
    top_model_fini(&m);
}

/* No page exceeds its grid, whatever its size, and none has a control character. */
static void sizes(void) {
    TopModel m = sample_run();
    Bytes out = {0};
    Rand random = {5};
    for (int round = 0; round < 400; round++) {
        TopView v;
        int width = 1 + rand_below(&random, 200), height = 1 + rand_below(&random, 30);
        top_view_init(&v);
        v.is_screen = rand_below(&random, 2);
        for (int k = 0; k < 6; k++)
            top_view_key(&m, &v, "wcsoh<>rp/k\r\x1bx"[rand_below(&random, 14)]);
        draw(&m, &v, width, v.is_screen ? height : 0, rand_below(&random, 2), &out);
        int column = 0, lines = 0;
        for (size_t i = 0; i < out.n;) {
            uint32_t cp = 0;
            int len = utf8_decode(out.data + i, out.n - i, &cp);
            CHECK(len && (cp >= ' ' || cp == '\n') && cp != 0x7f);
            column = cp == '\n' ? 0 : column + utf8_width(cp);
            lines += cp == '\n';
            CHECK(column <= width);
            i += (size_t)(len ? len : 1);
        }
        if (v.is_screen) CHECK_INT(lines, height);
        top_view_fini(&v);
    }
    bytes_fini(&out);
    top_model_fini(&m);
}

static void cells(void) {
    TopGrid g;
    Bytes out = {0};
    top_grid_init(&g, 12, 3, true);
    CHECK_INT(top_put(&g, 0, 0, 5, STYLE_PLAIN, "日本語"), 5); /* wide: cut at a whole one */
    CHECK_INT(top_put(&g, 1, 2, 20, STYLE_PLAIN, "a\xff\u202eb\u0301\t\x9b"), 7);
    top_put_right(&g, 2, 0, 12, STYLE_PLAIN, "éé");
    top_put(&g, 7, 0, 5, STYLE_PLAIN, "outside");
    top_grid_text(&g, &out);
    CHECK_STR(out.data, "日本…\n  a??b???\n          éé\n");
    top_grid_fini(&g);
    /* Bars round, and their parts add up. */
    const double part[WATCH_CLASS_COUNT] = {0.26, 0.26, 0, 0.26, 0.22};
    top_grid_init(&g, 10, 1, false);
    top_put_bar(&g, 0, 0, 10, part);
    out.n = 0;
    top_grid_text(&g, &out);
    CHECK_STR(out.data, "MMMppooott\n");
    top_grid_fini(&g);
    bytes_fini(&out);
}

static void numbers(void) {
    char b[TOP_NUMBER];
    CHECK_STR(top_count_text(0, b), "0");
    CHECK_STR(top_count_text(0.34, b), "0.3");
    CHECK_STR(top_count_text(950, b), "950");
    CHECK_STR(top_count_text(18432, b), "18.4k");
    CHECK_STR(top_count_text(999999, b), "1.0M");
    CHECK_STR(top_bytes_text(812, b), "812 B");
    CHECK_STR(top_bytes_text(1.1 * (1 << 30), b), "1.1 GiB");
    CHECK_STR(top_bytes_text(1023.9 * (1 << 20), b), "1.0 GiB");
    CHECK_STR(top_part_text(0.5 * (1 << 30), 7.5 * (1 << 30), b), "0.5/7.5 GiB");
    CHECK_STR(top_part_text(77 << 20, 4.5 * (1 << 30), b), "77/4608 MiB");
    CHECK_STR(top_part_text(0, 16.0 * (1 << 20), b), "0/16 MiB");
    CHECK_STR(top_time_text(180, b), "180 us");
    CHECK_STR(top_time_text(4200, b), "4.2 ms");
    CHECK_STR(top_time_text(18000, b), "18 ms");
    CHECK_STR(top_time_text(4.2e6, b), "4.2 s");
    CHECK_STR(top_time_text(7980e6, b), "2h13m");
    CHECK_STR(top_time_text(1e30, b), "11574d01h");
    CHECK_STR(top_exact_text(1204, b), "1,204");
    CHECK_STR(top_exact_text(-1234567, b), "-1,234,567");
    CHECK_STR(top_exact_text(999, b), "999");
}

/* ---- Keys ---- */

static void type(const TopModel *m, TopView *v, const char *keys) {
    for (; *keys; keys++) top_view_key(m, v, *keys);
}

static const char *first_line(const Bytes *out, const char *prefix) {
    static char line[300];
    const char *at = strstr(out->data, prefix);
    snprintf(line, sizeof line, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    return line;
}

static void keys(void) {
    TopModel m = sample_run();
    TopView v;
    Bytes out = {0};
    top_view_init(&v);
    v.is_screen = true;
    draw(&m, &v, 80, 24, true, &out);
    CHECK(strstr(out.data, "\n> w0 cpu"));
    CHECK(strstr(out.data, "\nw workers  c clients  s signals  o ops  h help  q quit"));
    /* The selection stays with its row when the order changes. */
    top_view_key(&m, &v, TOP_KEY_DOWN);
    type(&m, &v, ">");
    draw(&m, &v, 80, 24, true, &out);
    CHECK(strstr(out.data, "sorted by BUSY"));
    CHECK(strstr(out.data, "\n> w1 cpu") > strstr(out.data, "\n  w0 cpu"));
    type(&m, &v, "r");
    draw(&m, &v, 80, 24, true, &out);
    CHECK(strstr(out.data, "\n> w1 cpu") < strstr(out.data, "\n  w0 cpu"));
    type(&m, &v, "<<");
    CHECK_STR(top_column_title(TOP_WORKER, v.sort[TOP_WORKER]), "HOST");
    /* A filter, typed, corrected, and taken back. */
    type(&m, &v, "c/traim");
    top_view_key(&m, &v, TOP_KEY_BACKSPACE);
    draw(&m, &v, 80, 24, true, &out);
    CHECK(strstr(out.data, "show rows with: trai_"));
    type(&m, &v, "N\r");
    draw(&m, &v, 80, 24, true, &out);
    CHECK(strstr(out.data, "\n> c1") && !strstr(out.data, "c2 "));
    CHECK(strstr(out.data, "\nfilter: traiN"));
    type(&m, &v, "\x1b");
    draw(&m, &v, 80, 24, true, &out);
    CHECK(strstr(out.data, "\n  c2"));
    /* Cancelling asks, and only y confirms. */
    type(&m, &v, "k");
    draw(&m, &v, 80, 24, true, &out);
    CHECK(strstr(out.data, "drop all that c1 train.gt has queued? y or n"));
    CHECK_INT(top_view_key(&m, &v, 'n'), TOP_NOTHING);
    top_view_key(&m, &v, TOP_KEY_DOWN);
    type(&m, &v, "k");
    CHECK_INT(top_view_key(&m, &v, 'y'), TOP_CANCEL);
    CHECK_INT(v.cancel_id, 2);
    take(&m, "dispatcher now_us=3250000\nclient id=1 pending=3\nclient id=2 pending=0\n");
    type(&m, &v, "k");
    CHECK_INT(top_view_key(&m, &v, 'y'), TOP_NOTHING);
    CHECK_STR(v.message, "c2 has nothing queued");
    type(&m, &v, "k");
    take(&m, "dispatcher now_us=3500000\nclient id=1 pending=3\n");
    CHECK_INT(top_view_key(&m, &v, 'y'), TOP_NOTHING);
    CHECK_STR(v.message, "c2 has left");
    type(&m, &v, "k");
    CHECK_INT(top_view_key(&m, &v, 'y'), TOP_CANCEL);
    type(&m, &v, "wk");
    CHECK_INT(v.ask, ASK_NOTHING);
    CHECK_INT(top_view_key(&m, &v, 't'), TOP_SAVE);
    type(&m, &v, "p");
    CHECK(v.is_paused);
    CHECK_INT(top_view_key(&m, &v, 'q'), TOP_QUIT);
    bytes_fini(&out);
    top_view_fini(&v);
    top_model_fini(&m);
}

static const char tape[] = "0.1 1 > c1 -  t2 = matmul t0 t1 -> f32[2] @hello.gt:3\n"
                           "0.2 2 = c1 w0 t2 = matmul t0 t1\n"
                           "0.3 3 < c1 w0 done t2 us=812 bytes=4000 op=matmul\n"
                           "0.4 4 < - w0 idle us=350 why=blocked on=w1\n"
                           "junk\n"
                           "0.5 5 < c1 w0 done t9 us=0.5 op=add\n"
                           "0.6 6 > c1 -  signal enter layer\n"
                           "0.7 7 > c12 -  t2 = add t0 \x1b[2J\n"
                           "0.8 8 > c1 -  signal exit layer\n"
                           "0.9 9 ! c1 w0 error add \"out of memory\"\n"
                           "1.0 10 < c12 w1 done t2 us=3100 op=add";

static const char *past_of(TopPast *p, TopKind kind, const char *name) {
    top_past_begin(p, kind, name);
    top_past_take(p, tape, sizeof tape - 1);
    return p->lines.n ? p->lines.data : "";
}

static void past(void) {
    TopPast p = {0};
    CHECK_STR(past_of(&p, TOP_WORKER, "w0"),
              "0.3    812 us  t2 = matmul t0 t1 -> f32[2] @hello.gt:3\n"
              "0.4            idle us=350 why=blocked on=w1\n"
              "0.5    0.5 us  t9 add\n"
              "0.9    failed  error add \"out of memory\"\n");
    CHECK_STR(past_of(&p, TOP_CLIENT, "c1"),
              "0.1            t2 = matmul t0 t1 -> f32[2] @hello.gt:3\n"
              "0.6            signal enter layer\n"
              "0.8            signal exit layer\n"
              "0.9    failed  error add \"out of memory\"\n");
    CHECK_STR(past_of(&p, TOP_OP, "add"), "0.5    0.5 us  t9 add\n"
                                          "1.0    3.1 ms  t2 = add t0 \x1b[2J\n");
    CHECK_STR(past_of(&p, TOP_SIGNAL, "layer"), "0.6            signal enter layer\n"
                                                "0.7            t2 = add t0 \x1b[2J\n"
                                                "0.8            signal exit layer\n");
    CHECK_STR(past_of(&p, TOP_SIGNAL, "lay"), "");
    top_past_fini(&p);
}

static void past_page(void) {
    TopModel m = sample_run();
    TopView v;
    Bytes out = {0};
    top_view_init(&v);
    v.is_screen = true;
    CHECK_INT(top_view_key(&m, &v, '\r'), TOP_PAST); /* before anything is drawn */
    top_past_take(&v.past, tape, sizeof tape - 1);
    draw(&m, &v, 80, 24, true, &out);
    CHECK_STR(first_line(&out, "The last"), "The last instructions of w0");
    CHECK_STR(first_line(&out, "0.3"), "0.3    812 us  t2 = matmul t0 t1 -> f32[2] @hello.gt:3");
    type(&m, &v, "xc\r");
    CHECK_INT(v.past.lines.n, 0);
    /* Of many lines the last remain, and the page shows the end of them. */
    char line[64];
    for (int i = 0; i < 20000; i++) {
        int n = snprintf(line, sizeof line, "1.0 %d > c1 -  t%d = neg t0\n", i, i);
        top_past_take(&v.past, line, (size_t)n);
    }
    CHECK(v.past.lines.n <= TOP_PAST_BYTES && v.past.lines.n >= TOP_PAST_BYTES / 4 &&
          !strncmp(v.past.lines.data, "1.0 ", 4));
    draw(&m, &v, 80, 10, true, &out);
    CHECK(strstr(out.data, "t19999 = neg t0"));
    top_view_key(&m, &v, TOP_KEY_UP);
    draw(&m, &v, 80, 10, true, &out);
    CHECK(!strstr(out.data, "t19999 = neg t0") && strstr(out.data, "t19998 = neg t0"));
    type(&m, &v, "xs\r");
    CHECK_STR(v.past.name, "forward_layer1");
    bytes_fini(&out);
    top_view_fini(&v);
    top_model_fini(&m);
}

static void json(void) {
    TopModel m = {0};
    Bytes out = {0};
    for (int i = 0; i < 3; i++)
        take(&m,
             "dispatcher endpoint=\"e\" now_us=%d insts=%d\n"
             "worker rank=0 busy_us.matmul=%d idle_us.comm=%d\n"
             "client id=1 name=\"a\\\"\\\\\\x01\xff\u00e9\" insts=0\n"
             "op name=\"add\" count=%d\n",
             1000000 + i * 500000, i * 10, i * 250000, i * 125000, i);
    top_json(&m, &out);
    CHECK_STR(out.data,
              "{\"now_us\":2000000,\"dropped\":0,\"dispatcher\":{\"endpoint\":\"e\",\"insts\":20,"
              "\"insts_per_s\":20.000},\"workers\":[{\"rank\":0,\"busy\":{\"matmul\":0.5000},"
              "\"idle\":{\"comm\":0.2500}}],\"clients\":[{\"id\":1,"
              "\"name\":\"a\\u0022\\u005c\\u0001\\ufffdé\",\"insts\":0,\"insts_per_s\":0.000}],"
              "\"signals\":[],\"ops\":[{\"name\":\"add\",\"count\":2,\"count_per_s\":2.000}]}\n");
    bytes_fini(&out);
    /* Parts of the time are at most 1, whatever was counted meanwhile. */
    for (int i = 0; i < 2; i++)
        take(&m,
             "dispatcher now_us=%d\n"
             "worker rank=1 busy_us.matmul=%d busy_us.other=%d idle_us.comm=%d\n",
             3000000 + i * 500000, i * 1500000, i * 500000, i * 600000);
    top_json(&m, &out);
    CHECK(strstr(out.data,
                 "\"busy\":{\"matmul\":0.7500,\"other\":0.2500},\"idle\":{\"comm\":1.0000}"));
    bytes_fini(&out);
    top_model_fini(&m);
}

int main(void) {
    records();
    rates();
    fractions();
    device_computes();
    clocks();
    late();
    hostile();
    pages();
    sizes();
    cells();
    numbers();
    keys();
    past();
    past_page();
    json();
    return check_report("top");
}
