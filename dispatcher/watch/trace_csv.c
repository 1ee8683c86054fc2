/* trace_csv.c: see trace.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/trace.h"
#include <inttypes.h>
#include <string.h>

/* Spreadsheets run a field that begins with one of = + - @ as a formula. */
static void put_text(FILE *f, const char *s) {
    bool is_plain = !strpbrk(s, ",\"\r\n") && !(s[0] && strchr("=+-@", s[0]));
    if (is_plain) {
        fputs(s, f);
        return;
    }
    putc('"', f);
    if (s[0] && strchr("=+-@", s[0])) putc('\'', f);
    for (; *s; s++) {
        if (*s == '"') putc('"', f);
        putc(*s, f);
    }
    putc('"', f);
}

/* Microseconds; never "-0.001". */
static void put_us(FILE *f, int64_t ns) {
    uint64_t n = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    fprintf(f, "%s%" PRIu64 ".%03d", ns < 0 ? "-" : "", n / 1000, (int)(n % 1000));
}

static void begin_row(FILE *f, int rank, const char *kind, int64_t begin, int64_t end) {
    fprintf(f, "w%d,%s,", rank, kind);
    put_us(f, begin);
    putc(',', f);
    put_us(f, end);
    putc(',', f);
    put_us(f, end - begin);
    putc(',', f);
}

static void put_slice(const Timeline *t, FILE *f, int rank, const char *kind, const Slice *s) {
    char signal[1024];
    begin_row(f, rank, kind, s->begin_ns, s->end_ns);
    put_text(f, timeline_text(t, s->name));
    fprintf(f, ",%s,", watch_class_info[s->class_].name);
    if (s->client) fprintf(f, "c%u", s->client);
    putc(',', f);
    if (s->id != TIMELINE_NO_ID) fprintf(f, "t%" PRIu64, s->id);
    fprintf(f, ",%" PRIu64 ",", s->bytes);
    if (s->has_moved) fprintf(f, "%" PRIu64, s->moved);
    putc(',', f);
    for (uint32_t k = 0; k < s->n_from; k++)
        fprintf(f, "%sw%d", k ? " " : "", t->rank[s->from + k]);
    fputs(",,", f);
    put_text(f, s->line ? timeline_text(t, s->file) : "");
    putc(',', f);
    if (s->line) fprintf(f, "%u", s->line);
    putc(',', f);
    put_text(f, timeline_signal(t, s->signal, signal, sizeof signal));
    putc('\n', f);
}

static void put_idle(const Timeline *t, FILE *f, int rank, const Idle *idle) {
    begin_row(f, rank, "idle", idle->begin_ns, idle->end_ns);
    put_text(f, timeline_text(t, idle->name));
    fputs(",,,,,,", f);
    if (idle->on >= 0) fprintf(f, "w%d", idle->on);
    fprintf(f, ",%s,", idle_why_name[idle->cause]);
    put_text(f, idle->line ? timeline_text(t, idle->file) : "");
    putc(',', f);
    if (idle->line) fprintf(f, "%u", idle->line);
    fputs(",\n", f);
}

static void put_worker(const Timeline *t, FILE *f, const WorkerLane *w) {
    for (size_t i = 0; i < w->n_slices; i++) put_slice(t, f, w->rank, "compute", &w->slice[i]);
    for (size_t i = 0; i < w->n_transfers; i++)
        put_slice(t, f, w->rank, "transfer", &w->transfer[i]);
    for (size_t i = 0; i < w->n_idle; i++) put_idle(t, f, w->rank, &w->idle[i]);
    for (size_t i = 0; i < w->n_compiles; i++) {
        begin_row(f, w->rank, "compile", w->compile[i].begin_ns, w->compile[i].end_ns);
        put_text(f, timeline_text(t, w->compile[i].key));
        fputs(",,,,,,,,,,\n", f);
    }
    for (size_t i = 0; i < w->n_samples; i++) {
        begin_row(f, w->rank, "memory", w->sample[i].at_ns, w->sample[i].at_ns);
        fprintf(f, ",,,,%" PRIu64 ",,,,,,\n", w->sample[i].bytes);
    }
}

void trace_csv(const Timeline *t, FILE *f) {
    fputs("worker,kind,begin_us,end_us,us,op,class,client,id,bytes,moved,from,why,file,line,"
          "signal\n",
          f);
    for (int i = 0; i < t->n_workers; i++) put_worker(t, f, &t->worker[i]);
}
