/* ptx.h: PTX, as NVRTC writes it, as a program that can be executed.
 *
 * Text is read once into functions of instructions (ptx.c, ptx_ins.c). A register is a slot of a
 * frame: 32 lanes side by side, of 4 bytes (.pred, .b16, .b32) or 8 (.b64), so that one C loop over
 * a slot is one instruction of a warp, and the host's compiler vectorises it. Immediates, addresses
 * of variables and special registers are slots too, filled before the first instruction: every
 * operand is an offset into the frame.
 *
 * What only computes is a row of ptx_ops.def, found by its full name ("mul.wide.u32"), and a loop
 * in lanes.c. What moves data between lanes, memory or places of the program has a kind of its own
 * (Kind), executed by ptx_run.c.
 *
 * Only instructions whose result is defined to the last bit are known: `add.f32` without `.rn` may
 * be contracted by an assembler, `.ftz` flushes denormals; both are errors of the reader, which
 * gives the line. Text is hostile.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_PTX_H
#define GT_TESTS_GPU_PTX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t Mask; /* of lanes */
enum { LANES = 32, SLOT_32 = 4 * LANES, SLOT_64 = 8 * LANES, OPERANDS = 8, VARS_ALIGN = 256 };

/* One instruction of a warp: d (and d2) from s, for all 32 lanes; lanes that do not take part are
 * blended out later. */
typedef struct LaneArgs {
    void *d, *d2;
    const void *s[4];
    uint64_t *random; /* state of the error of approximations */
} LaneArgs;
typedef void LaneFn(const LaneArgs *x);
/* A row of ptx_ops.def. widths: of results, '=', of sources: p (.pred), h (16 bits), w (32), d
 * (64), b (8, in a register of 16 or 32). */
typedef struct LaneOp {
    const char *name, *widths;
    LaneFn *fn;
    uint8_t facts; /* TAKES_CARRY ... */
} LaneOp;
enum { TAKES_CARRY = 1, GIVES_CARRY = 2, IS_APPROXIMATE = 4, IS_COMPARISON = 8 };
const LaneOp *lanes_find(const char *name);
const LaneOp *lanes_row(int k); /* NULL after the last */
/* Why an instruction that is no row is refused; NULL: it is not known at all. */
const char *lanes_refusal(const char *name);

typedef enum Space {
    SPACE_GENERIC,
    SPACE_GLOBAL,
    SPACE_SHARED,
    SPACE_LOCAL,
    SPACE_PARAM,
    SPACE_CONST
} Space;
typedef enum Kind {
    KIND_LANES,
    KIND_SETP,   /* a comparison with .and .or .xor or two results */
    KIND_PACK,   /* mov.b64 d, {a, b} */
    KIND_UNPACK, /* mov.b64 {a, b}, s */
    KIND_LOAD,
    KIND_STORE,
    KIND_ATOM, /* red too: without a result */
    KIND_CVTA,
    KIND_ACTIVE,
    KIND_FENCE,
    KIND_TRAP, /* up to here threads go on with the next instruction at once */
    KIND_SHFL,
    KIND_VOTE,
    KIND_MATCH,
    KIND_REDUX,
    KIND_WARP_SYNC,
    KIND_BARRIER, /* mode: 0, or the reduction 'p' (popc), 'a', 'o' */
    KIND_BRANCH,
    KIND_CALL,
    KIND_RETURN,
    KIND_EXIT
} Kind;

typedef struct Ins {
    uint8_t kind, space, vec, bytes; /* vec values of so many bytes: a load, a store */
    uint8_t n_d, n_s, mode, bits;    /* mode: the letter of a variant */
    bool is_signed, is_guard_not, is_sync, is_hidden, is_to, is_call_area;
    uint8_t unused;                             /* a bit for each value that is loaded in vain */
    uint8_t d_bits[OPERANDS], s_bits[OPERANDS]; /* of the registers */
    int32_t d[OPERANDS], s[OPERANDS];           /* slots */
    int32_t guard, base;                        /* slots, or -1 */
    int32_t target;                             /* instruction; function */
    int64_t offset;                             /* of an address, from base */
    const LaneOp *op;
    int line;
    char name[56];
} Ins;

typedef struct Constant {
    int32_t slot;
    uint8_t bits;
    uint64_t value;
} Constant;
typedef enum Special {
    SPECIAL_TID,
    SPECIAL_NTID = 3,
    SPECIAL_CTAID = 6,
    SPECIAL_NCTAID = 9,
    SPECIAL_LANEID = 12,
    SPECIAL_WARPID,
    SPECIAL_EQ,
    SPECIAL_LT,
    SPECIAL_LE,
    SPECIAL_GT,
    SPECIAL_GE,
    SPECIAL_COUNT
} Special;
/* A variable or parameter. at: offset in its space, of global and const: device address. */
typedef struct Var {
    char name[160];
    uint8_t space;
    uint32_t bytes, align;
    uint64_t at;
} Var;
/* Where arguments of calls lie: name, offset in the caller's call area. */
typedef struct Function {
    char name[160];
    bool is_entry, has_body;
    int first, n_ins; /* of Ptx.ins */
    uint32_t frame_bytes, param_bytes, local_bytes, call_bytes, shared_bytes, max_threads;
    Var *var; /* results, parameters, then those of the body */
    int n_vars, cap_vars, n_results, n_params;
    uint8_t *local_is; /* of local memory: bytes of variables, not of the gaps between them */
    Constant *constant;
    int n_constants, cap_constants;
    int32_t special[SPECIAL_COUNT]; /* slots, or -1 */
} Function;
enum { SLOT_NOWHERE = 0, SLOT_CARRY = SLOT_64, SLOT_FIRST = SLOT_64 + SLOT_32 };
/* Shared memory: the module's variables, from SHARED_ENTRY those of an entry, from SHARED_DYNAMIC
 * what the launch asks for; between variables is a gap. */
enum { SHARED_ENTRY = 1 << 16, SHARED_DYNAMIC = 1 << 17, SHARED_GAP = 16, CALL_DEPTH = 64 };

/* A shared variable; function: the entry that it is of, -1: any. */
typedef struct SharedVar {
    int function;
    uint32_t at, bytes;
} SharedVar;
typedef struct Ptx {
    Ins *ins;
    int n_ins, cap_ins;
    Function *function;
    int n_functions, cap_functions;
    Var *var; /* of the module */
    int n_vars, cap_vars;
    uint32_t shared_bytes; /* of the module's own shared variables */
    SharedVar *shared;
    int n_shared, cap_shared;
    uint8_t **initial; /* by variable of the module; NULL: zeros */
    int cap_initial;
} Ptx;
/* Gives a variable of the module its device address; 0: no memory. */
typedef uint64_t PtxPlace(void *ctx, const Var *v);

/* The program in `text` (owned by the caller, ends with 0). NULL: `err` says why and in which line.
 */
Ptx *ptx_read(const char *text, PtxPlace *place, void *ctx, char *err, size_t err_size);
void ptx_free(Ptx *p);
int ptx_find(const Ptx *p, const char *name); /* a function; -1: there is none */
#endif
