/* choice.h: how a cluster is carried out that has a kernel: by it, or one by one, whichever is
 * faster here. Both are measured where they run: the first times of each, again after many times,
 * and apart for sizes that differ much, for one kernel serves all shapes. The least of a few times
 * counts, since what disturbs a measurement makes it longer. The choice changes no bit.
 *
 * A size has its place in a small set; of those that share a set the one used least recently goes.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_CHOICE_H
#define GT_WORKER_JIT_CHOICE_H
#include <stdbool.h>
#include <stdint.h>

enum { CHOICE_SETS = 8, CHOICE_SIZES = 4 /* in a set */, CHOICE_TRIALS = 3 };

typedef enum Way { WAY_EAGER, WAY_FUSED, WAYS } Way;

/* Of one size and depth, to a factor of two. */
typedef struct ChoiceTrial {
    uint16_t size;   /* bits of the elements' number, of the depth's; 0: unused */
    uint8_t n[WAYS]; /* times measured, at most CHOICE_TRIALS */
    uint8_t rounds;  /* decided so often */
    uint32_t used_at;
    bool is_decided;
    Way way;            /* if so */
    uint32_t left;      /* runs until it is measured again */
    double least[WAYS]; /* ns per element */
} ChoiceTrial;

/* Zeroed: nothing is known. */
typedef struct Choice {
    ChoiceTrial trial[CHOICE_SETS][CHOICE_SIZES];
    uint32_t clock;
} Choice;

/* depth: of a product that goes with the cluster, 0: none. */
ChoiceTrial *choice_trial(Choice *c, int64_t elements, int64_t depth);
/* How it is to be carried out now, and whether the time is to be told. */
Way choice_way(ChoiceTrial *t, bool *is_timed);
void choice_tell(ChoiceTrial *t, Way way, int64_t elements, int64_t ns);
#endif
