/* cpu.c: the engine `cpu`: memory from mem.h, threads from pool.h, inner loops from kernels.h. A
 * call is executed inside submit (host.h), a large one on all threads.
 * SPDX-License-Identifier: MIT */
#include "worker/cpu/cpu.h"
#include "worker/dnnl/dnnl.h"
#include "runtime/base/env.h"
#include "runtime/base/buf.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool (*const rows[OP_COUNT])(Cpu *, const Call *, Err *) = {
#define KERNEL(id, ...) [OP_##id] = cpu_##id,
#include "runtime/inst/ops.def"
};

static bool run_row(Cpu *c, const Call *call, Err *err) {
    Op op = call->inst->op;
    bool moves = op_has(op, FACT_HALVES) && !inst_bool(call->inst, ATTR_ACCUMULATE, false);
    return moves || !call_has_half(call) ? rows[op](c, call, err)
                                         : cpu_widened(c, call, rows[op], err);
}

const Kernels *kernels_find(void) {
    const char *most = env_word("GT_ISA");
    bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
              __builtin_cpu_supports("f16c");
    if (!strcmp(most, "base")) v3 = false;
    if (!strcmp(most, "v3")) v4 = false;
    return v3 && v4 ? &kernels_v4 : v3 ? &kernels_v3 : &kernels_base;
}

/* Returns the size of the last-level cache as the kernel lists it; sysconf may add up those of all
 * dies. */
static uint64_t cache_bytes(void) {
    enum { UNKNOWN = 16 << 20, LEVELS = 8 };
    uint64_t kib = (uint64_t)env_int("GT_LLC_KIB");
    for (int i = 0; i < LEVELS && !kib; i++) {
        char path[80];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size",
                 LEVELS - 1 - i);
        FILE *f = fopen(path, "re");
        if (!f) continue;
        unsigned long n = 0;
        char unit = 0;
        if (fscanf(f, "%lu%c", &n, &unit) == 2 && (unit == 'K' || unit == 'M'))
            kib = unit == 'K' ? n : n << 10;
        fclose(f);
    }
    return kib ? kib << 10 : UNKNOWN;
}

static Engine *cpu_open(const EngineConfig *config, Err *err) {
    Cpu *c = xcalloc(1, sizeof *c);
    if (!host_open(&c->host, &engine_cpu, config, err)) return free(c), NULL;
    c->pool = pool_new(config->threads > 0 ? config->threads : 1);
    c->kernels = kernels_find();
    c->cache_bytes = cache_bytes();
    snprintf(c->isa, sizeof c->isa, "cpu-%s", c->kernels->isa);
    return &c->host.engine;
}

static void cpu_close(Engine **e) {
    if (!*e) return;
    Cpu *c = (Cpu *)*e;
    pool_free(&c->pool);
    dnnl_free(&c->dnnl);
    host_close(&c->host);
    free(c);
    *e = NULL;
}

static const char *cpu_isa(const Engine *e) { return ((const Cpu *)e)->isa; }

void *cpu_side(Cpu *c, const Call *call, int64_t bytes, Err *err) {
    assert(c->n_sides < CPU_SIDES && bytes >= 0);
    void *p = mem_alloc(c->host.mem, (uint64_t)bytes);
    if (!p) {
        char need[24], left[24], all[24];
        uint64_t used, peak, total;
        mem_usage(c->host.mem, &used, &peak, &total);
        err_set(err, ERR_MEMORY,
                "out of memory: '%s' needs %s in addition to its result, %s of %s free",
                op_info[call->inst->op].name, bytes_text((uint64_t)bytes, need),
                bytes_text(total - used, left), bytes_text(total, all));
        return NULL;
    }
    c->side[c->n_sides++] = (struct Side){p, (uint64_t)bytes};
    return p;
}

void cpu_free_sides(Cpu *c) {
    while (c->n_sides > 0) {
        const struct Side *s = &c->side[--c->n_sides];
        mem_release(c->host.mem, s->data, s->bytes);
    }
}

static Ticket cpu_submit(Engine *e, const Call *call, const Ticket *after, int n_after) {
    Cpu *c = (Cpu *)e;
    Op op = call->inst->op;
    Err err = {0};
    bool ok = true;
    switch (op_info[op].class_) {
    case CLASS_MAP: cpu_map(c, call); break;
    case CLASS_REDUCE: ok = cpu_reduce(c, call, &err); break;
    case CLASS_VIEW: cpu_copy(c, &call->in[0], call->out[0].data); break;
    case CLASS_SOURCE: cpu_source(c, call); break;
    case CLASS_KERNEL: ok = run_row(c, call, &err); break;
    case CLASS_CONTROL: panic("'%s' is not for engines", op_info[op].name);
    }
    cpu_free_sides(c);
    if (pool_was_cancelled(c->pool))
        ok = err_set(&err, ERR_CANCELLED, "'%s' was cancelled", op_info[op].name);
    return host_ticket(&c->host, ok ? NULL : &err);
}

static void cpu_copy_out(Engine *e, void *host, const View *v) { cpu_copy((Cpu *)e, v, host); }

static void cpu_set_cancel(Engine *e, bool (*is_cancelled)(void *ctx), void *ctx) {
    pool_set_cancel(((Cpu *)e)->pool, is_cancelled, ctx);
}
static void cpu_cancel(Engine *e, bool is_cancelled) {
    pool_cancel(((Cpu *)e)->pool, is_cancelled);
}

const EngineOps engine_cpu = {
    HOST_ENGINE_OPS,
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .isa = cpu_isa,
    .submit = cpu_submit,
    .copy_out = cpu_copy_out,
    .fused = cpu_fused,
    .fused_product = cpu_fused_product,
    .hash = cpu_hash,
    .set_cancel = cpu_set_cancel,
    .cancel = cpu_cancel,
};
