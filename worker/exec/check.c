/* check.c: --check-nan: finds the first instruction whose float results are not finite.
 *
 * A nan is reported if no operand and no immediate is nan, an infinity if all operands and
 * immediates are finite: masks of -inf are intended. Results are read through copy_out, a piece at
 * a time, which works with every engine. Nothing is checked unless a client asks for it.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/check.h"
#include "worker/exec/mark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 8192, DATA_LITERAL = 64 }; /* elements; `data` with more comes from a file */

/* Number of nans and of infinities, and the row-major index of the first of each. */
typedef struct Found {
    int64_t nans, infs, first_nan, first_inf;
    bool is_negative; /* the first infinity */
} Found;

/* ---- Elements ---- */

/* Returns the exponent bits of a float dtype; all set: infinite or nan. */
static uint64_t exponent_of(DType t) {
    switch (dtype_info[t].size_bytes) {
    case 8: return UINT64_C(0x7ff) << 52;
    case 4: return UINT64_C(0xff) << 23;
    default: return dtype_info[t].text[0] == 'b' ? 0x7f80 : 0x7c00;
    }
}

static uint64_t bits_at(const void *p, int64_t i, int size) {
    uint64_t u = 0;
    memcpy(&u, (const char *)p + i * size, (size_t)size);
    return u;
}

static void count_piece(const void *p, int64_t n, DType t, int64_t base, Found *f) {
    int size = dtype_info[t].size_bytes;
    uint64_t exponent = exponent_of(t), sign = UINT64_C(1) << (8 * size - 1);
    for (int64_t i = 0; i < n; i++) {
        uint64_t u = bits_at(p, i, size);
        if ((u & exponent) != exponent) continue;
        if (u & ~(exponent | sign)) {
            if (f->nans++ == 0) f->first_nan = base + i;
        } else if (f->infs++ == 0) {
            f->first_inf = base + i, f->is_negative = (u & sign) != 0;
        }
    }
}

/* The fast path: a vectorizable test without counting. */
static bool piece_is_finite(const void *p, int64_t n, DType t) {
    uint64_t exponent = exponent_of(t);
    bool bad = false;
    if (dtype_info[t].size_bytes == 4) {
        const uint32_t *u = p, e = (uint32_t)exponent;
        for (int64_t i = 0; i < n; i++) bad |= (u[i] & e) == e;
    } else if (dtype_info[t].size_bytes == 8) {
        const uint64_t *u = p;
        for (int64_t i = 0; i < n; i++) bad |= (u[i] & exponent) == exponent;
    } else {
        const uint16_t *u = p, e = (uint16_t)exponent;
        for (int64_t i = 0; i < n; i++) bad |= (u[i] & e) == e;
    }
    return !bad;
}

/* Splits a view along its first axes into pieces that fit into buf, and counts in each. */
static void look(Exec *x, const View *v, int64_t base, void *buf, Found *f) {
    int64_t n = type_numel(&v->type);
    if (n == 0) return;
    if (n <= PIECE) {
        x->ops->copy_out(x->engine, buf, v);
        if (x->marks) marks_settle(x);
        if (!piece_is_finite(buf, n, (DType)v->type.dtype))
            count_piece(buf, n, (DType)v->type.dtype, base, f);
        return;
    }
    int size = dtype_info[v->type.dtype].size_bytes;
    int64_t inner = n / v->type.shape[0];
    int64_t step = inner < PIECE ? PIECE / inner : 1;
    for (int64_t i = 0; i < v->type.shape[0]; i += step) {
        View part = *v;
        part.data = (char *)v->data + i * v->stride[0] * size;
        part.type.shape[0] = v->type.shape[0] - i < step ? v->type.shape[0] - i : step;
        if (step == 1) { /* one row, which may still be too large */
            part.type.rank--;
            memmove(part.type.shape, part.type.shape + 1, part.type.rank * sizeof(int64_t));
            memmove(part.stride, part.stride + 1, part.type.rank * sizeof(int64_t));
        }
        look(x, &part, base + i * inner, buf, f);
    }
}

static Found find(Exec *x, const View *v) {
    Found f = {0};
    if (v->is_scalar || !dtype_is_float((DType)v->type.dtype)) return f;
    look(x, v, 0, arena_alloc(&x->scratch, PIECE * 8), &f);
    arena_reset(&x->scratch);
    return f;
}

static double as_double(const void *p, DType t) {
    uint64_t u = bits_at(p, 0, dtype_info[t].size_bytes);
    if (!dtype_is_float(t)) {
        int shift = 64 - 8 * dtype_info[t].size_bytes;
        bool is_signed = dtype_info[t].text[0] == 'i';
        return is_signed ? (double)((int64_t)(u << shift) >> shift) : (double)u;
    }
    double d;
    float f;
    uint32_t w = (uint32_t)u;
    switch (dtype_info[t].size_bytes) {
    case 8: memcpy(&d, &u, 8); return d;
    case 4: memcpy(&f, &w, 4); return (double)f;
    default: break;
    }
    int bits = dtype_info[t].text[0] == 'b' ? 7 : 10; /* of the mantissa */
    int exponent = (int)(w >> bits) & (bits == 7 ? 0xff : 0x1f), most = bits == 7 ? 0xff : 0x1f;
    double m = (double)(w & ((1u << bits) - 1)) / (1 << bits), s = w & 0x8000 ? -1 : 1;
    if (exponent == most) return m > 0 ? NAN : s * INFINITY;
    return s * ldexp(exponent ? 1 + m : m, (exponent ? exponent : 1) - most / 2);
}

/* Returns the element of operand v that broadcasting combines into the result's i-th element. */
static double element_for(Exec *x, const View *v, const TensorType *out, int64_t i) {
    char value[8] = {0};
    if (v->is_scalar) return as_double(v->data, (DType)v->type.dtype);
    View one = {.type = {.dtype = v->type.dtype}};
    int64_t offset = 0;
    for (int d = out->rank - 1; d >= 0; d--) {
        int64_t at = i % out->shape[d];
        int own = d - (out->rank - v->type.rank);
        i /= out->shape[d];
        if (own >= 0 && v->type.shape[own] != 1) offset += at * v->stride[own];
    }
    one.data = (char *)v->data + offset * dtype_info[v->type.dtype].size_bytes;
    x->ops->copy_out(x->engine, value, &one);
    if (x->marks) marks_settle(x);
    return as_double(value, (DType)v->type.dtype);
}

/* ---- Messages ---- */

/* Writes a short number: 0.0, 88.5, -1e+30; an integer gets ".0". */
static void put_number(Bytes *b, double v) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", v);
    bytes_puts(b, text);
    if (!strpbrk(text, ".einf")) bytes_puts(b, ".0");
}

static void put_inputs(Exec *x, const Job *j, int64_t at, Bytes *b) {
    const Call *c = &j->call;
    if (op_info[j->inst.op].class_ != CLASS_MAP && j->inst.op != OP_CAST) return;
    bytes_puts(b, c->n_in == 1 ? ", where the input is " : ", where the inputs are ");
    for (int i = 0; i < c->n_in; i++) {
        if (i) bytes_puts(b, i + 1 < c->n_in ? ", " : " and ");
        put_number(b, element_for(x, &c->in[i], &c->out[0].type, at));
    }
}

/* True if the infinity at index `at` comes from a pole, as in 1 / 0 or 0 ** -1; false if the value
 * exceeds the dtype's largest number. */
static bool is_pole(Exec *x, const Job *j, int64_t at) {
    const Call *c = &j->call;
    Op op = j->inst.op;
    if ((op != OP_DIV && op != OP_POW) || c->n_in < 2) return true;
    double a = element_for(x, &c->in[0], &c->out[0].type, at);
    double b = element_for(x, &c->in[1], &c->out[0].type, at);
    return op == OP_POW ? fabs(a) < 1 : fabs(a * b) < 1;
}

/* Sets the advice for the result, of dtype t, with f's values; none if there is none. */
static void put_hint(Exec *x, const Job *j, DType t, const Found *f, Err *err) {
    static const struct {
        const char *pole, *large, *nan;
    } hints[OP_COUNT] = {
#define HINT(id, pole, large, nan) [OP_##id] = {pole, large, nan},
#include "runtime/inst/ops.def"
    };
    Op op = j->inst.op;
    const char *pole = hints[op].pole, *large = hints[op].large;
    if (f->nans) {
        if (hints[op].nan) err_hint(err, "%s", hints[op].nan);
    } else if (pole && (!large || is_pole(x, j, f->first_inf))) {
        err_hint(err, "%s", pole);
    } else if (large && t == DT_F16) {
        err_hint(err, "too large for float16, which ends at 65504: bfloat16 or float32, or scale "
                      "the values");
    } else if (large) {
        err_hint(err, "too large for %s: %s", dtype_info[t].name, large);
    }
}

/* Returns the index in the whole result k of element `at` of the local part. */
static int64_t place_in_whole(const Job *j, int k, const TensorType *part, int64_t at) {
    const Layout *l = &j->part->place.layout;
    int64_t begin, end, flat = 0, place[MAX_DIMS];
    layout_rows(l, &j->part->whole[k], j->part->at, &begin, &end);
    for (int d = part->rank - 1; d >= 0; d--) {
        place[d] = at % part->shape[d] + (d == l->axis ? begin : 0);
        at /= part->shape[d];
    }
    for (int d = 0; d < part->rank; d++) flat = flat * j->part->whole[k].shape[d] + place[d];
    return flat;
}

/* Sets err, with a label for the caret: "-inf for 3 of 4096 elements, where the input is 0.0". Of a
 * split result the dispatcher adds up the ranks' counts (err_join); those of terms cannot be. */
static bool report(Exec *x, const Job *j, int k, const Found *f, Err *err) {
    Bytes label = {0};
    const View *out = &j->call.out[k];
    LayoutKind kind = j->part ? (LayoutKind)j->part->place.layout.kind : LAYOUT_REPLICATE;
    int64_t n = type_numel(kind == LAYOUT_SPLIT ? &j->part->whole[k] : &out->type);
    int64_t bad = f->nans ? f->nans : f->infs, at = f->nans ? f->first_nan : f->first_inf;
    bytes_printf(&label, "%s for %lld of %lld element%s",
                 f->nans          ? "nan"
                 : f->is_negative ? "-inf"
                                  : "inf",
                 (long long)bad, (long long)n, n == 1 ? "" : "s");
    if (kind == LAYOUT_PARTIAL) bytes_puts(&label, " of one worker's term");
    put_inputs(x, j, at, &label);
    if (j->inst.op == OP_DATA)
        err_set(err, ERR_NAN, "the data given here is not finite (--check-nan)\n%s", label.data);
    else
        err_set(err, ERR_NAN, "non-finite values first appear in '%s' (--check-nan)\n%s",
                op_info[j->inst.op].name, label.data);
    put_hint(x, j, (DType)out->type.dtype, f, err);
    if (kind == LAYOUT_SPLIT) at = place_in_whole(j, k, &out->type, at), err->count = bad;
    err->at = f->nans ? at : at + ERR_AT_INF;
    bytes_fini(&label);
    return false;
}

/* ---- Checks ---- */

static bool has_infinite_immediate(const Inst *in) {
    for (int i = 0; i < in->n_in; i++)
        if (in->in[i].kind == IN_IMM_FLOAT && !isfinite(in->in[i].f)) return true;
    return false;
}

static bool has_nan_immediate(const Inst *in) {
    for (int i = 0; i < in->n_in; i++)
        if (in->in[i].kind == IN_IMM_FLOAT && isnan(in->in[i].f)) return true;
    return false;
}

bool check_call(Exec *x, const Job *j, Err *err) {
    const Inst *in = j->call.inst; /* for the max of an empty part: a `full` of -inf */
    for (int k = 0; k < j->call.n_out; k++) {
        Found f = find(x, &j->call.out[k]);
        if (f.nans + f.infs == 0) continue;
        if (f.nans ? has_nan_immediate(in) : has_infinite_immediate(in)) continue;
        bool is_old = false;
        for (int i = 0; i < j->call.n_in && !is_old; i++) {
            Found g = find(x, &j->call.in[i]);
            is_old = f.nans ? g.nans > 0 : g.nans + g.infs > 0;
        }
        if (!is_old) return report(x, j, k, &f, err);
    }
    return true;
}

bool check_data(Exec *x, const Job *j, Err *err) {
    const View *v = &j->call.out[0];
    Found f = find(x, v);
    if (f.nans == 0 && (f.infs == 0 || type_numel(&v->type) <= DATA_LITERAL)) return true;
    return report(x, j, 0, &f, err);
}
