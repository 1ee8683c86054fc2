/* progress.c: the progress line of a loop, and the scalars tracked along it. progress(n) returns a
 * list for the loop to iterate over; the bar recognises it by identity, so ordinary lists cost
 * nothing. On a terminal nested loops have a line each, the inner one's goes with its loop, and
 * they are redrawn at most ten times a second; elsewhere there is a line every ten seconds. track
 * never waits: its values arrive with the stream, in step order, and go to the line and, with
 * --log-dir, to files (track_log.h).
 * SPDX-License-Identifier: MIT */
#include "runtime/base/clock.h"
#include "lang/text/progress.h"
#include "lang/text/progress_line.h"
#include "lang/text/track_log.h"
#include "lang/value/mapv.h"
#include "runtime/base/utf8.h"
#include "lang/file/io.h"
#include "lang/text/format.h"
#include "lang/tensor/tensor.h"
#include "runtime/inst/element.h"
#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BARS_SHOWN = 4, MAX_TRACKED = 64, MAX_AHEAD = 1 << 16, NAME_BYTES = 64 };

typedef struct Bar {
    Interp *in;
    Value over; /* what the loop iterates over; the reference keeps its identity */
    char *label;
    int64_t ended, total; /* iterations that the program has finished, and all of them, or -1 */
    /* ring: stream_count at the end of each iteration whose instructions are still pending */
    uint64_t *mark;
    uint32_t head, n, cap;
    double begun, drawn; /* seconds */
    Rate rate;
    bool is_open;   /* its loop has begun */
    bool is_over;   /* its loop is done, and its work: the line shows the mean rate */
    bool is_hushed; /* its loop was interrupted: the line is not redrawn */
    struct Bar *next;
} Bar;

typedef struct Progress {
    Bar *bars;
    bool is_tty, is_utf8;
    bool is_dumb;          /* it knows no control sequences: one line, overwritten */
    int columns;           /* that a line may take */
    int n_shown;           /* the terminal's last lines that are progress ... */
    int taken[BARS_SHOWN]; /* ... and the columns of each */
    char tracked[256];     /* "loss 0.1234  lr 0.001": the newest values */
    int64_t step;          /* of the next track() */
    bool has_warned;       /* that track() is in vain */
    TrackLog *log;         /* NULL: no value was logged yet */
} Progress;

static Progress *state(Interp *in) {
    if (!in->progress) {
        in->progress = xcalloc(1, sizeof *in->progress);
        const char *term = getenv("TERM");
        in->progress->is_tty = isatty(STDERR_FILENO);
        in->progress->is_dumb = term && !strcmp(term, "dumb");
        in->clear_line = progress_clear;
    }
    return in->progress;
}

/* ---- progress: the program runs ahead of its instructions ---- */

static void mark_push(Bar *bar, uint64_t count) {
    if (bar->n == bar->cap && bar->cap < MAX_AHEAD) {
        uint32_t cap = bar->cap ? bar->cap * 2 : 64;
        uint64_t *mark = xmalloc(cap * sizeof *mark);
        for (uint32_t i = 0; i < bar->n; i++) mark[i] = bar->mark[(bar->head + i) % bar->cap];
        free(bar->mark);
        bar->mark = mark;
        bar->cap = cap;
        bar->head = 0;
    }
    if (bar->n == bar->cap) { /* the ring is full: count the oldest as done */
        bar->head = (bar->head + 1) % bar->cap;
        bar->n--;
    }
    bar->mark[(bar->head + bar->n++) % bar->cap] = count;
}

static int64_t bar_done(Bar *bar) {
    uint64_t done = stream_done(bar->in->stream);
    while (bar->n && bar->mark[bar->head] <= done) {
        bar->head = (bar->head + 1) % bar->cap;
        bar->n--;
    }
    return bar->ended - bar->n;
}

/* ---- the lines ---- */

static void screen(Progress *p) {
    struct winsize w;
    bool has = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 10;
    p->columns = has ? w.ws_col - 1 : 79; /* a full last column wraps on some terminals */
    p->is_utf8 = !p->is_dumb && !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static int put_bar_line(Progress *p, Bar *bar, double t, int columns, bool is_last, Bytes *b) {
    int64_t done = bar_done(bar);
    double rate = progress_rate(&bar->rate, done, t);
    BarLine l = {.label = bar->label,
                 .done = done,
                 .rate = bar->is_over ? 0 : rate,
                 .total = bar->total,
                 .elapsed = t - bar->begun,
                 .tracked = is_last ? p->tracked : ""};
    return progress_line(&l, columns, p->is_utf8, b);
}

/* Goes to the first column of the first line that is shown. A line that a narrower window has
 * broken takes several rows. */
static void go_back(const Progress *p, Bytes *b) {
    int rows = 0;
    for (int i = 0; i < p->n_shown; i++)
        rows += 1 + (p->taken[i] > 0 ? p->taken[i] - 1 : 0) / (p->columns + 1);
    bytes_puts(b, "\r");
    if (rows > 1) bytes_printf(b, "\033[%dA", rows - 1);
}

static void erase(const Progress *p, Bytes *b) {
    if (p->n_shown == 0) return;
    if (p->is_dumb) {
        bytes_printf(b, "\r%*s\r", p->taken[0], "");
        return;
    }
    go_back(p, b);
    bytes_puts(b, p->n_shown > 1 ? "\033[J" : "\033[K");
}

static void write_out(Bytes *b) {
    bytes_write(b, stderr);
    fflush(stderr);
}

/* Sets out to the bars on the screen, outermost first, and returns how many these are. Of more
 * than BARS_SHOWN the outer ones are left out. */
static int open_bars(Progress *p, Bar *out[BARS_SHOWN]) {
    int n = 0, most = p->is_dumb ? 1 : BARS_SHOWN;
    for (Bar *bar = p->bars; bar && n < most; bar = bar->next)
        if (bar->is_open && !bar->is_hushed) out[n++] = bar;
    for (int i = 0; i < n / 2; i++) {
        Bar *other = out[i];
        out[i] = out[n - 1 - i], out[n - 1 - i] = other;
    }
    return n;
}

/* On a terminal: one line for each of the nested loops. */
static void draw_screen(Progress *p, double t) {
    Bar *bar[BARS_SHOWN];
    Bytes b = {0};
    int n = open_bars(p, bar);
    screen(p);
    erase(p, &b);
    for (int i = 0; i < n; i++) {
        if (i) bytes_puts(&b, "\n\r");
        p->taken[i] = put_bar_line(p, bar[i], t, p->columns, i == n - 1, &b);
        bar[i]->drawn = t;
    }
    p->n_shown = n;
    write_out(&b);
}

static void draw(Progress *p, Bar *bar, double t) {
    Bytes b = {0};
    if (bar->is_hushed) return;
    if (p->is_tty) {
        draw_screen(p, t);
        return;
    }
    screen(p);
    put_bar_line(p, bar, t, 0, true, &b);
    bytes_puts(&b, "\n");
    write_out(&b);
    bar->drawn = t;
}

void progress_clear(Interp *in) {
    Progress *p = in->progress;
    Bytes b = {0};
    if (!p || !p->n_shown) return;
    screen(p);
    erase(p, &b);
    write_out(&b);
    p->n_shown = 0;
    for (Bar *bar = p->bars; bar; bar = bar->next) bar->drawn = 0;
}

bool progress_hush(Interp *in) {
    Progress *p = in->progress;
    bool had_line = p && p->n_shown;
    if (had_line) fputc('\n', stderr);
    if (p) p->n_shown = 0;
    for (Bar *bar = p ? p->bars : NULL; bar; bar = bar->next) bar->is_hushed = true;
    return had_line;
}

struct Bar *progress_find(Interp *in, Value over) {
    for (Bar *bar = in->progress->bars; bar; bar = bar->next)
        if (value_is_heap(over) && value_is_heap(bar->over) && bar->over.heap == over.heap) {
            bar->ended = bar->n = 0;
            bar->begun = now_s();
            bar->rate = (Rate){.at = bar->begun};
            bar->is_over = false;
            bar->drawn = bar->begun;
            bar->is_open = true;
            if (in->progress->is_tty) draw(in->progress, bar, bar->begun);
            return bar;
        }
    return NULL;
}

static bool is_due(const Progress *p, const Bar *bar, double t) {
    return t - bar->drawn >= (p->is_tty ? 0.1 : 10);
}

void progress_step(Interp *in, struct Bar *bar) {
    double t = now_s();
    bar->ended++;
    mark_push(bar, stream_count(in->stream));
    if (is_due(in->progress, bar, t)) {
        stream_poll(in->stream); /* takes acknowledgements and tracked values that have arrived */
        draw(in->progress, bar, t);
    }
}

static void bar_free(Progress *p, Bar *bar) {
    for (Bar **b = &p->bars; *b; b = &(*b)->next)
        if (*b == bar) {
            *b = bar->next;
            break;
        }
    value_drop(bar->over);
    free(bar->label);
    free(bar->mark);
    free(bar);
}

static bool last_line(void *ctx, const Reply *r, Err *err) {
    Bar *bar = ctx;
    (void)r;
    (void)err;
    Progress *p = bar->in->progress;
    Bar *shown[BARS_SHOWN];
    bar->n = 0; /* everything before this effect is done */
    bar->is_over = true;
    bool is_inner = p->is_tty && !p->is_dumb && open_bars(p, shown) > 1; /* leaves no line */
    if (is_inner) bar->is_open = false;
    draw(p, bar, now_s());
    if (p->is_tty && !bar->is_hushed && !is_inner) {
        fputs("\n", stderr);
        p->n_shown = 0;
    }
    return true;
}

static void last_drop(void *ctx) {
    Bar *bar = ctx;
    bar_free(bar->in->progress, bar);
}

/* The loop is over, but its instructions may be pending: the last line is drawn when they are
 * done. */
void progress_end(Interp *in, struct Bar *bar) {
    value_set(&bar->over, v_none());
    if (stream_mode(in->stream) == STREAM_LIVE && bar_done(bar) < bar->ended) {
        Attr attr = {.key = ATTR_FORMAT, .n = 0, .str = ""};
        Effect ef = {.op = OP_NOTE,
                     .attr = &attr,
                     .n_attr = 1,
                     .done = last_line,
                     .drop = last_drop,
                     .ctx = bar};
        LangError ignored = {0};
        stream_effect(in->stream, &ef, interp_span(in), &ignored);
        return;
    }
    last_line(bar, NULL, NULL);
    last_drop(bar);
}

void progress_move(Interp *in, Value from, Value to) {
    for (Bar *bar = in->progress->bars; bar; bar = bar->next)
        if (value_is_heap(from) && value_is_heap(bar->over) && bar->over.heap == from.heap) {
            value_set(&bar->over, value_ref(to));
            return;
        }
}

void progress_drop(Interp *in) {
    for (Bar *bar = in->progress ? in->progress->bars : NULL; bar; bar = bar->next)
        value_set(&bar->over, v_none());
}

void progress_fini(Interp *in) {
    Progress *p = in->progress;
    if (!p) return;
    while (p->bars) bar_free(p, p->bars);
    track_log_close(&p->log);
    free(p);
    in->progress = NULL;
}

void progress_open(Interp *in, Value over, bool is_endless, const char *label) {
    Progress *p = state(in);
    for (Bar *bar = p->bars, *next; bar; bar = next) { /* bars whose loop never started */
        next = bar->next;
        if (value_is_heap(bar->over) && bar->over.heap->refs == 1) bar_free(p, bar);
    }
    if (!p->bars) p->tracked[0] = 0; /* values of an earlier loop */
    Bar *bar = xcalloc(1, sizeof *bar);
    bar->in = in;
    bar->over = value_ref(over);
    bar->label = xstrdup(label);
    bar->total = is_endless ? -1 : sequence_count(over);
    bar->next = p->bars;
    p->bars = bar;
}

/* ---- tracked scalars ---- */

typedef struct Track {
    Interp *in;
    int64_t step;
    int n; /* names in order; the value comes from the reply if operand >= 0 */
    struct {
        char name[NAME_BYTES];
        double v;
        int operand;
    } item[];
} Track;

/* Copies a name, cut between two characters if it is too long. */
static void set_name(char out[NAME_BYTES], const char *name, size_t n) {
    size_t keep = 0;
    for (int step; keep < n; keep += (size_t)step) {
        step = utf8_decode(name + keep, n - keep, NULL);
        if (!step) step = 1;
        if (keep + (size_t)step >= NAME_BYTES) break;
    }
    memcpy(out, name, keep);
    out[keep] = 0;
}

static double reply_number(const ReplyValue *v) { return element_float(v->type.dtype, v->data); }

static bool track_done(void *ctx, const Reply *r, Err *err) {
    Track *t = ctx;
    Progress *p = state(t->in);
    size_t at = 0;
    const char *name[MAX_TRACKED];
    double value[MAX_TRACKED];
    for (int i = 0; i < t->n; i++) {
        name[i] = t->item[i].name;
        value[i] = t->item[i].operand >= 0 && (uint32_t)t->item[i].operand < r->n
                       ? reply_number(&r->value[t->item[i].operand])
                       : t->item[i].v;
        int n = snprintf(p->tracked + at, sizeof p->tracked - at, "%s%s %.4g", i ? "  " : "",
                         name[i], value[i]);
        at = n > 0 && at + (size_t)n < sizeof p->tracked ? at + (size_t)n : at;
        p->tracked[at] = 0;
    }
    if (t->in->config.log_dir) {
        if (!p->log && !(p->log = track_log_open(t->in->config.log_dir, err))) return false;
        TRY(track_log_add(p->log, t->step, name, value, t->n, err));
    }
    double t_now = now_s();
    if (p->bars && p->bars->ended &&
        is_due(p, p->bars, t_now)) /* the program may be waiting: keep the bar moving */
        draw(p, p->bars, t_now);
    return true;
}

static void put_json_number(Bytes *b, double v) {
    if (isfinite(v))
        format_double(v, b);
    else
        bytes_puts(b, "null");
}

/* Warns, once, of values that no file keeps and no line shows. */
static void warn_unseen(Interp *in) {
    Progress *p = state(in);
    bool is_kept = in->config.log_dir || in->config.stream.mode != STREAM_LIVE;
    if (is_kept || p->bars || p->has_warned) return;
    LangError w = {.kind = E_RUN};
    p->has_warned = true;
    error_at(&w, interp_span(in), "track: nothing keeps or shows the values");
    error_hint(&w, "gtsh --log-dir DIR keeps them; for x in progress(xs) { … } shows them");
    interp_warn(in, &w);
}

bool progress_track(Interp *in, const MapV *m, LangError *e) {
    size_t n = map_count(m);
    Handle *handle[MAX_TRACKED];
    Value key, v;
    if (!n || n > MAX_TRACKED)
        return error_set(e,
                         n ? "track: more than %d values" : "track needs names: track(loss=loss)",
                         MAX_TRACKED);
    Track *t = xcalloc(1, sizeof *t + n * sizeof *t->item);
    Bytes keys = {0}, meta = {0};
    int n_operands = 0;
    bool ok = true;
    t->in = in;
    t->step = state(in)->step++;
    bytes_puts(&keys, "");
    for (size_t i = 0; ok && mapv_at(m, i, &key, &v); i++) {
        set_name(t->item[i].name, key.str->s, key.str->n);
        t->item[i].operand = -1;
        t->n++;
        if (v.kind == V_TENSOR) {
            char shape[256];
            const TensorType *type = tensor_type(v.tensor);
            if (type_numel(type) != 1)
                ok = error_set(e, "track needs single numbers, but '%s' has shape %s", key.str->s,
                               type_shape_text(type, shape));
            t->item[i].operand = n_operands;
            bytes_printf(&keys, "%s%s", n_operands ? "\n" : "", key.str->s);
            handle[n_operands++] = v.tensor->handle;
        } else if (value_is_number(v)) {
            t->item[i].v = value_double(v);
            bytes_printf(&meta, "%s\"%s\": ", meta.n ? ", " : "{", key.str->s);
            put_json_number(&meta, t->item[i].v);
        } else {
            ok =
                error_set(e, "track needs numbers, but '%s' is %s", key.str->s, value_type_name(v));
        }
    }
    if (meta.n) bytes_puts(&meta, "}");
    Attr attr[2] = {{.key = ATTR_KEYS, .n = (uint32_t)keys.n, .str = keys.data},
                    {.key = ATTR_META, .n = (uint32_t)meta.n, .str = meta.data}};
    Effect ef = {OP_TRACK, attr, meta.n ? 2 : 1, handle, n_operands, track_done, free, t};
    if (ok) {
        warn_unseen(in);
        ok = stream_effect(in->stream, &ef, interp_span(in), e);
    } else
        free(t);
    bytes_fini(&keys);
    bytes_fini(&meta);
    return ok;
}

/* ---- tracked scalars of an instruction ---- */

static void add_item(Track *t, const char *name, size_t n, int operand, double v) {
    set_name(t->item[t->n].name, name, n);
    t->item[t->n].operand = operand, t->item[t->n].v = v;
    t->n++;
}

static double host_number(const IoValue *v) {
    return v->kind == IO_INT ? (double)v->i : v->kind == IO_FLOAT ? v->f : NAN;
}

/* Adds the names of the operands, one per line of keys, then those of host numbers in meta. */
static bool add_items(Track *t, const Inst *inst, LangError *e) {
    const Attr *keys = inst_attr(inst, ATTR_KEYS), *meta = inst_attr(inst, ATTR_META);
    const char *s = keys ? keys->str : "", *end = s + (keys ? keys->n : 0);
    for (int i = 0; i < inst->n_in; i++) {
        const char *stop = s < end ? memchr(s, '\n', (size_t)(end - s)) : NULL;
        if (!stop) stop = end;
        add_item(t, s, (size_t)(stop - s), i, 0);
        s = stop < end ? stop + 1 : end;
    }
    IoValue numbers = {0};
    Err err = {0};
    if (!meta) return true;
    if (!json_parse(meta->str, meta->n, MAX_TRACKED + 1, &numbers, &err))
        return error_from(e, &err);
    for (uint32_t i = 0; numbers.kind == IO_MAP && i < numbers.n && t->n < MAX_TRACKED; i++)
        add_item(t, numbers.key[i], strlen(numbers.key[i]), -1, host_number(&numbers.kid[i]));
    io_fini(&numbers);
    return true;
}

bool progress_track_inst(Interp *in, const Inst *inst, Handle *const *handle, Span at,
                         LangError *e) {
    Effect ef = {.op = OP_TRACK,
                 .attr = inst->attr,
                 .n_attr = inst->n_attr,
                 .handle = handle,
                 .n = inst->n_in};
    for (int i = 0; i < inst->n_in; i++)
        if (inst->n_in > MAX_TRACKED || type_numel(&handle[i]->type) != 1)
            return error_at(e, at, "track takes at most %d single numbers", MAX_TRACKED);
    if (in->config.log_dir) {
        Track *t = xcalloc(1, sizeof *t + MAX_TRACKED * sizeof *t->item);
        t->in = in;
        t->step = state(in)->step++;
        if (!add_items(t, inst, e)) {
            free(t);
            return error_locate(e, at);
        }
        ef.done = track_done, ef.drop = free, ef.ctx = t;
    }
    return stream_effect(in->stream, &ef, at, e);
}
