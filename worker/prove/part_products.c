/* part_products.c: products of floats that may be added in another order, or whose factors may be
 * rounded (set_precision, ATTR_ALLOW): an engine may leave them to a library of the device. Small
 * whole numbers exactly, others to the tolerance of their dtype, and the same bits each time.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

#include <string.h>

/* Two matrices of 33 to 33 + most, of which the algorithms for tensor cores take some. */
static bool draw_large(Case *c, DType d, Style style, uint64_t most, uint64_t seed) {
    int n_out;
    case_begin(c, OP_MATMUL, d, seed);
    c->style = style;
    int64_t size[3];
    for (int k = 0; k < 3; k++) {
        size[k] = 33 + (int64_t)case_pick(c, most);
        if (case_pick(c, 3)) size[k] = size[k] / 16 * 16;
    }
    TensorType a = {.dtype = (uint8_t)d, .rank = 2, .shape = {size[0], size[1]}}, b = a;
    b.shape[0] = size[1], b.shape[1] = size[2];
    case_add_tensor(c, a, style);
    case_add_tensor(c, b, style);
    c->terms = (double)size[1];
    if (inst_infer(&c->inst, c->type, c->out, &n_out, NULL)) return true;
    case_free(c);
    return false;
}

/* Returns false if the part is to end. */
static bool prove_product(Part *p, Case *c, const char *allow) {
    Outcome got, again, want;
    Difference diff;
    char text[320];
    bool is_tf32 = !strcmp(allow, "tf32");
    case_add_attr(c, (Attr){.key = ATTR_ALLOW, .n = (uint32_t)strlen(allow), .str = allow});
    bool goes_on = part_begin(p, "matmul of %s (seed %llu): %s", dtype_info[c->dtype].name,
                              (unsigned long long)c->seed, case_text(c, text, sizeof text));
    if (goes_on) {
        outcome_run(c, p->oracle, false, &want);
        outcome_run(c, p->e, false, &got);
        outcome_run(c, p->e, false, &again);
        bool same = outcome_agrees(c, &got, &want, is_tf32 ? AGREE_TF32 : AGREE_NEAR, &diff);
        part_share(p, diff.share, OP_MATMUL, c->dtype);
        if (!same) part_fail(p, "%s", diff.text);
        if (!outcome_agrees(c, &again, &got, AGREE_BITS, &diff))
            part_fail(p, "again: %s", diff.text);
        outcome_free(&got);
        outcome_free(&again);
        outcome_free(&want);
    }
    case_free(c);
    return goes_on;
}

/* Writes what multiplied: a library, as the engine names it, or its own kernels. */
static void find_library(const Engine *e, char *to, size_t size) {
    Bytes about = {0};
    snprintf(to, size, "the engine's own kernels");
    if (e->ops->about) e->ops->about(e, &about);
    const char *at = about.n ? strstr(about.data, "blas=") : NULL;
    if (at) snprintf(to, size, "%.*s", (int)strcspn(at + 5, "\n"), at + 5);
    bytes_fini(&about);
}

void part_products(Part *p) {
    static const DType dtypes[] = {DT_F32, DT_BF16, DT_F16, DT_F64};
    static const char *const allows[] = {"order", "tf32"};
    int rounds = part_rounds(p, 4, 40), n = 0;
    char library[64];
    p->tally->all = (uint64_t)rounds * 8;
    if (!(p->e = part_open(p, p->config->ops, 0))) return;
    if (!(p->oracle = part_open(p, p->config->oracle, 0))) return;
    for (int i = 0; i < rounds * 8; i++) {
        Case c;
        DType d = dtypes[i % 4];
        Style style = i / 8 % 2 ? STYLE_MIXED : STYLE_WHOLE;
        uint64_t seed = p->config->seed * 7919 + (uint64_t)i * 1000003u;
        bool made = i / 16 % 2 ? draw_large(&c, d, style, (uint64_t)part_rounds(p, 64, 300), seed)
                               : case_draw(&c, OP_MATMUL, d, style, seed);
        if (!made) continue;
        if (!prove_product(p, &c, allows[i / 4 % 2])) break;
        n++;
    }
    find_library(p->e, library, sizeof library);
    part_close(p, &p->e);
    part_close(p, &p->oracle);
    part_done(p, "%d products of floats that set_precision allows, by %s", n, library);
}
