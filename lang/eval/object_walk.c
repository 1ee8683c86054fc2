/* object_walk.c: methods of every object that walk its fields: parameters(), state_dict(), train(),
 * apply(f) and so on. A walk visits the fields of objects in PyTorch's order (object_iter_next),
 * and lists and maps in their own. Names that begin with _ are private to the module: not walked,
 * saved or printed. The _items of a container (object.c) are walked like fields. A constructor
 * argument that is also assigned to another field is walked under that field only.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/call.h"
#include "lang/value/mapv.h"
#include "runtime/base/map.h"
#include "lang/text/pieces.h"
#include "lang/eval/eval.h"
#include "lang/eval/builtin.h"
#include "lang/eval/object.h"
#include "lang/tensor/autograd.h"
#include "lang/tensor/tensor.h"
#include <string.h>

enum { WALK_DEPTH = 100, PROBLEMS_SHOWN = 8 };

/* ---- walking ---- */

typedef enum What { PARAMETERS, BUFFERS, MODULES } What;
typedef struct Walk {
    Interp *in;
    Bytes path; /* "blocks.0.fc1.weight"                                */
    Map seen;   /* for visitors that handle each value once: Heap -> 1  */
    bool (*visit)(struct Walk *w, Value v, LangError *e); /* for parameters, buffers, objects */
    Value out;
    What what; /* that visit_member lists, as [path, value] if is_named */
    bool is_named;
    int64_t n;
    void *ctx;
    const char *prefix;       /* of all paths, or NULL                      */
    bool shallow, kids_first; /* skip nested objects; visit children before their parent */
    const Map *assigned;      /* inside a kept argument: values that other fields hold too */
    bool aliases;             /* visit those too, with is_alias set */
    bool is_alias;
} Walk;
typedef struct Trail {
    const void *at;
    const struct Trail *up;
    int depth;
} Trail;

static bool walk(Walk *w, Value v, const Trail *up, LangError *e);

static bool walk_kid(Walk *w, Value key, Value v, const Trail *trail, LangError *e) {
    bool was = w->is_alias;
    if (!object_holds(v)) return true;
    if (w->assigned && map_get(w->assigned, (uint64_t)(uintptr_t)v.heap)) {
        if (!w->aliases) return true;
        w->is_alias = true;
    }
    size_t n = w->path.n;
    if (n && w->path.data[n - 1] != '.') /* a prefix may end with a dot */
        bytes_putc(&w->path, '.');
    key_text(key, &w->path);
    bool ok = walk(w, v, trail, e);
    w->path.n = n;
    w->path.data[n] = 0;
    w->is_alias = was;
    return ok;
}

static bool walk_kids(Walk *w, Value v, const Trail *trail, LangError *e) {
    Value key, kid;
    for (size_t i = 0; value_kid(v, i, &key, &kid); i++) TRY(walk_kid(w, key, kid, trail, e));
    return true;
}

static bool walk_object(Walk *w, Object *o, const Trail *trail, LangError *e) {
    const Map *outer = w->assigned;
    ObjectIter it;
    Value key, kid;
    bool ok = true;
    object_iter_open(&it, o);
    while (ok && object_iter_next(&it, &key, &kid)) {
        w->assigned = it.is_given ? &it.assigned : NULL;
        ok = walk_kid(w, key, kid, trail, e);
    }
    w->assigned = outer;
    object_iter_close(&it);
    return ok;
}

static bool walk(Walk *w, Value v, const Trail *up, LangError *e) {
    if (v.kind == V_TENSOR)
        return (!v.tensor->is_param && !v.tensor->is_buffer) || w->visit(w, v, e);
    for (const Trail *t = up; t; t = t->up)
        if (t->at == v.heap) return true; /* a cycle: this walk is inside v already */
    if (up && up->depth >= WALK_DEPTH)
        return error_set(e, "fields nest deeper than %d", WALK_DEPTH);
    Trail trail = {v.heap, up, up ? up->depth + 1 : 1};
    if (v.kind != V_OBJECT)
        return (v.kind == V_MAP && v.map->is_space) || walk_kids(w, v, &trail, e);
    if (!w->kids_first) TRY(w->visit(w, v, e));
    if (up && w->shallow) return true;
    return walk_object(w, v.obj, &trail, e) && (!w->kids_first || w->visit(w, v, e));
}

static bool first_time(Walk *w, Value v) {
    uint64_t key = (uint64_t)(uintptr_t)v.heap;
    if (map_get(&w->seen, key)) return false;
    map_put(&w->seen, key, w);
    return true;
}

static bool walk_all(Walk *w, Interp *in, Value self, LangError *e) {
    w->in = in;
    bytes_puts(&w->path, w->prefix ? w->prefix : "");
    bool ok = walk(w, self, NULL, e);
    bytes_fini(&w->path);
    map_fini(&w->seen);
    return ok;
}

/* Walks self. *result becomes w.out, a list or map. */
static bool collect(Interp *in, Value self, Walk w, Value *result, LangError *e) {
    if (!walk_all(&w, in, self, e)) {
        value_drop(w.out);
        return false;
    }
    *result = w.out;
    return true;
}

static bool is_trained(Value v) {
    return v.kind == V_TENSOR && v.tensor->is_param && !v.tensor->is_buffer;
}

/* Lists each parameter, buffer or module once. The members of a shallow walk are not self. */
static bool visit_member(Walk *w, Value v, LangError *e) {
    bool is_wanted = v.kind == V_OBJECT ? w->what == MODULES && (!w->shallow || w->path.n)
                                        : w->what == (v.tensor->is_buffer ? BUFFERS : PARAMETERS);
    if (is_wanted && first_time(w, v))
        list_push(w->out.list, w->is_named
                                   ? v_pair(w->in, v_str(w->path.data, w->path.n), value_ref(v))
                                   : value_ref(v));
    return true;
}

/* Finds the first value whose path is the string w->ctx. */
static bool visit_find(Walk *w, Value v, LangError *e) {
    if (w->out.kind == V_NONE && !strcmp(w->path.data, w->ctx)) w->out = value_ref(v);
    return true;
}

static bool visit_requires(Walk *w, Value v, LangError *e) {
    static const char name[] = "requires_grad";
    return !is_trained(v) ||
           tensor_set_field(w->in, v.tensor, intern(name, sizeof name - 1), v_bool(w->n), e);
}

static bool visit_state(Walk *w, Value v, LangError *e) {
    if (v.kind == V_TENSOR && !v.tensor->is_unsaved)
        mapv_put(w->out.map, v_str(w->path.data, w->path.n),
                 v_tensor(tensor_detach(w->in, v.tensor)));
    return true;
}

static bool visit_count(Walk *w, Value v, LangError *e) {
    if (is_trained(v) && first_time(w, v)) w->n += type_numel(tensor_type(v.tensor));
    return true;
}

static bool visit_zero_grad(Walk *w, Value v, LangError *e) {
    static const char grad[] = "grad";
    if (!is_trained(v) || !v.tensor->grad) return true;
    Value zeros = v_none();
    if (!w->n) { /* set_to_none=false */
        const TensorType *t = tensor_type(v.tensor);
        Operand zero = {.kind = IN_IMM_INT};
        Tensor *z = tensor_full(w->in, t->shape, t->rank, (DType)t->dtype, zero, e);
        if (!z) return false;
        zeros = v_tensor(z);
    }
    bool ok = tensor_set_field(w->in, v.tensor, intern(grad, 4), zeros, e);
    value_drop(zeros);
    return ok;
}

static bool visit_mode(Walk *w, Value v, LangError *e) {
    return v.kind != V_OBJECT || object_set(w->in, v.obj, intern("training", 8), v_bool(w->n), e);
}

static bool visit_cast(Walk *w, Value v, LangError *e) {
    if (v.kind != V_TENSOR || !dtype_is_float(tensor_type(v.tensor)->dtype) || !first_time(w, v))
        return true;
    Tensor *t = v.tensor, *value = tensor_detach(w->in, t),
           *cast = tensor_cast(w->in, value, (DType)w->n, e);
    tensor_unref(value);
    TRY(cast != NULL);
    Handle *old = t->handle;
    t->handle = handle_ref(cast->handle); /* t keeps its identity, its value gets a new dtype */
    handle_unref(w->in->stream, &old);
    tensor_unref(cast);
    if (t->is_buffer) grad_node_unref(w->in, &t->node);
    if (t->grad) return tensor_set_field(w->in, t, intern("grad", 4), v_none(), e);
    return true;
}

/* ---- state ---- */

static void flatten(Interp *in, Value v, Bytes *path, Value out, int depth) {
    Value key, kid;
    for (size_t i = 0; value_kid(v, i, &key, &kid); i++) {
        size_t n = path->n;
        if (n) bytes_putc(path, '.');
        key_text(key, path);
        if ((kid.kind == V_MAP || kid.kind == V_LIST) && depth < WALK_DEPTH)
            flatten(in, kid, path, out, depth + 1);
        else
            mapv_put(out.map, v_str(path->data, path->n), value_ref(kid));
        path->n = n;
        path->data[n] = 0;
    }
}

/* The state of load_state_dict. The first walk collects the names that do not fit, the second
 * (`write`) writes the tensors, only if all fit. */
typedef struct Loading {
    Value state, missing, unexpected, used;
    Value misses; /* the tensors of the missing names */
    Map given;    /* the tensors that the state has a value for, under any name of theirs */
    Bytes misfits;
    int n_misfits;
    bool write;
} Loading;

static bool visit_load(Walk *w, Value v, LangError *e) {
    Loading *l = w->ctx;
    char want[256], got[256];
    if (v.kind != V_TENSOR || v.tensor->is_unsaved) return true;
    Value key = v_str(w->path.data, w->path.n);
    const Value *found = map_find(l->state.map, key);
    if (!found) {
        if (!l->write && !w->is_alias) {
            list_push(l->missing.list, value_ref(key));
            list_push(l->misses.list, value_ref(v));
        }
        value_drop(key);
        return true;
    }
    if (!w->is_alias) map_put(&l->given, (uint64_t)(uintptr_t)v.heap, l);
    const TensorType *type = tensor_type(v.tensor),
                     *other = found->kind == V_TENSOR ? tensor_type(found->tensor) : NULL;
    bool fits = other && type_same_shape(other, type);
    if (!l->write) {
        mapv_put(l->used.map, value_ref(key), v_bool(true));
        if (!fits && l->n_misfits++ < PROBLEMS_SHOWN)
            bytes_printf(&l->misfits, "%s%s is %s, needed %s", l->n_misfits > 1 ? "; " : "",
                         key.str->s, other ? type_shape_text(other, got) : value_type_name(*found),
                         type_shape_text(type, want));
    }
    Value value = value_ref(*found);
    value_drop(key);
    bool ok = !l->write || !fits || tensor_update(w->in, v.tensor, value, e);
    value_drop(value);
    return ok;
}

static void name_problems(const char *title, Value names, Bytes *out) {
    uint32_t n = names.list->n;
    if (!n) return;
    bytes_printf(out, "%s%s ", out->n ? "; " : "", title);
    for (uint32_t i = 0; i < n && i < PROBLEMS_SHOWN; i++)
        bytes_printf(out, "%s%s", i ? ", " : "", names.list->v[i].str->s);
    if (n > PROBLEMS_SHOWN) bytes_printf(out, " and %u more", n - PROBLEMS_SHOWN);
}

/* True if the state has all missing names with a common prefix such as "module." or "model.". Sets
 * *out to the prefix. */
static bool wrapped_names(const Loading *l, Bytes *out) {
    uint32_t n = l->missing.list->n;
    const Str *want = n ? l->missing.list->v[0].str : NULL;
    for (uint32_t i = 0; want && i < l->unexpected.list->n; i++) {
        const Str *got = l->unexpected.list->v[i].str;
        size_t k = got->n > want->n ? got->n - want->n : 0;
        if (!k || got->s[k - 1] != '.' || strcmp(got->s + k, want->s)) continue;
        bool all = true;
        for (uint32_t j = 0; j < n && all; j++) {
            Bytes name = {0};
            bytes_add(&name, got->s, k);
            bytes_add(&name, l->missing.list->v[j].str->s, l->missing.list->v[j].str->n);
            Value key = v_str(name.data, name.n);
            all = map_find(l->state.map, key) != NULL;
            value_drop(key);
            bytes_fini(&name);
        }
        if (!all) continue;
        out->n = 0;
        bytes_add(out, got->s, k);
        return true;
    }
    return false;
}

/* Keeps of the missing names those whose tensors get no value under another name: of tied
 * parameters, safetensors.torch.save_model writes one. */
static void drop_tied(Interp *in, Loading *l) {
    Value missing = v_list(in, 0);
    for (uint32_t i = 0; i < l->missing.list->n; i++)
        if (!map_get(&l->given, (uint64_t)(uintptr_t)l->misses.list->v[i].heap))
            list_push(missing.list, value_ref(l->missing.list->v[i]));
    value_drop(l->missing);
    l->missing = missing;
}

static bool check_state(Interp *in, Value self, Loading *l, bool strict, LangError *e) {
    Walk w = {.visit = visit_load, .ctx = l, .aliases = true};
    TRY(walk_all(&w, in, self, e));
    if (strict) drop_tied(in, l);
    Value key, v;
    for (size_t i = 0; mapv_at(l->state.map, i, &key, &v); i++)
        if (!map_find(l->used.map, key)) list_push(l->unexpected.list, value_ref(key));
    Bytes text = {0};
    if (strict) {
        name_problems("missing", l->missing, &text);
        name_problems("unexpected", l->unexpected, &text);
    }
    if (l->n_misfits) bytes_printf(&text, "%s%s", text.n ? "; " : "", l->misfits.data);
    if (l->n_misfits > PROBLEMS_SHOWN)
        bytes_printf(&text, " and %d more", l->n_misfits - PROBLEMS_SHOWN);
    bool ok = text.n == 0;
    if (!ok) {
        error_set(e, "the state does not fit %s: %s", value_type_name(self), text.data);
        if (strict && wrapped_names(l, &text))
            error_hint(e,
                       "the names begin with '%.60s': load_state_dict({k[%zu:]: v for k, v in "
                       "state.items() if k.startswith(\"%.60s\")})",
                       text.data, text.n, text.data);
        else if (strict && !l->n_misfits)
            error_hint(e, "m.load_state_dict(state, strict=false) loads what fits and returns "
                          "[missing, unexpected]");
    }
    bytes_fini(&text);
    return ok;
}

static bool bi_load_state_dict(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool strict;
    TRY(value_truth(in, arg[2], &strict, e));
    if (arg[1].kind != V_MAP && arg[1].kind != V_LIST) /* a file with names "0", "1" is a list */
        return error_set(e, "load_state_dict needs a map of names to tensors, not %s",
                         value_type_name(arg[1])),
               arg[1].kind == V_STR &&
                   error_hint(e, "load_state_dict(load(\"%.100s\"))", arg[1].str->s);
    Loading l = {.state = v_map(in),
                 .missing = v_list(in, 0),
                 .misses = v_list(in, 0),
                 .unexpected = v_list(in, 0),
                 .used = v_map(in)};
    Bytes path = {0};
    bytes_puts(&path, "");
    flatten(in, arg[1], &path, l.state, 0);
    bytes_fini(&path);
    bool ok = check_state(in, arg[0], &l, strict, e);
    if (ok) {
        Walk w = {.visit = visit_load, .ctx = &l, .aliases = true};
        l.write = true;
        ok = walk_all(&w, in, arg[0], e);
    }
    if (ok && !strict) *out = v_pair(in, value_ref(l.missing), value_ref(l.unexpected));
    bytes_fini(&l.misfits);
    value_drop(l.state);
    value_drop(l.missing);
    value_drop(l.misses);
    map_fini(&l.given);
    value_drop(l.unexpected);
    value_drop(l.used);
    return ok;
}

/* ---- the methods ---- */

static bool text_arg(Interp *in, Value v, const char *what, Value *out, LangError *e) {
    if (v.kind == V_STR || v.kind == V_TEXT) return value_look(in, v, out, e);
    return error_set(e, "%s must be a string, not %s", what, value_type_name(v));
}

static bool members(Interp *in, const Value *arg, What what, bool is_named, bool shallow,
                    Value *out, LangError *e) {
    Walk w = {.visit = visit_member, .out = v_list(in, 0)};
    w.what = what, w.is_named = is_named, w.shallow = shallow;
    return collect(in, arg[0], w, out, e);
}
BUILTIN_AS(buffers, members, BUFFERS, false, false)
BUILTIN_AS(named_buffers, members, BUFFERS, true, false)
BUILTIN_AS(modules, members, MODULES, false, false)
BUILTIN_AS(named_modules, members, MODULES, true, false)
BUILTIN_AS(children, members, MODULES, false, true)
BUILTIN_AS(named_children, members, MODULES, true, true)

static bool bi_parameters(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool deep;
    return value_truth(in, arg[1], &deep, e) && members(in, arg, PARAMETERS, false, !deep, out, e);
}

/* Walks arg[0] with a prefix, such as "encoder.", before all names. */
static bool with_prefix(Interp *in, const Value *arg, Value prefix, Walk w, Value *out,
                        LangError *e) {
    Value text;
    if (!text_arg(in, prefix, "a prefix", &text, e)) {
        value_drop(w.out);
        return false;
    }
    w.prefix = text.str->s;
    bool ok = collect(in, arg[0], w, out, e);
    value_drop(text);
    return ok;
}

static bool bi_named_parameters(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool deep;
    TRY(value_truth(in, arg[2], &deep, e));
    Walk w = {.visit = visit_member, .out = v_list(in, 0), .is_named = true, .shallow = !deep};
    return with_prefix(in, arg, arg[1], w, out, e);
}

static bool bi_state_dict(Interp *in, const Value *arg, Value *out, LangError *e) {
    Walk w = {.visit = visit_state, .out = v_map(in)};
    return with_prefix(in, arg, arg[1], w, out, e);
}

static bool find_path(Interp *in, const Value *arg, bool module, Value *out, LangError *e) {
    Value path;
    TRY(text_arg(in, arg[1], "a path", &path, e));
    Walk w = {.visit = visit_find, .out = v_none(), .ctx = path.str->s};
    bool ok = collect(in, arg[0], w, out, e);
    if (ok && (module ? out->kind != V_OBJECT : out->kind != V_TENSOR)) {
        value_drop(*out);
        ok = error_set(e, "%s has no %s '%.200s'", value_type_name(arg[0]),
                       module ? "module" : "parameter or buffer", path.str->s);
        error_hint(e, module ? "m.named_modules()" : "m.named_parameters(), m.named_buffers()");
    }
    value_drop(path);
    return ok;
}
BUILTIN_AS(get_submodule, find_path, true)
BUILTIN_AS(get_parameter, find_path, false)

/* Calls f(m) for all modules, children before their parent. */
static bool bi_apply(Interp *in, const Value *arg, Value *out, LangError *e) {
    Walk w = {.visit = visit_member, .out = v_list(in, 0), .what = MODULES, .kids_first = true};
    Value all;
    TRY(collect(in, arg[0], w, &all, e));
    bool ok = true;
    for (uint32_t i = 0; i < all.list->n && ok; i++) {
        Value r = v_none();
        ok = interp_call(in, arg[1], &all.list->v[i], 1, &r, e);
        value_drop(r);
    }
    value_drop(all);
    *out = value_ref(arg[0]);
    if (!ok) value_drop(*out);
    return ok;
}

static bool flag_arg(Value v, const char *name, bool *on, LangError *e) {
    *on = v.kind == V_BOOL && v.b;
    return v.kind == V_BOOL ||
           error_set(e, "'%s' must be true or false, not %s", name, value_type_name(v));
}

static bool bi_requires_grad_(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool on;
    TRY(flag_arg(arg[1], "requires_grad", &on, e));
    Walk w = {.visit = visit_requires, .n = on};
    TRY(walk_all(&w, in, arg[0], e));
    *out = value_ref(arg[0]);
    return true;
}

/* Checks the name of a field to register, arg[1]. A private one is neither walked nor saved. */
static bool register_name(Interp *in, const Value *arg, bool may_be_private, const char **name,
                          LangError *e) {
    Value text;
    TRY(text_arg(in, arg[1], "a name", &text, e));
    const char *s = *name = intern(text.str->s, text.str->n);
    value_drop(text);
    if (!*s) return error_set(e, "a name must not be empty");
    if (strchr(s, '.')) return error_set(e, "a name must not contain dots: '%.100s'", s);
    if (*s == '_' && !may_be_private) {
        error_set(e, "'%.100s': names that begin with _ are private: not walked, not saved", s);
        return error_hint(e, "\"%.100s\"", s + strspn(s, "_"));
    }
    return true;
}

static bool bi_register_buffer(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool kept;
    const char *name;
    TRY(value_truth(in, arg[3], &kept, e) && register_name(in, arg, !kept, &name, e));
    if (arg[2].kind != V_TENSOR && arg[2].kind != V_NONE)
        return error_set(e, "a buffer must be a tensor or none, not %s", value_type_name(arg[2]));
    Value v = v_none();
    if (arg[2].kind == V_TENSOR) {
        Tensor *t = arg[2].tensor;
        v = t->is_param ? tensor_param(in, t, true, e) : v_tensor(tensor_as_buffer(in, t));
        v.tensor->is_unsaved = !kept;
    }
    return object_register(in, arg[0].obj, name, v, kept ? FIELD_BUFFER : FIELD_UNSAVED, e);
}

static bool bi_register_parameter(Interp *in, const Value *arg, Value *out, LangError *e) {
    const char *name;
    TRY(register_name(in, arg, false, &name, e));
    if (arg[2].kind != V_NONE && (arg[2].kind != V_TENSOR || !arg[2].tensor->is_param)) {
        error_set(e, "register_parameter takes a parameter or none, not %s",
                  value_type_name(arg[2]));
        return error_hint(e, "param(t)");
    }
    return object_register(in, arg[0].obj, name, value_ref(arg[2]), FIELD_PARAM, e);
}

/* Adds a module or function as a field, or as an item if self is a container of nn. */
static bool bi_add_module(Interp *in, const Value *arg, Value *out, LangError *e) {
    const char *name;
    Object *o = arg[0].obj;
    TRY(register_name(in, arg, false, &name, e));
    if (arg[2].kind != V_NONE && !value_is_callable(arg[2]))
        return error_set(e, "add_module takes a module, not %s", value_type_name(arg[2]));
    const Value *old = object_find(o, name);
    if (object_method(o, name) || (old && old->kind != V_NONE && !value_is_callable(*old)))
        return error_set(e, "the %s has a %s '%.100s' already", value_type_name(arg[0]),
                         old ? "field" : "method", name);
    if (object_is_container(o)) return object_put_named(in, o, name, value_ref(arg[2]), e);
    return object_set(in, o, name, value_ref(arg[2]), e);
}

/* Links self.name to maps: see object_link. */
static bool bi_link_field(Interp *in, const Value *arg, Value *out, LangError *e) {
    const char *name;
    TRY(register_name(in, arg, true, &name, e));
    const List *maps = arg[2].kind == V_LIST ? arg[2].list : NULL;
    bool ok = maps && maps->n;
    for (uint32_t i = 0; ok && i < maps->n; i++)
        ok = maps->v[i].kind == V_MAP && map_find_name(maps->v[i].map, name);
    if (!ok) return error_set(e, "link_field takes a list of maps that have the key '%s'", name);
    object_link(in, arg[0].obj, name, arg[2]);
    return true;
}

bool object_count(Interp *in, Object *o, int64_t *n, LangError *e) {
    Walk w = {.visit = visit_count};
    TRY(walk_all(&w, in, (Value){.kind = V_OBJECT, .obj = o}, e));
    *n = w.n;
    return true;
}

static bool bi_num_params(Interp *in, const Value *arg, Value *out, LangError *e) {
    *out = v_int(0);
    return object_count(in, arg[0].obj, &out->i, e);
}

static bool bi_zero_grad(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool to_none;
    TRY(value_truth(in, arg[1], &to_none, e));
    Walk w = {.visit = visit_zero_grad, .n = to_none};
    return walk_all(&w, in, arg[0], e);
}

static bool set_mode(Interp *in, const Value *arg, bool training, Value *out, LangError *e) {
    Walk w = {.visit = visit_mode, .n = training};
    return walk_all(&w, in, arg[0], e) && (*out = value_ref(arg[0]), true);
}
BUILTIN_AS(eval, set_mode, false)

static bool bi_train(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool on;
    return flag_arg(arg[1], "mode", &on, e) && set_mode(in, arg, on, out, e);
}

static bool cast_all(Interp *in, const Value *arg, DType d, Value *out, LangError *e) {
    Walk w = {.visit = visit_cast, .n = d};
    return walk_all(&w, in, arg[0], e) && (*out = value_ref(arg[0]), true);
}
BUILTIN_AS(float, cast_all, DT_F32)
BUILTIN_AS(double, cast_all, DT_F64)
BUILTIN_AS(half, cast_all, DT_F16)
BUILTIN_AS(bfloat16, cast_all, DT_BF16)

static bool bi_to(Interp *in, const Value *arg, Value *out, LangError *e) {
    DType d = arg[1].kind == V_DTYPE ? arg[1].dtype
              : arg[1].kind == V_STR ? dtype_find(arg[1].str->s, arg[1].str->n)
                                     : DT_NONE;
    if (arg[1].kind == V_BUILTIN && !strcmp(arg[1].builtin->name, "float")) d = DT_F32;
    if (!dtype_is_float(d)) {
        bool is_device = arg[1].kind == V_STR &&
                         (!strncmp(arg[1].str->s, "cuda", 4) || !strcmp(arg[1].str->s, "cpu"));
        if (is_device) {
            error_set(e, "modules have no device here: the cluster places their parameters");
            return error_hint(e, "drop the .to(\"%s\")", arg[1].str->s);
        }
        error_set(e, "parameters are cast to a float dtype");
        return error_hint(e, "m.to(float64)");
    }
    return cast_all(in, arg, d, out, e);
}

const Builtin builtins_object[] = {
    {"parameters", "self, recurse=true", bi_parameters,
     "The parameters, each once: the module's own, then those of what it holds, in the order of "
     "assignment."},
    {"named_parameters", "self, prefix=\"\", recurse=true", bi_named_parameters,
     "[name, parameter] for each parameter, in order, each once."},
    {"buffers", "self", bi_buffers, "The buffers, in order, each once."},
    {"named_buffers", "self", bi_named_buffers, "[name, buffer] for each buffer."},
    {"state_dict", "self, prefix=\"\"", bi_state_dict,
     "A map of names to values of parameters and buffers: a snapshot."},
    {"load_state_dict", "self, m, strict=true", bi_load_state_dict,
     "Writes values into parameters and buffers by name; all that does not fit is named at once."},
    {"zero_grad", "self, set_to_none=true", bi_zero_grad,
     "Sets .grad of all parameters to none, or to zeros."},
    {"requires_grad_", "self, requires_grad=true", bi_requires_grad_,
     "Sets whether the parameters are trained; false freezes them."},
    {"train", "self, mode=true", bi_train, "Sets self.training of the module and all in it."},
    {"eval", "self", bi_eval, "train(false): switches off dropout and the like."},
    {"num_params", "self", bi_num_params, "The number of elements of all parameters."},
    {"modules", "self", bi_modules, "The module and all modules in it."},
    {"named_modules", "self", bi_named_modules,
     "[name, module] for the module (\"\") and all in it."},
    {"children", "self", bi_children, "The direct submodules."},
    {"named_children", "self", bi_named_children, "[name, module] for the direct submodules."},
    {"get_submodule", "self, path", bi_get_submodule, "The module at a path: \"blocks.0.fc\"."},
    {"get_parameter", "self, path", bi_get_parameter,
     "The parameter or buffer at a path: \"blocks.0.fc.weight\"."},
    {"apply", "self, f", bi_apply,
     "Calls f with each module inside, inner ones first, then with the module itself; returns it."},
    {"register_buffer", "self, name, t, persistent=true", bi_register_buffer,
     "self.name = buffer(t); with persistent=false the buffer is in no state_dict."},
    {"register_parameter", "self, name, p", bi_register_parameter,
     "self.name = p, a parameter or none; afterwards the field accepts nothing else."},
    {"add_module", "self, name, m", bi_add_module,
     "self.name = m; in a container such as nn.Sequential, an item that is called after the "
     "others."},
    {"link_field", "self, name, maps", bi_link_field,
     "Reading self.name reads the key name of the first map; writing it writes the key of all "
     "maps."},
    {"to", "self, dtype", bi_to, "Casts the parameters."},
    {"float", "self", bi_float, "Casts the parameters to float32."},
    {"double", "self", bi_double, "Casts the parameters to float64."},
    {"half", "self", bi_half, "Casts the parameters to float16."},
    {"bfloat16", "self", bi_bfloat16, "Casts the parameters to bfloat16."},
    {NULL}};
