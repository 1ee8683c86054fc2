/* io_csv.c: tables as text (RFC 4180): fields between commas (or tabs, or semicolons, whichever the
 * first line has), quoted ones may hold anything. Without a header a file is a float32 matrix; a
 * first line with a field that is no number is a header, and the file a map of columns: numbers as
 * float32 tensors (empty fields are nan), others as lists of strings.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io_format.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 1 << 20 };

/* All fields one after the other; rows have equal lengths. */
typedef struct Field {
    const char *s;
    uint32_t n;
    bool is_quoted;
} Field;
typedef struct Table {
    Field *field;
    size_t n, cap, columns, rows;
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

static char find_separator(const char *s, size_t n) {
    const char *end = memchr(s, '\n', n);
    size_t line = end ? (size_t)(end - s) : n;
    return memchr(s, ',', line)    ? ','
           : memchr(s, '\t', line) ? '\t'
           : memchr(s, ';', line)  ? ';'
                                   : ',';
}

/* A quoted field from after its quote; "" inside is one quote. NULL: it does not end. */
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

static bool read_row(Table *t, const char **at, const char *end, char separator, Err *err) {
    const char *p = *at;
    size_t columns = 0;
    for (;;) {
        Field f;
        while (p < end && is_blank(*p) && *p != separator) p++;
        if (p < end && *p == '"') {
            p = read_quoted(t, p + 1, end, &f);
            if (!p)
                return err_set(err, ERR_PARSE, "row %zu: a quoted field does not end", t->rows + 1);
            while (p < end && *p != separator && *p != '\n') p++;
        } else {
            const char *begin = p;
            while (p < end && *p != separator && *p != '\n') p++;
            f = (Field){begin, (uint32_t)(p - begin), false};
            if (f.n && f.s[f.n - 1] == '\r') f.n--;
            trim(&f);
        }
        if (t->n == t->cap) {
            t->cap = t->cap ? 2 * t->cap : 256;
            t->field = xrealloc(t->field, t->cap * sizeof *t->field);
        }
        t->field[t->n++] = f;
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
    if (t->rows && columns != t->columns)
        return err_set(err, ERR_PARSE, "row %zu has %zu fields, the first has %zu", t->rows + 1,
                       columns, t->columns);
    t->columns = columns;
    t->rows++;
    return true;
}

/* Empty fields are nan. */
static bool field_number(const Field *f, float *out) {
    char text[64], *end;
    *out = NAN;
    if (f->n == 0) return !f->is_quoted;
    if (f->n >= sizeof text) return false;
    memcpy(text, f->s, f->n);
    text[f->n] = 0;
    if (strpbrk(text, "xXpP")) return false; /* strtof would take hexadecimal */
    *out = strtof(text, &end);
    return !*end;
}

static bool has_header(const Table *t) {
    float f;
    for (size_t c = 0; c < t->columns; c++)
        if (!field_number(&t->field[c], &f)) return true;
    return false;
}

static bool make_column(const Table *t, size_t c, IoValue *out, Err *err) {
    int64_t n = (int64_t)t->rows - 1;
    Buf *b = buf_new((size_t)n * 4 + 1);
    b->n = (size_t)n * 4;
    bool is_number = true;
    for (int64_t r = 0; r < n && is_number; r++)
        is_number = field_number(&t->field[(size_t)(r + 1) * t->columns + c], (float *)b->data + r);
    bool ok = !is_number || io_tensor(out, &n, 1, EL_F32, false, b, b->data, err);
    buf_unref(&b);
    if (is_number) return ok;
    out->kind = IO_LIST;
    for (int64_t r = 0; r < n; r++) {
        const Field *f = &t->field[(size_t)(r + 1) * t->columns + c];
        IoValue *v = io_push(out);
        v->kind = IO_STR;
        v->str = xstrndup(f->s, f->n);
        v->n_str = strlen(v->str);
    }
    return true;
}

static bool make_matrix(const Table *t, IoValue *out, Err *err) {
    int64_t shape[2] = {(int64_t)t->rows, (int64_t)t->columns};
    Buf *b = buf_new(t->n * 4 + 1);
    b->n = t->n * 4;
    bool ok = true;
    for (size_t i = 0; i < t->n && ok; i++) {
        const Field *f = &t->field[i];
        if (!field_number(f, (float *)b->data + i))
            ok = err_set(err, ERR_PARSE, "row %zu, field %zu: '%.*s' is no number",
                         i / t->columns + 1, i % t->columns + 1, f->n > 40 ? 40 : (int)f->n, f->s);
    }
    if (ok) ok = io_tensor(out, shape, 2, EL_F32, false, b, b->data, err);
    buf_unref(&b);
    return ok;
}

bool csv_decode(Buf *bytes, IoValue *out, Err *err) {
    Table t = {0};
    const char *p = (const char *)bytes->data, *end = p + bytes->n;
    if (bytes->n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) p += 3;
    char separator = find_separator(p, (size_t)(end - p));
    bool ok = true;
    while (p < end && ok) ok = read_row(&t, &p, end, separator, err);
    if (ok && t.rows && has_header(&t)) {
        out->kind = IO_MAP;
        for (size_t c = 0; c < t.columns && ok; c++)
            ok = make_column(&t, c, io_put(out, t.field[c].s, t.field[c].n), err);
    } else if (ok) {
        ok = make_matrix(&t, out, err);
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
    if (v->n_str && !memchr(v->str, ',', v->n_str) && !strpbrk(v->str, "\"\n\r\t;")) {
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

static void put_name(Bytes *b, const char *name) {
    IoValue v = {.kind = IO_STR, .str = (char *)name, .n_str = strlen(name)};
    put_field(b, &v);
}

/* One element of a tensor as a 0-d one, printed as json does but for nan and inf, which every
 * reader of csv knows. */
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
        if (c) bytes_putc(b, ',');
        put_name(b, map->key[c]);
    }
    bytes_putc(b, '\n');
    for (int64_t r = 0; r < rows; r++) {
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
    for (int64_t i = 0; i < n; i++) {
        put_element(b, t, i);
        bytes_putc(b, (i + 1) % columns ? ',' : '\n');
    }
    return true;
}

/* Lists of maps: the first map's keys are the columns. Lists of lists: rows without a header. */
static bool put_rows(Bytes *b, const IoValue *list, Err *err) {
    const IoValue *first = list->n ? &list->kid[0] : NULL;
    for (uint32_t c = 0; first && first->kind == IO_MAP && c < first->n; c++) {
        if (c) bytes_putc(b, ',');
        put_name(b, first->key[c]);
    }
    if (first && first->kind == IO_MAP) bytes_putc(b, '\n');
    for (uint32_t r = 0; r < list->n; r++) {
        const IoValue *row = &list->kid[r];
        if (row->kind != first->kind ||
            (row->kind == IO_MAP || row->kind == IO_LIST ? row->n != first->n : !is_plain(row)))
            return err_set(err, ERR_ARG,
                           "row %" PRIu32
                           " is not like the first: a table is a list of maps or lists of one form",
                           r);
        for (uint32_t c = 0; row->kind != IO_MAP && row->kind != IO_LIST && c == 0; c++)
            put_field(b, row);
        for (uint32_t c = 0; (row->kind == IO_MAP || row->kind == IO_LIST) && c < row->n; c++) {
            const IoValue *v = row->kind == IO_LIST ? &row->kid[c] : io_get(row, first->key[c]);
            if (!v) return err_set(err, ERR_ARG, "row %" PRIu32 " lacks '%s'", r, first->key[c]);
            if (!is_plain(v) && !(v->kind == IO_TENSOR && v->tensor->type.rank == 0))
                return err_set(err, ERR_ARG,
                               "row %" PRIu32 " holds something that is no plain value", r);
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
