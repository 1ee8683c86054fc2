/* pieces.c: values as text. A text is a format string and the tensors that fill it, so printing
 * does not wait. Only code that reads the characters (value_str, joining, comparing) waits for the
 * tensors' values.
 * SPDX-License-Identifier: MIT */
#include "lang/text/error_value.h"
#include "lang/value/mapv.h"
#include "lang/text/effects.h"
#include "lang/text/pieces.h"
#include "lang/text/format.h"
#include "lang/text/show.h"
#include "lang/tensor/tensor.h"
#include "runtime/inst/inst_print.h"
#include <ctype.h>
#include <string.h>

enum { SHOW_DEPTH = 100, RANGE_SHOWN = 1000 };

/* The containers being printed, outermost last: one inside itself prints as "...". */
typedef struct Path {
    const void *at;
    const struct Path *up;
    int depth;
} Path;

static bool put(Interp *in, Pieces *p, Value v, bool is_repr, const Path *up, LangError *e);

void pieces_text(Pieces *p, const char *s, size_t n) { show_escape(s, n, &p->format); }

static void puts_(Pieces *p, const char *s) { pieces_text(p, s, strlen(s)); }

void pieces_tensor(Pieces *p, Tensor *t, const char *spec, size_t n) {
    ARRAY_PUSH(p->t, p->n, p->cap, 4, tensor_ref(t));
    bytes_putc(&p->format, '{');
    bytes_add(&p->format, spec, n);
    bytes_putc(&p->format, '}');
}

Value v_pieces(Pieces *p) {
    if (p->n) {
        Text *t = xmalloc(sizeof *t);
        *t = (Text){{1, V_TEXT}, *p};
        *p = (Pieces){0};
        return (Value){.kind = V_TEXT, .text = t};
    }
    Value v = v_str(NULL, p->format.n);
    uint32_t n = 0;
    for (size_t i = 0; i < p->format.n; i++) {
        char c = p->format.data[i];
        v.str->s[n++] = c;
        if (c == '{' || c == '}') i++; /* doubled by pieces_text */
    }
    v.str->s[v.str->n = n] = 0;
    pieces_fini(p);
    return v;
}

bool give_pieces(bool ok, Pieces *p, Value *out) {
    if (ok)
        *out = v_pieces(p);
    else
        pieces_fini(p);
    return ok;
}

static void put_quoted(Pieces *p, const char *s, size_t n) {
    Bytes b = {0};
    inst_quote(&b, s, n);
    pieces_text(p, b.data, b.n);
    bytes_fini(&b);
}

static bool is_word(const Str *s) {
    if (!s->n || isdigit((unsigned char)s->s[0])) return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (!isalnum((unsigned char)s->s[i]) && s->s[i] != '_') return false;
    return true;
}

static bool put_list(Interp *in, Pieces *p, const List *l, const Path *path, LangError *e) {
    puts_(p, "[");
    for (uint32_t i = 0; i < l->n; i++) {
        if (i) puts_(p, ", ");
        TRY(put(in, p, l->v[i], true, path, e));
    }
    puts_(p, "]");
    return true;
}

static bool put_set(Interp *in, Pieces *p, MapV *m, const Path *path, LangError *e) {
    Value k, v;
    puts_(p, map_count(m) ? "{" : "set(");
    for (size_t i = 0; mapv_at(m, i, &k, &v); i++) {
        if (i) puts_(p, ", ");
        TRY(put(in, p, k, true, path, e));
    }
    puts_(p, map_count(m) ? "}" : ")");
    return true;
}

bool pieces_key(Interp *in, Pieces *p, Value key, LangError *e) {
    if (key.kind != V_STR || !is_word(key.str)) return put(in, p, key, true, NULL, e);
    pieces_text(p, key.str->s, key.str->n);
    return true;
}

static bool put_map(Interp *in, Pieces *p, MapV *m, const Path *path, LangError *e) {
    Value k, v;
    puts_(p, "{");
    for (size_t i = 0; mapv_at(m, i, &k, &v); i++) {
        if (i) puts_(p, ", ");
        TRY(pieces_key(in, p, k, e));
        puts_(p, ": ");
        TRY(put(in, p, v, true, path, e));
    }
    puts_(p, "}");
    return true;
}

static void put_fn(Pieces *p, Value v) {
    Bytes b = {0};
    if (v.kind == V_BUILTIN) {
        bytes_printf(&b, "fn %s(%s)", v.builtin->name, v.builtin->signature);
    } else {
        bytes_puts(&b, v.kind == V_MODULE ? "module " : "fn ");
        fn_signature(v.kind == V_MODULE ? v.module->make->ast : v.fn->ast, &b);
    }
    pieces_text(p, b.data, b.n);
    bytes_fini(&b);
}

/* A range prints as a list, or, if longer than RANGE_SHOWN, as range(start, stop, step). */
static void put_range(Pieces *p, const Range *r) {
    int64_t n = range_count(r);
    if (n > RANGE_SHOWN) {
        bytes_printf(&p->format, "range(%lld, %lld, %lld)", (long long)r->start, (long long)r->stop,
                     (long long)r->step);
        return;
    }
    bytes_putc(&p->format, '[');
    for (int64_t i = 0; i < n; i++)
        bytes_printf(&p->format, "%s%lld", i ? ", " : "", (long long)range_at(r, i));
    bytes_putc(&p->format, ']');
}

/* The whole report, or inside a list or map error("message"). */
static void put_error(Pieces *p, const ErrorV *v, bool is_within) {
    Bytes b = {0};
    if (!is_within) error_text(&v->e, &b);
    if (is_within) puts_(p, "error(");
    if (is_within)
        put_quoted(p, v->e.what, strlen(v->e.what));
    else
        pieces_text(p, b.data, b.n);
    if (is_within) puts_(p, ")");
    bytes_fini(&b);
}

static void put_tensor(Pieces *p, const Tensor *t) {
    bool grad = t->node != NULL || (t->is_param && t->requires_grad);
    pieces_tensor(p, (Tensor *)t, grad ? "!rg" : "!r", grad ? 3 : 2);
}

static void put_text(Pieces *p, const Pieces *from) {
    bytes_add(&p->format, from->format.data, from->format.n);
    for (int i = 0; i < from->n;
         i++) { /* the placeholders were copied above; add the references only */
        size_t n = p->format.n;
        pieces_tensor(p, from->t[i], "", 0);
        p->format.n = n;
        p->format.data[n] = 0;
    }
}

static bool put_container(Interp *in, Pieces *p, Value v, const Path *up, LangError *e) {
    const void *at = v.heap;
    for (const Path *a = up; a; a = a->up)
        if (a->at == at || a->depth >= SHOW_DEPTH) {
            puts_(p, v.kind == V_MAP ? "{...}" : v.kind == V_LIST ? "[...]" : "...");
            return true;
        }
    Path path = {at, up, up ? up->depth + 1 : 1};
    switch (v.kind) {
    case V_MAP:
        if (!v.map->is_space) return put_map(in, p, v.map, &path, e);
        puts_(p, "names ");
        puts_(p, v.map->name);
        return true;
    case V_SET: return put_set(in, p, v.map, &path, e);
    case V_BOUND:
        TRY(put(in, p, v.bound->f, true, &path, e));
        puts_(p, ", not called");
        return true;
    case V_OBJECT: return in->show_object(in, v.obj, 0, p, e);
    default: return put_list(in, p, v.list, &path, e);
    }
}

static bool put(Interp *in, Pieces *p, Value v, bool is_repr, const Path *up, LangError *e) {
    Bytes b = {0};
    TRY(not_interrupted(e));
    switch (v.kind) {
    case V_NONE: puts_(p, "none"); break;
    case V_BOOL: puts_(p, v.b ? "true" : "false"); break;
    case V_INT: bytes_printf(&p->format, "%lld", (long long)v.i); break;
    case V_FLOAT:
        format_double(v.f, &b);
        pieces_text(p, b.data, b.n);
        bytes_fini(&b);
        break;
    case V_DTYPE: puts_(p, dtype_info[v.dtype].name); break;
    case V_STR:
        if (is_repr)
            put_quoted(p, v.str->s, v.str->n);
        else
            pieces_text(p, v.str->s, v.str->n);
        TRY(value_is_whole(v, e));
        break;
    case V_TEXT:
        if (is_repr) { /* quoting reads every character */
            Value s;
            TRY(value_look(in, v, &s, e));
            put_quoted(p, s.str->s, s.str->n);
            value_drop(s);
        } else {
            put_text(p, &v.text->p);
        }
        break;
    case V_TENSOR: put_tensor(p, v.tensor); break;
    case V_BUILTIN:
    case V_FN:
    case V_MODULE: put_fn(p, v); break;
    case V_RANGE: put_range(p, v.range); break;
    case V_ERROR: put_error(p, v.error, up != NULL); break;
    case V_LIST:
    case V_MAP:
    case V_SET:
    case V_BOUND:
    case V_OBJECT: return put_container(in, p, v, up, e);
    default: puts_(p, value_type_name(v));
    }
    return true;
}

bool pieces_value(Interp *in, Pieces *p, Value v, bool is_repr, LangError *e) {
    return put(in, p, v, is_repr, NULL, e);
}

static bool as_text(Interp *in, Value v, bool is_repr, Bytes *out, LangError *e) {
    Pieces p = {0};
    bool ok = put(in, &p, v, is_repr, NULL, e) && pieces_look(in, &p, out, e);
    pieces_fini(&p);
    return ok;
}

bool value_str(Interp *in, Value v, Bytes *out, LangError *e) {
    if (v.kind == V_STR) {
        bytes_add(out, v.str->s, v.str->n);
        return value_is_whole(v, e);
    }
    return as_text(in, v, false, out, e);
}

bool value_repr(Interp *in, Value v, Bytes *out, LangError *e) {
    return as_text(in, v, true, out, e);
}

static bool no_key(Value v, LangError *e) {
    error_set(e, "keys of maps and sets are strings, ints or lists of such, not %s",
              value_type_name(v));
    if (v.kind == V_SLICE) return error_hint(e, "m.values()[:2], list(m)[:2]");
    return error_hint(e, v.kind == V_TENSOR ? "x.item(), x.tolist()" : "str(k)");
}

/* A copy that cannot be modified; neither can the lists in it. */
static bool list_key(Interp *in, Value v, int depth, Value *out, LangError *e) {
    if (v.list->is_key) {
        *out = value_ref(v);
        return true;
    }
    if (depth == KEY_DEPTH) return error_set(e, "a key is nested deeper than %d", KEY_DEPTH);
    Value copy = v_list(in, v.list->n), el;
    bool ok = true;
    for (uint32_t i = 0; i < v.list->n && ok; i++) {
        Value from = v.list->v[i];
        if (from.kind == V_TEXT)
            ok = value_look(in, from, &el, e);
        else if (from.kind == V_LIST)
            ok = list_key(in, from, depth + 1, &el, e);
        else if (from.kind == V_STR || from.kind == V_NONE || value_is_number(from))
            el = value_ref(from);
        else
            ok = no_key(from, e);
        if (ok) list_push(copy.list, el);
    }
    copy.list->is_key = true;
    if (ok)
        *out = copy;
    else
        value_drop(copy);
    return ok;
}

bool value_key(Interp *in, Value v, Value *out, LangError *e) {
    *out = v_none();
    if (v.kind == V_TEXT) return value_look(in, v, out, e);
    if (v.kind == V_LIST) return list_key(in, v, 0, out, e);
    if (v.kind != V_STR && v.kind != V_INT) return no_key(v, e);
    *out = value_ref(v);
    return true;
}

bool value_look(Interp *in, Value v, Value *out, LangError *e) {
    if (v.kind == V_STR) {
        *out = value_ref(v);
        return true;
    }
    Bytes b = {0};
    bool ok = pieces_look(in, &v.text->p, &b, e);
    if (ok) *out = v_str(b.data ? b.data : "", b.n);
    bytes_fini(&b);
    return ok;
}

/* ---- formats ---- */

static bool host_format(Interp *in, Value v, const char *spec, size_t n_spec, bool is_repr,
                        Bytes *out, LangError *e) {
    FormatSpec f;
    Err err = {0};
    if (!format_parse(spec, n_spec, &f, &err)) return error_from(e, &err);
    bool ok, whole = v.kind == V_INT || (v.kind == V_BOOL && f.type && f.type != 's');
    if (!is_repr && whole)
        ok = format_int(v.kind == V_INT ? v.i : v.b, &f, out, &err);
    else if (!is_repr && v.kind == V_FLOAT)
        ok = format_float(v.f, &f, out, &err);
    else {
        Bytes b = {0};
        if (!as_text(in, v, is_repr, &b, e)) {
            bytes_fini(&b);
            return false;
        }
        ok = format_str(b.data ? b.data : "", b.n, &f, out, &err);
        bytes_fini(&b);
    }
    return ok || error_from(e, &err);
}

/* Checks a tensor's spec now; the text is made when it is shown. */
static bool tensor_format(Interp *in, Pieces *p, Tensor *t, const char *spec, size_t n_spec,
                          LangError *e) {
    const TensorType *type = tensor_type(t);
    char shape[256];
    if (type_numel(type) != 1) {
        error_set(e, "a format needs a single number, but the tensor has shape %s",
                  type_shape_text(type, shape));
        return error_hint(e, "f\"{x}\" shows all of it; f\"{x.mean():.3f}\" one number");
    }
    Bytes b = {0};
    Value probe = dtype_is_float(type->dtype) ? v_float(0)
                  : type->dtype == DT_BOOL    ? v_bool(false)
                                              : v_int(0);
    bool ok = host_format(in, probe, spec, n_spec, false, &b, e);
    if (ok && memchr(spec, '}', n_spec))
        ok = error_set(e, "a brace cannot be the fill of a tensor's format");
    bytes_fini(&b);
    if (!ok) return false;
    bytes_putc(&b, ':');
    bytes_add(&b, spec, n_spec);
    pieces_tensor(p, t, b.data, b.n);
    bytes_fini(&b);
    return true;
}

bool pieces_format(Interp *in, Pieces *p, Value v, const char *spec, size_t n_spec, bool is_repr,
                   LangError *e) {
    bool is_number = v.kind == V_TENSOR && !is_repr && tensor_type(v.tensor)->rank == 0;
    if (!n_spec && is_number) {
        pieces_tensor(p, v.tensor, "", 0);
        return true;
    }
    if (!n_spec) return pieces_value(in, p, v, is_repr || v.kind == V_TENSOR, e);
    if (v.kind == V_TENSOR && !is_repr) return tensor_format(in, p, v.tensor, spec, n_spec, e);
    Bytes b = {0};
    bool ok = host_format(in, v, spec, n_spec, is_repr, &b, e);
    if (ok) pieces_text(p, b.data ? b.data : "", b.n);
    bytes_fini(&b);
    return ok;
}
