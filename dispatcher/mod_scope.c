/* mod_scope.c: what a client says about signals. Definitions are remembered for that client alone
 * and go on to the workers, who skip them; nothing that a client defines reaches another.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/state.h"

static void process(Flow *f, int stage) {
    Err err = {0};
    if (f->inst.op == OP_SIGNAL_DEFINE && !config_define(&f->client->signals, &f->inst, &err))
        dispatcher_refuse_inst(f->d, f->client, f->seq, &f->inst, &err);
    chain_next(f, stage + 1);
}

static void stats(const struct Dispatcher *d, Bytes *out) {
    uint64_t key;
    void *value;
    int n = 0;
    for (size_t i = 0; map_next(&d->client_by_id, &i, &key, &value);)
        n += ((const Client *)value)->signals.n;
    bytes_printf(out, "signals=%d\n", n);
}

const Modifier modifier_scope = {"scope", process, stats};
