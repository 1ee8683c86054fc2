/* step_cut.h: shared by the files that cut a step out of a run. An item is an instruction of the
 * run, except frees and edges. Items of equal text but for ids and numbers are of one class: the
 * same instruction of the program in other rounds.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_CUT_H
#define GT_LANG_STEP_STEP_CUT_H
#include "lang/step/step.h"
#include "runtime/base/map.h"

enum { ROUNDS_MIN = 3, DISTANCE_MAX = 8, PEEL_MAX = 4 };

typedef struct Class {
    uint64_t hash;
    uint32_t count;
    uint32_t rounds; /* its items in all rounds but the last */
    bool is_needed;  /* a parameter's update, a save or a wanted effect needs one of its items */
    bool is_of_training; /* an update or a save does */
    bool is_extra;       /* only effects need it, of some rounds: the step has it in every round */
    bool is_wanted;      /* effects that the step has: in every round, or after the last */
} Class;

typedef struct Item {
    const char *text;
    size_t n, plain; /* plain: the length before types and position */
    uint32_t line;   /* of the run's text */
    Op op;
    uint8_t n_out;
    uint16_t n_in;
    bool has_edge; /* a loop's edge comes before it */
    bool is_effect, is_update, is_kept;
    uint64_t out;       /* first result */
    const uint64_t *in; /* tensor operands, in the order of the text */
    Class *class_;
    uint64_t loose; /* hash of its text without ids, numbers and types */
} Item;

/* Where an operand of the body comes from. */
typedef enum FromKind { FROM_BEFORE, FROM_ROUND, FROM_CARRY } FromKind;
typedef struct From {
    FromKind kind;
    uint64_t id;  /* FROM_BEFORE: made before the body; FROM_ROUND: in this round */
    int carried;  /* FROM_CARRY: index in Cut.carried */
    int distance; /* FROM_CARRY: rounds back, from 1 */
} From;

/* A value that later rounds use. */
typedef struct Carried {
    uint64_t made;               /* id in the first round */
    int distance;                /* the most rounds back */
    uint64_t init[DISTANCE_MAX]; /* [m]: before the first round, m + 1 rounds back */
    uint64_t slot[DISTANCE_MAX]; /* its ids in the step */
    bool is_copy[DISTANCE_MAX];  /* the slot is a copy of init */
} Carried;

typedef struct Cut {
    const Source *run;
    Arena arena;
    Item *item;
    int n, cap;
    Map class_;    /* hash -> Class */
    Map def;       /* id -> index of its item + 1 */
    int *position; /* per item: its place in seq + 1, or 0 */
    uint64_t next; /* an id that no item has */
    int *seq;      /* indices of the kept items */
    int n_seq;
    int begin, period, rounds; /* round r is seq[begin + r * period] and the next period - 1 */
    int *bound;                /* [rounds + 1]: the first item of each round, and after the last */
    int *bound_all;            /* owns them */
    From *from;                /* of the operands of the first round, in order */
    int *from_at;              /* per item of the round: its first in `from` */
    Carried *carried;
    int n_carried;
    Bytes *notes;
    LangError *e;
} Cut;

/* ---- step_loop.c ---- */
/* Finds the part that repeats: begin, period, rounds. */
bool cut_find_loop(Cut *c);
static inline Item *cut_item(const Cut *c, int round, int offset) {
    return &c->item[c->seq[c->begin + round * c->period + offset]];
}
#endif
