/* who.c: see who.h.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/who.h"
#include "lang/eval/import.h"
#include "lang/tensor/tensor.h"
#include "lang/text/pieces.h"
#include "lang/text/place.h"
#include "lang/value/mapv.h"
#include "runtime/base/map.h"
#include "runtime/base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_bytes(uint64_t n, Bytes *out) {
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)n;
    int k = 0;
    for (; k < 4 && v >= 9999.5; k++) v /= 1024;
    bytes_printf(out, "%.*f %s", k && v < 99.95 ? 1 : 0, v, unit[k]);
}

void who_describe(Interp *in, Value v, Bytes *out) {
    char shape[256];
    if (v.kind == V_TENSOR) {
        const TensorType *t = tensor_type(v.tensor);
        bytes_printf(out, "tensor %s, ", type_text(t, shape));
        put_bytes(type_bytes(t), out);
        bytes_puts(out, v.tensor->is_buffer                    ? ", buffer"
                        : v.tensor->is_param && v.tensor->grad ? ", param with gradient"
                        : v.tensor->is_param                   ? ", param"
                        : v.tensor->node                       ? ", requires grad"
                                                               : "");
    } else if (v.kind == V_FN)
        fn_signature(v.fn->ast, out);
    else if (v.kind == V_MODULE) {
        bytes_puts(out, "module ");
        fn_signature(v.module->make->ast, out);
    } else if (v.kind == V_LIST)
        bytes_printf(out, "list of %u", v.list->n);
    else if (v.kind == V_MAP)
        bytes_printf(out, "map of %zu", map_count(v.map));
    else if (v.kind <= V_STR || v.kind == V_RANGE) {
        LangError e = {0};
        size_t from = out->n;
        if (!value_repr(in, v, out, &e)) {
            out->n = from;
            bytes_puts(out, value_type_name(v));
        }
        size_t keep = utf8_skip(out->data + from, out->n - from, 60);
        if (from + keep < out->n) {
            out->n = from + keep;
            bytes_puts(out, "…");
        }
        for (size_t i = from; i < out->n; i++)
            if (out->data[i] == '\n') out->data[i] = ' ';
    } else
        bytes_puts(out, value_type_name(v));
}

/* ---- :who ---- */

enum { MAX_DEPTH = 16, TENSORS_ASKED = 1000, WORKERS_MOST = 20, NAMES_LEAST = 12, NAMES_MOST = 24 };

static int columns_of(const char *s) { return (int)utf8_count(s, strlen(s)); }

/* The tensor, or the list or map that v is or keeps its fields in; NULL for other values. */
static void *inside_of(Value v) {
    return v.kind == V_TENSOR   ? (void *)v.tensor
           : v.kind == V_LIST   ? (void *)v.list
           : v.kind == V_MAP    ? (void *)v.map
           : v.kind == V_OBJECT ? (void *)object_fields(v.obj)
                                : NULL;
}

/* True the first time that a tensor, list, map or object is met. */
static bool is_new(Map *seen, Value v) {
    void *what = inside_of(v);
    if (!what || map_get(seen, (uintptr_t)what)) return false;
    map_put(seen, (uintptr_t)what, what);
    return true;
}

/* Bytes of the tensors in a value that are not in `seen`, which gets them. */
static uint64_t bytes_of(Value v, int depth, Map *seen) {
    Value key, item;
    uint64_t n = 0;
    if (depth == MAX_DEPTH || !is_new(seen, v)) return 0;
    if (v.kind == V_TENSOR) return type_bytes(tensor_type(v.tensor));
    if (v.kind == V_OBJECT) v = (Value){.kind = V_MAP, .map = object_fields(v.obj)};
    for (size_t i = 0; value_kid(v, i, &key, &item); i++) n += bytes_of(item, depth + 1, seen);
    return n;
}

static uint64_t bytes_of_row(Value v) {
    Map seen = {0};
    uint64_t n = bytes_of(v, 0, &seen);
    map_fini(&seen);
    return n;
}

typedef struct Row {
    const char *name;
    Value v; /* borrowed */
    uint64_t bytes;
    Bytes workers;
} Row;

static int larger(const void *a, const void *b) {
    uint64_t x = ((const Row *)a)->bytes, y = ((const Row *)b)->bytes;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Marks the workers that hold the tensors in v; false if that of one of them is unknown. *left: how
 * many tensors may still be asked for. */
static bool holders(Interp *in, Value v, int depth, Map *seen, int *left, bool *has) {
    Value key, item;
    char layout[64];
    bool ok = true;
    if (!is_new(seen, v)) return true;
    if (v.kind == V_TENSOR) return --*left >= 0 && place_of_tensor(in, v.tensor, has, layout);
    if (depth == MAX_DEPTH) return false;
    if (v.kind == V_OBJECT) v = (Value){.kind = V_MAP, .map = object_fields(v.obj)};
    for (size_t i = 0; ok && value_kid(v, i, &key, &item); i++)
        ok = holders(in, item, depth + 1, seen, left, has);
    return ok;
}

/* The workers of a row: "" for a value without tensors, "-" if they are unknown. */
static void put_workers(Interp *in, const Row *row, bool may_wait, int *left, Bytes *out) {
    bool has[MAX_WORKERS] = {0};
    if (row->v.kind != V_TENSOR && !row->bytes) return;
    Map seen = {0};
    if (may_wait && !stream_is_lost(in->stream) && holders(in, row->v, 0, &seen, left, has))
        place_put_workers(has, out);
    else
        bytes_puts(out, "-");
    map_fini(&seen);
}

/* Cuts the line from `from` on to the width of the terminal, on one line. */
static void cut_line(Bytes *b, size_t from, int width) {
    size_t keep = utf8_skip(b->data + from, b->n - from, (size_t)width);
    if (from + keep == b->n) return;
    b->n = from + utf8_skip(b->data + from, b->n - from, (size_t)width - 1);
    bytes_puts(b, "…");
}

static void put_row(Interp *in, const Row *row, int names, int workers, bool may_wait, Bytes *out) {
    Value v = row->v;
    size_t from = out->n;
    const char *at = row->workers.n ? row->workers.data : "";
    int gap = workers - columns_of(at);
    bytes_printf(out, "%-*s  %s%*s", names, row->name, at, gap > 0 ? gap : 0, "");
    if (workers) bytes_puts(out, "  ");
    who_describe(in, v, out);
    if (v.kind != V_TENSOR && row->bytes) {
        bytes_puts(out, ", ");
        put_bytes(row->bytes, out);
    }
    if (v.kind == V_TENSOR && may_wait && tensor_numel(v.tensor) == 1 &&
        !stream_is_lost(in->stream)) {
        LangError ignored = {0};
        Bytes value = {0};
        if (value_repr(in, v, &value, &ignored) && value.n && !memchr(value.data, '\n', value.n))
            bytes_printf(out, "  %.80s", value.data);
        bytes_fini(&value);
    }
    cut_line(out, from, interp_width(in));
    bytes_putc(out, '\n');
}

bool who_print(Interp *in, const char *only, bool by_bytes, bool may_wait) {
    const char *name;
    Value v;
    Bytes b = {0};
    size_t n = 0;
    uint64_t sum = 0;
    Map counted = {0};
    while (interp_global(in, n, &name, &v)) n++;
    Row *row = xcalloc(n + 1, sizeof *row);
    size_t rows = 0;
    for (size_t i = 0; i < n && interp_global(in, i, &name, &v); i++) {
        if (v.kind == V_UNDEF || !strcmp(name, "_")) continue; /* `_` is ans */
        if (only && strcmp(name, only)) continue;
        row[rows++] = (Row){name, v, bytes_of_row(v)};
        sum += bytes_of(v, 0, &counted);
    }
    if (by_bytes) qsort(row, rows, sizeof *row, larger);
    int names = NAMES_LEAST, workers = 0, left = TENSORS_ASKED;
    for (size_t i = 0; i < rows; i++) {
        put_workers(in, &row[i], may_wait, &left, &row[i].workers);
        int name_n = columns_of(row[i].name);
        int at_n = row[i].workers.n ? columns_of(row[i].workers.data) : 0;
        if (name_n > names) names = name_n;
        if (at_n > workers) workers = at_n;
    }
    if (names > NAMES_MOST) names = NAMES_MOST;
    if (workers > WORKERS_MOST) workers = WORKERS_MOST;
    for (size_t i = 0; i < rows; i++) {
        put_row(in, &row[i], names, workers, may_wait, &b);
        bytes_fini(&row[i].workers);
    }
    if (by_bytes && rows) {
        bytes_printf(&b, "%-*s  ", names + (workers ? workers + 2 : 0), "together");
        put_bytes(sum, &b);
        bytes_putc(&b, '\n');
    }
    bool has_found = rows || !only;
    if (has_found) fputs(b.n ? b.data : "no variables\n", stdout);
    bytes_fini(&b);
    map_fini(&counted);
    free(row);
    return has_found;
}

/* ---- :where ---- */

void who_keep_locals(Interp *in, const AstFn *fn, const Value *slot) {
    Bytes *b = &in->locals;
    b->n = 0;
    in->has_new_locals = true;
    for (int i = 0; i < fn->n_slots; i++) {
        Value v = slot[i].kind == V_CELL ? slot[i].cell->v : slot[i];
        const char *name = fn->slot_name ? fn->slot_name[i] : NULL;
        if (!name || !*name || v.kind == V_UNDEF) continue;
        if (!b->n) bytes_printf(b, "  locals of %s:\n", fn->name && *fn->name ? fn->name : "fn");
        bytes_printf(b, "    %-12s  ", name);
        if (v.kind == V_TEXT)
            bytes_puts(b, "str");
        else
            who_describe(in, v, b);
        bytes_putc(b, '\n');
    }
}
