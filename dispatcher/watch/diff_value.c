/* diff_value.c: the values of a tensor, from the files that the workers of a run left, and which of
 * their elements differ: see diff.h. The files are checked like any input.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/diff.h"
#include "runtime/inst/element.h"
#include "runtime/inst/hash.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES (UINT64_C(1) << 32) /* limit of a tensor */

/* A worker's part: a box of the whole. */
typedef struct Piece {
    char kind[16];
    TensorType whole;
    int64_t begin[MAX_DIMS], size[MAX_DIMS];
    int rank;
} Piece;

/* Reads " NAME=3,4"; returns how many numbers there are, -1: malformed. */
static int read_shape(const char **at, const char *name, int64_t *shape) {
    size_t n = strlen(name);
    int rank = 0;
    if (**at != ' ' || strncmp(*at + 1, name, n) || (*at)[n + 1] != '=') return -1;
    const char *s = *at + n + 2;
    while (*s >= '0' && *s <= '9' && rank < MAX_DIMS) {
        char *end;
        shape[rank++] = strtoll(s, &end, 10);
        s = *end == ',' ? end + 1 : end;
    }
    *at = s;
    return rank;
}

static bool read_head(const char *line, Piece *p) {
    char dtype[8];
    int n = 0;
    *p = (Piece){.rank = 0};
    if (sscanf(line, "gt-part %15[a-z] %7[a-z0-9]%n", p->kind, dtype, &n) != 2) return false;
    const char *at = line + n;
    DType d = dtype_find(dtype, strlen(dtype));
    int rank = read_shape(&at, "whole", p->whole.shape);
    if (d == DT_NONE || rank < 0) return false;
    p->whole.dtype = (uint8_t)d;
    p->whole.rank = (uint8_t)(p->rank = rank);
    if (read_shape(&at, "begin", p->begin) != rank || read_shape(&at, "size", p->size) != rank)
        return false;
    uint64_t bytes = 8;
    for (int i = 0; i < rank; i++) {
        if (p->whole.shape[i] < 0 || p->size[i] < 0 || p->begin[i] < 0) return false;
        if (p->size[i] > p->whole.shape[i] || p->begin[i] > p->whole.shape[i] - p->size[i])
            return false;
        if (__builtin_mul_overflow(bytes, (uint64_t)p->whole.shape[i], &bytes)) return false;
    }
    return bytes <= VALUE_BYTES;
}

/* Reads the rows of a box from f to their places. */
static bool read_rows(FILE *f, const Piece *p, char *to, int axis) {
    size_t size = (size_t)dtype_info[p->whole.dtype].size_bytes, row = size;
    for (int d = axis + 1; d < p->rank; d++) row *= (size_t)p->whole.shape[d];
    if (axis >= p->rank) return fread(to, 1, size, f) == size;
    to += row * (size_t)p->begin[axis];
    if (axis == p->rank - 1) {
        size_t n = size * (size_t)p->size[axis];
        return fread(to, 1, n, f) == n;
    }
    for (int64_t i = 0; i < p->size[axis]; i++, to += row)
        if (!read_rows(f, p, to, axis + 1)) return false;
    return true;
}

/* Adds a part to *v; *covered counts its elements. */
static bool read_part(const char *path, DiffValue *v, uint64_t *covered) {
    char line[600];
    Piece p;
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(line, sizeof line, f) && read_head(line, &p);
    if (ok && !v->data) {
        v->type = p.whole;
        v->data = xcalloc(1, type_bytes(&p.whole) + 8);
    }
    ok = ok && type_equal(&v->type, &p.whole);
    uint64_t n = 1;
    for (int d = 0; ok && d < p.rank; d++) n *= (uint64_t)p.size[d];
    ok = ok && (n == 0 || read_rows(f, &p, v->data, 0));
    if (f) fclose(f);
    bool is_split = ok && !strcmp(p.kind, "split");
    *covered = is_split ? *covered + n : n;
    return ok;
}

bool diff_value_read(const char *dir, uint32_t client, uint64_t id, int worker, DiffValue *out) {
    char want[48], path[600];
    int n = snprintf(want, sizeof want, "t%" PRIu64 ".c%u.w", id, client);
    bool ok = true;
    uint64_t covered = 0;
    *out = (DiffValue){.data = NULL};
    DIR *d = opendir(dir);
    for (struct dirent *e; ok && d && (e = readdir(d));) {
        const char *rank = strstr(e->d_name, ".w");
        if (strncmp(e->d_name, want, (size_t)n) || !rank || strstr(rank, ".new")) continue;
        if (worker >= 0 && atoi(rank + 2) != worker) continue;
        snprintf(path, sizeof path, "%.300s/%.256s", dir, e->d_name);
        ok = read_part(path, out, &covered);
    }
    if (d) closedir(d);
    ok = ok && out->data && covered == (uint64_t)type_numel(&out->type);
    if (!ok) diff_value_fini(out);
    return ok;
}

void diff_value_fini(DiffValue *v) {
    free(v->data);
    v->data = NULL;
}

/* ---- Telling ---- */

static void put_element(Bytes *out, DType d, const void *p) {
    int size = dtype_info[d].size_bytes;
    uint64_t bits = 0;
    memcpy(&bits, p, (size_t)size);
    if (dtype_is_float(d))
        bytes_printf(out, "%.*g", size == 8 ? 17 : size == 4 ? 9 : 5, element_float(d, p));
    else
        bytes_printf(out, "%lld", (long long)element_int(d, p));
    bytes_printf(out, " (0x%0*llx)", 2 * size, (unsigned long long)bits);
}

static void put_index(Bytes *out, const TensorType *t, int64_t i) {
    int64_t at[MAX_DIMS];
    for (int d = t->rank; d-- > 0; i /= t->shape[d]) at[d] = i % t->shape[d];
    bytes_putc(out, '[');
    for (int d = 0; d < t->rank; d++) bytes_printf(out, "%s%lld", d ? "," : "", (long long)at[d]);
    bytes_putc(out, ']');
}

uint64_t diff_value_hash(const DiffValue *v) {
    return hash_elements(hash_sums, v->data, type_numel(&v->type),
                         dtype_info[v->type.dtype].size_bytes, 0, 1);
}

void diff_value_tell(const DiffValue *a, const DiffValue *b, const char *const label[2], int most,
                     Bytes *out) {
    DType d = (DType)a->type.dtype;
    size_t size = (size_t)dtype_info[d].size_bytes;
    int64_t n = type_numel(&a->type), differing = 0;
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *p = a->data + (size_t)i * size, *q = b->data + (size_t)i * size;
        if (!memcmp(p, q, size)) continue;
        double gap = fabs(element_float(d, p) - element_float(d, q));
        if (!(gap <= largest)) largest = gap;
        if (differing++ >= most) continue;
        bytes_puts(out, "  ");
        put_index(out, &a->type, i);
        bytes_printf(out, "  %s ", label[0]);
        put_element(out, d, p);
        bytes_printf(out, "  %s ", label[1]);
        put_element(out, d, q);
        bytes_putc(out, '\n');
    }
    bytes_printf(out, "  %lld of %lld elements differ, by %.3g at most\n", (long long)differing,
                 (long long)n, largest);
}
