/* keyword.c: the table of keyword.h: one row per name of PyTorch or NumPy, with gtsh's names in
 * order of preference. A row must be correct for every function with such a parameter: an argument
 * of another meaning must stay an error.
 * SPDX-License-Identifier: MIT */
#include "lang/error/keyword.h"
#include <stddef.h>
#include <string.h>

typedef struct Alias {
    const char *theirs, *ours[7];
} Alias;

static const Alias aliases[] = {
    {"dim", {"axis", "axes"}},
    {"dims", {"axis", "axes", "times"}},
    {"keepdim", {"keepdims"}},
    {"data", {"x"}},
    {"input", {"x", "a", "pred", "logits", "logp", "ids", "p"}},
    {"self", {"x", "a"}},
    {"other", {"b", "y"}},
    {"target", {"y"}},
    {"condition", {"c"}},
    {"exponent", {"b"}},
    {"mat2", {"b"}},
    {"weight", {"w"}},
    {"bias", {"b"}},
    {"normalized_shape", {"shape"}},
    {"num_groups", {"groups"}},
    {"size", {"shape"}},
    {"sizes", {"shape"}},
    {"sorted_sequence", {"sorted"}},
    {"indices_or_sections", {"n"}},
    {"sections", {"n"}},
    {"tensor1", {"a"}},
    {"tensor2", {"b"}},
    {"vec2", {"b"}},
    {"x1", {"a"}},
    {"x2", {"b"}},
    {"source", {"src"}},
    {"N", {"n"}},
    {"start_dim", {"start"}},
    {"end_dim", {"end"}},
    {"n_in", {"in_features"}},
    {"n_out", {"out_features"}},
    {"query", {"q"}},
    {"key", {"k"}},
    {"value", {"v"}},
    {"is_causal", {"causal"}},
    {"attn_mask", {"mask"}},
    {"dim0", {"a"}},
    {"dim1", {"b"}},
    {"axis0", {"a"}},
    {"axis1", {"dim1", "a"}},
    {"axis2", {"dim2", "b"}},
    {"split_size", {"size"}},
    {"split_size_or_sections", {"size"}},
    {"chunks", {"n"}},
    {"repeats", {"times"}},
    {"reps", {"times"}},
    {"shifts", {"shift"}},
    {"diagonal", {"k"}},
    {"offset", {"k"}},
    {"pad", {"widths"}},
    {"fill_value", {"value"}},
    {"num_classes", {"n"}},
    {"num_samples", {"n"}},
    {"decimals", {"n"}},
    {"low", {"lo"}},
    {"high", {"hi"}},
    {"start", {"a"}},
    {"end", {"b"}},
    {"stop", {"b"}},
    {"steps", {"n"}},
    {"num", {"n"}},
    {"mean", {"mu"}},
    {"loc", {"mu"}},
    {"std", {"sigma"}},
    {"scale", {"sigma"}},
    {"ddof", {"correction"}},
    {"a_min", {"min"}},
    {"a_max", {"max"}},
    {"ord", {"p"}},
    {"negative_slope", {"a"}},
    {"outputs", {"y"}},
    {"inputs", {"xs", "x"}},
    {"grad_outputs", {"seed"}},
    {"gradient", {"seed"}},
    {"func", {"f"}},
    {"tensor", {"ids"}},
    {"dimension", {"axis"}},
    {"state_dict", {"m"}},
    {"A", {"a"}},
    {"B", {"b"}},
};

const char *keyword_ours(const char *theirs, int i) {
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++)
        if (!strcmp(aliases[k].theirs, theirs)) return i < 7 ? aliases[k].ours[i] : NULL;
    return NULL;
}
