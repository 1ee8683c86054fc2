/* builtin_kernel.c: debug.get_kernel(x) and debug.print_kernel(x) show the kernel that computed a
 * tensor. They query the workers that hold it. The answer is KEY=VALUE lines, prefixed by the
 * worker's name:
 *
 *   group=0,1                  ranks
 *   w0.filled=fused            fused: by one kernel of several operations; in_turn: by the same
 *                              operations one by one; alone: by a single operation; otherwise:
 *                              not by an operation
 *   w0.op=div                  the operation; of a kernel's, the one that gives this result
 *   w0.state=compiled          for fused kernels, with further keys: exec_kernel
 *   w0.source=/@ 5 ops         a line of its source (@ stands for *)
 *
 * get_kernel returns {w0: {filled: "fused", op: "div", ..., source: "..."}}. print_kernel prints
 * the facts as a comment, then the source, once for workers with equal source.
 * SPDX-License-Identifier: MIT */
#include "lang/text/effects.h"
#include "lang/value/mapv.h"
#include "lang/text/pieces.h"
#include "lang/eval/builtin.h"
#include "lang/tensor/tensor.h"
#include <stdlib.h>
#include <string.h>

static Value *own_of(Interp *in, Value all, const char *name, size_t n) {
    Value worker = v_str(name, n), *own = map_find(all.map, worker);
    if (!own) {
        mapv_put(all.map, value_ref(worker), v_map(in));
        own = map_find(all.map, worker);
    }
    value_drop(worker);
    return own;
}

/* Reads the lines of one worker into map; *source collects its source. */
static void read_worker(Value map, const char *name, const char *text, Bytes *source) {
    const char *end = text;
    char key[24];
    size_t n = strlen(name);
    for (const char *line = text; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if ((size_t)(end - line) <= n || strncmp(line, name, n) || line[n] != '.') continue;
        const char *at = line + n + 1, *eq = memchr(at, '=', (size_t)(end - at));
        if (!eq || (size_t)(eq - at) >= sizeof key) continue;
        memcpy(key, at, (size_t)(eq - at));
        key[eq - at] = 0;
        size_t length = (size_t)(end - eq - 1);
        if (!strcmp(key, "source")) {
            bytes_add(source, eq + 1, length);
            bytes_putc(source, '\n');
            continue;
        }
        char *stop;
        long long i = strtoll(eq + 1, &stop, 10);
        bool is_number = stop == end && length && strcmp(key, "key");
        mapv_put(map.map, v_cstr(key), is_number ? v_int(i) : v_str(eq + 1, length));
    }
}

/* Queries the workers for the function of this name. *out: {w0: {...}, ...}, a new reference. */
static bool query(Interp *in, Value x, const char *name, Value *out, LangError *e) {
    if (x.kind != V_TENSOR)
        return error_set(e, "%s needs a tensor, not %s", name, value_type_name(x));
    Bytes text = {0};
    bool ok = stream_kernel(in->stream, x.tensor->handle, interp_span(in), &text, e);
    bytes_putc(&text, 0);
    *out = v_none();
    if (ok) *out = v_map(in);
    for (const char *line = text.data; ok && *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = line[0] == 'w' ? 1 + strspn(line + 1, "0123456789") : 0;
        char worker[16];
        if (n < 2 || n >= sizeof worker || line[n] != '.') continue;
        memcpy(worker, line, n);
        worker[n] = 0;
        Value key = v_str(worker, n);
        bool is_new = !map_find(out->map, key);
        value_drop(key);
        if (!is_new) continue;
        Bytes source = {0};
        Value own = *own_of(in, *out, worker, n);
        read_worker(own, worker, line, &source);
        if (source.n) mapv_put(own.map, v_cstr("source"), v_str(source.data, source.n));
        bytes_fini(&source);
    }
    bytes_fini(&text);
    return ok;
}

static const char *text_of(Value map, const char *name) {
    Value key = v_cstr(name), *v = map_find(map.map, key);
    value_drop(key);
    return v && v->kind == V_STR ? v->str->s : "";
}
static long long number_of(Value map, const char *name) {
    Value key = v_cstr(name), *v = map_find(map.map, key);
    value_drop(key);
    return v && v->kind == V_INT ? (long long)v->i : 0;
}

/* Appends where the kernel came from, or why there is none. */
static void put_state(Value w, Bytes *out) {
    const char *state = text_of(w, "state");
    long long hits = number_of(w, "hits"), others = number_of(w, "batch") - 1;
    if (*state) bytes_puts(out, ";\n *     ");
    if (!strcmp(state, "seen"))
        bytes_puts(out, "it is compiled when it is seen again");
    else if (!strcmp(state, "asked"))
        bytes_puts(out, "it is being compiled: query it again soon");
    else if (!strcmp(state, "failed"))
        bytes_printf(out, "it could not be made: %s", text_of(w, "why"));
    else if (!strcmp(state, "compiled"))
        bytes_printf(out, "compiled in %lld ms", number_of(w, "compile_ms"));
    else if (!strcmp(state, "cached"))
        bytes_puts(out, "found in the cache on disk");
    else if (!strcmp(state, "shipped"))
        bytes_printf(out, "one of the kernels that come with gtsh, launched %lld time%s", hits,
                     hits == 1 ? "" : "s");
    if (!strcmp(state, "compiled") && others > 0)
        bytes_printf(out, " with %lld other%s", others, others == 1 ? "" : "s");
    if (*text_of(w, "key") && (!strcmp(state, "compiled") || !strcmp(state, "cached")))
        bytes_printf(out, ", %lld bytes, launched %lld time%s: %s", number_of(w, "bytes"), hits,
                     hits == 1 ? "" : "s", text_of(w, "file"));
}

static void put_worker(const char *name, Value w, Bytes *out) {
    const char *filled = text_of(w, "filled"), *op = text_of(w, "op");
    bytes_printf(out, "/* %s: ", name);
    if (!strcmp(filled, "fused")) {
        bytes_printf(out, "one kernel of several operations, of which '%s' gives this tensor", op);
    } else if (!strcmp(filled, "in_turn")) {
        bytes_printf(out,
                     "'%s', one of several operations that would make a kernel and were "
                     "carried out one by one",
                     op);
        if (!*text_of(w, "state")) bytes_puts(out, ", because the kernel would not be faster");
    } else if (!strcmp(filled, "alone")) {
        bytes_printf(out, "'%s' by itself, by the code of engine '%s' for this operation", op,
                     text_of(w, "engine"));
        if (number_of(w, "off")) bytes_puts(out, "; nothing is compiled there");
        if (*text_of(w, "why"))
            bytes_printf(out, "; nothing is compiled there: %s", text_of(w, "why"));
    } else if (*text_of(w, "poisoned")) {
        bytes_printf(out, "nothing: it failed (%s)", text_of(w, "poisoned"));
    } else if (number_of(w, "absent")) {
        bytes_puts(out, "no part of it is here");
    } else {
        bytes_puts(out, "no kernel: it was data, or came from another worker");
    }
    put_state(w, out);
    bytes_puts(out, " */\n");
}

static bool bi_get_kernel(Interp *in, const Value *arg, Value *out, LangError *e) {
    return query(in, arg[0], "debug.get_kernel", out, e);
}

static bool bi_print_kernel(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value all, worker, w;
    TRY(query(in, arg[0], "debug.print_kernel", &all, e));
    Bytes text = {0};
    const char *shown = "";
    for (size_t i = 0; mapv_at(all.map, i, &worker, &w); i++) put_worker(worker.str->s, w, &text);
    for (size_t i = 0; mapv_at(all.map, i, &worker, &w); i++) {
        const char *source = text_of(w, "source");
        if (*source && strcmp(source, shown)) bytes_puts(&text, source);
        if (*source) shown = source;
    }
    if (!text.n) bytes_puts(&text, "/* no worker has this tensor */\n");
    Pieces p = {0};
    pieces_text(&p, text.data, text.n);
    bool ok = effect_print(in, &p, false, e);
    pieces_fini(&p);
    bytes_fini(&text);
    value_drop(all);
    *out = v_none();
    return ok;
}

const Builtin builtins_kernel[] = {
    {"debug.get_kernel", "x", bi_get_kernel,
     "A map by worker: how x was computed, and for a fused kernel its source; waits."},
    {"debug.print_kernel", "x", bi_print_kernel,
     "Prints how x was computed, and the source of the kernel if it was fused."},
    {NULL}};
