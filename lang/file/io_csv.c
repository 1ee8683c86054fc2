/* io_csv.c: tables as text (RFC 4180). Fields are separated by commas, tabs or semicolons,
 * whichever the first two rows have equally often, or by blanks if the first has none of them and
 * is several numbers, as numpy.savetxt writes them; quoted fields may hold anything. Rows end with
 * \n, \r\n, or, in a file without \n, with \r. A first line with a field that is not a number is a
 * header. Without a header a file is a matrix; with one it is a map of columns, numbers as tensors,
 * others as lists of strings.
 *
 * In a column with numbers NA, N/A, #N/A, null and their like are missing values, as in pandas.
 * Whole numbers are never rounded. A matrix or column of only whole numbers is int64. Others are
 * float32, with nan for missing values (also of empty fields); or float64 if float32 would round a
 * whole number, or turn another number into infinity or 0. Numbers that fit neither (whole, beyond
 * int64) are kept as text.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/utf8.h"
#include "lang/error/interrupt.h"
#include "lang/file/io_csv.h"
#include "lang/file/io_element.h"
#include "runtime/base/map.h"
#include "runtime/inst/element.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 1 << 20 };

/* All fields, row after row; rows have equal lengths. */
typedef struct Field {
    const char *s;
    uint32_t n;
    bool is_quoted;
} Field;
typedef struct Table {
    Field *field;
    size_t n, cap, columns, rows;
    DType floats; /* dtype tried before float64 for numbers that are not whole */
    Arena arena;
} Table;

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static void trim(Field *f) {
    while (f->n && is_blank(*f->s)) {
        f->s++;
        f->n--;
    }
    while (f->n && is_blank(f->s[f->n - 1])) f->n--;
}

static bool is_number(const Field *f);

/* True if s is several numbers with blanks between them. */
static bool is_row_of_numbers(const char *s, size_t n) {
    const char *end = s + n;
    int count = 0;
    for (; s < end; count++) {
        const char *begin = s;
        while (s < end && *s != ' ') s++;
        Field f = {begin, (uint32_t)(s - begin), false};
        if (!f.n || !is_number(&f)) return false;
        while (s < end && *s == ' ') s++;
    }
    return count > 1;
}

/* Counts c outside of quotes in the row that begins at *at, which moves to the next row. */
static size_t count_in_row(const char **at, const char *end, char c) {
    bool is_quoted = false;
    size_t count = 0;
    const char *s = *at;
    for (; s < end && (is_quoted || *s != '\n'); s++) {
        is_quoted ^= *s == '"';
        count += !is_quoted && *s == c;
    }
    *at = s < end ? s + 1 : end;
    return count;
}

/* The first of comma, tab and semicolon that the first row has, and the second as often; else the
 * first that the first row has. */
static char find_separator(const char *s, size_t n) {
    static const char candidates[] = {',', '\t', ';'};
    const char *end = s + n;
    char first = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        const char *row = s;
        size_t count = count_in_row(&row, end, candidates[i]);
        if (!count) continue;
        if (!first) first = candidates[i];
        if (row < end && count_in_row(&row, end, candidates[i]) == count) return candidates[i];
    }
    if (first) return first;
    end = memchr(s, '\n', n);
    size_t line = end ? (size_t)(end - s) : n;
    while (line && (is_blank(s[line - 1]) || s[line - 1] == '\r')) line--;
    while (line && *s == ' ') s++, line--;
    return is_row_of_numbers(s, line) ? ' ' : ',';
}

/* Reads a quoted field after its opening quote; "" inside is one quote. NULL if the quote is not
 * closed. */
static const char *read_quoted(Table *t, const char *p, const char *end, Field *f) {
    const char *close = p;
    size_t doubled = 0;
    for (; close < end; close++) {
        if (*close != '"') continue;
        if (close + 1 == end || close[1] != '"') break;
        doubled++;
        close++;
    }
    if (close >= end) return NULL;
    *f = (Field){p, (uint32_t)(close - p), true};
    if (doubled) {
        char *copy = arena_alloc(&t->arena, (size_t)(close - p));
        uint32_t n = 0;
        for (const char *q = p; q < close; q++) {
            copy[n++] = *q;
            if (*q == '"') q++;
        }
        *f = (Field){copy, n, true};
    }
    return close + 1;
}

/* Moves from the end of a field to the end of the row or to the next separator; a run of blanks is
 * one, and none at the end of the row. */
static const char *next_separator(const char *p, const char *end, char separator) {
    while (p < end && *p != separator && *p != '\n') p++;
    if (separator != ' ') return p;
    const char *next = p;
    while (next < end && (is_blank(*next) || *next == '\r')) next++;
    return next == end || *next == '\n' || next == p ? next : next - 1;
}

static bool read_row(Table *t, const char **at, const char *end, char separator, Err *err) {
    const char *p = *at;
    size_t columns = 0;
    for (;;) {
        Field f;
        while (p < end && is_blank(*p) && (*p != separator || separator == ' ')) p++;
        if (p < end && *p == '"') {
            p = read_quoted(t, p + 1, end, &f);
            if (!p)
                return err_set(err, ERR_PARSE, "row %zu: a quoted field does not end", t->rows + 1);
            p = next_separator(p, end, separator);
        } else {
            const char *begin = p;
            while (p < end && *p != separator && *p != '\n') p++;
            f = (Field){begin, (uint32_t)(p - begin), false};
            if (f.n && f.s[f.n - 1] == '\r') f.n--;
            trim(&f);
            p = next_separator(p, end, separator);
        }
        ARRAY_PUSH(t->field, t->n, t->cap, 256, f);
        if (++columns > MAX_COLUMNS)
            return err_set(err, ERR_LIMIT, "row %zu has more than %d fields", t->rows + 1,
                           MAX_COLUMNS);
        if (p >= end || *p == '\n') break;
        p++;
    }
    *at = p < end ? p + 1 : end;
    if (columns == 1 && t->field[t->n - 1].n == 0 &&
        !t->field[t->n - 1].is_quoted) { /* an empty line */
        t->n--;
        return true;
    }
    if (t->rows && columns != t->columns) {
        err_set(err, ERR_PARSE, "row %zu has %zu fields, the first has %zu", t->rows + 1, columns,
                t->columns);
        bool is_comment = t->field[0].n && t->field[0].s[0] == '#';
        return is_comment && err_hint(err, "row 1 begins with #: there are no comments in a .csv");
    }
    t->columns = columns;
    t->rows++;
    return true;
}

/* ---- Numbers ---- */

typedef enum Whole { NOT_WHOLE, WHOLE, TOO_LARGE } Whole;

/* Parses a sign and digits; WHOLE if the value fits an int64. */
static Whole field_whole(const Field *f, int64_t *out) {
    bool has_sign = f->n && (*f->s == '-' || *f->s == '+');
    bool is_minus = has_sign && *f->s == '-', fits = true;
    if (f->n == (uint32_t)has_sign) return NOT_WHOLE;
    *out = 0;
    for (uint32_t i = has_sign; i < f->n; i++) {
        int digit = f->s[i] - '0';
        if (digit < 0 || digit > 9) return NOT_WHOLE;
        fits = fits && !__builtin_mul_overflow(*out, 10, out) &&
               !__builtin_add_overflow(*out, is_minus ? -digit : digit, out);
    }
    return fits ? WHOLE : TOO_LARGE;
}

/* Parses a decimal number, nan or inf; empty fields are nan. */
static bool field_float(const Field *f, double *wide, float *narrow) {
    char text[64], *end;
    *wide = *narrow = NAN;
    if (f->n == 0) return !f->is_quoted;
    if (f->n >= sizeof text) return false;
    memcpy(text, f->s, f->n);
    text[f->n] = 0;
    if (strpbrk(text, "xXpP")) return false; /* strtod would accept hexadecimal */
    *wide = strtod(text, &end);
    *narrow = strtof(text, NULL); /* not via double, which would round twice */
    return !*end;
}

static bool is_number(const Field *f) {
    double wide;
    float narrow;
    return field_float(f, &wide, &narrow);
}

/* True for what stands for a missing value, as in pandas; nan and empty fields are numbers here. */
static bool is_missing(const Field *f) {
    static const char *const words[] = {"NA",   "N/A",  "n/a",  "#N/A", "#NA",
                                        "<NA>", "NULL", "null", "None", "#N/A N/A"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == f->n && !memcmp(words[i], f->s, f->n)) return true;
    return false;
}

static bool is_infinite(const Field *f) {
    return f->n && !strpbrk((char[]){f->s[0], f->s[f->n > 1], 0}, "0123456789.");
}

/* Converts a field to an element of dtype d; false if it does not fit. is_exact: a whole number
 * must not be rounded, another must not become 0 or infinite. */
static bool put_number(const Field *f, DType d, bool is_exact, void *to) {
    int64_t whole, low, high;
    double wide;
    float narrow;
    Whole kind = field_whole(f, &whole);
    if (!dtype_is_float(d)) {
        dtype_range(d, &low, &high);
        if (kind != WHOLE || whole < low || whole > high) return false;
        element_set_int(d, to, whole);
        return true;
    }
    if (!field_float(f, &wide, &narrow)) {
        if (!is_missing(f)) return false;
        wide = narrow = NAN;
    }
    if (is_exact && kind == TOO_LARGE) return false;
    if (d == DT_F64)
        memcpy(to, &wide, sizeof wide);
    else
        element_set_float(d, to, (double)narrow);
    double got = element_float(d, to);
    if (isinf(got) && !is_infinite(f)) return false;
    if (!is_exact) return true;
    if (kind == WHOLE) return fabs(got) < 0x1p63 && (int64_t)got == whole;
    return got != 0 || wide == 0;
}

/* Converts the n fields first, first + step, ... to a tensor's elements. *bad: the first that does
 * not fit. */
static bool put_all(const Table *t, size_t first, size_t step, size_t n, DType d, bool is_exact,
                    Buf **out, size_t *bad) {
    size_t size = (size_t)dtype_info[d].size_bytes;
    Buf *b = *out = buf_new(n * size + 1);
    b->n = n * size;
    for (size_t i = 0; i < n && !interrupt_count; i++)
        if (!put_number(&t->field[first + i * step], d, is_exact, b->data + i * size)) {
            *bad = i;
            buf_unref(out);
            return false;
        }
    return true;
}

/* As put_all, with the requested dtype or else the first that holds all fields. DT_NONE if there is
 * none. */
static DType put_fitting(const Table *t, size_t first, size_t step, size_t n, DType asked,
                         Buf **out, size_t *bad) {
    const DType held[] = {DT_I64, t->floats, DT_F64};
    *out = NULL;
    if (asked != DT_NONE)
        return put_all(t, first, step, n, asked, false, out, bad) ? asked : DT_NONE;
    for (int i = n == 0; i < 3; i++) /* no fields: floats, as tensor([]) */
        if (put_all(t, first, step, n, held[i], true, out, bad)) return held[i];
    return DT_NONE;
}

static bool has_header(const Table *t) {
    for (size_t c = 0; c < t->columns; c++)
        if (!is_number(&t->field[c])) return true;
    return false;
}

static bool no_such_number(const Field *f, size_t row, size_t column, DType d, Err *err) {
    int n = f->n > 40 ? 40 : (int)f->n;
    int64_t unused;
    if (d == DT_NONE && is_number(f) && field_whole(f, &unused) == NOT_WHOLE)
        return err_set(err, ERR_PARSE, "row %zu, field %zu: '%.*s' is beyond float64", row, column,
                       n, f->s);
    if (d == DT_NONE && is_number(f)) {
        err_set(err, ERR_PARSE,
                "row %zu, field %zu: '%.*s' is a whole number that would be rounded", row, column,
                n, f->s);
        return err_hint(err, "dtype=float64 rounds it");
    }
    if (f->n == 0 && d != DT_NONE)
        return err_set(err, ERR_PARSE, "row %zu, field %zu is empty: there is no nan of %s", row,
                       column, dtype_info[d].name);
    return err_set(err, ERR_PARSE, "row %zu, field %zu: '%.*s' is not a valid %s", row, column, n,
                   f->s, d == DT_NONE || !is_number(f) ? "number" : dtype_info[d].name);
}

/* True if a field of column c below the header is a number (or empty). */
static bool has_number(const Table *t, size_t c) {
    for (size_t r = 1; r < t->rows && !interrupt_count; r++)
        if (is_number(&t->field[r * t->columns + c])) return true;
    return false;
}

static bool make_column(const Table *t, size_t c, DType asked, IoValue *out, Err *err) {
    size_t n = t->rows - 1, bad = 0;
    int64_t shape = (int64_t)n;
    Buf *b = NULL;
    DType d = DT_NONE; /* a column of words, of which none is a number, is text */
    if (asked != DT_NONE || n == 0 || has_number(t, c))
        d = put_fitting(t, t->columns + c, t->columns, n, asked, &b, &bad);
    if (d != DT_NONE) {
        bool ok = io_tensor(out, &shape, 1, io_element_of(d), false, b, b->data, err);
        buf_unref(&b);
        return ok;
    }
    bool is_text = asked == DT_NONE;
    for (size_t r = 1; r <= n && !is_text && !interrupt_count; r++) {
        const Field *f = &t->field[r * t->columns + c];
        is_text = !is_number(f) && !is_missing(f);
    }
    if (!is_text)
        return no_such_number(&t->field[(bad + 1) * t->columns + c], bad + 2, c + 1, asked, err);
    out->kind = IO_LIST;
    for (size_t r = 1; r <= n && !interrupt_count; r++) {
        const Field *f = &t->field[r * t->columns + c];
        IoValue *v = io_push(out);
        v->kind = IO_STR;
        v->str = xstrndup(f->s, f->n);
        v->n_str = strlen(v->str);
    }
    return true;
}

static bool make_matrix(const Table *t, DType asked, IoValue *out, Err *err) {
    int64_t shape[2] = {(int64_t)t->rows, (int64_t)t->columns};
    size_t bad = 0;
    Buf *b;
    DType d = put_fitting(t, 0, 1, t->n, asked, &b, &bad);
    if (d == DT_NONE)
        return no_such_number(&t->field[bad], bad / t->columns + 1, bad % t->columns + 1, asked,
                              err);
    bool ok = io_tensor(out, shape, 2, io_element_of(d), false, b, b->data, err);
    buf_unref(&b);
    return ok;
}

/* The header's name of column c. A duplicate gets a number: x, x.1, x.2. taken: hash of a name ->
 * the last number tried for it, plus 1. */
static Field column_name(Table *t, size_t c, Map *taken) {
    Field own = t->field[c], f = own;
    uint64_t first = hash_bytes(own.s, own.n, 0), key = first;
    uintptr_t n = (uintptr_t)map_get(taken, first);
    while (map_get(taken, key)) {
        f.s = arena_printf(&t->arena, "%.*s.%zu", (int)own.n, own.s, (size_t)n++);
        f.n = strlen(f.s);
        key = hash_bytes(f.s, f.n, 0);
    }
    map_put(taken, key, (void *)(uintptr_t)1);
    if (key != first) map_put(taken, first, (void *)n);
    return f;
}

static bool check_text(const char *p, const char *end, Err *err) {
    size_t line = 1;
    for (int n; p < end && !interrupt_count; p += n) {
        line += *p == '\n';
        if (!*p) {
            err_set(err, ERR_PARSE, "line %zu: byte 0x00 is not text", line);
            return err_hint(err, "iconv -f utf-16 -t utf8 converts a UTF-16 file");
        }
        n = (signed char)*p >= 0 ? 1 : utf8_decode(p, (size_t)(end - p), NULL);
        if (n) continue;
        err_set(err, ERR_PARSE, "line %zu: byte 0x%02x is not UTF-8 text", line, (unsigned char)*p);
        return err_hint(err, "iconv -f latin1 -t utf8 converts a Latin-1 file");
    }
    return true;
}

/* A copy of n bytes in which \n ends the rows, if they are ended by \r alone; else s itself. */
static const char *with_newlines(Table *t, const char *s, size_t n) {
    if (memchr(s, '\n', n) || !memchr(s, '\r', n)) return s;
    char *copy = arena_alloc(&t->arena, n);
    for (size_t i = 0; i < n; i++) copy[i] = (char)(s[i] == '\r' ? '\n' : s[i]);
    return copy;
}

bool csv_decode(Buf *bytes, DType asked, DType floats, IoValue *out, Err *err) {
    Table t = {.floats = floats};
    const char *p = (const char *)bytes->data, *end = p + bytes->n;
    if (bytes->n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) p += 3;
    size_t n = (size_t)(end - p);
    p = with_newlines(&t, p, n);
    end = p + n;
    char separator = find_separator(p, n);
    bool ok = check_text(p, end, err);
    while (p < end && ok && !interrupt_count) ok = read_row(&t, &p, end, separator, err);
    if (ok && !t.rows) ok = err_set(err, ERR_PARSE, "the file is empty");
    if (ok && t.rows && has_header(&t)) {
        out->kind = IO_MAP;
        Map taken = {0};
        for (size_t c = 0; c < t.columns && ok; c++) {
            Field name = column_name(&t, c, &taken);
            ok = make_column(&t, c, asked, io_put(out, name.s, name.n), err);
        }
        map_fini(&taken);
    } else if (ok) {
        ok = make_matrix(&t, asked, out, err);
    }
    free(t.field);
    arena_fini(&t.arena);
    return ok;
}

/* ---- Writing ---- */

static void put_field(Bytes *b, const IoValue *v) {
    if (v->kind == IO_NONE) return;
    if (v->kind != IO_STR) {
        json_print(v, -1, b);
        return;
    }
    bool is_bare = v->n_str && !memchr(v->str, ',', v->n_str) && !strpbrk(v->str, "\"\n\r\t;");
    if (is_bare && !is_blank(v->str[0]) && !is_blank(v->str[v->n_str - 1])) {
        bytes_add(b, v->str, v->n_str);
        return;
    }
    bytes_putc(b, '"');
    for (size_t i = 0; i < v->n_str; i++) {
        if (v->str[i] == '"') bytes_putc(b, '"');
        bytes_putc(b, v->str[i]);
    }
    bytes_putc(b, '"');
}

static bool put_names(Bytes *b, const IoValue *map, Err *err) {
    bool has_word = !map->n;
    for (uint32_t c = 0; c < map->n; c++) {
        IoValue v = {.kind = IO_STR, .str = map->key[c], .n_str = strlen(map->key[c])};
        has_word |= !is_number(&(Field){v.str, (uint32_t)v.n_str, v.n_str == 0});
        if (c) bytes_putc(b, ',');
        put_field(b, &v);
    }
    bytes_putc(b, '\n');
    if (has_word) return true;
    err_set(err, ERR_ARG, "all names are numbers, like '%.60s': a reader takes them for a row",
            map->key[0]);
    return err_hint(err, "a name such as 'c%.60s', or a matrix", map->key[0]);
}

/* Writes one element of a tensor as JSON does, but nan and inf as all readers of CSV know them. */
static void put_element(Bytes *b, const IoTensor *t, int64_t i) {
    size_t size = (size_t)dtype_info[t->type.dtype].size_bytes;
    Buf part = {.data = t->buf->data + (size_t)i * size, .n = size};
    IoTensor one = {{.dtype = t->type.dtype}, &part};
    IoValue v = {.kind = IO_TENSOR, .tensor = &one};
    size_t begin = b->n;
    json_print(&v, -1, b);
    const char *s = b->data + begin;
    const char *plain = !strcmp(s, "NaN")         ? "nan"
                        : !strcmp(s, "Infinity")  ? "inf"
                        : !strcmp(s, "-Infinity") ? "-inf"
                                                  : NULL;
    if (!plain) return;
    b->n = begin;
    bytes_puts(b, plain);
}

static bool is_plain(const IoValue *v) {
    return v->kind != IO_LIST && v->kind != IO_MAP && v->kind != IO_TENSOR;
}

static int64_t column_length(const IoValue *v) {
    if (v->kind == IO_TENSOR && v->tensor->type.rank == 1) return v->tensor->type.shape[0];
    if (v->kind != IO_LIST) return -1;
    for (uint32_t i = 0; i < v->n; i++)
        if (!is_plain(&v->kid[i])) return -1;
    return v->n;
}

static bool put_columns(Bytes *b, const IoValue *map, Err *err) {
    int64_t rows = -1;
    for (uint32_t c = 0; c < map->n; c++) {
        int64_t n = column_length(&map->kid[c]);
        if (n < 0)
            return err_set(err, ERR_ARG,
                           "column '%s' is neither a tensor of one axis nor a list of plain values",
                           map->key[c]);
        if (c && n != rows)
            return err_set(err, ERR_ARG, "column '%s' has %" PRId64 " rows, '%s' has %" PRId64,
                           map->key[c], n, map->key[0], rows);
        rows = n;
    }
    TRY(put_names(b, map, err));
    for (int64_t r = 0; r < rows && goes_on(); r++) {
        for (uint32_t c = 0; c < map->n; c++) {
            if (c) bytes_putc(b, ',');
            if (map->kid[c].kind == IO_TENSOR)
                put_element(b, map->kid[c].tensor, r);
            else
                put_field(b, &map->kid[c].kid[r]);
        }
        bytes_putc(b, '\n');
    }
    return true;
}

static bool put_matrix(Bytes *b, const IoTensor *t, Err *err) {
    if (t->type.rank > 2)
        return err_set(err, ERR_SHAPE, "a table has two axes, the tensor has %d", t->type.rank);
    int64_t columns = t->type.rank == 2 ? t->type.shape[1] : 1, n = type_numel(&t->type);
    for (int64_t i = 0; i < n && goes_on(); i++) {
        put_element(b, t, i);
        bytes_putc(b, (i + 1) % columns ? ',' : '\n');
    }
    return true;
}

/* Writes a list of maps (the first map's keys are the columns), or a list of lists (rows without a
 * header). */
static bool put_rows(Bytes *b, const IoValue *list, Err *err) {
    const IoValue *first = list->n ? &list->kid[0] : NULL;
    if (first && first->kind == IO_MAP) TRY(put_names(b, first, err));
    for (uint32_t r = 0; r < list->n && goes_on(); r++) {
        const IoValue *row = &list->kid[r];
        if (row->kind != first->kind ||
            (row->kind == IO_MAP || row->kind == IO_LIST ? row->n != first->n : !is_plain(row)))
            return err_set(err, ERR_ARG,
                           "row %" PRIu32
                           " is not like the first: a table is a list of maps or lists of one form",
                           r + 1);
        for (uint32_t c = 0; row->kind != IO_MAP && row->kind != IO_LIST && c == 0; c++)
            put_field(b, row);
        for (uint32_t c = 0; (row->kind == IO_MAP || row->kind == IO_LIST) && c < row->n; c++) {
            const IoValue *v = row->kind == IO_LIST ? &row->kid[c] : io_get(row, first->key[c]);
            if (!v)
                return err_set(err, ERR_ARG, "row %" PRIu32 " lacks '%s'", r + 1, first->key[c]);
            if (!is_plain(v) && !(v->kind == IO_TENSOR && v->tensor->type.rank == 0))
                return err_set(err, ERR_ARG,
                               "row %" PRIu32 " holds something that is not a plain value", r + 1);
            if (c) bytes_putc(b, ',');
            if (v->kind == IO_TENSOR)
                put_element(b, v->tensor, 0);
            else
                put_field(b, v);
        }
        bytes_putc(b, '\n');
    }
    return true;
}

bool csv_encode(IoSink *s, const IoValue *v, Err *err) {
    Bytes b = {0};
    bool ok =
        v->kind == IO_TENSOR ? put_matrix(&b, v->tensor, err)
        : v->kind == IO_MAP  ? put_columns(&b, v, err)
        : v->kind == IO_LIST
            ? put_rows(&b, v, err)
            : err_set(err, ERR_ARG, "a table is a matrix, a map of columns or a list of rows");
    if (ok) io_put_bytes(s, b.data, b.n);
    bytes_fini(&b);
    return ok;
}
