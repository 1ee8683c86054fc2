/* stats.c: statistics of a worker, and a tensor's layout and origin, as text. Bytes between workers
 * are counted when they are read (bytes_in) and when they are offered (bytes_out); inline_bytes are
 * those of bytes_out that were sent with their descriptor.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/stats.h"
#include "worker/exec/exec.h"
#include "worker/exec/profile.h"
#include "worker/exec/stage.h"
#include "worker/exec/watch.h"
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

/* Returns the resident set size of this process in bytes; 0: unknown. */
static uint64_t resident(void) {
    unsigned long long all, pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%llu %llu", &all, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void exec_trim(Exec *x) {
    if (x->ops->trim) x->ops->trim(x->engine);
    malloc_trim(0);
}

void exec_stats(const Exec *x, Bytes *out) {
    uint64_t used, peak, total, tensors = 0, clients = 0;
    x->ops->memory(x->engine, &used, &peak, &total);
    for (const Client *c = x->clients; c; c = c->next) tensors += c->names->map.n, clients++;
    bytes_printf(out, "engine=%s\nisa=%s\nthreads=%d\n", x->ops->name, x->ops->isa(x->engine),
                 x->threads);
    bytes_printf(out, "instructions=%llu\nkernels=%llu\n", (unsigned long long)x->instructions,
                 (unsigned long long)x->kernels);
    bytes_printf(out, "bytes_used=%llu\nbytes_peak=%llu\nbytes_total=%llu\n",
                 (unsigned long long)used, (unsigned long long)peak, (unsigned long long)total);
    bytes_printf(out, "bytes_resident=%llu\n", (unsigned long long)resident());
    bytes_printf(out, "tensors=%llu\nstorages=%llu\nclients=%llu\n", (unsigned long long)tensors,
                 (unsigned long long)x->store.n_storages, (unsigned long long)clients);
    bytes_printf(
        out, "moves=%llu\nbytes_in=%llu\nbytes_out=%llu\ninline_bytes=%llu\ndirect_bytes=%llu\n",
        (unsigned long long)x->moves, (unsigned long long)x->bytes_in,
        (unsigned long long)x->bytes_out, (unsigned long long)x->inline_bytes,
        (unsigned long long)x->direct_bytes);
    if (x->ops->about) x->ops->about(x->engine, out);
    for (const Stage *s = x->stages; s; s = s->next) s->stats(s, out);
    bytes_printf(out, "pins=%zu\nwaiting=%u\n", x->pins.n, x->n_waiting);
    for (const Client *c = x->clients; c; c = c->next) {
        bytes_printf(out, "client.%u.instructions=%llu\nclient.%u.kernels=%llu\n", c->id,
                     (unsigned long long)c->instructions, c->id, (unsigned long long)c->kernels);
        bytes_printf(out,
                     "client.%u.tensors=%zu\nclient.%u.bytes=%llu\nclient.%u.bytes_peak=%llu\n",
                     c->id, c->names->map.n, c->id, (unsigned long long)c->names->bytes, c->id,
                     (unsigned long long)c->names->bytes_peak);
        bytes_printf(out, "client.%u.ms=%lld\nclient.%u.us=%lld\n", c->id,
                     (long long)(c->used_ns / 1000000), c->id, (long long)(c->used_ns / 1000));
    }
}

void exec_on_profile(Exec *x, uint32_t client) {
    Client *c = exec_client(x, client, true);
    if (!c->profile) c->profile = profile_new();
}

void exec_profile(Exec *x, uint32_t client, Bytes *out) {
    const Client *c = exec_client(x, client, false);
    if (c && c->profile) profile_print(c->profile, watch_ns_per_tick(x), out);
}

/* Returns NULL, with the reason written to out, if the tensor is absent or poisoned. */
static const Tensor *find_tensor(const Exec *x, uint32_t client, uint64_t id, Bytes *out) {
    const Client *c = x->clients;
    while (c && (c->id != client || c->is_gone)) c = c->next;
    const Tensor *t = c ? store_get(c->names, id) : NULL;
    if (!t) {
        bytes_puts(out, "absent=1\n");
        return NULL;
    }
    if (!t->storage->poison) return t;
    bytes_printf(out, "poisoned=%s\n", err_name(t->storage->poison));
    return NULL;
}

void exec_kernel(const Exec *x, uint32_t client, uint64_t id, Bytes *out) {
    static const char *const filled[] = {"otherwise", "alone", "in_turn", "fused"};
    const Tensor *t = find_tensor(x, client, id, out);
    if (!t) return;
    const Storage *st = t->storage;
    bytes_printf(out, "filled=%s\n", filled[st->filled]);
    if (st->filled != FILLED_OTHERWISE) bytes_printf(out, "op=%s\n", op_info[st->op].name);
    bytes_printf(out, "engine=%s\n", x->ops->name);
    if (x->takes)
        x->takes->about(x->takes, st->kernel, out);
    else
        bytes_puts(out, "off=1\n");
}

void exec_placement(const Exec *x, uint32_t client, uint64_t id, Bytes *out) {
    const Tensor *t = find_tensor(x, client, id, out);
    if (!t) return;
    char text[LAYOUT_TEXT];
    Layout layout = t->whole ? t->whole->layout : layout_replicate();
    bytes_puts(out, "shape=[");
    for (int d = 0; d < t->view.type.rank; d++)
        bytes_printf(out, "%s%lld", d ? "," : "", (long long)t->view.type.shape[d]);
    bytes_printf(out, "]\nlayout=%s\ngroup=%u\n", layout_text(&layout, text), t->group);
    if (x->ops->about) x->ops->about(x->engine, out);
}
