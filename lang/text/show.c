/* show.c: tensors as text, by PyTorch's rules. All printed elements have one width. Floats that are
 * all whole are written `1.`. The notation is scientific if the finite non-zero elements span a
 * factor of more than 1000 or leave [1e-4, 1e8]. Above `threshold` elements only the edge items are
 * printed (and sent). Statistics cover printed elements only. Source: torch/_tensor_str.py (its
 * behaviour; tests/golden has its output).
 * SPDX-License-Identifier: MIT */
#include "lang/text/show.h"
#include "lang/text/format.h"
#include "runtime/base/utf8.h"
#include "runtime/inst/element.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const PrintOptions print_defaults = {.precision = 4,
                                     .edgeitems = 3,
                                     .threshold = 1000,
                                     .linewidth = 80,
                                     .sci = -1,
                                     .float_dtype = DT_F32};

/* ---- elements ---- */

/* A tensor being shown: where its printed elements are in the reply, and how they are written. */
typedef struct Show {
    const ReplyValue *v;
    const PrintOptions *p;
    int edge; /* items kept per end of an axis; 0: all are printed */
    int64_t stored[MAX_DIMS], stride[MAX_DIMS];
    bool is_float, int_mode, sci;
    int width;
    Bytes *out;
} Show;

static const void *at(const ReplyValue *v, int64_t i) {
    return (const char *)v->data + i * dtype_info[v->type.dtype].size_bytes;
}
static double float_at(const ReplyValue *v, int64_t i) {
    return element_float(v->type.dtype, at(v, i));
}
static int64_t int_at(const ReplyValue *v, int64_t i) {
    return element_int(v->type.dtype, at(v, i));
}

static bool is_elided(const Show *s, int axis) {
    return s->edge && s->v->type.shape[axis] > 2 * s->edge;
}
static int64_t shown_count(const Show *s, int axis) {
    return is_elided(s, axis) ? 2 * s->edge : s->v->type.shape[axis];
}

/* Offset of the k-th printed item of an axis. */
static int64_t shown_offset(const Show *s, int axis, int64_t k) {
    if (is_elided(s, axis) && k >= s->edge) k = s->stored[axis] - 2 * s->edge + k;
    return k * s->stride[axis];
}

static void write_element(const Show *s, int64_t i, Bytes *out) {
    char text[400];
    const PrintOptions *p = s->p;
    if (s->v->type.dtype == DT_BOOL)
        snprintf(text, sizeof text, "%s", int_at(s->v, i) ? "true" : "false");
    else if (!s->is_float)
        snprintf(text, sizeof text, "%lld", (long long)int_at(s->v, i));
    else {
        double x = float_at(s->v, i);
        if (isnan(x))
            snprintf(text, sizeof text, "nan"); /* never -nan */
        else if (isinf(x))
            snprintf(text, sizeof text, x < 0 ? "-inf" : "inf");
        else if (s->sci)
            snprintf(text, sizeof text, "%.*e", p->precision, x);
        else if (s->int_mode)
            snprintf(text, sizeof text, "%.0f.", x);
        else
            snprintf(text, sizeof text, "%.*f", p->precision, x);
    }
    int pad = s->width - (int)strlen(text);
    while (pad-- > 0) bytes_putc(out, ' ');
    bytes_puts(out, text);
}

typedef struct Stats {
    double min, max;
    bool any, whole;
} Stats;

static void visit(Show *s, int axis, int64_t offset, void (*each)(Show *s, int64_t i, Stats *st),
                  Stats *st) {
    if (axis == s->v->type.rank) {
        each(s, offset, st);
        return;
    }
    for (int64_t k = 0, n = shown_count(s, axis); k < n; k++)
        visit(s, axis + 1, offset + shown_offset(s, axis, k), each, st);
}

static void gather_stats(Show *s, int64_t i, Stats *st) {
    double x = float_at(s->v, i), a = fabs(x);
    if (!isfinite(x) || x == 0) return;
    if (!st->any || a < st->min) st->min = a;
    if (!st->any || a > st->max) st->max = a;
    st->any = true;
    if (x != ceil(x)) st->whole = false;
}

static void widen(Show *s, int64_t i, Stats *st) {
    (void)st;
    if (s->is_float && (!isfinite(float_at(s->v, i)) || float_at(s->v, i) == 0)) return;
    Bytes one = {0};
    int width = s->width;
    s->width = 0;
    write_element(s, i, &one);
    s->width = (int)one.n > width ? (int)one.n : width;
    bytes_fini(&one);
}

/* Chooses the notation and the common width. */
static void choose(Show *s) {
    Stats st = {.whole = true};
    s->width = 1, s->int_mode = true, s->sci = false;
    s->is_float = dtype_is_float(s->v->type.dtype);
    if (s->is_float) {
        visit(s, 0, 0, gather_stats, &st);
        if (!st.any) return;
        s->int_mode = st.whole;
        s->sci =
            s->p->sci >= 0 ? s->p->sci : st.max / st.min > 1000 || st.max > 1e8 || st.min < 1e-4;
    }
    visit(s, 0, 0, widen, &st);
}

/* ---- brackets ---- */

static void indent(Bytes *out, int n) {
    while (n-- > 0) bytes_putc(out, ' ');
}

static void write_vector(const Show *s, int axis, int64_t offset, int column) {
    int64_t n = shown_count(s, axis), cells = n + is_elided(s, axis);
    int64_t per_line = (s->p->linewidth - column) / (s->width + 2);
    if (per_line < 1) per_line = 1;
    bytes_putc(s->out, '[');
    for (int64_t cell = 0, k = 0; cell < cells; cell++) {
        if (cell && cell % per_line == 0)
            bytes_puts(s->out, ",\n"), indent(s->out, column + 1);
        else if (cell)
            bytes_puts(s->out, ", ");
        if (is_elided(s, axis) && cell == s->edge)
            bytes_puts(s->out, " ...");
        else
            write_element(s, offset + shown_offset(s, axis, k++), s->out);
    }
    bytes_putc(s->out, ']');
}

static void write_nested(const Show *s, int axis, int64_t offset, int column) {
    int rank = s->v->type.rank;
    if (axis == rank) {
        write_element(s, offset, s->out);
        return;
    }
    if (axis == rank - 1) {
        write_vector(s, axis, offset, column);
        return;
    }
    int64_t n = shown_count(s, axis), cells = n + is_elided(s, axis);
    bytes_putc(s->out, '[');
    for (int64_t cell = 0, k = 0; cell < cells; cell++) {
        if (cell) {
            bytes_putc(s->out, ',');
            for (int i = 0; i < rank - axis - 1; i++) bytes_putc(s->out, '\n');
            indent(s->out, column + 1);
        }
        if (is_elided(s, axis) && cell == s->edge)
            bytes_puts(s->out, "...");
        else
            write_nested(s, axis + 1, offset + shown_offset(s, axis, k++), column + 1);
    }
    bytes_putc(s->out, ']');
}

static void show_init(Show *s, const ReplyValue *v, const PrintOptions *p, Bytes *out) {
    *s = (Show){.v = v, .p = p, .out = out, .edge = (int)v->edge};
    if (!v->edge && type_numel(&v->type) > p->threshold) s->edge = p->edgeitems;
    int64_t stride = 1;
    for (int i = v->type.rank - 1; i >= 0; i--) {
        bool elided = v->edge && v->type.shape[i] > 2 * (int64_t)v->edge;
        s->stored[i] = elided ? 2 * (int64_t)v->edge : v->type.shape[i];
        s->stride[i] = stride;
        stride *= s->stored[i];
    }
}

/* A suffix that does not fit starts a new line. *last: the length of the last line as PyTorch
 * counts it. */
static void suffix(Bytes *out, int *last, int column, int linewidth, const char *text) {
    int n = (int)strlen(text);
    if (*last + n + 2 > linewidth) {
        bytes_puts(out, ",\n");
        indent(out, column);
        *last = column + n;
    } else {
        bytes_puts(out, ", ");
        *last += n + 2;
    }
    bytes_puts(out, text);
}

void show_tensor(const ReplyValue *v, const PrintOptions *p, bool requires_grad, int column,
                 Bytes *out) {
    Show s;
    char text[300], shape[256];
    size_t start = out->n;
    int64_t n = type_numel(&v->type);
    show_init(&s, v, p, out);
    bytes_puts(out, "tensor(");
    column += 7;
    if (n)
        choose(&s), write_nested(&s, 0, 0, column);
    else
        bytes_puts(out, "[]");
    size_t line = out->n;
    while (line > start && out->data[line - 1] != '\n') line--;
    int last = (int)(out->n - line) + 2 + (line == start ? column - 7 : 0);
    bool default_dtype = v->type.dtype == p->float_dtype ||
                         (n && (v->type.dtype == DT_I64 || v->type.dtype == DT_BOOL));
    if ((!n && v->type.rank != 1) || (n && s.edge)) {
        snprintf(text, sizeof text, "shape=%s", type_shape_text(&v->type, shape));
        suffix(out, &last, column, p->linewidth, text);
    }
    if (!default_dtype) {
        snprintf(text, sizeof text, "dtype=%s", dtype_info[v->type.dtype].name);
        suffix(out, &last, column, p->linewidth, text);
    }
    if (requires_grad) suffix(out, &last, column, p->linewidth, "requires_grad=true");
    bytes_putc(out, ')');
}

/* ---- single values and formats ---- */

bool show_value(const ReplyValue *v, const char *spec, size_t n, const PrintOptions *p, int column,
                Bytes *out, Err *err) {
    FormatSpec f;
    if (!n && v->type.rank) return show_tensor(v, p, false, column, out), true;
    if (type_numel(&v->type) != 1) {
        char shape[256];
        return err_set(err, ERR_SHAPE, "a format needs a single number, not shape %s",
                       type_shape_text(&v->type, shape));
    }
    if (!n) {
        if (dtype_is_float(v->type.dtype))
            format_element(v->type.dtype, float_at(v, 0), out);
        else if (v->type.dtype == DT_BOOL)
            bytes_puts(out, int_at(v, 0) ? "true" : "false");
        else
            bytes_printf(out, "%lld", (long long)int_at(v, 0));
        return true;
    }
    TRY(format_parse(spec, n, &f, err));
    if (dtype_is_float(v->type.dtype)) return format_float(float_at(v, 0), &f, out, err);
    if (v->type.dtype == DT_BOOL && (!f.type || f.type == 's')) {
        const char *text = int_at(v, 0) ? "true" : "false";
        return format_str(text, strlen(text), &f, out, err);
    }
    return format_int(int_at(v, 0), &f, out, err);
}

/* The elements as bytes; they are never summarised. */
static bool show_bytes(const ReplyValue *v, Bytes *out, Err *err) {
    uint64_t n = reply_value_numel(&v->type, v->edge);
    if (dtype_is_float(v->type.dtype))
        return err_set(err, ERR_DTYPE, "text is made of whole numbers");
    for (uint64_t i = 0; i < n; i++) {
        int64_t c = int_at(v, i);
        if (c < 0 || c > 255)
            return err_set(err, ERR_ARG,
                           "%lld is not a byte: text is made of numbers from 0 to 255",
                           (long long)c);
        bytes_putc(out, (char)c);
    }
    return true;
}

/* Columns of the unfinished line at the end of out. */
static int column_of(const Bytes *out) {
    size_t line = out->n;
    while (line && out->data[line - 1] != '\n') line--;
    return out->n > line ? (int)utf8_count(out->data + line, out->n - line) : 0;
}

/* A field that begins with "!r". The line leaves room for a comma behind an indented tensor. */
static void show_echo(const char *flags, size_t n, const ReplyValue *v, const PrintOptions *p,
                      Bytes *out) {
    PrintOptions inner = *p;
    bool is_indented = memchr(flags, 'i', n) != NULL;
    inner.linewidth -= is_indented;
    show_tensor(v, &inner, memchr(flags, 'g', n) != NULL, is_indented ? column_of(out) : 0, out);
}

/* One field: what stands between the braces is "", ":spec", "!r", "!rg", "!ri", "!rgi" or "!t". */
static bool show_field(const char *field, size_t n, const ReplyValue *v, const PrintOptions *p,
                       Bytes *out, Err *err) {
    if (n && field[0] == ':') return show_value(v, field + 1, n - 1, p, 0, out, err);
    if (!n) return show_value(v, "", 0, p, 0, out, err);
    if (n >= 2 && field[0] == '!' && field[1] == 'r')
        return show_echo(field + 2, n - 2, v, p, out), true;
    if (n == 2 && field[0] == '!' && field[1] == 't') return show_bytes(v, out, err);
    return err_set(err, ERR_PARSE, "format field '{%.*s}' is unknown", (int)(n < 40 ? n : 40),
                   field);
}

bool show_format(const char *format, size_t n, const Reply *r, const PrintOptions *p, Bytes *out,
                 Err *err) {
    uint32_t next = 0;
    for (size_t i = 0; i < n; i++) {
        char c = format[i];
        if (c != '{' && c != '}') {
            const char *stop = format + i;
            while (stop < format + n && *stop != '{' && *stop != '}') stop++;
            bytes_add(out, format + i, (size_t)(stop - format) - i);
            i = (size_t)(stop - format) - 1;
        } else if (i + 1 < n && format[i + 1] == c) {
            bytes_putc(out, c);
            i++;
        } else {
            const char *end = c == '{' ? memchr(format + i, '}', n - i) : NULL;
            if (!end)
                return err_set(err, ERR_PARSE, "format '%.*s' has an unmatched brace",
                               (int)(n < 60 ? n : 60), format);
            if (next >= r->n)
                return err_set(err, ERR_ARG, "format '%.*s' needs more values than the %u given",
                               (int)(n < 60 ? n : 60), format, r->n);
            TRY(show_field(format + i + 1, (size_t)(end - format) - i - 1, &r->value[next++], p,
                           out, err));
            i = (size_t)(end - format);
        }
    }
    return next == r->n || err_set(err, ERR_ARG, "format '%.*s' takes %u values, not %u",
                                   (int)(n < 60 ? n : 60), format, next, r->n);
}

void show_escape(const char *s, size_t n, Bytes *format) {
    bytes_reserve(format, n);
    for (size_t i = 0; i < n; i++) {
        bytes_putc(format, s[i]);
        if (s[i] == '{' || s[i] == '}') bytes_putc(format, s[i]);
    }
}
