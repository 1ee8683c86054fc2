/* builtin_system.c: exit, time, sync, and random numbers of the host. These come from the same
 * Philox generator as the workers' and repeat with the seed. What workers answer: builtin_answer.c.
 * SPDX-License-Identifier: MIT */
#include "lang/text/effects.h"
#include "lang/value/mapv.h"
#include "runtime/base/clock.h"
#include "lang/text/pieces.h"
#include "lang/eval/subscript.h"
#include "lang/eval/builtin.h"
#include "lang/tensor/signal.h"
#include "lang/builtin/builtin_host.h"
#include "lang/text/place.h"
#include "runtime/net/endpoint.h"
#include "runtime/net/net.h"
#include "runtime/base/rng.h"
#include <stdlib.h>
#include <time.h>

/* ---- exit, time, environment ---- */

static bool bi_exit(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value v = arg[0];
    if (v.kind != V_INT && v.kind != V_BOOL)
        return error_set(e, "exit needs a whole number, not %s", value_type_name(v));
    e->kind = E_EXIT;
    e->what[0] = 0; /* no message */
    e->exit_code = v.kind == V_INT ? (int)(v.i & 255) : v.b;
    return false;
}

static bool bi_time(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(stream_sync(in->stream, e)); /* earlier instructions belong to the time before */
    *out = v_float((double)clock_ns(CLOCK_REALTIME) * 1e-9);
    return true;
}

static bool bi_sleep(Interp *in, const Value *arg, Value *out, LangError *e) {
    if (!value_is_number(arg[0]) || !(value_double(arg[0]) >= 0))
        return error_set(e, "sleep needs seconds, 0 or more");
    double end = now_s() + value_double(arg[0]), left;
    stream_flush(in->stream);
    while ((left = end - now_s()) > 0 && !interrupt_count) {
        double nap =
            left < 0.05 ? left : 0.05; /* effects that arrive meanwhile are not kept waiting */
        struct timespec t = {0, (long)(nap * 1e9)};
        nanosleep(&t, NULL);
        stream_poll(in->stream);
    }
    return not_interrupted(e);
}

static bool bi_getenv(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(want_kind(arg[0], V_STR, "getenv needs a name", e));
    const char *s = getenv(arg[0].str->s);
    *out = s ? v_cstr(s) : value_ref(arg[1]);
    return true;
}

/* ---- the stream ---- */

static bool bi_sync(Interp *in, const Value *arg, Value *out, LangError *e) {
    return stream_sync(in->stream, e);
}

static bool bi_note(Interp *in, const Value *arg, Value *out, LangError *e) {
    Pieces p = {0};
    bool ok = pieces_value(in, &p, arg[0], false, e) && effect_note(in, &p, e);
    pieces_fini(&p);
    return ok;
}

static bool bi_full_trace(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(want_kind(arg[0], V_BOOL, "debug.full_trace takes true or false", e));
    in->has_full_trace = arg[0].b;
    return true;
}

static bool bi_check_nan(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(want_kind(arg[0], V_BOOL, "debug.check_nan takes true or false", e));
    stream_check_nan(in->stream, arg[0].b);
    return true;
}

/* ---- the cluster ---- */

/* workers(n), and gpu_workers(n), its older name: sets the number of workers to start; only before
 * the first tensor. */
static bool bi_workers(Interp *in, const Value *arg, Value *out, LangError *e) {
    if (arg[0].kind != V_NONE) {
        if (arg[0].kind != V_INT || arg[0].i < 1 || arg[0].i > MAX_WORKERS)
            return error_set(e, "workers needs a number from 1 to %d", MAX_WORKERS);
        int n = (int)arg[0].i;
        if (in->config.stream.endpoint)
            return error_set(e, "the workers of a running dispatcher are its own");
        if (!stream_set_workers(in->stream, n)) {
            error_set(e, "workers(%d) comes too late: %d worker%s running", n,
                      in->config.stream.workers, in->config.stream.workers == 1 ? " is" : "s are");
            return error_hint(e, "before the first tensor, or: gtsh -w %d", n);
        }
        in->config.stream.workers = n;
        *out = v_int(n);
        return true;
    }
    int n = 0;
    TRY(stream_workers(in->stream, &n, e));
    *out = v_int(n);
    return true;
}

static bool bi_place(Interp *in, const Value *arg, Value *out, LangError *e) { /* x */
    Bytes b = {0};
    TRY(want_kind(arg[0], V_TENSOR, "_place needs a tensor", e));
    place_describe(in, arg[0].tensor, &b);
    return give_bytes(true, &b, out);
}

static bool bi_connect(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(want_kind(arg[0], V_STR, "connect needs \"host:port\"", e));
    Endpoint endpoint;
    Err err = {0};
    if (!endpoint_find(arg[0].str->s, &endpoint, &err)) return error_from(e, &err);
    net_set_token(endpoint.token, endpoint.file);
    TRY(stream_connect(in->stream, endpoint.text, interp_span(in), e));
    in->config.stream.endpoint = stream_endpoint(in->stream);
    return true;
}

/* Prints text as a warning at the position of the user's call, once per position. */
static bool bi_warn(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(want_kind(arg[0], V_STR, "warn needs a string", e));
    LangError w = {.kind = E_RUN};
    error_at(&w, interp_span(in), "%s", arg[0].str->s);
    interp_warn_once(in, &w);
    return true;
}

const Builtin builtins_system[] = {
    {"warn", "text", bi_warn, "Prints a warning with the line of the call, once per line."},
    {"exit", "code=0", bi_exit, "Ends the program with this exit code."},
    {"time", "", bi_time, "Seconds since 1970; waits until all earlier instructions are done."},
    {"sleep", "seconds", bi_sleep, "Waits for this many seconds."},
    {"getenv", "name, otherwise=none", bi_getenv,
     "The value of an environment variable; if it is not set, `otherwise`."},
    {"sync", "", bi_sync, "Waits until all earlier instructions are done."},
    {"note", "text", bi_note,
     "Puts a mark with this text into the instruction stream: tapes and timelines show it."},
    {"workers", "n=none", bi_workers,
     "The number of workers; workers(n), before the first tensor, sets it."},
    {"_place", "x", bi_place,
     "Where a tensor lies, for info(): empty with one worker, or if that is unknown."},
    {"gpu_workers", "n=none", bi_workers,
     "The number of workers, by the name that the original has for it: see workers."},
    {"connect", "address", bi_connect,
     "Uses the dispatcher at \"host:port\" instead of starting workers; only before the first "
     "tensor."},
    {"debug.full_trace", "on=true", bi_full_trace,
     "From now on errors show each call inside the prelude on a line of its own, as :set trace "
     "full; with false they are folded again."},
    {"debug.check_nan", "on=true", bi_check_nan,
     "From here on, the first nan or infinity computed is an error, as with --check-nan."},
    {NULL}};

/* ---- random numbers of the host ---- */

/* Host numbers use counters from 2^63 on, tensors that of their k-th instruction, so neither
 * sequence shifts the other. */
static uint64_t random_bits(Interp *in) {
    Philox p = philox(in->seed, UINT64_C(1) << 63 | in->host_rng_counter++, 0);
    return (uint64_t)p.w[1] << 32 | p.w[0];
}

static bool bi_random(Interp *in, const Value *arg, Value *out, LangError *e) {
    uint64_t bits = random_bits(in);
    *out = v_float(rng_double((uint32_t)bits, (uint32_t)(bits >> 32)));
    return true;
}

static bool bi_choice(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value xs = arg[0];
    if (xs.kind == V_STR && xs.str->n) {
        Value sub = v_int((int64_t)rng_below(random_bits(in), str_chars(xs.str)));
        return subscript_get(in, in->at, xs, &sub, 1, out, e);
    }
    if (!is_sequence(xs)) {
        error_set(e, "choice needs a list, not %s", value_type_name(xs));
        if (xs.kind == V_TENSOR)
            error_hint(e,
                       "x[randint(0, len(x), [3])]; without repetition: x[randperm(len(x))[:3]]");
        else if (xs.kind == V_INT)
            error_hint(e, "choice(range(%lld))", (long long)xs.i);
        else if (xs.kind == V_MAP)
            error_hint(e, "choice(m.keys()), choice(m.values())");
        return false;
    }
    int64_t n = sequence_count(xs);
    if (!n) return error_set(e, "choice from an empty list");
    *out = sequence_at(xs, (int64_t)rng_below(random_bits(in), (uint64_t)n));
    return true;
}

static bool bi_shuffle(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value xs = arg[0];
    if (!is_sequence(xs)) {
        error_set(e, "shuffle needs a list, not %s", value_type_name(xs));
        return xs.kind == V_TENSOR ? error_hint(e, "x[randperm(len(x))]") : false;
    }
    int64_t n = sequence_count(xs);
    if (n > 1 << 28) return error_set(e, "shuffle: more than %d elements", 1 << 28);
    *out = v_list(in, (size_t)n);
    for (int64_t i = 0; i < n && !interrupt_count; i++) list_push(out->list, sequence_at(xs, i));
    for (int64_t i = n - 1; i > 0 && !interrupt_count; i--) {
        int64_t j = (int64_t)rng_below(random_bits(in), (uint64_t)i + 1);
        Value t = out->list->v[i];
        out->list->v[i] = out->list->v[j];
        out->list->v[j] = t;
    }
    return true;
}

const Builtin builtins_random[] = {
    {"random", "", bi_random, "A random number in [0, 1), drawn in the client."},
    {"choice", "xs", bi_choice,
     "A random element of a list, range or string. Several: [choice(xs) for i in range(3)], "
     "without "
     "repetition shuffle(xs)[:3]. Of a tensor: x[randint(0, len(x), [3])], "
     "x[randperm(len(x))[:3]]."},
    {"shuffle", "xs", bi_shuffle, "A new list in random order.", 0, BI_PURE},
    {NULL}};
