/* progress_line.c: see progress_line.h.
 * SPDX-License-Identifier: MIT */
#include "lang/text/progress_line.h"
#include "runtime/base/utf8.h"
#include <math.h>
#include <string.h>

enum { BAR_CELLS = 20, BAR_LEAST = 4, RATE_S = 3 };

double progress_rate(Rate *r, int64_t done, double at) {
    double dt = at - r->at, keep = exp(-dt / RATE_S);
    if (done > r->done && dt > 0) {
        r->n = r->n * keep + (double)(done - r->done);
        r->s = r->s * keep + dt;
        r->done = done;
        r->at = at;
    }
    return r->s > 0 ? r->n / r->s : 0;
}

static void put_clock(Bytes *b, double s) {
    long long t = isfinite(s) && s < 1e9 ? (long long)s : 0;
    if (t >= 3600)
        bytes_printf(b, "%lld:%02lld:%02lld", t / 3600, t / 60 % 60, t % 60);
    else
        bytes_printf(b, "%02lld:%02lld", t / 60, t % 60);
}

static void put_bar(Bytes *b, double part, int cells, bool is_utf8) {
    int eighths = (int)(part * cells * 8);
    for (int i = 0; i < cells; i++, eighths -= 8) {
        char block[4];
        if (!is_utf8)
            bytes_putc(b, eighths >= 8 ? '#' : ' ');
        else if (eighths <= 0)
            bytes_putc(b, ' ');
        else /* U+2588 is full, U+258F one eighth */
            bytes_add(b, block,
                      (size_t)utf8_encode(0x2590u - (uint32_t)(eighths < 8 ? eighths : 8), block));
    }
}

static void put_counts(Bytes *b, const BarLine *l) {
    double rate = l->rate > 0 ? l->rate : l->elapsed > 0 ? (double)l->done / l->elapsed : 0;
    if (l->total < 0)
        bytes_printf(b, "%lld it [", (long long)l->done);
    else
        bytes_printf(b, "| %lld/%lld [", (long long)l->done, (long long)l->total);
    put_clock(b, l->elapsed);
    if (l->total >= 0) bytes_puts(b, "<");
    if (l->total >= 0 && rate > 0)
        put_clock(b, (double)(l->total - l->done) / rate);
    else if (l->total >= 0)
        bytes_puts(b, "?");
    if (rate >= 1 || rate == 0)
        bytes_printf(b, ", %.1f it/s]", rate);
    else
        bytes_printf(b, ", %.2f s/it]", 1 / rate);
}

/* Cuts the text from `from` on to the columns. */
static void cut(Bytes *b, size_t from, int columns) {
    size_t at = from;
    int taken = 0;
    for (uint32_t cp; at < b->n;) {
        int step = utf8_decode(b->data + at, b->n - at, &cp), wide = step ? utf8_width(cp) : 1;
        if (taken + wide > columns) break;
        taken += wide, at += (size_t)(step ? step : 1);
    }
    b->n = at;
    if (b->data) b->data[at] = 0;
}

int progress_line(const BarLine *l, int columns, bool is_utf8, Bytes *out) {
    Bytes counts = {0};
    size_t from = out->n;
    double part = l->total > 0 ? (double)l->done / (double)l->total : 1;
    int cells = BAR_CELLS;
    put_counts(&counts, l);
    if (*l->label) bytes_printf(out, "%s: ", l->label);
    if (l->total < 0)
        cells = 0;
    else
        bytes_printf(out, "%3.0f%% |", floor(part * 100));
    if (columns > 0 && cells) {
        int room = columns - utf8_columns(out->data + from, out->n - from) -
                   utf8_columns(counts.data, counts.n);
        if (*l->tracked) room -= utf8_columns(l->tracked, strlen(l->tracked)) + 1;
        cells = room > BAR_CELLS ? BAR_CELLS : room < BAR_LEAST ? 0 : room;
    }
    put_bar(out, part, cells, is_utf8);
    bytes_puts(out, cells || l->total < 0 ? counts.data : counts.data + 1);
    if (*l->tracked) bytes_printf(out, " %s", l->tracked);
    bytes_fini(&counts);
    if (columns > 0) cut(out, from, columns);
    return utf8_columns(out->data + from, out->n - from);
}
