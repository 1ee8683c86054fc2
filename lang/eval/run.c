/* run.c: creates and frees the interpreter, and runs programs in it.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/run.h"
#include "lang/value/cycles.h"
#include "lang/eval/trace.h"
#include "lang/eval/call.h"
#include "lang/eval/object.h"
#include "lang/text/effects.h"
#include "lang/text/layout.h"
#include "lang/text/pieces.h"
#include "lang/text/progress.h"
#include "lang/eval/import.h"
#include "lang/tensor/signal.h"
#include "lang/tensor/tensor.h"
#include "runtime/base/log.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { STACK_VALUES = 4 << 20, COLLECT_FIRST = 10000 };
#define C_STACK_WANTED                                                                             \
    (UINT64_C(120) << 20) /* bytes: enough for 10,000 nested calls, under sanitizers too */
#define C_STACK_SPARE                                                                              \
    (2 << 20) /* bytes below stack_end: for one deep expression and its builtins */

/* Returns the lowest stack address that calls may use. The main thread's stack grows up to the
 * current soft limit, so raising the limit is enough. Other threads have a fixed stack. */
static char *c_stack_end(void) {
    struct rlimit lim;
    if (getrlimit(RLIMIT_STACK, &lim) == 0 && lim.rlim_cur < C_STACK_WANTED) {
        lim.rlim_cur = lim.rlim_max < C_STACK_WANTED ? lim.rlim_max : C_STACK_WANTED;
        setrlimit(RLIMIT_STACK, &lim);
    }
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
    }
    char *here = __builtin_frame_address(0);
    if (!low || size > C_STACK_WANTED) /* unlimited: use no more than C_STACK_WANTED */
        low = here - (size ? C_STACK_WANTED : 4 << 20);
    return (char *)low + C_STACK_SPARE;
}

static void explain(void *interp, uint32_t calls, LangError *e) {
    signal_explain(interp, e);
    trace_explain(interp, calls, e);
}

Interp *interp_new(const InterpConfig *config, LangError *e) {
    Interp *in = xcalloc(1, sizeof *in);
    in->config = *config;
    in->seed = config->seed;
    in->float_dtype = DT_F32;
    in->call = interp_call;
    in->show_object = object_show;
    in->containers.next = in->containers.prev = &in->containers;
    in->collect_at = COLLECT_FIRST;
    in->stack_end = c_stack_end();
    in->stack = xmalloc(sizeof *in->stack);
    in->stack->base = in->stack->top =
        xmalloc(STACK_VALUES * sizeof(Value)); /* pages are touched only as calls nest */
    in->stack->end = in->stack->base + STACK_VALUES;
    import_init(in);
    in->globals = globals_new(in, true, false);
    in->config.stream.calls = trace_calls;
    in->config.stream.explain = explain;
    in->config.stream.program = in;
    in->stream = stream_new(&in->config.stream);
    if (!in->stream) {
        error_set(e, "the instruction stream cannot be set up");
        interp_free(&in);
    }
    return in;
}

/* Logs what the program leaves behind: counts of the client, the dispatcher and the workers. */
static void log_memory(Interp *in) {
    Bytes text = {0};
    LangError ignored = {0};
    log_line("CLIENT", "%zu containers", in->n_containers);
    if (stream_stats(in->stream, &text, &ignored))
        for (char *line = text.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            if (strstr(line, "tensors") || strstr(line, "bytes")) log_line("CLIENT", "%s", line);
        }
    bytes_fini(&text);
}

void interp_free(Interp **inp) {
    Interp *in = *inp;
    if (!in) return;
    *inp = NULL;
    in->is_ending = true;
    containers_free(in, SIZE_MAX);
    bytes_fini(&in->locals);
    value_drop(in->ans);
    in->ans = v_none();
    import_fini(in);
    progress_drop(in);
    cycles_collect(in);
    import_free(in);
    if (in->stream) {
        tensor_fini(in);
        if (log_is(LOG_MEMORY)) log_memory(in);
        stream_free(&in->stream);
    }
    progress_fini(in); /* after the stream, which may still print last lines */
    signal_fini(in);
    assert(in->stack->top == in->stack->base);
    free(in->stack->base);
    free(in->stack);
    trace_fini(in);
    free(in->last_error);
    free(in->dead_warning);
    free(in->warned);
    free(in->print);
    free(in);
}

bool interp_run(Interp *in, Program *p, bool echo, LangError *e) {
    bool ok = run_program(in, p, in->globals, echo, e);
    if (in->n_containers >= in->collect_at || (echo && in->n_containers < COLLECT_FIRST))
        cycles_collect(in);
    return ok;
}

bool interp_echo(Interp *in, Value v, LangError *e) {
    if (in->output != OUTPUT_PLAIN) return in->show_as(in, v, e);
    Pieces p = {0};
    bool ok = layout_value(in, &p, v, e);
    pieces_text(&p, "\n", 1);
    bool waits = p.n > 0;
    ok = ok && effect_print(in, &p, false, e) && (!waits || stream_sync(in->stream, e));
    pieces_fini(&p);
    return ok;
}
