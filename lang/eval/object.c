/* object.c: modules and their instances: making them, their fields and methods, and how they are
 * printed: as a tree. A field _items that is a list or a map makes an object a container:
 * m[i], m[a:b], m["name"], len(m), `for x in m` and `k in m` mean those, and they are walked,
 * saved and printed as if they were fields of the object itself (nn.Sequential, nn.ModuleList,
 * nn.ModuleDict). What can be done with all that an object holds is in object_walk.c.
 * SPDX-License-Identifier: MIT */
#include "lang/value/heap.h"
#include "lang/text/pieces.h"
#include "lang/eval/eval.h"
#include "lang/eval/subscript.h"
#include "lang/eval/call.h"
#include "lang/eval/object.h"
#include "lang/eval/import.h"
#include "lang/tensor/tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

bool module_new(Interp *in, Node *n, Value *out, LangError *e) {
    (void)e;
    Module *m = container_new(in, V_MODULE, sizeof *m);
    m->name = n->fn->name;
    m->make = fn_new(in, n->fn);
    m->method = v_map(in).map;
    const Node *body = n->fn->body;
    for (uint32_t i = 0; i < body->n_kids; i++) {
        const Node *k = body->kid[i];
        if (k->kind == N_FN_STMT && k->fn->is_method)
            mapv_put(m->method, value_ref(name_str(in, k->fn->name)),
                     (Value){.kind = V_FN, .fn = fn_new(in, k->fn)});
    }
    *out = (Value){.kind = V_MODULE, .module = m};
    return true;
}

bool module_call(Interp *in, Module *m, Value *base, int n_pos, int n_kw, const Node *call,
                 Value *out, LangError *e) {
    Object *o = container_new(in, V_OBJECT, sizeof *o);
    Value self = {.kind = V_OBJECT, .obj = o}, result;
    o->module = m;
    m->c.h.refs++;
    o->field = v_map(in).map;
    if (!fn_call(in, m->make, self, base, n_pos, n_kw, call, &result, e)) {
        value_drop(self);
        return false;
    }
    value_drop(result);
    *out = self;
    return true;
}

Value *object_find(Object *o, const char *interned) {
    return map_find(o->field, name_str(o->c.in, interned));
}

Fn *object_method(const Object *o, const char *interned) {
    const Value *f = o->module && o->module->method
                         ? map_find(o->module->method, name_str(o->c.in, interned))
                         : NULL;
    return f ? f->fn : NULL;
}

Value *object_items(const Object *o) {
    Value *v = object_find((Object *)o, intern("_items", 6));
    return v && (v->kind == V_LIST || (v->kind == V_MAP && !v->map->is_space)) ? v : NULL;
}

Value *object_item(const Object *o, const char *interned) {
    const Value *items = object_items(o);
    return items && items->kind == V_MAP ? map_find(items->map, name_str(o->c.in, interned)) : NULL;
}

bool object_get(Interp *in, Object *o, const char *interned, Value *out, bool *found,
                LangError *e) {
    (void)e;
    const Value *v = object_find(o, interned);
    Fn *method = v ? NULL : object_method(o, interned);
    *found = true;
    if (!v && !method) v = object_item(o, interned);
    if (v) {
        *out = value_ref(*v);
    } else if (method) {
        Bound *b = container_new(in, V_BOUND, sizeof *b);
        b->self = value_ref((Value){.kind = V_OBJECT, .obj = o});
        b->f = value_ref((Value){.kind = V_FN, .fn = method});
        *out = (Value){.kind = V_BOUND, .bound = b};
    } else if (!strcmp(interned, "training")) {
        *out = v_bool(true); /* until eval() says otherwise */
    } else {
        *found = false;
    }
    return true;
}

bool object_holds(Value v) {
    return v.kind == V_OBJECT || v.kind == V_LIST || v.kind == V_MAP || v.kind == V_TENSOR;
}

/* A setting that the constructor was given (bias=true) and that becomes a parameter takes its
 * place in the order anew, so that parameters come in the order in which the body makes them. */
void object_set(Interp *in, Object *o, const char *interned, Value v) {
    Value key = name_str(in, interned), gone;
    const Value *old = map_find(o->field, key);
    Value *item = old ? NULL : object_item(o, interned);
    if (item) {
        value_set(item, v);
        return;
    }
    if (old && !object_holds(*old) && object_holds(v) && mapv_remove(o->field, key, &gone))
        value_drop(gone);
    mapv_put(o->field, value_ref(key), v);
}

/* ---- containers ---- */

/* An object like o whose items are others; consumes items. */
static Value like_with_items(Interp *in, Object *o, Value items) {
    Object *copy = container_new(in, V_OBJECT, sizeof *copy);
    Value key, v;
    copy->module = o->module;
    o->module->c.h.refs++;
    copy->field = v_map(in).map;
    for (size_t i = 0; mapv_at(o->field, i, &key, &v); i++)
        mapv_put(copy->field, value_ref(key), value_ref(v));
    object_set(in, copy, intern("_items", 6), items);
    return (Value){.kind = V_OBJECT, .obj = copy};
}

/* The values (or keys) of a map as a list, or the list itself: a new reference. */
static Value in_order(Interp *in, Value items, bool keys) {
    if (items.kind == V_LIST) return value_ref(items);
    Value l = v_list(in, map_count(items.map)), key, v;
    for (size_t i = 0; mapv_at(items.map, i, &key, &v); i++)
        list_push(l.list, value_ref(keys ? key : v));
    return l;
}

/* A slice of the items is an object of the same kind, as PyTorch's Sequential. */
static bool slice_items(Interp *in, const Node *n, Object *o, Value items, Value sub, Value *out,
                        LangError *e) {
    Value all = in_order(in, items, true), part;
    bool ok = subscript_get(in, n, all, &sub, 1, &part, e);
    value_drop(all);
    TRY(ok);
    if (items.kind == V_MAP) {
        Value map = v_map(in);
        for (uint32_t i = 0; i < part.list->n; i++)
            mapv_put(map.map, value_ref(part.list->v[i]),
                     value_ref(*map_find(items.map, part.list->v[i])));
        value_drop(part);
        part = map;
    }
    *out = like_with_items(in, o, part);
    return true;
}

bool object_subscript(Interp *in, const Node *n, Object *o, Value sub, Value *out, LangError *e) {
    const Value *slot = object_items(o);
    const char *name = value_name(sub);
    const Value *field = name ? object_find(o, name) : NULL;
    if (field || (name && !(slot && slot->kind == V_MAP))) {
        if (field) *out = value_ref(*field);
        return field || fail_at(in, n, e, "the %s has no field '%.100s'",
                                value_type_name((Value){.kind = V_OBJECT, .obj = o}), name);
    }
    if (!slot)
        return fail_at(in, n, e, "an object is indexed by the name of a field, not %s",
                       value_type_name(sub));
    Value items = value_ref(*slot), all = v_none();
    bool ok;
    if (sub.kind == V_SLICE) {
        ok = slice_items(in, n, o, items, sub, out, e);
    } else if (items.kind == V_LIST || map_find(items.map, sub) || sub.kind != V_INT) {
        ok = subscript_get(in, n, items, &sub, 1, out, e);
    } else { /* by place */
        all = in_order(in, items, false);
        ok = subscript_get(in, n, all, &sub, 1, out, e);
    }
    value_drop(all);
    value_drop(items);
    return ok;
}

/* The items that a write at sub goes to, or NULL: it is a field. */
Value *object_target(Object *o, Value *sub) {
    Value *items = object_items(o), key, v;
    const char *name = value_name(*sub);
    if (!items || (name && (items->kind == V_LIST || object_find(o, name)))) return NULL;
    if (items->kind == V_MAP && sub->kind == V_INT && !map_find(items->map, *sub)) {
        int64_t count = (int64_t)map_count(items->map), i = sub->i + (sub->i < 0 ? count : 0);
        if (i >= 0 && i < count && mapv_at(items->map, (size_t)i, &key, &v))
            *sub = key; /* by place */
    }
    return items;
}

/* ---- as text: a tree ---- */

static void show_text(Pieces *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void show_text(Pieces *p, const char *format, ...) {
    char line[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    pieces_text(p, line, strlen(line));
}

/* MLP(n_in=2, n_out=1): what the constructor was given, as far as it is a plain value. */
static bool show_head(Interp *in, Object *o, Pieces *p, LangError *e) {
    const AstFn *f = o->module->make ? o->module->make->ast : NULL;
    bool first = true;
    show_text(p, "%s(", o->module->name);
    for (int i = 0; f && i < f->n_params; i++) {
        const Value *v = object_find(o, f->param[i].name);
        if (!v || *f->param[i].name == '_' ||
            (!value_is_number(*v) && v->kind != V_STR && v->kind != V_NONE) ||
            (v->kind == V_NONE && f->param[i].dflt))
            continue;
        show_text(p, "%s%s=", first ? "" : ", ", f->param[i].name);
        TRY(pieces_value(in, p, *v, true, e));
        first = false;
    }
    show_text(p, ")");
    int64_t count;
    TRY(object_count(in, o, &count, e));
    if (count) show_text(p, "  %lld parameter%s", (long long)count, count == 1 ? "" : "s");
    return true;
}

#define SHOW_NEST                                                                                  \
    6 /* lists and maps in each other; also where they hold each other in a circle                 \
       */

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
    if (value_is_callable(v) && is_item) { /* Sequential(fc, relu): the tree says so */
        show_text(p, "\n%*s%s: ", indent, "", name);
        return pieces_value(in, p, v, true, e);
    }
    if (n_dots(name) == SHOW_NEST) return true;
    is_item = !*name;
    Value key, kid;
    const char *dot = *name ? "." : "";
    for (uint32_t i = 0; v.kind == V_LIST && i < v.list->n; i++) {
        snprintf(path, sizeof path, "%.200s%s%u", name, dot, i);
        TRY(show_kid(in, path, v.list->v[i], is_item, indent, p, e));
    }
    for (size_t i = 0; v.kind == V_MAP && mapv_at(v.map, i, &key, &kid); i++) {
        if (key.kind == V_STR)
            snprintf(path, sizeof path, "%.200s%s%.90s", name, dot, key.str->s);
        else
            snprintf(path, sizeof path, "%.200s%s%lld", name, dot, (long long)key.i);
        if (key.kind != V_STR || key.str->s[0] != '_')
            TRY(show_kid(in, path, kid, is_item, indent, p, e));
    }
    return true;
}

bool object_show(Interp *in, Object *o, int indent, Pieces *p, LangError *e) {
    if (!o->module) {
        show_text(p, "object");
        return true;
    }
    if (indent > 40) { /* also where objects hold each other in a circle */
        show_text(p, "%s(...)", o->module->name);
        return true;
    }
    TRY(show_head(in, o, p, e));
    Value key, v;
    for (size_t i = 0; mapv_at(o->field, i, &key, &v); i++)
        if (key.kind == V_STR && key.str->s[0] != '_')
            TRY(show_kid(in, key.str->s, v, false, indent + 2, p, e));
    const Value *items = object_items(o);
    return !items || show_kid(in, "", *items, false, indent + 2, p, e);
}
