/* builtin_answer.c: what dispatcher and workers answer: lines of KEY=VALUE. stats(), placement()
 * and functions of debug, in the prelude, read and show them.
 * SPDX-License-Identifier: MIT */
#include "lang/value/mapv.h"
#include "lang/eval/builtin.h"
#include "lang/builtin/builtin_host.h"
#include "lang/tensor/tensor.h"
#include <stdlib.h>
#include <string.h>

static bool bi_stats(Interp *in, const Value *arg, Value *out, LangError *e) {
    Bytes b = {0};
    if (!stream_stats(in->stream, &b, e)) return bytes_fini(&b), false;
    *out = v_map(in);
    for (char *line = b.data, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *eq = strchr(line, '='), *end;
        if (!eq) continue;
        long long i = strtoll(eq + 1, &end, 10);
        mapv_put(out->map, v_str(line, (size_t)(eq - line)),
                 *end || end == eq + 1 ? v_cstr(eq + 1) : v_int(i));
    }
    bytes_fini(&b);
    return true;
}

typedef bool Question(Stream *s, const Handle *h, Span at, Bytes *text, LangError *e);

static bool ask(Interp *in, const Value *arg, Question *question, Value *out, LangError *e) {
    Bytes b = {0};
    TRY(want_kind(arg[0], V_TENSOR, "a tensor is needed", e));
    return give_bytes(question(in->stream, arg[0].tensor->handle, interp_span(in), &b, e), &b, out);
}
BUILTIN_AS(where_is, ask, stream_where)
BUILTIN_AS(kernel_of, ask, stream_kernel)

static bool bi_screen(Interp *in, const Value *arg, Value *out, LangError *e) {
    return *out = v_int(in->config.width >= 40 ? in->config.width : 80), true;
}

const Builtin builtins_answer[] = {
    {"_stats", "", bi_stats, "The counters as a map, those of worker 0 with \"w0.\"; waits."},
    {"_where_is", "x", bi_where_is, "Where a tensor is, as lines of KEY=VALUE; waits."},
    {"_kernel_of", "x", bi_kernel_of, "What computed a tensor, as lines of KEY=VALUE; waits."},
    {"_screen", "", bi_screen, "The columns of the screen."},
    {NULL}};
