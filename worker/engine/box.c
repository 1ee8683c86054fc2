/* box.c: copies boxes (regions of elements) between views in this machine's memory, and between a
 * view and the flat bytes of a message. GET and PIECE count the bytes of a box in row-major order.
 * SPDX-License-Identifier: MIT */
#include "worker/engine/box.h"

#include <string.h>

static int64_t size_of(const View *v) { return dtype_info[v->type.dtype].size_bytes; }

View box_of(const View *v, const int64_t *origin, const Region *r) {
    View box = *v;
    int64_t offset = 0;
    for (int d = 0; d < v->type.rank; d++) {
        box.type.shape[d] = r->size[d];
        offset += (r->begin[d] - origin[d]) * v->stride[d];
    }
    box.data = (char *)v->data + offset * size_of(v);
    return box;
}

static void copy_line(char *to, int64_t step_to, const char *from, int64_t step_from, int64_t n,
                      int64_t size) {
    if (step_to == 1 && step_from == 1) {
        memcpy(to, from, (size_t)(n * size));
        return;
    }
    step_to *= size, step_from *= size;
    switch (size) { /* constant sizes are moves, not calls */
    case 1:
        for (int64_t i = 0; i < n; i++) to[i * step_to] = from[i * step_from];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) memcpy(to + i * step_to, from + i * step_from, 2);
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) memcpy(to + i * step_to, from + i * step_from, 4);
        break;
    default:
        for (int64_t i = 0; i < n; i++) memcpy(to + i * step_to, from + i * step_from, 8);
    }
}

/* Writes the axes of two views of one shape: without those of extent 1, and with neighbours joined
 * that are contiguous in both views. Returns their number, at least 1; 0: there are no elements. */
static int join_axes(const View *a, const View *b, int64_t *shape, int64_t *sa, int64_t *sb) {
    int n = 0;
    for (int d = 0; d < a->type.rank; d++) {
        int64_t extent = a->type.shape[d], ta = a->stride[d], tb = b->stride[d];
        if (extent == 0) return 0;
        if (extent == 1) continue;
        if (n > 0 && sa[n - 1] == ta * extent && sb[n - 1] == tb * extent)
            n--, shape[n] *= extent;
        else
            shape[n] = extent;
        sa[n] = ta, sb[n] = tb;
        n++;
    }
    if (n == 0) shape[n] = 1, sa[n] = sb[n] = 1, n++;
    return n;
}

void box_copy(const View *to, const View *from) {
    int64_t shape[MAX_DIMS + 1], step_to[MAX_DIMS + 1], step_from[MAX_DIMS + 1];
    int64_t index[MAX_DIMS + 1] = {0}, size = size_of(to), at = 0, of = 0;
    int n = join_axes(to, from, shape, step_to, step_from);
    if (n == 0) return;
    for (;;) {
        copy_line((char *)to->data + at * size, step_to[n - 1],
                  (const char *)from->data + of * size, step_from[n - 1], shape[n - 1], size);
        int d = n - 2;
        for (; d >= 0; d--) {
            at += step_to[d], of += step_from[d];
            if (++index[d] < shape[d]) break;
            at -= shape[d] * step_to[d], of -= shape[d] * step_from[d];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

/* Copies elements [first, first + n) of the box, in row-major order: to `to`, or, with `to` NULL,
 * from `from`. */
static void walk(const View *box, int64_t first, int64_t n, char *to, const char *from) {
    int64_t size = size_of(box), index[MAX_DIMS] = {0}, rest = first, offset = 0;
    int last = box->type.rank - 1;
    for (int d = last; d >= 0; d--) {
        index[d] = rest % box->type.shape[d];
        rest /= box->type.shape[d];
        offset += index[d] * box->stride[d];
    }
    while (n > 0) {
        int64_t run = last < 0 ? 1 : box->type.shape[last] - index[last];
        int64_t step = last < 0 ? 1 : box->stride[last];
        if (run > n) run = n;
        char *at = (char *)box->data + offset * size;
        if (to)
            copy_line(to, 1, at, step, run, size), to += run * size;
        else
            copy_line(at, step, from, 1, run, size), from += run * size;
        n -= run;
        if (n == 0) return;
        offset -= index[last] * step; /* to the start of the next line */
        index[last] = 0;
        for (int d = last - 1; d >= 0; d--) {
            offset += box->stride[d];
            if (++index[d] < box->type.shape[d]) break;
            offset -= box->type.shape[d] * box->stride[d];
            index[d] = 0;
        }
    }
}

void box_get(const View *box, uint64_t begin, uint64_t bytes, void *to) {
    if (bytes) walk(box, (int64_t)begin / size_of(box), (int64_t)bytes / size_of(box), to, NULL);
}

void box_put(const View *box, uint64_t begin, uint64_t bytes, const void *from) {
    if (bytes) walk(box, (int64_t)begin / size_of(box), (int64_t)bytes / size_of(box), NULL, from);
}

bool box_lies_within(const TensorType *t, const int64_t *stride, uint64_t offset, uint64_t bytes) {
    int64_t size = dtype_info[t->dtype].size_bytes, low = 0, high = 0;
    if (offset > bytes || offset % (uint64_t)size || bytes > INT64_MAX) return false;
    for (int d = 0; d < t->rank; d++) {
        int64_t reach;
        if (t->shape[d] == 0) return true;
        if (t->shape[d] == 1) continue;
        if (__builtin_mul_overflow(t->shape[d] - 1, stride[d], &reach)) return false;
        int64_t *end = reach < 0 ? &low : &high;
        if (__builtin_add_overflow(*end, reach, end)) return false;
    }
    if (__builtin_mul_overflow(low, size, &low) || __builtin_mul_overflow(high, size, &high))
        return false;
    int64_t at = (int64_t)offset, first, last;
    return !__builtin_add_overflow(at, low, &first) && !__builtin_add_overflow(at, high, &last) &&
           first >= 0 && last <= (int64_t)bytes - size;
}
