/* builtin_stats.c: the counters of client, dispatcher and workers: as maps, and as tables for
 * people (:stats and :workers at the prompt).
 * SPDX-License-Identifier: MIT */
#include "lang/text/effects.h"
#include "lang/text/pieces.h"
#include "lang/value/mapv.h"
#include "lang/eval/builtin.h"
#include "lang/builtin/builtin_host.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds totals to a map of counters: "fused.ops" is the sum of "w0.fused.ops" and "w1.fused.ops";
 * likewise for the counters of jit and plan. The mean of operations per kernel is computed from the
 * totals. */
static void add_sums(Interp *in, Value map) {
    Value key, v, sums = v_map(in);
    for (size_t i = 0; mapv_at(map.map, i, &key, &v); i++) {
        const char *name = key.str->s, *dot = strchr(name, '.');
        if (v.kind != V_INT || !dot || name[0] != 'w' ||
            1 + strspn(name + 1, "0123456789") != (size_t)(dot - name))
            continue;
        if (strncmp(dot, ".fused.", 7) && strncmp(dot, ".jit.", 5) && strncmp(dot, ".plan.", 6))
            continue;
        Value sum = v_cstr(dot + 1), *so_far = map_find(sums.map, sum);
        if (so_far) {
            so_far->i += v.i;
            value_drop(sum);
        } else {
            mapv_put(sums.map, sum, v);
        }
    }
    int64_t ops = 0, launches = 0;
    for (size_t i = 0; mapv_at(sums.map, i, &key, &v); i++) {
        if (!strcmp(key.str->s, "fused.ops")) ops = v.i;
        if (!strcmp(key.str->s, "fused.launches")) launches = v.i;
        mapv_put(map.map, value_ref(key), v);
    }
    if (launches)
        mapv_put(map.map, v_cstr("fused.ops_per_launch"), v_float((double)ops / (double)launches));
    value_drop(sums);
}

/* Returns KEY=VALUE lines as a map; whole numbers become ints. */
static bool bi_stats(Interp *in, const Value *arg, Value *out, LangError *e) {
    Bytes b = {0};
    if (!stream_stats(in->stream, &b, e)) {
        bytes_fini(&b);
        return false;
    }
    *out = v_map(in);
    for (char *line = b.data, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *eq = strchr(line, '='), *end;
        if (!eq) continue;
        long long i = strtoll(eq + 1, &end, 10);
        mapv_put(out->map, v_str(line, (size_t)(eq - line)),
                 *end || end == eq + 1 ? v_cstr(eq + 1) : v_int(i));
    }
    bytes_fini(&b);
    add_sums(in, *out);
    return true;
}

/* Turns the "w0.kernels" of stats() into {w0: {kernels: ...}}. */
static bool bi_worker_stats(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value all, key, v;
    TRY(bi_stats(in, arg, &all, e));
    *out = v_map(in);
    for (size_t i = 0; mapv_at(all.map, i, &key, &v); i++) {
        const char *name = key.str->s, *dot = strchr(name, '.');
        size_t n = dot ? (size_t)(dot - name) : 0;
        if (n < 2 || name[0] != 'w' || strspn(name + 1, "0123456789") != n - 1) continue;
        Value worker = v_str(name, n), *own = map_find(out->map, worker);
        if (!own) {
            mapv_put(out->map, value_ref(worker), v_map(in));
            own = map_find(out->map, worker);
        }
        mapv_put(own->map, v_cstr(dot + 1), value_ref(v));
        value_drop(worker);
    }
    value_drop(all);
    return true;
}

static bool bi_print_worker_stats(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value all, worker, figures, key, v;
    Pieces p = {0};
    TRY(bi_worker_stats(in, arg, &all, e));
    for (size_t i = 0; mapv_at(all.map, i, &worker, &figures); i++) {
        pieces_text(&p, worker.str->s, worker.str->n);
        pieces_text(&p, ":\n", 2);
        for (size_t k = 0; mapv_at(figures.map, k, &key, &v); k++) {
            Bytes line = {0};
            bytes_printf(&line, "  %s: ", key.str->s);
            value_str(in, v, &line, e);
            bytes_putc(&line, '\n');
            pieces_text(&p, line.data, line.n);
            bytes_fini(&line);
        }
    }
    if (!p.format.n) pieces_text(&p, "no workers yet\n", 15);
    bool ok = effect_print(in, &p, false, e);
    pieces_fini(&p);
    value_drop(all);
    *out = v_none();
    return ok;
}

/* ---- Tables ---- */

/* Prints text as a print of the program does. */
static bool print_text(Interp *in, const Bytes *text, LangError *e) {
    Pieces p = {0};
    pieces_text(&p, text->data, text->n);
    bool ok = effect_print(in, &p, false, e);
    pieces_fini(&p);
    return ok;
}

static int screen(const Interp *in) { return in->config.width >= 40 ? in->config.width : 80; }

/* "4.0 GiB" for a key that counts bytes, else the value. */
static void put_figure(const char *key, Value v, Bytes *out) {
    char text[24];
    bool is_bytes = v.kind == V_INT && v.i >= 0 && strstr(key, "bytes") != NULL;
    if (is_bytes)
        bytes_puts(out, bytes_text((uint64_t)v.i, text));
    else if (v.kind == V_INT)
        bytes_printf(out, "%lld", (long long)v.i);
    else if (v.kind == V_STR)
        bytes_add(out, v.str->s, v.str->n);
}

static bool is_zero(Value v) { return v.kind == V_INT && v.i == 0; }

/* Appends one row of the table, the figures of workers [from, to); false: it has zeros alone. */
static bool put_row(Value all, Value key, size_t from, size_t to, Bytes *out) {
    Bytes line = {0};
    Value name, figures;
    bool is_empty = true;
    bytes_printf(&line, "%-20s", key.str->s);
    for (size_t i = from; i < to && mapv_at(all.map, i, &name, &figures); i++) {
        Bytes cell = {0};
        Value *v = map_find(figures.map, key);
        bytes_puts(&cell, "");
        if (v && !is_zero(*v)) is_empty = false;
        if (v) put_figure(key.str->s, *v, &cell);
        bytes_printf(&line, "  %10s", cell.data);
        bytes_fini(&cell);
    }
    bytes_putc(&line, '\n');
    if (!is_empty) bytes_add(out, line.data, line.n);
    bytes_fini(&line);
    return !is_empty;
}

/* A row per counter, a column per worker, as many columns as the screen has room for. Counters that
 * are 0 on all these workers, and those of other clients, are left out. */
static bool bi_print_stats(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value all, key, v, name, first;
    Bytes text = {0};
    TRY(bi_worker_stats(in, arg, &all, e));
    size_t n = map_count(all.map), columns = ((size_t)screen(in) - 20) / 12;
    if (!n) bytes_puts(&text, "no workers yet: they start with the first tensor\n");
    for (size_t from = 0; from < n; from += columns) {
        size_t to = from + columns < n ? from + columns : n, zeros = 0;
        bytes_printf(&text, "%s%-20s", from ? "\n" : "", "");
        for (size_t i = from; i < to && mapv_at(all.map, i, &name, &v); i++)
            bytes_printf(&text, "  %10s", name.str->s);
        bytes_putc(&text, '\n');
        mapv_at(all.map, from, &name, &first);
        for (size_t k = 0; mapv_at(first.map, k, &key, &v); k++)
            if (strncmp(key.str->s, "client.", 7)) zeros += !put_row(all, key, from, to, &text);
        bytes_printf(&text, "%zu more counters are 0; stats() has all\n", zeros);
    }
    bool ok = print_text(in, &text, e);
    bytes_fini(&text);
    value_drop(all);
    *out = v_none();
    return ok;
}

static Value figure(Value worker, const char *key) {
    Value name = v_cstr(key), *v = map_find(worker.map, name);
    value_drop(name);
    return v ? *v : v_none();
}

/* Appends the device of a worker that has one: "NVIDIA A100 (0), 47 °C, 12 % busy". */
static void put_device(Value w, Bytes *out) {
    Value device = figure(w, "device"), number = figure(w, "device_number");
    Value celsius = figure(w, "device_celsius"), busy = figure(w, "device_busy_percent");
    if (device.kind != V_STR) return;
    bytes_printf(out, "  %s (%lld)", device.str->s, number.kind == V_INT ? (long long)number.i : 0);
    if (celsius.kind == V_INT) bytes_printf(out, ", %lld °C", (long long)celsius.i);
    if (busy.kind == V_INT) bytes_printf(out, ", %lld %% busy", (long long)busy.i);
}

static void put_worker(Value name, Value w, Bytes *out) {
    char used[24], total[24], memory[64];
    Value engine = figure(w, "isa"), threads = figure(w, "threads");
    Value used_v = figure(w, "bytes_used"), total_v = figure(w, "bytes_total");
    snprintf(memory, sizeof memory, "%s of %s",
             bytes_text(used_v.kind == V_INT ? (uint64_t)used_v.i : 0, used),
             bytes_text(total_v.kind == V_INT ? (uint64_t)total_v.i : 0, total));
    static const char *const counts[] = {"tensors", "instructions", "queue"};
    static const int width[] = {7, 12, 5};
    if (figure(w, "device").kind == V_STR) engine = figure(w, "engine");
    bytes_printf(out, "%-6s  %-9s  %7lld  %-20s", name.str->s,
                 engine.kind == V_STR ? engine.str->s : "?",
                 threads.kind == V_INT ? (long long)threads.i : 0, memory);
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        Value v = figure(w, counts[k]);
        bytes_printf(out, "  %*lld", width[k], v.kind == V_INT ? (long long)v.i : 0);
    }
    put_device(w, out);
    bytes_putc(out, '\n');
}

/* Why auto has chosen the engines: a line for each reason that differs from the one before. */
static void put_choices(const Value *all, Bytes *out) {
    const char *last = "";
    Value name, w;
    for (size_t i = 0; mapv_at(all->map, i, &name, &w); i++) {
        Value why = figure(w, "engine_why"), engine = figure(w, "engine");
        if (why.kind != V_STR || engine.kind != V_STR || !strcmp(why.str->s, last)) continue;
        bytes_printf(out, "engine auto: %s, %s\n", engine.str->s, why.str->s);
        last = why.str->s;
    }
}

/* A line per worker. Before the first tensor, how many there will be. */
static bool bi_print_workers(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value all, name, w;
    Bytes text = {0};
    int n = 0;
    bool has_device = false;
    TRY(stream_workers(in->stream, &n, e));
    TRY(bi_worker_stats(in, arg, &all, e));
    for (size_t i = 0; mapv_at(all.map, i, &name, &w); i++)
        has_device |= figure(w, "device").kind == V_STR;
    if (map_count(all.map))
        bytes_printf(
            &text,
            "WORKER  ENGINE     THREADS  MEMORY                TENSORS  INSTRUCTIONS  QUEUE%s\n",
            has_device ? "  DEVICE" : "");
    else
        bytes_printf(&text, "%d worker%s, to be started with the first tensor\n", n,
                     n == 1 ? "" : "s");
    for (size_t i = 0; mapv_at(all.map, i, &name, &w); i++) put_worker(name, w, &text);
    put_choices(&all, &text);
    bool ok = print_text(in, &text, e);
    bytes_fini(&text);
    value_drop(all);
    *out = v_none();
    return ok;
}

const Builtin builtins_stats[] = {
    {"stats", "", bi_stats,
     "The counters of client, dispatcher and workers as a map; waits. gt-lang(7) explains them."},
    {"debug.get_worker_stats", "", bi_worker_stats,
     "The workers' counters as a map by worker, like {w0: {kernels: 3, ...}}; waits."},
    {"debug.print_worker_stats", "", bi_print_worker_stats, "Prints the workers' counters; waits."},
    {"debug.print_stats", "", bi_print_stats,
     "Prints the workers' counters as a table, without those that are 0; waits."},
    {"debug.print_workers", "", bi_print_workers,
     "Prints a line per worker: engine, threads, memory, tensors, work; waits."},
    {NULL}};
