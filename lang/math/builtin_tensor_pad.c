/* builtin_tensor_pad.c: pads a tensor with a value or with its own elements. Widths are PyTorch's:
 * [before, after] of the last axis, then of the one before; negative ones crop.
 * SPDX-License-Identifier: MIT */
#include "lang/math/builtin_tensor.h"
#include <string.h>

typedef struct Widths {
    int n;                                     /* number of axes, counted from the last */
    int64_t before[MAX_DIMS], after[MAX_DIMS]; /* by axis */
} Widths;

static bool read_widths(Value v, const TensorType *t, Widths *w, LangError *e) {
    int64_t n = value_count(v);
    char text[256];
    *w = (Widths){.n = (int)(n / 2)};
    if (n > 0 && value_count(value_at(v, 0)) >= 0) {
        error_set(e, "pad: 'widths' must be a flat list, the last axis first, not a list of pairs");
        return error_hint(e, "((1, 1), (0, 0)) is (0, 0, 1, 1)");
    }
    if (n < 0 || n % 2 || n / 2 > t->rank)
        return error_set(e, "pad needs [before, after] for the last axes, at most %d numbers",
                         2 * t->rank);
    for (int i = 0; i < w->n; i++) {
        int axis = t->rank - 1 - i;
        int64_t *b = &w->before[axis], *a = &w->after[axis];
        TRY(arg_int_of(value_at(v, 2 * i), "widths", b, e) &&
            arg_int_of(value_at(v, 2 * i + 1), "widths", a, e));
        if (*b < -MAX_NUMEL || *a < -MAX_NUMEL || *b > MAX_NUMEL || *a > MAX_NUMEL)
            return error_set(e, "pad: widths must not be huge");
        if (t->shape[axis] + (*b < 0 ? *b : 0) + (*a < 0 ? *a : 0) < 0)
            return error_set(e, "pad: [%lld, %lld] cuts more from axis %d than %s has",
                             (long long)*b, (long long)*a, axis, type_shape_text(t, text));
    }
    return true;
}

/* Crops x by the negative widths and sets those to 0. Takes ownership of x; NULL returns NULL. */
static Tensor *crop(Interp *in, Tensor *x, Widths *w, LangError *e) {
    for (int axis = 0; x && axis < tensor_type(x)->rank; axis++) {
        int64_t *b = &w->before[axis], *a = &w->after[axis], n = tensor_type(x)->shape[axis];
        int64_t first = *b < 0 ? -*b : 0, left = n - first + (*a < 0 ? *a : 0);
        if (left == n) continue;
        Tensor *part = tensor_slice(in, x, axis, first, left, 1, e);
        tensor_unref(x);
        x = part;
        if (*b < 0) *b = 0;
        if (*a < 0) *a = 0;
    }
    return x;
}

/* Crops x and writes it into a larger tensor that is filled with value. Takes ownership of x. */
static Tensor *constant(Interp *in, Tensor *x, Widths *w, Operand value, LangError *e) {
    int64_t step[MAX_DIMS];
    Tensor *frame = NULL, *t = NULL;
    bool is_wider = false;
    x = crop(in, x, w, e);
    if (!x) return NULL;
    int rank = tensor_type(x)->rank;
    TensorType s = *tensor_type(x), wide = s;
    for (int i = 0; i < rank; i++) {
        step[i] = 1;
        wide.shape[i] += w->before[i] + w->after[i];
        is_wider |= wide.shape[i] != s.shape[i];
    }
    if (!is_wider) return x;
    frame = tensor_full(in, wide.shape, rank, (DType)s.dtype, value, e);
    Arg a[2] = {arg_tensor(frame), arg_tensor(x)};
    Attr attr[3] = {attr_ints(ATTR_START, w->before, rank), attr_ints(ATTR_SIZE, s.shape, rank),
                    attr_ints(ATTR_STEP, step, rank)};
    if (frame && !tensor_op(in, OP_SLICE_PUT, a, 2, attr, 3, &t, e)) t = NULL;
    tensor_unref(frame), tensor_unref(x);
    return t;
}

typedef enum PadMode { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR } PadMode;

/* The indices into an axis of size n for each position of the padded axis. */
static Tensor *places(Steps *s, PadMode mode, int64_t n, int64_t before, int64_t after) {
    Tensor *t = steps_keep(
        s, tensor_arange(s->in, arg_int(-before), arg_int(1), n + before + after, DT_I64, s->e));
    if (mode == PAD_CIRCULAR) return step2(s, OP_MOD, arg_tensor(t), arg_int(n));
    if (mode == PAD_REPLICATE) {
        t = step2(s, OP_MAXIMUM, arg_tensor(t), arg_int(0));
        return step2(s, OP_MINIMUM, arg_tensor(t), arg_int(n - 1));
    }
    for (int twice = 0; twice < 2; twice++) /* n - 1 - |n - 1 - |i|| */
        t = step2(s, OP_SUB, arg_int(n - 1), arg_tensor(step1(s, OP_ABS, t)));
    return t;
}

/* Gathers x along each padded axis. Takes ownership of x. */
static Tensor *gathered(Interp *in, Tensor *x, Widths *w, PadMode mode, const char *name,
                        LangError *e) {
    int rank = tensor_type(x)->rank;
    if (mode == PAD_CIRCULAR) x = crop(in, x, w, e);
    for (int i = 0; x && i < w->n; i++) {
        int axis = rank - 1 - i;
        int64_t n = tensor_type(x)->shape[axis], before = w->before[axis], after = w->after[axis];
        if (!before && !after) continue;
        int64_t most = mode == PAD_REFLECT ? n - 1 : mode == PAD_CIRCULAR ? n : MAX_NUMEL;
        Steps s = {in, e};
        Tensor *index = NULL;
        if (n == 0)
            error_set(e, "pad: axis %d has no elements to %s", axis, name);
        else if (before > most || after > most)
            error_set(e, "pad: mode \"%s\" adds at most %lld to axis %d of %lld elements", name,
                      (long long)most, axis, (long long)n);
        else
            index = places(&s, mode, n, before, after);
        int64_t a = axis;
        Attr attr = attr_ints(ATTR_AXIS, &a, 1);
        Arg operand[2] = {arg_tensor(steps_keep(&s, x)), arg_tensor(index)};
        x = steps_end(&s, step_op(&s, OP_INDEX, operand, 2, &attr, 1));
    }
    return x;
}

/* Arguments: x, widths, mode, value. If mode is not a string, it is the value, and the mode is
 * constant. */
bool bi_pad(Interp *in, const Value *arg, Value *out, LangError *e) {
    static const char *const names[] = {"constant", "reflect", "replicate", "circular"};
    bool has_mode = arg[2].kind == V_STR;
    int mode = 0;
    while (has_mode && mode < 4 && strcmp(names[mode], arg[2].str->s)) mode++;
    if (mode == 4) {
        error_set(e, "pad: mode \"%s\" is not known", arg[2].str->s);
        if (!strcmp(arg[2].str->s, "edge")) return error_hint(e, "replicate");
        if (!strcmp(arg[2].str->s, "wrap")) return error_hint(e, "circular");
        return error_hint(e, "constant, reflect, replicate, circular");
    }
    Value v = has_mode ? arg[3] : arg[2];
    Arg value = arg_int(0);
    if (v.kind != V_NONE && !(value_is_number(v) && arg_from_value(in, v, &value, e)))
        return error_set(e, "pad: the value must be a number, not %s", value_type_name(v));
    Tensor *x = arg_as_tensor(in, arg[0], e);
    if (!x) return false;
    TensorType t = *tensor_type(x);
    Widths w;
    if (!read_widths(arg[1], &t, &w, e)) return tensor_unref(x), false;
    if (mode != PAD_CONSTANT)
        return give_tensor(gathered(in, x, &w, (PadMode)mode, names[mode], e), out);
    if (value.imm.kind == IN_IMM_FLOAT && !dtype_is_float(t.dtype))
        value = arg_int((int64_t)value.imm.f);
    if (t.dtype == DT_BOOL)
        value = arg_bool(value.imm.kind == IN_IMM_INT ? value.imm.i != 0 : value.imm.b);
    return give_tensor(constant(in, x, &w, value.imm, e), out);
}
