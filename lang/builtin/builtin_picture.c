/* builtin_picture.c: what plot(), hist() and image() of lang/prelude/picture.gt end in.
 * SPDX-License-Identifier: MIT */
#include "lang/builtin/builtin_host.h"
#include "lang/eval/builtin.h"
#include "lang/text/picture.h"
#include "lang/text/pieces.h"
#include "lang/value/mapv.h"
#include <string.h>

/* Fills *out, an IO_NONE, with a number, string, none, or a list of these. */
static bool option_value(Interp *in, const char *name, Value v, IoValue *out, LangError *e) {
    Value text;
    switch (v.kind) {
    case V_NONE: return true;
    case V_BOOL: *out = (IoValue){.kind = IO_BOOL, .b = v.b}; return true;
    case V_INT: *out = (IoValue){.kind = IO_INT, .i = v.i}; return true;
    case V_FLOAT: *out = (IoValue){.kind = IO_FLOAT, .f = v.f}; return true;
    case V_STR:
    case V_TEXT:
        TRY(value_look(in, v, &text, e));
        out->kind = IO_STR;
        out->str = xstrndup(text.str->s, text.str->n), out->n_str = text.str->n;
        value_drop(text);
        return true;
    case V_LIST:
        out->kind = IO_LIST;
        for (uint32_t i = 0; i < v.list->n; i++)
            TRY(option_value(in, name, v.list->v[i], io_push(out), e));
        return true;
    default: return error_set(e, "%s takes host values, not %s", name, value_type_name(v));
    }
}

static bool bi_picture(Interp *in, const Value *arg, Value *out, LangError *e) {
    static const char *const names[] = {"plot", "hist", "image"};
    static const Op ops[] = {OP_PLOT, OP_HIST, OP_IMAGE};
    IoValue options = {.kind = IO_MAP};
    Value key, v, path = v_none();
    bool ok = true;
    int k = 0;
    while (k < 2 && strcmp(arg[0].str->s, names[k])) k++;
    if (arg[2].kind != V_NONE)
        TRY(want_kind(arg[2], V_STR, "the path must be a string", e) &&
            value_look(in, arg[2], &path, e));
    const Pieces *title = NULL; /* a title with tensors does not wait for them */
    for (size_t i = 0; ok && mapv_at(arg[3].map, i, &key, &v); i++)
        if (v.kind == V_TEXT && !strcmp(key.str->s, "title") && v.text->p.n <= 16)
            title = &v.text->p;
        else if (v.kind != V_NONE)
            ok = option_value(in, key.str->s, v, io_put(&options, key.str->s, key.str->n), e);
    ok = ok && picture_effect(in, ops[k], arg[1].map, path.kind == V_STR ? path.str->s : NULL,
                              title, &options, e);
    io_fini(&options);
    value_drop(path);
    return ok;
}

const Builtin builtins_picture[] = {
    {"_picture", "kind, operands, path, options", bi_picture,
     "Draws a picture of tensors: the end of plot(), hist() and image()."},
    {NULL}};
