/* signal.c: the open scopes of the running program. Entering and leaving a scope are instructions
 * of the stream; the dispatcher decides what a scope does. The client only needs a label: the
 * signal in which gradients of the operations recorded now will run. It is that of the clause
 * `backward b`, else of the configuration, else the scope's own name. The configuration is in
 * signal_config.c.
 * SPDX-License-Identifier: MIT */
#include "lang/tensor/signal.h"
#include "lang/tensor/tensor.h"
#include <stdlib.h>
#include <string.h>

Signals *signal_state(Interp *in) {
    if (!in->signals) in->signals = xcalloc(1, sizeof *in->signals);
    return in->signals;
}

static uint32_t number_of(Signals *s, const char *label) {
    uintptr_t n = (uintptr_t)map_get(&s->number, (uint64_t)(uintptr_t)label);
    if (n) return (uint32_t)n;
    ARRAY_PUSH(s->label, s->n_labels, s->cap_labels, 16, label);
    map_put(&s->number, (uint64_t)(uintptr_t)label, (void *)(uintptr_t)s->n_labels);
    return s->n_labels;
}

static Attr text_attr(AttrKey key, const char *s) {
    return (Attr){.key = (uint8_t)key, .n = (uint32_t)strlen(s), .str = s};
}

static void emit(Interp *in, Op op, const char *label, const char *backward) {
    Attr attr[2] = {text_attr(ATTR_NAME, label)};
    Inst inst = {.op = op, .n_attr = 1, .attr = attr};
    Span at = interp_span(in);
    if (backward) attr[inst.n_attr++] = text_attr(ATTR_BACKWARD, backward);
    if (at.src) inst.pos = (SrcPos){stream_file(in->stream, at.src), at.col, at.line};
    stream_control(in->stream, &inst);
}

bool signal_open(Interp *in, const char *label, const char *backward, LangError *e) {
    Signals *s = signal_state(in);
    if (s->depth >= 1000) return error_set(e, "signals nest deeper than 1000");
    ARRAY_ROOM(s->scope, s->depth, s->cap, 16);
    struct Scope *sc = &s->scope[s->depth++];
    const SignalConfig *config = backward ? NULL : config_find(&s->config, label, strlen(label));
    const char *back = config ? signal_backward_name(config) : label;
    sc->label = label;
    sc->at = interp_span(in);
    sc->max_rank = 0;
    sc->backward = number_of(s, backward ? backward : intern(back, strlen(back)));
    emit(in, OP_SIGNAL_ENTER, label, backward);
    return true;
}

/* Interns a name and checks it against the configuration. by: the signal whose configuration names
 * it, or NULL: the program does. */
static bool check_label(Interp *in, const char *s, size_t n, const char *by, const char **out,
                        LangError *e) {
    if (!n || memchr(s, 0, n) || memchr(s, '\n', n))
        return error_set(e, "a signal needs a name of one line");
    if (n > MAX_SIGNAL) return error_set(e, "a signal's name is longer than %d bytes", MAX_SIGNAL);
    *out = intern(s, n);
    return signal_check(in, *out, by, e);
}

bool signal_enter(Interp *in, const char *label, size_t n, const char *backward, size_t n_backward,
                  LangError *e) {
    const char *back = NULL, *of_config;
    TRY(check_label(in, label, n, NULL, &label, e));
    if (n_backward) {
        TRY(check_label(in, backward, n_backward, NULL, &back, e));
    } else {
        const SignalConfig *c = config_find(&signal_state(in)->config, label, n);
        if (c && c->backward)
            TRY(check_label(in, c->backward, strlen(c->backward), label, &of_config, e));
    }
    return signal_open(in, label, back, e);
}

void signal_made(Interp *in, int rank) {
    Signals *s = in->signals;
    if (!s->depth) return;
    struct Scope *sc = &s->scope[s->depth - 1];
    if (rank > sc->max_rank) sc->max_rank = rank;
}

/* The innermost scope ends: warns if no tensor in it had its axis, which is most likely a
 * mistake. */
static void check_axis(Interp *in) {
    Signals *s = in->signals;
    const struct Scope *sc = &s->scope[s->depth - 1];
    uint64_t key = (uint64_t)(uintptr_t)sc->label;
    int most = sc->max_rank;
    if (s->depth > 1 && s->scope[s->depth - 2].max_rank < most)
        s->scope[s->depth - 2].max_rank = most;
    const SignalConfig *c = config_find(&s->config, sc->label, strlen(sc->label));
    if (!c || !(c->has & HAS_AXIS) || c->replicated || most < 1) return;
    bool has = c->axis < 0 ? -c->axis <= most : c->axis < most;
    bool is_reported = map_get(&s->axis_reported, key) != NULL;
    map_put(&s->axis_reported, key, s);
    if (has || is_reported) return;
    LangError w = {0};
    error_at(&w, sc->at, "signal '%.100s': no tensor in it has axis %d; all are whole", sc->label,
             c->axis);
    if (most == 1)
        error_hint(&w, "they have one axis: 0");
    else
        error_hint(&w, "they have at most %d axes: 0 to %d", most, most - 1);
    interp_warn(in, &w);
}

bool signal_exit(Interp *in, const char *label, size_t n, LangError *e) {
    Signals *s = signal_state(in);
    if (!s->depth) return error_set(e, "no signal is open");
    const char *open = s->scope[s->depth - 1].label;
    if (n && (strlen(open) != n || memcmp(open, label, n)))
        return error_set(e, "signal '%.*s' is not the innermost one: '%s' is", (int)n, label, open);
    check_axis(in);
    s->depth--;
    emit(in, OP_SIGNAL_EXIT, open, NULL);
    return true;
}

int signal_depth(const Interp *in) { return in->signals ? in->signals->depth : 0; }

const char *signal_innermost(const Interp *in) {
    int depth = signal_depth(in);
    return depth ? in->signals->scope[depth - 1].label : NULL;
}

void signal_warn_open(Interp *in, int depth) {
    for (int i = depth; i < signal_depth(in); i++) {
        const struct Scope *sc = &in->signals->scope[i];
        LangError w = {0};
        error_at(&w, sc->at, "signal '%.100s' ends with this file, which is imported", sc->label);
        error_hint(&w, "enter it in the file that needs it: signal %.100s { ... }", sc->label);
        interp_warn(in, &w);
    }
}

void signal_unwind(Interp *in, int depth) {
    while (signal_depth(in) > depth) {
        Signals *s = in->signals;
        emit(in, OP_SIGNAL_EXIT, s->scope[--s->depth].label, NULL);
    }
}

uint32_t signal_backward(const Interp *in) {
    const Signals *s = in->signals;
    return s && s->depth ? s->scope[s->depth - 1].backward : 0;
}

const char *signal_label(const Interp *in, uint32_t number) {
    const Signals *s = in->signals;
    return s && number > 0 && number <= s->n_labels ? s->label[number - 1] : NULL;
}

void signal_fini(Interp *in) {
    Signals *s = in->signals;
    if (!s) return;
    free(s->scope);
    free(s->label);
    map_fini(&s->number);
    map_fini(&s->checked);
    map_fini(&s->axis_reported);
    config_fini(&s->config);
    free(s->source);
    free(s);
    in->signals = NULL;
}

/* ---- signal.tensor ---- */

bool signal_tensor(Interp *in, Tensor *x, const Str *name, const Str *back, Tensor **out,
                   LangError *e) {
    const char *label, *backward = NULL;
    TRY(check_label(in, name->s, name->n, NULL, &label, e));
    if (back) {
        TRY(check_label(in, back->s, back->n, NULL, &backward, e));
    } else {
        const SignalConfig *c = config_find(&signal_state(in)->config, label, strlen(label));
        if (c && c->backward)
            TRY(check_label(in, c->backward, strlen(c->backward), label, &backward, e));
    }
    Attr attr[2] = {text_attr(ATTR_NAME, label)};
    if (backward) attr[1] = text_attr(ATTR_BACKWARD, backward);
    Arg arg = arg_tensor(x);
    return tensor_op(in, OP_SHARD, &arg, 1, attr, 1 + (backward != NULL), out, e);
}
