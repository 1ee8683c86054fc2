/* error_value.c: errors as values; their fields say what went wrong and where.
 * SPDX-License-Identifier: MIT */
#include "lang/text/error_value.h"
#include "lang/value/mapv.h"
#include <string.h>

Value v_error(const LangError *e) {
    ErrorV *v = xmalloc(sizeof *v);
    *v = (ErrorV){.h = {1, V_ERROR}, .e = *e};
    return (Value){.kind = V_ERROR, .error = v};
}

void error_text(const LangError *e, Bytes *out) {
    error_print(e, "error", false, out);
    if (out->n && out->data[out->n - 1] == '\n') out->data[--out->n] = 0;
}

/* ---- fields ---- */

static void put(Value map, const char *key, Value v) { mapv_put(map.map, v_cstr(key), v); }

/* A stack entry: a function and the position reached in it. For functions of the prelude that is
 * the line of the program that called into it. */
static Value stack_item(Interp *in, const char *name, Span at, uint32_t times) {
    Value m = v_map(in);
    put(m, "name", v_cstr(name));
    put(m, "file", at.src ? v_cstr(at.src->name) : v_none());
    put(m, "line", at.line ? v_int(at.line) : v_none());
    put(m, "times", v_int(times));
    return m;
}

static Span frame_call(const LangError *e, int i) {
    while (i + 1 < e->n_frames && e->frame[i].call.src && e->frame[i].call.src->is_prelude) i++;
    return e->frame[i].call;
}

/* Innermost first; the last entry is the main file. */
static Value stack_of(Interp *in, const LangError *e) {
    Value l = v_list(in, (size_t)e->n_frames + 1);
    Span at = e->at;
    for (int i = 0; i < e->n_frames; i++) {
        const ErrorFrame *f = &e->frame[i];
        list_push(l.list, stack_item(in, f->name, at, 1));
        if (f->again) list_push(l.list, stack_item(in, f->name, f->call, f->again));
        if (e->n_left_out && i == ERROR_FRAMES_INNER - 1)
            list_push(l.list, stack_item(in, "...", (Span){0}, e->n_left_out));
        at = frame_call(e, i);
    }
    list_push(l.list, stack_item(in, "", at, 1));
    return l;
}

bool error_field(Interp *in, Value v, const char *name, Value *out, bool *found, LangError *e) {
    const LangError *it = &v.error->e;
    Bytes b = {0};
    *found = true;
    if (!strcmp(name, "message"))
        *out = v_cstr(it->what);
    else if (!strcmp(name, "hint"))
        *out = v_cstr(it->hint);
    else if (!strcmp(name, "file"))
        *out = it->at.src ? v_cstr(it->at.src->name) : v_none();
    else if (!strcmp(name, "line"))
        *out = it->at.line ? v_int(it->at.line) : v_none();
    else if (!strcmp(name, "column"))
        *out = it->at.col ? v_int(it->at.col) : v_none();
    else if (!strcmp(name, "stack"))
        *out = stack_of(in, it);
    else if (!strcmp(name, "text")) {
        error_text(it, &b);
        *out = v_str(b.data, b.n);
        bytes_fini(&b);
    } else {
        *found = false;
        error_set(e, "an error has no field '%.100s'", name);
        error_locate(e, interp_span(in));
        return error_hint(e,
                          "message hint file line column stack text; for text methods r.message");
    }
    return true;
}
