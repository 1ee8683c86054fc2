/* op.h: the op table as C data: enum Op, DType, AttrKey and their rows. All code that needs a
 * fact about an op gets it here. See ops.def, dtypes.def and attrs.def for the rows themselves.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_OP_H
#define GT_RUNTIME_INST_OP_H
#include "runtime/base/err.h"
#include "runtime/base/limits.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum Op {
#define OP(id, ...) OP_##id,
#include "runtime/inst/ops.def"
    OP_COUNT
} Op;

/* The words of the facts column. */
enum {
#define FACT(word, doc) FACT_BIT_##word,
#include "runtime/inst/ops.def"
    FACT_COUNT
};
enum {
#define FACT(word, doc) FACT_##word = 1 << FACT_BIT_##word,
#include "runtime/inst/ops.def"
};

typedef enum OpClass {
    CLASS_MAP,
    CLASS_REDUCE,
    CLASS_VIEW,
    CLASS_KERNEL,
    CLASS_SOURCE,
    CLASS_CONTROL
} OpClass;

typedef enum DType {
#define DTYPE(id, text, name, ctype, size_bytes, category) DT_##id,
#include "runtime/inst/dtypes.def"
    DT_COUNT,
    DT_NONE = DT_COUNT
} DType;

typedef enum DCategory { CAT_BOOL, CAT_INT, CAT_FLOAT } DCategory;

typedef enum AttrKey {
#define ATTR(id, name, type, part) ATTR_##id,
#include "runtime/inst/attrs.def"
    ATTR_COUNT
} AttrKey;

/* The numbers are in binary files (gtb.h): new types come last. */
typedef enum AttrType { AT_BOOL, AT_INT, AT_FLOAT, AT_DTYPE, AT_STR, AT_INTS } AttrType;
typedef enum AttrPart { PART_FORM, PART_ARG } AttrPart;

/* Sets of dtypes: the `in` column. */
#define DSET(dt) (1u << (dt))
enum {
    DSET_BITS = DSET(DT_BOOL) | DSET(DT_U8) | DSET(DT_I8) | DSET(DT_I32) | DSET(DT_I64),
    DSET_HALF = DSET(DT_F16) | DSET(DT_BF16),
    DSET_FLOAT = DSET_HALF | DSET(DT_F32) | DSET(DT_F64),
    DSET_INT = DSET_BITS & ~DSET(DT_BOOL),
    DSET_NUM = DSET_INT | DSET_FLOAT,
    DSET_ALL = DSET_NUM | DSET(DT_BOOL)
};
typedef enum OpOut { OUT_same, OUT_wide, OUT_boolean } OpOut;

typedef struct OpInfo {
    const char *name, *expr, *init, *doc;
    const char *shape_name, *grad_name;
    const char *attrs; /* between blanks; "*": any */
    OpClass class_;
    /* operands; -1: variadic. For sources the immediates; a model tensor comes in addition. */
    int arity;
    unsigned in; /* DSET of accepted tensor operands */
    OpOut out;
    unsigned facts; /* FACT_xxx */
} OpInfo;

typedef struct DTypeInfo {
    const char *text, *name;
    int size_bytes;
    DCategory category;
} DTypeInfo;
typedef struct AttrInfo {
    const char *name;
    AttrType type;
    AttrPart part;
} AttrInfo;

extern const OpInfo op_info[OP_COUNT];
extern const DTypeInfo dtype_info[DT_COUNT + 1]; /* the last row is DT_NONE's: "none" */
extern const AttrInfo attr_info[ATTR_COUNT];

Op op_find(const char *name, size_t n);        /* or OP_COUNT; "signal enter" has a space */
DType dtype_find(const char *name, size_t n);  /* text, name or alias (float ...); DT_NONE */
AttrKey attr_find(const char *name, size_t n); /* or ATTR_COUNT */
uint64_t op_table_hash(void); /* FNV-1a over all rows of the three tables, for HELLO */

/* True if op has one of these facts. */
static inline bool op_has(Op op, unsigned facts) { return op_info[op].facts & facts; }
/* True for conversions between layouts, which the dispatcher inserts. */
static inline bool op_is_move(Op op) { return op >= OP_ALL_GATHER && op <= OP_MOVE; }
/* True for what only the dispatcher writes. */
static inline bool op_is_inserted(Op op) {
    return op_is_move(op) || op == OP_POISON || op == OP_SCOPE;
}
/* True for rows of the kind LAYOUT: of class CONTROL, but with one result. */
static inline bool op_is_layout(Op op) { return op_has(op, FACT_PLACES); }

/* The operand that is cast to the dtype of the first, or 0. */
static inline int op_takes(Op op) {
    return op_has(op, FACT_TAKES1) ? 1 : op_has(op, FACT_TAKES2) ? 2 : 0;
}
/* The number of tensors that an op returns; meaningless for control ops. */
static inline int op_outputs(Op op) { return op_has(op, FACT_TWO) ? 2 : 1; }

static inline bool dtype_is_float(DType d) {
    return d < DT_COUNT && dtype_info[d].category == CAT_FLOAT;
}
/* Stored in 16 bits, computed in float32, rounded to nearest even after every instruction. */
static inline bool dtype_is_half(DType d) { return d == DT_F16 || d == DT_BF16; }
/* True if it is answered with a REPLY, and runs in the order of its client's stream. */
static inline bool op_is_effect(Op op) { return op_has(op, FACT_REPLIES); }
/* True if certain workers run the operation, and its instruction names their group. If it is
 * refused, its results stay poisoned on its client's home worker, which frees them. */
static inline bool op_has_place(Op op) {
    bool is_made = op_info[op].class_ != CLASS_CONTROL || op_is_layout(op) || op == OP_POISON;
    return is_made || op_is_effect(op);
}
/* The higher category, then the wider type; depends on dtypes only. Int with
 * float gives that float. Different types of one category and width give the next wider one. */
DType dtype_promote(DType a, DType b);
/* As dtype_promote, but an operand of rank 0 does not widen one of rank >= 1 within its category
 * (PyTorch). */
DType dtype_promote_ranked(DType a, int rank_a, DType b, int rank_b);
#endif
