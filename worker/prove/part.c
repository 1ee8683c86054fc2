/* part.c: a part's tally, its cases and engines.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

#include <stdio.h>

static bool must_end(const Part *p) {
    return p->tally->stop || (p->config->stop && *p->config->stop);
}

static void add_failure(Tally *t, const char *why) {
    if (t->failed < TALLY_FAILURES)
        snprintf(t->failure[t->failed], sizeof t->failure[0], "%.230s: %.240s", t->now, why);
    t->failed++;
}

/* The device of the engine is lost: one failure, and nothing that follows counts. */
static bool is_lost(Part *p) {
    Err why = {0}, err = {0};
    if (p->is_lost || !p->e || !p->e->ops->lost || !p->e->ops->lost(p->e, &why)) return p->is_lost;
    err_set(&err, why.code, "the device is lost: %s", why.text);
    add_failure(p->tally, err.text);
    return p->is_lost = true;
}

void part_fail(Part *p, const char *format, ...) {
    char why[TALLY_TEXT / 2];
    if (is_lost(p)) return;
    FORMAT_INTO(why, format);
    add_failure(p->tally, why);
}

bool part_begin(Part *p, const char *format, ...) {
    if (must_end(p) || is_lost(p)) return false;
    FORMAT_INTO(p->tally->now, format);
    p->tally->done++;
    return true;
}

void part_share(Part *p, double share, Op op, DType d) {
    if (share <= p->tally->share) return;
    p->tally->share = share;
    snprintf(p->tally->share_of, sizeof p->tally->share_of, "%s of %s", op_info[op].name,
             dtype_info[d].name);
}

void part_done(Part *p, const char *format, ...) {
    is_lost(p);
    FORMAT_INTO(p->tally->what, format);
    p->tally->is_finished = !must_end(p);
}

void part_leave_out(Part *p, const char *why) {
    part_done(p, "%s", why);
    p->tally->is_left_out = true;
}

int part_rounds(const Part *p, int quick, int full) { return p->config->is_quick ? quick : full; }

Engine *part_open(Part *p, const EngineOps *ops, uint64_t memory_bytes) {
    Err err = {0};
    EngineConfig config = {.memory_bytes = memory_bytes ? memory_bytes : p->config->memory_bytes,
                           .device = p->config->device,
                           .threads = ops == p->config->ops ? p->config->threads : 1};
    snprintf(p->tally->now, sizeof p->tally->now, "opening the engine %s", ops->name);
    Engine *e = ops->open(&config, &err);
    if (!e) part_fail(p, "%s", err.text);
    return e;
}

void part_close(Part *p, Engine **e) {
    uint64_t used, peak, total;
    if (!*e) return;
    engine_settle(*e, NULL, NULL);
    (*e)->ops->memory(*e, &used, &peak, &total);
    snprintf(p->tally->now, sizeof p->tally->now, "closing the engine");
    is_lost(p);
    if (used && !p->is_lost) part_fail(p, "%llu bytes are still in use", (unsigned long long)used);
    (*e)->ops->close(e);
}
