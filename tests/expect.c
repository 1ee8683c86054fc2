/* expect.c: reads the expectations of a .gt test from its comments and compares them with what
 * happened. A directive is the first word after `#` and a blank; all other comments are ignored.
 * expect.h lists the directives.
 * SPDX-License-Identifier: MIT */
#include "tests/expect.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ---- */

void text_add(Text *t, const char *s, size_t n) {
    if (t->n + n + 1 > t->cap) {
        t->cap = 2 * (t->n + n + 1);
        t->data = realloc(t->data, t->cap);
        if (!t->data) abort();
    }
    memcpy(t->data + t->n, s, n);
    t->n += n;
    t->data[t->n] = 0;
}

void text_printf(Text *t, const char *format, ...) {
    char line[8192];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    text_add(t, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

Text text_read(const char *path, size_t limit_bytes) {
    Text t = {0};
    text_add(&t, "", 0);
    FILE *f = fopen(path, "rb");
    char block[65536];
    for (size_t n; f && t.n < limit_bytes && (n = fread(block, 1, sizeof block, f)) > 0;)
        text_add(&t, block, n);
    if (f) fclose(f);
    return t;
}

void text_free(Text *t) {
    free(t->data);
    *t = (Text){0};
}

/* ---- Directives ---- */

static void push_line(ExpectLine **list, int *n, const char *s, size_t len, double tolerance,
                      int line) {
    *list = realloc(*list, (size_t)(*n + 1) * sizeof **list);
    while (len && isspace((unsigned char)s[len - 1])) len--;
    (*list)[(*n)++] = (ExpectLine){strndup(s, len), tolerance, line};
}

static void set_text(char **slot, const char *s, size_t n) {
    size_t old = strlen(*slot);
    *slot = realloc(*slot, old + n + 2);
    if (old) (*slot)[old++] = ' ';
    memcpy(*slot + old, s, n);
    (*slot)[old + n] = 0;
}

/* Returns the text after "NAME:" if the comment is that directive, without one blank after the
 * colon. */
static const char *directive(const char *comment, const char *name) {
    size_t n = strlen(name);
    if (strncmp(comment, name, n) || comment[n] != ':') return NULL;
    return comment + n + 1 + (comment[n + 1] == ' ');
}

static void read_comment(Expect *x, const char *c, size_t n, int line) {
    char text[4096];
    snprintf(text, sizeof text, "%.*s", (int)n, c);
    const char *s;
    if ((s = directive(text, "expect")))
        push_line(&x->out, &x->n_out, s, strlen(s), -1, line);
    else if (!strncmp(text, "expect~ ", 8)) {
        char *end;
        double tolerance = strtod(text + 8, &end);
        if (*end == ':') end++;
        while (*end == ' ') end++;
        push_line(&x->out, &x->n_out, end, strlen(end), tolerance, line);
    } else if ((s = directive(text, "error")))
        push_line(&x->error, &x->n_error, s, strlen(s), -1, line);
    else if ((s = directive(text, "stderr")))
        push_line(&x->err, &x->n_err, s, strlen(s), -1, 0);
    else if ((s = directive(text, "exit")))
        x->exit_code = atoi(s);
    else if ((s = directive(text, "args")))
        set_text(&x->args, s, strlen(s));
    else if ((s = directive(text, "options")))
        set_text(&x->options, s, strlen(s));
    else if ((s = directive(text, "slow")))
        set_text(&x->slow, s, strlen(s));
    else if ((s = directive(text, "not-world")))
        set_text(&x->not_world, s, strlen(s));
    else if ((s = directive(text, "worlds")))
        set_text(&x->worlds, s, strlen(s));
    else if ((s = directive(text, "skip")))
        set_text(&x->skip, s, strlen(s));
    else if ((s = directive(text, "stdin"))) {
        text_printf(&x->stdin_text, "%s\n", s);
        x->has_stdin = true;
    } else if ((s = directive(text, "env"))) {
        x->env = realloc(x->env, (size_t)(x->n_env + 1) * sizeof *x->env);
        x->env[x->n_env++] = strdup(s);
    } else if (!strncmp(text, "nontest", 7))
        x->nontest = true;
    else if (!strncmp(text, "err-file", 8))
        x->has_err_file = true;
    else if (!strncmp(text, "out-file", 8))
        x->has_out_file = true;
}

Expect *expect_read(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    Expect *x = calloc(1, sizeof *x);
    x->exit_code = -1;
    x->args = strdup("");
    x->options = strdup("");
    x->worlds = strdup("");
    x->not_world = strdup("");
    x->slow = strdup("");
    x->skip = strdup("");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    for (int number = 1; (n = getline(&line, &cap, f)) >= 0; number++) {
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
        bool is_alone = line[strspn(line, " \t")] == '#';
        /* Every "# word" of the line is tried: a # inside a string has no effect unless a
         * directive's name follows it. */
        for (char *h = line; (h = strstr(h, "# ")); h += 2) {
            int before = x->n_out + x->n_error;
            read_comment(x, h + 2, strlen(h + 2), is_alone ? 0 : number);
            if (x->n_out + x->n_error != before) break;
        }
    }
    free(line);
    fclose(f);
    return x;
}

static void free_lines(ExpectLine *list, int n) {
    for (int i = 0; i < n; i++) free(list[i].text);
    free(list);
}

void expect_free(Expect **xp) {
    Expect *x = *xp;
    if (!x) return;
    free_lines(x->out, x->n_out);
    free_lines(x->err, x->n_err);
    free_lines(x->error, x->n_error);
    for (int i = 0; i < x->n_env; i++) free(x->env[i]);
    free(x->env);
    free(x->args);
    free(x->options);
    free(x->worlds);
    free(x->not_world);
    free(x->slow);
    free(x->skip);
    text_free(&x->stdin_text);
    free(x);
    *xp = NULL;
}

/* ---- Comparing ---- */

static bool starts_number(const char *s, const char *begin) {
    if (s > begin && (isalnum((unsigned char)s[-1]) || s[-1] == '_')) return false;
    if (*s == '-' || *s == '+') s++;
    if (isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]))) return true;
    return (!strncmp(s, "inf", 3) || !strncmp(s, "nan", 3)) && !isalnum((unsigned char)s[3]);
}

static bool near(double a, double b, double tolerance) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b)) return a == b;
    return fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

static bool has_words(const char *s) {
    const char *begin = s;
    while (*s) {
        char *end;
        if (starts_number(s, begin)) {
            strtod(s, &end);
            s = end;
        } else if (*s == ' ' || *s == ',')
            s++;
        else
            return true;
    }
    return false;
}

static bool match_near(const char *got, const char *want, double tolerance) {
    const char *got0 = got, *want0 = want;
    bool words = has_words(want);
    for (;;) {
        while (*got && (words ? *got == ' ' : !starts_number(got, got0))) got++;
        while (*want && (words ? *want == ' ' : !starts_number(want, want0))) want++;
        if (!*got || !*want) return !*got && !*want;
        bool a = starts_number(got, got0), b = starts_number(want, want0);
        if (a != b) return false;
        if (a) {
            char *got_end, *want_end;
            if (!near(strtod(got, &got_end), strtod(want, &want_end), tolerance)) return false;
            got = got_end;
            want = want_end;
            /* "1." and "1.0" are one number: strtod has consumed the point. */
        } else if (*got++ != *want++)
            return false;
    }
}

static int bracket_depth(const char *s) {
    int depth = 0;
    for (; *s; s++) depth += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
    return depth;
}

/* The lines of a text; pointers into one copy. */
typedef struct Lines {
    char *copy, **line;
    int n;
} Lines;

static Lines split_lines(const char *data, size_t n) {
    Lines l = {.copy = malloc(n + 1)};
    memcpy(l.copy, data, n);
    l.copy[n] = 0;
    for (size_t i = 0; i < n; i++)
        if (!l.copy[i]) l.copy[i] = '?'; /* output with a NUL never matches */
    for (char *p = l.copy; p < l.copy + n;) {
        char *end = strchr(p, '\n');
        if (end) *end = 0;
        l.line = realloc(l.line, (size_t)(l.n + 1) * sizeof *l.line);
        l.line[l.n++] = p;
        size_t len = strlen(p);
        while (len && (p[len - 1] == ' ' || p[len - 1] == '\r')) p[--len] = 0;
        if (!end) break;
        p = end + 1;
    }
    return l;
}

static void free_lines_of(Lines *l) {
    free(l->copy);
    free(l->line);
}

/* Joins lines from i on, with single blanks, until the brackets close. Returns their number; 0:
 * they never close. */
static int join_tensor(const Lines *l, int i, Text *out) {
    out->n = 0;
    int depth = 0, k = i;
    do {
        const char *s = l->line[k] + strspn(l->line[k], " ");
        if (*s) text_printf(out, "%s%s", out->n ? " " : "", s);
        depth += bracket_depth(l->line[k]);
    } while (++k < l->n && depth > 0);
    return depth == 0 ? k - i : 0;
}

static bool match_line(const char *got, const ExpectLine *want) {
    return want->tolerance < 0 ? !strcmp(got, want->text)
                               : match_near(got, want->text, want->tolerance);
}

/* Returns how many lines of output from i on match the expectation; 0: it does not match. */
static int take(const Lines *l, int i, const ExpectLine *want, Text *scratch) {
    if (i >= l->n) return 0;
    if (match_line(l->line[i], want)) return 1;
    if (!strstr(want->text, "tensor(") || bracket_depth(want->text) != 0 ||
        bracket_depth(l->line[i]) <= 0)
        return 0;
    int n = join_tensor(l, i, scratch);
    return n && match_line(scratch->data, want) ? n : 0;
}

/* Looks ahead for one missing or one extra line, so that the rest of the diff stays useful. */
static bool check_out(const Expect *x, const char *path, const Text *out, Text *why) {
    Lines l = split_lines(out->data, out->n);
    Text scratch = {0}, diff = {0};
    bool ok = true;
    int i = 0, e = 0, shown = 0;
    while (e < x->n_out || i < l.n) {
        int n = e < x->n_out ? take(&l, i, &x->out[e], &scratch) : 0;
        if (n) {
            if (!ok && shown++ < 40) text_printf(&diff, "  %s\n", l.line[i]);
            i += n;
            e++;
            continue;
        }
        if (ok && i > 0) text_printf(&diff, "  %s\n", l.line[i - 1]);
        ok = false;
        bool is_missing = i >= l.n || (e + 1 < x->n_out && take(&l, i, &x->out[e + 1], &scratch));
        bool is_extra = !is_missing &&
                        (e >= x->n_out || (i + 1 < l.n && take(&l, i + 1, &x->out[e], &scratch)));
        if (shown++ < 40) {
            if (!is_extra && x->out[e].line)
                text_printf(&diff, "- %s        (expected at %s:%d)\n", x->out[e].text, path,
                            x->out[e].line);
            else if (!is_extra)
                text_printf(&diff, "- %s\n", x->out[e].text);
            if (!is_missing) text_printf(&diff, "+ %s\n", l.line[i]);
        }
        if (!is_extra) e++;
        if (!is_missing) i++;
    }
    if (!ok) text_printf(why, "--- stdout: - expected, + printed\n%s", diff.data);
    if (shown > 40) text_printf(why, "  ... and %d lines more\n", shown - 40);
    text_free(&diff);
    text_free(&scratch);
    free_lines_of(&l);
    return ok;
}

/* False in worlds whose messages show no path or no source text. */
static bool is_with_source(const char *world) {
    return strcmp(world, "stdin") && strcmp(world, "replay");
}

static bool check_err(const Expect *x, const char *path, const char *world, const Text *err,
                      Text *why) {
    bool ok = true, is_path = is_with_source(world);
    for (int i = 0; i < x->n_error; i++) {
        char place[4200] = "";
        if (x->error[i].line && is_path)
            snprintf(place, sizeof place, "%.4000s:%d:", path, x->error[i].line);
        if (strstr(err->data, x->error[i].text) && strstr(err->data, place)) continue;
        text_printf(why, "--- stderr lacks: %s %s\n", place, x->error[i].text);
        ok = false;
    }
    const char *from = err->data;
    for (int i = 0; i < x->n_err; i++) {
        const char *found = strstr(from, x->err[i].text);
        if (found) {
            from = found + strlen(x->err[i].text);
            continue;
        }
        text_printf(why, "--- stderr lacks%s: %s\n",
                    strstr(err->data, x->err[i].text) ? " (in this order)" : "", x->err[i].text);
        ok = false;
    }
    if (!x->n_error && !x->n_err && !x->has_err_file && err->n) {
        text_printf(why, "--- stderr is not empty\n");
        ok = false;
    }
    if (!ok) text_printf(why, "--- stderr\n%.*s", 6000, err->data);
    return ok;
}

static bool check_file(const char *path, const char *tail, const Text *got, Text *why) {
    char name[4200];
    snprintf(name, sizeof name, "%.*s%s", (int)strlen(path) - 3, path, tail);
    Text want = text_read(name, 1 << 22);
    bool ok = got->n == want.n && !memcmp(got->data, want.data, want.n);
    if (!ok)
        text_printf(why, "--- should be as in %s:\n%.*s--- but is:\n%.*s", name, 4000, want.data,
                    4000, got->data);
    text_free(&want);
    return ok;
}

bool expect_check(const Expect *x, const char *path, const char *world, const Text *out,
                  const Text *err, int code, Text *why) {
    bool ok = x->has_out_file ? check_file(path, ".out", out, why) : check_out(x, path, out, why);
    ok &= check_err(x, path, world, err, why);
    if (x->has_err_file && is_with_source(world)) ok &= check_file(path, ".err", err, why);
    bool code_ok = x->exit_code >= 0 ? code == x->exit_code
                   : x->n_error      ? code == 1 || code == 65
                                     : code == 0;
    if (code_ok) return ok;
    text_printf(why, "--- exit code %d, expected %s\n", code,
                x->exit_code > 0 ? "another"
                : x->n_error     ? "1 or 65"
                                 : "0");
    if (ok && err->n) text_printf(why, "--- stderr\n%.*s", 6000, err->data);
    return false;
}
