/* op.c: the rows of ops.def, dtypes.def and attrs.def as arrays, found by name, and hashed for the
 * handshake.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/op.h"
#include "runtime/base/map.h"

#include <string.h>

/* `in` is a bare word in the table; here is an enum for each such word. */
enum {
    IN_ALL = DSET_ALL,
    IN_NUM = DSET_NUM,
    IN_FLOAT = DSET_FLOAT,
    IN_INT = DSET_INT,
    IN_BITS = DSET_BITS
};
enum {
#define FACT(word, doc) word = FACT_##word,
#include "runtime/inst/ops.def"
};

const OpInfo op_info[OP_COUNT] = {
#define OP(id, name_, class__, arity_, in_, out_, shape_, grad_, rule, facts_, attrs_, expr_,      \
           init_, doc_)                                                                            \
    [OP_##id] = {.name = name_,                                                                    \
                 .expr = #expr_,                                                                   \
                 .init = #init_,                                                                   \
                 .doc = doc_,                                                                      \
                 .shape_name = #shape_,                                                            \
                 .grad_name = #grad_,                                                              \
                 .attrs = attrs_,                                                                  \
                 .class_ = CLASS_##class__,                                                        \
                 .arity = arity_,                                                                  \
                 .in = IN_##in_,                                                                   \
                 .out = OUT_##out_,                                                                \
                 .facts = facts_},
#include "runtime/inst/ops.def"
};

const DTypeInfo dtype_info[DT_COUNT + 1] = {
#define DTYPE(id, text_, name_, ctype, size_bytes_, category_)                                     \
    [DT_##id] = {text_, name_, size_bytes_, CAT_##category_},
#include "runtime/inst/dtypes.def"
    [DT_NONE] = {.text = "none", .name = "none"},
};

const AttrInfo attr_info[ATTR_COUNT] = {
#define ATTR(id, name_, type_, part_) [ATTR_##id] = {name_, AT_##type_, PART_##part_},
#include "runtime/inst/attrs.def"
};

/* ---- By name ---- */

static const unsigned char op_name_bytes[OP_COUNT] = {
#define OP(id, name, ...) [OP_##id] = sizeof name - 1,
#include "runtime/inst/ops.def"
};

static bool is_word(const char *word, const char *s, size_t n) {
    return strncmp(word, s, n) == 0 && word[n] == 0;
}

Op op_find(const char *name, size_t n) {
    if (n == 0) return OP_COUNT;
    for (int i = 0; i < OP_COUNT; i++)
        if (op_name_bytes[i] == n && op_info[i].name[0] == name[0] &&
            memcmp(op_info[i].name, name, n) == 0)
            return (Op)i;
    return OP_COUNT;
}

DType dtype_find(const char *name, size_t n) {
    static const struct {
        const char *name;
        DType dtype;
    } aliases[] = {
        {"half", DT_F16}, {"float", DT_F32}, {"double", DT_F64}, {"int", DT_I64}, {"long", DT_I64},
    };
    if (n == 0) return DT_NONE;
    for (int i = 0; i < DT_COUNT; i++)
        if (is_word(dtype_info[i].text, name, n) || is_word(dtype_info[i].name, name, n))
            return (DType)i;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (is_word(aliases[i].name, name, n)) return aliases[i].dtype;
    return DT_NONE;
}

AttrKey attr_find(const char *name, size_t n) {
    if (n == 0) return ATTR_COUNT;
    for (int i = 0; i < ATTR_COUNT; i++)
        if (is_word(attr_info[i].name, name, n)) return (AttrKey)i;
    return ATTR_COUNT;
}

/* ---- Promotion ---- */

DType dtype_promote(DType a, DType b) {
    if (dtype_info[a].category != dtype_info[b].category)
        return dtype_info[a].category > dtype_info[b].category ? a : b;
    DType wide = a > b ? a : b;
    while (a != b && dtype_info[wide].size_bytes == dtype_info[a].size_bytes &&
           dtype_info[a].size_bytes == dtype_info[b].size_bytes)
        wide++;
    return wide;
}

DType dtype_promote_ranked(DType a, int rank_a, DType b, int rank_b) {
    if (dtype_info[a].category == dtype_info[b].category) {
        if (rank_a == 0 && rank_b > 0) return b;
        if (rank_b == 0 && rank_a > 0) return a;
    }
    return dtype_promote(a, b);
}

/* ---- Hash ---- */

/* Includes the NULs, which keep neighbouring columns apart. */
static uint64_t hash_row(uint64_t h, const char *a, const char *b) {
    h = hash_bytes(a, strlen(a) + 1, h);
    return hash_bytes(b, strlen(b) + 1, h);
}

uint64_t op_table_hash(void) {
    uint64_t h = 0;
#define OP(id, name, class_, arity, in, out, shape, grad, rule, facts, attrs, expr, init, ...)     \
    h = hash_row(h, #id, name " " #class_ " " #arity " " #in " " #out " " #shape);                 \
    h = hash_row(h, #expr, #init);
#include "runtime/inst/ops.def"
#define DTYPE(id, text, name, ctype, size_bytes, category)                                         \
    h = hash_row(h, #id, text " " #ctype " " #category);
#include "runtime/inst/dtypes.def"
#define ATTR(id, name, type, part) h = hash_row(h, #id, name " " #type " " #part);
#include "runtime/inst/attrs.def"
    return h;
}
