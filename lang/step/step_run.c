/* step_run.c: reads the instructions of a run, and chooses those that a step needs.
 * SPDX-License-Identifier: MIT */
#include "lang/step/step_run.h"
#include "lang/step/step_text.h"

#include <stdlib.h>
#include <string.h>

const char *cut_where(Cut *c, const Item *t) {
    const char *at = memchr(t->text + t->plain, '@', t->n - t->plain);
    if (!at) return arena_printf(&c->arena, "line %u of the instructions", t->line);
    return arena_strndup(&c->arena, at + 1, (size_t)(t->text + t->n - at - 1));
}

const Item *cut_def(const Cut *c, uint64_t id) {
    uintptr_t k = (uintptr_t)map_get(&c->def, id);
    return k ? &c->item[k - 1] : NULL;
}

/* ---- classes ---- */

static uint64_t mix(uint64_t h, const char *s, size_t n) { return hash_bytes(s, n, h); }

/* The part that the class depends on: of `data` what comes before the elements, of `load`
 * nothing. */
static size_t class_head(const Item *t) {
    if (t->op == OP_LOAD) return 0;
    if (t->op != OP_DATA) return t->plain;
    const char *close = memchr(t->text, ']', t->plain);
    return close ? (size_t)(close - t->text) + 1 : t->plain;
}

static void add_class(Cut *c, Item *t) {
    uint64_t h = (uint64_t)t->op + 1;
    size_t i = 0, n = class_head(t);
    bool quoted = false;
    Token token;
    while (step_token(t->text, n, &i, &quoted, &token)) {
        bool is_text = token.kind == TOKEN_TEXT || t->op == OP_DATA;
        if (token.kind == TOKEN_ID)
            h = mix(h, "t", 1);
        else
            h = is_text ? mix(h, t->text + token.at, token.n) : mix(h, "0", 1);
    }
    const char *at = memchr(t->text + t->plain, '@', t->n - t->plain);
    t->loose = at ? mix(h, at, (size_t)(t->text + t->n - at)) : h;
    h = mix(h, t->text + t->plain, t->n - t->plain);
    Class *k = map_get(&c->class_, h);
    if (!k) {
        k = arena_zalloc(&c->arena, sizeof *k);
        k->hash = h;
        map_put(&c->class_, h, k);
    }
    k->count++;
    t->class_ = k;
}

/* ---- items ---- */

static void add_item(Cut *c, const Item *t, const InstLine *line) {
    const Inst *inst = &line->inst;
    ARRAY_ROOM(c->item, c->n, c->cap, 1024);
    Item *item = &c->item[c->n];
    *item = *t;
    item->op = inst->op;
    item->n_out = inst->n_out;
    item->out = inst->n_out ? inst->out[0] : 0;
    item->is_effect = op_is_effect(inst->op) || inst->op == OP_NOTE;
    item->is_update = inst_bool(inst, ATTR_KEEP, false);
    uint64_t *in = arena_alloc(&c->arena, inst->n_in * sizeof *in);
    for (int i = 0; i < inst->n_in; i++)
        if (inst->in[i].kind == IN_TENSOR) in[item->n_in++] = inst->in[i].id;
    item->in = in;
    add_class(c, item);
    c->n++;
    for (int i = 0; i < inst->n_out; i++) {
        map_put(&c->def, inst->out[i], (void *)(uintptr_t)c->n);
        if (inst->out[i] >= c->next) c->next = inst->out[i] + 1;
    }
}

bool cut_read(Cut *c) {
    const Source *src = c->run;
    const char *at = src->text, *end = src->text + src->n;
    bool has_edge = false, ok = true;
    Arena arena = {0};
    InstLine line;
    Err err = {0};
    for (uint32_t number = 1; ok && at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        arena_reset(&arena);
        ok = inst_parse(at, n, &arena, &line, &err);
        if (ok && !line.is_empty && line.inst.op == OP_EDGE) has_edge = true;
        bool is_item = ok && !line.is_empty && line.inst.op != OP_EDGE && line.inst.op != OP_FREE &&
                       line.inst.op != OP_VALUE;
        if (is_item) {
            Item t = {.text = at,
                      .n = n,
                      .plain = step_plain(at, n),
                      .line = number,
                      .has_edge = has_edge};
            add_item(c, &t, &line);
            has_edge = false;
        }
        at += n + 1;
    }
    arena_fini(&arena);
    return ok || error_set(c->e, "a line of the run cannot be read: %s", err.text);
}

void cut_fini(Cut *c) {
    free(c->item);
    free(c->seq);
    free(c->bound_all);
    free(c->position);
    free(c->from);
    free(c->from_at);
    free(c->carried);
    map_fini(&c->class_);
    map_fini(&c->def);
    arena_fini(&c->arena);
}

/* ---- what is kept ---- */

static bool is_root(const Item *t, bool has_updates) {
    if (t->is_effect) return t->class_->is_wanted || t->op == OP_SAVE;
    return t->is_update || (!has_updates && t->n_out);
}

/* Marks the items whose results nothing uses: neither an item that a round needs, nor an effect
 * before the last update. */
static void find_unused(const Cut *c, int last_update, bool *is_unused) {
    bool *is_shown = xcalloc((size_t)c->n + 1, 1); /* such an effect needs it */
    for (int i = 0; i < c->n; i++) is_unused[i] = true;
    for (int i = c->n; i-- > 0;) {
        const Item *t = &c->item[i];
        bool shows = is_shown[i] || (t->is_effect && i < last_update);
        if (!shows && (t->is_effect || !t->class_->is_needed)) continue;
        for (int k = 0; k < t->n_in; k++) {
            uintptr_t def = (uintptr_t)map_get(&c->def, t->in[k]);
            if (!def) continue;
            is_unused[def - 1] = false;
            is_shown[def - 1] |= shows;
        }
    }
    free(is_shown);
}

/* Marks an item and what it needs. true: so a class is needed now that was not before. */
static bool need(Cut *c, bool *needed, int i) {
    Item *t = &c->item[i];
    bool was = t->is_effect || t->class_->is_needed;
    needed[i] = true;
    for (int k = 0; k < t->n_in; k++) {
        uintptr_t def = (uintptr_t)map_get(&c->def, t->in[k]);
        if (def) needed[def - 1] = true;
    }
    if (!t->is_effect) t->class_->is_needed = true;
    /* What only effects need of a round, each round makes. */
    bool in_rounds = c->bound && i >= c->bound[0] && i < c->bound[c->rounds];
    if (in_rounds && !t->is_effect && !t->class_->is_of_training) t->class_->is_extra = true;
    return !was;
}

void cut_keep(Cut *c) {
    bool changed = true, is_first = !c->bound;
    bool *needed = xcalloc((size_t)c->n + 1, 1), *is_unused = xcalloc((size_t)c->n + 1, 1);
    int last_update = -1;
    for (int i = 0; i < c->n; i++)
        if (c->item[i].is_update) last_update = i;
    for (int i = 0; i < c->n; i++)
        c->item[i].class_->is_needed = c->item[i].class_->is_extra = false;
    /* The last round makes state that nobody reads any more, as the rounds before did: so that it
     * looks like them, it is needed, too. That may need further classes, so this is repeated. */
    for (int pass = 0; changed; pass++) {
        changed = false;
        if (pass) find_unused(c, last_update, is_unused);
        for (int i = c->n; i-- > 0;) {
            const Item *t = &c->item[i];
            bool is = needed[i] || is_root(t, last_update >= 0) || t->class_->is_extra ||
                      (!t->is_effect && is_unused[i] && t->class_->is_needed);
            if (is && need(c, needed, i)) changed = true;
        }
        changed |= pass == 0;
    }
    for (int i = 0; i < c->n && is_first; i++)
        c->item[i].class_->is_of_training = c->item[i].class_->is_needed;
    free(is_unused);
    c->seq = xrealloc(c->seq, ((size_t)c->n + 1) * sizeof *c->seq);
    c->n_seq = 0;
    for (int i = 0; i < c->n; i++) {
        Item *t = &c->item[i];
        bool is_control = !t->is_effect && t->n_out == 0;
        t->is_kept = t->is_effect ? t->class_->is_wanted : is_control || needed[i];
        if (t->is_kept) c->seq[c->n_seq++] = i;
    }
    free(needed);
}
