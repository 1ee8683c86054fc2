/* inst.h: the instruction: what client, dispatcher, workers, tapes and files exchange.
 *
 * An Inst is a view: its owner (an emitter's locals, a decoded frame, a parsed line) lends it
 * operands, attributes and payload until it moves on; inst_copy makes an owned one. It has a
 * *form* (op, dtypes, FORM attributes, source position, kinds and distances of operands) and
 * *arguments* (ids, immediates, ARG attributes, payload); wire.h lays them out in that order.
 * Text form: gti(5), inst_print.c and inst_parse.c.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_INST_H
#define GT_RUNTIME_INST_INST_H
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/inst/op.h"

/* The numbers are in binary files (gtb.h): new kinds come last. */
typedef enum InKind { IN_TENSOR, IN_IMM_INT, IN_IMM_FLOAT, IN_IMM_BOOL } InKind;

typedef struct Operand {
    InKind kind;
    union {
        uint64_t id;
        int64_t i;
        double f;
        bool b;
    };
} Operand;

typedef struct Attr {
    uint8_t key; /* AttrKey                                                       */
    uint32_t n;  /* elements of ints, bytes of str; else 0                        */
    /* Decoded or parsed strings have a NUL after str (and may contain more); encoding needs
     * none. */
    union {
        bool b;
        int64_t i;
        double f;
        DType dtype;
        const char *str;
        const int64_t *ints;
    };
} Attr;

/* line 0 = unknown; col from 1, 0 = unknown */
typedef struct SrcPos {
    uint16_t file;
    uint16_t col;
    uint32_t line;
} SrcPos;

typedef struct Inst {
    Op op;
    uint16_t n_in, n_attr;
    uint8_t n_out;
    SrcPos pos;
    uint64_t out[MAX_OUT];
    const Operand *in;   /* borrowed */
    const Attr *attr;    /* borrowed */
    const void *payload; /* borrowed: elements of `data`, row-major; NULL otherwise     */
    uint64_t payload_bytes;
    Buf *payload_buf; /* the payload's buffer, if it may be kept by reference; else NULL */
} Inst;

/* dtype, rank and extents of one tensor. Strides exist only inside a worker. */
typedef struct TensorType {
    uint8_t dtype, rank;
    int64_t shape[MAX_DIMS];
} TensorType;

int64_t type_numel(const TensorType *t);
uint64_t type_bytes(const TensorType *t);
static inline bool type_same_shape(const TensorType *a, const TensorType *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}
static inline bool type_equal(const TensorType *a, const TensorType *b) {
    return a->dtype == b->dtype && type_same_shape(a, b);
}
/* "(2, 3)", "(3)" or "()", as errors print shapes; and "f32[2,3]", as instruction text does. buf
 * >= 256 bytes. Returns buf. */
const char *type_shape_text(const TensorType *t, char *buf);
const char *type_text(const TensorType *t, char *buf);

const Attr *inst_attr(const Inst *in, AttrKey key); /* NULL if absent */
int64_t inst_int(const Inst *in, AttrKey key, int64_t missing);
bool inst_bool(const Inst *in, AttrKey key, bool missing);
/* Reads the type that the attributes dtype and shape declare. False: they declare none. */
bool inst_declared_type(const Inst *inst, TensorType *type);
/* Deep copy into an arena (payload kept by pointer, not copied). */
Inst *inst_copy(const Inst *in, Arena *arena);

/* ---- text form (inst_print.c, inst_parse.c) ---- */

/* The place of elements that are not in the text: `path="run.tape.data" at=64 sha256=...`. */
typedef struct InstBeside {
    const char *path; /* a file beside the text */
    uint64_t at;      /* where they begin in it */
    char sha256[65];  /* of these bytes only */
} InstBeside;

typedef struct InstPrint {
    const char *const *files; /* names by SrcPos.file; NULL: positions are left out */
    int n_files;
    bool columns; /* @file:line:col instead of @file:line               */
    bool payload_b64_always;
    bool payload_packed;      /* larger payloads are compressed if that makes them shorter */
    const InstBeside *beside; /* the payload is stored there; or NULL */
    uint64_t payload_max;     /* larger payloads are omitted, `elided`; 0: none are */
    bool payload_hash;        /* ... and replaced by `sha256=` of their bytes */
    const TensorType *out;    /* result types to print after ->, or NULL            */
} InstPrint;

/* Appends one line without its newline: the instruction, then its result types and position. */
void inst_print(const Inst *in, const InstPrint *how, Bytes *out);
void inst_print_head(const Inst *in, const InstPrint *how, Bytes *out); /* up to the types */
void inst_print_tail(const Inst *in, const InstPrint *how, Bytes *out); /* from them on */

/* A parsed line: an instruction, or nothing (blank, comment, header). All memory is the arena's. */
typedef struct InstLine {
    bool is_empty;
    Inst inst;
    bool has_types;
    TensorType types[MAX_OUT];
    const char *file;           /* NUL-terminated, or NULL: no @ */
    int attr_column[MAX_ATTRS]; /* where inst.attr[i] stands in the line, from 1; 0: unknown */
    const char *comment;        /* "# ..." behind an instruction, in the line's own memory */
    size_t n_comment;
} InstLine;
/* line has no newline. Errors name the column. Checks the form only: ids are up to the caller,
 * types up to inst_infer. A slice written `2:` or `:` has size -1 ("to the end"): a caller that
 * knows the operand's type sets it before inst_infer. Unknown KEY=VALUE become ATTR_OTHER.
 * pos.file is 0: the caller numbers `file`. */
bool inst_parse(const char *line, size_t n, Arena *arena, InstLine *out, Err *err);
/* A further check for lines written by hand: the operation takes every key of the line. Keys
 * that contain a point are annotations, which any line may have. err names the column. */
bool inst_check_keys(const InstLine *line, Err *err);
bool inst_takes(Op op, AttrKey key);
/* Adds a hint: the operation that was probably meant by an unknown name. */
bool inst_hint_op(const char *name, size_t n, Err *err);

/* ---- inference (shape.c): called by every program ---- */

/* Infers result types from operand types. Reads in[i] for tensor operands only, and of control
 * ops for the first operand of `assert` and `shard` only. out has room for MAX_OUT; n_out is
 * set. inst->n_out must be that number too, or 0: not yet known (a decoded frame has 0 for
 * control ops only). An immediate takes the tensors' dtype and must fit it: an int in range, a
 * float with float tensors only. Checks everything a worker relies on: arity, dtypes, ranks,
 * extents, attributes present and in range. Errors are sentences for users: "cannot multiply
 * (64, 784) @ (256, 10): inner sizes 784 and 256 differ". */
bool inst_infer(const Inst *inst, const TensorType *in, TensorType *out, int *n_out, Err *err);
/* Writes a remedy for what inst_infer has refused, in instruction text, to err->hint; "" if
 * there is none. */
void inst_hint_text(const Inst *inst, const TensorType *in, Err *err);
/* NumPy's right-aligned rule. False if the shapes do not broadcast. */
bool shape_broadcast(const TensorType *a, const TensorType *b, TensorType *out);
#endif
