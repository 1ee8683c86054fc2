/* object.h: modules and their objects: fields, methods, items, parameters.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_EVAL_OBJECT_H
#define GT_LANG_EVAL_OBJECT_H
#include "lang/value/interp.h"

bool module_new(Interp *in, Node *n, Value *out, LangError *e); /* N_MODULE */
bool module_call(Interp *in, Module *m, Value *base, int n_pos, int n_kw, const Node *call,
                 Value *out, LangError *e);
Value *object_find(Object *o, const char *interned);      /* a field, or NULL */
Fn *object_method(const Object *o, const char *interned); /* borrowed, or NULL */
/* field or bound method */
bool object_get(Interp *in, Object *o, const char *interned, Value *out, bool *found, LangError *e);
void object_set(Interp *in, Object *o, const char *interned, Value v); /* consumes v */
bool object_show(Interp *in, Object *o, int indent, Pieces *p, LangError *e);
/* _items of a container: a V_LIST or V_MAP, borrowed; NULL: it is none. The item of that name. */
Value *object_items(const Object *o);
Value *object_item(const Object *o, const char *interned);
/* m[sub]: a field by name, an item by name or place, a slice of the items */
bool object_subscript(Interp *in, const Node *n, Object *o, Value sub, Value *out, LangError *e);
/* Where m[sub] = v goes: to the items (a place in a map becomes its key); NULL: to the fields */
Value *object_target(Object *o, Value *sub);
bool object_holds(Value v); /* may v hold parameters? objects, lists, maps, tensors */

bool object_count(Interp *in, Object *o, int64_t *n, LangError *e); /* numbers in parameters */
#endif
