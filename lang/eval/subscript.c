/* subscript.c: a[i] on host containers (lists, ranges, strings, maps, objects), and iteration. A
 * loop over a string gives code points, over a map its keys, over a tensor the slices along axis 0.
 * SPDX-License-Identifier: MIT */
#include "lang/tensor/index.h"
#include "lang/value/mapv.h"
#include "lang/tensor/pair.h"
#include "lang/text/pieces.h"
#include "lang/text/progress.h"
#include "lang/eval/eval.h"
#include "lang/eval/subscript.h"
#include "lang/eval/builtin.h"
#include "lang/eval/object.h"
#include "lang/tensor/tensor.h"
#include "runtime/base/utf8.h"
#include "lang/eval/operate.h"
#include "lang/error/interrupt.h"
#include <stdio.h>
#include <string.h>

enum { LOOK_CHARS = 1024 }; /* between two looks whether the file of a text was cut off */

/* ---- reading ---- */

static bool whole_index(Interp *in, const Node *n, Value sub, const char *what, int64_t *i,
                        LangError *e) {
    if (sub.kind == V_INT) {
        *i = sub.i;
        return true;
    }
    if (sub.kind == V_BOOL) {
        *i = sub.b;
        return true;
    }
    if (sub.kind == V_TENSOR && type_numel(tensor_type(sub.tensor)) == 1 &&
        !dtype_is_float(tensor_type(sub.tensor)->dtype)) {
        Value v;
        TRY(tensor_item(in, sub.tensor, &v, e));
        *i = v.kind == V_BOOL ? v.b : v.i;
        return true;
    }
    fail_at(in, n, e, "a %s is indexed by an int, not %s", what, value_type_name(sub));
    if (sub.kind == V_FLOAT) error_hint(e, "int(i), or // for whole division");
    return false;
}

static bool in_range(Interp *in, const Node *n, const char *what, int64_t *i, int64_t count,
                     LangError *e) {
    int64_t at = *i < 0 ? *i + count : *i;
    if (at < 0 || at >= count) {
        if (count == 0)
            return fail_at(in, n, e, "index %lld is out of range: the %s is empty", (long long)*i,
                           what);
        return fail_at(in, n, e, "index %lld is out of range: the %s has %lld elements",
                       (long long)*i, what, (long long)count);
    }
    *i = at;
    return true;
}

/* Evaluates one bound of a slice (missing: its default) and clamps it to lowest .. highest. */
static bool slice_bound(Interp *in, const Node *n, Value v, int64_t missing, int64_t count,
                        int64_t lowest, int64_t highest, int64_t *out, LangError *e) {
    if (v.kind == V_NONE) {
        *out = missing;
        return true;
    }
    TRY(whole_index(in, n, v, "slice", out, e));
    if (*out < 0) *out = *out < -count ? lowest : *out + count;
    if (*out > highest) *out = highest;
    return true;
}

/* Computes the first index, the step and the length of a slice of `count` elements. */
static bool slice_places(Interp *in, const Node *n, const Slice *s, int64_t count, int64_t *first,
                         int64_t *step, int64_t *n_places, LangError *e) {
    int64_t stop;
    *step = 1;
    if (s->step.kind != V_NONE) TRY(whole_index(in, n, s->step, "slice", step, e));
    if (*step == 0) return fail_at(in, n, e, "a slice's step is 0");
    bool back = *step < 0;
    int64_t lowest = back ? -1 : 0, highest = back ? count - 1 : count;
    TRY(slice_bound(in, n, s->start, back ? highest : 0, count, lowest, highest, first, e));
    TRY(slice_bound(in, n, s->stop, back ? -1 : count, count, lowest, highest, &stop, e));
    int64_t gap = back ? *first - stop : stop - *first;
    uint64_t stride = back ? 0 - (uint64_t)*step : (uint64_t)*step;
    *n_places = gap <= 0 ? 0 : (int64_t)(((uint64_t)gap - 1) / stride) + 1;
    return true;
}

static bool list_get_sub(Interp *in, const Node *n, Value a, Value sub, Value *out, LangError *e) {
    int64_t count = sequence_count(a), i, step, places;
    if (sub.kind == V_SLICE) {
        TRY(slice_places(in, n, sub.slice, count, &i, &step, &places, e));
        *out = v_list(in, (size_t)places);
        for (int64_t k = 0; k < places && !interrupt_count; k++)
            list_push(out->list, sequence_at(a, i + k * step));
        return give_if(not_interrupted(e), *out, out);
    }
    TRY(whole_index(in, n, sub, "list", &i, e));
    TRY(in_range(in, n, "list", &i, count, e));
    *out = sequence_at(a, i);
    return true;
}

/* The offset of the code point that is `step` (not 0) behind the one at `at`, as far as there are
 * so many. */
static size_t str_move(const Str *s, size_t at, int64_t step) {
    if (step > 0) return at + utf8_skip(s->s + at, s->n - at, (size_t)step);
    for (; step < 0 && at > 0; step++) {
        at--;
        while (at > 0 && (s->s[at] & 0xc0) == 0x80) at--;
    }
    return at;
}

static bool str_get_sub(Interp *in, const Node *n, Value a, Value sub, Value *out, LangError *e) {
    Str *s = a.str;
    int64_t count = (int64_t)str_chars(s), i, step, places;
    if (sub.kind != V_SLICE) {
        TRY(whole_index(in, n, sub, "string", &i, e));
        TRY(in_range(in, n, "string", &i, count, e));
        size_t at = str_offset(s, (size_t)i);
        *out = v_str(s->s + at, utf8_skip(s->s + at, s->n - at, 1));
        return true;
    }
    TRY(slice_places(in, n, sub.slice, count, &i, &step, &places, e));
    if (step == 1) {
        size_t from = str_offset(s, (size_t)i), to = str_offset(s, (size_t)(i + places));
        *out = v_str(s->s + from, to > from ? to - from : 0);
        return true;
    }
    Bytes b = {0};
    bool is_ascii = count == (int64_t)s->n;
    size_t at = places ? str_offset(s, (size_t)i) : 0;
    for (int64_t k = 0; k < places && !interrupt_count; k++) {
        bytes_add(&b, s->s + at, utf8_skip(s->s + at, s->n - at, 1));
        if (k + 1 < places) at = is_ascii ? at + (size_t)step : str_move(s, at, step);
    }
    *out = v_str(b.data ? b.data : "", b.n);
    bytes_fini(&b);
    return give_if(not_interrupted(e), *out, out);
}

/* Hints for a key that is not a string, where all keys are strings. */
static void hint_keys(MapV *m, Value key, LangError *e) {
    NameList names = {0};
    Value k, v;
    for (size_t i = 0; mapv_at(m, i, &k, &v) && k.kind == V_STR && i < 6; i++)
        names_add(&names, k.str->s);
    if (names.n && key.kind == V_LIST)
        error_hint(e, "several: [m[k] for k in keys]; as columns: stack([…], 1)");
    else if (names.n)
        hint_names("by name: ", &names, map_count(m) > names.n ? ", …" : "", e);
    names_fini(&names);
}

static bool no_key(Interp *in, const Node *n, MapV *m, Value key, LangError *e) {
    if (key.kind != V_STR) {
        Bytes text = {0};
        key_text(key, &text);
        fail_at(in, n, e, "the map has no key %.200s", text.data);
        bytes_fini(&text);
        hint_keys(m, key, e);
        return false;
    }
    fail_at(in, n, e, "the map has no key '%.100s'", key.str->s);
    NameList names = {0};
    Value k, v;
    for (size_t i = 0; mapv_at(m, i, &k, &v); i++)
        if (k.kind == V_STR) names_add(&names, k.str->s);
    const char *near = nearest_name(key.str->s, key.str->n, names.name, names.n);
    if (near)
        error_label(e, e->at, "did you mean '%.100s'?", near);
    else if (names.n && names.n <= 8)
        hint_names("m.get(key, otherwise); the keys: ", &names, "", e);
    else
        error_hint(e, "m.get(key, otherwise)");
    names_fini(&names);
    return false;
}

/* r[0] and r[1] of r = x.max(axis) give values and indices, as in PyTorch. */
static bool pair_subscript(Interp *in, const Node *n, Tensor *t, const Value *sub, int n_subs,
                           Value *out, LangError *e) {
    char quote[80] = "", use[100];
    if (n_subs == 1 && sub[0].kind == V_INT && sub[0].i >= -2 && sub[0].i < 2) {
        if (pair_part(in, t, (int)(sub[0].i & 1), out, e)) return true;
    } else {
        if (n_subs == 1 && sub[0].kind == V_INT)
            snprintf(use, sizeof use, "[%lld]", (long long)sub[0].i);
        else
            snprintf(use, sizeof use, "this index");
        const Node *of = n->kind == N_INDEX ? n->kid[0] : NULL;
        pair_error(t, of ? node_text(of, quote) : "", use, e);
    }
    return error_locate(e, node_span(in, n));
}

/* A map of tensors by name may be a table: load("x.csv") gives a map of columns. */
static bool hint_columns(const MapV *m, LangError *e) {
    Value first, k, v;
    bool is_table = true;
    if (!mapv_at(m, 0, &first, &v) || first.kind != V_STR) return error_hint(e, "m[(a, b)]");
    for (size_t i = 0; is_table && mapv_at(m, i, &k, &v); i++) is_table = v.kind == V_TENSOR;
    return error_hint(e, "by name: m[\"%.40s\"]%s", first.str->s,
                      is_table ? "; as a matrix: stack(m.values(), axis=1)" : "");
}

/* True if a, which is not a tensor, takes n_subs indices. */
static bool check_indexable(Interp *in, const Node *n, Value a, int n_subs, LangError *e) {
    switch (a.kind) {
    case V_LIST:
    case V_RANGE:
    case V_STR:
    case V_TEXT:
    case V_MAP:
    case V_OBJECT:
        if (n_subs == 1) return true;
        fail_at(in, n, e, "%s%s takes one index, not %d", a.kind == V_OBJECT ? "" : "a ",
                a.kind == V_OBJECT ? "an object" : value_type_name(a), n_subs);
        if (a.kind == V_MAP) return hint_columns(a.map, e);
        return a.kind == V_LIST ? error_hint(e, "xs[i][j]; tensor(xs)[i, j]") : false;
    default:
        fail_at(in, n, e, "%s cannot be indexed", value_type_name(a));
        if (a.kind == V_SET) return error_hint(e, "x in s; sorted(s)[0]");
        if (a.kind == V_NONE && n->n_kids) return hint_none(n->kid[0], e);
        if (a.kind == V_BOUND && n->n_kids) return hint_uncalled(n->kid[0], e);
        return value_is_callable(a) ? error_hint(e, "call it: f(x)") : false;
    }
}

bool is_call_of_grad(Interp *in, const Node *n) {
    Node *callee = n->kind == N_CALL ? n->kid[0] : NULL;
    LangError other = {0};
    Value f;
    if (!callee || callee->kind != N_NAME || strcmp(callee->str, "grad")) return false;
    if (!eval(in, callee, &f, &other)) return false;
    bool is_builtin = f.kind == V_BUILTIN;
    value_drop(f);
    return is_builtin;
}

void hint_grad(LangError *e) {
    error_hint(e, "g = grad(y, x), or a list as in PyTorch: grad(y, [x])[0]");
}

void warn_of_grad(Interp *in, const Node *n, const char *text) {
    LangError w = {0};
    error_at(&w, node_span(in, n), "%s", text);
    hint_grad(&w);
    interp_warn_once(in, &w);
}

bool subscript_get(Interp *in, const Node *n, Value a, const Value *sub, int n_subs, Value *out,
                   LangError *e) {
    if (a.kind == V_TENSOR && a.tensor->pair)
        return pair_subscript(in, n, a.tensor, sub, n_subs, out, e);
    if (a.kind == V_TENSOR) {
        bool is_of_grad = n->kind == N_INDEX && n_subs == 1 && sub[0].kind == V_INT &&
                          sub[0].i == 0 && is_call_of_grad(in, n->kid[0]);
        bool ok = at_node(in, n, tensor_index(in, a.tensor, sub, n_subs, out, e), e);
        if (!is_of_grad) return ok;
        if (!ok && !e->hint[0]) hint_grad(e);
        if (ok)
            warn_of_grad(in, n,
                         "grad of one tensor is its gradient: [0] is its first row or element");
        return ok;
    }
    TRY(check_indexable(in, n, a, n_subs, e));
    Value look = v_none();
    bool ok;
    switch (a.kind) {
    case V_LIST:
    case V_RANGE: return list_get_sub(in, n, a, sub[0], out, e);
    case V_STR:
        TRY(str_get_sub(in, n, a, sub[0], out, e));
        return at_node(in, n, give_if(value_is_whole(a, e), *out, out), e);
    case V_TEXT:
        TRY(value_look(in, a, &look, e));
        ok = str_get_sub(in, n, look, sub[0], out, e);
        value_drop(look);
        return ok;
    case V_MAP: {
        Value key, *v;
        TRY(at_node(in, n, value_key(in, sub[0], &key, e), e));
        v = map_find(a.map, key);
        ok = v || no_key(in, n, a.map, key, e);
        if (v) *out = value_ref(*v);
        value_drop(key);
        return ok;
    }
    case V_OBJECT:
        if (sub[0].kind == V_TEXT) {
            TRY(value_look(in, sub[0], &look, e));
            ok = object_subscript(in, n, a.obj, look, out, e);
            value_drop(look);
            return ok;
        }
        return object_subscript(in, n, a.obj, sub[0], out, e);
    default: return false; /* check_indexable refused it */
    }
}

/* ---- writing ---- */

/* Replaces the `places` elements at i by `count` elements, which the caller sets. */
static void list_resize(List *l, int64_t i, int64_t places, int64_t count) {
    for (int64_t k = places; k < count; k++) list_push(l, v_none());
    for (int64_t k = count; k < places; k++) value_drop(l->v[i + k]);
    int64_t n_old = count > places ? l->n - (count - places) : l->n;
    memmove(l->v + i + count, l->v + i + places, (size_t)(n_old - i - places) * sizeof *l->v);
    for (int64_t k = places; k < count; k++) l->v[i + k] = v_none();
    if (count < places) l->n -= (uint32_t)(places - count);
}

static bool list_set_slice(Interp *in, const Node *n, List *l, const Slice *s, Value v,
                           LangError *e) {
    int64_t i, step, places;
    TRY(slice_places(in, n, s, l->n, &i, &step, &places, e));
    if (v.kind != V_LIST && v.kind != V_RANGE)
        return fail_at(in, n, e, "a slice of a list is replaced by a list, not %s",
                       value_type_name(v));
    int64_t count = sequence_count(v);
    if (count != places && step != 1)
        return fail_at(in, n, e, "the slice has %lld elements, the value %lld", (long long)places,
                       (long long)count);
    if (count > (1 << 28)) return fail_at(in, n, e, "the list would have too many elements");
    Value from = v_list(in, (size_t)count); /* v may be the list itself */
    for (int64_t k = 0; k < count; k++) list_push(from.list, sequence_at(v, k));
    if (count != places) list_resize(l, i, places, count);
    for (int64_t k = 0; k < count; k++) value_set(&l->v[i + k * step], value_ref(from.list->v[k]));
    value_drop(from);
    return true;
}

static bool set(Interp *in, const Node *n, Value a, Value sub, Value *v, LangError *e);

/* m[sub] = *v for a container. */
static bool set_item(Interp *in, const Node *n, Object *o, Value items, Value sub, Value *v,
                     LangError *e) {
    const Value *old = NULL;
    if (sub.kind == V_SLICE && object_is_container(o))
        return fail_at(in, n, e, "items of a %s are assigned one by one", o->module->name);
    if (items.kind == V_MAP)
        old = map_find(items.map, sub);
    else if (sub.kind == V_INT && sub.i >= -(int64_t)items.list->n && sub.i < items.list->n)
        old = &items.list->v[sub.i < 0 ? sub.i + items.list->n : sub.i];
    in->at = n;
    TRY(at_node(in, n, object_take_item(in, o, old, v, e), e));
    return set(in, n, items, sub, v, e);
}

bool list_may_change(const List *l, LangError *e) {
    if (!l->is_key) return true;
    error_set(e, "this list is a key of a map or set and cannot change");
    return error_hint(e, "list(k) makes a copy");
}

/* The error of a write into a string or range. */
static bool immutable(Interp *in, const Node *n, Value a, LangError *e) {
    if (a.kind == V_RANGE) {
        fail_at(in, n, e, "a range is immutable");
        return error_hint(e, "list(range(n)) makes a list");
    }
    fail_at(in, n, e, "strings are immutable");
    return error_hint(e, "s = s.replace(old, new)");
}

static bool set(Interp *in, const Node *n, Value a, Value sub, Value *v, LangError *e) {
    int64_t i;
    switch (a.kind) {
    case V_LIST:
        TRY(at_node(in, n, list_may_change(a.list, e), e));
        if (sub.kind == V_SLICE) return list_set_slice(in, n, a.list, sub.slice, *v, e);
        TRY(whole_index(in, n, sub, "list", &i, e));
        TRY(in_range(in, n, "list", &i, a.list->n, e));
        value_set(&a.list->v[i], *v);
        break;
    case V_MAP: {
        Value key;
        TRY(at_node(in, n, value_key(in, sub, &key, e), e));
        mapv_put(a.map, key, *v);
        break;
    }
    case V_OBJECT: {
        const char *name = value_name(sub);
        Value *items = object_target(a.obj, &sub);
        if (items) return set_item(in, n, a.obj, *items, sub, v, e);
        if (!name)
            return fail_at(in, n, e, "an object is indexed by the name of a field, not %s",
                           value_type_name(sub));
        TRY(at_node(in, n, object_set(in, a.obj, name, value_ref(*v), e), e));
        value_drop(*v);
        break;
    }
    default: return immutable(in, n, a, e);
    }
    *v = v_none(); /* consumed */
    return true;
}

bool subscript_set(Interp *in, const Node *n, Value a, const Value *sub, int n_subs, Value v,
                   LangError *e) {
    bool ok = check_indexable(in, n, a, n_subs, e) && set(in, n, a, sub[0], &v, e);
    value_drop(v);
    return ok;
}

static bool del(Interp *in, const Node *n, Value a, Value sub, LangError *e) {
    int64_t i, places = 1, step = 1;
    Value *items = a.kind == V_OBJECT ? object_target(a.obj, &sub) : NULL;
    if (items) return del(in, n, *items, sub, e);
    if (a.kind == V_LIST) {
        List *l = a.list;
        TRY(at_node(in, n, list_may_change(l, e), e));
        if (sub.kind == V_SLICE) {
            TRY(slice_places(in, n, sub.slice, l->n, &i, &step, &places, e));
            if (step != 1) return fail_at(in, n, e, "del takes a slice with step 1");
        } else {
            TRY(whole_index(in, n, sub, "list", &i, e));
            TRY(in_range(in, n, "list", &i, l->n, e));
        }
        list_resize(l, i, places, 0);
        return true;
    }
    if (a.kind == V_MAP || a.kind == V_OBJECT) {
        MapV *m = a.kind == V_MAP ? a.map : a.obj->field;
        Value old, key;
        TRY(at_node(in, n, value_key(in, sub, &key, e), e));
        bool found = mapv_remove(m, key, &old);
        if (found)
            value_drop(old);
        else
            no_key(in, n, m, key, e);
        value_drop(key);
        return found;
    }
    return immutable(in, n, a, e);
}

bool subscript_del(Interp *in, const Node *n, Value a, const Value *sub, int n_subs, LangError *e) {
    if (a.kind == V_TENSOR) return fail_at(in, n, e, "del does not take elements out of a tensor");
    return check_indexable(in, n, a, n_subs, e) && del(in, n, a, sub[0], e);
}

bool eval_subs(Interp *in, Node *n, Value *sub, int *n_subs, LangError *e) {
    *n_subs = 0;
    if (n->n_kids - 1 > MAX_SUBS) return fail_at(in, n, e, "more than %d subscripts", MAX_SUBS);
    for (uint32_t k = 1; k < n->n_kids; k++) {
        Node *s = n->kid[k];
        Value v, part[3] = {v_none(), v_none(), v_none()};
        bool ok = true;
        if (s->kind == N_ELLIPSIS) {
            v = (Value){.kind = V_ELLIPSIS};
        } else if (s->kind == N_SLICE) {
            for (uint32_t i = 0; i < 3 && ok; i++)
                if (i < s->n_kids && s->kid[i]) ok = eval(in, s->kid[i], &part[i], e);
            if (ok)
                v = v_slice(part[0], part[1], part[2]);
            else
                for (int i = 0; i < 3; i++) value_drop(part[i]);
        } else {
            ok = eval(in, s, &v, e);
        }
        if (!ok) {
            while (*n_subs > 0) value_drop(sub[--*n_subs]);
            return false;
        }
        sub[(*n_subs)++] = v;
    }
    return true;
}

/* ---- iteration ---- */

bool iter_open(Interp *in, const Node *n, Value over, Iter *it, LangError *e) {
    char name[80];
    *it = (Iter){.over = v_none()};
    const Value *items = over.kind == V_OBJECT ? object_items(over.obj) : NULL;
    if (items && items->kind == V_MAP && !object_gives_keys(over.obj)) {
        it->over = object_elements(in, over.obj);
        return true;
    }
    if (items) over = *items;
    switch (over.kind) {
    case V_LIST: break;
    case V_RANGE: it->n = range_count(over.range); break;
    case V_SET:
    case V_MAP: it->version = over.map->version; break;
    case V_STR: break;
    case V_TEXT: return value_look(in, over, &it->over, e);
    case V_TENSOR:
        if (over.tensor->pair) {
            char quote[80] = "";
            pair_error(over.tensor, n ? node_text(n, quote) : "", "a loop", e);
            return n && error_locate(e, node_span(in, n));
        }
        if (tensor_type(over.tensor)->rank == 0)
            return fail_at(in, n, e, "cannot loop over a tensor with one number");
        it->n = tensor_type(over.tensor)->shape[0];
        break;
    case V_INT: fail_at(in, n, e, "cannot loop over int"); return error_hint(e, "range(n)");
    default:
        fail_at(in, n, e, "cannot loop over %s", value_type_name(over));
        if (n && over.kind == V_OBJECT && n->kind != N_CALL)
            return error_hint(e, "%s.parameters(), %s.named_parameters() or %s.children()",
                              node_text(n, name), name, name);
        if (n && value_is_callable(over) && n->kind != N_CALL) return hint_uncalled(n, e);
        return n && over.kind == V_NONE ? hint_none(n, e) : false;
    }
    it->over = value_ref(over);
    if (in->progress) it->bar = progress_find(in, over);
    return true;
}

int iter_next(Interp *in, Iter *it, Value *out, LangError *e) {
    if (it->bar && it->i > 0) progress_step(in, it->bar);
    Value key, v;
    if (!not_interrupted(e)) return -1;
    switch (it->over.kind) {
    case V_LIST:
        if (it->i >= it->over.list->n) return 0;
        *out = value_ref(it->over.list->v[it->i++]);
        return 1;
    case V_RANGE:
        if (it->i >= it->n) return 0;
        *out = v_int(range_at(it->over.range, it->i++));
        return 1;
    case V_STR: {
        Str *s = it->over.str;
        if (it->byte >= s->n) return 0;
        size_t len = utf8_skip(s->s + it->byte, s->n - it->byte, 1);
        *out = v_str(s->s + it->byte, len);
        bool is_due = it->i % LOOK_CHARS == 0 || it->byte + len >= s->n;
        if (is_due && !give_if(value_is_whole(it->over, e), *out, out)) return -1;
        it->byte += len;
        it->i++;
        return 1;
    }
    case V_SET:
    case V_MAP:
        if (it->over.map->version != it->version) {
            bool is_map = it->over.kind == V_MAP;
            error_set(e, "the %s changed size during iteration", is_map ? "map" : "set");
            error_hint(e, is_map ? "for k in m.keys()" : "for x in list(s)");
            return -1;
        }
        if (!mapv_at(it->over.map, (size_t)it->i++, &key, &v)) return 0;
        *out = value_ref(key);
        return 1;
    case V_TENSOR:
        if (it->i >= it->n) return 0;
        return tensor_iter(in, it->over.tensor, it->i++, out, e) ? 1 : -1;
    default: return 0;
    }
}

void iter_close(Interp *in, Iter *it) {
    if (it->bar) progress_end(in, it->bar);
    value_drop(it->over);
    it->over = v_none();
}
