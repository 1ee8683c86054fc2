/* object.c: modules and their instances: making them, their fields and methods, and what every
 * object can do because its fields can be walked: parameters(), state_dict(), train() and so on.
 * A walk goes through fields, lists and maps in order; names beginning with _ are private to the
 * module: not walked, saved or printed.
 * SPDX-License-Identifier: MIT */
#include "lang/eval.h"
#include "lang/tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WALK_DEPTH = 100, PROBLEMS_SHOWN = 8 };

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

bool object_get(Interp *in, Object *o, const char *interned, Value *out, bool *found,
                LangError *e) {
    (void)e;
    const Value *v = object_find(o, interned);
    Fn *method = v ? NULL : object_method(o, interned);
    *found = true;
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

static bool is_walked(Value v) {
    return v.kind == V_OBJECT || v.kind == V_LIST || v.kind == V_MAP || v.kind == V_TENSOR;
}

/* A setting that the constructor was given (bias=true) and that becomes a parameter takes its
 * place in the order anew, so that parameters come in the order in which the body makes them. */
void object_set(Interp *in, Object *o, const char *interned, Value v) {
    Value key = name_str(in, interned), gone;
    const Value *old = map_find(o->field, key);
    if (old && !is_walked(*old) && is_walked(v) && mapv_remove(o->field, key, &gone))
        value_drop(gone);
    mapv_put(o->field, value_ref(key), v);
}

/* ---- walking ---- */

typedef struct Walk {
    Interp *in;
    Bytes path; /* "blocks.0.fc1.weight"                                */
    Map seen;   /* for visitors that want each thing once: Heap -> 1    */
    bool (*visit)(struct Walk *w, Value v,
                  LangError *e); /* tensors with identity, and objects    */
    Value out;
    int64_t n;
    void *ctx;
} Walk;
typedef struct Trail {
    const void *at;
    const struct Trail *up;
    int depth;
} Trail;

static bool walk(Walk *w, Value v, const Trail *up, LangError *e);

static bool walk_kid(Walk *w, Value key, Value v, const Trail *trail, LangError *e) {
    if (!is_walked(v))
        return true;
    if (key.kind == V_STR && key.str->s[0] == '_')
        return true;
    size_t n = w->path.n;
    if (n)
        bytes_putc(&w->path, '.');
    if (key.kind == V_STR)
        bytes_add(&w->path, key.str->s, key.str->n);
    else
        bytes_printf(&w->path, "%lld", (long long)key.i);
    bool ok = walk(w, v, trail, e);
    w->path.n = n;
    w->path.data[n] = 0;
    return ok;
}

static bool walk(Walk *w, Value v, const Trail *up, LangError *e) {
    if (v.kind == V_TENSOR)
        return (!v.tensor->is_param && !v.tensor->is_buffer) || w->visit(w, v, e);
    for (const Trail *t = up; t; t = t->up)
        if (t->at == v.heap)
            return true; /* a cycle: what is in it is being walked already */
    if (up && up->depth >= WALK_DEPTH)
        return error_set(e, "fields nest deeper than %d", WALK_DEPTH);
    Trail trail = {v.heap, up, up ? up->depth + 1 : 1};
    if (v.kind == V_OBJECT)
        TRY(w->visit(w, v, e));
    if (v.kind == V_LIST) {
        for (uint32_t i = 0; i < v.list->n; i++)
            TRY(walk_kid(w, v_int(i), v.list->v[i], &trail, e));
        return true;
    }
    MapV *m = v.kind == V_MAP ? v.map : v.obj->field;
    Value key, kid;
    if (m->is_space)
        return true;
    for (size_t i = 0; mapv_at(m, i, &key, &kid); i++)
        TRY(walk_kid(w, key, kid, &trail, e));
    return true;
}

static bool first_time(Walk *w, Value v) {
    uint64_t key = (uint64_t)(uintptr_t)v.heap;
    if (map_get(&w->seen, key))
        return false;
    map_put(&w->seen, key, w);
    return true;
}

static bool walk_all(Walk *w, Interp *in, Value self, LangError *e) {
    w->in = in;
    bytes_puts(&w->path, "");
    bool ok = walk(w, self, NULL, e);
    bytes_fini(&w->path);
    map_fini(&w->seen);
    return ok;
}

/* Walks self with a list or map as result. */
static bool gather(Interp *in, Value self, bool (*visit)(Walk *w, Value v, LangError *e), Value out,
                   Value *result, LangError *e) {
    Walk w = {.visit = visit, .out = out};
    if (!walk_all(&w, in, self, e)) {
        value_drop(w.out);
        return false;
    }
    *result = w.out;
    return true;
}

static Value pair(Interp *in, const Bytes *name, Value v) {
    Value p = v_list(in, 2);
    list_push(p.list, v_str(name->data, name->n));
    list_push(p.list, value_ref(v));
    return p;
}

static bool is_trained(Value v) {
    return v.kind == V_TENSOR && v.tensor->is_param && !v.tensor->is_buffer;
}

static bool visit_param(Walk *w, Value v, LangError *e) {
    (void)e;
    if (is_trained(v) && first_time(w, v))
        list_push(w->out.list, value_ref(v));
    return true;
}

static bool visit_named_param(Walk *w, Value v, LangError *e) {
    (void)e;
    if (is_trained(v) && first_time(w, v))
        list_push(w->out.list, pair(w->in, &w->path, v));
    return true;
}

static bool visit_module(Walk *w, Value v, LangError *e) {
    (void)e;
    if (v.kind == V_OBJECT && first_time(w, v))
        list_push(w->out.list, value_ref(v));
    return true;
}

static bool visit_named_module(Walk *w, Value v, LangError *e) {
    (void)e;
    if (v.kind == V_OBJECT && first_time(w, v))
        list_push(w->out.list, pair(w->in, &w->path, v));
    return true;
}

static bool visit_state(Walk *w, Value v, LangError *e) {
    (void)e;
    if (v.kind == V_TENSOR)
        mapv_put(w->out.map, v_str(w->path.data, w->path.n),
                 v_tensor(tensor_detach(w->in, v.tensor)));
    return true;
}

static bool visit_count(Walk *w, Value v, LangError *e) {
    (void)e;
    if (is_trained(v) && first_time(w, v))
        w->n += type_numel(tensor_type(v.tensor));
    return true;
}

static bool visit_zero_grad(Walk *w, Value v, LangError *e) {
    static const char grad[] = "grad";
    return !is_trained(v) || tensor_set_field(w->in, v.tensor, intern(grad, 4), v_none(), e);
}

static bool visit_mode(Walk *w, Value v, LangError *e) {
    (void)e;
    if (v.kind == V_OBJECT)
        object_set(w->in, v.obj, intern("training", 8), v_bool(w->n));
    return true;
}

static bool visit_cast(Walk *w, Value v, LangError *e) {
    if (v.kind != V_TENSOR || !dtype_is_float(tensor_type(v.tensor)->dtype) || !first_time(w, v))
        return true;
    Tensor *t = v.tensor, *value = tensor_detach(w->in, t),
           *cast = tensor_cast(w->in, value, (DType)w->n, e);
    tensor_unref(value);
    TRY(cast != NULL);
    Handle *old = t->handle;
    t->handle = handle_ref(cast->handle); /* the identity stays, with a value of another dtype */
    handle_unref(w->in->stream, &old);
    tensor_unref(cast);
    if (t->grad)
        return tensor_set_field(w->in, t, intern("grad", 4), v_none(), e);
    return true;
}

/* ---- state ---- */

static void flatten(Interp *in, Value v, Bytes *path, Value out, int depth) {
    Value key, kid;
    bool is_list = v.kind == V_LIST;
    for (size_t i = 0; is_list ? i < v.list->n : mapv_at(v.map, i, &key, &kid); i++) {
        size_t n = path->n;
        if (is_list) {
            key = v_int((int64_t)i);
            kid = v.list->v[i];
        }
        if (n)
            bytes_putc(path, '.');
        if (key.kind == V_STR)
            bytes_add(path, key.str->s, key.str->n);
        else
            bytes_printf(path, "%lld", (long long)key.i);
        if ((kid.kind == V_MAP || kid.kind == V_LIST) && depth < WALK_DEPTH)
            flatten(in, kid, path, out, depth + 1);
        else
            mapv_put(out.map, v_str(path->data, path->n), value_ref(kid));
        path->n = n;
        path->data[n] = 0;
    }
}

/* What does not fit, by name: three lists, and the writing that waits until all is known to fit. */
typedef struct Loading {
    Value state, missing, unexpected, used;
    Bytes misfits;
    int n_misfits;
    bool write;
} Loading;

static bool visit_load(Walk *w, Value v, LangError *e) {
    Loading *l = w->ctx;
    char want[256], got[256];
    if (v.kind != V_TENSOR)
        return true;
    Value key = v_str(w->path.data, w->path.n);
    const Value *found = map_find(l->state.map, key);
    if (!found) {
        if (!l->write)
            list_push(l->missing.list, value_ref(key));
        value_drop(key);
        return true;
    }
    const TensorType *type = tensor_type(v.tensor),
                     *other = found->kind == V_TENSOR ? tensor_type(found->tensor) : NULL;
    bool fits = other && other->rank == type->rank &&
                !memcmp(other->shape, type->shape, type->rank * sizeof *type->shape);
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
    if (!n)
        return;
    bytes_printf(out, "%s%s ", out->n ? "; " : "", title);
    for (uint32_t i = 0; i < n && i < PROBLEMS_SHOWN; i++)
        bytes_printf(out, "%s%s", i ? ", " : "", names.list->v[i].str->s);
    if (n > PROBLEMS_SHOWN)
        bytes_printf(out, " and %u more", n - PROBLEMS_SHOWN);
}

static bool check_state(Interp *in, Value self, Loading *l, bool strict, LangError *e) {
    Walk w = {.visit = visit_load, .ctx = l};
    TRY(walk_all(&w, in, self, e));
    Value key, v;
    for (size_t i = 0; mapv_at(l->state.map, i, &key, &v); i++)
        if (!map_find(l->used.map, key))
            list_push(l->unexpected.list, value_ref(key));
    Bytes text = {0};
    if (strict) {
        name_problems("missing", l->missing, &text);
        name_problems("unexpected", l->unexpected, &text);
    }
    if (l->n_misfits)
        bytes_printf(&text, "%s%s", text.n ? "; " : "", l->misfits.data);
    if (l->n_misfits > PROBLEMS_SHOWN)
        bytes_printf(&text, " and %d more", l->n_misfits - PROBLEMS_SHOWN);
    bool ok = text.n == 0;
    if (!ok) {
        error_set(e, "the state does not fit %s: %s", value_type_name(self), text.data);
        if (strict && !l->n_misfits)
            error_hint(
                e,
                "load_state_dict(m, strict=false) takes what fits, gives [missing, unexpected]");
    }
    bytes_fini(&text);
    return ok;
}

static bool bi_load_state_dict(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool strict;
    TRY(value_truth(in, arg[2], &strict, e));
    if (arg[1].kind != V_MAP)
        return error_set(e, "load_state_dict needs a map of names to tensors, not %s",
                         value_type_name(arg[1]));
    Loading l = {.state = v_map(in),
                 .missing = v_list(in, 0),
                 .unexpected = v_list(in, 0),
                 .used = v_map(in)};
    Bytes path = {0};
    bytes_puts(&path, "");
    flatten(in, arg[1], &path, l.state, 0);
    bytes_fini(&path);
    bool ok = check_state(in, arg[0], &l, strict, e);
    if (ok) {
        Walk w = {.visit = visit_load, .ctx = &l};
        l.write = true;
        ok = walk_all(&w, in, arg[0], e);
    }
    *out = v_none();
    if (ok && !strict) {
        *out = v_list(in, 2);
        list_push(out->list, value_ref(l.missing));
        list_push(out->list, value_ref(l.unexpected));
    }
    bytes_fini(&l.misfits);
    value_drop(l.state);
    value_drop(l.missing);
    value_drop(l.unexpected);
    value_drop(l.used);
    return ok;
}

/* ---- the methods ---- */

static bool bi_parameters(Interp *in, const Value *arg, Value *out, LangError *e) {
    return gather(in, arg[0], visit_param, v_list(in, 0), out, e);
}

static bool bi_named_parameters(Interp *in, const Value *arg, Value *out, LangError *e) {
    return gather(in, arg[0], visit_named_param, v_list(in, 0), out, e);
}

static bool bi_modules(Interp *in, const Value *arg, Value *out, LangError *e) {
    return gather(in, arg[0], visit_module, v_list(in, 0), out, e);
}

static bool bi_named_modules(Interp *in, const Value *arg, Value *out, LangError *e) {
    return gather(in, arg[0], visit_named_module, v_list(in, 0), out, e);
}

static bool bi_state_dict(Interp *in, const Value *arg, Value *out, LangError *e) {
    return gather(in, arg[0], visit_state, v_map(in), out, e);
}

static bool bi_num_params(Interp *in, const Value *arg, Value *out, LangError *e) {
    Walk w = {.visit = visit_count};
    TRY(walk_all(&w, in, arg[0], e));
    *out = v_int(w.n);
    return true;
}

static bool bi_zero_grad(Interp *in, const Value *arg, Value *out, LangError *e) {
    Walk w = {.visit = visit_zero_grad};
    *out = v_none();
    return walk_all(&w, in, arg[0], e);
}

static bool set_mode(Interp *in, Value self, bool training, Value *out, LangError *e) {
    Walk w = {.visit = visit_mode, .n = training};
    TRY(walk_all(&w, in, self, e));
    *out = value_ref(self);
    return true;
}

static bool bi_train(Interp *in, const Value *arg, Value *out, LangError *e) {
    bool on;
    return value_truth(in, arg[1], &on, e) && set_mode(in, arg[0], on, out, e);
}

static bool bi_eval(Interp *in, const Value *arg, Value *out, LangError *e) {
    return set_mode(in, arg[0], false, out, e);
}

static bool bi_to(Interp *in, const Value *arg, Value *out, LangError *e) {
    DType d = arg[1].kind == V_DTYPE ? arg[1].dtype
              : arg[1].kind == V_STR ? dtype_find(arg[1].str->s, arg[1].str->n)
                                     : DT_NONE;
    if (arg[1].kind == V_BUILTIN && !strcmp(arg[1].builtin->name, "float"))
        d = DT_F32;
    if (!dtype_is_float(d)) {
        error_set(e, "parameters are cast to a float dtype");
        return error_hint(e, "m.to(float64); where things run is not the program's business");
    }
    Walk w = {.visit = visit_cast, .n = d};
    TRY(walk_all(&w, in, arg[0], e));
    *out = value_ref(arg[0]);
    return true;
}

const Builtin builtins_object[] = {
    {"parameters", "self", bi_parameters,
     "The parameters in fields, lists and maps, in order, each once.", 0, -1},
    {"named_parameters", "self", bi_named_parameters,
     "[name, parameter] for each parameter, in order, each once.", 0, -1},
    {"state_dict", "self", bi_state_dict,
     "A map of names to values of parameters and buffers: a snapshot.", 0, -1},
    {"load_state_dict", "self, m, strict=true", bi_load_state_dict,
     "Writes values into parameters and buffers by name; all that does not fit is named at once.",
     0, -1},
    {"zero_grad", "self", bi_zero_grad, "Sets .grad of all parameters to none.", 0, -1},
    {"train", "self, mode=true", bi_train, "Sets self.training of the module and all in it.", 0,
     -1},
    {"eval", "self", bi_eval, "train(false): dropout and the like do nothing.", 0, -1},
    {"num_params", "self", bi_num_params, "How many numbers its parameters hold.", 0, -1},
    {"modules", "self", bi_modules, "The module and all modules in it.", 0, -1},
    {"named_modules", "self", bi_named_modules,
     "[name, module] for the module (\"\") and all in it.", 0, -1},
    {"to", "self, dtype", bi_to, "Casts the parameters.", 0, -1},
    {NULL}};

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
            (!value_is_number(*v) && v->kind != V_STR && v->kind != V_NONE))
            continue;
        show_text(p, "%s%s=", first ? "" : ", ", f->param[i].name);
        TRY(pieces_value(in, p, *v, true, e));
        first = false;
    }
    show_text(p, ")");
    Walk w = {.visit = visit_count};
    TRY(walk_all(&w, in, (Value){.kind = V_OBJECT, .obj = o}, e));
    if (w.n)
        show_text(p, "  %lld parameter%s", (long long)w.n, w.n == 1 ? "" : "s");
    return true;
}

#define SHOW_NEST 6 /* lists and maps in each other; also where they hold each other in a circle */

static int n_dots(const char *s) {
    int n = 0;
    for (; *s; s++) n += *s == '.';
    return n;
}

static bool show_kid(Interp *in, const char *name, Value v, int indent, Pieces *p, LangError *e) {
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
    if (n_dots(name) == SHOW_NEST)
        return true;
    Value key, kid;
    for (uint32_t i = 0; v.kind == V_LIST && i < v.list->n; i++) {
        snprintf(path, sizeof path, "%.200s.%u", name, i);
        TRY(show_kid(in, path, v.list->v[i], indent, p, e));
    }
    for (size_t i = 0; v.kind == V_MAP && mapv_at(v.map, i, &key, &kid); i++) {
        if (key.kind == V_STR)
            snprintf(path, sizeof path, "%.200s.%.90s", name, key.str->s);
        else
            snprintf(path, sizeof path, "%.200s.%lld", name, (long long)key.i);
        if (key.kind != V_STR || key.str->s[0] != '_')
            TRY(show_kid(in, path, kid, indent, p, e));
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
            TRY(show_kid(in, key.str->s, v, indent + 2, p, e));
    return true;
}
