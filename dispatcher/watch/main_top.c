/* main_top.c: gt-top, which shows what each worker and client of a run does now, and why workers
 * are idle: on the terminal, as pages of text, or as JSON. What it shows is made in top_model.c and
 * top_view.c.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/monitor.h"
#include "dispatcher/watch/top_json.h"
#include "dispatcher/watch/top_keys.h"
#include "dispatcher/watch/top_save.h"
#include "dispatcher/watch/top_screen.h"
#include "runtime/base/clock.h"
#include "runtime/base/flags.h"
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    EXIT_GONE = 69,
    KEY_MS = 40,
    SAVE_S = 5,
    PAST_S = 5,
    PAST_MOST_US = 30000000,
    REPORT_US =
        3000000, /* the longest wait for the first figures of a worker that does not report */
    ANSWER_US = 10000000
};

/* What the answer to monitor_past is for. */
typedef enum Past { PAST_NONE, PAST_SHOW, PAST_SAVE } Past;

typedef struct App {
    const char *where, *delay, *view_name, *filter;
    bool is_batch, is_once, is_json;
    int count; /* pages; 0: no limit */
    double delay_s;
    Monitor *monitor;
    TopModel model;
    TopView view;
    Past past, next; /* next: the request after the one that is being answered */
    int64_t asked_us;
    TopSave save;
    bool is_utf8, is_over;
    Err why; /* is_over: how the run ended */
} App;

static App app;

static const Flag flags[] = {
    {'d', "dispatcher", "WHERE", "HOST:PORT, ipc:///PATH, @FILE or local (the one that runs)",
     FLAG_TEXT, &app.where},
    {'s', "delay", "SECONDS", "time between pages (0.25; 1 with --batch)", FLAG_TEXT, &app.delay},
    {'n', "count", "N", "end after N pages", FLAG_INT, &app.count, 1, 1000000000},
    {'b', "batch", "", "print page after page, without a terminal", FLAG_SET, &app.is_batch},
    {'1', "once", "", "print one page", FLAG_SET, &app.is_once},
    {'j', "json", "", "print each page as a JSON object on one line", FLAG_SET, &app.is_json},
    {'v', "view", "NAME", "workers, clients, signals or ops (workers)", FLAG_TEXT, &app.view_name},
    {'f', "filter", "TEXT", "show only rows that contain TEXT", FLAG_TEXT, &app.filter},
    FLAGS_COMMON};

static volatile sig_atomic_t stop;
static void on_signal(int number) { stop = number; }

/* ---- The command line ---- */

/* True if s is a number and nothing else; *out is set to it. */
static bool is_seconds(const char *s, double *out) {
    char *end;
    *out = strtod(s, &end);
    return end != s && !*end;
}

static bool choose(App *a, Err *err) {
    static const char *const name[TOP_KINDS] = {"workers", "clients", "signals", "ops"};
    double seconds;
    /* As in top(1), -d SECONDS is the delay. No dispatcher has a number as its address. */
    if (a->where && !a->delay && is_seconds(a->where, &seconds)) {
        a->delay = a->where;
        a->where = NULL;
    }
    const char *term = getenv("TERM");
    if (!term || !*term || !strcmp(term, "dumb")) a->is_batch = true;
    if (a->is_once) a->count = 1;
    if (a->is_once || a->is_json) a->is_batch = true;
    a->delay_s = a->is_batch ? 1 : 0.25;
    if (a->delay &&
        (!is_seconds(a->delay, &a->delay_s) || !(a->delay_s >= 0.05) || !(a->delay_s <= 86400)))
        return err_set(err, ERR_ARG, "--delay needs seconds from 0.05 to 86400, not '%.40s'",
                       a->delay);
    top_view_init(&a->view);
    if (a->view_name) {
        int k = 0;
        while (k < TOP_KINDS && strcasecmp(a->view_name, name[k])) k++;
        if (k == TOP_KINDS) {
            err_set(err, ERR_ARG, "there is no view '%.40s'", a->view_name);
            return err_hint(err, "workers, clients, signals or ops");
        }
        a->view.kind = (TopKind)k;
    }
    if (a->filter) snprintf(a->view.filter, sizeof a->view.filter, "%s", a->filter);
    return true;
}

/* ---- What the dispatcher sends ---- */

/* ---- The flight recorder ---- */

/* Returns how many seconds of the past to ask for: PAST_S and the age of the oldest instruction in
 * flight, at most PAST_MOST_US, so that they include the time when it was sent. */
static int past_seconds(const App *a) {
    int64_t lag_us = 0;
    for (int i = 0; i < a->model.rows[TOP_CLIENT].n; i++) {
        int64_t lag = a->model.rows[TOP_CLIENT].row[i].number[TOP_LAG_US];
        if (lag > lag_us) lag_us = lag;
    }
    return PAST_S + (int)(lag_us < PAST_MOST_US ? lag_us / 1000000 + 1 : PAST_MOST_US / 1000000);
}

/* Requests the last seconds; at once, or if an answer is arriving, after its end. */
static void ask_past(App *a, Past what) {
    Err err = {0};
    if (a->past != PAST_NONE && now_us() - a->asked_us < ANSWER_US) {
        a->next = what;
        return;
    }
    top_save_abandon(&a->save);
    a->past = a->next = PAST_NONE;
    if (what == PAST_SAVE && !top_save_open(&a->save, &err)) {
        top_view_say(&a->view, true, "%s", err.text);
        return;
    }
    a->view.past.lines.n = 0;
    a->past = what;
    a->asked_us = now_us();
    monitor_past(a->monitor, what == PAST_SAVE ? SAVE_S : past_seconds(a));
}

static void say_saved(App *a) {
    char path[TOP_SAVE_PATH];
    Err err = {0};
    size_t lines;
    if (top_save_close(&a->save, path, &lines, &err))
        top_view_say(&a->view, false, "%zu lines saved in %s", lines, path);
    else
        top_view_say(&a->view, true, "%s", err.text);
}

static void take_past(App *a, const MonitorEvent *e) {
    if (a->past == PAST_SAVE) top_save_lines(&a->save, e->text, e->n);
    if (a->past == PAST_SHOW) top_past_take(&a->view.past, e->text, e->n);
}

/* Takes the next event; true if it was a snapshot. */
static bool take(App *a, int timeout_ms) {
    MonitorEvent e;
    switch (monitor_next(a->monitor, timeout_ms, &e)) {
    case MONITOR_SNAPSHOT:
        if (a->view.is_paused) return false;
        top_model_take(&a->model, e.text, e.n, now_us());
        return true;
    case MONITOR_PAST: take_past(a, &e); return false;
    case MONITOR_PAST_END:
        if (a->past == PAST_SAVE) say_saved(a);
        a->view.past.is_whole = a->past == PAST_SHOW;
        a->past = PAST_NONE;
        if (a->next != PAST_NONE) ask_past(a, a->next);
        return false;
    case MONITOR_DROPPED: a->model.dropped += e.dropped; return false;
    case MONITOR_END:
        a->is_over = true;
        a->why = e.why;
        return false;
    default: return false;
    }
}

/* ---- Pages of text ---- */

static int page_width(void) {
    struct winsize size = {0};
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    if (width <= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size)) width = size.ws_col;
    return width > 0 ? width : 80;
}

static void print_page(App *a, int number) {
    Bytes text = {0};
    if (a->is_json)
        top_json(&a->model, &text);
    else {
        TopGrid grid;
        if (number) bytes_putc(&text, '\n');
        top_grid_init(&grid, page_width(), top_view_height(&a->model, &a->view), a->is_utf8);
        top_view_draw(&a->model, &a->view, &grid);
        top_grid_text(&grid, &text);
        top_grid_fini(&grid);
    }
    fwrite(text.data, 1, text.n, stdout);
    fflush(stdout);
    bytes_fini(&text);
}

/* True if there are rates: of all workers, or some do not report. */
static bool is_ready(const App *a, int64_t began_us) {
    const TopRows *workers = &a->model.rows[TOP_WORKER];
    if (a->model.n_snapshots < 2) return false;
    for (int i = 0; i < workers->n; i++)
        if (!workers->row[i].has_rate) return now_us() - began_us > REPORT_US;
    return true;
}

static void run_batch(App *a) {
    int64_t delay_us = (int64_t)(a->delay_s * 1e6), began = now_us(), due = began + delay_us;
    for (int number = 0; !stop && !a->is_over && (!a->count || number < a->count);) {
        int64_t left = due - now_us();
        take(a, left > 0 ? (int)(left / 1000) + 1 : 100);
        if (now_us() < due || (!number && !is_ready(a, began)) || a->is_over) continue;
        print_page(a, number++);
        due += delay_us;
        if (due < now_us()) due = now_us();
    }
}

/* ---- The screen ---- */

/* Reads the keys that were typed. True: draw. */
static bool take_keys(App *a) {
    bool is_due = false;
    for (int key; !stop && (key = top_screen_key()) != 0; is_due = true) {
        if (key == TOP_KEY_RESIZE) continue;
        switch (top_view_key(&a->model, &a->view, key)) {
        case TOP_QUIT: stop = SIGINT; break;
        case TOP_CANCEL:
            monitor_cancel(a->monitor, (uint32_t)a->view.cancel_id);
            top_view_say(&a->view, false, "c%llu: asked to drop what it has queued",
                         (unsigned long long)a->view.cancel_id);
            break;
        case TOP_PAST: ask_past(a, PAST_SHOW); break;
        case TOP_SAVE: ask_past(a, PAST_SAVE); break;
        default: break;
        }
    }
    return is_due;
}

static void draw(App *a) {
    TopGrid grid;
    int width, height;
    top_screen_size(&width, &height);
    top_grid_init(&grid, width, height, a->is_utf8);
    top_view_draw(&a->model, &a->view, &grid);
    top_screen_show(&grid);
    top_grid_fini(&grid);
}

static bool run_screen(App *a, Err *err) {
    const char *no_color = getenv("NO_COLOR");
    TRY(top_screen_open(!no_color || !*no_color, err));
    a->view.is_screen = true;
    int64_t delay_us = (int64_t)(a->delay_s * 1e6), drawn = 0;
    int pages = 0;
    for (bool is_due = true, is_new = false; !stop && !a->is_over;) {
        if (is_new && now_us() - drawn >= delay_us - KEY_MS * 500) is_due = true;
        if (is_due) {
            draw(a);
            if (is_new) pages++, drawn = now_us(), is_new = false;
            if (a->count && pages >= a->count) break;
        }
        uint64_t dropped = a->model.dropped;
        Past past = a->past;
        is_new |= take(a, KEY_MS);
        is_due = take_keys(a) || a->past != past || a->model.dropped != dropped;
    }
    top_screen_close();
    return true;
}

static int run(App *a) {
    Err err = {0};
    a->monitor = monitor_open(a->where, &err);
    if (!a->monitor) {
        err_report("gt-top", &err);
        return err.code == ERR_ARG ? FLAGS_USAGE : EXIT_GONE;
    }
    snprintf(a->view.endpoint, sizeof a->view.endpoint, "%s", monitor_endpoint(a->monitor));
    bool ok = true;
    if (a->is_batch)
        run_batch(a);
    else
        ok = run_screen(a, &err);
    if (!ok || a->is_over) err_report("gt-top", ok ? &a->why : &err);
    return !ok ? FLAGS_USAGE : a->is_over ? EXIT_GONE : 0;
}

int main(int argc, char **argv) {
    Err err = {0};
    setlocale(LC_CTYPE, "");
    app.is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
    int code = flags_read("gt-top", argc, argv, flags, sizeof flags / sizeof *flags, &err);
    if (code < 0 && !choose(&app, &err)) code = FLAGS_USAGE;
    if (code >= 0) {
        if (code) err_report("gt-top", &err);
        return code;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    code = run(&app);
    top_save_abandon(&app.save);
    monitor_close(&app.monitor);
    top_view_fini(&app.view);
    top_model_fini(&app.model);
    if (stop && (stop != SIGINT || app.is_batch)) {
        signal(stop, SIG_DFL);
        raise(stop);
    }
    return code;
}
