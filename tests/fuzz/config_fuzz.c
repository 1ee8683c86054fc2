/* config_fuzz.c: damaged configurations. The result must be a configuration, or an error with a
 * position inside the text, and no memory may leak. An accepted configuration must survive the
 * round trip through instructions.
 * SPDX-License-Identifier: MIT */
#include "runtime/layout/config.h"
#include "tests/fuzz/fuzz.h"

static void check_signal(Config *through, const SignalConfig *s) {
    ConfigInst ci;
    TensorType out[MAX_OUT];
    int n_out;
    Err err = {0};
    config_inst(s, &ci);
    if (!inst_infer(&ci.inst, NULL, out, &n_out, &err)) abort();
    if (!config_define(through, &ci.inst, &err)) abort();
    const SignalConfig *t = config_find(through, s->name, strlen(s->name));
    if (!t || t->has != s->has || t->n_workers != s->n_workers || t->axis != s->axis) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Config c = {0}, through = {0}, both = {0};
    ConfigAt at;
    Err err = {0};
    if (config_parse(&c, "f.yaml", (const char *)data, n, &at, &err)) {
        for (int i = 0; i < c.n; i++) check_signal(&through, c.signal[i]);
        if (!config_merge(&both, &c, &at, &err) || both.n != c.n) abort();
    } else {
        if (err.code == ERR_NONE || !err.text[0] || at.col > n + 1 || at.line > n + 1) abort();
    }
    config_fini(&c);
    config_fini(&through);
    config_fini(&both);
    return 0;
}

static void fuzz_seed(Rand *r, Bytes *out) {
    static const char *const some[] = {
        "a:\n  shard:\n    axis: 0\n    workers: [0, 1]\n  backward: b\n  compile: true\n",
        "b: {shard: {axis: -1, workers: null, replicated: yes}}\n",
        "\"c d\": &c {shard: &s {workers: [3, 2]}}\n",
        "e: {<<: *c, compile: no}\n",
        "f: {shard: *s, backward: ~}\n",
        "? g\n: {}\n",
        "h:\n",
        "i: {backward: a}\n",
    };
    bool has_anchor = false;
    for (int i = 0; i < 8; i++) {
        bool skips = rand_below(r, 4) == 0 || ((i == 3 || i == 4) && !has_anchor);
        if (skips) continue;
        has_anchor |= i == 2;
        bytes_puts(out, some[i]);
    }
}
