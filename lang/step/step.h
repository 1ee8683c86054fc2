/* step.h: a training step as text, gti(5), Steps: instructions before, a body that repeats, and
 * instructions after it.
 *
 *   gti 1 kind=step prog="train.gt"
 *   t0 = full [2] f32 1 -> f32[2]                    made once
 *   repeat 3                                         rounds, unless --times says how many
 *   input lr f64 [3] 0.1 0.05 0.01                   a number, $lr: recorded for three rounds
 *   t1 = input x f32 [2]                             a tensor: --bind x=FILE
 *   t2 = rand [2] f32 rng=1:$round*2+5               $round is 0, 1, 2, ...
 *   t3 = mul t1 $lr -> f32[2]
 *   t4 = add t3 t2 -> f32[2]
 *   carry t4 -> t0                                   the next round's t0
 *   end
 *   output w weight=t0                               --out w=FILE saves it
 *
 * Reading checks all that does not depend on values, so that a step with an error runs nothing.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_H
#define GT_LANG_STEP_STEP_H
#include "lang/error/error.h"
#include "runtime/inst/inst.h"
#include "runtime/base/buf.h"

typedef enum StepKind { STEP_INST, STEP_INPUT, STEP_CARRY, STEP_OUTPUT } StepKind;

/* A value that a step takes from outside, or that was recorded in it. */
typedef struct StepInput {
    const char *name;
    uint32_t line;
    bool is_number;   /* $name in the body; type is of rank 0, i64 or f64 */
    bool is_row;      /* in the body: each round has its own */
    bool is_computed; /* its line computes it unless it is bound */
    bool is_bound;
    bool cycles;         /* after the last row comes the first again */
    TensorType type;     /* of one round */
    uint64_t rows;       /* of data: 1 unless is_row; 0: there is no data */
    bool is_same;        /* one row for all rounds */
    const uint8_t *data; /* row-major; the arena's, or that of buf */
    Buf *buf;
} StepInput;

typedef struct StepLine {
    StepKind kind;
    uint32_t line; /* in the text, from 1 */
    const char *text;
    size_t n;
    bool varies;       /* contains $NAME: parsed each round */
    int input;         /* index of its input, or -1 */
    InstLine inst;     /* unless it varies; of an output: `save`, its path is the output's name */
    uint64_t from, to; /* of a carry */
} StepLine;

typedef struct Step {
    const Source *src;
    Arena arena;
    StepLine *line;
    int n, cap;
    int body, carry, end; /* indices: the body is [body, end), its carries [carry, end) */
    uint32_t repeat_line, end_line;
    uint64_t times; /* recorded rounds; 0: not said */
    StepInput *input;
    int n_input, input_cap;
} Step;

/* True if the text begins with the header of a step. */
bool step_is_text(const char *text, size_t n);
/* Reads and checks the text. false: e, of kind E_SYNTAX. Call step_fini in either case. */
bool step_read(const Source *src, Step *out, LangError *e);
void step_fini(Step *s);
StepInput *step_input(const Step *s, const char *name, size_t n); /* NULL: there is none */
/* A position in the text; column 0: the whole line. */
Span step_at(const Step *s, uint32_t line, int column);
/* Parses a line of the body with the numbers of a round. text: scratch, holds the line's text;
 * arena: of the result. false: e, at the line. */
bool step_parse(const Step *s, const StepLine *line, uint64_t round, Bytes *text, Arena *arena,
                InstLine *out, LangError *e);
/* The elements of an input in a round: type_bytes(&in->type) bytes. The input must have data for
 * that round. */
const uint8_t *step_row(const StepInput *in, uint64_t round);

/* Cuts the step that repeats out of the instructions of a run (text of --emit), and writes it as
 * the text of a step to *out. notes: sentences about what was left out, a line each. false: e says
 * why there is no step. */
bool step_cut(const Source *run, Bytes *out, Bytes *notes, LangError *e);
#endif
