/* tensor_param.c: tensors with identity: parameters and buffers, their in-place updates,
 * and the fields of tensors. An update swaps the handle; graphs built before it keep the
 * old one. Nothing here is recorded.
 * SPDX-License-Identifier: MIT */
#include "lang/tensor/autograd.h"
#include "lang/tensor/pair.h"
#include "lang/tensor/signal.h"
#include "lang/tensor/tensor.h"
#include <string.h>

/* ---- identity ---- */

Value tensor_param(Interp *in, const Tensor *t, bool is_buffer, LangError *e) {
    DType d = (DType)tensor_type(t)->dtype;
    if (!is_buffer && !dtype_is_float(d)) {
        error_set(e, "only float tensors can be parameters, not %s", dtype_info[d].name);
        error_hint(e, "param(x.float()), or dtype=float32 where it is made; "
                      "buffer(x) keeps whole numbers");
        return v_none();
    }
    Tensor *p = tensor_new(in, handle_ref(t->handle));
    p->is_buffer = is_buffer, p->is_param = !is_buffer;
    if (!is_buffer) p->requires_grad = true, p->node = grad_leaf(in, p);
    return v_tensor(p);
}

Tensor *tensor_as_buffer(Interp *in, Tensor *t) {
    Tensor *b = tensor_new(in, handle_ref(t->handle));
    b->is_buffer = true;
    if (tensor_needs_grad(t)) b->node = t->node, b->node->refs++;
    return b;
}

/* The source of the expression whose field or method is used, for messages: 'w'. */
static const char *subject_name(const Interp *in) {
    const Node *n = in->at;
    if (n && (n->kind == N_ASSIGN || n->kind == N_AUGASSIGN) && n->n_kids) n = n->kid[0];
    if (n && n->kind == N_CALL) n = n->kid[0];
    if (n && n->kind == N_FIELD) n = n->kid[0];
    return n && n->kind == N_NAME ? n->str : NULL;
}

bool tensor_no_path(Interp *in, Value v, LangError *e) {
    if (v.kind != V_TENSOR || !grad_is_on(in) || !tensor_needs_grad(v.tensor)) return true;
    error_set(e, "updating a parameter or buffer in place is never recorded, but the new value "
                 "depends on parameters");
    return error_hint(e, "no_grad { p -= lr * p.grad }   or   .detach()");
}

/* v as a tensor of p's dtype, broadcast to p's shape. place: as for tensor_op_keep. */
static Tensor *as_value_of(Interp *in, const Tensor *p, Value v, const Handle **place,
                           LangError *e) {
    const TensorType *t = tensor_type(p);
    char a[256], b[256];
    Arg arg;
    Value made = v_none();
    if (v.kind == V_LIST || v.kind == V_RANGE) {
        if (!tensor_from_value(in, v, (DType)t->dtype, &made, e)) return NULL;
        v = made;
    }
    if (!arg_from_value(in, v, &arg, e)) return NULL;
    if (!arg.t) {
        if (!dtype_is_float(t->dtype) && arg.imm.kind == IN_IMM_FLOAT)
            arg = arg_int((int64_t)arg.imm.f);
        Arg like[2] = {arg_tensor((Tensor *)p), arg}; /* it gets the layout of p */
        Tensor *full = NULL;
        if (!tensor_op(in, OP_FULL, like, 2, NULL, 0, &full, e)) return NULL;
        *place = full->handle;
        return full;
    }
    Attr dtype = attr_dtype((DType)t->dtype);
    TensorType both;
    Tensor *cast = NULL, *out = NULL;
    if (!shape_broadcast(t, tensor_type(arg.t), &both) || both.rank != t->rank ||
        memcmp(both.shape, t->shape, sizeof t->shape[0] * t->rank)) {
        error_set(e, "a %s keeps its shape %s; the new value has %s",
                  p->is_buffer ? "buffer" : "parameter", type_shape_text(t, a),
                  type_shape_text(tensor_type(arg.t), b));
    } else if (dtype_is_float(tensor_type(arg.t)->dtype) && !dtype_is_float(t->dtype) &&
               p->is_param) {
        error_set(e, "a parameter keeps its dtype %s", dtype_info[t->dtype].name);
    } else if (tensor_type(arg.t)->dtype == t->dtype) {
        out = tensor_expand(in, arg.t, t->shape, t->rank, e);
    } else if (tensor_op_keep(in, OP_CAST, &arg, 1, &dtype, 1, place, &cast, e)) {
        out = tensor_expand(in, cast, t->shape, t->rank, e);
    }
    tensor_unref(cast);
    value_drop(made);
    return out;
}

/* True if a configuration, ours or a running dispatcher's, may lay tensors out. */
static bool may_shard(const Interp *in) {
    return in->config.stream.endpoint || (in->signals && in->signals->config.n > 0);
}

/* v written over all of p, so that the result has p's layout. Takes ownership of v. */
static Tensor *in_place_of(Interp *in, Tensor *p, Tensor *v, LangError *e) {
    int64_t start[MAX_DIMS] = {0}, step[MAX_DIMS];
    const TensorType *t = tensor_type(p);
    for (int i = 0; i < t->rank; i++) step[i] = 1;
    Attr attr[3] = {attr_ints(ATTR_START, start, t->rank), attr_ints(ATTR_SIZE, t->shape, t->rank),
                    attr_ints(ATTR_STEP, step, t->rank)};
    Arg arg[2] = {arg_tensor(p), arg_tensor(v)};
    Tensor *out = NULL;
    const Handle *place = p->handle;
    if (!tensor_op_keep(in, OP_SLICE_PUT, arg, 2, attr, 3, &place, &out, e)) out = NULL;
    tensor_unref(v);
    return out;
}

bool tensor_update_keep(Interp *in, Tensor *p, Value v, const Handle *place, LangError *e) {
    in->no_grad_depth++;
    Tensor *value = as_value_of(in, p, v, &place, e);
    bool is_kept = value && (value->handle == place || value->handle == p->handle);
    if (value && !is_kept && may_shard(in)) value = in_place_of(in, p, value, e);
    in->no_grad_depth--;
    if (!value) return false;
    Handle *old = p->handle;
    p->handle = handle_ref(value->handle);
    handle_unref(in->stream, &old);
    if (p->is_buffer) grad_node_unref(in, &p->node); /* its history was that of the old value */
    tensor_unref(value);
    return true;
}

bool tensor_update(Interp *in, Tensor *p, Value v, LangError *e) {
    return tensor_update_keep(in, p, v, NULL, e);
}

bool tensor_has_no_path(Interp *in, Tensor *p, LangError *e) {
    return !p->is_buffer || tensor_no_path(in, v_tensor(p), e);
}

static int category(DType d) { return dtype_is_float(d) ? 2 : d != DT_BOOL; }

bool tensor_keeps_kind(const Tensor *x, const Tensor *result, LangError *e) {
    DType from = (DType)tensor_type(x)->dtype, to = (DType)tensor_type(result)->dtype;
    if (category(to) <= category(from)) return true;
    const char *name = subject_name(x->in);
    if (!name) name = "x";
    error_set(e, "%s keeps its dtype %s in op=, but the result is %s", name, dtype_info[from].name,
              dtype_info[to].name);
    return error_hint(e, "%s = %s.to(%s) before; or %s = ... without op=", name, name,
                      dtype_info[to].name, name);
}

bool tensor_keeps_shape(const Tensor *x, const Tensor *result, LangError *e) {
    const TensorType *from = tensor_type(x), *to = tensor_type(result);
    char a[256], b[256];
    if (from->rank == to->rank &&
        !memcmp(from->shape, to->shape, sizeof from->shape[0] * from->rank))
        return true;
    const char *name = subject_name(x->in);
    if (!name) name = "x";
    error_set(e, "%s keeps its shape %s in op=, but the result has %s", name,
              type_shape_text(from, a), type_shape_text(to, b));
    return error_hint(e, "%s = ... without op= may change the shape", name);
}

bool tensor_augment_data(Interp *in, Tensor *p, int oper, Value v, LangError *e) {
    Value result;
    const Handle *place = p->handle;
    in->no_grad_depth++;
    bool ok = tensor_binary(in, oper, v_tensor(p), v, &place, &result, e);
    in->no_grad_depth--;
    if (!ok) return false;
    ok = tensor_keeps_kind(p, result.tensor, e) && tensor_update_keep(in, p, result, place, e);
    value_drop(result);
    return ok;
}

bool tensor_augment(Interp *in, Tensor *p, int oper, Value v, LangError *e) {
    TRY(tensor_no_path(in, v, e) && tensor_has_no_path(in, p, e));
    return tensor_augment_data(in, p, oper, v, e);
}

/* ---- fields ---- */

static bool error_no_grad_field(Interp *in, const Tensor *t, LangError *e) {
    const char *name = subject_name(in), *x = name ? name : "x";
    Span made = t->handle->made;
    if (t->was_param && made.src) {
        error_set(e, "'%s' is no longer a parameter: the assignment at %s:%u made it a plain value",
                  x, made.src->name, made.line);
        return error_hint(e, "update in place: %s -= lr * %s.grad", x, x);
    }
    error_set(e, "only parameters have .grad, and '%s' is a value", x);
    return error_hint(
        e, t->node ? "grad(loss, %s) gives its gradient" : "%s = param(...) makes a parameter", x);
}

static Value shape_list(Interp *in, const TensorType *t) {
    Value l = v_list(in, t->rank);
    for (int i = 0; i < t->rank; i++) list_push(l.list, v_int(t->shape[i]));
    return l;
}

const char *const tensor_field_names[] = {"shape", "dtype",         "ndim", "grad", "T",
                                          "mT",    "requires_grad", "data", NULL};

bool tensor_field(Interp *in, Tensor *t, const char *name, Value *out, bool *found, LangError *e) {
    const TensorType *type = tensor_type(t);
    *found = true;
    if (!strcmp(name, "shape")) return *out = shape_list(in, type), true;
    if (!strcmp(name, "dtype")) return *out = v_dtype((DType)type->dtype), true;
    if (!strcmp(name, "ndim")) return *out = v_int(type->rank), true;
    if (!strcmp(name, "grad")) {
        if (!t->is_param && !t->is_buffer) return error_no_grad_field(in, t, e);
        return *out = t->grad ? v_tensor(tensor_ref(t->grad)) : v_none(), true;
    }
    if (!strcmp(name, "T") || !strcmp(name, "mT")) {
        Tensor *r = type->rank < 2 ? tensor_ref(t)
                                   : tensor_transpose(in, t, type->rank - 2, type->rank - 1, e);
        return r && (*out = v_tensor(tensor_value(r)), true);
    }
    if (!strcmp(name, "requires_grad"))
        return *out = v_bool(t->is_param ? t->requires_grad : t->node != NULL), true;
    if (!strcmp(name, "data")) return *out = v_tensor(tensor_detach(in, t)), true;
    if (t->pair && (!strcmp(name, "values") || !strcmp(name, "indices")))
        return pair_part(in, t, name[0] == 'i', out, e);
    if (!strcmp(name, "is_param")) return *out = v_bool(t->is_param), true;
    if (!strcmp(name, "is_buffer")) return *out = v_bool(t->is_buffer), true;
    *found = false;
    return true;
}

static bool set_grad(Interp *in, Tensor *t, Value v, LangError *e) {
    char a[256], b[256];
    if (!t->is_param) return error_no_grad_field(in, t, e);
    if (v.kind != V_NONE && v.kind != V_TENSOR)
        return error_set(e, ".grad must be a tensor or none, not %s", value_type_name(v)),
               error_hint(e, "w.grad = none clears it");
    Tensor *grad = NULL;
    if (v.kind == V_TENSOR) {
        const TensorType *want = tensor_type(t), *got = tensor_type(v.tensor);
        if (!type_same_shape(want, got))
            return error_set(e, "the gradient of shape %s does not fit the parameter's %s",
                             type_shape_text(got, a), type_shape_text(want, b));
        Tensor *plain = tensor_detach(in, v.tensor);
        in->no_grad_depth++;
        grad = tensor_cast(in, plain, (DType)want->dtype, e);
        in->no_grad_depth--;
        tensor_unref(plain);
        if (!grad) return false;
    }
    tensor_unref(t->grad);
    t->grad = grad;
    return true;
}

bool tensor_set_field(Interp *in, Tensor *t, const char *name, Value v, LangError *e) {
    if (!strcmp(name, "grad")) return set_grad(in, t, v, e);
    if (!strcmp(name, "data")) {
        if (t->is_param || t->is_buffer) return tensor_update(in, t, v, e);
        error_set(e, "only parameters and buffers have settable data; a value is immutable");
        return error_hint(e, "x = e");
    }
    if (!strcmp(name, "requires_grad")) {
        if (v.kind != V_BOOL) return error_set(e, "requires_grad is true or false");
        if (t->is_param) return t->requires_grad = v.b, true;
        if (!v.b && !t->node) return true;
        error_set(e, "only parameters have a settable requires_grad");
        return error_hint(e, v.b ? "x = param(x)" : "x = x.detach()");
    }
    error_set(e, "a tensor has no settable field '%s'", name);
    return error_hint(e, "fields that can be set: grad, data, requires_grad of a parameter");
}
