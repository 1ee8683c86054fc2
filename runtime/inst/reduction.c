/* reduction.c: see reduction.h. SPDX-License-Identifier: MIT */
#include "runtime/inst/reduction.h"
#include "runtime/inst/element.h"
#include <math.h>

Op op_pair(Op reduce) {
    static const Op pair[OP_COUNT] = {
#define REDUCE(id, name, in, out, grad, facts, init, expr, pair, doc) [OP_##id] = OP_##pair,
#include "runtime/inst/ops.def"
    };
    return pair[reduce];
}

#define F_LOWEST  lowest
#define F_HIGHEST highest

double op_neutral(Op reduce) {
    const double lowest = -INFINITY, highest = INFINITY;
    if (op_pair(reduce) == OP_ADD) return -0.0; /* keeps the sign of zeros */
    switch (reduce) {
#define REDUCE(id, name, in, out, grad, facts, init, ...)                                          \
    case OP_##id: return init;
#include "runtime/inst/ops.def"
    default: return 0;
    }
}

int64_t op_neutral_int(Op reduce, DType d) {
    int64_t lowest, highest;
    dtype_range(d, &lowest, &highest);
    switch (reduce) {
#define REDUCE(id, name, in, out, grad, facts, init, ...)                                          \
    case OP_##id: return init;
#include "runtime/inst/ops.def"
    default: return 0;
    }
}
