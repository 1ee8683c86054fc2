/* step_trace.c: what belongs to a step besides the instructions that train, and where the operands
 * of a round come from: from before the body, from the round itself, or from an earlier round.
 * SPDX-License-Identifier: MIT */
#include "lang/step/step_trace.h"
#include "lang/step/step_run.h"

#include <stdlib.h>
#include <string.h>

static const char *op_name(const Item *t) { return op_info[t->op].name; }

/* ---- effects ---- */

/* Lays the rounds out by their first items: seq, begin and period. false: the rounds differ. */
static bool lay_out(Cut *c) {
    int n = 0, from = 0;
    cut_keep(c);
    while (from < c->n_seq && c->seq[from] < c->bound[0]) from++;
    for (int k = from; k < c->n_seq && c->seq[k] < c->bound[1]; k++) n++;
    for (int k = from, round = 0; round < c->rounds; round++, k += n) {
        if (k + n > c->n_seq || (n && c->seq[k + n - 1] >= c->bound[round + 1]) ||
            (k + n < c->n_seq && c->seq[k + n] < c->bound[round + 1]))
            return false;
        for (int i = 0; i < n; i++)
            if (c->item[c->seq[k + i]].class_ != c->item[c->seq[from + i]].class_) return false;
    }
    c->begin = from, c->period = n;
    return true;
}

/* Wants the effects after the last round, and those that come equally often in every round. */
static void want(Cut *c, bool of_rounds) {
    Map count = {0}; /* hash of a class -> its effects in the rounds */
    for (int i = 0; i < c->n; i++) c->item[i].class_->is_wanted = false;
    for (int i = c->bound[c->rounds]; i < c->n; i++)
        if (c->item[i].is_effect && !c->item[i].class_->rounds) c->item[i].class_->is_wanted = true;
    for (int i = c->bound[0]; i < c->bound[c->rounds] && of_rounds; i++) {
        if (!c->item[i].is_effect) continue;
        uint64_t k = c->item[i].class_->hash;
        uintptr_t n = (uintptr_t)map_get(&count, k) + 1;
        map_put(&count, k, (void *)n);
        if (n % (uintptr_t)c->rounds == 0) c->item[i].class_->is_wanted = true;
    }
    for (int i = c->bound[0]; i < c->bound[c->rounds] && of_rounds; i++)
        if (c->item[i].is_effect &&
            (uintptr_t)map_get(&count, c->item[i].class_->hash) % (uintptr_t)c->rounds)
            c->item[i].class_->is_wanted = false;
    map_fini(&count);
}

static void note_left_out(Cut *c) {
    Map noted = {0}; /* places */
    for (int i = c->bound[0]; i < c->bound[c->rounds]; i++) {
        Item *t = &c->item[i];
        if (!t->is_effect || t->is_kept) continue;
        const char *where = cut_where(c, t);
        uint64_t key = hash_bytes(where, strlen(where), (uint64_t)t->op + 1);
        if (map_get(&noted, key)) continue;
        map_put(&noted, key, t);
        bytes_printf(c->notes, "left out: %s at %s, which is not the same in every round\n",
                     op_name(t), where);
    }
    map_fini(&noted);
}

void cut_add_effects(Cut *c) {
    bool ok = false;
    for (int try = 0; try < 3 && !ok; try++) {
        if (try < 2) {
            want(c, try == 0);
        } else {
            for (int i = 0; i < c->n; i++) c->item[i].class_->is_wanted = false;
        }
        ok = lay_out(c);
    }
    note_left_out(c);
    free(c->position);
    c->position = xcalloc((size_t)c->n + 1, sizeof *c->position);
    for (int k = 0; k < c->n_seq; k++) c->position[c->seq[k]] = k + 1;
}

/* ---- operands ---- */

bool cut_find_made(const Cut *c, uint64_t id, int *round, int *offset) {
    const Item *t = cut_def(c, id);
    int k = t ? c->position[t - c->item] - 1 : -1;
    if (k < c->begin || k >= c->begin + c->rounds * c->period) return false;
    *round = (k - c->begin) / c->period;
    *offset = (k - c->begin) % c->period;
    return true;
}

/* The values from before the first round that stand for earlier rounds. */
static bool add_init(Cut *c, const Item *user, int carried, int back, uint64_t id) {
    Carried *v = &c->carried[carried];
    if (v->init[back - 1] && v->init[back - 1] != id + 1)
        return error_set(c->e, "%s at %s has another operand in the first rounds than later",
                         op_name(user), cut_where(c, user));
    v->init[back - 1] = id + 1; /* 0: not known yet */
    if (back > v->distance) v->distance = back;
    return true;
}

static int carried_of(Cut *c, uint64_t made) {
    for (int i = 0; i < c->n_carried; i++)
        if (c->carried[i].made == made) return i;
    c->carried = xrealloc(c->carried, (size_t)(c->n_carried + 1) * sizeof *c->carried);
    c->carried[c->n_carried] = (Carried){.made = made};
    return c->n_carried++;
}

static bool other_operand(Cut *c, const Item *t, int k) {
    error_set(c->e, "operand %d of %s at %s comes from another place in some rounds", k + 1,
              op_name(t), cut_where(c, t));
    return error_hint(c->e, "if it is one tensor of a list: put them into one tensor, and take a "
                            "slice of it in each round");
}

/* Operand k of the item at `offset`: the same place in all rounds. */
static bool trace_operand(Cut *c, int offset, int k, From *out) {
    Item *last = cut_item(c, c->rounds - 1, offset), *first = cut_item(c, 0, offset);
    int round, made_at, r, o;
    if (!cut_find_made(c, last->in[k], &round, &made_at)) {
        for (r = 0; r < c->rounds; r++)
            if (cut_item(c, r, offset)->in[k] != first->in[k]) return other_operand(c, last, k);
        *out = (From){.kind = FROM_BEFORE, .id = first->in[k]};
        return true;
    }
    const Item *maker = cut_def(c, last->in[k]);
    uint64_t result = last->in[k] - maker->out, made = cut_item(c, 0, made_at)->out + result;
    int distance = c->rounds - 1 - round;
    *out = (From){.kind = FROM_ROUND, .id = made, .distance = distance};
    if (distance > DISTANCE_MAX) return other_operand(c, last, k);
    if (distance) out->kind = FROM_CARRY, out->carried = carried_of(c, made);
    for (r = 0; r < c->rounds; r++) {
        uint64_t id = cut_item(c, r, offset)->in[k];
        int from;
        if (cut_find_made(c, id, &from, &o)) {
            if (r - from != distance || o != made_at || id - cut_item(c, from, o)->out != result)
                return other_operand(c, last, k);
        } else if (r >= distance) {
            return other_operand(c, last, k);
        } else {
            TRY(add_init(c, last, out->carried, distance - r, id));
        }
    }
    return true;
}

/* Checks the operands of all items of a round. */
static bool trace_round(Cut *c) {
    int n = 0;
    c->n_carried = 0;
    for (int k = 0; k < c->period; k++) n += cut_item(c, 0, k)->n_in;
    free(c->from), free(c->from_at);
    c->from = xcalloc((size_t)n + 1, sizeof *c->from);
    c->from_at = xcalloc((size_t)c->period + 1, sizeof *c->from_at);
    n = 0;
    for (int k = 0; k < c->period; k++) {
        c->from_at[k] = n;
        for (int i = 0; i < cut_item(c, 0, k)->n_in; i++)
            TRY(trace_operand(c, k, i, &c->from[n++]));
    }
    for (int i = 0; i < c->n_carried; i++) /* all between have a first value */
        for (int m = 0; m < c->carried[i].distance; m++) {
            if (!c->carried[i].init[m])
                return error_set(c->e,
                                 "a value is used %d rounds later, but not in the rounds between",
                                 c->carried[i].distance);
            c->carried[i].init[m]--;
        }
    return true;
}

bool cut_trace(Cut *c) {
    bool ok = false;
    /* The first rounds may begin otherwise: they become part of what comes before. */
    for (int peel = 0; !ok && peel <= PEEL_MAX && c->rounds >= ROUNDS_MIN; peel++) {
        if (peel) *c->e = (LangError){0};
        ok = trace_round(c);
        if (!ok && c->rounds > ROUNDS_MIN && peel < PEEL_MAX)
            c->begin += c->period, c->rounds--, c->bound++;
        else
            break;
    }
    return ok;
}
