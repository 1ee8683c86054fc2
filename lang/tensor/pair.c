/* pair.c: values with indices. Where PyTorch returns (values, indices), max(x, axis) and the like
 * return the values, an ordinary tensor with a Pair attached. Fields, unpacking, [0] and [1] take
 * the pair apart; results computed from the values are plain. Most programs need only one of the
 * two, so the indices are computed on first use; until then the pair holds the tensor that was
 * searched.
 * SPDX-License-Identifier: MIT */
#include "lang/tensor/autograd.h"
#include "lang/tensor/pair.h"
#include <stdlib.h>
#include <string.h>

struct Pair {
    const char *name; /* the function, for messages: "max" */
    PairIndices how;  /* of: owned, NULL once the indices are computed */
    Tensor *indices;  /* owned, or NULL: not computed yet */
};

static Tensor *plain(Interp *in, const Tensor *t) {
    Tensor *v = tensor_new(in, handle_ref(t->handle));
    if (t->node) v->node = t->node, v->node->refs++;
    return v;
}

/* Takes ownership of values. */
static Tensor *pair_on(Interp *in, Tensor *values, Pair pair) {
    if (values->h.refs > 1 || values->is_param || values->is_buffer) {
        Tensor *own = plain(in, values);
        tensor_unref(values);
        values = own;
    }
    if (values->pair) pair_free(in, &values->pair);
    values->pair = xmalloc(sizeof pair);
    *values->pair = pair;
    return values;
}

Tensor *pair_later(Interp *in, Tensor *values, const char *name, const PairIndices *how) {
    Pair pair = {.name = name, .how = *how};
    pair.how.of = handle_ref(how->of);
    return pair_on(in, values, pair);
}

Tensor *pair_new(Interp *in, Tensor *values, const char *name, Tensor *indices) {
    return pair_on(in, values, (Pair){.name = name, .indices = tensor_ref(indices)});
}

void pair_free(Interp *in, Pair **p) {
    if ((*p)->how.of) handle_unref(in->stream, &(*p)->how.of);
    tensor_unref((*p)->indices);
    free(*p);
    *p = NULL;
}

static bool make_indices(Interp *in, Pair *p, const TensorType *like, LangError *e) {
    const PairIndices *how = &p->how;
    Tensor *of = tensor_new(in, handle_ref(how->of)), *made = NULL;
    Attr attr[2] = {attr_ints(ATTR_AXIS, &how->axis, 1), attr_bool(how->flag, how->is_set)};
    Arg arg = arg_tensor(of);
    if (!tensor_op(in, how->op, &arg, 1, attr, 2, &made, e)) made = NULL;
    tensor_unref(of);
    if (!made) return false;
    p->indices = tensor_reshape(in, made, like->shape, like->rank, e); /* for a 0-d x */
    tensor_unref(made);
    if (p->indices) handle_unref(in->stream, &p->how.of);
    return p->indices != NULL;
}

bool pair_part(Interp *in, Tensor *t, int part, Value *out, LangError *e) {
    Pair *p = t->pair;
    if (part == 1 && !p->indices) TRY(make_indices(in, p, tensor_type(t), e));
    *out = v_tensor(part == 1 ? tensor_ref(p->indices) : plain(in, t));
    return true;
}

bool pair_error(const Tensor *t, const char *text, const char *use, LangError *e) {
    error_set(e, "%s gives values and indices: %s needs one of the two", t->pair->name, use);
    size_t n = strlen(text);
    if (!n || n > 40 || strstr(text, " ...")) text = "r";
    return error_hint(e, "%s.values or %s.indices", text, text);
}
