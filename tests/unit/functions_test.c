/* functions_test.c: fails if a tensor function has no golden values. Every tensor builtin and
 * method, and every function of the prelude that is visible everywhere or in linalg, needs a file
 * tests/golden/fn/NAME.gt with at least 8 cases from PyTorch; for a second name of a builtin one
 * case that calls it is enough. Exceptions give their reasons.
 *
 *   functions_test [DIRECTORY]
 *
 * SPDX-License-Identifier: MIT */
#include "lang/eval/builtin.h"
#include "lang/math/builtin_tensor.h"
#include "lang/value/interp.h"
#include "lang/eval/prelude.h"
#include "tests/unit/check.h"
#include <ctype.h>

enum { LEAST_CASES = 8 };

static const char *directory = "tests/golden/fn";
static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

typedef struct Exception {
    const char *name, *why;
} Exception;
#define RANDOM   "random: shape, dtype, moments and seeds in tests/golden/random.gt"
#define IN_PLACE "changes a parameter: tests/tensor and tests/nn"
#define GRADS    "gradients: every file here, tests/grad, tests/unit/grad_test.c"
#define TRAINING "works on .grad of parameters: tests/nn"
#define CONFIG   "configurations of signals, no tensors: tests/unit/config_test.c"
#define SHOWN    "prints, returns no value: tests/lang, tests/nn, tests/tensor, tests/cli"
#define NUMPY    "NumPy's, limits and windows: tests/tensor/numeric.gt"
#define FACTORS  "signs are the algorithm's: tests/tensor/factor.gt"
#define PLACES   "values and gradients of PyTorch: tests/nn/sampling.gt"
#define DEFAULT  "tests/tensor/default_dtype.gt"
#define HEAP     "lists of host values: tests/lang/host.gt"
#define PAIRS    "pairs of values and indices: tests/lang/values_indices.gt"
static const Exception exceptions[] = {
    {"with_indices", PAIRS},
    {"rand", RANDOM},
    {"randn", RANDOM},
    {"rand_like", RANDOM},
    {"randn_like", RANDOM},
    {"randint", RANDOM},
    {"randperm", RANDOM},
    {"uniform", RANDOM},
    {"normal", RANDOM},
    {"bernoulli", RANDOM},
    {"multinomial", RANDOM},
    {"gumbel_softmax", RANDOM},
    {"seed", RANDOM},
    {"heappush", HEAP},
    {"heappop", HEAP},
    {"heapify", HEAP},
    {"randint_like", RANDOM},
    {"backward", GRADS},
    {"grad", GRADS},
    {"checkpoint", GRADS},
    {"gradcheck", GRADS},
    {"gradgradcheck", GRADS},
    {"jacobian", GRADS},
    {"hessian", GRADS},
    {"vjp", GRADS},
    {"jvp", GRADS},
    {"hvp", GRADS},
    {"load_config", CONFIG},
    {"register_config", CONFIG},
    {"get_signal_config", CONFIG},
    {"SignalConfig", CONFIG},
    {"ShardConfig", CONFIG},
    {"clip_grad_norm", TRAINING},
    {"clip_grad_norm_", TRAINING},
    {"clip_grad_value", TRAINING},
    {"clip_grad_value_", TRAINING},
    {"total_norm", TRAINING},
    {"info", SHOWN},
    {"plot", SHOWN},
    {"hist", SHOWN},
    {"image", SHOWN},
    {"summary", SHOWN},
    {"placement", SHOWN},
    {"stats", SHOWN},
    {"cuda", SHOWN},
    {"set_print", SHOWN},
    {"weight_norm", TRAINING},
    {"spectral_norm", TRAINING},
    {"set_default_dtype", DEFAULT},
    {"get_default_dtype", DEFAULT},
    {"set_precision", "tests/cli/cuda_precision.sh"},
    {"get_precision", "tests/cli/cuda_precision.sh"},
    {"histogram", NUMPY},
    {"histogram_bin_edges", NUMPY},
    {"percentile", NUMPY},
    {"nanpercentile", NUMPY},
    {"digitize", NUMPY},
    {"lexsort", NUMPY},
    {"interp", NUMPY},
    {"polyval", NUMPY},
    {"polyfit", NUMPY},
    {"convolve", NUMPY},
    {"correlate", NUMPY},
    {"average", NUMPY},
    {"ptp", NUMPY},
    {"gradient", NUMPY},
    {"polygamma", "PyTorch's has ten digits: tests/tensor/numeric.gt, ops_test, grad_test"},
    {"finfo", NUMPY},
    {"iinfo", NUMPY},
    {"hann_window", NUMPY},
    {"hamming_window", NUMPY},
    {"blackman_window", NUMPY},
    {"bartlett_window", NUMPY},
    {"qr", FACTORS},
    {"eigh", FACTORS},
    {"eigvalsh", FACTORS},
    {"svd", FACTORS},
    {"svdvals", FACTORS},
    {"matrix_rank", FACTORS},
    {"pinv", FACTORS},
    {"pinverse", FACTORS},
    {"lstsq", FACTORS},
    {"cond", FACTORS},
    {"matrix_exp", FACTORS},
    {"qr_packed", FACTORS},
    {"eigh_packed", FACTORS},
    {"svd_packed", FACTORS},
    {"grid_sample", PLACES},
    {"affine_grid", PLACES},
    {"ctc_loss", PLACES},
};

static const char *excepted(const char *name) {
    size_t n = strlen(name);
    if (!strncmp(name, "debug.", 6)) return SHOWN;
    if (n > 1 && name[n - 1] == '_') return IN_PLACE;
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
        if (!strcmp(name, exceptions[i].name)) return exceptions[i].why;
    return NULL;
}

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    size_t n = 0, cap = 1 << 16, got;
    char *text = malloc(cap + 1);
    while (text && (got = fread(text + n, 1, cap - n, f)) > 0)
        if ((n += got) == cap) text = realloc(text, (cap *= 2) + 1);
    fclose(f);
    if (text) text[n] = 0;
    return text;
}

static char *golden(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.gt", directory, name);
    return read_text(path);
}

/* Runs the cases of a file. It must expect as many as there are, so that none is lost. */
static int count_cases(const char *name) {
    char *text = golden(name), expected[64];
    if (!text) return 0;
    int n = 0;
    for (const char *at = text; (at = strstr(at, "\ncase(")); at++) n++;
    snprintf(expected, sizeof expected, "check.report()  # expect: %d cases\n", n);
    CHECK_MSG(strstr(text, expected), "%s.gt does not expect its %d cases", name, n);
    free(text);
    return n;
}

/* True if a case of the file calls the name. */
static bool calls(const char *file, const char *name) {
    char *text = golden(file), call[128];
    snprintf(call, sizeof call, "%s(", name);
    bool found = false;
    for (const char *at = text; at && !found && (at = strstr(at, call)); at++)
        found = at > text && !isalnum((unsigned char)at[-1]) && at[-1] != '_';
    free(text);
    return found;
}

static void check_name(const char *name) {
    int n = count_cases(name);
    if (excepted(name)) {
        CHECK_MSG(!n, "%s has golden values and is excepted from them", name);
        return;
    }
    CHECK_MSG(n >= LEAST_CASES,
              "%s: %d golden cases of PyTorch in %s/%s.gt, at least %d are needed (a table in "
              "tests/golden/spec_*.py, then tests/golden/functions.py)",
              name, n, directory, name, LEAST_CASES);
}

/* ---- builtins ---- */

static void test_builtins(void) {
    for (const Builtin *b = builtins_tensor; b->name; b++) {
        const Builtin *first = NULL; /* another name of the same function, with its own file */
        for (const Builtin *o = builtins_tensor; o->name && !first && !excepted(b->name); o++)
            if (o != b && o->fn == b->fn && count_cases(o->name) >= LEAST_CASES) first = o;
        if (!first || count_cases(b->name))
            check_name(b->name);
        else
            CHECK_MSG(calls(first->name, b->name), "%s is %s, but no case of %s.gt calls it",
                      b->name, first->name, first->name);
    }
}

/* ---- prelude: fn NAME( at the start of a line, in files visible everywhere or in linalg ---- */

static void test_prelude(void) {
    int n = 0;
    for (const PreludeFile *f = prelude_files; f->name; f++) {
        bool is_linalg = !strncmp(f->name, "linalg/", 7);
        if (strchr(f->name, '/') && !is_linalg) continue;
        for (const char *at = f->text; at; at = strchr(at, '\n')) {
            if (*at == '\n') at++;
            if (strncmp(at, "fn ", 3) || at[3] == '_') continue;
            char name[128];
            snprintf(name, sizeof name, "%s%.*s", is_linalg ? "linalg." : "",
                     (int)strspn(at + 3, word), at + 3);
            check_name(name), n++;
        }
    }
    CHECK_MSG(n > 30, "%d functions of the prelude are too few to be all", n);
}

/* ---- every exception names an existing function ---- */

static void test_reasons(void) {
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++) {
        const char *name = exceptions[i].name;
        bool found = false;
        for (const Builtin *b = builtins_tensor; b->name && !found; b++)
            found = !strcmp(b->name, name);
        char line[128];
        snprintf(line, sizeof line, "\nfn %s(", name);
        for (const PreludeFile *f = prelude_files; f->name && !found; f++)
            found = strstr(f->text, line) != NULL;
        CHECK_MSG(found, "%s is excepted and does not exist", name);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) directory = argv[1];
    test_builtins();
    test_prelude();
    test_reasons();
    return check_report("functions");
}
