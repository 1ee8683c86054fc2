/* step_vary.c: what changes from round to round. Whole numbers in arithmetic progression are
 * written with $round; others become a number input with the recorded values, shared by all places
 * that have them. `data` with other elements becomes an input with those of all rounds.
 * SPDX-License-Identifier: MIT */
#include "lang/step/step_vary.h"
#include "lang/step/step_expr.h"
#include "lang/step/step_text.h"
#include "runtime/inst/inst_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, SOURCE_BYTES = 4 << 20 };
#define INPUT_BYTES (UINT64_C(256) << 20) /* recorded elements of one input */

typedef struct Series {
    char name[NAME_BYTES];
    bool is_int;
    int64_t *i; /* one per round */
    double *f;
} Series;

typedef struct Names {
    char (*name)[NAME_BYTES];
    int n, cap;
} Names;

struct Varying {
    Cut *c;
    Series *series;
    int n_series, cap;
    Names inputs, outputs;
    char *file; /* the source read last, and its text */
    Bytes source;
    char name[NAME_BYTES];
};

Varying *varying_new(Cut *c) {
    Varying *v = xcalloc(1, sizeof *v);
    v->c = c;
    return v;
}

void varying_free(Varying **vp) {
    Varying *v = *vp;
    *vp = NULL;
    if (!v) return;
    for (int k = 0; k < v->n_series; k++) free(v->series[k].i), free(v->series[k].f);
    free(v->series);
    free(v->inputs.name);
    free(v->outputs.name);
    free(v->file);
    bytes_fini(&v->source);
    free(v);
}

/* ---- names ---- */

/* The variable that line `line` of the source assigns, as in `x = X[i:j]`. n 0: none. */
static const char *assigned(const Varying *v, uint32_t line, size_t *n) {
    const char *s = v->source.data, *end = s + v->source.n;
    *n = 0;
    if (!s) return "";
    for (uint32_t k = 1; k < line; k++) {
        s = memchr(s, '\n', (size_t)(end - s));
        if (!s) return "";
        s++;
    }
    while (s < end && (*s == ' ' || *s == '\t')) s++;
    const char *name = s;
    while (s < end && step_name_char(*s)) s++;
    size_t length = (size_t)(s - name);
    while (s < end && *s == ' ') s++;
    bool is_assigned =
        end - s > 1 && s[0] == '=' && s[1] != '=' && !(name[0] >= '0' && name[0] <= '9');
    if (is_assigned && length < NAME_BYTES - 12) *n = length;
    return name;
}

static bool is_taken(const Names *names, const char *name) {
    for (int k = 0; k < names->n; k++)
        if (!strcmp(names->name[k], name)) return true;
    return !strcmp(name, "round");
}

/* Makes the name in v->name unique. */
static const char *own_name(Varying *v, Names *names, const char *base, size_t n,
                            bool is_numbered) {
    snprintf(v->name, sizeof v->name, "%.*s%s", (int)n, base, is_numbered ? "1" : "");
    for (int k = 2; is_taken(names, v->name); k++)
        snprintf(v->name, sizeof v->name, "%.*s%d", (int)n, base, k);
    ARRAY_ROOM(names->name, names->n, names->cap, 16);
    memcpy(names->name[names->n++], v->name, NAME_BYTES);
    return arena_strndup(&v->c->arena, v->name, strlen(v->name));
}

const char *varying_name(Varying *v, const Item *t) {
    const char *where = memchr(t->text + t->plain, '@', t->n - t->plain), *colon = NULL;
    size_t n = 0;
    if (where && where[1] != '"') colon = memchr(where, ':', (size_t)(t->text + t->n - where));
    if (colon) {
        size_t n_file = (size_t)(colon - where) - 1;
        if (!v->file || strlen(v->file) != n_file || memcmp(v->file, where + 1, n_file)) {
            free(v->file);
            v->file = xstrndup(where + 1, n_file);
            v->source.n = 0;
            if (!bytes_read(&v->source, v->file, SOURCE_BYTES)) v->source.n = 0;
        }
        const char *name = assigned(v, (uint32_t)strtoul(colon + 1, NULL, 10), &n);
        if (n) return own_name(v, &v->inputs, name, n, false);
    }
    return own_name(v, &v->inputs, "x", 1, true);
}

const char *varying_output(Varying *v, const char *base, size_t n) {
    return own_name(v, &v->outputs, base, n, false);
}

/* ---- numbers ---- */

/* Token k of the kind NUMBER of an item. */
static bool number_at(const Item *t, int k, Token *out) {
    size_t i = 0;
    bool quoted = false;
    while (step_token(t->text, t->plain, &i, &quoted, out))
        if (out->kind == TOKEN_NUMBER && k-- == 0) return true;
    return false;
}

static bool parse_whole(const char *s, size_t n, int64_t *out) {
    char text[24], *stop;
    if (n >= sizeof text || n > 18) return false;
    memcpy(text, s, n);
    text[n] = 0;
    *out = strtoll(text, &stop, 10);
    return *stop == 0;
}

/* The values of a number in all rounds, as they are written. */
typedef struct Column {
    int64_t *i;
    double *f;
    bool is_same, is_int;
    bool has_point; /* all are whole numbers with ".0" */
} Column;

static void column_fini(Column *x) {
    free(x->i);
    free(x->f);
}

static Column read_column(Cut *c, int offset, int k) {
    Column x = {xcalloc((size_t)c->rounds, 8), xcalloc((size_t)c->rounds, 8), true, true, true};
    Token first = {0}, now;
    const Item *t0 = cut_item(c, 0, offset);
    number_at(t0, k, &first);
    for (int r = 0; r < c->rounds; r++) {
        const Item *t = cut_item(c, r, offset);
        if (!number_at(t, k, &now)) continue;
        const char *s = t->text + now.at;
        char text[64];
        size_t n = now.n < sizeof text - 1 ? now.n : sizeof text - 1;
        memcpy(text, s, n);
        text[n] = 0;
        if (now.n != first.n || memcmp(s, t0->text + first.at, now.n)) x.is_same = false;
        x.f[r] = strtod(text, NULL);
        bool is_whole = parse_whole(s, now.n, &x.i[r]);
        bool point = now.n > 2 && !memcmp(s + now.n - 2, ".0", 2) && s[0] != '-' &&
                     parse_whole(s, now.n - 2, &x.i[r]);
        x.is_int &= is_whole;
        x.has_point &= point;
    }
    return x;
}

/* True if the values are a * round + b; a is not negative. */
static bool is_progression(const Column *x, int rounds, int64_t *a, int64_t *b) {
    *b = x->i[0];
    if (__builtin_sub_overflow(x->i[1], x->i[0], a) || *a < 0) return false;
    for (int r = 2; r < rounds; r++) {
        int64_t d;
        if (__builtin_sub_overflow(x->i[r], x->i[r - 1], &d) || d != *a) return false;
    }
    return true;
}

static void put_sum(Bytes *out, int64_t plus) {
    if (plus > 0) bytes_printf(out, "+%" PRId64, plus);
    if (plus < 0) bytes_printf(out, "-%" PRIu64, 0 - (uint64_t)plus);
}

/* The series with these values, or these values less a whole number *plus. */
static const Series *find_series(const Varying *v, const Column *x, int64_t *plus) {
    int n = v->c->rounds;
    for (int k = 0; k < v->n_series; k++) {
        const Series *s = &v->series[k];
        *plus = 0;
        if (s->is_int != x->is_int) continue;
        if (!s->is_int) {
            if (!memcmp(s->f, x->f, (size_t)n * 8)) return s;
            continue;
        }
        int r = 0;
        if (__builtin_sub_overflow(x->i[0], s->i[0], plus) || *plus == INT64_MIN) continue;
        while (r < n && x->i[r] - s->i[r] == *plus) r++;
        if (r == n) return s;
    }
    *plus = 0;
    return NULL;
}

static const Series *add_series(Varying *v, Column *x) {
    ARRAY_ROOM(v->series, v->n_series, v->cap, 16);
    Series *s = &v->series[v->n_series++];
    *s = (Series){.is_int = x->is_int, .i = x->i, .f = x->f};
    x->i = NULL, x->f = NULL;
    snprintf(s->name, sizeof s->name, "%s", own_name(v, &v->inputs, "n", 1, true));
    return s;
}

void varying_put_number(Varying *v, int offset, int k, Bytes *out) {
    Cut *c = v->c;
    const Item *t = cut_item(c, 0, offset);
    Token token;
    int64_t a, b;
    if (!number_at(t, k, &token)) return;
    Column x = read_column(c, offset, k);
    if (x.is_same) {
        bytes_add(out, t->text + token.at, token.n);
    } else if ((x.is_int || x.has_point) && is_progression(&x, c->rounds, &a, &b)) {
        bytes_puts(out, "$round");
        if (a != 1) bytes_printf(out, "*%" PRId64, a);
        put_sum(out, b);
        if (x.has_point) bytes_puts(out, ".0");
    } else {
        const Series *s = find_series(v, &x, &b);
        if (!s) s = add_series(v, &x);
        bytes_printf(out, "$%s", s->name);
        put_sum(out, b);
    }
    column_fini(&x);
}

/* The number of values after which they repeat; all of them if they do not. */
static int cycle_of(const Series *s, int rounds) {
    const char *p = s->is_int ? (const char *)s->i : (const char *)s->f;
    for (int m = 1; m <= rounds / 2; m++)
        if (!memcmp(p, p + (size_t)m * 8, (size_t)(rounds - m) * 8)) return m;
    return rounds;
}

void varying_put_inputs(const Varying *v, Bytes *out) {
    for (int k = 0; k < v->n_series; k++) {
        const Series *s = &v->series[k];
        int n = cycle_of(s, v->c->rounds);
        bytes_printf(out, "input %s %s [%d]", s->name, s->is_int ? "i64" : "f64", n);
        for (int r = 0; r < n; r++) {
            bytes_putc(out, ' ');
            if (s->is_int)
                bytes_printf(out, "%" PRId64, s->i[r]);
            else
                inst_put_float(out, s->f[r]);
        }
        bytes_puts(out, n < v->c->rounds ? " cycle=true\n" : "\n");
    }
}

/* ---- elements ---- */

static bool is_varied(const Cut *c, int offset) {
    const Item *t = cut_item(c, 0, offset);
    size_t i = 0, k;
    while (i < t->plain && t->text[i] != '=') i++;
    for (int r = 1; r < c->rounds; r++) {
        const Item *u = cut_item(c, r, offset);
        k = 0;
        while (k < u->plain && u->text[k] != '=') k++;
        if (u->plain - k != t->plain - i || memcmp(u->text + k, t->text + i, t->plain - i))
            return true;
    }
    return false;
}

/* Collects the elements of all rounds. false: too many, or not there. */
static bool collect(const Cut *c, int offset, Bytes *elements, TensorType *type) {
    Arena arena = {0};
    InstLine line;
    bool ok = true;
    for (int r = 0; ok && r < c->rounds; r++) {
        const Item *t = cut_item(c, r, offset);
        arena_reset(&arena);
        ok = inst_parse(t->text, t->n, &arena, &line, NULL) && line.has_types;
        ok = ok && (line.inst.payload || type_bytes(&line.types[0]) == 0) &&
             elements->n + line.inst.payload_bytes <= INPUT_BYTES;
        if (ok && line.inst.payload)
            bytes_add(elements, line.inst.payload, line.inst.payload_bytes);
        if (ok) *type = line.types[0];
    }
    arena_fini(&arena);
    return ok && type->rank < MAX_DIMS && elements->n;
}

/* Appends "input x f32 [50,32,64] z64=..." */
static void put_elements(const Cut *c, const char *name, const TensorType *type,
                         const Bytes *elements, Bytes *out) {
    int64_t shape[MAX_DIMS + 1] = {c->rounds};
    memcpy(shape + 1, type->shape, type->rank * sizeof *shape);
    Attr attr[] = {{.key = ATTR_SHAPE, .n = type->rank + 1u, .ints = shape},
                   {.key = ATTR_DTYPE, .dtype = type->dtype}};
    Inst inst = {.op = OP_DATA,
                 .n_attr = 2,
                 .attr = attr,
                 .payload = elements->data,
                 .payload_bytes = elements->n};
    InstPrint how = {.payload_packed = true};
    Bytes text = {0};
    inst_print(&inst, &how, &text);
    const char *data = strstr(text.data, "data ");
    bytes_printf(out, "input %s %s", name, data ? data + 5 : "");
    bytes_fini(&text);
}

bool varying_put_input(Varying *v, int offset, Bytes *out) {
    const Cut *c = v->c;
    const Item *t = cut_item(c, 0, offset);
    TensorType type;
    char text[256];
    if ((t->op != OP_DATA && t->op != OP_LOAD) || !is_varied(c, offset)) return false;
    const char *name = varying_name(v, t);
    Bytes elements = {0};
    bytes_printf(out, "t%llu = ", (unsigned long long)t->out);
    if (t->op == OP_DATA && collect(c, offset, &elements, &type)) {
        put_elements(c, name, &type, &elements, out);
    } else { /* the type alone: it must be bound */
        Arena arena = {0};
        InstLine line = {0};
        if (inst_parse(t->text, t->n, &arena, &line, NULL)) type = line.types[0];
        const char *shape = strchr(type_text(&type, text), '[');
        bytes_printf(out, "input %s %s %s", name, dtype_info[type.dtype].text,
                     shape ? shape : "[]");
        arena_fini(&arena);
    }
    bytes_fini(&elements);
    bytes_putc(out, ' ');
    bytes_add(out, t->text + t->plain, t->n - t->plain);
    bytes_putc(out, '\n');
    return true;
}
