/* effects.c: printing, writing, notes and assertions as instructions. The text of an effect is made
 * when its values arrive, in stream order. The stream skips an effect with a poisoned operand.
 * pieces_look is the exception: it waits for the values.
 * SPDX-License-Identifier: MIT */
#include "lang/text/progress.h"
#include "lang/text/effects.h"
#include "lang/file/io.h"
#include "lang/text/show.h"
#include "lang/tensor/tensor.h"
#include "lang/error/interrupt.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- when the values have arrived ---- */

typedef struct TextEffect {
    Interp *in;
    PrintOptions options;
    bool to_stderr, append;
    char *path; /* write: owned */
    size_t n;
    char format[];
} TextEffect;

/* Write text to f. Ctrl-C ends a long text: a slow terminal takes minutes for one. */
static bool put_text(const Bytes *text, FILE *f, Err *err) {
    enum { PIECE = 16 << 10 };
    for (size_t at = 0; at < text->n; at += PIECE) {
        if (at && interrupt_count) {
            fputc('\n', f);
            return interrupt_fail_io(err);
        }
        fwrite(text->data + at, 1, text->n - at < PIECE ? text->n - at : PIECE, f);
    }
    return true;
}

static bool print_done(void *ctx, const Reply *r, Err *err) {
    TextEffect *x = ctx;
    Bytes text = {0};
    bool ok = show_format(x->format, x->n, r, &x->options, &text, err);
    FILE *f = x->to_stderr ? stderr : stdout;
    if (ok && text.n) {
        if (x->in) progress_clear(x->in); /* a replay has no interpreter */
        ok = put_text(&text, f, err);
    }
    bytes_fini(&text);
    return ok;
}

static bool write_done(void *ctx, const Reply *r, Err *err) {
    TextEffect *x = ctx;
    Bytes text = {0};
    bool ok = show_format(x->format, x->n, r, &x->options, &text, err);
    const char *data = text.data ? text.data : "";
    ok = ok && (x->append ? io_append : io_write)(x->path, data, text.n, err);
    bytes_fini(&text);
    return ok;
}

static bool note_done(void *ctx, const Reply *r, Err *err) {
    (void)ctx, (void)r, (void)err;
    return true;
}

/* The first value is the condition, the others fill the text. */
static bool assert_done(void *ctx, const Reply *r, Err *err) {
    TextEffect *x = ctx;
    ReplyValue condition = r->value[0];
    Bytes text = {0};
    bool is_true = false;
    const uint8_t *byte = condition.data;
    for (uint64_t i = 0; i < condition.bytes; i++) {
        bool has_sign = dtype_is_float(condition.type.dtype) && i + 1 == condition.bytes;
        is_true |= (has_sign ? byte[i] & 0x7f : byte[i]) != 0; /* -0.0 is false */
    }
    if (is_true) return true;
    Reply rest = {.n = r->n - 1, .value = r->value + 1};
    bool ok = show_format(x->format, x->n, &rest, &x->options, &text, err);
    if (ok) err_set(err, ERR_ASSERT, "%s", text.n ? text.data : "assertion failed");
    bytes_fini(&text);
    return false;
}

static void text_drop(void *ctx) {
    TextEffect *x = ctx;
    free(x->path);
    free(x);
}

/* ---- sending effects ---- */

/* Bytes that are shown as text ("{!t}") are never summarised. */
static int threshold_for(const Pieces *p, int threshold) {
    const char *s = p->format.data;
    for (size_t i = 0, k = 0; i < p->format.n; i++) {
        if (s[i] != '{') continue;
        if (i + 1 < p->format.n && s[i + 1] == '{') {
            i++;
            continue;
        }
        bool is_text = i + 2 < p->format.n && s[i + 1] == '!' && s[i + 2] == 't';
        int64_t n = tensor_numel(p->t[k++]);
        if (is_text && n > threshold) threshold = n < INT_MAX ? (int)n : INT_MAX;
    }
    return threshold;
}

static PrintOptions options_of(Interp *in, const Pieces *p) {
    PrintOptions o = in->print ? *in->print : print_defaults;
    if (!in->print || !o.linewidth) o.linewidth = interp_width(in);
    o.threshold = threshold_for(p, o.threshold);
    o.float_dtype = in->float_dtype;
    return o;
}

static TextEffect *text_new(Interp *in, const Pieces *p) {
    TextEffect *x = xcalloc(1, sizeof *x + p->format.n + 1);
    x->in = in;
    x->options = options_of(in, p);
    x->n = p->format.n;
    if (x->n) memcpy(x->format, p->format.data, x->n);
    return x;
}

/* The attributes that a replay needs to print the same text: options changed by set_print, the
 * default dtype, and those that decide which elements are sent. */
static int option_attrs(const Interp *in, const PrintOptions *o, bool summarizes, Attr *attr) {
    const PrintOptions *d = &print_defaults;
    bool is_set = in->print != NULL;
    int n = 0;
    if (summarizes || (is_set && (o->edgeitems != d->edgeitems || o->threshold != d->threshold))) {
        attr[n++] = attr_int(ATTR_EDGE, o->edgeitems);
        attr[n++] = attr_int(ATTR_THRESHOLD, o->threshold);
    }
    if (is_set && o->precision != d->precision) attr[n++] = attr_int(ATTR_PRECISION, o->precision);
    if (is_set && o->sci != d->sci) attr[n++] = attr_int(ATTR_SCI, o->sci);
    if (o->float_dtype != d->float_dtype) attr[n++] = attr_dtype(o->float_dtype);
    if (is_set && o->linewidth != d->linewidth) attr[n++] = attr_int(ATTR_LINEWIDTH, o->linewidth);
    return n;
}

static void too_long(size_t bytes, int n, Op op, LangError *e) {
    error_set(e, "a text of %zu bytes with %d tensor%s is too long: at most %u bytes, %d tensors",
              bytes, n, n == 1 ? "" : "s", MAX_STR, MAX_IN);
    if (op == OP_WRITE) error_hint(e, "in pieces: write(path, text, append=true)");
}

/* Takes ownership of x. first: an operand placed before those of p, or NULL. */
static bool send(Interp *in, Op op, TextEffect *x, const Pieces *p, Tensor *first, const Attr *more,
                 int n_more, bool (*done)(void *, const Reply *, Err *), LangError *e) {
    int n = p->n + (first != NULL), n_attr = 0;
    Handle *few[8], **h = n > 8 ? xmalloc(sizeof *h * (size_t)n) : few;
    Attr attr[8];
    bool summarizes = false, ok = false;
    if (x->n > stream_text_max(in->stream, op, n) || n > MAX_IN) {
        too_long(x->n, n, op, e);
        text_drop(x);
        goto done;
    }
    for (int i = 0; i < p->n; i++) {
        h[i + (first != NULL)] = p->t[i]->handle;
        summarizes |= tensor_numel(p->t[i]) > x->options.threshold;
    }
    if (first) h[0] = first->handle;
    attr[n_attr++] = attr_str(ATTR_FORMAT, x->format, x->n);
    if (p->n > 0) n_attr += option_attrs(in, &x->options, summarizes, attr + n_attr);
    for (int i = 0; i < n_more; i++) attr[n_attr++] = more[i];
    Effect ef = {.op = op,
                 .attr = attr,
                 .n_attr = n_attr,
                 .handle = h,
                 .n = n,
                 .done = done,
                 .drop = text_drop,
                 .ctx = x};
    ok = stream_effect(in->stream, &ef, interp_span(in), e);
done:
    if (h != few) free(h);
    return ok;
}

/* If the text with its tensors is too long to be sent, waits for their values: *whole is then the
 * text without tensors, to be freed, else empty. */
static bool look_if_long(Interp *in, Op op, const Pieces *p, Pieces *whole, LangError *e) {
    *whole = (Pieces){0};
    if (!p->n || p->format.n <= stream_text_max(in->stream, op, p->n) ||
        p->format.n > stream_text_max(in->stream, op, 0))
        return true;
    Bytes text = {0};
    bool ok = pieces_look(in, p, &text, e);
    if (ok) show_escape(text.data, text.n, &whole->format);
    bytes_fini(&text);
    return ok;
}

bool effect_print(Interp *in, const Pieces *p, bool to_stderr, LangError *e) {
    Pieces whole;
    TRY(look_if_long(in, OP_PRINT, p, &whole, e));
    if (whole.format.n) {
        bool ok = effect_print(in, &whole, to_stderr, e);
        pieces_fini(&whole);
        return ok;
    }
    TextEffect *x = text_new(in, p);
    Attr err = attr_bool(ATTR_ERR, true);
    x->to_stderr = to_stderr;
    return send(in, OP_PRINT, x, p, NULL, &err, to_stderr, print_done, e);
}

bool effect_write(Interp *in, const char *path, bool append, const Pieces *p, LangError *e) {
    Pieces whole;
    TRY(look_if_long(in, OP_WRITE, p, &whole, e));
    if (whole.format.n) {
        bool ok = effect_write(in, path, append, &whole, e);
        pieces_fini(&whole);
        return ok;
    }
    TextEffect *x = text_new(in, p);
    x->path = xstrdup(path), x->append = append;
    Attr more[2] = {attr_str(ATTR_PATH, x->path, strlen(path)), attr_bool(ATTR_APPEND, true)};
    return send(in, OP_WRITE, x, p, NULL, more, 1 + append, write_done, e);
}

bool effect_note(Interp *in, const Pieces *p, LangError *e) {
    return send(in, OP_NOTE, text_new(in, p), p, NULL, NULL, 0, note_done, e);
}

bool effect_assert(Interp *in, Tensor *condition, const Pieces *message, LangError *e) {
    return send(in, OP_ASSERT, text_new(in, message), message, condition, NULL, 0, assert_done, e);
}

bool effect_inst(Interp *in, const Inst *inst, Handle *const *handle, Span at, LangError *e) {
    const Attr *format = inst_attr(inst, ATTR_FORMAT), *path = inst_attr(inst, ATTR_PATH);
    TextEffect *x = xcalloc(1, sizeof *x + format->n + 1);
    x->in = in;
    x->options = print_defaults;
    x->options.edgeitems = (int)inst_int(inst, ATTR_EDGE, x->options.edgeitems);
    x->options.threshold = (int)inst_int(inst, ATTR_THRESHOLD, x->options.threshold);
    x->options.precision = (int)inst_int(inst, ATTR_PRECISION, x->options.precision);
    x->options.sci = (int)inst_int(inst, ATTR_SCI, x->options.sci);
    if (inst_attr(inst, ATTR_DTYPE))
        x->options.float_dtype = (DType)inst_attr(inst, ATTR_DTYPE)->dtype;
    x->options.linewidth = (int)inst_int(
        inst, ATTR_LINEWIDTH, in->config.width > 0 ? in->config.width : x->options.linewidth);
    x->n = format->n;
    if (x->n) memcpy(x->format, format->str, x->n);
    x->to_stderr = inst_bool(inst, ATTR_ERR, false);
    x->append = inst_bool(inst, ATTR_APPEND, false);
    if (path) x->path = xstrndup(path->str, path->n);
    Effect ef = {.op = inst->op,
                 .attr = inst->attr,
                 .n_attr = inst->n_attr,
                 .handle = handle,
                 .n = inst->n_in,
                 .drop = text_drop,
                 .ctx = x};
    ef.done = inst->op == OP_PRINT    ? print_done
              : inst->op == OP_WRITE  ? write_done
              : inst->op == OP_ASSERT ? assert_done
                                      : note_done;
    return stream_effect(in->stream, &ef, at, e);
}

/* ---- reading values ---- */

/* A pending value. The caller may give up before it arrives, so caller and effect each hold a
 * reference. */
typedef struct Peek {
    int refs;
    ReplyValue v;
} Peek;

static bool peek_done(void *ctx, const Reply *r, Err *err) {
    Peek *p = ctx;
    (void)err;
    p->v = r->value[0];
    void *copy = xmalloc(p->v.bytes + 1);
    memcpy(copy, r->value[0].data, p->v.bytes);
    p->v.data = copy;
    return true;
}

static void peek_drop(void *ctx) {
    Peek *p = ctx;
    if (--p->refs) return;
    free((void *)p->v.data);
    free(p);
}

/* Waits for the elements of t that are printed. v->data is malloc'ed, NULL on failure. */
static bool look_at(Interp *in, Tensor *t, const PrintOptions *options, ReplyValue *v,
                    LangError *e) {
    void *data = NULL;
    *v = (ReplyValue){.type = *tensor_type(t)};
    if (tensor_numel(t) <= options->threshold || stream_mode(in->stream) != STREAM_LIVE) {
        TRY(stream_value(in->stream, t->handle, interp_span(in), &data, e));
        v->data = data, v->bytes = type_bytes(&v->type);
        return true;
    }
    Attr attr[2] = {attr_int(ATTR_EDGE, options->edgeitems),
                    attr_int(ATTR_THRESHOLD, options->threshold)};
    Peek *p = xcalloc(1, sizeof *p);
    p->refs = 2;
    Effect ef = {.op = OP_PEEK,
                 .attr = attr,
                 .n_attr = 2,
                 .handle = &t->handle,
                 .n = 1,
                 .done = peek_done,
                 .drop = peek_drop,
                 .ctx = p};
    bool ok = stream_effect(in->stream, &ef, interp_span(in), e) && stream_sync(in->stream, e);
    if (ok && !p->v.data)
        ok = error_set(e, "the value is not there: an instruction before it failed");
    if (ok) *v = p->v, p->v.data = NULL;
    peek_drop(p);
    return ok;
}

bool pieces_look(Interp *in, const Pieces *p, Bytes *out, LangError *e) {
    PrintOptions options = options_of(in, p);
    ReplyValue few[4], *v = p->n > 4 ? xmalloc(sizeof *v * (size_t)p->n) : few;
    Err err = {0};
    bool ok = true;
    int n = 0;
    while (ok && n < p->n) ok = look_at(in, p->t[n], &options, &v[n], e), n++;
    if (ok) {
        Reply r = {.n = (uint32_t)p->n, .value = v};
        ok = show_format(p->format.data ? p->format.data : "", p->format.n, &r, &options, out,
                         &err) ||
             error_from(e, &err);
    }
    for (int i = 0; i < n; i++) free((void *)v[i].data);
    if (v != few) free(v);
    return ok;
}
