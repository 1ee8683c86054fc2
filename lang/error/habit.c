/* habit.c: tables of code in other languages and its equivalent in gt. In the right column % stands
 * for the argument list in the program, with its parentheses.
 * SPDX-License-Identifier: MIT */
#include "lang/error/habit.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LOOP      "for idx in randperm(len(X)).split(64) { x = X[idx]; y = Y[idx]; … }"
#define RNN_PAD   "not here: pad the batch and mask the outputs: y.masked_fill(mask, 0)"
#define NO_DEVICE "drop it: programs name no devices; gtsh -w N and --engine choose"
#define SNIFFED   "drop it: load finds the delimiter and a header by itself"
#define PLOT      "track(loss=loss) records curves; save(xs, \"x.csv\") for other tools"

/* A path that ends in * matches any path with that prefix. The first match counts. */
static const char *const paths[][2] = {
    {"torch.manual_seed", "seed%"},
    {"torch.random.manual_seed", "seed%"},
    {"torch.cuda.manual_seed*", "seed%"},
    {"torch.no_grad", "no_grad { … }"},
    {"torch.inference_mode", "no_grad { … }"},
    {"torch.set_grad_enabled", "no_grad if not train { … }"},
    {"torch.enable_grad", "gradients are recorded outside no_grad { … }"},
    {"torch.save", "save(model, \"model.safetensors\")"},
    {"torch.load", "load(\"model.safetensors\")"},
    {"torch.device", NO_DEVICE},
    {"torch.cuda*", NO_DEVICE},
    {"torch.backends*", NO_DEVICE},
    {"torch.amp*", "m.to(bfloat16), x.bfloat16()"},
    {"torch.compile", "drop it: kernels are compiled where it pays off"},
    {"torch.jit*", "drop it: kernels are compiled where it pays off"},
    {"torch.use_deterministic_algorithms", "drop it: results are always deterministic"},
    {"torch.set_num_threads", "gtsh --threads N"},
    {"torch.utils.data*", LOOP},
    {"torch.utils.checkpoint*", "checkpoint(f, x)"},
    {"torch.autograd.grad", "grad%"},
    {"torch.autograd.set_detect_anomaly", "debug.check_nan(), or gtsh --check-nan"},
    {"torch.autograd.gradcheck", "gradcheck%"},
    {"torch.nn.utils.clip_grad_norm_", "clip_grad_norm%"},
    {"torch.nn.Parameter", "param%"},
    {"torch.nn.Module", "module M() { fn forward(x) => x }"},
    {"torch.Tensor", "tensor%"},
    {"torch.FloatTensor", "tensor%"},
    {"torch.LongTensor", "int64: tensor(xs, dtype=int64), x.long()"},
    {"torch.concat", "cat%"},
    {"torch.clamp_min", "clamp(x, min=a)"},
    {"torch.set_printoptions", "set_print(precision=4)"},
    {"torch.distributed*", "signal a { … } and --config distribute a program"},
    {"nn.utils.clip_grad_norm_", "clip_grad_norm%"},
    {"nn.Parameter", "param%"},
    {"nn.ModuleList", "a list: [nn.Linear(2, 2) for i in range(3)]"},
    {"nn.ModuleDict", "a map: {a: nn.Linear(2, 2)}"},
    {"nn.ParameterList", "a list: [param(zeros(2)) for i in range(3)]"},
    {"nn.Module", "module M() { fn forward(x) => x }"},
    {"nn.DataParallel", "signal a { … } and --config distribute a program"},
    {"np.array", "tensor%"},
    {"np.asarray", "tensor%"},
    {"np.float*", "float32, float64"},
    {"np.random.seed", "seed%"},
    {"np.random.default_rng", "seed%"},
    {"np.random.permutation", "randperm%"},
    {"np.random.shuffle", "xs = shuffle%"},
    {"np.random.random", "rand%"},
    {"np.concatenate", "cat%"},
    {"np.vstack", "cat(xs, axis=0)"},
    {"np.hstack", "cat(xs, axis=1)"},
    {"np.load", "load%"},
    {"np.save", "save(x, \"x.npy\")"},
    {"np.savez", "save({a: x}, \"x.npz\")"},
    {"np.loadtxt", "load(\"x.csv\")"},
    {"np.genfromtxt", "load(\"x.csv\")"},
    {"np.savetxt", "save(x, \"x.csv\")"},
    {"np.newaxis", "none: x[:, none]"},
    {"np.expand_dims", "unsqueeze%"},
    {"np.dot", "a @ b"},
    {"np.power", "pow%"},
    {"np.absolute", "abs%"},
    {"np.clip", "clamp%"},
    {"np.set_printoptions", "set_print(precision=4)"},
    {"os.getenv", "getenv%"},
    {"os.path.exists", "exists%"},
    {"os.path.isfile", "exists%"},
    {"os.path.join", "dir + \"/\" + name"},
    {"os.makedirs", "drop it: save and write make directories"},
    {"os.mkdir", "drop it: save and write make directories"},
    {"os.listdir", "glob(\"dir/*\")"},
    {"os.system", "shell%"},
    {"os*", "getenv(\"X\"), args, glob(pattern), shell(cmd)"},
    {"sys.argv*", "args, or lr = arg(\"lr\", 0.1)"},
    {"sys.exit", "exit%"},
    {"sys.stdout*", "print(x, end=\"\")"},
    {"sys.stderr*", "print(x, err=true)"},
    {"sys.path*", "GT_PATH=dir gtsh x.gt"},
    {"sys*", "args, exit(n), print(x, err=true)"},
    {"json.load*", "load(\"x.json\")"},
    {"json.dump*", "save(x, \"x.json\")"},
    {"pickle.load*", "load(\"x.safetensors\")"},
    {"pickle.dump*", "save(obj, \"x.safetensors\")"},
    {"yaml.dump*", "save(x, \"x.yaml\")"},
    {"yaml*", "load(\"x.yaml\"); signal.load(\"c.yaml\") for signals"},
    {"Image.open", "load(\"x.png\")"},
    {"plt.imread", "load(\"x.png\")"},
    {"plt.imsave", "save((x * 255).clamp(0, 255).to(uint8), \"x.png\")"},
    {"np.savez_compressed", "save({a: x}, \"x.npz\")"},
    {"plt*", PLOT},
    {"matplotlib*", PLOT},
    {"wandb*", "track(loss=loss)"},
    {"pd*", "load(\"x.csv\")"},
    {"argparse*", "lr = arg(\"lr\", 0.1, \"learning rate\")"},
    {"parser*", "lr = arg(\"lr\", 0.1, \"learning rate\")"},
    {"subprocess*", "shell(cmd)"},
    {"logging*", "print(x, err=true)"},
    {"datetime*", "date()"},
    {"time.sleep", "sleep%"},
    {"time*", "time()"},
    {"random.seed", "seed%"},
    {"random.choice", "choice%"},
    {"random.shuffle", "xs = shuffle%"},
    {"random.randint", "choice(range(a, b + 1))"},
    {"random.uniform", "lo + (hi - lo) * random()"},
    {"random.sample", "shuffle(xs)[:k]"},
    {"random*", "random()"},
    {"copy*", "copy%"},
    {"glob*", "glob%"},
    {"cuda*", NO_DEVICE},
    {"nn.utils.rnn.pack_padded_sequence", RNN_PAD},
    {"nn.utils.rnn.pad_packed_sequence", RNN_PAD},
    {"nn.Embedding.from_pretrained", "e = nn.Embedding(n, d); e.weight.copy_(w)"},
    {"utils.data*", LOOP},
    {"utils.checkpoint*", "checkpoint(f, x)"},
    {"amp*", "m.to(bfloat16), x.bfloat16()"},
    {"autograd.grad", "grad%"},
    {"autograd.functional.jacobian", "jacobian%"},
    {"autograd.functional.hessian", "hessian%"},
    {"autograd.gradcheck", "gradcheck%"},
};

/* Fields and methods, of any value. */
static const char *const members[][2] = {
    {"device", NO_DEVICE},
    {"cuda", NO_DEVICE},
    {"is_cuda", NO_DEVICE},
    {"pin_memory", NO_DEVICE},
    {"grad_fn", "debug.print_tape()"},
    {"retain_grad", "grad(y, x) gives the gradient of any tensor"},
    {"register_hook", "grad(y, x) gives the gradient of any tensor"},
    {"new_tensor", "tensor([1, 2], dtype=x.dtype)"},
    {"new_full", "full((2, 3), 1, dtype=x.dtype)"},
    {"is_contiguous", "drop it: programs do not see the memory layout"},
    {"stride", "drop it: programs do not see the memory layout"},
    {"register_buffer", "self.name = buffer(x)"},
    {"register_parameter", "self.name = param(x)"},
    {"add_module", "self.name = layer"},
    {"param_groups", "opt.lr = 0.01"},
    {"apply", "for name, p in m.named_parameters() { … }"},
    {"requires_grad_", "x = param(x)"},
    {"share_memory", "drop it: workers share what they need"},
    {"astype", "x.to(float32)"},
    {"copy", "drop it: tensors are values and never change"},
    {"iteritems", "m.items()"},
    {"has_key", "\"k\" in m"},
    {"startsWith", "s.startswith(\"a\")"},
    {"nelement", "x.numel()"},
    {"ndimension", "x.ndim"},
    {"element_size", "4 bytes for float32 and int32; see x.dtype"},
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
    {"length", "len(x)"},
    {"len", "len(x)"},
    {"encode", "bytes(s)"},
    {"decode", "text(x)"},
    {"contains", "x in xs"},
    {"includes", "x in xs"},
    {"push", "xs.append(x)"},
    {"values", "values: x.max(1); indices: x.argmax(1); both: values, indices = x.topk(k)"},
    {"indices", "values: x.max(1); indices: x.argmax(1); both: values, indices = x.topk(k)"},
    {"rsample", "not here: sample() has no gradient; log_prob(x) has one"},
    {"generate_square_subsequent_mask",
     "full([n, n], -inf).triu(1), or ones(n, n, dtype=bool).triu(1)"},
};

/* Fields of the named tuples that are lists here. */
static const char *const results[][2] = {
    {"sign", "sign, logabsdet = slogdet(x)"},
    {"logabsdet", "sign, logabsdet = slogdet(x)"},
    {"eigenvalues", "values, vectors = eigh(x)"},
    {"eigenvectors", "values, vectors = eigh(x)"},
    {"U", "u, s, vh = svd(x)"},
    {"S", "u, s, vh = svd(x)"},
    {"Vh", "u, s, vh = svd(x)"},
    {"Q", "q, r = qr(x)"},
    {"R", "q, r = qr(x)"},
    {"hist", "hist, edges = histogram(x)"},
    {"bin_edges", "hist, edges = histogram(x)"},
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
    {"device", NO_DEVICE},
    {"map_location", NO_DEVICE},
    {"non_blocking", NO_DEVICE},
    {"pin_memory", NO_DEVICE},
    {"inplace", "drop it: values never change; use the result"},
    {"generator", "drop it: seed(n) seeds all random numbers"},
    {"memory_format", "drop it: programs do not see the memory layout"},
    {"layout", "drop it: programs do not see the memory layout"},
    {"foreach", "drop it: it only chooses how PyTorch computes"},
    {"fused", "drop it: it only chooses how PyTorch computes"},
    {"capturable", "drop it: it only chooses how PyTorch computes"},
    {"flush", "drop it: a line appears as soon as its values are known"},
    {"use_reentrant", "drop it: there is one kind of checkpoint"},
    {"preserve_rng_state", "drop it: a checkpoint draws the same random numbers again"},
    {"only_inputs", "drop it: grad touches no .grad"},
    {"retain_graph", "drop it: grad leaves the graph as it is"},
    {"create_graph", "grad(y, xs, create_graph=true) gives gradients with a history"},
    {"allow_unused", "drop it: what y does not depend on has gradient 0"},
    {"verbose", "drop it, and print(opt.lr)"},
    {"load.delimiter", SNIFFED},
    {"load.sep", SNIFFED},
    {"load.header", SNIFFED},
    {"load.skiprows", SNIFFED},
    {"load.skip_header", SNIFFED},
    {"allow_pickle", "drop it: files hold values, never code"},
    {"weights_only", "drop it: files hold values, never code"},
    {"num_workers", "drop it: programs name no devices; gtsh -w N says how many workers there are"},
};

static const char *const imports[][2] = {
    {"torch", "not needed: its functions are built in (randn, zeros, nn.Linear, optim.Adam, gt.x)"},
    {"numpy", "not needed: its functions are built in (randn, zeros, nn.Linear, optim.Adam, gt.x)"},
    {"jax", "not needed: its functions are built in (randn, zeros, nn.Linear, optim.Adam, gt.x)"},
    {"os", "not needed: getenv(\"X\"), args, glob(pattern), exists(path), shell(cmd)"},
    {"sys", "not needed: args, exit(n), print(x, err=true)"},
    {"math", "not needed: sqrt(2), exp(1), pi, inf"},
    {"random", "not needed: random(), choice(xs), shuffle(xs), seed(n)"},
    {"time", "not needed: time(), sleep(s), time \"label\" { … }"},
    {"json", "not needed: load(\"x.json\"), save(x, \"x.json\")"},
    {"yaml", "not needed: load(\"x.yaml\"), save(x, \"x.yaml\")"},
    {"PIL", "not needed: load(\"x.png\"), save(x, \"x.png\")"},
    {"imageio", "not needed: load(\"x.png\"), save(x, \"x.png\")"},
    {"pickle", "not needed: save(obj, \"x.safetensors\"), load(path)"},
    {"copy", "not needed: copy(x)"},
    {"glob", "not needed: glob(pattern)"},
    {"tqdm", "not needed: for x in progress(xs) { … }"},
    {"pandas", "not needed: load(\"x.csv\")"},
    {"matplotlib", "not here: " PLOT},
    {"argparse", "not needed: lr = arg(\"lr\", 0.1, \"learning rate\")"},
    {"torchvision", "not here: load(\"train-images-idx3-ubyte.gz\"), load(\"x.png\")"},
    {"typing", "not needed: names have no types"},
    {"dataclasses", "not needed: module Config(lr=0.1, steps=100) { }"},
    {"wandb", "not needed: track(loss=loss)"},
    {"re", "not here: s.find, s.split, s.partition, s.replace, s.isalpha, s.startswith"},
    {"collections", "not needed: m[k] = m.get(k, 0) + 1; m.setdefault(k, []); xs.pop(0)"},
    {"functools", "not needed: fn(y) => f(x, y)"},
    {"itertools", "not needed: loops and comprehensions"},
    {"heapq", "not needed: heappush(h, x), heappop(h), heapify(h)"},
    {"string", "not needed: s.upper(), s.split()"},
    {"pathlib", "not needed: paths are strings: dir + \"/\" + name"},
    {"scipy", "not here: linalg, optim and the math functions are built in"},
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

/* Copies an argument list from ( to its ), without torch., np. and device=. Writes "(…)" if it is
 * long or continues on the next line. */
static void put_args(const char *s, size_t n, char *out, size_t size) {
    size_t depth = 0, k = 0, w = 0;
    if (!n || *s != '(') {
        snprintf(out, size, "(…)");
        return;
    }
    for (; k < n; k++) {
        bool starts = !k || !(isalnum((unsigned char)s[k - 1]) || s[k - 1] == '_');
        size_t skip = starts && n - k > 6 && !memcmp(s + k, "torch.", 6) ? 6
                      : starts && n - k > 3 && !memcmp(s + k, "np.", 3)  ? 3
                                                                         : 0;
        k += skip;
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
    if (k >= n || w > 60) snprintf(out, size, "(…)");
}

static void hint_from(const char *pattern, const char *args, bool is_call, LangError *e) {
    const char *percent = strchr(pattern, '%');
    if (!is_call) args = "";
    if (percent)
        error_hint(e, "%.*s%s%s", (int)(percent - pattern), pattern, args, percent + 1);
    else
        error_hint(e, "%s", pattern);
}

static bool matches(const char *row, const char *path) {
    size_t n = strlen(row);
    if (row[n - 1] != '*') return !strcmp(row, path);
    n--;
    return !strncmp(row, path, n) && (!path[n] || path[n] == '.' || memchr(row, '.', n));
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
static bool hint_builtin(const char *path, const char *args, bool is_call, HabitKnown known,
                         void *ctx, LangError *e) {
    const char *last = strrchr(path, '.');
    if (!last) return false;
    const char *start = ++last;
    const char *absent = isupper((unsigned char)*last) ? habit_hint(last, strlen(last)) : NULL;
    if (absent) return error_hint(e, "%s", absent), true;
    if (isupper((unsigned char)*last))
        start = strstr(path, "nn.") ? strstr(path, "nn.") : strstr(path, "optim.");
    else if (strstr(path, "nn.init."))
        start = strstr(path, "nn.init.");
    if (!start) return false;
    if (start == last) {
        bool found = known(ctx, last);
        const char *habit = found ? NULL : habit_hint(last, strlen(last));
        if (habit) return error_hint(e, "%s", habit), true;
        if (!found) return false;
    }
    error_hint(e, "%s%s", start, is_call ? args : "");
    return true;
}

bool habit_path(Span at, HabitKnown known, void *ctx, LangError *e) {
    size_t n;
    const char *s = text_at(at, &n);
    size_t k = s ? path_length(s, n) : 0;
    char path[128], args[160];
    if (!k || k > 100) return false;
    bool is_numpy = k >= 5 && !memcmp(s, "numpy", 5) && (k == 5 || s[5] == '.');
    bool is_jnp = k >= 4 && !memcmp(s, "jnp.", 4);
    if (is_numpy || is_jnp)
        snprintf(path, sizeof path, "np%.*s", (int)(k - (is_numpy ? 5 : 3)),
                 s + (is_numpy ? 5 : 3));
    else
        snprintf(path, sizeof path, "%.*s", (int)k, s);
    put_args(s + k, n - k, args, sizeof args);
    if (!strncmp(path, "os.environ", 10)) return hint_environ(s, n, e);
    bool is_module = strchr(path, '.') != NULL;
    for (size_t i = 0; is_module && i < sizeof paths / sizeof *paths; i++)
        if (matches(paths[i][0], path)) {
            hint_from(paths[i][1], args, k < n && s[k] == '(', e);
            return true;
        }
    static const char *const roots[] = {"torch.", "np.", "math.", "scipy.", "F.", "tf."};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (!strncmp(path, roots[i], strlen(roots[i])))
            return hint_builtin(path, args, k < n && s[k] == '(', known, ctx, e);
    return false;
}

bool habit_is_result(const char *name) {
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (!strcmp(results[i][0], name)) return true;
    return false;
}

bool habit_unpacked(const char *function, LangError *e) {
    for (size_t i = 0; i < sizeof unpacked / sizeof *unpacked; i++)
        if (!strcmp(unpacked[i][0], function)) return error_hint(e, "%s", unpacked[i][1]), true;
    return false;
}

bool habit_member(const char *kind, const char *name, LangError *e) {
    if (!strcmp(name, "copy") && strcmp(kind, "tensor")) return false;
    for (size_t i = 0; i < sizeof results / sizeof *results && !strcmp(kind, "list"); i++)
        if (!strcmp(results[i][0], name)) return error_hint(e, "%s", results[i][1]), true;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!strcmp(members[i][0], name)) {
            error_hint(e, "%s", members[i][1]);
            return true;
        }
    return false;
}

const char *habit_keyword(const char *function, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s.%s", function, name);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (!strcmp(keywords[i][0], name) || !strcmp(keywords[i][0], path)) return keywords[i][1];
    return NULL;
}

const char *habit_import(const char *name) {
    for (size_t i = 0; i < sizeof imports / sizeof *imports; i++)
        if (!strcmp(imports[i][0], name)) return imports[i][1];
    return NULL;
}

/* ---- import lines ---- */

/* Sets *out to gt's path of an imported name, or to "" if gt has no such name. */
static void put_name(const char *name, size_t n, Arena *arena, const char **out) {
    static const char *const optimisers[] = {"SGD",     "Adam",   "AdamW", "RMSprop",
                                             "Adagrad", "Adamax", "NAdam", "RAdam"};
    static const char *const none[] = {"Module",      "Tensor",     "SignalConfig",
                                       "ShardConfig", "DataLoader", "Dataset"};
    *out = "";
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strlen(none[i]) == n && !memcmp(none[i], name, n)) return;
    for (size_t i = 0; i < sizeof optimisers / sizeof *optimisers; i++)
        if (strlen(optimisers[i]) == n && !memcmp(optimisers[i], name, n)) {
            *out = arena_printf(arena, "optim.%.*s", (int)n, name);
            return;
        }
    if (isupper((unsigned char)*name) && n > 1)
        *out = arena_printf(arena, "nn.%.*s", (int)n, name);
    else
        *out = arena_printf(arena, "%.*s", (int)n, name);
}

static bool begins(const char *s, const char *word) {
    size_t n = strlen(word);
    return !strncmp(s, word, n) && !isalnum((unsigned char)s[n]) && s[n] != '_';
}

/* The hint for from lib import f, g of the user's own modules. */
static const char *from_hint(const char *module, size_t n, Arena *arena) {
    const char *list = strstr(module, " import ");
    list = list ? list + 8 + strspn(list + 8, " (") : "";
    size_t len = path_length(list, strcspn(list, " ,;\n"));
    if (!n || !len || n > 40 || len > 40 || memchr(module, '.', n))
        return "import \"file.gt\" as name, then name.f";
    return arena_printf(arena, "import %.*s; %.*s = %.*s.%.*s", (int)n, module, (int)len, list,
                        (int)n, module, (int)len, list);
}

const char *habit_import_line(const char *s, Arena *arena) {
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
    if (!is_ours && is_from) return from_hint(module, n, arena);
    if (!is_ours) return strchr(s, ',') ? "one file per line: import a" : NULL;
    if (!is_from) return "drop this line: nn.Linear, optim.Adam, F.relu are built in";
    if (n >= 16 && !memcmp(module, "torch.utils.data", 16)) return "drop this line; " LOOP;
    const char *list = strstr(module, " import ");
    Bytes names = {0};
    if (list) {
        for (s = list + 8; *s && *s != '\n' && *s != '#';) {
            s += strspn(s, " \t(),");
            size_t len = path_length(s, strcspn(s, "\n"));
            if (!len) break;
            const char *name;
            put_name(s, len, arena, &name);
            if (*name && names.n < 80) bytes_printf(&names, "%s%s", names.n ? ", " : "", name);
            s += len;
        }
    }
    const char *hint = names.n ? arena_printf(arena, "drop this line, and write %s", names.data)
                               : "drop this line: its names are built in";
    bytes_fini(&names);
    return hint;
}
