/* grad_test.c: for every row of the op table that has a gradient, backward equals central
 * differences in float64, and so does the derivative of the gradient. MAP and REDUCE rows make
 * their own cases from name and arity; every other differentiable row must have one below: a row
 * without a test fails. Runs programs of the language on the reference engine.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/run.h"
#include "lang/tensor/autograd.h"
#include "lang/value/interp.h"
#include "tests/unit/check.h"
#include "tests/unit/grad_hygiene.h"

typedef struct Sample {
    Op op;
    const char *f, *xs;
} Sample; /* a function of the language and a list of its arguments */

/* Away from kinks and ties, and with several shapes: (2,3,2), (3,2), (2). */
#define A                                                                                          \
    "tensor([0.56, -0.95, 0.31, -0.42, 0.88, -0.67, 1.21, -1.43, 0.74, -0.23, 1.07, -1.15], "      \
    "dtype=float64).reshape(2, 3, 2)"
#define B        "tensor([0.92, -0.37, -1.31, 0.48, 1.62, -0.79], dtype=float64).reshape(3, 2)"
#define R        "tensor([0.7, -0.4], dtype=float64)"
#define POSITIVE "(sin(arange(6, dtype=float64) * 1.3) * 0.4 + 0.6).reshape(3, 2)"
#define IMAGE    "(sin(arange(48, dtype=float64) * 1.7) * 1.3).reshape(1, 4, 3, 4)"
#define WEIGHTS  "(cos(arange(32, dtype=float64) * 2.3) * 0.8).reshape(4, 2, 2, 2)"

static const Sample samples[] = {
    {OP_WHERE, "fn(a, b) => where(a > b, a * 2, b * a)", "[" A ", " B "]"},
    {OP_RESHAPE, "fn(x) => x.reshape(4, 3)", "[" A "]"},
    {OP_PERMUTE, "fn(x) => x.permute(2, 0, 1)", "[" A "]"},
    {OP_EXPAND, "fn(x) => x.expand(3, 4, 2)", "[" R ".unsqueeze(0)]"},
    {OP_SLICE, "fn(x) => x[:, ::2, 1]", "[" A "]"},
    {OP_MATMUL, "fn(a, b) => a @ b.T", "[" A ", " B "]"},
    {OP_MATMUL, "fn(a) => a @ a.transpose(1, 2)", "[" A "]"},
    {OP_MATMUL, "fn(a, b) => b.T @ a", "[" A ", " B "]"},
    {OP_MATMUL, "fn(a, r) => (a @ r) * (r @ r)", "[" A ", " R "]"},
    {OP_CAT, "fn(a, b) => cat([b, a[0], b * a[1]], 0)", "[" A ", " B "]"},
    {OP_SLICE_PUT, "fn(a, b) { y = a * 1; y[1, :2] = b[1:] * b[:2]; return y }", "[" A ", " B "]"},
    {OP_INDEX, "fn(x) => x[[1, 0, 1], [2, 0, 2]] * x[0][[0, 0, 1]]", "[" A "]"},
    {OP_INDEX_PUT, "fn(a, b) { y = a * a; y[:, [2, 0]] = b[1:] * 2; return y }", "[" A ", " B "]"},
    {OP_GATHER, "fn(x) => x.gather(1, tensor([[0, 1], [2, 2]]).unsqueeze(-1).expand(2, 2, 2))",
     "[" A "]"},
    {OP_SCATTER_ADD, "fn(b, x) => b.scatter_add(0, tensor([[0, 2], [2, 2]]), x[:, 0] * x[:, 1])",
     "[" B ", " A "]"},
    {OP_CUMSUM, "fn(x) => cumsum(x * x, 1)", "[" A "]"},
    {OP_RECURRENCE, "fn(a, b) => recurrence(a, b, 1)", "[" A ", " A " * 0.7]"},
    {OP_RECURRENCE, "fn(a) => recurrence(a, a * a, 0, reverse=true)", "[" B "]"},
    {OP_CUMMAX, "fn(x) => cummax(x, 1)[0] * x", "[" A "]"},
    {OP_CUMMAX, "fn(x) => cummin(x, 0)[0] * x", "[" B "]"},
    {OP_SCATTER_REDUCE,
     "fn(b, x) => scatter_with(b, 0, tensor([[0, 2], [2, 2]]), x[0] * x[1], \"prod\")",
     "[" B ", " A "]"},
    {OP_SCATTER_REDUCE,
     "fn(b, x) => scatter_with(b, 0, tensor([[0, 2], [2, 2]]), x[0] * 2, \"amax\") ** 2",
     "[" B ", " A "]"},
    {OP_SCATTER_REDUCE,
     "fn(b, x) => scatter_with(b, 1, tensor([[0, 0], [1, 0]]), x[1] * 2, \"amin\") ** 2",
     "[" B ", " A "]"},
    {OP_SORT, "fn(x) => sort(x, axis=1) * x", "[" A "]"},
    {OP_SORT, "fn(x) => sort(x, axis=0, descending=true)", "[" B "]"},
    {OP_CHOLESKY, "fn(x) => cholesky(x @ x.transpose(1, 2) + 0.5 * eye(3, dtype=float64))",
     "[" A "]"},
    {OP_CHOLESKY, "fn(x) => cholesky(x.T @ x, upper=true)", "[" B "]"},
    {OP_LGAMMA, "fn(x) => lgamma(x)", "[" POSITIVE " + 0.5]"},
    {OP_LGAMMA, "fn(x) => lgamma(x * 0.2 - 1.5)", "[" A "]"},
    {OP_DIGAMMA, "fn(x) => digamma(x)", "[" POSITIVE " + 0.5]"},
    {OP_DIGAMMA, "fn(x) => digamma(x * 0.2 - 1.5) * 0.1", "[" A "]"},
    {OP_POLYGAMMA, "fn(x) => polygamma(2, x) * 0.1", "[" POSITIVE " + 1]"},
    {OP_POLYGAMMA, "fn(x) => polygamma(tensor([1, 3]), x) * 0.1", "[" POSITIVE " + 1]"},
    {OP_QR, "fn(x) => qr_packed(x)", "[" A "]"},
    {OP_QR, "fn(x) => qr_packed(x @ x + 2 * eye(2, dtype=float64))", "[" B "[1:]]"},
    {OP_EIGH, "fn(x) => eigh_packed(x.transpose(1, 2) @ x)", "[" A "]"},
    {OP_SVD, "fn(x) => svd_packed(x)", "[" A "]"},
    {OP_SVD, "fn(x) => svd_packed(x)", "[" A ".transpose(1, 2)]"},
    {OP_SVD, "fn(x) => svd_packed(x)", "[" B "[1:]]"},
    {OP_LU, "fn(x) => lu(x.transpose(1, 2) @ x + eye(2, dtype=float64))[0]", "[" A "]"},
    {OP_LU, "fn(x) => lu(x @ x.T + tensor([[0, 0, 3], [2, 0, 1], [0, 1, 0]]))[0]", "[" B "]"},
    {OP_SOLVE, "fn(a, b) => solve(a.transpose(1, 2) @ a + eye(2, dtype=float64), b.T)",
     "[" A ", " B "]"},
    {OP_SOLVE, "fn(a, r) => solve(a[:, :2] + eye(2, dtype=float64) * 3, r)", "[" A ", " R "]"},
    {OP_SOLVE, "fn(a, b) => solve(a[:, 1:] + eye(2, dtype=float64) * 3, b, left=false)",
     "[" A ", " B "]"},
    {OP_SOLVE_TRIANGULAR, "fn(a, b) => solve_triangular(a[:, :2] * 0.5, b[1:])", "[" A ", " B "]"},
    {OP_SOLVE_TRIANGULAR, "fn(a, b) => solve_triangular(b[:2], a, upper=true, left=false)",
     "[" A ", " B "]"},
    {OP_SOLVE_TRIANGULAR,
     "fn(a, b) => solve_triangular(b @ b.T, a, upper=true, unitriangular=true)", "[" A ", " B "]"},
    {OP_SHARD, "fn(x) => signal.tensor(x * x, \"a\") * x", "[" A "]"},
    {OP_TOPK, "fn(x) => topk(x, 2, axis=1)[0] * x[:, 1:]", "[" A "]"},
    {OP_CONV, "fn(x, w) => conv2d(x, w, stride=[2, 1], padding=1, dilation=[1, 2], groups=2)",
     "[" IMAGE ", " WEIGHTS "]"},
    {OP_CONV, "fn(x, w) => conv1d(x[:, :2, 0], w[:, :, 0], padding=2)", "[" IMAGE ", " WEIGHTS "]"},
    {OP_CONV_DX, "fn(x, w) => conv_transpose2d(x, w, stride=2, padding=1, output_padding=[1, 0])",
     "[" IMAGE ", " WEIGHTS "]"},
    {OP_CONV_DW, "fn(x, w) => grad(sum(square(conv2d(x, w, groups=2))), w, create_graph=true)",
     "[" IMAGE ", " WEIGHTS "]"},
    {OP_MAX_POOL, "fn(x) => max_pool2d(x, [2, 3], stride=1, padding=[1, 0], dilation=[2, 1])",
     "[" IMAGE "]"},
    {OP_AVG_POOL,
     "fn(x) => avg_pool2d(x * x, 2, padding=1, ceil_mode=true, "
     "count_include_pad=false)",
     "[" IMAGE "]"},
    {OP_AVG_POOL_DX,
     "fn(x) => grad(sum(avg_pool2d(x * x * x, 3, stride=1)), x, "
     "create_graph=true)",
     "[" IMAGE "]"},
};

/* Rows whose gradient is zero, and steps: differences would be zero too, or undefined. */
static bool is_flat(Op op) { return !strcmp(op_info[op].grad_name, "zero"); }

static const char prologue[] = "fn weigh(y) => (y * sin(arange(y.numel(), dtype=float64) * 1.1 + "
                               "0.5).reshape(y.shape)).sum()\n"
                               "fn second(f) => fn(*xs) => sum(stack([weigh(g) for g in "
                               "grad(weigh(f(*xs)), xs, create_graph=true)]))\n"
                               "fn check(name, f, xs) {\n"
                               "    gap = gradcheck(f, xs); assert gap < 1e-7, f\"{name}: first "
                               "derivative off by {gap:.1e}\"\n"
                               "    gap = gradcheck(second(f), xs); assert gap < 1e-6, f\"{name}: "
                               "second derivative off by {gap:.1e}\"\n"
                               "}\n";

/* Rounding to float32 hides differences: the gradient through two casts is compared with the one
 * without. */
static const char cast_test[] =
    "x = param(" B "); through = grad(weigh(x.float().double() * x.float()), x, "
    "create_graph=true); plain = grad(weigh(x * x), x, create_graph=true)\n"
    "assert max(abs(through - plain)) < 1e-6, \"gradient through casts\"\n"
    "assert max(abs(grad(weigh(through), x) - grad(weigh(plain), x))) < 1e-6, \"second derivative "
    "through casts\"\n";

static Interp *in;

static void run(const char *what, const char *text) {
    LangError e = {0};
    char open;
    Source *src = interp_source(in, what, text, strlen(text), 1, false);
    Program *p = parse_program(src, NULL, NULL, &open, &e);
    bool ok = p && interp_run(in, p, false, &e);
    CHECK_MSG(ok, "%s: %s (line %u)", what, e.what, e.at.line);
}

static void check(const char *name, const char *f, const char *xs) {
    Bytes text = {0};
    bytes_printf(&text, "check(\"%s\", %s, %s)\n", strchr(name, ' ') ? "composed" : name, f, xs);
    run(name, text.data);
    bytes_fini(&text);
    check_hygiene(name, f, xs);
}

/* Views, axes of one element, none, no axes at all. */
static void check_shapes(const char *name, const char *f, const char *x) {
    static const char *const how[] = {".T", ".T[:, 1:2]", "[:0]", "[1, 1]", "[1:2].expand(3, 2)"};
    char xs[400];
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        snprintf(xs, sizeof xs, "[(%s)%s]", x, how[i]);
        check(name, f, xs);
    }
}
static void check_pairs(Op op, const char *f) {
    static const char *const pair[][2] = {
        {A ".permute(2, 1, 0)", B},        {A "[:, :1]", "(" A " * 0.8)[:1]"},
        {R ".reshape(2, 1, 1)", B},        {A, R "[0]"},
        {"tensor(1.1, dtype=float64)", B}, {A "[:0]", B},
        {B ".T[:, 1:]", R ".unsqueeze(1)"}};
    char xs[800];
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        snprintf(xs, sizeof xs, op == OP_POW ? "[abs(%s), %s]" : "[%s, %s]", pair[i][0],
                 pair[i][1]);
        check(op_info[op].name, f, xs);
    }
}

static void check_map(Op op) {
    const char *name = op_info[op].name;
    char f[200];
    if (op_info[op].arity == 1) {
        snprintf(f, sizeof f, "fn(x) => %s(x)", name);
        if (op == OP_ACOSH) {
            check(name, f, "[" POSITIVE " + 1.5]");
            check_shapes(name, f, POSITIVE " + 1.5");
            return;
        }
        check(name, f, "[" POSITIVE " * 0.9]");
        check_shapes(name, f, POSITIVE " * 0.9");
        static const Op inner[] = {OP_LOG,   OP_LOG2, OP_LOG10, OP_LOG1P, OP_SQRT,
                                   OP_RSQRT, OP_ASIN, OP_ACOS,  OP_ATANH};
        bool positive = false;
        for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) positive |= op == inner[i];
        if (op == OP_TAN) /* steep near pi / 2 */
            check(name, f, "[" A " * 0.5]");
        else if (!positive)
            check(name, f, "[" A "]");
        return;
    }
    const char *left = op == OP_POW ? "[" POSITIVE ", " A "]" : "[" A ", " B "]";
    snprintf(f, sizeof f, "fn(a, b) => %s(a, b)", name);
    check(name, f, left);
    check(name, f, op == OP_POW ? "[" POSITIVE ", " R "]" : "[" R ", " A "]");
    check_pairs(op, f);
    snprintf(f, sizeof f, "fn(a) => %s(a, 1.7)", name);
    check(name, f, "[" POSITIVE "]");
    snprintf(f, sizeof f, "fn(b) => %s(1.7, b)", name);
    check(name, f, "[" POSITIVE "]");
    snprintf(f, sizeof f, "fn(a) => %s(a * a, a)", name);
    check(name, f, "[" POSITIVE "]");
}

static void check_reduce(Op op) {
    static const char *const how[] = {"", ", axis=1", ", axis=[0, 2], keepdims=true", ", axis=-1"};
    char f[200];
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        snprintf(f, sizeof f, "fn(x) => %s(x%s)", op_info[op].name, how[i]);
        check(op_info[op].name, f, "[" A "]");
        check(op_info[op].name, f, "[" A ".permute(2, 1, 0)[:, 1:2]]");
        if (strchr(how[i], '1')) check(op_info[op].name, f, "[" A "[:0]]");
    }
    snprintf(f, sizeof f, "fn(x) => %s(x)", op_info[op].name);
    check(op_info[op].name, f, "[" R "[0]]");
}

/* The prelude's functions for models: their gradients emit nothing unused either. */
static const Sample composed[] = {
    {0, "fn(x) => softmax(x)", "[" A "]"},
    {0, "fn(x) => log_softmax(x, axis=1)", "[" A "]"},
    {0, "fn(x) => logsumexp(x, axis=1)", "[" A "]"},
    {0, "fn(x, r) => layer_norm(x, 2, r, r * 0.5)", "[" A ", " R "]"},
    {0, "fn(x, r) => rms_norm(x, 2, r)", "[" A ", " R "]"},
    {0, "fn(x) => cross_entropy(x.reshape(6, 2), tensor([0, 1, 1, 0, 0, 1]))", "[" A "]"},
    {0, "fn(x, y) => cross_entropy(x, y.softmax(1), label_smoothing=0.1)", "[" B ", " POSITIVE "]"},
    {0, "fn(x, y) => mse_loss(x, y) + l1_loss(x, y) + huber_loss(x, y)",
     "[" B ", " POSITIVE " * 3]"},
    {0, "fn(x) => bce_with_logits(x, (x.detach() > 0).double())", "[" B "]"},
    {0, "fn(q, k, v) => attention(q, k, v, causal=true)", "[" A ", " A " * 0.7, " A " * 0.3]"},
    {0, "fn(q, k) => einsum(\"bqd,bkd->bqk\", q, k)", "[" A ", " A " * 0.7]"},
    {0, "fn(a, b) => einsum(\"bii,ij->bj\", a[:, :2], b[1:])", "[" A ", " B "]"},
    {0, "fn(a) => inv(a.transpose(1, 2) @ a + eye(2, dtype=float64))", "[" A "]"},
    {0, "fn(a) => det(a.transpose(1, 2) @ a + eye(2, dtype=float64))", "[" A "]"},
    {0, "fn(x, w) => linear(x, w.T, w[0])", "[" A ", " R ".reshape(2, 1).expand(2, 3) * 1]"},
    {0, "fn(x) => gelu(x, approximate=\"tanh\") + leaky_relu(x)", "[" A "]"},
    {0, "fn(x) => var(x, axis=1) + std(x, axis=1) + norm(x, axis=1)", "[" A "]"},
    {0, "fn(w) => w[tensor([[0, 2], [1, 1]])]", "[" B "]"},
    {0, "fn(x) => cat(chunk(x, 3, axis=1), axis=2)", "[" A "]"},
};

/* At the prompt backward waits: a failure in a step leaves parameters and gradients unchanged. */
static void prompt_test(void) {
    LangError e = {0};
    char open;
    in->config.interactive = true;
    run("prompt", "p = param(tensor([1.0, 2.0, 3.0])); sgd = optim.SGD([p], lr=0.5, momentum=0.9)\n"
                  "backward (p * p).sum(); sgd.step()\n"
                  "before = p.detach(); slope = p.grad; speed = sgd.v[0]; bad = tensor([5])\n");
    const char *step = "backward p[bad].sum(); sgd.step()\n";
    Program *q = parse_program(interp_source(in, "prompt", step, strlen(step), 1, false), NULL,
                               NULL, &open, &e);
    CHECK(q && !interp_run(in, q, false, &e));
    CHECK_STR(e.what, "index 5 at position 0 is out of range for axis 0 of size 3");
    run("prompt", "assert all(p == before) and all(p.grad == slope) and all(sgd.v[0] == speed)\n"
                  "sgd.zero_grad(); backward (p * p).sum(); sgd.step()\n"
                  "assert not any(p == before)\n");
    in->config.interactive = false;
}

int main(void) {
    LangError e = {0};
    InterpConfig config = {.width = 80};
    config.stream.engine = "reference", config.stream.workers = 1, config.stream.threads = 1,
    config.stream.memory_bytes = 1 << 28;
    in = interp_new(&config, &e);
    if (!in) {
        fprintf(stderr, "%s\n", e.what);
        return 1;
    }
    run("prologue", prologue);
    for (int op = 0; op < OP_COUNT; op++) {
        if (!grad_rule[op]->run || is_flat((Op)op)) continue;
        bool tested = op == OP_CAST;
        if (tested) run("cast", cast_test);
        for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
            if ((int)samples[i].op == op)
                check(op_info[op].name, samples[i].f, samples[i].xs), tested = true;
        if (!tested && op_info[op].class_ == CLASS_MAP) check_map((Op)op), tested = true;
        if (!tested && op_info[op].class_ == CLASS_REDUCE) check_reduce((Op)op), tested = true;
        CHECK_MSG(tested, "%s has a gradient, but no case in grad_test.c", op_info[op].name);
    }
    for (size_t i = 0; i < sizeof composed / sizeof *composed; i++)
        check(composed[i].f, composed[i].f, composed[i].xs);
    prompt_test();
    Tape *tape = tape_of(in);
    CHECK_MSG(tape->n_live == 0 || tape->n_live < 64, "%zu nodes are still alive", tape->n_live);
    interp_free(&in);
    return check_report("grad");
}
