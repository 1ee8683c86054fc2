/* profile.c: see profile.h. SPDX-License-Identifier: MIT */
#include "lang/shell/profile.h"
#include "runtime/base/utf8.h"
#include "lang/file/io.h"
#include "lang/stream/stream.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN = 40, PLACE_MAX = 28 }; /* lines of the table; columns of "train.gt:41" */
#define SHARE_MIN 0.0005             /* lines with a smaller share are not in it */

typedef struct Sums {
    uint64_t insts, ns, move_ns, bytes;
} Sums;

static Sums sum(const ProfileLine *lines, size_t n) {
    Sums s = {0};
    for (size_t i = 0; i < n; i++) {
        s.insts += lines[i].insts, s.bytes += lines[i].bytes;
        s.ns += lines[i].ns, s.move_ns += lines[i].move_ns;
    }
    return s;
}

static double share_of(const ProfileLine *l, Sums all) {
    double ns = (double)(all.ns + all.move_ns);
    return ns > 0 ? (double)(l->ns + l->move_ns) / ns : 0;
}

/* The text of the line without the blanks around it. */
static const char *text_of(const ProfileLine *l, size_t *n) {
    *n = 0;
    if (!l->src) return "";
    const char *s = l->src->text;
    uint32_t at = l->src->first_line ? l->src->first_line : 1;
    for (; *s && at < l->line; at++) {
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    s += strspn(s, " \t");
    *n = strcspn(s, "\n");
    while (*n && (s[*n - 1] == ' ' || s[*n - 1] == '\t' || s[*n - 1] == '\r')) --*n;
    return s;
}

/* ---- The table ---- */

/* "812 us", "12.3 ms", "4.56 s", "1234 s" */
static const char *time_text(uint64_t ns, char buf[24]) {
    double us = (double)ns / 1e3;
    if (us < 999.5)
        snprintf(buf, 24, "%.0f us", us);
    else if (us < 999.5e3)
        snprintf(buf, 24, us < 99.95e3 ? "%.1f ms" : "%.0f ms", us / 1e3);
    else
        snprintf(buf, 24, us < 99.95e6 ? "%.2f s" : "%.0f s", us / 1e6);
    return buf;
}

/* Appends at most `columns` columns of the line's text. */
static void put_text(const ProfileLine *l, int columns, Bytes *out) {
    size_t n, at = 0;
    const char *s = text_of(l, &n);
    for (uint32_t cp; at < n && columns > 0;) {
        int step = utf8_decode(s + at, n - at, &cp), width = step ? utf8_width(cp) : 1;
        if (width > columns) break;
        if (step && cp >= 0x20 && cp != 0x7f)
            bytes_add(out, s + at, (size_t)step);
        else
            bytes_putc(out, ' ');
        at += step ? (size_t)step : 1;
        columns -= width;
    }
}

/* Returns "train.gt:41", without the folders. */
static const char *place_text(const ProfileLine *l, char buf[PLACE_MAX + 16]) {
    if (!l->src) return "(other lines)";
    const char *name = l->src->name, *slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    snprintf(buf, PLACE_MAX + 16, "%.*s:%u", PLACE_MAX - 6, name, l->line);
    return buf;
}

static void put_line(const ProfileLine *l, Sums all, int width, int place, Bytes *out) {
    char time[24], moves[24], bytes[24], at[PLACE_MAX + 16];
    size_t begin = out->n;
    bytes_printf(out, "%5.1f%%  %7s  ", 100 * share_of(l, all), time_text(l->ns, time));
    if (all.move_ns) bytes_printf(out, "%8s  ", time_text(l->move_ns, moves));
    bytes_printf(out, "%8s  %7llu  ", bytes_text(l->bytes, bytes), (unsigned long long)l->insts);
    bytes_printf(out, "%-*s  ", place, place_text(l, at));
    put_text(l, width - (int)utf8_count(out->data + begin, out->n - begin), out);
    while (out->n && out->data[out->n - 1] == ' ') out->n--;
    bytes_putc(out, '\n');
}

static void put_table(const ProfileLine *lines, size_t n, int workers, double seconds, int width,
                      Bytes *out) {
    Sums all = sum(lines, n);
    char time[24], bytes[24];
    bytes_printf(out, "%s on %d worker%s in %.2f s (%.0f %% busy), %llu instructions, %s\n",
                 time_text(all.ns + all.move_ns, time), workers, workers == 1 ? "" : "s", seconds,
                 100 * (double)(all.ns + all.move_ns) / 1e9 / (seconds * workers),
                 (unsigned long long)all.insts, bytes_text(all.bytes, bytes));
    bytes_printf(out, " share     time  %s   bytes   instrs  line\n",
                 all.move_ns ? "transfer  " : "");
    size_t shown = 0, place = 0;
    while (shown < n && shown < SHOWN && share_of(&lines[shown], all) >= SHARE_MIN) shown++;
    char at[PLACE_MAX + 16];
    for (size_t i = 0; i < shown; i++)
        if (strlen(place_text(&lines[i], at)) > place) place = strlen(place_text(&lines[i], at));
    for (size_t i = 0; i < shown; i++) put_line(&lines[i], all, width, (int)place, out);
    if (shown == n) return;
    ProfileLine rest = {0};
    for (size_t i = shown; i < n; i++) rest.ns += lines[i].ns, rest.move_ns += lines[i].move_ns;
    bytes_printf(out, "%5.1f%%  of %zu more line%s; --profile=FILE lists all\n",
                 100 * share_of(&rest, all), n - shown, n - shown == 1 ? "" : "s");
}

/* ---- CSV ---- */

static void put_quoted(const char *s, size_t n, Bytes *out) {
    bytes_putc(out, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') bytes_putc(out, '"');
        bytes_putc(out, s[i]);
    }
    bytes_putc(out, '"');
}

static void put_csv(const ProfileLine *lines, size_t n, Bytes *out) {
    Sums all = sum(lines, n);
    bytes_puts(out, "file,line,share,us,transfer_us,bytes,transfer_bytes,instructions,text\n");
    for (size_t i = 0; i < n; i++) {
        const ProfileLine *l = &lines[i];
        size_t length;
        const char *text = text_of(l, &length), *name = l->src ? l->src->name : "";
        put_quoted(name, strlen(name), out);
        bytes_printf(out, ",%u,%.6f,%.3f,%.3f,%llu,%llu,%llu,", l->line, share_of(l, all),
                     (double)l->ns / 1e3, (double)l->move_ns / 1e3, (unsigned long long)l->bytes,
                     (unsigned long long)l->moved, (unsigned long long)l->insts);
        put_quoted(text, length, out);
        bytes_putc(out, '\n');
    }
}

/* ---- */

bool profile_check(const char *path, LangError *e) {
    struct stat st;
    const char *slash = strrchr(path, '/');
    Bytes dir = {0};
    bytes_printf(&dir, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    int why = 0;
    if (!stat(path, &st))
        why = S_ISDIR(st.st_mode) ? EISDIR : access(path, W_OK) ? errno : 0;
    else if (access(dir.data, W_OK))
        why = errno;
    bytes_fini(&dir);
    return !why || error_set(e, "cannot write '%.300s': %s", path, strerror(why));
}

bool profile_report(Interp *in, const char *path, double seconds, LangError *e) {
    ProfileLine *lines;
    size_t n;
    int workers = 1;
    Bytes out = {0};
    Err err = {0};
    LangError ignored = {0};
    bool ok = stream_profile(in->stream, &lines, &n, e);
    if (n && ok) stream_workers(in->stream, &workers, &ignored);
    fflush(stdout);
    if (path) {
        put_csv(lines, n, &out);
        if (!io_write(path, out.data, out.n, &err)) {
            error_from(e, &err);
            ok = false;
        }
    } else {
        if (n)
            put_table(lines, n, workers, seconds, in->config.width, &out);
        else
            bytes_puts(&out, "no instructions\n");
        fwrite(out.data, 1, out.n, stderr);
    }
    bytes_fini(&out);
    free(lines);
    return ok;
}
