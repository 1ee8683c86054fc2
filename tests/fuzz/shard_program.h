/* shard_program.h: random programs of the language for shard.c, and random configurations of their
 * signals.
 *
 * A program is a list of lines. There are two kinds. `whole` programs compute with small integers
 * by operations that keep them exact, so that every difference is an error. `real` programs use
 * everything, in float64. Whole programs in halves have larger numbers, which round. The dtype is
 * the variable dt, which the caller sets in the first line: a whole program whose output differs
 * between float32 and float64 was not exact.
 *
 * The class of a variable limits its use. RAW values are made without sums, so two of them are
 * equal in every run or in none: they may be compared and sorted. SUMMED values may not, because
 * rounding would decide. DELICATE values come out of a norm or a softmax: their sums are zero
 * except for rounding.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_FUZZ_SHARD_PROGRAM_H
#define GT_TESTS_FUZZ_SHARD_PROGRAM_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "tests/unit/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 400, VARS_MAX = 60, AXES = 4, SIGNALS = 5 };
enum { ELEMENTS_MAX = 600, ELEMENTS_LARGE = 12000 };

typedef struct Lines {
    char *line[LINES_MAX];
    int pair[LINES_MAX]; /* of a line that opens a scope: the line that closes it; else 0 */
    int n;
} Lines;

typedef enum Class { RAW, SUMMED, DELICATE } Class;

typedef struct Var {
    char name[16];
    int rank;
    int shape[AXES];
    double bound; /* of whole programs */
    int grain;    /* multiples of 2^-grain */
    Class class_;
    bool has_grad, is_param;
} Var;

typedef struct Writer {
    Rand r;
    Lines *out;
    Var var[VARS_MAX];
    int n_var, count, open[8], depth;
    bool is_whole, is_large; /* is_large: some tensors of thousands of elements */
    int most;                /* range of the integers that tensors are created with */
} Writer;

static int below(Writer *w, int n) { return rand_below(&w->r, n); }
static bool chance(Writer *w, int percent) { return below(w, 100) < percent; }

static void write_line(Writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void write_line(Writer *w, const char *format, ...) {
    if (w->out->n >= LINES_MAX - 8) return;
    char text[2048];
    int indent = 4 * w->depth;
    memset(text, ' ', (size_t)indent);
    va_list ap;
    va_start(ap, format);
    vsnprintf(text + indent, sizeof text - (size_t)indent, format, ap);
    va_end(ap);
    w->out->pair[w->out->n] = 0;
    w->out->line[w->out->n++] = xstrdup(text);
}

/* name = the form, whose first %s is a, the second b. */
static void write_as(Writer *w, const char *name, const char *form, const char *a, const char *b) {
    char text[128];
    snprintf(text, sizeof text, form, a, b);
    write_line(w, "%s = %s", name, text);
}

static void lines_fini(Lines *l) {
    for (int i = 0; i < l->n; i++) free(l->line[i]);
    l->n = 0;
}

/* ---- Variables ---- */

static double numel(const Var *v) {
    double n = 1;
    for (int a = 0; a < v->rank; a++) n *= v->shape[a];
    return n;
}

/* Prepares the record of a new variable. The caller writes the line, then adds the record. */
static Var fresh(Writer *w, const Var *like) {
    Var v = {.rank = 0};
    if (like) v = *like;
    v.is_param = false;
    snprintf(v.name, sizeof v.name, "v%d", w->count++);
    return v;
}
static bool is_too_large(const Writer *w, const Var *v) {
    return numel(v) > (w->is_large ? ELEMENTS_LARGE : ELEMENTS_MAX);
}
static bool fits(const Writer *w, const Var *v) {
    if (is_too_large(w, v) || v->rank > AXES) return false;
    return !w->is_whole || v->bound * ldexp(1, v->grain) <= (1 << 20);
}
static Var *keep(Writer *w, const Var *v) {
    if (w->n_var == VARS_MAX) { /* replaces an old one */
        int i = below(w, VARS_MAX / 2);
        memmove(&w->var[i], &w->var[i + 1], sizeof *v * (size_t)(VARS_MAX - 1 - i));
        w->n_var--;
    }
    w->var[w->n_var] = *v;
    return &w->var[w->n_var++];
}

static Var *any(Writer *w) {
    if (!w->n_var) return NULL;
    int late = w->n_var > 6 && chance(w, 50) ? w->n_var - 6 : 0;
    return &w->var[late + below(w, w->n_var - late)];
}
static Var *any_of(Writer *w, int rank_least, Class worst) {
    for (int i = 0; i < 20; i++) {
        Var *v = any(w);
        if (v && v->rank >= rank_least && v->class_ <= worst && numel(v) > 0) return v;
    }
    return NULL;
}

static const char *shape_text(const Var *v, char *buf) {
    int n = sprintf(buf, "[");
    for (int a = 0; a < v->rank; a++) n += sprintf(buf + n, "%s%d", a ? ", " : "", v->shape[a]);
    sprintf(buf + n, "]");
    return buf;
}

static int some_extent(Writer *w) {
    static const int of[] = {1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 11, 13};
    static const int large[] = {64, 65, 100, 128, 192, 200, 256, 300, 320, 512, 1000};
    if (w->is_large && chance(w, 25))
        return chance(w, 50) ? 40 + below(w, 60) : large[below(w, 11)];
    return chance(w, 1) ? 0 : of[below(w, 14)];
}

/* ---- Births ---- */

static Var *birth(Writer *w, int rank, const int *shape) {
    Var v = fresh(w, NULL);
    char s[96];
    v.rank = rank < 0 ? (chance(w, 6) ? 0 : 1 + below(w, 3)) : rank;
    for (int a = 0; a < v.rank; a++) v.shape[a] = shape ? shape[a] : some_extent(w);
    if (!shape && v.rank == 3 && numel(&v) > 250) v.rank = 2;
    if (!shape && chance(w, 2)) v.rank = 1, v.shape[0] = 100 + below(w, 400);
    shape_text(&v, s);
    v.bound = 3;
    bool is_param = chance(w, 35);
    const char *open = is_param ? "param(" : "", *close = is_param ? ")" : "";
    int kind = below(w, 10);
    const Var *like = kind == 7 ? any(w) : NULL;
    if (like && !shape) {
        v.rank = like->rank;
        memcpy(v.shape, like->shape, sizeof v.shape);
        const char *made = w->is_whole ? "ones_like" : "randn_like";
        write_line(w, "%s = %s%s(%s.to(dt))%s", v.name, open, made, like->name, close);
    } else if (kind == 8 && v.rank == 1) {
        write_line(w, "%s = %sarange(%d).to(dt)%s", v.name, open, v.shape[0], close);
        v.bound = v.shape[0];
    } else if (kind == 9) {
        write_line(w, "%s = %sfull(%s, %d, dtype=dt)%s", v.name, open, s, 1 + below(w, 3), close);
    } else if (kind == 5 && v.rank > 0) { /* elements written in the program */
        write_line(
            w, "%s = %stensor([i * 7 %% 13 %% 7 - 3 for i in range(%d)], dtype=dt).reshape(%s)%s",
            v.name, open, (int)numel(&v), s, close);
    } else if (w->is_whole || kind == 6) {
        write_line(w, "%s = %srandint(-%d, %d, %s).to(dt)%s", v.name, open, w->most, w->most + 1, s,
                   close);
        v.bound = w->most;
    } else {
        write_line(w, "%s = %s%s(%s, dtype=dt)%s", v.name, open, kind ? "randn" : "rand", s, close);
    }
    v.is_param = v.has_grad = is_param;
    return keep(w, &v);
}

/* A variable that broadcasts with x. */
static Var *partner(Writer *w, const Var *x) {
    bool likes_same = chance(w, 40); /* scalars combine with scalars, which are mostly sums */
    for (int i = 0; i < 20; i++) {
        Var *y = any(w);
        if (!y) break;
        if (likes_same && i < 12 && (y->rank != x->rank || numel(x) != numel(y))) continue;
        int n = y->rank < x->rank ? y->rank : x->rank, ok = 1;
        for (int a = 1; a <= n; a++) {
            int p = x->shape[x->rank - a], q = y->shape[y->rank - a];
            ok &= p == q || p == 1 || q == 1;
        }
        if (ok) return y;
    }
    int shape[AXES], drop = x->rank && chance(w, 30) ? below(w, x->rank + 1) : 0;
    Var copy = *x;
    for (int a = drop; a < copy.rank; a++) shape[a - drop] = chance(w, 25) ? 1 : copy.shape[a];
    return birth(w, copy.rank - drop, shape);
}

static Var broadcast(Writer *w, const Var *a, const Var *b) {
    Var v = fresh(w, a->rank >= b->rank ? a : b);
    for (int k = 1; k <= v.rank; k++) {
        int p = k <= a->rank ? a->shape[a->rank - k] : 1,
            q = k <= b->rank ? b->shape[b->rank - k] : 1;
        v.shape[v.rank - k] = p == 1 ? q : p;
    }
    v.has_grad = a->has_grad || b->has_grad;
    v.class_ = a->class_ > b->class_ ? a->class_ : b->class_;
    v.grain = a->grain > b->grain ? a->grain : b->grain;
    return v;
}

/* ---- Pointwise ---- */

static bool write_unary(Writer *w) {
    static const struct {
        const char *text;
        double factor, plus;
        Class worst;
    } whole[] = {{"-%s", 1, 0, DELICATE},
                 {"%s.abs()", 1, 0, DELICATE},
                 {"relu(%s)", 1, 0, DELICATE},
                 {"%s * 2", 2, 0, DELICATE},
                 {"%s + 1", 1, 1, DELICATE},
                 {"%s.clamp(-2, 2)", 1, 0, RAW},
                 {"%s - 3", 1, 3, DELICATE},
                 {"1 - %s", 1, 1, DELICATE},
                 {"%s.sign()", 1, 0, RAW},
                 {"%s.detach()", 1, 0, DELICATE},
                 {"%s.square()", 0, 0, DELICATE},
                 {"%s / 2", 1, 0, DELICATE},
                 {"leaky_relu(%s, 0.5)", 1, 0, DELICATE},
                 {"%s %% 3", 1, 3, RAW}};
    static const struct {
        const char *text;
        Class worst;
    } real[] = {{"tanh(%s)", DELICATE},
                {"sigmoid(%s)", DELICATE},
                {"gelu(%s)", DELICATE},
                {"silu(%s)", DELICATE},
                {"softplus(%s)", DELICATE},
                {"sin(%s)", DELICATE},
                {"sqrt(%s.square() + 1)", DELICATE},
                {"log(%s.square() + 1)", DELICATE},
                {"exp(tanh(%s))", DELICATE},
                {"erf(%s)", DELICATE},
                {"%s / 3", DELICATE},
                {"0.7 * %s + 0.1", DELICATE},
                {"relu(%s)", RAW},
                {"-%s", DELICATE},
                {"%s.abs()", RAW},
                {"%s.float().double()", RAW},
                {"reciprocal(%s.square() + 2)", DELICATE},
                {"cos(%s)", DELICATE},
                {"%s.floor()", RAW},
                {"elu(%s)", RAW}};
    Var *x = any(w);
    if (!x) return false;
    Var v = fresh(w, x);
    if (w->is_whole) {
        int k = below(w, 14);
        v.bound = v.bound * whole[k].factor + whole[k].plus;
        if (strstr(whole[k].text, "square")) v.bound = x->bound * x->bound, v.grain *= 2;
        if (strstr(whole[k].text, "/ 2") || strstr(whole[k].text, "leaky")) v.grain++;
        if (strstr(whole[k].text, "detach")) v.has_grad = false;
        if (!fits(w, &v)) return false;
        write_as(w, v.name, whole[k].text, x->name, NULL);
    } else {
        int k = below(w, 20);
        if (x->class_ > real[k].worst) return false;
        write_as(w, v.name, real[k].text, x->name, NULL);
    }
    keep(w, &v);
    return true;
}

static bool write_binary(Writer *w) {
    Var *x = any(w);
    if (!x) return false;
    Var a = *x, b = *partner(w, x), v = broadcast(w, &a, &b);
    int kind = below(w, 10);
    bool compares = (a.class_ == RAW && b.class_ == RAW) || w->is_whole;
    if (kind >= 7 && !compares) kind = below(w, 7);
    v.bound = kind < 4 ? a.bound + b.bound : fmax(a.bound, b.bound);
    if (kind >= 4 && kind < 7) v.bound = a.bound * b.bound, v.grain = a.grain + b.grain;
    if (!fits(w, &v)) return false;
    static const char *const form[] = {"%s + %s", "%s + %s",         "%s - %s",
                                       "%s - %s", "%s * %s",         "%s * %s",
                                       "%s * %s", "maximum(%s, %s)", "minimum(%s, %s)"};
    if (kind == 9) {
        v.has_grad = a.has_grad || b.has_grad;
        static const char *const cmp[] = {">", "<=", "==", "!="};
        write_line(w, "%s = where(%s %s %s, %s, %s)", v.name, a.name, cmp[below(w, 4)], b.name,
                   a.name, b.name);
    } else if (!w->is_whole && kind == 4) {
        write_line(w, "%s = %s / (%s.square() + 1)", v.name, a.name, b.name);
    } else {
        write_as(w, v.name, form[kind], a.name, b.name);
    }
    keep(w, &v);
    return true;
}

/* x op= e: a variable gets another value; a parameter is changed in place. */
static bool write_update(Writer *w) {
    static const char *const ops[] = {"+=", "-=", "*="};
    Var *x = any(w);
    if (!x) return false;
    Var a = *x, b = *partner(w, x), v = broadcast(w, &a, &b);
    if (v.rank != a.rank || memcmp(v.shape, a.shape, sizeof(int) * (size_t)a.rank)) return false;
    int op = below(w, 3);
    v.bound = op == 2 ? a.bound * b.bound : a.bound + b.bound;
    v.grain = op == 2 ? a.grain + b.grain : v.grain;
    if (!fits(w, &v)) return false;
    if (a.is_param) {
        write_line(w, "no_grad { %s %s %s }", a.name, ops[op], b.name);
        v.has_grad = true, v.is_param = true;
    } else {
        write_line(w, "%s %s %s", a.name, ops[op], b.name);
    }
    for (int i = 0; i < w->n_var; i++)
        if (!strcmp(w->var[i].name, a.name)) {
            memcpy(v.name, a.name, sizeof v.name);
            w->var[i] = v;
        }
    return true;
}

/* ---- Reductions ---- */

static bool write_reduce(Writer *w) {
    Var *x = any_of(w, 0, DELICATE);
    if (!x) return false;
    Var v = fresh(w, x);
    char axes[64] = "";
    int n = 0, count = 1, kept = 0;
    bool keepdims = chance(w, 40), all = chance(w, 20) || x->rank == 0;
    v.rank = 0;
    for (int a = 0; a < x->rank; a++) {
        bool reduced = all || chance(w, 45) || (a == x->rank - 1 && !kept && !n);
        if (reduced) {
            count *= x->shape[a];
            if (!all)
                n += snprintf(axes + n, sizeof axes - (size_t)n, "%s%d", n ? ", " : "",
                              chance(w, 30) ? a - x->rank : a);
        }
        kept |= reduced;
        if (!reduced || keepdims) v.shape[v.rank++] = reduced ? 1 : x->shape[a];
    }
    bool pow2 = (count & (count - 1)) == 0;
    static const char *const whole_op[] = {"sum", "sum", "sum", "max", "min", "mean", "sum"};
    static const char *const real_op[] = {"sum", "sum",       "mean", "mean", "max",
                                          "min", "logsumexp", "var",  "norm"};
    const char *op = w->is_whole ? whole_op[below(w, 7)] : real_op[below(w, 9)];
    if (w->is_whole && !strcmp(op, "mean")) {
        if (!pow2)
            op = "sum";
        else
            v.grain += (int)log2(count);
    }
    bool picks = !strcmp(op, "max") || !strcmp(op, "min");
    if (!w->is_whole && picks && x->class_ != RAW) op = "mean", picks = false;
    if (!strcmp(op, "var") && (count < 3 || x->class_ == DELICATE)) op = "sum";
    if (!strcmp(op, "norm") && (all || strchr(axes, ',') || x->class_ == DELICATE)) op = "mean";
    if (!picks) v.class_ = v.class_ == RAW ? SUMMED : v.class_;
    if (!strcmp(op, "sum")) v.bound *= count;
    if (!fits(w, &v)) return false;
    /* -0 and 0 have equal magnitude: which one is the result would be random. */
    const char *zero = picks ? " + 0" : "";
    write_line(w, "%s = (%s%s).%s(%s%s%s%s)", v.name, x->name, zero, op, all ? "" : "axis=[", axes,
               all ? "" : "]", keepdims ? (all ? "keepdims=true" : ", keepdims=true") : "");
    keep(w, &v);
    return true;
}

/* Integers and bools are printed at once: their text is equal or not. */
static bool write_question(Writer *w) {
    Var *x = any_of(w, 1, w->is_whole ? DELICATE : RAW);
    if (!x) return false;
    int axis = below(w, x->rank);
    switch (below(w, 5)) {
    case 0: write_line(w, "print(\"argmax\", %s.argmax(axis=%d).tolist())", x->name, axis); break;
    case 1: write_line(w, "print(\"any\", (%s > 1).any(axis=%d).tolist())", x->name, axis); break;
    case 2: write_line(w, "print(\"all\", (%s > -1).all().item())", x->name); break;
    case 3: write_line(w, "print(\"argsort\", %s.argsort(%d).tolist())", x->name, axis); break;
    default: write_line(w, "print(\"count\", (%s > 0).sum(%d).tolist())", x->name, axis); break;
    }
    return true;
}

/* ---- Shapes ---- */

static bool write_view(Writer *w) {
    Var *x = any_of(w, 1, DELICATE);
    if (!x) return false;
    Var v = fresh(w, x);
    char s[96];
    int a = below(w, x->rank), n = x->shape[a], axis = chance(w, 30) ? a - x->rank : a;
    switch (below(w, 16)) {
    case 0:
    case 1: { /* a random factorisation */
        int left = (int)numel(x);
        v.rank = 0;
        while (left > 1 && v.rank < 3) {
            int f = 1 + below(w, left < 30 ? left : 30);
            while (left % f) f--;
            v.shape[v.rank++] = f, left /= f;
        }
        if (left > 1 || v.rank == 0) v.shape[v.rank++] = left;
        write_line(w, "%s = %s.reshape(%s)", v.name, x->name, shape_text(&v, s));
        break;
    }
    case 2:
        v.rank = 1, v.shape[0] = (int)numel(x);
        write_line(w, "%s = %s.flatten()", v.name, x->name);
        break;
    case 3:
    case 4: {
        if (x->rank < 2) return false;
        int b = below(w, x->rank);
        v.shape[a] = x->shape[b], v.shape[b] = x->shape[a];
        write_line(w, "%s = %s.transpose(%d, %d)", v.name, x->name, axis, b);
        break;
    }
    case 5: {
        if (x->rank != 3) return false;
        v.shape[0] = x->shape[2], v.shape[1] = x->shape[0], v.shape[2] = x->shape[1];
        write_line(w, "%s = %s.permute(2, 0, 1)", v.name, x->name);
        break;
    }
    case 6: {
        if (x->rank == AXES) return false;
        for (int k = v.rank++; k > a; k--) v.shape[k] = v.shape[k - 1];
        v.shape[a] = 1;
        write_line(w, "%s = %s.unsqueeze(%d)", v.name, x->name, a);
        break;
    }
    case 7: {
        if (x->rank == AXES) return false;
        for (int k = v.rank++; k > 0; k--) v.shape[k] = v.shape[k - 1];
        v.shape[0] = 1 + below(w, 5);
        write_line(w, "%s = %s.expand(%s)", v.name, x->name, shape_text(&v, s));
        break;
    }
    case 8: write_line(w, "%s = %s.flip(%d)", v.name, x->name, axis); break;
    case 9: write_line(w, "%s = %s.roll(%d, %d)", v.name, x->name, below(w, 5) - 2, axis); break;
    case 10: { /* x[2, :] */
        int i = below(w, n);
        char pre[32] = "";
        for (int k = 0; k < a; k++) strcat(pre, ":, ");
        for (int k = a; k < x->rank - 1; k++) v.shape[k] = v.shape[k + 1];
        v.rank--;
        write_line(w, "%s = %s[%s%d]", v.name, x->name, pre, chance(w, 30) ? i - n : i);
        break;
    }
    case 11: {
        v.shape[a] = n + 3;
        if (x->rank != 1 && a != x->rank - 1) return false;
        write_line(w, "%s = pad(%s, [1, 2])", v.name, x->name);
        break;
    }
    case 12:
        if (x->rank < 2) return false;
        write_line(w, "%s = %s(%s)", v.name, chance(w, 50) ? "tril" : "triu", x->name);
        break;
    default: {
        int start = below(w, n), step = chance(w, 30) ? 1 + below(w, 3) : 1;
        int stop = start + 1 + below(w, n - start);
        char pre[32] = "", by[16] = "";
        for (int k = 0; k < a; k++) strcat(pre, ":, ");
        if (step > 1) snprintf(by, sizeof by, ":%d", step);
        v.shape[a] = (stop - start + step - 1) / step;
        write_line(w, "%s = %s[%s%d:%d%s]", v.name, x->name, pre, start, stop, by);
    }
    }
    if (is_too_large(w, &v)) return false;
    keep(w, &v);
    return true;
}

static bool write_join(Writer *w) {
    Var *x = any_of(w, 1, DELICATE);
    if (!x) return false;
    Var a = *x;
    int axis = below(w, a.rank), shape[AXES];
    memcpy(shape, a.shape, sizeof shape);
    bool stacks = chance(w, 25) && a.rank < AXES;
    if (!stacks) shape[axis] = 1 + below(w, 5);
    Var b = {0};
    bool found = false;
    for (int i = 0; i < 15 && !found; i++) {
        Var *y = any(w);
        found = y->rank == a.rank;
        for (int k = 0; found && k < a.rank; k++)
            found = (k == axis && !stacks) || y->shape[k] == a.shape[k];
        if (found) b = *y;
    }
    if (!found) b = *birth(w, a.rank, shape);
    Var v = fresh(w, &a);
    v.has_grad = a.has_grad || b.has_grad;
    v.bound = fmax(a.bound, b.bound), v.grain = a.grain > b.grain ? a.grain : b.grain;
    v.class_ = a.class_ > b.class_ ? a.class_ : b.class_;
    int copies = chance(w, 30);
    if (stacks) {
        for (int k = v.rank++; k > axis; k--) v.shape[k] = v.shape[k - 1];
        v.shape[axis] = 2 + copies;
    } else {
        v.shape[axis] += b.shape[axis] + copies * a.shape[axis];
    }
    write_line(w, "%s = %s([%s, %s%s%s], axis=%d)", v.name, stacks ? "stack" : "cat", a.name,
               b.name, copies ? ", " : "", copies ? a.name : "", axis);
    keep(w, &v);
    return true;
}

static bool write_put(Writer *w) {
    Var *x = any_of(w, 1, DELICATE);
    if (!x || x->is_param || x->has_grad) return false;
    int n = x->shape[0], start = below(w, n), stop = start + 1 + below(w, n - start);
    Var a = *x;
    if (chance(w, 40)) {
        write_line(w, "%s[%d:%d] = %d", a.name, start, stop, below(w, 5));
    } else {
        int shape[AXES];
        memcpy(shape, a.shape, sizeof shape);
        shape[0] = stop - start;
        Var b = *birth(w, a.rank, shape);
        write_line(w, "%s[%d:%d] %s %s", a.name, start, stop, chance(w, 50) ? "=" : "+=", b.name);
        for (int i = 0; i < w->n_var; i++)
            if (!strcmp(w->var[i].name, a.name))
                w->var[i].bound += b.bound, w->var[i].has_grad |= b.has_grad;
    }
    for (int i = 0; i < w->n_var; i++)
        if (!strcmp(w->var[i].name, a.name)) w->var[i].bound = fmax(w->var[i].bound, 5);
    return true;
}

static bool write_index(Writer *w) {
    Var *x = any_of(w, 1, DELICATE);
    if (!x) return false;
    Var a = *x, v = fresh(w, &a);
    int axis = below(w, a.rank), n = a.shape[axis], k = 1 + below(w, 7);
    char s[96];
    switch (below(w, 5)) {
    case 0:
        v.shape[0] = k;
        write_line(w, "%s = %s[randint(0, %d, [%d])]", v.name, a.name, a.shape[0], k);
        break;
    case 1:
        v.shape[axis] = k;
        write_line(w, "%s = index_select(%s, %d, randint(0, %d, [%d]))", v.name, a.name, axis, n,
                   k);
        break;
    case 2:
        v.shape[axis] = k;
        write_line(w, "%s = gather(%s, %d, randint(0, %d, %s))", v.name, a.name, axis, n,
                   shape_text(&v, s));
        break;
    case 3: {
        Var src = a;
        src.shape[axis] = k;
        if (is_too_large(w, &src)) return false;
        src = *birth(w, src.rank, src.shape);
        v.bound = a.bound + src.bound * numel(&src), v.has_grad |= src.has_grad;
        v.class_ = v.class_ == RAW ? SUMMED : v.class_;
        if (!fits(w, &v)) return false;
        write_line(w, "%s = scatter_add(%s, %d, randint(0, %d, %s), %s)", v.name, a.name, axis, n,
                   shape_text(&src, s), src.name);
        break;
    }
    default:
        if (a.rank != 2) return false;
        v.rank = 3, v.shape[0] = 2, v.shape[1] = k, v.shape[2] = a.shape[1];
        write_line(w, "%s = embedding(randint(0, %d, [2, %d]), %s)", v.name, a.shape[0], k, a.name);
    }
    if (is_too_large(w, &v)) return true; /* It exists but is not used. */
    keep(w, &v);
    return true;
}

static bool write_order(Writer *w) {
    Var *x = any_of(w, 1, w->is_whole ? DELICATE : RAW);
    if (!x) return false;
    Var v = fresh(w, x);
    int axis = below(w, x->rank);
    switch (below(w, 4)) {
    case 0: write_line(w, "%s = (%s + 0).sort(%d)", v.name, x->name, axis); break;
    case 1: {
        int k = 1 + below(w, x->shape[axis]);
        v.shape[axis] = k;
        write_line(w, "%s = topk(%s + 0, %d, axis=%d)[0]", v.name, x->name, k, axis);
        break;
    }
    default:
        v.bound *= x->shape[axis];
        v.class_ = SUMMED;
        if (!fits(w, &v)) return false;
        write_line(w, "%s = %s.cumsum(%d)", v.name, x->name, axis);
    }
    keep(w, &v);
    return true;
}

/* ---- Products and networks ---- */

static bool write_matmul(Writer *w) {
    Var *x = any_of(w, 1, DELICATE);
    if (!x) return false;
    Var a = *x, b = {0};
    int K = a.shape[a.rank - 1];
    bool found = false;
    for (int i = 0; i < 12 && !found; i++) {
        Var *y = any(w);
        found = y->rank >= 1 && y->rank <= 2 && y->shape[y->rank > 1 ? y->rank - 2 : 0] == K;
        if (found) b = *y;
    }
    if (!found) {
        int shape[AXES] = {K, some_extent(w), 0}, rank = chance(w, 20) ? 1 : 2;
        if (a.rank == 3 && chance(w, 40))
            shape[0] = a.shape[0], shape[1] = K, shape[2] = 1 + below(w, 6), rank = 3;
        b = *birth(w, rank, shape);
    }
    Var v = fresh(w, &a);
    v.bound = a.bound * b.bound * K, v.grain = a.grain + b.grain;
    v.has_grad = a.has_grad || b.has_grad;
    v.class_ = fmax(a.class_, b.class_) == DELICATE ? DELICATE : SUMMED;
    if (b.rank == 1)
        v.rank--;
    else if (a.rank == 1) {
        v.rank = b.rank - 1;
        if (b.rank == 3) v.shape[0] = b.shape[0];
        v.shape[v.rank - 1] = b.shape[b.rank - 1];
    } else
        v.shape[v.rank - 1] = b.shape[b.rank - 1];
    if (!fits(w, &v)) return false;
    int form = below(w, 4);
    if (form == 0 && a.rank == 2 && b.rank == 2)
        write_line(w, "%s = einsum(\"ij,jk->ik\", %s, %s)", v.name, a.name, b.name);
    else if (form == 1 && b.rank == 2)
        write_line(w, "%s = linear(%s, %s.T)", v.name, a.name, b.name);
    else
        write_line(w, "%s = %s @ %s", v.name, a.name, b.name);
    keep(w, &v);
    return true;
}

static bool write_conv(Writer *w) {
    int shape[] = {1 + below(w, 5), 1 + below(w, 3), 4 + below(w, 3), 5}, kind = below(w, 4);
    Var x = *birth(w, 4, shape), v = fresh(w, &x);
    if (kind == 0) {
        v.shape[2] /= 2, v.shape[3] /= 2;
        write_line(w, "%s = max_pool2d(%s + 0, 2)", v.name, x.name);
    } else if (kind == 1) {
        v.shape[2] /= 2, v.shape[3] /= 2;
        v.grain += 2, v.class_ = SUMMED;
        write_line(w, "%s = avg_pool2d(%s, 2)", v.name, x.name);
    } else {
        int k[] = {1 + below(w, 5), x.shape[1], 1 + below(w, 2), 1 + below(w, 2)};
        int stride = 1 + chance(w, 30), padding = chance(w, 30);
        Var weight = *birth(w, 4, k);
        v.has_grad |= weight.has_grad, v.class_ = SUMMED;
        v.bound = x.bound * weight.bound * k[1] * k[2] * k[3];
        v.shape[1] = k[0];
        for (int a = 2; a < 4; a++) v.shape[a] = (x.shape[a] + 2 * padding - k[a]) / stride + 1;
        write_line(w, "%s = conv2d(%s, %s, stride=%d, padding=%d)", v.name, x.name, weight.name,
                   stride, padding);
    }
    keep(w, &v);
    return true;
}

/* Sums of so many terms that workers have nodes of their trees, and convolutions of so many
 * multiplications that oneDNN computes them. All terms are positive. */
static bool write_large(Writer *w) {
    static const char *const of[] = {"x.sum(0)", "x.sum()",        "x.mean(0)",      "x.T @ y",
                                     "x.var(0)", "(x * y).sum(0)", "mse_loss(x, y)", "x.norm()",
                                     "x.sum(1)", "x[:, 0] @ y",    "logsumexp(x, 0)"};
    if (w->is_whole) return false;
    int a = below(w, SIGNALS), b = below(w, SIGNALS), k = 1 + below(w, 3), C = 1 + below(w, 9);
    if (chance(w, 60)) {
        int K = chance(w, 50) ? 64 << below(w, 5) : 40 + below(w, 1200);
        write_line(w, "signal s%d { x = rand([%d, %d], dtype=dt) }", a, K, C);
        write_line(w, "signal s%d { y = rand([%d, %d], dtype=dt) }", b, K, C);
        for (int i = 0; i < 3; i++)
            write_line(w, "print(\"sum\", (%s).tolist())", of[below(w, sizeof of / sizeof *of)]);
        return true;
    }
    write_line(w, "signal s%d { x = param(rand([%d, %d, %d, 9], dtype=dt)) }", a, 1 + below(w, 40),
               C, 4 + below(w, 9));
    write_line(w, "signal s%d { y = param(rand([%d, %d, %d, %d], dtype=dt)) }", b,
               1 + below(w, 20), C, k, k);
    write_line(w, "z = conv2d(x, y, stride=%d, padding=%d); backward (z * z).mean()",
               1 + below(w, 2), below(w, k));
    write_line(w, "print(\"conv\", y.grad.tolist(), z.detach().flatten()[::9].tolist(), "
                  "x.grad.flatten()[::9].tolist())");
    return true;
}

static bool write_network(Writer *w) {
    Var *x = any_of(w, 2, SUMMED);
    if (!x || w->is_whole) return false;
    Var a = *x, v = fresh(w, &a);
    int axis = below(w, a.rank), shape[AXES];
    memcpy(shape, a.shape, sizeof shape);
    v.class_ = DELICATE;
    switch (below(w, 7)) {
    case 0: write_line(w, "%s = softmax(%s, axis=%d)", v.name, a.name, axis); break;
    case 1: write_line(w, "%s = log_softmax(tanh(%s), %d)", v.name, a.name, axis - a.rank); break;
    case 2:
        if (a.shape[a.rank - 1] < 3) return false;
        write_line(w, "%s = layer_norm(%s, eps=0.1)", v.name, a.name);
        break;
    case 3: write_line(w, "%s = rms_norm(%s, eps=0.1)", v.name, a.name); break;
    case 4:
        if (a.rank != 2) return false;
        v.rank = 0;
        write_line(w, "%s = cross_entropy(%s, randint(0, %d, [%d]))", v.name, a.name, a.shape[1],
                   a.shape[0]);
        break;
    case 5: {
        Var b = *birth(w, a.rank, shape);
        v.rank = 0, v.has_grad |= b.has_grad;
        write_line(w, "%s = mse_loss(%s, %s)", v.name, a.name, b.name);
        break;
    }
    default: {
        if (a.rank != 3) return false;
        shape[1] = 1 + below(w, 6);
        Var k = *birth(w, 3, shape), q = *birth(w, 3, shape);
        v.has_grad |= k.has_grad || q.has_grad;
        write_line(w, "%s = attention(%s, %s, %s)", v.name, a.name, k.name, q.name);
    }
    }
    keep(w, &v);
    return true;
}

/* More functions, most of them compositions. */
static bool write_misc(Writer *w) {
    Var *x = any_of(w, 1, RAW);
    if (!x) return false;
    Var a = *x, v = fresh(w, &a);
    int axis = below(w, a.rank), n = a.shape[axis], k;
    switch (below(w, 11)) {
    case 0: write_line(w, "%s = masked_fill(%s, %s > 0, 2)", v.name, a.name, a.name); break;
    case 1:
        v.has_grad = false, v.grain = 0, v.bound = 3;
        write_line(w, "%s = (%s.long() & 3).to(dt)", v.name, a.name);
        break;
    case 2:
        v.bound *= 2;
        if (!fits(w, &v)) return false;
        write_line(w, "%s = dropout(%s, 0.5)", v.name, a.name);
        break;
    case 3:
        if (w->is_whole) return false;
        v.class_ = SUMMED;
        write_line(w, "%s = tanh(%s).cumprod(%d)", v.name, a.name, axis);
        break;
    case 4:
        k = 1 + below(w, n);
        v.shape[axis] = n % k ? n % k : k;
        write_line(w, "%s = split(%s, %d, axis=%d)[-1]", v.name, a.name, k, axis);
        break;
    case 5:
        if (a.rank != 2) return false;
        v.shape[0] *= 2, v.shape[1] *= 3;
        if (!fits(w, &v)) return false;
        write_line(w, "%s = %s.repeat(2, 3)", v.name, a.name);
        break;
    case 6:
        if (a.rank != 1) return false;
        v.rank = 2, v.shape[1] = n, v.bound *= 2;
        if (!fits(w, &v)) return false;
        write_line(w, "%s = %s.unsqueeze(1) - %s.unsqueeze(0)", v.name, a.name, a.name);
        break;
    case 7:
        v.rank = 2, v.shape[0] = 1 + below(w, 9), v.shape[1] = 4;
        v.has_grad = false, v.bound = 1, v.grain = 0;
        write_line(w, "%s = one_hot(randint(0, 4, [%d]), 4).to(dt)", v.name, v.shape[0]);
        break;
    case 8: /* a well-conditioned system */
        if (a.rank != 2 || w->is_whole || n > 20 || a.shape[0] > 20) return false;
        v.class_ = SUMMED;
        write_line(w, "%s = solve(tanh(%s @ %s.T) * 0.1 + eye(%d, dtype=dt), %s)", v.name, a.name,
                   a.name, a.shape[0], a.name);
        break;
    case 9:
        if (a.rank != 3 || w->is_whole || a.shape[1] * a.shape[2] < 3) return false;
        v.class_ = DELICATE;
        write_line(w, "%s = group_norm(%s, 1, eps=0.1)", v.name, a.name);
        break;
    default:
        write_line(w, "print(\"both\", %s.to(float64), %s.shape, (%s > 0).tolist())",
                   w->is_whole ? a.name : "ones(2)", a.name, a.name);
        return true;
    }
    keep(w, &v);
    return true;
}

/* ---- Scopes, gradients, output ---- */

static void open_scope(Writer *w) {
    if (w->depth >= 3) return;
    int k = below(w, SIGNALS);
    w->open[w->depth] = w->out->n;
    if (chance(w, 15))
        write_line(w, "signal s%d backward s%d {", k, below(w, SIGNALS));
    else
        write_line(w, "signal s%d {", k);
    w->depth++;
}
static void close_scope(Writer *w) {
    if (!w->depth) return;
    w->depth--;
    w->out->pair[w->open[w->depth]] = w->out->n;
    int at = w->out->n;
    write_line(w, "}");
    if (w->out->n > at) w->out->pair[at] = 0;
}

static void print_var(Writer *w, const Var *v) {
    if (chance(w, 75))
        write_line(w, "print(\"%s\", %s.tolist())", v->name, v->name);
    else if (w->is_whole)
        write_line(w, "print(\"%s\", %s.to(float64))", v->name, v->name);
    else
        write_line(w, "print(\"%s\", %s.detach().tolist())", v->name, v->name);
}

static bool write_backward(Writer *w) {
    Var *x = NULL;
    for (int i = 0; i < 12 && !(x && x->has_grad && !x->is_param); i++) x = any(w);
    if (!x || !x->has_grad || x->is_param || numel(x) == 0) return false;
    Var v = *x;
    if (chance(w, 50))
        write_line(w, "backward (%s * %d).sum()", v.name, 1 + below(w, 2));
    else
        write_line(w, "%s.sum().backward()", v.name);
    Var params[VARS_MAX];
    int n = 0;
    for (int i = 0; i < w->n_var; i++)
        if (w->var[i].is_param) params[n++] = w->var[i];
    for (int i = 0; i < n; i++) {
        const char *p = params[i].name;
        write_line(w, "print(\"grad %s\", %s.grad.tolist() if %s.grad is not none else 0)", p, p,
                   p);
        if (chance(w, 50))
            write_line(w, "if %s.grad is not none { no_grad { %s -= %s%s.grad.clamp(-1, 1) } }", p,
                       p, w->is_whole ? "" : "0.1 * ", p);
        write_line(w, "%s.grad = none", p);
    }
    /* Variables that depend on the graph that backward has consumed are not used again. */
    int m = 0;
    for (int i = 0; i < w->n_var; i++) {
        w->var[m] = w->var[i];
        if (w->var[m].is_param) w->var[m].bound += 1;
        if (w->var[i].is_param || !w->var[i].has_grad) m++;
    }
    w->n_var = m;
    return true;
}

static bool write_copy(Writer *w) {
    Var *x = any(w);
    if (!x) return false;
    Var v = fresh(w, x);
    write_line(w, "%s = signal.tensor(%s, \"s%d\")", v.name, x->name, below(w, SIGNALS));
    keep(w, &v);
    return true;
}

/* A few training steps: the same scopes are entered again and again. */
static bool write_training(Writer *w) {
    if (w->depth || w->is_whole) return false;
    int batch[] = {2 + below(w, 12), 1 + below(w, 9)}, n = w->count++, hidden = 1 + below(w, 8);
    Var x = *birth(w, 2, batch);
    int kind = below(w, 3), a = below(w, SIGNALS), b = below(w, SIGNALS);
    write_line(w,
               "w%d = param(0.3 * randn([%d, %d], dtype=dt)); u%d = param(ones([%d, 2], dtype=dt))",
               n, batch[1], hidden, n, hidden);
    if (kind)
        write_line(w, "o%d = optim.%s([w%d, u%d], lr=0.05)", n, kind == 1 ? "SGD" : "Adam", n, n);
    int open = w->out->n;
    write_line(w, "for k in range(%d) {", chance(w, 50) ? 3 : 6 + below(w, 10));
    w->depth++;
    write_line(w, "signal s%d { h = tanh(%s.detach() @ w%d) }", a, x.name, n);
    write_line(w, "signal s%d { loss = ((h @ u%d - 0.5) ** 2).mean() }", b, n);
    write_line(w, "backward loss");
    if (kind)
        write_line(w, "o%d.step(); o%d.zero_grad()", n, n);
    else
        write_line(w,
                   "no_grad { w%d -= 0.1 * w%d.grad; u%d -= 0.1 * u%d.grad }; w%d.grad = none; "
                   "u%d.grad = none",
                   n, n, n, n, n, n);
    if (chance(w, 50)) write_line(w, "print(\"loss\", loss.item())");
    w->depth--;
    w->out->pair[open] = w->out->n;
    write_line(w, "}");
    write_line(w, "print(\"w%d\", w%d.tolist())", n, n);
    return true;
}

static void write_statement(Writer *w) {
    static bool (*const of[])(Writer *) = {
        write_unary,  write_unary,  write_unary,   write_binary,   write_binary,   write_binary,
        write_update, write_reduce, write_reduce,  write_reduce,   write_question, write_view,
        write_view,   write_view,   write_join,    write_put,      write_index,    write_index,
        write_order,  write_misc,   write_misc,    write_training, write_matmul,   write_matmul,
        write_matmul, write_conv,   write_network, write_network,  write_copy,
        write_large};
    int kind = below(w, 100);
    if (w->n_var < 3 || kind < 10)
        birth(w, -1, NULL);
    else if (kind < 19)
        open_scope(w);
    else if (kind < 28)
        close_scope(w);
    else if (kind < 32)
        print_var(w, any(w));
    else if (kind < 36)
        write_backward(w);
    else
        of[below(w, (int)(sizeof of / sizeof *of))](w);
}

/* Generates about n statements. The caller writes line 0, which sets dt. */
/* most: limit of the integers that tensors are created with. */
static void program_write(Lines *out, uint64_t seed, int n, bool is_whole, int most) {
    Writer *w = xcalloc(1, sizeof *w);
    w->r.state = seed, w->out = out, w->is_whole = is_whole, w->is_large = chance(w, 30);
    out->n = 0, w->most = most;
    write_line(w, "dt = float64");
    for (int i = 0; i < n; i++) write_statement(w);
    while (w->depth) close_scope(w);
    if (chance(w, 60)) write_backward(w);
    for (int i = w->n_var > 8 ? w->n_var - 8 : 0; i < w->n_var; i++) print_var(w, &w->var[i]);
    free(w);
}

/* ---- Configurations ---- */

static void config_write(FILE *f, uint64_t seed, int n_workers) {
    Rand r = {.state = seed};
    for (int i = 0; i < SIGNALS; i++) {
        if (rand_below(&r, 10) == 0) continue; /* not configured */
        fprintf(f, "s%d:\n", i);
        bool is_whole = rand_below(&r, 6) == 0, has_keys = false;
        if (rand_below(&r, 12)) {
            fprintf(f, "  shard:\n");
            if (is_whole) fprintf(f, "    replicated: true\n"), has_keys = true;
            if (!is_whole)
                fprintf(f, "    axis: %d\n",
                        rand_below(&r, 4) ? rand_below(&r, 3) : -1 - rand_below(&r, 2));
            int rank[16], n = n_workers;
            for (int k = 0; k < n; k++) rank[k] = k;
            for (int k = n - 1; k > 0; k--) {
                int o = rand_below(&r, k + 1), t = rank[k];
                rank[k] = rank[o], rank[o] = t;
            }
            if (rand_below(&r, 2)) {
                int most = 1 + rand_below(&r, n);
                fprintf(f, "    workers: [");
                for (int k = 0; k < most; k++) fprintf(f, "%s%d", k ? ", " : "", rank[k]);
                fprintf(f, "]\n");
            }
            has_keys = true;
        }
        /* Copies only to later ones: no cycles. */
        if (i < SIGNALS - 1 && (!has_keys || rand_below(&r, 4) == 0))
            fprintf(f, "  backward: s%d\n", i + 1 + rand_below(&r, SIGNALS - 1 - i));
        else if (!has_keys)
            fprintf(f, "  compile: false\n");
    }
}
#endif
