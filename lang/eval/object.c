/* object.c: modules and their instances: creation, fields, methods and field order. A field _items
 * that is a list or a map makes an object a container: m[i], m[a:b], m["name"], len(m),
 * `for x in m` and `k in m` refer to the items, and items are walked, saved and printed as if they
 * were fields of the object itself (nn.Sequential, nn.ModuleList, nn.ModuleDict). object_walk.c has
 * the methods that walk an object.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/object.h"
#include "lang/value/mapv.h"
#include "lang/eval/import.h"
#include "lang/eval/call.h"
#include "lang/eval/subscript.h"
#include "lang/eval/eval.h"
#include "lang/tensor/tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

Value module_new(Interp *in, Node *n) {
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
    return (Value){.kind = V_MODULE, .module = m};
}

bool module_call(Interp *in, Module *m, Value *base, int n_pos, int n_kw, const Node *call,
                 Value *out, LangError *e) {
    Object *o = container_new(in, V_OBJECT, sizeof *o);
    Value self = {.kind = V_OBJECT, .obj = o}, result;
    o->module = m;
    m->c.h.refs++;
    o->field = v_map(in).map;
    o->is_new = true;
    if (!fn_call(in, m->make, self, base, n_pos, n_kw, call, &result, e)) {
        value_drop(self);
        return false;
    }
    o->is_new = false;
    value_drop(result);
    *out = self;
    return true;
}

/* ---- fields ---- */

Value *object_find(Object *o, const char *interned) {
    Value name = name_str(o->c.in, interned), *v = map_find(o->field, name);
    return v && *slot_tag(v) == FIELD_LINK ? map_find(v->list->v[0].map, name) : v;
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

bool object_get(Interp *in, Object *o, const char *interned, Value *out) {
    const Value *v = object_find(o, interned);
    Fn *method = v ? NULL : object_method(o, interned);
    if (!v && !method) v = object_item(o, interned);
    if (v) {
        *out = value_ref(*v);
    } else if (method) {
        Bound *b = container_new(in, V_BOUND, sizeof *b);
        b->self = value_ref((Value){.kind = V_OBJECT, .obj = o});
        b->f = value_ref((Value){.kind = V_FN, .fn = method});
        *out = (Value){.kind = V_BOUND, .bound = b};
    } else if (!strcmp(interned, "training")) {
        *out = v_bool(true); /* the default until eval() or train() sets it */
    } else {
        return false;
    }
    return true;
}

bool object_holds(Value v) {
    return v.kind == V_OBJECT || v.kind == V_LIST || v.kind == V_MAP || v.kind == V_TENSOR;
}

/* The pass of an ObjectIter that visits v, in PyTorch's order: parameters, buffers, other values
 * that hold something. N_PASSES for values that hold nothing. */
enum { PASS_PARAM, PASS_BUFFER, PASS_REST, N_PASSES };
static int pass_of(Value v) {
    if (v.kind != V_TENSOR) return object_holds(v) ? PASS_REST : N_PASSES;
    return v.tensor->is_param ? PASS_PARAM : v.tensor->is_buffer ? PASS_BUFFER : N_PASSES;
}

/* Returns what a field accepts: FIELD_PARAM, FIELD_BUFFER, FIELD_UNSAVED, or FIELD_PLAIN for
 * anything. A kept argument accepts anything while the constructor runs. */
static FieldTag role_of(const Object *o, Value *slot) {
    if (!slot || (o->is_new && *slot_tag(slot) == FIELD_GIVEN)) return FIELD_PLAIN;
    int pass = pass_of(*slot), tag = *slot_tag(slot);
    if (pass == PASS_PARAM) return FIELD_PARAM;
    if (pass == PASS_BUFFER) return slot->tensor->is_unsaved ? FIELD_UNSAVED : FIELD_BUFFER;
    bool is_role = tag == FIELD_PARAM || tag == FIELD_BUFFER || tag == FIELD_UNSAVED;
    return slot->kind == V_NONE && is_role ? (FieldTag)tag : FIELD_PLAIN;
}

/* The assignment target as the program spells it: net.fc.weight. */
static const char *target_text(const Interp *in, const char *name, char *buf) {
    const Node *n = in->at;
    if (!n || (n->kind != N_FIELD && n->kind != N_INDEX)) return name;
    return node_text(n, buf);
}

static bool is_param(Value v) { return v.kind == V_TENSOR && v.tensor->is_param; }

static bool param_error(Interp *in, const char *name, Value old, Value v, LangError *e) {
    char quote[80];
    const char *x = target_text(in, name, quote);
    error_set(e, "'%s' is a parameter: %s %s cannot take its place, it would not be trained", x,
              v.kind == V_TENSOR ? "a plain" : "a value of type", value_type_name(v));
    if (old.kind == V_NONE) return error_hint(e, "%s = param(…), or none", x);
    return error_hint(e, "%s.copy_(…) writes into it, %s = param(…) makes a new one", x, x);
}

/* Checks *v against a field's role; a buffer field converts it to a buffer. On failure *v is
 * unchanged and stays the caller's. */
static bool fit_role(Interp *in, const char *name, FieldTag role, Value old, Value *v,
                     LangError *e) {
    char quote[80];
    if (v->kind == V_NONE || is_param(*v) || role == FIELD_PLAIN) return true;
    if (role == FIELD_PARAM) return param_error(in, name, old, *v, e);
    if (v->kind == V_OBJECT) return true;
    if (v->kind != V_TENSOR) {
        const char *x = target_text(in, name, quote);
        error_set(e, "'%s' is a buffer: it takes a tensor or none, not %s", x, value_type_name(*v));
        return value_is_number(*v) ? error_hint(e, "%s.fill_(v)", x) : false;
    }
    bool unsaved = role == FIELD_UNSAVED;
    if (v->tensor->is_buffer && v->tensor->is_unsaved == unsaved) return true;
    Tensor *t = tensor_as_buffer(in, v->tensor);
    t->is_unsaved = unsaved;
    value_set(v, v_tensor(t));
    return true;
}

static FieldTag tag_after(FieldTag role, Value v) {
    if (v.kind == V_NONE) return role;
    return is_param(v) ? FIELD_PARAM : v.kind == V_TENSOR ? role : FIELD_PLAIN;
}

/* Stores v in a field; consumes v. The field moves to the end of the order if v belongs to another
 * pass than the old value, or if the field was a constructor argument until now. */
static void put_field(Object *o, Value key, Value *old, Value v, FieldTag role) {
    bool moves = false;
    if (old && object_holds(v)) {
        FieldTag was = role_of(o, old);
        int pass = was == FIELD_PLAIN   ? pass_of(*old)
                   : was == FIELD_PARAM ? PASS_PARAM
                                        : PASS_BUFFER;
        moves = *slot_tag(old) == FIELD_GIVEN || pass != pass_of(v);
    }
    Value gone;
    if (moves && mapv_remove(o->field, key, &gone)) value_drop(gone);
    FieldTag tag = tag_after(role, v);
    if (old && !moves) {
        *slot_tag(old) = (uint8_t)tag; /* before value_set, which may run any code as it drops */
        value_set(old, v);
        return;
    }
    mapv_put(o->field, value_ref(key), v);
    if (tag) *slot_tag(map_find(o->field, key)) = (uint8_t)tag;
}

/* Fails if a number or a flag would become a value of another kind. Consumes v. */
static bool set_linked(const List *maps, Value key, Value v, LangError *e) {
    const Value *old = map_find(maps->v[0].map, key);
    bool is_flag = old && old->kind == V_BOOL, is_number = old && !is_flag && value_is_number(*old);
    bool is_scalar = v.kind == V_TENSOR && !tensor_type(v.tensor)->rank;
    bool differs = is_flag ? v.kind != V_BOOL : !value_is_number(v) && !is_scalar;
    if ((is_flag || is_number) && differs) {
        error_set(e, "%s must be %s, not %s", key.str->s, is_flag ? "true or false" : "a number",
                  value_type_name(v));
        value_drop(v);
        return false;
    }
    for (uint32_t i = 0; i < maps->n; i++) mapv_put(maps->v[i].map, value_ref(key), value_ref(v));
    value_drop(v);
    return true;
}

bool object_register(Interp *in, Object *o, const char *interned, Value v, FieldTag role,
                     LangError *e) {
    Value key = name_str(in, interned), *old = map_find(o->field, key);
    FieldTag was = role_of(o, old);
    if (was == FIELD_PARAM) role = was;
    if (!fit_role(in, interned, role, old ? *old : v_none(), &v, e)) {
        value_drop(v);
        return false;
    }
    put_field(o, key, old, v, role);
    return true;
}

bool object_set(Interp *in, Object *o, const char *interned, Value v, LangError *e) {
    Value key = name_str(in, interned), *old = map_find(o->field, key);
    if (old && *slot_tag(old) == FIELD_LINK) return set_linked(old->list, key, v, e);
    bool is_child = v.kind == V_OBJECT && *interned != '_' && object_is_container(o);
    if (is_child || (!old && object_item(o, interned)))
        return object_put_named(in, o, interned, v, e);
    return object_register(in, o, interned, v, role_of(o, old), e);
}

void object_keep(Interp *in, Object *o, const char *interned, Value v) {
    Value key = name_str(in, interned);
    mapv_put(o->field, value_ref(key), v);
    *slot_tag(map_find(o->field, key)) = FIELD_GIVEN;
}

void object_link(Interp *in, Object *o, const char *interned, Value maps) {
    Value key = name_str(in, interned), own = v_list(in, maps.list->n);
    for (uint32_t i = 0; i < maps.list->n; i++) list_push(own.list, value_ref(maps.list->v[i]));
    mapv_put(o->field, value_ref(key), own); /* a private copy, which the program cannot change */
    *slot_tag(map_find(o->field, key)) = FIELD_LINK;
}

/* ---- iterating over an object ---- */

enum { ASSIGNED_DEPTH = 100 };

static void note_assigned(Map *seen, Value v, int depth) {
    uint64_t id = (uint64_t)(uintptr_t)v.heap;
    Value key, kid;
    if (!object_holds(v) || depth == ASSIGNED_DEPTH || map_get(seen, id)) return;
    map_put(seen, id, v.heap);
    for (uint32_t i = 0; v.kind == V_LIST && i < v.list->n; i++)
        note_assigned(seen, v.list->v[i], depth + 1);
    MapV *m = v.kind == V_OBJECT                    ? v.obj->field
              : v.kind == V_MAP && !v.map->is_space ? v.map
                                                    : NULL;
    for (size_t i = 0; m && mapv_at(m, i, &key, &kid); i++)
        if (v.kind != V_OBJECT || (key.str->s[0] != '_' && m->entry[i].tag != FIELD_LINK))
            note_assigned(seen, kid, depth + 1);
    const Value *items = v.kind == V_OBJECT ? object_items(v.obj) : NULL;
    if (items) note_assigned(seen, *items, depth + 1);
}

static bool is_private(Value key) { return key.kind == V_STR && key.str->s[0] == '_'; }

void object_iter_open(ObjectIter *it, Object *o) {
    Value key, v;
    MapV *m = o->field;
    bool any = false;
    *it = (ObjectIter){.o = o};
    for (size_t i = 0; !any && mapv_at(m, i, &key, &v); i++)
        any = m->entry[i].tag == FIELD_GIVEN && object_holds(v) && !is_private(key);
    if (!any) return;
    for (size_t i = 0; mapv_at(m, i, &key, &v); i++)
        if (!is_private(key) && m->entry[i].tag != FIELD_GIVEN && m->entry[i].tag != FIELD_LINK)
            note_assigned(&it->assigned, v, 0);
    const Value *items = object_items(o);
    if (items) note_assigned(&it->assigned, *items, 0);
}

static bool next_field(ObjectIter *it, Value *key, Value *v) {
    while (mapv_at(it->o->field, it->i, key, v)) {
        FieldTag tag = (FieldTag)it->o->field->entry[it->i++].tag;
        if (is_private(*key) || tag == FIELD_LINK) continue;
        it->is_given = tag == FIELD_GIVEN;
        return true;
    }
    it->is_given = false;
    return false;
}

static bool next_item(ObjectIter *it, Value *key, Value *v) {
    const Value *items = object_items(it->o);
    if (!items || items->kind == V_MAP) return items && mapv_at(items->map, it->i++, key, v);
    if (it->i >= items->list->n) return false;
    *v = items->list->v[it->i];
    *key = v_int((int64_t)it->i++);
    return true;
}

bool object_iter_next(ObjectIter *it, Value *key, Value *v) {
    for (; it->pass < N_PASSES; it->pass++, it->in_items = false, it->i = 0) {
        for (;;) {
            if (it->in_items ? !next_item(it, key, v) : !next_field(it, key, v)) {
                if (it->in_items) break;
                it->in_items = true;
                it->i = 0;
                continue;
            }
            int pass = pass_of(*v);
            if (pass == N_PASSES) pass = PASS_REST; /* functions, which are printed too */
            if (pass == it->pass) return true;
        }
    }
    return false;
}

void object_iter_close(ObjectIter *it) { map_fini(&it->assigned); }

/* ---- containers ---- */

bool object_is_container(const Object *o) {
    const AstFn *f = o->module && o->module->make ? o->module->make->ast : NULL;
    return f && f->at.src && f->at.src->is_prelude && object_items(o);
}

/* A shallow copy of o with other items. Consumes items. */
static Value like_with_items(Interp *in, Object *o, Value items) {
    Object *copy = container_new(in, V_OBJECT, sizeof *copy);
    Value key, v;
    copy->module = o->module;
    o->module->c.h.refs++;
    copy->field = v_map(in).map;
    for (size_t i = 0; mapv_at(o->field, i, &key, &v); i++) {
        mapv_put(copy->field, value_ref(key), value_ref(v));
        *slot_tag(map_find(copy->field, key)) = o->field->entry[i].tag;
    }
    mapv_put(copy->field, value_ref(name_str(in, intern("_items", 6))), items);
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

bool object_gives_keys(const Object *o) {
    const Value *items = object_items(o);
    return items->kind == V_MAP &&
           (!object_is_container(o) || object_method(o, intern("keys", 4)) != NULL);
}

Value object_elements(Interp *in, Object *o) {
    return in_order(in, *object_items(o), object_gives_keys(o));
}

bool object_take_item(Interp *in, Object *o, const Value *old, Value *v, LangError *e) {
    if (old && is_param(*old) && v->kind != V_NONE && !is_param(*v))
        return param_error(in, "the item", *old, *v, e);
    Fn *f = object_is_container(o) ? object_method(o, intern("_item", 5)) : NULL;
    Value made;
    if (!f) return true;
    TRY(stack_room(in, 1, e));
    Value *base = in->stack->top++;
    *base = value_ref(*v);
    TRY(fn_call(in, f, (Value){.kind = V_OBJECT, .obj = o}, base, 1, 0, NULL, &made, e));
    value_set(v, made);
    return true;
}

/* Converts a list of items to a map with the keys "0", "1" ... */
static void name_items(Interp *in, Value *items) {
    Value map = v_map(in);
    char name[24];
    for (uint32_t i = 0; i < items->list->n; i++) {
        int n = snprintf(name, sizeof name, "%u", i);
        mapv_put(map.map, v_str(name, (size_t)n), value_ref(items->list->v[i]));
    }
    value_set(items, map);
}

/* True if name is an index ("0" ...) of the list or its length; sets *place. */
static bool place_of_name(const List *l, const char *name, uint32_t *place) {
    char *end;
    unsigned long i = strtoul(name, &end, 10);
    *place = (uint32_t)i;
    return *name >= '0' && *name <= '9' && !*end && (*name != '0' || !name[1]) && i <= l->n;
}

bool object_put_named(Interp *in, Object *o, const char *interned, Value v, LangError *e) {
    Value *items = object_items(o), key = name_str(in, interned);
    uint32_t i = 0;
    bool is_place = items->kind == V_LIST && place_of_name(items->list, interned, &i);
    const Value *old = items->kind == V_MAP             ? map_find(items->map, key)
                       : is_place && i < items->list->n ? &items->list->v[i]
                                                        : NULL;
    if (!object_take_item(in, o, old, &v, e)) {
        value_drop(v);
        return false;
    }
    items = object_items(o);
    if (items->kind == V_LIST && !is_place) name_items(in, items);
    if (items->kind == V_MAP)
        mapv_put(items->map, value_ref(key), v);
    else if (i < items->list->n)
        value_set(&items->list->v[i], v);
    else
        list_push(items->list, v);
    return true;
}

/* Sets *out to the elements of `more`, or its items if it is a container, as a list. */
static bool gathered(Interp *in, const Node *n, Value more, Value *out, LangError *e) {
    Iter it;
    Value item, all = v_list(in, 0);
    int got = -1;
    if (more.kind == V_OBJECT && object_items(more.obj)) {
        value_drop(all);
        *out = in_order(in, *object_items(more.obj), false);
        return true;
    }
    if (iter_open(in, n, more, &it, e)) {
        while ((got = iter_next(in, &it, &item, e)) > 0) list_push(all.list, item);
        iter_close(in, &it);
    }
    *out = all;
    if (got < 0) value_drop(all);
    return got == 0;
}

bool object_extend(Interp *in, const Node *n, Object *o, Value more, LangError *e) {
    Value all;
    char name[24];
    TRY(gathered(in, n, more, &all, e));
    bool ok = true;
    for (uint32_t i = 0, count = all.list->n; ok && i < count; i++) {
        Value v = value_ref(all.list->v[i]);
        ok = object_take_item(in, o, NULL, &v, e);
        Value *items = object_items(o);
        if (!ok) {
            value_drop(v);
        } else if (items->kind == V_LIST) {
            list_push(items->list, v);
        } else {
            int len = snprintf(name, sizeof name, "%zu", map_count(items->map));
            mapv_put(items->map, v_str(name, (size_t)len), v);
        }
    }
    value_drop(all);
    return at_node(in, n, ok, e);
}

bool object_concat(Interp *in, const Node *n, Object *o, Value more, Value *out, LangError *e) {
    Value mine = *object_items(o), all, key, v;
    if (mine.kind == V_LIST) {
        all = v_list(in, mine.list->n);
        for (uint32_t i = 0; i < mine.list->n; i++) list_push(all.list, value_ref(mine.list->v[i]));
    } else {
        all = v_map(in);
        for (size_t i = 0; mapv_at(mine.map, i, &key, &v); i++)
            mapv_put(all.map, value_ref(key), value_ref(v));
    }
    Value made = like_with_items(in, o, all);
    return give_if(object_extend(in, n, made.obj, more, e), made, out);
}

/* A slice of the items, as an object of the same kind like PyTorch's Sequential. */
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
    } else { /* an index into a map */
        all = in_order(in, items, false);
        ok = subscript_get(in, n, all, &sub, 1, out, e);
    }
    value_drop(all);
    value_drop(items);
    return ok;
}

Value *object_target(Object *o, Value *sub) {
    Value *items = object_items(o), key, v;
    const char *name = value_name(*sub);
    if (!items || (name && (items->kind == V_LIST || object_find(o, name)))) return NULL;
    if (items->kind == V_MAP && sub->kind == V_INT && !map_find(items->map, *sub)) {
        int64_t count = (int64_t)map_count(items->map), i = sub->i + (sub->i < 0 ? count : 0);
        if (i >= 0 && i < count && mapv_at(items->map, (size_t)i, &key, &v))
            *sub = key; /* an index into a map */
    }
    return items;
}
