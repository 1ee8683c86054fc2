/* trace_chrome.c: see trace.h. A process per worker, with threads for its compute lane, for idle
 * time and for signals; a process for the clients, with a thread per client for its signals. Ids of
 * threads only group and order them.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/trace.h"
#include "runtime/base/utf8.h"
#include <inttypes.h>
#include <string.h>

enum { PID_CLIENTS = 1, PID_WORKERS = 10 };
enum { TID_SIGNAL = 1, TID_COMPUTE = 10, TID_TRANSFER = 40, TID_IDLE = 50, TID_COMPILE = 60 };

typedef struct Json {
    const Timeline *t;
    FILE *f;
    bool has_event;
    uint64_t n_pairs; /* asynchronous ones, which have ids */
} Json;

static void put_string(FILE *f, const char *s) {
    size_t n = strlen(s);
    putc('"', f);
    while (n > 0) {
        int k = utf8_decode(s, n, NULL);
        if (*s == '"' || *s == '\\')
            putc('\\', f), putc(*s, f);
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            fprintf(f, "\\u%04x", (unsigned)(unsigned char)*s);
        else if (k == 0)
            fputs("\\ufffd", f);
        else
            fwrite(s, 1, (size_t)k, f);
        k = k ? k : 1;
        s += k, n -= (size_t)k;
    }
    putc('"', f);
}

static void put_us(FILE *f, const char *key, int64_t ns) {
    uint64_t n = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    fprintf(f, ",\"%s\":%s%" PRIu64 ".%03d", key, ns < 0 ? "-" : "", n / 1000, (int)(n % 1000));
}

/* Begins an event; its caller adds members and a brace. */
static void begin(Json *j, const char *phase, int pid, int tid, const char *name) {
    fprintf(j->f, "%s{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":", j->has_event ? ",\n" : "\n",
            phase, pid, tid);
    put_string(j->f, name);
    j->has_event = true;
}

static void put_name(Json *j, const char *what, int pid, int tid, const char *name) {
    begin(j, "M", pid, tid, what);
    fputs(",\"args\":{\"name\":", j->f);
    put_string(j->f, name);
    fputs("}}", j->f);
}

static void put_order(Json *j, const char *what, int pid, int tid, int order) {
    begin(j, "M", pid, tid, what);
    fprintf(j->f, ",\"args\":{\"sort_index\":%d}}", order);
}

static void name_thread(Json *j, int pid, int tid, const char *name) {
    put_name(j, "thread_name", pid, tid, name);
    put_order(j, "thread_sort_index", pid, tid, tid);
}

/* ---- Slices ---- */

static void put_args(Json *j, const Slice *s) {
    char text[1200];
    fprintf(j->f, ",\"args\":{\"bytes\":%" PRIu64, s->bytes);
    if (s->id != TIMELINE_NO_ID) fprintf(j->f, ",\"id\":\"t%" PRIu64 "\"", s->id);
    if (s->client) fprintf(j->f, ",\"client\":\"c%u\"", s->client);
    if (s->line) {
        fputs(",\"source\":", j->f);
        put_string(j->f, timeline_position(j->t, s->file, s->line, text, sizeof text));
    }
    if (s->signal) {
        fputs(",\"signal\":", j->f);
        put_string(j->f, timeline_signal(j->t, s->signal, text, sizeof text));
    }
    if (s->has_moved) fprintf(j->f, ",\"moved\":%" PRIu64, s->moved);
    if (s->n_from) fputs(",\"from\":\"", j->f);
    for (uint32_t k = 0; k < s->n_from; k++)
        fprintf(j->f, "%sw%d", k ? "," : "", j->t->rank[s->from + k]);
    if (s->n_from) putc('"', j->f);
    putc('}', j->f);
}

static const char *name_of(const Json *j, const Slice *s) {
    const char *name = timeline_text(j->t, s->name);
    return *name ? name : "(unknown)";
}

static void put_slice(Json *j, int pid, const Slice *s) {
    begin(j, "X", pid, TID_COMPUTE + s->row, name_of(j, s));
    fprintf(j->f, ",\"cat\":\"%s\"", watch_class_info[s->class_].name);
    put_us(j->f, "ts", s->begin_ns);
    put_us(j->f, "dur", s->end_ns - s->begin_ns);
    put_args(j, s);
    putc('}', j->f);
}

/* One end of an asynchronous pair, without its closing brace. */
static void put_end(Json *j, const char *phase, int pid, int tid, const char *name, const char *cat,
                    int64_t at_ns) {
    begin(j, phase, pid, tid, name);
    fprintf(j->f, ",\"cat\":\"%s\",\"id\":\"%" PRIu64 "\"", cat, j->n_pairs);
    put_us(j->f, "ts", at_ns);
}

static void put_transfer(Json *j, int pid, const Slice *s) {
    j->n_pairs++;
    put_end(j, "b", pid, TID_TRANSFER, name_of(j, s), "transfer", s->begin_ns);
    put_args(j, s);
    putc('}', j->f);
    put_end(j, "e", pid, TID_TRANSFER, name_of(j, s), "transfer", s->end_ns);
    putc('}', j->f);
}

static void put_compile(Json *j, int pid, const Compile *c) {
    j->n_pairs++;
    put_end(j, "b", pid, TID_COMPILE, "compile", "compile", c->begin_ns);
    fprintf(j->f, ",\"args\":{\"ops\":%u,\"key\":", c->n_ops);
    put_string(j->f, timeline_text(j->t, c->key));
    fputs("}}", j->f);
    put_end(j, "e", pid, TID_COMPILE, "compile", "compile", c->end_ns);
    putc('}', j->f);
}

static void put_idle(Json *j, int pid, const Idle *idle) {
    char text[1200];
    snprintf(text, sizeof text, idle->on >= 0 ? "%s on w%d" : "%s", idle_why_name[idle->cause],
             idle->on);
    begin(j, "X", pid, TID_IDLE, text);
    fputs(",\"cat\":\"idle\"", j->f);
    put_us(j->f, "ts", idle->begin_ns);
    put_us(j->f, "dur", idle->end_ns - idle->begin_ns);
    fputs(",\"args\":{\"op\":", j->f);
    put_string(j->f, timeline_text(j->t, idle->name));
    if (idle->line) {
        fputs(",\"source\":", j->f);
        put_string(j->f, timeline_position(j->t, idle->file, idle->line, text, sizeof text));
    }
    fputs("}}", j->f);
}

static void put_band(Json *j, int pid, int tid, const Band *b) {
    begin(j, "X", pid, tid, timeline_text(j->t, j->t->signal[b->signal].name));
    fputs(",\"cat\":\"signal\"", j->f);
    put_us(j->f, "ts", b->begin_ns);
    put_us(j->f, "dur", b->end_ns - b->begin_ns);
    putc('}', j->f);
}

/* ---- Processes ---- */

static void name_worker(Json *j, int pid, const WorkerLane *w) {
    char text[1200];
    const char *engine = timeline_text(j->t, w->engine);
    snprintf(text, sizeof text, "w%d%s%s", w->rank, *engine ? " " : "", engine);
    put_name(j, "process_name", pid, 0, text);
    put_order(j, "process_sort_index", pid, 0, pid);
    for (int row = 0; row < w->slice_rows; row++) {
        snprintf(text, sizeof text, row ? "compute, row %d" : "compute", row + 1);
        name_thread(j, pid, TID_COMPUTE + row, text);
    }
    if (w->n_bands) name_thread(j, pid, TID_SIGNAL, "signal");
    if (w->n_transfers) name_thread(j, pid, TID_TRANSFER, "transfers");
    if (w->n_idle) name_thread(j, pid, TID_IDLE, "idle");
    if (w->n_compiles) name_thread(j, pid, TID_COMPILE, "compile");
}

static void put_worker(Json *j, const WorkerLane *w) {
    int pid = PID_WORKERS + w->rank;
    name_worker(j, pid, w);
    for (size_t i = 0; i < w->n_bands; i++) put_band(j, pid, TID_SIGNAL, &w->band[i]);
    for (size_t i = 0; i < w->n_slices; i++) put_slice(j, pid, &w->slice[i]);
    for (size_t i = 0; i < w->n_transfers; i++) put_transfer(j, pid, &w->transfer[i]);
    for (size_t i = 0; i < w->n_idle; i++) put_idle(j, pid, &w->idle[i]);
    for (size_t i = 0; i < w->n_compiles; i++) put_compile(j, pid, &w->compile[i]);
    for (size_t i = 0; i < w->n_samples; i++) {
        begin(j, "C", pid, 0, "memory");
        put_us(j->f, "ts", w->sample[i].at_ns);
        fprintf(j->f, ",\"args\":{\"bytes\":%" PRIu64 "}}", w->sample[i].bytes);
    }
}

static void put_client(Json *j, const ClientLane *c) {
    char text[1200];
    const char *name = timeline_text(j->t, c->name);
    int tid = c->id <= INT32_MAX ? (int)c->id : INT32_MAX;
    snprintf(text, sizeof text, "c%u%s%s", c->id, *name ? " " : "", name);
    name_thread(j, PID_CLIENTS, tid, text);
    for (size_t i = 0; i < c->n_bands; i++) put_band(j, PID_CLIENTS, tid, &c->band[i]);
}

static void put_mark(Json *j, const TimelineMark *m) {
    static const char *const come[] = {"joins", "leaves"};
    const char *text = timeline_text(j->t, m->text);
    bool moves = m->event == TAPE_COMES || m->event == TAPE_LEAVES;
    if (!*text) text = moves ? come[m->event == TAPE_LEAVES] : "failed";
    int pid = m->rank >= 0 ? PID_WORKERS + m->rank : PID_CLIENTS;
    int tid = m->rank >= 0 ? TID_COMPUTE : m->client <= INT32_MAX ? (int)m->client : INT32_MAX;
    begin(j, "i", pid, tid, text);
    fprintf(j->f, ",\"cat\":\"%s\",\"s\":\"t\"",
            moves                     ? "member"
            : m->event == TAPE_FAILED ? "failure"
                                      : "note");
    put_us(j->f, "ts", m->at_ns);
    putc('}', j->f);
}

void trace_chrome(const Timeline *t, FILE *f) {
    Json j = {.t = t, .f = f};
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", f);
    if (t->n_clients) put_name(&j, "process_name", PID_CLIENTS, 0, "clients");
    for (size_t i = 0; i < t->n_clients; i++) put_client(&j, &t->client[i]);
    for (int i = 0; i < t->n_workers; i++)
        if (t->worker[i].is_known) put_worker(&j, &t->worker[i]);
    for (size_t i = 0; i < t->n_marks; i++) put_mark(&j, &t->mark[i]);
    fputs("\n]}\n", f);
}
