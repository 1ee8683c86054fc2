/* builtin_host.h: functions on host values that other files use, and helpers for builtins.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_BUILTIN_BUILTIN_HOST_H
#define GT_LANG_BUILTIN_BUILTIN_HOST_H
#include "lang/value/interp.h"

/* Sorts a V_LIST in place, stably, by key(element), or by the elements if key is none. */
bool list_sorted(Interp *in, Value xs, Value key, bool reverse, LangError *e);
void list_reverse(List *l);

/* Moves the bytes to *out as a string if ok, and frees them. Returns ok. */
static inline bool give_bytes(bool ok, Bytes *b, Value *out) {
    if (ok) *out = v_str(b->data ? b->data : "", b->n);
    bytes_fini(b);
    return ok;
}
/* True if v is of this kind; otherwise the error "WHAT, not TYPE". */
static inline bool want_kind(Value v, ValueKind kind, const char *what, LangError *e) {
    return v.kind == kind || error_set(e, "%s, not %s", what, value_type_name(v));
}
#endif
