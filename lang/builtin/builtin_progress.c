/* builtin_progress.c: progress() and track(): progress lines of loops, and scalars tracked along
 * them.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/subscript.h"
#include "lang/text/progress.h"
#include "lang/builtin/builtin_host.h"
#include <math.h>

static bool bi_progress(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value v = arg[0], over, el;
    TRY(want_kind(arg[1], V_STR, "progress: the label must be a string", e));
    bool is_endless = v.kind == V_FLOAT && v.f == INFINITY;
    if (is_endless) {
        over = v_range(0, INT64_MAX, 1);
    } else if (v.kind == V_INT) {
        over = v_range(0, v.i, 1);
    } else if (v.kind == V_RANGE) {
        over = v_range(v.range->start, v.range->stop, v.range->step);
    } else {
        Iter it;
        int more;
        TRY(iter_open(in, in->at, v, &it, e));
        over = v_list(in, 0);
        while ((more = iter_next(in, &it, &el, e)) > 0) list_push(over.list, el);
        iter_close(in, &it);
        if (more < 0) {
            value_drop(over);
            return false;
        }
    }
    progress_open(in, over, is_endless, arg[1].str->s);
    *out = over;
    return true;
}

static bool bi_track(Interp *in, const Value *arg, Value *out, LangError *e) {
    return progress_track(in, arg[0].map, e);
}

const Builtin builtins_progress[] = {
    {"progress", "over, label=\"\"", bi_progress,
     "Iterates over a list, or 0 to n - 1, and shows the progress on a line on stderr. "
     "progress(inf) counts until break.",
     0, BI_PURE},
    {"track", "**values", bi_track,
     "Shows scalars on the progress line when they arrive, and logs them under --log-dir."},
    {NULL}};
