/* habit.c: code in other languages and its equivalent in gt. Dotted names are rows of habit.def.
 * SPDX-License-Identifier: MIT */
#include "lang/error/habit.h"
#include "lang/error/habit_call.h"
#include "runtime/base/near.h"
#include "runtime/base/words.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOP        "for idx in randperm(len(X)).split(64) { x = X[idx]; y = Y[idx]; … }"
#define RNN_PAD     "not here: pad the batch and mask the outputs: y.masked_fill(mask, 0)"
#define NO_DEVICE   "drop it: programs name no devices; gtsh -w N and --engine choose"
#define SNIFFED     "drop it: load finds the delimiter and a header by itself"
#define SEVERAL     "[choice(xs) for i in range(2)]; without repetition: shuffle(xs)[:2]"
#define ABSENT      "nothing here has this name; at the prompt, ? and a word search: ?softmax"
#define DISTRIBUTED "signal a { … } and --config distribute a program"
#define PLOT        "plot(y), plot(x, y, \"a.png\"), hist(x), image(x)"

typedef struct HabitRow {
    const char *const *patterns, *hint; /* NULL behind the last pattern */
    bool is_code;
} HabitRow;
static const HabitRow rows[] = {
#define ANY(...)              __VA_ARGS__
#define CODE(patterns, hint)  {(const char *const[]){patterns, NULL}, hint, true},
#define WORDS(patterns, hint) {(const char *const[]){patterns, NULL}, hint, false},
#include "lang/error/habit.def"
#undef ANY
#undef CODE
#undef WORDS
};
static const HabitRow *const rows_end = rows + sizeof rows / sizeof *rows;

/* Fields and methods, of any value or, behind its name and a dot, of one kind. */
static const char *const members[][2] = {
    {"device cuda is_cuda pin_memory tensor.get_device tensor.is_cpu tensor.is_pinned", NO_DEVICE},
    {"grad_fn", "debug.print_tape()"},
    {"retain_grad register_hook", "grad(y, x) gives the gradient of any tensor"},
    {"new_tensor", "tensor([1, 2], dtype=x.dtype)"},
    {"new_full", "full((2, 3), 1, dtype=x.dtype)"},
    {"is_contiguous stride tensor.strides tensor.storage tensor.data_ptr tensor.untyped_storage "
     "tensor.storage_offset",
     "drop it: programs do not see the memory layout"},
    {"register_buffer", "self.name = buffer(x)"},
    {"register_parameter", "self.name = param(x)"},
    {"add_module", "self.name = layer"},
    {"param_groups", "opt.lr = 0.01"},
    {"apply", "for name, p in m.named_parameters() { … }"},
    {"requires_grad_", "x = param(x)"},
    {"share_memory tensor.share_memory_", "drop it: workers share what they need"},
    {"list.astype", "tensor(xs).to(float32)"},
    {"__class__", "type(x), a text"},
    {"__name__", "drop it: type(x) is a text"},
    {"copy", "drop it: tensors are values and never change"},
    {"iteritems", "m.items()"},
    {"has_key", "\"k\" in m"},
    {"startsWith", "s.startswith(\"a\")"},
    {"nelement", "x.numel()"},
    {"ndimension", "x.ndim"},
    {"element_size tensor.itemsize", "4 bytes for float32 and int32; see x.dtype"},
    {"nbytes", "x.numel() times the size of x.dtype"},
    {"to_sparse", "not here: all tensors are dense; x.nonzero() lists the other elements"},
    {"to_dense", "drop it: all tensors are dense"},
    {"is_leaf", "isinstance(x, param)"},
    {"masked_fill_", "x = x.masked_fill(mask, v), or x[mask] = v"},
    {"index_put_", "x[i, j] = v; sums of equal places: x = x.index_add(axis, ids, v)"},
    {"fill_diagonal_", "x[range(n), range(n)] = v"},
    {"register_forward_hook",
     "return a second result from forward, or store it: self.last = x.detach()"},
    {"short", "there is no int16: x.int()"},
    {"length len", "len(x)"},
    {"str.encode", "bytes(s)"},
    {"tensor.decode", "text(x)"},
    {"contains includes", "x in xs"},
    {"push", "xs.append(x)"},
    {"values indices", "values: x.max(1); indices: x.argmax(1); both: values, indices = x.topk(k)"},
    {"Poisson.sample",
     "of rate r, k numbers: sum(cumsum(-log(rand(int(2 * r) + 40, k)), 0) < r, 0)"},
    {"tensor.partition", "x.sort().values"},
    {"tensor.argpartition", "x.argsort()"},
    {"tensor.compress", "x[mask]"},
    {"tensor.addr", "x + outer(a, b)"},
    {"tensor.fill", "x = full_like(x, v)"},
    {"tensor.flat", "x.flatten()"},
    {"tensor.real tensor.conj tensor.conjugate", "drop it: there are no complex numbers"},
    {"tensor.imag", "zeros_like(x): there are no complex numbers"},
    {"tensor.is_complex", "false: there are no complex numbers"},
    {"tensor.H", "x.T: there are no complex numbers"},
    {"tensor.mH", "x.mT: there are no complex numbers"},
    {"tensor.is_nonzero", "bool(x)"},
    {"tensor.is_same_size", "x.shape == y.shape"},
    {"tensor.narrow_copy", "x.narrow(axis, start, length)"},
    {"tensor.resize", "x = x.reshape(2, 3)"},
    {"tensor.resize_", "x = zeros(2, 3), or x = x.reshape(2, 3)"},
    {"tensor.sum_to_size", "x.sum(axis, keepdims=true)"},
    {"tensor.tobytes tensor.tofile tensor.dump", "save(x, \"x.npy\")"},
    {"tensor.is_sparse", "false: all tensors are dense"},
    {"tensor.exponential_", "x = -log1p(-rand_like(x)) / rate"},
    {"tensor.random_", "x = randint(a, b, x.shape)"},
    {"tensor.log_normal_", "x = exp(mean + std * randn_like(x))"},
    {"tensor.bernoulli_", "x = bernoulli(full(x.shape, p))"},
    {"tensor.apply_", "write f for the whole tensor: x = f(x)"},
    {"tensor.map_", "write f for both tensors: x = f(x, y)"},
    {"tensor.lu_solve", "solve(a, b)"},
    {"tensor.triangular_solve", "solve_triangular(a, x, upper=true)"},
    {"tensor.new", "x.new_zeros(2, 3), or tensor(xs, dtype=x.dtype)"},
    {"rsample", "not here: sample() has no gradient; log_prob(x) has one"},
    {"generate_square_subsequent_mask",
     "full([n, n], -inf).triu(1), or ones(n, n, dtype=bool).triu(1)"},
};

/* Fields of the named tuples that are lists here. */
static const char *const results[][2] = {
    {"sign logabsdet", "sign, logabsdet = slogdet(x)"},
    {"eigenvalues eigenvectors", "values, vectors = eigh(x)"},
    {"U S Vh", "u, s, vh = svd(x)"},
    {"Q R", "q, r = qr(x)"},
    {"hist bin_edges", "hist, edges = histogram(x)"},
};

/* What the values of a function's list are called. */
static const char *const unpacked[][2] = {
    {"lu", "factors, perm = lu(x): L and U share a matrix, x[perm] = L @ U"},
    {"slogdet", "sign, logabsdet = slogdet(x)"},
    {"eigh", "values, vectors = eigh(x)"},
    {"svd", "u, s, vh = svd(x)"},
    {"qr", "q, r = qr(x)"},
    {"histogram", "hist, edges = histogram(x)"},
    {"topk", "values, indices = topk(x, k)"},
    {"kthvalue", "values, indices = kthvalue(x, k)"},
    {"mode", "values, indices = mode(x)"},
    {"cummax", "values, indices = cummax(x, axis)"},
    {"cummin", "values, indices = cummin(x, axis)"},
    {"aminmax", "smallest, largest = aminmax(x)"},
    {"std_mean", "std, mean = std_mean(x)"},
    {"var_mean", "var, mean = var_mean(x)"},
};

/* Arguments, of any function or, behind its name and a dot, of one. */
static const char *const keywords[][2] = {
    {"device map_location non_blocking pin_memory", NO_DEVICE},
    {"inplace", "drop it: only parameters and buffers change in place; use the result"},
    {"generator", "drop it: seed(n) seeds all random numbers"},
    {"memory_format layout", "drop it: programs do not see the memory layout"},
    {"foreach fused capturable", "drop it: it only chooses how PyTorch computes"},
    {"flush", "drop it: a line appears as soon as its values are known"},
    {"use_reentrant", "drop it: there is one kind of checkpoint"},
    {"preserve_rng_state", "drop it: a checkpoint draws the same random numbers again"},
    {"only_inputs", "drop it: grad touches no .grad"},
    {"retain_graph", "drop it: grad leaves the graph as it is"},
    {"create_graph", "grad(y, xs, create_graph=true) gives gradients with a history"},
    {"allow_unused", "drop it: what y does not depend on has gradient 0"},
    {"verbose", "drop it, and print(opt.lr)"},
    {"load.delimiter load.sep load.header load.skiprows load.skip_header", SNIFFED},
    {"allow_pickle weights_only", "drop it: files hold values, never code"},
    {"choice.size choice.k choice.replace", SEVERAL},
    {"num_workers", "drop it: programs name no devices; gtsh -w N says how many workers there are"},
};

static const char *const imports[][2] = {
    {"torch numpy jax",
     "not needed: its functions are built in (randn, zeros, nn.Linear, optim.Adam, gt.x)"},
    {"os", "not needed: getenv(\"X\"), args, glob(pattern), exists(path), shell(cmd)"},
    {"sys", "not needed: args, exit(n), print(x, err=true)"},
    {"math", "not needed: sqrt(2), exp(1), pi, inf"},
    {"random", "not needed: random(), choice(xs), shuffle(xs), seed(n)"},
    {"time", "not needed: time(), sleep(s), time \"label\" { … }"},
    {"json", "not needed: load(\"x.json\"), save(x, \"x.json\")"},
    {"yaml", "not needed: load(\"x.yaml\"), save(x, \"x.yaml\")"},
    {"PIL imageio", "not needed: load(\"x.png\"), save(x, \"x.png\")"},
    {"safetensors", "not needed: load(\"x.safetensors\"), save(m, \"x.safetensors\")"},
    {"pickle", "not needed: save(obj, \"x.safetensors\"), load(path)"},
    {"copy", "not needed: copy(x)"},
    {"glob", "not needed: glob(pattern)"},
    {"tqdm", "not needed: for x in progress(xs) { … }"},
    {"pandas", "not needed: load(\"x.csv\")"},
    {"matplotlib", "not needed: " PLOT},
    {"argparse", "not needed: lr = arg(\"lr\", 0.1, \"learning rate\")"},
    {"torchvision", "not here: load(\"train-images-idx3-ubyte.gz\"), load(\"x.png\")"},
    {"typing", "not needed: names have no types"},
    {"dataclasses", "not needed: module Config(lr=0.1, steps=100) { }"},
    {"wandb tensorboard", "not needed: track(loss=loss)"},
    {"re", "not here: s.find, s.split, s.partition, s.replace, s.isalpha, s.startswith"},
    {"collections", "not needed: m[k] = m.get(k, 0) + 1; m.setdefault(k, []); xs.pop(0)"},
    {"functools", "not needed: fn(y) => f(x, y)"},
    {"itertools", "not needed: loops and comprehensions"},
    {"heapq", "not needed: heappush(h, x), heappop(h), heapify(h)"},
    {"string", "not needed: s.upper(), s.split()"},
    {"pathlib", "not needed: paths are strings: dir + \"/\" + name"},
    {"scipy", "not here: linalg, optim and the math functions are built in"},
    {"sklearn", "not here: the layers of nn, optim and linalg are built in"},
    {"seaborn sns", "not here: " PLOT},
    {"cv2", "not here: load(\"x.png\"), interpolate(x, size=[64, 64]), conv2d(x, w)"},
    {"gym gymnasium", "not here: write the environment as a module with reset and step"},
    {"transformers", "not here: load(\"model.safetensors\") reads weights; nn has the layers"},
    {"datasets", "not here: load(\"x.csv\"), load(\"x.json\"), load(\"x.npz\")"},
    {"torchinfo torchsummary", "not needed: summary(model, x)"},
    {"shutil", "not here: shell(f\"cp '{a}' '{b}'\")"},
    {"tempfile", "not here: shell(\"mktemp -d\").strip()"},
    {"warnings", "not needed: print(x, err=true)"},
    {"operator", "not needed: fn(a, b) => a + b, fn(x) => x[1]"},
    {"bisect", "not needed: searchsorted(tensor(xs), x)"},
    {"threading", "not needed: gtsh -w N computes with several workers"},
    {"requests urllib", "not here: shell(\"curl -sO https://…\")"},
    {"einops", "not here: x.reshape(…).permute(…), einsum(\"ij,jk->ik\", a, b)"},
};

/* ---- the text ---- */

/* The text from `at` to the end of its line. */
static const char *text_at(Span at, size_t *n) {
    at.len = UINT16_MAX;
    return span_text(at, n);
}

static size_t path_length(const char *s, size_t n) {
    size_t k = 0;
    while (k < n && (isalnum((unsigned char)s[k]) || s[k] == '_' || s[k] == '.')) k++;
    while (k && s[k - 1] == '.') k--;
    return k;
}

/* A hint for source text: an expression, or other words. */
typedef struct Hint {
    char text[500];
    bool is_code;
    size_t replaced; /* bytes of the source that the hint stands for */
} Hint;

/* A name among the arguments of a hint that cannot stand there, and what to say of it. */
typedef struct Absent {
    char name[104], hint[300];
} Absent;

/* The caller's names, and how many hints contain this one. */
typedef struct Known {
    HabitNames names;
    int depth;
    Absent *absent; /* the first one; NULL: none is wanted */
} Known;
enum { HINT_DEPTH = 4, ARGS_LONGEST = 100, CALL_LONGEST = 500 };

static bool find_hint(const char *s, size_t n, Known known, Hint *h);

/* Keeps the name that s begins with and its hint, unless there is one already. */
static void note_absent(const char *s, size_t n, const char *hint, Absent *absent) {
    size_t k = path_length(s, n);
    if (!absent || *absent->name || k >= sizeof absent->name) return;
    snprintf(absent->name, sizeof absent->name, "%.*s", (int)k, s);
    snprintf(absent->hint, sizeof absent->hint, "%.299s", hint);
}

/* Writes the most similar name of gt. False if there is none. */
static bool find_near(Known known, const char *name, char *near, size_t size) {
    bool found = known.names.near(known.names.ctx, name, near, size);
    if (!found && !strncmp(name, "linalg.", 7)) /* most of its functions are gt's own */
        found = known.names.near(known.names.ctx, name + 7, near, size);
    return found;
}

/* Keeps the name that s begins with if it is a misspelt one of a namespace of gt: nn.Linears. */
static void note_misspelt(const char *s, size_t n, Known known) {
    static const char *const spaces[] = {"nn.", "optim.", "F.", "distributions.", "linalg."};
    char path[104], near[128], hint[160];
    size_t k = path_length(s, n);
    bool found = false;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        found |= k > strlen(spaces[i]) && !memcmp(s, spaces[i], strlen(spaces[i]));
    if (!found || k >= sizeof path) return;
    snprintf(path, sizeof path, "%.*s", (int)k, s);
    if (!find_near(known, path, near, sizeof near) || !strcmp(path, near)) return;
    snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    note_absent(s, n, hint, known.absent);
}

/* Writes the gt code for a name of torch or np that s begins with, in parentheses where an operator
 * beside it could take it apart. Returns the length of the source that it stands for; 0: s begins
 * with no such name, or gt has no such code. before: as in stands_alone. */
static size_t put_path(const char *s, size_t n, char before, Known known, char *out, size_t size) {
    static const char *const begins[] = {"torch.", "np.", "numpy.", "jnp.", "math."};
    bool found = false;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        found |= n > strlen(begins[i]) && !memcmp(s, begins[i], strlen(begins[i]));
    Hint h;
    if (!found) note_misspelt(s, n, known);
    if (!found || known.depth == HINT_DEPTH) return 0;
    known.depth++;
    bool has_hint = find_hint(s, n, known, &h);
    if (!has_hint || !h.is_code) note_absent(s, n, has_hint ? h.text : ABSENT, known.absent);
    if (!has_hint || !h.is_code || strlen(h.text) + 3 > size || strstr(h.text, "…")) return 0;
    bool is_safe = piece_is_operand((Piece){h.text, strlen(h.text)});
    char behind[16];
    snprintf(behind, sizeof behind, "%.*s", (int)(n - h.replaced), s + h.replaced);
    snprintf(out, size, is_safe || stands_alone(before, behind) ? "%s" : "(%s)", h.text);
    return h.replaced;
}

/* Copies an argument list from ( to its ), in gt's names and without device=. Writes "(…)" if it is
 * long or continues on the next line. */
static void put_args(const char *s, size_t n, Known known, char *out, size_t size) {
    size_t depth = 0, k = 0, w = 0;
    char before = 0; /* the last character of the source that is no blank */
    if (!n || *s != '(') {
        snprintf(out, size, "(…)");
        return;
    }
    for (; k < n && w <= ARGS_LONGEST; k++) {
        bool starts = !k || !(isalnum((unsigned char)s[k - 1]) || strchr("_.", s[k - 1]));
        size_t skip = starts ? put_path(s + k, n - k, before, known, out + w, size - w) : 0;
        if (skip) {
            w += strlen(out + w);
            k += skip - 1;
            before = s[k];
            continue;
        }
        if (s[k] != ' ') before = s[k];
        if (starts && n - k > 7 && !memcmp(s + k, "device=", 7)) { /* removed with its comma */
            while (w && (out[w - 1] == ' ' || out[w - 1] == ',')) w--;
            while (k < n && s[k] != ',' && s[k] != ')') k++;
            if (k >= n) break;
        }
        depth += s[k] == '(';
        if (w + 2 < size) out[w++] = s[k];
        if (s[k] == ')' && --depth == 0) break;
    }
    out[w] = 0;
    if (k >= n || w > ARGS_LONGEST) snprintf(out, size, "(…)");
}

/* Puts the argument list, or nothing for a name that is not called, in place of the hint's %. */
static void put_hint(const char *hint, const char *args, bool is_call, Hint *h) {
    const char *percent = strchr(hint, '%');
    if (percent)
        snprintf(h->text, sizeof h->text, "%.*s%s%s", (int)(percent - hint), hint,
                 is_call ? args : "", percent + 1);
    else
        snprintf(h->text, sizeof h->text, "%s", hint);
}

/* True for a row that ends in * and whose other part begins the path. */
static bool has_prefix(const char *row, const char *path) {
    size_t n = strlen(row) - 1;
    return row[n] == '*' && !strncmp(row, path, n) &&
           (!path[n] || path[n] == '.' || memchr(row, '.', n));
}

/* The length of the first of the alternatives "[0]|.values" that the source goes on with, or -1.
 * No alternatives: 0. */
static int suffix_length(const char *suffix, const char *s, size_t n) {
    if (!*suffix) return 0;
    for (const char *end = suffix; *suffix; suffix = end + (*end == '|')) {
        end = suffix + strcspn(suffix, "|");
        size_t len = (size_t)(end - suffix);
        bool is_more = n > len && (isalnum((unsigned char)s[len]) || s[len] == '_');
        if (n >= len && !memcmp(s, suffix, len) && !is_more) return (int)len;
    }
    return -1;
}

/* A dotted name in the source, with its argument list in gt's names. */
typedef struct Path {
    char name[128], args[300];
    bool is_call;
    const char *rest; /* the source behind it, to the end of the line */
    size_t n_rest;
} Path;

/* Sets *h from a pattern of this name, if it fits the call. */
static bool row_fits(const HabitRow *row, const char *pattern, const Path *p, Hint *h) {
    const char *params = strchr(pattern, '(');
    h->is_code = row->is_code;
    if (!params) {
        put_hint(row->hint, p->args, p->is_call, h);
        return true;
    }
    Bound b;
    int more = suffix_length(params + brackets_length(params, strlen(params)), p->rest, p->n_rest);
    if (!p->is_call || more < 0 || strstr(p->args, "…")) return false;
    if (!call_bind(params, p->args, &b) || (b.n_rest && !strchr(row->hint, '%'))) return false;
    call_expand(row->hint, &b, h->text, sizeof h->text);
    h->replaced += (size_t)more;
    return true;
}

/* Looks the name up in habit.def, without the patterns that end in *. */
static bool find_exact(const Path *p, Hint *h) {
    const char *shown = NULL, *params = "";
    size_t n = strlen(p->name);
    for (const HabitRow *row = rows; row < rows_end; row++)
        for (const char *const *at = row->patterns; *at; at++) {
            if (strncmp(*at, p->name, n) || ((*at)[n] && (*at)[n] != '(')) continue;
            if (row_fits(row, *at, p, h)) return true;
            if (!shown) shown = row->hint, params = *at + n;
        }
    if (!shown) return false;
    Bound b;
    call_bind_names(params, &b);
    call_expand(shown, &b, h->text, sizeof h->text);
    h->is_code = false;
    return true;
}

/* Looks the name up in habit.def: the order is in its legend. */
static bool find_row(const Path *p, Hint *h) {
    if (find_exact(p, h)) return true;
    for (const HabitRow *row = rows; row < rows_end; row++)
        for (const char *const *at = row->patterns; *at; at++)
            if (has_prefix(*at, p->name)) return row_fits(row, *at, p, h);
    return false;
}

/* The hint for os.environ["GT_CONFIG"] = "c.yaml" and the like. */
static bool hint_environ(const char *s, size_t n, LangError *e) {
    char key[64] = "X", value[128] = "";
    const char *open = memchr(s, '[', n);
    if (open) sscanf(open, "[%*[\"']%63[^\"']", key);
    const char *eq = memchr(s, '=', n);
    if (eq) sscanf(eq, "= %*[\"']%127[^\"']", value);
    if (!strcmp(key, "GT_CONFIG"))
        return error_hint(e, "signal.load(\"%s\"), or: gtsh --config %s x.gt",
                          *value ? value : "c.yaml", *value ? value : "c.yaml"),
               true;
    if (*value) return error_hint(e, "in the shell: %s=%s gtsh x.gt", key, value), true;
    return error_hint(e, "getenv(\"%s\")", key), true;
}

/* Suggests the end of a path of torch or np that exists in gt, too: nn.Linear, relu. */
static bool hint_builtin(const Path *p, Known known, Hint *h) {
    const char *path = p->name, *last = strrchr(path, '.');
    if (!last) return false;
    const char *start = ++last;
    const char *absent = isupper((unsigned char)*last) ? habit_hint(last, strlen(last)) : NULL;
    h->is_code = !absent;
    if (absent) return put_hint(absent, "", false, h), true;
    char near[128];
    if (isupper((unsigned char)*last))
        start = strstr(path, "nn.") ? strstr(path, "nn.") : strstr(path, "optim.");
    else if (strstr(path, "nn.init."))
        start = strstr(path, "nn.init.");
    if (!start) return false;
    if (start != last &&
        (!known.names.near(known.names.ctx, start, near, sizeof near) || strcmp(near, start)))
        return false;
    if (start == last && !known.names.is_known(known.names.ctx, last)) {
        char stem[128];
        size_t n = strlen(last) - 1;
        snprintf(stem, sizeof stem, "%.*s", (int)n, last);
        if (n && last[n] == '_' &&
            known.names.is_known(known.names.ctx, stem)) { /* torch.relu_(x) */
            snprintf(h->text, sizeof h->text, "%s%s", stem, p->is_call ? p->args : "");
            return true;
        }
        const char *habit = habit_hint(last, strlen(last));
        h->is_code = false;
        if (habit) put_hint(habit, "", false, h);
        return habit != NULL;
    }
    snprintf(h->text, sizeof h->text, "%s%s", start, p->is_call ? p->args : "");
    return true;
}

/* Gives the hint of the row whose name is most similar and has the same module:
 * "torch.manual_seed: seed(0)" for torch.manual_sed(0). */
static bool hint_near_row(const Path *p, Hint *h) {
    enum { MOST = 1000, LONGEST = 40 }; /* more than there are patterns */
    static char names[MOST][LONGEST];
    const char *list[MOST];
    size_t n = 0, n_root = (size_t)(strrchr(p->name, '.') + 1 - p->name);
    for (const HabitRow *row = rows; row < rows_end; row++)
        for (const char *const *at = row->patterns; *at && n < MOST; at++) {
            if (strncmp(*at, p->name, n_root)) continue;
            const char *name = *at + n_root;
            size_t k = strcspn(name, "(");
            if (k >= LONGEST || strcspn(name, ".*") < k) continue;
            snprintf(names[n], LONGEST, "%.*s", (int)k, name);
            list[n] = names[n];
            n++;
        }
    const char *near = nearest_name(p->name + n_root, strlen(p->name + n_root), list, n);
    Path other = *p;
    Hint found = {0};
    if (!near) return false;
    snprintf(other.name + n_root, sizeof other.name - n_root, "%s", near);
    if (!find_exact(&other, &found)) return false;
    snprintf(h->text, sizeof h->text, "%.100s: %.390s", other.name, found.text);
    h->is_code = false;
    return true;
}

/* Suggests the name of gt that is most similar: optim.Adagrad for torch.optim.Adagrads. */
static bool hint_near(const Path *p, Known known, Hint *h) {
    static const char *const spaces[] = {".nn.", ".optim.", ".distributions.", ".linalg."};
    const char *name = strrchr(p->name, '.') + 1;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strstr(p->name, spaces[i])) name = strstr(p->name, spaces[i]) + 1;
    if (!strncmp(p->name, "F.", 2)) name = p->name;
    char near[128];
    if (!find_near(known, name, near, sizeof near)) return hint_near_row(p, h);
    h->is_code = !strcmp(near, name);
    if (h->is_code)
        snprintf(h->text, sizeof h->text, "%s%s", near, p->is_call ? p->args : "");
    else
        snprintf(h->text, sizeof h->text, "did you mean '%s'?", near);
    return true;
}

/* Writes a dotted name as habit.def spells it: np. for numpy. */
static void put_spelling(const char *s, size_t n, char *out, size_t size) {
    static const char *const spelling[][2] = {
        {"numpy.", "np."},
        {"jnp.", "np."},
        {"jax.numpy.", "np."},
        {"rng.", "np.random."},
        {"torch.special.", "special."},
        {"scipy.special.", "special."},
        {"torch.nn.functional.", "functional."},
        {"nn.functional.", "functional."},
    };
    const char *begin = "";
    size_t skip = 0;
    for (size_t i = 0; i < sizeof spelling / sizeof *spelling && !skip; i++)
        if (n > strlen(spelling[i][0]) && !memcmp(s, spelling[i][0], strlen(spelling[i][0]))) {
            begin = spelling[i][1];
            skip = strlen(spelling[i][0]);
        }
    snprintf(out, size, "%s%.*s", begin, (int)(n - skip), s + skip);
}

/* Finds the row of a name without a module: of itself, as a function of NumPy or PyTorch or, in a
 * call, of a module of Python. */
static bool find_bare(Path *p, const char *name, Hint *h) {
    static const char *const begins[] = {"",        "np.",         "torch.",     "special.",
                                         "random.", "statistics.", "itertools.", "functools.",
                                         "math.",   "os.",         "os.path.",   "time."};
    bool found = false;
    for (size_t i = 0; i < sizeof begins / sizeof *begins && (i < 3 || p->is_call) && !found; i++) {
        snprintf(p->name, sizeof p->name, "%s%s", begins[i], name);
        found = i ? find_exact(p, h) : find_row(p, h);
    }
    return found;
}

static bool find_hint(const char *s, size_t n, Known known, Hint *h) {
    size_t k = path_length(s, n);
    Path p = {.is_call = k < n && s[k] == '('};
    if (!k || k > 100 || !memchr(s, '.', k)) return false;
    put_spelling(s, k, p.name, sizeof p.name);
    put_args(s + k, n - k, known, p.args, sizeof p.args);
    h->replaced =
        k + (p.is_call ? brackets_length(s + k, n - k < CALL_LONGEST ? n - k : CALL_LONGEST) : 0);
    p.rest = s + h->replaced;
    p.n_rest = n - h->replaced;
    if (find_row(&p, h)) return true;
    char name[128], path[128];
    snprintf(name, sizeof name, "%s", strrchr(p.name, '.') + 1);
    memcpy(path, p.name, sizeof path);
    static const char *const roots[] = {"torch.", "np.",      "math.",       "scipy.linalg.",
                                        "F.",     "special.", "functional.", "tf."};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (!strncmp(p.name, roots[i], strlen(roots[i])))
            return hint_builtin(&p, known, h) || find_bare(&p, name, h) ||
                   (snprintf(p.name, sizeof p.name, "%s", path), hint_near(&p, known, h)) ||
                   (i < 2 && (put_hint(ABSENT, "", false, h), h->is_code = false, true));
    return false;
}

/* Sets e's hint. A name that cannot stand in the hint has its own hint instead. Returns true. */
static bool put_error(const Hint *h, const Absent *absent, LangError *e) {
    if (!*absent->name || !strstr(h->text, absent->name)) return error_hint(e, "%s", h->text), true;
    return error_hint(e, "%s: %s", absent->name, absent->hint), true;
}

bool habit_path(Span at, HabitNames names, LangError *e) {
    size_t n;
    const char *s = text_at(at, &n);
    if (!s) return false;
    if (n > 10 && !memcmp(s, "os.environ", 10)) return hint_environ(s, n, e);
    Hint h;
    Absent absent = {0};
    if (!find_hint(s, n, (Known){names, 0, &absent}, &h)) return false;
    return put_error(&h, &absent, e);
}

/* The call of a name without a module at `at`. self: as in habit_name. */
static Path bare_path(const char *name, const char *self, Span at, HabitNames names,
                      Absent *absent) {
    size_t n = 0, k = strlen(name);
    const char *s = text_at(at, &n);
    Path p = {.is_call = s && n > k && !memcmp(s, name, k) && s[k] == '(', .rest = ""};
    size_t n_args = p.is_call ? brackets_length(s + k, n - k) : 0;
    put_args(p.is_call ? s + k : "", p.is_call ? n - k : 0, (Known){names, 0, absent}, p.args,
             sizeof p.args);
    if (p.is_call) p.rest = s + k + n_args, p.n_rest = n - k - n_args;
    if (self && p.is_call && !strstr(p.args, "…")) {
        char args[640];
        bool is_empty = p.args[1 + strspn(p.args + 1, " ")] == ')';
        snprintf(args, sizeof args, "(%s%s%s", self, is_empty ? "" : ", ", p.args + 1);
        if (strlen(args) < sizeof p.args) memcpy(p.args, args, strlen(args) + 1);
    }
    return p;
}

bool habit_name(const char *name, const char *self, Span at, HabitNames names, LangError *e) {
    if (strlen(name) < 2 || strlen(name) > 60) return false;
    Absent absent = {0};
    Path p = bare_path(name, self, at, names, &absent);
    Hint h = {0};
    return find_bare(&p, name, &h) && put_error(&h, &absent, e);
}

bool habit_argument(const char *function, const char *keyword, const char *self, Span at,
                    HabitNames names, LangError *e) {
    static const char *const begins[] = {"np.", "np.random.", "torch."};
    char key[64], start[128];
    Absent absent = {0};
    Path p = bare_path(function, self, at, names, &absent);
    snprintf(key, sizeof key, "%.60s=", keyword);
    for (size_t i = 0; i < sizeof begins / sizeof *begins && p.is_call; i++) {
        size_t n = (size_t)snprintf(start, sizeof start, "%s%.60s(", begins[i], function);
        for (const HabitRow *row = rows; row < rows_end; row++)
            for (const char *const *as = row->patterns; *as; as++) {
                Hint h = {0};
                if (!strncmp(*as, start, n) && row_fits(row, *as, &p, &h) && !strstr(h.text, key))
                    return put_error(&h, &absent, e);
            }
    }
    return false;
}

bool habit_of_space(const char *space, const char *name, LangError *e) {
    Path p = {.args = "(…)", .rest = ""};
    Hint h = {0};
    if (!strncmp(name, "Lazy", 4))
        return error_hint(e, "%s.%s: no layer is lazy, and its input size is an argument", space,
                          name + 4),
               true;
    snprintf(p.name, sizeof p.name, "%.60s.%.60s", space, name);
    if (!find_row(&p, &h) && (strlen(name) < 2 || !find_bare(&p, name, &h))) return false;
    return error_hint(e, "%s", h.text), true;
}

bool habit_is_result(const char *name) {
    return words_row(results, sizeof results / sizeof *results, name, strlen(name)) != NULL;
}

bool habit_unpacked(const char *function, LangError *e) {
    const char *hint =
        words_row(unpacked, sizeof unpacked / sizeof *unpacked, function, strlen(function));
    return hint && (error_hint(e, "%s", hint), true);
}

/* The row of a name, or of that name behind its owner's and a dot. */
static const char *own_row(const char *const (*table)[2], size_t n_rows, const char *owner,
                           const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s.%s", owner, name);
    for (size_t i = 0; i < n_rows; i++)
        if (words_have(table[i][0], name, strlen(name)) ||
            words_have(table[i][0], path, strlen(path)))
            return table[i][1];
    return NULL;
}

bool habit_member(const char *kind, const char *name, LangError *e) {
    if (!strcmp(name, "copy") && strcmp(kind, "tensor")) return false;
    const char *hint = NULL;
    if (!strcmp(kind, "list"))
        hint = words_row(results, sizeof results / sizeof *results, name, strlen(name));
    if (!hint) hint = own_row(members, sizeof members / sizeof *members, kind, name);
    return hint && (error_hint(e, "%s", hint), true);
}

const char *habit_keyword(const char *function, const char *name) {
    return own_row(keywords, sizeof keywords / sizeof *keywords, function, name);
}

const char *habit_import(const char *name) {
    return words_row(imports, sizeof imports / sizeof *imports, name, strlen(name));
}

/* ---- import lines ---- */

/* Sets *out to gt's path of a name imported from module, or to "" if gt has no such name. */
static void put_name(Piece module, Piece name, Arena *arena, const char **out) {
    static const char none[] =
        "Module Tensor SignalConfig ShardConfig DataLoader Dataset functional";
    static const char *const spaces[] = {
        "nn",       "optim",        "distributions",      "nn.init",
        "nn.utils", "nn.utils.rnn", "optim.lr_scheduler", "optim.swa_utils"};
    static const char optimisers[] = "SGD Adam AdamW RMSprop Adagrad Adamax NAdam RAdam";
    char plain[64];
    snprintf(plain, sizeof plain, "%.*s", (int)name.n, name.s);
    const char *habit = habit_hint(plain, strlen(plain));
    bool is_class = isupper((unsigned char)*plain) && name.n > 1;
    *out = "";
    if (words_have(none, plain, strlen(plain))) return;
    if (habit && path_length(habit, strlen(habit)) == strlen(habit)) *out = habit; /* int32 */
    if (habit) return;
    if (words_have(optimisers, plain, strlen(plain))) {
        *out = arena_printf(arena, "optim.%s", plain);
        return;
    }
    if (module.n > 6 && !memcmp(module.s, "torch.", 6)) module.s += 6, module.n -= 6;
    for (size_t i = sizeof spaces / sizeof *spaces; i-- > 0;) { /* optim for torch.optim.adam */
        size_t n = strlen(spaces[i]);
        bool is_within = module.n >= n && !memcmp(spaces[i], module.s, n) &&
                         (module.n == n || module.s[n] == '.');
        if (!is_within || (i == 0 && !is_class)) continue;
        *out = arena_printf(arena, "%s.%s", spaces[i], plain);
        return;
    }
    *out = is_class ? arena_printf(arena, "nn.%s", plain) : arena_printf(arena, "%s", plain);
}

static bool begins(const char *s, const char *word) {
    size_t n = strlen(word);
    return !strncmp(s, word, n) && !isalnum((unsigned char)s[n]) && s[n] != '_';
}

/* The path of the module a.b.NAME from the folder of `file`: a/b/NAME.gt, or NULL if there is none.
 * No name: n_name 0. */
static const char *module_path(const char *module, size_t n, const char *name, size_t n_name,
                               const char *file, Arena *arena) {
    const char *slash = strrchr(file, '/');
    if (n && *module == '.') return NULL;
    char *path = arena_printf(arena, "%.*s%s%.*s.gt", (int)n, module, n && n_name ? "/" : "",
                              (int)n_name, name);
    for (size_t i = 0; i < n; i++)
        if (path[i] == '.') path[i] = '/';
    const char *full =
        arena_printf(arena, "%.*s%s", slash ? (int)(slash - file + 1) : 0, file, path);
    return access(full, R_OK) ? NULL : path;
}

/* The hint for import a.b of the user's own file a/b.gt, or NULL. */
static const char *dotted_hint(const char *module, size_t n, const char *file, Arena *arena) {
    size_t last = n;
    while (last && module[last - 1] != '.') last--;
    const char *path = last && n <= 100 ? module_path(module, n, "", 0, file, arena) : NULL;
    if (!path) return NULL;
    return arena_printf(arena, "import \"%s\" as %.*s", path, (int)(n - last), module + last);
}

/* The hint for from lib import f, g of the user's own modules. */
static const char *from_hint(const char *module, size_t n, const char *file, Arena *arena) {
    if (n && *module == '.') module++, n--; /* from .lib */
    const char *list = strstr(module, " import ");
    list = list ? list + 8 + strspn(list + 8, " (") : "";
    size_t len = path_length(list, strcspn(list, " ,;\n"));
    bool is_short = len && n <= 40 && len <= 40 && !memchr(list, '.', len);
    bool is_here = !n && *module == '.' && (module[1] == ' ' || module[1] == '\t');
    const char *path = NULL, *whole = dotted_hint(module, n, file, arena);
    if (is_short && (n || is_here) && !module_path(module, n, "", 0, file, arena))
        path = module_path(module, n, list, len, file, arena);
    if (path && is_here) return arena_printf(arena, "import %.*s", (int)len, list);
    if (path) return arena_printf(arena, "import \"%s\" as %.*s", path, (int)len, list);
    if (whole && is_short) {
        const char *last = strrchr(whole, ' ') + 1;
        return arena_printf(arena, "%s; %.*s = %s.%.*s", whole, (int)len, list, last, (int)len,
                            list);
    }
    if (!n || !is_short || memchr(module, '.', n)) return "import \"file.gt\" as name, then name.f";
    return arena_printf(arena, "import %.*s; %.*s = %.*s.%.*s", (int)n, module, (int)len, list,
                        (int)n, module, (int)len, list);
}

const char *habit_import_line(const char *s, const char *file, Arena *arena) {
    bool is_from = begins(s, "from");
    s += strcspn(s, " \t\n");
    s += strspn(s, " \t");
    const char *module = s;
    size_t n = path_length(s, strcspn(s, "\n"));
    char root[32];
    snprintf(root, sizeof root, "%.*s", (int)strcspn(module, ". ,\t\n"), module);
    bool is_ours =
        begins(root, "torch") || begins(root, "gt") || begins(root, "numpy") || begins(root, "jax");
    if (!is_ours && habit_import(root)) return habit_import(root);
    if (!is_ours && is_from) return from_hint(module, n, file, arena);
    if (!is_ours && strchr(s, ',')) return "one file per line: import a";
    if (!is_ours) return dotted_hint(module, n, file, arena);
    if (!is_from) return "drop this line: nn.Linear, optim.Adam, F.relu are built in";
    if (n >= 16 && !memcmp(module, "torch.utils.data", 16)) return "drop this line; " LOOP;
    const char *list = strstr(module, " import ");
    const char *habit = NULL; /* of the first name that has one */
    Bytes names = {0};
    if (list) {
        for (s = list + 8; *s && *s != '\n' && *s != '#';) {
            s += strspn(s, " \t(),");
            size_t len = path_length(s, strcspn(s, "\n"));
            if (!len) break;
            const char *name, *plain = arena_printf(arena, "%.*s", (int)len, s);
            if (!habit) habit = habit_hint(plain, len);
            put_name((Piece){module, n}, (Piece){s, len}, arena, &name);
            if (*name && names.n < 80) bytes_printf(&names, "%s%s", names.n ? ", " : "", name);
            s += len;
        }
    }
    const char *hint = names.n ? arena_printf(arena, "drop this line, and write %s", names.data)
                       : habit ? arena_printf(arena, "drop this line; %s", habit)
                               : "drop this line: its names are built in";
    bytes_fini(&names);
    return hint;
}
