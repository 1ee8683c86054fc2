/* picture_fill.c: see picture_fill.h. Texts and shapes come from files, too: nothing is taken for
 * granted.
 * SPDX-License-Identifier: MIT */
#include "lang/text/picture_fill.h"
#include "lang/picture/palette.h"
#include "runtime/inst/element.h"
#include "runtime/wire/wire.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

typedef enum OptionKind {
    IS_TEXT,
    IS_FLAG,
    IS_COUNT,
    IS_RANGE,
    IS_NUMBER,
    IS_KIND,
    IS_MAP,
    IS_LABELS
} OptionKind;
enum { FOR_PLOT = 1, FOR_HIST = 2, FOR_IMAGE = 4, FOR_AXES = 3, FOR_ALL = 7 };

typedef struct Option {
    const char *name;
    OptionKind kind;
    int of;
    size_t offset; /* in Figure */
} Option;

#define AT(field) offsetof(Figure, field)
static const Option options_all[] = {
    {"title", IS_TEXT, FOR_ALL, AT(title)},
    {"xlabel", IS_TEXT, FOR_AXES, AT(xlabel)},
    {"ylabel", IS_TEXT, FOR_AXES, AT(ylabel)},
    {"note", IS_TEXT, FOR_ALL, AT(note)},
    {"xlim", IS_RANGE, FOR_AXES, AT(xlim)},
    {"ylim", IS_RANGE, FOR_AXES, AT(ylim)},
    {"xlog", IS_FLAG, FOR_AXES, AT(xlog)},
    {"ylog", IS_FLAG, FOR_AXES, AT(ylog)},
    {"width", IS_COUNT, FOR_ALL, AT(width)},
    {"height", IS_COUNT, FOR_ALL, AT(height)},
    {"kind", IS_KIND, FOR_PLOT, 0},
    {"labels", IS_LABELS, FOR_AXES, 0},
    {"cmap", IS_MAP, FOR_IMAGE, 0},
    {"vmin", IS_NUMBER, FOR_IMAGE, AT(pixels.lo)},
    {"vmax", IS_NUMBER, FOR_IMAGE, AT(pixels.hi)},
};

static const char *name_of(const Figure *f) {
    return f->kind == FIGURE_BARS ? "hist" : f->kind == FIGURE_IMAGE ? "image" : "plot";
}

static bool wants(const Figure *f, const Option *o, const char *what, Err *err) {
    return err_set(err, ERR_ARG, "%s: %s must be %s", name_of(f), o->name, what);
}

static bool is_number(const IoValue *v) { return v->kind == IO_INT || v->kind == IO_FLOAT; }
static double number(const IoValue *v) { return v->kind == IO_INT ? (double)v->i : v->f; }

static bool set_range(Figure *f, const Option *o, const IoValue *v, double out[2], Err *err) {
    bool ok = v->kind == IO_LIST && v->n == 2;
    for (uint32_t i = 0; ok && i < 2; i++) {
        const IoValue *end = &v->kid[i];
        if (end->kind == IO_NONE) continue;
        ok = is_number(end) && isfinite(number(end));
        if (ok) out[i] = number(end);
    }
    if (ok && !(out[0] >= out[1])) return true;
    return wants(f, o, "two numbers, the lower one first; none leaves an end to the data", err);
}

static bool set_labels(Figure *f, const Option *o, const IoValue *v, Err *err) {
    if (v->kind != IO_LIST || v->n > FIGURE_SERIES) return wants(f, o, "a list of strings", err);
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->kid[i].kind != IO_STR) return wants(f, o, "a list of strings", err);
        f->series[i].label = xstrdup(v->kid[i].str);
        f->n_series = (int)i + 1;
    }
    return true;
}

static bool set_kind(Figure *f, const Option *o, const IoValue *v, Err *err) {
    bool is_text = v->kind == IO_STR;
    if (is_text && !strcmp(v->str, "scatter")) f->kind = FIGURE_SCATTER;
    return (is_text && (!strcmp(v->str, "scatter") || !strcmp(v->str, "line"))) ||
           wants(f, o, "\"line\" or \"scatter\"", err);
}

static bool set_map(Figure *f, const Option *o, const IoValue *v, Err *err) {
    if (v->kind == IO_STR) f->pixels.map = palette_find(v->str, strlen(v->str));
    if (f->pixels.map) return true;
    char what[100];
    snprintf(what, sizeof what, "one of %s", palette_names);
    return wants(f, o, what, err);
}

static bool set_option(Figure *f, const Option *o, const IoValue *v, Err *err) {
    void *at = (char *)f + o->offset;
    if (v->kind == IO_NONE) return true;
    switch (o->kind) {
    case IS_TEXT:
        if (v->kind != IO_STR) return wants(f, o, "a string", err);
        free(*(char **)at);
        *(char **)at = xstrdup(v->str);
        return true;
    case IS_FLAG:
        if (v->kind != IO_BOOL) return wants(f, o, "true or false", err);
        *(bool *)at = v->b;
        return true;
    case IS_COUNT:
        if (v->kind != IO_INT || v->i < 1 || v->i > FIGURE_PAGE)
            return wants(f, o, "a whole number from 1 to 4096", err);
        *(int *)at = (int)v->i;
        return true;
    case IS_NUMBER:
        if (!is_number(v) || !isfinite(number(v))) return wants(f, o, "a number", err);
        *(double *)at = number(v);
        return true;
    case IS_RANGE: return set_range(f, o, v, at, err);
    case IS_KIND: return set_kind(f, o, v, err);
    case IS_MAP: return set_map(f, o, v, err);
    case IS_LABELS: return set_labels(f, o, v, err);
    }
    return true;
}

bool picture_options(Op op, const IoValue *options, Figure *f, Err *err) {
    int of = op == OP_HIST ? FOR_HIST : op == OP_IMAGE ? FOR_IMAGE : FOR_PLOT;
    figure_init(f, op == OP_HIST ? FIGURE_BARS : op == OP_IMAGE ? FIGURE_IMAGE : FIGURE_LINE);
    f->pixels.lo = f->pixels.hi = NAN;
    if (options->kind != IO_MAP)
        return err_set(err, ERR_ARG, "%s: the options must be a map", name_of(f));
    for (uint32_t i = 0; i < options->n; i++) {
        const Option *o = NULL;
        for (size_t k = 0; k < sizeof options_all / sizeof *options_all; k++)
            if (!strcmp(options_all[k].name, options->key[i])) o = &options_all[k];
        if (!o || !(o->of & of))
            return err_set(err, ERR_ARG, "%s has no option '%.60s'", name_of(f), options->key[i]);
        TRY(set_option(f, o, &options->kid[i], err));
    }
    return true;
}

/* ---- curves and bars ---- */

/* Copies the elements; NULL: v is no vector. */
static double *doubles(const ReplyValue *v) {
    int64_t n = type_numel(&v->type);
    size_t size = (size_t)dtype_info[v->type.dtype].size_bytes;
    if (v->type.rank != 1 || v->bytes < (uint64_t)n * size) return NULL;
    double *out = xcalloc((size_t)n + 1, sizeof *out);
    for (int64_t i = 0; i < n; i++)
        out[i] = element_float(v->type.dtype, (const uint8_t *)v->data + (size_t)i * size);
    return out;
}

/* Splits a name into 'x' or 'y' and the number of a series. */
static bool role_of(const char *s, size_t n, char *role, int *series) {
    *series = 0;
    if (n < 1 || n > 3 || (*s != 'x' && *s != 'y')) return false;
    for (size_t i = 1; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return false;
        *series = *series * 10 + s[i] - '0';
    }
    *role = *s;
    return *series < FIGURE_SERIES;
}

static bool put_vector(Figure *f, char role, int series, const ReplyValue *v, int64_t *n_x,
                       Err *err) {
    Series *s = &f->series[series];
    double **at = role == 'x' ? &s->x : &s->y;
    if (*at) return err_set(err, ERR_ARG, "%s: two operands have one name", name_of(f));
    if (!(*at = doubles(v)))
        return err_set(err, ERR_SHAPE, "%s needs vectors, not rank %d", name_of(f), v->type.rank);
    if (series >= f->n_series) f->n_series = series + 1;
    if (role == 'x')
        n_x[series] = type_numel(&v->type);
    else
        s->n = type_numel(&v->type);
    return true;
}

/* Gives each series its x: its own, that of the first one, or 0, 1, ... */
static bool complete(Figure *f, const int64_t *n_x, Err *err) {
    int extra = f->kind == FIGURE_BARS; /* the edges are one more */
    const double *shared = f->series[0].x;
    for (int i = 0; i < f->n_series; i++) {
        Series *s = &f->series[i];
        int from = s->x ? i : 0;
        if (!s->y) return err_set(err, ERR_ARG, "%s: series %d has no y", name_of(f), i);
        if ((s->x || shared) && n_x[from] != s->n + extra)
            return err_set(err, ERR_SHAPE, "%s: x has %lld elements and y %lld", name_of(f),
                           (long long)n_x[from], (long long)s->n);
        if (s->x) continue;
        s->x = xcalloc((size_t)(s->n + extra + 1), sizeof *s->x);
        for (int64_t k = 0; k < s->n + extra; k++) s->x[k] = shared ? shared[k] : (double)k;
    }
    return true;
}

/* Notes in the picture how many elements it leaves out. */
static void put_note(Figure *f, const ReplyValue *v) {
    double n = type_numel(&v->type) == 1 ? element_float(v->type.dtype, v->data) : 0;
    char note[60];
    if (!(n > 0)) return;
    snprintf(note, sizeof note, "%.0f not finite, left out", n);
    free(f->note);
    f->note = xstrdup(note);
}

static void say_if_empty(Figure *f) {
    int64_t n = 0, all = 0;
    for (int s = 0; s < f->n_series; s++)
        for (int64_t i = 0; i < f->series[s].n; i++)
            n += isfinite(f->series[s].x[i]) && isfinite(f->series[s].y[i]), all++;
    if (!n && !f->note) f->note = xstrdup(all ? "no finite points" : "no points");
}

static bool fill_series(Figure *f, const char *keys, const Reply *r, Err *err) {
    int64_t n_x[FIGURE_SERIES] = {0};
    int n_labels = f->n_series;
    f->n_series = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        size_t n = strcspn(keys, "\n");
        char role;
        int series;
        bool is_note = n == 4 && !memcmp(keys, "left", 4);
        if (is_note)
            put_note(f, &r->value[i]);
        else if (!role_of(keys, n, &role, &series))
            return err_set(err, ERR_ARG, "%s: no operand is named '%.*s'", name_of(f), (int)n,
                           keys);
        else
            TRY(put_vector(f, role, series, &r->value[i], n_x, err));
        keys += n + (keys[n] == '\n');
    }
    if (!f->n_series) return err_set(err, ERR_ARG, "%s: there is no y", name_of(f));
    bool ok = complete(f, n_x, err);
    if (ok && f->kind != FIGURE_BARS) say_if_empty(f);
    if (n_labels > f->n_series) f->n_series = n_labels; /* figure_fini frees these */
    return ok;
}

/* ---- images ---- */

typedef struct Stack {
    const ReplyValue *v;
    int64_t n, height, width, channels;
    double lo, hi; /* become 0 and 1, or the ends of a map */
    const char *map;
} Stack;

static double sample(const Stack *s, int64_t i) {
    size_t size = (size_t)dtype_info[s->v->type.dtype].size_bytes;
    return element_float(s->v->type.dtype, (const uint8_t *)s->v->data + (size_t)i * size);
}

static bool stack_init(Stack *s, const ReplyValue *v, Err *err) {
    const TensorType *t = &v->type;
    *s = (Stack){.v = v, .n = 1, .channels = 1};
    const int64_t *at = t->shape;
    if (t->rank == 4) s->n = *at++;
    if (t->rank >= 2 && t->rank <= 4) s->height = at[0], s->width = at[1];
    if (t->rank == 3 || t->rank == 4) s->channels = at[2];
    bool is_image = t->rank >= 2 && t->rank <= 4 && s->channels >= 1 && s->channels <= 4;
    if (!is_image || s->channels == 2)
        return err_set(err, ERR_SHAPE, "image needs (H, W), (H, W, 1, 3 or 4) or a batch of these");
    if (!type_numel(t)) return err_set(err, ERR_SHAPE, "image: there are no elements");
    return true;
}

/* The range of the values that get colours. */
static void stack_range(Stack *s, const Figure *f) {
    DType d = s->v->type.dtype;
    bool is_float = dtype_is_float(d), is_map = s->channels == 1;
    s->lo = 0, s->hi = d == DT_BOOL || is_float ? 1 : 255;
    s->map = f->pixels.map ? f->pixels.map : palette_find("gray", 4);
    if (is_map && d != DT_U8 && d != DT_BOOL) {
        double lo = INFINITY, hi = -INFINITY;
        for (int64_t i = 0, n = type_numel(&s->v->type); i < n; i++) {
            double v = sample(s, i);
            if (isfinite(v)) lo = fmin(lo, v), hi = fmax(hi, v);
        }
        s->lo = lo <= hi ? lo : 0, s->hi = lo <= hi ? hi : 1;
        if (!f->pixels.map) s->map = palette_find("viridis", 7);
    }
    if (isfinite(f->pixels.lo)) s->lo = f->pixels.lo;
    if (isfinite(f->pixels.hi)) s->hi = f->pixels.hi;
}

static uint8_t to_byte(const Stack *s, double v) {
    double part = (v - s->lo) / (s->hi - s->lo);
    return (uint8_t)(part > 0 ? lround(fmin(part, 1) * 255) : 0);
}

static void put_pixel(const Stack *s, int64_t at, uint8_t *rgba) {
    double v = sample(s, at);
    rgba[3] = 255;
    if (s->channels > 1) {
        for (int64_t c = 0; c < s->channels; c++) rgba[c] = to_byte(s, sample(s, at + c));
        return;
    }
    if (isnan(v)) { /* a hole */
        rgba[3] = 0;
        return;
    }
    double part = s->hi > s->lo ? (v - s->lo) / (s->hi - s->lo) : 0.5;
    uint32_t rgb = palette_color(s->map, part);
    rgba[0] = (uint8_t)(rgb >> 16), rgba[1] = (uint8_t)(rgb >> 8), rgba[2] = (uint8_t)rgb;
}

static bool fill_image(Figure *f, const char *keys, const Reply *r, Err *err) {
    Stack s;
    if (r->n != 1 || keys[0] != 'x' || (keys[1] && keys[1] != '\n'))
        return err_set(err, ERR_ARG, "image takes one operand, named x");
    TRY(stack_init(&s, &r->value[0], err));
    stack_range(&s, f);
    int64_t across = (int64_t)ceil(sqrt((double)s.n)), down = (s.n + across - 1) / across;
    int64_t gap = s.n > 1;
    Pixels *p = &f->pixels;
    p->width = across * (s.width + gap) - gap, p->height = down * (s.height + gap) - gap;
    if (s.width > FIGURE_SIDE || s.height > FIGURE_SIDE || s.n > FIGURE_SIDE ||
        p->width > FIGURE_SIDE || p->height > FIGURE_SIDE)
        return err_set(err, ERR_LIMIT, "image: a side is longer than %d pixels", FIGURE_SIDE);
    p->rgba = xcalloc((size_t)(p->width * p->height), 4);
    for (int64_t i = 0, at = 0; i < s.n; i++)
        for (int64_t y = 0; y < s.height; y++)
            for (int64_t x = 0; x < s.width; x++, at += s.channels) {
                int64_t to_x = i % across * (s.width + gap) + x;
                int64_t to_y = i / across * (s.height + gap) + y;
                put_pixel(&s, at, p->rgba + 4 * (to_y * p->width + to_x));
            }
    DType d = s.v->type.dtype;
    p->is_heat = s.channels == 1 && d != DT_U8 && d != DT_BOOL;
    p->lo = s.lo, p->hi = s.hi, p->map = s.map;
    return true;
}

bool picture_fill(Figure *f, const char *keys, const Reply *r, Err *err) {
    return f->kind == FIGURE_IMAGE ? fill_image(f, keys, r, err) : fill_series(f, keys, r, err);
}
