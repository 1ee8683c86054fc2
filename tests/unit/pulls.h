/* pulls.h: all sources of a rank's part of a layout. SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_PULLS_H
#define GT_TESTS_UNIT_PULLS_H
#include "runtime/layout/layout.h"

typedef struct Pull {
    int from; /* rank in the source's group */
    Region region;
} Pull;
/* The pulls of rank i from all ranks that layout_pull gives it something from, in their order. pull
 * has room for n_from. Returns the number of pulls. */
static inline int layout_pulls(const Layout *from, int n_from, const Layout *to, int n_to, int i,
                               bool same, const TensorType *t, Pull *pull) {
    int n = 0;
    for (int k = 0; k < n_from; k++)
        if (layout_pull(from, n_from, to, n_to, i, same, t, k, &pull[n].region)) pull[n++].from = k;
    return n;
}
#endif
