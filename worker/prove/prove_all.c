/* prove_all.c: a proof from its head to its record: see prove.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/buf.h"
#include "runtime/base/clock.h"
#include "runtime/base/version.h"
#include "worker/kernel/kernels.h"
#include "worker/prove/prove.h"
#include "worker/prove/record.h"

#include <time.h>

static void print_head(FILE *out, const ProveConfig *c, const EngineDevice *d) {
    char memory[24];
    fprintf(out, "gt-worker %s: proves the engine %s against %s-%s, seed %llu%s\n", gt_version,
            c->ops->name, c->oracle->name,
            c->oracle == &engine_cpu ? kernels_find()->isa : "plain loops",
            (unsigned long long)c->seed, c->is_quick ? ", quick" : "");
    if (d->name[0]) {
        fprintf(out, "device       %s, compute capability %s, %s\n", d->name, d->capability,
                bytes_text(d->memory_bytes, memory));
        fprintf(out, "driver       %s\n", d->driver);
        fprintf(out, "toolkit      %s\n", d->toolkit);
    }
    fprintf(out, "build        %s\n", gt_build);
    fflush(out);
}

static void make_record(const ProveConfig *c, const EngineDevice *d, Record *r) {
    time_t now = time(NULL);
    struct tm utc;
    *r = (Record){.device = *d};
    snprintf(r->engine, sizeof r->engine, "%s", c->ops->name);
    snprintf(r->build, sizeof r->build, "%s", gt_build);
    snprintf(r->seed, sizeof r->seed, "%llu%s", (unsigned long long)c->seed,
             c->is_quick ? " quick" : "");
    strftime(r->passed, sizeof r->passed, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

/* What --engine auto makes of it. */
static void conclude(FILE *out, const ProveConfig *c, const EngineDevice *d, ProveEnd end) {
    char path[RECORD_PATH];
    Record r;
    Err err = {0};
    make_record(c, d, &r);
    if (end == PROVE_STOPPED) {
        fprintf(out, "stopped: nothing is proved\n");
    } else if (end == PROVE_FAILED) {
        fprintf(out, "FAILED: the engine %s is not proved here\n", c->ops->name);
        if (d->name[0]) record_remove(&r);
    } else if (!d->name[0]) {
        fprintf(out, "passed\n");
    } else if (c->is_quick && !c->records_quick) {
        fprintf(out, "passed; for --engine auto, prove it without --quick\n");
    } else if (!record_write(&r, &err)) {
        fprintf(out, "passed; the record for --engine auto cannot be written: %s\n", err.text);
    } else {
        record_path(&r, path);
        fprintf(out, "passed: --engine auto now takes %s on this device (%s)\n", c->ops->name,
                path);
    }
}

ProveEnd prove_all(const ProveConfig *given) {
    ProveConfig c = *given;
    EngineDevice d;
    Err err = {0};
    FILE *out = c.out ? c.out : stdout;
    if (!c.seed) c.seed = 1;
    if (!prove_identify(&c, &d, &err) || !prove_has_room(&c, &err)) {
        err_report("gt-worker", &err);
        return PROVE_FAILED;
    }
    print_head(out, &c, &d);
    double began = now_s();
    ProveEnd end = prove_run(&c);
    fprintf(out, "%.0f s; ", now_s() - began);
    conclude(out, &c, &d, end);
    return end;
}
