/* main_trace.c: gt-trace, which records what a running dispatcher does, or takes a tape, and writes
 * it as a tape, for Perfetto, or as CSV, and a summary.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/monitor.h"
#include "dispatcher/watch/span.h"
#include "dispatcher/watch/trace.h"
#include "runtime/base/clock.h"
#include "runtime/base/flags.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef enum Format { FORMAT_NONE, FORMAT_TAPE, FORMAT_CHROME, FORMAT_CSV } Format;
enum { EXIT_TAPE = 65, EXIT_FILE = 66, EXIT_GONE = 69 };

typedef struct App {
    const char *where, *seconds, *client, *from, *to, *out, *format;
    int events;
    FlagArgs files;
    TimelineOptions options;
    Format as;
    FILE *f; /* NULL: no output but the summary */
    double live_s;
    uint64_t dropped;
} App;

static App app;

static const Flag flags[] = {
    {0, NULL, "[TAPE]", "", FLAG_ARGS, &app.files, 0, 1},
    {'d', "dispatcher", "WHERE", "record a running dispatcher: HOST:PORT, ipc:///PATH, @FILE",
     FLAG_TEXT, &app.where},
    {'s', "seconds", "SEC", "... for so long (5); -SEC: what happened before", FLAG_TEXT,
     &app.seconds},
    {'n', "events", "N", "stop after N lines", FLAG_INT, &app.events, 1, INT32_MAX},
    {'c', "client", "NAME", "this client alone, such as c1", FLAG_TEXT, &app.client},
    {0, "signal", "NAME", "what was asked for under this signal alone", FLAG_TEXT,
     &app.options.signal},
    {0, "from", "SEC", "from this time of the tape on", FLAG_TEXT, &app.from},
    {0, "to", "SEC", "... to this time", FLAG_TEXT, &app.to},
    {'o', "out", "FILE", "write to FILE (-: standard output)", FLAG_TEXT, &app.out},
    {0, "format", "NAME", "tape, chrome (JSON for Perfetto) or csv (by FILE's name, or tape)",
     FLAG_TEXT, &app.format},
    FLAGS_COMMON};

static volatile sig_atomic_t is_stopped;
static void on_signal(int number) {
    (void)number;
    is_stopped = 1;
}

/* ---- Options ---- */

static bool seconds_of(const char *what, const char *s, double least, double *out, Err *err) {
    char *end;
    double v = strtod(s, &end);
    if (end == s || *end || !isfinite(v) || v < least || v > 1e9)
        return err_set(err, ERR_ARG, "%s needs a number of seconds, not '%.60s'", what, s);
    *out = v;
    return true;
}

static bool choose_times(App *a, Err *err) {
    TimelineOptions *o = &a->options;
    o->has_from = a->from, o->has_to = a->to;
    if (a->from) TRY(span_read("--from", a->from, &o->from_ns, err));
    if (a->to) TRY(span_read("--to", a->to, &o->to_ns, err));
    if (o->has_from && o->has_to && o->to_ns <= o->from_ns)
        return err_set(err, ERR_ARG, "--to must be greater than --from");
    a->live_s = 5;
    if (a->seconds) TRY(seconds_of("--seconds", a->seconds, -1e9, &a->live_s, err));
    if (a->live_s == 0) return err_set(err, ERR_ARG, "--seconds must not be 0");
    return true;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && !strcmp(s + n - k, end);
}

static bool choose_format(App *a, Err *err) {
    static const char *const names[] = {"", "tape", "chrome", "csv"};
    if (a->format) {
        for (int i = FORMAT_TAPE; i <= FORMAT_CSV; i++)
            if (!strcmp(a->format, names[i])) a->as = (Format)i;
        if (!a->as)
            return err_set(err, ERR_ARG, "--format is tape, chrome or csv, not '%.60s'", a->format);
        if (!a->out) a->out = "-";
    } else if (a->out) {
        bool is_json = ends_with(a->out, ".json");
        a->as = is_json ? FORMAT_CHROME : ends_with(a->out, ".csv") ? FORMAT_CSV : FORMAT_TAPE;
    }
    return true;
}

static bool check_options(App *a, Err *err) {
    if (a->client) {
        a->options.client = tape_client(a->client, strlen(a->client));
        if (!a->options.client)
            return err_set(err, ERR_ARG, "--client is a name such as c1, not '%.60s'", a->client);
    }
    if (a->options.signal && !a->options.signal[0])
        return err_set(err, ERR_ARG, "--signal needs a name");
    if (a->files.n && (a->where || a->seconds)) {
        err_set(err, ERR_ARG, "%s records a running dispatcher; '%.200s' is a tape",
                a->where ? "--dispatcher" : "--seconds", a->files.at[0]);
        return err_hint(err, "--from and --to choose a part of a tape");
    }
    a->options.events_max = (uint64_t)a->events;
    return choose_times(a, err) && choose_format(a, err);
}

/* ---- Output ---- */

static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           S_ISREG(x.st_mode);
}

static bool open_out(App *a, Err *err) {
    if (!a->as) return true;
    if (!strcmp(a->out, "-")) {
        a->f = stdout;
        return true;
    }
    if (a->files.n && is_same_file(a->files.at[0], a->out))
        return err_set(err, ERR_ARG, "'%.200s' would be overwritten while it is read", a->out);
    a->f = fopen(a->out, "we");
    return a->f || err_set(err, ERR_IO, "cannot write '%.200s': %s", a->out, strerror(errno));
}

static bool close_out(App *a, Err *err) {
    if (!a->f) return true;
    bool ok = !ferror(a->f);
    if (fflush(a->f)) ok = false;
    if (a->f != stdout && fclose(a->f)) ok = false;
    return ok || err_set(err, ERR_IO, "cannot write '%.200s': %s", a->out, strerror(errno));
}

static void put_line(void *ctx, const char *line, size_t n) {
    App *a = ctx;
    fwrite(line, 1, n, a->f);
    putc('\n', a->f);
}

static bool finish(App *a, const Timeline *t, const char *name, Err *err) {
    if (a->as == FORMAT_CHROME) trace_chrome(t, a->f);
    if (a->as == FORMAT_CSV) trace_csv(t, a->f);
    bool ok = close_out(a, err);
    FILE *f = a->f == stdout ? stderr : stdout;
    trace_summary(t, name, f);
    if (a->dropped)
        fprintf(f, "note: %llu lines are missing, because they came too fast\n",
                (unsigned long long)a->dropped);
    return ok;
}

/* ---- A running dispatcher ---- */

enum { PAST_MS = 10000, LAST_MS = 400 /* time for what has happened to arrive */ };

/* A recording that goes on. */
typedef struct Recording {
    App *a;
    Monitor *m;
    Timeline *t;
    bool has_begun;
    int64_t begin_ns, begun_ms; /* of the first line: its time, and ours when it came */
} Recording;

static bool add_lines(Recording *r, const char *text, size_t n, Err *err) {
    for (const char *end = text + n, *stop; text < end; text = stop + 1) {
        stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) break;
        if (!timeline_add(r->t, text, (size_t)(stop - text), err)) return false;
        if (!r->has_begun) r->begin_ns = r->t->at_ns, r->begun_ms = now_ms();
        r->has_begun = true;
    }
    if (r->a->f) fflush(r->a->f);
    return true;
}

/* One event. *is_over: nothing more will come. */
static bool take(Recording *r, int timeout_ms, bool *is_over, Err *err) {
    MonitorEvent e;
    switch (monitor_next(r->m, timeout_ms, &e)) {
    case MONITOR_LINES:
    case MONITOR_PAST: return add_lines(r, e.text, e.n, err);
    case MONITOR_DROPPED: r->a->dropped += e.dropped; return true;
    case MONITOR_PAST_END: *is_over = true; return true;
    case MONITOR_END:
        *is_over = true;
        if (r->has_begun) return true; /* what came so far is shown */
        *err = e.why;
        return false;
    default: return true;
    }
}

static bool follow(Recording *r, int64_t ms, Err *err) {
    bool is_over = false;
    int64_t end_ms = now_ms() + ms, left;
    while (!is_over && !is_stopped && !r->t->is_enough && (left = end_ms - now_ms()) > 0)
        TRY(take(r, (int)(left < 1000 ? left : 1000), &is_over, err));
    return true;
}

static bool record(Recording *r, Err *err) {
    double seconds = r->a->live_s;
    if (seconds < 0) {
        monitor_past(r->m, -seconds);
        return follow(r, PAST_MS, err);
    }
    monitor_events(r->m, true);
    TRY(follow(r, (int64_t)(seconds * 1e3), err));
    int64_t end_ms = now_ms();
    monitor_events(r->m, false);
    is_stopped = 0;
    TRY(follow(r, LAST_MS, err));
    if (r->has_begun)
        timeline_extend(r->t, r->begin_ns, r->begin_ns + (end_ms - r->begun_ms) * 1000000);
    return true;
}

static int run_live(App *a, Err *err) {
    Monitor *m = monitor_open(a->where, err);
    if (!m) return EXIT_GONE;
    Timeline *t = timeline_new(&a->options);
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (a->as == FORMAT_TAPE) put_line(a, "gti 1 kind=tape", 15), fflush(a->f);
    Recording r = {.a = a, .m = m, .t = t};
    bool ok = record(&r, err);
    if (ok) {
        timeline_settle(t);
        ok = finish(a, t, monitor_endpoint(m), err);
    }
    timeline_free(&t);
    monitor_close(&m);
    return ok ? 0 : EXIT_GONE;
}

/* ---- A tape ---- */

static int run_file(App *a, const char *path, Err *err) {
    Timeline *t;
    if (!timeline_read(path, &a->options, &t, err))
        return err->code == ERR_IO ? EXIT_FILE : EXIT_TAPE;
    bool ok = finish(a, t, path, err);
    timeline_free(&t);
    return ok ? 0 : 1;
}

/* A mistake in a tape has its own place: FILE:LINE: error: ... */
static void complain(const Err *err, int code) {
    if (code != EXIT_TAPE) {
        err_report("gt-trace", err);
        return;
    }
    fprintf(stderr, "%s\n", err->text);
    if (err->hint[0]) fprintf(stderr, "hint: %s\n", err->hint);
}

int main(int argc, char **argv) {
    App *a = &app;
    Err err = {0};
    int code = flags_read("gt-trace", argc, argv, flags, sizeof flags / sizeof *flags, &err);
    if (code < 0 && !check_options(a, &err)) code = FLAGS_USAGE;
    if (code < 0 && !open_out(a, &err)) code = 1;
    if (code < 0) {
        if (a->as == FORMAT_TAPE) a->options.chosen = put_line, a->options.ctx = a;
        code = a->files.n ? run_file(a, a->files.at[0], &err) : run_live(a, &err);
    }
    if (err.code) complain(&err, code);
    return code;
}
