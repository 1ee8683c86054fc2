/* step_write.c: writes a step: the lines before the body that it needs, the first round as the
 * body, and the lines after the last round whose operands are there.
 * SPDX-License-Identifier: MIT */
#include "lang/step/step_expr.h"
#include "lang/step/step_run.h"
#include "lang/step/step_text.h"
#include "lang/step/step_trace.h"
#include "lang/step/step_vary.h"
#include "runtime/inst/inst_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct Writer {
    Cut *c;
    Varying *vary;
    Bytes *out;
    Map used;         /* id in the step -> anything: lines after the body use it */
    Map fixed;        /* ids from before the body that keep their value in it, or after it */
    bool *needed;     /* per item before and after the body */
    bool *is_dropped; /* per item after the body */
} Writer;

static void *const yes = (void *)1;

/* ---- text ---- */

/* Text of an instruction: a $ in it is not a number of the round. */
static void put_text(Bytes *out, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '$')
            bytes_puts(out, "\\x24");
        else
            bytes_putc(out, s[i]);
    }
}

/* Writes an item with other operands: in, in the order of the text. offset: in the round, or -1.
 * input: NULL, or the name by which it may be bound. */
static void put_item(Writer *w, const Item *t, const uint64_t *in, int offset, const char *input) {
    size_t i = 0;
    bool quoted = false;
    int n_ids = 0, n_numbers = 0;
    Token token;
    while (step_token(t->text, t->plain, &i, &quoted, &token)) {
        if (token.kind == TOKEN_ID && n_ids++ >= t->n_out && n_ids <= t->n_out + t->n_in)
            bytes_printf(w->out, "t%llu", (unsigned long long)in[n_ids - 1 - t->n_out]);
        else if (token.kind == TOKEN_NUMBER && offset >= 0)
            varying_put_number(w->vary, offset, n_numbers++, w->out);
        else
            put_text(w->out, t->text + token.at, token.n);
    }
    if (input) bytes_printf(w->out, "input=%s ", input);
    bytes_add(w->out, t->text + t->plain, t->n - t->plain);
    bytes_putc(w->out, '\n');
}

static void put_free(Writer *w, const uint64_t *ids, int n) {
    for (int i = 0; i < n; i++) {
        if (i % MAX_IN == 0) bytes_puts(w->out, i ? "\nfree" : "free");
        bytes_printf(w->out, " t%llu", (unsigned long long)ids[i]);
    }
    if (n) bytes_putc(w->out, '\n');
}

/* ---- after the body ---- */

/* The id in the step of a value that a line after the body uses; false: it is gone by then. */
static bool value_after(Writer *w, uint64_t id, uint64_t *out) {
    Cut *c = w->c;
    const Item *t = cut_def(c, id);
    int round, offset;
    if (!t) return false;
    int index = (int)(t - c->item);
    if (index >= c->bound[c->rounds]) {
        *out = id;
        return !w->is_dropped[index];
    }
    if (index < c->bound[0]) {
        *out = id;
        return true;
    }
    if (!cut_find_made(c, id, &round, &offset)) return false;
    uint64_t made = cut_item(c, 0, offset)->out + (id - t->out);
    int back = c->rounds - 1 - round; /* 0: of the last round */
    for (int i = 0; i < c->n_carried; i++) {
        if (c->carried[i].made != made || back >= c->carried[i].distance) continue;
        *out = c->carried[i].slot[back];
        return true;
    }
    *out = made;
    return back == 0;
}

/* Drops the lines after the body whose operands are not there, and those that only such lines
 * need. */
static void choose_after(Writer *w) {
    Cut *c = w->c;
    int first = c->bound[c->rounds];
    uint64_t id;
    for (int i = first; i < c->n; i++) {
        Item *t = &c->item[i];
        bool is_of_rounds = t->is_effect && t->class_->rounds;
        w->is_dropped[i] = is_of_rounds;
        for (int k = 0; k < t->n_in && !w->is_dropped[i]; k++)
            w->is_dropped[i] = !value_after(w, t->in[k], &id);
        if (!w->is_dropped[i] || is_of_rounds || !t->is_effect) continue;
        bytes_printf(c->notes, "left out: %s at %s, which uses values of several rounds\n",
                     op_info[t->op].name, cut_where(c, t));
    }
    for (int i = c->n; i-- > first;) {
        Item *t = &c->item[i];
        w->needed[i] |= (t->is_effect || t->n_out == 0) && !w->is_dropped[i];
        if (!w->needed[i]) continue;
        for (int k = 0; k < t->n_in; k++) {
            const Item *def = cut_def(c, t->in[k]);
            if (!def || !value_after(w, t->in[k], &id)) continue;
            int index = (int)(def - c->item);
            if (index >= first || index < c->bound[0]) w->needed[index] = true;
            if (index < c->bound[0]) map_put(&w->fixed, t->in[k], yes);
        }
    }
}

/* The name of an output: the file's, without its folder and its extension. */
static void put_output_name(Writer *w, const Item *t) {
    const char *s = memchr(t->text, '"', t->plain), *end = s ? s + 1 : NULL;
    const char *stop = t->text + t->plain, *name = end;
    for (; end && end < stop && *end != '"'; end++)
        if (*end == '/') name = end + 1;
    size_t n = 0;
    char base[60];
    while (name && name + n < end && n < sizeof base && step_name_char(name[n])) n++;
    if (n == 0) name = "w", n = 1;
    memcpy(base, name, n);
    bytes_puts(w->out, "output ");
    bytes_puts(w->out, varying_output(w->vary, base, n));
}

/* A `save` becomes an output. */
static void put_output(Writer *w, const Item *t, const uint64_t *in) {
    Item rest = *t;
    const char *s = memchr(t->text, '"', t->plain), *stop = t->text + t->plain;
    for (s = s ? s + 1 : stop; s < stop && *s != '"'; s++) s += *s == '\\';
    put_output_name(w, t);
    rest.text = s < stop ? s + 1 : stop;
    rest.n = (size_t)(t->text + t->n - rest.text);
    rest.plain = (size_t)(stop - rest.text);
    put_item(w, &rest, in, -1, NULL);
}

/* Without a save, all that is carried is one output. */
static void put_whole_output(Writer *w) {
    const Cut *c = w->c;
    if (!c->n_carried) return;
    bytes_puts(w->out, "output w");
    for (int i = 0; i < c->n_carried; i++)
        bytes_printf(w->out, " value%d=t%llu", i, (unsigned long long)c->carried[i].slot[0]);
    bytes_putc(w->out, '\n');
}

static void put_after(Writer *w) {
    Cut *c = w->c;
    bool has_output = false;
    uint64_t *in = xmalloc(MAX_IN * sizeof *in);
    for (int i = c->bound[c->rounds]; i < c->n; i++) {
        const Item *t = &c->item[i];
        if (!w->needed[i]) continue;
        for (int k = 0; k < t->n_in; k++) value_after(w, t->in[k], &in[k]);
        if (t->op == OP_SAVE)
            put_output(w, t, in), has_output = true;
        else
            put_item(w, t, in, -1, NULL);
    }
    if (!has_output) put_whole_output(w);
    free(in);
}

/* ---- before the body ---- */

/* Which lines before the body are needed, and which of their values keep their ids. */
static void choose_before(Writer *w) {
    Cut *c = w->c;
    for (int k = 0, n = 0; k < c->period; k++) {
        const Item *t = cut_item(c, 0, k);
        for (int i = 0; i < t->n_in; i++, n++)
            if (c->from[n].kind == FROM_BEFORE) map_put(&w->fixed, c->from[n].id, yes);
    }
    for (int i = 0; i < c->n_carried; i++)
        for (int m = 0; m < c->carried[i].distance; m++) {
            const Item *def = cut_def(c, c->carried[i].init[m]);
            if (def) w->needed[def - c->item] = true;
        }
    for (MapItem it = {0}; map_next(&w->fixed, &it);) {
        const Item *def = cut_def(c, it.key);
        if (def) w->needed[def - c->item] = true;
    }
    for (int i = c->bound[0]; i-- > 0;) {
        Item *t = &c->item[i];
        bool is_root = t->n_out == 0 && !(t->is_effect && t->class_->rounds);
        w->needed[i] |= is_root;
        for (int k = 0; k < t->n_in && w->needed[i]; k++) {
            const Item *def = cut_def(c, t->in[k]);
            if (def) w->needed[def - c->item] = true;
        }
    }
}

/* The ids of carried values: those of their first values, unless these are needed besides or stand
 * for two; then copies. */
static void choose_slots(Writer *w) {
    Cut *c = w->c;
    Map taken = {0};
    for (int i = 0; i < c->n_carried; i++)
        for (int m = 0; m < c->carried[i].distance; m++) {
            Carried *v = &c->carried[i];
            v->is_copy[m] = map_get(&w->fixed, v->init[m]) || map_get(&taken, v->init[m]);
            v->slot[m] = v->is_copy[m] ? c->next++ : v->init[m];
            map_put(&taken, v->init[m], yes);
        }
    map_fini(&taken);
}

/* Copies of first values that are needed besides. */
static void put_copies(Writer *w) {
    const Cut *c = w->c;
    for (int i = 0; i < c->n_carried; i++)
        for (int m = 0; m < c->carried[i].distance; m++) {
            const Carried *v = &c->carried[i];
            const Item *t = cut_def(c, v->init[m]);
            const char *arrow = t ? memchr(t->text + t->plain, '[', t->n - t->plain) : NULL;
            const char *close = arrow ? memchr(arrow, ']', (size_t)(t->text + t->n - arrow)) : NULL;
            if (!v->is_copy[m] || !close) continue;
            bytes_printf(w->out, "t%llu = reshape t%llu %.*s\n", (unsigned long long)v->slot[m],
                         (unsigned long long)v->init[m], (int)(close + 1 - arrow), arrow);
        }
}

/* True if a tensor made before the body is data that a user may want to replace. */
static bool is_data(const Writer *w, const Item *t) {
    const char *shape = memchr(t->text + t->plain, '[', t->n - t->plain);
    bool is_read = t->op == OP_LOAD || t->op == OP_DATA;
    bool is_made = op_info[t->op].class_ == CLASS_SOURCE && map_get(&w->fixed, t->out);
    return t->n_out == 1 && (is_read || is_made) && shape && shape[1] != ']';
}

static void put_before(Writer *w) {
    Cut *c = w->c;
    Map last = {0};  /* id -> item that uses it last, + 1 */
    Map first = {0}; /* ids of first values of what is carried */
    uint64_t ids[MAX_OUT + MAX_IN];
    for (int i = 0; i < c->bound[0]; i++)
        for (int k = 0; k < c->item[i].n_in && w->needed[i]; k++)
            map_put(&last, c->item[i].in[k], (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < c->n_carried; i++)
        for (int m = 0; m < c->carried[i].distance; m++)
            map_put(&first, c->carried[i].init[m], yes);
    for (int i = 0; i < c->bound[0]; i++) {
        const Item *t = &c->item[i];
        if (!w->needed[i]) continue;
        put_item(w, t, t->in, -1, is_data(w, t) ? varying_name(w->vary, t) : NULL);
        int n = 0;
        for (int k = 0; k < t->n_in; k++) {
            bool is_last = map_get(&last, t->in[k]) == (void *)(uintptr_t)(i + 1);
            if (!is_last || map_get(&w->fixed, t->in[k]) || map_get(&first, t->in[k])) continue;
            map_put(&last, t->in[k], (void *)(uintptr_t)(c->n + 1)); /* once */
            ids[n++] = t->in[k];
        }
        put_free(w, ids, n);
    }
    map_fini(&last);
    map_fini(&first);
    put_copies(w);
}

/* ---- the body ---- */

/* The id in the step of operand n of the round. */
static uint64_t operand_id(const Cut *c, const From *f) {
    return f->kind == FROM_CARRY ? c->carried[f->carried].slot[f->distance - 1] : f->id;
}

/* The ids that a round may free after their last use: results that are neither carried nor used
 * after the body, and carried ones that no other round needs. */
static void find_frees(Writer *w, Map *last) {
    const Cut *c = w->c;
    for (int k = 0, n = 0; k < c->period; k++) {
        const Item *t = cut_item(c, 0, k);
        for (int i = 0; i < t->n_in; i++, n++)
            if (c->from[n].kind != FROM_BEFORE)
                map_put(last, operand_id(c, &c->from[n]), (void *)(uintptr_t)(k + 1));
        for (int i = 0; i < t->n_out; i++)
            map_put(last, t->out + (uint64_t)i, (void *)(uintptr_t)(k + 1));
    }
    for (int i = 0; i < c->n_carried; i++) {
        map_remove(last, c->carried[i].made);
        for (int m = 0; m + 1 < c->carried[i].distance; m++)
            map_remove(last, c->carried[i].slot[m]);
    }
    for (MapItem it = {0}; map_next(&w->used, &it);) {
        bool is_slot = false;
        for (int k = 0; k < c->n_carried; k++)
            for (int m = 0; m < c->carried[k].distance; m++)
                is_slot |= c->carried[k].slot[m] == it.key;
        if (!is_slot) map_remove(last, it.key);
    }
}

/* True if a user may want to bind what the item takes from data made before the body: a slice of
 * it, or rows by an index. */
static bool is_batch(const Cut *c, int k) {
    const Item *t = cut_item(c, 0, k);
    return (t->op == OP_SLICE || t->op == OP_INDEX) && t->n_in > 0 &&
           c->from[c->from_at[k]].kind == FROM_BEFORE &&
           memchr(t->text + t->plain, '>', t->n - t->plain);
}

static void put_body_item(Writer *w, int k, Map *last) {
    Cut *c = w->c;
    const Item *t = cut_item(c, 0, k);
    uint64_t *ids = xmalloc((MAX_IN + MAX_OUT) * sizeof *ids);
    int n = 0;
    for (int i = c->seq[c->begin + k]; k > 0 && i > c->seq[c->begin + k - 1]; i--) {
        if (!c->item[i].has_edge) continue;
        bytes_puts(w->out, "edge\n");
        break;
    }
    for (int i = 0; i < t->n_in; i++) ids[i] = operand_id(c, &c->from[c->from_at[k] + i]);
    if (!varying_put_input(w->vary, k, w->out))
        put_item(w, t, ids, k, is_batch(c, k) ? varying_name(w->vary, t) : NULL);
    for (int i = 0; i < t->n_out; i++) ids[t->n_in + i] = t->out + (uint64_t)i;
    for (int i = 0; i < t->n_in + t->n_out; i++) {
        if (map_get(last, ids[i]) != (void *)(uintptr_t)(k + 1)) continue;
        map_remove(last, ids[i]);
        ids[n++] = ids[i];
    }
    put_free(w, ids, n);
    free(ids);
}

static void put_body(Writer *w) {
    Cut *c = w->c;
    Map last = {0}; /* id -> position of its last use, + 1 */
    find_frees(w, &last);
    for (int k = 0; k < c->period; k++) put_body_item(w, k, &last);
    map_fini(&last);
    for (int i = 0; i < c->n_carried; i++)
        for (int m = 0; m < c->carried[i].distance; m++)
            bytes_printf(w->out, "carry t%llu -> t%llu\n",
                         (unsigned long long)(m ? c->carried[i].slot[m - 1] : c->carried[i].made),
                         (unsigned long long)c->carried[i].slot[m]);
}

/* ---- the step ---- */

static void put_header(Writer *w) {
    const Source *src = w->c->run;
    size_t n = strcspn(src->text, "\n");
    const char *rest = src->text + 5; /* after "gti 1" */
    bytes_puts(w->out, "gti 1 kind=step");
    if (n > 5) bytes_add(w->out, rest, n - 5);
    bytes_putc(w->out, '\n');
}

static bool cut_write(Cut *c, Bytes *out) {
    Writer w = {.c = c, .out = out};
    Bytes body = {0};
    uint64_t id;
    w.needed = xcalloc((size_t)c->n + 1, sizeof *w.needed);
    w.is_dropped = xcalloc((size_t)c->n + 1, sizeof *w.is_dropped);
    w.vary = varying_new(c);
    choose_after(&w);
    choose_before(&w);
    choose_slots(&w);
    for (int i = c->bound[c->rounds]; i < c->n; i++)
        for (int k = 0; k < c->item[i].n_in && w.needed[i]; k++)
            if (value_after(&w, c->item[i].in[k], &id)) map_put(&w.used, id, yes);
    put_header(&w);
    put_before(&w);
    bytes_printf(out, "repeat %d\n", c->rounds);
    w.out = &body;
    put_body(&w);
    varying_put_inputs(w.vary, out);
    bytes_add(out, body.data, body.n);
    w.out = out;
    bytes_puts(out, "end\n");
    put_after(&w);
    bytes_fini(&body);
    varying_free(&w.vary);
    map_fini(&w.used);
    map_fini(&w.fixed);
    free(w.needed);
    free(w.is_dropped);
    return true;
}

bool step_cut(const Source *run, Bytes *out, Bytes *notes, LangError *e) {
    Cut c = {.run = run, .notes = notes, .e = e};
    bool ok = cut_read(&c);
    if (ok) cut_keep(&c);
    ok = ok && cut_find_loop(&c);
    if (ok) cut_add_effects(&c);
    ok = ok && cut_trace(&c) && cut_write(&c, out);
    if (!ok && e->kind == E_NONE) e->kind = E_RUN;
    cut_fini(&c);
    return ok;
}
