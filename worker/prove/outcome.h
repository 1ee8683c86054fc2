/* outcome.h: one case (case.h) executed on an engine, and what it gave compared with what another
 * engine gave.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PROVE_OUTCOME_H
#define GT_WORKER_PROVE_OUTCOME_H
#include "worker/prove/case.h"

typedef struct Outcome {
    int result; /* 1: computed; -1: failed, err says why */
    Err err;
    char *out[MAX_OUT]; /* row-major; owned */
} Outcome;

/* Executes c and waits for it. in_place: the result takes the memory of the first operand, see
 * case_may_be_in_place. A VIEW is copied out as a view; the copy of a reshape must be the same. */
void outcome_run(const Case *c, Engine *e, bool in_place, Outcome *o);
void outcome_free(Outcome *o);
bool case_may_be_in_place(const Case *c);

/* How much of a result must be the same as the other engine's. In all of them any nan is any nan,
 * and so are indices, whole numbers, moved elements and sums of small whole numbers the same. */
typedef enum Agree {
    AGREE_NEAR, /* floats to the tolerance of their dtype */
    AGREE_TF32, /* the same, but the factors of float32 may have been rounded to 10 bits */
    /* All bits, but where a device's libraries compute (outcome_is_of_library), and where cpu's do:
     * convolutions of float32 and halves are near. */
    AGREE_DEVICE,
    AGREE_BITS /* all bits */
} Agree;
/* Rows that the libraries of a device compute: functions of float64, to 8 ulp, or 8 ulp of 1. */
bool outcome_is_of_library(Op op, DType d);
/* True for these, and for rows that libraries compute for some arguments only: circular functions
 * of float64 from 12,000 on. */
bool outcome_may_be_of_library(Op op, DType d);

typedef struct Difference {
    int k;          /* the result ... */
    int64_t at;     /* ... and its first element that differs; -1: the outcomes themselves differ */
    double share;   /* largest error of an element that agrees, as a part of its tolerance */
    char text[160]; /* "element 3 of 17 is 0.5, not 0.25" */
} Difference;
/* Returns false, and says in *d where, if the outcomes of c differ by more than `how` allows. */
bool outcome_agrees(const Case *c, const Outcome *got, const Outcome *want, Agree how,
                    Difference *d);

/* True if two elements have the same bits; any nan is any nan. */
bool element_is_same(DType d, const void *a, const void *b);

/* Writes "f32[3,4] strides 4 1, imm axis=1": operands and attributes of c. Returns buf. */
char *case_text(const Case *c, char *buf, size_t size);

/* Computes what, of whose fields the operation and the attributes count, of n views into out, and
 * waits for it. Returns as done does; err may be NULL. */
int call_engine(Engine *e, const Inst *what, View *in, int n, const View *out, Err *err);
/* Waits until an ordered engine has done everything; host memory that it was to fill is filled
 * then. Takes the failures that depend on values: the first is returned in err and the call's
 * ticket in *of (both may be NULL). Returns how many there were. */
int engine_settle(Engine *e, Ticket *of, Err *err);
#endif
