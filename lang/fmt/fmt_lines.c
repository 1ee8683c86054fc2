/* fmt_lines.c: joins the formatted lines. Comments at the ends of successive lines that share a
 * column in the source share one in the output, as far from the code as the author left it.
 * SPDX-License-Identifier: MIT */
#include "lang/fmt/fmt_state.h"
#include "runtime/base/utf8.h"
#include <string.h>

/* The width of a line's last part; a string may span lines. */
static int width_of(const Fmt *f, const FmtLine *l) {
    const char *s = f->code.data + l->at, *last = l->n ? memrchr(s, '\n', l->n) : NULL;
    size_t from = last ? (size_t)(last + 1 - s) : 0;
    return (int)utf8_count(s + from, l->n - from);
}

/* The end of the run of lines from `from` on whose comments share a column. */
static size_t run_end(const Fmt *f, size_t from) {
    size_t k = from + 1;
    while (k < f->n_lines && f->line[k].comment && f->line[k].column == f->line[from].column) k++;
    return k;
}

static void put_run(const Fmt *f, size_t from, size_t to, Bytes *out) {
    int width = 0, gap = 0;
    for (size_t k = from; k < to; k++) {
        const FmtLine *l = &f->line[k];
        int w = width_of(f, l);
        if (l->n && w > width) width = w;
        if (l->n && (!gap || l->gap < gap)) gap = l->gap;
    }
    int column = width + (gap < 1 ? 2 : gap);
    for (size_t k = from; k < to; k++) {
        const FmtLine *l = &f->line[k];
        bytes_add(out, f->code.data + l->at, l->n);
        for (int w = width_of(f, l); w < column; w++) bytes_putc(out, ' ');
        bytes_add(out, l->comment, l->n_comment);
        bytes_putc(out, '\n');
    }
}

void fmt_join(const Fmt *f, Bytes *out) {
    for (size_t k = 0; k < f->n_lines;) {
        const FmtLine *l = &f->line[k];
        size_t next = l->comment ? run_end(f, k) : k + 1;
        if (l->comment)
            put_run(f, k, next, out);
        else {
            if (l->n) bytes_add(out, f->code.data + l->at, l->n);
            bytes_putc(out, '\n');
        }
        k = next;
    }
}
