/* object.h: modules and their objects: fields, methods, items, parameters.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_OBJECT_H
#define GT_LANG_EVAL_OBJECT_H
#include "lang/value/interp.h"
#include "runtime/base/map.h"

/* The role of a field. A parameter or buffer field keeps its role while its value is none. */
typedef enum FieldTag {
    FIELD_PLAIN,
    FIELD_GIVEN, /* a constructor argument that has not been assigned since */
    FIELD_PARAM,
    FIELD_BUFFER,
    FIELD_UNSAVED, /* a buffer with persistent=false */
    FIELD_LINK     /* the value is a list of maps, see object_link */
} FieldTag;
Value module_new(Interp *in, Node *n); /* N_MODULE */
bool module_call(Interp *in, Module *m, Value *base, int n_pos, int n_kw, const Node *call,
                 Value *out, LangError *e);
Value *object_find(Object *o, const char *interned);      /* a field, or NULL */
Fn *object_method(const Object *o, const char *interned); /* borrowed, or NULL */
/* Looks up a field, a bound method or a named item; false: there is none. */
bool object_get(Interp *in, Object *o, const char *interned, Value *out);
/* o.name = v; consumes v. As in PyTorch a parameter field accepts only parameters and none, and a
 * buffer field only tensors, which become buffers, and none. */
bool object_set(Interp *in, Object *o, const char *interned, Value v, LangError *e);
void object_keep(Interp *in, Object *o, const char *interned, Value v); /* FIELD_GIVEN; consumes */
/* Like object_set, with an explicit role: FIELD_PARAM, FIELD_BUFFER or FIELD_UNSAVED. */
bool object_register(Interp *in, Object *o, const char *interned, Value v, FieldTag role,
                     LangError *e);
/* Links o.name to maps (a non-empty list): reads give maps[0][name], writes go to all maps. */
void object_link(Interp *in, Object *o, const char *interned, Value maps);
bool object_show(Interp *in, Object *o, int indent, Pieces *p, LangError *e); /* object_show.c */
/* Adds [o, the shape of result] to in->layers. */
void object_called(Interp *in, Object *o, Value result);
/* A container's _items, a V_LIST or V_MAP (borrowed), or NULL if o is not a container. */
Value *object_items(const Object *o);
/* The item of that name (borrowed), or NULL. */
Value *object_item(const Object *o, const char *interned);
/* True for nn's own containers. An object assigned to a field of one becomes an item. */
bool object_is_container(const Object *o);
/* Replaces the item of that name or appends it; consumes v. If the items are a list and the name
 * is not an index into it, the list becomes a map with its indices as keys. */
bool object_put_named(Interp *in, Object *o, const char *interned, Value v, LangError *e);
/* m[sub]: a field by name, an item by name or index, or a slice of the items */
bool object_subscript(Interp *in, const Node *n, Object *o, Value sub, Value *out, LangError *e);
/* Returns the items if m[sub] = v writes an item, NULL if it writes a field. An index into a map
 * of items is replaced by its key in *sub. */
Value *object_target(Object *o, Value *sub);
/* Checks and converts *v for m[sub] = *v: the container's _item method may replace it. old: the
 * item being overwritten, or NULL. */
bool object_take_item(Interp *in, Object *o, const Value *old, Value *v, LangError *e);
/* m += more appends; m + more makes a container of the same kind with the items of both. */
bool object_extend(Interp *in, const Node *n, Object *o, Value more, LangError *e);
bool object_concat(Interp *in, const Node *n, Object *o, Value more, Value *out, LangError *e);
/* Returns what `for x in o` iterates over, as a list (a new reference): the keys of a map, but the
 * items of nn.Sequential and nn.ModuleList, named or not. o must be a container. */
Value object_elements(Interp *in, Object *o);
bool object_gives_keys(const Object *o);
bool object_holds(Value v); /* true if v may hold parameters: object, list, map or tensor */

/* Iterates over an object in PyTorch's order: its own parameters, its buffers, then all else in
 * order of assignment; items after fields. Skips private fields and links. */
typedef struct ObjectIter {
    Object *o;
    int pass;
    size_t i;
    bool in_items, is_given; /* is_given: the current field is a FIELD_GIVEN */
    Map assigned;            /* all that assigned fields hold, at any depth: Heap -> itself */
} ObjectIter;
void object_iter_open(ObjectIter *it, Object *o);
bool object_iter_next(ObjectIter *it, Value *key, Value *v); /* borrowed */
void object_iter_close(ObjectIter *it);
bool object_count(Interp *in, Object *o, int64_t *n, LangError *e); /* elements of parameters */
#endif
