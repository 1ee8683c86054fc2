/* einsum.c: sums of products over named axes, as in NumPy and PyTorch: einsum("bhqd,bhkd->bhqk", q,
 * k). First, each operand takes the diagonals of its repeated axes and sums the axes that occur
 * nowhere else. Then two operands at a time are combined. An axis of both is a batch axis if it is
 * still needed, else it is contracted; other axes are rows and columns of a matrix product. If no
 * axis is contracted, the product is pointwise. All steps are ordinary operations, so gradients
 * follow. The order of pairs depends only on shapes.
 * SPDX-License-Identifier: MIT */
#include "lang/math/builtin_tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Axis ids: letters, upper case first, then the axes of "...". */
enum { DOTS = 52, IDS = DOTS + MAX_DIMS, MAX_TERMS = 64 };
typedef uint64_t IdSet;
#define BIT(id) ((IdSet)1 << (id))

/* An operand or a product of several, with its axes in order. Axes are unique once the operand is
 * prepared. */
typedef struct Term {
    Tensor *t; /* owned */
    int n;
    uint8_t id[MAX_DIMS];
    IdSet set;
} Term;

typedef struct Einsum {
    Interp *in;
    LangError *e;
    const char *spec;
    Term term[MAX_TERMS];
    int n;
    size_t begin[MAX_TERMS], end[MAX_TERMS]; /* range in spec */
    uint8_t out[IDS];
    int n_out;
    int64_t size[IDS];
    int from[IDS]; /* the operand that set the size */
    IdSet wanted;  /* axes of the result */
    int n_dots;    /* number of axes of "..." */
} Einsum;

/* ---- errors ---- */

/* The characters begin .. end-1 of the spec in the source, if the call has it as a literal. */
static Span spec_span(const Einsum *s, size_t begin, size_t end) {
    const Node *n = s->in->at;
    if (!n || n->kind != N_CALL || n->n_kids < 2 || n->kid[1]->kind != N_STRING) return (Span){0};
    Span at = n->kid[1]->whole;
    if (!at.src || at.src->is_prelude || at.len != n->kid[1]->n_str + 2) return (Span){0};
    at.col += (uint16_t)(1 + begin), at.len = (uint16_t)(end > begin ? end - begin : 1);
    return at;
}

static Span operand_span(const Einsum *s, int i) {
    const Node *n = s->in->at;
    if (!n || n->kind != N_CALL || (int)n->n_kids < i + 3 || n->kid[i + 2]->kind == N_STAR ||
        !n->at.src || n->at.src->is_prelude || n->kid[2]->kind == N_LIST)
        return (Span){0};
    return n->kid[i + 2]->whole;
}

/* Points an error at a range of the spec, and adds operand i's shape if i >= 0. */
static bool point_at(const Einsum *s, size_t begin, size_t end, int i) {
    Span at = spec_span(s, begin, end), operand = i >= 0 ? operand_span(s, i) : (Span){0};
    char shape[256];
    if (operand.len)
        error_label(s->e, operand, "%s", type_shape_text(tensor_type(s->term[i].t), shape));
    if (at.len) error_label(s->e, at, "%s", "");
    return error_locate(s->e, at.len ? at : interp_span(s->in));
}

static const char *ordinal(int i, char *buf) {
    static const char *const words[] = {"first", "second",  "third",  "fourth", "fifth",
                                        "sixth", "seventh", "eighth", "ninth",  "tenth"};
    if (i < 10) return words[i];
    snprintf(buf, 24, "%dth", i + 1);
    return buf;
}

/* ---- reading the spec ---- */

static int letter_id(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}
static const char *id_name(int id, char *buf) {
    snprintf(buf, 8, id >= DOTS ? "..." : "%c", id < 26 ? 'A' + id : 'a' + id - 26);
    return buf;
}

/* Reads the next axis of spec[*at .. end): a letter's id, DOTS for "...", -1 at the end, -2 on an
 * error. */
static int next_axis(const Einsum *s, size_t *at, size_t end) {
    while (*at < end && s->spec[*at] == ' ') (*at)++;
    if (*at >= end) return -1;
    const char *p = s->spec + *at;
    if (end - *at >= 3 && !memcmp(p, "...", 3)) return *at += 3, DOTS;
    int id = letter_id(*p);
    if (id >= 0) return (*at)++, id;
    error_set(s->e, "einsum: '%.1s' is not the name of an axis", p);
    error_hint(s->e, "letters, \"...\", \",\" between operands and \"->\" before the result");
    point_at(s, *at, *at + 1, -1);
    return -2;
}

/* Counts a term's letters and sets *has_dots. */
static bool count_axes(const Einsum *s, size_t begin, size_t end, int *letters, bool *has_dots) {
    *letters = 0, *has_dots = false;
    for (size_t at = begin;;) {
        size_t from = at;
        int id = next_axis(s, &at, end);
        if (id == -2) return false;
        if (id == -1) return true;
        if (id < DOTS) {
            ++*letters;
            continue;
        }
        if (*has_dots) {
            error_set(s->e, "einsum: \"...\" appears twice in one term");
            return point_at(s, from, at, -1);
        }
        *has_dots = true;
    }
}

static bool error_sizes(const Einsum *s, int id, int i, int64_t n, size_t at) {
    char name[8], a[24], b[24];
    if (s->from[id] == i)
        error_set(s->e, "einsum: index '%s' is %lld and %lld in the %s operand", id_name(id, name),
                  (long long)s->size[id], (long long)n, ordinal(i, a));
    else
        error_set(s->e, "einsum: index '%s' is %lld in the %s operand and %lld in the %s",
                  id_name(id, name), (long long)s->size[id], ordinal(s->from[id], a), (long long)n,
                  ordinal(i, b));
    int first = s->from[id];
    Span one = operand_span(s, first);
    char shape[256];
    if (one.len && first != i)
        error_label(s->e, one, "%s", type_shape_text(tensor_type(s->term[first].t), shape));
    return point_at(s, at, at + (id >= DOTS ? 3 : 1), i);
}

/* Records that axis id of operand i has size n, and checks it; 1 broadcasts. */
static bool note_size(Einsum *s, int id, int i, int64_t n, size_t at) {
    if (s->size[id] < 0 || (s->size[id] == 1 && n != 1 && s->from[id] != i)) {
        s->size[id] = n, s->from[id] = i;
        return true;
    }
    return n == s->size[id] || (n == 1 && s->from[id] != i) || error_sizes(s, id, i, n, at);
}

/* Assigns ids to the axes of operand i; the number of axes of "..." is known by now. */
static bool read_term(Einsum *s, int i) {
    Term *t = &s->term[i];
    const TensorType *type = tensor_type(t->t);
    int letters;
    bool has_dots;
    char word[24], shape[256];
    TRY(count_axes(s, s->begin[i], s->end[i], &letters, &has_dots));
    int dots = has_dots ? type->rank - letters : 0;
    if (dots < 0 || letters + dots != type->rank) {
        error_set(s->e, "einsum: '%.*s' names %d ax%s, but the %s operand has shape %s",
                  (int)(s->end[i] - s->begin[i]), s->spec + s->begin[i], letters,
                  letters == 1 ? "is" : "es", ordinal(i, word), type_shape_text(type, shape));
        return point_at(s, s->begin[i], s->end[i], i);
    }
    for (size_t at = s->begin[i], from = at;; from = at) {
        int id = next_axis(s, &at, s->end[i]);
        if (id < 0) return true;
        if (id < DOTS) from = at - 1;
        int first = id < DOTS ? id : DOTS + s->n_dots - dots, count = id < DOTS ? 1 : dots;
        for (int k = 0; k < count; k++) {
            TRY(note_size(s, first + k, i, type->shape[t->n], from));
            t->id[t->n++] = (uint8_t)(first + k);
            t->set |= BIT(first + k);
        }
    }
}

static bool wants(Einsum *s, int id, size_t begin, size_t end) {
    char name[8];
    IdSet all = 0;
    for (int i = 0; i < s->n; i++) all |= s->term[i].set;
    if (s->wanted & BIT(id))
        error_set(s->e, "einsum: index '%s' appears twice in the result", id_name(id, name));
    else if (!(all & BIT(id)))
        error_set(s->e, "einsum: index '%s' of the result is in no operand", id_name(id, name));
    else {
        s->wanted |= BIT(id);
        s->out[s->n_out++] = (uint8_t)id;
        return true;
    }
    return point_at(s, begin, end, -1);
}

static bool read_result(Einsum *s, size_t begin, size_t end) {
    int letters;
    bool has_dots;
    TRY(count_axes(s, begin, end, &letters, &has_dots));
    for (size_t at = begin;;) {
        size_t from = at;
        int id = next_axis(s, &at, end);
        if (id < 0) return true;
        if (id < DOTS) from = at - 1;
        for (int k = 0; k < (id < DOTS ? 1 : s->n_dots); k++) TRY(wants(s, id + k, from, at));
    }
}

/* Without "->" the result has the axes of "...", then in order every letter that occurs once. */
static void implied_result(Einsum *s) {
    int count[IDS] = {0};
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->term[i].n; k++) count[s->term[i].id[k]]++;
    for (int k = 0; k < IDS; k++) {
        int id = k < MAX_DIMS ? DOTS + k : k - MAX_DIMS;
        if (id >= DOTS ? count[id] == 0 : count[id] != 1) continue;
        s->wanted |= BIT(id);
        s->out[s->n_out++] = (uint8_t)id;
    }
}

static bool read_spec(Einsum *s) {
    const char *arrow = strstr(s->spec, "->");
    size_t end = strlen(s->spec), stop = arrow ? (size_t)(arrow - s->spec) : end, from = 0;
    int terms = 0;
    for (size_t at = 0; at <= stop; at++) {
        if (at < stop && s->spec[at] != ',') continue;
        if (terms < s->n) s->begin[terms] = from, s->end[terms] = at;
        terms++, from = at + 1;
    }
    if (terms != s->n) {
        error_set(s->e, "einsum: '%.*s' is for %d operand%s, not %d", (int)stop, s->spec, terms,
                  terms == 1 ? "" : "s", s->n);
        return point_at(s, 0, stop, -1);
    }
    for (int i = 0; i < IDS; i++) s->size[i] = -1;
    for (int i = 0; i < s->n; i++) {
        int letters;
        bool has_dots;
        TRY(count_axes(s, s->begin[i], s->end[i], &letters, &has_dots));
        int dots = tensor_type(s->term[i].t)->rank - letters;
        if (has_dots && dots > s->n_dots) s->n_dots = dots;
    }
    for (int i = 0; i < s->n; i++) TRY(read_term(s, i));
    if (arrow) return read_result(s, stop + 2, end);
    implied_result(s);
    return true;
}

/* ---- one term ---- */

static bool put(Term *x, Tensor *t) { /* takes ownership of t */
    if (!t) return false;
    tensor_unref(x->t);
    x->t = t;
    return true;
}

static int axis_of(const Term *x, int id) {
    for (int i = 0; i < x->n; i++)
        if (x->id[i] == id) return i;
    return -1;
}
static int64_t extent(const Term *x, int axis) { return tensor_type(x->t)->shape[axis]; }

static void drop_axis(Term *x, int axis) {
    x->n--;
    for (int i = axis; i < x->n; i++) x->id[i] = x->id[i + 1];
    x->set = 0;
    for (int i = 0; i < x->n; i++) x->set |= BIT(x->id[i]);
}

/* Permutes x to `order`, which contains all its axes. */
static bool reorder(Einsum *s, Term *x, const uint8_t *order) {
    int64_t axes[MAX_DIMS];
    bool same = true;
    for (int i = 0; i < x->n; i++) {
        axes[i] = axis_of(x, order[i]);
        same &= axes[i] == i;
    }
    if (same) return true;
    memcpy(x->id, order, (size_t)x->n);
    return put(x, tensor_permute(s->in, x->t, axes, x->n, s->e));
}

/* Merges the axes p < q of one name: they become adjacent, are viewed as one, and every (n + 1)th
 * element is taken. */
static bool take_diagonal(Einsum *s, Term *x, int p, int q) {
    int64_t axes[MAX_DIMS], shape[MAX_DIMS], n = extent(x, p);
    int k = 0;
    for (int i = 0; i < x->n; i++)
        if (i != p && i != q) axes[k] = i, shape[k++] = extent(x, i);
    axes[k] = p, axes[k + 1] = q, shape[k] = n * n;
    uint8_t id = x->id[p];
    TRY(put(x, tensor_permute(s->in, x->t, axes, x->n, s->e)));
    TRY(put(x, tensor_reshape(s->in, x->t, shape, k + 1, s->e)));
    TRY(put(x, tensor_slice(s->in, x->t, k, 0, n, n + 1, s->e)));
    drop_axis(x, q), drop_axis(x, p);
    x->id[x->n++] = id, x->set |= BIT(id);
    return true;
}

static bool take_diagonals(Einsum *s, Term *x) {
    for (int q = 1; q < x->n; q++)
        for (int p = 0; p < q; p++)
            if (x->id[p] == x->id[q]) {
                TRY(take_diagonal(s, x, p, q));
                return take_diagonals(s, x);
            }
    return true;
}

static bool refuse_bool(Einsum *s, const Term *x) {
    if (tensor_type(x->t)->dtype != DT_BOOL) return true;
    error_set(s->e, "einsum does not sum bool");
    error_hint(s->e, "x.int() counts");
    return error_locate(s->e, interp_span(s->in));
}

/* Sums over the axes in `set`; whole numbers keep their dtype. */
static bool sum_out(Einsum *s, Term *x, IdSet set) {
    int64_t axes[MAX_DIMS];
    int n = 0;
    for (int i = 0; i < x->n; i++)
        if (set & BIT(x->id[i])) axes[n++] = i;
    if (!n) return true;
    TRY(refuse_bool(s, x));
    DType d = (DType)tensor_type(x->t)->dtype;
    TRY(put(x, tensor_reduce(s->in, OP_SUM, x->t, axes, n, false, s->e)));
    while (n-- > 0) drop_axis(x, (int)axes[n]);
    return put(x, tensor_cast(s->in, x->t, d, s->e));
}

/* Drops x's axes of size 1 that `other` has with another size: broadcasting. */
static bool drop_ones(Einsum *s, Term *x, const Term *other) {
    int64_t shape[MAX_DIMS];
    for (int i = x->n - 1; i >= 0; i--) {
        int k = axis_of(other, x->id[i]), rank = 0;
        if (k < 0 || extent(x, i) != 1 || extent(other, k) == 1) continue;
        for (int a = 0; a < x->n; a++)
            if (a != i) shape[rank++] = extent(x, a);
        TRY(put(x, tensor_reshape(s->in, x->t, shape, rank, s->e)));
        drop_axis(x, i);
    }
    return true;
}

/* ---- two terms ---- */

/* Appends x's axes that are in `set` to the n in ids, in x's order; returns the new number. */
static int gather_ids(const Term *x, IdSet set, uint8_t *ids, int n) {
    for (int i = 0; i < x->n; i++)
        if (set & BIT(x->id[i])) ids[n++] = x->id[i];
    return n;
}

static int64_t product_of(const Term *x, IdSet set) {
    int64_t n = 1;
    for (int i = 0; i < x->n; i++)
        if (set & BIT(x->id[i])) n *= extent(x, i);
    return n;
}

static bool too_many(Einsum *s, int n) {
    if (n <= MAX_DIMS) return true;
    error_set(s->e, "einsum: an intermediate product of %d axes, but a tensor has at most %d", n,
              MAX_DIMS);
    return error_locate(s->e, interp_span(s->in));
}

/* Pointwise product of x (batch, rows) and y (batch, columns): (batch, rows, columns). */
static bool multiply(Einsum *s, Term *x, Term *y, IdSet batch) {
    uint8_t order[2 * MAX_DIMS], own[MAX_DIMS];
    int64_t shape[2 * MAX_DIMS];
    int n_batch = gather_ids(x, batch, order, 0), rows = gather_ids(x, ~batch, order, n_batch);
    TRY(too_many(s, rows + y->n - n_batch));
    TRY(reorder(s, x, order));
    memcpy(own, order, (size_t)n_batch);
    gather_ids(y, ~batch, own, n_batch);
    TRY(reorder(s, y, own));
    int n = gather_ids(y, ~batch, order, rows);
    for (int i = 0; i < n; i++) shape[i] = i < rows ? extent(x, i) : 1;
    TRY(put(x, tensor_reshape(s->in, x->t, shape, n, s->e)));
    for (int i = 0; i < n; i++)
        shape[i] = i < n_batch ? extent(y, i) : i < rows ? 1 : extent(y, i - rows + n_batch);
    TRY(put(y, tensor_reshape(s->in, y->t, shape, n, s->e)));
    memcpy(x->id, order, (size_t)n);
    x->n = n, x->set |= y->set;
    return put(x, tensor_op2(s->in, OP_MUL, arg_tensor(x->t), arg_tensor(y->t), s->e));
}

/* Matrix product of x as (batch, rows, inner) and y as (batch, inner, columns). Axes of one kind
 * are merged before and split again after it. */
static bool contract(Einsum *s, Term *x, Term *y, IdSet batch, IdSet inner) {
    uint8_t order[2 * MAX_DIMS], own[MAX_DIMS];
    int64_t shape[MAX_DIMS + 2], full[2 * MAX_DIMS];
    TRY(refuse_bool(s, x));
    int n_batch = gather_ids(x, batch, order, 0),
        rows = gather_ids(x, ~(batch | inner), order, n_batch);
    TRY(too_many(s, rows + y->n - n_batch - (x->n - rows)));
    gather_ids(x, inner, order, rows);
    TRY(reorder(s, x, order));
    memcpy(own, order, (size_t)n_batch);
    memcpy(own + n_batch, order + rows, (size_t)(x->n - rows)); /* inner axes in x's order */
    gather_ids(y, ~(batch | inner), own, n_batch + x->n - rows);
    TRY(reorder(s, y, own));
    int lead = n_batch <= MAX_DIMS - 2 ? n_batch : 1; /* keep batch axes separate if they fit */
    for (int i = 0; i < lead; i++) shape[i] = lead == n_batch ? extent(x, i) : product_of(x, batch);
    for (int i = 0; i < n_batch; i++) full[i] = extent(x, i);
    int n = n_batch;
    for (int i = n_batch; i < rows; i++) full[n++] = extent(x, i);
    int skip = n_batch + x->n - rows;
    for (int i = skip; i < y->n; i++) full[n++] = extent(y, i);
    shape[lead] = product_of(x, ~(batch | inner)), shape[lead + 1] = product_of(x, inner);
    TRY(put(x, tensor_reshape(s->in, x->t, shape, lead + 2, s->e)));
    shape[lead] = shape[lead + 1], shape[lead + 1] = product_of(y, ~(batch | inner));
    TRY(put(y, tensor_reshape(s->in, y->t, shape, lead + 2, s->e)));
    TRY(put(x, tensor_op2(s->in, OP_MATMUL, arg_tensor(x->t), arg_tensor(y->t), s->e)));
    TRY(put(x, tensor_reshape(s->in, x->t, full, n, s->e)));
    gather_ids(y, ~(batch | inner), order, rows);
    memcpy(x->id, order, (size_t)n);
    x->n = n, x->set = (x->set | y->set) & ~inner;
    return true;
}

/* Replaces x by the product of x and y. keep: axes that other terms or the result need. */
static bool combine(Einsum *s, Term *x, Term *y, IdSet keep) {
    TRY(drop_ones(s, x, y) && drop_ones(s, y, x));
    TRY(sum_out(s, x, ~(y->set | keep)) && sum_out(s, y, ~(x->set | keep)));
    IdSet both = x->set & y->set, inner = both & ~keep;
    return inner ? contract(s, x, y, both & keep, inner) : multiply(s, x, y, both);
}

/* The size of the product of terms i and j minus their own sizes, in elements; double, so that
 * nothing overflows. */
static double growth(const Einsum *s, int i, int j) {
    const Term *x = &s->term[i], *y = &s->term[j];
    IdSet keep = s->wanted, all = x->set | y->set;
    for (int k = 0; k < s->n; k++)
        if (k != i && k != j) keep |= s->term[k].set;
    double left = 1, a = 1, b = 1;
    for (int id = 0; id < IDS; id++) {
        if (!(all & BIT(id))) continue;
        if (keep & BIT(id)) left *= (double)s->size[id];
        if (x->set & BIT(id)) a *= (double)s->size[id];
        if (y->set & BIT(id)) b *= (double)s->size[id];
    }
    return left - a - b;
}

/* Combines the pair with the smallest growth; of equal ones, the first. */
static bool combine_best(Einsum *s) {
    int bi = 0, bj = 1;
    double best = growth(s, 0, 1);
    for (int i = 0; s->n > 2 && i < s->n; i++)
        for (int j = i + 1; j < s->n; j++) {
            double g = growth(s, i, j);
            if (g < best) best = g, bi = i, bj = j;
        }
    IdSet keep = s->wanted;
    for (int k = 0; k < s->n; k++)
        if (k != bi && k != bj) keep |= s->term[k].set;
    Term *x = &s->term[bi], *y = &s->term[bj];
    /* The last product: the operand with the result's first axis goes to the left. */
    bool swap = false;
    for (int k = 0; s->n == 2 && k < s->n_out; k++) {
        IdSet bit = BIT(s->out[k]);
        if ((x->set & bit) && (y->set & bit)) continue;
        swap = (y->set & bit) != 0;
        break;
    }
    if (swap) {
        Term t = *x;
        *x = *y, *y = t;
    }
    TRY(combine(s, x, y, keep));
    tensor_unref(y->t), y->t = NULL;
    for (int k = bj; k + 1 < s->n; k++) s->term[k] = s->term[k + 1];
    s->n--;
    return true;
}

static bool run(Einsum *s, Tensor **out) {
    DType d = (DType)tensor_type(s->term[0].t)->dtype;
    int rank = tensor_type(s->term[0].t)->rank;
    TRY(read_spec(s));
    for (int i = 1; i < s->n; i++) {
        const TensorType *t = tensor_type(s->term[i].t);
        d = dtype_promote_ranked(d, rank, (DType)t->dtype, t->rank);
        if (t->rank > rank) rank = t->rank;
    }
    for (int i = 0; i < s->n; i++) {
        TRY(put(&s->term[i], tensor_cast(s->in, s->term[i].t, d, s->e)));
        TRY(take_diagonals(s, &s->term[i]));
    }
    while (s->n > 1) TRY(combine_best(s));
    Term *x = &s->term[0];
    TRY(sum_out(s, x, ~s->wanted));
    TRY(too_many(s, s->n_out) && reorder(s, x, s->out));
    *out = tensor_ref(x->t);
    return true;
}

bool bi_einsum(Interp *in, const Value *arg, Value *out, LangError *e) { /* spec, *operands */
    Value xs = arg[1];
    Tensor *t = NULL;
    if (arg[0].kind != V_STR) {
        error_set(e, "einsum takes its spec first, a string, not %s", value_type_name(arg[0]));
        return error_hint(e, "einsum(\"ij,jk->ik\", a, b)");
    }
    if (value_count(xs) == 1 && value_at(xs, 0).kind == V_LIST) xs = value_at(xs, 0);
    int64_t n = value_count(xs);
    if (n < 1 || n > MAX_TERMS)
        return error_set(e, "einsum takes 1 to %d operands, not %lld", MAX_TERMS, (long long)n);
    Einsum *s = xcalloc(1, sizeof *s);
    *s = (Einsum){.in = in, .e = e, .spec = arg[0].str->s};
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++)
        ok = (s->term[s->n++].t = arg_as_tensor(in, value_at(xs, i), e)) != NULL;
    if (ok && strlen(s->spec) != arg[0].str->n) ok = error_set(e, "einsum: a NUL in the spec");
    ok = ok && run(s, &t);
    for (int i = 0; i < s->n; i++) tensor_unref(s->term[i].t);
    free(s);
    return ok && give_tensor(t, out);
}
