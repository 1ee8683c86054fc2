/* builtin_tensor_method.c: methods that read a tensor, convert it or update a parameter in place,
 * and the functions of automatic differentiation.
 * SPDX-License-Identifier: MIT */
#include "lang/text/pieces.h"
#include "lang/math/builtin_tensor.h"
#include "lang/text/effects.h"
#include "lang/text/show.h"
#include "lang/tensor/autograd_tape.h"
#include <stdlib.h>
#include <string.h>

/* ---- reading and converting ---- */

static bool need_tensor(Value v, const char *what, LangError *e) {
    return v.kind == V_TENSOR ||
           error_set(e, "%s needs a tensor, not %s", what, value_type_name(v));
}

BUILTIN(item) { return need_tensor(arg[0], "item", e) && tensor_item(in, arg[0].tensor, out, e); }
BUILTIN(tolist) {
    return need_tensor(arg[0], "tolist", e) && tensor_tolist(in, arg[0].tensor, out, e);
}

static bool cast(Interp *in, Value x, DType d, Value *out, LangError *e) {
    Steps s = {in, e};
    return steps_give(&s, step_cast(&s, steps_arg(&s, x), d), out);
}

BUILTIN(to) { /* x, dtype (or a tensor, which gives its dtype) */
    DType d;
    if (arg[1].kind == V_NONE) /* PyTorch's x.type() */
        return error_set(e, "a cast needs a dtype"), error_hint(e, "x.dtype");
    if (arg[1].kind == V_TENSOR)
        return cast(in, arg[0], (DType)tensor_type(arg[1].tensor)->dtype, out, e);
    if (arg[1].kind == V_STR &&
        (!strncmp(arg[1].str->s, "cuda", 4) || !strcmp(arg[1].str->s, "cpu"))) {
        error_set(e, "tensors have no device here: the cluster places them");
        return error_hint(e, "drop the .to(\"%s\")", arg[1].str->s);
    }
    return arg_dtype_of(arg[1], DT_NONE, &d, e) && cast(in, arg[0], d, out, e);
}

BUILTIN(to_float) { return cast(in, arg[0], DT_F32, out, e); }
BUILTIN(to_half) { return cast(in, arg[0], DT_F16, out, e); }
BUILTIN(to_bfloat16) { return cast(in, arg[0], DT_BF16, out, e); }
BUILTIN(to_char) { return cast(in, arg[0], DT_I8, out, e); }
BUILTIN(to_byte) { return cast(in, arg[0], DT_U8, out, e); }
BUILTIN(to_double) { return cast(in, arg[0], DT_F64, out, e); }
BUILTIN(to_long) { return cast(in, arg[0], DT_I64, out, e); }
BUILTIN(to_int) { return cast(in, arg[0], DT_I32, out, e); }
BUILTIN(to_bool) { return cast(in, arg[0], DT_BOOL, out, e); }

BUILTIN(size) { /* x, axis */
    int axis;
    bool found;
    TRY(need_tensor(arg[0], "size", e));
    if (arg[1].kind == V_NONE) return tensor_field(in, arg[0].tensor, "shape", out, &found, e);
    TRY(arg_axis(arg[1], tensor_type(arg[0].tensor)->rank, &axis, e));
    return *out = v_int(tensor_type(arg[0].tensor)->shape[axis]), true;
}

BUILTIN(numel) {
    return need_tensor(arg[0], "numel", e) && (*out = v_int(tensor_numel(arg[0].tensor)), true);
}
BUILTIN(dim) {
    return need_tensor(arg[0], "dim", e) && (*out = v_int(tensor_type(arg[0].tensor)->rank), true);
}

/* contiguous, clone, cpu: tensors are immutable, so one is its own copy. Of a parameter it is the
 * recorded value. */
BUILTIN(itself) {
    TRY(need_tensor(arg[0], "clone", e));
    return give_tensor(tensor_ref(arg[0].tensor), out);
}

BUILTIN(detach) {
    return need_tensor(arg[0], "detach", e) && give_tensor(tensor_detach(in, arg[0].tensor), out);
}

BUILTIN(cuda) {
    error_set(e, "tensors have no device here: the cluster places them");
    return error_hint(e, "drop the .cuda()");
}

/* ---- in-place updates ---- */

/* m.bias[0].fill_(3): a hint how to write an element. */
static bool element_hint(Interp *in, LangError *e) {
    char quote[80];
    const Node *n = in->at && in->at->kind == N_CALL ? in->at->kid[0] : in->at;
    if (!n || n->kind != N_FIELD || n->kid[0]->kind != N_INDEX) return false;
    error_hint(e, "%s = …", node_text(n->kid[0], quote));
    return true;
}

static bool need_param(Interp *in, Value v, const char *method, const char *instead, LangError *e) {
    TRY(need_tensor(v, method, e));
    if (v.tensor->is_param || v.tensor->is_buffer) return true;
    error_set(e, "%s works on parameters and buffers only; a value is immutable", method);
    return element_hint(in, e) ? false : error_hint(e, "%s", instead);
}

/* Updates p by v, which lies at `place`; the result of an update method is the parameter. */
static bool updated_keep(Interp *in, Value p, Value v, const Handle *place, Value *out,
                         LangError *e) {
    TRY(tensor_no_path(in, v, e) && tensor_update_keep(in, p.tensor, v, place, e));
    return *out = value_ref(p), true;
}
static bool updated(Interp *in, Value p, Value v, Value *out, LangError *e) {
    return updated_keep(in, p, v, NULL, out, e);
}

BUILTIN(zero_) {
    return need_param(in, arg[0], "zero_()",
                      "p.grad = none clears a gradient; else x = zeros_like(x)", e) &&
           updated(in, arg[0], v_int(0), out, e);
}
BUILTIN(copy_) {
    return need_param(in, arg[0], "copy_()", "x = y", e) && updated(in, arg[0], arg[1], out, e);
}

BUILTIN(fill_) {
    TRY(need_param(in, arg[0], "fill_()", "x = full_like(x, v)", e));
    if (!value_is_number(arg[1]))
        return error_set(e, "fill_ takes a number, not %s", value_type_name(arg[1]));
    return updated(in, arg[0], arg[1], out, e);
}

BUILTIN(lerp_) { /* p, x, weight: p + weight * (x - p) */
    Arg x, w;
    TRY(need_param(in, arg[0], "lerp_()", "x = x + w * (y - x)", e) &&
        tensor_no_path(in, arg[1], e));
    TRY(arg_from_value(in, arg[1], &x, e) && arg_from_value(in, arg[2], &w, e));
    in->no_grad_depth++;
    Tensor *gap = tensor_op2(in, OP_SUB, x, arg_tensor(arg[0].tensor), e);
    Tensor *step = gap ? tensor_op2(in, OP_MUL, arg_tensor(gap), w, e) : NULL;
    Arg term[2] = {arg_tensor(arg[0].tensor), arg_tensor(step)};
    const Handle *place = arg[0].tensor->handle;
    Tensor *sum = NULL;
    bool ok = step && tensor_op_keep(in, OP_ADD, term, 2, NULL, 0, &place, &sum, e) &&
              updated_keep(in, arg[0], v_tensor(sum), place, out, e);
    in->no_grad_depth--;
    tensor_unref(gap), tensor_unref(step), tensor_unref(sum);
    return ok;
}

static bool random_update(Interp *in, Value p, Op op, double scale, double shift, Value *out,
                          LangError *e) {
    const TensorType *t = tensor_type(p.tensor);
    DType d = dtype_is_float(t->dtype) ? (DType)t->dtype : in->float_dtype;
    in->no_grad_depth++;
    Tensor *r = tensor_random(in, op, t->shape, t->rank, d, NULL, 0, e);
    Tensor *x = random_scaled(in, r, scale, shift, e);
    bool ok = x && updated(in, p, v_tensor(x), out, e);
    in->no_grad_depth--;
    tensor_unref(x);
    return ok;
}

BUILTIN(normal_) { /* p, mu, sigma */
    double mu, sigma;
    TRY(need_param(in, arg[0], "normal_()", "x = randn_like(x)", e) &&
        normal_shape(arg[1], arg[2], &mu, &sigma, e));
    return random_update(in, arg[0], OP_RANDN, sigma, mu, out, e);
}

BUILTIN(uniform_) { /* p, lo, hi */
    double lo, hi;
    TRY(need_param(in, arg[0], "uniform_()", "x = rand_like(x)", e) &&
        uniform_bounds(arg[1], arg[2], &lo, &hi, e));
    return random_update(in, arg[0], OP_RAND, hi - lo, lo, out, e);
}

static bool augmented(Interp *in, const Value *arg, int oper, Value alpha, const char *method,
                      const char *instead, Value *out, LangError *e) {
    TRY(need_param(in, arg[0], method, instead, e));
    Value step = value_ref(arg[1]);
    if (alpha.kind != V_NONE && !(alpha.kind == V_INT && alpha.i == 1)) {
        Arg x, a;
        bool ok = arg_from_value(in, arg[1], &x, e) && arg_from_value(in, alpha, &a, e);
        Tensor *t = ok && x.t ? tensor_op2(in, OP_MUL, x, a, e) : NULL;
        value_drop(step);
        if (ok && !x.t) return error_set(e, "alpha needs a tensor to scale");
        if (!t) return false;
        step = v_tensor(t);
    }
    bool ok = tensor_augment(in, arg[0].tensor, oper, step, e);
    value_drop(step);
    if (ok) *out = value_ref(arg[0]);
    return ok;
}

BUILTIN(add_) { return augmented(in, arg, O_ADD, arg[2], "add_()", "x = x + y", out, e); }
BUILTIN(sub_) { return augmented(in, arg, O_SUB, arg[2], "sub_()", "x = x - y", out, e); }
BUILTIN(mul_) { return augmented(in, arg, O_MUL, v_none(), "mul_()", "x = x * y", out, e); }
BUILTIN(div_) { return augmented(in, arg, O_DIV, v_none(), "div_()", "x = x / y", out, e); }

BUILTIN(requires_grad_) { /* x, flag */
    TRY(need_tensor(arg[0], "requires_grad_", e) &&
        tensor_set_field(in, arg[0].tensor, "requires_grad", arg[1], e));
    return *out = value_ref(arg[0]), true;
}

/* ---- differentiation ---- */

static bool seed_arg(Value v, Tensor **out, LangError *e) {
    *out = v.kind == V_TENSOR ? v.tensor : NULL;
    return v.kind == V_NONE || v.kind == V_TENSOR ||
           error_set(e, "a seed must be a tensor, not %s", value_type_name(v));
}

BUILTIN(backward) { /* y, seed, retain_graph */
    Tensor *seed;
    bool retain;
    TRY(need_tensor(arg[0], "backward", e) && seed_arg(arg[1], &seed, e) &&
        arg_bool_of(arg[2], "retain_graph", &retain, e));
    return *out = v_none(), grad_backward(in, arg[0].tensor, seed, retain, e);
}

/* Checks xs[i] of grad(). Whole numbers have no gradient: an error instead of zeros. A tensor that
 * is not recorded has gradient 0, which is rarely intended: a warning, once per position. */
static bool can_differ(Interp *in, const Tensor *x, int64_t i, LangError *e) {
    DType d = (DType)tensor_type(x)->dtype;
    if (!dtype_is_float(d)) {
        if (i < 0)
            error_set(e, "grad with respect to a tensor of %s: only float tensors have gradients",
                      dtype_info[d].name);
        else
            error_set(
                e, "grad by tensors of which element %lld is %s: only float tensors have gradients",
                (long long)i, dtype_info[d].name);
        return error_hint(e, "x = param(x.float()) before computing");
    }
    if (tensor_needs_grad(x) || x->is_param || !grad_is_on(in)) return true;
    LangError w = {0};
    error_at(&w, interp_span(in),
             "grad with respect to a tensor that records no gradient gives zeros");
    error_hint(&w, "x = param(x) before computing");
    interp_warn_once(in, &w);
    return true;
}

BUILTIN(grad) { /* y, xs, seed, create_graph */
    Tensor *seed, *one, *got;
    bool create;
    int64_t n = value_count(arg[1]);
    TRY(need_tensor(arg[0], "grad", e) && seed_arg(arg[2], &seed, e) &&
        arg_bool_of(arg[3], "create_graph", &create, e));
    if (arg[1].kind == V_TENSOR) {
        one = arg[1].tensor;
        TRY(can_differ(in, one, -1, e));
        return grad_of(in, arg[0].tensor, &one, 1, seed, create, &got, e) && give_tensor(got, out);
    }
    if (n < 0)
        return error_set(e, "grad needs a tensor or a list of tensors, not %s",
                         value_type_name(arg[1]));
    Tensor **xs = xcalloc((size_t)n + 1, 2 * sizeof *xs), **g = xs + n + 1;
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        Value x = value_at(arg[1], i);
        ok = need_tensor(x, "grad", e) && can_differ(in, x.tensor, i, e);
        xs[i] = ok ? x.tensor : NULL;
    }
    ok = ok && grad_of(in, arg[0].tensor, xs, (int)n, seed, create, g, e);
    if (ok) *out = v_list(in, (size_t)n);
    for (int64_t i = 0; ok && i < n; i++) list_push(out->list, v_tensor(g[i]));
    free(xs);
    return ok;
}

BUILTIN(checkpoint) { /* f, *xs */
    const List *xs = arg[1].list;
    return grad_checkpoint(in, arg[0], xs->v, (int)xs->n, out, e);
}

/* Appends the last v instructions, one per line. */
static bool need_tape(Value v, const char *what, LangError *e) {
    return v.kind == V_TENSOR ||
           error_set(e, "%s needs a tensor or a number of instructions, not %s", what,
                     value_type_name(v));
}

static bool put_instructions(Interp *in, Value v, Bytes *out, LangError *e) {
    if (v.i < 0) return error_set(e, "the number of instructions must not be negative");
    bytes_puts(out, "");
    return stream_tape(in->stream, (size_t)v.i, out, e);
}

BUILTIN(tape) { /* x */
    Bytes text = {0};
    if (arg[0].kind == V_INT) {
        bool ok = put_instructions(in, arg[0], &text, e);
        if (ok) *out = v_str(text.data, text.n);
        bytes_fini(&text);
        return ok;
    }
    if (arg[0].kind != V_NONE) TRY(need_tape(arg[0], "debug.tape", e));
    autograd_tape_print(in, arg[0].kind == V_NONE ? NULL : arg[0].tensor, &text);
    *out = v_str(text.data, text.n);
    bytes_fini(&text);
    return true;
}

static bool instruction_list(Interp *in, Value v, Value *out, LangError *e) {
    Bytes text = {0};
    bool ok = put_instructions(in, v, &text, e);
    if (ok) *out = v_list(in, 0);
    for (const char *line = text.data, *end = line + text.n; ok && line < end;) {
        const char *nl = memchr(line, '\n', (size_t)(end - line));
        list_push(out->list, v_str(line, (size_t)(nl - line)));
        line = nl + 1;
    }
    bytes_fini(&text);
    return ok;
}

BUILTIN(get_tape) { /* x */
    if (arg[0].kind == V_INT) return instruction_list(in, arg[0], out, e);
    if (arg[0].kind != V_NONE) TRY(need_tape(arg[0], "debug.get_tape", e));
    *out = autograd_tape_list(in, arg[0].kind == V_NONE ? NULL : arg[0].tensor);
    return true;
}

BUILTIN(print_tape) {
    Value text;
    Pieces p = {0};
    TRY(bi_tape(in, arg, &text, e));
    pieces_text(&p, text.str->s, text.str->n);
    if (!text.str->n) pieces_text(&p, "no instructions\n", 16);
    bool ok = effect_print(in, &p, false, e);
    pieces_fini(&p);
    value_drop(text);
    return *out = v_none(), ok;
}

BUILTIN(set_print) { /* precision, edgeitems, threshold, linewidth, sci */
    PrintOptions p = in->print ? *in->print : print_defaults;
    int *field[4] = {&p.precision, &p.edgeitems, &p.threshold, &p.linewidth};
    static const char *const name[4] = {"precision", "edgeitems", "threshold", "linewidth"};
    static const int least[4] = {0, 1, 0, 10}, most[4] = {17, 1000, INT32_MAX, 100000};
    if (!in->print) p.linewidth = 0; /* unless it is given: the terminal's */
    for (int i = 0; i < 4; i++) {
        int64_t v;
        if (arg[i].kind == V_NONE) continue;
        TRY(arg_int_of(arg[i], name[i], &v, e));
        if (v < least[i] || v > most[i])
            return error_set(e, "'%s' must be in %d to %d", name[i], least[i], most[i]);
        *field[i] = (int)v;
    }
    if (arg[4].kind == V_BOOL)
        p.sci = arg[4].b;
    else if (arg[4].kind == V_NONE)
        p.sci = -1;
    else
        return error_set(e, "'sci' is true, false or none");
    if (!in->print) in->print = xmalloc(sizeof *in->print);
    *in->print = p;
    return *out = v_none(), true;
}
