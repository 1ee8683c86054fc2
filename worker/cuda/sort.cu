/* sort.cu: sort, argsort and topk: a bitonic sort of items (key, position) of each line. No two
 * items are equal, so the order is that of a stable sort. T is the type of an element, KEY its key
 * (line.h), KEY_MOST the largest one.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/line.h"

typedef struct Item {
    uint64_t key;
    int64_t at; /* >= n: it only fills the line up to a power of two, behind all others */
} Item;

#define EACH(N)                                                                                    \
    const LineArgs *const A = &args;                                                               \
    const int64_t threads_ = (int64_t)gridDim.x * blockDim.x;                                      \
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < (N); k += threads_)

/* In runs of `run` items, ascending and descending in turn: orders items that are `apart`. */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(step)(const __grid_constant__ LineArgs args) {
    EACH(A->lines * (A->padded / 2)) {
        const int64_t line = k / (A->padded / 2), pair = k - line * (A->padded / 2);
        const int64_t i = pair / A->apart * 2 * A->apart + pair % A->apart;
        Item *low = (Item *)A->items + line * A->padded + i, *high = low + A->apart;
        const Item a = *low, b = *high;
        const bool is_after = a.key > b.key || (a.key == b.key && a.at > b.at);
        const bool ascends = (i & A->run) == 0;
        if (is_after == ascends) *low = b, *high = a;
    }
}

/* Before the sort, with run 0: fills the items. After it: writes the results. */
extern "C" __global__ void __launch_bounds__(256)
    FUSED(run)(const __grid_constant__ LineArgs args) {
    EACH(A->run ? A->lines * A->count : A->lines * A->padded) {
        const int64_t each = A->run ? A->count : A->padded;
        const int64_t line = k / each, i = k - line * each;
        const T *x = (const T *)A->in[0] + line_at(A, 0, line);
        Item *item = (Item *)A->items + line * A->padded + i;
        if (A->run) {
            const int64_t to = line_at(A, 2, line) + i * A->step[2];
            if (A->out[0]) ((T *)A->out[0])[to] = x[item->at * A->step[0]];
            if (A->out[1]) ((int64_t *)A->out[1])[to] = item->at;
        } else {
            const uint64_t key = i < A->n ? KEY(x[i * A->step[0]]) : 0;
            *item = Item{i >= A->n ? ~(uint64_t)0 : A->flag ? KEY_MOST - key : key, i};
        }
    }
}
