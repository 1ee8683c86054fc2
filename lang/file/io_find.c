/* io_find.c: values of a file by name.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io.h"
#include "runtime/base/near.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_SHOWN = 6 };

const IoValue *io_find(const IoValue *v, const char *key) {
    for (uint32_t i = 0; (v->kind == IO_MAP || v->kind == IO_LIST) && i < v->n; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", i);
        const char *name = v->kind == IO_MAP ? v->key[i] : number;
        size_t n = strlen(name);
        if (strncmp(key, name, n) != 0) continue;
        if (key[n] == 0) return &v->kid[i];
        const IoValue *inner = key[n] == '/' ? io_find(&v->kid[i], key + n + 1) : NULL;
        if (inner) return inner;
    }
    return NULL;
}

/* Appends the names of the tensors; all: of all values that are not levels. */
static void list_names(const IoValue *v, bool all, Bytes *prefix, Bytes *names, size_t *n) {
    for (uint32_t i = 0; (v->kind == IO_MAP || v->kind == IO_LIST) && i < v->n; i++) {
        size_t before = prefix->n;
        if (before) bytes_putc(prefix, '/');
        if (v->kind == IO_MAP)
            bytes_puts(prefix, v->key[i]);
        else
            bytes_printf(prefix, "%u", i);
        const IoValue *kid = &v->kid[i];
        bool is_level = kid->kind == IO_MAP || kid->kind == IO_LIST;
        if (kid->kind == IO_TENSOR || (all && !is_level && kid->kind != IO_BAD)) {
            bytes_add(names, prefix->data, prefix->n + 1);
            ++*n;
        } else {
            list_names(kid, all, prefix, names, n);
        }
        prefix->n = before;
        prefix->data[before] = 0;
    }
}

bool io_hint_names(const IoValue *v, const char *key, bool all, Err *err) {
    Bytes prefix = {0}, names = {0}, shown = {0};
    size_t n = 0;
    list_names(v, all, &prefix, &names, &n);
    const char **name = xmalloc((n + 1) * sizeof *name), *at = names.data;
    for (size_t i = 0; i < n; i++, at += strlen(at) + 1) name[i] = at;
    const char *near = nearest_name(key, strlen(key), name, n);
    for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
        bytes_printf(&shown, "%s%.30s", i ? ", " : "", name[i]);
    if (near)
        err_hint(err, "did you mean key=\"%.100s\"?", near);
    else if (n)
        err_hint(err, "%s: %s%s", all ? "it holds" : "its tensors", shown.data,
                 n > NAMES_SHOWN ? ", ..." : "");
    free(name);
    bytes_fini(&prefix), bytes_fini(&names), bytes_fini(&shown);
    return false;
}
