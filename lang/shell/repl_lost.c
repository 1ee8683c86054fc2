/* repl_lost.c: see repl_lost.h. Only a worker knows whether a tensor has a value, so each tensor is
 * asked for by an effect; the effect of a poisoned tensor is dropped without being carried out.
 * Answers may arrive long after the prompt is back, so the record is reference-counted: the prompt
 * and each pending effect hold it.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/import.h"
#include "lang/value/mapv.h"
#include "lang/shell/repl_lost.h"
#include "lang/tensor/tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8 };

typedef struct Variable {
    const char *name; /* interned */
    int asked, alive; /* counts of its tensors */
} Variable;

struct Lost {
    int refs, pending; /* pending: effects in flight; each holds a reference */
    bool is_answered;  /* the cancel is; the effects were sent */
    uint64_t seq;      /* the cancel's: instructions before it are done, or cancelled */
    int n;
    Variable *var;
};

typedef struct Question {
    Lost *lost;
    int i;
} Question;

static bool on_value(void *ctx, const Reply *r, Err *err) {
    Question *q = ctx;
    q->lost->var[q->i].alive++;
    return true;
}

static void on_end(void *ctx) {
    Question *q = ctx;
    Lost *l = q->lost;
    l->pending--;
    lost_unref(&l);
    free(q);
}

static void ask(Interp *in, Value v, Lost *l, int i, int depth) {
    Value key, item;
    if (v.kind == V_TENSOR) {
        LangError e = {0};
        Attr attr[2] = {attr_int(ATTR_EDGE, 1), attr_int(ATTR_THRESHOLD, 0)};
        Question *q = xmalloc(sizeof *q);
        *q = (Question){l, i};
        Effect ef = {.op = OP_PEEK, .attr = attr, .n_attr = 2, .handle = &v.tensor->handle, .n = 1};
        ef.done = on_value;
        ef.drop = on_end;
        ef.ctx = q;
        ef.may_be_lost = true;
        l->refs++;
        l->pending++;
        l->var[i].asked++;
        stream_effect(in->stream, &ef, (Span){0}, &e);
    }
    if (depth == MAX_DEPTH) return;
    if (v.kind == V_OBJECT) v = (Value){.kind = V_MAP, .map = object_fields(v.obj)};
    for (size_t k = 0; value_kid(v, k, &key, &item); k++) ask(in, item, l, i, depth + 1);
}

Lost *lost_begin(Interp *in) {
    Lost *l = xcalloc(1, sizeof *l);
    l->refs = 1;
    stream_cancel(in->stream);
    l->seq = stream_count(in->stream);
    return l;
}

bool lost_step(Lost *l, Interp *in, LangError *e) {
    const char *name;
    Value v;
    int n = 0;
    if (l->is_answered) return false;
    /* All failures have arrived then. Before they are taken, the effects that follow do not run. */
    bool is_over = stream_done(in->stream) >= l->seq;
    if (stream_take_error(in->stream, e)) return true;
    if (!is_over) return false;
    l->is_answered = true;
    while (interp_global(in, (size_t)n, &name, &v)) n++;
    l->var = xcalloc((size_t)n + 1, sizeof l->var[0]);
    l->n = n;
    for (int i = 0; i < n && interp_global(in, (size_t)i, &name, &v); i++) {
        l->var[i].name = name;
        if (strcmp(name, "_")) ask(in, v, l, i, 0); /* `_` is ans */
    }
    stream_flush(in->stream);
    return false;
}

bool lost_is_void(const Lost *l, const Interp *in) {
    return stream_is_lost(in->stream) || stream_count(in->stream) < l->seq;
}

bool lost_is_done(const Lost *l) { return l->is_answered && l->pending == 0; }

void lost_print(const Lost *l, const Interp *in) {
    const char *what = stream_cancelled(in->stream);
    fputs(*what ? what : "interrupted", stderr);
    const char *before = "; lost: ";
    for (int i = 0; i < l->n && lost_is_done(l); i++) {
        if (l->var[i].alive == l->var[i].asked) continue;
        fprintf(stderr, "%s%s", before, l->var[i].name);
        before = ", ";
    }
    fputs(lost_is_done(l) ? "\n" : "; what has begun is still running\n", stderr);
}

void lost_unref(Lost **l) {
    if (*l && --(*l)->refs == 0) {
        free((*l)->var);
        free(*l);
    }
    *l = NULL;
}
