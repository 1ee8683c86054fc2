/* inst_text.h: shared by the printer (inst_print.c) and the parser (inst_parse.c) of instruction
 * text: which attributes of an op are written bare, without their key. Other code uses inst.h.
 *
 *   t0 = randn [512,2] f32 rng=42:0 -> f32[512,2] @train.gt:6     bare: shape, dtype
 *   t1 = data f32 [3] 1 2.5 -3e-05                                bare: dtype, shape, elements
 *   t6 = slice t5 [0:512,0:784:2]                                 bare: start, size, step in one
 *   t11,t12 = topk t10 3 axis=0                                   bare: k
 *   print "loss {:.4f}\n" t10                                     bare: format
 *   save "mlp.safetensors" fc1.weight=t3                          bare: path; keys name operands
 *   plot y=t4 meta="{\"title\": \"loss\"}"                       keys name operands
 *   signal enter forward_layer1 backward=backward_layer1          bare: name
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_INST_TEXT_H
#define GT_RUNTIME_INST_INST_TEXT_H
#include "runtime/inst/inst.h"

enum { BARE_SHAPE = 1, BARE_DTYPE = 2, BARE_K = 4, BARE_SLICE = 8, BARE_NAMED = 16 };

typedef struct BareForm {
    uint8_t flags;
    uint8_t n_strings; /* the attributes that its strings are, in order */
    uint8_t string[2];
} BareForm;

static inline BareForm bare_form(Op op) {
    if (op_info[op].class_ == CLASS_SOURCE) return (BareForm){BARE_SHAPE | BARE_DTYPE, 0, {0}};
    switch (op) {
    case OP_VALUE: return (BareForm){BARE_SHAPE | BARE_DTYPE, 0, {0}};
    case OP_RESHAPE:
    case OP_EXPAND: return (BareForm){BARE_SHAPE, 0, {0}};
    case OP_CAST: return (BareForm){BARE_DTYPE, 0, {0}};
    case OP_TOPK: return (BareForm){BARE_K, 0, {0}};
    case OP_SLICE:
    case OP_SLICE_PUT: return (BareForm){BARE_SLICE, 0, {0}};
    case OP_PRINT:
    case OP_NOTE:
    case OP_ASSERT: return (BareForm){0, 1, {ATTR_FORMAT}};
    case OP_WRITE: return (BareForm){0, 2, {ATTR_PATH, ATTR_FORMAT}};
    case OP_SAVE: return (BareForm){BARE_NAMED, 1, {ATTR_PATH}};
    case OP_TRACK:
    case OP_PLOT:
    case OP_HIST:
    case OP_IMAGE: return (BareForm){BARE_NAMED, 0, {0}};
    case OP_LOAD: return (BareForm){0, 1, {ATTR_PATH}};
    case OP_SIGNAL_ENTER:
    case OP_SIGNAL_EXIT:
    case OP_SIGNAL_DEFINE:
    case OP_SHARD:
    case OP_FILE: return (BareForm){0, 1, {ATTR_NAME}};
    default: return (BareForm){0, 0, {0}};
    }
}

/* True for the instructions whose text has elements. */
static inline bool op_has_elements(Op op) { return op == OP_DATA || op == OP_VALUE; }

/* A character of an unquoted word: names, keys, paths, hashes. */
static inline bool is_word_char(unsigned char c) {
    /* - . / 0 to 9, and A to Z, _, a to z: a bit per character */
    const uint64_t low = (UINT64_C(0x1fff)) << 45,
                   high = UINT64_C(0x3ffffff) << 1 | UINT64_C(1) << 31 | UINT64_C(0x3ffffff) << 33;
    return (c < 64 ? low : c < 128 ? high : 0) >> (c & 63) & 1;
}
static inline bool is_id_text(const char *s, size_t n) { /* t12 */
    if (n < 2 || s[0] != 't') return false;
    for (size_t i = 1; i < n; i++)
        if (s[i] < '0' || s[i] > '9') return false;
    return true;
}
/* True if it may stand alone as a name: begins like an identifier and does not look like an id. */
static inline bool is_name_text(const char *s, size_t n) {
    if (n == 0 || is_id_text(s, n)) return false;
    for (size_t i = 0; i < n; i++)
        if (!is_word_char((unsigned char)s[i])) return false;
    return !(s[0] >= '0' && s[0] <= '9') && s[0] != '-' && s[0] != '.';
}
/* True if ATTR_OTHER may stand in a line: unknown KEY=VALUE pairs between single spaces. */
bool inst_other_is_plain(const char *s, size_t n);
/* The stop of a slice of `size` elements from `start` by `step`, as written; false if there is
 * none. */
static inline bool slice_stop(int64_t start, int64_t size, int64_t step, int64_t *stop) {
    *stop = start;
    if (start < 0 || size < 0 || step < 1) return false;
    if (size == 0) return true;
    return !__builtin_mul_overflow(size - 1, step, stop) &&
           !__builtin_add_overflow(*stop, start + 1, stop) && start < INT64_MAX;
}
#endif
