/* thing.h: private to lang/complete: what an expression of names, fields, indices and calls stands
 * for, as far as that is known without running anything. No function is called, no worker is asked
 * and no tensor is made: x.T is known to be a tensor, not which.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_COMPLETE_THING_H
#define GT_LANG_COMPLETE_THING_H
#include "lang/complete/scan.h"
#include "lang/value/interp.h"

typedef enum ThingKind {
    THING_UNKNOWN, /* the value of a call or of an operator; mostly a tensor */
    THING_NOTHING, /* a value without members, or a mistake */
    THING_VALUE,   /* v, borrowed: the program or the language holds it */
    THING_OF_KIND, /* a value of that kind */
    THING_OBJECT,  /* an object of the module v */
    THING_TEXT     /* defined in the text: def; is_made: an object of that module */
} ThingKind;

typedef struct Thing {
    uint8_t what;
    uint8_t kind;    /* of OF_KIND: a ValueKind */
    uint8_t element; /* the kind of the elements of a list, or V_NONE if it is not known */
    bool is_made;
    bool is_method; /* a function whose first parameter is given already */
    Value v;
    const Def *def;
} Thing;

/* The name, interned, at the cursor of s: the text's, the program's, or the language's. NOTHING if
 * it is not defined. */
Thing thing_of_name(Interp *in, const Scan *s, const char *interned);
/* The expression whose last token is `last`: `a.b[0]` before a dot, the callee before a
 * parenthesis. */
Thing thing_before(Interp *in, const Scan *s, size_t last);
/* A field, key, item or method of t. NOTHING if there is none. */
Thing thing_member(Interp *in, const Scan *s, Thing t, const char *interned);
/* The kind of t's value; V_UNDEF if it is not known. */
ValueKind thing_value_kind(Thing t);
#endif
