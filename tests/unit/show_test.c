/* show_test.c: cases that tests/golden/show.gt cannot cover: a reply with edge items only gives the
 * same text as the whole tensor; formats with braces, specifications, and too few or too many
 * values.
 * SPDX-License-Identifier: MIT */
#include "lang/text/show.h"
#include "runtime/inst/inst.h"
#include "tests/unit/check.h"

/* The value as a worker sends it: the first and last `edge` items of each axis longer than 2 *
 * edge. */
static ReplyValue cut(const ReplyValue *whole, uint32_t edge, int64_t *to) {
    const TensorType *t = &whole->type;
    ReplyValue v = {.edge = edge, .type = *t, .data = to};
    int64_t n = 0, index[MAX_DIMS] = {0}, count = type_numel(t);
    for (int64_t i = 0; i < count; i++) {
        bool kept = true;
        for (int64_t axis = t->rank, rest = i; axis-- > 0; rest /= t->shape[axis])
            index[axis] = rest % t->shape[axis];
        for (int axis = 0; axis < t->rank; axis++)
            kept &= t->shape[axis] <= 2 * edge || index[axis] < edge ||
                    index[axis] >= t->shape[axis] - edge;
        if (kept) to[n++] = ((const int64_t *)whole->data)[i];
    }
    v.bytes = (uint64_t)n * 8;
    return v;
}

static void edge_test(TensorType t, uint32_t edge) {
    int64_t n = type_numel(&t), *data = malloc((size_t)n * 8 + 8),
            *part = malloc((size_t)n * 8 + 8);
    for (int64_t i = 0; i < n; i++) data[i] = (i * 7919) % 100003 - 50000;
    ReplyValue whole = {.type = t, .data = data, .bytes = (uint64_t)n * 8},
               few = cut(&whole, edge, part);
    PrintOptions p = print_defaults;
    p.edgeitems = (int)edge, p.threshold = 10;
    Bytes a = {0}, b = {0};
    show_tensor(&whole, &p, false, 0, &a);
    show_tensor(&few, &p, false, 0, &b);
    CHECK_STR(b.data, a.data);
    bytes_fini(&a), bytes_fini(&b);
    free(data), free(part);
}

static void format_test(void) {
    float f[2] = {1.5f, -2.25f};
    int64_t k = 1234567;
    uint8_t yes = 1;
    ReplyValue v[4] = {{.type = {.dtype = DT_F32}, .data = f, .bytes = 4},
                       {.type = {.dtype = DT_I64}, .data = &k, .bytes = 8},
                       {.type = {.dtype = DT_BOOL}, .data = &yes, .bytes = 1},
                       {.type = {.dtype = DT_F32, .rank = 1, .shape = {2}}, .data = f, .bytes = 8}};
    Reply r = {.n = 4, .value = v};
    Bytes out = {0};
    Err err = {0};
    const char *text = "{{a}} {:.3f}|{:>10,}|{}|{!rg}}}\n";
    CHECK(show_format(text, strlen(text), &r, &print_defaults, &out, &err));
    CHECK_STR(out.data,
              "{a} 1.500| 1,234,567|true|tensor([ 1.5000, -2.2500], requires_grad=true)}\n");
    static const char *const bad[] = {
        "{} {} {}",        "{} {} {} {} {}", "{", "}", "{:", "{?} {} {} {}",
        "{:.4q} {} {} {}", "{} {} {} {:.2f}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (Err){0};
        CHECK_MSG(!show_format(bad[i], strlen(bad[i]), &r, &print_defaults, &out, &err) && err.code,
                  "%s was accepted", bad[i]);
    }
    bytes_fini(&out);
    show_escape("a{b}}", 5, &out);
    CHECK_STR(out.data, "a{{b}}}}");
    bytes_fini(&out);
}

int main(void) {
    for (uint32_t edge = 1; edge <= 4; edge++) {
        edge_test((TensorType){.dtype = DT_I64, .rank = 1, .shape = {50}}, edge);
        edge_test((TensorType){.dtype = DT_I64, .rank = 2, .shape = {40, 3}}, edge);
        edge_test((TensorType){.dtype = DT_I64, .rank = 2, .shape = {2, 70}}, edge);
        edge_test((TensorType){.dtype = DT_I64, .rank = 3, .shape = {12, 9, 30}}, edge);
        edge_test((TensorType){.dtype = DT_I64, .rank = 4, .shape = {3, 9, 1, 11}}, edge);
    }
    format_test();
    return check_report("show");
}
