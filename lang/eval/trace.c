/* trace.c: call stacks for error messages. A worker's failure arrives after the calls that issued
 * the instruction have returned, so each instruction carries the number of its call stack. A stack
 * gets its number when a call issues its first instruction. Equal stacks share one number: a Link
 * is a call's position and function on top of another stack. The table is bounded. When it is full
 * it is emptied, and errors of older instructions have no stack. With --check-nan, the gradient
 * rule that runs counts as a call from the line of its operation.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/trace.h"
#include "lang/error/stack.h"
#include "lang/eval/builtin.h"
#include "lang/tensor/autograd.h"
#include "lang/value/frame.h"
#include "runtime/base/words.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS_MAX = 1 << 16, LINKS_FIRST = 256 };

typedef struct Link {
    const Node *call;
    const AstFn *fn;
    uint32_t up; /* number of the stack below; 0: file level */
    uint16_t op; /* set: not a call, but the gradient rule of an operation recorded at `made` */
    Span made;
} Link;

typedef struct Traces {
    Link *link;
    uint32_t n, cap, base; /* link[i] has the number base + i + 1                 */
    uint32_t *slot;        /* hash table of 2 * cap entries: i + 1 of a link, or 0 */
    Frame **open;          /* frames without a number, outermost last             */
    size_t cap_open;
} Traces;

static size_t place(const Traces *t, const Link *l) {
    uint64_t h = (uint64_t)(uintptr_t)l->call * UINT64_C(0x9e3779b97f4a7c15);
    h += ((uint64_t)l->op << 32 | l->made.line) * UINT64_C(0xff51afd7ed558ccd) + l->made.col;
    h = (h ^ (uint64_t)(uintptr_t)l->fn ^ l->up) * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(h >> 32) & (2 * t->cap - 1);
}

static bool is_same(const Link *a, const Link *b) {
    return a->call == b->call && a->fn == b->fn && a->up == b->up && a->op == b->op &&
           a->made.src == b->made.src && a->made.line == b->made.line && a->made.col == b->made.col;
}

static void put_slot(Traces *t, uint32_t i) {
    size_t k = place(t, &t->link[i]);
    while (t->slot[k]) k = (k + 1) & (2 * t->cap - 1);
    t->slot[k] = i + 1;
}

static void grow(Traces *t) {
    t->cap = t->cap ? 2 * t->cap : LINKS_FIRST;
    t->link = xrealloc(t->link, t->cap * sizeof *t->link);
    free(t->slot);
    t->slot = xcalloc(2 * (size_t)t->cap, sizeof *t->slot);
    for (uint32_t i = 0; i < t->n; i++) put_slot(t, i);
}

/* Finds or adds a link and returns its number. The caller checks LINKS_MAX. */
static uint32_t number(Traces *t, Link l) {
    if (t->cap == 0) grow(t);
    for (size_t k = place(t, &l); t->slot[k]; k = (k + 1) & (2 * t->cap - 1))
        if (is_same(&t->link[t->slot[k] - 1], &l)) return t->base + t->slot[k];
    if (t->n == t->cap) grow(t);
    t->link[t->n] = l;
    put_slot(t, t->n++);
    return t->base + t->n;
}

/* Removes all links. Returns false if the numbers are used up: no stack is recorded any more. */
static bool clear_links(Traces *t) {
    if (t->base > UINT32_MAX - 2 * LINKS_MAX) return false;
    t->base += t->n;
    t->n = 0;
    memset(t->slot, 0, 2 * (size_t)t->cap * sizeof *t->slot);
    return true;
}

/* Collects the frames without a number in t->open, outermost last. Returns how many there are; *up
 * is the number of the stack below them. */
static size_t collect_unnumbered(Traces *t, Frame *f, uint32_t *up) {
    size_t n = 0;
    for (; f->up && f->trace <= t->base; f = f->up) ARRAY_PUSH(t->open, n, t->cap_open, 64, f);
    *up = f->up ? f->trace : 0;
    return n;
}

static Traces *traces_of(Interp *in) {
    if (!in->traces) in->traces = xcalloc(1, sizeof *in->traces);
    return in->traces;
}

static uint32_t make_chain(Interp *in) {
    Traces *t = traces_of(in);
    uint32_t up;
    size_t n = collect_unnumbered(t, in->frame, &up);
    if (t->n + n > LINKS_MAX) {
        if (n > LINKS_MAX || !clear_links(t)) return 0;
        n = collect_unnumbered(t, in->frame, &up);
    }
    while (n-- > 0)
        t->open[n]->trace = up = number(t, (Link){t->open[n]->call, t->open[n]->fn, .up = up});
    return up;
}

static uint32_t calls_of(Interp *in) {
    const Frame *f = in->frame;
    if (!f || !f->up) return 0;
    if (in->traces && f->trace > in->traces->base) return f->trace;
    return make_chain(in);
}

/* The running gradient rule on top of the call stack. */
static uint32_t rule_calls(Interp *in) {
    Traces *t = traces_of(in);
    Tape *tape = in->tape;
    if (tape->rule_calls > t->base) return tape->rule_calls;
    if (t->n == LINKS_MAX && !clear_links(t)) return 0;
    uint32_t up = calls_of(in);
    if (t->n == LINKS_MAX) return up;
    return tape->rule_calls =
               number(t, (Link){.up = up, .op = tape->rule->op, .made = tape->rule->made});
}

uint32_t trace_calls(void *interp) {
    Interp *in = interp;
    bool is_rule = in->tape && in->tape->rule && stream_checks_nan(in->stream);
    return is_rule ? rule_calls(in) : calls_of(in);
}

uint64_t trace_count(const Interp *in) {
    const Traces *t = in->traces;
    return t ? (uint64_t)t->base + t->n : 0;
}

/* ---- frames of an error ---- */

/* "Net.forward"; for forward of a prelude layer only the module's name: "nn.Linear". */
static const char *frame_name(const AstFn *fn) {
    const Source *src = fn->at.src;
    Bytes b = {0};
    bool ours = src && src->is_prelude;
    if (fn->is_file) return src ? intern(src->name, strlen(src->name)) : "";
    if (!*fn->name) return "";
    if (ours && strchr(src->name, '/')) {
        bytes_add(&b, src->name, (size_t)(strrchr(src->name, '/') - src->name));
        for (size_t i = 0; i < b.n; i++)
            if (b.data[i] == '/') b.data[i] = '.';
        bytes_putc(&b, '.');
    }
    if (fn->owner) bytes_puts(&b, fn->owner);
    if (!fn->owner)
        bytes_puts(&b, fn->name);
    else if (!ours || strcmp(fn->name, "forward"))
        bytes_printf(&b, ".%s", fn->name);
    const char *name = intern(b.data, b.n);
    bytes_fini(&b);
    return name;
}

static void add_frame(const AstFn *fn, const Node *call, LangError *e) {
    bool ours = fn->at.src && fn->at.src->is_prelude;
    if (fn->is_file && ours) return; /* the program did not import the prelude's files */
    ErrorFrame f = {.name = frame_name(fn),
                    .call = call ? call->at : (Span){0},
                    .is_prelude = ours,
                    .is_file = fn->is_file};
    error_frame(e, &f);
}

static void add_rule(const Link *l, LangError *e) {
    char name[80];
    int n = snprintf(name, sizeof name, "the gradient of %s", op_info[l->op].name);
    bool is_inner = !e->n_frames; /* the failed operation is not one of the program's own */
    if (is_inner && strstr(e->what, "--check-nan"))
        error_hint(e, "%s", l->op == OP_SQRT ? "sqrt(x + 1e-8)" : "");
    error_frame(e, &(ErrorFrame){.name = intern(name, (size_t)n), .call = l->made});
}

/* ---- messages in terms of the function that the program called ---- */

/* What an index means in these functions of the prelude. */
typedef struct IndexWords {
    const char *inner, *noun, *hint;
    bool counts_size; /* without a given size it is that of the largest value */
} IndexWords;

static const IndexWords words[] = {
    {"_pick_logits", "class", "ignore_index=%lld leaves out targets of %lld", false},
    {"_pick_targets", "class", "ignore_index=%lld leaves out targets of %lld", false},
    {"multi_margin_loss", "class", NULL, false},
    {"embedding", "id", NULL, false},
    {"bincount", "value", NULL, true},
    {"one_hot", "class", NULL, true},
    {"_check_targets", "class", NULL, false},
    {"distributions.Categorical.log_prob", "class", NULL, false},
};

/* Rewrites "index 12 at position 3 is out of range for axis 0 of size 10" as "cross_entropy: class
 * 12 at position 3 is outside 0 ... 9". False if e has another message. */
static bool rewrite_index(LangError *e, const char *name, const IndexWords *w) {
    static const char middle[] = " is out of range for axis ";
    char text[sizeof e->what], *rest = strstr(e->what, middle), *position;
    long long size;
    if (!rest || strncmp(e->what, "index ", 6) ||
        sscanf(rest + sizeof middle - 1, "%*d of size %lld", &size) != 1)
        return false;
    long long value = strtoll(e->what + 6, &position, 10);
    int n = (int)(rest - position);
    if (value < 0 && w->counts_size)
        snprintf(text, sizeof text, "%s: %s %lld%.*s must be at least 0", name, w->noun, value, n,
                 position);
    else if (size > 0)
        snprintf(text, sizeof text, "%s: %s %lld%.*s is outside 0 ... %lld", name, w->noun, value,
                 n, position, size - 1);
    else
        snprintf(text, sizeof text, "%s: %s %lld%.*s is out of range: there are none", name,
                 w->noun, value, n, position);
    snprintf(e->what, sizeof e->what, "%s", text);
    e->hint[0] = 0;
    if (w->hint && value < 0) error_hint(e, w->hint, value, value);
    return true;
}

/* Rewrites "'x' must be a tensor, not list" as "linear: 'x' must be ...". If the argument is an
 * inner function's, the message names only its kind. False if e has another message. */
static bool rewrite_argument(LangError *e, const char *name, bool is_own) {
    static const char must[] = "' must be a tensor, not ";
    char text[sizeof e->what], *at = strstr(e->what, must);
    if (!at || *e->what != '\'' || !*name) return false;
    if (is_own)
        snprintf(text, sizeof text, "%s: %.900s", name, e->what);
    else
        snprintf(text, sizeof text, "%s takes a tensor, not %s", name, at + sizeof must - 1);
    snprintf(e->what, sizeof e->what, "%s", text);
    if (!is_own && *e->hint) error_hint(e, "tensor(x)");
    return true;
}

/* The advice of --check-nan about a nan inside these functions. */
static const char *const nan_hints[][2] = {
    {"mean", "the mean of no elements is nan"},
    {"std var", "more elements than the correction, or unbiased=false"},
    {"reciprocal", "reciprocal(x + 1e-8)"},
    {"logit", "logit(x, eps=1e-6)"},
};

/* Rewrites "non-finite values first appear in 'div'" as "... in 'std'" if the program called std,
 * of which the division is a step. The advice about a division of the program's own goes. */
static void rewrite_nan(LangError *e, const char *name) {
    static const char start[] = "non-finite values first appear in '";
    const char *op = e->what + sizeof start - 1, *end = strchr(op, '\'');
    char text[sizeof e->what];
    if (strncmp(e->what, start, sizeof start - 1) || !end || !*name) return;
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    size_t n = (size_t)(end - op);
    if (*last == '_' || (strlen(last) == n && !memcmp(last, op, n))) return;
    bool is_division = n == 3 && !memcmp(op, "div", 3) && strncmp(e->hint, "too large", 9);
    if (is_division) {
        const char *advice =
            words_row(nan_hints, sizeof nan_hints / sizeof *nan_hints, last, strlen(last));
        if (advice)
            error_hint(e, "%s", advice);
        else
            error_hint(e, "a division by 0 inside %s", last);
    }
    snprintf(text, sizeof text, "%s%s%s", start, name, end);
    snprintf(e->what, sizeof e->what, "%s", text);
}

/* rewrite_nan and rewrite_index for a builtin, which has no frame. */
static void rewrite_builtin(LangError *e) {
    size_t n;
    const char *s = span_text(e->at, &n);
    bool is_rule = e->n_frames && !strncmp(e->frame[0].name, "the gradient of", 15);
    const char *name = s && n ? intern(s, n) : NULL;
    if (name && !is_rule && builtin_find(name)) rewrite_nan(e, name);
    for (size_t k = 0; s && k < sizeof words / sizeof *words; k++)
        if (strlen(words[k].inner) == n && !memcmp(words[k].inner, s, n))
            rewrite_index(e, words[k].inner, &words[k]);
}

/* Rewrites an error inside the prelude in terms of the function that the program called: "solve:
 * the matrix is singular" becomes "inv: the matrix is singular". */
static void rewrite_for_caller(LangError *e) {
    int outer = -1;
    while (outer + 1 < e->n_frames && e->frame[outer + 1].is_prelude) outer++;
    if (e->kind != E_RUN) return;
    if (outer < 0) {
        rewrite_builtin(e);
        return;
    }
    char text[sizeof e->what];
    for (int i = 0; i <= outer; i++)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (!strcmp(e->frame[i].name, words[k].inner) &&
                rewrite_index(e, e->frame[outer].name, &words[k]))
                return;
    rewrite_nan(e, e->frame[outer].name);
    if (rewrite_argument(e, e->frame[outer].name, outer == 0)) return;
    size_t n = strspn(e->what, "abcdefghijklmnopqrstuvwxyz_0123456789");
    const char *name = e->frame[outer].name, *dot = strrchr(name, '.');
    bool is_op = n && !strncmp(e->what + n, ": ", 2) && builtin_find(intern(e->what, n));
    const char *last = dot ? dot + 1 : name;
    if (!is_op || !*name || *last == '_' || (strlen(last) == n && !memcmp(last, e->what, n)))
        return;
    snprintf(text, sizeof text, "%s%s", name, e->what + n);
    snprintf(e->what, sizeof e->what, "%s", text);
}

void trace_explain(Interp *in, uint32_t calls, LangError *e) {
    const Traces *t = in->traces;
    e->is_unfolded = in->has_full_trace;
    while (t && calls > t->base && calls <= t->base + t->n) {
        const Link *l = &t->link[calls - t->base - 1];
        if (l->fn)
            add_frame(l->fn, l->call, e);
        else
            add_rule(l, e);
        calls = l->up;
    }
    rewrite_for_caller(e);
}

void trace_leave(Interp *in, const AstFn *fn, const Node *call, LangError *e) {
    e->is_unfolded = in->has_full_trace;
    if (e->has_stack) return;
    bool is_first = e->n_frames == 0 || e->frame[e->n_frames - 1].is_prelude;
    bool is_own = !fn->is_file && !(fn->at.src && fn->at.src->is_prelude);
    if (is_first && is_own && in->keep_locals && in->frame->fn == fn)
        in->keep_locals(in, fn, in->frame->slot);
    add_frame(fn, call, e);
    if (is_first && fn->at.src && fn->at.src->is_prelude && call && call->at.src &&
        !call->at.src->is_prelude)
        rewrite_for_caller(e);
}

void trace_complete(const Interp *in, LangError *e) {
    for (const Frame *f = in->frame; f && f->up && !e->has_stack; f = f->up)
        add_frame(f->fn, f->call, e);
    e->has_stack = true;
}

void trace_fini(Interp *in) {
    Traces *t = in->traces;
    if (!t) return;
    free(t->link);
    free(t->slot);
    free(t->open);
    free(t);
    in->traces = NULL;
}
