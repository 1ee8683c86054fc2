/* track_log.c: see track_log.h. Event files of earlier runs stay where they are; this one begins
 * with a mark that makes TensorBoard leave them out.
 * SPDX-License-Identifier: MIT */
#include "lang/text/track_log.h"
#include "lang/file/io.h"
#include "lang/text/format.h"
#include "runtime/base/clock.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct TrackLog {
    char csv_path[4096], events_path[4096];
    FILE *csv, *events;
};

static double seconds_now(void) { return (double)clock_ns(CLOCK_REALTIME) * 1e-9; }

static bool cannot_write(const char *path, Err *err) {
    return err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
}

static bool open_csv(TrackLog *log, const char *dir, Err *err) {
    static const char head[] = "step,name,value\n";
    snprintf(log->csv_path, sizeof log->csv_path, "%s/metrics.csv", dir);
    TRY(io_make_parents(log->csv_path, err));
    /* replaces an older file, whole or not at all */
    TRY(io_write(log->csv_path, head, sizeof head - 1, err));
    log->csv = fopen(log->csv_path, "ae");
    return log->csv || cannot_write(log->csv_path, err);
}

static bool put(FILE *f, const char *path, const Bytes *b, Err *err) {
    return (fwrite(b->data, 1, b->n, f) == b->n && fflush(f) == 0) || cannot_write(path, err);
}

/* TensorBoard reads the files of a directory in the order of their names, so the time is first. */
static bool open_events(TrackLog *log, const char *dir, Err *err) {
    char host[64] = "";
    Bytes b = {0};
    gethostname(host, sizeof host - 1);
    for (char *s = host; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '.' && *s != '-') *s = '_';
    double seconds = seconds_now();
    snprintf(log->events_path, sizeof log->events_path, "%s/events.out.tfevents.%010.0f.%s.%ld.0",
             dir, seconds, host, (long)getpid());
    log->events = fopen(log->events_path, "wxe");
    if (!log->events) return cannot_write(log->events_path, err);
    events_begin(seconds, &b);
    bool ok = put(log->events, log->events_path, &b, err);
    bytes_fini(&b);
    return ok;
}

TrackLog *track_log_open(const char *dir, Err *err) {
    TrackLog *log = xcalloc(1, sizeof *log);
    if (!open_csv(log, dir, err) || !open_events(log, dir, err)) track_log_close(&log);
    return log;
}

void track_log_close(TrackLog **at) {
    TrackLog *log = *at;
    *at = NULL;
    if (!log) return;
    if (log->csv) fclose(log->csv);
    if (log->events) fclose(log->events);
    free(log);
}

/* A field of a CSV file (RFC 4180): quoted if it holds what would end it. */
static void put_field(const char *s, Bytes *b) {
    if (!s[strcspn(s, ",\"\r\n")] && *s) {
        bytes_puts(b, s);
        return;
    }
    bytes_putc(b, '"');
    for (; *s; s++) {
        if (*s == '"') bytes_putc(b, '"');
        bytes_putc(b, *s);
    }
    bytes_putc(b, '"');
}

bool track_log_add(TrackLog *log, int64_t step, const char *const *name, const double *value, int n,
                   Err *err) {
    Bytes b = {0};
    for (int i = 0; i < n; i++) {
        bytes_printf(&b, "%lld,", (long long)step);
        put_field(name[i], &b);
        bytes_putc(&b, ',');
        format_double(value[i], &b);
        bytes_putc(&b, '\n');
    }
    bool ok = put(log->csv, log->csv_path, &b, err);
    b.n = 0;
    events_scalars(seconds_now(), step, name, value, n, &b);
    ok = ok && put(log->events, log->events_path, &b, err);
    bytes_fini(&b);
    return ok;
}
