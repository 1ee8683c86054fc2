/* snapshot.c: the state of the run as text, for those that watch it: a record a line (monitor.h in
 * dispatcher/watch describes it).
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state/listener.h"
#include "dispatcher/watch/op_class.h"
#include "runtime/base/clock.h"
#include "runtime/base/version.h"
#include "runtime/inst/inst_print.h"
#include "runtime/wire/wire_watch.h"
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Number;

static void put_text(Bytes *out, const char *key, const char *text) {
    bytes_printf(out, " %s=", key);
    inst_quote(out, text, strlen(text));
}

static void put_number(Bytes *out, const char *key, uint64_t n) {
    bytes_printf(out, " %s=%llu", key, (Number)n);
}

/* ---- Records ---- */

static uint64_t in_flight(const Dispatcher *d) {
    uint64_t n = 0;
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) n += d->worker[i]->insts;
    return n;
}

static void put_dispatcher(const Dispatcher *d, Bytes *out) {
    uint64_t moved = 0;
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i]) moved += d->worker[i]->usage.moved_bytes;
    bytes_puts(out, "dispatcher");
    put_text(out, "endpoint", d->config.endpoint ? d->config.endpoint : "");
    bytes_printf(out, " version=%s", gt_version);
    put_number(out, "now_us", (uint64_t)now_us());
    put_number(out, "up_us", (uint64_t)(now_us() - d->born_us));
    put_number(out, "pid", d->config.pid);
    put_number(out, "workers", (uint64_t)d->n_workers);
    put_number(out, "clients", d->client_by_id.n);
    put_number(out, "insts", d->n_insts);
    put_number(out, "queue", in_flight(d));
    put_number(out, "frame_bytes", d->frame_bytes);
    put_number(out, "sent_bytes", d->sent_bytes);
    put_number(out, "data_bytes", moved);
    bytes_putc(out, '\n');
}

/* The client that gave the worker most of its work. */
static const Client *main_client(const Dispatcher *d, const WorkerPeer *w) {
    const Client *best = NULL;
    uint64_t most = 0;
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) {
        const Client *c = it.value;
        if (!ranks_has(&c->used, w->rank) && c->rank != w->rank) continue;
        uint64_t n = client_in_flight(c, w->rank) + 1;
        if (n > most) best = c, most = n;
    }
    return best;
}

static void put_signal(const Client *c, Bytes *out) {
    if (c && c->depth > 0) put_text(out, "signal", c->scope[c->depth - 1].name);
}

static void put_device(const DeviceUsage *d, Bytes *out) {
    if (!d->name[0]) return;
    put_text(out, "device", d->name);
    put_number(out, "device_number", d->number);
    if (d->total) {
        put_number(out, "device_used", d->used);
        put_number(out, "device_total", d->total);
    }
    if (d->celsius != INT32_MIN) bytes_printf(out, " device_celsius=%d", d->celsius);
    if (d->busy != INT32_MIN) bytes_printf(out, " device_busy_percent=%d", d->busy);
}

static void put_usage(const Usage *u, Bytes *out) {
    uint64_t busy_ns[WATCH_CLASS_COUNT] = {0};
    for (uint32_t i = 0; i < u->n; i++) busy_ns[watch_class((Op)u->op[i].op)] += u->op[i].ns;
    put_number(out, "memory", u->memory_bytes);
    put_number(out, "queue", u->queue);
    put_number(out, "insts", u->insts);
    put_number(out, "kernels", u->kernels);
    for (int i = 0; i < WATCH_CLASS_COUNT; i++)
        bytes_printf(out, " busy_us.%s=%llu", watch_class_info[i].name,
                     (Number)(busy_ns[i] / 1000));
    for (int i = 0; i < IDLE_WHYS; i++)
        bytes_printf(out, " idle_us.%s=%llu", idle_why_name[i], (Number)(u->idle_ns[i] / 1000));
    if (u->blocked_on != UINT32_MAX) put_number(out, "blocked_on", u->blocked_on);
    put_number(out, "moved_bytes", u->moved_bytes);
    put_device(&u->device, out);
    bytes_printf(out, " clock_us=%lld", (long long)(u->now_ns / 1000));
}

static void put_worker(const Dispatcher *d, const WorkerPeer *w, Bytes *out) {
    bytes_printf(out, "worker rank=%d", w->rank);
    put_text(out, "engine", w->engine);
    put_text(out, "host", w->host);
    put_number(out, "pid", w->data.pid);
    put_number(out, "threads", w->threads);
    put_number(out, "limit", w->usage.limit_bytes ? w->usage.limit_bytes : w->memory_bytes);
    put_number(out, "sent", w->insts);
    if (w->usage.now_ns) put_usage(&w->usage, out);
    const Client *c = main_client(d, w);
    bool is_there = c && (!c->target.group || ranks_has(&c->target.group->set, w->rank));
    if (w->in_signal[0])
        put_text(out, "signal", w->in_signal);
    else if (is_there)
        put_signal(c, out);
    bytes_putc(out, '\n');
}

static void put_client(const Dispatcher *d, const Client *c, Bytes *out) {
    bytes_printf(out, "client id=%u", c->id);
    put_text(out, "name", c->name);
    put_text(out, "user", c->user);
    if (c->rank >= 0) put_number(out, "home", (uint64_t)c->rank);
    put_number(out, "insts", c->next_seq);
    put_number(out, "pending", c->next_seq - c->acked_seq);
    put_number(out, "tensors", c->tensors.n);
    put_number(out, "bytes", c->live_bytes);
    const Sent *oldest = c->sent.n ? fifo_at(&c->sent, 0) : NULL;
    int64_t lag_ms = oldest ? d->now_ms - oldest->at_ms : 0;
    put_number(out, "lag_us", lag_ms > 0 ? 1000 * (uint64_t)lag_ms : 0);
    const char *file = client_file(c, c->at.file);
    if (c->at.line && file) {
        put_text(out, "file", file);
        put_number(out, "line", c->at.line);
    }
    put_signal(c, out);
    bytes_putc(out, '\n');
}

/* Totals over all workers that are here. */
static void put_ops(const Dispatcher *d, Bytes *out) {
    OpUsage all[OP_COUNT] = {0};
    for (int i = 0; i < d->n_ranks; i++) {
        const Usage *u = d->worker[i] ? &d->worker[i]->usage : NULL;
        for (uint32_t k = 0; u && k < u->n; k++) {
            OpUsage *sum = &all[u->op[k].op];
            sum->count += u->op[k].count, sum->ns += u->op[k].ns, sum->bytes += u->op[k].bytes;
        }
    }
    for (int op = 0; op < OP_COUNT; op++)
        if (all[op].count)
            bytes_printf(out, "op name=\"%s\" count=%llu us=%llu bytes=%llu\n", op_info[op].name,
                         (Number)all[op].count, (Number)(all[op].ns / 1000), (Number)all[op].bytes);
}

static int by_id(const void *a, const void *b) {
    const Client *x = *(const Client *const *)a, *y = *(const Client *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* In the order in which they came. */
static void put_clients(const Dispatcher *d, Bytes *out) {
    const Client **client = xmalloc((d->client_by_id.n + 1) * sizeof *client);
    size_t n = 0;
    for (MapItem it = {0}; map_next(&d->client_by_id, &it);) client[n++] = it.value;
    qsort(client, n, sizeof *client, by_id);
    for (size_t i = 0; i < n; i++) put_client(d, client[i], out);
    free(client);
}

void snapshot_write(const Dispatcher *d, Bytes *out) {
    put_dispatcher(d, out);
    for (int i = 0; i < d->n_ranks; i++)
        if (d->worker[i] && !d->worker[i]->is_lost) put_worker(d, d->worker[i], out);
    put_clients(d, out);
    put_ops(d, out);
}
