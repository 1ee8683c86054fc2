/* trace_summary.c: see trace.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/timeline_sum.h"
#include "dispatcher/watch/trace.h"
#include "dispatcher/watch/view.h"
#include "runtime/base/buf.h"
#include "runtime/base/utf8.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_OPS = 5, TOP_WAITS = 3, TOP_LINKS = 8, NAME_BYTES = 256 };

/* "812 us", "12.3 ms", "1.23 s". Returns buf. */
static const char *time_text(int64_t ns, char buf[24]) {
    double us = (double)ns / 1e3;
    if (us < 9.95)
        snprintf(buf, 24, "%.1f us", us);
    else if (us < 999.5)
        snprintf(buf, 24, "%.0f us", us);
    else if (us < 999500)
        snprintf(buf, 24, "%.*f ms", us < 9995 ? 2 : us < 99950 ? 1 : 0, us / 1e3);
    else
        snprintf(buf, 24, "%.*f s", us < 9995000 ? 2 : us < 99950000 ? 1 : 0, us / 1e6);
    return buf;
}

static double percent(int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Text of the tape cannot control the terminal. */
static const char *clean(const char *s, char buf[NAME_BYTES]) {
    size_t n = strlen(s), at = 0;
    while (n > 0 && at + 5 < NAME_BYTES) {
        uint32_t cp = 0;
        int k = utf8_decode(s, n, &cp);
        if (k == 0 || cp < 0x20 || (cp >= 0x7f && cp < 0xa0)) {
            at += (size_t)snprintf(buf + at, NAME_BYTES - at, "\\x%02X", (unsigned char)*s);
            k = 1;
        } else {
            memcpy(buf + at, s, (size_t)k);
            at += (size_t)k;
        }
        s += k, n -= (size_t)k;
    }
    buf[at] = 0;
    return buf;
}

static void put_position(const Timeline *t, FILE *f, uint32_t file, uint32_t line) {
    char name[NAME_BYTES];
    if (line) fprintf(f, "  %s:%u", clean(timeline_text(t, file), name), line);
}

static const char *op_name(const Timeline *t, uint32_t name, char buf[NAME_BYTES]) {
    return name ? clean(timeline_text(t, name), buf) : "(unknown)";
}

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

static void put_head(const Timeline *t, const char *name, const WorkerTotals *all, FILE *f) {
    char time[24], title[NAME_BYTES];
    uint64_t n_workers = 0, n_clients = 0;
    for (int i = 0; i < t->n_workers; i++) n_workers += t->worker[i].is_known;
    for (size_t i = 0; i < t->n_clients; i++)
        n_clients += t->client[i].n_events > 0 || t->client[i].name;
    fprintf(f, "%s: %s, %" PRIu64 " worker%s, %" PRIu64 " client%s, %" PRIu64 " operation%s",
            clean(name, title), time_text(t->end_ns - t->begin_ns, time), n_workers,
            plural(n_workers), n_clients, plural(n_clients), all->n_ops, plural(all->n_ops));
    if (t->n_failures) fprintf(f, ", %" PRIu64 " failed", t->n_failures);
    fputc('\n', f);
}

/* ---- The parts ---- */

static bool has_idle(const Timeline *t) { return !t->options.client && !t->options.signal; }

static void put_row(const char *name, const WorkerTotals *w, bool idle, FILE *f) {
    char bytes[24];
    fprintf(f, "  %-8s %6.1f%%", name, percent(w->busy_ns, w->there_ns));
    fprintf(f, " %6.1f%%", percent(w->idle_ns[IDLE_COMM], w->there_ns));
    for (int c = 0; idle && c < IDLE_WHYS; c++)
        if (c != IDLE_COMM) fprintf(f, " %7.1f%%", percent(w->idle_ns[c], w->there_ns));
    fprintf(f, " %6.1f%% %9" PRIu64 " %11s\n", percent(w->gap_ns, w->there_ns), w->n_ops,
            bytes_text(w->moved, bytes));
}

static void put_workers(const Timeline *t, const WorkerTotals *all, FILE *f) {
    char name[24];
    int n = 0;
    bool idle = has_idle(t);
    fprintf(f, "  %-8s %7s %7s", "worker", "busy", "comm");
    for (int c = 0; idle && c < IDLE_WHYS; c++)
        if (c != IDLE_COMM) fprintf(f, " %8s", idle_why_name[c]);
    fprintf(f, " %7s %9s %11s\n", "rest", "ops", "moved in");
    for (int i = 0; i < t->n_workers; i++) {
        if (!t->worker[i].is_known) continue;
        snprintf(name, sizeof name, "w%d", i);
        put_row(name, &t->worker[i].sum, idle, f);
        n++;
    }
    if (n > 1) put_row("all", all, idle, f);
}

static void put_ops(const Timeline *t, int64_t there_ns, FILE *f) {
    char time[24], name[NAME_BYTES];
    OpTotal *op;
    size_t n = timeline_ops(t, &op);
    if (n) fputs("most time:\n", f);
    for (size_t i = 0; i < n && i < TOP_OPS; i++) {
        fprintf(f, "  %-14s %9s %5.1f%%  %" PRIu64 " time%s", op_name(t, op[i].name, name),
                time_text(op[i].ns, time), percent(op[i].ns, there_ns), op[i].count,
                plural(op[i].count));
        put_position(t, f, op[i].file, op[i].line);
        fputc('\n', f);
    }
    free(op);
}

static void put_waits(const Timeline *t, FILE *f) {
    char time[24], name[NAME_BYTES], place[24];
    Wait wait[TOP_WAITS];
    size_t n = timeline_waits(t, wait, TOP_WAITS);
    if (n) fputs("longest waits:\n", f);
    for (size_t i = 0; i < n; i++) {
        const Idle *w = &wait[i].idle;
        snprintf(place, sizeof place, "w%d", wait[i].rank);
        fprintf(f, "  %-14s %9s  at %.6f s, %s", place, time_text(w->end_ns - w->begin_ns, time),
                (double)w->begin_ns / 1e9, idle_why_name[w->cause]);
        if (w->on >= 0) fprintf(f, " on w%d", w->on);
        if (w->name) fprintf(f, ", before %s", op_name(t, w->name, name));
        put_position(t, f, w->file, w->line);
        fputc('\n', f);
    }
}

static void put_links(const Timeline *t, FILE *f) {
    char bytes[24], name[32];
    LinkTotal *link;
    size_t n = timeline_links(t, &link);
    bool is_estimate = false;
    for (size_t i = 0; i < n; i++) is_estimate |= link[i].is_estimate;
    if (n) fprintf(f, "bytes per link%s:\n", is_estimate ? " (estimated from results)" : "");
    for (size_t i = 0; i < n && i < TOP_LINKS; i++) {
        snprintf(name, sizeof name, "w%d -> w%d", link[i].from, link[i].to);
        fprintf(f, "  %-14s %9s  %" PRIu64 " transfer%s\n", name, bytes_text(link[i].bytes, bytes),
                link[i].count, plural(link[i].count));
    }
    if (n > TOP_LINKS) fprintf(f, "  and %zu more links\n", n - TOP_LINKS);
    free(link);
}

static void put_win(const Timeline *t, FILE *f) {
    static const char *const what[IDLE_WHYS] = {
        "waiting for instructions (starved)", "waiting for other workers (blocked)",
        "waiting for transfers (comm)", "waiting for kernels (compile)",
        "waiting for the device (device)"};
    char now[24], then[24], worst[24], name[NAME_BYTES];
    Win win = timeline_win(t);
    int64_t total = t->end_ns - t->begin_ns;
    if (win.cause < 0 && !win.is_op) return; /* nothing was executed */
    time_text(total, now);
    time_text(total - win.gain_ns, then);
    fputs("largest win: ", f);
    if (win.is_op) {
        fprintf(f, "%s", op_name(t, win.op.name, name));
        if (win.op.line)
            fprintf(f, " at %s:%u", clean(timeline_text(t, win.op.file), name), win.op.line);
        fprintf(f, " takes %.0f%% of the workers' time; twice as fast, ", 100 * win.share);
    } else {
        fprintf(f, "%s takes %.0f%% of the workers' time", what[win.cause], 100 * win.share);
        if (win.rank >= 0) fprintf(f, ", most w%d", win.rank);
        if (win.on >= 0) fprintf(f, " for w%d", win.on);
        if (win.rank >= 0) fprintf(f, " (%s)", time_text(win.worst_ns, worst));
        fputs("; without it, ", f);
    }
    fprintf(f, "%s instead of %s at best\n", then, now);
}

static void put_notices(const Timeline *t, FILE *f) {
    Bytes why = {0};
    view_why_empty(t, &why);
    if (why.n) fprintf(f, "note: %s\n", why.data);
    bytes_fini(&why);
    if (t->is_torn)
        fprintf(f, "note: line %" PRIu64 ", the last, is incomplete and was skipped\n",
                t->n_lines + 1);
    if (t->is_cut)
        fprintf(f,
                "note: more than %zu records: this is without what follows line %" PRIu64
                "; --from and --to choose a part\n",
                t->options.records_max, t->cut_line - 1);
}

void trace_summary(const Timeline *t, const char *name, FILE *f) {
    WorkerTotals all = timeline_total(t);
    put_head(t, name, &all, f);
    put_notices(t, f);
    if (t->n_workers) put_workers(t, &all, f);
    put_ops(t, all.there_ns, f);
    put_waits(t, f);
    put_links(t, f);
    if (has_idle(t)) put_win(t, f);
}
