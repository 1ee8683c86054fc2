/* stack.c: the call stack of an error: stored in a LangError, which keeps the inner and the outer
 * end of a deep stack, and printed as lines after the message. Consecutive prelude calls share one
 * line, with the user's line that called them. (lang/eval/trace.c finds the stack of a failure that
 * arrives late from a worker.)
 * SPDX-License-Identifier: MIT */
#include "lang/error/stack.h"
#include "runtime/base/utf8.h"
#include <limits.h>
#include <string.h>

enum { SOURCE_COLUMNS = 60, SOURCE_LEAST = 16, DOTS = 4, NAMES_MAX = 3 };

static bool is_same(const ErrorFrame *a, const ErrorFrame *b) {
    return a->name == b->name && a->call.src == b->call.src && a->call.line == b->call.line &&
           a->call.col == b->call.col;
}

void error_frame(LangError *e, const ErrorFrame *f) {
    if (e->n_frames && is_same(&e->frame[e->n_frames - 1], f)) {
        e->frame[e->n_frames - 1].again += 1 + f->again;
        return;
    }
    if (e->n_frames == ERROR_FRAMES) {
        ErrorFrame *gone = &e->frame[ERROR_FRAMES_INNER];
        e->n_left_out += 1 + gone->again;
        memmove(gone, gone + 1, (ERROR_FRAMES - ERROR_FRAMES_INNER - 1) * sizeof *gone);
        e->n_frames--;
    }
    e->frame[e->n_frames++] = *f;
}

/* The columns that are left for source text on the last line of out. columns: of the terminal, or
 * 0. */
static int room_on(const Bytes *out, int columns) {
    size_t from = out->n;
    while (from && out->data[from - 1] != '\n') from--;
    if (!columns) return INT_MAX;
    return columns - (int)utf8_count(out->data + from, out->n - from) - 2;
}

/* Returns the bytes of s that fit in so many columns. */
static size_t fitting(const char *s, size_t n, int columns) {
    size_t i = 0;
    while (i < n) {
        uint32_t cp;
        int len = utf8_decode(s + i, n - i, &cp);
        columns -= len && cp >= ' ' ? utf8_width(cp) : 1;
        if (columns < 0) break;
        i += len ? (size_t)len : 1;
    }
    return i;
}

/* Appends the source line of `at` without its indentation, truncated to SOURCE_COLUMNS and to a
 * terminal of so many columns; nothing if that leaves too little. */
static void put_source(Span at, int columns, Bytes *out) {
    size_t n;
    at.col = 1, at.len = UINT16_MAX;
    const char *s = span_text(at, &n);
    if (!s) return;
    while (n && (*s == ' ' || *s == '\t')) s++, n--;
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t')) n--;
    if (!n) return;
    int room = room_on(out, columns);
    if (room < SOURCE_LEAST) return;
    size_t keep = fitting(s, n, room < SOURCE_COLUMNS ? room : SOURCE_COLUMNS);
    if (keep < n && room < SOURCE_COLUMNS + DOTS) keep = fitting(s, n, room - DOTS);
    bytes_puts(out, ": ");
    error_put_line(s, keep, out);
    if (keep < n) bytes_puts(out, " ...");
}

/* True if the caret is already at this name; at Linear for nn.Linear, too. */
static bool is_shown(const LangError *e, const char *name) {
    size_t n, len = strlen(name);
    const char *s = span_text(e->at, &n);
    return s && n && n <= len && !memcmp(name + len - n, s, n) &&
           (n == len || name[len - n - 1] == '.');
}

/* Appends "in nll_loss, in cross_entropy (prelude)" for frames first to last, without one that the
 * caret shows. False if all frames are left out. */
static bool put_prelude(const LangError *e, int first, int last, Bytes *out) {
    int n = 0;
    const char *before = NULL;
    for (int i = first; i <= last; i++) {
        const char *name = e->frame[i].name, *dot = strrchr(name, '.');
        bool is_private = name[0] == '_' || !name[0] || (dot && dot[1] == '_');
        if (name == before || is_private || (first == 0 && i == last && is_shown(e, name)))
            continue;
        before = name;
        if (n++ < NAMES_MAX) bytes_printf(out, "%s in %s", n == 1 ? " " : ",", name);
    }
    if (n > NAMES_MAX) bytes_puts(out, ", ...");
    if (n) bytes_puts(out, " (prelude)");
    return n > 0;
}

static bool is_same_line(Span a, Span b) { return a.src == b.src && a.line == b.line; }
static bool is_in_program(Span at) { return at.src && !at.src->is_prelude && at.line; }

/* One line per call, the prelude's with their places, too. */
static void print_unfolded(const LangError *e, int columns, Bytes *out) {
    for (int i = 0; i < e->n_frames; i++) {
        const ErrorFrame *f = &e->frame[i];
        if (e->n_left_out && i == ERROR_FRAMES_INNER)
            bytes_printf(out, "  ... %u more calls\n", e->n_left_out);
        const char *name = *f->name ? f->name : "fn";
        bytes_printf(out, "  in %s%s", name, f->is_prelude ? " (prelude)" : "");
        if (f->call.src && f->call.line) {
            bytes_printf(out, ", %s at ", f->is_file ? "imported" : "called");
            error_words(f->call.src->name, false, out);
            bytes_printf(out, ":%u", f->call.line);
            put_source(f->call, columns, out);
        }
        bytes_putc(out, '\n');
        if (f->again) bytes_printf(out, "  ... %u more of the same\n", f->again);
    }
}

void error_stack_print(const LangError *e, int columns, Bytes *out) {
    if (e->is_unfolded) {
        print_unfolded(e, columns, out);
        return;
    }
    Span reached = e->at; /* the line printed last */
    for (int i = 0, next; i < e->n_frames; i = next) {
        const ErrorFrame *f = &e->frame[i];
        next = i + 1;
        if (e->n_left_out && i == ERROR_FRAMES_INNER)
            bytes_printf(out, "  ... %u more calls\n", e->n_left_out);
        if (!*f->name && !f->again && is_same_line(f->call, reached)) continue; /* f(fn() => x) */
        bool has_text = true;
        for (; f->is_prelude && next < e->n_frames && e->frame[next].is_prelude &&
               !(e->n_left_out && next == ERROR_FRAMES_INNER);)
            next++;
        const Span call = e->frame[next - 1].call;
        if (f->is_prelude)
            has_text = put_prelude(e, i, next - 1, out);
        else
            bytes_printf(out, "  in %s", *f->name ? f->name : "fn");
        bool is_at = i == 0 && f->is_prelude && is_same_line(call, reached);
        if (is_in_program(call) && !is_at) {
            bytes_printf(out, "%s %s at ", has_text ? "," : " ",
                         f->is_file ? "imported" : "called");
            error_words(call.src->name, false, out);
            bytes_printf(out, ":%u", call.line);
            put_source(call, columns, out);
            has_text = true;
            reached = call;
        }
        if (has_text) bytes_putc(out, '\n');
        uint32_t again = e->frame[next - 1].again;
        if (again && !f->is_prelude) bytes_printf(out, "  ... %u more of the same\n", again);
    }
}
