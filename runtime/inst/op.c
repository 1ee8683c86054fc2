/* op.c: the rows of ops.def, dtypes.def and attrs.def as arrays, found by name, and hashed for the
 * handshake.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/op.h"
#include "runtime/base/map.h"

#include <pthread.h>
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

/* Names of one kind and what they stand for: a hash table, at most half full. */
enum { NAMES_MAX = 1024 };
typedef struct Names {
    struct {
        const char *name; /* NULL: empty */
        uint16_t n, value;
    } slot[NAMES_MAX];
} Names;
static Names op_names, dtype_names, attr_names;

static unsigned first_slot(const char *name, size_t n) {
    unsigned a = (unsigned char)name[0], b = (unsigned char)name[n / 2],
             c = (unsigned char)name[n - 1];
    return (a * 31 + b * 17 + c * 7 + (unsigned)n * 61) % NAMES_MAX;
}

/* The first of several equal names counts. */
static void add_name(Names *t, const char *name, int value) {
    size_t n = strlen(name);
    unsigned k = first_slot(name, n);
    for (; t->slot[k].name; k = (k + 1) % NAMES_MAX)
        if (t->slot[k].n == n && !memcmp(t->slot[k].name, name, n)) return;
    t->slot[k].name = name, t->slot[k].n = (uint16_t)n, t->slot[k].value = (uint16_t)value;
}

/* `missing` if there is no such name. */
static int find_name(const Names *t, const char *name, size_t n, int missing) {
    if (n == 0) return missing;
    for (unsigned k = first_slot(name, n); t->slot[k].name; k = (k + 1) % NAMES_MAX)
        if (t->slot[k].n == n && !memcmp(t->slot[k].name, name, n)) return t->slot[k].value;
    return missing;
}

static void fill_names(void) {
    static const struct {
        const char *name;
        DType dtype;
    } aliases[] = {
        {"half", DT_F16}, {"float", DT_F32}, {"double", DT_F64}, {"int", DT_I64}, {"long", DT_I64},
    };
    _Static_assert(2 * OP_COUNT <= NAMES_MAX && 2 * ATTR_COUNT <= NAMES_MAX, "tables have room");
    for (int i = 0; i < OP_COUNT; i++) add_name(&op_names, op_info[i].name, i);
    for (int i = 0; i < ATTR_COUNT; i++) add_name(&attr_names, attr_info[i].name, i);
    for (int i = 0; i < DT_COUNT; i++) {
        add_name(&dtype_names, dtype_info[i].text, i);
        add_name(&dtype_names, dtype_info[i].name, i);
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        add_name(&dtype_names, aliases[i].name, (int)aliases[i].dtype);
}

/* Readers of text look up several names a line, on several threads. */
static void need_names(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_names);
}

Op op_find(const char *name, size_t n) {
    need_names();
    return (Op)find_name(&op_names, name, n, OP_COUNT);
}

DType dtype_find(const char *name, size_t n) {
    need_names();
    return (DType)find_name(&dtype_names, name, n, DT_NONE);
}

AttrKey attr_find(const char *name, size_t n) {
    need_names();
    return (AttrKey)find_name(&attr_names, name, n, ATTR_COUNT);
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
