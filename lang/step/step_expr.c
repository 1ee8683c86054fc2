/* step_expr.c: the numbers of a round: $NAME, $NAME*3, $NAME+2, $NAME*3-2. They stand anywhere in a
 * line of the body except in its types, its position and its comment, and are replaced in the text
 * before it is parsed.
 * SPDX-License-Identifier: MIT */
#include "lang/step/step_expr.h"
#include "lang/step/step_text.h"
#include "runtime/inst/element.h"
#include "runtime/inst/inst_print.h"

#include <inttypes.h>
#include <string.h>

bool step_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const char *step_find_number(const char *s, size_t n) { return memchr(s, '$', step_plain(s, n)); }

const uint8_t *step_row(const StepInput *in, uint64_t round) {
    uint64_t row = in->is_same || !in->is_row ? 0 : in->cycles ? round % in->rows : round;
    return in->data + row * type_bytes(&in->type);
}

/* The digits at s[*i]; false: there are none, or they exceed 18. */
static bool digits(const char *s, size_t n, size_t *i, int64_t *v) {
    size_t from = *i;
    for (*v = 0; *i < n && s[*i] >= '0' && s[*i] <= '9' && *i - from < 18; ++*i)
        *v = *v * 10 + (s[*i] - '0');
    return *i > from && (*i == n || s[*i] < '0' || s[*i] > '9');
}

typedef struct Number {
    const StepInput *in; /* NULL: $round */
    int64_t times, plus;
    bool is_plain; /* neither is given */
} Number;

/* Reads $NAME[*INT][+INT|-INT] at s[*i]. err: with the column. */
static bool read_number(const Step *s, const char *t, size_t n, size_t *i, Number *out, Err *err) {
    size_t at = *i, name = ++*i;
    while (*i < n && step_name_char(t[*i])) ++*i;
    size_t n_name = *i - name;
    *out = (Number){.times = 1, .is_plain = true};
    out->in = step_input(s, t + name, n_name);
    bool is_round = n_name == 5 && !memcmp(t + name, "round", 5);
    if (n_name == 0)
        return err_set(err, ERR_PARSE, "column %zu: a name is missing after $", at + 1);
    if (!is_round && (!out->in || !out->in->is_number)) {
        err_set(err, ERR_PARSE, "column %zu: there is no number '%.*s' in this step", at + 1,
                (int)(n_name < 60 ? n_name : 60), t + name);
        return err_hint(err, "it needs a line such as: input %.*s f64 [2] 0.1 0.2",
                        (int)(n_name < 60 ? n_name : 60), t + name);
    }
    if (*i + 1 < n && t[*i] == '*' && t[*i + 1] != ' ') {
        ++*i;
        out->is_plain = false;
        if (!digits(t, n, i, &out->times))
            return err_set(err, ERR_PARSE, "column %zu: a whole number is missing after *", *i + 1);
    }
    if (*i + 1 < n && (t[*i] == '+' || t[*i] == '-') && t[*i + 1] >= '0' && t[*i + 1] <= '9') {
        bool minus = t[(*i)++] == '-';
        out->is_plain = false;
        if (!digits(t, n, i, &out->plus))
            return err_set(err, ERR_PARSE, "column %zu: a whole number is missing", *i + 1);
        if (minus) out->plus = -out->plus;
    }
    if (out->is_plain || !out->in || out->in->type.dtype == DT_I64) return true;
    return err_set(err, ERR_PARSE, "column %zu: '%s' is a float: it takes no * + or -", at + 1,
                   out->in->name);
}

/* Appends the number as an operand is written. */
static bool put_number(const Number *x, uint64_t round, size_t at, Bytes *out, Err *err) {
    int64_t v = (int64_t)round;
    if (x->in) {
        static const uint8_t zero[8]; /* not bound yet: for checks of the form */
        const uint8_t *p = x->in->rows ? step_row(x->in, round) : zero;
        if (x->in->type.dtype == DT_F64) {
            inst_put_float(out, element_float(DT_F64, p));
            return true;
        }
        v = element_int(DT_I64, p);
    }
    if (__builtin_mul_overflow(v, x->times, &v) || __builtin_add_overflow(v, x->plus, &v))
        return err_set(err, ERR_PARSE, "column %zu: the number is out of range in round %llu",
                       at + 1, (unsigned long long)round + 1);
    bytes_printf(out, "%" PRId64, v);
    return true;
}

bool step_expand(const Step *s, const StepLine *line, uint64_t round, Bytes *out, Err *err) {
    const char *t = line->text;
    size_t n = step_plain(t, line->n), i = 0;
    out->n = 0;
    while (i < n) {
        const char *next = memchr(t + i, '$', n - i);
        size_t to = next ? (size_t)(next - t) : n;
        bytes_add(out, t + i, to - i);
        i = to;
        if (i == n) break;
        Number x;
        TRY(read_number(s, t, n, &i, &x, err) && put_number(&x, round, to, out, err));
    }
    bytes_add(out, t + n, line->n - n);
    return true;
}
