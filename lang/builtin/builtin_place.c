/* builtin_place.c: x.placement(): the layout of a tensor, from the dispatcher, and its parts, from
 * the workers. The answer is KEY=VALUE lines:
 *
 *   layout=split 0 / 25        as layout_text writes it
 *   group=0,1                  ranks, in order
 *   w0.shape=[25,8]            a line for each worker that has a part
 *
 * placement returns a map with the keys that the layout has: {layout: "split", axis: 0, block: 25,
 * workers: [0, 1], shapes: [[25, 8], [25, 8]], bytes: [800, 800]}. A partial layout has `op`
 * instead of axis and block, a replicated one none of them.
 * SPDX-License-Identifier: MIT */
#include "lang/math/builtin_tensor.h"
#include "lang/text/place.h"
#include "lang/value/mapv.h"
#include "lang/eval/import.h"
#include "lang/builtin/builtin_host.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(Interp *in, Value map, const char *name, Value v) {
    mapv_put(map.map, value_ref(name_str(in, intern(name, strlen(name)))), v);
}

/* All whole numbers in a text, as a list. */
static Value numbers_of(Interp *in, const char *s) {
    Value l = v_list(in, 0);
    while (*(s += strcspn(s, "0123456789"))) {
        char *end;
        list_push(l.list, v_int(strtoll(s, &end, 10)));
        s = end;
    }
    return l;
}

static Value shapes_of(Interp *in, const char *text, const List *workers) {
    Value shapes = v_list(in, workers->n);
    for (size_t i = 0; i < workers->n; i++) {
        char key[32], shape[256];
        snprintf(key, sizeof key, "w%lld.shape", (long long)workers->v[i].i);
        bool is_there = place_line(text, key, shape, sizeof shape) && shape[0] == '[';
        list_push(shapes.list, is_there ? numbers_of(in, shape) : v_none());
    }
    return shapes;
}

/* The bytes of parts with these shapes; none where there is no part. */
static Value bytes_of(Interp *in, const List *shapes, DType d) {
    Value all = v_list(in, shapes->n);
    for (size_t i = 0; i < shapes->n; i++) {
        Value shape = shapes->v[i];
        int64_t bytes = dtype_info[d].size_bytes;
        for (size_t k = 0; shape.kind == V_LIST && k < shape.list->n; k++)
            bytes *= shape.list->v[k].i;
        list_push(all.list, shape.kind == V_LIST ? v_int(bytes) : v_none());
    }
    return all;
}

static Value place_of(Interp *in, const char *text, const char *layout, const char *group,
                      DType d) {
    Value map = v_map(in), workers = numbers_of(in, group);
    const char *rest = layout + strcspn(layout, " ");
    put(in, map, "layout", v_str(layout, (size_t)(rest - layout)));
    int axis;
    int64_t block;
    if (sscanf(layout, "split %d / %" SCNd64, &axis, &block) == 2) {
        put(in, map, "axis", v_int(axis));
        put(in, map, "block", v_int(block));
    } else if (*rest) {
        put(in, map, "op", v_str(rest + 1, strcspn(rest + 1, " ")));
    }
    put(in, map, "workers", workers);
    Value shapes = shapes_of(in, text, workers.list);
    put(in, map, "shapes", shapes);
    put(in, map, "bytes", bytes_of(in, shapes.list, d));
    return map;
}

bool bi_placement(Interp *in, const Value *arg, Value *out, LangError *e) { /* x */
    TRY(want_kind(arg[0], V_TENSOR, "placement needs a tensor", e));
    char layout[64], group[8 * MAX_WORKERS], why[256] = "";
    Bytes text = {0};
    bool ok = stream_where(in->stream, arg[0].tensor->handle, interp_span(in), &text, e);
    bytes_putc(&text, 0);
    if (ok && place_line(text.data, "layout", layout, sizeof layout) &&
        place_line(text.data, "group", group, sizeof group)) {
        *out = place_of(in, text.data, layout, group, (DType)tensor_type(arg[0].tensor)->dtype);
    } else if (ok) {
        place_line(text.data, "error", why, sizeof why);
        ok = error_set(e, "the place of this tensor is unknown%s%s", why[0] ? ": " : "", why);
    }
    bytes_fini(&text);
    return ok;
}
