/* choose.c: see choose.h.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/choose.h"
#include "runtime/base/version.h"
#include "worker/prove/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the record that is of this device, if there is one. *near: one of the same device with
 * another driver or toolkit. */
static const Record *find(const Record *record, int n, const EngineDevice *d, const Record **near) {
    for (int k = 0; k < n; k++) {
        const EngineDevice *r = &record[k].device;
        if (strcmp(r->name, d->name) || strcmp(r->capability, d->capability)) continue;
        if (!strcmp(r->driver, d->driver) && !strcmp(r->toolkit, d->toolkit)) return &record[k];
        *near = &record[k];
    }
    return NULL;
}

static const EngineOps *compare(const EngineOps *ops, const EngineConfig *config,
                                const Record *record, int n, char *why, size_t size) {
    EngineDevice d = {0};
    Err err = {0};
    const Record *near = NULL, *found;
    if (!ops->identify(config, &d, &err)) {
        snprintf(why, size, "%s", err.text);
        return &engine_cpu;
    }
    if ((found = find(record, n, &d, &near))) {
        snprintf(why, size, "%s was proved on %.10s", d.name, found->passed);
        return ops;
    }
    if (near && strcmp(near->device.driver, d.driver))
        snprintf(why, size, "%s was proved with the driver %s, and this is %s", d.name,
                 near->device.driver, d.driver);
    else if (near)
        snprintf(why, size, "%s was proved with %s, and this is %s", d.name, near->device.toolkit,
                 d.toolkit);
    else
        snprintf(why, size, "%s was not proved", d.name);
    return &engine_cpu;
}

const EngineOps *choose_engine(const EngineConfig *config, char *why, size_t size) {
    const EngineOps *ops = &engine_cuda, *chosen = &engine_cpu;
    Record *record = xcalloc(RECORDS_MAX, sizeof *record);
    int all = record_all(ops->name, record), n = 0;
    for (int k = 0; k < all; k++)
        if (gt_build[0] && !strcmp(record[k].build, gt_build)) record[n++] = record[k];
    if (n)
        chosen = compare(ops, config, record, n, why, size);
    else if (all)
        snprintf(why, size, "%s was proved by another build", record[0].device.name);
    else
        snprintf(why, size, "no device was proved here");
    free(record);
    return chosen;
}
