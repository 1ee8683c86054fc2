/* habit_call.c: arguments of a call for the parameters of a row of habit.def, and the hint made of
 * them. Works on text: an argument is what stands between two commas.
 * SPDX-License-Identifier: MIT */
#include "lang/error/habit_call.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool piece_is(Piece p, const char *s) { return strlen(s) == p.n && !memcmp(p.s, s, p.n); }

static Piece trimmed(const char *s, size_t n) {
    while (n && isspace((unsigned char)*s)) s++, n--;
    while (n && isspace((unsigned char)s[n - 1])) n--;
    return (Piece){s, n};
}

/* The length of the string literal that s begins with, or 1. */
static size_t literal_length(const char *s, size_t n) {
    if (*s != '"' && *s != '\'') return 1;
    size_t k = 1;
    while (k < n && s[k] != *s) k += s[k] == '\\' ? 2 : 1;
    return k < n ? k + 1 : n;
}

size_t brackets_length(const char *s, size_t n) {
    int depth = 0;
    for (size_t k = 0; k < n; k += literal_length(s + k, n - k)) {
        depth += strchr("([{", s[k]) != NULL;
        depth -= strchr(")]}", s[k]) != NULL;
        if (depth == 0) return k + 1;
    }
    return 0;
}

/* Splits "(a, b=c)" or "[a, b]" at its commas. Returns the number of pieces, or -1 if there are
 * more than BOUND_MAX. */
static int split(const char *s, size_t n, Piece *out) {
    int n_out = 0;
    size_t start = 1;
    for (size_t k = 1; k < n;) {
        if (s[k] == ',' || k == n - 1) {
            Piece p = trimmed(s + start, k - start);
            start = k + 1;
            if (p.n && n_out == BOUND_MAX) return -1;
            if (p.n) out[n_out++] = p;
        }
        size_t inner = strchr("([{", s[k]) ? brackets_length(s + k, n - k) : 0;
        k += inner ? inner : k == n - 1 ? 1 : literal_length(s + k, n - k);
    }
    return n_out;
}

/* The name in front of = in `name=value`, or an empty piece; *value is the rest. */
static Piece keyword_of(Piece arg, Piece *value) {
    size_t k = 0;
    while (k < arg.n && is_word(arg.s[k])) k++;
    size_t name = k;
    while (k < arg.n && arg.s[k] == ' ') k++;
    *value = arg;
    if (!name || k + 1 >= arg.n || arg.s[k] != '=' || arg.s[k + 1] == '=') return (Piece){arg.s, 0};
    *value = trimmed(arg.s + k + 1, arg.n - k - 1);
    return (Piece){arg.s, name};
}

/* True for what is probably one number: 3, -1, 0.5, n, len(x), x.shape[0]. */
static bool looks_like_number(Piece p) {
    static const char *const begins[] = {"len(", "int(", "n_", "num"};
    if (p.n && *p.s == '-') p.s++, p.n--;
    if (!p.n) return false;
    if (isdigit((unsigned char)*p.s) || *p.s == '.' || piece_is(p, "n") || piece_is(p, "N"))
        return true;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (p.n >= strlen(begins[i]) && !memcmp(p.s, begins[i], strlen(begins[i]))) return true;
    for (size_t k = 0; k + 7 <= p.n; k++)
        if (!memcmp(p.s + k, ".shape[", 7)) return true;
    return false;
}

/* True if both are the same text, or both a string literal of the same text. */
static bool same_text(Piece a, Piece b) {
    if (a.n != b.n || !a.n) return a.n == b.n;
    bool quoted = (*a.s == '"' || *a.s == '\'') && (*b.s == '"' || *b.s == '\'') && a.n > 1;
    if (quoted) return !memcmp(a.s + 1, b.s + 1, a.n - 2);
    if (piece_is(a, "True") || piece_is(a, "False")) /* as gt spells them, too */
        return (*b.s | 32) == (*a.s | 32) && !memcmp(a.s + 1, b.s + 1, a.n - 1);
    return !memcmp(a.s, b.s, a.n);
}

/* A parameter of a row. */
typedef struct Param {
    Piece name, want; /* want: the default, or what the argument must be */
    bool is_optional, is_fixed;
} Param;

static Param param_of(Piece text) {
    Param p = {.name = text};
    size_t k = 0;
    while (k < text.n && is_word(text.s[k])) k++;
    if (k == text.n || !k) return p;
    p.name.n = k;
    p.is_optional = text.s[k] == '=';
    p.is_fixed = text.s[k] == ':' || (k + 1 < text.n && text.s[k + 1] == '=');
    k += p.is_optional && p.is_fixed ? 2 : 1;
    p.want = (Piece){text.s + k, text.n - k};
    return p;
}

static bool fits(const Param *p, Piece value) {
    if (!p->is_fixed) return true;
    if (piece_is(p->want, "#")) return looks_like_number(value);
    if (piece_is(p->want, "[]")) return value.n && (*value.s == '[' || *value.s == '(');
    return same_text(p->want, value);
}

static bool add_bound(Bound *b, Piece name, Piece value) {
    if (b->n == BOUND_MAX) return false;
    b->name[b->n] = name;
    b->value[b->n++] = value;
    return true;
}

static bool bind_list(Piece params, Piece args, Bound *b);

/* Binds one argument to its parameter, which may be a list of parameters: ((a, b), (c, d)). */
static bool bind_one(const Param *p, Piece value, Bound *b) {
    if (p->name.n && (*p->name.s == '(' || *p->name.s == '[')) {
        bool is_list = value.n && (*value.s == '(' || *value.s == '[') &&
                       brackets_length(value.s, value.n) == value.n;
        int n_rest = b->n_rest;
        return is_list && bind_list(p->name, value, b) && b->n_rest == n_rest;
    }
    return fits(p, value) && add_bound(b, p->name, value);
}

static bool bind_list(Piece params, Piece args, Bound *b) {
    Piece param[BOUND_MAX], arg[BOUND_MAX], value;
    bool used[BOUND_MAX] = {0};
    int n_params = split(params.s, params.n, param), n_args = split(args.s, args.n, arg), at = 0;
    if (n_params < 0 || n_args < 0) return false;
    bool by_position = true;
    for (int k = 0; k < n_args; k++)
        if (*arg[k].s == '*') return false;
    for (int i = 0; i < n_params; i++) {
        if (piece_is(param[i], "*")) {
            by_position = false;
            continue;
        }
        Param p = param_of(param[i]);
        int found = -1;
        if (by_position && at < n_args && !keyword_of(arg[at], &value).n) found = at++;
        for (int k = 0; k < n_args && found < 0; k++) {
            Piece key = keyword_of(arg[k], &value);
            if (key.n && key.n == p.name.n && !memcmp(key.s, p.name.s, key.n)) found = k;
        }
        if (found >= 0) {
            used[found] = true;
            keyword_of(arg[found], &value);
            if (!bind_one(&p, value, b)) return false;
        } else if (!p.is_optional || !add_bound(b, p.name, p.want))
            return false;
    }
    for (int k = 0; k < n_args; k++)
        if (!used[k]) {
            if (b->n_rest == BOUND_MAX) return false;
            b->rest[b->n_rest++] = arg[k];
        }
    return true;
}

bool call_bind(const char *params, const char *args, Bound *b) {
    *b = (Bound){0};
    size_t n = brackets_length(args, strlen(args));
    return n &&
           bind_list((Piece){params, brackets_length(params, strlen(params))}, (Piece){args, n}, b);
}

void call_bind_names(const char *params, Bound *b) {
    Piece param[BOUND_MAX];
    int n = split(params, brackets_length(params, strlen(params)), param);
    *b = (Bound){0};
    for (int i = 0; i < n; i++) {
        Param p = param_of(param[i]);
        bool has_value = p.want.n && !piece_is(p.want, "#") && !piece_is(p.want, "[]");
        add_bound(b, p.name, has_value ? p.want : p.name);
    }
}

bool piece_is_operand(Piece p) {
    char number[32], *end;
    snprintf(number, sizeof number, "%.*s", (int)p.n, p.s);
    strtod(number, &end);
    if (p.n && *p.s != '-' && p.n < sizeof number && !*end) return true;
    for (size_t k = 0; k < p.n;) {
        size_t inner = strchr("([{", p.s[k]) ? brackets_length(p.s + k, p.n - k) : 0;
        bool is_literal = p.s[k] == '"' || p.s[k] == '\'';
        if (!inner && !is_literal && !is_word(p.s[k]) && p.s[k] != '.') return false;
        k += inner ? inner : literal_length(p.s + k, p.n - k);
    }
    return true;
}

bool stands_alone(char before, const char *behind) {
    behind += strspn(behind, " ");
    return (!before || strchr("([,=", before)) && (!*behind || strchr(")],%;", *behind));
}

/* Puts an argument between what the hint has before and behind it. A list that is an operand, or
 * has a method called, becomes a tensor. */
static int put_argument(Piece v, char before, const char *behind, char *out, size_t size) {
    bool is_alone = stands_alone(before, behind);
    const char *open = is_alone                         ? ""
                       : isalpha((unsigned char)before) ? "" /* for x in [1, 2] */
                       : v.n && *v.s == '['             ? "tensor("
                       : piece_is_operand(v)            ? ""
                                                        : "(";
    return snprintf(out, size, "%s%.*s%s", open, (int)v.n, v.s, *open ? ")" : "");
}

void call_expand(const char *hint, const Bound *b, char *out, size_t size) {
    size_t w = 0;
    char before = 0; /* the last character of the hint that is no blank */
    *out = 0;
    for (const char *s = hint; *s && w + 1 < size;) {
        size_t n = *s == '"' ? literal_length(s, strlen(s)) : strspn(s, " ");
        bool is_name = !n && (isalpha((unsigned char)*s) || *s == '_') && before != '.';
        if (!n)
            while (is_word(s[n])) n++;
        if (*s == '%' && (s == hint || s[-1] != ' ')) { /* with a blank: the remainder */
            for (int i = 0; i < b->n_rest && w + 1 < size; i++)
                w += (size_t)snprintf(out + w, size - w, "%s%.*s", before == '(' && !i ? "" : ", ",
                                      (int)b->rest[i].n, b->rest[i].s);
            s++;
            continue;
        }
        int found = -1;
        bool is_key = s[n] == '=' && s[n + 1] != '=';
        for (int i = 0; i < b->n && is_name && !is_key; i++)
            if (b->name[i].n == n && !memcmp(b->name[i].s, s, n)) found = i;
        n += !n;
        if (found >= 0)
            w += (size_t)put_argument(b->value[found], before, s + n, out + w, size - w);
        else
            w += (size_t)snprintf(out + w, size - w, "%.*s", (int)n, s);
        if (*s != ' ') before = s[n - 1];
        s += n;
    }
}
