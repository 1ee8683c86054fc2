/* setting.c: the kinds of values that the settings of the prelude's functions take. A default says
 * which: of true or false, only those; of a float, numbers; of a whole number, whole numbers. The
 * table has the settings that take more, or that have no such default.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/setting.h"
#include "lang/tensor/tensor.h"
#include "lang/value/frame.h"
#include "runtime/base/words.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* takes: b true or false, i whole numbers, n numbers, - none, l lists, s text, o objects, t tensors
 * of any shape, * anything. A number may be a tensor without axes. A number, if has_range, must be
 * in low to high. */
static const struct Setting {
    const char *names, *takes;
    bool has_range;
    double low, high;
} rows[] = {
    {"align_corners", "b-"},
    {"alpha beta clip_value cooldown gamma limit max_eval max_norm max_val min_val "
     "patience step_size_down step_size_up T_max threshold total_iters total_steps val "
     "warmup",
     "n"},
    {"axis", "il-"},
    {"base_lr base_momentum max_lr max_momentum min_lr", "nl"},
    {"bins", "ilt"},
    {"concentration concentration0 concentration1 correction loc logits probs spacing", "nlt"},
    {"d_model dim_feedforward downscale_factor embed_dim groups nhead num_groups "
     "num_heads num_layers upscale_factor",
     "i", true, 1, INFINITY},
    {"dilation kernel_size stride", "il", true, 1, INFINITY},
    {"dim dims", "il"},
    {"divisor_override padding_idx reinterpreted_batch_ndims", "i"},
    {"dropout dropout_p sparsity", "n", true, 0, 1},
    {"eps std", "n", true, 0, INFINITY},
    {"high low max min rate scale value", "nt"},
    {"in_channels kdim num_channels num_features num_parameters out_channels proj_size "
     "vdim",
     "i", true, 0, INFINITY},
    {"momentum norm_type", "n-"},
    {"normalized_shape output_padding", "il", true, 0, INFINITY},
    {"ord", "ns-"},
    {"output_size", "il-", true, 1, INFINITY},
    {"padding", "ils"},
    {"q", "nlto"},
    {"running_mean running_var", "t"},
    {"scale_factor", "nl", true, 0, INFINITY},
};

/* Returns the row of a setting, or NULL. */
static const struct Setting *row_of(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (words_have(rows[i].names, name, strlen(name))) return &rows[i];
    return NULL;
}

/* Returns what the parameter takes. */
static const struct Setting *setting_of(const AstFn *a, const AstParam *p) {
    static const struct Setting any = {"", "*"}, flag = {"", "b"}, whole = {"", "i"},
                                number = {"", "n"};
    const Node *d = p->dflt;
    bool is_free = p->is_star || p->is_map || *a->name == '_' || !*a->name;
    const struct Setting *row = is_free || (d && d->kind == N_STRING) ? &any : row_of(p->name);
    if (d && d->kind == N_UNARY) d = d->kid[0];
    if (row || !d) return row ? row : &any;
    if (d->kind == N_TRUE || d->kind == N_FALSE) return &flag;
    return d->kind == N_INT ? &whole : d->kind == N_FLOAT || d->kind == N_BINARY ? &number : &any;
}

/* True if v, given to a function or to a layer, is of a kind that the setting takes. */
static bool fits(const char *takes, Value v, bool is_layer) {
    char c = *takes;
    switch (v.kind) {
    case V_NONE: return (c == 'b' && is_layer) || strchr(takes, '-');
    case V_BOOL: return c == 'b' || c == 'n';
    case V_INT: return c == 'i' || c == 'n' || (c == 'b' && is_layer && (v.i == 0 || v.i == 1));
    case V_FLOAT: return c == 'n';
    case V_TENSOR: return strchr(takes, 't') || !tensor_type(v.tensor)->rank;
    case V_LIST:
    case V_RANGE: return strchr(takes, 'l');
    case V_STR:
    case V_TEXT: return strchr(takes, 's');
    case V_OBJECT: return strchr(takes, 'o');
    default: return false;
    }
}

static bool in_range(const struct Setting *s, Value v) {
    if (!s->has_range || (v.kind != V_INT && v.kind != V_FLOAT)) return true;
    double x = v.kind == V_INT ? (double)v.i : v.f;
    return x >= s->low && x <= s->high;
}

bool setting_check(Interp *in, const AstFn *a, int i, Value v, const Node *call, LangError *e) {
    AstParam *p = &a->param[i];
    if (!p->takes) p->takes = setting_of(a, p);
    const struct Setting *s = p->takes;
    bool is_default = v.kind == V_NONE && p->dflt && p->dflt->kind == N_NONE;
    if (*s->takes == '*' || is_default || (fits(s->takes, v, a->is_module) && in_range(s, v)))
        return true;
    const char *what = *s->takes == 'b'   ? "true or false"
                       : *s->takes == 'i' ? "a whole number"
                       : *s->takes == 't' ? "a tensor"
                                          : "a number";
    char range[80] = "", value[32];
    snprintf(value, sizeof value, "%s", value_type_name(v));
    if (fits(s->takes, v, a->is_module)) {
        if (isinf(s->high))
            snprintf(range, sizeof range, " of at least %g%s", s->low,
                     strchr(s->takes, 'l') ? ", or a list of them" : "");
        else
            snprintf(range, sizeof range, " between %g and %g", s->low, s->high);
        snprintf(value, sizeof value, "%.10g", v.kind == V_INT ? (double)v.i : v.f);
    }
    in->frame = in->frame->up;
    return fail_at(in, call, e, "%s: %s must be %s%s, not %s", a->owner ? a->owner : a->name,
                   p->name, what, range, value);
}
