/* choice.c: see choice.h. SPDX-License-Identifier: MIT */
#include "worker/jit/choice.h"

/* Runs after the first decision until both ways are measured again. The number doubles with each
 * later decision, so that measuring (CHOICE_TRIALS runs of the slower way) costs one percent at
 * first and then nothing. With 125 and 2000 charlm and mnist_conv take the same within 3 %. */
enum { AGAIN = 500 };

static unsigned bits(int64_t n) { return n > 0 ? 64u - (unsigned)__builtin_clzll((uint64_t)n) : 0; }

ChoiceTrial *choice_trial(Choice *c, int64_t elements, int64_t depth) {
    unsigned of_elements = bits(elements | 1), of_depth = bits(depth);
    uint16_t size = (uint16_t)(of_elements | of_depth << 8);
    ChoiceTrial *t = c->trial;
    for (int i = 0; i < CHOICE_SIZES && t->size != size; i++)
        if (c->trial[i].size == size || c->trial[i].used_at < t->used_at) t = &c->trial[i];
    if (t->size != size) *t = (ChoiceTrial){.size = size};
    t->used_at = ++c->clock;
    return t;
}

Way choice_way(ChoiceTrial *t, bool *is_timed) {
    *is_timed = false;
    if (t->is_decided && t->left--) return t->way;
    if (t->is_decided) {
        t->is_decided = false;
        t->n[WAY_EAGER] = t->n[WAY_FUSED] = 0;
    }
    *is_timed = true;
    if (t->n[WAY_FUSED] < CHOICE_TRIALS) return WAY_FUSED;
    if (t->n[WAY_EAGER] < CHOICE_TRIALS) return WAY_EAGER;
    *is_timed = false;
    t->is_decided = true;
    t->way = t->least[WAY_FUSED] <= t->least[WAY_EAGER] ? WAY_FUSED : WAY_EAGER;
    t->interval = t->interval ? 2 * t->interval : AGAIN;
    t->left = t->interval;
    return t->way;
}

void choice_report(ChoiceTrial *t, Way way, int64_t elements, int64_t ns) {
    double each = (double)ns / (double)(elements > 0 ? elements : 1);
    if (!t->n[way] || each < t->least[way]) t->least[way] = each;
    t->n[way] += t->n[way] < CHOICE_TRIALS;
}
