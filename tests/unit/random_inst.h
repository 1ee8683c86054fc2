/* random_inst.h: random instructions, well-formed but meaningless, for the round trips of the
 * binary and the text form. Covers every op of the table, with the attributes that its text form
 * shows specially (slices, sources, control) and random others.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_RANDOM_INST_H
#define GT_TESTS_UNIT_RANDOM_INST_H
#include "runtime/inst/inst.h"
#include "tests/unit/random.h"
#include <math.h>
#include <string.h>

static inline int64_t rand_int(Rand *r) {
    switch (rand_below(r, 4)) {
    case 0: return rand_below(r, 10);
    case 1: return -rand_below(r, 1000);
    case 2: return (int64_t)rand_u64(r);
    default: return (int64_t)(rand_u64(r) >> (rand_u64(r) & 63));
    }
}

static inline double rand_double(Rand *r) {
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN,
                                     1.0, 2.5,  -3e-05,   1e300,     5e-324};
    if (rand_below(r, 3) == 0) return special[rand_below(r, 10)];
    union {
        uint64_t u;
        double f;
    } v = {rand_u64(r)};
    return rand_below(r, 2) ? v.f : (double)rand_below(r, 100000) / 1000;
}

static inline const char *rand_str(Rand *r, Arena *a, uint32_t *n) {
    static const char *const some[] = {"loss {:.4f}\n",
                                       "a b",
                                       "",
                                       "x\ty\"z\\",
                                       "forward_layer1",
                                       "\xc3\xa9\x01\x7f",
                                       "t7",
                                       "k=v",
                                       "true",
                                       "f32",
                                       "-1",
                                       "a.b/c-d",
                                       "[1]",
                                       "\xff\xfe",
                                       "12",
                                       "nan",
                                       "@x:1"};
    int i = rand_below(r, (int)(sizeof some / sizeof *some) + 1);
    if (i < (int)(sizeof some / sizeof *some)) return *n = (uint32_t)strlen(some[i]), some[i];
    *n = (uint32_t)rand_below(r, 40);
    char *s = arena_alloc(a, *n + 1);
    for (uint32_t k = 0; k < *n; k++) s[k] = (char)(1 + rand_below(r, 255));
    s[*n] = 0;
    return s;
}

static inline const int64_t *rand_ints(Rand *r, Arena *a, uint32_t n, bool small) {
    int64_t *v = arena_alloc(a, n * sizeof *v);
    for (uint32_t i = 0; i < n; i++) v[i] = small ? rand_below(r, 6) : rand_int(r);
    return v;
}

static inline Attr rand_attr(Rand *r, Arena *a, AttrKey key) {
    Attr t = {.key = (uint8_t)key};
    switch (attr_info[key].type) {
    case AT_BOOL: t.b = rand_below(r, 2); break;
    case AT_INT: t.i = rand_int(r); break;
    case AT_FLOAT: t.f = rand_double(r); break;
    case AT_DTYPE: t.dtype = (DType)rand_below(r, DT_COUNT); break;
    case AT_STR: t.str = rand_str(r, a, &t.n); break;
    case AT_INTS:
        t.n = key == ATTR_RNG ? 2 : (uint32_t)rand_below(r, 9);
        t.ints = rand_ints(r, a, t.n, false);
        break;
    }
    return t;
}

/* The three lists of a slice have equal lengths and values that start:stop:step can express. */
static inline int rand_slice(Rand *r, Arena *a, Attr *attr) {
    uint32_t n = (uint32_t)rand_below(r, 9);
    int64_t *list[3];
    for (int k = 0; k < 3; k++) {
        list[k] = arena_alloc(a, n * sizeof(int64_t));
        attr[k] = (Attr){.key = (uint8_t)(k == 0   ? ATTR_START
                                          : k == 1 ? ATTR_SIZE
                                                   : ATTR_STEP),
                         .n = n,
                         .ints = list[k]};
    }
    for (uint32_t i = 0; i < n; i++)
        list[0][i] = rand_below(r, 1000), list[1][i] = rand_below(r, 50),
        list[2][i] = 1 + rand_below(r, 4);
    return 3;
}

static inline void rand_payload(Rand *r, Arena *a, Inst *in, Attr *attr) {
    TensorType t = {.dtype = (uint8_t)rand_below(r, DT_COUNT), .rank = (uint8_t)rand_below(r, 3)};
    int64_t *shape = arena_zalloc(a, sizeof t.shape);
    for (int i = 0; i < t.rank; i++) shape[i] = t.shape[i] = rand_below(r, 12);
    attr[0] = (Attr){.key = ATTR_DTYPE, .dtype = (DType)t.dtype};
    attr[1] = (Attr){.key = ATTR_SHAPE, .n = t.rank, .ints = shape};
    size_t n = (size_t)type_numel(&t), bytes = type_bytes(&t);
    if (bytes == 0) return;
    uint8_t *p = arena_alloc(a, bytes);
    for (size_t i = 0; i < bytes; i++)
        p[i] = t.dtype == DT_BOOL ? (uint8_t)rand_below(r, 2) : (uint8_t)rand_u64(r);
    for (size_t i = 0; i < n && rand_below(r, 4); i++) {
        if (t.dtype == DT_F32) ((float *)p)[i] = (float)rand_double(r);
        if (t.dtype == DT_F64) ((double *)p)[i] = rand_double(r);
    }
    in->payload = p, in->payload_bytes = bytes;
}

static inline Inst rand_inst(Rand *r, Arena *a) {
    Inst in = {.op = (Op)rand_below(r, OP_COUNT)};
    const OpInfo *info = &op_info[in.op];
    Attr *attr = arena_alloc(a, MAX_ATTRS * sizeof *attr);
    int n_attr = 0;
    bool is_source = info->class_ == CLASS_SOURCE;
    if (in.op == OP_DATA)
        n_attr = 2, rand_payload(r, a, &in, attr);
    else if (in.op == OP_SLICE || in.op == OP_SLICE_PUT)
        n_attr = rand_slice(r, a, attr);
    else
        for (int k = 0; k < ATTR_COUNT; k++)
            if (k != ATTR_OTHER && rand_below(r, 8) == 0 && n_attr < MAX_ATTRS)
                attr[n_attr++] = rand_attr(r, a, (AttrKey)k);
    bool is_control = info->class_ == CLASS_CONTROL;
    in.n_out = is_control ? op_is_layout(in.op) : op_outputs(in.op);
    int n_in = info->arity >= 0 ? info->arity : rand_below(r, 6);
    uint64_t id = rand_below(r, 2) ? (uint64_t)rand_below(r, 100) : rand_u64(r) >> 1;
    Operand *o = arena_alloc(a, (size_t)n_in * sizeof *o);
    for (int i = 0; i < n_in; i++) {
        int kind = is_source || info->class_ == CLASS_MAP ? rand_below(r, 4) : 0;
        o[i] = (Operand){.kind = (InKind)kind};
        if (kind == IN_TENSOR)
            o[i].id = rand_below(r, 3) || id == 0 ? (uint64_t)rand_below(r, 200)
                                                  : id - 1 - rand_u64(r) % id;
        if (kind == IN_IMM_INT) o[i].i = rand_int(r);
        if (kind == IN_IMM_FLOAT) o[i].f = rand_double(r);
        if (kind == IN_IMM_BOOL) o[i].b = rand_below(r, 2);
    }
    in.in = o, in.n_in = (uint16_t)n_in, in.attr = attr, in.n_attr = (uint16_t)n_attr;
    for (int i = 0; i < in.n_out; i++) in.out[i] = id + (uint64_t)i;
    if (rand_below(r, 2))
        in.pos = (SrcPos){.file = (uint16_t)rand_below(r, 3),
                          .line = 1 + (uint32_t)rand_below(r, 5000),
                          .col = (uint16_t)rand_below(r, 90)};
    return in;
}

static inline bool same_attr(const Attr *a, const Attr *b) {
    if (a->key != b->key) return false;
    switch (attr_info[a->key].type) {
    case AT_BOOL: return a->b == b->b;
    case AT_INT: return a->i == b->i;
    case AT_FLOAT: return memcmp(&a->f, &b->f, 8) == 0;
    case AT_DTYPE: return a->dtype == b->dtype;
    case AT_STR: return a->n == b->n && (!a->n || memcmp(a->str, b->str, a->n) == 0);
    case AT_INTS: return a->n == b->n && (!a->n || memcmp(a->ints, b->ints, 8 * a->n) == 0);
    }
    return false;
}

/* True if both mean the same; the order of attributes does not matter. */
static inline bool same_inst(const Inst *a, const Inst *b) {
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || a->n_attr != b->n_attr)
        return false;
    for (int i = 0; i < a->n_out; i++)
        if (a->out[i] != b->out[i]) return false;
    for (int i = 0; i < a->n_in; i++) {
        const Operand *p = &a->in[i], *q = &b->in[i];
        if (p->kind != q->kind) return false;
        if (p->kind == IN_IMM_BOOL ? p->b != q->b : p->id != q->id) return false;
    }
    for (int i = 0; i < a->n_attr; i++) {
        const Attr *t = inst_attr(b, (AttrKey)a->attr[i].key);
        if (!t || !same_attr(&a->attr[i], t)) return false;
    }
    if (a->payload_bytes != b->payload_bytes) return false;
    return a->payload_bytes == 0 || memcmp(a->payload, b->payload, a->payload_bytes) == 0;
}
#endif
