/* keyword.c: the table of keyword.h: names of PyTorch or NumPy, with gtsh's names in
 * order of preference. A row must be correct for every function with such a parameter: an argument
 * of another meaning must stay an error.
 * SPDX-License-Identifier: MIT */
#include "lang/error/keyword.h"
#include "runtime/base/words.h"
#include <stddef.h>
#include <string.h>

typedef struct Alias {
    const char *theirs, *ours[7];
} Alias;

static const Alias aliases[] = {
    {"dim", {"axis", "axes"}},
    {"dims", {"axis", "axes", "times"}},
    {"keepdim", {"keepdims"}},
    {"start_dim", {"start"}},
    {"end_dim", {"end"}},
    {"data", {"x"}},
    {"input", {"x", "a", "pred", "logits", "logp", "ids", "p"}},
    {"self", {"x", "a"}},
    {"other", {"b", "y"}},
    {"target outputs", {"y"}},
    {"condition", {"c"}},
    {"exponent mat2 bias tensor2 vec2 x2 dim1 end stop B", {"b"}},
    {"weight", {"w"}},
    {"normalized_shape size sizes", {"shape"}},
    {"num_groups", {"groups"}},
    {"sorted_sequence", {"sorted"}},
    {"indices_or_sections sections N chunks num_classes num_samples decimals steps num", {"n"}},
    {"tensor1 x1 dim0 axis0 start negative_slope A", {"a"}},
    {"source", {"src"}},
    {"n_in", {"in_features"}},
    {"n_out", {"out_features"}},
    {"query", {"q"}},
    {"key diagonal offset", {"k"}},
    {"value", {"v"}},
    {"is_causal", {"causal"}},
    {"attn_mask", {"mask"}},
    {"axis1", {"dim1", "a"}},
    {"axis2", {"dim2", "b"}},
    {"split_size split_size_or_sections", {"size"}},
    {"repeats reps", {"times"}},
    {"shifts", {"shift"}},
    {"pad", {"widths"}},
    {"fill_value", {"value"}},
    {"low", {"lo"}},
    {"high", {"hi"}},
    {"mean loc", {"mu"}},
    {"std scale", {"sigma"}},
    {"ddof", {"correction"}},
    {"a_min", {"min"}},
    {"a_max", {"max"}},
    {"ord", {"p"}},
    {"inputs", {"xs", "x"}},
    {"grad_outputs gradient", {"seed"}},
    {"func", {"f"}},
    {"tensor", {"ids"}},
    {"dimension", {"axis"}},
    {"state_dict", {"m"}},
};

const char *keyword_ours(const char *theirs, int i) {
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++)
        if (words_have(aliases[k].theirs, theirs, strlen(theirs)))
            return i < 7 ? aliases[k].ours[i] : NULL;
    return NULL;
}
