/* pattern.h: names the way in which workers share a program, from what they computed and moved:
 *
 *   parallel    they compute at the same time and exchange (almost) nothing
 *   all-reduce  terms are summed over all: data parallel, or a pair of products that is split
 *   all-gather  parts are collected on all
 *   all-to-all  each sends a part to each
 *   pipeline    stages in a row, which pass their results on; with its bubble
 *   none        anything else, and whatever fewer than two workers do
 *
 * The rules, in this order:
 * 1. A worker counts if it computes at least 2 % as long as the busiest one. Two must count.
 * 2. A transfer counts if it has more than 64 bytes: values that are printed do not.
 * 3. Parallel: transfers that count fall into at most 2 of 8 equal parts of the time, and the
 *    workers' times add up to at least 1.25 times the time in which any of them computes.
 * 4. The kind with the most bytes names the pattern, if it has at least half of all bytes and came
 *    at least twice. A reduce_scatter is a half of an all_reduce; all_gathers with it (each kind at
 *    least a third of the other, in bytes) are the other half.
 * 5. Moves are a pipeline if the workers that count can be put in a row such that 90 % of the moved
 *    bytes pass between neighbours, and if at least half of the computing is of instructions that
 *    only one worker carries out (other workers do other things). The bubble is the share of the
 * stages' time, from the first such move to the last, in which they do not compute.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_PATTERN_H
#define GT_DISPATCHER_WATCH_PATTERN_H
#include "runtime/inst/op.h"
#include <stdbool.h>
#include <stddef.h>

typedef enum PatternKind {
    PATTERN_NONE,
    PATTERN_PARALLEL,
    PATTERN_ALL_REDUCE,
    PATTERN_ALL_GATHER,
    PATTERN_ALL_TO_ALL,
    PATTERN_PIPELINE
} PatternKind;

/* Something that a worker did in [begin_ns, end_ns). */
typedef struct PatternSlice {
    int64_t begin_ns, end_ns;
    int worker;
    Op op;          /* op_is_move: a transfer */
    uint64_t id;    /* of the instruction, the same on all workers; UINT64_MAX: none */
    int from;       /* of a transfer: the worker that the bytes come from; -1: several */
    uint64_t bytes; /* of a transfer */
} PatternSlice;

enum { PATTERN_WORKERS = 256 }; /* workers beyond are ignored */

typedef struct Pattern {
    PatternKind kind;
    int n;                       /* workers that count */
    int worker[PATTERN_WORKERS]; /* which; of a pipeline in the order of its stages */
    int count;                   /* of collectives, each once for all workers; of moves */
    uint64_t bytes;              /* what the pattern's transfers moved */
    double bubble;               /* of a pipeline, 0 to 1 */
    bool is_two_halves;          /* an all-reduce as reduce_scatter and all_gather */
} Pattern;

/* The slices are in any order; those of one worker may touch but its computing must not overlap. */
Pattern pattern_find(const PatternSlice *slice, size_t n);
const char *pattern_name(PatternKind kind); /* "all-reduce", "none" */
/* One sentence without a full stop, such as "pipeline w0 > w1 > w2, bubble 38%". Returns out. */
const char *pattern_text(const Pattern *p, char *out, size_t cap);
#endif
