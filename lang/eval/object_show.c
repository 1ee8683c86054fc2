/* object_show.c: prints objects as a tree, each with its constructor arguments in parentheses. A
 * module's own extra_repr() replaces those, as in PyTorch.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/map.h"
#include "lang/eval/object.h"
#include "lang/value/mapv.h"
#include "lang/eval/call.h"
#include "lang/text/pieces.h"
#include "lang/value/frame.h"
#include "lang/tensor/tensor.h"
#include <stdio.h>
#include <string.h>

/* SHOW_NEST: limit of nested lists and maps, which may be cyclic. SHOW_SIZES: length of the longest
 * list that is shown as a setting. */
enum { SHOW_NEST = 6, SHOW_SIZES = 8 };

static void show_text(Pieces *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void show_text(Pieces *p, const char *format, ...) {
    char line[512];
    FORMAT_INTO(line, format);
    pieces_text(p, line, strlen(line));
}

/* True for values shown as a setting: scalars, strings, dtypes, and short lists of numbers and
 * strings (kernel_size=[3, 3]). */
static bool is_plain(Value v) {
    if (value_is_number(v) || v.kind == V_STR || v.kind == V_NONE) return true;
    if (v.kind == V_LIST && v.list->n <= SHOW_SIZES) {
        for (uint32_t i = 0; i < v.list->n; i++)
            if (!value_is_number(v.list->v[i]) && v.list->v[i].kind != V_STR) return false;
        return true;
    }
    return v.kind == V_DTYPE;
}

static bool is_switch(const AstParam *p) {
    return p->dflt && (p->dflt->kind == N_TRUE || p->dflt->kind == N_FALSE);
}

/* Sets *out to the value to show for a setting; false if it is not shown. A bool parameter whose
 * field became a tensor or none (bias=true) is shown as true or false. */
static bool setting(const AstParam *p, const Value *v, Value *out) {
    if (!v || *p->name == '_') return false;
    *out = *v;
    if (is_switch(p) && (v->kind == V_TENSOR || v->kind == V_NONE))
        *out = v_bool(v->kind == V_TENSOR);
    return is_plain(*out) && (out->kind != V_NONE || !p->dflt);
}

/* Prints the constructor's arguments that are plain values: n_in=2, n_out=1. */
static bool show_settings(Interp *in, Object *o, Pieces *p, LangError *e) {
    const AstFn *f = o->module->make ? o->module->make->ast : NULL;
    bool first = true;
    for (int i = 0; f && i < f->n_params; i++) {
        Value v;
        if (!setting(&f->param[i], object_find(o, f->param[i].name), &v)) continue;
        show_text(p, "%s%s=", first ? "" : ", ", f->param[i].name);
        TRY(pieces_value(in, p, v, true, e));
        first = false;
    }
    return true;
}

/* Prints the result of the module's own extra_repr(). */
static bool show_extra(Interp *in, Object *o, Fn *f, Pieces *p, LangError *e) {
    Value text;
    TRY(stack_room(in, 1, e));
    Value self = value_ref((Value){.kind = V_OBJECT, .obj = o});
    bool ok = fn_call(in, f, self, in->stack->top, 0, 0, NULL, &text, e);
    if (ok) {
        ok = pieces_value(in, p, text, false, e);
        value_drop(text);
    }
    value_drop(self);
    return ok;
}

static bool show_head(Interp *in, Object *o, Pieces *p, LangError *e) {
    Fn *extra = object_method(o, intern("extra_repr", 10));
    show_text(p, "%s(", o->module->name);
    TRY(extra ? show_extra(in, o, extra, p, e) : show_settings(in, o, p, e));
    show_text(p, ")");
    int64_t count;
    TRY(object_count(in, o, &count, e));
    if (count) show_text(p, "  %lld parameter%s", (long long)count, count == 1 ? "" : "s");
    return true;
}

static int n_dots(const char *s) {
    int n = 0;
    for (; *s; s++) n += *s == '.';
    return n;
}

static bool show_kid(Interp *in, const char *name, Value v, bool is_item, int indent, Pieces *p,
                     LangError *e) {
    char shape[256], path[300];
    if (v.kind == V_TENSOR && (v.tensor->is_param || v.tensor->is_buffer)) {
        const TensorType *t = tensor_type(v.tensor);
        show_text(p, "\n%*s%s  %s%s%s%s", indent, "", name, type_shape_text(t, shape),
                  t->dtype == DT_F32 ? "" : " ",
                  t->dtype == DT_F32 ? "" : dtype_info[t->dtype].name,
                  v.tensor->is_buffer ? " buffer" : "");
        return true;
    }
    if (v.kind == V_OBJECT) {
        show_text(p, "\n%*s%s: ", indent, "", name);
        return object_show(in, v.obj, indent, p, e);
    }
    if (value_is_callable(v) && is_item) { /* a function as an item: Sequential(fc, relu) */
        show_text(p, "\n%*s%s: ", indent, "", name);
        return pieces_value(in, p, v, true, e);
    }
    if (n_dots(name) == SHOW_NEST) return true;
    is_item = !*name;
    Value key, kid;
    const char *dot = *name ? "." : "";
    for (size_t i = 0; value_kid(v, i, &key, &kid); i++) {
        Bytes last = {0};
        key_text(key, &last);
        snprintf(path, sizeof path, "%.200s%s%.90s", name, dot, last.n ? last.data : "");
        bytes_fini(&last);
        TRY(show_kid(in, path, kid, is_item, indent, p, e));
    }
    return true;
}

/* Returns the field of an optimizer that lists its parameters a second time, or NULL: its list
 * of all, or, if there is one group, the groups. */
static const char *listed_twice(Object *o) {
    const Value *groups = object_find(o, intern("param_groups", 12));
    if (!groups || groups->kind != V_LIST || !object_find(o, intern("params", 6))) return NULL;
    return groups->list->n > 1 ? "params" : "param_groups";
}

bool object_show(Interp *in, Object *o, int indent, Pieces *p, LangError *e) {
    if (!o->module) {
        show_text(p, "object");
        return true;
    }
    if (indent > 40) { /* too deep, or a cycle of objects */
        show_text(p, "%s(...)", o->module->name);
        return true;
    }
    TRY(show_head(in, o, p, e));
    ObjectIter it;
    Value key, v;
    bool ok = true;
    const char *again = listed_twice(o);
    object_iter_open(&it, o);
    while (ok && object_iter_next(&it, &key, &v)) {
        if (again && key.kind == V_STR && !strcmp(key.str->s, again)) continue;
        if (it.is_given && object_holds(v) && map_get(&it.assigned, (uint64_t)(uintptr_t)v.heap))
            continue;
        Bytes name = {0};
        key_text(key, &name);
        ok = show_kid(in, name.n ? name.data : "", v, it.in_items, indent + 2, p, e);
        bytes_fini(&name);
    }
    object_iter_close(&it);
    return ok;
}

/* ---- calls of layers ---- */

/* A tensor's shape, a list of those of a list's items, or none. */
static Value shape_of(Interp *in, Value v, int depth) {
    if (v.kind == V_TENSOR) {
        const TensorType *t = tensor_type(v.tensor);
        Value shape = v_list(in, (size_t)t->rank);
        for (int i = 0; i < t->rank; i++) list_push(shape.list, v_int(t->shape[i]));
        return shape;
    }
    if (v.kind != V_LIST || depth == SHOW_NEST) return v_none();
    Value all = v_list(in, v.list->n);
    for (uint32_t i = 0; i < v.list->n && i < SHOW_SIZES; i++)
        list_push(all.list, shape_of(in, v.list->v[i], depth + 1));
    return all;
}

void object_called(Interp *in, Object *o, Value result) {
    Value self = {.kind = V_OBJECT, .obj = o};
    list_push(in->layers, v_pair(in, value_ref(self), shape_of(in, result, 0)));
}
