/* format.c: Python's format language (contract in format.h). A number is first written as sign,
 * prefix, digits and tail; one function then inserts the thousands separators and pads. Digits come
 * from printf, whose rounding is exact. The shortest decimal is found by trying 15, 16 and 17
 * digits (6 to 9 for float32, from 1 for halves), and the neighbouring decimals if the value is a
 * power of two.
 * SPDX-License-Identifier: MIT */
#include "lang/text/format.h"
#include "runtime/inst/element.h"
#include "runtime/base/utf8.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WIDTH     100000
#define MAX_PRECISION 1000

/* ---- the specification ---- */

static bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

static bool number(const char *s, size_t n, size_t *i, int max, int *out) {
    long v = 0;
    size_t from = *i;
    for (; *i < n && s[*i] >= '0' && s[*i] <= '9'; ++*i)
        if (v <= max) v = v * 10 + (s[*i] - '0');
    if (*i == from) return false;
    *out = (int)(v > max ? max + 1 : v);
    return true;
}

bool format_parse(const char *spec, size_t n, FormatSpec *f, Err *err) {
    *f = (FormatSpec){.fill = " ", .width = -1, .precision = -1};
    size_t i = 0;
    bool filled = false;
    int first = utf8_decode(spec, n, NULL);
    if (first && (size_t)first < n && is_align(spec[first])) {
        memcpy(f->fill, spec, (size_t)first);
        f->fill[first] = '\0';
        f->align = spec[first];
        filled = true;
        i = (size_t)first + 1;
    } else if (n && is_align(spec[0]))
        f->align = spec[i++];
    if (i < n && strchr("+- ", spec[i]) && spec[i]) f->sign = spec[i++];
    if (i < n && spec[i] == '#') {
        f->alt = true;
        i++;
    }
    if (i < n && spec[i] == '0') {
        i++;
        f->zero = !f->align; /* an explicit alignment wins; the zeros are then only the fill */
        if (!f->align) f->align = '=';
        if (!filled) strcpy(f->fill, "0");
    }
    number(spec, n, &i, MAX_WIDTH, &f->width);
    if (i < n && (spec[i] == ',' || spec[i] == '_')) f->group = spec[i++];
    if (i < n && spec[i] == '.') {
        i++;
        if (!number(spec, n, &i, MAX_PRECISION, &f->precision))
            return err_set(err, ERR_ARG, "format '%.*s' has no digits after '.'",
                           (int)(n < 40 ? n : 40), spec);
    }
    if (i < n && strchr("dfFeEgGsxXobnc%", spec[i]) && spec[i]) f->type = spec[i++];
    if (f->group && f->type == 'n')
        return err_set(err, ERR_ARG, "'%c' does not fit format type 'n'", f->group);
    if (i < n) {
        err_set(err, ERR_ARG, "'%.*s' is not a format", (int)(n < 40 ? n : 40), spec);
        return err_hint(err, "as in Python: .4f  .2e  .1%%  8d  ,  <10  >10  x");
    }
    if (f->width > MAX_WIDTH || f->precision > MAX_PRECISION)
        return err_set(err, ERR_LIMIT,
                       "format '%.*s' is too wide: at most %d columns and %d digits",
                       (int)(n < 40 ? n : 40), spec, MAX_WIDTH, MAX_PRECISION);
    return true;
}

/* ---- assembling ---- */

static void put_fill(const FormatSpec *f, size_t count, Bytes *out) {
    for (; count > 0; count--) bytes_puts(out, f->fill);
}

/* Digits with a separator between groups, zero-padded to at least `least` columns. */
static void put_digits(const char *digits, size_t n, char mark, size_t group, size_t least,
                       Bytes *out) {
    size_t total = n;
    while (total + (mark && total ? (total - 1) / group : 0) < least) total++;
    for (size_t i = 0; i < total; i++) {
        if (i && mark && (total - i) % group == 0) bytes_putc(out, mark);
        bytes_putc(out, i < total - n ? '0' : digits[i - (total - n)]);
    }
}

/* head: sign and prefix. digits: the whole part. tail: point, fraction, exponent, percent sign. */
static void put_number(const FormatSpec *f, const char *head, const char *digits, size_t n_digits,
                       const char *tail, size_t group, Bytes *out) {
    size_t fixed = strlen(head) + strlen(tail), width = f->width > 0 ? (size_t)f->width : 0;
    char align = f->align ? f->align : '>';
    bool by_zeros = align == '=' && !strcmp(f->fill, "0");
    size_t least = by_zeros && width > fixed ? width - fixed : 0;
    Bytes middle = {0};
    put_digits(digits, n_digits, f->group, group, least, &middle);
    size_t used = fixed + middle.n, pad = width > used ? width - used : 0;
    size_t left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
    put_fill(f, left, out);
    bytes_puts(out, head);
    if (align == '=') put_fill(f, pad, out);
    bytes_add(out, middle.data ? middle.data : "", middle.n);
    bytes_puts(out, tail);
    if (align == '<')
        put_fill(f, pad, out);
    else if (align == '^')
        put_fill(f, pad - left, out);
    bytes_fini(&middle);
}

static const char *sign_of(bool negative, char sign) {
    return negative ? "-" : sign == '+' ? "+" : sign == ' ' ? " " : "";
}

bool format_int(int64_t v, const FormatSpec *f, Bytes *out, Err *err) {
    char type = f->type ? f->type : 'd';
    if (strchr("fFeEgG%", type)) return format_float((double)v, f, out, err);
    if (type == 's') {
        err_set(err, ERR_ARG, "format type 's' does not fit a whole number");
        return err_hint(err, "d, or str(x)");
    }
    if (f->precision >= 0) {
        err_set(err, ERR_ARG, "a whole number has no digits after the point in format '%c'", type);
        return err_hint(err, ".%df", f->precision);
    }
    char digits[72], head[8];
    if (type == 'c') {
        if (v < 0 || v > 0x10ffff || !utf8_encode((uint32_t)v, digits))
            return err_set(err, ERR_ARG, "%lld is not a code point for format 'c'", (long long)v);
        FormatSpec text = *f;
        text.type = 's';
        if (!text.align || text.align == '=') text.align = '>';
        text.zero = false;
        return format_str(digits, (size_t)utf8_encode((uint32_t)v, digits), &text, out, err);
    }
    unsigned base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
    if (base != 10 && f->group == ',')
        return err_set(err, ERR_ARG, "',' does not fit format type '%c'", type);
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
    size_t n = 0;
    do {
        digits[sizeof digits - ++n] =
            (type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[u % base];
    } while (u /= base);
    snprintf(head, sizeof head, "%s%s", sign_of(v < 0, f->sign),
             !f->alt || base == 10 ? ""
             : type == 'x'         ? "0x"
             : type == 'X'         ? "0X"
             : type == 'o'         ? "0o"
                                   : "0b");
    put_number(f, head, digits + sizeof digits - n, n, "", base == 10 ? 3 : 4, out);
    return true;
}

/* printf's e, f and g with Python's alternate form and default type. Returns malloc'ed text without
 * a sign. */
static char *float_text(double v, const FormatSpec *f) {
    char type = f->type ? f->type : f->precision >= 0 ? 'g' : 'r';
    if (type == 'n') type = 'g';
    if (type == '%') {
        v *= 100;
        type = 'f';
    }
    Bytes b = {0};
    if (type == 'r') {
        format_double(fabs(v), &b);
        char *e = strchr(b.data, 'e');
        if (f->alt && e && !strchr(b.data, '.')) {
            Bytes dotted = {0};
            bytes_printf(&dotted, "%.*s.%s", (int)(e - b.data), b.data, e);
            bytes_fini(&b);
            return dotted.data;
        }
        return b.data;
    }
    char how[8];
    int precision = f->precision >= 0 ? f->precision : 6;
    if (f->alt && (type == 'g' || type == 'G') &&
        isfinite(v)) { /* by hand: %#g of some libcs loses zeros when 9.99 rounds up */
        char e[MAX_PRECISION + 32];
        if (precision == 0) precision = 1;
        snprintf(e, sizeof e, "%.*e", precision - 1, v);
        int exponent = atoi(strchr(e, 'e') + 1);
        bool scientific = exponent < -4 || exponent >= precision;
        type = !scientific ? 'f' : type == 'g' ? 'e' : 'E';
        precision = scientific ? precision - 1 : precision - 1 - exponent;
    }
    snprintf(how, sizeof how, f->alt ? "%%#.*%c" : "%%.*%c", type);
    bytes_printf(&b, how, precision, fabs(v));
    /* A precision without a type formats as g, with at least one digit after the point unless there
     * is an exponent. */
    if (!f->type && isfinite(v) && !strpbrk(b.data, ".e")) bytes_puts(&b, ".0");
    return b.data;
}

/* The default type switches to the exponent one digit earlier than g. */
static bool default_wants_exponent(double v, int precision) {
    char text[MAX_PRECISION + 32];
    snprintf(text, sizeof text, "%.*e", precision ? precision - 1 : 0, v);
    const char *e = strchr(text, 'e');
    int exponent = e ? atoi(e + 1) : 0;
    return exponent == (precision ? precision : 1) - 1;
}

bool format_float(double v, const FormatSpec *f, Bytes *out, Err *err) {
    if (f->type && !strchr("fFeEgG%n", f->type)) {
        err_set(err, ERR_ARG, "format type '%c' does not fit a float", f->type);
        return err_hint(err, f->type == 's'   ? "str(x), or .4f"
                             : f->type == 'd' ? ".0f, or int(x)"
                                              : "int(x)");
    }
    char *text;
    if (!f->type && f->precision >= 0 && isfinite(v) && default_wants_exponent(v, f->precision)) {
        FormatSpec e = *f;
        e.type = 'e';
        e.precision = f->precision ? f->precision - 1 : 0;
        text = float_text(v, &e);
        char *exp = strchr(text, 'e'), *end = exp; /* as g: no trailing zeros */
        if (!f->alt && exp && memchr(text, '.', (size_t)(exp - text))) {
            while (end[-1] == '0') end--;
            if (end[-1] == '.') end--;
            memmove(end, exp, strlen(exp) + 1);
        }
    } else
        text = float_text(v, f);
    size_t n = strspn(text, "0123456789");
    const char *tail = text + n;
    if (n == 0) {
        n = strlen(text);
        tail += n;
    } /* inf, nan */
    Bytes rest = {0};
    bytes_puts(&rest, tail);
    if (f->type == '%') bytes_putc(&rest, '%');
    FormatSpec how = *f;
    if (!isfinite(v)) how.group = 0;
    put_number(&how, sign_of(signbit(v) && !isnan(v), f->sign), text, n, rest.data, 3, out);
    bytes_fini(&rest);
    free(text);
    return true;
}

bool format_str(const char *s, size_t n, const FormatSpec *f, Bytes *out, Err *err) {
    if (f->type && f->type != 's') {
        err_set(err, ERR_ARG, "format type '%c' does not fit a string", f->type);
        return err_hint(err, strchr("dxXobnc", f->type) ? "int(s)" : "float(s)");
    }
    if (f->sign || f->group || f->alt || (f->align == '=' && !f->zero))
        return err_set(err, ERR_ARG, "'%c' does not fit the format of a string",
                       f->sign    ? f->sign
                       : f->group ? f->group
                       : f->alt   ? '#'
                                  : '=');
    if (f->precision >= 0) n = utf8_skip(s, n, (size_t)f->precision);
    size_t used = utf8_count(s, n), width = f->width > 0 ? (size_t)f->width : 0,
           pad = width > used ? width - used : 0;
    size_t left = f->align == '>' ? pad : f->align == '^' ? pad / 2 : 0;
    put_fill(f, left, out);
    bytes_add(out, s, n);
    put_fill(f, pad - left, out);
    return true;
}

/* ---- the shortest decimal ---- */

typedef struct Decimal {
    char digits[20];
    int n, exponent;
} Decimal; /* d.ddd * 10^exponent, no trailing zeros */

static void decimal_from(double v, int n, Decimal *d) {
    char text[40];
    snprintf(text, sizeof text, "%.*e", n - 1, v);
    d->digits[0] = text[0];
    memcpy(d->digits + 1, text + 2, (size_t)(n - 1));
    d->n = n;
    d->exponent = atoi(strchr(text, 'e') + 1);
}

static bool reads_back(const Decimal *d, double v, DType t) {
    char text[48];
    snprintf(text, sizeof text, "%c.%.*se%d", d->digits[0], d->n - 1, d->digits + 1, d->exponent);
    if (t == DT_F64) return strtod(text, NULL) == v;
    float back = strtof(text, NULL);
    return (t == DT_F32 ? back : half_to_float(t, half_from_float(t, back))) == (float)v;
}

/* Moves d up to the next decimal with as many digits; false if all digits are 9. */
static bool decimal_up(Decimal *d) {
    for (int k = d->n - 1; k >= 0; k--) {
        if (d->digits[k] < '9') {
            d->digits[k]++;
            return true;
        }
        d->digits[k] = '0';
    }
    return false;
}

static void shortest(double v, DType t, Decimal *d) {
    int least = t == DT_F64 ? 15 : t == DT_F32 ? 6 : 1, most = t == DT_F64 ? 17 : 9;
    if (v < (t == DT_F64 ? DBL_MIN : FLT_MIN)) least = 1;
    for (int n = least; n <= most; n++) {
        decimal_from(v, n, d);
        if (reads_back(d, v, t)) break;
        if (decimal_up(d) && reads_back(d, v, t)) break;
    }
    while (d->n > 1 && d->digits[d->n - 1] == '0') d->n--;
}

static void put_repr(double v, DType t, Bytes *out) {
    if (isnan(v)) {
        bytes_puts(out, "nan");
        return;
    }
    if (signbit(v)) bytes_putc(out, '-');
    v = fabs(v);
    if (isinf(v)) {
        bytes_puts(out, "inf");
        return;
    }
    if (v == 0) {
        bytes_puts(out, "0.0");
        return;
    }
    Decimal d;
    shortest(v, t, &d);
    if (d.exponent < -4 || d.exponent >= 16) {
        bytes_putc(out, d.digits[0]);
        if (d.n > 1) {
            bytes_putc(out, '.');
            bytes_add(out, d.digits + 1, (size_t)(d.n - 1));
        }
        bytes_printf(out, "e%c%02d", d.exponent < 0 ? '-' : '+', abs(d.exponent));
        return;
    }
    if (d.exponent < 0) {
        bytes_puts(out, "0.");
        for (int k = -1; k > d.exponent; k--) bytes_putc(out, '0');
        bytes_add(out, d.digits, (size_t)d.n);
        return;
    }
    for (int k = 0; k <= d.exponent || k < d.n; k++) {
        if (k == d.exponent + 1) bytes_putc(out, '.');
        bytes_putc(out, k < d.n ? d.digits[k] : '0');
    }
    if (d.n <= d.exponent + 1) bytes_puts(out, ".0");
}

void format_double(double v, Bytes *out) { put_repr(v, DT_F64, out); }
void format_element(DType d, double v, Bytes *out) { put_repr(v, d, out); }
