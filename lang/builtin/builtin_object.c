/* builtin_object.c: isinstance, hasattr, getattr, setattr and dir, as in Python. Methods of objects
 * are in object_walk.c.
 * SPDX-License-Identifier: MIT */
#include "lang/text/pieces.h"
#include "lang/value/mapv.h"
#include "lang/eval/builtin.h"
#include "lang/eval/call.h"
#include "lang/eval/object.h"
#include "lang/tensor/tensor.h"
#include <string.h>

/* True if v is of the type that the name of a builtin stands for. */
static bool is_of_builtin(Value v, const char *name) {
    static const struct {
        const char *name;
        ValueKind kind;
    } kind[] = {{"int", V_INT},       {"float", V_FLOAT}, {"bool", V_BOOL},
                {"str", V_STR},       {"str", V_TEXT},    {"list", V_LIST},
                {"list", V_RANGE},    {"range", V_RANGE}, {"set", V_SET},
                {"dict", V_MAP},      {"map", V_MAP},     {"error", V_ERROR},
                {"tensor", V_TENSOR}, {"int", V_BOOL},    {"nn.Module", V_OBJECT}};
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
        if (v.kind == kind[i].kind && !strcmp(name, kind[i].name)) return true;
    if (v.kind != V_TENSOR) return false;
    return (v.tensor->is_param && !strcmp(name, "param")) ||
           (v.tensor->is_buffer && !strcmp(name, "buffer"));
}

static bool is_instance(Value v, Value of, bool *out, LangError *e) {
    *out = false;
    if (of.kind == V_LIST) {
        for (uint32_t i = 0; i < of.list->n && !*out; i++)
            TRY(is_instance(v, of.list->v[i], out, e));
        return true;
    }
    if (of.kind == V_MODULE)
        *out = v.kind == V_OBJECT && v.obj->module == of.module;
    else if (of.kind == V_STR)
        *out = !strcmp(value_type_name(v), of.str->s);
    else if (of.kind == V_BUILTIN)
        *out = is_of_builtin(v, of.builtin->name);
    else {
        error_set(e, "isinstance needs a module or a kind, not %s", value_type_name(of));
        return error_hint(e, "isinstance(m, nn.Linear), isinstance(x, [int, float]), type(x)");
    }
    return true;
}

static bool bi_isinstance(Interp *in, const Value *arg, Value *out, LangError *e) {
    *out = v_bool(false);
    return is_instance(arg[0], arg[1], &out->b, e);
}

static bool field_name(Interp *in, Value v, const char **name, LangError *e) {
    Value s;
    if (v.kind != V_STR && v.kind != V_TEXT)
        return error_set(e, "a name must be a string, not %s", value_type_name(v));
    TRY(value_look(in, v, &s, e));
    *name = intern(s.str->s, s.str->n);
    value_drop(s);
    return true;
}

/* Finds a field, method or key; *found: whether there is one. */
static bool find_field(Interp *in, Value v, Value name_arg, Value *out, bool *found, LangError *e) {
    const char *name;
    *found = false;
    TRY(field_name(in, name_arg, &name, e));
    if (v.kind == V_OBJECT) {
        *found = object_get(in, v.obj, name, out);
    } else if (v.kind == V_TENSOR) {
        TRY(tensor_field(in, v.tensor, name, out, found, e));
    } else if (v.kind == V_MAP && v.map->is_space) {
        *found = space_get(in, v.map, name, out, e);
        if (!*found) *e = (LangError){0};
    } else if (v.kind == V_MAP) {
        const Value *item = map_find_name(v.map, name);
        *found = item != NULL;
        if (item) *out = value_ref(*item);
    }
    return true;
}

static bool bi_hasattr(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value v = v_none();
    bool found;
    const char *name;
    TRY(find_field(in, arg[0], arg[1], &v, &found, e) && field_name(in, arg[1], &name, e));
    if (found) value_drop(v);
    *out = v_bool(found || (arg[0].kind != V_MAP && builtin_method(arg[0].kind, name)));
    return true;
}

static bool bi_getattr(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool found;
    TRY(find_field(in, arg[0], arg[1], out, &found, e));
    if (found) return true;
    if (!arg[2].list->n)
        return error_set(e, "%s has no field '%.100s'", value_type_name(arg[0]),
                         arg[1].kind == V_STR ? arg[1].str->s : "?");
    *out = value_ref(arg[2].list->v[0]);
    return true;
}

static bool bi_setattr(Interp *in, const Value *arg, Value *out, LangError *e) {
    const char *name;
    TRY(field_name(in, arg[1], &name, e));
    if (arg[0].kind == V_OBJECT) return object_set(in, arg[0].obj, name, value_ref(arg[2]), e);
    if (arg[0].kind == V_TENSOR) return tensor_set_field(in, arg[0].tensor, name, arg[2], e);
    return error_set(e, "fields of %s cannot be assigned", value_type_name(arg[0]));
}

/* The names of the fields of an object, map or tensor, then of its methods, without duplicates. */
static bool bi_dir(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value seen = v_map(in), k, v;
    MapV *m = arg[0].kind == V_OBJECT ? object_fields(arg[0].obj)
              : arg[0].kind == V_MAP  ? arg[0].map
                                      : NULL;
    for (size_t i = 0; m && mapv_at(m, i, &k, &v); i++)
        if (k.kind == V_STR) mapv_put(seen.map, value_ref(k), v_none());
    NameList names = {0};
    for (size_t i = 0; arg[0].kind == V_TENSOR && tensor_field_names[i]; i++)
        names_add(&names, tensor_field_names[i]);
    names_of_methods(in, arg[0], &names);
    for (size_t i = 0; i < names.n; i++) mapv_put(seen.map, v_cstr(names.name[i]), v_none());
    names_fini(&names);
    *out = v_list(in, map_count(seen.map));
    for (size_t i = 0; mapv_at(seen.map, i, &k, &v); i++) list_push(out->list, value_ref(k));
    value_drop(seen);
    return true;
}

static bool bi_module(Interp *in, const Value *arg, Value *out, LangError *e) {
    error_set(e, "nn.Module is not a constructor: it is what isinstance(m, nn.Module) asks for");
    return error_hint(e, "module Net(n) { self.fc = nn.Linear(n, n)   fn forward(x) => ... }");
}

/* Calls f and gives the list of the layers that it called, in the order of their ends. */
static bool bi_layers(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value all = v_list(in, 0), result;
    List *outer = in->layers;
    in->layers = all.list;
    bool ok = interp_call(in, arg[0], NULL, 0, &result, e);
    in->layers = outer;
    if (ok) value_drop(result);
    return give_if(ok, all, out);
}

const Builtin builtins_class[] = {
    {"isinstance", "x, of", bi_isinstance,
     "True if x is an instance of a module or a value of a type (int float str list map tensor "
     "...), or of one in a list of these.",
     0, BI_PURE},
    {"hasattr", "x, name", bi_hasattr, "True if x has a field or method of that name.", 0, BI_PURE},
    {"getattr", "x, name, *otherwise", bi_getattr,
     "The field of that name; if there is none, the third argument, or an error without one.", 0,
     BI_PURE},
    {"dir", "x", bi_dir, "The names of x's fields and methods.", 0, BI_PURE},
    {"setattr", "x, name, v", bi_setattr, "Sets x.name = v, for a computed name."},
    {"_layers", "f", bi_layers, "Calls f; gives the layers that it called, for summary()."},
    {"nn.Module", "", bi_module, "The type of all modules, for isinstance(m, nn.Module)."},
    {NULL}};
