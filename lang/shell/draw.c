/* draw.c: see draw.h. A layout breaks prompt and text into rows of the terminal's width; wide
 * characters take two columns, combining ones none. A row that is full goes on in the next by the
 * terminal's own wrapping, so that a copy of it has no newline.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/draw.h"
#include "lang/complete/paint.h"
#include "runtime/base/err.h"
#include "runtime/base/utf8.h"
#include <stdlib.h>
#include <string.h>

enum { TAB_STOP = 8 };

typedef struct Layout {
    Drawing *d;
    int width, col;
    uint8_t class;
} Layout;

static DrawRow *row_of(Layout *l) { return &l->d->row[l->d->n_rows - 1]; }

static void set_class(Layout *l, uint8_t class) {
    if (l->class == class) return;
    bytes_printf(&l->d->bytes, "\033[%s%sm", class ? "0;" : "", paint_sgr(class));
    l->class = class;
}

static void row_end(Layout *l, bool is_wrapped) {
    set_class(l, PAINT_PLAIN);
    DrawRow *r = row_of(l);
    r->n = l->d->bytes.n - r->at;
    r->columns = l->col;
    r->is_wrapped = is_wrapped;
}

static void row_begin(Layout *l) {
    Drawing *d = l->d;
    ARRAY_PUSH(d->row, d->n_rows, d->cap, 8, (DrawRow){.at = d->bytes.n});
    l->col = 0;
}

static void row_break(Layout *l, bool is_wrapped) {
    row_end(l, is_wrapped);
    row_begin(l);
}

static void put(Layout *l, const char *s, size_t n, int columns, uint8_t class) {
    if (l->col + columns > l->width) row_break(l, l->col == l->width);
    set_class(l, class);
    bytes_add(&l->d->bytes, s, n);
    l->col += columns;
}

/* Puts the character at s, of at most n bytes; returns its length. */
static size_t put_char(Layout *l, const char *s, size_t n, uint8_t class) {
    uint32_t cp;
    unsigned char c = (unsigned char)*s;
    if (c == '\n') {
        row_break(l, false);
        return 1;
    }
    if (c == '\t') {
        do put(l, " ", 1, 1, class);
        while (l->col % TAB_STOP && l->col < l->width);
        return 1;
    }
    if (c < 0x20 || c == 0x7f) {
        char caret[2] = {'^', (char)(c ^ 0x40)};
        put(l, caret, 2, 2, class);
        return 1;
    }
    int len = utf8_decode(s, n, &cp);
    if (!len || (cp >= 0x80 && cp < 0xa0)) {
        put(l, "?", 1, 1, class);
        return len ? (size_t)len : 1;
    }
    put(l, s, (size_t)len, utf8_width(cp), class);
    return (size_t)len;
}

/* Lays prompt and text out in an empty d. */
static void lay_out(Drawing *d, const DrawText *t, int width) {
    Layout l = {.d = d, .width = width};
    row_begin(&l);
    for (const char *p = t->prompt; *p;) {
        if (*p == '\001') {
            const char *end = strchr(p, '\002');
            size_t n = end ? (size_t)(end - p - 1) : strlen(p + 1);
            bytes_add(&d->bytes, p + 1, n);
            p = end ? end + 1 : p + 1 + n;
            continue;
        }
        p += put_char(&l, p, strlen(p), PAINT_PLAIN);
    }
    for (size_t i = 0; i <= t->n;) {
        bool is_cursor = i == t->cursor;
        if (is_cursor && l.col == width) row_break(&l, true);
        if (is_cursor) d->row_cursor = d->n_rows - 1, d->col_cursor = l.col;
        if (i == t->n) break;
        uint32_t cp = 0;
        int len = utf8_decode(t->text + i, t->n - i, &cp);
        bool goes_over = is_cursor && len && l.col + utf8_width(cp) > width;
        i += put_char(&l, t->text + i, t->n - i, t->class ? t->class[i] : PAINT_PLAIN);
        if (goes_over) d->row_cursor = d->n_rows - 1, d->col_cursor = 0;
    }
    row_end(&l, false);
    d->width = width;
}

/* ---- the terminal ---- */

/* Moves the cursor between rows, of which n are on the terminal already; makes the others. */
static void move_rows(int from, int to, int n, Bytes *out) {
    int down = (to < n - 1 ? to : n - 1) - from;
    if (to < from) bytes_printf(out, "\033[%dA", from - to);
    if (down > 0) bytes_printf(out, "\033[%dB", down), from += down;
    for (; from < to; from++) bytes_puts(out, "\r\n");
}

static bool same_row(const Drawing *a, int i, const Drawing *b, int k) {
    const DrawRow *x = &a->row[i], *y = &b->row[k];
    return x->n == y->n && x->is_wrapped == y->is_wrapped &&
           !memcmp(a->bytes.data + x->at, b->bytes.data + y->at, x->n);
}

/* The first of the rows that `height` rows show: the cursor's row is among them, and the window
 * moves as little as possible. */
static int window_top(const Drawing *d, int top, int height) {
    if (d->n_rows <= height) return 0;
    if (top > d->n_rows - height) top = d->n_rows - height;
    if (d->row_cursor < top) return d->row_cursor;
    return d->row_cursor >= top + height ? d->row_cursor - height + 1 : top;
}

static void put_row(const Drawing *d, int i, Bytes *out) {
    const DrawRow *r = &d->row[i];
    bytes_add(out, d->bytes.data ? d->bytes.data + r->at : "", r->n);
    if (r->columns < d->width) bytes_puts(out, "\033[K");
}

/* Writes the rows of `to` where those of `from`, with the cursor at the first one, are. */
static void put_rows(const Drawing *from, const Drawing *to, int height, Bytes *out) {
    int n = to->n_rows - to->top < height ? to->n_rows - to->top : height;
    int n_old = from->n_rows - from->top < height ? from->n_rows - from->top : height;
    int at = 0, known = n_old;
    bool flows = false; /* the row before was written and wraps into this one */
    for (int i = 0; i < n; i++) {
        bool is_old =
            i < n_old && from->width == to->width && same_row(from, from->top + i, to, to->top + i);
        if (is_old && !flows) continue;
        if (!flows || at + 1 != i) {
            move_rows(at, i, known, out);
            bytes_putc(out, '\r');
        }
        if (i >= known) known = i + 1;
        put_row(to, to->top + i, out);
        flows = to->row[to->top + i].is_wrapped && i + 1 < n && to->row[to->top + i + 1].columns;
        at = i;
    }
    if (n_old > n) {
        move_rows(at, n, known, out);
        bytes_puts(out, "\r\033[J");
        at = n;
    }
    move_rows(at, to->row_cursor - to->top, known, out);
    bytes_putc(out, '\r');
    if (to->col_cursor) bytes_printf(out, "\033[%dC", to->col_cursor);
}

void draw(Drawing *d, const DrawText *t, int width, int height, Bytes *out) {
    Drawing next = {0};
    if (width < 2) width = 2;
    if (height < 1) height = 1;
    lay_out(&next, t, width);
    next.height = height;
    next.top = window_top(&next, d->top, height);
    bool is_resized = d->width != width || d->height != height;
    if (d->n_rows && is_resized) { /* the terminal has broken the rows anew */
        int up = next.row_cursor - next.top;
        if (up) bytes_printf(out, "\033[%dA", up);
        bytes_puts(out, "\r\033[J");
        draw_forget(d);
    } else if (d->row_cursor - d->top > 0)
        bytes_printf(out, "\033[%dA", d->row_cursor - d->top);
    put_rows(d, &next, height, out);
    draw_forget(d);
    *d = next;
}

void draw_end(Drawing *d, Bytes *out) {
    if (d->n_rows) move_rows(d->row_cursor, d->n_rows - 1, d->n_rows, out);
}

void draw_erase(Drawing *d, Bytes *out) {
    if (d->row_cursor - d->top > 0) bytes_printf(out, "\033[%dA", d->row_cursor - d->top);
    bytes_puts(out, "\r\033[J");
    draw_forget(d);
}

void draw_forget(Drawing *d) {
    bytes_fini(&d->bytes);
    free(d->row);
    *d = (Drawing){0};
}
