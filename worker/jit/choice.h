/* choice.h: whether a fusion that has a kernel runs as that kernel or as separate operations,
 * whichever is faster here. Both ways are timed in the program itself: the first few times, and
 * again after many runs. Sizes that differ much are timed separately, because one kernel serves all
 * shapes. The shortest of a few times counts, since any disturbance only makes a time longer. The
 * choice changes no bit of a result.
 *
 * What it is worth: of 628 kernels of many kinds of fusions, 21 took 1.4 to 3.2 times as long as
 * their operations. Beside kernels whenever there is one (Zen 5, one thread, CPU time, medians of
 * 11 interleaved runs), charlm takes 0.96 to 0.99 of the time and mnist_conv 0.985. An MLP, an LSTM
 * and a VAE take the same within 2 %. Programs of 40 to 60 steps of one large fusion take 1.03 to
 * 1.18 times as long, because some of these steps are measurements.
 *
 * The least recently used size is evicted.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_JIT_CHOICE_H
#define GT_WORKER_JIT_CHOICE_H
#include <stdbool.h>
#include <stdint.h>

enum {
    CHOICE_SIZES = 8 * sizeof(int32_t), /* of one kernel: from 1 to 2^31 elements */
    /* Measurements of each way: a single one may be a time at which the core was taken. 100 steps
     * of a GELU over 3 M elements take 1.4 times the CPU time with 6, an LSTM 1.1; with 1 and 2
     * both take the same. */
    CHOICE_TRIALS = 3
};

typedef enum Way { WAY_EAGER, WAY_FUSED, WAYS } Way;

/* The measurements of one size and depth, each to a factor of two. */
typedef struct ChoiceTrial {
    uint16_t size;   /* bits of the number of elements, and of the depth << 8; 0: unused */
    uint8_t n[WAYS]; /* measurements taken, at most CHOICE_TRIALS */
    uint32_t used_at;
    bool is_decided;
    Way way;            /* the decision; valid if is_decided */
    uint64_t interval;  /* runs between the decision and the next measurement ... */
    uint64_t left;      /* ... and how many of them are left */
    double least[WAYS]; /* ns per element */
} ChoiceTrial;

/* All zero: no measurements. */
typedef struct Choice {
    ChoiceTrial trial[CHOICE_SIZES];
    uint32_t clock;
} Choice;

/* Returns the entry of this size, a new one if there is none. depth: that of a product fused with
 * the fusion, 0: no product. Borrowed until the next call. */
ChoiceTrial *choice_trial(Choice *c, int64_t elements, int64_t depth);
/* Returns the way to run it now. *is_timed: the caller must report the time to choice_report. */
Way choice_way(ChoiceTrial *t, bool *is_timed);
void choice_report(ChoiceTrial *t, Way way, int64_t elements, int64_t ns);
#endif
