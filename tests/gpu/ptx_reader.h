/* ptx_reader.h: what the two halves of the reader share: ptx.c reads modules, functions and
 * variables, ptx_ins.c instructions. The first mistake is kept, and everything after it does
 * nothing.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_PTX_READER_H
#define GT_TESTS_GPU_PTX_READER_H
#include "tests/gpu/ptx.h"

enum { WORD_MAX = 160, BLOCK_DEPTH = 32, FRAME_MAX = 64 << 20, BYTES_MAX = 1 << 28 };

/* `.reg .b32 %r<10>`: ten registers; count 0: one, without a number. */
typedef struct Registers {
    char prefix[48];
    int count;
    int32_t slot;
    uint8_t bits; /* 1 of .pred */
} Registers;
typedef struct Label {
    char name[WORD_MAX];
    int at; /* -1: not seen yet */
    int line;
} Label;
typedef struct Reader {
    const char *p;
    int line;
    char *err;
    size_t err_size;
    bool bad;
    Ptx *m;
    Function *f; /* NULL outside */
    PtxPlace *place;
    void *ctx;
    Registers *registers;
    int n_registers, cap_registers;
    uint32_t used_bytes; /* of the next load; 0: all */
    Label *label;
    int n_labels, cap_labels;
} Reader;

__attribute__((format(printf, 2, 3))) void reader_fail(Reader *r, const char *format, ...);
void reader_skip(Reader *r); /* blanks and comments */
bool reader_take(Reader *r, char c);
void reader_need(Reader *r, char c);
/* A word of letters, digits, _ $ % . and ::; empty after a failure. */
void reader_word(Reader *r, char word[WORD_MAX]);
/* A number as bits of `bits`: 12, -1, 0x1F, 0f3F800000, 0d..., 1U. */
uint64_t reader_number(Reader *r);
/* A word that names a type: its bits, 0 for .pred; -1: no type. */
int reader_type(const char *word);
void *reader_grow(void *list, int n, int *cap, size_t size);
int32_t reader_slot(Reader *r, int bits); /* a new slot of the frame */
const Var *reader_var(const Reader *r, const char *name);
const Registers *reader_register(const Reader *r, const char *name, int *number);
int reader_label(Reader *r, const char *name);
/* One instruction, whose first word was read; reads up to its semicolon. */
void reader_instruction(Reader *r, const char *word);
void reader_return(Reader *r); /* adds a `ret` */
#endif
