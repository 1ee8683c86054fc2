/* step_ids.c: checks the ids of a step: the lines before the body, its first round, the carries, a
 * second round, and the lines after it.
 * SPDX-License-Identifier: MIT */
#include "lang/step/step_ids.h"
#include "runtime/base/map.h"

typedef struct Ids {
    const Step *s;
    Map live, gone; /* id -> the StepLine that defined it, or that freed it */
    Map outer;      /* ids defined before the body */
    bool is_second; /* round */
    LangError *e;
} Ids;

static const char *in_second(const Ids *c) { return c->is_second ? " in the second round" : ""; }

static bool use(Ids *c, const StepLine *at, uint64_t id) {
    if (map_get(&c->live, id)) return true;
    const StepLine *freed = map_get(&c->gone, id);
    c->e->kind = E_SYNTAX;
    if (!freed)
        return error_at(c->e, step_at(c->s, at->line, 0), "t%llu is not defined%s",
                        (unsigned long long)id, in_second(c));
    error_at(c->e, step_at(c->s, at->line, 0), "t%llu was freed in line %u", (unsigned long long)id,
             freed->line);
    if (freed->line >= at->line)
        error_hint(c->e, "the next round needs it: do not free it, or carry a value to it");
    return false;
}

static bool define(Ids *c, const StepLine *at, uint64_t id) {
    const StepLine *old = map_get(&c->live, id), *freed = map_get(&c->gone, id);
    const StepLine *outer = map_get(&c->outer, id);
    if (!old) old = freed && !c->is_second ? freed : outer;
    if (old && old != at) {
        c->e->kind = E_SYNTAX;
        return error_at(c->e, step_at(c->s, at->line, 0),
                        "t%llu was defined before; an id is used once", (unsigned long long)id);
    }
    map_put(&c->live, id, (void *)at);
    return true;
}

static bool check_line(Ids *c, const StepLine *at) {
    const Inst *inst = &at->inst.inst;
    for (int i = 0; i < inst->n_in; i++) {
        if (inst->in[i].kind != IN_TENSOR) continue;
        TRY(use(c, at, inst->in[i].id));
        if (inst->op != OP_FREE || at->kind != STEP_INST) continue;
        map_remove(&c->live, inst->in[i].id);
        map_put(&c->gone, inst->in[i].id, (void *)at);
    }
    for (int i = 0; i < inst->n_out; i++) TRY(define(c, at, inst->out[i]));
    return true;
}

static bool check_carries(Ids *c) {
    const Step *s = c->s;
    Map to = {0};
    bool ok = true;
    for (int i = s->carry; ok && i < s->end; i++) {
        const StepLine *at = &s->line[i];
        ok = use(c, at, at->from);
        c->e->kind = ok ? E_NONE : E_SYNTAX;
        if (ok && map_get(&to, at->to))
            c->e->kind = E_SYNTAX,
            ok = error_at(c->e, step_at(s, at->line, 0), "t%llu is carried to twice",
                          (unsigned long long)at->to);
        if (ok && !map_get(&c->outer, at->to)) {
            c->e->kind = E_SYNTAX;
            ok = error_at(c->e, step_at(s, at->line, 0), "t%llu is not defined before the body",
                          (unsigned long long)at->to);
            error_hint(c->e, "it needs a value for the first round");
        }
        map_put(&to, at->to, (void *)at);
    }
    for (int i = s->carry; ok && i < s->end; i++)
        map_put(&c->live, s->line[i].to, (void *)&s->line[i]);
    map_fini(&to);
    return ok;
}

/* The ids of the body end with the round. */
static void end_round(Ids *c) {
    const Step *s = c->s;
    for (int i = s->body; i < s->carry; i++)
        for (int k = 0; k < s->line[i].inst.inst.n_out; k++)
            map_remove(&c->live, s->line[i].inst.inst.out[k]);
}

bool step_check_ids(const Step *s, LangError *e) {
    Ids c = {.s = s, .e = e};
    bool ok = true;
    for (int i = 0; ok && i < s->body; i++) {
        ok = check_line(&c, &s->line[i]);
        for (int k = 0; ok && k < s->line[i].inst.inst.n_out; k++)
            map_put(&c.outer, s->line[i].inst.inst.out[k], &s->line[i]);
    }
    for (int round = 0; ok && round < 2; round++) {
        c.is_second = round > 0;
        for (int i = s->body; ok && i < s->carry; i++) ok = check_line(&c, &s->line[i]);
        ok = ok && check_carries(&c);
        if (ok && round == 0) end_round(&c);
    }
    c.is_second = false;
    for (int i = s->end; ok && i < s->n; i++) ok = check_line(&c, &s->line[i]);
    map_fini(&c.live);
    map_fini(&c.gone);
    map_fini(&c.outer);
    return ok;
}
