/* inst.h: the instruction, the one thing that client, dispatcher, workers, tapes and files
 * exchange.
 *
 * An Inst is a view: operands, attributes and payload are borrowed from whoever made it (an
 * emitter's locals, a decoded frame, a parsed line) until that owner moves on; inst_copy makes an
 * owned one. It has a *form* (op, dtypes, FORM attributes, source position, kinds and distances of
 * operands) and *arguments* (ids, immediates, ARG attributes, payload), see DESIGN 5; wire.h lays
 * them out in that order. Text form: STREAM 1, inst_print.c and inst_parse.c.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_INST_H
#define GT_RUNTIME_INST_INST_H
#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/inst/op.h"

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
    /* What is decoded or parsed has a NUL behind str (and may hold more); who encodes need not. */
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
    Buf *payload_buf; /* the buffer that payload lies in, when it may be kept by ref; else NULL */
} Inst;

/* dtype, rank and extents of one tensor. Strides do not exist outside a worker. */
typedef struct TensorType {
    uint8_t dtype, rank;
    int64_t shape[MAX_DIMS];
} TensorType;

int64_t type_numel(const TensorType *t);
uint64_t type_bytes(const TensorType *t);
bool type_equal(const TensorType *a, const TensorType *b);
/* "(2, 3)", "(3)" or "()", as errors print shapes; and "f32[2,3]", as instruction text does. buf >=
 * 256 bytes. */
const char *type_shape_text(const TensorType *t, char *buf);
const char *type_text(const TensorType *t, char *buf);

const Attr *inst_attr(const Inst *in, AttrKey key); /* NULL when absent        */
int64_t inst_int(const Inst *in, AttrKey key, int64_t missing);
bool inst_bool(const Inst *in, AttrKey key, bool missing);
/* Deep copy into an arena (payload kept by pointer, not copied). */
Inst *inst_copy(const Inst *in, Arena *arena);

/* ---- text form (inst_print.c, inst_parse.c) ---- */

/* Where elements lie that are not in the text: `path="run.tape.data" at=64 sha256=...`. */
typedef struct InstBeside {
    const char *path; /* a file beside the text */
    uint64_t at;      /* where they begin there */
    char sha256[65];  /* of these bytes alone   */
} InstBeside;

typedef struct InstPrint {
    const char *const *files; /* names by SrcPos.file; NULL: positions are left out */
    int n_files;
    bool columns; /* @file:line:col instead of @file:line               */
    bool payload_b64_always;
    bool payload_packed;      /* larger payloads are compressed, where that makes them shorter  */
    const InstBeside *beside; /* the payload lies there; or NULL                                */
    uint64_t payload_max;     /* larger payloads are left out, `elided`; 0: none is        */
    bool payload_hash;        /* ... and `sha256=` of their bytes stands there             */
    const TensorType *out;    /* result types to print after ->, or NULL            */
} InstPrint;

/* Appends one line without its newline. */
void inst_print(const Inst *in, const InstPrint *how, Bytes *out);

/* A parsed line: an instruction, or nothing (blank, comment, header). All memory is the arena's. */
typedef struct InstLine {
    bool is_empty;
    Inst inst;
    bool has_types;
    TensorType types[MAX_OUT];
    const char *file;           /* NUL-terminated, or NULL: no @ */
    int attr_column[MAX_ATTRS]; /* where inst.attr[i] stands in the line, from 1 */
} InstLine;
/* line has no newline. Errors name the column. Checked for form only: ids are the caller's
 * business, types inst_infer's. A slice written `2:` or `:` has size -1 ("to the end"): whoever
 * knows the operand's type fills it in before inst_infer. Unknown KEY=VALUE come out in ATTR_OTHER.
 * pos.file is 0: the caller numbers `file`. */
bool inst_parse(const char *line, size_t n, Arena *arena, InstLine *out, Err *err);
/* What else a line that somebody wrote must satisfy: its operation takes every key that it gives.
 * Keys with a point in them are annotations, which any line may have. err names the column. */
bool inst_check_keys(const InstLine *line, Err *err);
bool inst_takes(Op op, AttrKey key);
/* The operation that somebody may have meant by a name that is none, as a hint. */
bool inst_hint_op(const char *name, size_t n, Err *err);

/* ---- inference (shape.c): what every program asks ---- */

/* Result types from operand types. in[i] is read for tensor operands only, and of control ops for
 * the first operand of `assert` and `shard` only; out has room for MAX_OUT, n_out is set.
 * inst->n_out must be that number too, or 0: not yet known (a decoded frame has 0 for control ops
 * only). An immediate takes the tensors' dtype and must fit it: an int in range, a float with float
 * tensors only. Checks everything a worker relies on: arity, dtypes, ranks, extents, attributes
 * present and in range. Errors are sentences for users: "cannot multiply (64, 784) @ (256, 10):
 * inner sizes 784 and 256 differ". */
bool inst_infer(const Inst *inst, const TensorType *in, TensorType *out, int *n_out, Err *err);
/* The way out of what inst_infer has refused, in terms of instruction text: err->hint is replaced,
 * or empty where there is none. */
void inst_hint_text(const Inst *inst, const TensorType *in, Err *err);
/* NumPy's right-aligned rule; false when the shapes do not broadcast. */
bool shape_broadcast(const TensorType *a, const TensorType *b, TensorType *out);
#endif
