/* picture.c: see picture.h. An instruction's attribute meta is JSON: the options of figures, which
 * picture_options checks, for programs and for instruction files. picture_fill.c makes figures of
 * values.
 * SPDX-License-Identifier: MIT */
#include "lang/text/picture.h"
#include "lang/picture/file.h"
#include "lang/picture/text.h"
#include "lang/tensor/tensor.h"
#include "lang/text/picture_fill.h"
#include "lang/text/progress.h"
#include "lang/text/show.h"
#include "lang/value/mapv.h"
#include "runtime/base/words.h"
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_OPTIONS = 1000, MAX_OPERANDS = 2 * FIGURE_SERIES + 1, MAX_TITLE = 16 };

typedef struct Drawing {
    Interp *in;
    Op op;
    char *path; /* NULL: the screen */
    char *keys;
    char *title; /* a format (show.h) for the operands named title, or NULL */
    size_t n_title;
    IoValue options;
} Drawing;

/* ---- the screen ---- */

static int colors_of(const Interp *in) {
    const char *term = getenv("TERM"), *more = getenv("COLORTERM");
    if (!in->config.color_out) return 0;
    if (more && (!strcmp(more, "truecolor") || !strcmp(more, "24bit"))) return 1 << 24;
    if (!term || words_have("dumb linux ansi vt100 vt220 cons25", term, strlen(term))) return 8;
    return 256;
}

static TextScreen screen_of(const Interp *in) {
    const char *term = getenv("TERM");
    struct winsize w;
    TextScreen s = {.columns = in->config.width > 0 ? in->config.width : 80,
                    .is_utf8 =
                        !strcmp(nl_langinfo(CODESET), "UTF-8") && !(term && !strcmp(term, "dumb")),
                    .colors = colors_of(in)};
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20)
        s.columns = w.ws_col, s.rows = w.ws_row;
    return s;
}

/* ---- when the values have arrived ---- */

static bool write_file(const Figure *f, const char *path, Err *err) {
    Bytes out = {0};
    bool ok = figure_file(f, path, &out, err) && io_make_parents(path, err) &&
              io_write(path, out.data, out.n, err);
    bytes_fini(&out);
    return ok;
}

/* Sets the title from the last operands, which are named so; *n becomes the number of others. */
static bool set_title(const Drawing *d, const Reply *r, Figure *f, uint32_t *n, Err *err) {
    Bytes text = {0};
    const char *key = d->keys;
    *n = 0;
    while (*n < r->n && strncmp(key, "title", 5) != 0) {
        key += strcspn(key, "\n");
        key += *key == '\n';
        ++*n;
    }
    if (!d->title) return *n == r->n || err_set(err, ERR_ARG, "a title needs a format");
    Reply rest = {.n = r->n - *n, .value = r->value + *n};
    bool ok = show_format(d->title, d->n_title, &rest, &print_defaults, &text, err);
    free(f->title);
    f->title = text.data;
    return ok;
}

static bool drawing_done(void *ctx, const Reply *r, Err *err) {
    Drawing *d = ctx;
    Figure f;
    Bytes text = {0};
    Reply values = {.value = r->value};
    bool ok = picture_options(d->op, &d->options, &f, err) && set_title(d, r, &f, &values.n, err) &&
              picture_fill(&f, d->keys, &values, err);
    if (ok && d->path)
        ok = write_file(&f, d->path, err);
    else if (ok) {
        TextScreen screen = screen_of(d->in);
        figure_text(&f, &screen, &text);
        progress_clear(d->in);
        fwrite(text.data, 1, text.n, stdout);
    }
    bytes_fini(&text);
    figure_fini(&f);
    return ok;
}

static void drawing_drop(void *ctx) {
    Drawing *d = ctx;
    free(d->path), free(d->keys), free(d->title);
    io_fini(&d->options);
    free(d);
}

/* ---- sending ---- */

/* Checks what can be known before the values are: the options and the file's name. */
static bool check(const Drawing *d, Err *err) {
    Figure f;
    bool ok = picture_options(d->op, &d->options, &f, err);
    figure_fini(&f);
    return ok && (!d->path || figure_is_file(d->path, err));
}

bool picture_effect(Interp *in, Op op, const MapV *operands, const char *path, const Pieces *title,
                    const IoValue *options, LangError *e) {
    Handle *handle[MAX_OPERANDS + MAX_TITLE];
    Bytes keys = {0}, meta = {0};
    Err err = {0};
    Value key, v;
    Attr attr[4];
    int n = 0, n_attr = 0;
    bool ok = true;
    Drawing *d = xcalloc(1, sizeof *d);
    d->in = in, d->op = op;
    if (path) d->path = xstrdup(path);
    for (size_t i = 0; mapv_at(operands, i, &key, &v) && n < MAX_OPERANDS; i++) {
        bytes_printf(&keys, "%s%s", n ? "\n" : "", key.str->s);
        handle[n++] = v.tensor->handle;
    }
    for (int i = 0; title && i < title->n && i < MAX_TITLE; i++) {
        bytes_puts(&keys, "\ntitle");
        handle[n++] = title->t[i]->handle;
    }
    if (title) d->title = xstrndup(title->format.data, d->n_title = title->format.n);
    json_print(options, -1, &meta);
    d->keys = xstrdup(keys.data ? keys.data : "");
    ok = json_parse(meta.data, meta.n, MAX_OPTIONS, &d->options, &err) && check(d, &err);
    if (ok) {
        attr[n_attr++] = attr_str(ATTR_KEYS, keys.data, keys.n);
        if (path) attr[n_attr++] = attr_str(ATTR_PATH, d->path, strlen(path));
        if (options->n) attr[n_attr++] = attr_str(ATTR_META, meta.data, meta.n);
        if (title) attr[n_attr++] = attr_str(ATTR_FORMAT, d->title, d->n_title);
        Effect ef = {op, attr, n_attr, handle, n, drawing_done, drawing_drop, d};
        ok = stream_effect(in->stream, &ef, interp_span(in), e);
    } else {
        error_from(e, &err);
        drawing_drop(d);
    }
    bytes_fini(&keys), bytes_fini(&meta);
    return ok;
}

bool picture_inst(Interp *in, const Inst *inst, Handle *const *handle, Span at, LangError *e) {
    const Attr *keys = inst_attr(inst, ATTR_KEYS), *path = inst_attr(inst, ATTR_PATH);
    const Attr *meta = inst_attr(inst, ATTR_META), *title = inst_attr(inst, ATTR_FORMAT);
    Drawing *d = xcalloc(1, sizeof *d);
    Err err = {0};
    d->in = in, d->op = inst->op;
    d->keys = xstrndup(keys ? keys->str : "", keys ? keys->n : 0);
    if (path) d->path = xstrndup(path->str, path->n);
    if (title) d->title = xstrndup(title->str, d->n_title = title->n);
    d->options.kind = IO_MAP;
    bool ok = !meta || json_parse(meta->str, meta->n, MAX_OPTIONS, &d->options, &err);
    if (!ok || !check(d, &err)) {
        drawing_drop(d);
        error_from(e, &err);
        return error_locate(e, at);
    }
    Effect ef = {inst->op,   inst->attr,   inst->n_attr, handle,
                 inst->n_in, drawing_done, drawing_drop, d};
    return stream_effect(in->stream, &ef, at, e);
}
