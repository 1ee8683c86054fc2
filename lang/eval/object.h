/* object.h: modules and their objects: fields, methods, items, parameters.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_OBJECT_H
#define GT_LANG_EVAL_OBJECT_H
#include "lang/value/interp.h"
#include "runtime/base/map.h"

/* What is known of a field beside its value. A parameter's or buffer's name stays one while the
 * field is none. */
typedef enum FieldTag {
    FIELD_PLAIN,
    FIELD_GIVEN, /* a constructor's argument, kept and not assigned since */
    FIELD_PARAM,
    FIELD_BUFFER,
    FIELD_UNSAVED, /* a buffer with persistent=false */
    FIELD_LINK     /* its value is a list of maps that hold what the field means: object_link */
} FieldTag;
bool module_new(Interp *in, Node *n, Value *out, LangError *e); /* N_MODULE */
bool module_call(Interp *in, Module *m, Value *base, int n_pos, int n_kw, const Node *call,
                 Value *out, LangError *e);
Value *object_find(Object *o, const char *interned);      /* a field, or NULL */
Fn *object_method(const Object *o, const char *interned); /* borrowed, or NULL */
/* field or bound method */
bool object_get(Interp *in, Object *o, const char *interned, Value *out, bool *found, LangError *e);
/* o.name = v; consumes v. As in PyTorch a parameter's name takes parameters and none, a buffer's
 * name tensors, which become buffers, and none: anything else is an error. */
bool object_set(Interp *in, Object *o, const char *interned, Value v, LangError *e);
void object_keep(Interp *in, Object *o, const char *interned, Value v); /* FIELD_GIVEN; consumes */
/* The same as object_set with the role said: FIELD_PARAM, FIELD_BUFFER, FIELD_UNSAVED */
bool object_register(Interp *in, Object *o, const char *interned, Value v, FieldTag role,
                     LangError *e);
/* o.name now means maps[0][name]; writing it writes name in all of them. maps: not empty. */
void object_link(Interp *in, Object *o, const char *interned, Value maps);
bool object_show(Interp *in, Object *o, int indent, Pieces *p, LangError *e); /* object_show.c */
/* _items of a container: a V_LIST or V_MAP, borrowed; NULL: it is none. The item of that name. */
Value *object_items(const Object *o);
Value *object_item(const Object *o, const char *interned);
/* True for the containers of nn: a module that is assigned to a field of theirs is an item. */
bool object_is_container(const Object *o);
/* The item of that name, replaced or put behind the others; consumes v. A list of items becomes a
 * map by place when the name is not a place in it. */
bool object_put_named(Interp *in, Object *o, const char *interned, Value v, LangError *e);
/* m[sub]: a field by name, an item by name or place, a slice of the items */
bool object_subscript(Interp *in, const Node *n, Object *o, Value sub, Value *out, LangError *e);
/* Where m[sub] = v goes: to the items (a place in a map becomes its key); NULL: to the fields */
Value *object_target(Object *o, Value *sub);
/* What m[sub] = *v puts among the items: *v, or what the container makes of it. old: the item that
 * is there, or NULL. */
bool object_take_item(Interp *in, Object *o, const Value *old, Value *v, LangError *e);
/* m += more, and m + more: a container of the same kind with the items of both */
bool object_extend(Interp *in, const Node *n, Object *o, Value more, LangError *e);
bool object_concat(Interp *in, const Node *n, Object *o, Value more, Value *out, LangError *e);
/* What `for x in o` gives, as a list: a new reference. A map's keys, but of nn.Sequential and
 * nn.ModuleList the items, named or not. o is a container. */
Value object_elements(Interp *in, Object *o);
bool object_gives_keys(const Object *o);
bool object_holds(Value v); /* may v hold parameters? objects, lists, maps, tensors */

/* What an object holds, in PyTorch's order: its own parameters, its buffers, then all else in the
 * order of assignment; items after fields. Private fields and links are left out. */
typedef struct ObjectIter {
    Object *o;
    int pass;
    size_t i;
    bool in_items, is_given; /* is_given: what the iterator is at is a FIELD_GIVEN */
    Map assigned;            /* what assigned fields hold, however deep: Heap -> itself */
} ObjectIter;
void object_iter_open(ObjectIter *it, Object *o);
bool object_iter_next(ObjectIter *it, Value *key, Value *v); /* borrowed */
void object_iter_close(ObjectIter *it);
bool object_count(Interp *in, Object *o, int64_t *n, LangError *e); /* numbers in parameters */
#endif
