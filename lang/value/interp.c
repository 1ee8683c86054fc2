/* interp.c: what every folder asks of the interpreter: where the program is, so that carets point
 * there rather than into the prelude; its sources; warnings.
 * SPDX-License-Identifier: MIT */
#include "lang/value/interp.h"
#include "lang/value/frame.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- positions ---- */

Span interp_span(const Interp *in) {
    const Node *at = in->at;
    const Frame *f = in->frame;
    while (at && at->at.src && at->at.src->is_prelude && f && f->call) {
        at = f->call;
        f = f->up;
    }
    return at ? at->at : (Span){0};
}

Span node_span(Interp *in, const Node *n) {
    if (!n->at.src || !n->at.src->is_prelude) return n->at;
    in->at = n;
    return interp_span(in);
}

bool fail_at(Interp *in, const Node *n, LangError *e, const char *format, ...) {
    char text[sizeof e->what];
    FORMAT_INTO(text, format);
    return error_at(e, n ? node_span(in, n) : interp_span(in), "%s", text);
}

/* ---- the terminal ---- */

int interp_width(Interp *in) {
    if (in->config.columns) in->config.width = in->config.columns();
    return in->config.width > 0 ? in->config.width : 80;
}

/* ---- sources ---- */

Source *interp_source(Interp *in, const char *name, const char *text, size_t n, uint32_t first_line,
                      bool is_prelude) {
    if (in->n_sources % 16 == 0)
        in->source = xrealloc(in->source, (in->n_sources + 16) * sizeof *in->source);
    Source *s = xmalloc(sizeof *s);
    *s = (Source){.name = xstrdup(name),
                  .text = xstrndup(text, n),
                  .n = n,
                  .first_line = first_line,
                  .id = (uint16_t)(in->n_sources < UINT16_MAX ? in->n_sources : UINT16_MAX),
                  .is_prelude = is_prelude};
    in->source[in->n_sources++] = s;
    return s;
}

void interp_free_sources(Interp *in) {
    for (size_t i = 0; i < in->n_sources; i++) {
        free((char *)in->source[i]->name);
        free((char *)in->source[i]->text);
        free(in->source[i]);
    }
    free(in->source);
}

/* ---- warnings ---- */

void interp_warn(Interp *in, const LangError *w) {
    Bytes b = {0};
    if (in->clear_line) in->clear_line(in);
    error_print_on(w, "warning", in->config.color_err, error_columns(STDERR_FILENO), &b);
    bytes_write(&b, stderr);
}

void interp_warn_once(Interp *in, const LangError *w) {
    for (size_t i = 0; i < in->n_warned; i++)
        if (in->warned[i].src == w->at.src && in->warned[i].line == w->at.line &&
            in->warned[i].col == w->at.col)
            return;
    in->warned = xrealloc(in->warned, (in->n_warned + 1) * sizeof *in->warned);
    in->warned[in->n_warned++] = w->at;
    interp_warn(in, w);
}

void interp_warn_late(void *interp, const LangError *w) {
    Interp *in = interp;
    if (strcmp(w->what, "result not used")) {
        interp_warn(in, w);
        return;
    }
    size_t n = in->n_dead_warnings++;
    in->dead_warning = xrealloc(in->dead_warning, (n + 1) * sizeof *w);
    in->dead_warning[n] = *w;
}

void interp_warn_until(Interp *in, const Node *next) {
    size_t n = 0;
    for (; n < in->n_dead_warnings; n++) {
        Span at = in->dead_warning[n].at;
        if (next && (at.src != next->whole.src || at.line > next->whole.line ||
                     (at.line == next->whole.line && at.col >= next->whole.col)))
            break;
        fflush(stdout);
        interp_warn(in, &in->dead_warning[n]);
    }
    in->n_dead_warnings -= n;
    if (n) memmove(in->dead_warning, in->dead_warning + n, in->n_dead_warnings * sizeof(LangError));
}

void interp_warn_ctx(void *interp, const LangError *w) { interp_warn(interp, w); }
